"""A tabular world as arrays."""

from typing import NamedTuple

import numpy as np


class Table(NamedTuple):
    """All there is to know of a tabular world, for exact computations on it. The states are the
    cells of a lattice over [0, 1]^d, numbered as `np.ravel_multi_index` does."""

    lattice: tuple[int, ...]
    """Cells along each dimension."""
    next_states: np.ndarray
    """[states, actions, outcomes], where an action may lead …"""
    probability: np.ndarray
    """[states, actions, outcomes] … how likely …"""
    reward: np.ndarray
    """[states, actions, outcomes] … and for which mean reward."""
    terminal: np.ndarray
    """[states] whether an episode ends on reaching a state."""
