"""Worlds as simple drawings that move: scenery once, then the parts that change with the state.

Each function draws a world on its axes and returns what moves, and a function that moves it.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from matplotlib.transforms import Affine2D

from hcdyna.environments import acrobot, cart_pole, mountain_car
from hcdyna.figures.pictures import draw_grid_world, variable_names
from hcdyna.settings import Settings

AGENT, METAL, GROUND, GOAL = "#1c7ed6", "#343a40", "#868e96", "#ffd24a"
WAY, POLE, FLAG = "#74b4ee", "#e8590c", "#f59f00"


class Moving(NamedTuple):
    """What changes from frame to frame."""

    artists: Sequence[Artist]
    move: Callable[[np.ndarray, int], None]
    """All states of an episode, and at which of them we are."""


def draw_world(axes: Axes, settings: Settings, example: np.ndarray | None, seen: Any) -> Moving:
    """The world of these settings; `example` is a picture, if the environment draws itself. `seen`
    [n, d] are the states to be shown, for the scale of worlds that are not known here."""
    if example is not None:
        return own_picture(axes, example)
    spec = settings.environment.build().spec
    name = spec.name.partition("-")[0]
    drawings = {
        "CartPole": draw_cart_pole,
        "Acrobot": draw_acrobot,
        "MountainCar": draw_mountain_car,
    }
    if draw_grid_world(axes, settings.environment):
        box(axes, (0, 1), (0, 1))
        return walker(axes, lambda states: states.T)
    if spec.table is not None and len(spec.table.lattice) == 2:
        return draw_cells(axes, spec.table.lattice, spec.table.terminal)
    if name in drawings:
        axes.set_aspect("equal")
        axes.set_axis_off()
        return drawings[name](axes)
    return draw_variables(axes, settings, seen)


def own_picture(axes: Axes, example: np.ndarray) -> Moving:
    """Pictures that the environment made; `move` is given them instead of states."""
    axes.set_axis_off()
    image = axes.imshow(example)
    return Moving([image], lambda pictures, at: image.set_data(pictures[at]))


def box(axes: Axes, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Limits and a frame without numbers."""
    axes.set(xlim=x, ylim=y, xticks=[], yticks=[])


def walker(axes: Axes, place: Callable[[np.ndarray], Any], bright: bool = False) -> Moving:
    """A dot with the way it came; `place` turns states into x and y."""
    colour, way = ("white", "white") if bright else (AGENT, WAY)
    edge = "black" if bright else "white"
    (line,) = axes.plot([], [], color=way, linewidth=1.6, zorder=6)
    look = {"color": colour, "markeredgecolor": edge, "markersize": 10, "clip_on": False}
    (dot,) = axes.plot([], [], "o", zorder=7, **look)  # type: ignore[arg-type]

    def move(states: np.ndarray, at: int) -> None:
        x, y = place(states[: at + 1])
        line.set_data(x, y)
        dot.set_data(x[-1:], y[-1:])

    return Moving([line, dot], move)


def draw_cells(axes: Axes, lattice: tuple[int, ...], terminal: np.ndarray) -> Moving:
    """A lattice of cells, with those where episodes end."""
    columns, rows = lattice
    box(axes, (-0.5, columns - 0.5), (-0.5, rows - 0.5))
    axes.set_aspect("equal")
    axes.hlines(np.arange(rows) - 0.5, -0.5, columns - 0.5, color="#dee2e6", linewidth=0.6)
    axes.vlines(np.arange(columns) - 0.5, -0.5, rows - 0.5, color="#dee2e6", linewidth=0.6)
    for state in np.flatnonzero(terminal):
        column, row = np.unravel_index(state, lattice)
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, color=GOAL))
    return walker(axes, lambda states: np.unravel_index(states, lattice))


