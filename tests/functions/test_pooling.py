"""Pooling, padding, unfolded windows, shuffled channels: results by their definition, and messages for bad input."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.nn.functional as F
from adjoint.autograd import grad

MAXIMUM = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
MEAN = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
inf, nan = math.inf, math.nan


def rand(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


# windows by their definition ------------------------------------------------------------------------------------------


def positions(n: int, kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> list[int]:
    """Starts of windows. With ceil_mode the last window may extend past the padding, if it starts inside of it."""
    result, start = [], -padding
    span = dilation * (kernel - 1) + 1
    while start + span <= n + padding or (ceil_mode and start < n and start + span - stride < n + padding):
        result.append(start)
        start += stride
    return result


def windows(image: tuple[int, ...], kernel: int, stride: int, padding: int, dilation: int, ceil_mode: bool) -> Any:
    """For each result the positions of its window's elements in the image."""
    starts = [positions(n, kernel, stride, padding, dilation, ceil_mode) for n in image]
    shape = tuple(map(len, starts))
    results = {}
    for index in np.ndindex(*shape):
        axes = [
            [s[i] + k * dilation for k in range(kernel) if 0 <= s[i] + k * dilation < n]
            for s, i, n in zip(starts, index, image, strict=True)
        ]
        results[index] = list(itertools.product(*axes))
    return shape, starts, results


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_maxima_and_their_places(n: int, ceil_mode: bool) -> None:
    image = (6, 5, 4)[:n]
    x = np.random.default_rng(n).integers(0, 5, (2, 1, *image)).astype(np.float64)
    for kernel, stride, padding, dilation in itertools.product((2, 3), (1, 2, 3), (0, 1), (1, 2)):
        if dilation * (kernel - 1) + 1 > min(image) + 2 * padding:
            continue
        shape, _, result = windows(image, kernel, stride, padding, dilation, ceil_mode)
        y, places = MAXIMUM[n](adjoint.tensor(x), kernel, stride, padding, dilation, ceil_mode, return_indices=True)
        assert tuple(y.shape) == (2, 1, *shape)
        for index, elements in result.items():
            for i in range(2):
                values = [x[(i, 0, *e)] for e in elements]
                first = values.index(max(values))
                assert y._array[(i, 0, *index)] == values[first]
                assert places._array[(i, 0, *index)] == np.ravel_multi_index(elements[first], image)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("count_include_pad", [False, True])
def test_means(n: int, ceil_mode: bool, count_include_pad: bool) -> None:
    image = (6, 5, 4)[:n]
    x = rand(2, 1, *image)
    for kernel, stride, padding in itertools.product((2, 3), (1, 2, 3), (0, 1)):
        shape, starts, result = windows(image, kernel, stride, padding, 1, ceil_mode)
        y = MEAN[n](adjoint.tensor(x), kernel, stride, padding, ceil_mode, count_include_pad)
        assert tuple(y.shape) == (2, 1, *shape)
        for index, elements in result.items():
            sums = sum(x[(slice(None), 0, *e)] for e in elements)
            lengths = [min(s[i] + kernel, m + padding) - s[i] for s, i, m in zip(starts, index, image, strict=True)]
            count = math.prod(lengths) if count_include_pad else len(elements)
            np.testing.assert_allclose(y._array[(slice(None), 0, *index)], sums / count, 1e-12)


def test_divisor() -> None:
    x = adjoint.tensor(rand(1, 1, 4, 6))
    y = F.avg_pool2d(x, (2, 3), divisor_override=5)
    np.testing.assert_allclose(y._array, x._array.reshape(2, 2, 2, 3).sum((1, 3))[None, None] / 5)


def test_means_of_integers_are_cut_off() -> None:
    x = adjoint.tensor([[[-3, -4, 5, 2]]])
    assert F.avg_pool1d(x, 2).tolist() == [[[-3, 3]]]
    assert F.avg_pool1d(x, 2).dtype is adjoint.int64


