"""Losses: of each element with one of the target, of classes, and connectionist temporal classification.

The result of `reduction` "none" is the loss of each element; "sum" and "mean" reduce it in the same step, so that the
way back makes one array of the input's size and no more.
"""

from math import nan, prod

from adjoint.arrays.kernels import scatter
from adjoint.arrays.kernels.vectors import run_paths
from adjoint.arrays.namespace import count_true, first_outside, namespace, native, underlying

from .activations import require_real
from .declare import Array, Constant, Kernels, general, linear
from .reduce import axes_of, count, dims_of, restore

_HIDDEN = {"method": False, "function": False}

# element by element ---------------------------------------------------------------------------------------------------


def _reduce(xp, losses, reduction, dim):
    if reduction == "none":
        return losses
    total = xp.sum(losses, axis=axes_of(losses, dim))
    return total / count(losses.shape, dim) if reduction == "mean" else total


def _scale(g, shape, reduction, dim):
    # the cotangent of each element's loss
    if reduction == "none":
        return g
    return restore(g / max(count(shape, dim), 1) if reduction == "mean" else g, shape, dim, False)


_REDUCTIONS = ("none", "mean", "sum")


def _shown_reduction(reduction):
    # torch's nodes have its number
    return {"reduction": _REDUCTIONS.index(reduction)}


def _loss(name, message, value, by_input, by_target=None, node=None, parameter=None):
    """Declare a loss of elements, and its derivatives times a scale, by functions of input, target and parameter.

    input and target have the same shape; `dim` are the axes to reduce, None for all. by_target is None for a function
    of their difference, whose slopes are opposite, and computed once. parameter: its name in torch.
    """
    partials = {"input": by_input, "target": by_target or _opposite(by_input)}

    def kernel(xp, input: Array, target: Array, parameter=None, reduction="mean", dim=None):
        require_real(message, input)
        return _reduce(xp, value(xp, input, target, parameter), reduction, dim)

    kernel.__doc__ = f"{name.replace('_', ' ').capitalize()} of input and target."
    node_names = {"parameter": parameter, "dim": None, "reduction": None}
    options = {"axes": ("dim",), "node": node, "shown": node_names, "attributes": _shown_reduction, **_HIDDEN}
    rule = general(name=name, **options)(kernel)

    @rule.vjp("input", "target")
    def _(ops, g, input, target, parameter, reduction, dim, needs):
        scale = _scale(g, input.shape, reduction, dim)
        if by_target is None and all(needs):
            slope = by_input(ops, scale, input, target, parameter)
            return slope, -slope
        bys = partials.values()
        return tuple(
            [by(ops, scale, input, target, parameter) if n else None for by, n in zip(bys, needs, strict=True)]
        )

    def derive(position, by):
        @rule.jvp(position)
        def _(ops, t, input, target, parameter, reduction, dim):
            change = by(ops, t, input, target, parameter)
            if reduction == "none":
                return change
            return (ops.mean if reduction == "mean" else ops.sum)(change, dim)

    for position, by in partials.items():
        derive(position, by)


def _opposite(by):
    # the derivative by the target of a loss of input - target
    return lambda ops, scale, input, target, parameter: by(ops, -scale, input, target, parameter)


def _square(xp, input, target, parameter):
    difference = input - target
    return difference * difference


def _two_differences(ops, scale, input, target, parameter):
    return (input - target) * (2 * scale)


_loss("mse_loss", "mse_cpu", _square, _two_differences)


def _huber(xp, input, target, delta):
    # |d| bounded by delta is the slope; half of it lies under the quadratic part
    size = xp.abs(input - target)
    slope = xp.minimum(size, delta)
    return slope * (size - slope * 0.5)


def _huber_slope(ops, scale, input, target, delta):
    return ops.hardtanh(input - target, -delta, delta) * scale


def _smooth(xp, input, target, beta):
    return _huber(xp, input, target, beta) * (1 / beta)


def _smooth_slope(ops, scale, input, target, beta):
    return ops.hardtanh(input - target, -beta, beta) * (scale * (1 / beta))


_loss("huber_loss", "huber_cpu", _huber, _huber_slope, parameter="delta")
_loss(
    "smooth_l1_loss",
    "smooth_l1_cpu",
    _smooth,
    _smooth_slope,
    node="SmoothL1LossBackward0",
    parameter="beta",
)

