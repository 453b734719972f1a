"""Whatever a user has of an environment, as a part of `Settings`."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import gymnasium
from gymnasium.envs.registration import EnvSpec

from hcdyna.gymnasium.theirs.environment import Hosted
from hcdyna.gymnasium.theirs.failure import reason
from hcdyna.gymnasium.theirs.making import words_of_kwargs
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import shown


def environment_of(thing: Any) -> Any:
    """A part for an environment object, or for a function or class that makes one; a name, or what
    has a method `build`, stays as it is."""
    if isinstance(thing, gymnasium.Env):
        return copied(thing)
    if isinstance(thing, str) or (callable(getattr(thing, "build", None))):
        return thing
    if callable(thing):
        return Hosted(factory=thing)
    raise SettingsError(
        f"environment = {shown(thing)}: must be a name such as CartPole-v1, a gymnasium.Env, or a "
        "function that makes one"
    )


def copied(env: gymnasium.Env) -> Hosted:
    """What makes another one like it: its id and keywords, and its wrappers if it has any."""
    try:
        spec = env.spec
        if spec is None:
            raise TypeError("it was not made by gymnasium.make")
        nameless = [w.name for w in spec.additional_wrappers if w.kwargs is None]
        if nameless:
            raise TypeError(f"its wrapper {nameless[0]} does not record its arguments")
        return by_spec(spec)
    except Exception as error:  # anything can go wrong in code that is not ours
        raise SettingsError(
            f"environment = {shown(env)}: can't be copied: {str(error) or reason(error)}; give a "
            "function that makes it, as in train(lambda: …)"
        ) from None


def by_spec(spec: EnvSpec) -> Hosted:
    """The same from Gymnasium's description of it."""
    kwargs = {name: value for name, value in spec.kwargs.items() if name != "render_mode"}
    known = gymnasium.registry.get(spec.id)
    by_its_id = known is not None and known.entry_point == spec.entry_point
    if by_its_id and known is not None and not spec.additional_wrappers:
        own = {name: x for name, x in kwargs.items() if known.kwargs.get(name) != x}
        if spec.max_episode_steps != known.max_episode_steps:
            own["max_episode_steps"] = spec.max_episode_steps
        known_here = str(spec.entry_point).startswith(("gymnasium.", "hcdyna."))
        if known_here or callable(spec.entry_point):
            return Hosted(spec.id, kwargs=words_of_kwargs(own))
    words = dataclasses.replace(spec, kwargs=kwargs).to_json()
    if EnvSpec.from_json(words).kwargs != kwargs:
        raise TypeError(f"its keywords {json.dumps(sorted(kwargs))} can't be written down")
    return Hosted(spec.id, spec=words)