def test_gradient_of_a_maximum_goes_to_the_first_of_equal_elements() -> None:
    x = adjoint.tensor([[[1.0, 1.0, 1.0, 0.0]]], requires_grad=True)
    assert grad(F.max_pool1d(x, 3, 1).sum(), x)[0].tolist() == [[[1, 1, 0, 0]]]
    x = adjoint.zeros(1, 1, 4, 4, requires_grad=True)
    assert grad(F.max_pool2d(x, 3, 1).sum(), x)[0].tolist() == [[[[1, 1, 0, 0], [1, 1, 0, 0], [0] * 4, [0] * 4]]]


def test_maximum_of_what_is_not_finite() -> None:
    x = adjoint.tensor([[[-inf, nan, 1.0, nan, 2.0, 3.0, -inf, -inf]]])
    y, places = F.max_pool1d(x, 2, return_indices=True)
    np.testing.assert_array_equal(y._array, [[[nan, nan, 3.0, -inf]]])
    assert places.tolist() == [[[1, 3, 5, 6]]]
    y, places = F.max_pool1d(adjoint.full((1, 1, 3), -inf), 3, 1, 1, return_indices=True)
    assert places.tolist() == [[[0, 0, 1]]]


def test_maximum_of_integers() -> None:
    y = F.max_pool2d(adjoint.tensor([[[-5, -4], [-7, -9]]]), 2, 1, 1)
    assert y.tolist() == [[[-5, -4, -4], [-5, -4, -4], [-7, -7, -9]]]
    assert y.dtype is adjoint.int64


