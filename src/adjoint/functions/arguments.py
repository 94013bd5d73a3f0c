"""Checks and conversions of arguments that several families of functions share."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from functools import wraps
from operator import index
from typing import Any, TypeVar

from adjoint.arrays.size import type_name
from adjoint.core import errors
from adjoint.core.graph import TensorBase
from adjoint.core.operations.public_functions import skip_wrapper
from adjoint.functions.composite import under_own_names
from adjoint.tensor.creation import result_type

Sizes = tuple[int, ...]
#: One axis or several.
Dims = int | Sequence[int]
F = TypeVar("F", bound=Callable[..., Any])

#: The axes of an image by their number, as docstrings name them.
SIZES = {1: "L", 2: "H, W", 3: "D, H, W"}


def require_tensor(function: str, argument: str, position: int, value: object) -> None:
    """Raise TypeError unless the argument, number `position` from 0, is a Tensor."""
    if not isinstance(value, TensorBase):
        raise TypeError(errors.must_be_tensor(function, argument, position, value))


def require_tensors(function: str, **tensors: object) -> None:
    """Raise TypeError unless all arguments, in the order of the function's parameters, are Tensors."""
    for position, (name, value) in enumerate(tensors.items()):
        if not isinstance(value, TensorBase):
            raise TypeError(errors.must_be_tensor(function, name, position, value))


def require_member(argument: int, index: int, value: object, kinds: type | tuple[type, ...] = TensorBase) -> None:
    """Raise TypeError unless a member of a list of tensors, the argument of that number from 0, is a Tensor."""
    if not isinstance(value, kinds):
        raise TypeError(f"expected Tensor as element {index} in argument {argument}, but got {type(value).__name__}")


def in_common_dtype(*tensors: Any) -> list[Any]:
    """The tensors in the dtype that arithmetic on them gives; one without axes widens none that has some."""
    kind = result_type(*tensors)
    return [tensor if tensor.dtype is kind else tensor.to(kind) for tensor in tensors]


def ints(function: str, argument: str, value: object, position: int | None = None) -> Sizes:
    """One integer or several, as a tuple. Raises TypeError for other objects.

    >>> ints("unfold", "stride", [1, 2]), ints("unfold", "stride", 3)
    ((1, 2), (3,))
    """
    if isinstance(value, (tuple, list)):
        members = tuple(value)
    elif isinstance(value, TensorBase) and value.ndim:
        members = tuple(value.tolist())
    else:
        members = (value,)
    try:
        return tuple([member.__index__() for member in members])
    except AttributeError:
        kind = type(value).__name__
        where = "" if position is None else f" (position {position})"
        raise TypeError(f"{function}(): argument '{argument}'{where} must be tuple of ints, not {kind}") from None


def per_axis(function: str, argument: str, value: object, n: int, position: int | None = None) -> Sizes:
    """The numbers of `ints`, a single one repeated for each of n axes. The caller checks how many there are.

    >>> per_axis("unfold", "stride", 3, 2)
    (3, 3)
    """
    sizes = ints(function, argument, value, position)
    return sizes * n if len(sizes) == 1 else sizes


def real_number(function: str, argument: str, position: int, value: Any, of_tensor: bool = False) -> Any:
    """A real number of Python or NumPy, with `of_tensor` also a Tensor's number. Raises TypeError for others.

    >>> real_number("uniform_", "from", 1, 0.5)
    0.5
    """
    if of_tensor and isinstance(value, TensorBase):
        value = value.item()
    if not isinstance(value, numbers.Real):
        kind = type_name(value)
        raise TypeError(f"{function}(): argument '{argument}' (position {position}) must be float, not {kind}")
    return value


def hashable(value: Any) -> Any:
    """A list as a tuple, which can be the key of a cache."""
    return tuple(value) if isinstance(value, list) else value


def optional_out(out: Any) -> dict[str, Any]:
    """The keyword arguments that pass out= on, if it is given."""
    return {} if out is None else {"out": out}


def as_tuple(values: Any) -> tuple[Any, ...]:
    """One number as a tuple, a sequence as a tuple; `f(1, 2)` and `f((1, 2))` mean the same."""
    if len(values) == 1 and isinstance(values[0], (tuple, list)):
        return tuple(values[0])
    return tuple(values)


def as_list(dims: Dims) -> list[int]:
    """One number as a list, a sequence as a list."""
    return list(dims) if isinstance(dims, (tuple, list)) else [index(dims)]  # type: ignore[arg-type]


def takes_axis(function: F) -> F:
    """Let a function with a parameter `dim` be called with NumPy's name for it, `axis`, as torch does."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "axis" in kwargs:
            kwargs = under_own_names(function.__name__, kwargs, {"axis": "dim"})
        return function(*args, **kwargs)

    return skip_wrapper(function, call)


def takes_joint_name(name: str) -> Callable[[F], F]:
    """Let the numbers at the end of a call be given by the name that they have together, then perhaps `input` too."""

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if name in kwargs:
                first = (kwargs.pop("input"),) if "input" in kwargs else ()
                args = (*first, *args, kwargs.pop(name))
            return function(*args, **kwargs)

        return skip_wrapper(function, call, name)

    return decorate
