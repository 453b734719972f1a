"""Settings of a run: what can be said, and how it is checked, named, saved and read."""

from hcdyna.settings.core import (
    CHOICES,
    Evaluation,
    PythonOnly,
    Settings,
    Training,
    agent_of,
    built,
    evaluated_after,
    evaluations_until,
    traced_numbers,
    with_numbers,
)
from hcdyna.settings.fields import check, check_hidden, later, number

__all__ = [
    "CHOICES",
    "Evaluation",
    "PythonOnly",
    "Settings",
    "Training",
    "agent_of",
    "built",
    "check",
    "check_hidden",
    "evaluated_after",
    "evaluations_until",
    "later",
    "number",
    "traced_numbers",
    "with_numbers",
]
