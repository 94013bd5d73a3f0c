"""Steps and sequences of recurrent networks by the compiled loops and by whole arrays, forward and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit

import adjoint
from adjoint.arrays.kernels import vectors
from adjoint.arrays.kernels.products_and_sums import REMEMBER, UPDATE, gated_step
from adjoint.rules import recurrent

compiled = pytest.mark.skipif(
    gated_step(UPDATE, (np.ones((1, 3)), np.ones((1, 3)), np.ones((1, 1)))) is None,
    reason="only the compiled form has these loops",
)
needs_vectors = pytest.mark.skipif(
    not vectors.there, reason="only the compiled form on processors with vectors has these loops"
)


def step_and_gradients(name: str, arrays: list[Any]) -> list[Any]:
    tensors = [adjoint.from_numpy(array).requires_grad_() for array in arrays]
    results = getattr(adjoint.core.graph.registry.tensor_ops, name)(*tensors)[: 2 if name == "lstm_step" else 1]
    total = sum((result * result).sum() for result in results)
    return [*[result.detach().numpy() for result in results], *adjoint.autograd.grad(total, tensors)]


@compiled
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "n_gates"), [("lstm_step", 4), ("gru_step", 3)])
@pytest.mark.parametrize("shape", [(3, 5), (1, 1), (7,), (2, 3, 40), (0, 4), (3, 0)])
def test_steps(monkeypatch: pytest.MonkeyPatch, name: str, n_gates: int, shape: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    gates = (*shape[:-1], n_gates * shape[-1])
    arrays = [rng.normal(size=s).astype(dtype) for s in (gates, gates, shape)]
    results = step_and_gradients(name, arrays)
    monkeypatch.setattr(recurrent, "gated_step", lambda *_: None)
    for result, expected in zip(results, step_and_gradients(name, arrays), strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5 if dtype is np.float32 else 1e-13, atol=1e-6)


@pytest.mark.parametrize(
    "arrays",
    [
        (np.ones((2, 4)), np.ones((1, 4)), np.ones((2, 1))),
        (np.ones((2, 4)), np.ones((2, 4)), np.ones((1, 1))),
        (np.ones((2, 4)), np.ones((2, 4)), np.ones((2, 2))),
        (np.ones((2, 4)), np.ones((2, 4), np.float32), np.ones((2, 1))),
        (np.ones((4, 2)).T, np.ones((2, 4)), np.ones((2, 1))),
        (np.ones(()), np.ones(()), np.ones(())),
    ],
)
def test_other_arrays_are_left_to_numpy(arrays: Any) -> None:
    assert gated_step(REMEMBER, arrays) is None


# whole sequences ------------------------------------------------------------------------------------------------------

CELLS = {"lstm": (4, 2, 4), "gru": (3, 1, 4), "tanh": (1, 1, 0), "relu": (1, 1, 0)}
EQUAL, PACKED = None, (5, 5, 3, 1)


def make(cell: str, sizes: Any, moments: int, batch: int, units: int, dtype: Any, biased: bool = True) -> list[Any]:
    """Inputs by gates, the weight, the states, and the bias of gated units."""
    rng, (parts, states, _) = np.random.default_rng(0), CELLS[cell]
    shapes = [(moments * batch if sizes is None else sum(sizes), parts * units), (parts * units, units)]
    shapes += [(batch, units)] * states + ([(parts * units,)] if cell == "gru" and biased else [])
    arrays = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    arrays[1] /= dtype(np.sqrt(units))
    return arrays


def sequence(cell: str, tensors: list[Any], sizes: Any, reverse: bool) -> tuple[Any, ...]:
    ops = adjoint.core.graph.registry.tensor_ops
    if cell in ("tanh", "relu"):
        return (ops.rnn_sequence(*tensors, cell, sizes, reverse),)
    return tuple(getattr(ops, f"{cell}_sequence")(*tensors, sizes=sizes, reverse=reverse))


def sequence_and_gradients(cell: str, arrays: list[Any], which: tuple[int, ...], sizes: Any, reverse: bool) -> Any:
    tensors = [adjoint.from_numpy(array).requires_grad_() for array in arrays]
    results = sequence(cell, tensors, sizes, reverse)
    total = sum((results[k] * results[k].cos()).sum() for k in which)
    return [*[result.detach().numpy() for result in results], *adjoint.autograd.grad(total, tensors)]


def check_sequence(monkeypatch: pytest.MonkeyPatch, cell: str, arrays: Any, which: Any, sizes: Any, rev: bool) -> None:
    """The C loops and the plain form give the same results for all strides."""
    results = []
    with monkeypatch.context() as patch:
        for name in ("run_sequence", "run_sequence_back"):
            function = getattr(vectors, name)
            patch.setattr(recurrent, name, lambda *a, f=function: results.append(f(*a)) or results[-1])
        actual = sequence_and_gradients(cell, arrays, which, sizes, rev)
        _, states, states_back = CELLS[cell]
        of_gates = bool(states_back) and states in which
        assert len(results) == 2 - of_gates and all(result is not None for result in results)
    turned = [np.asfortranarray(array) for array in arrays]
    for result, expected in zip(sequence_and_gradients(cell, turned, which, sizes, rev), actual, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
    with monkeypatch.context() as patch:
        patch.setattr(recurrent, "run_sequence", lambda *_: None)
        patch.setattr(recurrent, "run_sequence_back", lambda *_: None)
        plain = sequence_and_gradients(cell, arrays, which, sizes, rev)
    tolerance = 5e-4 if arrays[0].dtype == np.float32 else 1e-11
    for result, expected in zip(actual, plain, strict=True):
        assert result.dtype == expected.dtype
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@needs_vectors
@pytest.mark.quick(6)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize(
    ("sizes", "moments", "batch", "units"),
    [(None, 5, 3, 4), (None, 1, 1, 1), (None, 2, 70, 40), (None, 4, 1, 33), (PACKED, 4, 5, 17), ((2,), 1, 2, 3)],
)
@pytest.mark.parametrize("cell", CELLS)
def test_sequences(
    monkeypatch: pytest.MonkeyPatch, kind: int, cell: str, sizes: Any, moments: int, batch: int, units: int,
    reverse: bool, dtype: Any,
) -> None:  # fmt: skip
    arrays = make(cell, sizes, moments, batch, units, dtype)
    check_sequence(monkeypatch, cell, arrays, (0,), sizes, reverse)


@needs_vectors
@pytest.mark.parametrize("sizes", [EQUAL, PACKED])
@pytest.mark.parametrize(("cell", "which"), [("lstm", (1,)), ("lstm", (0, 1)), ("lstm", (0, 1, 2)), ("gru", (0, 1))])
def test_cotangents_of_all_results(monkeypatch: pytest.MonkeyPatch, cell: str, which: Any, sizes: Any) -> None:
    check_sequence(monkeypatch, cell, make(cell, sizes, 4, 5, 6, np.float64, biased=False), which, sizes, False)


@needs_vectors
def test_several_threads_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = make("lstm", (200, 100, 50), 3, 200, 33, np.float32)
    actual = sequence_and_gradients("lstm", arrays, (0, 1), (200, 100, 50), True)
    before = adjoint.get_num_threads()
    try:
        adjoint.set_num_threads(3)
        again = sequence_and_gradients("lstm", arrays, (0, 1), (200, 100, 50), True)
    finally:
        adjoint.set_num_threads(before)
    for result, expected in zip(actual[:3], again[:3], strict=True):
        np.testing.assert_array_equal(result, expected)
    for result, expected in zip(actual[3:], again[3:], strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


@needs_vectors
def test_special_values_pass() -> None:
    """Infinite values, NaN, large values and zeros give the results of the plain functions."""
    special = np.array([[np.inf, -np.inf, np.nan, 0.0, -0.0, 1e30, -1e30, 90.0, -90.0, 1e-30]])
    for dtype in (np.float32, np.float64):
        inputs, weight, state = special.astype(dtype), np.zeros((10, 10), dtype), np.zeros((1, 10), dtype)
        for cell, function in (("tanh", np.tanh), ("relu", lambda x: np.where(x <= 0, 0, x))):
            (result,) = vectors.run_sequence(cell, inputs, weight, None, (state,), None, False)
            np.testing.assert_allclose(result, function(inputs), 3e-7 if dtype is np.float32 else 1e-15)
        inputs, weight = np.concatenate([inputs] * 4, axis=1), np.zeros((40, 10), dtype)
        _, _, gates = vectors.run_sequence("lstm", inputs, weight, None, (state, state), None, False)
        np.testing.assert_allclose(gates[:, :10], expit(inputs[:, :10]), 5e-7 if dtype is np.float32 else 1e-15, 1e-38)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("reverse", [False, True])
def test_packed_sequences_are_sequences(cell: str, reverse: bool) -> None:
    """The result of each packed sequence is its result alone."""
    arrays = make(cell, PACKED, 4, 5, 6, np.float64, biased=False)
    tensors = [adjoint.from_numpy(array) for array in arrays]
    actual, firsts = sequence(cell, tensors, PACKED, reverse), np.cumsum((0, *PACKED))
    inputs, weight, *states = tensors
    for k in range(5):
        rows = [int(first) + k for first, size in zip(firsts, PACKED, strict=False) if size > k]
        alone = sequence(cell, [inputs[rows], weight, *[state[k : k + 1] for state in states]], None, reverse)
        for result, expected in zip(actual, alone, strict=True):
            np.testing.assert_allclose(result[rows].numpy(), expected.numpy(), rtol=1e-12, atol=1e-13)


def test_a_sequence_is_its_steps() -> None:
    rng = np.random.default_rng(0)
    inputs, weight, hidden, memory = [
        adjoint.from_numpy(rng.normal(size=shape)).requires_grad_() for shape in ((30, 28), (28, 7), (5, 7), (5, 7))
    ]
    ops = adjoint.core.graph.registry.tensor_ops
    result = ops.lstm_sequence(inputs, weight, hidden, memory)[:2]
    states, h, m = [], hidden, memory
    for k in range(6):
        h, m = ops.lstm_step(inputs[5 * k : 5 * k + 5], adjoint.nn.functional.linear(h, weight), m)[:2]
        states.append((h, m))
    expected = [adjoint.cat(list(column)) for column in zip(*states, strict=True)]
    gradients = []
    for hiddens, memories in (result, expected):
        total = (hiddens * hiddens).sum() + memories[-1].sin().sum()
        gradients.append(adjoint.autograd.grad(total, [inputs, hidden, memory, weight]))
    for one, other in zip((*result, *gradients[0]), (*expected, *gradients[1]), strict=True):
        assert adjoint.allclose(one, other, 1e-11, 1e-13)


@pytest.mark.parametrize(
    ("shapes", "sizes"),
    [
        (((6, 8), (8, 2), (3, 2), (3, 1)), None),
        (((6, 8), (8, 3), (3, 2), (3, 2)), None),
        (((2, 3, 8), (8, 2), (3, 2), (3, 2)), None),
        (((0, 8), (8, 2), (3, 2), (3, 2)), None),
        (((7, 8), (8, 2), (3, 2), (3, 2)), None),
        (((6, 8), (8, 2), (3, 2), (3, 2)), (3, 2)),
        (((6, 8), (8, 2), (3, 2), (3, 2)), (4, 2)),
    ],
)
def test_other_sequences_are_left_to_the_plain_form(shapes: Any, sizes: Any) -> None:
    inputs, weight, *states = [np.ones(shape) for shape in shapes]
    assert vectors.run_sequence("lstm", inputs, weight, None, states, sizes, False) is None
    mixed = (np.ones((6, 8)), np.ones((8, 2), np.float32), None, [np.ones((3, 2))] * 2, None, False)
    assert vectors.run_sequence("lstm", *mixed) is None
