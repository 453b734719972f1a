"""HC-Dyna: plan from the states of a hill climb on the current value estimates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp

from hcdyna.numerics import ring
from hcdyna.search_control import moments
from hcdyna.search_control.base import queued
from hcdyna.search_control.climbing import (
    Noise,
    check_langevin,
    climb_along,
    draw_noise,
    noise_level,
)
from hcdyna.search_control.tabular_hill_climbing import TabularHillClimbing
from hcdyna.settings import PythonOnly, check, later, number
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import MOST
from hcdyna.types import Array, Environment, Info, Key, Scene, SearchControl, Transition

Criterion = Callable[[Key, Scene], Callable[[Array], Array]]
"""key, scene → (obs [d] → scalar): the surface to climb."""


NoiseCovariance = Literal["drift", "visited", "identity"]
CRITERION, RESTART = 0x435249, 0x524553
"""Set the random numbers of a criterion, and of restarts, apart from those of the climb."""


@dataclass(frozen=True)
class HillClimbing:
    """Climb V̂ from a replay state once per time step, and queue the states on the way (HC-Dyna).

    On a lattice of discrete states this is `TabularHillClimbing` with the same `steps` and
    `queue_size`; the other fields are for continuous states only.
    """

    steps: int = number(100, at_least=0, at_most=1_000_000)
    """k, the number of gradient ascent steps per time step."""
    step_size: float = number(0.1, at_least=0)
    """Length of a step (α·‖Σ̂g‖), or α itself if `normalise` is off."""
    normalise: bool = True
    """Divide the step by ‖Σ̂g‖."""
    natural_gradient: bool = True
    """Scale the gradient by the covariance Σ̂ of the visited states; off: Σ̂ = I."""
    noise_covariance: NoiseCovariance = later("drift", before="drift")
    """Σ̂ of the noise: the same as for the drift, that of the visited states, or the identity."""
    noise: Noise = "full"
    """full: N(0, ηΣ̂); diagonal: noise_scale·√diag Σ̂; langevin: N(0, 2αΣ̂), not normalised."""
    eta: float = number(0.1, at_least=0)
    """η, the stochasticity of the climb, for full noise."""
    noise_scale: float = number(0.05, at_least=0)
    """Relative standard deviation, for diagonal noise."""
    noisy_start: bool = False
    """Add one draw of the noise to the replay state before climbing."""
    threshold: Literal["moving", "average"] = "moving"
    """ε_a: moving average of real moves with rate `beta` (Algorithm 3), or the plain average."""
    beta: float = number(0.001, at_least=0, at_most=1)
    """β, the rate of the moving average."""
    max_accepted: int | None = number(None, at_least=0, at_most=1_000_000)
    """m: accept at most this many states of a climb; None: no limit."""
    skip_terminal: bool = False
    """Leave terminal states out of the queue."""
    skip_known: bool = later(False, before=False)
    """The same, but only if the environment can tell which states end an episode."""
    restart: bool = later(False, before=False)
    """At a terminal state, start again from another replay state; needs `skip_terminal`."""
    accept_first: bool = later(True, before=True)
    """Accept the first state of a climb (s̃ = ∞); off: s̃ is the start, from which it may be near."""
    queue_size: int = number(1_000_000, at_least=1, at_most=MOST)
    """Capacity of the search-control queue in states; the oldest leave first."""
    criterion: PythonOnly[Criterion | None] = None
    """What to climb, from a key and the scene; None: the value estimate."""

    def __post_init__(self) -> None:
        check(self)
        check_langevin(self.noise, self.normalise)
        if self.noise == "langevin" and self.noise_covariance != "drift":
            raise SettingsError('noise = "langevin": has the covariance of the drift')
        if self.restart and not self.skip_terminal:
            raise SettingsError("HillClimbing.restart = True: needs skip_terminal=True")

    def build(self, env: Environment) -> SearchControl:
        if env.spec.num_states is not None:
            return TabularHillClimbing(self.steps, queue_size=self.queue_size).build(env)
        if self.skip_terminal and env.terminal is None:
            name = env.spec.name
            raise SettingsError(
                f"search_control = hill_climbing: skip_terminal = True, but {name} does not tell "
                "which states end an episode; give it a function: Environment.terminal, or "
                f"Hosted({name!r}, terminal=…)"
            )
        return queued(
            self._propose,
            self.queue_size,
            init=lambda obs: Visited(moments.init(obs), moments.init_move()),
            observe=self._observe,
            never_empty=self._never_empty(env),
        )

    def _skip(self, env: Environment) -> Callable[[Array], Array] | None:
        """obs [d] → whether a state is left out of the queue; None: none is."""
        return env.terminal if self.skip_terminal or self.skip_known else None

    def _never_empty(self, env: Environment) -> bool:
        """Whether every climb has an accepted state."""
        tries = self.steps > 0 and self.max_accepted != 0
        return tries and self.accept_first and self._skip(env) is None

    def _observe(self, visited: Visited, transition: Transition) -> Visited:
        beta = self.beta if self.threshold == "moving" else None
        move = moments.distance(transition.next_obs, transition.obs)
        return Visited(
            moments.update(visited.moments, transition.obs),
            moments.update_move(visited.move, move, beta),
        )

    def _propose(self, key: Key, visited: Visited, scene: Scene) -> tuple[Array, Array, Info]:
        start_key, shake_key, climb_key = jax.random.split(key, 3)
        eta = noise_level(self.noise, self.eta, self.step_size)
        spec, project = scene.env.spec, scene.env.project
        covariance = moments.covariance(visited.moments)
        if not self.natural_gradient:
            covariance = jnp.eye(spec.low.shape[0])
        spread = self._spread(covariance, visited)

        def drawn(key: Key, steps: int) -> Array:
            return draw_noise(key, spread, steps, self.noise, eta, self.noise_scale)

        start = ring.sample(start_key, scene.replay, 1).obs[0]
        if self.noisy_start:
            start = project(start + drawn(shake_key, 1)[0])
        again = None
        if self.restart:
            again_key, shake_key = jax.random.split(jax.random.fold_in(key, RESTART))
            again = ring.sample(again_key, scene.replay, self.steps).obs
            if self.noisy_start:
                again = jax.vmap(project)(again + drawn(shake_key, self.steps))
        criterion = scene.value
        if self.criterion is not None:
            criterion = self.criterion(jax.random.fold_in(key, CRITERION), scene)
        states, accepted = (scene.climb or climb_along)(
            drawn(climb_key, self.steps),
            start,
            criterion=criterion,
            covariance=covariance,
            step_size=self.step_size,
            normalise=self.normalise,
            project=project,
            threshold=visited.move.average,
            skip=self._skip(scene.env),
            max_accepted=self.max_accepted,
            restarts=again,
            accept_first=self.accept_first,
        )
        # The mean of this over steps is the share of climbs that met the edge of the box.
        hit_edge = jnp.any((states <= spec.low) | (states >= spec.high)).astype(jnp.float32)
        return states, accepted, {"epsilon_a": visited.move.average, "hit_edge": hit_edge}

    def _spread(self, drift: Array, visited: Visited) -> Array:
        """Σ̂ [d, d] of the noise."""
        if self.noise_covariance == "visited":
            return moments.covariance(visited.moments)
        return drift if self.noise_covariance == "drift" else jnp.eye(len(drift))


class Visited(NamedTuple):
    """Running statistics of the real experience."""

    moments: moments.Moments
    move: moments.MeanMove
