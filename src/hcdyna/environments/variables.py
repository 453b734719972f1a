"""What the variables of a state are called."""

VARIABLES = {
    "GridWorld": ("x", "y"),
    "GridWorldContinuous": ("x", "y"),
    "MountainCar": ("position", "velocity"),
    "CartPole": ("position", "velocity", "angle", "angular velocity"),
    "Acrobot": ("cos θ₁", "sin θ₁", "cos θ₂", "sin θ₂", "velocity of θ₁", "velocity of θ₂"),
    "TabularGridWorld": ("state",),
}


def named_variables(world: str, count: int) -> tuple[str, ...]:
    """The names of the variables of a world where they are known, or else numbers."""
    names = VARIABLES.get(world, ())
    if len(names) == count:
        return names
    return tuple(f"variable {number}" for number in range(count))
