"""Products of vectors, matrices and tensors; convolutions."""

from __future__ import annotations

import numpy

from adjoint.core.graph import new_tensor
from adjoint.functions.binding import functions
from adjoint.interop import ufuncs
from adjoint.interop.numpy_functions import Array, Arrays, function
from adjoint.interop.operands import axes_of, axis_of, cast, kind_of, plain, promote
from adjoint.tensor.table import ops

_public, _linalg = functions[""], functions["linalg"]


@function("dot")
def dot(a: Array, b: Array, out=None):
    """The sum of products over the last axis of a and the second to last (or only one) of b."""
    a, b = promote(a, b)
    if not a.ndim or not b.ndim:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return ops.matmul(a, b)
    return _public["tensordot"](a, b, ([a.ndim - 1], [max(b.ndim - 2, 0)]))


@function("vdot")
def vdot(a: Array, b: Array, /):
    """The sum of products of all elements, with a conjugated."""
    a, b = [ops.reshape(each, (-1,)) for each in promote(a, b)]
    if a.shape != b.shape:
        raise ValueError(f"cannot reshape array of size {b.numel()} into shape {tuple(a.shape)}")
    return ops.vdot(a, b) if kind_of(a).kind == "c" else ops.matmul(a, b)


@function("inner")
def inner(a: Array, b: Array, /):
    """The sum of products over the last axes."""
    a, b = promote(a, b)
    if not a.ndim or not b.ndim:
        return a * b
    return _public["tensordot"](a, b, ([a.ndim - 1], [b.ndim - 1]))


@function("outer")
def outer(a: Array, b: Array, out=None):
    """The products of all pairs of elements."""
    a, b = promote(a, b)
    return ops.reshape(a, (-1, 1)) * ops.reshape(b, (1, -1))


@function("linalg.outer")
def linalg_outer(x1: Array, x2: Array, /):
    """The products of all pairs of elements of two vectors."""
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are {x1.ndim=} and {x2.ndim=}.")
    return outer(x1, x2)


@function("tensordot")
def tensordot(a: Array, b: Array, axes=2):
    """The sum of products over axes of a and of b."""
    a, b = promote(a, b)
    axes = plain(axes)
    pair = (range(a.ndim - axes, a.ndim), range(axes)) if isinstance(axes, int) else axes
    left, right = [
        list(axes_of(each if isinstance(each, int) else tuple(each), n))
        for each, n in zip(pair, (a.ndim, b.ndim), strict=True)
    ]
    if len(left) != len(right) or any(a.shape[i] != b.shape[j] for i, j in zip(left, right, strict=True)):
        raise ValueError("shape-mismatch for sum")
    return _public["tensordot"](a, b, (left, right))


@function("linalg.tensordot")
def linalg_tensordot(x1: Array, x2: Array, /, *, axes=2):
    """The sum of products over axes of both."""
    return tensordot(x1, x2, axes)


@function("linalg.matmul")
def matmul(x1: Array, x2: Array, /):
    """The matrix product."""
    return ufuncs.call(numpy.matmul, x1, x2)


@function("linalg.vecdot")
def vecdot(x1: Array, x2: Array, /, *, axis=-1):
    """The sum of products along an axis, the first factor conjugated."""
    return ufuncs.call(numpy.vecdot, x1, x2, axis=axis)


@function("linalg.multi_dot")
def multi_dot(arrays: Arrays, *, out=None):
    """The product of several matrices, in the order that takes the fewest multiplications."""
    return _linalg["multi_dot"](promote(*arrays))


@function("kron")
def kron(a: Array, b: Array):
    """The Kronecker product."""
    return _public["kron"](*promote(a, b))


