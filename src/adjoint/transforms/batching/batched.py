"""Batched arrays: the arrays that tensors hold under vmap.

A `BatchedArray` has the shape of one member of a batch, and holds all members with the batch axis in front. Its
namespace runs each declared operation in its batch form. Nested batches are batched arrays of batched arrays: the one
with the highest level (made last, so the innermost vmap) is outermost, and an operation on it is an operation on its
data, which may be batched at lower levels.

An operand without a level is equal for all members of that batch. Its gradient is the sum over the members, so an edge
to it from a batched node goes through a `SumOverBatch`.

The operations that move Tensors into batches and out of them (see `batch_rules`) are declared like all others, so every
mode of differentiation passes through them.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from adjoint.arrays.namespace import register
from adjoint.core.recorded import RawOps, raw_ops
from adjoint.rules import derive
from adjoint.rules.declare import Linear, Rule
from adjoint.transforms.batching.levels import BatchedBase, BatchedKernel, check_alive, set_kind, strip_level
from adjoint.transforms.batching.levels import batches_of as batches_of

#: The batches that an array is batched over, as (level, size), outermost level first.
Batches = tuple[tuple[int, int], ...]

ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, "
    "please try to rewrite what you're doing with other operations."
)
CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that "
    "yet; use adjoint.where() instead."
)
NO_STORAGE = "Cannot access data pointer of Tensor that doesn't have storage"
IN_PLACE = (
    "vmap: {name}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
    "elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a "
    "vmap. Please try to use out-of-place operators instead of {name}."
)
#: Operations that this message calls by one name.
ARITHMETIC = frozenset(
    ("add", "sub", "mul", "true_divide", "copy", "masked_fill", "logical_and", "logical_or", "logical_xor")
    + ("clamp_min", "clamp_max")
)
#: The operations that transformations call themselves, and the operators; all others they know from the rules.
CALLED_OPERATIONS = frozenset(
    ("add", "sub", "mul", "true_divide", "floor_divide", "remainder", "pow", "matmul", "neg", "abs", "copy")
    + ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "eq", "ne", "lt", "le", "gt", "ge")
    + ("batch_in", "batch_out", "batch_spread", "batch_sum", "real", "imag", "cast", "clone", "clone_with_strides")
    + ("zeros_like", "ones_like", "sum", "expand", "reshape", "view", "transpose", "permute")
    + ("stack", "cat")
)
LOOP = (
    "There is a performance drop because there is no batching rule for {name} with these arguments: it is run once "
    "for each member of the batch."
)

# the array ------------------------------------------------------------------------------------------------------------


def _operator(name: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: BatchedArray, other: Any) -> Any:
        kernel = getattr(batched_ops, name)
        return kernel(other, self) if reflected else kernel(self, other)

    return method


def _refusal(message: str) -> Callable[..., Any]:
    def method(self: BatchedArray, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(message)

    return method


class BatchedArray(BatchedBase):
    """The class of batched arrays: with the operators and methods of arrays."""

    __slots__ = ()
    __array_ufunc__ = None

    @property
    def size(self) -> int:
        """The number of elements of a member."""
        size = 1
        for n in self.shape:
            size *= n
        return size

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return self.data.itemsize

    @property
    def strides(self) -> tuple[int, ...]:
        """Steps in memory along the axes of a member."""
        return self.data.strides[1:]

    @property
    def flags(self) -> Any:
        """NumPy's memory flags of the whole batch."""
        return self.data.flags

    @property
    def real(self) -> Any:
        """The real part."""
        return batched_ops.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary part."""
        return batched_ops.imag(self)

    def astype(self, dtype: Any, copy: bool = True) -> BatchedArray:
        """The array with another data type."""
        return BatchedArray(self.level, self.data.astype(dtype, copy=copy))

    def copy(self, order: str = "C") -> BatchedArray:
        """A copy of all members."""
        return BatchedArray(self.level, self.data.copy(order))

    def __setitem__(self, index: Any, value: Any) -> None:
        index = index if isinstance(index, tuple) else (index,)
        target = self.data[(slice(None), *index)]
        if isinstance(value, BatchedArray) and value.level == self.level:
            missing = target.ndim - value.data.ndim
            value = value.data[(slice(None), *(None,) * missing)]
        target[...] = value

    def __len__(self) -> int:
        return self.shape[0]

    def describe(self, text_of: Callable[[Any], str]) -> str:
        """The array as text, with `text_of` for the innermost array."""
        data = self.data
        inner = data.describe(text_of) if isinstance(data, BatchedArray) else text_of(data)
        indented = "\n".join("    " + line for line in inner.splitlines())
        return f"BatchedTensor(lvl={len(self.batches)}, bdim=0, value=\n{indented}\n)"

    def __repr__(self) -> str:
        return self.describe(repr)

    __add__, __radd__ = _operator("add"), _operator("add", True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", True)
    __truediv__, __rtruediv__ = _operator("true_divide"), _operator("true_divide", True)
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _operator("floor_divide", True)
    __mod__, __rmod__ = _operator("remainder"), _operator("remainder", True)
    __pow__, __rpow__ = _operator("pow"), _operator("pow", True)
    __matmul__, __rmatmul__ = _operator("matmul"), _operator("matmul", True)
    __and__, __rand__ = _operator("bitwise_and"), _operator("bitwise_and", True)
    __or__, __ror__ = _operator("bitwise_or"), _operator("bitwise_or", True)
    __xor__, __rxor__ = _operator("bitwise_xor"), _operator("bitwise_xor", True)
    __eq__, __ne__ = _operator("eq"), _operator("ne")
    __lt__, __le__, __gt__, __ge__ = _operator("lt"), _operator("le"), _operator("gt"), _operator("ge")
    __hash__ = None  # type: ignore[assignment]

    def __neg__(self) -> Any:
        return batched_ops.neg(self)

    def __abs__(self) -> Any:
        return batched_ops.abs(self)

    def __invert__(self) -> Any:
        return batched_ops.bitwise_not(self)

    def __getattr__(self, name: str) -> Any:
        if name == "__array_interface__":
            raise RuntimeError(NO_STORAGE)
        raise AttributeError(f"a batched array has no attribute {name!r}")

    __bool__ = any = all = _refusal(CONTROL_FLOW)
    reshape = item = __float__ = __int__ = __complex__ = __index__ = _refusal(ITEM)
    tolist = __array__ = _refusal(NO_STORAGE)


def of_underlying(array: Any, function: Callable[[Any], Any]) -> Any:
    """A function of all members of all batches together, the result batched alike."""
    if isinstance(array, BatchedArray):
        return BatchedArray(array.level, of_underlying(array.data, function))
    return function(array)


# kernels --------------------------------------------------------------------------------------------------------------


class LevelRule(Linear):
    """A linear operation whose kernel takes batched arrays and others as they are."""


class BatchLevel:
    """One level of batches, the argument `batch` of batch forms.

    strip: an argument with its batch axis visible, and the position of this axis (None if it has none).
    join: makes the array whose batch axis is the first axis of the data.
    ops_for: the operations on arrays that strip() returned.
    """

    __slots__ = ("join", "level", "strip")

    def __init__(self, level: int) -> None:
        self.level = level
        self.strip = functools.partial(strip_level, level)
        self.join = functools.partial(BatchedArray, level)

    @staticmethod
    def ops_for(arrays: Sequence[Any]) -> Any:
        """The operations for arrays of which some may be batched."""
        return inner_ops(arrays)

    @property
    def ops(self) -> Any:
        """The operations on members."""
        return batched_ops

    def has(self, array: Any) -> bool:
        """True if the array has the batch axis: each member has values of its own."""
        return isinstance(array, BatchedArray) and array.level == self.level

    @staticmethod
    def is_batched(array: Any) -> bool:
        """True if the array has the batch axis of this or of another level."""
        return isinstance(array, BatchedArray)

    @staticmethod
    def spread(array: Any, model: Any) -> Any:
        """The array with all batch axes of `model`; the array itself where it has them."""
        return batched_ops.batch_spread(array, batches_of(model))


class _Levels(dict[int, BatchLevel]):
    def __missing__(self, level: int) -> BatchLevel:
        self[level] = BatchLevel(level)
        return self[level]


_levels = _Levels()


def inner_ops(operands: Sequence[Any]) -> Any:
    """The operations for arrays of which some may be batched."""
    plain = None
    for value in operands:
        if isinstance(value, BatchedArray):
            return batched_ops
        if plain is None and hasattr(value, "ndim"):
            plain = value
    return raw_ops(plain)


def other_form(rule: Rule) -> Callable[[int, dict[str, Any]], Any]:
    """The batch form that derives from a rule for all arguments, as a function of a level and arguments by name."""

    def form(level: int, values: dict[str, Any]) -> Any:
        data, dims = dict(values), {}
        for name in rule.inputs + rule.constants:
            data[name], dim = strip_level(level, values[name])
            if dim is not None:
                dims[name] = dim
        inner = inner_ops(list(operands_of(rule, data)))
        result, dim = derive.batch(rule, inner, data, dims, warn_of_loop)
        if dim is None:
            return result
        if rule.outputs is None:
            return BatchedArray(level, result)
        return tuple(BatchedArray(level, part) for part in result)

    return form


def operands_of(rule: Rule, values: dict[str, Any]) -> Iterator[Any]:
    """All array arguments, one by one."""
    for name in rule.inputs + rule.constants:
        value = values[name]
        if name == rule.sequence:
            yield from value
        else:
            yield value


_slow: set[str] = set()


def warn_of_loop(rule: Rule) -> None:
    """Say, once for each operation, that it has no batch form for its arguments."""
    if rule.name not in _slow:
        _slow.add(rule.name)
        warnings.warn(LOOP.format(name=rule.name), UserWarning, stacklevel=2)


def kernel_of(rule: Rule) -> Callable[..., Any]:
    """The kernel of an operation on operands, some of them batched."""
    if isinstance(rule, LevelRule):
        return rule.kernel_on(None)
    return BatchedKernel(rule, _levels, other_form(rule))


class Namespace:
    """The namespace of batched arrays, as the core uses the namespaces of array libraries."""

    __name__ = "adjoint.transforms.batching.batched"

    kernel_of = staticmethod(kernel_of)
    check_alive = staticmethod(check_alive)
    float32, float64, int64 = numpy.float32, numpy.float64, numpy.int64
    # results without operands are equal for all members
    zeros, ones, empty = staticmethod(numpy.zeros), staticmethod(numpy.ones), staticmethod(numpy.empty)
    full, eye, arange = staticmethod(numpy.full), staticmethod(numpy.eye), staticmethod(numpy.arange)

    def asarray(self, value: Any, dtype: Any = None, copy: bool | None = None) -> Any:
        """The array, with another dtype or in other memory if requested."""
        if not isinstance(value, BatchedArray):
            return numpy.asarray(value, dtype=dtype, copy=copy)
        if dtype is not None and value.dtype != dtype:
            return value.astype(dtype)
        return value.copy() if copy else value

    def astype(self, array: Any, dtype: Any, copy: bool = True) -> Any:
        """The array with another data type."""
        return array.astype(dtype, copy=copy)

    def zeros_like(self, array: Any, dtype: Any = None) -> Any:
        """Zeros of the shape and, unless another is given, the data type of an array, batched as that is."""
        return self._fill(numpy.zeros_like, array, dtype)

    def ones_like(self, array: Any, dtype: Any = None) -> Any:
        """Ones, as zeros_like()."""
        return self._fill(numpy.ones_like, array, dtype)

    def empty_like(self, array: Any, dtype: Any = None) -> Any:
        """Memory of no particular content, as zeros_like()."""
        return self._fill(numpy.empty_like, array, dtype)

    def full_like(self, array: Any, fill_value: Any, dtype: Any = None) -> Any:
        """A number repeated, as zeros_like()."""
        return self._fill(functools.partial(numpy.full_like, fill_value=fill_value), array, dtype)

    def _fill(self, make: Callable[..., Any], array: Any, dtype: Any) -> Any:
        return of_underlying(array, lambda plain: make(plain, dtype=dtype))

    def sum(self, array: Any, axis: Any = None, keepdims: bool = False, dtype: Any = None) -> Any:
        """The sum over axes, in another dtype if requested."""
        return batched_ops.sum(array if dtype is None else array.astype(dtype), axis, keepdims)

    def reshape(self, array: Any, shape: tuple[int, ...]) -> Any:
        """The elements in another shape."""
        return batched_ops.reshape(array, shape)

    def broadcast_to(self, array: Any, shape: tuple[int, ...]) -> Any:
        """The array repeated to another shape."""
        return batched_ops.expand(array, shape)

    def real(self, array: Any) -> Any:
        """The real part."""
        return batched_ops.real(array)

    def imag(self, array: Any) -> Any:
        """The imaginary part."""
        return batched_ops.imag(array)

    def in_batch_of(self, array: Any, model: Any) -> Any:
        """The array as a batched one with memory of its own, over all that `model` is batched over."""
        batches = batches_of(model)
        there = {level for level, _ in batches_of(array)}
        if all(level in there for level, _ in batches):
            return array
        return batched_ops.batch_spread(array, batches).copy()

    def of_members(self, array: Any, function: Callable[[Any], Any]) -> Any:
        """A function of all members of all batches together, the result batched alike."""
        return of_underlying(array, function)

    def check_in_place(self, name: str, target: Any, result: Any) -> None:
        """Raise RuntimeError if a result of an operation in place is batched and its tensor is not."""
        there = {level for level, _ in batches_of(target)}
        if any(level not in there for level, _ in batches_of(result)):
            raise RuntimeError(IN_PLACE.format(name="inplace arithmetic" if name in ARITHMETIC else f"{name}_"))


namespace = Namespace()
register(BatchedArray, namespace, holds_arrays=True)
batched_ops: Any = RawOps(namespace)
set_kind(BatchedArray, batched_ops)
