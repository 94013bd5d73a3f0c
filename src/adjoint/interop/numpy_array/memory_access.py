"""ndarray's attributes about memory: views as another dtype, resizing in place, flags, and bytes."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import GenericAlias
from typing import Any

import numpy

from adjoint.core.graph import new_tensor
from adjoint.interop.numpy_array.base import ARRAY, ArrayHolder
from adjoint.interop.numpy_array.calls import clone
from adjoint.interop.numpy_array.writes import expose, make_writable, note_views
from adjoint.tensor.table import ops

Function = Callable[..., Any]

#: Methods and attributes that give the bytes of the elements, which have no derivative.
BYTES = ("tobytes", "tofile", "dump", "dumps", "getfield", "__dlpack__", "__dlpack_device__")
POINTERS = ("data", "ctypes")


class MemoryAccess(ArrayHolder):
    """The methods and attributes of ndarray that are about memory."""

    __slots__ = ()
    __class_getitem__: Any = classmethod(GenericAlias)

    def _plain(self, what: str) -> Any:
        """The plain value. Raises LostDerivativeError if a derivative would be lost."""
        raise NotImplementedError

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """A view of the same elements; of complex numbers as pairs of real ones, and the other way round.

        Raises LostDerivativeError for any other dtype if a derivative would be lost, TypeError for a class of arrays
        that is not ndarray or the array's own.
        """
        if isinstance(dtype, _kind_of_class) and issubclass(dtype, (numpy.ndarray, ArrayHolder)):
            dtype, type = None, dtype
        if not (type is None or type is numpy.ndarray or issubclass(self.__class__, type)):
            raise TypeError(f"a differentiable array has no view as {type.__name__}; view() gives one of its own class")
        kind = self.dtype if dtype is None else numpy.dtype(dtype)  # type: ignore[attr-defined]
        if kind == self.dtype:  # type: ignore[attr-defined]
            return self[...]  # type: ignore[index]
        return self._view_as(kind)

    def _view_as(self, kind: numpy.dtype[Any]) -> Any:
        tensor = self._tensor
        array = tensor._array
        pair = (array.dtype.char, kind.char)
        if pair not in (("D", "d"), ("F", "f"), ("d", "D"), ("f", "F")):
            return numpy.asarray(self._plain(f"view({kind})")).view(kind)
        shape = array.view(kind).shape
        if kind.kind == "f":
            result = self._new(ops.view(ops.view_as_real(tensor), shape))
        else:
            result = self._new(ops.view_as_complex(ops.view(tensor, (*shape, 2))))
        note_views(result, (self,))
        return result

    def resize(self, *shape: Any, refcheck: bool = True) -> None:
        """Give the array another shape in place: the first elements, and zeros where they do not suffice.

        refcheck is for NumPy's signature. Raises ValueError for a view, which does not own its data.
        """
        if not shape or shape == (None,):
            return
        if self._tensor._view is not None:  # type: ignore[attr-defined]
            raise ValueError("cannot resize this array: it does not own its data")
        lengths = tuple(shape[0]) if isinstance(shape[0], (tuple, list)) else shape
        size, flat = math.prod(lengths), ops.reshape(self._tensor, (-1,))
        n = int(flat._array.size)
        if size > n:
            flat = ops.cat((flat, new_tensor(numpy.zeros(size - n, flat._array.dtype))), 0)
        self._tensor = make_writable(ops.clone(ops.reshape(flat[:size], lengths)))
        self._form = ARRAY

    def setflags(self, write: bool | None = None, align: bool | None = None, uic: bool | None = None) -> None:
        """Lock the array against assignments, or unlock it, with write; the other flags are as ndarray has them."""
        self._tensor._array.setflags(write=write, align=align, uic=uic)

    def to_device(self, device: str, /, *, stream: None = None) -> Any:
        """The array itself: its device is "cpu". Raises ValueError for any other."""
        if device != "cpu":
            raise ValueError(f"Unsupported device: {device}.")
        return self

    def byteswap(self, inplace: bool = False) -> Any:
        """The elements, their bytes in the other order. Raises LostDerivativeError if a derivative would be lost."""
        swapped = numpy.asarray(self._plain("byteswap()")).byteswap()
        return self._overwrite(swapped) if inplace else swapped

    def setfield(self, val: Any, dtype: Any, offset: int = 0) -> None:
        """Assign to a part of each element's bytes. Raises LostDerivativeError if a derivative would be lost."""
        array = numpy.array(self._plain("setfield()"))
        array.setfield(val, dtype, offset)
        self._overwrite(array)

    def _overwrite(self, array: Any) -> Any:
        self[...] = array  # type: ignore[index]
        return self

    def __delitem__(self, index: Any) -> None:
        raise ValueError("cannot delete array elements")


_kind_of_class = type


def lay_out(array: ArrayHolder, order: str) -> Any:
    """A copy of an array whose elements lie in memory in NumPy's order."""
    strides = numpy.empty_like(array._tensor._array, order=order).strides  # type: ignore[call-overload]
    if not array._tensor._array.size or array._tensor._array.dtype.kind not in "fc":
        return clone(array)
    size = array._tensor._array.itemsize
    return make_writable(ops.clone_with_strides(array._tensor, tuple([step // size for step in strides])))


def _define() -> None:
    for name in BYTES:
        setattr(MemoryAccess, name, _of_bytes(name))
    for name in POINTERS:
        setattr(MemoryAccess, name, property(_pointer(name), doc=f"ndarray.{name} of the values."))


def _of_bytes(name: str) -> Function:
    numpy_method = getattr(numpy.ndarray, name)

    def method(self: MemoryAccess, *args: Any, **kwargs: Any) -> Any:
        return numpy_method(numpy.asarray(self._plain(f"{name}()")), *args, **kwargs)

    method.__name__ = name
    method.__qualname__ = f"Array.{name}"
    method.__doc__ = f"ndarray.{name} of the values. Raises LostDerivativeError if a derivative would be lost."
    return method


def _pointer(name: str) -> Function:
    def pointer(self: MemoryAccess) -> Any:
        array = numpy.asarray(self._plain(name))
        expose(self._tensor)
        return getattr(array, name)

    return pointer


_define()
