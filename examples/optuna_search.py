"""Tune hyperparameters with Optuna, pruning trials that look bad after some evaluations.

    pip install optuna
    python examples/optuna_search.py --env CartPole --trials 20

Both hyperparameters are traced numbers of one compiled program, so only the first trial compiles.
"""

from __future__ import annotations

from dataclasses import dataclass

import optuna
import tyro

from hcdyna import train
from hcdyna.runs.progress import Progress


@dataclass(frozen=True)
class Options:
    """What to search, and how long."""

    env: str = "CartPole"
    """An environment, ours or Gymnasium's."""
    trials: int = 20
    """Settings to try."""
    steps: int = 10_000
    """Environment steps of a trial, warm-up included."""
    warmup: int = 1_000
    """Steps with random actions before learning starts."""
    seeds: int = 3
    """Agents of a trial; their mean return decides."""


def main(options: Options) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=3, n_warmup_steps=options.steps // 3)
    sampler = optuna.samplers.TPESampler(seed=0)
    study = optuna.create_study(direction="maximize", pruner=pruner, sampler=sampler)
    study.optimize(lambda trial: score(trial, options), n_trials=options.trials)
    for trial in study.trials:
        numbers = ", ".join(f"{name} = {value:.2g}" for name, value in trial.params.items())
        print(f"trial {trial.number}: {trial.state.name.lower()}, {numbers}, {last(trial):.1f}")
    print(f"best: {study.best_params}, mean return {study.best_value:.1f}")


def score(trial: optuna.Trial, options: Options) -> float:
    """The mean return of the last quarter of the evaluations; raises TrialPruned if pruned."""

    def report(progress: Progress) -> bool:
        trial.report(float(progress.returns[-1].mean()), progress.steps[-1])
        return trial.should_prune()

    run = train(
        options.env,
        options.seeds,
        search_control="hill_climbing",
        learning_rate=trial.suggest_float("learning_rate", 1e-4, 1e-2, log=True),
        eta=trial.suggest_float("eta", 0.01, 1.0, log=True),
        steps=options.steps,
        warmup=options.warmup,
        every=max(1, options.steps // 20),
        queue_size=10_000,
        on_evaluation=report,
        progress=False,
    )
    if not run.finished:
        raise optuna.TrialPruned
    returns = run.mean_returns()
    return float(returns[:, -max(1, returns.shape[1] // 4) :].mean())


def last(trial: optuna.trial.FrozenTrial) -> float:
    """The latest return that a trial reported."""
    values = trial.intermediate_values
    return values[max(values)] if values else float("nan")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
