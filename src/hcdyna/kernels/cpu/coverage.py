"""For which agents and environments there are kernels, and the sizes that they are compiled for."""

from hcdyna.kernels.cpu import build
from hcdyna.kernels.library import CannotBuild
from hcdyna.kernels.sizes import why_not_there
from hcdyna.types import Environment, Perceptron

UNITS = 16
"""A layer has a multiple of so many units, since vectors hold up to as many numbers …"""
MOST_UNITS = 256
"""… and no more than the buffers of the kernels have room for."""
MOST_LAYERS = 4
MOST = 32
"""State variables, and actions."""
MOST_ROWS = 256


def why_not(perceptron: Perceptron | None, env: Environment) -> str | None:
    """Why no kernel can be used here for an agent on an environment; None if all can."""
    reason = why_not_covered(perceptron, env) or build.why_not()
    if reason is None and perceptron is not None:
        try:
            build.target("climb", widths(perceptron, env), perceptron.activation)
        except (CannotBuild, OSError) as error:  # the second, if a library can't be loaded
            return str(error)
    return reason


def why_not_covered(perceptron: Perceptron | None, env: Environment) -> str | None:
    """Why the kernels do not cover an agent on an environment; None if they do."""
    if perceptron is None:
        return "the agent is not a perceptron of ours with discrete actions, as it was built"
    return why_not_layers(perceptron.hidden) or why_not_there(env, MOST)


def why_not_layers(hidden: tuple[int, ...]) -> str | None:
    """Why the kernels do not cover such hidden layers; None if they do."""
    if not 1 <= len(hidden) <= MOST_LAYERS:
        return f"hidden = {hidden}: kernels need one to {MOST_LAYERS} layers"
    if any(units % UNITS or units > MOST_UNITS for units in hidden):
        sizes = f"{UNITS}, {2 * UNITS}, {3 * UNITS} … {MOST_UNITS}"
        return f"hidden = {hidden}: kernels exist for layers of {sizes} units"
    return None


def widths(perceptron: Perceptron, env: Environment) -> tuple[int, ...]:
    """State variables, units of each hidden layer, actions."""
    return (env.spec.low.shape[0], *perceptron.hidden, env.spec.num_actions or 0)
