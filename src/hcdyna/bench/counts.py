"""How much arithmetic is it? Multiply-adds of an environment step, and what the device can do."""

import time
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from hcdyna.numerics.devices import available_cores, compiler_options, mesh_for
from hcdyna.search_control.hill_climbing import HillClimbing
from hcdyna.settings import Settings

UPDATE = 4
"""Forward passes that an update of a row is worth: Q of the state, Q′ of the next state, and
backwards twice as much, for the gradients of the weights and of the layers' inputs."""
CLIMB_STEP = 2
"""Forward, and backwards to the gradient of the state."""
SIDE = {"cpu": 2_048}
"""Of the matrices whose product shows the peak; they must be large enough to keep a device busy."""
SIDE_OF_OTHERS = 8_192


def forward(settings: Settings) -> int:
    """Multiply-adds of Q(s, ·) for one state."""
    spec = settings.environment.build().spec
    sizes = (spec.low.shape[0], *settings.agent.hidden, spec.num_actions)
    return sum(size_in * size_out for size_in, size_out in pairwise(sizes))


def multiply_adds(settings: Settings) -> int:
    """Of one environment step of one agent: climb and planning, all else is small beside them."""
    search, training = settings.search_control, settings.training
    climb = CLIMB_STEP * search.steps if isinstance(search, HillClimbing) else 0
    planning = UPDATE * training.planning_steps * training.batch_size
    return (climb + planning) * forward(settings)


def peak(precision: str, rounds: int = 5) -> float:
    """Multiply-adds a second of all devices together in large products of float32 matrices."""
    mesh = mesh_for(available_cores() if jax.default_backend() == "cpu" else jax.device_count())
    side = SIDE.get(jax.default_backend(), SIDE_OF_OTHERS)
    ones = np.ones((mesh.size, side, side), np.float32)
    matrices = jax.device_put(ones, NamedSharding(mesh, P("agents")))
    product = jax.jit(
        jax.shard_map(
            lambda x: jnp.matmul(x, x, precision=precision),
            mesh=mesh,
            in_specs=P("agents"),
            out_specs=P("agents"),
        ),
        compiler_options=compiler_options(),
    )
    jax.block_until_ready(product(matrices))
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        jax.block_until_ready(product(matrices))
        seconds.append(time.perf_counter() - start)
    return mesh.size * side**3 / min(seconds)
