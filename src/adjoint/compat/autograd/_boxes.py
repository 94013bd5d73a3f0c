"""Boxes: what a function under differentiation gets in the place of arrays and floats.

A box is a Tensor with the face of an ndarray. Operations on boxes go through the table of NumPy's functions over
Tensors in `adjoint.interop`; their results are boxes as long as derivatives are taken through them, and plain arrays
otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.kernels.linalg_errors import LinAlgError
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.locations import warn_caller
from adjoint.core.modes.state import current
from adjoint.core.operations.dependence import lost
from adjoint.interop.protocols import array_function, array_ufunc
from adjoint.runtime.pytree import flatten
from adjoint.tensor.table import ops
from adjoint.transforms.forward import has_tangent

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Function = Callable[..., Any]


#: What is computed in the place of the types that Tensors do not have.
_DOUBLE = {"g": numpy.dtype(numpy.float64), "G": numpy.dtype(numpy.complex128)}

#: The mark of a Tensor whose elements may be assigned to.
OWN_MEMORY = "_box_has_own_memory"

#: What errors of lost derivatives recommend.
INSTEAD = "autograd.numpy.sin(x) for math.sin(x), autograd.numpy.array([...]) for a plain array that is filled"
CONSTANT = "autograd.tracer.getval(x)"

#: Types of values for which users registered boxes or spaces of their own.
FOREIGN: set[type] = set()

#: Classes of boxes that users registered, for types with a vector space of their own.
USER_BOXES: set[type] = set()

#: What is to be done when a box or a space is registered for a type.
CONNECT: list[Callable[[type], None]] = []

#: What boxes name as their namespace: adjoint.compat.autograd.numpy, which enters itself.
NAMESPACES: list[Any] = []


class Box:
    """The base of all boxes. Users' own hold values of a type for which they registered a vector space, too.

    Such a value is in the graph by its coordinates in that space; see `_user_values`.
    """

    __slots__ = ("_content", "_tensor")

    _content: Any
    _tensor: Tensor

    @property
    def _value(self) -> Any:
        return self._content

    #: Kinds of values, and the class of their boxes.
    type_mappings: dict[type, type] = {}

    @classmethod
    def register(cls, value_type: type) -> None:
        """Note that this is the class of boxes of a type of values."""
        Box.type_mappings[value_type] = Box.type_mappings[cls] = cls
        if cls is not ArrayBox:
            FOREIGN.add(value_type)
            for connect in CONNECT:
                connect(value_type)


class ArrayBox(Box):
    """A number or array through which derivatives are taken.

    It has ndarray's attributes and methods, and NumPy's functions take it. It can be indexed, but not turned into a
    plain number, which would lose the derivative; in a plain array it is an object. A box is a value, as in HIPS
    autograd: nothing can be assigned to its elements, and `x += y` makes another one. Only what copy() gave has memory
    of its own: it can be assigned to, and it and its views can be changed in place, with NumPy's meaning.
    """

    __slots__ = ("_is_copy",)
    __array_priority__ = 100.0

    def __init__(self, tensor: Tensor, is_copy: bool = False) -> None:
        self._tensor = tensor
        # where NumPy gives a view of memory that can be written to, and this is none
        self._is_copy = is_copy

    # what it is

    @property
    def _value(self) -> Any:
        return raw(self._tensor)

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        return self._tensor._array.shape  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._tensor._array.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._tensor._array.size  # type: ignore[no-any-return]

    @property
    def dtype(self) -> numpy.dtype[Any]:
        """NumPy's type of the elements."""
        return self._tensor._array.dtype  # type: ignore[no-any-return]

    @property
    def T(self) -> Any:
        """The axes in reverse order."""
        return dispatch(numpy.transpose, (self,), {})

    @property
    def mT(self) -> Any:
        """The last two axes exchanged."""
        return dispatch(numpy.matrix_transpose, (self,), {})

    @property
    def real(self) -> Any:
        """The real part."""
        return dispatch(numpy.real, (self,), {})

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return dispatch(numpy.imag, (self,), {})

    @property
    def flat(self) -> FlatBox:
        """The elements, one after the other."""
        return FlatBox(self)

    def __len__(self) -> int:
        return len(self._tensor._array)

    def __iter__(self) -> Iterator[Any]:
        if not self.ndim:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._tensor._array)

    def __float__(self) -> float:
        raise lost("float() of a box", INSTEAD, CONSTANT)

    def __complex__(self) -> complex:
        raise lost("complex() of a box", INSTEAD, CONSTANT)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"Autograd ArrayBox with value {self._value}"

    __str__ = __repr__

    def __reduce__(self) -> Any:
        raise TypeError("an ArrayBox cannot be pickled or copied to another process; use autograd.tracer.getval()")

    def __copy__(self) -> ArrayBox:
        # not the box itself, since elements may be assigned to
        return self.copy()  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: Any) -> ArrayBox:
        return self.copy()  # type: ignore[no-any-return]

    # indexing

    def __getitem__(self, index: Any) -> Any:
        index = values(index)
        if type(index) is list:
            index = numpy.asarray(index) if index else numpy.asarray(index, int)
        if _is_simple(index):
            tensor = self._tensor[index]
            if self._is_writable():
                if tensor._view is None:  # type: ignore[attr-defined]
                    tensor.__dict__[OWN_MEMORY] = True
                elif not tensor._array.ndim and Ellipsis not in _items(index):
                    # a number, which is no view in NumPy
                    tensor = ops.clone(tensor)
            return wrap(tensor)
        result = wrap(_picked(self._tensor, index))
        if type(result) is ArrayBox:
            is_view = not any(isinstance(item, (numpy.ndarray, list)) for item in _items(index))
            if self._is_writable():
                result._is_copy = is_view
                if not is_view:
                    result._tensor.__dict__[OWN_MEMORY] = True
        return result

    def _is_writable(self) -> bool:
        """True for what copy() gave, and for views of it."""
        view = self._tensor._view  # type: ignore[attr-defined]
        return OWN_MEMORY in (self._tensor if view is None else view.base).__dict__

    def _check_writable(self) -> None:
        """Raise unless elements can be assigned to."""
        if self._is_copy:
            raise ValueError(
                "a reversed slice of a box is a copy, so that assigning to its elements would be lost; assign to the "
                "elements of the array that it was taken from"
            )
        if not self._is_writable():
            raise TypeError(
                "'ArrayBox' object does not support item assignment; assign to the elements of x.copy(), or join parts "
                "with autograd.numpy.concatenate, stack or where"
            )

    def __setitem__(self, index: Any, value: Any) -> None:
        self._check_writable()
        index, value, tensor = values(index), unwrap(value), self._tensor
        if not isinstance(value, TensorBase):
            value = new_tensor(numpy.asarray(value, self.dtype))
        if value._array.dtype != tensor._array.dtype:
            value = unwrap(dispatch(numpy.astype, (ArrayBox(value), self.dtype), {}))
        if not _is_basic(index):
            tensor, index, value = _by_places(tensor, index, value)
        tensor[index] = value

    # NumPy's protocols

    def __array_ufunc__(self, ufunc: numpy.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if overrides(inputs):
            return NotImplemented
        return run_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Function, types: Any, args: Any, kwargs: Any) -> Any:
        return dispatch(function, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return NAMESPACES[0]

    # methods that are not NumPy's functions of the same name

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """Another type of elements; a plain array if that has no derivatives."""
        kind = in_double(numpy.dtype(dtype))
        if kind.kind not in "fc":
            return self._tensor._array.astype(kind)
        return dispatch(numpy.astype, (self, kind), {})

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        """Another shape."""
        return dispatch(numpy.reshape, (self, shape[0] if len(shape) == 1 else shape), kwargs)

    def transpose(self, *axes: Any) -> Any:
        """The axes in another order, reversed without arguments."""
        return dispatch(numpy.transpose, (self, axes[0] if len(axes) == 1 else axes or None), {})

    def flatten(self, order: Any = "C") -> Any:
        """One axis."""
        return dispatch(numpy.reshape, (self, (-1,)), {"order": order})

    def copy(self, order: Any = "C") -> Any:
        """The same values in memory of their own, which can be assigned to."""
        tensor = ops.clone(self._tensor)
        tensor.__dict__[OWN_MEMORY] = _Copies.exist = True
        return wrap(tensor)

    def conjugate(self) -> Any:
        """The complex conjugate."""
        return dispatch(numpy.conjugate, (self,), {})

    conj = conjugate

    def item(self, *index: Any) -> Any:
        """One element, as a box."""
        if not index and self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self.reshape(-1)[index[0] if len(index) == 1 else 0] if len(index) < 2 else self[index]

    def tolist(self) -> Any:
        """Nested lists of boxes."""
        return [row.tolist() if isinstance(row, ArrayBox) else row for row in self] if self.ndim else self


class _Copies:
    """Whether any box that can be written to was ever made: only then are operands looked at."""

    exist = False


def to_read(value: Any, clones: list[Tensor] | None = None) -> Any:
    """The Tensor of a box as an operation may save it: memory that is written to later is cloned.

    Anything but a box as it is. clones: where clones are noted.
    """
    if type(value) is not ArrayBox:
        return value
    if not (_Copies.exist and value._is_writable()):
        return value._tensor
    clone = ops.clone(value._tensor)
    if clones is not None:
        clones.append(clone)
    return clone


class FlatBox:
    """What `box.flat` is: the elements one after the other, which can also be indexed and assigned to."""

    def __init__(self, base: ArrayBox) -> None:
        self.base = base
        self._ahead: Iterator[Any] | None = None

    def __len__(self) -> int:
        return self.base.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.base.reshape(-1))

    def __next__(self) -> Any:
        if self._ahead is None:
            self._ahead = iter(self)
        return next(self._ahead)

    def __getitem__(self, index: Any) -> Any:
        return self.base.reshape(-1)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        positions = numpy.arange(self.base.size)[values(index)]
        self.base[numpy.unravel_index(positions, self.base.shape)] = value

    def copy(self) -> Any:
        """A vector of the elements."""
        return self.base.reshape(-1).copy()


