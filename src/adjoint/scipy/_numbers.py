"""Replacements of `float` and `complex` that keep derivatives, for modules in a block of `patched`."""

from __future__ import annotations

from typing import Any

import numpy

from adjoint.interop.numpy_array.base import ARRAY, ArrayHolder
from adjoint.scipy._blocks import thread


def class_in_numpy(array: Any) -> type:
    """ndarray for an array; NumPy's scalar class for a number."""
    kind: type = numpy.ndarray if array.ndim or array._form == ARRAY else array.dtype.type
    return kind


class ClassOfNumbers(type):
    """A class that replaces `float` or `complex`. It is equal to it, and has the same instances and dtype.

    A call with a differentiable array of one element returns this element with its derivative, which the original class
    would lose.
    """

    original: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if thread.depth and any(isinstance(value, ArrayHolder) for value in args):
            parts = [_number(cls.original, value) if isinstance(value, ArrayHolder) else value for value in args]
            # complex() also takes an imaginary part
            return parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
        return cls.original(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        if thread.depth and isinstance(instance, ArrayHolder):
            return issubclass(class_in_numpy(instance), cls.original)
        return isinstance(instance, cls.original)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.original)

    def __eq__(cls, other: Any) -> Any:
        # dtypes can be compared with classes
        return True if other is cls or other is cls.original else NotImplemented

    def __hash__(cls) -> int:
        return hash(cls.original)

    def __repr__(cls) -> str:
        return repr(cls.original)


def _number(original: type, array: Any) -> Any:
    """The element of an array in double precision, like the result of `float` or `complex`."""
    if array.dtype.kind == "c" and original is not complex:
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    kind = numpy.complex128 if original is complex else numpy.float64
    if original is numpy.float64:
        # NumPy's scalar class also takes arrays
        number = array
    else:
        # NumPy raises the error for arrays that are not numbers
        original(array._value)
        number = array.item()
    return number if number.dtype == kind else number.astype(kind)


def class_in_place_of(original: type) -> type:
    """The replacement of a class."""
    name = original.__name__
    return ClassOfNumbers(name, (original,), {"original": original, "dtype": numpy.dtype(original), "__slots__": ()})


#: The replacements of builtins, by name.
CLASSES: dict[str, type] = {"float": class_in_place_of(float), "complex": class_in_place_of(complex)}
#: The replacement of NumPy's class; modules have it under various names.
DOUBLE = class_in_place_of(numpy.float64)
