"""The contracts notice parts that were broken on purpose, and say in one line what is wrong."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.custom_batching import custom_vmap

from hcdyna import (
    DDPG,
    DQN,
    GridWorld,
    MountainCar,
    SettingsError,
    TrueModel,
    Uniform,
    drawn,
    testing,
)
from hcdyna.settings import number
from hcdyna.types import Pair, Rows, SearchControl

ENV = GridWorld().build()


def says(message, check, *parts):
    with pytest.raises((AssertionError, SettingsError)) as error:
        check(*parts)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@custom_vmap
def company(x):
    """x, and a little more for each of those in the same batch."""
    return x


@company.def_vmap
def _(size, batched, x):
    return x * (1 + 2e-7 * (size > 1)), batched[0]


def outcome(**changes):
    """GridWorld whose outcomes have some entries changed."""

    def dynamics(key, obs, action):
        found = ENV.dynamics(key, obs, action)
        return found._replace(
            **{name: change(getattr(found, name)) for name, change in changes.items()}
        )

    return ENV._replace(dynamics=dynamics)


@dataclass(frozen=True)
class LooksWhileBuilding:
    """Builds well alone, but not where training builds it, inside a compiled program."""

    size: float = 2.0

    def build(self):
        scale = float(jnp.sqrt(self.size))
        return outcome(reward=lambda x: x * scale)


ENVIRONMENTS = {
    "observations stay inside Π": outcome(next_obs=lambda x: x - 0.06),
    "reward: complex64, not a real number": outcome(reward=lambda x: x * 1j),
    "reward: bool, not a real number": outcome(reward=lambda x: x > 0),
    "reward, terminated: scalars": outcome(reward=lambda x: x[None]),
    "rewards are finite": outcome(reward=lambda x: x * jnp.nan),
    "terminated: bool": outcome(terminated=lambda x: x * 1.0),
    "terminated = terminal(next_obs)": ENV._replace(terminal=lambda obs: obs[0] < 2),
    "next_obs: (2,) float16, not (2,) float32": outcome(next_obs=lambda x: x.astype("float16")),
    "dynamics: alone and in a batch: differs by": outcome(reward=company),
    "reset: alone and in a batch: differs by": ENV._replace(
        reset=lambda key: company(ENV.reset(key))
    ),
    "dynamics: can't be compiled": outcome(reward=lambda x: x if x < 0 else -x),
    "reset: can't be compiled": LooksWhileBuilding(),
    "'one' with type <class 'str'> is not a valid JAX type": outcome(reward=lambda x: "one"),
    "reset: (3,) float32, not (2,) float32": ENV._replace(reset=lambda key: jnp.zeros(3)),
    "start states are inside Π": ENV._replace(reset=lambda key: jnp.full(2, 2.0)),
    "Π is idempotent": ENV._replace(project=lambda obs: jnp.where(obs > 0.1, 0.5 * obs, obs)),
    "Π lands inside the box": ENV._replace(project=lambda obs: obs),
    "discount = 2.0: from 0 to 1": ENV._replace(spec=ENV.spec._replace(discount=2.0)),
    "time_limit = 0: at least 1": ENV._replace(spec=ENV.spec._replace(time_limit=0)),
    "low, high: NumPy arrays": ENV._replace(spec=ENV.spec._replace(low=[0.0, 0.0])),
    "build: a int, not an Environment": 3,
    "an Outcome, not a tuple": ENV._replace(
        dynamics=lambda key, obs, action: (obs, jnp.float32(-1), jnp.array(False))
    ),
    "one kind of action": ENV._replace(spec=ENV.spec._replace(action_size=2)),
}


@pytest.mark.parametrize("message", ENVIRONMENTS)
def test_environment(message):
    says(message, testing.check_environment, ENVIRONMENTS[message])


def test_a_sound_environment_as_a_part_and_as_it_is_built():
    testing.check_environment(MountainCar())
    testing.check_environment(MountainCar().build())


@dataclass(frozen=True)
class Strategy:
    """Uniform, with something wrong in it."""

    draw: Any = Uniform().build(ENV).sample
    changes: dict = field(default_factory=dict, hash=False)

    def build(self, env):
        return drawn(lambda k, scene, n: self.draw(k, (), scene, n))._replace(**self.changes)


@dataclass(frozen=True)
class Branches:
    """Looks at a number that training traces."""

    spread: float = 0.1

    def build(self, env):
        return Uniform().build(env) if self.spread > 1 else drawn(lambda k, s, n: jnp.zeros((n, 2)))


@dataclass(frozen=True)
class BranchesStatic(Branches):
    spread: float = number(0.1, static=True)


def uniform(change):
    return Strategy(lambda k, state, scene, n: change(jax.random.uniform(k, (n, 2))))


def whole(**changes):
    """Draws whole transitions, with some entries changed."""

    def draw(key, state, scene, n):
        rows = jax.tree.map(lambda x: x[:n], scene.replay.data)
        return Rows(rows, jnp.ones(n), jnp.arange(n))._replace(
            **{name: change(rows, n) for name, change in changes.items()}
        )

    return Strategy(draw, {"learned": lambda state, tags, errors: state})


STRATEGIES = {
    "update: can't be compiled: it looks at the value of something traced": Branches(),
    "sampled states are inside Π: differs by": uniform(lambda x: x + 0.5),
    "sample: alone and in a batch: differs by": uniform(company),
    "sampled states are finite": uniform(lambda x: x * jnp.nan),
    "a sampled action: from 0 to 3": uniform(lambda x: Pair(x, jnp.full(len(x), 4, jnp.int32))),
    "update: (state, info), with info a dict": Strategy(
        changes={"update": lambda key, state, scene: state}
    ),
    "sample gives as many states as it is asked for": uniform(lambda x: x[1:]),
    "a sampled state: (2,) int32": uniform(lambda x: x.astype("int32")),
    "a sampled action: () float32, not () int32": uniform(lambda x: Pair(x, x[:, 0])),
    "update keeps the structure of the state": Strategy(
        changes={"update": lambda key, state, scene: ((state, 1), {})}
    ),
    "update keeps shapes and types": Strategy(
        changes={
            "init": lambda obs: jnp.zeros(2),
            "update": lambda key, state, scene: (state[:1], {}),
        }
    ),
    "info: scalars": Strategy(
        changes={"update": lambda key, state, scene: (state, {"x": scene.transition.obs})}
    ),
    "sampled transitions are finite": whole(
        transition=lambda rows, n: rows._replace(reward=jnp.full(n, jnp.nan))
    ),
    "weights are not negative": whole(weight=lambda rows, n: -jnp.ones(n)),
    "rows have tags": whole(tag=lambda rows, n: None),
    "tags are whole numbers": whole(tag=lambda rows, n: jnp.ones(n)),
    "weight: one for each row": whole(weight=lambda rows, n: jnp.ones((n, 1))),
    "tag: one for each row": whole(tag=lambda rows, n: jnp.arange(n + 1)),
    "reward of 7 rows: (7, 1), not (7,)": whole(
        transition=lambda rows, n: rows._replace(reward=rows.reward[:, None])
    ),
    "ready: a scalar": Strategy(changes={"ready": lambda state: jnp.ones(1, bool)}),
    "ready: float32, not bool": Strategy(changes={"ready": lambda state: jnp.ones(())}),
}


@pytest.mark.parametrize("message", STRATEGIES)
def test_search_control(message):
    says(message, testing.check_search_control, STRATEGIES[message], ENV)


@dataclass(frozen=True)
class KeepsKey:
    """Uniform, with a key of its own in its state."""

    def build(self, env):
        return (
            Uniform()
            .build(env)
            ._replace(
                init=lambda obs: jax.random.key(0),
                update=lambda key, state, scene: (jax.random.split(key)[0], {}),
            )
        )


def test_sound_strategies():
    testing.check_search_control(KeepsKey(), GridWorld())
    testing.check_search_control(BranchesStatic(), GridWorld())
    testing.check_search_control(whole(), ENV)
    built: SearchControl = Branches().build(ENV)
    testing.check_search_control(built, ENV)


@dataclass(frozen=True)
class Changed:
    """A part of ours whose functions were changed."""

    part: Any
    changes: Any = field(hash=False)

    def build(self, env, spec):
        sound = self.part.build(spec if isinstance(self.part, DQN) else env)
        return sound._replace(**self.changes(sound))


def agent(changes):
    return Changed(DQN(hidden=(4,)), changes)


def noisy_update(sound):
    def update(key, state, batch, weight):
        state, info = sound.update(key, state, batch, weight)
        return jax.tree.map(lambda x: company(x) if x.dtype == jnp.float32 else x, state), info

    return {"update": update}


AGENTS = {
    "value: a scalar": agent(lambda a: {"value": lambda s, obs: a.value(s, obs)[None]}),
    "with ε = 0 the behaviour is greedy": agent(
        lambda a: {"greedy": lambda s, obs: (a.greedy(s, obs) + 1) % 4}
    ),
    "action: () float32, not () int32": agent(
        lambda a: {"act": lambda k, s, obs, e: a.act(k, s, obs, e) * 1.0}
    ),
    "update: alone and in a batch: differs by": agent(noisy_update),
    "an update moves values": agent(lambda a: {"update": lambda k, s, b, w: (s, {"loss": 0.0})}),
    "td_error: one for each row of the mini-batch": agent(
        lambda a: {"update": lambda *x: (a.update(*x)[0], {"td_error": jnp.ones(())})}
    ),
    "info: scalars, but loss has the shape (2,)": agent(
        lambda a: {"update": lambda *x: (a.update(*x)[0], {"loss": jnp.ones(2)})}
    ),
    "action: from 0 to 3": agent(lambda a: {"act": lambda k, s, obs, e: jnp.int32(4)}),
    "value is finite": agent(lambda a: {"value": lambda s, obs: a.value(s, obs) / 0}),
    "q: a scalar": agent(lambda a: {"q": lambda s, obs, action: a.q(s, obs, action)[None]}),
    "target: a scalar": agent(lambda a: {"target": lambda s, obs: a.target(s, obs)[None]}),
    "info is finite": agent(
        lambda a: {"update": lambda *x: (a.update(*x)[0], {"loss": jnp.array(jnp.inf)})}
    ),
    "weights of 1": agent(
        lambda a: {
            "update": lambda k, s, b, w: a.update(
                k, s, b if w is None else b._replace(reward=-b.reward), w
            )
        }
    ),
    "numbers of zero make no noise": agent(
        lambda a: {"explore": lambda s, obs, normal: a.greedy(s, obs) + 1}
    ),
    "advance changes only exploration": agent(
        lambda a: {"advance": lambda k, s: jax.tree.map(lambda x: -x, s)}
    ),
}


@pytest.mark.parametrize("message", AGENTS)
def test_agent(message):
    says(message, testing.check_agent, AGENTS[message], ENV)


def model(**changes):
    def changed(sound):
        def predict(key, state, obs, action):
            found = sound.predict(key, state, obs, action)
            return found._replace(**{name: f(getattr(found, name)) for name, f in changes.items()})

        return {"predict": predict}

    return Changed(TrueModel(), changed)


def also(**functions):
    return Changed(TrueModel(), lambda sound: functions)


MODELS = {
    "spread: a scalar": also(spread=lambda state, obs, action: obs),
    "doubt: float32, not bool": also(doubt=lambda state, obs, action, outcome: outcome.reward),
    "rewards are finite": also(
        instead=lambda state, found: found._replace(reward=found.reward / 0)
    ),
    "can_be: a scalar": also(can_be=lambda state, obs: obs > 0),
    "competent: a scalar": also(competent=lambda state: jnp.ones(1, bool)),
    "info: scalars, but model_loss has": also(
        update=lambda key, state, replay: (state, {"model_loss": jnp.ones(3)})
    ),
    "predictions are finite": model(next_obs=lambda x: x / 0),
    "reward: bool, not a real number": model(reward=lambda x: x > 0),
    "predict: alone and in a batch: differs by": model(reward=company),
}


@pytest.mark.parametrize("message", MODELS)
def test_model(message):
    says(message, testing.check_model, MODELS[message], ENV)


@dataclass(frozen=True)
class Nothing:
    def build(self, env):
        return None


def test_a_part_that_builds_something_else():
    says("build: a NoneType, not a SearchControl", testing.check_search_control, Nothing(), ENV)
    says("build: a NoneType, not a Model", testing.check_model, Nothing(), ENV)


def test_what_a_part_refuses_is_said_as_it_says_it():
    says("needs continuous actions", testing.check_agent, DDPG(), ENV)
