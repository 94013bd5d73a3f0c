"""Searches in sorted sequences, unique elements, counts, histograms: NumPy's values, options, errors."""

from __future__ import annotations

import itertools
import math
import re

import numpy as np
import pytest

import adjoint

SORTED = adjoint.tensor([1.0, 3.0, 3.0, 7.0])
VALUES = adjoint.tensor([[0.0, 1.0, 3.0], [5.0, 7.0, 9.0]])


@pytest.mark.parametrize("right", [False, True])
def test_searching_is_as_in_numpy(right):
    side = "right" if right else "left"
    expected = np.searchsorted(SORTED.numpy(), VALUES.numpy(), side)
    result = adjoint.searchsorted(SORTED, VALUES, right=right)
    assert result.dtype is adjoint.int64
    np.testing.assert_array_equal(result.numpy(), expected)
    np.testing.assert_array_equal(adjoint.searchsorted(SORTED, VALUES, side=side).numpy(), expected)
    np.testing.assert_array_equal(adjoint.bucketize(VALUES, SORTED, right=right).numpy(), expected)


def test_searching_several_sequences_numbers_and_out():
    rows = adjoint.stack([SORTED, SORTED * 2])
    assert adjoint.searchsorted(rows, VALUES).tolist() == [[0, 0, 1], [1, 3, 3]]
    assert adjoint.searchsorted(SORTED, 2.5).tolist() == 1 and adjoint.bucketize(7, SORTED, right=True).item() == 4
    assert adjoint.bucketize(VALUES, SORTED, out_int32=True).dtype is adjoint.int32
    out = adjoint.empty(2, 3, dtype=adjoint.int64)
    assert adjoint.searchsorted(SORTED, VALUES, out=out) is out and out[1, 2].item() == 4
    unsorted, order = adjoint.tensor([3.0, 1.0, 2.0]), adjoint.tensor([1, 2, 0])
    assert adjoint.searchsorted(unsorted, adjoint.tensor([2.5, 0.5]), sorter=order).tolist() == [2, 0]
    assert adjoint.bucketize(adjoint.tensor(math.nan), SORTED).item() == 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: adjoint.bucketize(VALUES, VALUES), "boundaries tensor must be 1 dimension, but got dim(2)"),
        (lambda: adjoint.searchsorted(SORTED, 1.0, side="up"), "side can only be 'left' or 'right' but got up"),
        (
            lambda: adjoint.searchsorted(SORTED, 1.0, side="left", right=True),
            "side and right can't be set to opposites",
        ),
        (
            lambda: adjoint.searchsorted(VALUES, 1.0),
            "input value can be a scalar only when boundaries tensor dimension is 1",
        ),
        (
            lambda: adjoint.searchsorted(VALUES, SORTED),
            "but we got boundaries tensor [2, 3] and input value tensor [4]",
        ),
        (lambda: adjoint.searchsorted(adjoint.tensor(1.0), 1.0), "boundaries tensor should have positive dimension"),
        (
            lambda: adjoint.searchsorted(SORTED, 1.0, sorter=adjoint.tensor([0])),
            "boundary and sorter must have the same",
        ),
        (
            lambda: adjoint.searchsorted(SORTED, 1.0, sorter=SORTED),
            "sorter must be a tensor of long dtype but got dtype",
        ),
        (lambda: adjoint.searchsorted(SORTED, 1.0, sorter=adjoint.tensor([0, 1, 2, 9])), "sorter index out of range"),
    ],
)
def test_searches_that_are_refused(call, message):
    with pytest.raises(RuntimeError, match=re.escape(message)):
        call()


def test_searching_under_vmap():
    rows = adjoint.stack([SORTED, SORTED * 2])
    result = adjoint.vmap(adjoint.searchsorted)(rows, VALUES)
    assert adjoint.equal(result, adjoint.searchsorted(rows, VALUES))
    result = adjoint.vmap(lambda row: adjoint.bucketize(VALUES, row))(rows)
    assert adjoint.equal(result, adjoint.stack([adjoint.bucketize(VALUES, row) for row in rows]))


# unique elements ----------------------------------------------------------------------------------------------------

