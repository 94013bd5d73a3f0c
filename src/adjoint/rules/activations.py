"""Activations of neural networks: smooth, piecewise, and with random slopes.

At the kink of a piecewise function the derivative is one-sided, as in torch. elu, leaky_relu and prelu take the left
side at 0. hardtanh, hardsigmoid, hardshrink and softshrink take the flat side at their bounds.
"""

from math import inf, pi, sqrt
from typing import Any

from adjoint.arrays.dtypes import finfo, from_numpy_dtype, kind_of

from .declare import Array, Constant, Number, Numeric, elementwise, general, linear
from .reduce import part
from .refusals import check_number, refuse_clamp

_HIDDEN: dict[str, Any] = {"method": False, "function": False}


def require_real(name, *arrays):
    """Raise NotImplementedError for arrays that are not of real floating point numbers."""
    for array in arrays:
        if kind_of(array) != "f":
            raise NotImplementedError(f"\"{name}\" not implemented for '{from_numpy_dtype(array.dtype).long_name}'")


# exponential units ----------------------------------------------------------------------------------------------------


def _elu(xp, input: Array, alpha: Number = 1.0, scale=1.0, input_scale=1.0):
    """scale * alpha * (exp(input_scale * input) - 1) where the input is negative, scale * input elsewhere."""
    require_real("elu_cpu", input)
    # if the exponential is not selected it must not overflow, and a zero must not be multiplied by an infinite alpha
    curve = xp.expm1(xp.where(input < 0, input, -1) * input_scale)
    return xp.where(input < 0, curve * (alpha * scale), input * scale)


def _elu_product(ops, g, input, alpha, scale, input_scale):
    # the exponential gets negative numbers only, so that it cannot overflow if it is not selected
    powers = ops.exp(ops.where(input < 0, input, 0) * input_scale)
    return ops.where(input <= 0, g * powers * (alpha * scale * input_scale), g * scale)


for _name in ("elu", "celu"):
    elementwise(name=_name, input=_elu_product, inplace=True, **_HIDDEN)(_elu)

# gelu, silu, mish -----------------------------------------------------------------------------------------------------

_DENSITY = 1 / sqrt(2 * pi)


@elementwise(input=lambda ops, input: ops.exp(input * input * -0.5) * _DENSITY, **_HIDDEN)
def normal_cdf(xp, input: Array):
    """The distribution function of the standard normal distribution, as exact as the type of large arrays asks for."""
    return xp.normal_cdf(input)


# the constants of the approximation by tanh, from Hendrycks and Gimpel 2016
_OUTER, _INNER = sqrt(2 / pi), 0.044715


def _check_approximate(input, approximate):
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")


def _gelu_slope(ops, input, approximate):
    if approximate == "none":
        return ops.normal_cdf(input) + ops.exp(input * input * -0.5) * (input * _DENSITY)
    # beyond 30 the gate is 0 or 1 and flat; its argument would overflow
    near = ops.clamp(input, -30.0, 30.0)
    square = near * near
    gate = ops.sigmoid(near * (square * (2 * _OUTER * _INNER) + 2 * _OUTER))
    return gate + gate * (1 - gate) * near * (square * (6 * _OUTER * _INNER) + 2 * _OUTER)


@elementwise(input=_gelu_slope, check=_check_approximate, **_HIDDEN)
def gelu(xp, input: Array, approximate="none"):
    """input times the normal distribution function of it, or an approximation of that by tanh."""
    require_real("GeluKernelImpl", input)
    if approximate == "none":
        return input * xp.normal_cdf(input)
    # tanh(x) + 1 is twice the logistic function of 2 x, which keeps its digits where it is small
    return input * xp.expit(input * (input * input * (2 * _OUTER * _INNER) + 2 * _OUTER))


def _silu_slope(ops, input):
    gate = ops.sigmoid(input)
    return gate * (input * (1 - gate) + 1)


@elementwise(input=_silu_slope, inplace=True, **_HIDDEN)
def silu(xp, input: Array):
    """input * sigmoid(input)"""
    if kind_of(input) == "c":
        return input / (xp.exp(-input) + 1)
    require_real("silu_cpu", input)
    return input * xp.expit(input)


