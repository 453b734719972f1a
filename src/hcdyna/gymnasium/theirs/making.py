"""How a Gymnasium environment is made: by its id and keywords, its spec, or a function."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import yaml
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec

from hcdyna.gymnasium.theirs.failure import Keeper, close, no_way_out, reason
from hcdyna.settings.errors import NotImported, SettingsError
from hcdyna.settings.fields import shown
from hcdyna.settings.importing import Unimported
from hcdyna.types import Spec

NO_LIMIT = 2**31 - 1
OURS = ("id", "disable_env_checker")
"""Arguments of `gymnasium.make` that are given already."""
CLOSING = 10.0
"""Seconds after which the `close` of an environment that was only looked at counts as hanging."""


class Recipe(NamedTuple):
    """All that it takes; see the fields of `Hosted`."""

    id: str
    kwargs: tuple[str, ...] = ()
    spec: str = ""
    factory: Callable[..., gymnasium.Env] | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is the environment of this id, and nothing but its time limit is changed."""
        changed = {word.partition("=")[0] for word in self.kwargs} - {"max_episode_steps"}
        return not changed and not self.spec and self.factory is None


def words_of_kwargs(kwargs: Any) -> tuple[str, ...]:
    """Keywords as name=value, from a mapping or from such words; SettingsError for others."""
    if isinstance(kwargs, Mapping):
        kwargs = [f"{name}={_written(name, value)}" for name, value in kwargs.items()]
    wrong = SettingsError(
        f"Hosted.kwargs = {shown(kwargs)}: must be like continuous=true, a name and its value"
    )
    if not isinstance(kwargs, tuple | list) or not all(isinstance(x, str) for x in kwargs):
        raise wrong
    for word in kwargs:
        name, equals, value = word.partition("=")
        try:
            yaml.safe_load(value)
        except yaml.YAMLError:
            raise wrong from None
        if not equals or not name.isidentifier():
            raise wrong
    names = [word.partition("=")[0] for word in kwargs]
    for name in names:
        if name in OURS or names.count(name) > 1:
            why = "is set by hcdyna" if name in OURS else "is given twice"
            raise SettingsError(f"Hosted.kwargs = {shown(kwargs)}: {name} {why}")
    return tuple(kwargs)


def _written(name: Any, value: Any) -> str:
    try:
        word = json.dumps(value)
    except (TypeError, ValueError):
        word = ""
    if not isinstance(name, str) or not word or yaml.safe_load(word) != value:
        raise SettingsError(
            f"Hosted.kwargs: {name} = {shown(value)}: must be a number, text, truth value or a "
            "list of such; for anything else, give a function that makes the environment"
        )
    return word


def modules_of(recipe: Recipe) -> list[str]:
    """The modules that an id or a spec names, but for Gymnasium's own."""
    places = [recipe.id if recipe.factory is None else ""]
    try:
        spec = json.loads(recipe.spec or "{}")
        places += [each["entry_point"] for each in (spec, *spec.get("additional_wrappers", ()))]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass  # `make` will say what is wrong with it
    modules = [str(place).rpartition(":")[0] for place in places]
    return [name for name in modules if name and not name.startswith("gymnasium.")]


def make(recipe: Recipe, **options: Any) -> gymnasium.Env:
    """A fresh environment, with errors of one line; a module before a colon is imported first."""
    kwargs = {
        name: yaml.safe_load(value)
        for name, _, value in (word.partition("=") for word in recipe.kwargs)
    }
    try:
        with no_way_out():
            if recipe.factory is not None:
                return _made_by(recipe.factory, kwargs, options)
            if recipe.spec:
                how = EnvSpec.from_json(recipe.spec)
                return gymnasium.make(how, disable_env_checker=True, **kwargs, **options)
            module, _, name = recipe.id.rpartition(":")
            if module:
                importlib.import_module(module)
            return gymnasium.make(name, disable_env_checker=True, **kwargs, **options)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # anything can go wrong in code that is not ours
        words = " ".join(str(error).split()) if isinstance(error, Exception) else ""
        kind = NotImported if isinstance(error, ImportError) else SettingsError
        raise kind(f"environment = {recipe.id}: {words or reason(error)}") from None


