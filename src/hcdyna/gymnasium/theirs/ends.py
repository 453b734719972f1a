"""Where episodes end in standard Gymnasium environments, as functions of the observation reached.

Only environments are here whose `terminated` the observation decides. Not so, for instance:
LunarLander ends with a crash of its body or when it has fallen asleep, BipedalWalker where the hull
touches the ground or at places that it does not observe, and InvertedDoublePendulum judges a height
that is one inner step of the simulation older than the angles that it shows.

Most environments judge in float64 what we see in float32. A function here says what the environment
would say of a state that has exactly the observed numbers; the state itself can lie on the other
side of a bound only if it is within one rounding of it.
"""

from collections.abc import Callable

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.environments.acrobot import above_bar
from hcdyna.environments.grid_world import at_goal
from hcdyna.gymnasium.theirs.failure import reason
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import shown
from hcdyna.types import Array, Spec

Terminal = Callable[[Array], Array]
"""obs [d] → whether an episode ends on reaching this state."""


def floor32(bound: float) -> np.float32:
    """The largest float32 that is not above a bound: x > bound just where x > floor32(bound)."""
    near = np.float32(bound)
    return near if float(near) <= bound else np.nextafter(near, np.float32(-np.inf))


def ceil32(bound: float) -> np.float32:
    """The smallest float32 that is not below a bound: x < bound just where x < ceil32(bound)."""
    return -floor32(-bound)


POLE_ANGLE = 12 * 2 * np.pi / 360
"""12 degrees, as CartPole computes them."""


def cart_pole(obs: Array) -> Array:
    """The cart is over 2.4 from the middle, or the pole over 12 degrees from upright."""
    return (jnp.abs(obs[0]) > floor32(2.4)) | (jnp.abs(obs[2]) > floor32(POLE_ANGLE))


def cart_pole_in_jax(obs: Array) -> Array:
    """The same, judged in float32."""
    far, tilted = np.float32(2.4), np.float32(POLE_ANGLE)
    return (jnp.abs(obs[0]) > far) | (jnp.abs(obs[2]) > tilted)


def mountain_car(obs: Array) -> Array:
    """Position 0.5 or beyond, and not moving back."""
    return (obs[0] >= 0.5) & (obs[1] >= 0.0)


def mountain_car_continuous(obs: Array) -> Array:
    """Position 0.45 or beyond, judged in float32, and not moving back."""
    return (obs[0] >= np.float32(0.45)) & (obs[1] >= 0.0)


def inverted_pendulum(obs: Array) -> Array:
    """The pole is over 0.2 from upright."""
    return (jnp.abs(obs[1]) > floor32(0.2)) | ~jnp.all(jnp.isfinite(obs))


def hopper(obs: Array) -> Array:
    """Too low, leaning too far, or a variable of 100 or more.

    Velocities are judged unclipped and observed within ±10, but none comes near 100: 23 was the
    highest of 400,000 steps with actions that were random, held, or at their bounds.
    """
    low, leaning = obs[0] <= floor32(0.7), jnp.abs(obs[1]) >= ceil32(0.2)
    return low | leaning | jnp.any(jnp.abs(obs[1:]) >= 100.0)


def walker(obs: Array) -> Array:
    """A height outside 0.8 … 2, or leaning by 1 or more."""
    return (obs[0] <= floor32(0.8)) | (obs[0] >= 2.0) | (jnp.abs(obs[1]) >= 1.0)


def ant(obs: Array) -> Array:
    """A height outside 0.2 … 1."""
    return (obs[0] < ceil32(0.2)) | (obs[0] > 1.0) | ~jnp.all(jnp.isfinite(obs))


def humanoid(obs: Array) -> Array:
    """A height outside 1 … 2."""
    return (obs[0] <= 1.0) | (obs[0] >= 2.0)


def never(obs: Array) -> Array:
    """Episodes are only cut off."""
    return jnp.zeros((), bool)


TERMINAL_OF: dict[str, Terminal] = {
    "CartPole-v0": cart_pole,
    "CartPole-v1": cart_pole,
    "MountainCar-v0": mountain_car,
    "MountainCarContinuous-v0": mountain_car_continuous,
    "Acrobot-v1": above_bar,
    "Pendulum-v1": never,
    "phys2d/CartPole-v0": cart_pole_in_jax,
    "phys2d/CartPole-v1": cart_pole_in_jax,
    "phys2d/Pendulum-v0": never,
    "InvertedPendulum-v5": inverted_pendulum,
    "Hopper-v5": hopper,
    "Walker2d-v5": walker,
    "Ant-v5": ant,
    "Humanoid-v5": humanoid,
    "HumanoidStandup-v5": never,
    "HalfCheetah-v5": never,
    "Swimmer-v5": never,
    "Reacher-v5": never,
    "Pusher-v5": never,
    "hcdyna/GridWorld-v0": at_goal,
    "hcdyna/GridWorldContinuous-v0": at_goal,
}
"""By id, with the arguments that an environment is registered with."""

STANDARD = ("gymnasium.envs.", "hcdyna.gymnasium.ours.")


ANGLES_OF = {"Acrobot-v1": 2, "Pendulum-v1": 1}
"""Environments whose first variables are cosine and sine of so many angles."""


def known_angles(name: str) -> int:
    """How many leading pairs of variables are the cosine and sine of an angle."""
    return ANGLES_OF.get(name.rpartition(":")[2], 0) if is_standard(name) else 0


def known_terminal(name: str) -> Terminal | None:
    """The function of an id, a module before a colon aside; None if there is none."""
    return TERMINAL_OF.get(name.rpartition(":")[2]) if is_standard(name) else None


def is_standard(name: str) -> bool:
    """Whether an id was not registered anew with another class, other arguments or wrappers."""
    spec = gymnasium.registry.get(name.rpartition(":")[2])
    if spec is None or spec.kwargs or spec.additional_wrappers:
        return False
    return str(spec.entry_point).startswith(STANDARD)


def given_terminal(function: Terminal, spec: Spec) -> Terminal:
    """A function of the user's; SettingsError unless it gives one bool for an observation [d]."""
    said = (
        f"Hosted.terminal = {shown(function)}: must be a function of JAX (| instead of or, jnp "
        "instead of np), obs [d] → one bool"
    )
    try:
        found = jax.eval_shape(function, spec.example_obs())
    except Exception as error:  # anything can go wrong in code that is not ours
        raise SettingsError(f"{said}; {reason(error).partition('. ')[0]}") from None
    if getattr(found, "shape", None) != () or found.dtype != bool:
        raise SettingsError(f"{said}; it gives {shown(found)} for an obs of {spec.low.shape}")
    return lambda obs: jnp.asarray(function(obs))
