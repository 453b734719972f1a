"""Search for the best settings with Optuna: ask for a batch, train it as tasks, tell the scores.

All of a batch differ in numbers, so they share programs. Between the rounds of a batch the worse
ones are given up: each round trains those that are left for three times as many steps, the last
one for all. Optuna's journal is in the store, and so is every cell: an interrupted search goes on.

    search:
      space:
        agent.learning_rate: {from: 1e-5, to: 1e-2, scale: log}
        training.planning_steps: {from: 1, to: 30}
        search_control.noise: [none, langevin]
      trials: 48     # in all
      batch: 16      # at a time
      rounds: 3      # 1: all are trained to the end
      metric: last   # or area
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hcdyna.numerics.files import write
from hcdyna.settings import presets
from hcdyna.settings.errors import SettingsError
from hcdyna.sweeps.extras import needed
from hcdyna.sweeps.outcomes import outcomes
from hcdyna.sweeps.places import Folder
from hcdyna.sweeps.report import report
from hcdyna.sweeps.rounds import case_of, distributions, round_of, size, staying
from hcdyna.sweeps.status import Status
from hcdyna.sweeps.store import SweepStore
from hcdyna.sweeps.study import Study, settings_of
from hcdyna.sweeps.sweep import Engine, Resources, add, engine, gpus_here, run
from hcdyna.sweeps.tasks import in_words
from hcdyna.sweeps.wanted import Wanted

JOURNAL = "search/journal.log"


def search(
    study: Study,
    folder: str | Path,
    on: Engine = "local",
    resources: Resources = Resources(),  # noqa: B008 (frozen)
    say: Callable[[str], Any] = print,
    follow: Callable[[Status], None] | None = None,
    calibrate: bool = True,
) -> Path | str:
    """Search as the study says; where the winner is, a preset: a path, or an address in object
    storage."""
    optuna = needed("optuna", "--search")
    wanted = Wanted.of(study)
    space = distributions(optuna, study, wanted)
    say(size(optuna, study, engine(on).workers(resources), calibrate))
    store = SweepStore.create(folder)
    store.place.demand_writable()

    def score(batch: list[Any], number: int) -> dict[int, float]:
        return trained(study, wanted, batch, number, store, on, resources, follow)

    with store.alone("search", wait=False):
        trials = opened(optuna, store, study)
        demand_same(trials, study, wanted)
        forget_half_asked(optuna, trials, space)
        while batch := next_batch(optuna, trials, wanted, space):
            store.place.send(JOURNAL)
            halve(optuna, trials, batch, wanted.rounds, score)
            done = len(trials.get_trials(deepcopy=False))
            store.place.send(JOURNAL)
            say(f"{done} of {wanted.trials} trials, best {best(trials)}")
        return kept(optuna, store, study, wanted, trials)


def demand_same(trials: Any, study: Study, wanted: Wanted) -> None:
    """Raise SettingsError if the journal is of a search for something else: its scores would count
    as those of this one. More trials may be asked for, and in other batches."""
    given = study.plain() | vars(wanted)
    free = ("name", "together", "block", "compare", "vary", "grids", "search", "trials", "batch")
    now = json.loads(json.dumps({k: x for k, x in given.items() if k not in free}, default=str))
    before = trials.user_attrs.get("asked", now)
    changed = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    if changed:
        raise SettingsError(
            f"--search: the search {study.name} of this store began with a different {changed[0]}: "
            "give this one another name, or a store of its own"
        )
    if "asked" not in trials.user_attrs:
        trials.set_user_attr("asked", now)


def forget_half_asked(optuna: Any, trials: Any, space: dict[str, Any]) -> None:
    """Give up trials that a process which was killed had not yet given all values."""
    for each in trials.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
        if set(each.params) != set(space):
            trials.tell(each.number, state=optuna.trial.TrialState.FAIL)


def next_batch(optuna: Any, trials: Any, wanted: Wanted, space: dict[str, Any]) -> list[Any]:
    """Trials that were begun before an interruption, and new ones beside them."""
    running = trials.get_trials(states=(optuna.trial.TrialState.RUNNING,))
    begun = [optuna.trial.Trial(trials, each._trial_id) for each in running]
    asked = len(trials.get_trials(deepcopy=False))
    more = min(wanted.batch - len(begun), wanted.trials - asked)
    return begun + [trials.ask(fixed_distributions=space) for _ in range(max(0, more))]


def halve(
    optuna: Any,
    trials: Any,
    batch: list[Any],
    rounds: int,
    score: Callable[[list[Any], int], dict[int, float]],
) -> None:
    """Train a batch in rounds, give up the worse ones after each, and tell Optuna of all."""
    states = optuna.trial.TrialState
    for number in range(rounds):
        scores = score(batch, number)
        for each in batch:
            if each.number not in scores:
                trials.tell(each, state=states.FAIL)
        ranked = [each for each in batch if each.number in scores]
        ranked.sort(key=lambda each: -scores[each.number])
        last = number == rounds - 1
        stay = len(ranked) if last else staying(len(ranked))
        for each in ranked[stay:]:
            each.report(scores[each.number], number)
            trials.tell(each, state=states.PRUNED)
        batch = ranked[:stay]
    for each in batch:
        trials.tell(each, scores[each.number])


def opened(optuna: Any, store: SweepStore, study: Study) -> Any:
    """Optuna's study, from its journal in the store if there is one."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    store.place.fetch(JOURNAL)
    journal = store.place.root / JOURNAL
    journal.parent.mkdir(parents=True, exist_ok=True)
    begun = len(journal.read_bytes()) if journal.exists() else 0  # not the same guesses again
    backend = optuna.storages.journal.JournalFileBackend(str(journal))
    return optuna.create_study(
        study_name=study.name,
        storage=optuna.storages.JournalStorage(backend),
        direction="maximize",
        load_if_exists=True,
        sampler=optuna.samplers.TPESampler(seed=begun, constant_liar=True),
    )


