"""Solutions of linear equations in scipy.special: functions of Mathieu, spheroidal ones, parabolic cylinders.

As functions of their argument they solve an equation of the second order, which gives derivatives of any order
(`adjoint.rules.closed_forms`). Characteristic values, and angular functions of Mathieu, also have derivatives by the
parameter of their equation. They are eigenvalues and eigenvectors of a matrix that is linear in this parameter.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy
import scipy.special

from adjoint.interop.operands import is_tracked, plain
from adjoint.interop.scipy_functions.distributions.univariate import over_batches
from adjoint.interop.scipy_functions.pieces import column, constants
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Formula = Callable[..., Any]


def number(name: str, what: str, value: Tensor) -> float:
    """A parameter without a derivative, as one number. Raises TypeError for several numbers, or a tracked one."""
    if value.ndim or is_tracked(value):
        raise TypeError(
            f"{name}: {what} must be one constant number, since it has no derivative; got shape {tuple(value.shape)}: "
            "call item()"
        )
    return float(plain(value))


def order(name: str, what: str, value: Tensor) -> int:
    """An integer. Raises TypeError for other objects."""
    order = number(name, what, value)
    if order != int(order):
        raise TypeError(f"{name}: {what} must be a whole number, not {order}")
    return int(order)


def _pair(name: str, z: Tensor, parameters: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    return ops.special_function(z, name, parameters), ops.special_function(z, name + "p", parameters)


def parabolic(name: str) -> Formula:
    """A parabolic cylinder function and its slope, of the order and the argument."""
    return lambda v, x: _pair(name, x, (number(name, "the order", v),))


# characteristic values ------------------------------------------------------------------------------------------------


def _tridiagonal(diagonal: Any, beside: Any) -> Any:
    return numpy.diag(diagonal) + numpy.diag(beside, 1) + numpy.diag(beside, -1)


def _eigen(constant: Any, linear: Any, parameter: Tensor) -> tuple[Tensor, Tensor]:
    """Eigenvalues and vectors of constant + parameter * linear, for each element of the parameter."""
    matrices = constants(constant, parameter) + column(column(parameter)) * constants(linear, parameter)
    return ops.linalg_eigh(matrices, "L")


def _size(count: int, strength: float) -> int:
    """The number of rows that the first eigenvectors, up to a number of them, need for all digits."""
    return count + 20 + math.ceil(1.5 * math.sqrt(strength))


def _mathieu(name: str, m: int, q: Tensor, is_even: bool) -> tuple[Tensor, Tensor, Any]:
    """The characteristic value, the coefficients of the function and its frequencies (DLMF 28.4.5-8)."""
    if m < (0 if is_even else 1):
        raise TypeError(f"{name}: the order must be {'at least 0' if is_even else 'positive'}, not {m}")
    size = _size(m, float(numpy.max(abs(q.detach()._array), initial=0.0)))
    start = m % 2 if is_even or m % 2 else 2
    frequencies = start + 2.0 * numpy.arange(size)
    linear = _tridiagonal(numpy.zeros(size), numpy.ones(size - 1))
    if start == 1:
        linear[0, 0] = 1 if is_even else -1
    if start == 0:
        linear[0, 1] = linear[1, 0] = math.sqrt(2)
    values, vectors = _eigen(numpy.diag(frequencies**2), linear, q)
    index = (m - start) // 2
    coefficients = vectors[..., index]
    if start == 0:
        scale = numpy.ones(size)
        scale[0] = math.sqrt(0.5)
        coefficients = coefficients * constants(scale, q)
    return values[..., index], _sign(coefficients, frequencies, m, q, is_even) * coefficients, frequencies


def _sign(coefficients: Tensor, frequencies: Any, m: int, q: Tensor, is_even: bool) -> Tensor:
    """The sign that makes ce(0), or the slope of se there, positive.

    For q > 0 it is read off at pi / 2, where functions are large: there the sign of the value, or of the slope, is that
    for q = 0.
    """
    has_slope = is_even == bool(m % 2)
    at_0 = numpy.ones(len(frequencies)) if is_even else frequencies
    at_end = (frequencies if has_slope else 1.0) * (-1.0) ** (frequencies // 2 + m // 2)
    values = coefficients.detach()
    sums = [ops.sum(values * constants(weights, q), (-1,), True) for weights in (at_0, at_end)]
    return ops.sign(ops.where(column(q.detach()) < 0, *sums))


def mathieu_value(name: str, is_even: bool) -> Formula:
    """A characteristic value of Mathieu's equation, of the order and q."""

    def apply(m: Tensor, q: Tensor) -> Tensor:
        order_value = order(name, "the order", m)
        return over_batches(lambda q: _mathieu(name, order_value, q, is_even)[0], [q])

    return apply