def _items(index: Any) -> tuple[Any, ...]:
    return index if type(index) is tuple else (index,)


def _is_simple(index: Any) -> bool:
    """True for an index that NumPy and torch read alike."""
    kinds = set()
    for item in _items(index):
        kind = type(item)
        if kind is slice:
            if item.step is not None and item.step < 0:
                return False
        elif kind is numpy.ndarray:
            if item.dtype.kind not in "bi" or not item.ndim:
                return False
        elif not (kind is int or item is None or item is Ellipsis):
            return False
        kinds.add(kind)
    # next to arrays NumPy counts a number as one
    return numpy.ndarray not in kinds or kinds <= {numpy.ndarray, slice}


def _is_basic(index: Any) -> bool:
    """True for an index of numbers and slices forward, which names no place twice."""
    return _is_simple(index) and not any(type(item) is numpy.ndarray for item in _items(index))


def _by_places(tensor: Tensor, index: Any, value: Tensor) -> tuple[Tensor, Any, Tensor]:
    """An assignment as one to elements of the flat array, each named once: of several values it gets the last one."""
    positions = numpy.arange(tensor._array.size).reshape(tensor._array.shape)[index]
    flat = ops.reshape(ops.expand(value, numpy.shape(positions)), (-1,))
    order = numpy.ravel(positions)
    once, last = numpy.unique(order[::-1], return_index=True)
    if once.size < order.size:
        order, flat = once, flat[order.size - 1 - last]
    if not tensor.ndim:
        return tensor, ..., flat[0]
    return tensor, numpy.unravel_index(order, tensor._array.shape), flat


