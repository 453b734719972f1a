"""The types of the library: Dyna has four parts, each a NamedTuple of pure functions.

Functions are written for one example (`obs [d]`, or `obs []` for a tabular state); call `vmap` for
many. `(key, state, …) → (state, info)`: state is what the next step needs, info is diagnostics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

if TYPE_CHECKING:
    from hcdyna.environments.table import Table

Array = jax.Array
Key = jax.Array
Info = dict[str, Array]


class Transition(NamedTuple):
    """One step of experience. `discount` is γ·(1 − terminated), so there is no `done`."""

    obs: Array
    action: Array
    reward: Array
    discount: Array
    next_obs: Array


class Outcome(NamedTuple):
    """The result of an action, from the environment or a model."""

    next_obs: Array
    reward: Array
    terminated: Array


class Spec(NamedTuple):
    """An environment's sizes. Exactly one of `num_actions` and `action_size` (in [−1, 1]^size) is
    set. Tabular states are 0 … `num_states` − 1, with a `table` if probabilities are known."""

    name: str
    low: np.ndarray
    high: np.ndarray
    discount: float
    time_limit: int
    num_actions: int | None = None
    action_size: int | None = None
    num_states: int | None = None
    table: Table | None = None

    def discounts(self, terminated: Array) -> Array:
        """γ·(1 − terminated): no bootstrapping beyond the end of an episode."""
        return self.discount * (1.0 - terminated)

    def example_obs(self) -> np.ndarray:
        """An observation of the right shape and type, to allocate storage."""
        return np.zeros(self.low.shape, self.low.dtype)

    def example_action(self) -> np.ndarray:
        """An action of the right shape and type, to allocate storage."""
        size = self.action_size
        return np.zeros((), np.int32) if size is None else np.zeros(size, np.float32)


@dataclass(frozen=True, eq=False)  # as hashable as any function
class Box:
    """Π for a box from `low` to `high` [d]: a function of a state, and data that a kernel can read.
    The first `pairs` pairs of variables are (cos, sin) of an angle and are normalised."""

    low: Any
    high: Any
    pairs: int = 0

    def __call__(self, obs: Array) -> Array:
        obs = jnp.clip(obs, self.low, self.high)
        if self.pairs == 0:
            return obs
        rows = obs[: 2 * self.pairs].reshape(self.pairs, 2)
        # Dividing by the larger part first keeps the squares of tiny pairs from vanishing.
        larger = jnp.max(jnp.abs(rows), axis=-1, keepdims=True)
        rows = jnp.where(larger > 0, rows / jnp.where(larger > 0, larger, 1.0), jnp.array([1.0, 0]))
        unit = rows / jnp.sqrt(jnp.sum(jnp.square(rows), axis=-1, keepdims=True))
        return jnp.concatenate([unit.reshape(-1), obs[2 * self.pairs :]])


class Environment(NamedTuple):
    """An environment. `dynamics` takes the observation, so it can be queried at any state."""

    spec: Spec
    reset: Callable[[Key], Array]
    """key → obs [d], a start state."""
    dynamics: Callable[[Key, Array, Array], Outcome]
    """key, obs [d], action → Outcome, without time limits and resets."""
    project: Callable[[Array], Array]
    """Π: obs [d] → obs [d] inside the state space; a Box, or any function."""
    terminal: Callable[[Array], Array] | None
    """obs [d] → whether an episode ends on reaching this state; None: not known."""


class Perceptron(NamedTuple):
    """The description of an agent for fused kernels, which can't inspect its functions."""

    hidden: tuple[int, ...]
    activation: str
    learning_rate: Array | float
    target_period: int
    functions: tuple[Callable | None, ...] = ()
    """`greedy`, `value`, `update`, `init` and `target` of that agent, as it was built."""
    double: bool = False
    huber: bool = False
    max_gradient: float = 0.0
    target_rate: float = 1.0


class Agent(NamedTuple):
    """How values are learned."""

    init: Callable[[Key], Any]
    act: Callable[[Key, Any, Array, Array | float], Array]
    """key, state, obs [d], ε → action of the behaviour policy."""
    greedy: Callable[[Any, Array], Array]
    """state, obs [d] → the action with the highest value."""
    value: Callable[[Any, Array], Array]
    """state, obs [d] → V(s), a scalar that hill climbing can differentiate."""
    update: Callable[[Key, Any, Transition, Array | None], tuple[Any, Info]]
    """key, state, batch [b, …], weight [b] or None → learn; info may hold td_error [b]."""
    q: Callable[[Any, Array, Array], Array] | None = None
    """state, obs [d], action → Q(s, a), a scalar that hill climbing can differentiate."""
    target: Callable[[Any, Array], Array] | None = None
    """state, obs [d] → V′(s) of the target network; None: no target network, V is used."""
    advance: Callable[[Key, Any], Any] | None = None
    """key, state → state, on every real step: updates exploration noise. None: no such noise."""
    explore: Callable[[Any, Array, Array], Array] | None = None
    """state, obs [d], normal numbers [size] → an action with this noise. None: the greedy one."""
    perceptron: Perceptron | None = None
    """Set by Q-learning with our perceptron, for which there are kernels."""
    shown: Agent | None = None
    """As evaluations see it, where that differs: with other parameters of the same state."""
    plan: Callable[[Any, Any, Array | None], tuple[Any, Info] | None] | None = None
    """state, mini-batches, how many → n × `update` in one call, or None; set by `accelerate`."""

    @property
    def covered(self) -> Perceptron | None:
        """The perceptron, unless one of the functions that kernels replace was changed."""
        known, mine = self.perceptron, (self.greedy, self.value, self.update)
        return known if known and known.functions[:3] == mine else None


