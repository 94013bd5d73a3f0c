"""Reductions over short axes by the compiled loops and by NumPy."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

from adjoint.arrays.kernels.products_and_sums import COUNT, MAX, MIN, PROD, SUM, reduce, summed_to
from adjoint.arrays.libraries.numpy_namespace import xp

compiled_only = pytest.mark.skipif(
    reduce(SUM, np.ones((2, 2)), 0, False) is None, reason="only the compiled form has these loops"
)

UFUNCS = {SUM: np.add, PROD: np.multiply, MAX: np.maximum, MIN: np.minimum}
SHAPES = [(3, 4), (1, 5), (5, 1), (30, 3), (4, 9), (3, 30), (2, 127), (2, 129), (2, 65), (5, 6, 3), (2, 3, 4, 5)]


def layouts(x: Any) -> list[Any]:
    """The array, or a part of it, in several memory layouts."""
    return [x, np.asfortranarray(x), np.swapaxes(x.copy().swapaxes(0, -1).copy(), 0, -1), x[..., ::2], x[::2], x[::-1]]


def axes_of(ndim: int) -> list[Any]:
    several = itertools.chain.from_iterable(itertools.permutations(range(ndim), n) for n in range(1, ndim + 1))
    return [-1, None, *several]


def check(result: Any, expected: Any) -> None:
    np.testing.assert_array_equal(result, expected)
    assert (result.dtype, result.shape, result.strides) == (expected.dtype, expected.shape, expected.strides)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", UFUNCS)
def test_numbers(kind: int, shape: Any, dtype: Any) -> None:
    """Values, types and strides are NumPy's. Additions have NumPy's order."""
    x = np.random.default_rng(0).normal(size=shape).astype(dtype)
    missing = x.copy()
    missing.flat[::7] = np.nan
    for array in [*layouts(x), missing]:
        for axes, keepdims in itertools.product(axes_of(x.ndim), (False, True)):
            result = reduce(kind, array, axes, keepdims)
            if result is not None:
                check(result, UFUNCS[kind].reduce(array, axes, keepdims=keepdims))


@pytest.mark.parametrize("shape", SHAPES)
def test_counts(shape: Any) -> None:
    x = np.random.default_rng(0).random(shape) > 0.5
    for array in layouts(x):
        for axes, keepdims in itertools.product(axes_of(x.ndim), (False, True)):
            result = reduce(COUNT, array, axes, keepdims)
            if result is not None:
                check(result, np.sum(array, axis=axes, keepdims=keepdims, dtype=np.int64))
            for name in ("any", "all"):
                expected = getattr(np, name)(array, axis=axes, keepdims=keepdims)
                np.testing.assert_array_equal(getattr(xp, name)(array, axis=axes, keepdims=keepdims), expected)


@compiled_only
@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((30, 3), 0),
        ((30, 3), 1),
        ((30, 3), None),
        ((8,), 0),
        ((5, 6, 3), 1),
        ((5, 6, 3), (0, 2)),
        ((5, 6, 3), (0, 1, 2)),
    ],
)
def test_short_axes_have_loops(shape: Any, axes: Any) -> None:
    assert all(reduce(kind, np.ones(shape), axes, False) is not None for kind in UFUNCS)
    assert reduce(COUNT, np.ones(shape, bool), axes, False) is not None


@pytest.mark.parametrize(
    "x",
    [
        np.ones((3, 0)),
        np.ones((3, 4), np.float16),
        np.ones((3, 4), np.int64),
        np.ones((3, 4), ">f8"),
        np.broadcast_to(np.ones((3, 1)), (3, 4)),
        np.ones(3 * 4 * 8 + 1, np.uint8)[1:].view(np.float64).reshape(3, 4),
        np.ma.ones((3, 4)),
    ],
)
def test_other_arrays_are_left_to_numpy(x: Any) -> None:
    assert reduce(SUM, x, 1, False) is None


@pytest.mark.parametrize("axes", [2, -3, (0, 0), (0, -2), (), 1.0, [1]])
def test_other_axes_are_left_to_numpy(axes: Any) -> None:
    assert reduce(SUM, np.ones((3, 4)), axes, False) is None


def test_numpy_warns() -> None:
    """NumPy computes sums that overflow, and warns."""
    with pytest.warns(RuntimeWarning, match="overflow"):
        assert xp.sum(np.full((3, 2), 1.7e308), axis=1).tolist() == [np.inf] * 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(xp.max(np.full((3, 2), np.nan), axis=1)).all()


def broadcast_from(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The shapes that broadcast to a shape, and two that do not."""
    shorter = [shape[n:] for n in range(len(shape) + 1)]
    ones = [tuple(1 if i in axes else n for i, n in enumerate(part)) for part in shorter for axes in axes_among(part)]
    return [*ones, (2, *shape), (7, *shape[1:])]


def axes_among(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [axes for n in range(len(shape) + 1) for axes in itertools.combinations(range(len(shape)), n)]


@compiled_only
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("shape", [*SHAPES, (), (8,), (1,), (300,), (0, 3), (1, 1), (64, 64)])
def test_sums_to_a_shape(shape: Any, dtype: Any) -> None:
    """The sum of the cotangent of a broadcast operand has the bits of NumPy's sum, or is None."""
    count = 0
    for x in layouts((np.random.default_rng(0).normal(size=shape) * 8).astype(dtype)) if shape else [np.ones(())]:
        for target in broadcast_from(x.shape):
            result = summed_to(x, target)
            if result is None:
                continue
            extra = x.ndim - len(target)
            axes = tuple(i for i in range(x.ndim) if i < extra or target[i - extra] == 1 != x.shape[i])
            expected = np.add.reduce(x, axes, keepdims=True).reshape(target)
            np.testing.assert_array_equal(result, expected)
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)
            count += 1
    assert (count > 0) == (dtype is not np.int64 and len(shape) > 0 and np.prod(shape) > 0)
