"""NumPy's ufuncs over Tensors: each by its declared operation, with NumPy's promotion, and all of a ufunc's methods."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from adjoint.core.graph import new_tensor
from adjoint.core.operations.operation import Operation
from adjoint.core.recorded import operations
from adjoint.interop.numpy_functions import WHOLE
from adjoint.interop.operands import (
    axes_of,
    axis_of,
    cast,
    constant,
    is_tensor,
    is_tracked,
    kind_of,
    number,
    numpy_dtype,
    operand,
    tensor_of,
    values_of,
    write,
)
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Function = Callable[..., Any]
_BOOL = numpy.dtype(bool)


class KnownUfunc(NamedTuple):
    """A ufunc over Tensors that have its loop's dtypes already."""

    ufunc: numpy.ufunc
    function: Function


#: The ufuncs that Tensors know.
UFUNCS: dict[numpy.ufunc, KnownUfunc] = {}

#: Ufuncs whose operation is called directly if all arguments have one floating point dtype, which the result keeps.
QUICK: dict[numpy.ufunc, Operation] = {}

#: Ufuncs that another ufunc replaces for these arguments.
_OTHER_RESULTS = frozenset((numpy.float_power,))


def ufunc_over_tensors(ufunc: numpy.ufunc, function: Function, real: Operation | None = None) -> None:
    """Declare the function that computes a ufunc over Tensors; real: a separate operation for real Tensors, or None.

    Raises ValueError if the ufunc is known already.
    """
    if ufunc in UFUNCS:
        raise ValueError(f"{ufunc.__name__} is declared twice")
    UFUNCS[ufunc] = KnownUfunc(ufunc, function)
    of_floats = any(loop.startswith("d" * ufunc.nin + "->") for loop in ufunc.types) and ufunc not in _OTHER_RESULTS
    quick = function if real is None else real
    if isinstance(quick, Operation) and ufunc.nin == len(quick.arguments.inputs) <= 2 and of_floats:
        QUICK[ufunc] = quick
        if ufunc.nin == 1:
            WHOLE[ufunc] = quick


# promotion ------------------------------------------------------------------------------------------------------------


def loop_kinds(
    ufunc: numpy.ufunc, operands: Sequence[Any], dtype: Any = None, signature: Any = None, casting: str = "same_kind"
) -> tuple[Any, ...]:
    """The dtypes of the loop that NumPy would run: of the inputs, then of the results.

    Raises TypeError where there is none, or where casting forbids it.
    """
    kinds = tuple(kind_of(v) if is_tensor(v) else type(v) for v in operands)
    if bool in kinds:
        kinds = tuple(_BOOL if kind is bool else kind for kind in kinds)
    if dtype is not None:
        signature = (None,) * ufunc.nin + (numpy_dtype(dtype),) * ufunc.nout
    elif isinstance(signature, tuple):
        signature = tuple(None if kind is None else numpy_dtype(kind) for kind in signature)
    options: dict[str, Any] = {} if signature is None else {"signature": signature}
    return ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout), casting=casting, **options)  # type: ignore[arg-type]


# call -----------------------------------------------------------------------------------------------------------------


def call(
    ufunc: numpy.ufunc, *inputs: Any, out: Any = None, where: Any = True, dtype: Any = None, casting: str = "same_kind",
    sig: Any = None, signature: Any = None, order: str = "K", subok: bool = True, **axes: Any,
) -> Any:  # fmt: skip
    """ufunc(*inputs) over Tensors. Axes are those of generalized ufuncs, as matmul is one."""
    operands = [operand(value) for value in inputs]
    if not any(is_tensor(value) for value in operands):
        operands = [tensor_of(value) for value in operands]
    kinds = loop_kinds(ufunc, operands, dtype, sig if signature is None else signature, casting)
    values = [_in_range(value, kind) for value, kind in zip(operands, kinds[: ufunc.nin], strict=True)]
    outs = (out if isinstance(out, tuple) else (out,) * ufunc.nout) if out is None or isinstance(out, tuple) else (out,)
    mask = None if where is True else cast(tensor_of(where), _BOOL)
    if mask is not None:
        values = [ops.where(mask, value, number(1, kind)) for value, kind in zip(values, kinds, strict=False)]
    values_of_call = _along(ufunc, values, axes) if axes else compute(ufunc, values)
    results = values_of_call if ufunc.nout > 1 else (values_of_call,)
    finished = [
        _finish(ufunc, result, kind, target, mask, casting)
        for result, kind, target in zip(results, kinds[ufunc.nin :], outs, strict=True)
    ]
    return tuple(finished) if ufunc.nout > 1 else finished[0]


