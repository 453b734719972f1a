"""hcdyna watch"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from hcdyna.cli.options import RunFolder, parse
from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import MOST, number


@dataclass(frozen=True)
class Watch:
    """Record an episode of a trained agent: the environment beside its value estimate.

    RUN is a run folder, or the .safetensors file of one agent.
    """

    run: RunFolder
    seed: int | None = number(None, at_least=0, at_most=2**32 - 1)
    """Which agent; by default the first."""
    setting: int = number(0, at_least=0, at_most=MOST)
    """Which setting, if the run has several."""
    best: bool = False
    """The agent of the best evaluation; of all seeds unless --seed is given."""
    out: Path = Path("episode.gif")
    """The film: .gif, or .mp4 if imageio-ffmpeg is installed."""
    fps: int = number(30, at_least=1, at_most=50)
    """Frames per second."""
    episodes: int = number(1, at_least=1, at_most=100)
    """Episodes to show, one after the other."""
    epsilon: float | None = number(None, at_least=0, at_most=1)
    """Share of random actions; by default that of the run's evaluations."""


def main(arguments: Sequence[str]) -> None:
    options = parse(Watch, arguments, "watch")
    from hcdyna.cli.show import load_agents
    from hcdyna.figures.films import checked
    from hcdyna.figures.watch import watch
    from hcdyna.runs.trained import TrainedAgent
    from hcdyna.training.load import load

    out = checked(options.out, options.fps)
    agent, note = load_agents(options.run, load), ""
    if not isinstance(agent, TrainedAgent):
        find = agent.best if options.best else agent.agent
        agent = find(options.seed, options.setting)
        note = f", {agent.about}"
    elif options.best:
        raise SettingsError("watch: --best: needs a run folder; this is one agent")
    print(watch(agent, out, options.episodes, options.fps, epsilon=options.epsilon, note=note))
