"""Creation of arrays: like a Tensor, from one, or between two."""

from __future__ import annotations

import numpy

from adjoint.core.graph import new_tensor
from adjoint.interop.numpy_functions import FUNCTIONS, Array, Operand, function
from adjoint.interop.operands import (
    axis_of,
    cast,
    constant,
    is_tensor,
    kind_of,
    numpy_dtype,
    plain,
    promote,
    tensor_of,
    values_of,
)
from adjoint.tensor.table import ops


def _declare_like(name):
    make = getattr(numpy, f"{name}_like")

    def like(a: Array, /, dtype=None, order="K", subok=True, shape=None, *, device=None):
        kind = None if dtype is None else numpy_dtype(dtype)
        if hasattr(a._array, "batches"):
            return cast(ops.zeros_like(a) if name != "ones" else ops.ones_like(a), kind)
        return new_tensor(make(a._array, dtype=kind, order=order, shape=plain(shape)))

    like.__name__ = f"{name}_like"
    like.__doc__ = f"{name}() of the shape and, unless another is given, the dtype of a Tensor; a constant."
    return like


for _name in ("zeros", "ones", "empty"):
    function(f"{_name}_like")(_declare_like(_name))


@function("full_like")
def full_like(a: Array, fill_value: Array, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """A value repeated to the shape of a Tensor; differentiable by the value."""
    shape = tuple(a.shape) if shape is None else plain(shape)
    value = cast(fill_value, kind_of(a) if dtype is None else dtype)
    return ops.expand(value, (shape,) if isinstance(shape, int) else shape).clone()


# from data, where like= is a Tensor ---------------------------------------------------------------------------------


#: The meaning of the values that NumPy, SciPy and scikit-learn pass for copy=.
_COPY = {numpy._CopyMode.ALWAYS: True, numpy._CopyMode.NEVER: False, numpy._CopyMode.IF_NEEDED: None}


def convert(a, dtype=None, copy=None, ndmin=0, order=None):
    """Data as a Tensor, a copy if requested; a Tensor keeps its history."""
    copy = _COPY.get(copy, copy)
    tensor = tensor_of(a)
    result = cast(tensor, dtype)
    if copy is False and result is not a:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    if (copy and result is tensor) or order == "F":
        result = result.clone() if order != "F" else _in_columns(result)
    while result.ndim < ndmin:
        result = ops.unsqueeze(result, 0)
    return result


def _in_columns(a):
    """The Tensor in Fortran order: elements along its first axis are contiguous."""
    order = tuple(range(a.ndim))[::-1]
    return ops.permute(ops.permute(a, order).contiguous(), order)


@function("array")
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, ndmax=0, like=None):
    """Data as a Tensor; Tensors in it stay in the graph."""
    return convert(object, dtype, copy, ndmin, order)


@function("asarray")
def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """Data as a Tensor, itself if it is one."""
    return convert(a, dtype, copy, 0, order)


@function("asanyarray")
def asanyarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """Data as a Tensor, itself if it is one."""
    return convert(a, dtype, copy, 0, order)


@function("ascontiguousarray")
def ascontiguousarray(a, dtype=None, *, like=None):
    """Data as a Tensor of at least one axis, row by row in memory."""
    return convert(a, dtype, None, 1).contiguous()


@function("asfortranarray")
def asfortranarray(a, dtype=None, *, like=None):
    """Data as a Tensor, column by column in memory."""
    return convert(a, dtype, None, 1, "F")


#: The flags of require() by their first letters.
_FLAGS = {
    "C": "C CONTIGUOUS C_CONTIGUOUS", "F": "F FORTRAN F_CONTIGUOUS", "A": "A ALIGNED", "W": "W WRITEABLE",
    "O": "O OWNDATA", "E": "E ENSUREARRAY",
}  # fmt: skip
_LETTERS = {name: letter for letter, names in _FLAGS.items() for name in names.split()}


def _flags(requirements):
    """The letters of flags, which are given as a list of names, as one name, or as a text of letters."""
    one = isinstance(requirements, str) and requirements.upper() in _LETTERS
    names = [requirements] if one else requirements or ()
    unknown = [each for each in names if not isinstance(each, str) or each.upper() not in _LETTERS]
    if unknown:
        raise ValueError(f"require() knows the requirements {', '.join(_LETTERS)}, not {unknown[0]!r}")
    return {_LETTERS[each.upper()] for each in names}


@function("require")
def require(a, dtype=None, requirements=None, *, like=None):
    """Data as a Tensor in a memory order: row by row ("C") or column by column ("F")."""
    flags = _flags(requirements)
    if {"C", "F"} <= flags:
        raise ValueError("Cannot specify both 'C' and 'F' order")
    result = convert(a, dtype, order="F" if "F" in flags else None)
    return result.contiguous() if "C" in flags else result


@function("copy")
def copy(a: Array, order="K", subok=False):
    """A copy, in the graph."""
    return _in_columns(a.clone()) if order == "F" else a.clone()


