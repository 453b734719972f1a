"""Fields that hold a function, as options of the command line: module:function."""

from typing import Annotated, Any, TypeVar

import tyro

from hcdyna.settings.errors import RunError
from hcdyna.settings.fields import shown
from hcdyna.settings.importing import imported, place_of

T = TypeVar("T")


def function_at(words: list[str]) -> Any:
    """The function at a place, or None for "None"; ValueError, in one line, if there is none."""
    (place,) = words
    if place == "None":
        return None
    if not all(place.rpartition(":")):
        raise ValueError(f"{shown(place)}: must be like my_module:my_function")
    try:
        found = imported(place)
    except RunError as error:
        raise ValueError(str(error)) from None
    if not callable(found):
        raise ValueError(f"{shown(place)}: is {shown(found)}; must be a function")
    return found


FunctionByPlace = Annotated[
    T,
    tyro.constructors.PrimitiveConstructorSpec(
        nargs=1,
        metavar="MODULE:FUNCTION",
        instance_from_str=function_at,
        is_instance=lambda value: value is None or callable(value),
        str_from_instance=lambda value: [str(value and place_of(value))],
    ),
]
"""A field that holds a function or None, and whose option takes the place of a function."""
