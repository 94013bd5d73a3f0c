"""Convolution with a choice of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as _numpy
import scipy.signal as _signal

from adjoint.compat.autograd import numpy as np
from adjoint.compat.autograd.scipy._namespace import wrap_namespace as _wrap_namespace


def convolve(
    A: Any,
    B: Any,
    axes: Sequence[Sequence[int]] | None = None,
    dot_axes: Sequence[Sequence[int]] = ((), ()),
    mode: str = "full",
) -> Any:
    """The convolution of A and B along axes, summed over products along others, for all pairs along the rest.

    axes: which axes of A and of B are convolved, by default the last ones of both. dot_axes: which axes of A and of B
    are multiplied and summed. mode: "full"; "valid", where B is the smaller one, or A is; or "same", the middle part of
    "full" that is as large as A. The result has the axes of A that are in neither, then those of B, then the convolved
    ones.
    """
    if mode == "same":
        return _middle(convolve(A, B, axes, dot_axes), A, range(np.ndim(A)) if axes is None else axes[0])
    if mode not in ("full", "valid"):
        raise NotImplementedError(f"Mode {mode} not implemented.")
    if axes is None:
        if np.ndim(A) != np.ndim(B):
            raise ValueError("A and B must have the same number of axes, or axes must be given")
        axes = [list(range(np.ndim(A)))] * 2
    along_a, along_b = ([int(axis) % np.ndim(x) for axis in dims] for x, dims in zip((A, B), axes, strict=True))
    dot_a, dot_b = ([int(axis) % np.ndim(x) for axis in dims] for x, dims in zip((A, B), dot_axes, strict=True))
    rest_a = [axis for axis in range(np.ndim(A)) if axis not in (*along_a, *dot_a)]
    rest_b = [axis for axis in range(np.ndim(B)) if axis not in (*along_b, *dot_b)]
    sizes_a, sizes_b = [np.shape(A)[i] for i in along_a], [np.shape(B)[i] for i in along_b]
    if mode == "valid" and not (
        all(n >= m for n, m in zip(sizes_a, sizes_b, strict=True))
        or all(n <= m for n, m in zip(sizes_a, sizes_b, strict=True))
    ):
        raise ValueError(f"For 'valid' mode, one must be at least as large as the other in every axis, got {sizes_a} "
                         f"and {sizes_b}")  # fmt: skip
    # convolved axes come first, and each array is large in its other axes
    left = np.transpose(A, (*along_a, *dot_a, *rest_a))
    right = np.transpose(B, (*along_b, *dot_b, *rest_b))
    larger_is_a = _numpy.prod(sizes_a) >= _numpy.prod(sizes_b)
    large, small = (left, right) if larger_is_a else (right, left)
    large_sizes, small_sizes = (sizes_a, sizes_b) if larger_is_a else (sizes_b, sizes_a)
    n = len(along_a)
    if mode == "full":
        margins = [(k - 1, k - 1) for k in small_sizes]
        large = np.pad(large, [*margins, *[(0, 0)] * (np.ndim(large) - n)])
        large_sizes = [size + 2 * (k - 1) for size, k in zip(large_sizes, small_sizes, strict=True)]
    found_sizes = [size - k + 1 for size, k in zip(large_sizes, small_sizes, strict=True)]
    dots = list(range(len(dot_a)))
    total: Any = 0.0
    for index in _numpy.ndindex(*small_sizes):
        part = large[tuple(slice(k - 1 - i, k - 1 - i + size)
                           for i, k, size in zip(index, small_sizes, found_sizes, strict=True))]  # fmt: skip
        # (convolved, dotted, rest) with (dotted, rest)
        total = total + np.tensordot(part, small[index], axes=([n + d for d in dots], dots))
    convolved = list(range(n))
    first = len(rest_a if larger_is_a else rest_b)
    of_large = list(range(n, n + first))
    of_small = list(range(n + first, n + len(rest_a) + len(rest_b)))
    order = (*of_large, *of_small, *convolved) if larger_is_a else (*of_small, *of_large, *convolved)
    return np.transpose(total, order)


def _middle(full: Any, A: Any, convolved: Sequence[int]) -> Any:
    sizes = [np.shape(A)[axis] for axis in convolved]
    starts = [(n - size) // 2 for n, size in zip(np.shape(full)[np.ndim(full) - len(sizes) :], sizes, strict=True)]
    return full[(..., *[slice(start, start + size) for start, size in zip(starts, sizes, strict=True)])]


_wrap_namespace(_signal, globals())
