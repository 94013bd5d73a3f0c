"""NumPy's functions and ufuncs for arrays that hold Tensors, by the table of functions over Tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.kernels.linalg.errors import LinAlgError
from adjoint.arrays.namespace import is_array
from adjoint.core.modes.interceptors import STRUCTURE, interceptor_at
from adjoint.core.modes.state import current
from adjoint.core.operations.dependence import lost_derivative
from adjoint.interop.numpy_array.base import (
    ARRAY,
    ArrayHolder,
    holds_array,
    in_double,
    unwrap,
    values,
    wrap,
)
from adjoint.interop.numpy_array.writes import Memory, has_view, make_writable, note_views, to_read
from adjoint.interop.numpy_functions import WHOLE
from adjoint.interop.operands import carries_derivative, holds_tensor, tensors_in
from adjoint.interop.reasons import DISCRETE, NoDerivativeError, own_reason
from adjoint.tensor.protocol_hooks import protocols
from adjoint.tensor.table import ops
from adjoint.transforms.passing import calls_back

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Function = Callable[..., Any]
_ndarray = numpy.ndarray
_OBJECT = numpy.dtype(object)
Kind = type[ArrayHolder]


def _of_numpy(names: Any) -> set[Any]:
    return {getattr(numpy, name) for name in names if hasattr(numpy, name)}


#: Functions whose derivative is zero wherever there is one.
FLAT: set[Any] = _of_numpy(("ceil", "fix", "floor", "floor_divide", "rint", "sign", "trunc", "round", "around"))

#: Functions whose results are memory of their own, to be written to.
NEW_MEMORY: set[Any] = _of_numpy((
    "array", "copy", "empty", "empty_like", "eye", "full", "full_like", "identity", "ones", "ones_like", "zeros",
    "zeros_like",
))  # fmt: skip

#: Functions whose results have no derivative: they get plain values.
NO_TRACE: set[Any] = FLAT | _of_numpy((
    *(name for name in DISCRETE if "." not in name), "all", "any", "array2string", "array_repr", "array_str",
    "broadcast_shapes", "empty_like", "equal", "greater", "greater_equal", "isfinite", "isinf", "isnan", "isscalar",
    "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal", "ones_like",
    "signbit", "zeros_like",
))  # fmt: skip

#: Functions that have a derivative by their weights alone, and the position of these.
BY_WEIGHTS: dict[Any, int] = {numpy.bincount: 1}

#: Functions that write into their first argument.
WRITING: set[Any] = _of_numpy(("copyto", "put", "place", "putmask", "put_along_axis", "fill_diagonal"))

#: Functions that call functions of the user's, which get arrays, too.
CALLING: set[Any] = _of_numpy(("apply_along_axis", "apply_over_axes", "piecewise"))

#: What stands in the place of NumPy's functions in a block of `adjoint.scipy.patched`, also for methods of arrays that
#: name them, and these functions.
ORIGINALS: dict[Any, Function] = {}

#: What says nothing of its own about ufuncs.
_SILENT = (None, numpy.ndarray.__array_ufunc__)


def overrides(inputs: Any) -> bool:
    """True if a foreign array among the operands decides what a ufunc does, as those of xarray do; a Tensor, too.

    Arrays that Tensors may hold are none, nor are subclasses of ndarray, as PennyLane's.
    """
    for value in inputs:
        kind = type(value)
        if kind is float or kind is _ndarray or issubclass(kind, ArrayHolder):
            continue
        if getattr(kind, "__array_ufunc__", None) not in _SILENT and not is_array(value):
            return True
    return False


def run_ufunc(kind: Kind, ufunc: numpy.ufunc, method: str, inputs: Any, kwargs: Any) -> Any:
    """A ufunc, or a method of one."""
    if overrides(inputs):
        return getattr(ufunc, method)(*inputs, **kwargs)
    if ufunc in NO_TRACE and not current().batches:
        return _without_derivative(kind, ufunc, getattr(ufunc, method), inputs, kwargs)
    out = kwargs.get("out") if kwargs else None
    if out is None and method == "__call__":
        try:
            return wrap(
                kind, protocols.array_ufunc(ufunc, method, _arguments(inputs, []), kwargs and _arguments(kwargs))
            )
        except NoDerivativeError as error:
            raise without_derivative(kind, error.name) from None
    target = inputs[0] if method == "at" else out
    if target is not None and not holds_array(target):
        return _into_plain(kind, ufunc.__name__, getattr(ufunc, method), inputs, kwargs)
    return _writing_ufunc(kind, ufunc, method, inputs, kwargs, out)


def _into_plain(kind: Kind, name: str, function: Function, args: Any, kwargs: Any) -> Any:
    """A function that writes into a plain array. Raises LostDerivativeError if a derivative would be lost."""
    if any(carries_derivative(tensor) for tensor in tensors_in(unwrap((args, kwargs)))):
        raise lost_derivative(f"the plain array that {name}() writes to", kind._instead, kind._as_constant)
    return function(*values(args), **values(kwargs))


def is_plain_target(function: Function, args: Any, kwargs: Any) -> bool:
    """Whether a function would write into a plain array."""
    target = args[0] if function in WRITING and args else kwargs.get("out")
    return isinstance(target, numpy.ndarray) and not holds_array(target)


def _writing_ufunc(kind: Kind, ufunc: numpy.ufunc, method: str, inputs: Any, kwargs: Any, out: Any) -> Any:
    targets = inputs[:1] if method == "at" else out if type(out) is tuple else (out,)
    # read first: the target may be among the operands
    first = 1 if method == "at" else 0
    operands = _arguments(inputs[first:], [])
    for array in targets:
        if isinstance(array, ArrayHolder):
            array._prepare_write()  # type: ignore[attr-defined]
    operands = (*_arguments(inputs[:first]), *operands)
    result = wrap(kind, protocols.array_ufunc(ufunc, method, operands, _arguments(kwargs)))
    if out is None:
        return result
    return targets[0] if len(targets) == 1 else targets


def dispatch(kind: Kind, function: Function, args: Any, kwargs: Any) -> Any:
    """A function of NumPy on arguments among which there are arrays that hold Tensors."""
    if ORIGINALS:
        function = ORIGINALS.get(function, function)
    if not kwargs and len(args) == 1 and function in WHOLE and function not in NO_TRACE:
        result = _of_whole(kind, WHOLE[function], args[0])
        if result is not None:
            return result
    if function in NO_TRACE and not current().batches:
        return _without_derivative(kind, function, function, args, kwargs)
    if function in BY_WEIGHTS:
        return _by_weights(kind, function, args, kwargs)
    if isinstance(function, numpy.ufunc):
        return run_ufunc(kind, function, "__call__", args, kwargs)
    if (kwargs or function in WRITING) and is_plain_target(function, args, kwargs):
        return _into_plain(kind, function.__name__, function, args, kwargs)
    if function in CALLING:
        args, kwargs = _with_arrays(kind, args), _with_arrays(kind, kwargs)
    with own_words(kind):
        result = _on_tensors(kind, function, args, kwargs)
    arrays = _arrays_in(args)
    if function in NEW_MEMORY and all(array._tensor is not getattr(result, "_tensor", None) for array in arrays):
        return _with_memory(result)
    note_views(result, arrays)
    return result


def _of_whole(kind: Kind, operation: Function, array: Any) -> Any:
    """The quickest way: one array of real floating-point numbers, no further argument. None for other values."""
    if isinstance(array, ArrayHolder):
        tensor = array._tensor
        if tensor._array.dtype.char in "fd" and tensor._array.size:
            return kind._wrap(operation(to_read(array) if Memory.exists else tensor))
    return None


def _without_derivative(kind: Kind, key: Any, function: Function, args: Any, kwargs: Any) -> Any:
    result = function(*values(args), **values(kwargs))
    tracer = interceptor_at(current().interceptors, STRUCTURE)
    if tracer is not None:
        tracer.note_plain(result)
    result = kind._constant(result) if type(result) is not tuple else tuple([kind._constant(part) for part in result])
    return _with_memory(result) if key in NEW_MEMORY else result


def _with_memory(result: Any) -> Any:
    if isinstance(result, ArrayHolder) and result._tensor._view is None:  # type: ignore[attr-defined]
        make_writable(result._tensor)
        result._form = ARRAY
    return result


def _on_tensors(kind: Kind, function: Function, args: Any, kwargs: Any) -> Any:
    if function in WRITING and isinstance(args[0], ArrayHolder):
        others = _arguments(args[1:], [])
        args[0]._prepare_write()  # type: ignore[attr-defined]
        return protocols.array_function(function, (), (args[0]._tensor, *others), _arguments(kwargs, []))
    out = kwargs.get("out")
    if isinstance(out, ArrayHolder):
        result = _on_tensors(kind, function, args, {name: value for name, value in kwargs.items() if name != "out"})
        out[...] = result  # type: ignore[index]
        return out
    if Memory.exists:
        clones: list[Tensor] = []
        result = protocols.array_function(function, (), _arguments(args, clones), _arguments(kwargs, clones))
        if not (clones and has_view(result, clones)):
            return wrap(kind, result)
    return wrap(kind, protocols.array_function(function, (), _arguments(args), _arguments(kwargs)))


def _with_arrays(kind: Kind, arguments: Any) -> Any:
    """Arguments whose functions get arrays for Tensors and give Tensors for arrays."""
    if isinstance(arguments, (list, tuple)):
        return type(arguments)([_with_arrays(kind, member) for member in arguments])
    if isinstance(arguments, dict):
        return {name: _with_arrays(kind, member) for name, member in arguments.items()}
    if not callable(arguments):
        return arguments

    @calls_back
    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        return unwrap(arguments(*wrap(kind, args), **wrap(kind, kwargs)))

    return on_tensors


def _by_weights(kind: Kind, function: Function, args: Any, kwargs: Any) -> Any:
    """A function that is differentiated by its weights, on plain values but for these."""
    position = BY_WEIGHTS[function]
    weights = args[position] if len(args) > position else kwargs.get("weights")
    args, kwargs = values(args), values(kwargs)
    if not holds_array(weights):
        return function(*args, **kwargs)
    if len(args) > position:
        args = (*args[:position], unwrap(weights), *args[position + 1 :])
    else:
        kwargs["weights"] = unwrap(weights)
    return wrap(kind, protocols.array_function(function, (), args, kwargs))


def _arrays_in(args: Any) -> list[Any]:
    members = [member for value in args if type(value) in (list, tuple) for member in value]
    return [value for value in (*args, *members) if isinstance(value, ArrayHolder)]


def _arguments(values: Any, clones: list[Tensor] | None = None) -> Any:
    """Arguments as the table of functions takes them: Tensors for arrays, double precision for the extended one.

    clones: if not None, memory that can be written to is cloned, and the clones are noted there.
    """
    if isinstance(values, dict):
        return {name: _argument(value, clones) for name, value in values.items()} if values else values
    return tuple([_argument(value, clones) for value in values])


def _argument(value: Any, clones: list[Tensor] | None) -> Any:
    if isinstance(value, ArrayHolder):
        return value._tensor if clones is None or not Memory.exists else to_read(value, clones)
    of = type(value)
    if of is float or of is int or of is numpy.float64:
        return value
    if of is list or of is tuple:
        return of([_argument(member, clones) for member in value])
    return in_double(unwrap(value))


def for_arrays(kind: Kind, function: Function, other: Function) -> Function:
    """A function of NumPy that also takes data with differentiable arrays in it; `other` does without these."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if (holds_array(args) or (kwargs and holds_array(kwargs))) and not holds_tensor((args, kwargs)):
            kwargs.pop("like", None)
            return dispatch(kind, function, args, kwargs)
        return other(*args, **kwargs)

    return call