class Model(NamedTuple):
    """Where simulated outcomes come from."""

    init: Callable[[Key], Any]
    predict: Callable[[Key, Any, Array, Array], Outcome]
    """key, state, obs [d], action → Outcome."""
    update: Callable[[Key, Any, Any], tuple[Any, Info]]
    """key, state, replay Ring → one step of model learning."""
    spread: Callable[[Any, Array, Array], Array] | None = None
    """state, obs [d], action → how much an ensemble disagrees, a scalar. None: not known."""
    doubt: Callable[[Any, Array, Array, Outcome], Array] | None = None
    """state, obs [d], action, outcome → whether the model is in doubt about it. None: never."""
    instead: Callable[[Any, Outcome], Outcome] | None = None
    """state, outcome → what planning uses instead of it, in doubt. None: a replayed row."""
    competent: Callable[[Any], Array] | None = None
    """state → whether to plan with it at all; if not, all is replay. None: always."""
    can_be: Callable[[Any, Array], Array] | None = None
    """state, obs [d] → whether there may be such a state; if not, a replayed row. None: always."""


class Scene(NamedTuple):
    """Everything that a search-control strategy can use."""

    env: Environment
    value: Callable[[Array], Array]
    """obs [d] → V̂(s), the current estimate."""
    predict: Callable[[Key, Array, Array], Outcome]
    """key, obs [d], action → Outcome of the current model, in doubt or not."""
    replay: Any
    """Ring of the transitions seen so far."""
    transition: Transition
    """The latest real step."""
    batch: Array | int = 0
    """Which of the n mini-batches is being drawn: 0 … n − 1."""
    q: Callable[[Array, Array], Array] | None = None
    """obs [d], action → Q̂(s, a)."""
    greedy: Callable[[Array], Array] | None = None
    """obs [d] → the greedy action."""
    act: Callable[[Key, Array], Array] | None = None
    """key, obs [d] → an action of the behaviour policy."""
    target: Callable[[Array], Array] | None = None
    """obs [d] → V′(s) of the target network."""
    spread: Callable[[Array, Array], Array] | None = None
    """obs [d], action → how much the model's members disagree; None: not known."""
    doubt: Callable[[Array, Array, Outcome], Array] | None = None
    instead: Callable[[Outcome], Outcome] | None = None
    competent: Callable[[], Array] | None = None
    can_be: Callable[[Array], Array] | None = None
    """As those of the model, with its current state."""
    climb: Callable[..., tuple[Array, Array]] | None = None
    """noise [k, d], start [d], … → `climbing.climb_along`, or faster; on V̂ with Π unless told."""


class Pair(NamedTuple):
    """A state to plan from, and the action to take there instead of the ε-greedy one."""

    obs: Array
    action: Array


class Rows(NamedTuple):
    """Whole transitions [n, …] to learn from: stored ones, or outcomes of h steps with γʰ."""

    transition: Transition
    weight: Array | None = None
    tag: Array | None = None
    """[n] weights (None: all equal), and numbers by which `SearchControl.learned` knows the rows"""


class SearchControl(NamedTuple):
    """Decides from which states to plan. `drawn` and `queued` implement most of it."""

    init: Callable[[Array], Any]
    """obs (for its shape and type) → state."""
    observe: Callable[[Any, Transition], Any]
    """state, transition → state: running statistics, on every real step, also in warm-up."""
    update: Callable[[Key, Any, Scene], tuple[Any, Info]]
    """key, state, scene → prepare the states to plan from; once per step, before planning."""
    ready: Callable[[Any], Array] | None
    """state → whether there is anything to sample; if not, all rows are replay. None: always."""
    sample: Callable[[Key, Any, Scene, int], Array | Pair | Rows] | None
    """key, state, scene, n → obs [n, d], a Pair of these and actions [n], or n Rows. None: none."""
    learned: Callable[[Any, Array, Array], Any] | None = None
    """state, tags [rows] (−1: not learned from), TD errors [rows] → state. None: not needed."""


class Dyna(NamedTuple):
    """The four parts combined."""

    init: Callable[[Key], Any]
    act: Callable[[Key, Any, Array], Array]
    """key, state, obs [d] → action of the behaviour policy."""
    observe: Callable[[Key, Any, Transition], tuple[Any, Info]]
    """key, state, transition → remember a real step without planning (the warm-up)."""
    learn: Callable[[Key, Any, Transition], tuple[Any, Info]]
    """key, state, transition → one whole time step of learning."""
