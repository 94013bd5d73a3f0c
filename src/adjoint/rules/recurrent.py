"""Steps of recurrent networks, after the products with their weights, and whole sequences of them.

A step of a gated network is then two operations: the product with the state, and this step. Separate gates would need a
dozen small operations. The values of the gates are a second result, which the backward pass uses.

A sequence is one operation. `Cell` holds the differences between kinds of networks; all share the loop over time steps.
Sequences are stored in rows: the rows of all samples at the first step, then the rows of the second step, and so on.
`sizes` has the number of samples at each step, in descending order; without it every sample has every step. A reverse
network begins each sequence at its own end.
"""

from itertools import accumulate
from typing import Any, NamedTuple

from adjoint.arrays.kernels.products_and_sums import REMEMBER, REMEMBER_BACK, UPDATE, UPDATE_BACK, gated_step
from adjoint.arrays.kernels.vectors import run_sequence, run_sequence_back
from adjoint.arrays.namespace import native

from .declare import Array, general
from .derive import plus
from .elementwise import is_complex, logistic
from .refusals import refuse_clamp

_OPTIONS = {"method": False, "function": False, "undefined": True}


def _parts(x, n):
    # equal parts of the last axis
    size = x.shape[-1] // n
    return [x[..., k * size : (k + 1) * size] for k in range(n)]


def _join(xp, gates, shape):
    # side by side; each has the state's shape, also if only that has the axes of a batch
    return xp.concat([xp.broadcast_to(gate, shape) for gate in gates], axis=-1)


def _of_sigmoid(y):
    return y * (1 - y)


def _of_tanh(y):
    return 1 - y * y


def _conjugates(ops, *values):
    # the steps are holomorphic, so the vjp is the real formula at the conjugates of the saved values
    return [ops.conj(value) if value is not None and is_complex(ops, value) else value for value in values]


# long short-term memories: the gates of input, forgetting, candidate and output


@general(core="(m),(m),(n)->(n),(n),(m)", outputs=("hidden", "memory", "gates"), **_OPTIONS)
def lstm_step(xp, input_part: Array, before: Array, memory: Array):
    """The next state and memory (.., n), and the gates (.., 4 n), from their parts by the input and by the state."""
    results = gated_step(REMEMBER, (input_part, before, memory))
    if results is not None:
        return results
    states, gates = _remember(xp, input_part, before, (None, memory))
    return *states, _join(xp, gates, states[1].shape)


def _remember(xp, input_part, before, states):
    i, f, c, o = _parts(input_part + before, 4)
    gates = i, f, c, o = logistic(xp, i), logistic(xp, f), xp.tanh(c), logistic(xp, o)
    following = f * states[1] + i * c
    return (o * xp.tanh(following), following), gates


@lstm_step.vjp("input_part", "before", "memory")
def _(ops, g, memory, y1, y2):
    of_hidden, of_next, of_gates = g
    of_hidden = ops.zeros_like(y1) if of_hidden is None else of_hidden
    of_next = ops.zeros_like(y1) if of_next is None else of_next
    if of_gates is None:
        cotangents = gated_step(REMEMBER_BACK, (of_hidden, of_next, memory, y1, y2))
        if cotangents is not None:
            return cotangents[0], cotangents[0], cotangents[1]
    memory, y1, y2 = _conjugates(ops, memory, y1, y2)
    of_gates, states = _cotangents_of_parts(of_gates, 4), (None, y1)
    parts, _, of_states = _remember_back(ops, (of_hidden, of_next), of_gates, (None, memory), states, _parts(y2, 4))
    pulled = ops.cat(parts, y2.ndim - 1)
    return pulled, pulled, of_states[1]


def _cotangents_of_parts(of_gates, n):
    return (None,) * n if of_gates is None else _parts(of_gates, n)


def _remember_back(ops, of_states, of_gates, before, states, gates):
    (of_hidden, of_next), (_, memory), (i, f, c, o) = of_states, before, gates
    tanh_memory = ops.tanh(states[1])
    of_sum = of_next + of_hidden * o * _of_tanh(tanh_memory)
    parts = [of_sum * c, of_sum * memory, of_sum * i, of_hidden * tanh_memory]
    slopes = (_of_sigmoid(i), _of_sigmoid(f), _of_tanh(c), _of_sigmoid(o))
    parts = [plus(part, more) * slope for part, more, slope in zip(parts, of_gates, slopes, strict=True)]
    return parts, parts, (None, of_sum * f)


# gated recurrent units: the gates of reset, update and candidate


