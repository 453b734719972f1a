"""For which networks of learned models there is a gradient step on a CPU."""

from hcdyna.kernels.cpu import build
from hcdyna.kernels.cpu.coverage import MOST_ROWS, why_not_layers
from hcdyna.kernels.fit import fit_by
from hcdyna.kernels.library import CannotBuild
from hcdyna.models.fitting import Fit

MOST_OUTPUTS = 256


def fit_for(widths: tuple[int, ...], activation: str, rows: int) -> Fit | None:
    """The step for such a network and so many rows; None where there is no kernel."""
    covered = why_not_layers(widths[1:-1]) is None and widths[-1] <= MOST_OUTPUTS
    if not covered or rows > MOST_ROWS or build.why_not() is not None:
        return None
    try:
        return fit_by(build.model_target(widths, activation))
    except (CannotBuild, OSError):
        return None
