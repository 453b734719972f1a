"""What the variables of a state are called."""

from typing import Any

from hcdyna.settings.registry import title_of

CART = ("position", "velocity", "angle", "angular velocity")
CAR = ("position", "velocity")
ARMS = ("cos θ₁", "sin θ₁", "cos θ₂", "sin θ₂", "velocity of θ₁", "velocity of θ₂")
SQUARE = ("x", "y")
LEGS = ("left leg", "right leg")
LANDER = (*SQUARE, "velocity x", "velocity y", "angle", "angular velocity", *LEGS)
VARIABLES = {
    "GridWorld": SQUARE,
    "GridWorldContinuous": SQUARE,
    "Maze": SQUARE,
    "MountainCar": CAR,
    "CartPole": CART,
    "Acrobot": ARMS,
    "TabularGridWorld": ("state",),
    "hcdyna/GridWorld-v0": SQUARE,
    "hcdyna/GridWorldContinuous-v0": SQUARE,
    "MountainCar-v0": CAR,
    "MountainCarContinuous-v0": CAR,
    "CartPole-v0": CART,
    "CartPole-v1": CART,
    "Acrobot-v1": ARMS,
    "Pendulum-v1": ("cos θ", "sin θ", "velocity of θ"),
    "LunarLander-v3": LANDER,
    "LunarLanderContinuous-v3": LANDER,
    "InvertedPendulum-v5": ("position", "angle", "velocity", "angular velocity"),
}


def named_variables(environment: Any, count: int) -> tuple[str, ...]:
    """The names of the variables of an environment's state where they are known: as it says, or by
    the standard of its name; or else numbers."""
    said = getattr(environment, "variables", ())
    for names in (said, VARIABLES.get(title_of(environment).rpartition(":")[2], ())):
        if isinstance(names, tuple | list) and len(names) == count:
            return tuple(names)
    return tuple(f"variable {number}" for number in range(count))