def test_image_without_batch_and_no_images() -> None:
    x = adjoint.tensor(rand(2, 6, 6))
    for pool in (F.max_pool2d, F.avg_pool2d, F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        assert adjoint.equal(pool(x, 3), pool(x[None], 3)[0])
        assert pool(adjoint.zeros(0, 2, 6, 6), 3).shape[:2] == (0, 2)


def test_second_derivative_of_a_maximum() -> None:
    x = adjoint.tensor([[[3.0, 1.0, 2.0, 5.0]]], requires_grad=True)
    (g,) = grad(F.max_pool1d(x, 2).pow(3).sum(), x, create_graph=True)
    assert grad(g.sum(), x)[0].tolist() == [[[18.0, 0.0, 0.0, 30.0]]]


def test_norm_of_windows() -> None:
    x = np.abs(rand(1, 1, 6)) + 0.1
    y = F.lp_pool1d(adjoint.tensor(x), 3, 2)
    np.testing.assert_allclose(y._array, (x.reshape(1, 1, 3, 2) ** 3).sum(-1) ** (1 / 3))
    x = adjoint.tensor(rand(2, 3, 5), requires_grad=True)
    largest = F.lp_pool1d(x, inf, 2, ceil_mode=True)
    assert adjoint.equal(largest, F.max_pool1d(x.abs(), 2, ceil_mode=True)) and largest.grad_fn is not None


def test_relu_in_place_after_pooling() -> None:
    x = adjoint.tensor(rand(2, 3, 4, 4), requires_grad=True)
    for pool in (lambda x: F.max_pool2d(x, 2), lambda x: F.adaptive_max_pool2d(x, 3)):
        (gradient,) = adjoint.autograd.grad(F.relu_(pool(x)).sum(), x)
        (expected,) = adjoint.autograd.grad(F.relu(pool(x)).sum(), x)
        assert adjoint.equal(gradient, expected) and gradient.any()


# adaptive windows -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("results", [1, 2, 3, 5, 7, 9])
def test_adaptive_windows(results: int) -> None:
    x = rand(2, 3, 7)
    bounds = [(i * 7 // results, math.ceil((i + 1) * 7 / results)) for i in range(results)]
    means = np.stack([x[..., a:b].mean(-1) for a, b in bounds], -1)
    np.testing.assert_allclose(F.adaptive_avg_pool1d(adjoint.tensor(x), results)._array, means)
    y, places = F.adaptive_max_pool1d(adjoint.tensor(x), results, return_indices=True)
    np.testing.assert_array_equal(y._array, np.stack([x[..., a:b].max(-1) for a, b in bounds], -1))
    np.testing.assert_array_equal(places._array, np.stack([x[..., a:b].argmax(-1) + a for a, b in bounds], -1))


def test_adaptive_windows_that_all_see_the_same_element() -> None:
    x = adjoint.tensor(rand(2, 3, 1, 4), requires_grad=True)
    y, places = F.adaptive_max_pool2d(x, (3, 2), return_indices=True)
    halves = x.detach().numpy().reshape(2, 3, 1, 2, 2)
    np.testing.assert_array_equal(y.detach().numpy(), np.repeat(halves.max(-1), 3, 2))
    np.testing.assert_array_equal(places.numpy(), np.repeat(halves.argmax(-1) + [0, 2], 3, 2))
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 3.0 * (halves == halves.max(-1, keepdims=True)).reshape(2, 3, 1, 4))


@pytest.mark.parametrize("size", [(0, 3, 2), (2, 0, 3), (2, 3, 0), (0, 0, 0)])
def test_no_adaptive_windows(size: tuple[int, int, int]) -> None:
    x = adjoint.zeros(2, 3, 4, 5, 6, requires_grad=True)
    y, places = F.adaptive_max_pool3d(x, size, return_indices=True)
    assert y.shape == places.shape == (2, 3, *size)
    assert not adjoint.autograd.grad(y.sum(), x)[0].any()


def test_adaptive_windows_of_no_images() -> None:
    x = adjoint.zeros(0, 3, 200, 2, requires_grad=True)
    y = F.adaptive_max_pool2d(x, (1, 2))
    assert y.shape == (0, 3, 1, 2) and adjoint.autograd.grad(y.sum(), x)[0].shape == x.shape


def test_adaptive_windows_over_several_axes() -> None:
    x = rand(1, 2, 5, 12)
    y = F.adaptive_avg_pool2d(adjoint.tensor(x), (None, 1))
    np.testing.assert_allclose(y._array, x.mean(-1, keepdims=True))
    y, places = F.adaptive_max_pool2d(adjoint.tensor(x), (1, 2), return_indices=True)
    halves = x.reshape(2, 5, 2, 6).transpose(0, 2, 1, 3).reshape(1, 2, 1, 2, 30)
    np.testing.assert_array_equal(y._array, halves.max(-1))
    np.testing.assert_array_equal(x.reshape(1, 2, 60)[0, :, places._array[0, 1, 0]][:, 1], y._array[0, 1, 0])
    assert F.adaptive_avg_pool3d(adjoint.zeros(1, 2, 3, 4, 5), 2).shape == (1, 2, 2, 2, 2)
    assert F.adaptive_avg_pool2d(adjoint.zeros(1, 2, 3, 4), 0).shape == (1, 2, 0, 0)


DRAWN = {2: F.fractional_max_pool2d, 3: F.fractional_max_pool3d}


@pytest.mark.parametrize("n", [2, 3])
def test_windows_at_drawn_places(n: int) -> None:
    image, results, kernel = (7, 5, 6)[:n], (3, 1, 4)[:n], (2, 3, 1)[:n]
    array, samples = rand(2, 3, *image), np.random.default_rng(n).uniform(size=(2, 3, n))
    array[1, 2].flat[[0, 1]] = nan
    x = adjoint.tensor(array, requires_grad=True)
    result, places = DRAWN[n](x, kernel, results, return_indices=True, _random_samples=adjoint.tensor(samples))
    expected, where = np.empty((2, 3, *results)), np.empty((2, 3, *results), int)
    for outer in np.ndindex(2, 3):
        # samples of an image have the order width, height; samples of a volume have the order time, height, width
        u = samples[outer][::-1] if n == 2 else samples[outer]
        starts = []
        for size, count, k, sample in zip(image, results, kernel, u, strict=True):
            step = (size - k) / (count - 1) if count > 1 else 0
            starts.append([int((i + sample) * step) - int(sample * step) for i in range(count - 1)] + [size - k])
        for index in np.ndindex(*results):
            ranges = [range(s[i], s[i] + k) for s, i, k in zip(starts, index, kernel, strict=True)]
            window = {at: array[(*outer, *at)] for at in itertools.product(*ranges)}
            missing = [at for at, value in window.items() if np.isnan(value)]
            best = missing[-1] if missing else max(window, key=window.__getitem__)
            expected[(*outer, *index)], where[(*outer, *index)] = window[best], np.ravel_multi_index(best, image)
    np.testing.assert_array_equal(result.detach().numpy(), expected)
    np.testing.assert_array_equal(places.numpy(), where)
    result.nansum().backward()
    assert x.grad.sum() == np.isfinite(expected).sum()
    one = DRAWN[n](x[1], kernel, results, _random_samples=adjoint.tensor(samples[1:]))
    np.testing.assert_array_equal(one.detach().numpy(), expected[1])


def test_windows_are_drawn_and_their_number_may_be_a_share() -> None:
    x = adjoint.arange(400.0).reshape(1, 1, 20, 20)
    adjoint.manual_seed(0)
    result = {tuple(F.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.7)).flatten().tolist()) for _ in range(8)}
    assert len(result) > 1 and {len(values) for values in result} == {10 * 14}


