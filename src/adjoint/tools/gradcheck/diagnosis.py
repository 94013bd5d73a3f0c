"""Finds the largest difference of two Jacobians, and the fault of a backward formula that explains it.

A fault predicts the analytical Jacobian that it would cause. The first fault whose prediction is right is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy

from .functions import Array
from .messages import Mismatch


class Case(NamedTuple):
    """Two Jacobians that differ: rows by element of the input, columns by element of the output.

    unit: 1j for Jacobians of the imaginary part of an output (or of an input, in forward mode), else 1.
    close: returns the mask of equal entries.
    """

    numerical: Array
    analytical: Array
    input_shape: tuple[int, ...]
    output_shape: tuple[int, ...]
    unit: complex
    forward: bool
    close: Callable[[Array, Array], Array]

    def agrees(self, guess: Array) -> bool:
        """True if the analytical Jacobian is this matrix."""
        return guess.shape == self.analytical.shape and bool(self.close(self.analytical, guess).all())

    def without_unit(self, matrix: Array) -> Array:
        """A matrix without the factor i of an imaginary part, if it has this factor."""
        return matrix / self.unit if matrix.dtype.kind == "c" else matrix


def mismatch_of(case: Case, input: int, output: int) -> Mismatch:
    """The worst entry of a case, and the fault that it looks like. `input` and `output` are places."""
    n, a = case.numerical, case.analytical
    wrong = ~case.close(a, n)
    with numpy.errstate(all="ignore"):
        error = numpy.abs(a - n)
    ranked = numpy.where(wrong, numpy.where(numpy.isfinite(error), error, numpy.inf), -1.0)
    row, column = (int(i) for i in numpy.unravel_index(int(numpy.argmax(ranked)), n.shape))
    return Mismatch(
        input=input,
        output=output,
        input_at=place_of(row, case.input_shape),
        output_at=place_of(column, case.output_shape),
        numerical=n[row, column].item(),
        analytical=a[row, column].item(),
        error=float(error[row, column]),
        wrong=int(wrong.sum()),
        entries=n.size,
        fault=fault_of(case),
    )


def place_of(k: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The index of the k-th element."""
    return tuple(int(i) for i in numpy.unravel_index(k, shape))


def fault_of(case: Case) -> str | None:
    """The likely fault, as a sentence; None if no known fault fits the analytical Jacobian."""
    for diagnosis in (not_finite, nothing_arrives, should_be_zero, transformation, a_factor, not_summed):
        fault = diagnosis(case)
        if fault is not None:
            return fault
    return None


def not_finite(case: Case) -> str | None:
    """Are there NaN or inf?"""
    if not numpy.isfinite(case.numerical).all():
        return "the function itself gives NaN or inf near this input: move the input into the function's domain."
    if not numpy.isfinite(case.analytical).all():
        return (
            "the derivative formula gives NaN or inf where the function is smooth (0 * inf, 0 / 0, log or sqrt of 0)."
        )
    return None


def nothing_arrives(case: Case) -> str | None:
    """Is the analytical Jacobian zero?"""
    if case.agrees(numpy.zeros_like(case.numerical)):
        what = "no tangent leaves this input" if case.forward else "no gradient reaches this input"
        return f"{what}: the formula returns None or zeros for it, or a detach() or .data cuts the graph."
    return None


def should_be_zero(case: Case) -> str | None:
    """Is the numerical Jacobian zero?"""
    if case.close(case.numerical, numpy.zeros_like(case.numerical)).all():
        return "the output does not change with this input (or in steps, as round() does), so its derivative is zero."
    return None


def transformation(case: Case) -> str | None:
    """Is it the numerical Jacobian with the wrong sign, not conjugated, transposed?"""
    for guess, fault in transformations(case):
        if case.agrees(guess):
            return fault
    return None


