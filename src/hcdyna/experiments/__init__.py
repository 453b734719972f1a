"""Experiments: cells that are run once and kept, with figures and verdicts made from them.

A cell is one algorithm on one problem with many seeds. Figures name the cells that they need, those
that are missing are trained, as many in one program as share it, and everything else (pictures,
tables, verdicts, the report) is made from what is kept.
"""
