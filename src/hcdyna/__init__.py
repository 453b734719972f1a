"""Search-control in Dyna: plan from better states.

>>> from hcdyna import Settings, Training, train
>>> settings = Settings(search_control="uniform", training=Training(steps=200, warmup=100))
>>> train(settings, seeds=2).returns.shape
(1, 2, 1, 1)
"""

import importlib

from hcdyna.lazily import lazily
from hcdyna.numerics.rounding import round_every_operation

# The public names are those of __init__.pyi; JAX is imported with the first one that needs it.
HOME_OF, __getattr__, __dir__ = lazily(__name__, __file__)
__all__ = sorted(HOME_OF)

round_every_operation()
importlib.import_module("hcdyna.gymnasium.ours")  # so that gymnasium.make knows our domains
