"""A trained agent in a file, and what it predicts."""

import json
import subprocess
import sys

import jax
import numpy as np
import pytest
from gymnasium.spaces import Discrete

import hcdyna
from hcdyna import Run, RunError, Settings, SettingsError, TrainedAgent, Training
from hcdyna.gymnasium.theirs.environment import Hosted
from hcdyna.gymnasium.theirs.scaling import scale_of
from hcdyna.runs import policy_file
from hcdyna.runs.evaluating import evaluate
from hcdyna.runs.store import Store
from hcdyna.settings.plain import settings_to_plain

TRAINING = Training(epsilon=0.3)
KINDS = {
    "dqn": Settings(search_control="replay", training=TRAINING),
    "ddpg": Settings("GridWorldContinuous", "ddpg", "true", "replay", TRAINING),
    "tabular": Settings("TabularGridWorld", "tabular", "true", "replay", TRAINING),
}
OBS = {
    "dqn": [[0.1, 0.2], [0.3, 0.4], [0.9, 0.7]],
    "ddpg": [[0.1, 0.2], [0.3, 0.4], [0.9, 0.7]],
    "tabular": [0, 17, 399],
}


def some_agent(settings):
    """An agent with a random state, which is as good as one from training and comes sooner."""
    agent = settings.agent.build(settings.environment.build().spec)
    rng = np.random.default_rng(0)

    def fill(x):
        noise = 0.1 * rng.standard_normal(x.shape)
        return (np.asarray(x) + noise).astype(x.dtype)

    return TrainedAgent(settings, jax.tree.map(fill, agent.init(jax.random.key(0))))


@pytest.fixture(scope="module")
def agents():
    return {kind: some_agent(settings) for kind, settings in KINDS.items()}


@pytest.fixture(scope="module")
def file(agents, tmp_path_factory):
    return agents["dqn"].save(tmp_path_factory.mktemp("agents") / "deep" / "a.safetensors")


def changed(file, tmp_path, **record):
    """A copy of a file whose metadata says something else."""
    content = file.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    metadata = json.loads(header["__metadata__"]["hcdyna"]) | record
    header["__metadata__"] = {"hcdyna": json.dumps(metadata)}
    text = json.dumps(header).encode()
    copy = tmp_path / "changed.safetensors"
    copy.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])
    return copy


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_agent_comes_back_the_same(kind, agents, tmp_path):
    agent, obs = agents[kind], OBS[kind]
    path = agent.save(tmp_path / "agent.safetensors")
    other = hcdyna.load(str(path))
    assert isinstance(other, TrainedAgent)
    assert other.settings == agent.settings
    np.testing.assert_array_equal(other.value(obs), agent.value(obs))
    for how in ({}, {"deterministic": False, "seed": 7}):
        np.testing.assert_array_equal(other.predict(obs, **how), agent.predict(obs, **how))
    again = other.save(tmp_path / "again.safetensors")
    assert again.read_bytes() == path.read_bytes(), "equal agents are equal files"