def draw_mountain_car(axes: Axes) -> Moving:
    """The valley, the flag and the car. The height is that of Gymnasium's drawing."""

    def height(x: Any) -> Any:
        return 0.45 * np.sin(3 * x) + 0.55

    x = np.linspace(mountain_car.LOW[0], mountain_car.HIGH[0], 200)
    axes.fill_between(x, -0.1, height(x), color="#dee2e6", linewidth=0)
    axes.plot(x, height(x), color=GROUND, linewidth=2)
    goal = mountain_car.GOAL_POSITION
    axes.plot([goal, goal], [height(goal), height(goal) + 0.22], color=METAL, linewidth=2)
    axes.fill([goal, goal + 0.1, goal], height(goal) + np.array([0.22, 0.18, 0.14]), color=FLAG)
    axes.set(xlim=(-1.25, 0.65), ylim=(-0.1, 1.35))
    body = axes.add_patch(Rectangle((-0.075, 0.03), 0.15, 0.06, color=AGENT, zorder=5))
    wheels = axes.plot([], [], "o", color=METAL, markersize=7, zorder=6)

    def move(states: np.ndarray, at: int) -> None:
        here = float(states[at][0])
        angle = np.arctan(1.35 * np.cos(3 * here))
        place = Affine2D().rotate(angle).translate(here, height(here))
        body.set_transform(place + axes.transData)
        wheels[0].set_data(*place.transform([[-0.045, 0.025], [0.045, 0.025]]).T)

    return Moving([body, *wheels], move)


def draw_cart_pole(axes: Axes) -> Moving:
    """The track up to where an episode ends, the cart and the pole."""
    edge, length = cart_pole.MAX_POSITION, 2 * cart_pole.HALF_LENGTH
    axes.plot([-edge, edge], [0, 0], color=GROUND, linewidth=2)
    axes.vlines([-edge, edge], -0.1, 0.1, color=GROUND, linewidth=2)
    axes.set(xlim=(-edge - 0.4, edge + 0.4), ylim=(-0.8, 1.7))
    cart = Rectangle((0, -0.12), 0.5, 0.24, color=METAL, zorder=4)
    axes.add_patch(cart)
    (pole,) = axes.plot([], [], color=POLE, linewidth=6, solid_capstyle="round", zorder=5)
    (axle,) = axes.plot([], [], "o", color="white", markersize=4, zorder=6)

    def move(states: np.ndarray, at: int) -> None:
        position, angle = float(states[at][0]), float(states[at][2])
        cart.set_x(position - 0.25)
        top = position + length * np.sin(angle), 0.08 + length * np.cos(angle)
        pole.set_data([position, top[0]], [0.08, top[1]])
        axle.set_data([position], [0.08])

    return Moving([cart, pole, axle], move)


def draw_acrobot(axes: Axes) -> Moving:
    """The two links, and the line that the tip has to come above."""
    reach = 2 * acrobot.LENGTH + 0.3
    axes.plot([-reach, reach], [acrobot.LENGTH] * 2, "--", color=FLAG, linewidth=1.6)
    axes.text(reach, 1.05, "goal", ha="right", color=METAL)
    axes.set(xlim=(-reach, reach), ylim=(-reach, reach))
    (links,) = axes.plot([], [], color=AGENT, linewidth=6, solid_capstyle="round", zorder=5)
    (joints,) = axes.plot([], [], "o", color=METAL, markersize=9, zorder=6)

    def move(states: np.ndarray, at: int) -> None:
        cos1, sin1, cos2, sin2 = (float(x) for x in states[at][:4])
        elbow = np.array([sin1, -cos1]) * acrobot.LENGTH
        tip = elbow + np.array([sin1 * cos2 + cos1 * sin2, sin1 * sin2 - cos1 * cos2])
        points = np.array([[0.0, 0.0], elbow, tip])
        links.set_data(*points.T)
        joints.set_data(*points[:2].T)

    return Moving([links, joints], move)


def draw_variables(axes: Axes, settings: Settings, seen: np.ndarray) -> Moving:
    """A world that nothing is known of: a dot for each variable, between its bounds."""
    spec = settings.environment.build().spec
    rows = seen.reshape(len(seen), -1)
    bounded = (
        np.isfinite(spec.low) & np.isfinite(spec.high) & (spec.high - spec.low < 1e6)
    ).ravel()
    low = np.where(bounded, spec.low.ravel(), rows.min(axis=0))
    width = np.where(bounded, spec.high.ravel(), rows.max(axis=0)) - low
    width = np.where(width > 0, width, 1.0)
    places = np.arange(rows.shape[1])
    box(axes, (-0.05, 1.05), (places[-1] + 0.6, -0.6))
    axes.hlines(places, 0, 1, color="#ced4da", linewidth=3)
    axes.set_yticks(places, variable_names(settings))
    axes.set_xticks([0, 1], ["lowest", "highest"])
    (dots,) = axes.plot([], [], "o", color=AGENT, markersize=10, zorder=5)

    def move(states: np.ndarray, at: int) -> None:
        dots.set_data((states[at].ravel() - low) / width, places)

    return Moving([dots], move)