@general(core="(m),(m),(n)->(n),(m)", outputs=("hidden", "gates"), **_OPTIONS)
def gru_step(xp, input_part: Array, before: Array, state: Array):
    """The next state (.., n) and the gates (.., 3 n), from their parts by the input and by the state."""
    results = gated_step(UPDATE, (input_part, before, state))
    if results is not None:
        return results
    (following,), gates = _update(xp, input_part, before, (state,))
    return following, _join(xp, gates[:3], following.shape)


def _update(xp, input_part, before, states):
    # the state's part of the candidate is saved with the gates
    input_parts, parts = _parts(input_part, 3), _parts(before, 3)
    reset, update = (logistic(xp, input_parts[k] + parts[k]) for k in range(2))
    candidate = xp.tanh(input_parts[2] + reset * parts[2])
    return (candidate + update * (states[0] - candidate),), (reset, update, candidate, parts[2])


@gru_step.vjp("input_part", "before", "state")
def _(ops, g, before, state, y1):
    of_next, of_gates = g
    of_next = ops.zeros_like(state) if of_next is None else of_next
    if of_gates is None:
        cotangents = gated_step(UPDATE_BACK, (of_next, before, state, y1))
        if cotangents is not None:
            return cotangents
    before, state, y1 = _conjugates(ops, before, state, y1)
    of_gates, gates = (*_cotangents_of_parts(of_gates, 3), None), (*_parts(y1, 3), _parts(before, 3)[2])
    of_input_part, of_before, of_states = _update_back(ops, (of_next,), of_gates, (state,), None, gates)
    return ops.cat(of_input_part, y1.ndim - 1), ops.cat(of_before, y1.ndim - 1), of_states[0]


def _update_back(ops, of_states, of_gates, before, states, gates):
    (of_next,), (state,), (reset, update, candidate, part) = of_states, before, gates
    of_reset, of_update, of_candidate, of_part = of_gates
    of_sum = plus(of_next * (1 - update), of_candidate) * _of_tanh(candidate)
    first = plus(of_sum * part, of_reset) * _of_sigmoid(reset)
    second = plus(of_next * (state - candidate), of_update) * _of_sigmoid(update)
    return [first, second, of_sum], [first, second, plus(of_sum * reset, of_part)], (of_next * update,)


# Elman's networks


def _by_tanh(xp, input_part, before, states):
    return (xp.tanh(input_part + before),), ()


def _by_relu(xp, input_part, before, states):
    total = input_part + before
    refuse_clamp(total)
    return (xp.where(total <= 0, xp.zeros_like(total), total),), ()


def _by_tanh_back(ops, of_states, of_gates, before, states, gates):
    parts = [of_states[0] * _of_tanh(states[0])]
    return parts, parts, (None,)


def _by_relu_back(ops, of_states, of_gates, before, states, gates):
    parts = [ops.where(states[0] > 0, of_states[0], ops.zeros_like(of_states[0]))]
    return parts, parts, (None,)


# sequences ------------------------------------------------------------------------------------------------------------


class Cell(NamedTuple):
    """One kind of network.

    name: its name in `kernels/vectors.py`. states, n_gates: the numbers of states and of saved gates. parts: the number
    of parts of `input_part`. step(xp, input_part, before, states): returns the next states and the gates, from the
    input's and the state's parts of the gates. back(ops, of_states, of_gates, before, states, gates): takes the
    cotangents of the results, the states before the step and the results. It returns the cotangents of the parts of
    `input_part`, of `before`, and of the states before the step. The last are None or exclude the path through the
    product with the weight.
    """

    name: str
    states: int
    parts: int
    n_gates: int
    step: Any
    back: Any


LSTM = Cell("lstm", 2, 4, 4, _remember, _remember_back)
GRU = Cell("gru", 1, 3, 4, _update, _update_back)
ELMAN = {
    "tanh": Cell("tanh", 1, 1, 0, _by_tanh, _by_tanh_back),
    "relu": Cell("relu", 1, 1, 0, _by_relu, _by_relu_back),
}