def test_the_file_holds_what_the_policy_reads_and_no_more(agents, tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    deep = numpy.load_file(agents["dqn"].save(tmp_path / "dqn.safetensors"))
    assert set(deep) == {f"params.{n}.{part}" for n in range(3) for part in ("weights", "bias")}
    state = agents["dqn"].state
    np.testing.assert_array_equal(deep["params.0.weights"], state.params[0].weights)
    control = numpy.load_file(agents["ddpg"].save(tmp_path / "ddpg.safetensors"))
    assert {"params.actor.0.weights", "params.critics.0.2.bias"} <= set(control)
    assert all(name.startswith("params.") for name in control)
    table = numpy.load_file(agents["tabular"].save(tmp_path / "tabular.safetensors"))
    assert table["state"].shape == (400, 4)


def test_another_process_loads_it_without_the_run(file):
    code = "import sys, hcdyna; agent = hcdyna.load(sys.argv[1]); print(agent.predict([0.1, 0.1]))"
    answer = subprocess.run(
        [sys.executable, "-c", code, str(file)], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() in set("0123")


def test_a_folder_is_still_a_run(tmp_path):
    record = {"settings": [settings_to_plain(KINDS["dqn"])], "seeds": [0]}
    Store.create(tmp_path / "run", record)
    assert isinstance(hcdyna.load(tmp_path / "run"), Run)
    with pytest.raises(RunError, match="not a run folder"):
        hcdyna.load(tmp_path)


def test_errors_are_one_line(agents, file, tmp_path):
    def refused(path):
        with pytest.raises(RunError) as caught:
            hcdyna.load(path)
        message = str(caught.value)
        assert "\n" not in message
        assert str(path) in message
        return message

    assert "no such file" in refused(tmp_path / "none.safetensors")
    (tmp_path / "text").write_text("hello, I am not an agent")
    assert "damaged, or not" in refused(tmp_path / "text")
    (tmp_path / "empty.safetensors").write_bytes(b"")
    refused(tmp_path / "empty.safetensors")
    content = file.read_bytes()
    half = tmp_path / "half.safetensors"
    half.write_bytes(content[: len(content) // 2])
    assert "damaged" in refused(half)
    flipped = tmp_path / "flipped.safetensors"
    flipped.write_bytes(content[:-5] + bytes([content[-5] ^ 1]) + content[-4:])
    assert "checksum" in refused(flipped)
    assert "newer" in refused(changed(file, tmp_path, format=2))
    assert "not an agent" in refused(changed(file, tmp_path, format="new"))
    with pytest.raises(SettingsError, match="must end in"):
        agents["dqn"].save(tmp_path / "agent.npz")


def test_settings_that_do_not_fit_are_refused(agents, file, tmp_path):
    plain, tensors = policy_file.read(file)
    larger = plain | {"agent": plain["agent"] | {"hidden": [64, 64]}}
    path = changed(file, tmp_path, settings=larger, checksum=policy_file.checksum(larger, tensors))
    with pytest.raises(RunError, match="does not fit the settings"):
        hcdyna.load(path)
    unknown = plain | {"agent": {"name": "dqm"}}
    check = policy_file.checksum(unknown, tensors)
    with pytest.raises(RunError, match="did you mean dqn"):
        hcdyna.load(changed(file, tmp_path, settings=unknown, checksum=check))


def test_predict_explores_with_the_epsilon_of_training(agents):
    agent, many = agents["dqn"], np.full((4_000, 2), 0.2)
    best = agent.predict([0.2, 0.2])
    assert (agent.predict(many) == best).all()
    found = agent.predict(many, deterministic=False, seed=1)
    assert found.shape == (4_000,)
    assert found.dtype == best.dtype == np.int32
    # One in four of the random actions is the best one.
    assert abs(np.mean(found != best) - 0.3 * 0.75) < 0.03
    assert (agent.predict(many, deterministic=False, epsilon=0.0) == best).all()
    assert set(agent.predict(many, deterministic=False, epsilon=1.0).tolist()) == {0, 1, 2, 3}
    np.testing.assert_array_equal(found, agent.predict(many, deterministic=False, seed=1))
    assert agent.predict([0.2, 0.2], deterministic=False, seed=1) == found[0]
    fresh = [agent.predict(many, deterministic=False, epsilon=1.0) for _ in range(2)]
    assert (fresh[0] != fresh[1]).any()


def test_predict_adds_noise_to_continuous_actions(agents):
    agent, many = agents["ddpg"], np.full((4_000, 2), 0.2)
    noise = agent.predict(many, deterministic=False, seed=2) - agent.predict(many)
    assert noise.shape == (4_000, 2)
    assert noise.dtype == np.float32
    expected = 0.2 / np.sqrt(1 - 0.85**2)
    assert abs(noise.std() - expected) < 0.05
    still = agent.predict(many, deterministic=False, epsilon=0.0, seed=2)
    np.testing.assert_array_equal(still, agent.predict(many))


@pytest.mark.parametrize(
    "how",
    [
        {"epsilon": 0.1},
        {"deterministic": False, "epsilon": 1.5},
        {"deterministic": False, "seed": -1},
    ],
)
def test_predict_refuses_what_makes_no_sense(how, agents):
    with pytest.raises(SettingsError):
        agents["dqn"].predict([0.2, 0.2], **how)


def test_gymnasium_actions_are_the_environments_own(tmp_path):
    """Pendulum's torque lies in ±2; observations are scaled as in training."""
    agent = some_agent(Settings(Hosted("Pendulum-v1", scaling=True), search_control="replay"))
    obs = np.array([[1.0, 0.0, 4.0], [0.0, 1.0, -4.0]], np.float32)
    torque = agent.predict(obs, deterministic=False, epsilon=1.0, seed=0)
    assert torque.shape == (2, 1)
    assert torque.dtype == np.float32
    scaled = scale_of(agent.settings.environment)(obs)
    by_hand = 2 * np.asarray(agent._greedy(agent.state, scaled))
    np.testing.assert_allclose(agent.predict(obs), by_hand, rtol=1e-4)
    assert agent.predict(obs[0]).shape == (1,)
    path = agent.save(tmp_path / "pendulum.safetensors")
    np.testing.assert_array_equal(hcdyna.load(path).predict(obs), agent.predict(obs))


def test_discrete_gymnasium_actions_begin_where_their_space_does():
    agent = some_agent(Settings("CartPole-v1", search_control="replay"))
    many = np.zeros((50, 4), np.float32)
    assert set(agent.predict(many, deterministic=False, epsilon=1.0).tolist()) == {0, 1}
    agent._space = Discrete(2, start=-1)
    assert set(agent.predict(many, deterministic=False, epsilon=1.0).tolist()) == {-1, 0}
    assert agent._space.contains(agent.predict(many[0]))


def test_agents_of_gymnasium_environments_are_evaluated_too():
    settings = Settings("CartPole-v1", search_control="replay")
    state = some_agent(settings).state
    two = jax.tree.map(lambda x: np.stack([x, x]), state)
    returns, lengths = evaluate([settings], [3, 4], two, episodes=2, epsilon=None)
    assert returns.shape == lengths.shape == (1, 2, 2)
    np.testing.assert_array_equal(returns, lengths)
    assert len(np.unique(lengths)) > 1, "each has random numbers of its own"
