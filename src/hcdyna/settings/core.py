"""Settings of a run: one frozen dataclass for each choice, checked when it is made.

This module knows nothing of JAX, so that settings can be read, checked and printed at once.
"""

import dataclasses
import functools
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import tyro

from hcdyna.settings import registry
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import MOST, MOST_EPISODES, check, is_part, later, number, shown
from hcdyna.settings.short import short_repr, unusual

CHOICES = {
    "environment": "environments",
    "agent": "agents",
    "model": "models",
    "search_control": "search_control",
}
"""The four choices of Dyna, and the registry group that each is looked up in."""

MOST_EVALUATIONS = 1_000_000
USUAL = {"agent": "dqn", "model": "true"}
T = TypeVar("T")
PythonOnly = Annotated[T, tyro.conf.Suppress, tyro.conf.Fixed]
"""A field that holds functions, so that it has no option on the command line."""


@dataclass(frozen=True)
class Training:
    """How long to train, and how much to plan."""

    steps: int = number(50_000, at_least=1, at_most=MOST)
    """Total environment steps, including warm-up."""
    warmup: int = number(5_000, at_least=0, at_most=MOST)
    """Steps with uniformly random actions before learning starts."""
    epsilon: float = number(0.1, at_least=0, at_most=1)
    """ε of the behaviour policy, also in planning; for continuous actions, 0 turns off noise."""
    epsilon_start: float = later(1.0, before=1.0, at_least=0, at_most=1)
    """Initial ε after the warm-up; decreases linearly to `epsilon` over `epsilon_steps`."""
    epsilon_steps: int = later(0, before=0, at_least=0, at_most=MOST)
    """Steps over which ε decreases from `epsilon_start`; 0: ε is constant."""
    planning_steps: int = number(10, at_least=0, at_most=10_000)
    """n, mini-batch updates per environment step."""
    update_every: int = later(1, before=1, at_least=1, at_most=MOST)
    """Search and plan once per this many environment steps."""
    batch_size: int = number(32, at_least=1, at_most=1_000_000)
    """b, the size of a mini-batch."""
    mixing_rate: float = number(0.5, at_least=0, at_most=1, static=True)
    """ρ, the share of a mini-batch from search-control (per row, if ρb is not an integer)."""
    replay_size: int = number(100_000, at_least=1, at_most=MOST)
    """Capacity of the replay buffer in transitions."""
    learn_at_once: bool = False
    """As in Algorithm 2: update Q with each new transition, and the model before planning."""
    kernels: Literal["auto", "on", "off"] = "auto"
    """Fused kernels: if possible, always (or an error), or never. They round differently."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True)
class Evaluation:
    """When and how to evaluate agents, on a separate environment."""

    every: int = number(1_000, at_least=1, at_most=MOST)
    """Environment steps between two evaluations."""
    epsilon: float = number(0.05, at_least=0, at_most=1)
    """ε while evaluating; continuous actions are evaluated without noise."""
    episodes: int = number(1, at_least=1, at_most=MOST_EPISODES)
    """Episodes per evaluation; their mean return is reported."""

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, repr=False)
class Settings:
    """One algorithm on one environment. Each of the four parts is a name or an object with `build`.

    >>> Settings(environment="MountainCar", search_control="uniform").search_control
    Uniform()
    """

    environment: Any = "GridWorld"
    agent: Any = None
    """None: dqn, or ddpg for continuous actions on a Gymnasium environment."""
    model: Any = None
    """None: true, or learned on a Gymnasium environment, whose dynamics can't be queried."""
    search_control: Any = "hill_climbing"
    training: Training = Training()
    evaluation: Evaluation = Evaluation()

    def __post_init__(self) -> None:
        for choice, group in CHOICES.items():
            part = getattr(self, choice)
            if part is None and choice in USUAL:
                part = getattr(self.environment, "usual", USUAL)[choice]
            if isinstance(part, str):
                object.__setattr__(self, choice, registry.make(group, part))
            elif isinstance(part, type) or not callable(getattr(part, "build", None)):
                raise SettingsError(
                    f"Settings.{choice} = {shown(part)}: "
                    "must be a name or an object with a method build"
                )
            elif (other := registry.group_of(part)) not in (None, group):
                raise SettingsError(
                    f"Settings.{choice} = {shown(part)}: is one of the {other}; must be one of the "
                    f"{group}"
                )
        for name, kind in (("training", Training), ("evaluation", Evaluation)):
            if not isinstance(getattr(self, name), kind):
                raise SettingsError(
                    f"Settings.{name} = {shown(getattr(self, name))}: must be a {kind.__name__}"
                )
        training, every = self.training, self.evaluation.every
        if training.steps > MOST_EVALUATIONS * every:
            raise SettingsError(
                f"Evaluation.every = {every}: must be at least "
                f"{-(-training.steps // MOST_EVALUATIONS)} with {training.steps} steps"
            )
        if training.replay_size < training.batch_size:
            raise SettingsError(
                f"Training.replay_size = {training.replay_size}: "
                f"must be at least the batch size, {training.batch_size}"
            )

    def __repr__(self) -> str:
        choices = [short_repr(getattr(self, choice)) for choice in CHOICES]
        more = [name for name in unusual(self) if name not in CHOICES]
        rest = [f"{name}={short_repr(getattr(self, name))}" for name in more]
        return f"Settings({', '.join((*choices, *rest))})"

    def _repr_html_(self) -> str:
        # Of a room above, which is named, as the parts are, and not imported.
        html: str = importlib.import_module("hcdyna.figures.notebook").settings_html(self)
        return html


