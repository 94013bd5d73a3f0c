"""Recurrent networks over whole sequences: several layers, in one direction or both.

The inputs' parts of the gates are one product for all moments; only the states advance step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from adjoint.arrays.size import type_name
from adjoint.functions.activations import dropout as zeroed
from adjoint.functions.arguments import require_tensor
from adjoint.functions.composite import composite, describe, ops, separate
from adjoint.functions.contract import linear
from adjoint.runtime.caches import memoize
from adjoint.tensor import creation

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
State: TypeAlias = "tuple[Tensor, ...]"


class Weights(NamedTuple):
    """The weights of one layer in one direction; w_hr projects the state of an lstm."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None
    b_hh: Tensor | None
    w_hr: Tensor | None


class Sequences(NamedTuple):
    """The rows of sequences: all elements of the first time step, then of the second, and so on.

    sizes: the number of sequences at each time step; None for all.
    """

    batch: int
    sizes: tuple[int, ...] | None

    def last(self, rows: Tensor, reverse: bool) -> Tensor:
        """The last row of each sequence in reading order, forward or backward."""
        if reverse:
            return rows[: self.batch]
        if self.sizes is None:
            return rows[rows.shape[0] - self.batch :]
        return ops.index_select(rows, 0, creation.tensor(_last_rows(self.sizes)))


@memoize(64)
def _last_rows(sizes: tuple[int, ...]) -> list[int]:
    """The last row of each packed sequence; the sequences are in descending order of length."""
    rows, first = [0] * sizes[0], 0
    for size in sizes:
        rows[:size] = range(first, first + size)
        first += size
    return rows


# one layer ------------------------------------------------------------------------------------------------------------


def _lstm(input_part: Tensor, state: State, weights: Weights, *options: Any) -> State:
    return tuple(ops.lstm_sequence(input_part, weights.w_hh, *state, weights.w_hr, *options)[:2])


def _gru(input_part: Tensor, state: State, weights: Weights, *options: Any) -> State:
    return tuple(ops.gru_sequence(input_part, weights.w_hh, *state, weights.b_hh, *options)[:1])


def _elman(nonlinearity: str) -> Layer:
    return lambda input_part, state, weights, *options: (
        ops.rnn_sequence(input_part, weights.w_hh, *state, nonlinearity, *options),
    )


Layer: TypeAlias = "Callable[..., State]"


class Network(NamedTuple):
    """A kind of network.

    gates: the number of rows of the weights for one unit. states: the number of states.
    layer(own, state, weights, sizes, reverse): the states at all time steps, from the inputs' parts of the gates.
    one_bias: True if the state's bias may be added to the inputs' bias.
    """

    gates: int
    states: int
    layer: Layer
    one_bias: bool = True


NETWORKS = {
    "rnn_tanh": Network(1, 1, _elman("tanh")),
    "rnn_relu": Network(1, 1, _elman("relu")),
    "gru": Network(3, 1, _gru, one_bias=False),
    "lstm": Network(4, 2, _lstm),
}


# all layers -----------------------------------------------------------------------------------------------------------


def _group(params: Sequence[Tensor], has_biases: bool, projected: bool, n_groups: int) -> list[Weights]:
    """The parameters of each layer and direction."""
    n = 2 + 2 * bool(has_biases) + projected
    if len(params) < n * n_groups:
        raise RuntimeError("Expected more weights in stacked_rnn")
    if len(params) % n:
        raise RuntimeError("got an incorrect number of RNN parameters")
    groups = []
    for start in range(0, n * n_groups, n):
        group = params[start : start + n]
        b_ih, b_hh = group[2:4] if has_biases else (None, None)
        groups.append(Weights(group[0], group[1], b_ih, b_hh, group[-1] if projected else None))
    return groups


def _with_one_bias(weights: Weights) -> Weights:
    """As `layer`, with both biases added to the inputs' part, which is computed for all time steps at once."""
    if weights.b_ih is None or weights.b_hh is None:
        return weights
    return weights._replace(b_ih=weights.b_ih + weights.b_hh, b_hh=None)