MATRIX = np.array([[3, 1, 3], [1, 1, 2], [3, 1, 3]])


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_unique_is_as_in_numpy(axis):
    values, inverse, counts = np.unique(MATRIX, return_inverse=True, return_counts=True, axis=axis)
    result = adjoint.unique(adjoint.tensor(MATRIX), return_inverse=True, return_counts=True, dim=axis)
    for mine, numpys in zip(result, (values, inverse, counts), strict=True):
        np.testing.assert_array_equal(mine.numpy(), numpys)


def test_unique_of_odd_inputs():
    assert adjoint.unique(adjoint.tensor([math.nan, 1.0, math.nan])).isnan().sum().item() == 2
    assert adjoint.unique(adjoint.tensor(3)).tolist() == [3]
    assert adjoint.unique(adjoint.tensor([True, False, True])).tolist() == [False, True]
    assert adjoint.tensor([2.0, 1.0, 2.0], dtype=adjoint.bfloat16).unique().dtype is adjoint.bfloat16
    assert adjoint.unique(adjoint.zeros(0)).shape == (0,)
    assert adjoint.unique(adjoint.zeros(0, 3), dim=0).shape == (0, 3)
    with pytest.raises(RuntimeError, match="There are 0 sized dimensions, and they aren't selected"):
        adjoint.unique(adjoint.zeros(2, 0), dim=0)
    with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
        adjoint.unique(adjoint.tensor(3), dim=0)
    with pytest.raises(NotImplementedError, match="\"unique\" not implemented for 'ComplexFloat'"):
        adjoint.unique(adjoint.tensor([1j]))
    with pytest.raises(RuntimeError, match="Attempted to vmap over aten::_unique2"):
        adjoint.vmap(adjoint.unique)(adjoint.zeros(2, 3))


def test_unique_neighbours():
    x = adjoint.tensor([1, 1, 2, 2, 1])
    values, inverse, counts = adjoint.unique_consecutive(x, return_inverse=True, return_counts=True)
    assert (values.tolist(), inverse.tolist(), counts.tolist()) == ([1, 2, 1], [0, 0, 1, 1, 2], [2, 2, 1])
    rows = adjoint.tensor([[1, 1], [1, 1], [1, 2]])
    values, counts = rows.unique_consecutive(return_counts=True, dim=0)
    assert values.tolist() == [[1, 1], [1, 2]] and counts.tolist() == [2, 1]
    assert adjoint.unique_consecutive(adjoint.zeros(0)).shape == (0,)
    assert adjoint.unique_consecutive(adjoint.tensor([math.nan] * 2)).shape == (2,)


# counts -------------------------------------------------------------------------------------------------------------


def test_membership():
    x = adjoint.tensor([[3, 1], [2, 3]])
    assert adjoint.isin(x, adjoint.tensor([1, 2])).tolist() == [[False, True], [True, False]]
    assert adjoint.isin(x, 3, invert=True).tolist() == [[False, True], [True, False]]
    assert adjoint.isin(3, x).tolist() is True
    with pytest.raises(RuntimeError, match="Unsupported input type encountered for isin\\(\\): Bool"):
        adjoint.isin(adjoint.tensor([True]), adjoint.tensor([True]))


def test_bincount():
    x = adjoint.tensor([1, 1, 3])
    assert adjoint.bincount(x, minlength=6).tolist() == [0, 2, 0, 1, 0, 0]
    weighted = x.bincount(adjoint.tensor([0.5, 0.25, 1.0]))
    assert weighted.tolist() == [0.0, 0.75, 0.0, 1.0] and weighted.dtype is adjoint.float32
    assert adjoint.bincount(x, adjoint.tensor([1, 2, 3])).dtype is adjoint.float64
    none = adjoint.tensor([], dtype=adjoint.int64)
    assert adjoint.bincount(none, minlength=2).tolist() == [0, 0]
    assert adjoint.bincount(none, none.double(), minlength=2).dtype is adjoint.int64
    for wrong in (adjoint.tensor([-1]), adjoint.tensor([[1]])):
        with pytest.raises(RuntimeError, match=r"bincount only supports 1-d non-negative integral inputs\."):
            adjoint.bincount(wrong)
    with pytest.raises(RuntimeError, match="weights should be 1-d and have the same length as input"):
        adjoint.bincount(x, adjoint.ones(2))


