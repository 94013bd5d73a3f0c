"""Interpolation and sampling at grids: SciPy's values, exact weights, gradients, messages for bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

import adjoint
import adjoint.nn.functional as F
from adjoint.autograd import grad


def rand(*shape: int, low: float = -1.0, high: float = 1.0) -> Any:
    return np.random.default_rng(sum(shape)).uniform(low, high, shape)


def positions(n: int, results: int, align_corners: bool) -> Any:
    i = np.arange(results)
    return i * (n - 1) / max(results - 1, 1) if align_corners else (i + 0.5) * n / results - 0.5


# interpolation --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("results", [1, 3, 5, 8, 10])
def test_lines_between_neighbours(results: int, align_corners: bool) -> None:
    x = rand(5)
    y = F.interpolate(adjoint.tensor(x)[None, None], results, mode="linear", align_corners=align_corners)
    places = positions(5, results, align_corners)
    np.testing.assert_allclose(y._array[0, 0], np.interp(places, np.arange(5), x), 1e-12)


@pytest.mark.parametrize("align_corners", [False, True])
def test_lines_over_several_axes(align_corners: bool) -> None:
    x = rand(4, 5, 3)
    size = (6, 3, 5)
    y = F.interpolate(adjoint.tensor(x)[None, None], size, mode="trilinear", align_corners=align_corners)
    places = np.meshgrid(*(positions(n, m, align_corners) for n, m in zip(x.shape, size, strict=True)), indexing="ij")
    np.testing.assert_allclose(y._array[0, 0], ndimage.map_coordinates(x, places, order=1, mode="nearest"), 1e-10)
    y = F.interpolate(adjoint.tensor(x[None]), size[1:], mode="bilinear", align_corners=align_corners)
    places = np.meshgrid(
        *(positions(n, m, align_corners) for n, m in zip(x.shape[1:], size[1:], strict=True)), indexing="ij"
    )
    expected = np.stack([ndimage.map_coordinates(channel, places, order=1, mode="nearest") for channel in x])
    np.testing.assert_allclose(y._array[0], expected, 1e-10)


def test_an_axis_that_keeps_its_length_is_left_alone_whatever_the_factor() -> None:
    x = adjoint.tensor(rand(1, 2, 5, 4))
    for options in ({}, {"antialias": True}):
        assert adjoint.equal(F.interpolate(x, scale_factor=1.1, mode="bilinear", **options), x)
    wide = F.interpolate(x, scale_factor=(1.1, 2), mode="bilinear")
    assert adjoint.equal(wide, F.interpolate(x.reshape(1, 10, 4), scale_factor=2, mode="linear").reshape(1, 2, 5, 8))
    assert not adjoint.equal(F.interpolate(x, scale_factor=1.1, mode="bicubic"), x)
    levels = (100 * x.abs()).to(adjoint.uint8)
    assert adjoint.equal(F.interpolate(levels, scale_factor=1.1, mode="bicubic"), levels)


def test_nearest() -> None:
    x = adjoint.arange(5.0)[None, None]
    assert F.interpolate(x, 3).tolist() == [[[0, 1, 3]]]
    assert F.interpolate(x, 8).tolist() == [[[0, 0, 1, 1, 2, 3, 3, 4]]]
    assert F.interpolate(x, 3, mode="nearest-exact").tolist() == [[[0, 2, 4]]]
    assert F.interpolate(x, scale_factor=2).tolist() == [[[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]]]
    for n, expected in ((4, [0, 2]), (1, [0])):
        actual = F.interpolate(adjoint.arange(n).to(adjoint.uint8)[None, None], len(expected))
        assert actual.dtype is adjoint.uint8 and actual.tolist() == [[expected]]


def test_cubic_convolution() -> None:
    # The kernel of Keys with a = -3/4 at 1/2 and at 1/4.
    half = np.array([-3, 19, 19, -3]) / 32
    x = rand(1, 1, 6, 6)
    y = F.interpolate(adjoint.tensor(x), (11, 6), mode="bicubic", align_corners=True)
    np.testing.assert_allclose(y._array[0, 0, ::2], x[0, 0], 1e-12, 1e-12)
    np.testing.assert_allclose(y._array[0, 0, 5], half @ x[0, 0, 1:5], 1e-12)
    np.testing.assert_allclose(y._array[0, 0, 1], half @ x[0, 0, [0, 0, 1, 2]], 1e-12)


def test_area_is_adaptive_means() -> None:
    x = adjoint.tensor(rand(1, 2, 5, 7))
    assert adjoint.equal(F.interpolate(x, (2, 3), mode="area"), F.adaptive_avg_pool2d(x, (2, 3)))


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
def test_filters_against_aliasing(mode: str) -> None:
    ones = F.interpolate(adjoint.ones(1, 1, 9, 7), (4, 11), mode=mode, antialias=True)
    np.testing.assert_allclose(ones._array, np.ones((1, 1, 4, 11)), 1e-6)
    # for half as many elements, the weights are the kernel's values at odd multiples of a quarter of its width
    kernel: dict[str, Callable[[Any], Any]] = {
        "bilinear": lambda t: 1 - t,
        "bicubic": lambda t: np.where(t < 1, 1.5 * t**3 - 2.5 * t**2 + 1, -0.5 * t**3 + 2.5 * t**2 - 4 * t + 2),
        "lanczos": lambda t: np.sinc(t) * np.sinc(t / 3),
    }
    reach = {"bilinear": 2, "bicubic": 4, "lanczos": 6}[mode]
    weights = kernel[mode](abs(np.arange(-reach, reach) + 0.5) / 2)
    x = rand(1, 1, 24, 1)
    y = F.interpolate(adjoint.tensor(x), (12, 1), mode=mode, antialias=True)
    expected = weights / weights.sum() @ x[0, 0, 13 - reach : 13 + reach, 0]
    np.testing.assert_allclose(y._array[0, 0, 6, 0], expected, 1e-12)


def test_places_follow_the_given_factor_unless_recomputed() -> None:
    x = adjoint.arange(5.0, dtype=adjoint.float64)[None, None]
    by_factor = F.interpolate(x, scale_factor=1.5, mode="linear")
    np.testing.assert_allclose(
        by_factor._array[0, 0], np.interp((np.arange(7) + 0.5) / 1.5 - 0.5, np.arange(5), np.arange(5))
    )
    recomputed = F.interpolate(x, scale_factor=1.5, mode="linear", recompute_scale_factor=True)
    assert adjoint.equal(recomputed, F.interpolate(x, 7, mode="linear"))


def test_half_precision_and_bytes() -> None:
    x = adjoint.tensor(rand(1, 1, 4, 4)).half()
    y = F.interpolate(x, 6, mode="bilinear")
    assert adjoint.equal(y, F.interpolate(x.float(), 6, mode="bilinear").half())
    x = adjoint.tensor([[[[0, 10], [20, 255]]]]).to(adjoint.uint8)
    assert F.interpolate(x, (2, 3), mode="bilinear").tolist() == [[[[0, 5, 10], [20, 138, 255]]]]
    # exact weights give 226.4896; torch's weights of 14 bits give 227
    x = adjoint.tensor([[[[216, 88, 238, 97]]]]).to(adjoint.uint8)
    assert F.interpolate(x, (1, 6), mode="bicubic").tolist() == [[[[227, 138, 101, 227, 182, 85]]]]


@pytest.mark.parametrize("name", ["upsample", "upsample_nearest", "upsample_bilinear"])
def test_older_names_warn(name: str) -> None:
    x = adjoint.tensor(rand(1, 1, 3, 3))
    mode = {"mode": "bilinear", "align_corners": True} if name == "upsample_bilinear" else {"mode": "nearest"}
    with pytest.warns(UserWarning, match=f"`nn.functional.{name}` is deprecated"):
        y = getattr(F, name)(x, scale_factor=2)
    assert adjoint.equal(y, F.interpolate(x, scale_factor=2, **mode))


# grids ----------------------------------------------------------------------------------------------------------------

OF_SCIPY = {
    ("zeros", False): "grid-constant", ("zeros", True): "grid-constant",
    ("border", False): "nearest", ("border", True): "nearest",
    ("reflection", False): "reflect", ("reflection", True): "mirror",
}  # fmt: skip


def positions_in_image(grid: Any, image: tuple[int, ...], align_corners: bool) -> list[Any]:
    """Coordinates between -1 and 1 as positions along each axis, the first axis first."""
    results = []
    for axis, n in enumerate(image):
        c = grid[..., len(image) - 1 - axis]
        results.append((c + 1) / 2 * (n - 1) if align_corners else ((c + 1) * n - 1) / 2)
    return results


@pytest.mark.parametrize(("padding", "align_corners"), OF_SCIPY)
@pytest.mark.parametrize("image", [(4, 5), (3, 4, 5)])
def test_sampling_between_elements(padding: str, align_corners: bool, image: tuple[int, ...]) -> None:
    x = rand(2, 3, *image)
    grid = rand(2, 4, *(3,) * (len(image) - 1), len(image), low=-2.0, high=2.0)
    y = F.grid_sample(adjoint.tensor(x), adjoint.tensor(grid), "bilinear", padding, align_corners)
    assert y.is_contiguous()
    for i in range(2):
        places = positions_in_image(grid[i], image, align_corners)
        for c in range(3):
            expected = ndimage.map_coordinates(x[i, c], places, order=1, mode=OF_SCIPY[padding, align_corners])
            np.testing.assert_allclose(y._array[i, c], expected, 1e-9, 1e-9)


@pytest.mark.parametrize("padding", ["zeros", "border"])
def test_sampling_the_nearest_element(padding: str) -> None:
    x, grid = rand(1, 2, 4, 5), rand(1, 6, 6, 2, low=-1.5, high=1.5)
    y = F.grid_sample(adjoint.tensor(x), adjoint.tensor(grid), "nearest", padding, True)
    rows, columns = (np.rint(position).astype(int) for position in positions_in_image(grid[0], (4, 5), True))
    expected = x[0][:, rows.clip(0, 3), columns.clip(0, 4)]
    if padding == "zeros":
        expected = expected * ((rows >= 0) & (rows < 4) & (columns >= 0) & (columns < 5))
    np.testing.assert_array_equal(y._array[0], expected)


def test_cubic_sampling_is_cubic_interpolation() -> None:
    x = adjoint.tensor(rand(1, 2, 5, 6))
    grid = F.affine_grid(adjoint.eye(2, 3)[None].double(), (1, 2, 9, 7), align_corners=True)
    y = F.grid_sample(x, grid, "bicubic", "border", True)
    np.testing.assert_allclose(
        y._array, F.interpolate(x, (9, 7), mode="bicubic", align_corners=True)._array, 1e-10, 1e-10
    )


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_gradient_by_the_grid(mode: str, padding: str) -> None:
    x = adjoint.tensor(rand(1, 2, 4, 5), requires_grad=True)
    grid = adjoint.tensor(rand(1, 3, 3, 2, low=-1.7, high=1.7), requires_grad=True)
    w, v = adjoint.tensor(rand(1, 2, 3, 3)), adjoint.tensor(rand(1, 3, 3, 2))

    def f(grid: Any) -> Any:
        return F.grid_sample(x, grid, mode, padding, False)

    (gradient,) = grad(f(grid), grid, w)
    if mode == "nearest":
        assert gradient.abs().sum() == 0
        return
    step = 1e-6
    difference = (f(grid + step * v) - f(grid - step * v)) / (2 * step)
    np.testing.assert_allclose((gradient * v).sum().item(), (difference * w).sum().item(), 1e-6)


def test_points_that_are_nowhere() -> None:
    x = adjoint.ones(1, 1, 2, 2, requires_grad=True)
    x.data[0, 0, 0, 0] = np.nan
    far = adjoint.tensor([[[[np.nan, 0.0], [np.inf, 0.0], [1e30, 0.0], [1.0, 1.0]]]], dtype=adjoint.float32)
    y = F.grid_sample(x, far, align_corners=True)
    assert y.tolist() == [[[[0, 0, 0, 1]]]]
    assert grad(y.sum(), x)[0].tolist() == [[[[0, 0], [0, 1]]]]


def test_no_images() -> None:
    assert F.grid_sample(adjoint.zeros(0, 3, 4, 5), adjoint.zeros(0, 2, 2, 2), align_corners=True).shape == (0, 3, 2, 2)


@pytest.mark.parametrize("align_corners", [False, True])
def test_grid_of_the_identity_gives_the_image(align_corners: bool) -> None:
    for n in (2, 3):
        x = adjoint.tensor(rand(2, 3, *(3, 4, 5)[:n]))
        theta = adjoint.eye(n, n + 1)[None].double().expand(2, n, n + 1)
        grid = F.affine_grid(theta, x.shape, align_corners)
        y = F.grid_sample(x, grid, align_corners=align_corners)
        np.testing.assert_allclose(y._array, x._array, 1e-10, 1e-10)


def test_defaults_of_corners_warn() -> None:
    with pytest.warns(UserWarning, match="Default grid_sample and affine_grid behavior has changed"):
        grid = F.affine_grid(adjoint.eye(2, 3)[None], (1, 1, 2, 2))
    with pytest.warns(UserWarning, match="Default grid_sample and affine_grid behavior has changed"):
        F.grid_sample(adjoint.ones(1, 1, 2, 2), grid)


def test_names_of_torch_itself() -> None:
    x, grid = adjoint.tensor(rand(1, 1, 3, 3)), adjoint.tensor(rand(1, 2, 2, 2))
    expected = F.grid_sample(x, grid, "nearest", "reflection", True)
    assert adjoint.equal(adjoint.grid_sampler(x, grid, 1, 2, True), expected)
    assert adjoint.equal(adjoint.grid_sampler_2d(x, grid, 1, 2, True), expected)
    theta = adjoint.tensor(rand(1, 2, 3))
    assert adjoint.equal(
        adjoint.affine_grid_generator(theta, (1, 1, 2, 3), False), F.affine_grid(theta, (1, 1, 2, 3), False)
    )


X, G = adjoint.zeros(1, 1, 6, 6), adjoint.zeros(1, 2, 2, 2)
WRONG = [
    (ValueError, lambda: F.interpolate(X, 8, 2.0), "only one of size or scale_factor should be defined"),
    (ValueError, lambda: F.interpolate(X), "either size or scale_factor should be defined"),
    (ValueError, lambda: F.interpolate(X, (8, 8, 8)), "spatial dimensions of [6, 6] and output size of (8, 8, 8)"),
    (ValueError, lambda: F.interpolate(X, 8, align_corners=True), "align_corners option can only be set"),
    (ValueError, lambda: F.interpolate(X, 8, antialias=True), "Anti-alias option is restricted"),
    (ValueError, lambda: F.interpolate(X, 8, mode="lanczos"), "Lanczos mode requires antialias=True"),
    (ValueError, lambda: F.interpolate(X, 8, recompute_scale_factor=True), "not meaningful with an explicit size"),
    (NotImplementedError, lambda: F.interpolate(X, 8, mode="linear"), "Got 4D input, but linear mode needs 3D input"),
    (NotImplementedError, lambda: F.interpolate(X[0], 8, mode="bicubic"), "(got 3D) for the modes: nearest | linear"),
    (NotImplementedError, lambda: F.interpolate(X[0, 0], 8), "(got 2D) for the modes: nearest | linear"),
    (NotImplementedError, lambda: F.interpolate(X.long(), 8), "not implemented for 'Long'"),
    (RuntimeError, lambda: F.interpolate(X, 0), "input (H: 6, W: 6) output (H: 0, W: 0)"),
    (ValueError, lambda: F.grid_sample(X, G, "cubic"),
     "expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: 'cubic'"),
    (ValueError, lambda: F.grid_sample(X, G, "nearest", "wrap"),
     "expected padding_mode to be 'zeros', 'border', or 'reflection'"),
    (RuntimeError, lambda: F.grid_sample(X, G.expand(2, 2, 2, 2), align_corners=True), "to have same batch size"),
    (RuntimeError, lambda: F.grid_sample(X, G[..., :1], align_corners=True),
     "expected grid to have size 2 in last dimension"),
    (RuntimeError, lambda: F.grid_sample(X, G.double(), align_corners=True),
     "expected scalar type Float but found Double"),
    (RuntimeError, lambda: F.grid_sample(X[:, :, :0], G, align_corners=True), "with dimension 2 being empty"),
    (ValueError, lambda: F.affine_grid(X[0], (1, 1, 2, 2), True),
     "Expected a batch of 2D affine matrices of shape Nx2x3"),
    (NotImplementedError, lambda: F.affine_grid(X[0], (1, 1, 2), True), "affine_grid only supports 4D and 5D sizes"),
]  # fmt: skip


@pytest.mark.parametrize(("error", "call", "message"), WRONG, ids=[message for _, _, message in WRONG])
def test_messages(error: type[Exception], call: Callable[[], Any], message: str) -> None:
    with pytest.raises(error) as raised:
        call()
    assert message in str(raised.value)


def test_align_corners_is_a_bool() -> None:
    with pytest.raises(TypeError, match="must be bool"):
        adjoint.nn.functional.interpolate(adjoint.zeros(1, 1, 4, 4), size=2, mode="bilinear", align_corners="a")