def evaluations_until(settings: Settings, step: int) -> int:
    """How many evaluations a run has had after so many steps."""
    last = step >= settings.training.steps and settings.training.steps % settings.evaluation.every
    return step // settings.evaluation.every + bool(last)


def evaluated_after(settings: Settings, number: int) -> int:
    """The step after which evaluation `number` = 0, 1, … takes place."""
    return min((number + 1) * settings.evaluation.every, settings.training.steps)


TRACED_PARTS = ("agent", "model", "search_control", "training")


def traced_numbers(settings: Settings) -> dict[str, float]:
    """The numbers that may vary within one compiled program, by `part.field`; those of the parts
    that a part is made of by `part.field.field`, or `part.field.0.field` if it has several."""
    parts = {name: getattr(settings, name) for name in TRACED_PARTS}
    return dict(item for name, part in parts.items() for item in _numbers(part, name))


def _numbers(value: Any, at: str) -> Iterator[tuple[str, float]]:
    if is_part(value):
        for field in dataclasses.fields(value):
            inner, path = getattr(value, field.name), f"{at}.{field.name}"
            if field.metadata.get("static", False):
                continue
            if isinstance(inner, float):
                yield path, inner
            else:
                yield from _numbers(inner, path)
    elif type(value) is tuple:  # of parts: numbers in a tuple are shapes
        for index, inner in enumerate(value):
            yield from _numbers(inner, f"{at}.{index}")


def with_numbers(settings: Settings, values: dict[str, Any]) -> Settings:
    """A copy with some numbers exchanged, unchecked: the values may be tracers or placeholders."""
    changes: dict[str, Any] = {}
    for path, value in values.items():
        *outer, last = path.split(".")
        functools.reduce(lambda inner, name: inner.setdefault(name, {}), outer, changes)[last] = (
            value
        )
    return _copy(settings, changes)


def _copy(value: Any, changes: Any) -> Any:
    """`changes` has those of each field that holds a part, or what to take its place."""
    if not isinstance(changes, dict):
        return changes
    if not changes:
        return value
    if isinstance(value, tuple):
        return tuple(_copy(x, changes.get(str(index), {})) for index, x in enumerate(value))
    new = object.__new__(type(value))
    for field in dataclasses.fields(value):
        inner = _copy(getattr(value, field.name), changes.get(field.name, {}))
        object.__setattr__(new, field.name, inner)
    return new


def part_of(settings: Settings, choice: str, env: Any, **more: Any) -> Any:
    """The agent, model or search-control that some settings build for an environment."""
    given = {"env": env, "spec": env.spec, "training": settings.training, **more}
    return built(getattr(settings, choice), given)


def agent_of(settings: Settings, spec: Any) -> Any:
    """The agent that some settings build for an environment, as evaluations see it."""
    agent = built(settings.agent, {"spec": spec, "training": settings.training})
    return agent if agent.shown is None else agent.shown


def built(part: Any, given: dict[str, Any]) -> Any:
    """What a part builds, told those of `given` (env, spec, training) that its `build` asks for."""
    wanted = inspect.signature(part.build).parameters
    unknown = [n for n, about in wanted.items() if n not in given and about.default is about.empty]
    if unknown:
        raise SettingsError(
            f"{type(part).__name__}.build({unknown[0]}): must ask for some of {', '.join(given)}"
        )
    return part.build(**{name: given[name] for name in wanted if name in given})