def _made_by(factory: Any, kwargs: dict[str, Any], options: dict[str, Any]) -> gymnasium.Env:
    """What a function or class of the user's makes; it need not know how to draw."""
    if isinstance(factory, Unimported):
        raise TypeError("is only described here, since it was not imported")
    try:
        taken = inspect.signature(factory).parameters
        takes_all = any(x.kind is x.VAR_KEYWORD for x in taken.values())
        options = {name: x for name, x in options.items() if takes_all or name in taken}
    except (TypeError, ValueError):  # written in C
        options = {}
    env = factory(**kwargs, **options)
    if not isinstance(env, gymnasium.Env):
        raise TypeError(f"made {shown(env)}; must be a gymnasium.Env")
    return env


@functools.lru_cache(maxsize=32)
def spaces_of(recipe: Recipe) -> tuple[spaces.Space, spaces.Space, int | None]:
    """Observation space, action space and time limit; SettingsError for what does not fit."""
    keeper = Keeper()  # for the case that it can't be closed
    env = keeper.call(lambda: make(recipe))
    try:
        seen, acted, limit = keeper.call(
            lambda: (env.observation_space, env.action_space, time_limit(env))
        )
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # anything can go wrong in code that is not ours
        raise SettingsError(
            f"environment = {recipe.id}: needs observation_space and action_space; {reason(error)}"
        ) from None
    finally:
        close(recipe.id, env, keeper, CLOSING)
    refuse(recipe.id, seen, acted)
    return seen, acted, limit


def time_limit(env: Any) -> int | None:
    """Steps after which a wrapper cuts episodes; the smallest, if there are several."""
    found = [env.spec.max_episode_steps] if env.spec is not None else []
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, gymnasium.wrappers.TimeLimit):
            found.append(env._max_episode_steps)
        env = env.env
    return min((limit for limit in found if limit), default=None)


@functools.lru_cache(maxsize=32)
def spec_of(recipe: Recipe) -> Spec:
    """Our Spec, from the spaces; SettingsError for what does not fit."""
    seen: Any
    acted: Any
    seen, acted, limit = spaces_of(recipe)
    discrete = isinstance(acted, spaces.Discrete)
    with np.errstate(over="ignore"):  # what float32 can't hold is no bound
        low, high = np.asarray(seen.low, np.float32), np.asarray(seen.high, np.float32)
    return Spec(
        name=recipe.id,
        low=low,
        high=high,
        discount=0.99,
        time_limit=limit or NO_LIMIT,
        num_actions=int(acted.n) if discrete else None,
        action_size=None if discrete else int(acted.shape[0]),
    )


def refuse(name: str, seen: spaces.Space, acted: spaces.Space) -> None:
    """Raise SettingsError unless Dyna can use such spaces, with what would fit."""
    if not isinstance(seen, spaces.Box) or len(seen.shape) != 1:
        hint = "a wrapper such as gymnasium.wrappers.FlattenObservation"
        if isinstance(seen, spaces.Box) and len(seen.shape) == 3:
            hint = "images need an encoder of your own in a wrapper"
        raise SettingsError(
            f"environment = {name}: observations are {seen}; must be a Box of one dimension: {hint}"
        )
    if 0 in seen.shape:
        raise SettingsError(
            f"environment = {name}: observations are {seen}; must have at least one variable"
        )
    if isinstance(acted, spaces.Discrete):
        return
    fits = isinstance(acted, spaces.Box) and len(acted.shape) == 1 and acted.shape[0] > 0
    if not fits or not np.isfinite([acted.low, acted.high]).all():  # type: ignore[attr-defined]
        raise SettingsError(
            f"environment = {name}: actions are {acted}; must be Discrete (dqn), or a bounded Box "
            "of one dimension (ddpg): wrap it, for MultiDiscrete with one number per combination"
        )
