"""Gradients of values that all members of a batch share: some formulas sum over the batch in one step."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.func import grad, hessian, vmap
from adjoint.nn import functional as F
from adjoint.rules import TABLE

RNG = np.random.default_rng(0)
ROWS, COLUMNS, WIDTH = 3, 4, 5


def numbers(*shape: int, dtype: str = "float64") -> Any:
    values = RNG.standard_normal(shape)
    if dtype == "complex128":
        values = values + 1j * RNG.standard_normal(shape)
    return adjoint.tensor(values)


def indices_below(n: int, *shape: int) -> Any:
    return adjoint.tensor(RNG.integers(0, n, shape))


#: A function of shared and of members' arrays, the shape of the shared array, and the shapes of members' arrays; for
#: indices their shape and the number of positions.
PRODUCTS: dict[str, tuple[Any, tuple[int, ...], list[Any]]] = {
    "vector @ matrix": (lambda w, x: x @ w, (4, 5), [(4,)]),
    "matrix @ matrix": (lambda w, x: x @ w, (4, 5), [(3, 4)]),
    "stack @ matrix": (lambda w, x: x @ w, (4, 5), [(2, 3, 4)]),
    "matrix @ vector": (lambda w, x: x @ w, (4,), [(3, 4)]),
    "stack @ vector": (lambda w, x: x @ w, (4,), [(2, 3, 4)]),
    "vector @ vector": (lambda w, x: x @ w, (4,), [(4,)]),
    "vector @ stack": (lambda w, x: x @ w, (2, 4, 5), [(4,)]),
    "stack @ stack": (lambda w, x: x @ w, (2, 4, 5), [(2, 3, 4)]),
    "shared matrix @ vector": (lambda w, x: w @ x, (3, 4), [(4,)]),
    "shared matrix @ matrix": (lambda w, x: w @ x, (3, 4), [(4, 5)]),
    "shared matrix @ stack": (lambda w, x: w @ x, (3, 4), [(2, 4, 5)]),
    "shared vector @ vector": (lambda w, x: w @ x, (4,), [(4,)]),
    "shared vector @ matrix": (lambda w, x: w @ x, (4,), [(4, 5)]),
    "shared stack @ vector": (lambda w, x: w @ x, (2, 3, 4), [(4,)]),
    "shared stack @ stack": (lambda w, x: w @ x, (2, 3, 4), [(2, 4, 5)]),
    "form": (lambda w, x: x @ w @ x, (4, 4), [(4,)]),
    "mm": (lambda w, x: adjoint.mm(x, w), (4, 5), [(3, 4)]),
    "mm on the left": (lambda w, x: adjoint.mm(w, x), (3, 4), [(4, 5)]),
    "mv": (lambda w, x: adjoint.mv(w, x), (3, 4), [(4,)]),
    "mv of a vector": (lambda w, x: adjoint.mv(x, w), (4,), [(3, 4)]),
    "linear": (lambda w, x: F.linear(x, w), (5, 4), [(4,)]),
    "linear of a matrix": (lambda w, x: F.linear(x, w), (5, 4), [(3, 4)]),
    "linear of a stack": (lambda w, x: F.linear(x, w), (5, 4), [(2, 3, 4)]),
    "linear by a vector": (lambda w, x: F.linear(x, w), (4,), [(3, 4)]),
    "conv1d": (lambda w, x: F.conv1d(x, w, padding=1), (2, 3, 3), [(2, 3, 6)]),
    "conv1d of one image": (lambda w, x: F.conv1d(x, w), (2, 3, 3), [(3, 6)]),
    "conv2d": (lambda w, x: F.conv2d(x, w, stride=2, groups=2), (4, 1, 2, 2), [(2, 2, 5, 5)]),
    "conv_transpose2d": (lambda w, x: F.conv_transpose2d(x, w, stride=2), (2, 3, 2, 2), [(2, 2, 3, 3)]),
}
PICKS: dict[str, tuple[Any, tuple[int, ...], list[Any]]] = {
    "embedding": (lambda w, i: F.embedding(i, w), (6, 3), [(6, (2,))]),
    "embedding with padding": (lambda w, i: F.embedding(i, w, padding_idx=2), (6, 3), [(6, (2, 2))]),
    "embedding by frequency": (lambda w, i: F.embedding(i, w, scale_grad_by_freq=True), (6, 3), [(6, (5,))]),
    "gather": (lambda w, i: w.gather(1, i), (3, 4), [(4, (3, 2))]),
    "gather of a vector": (lambda w, i: w.gather(0, i), (4,), [(4, (3,))]),
    "gather of less": (lambda w, i: w.gather(0, i), (4, 3), [(4, (5, 2))]),
    "index_select": (lambda w, i: w.index_select(1, i), (3, 4), [(4, (2,))]),
    "index_select of one": (lambda w, i: w.index_select(0, i), (3, 4), [(3, ())]),
    "take": (lambda w, i: w.take(i), (3, 4), [(12, (2, 2))]),
    "one index": (lambda w, i: w[i], (3, 4), [(3, ())]),
    "indices": (lambda w, i: w[i], (3, 4), [(3, (2, 2))]),
    "second axis": (lambda w, i: w[:, i], (3, 4), [(4, (2,))]),
    "two axes": (lambda w, i, j: w[i, j], (3, 4), [(3, (2,)), (4, (2,))]),
    "unequal indices": (lambda w, i, j: w[i, j], (3, 4), [(3, ()), (4, (2, 2))]),
    "last two axes": (lambda w, i, j: w[:, i, j], (2, 3, 4), [(3, (2,)), (4, (2,))]),
    "axes apart": (lambda w, i, j: w[i, :, j], (3, 2, 4), [(3, (2,)), (4, (2,))]),
    "axes behind": (lambda w, i, j: w[:, i, :, j], (2, 3, 2, 4), [(3, (2,)), (4, (2,))]),
    "one of all": (lambda w, i: w[i, adjoint.tensor([0, 2])], (3, 4), [(3, (2,))]),
    "take_along_dim": (lambda w, i: w.take_along_dim(i, 1), (3, 4), [(4, (3, 2))]),
}
CASES = PRODUCTS | PICKS


def members(parts: list[Any], *batch: int, dtype: str = "float64") -> list[Any]:
    return [
        numbers(*batch, *part, dtype=dtype)
        if not part or isinstance(part[-1], int)
        else indices_below(part[0], *batch, *part[1])
        for part in parts
    ]


def measure(y: Any) -> Any:
    """A number that depends on each element with a different weight."""
    weights = adjoint.linspace(0.5, 1.5, max(y.numel(), 1), dtype=adjoint.float64)[: y.numel()].reshape(y.shape)
    return (weights * (y.sin() if not y.is_complex() else (y * y * (1 - 0.5j)).real)).sum()


def by_loop(function: Any, w: Any, arrays: list[Any]) -> Any:
    return adjoint.stack([function(w, *[array[k] for array in arrays]) for k in range(len(arrays[0]))])


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_shared_arrays(name: str, dtype: str) -> None:
    function, shape, parts = CASES[name]
    w = numbers(*shape, dtype=dtype).requires_grad_()
    arrays = members(parts, WIDTH, dtype=dtype)
    batched = lambda w: measure(vmap(lambda *xs: function(w, *xs))(*arrays))
    looped = lambda w: measure(by_loop(function, w, arrays))
    for create_graph in (False, True):
        (actual,) = adjoint.autograd.grad(batched(w), w, create_graph=create_graph)
        (expected,) = adjoint.autograd.grad(looped(w), w, create_graph=create_graph)
        adjoint.testing.assert_close(actual, expected)
    if expected.requires_grad:
        second, other = [adjoint.autograd.grad(measure(g), w)[0] for g in (actual, expected)]
        adjoint.testing.assert_close(second, other)


@pytest.mark.parametrize("name", CASES)
def test_nested_batches(name: str) -> None:
    function, shape, parts = CASES[name]
    w = numbers(*shape).requires_grad_()
    arrays = members(parts, 2, 3)
    rows = vmap(lambda *xs: vmap(lambda *ys: function(w, *ys))(*xs))(*arrays)
    flat = by_loop(function, w, [array.reshape(6, *array.shape[2:]) for array in arrays])
    adjoint.testing.assert_close(rows.reshape(flat.shape), flat)
    actual, expected = [adjoint.autograd.grad(measure(y.reshape(flat.shape)), w)[0] for y in (rows, flat)]
    adjoint.testing.assert_close(actual, expected)


@pytest.mark.parametrize("create_graph", [False, True])
def test_a_batch_in_which_the_other_factor_does_not_differ(create_graph: bool) -> None:
    """The cotangent of the weight is a sum over the batch of the bias, too."""
    w, x, bias = numbers(5, 4).requires_grad_(), numbers(3, 4), numbers(2, 5)
    rows = vmap(lambda b: vmap(lambda x: F.linear(x, w, b))(x))(bias)
    looped = adjoint.stack([F.linear(x, w, b) for b in bias])
    actual, expected = [adjoint.autograd.grad(measure(y), w, create_graph=create_graph)[0] for y in (rows, looped)]
    adjoint.testing.assert_close(actual, expected)


@pytest.mark.parametrize("name", CASES)
def test_batches_that_differ_in_part(name: str) -> None:
    """The batch of the cotangent is another one than the batch of the saved values."""
    function, shape, parts = CASES[name]
    w, scales = numbers(*shape).requires_grad_(), numbers(4)
    arrays = members(parts, 3)
    rows = vmap(lambda s: vmap(lambda *xs: s * function(w, *xs))(*arrays))(scales)
    flat = adjoint.stack([s * by_loop(function, w, arrays) for s in scales])
    actual, expected = [adjoint.autograd.grad(measure(y), w)[0] for y in (rows, flat)]
    adjoint.testing.assert_close(actual, expected)


@pytest.mark.parametrize("name", CASES)
def test_members_have_gradients_of_their_own(name: str) -> None:
    """Inside of the batch, each member has its own gradient."""
    function, shape, parts = CASES[name]
    w = numbers(*shape)
    arrays = members(parts, 3)
    actual = vmap(lambda *xs: grad(lambda w: measure(function(w, *xs)))(w))(*arrays)
    expected = adjoint.stack([grad(lambda w, k=k: measure(function(w, *[a[k] for a in arrays])))(w) for k in range(3)])
    adjoint.testing.assert_close(actual, expected)


@pytest.mark.parametrize("name", CASES)
def test_batches_of_no_members(name: str) -> None:
    function, shape, parts = CASES[name]
    w = numbers(*shape).requires_grad_()
    y = vmap(lambda *xs: function(w, *xs))(*members(parts, 0))
    (gradient,) = adjoint.autograd.grad(y.sum(), w)
    assert gradient.shape == w.shape and not gradient.any()


@pytest.mark.parametrize("name", ["linear", "shared vector @ matrix", "gather", "stack @ stack"])
def test_saved_values_are_unpacked_once(name: str) -> None:
    function, shape, parts = CASES[name]
    w = numbers(*shape).requires_grad_()
    packs, unpacks = [], []
    with adjoint.autograd.graph.saved_tensors_hooks(
        lambda t: (packs.append(1), t)[1], lambda t: (unpacks.append(1), t)[1]
    ):
        y = vmap(lambda *xs: function(w, *xs))(*members(parts, 3)).sum()
    y.backward()
    assert len(unpacks) == len(packs)


def test_second_derivatives_in_batches() -> None:
    """The Laplacian of a network at many points, as physical equations need it."""
    first, second = [numbers(*shape).requires_grad_() for shape in ((6, 2), (1, 6))]
    u = lambda x: (second @ (first @ x).tanh())[0]
    points = numbers(7, 2)
    whole = vmap(lambda x: hessian(u)(x).diagonal().sum())(points)
    alone = adjoint.stack([hessian(u)(x).diagonal().sum() for x in points])
    for actual, expected in zip(
        *[adjoint.autograd.grad(measure(y), (first, second)) for y in (whole, alone)], strict=True
    ):
        adjoint.testing.assert_close(actual, expected)


@pytest.mark.parametrize(
    "name", ["linear", "matrix @ matrix", "shared matrix @ vector", "embedding", "indices", "gather"]
)
def test_no_gradient_for_each_member_is_stored(name: str) -> None:
    function, shape, parts = CASES[name]
    n = 60 if name in PRODUCTS else 300
    large = tuple(n if k != 3 or name != "gather" else 3 for k in shape)
    w = numbers(*large).requires_grad_()
    parts = [tuple(n if k == shape[-1] or k == shape[0] else k for k in part) if isinstance(part[-1], int) else part
             for part in parts]  # fmt: skip
    y = vmap(lambda *xs: function(w, *xs))(*members(parts, 200)).sum()
    tracemalloc.start()
    try:
        y.backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 20 * w.numel() * 8


def test_some_rules_have_such_formulas() -> None:
    names = {rule.name for rule in TABLE.values() for formula in rule.vjps if formula.summed is not None}
    assert {
        "matmul",
        "mm",
        "mv",
        "linear",
        "convolution",
        "embedding",
        "gather",
        "index_select",
        "take",
    } <= names