def test_way_back_from_maxima() -> None:
    x = adjoint.tensor(rand(2, 3, 5, 6), requires_grad=True)
    y, places = F.max_pool2d(x, 2, return_indices=True)
    back = F.max_unpool2d(y, places, 2, output_size=x.shape)
    expected = np.where(np.isin(x.detach()._array, y.detach()._array), x.detach()._array, 0)
    np.testing.assert_array_equal(back.detach()._array, expected)
    w = adjoint.tensor(rand(2, 3, 5, 6))
    np.testing.assert_array_equal(grad(back, x, w)[0]._array, np.where(expected != 0, w._array, 0))
    assert F.max_unpool1d(*F.max_pool1d(x[0, 0].detach(), 3, return_indices=True), 3).shape == (5, 6)


# unfolded windows -----------------------------------------------------------------------------------------------------


def test_windows_as_columns_and_back() -> None:
    x = rand(2, 3, 6, 5)
    windows_of = [*itertools.product((1, (2, 3)), (1, 2), (0, (1, 2)), (1, (2, 3)))]
    # windows that tile the image, in rows, in columns and as a whole
    windows_of += [((2, 5), 1, 0, (2, 5)), ((6, 1), 1, 0, (6, 1)), ((1, 5), 1, 0, (1, 5)), ((6, 5), 1, 0, 1)]
    for kernel, dilation, padding, stride in windows_of:
        columns = F.unfold(adjoint.from_numpy(x), kernel, dilation, padding, stride)
        k, p, s = ((v, v) if isinstance(v, int) else v for v in (kernel, padding, stride))
        padded = np.pad(x, ((0, 0), (0, 0), (p[0], p[0]), (p[1], p[1])))
        spans = [dilation * (m - 1) + 1 for m in k]
        windows = np.lib.stride_tricks.sliding_window_view(padded, spans, (2, 3))
        windows = windows[:, :, :: s[0], :: s[1], ::dilation, ::dilation]
        expected = windows.transpose(0, 1, 4, 5, 2, 3).reshape(columns.shape)
        np.testing.assert_array_equal(columns._array, expected)
        g = rand(*columns.shape)
        image = F.fold(adjoint.from_numpy(g), (6, 5), kernel, dilation, padding, stride)
        np.testing.assert_allclose((image._array * x).sum(), (g * expected).sum())
        one = F.fold(adjoint.tensor(g[0]), (6, 5), kernel, dilation, padding, stride)
        np.testing.assert_array_equal(one._array, image._array[0])
        assert not np.shares_memory(columns._array, x) and not np.shares_memory(image._array, g)


