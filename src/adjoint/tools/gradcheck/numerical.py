"""Derivatives by differences.

The derivatives by the real and by the imaginary parts of an input are two real matrices of one row for each direction
and one column for each element of an output. Both conventions follow from them:

    tangents    of a step t: the directional derivative along t, as forward mode computes it
    gradients   of a real part s of an output: ds/dx + i ds/dy for an input x + iy, as backward mode computes it
"""

from __future__ import annotations

import numpy

from adjoint.arrays.dtypes import finfo
from adjoint.tensor.tensor import Tensor

from .bases import Units
from .functions import Array, Evaluation, at, results_of, tensor_of, wide

_RATIO = 2.6  # the ratio of steps; no integer, since rounding errors would repeat themselves
_ORDERS = 4  # of the error terms that are eliminated


def central(evaluate: Evaluation, x: Tensor, direction: Array, eps: float, label: str = "") -> list[Array]:
    """The derivatives of the outputs along a direction, by differences at +eps and -eps; x is moved in place."""
    here = x._array.astype(numpy.result_type(x._array.dtype, direction.dtype) if x._array.dtype.kind != "V" else float)
    with at(x, here + eps * direction):
        above, after = x._array.copy(), evaluate(f"{label}by {eps}")
    with at(x, here - eps * direction):
        below, before = x._array.copy(), evaluate(f"{label}by {eps}")
    step = length_along(above, below, direction) / 2 or eps
    return [(b - a) / (2 * step) for a, b in zip(before, after, strict=True)]


def length_along(above: Array, below: Array, direction: Array) -> float:
    """The distance of two points along a direction: in few digits it differs from the planned one."""
    kind = complex if above.dtype.kind == "c" else float
    difference = above.astype(kind) - below.astype(kind)
    return float(numpy.vdot(direction, difference).real / (numpy.vdot(direction, direction).real or 1.0))


def richardson(
    evaluate: Evaluation, x: Tensor, direction: Array, steps: list[float], atol: float, rtol: float
) -> list[tuple[Array, Array]]:
    """The same by extrapolation from several steps, each output with an estimate of its error.

    Two steps eliminate the error of second order, three steps the error of fourth order, and so on (Ridders 1982).
    """
    with numpy.errstate(all="ignore"):
        columns = [central(evaluate, x, direction, step) for step in steps]
        columns_with_rounding = zip(zip(*columns, strict=True), rounding_of(evaluate), strict=True)
        return [
            best_of(estimates, [error / step for step in steps], atol, rtol)
            for estimates, error in columns_with_rounding
        ]


def ladder(x: Tensor, eps: float, defined: bool) -> list[float]:
    """Steps for an extrapolation, from a little below eps (far below, if f is not defined at eps) upwards."""
    scale = float(numpy.abs(x._array).max(initial=1.0))
    step = max(eps * _RATIO ** (-4 if defined else -12), 8 * finfo(x.dtype).eps * scale)
    steps = [step, step * _RATIO, step * _RATIO**2]
    while steps[-1] * _RATIO < scale / 64:
        steps.append(steps[-1] * _RATIO)
    return steps


def rounding_of(evaluate: Evaluation) -> list[Array]:
    """The precision of the outputs, as they are stored."""
    digits = [finfo(y.dtype).eps for y in evaluate.outputs.values()]
    return [eps * numpy.abs(y) for eps, y in zip(digits, evaluate(), strict=True)]


def best_of(estimates: tuple[Array, ...], rounding: list[Array], atol: float, rtol: float) -> tuple[Array, Array]:
    """The extrapolation, and its errors, from estimates with smaller to larger steps and known rounding errors.

    The error of an entry of the tableau is its distance from the entries it combines, plus rounding. Each element takes
    the first entry, from at least three steps, with a tolerable error: two steps may agree by chance, and smaller steps
    are safer for a function with kinks and jumps. If no error is tolerable, it takes the entry with the smallest.
    """
    best = numpy.full_like(estimates[0], numpy.nan)
    errors = numpy.full(best.shape, numpy.inf)
    is_exact = numpy.zeros(best.shape, bool)
    finer: list[Array] = []
    for n, estimate in enumerate(estimates):
        entries = [estimate]
        for order, fine in enumerate(finer):
            power = _RATIO ** (2 * order + 2)
            entry = (power * fine - entries[order]) / (power - 1)
            differences = numpy.maximum(numpy.abs(entry - fine), numpy.abs(entry - entries[order]))
            error = differences + rounding[n - 1 - order]
            entries.append(entry)
            if order:
                better = ~is_exact & (error < errors)
                best, errors = numpy.where(better, entry, best), numpy.where(better, error, errors)
        is_exact = errors <= atol + rtol * numpy.abs(best)
        finer = entries[:_ORDERS]
    return best, errors


