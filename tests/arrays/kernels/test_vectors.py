"""Convolution by vector loops and by matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adjoint.arrays.kernels import convolution, vectors
from adjoint.arrays.kernels.convolution import Geometry
from adjoint.arrays.libraries.numpy_namespace import xp
from adjoint.runtime.threads import get_num_threads, set_num_threads

pytestmark = pytest.mark.skipif(
    not vectors.there, reason="only the compiled form on processors with vectors has these loops"
)


def both(monkeypatch: pytest.MonkeyPatch, function: Any, *arguments: Any) -> tuple[Any, Any]:
    """The result by vector loops, and the result by matrix products."""
    calls = []

    def note(*arrays: Any) -> bool:
        calls.append(arrays)
        return can_do(*arrays)

    can_do = vectors.can_do
    with monkeypatch.context() as patch:
        patch.setattr(vectors, "can_do", note)
        result = function(xp, *arguments)
    assert calls and all(can_do(*arrays) for arrays in calls)
    with monkeypatch.context() as patch:
        patch.setattr(vectors, "can_do", lambda *_: False)
        return result, function(xp, *arguments)


def check(monkeypatch: pytest.MonkeyPatch, x: Any, w: Any, geometry: Geometry, groups: int, with_bias: bool) -> None:
    """Check the convolution and both of its transposes."""
    rng = np.random.default_rng(1)
    tolerance = {"rtol": 0, "atol": 1e-4 if x.dtype == np.float32 else 1e-11}
    image, kernel = x.shape[2:], w.shape[2:]
    bias = rng.normal(size=2 * w.shape[0]).astype(x.dtype)[::2] if with_bias else None
    actual, expected = both(monkeypatch, convolution.convolution, x, w, bias, geometry, groups)
    np.testing.assert_allclose(actual, expected, **tolerance)
    y = rng.normal(size=actual.shape).astype(x.dtype)
    bias = rng.normal(size=x.shape[1]).astype(x.dtype) if with_bias else None
    actual, expected = both(monkeypatch, convolution.transpose, y, w, bias, image, geometry, groups)
    np.testing.assert_allclose(actual, expected, **tolerance)
    actual, expected = both(monkeypatch, convolution.weight, y, x, kernel, geometry, groups)
    np.testing.assert_allclose(actual, expected, **tolerance)
    assert actual.shape == expected.shape == w.shape and actual.dtype == x.dtype


@pytest.mark.quick(4)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_any_geometry(monkeypatch: pytest.MonkeyPatch, kind: int, ndim: int, dtype: Any) -> None:
    rng = np.random.default_rng(ndim)
    tested = 0
    for number in range(16):
        groups, channels, rows = (int(rng.integers(1, n)) for n in (4, 5, 12))
        ends = ((1, 5), (1, 4), (0, 5), (1, 4))
        kernel, stride, padding, dilation = (rng.integers(*pair, ndim).tolist() for pair in ends)
        image = rng.integers(1, 60 if ndim == 1 else 14, ndim)
        geometry = Geometry(tuple(stride), tuple(padding), tuple(dilation))
        if min(geometry.outputs(image.tolist(), kernel)) < 1:
            continue
        tested += 1
        x = rng.normal(size=(int(rng.integers(1, 8)), groups * channels, *image)).astype(dtype)
        w = rng.normal(size=(groups * rows, channels, *kernel)).astype(dtype)
        # arrays that are not contiguous, reversed arrays, and arrays that repeat along an axis
        x = [x, np.asfortranarray(x), x[..., ::-1], np.broadcast_to(x[:1], x.shape)][number % 4]
        w = [w, np.asfortranarray(w), w[::-1]][number % 3]
        check(monkeypatch, x, w, geometry, groups, number % 2 == 1)
    assert tested > 4


@pytest.mark.quick(1)
@pytest.mark.parametrize("threads", [1, 3])
def test_large_images_are_cut_into_bands_and_small_ones_put_together(
    monkeypatch: pytest.MonkeyPatch, kind: int, threads: int
) -> None:
    rng = np.random.default_rng(0)
    before = get_num_threads()
    set_num_threads(threads)
    try:
        for shape, kernel, geometry in [
            ((2, 3, 90, 80), (9, 3, 3, 5), Geometry((1, 1), (1, 2), (1, 1))),
            ((1, 3, 181, 63), (9, 3, 5, 3), Geometry((2, 1), (3, 0), (2, 3))),
            ((1, 2, 60, 9, 11), (5, 2, 3, 2, 2), Geometry((1, 2, 1), (2, 0, 1), (1, 1, 2))),
            ((70, 2, 9, 9), (5, 2, 3, 3), Geometry((1, 1), (1, 1), (1, 1))),
        ]:
            x, w = rng.normal(size=shape), rng.normal(size=kernel)
            check(monkeypatch, x, w, geometry, 1, True)
    finally:
        set_num_threads(before)


def test_sums_do_not_depend_on_which_thread_was_quicker(kind: int) -> None:
    rng = np.random.default_rng(0)
    y, x = rng.normal(size=(64, 8, 20, 20)).astype(np.float32), rng.normal(size=(64, 4, 20, 20)).astype(np.float32)
    geometry = Geometry((1, 1), (1, 1), (1, 1))
    before = get_num_threads()
    results = []
    try:
        for threads in (1, 2, 4, 4, 4):
            set_num_threads(threads)
            results.append(convolution.weight(xp, y, x, (3, 3), geometry, 1))
    finally:
        set_num_threads(before)
    for each in results[1:]:
        np.testing.assert_array_equal(each, results[0])


def test_what_is_left_to_matrix_products() -> None:
    x = np.ones((1, 1, 4, 4), np.float32)
    assert vectors.can_do(x, x)
    unaligned = np.frombuffer(bytearray(65), np.uint8)[1:].view(np.float32).reshape(1, 1, 4, 4)
    swapped = x.astype(x.dtype.newbyteorder())
    for other in (x.astype(np.float64), x.astype(np.float16), x.astype(np.complex64), x[:0], unaligned, swapped):
        assert not vectors.can_do(x, other)
    assert not vectors.can_do(x[:, :, 0, 0])
    assert not vectors.can_do(x[None, None])
    # The results for all windows of this signal would take too much memory at once.
    long = Geometry((1,), (0,), (1,))
    stack = convolution._reading((1 << 24,), (3,), long.outputs((1 << 24,), (3,)), long)
    assert vectors._pieces(stack, 1, 1, 4, 4) is None


def test_many_sums_over_few_positions_are_matrix_products() -> None:
    geometry = Geometry((1, 1), (1, 1), (1, 1))
    x = np.ones((1, 64, 5, 5), np.float32)
    stack = convolution._reading((5, 5), (3, 3), (5, 5), geometry)
    assert vectors.correlate(x, x, stack, 1) is None
    expected = np.array([[16, 20, 16], [20, 25, 20], [16, 20, 16]], np.float32)
    np.testing.assert_array_equal(convolution.weight(xp, x, x, (3, 3), geometry, 1)[5, 7], expected)


def test_kinds() -> None:
    with pytest.raises(ValueError, match=r"use_kind\(\): this processor has the kinds \[0.*\], got 7"):
        vectors.use_kind(7)
