"""Arguments of NumPy's functions: conversion to Tensors, dtypes, promotion by NumPy's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy

from adjoint.arrays.dtypes import dtype as Dtype
from adjoint.arrays.dtypes import from_numpy_dtype
from adjoint.arrays.namespace import is_array, is_lazy, library_of, namespace
from adjoint.core.graph import TensorBase, new_tensor, registry
from adjoint.core.holders import TensorHolder, tensor_of_array
from adjoint.core.modes.state import current, is_grad_enabled
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_FLOAT64 = numpy.dtype("float64")


def is_tensor(value: object) -> TypeGuard[Tensor]:
    """True for a Tensor."""
    return isinstance(value, TensorBase)


def tensor_of(value: Any) -> Tensor:
    """The value as a Tensor: arrays keep their dtype, numbers and sequences get NumPy's dtype for them.

    A sequence may hold Tensors, which stay in the graph.

    >>> import adjoint
    >>> tensor_of([adjoint.tensor(1.0, dtype=adjoint.float64), 2])
    tensor([1., 2.], dtype=adjoint.float64)
    """
    if is_tensor(value):
        return value
    if is_array(value):
        return tensor_of_array(value)
    if isinstance(value, (list, tuple)) and any(True for _ in tensors_in(value)):
        return ops.stack(promote(*[tensor_of(member) for member in value]), 0)
    array = numpy.asarray(value)
    from_numpy_dtype(array.dtype)  # refuses what Tensors cannot hold
    return new_tensor(array)


def operand(value: Any) -> Any:
    """The value as a Tensor, but a number as Python's, which has no dtype of its own (a NumPy scalar too)."""
    if is_tensor(value) or type(value) in (int, float, bool, complex):
        return value
    if isinstance(value, numpy.generic):
        return value.item() if value.dtype.kind in "biufc" else value
    return tensor_of(value)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """All Tensors in nested lists, tuples and dictionaries."""
    if is_tensor(value):
        yield value
    elif isinstance(value, (list, tuple)):
        for member in value:
            yield from tensors_in(member)
    elif isinstance(value, dict):
        for member in value.values():
            yield from tensors_in(member)


def map_instances(change: Callable[[Any], Any], kind: type, value: Any) -> Any:
    """Nested lists, tuples and dictionaries with each instance of `kind` in them changed."""
    if isinstance(value, kind):
        return change(value)
    if isinstance(value, (list, tuple)):
        members = [map_instances(change, kind, member) for member in value]
        if hasattr(value, "_fields"):
            return type(value)(*members)
        return members if isinstance(value, list) else tuple(members)
    if isinstance(value, dict):
        return {key: map_instances(change, kind, member) for key, member in value.items()}
    return value


def is_tracked(tensor: Tensor) -> bool:
    """True if derivatives are being taken through a Tensor now, in reverse or in forward mode."""
    return (tensor.requires_grad and is_grad_enabled()) or _has_tangent(tensor)


def carries_derivative(tensor: Tensor) -> bool:
    """True for a Tensor with a history or a tangent, also if recording is off, as under no_grad."""
    return tensor.requires_grad or _has_tangent(tensor)


def _has_tangent(tensor: Tensor) -> bool:
    return bool(current().dual_stack and registry.has_tangent(tensor))  # type: ignore[operator]


# the arguments of a call
# ------------------------------------------------------------------------------------------------


def classes_in(value: Any) -> Iterator[type]:
    """The classes of Tensors, and of arrays that hold one, in nested containers; quick on long lists of numbers."""
    if isinstance(value, (list, tuple)):
        for kind in set(map(type, value)):
            if issubclass(kind, (TensorBase, TensorHolder)):
                yield kind
            elif issubclass(kind, (list, tuple, dict)):
                for member in value:
                    if type(member) is kind:
                        yield from classes_in(member)
    elif isinstance(value, dict):
        yield from classes_in(list(value.values()))
    elif isinstance(value, (TensorBase, TensorHolder)):
        yield type(value)


def holds_tensor(value: Any) -> bool:
    """True for a Tensor, or nested lists, tuples and dictionaries with one in them."""
    return any(issubclass(kind, TensorBase) for kind in classes_in(value))


def class_of_results(value: Any) -> type | None:
    """The class of the results of a call with these arguments: Tensors, arrays that hold one, or plain (None)."""
    result_class = None
    for kind in classes_in(value):
        if issubclass(kind, TensorBase):
            return TensorBase
        result_class = kind
    return result_class


# dtypes ---------------------------------------------------------------------------------------------------------------


def kind_of(tensor: Tensor) -> numpy.dtype[Any]:
    """The NumPy dtype of a Tensor's elements."""
    return tensor._array.dtype


def numpy_dtype(dtype: Any) -> numpy.dtype[Any]:
    """NumPy's dtype for a dtype argument: adjoint's dtypes, and everything that NumPy reads.

    >>> import adjoint
    >>> numpy_dtype(adjoint.float32), numpy_dtype("i8"), numpy_dtype(float)
    (dtype('float32'), dtype('int64'), dtype('float64'))
    """
    return dtype.numpy if isinstance(dtype, Dtype) else numpy.dtype(dtype)


