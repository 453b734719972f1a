"""Fields of settings: their bounds, and the check that every part makes of itself."""

import dataclasses
import functools
import numbers
import reprlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hcdyna.settings.errors import SettingsError, words_of
from hcdyna.settings.hints import did_you_mean

MOST = 2**31 - 1
"""The largest whole number that compiled programs count with."""
LARGEST = 3.4028234663852886e38
"""The largest number of single precision."""
MOST_SEEDS = 100_000
"""Agents of one setting that are trained at a time."""
MOST_EPISODES = 100_000
"""Episodes of one agent that are played at a time."""
MOST_LAYERS = 16
MOST_UNITS = 65_536

SHORT = reprlib.Repr()
SHORT.maxlevel, SHORT.maxstring, SHORT.maxother, SHORT.maxlong = 2, 200, 200, 50


def number(
    default: float | None,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
    static: bool = False,
) -> Any:
    """A dataclass field with bounds. A float is traced, and so may vary within one compiled
    program, unless `static` (because it decides the shape of an array)."""
    bounds = {"at least": at_least, "at most": at_most, "above": above}
    return dataclasses.field(default=default, metadata={"bounds": bounds, "static": static})


def later(default: Any, *, before: Any, static: bool = False, **bounds: float | None) -> Any:
    """A field that came after results were stored: what knows nothing of it means `before`."""
    named = {word.replace("_", " "): bound for word, bound in bounds.items()}
    metadata = {"bounds": named, "static": static, "before": before}
    return dataclasses.field(default=default, metadata=metadata)


def is_part(value: Any) -> bool:
    """Whether this is an object of a dataclass: a part, or something that a part is made of."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def made(kind: type, values: Mapping[str, Any]) -> Any:
    """An object of a class; SettingsError, in one line, for whatever stands against it."""
    every = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    fields = {field.name: field for field in every if field.init}
    for name in values:
        if name not in fields:
            known = ", ".join(fields) if fields else "none"
            hint = did_you_mean(str(name), fields)
            raise SettingsError(f"{kind.__name__}.{name}: no such field: {hint}known: {known}")
    for name, field in fields.items():
        needed = dataclasses.MISSING is field.default is field.default_factory
        if needed and name not in values:
            raise SettingsError(f"{kind.__name__}.{name}: must be given, or have a default")
    try:
        return kind(**values)
    except SettingsError:
        raise
    except Exception as error:  # the class may not be ours
        raise SettingsError(f"{kind.__name__}: {words_of(error)}") from error


@functools.cache
def hints_of(kind: Any) -> dict[str, Any]:
    """The types of the fields of a dataclass."""
    return get_type_hints(kind)


def kinds_of(hint: Any) -> tuple[Any, ...]:
    """The members of a union, or the type itself."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def check(part: Any) -> None:
    """Raise SettingsError for the first value that can't be right; call it from __post_init__.

    A number gets the type of its field: `eta=0` is traced like `eta=0.0`, and `steps=1e5` is whole.
    """
    for field, value, problem in problems(part):
        raise SettingsError(f"{type(part).__name__}.{field.name} = {shown(value)}: {problem}")


def problems(part: Any) -> Iterator[tuple[dataclasses.Field, Any, str]]:
    """Field, value and what would be right, for each value that can't be."""
    kind: Any = type(part)
    hints = hints_of(kind)
    for field in dataclasses.fields(part):
        given, hint = getattr(part, field.name), hints[field.name]
        value = settled(given, hint)
        problem = _problem(value, hint, field.metadata.get("bounds", {}))
        if problem:
            yield field, given, problem
        elif value is not given:
            object.__setattr__(part, field.name, value)


def check_hidden(part: Any) -> None:
    """Raise SettingsError if `part.hidden` is not a tuple of layer sizes."""
    given = part.hidden
    sizes = tuple(settled(n, int) for n in given) if isinstance(given, tuple) else ()
    fits = all(type(n) is int and 1 <= n <= MOST_UNITS for n in sizes)
    if not isinstance(given, tuple) or not fits or len(sizes) > MOST_LAYERS:
        raise SettingsError(
            f"{type(part).__name__}.hidden = {shown(given)}: must be whole numbers above 0 and at "
            f"most {MOST_UNITS}, as a tuple of at most {MOST_LAYERS}"
        )
    object.__setattr__(part, "hidden", sizes)


