"""Indexing: brackets against NumPy on random indices, gradients of reads and writes, every function, torch's errors.

test_table.py tests the rules themselves by their declarations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjoint
from adjoint import Tensor

A = np.arange(24.0).reshape(2, 3, 4)
M = np.arange(6.0).reshape(2, 3)
RNG = np.random.default_rng(0)


def leaf(array: Any) -> Tensor:
    return adjoint.from_numpy(np.array(array, dtype=np.float64)).requires_grad_()


def integers(*values: Any) -> Tensor:
    return adjoint.tensor(values, dtype=adjoint.int64)


# random indices -------------------------------------------------------------------------------------------------------

SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


def slices(n: int) -> st.SearchStrategy[slice]:
    places = st.none() | st.integers(-n - 2, n + 2)
    return st.builds(slice, places, places, st.none() | st.integers(1, 3))


@st.composite
def basic_indices(draw: Any, shape: tuple[int, ...]) -> Any:
    """A tuple of slices, ints, None and sometimes an ellipsis."""
    n_axes = draw(st.integers(0, len(shape)))
    after = draw(st.booleans())
    axes = range(len(shape) - n_axes, len(shape)) if after else range(n_axes)
    items: list[Any] = []
    for axis in axes:
        n = shape[axis]
        items.append(draw(slices(n) | st.integers(-n, n - 1) if n else slices(n)))
    if after:
        items.insert(0, ...)
    elif draw(st.booleans()):
        items.append(...)
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    return items[0] if len(items) == 1 and draw(st.booleans()) else tuple(items)


@st.composite
def advanced_indices(draw: Any, shape: tuple[int, ...]) -> Any:
    """A tuple with index arrays or one mask among slices, None and sometimes an ellipsis."""
    items: list[Any] = []
    common = draw(hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=3))
    axis, masked = 0, False
    while axis < len(shape) and draw(st.integers(0, 5)):
        n = shape[axis]
        kind = draw(st.sampled_from(["slice", "array", "mask"]))
        if kind == "mask" and not masked and not any(isinstance(i, np.ndarray) for i in items):
            covers = draw(st.integers(1, len(shape) - axis))
            items.append(draw(hnp.arrays(bool, shape[axis : axis + covers])))
            axis, masked = axis + covers, True
            continue
        if kind == "array" and n and not masked:
            places = draw(hnp.broadcastable_shapes(common, max_dims=2, max_side=1) | st.just(common))
            places = places if len(places) else (1,)
            items.append(draw(hnp.arrays(np.int64, places, elements=st.integers(-n, n - 1))))
        else:
            items.append(draw(slices(n)))
        axis += 1
    if draw(st.booleans()):
        items.append(...)
    if draw(st.booleans()):
        items.insert(draw(st.integers(0, len(items))), None)
    return tuple(items)


@st.composite
def arrays_with_indices(draw: Any, kinds: Any) -> tuple[np.ndarray[Any, Any], Any]:
    shape = draw(SHAPES)
    return np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape), draw(kinds(shape))


def forms(index: Any) -> list[Any]:
    """The same index in arrays, in tensors, and in lists."""
    items = index if isinstance(index, tuple) else (index,)
    if not any(isinstance(item, np.ndarray) for item in items):
        return [index]

    def change_index(change: Callable[[Any], Any]) -> Any:
        return tuple(change(item) if isinstance(item, np.ndarray) else item for item in items)

    lists = change_index(lambda item: item.tolist() if item.size else item)
    return [index, change_index(adjoint.from_numpy), lists]


def check_getitem(array: np.ndarray[Any, Any], index: Any) -> None:
    expected = array[index]
    for form in forms(index):
        x = leaf(array)
        y = x[form]
        assert y.shape == np.shape(expected)
        np.testing.assert_array_equal(y.detach().numpy(), expected)
        weights = np.arange(2.0, 2 + y.numel()).reshape(y.shape)
        g = leaf(weights)
        (first,) = adjoint.autograd.grad(y, x, g, create_graph=True)
        total = np.zeros(array.shape)
        np.add.at(total, index, weights)
        np.testing.assert_array_equal(first.detach().numpy(), total)
        (second,) = adjoint.autograd.grad(first, g, x.detach())
        np.testing.assert_array_equal(second.numpy(), expected)


@given(arrays_with_indices(basic_indices))
def test_getitem_basic(case: tuple[np.ndarray[Any, Any], Any]) -> None:
    array, index = case
    check_getitem(array, index)
    x = adjoint.from_numpy(array)
    y = x[index]
    assert y._base is x or not y.numel()
    assert y.numel() == 0 or np.shares_memory(y.numpy(), array)


@given(arrays_with_indices(advanced_indices))
def test_getitem_advanced(case: tuple[np.ndarray[Any, Any], Any]) -> None:
    check_getitem(*case)


@given(arrays_with_indices(lambda shape: basic_indices(shape) | advanced_indices(shape)), st.data())
def test_setitem(case: tuple[np.ndarray[Any, Any], Any], data: Any) -> None:
    array, index = case
    picked = np.shape(array[index])
    shape = data.draw(hnp.broadcastable_shapes(picked, max_dims=len(picked), max_side=4) | st.just(picked))
    if np.broadcast_shapes(shape, picked) != picked:
        return
    value = np.asarray(-np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape))
    if has_repeats(array, index):
        # if several values go to one element, the result is undefined
        value = np.full(shape, -1.0)
    expected = array.copy()
    expected[index] = value
    for form in forms(index):
        plain = adjoint.from_numpy(array.copy())
        plain[form] = adjoint.from_numpy(value)
        np.testing.assert_array_equal(plain.numpy(), expected)
        assert plain._version == 1
        x, v = leaf(array), leaf(value)
        y = x * 1
        y[form] = v
        np.testing.assert_array_equal(y.detach().numpy(), expected)
        weights = np.arange(2.0, 2 + array.size).reshape(array.shape)
        of_x, of_v = adjoint.autograd.grad(y, (x, v), adjoint.from_numpy(weights), materialize_grads=True)
        copy = weights.copy()
        copy[index] = 0
        np.testing.assert_array_equal(of_x.numpy(), copy)
        np.testing.assert_array_equal(of_v.numpy(), summed_to(weights[index], shape))


def has_repeats(array: np.ndarray[Any, Any], index: Any) -> bool:
    places = np.arange(array.size).reshape(array.shape)[index]
    return np.unique(places).size < np.size(places)


def summed_to(array: np.ndarray[Any, Any], shape: tuple[int, ...]) -> Any:
    extra = array.ndim - len(shape)
    array = array.sum(tuple(range(extra)))
    return array.sum(tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True).reshape(shape)


# differences from NumPy, and unusual indices --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "shape"),
    [
        ((0, slice(None), [0, 1]), (3, 2)),
        (([0, 1], slice(None), [0, 1]), (2, 3)),
        (([0, 1], 0, [0, 1]), (2,)),
        ((slice(None), [0, 1], None), (2, 2, 1, 4)),
        ([[0, 1], [1, 0]], (2, 4)),
        ([slice(0, 1)], (1, 3, 4)),
        ((..., ...), (2, 3, 4)),
        ((True, 0), (1, 3, 4)),
        (False, (0, 2, 3, 4)),
        ([], (0, 3, 4)),
        ([True, False], (1, 3, 4)),
        (range(2), (2, 3, 4)),
        (np.int64(1), (3, 4)),
        (np.array(1), (3, 4)),
        (integers(1)[0], (3, 4)),
        (slice(integers(0)[0], np.int64(1)), (1, 3, 4)),
        (adjoint.tensor([1, 0], dtype=adjoint.int32), (2, 3, 4)),
        ((), (2, 3, 4)),
    ],
)
def test_an_int_beside_an_array_and_other_special_cases(index: Any, shape: tuple[int, ...]) -> None:
    assert tuple(adjoint.from_numpy(A)[index].shape) == shape


@pytest.mark.parametrize("index", [True, False, adjoint.tensor(True), (None, False)])
def test_a_bool_is_a_mask_of_a_new_axis(index: Any) -> None:
    raw = index.numpy() if isinstance(index, Tensor) else index
    np.testing.assert_array_equal(adjoint.from_numpy(M)[index].numpy(), M[raw])
    z = adjoint.tensor(3.0)
    np.testing.assert_array_equal(z[index].numpy(), np.array(3.0)[raw])


@pytest.mark.parametrize(
    ("index", "node"),
    [
        (0, "SelectBackward0"),
        (slice(0, 1), "SliceBackward0"),
        (slice(None), "SliceBackward0"),
        ((slice(None), 0), "SelectBackward0"),
        ((0, slice(1, None)), "SliceBackward0"),
        (None, "UnsqueezeBackward0"),
        (..., "AliasBackward0"),
        ([0, 1], "IndexBackward0"),
        (integers(0)[0], "SelectBackward0"),
    ],
)
def test_nodes_have_torchs_names(index: Any, node: str) -> None:
    assert leaf(M)[index].grad_fn.name() == node


def test_an_index_changed_later_does_not_change_the_gradient() -> None:
    x, where = leaf(M), integers(0, 0)
    y = x[where]
    where.fill_(1)
    y.sum().backward()
    assert x.grad.tolist() == [[2, 2, 2], [0, 0, 0]]


def test_an_index_of_gather_changed_later_is_noticed() -> None:
    x, where = leaf(M), integers([0, 1])
    y = x.gather(1, where)
    where.fill_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_many_repeated_rows_add_up() -> None:
    rng = np.random.default_rng(0)
    rows, weights = rng.integers(-50, 50, 2000), rng.standard_normal((2000, 8))
    for pick in (lambda x, i: x[i], lambda x, i: x.index_select(0, i % 50)):
        x = leaf(np.zeros((50, 8)))
        pick(x, adjoint.from_numpy(rows)).backward(adjoint.from_numpy(weights))
        expected = np.zeros((50, 8))
        np.add.at(expected, rows, weights)
        np.testing.assert_allclose(x.grad.numpy(), expected)


# assignment -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [0, [0], (slice(0, 1), slice(None))])
@pytest.mark.parametrize("value", [5, 5.5, True, np.float32(5), np.full(3, 5), [5, 6, 7], adjoint.full((1, 1, 3), 5.0)])
def test_assigned_values_are_converted(index: Any, value: Any) -> None:
    x = adjoint.zeros(2, 3)
    x[index] = value
    expected = np.zeros((2, 3))
    expected[index] = np.asarray(value)
    np.testing.assert_array_equal(x.numpy(), expected)
    assert x.dtype is adjoint.float32
    assert x._version == 1


def test_assignment_keeps_the_dtype() -> None:
    x = adjoint.zeros(3, dtype=adjoint.int64)
    x[0] = 1.5
    x[1:] = adjoint.tensor([2.5, -2.5])
    x[[0]] = 7.9
    assert x.tolist() == [7, 2, -2]
    y = adjoint.zeros(2)
    y[0] = adjoint.tensor(3.0, dtype=adjoint.float64)
    assert y.tolist() == [3, 0]


def test_one_number_of_another_dtype_fills_a_mask() -> None:
    x, number = leaf(M), adjoint.tensor([[3.5]], dtype=adjoint.float32, requires_grad=True)
    y = x.clone()
    y[x > 2] = number
    np.testing.assert_array_equal(y.detach().numpy(), np.where(M > 2, 3.5, M))
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), M <= 2)
    assert number.grad.tolist() == [[3.0]] and number.grad.dtype is adjoint.float32
    counts = adjoint.zeros(2, 3, dtype=adjoint.int64)
    counts[0, adjoint.tensor([True, False, True])] = adjoint.tensor(3.7)
    assert counts.tolist() == [[3, 0, 3], [0, 0, 0]]
    assert adjoint.zeros(2).index_put((adjoint.tensor([True, False]),), adjoint.tensor(3)).tolist() == [3, 0]


def test_axes_of_length_one_in_front_of_what_a_mask_takes() -> None:
    x = adjoint.zeros(2, 3)
    x[adjoint.tensor(M > 2)] = adjoint.tensor([[1.0, 2.0, 3.0]])
    assert x.tolist() == [[0, 0, 0], [1, 2, 3]]


@pytest.mark.parametrize("shape", [(5,), (3, 2)])
def test_assignment_to_memory_that_the_value_lies_partly_in(shape) -> None:
    x = adjoint.arange(np.prod(shape)).reshape(shape)
    before = x.tolist()
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor refer to"):
        x[1:] = x[:-1]
    assert x.tolist() == before
    x[1:] = x[:-1].clone()
    assert x.tolist() == [before[0], *before[:-1]]
    x[:] = x
    assert x.tolist() == [before[0], *before[:-1]]


def test_assignment_through_a_view() -> None:
    x = leaf(M)
    y = x * 1
    y[1][[0, 2]] = leaf([5.0, 6.0])
    y.t()[0, 0] = 9
    assert y.tolist() == [[9, 1, 2], [5, 4, 6]]
    y.sum().backward()
    assert x.grad.tolist() == [[0, 1, 1], [0, 1, 0]]


def test_second_derivatives_through_assignments() -> None:
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    y[0] = y[1].clone() * y[2].clone()
    y[1] = y[0].clone() * y[2].clone()
    (g,) = adjoint.autograd.grad(y.sum(), x, create_graph=True)
    # x = (a, b, c) and y = (b c, b c c, c)
    assert g.tolist() == [0, 3 + 9, 2 + 2 * 2 * 3 + 1]
    (h,) = adjoint.autograd.grad(g[1] + g[2], x)
    assert h.tolist() == [0, 1 + 6, (1 + 6) + 4]


def test_assignment_is_seen_by_the_version_check() -> None:
    x = leaf([1.0, 2.0])
    y = x * 1
    z = y * y
    y[0] = 5.0
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_assignment_where_it_is_forbidden() -> None:
    x = leaf(M)
    for index in (0, (0, 0), slice(None)):
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad is being used"):
            x[index] = 1
    for index in ([0], ...):
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used"):
            x[index] = 1
    with adjoint.no_grad():
        x[0] = 1
        x[[1]] = 2
    assert x.tolist() == [[1, 1, 1], [2, 2, 2]]
    assert x.is_leaf
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        adjoint.zeros(3).expand(2, 3)[...] = 1


# functions ------------------------------------------------------------------------------------------------------------

ROWS, GRID = integers(2, 0, 2), integers([0, 2, 1], [1, 1, 1])
MASK = adjoint.tensor([[True, False, True], [False, True, True]])
N = np.arange(12.0).reshape(3, 4)
Z = adjoint.tensor(1.0)


def put_along(array: Any, index: Any, values: Any, axis: int) -> Any:
    result = array.copy()
    np.put_along_axis(result, index, values, axis)
    return result


def replace_at(array: Any, where: Any, value: Any) -> Any:
    result = array.copy()
    result[where] = value
    return result


FUNCTIONS: dict[str, tuple[Any, Callable[[Tensor], Tensor], Callable[[Any], Any]]] = {
    "select": (A, lambda x: x.select(1, -1), lambda a: a[:, -1]),
    "gather": (M, lambda x: x.gather(1, GRID), lambda a: np.take_along_axis(a, GRID.numpy(), 1)),
    "gather-part": (N, lambda x: x.gather(0, GRID), lambda a: np.take_along_axis(a[:, :3], GRID.numpy(), 0)),
    "scatter": (
        N,
        lambda x: x.scatter(1, integers([3, 0], [1, 2], [0, 3]), adjoint.ones(3, 2, dtype=adjoint.float64)),
        lambda a: put_along(a, np.array([[3, 0], [1, 2], [0, 3]]), 1.0, 1),
    ),
    "scatter-value": (
        N,
        lambda x: x.scatter(0, integers([2, 0, 1, 1]), value=2.0),
        lambda a: put_along(a, np.array([[2, 0, 1, 1]]), 2.0, 0),
    ),
    "scatter-add": (
        N,
        lambda x: x.scatter(0, integers([2, 0]), 2.0, reduce="add"),
        lambda a: a + np.array([[0, 2, 0, 0], [0, 0, 0, 0], [2, 0, 0, 0]]),
    ),
    "scatter_add": (
        N,
        lambda x: x.scatter_add(0, integers([1, 0], [1, 0]), adjoint.ones(3, 3, dtype=adjoint.float64)),
        lambda a: a + np.array([[0, 2, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0]]),
    ),
    "index_select": (N, lambda x: x.index_select(0, ROWS), lambda a: a[[2, 0, 2]]),
    "index_add": (
        N,
        lambda x: x.index_add(0, ROWS, adjoint.ones(3, 4, dtype=adjoint.float64), alpha=2),
        lambda a: a + np.array([[2], [0], [4]]),
    ),
    "index_copy": (N, lambda x: x.index_copy(1, integers(3), x[:, :1]), lambda a: replace_at(a, (..., [3]), a[:, :1])),
    "index_fill": (N, lambda x: x.index_fill(1, integers(3, 1), 7.0), lambda a: replace_at(a, (..., [3, 1]), 7.0)),
    "index_put": (
        N,
        lambda x: x.index_put((ROWS, integers(1)), adjoint.tensor(7.0, dtype=adjoint.float64)),
        lambda a: replace_at(a, ([2, 0, 2], [1]), 7.0),
    ),
    "masked_fill": (M, lambda x: x.masked_fill(MASK, 7), lambda a: np.where(MASK.numpy(), 7, a)),
    "masked_fill-broadcast": (
        M[0],
        lambda x: adjoint.masked_fill(x, MASK, float("-inf")).exp(),
        lambda a: np.exp(np.where(MASK.numpy(), -np.inf, a)),
    ),
    "masked_select": (M, lambda x: x.masked_select(MASK), lambda a: a[MASK.numpy()]),
    "masked_scatter": (
        M,
        lambda x: x.masked_scatter(MASK, -x),
        lambda a: replace_at(a, MASK.numpy(), -a.reshape(-1)[:4]),
    ),
    "take": (M, lambda x: x.take(integers([0, -1], [5, 2])), lambda a: a.reshape(-1)[[[0, -1], [5, 2]]]),
    "put": (
        M,
        lambda x: x.put(integers(0, -1), adjoint.ones(2, dtype=adjoint.float64)),
        lambda a: replace_at(a.reshape(-1), [0, -1], 1.0).reshape(2, 3),
    ),
    "take_along_dim": (
        M,
        lambda x: adjoint.take_along_dim(x, integers([1, 0, 2, 2]), 1),
        lambda a: np.take_along_axis(a, np.array([[1, 0, 2, 2]]), 1),
    ),
    "take_along_dim-flat": (M, lambda x: x.take_along_dim(integers([5, 0])), lambda a: a.reshape(-1)[[5, 0]]),
    "where": (M, lambda x: adjoint.where(MASK, x, -x), lambda a: np.where(MASK.numpy(), a, -a)),
    "where-method": (M, lambda x: x.where(MASK, 0.5), lambda a: np.where(MASK.numpy(), a, 0.5)),
    "select_scatter": (
        M,
        lambda x: adjoint.select_scatter(x, 2 * x[:, 0], 1, 2),
        lambda a: replace_at(a, (..., 2), 2 * a[:, 0]),
    ),
    "slice_scatter": (
        M,
        lambda x: x.slice_scatter(-x[:, :2], 1, 0, None, 2),
        lambda a: replace_at(a, (..., [0, 2]), -a[:, :2]),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_function(name: str) -> None:
    array, function, reference = FUNCTIONS[name]
    x = leaf(array)
    y, expected = function(x), np.asarray(reference(np.array(array, dtype=float)))
    assert y.shape == expected.shape
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    weights = np.random.default_rng(0).standard_normal(expected.shape)
    (g,) = adjoint.autograd.grad(y, x, adjoint.from_numpy(weights), create_graph=True)
    numeric = np.zeros(array.shape)
    for index in np.ndindex(array.shape):
        step = np.zeros(array.shape)
        step[index] = 1e-5
        numeric[index] = ((reference(array + step) - reference(array - step)) * weights).sum() / 2e-5
    np.testing.assert_allclose(g.detach().numpy(), numeric, atol=1e-8)


@pytest.mark.parametrize(
    ("inplace", "function"),
    [
        (lambda x, i: x.index_put_((i,), Z, accumulate=True), lambda x, i: x.index_put((i,), Z, True)),
        (lambda x, i: x.scatter_(0, i, 2.0), lambda x, i: x.scatter(0, i, 2.0)),
        (lambda x, i: x.scatter_(0, i, 2.0, reduce="add"), lambda x, i: x.scatter(0, i, 2.0, reduce="add")),
        (lambda x, i: x.scatter_add_(0, i, adjoint.ones(2)), lambda x, i: x.scatter_add(0, i, adjoint.ones(2))),
        (lambda x, i: x.index_fill_(0, i, 3.0), lambda x, i: x.index_fill(0, i, 3.0)),
        (lambda x, i: x.masked_fill_(x > 1, 3.0), lambda x, i: x.masked_fill(x > 1, 3.0)),
    ],
)
def test_in_place(inplace: Callable[..., Tensor], function: Callable[..., Tensor]) -> None:
    i = integers(2, 2)
    x, y = adjoint.arange(3.0).requires_grad_(), adjoint.arange(3.0).requires_grad_()
    copy = x * 1
    assert inplace(copy, i) is copy
    other = function(y * 1, i)
    assert copy.tolist() == other.tolist()
    (copy * copy).sum().backward()
    (other * other).sum().backward()
    assert x.grad.tolist() == y.grad.tolist()


def test_nonzero() -> None:
    x = adjoint.tensor([[0, 1], [2, 0]])
    assert x.nonzero().tolist() == x.argwhere().tolist() == [[0, 1], [1, 0]]
    assert [t.tolist() for t in x.nonzero(as_tuple=True)] == [[0, 1], [1, 0]]
    assert [t.tolist() for t in adjoint.where(x > 1)] == [[1], [0]]
    zero, one = adjoint.tensor(0), adjoint.tensor(1)
    assert (tuple(zero.nonzero().shape), tuple(one.nonzero().shape)) == ((0, 0), (1, 0))
    assert one.nonzero(as_tuple=True)[0].tolist() == [0]


X, Y = adjoint.zeros(2, 3), adjoint.zeros(3)
ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: X[5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    (lambda: X[:, -4], IndexError, "index -4 is out of bounds for dimension 1 with size 3"),
    (lambda: X[[5]], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    (lambda: X[0, 0, 0], IndexError, "too many indices for tensor of dimension 2"),
    (lambda: X[[0], [0], [0]], IndexError, "too many indices for tensor of dimension 2"),
    (lambda: Z[0], IndexError, "invalid index of a 0-dim tensor. Use `tensor.item()`"),
    (lambda: X[1.0], IndexError, "None and long or byte Variables are valid indices (got float)"),
    (lambda: X[adjoint.tensor([1.0])], IndexError, "tensors used as indices must be long, int, byte or bool tensors"),
    (lambda: X["a"], TypeError, "new(): invalid data type 'str'"),
    (lambda: X[0, ::0], ValueError, "step must be greater than zero"),
    (
        lambda: X[adjoint.tensor([True, False, True])],
        IndexError,
        "The shape of the mask [3] at index 0 does not match the shape of the indexed tensor [2, 3] at index 0",
    ),
    (lambda: X[:, [True, False]], IndexError, "does not match the shape of the indexed tensor [2, 3] at index 1"),
    (
        lambda: X[[0, 1], [0, 1, 2]],
        IndexError,
        "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]",
    ),
    (
        lambda: X.__setitem__(0, adjoint.ones(2)),
        RuntimeError,
        "The expanded size of the tensor (3) must match the existing size (2) at non-singleton dimension 0",
    ),
    (lambda: X.__setitem__(0, adjoint.ones(2, 3)), RuntimeError, "the number of sizes provided (1) must be greater"),
    (
        lambda: X.__setitem__([0, 1], adjoint.ones(2)),
        RuntimeError,
        "shape mismatch: value tensor of shape [2] cannot be broadcast to indexing result of shape [2, 3]",
    ),
    (
        lambda: X.__setitem__([0], adjoint.ones(3, dtype=adjoint.float64)),
        RuntimeError,
        "Index put requires the source and destination dtypes match, got Float for the destination and Double",
    ),
    (
        lambda: X.index_put((X > 9,), adjoint.ones(1, 2)),
        RuntimeError,
        "shape mismatch: value tensor of shape [1, 2] cannot be broadcast to indexing result of shape [0]",
    ),
    (
        lambda: X.__setitem__(X > 0, adjoint.tensor(1j)),
        RuntimeError,
        "value cannot be converted to type float without overflow",
    ),
    (lambda: X.__setitem__(0, 1j), RuntimeError, "value cannot be converted to type float without overflow"),
    (lambda: X.__setitem__([0], 1j), RuntimeError, "value cannot be converted to type float without overflow"),
    (lambda: X.__setitem__(0, None), TypeError, "can't assign a NoneType to a adjoint.FloatTensor"),
    (lambda: X.__setitem__(0, "a"), TypeError, "can't assign a str to a adjoint.FloatTensor"),
    (lambda: X.__setitem__(5, 0), IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    (lambda: X.select(1, 5), IndexError, "select(): index 5 out of range for tensor of size [2, 3] at dimension 1"),
    (lambda: Z.select(0, 0), IndexError, "select() cannot be applied to a 0-dim tensor."),
    (lambda: X.gather(0, integers(0)), RuntimeError, "Index tensor must have the same number of dimensions as input"),
    (
        lambda: X.gather(1, integers([0], [0], [1])),
        RuntimeError,
        "Size does not match at dimension 0 expected index [3, 1] to be no larger than self [2, 3] apart from dim",
    ),
    (lambda: X.gather(0, integers([-1])), RuntimeError, "index -1 is out of bounds for dimension 0 with size 2"),
    (lambda: X.gather(0, adjoint.zeros(1, 1)), RuntimeError, "gather(): Expected dtype int32/int64 for index"),
    (
        lambda: X.scatter(0, integers([0, 1]), adjoint.ones(1, 1)),
        RuntimeError,
        "Expected index [1, 2] to be no larger than self [2, 3] apart from dimension 0 and to be no larger size than",
    ),
    (
        lambda: X.scatter(0, integers([0, 1]), adjoint.ones(1, 2).double()),
        RuntimeError,
        "scatter(): Expected self.dtype to be equal to src.dtype",
    ),
    (lambda: X.scatter(0, integers([5])), TypeError, "scatter(): give either src, a Tensor, or value, a number"),
    (lambda: X.scatter(0, integers([5]), 1.0), RuntimeError, "index 5 is out of bounds for dimension 0 with size 2"),
    (
        lambda: X.scatter(0, integers([0]), 1.0, reduce="mean"),
        RuntimeError,
        "reduce argument must be either add or multiply",
    ),
    (lambda: X.index_select(0, integers([0])), IndexError, "index_select(): Index is supposed to be a vector"),
    (lambda: X.index_select(0, integers(-1)), IndexError, "index out of range in self"),
    (lambda: X.index_add(0, integers(0), X), RuntimeError, "Number of indices (1) should be equal to source.size(dim)"),
    (lambda: X.index_add(0, integers(0), X[:1, :2]), RuntimeError, "Got self.shape = [2, 3] source.shape = [1, 2]"),
    (lambda: X.index_copy(0, integers(5), X[:1]), IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
    (lambda: X.index_fill(0, integers(0), Y), RuntimeError, "index_fill_ only supports a 0-dimensional value tensor"),
    (lambda: X.masked_fill(X > 1, Y), RuntimeError, "but got tensor with 1 dimension(s)."),
    (lambda: X.masked_fill(integers(0, 1, 1), 0), RuntimeError, "only supports boolean masks, but got mask with dtype"),
    (lambda: X.masked_fill(adjoint.ones(4) > 0, 0), RuntimeError, "The size of tensor a (4) must match the size of"),
    (lambda: X.masked_select(integers(1, 0, 1)), RuntimeError, "masked_select: expected BoolTensor for mask"),
    (lambda: X.masked_scatter(X < 1, Y), RuntimeError, "Number of elements of source < number of ones in mask"),
    (lambda: X.take(integers(6)), IndexError, "out of range: tried to access index 6 on a tensor of 6 elements."),
    (lambda: X.index_put(integers(0), Z), TypeError, "argument 'indices' (position 1) must be tuple of Tensors"),
    (lambda: X.index_put((integers(0),), 1.0), TypeError, "argument 'values' (position 2) must be Tensor, not float"),
    (lambda: X.index_put((None,), Z), TypeError, "expected Tensor as element 0 in argument 0, but got NoneType"),
    (lambda: adjoint.where(X, X, 0), RuntimeError, "where expected condition to be a boolean tensor, but got a tensor"),
    (lambda: adjoint.where(X > 0, X), TypeError, "where(): give both input and other, or neither"),
    (lambda: adjoint.take_along_dim(X, integers(0), 0), RuntimeError, "but got 2 dimensions for input, and 1"),
]


@pytest.mark.parametrize(("function", "kind", "message"), ERRORS, ids=[m[:40] for _, _, m in ERRORS])
def test_errors_are_torchs(function: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        function()
    assert message in str(caught.value)


def test_where_of_numbers_takes_the_default_dtype() -> None:
    mask = adjoint.tensor([True, False])
    result = adjoint.where(mask, 1.0, 0)
    assert result.tolist() == [1, 0] and result.dtype is adjoint.float32
    assert adjoint.where(mask, 1, 0).dtype is adjoint.int64
    assert adjoint.where(mask, 1j, 0).dtype is adjoint.complex64
    assert adjoint.where(mask, 1.0, adjoint.zeros(2, dtype=adjoint.float64)).dtype is adjoint.float64


def test_where_writes_into_out_and_says_which_shapes_differ() -> None:
    out = adjoint.empty(2)
    assert adjoint.where(adjoint.tensor([True, False]), adjoint.ones(2), adjoint.zeros(2), out=out) is out
    assert out.tolist() == [1, 0]
    with pytest.raises(RuntimeError, match=r"The size of tensor a \(2\) must match the size of tensor b \(3\)"):
        adjoint.where(adjoint.tensor([True, False]), adjoint.ones(2), adjoint.ones(3))


def test_slices_with_negative_steps_are_views_as_in_numpy() -> None:
    """Torch has no negative steps. NumPy programs use them to reverse axes."""
    array = np.arange(12.0).reshape(3, 4)
    x = adjoint.tensor(array, requires_grad=True)
    picks = [np.s_[::-1], np.s_[:, ::-2], np.s_[::-1, 2::-1], np.s_[-1:0:-1, 1], np.s_[[0, 2], ::-1], np.s_[None, ::-3]]
    for pick in picks:
        y = x[pick]
        assert np.array_equal(y.detach().numpy(), array[pick])
        weights = np.arange(1.0, array[pick].size + 1).reshape(array[pick].shape)
        (grad,) = adjoint.autograd.grad((y * adjoint.tensor(weights)).sum(), x)
        expected = np.zeros_like(array)
        np.add.at(expected, pick, weights)
        assert np.array_equal(grad.numpy(), expected)
    base = x * 1
    flipped = base[::-1]
    flipped[0] = 0
    flipped.mul_(2)
    assert base[2].tolist() == [0.0] * 4 and flipped.stride() == (-4, 1) and flipped._base is base
    base.sum().backward()
    assert x.grad.tolist() == [[2.0] * 4, [2.0] * 4, [0.0] * 4]
    rows = adjoint.vmap(lambda row: row[::-1] * 2)(adjoint.tensor(array))
    assert np.array_equal(rows.numpy(), array[:, ::-1] * 2)
    assert adjoint.tensor(array)[::-1].contiguous().stride() == (4, 1)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        base[::-1].view(12)
    target = adjoint.zeros(4)
    target[::-1] = adjoint.arange(4.0)
    assert target.tolist() == [3.0, 2.0, 1.0, 0.0]


@pytest.mark.parametrize("shape", [(0,), (2, 0), (0, 3, 2)])
@pytest.mark.parametrize("kind", ["int64", "uint8", "float32"])
def test_an_empty_index_of_any_kind_names_no_places(shape: tuple[int, ...], kind: str) -> None:
    index = adjoint.zeros(shape, dtype=getattr(adjoint, kind))
    x, source = leaf(M), leaf(M)
    picked = x.gather(1, index)
    assert picked.shape == shape and picked.dtype is x.dtype
    picked.sum().backward()
    assert x.grad.tolist() == np.zeros_like(M).tolist()
    changed = [
        x.scatter(1, index, source),
        x.scatter_add(0, index, source),
        x.scatter_reduce(1, index, source, "prod", include_self=False),
        x.clone().scatter_(0, index, source),
    ]
    for y in changed:
        assert y.tolist() == M.tolist()
        grads = adjoint.autograd.grad(y.sum(), [x, source])
        assert [g.tolist() for g in grads] == [np.ones_like(M).tolist(), np.zeros_like(M).tolist()]


def test_index_reduce_takes_integers_only() -> None:
    with pytest.raises(RuntimeError, match="Expected dtype int32/int64 for index but got: Byte"):
        adjoint.ones(2).index_reduce(0, adjoint.tensor([1, 0], dtype=adjoint.uint8), adjoint.ones(2), "prod")


def test_fills_with_a_tensor_that_the_type_cannot_hold() -> None:
    x, mask = adjoint.ones(2, dtype=adjoint.uint8), adjoint.tensor([True, False])
    assert x.masked_fill(mask, adjoint.tensor(-1)).tolist() == [255, 1]
    for fill in (lambda v: x.masked_fill(mask, v), lambda v: x.index_fill(0, integers(1), v)):
        with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
            fill(adjoint.tensor(-1.5))


def test_bools_have_no_mean() -> None:
    x = adjoint.ones(2, dtype=adjoint.bool)
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        x.scatter_reduce(0, integers(0), x[:1], "mean")


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("zeros", [0, 1, 2, 3])
def test_second_derivatives_of_products_with_zeros(zeros: int, include_self: bool) -> None:
    x, source = leaf([2.0, -1.5]), leaf([*[0.0] * zeros, 1.5, -0.5, 3.0, 0.75][:4])
    index = integers(0, 0, 0, 1)

    def products(x: Tensor, source: Tensor) -> Tensor:
        return x.scatter_reduce(0, index, source, "prod", include_self=include_self)

    first = source[:3].prod() * (x[0] if include_self else 1)
    second = source[3] * (x[1] if include_self else 1)
    weights = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64)
    expected = adjoint.autograd.functional.hessian(
        lambda x, s: s[0] * s[1] * s[2] * (x[0] if include_self else 1) + 2 * s[3] * (x[1] if include_self else 1),
        (x, source),
    )
    assert products(x, source).tolist() == [first.item(), second.item()]
    result = adjoint.autograd.functional.hessian(lambda x, s: (products(x, s) * weights).sum(), (x, source))
    for row, expected_row in zip(result, expected, strict=True):
        for block, block_wanted in zip(row, expected_row, strict=True):
            np.testing.assert_allclose(block.numpy(), block_wanted.numpy(), atol=1e-12)


def test_slices_that_are_filled_twice_count_once() -> None:
    value = adjoint.tensor(2.0, requires_grad=True)
    y = adjoint.zeros(3, 2).index_fill(0, adjoint.tensor([1, 1, -1]), value)
    assert y.tolist() == [[0.0, 0.0], [2.0, 2.0], [2.0, 2.0]]
    y.sum().backward()
    assert value.grad.item() == 4.0


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_reductions_in_place_keep_what_their_derivatives_need(reduce: str) -> None:
    index = adjoint.tensor([0, 1, 0])
    x, src = adjoint.tensor([2.0, 3.0], requires_grad=True), adjoint.tensor([5.0, 1.0, 4.0], requires_grad=True)
    calls = [("scatter_reduce", (0, index, src, reduce))]
    if reduce != "sum":
        calls.append(("index_reduce", (0, index, src, reduce)))
    for name, args in calls:
        expected = adjoint.autograd.grad(getattr(x, name)(*args).sum(), [x, src])
        gradients = adjoint.autograd.grad(getattr(x.clone(), f"{name}_")(*args).sum(), [x, src])
        assert [g.tolist() for g in gradients] == [g.tolist() for g in expected]


def test_scatter_multiplies() -> None:
    x, index = adjoint.tensor([2.0, 3.0]), adjoint.tensor([0, 0])
    assert x.scatter(0, index, adjoint.tensor([5.0, 7.0]), reduce="multiply").tolist() == [70.0, 3.0]
    assert x.scatter_(0, index, 2, reduce="multiply").tolist() == [8.0, 3.0]
    with pytest.raises(RuntimeError, match="reduce argument must be either add or multiply"):
        x.scatter(0, index, x, reduce="mean")


PICKED = adjoint.tensor([0, 1, 2, 3] * 50)


@pytest.mark.parametrize("dtype", [adjoint.bfloat16, adjoint.float16])
@pytest.mark.parametrize(
    "repeated",
    [
        lambda x: x.expand(200, 4),
        lambda x: x.repeat(50, 4),
        lambda x: x[:, None].expand(4, 200),
        lambda x: x[PICKED],
        lambda x: x.gather(0, PICKED),
        lambda x: x.repeat_interleave(50),
        lambda x: adjoint.zeros(200, 4, dtype=x.dtype).copy_(x),
    ],
)
def test_gradients_of_what_is_repeated_are_rounded_once(repeated, dtype) -> None:
    x = adjoint.ones(4, dtype=dtype, requires_grad=True)
    y = repeated(x)
    cotangent = adjoint.tensor(np.random.default_rng(0).normal(size=tuple(y.shape)) + 0.5).to(dtype)
    y.backward(cotangent)
    exact = x.detach().double().requires_grad_()
    repeated(exact).backward(cotangent.double())
    assert x.grad.dtype is dtype
    np.testing.assert_allclose(x.grad.double().numpy(), exact.grad.numpy(), rtol=adjoint.finfo(dtype).eps)


def test_sums_of_halves_at_one_place_are_rounded_once() -> None:
    ones = adjoint.ones(600, dtype=adjoint.bfloat16)  # the sum 1 + 256 would be rounded to 256
    for total in (
        adjoint.zeros(1).bfloat16().scatter_add(0, adjoint.zeros(600).long(), ones),
        adjoint.zeros(1).bfloat16().index_put((adjoint.zeros(600).long(),), ones, accumulate=True),
    ):
        assert total.item() == 600


def test_numbers_and_positions_that_do_not_fit():
    with pytest.raises(RuntimeError, match="overflow"):
        adjoint.zeros(2, dtype=adjoint.int8).masked_fill(adjoint.ones(2) > 0, 1000)
    with pytest.raises(IndexError, match="out of range in self"):
        adjoint.zeros(5).index_add(0, adjoint.tensor([9]), adjoint.zeros(1))


@pytest.mark.parametrize(
    ("reduce", "include_self", "value", "gradients"),
    [
        ("amax", True, 3, (0, 1)), ("amin", True, 2, (1, 0)), ("mean", True, 2.5, (0.5, 0.5)),
        ("prod", True, 6, (3, 2)),
        ("amax", False, 3, (0, 1)), ("amin", False, 3, (0, 1)), ("mean", False, 3, (0, 1)), ("prod", False, 3, (0, 1)),
    ],
)  # fmt: skip
def test_index_reduce_without_axes(reduce: str, include_self: bool, value: float, gradients: Any) -> None:
    x, source = adjoint.tensor(2.0, requires_grad=True), adjoint.tensor(3.0, requires_grad=True)
    result = x.index_reduce(0, adjoint.tensor([0]), source, reduce, include_self=include_self)
    assert result.item() == value and result.shape == ()
    assert tuple(g.item() for g in adjoint.autograd.grad(result, [x, source])) == gradients
    here = adjoint.tensor(2.0)
    assert here.index_reduce_(0, adjoint.tensor([0]), source.detach(), reduce, include_self=include_self) is here
    assert here.item() == value


@pytest.mark.parametrize(("values", "source"), [((), (1,)), ((), (2,)), ((2,), ()), ((2, 3), (1, 2)), ((2, 3), (1,))])
def test_index_reduce_of_other_shapes(values: Any, source: Any) -> None:
    index = adjoint.zeros(source[0] if source else 1, dtype=adjoint.int64)
    with pytest.raises(RuntimeError, match="source tensor shape must match self tensor shape"):
        adjoint.ones(values).index_reduce(0, index, adjoint.ones(source), "amax")


def test_take_along_dim_counts_from_the_end() -> None:
    for shape, dim in (((2, 3), 1), ((3, 2), 0), ((2, 4, 3), -1)):
        x = adjoint.from_numpy(RNG.normal(size=shape)).requires_grad_()
        n = shape[dim]
        index = RNG.integers(-n, n, shape)
        result = adjoint.take_along_dim(x, adjoint.from_numpy(index), dim)
        np.testing.assert_array_equal(result.detach().numpy(), np.take_along_axis(x.detach().numpy(), index, dim))
        (gradient,) = adjoint.autograd.grad(result.sum(), x)
        (expected,) = adjoint.autograd.grad(adjoint.take_along_dim(x, adjoint.from_numpy(index % n), dim).sum(), x)
        np.testing.assert_array_equal(gradient.numpy(), expected.numpy())
        for outside in (n, -n - 1):
            with pytest.raises(RuntimeError, match=f"index {outside} is out of bounds"):
                adjoint.take_along_dim(x, adjoint.full(shape, outside), dim)


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
@pytest.mark.parametrize("shapes", [((1,), ()), ((), (1,)), ((), ())], ids=["number", "place", "both"])
def test_a_number_is_scattered_to_one_place(shapes, reduce, include_self):
    index_shape, source_shape = shapes
    index = adjoint.ones(index_shape, dtype=adjoint.int64)
    x = adjoint.tensor([1.0, 1.5, -2.0], dtype=adjoint.float64, requires_grad=True)
    source = adjoint.full(source_shape, 2.5, dtype=adjoint.float64, requires_grad=True)

    def reduce_at(x, source):
        return x.scatter_reduce(0, index, source, reduce, include_self=include_self)

    assert adjoint.autograd.gradcheck(reduce_at, (x, source))
    assert adjoint.autograd.gradgradcheck(reduce_at, (x, source))


#: The names of dtypes in the errors of PyTorch 2.13. Types whose range is exceeded by 300 come first.
TYPE_NAMES = {
    "uint8": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int", "int64": "long int", "bool": "",
    "float32": "float", "float64": "double", "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


@pytest.mark.parametrize("value", [1, 300, -1, 2.5, True, 1j, 1e300])
@pytest.mark.parametrize("kind", TYPE_NAMES)
@pytest.mark.parametrize("function", ["index_fill", "masked_fill"])
def test_values_that_are_filled_in_fit_into_the_type(function: str, kind: str, value: Any) -> None:
    x, dtype = adjoint.ones(3, dtype=getattr(adjoint, kind)), getattr(adjoint, kind)
    arguments = (0, adjoint.tensor([0])) if function == "index_fill" else (adjoint.tensor([True, False, False]),)
    beyond = {300: ("uint8", "int8"), 1e300: ("uint8", "int8", "int16", "int32", "int64")}.get(value, ())
    for is_tensor in (False, True):
        text = ""
        if value == 1j and not dtype.is_complex and function == "index_fill":
            text = "index_fill_(): Converting complex Scalar to non-complex type is not supported"
        elif (
            (value == 1j and not dtype.is_complex and kind != "bool")
            or kind in beyond
            or (value == 1e300 and kind in ("float32", "complex64") and not is_tensor)
        ):
            text = f"value cannot be converted to type {TYPE_NAMES[kind]} without overflow"
        given_value = adjoint.tensor(value) if is_tensor else value
        for name in (function, function + "_"):
            y = x.clone()
            if text:
                with pytest.raises(RuntimeError) as caught:
                    getattr(y, name)(*arguments, given_value)
                assert str(caught.value) == text
                assert (y == x).all()
            else:
                exact = adjoint.float64 if isinstance(value, float) and not is_tensor else None
                expected = adjoint.tensor(value, dtype=exact).to(dtype)
                result = getattr(y, name)(*arguments, given_value)
                assert result[0] == expected and (result[1:] == 1).all() and result.dtype is dtype


@pytest.mark.parametrize("index", [0, slice(None), ..., [1], [True, False, True]], ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "int32", "int64"])
def test_assigned_numbers_fit_as_filled_ones_do(dtype, index):
    for number in (-1, 2.7, -0.5, 127, 128, 255, 256, -256, 300.5, 2**31, 2**40, float("nan"), float("inf"), True):
        x, filled = adjoint.zeros(3, dtype=getattr(adjoint, dtype)), adjoint.zeros(3, dtype=getattr(adjoint, dtype))
        try:
            filled.fill_(number)
        except RuntimeError as error:
            with pytest.raises(RuntimeError, match=re.escape(str(error))):
                x[index] = number
        else:
            x[index] = number
            assert set(x[index].reshape(-1).tolist()) == {filled[0].item()}
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        x[index] = 2**70


PLACES = adjoint.tensor([[0, 1, 2, 0], [2, 2, 0, 1], [1, 0, 1, 2]])
IN_ROWS = {
    "scatter": lambda x: x.scatter(0, PLACES, x),
    "scatter of a number": lambda x: x.scatter(0, PLACES, 1.0),
    "scatter_add": lambda x: x.scatter_add(0, PLACES, x),
    "scatter_reduce": lambda x: x.scatter_reduce(0, PLACES, x, "prod"),
    "scatter_reduce without self": lambda x: x.scatter_reduce(0, PLACES, x, "mean", include_self=False),
    "index_copy": lambda x: x.index_copy(0, adjoint.tensor([2, 0, 1]), x),
    "index_reduce": lambda x: x.index_reduce(0, adjoint.tensor([2, 0, 1]), x, "amax"),
    "gather": lambda x: x.gather(0, PLACES),
    "take_along_dim": lambda x: x.take_along_dim(PLACES, 0),
    "masked_scatter": lambda x: x.masked_scatter(x > 0, x),
}


@pytest.mark.parametrize("name", IN_ROWS)
def test_results_lie_in_rows_as_in_torch(name):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((3, 4))
    for laid in (np.asfortranarray(values), np.broadcast_to(values[:, :1], (3, 4)), np.repeat(values, 2, 1)[:, ::2]):
        x = adjoint.from_numpy(laid)
        result = IN_ROWS[name](x)
        assert result.is_contiguous()
        assert adjoint.equal(result.view(-1), IN_ROWS[name](x.contiguous()).view(-1))


def test_bytes_are_a_mask_with_a_warning():
    x, mask = adjoint.arange(3.0), adjoint.tensor([1, 0, 1], dtype=adjoint.uint8)
    with pytest.warns(UserWarning, match="indexing with dtype adjoint.uint8 is now deprecated"):
        assert x[mask].tolist() == [0, 2]
    with pytest.warns(UserWarning, match="indexing with dtype adjoint.uint8 is now deprecated"):
        x[mask] = -1
    assert x.tolist() == [-1, 1, -1]


def test_elements_are_not_deleted():
    with pytest.raises(TypeError, match="Tensor does not support deleting items"):
        del adjoint.ones(2)[0]


KINDS_OF_PLACES: dict[str, tuple[Any, ...]] = {
    "none": (),
    "rows": (np.array([2, 0, 2]),),
    "rows from the end": (np.array([-1, 0, -1]),),
    "rows in a matrix": (np.array([[2, 0], [2, 2]]),),
    "elements": (np.array([2, 0, 2]), np.array([1, 1, 1])),
    "mask": (np.array([True, False, True]),),
    "columns": (slice(None), np.array([1, 0, 1])),
    "columns in a matrix": (slice(None), np.array([[1, 0], [1, 1]])),
    "last axis": (slice(None), slice(None), np.array([3, 3, 0])),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int64])
@pytest.mark.parametrize("name", KINDS_OF_PLACES)
def test_values_are_added_at_all_kinds_of_places(name: str, dtype: Any) -> None:
    """Forward by index_put, and in the gradient of reading."""
    places = KINDS_OF_PLACES[name]
    x = np.arange(24).reshape(3, 2, 4).astype(dtype)
    values = (np.arange(x[places].size).reshape(x[places].shape) % 5).astype(dtype)
    indices = tuple(item if isinstance(item, slice) else adjoint.tensor(item) for item in places)
    sums = np.zeros_like(x)
    np.add.at(sums, places, values)
    if not any(isinstance(item, slice) for item in places):
        result = adjoint.tensor(x).index_put(indices, adjoint.tensor(values), accumulate=True)
        assert result.numpy().dtype == dtype
        np.testing.assert_array_equal(result.numpy(), x + sums)
    if x.dtype.kind == "f":
        leaf = adjoint.tensor(x, requires_grad=True)
        leaf[indices].backward(adjoint.tensor(values))
        np.testing.assert_array_equal(leaf.grad.numpy(), sums)
        assert leaf.grad.is_contiguous()