def cast(tensor: Tensor, dtype: Any) -> Tensor:
    """The Tensor with another dtype (itself if it has that one, or where `dtype` is None)."""
    if dtype is None:
        return tensor
    kind = numpy_dtype(dtype)
    if kind == kind_of(tensor):
        return tensor
    if kind_of(tensor).kind == "c" and kind.kind in "biuf":
        tensor = tensor.real if kind.kind != "b" else ops.ne(tensor, 0)
    return ops.cast(tensor, from_numpy_dtype(kind))


def inexact(tensor: Tensor) -> Tensor:
    """Integers and truth values as float64, as NumPy takes them where a result has fractions."""
    return tensor if kind_of(tensor).kind not in "biu" else cast(tensor, _FLOAT64)


def result_kind(*values: Any) -> numpy.dtype[Any]:
    """The dtype of NumPy's result for all of these; Python numbers count as weak."""
    return numpy.result_type(*[kind_of(v) if is_tensor(v) else v for v in values])


def promote(*values: Any) -> list[Tensor]:
    """All as Tensors of one dtype, by NumPy's rules.

    >>> import adjoint
    >>> [x.dtype for x in promote(adjoint.ones(2), 1.5)], [x.dtype for x in promote(adjoint.ones(2), [1.5])]
    ([adjoint.float32, adjoint.float32], [adjoint.float64, adjoint.float64])
    """
    if all(map(is_tensor, values)) and len({kind_of(value) for value in values}) == 1:
        return list(values)
    operands = [operand(value) for value in values]
    kind = result_kind(*operands)
    return [cast(v, kind) if is_tensor(v) else number(v, kind) for v in operands]


def number(value: Any, kind: numpy.dtype[Any]) -> Tensor:
    """A number as a zero-dimensional Tensor of a dtype. Raises OverflowError for an integer that it cannot hold."""
    return new_tensor(numpy.asarray(kind.type(value)) if kind.kind != "V" else numpy.asarray(value, kind))


def constant(value: Any) -> Any:
    """An argument without derivative, for example an index: its Tensors are replaced by their arrays.

    Raises TypeError for a Tensor that requires grad, whose derivative would be lost, and under vmap.
    """
    return map_instances(_array_of, TensorBase, value)


def _array_of(tensor: Tensor) -> Any:
    if is_tracked(tensor):
        raise TypeError(
            f"a Tensor of shape {tuple(tensor.shape)} that requires grad stands where the derivative is not defined "
            "or not known; detach() it to have it taken as a constant"
        )
    return values_of(tensor)


def values_of(tensor: Tensor) -> Any:
    """The array of a Tensor, for piecewise constant functions of its values, for example an order.

    Raises RuntimeError under vmap, where each member of the batch has values of its own.
    """
    array = tensor._array
    if hasattr(array, "batches"):
        raise RuntimeError(
            "vmap: this function of NumPy needs the values of a batched Tensor, which are others for each member; "
            "call it outside of the mapped function, or use adjoint's own function"
        )
    return array


def known_values(tensor: Tensor, function: str) -> Any:
    """`values_of` for a function whose result has a shape that depends on the values.

    Raises NotImplementedError for an array that is not computed yet.
    """
    array = values_of(tensor)
    if is_lazy(array):
        library = library_of(array)
        raise NotImplementedError(
            f"numpy.{function}: the shape of the result depends on the values, which are not yet computed on {library} "
            "arrays: call tensor.compute() first"
        )
    return array


def plain(value: Any) -> Any:
    """Axes, a shape or an order: Tensors in it become Python numbers and lists."""
    return map_instances(lambda t: _array_of(t).tolist(), TensorBase, value)


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes counted from the front; all for None. Raises numpy.exceptions.AxisError for an axis out of range."""
    if axis is None:
        return tuple(range(ndim))
    return numpy.lib.array_utils.normalize_axis_tuple(plain(axis), ndim)


def axis_of(axis: Any, ndim: int) -> int:
    """One axis counted from the front. Raises numpy.exceptions.AxisError."""
    return int(numpy.lib.array_utils.normalize_axis_index(plain(axis), ndim))


# results written elsewhere --------------------------------------------------------------------------------------------


def write(out: Any, result: Tensor, name: str, casting: str = "same_kind") -> Any:
    """Write a result into the argument out=, and return that.

    A Tensor is modified in place, with its history. An array has none: if the result has, that is refused.
    """
    if not is_tensor(out) and not isinstance(out, numpy.ndarray):
        raise TypeError(f"{name}: return arrays must be of ArrayType: out= is {type(out).__name__}")
    if out.shape != result.shape:
        raise ValueError(f"{name}: output operand has shape {tuple(out.shape)}, the result {tuple(result.shape)}")
    if is_tensor(out):
        _check_cast(kind_of(result), kind_of(out), name, casting)
        out.copy_(result)
        return out
    if is_tracked(result):
        raise TypeError(
            f"{name}: out= is an array, which cannot hold the history of a result that requires grad; "
            "give a Tensor as out=, or detach() the inputs"
        )
    _check_cast(kind_of(result), out.dtype, name, casting)
    namespace(out)
    out[...] = result._array
    return out


def _check_cast(source: Any, target: Any, name: str, casting: str) -> None:
    if not numpy.can_cast(source, target, casting):  # type: ignore[arg-type]
        raise TypeError(f"Cannot cast {name} output from {source!r} to {target!r} with casting rule {casting!r}")
