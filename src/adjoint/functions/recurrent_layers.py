"""Recurrent networks over whole sequences: several layers, in one direction or both.

The inputs' parts of the gates are one product for all moments; only the states advance step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from adjoint.arrays.size import type_name
from adjoint.functions.activations import dropout as zeroed
from adjoint.functions.arguments import require_tensor
from adjoint.functions.composite import composite, described, ops
from adjoint.functions.contract import linear
from adjoint.functions.recurrent import next_by_relu, next_by_tanh, next_gated, next_remembered

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
State: TypeAlias = "tuple[Tensor, ...]"


class Weights(NamedTuple):
    """Those of one layer in one direction; w_hr projects the state of an lstm."""

    w_ih: Tensor
    w_hh: Tensor
    b_ih: Tensor | None
    b_hh: Tensor | None
    w_hr: Tensor | None


class Sequences(NamedTuple):
    """How sequences lie in a tensor: (T, N, ...), or packed, the N that go on at each moment one below the other."""

    sizes: tuple[int, ...] | None

    def moments(self, values: Tensor) -> Sequence[Tensor]:
        return ops.unbind(values, 0) if self.sizes is None else ops.split_with_sizes(values, self.sizes, 0)

    def joined(self, moments: Sequence[Tensor]) -> Tensor:
        return ops.stack(moments, 0) if self.sizes is None else ops.cat(moments, 0)


# one direction --------------------------------------------------------------------------------------------------------

Step: TypeAlias = "Callable[[Tensor, State, Weights], State]"


def _one_state(step: Callable[..., Tensor]) -> Step:
    return lambda own, state, weights: (step(own, *state, weights.w_hh, weights.b_hh),)


def _two_states(own: Tensor, state: State, weights: Weights) -> State:
    hidden, memory = state
    hidden, memory = next_remembered(own, hidden, memory, weights.w_hh, weights.b_hh)
    return (hidden if weights.w_hr is None else linear(hidden, weights.w_hr)), memory


def _onward(step: Step, moments: Sequence[Tensor], state: State, weights: Weights) -> tuple[list[Tensor], State]:
    """The states after each moment, and the last of each sequence; the shortest, which end first, stand last."""
    outputs, ended = [], []
    for own in moments:
        n = own.shape[0]
        if n < state[0].shape[0]:
            ended.append(tuple(each[n:] for each in state))
            state = tuple(each[:n] for each in state)
        state = step(own, state, weights)
        outputs.append(state[0])
    if ended:
        state = tuple(ops.cat(parts, 0) for parts in zip(state, *reversed(ended), strict=True))
    return outputs, state


def _backward(step: Step, moments: Sequence[Tensor], start: State, weights: Weights) -> tuple[list[Tensor], State]:
    """The same from the last moment to the first: sequences begin at their ends, the longest first."""
    outputs: list[Tensor] = []
    state = tuple(each[: moments[-1].shape[0]] for each in start)
    for own in reversed(moments):
        before, n = state[0].shape[0], own.shape[0]
        if n > before:
            state = tuple(ops.cat([each, new[before:n]], 0) for each, new in zip(state, start, strict=True))
        state = step(own, state, weights)
        outputs.append(state[0])
    return outputs[::-1], state


def _remembered(way: Any, own: Tensor, state: State, weights: Weights) -> tuple[Tensor, State]:
    """The same of long short-term memories over sequences of one length, which are one operation."""
    is_backward = way is _backward
    hiddens, memories, _ = ops.lstm_sequence(ops.flip(own, (0,)) if is_backward else own, weights.w_hh, *state)
    return ops.flip(hiddens, (0,)) if is_backward else hiddens, (hiddens[-1], memories[-1])


def _fits_sequence(step: Step, own: Tensor, state: State, weights: Weights) -> bool:
    """True for sequences that are one operation."""
    if step is not _two_states or weights.b_hh is not None or weights.w_hr is not None:
        return False
    rows, units = state[0].shape
    return bool(own.shape[1:] == (rows, 4 * units) and weights.w_hh.shape == (4 * units, units))


# all layers -----------------------------------------------------------------------------------------------------------


def _grouped(params: Sequence[Tensor], has_biases: bool, projected: bool, n_groups: int) -> list[Weights]:
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


#: So many gates has a gated recurrent unit, in which a gate acts on the state's part alone, its bias included.
_GATED_BY_STATE = 3


def _with_one_bias(weights: Weights) -> Weights:
    """The same with both biases as one of the inputs' part, which is computed for all moments at once."""
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


def _dropped(input: Tensor, p: float) -> Tensor:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    return zeroed(input, p)


