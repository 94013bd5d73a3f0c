"""The paths of connectionist temporal classification by loops over vectors and by whole arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.kernels import vectors
from adjoint.nn.functional import ctc_loss
from adjoint.rules import losses

pytestmark = pytest.mark.skipif(
    not vectors.there, reason="only the compiled form on processors with vectors has these loops"
)


def loss_and_gradient(log_probs: Any, targets: Any, steps: Any, lengths: Any, **options: Any) -> list[Any]:
    leaf = adjoint.from_numpy(log_probs).requires_grad_()
    loss = ctc_loss(leaf, adjoint.from_numpy(targets), steps, lengths, reduction="none", **options)
    weights = adjoint.arange(1.0, loss.numel() + 1, dtype=loss.dtype)
    return [loss.detach().numpy(), adjoint.autograd.grad(loss, leaf, weights)[0].numpy()]


def check(monkeypatch: pytest.MonkeyPatch, log_probs: Any, *arguments: Any, **options: Any) -> None:
    results = []
    with monkeypatch.context() as patch:
        patch.setattr(losses, "run_paths", lambda *a: results.append(vectors.run_paths(*a)) or results[-1])
        actual = loss_and_gradient(log_probs, *arguments, **options)
    assert len(results) == 2 and all(result is not None for result in results)
    with monkeypatch.context() as patch:
        patch.setattr(losses, "run_paths", lambda *_: None)
        plain = loss_and_gradient(log_probs, *arguments, **options)
    tolerance = 2e-4 if log_probs.dtype == np.float32 else 1e-11
    for one, other in zip(actual, plain, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


def scores(rng: Any, moments: int, samples: int, classes: int, dtype: Any, sharp: float = 1.0) -> Any:
    values = sharp * rng.normal(size=(moments, samples, classes))
    return (
        values
        - np.log(np.exp(values - values.max(2, keepdims=True)).sum(2, keepdims=True))
        - values.max(2, keepdims=True)
    ).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("moments", "samples", "classes", "longest"), [(7, 3, 5, 3), (1, 1, 2, 1), (40, 2, 17, 20), (12, 5, 40, 4)]
)
def test_paths(
    monkeypatch: pytest.MonkeyPatch, kind: int, moments: int, samples: int, classes: int, longest: int, dtype: Any
) -> None:
    rng = np.random.default_rng(0)
    targets = rng.integers(1, classes, (samples, longest))
    steps, lengths = rng.integers(1, moments + 1, samples), rng.integers(0, longest + 1, samples)
    steps[0], lengths[0] = moments, longest
    check(
        monkeypatch,
        scores(rng, moments, samples, classes, dtype),
        targets,
        tuple(steps),
        tuple(lengths),
        zero_infinity=True,
    )


@pytest.mark.parametrize("zero_infinity", [False, True])
def test_samples_without_moments_labels_or_paths(monkeypatch: pytest.MonkeyPatch, zero_infinity: bool) -> None:
    rng = np.random.default_rng(0)
    targets = np.array([[1, 1, 1], [1, 2, 1], [2, 1, 2], [1, 2, 2], [0, 0, 0]])
    arguments = targets, (4, 0, 0, 4, 4), (3, 0, 2, 0, 2)
    check(monkeypatch, scores(rng, 4, 5, 3, np.float64), *arguments, zero_infinity=zero_infinity, blank=2)


def test_sharp_scores_and_other_strides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probabilities are far smaller than the smallest floating point number."""
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.float64):
        values = np.asfortranarray(scores(rng, 9, 2, 4, dtype, sharp=500.0))
        check(monkeypatch, values, rng.integers(1, 4, (2, 3)), (9, 8), (3, 2))
    values[3] = -np.inf
    check(monkeypatch, values, rng.integers(1, 4, (2, 3)), (9, 8), (3, 2), zero_infinity=True)


def test_no_samples() -> None:
    loss = ctc_loss(adjoint.zeros(3, 0, 2), adjoint.zeros(0, 2, dtype=adjoint.int64), (), (), reduction="none")
    assert loss.shape == (0,)
