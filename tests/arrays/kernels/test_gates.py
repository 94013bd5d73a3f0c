"""Steps of gated recurrent networks by the compiled loops and by whole arrays, forward and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.kernels import products_and_sums
from adjoint.arrays.kernels.products_and_sums import REMEMBER, UPDATE, gated_step
from adjoint.rules import recurrent

pytestmark = pytest.mark.skipif(
    gated_step(UPDATE, (np.ones((1, 3)), np.ones((1, 3)), np.ones((1, 1)))) is None, reason="these loops are compiled"
)


def step_and_gradients(name: str, arrays: list[Any]) -> list[Any]:
    tensors = [adjoint.from_numpy(array).requires_grad_() for array in arrays]
    results = getattr(adjoint.core.graph.registry.tensor_ops, name)(*tensors)[: 2 if name == "lstm_step" else 1]
    total = sum((result * result).sum() for result in results)
    return [*[result.detach().numpy() for result in results], *adjoint.autograd.grad(total, tensors)]


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


def sequence_and_gradients(arrays: list[Any], which: tuple[int, ...]) -> list[Any]:
    tensors = [adjoint.from_numpy(array).requires_grad_() for array in arrays]
    results = adjoint.core.graph.registry.tensor_ops.lstm_sequence(*tensors)
    total = sum((results[k] * results[k].cos()).sum() for k in which)
    return [*[result.detach().numpy() for result in results], *adjoint.autograd.grad(total, tensors)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("which", [(0,), (1,), (0, 1), (0, 1, 2)])
@pytest.mark.parametrize(("moments", "rows", "units"), [(5, 3, 4), (1, 1, 1), (2, 7, 40), (4, 1, 3)])
def test_sequences(
    monkeypatch: pytest.MonkeyPatch, moments: int, rows: int, units: int, which: Any, dtype: Any
) -> None:
    rng = np.random.default_rng(0)
    shapes = ((moments, rows, 4 * units), (4 * units, units), (rows, units), (rows, units))
    arrays = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    calls = []
    monkeypatch.setattr(
        recurrent, "remembered_back", lambda *a: calls.append(1) or products_and_sums.remembered_back(*a)
    )
    found = sequence_and_gradients(arrays, which)
    assert len(calls) == (2 not in which)
    turned = [np.asfortranarray(array) for array in arrays]
    for result, expected in zip(sequence_and_gradients(turned, which), found, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)
    monkeypatch.setattr(recurrent, "remembered", lambda *_: None)
    monkeypatch.setattr(recurrent, "remembered_back", lambda *_: None)
    for result, expected in zip(found, sequence_and_gradients(arrays, which), strict=True):
        tolerance = 2e-4 if dtype is np.float32 else 1e-12
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


def test_a_sequence_is_its_steps() -> None:
    """All but the gradient of the weight, which is one product for all moments, to the last bit."""
    rng = np.random.default_rng(0)
    own, weight, hidden, memory = [
        adjoint.from_numpy(rng.normal(size=shape)).requires_grad_() for shape in ((6, 5, 28), (28, 7), (5, 7), (5, 7))
    ]
    ops = adjoint.core.graph.registry.tensor_ops
    found = ops.lstm_sequence(own, weight, hidden, memory)[:2]
    states, h, m = [], hidden, memory
    for k in range(6):
        h, m = ops.lstm_step(own[k], adjoint.nn.functional.linear(h, weight), m)[:2]
        states.append((h, m))
    expected = [adjoint.stack(list(column)) for column in zip(*states, strict=True)]
    gradients = []
    for hiddens, memories in (found, expected):
        total = (hiddens * hiddens).sum() + memories[-1].sin().sum()
        gradients.append(adjoint.autograd.grad(total, [own, hidden, memory, weight]))
    assert all((own == other).all() for own, other in zip(found, expected, strict=True))
    assert all((own == other).all() for own, other in zip(gradients[0][:3], gradients[1][:3], strict=True))
    assert adjoint.allclose(gradients[0][3], gradients[1][3], 1e-12)


@pytest.mark.parametrize(
    "shapes",
    [((2, 3, 8), (8, 2), (3, 2), (3, 1)), ((2, 3, 8), (8, 3), (3, 2), (3, 2)), ((3, 8), (8, 2), (3, 2), (3, 2)),
     ((0, 3, 8), (8, 2), (3, 2), (3, 2))],
)  # fmt: skip
def test_other_sequences_are_left_to_numpy(shapes: Any) -> None:
    assert products_and_sums.remembered(*[np.ones(shape) for shape in shapes]) is None
    mixed = [np.ones((2, 3, 8)), np.ones((8, 2), np.float32), np.ones((3, 2)), np.ones((3, 2))]
    assert products_and_sums.remembered(*mixed) is None
