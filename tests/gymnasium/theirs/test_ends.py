"""Each known function of ends against its environment: real steps, and states at the bounds."""

import math
from typing import NamedTuple

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna.gymnasium.theirs.ends import POLE_ANGLE, TERMINAL_OF, ceil32, floor32, known_terminal

SOME, MANY = 3_000, 100_000
HELD = 15
"""Steps for which actions are chosen in one way."""


class Edge(NamedTuple):
    """Beyond a bound of one variable, above it (side = 1) or below it (side = −1), episodes end."""

    variable: int
    """Of the observation."""
    bound: float
    side: int


class World(NamedTuple):
    """How to see all ends of an environment: where to start, and where its edges are."""

    low: tuple[float, ...] = ()
    """Half of all episodes start between low and high: the state, or the leading joints shown."""
    high: tuple[float, ...] = ()
    edges: tuple[Edge, ...] = ()
    skipped: int = 0
    """Joints that the observation leaves out."""


def both(variable, bound):
    return Edge(variable, -bound, -1), Edge(variable, bound, 1)


POLE = World((-2.5, -3.0, -0.2, -1.0), (2.5, 3.0, 0.2, 1.0), (*both(0, 2.4), *both(2, POLE_ANGLE)))
HILL = ((-1.2, -0.07), (0.6, 0.07))
HEIGHT = {bound: (Edge(0, bound[0], -1), Edge(0, bound[1], 1)) for bound in ((0.2, 1), (1, 2))}
WORLDS = {
    "CartPole-v0": POLE,
    "CartPole-v1": POLE,
    "MountainCar-v0": World(*HILL, (Edge(0, 0.5, 1),)),
    "MountainCarContinuous-v0": World(*HILL, (Edge(0, 0.45, 1),)),
    "Acrobot-v1": World((-math.pi, -math.pi, -6.0, -9.0), (math.pi, math.pi, 6.0, 9.0)),
    "Pendulum-v1": World(),
    "hcdyna/GridWorld-v0": World((0.7, 0.7), (1.0, 1.0)),
    "hcdyna/GridWorldContinuous-v0": World((0.7, 0.7), (1.0, 1.0)),
    "phys2d/CartPole-v0": POLE,
    "phys2d/CartPole-v1": POLE,
    "phys2d/Pendulum-v0": World(),
    "InvertedPendulum-v5": World((-1.0, -0.25), (1.0, 0.25), both(1, 0.2)),
    "Hopper-v5": World(
        (0.6, -0.25, -1.5, -2.0), (1.3, 0.25, 0, 0), (Edge(0, 0.7, -1), *both(1, 0.2)), 1
    ),
    "Walker2d-v5": World(
        (0.75, -1.1), (2.1, 1.1), (Edge(0, 0.8, -1), Edge(0, 2.0, 1), *both(1, 1.0)), 1
    ),
    "Ant-v5": World((0.15,), (1.1,), HEIGHT[0.2, 1], 2),
    "Humanoid-v5": World((0.9,), (2.1,), HEIGHT[1, 2], 2),
    "HumanoidStandup-v5": World(),
    "HalfCheetah-v5": World(),
    "Swimmer-v5": World(),
    "Reacher-v5": World(),
    "Pusher-v5": World(),
}
UNDERGROUND = {Edge(0, 0.2, -1)}
"""The ant's body would have to sink into the ground: not seen in real steps."""
QUICK = [name for name in WORLDS if not name.startswith("phys2d/") and not name.endswith("-v5")]
WITH_EDGES = [name for name, world in WORLDS.items() if world.edges]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """MuJoCo writes a log into the folder that one is in."""
    monkeypatch.chdir(tmp_path)


def made(name):
    """The environment, or skip: MuJoCo and the library that phys2d is built with are extras."""
    try:
        return gymnasium.make(name, disable_env_checker=True)
    except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
        pytest.skip(f"{name}: {error}")


def put(env, state, skipped):
    """Have an episode go on from a state, or from one whose joints begin with these numbers."""
    inner = env.unwrapped
    if hasattr(inner, "set_state"):
        joints = inner.init_qpos.copy()
        joints[skipped : skipped + len(state)] = state
        inner.set_state(joints, inner.init_qvel)
    elif inner.spec.id.startswith("hcdyna/"):
        env.reset(options={"state": state})
    elif inner.spec.id.startswith("phys2d/"):
        inner.state = jnp.asarray(state, jnp.float32)
    else:
        narrow = inner.spec.id == "MountainCarContinuous-v0"
        inner.state = np.asarray(state, np.float32 if narrow else np.float64)


