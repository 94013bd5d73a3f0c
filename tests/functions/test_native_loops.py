"""The rules give the C loops arguments that the loops support. So common calls do not run formulas of whole arrays."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pytest

import adjoint
from adjoint.arrays.kernels import vectors
from adjoint.nn import functional as F

pytestmark = pytest.mark.skipif(not vectors.compiled, reason="only the compiled form has these loops")

#: For each module of rules: calls whose gradients or values the loops compute.
CALLS: dict[str, list[Callable[[], Any]]] = {
    "normalization": [
        lambda: F.layer_norm(leaf(6, 40), (40,)),
        lambda: F.layer_norm(leaf(6, 40), (40,), leaf(40), leaf(40)),
        lambda: F.layer_norm(leaf(6, 4, 10), (4, 10), leaf(4, 10), leaf(4, 10)),
        lambda: F.layer_norm(leaf(3, 2, 2, 4, 5), (2, 2, 4, 5), leaf(2, 2, 4, 5)),
        lambda: F.batch_norm(leaf(6, 4, 90), None, None, leaf(4), leaf(4), training=True),
        lambda: F.batch_norm(leaf(6, 4), None, None, leaf(4), leaf(4), training=True),
        lambda: F.batch_norm(leaf(6, 4, 1), None, None, training=True),
        lambda: F.group_norm(leaf(6, 4, 90), 2, leaf(4), leaf(4)),
    ],
    "reduce": [
        lambda: leaf(6, 40).softmax(1),
        lambda: leaf(6, 40).log_softmax(-1),
        lambda: leaf(6, 40).std(),
        lambda: leaf(6, 40).var(0),
        lambda: leaf(6, 40).std(1, keepdim=True),
    ],
    "distances": [lambda: adjoint.pdist(leaf(6, 4))],
    "sampling": [lambda: F.grid_sample(leaf(1, 2, 5, 5), leaf(1, 3, 3, 2), align_corners=False)],
    "contract": [lambda: adjoint.linalg.cross(leaf(6, 3), leaf(6, 3))],
    "counting": [lambda: adjoint.isin(adjoint.arange(5), adjoint.tensor([1, 3]))],
}


def leaf(*shape: int) -> Any:
    generator = adjoint.Generator().manual_seed(0)
    return adjoint.randn(*shape, generator=generator, requires_grad=True)


@pytest.mark.parametrize(
    ("name", "call"),
    [pytest.param(name, call, id=f"{name}{i}") for name, calls in CALLS.items() for i, call in enumerate(calls)],
)
def test_loops_take_the_arguments_of_rules(name: str, call: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = importlib.import_module(f"adjoint.rules.{name}")
    results = []

    def native(function: Any, *args: Any) -> Any:
        results.append(function(*args))
        return results[-1]

    monkeypatch.setattr(module, "native", native)
    result = call()
    if result.requires_grad:
        result.sum().backward()
    assert results and all(each is not None for each in results)


@pytest.mark.parametrize("kind", [adjoint.nn.LSTMCell, adjoint.nn.GRUCell])
def test_cells_go_back_by_their_loops(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recurrent: Any = importlib.import_module("adjoint.rules.recurrent")
    loop, results = recurrent.gated_step, []

    def gated_step(*args: Any) -> Any:
        results.append(loop(*args))
        return results[-1]

    monkeypatch.setattr(recurrent, "gated_step", gated_step)
    cell, x, weight = kind(6, 8), leaf(5, 6), leaf(5, 8)
    following = cell(x)
    loss = ((following[0] if isinstance(following, tuple) else following) * weight).sum()
    inputs = [x, *cell.parameters()]
    by_loops = adjoint.autograd.grad(loss, inputs, retain_graph=True)
    assert len(results) == 2 and all(result is not None for result in results)
    by_formulas = adjoint.autograd.grad(loss, inputs, create_graph=True)
    for actual, expected in zip(by_loops, by_formulas, strict=True):
        adjoint.testing.assert_close(actual, expected.detach())
