"""Classes of numbers that keep derivatives: what `float` means in modules in a block of `patched`."""

from __future__ import annotations

from typing import Any

import numpy

from adjoint.interop.numpy_array.base import ARRAY, ArrayHolder
from adjoint.scipy._blocks import thread


def class_in_numpy(array: Any) -> type:
    """ndarray, or for a number NumPy's class of numbers."""
    kind: type = numpy.ndarray if array.ndim or array._form == ARRAY else array.dtype.type
    return kind


class ClassOfNumbers(type):
    """A class that replaces `float` or `complex`: equal to it, with the same instances, and the same dtype.

    Called with a differentiable array of one element it gives that element, where the class itself would lose the
    derivative.
    """

    original: type

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if thread.depth and any(isinstance(value, ArrayHolder) for value in args):
            parts = [_number(cls.original, value) if isinstance(value, ArrayHolder) else value for value in args]
            # complex() takes the imaginary part as well
            return parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
        return cls.original(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        if thread.depth and isinstance(instance, ArrayHolder):
            return issubclass(class_in_numpy(instance), cls.original)
        return isinstance(instance, cls.original)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.original)

    def __eq__(cls, other: Any) -> Any:
        # a dtype compares itself with a class
        return True if other is cls or other is cls.original else NotImplemented

    def __hash__(cls) -> int:
        return hash(cls.original)

    def __repr__(cls) -> str:
        return repr(cls.original)


def _number(original: type, array: Any) -> Any:
    """The element of an array as `float` or `complex` gives it, in double precision."""
    if array.dtype.kind == "c" and original is not complex:
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    kind = numpy.complex128 if original is complex else numpy.float64
    if original is numpy.float64:
        # which also takes arrays
        number = array
    else:
        # which arrays are numbers is NumPy's to say
        original(array._value)
        number = array.item()
    return number if number.dtype == kind else number.astype(kind)


def class_in_place_of(original: type) -> type:
    """The class that stands for another one."""
    name = original.__name__
    return ClassOfNumbers(name, (original,), {"original": original, "dtype": numpy.dtype(original), "__slots__": ()})


#: By their names among the builtins.
CLASSES: dict[str, type] = {"float": class_in_place_of(float), "complex": class_in_place_of(complex)}
#: For NumPy's class, which modules have under names of their own.
DOUBLE = class_in_place_of(numpy.float64)
