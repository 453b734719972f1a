"""The values of a number in a study: a list, a range, or a range in equal ratios."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hcdyna.settings.errors import SettingsError
from hcdyna.settings.fields import settled, shown
from hcdyna.settings.hints import did_you_mean

KEYS = ("from", "to", "count", "step", "scale")
SCALES = ("linear", "log")
MOST = 100_000


def values(path: str, given: Any) -> list[Any]:
    """All values of a setting.

    >>> values("training.epsilon", {"from": 0, "to": 0.4, "count": 3})
    [0.0, 0.2, 0.4]
    >>> values("agent.learning_rate", {"from": 1e-4, "to": 1e-2, "count": 3, "scale": "log"})
    [0.0001, 0.001, 0.01]
    >>> values("training.planning_steps", {"from": 1, "to": 10, "step": 3})
    [1, 4, 7, 10]
    """
    if isinstance(given, Mapping) and not {"name", "part"} & set(given):
        return in_range(path, given)
    if not isinstance(given, list | tuple):
        return [given]
    if not given:
        raise SettingsError(f"vary: {path} = []: must have at least one value")
    if repeats(given):
        raise SettingsError(f"vary: {path} = {shown(given)}: must all be different")
    return list(given)


def native(given: Any, known: dict[int, Any] | None = None) -> Any:
    """The same in lists, dicts and numbers of Python, as files hold them: 1 for np.int64(1). What
    is `known` is not made again: a few lines of YAML can name a list millions of times."""
    known = {} if known is None else known
    if id(given) in known:
        return known[id(given)]
    if isinstance(given, Mapping):
        made: Any = {key: native(value, known) for key, value in given.items()}
    elif isinstance(given, list | tuple | range):
        made = [native(value, known) for value in given]
    else:
        return given.tolist() if isinstance(given, np.ndarray | np.generic) else given
    known[id(given)] = made
    return made


def repeats(given: Sequence[Any]) -> bool:
    """Whether a value is there twice."""
    try:
        return len(set(given)) < len(given)
    except TypeError:  # parts with options
        return any(x == y for i, x in enumerate(given) for y in given[:i])


def in_range(path: str, given: Mapping[str, Any]) -> list[Any]:
    low, high = bounds(f"vary: {path}", given)
    log = given.get("scale") == "log"
    if ("count" in given) == ("step" in given) or (log and "step" in given):
        raise SettingsError(f"vary: {path}: a range needs a count, or a step if it is linear")
    if "step" in given:
        step = number(f"vary: {path}: step", given["step"])
        if step <= 0 or (high - low) / step > MOST:
            raise SettingsError(f"vary: {path}: step = {step}: must be above 0, and not as small")
        return [rounded(low + i * step) for i in range(math.floor((high - low) / step + 1e-9) + 1)]
    count = settled(given["count"], int)
    if type(count) is not int or not 2 <= count <= MOST:
        raise SettingsError(
            f"vary: {path}: count = {shown(count)}: must be a whole number from 2 to {MOST}"
        )
    if log:
        ratio = math.log(high / low)
        return [rounded(low * math.exp(ratio * i / (count - 1))) for i in range(count)]
    return [rounded(low + (high - low) * i / (count - 1)) for i in range(count)]


def bounds(what: str, given: Mapping[str, Any]) -> tuple[float, float]:
    """Both ends of a range, checked."""
    for key in given:
        if key not in KEYS:
            hint = did_you_mean(str(key), KEYS)
            raise SettingsError(f"{what}: unknown key {shown(key)}: {hint}known: {', '.join(KEYS)}")
    if "from" not in given or "to" not in given:
        raise SettingsError(f"{what} = {shown(given)}: a range is from … to …")
    low, high = (number(f"{what}: {end}", given[end]) for end in ("from", "to"))
    if not low < high:
        raise SettingsError(f"{what}: from = {low}, to = {high}: must be from a lower number")
    if given.get("scale", "linear") not in SCALES:
        scale = shown(given["scale"])
        raise SettingsError(f"{what}: scale = {scale}: must be one of {', '.join(SCALES)}")
    if given.get("scale") == "log" and low <= 0:
        raise SettingsError(f"{what}: from = {low}: must be above 0 on a log scale")
    return low, high


def number(what: str, value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise SettingsError(f"{what} = {shown(value)}: must be a number")
    return value


def rounded(value: float) -> float:
    """Six digits, so that 0.1 + 0.2 is 0.3 in names and tables; whole numbers stay whole."""
    return value if isinstance(value, int) else float(f"{value:.6g}")