def compute(ufunc: numpy.ufunc, values: Sequence[Tensor]) -> Any:
    """The results for Tensors of the loop's dtypes: of whole numbers, which have no derivatives, NumPy's own."""
    arrays = [value._array for value in values]
    if any(array.dtype.kind not in "biu" or hasattr(array, "batches") for array in arrays):
        return UFUNCS[ufunc].function(*values)
    result = ufunc(*arrays)
    return tuple(map(tensor_of, result)) if ufunc.nout > 1 else tensor_of(result)


def _in_range(value: Any, kind: numpy.dtype[Any]) -> Any:
    """An operand as its loop takes it. Raises OverflowError for a Python integer outside the dtype's range."""
    return cast(value, kind) if is_tensor(value) else number(value, kind)


def _finish(ufunc: numpy.ufunc, result: Tensor, kind: Any, target: Any, mask: Any, casting: str) -> Any:
    result = cast(result, kind)
    if mask is not None:
        rest = ops.zeros_like(result) if target is None else tensor_of(target)
        result = ops.where(mask, result, cast(rest, kind))
    return result if target is None else write(target, result, ufunc.__name__, casting)


# properties of a ufunc for its methods ------------------------------------------------------------------------------


#: ufunc.reduce over several axes at once.
REDUCTIONS: dict[numpy.ufunc, Function] = {
    numpy.add: lambda a, axes: ops.sum(a, axes),
    numpy.multiply: lambda a, axes: ops.prod(a, axes),
    numpy.maximum: lambda a, axes: _extremum(ops.amax, numpy.argmax, a, axes),
    numpy.minimum: lambda a, axes: _extremum(ops.amin, numpy.argmin, a, axes),
    numpy.logaddexp: lambda a, axes: ops.logsumexp(a, axes),
    numpy.logical_and: lambda a, axes: _one_by_one(ops.all, a, axes),
    numpy.logical_or: lambda a, axes: _one_by_one(ops.any, a, axes),
}

#: ufunc.accumulate along one axis.
ACCUMULATIONS: dict[numpy.ufunc, Function] = {
    numpy.add: lambda a, axis: ops.cumsum(a, axis),
    numpy.multiply: lambda a, axis: ops.cumprod(a, axis),
    numpy.maximum: lambda a, axis: ops.cummax(a, axis)[0],
    numpy.minimum: lambda a, axis: ops.cummin(a, axis)[0],
    numpy.logaddexp: lambda a, axis: ops.logcumsumexp(a, axis),
}


def _extremum(operation: Function, place_of: Function, a: Tensor, axes: tuple[int, ...]) -> Tensor:
    """An extremum; of complex numbers, which NumPy orders by their real parts first, the place says which."""
    if kind_of(a).kind != "c":
        return operation(a, axes)
    rows = _in_front(a, axes)
    rows = rows if len(axes) > 1 else rows[...]
    indices = new_tensor(numpy.expand_dims(place_of(values_of(rows), 0), 0))
    return ops.gather(rows, 0, indices)[0]


def _one_by_one(operation: Function, a: Tensor, axes: tuple[int, ...]) -> Tensor:
    for axis in sorted(axes, reverse=True):
        a = operation(a, axis)
    return a


# reduce ---------------------------------------------------------------------------------------------------------------


def _reduced_kind(ufunc: numpy.ufunc, a: Tensor, dtype: Any) -> tuple[Any, Any]:
    """The dtypes of a reduction's computation and of its result."""
    source_kind = kind_of(a)
    signature = None if dtype is None else (numpy_dtype(dtype), numpy_dtype(dtype), None)
    if dtype is None and ufunc in (numpy.add, numpy.multiply) and source_kind.kind in "biu":
        kind = numpy.result_type(source_kind, "u8" if source_kind.kind == "u" else "i8")
        signature = (kind, kind, None)
    if ufunc in (numpy.logical_and, numpy.logical_or, numpy.logical_xor):
        return _BOOL, _BOOL
    if dtype is None and source_kind.kind in "fc" and ufunc in REDUCTIONS:
        return source_kind, source_kind
    options: dict[str, Any] = {} if signature is None else {"signature": signature}
    options["casting"] = "unsafe"  # as NumPy's reductions cast
    kinds = ufunc.resolve_dtypes((None, source_kind, None), reduction=True, **options)
    return kinds[1], kinds[2]


