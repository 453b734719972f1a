"""A model learned online: networks predict the difference s′ − s, the reward, and the end.

With discrete actions a network takes s and answers for every action; with continuous ones it takes
(s, a) and answers for this one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax

from hcdyna.models import newness, scales, spread
from hcdyna.models.trust import Trust, with_trust
from hcdyna.numerics import adam, ring
from hcdyna.numerics.networks import Activation, mlp
from hcdyna.settings import PythonOnly, check, check_hidden, later, number, registry
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import MOST
from hcdyna.types import Array, Environment, Info, Key, Model, Outcome, Transition

Answer = Callable[[Array, Array, Array], Array]
"""obs [d], action, next_obs [d] → a scalar."""

ENDS_KEPT, ENDS_DRAWN = 1_024, 32
"""Steps that ended an episode: how many are remembered, and how many are drawn for an update."""


class ModelState(NamedTuple):
    """The networks, Adam's moments, and what to measure numbers by."""

    params: Any
    """[members, …]"""
    optimiser: adam.AdamState
    scales: scales.Scales
    """of observations, differences and reward [2d + 1]"""
    ends: Any
    """Ring of the steps that ended an episode; () if ends are learned as they come"""


@dataclass(frozen=True)
class LearnedModel:
    """Predict s′ − s, reward and termination of an action, from replayed transitions."""

    learning_rate: float = number(1e-3, above=0)
    """Adam's step size."""
    hidden: tuple[int, ...] = (64, 64)
    """Units of each hidden layer."""
    activation: Activation = "relu"
    """Nonlinearity of the hidden layers."""
    batch_size: int = number(128, at_least=1, at_most=1_000_000)
    """Transitions per update."""
    normalise: bool = later(True, before=False)
    """Measure variables, differences and rewards in standard deviations, and learn ends from as
    many steps with as without one. False: raw numbers, and ends as they come."""
    updates: int = later(1, before=1, at_least=1, at_most=1_000)
    """Updates per environment step."""
    members: int = later(1, before=1, at_least=1, at_most=100)
    """Networks, each of which learns from mini-batches of its own."""
    answer: Literal["mean", "member"] = later("mean", before="mean")
    """What several members answer: the mean of all, or one at random."""
    ends: Literal["auto", "known", "learned"] = later("auto", before="learned")
    """Where episodes end: as the environment knows, or learned. auto: known, where it does."""
    trust: Trust = later("optimistic", before="trust")
    """What to do where the model does not know: take it for an end as good as any return so far,
    replace the row by a replayed one, or trust the model."""
    doubt: Literal["newness", "spread"] = later("newness", before="newness")
    """The model does not know what a step is like that leads to a new state, or on whose outcome
    its members disagree."""
    cell_width: float = later(2.0, before=2.0, above=0)
    """Newness: the finest cells in which visits are counted, in standard deviations …"""
    visits: int = later(5, before=5, at_least=1, at_most=255)
    """… the visits that make a cell familiar …"""
    new_share: float = later(0.05, before=0.05, at_least=0, at_most=1)
    """… and the share of real steps that may lead to new cells; if more do, cells are larger."""
    spread_limit: float = later(2.0, before=2.0, above=0)
    """Spread: members disagree beyond so many times what is usual on replayed steps."""
    until_ends: int = later(20, before=20, at_least=1, at_most=MOST)
    """Optimism is over when so many episodes have ended: there are no ends to look for."""
    reward: PythonOnly[Answer | None] = later(None, before=None)
    """obs [d], action, next_obs [d] → the reward; None: learned."""
    terminated: PythonOnly[Answer | None] = later(None, before=None)
    """obs [d], action, next_obs [d] → whether the episode ends; None: see `ends`."""

    def __post_init__(self) -> None:
        check(self)
        check_hidden(self)
        if self.trust != "trust" and self.doubt == "spread" and self.members == 1:
            raise SettingsError("LearnedModel.members = 1: must be at least 2 for doubt = 'spread'")

    def build(self, env: Environment) -> Model:
        if env.spec.num_states is not None:
            raise SettingsError(
                f"model = {registry.name_of('models', self)}: {env.spec.name} has a discrete state "
                "space, and this model needs a continuous one"
            )
        model = with_known(networks(env, self), self.reward, self.known_end(env))
        if self.trust == "trust":
            return model
        if self.doubt == "newness":
            rule = newness.Rule(self.cell_width, self.visits, self.new_share)
            doubt = newness.doubt(rule, len(env.spec.low))
        else:
            doubt = spread.doubt(model, self.spread_limit)
        return with_trust(model, env.spec, doubt, self.trust, self.until_ends)

    def known_end(self, env: Environment) -> Answer | None:
        """Where episodes end, if that need not be learned; None: learned."""
        terminal = env.terminal
        if self.terminated is not None or self.ends == "learned":
            return self.terminated
        if terminal is not None:
            return lambda obs, action, next_obs: terminal(next_obs)
        if self.ends == "auto":
            return None
        raise SettingsError(
            f"LearnedModel.ends = 'known': {env.spec.name} does not tell which states end an "
            "episode; use learned, or give a function with Hosted(id, terminal=…)"
        )