def actions(env, rng):
    """Without end: random, held, or held at their bounds."""
    space = env.action_space
    space.seed(int(rng.integers(2**31)))
    while True:
        how, action = rng.integers(3), space.sample()
        if how == 2 and isinstance(space, gymnasium.spaces.Box):
            action = np.where(rng.random(space.shape) < 0.5, space.low, space.high)
        for _ in range(HELD):
            yield space.sample() if how == 0 else action


def transitions(name, steps, seed=0):
    """Observations reached [steps, d] in float32, and whether episodes ended there [steps]."""
    env, world, rng = made(name), WORLDS[name], np.random.default_rng(seed)
    obs, ends, fresh = [], [], True
    for _, action in zip(range(steps), actions(env, rng), strict=False):
        if fresh:
            env.reset(seed=int(rng.integers(2**31)))
            if world.low and rng.random() < 0.5:
                put(env, rng.uniform(world.low, world.high), world.skipped)
        reached, _, terminated, truncated, _ = env.step(action)
        obs.append(np.array(reached, np.float32))
        ends.append(bool(terminated))
        fresh = terminated or truncated
    env.close()
    return np.stack(obs), np.array(ends)


def said(name, obs):
    return np.asarray(jax.jit(jax.vmap(known_terminal(name)))(obs))


@pytest.mark.parametrize(
    ("name", "steps"),
    [(name, SOME) for name in QUICK]
    + [pytest.param(name, MANY, marks=pytest.mark.slow) for name in WORLDS],
)
def test_ends_are_those_of_the_environment(name, steps):
    obs, ends = transitions(name, steps)
    found = said(name, obs)
    assert found.shape == ends.shape
    assert found.dtype == bool
    wrong = np.flatnonzero(found != ends)
    assert len(wrong) == 0, f"{len(wrong)} of {steps}: {obs[wrong[0]]} ended: {ends[wrong[0]]}"
    assert ends.any() == (WORLDS[name].low != ())
    for variable, bound, side in set(WORLDS[name].edges) - UNDERGROUND:
        beyond = side * (obs[ends, variable] - bound) >= -1e-6
        assert beyond.any(), f"no episode ended beyond variable {variable} = {bound}"


def test_every_function_is_tested():
    assert WORLDS.keys() == TERMINAL_OF.keys()


def judged(env, state, skipped=0):
    """What the environment shows and says of a state in which time stands still."""
    inner = env.unwrapped
    if hasattr(inner, "set_state"):
        inner.do_simulation = lambda action, frames: None
    if inner.spec.id.startswith("MountainCar"):
        inner.force = inner.gravity = inner.power = 0.0
    env.reset(seed=0)
    put(env, state, skipped)
    obs, _, terminated, _, _ = env.step(env.action_space.sample())
    return np.array(obs, np.float32), bool(terminated)


STILL = [name for name in WORLDS if WORLDS[name].edges and name != "MountainCarContinuous-v0"]


@pytest.mark.parametrize("name", STILL)
def test_at_the_bounds_themselves(name):
    env, world = made(name), WORLDS[name]
    for variable, bound, _ in world.edges:
        # Without speed; other joints are where they are in the middle of both bounds.
        state = np.add(world.low, world.high) / 2
        close = floor32(bound), ceil32(bound)
        values = [np.nextafter(close[0], np.float32(-9)), *close, np.nextafter(close[1], 9)]
        found = set()
        for value in values:
            state[variable] = value
            obs, ended = judged(env, state, world.skipped)
            assert obs[variable] == value
            assert bool(known_terminal(name)(obs)) == ended, (variable, value)
            found.add(ended)
        assert found == {True, False}


def test_at_the_goal_of_the_continuous_mountain_car():
    """It can't be stopped, but comes to rest at any number of float32: that is what it judges."""
    env, goal = made("MountainCarContinuous-v0"), np.float32(0.45)
    reached = {}
    for ulps in range(-40, 40):
        position = np.float32(0.449) + np.float32(ulps) * np.spacing(goal)
        pull = 0.0025 * math.cos(3 * float(position))
        for speed in (0.001, 0.00100001):
            obs, ended = judged(env, (position, speed + pull))
            reached[float(obs[0])] = ended
            assert bool(known_terminal("MountainCarContinuous-v0")(obs)) == ended
    assert reached[float(goal)]
    assert not reached[float(np.nextafter(goal, np.float32(0)))]


@pytest.mark.parametrize("offset", [-1e-6, 1e-6])
@pytest.mark.parametrize("side", [-1, 1])
def test_at_the_bar_of_acrobot(side, offset):
    """With both links in line the tip is at the bar where −2 cos θ₁ = 1."""
    env = made("Acrobot-v1")
    env.unwrapped.dt = 0.0
    obs, ended = judged(env, (side * (2 * math.pi / 3 + offset), 0.0, 0.0, 0.0))
    assert ended == (offset > 0)
    assert bool(known_terminal("Acrobot-v1")(obs)) == ended
