"""Softmax and normalisation by loops over vectors and by whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.kernels import vectors
from adjoint.arrays.libraries.numpy_namespace import xp
from adjoint.program.fused import Fused
from adjoint.rules import TABLE
from adjoint.runtime.threads import get_num_threads, set_num_threads

pytestmark = pytest.mark.skipif(
    not vectors.there, reason="only the compiled form on processors with vectors has these loops"
)

TOLERANCE = {np.float32: 2e-6, np.float64: 1e-14}


def kernel(name: str, *arguments: Any) -> Any:
    return TABLE[name].kernel(xp)(*arguments)


def plain(monkeypatch: pytest.MonkeyPatch, function: Callable[[], Any]) -> Any:
    """The result of a function without these loops."""
    with monkeypatch.context() as patch:
        for name in ("softmax", "softmax_back", "standardize", "standardize_back"):
            patch.setattr(vectors, name, lambda *_: None)
        return function()


LENGTHS = (1, 2, 7, 16, 31, 32, 33, 100, 3001)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax(monkeypatch: pytest.MonkeyPatch, kind: int, name: str, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for n in LENGTHS:
        for scale in (1, 40, 1000):
            x = (scale * rng.normal(size=(3, 2, n))).astype(dtype)
            for array in (x, x[::-1, :, ::-1], np.asfortranarray(x)):
                # The differences are rounded in both forms, and so is 1 + (a sum of small powers) in the logarithm. So
                # compare with more digits.
                lowered = (array - array.max(2, keepdims=True)).astype(np.longdouble, order="C")
                expected = plain(monkeypatch, lambda lowered=lowered: kernel(name, lowered, 2))
                result = kernel(name, array, 2)
                assert result.dtype == dtype
                eps = np.finfo(dtype).eps
                atol = 1e-40 if name == "softmax" else 2 * eps
                np.testing.assert_allclose(result, expected, rtol=8 * eps, atol=atol)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("logarithm", [False, True])
def test_softmax_back(kind: int, logarithm: bool, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for n in LENGTHS:
        g = rng.normal(size=(3, n)).astype(dtype)
        y = kernel("log_softmax" if logarithm else "softmax", rng.normal(size=(3, n)).astype(dtype), 1)
        wide, of = g.astype(np.float64), y.astype(np.float64)
        if logarithm:
            expected = wide - np.exp(of) * wide.sum(1, keepdims=True)
        else:
            expected = of * (wide - (wide * of).sum(1, keepdims=True))
        result = vectors.softmax_back(g, y, 1, logarithm)
        np.testing.assert_allclose(result, expected, rtol=0, atol=TOLERANCE[dtype] * (1 + abs(wide).sum(1).max() / 10))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_along_columns(kind: int, name: str, dtype: Any) -> None:
    """As along rows, forward and backward; each column has the bits that it has alone, wherever it lies."""
    rng = np.random.default_rng(0)
    logarithm = name == "log_softmax"
    for n in (1, 2, 33, 64, 65, 300):
        for columns in (1, 3, 16, 37, 150):
            x = rng.normal(size=(2, n, columns)).astype(dtype) * 20
            x[0, n // 2, columns // 2] = -np.inf if n > 1 else 0
            y, g = kernel(name, x, 1), rng.normal(size=x.shape).astype(dtype)
            rows, of_rows = [np.ascontiguousarray(np.moveaxis(array, 1, 2)) for array in (x, g)]
            expected = kernel(name, rows, 2)
            eps = np.finfo(dtype).eps
            np.testing.assert_allclose(np.moveaxis(y, 1, 2), expected, rtol=8 * eps, atol=8 * eps)
            result = vectors.softmax_back(g, y, 1, logarithm)
            expected = vectors.softmax_back(of_rows, np.ascontiguousarray(np.moveaxis(y, 1, 2)), 2, logarithm)
            atol = TOLERANCE[dtype] * (1 + abs(g).sum(1).max() / 10)
            np.testing.assert_allclose(np.moveaxis(result, 1, 2), expected, rtol=0, atol=atol)
            for j in {0, columns // 2, columns - 1}:
                np.testing.assert_array_equal(kernel(name, x[1:, :, j : j + 1], 1), y[1:, :, j : j + 1])
                alone = vectors.softmax_back(g[1:, :, j : j + 1], y[1:, :, j : j + 1], 1, logarithm)
                np.testing.assert_array_equal(alone, result[1:, :, j : j + 1])


def test_what_is_not_finite(kind: int) -> None:
    inf, nan = np.inf, np.nan
    rows = [[0, 1, nan], [inf, 0, 1], [-inf, -inf, -inf], [-inf, 0, 0], [3e38, -3e38, 0]]
    expected = [[nan] * 3, [nan] * 3, [nan] * 3, [0, 0.5, 0.5], [1, 0, 0]]
    for n in (3, 3 + 64):
        x = np.full((5, n), -inf, np.float32)
        x[:, :3] = rows
        result = kernel("softmax", x, 1)
        np.testing.assert_allclose(result[:, :3], np.array(expected, np.float32), rtol=1e-6)
        columns = kernel("softmax", np.ascontiguousarray(x.T), 0)
        np.testing.assert_allclose(columns[:3].T, np.array(expected, np.float32), rtol=1e-6)
        columns = kernel("log_softmax", np.ascontiguousarray(x.T), 0)[:3].T
        logarithms = [[nan] * 3, [nan] * 3, [nan] * 3, [-inf, np.log(0.5), np.log(0.5)], [0, -inf, -3e38]]
        np.testing.assert_allclose(columns, np.array(logarithms, np.float32), rtol=1e-6)


LAYOUTS = [
    ((5, 37), (1,), (1, 37)),
    ((5, 37), (1,), None),
    ((2, 3, 4, 9), (2, 3), (1, 1, 4, 9)),
    ((3, 4, 5, 40), (2, 3), (1, 4, 5, 1)),
    ((3, 1, 5, 33), (2, 3), (1, 1, 5, 1)),
    ((6, 4, 129), (2,), (1, 4, 1)),
    ((4, 6, 17), (0, 2), (1, 6, 1)),
    ((4, 6, 5, 9), (0, 2, 3), (1, 6, 1, 1)),
    ((4, 6, 5, 9), (0, 2, 3), None),
    ((70, 150), (0,), (1, 150)),
    ((33, 3), (0,), None),
    ((3, 11, 65), (0, 1), (1, 1, 65)),
    ((40, 9, 1), (0, 2), (1, 9, 1)),
    ((70, 3), (0, 1), (70, 3)),
    ((1, 5000), (1,), (1, 5000)),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_normalisation(monkeypatch: pytest.MonkeyPatch, kind: int, layout: Any, dtype: Any) -> None:
    shape, dims, of_weight = layout
    rng = np.random.default_rng(0)

    def draw(shape: Any) -> Any:
        return None if shape is None else rng.normal(size=shape).astype(dtype)

    x = draw(shape) + 3
    weight, bias = draw(of_weight), draw(of_weight)
    close = {"rtol": 0, "atol": 20 * TOLERANCE[dtype]}
    for parameters in {(True, True), (weight is None, True), (True, bias is None), (False, False)}:
        w, b = [p if is_used else None for p, is_used in zip((weight, bias), parameters, strict=True)]
        for array in (x, np.asfortranarray(x)):
            result = vectors.standardize(array, w, b, dims, 1e-5)
            if result is None:
                # if the rows are not the last axes, the result would have the layout of the input
                assert array is not x and dims != tuple(range(x.ndim - len(dims), x.ndim))
                continue
            expected = plain(monkeypatch, lambda w=w, b=b: kernel("native_batch_norm", x, w, b, dims, 1e-5))
            for mine, theirs in zip(result, expected, strict=True):
                assert mine.shape == theirs.shape and mine.dtype == dtype
                np.testing.assert_allclose(mine, theirs, **close)
    if weight is None:
        weight_shape = bias_shape = None
    else:
        weight_shape = bias_shape = weight.shape
    _, mean, var = vectors.standardize(x, weight, bias, dims, 1e-5)
    g = draw(shape), draw(mean.shape), draw(var.shape)
    result = vectors.standardize_back(g, x, weight, bias_shape, mean, var, dims, 1e-5, (True, True, True))
    expected = formula(monkeypatch, g, x, weight, bias_shape, mean, var, dims)
    np.testing.assert_allclose(result[0], expected[0], **close)
    for mine, theirs, expected_shape in zip(result[1:], expected[1:], (weight_shape, bias_shape), strict=True):
        if expected_shape is not None:
            axes = tuple(axis for axis, n in enumerate(expected_shape) if n == 1)
            assert mine.shape == expected_shape and mine.dtype == dtype
            np.testing.assert_allclose(mine, theirs.sum(axis=axes, keepdims=True), rtol=0, atol=1000 * TOLERANCE[dtype])


DISTANCES = [
    ((8, 50), (1,)), ((8, 50), (0,)), ((70, 150), (0,)), ((3, 4, 5), (1, 2)), ((3, 4, 5), (0, 1)),
    ((3, 4, 5), (0, 1, 2)), ((100,), (0,)), ((1, 7), (0,)), ((7, 1), (1,)), ((2000, 3), (0,)), ((3, 2000), (1,)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "dims"), DISTANCES, ids=str)
def test_squared_distances(kind: int, shape: Any, dims: Any, dtype: Any) -> None:
    rng = np.random.default_rng(0)
    for offset in (0, 100):
        x = (rng.normal(size=shape) + offset).astype(dtype)
        wide = x.astype(np.longdouble)
        for keepdims in (False, True):
            expected = ((wide - wide.mean(dims, keepdims=True)) ** 2).sum(dims, keepdims=keepdims)
            result = vectors.squared_distances(x, dims, keepdims, 1)
            assert result.dtype == dtype and result.shape == expected.shape
            tolerance = 30 * (1 + offset) * float(np.finfo(dtype).eps)
            np.testing.assert_allclose(result, expected.astype(float), rtol=tolerance, atol=tolerance)
            for number in (3, 2.5):
                np.testing.assert_array_equal(vectors.squared_distances(x, dims, keepdims, number), result / number)
    # equal numbers have the distance 0, even if their mean is rounded
    assert not vectors.squared_distances(np.full(shape, 0.1, dtype), dims, False, 1).any()
    assert np.isnan(vectors.squared_distances(np.full(shape, np.nan, dtype), dims, False, 1)).all()


def test_squared_distances_of_other_layouts() -> None:
    x = np.ones((4, 5, 6))
    assert vectors.squared_distances(np.asfortranarray(x), (2,), False, 1) is None
    assert (
        vectors.squared_distances(x, (0, 2), False, 1) is None and vectors.squared_distances(x, (1,), False, 1) is None
    )
    assert vectors.squared_distances(x[:0], (2,), False, 1) is None


def formula(monkeypatch: pytest.MonkeyPatch, g: Any, x: Any, weight: Any, bias_shape: Any, *others: Any) -> Any:
    """The rule's formula on whole arrays."""
    from adjoint.core.recorded import raw_ops
    from adjoint.rules import normalization

    def call() -> Any:
        return normalization._vjp(
            raw_ops(x), g, x, weight, bias_shape, *others, 1e-5, (True, True, bias_shape is not None)
        )

    return plain(monkeypatch, call)


