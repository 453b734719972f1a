"""The one place that decides what is accelerated, and says so.

A fast version comes in through a function that is there anyway, the agent's `plan` or the scene's
`climb`; who has none runs plain.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from hcdyna.kernels import build
from hcdyna.kernels.climb import climb_along
from hcdyna.kernels.plan import plan
from hcdyna.kernels.sizes import MOST_ROWS, sizes, why_not_covered
from hcdyna.settings import Settings
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Agent, Array, Box, Environment, Info, Perceptron


class Accelerated(NamedTuple):
    """What came of it."""

    agent: Agent
    """with `plan`, where there is a fast one"""
    climb: Callable[[Any], Callable[..., tuple[Array, Array]]] | None
    """the agent's state → a fast climb on V̂, or None"""
    said: str
    """for the record: fused, off, or why it is plain, wholly or in part"""


def accelerate(settings: Settings, env: Environment, agent: Agent) -> Accelerated:
    """Fast versions of what they cover, by the setting `kernels`."""
    choice = settings.training.kernels
    if choice == "off":
        return Accelerated(agent, None, "off")
    perceptron = agent.covered
    reason = why_not(perceptron, env)
    reasons = reasons_to_stay_plain(settings, env) if reason is None else [reason]
    if choice == "on" and reasons:
        raise SettingsError(f"Training.kernels = 'on': {reasons[0]}; use auto or off")
    if reason is not None or perceptron is None or not isinstance(env.project, Box):
        return Accelerated(agent, None, f"plain: {reason}")
    box, known = env.project, perceptron

    def fast_plan(state: Any, batches: Any, count: Array | None) -> tuple[Any, Info]:
        return plan(known, env, state, batches, count)

    def fast_climb(state: Any) -> Callable[..., tuple[Array, Array]]:
        def along(noise: Array, start: Array, **how: Any) -> tuple[Array, Array]:
            return climb_along(noise, start, state.params, known, env, box, **how)

        return along

    if settings.training.batch_size <= MOST_ROWS:
        agent = agent._replace(plan=fast_plan)
    return Accelerated(agent, fast_climb, "; ".join(["fused", *reasons]))


def why_not(perceptron: Perceptron | None, env: Environment) -> str | None:
    """Why no kernel can be used here for an agent on an environment; None if some can."""
    reason = build.why_not() or why_not_covered(perceptron, env)
    if reason is None and perceptron is not None and isinstance(env.project, Box):
        try:
            build.target("climb", NORMALISE=1, PAIRS=env.project.pairs, **sizes(perceptron, env))
        except build.CannotBuild as error:
            return str(error)
    return reason


def reasons_to_stay_plain(settings: Settings, env: Environment) -> list[str]:
    """What runs plain beside the kernels, and why."""
    climbs_plain = getattr(settings.search_control, "climbs_plain", lambda env: None)(env)
    reasons = [f"the climb is plain with {climbs_plain}"] if climbs_plain else []
    plans_plain = getattr(settings.search_control, "plans_plain", None)
    if plans_plain:
        reasons.append(f"planning is plain with {plans_plain}")
    if settings.training.batch_size > MOST_ROWS:
        reasons.append(f"planning is plain with a batch_size over {MOST_ROWS}")
    return reasons
