"""Every registered part keeps its contract, alone and with every other it can go with."""

import pytest

from hcdyna import (
    DDPG,
    DQN,
    HillClimbing,
    PrioritisedReplay,
    Rollouts,
    SettingsError,
    Training,
    testing,
)
from hcdyna.settings import built, registry

# Environments on the host have no dynamics to check: see tests/hosted.
ENVIRONMENTS = [name for name in registry.available("environments") if name != "hosted"]
SOME_OF_EACH_KIND = ["GridWorldContinuous", "TabularGridWorld", "CartPole"]
STATES_OF_A_TABLE = ("tabular_hill_climbing", "gibbs", "visited_pairs", "prioritised_sweeping")


def with_each_kind(names):
    """A strategy on the kind of states that it is about, and the other kinds in the slow tests."""
    for name in names:
        own = "TabularGridWorld" if name in STATES_OF_A_TABLE else "CartPole"
        for kind in SOME_OF_EACH_KIND:
            marks = () if kind == own else pytest.mark.slow
            yield pytest.param(name, kind, marks=marks, id=f"{name}-{kind}")


def build_environment(name):
    return registry.lookup("environments", name)().build()


def build(part, env):
    """With what its `build` asks for; the replay buffer is as large as that of the checks."""
    return built(part, {"env": env, "spec": env.spec, "training": Training(replay_size=32)})


def part_or_skip(group, name, env):
    """A part refuses what it can't handle with a SettingsError; that is not for this test."""
    part = registry.lookup(group, name)()
    try:
        build(part, env)
    except SettingsError as refusal:
        pytest.skip(str(refusal))
    return part


def accepts(group, name, env):
    """Whether a part with its defaults builds on an environment."""
    part = registry.lookup(group, name)()
    try:
        build(part, env)
    except SettingsError:
        return False
    return True


@pytest.mark.parametrize(
    ("group", "name"),
    [
        (group, name)
        for group in ("agents", "models", "search_control")
        for name in registry.available(group)
    ],
)
def test_some_environment_accepts_every_part(group, name):
    """Or else every test of its contract would be skipped."""
    worlds = [
        world for world in SOME_OF_EACH_KIND if accepts(group, name, build_environment(world))
    ]
    assert worlds


def with_slow(names, *slow):
    """Those that take long go to the slow set."""
    return [pytest.param(x, marks=pytest.mark.slow) if x in slow else x for x in names]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environment(name):
    testing.check_environment(build_environment(name))


@pytest.mark.parametrize("env_name", SOME_OF_EACH_KIND)
@pytest.mark.parametrize("name", with_slow(registry.available("agents"), "ddpg"))
def test_agent(name, env_name):
    env = build_environment(env_name)
    testing.check_agent(part_or_skip("agents", name, env), env)


@pytest.mark.parametrize(
    "env_name",
    [pytest.param("GridWorldContinuous", marks=pytest.mark.slow), "TabularGridWorld", "CartPole"],
)
@pytest.mark.parametrize("name", with_slow(registry.available("models"), "learned"))
def test_model(name, env_name):
    env = build_environment(env_name)
    testing.check_model(part_or_skip("models", name, env), env)


@pytest.mark.parametrize(("name", "env_name"), with_each_kind(registry.available("search_control")))
def test_search_control(name, env_name):
    env = build_environment(env_name)
    testing.check_search_control(part_or_skip("search_control", name, env), env)


@pytest.mark.parametrize(
    "options",
    [
        {"natural_gradient": False},
        {"noise": "diagonal", "noisy_start": True},
        pytest.param({"noise": "none", "normalise": False}, marks=pytest.mark.slow),
        {"noise": "langevin", "normalise": False, "noisy_start": True},
        pytest.param({"threshold": "average", "max_accepted": 3}, marks=pytest.mark.slow),
        {"skip_terminal": True, "steps": 7},
        {"skip_terminal": True, "restart": True, "accept_first": False, "noisy_start": True},
        pytest.param({"noise_covariance": "identity"}, marks=pytest.mark.slow),
        {"criterion": lambda key, scene: lambda obs: obs[0]},
    ],
    ids=lambda options: "-".join(options),
)
def test_hill_climbing_with_every_option(options):
    env = build_environment("MountainCar")
    testing.check_search_control(HillClimbing(queue_size=50, **options), env)


@pytest.mark.parametrize(
    "env_name", [pytest.param("TabularGridWorld", marks=pytest.mark.slow), "CartPole"]
)
@pytest.mark.parametrize(
    "strategy",
    [Rollouts(outcomes="steps"), Rollouts(steps=1), PrioritisedReplay(beta=0.0)],
    ids=str,
)
def test_rollouts_and_prioritised_replay_with_their_options(strategy, env_name):
    env = build_environment(env_name)
    testing.check_search_control(strategy, env)


@pytest.mark.slow
def test_dqn_with_all_its_options():
    env = build_environment("CartPole")
    everything = DQN(double=True, dueling=True, loss="huber", max_gradient=0.1)
    testing.check_agent(everything, env)


@pytest.mark.slow
def test_ddpg_with_all_its_options():
    options = {"twin_critics": True, "critics": 4, "layer_norm": True, "target_smoothing": True}
    testing.check_agent(DDPG(**options), build_environment("GridWorldContinuous"))