def _restore(result: Tensor, axes: tuple[int, ...]) -> Tensor:
    for axis in sorted(axes):
        result = ops.unsqueeze(result, axis)
    return result


def reduce(
    ufunc: numpy.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, keepdims: bool = False,
    initial: Any = numpy._NoValue, where: Any = True,
) -> Any:  # fmt: skip
    """ufunc.reduce over Tensors. Raises ValueError over no elements where the ufunc has no identity."""
    a = tensor_of(array)
    out = out[0] if isinstance(out, tuple) else out
    working, kind = _reduced_kind(ufunc, a, dtype)
    axes = axes_of(axis, a.ndim) if a.ndim or axis not in (0, -1) else ()
    a = cast(a, working)
    start = None if initial is numpy._NoValue or initial is None else _in_range(operand(initial), working)
    mask = None if where is True else ops.expand(cast(tensor_of(where), _BOOL), a.shape)
    identity = None if initial is None else ufunc.identity
    if mask is not None:
        if start is None and identity is None:
            raise ValueError(
                f"reduction operation '{ufunc.__name__}' does not have an identity, so to use a where mask one has to "
                "specify 'initial'"
            )
        if ufunc in REDUCTIONS:
            # an extremum has no identity, but its start may occur again
            a = ops.where(mask, a, number(identity, working) if identity is not None else start)
            mask = None
    empty = any(a.shape[each] == 0 for each in axes)
    if empty and start is None and identity is None:
        raise ValueError(f"zero-size array to reduction operation {ufunc.__name__} which has no identity")
    if not axes:
        result = a
    elif empty and (ufunc not in REDUCTIONS or identity is None):
        shape = [n for i, n in enumerate(a.shape) if i not in axes]
        result = ops.expand(start if start is not None else number(identity, working), shape)
        start = None
    elif ufunc in REDUCTIONS:
        result = REDUCTIONS[ufunc](a, axes)
    else:
        result = _fold(ufunc, a, axes, mask, start if start is not None else identity)
        start = None
    if start is not None:
        result = _of_two(ufunc, start, result)
    result = cast(result, kind)
    result = _restore(result, axes) if keepdims else result
    return result if out is None else write(out, result, ufunc.__name__)


def _fold(ufunc: numpy.ufunc, a: Tensor, axes: tuple[int, ...], mask: Any, start: Any) -> Tensor:
    """The elements along axes in one sequence, without elements outside the mask."""
    several = len(axes) > 1
    if several and not _reorderable(ufunc):
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified"
        )
    rows, masks = _in_front(a, axes), None if mask is None else _in_front(mask, axes)
    function = functools.partial(_of_two, ufunc)
    members = list(rows.unbind(0))
    if start is None or (mask is None and not is_tensor(start)):
        total, first = members[0], 1
    else:
        total, first = ops.expand(_in_range(start, kind_of(a)), members[0].shape), 0
    for i in range(first, len(members)):
        step = function(total, members[i])
        total = step if masks is None else ops.where(masks[i], step, total)
    return total


def _of_two(ufunc: numpy.ufunc, a: Tensor, b: Tensor) -> Tensor:
    return compute(ufunc, (a, b))


def _reorderable(ufunc: numpy.ufunc) -> bool:
    return ufunc not in (numpy.subtract, numpy.divide, numpy.power, numpy.floor_divide, numpy.remainder, numpy.fmod)