def for_objects(function: Function) -> Function:
    """A function of NumPy that makes arrays, of objects as well: these are the numbers of a differentiable array."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("dtype", args[1] if len(args) > 1 else None)
        if dtype in (object, "O", _OBJECT) and isinstance(args[0], ArrayHolder):
            return objects_of(args[0], kwargs.get("ndmin", 0))
        return function(*args, **kwargs)

    return call


def objects_of(array: Any, ndmin: int = 0) -> Any:
    """The numbers of a differentiable array, which keep their derivatives, as an array of objects."""
    objects = numpy.empty(array.shape, object)
    for index in numpy.ndindex(array.shape):
        objects[index] = array[index]
    return objects.reshape((1,) * (ndmin - objects.ndim) + objects.shape)


class own_words:
    """A with block whose errors are in the words of arrays: what torch's words name, the user never wrote."""

    def __init__(self, kind: Kind):
        self.kind = kind

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, LinAlgError) and "singular" in str(error):
            raise LinAlgError("Singular matrix") from error
        if isinstance(error, LinAlgError) and "positive-definite" in str(error):
            raise LinAlgError("Matrix is not positive definite") from error
        if isinstance(error, NoDerivativeError):
            raise without_derivative(self.kind, error.name) from None


def without_derivative(kind: Kind, name: str) -> Exception:
    """The error for a function of differentiated arrays that has no derivative."""
    reason = own_reason(name)
    why = f"which {reason}" if reason else "of which adjoint has no derivative"
    return lost_derivative(f"the result of {name}(), {why},", kind._instead, kind._as_constant)


def clone(array: ArrayHolder) -> Tensor:
    """The values of an array in memory of their own, which can be written to."""
    return make_writable(ops.clone(array._tensor))