def test_layouts_that_are_left_to_whole_arrays() -> None:
    x = np.ones((4, 6, 8), np.float32)
    one = np.ones((1, 6, 1), np.float32)
    assert vectors.standardize(x, one, one, (0, 2), 1e-5) is None  # short runs
    assert vectors.standardize(x, None, None, (1,), 1e-5) is None  # axes between other axes
    assert vectors.standardize(x, one, one[:, :1], (1, 2), 1e-5) is None
    assert vectors.standardize(x, np.ones((1, 6, 8)), None, (1, 2), 1e-5) is None  # of another dtype
    assert vectors.standardize(x.astype(np.float16), None, None, (1, 2), 1e-5) is None
    assert vectors.standardize(x[:0], None, None, (1, 2), 1e-5) is None
    assert vectors.softmax(x.astype(np.complex64), 2, False) is None
    assert vectors.softmax_back(x, x.astype(np.float64), 2, False) is None


@pytest.mark.parametrize("threads", [1, 3])
def test_large_arrays_are_no_programs(threads: int) -> None:
    """Large arrays run in several threads, by the loops and not as programs. The bits are those of the loops."""
    x = np.random.default_rng(0).normal(size=(500, 300)).astype(np.float32)
    before = get_num_threads()
    set_num_threads(threads)
    try:
        result = Fused(TABLE["softmax"].kernel(xp)).call([x, 1], False)
        expected = [vectors.softmax(x[i : i + 1], 1, False) for i in range(500)]
        np.testing.assert_array_equal(result, np.concatenate(expected))
        weight = np.ones((1, 300), np.float32)
        result = Fused(TABLE["native_layer_norm"].kernel(xp)).call([x, weight, weight, (1,), 1e-5], False)
        expected = [vectors.standardize(x[i : i + 1], weight, weight, (1,), 1e-5)[0] for i in range(500)]
        np.testing.assert_array_equal(result[0], np.concatenate(expected))
    finally:
        set_num_threads(before)


def test_derivatives_of_all_orders() -> None:
    rng = np.random.default_rng(0)

    def draw(*shape: int) -> Any:
        return adjoint.tensor(rng.normal(size=shape), requires_grad=True)

    f = adjoint.nn.functional
    check = adjoint.autograd.gradgradcheck
    assert check(lambda x: adjoint.log_softmax(x, 1), (draw(2, 5),))
    assert check(lambda x, w, b: f.layer_norm(x, (5,), w, b), (draw(2, 5), draw(5), draw(5)))
    assert check(lambda x, w, b: f.batch_norm(x, None, None, w, b, True), (draw(2, 2, 17), draw(2), draw(2)))
