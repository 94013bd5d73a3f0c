"""All rows, by the name of the distribution."""

from adjoint.interop.scipy_functions.distributions.tables import (
    bounded,
    counts,
    gamma,
    noncentral,
    normal,
    samples,
    tails,
)
from adjoint.interop.scipy_functions.distributions.tables.formulas import Formulas

ROWS: dict[str, Formulas] = {
    **normal.ROWS,
    **gamma.ROWS,
    **tails.ROWS,
    **bounded.ROWS,
    **noncentral.ROWS,
    **samples.ROWS,
    **counts.ROWS,
}