class Numerical:
    """The derivatives of all outputs by one input, along the directions of a basis.

    partials: by unit of the step (1, and 1j for a complex input), a matrix for each output. Rows may be refined later.
    """

    def __init__(self, evaluate: Evaluation, x: Tensor, basis: Units, eps: float) -> None:
        self.evaluate, self.x, self.basis, self.eps = evaluate, x, basis, eps
        units: list[complex] = [1, 1j] if x.is_complex() else [1]
        self.partials = {unit: self.matrices(unit) for unit in units}
        self.refined: set[int] = set()

    def matrices(self, unit: complex) -> list[Array]:
        """For each output, one row for each direction."""
        rows = [
            central(self.evaluate, self.x, unit * v, self.eps, self.basis.label(k))
            for k, v in enumerate(self.basis.vectors())
        ]
        sizes = [y.numel() for y in self.evaluate.outputs.values()]
        kinds = [complex if y.is_complex() else float for y in self.evaluate.outputs.values()]
        return [
            numpy.array([row[o] for row in rows], dtype=kind).reshape(len(rows), size)
            for o, (size, kind) in enumerate(zip(sizes, kinds, strict=True))
        ]

    def tangents(self, output: int, unit: complex) -> Array:
        """The results of forward mode for steps along the basis, times 1 or 1j."""
        return self.partials[unit][output]

    def gradients(self, output: int, part: str) -> Array:
        """The results of backward mode for the real or the imaginary part of an output."""
        parts = [getattr(matrices[output], part) for matrices in self.partials.values()]
        return parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]

    def refine(self, row: int, atol: float, rtol: float) -> None:
        """Replace one row by extrapolated values where their errors are tolerable, or less than those they replace."""
        if row in self.refined:
            return
        self.refined.add(row)
        before = [rounding / self.eps for rounding in rounding_of(self.evaluate)]
        for unit, matrices in self.partials.items():
            defined = all(numpy.isfinite(matrix[row]).all() for matrix in matrices)
            steps = ladder(self.x, self.eps, defined)
            estimates = richardson(self.evaluate, self.x, unit * self.basis.vector(row), steps, atol, rtol)
            for matrix, (values, errors), bound in zip(matrices, estimates, before, strict=True):
                certain = (errors <= atol + rtol * numpy.abs(values)) | (errors < bound)
                matrix[row] = numpy.where(certain, values, matrix[row])


class ComplexStep(Numerical):
    """The same for a real analytic function by a complex step: Im f(x + ih) / h, exact to the last digits.

    Raises ValueError if the function drops the imaginary part.
    """

    _STEP = 1e-100

    def matrices(self, unit: complex) -> list[Array]:
        """For each output, one row for each direction."""
        if self.x.is_complex() or any(y.is_complex() for y in self.evaluate.outputs.values()):
            raise ValueError("a complex step needs real inputs and outputs; take method='central'")
        rows = [self.row(v) for v in self.basis.vectors()]
        sizes = [y.numel() for y in self.evaluate.outputs.values()]
        return [numpy.array([row[o] for row in rows]).reshape(len(rows), n) for o, n in enumerate(sizes)]

    def row(self, direction: Array) -> list[Array]:
        """The derivatives of all outputs along one direction."""
        point = tensor_of(self.x._array + 1j * self._STEP * direction)
        inputs = tuple(point if value is self.x else value for value in self.evaluate.inputs)
        try:
            results = results_of(self.evaluate.func, inputs)
        except (RuntimeError, TypeError) as error:
            raise ValueError(f"the function does not take complex numbers ({error}); take method='central'") from error
        values = [results[position] for position in self.evaluate.outputs]
        for position, y in zip(self.evaluate.outputs, values, strict=True):
            if not y.is_complex():
                raise ValueError(
                    f"a complex step is lost on the way to result {position}, which is {y.dtype}: the function takes "
                    "an absolute value, a real part or the like; take method='central'"
                )
        return [wide(y._array).reshape(-1).imag / self._STEP for y in values]