def _in_front(a: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The given axes as one in front."""
    rest = [axis for axis in range(a.ndim) if axis not in axes]
    front = ops.permute(a, (*axes, *rest))
    return ops.reshape(front, (-1, *[a.shape[axis] for axis in rest])) if len(axes) > 1 else front


# accumulate, reduceat, outer ------------------------------------------------------------------------------------------


def accumulate(ufunc: numpy.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """ufunc.accumulate over Tensors."""
    a = tensor_of(array)
    out = out[0] if isinstance(out, tuple) else out
    if not a.ndim:
        raise TypeError("cannot accumulate on a scalar")
    working, kind = _reduced_kind(ufunc, a, dtype)
    dim = axis_of(axis, a.ndim)
    a = cast(a, working)
    if ufunc in ACCUMULATIONS:
        result = ACCUMULATIONS[ufunc](a, dim)
    elif not a.shape[dim]:
        result = a
    else:
        function = functools.partial(_of_two, ufunc)
        totals: list[Tensor] = []
        for member in a.unbind(dim):
            totals.append(cast(function(totals[-1], member), kind) if totals else member)
        result = ops.stack(totals, dim)
    result = cast(result, kind)
    return result if out is None else write(out, result, ufunc.__name__)


def reduceat(ufunc: numpy.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """ufunc.reduceat over Tensors: one reduction for each index, up to the next one."""
    a = tensor_of(array)
    dim = axis_of(axis, a.ndim)
    out = out[0] if isinstance(out, tuple) else out
    starts = numpy.asarray(constant(indices))
    n = a.shape[dim]
    for start in starts:
        if not 0 <= start < n:
            raise IndexError(f"index {start} out-of-bounds in {ufunc.__name__}.reduceat [0, {n})")
    pieces = []
    for start, end in zip(starts.tolist(), [*starts[1:].tolist(), n], strict=True):
        part = a.narrow(dim, start, max(end - start, 1))
        pieces.append(reduce(ufunc, part, dim, dtype))
    _, kind = _reduced_kind(ufunc, a, dtype)
    shape = [*a.shape[:dim], 0, *a.shape[dim + 1 :]]
    result = ops.stack(pieces, dim) if pieces else new_tensor(numpy.zeros(shape, kind))
    return result if out is None else write(out, result, ufunc.__name__)


def outer(ufunc: numpy.ufunc, a: Any, b: Any, **options: Any) -> Any:
    """ufunc.outer over Tensors: the ufunc of all pairs."""
    left, right = tensor_of(a), tensor_of(b)
    left = ops.reshape(left, (*left.shape, *[1] * right.ndim))
    return call(ufunc, left, right, **options)


# at -------------------------------------------------------------------------------------------------------------------


def at(ufunc: numpy.ufunc, target: Any, indices: Any, *others: Any) -> None:
    """ufunc.at: a Tensor modified in place at indices, once for each occurrence of an index.

    Repeated indices are handled in rounds, none of which has an index twice.
    Raises TypeError if another operand requires grad and the target is an array or has integers.
    """
    if not is_tensor(target):
        if any(is_tensor(value) and is_tracked(value) for value in others):
            raise TypeError(
                f"{ufunc.__name__}.at: the first operand is an array, which cannot hold the history of Tensors; "
                "make it a Tensor, or detach() the others"
            )
        ufunc.at(target, constant(indices), *map(constant, others))
        return
    where = tuple(map(constant, indices)) if isinstance(indices, tuple) else constant(indices)
    positions = numpy.arange(target.numel()).reshape(tuple(target.shape))[where]
    values = [tensor_of(value) for value in others]
    flat = [ops.reshape(ops.expand(value, numpy.shape(positions)), (-1,)) for value in values]
    order = numpy.ravel(positions)
    rounds = _rounds(order)
    for number_of_round in range(int(rounds.max(initial=-1)) + 1):
        members = numpy.flatnonzero(rounds == number_of_round)
        spots = numpy.unravel_index(order[members], tuple(target.shape)) if target.ndim else ()
        current = target[spots] if target.ndim else target.clone()
        parts = [value[members] for value in flat]
        result = call(ufunc, current, *(parts if target.ndim else [part[0] for part in parts]))
        if is_tracked(result) and kind_of(target).kind in "biu":
            raise TypeError(
                f"{ufunc.__name__}.at: a result that requires grad would be rounded to {kind_of(target)}, which has no "
                "gradient; give a Tensor of a floating point dtype, or detach() the operands"
            )
        target[spots if target.ndim else ...] = cast(result, kind_of(target))


def _rounds(indices: Any) -> Any:
    """For each place how often it was named before.

    >>> _rounds(numpy.array([3, 5, 3, 3]))
    array([0, 0, 1, 2])
    """
    order = numpy.argsort(indices, kind="stable")
    ordered = indices[order]
    new = numpy.ones(len(indices), bool)
    new[1:] = ordered[1:] != ordered[:-1]
    starts = numpy.flatnonzero(new)
    counts = numpy.diff(numpy.append(starts, len(indices)))
    result = numpy.empty(len(indices), int)
    result[order] = numpy.arange(len(indices)) - numpy.repeat(starts, counts)
    return result


METHODS: dict[str, Function] = {
    "__call__": call, "reduce": reduce, "accumulate": accumulate, "reduceat": reduceat, "outer": outer, "at": at,
}  # fmt: skip


# generalized ufuncs ---------------------------------------------------------------------------------------------------


def _along(ufunc: numpy.ufunc, values: Sequence[Tensor], axes: dict[str, Any]) -> Tensor:
    """A generalized ufunc with core axes at other positions."""
    inputs, _, result = str(ufunc.signature).partition("->")
    cores = [len([d for d in core.strip("() ").split(",") if d]) for core in (*inputs.split("),("), result)]
    keepdims = axes.get("keepdims", False)
    if "axes" in axes:
        axes_of_operands = [(each,) if isinstance(each, int) else tuple(each) for each in axes["axes"]]
    elif "axis" in axes:
        axes_of_operands = [(axes["axis"],)] * ufunc.nin
    else:
        axes_of_operands = [tuple(range(-n, 0)) for n in cores[:-1]]
    operands = [
        ops.permute(v, _to_the_end(v.ndim, operand_axes)) if operand_axes else v
        for v, operand_axes in zip(values, axes_of_operands, strict=False)
    ]
    results = UFUNCS[ufunc].function(*operands)
    if keepdims:
        operand_axes = axes_of_operands[0]
        return _restore(results, axes_of(operand_axes, results.ndim + len(operand_axes)))
    if len(axes_of_operands) > ufunc.nin and axes_of_operands[-1]:
        order = _to_the_end(results.ndim, axes_of_operands[-1])
        return ops.permute(results, tuple(numpy.argsort(order).tolist()))
    return results


def _to_the_end(ndim: int, axes: tuple[int, ...]) -> tuple[int, ...]:
    last = axes_of(axes, ndim)
    return (*[axis for axis in range(ndim) if axis not in last], *last)


# the table ------------------------------------------------------------------------------------------------------------


def _divmod(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    return ops.floor_divide(a, b), ops.remainder(a, b)


def _modf(a: Tensor) -> tuple[Tensor, Tensor]:
    whole = ops.trunc(a)
    return ops.copysign(ops.where(ops.isinf(a), number(0, kind_of(a)), a - whole), a.detach()), whole


def _with_nan(a: Tensor, result: Tensor) -> Tensor:
    """The result, with NaN where the argument is NaN; PyTorch's step functions give 0 there."""
    return result if kind_of(a).kind != "f" else ops.where(ops.isnan(a), a.detach(), result)


def _sign(a: Tensor) -> Tensor:
    return _with_nan(a, ops.sgn(a))


def _heaviside(a: Tensor, b: Tensor) -> Tensor:
    return _with_nan(a, ops.heaviside(a, b))


def _rint(a: Tensor) -> Tensor:
    return ops.round(a) if kind_of(a).kind != "c" else ops.complex(ops.round(a.real), ops.round(a.imag))


def _frexp(a: Tensor) -> tuple[Tensor, Tensor]:
    mantissa, exponent = ops.frexp(a)
    return mantissa, exponent


def _ldexp(a: Tensor, exponent: Tensor) -> Tensor:
    return ops.times_power_of_two(a, exponent)


def _vecdot(a: Tensor, b: Tensor) -> Tensor:
    for position, each in enumerate((a, b)):
        if not each.ndim:
            raise ValueError(
                f"vecdot: Input operand {position} does not have enough dimensions (has 0, gufunc core with signature "
                "(n),(n)->() requires 1)"
            )
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            "vecdot: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n),(n)->() "
            f"(size {b.shape[-1]} is different from {a.shape[-1]})"
        )
    return ops.sum(ops.conj(a) * b, -1)


