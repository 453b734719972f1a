"""Dynamics of your own as the model."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from hcdyna.settings import PythonOnly, check
from hcdyna.settings.errors import SettingsError, words_of
from hcdyna.settings.fields import shown
from hcdyna.types import Array, Environment, Key, Model, Outcome

Answer = Callable[[Array, Array, Array], Array]
"""obs [d], action, next_obs [d] → a scalar."""


def from_function(function: Callable[..., Any]) -> FromFunction:
    """A model from f(obs, action) or f(key, obs, action) → next_obs, reward, terminated.

    The function is one of JAX, for one state [d] and one action: a simulator, equations of motion.

    >>> import jax.numpy as jnp
    >>> from hcdyna import Settings
    >>> def drift(obs, action):
    ...     return obs + 0.05 * (action - 1), -1.0, obs[0] > 0.9
    >>> Settings(environment="CartPole-v1", model=from_function(drift)).model.function is drift
    True
    """
    return FromFunction(function)


@dataclass(frozen=True)
class FromFunction:
    """Ask a function of yours; nothing to learn."""

    function: PythonOnly[Callable[..., Any] | None] = None

    def __post_init__(self) -> None:
        check(self)
        if not callable(self.function):
            raise SettingsError(f"FromFunction.function = {self.function!r}: must be a function")

    def build(self, env: Environment) -> Model:
        function: Callable[..., Any] = self.function  # type: ignore[assignment]
        asked = careful("FromFunction.function", function)
        with_key = len(inspect.signature(function).parameters) == 3

        def predict(key: Key, state: object, obs: Array, action: Array) -> Outcome:
            given = (key, obs, action) if with_key else (obs, action)
            found = asked(*given)
            if not isinstance(found, tuple | list) or len(found) != 3:
                raise SettingsError(
                    f"FromFunction gives {shown(found)}; must be next_obs, reward, terminated"
                )
            next_obs, reward, terminated = found
            # Π would bring infinity into the box, and nobody would know.
            next_obs = real("FromFunction: next_obs", next_obs, obs.shape)
            return Outcome(
                env.project(jnp.where(jnp.isfinite(next_obs), next_obs, jnp.nan)),
                real("FromFunction: reward", reward),
                flag("FromFunction: terminated", terminated),
            )

        return Model(
            init=lambda key: (),
            predict=predict,
            update=lambda key, state, replay: (state, {}),
        )


def careful(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function of the user's; SettingsError, in one line, if it raises."""

    def asked(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except SettingsError:
            raise
        except Exception as error:  # anything can go wrong in code that is not ours
            why = f"{type(error).__name__}: {words_of(error)}".partition(". ")[0]
            raise SettingsError(
                f"{what} = {shown(function)}: must be a function of JAX (| instead of or, jnp "
                f"instead of np); raised {why}"
            ) from None

    return asked


def flag(what: str, x: Any) -> Array:
    """What a function of the user's says, as a bool; of a float, NaN would count as True."""
    x = array(what, x)
    if x.dtype != bool:
        raise SettingsError(f"{what} is {x.dtype}; must be bool, as a comparison gives it")
    return shaped(what, x, ())


def real(what: str, x: Any, shape: tuple[int, ...] = ()) -> Array:
    """Numbers of a function of the user's, in float32; of complex ones, a part would be lost."""
    x = array(what, x)
    if jnp.iscomplexobj(x):
        raise SettingsError(f"{what} is {x.dtype}; must be real")
    return shaped(what, x.astype(jnp.float32), shape)


def array(what: str, x: Any) -> Array:
    """As an array, if it can be one."""
    try:
        return jnp.asarray(x)
    except (TypeError, ValueError):
        raise SettingsError(f"{what} is {shown(x)}; must be numbers") from None


def shaped(what: str, x: Array, shape: tuple[int, ...]) -> Array:
    """In this shape, which may have further axes of one."""
    if x.size != math.prod(shape):
        wanted = f"have {shape[0]} numbers" if shape else "be a single one"
        raise SettingsError(f"{what} has shape {x.shape}; must {wanted}")
    return x.reshape(shape)
