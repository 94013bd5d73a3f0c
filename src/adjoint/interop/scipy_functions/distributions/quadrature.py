"""Integrals of densities by the double exponential formulas, with derivatives by all that the integrand depends on.

The trapezoidal rule after a change of variables (Takahasi and Mori 1974) converges exponentially for integrands that
are smooth inside and may be singular at the ends. Places are functions of the ends, so that an integral is
differentiated by its ends and by the integrand's parameters as any other formula.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.core.modes.grad_mode import no_grad
from adjoint.interop.scipy_functions.pieces import column, constants, piecewise, plain
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Formula = Callable[..., Any]

_STEP = 0.04


def _waves(first: float, last: float) -> tuple[numpy.ndarray, numpy.ndarray]:
    steps = numpy.arange(first, last, _STEP)
    return 0.5 * numpy.pi * numpy.sinh(steps), _STEP * 0.5 * numpy.pi * numpy.cosh(steps)


def _of_interval() -> tuple[numpy.ndarray, numpy.ndarray]:
    """Places in (0, 1) and weights; more of them close to 0, where integrands may be singular."""
    wave, slope = _waves(-4.6, 3.6)
    return 1 / (1 + numpy.exp(-2 * wave)), slope * 0.5 / numpy.cosh(wave) ** 2


def _of_half_line() -> tuple[numpy.ndarray, numpy.ndarray]:
    """Places in (0, inf) and weights; more of them far out, where integrands may fall as slowly as a power."""
    wave, slope = _waves(-3.6, 5.0)
    return numpy.exp(wave), slope * numpy.exp(wave)


def _of_gauss(n: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Gauss and Legendre's places and weights on (0, 1), for integrands that are smooth to the ends."""
    places, weights = numpy.polynomial.legendre.leggauss(n)
    return 0.5 * (places + 1), 0.5 * weights


GAUSS = _of_gauss(150)
INTERVAL = _of_interval()
HALF_LINE = _of_half_line()


def integral(integrand: Formula, start: Tensor, length: Tensor, rule: Any, *parameters: Tensor) -> Tensor:
    """The integral of integrand(place, *parameters) from `start` on, at places start + length * the nodes of a rule.

    length: may be negative. The integrand is differentiated only where it is finite and not 0.
    """
    places, weights = (constants(part, start) for part in rule)
    reach = column(length)
    at = column(start) + reach * places
    columns = [column(p) for p in parameters]
    with no_grad():
        values = plain(integrand(at.detach(), *[c.detach() for c in columns]))
    counts = numpy.isfinite(values) & (values != 0)
    return ops.sum(piecewise([~counts], [0.0, integrand], at, *columns) * weights * abs(reach), (-1,))


def tail(density: Formula, z: Tensor, end: Tensor, width: Any, *parameters: Tensor) -> Tensor:
    """The integral of a density between z and an end of its support, which may be infinite.

    width: about how fast the density falls off beyond z, where the end is infinite.
    """

    def open_one(z: Tensor, end: Tensor, width: Tensor, *parameters: Tensor) -> Tensor:
        return integral(density, z, width * ops.sign(end.detach()), HALF_LINE, *parameters)

    def closed_one(z: Tensor, end: Tensor, width: Tensor, *parameters: Tensor) -> Tensor:
        # from the end on, so that places close to it, where the density may be singular, are exact if it is 0
        return integral(density, end, z - end, INTERVAL, *parameters)

    branches = [open_one, closed_one]
    return piecewise([numpy.isinf(plain(end))], branches, z, end, constants(width, z), *parameters)