def _matvec(a: Tensor, b: Tensor) -> Tensor:
    return ops.squeeze(ops.matmul(a, ops.unsqueeze(b, -1)), -1)


def _vecmat(a: Tensor, b: Tensor) -> Tensor:
    return ops.squeeze(ops.matmul(ops.unsqueeze(ops.conj(a), -2), b), -2)


def _ordering(ufunc: numpy.ufunc, operation: Operation) -> Function:
    """A comparison or an extremum; torch has none of complex numbers, NumPy compares their real parts first."""

    def run(*values: Tensor) -> Tensor:
        if not any(is_tensor(value) and kind_of(value).kind == "c" for value in values):
            return operation(*values)
        arrays = [values_of(tensor_of(value)) for value in values]
        result = ufunc(*arrays)
        if result.dtype == bool:
            return new_tensor(numpy.asarray(result))
        selection = tensor_of(values[-1])
        for value, array in zip(reversed(values[:-1]), reversed(arrays[:-1]), strict=True):
            selection = ops.where(new_tensor(numpy.asarray(result == array)), value, selection)
        return selection

    return run


def _of_constants(ufunc: numpy.ufunc) -> Function:
    """A ufunc whose results are integers or truth values: run on the arrays."""

    @functools.wraps(ufunc)
    def run(*values: Tensor) -> Tensor:
        return new_tensor(numpy.asarray(ufunc(*[value._array for value in values])))

    return run


