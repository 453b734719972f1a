"""python -m hcdyna."""

from hcdyna.cli import script

script()
