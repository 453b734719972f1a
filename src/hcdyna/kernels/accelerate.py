"""The one place that decides what is accelerated, and says so.

A fast version comes in through a function that is there anyway, the agent's `plan` or the scene's
`climb`; who has none runs plain.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax

from hcdyna.kernels import climb as gpu_climb
from hcdyna.kernels import plan as gpu_plan
from hcdyna.kernels import sizes as gpu_coverage
from hcdyna.kernels.cpu import climb as cpu_climb
from hcdyna.kernels.cpu import coverage as cpu_coverage
from hcdyna.kernels.cpu import fit as cpu_fit
from hcdyna.kernels.cpu import joints, threefry
from hcdyna.kernels.cpu import plan as cpu_plan
from hcdyna.kernels.cpu.joints import quick_joints
from hcdyna.models.fitting import FitFor
from hcdyna.numerics.devices import start
from hcdyna.numerics.packing import PLAIN, Joints
from hcdyna.settings import Settings
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Agent, Array, Box, Environment, Info, Key, Perceptron


class Accelerated(NamedTuple):
    """What came of it."""

    agent: Agent
    """with `plan`, where there is a fast one"""
    climb: Callable[[Any], Callable[..., tuple[Array, Array]]] | None
    """the agent's state → a fast climb on V̂, or None"""
    said: str
    """for the record: fused, off, or why it is plain, wholly or in part"""


class Kernels(NamedTuple):
    """The fast versions for one kind of device."""

    why_not: Callable[[Perceptron | None, Environment], str | None]
    """agent, environment → why none can be used for them here; None if some can."""
    climb_along: Callable[..., tuple[Array, Array]]
    plan: Callable[..., tuple[Any, Info]]
    most_rows: int
    """The largest mini-batch that `plan` takes."""


GPU = Kernels(
    gpu_coverage.why_not, gpu_climb.climb_along, gpu_plan.plan, most_rows=gpu_coverage.MOST_ROWS
)
CPU = Kernels(
    cpu_coverage.why_not, cpu_climb.climb_along, cpu_plan.plan, most_rows=cpu_coverage.MOST_ROWS
)


def kernels_here() -> Kernels:
    """Those for the devices that JAX has found."""
    start()
    return CPU if jax.default_backend() == "cpu" else GPU


def accelerate(settings: Settings, env: Environment, agent: Agent) -> Accelerated:
    """Fast versions of what they cover, by the setting `kernels`."""
    choice = settings.training.kernels
    if choice == "off":
        return Accelerated(agent, None, "off")
    perceptron, kernels = agent.covered, kernels_here()
    reason = kernels.why_not(perceptron, env)
    reasons = reasons_to_stay_plain(settings, env, kernels) if reason is None else [reason]
    if choice == "on" and reasons:
        raise SettingsError(f"Training.kernels = 'on': {reasons[0]}; use auto or off")
    if reason is not None or perceptron is None or not isinstance(env.project, Box):
        return Accelerated(agent, None, f"plain: {reason}")
    box, known = env.project, perceptron

    def fast_plan(state: Any, batches: Any, count: Array | None) -> tuple[Any, Info]:
        return kernels.plan(known, env, state, batches, count)

    def fast_climb(state: Any) -> Callable[..., tuple[Array, Array]]:
        def along(noise: Array, start: Array, **how: Any) -> tuple[Array, Array]:
            return kernels.climb_along(noise, start, state.params, known, env, box, **how)

        return along

    if settings.training.batch_size <= kernels.most_rows:
        agent = agent._replace(plan=fast_plan)
    return Accelerated(agent, fast_climb, "; ".join(["fused", *reasons]))


def reasons_to_stay_plain(settings: Settings, env: Environment, kernels: Kernels) -> list[str]:
    """What runs plain beside the kernels, and why."""
    climbs_plain = getattr(settings.search_control, "climbs_plain", lambda env: None)(env)
    reasons = [f"the climb is plain with {climbs_plain}"] if climbs_plain else []
    plans_plain = getattr(settings.search_control, "plans_plain", None)
    if plans_plain:
        reasons.append(f"planning is plain with {plans_plain}")
    if settings.training.batch_size > kernels.most_rows:
        reasons.append(f"planning is plain with a batch_size over {kernels.most_rows}")
    return reasons


def fit_for(settings: Settings) -> FitFor | None:
    """Fast gradient steps for learned models, where there are any."""
    return None if settings.training.kernels == "off" else cpu_fit.fit_for


def joints_for(settings: Settings) -> Joints:
    """How small arrays are packed into vectors, the fastest way that there is."""
    return PLAIN if settings.training.kernels == "off" else quick_joints()


def quick_key(settings: Settings, key: Key) -> Key:
    """The same key, from which one draws the same numbers faster where that is possible."""
    return key if settings.training.kernels == "off" else threefry.quick(key)


usual_key = threefry.usual
"""A quick key → the same one as JAX's own, to be kept."""


def after(done: Iterable[Array], key: Key, state: Any = ()) -> tuple[Key, Any]:
    """The same key and state; but if the key is a quick one, nobody draws from it, or uses the
    small arrays of the state, before `done` is there."""
    done = list(done)
    if not done or not threefry.is_quick(key):
        return key, state
    data, state = joints.after(done, (threefry.raw(key), state))
    return threefry.quickly(data), state
