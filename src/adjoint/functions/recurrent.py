"""One step of recurrent networks: the next state from an input and the last state.

Shapes: input (N, I), the state hx (N, H). A cell has K gates; their weights are concatenated in w_ih (K H, I) and w_hh
(K H, H). It has two biases (K H), or none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adjoint.arrays.size import type_name
from adjoint.functions.arguments import require_tensors
from adjoint.functions.composite import composite, ops
from adjoint.functions.contract import linear

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _check(function: str, gates: int, **tensors: Any) -> None:
    """Raise TypeError for objects that are no Tensors, RuntimeError for shapes that do not fit."""
    require_tensors(function, **tensors)
    input, hx, w_ih, w_hh = tensors.values()
    for name, value in tensors.items():
        if value.ndim != 2:
            raise RuntimeError(f"{function}() expects {name} of two dimensions, got shape {list(value.shape)}")
    if input.shape[1] != w_ih.shape[1]:
        raise RuntimeError(f"input has inconsistent input_size: got {input.shape[1]} expected {w_ih.shape[1]}")
    if hx.shape[1] != w_hh.shape[1]:
        raise RuntimeError(f"hidden0 has inconsistent hidden_size: got {hx.shape[1]}, expected {w_hh.shape[1]}")
    if input.shape[0] != hx.shape[0]:
        raise RuntimeError(f"Input batch size {input.shape[0]} doesn't match hidden0 batch size {hx.shape[0]}")
    for name, weight in (("weight_ih", w_ih), ("weight_hh", w_hh)):
        if weight.shape[0] != gates * hx.shape[1]:
            raise RuntimeError(
                f"{name} first dim must be {gates} * hidden_size = {gates * hx.shape[1]}, but got {weight.shape[0]}"
            )


# cells ----------------------------------------------------------------------------------------------------------------


@composite(method=False)
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """tanh(w_ih input + b_ih + w_hh hx + b_hh): the next state (N, H) of Elman's recurrent network.

    Shapes: input (N, I), hx (N, H), w_ih (H, I), w_hh (H, H), biases (H). Raises RuntimeError for others.

    >>> import adjoint
    >>> adjoint.rnn_tanh_cell(adjoint.ones(1, 2), adjoint.zeros(1, 1), adjoint.tensor([[0.5, 0.5]]), adjoint.ones(1, 1))
    tensor([[0.7616]])
    """
    _check("rnn_tanh_cell", 1, input=input, hx=hx, w_ih=w_ih, w_hh=w_hh)
    return ops.tanh(linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh))


@composite(method=False)
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """rnn_tanh_cell() with relu in place of tanh.

    >>> import adjoint
    >>> adjoint.rnn_relu_cell(adjoint.ones(1, 2), adjoint.zeros(1, 1), adjoint.tensor([[0.5, 0.5]]), adjoint.ones(1, 1))
    tensor([[1.]])
    """
    _check("rnn_relu_cell", 1, input=input, hx=hx, w_ih=w_ih, w_hh=w_hh)
    return ops.relu(linear(input, w_ih, b_ih) + linear(hx, w_hh, b_hh))


@composite(method=False)
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """The next state (N, H) of a gated recurrent unit (Cho et al. 2014): n + z (hx - n).

    The gates r and z are sigmoids and the candidate n = tanh(w_in input + b_in + r (w_hn hx + b_hn)); the weights of r,
    z and n are concatenated in this order. Shapes: input (N, I), hx (N, H), w_ih (3 H, I), w_hh (3 H, H), biases (3 H).
    Raises RuntimeError for others.

    >>> import adjoint
    >>> adjoint.gru_cell(adjoint.ones(1, 2), adjoint.ones(1, 1), adjoint.zeros(3, 2), adjoint.zeros(3, 1))
    tensor([[0.5000]])
    """
    _check("gru_cell", 3, input=input, hx=hx, w_ih=w_ih, w_hh=w_hh)
    return ops.gru_step(linear(input, w_ih, b_ih), linear(hx, w_hh, b_hh), hx)[0]


@composite(method=False)
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The next state and cell (N, H) of a long short-term memory (Hochreiter and Schmidhuber 1997).

    c' = f c + i g and h' = o tanh(c') with the sigmoids i, f, o and the tanh g of w_ih input + b_ih + w_hh h + b_hh;
    the weights of i, f, g and o are concatenated in this order. Shapes: input (N, I), hx two tensors (N, H), h and c,
    w_ih (4 H, I), w_hh (4 H, H), biases (4 H). Raises RuntimeError for others.

    >>> import adjoint
    >>> zeros = adjoint.zeros(1, 1)
    >>> adjoint.lstm_cell(adjoint.ones(1, 2), (zeros, zeros + 1), adjoint.zeros(4, 2), adjoint.zeros(4, 1))[1]
    tensor([[0.5000]])
    """
    if not isinstance(hx, (tuple, list)):
        raise TypeError(f"lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not {type_name(hx)}")
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    before, memory = hx
    _check("lstm_cell", 4, input=input, hx=before, w_ih=w_ih, w_hh=w_hh)
    return tuple(ops.lstm_step(linear(input, w_ih, b_ih), linear(before, w_hh, b_hh), memory)[:2])
