"""What Dyna has to know of a Gymnasium environment, as a part of `Settings`."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from hcdyna.gymnasium.theirs.ends import given_terminal, known_angles, known_terminal
from hcdyna.gymnasium.theirs.failure import Keeper, close, no_way_out, reason
from hcdyna.settings import PythonOnly, check, number
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.importing import Unimported
from hcdyna.settings.registry import is_hosted
from hcdyna.settings.words import count
from hcdyna.types import Array, Box, Environment, Spec

NO_LIMIT = 2**31 - 1
CLOSING = 10.0
"""Seconds after which the `close` of an environment that was only looked at counts as hanging."""
LONGEST = 5_000
"""Steps after which an episode that is only watched is left, where there is no time limit."""


@dataclass(frozen=True)
class Hosted:
    """A Gymnasium environment by its id; `my_package:MyEnv-v0` imports my_package first.

    Observations must be a Box of one dimension, actions Discrete (for DQN) or a Box (for DDPG). Π
    is the observation Box; where one of its bounds is infinite, it is what the agent has seen.
    """

    id: str = "CartPole-v1"
    """The id of a Gymnasium environment; `my_package:MyEnv-v0` imports my_package first."""
    discount: float = number(0.99, at_least=0, at_most=1)
    """γ, the discount factor."""
    scaling: bool = False
    """Map each variable to about −1 … 1, by its bounds, or by what was seen in a first thousand
    random steps where there are none. Agent, model and climb all see the scaled observation."""
    reset_timeout: float = number(60.0, above=0, at_most=1e6, static=True)
    """Seconds after which `reset` counts as hanging."""
    step_timeout: float = number(60.0, above=0, static=True)
    """Seconds after which `step` counts as hanging."""
    processes: Literal["auto", "on", "off"] = "auto"
    """Each seed's environment in a process of its own: auto, where a step takes over 1 ms."""
    terminal: PythonOnly[Callable[[Array], Array] | None] = None
    """obs [d] → whether an episode ends there, a function of JAX; None: known for standard
    environments, else not."""

    angles: int | None = number(None, at_least=0, at_most=1_000)
    """How many pairs of variables, from the first on, are the cosine and sine of an angle; Π then
    keeps them on the unit circle. None: known for standard environments, else 0."""

    def __post_init__(self) -> None:
        check(self)
        if not is_hosted(self.id):
            raise SettingsError(f"Hosted.id = {self.id!r}: must be like CartPole-v1 or pkg:Mine-v0")

    def build(self) -> Environment:
        spec = spec_of(self.id)._replace(discount=self.discount)

        def on_the_host(*arguments: Any) -> Any:
            raise SettingsError(
                f"environment = {self.id}: runs on the host and can't be asked for any state; use "
                "model = learned, or hcdyna.models.from_function with dynamics of your own"
            )

        terminal = self.terminal
        if terminal is None:
            terminal = known_terminal(self.id)
        elif isinstance(terminal, Unimported):  # a run is only looked at
            terminal = None
        else:
            terminal = given_terminal(terminal, spec)
        pairs = known_angles(self.id) if self.angles is None else self.angles
        if 2 * pairs > len(spec.low):
            raise SettingsError(
                f"Hosted.angles = {pairs}: must be at most {len(spec.low) // 2}, since {self.id} "
                f"has {count(len(spec.low), 'variable')}"
            )
        if self.scaling:  # what is scaled lies on no circle
            pairs = 0
        box = Box(spec.low, spec.high, pairs)
        return Environment(spec, on_the_host, on_the_host, box, terminal)

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
        with no_way_out():
            if module:
                importlib.import_module(module)
            return gymnasium.make(name.rpartition(":")[2], disable_env_checker=True, **options)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # anything can go wrong in code that is not ours
        words = " ".join(str(error).split()) if isinstance(error, Exception) else ""
        raise SettingsError(f"environment = {name}: {words or reason(error)}") from None


@functools.lru_cache(maxsize=32)
def spaces_of(name: str) -> tuple[spaces.Space, spaces.Space, int | None]:
    """Observation space, action space and time limit; SettingsError for what does not fit."""
    keeper = Keeper()  # for the case that it can't be closed
    env = keeper.call(lambda: make(name))

    def look() -> tuple[spaces.Space, spaces.Space, int | None]:
        limit = env.spec.max_episode_steps if env.spec is not None else None
        return env.observation_space, env.action_space, limit

    try:
        seen, acted, limit = keeper.call(look)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # anything can go wrong in code that is not ours
        raise SettingsError(
            f"environment = {name}: needs observation_space and action_space; {reason(error)}"
        ) from None
    finally:
        close(name, env, keeper, CLOSING)
    refuse(name, seen, acted)
    return seen, acted, limit


@functools.lru_cache(maxsize=32)
def spec_of(name: str) -> Spec:
    """Our Spec, from the spaces; SettingsError for what does not fit."""
    seen: Any
    acted: Any
    seen, acted, limit = spaces_of(name)
    discrete = isinstance(acted, spaces.Discrete)
    with np.errstate(over="ignore"):  # what float32 can't hold is no bound
        low, high = np.asarray(seen.low, np.float32), np.asarray(seen.high, np.float32)
    return Spec(
        name=name,
        low=low,
        high=high,
        discount=0.99,
        time_limit=limit or NO_LIMIT,
        num_actions=int(acted.n) if discrete else None,
        action_size=None if discrete else int(acted.shape[0]),
    )


def longest_episode(spec: Spec) -> int:
    """Steps after which an evaluation episode is cut."""
    return LONGEST if spec.time_limit == NO_LIMIT else spec.time_limit


def refuse(name: str, seen: spaces.Space, acted: spaces.Space) -> None:
    """Raise SettingsError unless Dyna can use such spaces, with what would fit."""
    if not isinstance(seen, spaces.Box) or len(seen.shape) != 1:
        hint = "a wrapper such as gymnasium.wrappers.FlattenObservation"
        if isinstance(seen, spaces.Box) and len(seen.shape) == 3:
            hint = "images need an encoder of your own in a wrapper"
        raise SettingsError(
            f"environment = {name}: observations are {seen}; must be a Box of one dimension: {hint}"
        )
    if 0 in seen.shape:
        raise SettingsError(
            f"environment = {name}: observations are {seen}; must have at least one variable"
        )
    if isinstance(acted, spaces.Discrete):
        return
    fits = isinstance(acted, spaces.Box) and len(acted.shape) == 1 and acted.shape[0] > 0
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
