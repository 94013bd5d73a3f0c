"""Normalisation: arrays brought to mean 0 and variance 1 over some axes, or to mean square 1.

One rule serves batch, layer, group and instance normalisation, under three names because torch's nodes have three. What
was divided by is a result of its own, and has a derivative: so the way back has what it needs without a second pass over
the input, and can itself be differentiated.
"""

from .activations import require_real
from .declare import Array, general
from .reduce import count

_own = {"axes": ("dims",), "method": False, "function": False}


def _is_constant_over(shape, dims):
    return all(shape[axis] == 1 for axis in dims)


def _standardize(message):
    def kernel(xp, input: Array, weight: Array = None, bias: Array = None, dims=None, eps=1e-5):
        require_real(message, input)
        n = max(count(input.shape, dims), 1)
        mean = xp.sum(input, axis=dims, keepdims=True) / n
        offset = input - mean
        var = xp.sum(offset * offset, axis=dims, keepdims=True) / n
        factor = 1 / xp.sqrt(var + eps)
        output = offset * (factor if weight is None else factor * weight)
        return (output if bias is None else output + bias), mean, var

    kernel.__doc__ = (
        "The input less its mean, over its standard deviation, times weight and plus bias; mean; variance.\n\n"
        "weight and bias broadcast to the input and have its number of axes; eps is added to the variance."
    )
    return kernel


def _pulled(ops, g, input, weight, bias_shape, y1, y2, dims, eps, needs):
    # with offset x - mean and factor r = (var + eps) ** -0.5 the output is offset * r * weight; the mean of the offset is
    # 0, so what the mean contributes to the variance vanishes
    of_output, of_mean, of_var = g
    n = max(count(input.shape, dims), 1)
    offset, factor = input - y1, ops.rsqrt(y2 + eps)
    if weight is None or _is_constant_over(weight.shape, dims):
        # sums first, then products of what is left
        total = ops.sum(of_output, dims, True)
        moment = ops.sum(of_output * offset, dims, True)
        of_weight = moment * factor
        of_bias = total if needs[2] and _is_constant_over(bias_shape, dims) else of_output
        outer = factor
        if weight is not None:
            total, moment, outer = total * weight, moment * weight, factor * weight
        direct = of_output * outer
    else:
        passed = of_output * weight
        total = ops.sum(passed, dims, True)
        moment = ops.sum(passed * offset, dims, True)
        of_weight, of_bias = of_output * offset * factor if needs[1] else None, of_output
        direct = passed * factor
    if not needs[0]:
        return None, of_weight, of_bias
    slope = (2 * of_var - factor * factor * factor * moment) / n
    return direct + (offset * slope + (of_mean - factor * total) / n), of_weight, of_bias


def _pushed(ops, t, input, weight, y1, y2, dims, eps):
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
    _rule = general(name=_name, outputs=("output", "mean", "var"), **_own)(_standardize(_message))
    _rule.vjp("input", "weight", "bias")(_pulled)
    _rule.jvp("input")(_pushed)

    @_rule.jvp("weight")
    def _(ops, t, input, y1, y2, eps):
        return t * ((input - y1) * ops.rsqrt(y2 + eps)), None, None

    @_rule.jvp("bias")
    def _(ops, t, input_shape):
        return ops.expand(t, input_shape), None, None


@general(outputs=("output", "mean_square"), **_own)
def fused_rms_norm(xp, input: Array, weight: Array = None, dims=None, eps=1e-5):
    """The input over the root of its mean square, times weight; the mean square, to which eps is added under the root."""
    require_real("rms_norm", input)
    square = xp.sum(input * input, axis=dims, keepdims=True) / max(count(input.shape, dims), 1)
    output = input * (1 / xp.sqrt(square + eps))
    return (output if weight is None else output * weight), square


@fused_rms_norm.vjp("input", "weight")
def _(ops, g, input, weight, y1, dims, eps, needs):
    of_output, of_square = g
    factor = ops.rsqrt(y1 + eps)
    of_weight = of_output * input * factor if needs[1] else None
    if not needs[0]:
        return None, of_weight
    passed = of_output if weight is None else of_output * weight
    moment = ops.sum(passed * input, dims, True)
    slope = (2 * of_square - factor * factor * factor * moment) / max(count(input.shape, dims), 1)
    return passed * factor + input * slope, of_weight


@fused_rms_norm.jvp("input")
def _(ops, t, input, weight, y1, dims, eps):
    factor = ops.rsqrt(y1 + eps)
    moment = ops.sum(input * t, dims, True) / max(count(input.shape, dims), 1)
    of_output = t * factor - input * (factor * factor * factor * moment)
    return of_output if weight is None else of_output * weight, 2 * moment


@fused_rms_norm.jvp("weight")
def _(ops, t, input, y1, eps):
    return t * (input * ops.rsqrt(y1 + eps)), None
