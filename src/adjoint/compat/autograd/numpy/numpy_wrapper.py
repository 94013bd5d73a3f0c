"""The names of autograd.numpy.numpy_wrapper: NumPy's functions, and helpers for namespaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from adjoint.compat.autograd import numpy as _numpy

numpy_version = _numpy.__version__


def concatenate_args(axis: Any, *args: Any) -> Any:
    """numpy.concatenate of arrays that are passed as arguments of their own.

    axis: the axis along which they are joined.
    """
    return _numpy.concatenate(args, axis)


def array_from_args(array_args: Sequence[Any], array_kwargs: dict[str, Any], *args: Any) -> Any:
    """numpy.array of values that are passed as arguments of their own.

    array_args, array_kwargs: the other arguments of numpy.array.
    """
    return _numpy.array(args, *array_args, **array_kwargs)


globals().update({name: value for name, value in vars(_numpy).items() if not name.startswith("_")})
