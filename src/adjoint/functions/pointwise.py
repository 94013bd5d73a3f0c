"""Composites over elementwise operations: powers in double precision, identities, aliases in place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import complex128, dtype, float64, kind_of
from adjoint.core.graph import TensorBase
from adjoint.functions.arguments import optional_out, require_tensor
from adjoint.functions.composite import alias_parameters, alias_text, composite, ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


@composite()
def positive(input: Tensor) -> Tensor:
    """The tensor itself. Raises RuntimeError for one of bools.

    >>> import adjoint
    >>> x = adjoint.tensor([1.0, -2.0])
    >>> adjoint.positive(x) is x, +x is x
    (True, True)
    """
    require_tensor("positive", "input", 0, input)
    if kind_of(input._array) == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


# powers -------------------------------------------------------------------------------------------------------------


def _double(*operands: Any) -> dtype:
    """The type of a power in double precision: complex if an operand is."""
    is_complex = any(isinstance(x, complex) or (isinstance(x, TensorBase) and x.is_complex()) for x in operands)
    return complex128 if is_complex else float64


def _in_double(operand: Any, kind: dtype) -> Any:
    return operand.to(kind) if isinstance(operand, TensorBase) else operand


@composite()
@alias_parameters(self="input")
def float_power(input: Tensor | complex, exponent: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    """input ** exponent computed in float64, or complex128 if either is complex; either may be a number.

    >>> import adjoint
    >>> adjoint.float_power(adjoint.tensor([2, 3]), -1)
    tensor([0.5000, 0.3333], dtype=adjoint.float64)
    """
    if not isinstance(exponent, TensorBase):
        require_tensor("float_power", "input", 0, input)
    kind = _double(input, exponent)
    return ops.pow(_in_double(input, kind), _in_double(exponent, kind), **optional_out(out))


@composite(namespace=None, name="float_power_")
def float_power_(input: Tensor, exponent: Tensor | complex) -> Tensor:
    """In-place version of float_power(). Raises RuntimeError unless the tensor is of the result's double type.

    That is float64, or complex128 if one operand is complex.

    >>> import adjoint
    >>> adjoint.ones(2, dtype=adjoint.float64).float_power_(2).dtype
    adjoint.float64
    """
    kind = _double(input, exponent)
    if input.dtype is not kind:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {input.dtype.long_name} but the operation's result requires "
            f"dtype {kind.long_name}"
        )
    return input.pow_(_in_double(exponent, kind))


# conjugates, which are no views here: they are always resolved ------------------------------------------------------


@composite()
def conj(input: Tensor) -> Tensor:
    """The complex conjugate; a real tensor itself.

    >>> import adjoint
    >>> adjoint.conj(adjoint.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return ops.conj(input) if input.is_complex() else input


@composite(method=False)
def real(input: Tensor) -> Tensor:
    """The real part of complex input, as a view; real input itself.

    >>> import adjoint
    >>> adjoint.real(adjoint.tensor([1 + 2j]))
    tensor([1.])
    """
    require_tensor("real", "input", 0, input)
    return ops.real(input) if input.is_complex() else input


@composite()
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate; a real tensor itself.

    Any shape and dtype; linear over real numbers, so that the derivative conjugates the cotangent.

    >>> import adjoint
    >>> adjoint.conj_physical(adjoint.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    require_tensor("conj_physical", "input", 0, input)
    if out is not None:
        return ops.conj(input, out=out)
    return ops.conj(input) if input.is_complex() else input


@composite()
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor itself: conjugates are computed at once.

    In torch a conjugate may wait to be computed until this is called.

    >>> import adjoint
    >>> adjoint.resolve_conj(adjoint.tensor([1j]).conj())
    tensor([0.-1.j])
    """
    require_tensor("resolve_conj", "input", 0, input)
    return input


@composite()
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor itself: negatives are computed at once.

    In torch a negative may wait to be computed until this is called.

    >>> import adjoint
    >>> adjoint.resolve_neg(-adjoint.tensor([1.0]))
    tensor([-1.])
    """
    require_tensor("resolve_neg", "input", 0, input)
    return input


@composite()
def is_conj(input: Tensor) -> bool:
    """Whether a conjugate is still to be computed: never.

    adjoint computes conjugates at once, so that no tensor has a bit for a pending conjugate.

    >>> import adjoint
    >>> adjoint.is_conj(adjoint.tensor([1j]).conj())
    False
    """
    require_tensor("is_conj", "input", 0, input)
    return False


@composite()
def is_neg(input: Tensor) -> bool:
    """Whether a negative is still to be computed: never.

    adjoint computes negatives at once, so that no tensor has a bit for a pending negative.

    >>> import adjoint
    >>> adjoint.is_neg(-adjoint.tensor([1.0]))
    False
    """
    require_tensor("is_neg", "input", 0, input)
    return False


@composite(namespace=None)
def __invert__(self: Tensor) -> Tensor:
    """Each bit inverted. Raises TypeError for numbers that are no integers."""
    if self.is_floating_point() or self.is_complex():
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return ops.bitwise_not(self)


# other names --------------------------------------------------------------------------------------------------------


def _inplace_alias(name: str, of: str) -> None:
    def alias(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return getattr(self, of)(*args, **kwargs)

    alias.__doc__ = alias_text(f"Tensor.{of}")
    composite(namespace=None, name=name)(alias)


for _name, _of in {
    "absolute_": "abs_", "arccos_": "acos_", "arccosh_": "acosh_", "arcsin_": "asin_", "arcsinh_": "asinh_",
    "arctan_": "atan_", "arctan2_": "atan2_", "arctanh_": "atanh_", "clip_": "clamp_", "divide_": "div_",
    "fix_": "trunc_", "greater_": "gt_", "greater_equal_": "ge_", "less_": "lt_", "less_equal_": "le_",
    "multiply_": "mul_", "negative_": "neg_", "not_equal_": "ne_", "subtract_": "sub_",
    "__div__": "__truediv__", "__rdiv__": "__rtruediv__", "__idiv__": "__itruediv__",
}.items():  # fmt: skip
    _inplace_alias(_name, _of)
