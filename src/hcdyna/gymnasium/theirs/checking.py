"""Whether a Gymnasium environment can be used, how fast it is, and what is assumed about it."""

import time
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.environments.variables import named_variables
from hcdyna.gymnasium.theirs.ends import Terminal
from hcdyna.gymnasium.theirs.environment import LONGEST, Hosted
from hcdyna.gymnasium.theirs.making import NO_LIMIT
from hcdyna.gymnasium.theirs.worlds import Worlds, is_slow
from hcdyna.types import Spec

STEPS = 1_000
MOST_NAMES = 8
"""Variables that are listed by name."""


def check_environment(hosted: Hosted, steps: int = STEPS) -> dict[str, str]:
    """What to know before training, by topic; SettingsError or RunError if it can't be used."""
    env = hosted.build()
    spec = env.spec
    worlds = Worlds(hosted, 1)
    rng = np.random.default_rng(0)
    obs = worlds.reset(0, seed=0)
    starts, reached, rewards, ended, limits = [obs], [], [], [], 0
    start = time.perf_counter()
    for _ in range(steps):
        found = worlds.step(random_actions(rng, spec))
        reached.append(found.obs[0])
        rewards.append(float(found.reward[0]))
        ended.append(bool(found.terminated[0]))
        limits += int(found.truncated[0])
        if found.terminated[0] or found.truncated[0]:
            starts.append(worlds.reset(0))
    seconds = time.perf_counter() - start
    worlds.close()
    states = np.stack(starts + reached).astype(np.float64)
    names = named_variables(hosted, spec.low.size)
    return {
        "observations": observations(names),
        "bounds (Π)": bounds(spec, names),
        "scales": scales(states),
        "actions": actions(spec),
        "agent, model": ", ".join(hosted.usual.values()),
        "rewards": f"{min(rewards):.3g} to {max(rewards):.3g} in {steps:,} random steps",
        "episodes": f"{sum(ended)} terminated, {limits} truncated by the time limit",
        "ends": ends(hosted, env.terminal, np.stack(reached), np.array(ended)),
        "time limit": limit(spec),
        "speed": f"{steps / seconds:,.0f} steps per second, one environment on one core",
        "several seeds": stepping(hosted),
    }


def random_actions(rng: np.random.Generator, spec: Spec) -> np.ndarray:
    """One for the one environment."""
    if spec.num_actions is not None:
        return rng.integers(spec.num_actions, size=1)
    return rng.uniform(-1.0, 1.0, (1, spec.action_size or 0))


def observations(names: Sequence[str]) -> str:
    """How many variables, and their names where these say more than a number."""
    known = "" if names[0] == "variable 0" else f": {some(names)}"
    return f"{len(names)} variables{known}"


def some(names: Sequence[str]) -> str:
    """All of them, if they are few."""
    return ", ".join(names[:MOST_NAMES]) + " …" * (len(names) > MOST_NAMES)


def bounds(spec: Spec, names: Sequence[str]) -> str:
    """The Box, or the range seen where it has no bounds."""
    finite = np.isfinite(spec.low) & np.isfinite(spec.high)
    if finite.all():
        return "the observation Box"
    unbounded = [name for name, has in zip(names, finite, strict=True) if not has]
    return f"the observation Box; for {some(unbounded)}, which it does not bound, the range seen"


def scales(states: np.ndarray) -> str:
    """How different the variables are, and whether scaling may help."""
    spread = states.std(axis=0)
    alive = spread[spread > 1e-8]
    if len(alive) == 0:
        return "no variable changed in random steps"
    ratio = alive.max() / alive.min()
    advice = "; --env.scaling may help" if ratio > 20 or np.abs(states).max() > 20 else ""
    still = f", {len(spread) - len(alive)} constant" if len(alive) < len(spread) else ""
    low, high = alive.min(), alive.max()
    return f"standard deviations from {low:.2g} to {high:.2g}{still}{advice}"


def actions(spec: Spec) -> str:
    if spec.num_actions is not None:
        return f"{spec.num_actions}, discrete"
    return f"{spec.action_size}, continuous, scaled to −1 … 1"


def ends(hosted: Hosted, terminal: Terminal | None, reached: np.ndarray, ended: np.ndarray) -> str:
    """Whether they are known, and whether a known function agrees with the states reached [n, d]
    and whether episodes ended there [n]."""
    if terminal is None:
        return (
            "learned; if the observation determines them, pass a function: "
            f"Hosted({hosted.id!r}, terminal=…) or --env.terminal my_module:my_function"
        )
    wrong = int((np.asarray(jax.vmap(terminal)(jnp.asarray(reached))) != ended).sum())
    which = "known" if hosted.terminal is None else "given"
    if wrong:
        return f"{which}, but the function is wrong in {wrong:,} of {len(ended):,} random steps"
    checked = "" if hosted.terminal is None else f", right in all {len(ended):,} random steps"
    return f"{which} (a function of the observation{checked})"


def limit(spec: Spec) -> str:
    """When episodes are cut."""
    if spec.time_limit != NO_LIMIT:
        return f"{spec.time_limit:,} steps"
    return f"none; evaluation episodes are cut after {LONGEST:,} steps"


def stepping(hosted: Hosted) -> str:
    """How the environments of several seeds are stepped."""
    apart = hosted.processes == "on" or (hosted.processes == "auto" and is_slow(hosted))
    return "stepped in parallel, one process each" if apart else "stepped one after the other"
