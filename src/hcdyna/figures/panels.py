"""What the first agent of each run sees as it learns: the snapshots, packed for a page.

Positions and heights are packed as 16 bits a number within their range, which is finer than a
screen, so that twenty snapshots of several runs stay a small file.
"""

import base64
from typing import Any

import numpy as np

from hcdyna.environments import grid_world
from hcdyna.environments.variables import named_variables
from hcdyna.figures.curves import Curve
from hcdyna.runs.store import Store
from hcdyna.settings import Settings, registry

MOST_PANELS = 4
"""Runs to show: a page must not grow too large, nor have too many 3-D drawings."""
MOST_VARIABLES = 12
"""Variables of a state to choose from."""
LARGEST = 65_534
MISSING = 65_535
"""Stands for a number that is not finite."""


def panels(curves: list[Curve]) -> list[dict[str, Any]]:
    """One for each run that has snapshots of states with at least two variables."""
    found: list[dict[str, Any]] = []
    for curve in curves:
        if curve.setting == 0 and curve.run.folder is not None and len(found) < MOST_PANELS:
            taken = Store.open(curve.run.folder).snapshots()
            if taken and next(iter(taken.values()))["replay"].ndim == 2:
                found.append(panel(curve, taken))
    return found


def panel(curve: Curve, taken: dict[int, dict[str, np.ndarray]]) -> dict[str, Any]:
    """The snapshots of one run; a surface if the state space is a finite box of two dimensions."""
    last = list(taken.values())[-1]
    box = box_of(curve.settings, last)
    surface = box is not None and all("values" in shot for shot in taken.values())
    kinds = ("replay", "queue", "climbs") if surface else ("replay", "queue")
    everything = [shot[kind] for shot in taken.values() for kind in kinds if kind in shot]
    if box is not None and surface:
        everything += [box]
    size = last["replay"].shape[-1]
    low, high = limits(np.concatenate([x.reshape(-1, size) for x in everything]))
    low, high = low[:MOST_VARIABLES], high[:MOST_VARIABLES]
    shots = []
    for step, shot in taken.items():
        packed: dict[str, Any] = {"step": step}
        for kind in kinds:
            if kind in shot:
                packed[kind] = pack(shot[kind][..., :MOST_VARIABLES], low, high)
        if surface:
            bottom, top = limits(shot["values"].reshape(-1, 1))
            packed["values"] = pack(shot["values"].reshape(-1, 1), bottom, top)
            packed |= {"bottom": bottom[0], "top": top[0]}
        shots.append(packed)
    return {
        "label": curve.label,
        "seed": curve.run.seeds[0],
        "variables": named_variables(curve.settings.environment, size)[:MOST_VARIABLES],
        "low": low.tolist(),
        "high": high.tolist(),
        "surface": surface,
        "grid": len(last["values"]) if surface else 0,
        "climbs": len(last["climbs"]) if surface else 0,
        "marks": marks(curve.settings) if surface else [],
        "snapshots": shots,
    }


def box_of(settings: Settings, snapshot: dict[str, np.ndarray]) -> np.ndarray | None:
    """The lowest and highest state [2, d]; None where there are no bounds, or none are known."""
    if "low" in snapshot:
        box = np.stack([snapshot["low"], snapshot["high"]])
    elif registry.is_ours(settings.environment):  # a snapshot of before they held the box
        spec = settings.environment.build().spec
        box = np.stack([spec.low, spec.high])
    else:
        return None
    return box if np.isfinite(box).all() else None


def limits(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest finite number of each column [rows, d]."""
    finite = np.isfinite(x)
    low = np.min(x, axis=0, initial=np.inf, where=finite).astype(np.float64)
    high = np.max(x, axis=0, initial=-np.inf, where=finite).astype(np.float64)
    known = finite.any(axis=0)
    return np.where(known, low, 0.0), np.where(known, high, 1.0)


def pack(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> str:
    """Numbers [..., d] as base64 of unsigned 16 bits between `low` and `high` [d]."""
    width = np.where(high > low, high - low, 1.0)
    share = np.clip((x - low) / width, 0, 1)
    numbers = np.where(np.isfinite(x), np.rint(np.nan_to_num(share) * LARGEST), MISSING)
    return base64.b64encode(numbers.astype("<u2").tobytes()).decode()


def marks(settings: Settings) -> list[dict[str, Any]]:
    """Outlines of what stands in the world: name, colour and corners."""
    colours = {"start": "#2f9e44", "goal": "#e8590c", "wall": "#343a40"}
    found = []
    for name, left, right, bottom, top in grid_world.regions(settings.environment):
        corners = [[left, bottom], [right, bottom], [right, top], [left, top], [left, bottom]]
        found.append({"name": name, "colour": colours[name], "corners": corners})
    return found
