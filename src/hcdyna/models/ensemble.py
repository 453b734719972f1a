"""Networks that learn a model of the world: the difference s′ − s, the reward, and the end.

With discrete actions a network takes s and answers for every action; with continuous ones it takes
(s, a) and answers for this one.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax

from hcdyna.models import pay, scales, skill
from hcdyna.models.fitting import ApplyFor, Fit, FitFor, Learned, Lesson, both, weights
from hcdyna.models.functions import Answer, flag, real
from hcdyna.numerics import adam, ring
from hcdyna.numerics.networks import Activation, mlp
from hcdyna.types import Array, Environment, Info, Key, Model, Outcome, Transition

RARE_KEPT, RARE_DRAWN = 1_024, 32
"""Steps that ended an episode or paid unusually: how many are kept, and drawn for an update."""
UNUSUAL = 3.0
"""A reward is unusual if it is so many deviations from the mean."""


class ModelState(NamedTuple):
    """The networks, Adam's moments, and what to measure numbers by."""

    params: Any
    """[members, …]"""
    optimiser: adam.AdamState
    scales: scales.Scales
    """of observations, differences and reward [2d + 1]"""
    rare: Any
    """Ring of the rare steps; () if they are learned as they come, as …"""
    pay: Any
    """… rewards are"""
    skill: Any
    """How well rewards are predicted; () if nobody asks"""


class Learning(NamedTuple):
    """How they learn; see `LearnedModel`."""

    learning_rate: Array | float
    hidden: tuple[int, ...]
    activation: Activation
    batch_size: int
    normalise: bool
    updates: int
    members: int
    answer: Literal["mean", "member"]
    reward_limit: Any
    """None: planning uses it however wrong its rewards are"""


