"""What training leaves behind: curves, diagnostics and the final state of every agent."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

import jax
import numpy as np

from hcdyna.numerics.packing import at_hand
from hcdyna.runs.diagnosis import Diagnosis, diagnose
from hcdyna.runs.evaluating import evaluate
from hcdyna.runs.frames import frame_of
from hcdyna.runs.progress import Progress
from hcdyna.runs.trained import TrainedAgent
from hcdyna.settings import Settings
from hcdyna.settings.errors import RunError, SettingsError
from hcdyna.settings.plain import to_act
from hcdyna.settings.short import in_short
from hcdyna.settings.words import count

if TYPE_CHECKING:
    import pandas
    import polars
    from matplotlib.figure import Figure

    from hcdyna.runs.best import Best

What = Literal["curves", "diagnostics"]


def drawing() -> Any:
    """The module that draws: of a room above, which is named, as parts are, and not imported."""
    return importlib.import_module("hcdyna.figures.notebook")


@dataclass(frozen=True, repr=False)
class Run:
    """Curves and final states of all agents of one program."""

    settings: list[Settings]
    seeds: list[int]
    steps: np.ndarray
    """[evaluations]"""
    returns: np.ndarray
    """[settings, seeds, evaluations, episodes]"""
    lengths: np.ndarray
    """[settings, seeds, evaluations, episodes]"""
    info: list[dict[str, np.ndarray]]
    """One entry per evaluation, each [settings, seeds]."""
    diverged: np.ndarray
    """[settings, seeds, evaluations] whether an agent had diverged by then."""
    final: Callable[[], Any]
    """→ the final state (AgentLife) of all agents [agents, …]."""
    folder: Path | None = None
    """The folder of the run, if it has one."""
    kept: Callable[[], Best] | None = None
    """→ the best policies of all agents."""

    @staticmethod
    def of(
        progress: Progress,
        final: Callable[[], Any],
        folder: Path | None = None,
        kept: Callable[[], Best] | None = None,
    ) -> Run:
        """The run with the evaluations of this progress."""

        def stacked(entries: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
            return np.stack(entries, axis=2) if entries else np.zeros(shape)

        nothing = (*progress.shape, 0, progress.settings[0].evaluation.episodes)
        return Run(
            settings=progress.settings,
            seeds=progress.seeds,
            steps=np.array(progress.steps, np.int64),
            returns=stacked(progress.returns, nothing),
            lengths=stacked(progress.lengths, nothing),
            info=progress.info,
            diverged=stacked(progress.diverged, nothing[:3]).astype(bool),
            final=final,
            folder=folder,
            kept=kept,
        )

    @property
    def finished(self) -> bool:
        """Whether all steps were taken."""
        return len(self.steps) > 0 and self.steps[-1] >= self.settings[0].training.steps

    def __repr__(self) -> str:
        first = self.settings[0]
        several = len(self.settings)
        which = in_short(first) if several == 1 else f"{several} settings like {in_short(first)}"
        taken = f"{self.steps[-1] if len(self.steps) else 0:,} of {first.training.steps:,} steps"
        words = [which, count(len(self.seeds), "seed"), taken]
        if len(self.steps):
            words.append(f"return {self.returns[:, :, -1].mean():.1f}")
        return f"Run({'; '.join(words)})"

    def _repr_html_(self) -> str:
        return str(drawing().run_html(self))

    def plot(self, statistic: Literal["mean", "iqm"] = "mean") -> Figure:
        """The learning curves as a Matplotlib figure, which a notebook shows and `savefig` writes:
        mean or interquartile mean over seeds with its 95% interval, and each seed."""
        figure: Figure = drawing().plot_curves(self, statistic=statistic)
        return figure

    def mean_returns(self, setting: int = 0) -> np.ndarray:
        """[seeds, evaluations] mean return of each evaluation."""
        return self.returns[setting].mean(axis=-1)

    def curves(self) -> dict[str, np.ndarray]:
        """Tidy columns with a row per evaluation episode. They are setting, seed, step, episode,
        return, length, diverged."""
        shape = self.returns.shape
        setting, seed, evaluation, episode = (index.ravel() for index in np.indices(shape))
        return {
            "setting": setting,
            "seed": np.array(self.seeds, np.int64)[seed],
            "step": self.steps[evaluation],
            "episode": episode,
            "return": self.returns.ravel(),
            "length": self.lengths.ravel(),
            "diverged": self.diverged[setting, seed, evaluation],
        }

    def diagnostics(self) -> dict[str, np.ndarray]:
        """Tidy columns with a row per evaluation: setting, seed, step and what training reports.

        Numbers are means over the steps since the previous evaluation, NaN if there are none.
        """
        shape = self.returns.shape[:3]
        setting, seed, evaluation = (index.ravel() for index in np.indices(shape))
        columns = {
            "setting": setting,
            "seed": np.array(self.seeds, np.int64)[seed],
            "step": self.steps[evaluation],
        }
        blank = np.full(shape[:2], np.nan, np.float32)
        for name in sorted({name for entry in self.info for name in entry}):
            values = np.stack([entry.get(name, blank) for entry in self.info], axis=2)
            columns[name] = values.ravel()
        return columns

    @overload
    def frame(
        self, what: What = "curves", *, library: Literal["pandas"] = "pandas"
    ) -> pandas.DataFrame: ...

    @overload
    def frame(self, what: What = "curves", *, library: Literal["polars"]) -> polars.DataFrame: ...

    def frame(
        self, what: What = "curves", *, library: Literal["pandas", "polars"] = "pandas"
    ) -> Any:
        """The columns of `curves` or `diagnostics` as a data frame. The library must be installed,
        as by pip install 'hcdyna[pandas]'.

        >>> run.frame().groupby("step")["return"].mean()  # doctest: +SKIP
        """
        sources = {"curves": self.curves, "diagnostics": self.diagnostics}
        if what not in sources:
            raise SettingsError(f"what = {what!r}: must be one of {', '.join(sources)}")
        return frame_of(sources[what](), library)

    def state(self, seed: int, setting: int = 0) -> Any:
        """The final DynaState of one agent, on the host."""
        return self._state_and_scale(seed, setting)[0]

    def _state_and_scale(self, seed: int, setting: int) -> tuple[Any, Any]:
        index, life = self._index(seed, setting), self.final()
        return jax.tree.map(lambda x: at_hand(x[index]), (life.dyna, life.scale))

    def _index(self, seed: int, setting: int) -> int:
        """The number of an agent among all of them."""
        if seed not in self.seeds:
            known = ", ".join(map(str, self.seeds))
            raise SettingsError(f"seed = {seed!r}: must be one of this run's: {known}")
        self._demand_setting(setting)
        return setting * len(self.seeds) + self.seeds.index(seed)

    def _demand_setting(self, setting: int) -> None:
        if setting not in range(len(self.settings)):
            raise SettingsError(
                f"setting = {setting!r}: must be from 0 to {len(self.settings) - 1}"
            )

    def agent(self, seed: int | None = None, setting: int = 0) -> TrainedAgent:
        """One trained agent, ready to act; by default the first seed."""
        seed = self.seeds[0] if seed is None else seed
        state, scale = self._state_and_scale(seed, setting)
        about = f"seed {seed}" + (f" after {self.steps[-1]:,} steps" if len(self.steps) else "")
        return TrainedAgent(to_act(self.settings[setting]), state.agent, scale, about)

    def best(self, seed: int | None = None, setting: int = 0) -> TrainedAgent:
        """The agent as it was in the evaluation with the highest mean return, of one seed or, if
        none is named, of all of them."""
        if seed is None:
            self._demand_setting(setting)
            first = setting * len(self.seeds)
            mine = self._kept().returns[first : first + len(self.seeds)]
            seed = self.seeds[int(np.argmax(mine))]
        index = self._index(seed, setting)
        return self._kept(index).agent(index, self.settings[setting], seed)

    def _kept(self, *needed: int) -> Best:
        """The best policies of all agents; RunError if one that is needed has none."""
        best = None if self.kept is None else self.kept()
        if best is None or not best.policy:
            raise RunError(
                "no best policy was kept: no evaluation took place, or this run is older"
            )
        for index in needed:
            if not np.isfinite(best.returns[index]):
                seed = self.seeds[index % len(self.seeds)]
                raise RunError(f"seed {seed}: no evaluation had a finite return: none is the best")
        return best

    def evaluate(
        self, episodes: int = 20, epsilon: float | None = None, best: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Returns and lengths [settings, seeds, episodes] of new episodes of the final agents, or
        of the `best` policy of each."""
        settings = [to_act(each) for each in self.settings]
        if best:
            everyone = range(len(self.settings) * len(self.seeds))
            states, scale = self._kept(*everyone).states(settings[0])
        else:
            life = self.final()
            states, scale = life.dyna.agent, life.scale
        return evaluate(settings, self.seeds, states, episodes, epsilon, scale)

    def diagnose(self, setting: int = 0) -> Diagnosis:
        """Why planning did, or didn't, help the final agents of one setting: a table to print, its
        numbers, and the cause in one or two sentences."""
        self._demand_setting(setting)
        first, life = setting * len(self.seeds), self.final()
        lives = [
            jax.tree.map(lambda x, i=first + number: at_hand(x[i]), life)
            for number in range(len(self.seeds))
        ]
        return diagnose(to_act(self.settings[setting]), self.seeds, lives)