def _mish_gate(xp, input):
    # with e = exp(input) it is e (e + 2) / (e (e + 2) + 2), which is 1 long before e overflows
    powers = xp.exp(xp.minimum(input, 20))
    powers = powers * (powers + 2)
    return powers / (powers + 2)


@elementwise(input=lambda ops, y, input: (1 - y * y) * ops.sigmoid(input), **_HIDDEN)
def mish_gate(xp, input: Array):
    """tanh(softplus(input))"""
    return _mish_gate(xp, input)


def _mish_slope(ops, input):
    gate = ops.mish_gate(input)
    return gate + input * ops.sigmoid(input) * (1 - gate * gate)


@elementwise(input=_mish_slope, inplace=True, **_HIDDEN)
def mish(xp, input: Array):
    """input * tanh(softplus(input))"""
    require_real("mish_cpu", input)
    return input * _mish_gate(xp, input)


def _softplus_product(ops, g, input, beta, threshold):
    scaled = input * beta
    return ops.where(scaled > threshold, g, g * ops.sigmoid(scaled))


@elementwise(input=_softplus_product, **_HIDDEN)
def softplus(xp, input: Array, beta: Number = 1.0, threshold: Numeric = 20.0):
    """log(1 + exp(beta * input)) / beta; the input itself where beta * input > threshold."""
    require_real("softplus_cpu", input)
    scaled = input * beta
    return xp.where(scaled > threshold, input, xp.softplus(scaled) / beta)


@elementwise(input=lambda ops, input: ops.sigmoid(-input), node="LogSigmoidBackward0", **_HIDDEN)
def logsigmoid(xp, input: Array):
    """log(sigmoid(input)), without overflow."""
    require_real("log_sigmoid_cpu", input)
    return -xp.softplus(-input)


# rectifiers -----------------------------------------------------------------------------------------------------------


def _leaky(ops, g, input, negative_slope):
    return ops.leaky_relu_backward(g, input, ~(input > 0), negative_slope)


@elementwise(input=_leaky, inplace=True, **_HIDDEN)
def leaky_relu(xp, input: Array, negative_slope: Numeric = 0.01):
    """input where it is positive, negative_slope times it elsewhere."""
    require_real("leaky_relu_cpu", input)
    return xp.where(input > 0, input, input * negative_slope)


@elementwise(
    input=lambda ops, g, input, weight: ops.where(input > 0, g, g * weight),
    weight=lambda ops, g, input: ops.where(input > 0, 0, g * input),
    **_HIDDEN,
)
def prelu_kernel(xp, input: Array, weight: Array):
    """input where it is positive, weight times it elsewhere, broadcast."""
    require_real("prelu_cpu", input)
    return xp.where(input > 0, input, input * weight)


@linear(dtypes="same", inplace=True, **_HIDDEN)
def rrelu_with_noise(xp, input: Array, noise: Constant):
    """input times slopes drawn at random, which are 1 where it is positive."""
    return input * noise


@rrelu_with_noise.vjp("input")
def _(g, noise):
    return g * noise


def _check_threshold(input, threshold, value):
    for number in (threshold, value):
        check_number(from_numpy_dtype(input._array.dtype), number)


@elementwise(
    input=lambda ops, g, input, threshold: ops.threshold_backward(g, input, input <= threshold),
    inplace=True,
    check=_check_threshold,
    **_HIDDEN,
)
def threshold(xp, input: Array, threshold: Numeric, value: Number):
    """input where it is above the threshold, value elsewhere."""
    if kind_of(input) in "bc":
        raise NotImplementedError(f"\"threshold_cpu\" not implemented for '{from_numpy_dtype(input.dtype).long_name}'")
    if kind_of(input) == "f":
        return xp.where(input <= threshold, value, input)
    # integers cut fractions off and wrap around
    bound, value = [xp.astype(xp.asarray(_typed_bound(input, number)), input.dtype) for number in (threshold, value)]
    return xp.where(input <= bound, value, input)


# with bounds ----------------------------------------------------------------------------------------------------------


