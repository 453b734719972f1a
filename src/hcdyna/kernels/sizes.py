"""For which agents and environments there are kernels, and the sizes that they are compiled for."""

from hcdyna.kernels import build
from hcdyna.kernels.library import CannotBuild
from hcdyna.types import Box, Environment, Perceptron

HIDDEN = (32, 64)
MOST = 8
"""State variables, and actions."""
MOST_ROWS = 64
"""Larger mini-batches would not fit into a multiprocessor's shared memory."""


def why_not(perceptron: Perceptron | None, env: Environment) -> str | None:
    """Why no kernel can be used here for an agent on an environment; None if some can."""
    reason = build.why_not() or why_not_covered(perceptron, env)
    if reason is None and perceptron is not None and type(env.project) is Box:
        try:
            how = {"NORMALISE": 1, "FREQUENCY": 0, "PAIRS": env.project.pairs}
            build.target("climb", **how, **sizes(perceptron, env))
        except CannotBuild as error:
            return str(error)
    return reason


def why_not_covered(perceptron: Perceptron | None, env: Environment) -> str | None:
    """Why the kernels do not cover an agent on an environment; None if they do."""
    if perceptron is None:
        return "the agent is not a perceptron of ours with discrete actions, as it was built"
    if len(perceptron.hidden) != 2 or len(set(perceptron.hidden)) != 1:
        return f"hidden = {perceptron.hidden}: kernels need two layers of the same size"
    if perceptron.hidden[0] not in HIDDEN:
        return f"hidden = {perceptron.hidden}: kernels exist for layers of {HIDDEN}"
    if learns_otherwise(perceptron):
        return (
            "double, loss, max_gradient or target_rate: kernels for GPUs know DQN as it was in 2015"
        )
    return why_not_there(env, MOST)


def why_not_there(env: Environment, most: int) -> str | None:
    """Why no kernel covers an environment, where they take so many variables and as many actions;
    None if one does."""
    spec = env.spec
    if spec.num_states is not None or spec.num_actions is None:
        return f"{spec.name}: kernels need continuous states and discrete actions"
    if type(env.project) is not Box:
        return f"{spec.name}: kernels know no Π but a Box"
    if max(spec.low.shape[0], spec.num_actions) > most:
        return f"{spec.name}: kernels take up to {most} variables and {most} actions"
    return None


def learns_otherwise(perceptron: Perceptron) -> bool:
    """Whether its updates are not those of plain DQN."""
    soft = perceptron.max_gradient > 0 or perceptron.target_rate < 1
    return perceptron.double or perceptron.huber or soft


def sizes(perceptron: Perceptron, env: Environment) -> dict[str, int]:
    """Macros that all kernels need."""
    return {
        "STATE": env.spec.low.shape[0],
        "HIDDEN": perceptron.hidden[0],
        "ACTIONS": env.spec.num_actions or 0,
        "TANH": int(perceptron.activation == "tanh"),
    }