def transformations(case: Case) -> Iterator[tuple[Array, str]]:
    """Guesses at the analytical Jacobian, and the faults that would make it so."""
    n, unit = case.numerical, case.unit
    if unit == 1:
        yield -n, "wrong sign."
    if n.dtype.kind == "c":
        conjugate = numpy.conj(case.without_unit(n)) * unit
        yield (
            conjugate,
            ("a conjugate is missing (or superfluous): forward mode multiplies by f', backward mode by its conjugate."),
        )
        yield -n, "wrong sign, or a conjugate is missing: only the imaginary part was looked at here."
        yield n.real + 0j, "the imaginary part is missing."
        yield 1j * n.imag, "the real part is missing."
    elif unit != 1:
        yield -n, "a conjugate is missing (or superfluous): the imaginary part has the wrong sign."
    if n.shape[0] == n.shape[1]:
        yield n.T, "the Jacobian is transposed: backward mode multiplies by its (conjugate) transpose."
    yield from (
        (guess, f"axes are transposed: the {what} is taken with its last two axes exchanged.")
        for guess, what in with_axes_exchanged(case)
    )


def with_axes_exchanged(case: Case) -> Iterator[tuple[Array, str]]:
    """The numerical Jacobian for an input, or an output, that was taken for its transpose."""
    n, (rows, columns) = case.numerical, case.numerical.shape
    argument, result = ("tangent", "result") if case.forward else ("gradient of this input", "cotangent of the output")
    if len(case.input_shape) > 1:
        *batch, p, q = case.input_shape
        for shape in {(p, q), (q, p)}:
            yield n.reshape(*batch, *shape, columns).swapaxes(-2, -3).reshape(n.shape), argument
    if len(case.output_shape) > 1:
        *batch, p, q = case.output_shape
        for shape in {(p, q), (q, p)}:
            yield n.reshape(rows, *batch, *shape).swapaxes(-1, -2).reshape(n.shape), result


def a_factor(case: Case) -> str | None:
    """Is it a multiple of the numerical Jacobian?"""
    n, a = case.numerical, case.analytical
    factor = numpy.vdot(n, a) / numpy.vdot(n, n).real
    if not case.agrees(factor * n) or abs(factor) < 1e-12:
        return None
    real = float(factor.real)
    if abs(factor.imag) > 1e-6 * abs(factor):
        return (
            f"the analytical derivative is {complex(factor):.6g} times the numerical one: a constant factor is wrong."
        )
    repeats = repetitions(case)
    if repeats > 1 and math.isclose(real * repeats, 1, rel_tol=1e-4):
        return (
            f"the analytical derivative is 1/{repeats} of the numerical one: the cotangent is averaged over axes along "
            "which this input is broadcast; take the sum."
        )
    return f"the analytical derivative is {fraction_text(real)} times the numerical one: a constant factor is wrong."


def repetitions(case: Case) -> int:
    """The number of output elements that depend on one input element."""
    rows, columns = case.numerical.shape
    return columns // rows if columns % rows == 0 else 1


def fraction_text(value: float) -> str:
    """A number as a simple fraction where it is one.

    >>> fraction_text(0.5), fraction_text(-3.0000001), fraction_text(0.7071)
    ('1/2', '-3', '0.7071')
    """
    from fractions import Fraction

    fraction = Fraction(value).limit_denominator(20)
    return str(fraction) if math.isclose(fraction, value, rel_tol=1e-5) else f"{value:.6g}"


def not_summed(case: Case) -> str | None:
    """Is it right in some columns and zero in the others, in which the input takes part too?"""
    n, a = case.numerical, case.analytical
    right = case.close(a, n)
    absent = case.close(a, numpy.zeros_like(a))
    if not (right | absent).all():
        return None
    nonzero = ~case.close(n, numpy.zeros_like(n))
    n_right, n_zero = int((nonzero & right).sum()), int((nonzero & ~right).sum())
    if repetitions(case) > 1 and n_right and n_zero:
        return (
            "a broadcast reduction is missing: each element of this input takes part in several elements of the "
            "output, but not all of their cotangents are summed."
        )
    return f"{n_zero} of {n_right + n_zero} entries are left out (zero), the others are right."
