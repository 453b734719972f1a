"""What Dyna has to know of a Gymnasium environment, as a part of `Settings`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from hcdyna.gymnasium.theirs.ends import given_terminal, known_angles, known_terminal
from hcdyna.gymnasium.theirs.making import (
    NO_LIMIT,
    Recipe,
    make,
    modules_of,
    spec_of,
    words_of_kwargs,
)
from hcdyna.settings import PythonOnly, check, later, number
from hcdyna.settings.by_place import FunctionByPlace
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import shown
from hcdyna.settings.importing import Unimported, place_of
from hcdyna.settings.registry import is_hosted
from hcdyna.settings.words import count
from hcdyna.types import Array, Box, Environment, Spec

LONGEST = 5_000
"""Steps after which an episode that is only watched is left, where there is no time limit."""


@dataclass(frozen=True)
class Hosted:
    """A Gymnasium environment by its id, or by a function that makes it.

    Observations must be a one-dimensional Box, actions Discrete (for DQN) or a Box (for DDPG). Π
    is the observation Box; an infinite bound is replaced by the range that the agent has seen.
    With `scaling`, agent, model and climb all see the scaled observation. Pairs of cosine and sine
    (`angles`) are kept on the unit circle.
    """

    id: str = "CartPole-v1"
    """The id of a Gymnasium environment; `my_package:MyEnv-v0` imports my_package first."""
    discount: float = number(0.99, at_least=0, at_most=1)
    """γ, the discount factor."""
    scaling: bool = False
    """Scale each variable to about −1 … 1, by its bounds or by a thousand random steps."""
    reset_timeout: float = number(60.0, above=0, at_most=1e6, static=True)
    """Timeout of `reset` in seconds."""
    step_timeout: float = number(60.0, above=0, static=True)
    """Timeout of `step` in seconds."""
    processes: Literal["auto", "on", "off"] = "auto"
    """Step each seed's environment in its own process; auto: if a step takes over 1 ms."""
    terminal: FunctionByPlace[Callable[[Array], Array] | None] = None
    """JAX function obs [d] → whether an episode ends there; None: known for standard ids only."""
    angles: int | None = number(None, at_least=0, at_most=1_000)
    """Number of (cos, sin) pairs at the start of an observation; None: known for standard ids."""
    kwargs: tuple[str, ...] = later((), before=())
    """Keyword arguments of gymnasium.make or of the factory: continuous=true, or a dict."""
    variables: tuple[str, ...] = later((), before=())
    """Names of the variables in plots and tables; (): standard names, or numbers."""
    spec: PythonOnly[str] = later("", before="")
    """An environment with its wrappers, as by `env.spec.to_json()`; "": that of the id."""
    factory: PythonOnly[Callable[..., gymnasium.Env] | None] = later(None, before=None)
    """A function or class that makes the environment, instead of the id."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kwargs", words_of_kwargs(self.kwargs))
        check(self)
        if not isinstance(self.variables, tuple) or any(type(x) is not str for x in self.variables):
            raise SettingsError(
                f"Hosted.variables = {shown(self.variables)}: must be a tuple of names"
            )
        if self.factory is not None:
            if not callable(self.factory) and not isinstance(self.factory, Unimported):
                raise SettingsError(
                    f"Hosted.factory = {shown(self.factory)}: must be a function or class that "
                    "makes a gymnasium.Env"
                )
            object.__setattr__(self, "id", named(self.factory))
        elif not is_hosted(self.id):
            raise SettingsError(f"Hosted.id = {self.id!r}: must be like CartPole-v1 or pkg:Mine-v0")

    def build(self) -> Environment:
        spec = spec_of(self.recipe)._replace(discount=self.discount)
        if self.variables and len(self.variables) != len(spec.low):
            raise SettingsError(
                f"Hosted.variables = {self.variables}: must be {count(len(spec.low), 'name')}, one "
                f"for each variable of {self.id}"
            )

        def on_the_host(*arguments: Any) -> Any:
            raise SettingsError(
                f"environment = {self.id}: runs on the host and can't be asked for any state; use "
                "model = learned, or hcdyna.models.from_function with dynamics of your own"
            )

        terminal = self.terminal
        if terminal is None:
            terminal = known_terminal(self.id) if self.recipe.is_plain else None
        elif isinstance(terminal, Unimported):  # a run is only looked at
            terminal = None
        else:
            terminal = given_terminal(terminal, spec)
        wrapped = self.spec or self.factory is not None
        known = 0 if wrapped else known_angles(self.id)
        pairs = known if self.angles is None else self.angles
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
    def recipe(self) -> Recipe:
        """How it is made."""
        return Recipe(self.id, self.kwargs, self.spec, self.factory)

    @property
    def modules(self) -> list[str]:
        """Those that making it imports, but for Gymnasium's own; of a factory, none: it is here."""
        return modules_of(self.recipe)

    @property
    def usual(self) -> dict[str, str]:
        """Agent and model where none is named."""
        discrete = spec_of(self.recipe).num_actions is not None
        return {"agent": "dqn" if discrete else "ddpg", "model": "learned"}

    def make(self, **options: Any) -> gymnasium.Env:
        """A fresh environment; options such as render_mode are those of `gymnasium.make`."""
        return make(self.recipe, **options)


def on_host(environment: Any) -> Hosted | None:
    """The environment, if it is stepped on the host; None if it is compiled with its agents."""
    return environment if isinstance(environment, Hosted) else None


def is_scaled(environment: Any) -> bool:
    """Whether the agent sees its observations in another scale."""
    hosted = on_host(environment)
    return hosted is not None and hosted.scaling


def named(factory: Any) -> str:
    """What a function or class is called: module:name, or its name where nobody else finds it."""
    place = place_of(factory)
    if place is not None:
        return place if not place.startswith("/") else place.rpartition("/")[2]
    return str(getattr(factory, "__name__", type(factory).__name__)).strip("<>")


def longest_episode(spec: Spec) -> int:
    """Steps after which an evaluation episode is cut."""
    return LONGEST if spec.time_limit == NO_LIMIT else spec.time_limit


def to_action(space: spaces.Space, action: np.ndarray) -> Any:
    """Our action, an index or numbers in [−1, 1], as one of the environment's. An agent that has
    diverged does nothing in particular: no environment is given a NaN."""
    if isinstance(space, spaces.Discrete):
        return int(action) + int(space.start)
    assert isinstance(space, spaces.Box)
    share = (np.clip(np.nan_to_num(action), -1.0, 1.0) + 1.0) / 2.0
    return (space.low + share * (space.high - space.low)).astype(space.dtype)
