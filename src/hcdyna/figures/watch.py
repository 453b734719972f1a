"""Episodes of a trained agent as a film: the world, and beside it what the agent thinks of it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure

from hcdyna.figures.curves import tidy
from hcdyna.figures.films import checked, write_film
from hcdyna.figures.pictures import draw_grid_world, draw_heights
from hcdyna.figures.worlds import AGENT, Moving, box, draw_world, walker
from hcdyna.runs.playing import Episode, play
from hcdyna.runs.trained import TrainedAgent
from hcdyna.settings import Settings, registry
from hcdyna.settings.errors import SettingsError

MOST = 300
"""Frames of a film; longer episodes are shown in larger steps."""
POINTS = 101
"""Points along each side of the value surface."""
MARGIN = 0.03
"""Of the range of values, above and below their curve."""


def watch(
    agent: TrainedAgent,
    path: str | Path = "episode.gif",
    episodes: int = 1,
    fps: int = 30,
    seed: int = 0,
    epsilon: float | None = None,
    note: str = "",
) -> Path:
    """Let an agent play and write what happens as a GIF, or as MP4 where imageio-ffmpeg is.

    Left is the world. Right is the value surface with the agent on it where states have two
    dimensions, or else the value over the steps of the episode. `note` is added to the title.
    """
    path = checked(path, fps)
    if episodes < 1:
        raise SettingsError(f"episodes = {episodes}: must be at least 1")
    share = max(MOST // episodes, 2)
    found = [play(agent, (seed, n), epsilon, pictures=share) for n in range(episodes)]
    write_film(path, frames(agent, found, title_of(agent.settings) + note), fps)
    return path


def frames(agent: TrainedAgent, episodes: list[Episode], title: str) -> Iterator[np.ndarray]:
    """Pictures [height, width, 3] of all episodes, one after the other. The scenery is drawn once;
    each frame adds what has moved, which takes a tenth of the time."""
    figure = Figure(figsize=(9, 4.5), dpi=100, layout="constrained")
    canvas = FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    figure.suptitle(title, size="medium")
    caption = left.set_title(" ", size="small", family="monospace", animated=True)
    everything = np.concatenate([episode.states for episode in episodes])
    pictures = next(iter(episodes[0].pictures.values()), None)
    world = draw_world(left, agent.settings, pictures, everything)
    values = [agent.value(episode.states) for episode in episodes]
    thought, follows_states = draw_thought(right, agent, values)
    for artist in (*world.artists, *thought.artists):
        artist.set_animated(True)
        artist.set_in_layout(False)
    canvas.draw()
    scenery = canvas.copy_from_bbox(figure.bbox)
    for number, at in moments(episodes):
        episode = episodes[number]
        world.move(episode.states if pictures is None else episode.pictures, at)  # type: ignore[arg-type]
        thought.move(episode.states if follows_states else values[number], at)
        which = f"episode {number + 1} of {len(episodes)}, " if len(episodes) > 1 else ""
        caption.set_text(f"{which}step {at:,}, return {episode.rewards[:at].sum():,.1f}")
        canvas.restore_region(scenery)
        for axes, artists in ((left, (*world.artists, caption)), (right, thought.artists)):
            for artist in artists:
                axes.draw_artist(artist)
        yield np.asarray(canvas.buffer_rgba())[..., :3].copy()


def moments(episodes: list[Episode]) -> list[tuple[int, int]]:
    """Which steps of which episode to show: evenly spaced, with the ends of every episode."""
    share = max(MOST // len(episodes), 2)
    chosen = []
    for number, episode in enumerate(episodes):
        steps = np.array(sorted(episode.pictures) or range(len(episode.states)))
        places = np.linspace(0, len(steps) - 1, min(share, len(steps))).round().astype(int)
        chosen += [(number, int(step)) for step in steps[places]]
    return chosen


def draw_thought(axes: Axes, agent: TrainedAgent, values: list[np.ndarray]) -> tuple[Moving, bool]:
    """What the agent thinks, and whether that moves with states or with values."""
    spec = agent.spec
    if spec.table is not None and len(spec.table.lattice) == 2:
        lattice = spec.table.lattice
        heights = agent.value(np.arange(spec.num_states or 0)).reshape(lattice)
        image = axes.imshow(heights.T, origin="lower", cmap="viridis")
        colour_bar(axes, image)
        axes.set(xticks=[], yticks=[])
        return walker(axes, lambda states: np.unravel_index(states, lattice), bright=True), True
    if spec.low.shape == (2,) and np.isfinite([spec.low, spec.high]).all():
        draw_surface(axes, agent)
        return walker(axes, lambda states: states.T, bright=True), True
    return draw_values(axes, values), False


def draw_surface(axes: Axes, agent: TrainedAgent) -> None:
    """V̂ over the box of two-dimensional states."""
    low, high = agent.spec.low, agent.spec.high
    x, y = (np.linspace(low[i], high[i], POINTS, dtype=np.float32) for i in (0, 1))
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    heights = agent.value(grid.reshape(-1, 2)).reshape(POINTS, POINTS)
    mesh = draw_heights(axes, agent.settings, heights)
    if mesh is not None:
        colour_bar(axes, mesh)
    if draw_grid_world(axes, agent.settings.environment):
        box(axes, (0, 1), (0, 1))


def colour_bar(axes: Axes, values: ScalarMappable) -> None:
    """Beside the axes and as high as they are, whatever their aspect."""
    place = axes.inset_axes((1.03, 0.0, 0.045, 1.0))
    axes.figure.colorbar(values, cax=place, label="V̂(s)")


def draw_values(axes: Axes, values: list[np.ndarray]) -> Moving:
    """V̂ of the states so far, over the steps."""
    everything = np.concatenate(values)
    sound = everything[np.isfinite(everything)]
    low, high = (float(sound.min()), float(sound.max())) if len(sound) else (0.0, 0.0)
    margin = max(high - low, 1e-3) * MARGIN
    axes.set(xlim=(0, max(map(len, values)) - 1 or 1), ylim=(low - margin, high + margin))
    axes.set(xlabel="step", ylabel="V̂(s)")
    tidy(axes)
    (line,) = axes.plot([], [], color=AGENT, linewidth=1.6)
    (dot,) = axes.plot([], [], "o", color=AGENT, markeredgecolor="white", clip_on=False)

    def move(series: np.ndarray, at: int) -> None:
        line.set_data(np.arange(at + 1), series[: at + 1])
        dot.set_data([at], series[at : at + 1])

    return Moving([line, dot], move)


def title_of(settings: Settings) -> str:
    """Who plays where."""
    agent = registry.name_of("agents", settings.agent)
    strategy = registry.name_of("search_control", settings.search_control)
    return f"{settings.environment.build().spec.name}: {agent} with {strategy}"
