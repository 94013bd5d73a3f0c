"""Sorting and selection by order: NumPy's values and indices, and gradients by the selected elements."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint

inf, nan = math.inf, math.nan
RNG = np.random.default_rng(0)
X = np.random.default_rng(3).permutation(24).reshape(2, 3, 4).astype(np.float64)
W = np.random.default_rng(4).standard_normal((2, 3, 4))


def tensor(values: Any, **options: Any) -> Any:
    return adjoint.tensor(np.asarray(values, dtype=np.float64), **options)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("descending", [False, True])
def test_sort_agrees_with_numpy(dim: int, descending: bool) -> None:
    values, indices = adjoint.sort(tensor(X), dim, descending)
    expected = np.sort(X, axis=dim)
    np.testing.assert_array_equal(values.numpy(), np.flip(expected, dim) if descending else expected)
    np.testing.assert_array_equal(np.take_along_axis(X, indices.numpy(), dim), values.numpy())
    assert indices.dtype is adjoint.int64
    np.testing.assert_array_equal(adjoint.argsort(tensor(X), dim, descending).numpy(), indices.numpy())


def test_sort_is_stable_and_takes_nan_for_the_largest() -> None:
    x = tensor([3.0, nan, 1.0, inf, -inf, 1.0, 3.0])
    assert x.sort().indices.tolist() == [4, 2, 5, 0, 6, 3, 1]
    assert x.sort(descending=True, stable=True).indices.tolist() == [1, 3, 0, 6, 2, 5, 4]
    assert adjoint.msort(x).tolist()[:4] == [-inf, 1.0, 1.0, 3.0]


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_topk_agrees_with_sort(k: int, largest: bool) -> None:
    values, indices = adjoint.topk(tensor(X), k, 1, largest)
    expected = np.sort(X, axis=1)
    expected = np.flip(expected, 1) if largest else expected
    np.testing.assert_array_equal(values.numpy(), expected[:, :k])
    np.testing.assert_array_equal(np.take_along_axis(X, indices.numpy(), 1), values.numpy())


def test_topk_takes_nan_for_the_largest() -> None:
    assert tensor([1.0, nan, 3.0, 2.0]).topk(2).indices.tolist() == [1, 2]
    assert tensor([1.0, nan, 3.0, 2.0]).topk(2, largest=False).indices.tolist() == [0, 3]


PICKS: dict[str, Callable[[Any], Any]] = {
    "sort": lambda x: x.sort(1).values,
    "sort down": lambda x: x.sort(0, descending=True).values,
    "topk": lambda x: x.topk(2, 2).values,
    "topk low": lambda x: x.topk(2, 1, largest=False).values,
    "max": lambda x: x.max(1).values,
    "max keepdim": lambda x: x.max(dim=1, keepdim=True).values,
    "min": lambda x: x.min(-1)[0],
    "median": lambda x: x.median(2).values,
    "median keepdim": lambda x: x.median(0, True).values,
    "median all": lambda x: x.median(),
    "kthvalue": lambda x: x.kthvalue(2, 1).values,
}


@pytest.mark.parametrize("name", PICKS)
def test_the_picked_elements_get_the_gradient(name: str) -> None:
    pick = PICKS[name]
    x = tensor(X, requires_grad=True)
    y = pick(x)
    weights = W.reshape(-1)[: y.numel()].reshape(y.shape)
    (g,) = adjoint.autograd.grad((y * tensor(weights)).sum(), [x])
    expected = np.zeros_like(X)
    for value, weight in zip(y.detach().numpy().reshape(-1), weights.reshape(-1), strict=True):
        expected[value == X] = weight  # all elements differ
    np.testing.assert_array_equal(g.numpy(), expected)


@pytest.mark.parametrize("name", PICKS)
def test_second_derivatives(name: str) -> None:
    x = tensor(X, requires_grad=True)
    y = PICKS[name](x)
    (g,) = adjoint.autograd.grad((y**3).sum(), [x], create_graph=True)
    (h,) = adjoint.autograd.grad(g.sum(), [x])
    np.testing.assert_allclose(h.numpy(), np.where(np.isin(X, y.detach().numpy()), 6 * X, 0))


def test_the_first_of_equal_elements_is_picked_along_an_axis() -> None:
    x = tensor([1.0, 2.0, 2.0, 1.0], requires_grad=True)
    assert x.max(0).indices.item() == 1 and x.min(0).indices.item() == 0
    x.max(0).values.backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0, 0.0]


def test_equal_elements_share_the_gradient_of_the_median_of_all() -> None:
    x = tensor([2.0, 1.0, 2.0, 2.0, 3.0], requires_grad=True)
    x.median().backward()
    np.testing.assert_allclose(x.grad.numpy(), [1 / 3, 0.0, 1 / 3, 1 / 3, 0.0])
    assert x.median(0).indices.item() == 2


def test_median_is_the_lower_one_and_nan_if_there_is_one() -> None:
    assert tensor([3.0, 1.0, 2.0, 4.0]).median().item() == 2.0
    values, indices = tensor([[2.0, nan, 1.0], [2.0, 3.0, 1.0]]).median(1)
    assert math.isnan(values[0].item()) and values[1].item() == 2.0
    assert indices.tolist() == [1, 0]
    assert math.isnan(tensor([1.0, nan, 0.0]).median().item())
    assert math.isnan(tensor([]).median().item())


def test_max_and_min_of_two_tensors() -> None:
    a, b = tensor([1.0, 5.0]), tensor([2.0, 3.0])
    assert adjoint.max(a, b).tolist() == [2.0, 5.0]
    assert a.min(other=b).tolist() == [1.0, 3.0]


def test_zero_dimensional_input() -> None:
    x = tensor(3.0, requires_grad=True)
    for f in (lambda: x.sort(), lambda: x.topk(1), lambda: x.max(0), lambda: x.median(-1), lambda: x.kthvalue(1)):
        values, indices = f()
        assert values.shape == indices.shape == () and (values.item(), indices.item()) == (3.0, 0)
        (g,) = adjoint.autograd.grad(values, [x])
        assert g.item() == 1.0
    with pytest.raises(IndexError, match="Dimension out of range"):
        x.sort(1)


def test_results_are_named() -> None:
    result = tensor(X).max(0)
    assert result._fields == ("values", "indices")
    assert not result.indices.requires_grad


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: t.topk(t.ones(1), 2), RuntimeError, "selected index k out of range"),
        (lambda t: t.topk(t.ones(1), -1), RuntimeError, "selected index k out of range"),
        (lambda t: t.sort(t.tensor([1j])), RuntimeError, " Sort does not support complex dtypes on CPU"),
        (lambda t: t.topk(t.tensor([1j]), 1), RuntimeError, "topk does not support complex dtypes on CPU"),
        (lambda t: t.max(t.tensor([1j]), 0), RuntimeError, r"max\(\): does not support complex input"),
        (lambda t: t.max(t.zeros(0, 3), 0), IndexError, r"max\(\): Expected reduction dim 0 to have non-zero size"),
        (lambda t: t.median(t.zeros(0, 3), 0), IndexError, r"median\(\): Expected reduction dim 0 to have non-zero"),
        (lambda t: t.kthvalue(t.ones(2), 3), RuntimeError, "selected number k out of range for dimension 0"),
    ],
)
def test_errors_are_worded_as_in_torch(call: Callable[[Any], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(adjoint)


@pytest.mark.parametrize("function", [adjoint.median, adjoint.nanmedian])
def test_the_median_of_nothing_does_not_change(function) -> None:
    with adjoint.autograd.forward_ad.dual_level():
        nothing = adjoint.autograd.forward_ad.make_dual(adjoint.zeros(0), adjoint.zeros(0))
        assert adjoint.autograd.forward_ad.unpack_dual(function(nothing)).tangent.item() == 0


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("kind", ["float64", "int64"])
def test_topk_takes_the_first_of_equals(kind: str, largest: bool) -> None:
    for shape, dim in (((7,), 0), ((5, 40), 1), ((40, 3), 0), ((2, 30, 3), 1)):
        array = RNG.integers(0, 4, shape).astype(kind)
        if kind == "float64":
            array[array == 3] = np.nan
        order = np.argsort(np.nan_to_num(-array if largest else array, nan=-9 if largest else 9), dim, stable=True)
        for k in range(shape[dim] + 1):
            result = adjoint.from_numpy(array).topk(k, dim, largest)
            np.testing.assert_array_equal(result.indices.numpy(), np.take(order, range(k), dim))
    assert adjoint.tensor([1.0, 1, 0]).topk(1).indices.tolist() == [0]