def mathieu(name: str, is_even: bool) -> Formula:
    """An angular function of Mathieu and its slope, of the order, q and an angle in degrees."""

    def wave(m: int, is_slope: bool, q: Tensor, x: Tensor) -> Tensor:
        _, coefficients, frequencies = _mathieu(name, m, q, is_even)
        angles = column(x * (math.pi / 180)) * constants(frequencies, x)
        waves = ops.cos(angles) if is_even != is_slope else ops.sin(angles)
        if is_slope:
            waves = waves * constants(-frequencies if is_even else frequencies, x)
        return ops.sum(coefficients * waves, (-1,), False)

    def apply(m: Tensor, q: Tensor, x: Tensor) -> tuple[Tensor, ...]:
        order_value = order(name, "the order", m)
        return tuple(
            [over_batches(functools.partial(wave, order_value, is_slope), [q, x]) for is_slope in (False, True)]
        )

    return apply


def modified_mathieu(name: str) -> Formula:
    """A radial function of Mathieu and its slope, of the order, q and the argument."""
    value = scipy.special.mathieu_a if "cem" in name else scipy.special.mathieu_b

    def apply(m: Tensor, q: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        parameters = order(name, "the order", m), number(name, "q", q)
        return _pair(name, x, (*parameters, float(value(*parameters))))

    return apply


def spheroidal_value(name: str, sign: int) -> Formula:
    """A characteristic value of the spheroidal equation, of the orders m and n and of c (DLMF 30.3.5, 30.16.1)."""

    def apply(m: Tensor, n: Tensor, c: Tensor) -> Tensor:
        m_, n_ = order(name, "m", m), order(name, "n", n)
        return over_batches(functools.partial(of_orders, m_, n_), [c])

    def of_orders(m_: int, n_: int, c: Tensor) -> Tensor:
        if not 0 <= m_ <= n_:
            raise TypeError(f"{name}: the orders must be 0 <= m <= n, not {m_} and {n_}")
        strength = float(numpy.max(c.detach()._array ** 2, initial=0.0))
        index = (n_ - m_) // 2
        degrees = m_ + (n_ - m_) % 2 + 2.0 * numpy.arange(_size(index, strength))
        square = degrees * (degrees + 1)
        diagonal = (2 * square - 2 * m_ * m_ - 1) / ((2 * degrees - 1) * (2 * degrees + 3))
        low = degrees[:-1]
        roots = ((low + 1) ** 2 - m_ * m_) * ((low + 2) ** 2 - m_ * m_) / ((2 * low + 1) * (2 * low + 5))
        linear = sign * _tridiagonal(diagonal, numpy.sqrt(roots) / (2 * low + 3))
        return _eigen(numpy.diag(square), linear, c * c)[0][..., index]

    return apply


def spheroidal(name: str, value: numpy.ufunc | None = None) -> Formula:
    """A spheroidal function and its slope, of orders, c, the characteristic value where it is given, and argument."""

    def apply(*values: Tensor) -> tuple[Tensor, Tensor]:
        *parameters, x = values
        m, n = (order(name, which, each) for which, each in zip("mn", parameters, strict=False))
        c, *others = (number(name, "c", parameter) for parameter in parameters[2:])
        characteristic = float(value(m, n, c)) if value is not None else others[0]
        return _pair(f"{name.removesuffix('_cv')}_cv", x, (m, n, c, characteristic))

    return apply


_FORMS = ("ang1", "rad1", "rad2")

#: Ufuncs of scipy.special, over Tensors.
EQUATIONS: dict[str, Formula] = {
    **{name: parabolic(name) for name in ("pbdv", "pbvv", "pbwa")},
    "mathieu_a": mathieu_value("mathieu_a", True),
    "mathieu_b": mathieu_value("mathieu_b", False),
    "mathieu_cem": mathieu("mathieu_cem", True),
    "mathieu_sem": mathieu("mathieu_sem", False),
    **{name: modified_mathieu(name)
       for name in ("mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1", "mathieu_modsem2")},
    "pro_cv": spheroidal_value("pro_cv", 1),
    "obl_cv": spheroidal_value("obl_cv", -1),
    **{f"{kind}_{form}": spheroidal(f"{kind}_{form}", getattr(scipy.special, f"{kind}_cv"))
       for kind in ("pro", "obl") for form in _FORMS},
    **{f"{kind}_{form}_cv": spheroidal(f"{kind}_{form}_cv") for kind in ("pro", "obl") for form in _FORMS},
}  # fmt: skip
