"""Interpolation, and sampling of images at the points of a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.kernels import interpolation
from adjoint.arrays.kernels.axis_maps import AxisMap
from adjoint.arrays.namespace import on_device
from adjoint.arrays.size import type_name
from adjoint.core.graph import new_tensor
from adjoint.functions.adaptive_pooling import adaptive_average
from adjoint.functions.arguments import Sizes, ints
from adjoint.functions.composite import composite, describe, functional, ops, separate
from adjoint.functions.contract import as_tensor
from adjoint.rules.contract import shape_text
from adjoint.rules.interpolation import Origin
from adjoint.rules.sampling import MODES, PADDINGS
from adjoint.runtime.caches import memoize
from adjoint.runtime.once import warn_caller

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

# interpolation --------------------------------------------------------------------------------------------------------

_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
#: How many axes each mode is for, where not for any number.
_AXES = {"linear": 1, "bilinear": 2, "trilinear": 3}


def _per_axis(value: Any, n: int) -> tuple[Any, ...] | None:
    if value is None:
        return None
    if isinstance(value, (tuple, list)):
        return tuple(value)
    return (value,) * n


def _check_count(what: str, letter: str, values: tuple[Any, ...], input: Tensor) -> None:
    n = input.ndim - 2
    if len(values) != n:
        name = "output size of" if what == "output size" else "scale_factor of shape"
        raise ValueError(
            f"Input and {what.replace('output size', 'output')} must have the same number of spatial dimensions, but "
            f"got input with spatial dimensions of {shape_text(input.shape[2:])} and {name} {values}. Please provide "
            f"input tensor in (N, C, d1, d2, ...,dK) format and {what} in ({letter}1, {letter}2, ...,{letter}K) format."
        )


def _target(
    input: Tensor, size: Any, scale_factor: Any, recompute: bool | None
) -> tuple[Sizes, tuple[float | None, ...]]:
    """The size of the result, and the factors that positions are to be computed with (None: from the sizes)."""
    n = input.ndim - 2
    sizes, factors = _per_axis(size, n), _per_axis(scale_factor, n)
    if sizes is not None and factors is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if sizes is not None:
        _check_count("output size", "o", sizes, input)
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return ints("interpolate", "size", sizes), (None,) * n
    if factors is None:
        raise ValueError("either size or scale_factor should be defined")
    _check_count("scale_factor", "s", factors, input)
    factors = tuple([float(f) for f in factors])
    lengths = tuple([math.floor(float(m) * f) for m, f in zip(input.shape[2:], factors, strict=True)])
    return lengths, (None,) * n if recompute else factors


def _check_sizes(input: Tensor, size: Sizes) -> None:
    image = tuple(input.shape[2:])
    if min(size) <= 0 or min(image) <= 0:
        sides = ("D", "H", "W")[3 - len(size) :]
        texts = [", ".join(f"{s}: {m}" for s, m in zip(sides, sizes, strict=True)) for sizes in (image, size)]
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input ({texts[0]}) output ({texts[1]})"
        )
    if not input.shape[1]:
        raise RuntimeError(
            f"Non-empty {input.ndim}D data tensor expected but got a tensor with sizes {shape_text(input.shape)}"
        )


def _check_mode(input: Tensor, mode: str, align_corners: bool | None, antialias: bool) -> None:
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | "
                "trilinear"
            )
    elif mode == "lanczos" and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    elif mode == "lanczos" and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    if antialias and not (mode in interpolation.FILTERS and input.ndim == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if align_corners is not None and not isinstance(align_corners, bool):
        raise TypeError(f"interpolate(): argument 'align_corners' must be bool, not {type_name(align_corners)}")


def _check_rank(input: Tensor, mode: str) -> None:
    axes = _AXES.get(mode)
    if input.ndim not in (3, 4, 5) or not (axes or mode in ("nearest", "nearest-exact", "area") or input.ndim == 4):
        wrong = True
    else:
        wrong = not (axes or mode in ("nearest", "nearest-exact", "area", "bicubic", "lanczos"))
    if wrong:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {input.ndim}D) for the modes: {_MODES} "
            f"(got {mode})"
        )
    if axes and input.ndim != axes + 2:
        raise NotImplementedError(f"Got {input.ndim}D input, but {mode} mode needs {axes + 2}D input")


def _map(
    mode: str,
    n: int,
    results: int,
    align_corners: bool,
    factor: float | None,
    single: bool,
    antialias: bool,
    two_axes: bool,
    bytes_: bool,
) -> AxisMap:
    if mode.startswith("nearest"):
        return interpolation.nearest(n, results, factor, mode == "nearest-exact", two_axes)
    if results == n and (antialias or bytes_ or mode != "bicubic"):
        # as in torch an axis of unchanged length is not resampled, for any factor
        return interpolation.nearest(n, n, None, False)
    if antialias:
        return interpolation.antialias_filter(n, results, align_corners, factor, single, mode)
    function = interpolation.cubics if mode == "bicubic" else interpolation.lines
    return function(n, results, align_corners, factor, single)


def _interpolate(
    input: Tensor,
    size: Any,
    scale_factor: Any,
    mode: str,
    align_corners: bool | None,
    recompute: bool | None,
    antialias: bool,
) -> Tensor:
    input = as_tensor("interpolate", "input", 1, input)
    _check_mode(input, mode, align_corners, antialias)
    results, factors = _target(input, size, scale_factor, recompute)
    _check_rank(input, mode)
    if mode == "area":
        return adaptive_average(input.ndim - 2, input, results)
    _check_sizes(input, results)
    kind = input.dtype
    if not (kind.is_floating_point or kind.long_name == "Byte"):
        name = "nearest" if mode.startswith("nearest") else mode
        suffix = "" if name.endswith("linear") and name != "bilinear" else f"{input.ndim - 2}d"
        raise NotImplementedError(f"\"upsample_{name}{suffix}\" not implemented for '{kind.long_name}'")
    rows = zip(input.shape[2:], results, factors, strict=True)
    single = kind.is_floating_point and kind.itemsize < 8
    options = (single, antialias, input.ndim == 4, not kind.is_floating_point)
    maps = tuple([_map(mode, n, m, bool(align_corners), f, *options) for n, m, f in rows])
    if kind.is_floating_point or mode.startswith("nearest"):
        return ops.along_axes(input, maps, _origin(mode, results, factors, bool(align_corners), antialias))
    return _of_bytes(input, maps)


def _origin(mode: str, results: Sizes, factors: Any, align_corners: bool, antialias: bool) -> Origin:
    """The name and the attributes of torch's node of an interpolation."""
    n = len(results)
    kind = "NearestExact" if mode == "nearest-exact" else mode.capitalize()
    attributes: dict[str, Any] = {"output_size": tuple(results)}
    names = ["scales"] if n == 1 else [f"scales_{side}" for side in "dhw"[3 - n :]]
    attributes.update(zip(names, factors, strict=True))
    if not mode.startswith("nearest"):
        attributes["align_corners"] = align_corners
    return Origin(f"Upsample{kind}{n}D{'Aa' if antialias else ''}Backward0", tuple(attributes.items()))


