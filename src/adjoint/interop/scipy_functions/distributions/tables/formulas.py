"""One row of the table: the formulas of a distribution's standard form, location 0 and scale 1."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Formula = Callable[..., Any]

HALF_LOG_TWO_PI = 0.9189385332046727
LOG_PI = 1.1447298858494002
LOG_TWO = math.log(2.0)


@dataclass(frozen=True)
class Formulas:
    """Formulas take a place inside the support, or a probability, then the shapes, as Tensors; None: SciPy's code.

    entropy, mean and var take only the shapes. by_quadrature: no code for the distribution function can be
    differentiated, so its derivatives are integrals of the density's derivatives. ends: both ends of the support, from
    the shapes. middle: a place where the density is not smooth; integrals are split there, otherwise at the median.
    counts: integer shapes, which have no derivative. refused: the reason why a distribution is not differentiated.
    """

    log_density: Formula | None = None
    density: Formula | None = None
    cdf: Formula | None = None
    sf: Formula | None = None
    log_cdf: Formula | None = None
    log_sf: Formula | None = None
    ppf: Formula | None = None
    isf: Formula | None = None
    entropy: Formula | None = None
    mean: Formula | None = None
    var: Formula | None = None
    by_quadrature: bool = False
    ends: Formula | None = None
    middle: Formula | None = None
    counts: tuple[str, ...] = ()
    refused: str = ""


def log_phi(z: Tensor) -> Tensor:
    """The logarithm of the normal density."""
    return -0.5 * z * z - HALF_LOG_TWO_PI


def log1mexp(x: Tensor) -> Tensor:
    """log(1 - exp(x)) for negative x, without cancellation on either side (Maechler 2012)."""
    from adjoint.interop.scipy_functions.pieces import piecewise, plain

    near = plain(x) > -LOG_TWO
    return piecewise([near], [lambda x: ops.log(-ops.expm1(x)), lambda x: ops.log1p(-ops.exp(x))], x)
