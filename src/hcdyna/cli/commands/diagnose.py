"""hcdyna diagnose"""

from collections.abc import Sequence
from dataclasses import dataclass

from hcdyna.cli.options import RunFolders, parse
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import MOST, number
from hcdyna.settings.words import count


@dataclass(frozen=True)
class Diagnose:
    """Find out why planning did or didn't help. Checks the trained agents of a run: their model,
    the states they plan from, and their values.

    One column is about visited states (the whole replay buffer), the other about planned states,
    drawn as planning draws them. Errors of the next state are relative to the real change: 0 is
    perfect, and 1 is no better than predicting no change. The planned column needs true outcomes,
    so parts of it are unknown on a Gymnasium environment.

    The last lines name the cause, the first of these that applies: nothing was planned, values
    diverged, the model misses or imagines ends of episodes, predicts wrong next states or rewards,
    is uncertain about most planned states or wrong only there, nearly all steps were warm-up, the
    agent has hardly learned, or values are impossible. Otherwise the model is sound. For example:

      hcdyna diagnose runs/mine            hcdyna diagnose runs/a runs/b
    """

    runs: RunFolders
    setting: int | None = number(None, at_least=0, at_most=MOST)
    """Which setting, if the run has several; by default all."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Diagnose, arguments, "diagnose")
    if not options.runs:
        raise SettingsError("diagnose: name at least one run folder")
    from hcdyna.cli.output import show
    from hcdyna.cli.show import load_agents
    from hcdyna.settings import registry

    runs = [load_agents(folder) for folder in options.runs]
    for run, folder in zip(runs, options.runs, strict=True):
        every = range(len(run.settings)) if options.setting is None else [options.setting]
        for setting in every:
            found = run.diagnose(setting)
            which = f", setting {setting}" if len(run.settings) > 1 else ""
            settings = run.settings[setting]
            parts = ", ".join(
                registry.name_of(group, getattr(settings, choice))
                for choice, group in (
                    ("agent", "agents"),
                    ("model", "models"),
                    ("search_control", "search_control"),
                )
            )
            steps = count(int(found.measured.steps.max()), "step")
            world = registry.title_of(settings.environment)
            agents = count(len(run.seeds), "agent")
            show(f"{folder}{which}: {parts} on {world}; {agents} after {steps}", "", str(found), "")
