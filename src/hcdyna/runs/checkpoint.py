"""The state of all agents as plain arrays, and back, bit for bit.

Of a ring only the rows in use are kept. Padding agents are left out, so that a run can go on with
another number of devices.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.models.codes import Values
from hcdyna.numerics.packing import is_key, raw
from hcdyna.numerics.ring import Ring
from hcdyna.settings.errors import RunError

SCALE = ".scale"
"""Not in the checkpoints of runs from before it was kept, for which it is measured again."""
MODEL, MODEL_SCALES = ".dyna.model.", ".dyna.model.scales."
"""Once, a learned model had a single network without an axis for members, and raw numbers."""
LATER = (
    *(".skill.imagined", ".hope.vain", ".doubt.varies", ".doubt.changes"),
    *(f".values.{name}" for name in Values._fields),
)
"""Nor were ends counted that a learned model had imagined, nor steps that led nowhere new, nor
values of variables kept."""


def to_arrays(life: Any, agents: int) -> dict[str, np.ndarray]:
    """Path in the state → array [agents, …]."""
    arrays = {}
    for path, leaf in _leaves(life):
        if isinstance(leaf, Ring):
            total = on_host(leaf.total, agents)
            capacity = jax.tree.leaves(leaf.data)[0].shape[1]  # the first axis is agents
            used = int(np.minimum(total, capacity).max())
            arrays[f"{path}.total"] = total
            for inner, rows in jax.tree_util.tree_leaves_with_path(leaf.data):
                name = f"{path}.data{jax.tree_util.keystr(inner)}"
                arrays[name] = on_host(rows, agents, used)
        else:
            arrays[path] = on_host(raw(leaf), agents)
    return arrays


def from_arrays(arrays: dict[str, np.ndarray], like: Any) -> Any:
    """The state again; `like` has its structure, shapes and types, padding aside."""
    used = set()
    agents = max((len(x) for x in arrays.values() if x.ndim), default=0)

    def find(path: str, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        used.add(path)
        found = arrays.get(path)
        if found is None and path == SCALE:
            found = np.full((agents, *shape), np.nan, dtype)
        if found is None and (path.startswith(MODEL_SCALES) or path.endswith(LATER)):
            found = np.zeros((agents, *shape), dtype)
        if found is not None and path.startswith(MODEL) and (1, *found.shape[1:]) == shape:
            found = found[:, None]
        if found is None or found.shape[1:] != shape or found.dtype != dtype:
            raise RunError(f"checkpoint: {path} is missing or of another shape")
        return found

    def restore_ring(path: str, ring: Ring) -> Ring:
        def restore_rows(inner: Any, rows: Any) -> np.ndarray:
            name = f"{path}.data{jax.tree_util.keystr(inner)}"
            capacity = rows.shape[1]
            stored = arrays.get(name)
            if stored is None or stored.ndim < 2 or stored.shape[1] > capacity:
                raise RunError(f"checkpoint: {name} is missing or of another shape")
            find(name, (stored.shape[1], *rows.shape[2:]), rows.dtype)
            whole = np.zeros((len(stored), *rows.shape[1:]), rows.dtype)
            whole[:, : stored.shape[1]] = stored
            return whole

        data = jax.tree_util.tree_map_with_path(restore_rows, ring.data)
        total: Any = find(f"{path}.total", (), np.dtype(np.int32))
        return Ring(data, total)

    def restore(path: str, leaf: Any) -> Any:
        if isinstance(leaf, Ring):
            return restore_ring(path, leaf)
        if is_key(leaf):
            numbers = jax.eval_shape(raw, leaf)
            if path in arrays and arrays[path].shape[1:] != numbers.shape[1:]:
                config: Any = jax.config
                raise RunError(
                    f"checkpoint: {path} is not a key of JAX_DEFAULT_PRNG_IMPL = "
                    f"{config.jax_default_prng_impl}; the run was begun with another"
                )
            return find(path, numbers.shape[1:], numbers.dtype)
        return find(path, leaf.shape[1:], leaf.dtype)

    _, structure = jax.tree.flatten(like, is_leaf=_is_ring)
    state = jax.tree.unflatten(structure, [restore(path, leaf) for path, leaf in _leaves(like)])
    left = set(arrays) - used
    if left:
        raise RunError(f"checkpoint: {min(left)} does not belong to this run")
    return state


def with_keys(state: Any, like: Any) -> Any:
    """Turn raw random keys into JAX's typed ones where `like` has such."""
    return jax.tree.map(
        lambda x, shape: jax.random.wrap_key_data(jnp.asarray(x)) if is_key(shape) else x,
        state,
        like,
    )


def on_host(x: jax.Array, agents: int, rows: int | None = None) -> np.ndarray:
    """[agents, rows, …] as NumPy. Each device's part is read in place and cut before copying."""
    parts = sorted(x.addressable_shards, key=lambda part: part.index[0].start or 0)
    views = [np.asarray(part.data) for part in parts]
    if rows is not None:
        views = [view[:, :rows] for view in views]
    return np.concatenate(views)[:agents]


def _leaves(tree: Any) -> list[tuple[str, Any]]:
    found = jax.tree_util.tree_leaves_with_path(tree, is_leaf=_is_ring)
    return [(jax.tree_util.keystr(path), leaf) for path, leaf in found]


def _is_ring(x: Any) -> bool:
    return isinstance(x, Ring)