def _network(
    step: Step,
    gates: int,
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
    if not input.shape[0]:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    ways = (_onward, _backward) if bidirectional else (_onward,)
    projected = len(states) == 2 and states[0].shape[-1] != states[1].shape[-1]
    groups = _grouped(params, has_biases, projected, num_layers * len(ways))
    _check_states(states, groups, gates, input.shape[1] if sequences.sizes is None else sequences.sizes[0])
    last: list[State] = []
    for layer in range(num_layers):
        if layer and train and dropout:
            input = _dropped(input, dropout)
        outputs = []
        for way in ways:
            k = len(last)
            weights = groups[k] if gates == _GATED_BY_STATE else _with_one_bias(groups[k])
            own, state = linear(input, weights.w_ih, weights.b_ih), tuple(each[k] for each in states)
            if sequences.sizes is None and _fits_sequence(step, own, state, weights):
                output, state = _remembered(way, own, state, weights)
            else:
                result, state = way(step, sequences.moments(own), state, weights)
                output = sequences.joined(result)
            outputs.append(output)
            last.append(state)
        input = outputs[0] if len(outputs) == 1 else ops.cat(outputs, input.ndim - 1)
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
tensor({shown})
"""


def _states(function: str, hx: Any, several: bool) -> State:
    if not several:
        require_tensor(function, "hx", 1, hx)
        return (hx,)
    if not isinstance(hx, (tuple, list)):
        raise TypeError(f"{function}(): argument 'hx' (position 2) must be tuple of Tensors, not {type_name(hx)}")
    if len(hx) != 2:
        raise RuntimeError(f"{function} expects two hidden states")
    for state in hx:
        require_tensor(function, "hx", 1, state)
    return tuple(hx)


def _sequences(function: str, input: Tensor, batch_sizes: Tensor | None) -> Sequences:
    """How the sequences of `input` lie."""
    require_tensor(function, "input", 0, input)
    rank = 3 if batch_sizes is None else 2
    if input.ndim != rank:
        raise RuntimeError(f"{function}() expects input of {rank} dimensions, got shape {list(input.shape)}")
    if batch_sizes is None:
        return Sequences(None)
    require_tensor(function, "batch_sizes", 1, batch_sizes)
    sizes = tuple(batch_sizes.tolist())
    _check_packed(input, sizes)
    return Sequences(sizes)


def _recurrent(
    function: str,
    step: Step,
    gates: int,
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
    """The outputs and the last states; for packed sequences the arguments stand one place further from `hx` on."""
    several = step is _two_states
    options = (has_biases, num_layers, dropout, train, bidirectional)
    if isinstance(has_biases, (tuple, list)):
        batch_sizes, hx, params, options = hx, params, has_biases, (*options[1:], batch_first)
        sequences = _sequences(function, input, batch_sizes)
        return _network(step, gates, input, sequences, _states(function, hx, several), params, *options)
    sequences = _sequences(function, input, None)
    input = input.transpose(0, 1) if batch_first else input
    output, *last = _network(step, gates, input, sequences, _states(function, hx, several), params, *options)
    return output.transpose(0, 1) if batch_first else output, *last


@composite(method=False)
@described(
    _DOC,
    name="rnn_tanh",
    summary="Elman's recurrent network with tanh",
    gates=1,
    states="a tensor",
    hx="state",
    projection="",
    shown="[0.7616, 0.9427]",
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
    options = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return _recurrent("rnn_tanh", _one_state(next_by_tanh), 1, input, hx, params, *options)


@composite(method=False)
@described(
    _DOC,
    name="rnn_relu",
    summary="Elman's recurrent network with relu",
    gates=1,
    states="a tensor",
    hx="state",
    projection="",
    shown="[1., 2.]",
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
    options = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return _recurrent("rnn_relu", _one_state(next_by_relu), 1, input, hx, params, *options)


@composite(method=False)
@described(
    _DOC,
    name="gru",
    summary="Gated recurrent units",
    gates=3,
    states="a tensor",
    hx="state",
    projection="",
    shown="[0.2048, 0.3468]",
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
    options = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return _recurrent("gru", _one_state(next_gated), 3, input, hx, params, *options)


@composite(method=False)
@described(
    _DOC,
    name="lstm",
    summary="Long short-term memories",
    gates=4,
    states="two tensors (states and cells)",
    hx="(state, state)",
    projection=", and w_hr, which projects the state, if that is of another size than the cell",
    shown="[0.3696, 0.6505]",
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
    options = (has_biases, num_layers, dropout, train, bidirectional, batch_first)
    return _recurrent("lstm", _two_states, 4, input, hx, params, *options)