# padding --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["reflect", "replicate", "circular", "constant"])
def test_margins(mode: str) -> None:
    x = rand(2, 3, 4, 5)
    of_numpy = {"replicate": "edge", "circular": "wrap"}.get(mode, mode)
    y = F.pad(adjoint.tensor(x), (2, 1, 0, 3), mode)
    np.testing.assert_array_equal(y._array, np.pad(x, ((0, 0), (0, 0), (0, 3), (2, 1)), of_numpy))
    y = F.pad(adjoint.tensor(x[0]), (-1, 2), mode)
    np.testing.assert_array_equal(y._array, np.pad(x[0][..., 1:], ((0, 0), (0, 0), (0, 2)), of_numpy))


def test_constant_margins_of_any_axes() -> None:
    x = np.arange(6).reshape(2, 3)
    assert F.pad(adjoint.tensor(x), (1, 0, 0, 1), value=7).tolist() == [[7, 0, 1, 2], [7, 3, 4, 5], [7, 7, 7, 7]]
    assert F.pad(adjoint.tensor(x), (-1, -1)).tolist() == [[1], [4]]
    assert adjoint.constant_pad_nd(adjoint.tensor([True]), (1, 0)).tolist() == [False, True]
    same = adjoint.tensor(x)
    assert F.pad(same, ())._array is not same._array


def test_gradient_of_margins() -> None:
    x = adjoint.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    for mode, expected in {"reflect": [1, 3, 2], "replicate": [3, 1, 2], "circular": [2, 2, 2]}.items():
        assert grad(F.pad(x, (2, 1), mode).sum(), x)[0].tolist() == [expected]
    assert grad(F.pad(x, (2, -1), value=nan).nansum(), x)[0].tolist() == [[1, 1, 0]]


# channels and pixels --------------------------------------------------------------------------------------------------


def test_shuffles() -> None:
    x = adjoint.tensor(rand(2, 1, 8, 3, 4))
    y = F.pixel_shuffle(x, 2)
    assert y.shape == (2, 1, 2, 6, 8)
    np.testing.assert_array_equal(y._array[0, 0, 1, 1::2, ::2], x._array[0, 0, 6])
    assert adjoint.equal(F.pixel_unshuffle(y, 2), x)
    x = adjoint.arange(6).reshape(1, 6, 1)
    assert F.channel_shuffle(x, 2).flatten().tolist() == [0, 3, 1, 4, 2, 5]
    assert adjoint.channel_shuffle(x, 3).flatten().tolist() == [0, 2, 4, 1, 3, 5]
    x = adjoint.ones(1, 4, 1, 1)
    for copy in (F.pixel_shuffle(x, 1), F.pixel_unshuffle(x, 1), F.channel_shuffle(x, 4)):
        assert adjoint.equal(copy, x) and not copy._is_view()


# messages -------------------------------------------------------------------------------------------------------------

