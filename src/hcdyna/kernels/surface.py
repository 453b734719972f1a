"""What kernels have to know of an agent: they can't look into functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hcdyna.errors import SettingsError
from hcdyna.kernels import build
from hcdyna.types import Array, Box, Environment, Perceptron

HIDDEN = (32, 64)
MOST_VARIABLES = 8
MOST_ACTIONS = 8
MOST_ROWS = 64
"""Larger mini-batches would not fit into a multiprocessor's shared memory."""


class Surface(NamedTuple):
    """max_a Q(s, a) of a perceptron, as a function of the state that shows its parameters."""

    value: Callable[[Array], Array]
    params: Any
    perceptron: Any
    env: Environment

    def __call__(self, obs: Array) -> Array:
        return self.value(obs)


def use_kernels(choice: str, perceptron: Perceptron | None, env: Environment) -> bool:
    """Whether fused kernels are to be used, by the setting `kernels` and by what they cover."""
    if choice == "off":
        return False
    reason = why_not(perceptron, env)
    if reason is not None and choice == "on":
        raise SettingsError(f"Training.kernels = 'on': {reason}; use auto or off")
    return reason is None


def why_not(perceptron: Perceptron | None, env: Environment) -> str | None:
    """Why the kernels can't be used here for an agent on an environment; None if they can."""
    reason = build.why_not() or why_not_covered(perceptron, env)
    if reason is None and perceptron is not None and isinstance(env.project, Box):
        try:
            build.target("climb", NORMALISE=1, PAIRS=env.project.pairs, **sizes(perceptron, env))
        except build.CannotBuild as error:
            reason = str(error)
    return reason


def why_not_covered(perceptron: Perceptron | None, env: Environment) -> str | None:
    """Why the kernels do not cover an agent on an environment; None if they do."""
    spec = env.spec
    if perceptron is None:
        return "the agent is not a perceptron of ours with discrete actions, as it was built"
    if len(perceptron.hidden) != 2 or len(set(perceptron.hidden)) != 1:
        return f"hidden = {perceptron.hidden}: kernels need two layers of the same size"
    if perceptron.hidden[0] not in HIDDEN:
        return f"hidden = {perceptron.hidden}: kernels exist for layers of {HIDDEN}"
    if spec.num_states is not None or spec.num_actions is None:
        return f"{spec.name}: kernels need continuous states and discrete actions"
    if not isinstance(env.project, Box):
        return f"{spec.name}: kernels know no Π but a Box"
    if spec.low.shape[0] > MOST_VARIABLES or (spec.num_actions or 0) > MOST_ACTIONS:
        return f"{spec.name}: kernels take up to 8 variables and 8 actions"
    return None


def left_plain(search_control: Any, batch_size: int, env: Environment) -> list[str]:
    """What runs plain beside the kernels, and why: they climb V̂ alone, and accept by distance."""
    climbs_plain = getattr(search_control, "climbs_plain", lambda env: None)(env)
    reasons = [f"the climb is plain with {climbs_plain}"] if climbs_plain else []
    if batch_size > MOST_ROWS:
        reasons.append(f"planning is plain with a batch_size over {MOST_ROWS}")
    return reasons


def sizes(perceptron: Perceptron, env: Environment) -> dict[str, int]:
    """Macros that both kernels need."""
    return {
        "STATE": env.spec.low.shape[0],
        "HIDDEN": perceptron.hidden[0],
        "ACTIONS": env.spec.num_actions or 0,
        "TANH": int(perceptron.activation == "tanh"),
    }
