"""Progress of a training as people see it: a bar in a terminal or in a notebook."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from hcdyna.callbacks import Pace, brief
from hcdyna.runs.progress import Progress
from hcdyna.settings import Settings

COMPILING = "compiling …"


@contextlib.contextmanager
def following(
    settings: Settings, agents: int, wanted: bool = True, said: str = ""
) -> Iterator[Callable[[Progress], Any]]:
    """A function to call after every evaluation, which moves a bar; it does nothing if it isn't
    `wanted`, or the output goes neither to a terminal nor to a notebook. `said` stands above."""
    if wanted and in_notebook():
        form = notebook_bar
    elif wanted and sys.stdout is not None and sys.stdout.isatty():
        form = bar
    else:
        yield lambda progress: None
        return
    if said:
        print(said, flush=True)
    with form(settings, agents) as on_chunk:
        yield on_chunk


@contextlib.contextmanager
def bar(
    settings: Settings, agents: int, console: Console | None = None
) -> Iterator[Callable[[Progress], Any]]:
    """In a terminal: steps, steps/s of all agents together, the return, time taken and left."""
    columns = (
        TextColumn("{task.completed:>7,.0f} of {task.total:,.0f} steps"),
        BarColumn(bar_width=16),
        TextColumn("{task.fields[speed]}"),
        TextColumn("{task.fields[outcome]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    speed_of = speed(settings, agents)
    with Bar(*columns, console=console) as shown:
        task = shown.add_task("", total=settings.training.steps, speed=COMPILING, outcome="")

        def on_chunk(progress: Progress) -> None:
            now, pace = progress.steps[-1], speed_of(progress)
            shown.update(task, completed=now, speed=pace, outcome=brief(progress), refresh=True)

        yield on_chunk


def speed(settings: Settings, agents: int) -> Callable[[Progress], str]:
    """Steps/s of all agents together, in words, or that the next program is being compiled."""
    pace = Pace()

    def in_words(progress: Progress) -> str:
        now = pace.of(progress) * agents
        begins = learning_begins(settings, progress.steps[-1])
        return COMPILING if begins else f"{now:,.0f} steps/s"

    return in_words


def learning_begins(settings: Settings, now: int) -> bool:
    """Whether the first learning step, and so the compilation of its program, comes between the
    evaluation after `now` steps and the next one."""
    training = settings.training
    return now <= training.warmup < min(now + settings.evaluation.every, training.steps)


def in_notebook() -> bool:
    """Whether a Jupyter kernel runs this, and so shows what is given to `IPython.display`."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module is not None else None
    return getattr(shell, "kernel", None) is not None


@contextlib.contextmanager
def notebook_bar(settings: Settings, agents: int) -> Iterator[Callable[[Progress], Any]]:
    """As `bar`, as HTML that changes in place; rich would need ipywidgets for that, whose output
    is lost when a notebook is saved."""
    from IPython.display import display

    total, speed_of, begun = settings.training.steps, speed(settings, agents), time.monotonic()
    handle: Any = display(NotebookBar(0, total, COMPILING), display_id=True)

    def on_chunk(progress: Progress) -> None:
        taken = time.monotonic() - begun
        said = f"{speed_of(progress)} · {brief(progress)} · {taken:,.0f} s"
        handle.update(NotebookBar(progress.steps[-1], total, said))

    yield on_chunk


class NotebookBar:
    """A bar with words behind it."""

    def __init__(self, now: int, total: int, said: str) -> None:
        self.now, self.total, self.said = now, total, said

    def __repr__(self) -> str:
        return f"{self.now:,} of {self.total:,} steps · {self.said}"

    def _repr_html_(self) -> str:
        return f'<progress value="{self.now}" max="{self.total}"></progress> {self}'