def networks(env: Environment, settings: LearnedModel) -> Model:
    """The model that believes all that its networks say."""
    spec, members = env.spec, settings.members
    num_actions, size, d = spec.num_actions, spec.action_size or 0, len(spec.low)
    # For each answer: d differences, the reward, and the log-odds that the episode ends.
    answers = 1 if num_actions is None else num_actions
    network = mlp((d + size, *settings.hidden, answers * (d + 2)), settings.activation)

    def init(key: Key) -> ModelState:
        # Of a single member as it would be alone.
        keys = key[None] if members == 1 else jax.random.split(key, members)
        params = jax.vmap(network.init)(keys)
        obs, real = jnp.asarray(spec.example_obs()), jnp.zeros(())
        blank = Transition(obs, jnp.asarray(spec.example_action()), real, real, obs)
        ends = ring.init(blank, ENDS_KEPT) if settings.normalise else ()
        return ModelState(params, adam.init(params), scales.init(2 * d + 1), ends)

    def asked(units: scales.Scales, obs: Array, action: Array) -> Array:
        obs = units.part(0, d).normal(obs)
        return obs if num_actions is not None else jnp.concatenate([obs, action], axis=-1)

    def of_action(row: Array, action: Array) -> Array:
        if num_actions is None:
            return row
        # A masked sum instead of an index: gathers are slow, and so are their gradients.
        return jax.nn.one_hot(action, num_actions) @ row.reshape(num_actions, d + 2)

    def every_answer(state: ModelState, obs: Array, action: Array) -> Array:
        rows = jax.vmap(network.apply, (0, None))(state.params, asked(state.scales, obs, action))
        return jax.vmap(of_action, (0, None))(rows, action)

    def predict(key: Key, state: ModelState, obs: Array, action: Array) -> Outcome:
        every = every_answer(state, obs, action)
        if settings.answer == "member":
            answer = every[jax.random.randint(key, (), 0, members)]
        else:
            answer = sum(every[1:], start=every[0]) / members
        numbers = state.scales.part(d, 2 * d + 1).original(answer[: d + 1])
        return Outcome(env.project(obs + numbers[:d]), numbers[d], answer[d + 1] > 0.0)

    def disagreement(state: ModelState, obs: Array, action: Array) -> Array:
        """Mean deviation between members, in units of the real differences."""
        every = every_answer(state, obs, action)[:, :d]
        # Seen from the first one, so that members that agree have no deviation of rounding.
        return jnp.sqrt(jnp.mean(jnp.var(every - every[0], axis=0)))

    def loss(params: Any, units: scales.Scales, batch: Transition, ended: Any) -> Array:
        """Of one member: every part counts alike."""

        def answered(rows: Transition) -> Array:
            out = network.on_batch(params, asked(units, rows.obs, rows.action))
            return jax.vmap(of_action)(out, rows.action)

        out = answered(batch)
        truth = jnp.column_stack([batch.next_obs - batch.obs, batch.reward])
        square = jnp.square(out[:, : d + 1] - units.part(d, 2 * d + 1).normal(truth))
        at_end = (batch.discount == 0.0).astype(jnp.float32)
        entropy = jnp.mean(optax.sigmoid_binary_cross_entropy(out[:, -1], at_end))
        if settings.normalise:
            late = jnp.mean(optax.sigmoid_binary_cross_entropy(answered(ended[0])[:, -1], 1.0))
            entropy = 0.5 * (entropy + jnp.where(ended[1], late, 0.0))
        return jnp.mean(square[:, :d]) + jnp.mean(square[:, d]) + entropy

    def learn(state: ModelState, key: Key, replay: ring.Ring) -> tuple[ModelState, Array]:
        ended = None
        if settings.normalise:
            key, end_key = jax.random.split(key)
            ended = (
                draw(end_key, state.ends, ENDS_DRAWN),
                jnp.repeat(state.ends.total > 0, members),
            )
        batch = draw(key, replay, settings.batch_size)

        def total(params: Any) -> tuple[Array, Array]:
            errors = jax.vmap(loss, (0, None, 0, 0))(params, state.scales, batch, ended)
            return jnp.sum(errors), errors

        gradient, errors = jax.grad(total, has_aux=True)(state.params)
        params, optimiser = adam.update(
            gradient, state.optimiser, state.params, settings.learning_rate
        )
        return state._replace(params=params, optimiser=optimiser), jnp.mean(errors)

    def draw(key: Key, rows: ring.Ring, count: int) -> Transition:
        """For each member [members, count, …]."""
        some = ring.sample(key, rows, members * count)
        return jax.tree.map(lambda x: x.reshape(members, count, *x.shape[1:]), some)

    def update(key: Key, state: ModelState, replay: ring.Ring) -> tuple[ModelState, Info]:
        if settings.normalise:
            step = ring.newest(replay)
            row = jnp.concatenate([step.obs, step.next_obs - step.obs, step.reward[None]])
            as_batch, ended = jax.tree.map(lambda x: x[None], step), step.discount == 0.0
            state = state._replace(
                scales=scales.update(state.scales, row),
                ends=ring.extend(state.ends, as_batch, ended[None]),
            )
        if settings.updates == 1:
            state, error = learn(state, key, replay)
            return state, {"model_loss": error}
        keys = jax.random.split(key, settings.updates)
        state, errors = jax.lax.scan(lambda s, k: learn(s, k, replay), state, keys)
        return state, {"model_loss": errors[-1]}

    return Model(init, predict, update, disagreement if members > 1 else None)


def with_known(model: Model, reward: Answer | None, terminated: Answer | None) -> Model:
    """The same model, with a reward or an end that need not be learned."""
    if reward is None and terminated is None:
        return model

    def predict(key: Key, state: Any, obs: Array, action: Array) -> Outcome:
        outcome = model.predict(key, state, obs, action)
        around = (obs, action, outcome.next_obs)
        if reward is not None:
            known = jnp.asarray(reward(*around), jnp.float32).reshape(())
            outcome = outcome._replace(reward=known)
        if terminated is not None:
            end = jnp.asarray(terminated(*around)).astype(bool).reshape(())
            outcome = outcome._replace(terminated=end)
        return outcome

    return model._replace(predict=predict)