def _picked(tensor: Tensor, index: Any) -> Tensor:
    """The elements that NumPy picks, as a copy."""
    positions = numpy.arange(tensor._array.size).reshape(tensor._array.shape)[index]
    return ops.reshape(tensor, (-1,))[positions]


# in and out -----------------------------------------------------------------------------------------------------------


def raw(tensor: Tensor) -> Any:
    """The array of a Tensor; a NumPy number if it has no axes."""
    return tensor._array[()]


def is_tracked(tensor: Tensor) -> bool:
    """True if derivatives are being taken through a Tensor."""
    return tensor.requires_grad or (bool(current().dual_stack) and has_tangent(tensor))


def wrap(value: Any) -> Any:
    """The result of an operation for users: boxes for Tensors with derivatives, arrays and numbers for all others.

    Lists, tuples and dicts are converted member by member.
    """
    if isinstance(value, TensorBase):
        return ArrayBox(value) if is_tracked(value) else raw(value)  # type: ignore[arg-type]
    if isinstance(value, (list, tuple, dict)):
        leaves, structure = flatten(value)
        return structure.unflatten([wrap(leaf) for leaf in leaves])
    return value


def _exchanged(change: Function, value: Any) -> Any:
    """Nested containers with the boxes in them changed; the very same objects where there are none."""
    if isinstance(value, Box):
        return change(value)
    if not holds_box(value):
        return value
    if isinstance(value, numpy.ndarray):
        return _exchanged(change, value.tolist())
    if isinstance(value, dict):
        return type(value)((key, _exchanged(change, member)) for key, member in value.items())
    members = [_exchanged(change, member) for member in value]
    return type(value)._make(members) if hasattr(value, "_make") else type(value)(members)


