"""One trained agent as one file, to be used without the run that it comes from.

The file is in the safetensors format: the arrays that the policy reads, under names such as
`params.0.weights`, and in the metadata the settings as JSON. Other programs can read it too.
"""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from hcdyna.numerics.devices import start
from hcdyna.numerics.files import write
from hcdyna.numerics.packing import zeros_like
from hcdyna.runs.episodes import behave
from hcdyna.settings import Settings, agent_of
from hcdyna.settings.errors import RunError, SettingsError
from hcdyna.settings.fields import path_of
from hcdyna.settings.plain import settings_from_plain, settings_to_plain, to_act
from hcdyna.settings.stored import brought_up_to_date

if TYPE_CHECKING:
    from hcdyna.runs.trained import TrainedAgent

FORMAT = 1
SUFFIX = ".safetensors"
SCALE = "observation_scale"
"""The name of what observations are scaled by, centre and width [2, d], where they are."""


def save(agent: TrainedAgent, path: str | Path) -> Path:
    """Write what the policy reads of an agent's state; the folder is made."""
    path = path_of(path)
    if path.suffix != SUFFIX:
        raise SettingsError(f"{path}: the name of an agent's file must end in {SUFFIX}")
    settings = settings_to_plain(agent.settings)
    leaves = named_leaves(agent.state)
    tensors = {
        name: np.ascontiguousarray(leaves[name]) for name in state_and_read(agent.settings)[1]
    }
    if agent.scale is not None:
        tensors[SCALE] = np.stack(agent.scale)
    record = {"format": FORMAT, "settings": settings, "checksum": checksum(settings, tensors)}
    # Under one name, since several come in any order, and equal agents shall be equal files.
    content = to_bytes(tensors, {"hcdyna": json.dumps(record)})
    write(path, content)
    return path


def read_agent(path: Path) -> tuple[Settings, Any, Any]:
    """Settings, state and scale of the agent in a file; RunError, in one line, if there is none."""
    start()
    plain, tensors = read(path)
    try:
        settings = to_act(settings_from_plain(brought_up_to_date(plain), look=True))
        like, needed = state_and_read(settings)
    except (ValueError, TypeError) as error:  # a SettingsError is a ValueError
        raise RunError(f"{path}: {error}") from None
    scale = scale_in(path, settings, tensors)
    shapes = named_leaves(like)
    for name in needed | tensors.keys():
        found, right = tensors.get(name), shapes.get(name)
        fits = found is not None and right is not None and found.shape == right.shape
        if not fits or found.dtype != right.dtype:  # type: ignore[union-attr]
            raise RunError(f"{path}: {name} is missing or does not fit the settings")
    return settings, filled(like, tensors), scale


def scale_in(path: Path, settings: Settings, tensors: dict[str, np.ndarray]) -> Any:
    """Take it out of the arrays; () where there is none, as in files from before it was kept."""
    scale = tensors.pop(SCALE, None)
    if scale is None:
        return ()
    right = (2, *settings.environment.build().spec.low.shape)
    if scale.shape != right or scale.dtype != np.float32 or not np.isfinite(scale).all():
        raise RunError(f"{path}: {SCALE} does not fit the settings")
    return scale


def read(path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """Plain settings and the arrays of a file, after all checks that need no settings."""
    if not path.is_file():
        raise RunError(f"{path}: no such file")
    try:
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        record = json.loads(metadata.get("hcdyna", "{}"))
    except (SafetensorError, OSError, ValueError, TypeError) as error:
        raise RunError(f"{path}: damaged, or not a {SUFFIX} file: {error}") from None
    version = record.get("format") if isinstance(record, dict) else None
    if type(version) is not int or version < 1:
        raise RunError(f"{path}: not an agent that hcdyna saved")
    if version > FORMAT:
        raise RunError(f"{path}: written by a newer hcdyna (format {version}; this reads {FORMAT})")
    settings = record.get("settings")
    if record.get("checksum") != checksum(settings, tensors):
        raise RunError(f"{path}: damaged: its checksum is wrong")
    return settings, tensors


def checksum(settings: Any, tensors: dict[str, np.ndarray]) -> str:
    """CRC 32 of settings, names and numbers: the format itself has none."""
    total = zlib.crc32(json.dumps(settings, sort_keys=True).encode())
    for name in sorted(tensors):
        total = zlib.crc32(tensors[name].tobytes(), zlib.crc32(name.encode(), total))
    return f"{total:08x}"


def state_and_read(settings: Settings) -> tuple[Any, set[str]]:
    """Structure, shapes and types of an agent's state, and the names of the leaves of it that
    acting and valuing look at."""
    spec = settings.environment.build().spec
    agent = agent_of(settings, spec)
    state = jax.eval_shape(agent.init, jax.random.key(0))

    def everything(state: Any, obs: Any) -> tuple[Any, ...]:
        acted = behave(spec, agent, state, obs, jax.random.key(0), jnp.float32(0.1))
        return agent.greedy(state, obs), agent.value(state, obs), acted

    program = jax.make_jaxpr(everything)(state, spec.example_obs()).jaxpr
    used = {id(x) for step in program.eqns for x in step.invars} | {id(x) for x in program.outvars}
    names = named_leaves(state)
    leaves = zip(names, program.invars[: len(names)], strict=True)
    return state, {name for name, variable in leaves if id(variable) in used}


def filled(like: Any, tensors: dict[str, np.ndarray]) -> Any:
    """A state with these leaves; what the policy doesn't read (targets, moments of Adam, …) and so
    was not kept is 0."""
    leaves = [
        tensors[name] if name in tensors else zeros_like(x)
        for name, x in named_leaves(like).items()
    ]
    return jax.tree.unflatten(jax.tree.structure(like), leaves)


def named_leaves(state: Any) -> dict[str, Any]:
    """`params.0.weights` and the like → leaf; a state that is a single array is called `state`."""
    found = jax.tree_util.tree_leaves_with_path(state)
    name = jax.tree_util.keystr
    return {name(path, simple=True, separator=".") or "state": leaf for path, leaf in found}