def _check_states(states: State, groups: list[Weights], gates: int, batch: int) -> None:
    """Raise RuntimeError for states of other shapes than (layers and directions, batch, units)."""
    _, w_hh, *_ = groups[0]
    for state, units in zip(states, (w_hh.shape[1], w_hh.shape[0] // gates), strict=False):
        expected = (len(groups), batch, units)
        if tuple(state.shape) != expected:
            raise RuntimeError(f"Expected hidden size {expected}, got {list(state.shape)}")


def _check_packed(data: Tensor, sizes: tuple[int, ...]) -> None:
    falling = list(sizes) == sorted(sizes, reverse=True)
    if not falling or min(sizes) < 1 or sum(sizes) != data.shape[0]:
        raise RuntimeError(
            f"batch_sizes of packed sequences fall, are positive and add up to the length of data: {data.shape[0]}, "
            f"got {list(sizes)}"
        )


def _drop(input: Tensor, p: float) -> Tensor:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    return zeroed(input, p)


def _network(
    network: Network,
    input: Tensor,
    sequences: Sequences,
    states: State,
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, ...]:
    """The states of the last layer in rows, as the input lies, and the last states of all layers."""
    ways = (False, True) if bidirectional else (False,)
    projected = len(states) == 2 and states[0].shape[-1] != states[1].shape[-1]
    groups = _group(params, has_biases, projected, num_layers * len(ways))
    _check_states(states, groups, network.gates, sequences.batch)
    last: list[State] = []
    for layer in range(num_layers):
        if layer and train and dropout:
            input = _drop(input, dropout)
        outputs = []
        for reverse in ways:
            k = len(last)
            weights = _with_one_bias(groups[k]) if network.one_bias else groups[k]
            input_part, state = linear(input, weights.w_ih, weights.b_ih), tuple(each[k] for each in states)
            results = network.layer(input_part, state, weights, sequences.sizes, reverse)
            outputs.append(results[0])
            last.append(tuple(sequences.last(each, reverse) for each in results))
        input = outputs[0] if len(outputs) == 1 else ops.cat(outputs, 1)
    if input.requires_grad and len(ways) == 1:
        # the layer saves its states for the backward pass; the result may be modified in place
        input = ops.clone(input)
    return input, *(ops.stack(each, 0) for each in zip(*last, strict=True))


# the functions --------------------------------------------------------------------------------------------------------

_DOC = """{summary} of several layers over whole sequences.

Args:
    input: (T, N, I), or (N, T, I) with batch_first.
    hx: the states before, {states} of shape (L, N, H) with L = num_layers, twice that if bidirectional.
    params: the weights w_ih, w_hh and, with has_biases, b_ih, b_hh, as of {name}_cell(), of each layer and, within it,
        of each direction{projection}. Layers after the first get the outputs of both directions.
    dropout: with train, the probability that an output of a layer before the last becomes 0.

Returns the states of the last layer for each moment, (T, N, H) (2 H if bidirectional), and the last {states}.

Packed sequences: `{name}(data, batch_sizes, hx, params, ...)` without batch_first, where data has the inputs of all
sequences at the first moment, then those that go on at the second ..., as many as batch_sizes, a tensor, says.

Raises TypeError for what is no Tensor, RuntimeError for shapes and numbers of parameters that do not fit.

>>> import adjoint
>>> weights = [adjoint.ones({gates}, 1), adjoint.ones({gates}, 1)]
>>> state = adjoint.zeros(1, 1, 1)
>>> adjoint.{name}(adjoint.ones(2, 1, 1), {hx}, weights, False, 1, 0.0, False, False, False)[0].flatten()
tensor({output})
"""


def _states(function: str, hx: Any, network: Network) -> State:
    if network.states == 1:
        require_tensor(function, "hx", 1, hx)
        return (hx,)
    if not isinstance(hx, (tuple, list)):
        raise TypeError(f"{function}(): argument 'hx' (position 2) must be tuple of Tensors, not {type_name(hx)}")
    if len(hx) != 2:
        raise RuntimeError(f"{function} expects two hidden states")
    for state in hx:
        require_tensor(function, "hx", 1, state)
    return tuple(hx)


def _check_input(function: str, input: Tensor, rank: int) -> None:
    require_tensor(function, "input", 0, input)
    if input.ndim != rank:
        raise RuntimeError(f"{function}() expects input of {rank} dimensions, got shape {list(input.shape)}")
    if not input.shape[0]:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")


def _pack(function: str, input: Tensor, batch_sizes: Tensor, hx: Any, params: Any, *options: Any) -> Any:
    _check_input(function, input, 2)
    require_tensor(function, "batch_sizes", 1, batch_sizes)
    sizes = tuple(batch_sizes.tolist())
    _check_packed(input, sizes)
    network = NETWORKS[function]
    return _network(network, input, Sequences(sizes[0], sizes), _states(function, hx, network), params, *options)


def _recurrent(function: str, input: Tensor, hx: Any, params: Any, has_biases: Any, *options: Any) -> Any:
    """The outputs and the last states; for packed sequences the arguments stand one place further from `hx` on."""
    if isinstance(has_biases, (tuple, list)):
        return _pack(function, input, hx, params, has_biases, *options)
    batch_first, options = options[-1], (has_biases, *options[:-1])
    _check_input(function, input, 3)
    network, input = NETWORKS[function], input.transpose(0, 1) if batch_first else input
    moments, batch, size = input.shape
    sequences, rows = Sequences(batch, None), ops.reshape(input, (moments * batch, size))
    output, *last = _network(network, rows, sequences, _states(function, hx, network), params, *options)
    output = separate(ops.reshape(output, (moments, batch, output.shape[1])))
    return output.transpose(0, 1) if batch_first else output, *last


@composite(method=False)
@describe(
    _DOC,
    name="rnn_tanh",
    summary="Elman's recurrent network with tanh",
    gates=1,
    states="a tensor",
    hx="state",
    projection="",
    output="[0.7616, 0.9427]",
)
def rnn_tanh(
    input: Tensor,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: Any,
    dropout: Any,
    train: Any,
    bidirectional: Any,
    batch_first: Any,
) -> tuple[Tensor, ...]:
    return _recurrent("rnn_tanh", input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)


@composite(method=False)
@describe(
    _DOC,
    name="rnn_relu",
    summary="Elman's recurrent network with relu",
    gates=1,
    states="a tensor",
    hx="state",
    projection="",
    output="[1., 2.]",
)
def rnn_relu(
    input: Tensor,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: Any,
    dropout: Any,
    train: Any,
    bidirectional: Any,
    batch_first: Any,
) -> tuple[Tensor, ...]:
    return _recurrent("rnn_relu", input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)


@composite(method=False)
@describe(
    _DOC,
    name="gru",
    summary="Gated recurrent units",
    gates=3,
    states="a tensor",
    hx="state",
    projection="",
    output="[0.2048, 0.3468]",
)
def gru(
    input: Tensor,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: Any,
    dropout: Any,
    train: Any,
    bidirectional: Any,
    batch_first: Any,
) -> tuple[Tensor, ...]:
    return _recurrent("gru", input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)


@composite(method=False)
@describe(
    _DOC,
    name="lstm",
    summary="Long short-term memories",
    gates=4,
    states="two tensors (states and cells)",
    hx="(state, state)",
    projection=", and w_hr, which projects the state, if that is of another size than the cell",
    output="[0.3696, 0.6505]",
)
def lstm(
    input: Tensor,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: Any,
    dropout: Any,
    train: Any,
    bidirectional: Any,
    batch_first: Any,
) -> tuple[Tensor, ...]:
    return _recurrent("lstm", input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
