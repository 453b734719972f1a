"""A model learned online, with a rule for states that it does not know."""

from dataclasses import dataclass
from typing import Literal

from hcdyna.models import newness, spread
from hcdyna.models.ensemble import Learning, ensemble
from hcdyna.models.fitting import ApplyFor, FitFor
from hcdyna.models.functions import Answer, careful
from hcdyna.models.trust import Trust, with_trust
from hcdyna.numerics.networks import Activation
from hcdyna.settings import check, check_hidden, later, number, registry
from hcdyna.settings.by_place import FunctionByPlace
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import MOST
from hcdyna.types import Environment, Model


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
    """Normalise states, differences and rewards, and oversample terminations; off: raw data."""
    updates: int = later(1, before=1, at_least=1, at_most=1_000)
    """Updates per environment step."""
    members: int = later(1, before=1, at_least=1, at_most=100)
    """Number of networks, each trained on different mini-batches."""
    answer: Literal["mean", "member"] = later("mean", before="mean")
    """Prediction of several members: their mean, or a random member."""
    ends: Literal["auto", "known", "learned"] = later("auto", before="learned")
    """Terminations: known from the environment, or learned; auto: known if possible."""
    trust: Trust = later("optimistic", before="trust")
    """In doubt: assume an end with the best reward so far, replay a real step, or trust it."""
    doubt: Literal["newness", "spread"] = later("newness", before="newness")
    """When the model is in doubt: if a step leads to a new state, or if its members disagree."""
    cell_width: float = later(3.0, before=2.0, above=0)
    """Newness: width of the finest cells in which visits are counted, in standard deviations."""
    visits: int = later(5, before=5, at_least=1, at_most=255)
    """Newness: number of visits that make a cell familiar, and one more every 1,000 steps."""
    new_share: float = later(0.05, before=0.05, at_least=0, at_most=1)
    """Newness: largest share of real steps into new cells; if there are more, cells are larger."""
    spread_limit: float = later(2.0, before=2.0, above=0)
    """Spread: doubt if members disagree this many times as much as on replayed steps."""
    until_told: int = later(20, before=20, at_least=1, at_most=MOST)
    """Optimism ends after this many terminations, or rewards that differ from the first."""
    reward_limit: float = later(0.3, before=0.3, above=0)
    """Planning uses replay alone while the error of predicted rewards on new steps is above this,
    in standard deviations, or many ends are imagined. Not with trust = 'trust'."""
    reward: FunctionByPlace[Answer | None] = later(None, before=None)
    """obs [d], action, next_obs [d] → the reward; None: learned."""
    terminated: FunctionByPlace[Answer | None] = later(None, before=None)
    """obs [d], action, next_obs [d] → whether the episode ends; None: see `ends`."""

    def __post_init__(self) -> None:
        check(self)
        check_hidden(self)
        if self.trust != "trust" and self.doubt == "spread" and self.members == 1:
            raise SettingsError("LearnedModel.members = 1: must be at least 2 for doubt = 'spread'")

    def build(
        self,
        env: Environment,
        fit_for: FitFor | None = None,
        apply_for: ApplyFor | None = None,
    ) -> Model:
        if env.spec.num_states is not None:
            raise SettingsError(
                f"model = {registry.name_of('models', self)}: {env.spec.name} has a discrete state "
                "space, and this model needs a continuous one"
            )
        learning = Learning(*(getattr(self, name) for name in Learning._fields))
        if self.trust == "trust" or not self.normalise:
            learning = learning._replace(reward_limit=None)
        reward, end = self.reward, self.known_end(env)
        reward = reward and careful("LearnedModel.reward", reward)
        if self.terminated is not None:
            end = careful("LearnedModel.terminated", self.terminated)
        # Members are mapped over first, so that what asks one network at once would not see it.
        alone = apply_for if self.members == 1 else None
        model = ensemble(env, learning, reward, end, fit_for, alone)
        if self.trust == "trust":
            return model
        d = len(env.spec.low)
        if self.doubt == "newness":
            rule = newness.Rule(self.cell_width, self.visits, self.new_share)
            doubt = newness.doubt(rule, d)
        else:
            doubt = spread.doubt(model, self.spread_limit)
        return with_trust(model, doubt, self.trust, self.until_told, d)

    def in_words(self, env: Environment) -> str:
        """For people: what is learned, and what is done where that is not enough."""
        ends = "learned" if self.known_end(env) is None else "known"
        rule = {"optimistic": "optimistic", "replay": "replayed", "trust": "trusted"}[self.trust]
        return f"learned (ends {ends}; {rule} in doubt)"

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
            "episode; use learned, or give it a function: Environment.terminal, or "
            f"Hosted({env.spec.name!r}, terminal=…)"
        )
