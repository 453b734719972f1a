"""Words for people."""


def count(number: int, what: str) -> str:
    """A number of things.

    >>> count(1, "agent"), count(0, "cell"), count(1200, "step")
    ('1 agent', '0 cells', '1,200 steps')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"
