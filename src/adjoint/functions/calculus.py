"""Differences and sums along an axis as derivatives and integrals: diff, gradient, the trapezoidal rule."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import get_default_dtype, kind_of
from adjoint.arrays.shapes import normalize_dim, normalize_dims, require_dim
from adjoint.core.graph import TensorBase
from adjoint.functions.composite import as_tensor, composite, ops, torch_call
from adjoint.rules.reduce import part

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Dims = int | Sequence[int] | None

# differences --------------------------------------------------------------------------------------------------------


def _check_continued(input: Tensor, other: Tensor, dim: int) -> None:
    if other.ndim != input.ndim:
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    for axis, (n, m) in enumerate(zip(input.shape, other.shape, strict=True)):
        if axis != dim and n != m:
            raise RuntimeError(
                "diff expects the shape of tensor to prepend or append to match that of input except along the "
                f"differencing dimension; input.size({axis}) = {n}, but got tensor.size({axis}) = {m}"
            )


@composite()
@torch_call()
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The differences of neighbours along an axis, n times over; of truth values, whether they differ.

    `prepend` and `append` continue the input along the axis before. Raises RuntimeError if they do not fit.

    >>> import adjoint
    >>> adjoint.diff(adjoint.tensor([1, 3, 6, 10]), n=2)
    tensor([1, 1])
    """
    if not input.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    axis = normalize_dim(dim, input.ndim)
    if not n:
        return input.clone()
    pieces = [input]
    if prepend is not None:
        pieces.insert(0, as_tensor("diff", "prepend", 4, prepend))
    if append is not None:
        pieces.append(as_tensor("diff", "append", 5, append))
    for piece in pieces:
        _check_continued(input, piece, axis)
    if len(pieces) > 1:
        input = ops.cat(pieces, axis)
    if n >= input.shape[axis]:
        return input[part(axis, 0, 0)].clone()
    for _ in range(n):
        input = ops.neighbour_difference(input, axis)
    return input


# derivatives on a grid ------------------------------------------------------------------------------------------------


def _weighted_sum(f: Tensor, dim: int, start: int, stop: int | None, weights: Sequence[Any]) -> Tensor:
    """The sum of neighbours f[i], f[i + 1], ... with weights, for i from start up to stop."""
    n = f.shape[dim]
    stop = n - len(weights) + 1 if stop is None else stop
    total: Any = None
    for k, weight in enumerate(weights):
        term = f[part(dim, start + k, stop + k)]
        term = _times(term, weight)
        total = term if total is None else total + term
    return total


def _even(f: Tensor, dim: int, h: Any, order: int) -> Tensor:
    n = f.shape[dim]
    first, last = ((-1, 1), (-1, 1)) if order == 1 else ((-1.5, 2, -0.5), (0.5, -2, 1.5))
    before = _weighted_sum(f, dim, 0, 1, first)
    behind = _weighted_sum(f, dim, n - len(last), n - len(last) + 1, last)
    if n < 3:
        return _over(ops.cat([before, behind], dim), h)
    middle = _over(f[part(dim, 2)] - f[part(dim, 0, -2)], 2)
    return _over(ops.cat([before, middle, behind], dim), h)


def _times(f: Tensor, factor: Any) -> Tensor:
    """A product of two tensors; a number is converted, not kept as a factor."""
    return ops.mul_number(f, factor) if _is_plain(f, factor) else f * factor


def _over(f: Tensor, divisor: Any) -> Tensor:
    """A quotient in the same way."""
    return ops.div_number(f, divisor) if _is_plain(f, divisor) else f / divisor


def _is_plain(f: Tensor, number: Any) -> bool:
    """True for a number that leaves the type of numbers as it is."""
    return isinstance(number, (int, float)) and f.dtype.category > 1


def _uneven(f: Tensor, dim: int, coordinates: Tensor, order: int) -> Tensor:
    n = f.shape[dim]
    steps = ops.neighbour_difference(coordinates, 0).reshape(-1, *[1] * (f.ndim - dim - 1))
    a, b = steps[:-1], steps[1:]

    def slope(i: int) -> Tensor:
        return _weighted_sum(f, dim, i, i + 1, (-1, 1)) / steps[i]

    middle = (
        [_weighted_sum(f, dim, 0, None, (-b / (a * (a + b)), (b - a) / (a * b), a / (b * (a + b))))] if n > 2 else []
    )
    if order == 1:
        return ops.cat([slope(0), *middle, slope(n - 2)], dim)
    h, k = a[0], b[0]
    before = _weighted_sum(f, dim, 0, 1, (-(2 * h + k) / (h * (h + k)), (h + k) / (h * k), -h / (k * (h + k))))
    h, k = a[-1], b[-1]
    behind = _weighted_sum(f, dim, n - 3, n - 2, (k / (h * (h + k)), -(h + k) / (h * k), (2 * k + h) / (k * (h + k))))
    return ops.cat([before, *middle, behind], dim)


def _spacings(spacing: Any, number: int, ndim: int, has_dim: bool) -> list[Any]:
    """A step or the coordinates for each of a number of axes."""
    if spacing is None:
        spacing = 1.0
    if isinstance(spacing, Number) or (isinstance(spacing, TensorBase) and not spacing.ndim):
        return [spacing] * number
    spacing = list(spacing)
    if len(spacing) != number:
        if has_dim:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to have "
                f"the same length, but got a spacing argument of length {len(spacing)} and a dim argument of length "
                f"{number}."
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = "
            f"{ndim}', since dim argument was not given, but got a list of length {len(spacing)}"
        )
    for item in spacing:
        if isinstance(item, TensorBase) and item.ndim != 1:
            raise RuntimeError(
                "torch.gradient expected each element of spacing to have one dimension, but got an element with "
                f"{item.ndim} dimensions!"
            )
    return spacing