X = adjoint.zeros(1, 1, 6, 6)
WRONG = [
    (lambda: F.max_pool1d(X, 2), "max_pool1d: Expected 2D or 3D (batch mode) tensor"),
    (lambda: F.max_pool1d(X[0], 9), "max_pool1d() Invalid computed output size: 0"),
    (lambda: F.max_pool1d(X[0], 3, 1, 2),
     "padding should be at most half of kernel size, but got padding=2 and kernel_size=3"),
    (lambda: F.max_pool1d(X[0], (2, 2)),
     "kernel_size must be an int, list of ints or tuple of ints of size 1 but got size 2"),
    (lambda: F.max_pool2d(X[0, 0], 2), "non-empty 3D or 4D (batch mode) tensor expected for input"),
    (lambda: F.max_pool2d(X, 9),
     "Given input size: (1x6x6). Calculated output size: (1x0x0). Output size is too small"),
    (lambda: F.max_pool2d(X, 3, 1, 2),
     "pad should be at most half of effective kernel size, but got pad=2, kernel_size=3 and dilation=1"),
    (lambda: F.max_pool2d(X, 3, 1, (2, 1), 2),
     "pad should be smaller than or equal to half of kernel size, but got padW = 1, padH = 2, kW = 3, kH = 3"),
    (lambda: F.max_pool3d(adjoint.zeros(1, 1, 9, 9, 9), (3, 4, 5), 1, (2, 1, 0), 2),
     "pad should be smaller than or equal to half of kernel size, but got kT: 3 kW: 5 kH: 4 padT: 2 padW: 0 padH: 1"),
    (lambda: F.max_pool2d(X, 2, 0), "stride should not be zero"),
    (lambda: F.max_pool2d(X, 2, 2, -1), "pad must be non-negative, but got pad: -1"),
    (lambda: F.max_pool2d(X, 2, 2, 0, 0), "dilation should be greater than zero, but got dilationH: 0 dilationW: 0"),
    (lambda: F.max_pool2d(X, (2, 2, 2)), "max_pool2d: kernel_size must either be a single int, or a tuple of two ints"),
    (lambda: F.max_pool2d(X[:, :0], 2), "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size"),
    (lambda: F.avg_pool2d(X, 2, divisor_override=0), "divisor must be not zero"),
    (lambda: F.avg_pool1d(X[0, 0, 0], 2),
     "Expected 2 to 3 dimensions, but got 1-dimensional tensor for argument #1 'self'"),
    (lambda: F.avg_pool3d(X, 9), "input image (T: 1 H: 6 W: 6) smaller than kernel size (kT: 9 kH: 9 kW: 9)"),
    (lambda: F.avg_pool3d(X[None], 3, padding=1, ceil_mode=True),
     "input image (T: 1 H: 6 W: 6) smaller than kernel size (kT: 3 kH: 3 kW: 3)"),
    (lambda: F.adaptive_avg_pool2d(X, (2, 2, 2)), "adaptive_avg_pool2d: output_size must be 2"),
    (lambda: F.adaptive_avg_pool2d(X, -2), "must be greater than or equal to 0 but received {-2, -2}"),
    (lambda: F.adaptive_max_pool2d(X[..., :0], 2), "has sizes [1, 1, 6, 0] with dimension 3 being empty"),
    (lambda: F.max_unpool2d(X, X.long() + 99, 1), "Found an invalid max index: 99 (output volumes are of size 6x6)"),
    (lambda: F.unfold(X, 9), "calculated shape of the array of sliding blocks as (-2, -2)"),
    (lambda: F.fold(adjoint.zeros(1, 4, 6), 6, 2),
     "expected size of input's dimension 2 to match the calculated number of sliding blocks 5 * 5"),
    (lambda: F.fold(X[0, :, :3], 6, 2), "to be divisible by the product of kernel_size, but got input.size(1)=3"),
    (lambda: F.pad(X, (1, 1, 1)), "Padding length must be divisible by 2"),
    (lambda: F.pad(X, (1,) * 10), "but got padding length 10 and input of dimension 4"),
    (lambda: F.pad(X, (6, 6, 1, 1), "reflect"),
     "Argument #4: Padding size should be less than the corresponding input dimension"),
    (lambda: F.pad(X, (7, 7, 1, 1), "circular"), "Padding value causes wrapping around more than once."),
    (lambda: F.pad(X, (1, 1, 1, 1), "reflect", 1.0), "Padding mode \"reflect\" doesn't take in value argument"),
    (lambda: F.pad(X, (-4, -3)), "narrow(): length must be non-negative."),
    (lambda: F.pad(X, (1, 1), "reflect"), "Padding size 2 is not supported for 4D input tensor."),
    (lambda: F.pad(X, (1, 1), "mirror"), "Unrecognised padding mode mirror"),
    (lambda: F.pixel_shuffle(X, 2), "input.size(-3)=1 is not divisible by 4"),
    (lambda: F.pixel_unshuffle(X, 4), "pixel_unshuffle expects height to be divisible by downscale_factor"),
    (lambda: F.fractional_max_pool2d(X, 2, 6), "pool height 2 too large relative to input height 6"),
    (lambda: F.fractional_max_pool2d(X, 0, 2), "kernel_size must be positive, but got [0, 0]"),
    (lambda: F.fractional_max_pool2d(X, 2, -1), "Trying to create tensor with negative dimension -1"),
    (lambda: F.fractional_max_pool2d(X, 2, (2, 2, 2)),
     "fractional_max_pool2d: output_size must either be a single Int or tuple of Ints"),
    (lambda: F.fractional_max_pool3d(X, (2, 2), 1), "kernel_size must either be a single Int or tuple of three Ints"),
    (lambda: F.fractional_max_pool2d(X[:, :0], 2, 2), "but got[1, 0, 6, 6] with dimension 1 being empty."),
    (lambda: F.fractional_max_pool2d(X.long(), 2, 2), "not implemented for 'Long'"),
    (lambda: F.fractional_max_pool2d(X + 0j, 2, 2), "not implemented for 'ComplexFloat'"),
    (lambda: F.fractional_max_pool2d(X, 2, 2, _random_samples=X.double()), "to have the same dtype as input"),
    (lambda: F.fractional_max_pool2d(X, 2, 2, _random_samples=X), "_random_samples to have 3 dimensions, got 4"),
    (lambda: F.fractional_max_pool2d(X, 2, 2, _random_samples=X[0, :0]), "no less then input batch size."),
    (lambda: F.fractional_max_pool2d(X, 2, 2, _random_samples=X[0]), "equals to input channel size."),
    (lambda: F.fractional_max_pool2d(X, 2, 2, _random_samples=X[0, :, :1]), "equals to 2; got 6."),
    (lambda: F.channel_shuffle(X, 2), "Number of channels must be divisible by groups. Got 1 channels and 2 groups."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), WRONG, ids=[message for _, message in WRONG])
