"""Pictures of a world in the unit square: its regions, the agent and the way it came."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont

SIDE = 512
"""Height and width of a picture, in pixels."""
MARGIN = 28
"""Around the unit square, for the labels."""
FINER = 2
"""Drawn so much larger and then reduced, since Pillow draws edges without smoothing."""
RADIUS = 7.0
"""Of the agent, in pixels, where cells don't force it to be smaller."""

PAPER, FLOOR, FRAME, CELLS = "#f1f3f5", "#ffffff", "#495057", "#e3e7eb"
AGENT, RING, PATH_START, PATH_END = "#1c7ed6", "#ffffff", "#c9e1f7", "#4a9be0"
WALL, START, GOAL, TEXT = "#495057", "#8ce99a", "#ff922b", "#495057"


class Region(NamedTuple):
    """A rectangle in the unit square, and a name to be written beside it."""

    corners: tuple[float, float, float, float]
    """Left, bottom, right, top."""
    colour: str
    label: str = ""


def pixel(x: float, y: float) -> tuple[float, float]:
    """The column and row at which a point of the unit square is drawn."""
    inside = SIDE - 2 * MARGIN
    return MARGIN + x * inside, SIDE - MARGIN - y * inside


class Picture:
    """What never changes is drawn once; a frame adds the path and the agent."""

    def __init__(self, regions: Sequence[Region], cells: int = 0) -> None:
        self._radius = RADIUS
        if cells:
            self._radius = max(min(RADIUS, 0.36 * (SIDE - 2 * MARGIN) / cells), 3.0)
        self._background = Image.new("RGB", (FINER * SIDE, FINER * SIDE), PAPER)
        draw = ImageDraw.Draw(self._background)
        draw.rectangle(_box(0, 0, 1, 1), FLOOR)
        for region in regions:
            draw.rectangle(_box(*region.corners), region.colour)
        for line in range(1, cells):
            at = line / cells
            draw.line([_fine(at, 0), _fine(at, 1)], CELLS, FINER)
            draw.line([_fine(0, at), _fine(1, at)], CELLS, FINER)
        left, top, right, bottom = _box(0, 0, 1, 1)
        width = 2 * FINER
        outside = (left - width, top - width, right + width, bottom + width)
        draw.rectangle(outside, outline=FRAME, width=width)
        for region in regions:
            _write(draw, region)

    def frame(self, path: Iterable[tuple[float, float]]) -> np.ndarray:
        """[512, 512, 3] with the agent at the last point of the path."""
        image = self._background.copy()
        draw = ImageDraw.Draw(image)
        points = [_fine(x, y) for x, y in path]
        for colour, ends in zip(_fading(len(points) - 1), pairwise(points), strict=True):
            draw.line(ends, colour, 3 * FINER)
            draw.circle(ends[1], 3 * FINER, colour)
        if points:
            draw.circle(points[-1], FINER * (self._radius + 2), RING)
            draw.circle(points[-1], FINER * self._radius, AGENT)
        return np.array(image.reduce(FINER))


def _fine(x: float, y: float) -> tuple[float, float]:
    column, row = pixel(x, y)
    return FINER * column, FINER * row


def _box(left: float, bottom: float, right: float, top: float) -> tuple[float, float, float, float]:
    """The corners as Pillow wants them: top left, then bottom right, which it includes."""
    (x0, y0), (x1, y1) = _fine(left, top), _fine(right, bottom)
    return x0, y0, x1 - 1, y1 - 1


def _write(draw: ImageDraw.ImageDraw, region: Region) -> None:
    """The label outside the frame, above or below the region, flush with its outer edge."""
    left, bottom, right, top = region.corners
    at_left, at_bottom = left + right < 1, bottom + top < 1
    column, row = _fine(0 if at_left else 1, 0 if at_bottom else 1)
    row += FINER * (5 if at_bottom else -5)
    anchor = ("l" if at_left else "r") + ("a" if at_bottom else "d")
    font = ImageFont.load_default(15 * FINER)
    draw.text((column, row), region.label, TEXT, font, anchor)


def _fading(n: int) -> list[tuple[int, ...]]:
    """Colours of the n pieces of a path, from oldest to newest."""
    old, new = (np.array(ImageColor.getrgb(colour)) for colour in (PATH_START, PATH_END))
    shares = np.linspace(0, 1, max(n, 0))[:, None]
    return [tuple(colour) for colour in np.rint(old + shares * (new - old)).astype(int).tolist()]
