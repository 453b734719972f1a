"""What a run notes of its surroundings."""

import warnings

import jax
import pytest

from hcdyna import RunError
from hcdyna.runs import checkpoint
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


def test_an_offset_of_all_seeds_is_noted():
    config = jax.config
    config.update("jax_random_seed_offset", 5)
    try:
        assert versions()["random numbers"] == "threefry2x32, seeds plus 5"
    finally:
        config.update("jax_random_seed_offset", 0)


def test_keys_of_another_kind_are_named():
    kept, wanted = (
        {"key": jax.random.split(jax.random.key(0, impl=kind), 1)} for kind in ("rbg", None)
    )
    said = r"is not a key of JAX_DEFAULT_PRNG_IMPL = threefry2x32; the run was begun with another"
    with pytest.raises(RunError, match=said):
        checkpoint.from_arrays(checkpoint.to_arrays(kept, 1), wanted)
