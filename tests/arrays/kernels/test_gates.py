"""Steps of gated recurrent networks by the compiled loops and by whole arrays, forward and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
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
