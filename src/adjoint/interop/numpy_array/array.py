"""The class `Array`: a differentiable array with NumPy's meaning of everything."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.operations.dependence import lost_derivative
from adjoint.interop.numpy_array.base import ARRAY, ArrayHolder, holds_array, in_double, raw, values
from adjoint.interop.numpy_array.calls import clone, dispatch, objects_of, overrides, run_ufunc
from adjoint.interop.numpy_array.indexing import by_numbers, is_basic, is_simple, items, pick
from adjoint.interop.numpy_array.memory_access import MemoryAccess, lay_out
from adjoint.interop.numpy_array.writes import expose, make_writable, memory_of, note_views, to_read, to_write
from adjoint.interop.operands import carries_derivative
from adjoint.tensor.notebook import page
from adjoint.tensor.protocol_hooks import leaves_product
from adjoint.tensor.table import ops

Function = Callable[..., Any]
_ndarray = numpy.ndarray

TORCH = (
    ": a function that is given arrays gets arrays with NumPy's methods. Use NumPy's function, x.tensor.{name}, or "
    "give the function tensors"
)

#: The namespace of NumPy's functions that also take Arrays: adjoint.numpy, which enters itself.
NAMESPACES: list[Any] = []


class NumpyArray(MemoryAccess):
    """The base class of differentiable arrays: ndarray's attributes, indexing and protocols.

    `operators` adds the operators, and the methods that are functions of NumPy.
    """

    __slots__ = ()
    __array_priority__ = 100.0
    #: A further recommendation in errors of lost derivatives, for code that is not the user's.
    _for_others_code = "; a block of adjoint.scipy.patched() around code that is not yours, as in numpy.vectorize"

    # class and dtype

    @property
    def _value(self) -> Any:
        return raw(self._tensor)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes. Assigning gives the same elements another shape."""
        return self._tensor._array.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._tensor = dispatch(type(self), numpy.reshape, (self, shape), {})._tensor

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._tensor._array.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._tensor._array.size

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """NumPy's type of the elements."""
        return self._tensor._array.dtype

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return self.size * self.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes from one element to the next, along each axis."""
        return self._tensor._array.strides

    @property
    def flags(self) -> Any:
        """The layout of the elements in memory."""
        return self._tensor._array.flags

    @property
    def device(self) -> str:
        """The device of the elements: "cpu"."""
        return self._tensor._array.device

    @property
    def T(self) -> Any:
        """The axes in reverse order."""
        return dispatch(type(self), numpy.transpose, (self,), {})

    @property
    def mT(self) -> Any:
        """The last two axes exchanged."""
        return dispatch(type(self), numpy.matrix_transpose, (self,), {})

    @property
    def real(self) -> Any:
        """The real part; of real numbers the array itself."""
        return self if self.dtype.kind != "c" else dispatch(type(self), numpy.real, (self,), {})

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return dispatch(type(self), numpy.imag, (self,), {})

    @imag.setter
    def imag(self, value: Any) -> None:
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    @property
    def flat(self) -> FlatArray:
        """The elements as a vector."""
        return FlatArray(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        FlatArray(self)[:] = value

    def __len__(self) -> int:
        return len(self._tensor._array)

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(numpy.any(self == value))

    def __bool__(self) -> bool:
        return bool(self._tensor._array)

    def __float__(self) -> float:
        return float(self._plain("float()"))

    def __complex__(self) -> complex:
        return complex(self._plain("complex()"))

    def __int__(self) -> int:
        return int(self._plain("int()"))

    def __trunc__(self) -> int:
        return int(self)

    def __index__(self) -> int:
        raise TypeError("only integer scalar arrays can be converted to a scalar index")

    def _plain(self, what: str) -> Any:
        """The plain value, for a conversion. Raises LostDerivativeError if a derivative would be lost."""
        if carries_derivative(self._tensor):
            instead = self._instead + self._for_others_code
            raise lost_derivative(f"{what} of a differentiable array", instead, self._as_constant)
        return self._value

    def __round__(self, ndigits: int | None = None) -> Any:
        return int(numpy.rint(self._value)) if ndigits is None else self.round(ndigits)  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        return type(self), (self._plain("a pickle of a differentiable array"),)

    def __copy__(self) -> Any:
        # not the array itself, since elements may be assigned to
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __format__(self, spec: str) -> str:
        return format(self._value, spec) if spec else str(self)

    # indexing

    def __getitem__(self, index: Any) -> Any:
        index = _plain_index(index)
        if not is_simple(index):
            return self._pick(index)
        tensor, memory = self._tensor[index], memory_of(self._tensor)
        if tensor._view is None:  # type: ignore[attr-defined]
            return self._wrap(tensor if memory is None else make_writable(tensor))
        if tensor._array.ndim:
            result = self._wrap(tensor)
            note_views(result, (self,))
            return result
        if Ellipsis in items(index):
            result = _without_axes(self._wrap(tensor))
            note_views(result, (self,))
            return result
        # a number, which is no view in NumPy
        return self._wrap(tensor if memory is None else ops.clone(tensor))

    def _pick(self, index: Any) -> Any:
        result = self._wrap(pick(self._tensor, index))
        if isinstance(result, ArrayHolder) and memory_of(self._tensor) is not None:
            make_writable(result._tensor)
        return result

    def __setitem__(self, index: Any, value: Any) -> None:
        # read first: the value may share the memory that is written to
        value = self._to_assign(value)
        self._prepare_write()
        index, tensor = _plain_index(index), self._tensor
        if not is_basic(index):
            index, value = by_numbers(tensor, index, value)
        tensor[index] = value

    def _to_assign(self, value: Any) -> Any:
        """A value as a Tensor of the array's dtype."""
        if isinstance(value, (list, tuple)) and holds_array(value):
            value = dispatch(type(self), numpy.array, (value,), {})
        value = to_read(value)
        if not isinstance(value, TensorBase):
            value = new_tensor(numpy.asarray(value, self.dtype))
        if value._array.dtype != self._tensor._array.dtype:
            value = dispatch(type(self), numpy.astype, (self._new(value), self.dtype), {})
            value = value._tensor if isinstance(value, ArrayHolder) else new_tensor(numpy.asarray(value))
        return value

    def _prepare_write(self) -> None:
        """Give the array memory that can be written to. Raises ValueError if it is locked."""
        array = self._tensor._array
        if type(array) is _ndarray and not array.flags.writeable:
            raise ValueError("assignment destination is read-only")
        to_write(self)

    def _is_replaced(self) -> bool:
        """True where `x += y` makes another array: of a number, which is a value in NumPy."""
        return not self._tensor._array.ndim and self._form != ARRAY

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and len(inputs) == 1 and not kwargs:
            return dispatch(type(self), ufunc, inputs, kwargs)
        if overrides(inputs):
            return NotImplemented
        return run_ufunc(type(self), ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Function, types: Any, args: Any, kwargs: Any) -> Any:
        for kind in types:
            if issubclass(kind, TensorBase):
                return NotImplemented
        return dispatch(type(self), function, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return NAMESPACES[0]

    # methods that are not NumPy's functions of the same name

    def astype(
        self, dtype: Any, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """The elements in another dtype; a plain array if that dtype has no derivatives."""
        kind = in_double(numpy.dtype(dtype))
        if not numpy.can_cast(self.dtype, kind, casting):
            raise TypeError(f"Cannot cast array data from {self.dtype!r} to {kind!r} according to the rule {casting!r}")
        if kind == self.dtype and not copy:
            return self
        if kind.kind == "O":
            return objects_of(self)
        if kind.kind == "V":
            return numpy.asarray(self._plain(f"astype({kind})")).astype(kind, order)
        if kind.kind not in "fc":
            return self._tensor._array.astype(kind, order)
        result = dispatch(type(self), numpy.astype, (self, kind), {})
        return result if order == "K" else result.copy(order)

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """The elements in another shape."""
        result = dispatch(type(self), numpy.reshape, (self, shape[0] if len(shape) == 1 else shape), kwargs)
        return _without_axes(result)

    def squeeze(self, axis: Any = None) -> Any:
        """The array without axes of length one."""
        return _without_axes(dispatch(type(self), numpy.squeeze, (self, axis), {}))

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order, reversed without arguments."""
        return dispatch(type(self), numpy.transpose, (self, axes[0] if len(axes) == 1 else axes or None), {})

    def flatten(self, order: Any = "C") -> Any:
        """A copy with one axis."""
        result = dispatch(type(self), numpy.reshape, (self, (-1,)), {"order": order})
        return self._new(clone(result)) if isinstance(result, ArrayHolder) else result

    def compress(self, condition: Any, axis: Any = None, out: Any = None) -> Any:
        """The slices along an axis for which a condition holds."""
        return dispatch(type(self), numpy.compress, (condition, self, axis), {} if out is None else {"out": out})

    def copy(self, order: Any = "C") -> Any:
        """A copy in new memory."""
        return self._new(clone(self) if order == "K" else lay_out(self, order), self._form)

    def conjugate(self) -> Any:
        """The complex conjugate."""
        return dispatch(type(self), numpy.conjugate, (self,), {})

    conj = conjugate

    def item(self, *index: Any) -> Any:
        """One element, which keeps its derivative."""
        if len(index) == 1 and isinstance(index[0], tuple):
            index = index[0]
        if not index:
            if self.size != 1:
                raise ValueError("can only convert an array of size 1 to a Python scalar")
            return self.reshape(-1)[0]
        return self.reshape(-1)[index[0]] if len(index) == 1 else self[index]

    def tolist(self) -> Any:
        """Nested lists of elements, which keep their derivatives."""
        return [row.tolist() if isinstance(row, NumpyArray) else row for row in self] if self.ndim else self.item()

    # methods that write

    def fill(self, value: Any) -> None:
        """Assign one value to all elements."""
        self[...] = value

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, *, stable: bool | None = None) -> None:
        """Sort the elements in place."""
        self[...] = dispatch(type(self), numpy.sort, (self, axis), {"kind": kind, "stable": stable})

    def partition(self, kth: Any, axis: int = -1, kind: Any = "introselect", order: Any = None) -> None:
        """Partition the elements in place."""
        order_of = numpy.argpartition(self._value, kth, axis, kind)
        self[...] = dispatch(type(self), numpy.take_along_axis, (self, order_of, axis), {})

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Assign to elements, counted through."""
        dispatch(type(self), numpy.put, (self, indices, values, mode), {})


class Array(NumpyArray):
    """A differentiable array that follows NumPy's rules.

    Functions that adjoint differentiates get Arrays instead of arrays and numbers. An Array has ndarray's methods,
    attributes and operators. NumPy's functions accept it, and so do SciPy's if they accept other arrays. Elements can
    be assigned, and views see the change. Results of real and complex dtypes are Arrays, all others are plain arrays.

    An operation that would lose the derivative, such as float(x) or numpy.asarray(x), raises LostDerivativeError.

    Args:
        values: an array, nested lists of numbers or Arrays, or a Tensor, whose history the Array continues.
        dtype: a NumPy dtype, by default the dtype of the values. Integers become float64.

    Raises:
        TypeError: the dtype is neither real floating-point nor complex.

    >>> import adjoint, numpy
    >>> adjoint.grad(lambda x: numpy.sum(x[1:] * x[:-1]))(numpy.array([1.0, 2.0, 3.0]))
    array([2., 4., 2.])
    >>> adjoint.numpy.Array([1.0, 2.0]) * 2
    Array([2., 4.])
    """

    __slots__ = ()
    _instead = "numpy.sin(x) for math.sin(x), numpy.array([...], like=x) or numpy.zeros_like(x) for a plain array"
    _as_constant = "adjoint.numpy.detach(x)"

    def __init__(self, values: Any, dtype: Any = None) -> None:
        if isinstance(values, TensorBase):
            tensor: Any = values
        else:
            array = dispatch(Array, numpy.array, (values,), {})
            tensor = array._tensor if isinstance(array, Array) else new_tensor(numpy.asarray(array, numpy.float64))
        kind = tensor._array.dtype if dtype is None else numpy.dtype(dtype)
        if kind.kind not in "fcV":
            raise TypeError(f"an Array has real or complex numbers, not {kind}: use a plain NumPy array")
        if dtype is not None:
            tensor = dispatch(Array, numpy.astype, (Array._new(tensor), kind), {})._tensor
        self._tensor, self._form = tensor, ARRAY

    @classmethod
    def _wrap(cls, tensor: Any) -> Any:
        array = tensor._array
        if type(array) is _ndarray and array.dtype.kind not in "fcV":
            return array[()]
        self = cls.__new__(cls)
        self._tensor = tensor
        self._form = None
        return self

    @classmethod
    def _constant(cls, value: Any) -> Any:
        if isinstance(value, (_ndarray, numpy.inexact)) and value.dtype.kind in "fc":
            return cls._new(new_tensor(numpy.asarray(value)))
        return value

    def __getattr__(self, name: str) -> Any:
        hint = ""
        if not name.startswith("_") and hasattr(type(self._tensor), name):
            hint = TORCH.format(name=name)
        raise AttributeError(f"'Array' object has no attribute {name!r}{hint}", name=name, obj=self)

    @property
    def tensor(self) -> Any:
        """The Tensor that carries the values and their history."""
        return self._tensor

    @property
    def base(self) -> Any:
        """The base Array of this view, or None."""
        view = self._tensor._view  # type: ignore[attr-defined]
        return None if view is None else Array._new(view.base)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if leaves_product(sys._getframe(1)):
            return numpy.array(None, dtype=object)
        array = self._plain("a plain array")
        expose(self._tensor)
        return numpy.array(array, dtype=dtype, copy=copy) if dtype is not None or copy else numpy.asarray(array)

    def __hash__(self) -> int:
        if self.ndim or self._form == ARRAY:
            raise TypeError("unhashable type: 'adjoint.numpy.Array'")
        return hash(self._value)

    def __repr__(self) -> str:
        array = self._tensor._array
        if type(array) is not _ndarray:
            return f"Array(tensor={self._tensor!r})"
        return "A" + numpy.array_repr(array)[1:]

    def __str__(self) -> str:
        return str(self._value)

    def _repr_html_(self) -> str:
        """The array as a notebook shows it: shape, dtype, history, and a small picture of the values."""
        facts = [f"shape {self.shape}", str(self.dtype)]
        node = self._tensor.grad_fn
        if carries_derivative(self._tensor):
            facts.append("differentiated" if node is None else f"history: {type(node).__name__}")
        return page(facts, self._tensor._array, repr(self))


class FlatArray:
    """The elements of an array as an iterator that can be indexed and assigned to: `x.flat`."""

    def __init__(self, base: NumpyArray) -> None:
        self.base = base
        #: The number of the element that next() gives.
        self.index = 0

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> FlatArray:
        return self

    def __next__(self) -> Any:
        if self.index >= len(self):
            raise StopIteration
        self.index += 1
        return self.base[self._index_of(self.index - 1)]

    def _index_of(self, number: int) -> tuple[int, ...]:
        return tuple(int(i) for i in numpy.unravel_index(number, self.base.shape))

    @property
    def coords(self) -> tuple[int, ...]:
        """The place of the element that next() gives."""
        return self._index_of(self.index)

    def __getitem__(self, index: Any) -> Any:
        return self.base.reshape(-1)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        numbers = numpy.arange(self.base.size)[values(index)]
        value = values_in_turn(value, numpy.size(numbers))
        self.base[numpy.unravel_index(numbers, self.base.shape)] = value

    def copy(self) -> Any:
        """A vector of the elements."""
        return self.base.reshape(-1).copy()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return numpy.asarray(self.base.reshape(-1), dtype)


def _comparison(name: str) -> Function:
    return lambda self, other: getattr(self.base.reshape(-1), name)(
        other.base.reshape(-1) if isinstance(other, FlatArray) else other
    )


for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(FlatArray, _name, _comparison(_name))


def values_in_turn(value: Any, n: int) -> Any:
    """As many values as there are elements to assign; too few values are repeated from the first."""
    return value if numpy.size(value) in (1, n) else numpy.resize(value, n)


def _plain_index(index: Any) -> Any:
    kind = type(index)
    if kind is int or kind is slice:
        return index
    index = values(index)
    if isinstance(index, numpy.integer):
        return int(index)
    if type(index) is list:
        return numpy.asarray(index) if index else numpy.asarray(index, int)
    if type(index) is tuple:
        return tuple([int(item) if isinstance(item, numpy.integer) else item for item in index])
    return index


def _without_axes(array: Any) -> Any:
    """An array that stays one without axes, where others are numbers."""
    if isinstance(array, ArrayHolder) and not array._tensor.ndim:
        array._form = ARRAY
    return array
