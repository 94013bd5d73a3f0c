"""Normalisation: arrays brought to mean 0 and variance 1 over some axes, or to mean square 1.

One rule serves batch, layer, group and instance normalisation, under three names because torch's nodes have three. The
mean and the divisor are results of their own, and have derivatives. So the backward pass needs no second pass over the
input, and can itself be differentiated.
"""

from adjoint.arrays.kernels import vectors
from adjoint.arrays.namespace import native, row_major

from .activations import require_real
from .declare import Array, Numeric, general
from .reduce import count

_SHOWN = {"input": "input", "y1": None, "y2": None, "dims": None, "bias_shape": None}
_OPTIONS = {"axes": ("dims",), "method": False, "function": False, "shown": _SHOWN}


def _standardize(message):
    def kernel(xp, input: Array, weight: Array = None, bias: Array = None, dims=None, eps: Numeric = 1e-5):
        require_real(message, input)
        results = vectors.standardize(input, weight, bias, dims, eps)
        if results is not None:
            return results
        n = max(count(input.shape, dims), 1)
        mean = xp.sum(input, axis=dims, keepdims=True) / n
        offset = input - mean
        var = xp.sum(offset * offset, axis=dims, keepdims=True) / n
        factor = 1 / xp.sqrt(var + eps)
        offset *= factor
        if weight is not None:
            offset *= weight
        if bias is not None:
            offset += bias
        # batch normalization keeps the layout of its input
        is_over_rows = dims == tuple(range(input.ndim - len(dims), input.ndim))
        return row_major(offset) if is_over_rows else offset, mean, var

    kernel.__doc__ = (
        "The input less its mean, over its standard deviation, times weight and plus bias; mean; variance.\n\n"
        "weight and bias broadcast to the input and have its number of axes; eps is added to the variance."
    )
    return kernel


def _constant_axes(shape, dims):
    # the axes along which a parameter of this shape is one number
    return tuple([axis for axis in dims if shape[axis] == 1])


def _vjp(ops, g, input, weight, bias_shape, y1, y2, dims, eps, needs):
    # with x the standardised input and f = (var + eps) ** -0.5 the output is x * weight + bias; the mean of x is 0, so
    # the mean's contribution to the variance vanishes. Sums along axes of one weight come before the weight.
    cotangents = native(vectors.standardize_back, g, input, weight, bias_shape, y1, y2, dims, eps, needs)
    if cotangents is not None:
        return cotangents
    of_output, of_mean, of_var = g
    n = max(count(input.shape, dims), 1)
    factor = ops.rsqrt(y2 + eps)
    standard = (input - y1) * factor
    first = dims if weight is None else _constant_axes(weight.shape, dims)
    total = ops.sum(of_output, first, True) if first else of_output
    moment = ops.sum_product(of_output, standard, first) if first else of_output * standard
    of_weight = moment
    of_bias = total if needs[2] and first and _constant_axes(bias_shape, first) == first else of_output
    if not needs[0]:
        return None, of_weight, of_bias
    outer = factor
    if weight is not None and first == dims:
        total, moment, outer = total * weight, moment * weight, factor * weight
    elif weight is not None:
        rest = tuple([axis for axis in dims if axis not in first])
        total, moment = ops.sum_product(total, weight, rest), ops.sum_product(moment, weight, rest)
        of_output = of_output * weight
    slope = (2 * of_var / factor - factor * moment) / n
    shift = (of_mean - factor * total) / n
    return ops.multiply_add(of_output, outer, ops.multiply_add(standard, slope, shift)), of_weight, of_bias


def _jvp(ops, t, input, weight, y1, y2, dims, eps):
    offset, factor = input - y1, ops.rsqrt(y2 + eps)
    n = max(count(input.shape, dims), 1)
    of_mean = ops.sum(t, dims, True) / n
    moment = ops.sum(offset * t, dims, True) / n
    of_output = (t - of_mean) * factor - offset * (factor * factor * factor * moment)
    return of_output if weight is None else of_output * weight, of_mean, 2 * moment


for _name, _message in (
    ("native_batch_norm", "batch_norm"),
    ("native_layer_norm", "LayerNormKernelImpl"),
    ("native_group_norm", "GroupNormKernelImpl"),
):
    _rule = general(name=_name, outputs=("output", "mean", "var"), rounded=1, **_OPTIONS)(_standardize(_message))
    _rule.vjp("input", "weight", "bias")(_vjp)
    _rule.jvp("input")(_jvp)

    @_rule.jvp("weight")
    def _(ops, t, input, y1, y2, eps):
        return t * ((input - y1) * ops.rsqrt(y2 + eps)), None, None

    @_rule.jvp("bias")
    def _(ops, t, input_shape):
        return ops.expand(t, input_shape), None, None


@general(outputs=("output", "mean_square"), rounded=1, **_OPTIONS)
def fused_rms_norm(xp, input: Array, weight: Array = None, dims=None, eps: Numeric = 1e-5):
    """The input over the root of its mean square plus eps, times weight; and the mean square."""
    require_real("rms_norm", input)
    square = xp.sum(input * input, axis=dims, keepdims=True) / max(count(input.shape, dims), 1)
    output = input * (1 / xp.sqrt(square + eps))
    if weight is not None:
        output *= weight
    return row_major(output), square


@fused_rms_norm.vjp("input", "weight")
def _(ops, g, input, weight, y1, dims, eps, needs):
    of_output, of_square = g
    factor = ops.rsqrt(y1 + eps)
    of_weight = of_output * input * factor if needs[1] else None
    if not needs[0]:
        return None, of_weight
    of_normalized = of_output if weight is None else of_output * weight
    moment = ops.sum_product(of_normalized, input, dims)
    slope = (2 * of_square - factor * factor * factor * moment) / max(count(input.shape, dims), 1)
    return ops.multiply_add(of_normalized, factor, input * slope), of_weight


@fused_rms_norm.jvp("input")
def _(ops, t, input, weight, y1, dims, eps):
    factor = ops.rsqrt(y1 + eps)
    moment = ops.sum(input * t, dims, True) / max(count(input.shape, dims), 1)
    of_output = t * factor - input * (factor * factor * factor * moment)
    return of_output if weight is None else of_output * weight, 2 * moment


@fused_rms_norm.jvp("weight")
def _(ops, t, input, y1, eps):
    return t * (input * ops.rsqrt(y1 + eps)), None
