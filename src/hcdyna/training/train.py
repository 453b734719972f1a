"""Training from the first step to the last: chunks, evaluations, saving, and going on after a stop.

`train` without `out` keeps everything in memory. With it, the run lives in a folder, and a process
that ends at any moment loses at most what came after the last save.
"""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from hcdyna.callbacks import all_of, is_true
from hcdyna.gymnasium.theirs.environment import Hosted
from hcdyna.gymnasium.theirs.failure import HostFailed
from hcdyna.kernels.accelerate import accelerate
from hcdyna.numerics.devices import mesh_for
from hcdyna.runs import checkpoint
from hcdyna.runs.record import describe, warn_of_changes
from hcdyna.runs.run import Progress, Run
from hcdyna.runs.saving import Saving, interruptions
from hcdyna.runs.store import Store, step_of
from hcdyna.settings import Settings, agent_of, registry
from hcdyna.settings.errors import RunError, SettingsError
from hcdyna.settings.fields import path_of, seeds_of
from hcdyna.settings.importing import refuse_while_importing
from hcdyna.settings.plain import settings_to_plain
from hcdyna.settings.shorthand import settings_named
from hcdyna.training import memory
from hcdyna.training.compiled import AgentLife, Programs, chunks, compile_programs, shared_program
from hcdyna.training.compiled import spread as spread_over
from hcdyna.training.hosted import hosted_programs
from hcdyna.types import Info

OnChunk = Callable[[Progress], Any]
Keep = Callable[[AgentLife, int, bool], AgentLife | None]
"""life, step, whether training ends here → saves, and may answer with a life to go on with."""


def train(
    settings: Settings | Sequence[Settings] | str,
    seeds: int | Sequence[int] = 1,
    on_chunk: OnChunk = lambda progress: None,
    out: str | Path | None = None,
    *,
    on_evaluation: OnChunk = lambda progress: None,
    **options: Any,
) -> Run:
    """Train one agent per setting and seed, all in one program; `seeds=3` means 0, 1, 2.

    Settings may differ in numbers only (learning rate, η, ε, n, ρ, …). The name of an environment,
    ours or Gymnasium's, with `options` such as search_control="hill_climbing" or steps=100_000 will
    do too. A chunk of steps ends with an evaluation: `on_evaluation`, then `on_chunk` are called on
    the host with all evaluations so far; training ends early if one returns True. `out` is a folder
    to keep the run in; if the same run is there already, it goes on where it stopped.
    """
    refuse_while_importing()
    on_chunk = all_of(on_evaluation, on_chunk)
    if isinstance(settings, str):
        settings = settings_named(settings, **options)
        if registry.is_hosted(registry.title_of(settings.environment)):
            print(in_words(settings), flush=True)
    elif options:
        raise SettingsError(f"{next(iter(options))}: give it in the settings")
    every_setting = [settings] if isinstance(settings, Settings) else list(settings)
    for setting in every_setting if out is not None else ():
        settings_to_plain(setting)  # what can't be saved is refused before anything is built
    trainer = Trainer(every_setting, seeds_of(seeds))
    trainer.demand_memory()
    if out is None:
        return trainer.train(on_chunk)
    with Store.begun(path_of(out), trainer.record()) as store:
        return trainer.train_in(store, on_chunk)


def resume(
    folder: str | Path,
    on_chunk: OnChunk = lambda progress: None,
    *,
    on_evaluation: OnChunk = lambda progress: None,
) -> Run:
    """Go on with an interrupted run, to exactly the end that it would have had."""
    refuse_while_importing()
    store = Store.open(path_of(folder))
    trainer = Trainer(store.settings, store.seeds)
    trainer.demand_memory()
    with store.lock():
        return trainer.train_in(store, all_of(on_evaluation, on_chunk))


def in_words(settings: Settings) -> str:
    """One line for people: which agent, model and search-control, on what."""
    env = settings.environment.build()
    agent, strategy = (
        registry.name_of(group, part)
        for group, part in (("agents", settings.agent), ("search_control", settings.search_control))
    )
    named = getattr(settings.model, "in_words", None)
    model = registry.name_of("models", settings.model) if named is None else named(env)
    n = settings.training.planning_steps
    world = registry.title_of(settings.environment)
    return f"{world}: {agent}, {strategy}, n = {n}, model {model}"


def kernels_used(settings: Settings) -> str:
    """Whether the fused kernels run, or why they don't, wholly or in part."""
    env = settings.environment.build()
    return accelerate(settings, env, agent_of(settings, env.spec)).said


def memory_needed(settings: Settings, seeds: Sequence[int]) -> str:
    """One line on the memory that such a run takes; SettingsError if there is not enough."""
    trainer = Trainer([settings], list(seeds))
    trainer.demand_memory()
    return memory.summary(trainer.shapes, trainer.agents)