def _moments(input_part, states, sizes, reverse):
    # the rows of each time step, in reading order; a batch without samples has one step
    rows, batch = input_part.shape[-2], states[0].shape[-2]
    sizes = ((batch,) * (rows // batch) if batch else (0,)) if sizes is None else sizes
    moments = [slice(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True)]
    return moments[::-1] if reverse else moments


def _in_order(moments, reverse):
    return moments[::-1] if reverse else moments


def _at(values, rows):
    return None if values is None else values[..., rows, :]


def _onward(join, before, start, n):
    # the states of n sequences: those that continue, and those that begin
    rows = before.shape[-2]
    if rows >= n:
        return before[..., :n, :]
    return start[..., :n, :] if rows == 0 else join(before, start[..., rows:n, :])


def _leading(shape, like):
    # a shape with the axes of a batch that another array has
    return (*like.shape[:-2], *shape[-2:])


def _sequence(xp, cell, input_part, weight, bias, start, projection, sizes, reverse):
    # the states at all moments, and the gates
    def join(before, initial):
        return xp.concat([before, xp.broadcast_to(initial, _leading(initial.shape, before))], axis=-2)

    across, results = xp.matrix_transpose(weight), []
    following = tuple([each[..., :0, :] for each in start])
    moments = _moments(input_part, start, sizes, reverse)
    for rows in moments:
        n = rows.stop - rows.start
        states = [_onward(join, each, initial, n) for each, initial in zip(following, start, strict=True)]
        before = states[0] @ across
        following, gates = cell.step(
            xp, input_part[..., rows, :], before if bias is None else before + bias[..., None, :], states
        )
        if projection is not None:
            following = (following[0] @ xp.matrix_transpose(projection), *following[1:])
        # the visible state has all batch axes, from whichever array they come
        moment = [*following, _join(xp, gates, _leading(gates[0].shape, following[0]))] if gates else following
        results.append([xp.broadcast_to(each, _leading(each.shape, following[0])) for each in moment])
    columns = zip(*_in_order(results, reverse), strict=True)
    return tuple([xp.concat(column, axis=-2) for column in columns])


def _sequence_back(ops, cell, g, weight, start, results, projection, sizes, reverse):
    # moment by moment, the last one first: the cotangents of `input_part` and of the state's parts, the states before,
    # the cotangents of the first states and of the states that are results
    def join(before, initial):
        return ops.cat([before, initial], axis)

    axis, n_states = results[0].ndim - 2, cell.states
    start = [ops.expand(each, _leading(each.shape, results[0])) for each in start]
    of_all, of_gates = g[:n_states], g[n_states] if cell.n_gates else None
    moments, befores, last = _moments(results[0], start, sizes, reverse), [], [each[..., :0, :] for each in start]
    for rows in moments:
        n = rows.stop - rows.start
        befores.append([_onward(join, each, initial, n) for each, initial in zip(last, start, strict=True)])
        last = [_at(each, rows) for each in results[:n_states]]
    of_states, cotangents = [ops.zeros_like(each) for each in start], []
    for rows, before in zip(moments[::-1], befores[::-1], strict=True):
        n = rows.stop - rows.start
        of = [plus(each[..., :n, :], _at(more, rows)) for each, more in zip(of_states, of_all, strict=True)]
        of_output = of[0]
        if projection is not None:
            of[0] = ops.matmul(of_output, projection)
        states = [_at(each, rows) for each in results]
        gates = _parts(states[-1], cell.n_gates) if cell.n_gates else ()
        of_input_part, of_part, of_before = cell.back(
            ops, of, _cotangents_of_parts(_at(of_gates, rows), cell.n_gates), before, states, gates
        )
        of_input_part, of_part = ops.cat(of_input_part, axis + 1), ops.cat(of_part, axis + 1)
        of_before = plus(ops.matmul(of_part, weight), of_before[0]), *of_before[1:]
        of_states = [
            new if each.shape[-2] == n else ops.cat([new, each[..., n:, :]], axis)
            for new, each in zip(of_before, of_states, strict=True)
        ]
        cotangents.append((of_input_part, of_part, of_output))
    columns = zip(*_in_order(cotangents, not reverse), strict=True)
    of_input_part, of_part, of_output = [ops.cat(list(column), axis) for column in columns]
    return (
        of_input_part,
        of_part,
        ops.cat([each[0] for each in _in_order(befores, reverse)], axis),
        of_states,
        of_output,
    )


def _product_back(ops, of_results, inputs):
    # the cotangent of the weight that multiplied all rows of the inputs
    return ops.matmul(ops.transpose(of_results, -1, -2), inputs)


def _check_sequence(cell):
    """Raise RuntimeError for shapes that do not fit."""

    def check(input_part, weight, hidden, *_):
        rows, units = weight.shape[-2], hidden.shape[-1]
        if input_part.shape[-1] != rows or weight.shape[-1] != units or rows % cell.parts:
            raise RuntimeError(
                f"{cell.name}_sequence: parts of gates of shape {list(input_part.shape)}, a weight of shape "
                f"{list(weight.shape)} and a state of shape {list(hidden.shape)} do not fit"
            )

    return check


@general(core="(r,m),(m,p),(b,p),(b,n),(p,n)->(r,p),(r,n),(r,m)", outputs=("hiddens", "memories", "gates"), **_OPTIONS)
def lstm_sequence(
    xp,
    input_part: Array,
    weight: Array,
    hidden: Array,
    memory: Array,
    projection: Array = None,
    sizes=None,
    reverse=False,
):
    """All states (.., R, p), memories (.., R, n) and gates (.., R, 4 n), from the inputs' parts of the gates, the
    weight (.., 4 n, p) of the state, the first state (.., N, p) and memory (.., N, n), and the projection of the state.
    """
    if projection is None:
        results = run_sequence("lstm", input_part, weight, None, (hidden, memory), sizes, reverse)
        if results is not None:
            return results
    return _sequence(xp, LSTM, input_part, weight, None, (hidden, memory), projection, sizes, reverse)


@lstm_sequence.vjp("input_part", "weight", "hidden", "memory", "projection")
def _(ops, g, weight, hidden, memory, projection, y0, y1, y2, sizes, reverse):
    of_input_part, of_part, before, of_states, of_output = _cotangents(
        ops, LSTM, g, weight, (hidden, memory), (y0, y1, y2), projection, sizes, reverse
    )
    of_projection = None
    if projection is not None:
        y1, y2 = _conjugates(ops, y1, y2)
        of_projection = _product_back(ops, of_output, _parts(y2, 4)[3] * ops.tanh(y1))
    return of_input_part, _product_back(ops, of_part, before), *of_states, of_projection


@general(
    core="(r,m),(m,n),(b,n),(m)->(r,n),(r,k)", outputs=("hiddens", "gates"), check=_check_sequence(GRU), **_OPTIONS
)
def gru_sequence(xp, input_part: Array, weight: Array, hidden: Array, bias: Array = None, sizes=None, reverse=False):
    """All states (.., R, n), and the gates with the state's part of the candidate (.., R, 4 n), from the inputs' parts
    of the gates, the weight (.., 3 n, n) of the state, the first state (.., N, n) and the bias of the state's parts.
    """
    results = run_sequence("gru", input_part, weight, bias, (hidden,), sizes, reverse)
    return _sequence(xp, GRU, input_part, weight, bias, (hidden,), None, sizes, reverse) if results is None else results


@gru_sequence.vjp("input_part", "weight", "hidden", "bias")
def _(ops, g, weight, hidden, bias, y0, y1, sizes, reverse):
    of_input_part, of_part, before, of_states, _ = _cotangents(
        ops, GRU, g, weight, (hidden,), (y0, y1), None, sizes, reverse
    )
    of_bias = None if bias is None else ops.sum(of_part, (of_part.ndim - 2,))
    return of_input_part, _product_back(ops, of_part, before), *of_states, of_bias


@general(core="(r,n),(n,n),(b,n)->(r,n)", check=_check_sequence(ELMAN["tanh"]), **_OPTIONS)
def rnn_sequence(xp, input_part: Array, weight: Array, hidden: Array, nonlinearity="tanh", sizes=None, reverse=False):
    """All states (.., R, n) of Elman's network, from the inputs' parts, the weight (.., n, n) of the state and the
    first state (.., N, n).
    """
    results = run_sequence(nonlinearity, input_part, weight, None, (hidden,), sizes, reverse)
    if results is None:
        results = _sequence(xp, ELMAN[nonlinearity], input_part, weight, None, (hidden,), None, sizes, reverse)
    return results[0]


@rnn_sequence.vjp("input_part", "weight", "hidden")
def _(ops, g, weight, hidden, y, nonlinearity, sizes, reverse):
    of_input_part, of_part, before, of_states, _ = _cotangents(
        ops, ELMAN[nonlinearity], (g,), weight, (hidden,), (y,), None, sizes, reverse
    )
    return of_input_part, _product_back(ops, of_part, before), *of_states


def _cotangents(ops, cell, g, weight, start, results, projection, sizes, reverse):
    # what _sequence_back gives, by the loops in C where these can
    if projection is None and (not cell.n_gates or g[-1] is None):
        of_states = g[: cell.states]
        cotangents = native(run_sequence_back, cell.name, of_states, weight, start, results, sizes, reverse)
        if cotangents is not None:
            return *cotangents[:3], cotangents[3:], None
    weight, projection, *saved = _conjugates(ops, weight, projection, *start, *results)
    return _sequence_back(ops, cell, g, weight, saved[: len(start)], saved[len(start) :], projection, sizes, reverse)
