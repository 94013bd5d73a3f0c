"""Distributions of numbers over Tensors: their methods, derived from the standard form.

    log density    its formula of (x - loc) / scale, less log(scale); -inf outside the support
    cdf, sf        their formulas; without one, SciPy's values, whose derivative by the place is the density, and by
                   the shapes the integral (or sum) of the density's
    ppf, isf       SciPy's values, with the derivatives of an inverse function
    entropy, mean  their formulas; without one, SciPy's values with the derivatives of integrals of the density

A formula gets only elements inside the support with allowed parameters. On the edge of the support, values are SciPy's,
and derivatives are taken at the next number inside, since the formulas may have 0 * inf there.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.interop.operands import cast, is_tracked, kind_of, operand, result_kind, tensor_of
from adjoint.interop.scipy_functions.distributions import scipy_code
from adjoint.interop.scipy_functions.distributions.standard_form import StandardForm
from adjoint.interop.scipy_functions.pieces import (
    constants,
    inverse,
    piecewise,
    plain,
    shape_of,
    value_with_formula,
)
from adjoint.tensor.table import ops
from adjoint.transforms.batching.batched import batches_of

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Formula = Callable[..., Any]

#: Methods of places, of probabilities, and of parameters alone.
OF_PLACES = ("cdf", "sf", "logcdf", "logsf")
OF_PROBABILITIES = ("ppf", "isf")
OF_PARAMETERS = ("entropy", "mean", "var", "std", "median")


class Univariate(StandardForm):
    """A distribution of scipy.stats by its name, with methods over Tensors.

    Raises TypeError where the distribution, or a parameter that counts, has no derivative.
    """

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of all methods over Tensors."""
        density = ("logpmf", "pmf") if self.discrete else ("logpdf", "pdf")
        return (*density, *OF_PLACES, *OF_PROBABILITIES, *OF_PARAMETERS)

    def method(self, name: str) -> Formula:
        """A method with SciPy's signature. The result is a Tensor."""
        evaluate = getattr(self, f"_{name}")
        first = () if name in OF_PARAMETERS else ("q" if name in OF_PROBABILITIES else "k" if self.discrete else "x",)
        signature = self._signature(first)

        def call(*args: Any, **kwargs: Any) -> Tensor:
            self._refuse()
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            values = [operand(value) for value in bound.arguments.values()]
            # places of integrals reach to where densities are 0, and their logarithms infinite
            with numpy.errstate(all="ignore"):
                result = over_batches(evaluate, self._operands(values, len(first)))
            kind = result_kind(*values)
            return cast(result, kind) if kind.kind == "f" else result

        call.__name__ = name
        call.__doc__ = f"scipy.stats.{self.name}.{name}."
        return call

    def _signature(self, first: tuple[str, ...]) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = [inspect.Parameter(name, kind) for name in (*first, *self.shapes)]
        parameters.append(inspect.Parameter("loc", kind, default=0.0))
        if not self.discrete:
            parameters.append(inspect.Parameter("scale", kind, default=1.0))
        return inspect.Signature(parameters)

    def _refuse(self) -> None:
        if self.row.refused:
            raise TypeError(
                f"scipy.stats.{self.name} was given a Tensor or an Array, but it has no derivative here: "
                f"{self.row.refused}. Use tensor.detach().numpy() to leave the graph on purpose"
            )

    def _operands(self, values: list[Any], first: int) -> list[Tensor]:
        """Place, shapes, location and scale in double precision, which integrals and inverse functions need."""
        tensors = [cast(tensor_of(value), numpy.float64) for value in values]
        for name, shape in zip(self.shapes, tensors[first:], strict=False):
            if name in self.row.counts and is_tracked(shape):
                raise TypeError(
                    f"scipy.stats.{self.name}: {name} is a whole number, by which there is no derivative; "
                    f"give {name} as a number or detach() it"
                )
        return [*tensors, constants(1.0, tensors[0])] if self.discrete else tensors

    # all of it

    def _evaluate(self, method: str, formula: Formula, z: Tensor, shapes: Any, scale: Tensor, ends: Any) -> Tensor:
        """A formula inside the support, and the numbers below and above it. method: SciPy's, for values at ends."""
        below, above = ends
        arrays, at = [plain(shape) for shape in shapes], plain(z)
        low, high = self._support(*shapes)
        with numpy.errstate(all="ignore"):
            allowed = self._allowed_mask(arrays, scale) & ~numpy.isnan(at)
        edge = ((at == low) | (at == high)) & numpy.isfinite(at) & (not self.discrete)
        outside = ~numpy.isfinite(at) | (at > high)
        conditions = [~allowed, at < low, at == -numpy.inf, outside, edge]
        branches = [math.nan, below, below, above, functools.partial(self._on_edge, method, formula), formula]
        return piecewise(conditions, branches, z, *self._broadcast(shapes, scale, z))

    def _on_edge(self, method: str, formula: Formula, z: Tensor, *shapes: Tensor) -> Tensor:
        """SciPy's value, with the derivatives at the next number inside; without any where the value is infinite."""
        with numpy.errstate(all="ignore"):
            value = numpy.asarray(getattr(self.of_scipy, method)(plain(z), *[plain(s) for s in shapes]))

        def finite(value: Tensor, z: Tensor, *shapes: Tensor) -> Tensor:
            return value_with_formula(formula(_inside_support(z, *self._support(*shapes)), *shapes), plain(value))

        branches = [lambda value, *_: value, finite]
        return piecewise([~numpy.isfinite(value)], branches, constants(value, z), z, *shapes)

    def _allowed_mask(self, shapes: Any, scale: Tensor) -> Any:
        """A mask of allowed parameters."""
        return numpy.asarray(self.of_scipy._argcheck(*shapes), bool) & (plain(scale) > 0)

    @staticmethod
    def _broadcast(shapes: Any, scale: Tensor, z: Tensor) -> list[Tensor]:
        """The shapes, of which one has the scale's shape where the place's does not."""
        shape = shape_of((z, scale, *shapes))
        return [ops.expand(s, shape) for s in shapes] if shapes else []

    def _standardize(self, x: Tensor, loc: Tensor, scale: Tensor) -> Tensor:
        z = x - loc if self.discrete else (x - loc) / scale
        return ops.expand(z, shape_of((z, scale)))

    def _of_density(self, method: str, formula: Formula, outside: float, values: Any) -> tuple[Tensor, Tensor]:
        x, *shapes, loc, scale = values
        z = self._standardize(x, loc, scale)
        formula = self._between(formula, outside)
        return self._evaluate(method, formula, z, shapes, scale, (outside, outside)), scale

    def _between(self, formula: Formula, outside: float) -> Formula:
        """For counts: numbers that are not whole are outside."""
        if not self.discrete:
            return formula
        return lambda k, *s: piecewise([plain(k) != numpy.floor(plain(k))], [outside, formula], k, *s)

    def _logpdf(self, *values: Tensor) -> Tensor:
        y, scale = self._of_density("logpdf", self.log_density, -math.inf, values)
        return y if self.discrete else y - ops.log(scale)

    def _pdf(self, *values: Tensor) -> Tensor:
        y, scale = self._of_density("pdf", self.density, 0.0, values)
        return y if self.discrete else y / scale

    _logpmf, _pmf = _logpdf, _pdf

    def _tail(self, method: str, formula: Formula, values: Any, below: float, above: float) -> Tensor:
        x, *shapes, loc, scale = values
        z = self._standardize(x, loc, scale)
        if self.discrete:
            z = ops.floor(z)
            formula = self._below_top(formula, above)
        return self._evaluate(method, formula, z, shapes, scale, (below, above))

    def _below_top(self, formula: Formula, above: float) -> Formula:
        """For counts: all of the probability is at or below the highest one."""
        return lambda k, *s: piecewise([plain(k) >= self._support(*s)[1]], [above, formula], k, *s)

    def _cdf(self, *values: Tensor) -> Tensor:
        return self._tail("cdf", self.cdf, values, 0.0, 1.0)

    def _sf(self, *values: Tensor) -> Tensor:
        return self._tail("sf", self.sf, values, 1.0, 0.0)

    def _logcdf(self, *values: Tensor) -> Tensor:
        return self._tail("logcdf", self._logarithm("_logcdf", "log_cdf", "cdf"), values, -math.inf, 0.0)

    def _logsf(self, *values: Tensor) -> Tensor:
        return self._tail("logsf", self._logarithm("_logsf", "log_sf", "sf"), values, 0.0, -math.inf)

    def _logarithm(self, method: str, formula: str, plain_one: str) -> Formula:
        row_formula = getattr(self.row, formula)
        if row_formula is None and self.row.cdf is None and self.row.sf is None and self._runs_code():
            row_formula = self._formula_of(method, formula)
        return row_formula or (lambda *values: ops.log(getattr(self, plain_one)(*values)))

    # quantiles

    def _ppf(self, *values: Tensor) -> Tensor:
        return self._quantile("_ppf", values)

    def _isf(self, *values: Tensor) -> Tensor:
        return self._quantile("_isf", values)

    def _quantile(self, method: str, values: Any) -> Tensor:
        q, *shapes, loc, scale = values
        at = plain(q)
        low, high = self._support(*shapes)
        first, last = (low, high) if method == "_ppf" else (high, low)
        first = numpy.subtract(first, 1) if self.discrete and method == "_ppf" else first
        last = numpy.subtract(last, 1) if self.discrete and method == "_isf" else last
        with numpy.errstate(all="ignore"):
            allowed = self._allowed_mask([plain(s) for s in shapes], scale)
        ends = [constants(end, q) for end in (first, last)]
        formula = self._steps(method) if self.discrete else self._inverse(method)
        n = len(shapes)

        def quantile(q: Tensor, first: Tensor, last: Tensor, *values: Tensor) -> Tensor:
            return formula(q, *values[:n])

        y = piecewise(
            [~allowed | ~((at >= 0) & (at <= 1)), at == 0, at == 1],
            [math.nan, lambda _, first, *__: first, lambda _, __, last, *___: last, quantile],
            q, *ends, *shapes, scale,
        )  # fmt: skip
        return y + loc if self.discrete else y * scale + loc

    def _steps(self, method: str) -> Formula:
        """Quantiles of counts: steps, whose derivative is 0."""
        return lambda q, *s: value_with_formula(0 * q, scipy_code.values(self.of_scipy, method, q, *s))

    def _inverse(self, method: str) -> Formula:
        row_formula = getattr(self.row, method[1:])
        if row_formula is not None:
            return row_formula
        function, sign = (self.cdf, 1) if method == "_ppf" else (self.sf, -1)

        def formula(q: Tensor, *shapes: Tensor) -> Tensor:
            shape = shape_of((q, *shapes))
            value = scipy_code.values(self.of_scipy, method, q, *shapes)
            whole = [ops.expand(s, shape) for s in shapes]
            moving = [i for i, s in enumerate(whole) if is_tracked(s)]

            def at(formula: Formula, y: Tensor, *variables: Tensor) -> Tensor:
                every = list(whole)
                for i, s in zip(moving, variables, strict=True):
                    every[i] = s
                return formula(y, *every)

            return inverse(
                ops.expand(q, shape), tuple(whole[i] for i in moving), value,
                functools.partial(at, function), lambda y, *variables: sign * at(self.density, y, *variables),
            )  # fmt: skip

        return formula

    def _median(self, *values: Tensor) -> Tensor:
        return self._ppf(constants(0.5, values[0]), *values)

    # numbers of the whole distribution

    def _entropy(self, *values: Tensor) -> Tensor:
        *shapes, loc, scale = values
        y = self._number("entropy", shapes, scale)
        return y + 0 * loc if self.discrete else y + ops.log(scale) + 0 * loc

    def _mean(self, *values: Tensor) -> Tensor:
        *shapes, loc, scale = values
        return self._number("mean", shapes, scale) * scale + loc

    def _var(self, *values: Tensor) -> Tensor:
        *shapes, loc, scale = values
        return self._number("var", shapes, scale) * scale * scale + 0 * loc

    def _std(self, *values: Tensor) -> Tensor:
        return ops.sqrt(self._var(*values))

    def _number(self, which: str, shapes: Any, scale: Tensor) -> Tensor:
        """SciPy's value, with the derivatives of the formula in the table, or of integrals or sums of the density."""
        arrays = [plain(shape) for shape in shapes]
        with numpy.errstate(all="ignore"):
            allowed = self._allowed_mask(arrays, scale)
        shape = shape_of((scale, *shapes))
        value = numpy.asarray(getattr(self.of_scipy, which)(*arrays), float)
        shapes_of_batch = [ops.expand(s, shape) for s in shapes]
        if not shapes_of_batch:
            return constants(numpy.broadcast_to(value, shape), scale)
        own_formula = getattr(self.row, which)
        conditions = [~(allowed & numpy.isfinite(value))]

        def formula(value: Tensor, *shapes: Tensor) -> Tensor:
            if own_formula is not None:
                return value_with_formula(own_formula(*shapes), plain(value))
            integral = self._expectation(which, *shapes)
            self._check(plain(integral), plain(value), 1e-6)
            return value_with_formula(integral, plain(value))

        known_value = constants(numpy.broadcast_to(value, shape), scale)
        return piecewise(conditions, [lambda value, *_: value, formula], known_value, *shapes_of_batch)