_loss(
    "soft_margin_loss",
    "soft_margin_loss",
    lambda xp, input, target, parameter: xp.softplus(-target * input),
    lambda ops, scale, input, target, parameter: -target * ops.sigmoid(-target * input) * scale,
    lambda ops, scale, input, target, parameter: -input * ops.sigmoid(-target * input) * scale,
)


def _divergence(xp, input, target, log_target):
    if log_target:
        return xp.exp(target) * (target - input)
    # 0 log 0 is 0
    return target * (xp.log(xp.where(target == 0, 1, target)) - input)


def _divergence_by_input(ops, scale, input, target, log_target):
    return -(ops.exp(target) if log_target else target) * scale


def _divergence_by_target(ops, scale, input, target, log_target):
    if log_target:
        return ops.exp(target) * (target - input + 1) * scale
    # a cotangent of zero hides the logarithm's poles
    return ops.xlogy(scale, target) + (1 - input) * scale


_loss("kl_div", "kl_div", _divergence, _divergence_by_input, _divergence_by_target)

# a logarithm counts as -100 at least, and a variance as 1e-12, so that certain predictions have finite losses
_LEAST_LOG, _LEAST_VARIANCE = -100, 1e-12


def _cross_entropy(xp, input, target, parameter):
    if not xp.all((input >= 0) & (input <= 1)):
        raise RuntimeError("all elements of input should be between 0 and 1")
    # if a logarithm is infinite, the bound replaces it; the logarithm gets 1 there
    zero, one = input == 0, input == 1
    of_one = xp.maximum(xp.where(zero, _LEAST_LOG, xp.log(xp.where(zero, 1, input))), _LEAST_LOG)
    of_zero = xp.maximum(xp.where(one, _LEAST_LOG, xp.log1p(xp.where(one, 0, -input))), _LEAST_LOG)
    return (target - 1) * of_zero - target * of_one


def _cross_entropy_by_input(ops, scale, input, target, parameter):
    return (input - target) / ops.clamp(input * (1 - input), _LEAST_VARIANCE) * scale


def _cross_entropy_by_target(ops, scale, input, target, parameter):
    return (ops.log1p(-input) - ops.log(input)) * scale


_loss(
    "binary_cross_entropy",
    "binary_cross_entropy",
    _cross_entropy,
    _cross_entropy_by_input,
    _cross_entropy_by_target,
)

_loss(
    "binary_cross_entropy_with_logits",
    "log_sigmoid_cpu",
    lambda xp, input, target, parameter: xp.softplus(input) - input * target,
    lambda ops, scale, input, target, parameter: (ops.sigmoid(input) - target) * scale,
    lambda ops, scale, input, target, parameter: -input * scale,
)

# classes --------------------------------------------------------------------------------------------------------------
# The target has an axis of size 1 in place of the input's class axis, and the weight has the input's number of axes, so
# that all of them can take a batch axis in front.


def _class_entries(xp, target, weight, ignore_index, shape, dim, dtype):
    """The index of each sample's class in an array of this shape, its weight (a number if it is 1 everywhere), and the
    mask of samples that count: None if all do."""
    if weight is not None:
        # the arithmetic of half precision is done in another type
        weight = xp.broadcast_to(xp.astype(weight, dtype), shape)
    classes = shape[dim]
    counts = None
    if 0 <= ignore_index < classes or not (scatter.compiled and scatter.are_within(target, 0, classes)):
        counts = target != ignore_index
    if counts is None or xp.all(counts):
        where = xp.along_axis(target, dim)
        return where, 1 if weight is None else xp.getitem(weight, where), None
    where = xp.along_axis(xp.where(counts, target, 0), dim)
    return where, counts if weight is None else xp.where(counts, xp.getitem(weight, where), 0), counts


def _times(xp, values, weights, counts):
    # values that do not count may be infinite or undefined
    if counts is not None:
        values = xp.where(counts, values, 0)
    return values if type(weights) is int else values * weights


def _total_weight(xp, weights, shape, over, dtype, keepdims):
    """The sum of the weights of an array of this shape, over axes: a number if all are 1."""
    if type(weights) is int:
        return count(shape, over)
    return xp.astype(xp.asarray(xp.sum(weights, axis=axes_of(weights, over), keepdims=keepdims)), dtype)


def _check_nll(input, target, weight, ignore_index, reduction, dim, over):
    classes, raw = input._array.shape[dim], underlying(target._array)
    if first_outside(raw, 0, classes) is not None:
        outside = ((raw < 0) | (raw >= classes)) & (raw != ignore_index)
        if count_true(outside):
            raise IndexError(f"Target {int(raw[outside][0])} is out of bounds.")