def _of_bytes(input: Tensor, maps: tuple[AxisMap, ...]) -> Tensor:
    """Interpolation of bytes: rounded after each axis, the last one first."""
    for i in reversed(range(len(maps))):
        values = ops.along_axes(
            input.double(), (interpolation.in_fixed_point(maps[i]), *_remaining_maps(input, i, maps))
        )
        input = ops.clamp(ops.floor(values + 0.5), 0, 255).to(input.dtype)
    return input


def _remaining_maps(input: Tensor, i: int, maps: tuple[AxisMap, ...]) -> tuple[AxisMap, ...]:
    """Identity maps, for the axes after one."""
    return tuple([interpolation.nearest(n, n, None, False) for n in input.shape[input.ndim - len(maps) + i + 1 :]])


@functional
def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Images with more or fewer elements, interpolated.

    Args:
        input: (N, C, L), (N, C, H, W) or (N, C, D, H, W).
        size: the size of the result, one number or one for each axis; or
        scale_factor: the factor of the size, rounded down.
        mode: "nearest" or "nearest-exact" (the position rounded down, from the start or the middle of a result),
            "linear", "bilinear", "trilinear" (one, two or three axes), "bicubic" (two), "area" (means over windows),
            "lanczos" (two axes, with antialias).
        align_corners: whether the first and last elements of input and result coincide; otherwise their outer edges do.
        recompute_scale_factor: whether positions are computed from the sizes even if scale_factor is given.
        antialias: whether to filter before going to fewer elements ("bilinear", "bicubic", "lanczos").

    Raises ValueError, NotImplementedError or RuntimeError for inconsistent arguments.

    >>> import adjoint
    >>> adjoint.nn.functional.interpolate(adjoint.tensor([[[1.0, 3.0]]]), 4, mode="linear")
    tensor([[[1.0000, 1.5000, 2.5000, 3.0000]]])
    """
    return _interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


def _warn_of_deprecation(name: str) -> None:
    warn_caller(f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.")


@functional
def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The older name of interpolate().

    The arguments are the same, without antialias.

    Deprecated, with a warning: use interpolate().
    """
    _warn_of_deprecation("upsample")
    return _interpolate(input, size, scale_factor, mode, align_corners, None, False)


