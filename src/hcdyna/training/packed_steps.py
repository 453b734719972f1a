"""The steps of a run on the host with few arrays to hand over, since each costs the host time."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.kernels.accelerate import cut_for
from hcdyna.numerics.devices import compiler_options
from hcdyna.numerics.packing import Packed, Packing
from hcdyna.settings import Settings
from hcdyna.training.compiled import AgentLife, Numbers
from hcdyna.training.hosted_steps import choose, time_step
from hcdyna.types import Array, Info


class PackedSteps:
    """`hosted_steps.time_step` of all agents, with packed lives, numbers and sums of diagnostics;
    `life` and `numbers` are examples."""

    def __init__(self, static: Settings, warm_up: bool, life: AgentLife, numbers: Numbers) -> None:
        self.agents = len(life.obs)
        like, like_numbers = of_one(life), of_one(numbers)
        news = jax.ShapeDtypeStruct((2 * like.obs.size + 3,), jnp.float32)
        action = jax.eval_shape(partial(choose, static, warm_up), like, like_numbers)
        _, self.info, _ = jax.eval_shape(
            partial(time_step, static, warm_up), like, like_numbers, None, action, news
        )
        self.lives, self.numbers, self.totals = (Packing(each, cut_for(static)) for each in (like, like_numbers, self.info))

        def step(life: Packed, numbers: Packed, total: Packed, action: Array, news: Array) -> Any:
            given = (
                self.lives.unpack(life),
                self.numbers.unpack(numbers),
                self.totals.unpack(total),
            )
            after, sums, next_action = time_step(static, warm_up, *given, action, news)
            return self.lives.pack(after), self.totals.pack(sums), next_action

        options = compiler_options()
        self.step = jax.jit(jax.vmap(step), donate_argnums=(0, 2), compiler_options=options)
        self.vectors = jax.jit(jax.vmap(self.lives.vectors))
        self.small = jax.jit(jax.vmap(self.lives.small))

    def pack(self, life: AgentLife) -> Packed:
        """All lives; large arrays are not copied."""
        small, large = self.lives.parted(life)
        return Packed(self.vectors(small), large)

    def unpack(self, packed: Packed) -> AgentLife:
        """All lives again; large arrays are not copied."""
        return self.lives.together(self.small(packed.vectors), packed.large)

    def known(self, numbers: Numbers) -> Packed:
        """The numbers of all agents."""
        return self.numbers.pack(numbers) if not numbers else jax.vmap(self.numbers.pack)(numbers)

    def nothing(self) -> Packed:
        """Sums of diagnostics before the first step."""
        sizes = [sum(x.size for x in jax.tree.leaves(self.info))] if self.info else []
        return Packed(tuple(jnp.zeros((self.agents, size)) for size in sizes), ())

    def mean(self, total: Packed, steps: int) -> Info:
        """The mean of the diagnostics of so many steps."""
        if not self.info:
            return {}
        share = np.float32(1.0 / steps)
        return jax.tree.map(lambda x: x * share, jax.vmap(self.totals.unpack)(total))


def of_one(tree: Any) -> Any:
    """The shapes of one agent."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), tree)
