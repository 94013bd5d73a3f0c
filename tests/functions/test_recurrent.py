"""Cells of recurrent networks: their formulas in NumPy, gate by gate, and refused arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import adjoint

RNG = np.random.default_rng(5)


def arguments(gates: int, biased: bool = True) -> list[np.ndarray | None]:
    """Input, state, both weights and both biases of three samples with two features and four units."""
    shapes: list[tuple[int, ...]] = [(3, 2), (3, 4), (4 * gates, 2), (4 * gates, 4), (4 * gates,), (4 * gates,)]
    results: list[np.ndarray | None] = [RNG.standard_normal(shape) for shape in shapes]
    return results if biased else [*results[:4], None, None]


def tensors(arrays: list[np.ndarray | None]) -> list[Any]:
    return [None if a is None else adjoint.tensor(a) for a in arrays]


def halves(arrays: list[Any], gates: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The parts of each gate by the input and by the state."""
    x, h, w, v, b, c = [0 if a is None else a for a in arrays]
    return list(zip(np.split(x @ w.T + b, gates, 1), np.split(h @ v.T + c, gates, 1), strict=True))


@pytest.mark.parametrize("biased", [True, False])
def test_one_gate(biased: bool) -> None:
    inputs = arguments(1, biased)
    ((a, b),) = halves(inputs, 1)
    np.testing.assert_allclose(adjoint.rnn_tanh_cell(*tensors(inputs)).numpy(), np.tanh(a + b))
    np.testing.assert_allclose(adjoint.rnn_relu_cell(*tensors(inputs)).numpy(), np.maximum(a + b, 0))


@pytest.mark.parametrize("biased", [True, False])
def test_gated_unit(biased: bool) -> None:
    inputs = arguments(3, biased)
    (r1, r2), (z1, z2), (n1, n2) = halves(inputs, 3)
    z, n = expit(z1 + z2), np.tanh(n1 + expit(r1 + r2) * n2)
    np.testing.assert_allclose(adjoint.gru_cell(*tensors(inputs)).numpy(), (1 - z) * n + z * inputs[1])


@pytest.mark.parametrize("biased", [True, False])
def test_long_short_term_memory(biased: bool) -> None:
    inputs, memory = arguments(4, biased), RNG.standard_normal((3, 4))
    i, f, g, o = [a + b for a, b in halves(inputs, 4)]
    expected = expit(f) * memory + expit(i) * np.tanh(g)
    x, h, *rest = tensors(inputs)
    state, cell = adjoint.lstm_cell(x, (h, adjoint.tensor(memory)), *rest)
    np.testing.assert_allclose(cell.numpy(), expected)
    np.testing.assert_allclose(state.numpy(), expit(o) * np.tanh(expected))


ONES = adjoint.ones
GRU: list[Any] = [ONES(3, 2), ONES(3, 4), ONES(12, 2), ONES(12, 4)]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: adjoint.gru_cell(*GRU[:3], 1), TypeError, "argument 'w_hh' .position 4. must be Tensor, not int"),
        (lambda: adjoint.gru_cell(ONES(2), *GRU[1:]), RuntimeError, "expects input of two dimensions, got shape"),
        (lambda: adjoint.gru_cell(ONES(3, 5), *GRU[1:]), RuntimeError, "inconsistent input_size: got 5 expected 2"),
        (lambda: adjoint.gru_cell(GRU[0], ONES(3, 5), *GRU[2:]), RuntimeError, "hidden_size: got 5, expected 4"),
        (lambda: adjoint.gru_cell(GRU[0], ONES(2, 4), *GRU[2:]), RuntimeError, "Input batch size 3 doesn't match"),
        (lambda: adjoint.rnn_tanh_cell(*GRU), RuntimeError, r"weight_ih first dim must be 1 \* hidden_size = 4"),
        (lambda: adjoint.lstm_cell(*GRU), TypeError, "argument 'hx' .position 2. must be tuple of Tensors, not Tensor"),
        (lambda: adjoint.lstm_cell(GRU[0], (GRU[1],), *GRU[2:]), RuntimeError, "lstm_cell expects two hidden states"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()
