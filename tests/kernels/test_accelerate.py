"""What is accelerated, what is not, and what the record of a run says of it."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hcdyna import (
    DQN,
    ContinuousGibbs,
    Frequency,
    GridWorld,
    HillClimbing,
    PrioritisedReplay,
    Rollouts,
    Settings,
    SettingsError,
    TDError,
    Training,
    drawn,
    queued,
    train,
)
from hcdyna.kernels import accelerate
from hcdyna.kernels.sizes import why_not_covered
from hcdyna.numerics import ring
from hcdyna.training import trainer
from hcdyna.types import Rows


@pytest.mark.parametrize(
    ("search_control", "batch_size", "reason"),
    [
        (HillClimbing(), 64, None),
        (HillClimbing(skip_terminal=True), 32, None),
        (HillClimbing(natural_gradient=False, noise_covariance="visited"), 32, None),
        (HillClimbing(skip_terminal=True, restart=True), 32, "the climb is plain with restarts"),
        (HillClimbing(accept_first=False), 32, "the climb is plain with s̃ at the start"),
        (
            HillClimbing(criterion=lambda key, scene: lambda obs: -scene.value(obs)),
            32,
            "the climb is plain with a",
        ),
        (HillClimbing(criterion=lambda key, scene: scene.value), 32, None),
        (HillClimbing(), 65, "planning is plain with a batch_size over 64"),
        (ContinuousGibbs(), 32, "search-control looks at values in plain JAX"),
        (ContinuousGibbs(method="langevin"), 32, "search-control looks at values in plain JAX"),
        (TDError(), 32, "the climb is plain with a criterion other than the value"),
        (Frequency(), 32, None),
        (PrioritisedReplay(), 32, "planning is plain with whole transitions"),
        (Rollouts(outcomes="steps"), 32, "planning is plain with whole transitions"),
        (Rollouts(), 32, None),
    ],
)
def test_what_runs_plain_beside_the_kernels_is_said(
    search_control, batch_size, reason, monkeypatch
):
    training = Training(batch_size=batch_size)
    settings = Settings(search_control=search_control, training=training)
    there = accelerate.GPU._replace(why_not=lambda perceptron, env: None)
    monkeypatch.setattr(accelerate, "kernels_here", lambda: there)  # as if on a GPU
    said = trainer.kernels_used(settings)
    assert said == "fused" if reason is None else said.startswith(f"fused; {reason}")
    if reason is not None:
        demanded = dataclasses.replace(training, kernels="on")
        with pytest.raises(SettingsError, match=f"^Training.kernels = 'on': {reason}.*; use auto"):
            trainer.Trainer([dataclasses.replace(settings, training=demanded)], [0])


@dataclasses.dataclass(frozen=True)
class OwnRows:
    """A strategy of somebody else, who says nothing about kernels."""

    def build(self, env):
        return drawn(lambda key, scene, n: Rows(ring.sample(key, scene.replay, n)))


@dataclasses.dataclass(frozen=True)
class OwnClimb:
    """Another one, who climbs without the scene's climb."""

    def build(self, env):
        def propose(key, visited, scene):
            start = ring.sample(key, scene.replay, 1).obs
            return start + 0.1 * jax.vmap(jax.grad(scene.value))(start), jnp.ones(1, bool), {}

        return queued(propose, 100)


@dataclasses.dataclass(frozen=True)
class OwnDraw:
    """One that climbs when it is asked for states."""

    def build(self, env):
        def draw(key, scene, n):
            start = ring.sample(key, scene.replay, n).obs
            return start + 0.1 * jax.vmap(jax.grad(scene.value))(start)

        return drawn(draw)


@dataclasses.dataclass(frozen=True)
class OwnOptions:
    """One that climbs as the scene does, but for some options."""

    options: tuple = ()

    def build(self, env):
        def propose(key, visited, scene):
            how = dict(self.options)
            if how.pop("project", False):
                how["project"] = lambda obs: 0.5 * scene.env.project(obs)
            if how.pop("criterion", False):
                how["criterion"] = lambda obs: -scene.value(obs)
            usual = {"step_size": 0.1, "normalise": True, "threshold": 0.0, "max_accepted": None}
            start = ring.sample(key, scene.replay, 1).obs[0]
            noise = jnp.zeros((3, *start.shape))
            return *scene.climb(noise, start, covariance=jnp.eye(2), **usual, **how), {}

        return queued(propose, 100)


@pytest.mark.parametrize(
    ("strategy", "reason"),
    [
        (OwnRows(), "planning is plain with whole transitions"),
        (OwnClimb(), "search-control looks at values in plain JAX"),
        (OwnDraw(), "search-control looks at values in plain JAX"),
        (OwnOptions((("accept_first", False),)), "the climb is plain with s̃ at the start"),
        (OwnOptions((("project", True),)), "the climb is plain with a Π other than the env.*t's"),
        (
            OwnOptions((("criterion", True),)),
            "the climb is plain with a criterion other than the value",
        ),
    ],
)
def test_what_ones_own_strategy_does_plain_is_noticed(strategy, reason, monkeypatch):
    there = accelerate.GPU._replace(why_not=lambda perceptron, env: None)
    monkeypatch.setattr(accelerate, "kernels_here", lambda: there)
    said = trainer.kernels_used(Settings(search_control=strategy))
    assert re.fullmatch(f"fused; {reason}", said)
    assert trainer.kernels_used(Settings(search_control=OwnOptions())) == "fused"
    assert trainer.kernels_used(Settings(search_control="replay")) == "fused"
    demanded = Settings(search_control=strategy, training=Training(kernels="on"))
    with pytest.raises(SettingsError, match=f"^Training.kernels = 'on': {reason}; use auto or off"):
        trainer.Trainer([demanded], [0])


@pytest.mark.parametrize("option", ["", "accept_first", "project", "criterion"])
def test_a_fast_climb_gives_way_to_a_plain_one(option):
    """Whoever asks it for something else gets just that, with the bits of the plain function."""
    told = {"accept_first": False, "project": True, "criterion": True}
    strategy = OwnOptions(((option, told[option]),) if option else ())
    found = {}
    for kernels in ("off", "auto"):
        training = Training(steps=30, warmup=20, batch_size=4, planning_steps=1, kernels=kernels)
        settings = Settings(search_control=strategy, training=training)
        run = train(settings, seeds=1, progress=False)
        found[kernels] = np.asarray(run.state(0).search_control.queue.data)[:30]
    assert np.any(found["off"])
    np.testing.assert_allclose(found["auto"], found["off"], atol=1e-4)


def test_parameters_of_another_size_are_not_covered():
    """A kernel would read beyond their end."""
    env = GridWorld().build()
    other = DQN(hidden=(16, 64)).build(env.spec)
    for init in (other.init, lambda key: ()):
        agent = DQN().build(env.spec)._replace(init=init)
        found = accelerate.accelerate(Settings(), env, agent)
        assert found.agent.plan is None
        assert found.said.startswith("plain: ")


def test_a_function_that_was_replaced_is_not_covered():
    env = GridWorld().build()
    agent = DQN().build(env.spec)
    assert agent.covered is agent.perceptron
    assert agent._replace(init=lambda key: ()).covered is agent.perceptron
    for name in ("update", "value", "greedy"):
        changed = agent._replace(**{name: lambda *arguments: None})
        assert why_not_covered(changed.covered, env).startswith("the agent is not a perceptron")
