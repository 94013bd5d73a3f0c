"""Recurrent layers and cells: RNN, GRU, LSTM."""

from __future__ import annotations

import math
import numbers
import warnings
from typing import Any

from adjoint.functions.binding import functions
from adjoint.nn import init
from adjoint.nn.modules.module import Module
from adjoint.nn.parameter import Parameter
from adjoint.nn.utils.rnn import PackedSequence
from adjoint.tensor import creation
from adjoint.tensor.tensor import Tensor

#: The number of gates of a mode: the rows of the weights for one element of the state.
GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
LAYERS = {"LSTM": "lstm", "GRU": "gru", "RNN_TANH": "rnn_tanh", "RNN_RELU": "rnn_relu"}


class RNNBase(Module):
    """The base class of recurrent layers: weights, checks and packed sequences.

    mode: "RNN_TANH", "RNN_RELU", "GRU" or "LSTM". Shapes and errors are those of RNN.

    >>> from adjoint import nn
    >>> nn.modules.rnn.RNNBase("GRU", 2, 3)
    RNNBase(2, 3)
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check_sizes(dropout)
        rows, state = GATES[mode] * hidden_size, proj_size or hidden_size
        self._flat_weights_names: list[str] = []
        for layer in range(num_layers):
            columns = input_size if layer == 0 else state * (2 if bidirectional else 1)
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, columns), "weight_hh": (rows, state)}
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
            shapes |= {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
            for suffix in ("", "_reverse") if bidirectional else ("",):
                for name, shape in shapes.items():
                    setattr(
                        self, f"{name}_l{layer}{suffix}", Parameter(creation.empty(shape, device=device, dtype=dtype))
                    )
                    self._flat_weights_names.append(f"{name}_l{layer}{suffix}")
        self.reset_parameters()

    def _check_sizes(self, dropout: Any) -> None:
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore[operator]
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:  # type: ignore[operator]
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        if not isinstance(self.hidden_size, int):
            raise TypeError(f"hidden_size should be of type int, got: {type(self.hidden_size).__name__}")
        if self.hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """It has no effect: the weights need no common memory here."""

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Tensor]]:
        """The weights of each layer and direction."""
        per_layer = len(self._flat_weights_names) // (self.num_layers * (2 if self.bidirectional else 1))
        flat = self._flat_weights
        return [flat[start : start + per_layer] for start in range(0, len(flat), per_layer)]

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        usual = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        parts += [f"{name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value]
        return ", ".join(parts)

    # the pass --------------------------------------------------------------------------------------------------------

    def _states(self, hx: Any) -> tuple[Tensor, ...]:
        """The states as a tuple: the hidden state, and for LSTM the cell state."""
        return tuple(hx) if self.mode == "LSTM" else (hx,)

    def _state_shapes(self, batch: int) -> list[tuple[int, ...]]:
        n = self.num_layers * (2 if self.bidirectional else 1)
        hidden = (n, batch, self.proj_size or self.hidden_size)
        return [hidden, (n, batch, self.hidden_size)] if self.mode == "LSTM" else [hidden]

    def _zeros(self, batch: int, like: Tensor) -> tuple[Tensor, ...]:
        shapes = self._state_shapes(batch)
        return tuple(creation.zeros(shape, dtype=like.dtype, device=like.device) for shape in shapes)

    def check_forward_args(self, input: Tensor, states: tuple[Tensor, ...], batch: int) -> None:
        """Check the shapes and dtypes of an input and of states; raises RuntimeError or ValueError."""
        weight = self._flat_weights[0]
        if input.dtype is not weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )
        for k, (state, shape) in enumerate(zip(states, self._state_shapes(batch), strict=True)):
            if tuple(state.shape) != shape:
                name = f"hidden[{k}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {name} size {shape}, got {list(state.shape)}")

    def _check_ranks(self, states: tuple[Tensor, ...], batched: bool) -> None:
        n = 3 if batched else 2
        if all(state.ndim == n for state in states):
            return
        kind = "batched 3-D" if batched else "unbatched 2-D"
        if self.mode == "LSTM":
            ranks = ", ".join(f"{state.ndim}-D" for state in states)
            raise RuntimeError(f"For {kind} input, hx and cx should also be {n}-D but got ({ranks}) tensors")
        raise RuntimeError(f"For {kind} input, hx should also be {n}-D but got {states[0].ndim}-D tensor")

    def forward(self, input: Any, hx: Any = None) -> Any:
        if isinstance(input, PackedSequence):
            return self._run_packed(input, hx)
        if input.ndim not in (2, 3):
            name = self.mode if self.mode in ("LSTM", "GRU") else "RNN"
            what = "" if name == "LSTM" else " tensor"
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.ndim}D{what} instead")
        batched = input.ndim == 3
        if not batched:
            input = input.unsqueeze(1 if not self.batch_first else 0)
        batch = input.shape[0 if self.batch_first else 1]
        if hx is None:
            states = self._zeros(batch, input)
        else:
            states = self._states(hx)
            self._check_ranks(states, batched)
            states = states if batched else tuple(state.unsqueeze(1) for state in states)
        self.check_forward_args(input, states, batch)
        output, *finals = self._run(input, states)
        if not batched:
            output = output.squeeze(1 if not self.batch_first else 0)
            finals = [state.squeeze(1) for state in finals]
        return output, tuple(finals) if self.mode == "LSTM" else finals[0]

    def _run(self, input: Tensor, states: tuple[Tensor, ...], batch_sizes: Tensor | None = None) -> Any:
        hx = states if self.mode == "LSTM" else states[0]
        options = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        function = functions[""][LAYERS[self.mode]]
        if batch_sizes is not None:
            return function(input, batch_sizes, hx, self._flat_weights, *options)
        return function(input, hx, self._flat_weights, *options, self.batch_first)

    def _run_packed(self, input: PackedSequence, hx: Any) -> Any:
        """The output and final states for sequences of different lengths."""
        data, sizes, order, back = input
        batch = int(sizes[0])
        if hx is None:
            states = self._zeros(batch, data)
        else:
            states = tuple(state if order is None else state.index_select(1, order) for state in self._states(hx))
        self.check_forward_args(data, states, batch)
        output, *finals = self._run(data, states, sizes)
        finals = finals if back is None else [state.index_select(1, back) for state in finals]
        return PackedSequence(output, sizes, order, back), tuple(finals) if self.mode == "LSTM" else finals[0]


class RNN(RNNBase):
    """`h = tanh(W_ih x + b_ih + W_hh h + b_hh)` along a sequence, in several layers.

    The signature is `RNN(input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False,
    dropout=0.0, bidirectional=False, device=None, dtype=None)`; nonlinearity is "tanh" or "relu".

    Shapes: input (L, N, input_size), with batch_first (N, L, input_size), or without N; or a PackedSequence. The first
    result (L, N, hidden_size) has all states of the last layer, the second (num_layers, N, hidden_size) the last state
    of each layer. bidirectional doubles the last axis of the first and the first axis of the second.

    Raises ValueError, TypeError or RuntimeError for wrong arguments and shapes.

    >>> import adjoint
    >>> output, h = adjoint.nn.RNN(2, 3)(adjoint.ones(5, 1, 2))
    >>> output.shape, h.shape
    (adjoint.Size([5, 1, 3]), adjoint.Size([1, 1, 3]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        modes = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}
        if nonlinearity not in modes:
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        self.nonlinearity = nonlinearity
        super().__init__(modes[nonlinearity], input_size, hidden_size, num_layers, *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units along a sequence, in several layers.

    The arguments, shapes and errors are those of RNN, without nonlinearity.

    >>> import adjoint
    >>> output, h = adjoint.nn.GRU(2, 3, bidirectional=True)(adjoint.ones(5, 1, 2))
    >>> output.shape, h.shape
    (adjoint.Size([5, 1, 6]), adjoint.Size([2, 1, 3]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory along a sequence, in several layers.

    The arguments, shapes and errors are those of RNN, without nonlinearity. The state is a pair: hidden state and cell
    state. proj_size: the hidden state is projected to this size.

    >>> import adjoint
    >>> output, (h, c) = adjoint.nn.LSTM(2, 3, num_layers=2)(adjoint.ones(5, 1, 2))
    >>> output.shape, h.shape, c.shape
    (adjoint.Size([5, 1, 3]), adjoint.Size([2, 1, 3]), adjoint.Size([2, 1, 3]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class RNNCellBase(Module):
    """The base class of cells: the weights of one step. Shapes and errors are those of RNNCell.

    >>> from adjoint import nn
    >>> nn.modules.rnn.RNNCellBase(2, 3, True, 1)
    RNNCellBase(2, 3)
    """

    weight_ih: Tensor
    weight_hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        rows = num_chunks * hidden_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        for name, shape in {**shapes, "bias_ih": (rows,), "bias_hh": (rows,)}.items():
            there = bias or name in shapes
            values = Parameter(creation.empty(shape, device=device, dtype=dtype)) if there else None
            self.register_parameter(name, values)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"] + ([] if self.bias else ["bias=False"])
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return ", ".join(parts + ([f"nonlinearity={nonlinearity}"] if nonlinearity != "tanh" else []))

    def _step(self, function: Any, input: Tensor, states: tuple[Tensor | None, ...]) -> Any:
        """One step for an input (N, input_size) or (input_size,)."""
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        for k, state in enumerate(states):
            if state is not None and state.ndim not in (1, 2):
                label = f"hx[{k}]" if len(states) > 1 else "hidden"
                raise ValueError(f"{name}: Expected {label} to be 1D or 2D, got {state.ndim}D instead")
        batched = input.ndim == 2
        input = input if batched else input.unsqueeze(0)
        zeros = creation.zeros(input.shape[0], self.hidden_size, dtype=input.dtype, device=input.device)
        full = tuple(zeros if each is None else each if batched else each.unsqueeze(0) for each in states)
        hx = full if len(full) > 1 else full[0]
        result = function(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if batched:
            return result
        return tuple(each.squeeze(0) for each in result) if isinstance(result, tuple) else result.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of RNN: input (N, input_size) and state (N, hidden_size), or both without N.

    Raises ValueError for other numbers of axes, and RuntimeError for other sizes and nonlinearities.

    >>> import adjoint
    >>> adjoint.nn.RNNCell(2, 3)(adjoint.ones(1, 2)).shape
    adjoint.Size([1, 3])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step(functions[""][f"rnn_{self.nonlinearity}_cell"], input, (hx,))


class GRUCell(RNNCellBase):
    """One step of GRU, with the shapes and errors of RNNCell.

    >>> import adjoint
    >>> adjoint.nn.GRUCell(2, 3)(adjoint.ones(1, 2)).shape
    adjoint.Size([1, 3])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(functions[""]["gru_cell"], input, (hx,))


class LSTMCell(RNNCellBase):
    """One step of LSTM, with the shapes and errors of RNNCell. The state is a pair: hidden state and cell state.

    >>> import adjoint
    >>> h, c = adjoint.nn.LSTMCell(2, 3)(adjoint.ones(1, 2))
    >>> h.shape, c.shape
    (adjoint.Size([1, 3]), adjoint.Size([1, 3]))
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        return self._step(functions[""]["lstm_cell"], input, (None, None) if hx is None else tuple(hx))