def ensemble(
    env: Environment,
    settings: Learning,
    known_reward: Answer | None = None,
    known_end: Answer | None = None,
    fit_for: FitFor | None = None,
    apply_for: ApplyFor | None = None,
) -> Model:
    """The model that believes all that its networks say, and what is known beside it; `fit_for`
    and `apply_for` offer a faster gradient step and faster answers."""
    spec, members = env.spec, settings.members
    num_actions, size, d = spec.num_actions, spec.action_size or 0, len(spec.low)
    # For each answer: d differences, the reward, and the log-odds that the episode ends.
    answers = 1 if num_actions is None else num_actions
    widths = (d + size, *settings.hidden, answers * (d + 2))
    network = mlp(widths, settings.activation)
    rows = settings.batch_size + RARE_DRAWN * settings.normalise
    fit = None if fit_for is None else fit_for(widths, settings.activation, rows)
    fast_apply = None if apply_for is None else apply_for(widths, settings.activation)
    judges_itself = settings.reward_limit is not None and known_reward is None

    def for_each(function: Callable[..., Any], in_axes: tuple[int | None, ...]) -> Any:
        """For all members. A single one is asked as it would be alone: an axis of one agent and one
        member makes XLA round differently from one of many."""
        if members > 1:
            return jax.vmap(function, in_axes)

        def alone(*arguments: Any) -> Any:
            pairs = zip(arguments, in_axes, strict=True)
            its = [x if axis is None else jax.tree.map(lambda y: y[0], x) for x, axis in pairs]
            return jax.tree.map(lambda y: y[None], function(*its))

        return alone

    def init(key: Key) -> ModelState:
        # Of a single member as it would be alone.
        keys = key[None] if members == 1 else jax.random.split(key, members)
        params = for_each(network.init, (0,))(keys)
        rare = ring.of_steps(spec, RARE_KEPT) if settings.normalise else ()
        paid = pay.init() if settings.normalise else ()
        can = skill.init() if judges_itself else ()
        return ModelState(params, adam.init(params), scales.init(2 * d + 1), rare, paid, can)

    def units_of(state: ModelState) -> scales.Scales:
        """What to measure observations, differences and reward in [2d + 1]."""
        if not settings.normalise:
            return state.scales
        reward = pay.unit(state.pay, state.scales.deviation[-1])
        variance = jnp.asarray(state.scales.variance).at[-1].set(jnp.square(reward))
        return state.scales._replace(variance=variance)

    def asked(units: scales.Scales, obs: Array, action: Array) -> Array:
        obs = units.part(0, d).normal(obs)
        return obs if num_actions is not None else jnp.concatenate([obs, action], axis=-1)

    def of_action(row: Array, action: Array) -> Array:
        if num_actions is None:
            return row
        # A masked sum instead of an index: gathers are slow, and so are their gradients.
        return jax.nn.one_hot(action, num_actions) @ row.reshape(num_actions, d + 2)

    def every_answer(state: ModelState, obs: Array, action: Array) -> Array:
        def answer(params: Any, question: Array) -> Array:
            return of_action((fast_apply or network.apply)(params, question), action)

        return for_each(answer, (0, None))(state.params, asked(units_of(state), obs, action))

    def predict(
        key: Key, state: ModelState, obs: Array, action: Array, ended: Array | None = None
    ) -> Outcome:
        """`ended`: whether the reward is one of those at ends, where that is known."""
        every = every_answer(state, obs, action)
        if settings.answer == "member":
            answer = every[jax.random.randint(key, (), 0, members)]
        else:
            answer = sum(every[1:], start=every[0]) / members
        numbers = units_of(state).part(d, 2 * d + 1).original(answer[: d + 1])
        next_obs, reward, end = env.project(obs + numbers[:d]), numbers[d], answer[d + 1] > 0.0
        if known_end is not None:
            end = flag("LearnedModel.terminated", known_end(obs, action, next_obs))
        if known_reward is not None:
            reward = real("LearnedModel.reward", known_reward(obs, action, next_obs))
        elif settings.normalise:
            reward = pay.settled(state.pay, reward, end if ended is None else ended)
        return Outcome(next_obs, reward, end)

    def disagreement(state: ModelState, obs: Array, action: Array) -> Array:
        """Mean deviation between members, in units of the real differences."""
        every = every_answer(state, obs, action)[:, :d]
        # Seen from the first one, so that members that agree have no deviation of rounding.
        return jnp.sqrt(jnp.mean(jnp.var(every - every[0], axis=0)))

    def loss(
        params: Any, units: scales.Scales, batch: Transition, rare: Transition | None, some: Array
    ) -> Array:
        """Of one member: every part counts alike; of reward and end, half by rare steps, if any."""

        def errors(rows: Transition) -> tuple[Array, Array, Array]:
            out = network.on_batch(params, asked(units, rows.obs, rows.action))
            out = jax.vmap(of_action)(out, rows.action)
            truth = jnp.column_stack([rows.next_obs - rows.obs, rows.reward])
            square = jnp.square(out[:, : d + 1] - units.part(d, 2 * d + 1).normal(truth))
            ended = (rows.discount == 0.0).astype(jnp.float32)
            entropy = jnp.mean(optax.sigmoid_binary_cross_entropy(out[:, -1], ended))
            return jnp.mean(square[:, :d]), jnp.mean(square[:, d]), entropy

        moved, reward, ended = errors(batch)
        if rare is None:
            return moved + reward + ended
        _, rare_reward, rare_ended = errors(rare)
        rarely = jnp.where(some, rare_reward + rare_ended, reward + ended)
        return moved + 0.5 * (reward + ended + rarely)

    def learn(state: ModelState, key: Key, replay: ring.Ring) -> tuple[ModelState, Array]:
        rare, some = None, jnp.zeros((), bool)
        if settings.normalise:
            key, rare_key = jax.random.split(key)
            rare, some = draw(rare_key, state.rare, RARE_DRAWN), state.rare.total > 0
        batch = draw(key, replay, settings.batch_size)
        if fit is not None:
            return fitted(fit, state, batch, rare, some)

        def total(params: Any) -> tuple[Array, Array]:
            of_each = for_each(loss, (0, None, 0, 0, None))
            errors = of_each(params, units_of(state), batch, rare, some)
            return jnp.sum(errors), errors

        gradient, errors = jax.grad(total, has_aux=True)(state.params)
        params, optimiser = adam.update(
            gradient, state.optimiser, state.params, settings.learning_rate
        )
        return state._replace(params=params, optimiser=optimiser), jnp.mean(errors)

    def fitted(
        fit: Fit, state: ModelState, batch: Transition, rare: Transition | None, some: Array
    ) -> tuple[ModelState, Array]:
        """The same with `fit`."""
        units, old = units_of(state), state.optimiser
        power = (old.power1 * adam.BETA1, old.power2 * adam.BETA2)

        def lesson_of(batch: Transition, rare: Transition | None) -> Lesson:
            rows = both(batch, rare)
            truth = jnp.column_stack([rows.next_obs - rows.obs, rows.reward])
            return Lesson(
                asked(units, rows.obs, rows.action),
                jnp.zeros(len(truth), jnp.int32) if num_actions is None else rows.action,
                units.part(d, 2 * d + 1).normal(truth),
                (rows.discount == 0.0).astype(jnp.float32),
                *weights(len(batch.reward), len(truth) - len(batch.reward), some, d),
            )

        def step(params: Any, mean: Any, square: Any, lesson: Lesson) -> Learned:
            return fit(params, mean, square, power, settings.learning_rate, lesson)

        lessons = for_each(lesson_of, (0, 0))(batch, rare)
        found = jax.vmap(step)(state.params, old.mean, old.square, lessons)
        optimiser = adam.AdamState(found.mean, found.square, *power)
        return state._replace(params=found.params, optimiser=optimiser), jnp.mean(found.loss)

    def draw(key: Key, rows: ring.Ring, count: int) -> Transition:
        """For each member [members, count, …]."""
        some = ring.sample(key, rows, members * count)
        return jax.tree.map(lambda x: x.reshape(members, count, *x.shape[1:]), some)

    def update(key: Key, state: ModelState, replay: ring.Ring) -> tuple[ModelState, Info]:
        if settings.normalise:
            step = ring.newest(replay)
            row = jnp.concatenate([step.obs, step.next_obs - step.obs, step.reward[None]])
            units = scales.update(state.scales, row)
            unusual = jnp.abs(units.normal(row)[2 * d]) > UNUSUAL
            keep, as_batch = (step.discount == 0.0) | unusual, jax.tree.map(lambda x: x[None], step)
            rare = ring.extend(state.rare, as_batch, keep[None])
            paid = pay.update(state.pay, step.reward, step.discount == 0.0)
            if judges_itself:
                # A reward that is paid for the first time is no error, and neither is a known end.
                test_key, now = jax.random.fold_in(key, skill.JUDGE), state._replace(pay=paid)
                guess = predict(test_key, now, step.obs, step.action, step.discount == 0.0)
                guess = guess._replace(terminated=guess.terminated & (known_end is None))
                state = state._replace(skill=skill.update(state.skill, guess, step))
            state = state._replace(scales=units, rare=rare, pay=paid)
        if settings.updates == 1:
            state, error = learn(state, key, replay)
            return state, {"model_loss": error}
        keys = jax.random.split(key, settings.updates)
        state, errors = jax.lax.scan(lambda s, k: learn(s, k, replay), state, keys)
        return state, {"model_loss": errors[-1]}

    def competent(state: ModelState) -> Array:
        return skill.is_enough(state.skill, settings.reward_limit, state.scales.deviation[-1])

    spread = disagreement if members > 1 else None
    return Model(init, predict, update, spread, competent=competent if judges_itself else None)