@functional
def upsample_nearest(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """The older name of interpolate() with mode "nearest".

    input: (N, C, ...), with one to three spatial axes.

    Deprecated, with a warning: use interpolate().
    """
    _warn_of_deprecation("upsample_nearest")
    return _interpolate(input, size, scale_factor, "nearest", None, None, False)


@functional
def upsample_bilinear(
    input: Tensor, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """The older name of interpolate() with mode "bilinear" and align_corners=True.

    input: (N, C, H, W).

    Deprecated, with a warning: use interpolate().
    """
    _warn_of_deprecation("upsample_bilinear")
    return _interpolate(input, size, scale_factor, "bilinear", True, None, False)


# sampling at the points of a grid -------------------------------------------------------------------------------------


def _corners_unsaid() -> None:
    warn_caller(
        "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please specify "
        "align_corners=True if the old behavior is desired. See the documentation of grid_sample for details."
    )


def _check_grid(input: Tensor, grid: Tensor, mode: str) -> None:
    input_shape, grid_shape = input._array.shape, grid._array.shape
    ndim = len(input_shape)
    if input_shape[:1] != grid_shape[:1]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{shape_text(input_shape)} and grid with sizes {shape_text(grid_shape)}"
        )
    if grid_shape[-1] != ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {ndim - 2} in last dimension, but got grid with sizes "
            f"{shape_text(grid_shape)}"
        )
    if 0 in input_shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
            f"{shape_text(input_shape)} with dimension {input_shape.index(0, 2)} being empty"
        )
    if ndim not in (4, 5) or ndim != len(grid_shape):
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{shape_text(input_shape)} and grid with sizes {shape_text(grid_shape)}"
        )
    if ndim == 5 and mode == "bicubic":
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if grid.dtype is not input.dtype:
        raise RuntimeError(f"expected scalar type {input.dtype.long_name} but found {grid.dtype.long_name}")
    if not input.dtype.is_floating_point:
        raise NotImplementedError(
            f"\"grid_sampler_{ndim - 2}d_cpu_kernel_impl\" not implemented for '{input.dtype.long_name}'"
        )


