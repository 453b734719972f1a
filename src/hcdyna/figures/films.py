"""Frames as a film: GIF by Pillow, or MP4 where imageio-ffmpeg is installed."""

import importlib
import importlib.util
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageColor

from hcdyna.figures.worlds import AGENT, FLAG, GOAL, GROUND, METAL, POLE, WAY
from hcdyna.numerics.files import explained, write
from hcdyna.settings.errors import SettingsError

FORMATS = (".gif", ".mp4")
FASTEST = 50
"""Frames per second of a GIF that browsers still show as such."""
PAUSE = 1.0
"""Seconds that the last frame is held for."""
COLOURS = 256
KEPT = ("#ffffff", "#000000", AGENT, WAY, METAL, GROUND, GOAL, POLE, FLAG)


def checked(path: str | Path, fps: int) -> Path:
    """The path, if a film can be written there; said before anything is computed."""
    path = Path(path)
    if path.suffix not in FORMATS:
        raise SettingsError(f"{path}: the name of a film must end in {' or '.join(FORMATS)}")
    if not 1 <= fps <= FASTEST:
        raise SettingsError(f"fps = {fps}: must be from 1 to {FASTEST}")
    if path.suffix == ".mp4" and importlib.util.find_spec("imageio_ffmpeg") is None:
        raise SettingsError(
            f"{path}: MP4 needs imageio-ffmpeg; pip install 'hcdyna[render]', or write a .gif"
        )
    return path


def write_film(path: Path, frames: Iterable[np.ndarray], fps: int) -> None:
    """Write frames [height, width, 3] as the kind of film that the name says."""
    every = list(frames)
    with explained(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gif":
        write(path, gif(every, fps))
    else:
        write_mp4(path, every, fps)


def gif(frames: list[np.ndarray], fps: int) -> bytes:
    """All frames share one palette: with their own, the scenery would flicker."""
    palette = palette_of([frames[i] for i in sorted({0, len(frames) // 2, len(frames) - 1})])
    images = [
        Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE)
        for frame in frames
    ]
    # GIF counts in hundredths of a second.
    duration = [max(round(100 / fps), 2) * 10] * len(images)
    duration[-1] += int(1000 * PAUSE)
    content = io.BytesIO()
    images[0].save(
        content, "GIF", save_all=True, append_images=images[1:], duration=duration, loop=0
    )
    return content.getvalue()


def palette_of(examples: list[np.ndarray]) -> Image.Image:
    """Colours that these frames need; those of small things, which would be lost, are given."""
    common = Image.fromarray(np.concatenate(examples)).quantize(COLOURS - len(KEPT))
    found = (common.getpalette() or [])[: 3 * (COLOURS - len(KEPT))]
    palette = Image.new("P", (1, 1))
    palette.putpalette([x for colour in KEPT for x in ImageColor.getrgb(colour)] + found)
    return palette


def write_mp4(path: Path, frames: list[np.ndarray], fps: int) -> None:
    """H.264, which every browser plays."""
    ffmpeg: Any = importlib.import_module("imageio_ffmpeg")
    height, width = frames[0].shape[:2]
    with explained(path.parent):
        writer = ffmpeg.write_frames(str(path), (width, height), fps=fps, macro_block_size=2)
        writer.send(None)
        for frame in frames + [frames[-1]] * int(PAUSE * fps):
            writer.send(np.ascontiguousarray(frame))
        writer.close()
