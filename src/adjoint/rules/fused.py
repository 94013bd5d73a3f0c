"""Operations that save temporary arrays in formulas: a product is added to, or summed, in one step."""

from math import prod
from typing import Any

from adjoint.arrays.dtypes import kind_of
from adjoint.arrays.shapes import broadcast_shapes

from .declare import Array, elementwise, multilinear

_HIDDEN: dict[str, Any] = {"method": False, "function": False}


@elementwise(input="factor", factor="input", addend=1, **_HIDDEN)
def multiply_add(xp, input: Array, factor: Array, addend: Array):
    """input * factor + addend, broadcast."""
    product = input * factor
    shape = getattr(addend, "shape", ())
    if product.shape != shape and broadcast_shapes(product.shape, shape) != product.shape:
        return product + addend
    product += addend
    return product


@multilinear(axes=("dims",), **_HIDDEN)
def sum_product(xp, input: Array, other: Array, dims):
    """The sum of input * other over axes, kept with size 1; both have the same number of axes."""
    ndim = trailing = input.ndim
    while trailing - 1 in dims:
        trailing -= 1
    together = input.shape[trailing:] == other.shape[trailing:] and kind_of(input) != "c"
    if trailing == ndim or not together:
        return xp.sum(input * other, axis=dims, keepdims=True)
    n = prod(input.shape[trailing:])
    sums = xp.vecdot(*[xp.reshape(array, (*array.shape[:trailing], n)) for array in (input, other)])
    sums = xp.reshape(sums, (*sums.shape, *(1,) * (ndim - trailing)))
    rest = tuple([axis for axis in dims if axis < trailing])
    return xp.sum(sums, axis=rest, keepdims=True) if rest else sums


@sum_product.vjp("input")
def _(ops, g, other):
    return g * ops.conj(other)


@sum_product.vjp("other")
def _(ops, g, input):
    return g * ops.conj(input)