@function("astype")
def astype(x: Array, dtype, /, *, copy=True, device=None):
    """A Tensor with another dtype."""
    result = cast(x, dtype)
    return result.clone() if copy and result is x else result


@function("full")
def full(shape, fill_value: Array, dtype=None, order="C", *, device=None, like=None):
    """A value repeated to a shape; differentiable by the value."""
    shape = plain(shape)
    return ops.expand(cast(fill_value, dtype), (shape,) if isinstance(shape, int) else shape).clone()


def _made_by(name):
    make = getattr(numpy, name)

    def create(*args, like=None, **kwargs):
        values = constant(args)
        if "dtype" in kwargs:
            kwargs["dtype"] = numpy_dtype(kwargs["dtype"])
        return new_tensor(make(*values, **kwargs))

    create.__name__ = name
    create.__doc__ = f"numpy.{name}() as a Tensor, where like= is one; a constant."
    return create


#: Makers whose arguments are not differentiated.
MADE_BY_NUMPY = (
    "zeros", "ones", "empty", "eye", "identity", "tri", "frombuffer", "fromfile", "fromiter", "fromstring", "loadtxt",
    "genfromtxt",
)  # fmt: skip
for _name in MADE_BY_NUMPY:
    FUNCTIONS[_name] = _made_by(_name)


@function("fromfunction")
def fromfunction(function, shape, *, dtype=float, like=None, **kwargs):
    """The result of a function for the coordinates of each element."""
    return function(*[new_tensor(each) for each in numpy.indices(shape, dtype=numpy_dtype(dtype))], **kwargs)


# sequences ------------------------------------------------------------------------------------------------------------


@function("arange")
def arange(start_or_stop: Operand, /, stop: Operand = None, step: Operand = 1, *, dtype=None, device=None, like=None):
    """Numbers from start up to but not including stop; differentiated by start and step."""
    start, stop = (0, start_or_stop) if stop is None else (start_or_stop, stop)
    ends = [values_of(each).item() if is_tensor(each) else each for each in (start, stop, step)]
    values = numpy.arange(*ends, dtype=None if dtype is None else numpy_dtype(dtype))
    if not (is_tensor(start) or is_tensor(step)):
        return new_tensor(values)
    steps = new_tensor(numpy.arange(len(values), dtype=values.dtype))
    return cast(start + steps * step, values.dtype)


@function("linspace")
def linspace(start: Operand, stop: Operand, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """`num` numbers from start to stop, evenly spaced; differentiated by both."""
    num = int(plain(num))
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    first, last, _ = promote(start, stop, 0.0)
    gaps = num - 1 if endpoint else num
    step = (last - first) / gaps if gaps > 0 else (last - first) * numpy.nan
    shape = [num, *numpy.broadcast_shapes(tuple(first.shape), tuple(last.shape))]
    steps = new_tensor(numpy.arange(num, dtype=numpy.dtype(float)).reshape([num] + [1] * (len(shape) - 1)))
    steps = cast(steps, kind_of(first).type(0).real.dtype)
    if gaps > 0:
        values = steps * step + first
        if endpoint:
            # met exactly
            values = ops.cat([values[:-1], ops.expand(last, shape[1:])[None]], 0)
    else:
        values = ops.expand(first, shape)
    values = cast(ops.floor(values) if _is_whole(dtype) else values, dtype)
    dim = axis_of(axis, len(shape))
    values = ops.permute(values, (*range(1, dim + 1), 0, *range(dim + 1, len(shape)))) if dim else values
    return (values, step) if retstep else values


def _is_whole(dtype):
    return dtype is not None and numpy_dtype(dtype).kind in "iu"


@function("logspace")
def logspace(start: Operand, stop: Operand, num=50, endpoint=True, base: Operand = 10.0, dtype=None, axis=0):
    """`num` numbers from base**start to base**stop, evenly spaced on a logarithmic scale."""
    powers = linspace(start, stop, num, endpoint, axis=axis)
    if is_tensor(base) and base.ndim:
        base = ops.unsqueeze(base, axis)
    return cast(base**powers, dtype)


@function("geomspace")
def geomspace(start: Operand, stop: Operand, num=50, endpoint=True, dtype=None, axis=0):
    """`num` numbers from start to stop in geometric progression."""
    first, last, _ = promote(start, stop, numpy.zeros(()))
    if bool(ops.any(first == 0)) or bool(ops.any(last == 0)):
        raise ValueError("Geometric sequence cannot include zero")
    ratio = last / first
    if kind_of(ratio).kind != "c" and bool(ops.any(ratio < 0)):
        return cast(first * numpy.nan * linspace(0.0, 1.0, num, endpoint, axis=axis), dtype)
    powers = linspace(ops.log(ratio) * 0, ops.log(ratio), num, endpoint, axis=axis)
    return cast(first * ops.exp(powers), dtype)
