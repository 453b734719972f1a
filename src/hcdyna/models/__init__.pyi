"""The public names of this package. Type checkers read this list, and so does `lazily`."""

from hcdyna.models.functions import FromFunction as FromFunction
from hcdyna.models.functions import from_function as from_function
from hcdyna.models.learned import LearnedModel as LearnedModel
from hcdyna.models.true import TrueModel as TrueModel
