"""Steps of gated recurrent networks, after the products with their weights, and whole sequences of them.

A step of a network is two operations then, the product with the state and this one, where its gates would be a dozen
small ones. The gates after their functions are a result of their own: the backward pass takes them.
"""

from adjoint.arrays.kernels.products_and_sums import (
    REMEMBER,
    REMEMBER_BACK,
    UPDATE,
    UPDATE_BACK,
    gated_step,
    remembered,
    remembered_back,
)
from adjoint.arrays.namespace import native

from .declare import Array, general
from .derive import plus

_OPTIONS = {"method": False, "function": False, "undefined": True}


def _parts(x, n):
    # equal parts of the last axis
    size = x.shape[-1] // n
    return [x[..., k * size : (k + 1) * size] for k in range(n)]


def _joined(xp, gates, shape):
    # side by side; each has the state's shape, also if only that has the axes of a batch
    return xp.concat([xp.broadcast_to(gate, shape) for gate in gates], axis=-1)


def _of_sigmoid(y):
    return y * (1 - y)


def _of_tanh(y):
    return 1 - y * y


# long short-term memories: the gates of input, forgetting, candidate and output


@general(core="(m),(m),(n)->(n),(n),(m)", outputs=("hidden", "memory", "gates"), **_OPTIONS)
def lstm_step(xp, own: Array, before: Array, memory: Array):
    """The next state and memory (.., n), and the gates (.., 4 n), from their parts by the input and by the state."""
    results = gated_step(REMEMBER, (own, before, memory))
    return _remembered(xp, own, before, memory) if results is None else results


def _remembered(xp, own, before, memory):
    i, f, c, o = _parts(own + before, 4)
    i, f, c, o = xp.expit(i), xp.expit(f), xp.tanh(c), xp.expit(o)
    following = f * memory + i * c
    return o * xp.tanh(following), following, _joined(xp, [i, f, c, o], following.shape)


@lstm_step.vjp("own", "before", "memory")
def _(ops, g, memory, y1, y2):
    of_hidden, of_next, of_gates = g
    of_hidden = ops.zeros_like(y1) if of_hidden is None else of_hidden
    of_next = ops.zeros_like(y1) if of_next is None else of_next
    if of_gates is None:
        cotangents = gated_step(REMEMBER_BACK, (of_hidden, of_next, memory, y1, y2))
        if cotangents is not None:
            return cotangents[0], cotangents[0], cotangents[1]
    pulled, of_memory = _remembered_back(ops, of_hidden, of_next, of_gates, memory, y1, y2)
    return pulled, pulled, of_memory


def _remembered_back(ops, of_hidden, of_next, of_gates, memory, y1, y2):
    # the cotangents of the gates before their functions, and of the memory before
    i, f, c, o = _parts(y2, 4)
    shown = ops.tanh(y1)
    passed = of_next + of_hidden * o * _of_tanh(shown)
    parts = [passed * c, passed * memory, passed * i, of_hidden * shown]
    if of_gates is not None:
        parts = [plus(*pair) for pair in zip(parts, _parts(of_gates, 4), strict=True)]
    slopes = (_of_sigmoid(i), _of_sigmoid(f), _of_tanh(c), _of_sigmoid(o))
    return ops.cat([part * slope for part, slope in zip(parts, slopes, strict=True)], y2.ndim - 1), passed * f


@general(
    core="(t,b,m),(m,n),(b,n),(b,n)->(t,b,n),(t,b,n),(t,b,m)", outputs=("hiddens", "memories", "gates"), **_OPTIONS
)
def lstm_sequence(xp, own: Array, weight: Array, hidden: Array, memory: Array):
    """All states and memories (.., T, N, n) and gates (.., T, N, 4 n), from the gates' parts by the inputs, the weight
    (.., 4 n, n) of the state, and the state and the memory (.., N, n) before.
    """
    results = remembered(own, weight, hidden, memory)
    if results is not None:
        return results
    across, moments = xp.matrix_transpose(weight), []
    for k in range(own.shape[-3]):
        moments.append(_remembered(xp, own[..., k, :, :], hidden @ across, memory))
        hidden, memory, _ = moments[-1]
    return tuple([xp.stack(values, axis=-3) for values in zip(*moments, strict=True)])