@linear(
    axes=("dim", "over"),
    dtypes="same",
    batching="joint",
    check=_check_nll,
    shown={"dim": None, "over": None, "reduction": None, "input_shape": None},
    attributes=_shown_reduction,
    **_HIDDEN,
)
def nll_loss(
    xp,
    input: Array,
    target: Constant,
    weight: Constant = None,
    ignore_index=-100,
    reduction="mean",
    dim=1,
    over=None,
):
    """-weight[c] * input[c] for the class c of each sample; ignored samples, whatever their elements, give 0.

    The mean is over the weights. `over` are the axes to reduce, None for all.
    """
    require_real("nll_loss_out_frame" if input.ndim <= 2 else "nll_loss2d_forward_out_frame", input)
    if not input.shape[dim]:
        # without classes every place is ignored
        weights = losses = xp.zeros(target.shape, dtype=input.dtype)
    else:
        where, weights, counts = _class_entries(xp, target, weight, ignore_index, input.shape, dim, input.dtype)
        losses = _times(xp, -xp.getitem(input, where), weights, counts)
    if reduction == "none":
        return xp.squeeze(losses, axis=dim)
    total = xp.sum(losses, axis=axes_of(losses, over))
    if reduction == "mean":
        total = total / _total_weight(xp, weights, target.shape, over, input.dtype, False)
    return total


@nll_loss.vjp("input")
def _(ops, g, target, input_shape, weight, ignore_index, reduction, dim, over):
    return ops.nll_spread(g, target, input_shape, weight, ignore_index, reduction, dim, over)


@linear(dtypes="same", batching="joint", **_HIDDEN)
def nll_spread(
    xp,
    input: Array,
    target: Constant,
    shape,
    weight: Constant = None,
    ignore_index=-100,
    reduction="mean",
    dim=1,
    over=None,
):
    """The transpose of nll_loss: zeros of a shape, with cotangents times weights in the places that target names."""
    result = xp.zeros(shape, dtype=input.dtype)
    if not shape[dim]:
        return result
    where, weights, counts = _class_entries(xp, target, weight, ignore_index, shape, dim, input.dtype)
    if over is None and reduction != "none":
        g = -input  # one number for all samples
    else:
        g = -xp.expand_dims(input, axis=dim if reduction == "none" else dims_of(over, len(shape)))
    if reduction == "mean":
        g = g / _total_weight(xp, weights, target.shape, over, input.dtype, g.ndim > 0)
    xp.setitem(result, where, xp.broadcast_to(xp.asarray(_times(xp, g, weights, counts)), target.shape))
    return result


@nll_spread.vjp("input")
def _(ops, g, target, weight, ignore_index, reduction, dim, over):
    return ops.nll_loss(g, target, weight, ignore_index, reduction, dim, over)


@nll_spread.batch
def _(size, shape, dim, over):
    axes = tuple([axis + 1 for axis in dims_of(over, len(shape))])
    return {"shape": (size, *shape), "dim": dim + 1, "over": axes}


# connectionist temporal classification ------------------------------------------------------------------------------
# Graves et al. 2006. A path goes through states: the labels, with blanks before, between and after them. At each time
# step it stays, moves on by one state, or skips a blank between different labels. `states` (N, L) are the classes of
# each sample's states; `skip` and `last` (N, L) are 0 for a state that may be reached by a skip, or may be the last,
# and _NEVER elsewhere. _NEVER is so low that its exponential is 0, and finite, so that no NaN arises in any order of
# differentiation.

_NEVER = -1e30


def _shift(ops, values, n):
    """Values of states shifted by n (back for negative n); states without a predecessor get _NEVER."""
    axis, size = values.ndim - 1, values.shape[-1]
    if abs(n) >= size:
        return _nowhere(ops, values)
    if n > 0:
        return ops.cat([_nowhere(ops, values[..., :n]), values[..., : size - n]], axis)
    return ops.cat([values[..., -n:], _nowhere(ops, values[..., :-n])], axis)


def _nowhere(ops, values):
    return ops.full_like(values, _NEVER)


def _arrival_logs(ops, emitted, skip, steps):
    """For each moment, the logarithm of the probability to have come to each state; after a sample's end the last."""
    axis = skip.ndim - 1
    entry = ops.cat([emitted[0, ..., :2], _nowhere(ops, emitted[0, ..., 2:])], axis)
    # a sample without moments is at the first state
    nothing = ops.cat([ops.zeros_like(skip[..., :1]), _nowhere(ops, skip[..., 1:])], axis)
    scores = [ops.where((steps > 0)[..., None], entry, nothing)]
    for t in range(1, emitted.shape[0]):
        before = scores[-1]
        ways = ops.stack([before, _shift(ops, before, 1), _shift(ops, before, 2) + skip], 0)
        scores.append(ops.where((steps > t)[..., None], ops.logsumexp(ways, 0) + emitted[t, ...], before))
    return scores


