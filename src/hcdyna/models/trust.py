"""What to do where the model does not know: one rule, whatever tells that it does not."""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax.numpy as jnp

from hcdyna.models import codes, optimism
from hcdyna.numerics import ring
from hcdyna.types import Array, Info, Key, Model, Outcome, Transition

Trust = Literal["optimistic", "replay", "trust"]


class Doubt(NamedTuple):
    """A measure of what a model knows."""

    init: Callable[[], Any]
    """→ state."""
    update: Callable[[Key, Any, Any, ring.Ring], Any]
    """key, state, the model's state, replay → state, on every real step."""
    unknown: Callable[[Any, Any, Array, Array, Outcome], Array]
    """state, the model's state, obs [d], action, outcome → whether the model does not know it."""
    found: Callable[[Any, Any, Transition], Array]
    """state, the model's state, a real step → whether it has led to what the model did not know."""


class TrustState(NamedTuple):
    """The model's state, that of its doubt, what is hoped for (or (), if nothing is), and which
    values observations take."""

    model: Any
    doubt: Any
    hope: Any
    values: codes.Values


def with_trust(model: Model, doubt: Doubt, trust: Trust, until_told: int, d: int) -> Model:
    """The same model of states [d], which tells what it does not know and what to take instead."""
    hopes = trust == "optimistic"

    def init(key: Key) -> TrustState:
        hope = optimism.init() if hopes else ()
        return TrustState(model.init(key), doubt.init(), hope, codes.init(d))

    def predict(key: Key, state: TrustState, obs: Array, action: Array) -> Outcome:
        return model.predict(key, state.model, obs, action)

    def update(key: Key, state: TrustState, replay: ring.Ring) -> tuple[TrustState, Info]:
        inner, info = model.update(key, state.model, replay)
        step, hope = ring.newest(replay), state.hope
        if hopes:
            hope = optimism.update(hope, step, doubt.found(state.doubt, inner, step))
        values = codes.update(state.values, step.next_obs)
        return TrustState(inner, doubt.update(key, state.doubt, inner, replay), hope, values), info

    def doubtful(state: TrustState, obs: Array, action: Array, outcome: Outcome) -> Array:
        unknown = doubt.unknown(state.doubt, state.model, obs, action, outcome)
        if not hopes:
            return unknown
        # What the model takes for an end though it is new may well be one, for better or worse.
        return unknown & ~outcome.terminated & optimism.is_left(state.hope, until_told)

    def instead(state: TrustState, outcome: Outcome) -> Outcome:
        return optimism.as_good_as_it_gets(state.hope, outcome)

    def competent(state: TrustState) -> Array:
        able = jnp.ones((), bool) if model.competent is None else model.competent(state.model)
        return able & optimism.has_aim(state.hope) if hopes else able

    spread = model.spread
    return Model(
        init,
        predict,
        update,
        None if spread is None else lambda state, obs, action: spread(state.model, obs, action),
        doubtful,
        instead if hopes else None,
        competent if hopes or model.competent is not None else None,
        lambda state, obs: codes.can_be(state.values, obs),
    )
