"""Optimizers with sparse gradients: steps on the elements that have values, and torch's errors."""

from __future__ import annotations

from typing import Any

import pytest

import adjoint
from adjoint import Tensor, optim


def loss(w: Tensor, rows: list[int], is_sparse: bool = True) -> Tensor:
    return (adjoint.nn.functional.embedding(adjoint.tensor(rows), w, sparse=is_sparse) - 1).square().sum()


def train(optimizer: type, is_sparse: bool, n: int = 4, **options: Any) -> Tensor:
    w = adjoint.zeros(6, 2, requires_grad=True)
    instance = optimizer([w], **options)
    for _ in range(n):

        def closure() -> Tensor:
            instance.zero_grad()
            value = loss(w, [1, 5, 5], is_sparse)
            value.backward()
            return value

        instance.step(closure)
    return w.detach()


@pytest.mark.parametrize(
    ("optimizer", "options"),
    [
        (optim.SGD, {"lr": 0.1}),
        (optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
        (optim.Adagrad, {"lr": 0.1, "lr_decay": 0.1}),
        (optim.LBFGS, {"lr": 0.1}),
    ],
)
def test_steps_are_those_with_dense_gradients(optimizer: type, options: dict[str, Any]) -> None:
    actual, expected = train(optimizer, True, **options), train(optimizer, False, **options)
    assert adjoint.allclose(actual, expected, rtol=1e-6)
    assert actual[0].tolist() == [0, 0]


def test_sparse_adam() -> None:
    w = adjoint.zeros(10, 2, requires_grad=True)
    adam = optim.SparseAdam([w], lr=0.1, betas=(0.8, 0.95), eps=0.3, maximize=True)
    for rows in ([1, 5], [1, 2]):
        adam.zero_grad()
        loss(w, rows).backward()
        adam.step()
    # values of PyTorch 2.13
    expected = adjoint.tensor([0.0, -0.12821, -0.04643, 0.0, 0.0, -0.05985])
    assert adjoint.allclose(w.detach()[:6, 0], expected, atol=1e-5)
    assert sorted(adam.state[w]) == ["exp_avg", "exp_avg_sq", "step"]
    same = train(optim.SparseAdam, True, lr=0.1)[1:2]
    whole = adjoint.zeros(1, 2, requires_grad=True)
    other = optim.Adam([whole], lr=0.1)
    for _ in range(4):
        other.zero_grad()
        loss(whole, [0], False).backward()
        other.step()
    assert adjoint.allclose(same, whole.detach(), rtol=1e-5)


@pytest.mark.parametrize(
    "name", ["Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "ASGD", "Rprop", "Adafactor"]
)
def test_refusals(name: str) -> None:
    w = adjoint.zeros(6, 2, requires_grad=True)
    loss(w, [1]).backward()
    words = "Adam does not support sparse gradients, please consider SparseAdam instead"
    with pytest.raises(RuntimeError, match=words if name in ("Adam", "AdamW") else f"{name} does not support sparse"):
        getattr(optim, name)([w]).step()
    assert w.detach().count_nonzero() == 0


def test_other_errors() -> None:
    w = adjoint.zeros(6, 2, requires_grad=True)
    loss(w, [1]).backward()
    with pytest.raises(RuntimeError, match="weight_decay option is not compatible with sparse gradients"):
        optim.Adagrad([w], weight_decay=0.1).step()
    w.grad = adjoint.ones(6, 2)
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please consider Adam instead"):
        optim.SparseAdam([w]).step()
    for options in ({"lr": -1}, {"eps": -1}, {"betas": (1.0, 0.9)}):
        with pytest.raises(ValueError, match="Invalid"):
            optim.SparseAdam([w], **options)
