"""The one place that decides what is accelerated, and says so.

A fast version comes in through a function that is there anyway, the agent's `plan` or the scene's
`climb`; who has none runs plain.
"""

import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import jax

from hcdyna.kernels import climb as gpu_climb
from hcdyna.kernels import look as gpu_look
from hcdyna.kernels import model as gpu_model
from hcdyna.kernels import plan as gpu_plan
from hcdyna.kernels import sizes as gpu_coverage
from hcdyna.kernels.cpu import climb as cpu_climb
from hcdyna.kernels.cpu import coverage as cpu_coverage
from hcdyna.kernels.cpu import fit as cpu_fit
from hcdyna.kernels.cpu import joints, threefry
from hcdyna.kernels.cpu import plan as cpu_plan
from hcdyna.kernels.cpu.coverage import widths
from hcdyna.kernels.cpu.joints import quick_joints
from hcdyna.kernels.library import CannotBuild
from hcdyna.kernels.look import quick_looks
from hcdyna.models.fitting import ApplyFor, FitFor
from hcdyna.numerics.devices import start
from hcdyna.numerics.packing import PLAIN, Joints, is_key
from hcdyna.search_control.climbing import climb_along
from hcdyna.search_control.frequency import ValueOrFrequency
from hcdyna.search_control.td_error import LogTDError
from hcdyna.settings import Settings
from hcdyna.settings.errors import SettingsError
from hcdyna.types import Agent, Array, Box, Environment, Info, Key, Perceptron

Climb = Callable[..., tuple[Array, Array]]
"""`climbing.climb_along`, or a faster version of it."""
WithKeys = Callable[[Any], Any]
"""A tree of arrays → the same with other keys."""


class Accelerated(NamedTuple):
    """What came of it."""

    agent: Agent
    """with `plan`, where there is a fast one"""
    climb: Callable[[Any, Callable[[Array], Array]], Climb] | None
    """the agent's state, its V̂ → a climb that is fast on V̂; None: there is none"""
    said: str
    """for the record: fused, off, or why it is plain, wholly or in part"""


class Kernels(NamedTuple):
    """The fast versions for one kind of device."""

    why_not: Callable[[Perceptron | None, Environment], str | None]
    """agent, environment → why none can be used for them here; None if some can."""
    climb_along: Climb
    plan: Callable[..., tuple[Any, Info]]
    most_rows: int
    """The largest mini-batch that `plan` takes."""
    fit_for: FitFor
    """Gradient steps of learned models, and …"""
    apply_for: ApplyFor | None = None
    """… their answers."""
    frequency: bool = False
    """Whether `climb_along` knows `ValueOrFrequency`."""
    look: Callable[..., tuple[Array, Array]] | None = None
    """Q and the gradient of V at one state, for climbs that are plain."""


