"""What can be done with agents once they are trained."""

import functools
import importlib
from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
from gymnasium import spaces

from hcdyna.gymnasium.theirs.environment import on_host, to_action
from hcdyna.gymnasium.theirs.making import spaces_of
from hcdyna.gymnasium.theirs.scaling import ObservationScale, known_scale, scale_of
from hcdyna.runs import policy_file
from hcdyna.runs.episodes import behave_in_all, checked_epsilon
from hcdyna.settings import Settings, agent_of
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import LARGEST, checked_seed, shown
from hcdyna.settings.short import in_short


class TrainedAgent:
    """A policy and its value estimate.

    >>> from hcdyna import Settings, Training, train
    >>> settings = Settings(search_control="uniform", training=Training(steps=200, warmup=100))
    >>> agent = train(settings, seeds=2).agent()
    >>> agent.predict([0.1, 0.1]).shape, agent.predict([[0.1, 0.1], [0.5, 0.4]]).shape
    ((), (2,))
    >>> agent.predict([0.1, 0.1], deterministic=False, epsilon=1.0, seed=5) in range(4)
    True
    >>> import hcdyna, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     same = hcdyna.load(agent.save(f"{folder}/agent.safetensors"))
    >>> bool(same.value([0.3, 0.4]) == agent.value([0.3, 0.4]))
    True
    """

    def __init__(self, settings: Settings, state: Any, scale: Any = (), about: str = "") -> None:
        """`scale` [2, d] is that of the run, as in `AgentLife`; `about` says which agent it is."""
        self.settings, self.state, self.about = settings, state, about
        self._known_scale = known_scale(scale)
        self.spec = settings.environment.build().spec
        agent = agent_of(settings, self.spec)
        self._greedy = jax.jit(jax.vmap(agent.greedy, (None, 0)))
        self._value = jax.jit(jax.vmap(agent.value, (None, 0)))
        self._behave = jax.jit(partial(behave_in_all, self.spec, agent))

    def __repr__(self) -> str:
        which = f"; {self.about}" if self.about else ""
        return f"TrainedAgent({in_short(self.settings)}{which})"

    def _repr_html_(self) -> str:
        # Of a room above, which is named, as parts are, and not imported.
        return str(importlib.import_module("hcdyna.figures.notebook").agent_html(self))

    def predict(
        self,
        obs: Any,
        deterministic: bool = True,
        epsilon: float | None = None,
        seed: int | None = None,
    ) -> np.ndarray:
        """The action for an observation [d], or for many [n, d].

        The greedy action or, if not `deterministic`, one of the behaviour policy: ε-greedy with the
        training's ε unless `epsilon` is given, or with exploration noise for continuous actions,
        which ε = 0 turns off. The same seed gives the same action; without a seed, every call
        differs. For a Gymnasium environment, pass its observations, and its actions come back.
        """
        if deterministic:
            if epsilon is not None:
                raise SettingsError(f"epsilon = {epsilon}: needs deterministic=False")
            return self._own_actions(self._for_all(self._greedy, obs))
        epsilon = checked_epsilon(self.settings.training.epsilon if epsilon is None else epsilon)
        seed = int(np.random.default_rng().integers(2**32)) if seed is None else checked_seed(seed)
        numbers = np.uint32(seed), np.float32(epsilon)
        return self._own_actions(self._for_all(self._behave, obs, *numbers))

    def value(self, obs: Any) -> np.ndarray:
        """The value estimate V̂(s) of an observation [d], or of many [n, d]."""
        return self._for_all(self._value, obs)

    def save(self, path: str | Path) -> Path:
        """Write the policy alone, as a .safetensors file that `hcdyna.load` reads."""
        return policy_file.save(self, path)

    def _for_all(self, function: Any, obs: Any, *more: Any) -> np.ndarray:
        rows = self._checked(obs)
        one = rows.shape == self.spec.low.shape
        rows = rows if self.scale is None else self.scale(rows)
        rows = rows.astype(self.spec.low.dtype)
        found = np.asarray(function(self.state, rows[None] if one else rows, *more))
        return found[0] if one else found

    def _checked(self, obs: Any) -> np.ndarray:
        """One observation [d], or many [n, d]; SettingsError for what is none."""
        shape, states = self.spec.low.shape, self.spec.num_states
        try:
            rows = np.asarray(obs)
        except ValueError:  # rows of different lengths
            rows = np.asarray(None)
        if rows.dtype.kind not in "biuf" or not (np.abs(rows) <= np.float64(LARGEST)).all():
            raise SettingsError(f"obs = {shown(obs)}: must be finite numbers, of single precision")
        if rows.shape != shape and rows.shape[1:] != shape:
            many = ("n", *shape)
            raise SettingsError(
                f"obs of shape {rows.shape}: must be {shape} for one or "
                f"{str(many).replace(repr('n'), 'n')} for many"
            )
        if states is not None and not np.isin(rows, np.arange(states)).all():
            raise SettingsError(f"obs = {shown(obs)}: must be from 0 to {states - 1}")
        return rows

    def _own_actions(self, found: np.ndarray) -> np.ndarray:
        """Our indices, or numbers in [−1, 1], as actions of a Gymnasium environment."""
        space = self._space
        if space is None:
            return found
        if isinstance(space, spaces.Discrete):
            return found + space.start
        return to_action(space, found)

    @functools.cached_property
    def _space(self) -> spaces.Space | None:
        """The action space of a Gymnasium environment; None where the world is ours."""
        hosted = on_host(self.settings.environment)
        return None if hosted is None else spaces_of(hosted.recipe)[1]

    @functools.cached_property
    def scale(self) -> ObservationScale | None:
        """What observations were scaled by in training, if they were."""
        hosted = on_host(self.settings.environment)
        if hosted is None or not hosted.scaling:
            return None
        # Runs and files from before it was kept have none: it is measured again.
        return scale_of(hosted) if self._known_scale is None else self._known_scale
