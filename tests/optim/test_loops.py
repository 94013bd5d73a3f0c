"""Optimizer steps by C loops and by formulas on whole arrays have the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.kernels import vectors
from adjoint.optim import SGD, Adam, AdamW
from adjoint.optim.elementwise import base

pytestmark = pytest.mark.skipif(
    not vectors.there, reason="only the compiled form on processors with vectors has these loops"
)

SHAPES = ((16, 16), (), (3,), (2, 0), (40_001,), (7, 5))
CASES = [
    (SGD, {"lr": 0.1}),
    (SGD, {"lr": 0.1, "momentum": 0.9}),
    (SGD, {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01, "maximize": True}),
    (SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
    (Adam, {"lr": 0.1}),
    (Adam, {"lr": 0.1, "betas": (0.5, 0.9), "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    (AdamW, {"lr": 0.1, "weight_decay": 0.1}),
    (AdamW, {"lr": 0.1, "amsgrad": True}),
]


def step(optimizer: Any, options: Any, dtype: Any, layout: str) -> list[np.ndarray[Any, Any]]:
    """Parameters and state after three steps."""
    rng = np.random.default_rng(0)

    def random_tensor(shape: Any) -> Any:
        values = rng.normal(size=shape) + (1j * rng.normal(size=shape) if np.dtype(dtype).kind == "c" else 0)
        return adjoint.from_numpy(np.array(values, dtype, order=layout))

    parameters = [adjoint.nn.Parameter(random_tensor(shape)) for shape in SHAPES]
    instance = optimizer(parameters, **options)
    for _ in range(3):
        for parameter in parameters:
            parameter.grad = random_tensor(parameter.shape)
        # a gradient that repeats its elements, and one with NaN and infinite elements
        parameters[0].grad = adjoint.from_numpy(np.ones(1, dtype)).expand(16, 16)
        parameters[2].grad[:2] = adjoint.tensor([np.nan, np.inf])
        instance.step()
    states = [value for parameter in parameters for value in instance.state[parameter].values()]
    return [tensor.detach().numpy() for tensor in (*parameters, *states)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize(("optimizer", "options"), CASES)
def test_to_the_last_bit(monkeypatch: pytest.MonkeyPatch, optimizer: Any, options: Any, dtype: Any) -> None:
    results, run = [], vectors.run_updates
    with monkeypatch.context() as patch:
        patch.setattr(base.vectors, "run_updates", lambda *a: results.append(run(*a)) or results[-1])
        states_in_c = step(optimizer, options, dtype, "C")
    assert results and all(results)
    with monkeypatch.context() as patch:
        patch.setattr(base.vectors, "run_updates", lambda *_: False)
        expected = step(optimizer, options, dtype, "C")
    for one, other in zip(states_in_c, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_arrays_go_through_the_formula() -> None:
    for options in ({"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}):
        turned, straight = (step(SGD, options, np.float64, layout) for layout in "FC")
        for one, other in zip(turned, straight, strict=True):
            np.testing.assert_array_equal(one, other)
    numbers = (0.1, 0.0, 1.0)
    for arrays in (
        [np.ones((2, 3)).T, np.ones((3, 2))],
        [np.ones(3, np.float32), np.ones(3)],
        [np.ones(3, np.float16), np.ones(3, np.float16)],
        [np.ones(3, np.int64), np.ones(3, np.int64)],
    ):
        assert not vectors.run_updates(vectors.DESCEND, numbers, 0.0, 1.0, False, False, [arrays])


def test_arrays_that_must_not_be_written_are_refused() -> None:
    values = np.ones(3)
    values.flags.writeable = False
    parameter = adjoint.nn.Parameter(adjoint.from_numpy(values))
    parameter.grad = adjoint.ones(3, dtype=adjoint.float64)
    with pytest.raises(ValueError, match="read-only"):
        SGD([parameter], lr=0.1).step()
    assert (values == 1).all()
