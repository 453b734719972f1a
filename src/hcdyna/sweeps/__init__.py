"""Sweeps: studies of many cells, trained by any number of workers on any number of machines.

A study says which settings and seeds; it becomes tasks, each a few cells that share a program. All
that workers have in common is a store, a folder in which they take tasks by leases and publish
cells. Engines only start workers: as processes here, on a Ray cluster, or under Slurm.
"""
