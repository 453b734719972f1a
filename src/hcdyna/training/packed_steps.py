"""The steps of a run on the host with few arrays to hand over, since each costs the host time."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.kernels.accelerate import joints_for, keys_for
from hcdyna.numerics.devices import compiler_options
from hcdyna.numerics.packing import Packed, Packing
from hcdyna.settings import Settings
from hcdyna.training.compiled import AgentLife, Numbers
from hcdyna.training.hosted_steps import actor, choose, test_action, time_step
from hcdyna.types import Array, Info


class Carried(NamedTuple):
    """What goes from one step to the next."""

    life: AgentLife
    numbers: Numbers
    total: Info
    """sums of diagnostics"""
    action: Array
    """chosen, but not taken yet"""


class PackedSteps:
    """`hosted_steps.time_step` of all agents, packed; `life` and `numbers` are examples."""

    def __init__(self, static: Settings, warm_up: bool, life: AgentLife, numbers: Numbers) -> None:
        self.agents = len(life.obs)
        like, like_numbers = of_one(life), of_one(numbers)
        news = jax.ShapeDtypeStruct((2 * like.obs.size + 3,), jnp.float32)

        def first(life: AgentLife, numbers: Numbers, news: Array) -> tuple[Array, Info]:
            """The first action, and the diagnostics of what it leads to."""
            action = choose(static, warm_up, life, numbers)
            return action, time_step(static, warm_up, life, numbers, None, action, news)[1]

        with_keys, (action, self.info) = keys_for(static, first, like, like_numbers, news)
        packing = Packing(Carried(like, like_numbers, self.info, action), joints_for(static))

        def step(packed: Packed, news: Array) -> tuple[Packed, Array]:
            life, numbers, total, action = packing.unpack(packed)
            after, sums, next_action = time_step(
                static, warm_up, with_keys(life), numbers, total, action, news
            )
            return packing.pack(Carried(after, numbers, sums, next_action)), next_action

        def act(life: AgentLife, numbers: Numbers) -> Array:
            return choose(static, warm_up, with_keys(life), numbers)

        options = compiler_options()
        self.step = jax.jit(jax.vmap(step), donate_argnums=0, compiler_options=options)
        """packed, news [agents, 2d + 3] → packed, the next actions"""
        self.act = jax.jit(jax.vmap(act), compiler_options=options)
        self.packing = packing
        self.vectors = jax.jit(jax.vmap(packing.vectors))
        self.small = jax.jit(jax.vmap(packing.small))

    def pack(self, life: AgentLife, numbers: Numbers) -> tuple[Packed, Array]:
        """Before the first step, and its actions; large arrays are not copied."""
        action = self.act(life, numbers)
        zeros = jax.tree.map(lambda x: jnp.zeros((self.agents, *x.shape), x.dtype), self.info)
        small, large = self.packing.parted(Carried(life, numbers, zeros, action))
        return Packed(self.vectors(small), large), action

    def unpack(self, packed: Packed) -> Carried:
        """The way back; large arrays are not copied."""
        return self.packing.together(self.small(packed.vectors), packed.large)


class PackedTests:
    """`hosted_steps.test_action` of all agents, packed; `life` and `numbers` are examples."""

    def __init__(self, static: Settings, life: AgentLife, numbers: Numbers) -> None:
        count, of_life = jax.ShapeDtypeStruct((), jnp.uint32), of_one(life)
        like = jax.eval_shape(actor, of_life, of_one(numbers), count, count)
        packing = Packing(like, joints_for(static))

        with_keys, _ = keys_for(static, partial(test_action, static), like, of_life.obs, count)

        def action(packed: Packed, obs: Array, turn: Array) -> Array:
            return test_action(static, with_keys(packing.unpack(packed)), obs, turn)

        jit = partial(jax.jit, compiler_options=compiler_options())
        self.begin = jit(jax.vmap(lambda *given: packing.pack(actor(*given)), (0, 0, None, None)))
        self.action = jit(jax.vmap(action, (0, 0, None)))
        """packed, obs [agents, d], turn → actions"""

    def actors(self, life: AgentLife, numbers: Numbers, step: int, episode: int) -> Packed:
        """All agents before an evaluation episode."""
        return self.begin(life, numbers, np.uint32(step), np.uint32(episode))


def mean(total: Info, steps: int) -> Info:
    """The mean of the diagnostics of so many steps."""
    share = np.float32(1.0 / steps)
    return jax.tree.map(lambda x: x * share, total)


def of_one(tree: Any) -> Any:
    """The shapes of one agent."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), tree)
