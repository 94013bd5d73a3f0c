"""The namespace's own forms of some of NumPy's functions."""

from __future__ import annotations

from typing import Any

import numpy

from adjoint.compat.autograd._boxes import Box, getval, holds_box
from adjoint.compat.autograd._primitives import make_primitive

_where = make_primitive(numpy.where)


def where(condition: Any, *args: Any, **kwargs: Any) -> Any:
    """numpy.where, with x and y also by name.

    The result for Python's own numbers and lists consists of Python's numbers, and is an array in all other cases.
    Raises ValueError if one of x and y is missing.
    """
    if not args and not kwargs:
        return _where(condition)
    if len(args) + len(kwargs) != 2:
        raise ValueError("either both or neither of x and y should be given")
    x, y = (args[i] if i < len(args) else kwargs[name] for i, name in enumerate("xy"))
    result = _where(condition, x, y)
    return result if any(map(_has_array, (condition, x, y))) else result.tolist()


def _has_array(value: Any) -> bool:
    if type(value) in (list, tuple):
        return any(map(_has_array, value))
    return isinstance(value, (Box, numpy.ndarray, numpy.generic))


class _Joiner:
    """numpy.r_ or numpy.c_, also of boxes."""

    def __init__(self, ofnumpy: Any) -> None:
        self._ofnumpy = ofnumpy

    def __getitem__(self, items: Any) -> Any:
        result = self._ofnumpy[items]
        return make_primitive(numpy.array)(result.tolist()) if holds_box(result) else result


r_, c_ = _Joiner(numpy.r_), _Joiner(numpy.c_)


class _TakesBoxes(type):
    """The types of integers, which of a box make the integer of its value; it has no derivative."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.__base__(*map(getval, args), **kwargs)  # type: ignore[misc]

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.__base__)  # type: ignore[arg-type]

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.__base__)  # type: ignore[arg-type]


int8, int16, int32, int64 = (
    _TakesBoxes(kind.__name__, (kind,), {}) for kind in (numpy.int8, numpy.int16, numpy.int32, numpy.int64)
)
