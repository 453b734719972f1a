"""Fused versions of the climb and of planning, each behind the plain function's interface.

The sources beside this file (CUDA) and in `cpu` (C++) are compiled on first use, with the sizes of
the problem as macros, and kept in the user's cache folder. Where they can't be used, the plain
functions run.
"""