def in_double(value: Any) -> Any:
    """Nested containers with double precision in the place of NumPy's extended one, of which there are no Tensors."""
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return _shortened(value, value.dtype)
    if isinstance(value, numpy.dtype) or value is numpy.longdouble or value is numpy.clongdouble:
        kind = numpy.dtype(value)
        return _shortened(kind, kind)
    return value


def _shortened(value: Any, kind: numpy.dtype[Any]) -> Any:
    double = _DOUBLE.get(kind.char)
    if double is None:
        return value
    warn_caller(f"{kind.name} is computed in double precision: there are no derivatives of it in its own")
    return double if value is kind else value.astype(double)


def to_tensor(value: Any) -> Tensor:
    """A plain value as a Tensor."""
    return new_tensor(in_double(numpy.asarray(value)))


def unwrap(value: Any) -> Any:
    """Nested containers with Tensors in place of boxes.

    All other values stay as they are.
    """
    return _exchanged(lambda box: box._tensor, value)


def operands(value: Any) -> Any:
    """Nested containers with the Tensors that operations may save in place of boxes.

    See `to_read`.
    """
    return _exchanged(to_read, value)


def values(value: Any) -> Any:
    """Nested containers with plain values in the place of boxes."""
    return _exchanged(lambda box: box._value, value)


def holds_box(value: Any) -> bool:
    """True for a box, or a container with one in it, which an array of objects may be, too."""
    if type(value) is ArrayBox or (isinstance(value, Box) and type(value) in USER_BOXES):
        return True
    if isinstance(value, numpy.ndarray):
        return value.dtype.kind == "O" and any(type(member) is ArrayBox for member in value.flat)
    if isinstance(value, (list, tuple)):
        return any(holds_box(member) for member in value)
    if isinstance(value, dict):
        return any(holds_box(member) for member in value.values())
    return False


def isbox(value: Any) -> bool:
    """True for a box, which stands for a value during differentiation.

    >>> from adjoint.compat.autograd import grad
    >>> from adjoint.compat.autograd.core import isbox
    >>> isbox(2.0)
    False
    """
    return isinstance(value, Box)


def getval(value: Any) -> Any:
    """The value inside a box, also of nested boxes; any other value unchanged.

    >>> from adjoint.compat.autograd.core import getval
    >>> getval(2.0)
    2.0
    """
    while isinstance(value, Box):
        value = value._value
    return value


# NumPy's functions ----------------------------------------------------------------------------------------------------

#: Functions whose results have no derivative: they get plain values and give plain values.
NO_TRACE: set[Any] = {
    getattr(numpy, name)
    for name in (
        "floor", "ceil", "round", "rint", "around", "fix", "trunc", "all", "any", "argmax", "argmin", "argpartition",
        "argsort", "argwhere", "nonzero", "flatnonzero", "count_nonzero", "searchsorted", "sign", "ndim", "shape",
        "floor_divide", "logical_and", "logical_or", "logical_not", "logical_xor", "isfinite", "isinf", "isnan",
        "isneginf", "isposinf", "allclose", "isclose", "array_equal", "array_equiv", "greater", "greater_equal", "less",
        "less_equal", "equal", "not_equal", "iscomplexobj", "iscomplex", "isscalar", "isreal", "zeros_like",
        "ones_like", "empty_like", "size", "result_type", "isrealobj", "signbit", "digitize", "nanargmax", "nanargmin",
        "can_cast", "min_scalar_type", "common_type", "lexsort", "array_repr", "array_str",
        "may_share_memory", "shares_memory", "broadcast_shapes", "unravel_index", "array2string", "isin",
    )
}  # fmt: skip


#: Functions that have a derivative by their weights alone, and the place of these.
BY_WEIGHTS: dict[Any, int] = {numpy.bincount: 1, numpy.histogram: 4}

#: Functions that write into their first argument.
WRITING: set[Any] = {
    getattr(numpy, name) for name in ("copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal")
}


def _by_weights(function: Function, args: Any, kwargs: Any) -> Any:
    """A function that is differentiated by its weights, on plain values but for these."""
    position = BY_WEIGHTS[function]
    weights = args[position] if len(args) > position else kwargs.get("weights")
    args, kwargs = values(args), values(kwargs)
    if not holds_box(weights):
        return function(*args, **kwargs)
    if len(args) > position:
        args = (*args[:position], unwrap(weights), *args[position + 1 :])
    else:
        kwargs["weights"] = unwrap(weights)
    return wrap(array_function(function, (), args, kwargs))