def test_histc():
    x = adjoint.tensor([1.0, 2.0, 1.0, 3.0, math.nan])
    assert adjoint.histc(x, bins=3, min=0, max=3).tolist() == [0.0, 2.0, 2.0]
    assert adjoint.histc(x[:3], bins=2).tolist() == [2.0, 1.0]
    assert adjoint.histc(adjoint.ones(3), bins=4).tolist() == [0.0, 0.0, 3.0, 0.0]
    assert adjoint.histc(x.half()[:3], bins=2).dtype is adjoint.float16
    with pytest.raises(RuntimeError, match=re.escape("histc: range of [nan, nan] is not finite")):
        adjoint.histc(x)
    with pytest.raises(RuntimeError, match="histc: max must be larger than min"):
        adjoint.histc(x, 4, 3, 0)


@pytest.mark.parametrize("density", [False, True])
def test_histograms_are_as_in_numpy(density):
    rng = np.random.default_rng(0)
    x, weight = rng.standard_normal(50), rng.random(50)
    for bins, bounds in ((7, None), (5, (-1.0, 1.5)), (np.array([-1.0, 0.0, 0.25, 2.0]), None)):
        as_tensor = adjoint.tensor(bins) if isinstance(bins, np.ndarray) else bins
        result = adjoint.histogram(
            adjoint.tensor(x), as_tensor, range=bounds, weight=adjoint.tensor(weight), density=density
        )
        expected, edges = np.histogram(x, bins, bounds, density, weight)
        np.testing.assert_allclose(result.hist.numpy(), expected, rtol=1e-12)
        np.testing.assert_allclose(result.bin_edges.numpy(), edges, rtol=1e-12)
    points = rng.standard_normal((40, 3))
    result = adjoint.histogramdd(adjoint.tensor(points), [2, 3, 4], density=density)
    expected, edges = np.histogramdd(points, [2, 3, 4], density=density)
    np.testing.assert_allclose(result.hist.numpy(), expected, rtol=1e-12)
    for mine, numpys in zip(result.bin_edges, edges, strict=True):
        np.testing.assert_allclose(mine.numpy(), numpys, rtol=1e-12)


def test_histograms_of_odd_inputs():
    assert adjoint.histogram(adjoint.zeros(0), 2).bin_edges.tolist() == [0.0, 0.5, 1.0]
    assert adjoint.ones(2).histogram(2).bin_edges.tolist() == [0.5, 1.0, 1.5]
    grid = adjoint.tensor([0.0, 1.0, 2.0])
    points = adjoint.tensor([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    assert adjoint.histogramdd(points, (grid, grid[::2])).hist.tolist() == [[1.0], [2.0]]
    assert adjoint.histogramdd(points, 1, range=[0.0, 1.0, 0.0, 1.0]).hist.tolist() == [[2.0]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: adjoint.histogram(adjoint.tensor([1]), 2),
            NotImplementedError,
            "\"histogramdd\" not implemented for 'Long'",
        ),
        (lambda: adjoint.histogram(SORTED, 0), RuntimeError, "bins must be > 0, but got 0 for dimension 0"),
        (
            lambda: adjoint.histogram(SORTED, 2, range=(3.0, 1.0)),
            RuntimeError,
            "min should not exceed max, but got min 3 max 1",
        ),
        (
            lambda: adjoint.histogram(SORTED, SORTED.double()),
            RuntimeError,
            "dtype float and bins for dimension 0 with dtype double",
        ),
        (lambda: adjoint.histogram(SORTED, VALUES), RuntimeError, "bins tensor should have one dimension, but got 2"),
        (lambda: adjoint.histogram(SORTED, SORTED[:0]), RuntimeError, "bins tensor should have at least 1 element"),
        (
            lambda: adjoint.histogram(SORTED, 2, weight=SORTED[:2]),
            RuntimeError,
            "input with shape [4, 1] and weight with shape [2]",
        ),
        (lambda: adjoint.histogramdd(SORTED, [2]), RuntimeError, "input tensor should have at least 2 dimensions"),
        (
            lambda: adjoint.histogramdd(VALUES, [2]),
            RuntimeError,
            "The size of bins must be equal to the innermost dimension",
        ),
        (
            lambda: adjoint.histogramdd(VALUES, 2, range=[0.0, 1.0]),
            RuntimeError,
            "range should have 6 elements, but got 2",
        ),
    ],
)
def test_histograms_that_are_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


