"""Muon's steps agree with its formula in NumPy. Wrong arguments raise errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import optim

A, B, C = 3.4445, -4.775, 2.0315


def orthogonalize(matrix: Any) -> Any:
    x = matrix / max(np.linalg.norm(matrix), 1e-7)
    for _ in range(5):
        square = x @ x.T
        x = A * x + (B * square + C * square @ square) @ x
    return x


@pytest.mark.parametrize("shape", [(2, 3), (3, 2), (3, 3)])
@pytest.mark.parametrize("scale", [None, "match_rms_adamw"])
@pytest.mark.parametrize("nesterov", [True, False])
def test_steps_are_those_of_the_formula(shape, scale, nesterov):
    start = np.sin(np.arange(np.prod(shape), dtype=float)).reshape(shape)
    w = adjoint.from_numpy(start.copy()).requires_grad_()
    muon = optim.Muon([w], lr=0.1, weight_decay=0.2, momentum=0.9, nesterov=nesterov, adjust_lr_fn=scale)
    expected, mean = start.copy(), np.zeros(shape)
    for _ in range(3):
        muon.zero_grad()
        (w - 2).square().sum().backward()
        g = 2 * (expected - 2)
        mean = 0.9 * mean + 0.1 * g
        step = orthogonalize(0.1 * g + 0.9 * mean if nesterov else mean)
        rows, columns = shape
        factor = 0.2 * np.sqrt(max(shape)) if scale else np.sqrt(max(1, rows / columns))
        expected = expected * (1 - 0.1 * 0.2) - 0.1 * factor * step
        muon.step()
    np.testing.assert_allclose(w.detach().numpy(), expected, rtol=1e-10)


# the message of PyTorch 2.13
WRONG: dict[str, dict[str, Any]] = {
    "Learning rate should be >= 0 but is: -1.0": {"lr": -1.0},
    "momentum should be >= 0 but is: -1": {"momentum": -1},
    "weight decay should be >= 0 but is: -1": {"weight_decay": -1},
    "Adjust learning rate function x is not supported": {"adjust_lr_fn": "x"},
    "Tensor lr must be 1-element": {"lr": adjoint.ones(2)},
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_options(message):
    with pytest.raises(ValueError) as caught:
        optim.Muon([adjoint.ones(2, 2, requires_grad=True)], **WRONG[message])
    assert str(caught.value) == message


def test_parameters_are_real_matrices():
    with pytest.raises(ValueError, match="only supports 2D parameters whereas we found a parameter with size"):
        optim.Muon([adjoint.ones(3, requires_grad=True)])
    w = adjoint.ones(2, 2, dtype=adjoint.complex64, requires_grad=True)
    w.abs().sum().backward()
    with pytest.raises(RuntimeError, match="complex"):
        optim.Muon([w]).step()


def test_a_second_schedule_remembers_the_steps_under_the_first(recwarn):
    sgd = optim.SGD([adjoint.ones(2, requires_grad=True)], lr=1.0)
    optim.lr_scheduler.StepLR(sgd, 2)
    sgd.step()
    optim.lr_scheduler.StepLR(sgd, 2).step()
    assert not recwarn.list
