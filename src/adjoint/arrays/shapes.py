"""Shapes and axes: broadcasting, axis numbers, and the sum that undoes broadcasting."""

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

from adjoint.arrays.dtypes import is_half

Shape = tuple[int, ...]
_MOST_ELEMENTS = 2**63 - 1


def normalize_dim(dim: int, ndim: int) -> int:
    """The axis number counted from the front; a zero-dimensional array has one axis for this purpose, as in torch.

    Raises IndexError for a number out of range.

    >>> normalize_dim(-1, 3)
    2
    """
    if type(dim) is int and 0 <= dim < ndim:
        return dim
    dim = index(dim)
    n = max(ndim, 1)
    if not -n <= dim < n:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})")
    return dim + n if dim < 0 else dim


def require_dim(dim: int, ndim: int) -> int:
    """A non-negative axis of an array that must have axes. Raises IndexError also for an array without axes.

    >>> require_dim(-1, 3)
    2
    """
    if not ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return normalize_dim(dim, ndim)


def normalize_dims(dims: int | Sequence[int] | None, ndim: int) -> Any:
    """Non-negative axes: one, several, or None (which stays None). Raises RuntimeError if an axis appears twice.

    >>> normalize_dims((0, -1), 3)
    (0, 2)
    """
    if dims is None:
        return None
    if not isinstance(dims, (tuple, list)):
        return normalize_dim(dims, ndim)  # type: ignore[arg-type]
    normalized = tuple([normalize_dim(d, ndim) for d in dims])
    if len(set(normalized)) != len(normalized):
        twice = next(d for d in normalized if normalized.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    return normalized


def check_size(shape: Sequence[int], itemsize: int = 1) -> None:
    """Raise RuntimeError if an array would have more elements, or bytes, than can be counted, as torch does.

    >>> check_size((2**40, 2**40))
    Traceback (most recent call last):
    RuntimeError: Storage size calculation overflowed with sizes=[1099511627776, 1099511627776]
    """
    if max(shape, default=0) > _MOST_ELEMENTS or prod(shape) * itemsize > _MOST_ELEMENTS:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The common shape. Raises RuntimeError, in torch's words, where sizes differ and none is 1.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return tuple(shapes[0])
    ndim = max(map(len, shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        # from the last axis on: of several that do not fit, the last is named
        for i, n in zip(range(ndim - 1, -1, -1), reversed(shape), strict=False):
            if result[i] == 1:
                result[i] = n
            elif n != 1 and n != result[i]:
                raise RuntimeError(
                    f"The size of tensor a ({result[i]}) must match the size of tensor b ({n}) "
                    f"at non-singleton dimension {i}"
                )
    return tuple(result)


def broadcast_axes(shape: Shape, target: Shape) -> tuple[int, ...]:
    """The axes of `shape` along which broadcasting from `target` repeated values.

    >>> broadcast_axes((2, 3, 4), (3, 1))
    (0, 2)
    """
    extra = len(shape) - len(target)
    return tuple([i for i, n in enumerate(shape) if i < extra or (target[i - extra] == 1 and n != 1)])


def sum_to(xp: Any, array: Any, shape: Shape) -> Any:
    """Bring a cotangent to the shape of an input that was broadcast: sum along the repeated axes.

    A cotangent of smaller shape (a formula that gave one number for all) is repeated instead.
    """
    if array.ndim < len(shape) or any(n == 1 != m for n, m in zip(array.shape[::-1], shape[::-1], strict=False)):
        array = xp.broadcast_to(array, broadcast_shapes(array.shape, shape))
    axes = broadcast_axes(array.shape, shape)
    if axes:
        # halves are added up in float32; the edge that takes the sum rounds it
        array = xp.sum(array, axis=axes, keepdims=True, dtype=xp.float32 if is_half(array.dtype) else None)
    if array.shape[array.ndim - len(shape) :] != tuple(shape):
        raise ValueError(f"an array of shape {array.shape} does not come from broadcasting one of shape {tuple(shape)}")
    return xp.reshape(array, shape)


def expand_shape(xp: Any, array: Any, shape: Shape) -> Any:
    """A view broadcast to a shape; axes of length one keep their strides, as in torch (NumPy makes them 0).

    >>> import numpy
    >>> from adjoint.arrays.libraries import numpy_namespace
    >>> expand_shape(numpy_namespace, numpy.ones((2, 1)), (3, 2, 1)).strides
    (0, 8, 8)
    """
    view = xp.broadcast_to(array, shape)
    if 1 not in shape or 0 in shape or not array.ndim or not hasattr(view, "strides"):
        return view
    steps, new = list(view.strides), len(shape) - array.ndim
    for i in reversed(range(len(shape))):
        if shape[i] == 1:
            steps[i] = array.strides[i - new] if i >= new else shape[i + 1] * steps[i + 1]
    return view if tuple(steps) == view.strides else xp.view_with_strides(array, shape, tuple(steps))