def _at(values, k):
    return None if values is None else values[..., k, :, :]


@lstm_sequence.vjp("own", "weight", "hidden", "memory")
def _(ops, g, weight, hidden, memory, y0, y1, y2):
    of_hiddens, of_memories, of_gates = g
    cotangents = None
    if of_gates is None:
        cotangents = native(remembered_back, of_hiddens, of_memories, weight, memory, y1, y2)
    if cotangents is None:
        cotangents = _sequence_back(ops, of_hiddens, of_memories, of_gates, weight, memory, y1, y2)
    of_own, of_hidden, of_memory = cotangents
    before = ops.cat([hidden[..., None, :, :], y0[..., :-1, :, :]], y0.ndim - 3)
    return of_own, _weight_back(ops, of_own, before), of_hidden, of_memory


def _sequence_back(ops, of_hiddens, of_memories, of_gates, weight, memory, y1, y2):
    # moment by moment, the last one first
    of_hidden, of_memory = ops.zeros_like(_at(y1, 0)), ops.zeros_like(_at(y1, 0))
    pulled = []
    for k in range(y1.shape[-3] - 1, -1, -1):
        of_hidden, of_memory = plus(of_hidden, _at(of_hiddens, k)), plus(of_memory, _at(of_memories, k))
        before = _at(y1, k - 1) if k else memory
        of_own, of_memory = _remembered_back(
            ops, of_hidden, of_memory, _at(of_gates, k), before, _at(y1, k), _at(y2, k)
        )
        of_hidden = ops.matmul(of_own, weight)
        pulled.append(of_own)
    return ops.stack(pulled[::-1], y1.ndim - 3), of_hidden, of_memory


def _weight_back(ops, of_own, before):
    # one product over all moments and samples
    left = ops.reshape(of_own, (*of_own.shape[:-3], -1, of_own.shape[-1]))
    right = ops.reshape(before, (*before.shape[:-3], -1, before.shape[-1]))
    return ops.matmul(ops.transpose(left, -1, -2), right)


# gated recurrent units: the gates of reset, update and candidate


@general(core="(m),(m),(n)->(n),(m)", outputs=("hidden", "gates"), **_OPTIONS)
def gru_step(xp, own: Array, before: Array, state: Array):
    """The next state (.., n) and the gates (.., 3 n), from their parts by the input and by the state."""
    results = gated_step(UPDATE, (own, before, state))
    if results is not None:
        return results
    own_parts, parts = _parts(own, 3), _parts(before, 3)
    reset, update = (xp.expit(own_parts[k] + parts[k]) for k in range(2))
    candidate = xp.tanh(own_parts[2] + reset * parts[2])
    following = candidate + update * (state - candidate)
    return following, _joined(xp, [reset, update, candidate], following.shape)


@gru_step.vjp("own", "before", "state")
def _(ops, g, before, state, y1):
    of_next, of_gates = g
    of_next = ops.zeros_like(state) if of_next is None else of_next
    if of_gates is None:
        cotangents = gated_step(UPDATE_BACK, (of_next, before, state, y1))
        if cotangents is not None:
            return cotangents
    reset, update, candidate = _parts(y1, 3)
    of_reset, of_update, of_candidate = (None,) * 3 if of_gates is None else _parts(of_gates, 3)
    passed = plus(of_next * (1 - update), of_candidate) * _of_tanh(candidate)
    first = plus(passed * _parts(before, 3)[2], of_reset) * _of_sigmoid(reset)
    second = plus(of_next * (state - candidate), of_update) * _of_sigmoid(update)
    axis = y1.ndim - 1
    return ops.cat([first, second, passed], axis), ops.cat([first, second, passed * reset], axis), of_next * update