#: What has its own way with ufuncs and leaves the choice to others.
_OWN_WAY = (None, numpy.ndarray.__array_ufunc__)


def overrides(inputs: Any) -> bool:
    """True if a foreign array among the operands has a say in what a ufunc does, as those of xarray have.

    Subclasses of ndarray, as PennyLane's, are taken as arrays.
    """
    for value in inputs:
        kind = type(value)
        if kind is not ArrayBox and getattr(kind, "__array_ufunc__", None) not in _OWN_WAY:
            return not isinstance(value, (TensorBase, numpy.ndarray))
    return False


def run_ufunc(ufunc: numpy.ufunc, method: str, inputs: Any, kwargs: Any) -> Any:
    """A ufunc, or a method of one, on boxes."""
    if overrides(inputs):
        return getattr(ufunc, method)(*inputs, **kwargs)
    if ufunc in NO_TRACE:
        return getattr(ufunc, method)(*values(inputs), **values(kwargs))
    out = kwargs.get("out")
    if out is not None and not holds_box(out):
        raise TypeError(f"{ufunc.__name__}: out= is a plain array, which cannot hold a derivative; assign the result")
    written = inputs[:1] if method == "at" else out if type(out) is tuple else (out,)
    for box in written:
        if type(box) is ArrayBox:
            box._check_writable()
    first = 1 if method == "at" else 0
    operands = (*_arguments(inputs[:first]), *_arguments(inputs[first:], []))
    return wrap(array_ufunc(ufunc, method, operands, _arguments(kwargs)))


def dispatch(function: Function, args: Any, kwargs: Any) -> Any:
    """A function of NumPy on arguments in which there are boxes."""
    if function in NO_TRACE:
        return function(*values(args), **values(kwargs))
    if function in BY_WEIGHTS:
        return _by_weights(function, args, kwargs)
    if function is numpy.copy and type(args[0]) is ArrayBox:
        return args[0].copy()
    if function in WRITING and type(args[0]) is ArrayBox:
        args[0]._check_writable()
    if isinstance(function, numpy.ufunc):
        return run_ufunc(function, "__call__", args, kwargs)
    with own_words():
        if _Copies.exist and function not in WRITING and "out" not in kwargs:
            clones: list[Tensor] = []
            result = array_function(function, (), _arguments(args, clones), _arguments(kwargs, clones))
            if not (clones and _has_view(result, clones)):
                return wrap(result)
        return wrap(array_function(function, (), _arguments(args), _arguments(kwargs)))


def _arguments(values: Any, clones: list[Tensor] | None = None) -> Any:
    """Arguments as the table of functions takes them: Tensors for boxes, double precision for the extended one.

    clones: if given, memory that can be written to is cloned, and the clones are noted there.
    """
    if isinstance(values, dict):
        return {name: _argument(value, clones) for name, value in values.items()} if values else values
    return tuple([_argument(value, clones) for value in values])


def _argument(value: Any, clones: list[Tensor] | None) -> Any:
    kind = type(value)
    if kind is ArrayBox:
        return value._tensor if clones is None else to_read(value, clones)
    if kind is list or kind is tuple:
        return kind([_argument(member, clones) for member in value])
    return in_double(unwrap(value))


def _has_view(result: Any, tensors: list[Tensor]) -> bool:
    """Whether a result is one of these Tensors or a view of one."""
    if isinstance(result, (list, tuple)):
        return any(_has_view(part, tensors) for part in result)
    view = getattr(result, "_view", None)
    base = result if view is None else view.base
    return any(base is tensor for tensor in tensors)