# indices and shapes -------------------------------------------------------------------------------------------------


def test_places_of_a_fixed_number():
    x = adjoint.tensor([[1, 0], [0, 3]])
    assert adjoint.nonzero_static(x, size=3).tolist() == [[0, 0], [1, 1], [-1, -1]]
    assert x.nonzero_static(size=1, fill_value=-7).tolist() == [[0, 0]]
    assert adjoint.nonzero_static(adjoint.tensor(3), size=2).shape == (2, 0)
    assert adjoint.nonzero_static(adjoint.zeros(0, 2), size=1, fill_value=7).tolist() == [[7, 7]]
    with pytest.raises(RuntimeError, match="nonzero_static: 'size' must be an non-negative integer"):
        adjoint.nonzero_static(x, size=-2)


def test_coordinates_of_flat_places():
    places = np.array([[0, 5], [11, 7]])
    result = adjoint.unravel_index(adjoint.tensor(places), (3, 4))
    for mine, numpys in zip(result, np.unravel_index(places, (3, 4)), strict=True):
        np.testing.assert_array_equal(mine.numpy(), numpys)
    assert adjoint.unravel_index(adjoint.tensor(3), 5)[0].item() == 3
    with pytest.raises(TypeError, match="expected 'indices' to be integer dtype"):
        adjoint.unravel_index(SORTED, (2, 2))
    with pytest.raises(TypeError, match="expected 'shape' sequence to only contain ints"):
        adjoint.unravel_index(adjoint.tensor(3), (3.0, 4))
    with pytest.raises(ValueError, match=re.escape("'shape' cannot have negative values, but got (3, -4)")):
        adjoint.unravel_index(adjoint.tensor(3), (3, -4))


def test_common_shapes():
    assert adjoint.broadcast_shapes((3, 1), 4, (2, 1, 1)) == (2, 3, 4)
    assert adjoint.broadcast_shapes() == ()
    with pytest.raises(
        RuntimeError, match="Attempting to broadcast a dimension of length 4 at -1! Mismatching argument"
    ):
        adjoint.broadcast_shapes((3,), (4,))
    with pytest.raises(ValueError, match="Attempting to broadcast a dimension with negative length!"):
        adjoint.broadcast_shapes((-1,))


def test_places_before_the_first_wrap_in_unravel_index():
    result = adjoint.unravel_index(adjoint.tensor([-1, -3, -13]), (3, 4))
    assert [c.tolist() for c in result] == [[2, 2, 2], [3, 1, 3]]


@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("r", [1, 2, 3, 6])
@pytest.mark.parametrize("again", [False, True])
def test_combinations_are_those_of_itertools(n: int, r: int, again: bool):
    choose = itertools.combinations_with_replacement if again else itertools.combinations
    expected = np.array(list(choose(range(n), r))).reshape(-1, r)
    result = adjoint.combinations(adjoint.arange(n), r, with_replacement=again)
    np.testing.assert_array_equal(result.numpy(), expected)


def test_equality_of_large_tensors():
    first = adjoint.arange(20_000).reshape(100, 200)
    assert adjoint.equal(first, first.clone()) is True
    assert adjoint.equal(first.mT, first.mT.clone()) is True
    for position in (0, 9_999, 19_999):
        other = first.clone()
        other.view(-1)[position] = -1
        assert adjoint.equal(first, other) is False
    assert adjoint.equal(first, first.view(-1)) is False


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: adjoint.searchsorted(adjoint.ones(2), "a"), "searchsorted(): argument 'input' (position 2)"),
        (lambda: adjoint.bucketize("a", adjoint.ones(2)), "bucketize(): argument 'input' (position 1)"),
        (lambda: adjoint.isin("a", adjoint.ones(2)), "isin(): argument 'elements' (position 1)"),
        (lambda: adjoint.isin(adjoint.ones(2), "a"), "isin(): argument 'test_elements' (position 2)"),
    ],
)
def test_refusals_name_the_function_and_not_its_operation(action, message):
    with pytest.raises(TypeError, match=re.escape(message + " must be Tensor, not str")):
        action()


def test_refusals_name_types_of_numpy_in_full():
    with pytest.raises(TypeError, match=r"must be Tensor, not numpy\.float64"):
        adjoint.maximum(adjoint.ones(2), np.float64(1.0))
