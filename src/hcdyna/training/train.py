"""Training from the first step to the last: chunks, evaluations, saving, and going on after a stop.

`train` without `out` keeps everything in memory. With it, the run lives in a folder, and a process
that ends at any moment loses at most what came after the last save.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hcdyna.callbacks import all_of
from hcdyna.gymnasium.theirs.bringing import environment_of
from hcdyna.gymnasium.theirs.environment import on_host
from hcdyna.models.learned import LearnedModel
from hcdyna.runs.beginning import begun, extended, longer
from hcdyna.runs.run import Run
from hcdyna.runs.store import Store
from hcdyna.settings import Settings, registry
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import checked_seed, path_of, seeds_of, shown
from hcdyna.settings.importing import refuse_while_importing
from hcdyna.settings.plain import settings_to_plain
from hcdyna.settings.shorthand import settings_named
from hcdyna.training import memory
from hcdyna.training.showing import following
from hcdyna.training.trainer import OnChunk, Trainer


def train(
    settings: Any,
    seeds: int | Sequence[int] | None = None,
    on_chunk: OnChunk = lambda progress: None,
    out: str | Path | None = None,
    *,
    seed: int | None = None,
    on_evaluation: OnChunk = lambda progress: None,
    progress: bool = True,
    **options: Any,
) -> Run:
    """Train one agent per setting and seed, all in one compiled program. `seeds=3` trains seeds
    0, 1 and 2, `seed=3` only seed 3.

    Several settings may differ only in numbers (learning rate, η, ε, n, ρ, …). Instead of settings
    you can pass an environment: a name, a Gymnasium id, an environment object or a function that
    makes one, with `options` such as search_control="hill_climbing" or steps=100_000. Fields of the
    parts are given by name, such as learning_rate or evaluation_episodes, and `preset` names where
    all others come from.

    After every evaluation, `on_evaluation` and then `on_chunk` are called with all evaluations so
    far; training stops early if one returns True. `out` is the folder of the run. If it contains
    the same run, that run is resumed, or extended if the settings have more steps. Terminals and
    notebooks show a progress bar unless `progress` is False.
    """
    refuse_while_importing()
    wanted, told = chosen_seeds(seed, seeds), all_of(on_evaluation, on_chunk)
    every_setting, said = asked_for(settings, options)
    for setting in every_setting if out is not None else ():
        settings_to_plain(setting)  # what can't be saved is refused before anything is built
    agents = len(every_setting) * len(wanted)
    with following(every_setting[0], agents, progress, said) as show:
        trainer = Trainer(every_setting, wanted)
        trainer.demand_memory()
        on_chunk = all_of(show, told)
        if out is None:
            return trainer.train(on_chunk)
        # Absolute, since an environment may go to another folder.
        with begun(path_of(out).absolute(), trainer.record()) as store:
            return trainer.train_in(store, on_chunk)


def asked_for(settings: Any, options: dict[str, Any]) -> tuple[list[Settings], str]:
    """All settings that `train` is asked for, and a line about those that it chose itself."""
    if not isinstance(settings, Settings | list | tuple):
        chosen = settings_named(environment_of(settings), **options)
        return [chosen], "" if on_host(chosen.environment) is None else in_words(chosen)
    every_setting = [settings] if isinstance(settings, Settings) else list(settings)
    if not every_setting:
        raise SettingsError("settings = []: must be at least one")
    for setting in every_setting:
        if not isinstance(setting, Settings):
            raise SettingsError(f"settings = [{shown(setting)}, …]: must be a list of Settings")
    if options:
        raise SettingsError(f"{next(iter(options))}: give it in the settings")
    return every_setting, ""


def chosen_seeds(seed: int | None, seeds: int | Sequence[int] | None) -> list[int]:
    """The seeds that `train` is asked for; 0 if there are none."""
    if seed is None:
        return seeds_of(1 if seeds is None else seeds)
    if seeds is not None:
        raise SettingsError(f"seed = {seed!r}, seeds = {seeds!r}: give one of them")
    return [checked_seed(seed)]


def resume(
    folder: str | Path,
    on_chunk: OnChunk = lambda progress: None,
    *,
    steps: int | None = None,
    on_evaluation: OnChunk = lambda progress: None,
    progress: bool = True,
) -> Run:
    """Resume an interrupted run, or extend any run to `steps` in total. The result is the same, bit
    for bit, as that of a run without interruption."""
    refuse_while_importing()
    told = all_of(on_evaluation, on_chunk)
    store = Store.open(path_of(folder).absolute())
    agents = len(store.described) * len(store.seeds)
    with following(longer(store.described[0], steps), agents, progress) as show, store.lock():
        if steps is not None:
            store = extended(Store.open(store.folder), steps)
        trainer = Trainer(store.settings, store.seeds)
        trainer.demand_memory()
        return trainer.train_in(store, all_of(show, told))


def in_words(settings: Settings) -> str:
    """One line for people: which agent, model and search-control, on what."""
    env = settings.environment.build()
    agent, strategy = (
        registry.name_of(group, part)
        for group, part in (("agents", settings.agent), ("search_control", settings.search_control))
    )
    learned = isinstance(settings.model, LearnedModel)
    model = settings.model.in_words(env) if learned else registry.name_of("models", settings.model)
    n = settings.training.planning_steps
    world = registry.title_of(settings.environment)
    return f"{world}: {agent}, {strategy}, n = {n}, model {model}"


def memory_needed(settings: Settings, seeds: Sequence[int]) -> str:
    """One line on the memory that such a run takes; SettingsError if there is not enough."""
    trainer = Trainer([settings], list(seeds))
    trainer.demand_memory()
    return memory.summary(trainer.shapes, trainer.agents)
