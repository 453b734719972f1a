"""What is accelerated, what is not, and what the record of a run says of it."""

import dataclasses
import re
from functools import partial

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
    LearnedModel,
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
from hcdyna.kernels.library import CannotBuild
from hcdyna.kernels.sizes import why_not_covered
from hcdyna.numerics import ring
from hcdyna.numerics.networks import mlp
from hcdyna.search_control.td_error import LogTDError
from hcdyna.training import trainer
from hcdyna.types import Rows, Scene


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


@pytest.mark.parametrize("own", [None, "target", "value as target", "value"])
def test_a_climb_on_the_td_error_looks_at_q_with_a_kernel(own):
    """Given one look for V̂, its slope, its greedy action and V′, it is the climb that it was; a
    target network or a surface of somebody else's is left alone."""
    env, agent = GridWorld().build(), DQN().build(GridWorld().build().spec)
    if own == "value as target":
        agent = agent._replace(target=agent.value)
    if own == "target":
        agent = agent._replace(target=lambda state, obs: 2.0 * agent.value(state, obs))
    network, looks = mlp((2, 32, 32, 4)), []

    def look(params, obs, perceptron, env):
        looks.append(obs)
        slope = jax.grad(lambda obs: jnp.max(network.apply(params, obs)))
        return network.apply(params, obs), slope(obs)

    def climbed(kernels):
        state = agent.init(jax.random.key(1))
        state = state._replace(target=jax.tree.map(lambda x: 1.5 * x + 0.1, state.target))
        scene = Scene(
            env=env,
            value=partial(agent.value, state),
            predict=env.dynamics,
            replay=None,
            transition=None,
            greedy=partial(agent.greedy, state),
            target=partial(agent.target, state),
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(accelerate, "kernels_here", lambda: kernels)
            fast = accelerate.accelerate(Settings(), env, agent).climb(state, scene.value)
        noise = 0.01 * jax.random.normal(jax.random.key(2), (5, 2))
        how = {"step_size": 0.01, "normalise": False, "threshold": 0.0, "max_accepted": None}
        if own == "value":
            scene = scene._replace(value=lambda obs: -jnp.sum(jnp.square(obs - 0.7)))
        error = LogTDError(jax.random.key(3), scene)
        return fast(noise, jnp.array([0.3, 0.4]), error, covariance=jnp.eye(2), **how)

    there = accelerate.CPU._replace(why_not=lambda perceptron, env: None)
    plain, quick = climbed(there), climbed(there._replace(look=look))
    assert bool(looks) == (own != "value")
    assert np.ptp(np.asarray(plain[0]), axis=0).min() > 0
    np.testing.assert_allclose(quick[0], plain[0], atol=1e-6)
    np.testing.assert_array_equal(quick[1], plain[1])


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


@pytest.mark.parametrize(("hidden", "covered"), [((32, 32), True), ((40, 40), False)])
def test_a_learned_model_without_a_kernel_is_said(hidden, covered):
    settings = Settings(model=LearnedModel(hidden=hidden))
    said = trainer.kernels_used(settings)
    if not said.startswith("fused"):
        pytest.skip(said)
    plain = "fused; the learned model's gradient step is plain"
    assert said == ("fused" if covered else plain)
    if not covered:
        strict = dataclasses.replace(settings, training=Training(kernels="on"))
        with pytest.raises(SettingsError, match="gradient step is plain; use auto or off"):
            trainer.kernels_used(strict)


def test_planning_is_plain_where_no_kernel_can_be_compiled_for_its_rows(monkeypatch):
    """As where a GPU has too little shared memory for them."""

    def fails(*given):
        raise CannotBuild("too many rows")

    def trained(kernels):
        training = Training(steps=60, warmup=40, kernels=kernels, replay_size=100)
        settings = Settings(GridWorld(), DQN(1e-2), training=training)
        return train(settings, seeds=1, progress=False).state(seed=0).agent.params

    right = trained("off")
    broken = accelerate.CPU._replace(plan=fails)
    monkeypatch.setattr(accelerate, "kernels_here", lambda: broken)
    with pytest.warns(UserWarning, match="planning is plain: too many rows"):
        found = trained("auto")
    for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(right), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    with pytest.raises(SettingsError, match="kernels = 'on': too many rows; use auto or off"):
        trained("on")