def seeds_of(seeds: Any) -> list[int]:
    """The seeds that `seeds=3` (0, 1, 2) or `seeds=[4, 5]` ask for."""
    wrong = SettingsError(
        f"seeds = {shown(seeds)}: must be a number from 1 to {MOST_SEEDS}, or as many different "
        "numbers from 0 to 2³² − 1"
    )
    count = settled(seeds, int)
    if isinstance(count, int):
        if isinstance(count, bool) or not 1 <= count <= MOST_SEEDS:
            raise wrong
        return list(range(count))
    try:
        too_many = len(seeds) > MOST_SEEDS
        found = [] if too_many else [settled(seed, int) for seed in seeds]
    except TypeError:
        raise wrong from None
    if not found or not all(type(seed) is int and 0 <= seed < 2**32 for seed in found):
        raise wrong
    if len(set(found)) < len(found):
        raise SettingsError(f"seeds = {shown(seeds)}: must all be different")
    return found


def checked_seed(seed: Any) -> int:
    """A seed, if it can be one."""
    found = settled(seed, int)
    if type(found) is not int or not 0 <= found < 2**32:
        raise SettingsError(f"seed = {shown(seed)}: must be a number from 0 to 2³² − 1")
    return found


def path_of(name: Any) -> Path:
    """The path of this name; SettingsError for what no file or folder can be called."""
    text = str(name) if isinstance(name, str | Path) else ""
    if not text or "\0" in text:  # Path("") would be the folder that one is in
        raise SettingsError(f"{shown(name)}: must be the name of a file or folder")
    return Path(name)


def shown(value: Any) -> str:
    """The value in a few words: a file may hold one whose text would fill the memory."""
    if isinstance(value, int) and abs(value) >= 2**200:
        return f"about {'-' if value < 0 else ''}2**{value.bit_length() - 1}"
    return " ".join(SHORT.repr(value).split())


def settled(value: Any, hint: Any) -> Any:
    """A number in the type of its field, if it can be; anything else as it is."""
    kinds = kinds_of(hint)
    if isinstance(value, bool):
        return value
    if int in kinds:
        if isinstance(value, numbers.Integral):
            return int(value)
        return int(value) if is_real(value) and float(value).is_integer() else value
    return float(value) if float in kinds and is_real(value) else value


def is_real(value: Any) -> bool:
    """Whether this is a number that single precision has a place for."""
    if not isinstance(value, numbers.Real):
        return False
    try:
        # NumPy would bring the bound to the type of the number: infinity in float16.
        number: Any = value if isinstance(value, numbers.Rational) else float(value)
        return bool(abs(number) <= LARGEST)
    except Exception:  # a span of time calls itself a number, and so can classes of the user's
        return False


def _problem(value: Any, hint: Any, bounds: dict[str, float | None]) -> str | None:
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        return None if value in choices else f"must be one of {', '.join(map(str, choices))}"
    kinds = kinds_of(hint)
    if value is None and type(None) in kinds:
        return None
    if bool in kinds:
        return None if isinstance(value, bool) else "must be True or False"
    if float not in kinds and int not in kinds:
        if not isinstance(value, bool | int | float | str) or str in kinds:
            return None
        several = any(get_origin(kind) is tuple for kind in kinds)
        return "must be a tuple" if several else "must be given from Python, as an object"
    whole = int in kinds
    if isinstance(value, bool) or not isinstance(
        value, numbers.Integral if whole else numbers.Real
    ):
        return "must be a whole number" if whole else "must be a number"
    if not whole and not is_real(value):
        return "must be a finite number, of single precision"
    given = {word: bound for word, bound in bounds.items() if bound is not None}
    return _out_of_bounds(value, {"at least": -MOST, "at most": MOST} | given if whole else given)


def _out_of_bounds(value: Any, bounds: dict[str, float]) -> str | None:
    fits = {
        "at least": lambda bound: value >= bound,
        "at most": lambda bound: value <= bound,
        "above": lambda bound: value > bound,
    }
    if all(fits[word](bound) for word, bound in bounds.items()):
        return None
    return "must be " + " and ".join(f"{word} {bound}" for word, bound in bounds.items())
