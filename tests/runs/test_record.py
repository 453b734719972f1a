"""What a run notes of its surroundings."""

import warnings

import jax
import pytest

from hcdyna.runs.record import versions, warn_of_changes


def test_other_random_numbers_are_warned_of():
    record = {"versions": versions()}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_changes(record)
    with (
        jax.threefry_partitionable(False),
        pytest.warns(UserWarning, match="random numbers threefry2x32 → .*: it goes on, but not"),
    ):
        warn_of_changes(record)
