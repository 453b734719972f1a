"""Parts may draw whatever JAX draws, and keep keys in their state."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import DQN, Evaluation, Settings, Training, drawn, load, train
from hcdyna.types import SearchControl

SHORT = Training(steps=40, warmup=20, batch_size=4, planning_steps=1, replay_size=40)


@dataclass(frozen=True)
class Counts:
    """States at whole distances, which need JAX's own keys."""

    def build(self, env):
        def draw(key, scene, n):
            far = jax.random.poisson(key, 3.0, (n, *env.spec.low.shape)) / 100
            return jax.vmap(scene.env.project)(far.astype(jnp.float32))

        return drawn(draw)


@dataclass(frozen=True)
class KeepsKey:
    """Draws from a key that it was given at the step before."""

    def build(self, env):
        def sample(key, state, scene, n):
            return jax.vmap(scene.env.project)(jax.random.normal(state, (n, *env.spec.low.shape)))

        return SearchControl(
            init=lambda obs: jax.random.key(0),
            observe=lambda state, transition: state,
            update=lambda key, state, scene: (jax.random.split(key)[0], {}),
            ready=None,
            sample=sample,
        )


@dataclass(frozen=True)
class AgentWithKey:
    """DQN that keeps the key of its latest update."""

    def build(self, spec):
        inner = DQN(hidden=(4,)).build(spec)

        def update(key, state, batch, weight):
            learned, info = inner.update(key, state[0], batch, weight)
            return (learned, key), info

        return inner._replace(
            init=lambda key: (inner.init(key), key),
            act=lambda key, state, obs, epsilon: inner.act(key, state[0], obs, epsilon),
            greedy=lambda state, obs: inner.greedy(state[0], obs),
            value=lambda state, obs: inner.value(state[0], obs),
            update=update,
            q=None,
            target=None,
        )


def settings(**parts):
    return Settings(training=SHORT, evaluation=Evaluation(every=20), **parts)


@pytest.mark.parametrize(
    ("world", "strategy"), [("GridWorld", KeepsKey()), ("CartPole-v1", Counts())]
)
def test_in_compiled_and_in_hosted_programs(world, strategy):
    run = train(settings(environment=world, search_control=strategy), seeds=2, progress=False)
    assert np.isfinite(run.returns).all()


def test_the_keys_of_an_agent_are_saved_with_it(tmp_path):
    run = train(settings(agent=AgentWithKey()), seeds=2, out=tmp_path / "run", progress=False)
    again = load(tmp_path / "run")
    mine, other = (jax.random.key_data(x.state(1).agent[1]) for x in (run, again))
    assert np.array_equal(mine, other)
    assert again.evaluate(2)[0].shape == (1, 2, 2)
    path = again.agent().save(tmp_path / "agent.safetensors")
    obs = np.full(2, 0.3, np.float32)
    assert load(path).value(obs) == again.agent().value(obs)