def _remaining(ops, emitted, skip, last, steps):
    """For each moment, the logarithm of the probability to go on from each state to one of the last."""
    scores = [last]
    for t in range(emitted.shape[0] - 1, 0, -1):
        onward = scores[-1] + emitted[t, ...]
        ways = ops.stack([onward, _shift(ops, onward, -1), _shift(ops, onward + skip, -2)], 0)
        scores.append(ops.where((steps > t)[..., None], ops.logsumexp(ways, 0), scores[-1]))
    return scores[::-1]


def _places_of_states(states, shape):
    """The indices of the states' classes (N, L) in flattened scores of shape (T, N, C): (T, N, L)."""
    moments, samples, classes = shape
    xp = namespace(states)
    return xp.reshape(xp.arange(moments * samples) * classes, (moments, samples, 1)) + states


def _ctc_slope(ops, log_probs, states, skip, last, steps, zero_infinity):
    """The derivative of the loss along log_softmax: the probabilities of classes less those given the target."""
    places = _places_of_states(states, log_probs.shape)
    emitted = ops.clamp(ops.index(ops.reshape(log_probs, (-1,)), (places,)), _NEVER)
    reached, remaining = _arrival_logs(ops, emitted, skip, steps), _remaining(ops, emitted, skip, last, steps)
    total = ops.logsumexp(reached[-1] + last, 1, True)
    possible = total > _NEVER / 2
    # an infinite loss has no derivative
    impossible = 0 if zero_infinity else nan
    shares = []
    for t, (before, after) in enumerate(zip(reached, remaining, strict=True)):
        share = ops.where(possible, ops.exp(ops.where(possible, before + after - total, 0)), impossible)
        shares.append(ops.where((steps > t)[:, None], share, 0))
    flat = ops.sum_at(ops.stack(shares, 0), (log_probs.shape[0] * log_probs.shape[1] * log_probs.shape[2],), (places,))
    slope = ops.reshape(flat, log_probs.shape)
    # 1 where a sample's moment counts, 0 elsewhere
    counted = ops.sum(slope, log_probs.ndim - 1, True)
    return ops.exp(log_probs) * counted - slope


@general(batching="joint", shown=dict.fromkeys(("states", "skip", "last", "steps", "lead")), **_HIDDEN)
def ctc_loss(
    xp, log_probs: Array, states, skip: Constant, last: Constant, steps: Constant, zero_infinity=False, lead=0
):
    """Minus the logarithm of the probability of all paths that give a sample's target; infinite without any.

    The first `lead` axes of the arrays are batch axes. The derivative assumes that the classes' probabilities sum to 1,
    as PyTorch's does: it is the derivative of the loss of log_softmax(log_probs).
    """
    require_real("ctc_loss_cpu", log_probs)
    losses = None if lead else run_paths(log_probs, states, skip, last, steps)
    if losses is not None:
        return losses
    ops, places = Kernels(xp), _places_of_states(states, log_probs.shape[lead:])
    flat = xp.reshape(log_probs, (*log_probs.shape[:lead], prod(log_probs.shape[lead:])))
    emitted = xp.maximum(xp.moveaxis(xp.take(flat, places, axis=lead), lead, 0), _NEVER)
    reached = _arrival_logs(ops, emitted, skip, steps)
    total = ops.logsumexp(reached[-1] + last, last.ndim - 1)
    return xp.where(total > _NEVER / 2, -total, xp.inf)


@ctc_loss.batch
def _(lead):
    return {"lead": lead + 1}


@ctc_loss.vjp("log_probs")
def _(ops, g, log_probs, states, skip, last, steps, zero_infinity):
    cotangent = native(run_paths, log_probs, states, skip, last, steps, g, zero_infinity)
    if cotangent is not None:
        return cotangent
    return _ctc_slope(ops, log_probs, states, skip, last, steps, zero_infinity) * g[:, None]


@ctc_loss.jvp("log_probs")
def _(ops, t, log_probs, states, skip, last, steps, zero_infinity):
    return ops.sum(_ctc_slope(ops, log_probs, states, skip, last, steps, zero_infinity) * t, (0, 2))
