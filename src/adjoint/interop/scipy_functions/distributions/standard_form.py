"""The standard form of a distribution: its formulas, and integrals of its density where there are none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.core.modes.grad_mode import no_grad
from adjoint.interop.operands import is_tensor, is_tracked, kind_of
from adjoint.interop.scipy_functions.distributions import scipy_code
from adjoint.interop.scipy_functions.distributions.quadrature import tail
from adjoint.interop.scipy_functions.distributions.tables.formulas import Formulas
from adjoint.interop.scipy_functions.distributions.tables.rows import ROWS
from adjoint.interop.scipy_functions.pieces import (
    antiderivative,
    column,
    constants,
    piecewise,
    plain,
    value_with_formula,
)
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Formula = Callable[..., Any]

#: The most terms of a sum over the places of a discrete distribution.
_MOST_TERMS = 100_000


class StandardForm:
    """A distribution of scipy.stats with location 0 and scale 1. Formulas take a place in the support, and shapes."""

    def __init__(self, name: str, of_scipy: Any) -> None:
        self.name = name
        self.of_scipy = of_scipy
        self.row = ROWS.get(name, Formulas())
        self.discrete = not hasattr(of_scipy, "pdf")
        self.shapes = tuple(of_scipy.shapes.split(", ")) if of_scipy.shapes else ()

    def _formula_of(self, method: str, formula: str) -> Formula | None:
        """The formula in the table, or SciPy's code if there is some for this distribution."""
        row_formula = getattr(self.row, formula)
        if row_formula is not None:
            return row_formula
        if scipy_code.defines(self.of_scipy, method):
            return scipy_code.over_tensors(self.of_scipy, method)
        return None

    @property
    def log_density(self) -> Formula:
        """The logarithm of the density of the standard form."""
        if self.row.log_density is not None:
            return self.row.log_density
        name = "_logpmf" if self.discrete else "_logpdf"
        if self.row.density is None and scipy_code.defines(self.of_scipy, name):
            return scipy_code.over_tensors(self.of_scipy, name)
        return lambda *values: ops.log(self.density(*values))

    @property
    def density(self) -> Formula:
        """The density of the standard form."""
        if self.row.density is not None:
            return self.row.density
        logarithm = "_logpmf" if self.discrete else "_logpdf"
        if self.row.log_density is not None or scipy_code.defines(self.of_scipy, logarithm):
            return lambda *values: _exponential(self.log_density(*values))
        return scipy_code.over_tensors(self.of_scipy, "_pmf" if self.discrete else "_pdf")

    def _runs_code(self) -> bool:
        """True if SciPy's code of distribution functions is differentiated where the table has no formula."""
        return not (self.discrete or self.row.by_quadrature or self.row.density)

    def _function(self, method: str, formula: str) -> Formula | None:
        return self._formula_of(method, formula) if self._runs_code() else getattr(self.row, formula)

    @property
    def cdf(self) -> Formula:
        """The distribution function of the standard form."""
        if self.row.cdf is None and self.row.sf is not None:
            return lambda *values: 1 - self.row.sf(*values)  # type: ignore[misc]
        return self._function("_cdf", "cdf") or (lambda *values: self._integrate("_cdf", 1, *values))

    @property
    def sf(self) -> Formula:
        """The survival function of the standard form."""
        if self.row.sf is None and self.row.cdf is not None:
            return lambda *values: 1 - self.row.cdf(*values)  # type: ignore[misc]
        return self._function("_sf", "sf") or (
            (lambda *values: 1 - self.cdf(*values))
            if self._runs_code()
            else (lambda *values: self._integrate("_sf", -1, *values))
        )

    def _integrate(self, method: str, sign: int, z: Tensor, *shapes: Tensor) -> Tensor:
        """SciPy's values of a distribution function, with the derivatives of an integral or sum of the density."""
        value = scipy_code.values(self.of_scipy, method, z, *shapes)
        if self.discrete:
            return value_with_formula(sign * self._add_up(z, *shapes), value)
        if not any(is_tracked(shape) for shape in shapes):
            return antiderivative(ops.expand(z, numpy.shape(value)), value, lambda z: sign * self.density(z, *shapes))
        return value_with_formula(sign * self._by_quadrature(z, *shapes), value)

    def _by_quadrature(self, z: Tensor, *shapes: Tensor) -> Tensor:
        """The cdf as an integral over the smaller tail, less 1 if that is the upper one.

        Raises ArithmeticError where the integral is not the probability.
        """
        cdf, sf = (scipy_code.values(self.of_scipy, method, z, *shapes) for method in ("_cdf", "_sf"))
        mass = numpy.minimum(cdf, sf)
        density = self._values(self.density, z, *shapes)
        with numpy.errstate(all="ignore"):
            width = constants(numpy.clip(mass / density, 1e-8, 1e8), z)
        low, high = self._ends(z, *shapes)

        def above(z: Tensor, width: Tensor, low: Tensor, high: Tensor, *shapes: Tensor) -> Tensor:
            return -tail(self.density, z, high, plain(width), *shapes)

        def below(z: Tensor, width: Tensor, low: Tensor, high: Tensor, *shapes: Tensor) -> Tensor:
            return tail(self.density, z, low, plain(width), *shapes)

        total = piecewise([cdf > sf], [above, below], z, width, low, high, *shapes)
        self._check(abs(plain(total)), mass, 1e-6)
        return total

    def _check(self, integral: Any, value: Any, rtol: float) -> None:
        """Raise ArithmeticError unless a differentiated integral equals SciPy's value."""
        wrong = ~numpy.isclose(integral, value, rtol, 1e-9)
        if numpy.any(wrong & numpy.isfinite(value)):
            raise ArithmeticError(
                f"scipy.stats.{self.name}: the integral that is differentiated is {integral[wrong][0]:.6g}, but "
                f"SciPy's value is {value[wrong][0]:.6g}; there is no derivative by the shape parameters here"
            )

    def _add_up(self, k: Tensor, *shapes: Tensor) -> Tensor:
        """The sum of the probabilities of all counts up to k."""
        low, _ = self._support(*shapes)
        if numpy.any(numpy.isinf(low)):
            low = scipy_code.values(self.of_scipy, "_ppf", 1e-16, *shapes)
        first = numpy.min(numpy.asarray(low, float), initial=math.inf)
        count = numpy.max(plain(k), initial=first) - first + 1
        if not count <= _MOST_TERMS:
            raise ValueError(
                f"scipy.stats.{self.name}: the derivative of a sum of {count:.0f} probabilities; at most "
                f"{_MOST_TERMS} are added"
            )
        j = constants(first + numpy.arange(int(count)), k)
        outside = (plain(j) > plain(column(k))) | (plain(j) < numpy.asarray(low)[..., None])
        return ops.sum(piecewise([outside], [0.0, self.density], j, *[column(s) for s in shapes]), (-1,))

    def _support(self, *shapes: Tensor) -> tuple[Any, Any]:
        """Both ends of the support; without shapes, the ends of a fixed support."""
        if not shapes:
            return self.of_scipy.a, self.of_scipy.b
        with numpy.errstate(all="ignore"):
            return self.of_scipy._get_support(*[plain(shape) for shape in shapes])

    def _ends(self, like: Tensor, *shapes: Tensor) -> list[Tensor]:
        """Both ends of the support as Tensors."""
        ends = self.row.ends(*shapes) if self.row.ends is not None else (self.of_scipy.a, self.of_scipy.b)
        return [end if is_tensor(end) else constants(end, like) for end in ends]

    @staticmethod
    def _values(formula: Formula, *tensors: Tensor) -> numpy.ndarray:
        with no_grad():
            return plain(formula(*[tensor.detach() for tensor in tensors]))

    # means over the density

    def _expectation(self, which: str, *shapes: Tensor) -> Tensor:
        """A mean over the density, of a function of the place and the density's logarithm."""
        of = self._over_support
        if which == "entropy":
            return of(lambda z, log, _: -log, 0 * shapes[0], *shapes)
        mean = of(lambda z, log, _: z, 0 * shapes[0], *shapes)
        return mean if which == "mean" else of(lambda z, log, mean: ops.square(z - mean), mean, *shapes)

    def _over_support(self, function: Formula, centre: Tensor, *shapes: Tensor) -> Tensor:
        """The mean of a function of place, logarithm of the density and a centre: an integral or a sum."""

        def weighted_term(z: Tensor, centre: Tensor, *shapes: Tensor) -> Tensor:
            log = self.log_density(z, *shapes)
            return ops.exp(log) * function(z, log, centre)

        if self.discrete:
            return self._sum_over_support(weighted_term, centre, *shapes)
        if self.row.middle is not None:
            middle = self.row.middle(*shapes)
        else:
            middle = constants(scipy_code.values(self.of_scipy, "_ppf", 0.5, *shapes), shapes[0])
        low, high = self._ends(middle, *shapes)
        at = constants(scipy_code.values(self.of_scipy, "_ppf", 0.25, *shapes), shapes[0])
        width = numpy.clip(0.25 / self._values(self.density, at, *shapes), 1e-8, 1e8)
        above = tail(weighted_term, middle, high, width, centre, *shapes)
        return above + tail(weighted_term, middle, low, width, centre, *shapes)

    def _sum_over_support(self, weighted: Formula, centre: Tensor, *shapes: Tensor) -> Tensor:
        low, high = self._support(*shapes)
        far = scipy_code.values(self.of_scipy, "_ppf", 1 - 1e-13, *shapes) if numpy.any(numpy.isinf(high)) else high
        near = scipy_code.values(self.of_scipy, "_ppf", 1e-13, *shapes) if numpy.any(numpy.isinf(low)) else low
        first = numpy.min(numpy.asarray(near, float), initial=math.inf)
        last = numpy.max(numpy.asarray(far, float), initial=-math.inf)
        if not last - first <= _MOST_TERMS:
            raise ValueError(f"scipy.stats.{self.name}: a sum of more than {_MOST_TERMS} probabilities")
        j = constants(numpy.arange(first, last + 1), shapes[0])
        outside = (plain(j) < numpy.asarray(low)[..., None]) | (plain(j) > numpy.asarray(high)[..., None])
        columns = [column(s) for s in (centre, *shapes)]
        return ops.sum(piecewise([outside], [0.0, weighted], j, *columns), (-1,))


def _exponential(log: Tensor) -> Tensor:
    """exp, without derivatives where it is 0, since the logarithm's derivatives may be infinite there."""
    zero = plain(log) < math.log(numpy.finfo(kind_of(log)).smallest_subnormal)
    return piecewise([zero], [0.0, ops.exp], log) if zero.any() else ops.exp(log)