def trained(
    study: Study,
    wanted: Wanted,
    batch: list[Any],
    number: int,
    store: SweepStore,
    on: Engine,
    resources: Resources,
    follow: Callable[[Status], None] | None,
) -> dict[int, float]:
    """Trial → score after one round; those without one have failed."""
    part = round_of(study, wanted, [case_of(trial.params) for trial in batch], number)
    workers, gpus = engine(on).workers(resources), gpus_here(on, resources)
    add(part, store.place.address, workers, calibrate=False, gpus=gpus)
    run(store, on, resources, follow)
    found = {in_words(each.case): each for each in outcomes(store, part)}
    scores = {}
    for trial in batch:
        outcome = found.get(in_words(case_of(trial.params)))
        if outcome is None:
            continue
        score = float(np.mean(outcome.scores(wanted.metric)))
        if math.isfinite(score) and not outcome.diverged.all():
            scores[trial.number] = score
    return scores


def best(trials: Any) -> str:
    """The winner so far, in words."""
    try:
        winner = trials.best_trial
    except ValueError:  # Optuna has none
        return "none yet"
    return f"{winner.value:.5g} with {in_words(case_of(winner.params))}"


def kept(optuna: Any, store: SweepStore, study: Study, wanted: Wanted, trials: Any) -> Path | str:
    """Write the winner as a preset, and a page of all that were trained to the end."""
    try:
        winner = case_of(trials.best_trial.params)
    except ValueError:
        raise SettingsError("--search: no trial has a finite score") from None
    path = store.place.root / "search" / "best.yaml"
    settings = settings_of(study.preset, {**study.settings, **winner})
    words = f"# The winner of {study.name}: {best(trials)}.\n"
    write(path, (words + presets.dump(settings)).encode())
    complete = trials.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    ended = [case_of(each.params) for each in complete]
    final = round_of(study, wanted, ended, wanted.rounds - 1)
    report(store, path.with_name("report.html"), [final])
    for name in ("best.yaml", "report.html"):
        store.place.send(f"search/{name}")
    return path if isinstance(store.place, Folder) else f"{store.place}/search/best.yaml"