#: NumPy's ufuncs by name, and the operations that they are (where the names differ).
_NAMES = {
    "absolute": "abs", "fabs": "abs", "add": "add", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh", "bitwise_and": "bitwise_and",
    "bitwise_or": "bitwise_or", "bitwise_xor": "bitwise_xor", "cbrt": "cbrt", "ceil": "ceil", "conjugate": "conj",
    "copysign": "copysign", "cos": "cos", "cosh": "cosh", "deg2rad": "deg2rad", "degrees": "rad2deg",
    "divide": "true_divide", "equal": "eq", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "float_power": "pow",
    "floor": "floor", "floor_divide": "floor_divide", "fmax": "fmax", "fmin": "fmin", "fmod": "fmod", "gcd": "gcd",
    "greater": "gt", "greater_equal": "ge", "hypot": "hypot", "invert": "bitwise_not",
    "isfinite": "isfinite", "isinf": "isinf", "isnan": "isnan", "lcm": "lcm", "left_shift": "bitwise_left_shift",
    "less": "lt", "less_equal": "le", "log": "log", "log10": "log10", "log1p": "log1p", "log2": "log2",
    "logaddexp": "logaddexp", "logaddexp2": "logaddexp2", "logical_and": "logical_and", "logical_not": "logical_not",
    "logical_or": "logical_or", "logical_xor": "logical_xor", "matmul": "matmul", "maximum": "maximum",
    "minimum": "minimum", "multiply": "mul", "negative": "neg", "nextafter": "nextafter", "not_equal": "ne",
    "positive": "clone", "power": "pow", "rad2deg": "rad2deg", "radians": "deg2rad", "reciprocal": "reciprocal",
    "remainder": "remainder", "right_shift": "bitwise_right_shift",
    "signbit": "signbit", "sin": "sin", "sinh": "sinh", "sqrt": "sqrt", "square": "square", "subtract": "sub",
    "tan": "tan", "tanh": "tanh", "trunc": "trunc",
}  # fmt: skip

_ORDERINGS = ("gt", "ge", "lt", "le", "maximum", "minimum", "fmax", "fmin")

_FUNCTIONS: dict[str, Function] = {
    "divmod": _divmod, "modf": _modf, "frexp": _frexp, "ldexp": _ldexp, "vecdot": _vecdot, "matvec": _matvec,
    "vecmat": _vecmat, "rint": _rint, "sign": _sign,
    "heaviside": _heaviside,
}  # fmt: skip


def _fill() -> None:
    for name, rule_name in _NAMES.items():
        ufunc = getattr(numpy, name)
        ufunc_over_tensors(ufunc, operations[rule_name])
        if rule_name in _ORDERINGS:
            UFUNCS[ufunc] = KnownUfunc(ufunc, _ordering(ufunc, operations[rule_name]))
    for name, function in _FUNCTIONS.items():
        ufunc_over_tensors(getattr(numpy, name), function)
    for name in ("bitwise_count",):
        ufunc_over_tensors(getattr(numpy, name), _of_constants(getattr(numpy, name)))
    clip = numpy._core.umath.clip  # type: ignore[attr-defined]
    ufunc_over_tensors(clip, _ordering(clip, operations["clamp"]))


_fill()
del _fill