class own_words:
    """A with block whose errors of linear algebra are NumPy's: what torch's words name, the user never wrote."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, LinAlgError) and "singular" in str(error):
            raise LinAlgError("Singular matrix") from error
        if isinstance(error, LinAlgError) and "positive-definite" in str(error):
            raise LinAlgError("Matrix is not positive definite") from error


# operators ------------------------------------------------------------------------------------------------------------


def _binary(ufunc: Any, direct: Function, name: str) -> None:
    """Give ArrayBox an operator and its reflection; where all is of one type, the Tensors' own is the quickest."""

    saves, saves_by_number = name not in ("add", "sub"), name not in ("add", "sub", "mul", "truediv")

    def forward(self: ArrayBox, other: Any) -> Any:
        kind = type(other)
        if kind is ArrayBox:
            if self._tensor._array.dtype == other._tensor._array.dtype:
                if saves and _Copies.exist:
                    return wrap(direct(to_read(self), to_read(other)))
                return wrap(direct(self._tensor, other._tensor))
        elif kind is float:
            return wrap(direct(to_read(self) if saves_by_number else self._tensor, other))
        elif _is_foreign(other):
            return NotImplemented
        return run_ufunc(ufunc, "__call__", (self, other), {})

    def reflected(self: ArrayBox, other: Any) -> Any:
        if type(other) is float:
            return wrap(direct(other, to_read(self) if saves else self._tensor))
        return NotImplemented if _is_foreign(other) else run_ufunc(ufunc, "__call__", (other, self), {})

    def in_place(self: ArrayBox, other: Any) -> Any:
        if not (self._is_copy or self._is_writable()):
            return NotImplemented
        self._check_writable()
        # the derivative may need the values that are written over
        before = ArrayBox(ops.clone(self._tensor))
        if type(other) is ArrayBox and other._is_writable():
            other = before if other is self else ArrayBox(ops.clone(other._tensor))
        result = run_ufunc(ufunc, "__call__", (before, other), {})
        if not numpy.can_cast(result.dtype, self.dtype, "same_kind"):
            raise TypeError(
                f"Cannot cast ufunc '{ufunc.__name__}' output from {result.dtype!r} to {self.dtype!r} with casting "
                "rule 'same_kind'"
            )
        self[...] = result
        return self

    forward.__name__ = forward.__qualname__ = f"__{name}__"
    reflected.__name__ = reflected.__qualname__ = f"__r{name}__"
    setattr(ArrayBox, f"__{name}__", forward)
    setattr(ArrayBox, f"__r{name}__", reflected)
    if name != "divmod":
        in_place.__name__ = in_place.__qualname__ = f"__i{name}__"
        setattr(ArrayBox, f"__i{name}__", in_place)


def _is_foreign(value: Any) -> bool:
    """True for what an operator leaves to the other operand."""
    return value is None or isinstance(value, (str, bytes, dict, set)) or getattr(value, "__array_ufunc__", 0) is None


def _define() -> None:
    import operator

    binary = {"add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power"}
    binary |= {"mod": "remainder", "matmul": "matmul", "floordiv": "floor_divide", "divmod": "divmod"}
    for name, ufunc in binary.items():
        direct = divmod if name == "divmod" else getattr(operator, name)
        # NumPy's remainder, power and product keep rules of their own
        _binary(getattr(numpy, ufunc), direct if name in ("add", "sub", "mul", "truediv") else _by(ufunc), name)
    for name, ufunc in {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
                        "ge": "greater_equal"}.items():  # fmt: skip
        setattr(ArrayBox, f"__{name}__", _comparison(getattr(numpy, ufunc)))
    for name, ufunc in {"neg": "negative", "pos": "positive", "abs": "absolute"}.items():
        setattr(ArrayBox, f"__{name}__", _unary(getattr(numpy, ufunc)))
    for name in _METHODS:
        setattr(ArrayBox, name, _method(getattr(numpy, name)))


def _by(ufunc: str) -> Function:
    return lambda a, b: array_ufunc(getattr(numpy, ufunc), "__call__", (a, b), {})


def _comparison(ufunc: Any) -> Function:
    def compare(self: ArrayBox, other: Any) -> Any:
        if _is_foreign(other):
            return NotImplemented
        return ufunc(self._value, getval(other))

    return compare


def _unary(ufunc: Any) -> Function:
    return lambda self: run_ufunc(ufunc, "__call__", (self,), {})


def _method(function: Function) -> Function:
    def method(self: ArrayBox, *args: Any, **kwargs: Any) -> Any:
        return dispatch(function, (self, *args), kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"numpy.{function.__name__} of this array."
    return method


_METHODS = (
    "all", "any", "argmax", "argmin", "argpartition", "argsort", "choose", "clip", "compress", "cumprod", "cumsum",
    "diagonal", "dot", "max", "mean", "min", "nonzero", "prod", "ravel", "repeat", "round", "searchsorted", "squeeze",
    "std", "sum", "swapaxes", "take", "trace", "var",
)  # fmt: skip

_define()
for _kind in (float, numpy.ndarray, numpy.float64, numpy.float32, numpy.float16, numpy.longdouble, complex,
              numpy.complex64, numpy.complex128, numpy.clongdouble):  # fmt: skip
    Box.type_mappings[_kind] = ArrayBox
Box.type_mappings[ArrayBox] = ArrayBox
