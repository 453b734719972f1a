"""What Dyna has to know of a Gymnasium environment, as a part of `Settings`."""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import jax.numpy as jnp
import numpy as np
from gymnasium import spaces

from hcdyna.errors import SettingsError
from hcdyna.registry import is_hosted
from hcdyna.settings import PythonOnly, check, number
from hcdyna.types import Array, Environment, Spec

NO_LIMIT = 2**31 - 1


@dataclass(frozen=True)
class Hosted:
    """A Gymnasium environment by its id; `my_package:MyEnv-v0` imports my_package first.

    Observations must be a Box of one dimension, actions Discrete (for DQN) or a Box (for DDPG). Π
    is the observation Box; where one of its bounds is infinite, it is what the agent has seen.
    """

    id: str = "CartPole-v1"
    discount: float = number(0.99, at_least=0, at_most=1)
    scaling: bool = False
    """Map each variable to about −1 … 1, by its bounds, or by what was seen in a first thousand
    random steps where there are none. Agent, model and climb all see the scaled observation."""
    reset_timeout: float = number(60.0, above=0, at_most=1e6, static=True)
    """Seconds after which `reset` counts as hanging."""
    processes: Literal["auto", "on", "off"] = "auto"
    """Each seed's environment in a process of its own: auto, where a step takes over 1 ms."""
    bounds: PythonOnly[Any] = None
    """Filled in by the programs: the Π of one agent."""

    def __post_init__(self) -> None:
        check(self)
        if not is_hosted(self.id):
            raise SettingsError(f"Hosted.id = {self.id!r}: must be like CartPole-v1 or pkg:Mine-v0")

    def build(self) -> Environment:
        spec = spec_of(self.id)._replace(discount=self.discount)
        if self.bounds is not None:
            spec = spec._replace(low=self.bounds[0], high=self.bounds[1])

        def on_the_host(*arguments: Any) -> Any:
            raise SettingsError(
                f"environment = {self.id}: runs on the host and can't be asked for any state; use "
                "model = learned, or hcdyna.models.from_function with dynamics of your own"
            )

        def project(obs: Array) -> Array:
            return jnp.clip(obs, spec.low, spec.high)

        def unknown(obs: Array) -> Array:
            return jnp.zeros((), bool)

        return Environment(spec, on_the_host, on_the_host, project, unknown)

    @property
    def usual(self) -> dict[str, str]:
        """Agent and model where none is named."""
        discrete = spec_of(self.id).num_actions is not None
        return {"agent": "dqn" if discrete else "ddpg", "model": "learned"}

    def make(self, **options: Any) -> gymnasium.Env:
        """A fresh environment; options such as render_mode are those of `gymnasium.make`."""
        return make(self.id, **options)


def make(name: str, **options: Any) -> gymnasium.Env:
    """`gymnasium.make`, with errors of one line; a module before a colon is imported first."""
    module, _, _ = name.rpartition(":")
    try:
        if module:
            importlib.import_module(module)
        return gymnasium.make(name.rpartition(":")[2], disable_env_checker=True, **options)
    except Exception as error:  # anything can go wrong in code that is not ours
        raise SettingsError(f"environment = {name}: {' '.join(str(error).split())}") from None


@functools.lru_cache(maxsize=32)
def spec_of(name: str) -> Spec:
    """Our Spec, from the spaces; SettingsError for what does not fit."""
    env = make(name)
    try:
        seen: Any = env.observation_space
        acted: Any = env.action_space
        refuse(name, seen, acted)
        limit = env.spec.max_episode_steps if env.spec is not None else None
    finally:
        env.close()
    discrete = isinstance(acted, spaces.Discrete)
    return Spec(
        name=name,
        low=np.asarray(seen.low, np.float32),
        high=np.asarray(seen.high, np.float32),
        discount=0.99,
        time_limit=limit or NO_LIMIT,
        num_actions=int(acted.n) if discrete else None,
        action_size=None if discrete else int(acted.shape[0]),
    )


def refuse(name: str, seen: spaces.Space, acted: spaces.Space) -> None:
    """Raise SettingsError unless Dyna can use such spaces, with what would fit."""
    if not isinstance(seen, spaces.Box) or len(seen.shape) != 1:
        hint = "a wrapper such as gymnasium.wrappers.FlattenObservation"
        if isinstance(seen, spaces.Box) and len(seen.shape) == 3:
            hint = "images need an encoder of your own in a wrapper"
        raise SettingsError(
            f"environment = {name}: observations are {seen}; must be a Box of one dimension: {hint}"
        )
    if isinstance(acted, spaces.Discrete):
        return
    fits = isinstance(acted, spaces.Box) and len(acted.shape) == 1
    if not fits or not np.isfinite([acted.low, acted.high]).all():  # type: ignore[attr-defined]
        raise SettingsError(
            f"environment = {name}: actions are {acted}; must be Discrete (dqn), or a bounded Box "
            "of one dimension (ddpg): wrap it, for MultiDiscrete with one number per combination"
        )


def to_action(space: spaces.Space, action: np.ndarray) -> Any:
    """Our action, an index or numbers in [−1, 1], as one of the environment's."""
    if isinstance(space, spaces.Discrete):
        return int(action) + int(space.start)
    assert isinstance(space, spaces.Box)
    share = (np.clip(action, -1.0, 1.0) + 1.0) / 2.0
    return (space.low + share * (space.high - space.low)).astype(space.dtype)