@composite(method=False)
@torch_call()
def gradient(input: Tensor, *, spacing: Any = 1, dim: Dims = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """Numerical derivatives of a function given on a grid, one for each axis, of second order inside.

    Args:
        spacing: the distance of neighbours, for all axes or one for each; or for each axis the vector of coordinates.
        dim: the axes; None for all.
        edge_order: 1 or 2, the order at the ends of an axis.

    Raises RuntimeError if an axis has no more than edge_order elements.

    >>> import adjoint
    >>> adjoint.gradient(adjoint.tensor([0.0, 1.0, 4.0, 9.0]), spacing=1.0)
    (tensor([1., 2., 4., 5.]),)
    """
    axes = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    dims = normalize_dims(list(axes), input.ndim)
    spacings = _spacings(spacing, len(dims), input.ndim, dim is not None)
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    for axis in dims:
        if input.shape[axis] <= edge_order:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if kind_of(input._array) == "b" and len(dims):
        ops.sub(input, input)
    if input.dtype.name == "uint8":
        raise RuntimeError("torch.gradient does not support uint8 input.")
    results = []
    for axis, step in zip(dims, spacings, strict=True):
        along = _uneven if isinstance(step, TensorBase) and step.ndim else _even
        results.append(along(input, axis, step, edge_order))
    return tuple(results)


# integrals ------------------------------------------------------------------------------------------------------------


def _steps(name: str, y: Tensor, x: Any, dim: int) -> Tensor:
    """The distances of neighbouring coordinates, along the axis of y that they belong to."""
    x = as_tensor(name, "x", 2, x)
    if kind_of(x._array) == "b":
        raise RuntimeError(f"{name}: received a bool input for `x` or `y`, but bool is not supported")
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = ops.reshape(x, (x.shape[0], *[1] * (y.ndim - dim - 1)))
        return ops.neighbour_difference(x, 0)
    if x.ndim < y.ndim:
        x = x[(None,) * (y.ndim - x.ndim)]
    return ops.neighbour_difference(x, dim)


def _axis_of_samples(name: str, y: Tensor, dim: int) -> int:
    axis = require_dim(dim, y.ndim)
    if kind_of(y._array) == "b":
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    return axis


def _one_spacing(name: str, x: Any, dx: Any) -> None:
    if x is not None and dx is not None:
        raise TypeError(f"{name}() received both x, the coordinates, and dx, their distance; give one of them")


def _sums(y: Tensor, dim: int) -> Tensor:
    return y[part(dim, 0, -1)] + y[part(dim, 1)]


@composite(method=False)
@torch_call(first="y")
def trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The integral along an axis of a function given at points, by the trapezoidal rule.

    Args:
        x: the coordinates, a vector or a tensor that broadcasts with y.
        dx: the distance of neighbours, 1 unless given.

    Raises RuntimeError if the numbers of coordinates and values differ.

    >>> import adjoint
    >>> adjoint.trapezoid(adjoint.tensor([1.0, 2.0, 4.0]), adjoint.tensor([0.0, 1.0, 3.0]))
    tensor(7.5000)
    """
    return _integral("trapezoid", y, x, dx, dim)


def _spacing(dx: Any, y: Tensor) -> Any:
    """The distance of neighbours; a Tensor gets the dtype of the results for a number."""
    if isinstance(dx, TensorBase) and not dx.ndim:
        kind = y.dtype if y.is_floating_point() or y.is_complex() else get_default_dtype()
        return dx.to(kind)
    return 1 if dx is None else dx


def _integral(name: str, y: Tensor, x: Any, dx: Any, dim: int) -> Tensor:
    _one_spacing(name, x, dx)
    axis = normalize_dim(dim, y.ndim)
    if x is None and y.ndim and not y.shape[axis]:
        return ops.zeros_of(y.detach(), (*y.shape[:axis], *y.shape[axis + 1 :]))  # of truth values, too
    _axis_of_samples("trapezoid", y, dim)
    if x is not None:
        return _over(ops.sum(_sums(y, axis) * _steps("trapezoid", y, x, axis), (axis,), False), 2)
    total = ops.sum(y, (axis,), False)
    step = _spacing(dx, y)
    ends = y.select(axis, 0) + y.select(axis, -1)
    return _times(total - _times(ends, 0.5), step)


@composite(method=False)
@torch_call(first="y")
def trapz(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """Alias of trapezoid().

    >>> import adjoint
    >>> adjoint.trapz(adjoint.tensor([1.0, 2.0, 4.0]), dx=2.0)
    tensor(9.)
    """
    return _integral("trapz", y, x, dx, dim)


@composite(method=False)
@torch_call(first="y")
def cumulative_trapezoid(y: Tensor, x: Tensor | None = None, *, dx: float | None = None, dim: int = -1) -> Tensor:
    """The integrals from the first place up to each other one, by the trapezoidal rule; see trapezoid().

    >>> import adjoint
    >>> adjoint.cumulative_trapezoid(adjoint.tensor([1.0, 2.0, 4.0]))
    tensor([1.5000, 4.5000])
    """
    name = "cumulative_trapezoid"
    _one_spacing(name, x, dx)
    if not y.ndim:
        raise IndexError("slice() cannot be applied to a 0-dim tensor.")
    axis = _axis_of_samples(name, y, dim)
    if x is not None:
        return _over(ops.cumsum(_sums(y, axis) * _steps(name, y, x, axis), axis), 2)
    return ops.cumsum(_times(_sums(y, axis), _spacing(dx, y) / 2), axis)