def over_batches(evaluate: Formula, operands: list[Tensor]) -> Tensor:
    """A function of single elements; under vmap the members of a batch lie along an axis in front."""
    levels = [dict(batches_of(operand._array)) for operand in operands]
    level = max((level for sizes in levels for level in sizes), default=0)
    if not level:
        return evaluate(*operands)
    ndim = max(operand.ndim for operand in operands)

    def align(operand: Tensor, size: int | None) -> Tensor:
        if size is None:
            return operand
        whole = ops.batch_out(operand, level, size)
        return ops.reshape(whole, (size, *[1] * (ndim - operand.ndim), *operand.shape))

    members = [align(operand, sizes.get(level)) for operand, sizes in zip(operands, levels, strict=True)]
    return ops.batch_in(over_batches(evaluate, members), level)


def _inside_support(z: Tensor, low: Any, high: Any) -> Tensor:
    """Moves places on the edge of the support to the next number inside, where powers and logarithms are finite."""
    at = plain(z)
    # SciPy's functions have values at its square and at its reciprocal
    tiny = numpy.cbrt(numpy.finfo(kind_of(z)).tiny)
    target = numpy.where(at == low, numpy.inf, numpy.where(at == high, -numpy.inf, at)).astype(at.dtype)
    steps = numpy.where(at == 0, numpy.copysign(tiny, target), numpy.nextafter(at, target) - at)
    return z + constants(steps, z)
