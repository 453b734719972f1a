"""Is a Gymnasium environment usable, how fast is it, and what would be assumed of it?"""

import time

import jax
import jax.numpy as jnp
import numpy as np

from hcdyna.gymnasium.theirs.ends import Terminal
from hcdyna.gymnasium.theirs.environment import LONGEST, Hosted
from hcdyna.gymnasium.theirs.making import NO_LIMIT
from hcdyna.gymnasium.theirs.worlds import Worlds, is_slow
from hcdyna.types import Spec

STEPS = 1_000


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
    states = np.stack(starts + reached)
    return {
        "observations": f"{spec.low.shape[0]} variables",
        "bounds (Π)": bounds(spec, states),
        "scales": scales(states),
        "actions": actions(spec),
        "agent, model": ", ".join(hosted.usual.values()),
        "rewards": f"{min(rewards):.3g} to {max(rewards):.3g} in {steps:,} random steps",
        "episodes": f"{sum(ended)} ended by termination, {limits} cut at the time limit",
        "ends": ends(hosted, env.terminal, np.stack(reached), np.array(ended)),
        "time limit": limit(spec),
        "speed": f"{steps / seconds:,.0f} steps a second here, one environment on one core",
        "several seeds": stepping(hosted),
    }


def random_actions(rng: np.random.Generator, spec: Spec) -> np.ndarray:
    """One for the one environment."""
    if spec.num_actions is not None:
        return rng.integers(spec.num_actions, size=1)
    return rng.uniform(-1.0, 1.0, (1, spec.action_size or 0))


def bounds(spec: Spec, states: np.ndarray) -> str:
    """Of the Box, or what was seen where there is none."""
    endless = ~(np.isfinite(spec.low) & np.isfinite(spec.high))
    if not endless.any():
        return "those of the Box"
    which = ", ".join(str(i) for i in np.flatnonzero(endless)[:8])
    more = " …" if endless.sum() > 8 else ""
    return f"the Box; variables {which}{more} have none, so what the agent has seen there"


def scales(states: np.ndarray) -> str:
    """How different the variables are, and whether scaling may help."""
    spread = states.std(axis=0)
    alive = spread[spread > 1e-8]
    if len(alive) == 0:
        return "nothing moved in random steps"
    ratio = alive.max() / alive.min()
    advice = "; --env.scaling may help" if ratio > 20 or np.abs(states).max() > 20 else ""
    still = f", {len(spread) - len(alive)} constant" if len(alive) < len(spread) else ""
    low, high = alive.min(), alive.max()
    return f"standard deviations from {low:.2g} to {high:.2g}{still}{advice}"


def actions(spec: Spec) -> str:
    if spec.num_actions is not None:
        return f"{spec.num_actions} discrete ones"
    return f"{spec.action_size} continuous ones, mapped to −1 … 1"


def ends(hosted: Hosted, terminal: Terminal | None, reached: np.ndarray, ended: np.ndarray) -> str:
    """Whether they are known, and whether a known function agrees with the states reached [n, d]
    and whether episodes ended there [n]."""
    if terminal is None:
        return (
            "learned, since no function is known for this id; give one with "
            f"Hosted({hosted.id!r}, terminal=…)"
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
    return "stepped at once, in processes of their own" if apart else "stepped in turn"
