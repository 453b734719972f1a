"""The rounds of a search: which values trials may have, how long each is trained, what it takes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import shown
from hcdyna.settings.plain import settings_to_plain
from hcdyna.settings.words import count
from hcdyna.sweeps.status import duration
from hcdyna.sweeps.study import Study, settings_of
from hcdyna.sweeps.sweep import plan
from hcdyna.sweeps.tasks import Case, in_words
from hcdyna.sweeps.values import bounds, rounded
from hcdyna.sweeps.wanted import Wanted

GROWTH = 3
"""Steps of a round over those of the round before; as many times fewer go on."""


def distributions(optuna: Any, study: Study, wanted: Wanted) -> dict[str, Any]:
    """Where each value may lie: whole numbers for a field that holds such, or one of a list."""
    plain = settings_to_plain(settings_of(study.preset, study.settings))
    found = {}
    for path, given in wanted.space.items():
        if isinstance(given, list | tuple) and given:
            found[path] = optuna.distributions.CategoricalDistribution(list(given))
            continue
        if not isinstance(given, Mapping):
            raise SettingsError(f"search: {path} = {shown(given)}: must be a range or a list")
        for key in {"count", "step"} & set(given):
            raise SettingsError(f"search: {path}: {key}: a search needs no such key")
        low, high = bounds(f"search: {path}", given)
        log = given.get("scale") == "log"
        part, _, field = path.partition(".")
        whole = type(plain.get(part, {}).get(field)) is int
        kind = "IntDistribution" if whole else "FloatDistribution"
        if whole:
            low, high = int(low), int(high)
        found[path] = getattr(optuna.distributions, kind)(low, high, log=log)
    return found


def round_of(study: Study, wanted: Wanted, cases: list[Case], number: int) -> Study:
    """The study of one round: these cases, for a share of the steps."""
    settings = settings_of(study.preset, study.settings)
    every, steps = settings.evaluation.every, settings.training.steps
    share = steps / GROWTH ** (wanted.rounds - 1 - number)
    least = settings.training.warmup + every
    steps = min(steps, max(least, round(share / every) * every))
    unique = {in_words(case): {"settings": case} for case in cases}
    return replace(
        study,
        name=f"{study.name}-search",
        settings={**study.settings, "training.steps": steps},
        vary={},
        grids=list(unique.values()),
        compare=(),
        search=None,
    )


def case_of(params: Mapping[str, Any]) -> Case:
    """The values of a trial, with six digits, as they are trained."""
    return {path: rounded(x) if isinstance(x, float) else x for path, x in params.items()}


def staying(trials: int) -> int:
    """How many of some trials go on to the next round."""
    return math.ceil(trials / GROWTH)


def size(optuna: Any, study: Study, workers: int, calibrate: bool) -> str:
    """How much a search is, in a line; from the first batch that it might ask for."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    wanted = Wanted.of(study)
    space, some = distributions(optuna, study, wanted), min(wanted.batch, wanted.trials)
    guesses = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    cases = [case_of(guesses.ask(fixed_distributions=space).params) for _ in range(some)]
    parts = [round_of(study, wanted, cases, number) for number in range(wanted.rounds)]
    steps = [part.settings["training.steps"] for part in parts]
    last = plan(parts[-1], None, workers, calibrate)
    whole, agents = 0.0, 0
    for begun in range(0, wanted.trials, wanted.batch):
        left = min(wanted.batch, wanted.trials - begun)
        for each in steps:
            whole, agents = whole + left * each / steps[-1], agents + left * study.seeds
            left = staying(left)
    words = [
        f"{study.name}: a search of {count(wanted.trials, 'trial')}, {wanted.batch} at a time, "
        f"in {count(wanted.rounds, 'round')}: {count(agents, 'agent')}",
        f"about {count(len(last.groups), 'program')} for {count(some, 'trial')}",
    ]
    seconds = last.seconds
    if seconds is not None:
        words.append(f"about {duration(seconds * whole / some)} with {last.like()}")
    return "; ".join(words)
