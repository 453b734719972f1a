"""How much to run, and the settings that figures share; defaults of `Settings` are the paper's."""

from dataclasses import dataclass, field, replace
from typing import Any

from hcdyna import DQN, Evaluation, LearnedModel, Settings, Training

PRINTED, PICKED = "1e-4", "1e-3"
"""The learning rate that the paper prints, and the one that its procedure picks here (see `lr`)."""

AS_PRINTED = LearnedModel(
    learning_rate=1e-4, normalise=False, ends="known", trust="trust", cell_width=2.0
)
"""The learned model of the paper, which is told where episodes end, as in the authors' code. Where
it is trusted, the width of cells has no effect; this one is in the names of stored results."""
LEARNED_ENDS = replace(AS_PRINTED, ends="learned")
"""The same, if it has to learn that too."""
LEARNED: dict[str, LearnedModel] = {
    "known ends": AS_PRINTED,
    "learned ends": LEARNED_ENDS,
    "our model": LearnedModel(),
}
"""Learned models: the reading of the paper, a second reading, and the default of this library."""

ALGORITHMS: dict[str, tuple[str, Any]] = {
    "DQN": ("replay", "true"),
    "OnPolicy-Dyna": ("on_policy", "true"),
    "HC-Dyna": ("hill_climbing", "true"),
} | {
    f"{name}, {kind}": (strategy, model)
    for kind, model in LEARNED.items()
    for name, strategy in (("OnPolicy-Dyna", "on_policy"), ("HC-Dyna", "hill_climbing"))
}
"""Search-control and model; with replay alone no model is asked."""


@dataclass(frozen=True)
class Scale:
    """`full` is the paper's protocol, `quick` a look at it on a laptop."""

    name: str
    seeds: int
    steps: int
    warmup: int
    rates: tuple[str, ...]
    tabular_steps: int
    tabular_rates: tuple[float, ...] = field(repr=False, default=())

    def step(self, step: int) -> int:
        """A step of the full scale at this one: the same share of learning, at an evaluation."""
        share = (step - FULL.warmup) / (FULL.steps - FULL.warmup)
        return self.warmup + round(share * (self.steps - self.warmup) / 1_000) * 1_000


TABULAR_RATES = (1.0, 0.8409, 0.70711, 0.59460, 0.5, 0.35356, 0.25, 0.17678)
"""As the appendix prints them."""

FULL = Scale("full", 30, 50_000, 5_000, (PRINTED, PICKED), 50_000, TABULAR_RATES)
QUICK = Scale("quick", 3, 5_000, 1_000, (PICKED,), 5_000, (1.0, 0.5, 0.25))
SCALES = {scale.name: scale for scale in (FULL, QUICK)}


def settings(
    scale: Scale,
    environment: Any,
    algorithm: str,
    rate: str,
    *,
    steps: int | None = None,
    search_control: Any = None,
    **training: Any,
) -> Settings:
    """An algorithm by its name, on an environment, at a learning rate; the rest as in the paper."""
    strategy, model = ALGORITHMS[algorithm]
    return Settings(
        environment=environment,
        agent=DQN(learning_rate=float(rate)),
        model=model,
        search_control=strategy if search_control is None else search_control,
        training=Training(
            steps=scale.steps if steps is None else steps, warmup=scale.warmup, **training
        ),
    )


def tabular_settings(scale: Scale, strategy: Any, rate: float, rho: float = 0.5) -> Settings:
    """The numbers of the appendix: ε = 0.2, n = 10, a batch of 1, evaluation every 100 steps."""
    from hcdyna import Tabular

    return Settings(
        environment="TabularGridWorld",
        agent=Tabular(rate),
        search_control=strategy,
        training=Training(
            steps=scale.tabular_steps, warmup=0, epsilon=0.2, batch_size=1, mixing_rate=rho
        ),
        evaluation=Evaluation(every=100),
    )


def changed(base: Settings, **parts: dict[str, Any]) -> Settings:
    """A copy with some fields of some parts exchanged."""
    return replace(base, **{name: replace(getattr(base, name), **p) for name, p in parts.items()})
