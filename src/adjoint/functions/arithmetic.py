"""Composites over elementwise operations: division with rounding, comparisons of whole tensors, dtype methods."""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays import dtypes
from adjoint.arrays.dtypes import dtype
from adjoint.arrays.kernels import comparisons
from adjoint.arrays.namespace import underlying
from adjoint.arrays.shapes import broadcast_shapes
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.recorded import operations
from adjoint.functions.arguments import require_tensors
from adjoint.functions.composite import alias_text, composite, ops, takes_out

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
#: The number of elements compared at a time.
_PIECE = 1 << 12
_ROUNDED = {None: "true_divide", "floor": "floor_divide", "trunc": "trunc_divide"}


def _divide_operation(rounding_mode: str | None) -> Any:
    if rounding_mode not in _ROUNDED:
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return operations[_ROUNDED[rounding_mode]]


@composite()
@takes_out
def div(input: Tensor, other: Tensor, *, rounding_mode: str | None = None) -> Tensor:
    """input / other, broadcast; rounding_mode "floor" or "trunc" rounds the quotient, whose derivative is 0 then.

    >>> import adjoint
    >>> adjoint.div(adjoint.tensor([5.0, -5.0]), 2, rounding_mode="floor")
    tensor([ 2., -3.])
    """
    return _divide_operation(rounding_mode)(input, other)


@composite(namespace=None, name="div_")
def div_(input: Tensor, other: Tensor, *, rounding_mode: str | None = None) -> Tensor:
    """In-place version of div().

    The result is written into the tensor, which is returned; its version counts up. Raises RuntimeError for a leaf that
    requires a gradient while gradients are recorded, and where the tensor cannot hold the result.
    """
    return _divide_operation(rounding_mode).inplace((input, other), {})


@composite(name="divide")
@takes_out
def divide(input: Tensor, other: Tensor, *, rounding_mode: str | None = None) -> Tensor:
    """Alias of div().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.div).
    """
    return div(input, other, rounding_mode=rounding_mode)


def _alias(name: str, of: str, inplace: bool = True) -> None:
    operation = operations[of]

    def alias(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return operation(input, *args, **kwargs)

    alias.__name__ = alias.__qualname__ = name
    alias.__doc__ = alias_text(of)
    alias.__signature__ = signature(operation)
    composite(name=name)(alias)


for _name, _of in {
    "multiply": "mul", "subtract": "sub", "negative": "neg", "absolute": "abs", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "arctan2": "atan2",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne", "fix": "trunc",
    "clip": "clamp",
}.items():  # fmt: skip
    _alias(_name, _of)


@composite()
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Elementwise abs(input - other) <= atol + rtol * abs(other).

    Raises RuntimeError if the dtypes differ or the shapes do not broadcast.

    >>> import adjoint
    >>> adjoint.isclose(adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0 + 1e-9, 2.1]))
    tensor([ True, False])
    """
    if not (isinstance(input, TensorBase) and isinstance(other, TensorBase)):
        require_tensors("isclose", input=input, other=other)
    if input.dtype is not other.dtype:
        raise RuntimeError(f"{input.dtype.long_name} did not match {other.dtype.long_name}")
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    a, b = input._array, other._array
    if a.shape != b.shape:
        broadcast_shapes(tuple(a.shape), tuple(b.shape))
    if type(a) is numpy.ndarray and type(b) is numpy.ndarray:
        return new_tensor(numpy.asarray(_close(a, b, rtol, atol, equal_nan)))
    input, other = input.detach(), other.detach()
    near = ops.abs(input - other) <= atol + rtol * ops.abs(other)
    close = (near & ops.isfinite(other)) | (input == other)
    return close | (ops.isnan(input) & ops.isnan(other)) if equal_nan else close


_FLOATS = (numpy.dtype("float32"), numpy.dtype("float64"))


def _close(a: Any, b: Any, rtol: float, atol: float, equal_nan: bool) -> Any:
    """numpy.isclose; without its Python code for arrays of one floating type and Python's numbers."""
    if a.dtype not in _FLOATS or type(rtol) is not float or type(atol) is not float:
        return numpy.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)
    with numpy.errstate(invalid="ignore"):
        near = numpy.abs(a - b) <= atol + rtol * numpy.abs(b)
    close = (near & numpy.isfinite(b)) | (a == b)
    return close | (numpy.isnan(a) & numpy.isnan(b)) if equal_nan else close


@composite()
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """True if all elements are close: abs(input - other) <= atol + rtol * abs(other).

    Raises RuntimeError if the dtypes differ or the shapes do not broadcast.

    >>> import adjoint
    >>> adjoint.allclose(adjoint.tensor([1.0]), adjoint.tensor([1.0 + 1e-9]))
    True
    """
    require_tensors("allclose", input=input, other=other)
    if _is_batched(input) or _is_batched(other):
        raise RuntimeError("vmap over torch.allclose isn't supported yet.")
    return bool(isclose(input, other, rtol, atol, equal_nan)._array.all())


def _is_batched(tensor: Tensor) -> bool:
    return underlying(tensor._array) is not tensor._array


@composite()
def equal(input: Tensor, other: Tensor) -> bool:
    """True if two tensors have the same shape and elements.

    >>> import adjoint
    >>> adjoint.equal(adjoint.tensor([1, 2]), adjoint.tensor([1, 2]))
    True
    """
    if not (isinstance(input, TensorBase) and isinstance(other, TensorBase)):
        require_tensors("equal", input=input, other=other)
    first, second = input._array, other._array
    if underlying(first) is not first or underlying(second) is not second:
        raise RuntimeError("Batching rule not implemented for aten::equal. We could not generate a fallback.")
    if first.shape != second.shape:
        return False
    same = comparisons.are_same(first, second) if comparisons.compiled else None
    if same is not None:
        return bool(same)
    if first.size > _PIECE and isinstance(first, numpy.ndarray) and isinstance(second, numpy.ndarray):
        # in pieces, as a difference is mostly seen at once
        first, second = first.reshape(-1), second.reshape(-1)
        pieces = [slice(start, start + _PIECE) for start in range(0, first.size, _PIECE)]
        return all((first[piece] == second[piece]).all() for piece in pieces)
    return bool((first == second).all())


def _conversion(name: str, target: dtype) -> None:
    def convert(self: Tensor, memory_format: Any = None) -> Tensor:
        if memory_format is not None:
            return self.to(target, memory_format=memory_format)
        return self if self.dtype is target else ops.cast(self, target)

    convert.__doc__ = f"""The tensor as {target}.

    The tensor itself if it has this dtype. memory_format: how a copy lies in memory. The derivative casts the cotangent
    back. The same as to({target}).

    >>> import adjoint
    >>> adjoint.tensor([0, 1]).{name}().dtype
    {target}
    """
    composite(namespace=None, name=name)(convert)


for _name, _target in {**dtypes.ALIASES, "byte": dtypes.uint8, "bfloat16": dtypes.bfloat16}.items():
    _conversion(_name, _target)
