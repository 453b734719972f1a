"""All agents of a run, moved chunk by chunk, evaluated and saved."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from hcdyna.callbacks import is_true
from hcdyna.dyna import compose, scene_of
from hcdyna.gymnasium.theirs.environment import on_host
from hcdyna.gymnasium.theirs.failure import HostFailed
from hcdyna.kernels.accelerate import accelerate, for_models, refuse_plain, why_plain
from hcdyna.numerics import ring
from hcdyna.numerics.devices import mesh_for
from hcdyna.runs import checkpoint
from hcdyna.runs.best import Best
from hcdyna.runs.progress import Progress
from hcdyna.runs.record import describe, warn_of_changes
from hcdyna.runs.run import Run
from hcdyna.runs.saving import Saving, interruptions
from hcdyna.runs.store import Store, step_of
from hcdyna.settings import Settings, part_of
from hcdyna.settings.errors import RunError
from hcdyna.settings.plain import settings_to_plain
from hcdyna.training import memory
from hcdyna.training.compiled import AgentLife, Programs, chunks, compile_programs, shared_program
from hcdyna.training.compiled import spread as spread_over
from hcdyna.training.hosted import hosted_programs
from hcdyna.types import Array, Environment, Info, Key, Rows

OnChunk = Callable[[Progress], Any]
Keep = Callable[[AgentLife, int, bool], AgentLife | None]
"""life, step, whether training ends here → saves, and may answer with a life to go on with."""


class Saved(NamedTuple):
    """A checkpoint that was read."""

    step: int
    life: AgentLife
    best: Best
    path: Path


def kernels_used(settings: Settings) -> str:
    """Whether fused kernels run, or why they don't, wholly or in part."""
    env = settings.environment.build()
    accelerated = accelerate(settings, env, part_of(settings, "agent", env))
    reasons = [] if accelerated.climb is None else plain_beside(settings, env)
    if settings.training.kernels == "on":
        refuse_plain(next(iter(reasons), None))
    return "; ".join([accelerated.said, *reasons])


def plain_beside(settings: Settings, env: Environment) -> list[str]:
    """What model and search-control do in plain JAX though there are kernels, as seen from one
    step; nothing is computed."""
    training = settings.training
    noticed: list[str | None] = []

    def fit_for(*network: Any) -> Any:
        found = for_models(settings)["fit_for"](*network)
        noticed.append(None if found else "the learned model's gradient step is plain")
        return found

    agent, strategy = (part_of(settings, choice, env) for choice in ("agent", "search_control"))
    model = part_of(settings, "model", env, fit_for=fit_for)

    def watched(function: Any) -> Any:
        def watching(*args: Any, **options: Any) -> Any:
            noticed.append("search-control looks at values in plain JAX")
            return function(*args, **options)

        return function and watching

    def step(key: Key) -> Any:
        state = compose(env, agent, model, strategy, training).init(key)
        scene = scene_of(env, agent, model, training, state, ring.newest(state.replay))
        looks = {name: watched(getattr(scene, name)) for name in ("value", "q", "target")}
        value = looks["value"]

        def climb(noise: Array, start: Array, criterion: Any = value, **how: Any) -> Any:
            reason = why_plain(criterion, value, env.project, how)
            noticed.append(reason and f"the climb is plain with {reason}")
            return jnp.broadcast_to(start, noise.shape), jnp.ones(len(noise), bool)

        scene = scene._replace(climb=climb, **looks)
        strategy.update(key, state.search_control, scene)
        return strategy.sample and strategy.sample(key, state.search_control, scene, 1)

    if isinstance(jax.eval_shape(step, jax.random.key(0)), Rows):
        noticed.append("planning is plain with whole transitions")
    return list(dict.fromkeys(filter(None, noticed)))


class Trainer:
    """All agents of a run, and the programs that move them."""

    def __init__(self, settings: list[Settings], seeds: list[int]) -> None:
        self.settings, self.seeds = settings, seeds
        self.agents = len(settings) * len(seeds)
        hosted = on_host(settings[0].environment) is not None
        self.mesh: Mesh = mesh_for(agents=1 if hosted else self.agents)
        self.sharding = NamedSharding(self.mesh, PartitionSpec("agents"))
        self.static, table = shared_program(settings)
        if self.static.training.kernels == "on":
            kernels_used(settings[0])  # raises where a part of it would be plain
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
        best = Best(self.agents)
        life = self.advance(life, start, progress, on_chunk, lambda life, step, now: None, best)
        return Run.of(progress, lambda: life, kept=lambda: best)

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
            start, life, progress = self.begin() if newest is None else self.go_on(store, newest)
            best = Best(self.agents) if newest is None else newest.best
            saving = Saving(store, progress, interrupted, best)
            life = self.advance(life, start, progress, on_chunk, saving, best)
            return Run.of(progress, lambda: life, store.folder, lambda: best)

    def begin(self) -> tuple[int, AgentLife, Progress]:
        """Step 0, new agents, and no curves yet."""
        life = self.programs.init(self.seed_of_agent, self.numbers)
        return 0, life, Progress(self.settings, self.seeds)

    def go_on(self, store: Store, saved: Saved) -> tuple[int, AgentLife, Progress]:
        """Step, agents and curves of a checkpoint; what the store has beyond it is removed."""
        progress = store.progress(until=saved.path)
        progress.settings = self.settings
        store.forget_after(saved.step)
        return saved.step, saved.life, progress

    def advance(
        self,
        life: AgentLife,
        start: int,
        progress: Progress,
        on_chunk: OnChunk,
        keep: Keep,
        best: Best | None = None,
    ) -> AgentLife:
        """Chunk after chunk, with an evaluation after each, in which some do `best`; what ends it
        early is saved first."""
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
            if best is not None:
                best.look(life, progress)
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

    def newest(self, store: Store) -> Saved | None:
        """The newest checkpoint that is whole; None if there is none."""
        paths = store.checkpoints()
        for number, path in enumerate(paths):
            try:
                arrays = store.read_checkpoint(path)
            except RunError as error:
                if number + 1 == len(paths):
                    raise
                warnings.warn(f"{error}; going on from the checkpoint before", stacklevel=2)
                continue
            best = Best.taken_from(arrays, self.agents)
            on_host = checkpoint.from_arrays(arrays, self.shapes)
            state = checkpoint.with_keys(spread_over(on_host, self.mesh), self.shapes)
            return Saved(step_of(path), state, best, path)
        return None