def _typed_bound(input, value):
    # a bound in the type of numbers that it bounds
    return int(value) if kind_of(input) in "iu" and abs(value) != inf else value


def _within(ops, g, input, min_val, max_val):
    return ops.hardtanh_backward(g, input, (input <= min_val) | (input >= max_val))


@elementwise(input=_within, inplace=True, **_HIDDEN)
def hardtanh(xp, input: Array, min_val=-1.0, max_val=1.0):
    """input with values below min_val raised to it and above max_val lowered to it; flat at the bounds."""
    if kind_of(input) == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    refuse_clamp(input)
    if kind_of(input) == "u" and _typed_bound(input, min_val) < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    # the bounds first: a zero keeps its sign
    return xp.minimum(_typed_bound(input, max_val), xp.maximum(_typed_bound(input, min_val), input))


@elementwise(
    input=lambda ops, g, input: ops.hardsigmoid_backward(g * (1 / 6), input, ~((input > -3) & (input < 3))),
    inplace=True,
    **_HIDDEN,
)
def hardsigmoid(xp, input: Array):
    """(input + 3) / 6, bounded to 0 and 1."""
    require_real("hardsigmoid_cpu", input)
    return xp.minimum(6, xp.maximum(0, input + 3)) * (1 / 6)


def _hardswish_product(ops, g, input):
    return ops.where(input <= -3, 0, ops.where(input < 3, g * ((input + 1.5) * (1 / 3)), g))


@elementwise(input=_hardswish_product, inplace=True, **_HIDDEN)
def hardswish(xp, input: Array):
    """input * hardsigmoid(input)"""
    require_real("hardswish_cpu", input)
    # the gate first: the product may be infinite where the sixth of it is not
    return input * (xp.minimum(6, xp.maximum(0, input + 3)) * (1 / 6))


@elementwise(input=lambda ops, g, input, lambd: ops.hardshrink_backward(g, input, ops.abs(input) <= lambd), **_HIDDEN)
def hardshrink(xp, input: Array, lambd=0.5):
    """input where it is farther from 0 than lambd, 0 elsewhere."""
    require_real("hardshrink_cpu", input)
    return xp.where(xp.abs(input) <= lambd, 0, input)


def _check_softshrink(input, lambd):
    largest = finfo(input.dtype).max if input.dtype.is_floating_point else inf
    if not 0 <= lambd <= largest:
        raise RuntimeError(
            f"lambda must be in range [0, {largest:g}] for input dtype {input.dtype.long_name}, but found {lambd:g}"
        )


@elementwise(
    input=lambda ops, g, input, lambd: ops.softshrink_backward(g, input, ops.abs(input) <= lambd),
    check=_check_softshrink,
    **_HIDDEN,
)
def softshrink(xp, input: Array, lambd=0.5):
    """input brought nearer to 0 by lambd."""
    require_real("softshrink_check", input)
    return input - xp.minimum(lambd, xp.maximum(-lambd, input))


# gated linear unit ----------------------------------------------------------------------------------------------------


def _halves(input, dim):
    half = input.shape[dim] // 2
    return input[part(dim, 0, half)], input[part(dim, half, 2 * half)]


def _check_glu(input, dim):
    if not input.ndim:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    if input.shape[dim] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {input.shape[dim]}")


@general(axes=("dim",), check=_check_glu, **_HIDDEN)
def glu(xp, input: Array, dim=-1):
    """The first half of the input along an axis times the sigmoid of the second."""
    require_real("glu_cpu", input)
    values, gates = _halves(input, dim)
    return values * xp.expit(gates)


@glu.vjp("input")
def _(ops, g, input, dim):
    values, gates = _halves(input, dim)
    gates = ops.sigmoid(gates)
    of_values = g * gates
    return ops.cat([of_values, of_values * (1 - gates) * values], dim)


@glu.jvp("input")
def _(ops, t, input, dim):
    values, gates = _halves(input, dim)
    of_values, of_gates = _halves(t, dim)
    gates = ops.sigmoid(gates)
    return gates * (of_values + of_gates * (1 - gates) * values)