GPU = Kernels(
    gpu_coverage.why_not,
    gpu_climb.climb_along,
    gpu_plan.plan,
    gpu_coverage.MOST_ROWS,
    gpu_model.fit_for,
    gpu_model.apply_for,
    frequency=True,
    look=gpu_look.look,
)
CPU = Kernels(
    cpu_coverage.why_not,
    cpu_climb.climb_along,
    cpu_plan.plan,
    cpu_coverage.MOST_ROWS,
    cpu_fit.fit_for,
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
    if reason is None and not begins_as(perceptron, agent, env):
        reason = "the parameters that the agent begins with are not those of a perceptron of ours"
    crowded = settings.training.batch_size > kernels.most_rows
    beside = f"planning is plain with a batch_size over {kernels.most_rows}" if crowded else None
    if choice == "on":
        refuse_plain(reason or beside)
    if reason is not None or perceptron is None or type(env.project) is not Box:
        return Accelerated(agent, None, f"plain: {reason}")
    box, known = env.project, perceptron

    def fast_plan(state: Any, batches: Any, count: Array | None) -> tuple[Any, Info] | None:
        try:
            return kernels.plan(known, env, state, batches, count)
        except CannotBuild as why:  # these rows are too many for this device
            refuse_plain(str(why) if choice == "on" else None)
            warnings.warn(f"planning is plain: {why}", stacklevel=2)
            return None

    def fast_climb(state: Any, value: Callable[[Array], Array]) -> Climb:
        def along(noise: Array, start: Array, criterion: Any = value, **how: Any) -> Any:
            if why_plain(criterion, value, box, how) is not None:
                given = {"project": box, "skip": None} | how
                return climb_along(noise, start, looking(criterion, state, value), **given)
            covered = {name: x for name, x in how.items() if name not in ALWAYS_THE_SAME}
            if isinstance(criterion, ValueOrFrequency):
                covered["on_value"] = criterion.on_value
            return kernels.climb_along(noise, start, state.params, known, env, box, **covered)

        return along

    def looking(criterion: Any, state: Any, value: Any) -> Any:
        """The criterion, with looks at Q that are fast."""
        if not isinstance(criterion, LogTDError) or kernels.look is None:
            return criterion
        if criterion.scene.value is not value:
            return criterion
        return replace(criterion, scene=quick_looks(criterion.scene, kernels.look, state, known))

    if not crowded:
        agent = agent._replace(plan=fast_plan)
    return Accelerated(agent, fast_climb, f"fused; {beside}" if beside else "fused")


def begins_as(perceptron: Perceptron | None, agent: Agent, env: Environment) -> bool:
    """Whether the parameters of an agent, whose `init` may be another one, are such layers."""
    if perceptron is None:
        return False
    if agent.init in perceptron.functions:
        return True
    state = jax.eval_shape(agent.init, jax.random.key(0))
    found = [x.shape for x in jax.tree.leaves(getattr(state, "params", None))]
    layers = pairwise(widths(perceptron, env))
    return found == [shape for m, n in layers for shape in ((m, n), (n,))]


ALWAYS_THE_SAME = ("project", "restarts", "accept_first")
"""Options of a climb that kernels are not told."""


def why_plain(criterion: Any, value: Any, box: Any, how: dict[str, Any]) -> str | None:
    """What no kernel does of a climb within the box, where V̂ is `value`, with such options; None:
    one does it all."""
    either = isinstance(criterion, ValueOrFrequency) and kernels_here().frequency
    if (criterion.value if either else criterion) is not value:
        return "a criterion other than the value"
    if how.get("project", box) is not box:
        return "a Π other than the environment's"
    if how.get("restarts") is not None:
        return "restarts"
    return None if how.get("accept_first", True) else "s̃ at the start"


def refuse_plain(reason: str | None) -> None:
    """Raise SettingsError with the reason to run plain, if there is one."""
    if reason is not None:
        raise SettingsError(f"Training.kernels = 'on': {reason}; use auto or off")


def for_models(settings: Settings) -> dict[str, Any]:
    """Fast gradient steps and answers for learned models, where there are any."""
    if settings.training.kernels == "off":
        return {"fit_for": None, "apply_for": None}
    kernels = kernels_here()
    return {"fit_for": kernels.fit_for, "apply_for": kernels.apply_for}


def joints_for(settings: Settings) -> Joints:
    """How small arrays are packed into vectors, the fastest way that there is."""
    return PLAIN if settings.training.kernels == "off" else quick_joints()


def keys_for(settings: Settings, program: Callable, *like: Any) -> tuple[WithKeys, Any]:
    """How the keys in the first argument of a program are exchanged for ones that draw the same
    numbers faster, where that is possible; and the shapes of what it returns for such arguments."""

    def shapes(with_keys: WithKeys) -> Any:
        return jax.eval_shape(lambda tree, *more: program(with_keys(tree), *more), *like)

    if settings.training.kernels != "off":
        try:
            return quick_keys, shapes(quick_keys)
        except NotImplementedError:  # a part draws what needs JAX's own keys, as jax.random.poisson
            pass
    return usual_keys, shapes(usual_keys)


def quick_keys(tree: Any) -> Any:
    """The same tree with quick keys."""
    return jax.tree.map(lambda x: threefry.quick(x) if is_key(x) else x, tree)


def usual_keys(tree: Any) -> Any:
    """The same tree with JAX's own keys, to be kept."""
    return jax.tree.map(lambda x: threefry.usual(x) if is_key(x) else x, tree)


def after(done: Iterable[Array], key: Key, state: Any = ()) -> tuple[Key, Any]:
    """The same key and state; but if the key is a quick one, nobody draws from it, or uses the
    small arrays of the state, before `done` is there."""
    done = list(done)
    if not done or not threefry.is_quick(key):
        return key, state
    data, state = joints.after(done, (threefry.raw(key), state))
    return threefry.quickly(data), state