@functional
def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Images sampled at the points of a grid.

    Args:
        input: (N, C, H, W), or (N, C, D, H, W).
        grid: (N, *result, 2) or (N, *result, 3): coordinates x, y (and z) between -1 and 1 along W, H (and D).
        mode: "bilinear" between the nearest elements of two or three axes, "nearest", or "bicubic" (two axes).
        padding_mode: the values beyond the image: "zeros", the elements at its "border", or its "reflection".
        align_corners: whether -1 and 1 are the middles of the first and last element; otherwise they are their outer
            edges.

    Returns (N, C, *result).

    Raises ValueError or RuntimeError if these do not fit together.

    >>> import adjoint
    >>> image = adjoint.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> adjoint.nn.functional.grid_sample(image, adjoint.zeros(1, 1, 1, 2), align_corners=True)
    tensor([[[[2.5000]]]])
    """
    if mode not in MODES:
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    if align_corners is None:
        _corners_unsaid()
    return _sample(input, grid, mode, padding_mode, bool(align_corners))


def _sample(input: Tensor, grid: Tensor, mode: str, padding_mode: str, align_corners: bool) -> Tensor:
    input, grid = as_tensor("grid_sample", "input", 1, input), as_tensor("grid_sample", "grid", 2, grid)
    _check_grid(input, grid, mode)
    batch, channels, *image = input._array.shape
    results = grid._array.shape[1:-1]
    points = ops.reshape(grid, (batch, prod(results), len(image)))
    weights, places = ops.grid_corners(points, tuple(image), mode, padding_mode, align_corners)
    sampled = ops.sample(ops.reshape(input, (batch, channels, prod(image))), weights, places)
    return separate(ops.reshape(sampled, (batch, channels, *results)))


_GRID_SAMPLER = """As nn.functional.grid_sample(), with modes by their numbers in the order of its documentation.

    interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic. padding_mode: 0 zeros, 1 border, 2 reflection.

    >>> import adjoint
    >>> image = adjoint.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> adjoint.grid_sampler(image, adjoint.zeros(1, 1, 1, 2), 0, 0, True)
    tensor([[[[2.5000]]]])
    """


def _grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    return _sample(input, grid, MODES[interpolation_mode], PADDINGS[padding_mode], align_corners)


@composite(method=False)
@describe(_GRID_SAMPLER)
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    return _grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@composite(method=False)
@describe(_GRID_SAMPLER)
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    return _grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


@composite(method=False)
@describe(_GRID_SAMPLER)
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    return _grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def _steps(n: int, align_corners: bool, kind: Any) -> numpy.ndarray:
    """Coordinates of n elements between -1 and 1."""
    if n <= 1:
        return numpy.zeros(n, kind)
    steps = numpy.linspace(-1, 1, n)
    return (steps if align_corners else steps * ((n - 1) / n)).astype(kind)


def _check_theta(theta: Tensor, size: Sizes) -> None:
    if not theta.dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    n = len(size) - 2
    if theta.ndim != 3 or tuple(theta.shape[-2:]) != (n, n + 1):
        raise ValueError(
            f"Expected a batch of {n}D affine matrices of shape Nx{n}x{n + 1} for size {size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")


@functional
def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The grid for grid_sample() that maps an image by affine matrices.

    Args:
        theta: (N, 2, 3) for images of two axes, (N, 3, 4) of three.
        size: (N, C, H, W) or (N, C, D, H, W), the size of grid_sample()'s result.
        align_corners: whether -1 and 1 are the middles of the first and last element; otherwise they are their outer
            edges.

    Returns (N, H, W, 2) or (N, D, H, W, 3).

    Raises ValueError if theta and size do not fit.

    >>> import adjoint
    >>> theta = adjoint.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])
    >>> adjoint.nn.functional.affine_grid(theta, (1, 1, 1, 2), align_corners=True)
    tensor([[[[-0.5000,  0.0000],
              [ 1.5000,  0.0000]]]])
    """
    sizes = ints("affine_grid", "size", list(size))
    _check_theta(theta, sizes)
    if align_corners is None:
        _corners_unsaid()
    return _affine_grid(theta, sizes, bool(align_corners))


def _affine_grid(theta: Tensor, size: Sizes, align_corners: bool) -> Tensor:
    image = size[2:]
    points = (_kept_points if prod(image) <= _FEW_POINTS else _points)(image, align_corners, theta.dtype)
    base = ops.expand(new_tensor(on_device(points, theta.device)), (size[0], *points.shape[1:]))
    grid = ops.bmm(base, ops.transpose(theta, 1, 2))
    return separate(ops.reshape(grid, (size[0], *image, len(image))))


def _points(image: Sizes, align_corners: bool, kind: Any) -> numpy.ndarray[Any, Any]:
    """The points of a grid over an image before it is moved, in rows with a 1 behind the coordinates."""
    points = numpy.ones((*image, len(image) + 1))
    for axis, n in enumerate(image):
        behind = (1,) * (len(image) - 1 - axis)
        points[..., len(image) - 1 - axis] = _steps(n, align_corners, numpy.float64).reshape(n, *behind)
    return points.reshape(1, prod(image), len(image) + 1).astype(kind.numpy)


#: Up to this number of points are cached for the next grid.
_FEW_POINTS = 1 << 14
_kept_points = memoize(8)(_points)


@composite(method=False)
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """As nn.functional.affine_grid().

    >>> import adjoint
    >>> theta = adjoint.tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]]])
    >>> adjoint.affine_grid_generator(theta, (1, 1, 1, 2), True).shape
    adjoint.Size([1, 1, 2, 2])
    """
    sizes = ints("affine_grid_generator", "size", list(size))
    _check_theta(theta, sizes)
    return _affine_grid(theta, sizes, align_corners)
