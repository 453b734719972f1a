"""Checkpoints of runs from before a learned model kept all that it keeps now."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import GridWorld, LearnedModel
from hcdyna.runs.checkpoint import LATER, from_arrays, to_arrays
from hcdyna.settings.errors import RunError


def test_what_was_not_kept_begins_anew_and_nothing_else_may_be_missing():
    model = LearnedModel(hidden=(4,)).build(GridWorld().build())
    state = {"dyna": jax.tree.map(lambda x: x[None], model.init(jax.random.key(3)))}
    arrays = to_arrays(state, 1)
    before = {path: x for path, x in arrays.items() if not path.endswith(LATER)}
    assert len(before) == len(arrays) - len(LATER)
    found = to_arrays(jax.tree.map(jnp.asarray, from_arrays(before, state)), 1)
    assert found.keys() == arrays.keys()
    for path, x in found.items():
        np.testing.assert_array_equal(x, arrays[path])
    (error,) = (path for path in arrays if path.endswith(".skill.error"))
    with pytest.raises(RunError, match="is missing or of another shape"):
        from_arrays({path: x for path, x in arrays.items() if path != error}, state)