def test_messages(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((RuntimeError, NotImplementedError)) as raised:
        call()
    assert message in str(raised.value)


def test_wrong_size_of_the_way_back() -> None:
    with pytest.raises(ValueError, match="dim 0 must be between 10 and 14"):
        F.max_unpool2d(X, X.long(), 2, output_size=(9, 9))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, ValueError, "requires specifying either an output_size or an output_ratio"),
        ({"output_ratio": (0.5,) * 3}, ValueError, "requires output_ratio to either be"),
        ({"input": X[0, 0], "output_size": 2}, IndexError, "Expected 3D or 4D tensor"),
        ({"output_size": "two"}, TypeError, "'output_size' .position 3. must be tuple of ints, not str"),
    ],
)
def test_arguments_of_drawn_windows(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        F.fractional_max_pool2d(**{"input": X, "kernel_size": 2, **options})


def test_types_of_numbers_without_kernel() -> None:
    for pool in (F.max_pool2d, F.avg_pool2d, F.adaptive_avg_pool2d, F.adaptive_max_pool2d):
        with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
            pool(X.bool(), 2)


@pytest.mark.parametrize("shape", [(2, 3, 1), (2, 3, 4, 1), (1, 2, 1, 3, 1)])
def test_a_window_in_the_padding_alone_has_no_slope(shape: tuple[int, ...]) -> None:
    n = len(shape) - 2
    dilation = tuple(2 if size == 1 else 1 for size in shape[2:])
    function = partial(MAXIMUM[n], kernel_size=2, stride=1, padding=1, dilation=dilation)
    x = adjoint.arange(1.0, 1 + math.prod(shape)).reshape(shape).requires_grad_()
    y = function(x)
    assert not y.isfinite().any()
    assert not adjoint.autograd.grad(y, x, adjoint.ones_like(y))[0].any()
    assert not adjoint.func.jvp(function, (x.detach(),), (adjoint.ones_like(x),))[1].any()