class Trainer:
    """All agents of a run, and the programs that move them."""

    def __init__(self, settings: list[Settings], seeds: list[int]) -> None:
        self.settings, self.seeds = settings, seeds
        self.agents = len(settings) * len(seeds)
        hosted = isinstance(settings[0].environment, Hosted) if settings else False
        self.mesh: Mesh = mesh_for(agents=1 if hosted else self.agents)
        self.sharding = NamedSharding(self.mesh, PartitionSpec("agents"))
        self.static, table = shared_program(settings)
        if hosted:  # such programs belong to this run alone
            self.programs: Programs = hosted_programs(self.static, seeds * len(settings))
        else:
            self.programs = compile_programs(self.static, self.mesh)
        numbers = {
            path: np.repeat(np.array(values, np.float32), len(seeds))
            for path, values in table.items()
        }
        seed_of_agent = np.tile(np.array(seeds, np.uint32), len(settings))
        self.numbers, self.seed_of_agent = spread_over((numbers, seed_of_agent), self.mesh)
        self.shapes: AgentLife = jax.eval_shape(
            self.programs.init, self.seed_of_agent, self.numbers
        )

    def demand_memory(self) -> None:
        """Raise SettingsError if there is less memory than this run needs."""
        largest = max(self.settings, key=lambda setting: setting.training.planning_steps)
        memory.demand_enough(self.shapes, self.static, largest, self.agents)

    def record(self) -> dict[str, Any]:
        """What to keep of a run that starts now beside its results."""
        plain = [settings_to_plain(setting) for setting in self.settings]
        return describe(plain, self.seeds, kernels_used(self.settings[0]))

    def train(self, on_chunk: OnChunk) -> Run:
        """From the first step to the last, in memory."""
        start, life, progress = self.begin()
        life = self.advance(life, start, progress, on_chunk, lambda life, step, now: None)
        return Run.of(progress, lambda: life)

    def train_in(self, store: Store, on_chunk: OnChunk) -> Run:
        """From the first step, or the newest checkpoint of the store, to the last."""
        warn_of_changes(store.record)
        newest = self.newest(store)
        if newest is None and store.progress().steps:
            raise RunError(
                f"{store.folder}: there are curves but no checkpoint to resume from; the curves "
                "are kept as they are: choose another folder to train anew"
            )
        with interruptions() as interrupted:
            start, life, progress = self.begin() if newest is None else self.go_on(store, *newest)
            saving = Saving(store, progress, interrupted)
            life = self.advance(life, start, progress, on_chunk, saving)
            return Run.of(progress, lambda: life, store.folder)

    def begin(self) -> tuple[int, AgentLife, Progress]:
        """Step 0, new agents, and no curves yet."""
        life = self.programs.init(self.seed_of_agent, self.numbers)
        return 0, life, Progress(self.settings, self.seeds)

    def go_on(
        self, store: Store, step: int, life: AgentLife, path: Path
    ) -> tuple[int, AgentLife, Progress]:
        """Step, agents and curves of a checkpoint; what the store has beyond it is removed."""
        progress = store.progress(until=path)
        progress.settings = self.settings
        store.forget_after(step)
        return step, life, progress

    def advance(
        self, life: AgentLife, start: int, progress: Progress, on_chunk: OnChunk, keep: Keep
    ) -> AgentLife:
        """Chunk after chunk, with an evaluation after each; what ends it early is saved first."""
        static, programs = self.static, self.programs
        info: Info = {}
        for begin, end in chunks(static):
            evaluated = end % static.evaluation.every == 0 or end == static.training.steps
            if end < start or (end == start and (not evaluated or end in progress.steps[-1:])):
                continue
            begin = max(begin, start)
            try:
                if begin < end:
                    move = programs.warm_up if end <= static.training.warmup else programs.learn
                    life, info = move(life, self.numbers, end - begin)
                if not evaluated:
                    continue
                begin = end
                found = programs.evaluate(life, self.numbers, self.seed_of_agent, end)
            except HostFailed as failure:
                keep(failure.life, begin + failure.done, True)
                raise
            returns, lengths, more = found
            progress.record(end, returns, lengths, info | more)
            try:
                enough = is_true(on_chunk(progress))
            except BaseException:
                keep(life, end, True)
                raise
            other = keep(life, end, enough)
            life = life if other is None else other
            if enough:
                break
        return life

    def newest(self, store: Store) -> tuple[int, AgentLife, Path] | None:
        """Step, state and file of the newest checkpoint that is whole; None if there is none."""
        paths = store.checkpoints()
        for number, path in enumerate(paths):
            try:
                arrays = store.read_checkpoint(path)
            except RunError as error:
                if number + 1 == len(paths):
                    raise
                warnings.warn(f"{error}; going on from the checkpoint before", stacklevel=2)
                continue
            on_host = checkpoint.from_arrays(arrays, self.shapes)
            state = checkpoint.with_keys(spread_over(on_host, self.mesh), self.shapes)
            return step_of(path), state, path
        return None