@function("cross")
def cross(a: Array, b: Array, axisa=-1, axisb=-1, axisc=-1, axis=None):
    """The vector product in three dimensions; of vectors in the plane, where NumPy takes them, the third element."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = promote(a, b)
    if not a.ndim or not b.ndim:
        raise ValueError("At least one array has zero dimension")
    a, b = _last(a, axisa), _last(b, axisb)
    sizes = a.shape[-1], b.shape[-1]
    if sizes != (3, 3):
        # it warns of vectors in the plane, and refuses all others
        numpy.cross(numpy.zeros(sizes[0]), numpy.zeros(sizes[1]))
        if sizes == (2, 2):
            return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
        a, b = [each if each.shape[-1] == 3 else ops.constant_pad_nd(each, (0, 1), 0) for each in (a, b)]
    shape = numpy.broadcast_shapes(tuple(a.shape), tuple(b.shape))
    product = ops.linalg_cross(ops.expand(a, shape), ops.expand(b, shape), len(shape) - 1)
    dim = axis_of(axisc, product.ndim)
    order = list(range(product.ndim - 1))
    order.insert(dim, product.ndim - 1)
    return ops.permute(product, order)


def _last(a, axis):
    axis = axis_of(axis, a.ndim)
    return ops.permute(a, [*[i for i in range(a.ndim) if i != axis], axis])


@function("linalg.cross")
def linalg_cross(x1: Array, x2: Array, /, *, axis=-1):
    """The vector product in three dimensions."""
    sizes = [numpy.shape(x)[axis] for x in (x1, x2) if numpy.ndim(x)]
    if any(size != 3 for size in sizes):
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{sizes[0]} and {sizes[-1]} dimensional instead."
        )
    return cross(x1, x2, axis=axis)


@function("einsum")
def einsum(*operands, out=None, optimize=False, dtype=None, order="K", casting="safe"):
    """Sums of products by Einstein's convention, in both of NumPy's notations."""
    if isinstance(operands[0], str):
        equation, tensors = operands[0], promote(*operands[1:])
        tensors = [cast(each, dtype) for each in tensors]
        return _public["einsum"](equation.replace(" ", ""), *tensors)
    positions = range(0, len(operands) - len(operands) % 2, 2)
    tensors = promote(*[operands[i] for i in positions])
    arguments = list(operands)
    for i, tensor in zip(positions, tensors, strict=True):
        arguments[i] = cast(tensor, dtype)
    return _public["einsum"](*arguments)


# convolutions ---------------------------------------------------------------------------------------------------------


@function("convolve")
def convolve(a: Array, v: Array, mode="full"):
    """The convolution of two sequences."""
    a, v = promote(*[ops.reshape(each, (-1,)) if not each.ndim else each for each in (a, v)])
    if a.ndim != 1 or v.ndim != 1:
        raise ValueError("object too deep for desired array")
    if not a.shape[0] or not v.shape[0]:
        raise ValueError(f"{'a' if not a.shape[0] else 'v'} cannot be empty")
    return _convolve(a, v, mode)


def _convolve(a, v, mode):
    if len(v) > len(a):
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    modes = {"full": (0, n + m - 1), "same": ((m - 1) // 2, n), "valid": (m - 1, n - m + 1)}
    name = {2: "full", 1: "same", 0: "valid"}.get(mode, mode)
    if name not in modes:
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    start, length = modes[name]
    kind = kind_of(a)
    if kind.kind in "biu":
        return new_tensor(numpy.convolve(a.numpy(), v.numpy(), name))
    whole = ops.convolution(a[None, None], ops.flip(v, (0,))[None, None], None, (1,), (m - 1,), (1,), 1)
    return whole[0, 0, start : start + length]


@function("correlate")
def correlate(a: Array, v: Array, mode="valid"):
    """The correlation of two sequences, the second conjugated."""
    a, v = promote(*[ops.reshape(each, (-1,)) if not each.ndim else each for each in (a, v)])
    if not a.shape[0] or not v.shape[0]:
        raise ValueError(f"{'first' if not a.shape[0] else 'second'} array argument cannot be empty")
    v = ops.conj(ops.flip(v, (0,)))
    mode = {2: "full", 1: "same", 0: "valid"}.get(mode, mode)
    if mode != "same" or len(v) <= len(a):
        return _convolve(a, v, mode)
    # NumPy's `same` counts from the other end if the second array is longer
    n, m = a.shape[0], v.shape[0]
    start = n - 1 - (n - 1) // 2 if n % 2 == 0 else (n - 1) // 2
    return _convolve(a, v, "full")[start : start + m]
