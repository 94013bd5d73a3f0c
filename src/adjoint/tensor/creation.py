"""Functions that make tensors: from data, filled, in sequences, at random."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from functools import wraps
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar

import numpy

from adjoint.arrays.dtypes import (
    as_dtype,
    bool_,
    dtype,
    from_numpy_dtype,
    get_default_complex_dtype,
    get_default_dtype,
    scalar_dtype,
)
from adjoint.arrays.infer import array_from_data
from adjoint.arrays.layout import as_memory_format, preserve_format, strided, strides_in
from adjoint.arrays.libraries.numpy_namespace import as_strided
from adjoint.arrays.namespace import is_array, namespace, on_device
from adjoint.arrays.promotion import number_as
from adjoint.arrays.size import CPU, as_device, as_int, check_shape, type_name
from adjoint.core import errors
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.holders import TensorHolder, tensor_of_array
from adjoint.core.modes.batches import vmap_batches
from adjoint.core.modes.state import current
from adjoint.core.operations.dependence import check_kept
from adjoint.core.operations.public_functions import skip_wrapper
from adjoint.core.recorded import operations, raw_ops
from adjoint.rules.refusals import check_number
from adjoint.runtime.caches import memoize
from adjoint.runtime.lazy import LateModule
from adjoint.runtime.once import warn_caller
from adjoint.tensor import subclasses

if TYPE_CHECKING:
    from adjoint.arrays.kernels import filling
    from adjoint.core.modes import random as draws
    from adjoint.tensor.tensor import Tensor
else:
    draws = LateModule("adjoint.core.modes.random")
    filling = LateModule("adjoint.arrays.kernels.filling")

Device = Any
F = TypeVar("F", bound=Callable[..., Any])
_REAL = (int, float)


def _wrap(array: Any, requires_grad: bool, function: str, device: Device = None) -> Tensor:
    if device is not None:
        target = as_device(device, function)
        if target != CPU:
            array = on_device(array, target)
    result = new_tensor(array)
    if requires_grad is not False:
        if requires_grad is not True:
            raise TypeError(f"{function}(): argument 'requires_grad' must be bool, not {type_name(requires_grad)}")
        if not errors.is_differentiable(from_numpy_dtype(array.dtype)):
            raise RuntimeError(errors.REQUIRES_GRAD_DTYPE)
        result._requires = True
    return result


def _unwrap(value: object) -> Any:
    if isinstance(value, TensorHolder):
        value = value._tensor
    if not isinstance(value, TensorBase):
        return None
    _check_kept(value, "a new tensor of the values of another")
    return value._array


def _check_kept(value: TensorBase, what: str) -> None:
    state = current()
    if state.differentiated or state.dual_stack:
        check_kept(value, what)


def _array_of(input: object, function: str) -> Any:
    """The raw array of an argument that must be a Tensor."""
    if not isinstance(input, TensorBase):
        raise TypeError(errors.must_be_tensor(function, "input", 0, input))
    return input._array


def _fill_value(value: Any, function: str, kind: Any = None) -> Any:
    """A number to fill with, if `kind` can hold it; a Tensor gives its one element."""
    if isinstance(value, TensorBase) and not value.requires_grad:
        _check_kept(value, f"{function}() filled with a tensor")
        value = value.item()
    if isinstance(value, numpy.generic):
        value = value.item()
    if type(value) not in _REAL and not isinstance(value, numbers.Number):
        raise TypeError(f"{function}(): argument 'fill_value' (position 2) must be Number, not {type_name(value)}")
    if kind is not None:
        check_number(kind, value)
    return value


def _kind(dtype: Any, function: str) -> numpy.dtype[Any]:
    """The array type for a dtype argument; None means the default."""
    return (get_default_dtype() if dtype is None else as_dtype(dtype, function)).numpy


def tensor(
    data: Any, *, dtype: Any = None, device: Device = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    """A tensor with a copy of the data: nested sequences of numbers, an array, a number.

    Floats become the default dtype (float32), ints int64; arrays keep their type and their library.

    Raises:
        ValueError: a nested sequence is ragged.
        TypeError, RuntimeError: something in it is no number.

    >>> import adjoint
    >>> adjoint.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    kind = None if dtype is None else as_dtype(dtype, "tensor")
    return _wrap(array_from_data(data, kind, unwrap=_unwrap), requires_grad, "tensor", device)


def as_tensor(data: Any, dtype: Any = None, device: Device = None) -> Tensor:
    """The data as a tensor, without a copy if it is a tensor or an array of the requested dtype.

    >>> import adjoint, numpy
    >>> a = numpy.zeros(2)
    >>> t = adjoint.as_tensor(a)
    >>> a[0] = 1.0
    >>> t
    tensor([1., 0.], dtype=adjoint.float64)
    """
    if not isinstance(data, TensorBase) and not is_array(data):
        return tensor(data, dtype=dtype, device=device)
    if isinstance(data, numpy.ndarray):
        data = from_numpy(data)
    elif is_array(data):
        data = tensor_of_array(data)
    return data.to(dtype=dtype, device=device)


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:  # fmt: skip
    """A one-dimensional tensor over the memory of an object that has Python's buffer protocol.

    offset: bytes to skip; count: the number of elements, -1 for all. A write to the tensor is a write to the buffer; if
    the buffer is read-only, such as bytes, a write raises ValueError.

    Raises ValueError if the buffer is too short or no multiple of the element size, and for an object without a buffer.

    >>> import adjoint
    >>> adjoint.frombuffer(bytearray([1, 2, 3]), dtype=adjoint.uint8, offset=1)
    tensor([2, 3], dtype=adjoint.uint8)
    """
    kind = _kind(dtype, "frombuffer")
    try:
        length = memoryview(buffer).nbytes
    except TypeError as problem:
        raise ValueError("object does not implement Python buffer protocol.") from problem
    size, rest = kind.itemsize, length - offset
    if not length or not count:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0 and rest % size:
        raise ValueError(
            f"buffer length ({length} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})"
        )
    if count * size > rest:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than "
            f"actual buffer length ({length} bytes)"
        )
    return _wrap(numpy.frombuffer(buffer, kind, max(count, -1), offset), requires_grad, "frombuffer")


def asarray(
    obj: Any, *, dtype: Any = None, device: Device = None, copy: bool | None = None, requires_grad: bool | None = None
) -> Tensor:
    """The object as a tensor that shares memory if possible (copy None), always (False) or never (True).

    requires_grad False gives a tensor without history; None keeps a tensor's history.

    Raises:
        ValueError: copy is False, but only a copy has the requested dtype, or the object is no tensor or array.

    >>> import adjoint, numpy
    >>> adjoint.asarray(numpy.ones(2), dtype=adjoint.float32)
    tensor([1., 1.])
    """
    result = as_tensor(obj, dtype, device)
    array = obj._array if isinstance(obj, TensorBase) else obj
    shared = result._array is array
    if copy is False and not shared:
        if not is_array(array):
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        source = from_numpy_dtype(array.dtype).long_name
        raise ValueError(f"can't alias tensor with dtype '{source}' into dtype '{result.dtype.long_name}'.")
    if copy and shared:
        result = result.clone()
    if requires_grad is None or requires_grad == result.requires_grad:
        return result
    return _wrap(result._array, requires_grad, "asarray")


def from_numpy(ndarray: numpy.ndarray[Any, Any]) -> Tensor:
    """A tensor that shares the memory of a NumPy array.

    Raises TypeError for other objects, and for an array with a dtype that tensors lack.

    >>> import adjoint, numpy
    >>> array = numpy.zeros(2)
    >>> adjoint.from_numpy(array).add_(1)
    tensor([1., 1.], dtype=adjoint.float64)
    >>> array
    array([1., 1.])
    """
    if not isinstance(ndarray, numpy.ndarray):
        raise TypeError(f"expected np.ndarray (got {type_name(ndarray)})")
    return tensor_of_array(ndarray)


def zeros(*size: Any, dtype: Any = None, device: Device = None, requires_grad: bool = False, **out: Any) -> Tensor:
    """Zeros of the given shape.

    >>> import adjoint
    >>> adjoint.zeros(2)
    tensor([0., 0.])
    """
    shape, kind, target = _read_request("zeros", size, dtype, out)
    return _into(target, _wrap(numpy.zeros(shape, kind), requires_grad, "zeros", device))


def ones(*size: Any, dtype: Any = None, device: Device = None, requires_grad: bool = False, **out: Any) -> Tensor:
    """Ones of the given shape.

    >>> import adjoint
    >>> adjoint.ones(2, 2)
    tensor([[1., 1.],
            [1., 1.]])
    """
    shape, kind, target = _read_request("ones", size, dtype, out)
    return _into(target, _wrap(filling.fill(numpy.empty(shape, kind), 1), requires_grad, "ones", device))


def empty(*size: Any, dtype: Any = None, device: Device = None, requires_grad: bool = False, **out: Any) -> Tensor:
    """Memory of the given shape and no particular content.

    >>> import adjoint
    >>> adjoint.empty(2, 3).shape
    adjoint.Size([2, 3])
    """
    layout = as_memory_format(out.pop("memory_format"), "empty") if "memory_format" in out else None
    shape, kind, target = _read_request("empty", size, dtype, out)
    order = None if layout is None else layout.order_for(len(shape))
    if order is None:
        values = numpy.empty(shape, kind)
    else:
        values = numpy.empty([shape[axis] for axis in order], kind).transpose(numpy.argsort(order))
    return _into(target, _wrap(values, requires_grad, "empty", device))


def _read_request(
    name: str, size: tuple[Any, ...], dtype: Any, rest: dict[str, Any]
) -> tuple[tuple[int, ...], numpy.dtype[Any], Any]:
    """The shape, the array type, and the tensor given as out= or None; `rest`: further keywords of the call."""
    if not rest:
        return check_shape(name, size), _kind(dtype, name), None
    if "size" in rest:
        size = (rest.pop("size"),)
    target = rest.pop("out", None)
    if dtype is None and target is not None:
        dtype = target.dtype
    if rest.pop("layout", None) not in (None, strided):
        raise RuntimeError(f"{name}(...) is not implemented for sparse layout: use sparse_coo_tensor(size=...)")
    if rest:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(rest))}'")
    return check_shape(name, size), _kind(dtype, name), target


def _into(out: Any, result: Tensor) -> Tensor:
    """Write a result into the tensor given as out=, if there is one, and return that."""
    return result if out is None else operations["clone"].into(out, [result])


def _takes_out(function: F) -> F:
    """Let a function that makes a tensor be called with out=, which decides the dtype where none is given."""

    @wraps(function)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None:
            return function(*args, **kwargs)
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = out.dtype
        return _into(out, function(*args, **kwargs))

    call.takes_out = True
    return skip_wrapper(function, call)


@_takes_out
def full(
    size: Any, fill_value: Any, *, dtype: Any = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """A number repeated to the given shape; its type decides the dtype where none is given.

    >>> import adjoint
    >>> adjoint.full((2,), 7)
    tensor([7, 7])
    """
    fill_value = _fill_value(fill_value, "full")
    kind = scalar_dtype(fill_value) if dtype is None else as_dtype(dtype, "full")
    check_number(kind, fill_value)
    shape = check_shape("full", (size,), allow_int=False)
    values = filling.fill(numpy.empty(shape, kind.numpy), number_as(fill_value, kind.numpy))
    return _wrap(values, requires_grad, "full", device)


def _make_in_layout(make: Any, array: Any, kind: Any, layout: Any) -> Any:
    """The result of an ..._like function of NumPy, in a memory format; of expanded arrays row by row."""
    if type(array) is not numpy.ndarray:
        return make(array, dtype=kind)
    if layout is preserve_format:
        return make(array, dtype=kind, order="C" if 0 in array.strides else "K")
    strides = strides_in(array.shape, layout)
    if strides is None:
        return make(array, dtype=kind, order="C")
    order = sorted(range(array.ndim), key=lambda axis: -strides[axis])
    rows = make(numpy.empty([array.shape[axis] for axis in order], array.dtype), dtype=kind)
    return rows.transpose(numpy.argsort(order))


def _like(name: str) -> Any:
    def like(
        input: Tensor, *, dtype: Any = None, device: Device = None, requires_grad: bool = False,
        memory_format: Any = None, layout: Any = None, pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        array = _array_of(input, f"{name}_like")
        kind = None if dtype is None else as_dtype(dtype, f"{name}_like").numpy
        order = as_memory_format(memory_format, f"{name}_like")
        array_like = _make_in_layout(getattr(namespace(array), f"{name}_like"), array, kind, order)
        return subclasses.like(_wrap(array_like, requires_grad, f"{name}_like", device), input)

    like.__name__ = like.__qualname__ = f"{name}_like"
    like.__doc__ = f"""{name}() of the shape and, unless another is given, the dtype of a tensor.

    memory_format: how the elements lie in memory, as those of the input unless given. No gradient flows to the input.
    """
    return like


def empty_strided(
    size: Any, stride: Any, *, dtype: Any = None, device: Device = None, requires_grad: bool = False,
    layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Memory of no particular content, seen with the given sizes and strides, which count elements.

    >>> import adjoint
    >>> adjoint.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    shape, steps = check_shape("empty_strided", (tuple(size),)), tuple(stride)
    if len(shape) != len(steps):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(steps)})"
        )
    n = 1 + sum((n - 1) * k for n, k in zip(shape, steps, strict=True)) if 0 not in shape else 0
    memory = numpy.empty(n, _kind(dtype, "empty_strided"))
    return _wrap(as_strided(memory, shape, steps), requires_grad, "empty_strided", device)


def empty_permuted(
    size: Any, physical_layout: Any, *, dtype: Any = None, device: Device = None, requires_grad: bool = False,
    layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Memory of no particular content whose axes lie in memory in the order given, without gaps.

    Raises RuntimeError unless physical_layout names each axis once.

    >>> import adjoint
    >>> adjoint.empty_permuted((2, 3, 5), (0, 2, 1)).stride()
    (15, 1, 3)
    """
    shape, order = check_shape("empty_permuted", (tuple(size),)), tuple(physical_layout)
    if len(shape) != len(order):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(shape)} is not equal to len(physical_layout) = {len(order)}"
        )
    if sorted(order) != [*range(len(shape))]:
        wrong = next((axis for axis in order if not 0 <= axis < len(shape)), None)
        raise RuntimeError(
            "Duplicate dim not allowed" if wrong is None
            else f"Dimension out of range (expected to be between 0 and {len(shape) - 1}, but got {wrong})"
        )  # fmt: skip
    memory = numpy.empty([shape[axis] for axis in order], _kind(dtype, "empty_permuted"))
    return _wrap(memory.transpose(numpy.argsort(order)), requires_grad, "empty_permuted", device)


zeros_like = _like("zeros")
ones_like = _like("ones")
empty_like = _like("empty")


def full_like(
    input: Tensor, fill_value: Any, *, dtype: Any = None, device: Device = None, requires_grad: bool = False,
    memory_format: Any = None, layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor of one number with the shape of another tensor.

    input: a tensor of any shape and dtype. fill_value: a number. dtype: that of the input unless one is passed.
    memory_format: how the elements lie in memory, as those of the input unless given.
    The result is a constant: no gradient flows to the input. Raises TypeError for an input that is no tensor.

    >>> import adjoint
    >>> adjoint.full_like(adjoint.zeros(2, dtype=adjoint.float64), 7)
    tensor([7., 7.], dtype=adjoint.float64)
    """
    array = _array_of(input, "full_like")
    kind = from_numpy_dtype(array.dtype) if dtype is None else as_dtype(dtype, "full_like")
    value = number_as(_fill_value(fill_value, "full_like", kind), kind.numpy)
    order = as_memory_format(memory_format, "full_like")
    xp = namespace(array)
    values = _make_in_layout(lambda like, **options: xp.full_like(like, value, **options), array, kind.numpy, order)
    return subclasses.like(_wrap(values, requires_grad, "full_like", device), input)


@_takes_out
def arange(
    start: Any = None, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Device = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers from start (0) up to but not including end, `step` apart.

    Raises RuntimeError if step is 0 or leads away from end.

    >>> import adjoint
    >>> adjoint.arange(3)
    tensor([0, 1, 2])
    """
    if end is None and dtype is None and type(start) is int and start >= 0 and step == 1:
        return _wrap(numpy.arange(start), requires_grad, "arange", device)
    if end is None:
        start, end = 0, start
    if end is None:
        raise TypeError('arange() missing 1 required positional arguments: "end"')
    start = 0 if start is None else start
    start, end, step = (_python_number(value) for value in (start, end, step))
    for name, value in (("start", start), ("end", end), ("step", step)):
        if not isinstance(value, (int, float)):
            raise TypeError(f"arange(): argument '{name}' must be Number, not {type_name(value)}")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if dtype is None:
        whole = all(isinstance(value, int) for value in (start, end, step))
        kind = scalar_dtype(0 if whole else 0.0)
    else:
        kind = as_dtype(dtype, "arange")
    if kind.is_complex or kind is bool_:
        raise NotImplementedError(f"\"arange_cpu\" not implemented for '{kind.long_name}'")
    if not kind.is_floating_point:
        start, end, step = int(start), int(end), int(step)
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    n = max(0, math.ceil((end - start) / step))
    if kind.is_floating_point:
        values = (start + step * numpy.arange(n, dtype=numpy.float64)).astype(kind.numpy)
    else:
        values = (start + step * numpy.arange(n)).astype(kind.numpy)
    return _wrap(values, requires_grad, "arange", device)


def range_(
    start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None, device: Device = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Numbers from start up to and including end, `step` apart, of the default dtype. Older: arange() has no end.

    Raises RuntimeError if step is 0 or leads away from end.
    """
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    warn_caller(RANGE_IS_DEPRECATED)
    start, end, step = (_python_number(value) for value in (start, end, step))
    kind = get_default_dtype() if dtype is None else as_dtype(dtype, "range")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    # products, not sums, of steps: the last one does not miss the end by the rounding of all before
    steps = numpy.arange(math.floor((end - start) / step) + 1, dtype=numpy.float64)
    values = (start + step * steps).astype(kind.numpy)
    return _wrap(values, requires_grad, "range", device)


RANGE_IS_DEPRECATED = (
    "adjoint.range is deprecated because its behavior is inconsistent with Python's range builtin. Instead, use "
    "adjoint.arange, which produces values in [start, end)."
)
range_.__name__ = range_.__qualname__ = "range"


def _python_number(value: Any) -> Any:
    if isinstance(value, TensorBase):
        _check_kept(value, "a number of a tensor")
    return value.item() if hasattr(value, "item") else value


@_takes_out
def linspace(
    start: Any, end: Any, steps: int, *, dtype: Any = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """`steps` numbers from start to end, both included, evenly spaced.

    >>> import adjoint
    >>> adjoint.linspace(0, 1, 3)
    tensor([0.0000, 0.5000, 1.0000])
    """
    start, end = _python_number(start), _python_number(end)
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if dtype is None and (isinstance(start, complex) or isinstance(end, complex)):
        dtype = get_default_complex_dtype()
    kind = _kind(dtype, "linspace")
    values = _whole_steps(start, end, steps) if kind.kind in "iu" else _even_steps(start, end, steps)
    return _wrap(values.astype(kind, copy=False), requires_grad, "linspace", device)


def _even_steps(start: Any, end: Any, steps: int) -> Any:
    """numpy.linspace; of Python's numbers by its formula, since its code for arrays takes longer than few numbers."""
    if type(start) not in _REAL or type(end) not in _REAL or type(steps) is not int or steps < 2:
        return numpy.linspace(start, end, steps)
    step = (end - start) / (steps - 1)
    if not step:
        return numpy.linspace(start, end, steps)
    values = numpy.arange(steps, dtype=numpy.float64)
    values *= step
    values += start
    values[-1] = end
    return values


def _whole_steps(start: Any, end: Any, steps: int) -> Any:
    """Between whole numbers, from both ends to the middle, in extended precision, for one rounding everywhere."""
    first, last = numpy.longdouble(int(start)), numpy.longdouble(int(end if steps > 1 else start))
    step = numpy.longdouble((float(last) - float(first)) / max(steps - 1, 1))
    positions = numpy.arange(steps)
    values = numpy.where(positions < steps // 2, first + step * positions, last - step * (steps - 1 - positions))
    return values.astype(numpy.float64)


@_takes_out
def logspace(
    start: Any, end: Any, steps: int, base: float = 10.0, *, dtype: Any = None, device: Device = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """`steps` numbers from base**start to base**end, evenly spaced on a logarithmic scale.

    >>> import adjoint
    >>> adjoint.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    start, end = _python_number(start), _python_number(end)
    if dtype is None and (isinstance(start, complex) or isinstance(end, complex)):
        dtype = get_default_complex_dtype()
    kind = _kind(dtype, "logspace")
    if kind.kind in "iu":
        start, end = int(start), int(end)
    values = numpy.power(base, _even_steps(start, end, steps))  # as numpy.logspace
    return _wrap(values.astype(kind, copy=False), requires_grad, "logspace", device)


@_takes_out
def eye(
    n: int, m: int | None = None, *, dtype: Any = None, device: Device = None, requires_grad: bool = False
) -> Tensor:
    """The n by m matrix with ones on the diagonal.

    Raises RuntimeError for negative sizes.

    >>> import adjoint
    >>> adjoint.eye(2)
    tensor([[1., 0.],
            [0., 1.]])
    """
    n = as_int("eye", "n", 1, n)
    m = None if m is None else as_int("eye", "m", 2, m)
    for name, size in (("n", n), ("m", m)):
        if size is not None and size < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {size}")
    return _wrap(filling.eye(n, m, dtype=_kind(dtype, "eye")), requires_grad, "eye", device)


# random numbers -----------------------------------------------------------------------------------------------------

_NOT_RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
    "randomness flags on vmap or perform the randomness operation out of vmap"
)
_SAME_OF_BATCH = "Vmap does not currently support same randomness with a batched tensor input."


def _differing() -> list[Any]:
    """The batches being run whose members get random numbers of their own. Raises RuntimeError where none may be."""
    batches = vmap_batches()
    if not batches:
        return batches
    if any(batch.randomness == "error" for batch in batches):
        raise RuntimeError(_NOT_RANDOM)
    return [batch for batch in batches if batch.randomness == "different"]


def _random_array(draw: Any, generator: Any, shape: Any, *rest: Any) -> Any:
    """Random numbers of this shape; inside vmap with randomness="different" others for each member of the batch."""
    batches = _differing()
    if not batches:
        return draw(generator, shape, *rest)
    array = draw(generator, (*[batch.size for batch in batches], *shape), *rest)
    for batch in batches:
        array = raw_ops(array).batch_in(array, batch.level)
    return array


def rand(
    *size: Any, generator: draws.Generator | None = None, dtype: Any = None, device: Device = None,
    requires_grad: bool = False, **out: Any,
) -> Tensor:  # fmt: skip
    """Random numbers, uniform in [0, 1).

    >>> import adjoint
    >>> adjoint.rand(2, 3).shape
    adjoint.Size([2, 3])
    """
    shape, kind, target = _read_request("rand", size, dtype, out)
    numbers = _random_array(draws.uniform, generator, shape, kind)
    return _into(target, _wrap(numbers, requires_grad, "rand", device))


def randn(
    *size: Any, generator: draws.Generator | None = None, dtype: Any = None, device: Device = None,
    requires_grad: bool = False, **out: Any,
) -> Tensor:  # fmt: skip
    """Random numbers of the standard normal distribution; complex ones have variance 1 in all.

    >>> import adjoint
    >>> _ = adjoint.manual_seed(0)
    >>> adjoint.randn(2, 3).shape
    adjoint.Size([2, 3])
    """
    shape, kind, target = _read_request("randn", size, dtype, out)
    numbers = _random_array(draws.normal, generator, shape, kind)
    return _into(target, _wrap(numbers, requires_grad, "randn", device))


def randint(
    *bounds: Any, generator: draws.Generator | None = None, dtype: Any = None, device: Device = None,
    requires_grad: bool = False, low: int | None = None, high: int | None = None, size: Any = None,
    out: Tensor | None = None, layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Random integers from low (0) up to but not including high: randint(high, size) or randint(low, high, size).

    >>> import adjoint
    >>> adjoint.randint(5, 6, (3,))
    tensor([5, 5, 5])
    """
    limits = list(bounds)
    if size is None and limits and isinstance(limits[-1], (tuple, list)):
        size = limits.pop()
    if high is None and limits:
        high = limits.pop()
    if low is None:
        low = limits.pop() if limits else 0
    if size is None or high is None:
        missing = ["high"] * (high is None) + ["size"] * (size is None)
        raise TypeError(f"randint() missing required arguments: {', '.join(missing)}; size must be a tuple of ints")
    kind = numpy.dtype("int64") if dtype is None else as_dtype(dtype, "randint").numpy
    shape = check_shape("randint", (size,), position=2, allow_int=False)
    array = _random_array(draws.integers, generator, shape, kind, low, high)
    result = _wrap(array, requires_grad, "randint", device)
    return _into(out, result)


def randperm(
    n: int, *, generator: draws.Generator | None = None, dtype: Any = None, device: Device = None,
    requires_grad: bool = False, out: Tensor | None = None, layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """The integers below n in random order.

    >>> import adjoint
    >>> adjoint.randperm(4).sort().values
    tensor([0, 1, 2, 3])
    """
    kind = numpy.dtype("int64") if dtype is None else as_dtype(dtype, "randperm").numpy
    array = _random_array(_permutations, generator, (), as_int("randperm", "n", 1, n), kind)
    result = _wrap(array, requires_grad, "randperm", device)
    return _into(out, result)


def _permutations(generator: draws.Generator | None, lead: tuple[int, ...], n: int, kind: Any) -> Any:
    """One permutation, or an array of them with the given axes in front."""
    if not lead:
        return draws.permutation(generator, n, kind)
    result = numpy.empty((*lead, n), kind)
    for member in numpy.ndindex(*lead):
        result[member] = draws.permutation(generator, n, kind)
    return result


def _random_like(name: str, make: Any) -> Any:
    def like(
        input: Tensor, *, generator: draws.Generator | None = None, dtype: Any = None, device: Device = None,
        requires_grad: bool = False, memory_format: Any = None, layout: Any = None, pin_memory: bool = False,
    ) -> Tensor:  # fmt: skip
        array = _array_of(input, f"{name}_like")
        kind = dtype or input.dtype
        if device is None and type(array) is not numpy.ndarray:
            device = input.device
        result = make(input.shape, generator=generator, dtype=kind, device=device, requires_grad=requires_grad)
        return subclasses.like(result, input)

    like.__name__ = like.__qualname__ = f"{name}_like"
    like.__doc__ = f"""{name}() of the shape and, unless another is given, the dtype of a tensor.

    memory_format: how the elements lie in memory, as those of the input unless given. No gradient flows to the input.
    """
    return like


rand_like = _random_like("rand", rand)
randn_like = _random_like("randn", randn)


def randint_like(
    input: Tensor, *bounds: int, low: int | None = None, high: int | None = None,
    generator: draws.Generator | None = None,
    dtype: Any = None, device: Device = None, requires_grad: bool = False, memory_format: Any = None,
    layout: Any = None, pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """Random integers of the shape and, unless another is given, the dtype of a tensor, between bounds as in randint().

    >>> import adjoint
    >>> adjoint.randint_like(adjoint.zeros(2), 3, 4)
    tensor([3., 3.])
    """
    _array_of(input, "randint_like")
    result = randint(
        *bounds, low=low, high=high, size=tuple(input.shape), generator=generator, dtype=dtype or input.dtype,
        device=device or input.device, requires_grad=requires_grad,
    )  # fmt: skip
    return subclasses.like(result, input)


def get_rng_state() -> Tensor:
    """The state of the default generator as a tensor of bytes.

    `set_rng_state` takes it, and the same numbers are drawn again.

    >>> import adjoint
    >>> state = adjoint.get_rng_state()
    >>> first = adjoint.rand(3)
    >>> adjoint.set_rng_state(state)
    >>> adjoint.equal(first, adjoint.rand(3))
    True
    """
    return draws.get_rng_state()


def set_rng_state(new_state: Tensor) -> None:
    """Set the state of the default generator.

    new_state: a tensor of bytes from `get_rng_state`. The next numbers are those that came after that state.

    >>> import adjoint
    >>> adjoint.set_rng_state(adjoint.get_rng_state())
    """
    draws.set_rng_state(new_state)


def scalar_tensor(
    s: Any, *, dtype: Any = None, device: Device = None, requires_grad: bool = False, layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor without axes that holds a number, of the default dtype unless another is given.

    Raises TypeError for an object that is no number, RuntimeError for a complex number where the dtype is real.

    >>> import adjoint
    >>> adjoint.scalar_tensor(2)
    tensor(2.)
    """
    s = _python_number(s)
    if type(s) not in _REAL and not isinstance(s, numbers.Number):
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type_name(s)}")
    kind = get_default_dtype() if dtype is None else as_dtype(dtype, "scalar_tensor")
    if isinstance(s, complex) and s.imag and not kind.is_complex:
        raise RuntimeError(f"value cannot be converted to type {kind.c_name} without overflow")
    return _wrap(array_from_data(s, kind), requires_grad, "scalar_tensor", device)


_TRIANGLE = """The indices of the {side} triangle of a row by col matrix.

    offset: the number of the last diagonal of the triangle, 0 for the main one. dtype: int64 unless another is passed.
    The result has two rows, the indices of rows and those of columns. Raises RuntimeError for negative sizes.

    >>> import adjoint
    >>> adjoint.{name}(2, 2)
    {result}
    """


def _triangle_indices(name: str, holds: Any) -> Any:
    """A function of indices; holds: the comparison of a row, moved by the offset, with the columns that it has."""

    def indices(
        row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Device = None, layout: Any = None,
        requires_grad: bool = False,
    ) -> Tensor:  # fmt: skip
        for argument, size in (("row", row), ("col", col)):
            if size < 0:
                raise RuntimeError(f"{argument} must be non-negative, got{size}")
        row, col, offset = index(row), index(col), index(offset)
        kind = as_dtype(int if dtype is None else dtype, name)
        if kind.category != 1:
            raise NotImplementedError(f"\"{name}\" not implemented for '{kind.long_name}'")
        array = filling.kept_copy(places, row * col, row, col, offset, kind.numpy)
        return _wrap(array, requires_grad, name, device)

    @memoize(64)
    def places(row: int, col: int, offset: int, kind: Any) -> Any:
        mask = holds.outer(numpy.arange(offset, row + offset), numpy.arange(col))
        return numpy.array(mask.nonzero(), kind)

    indices.__name__ = indices.__qualname__ = name
    lower = ("lower", "tensor([[0, 1, 1],\n            [0, 0, 1]])")
    upper = ("upper", "tensor([[0, 0, 1],\n            [0, 1, 1]])")
    side, result = lower if name == "tril_indices" else upper
    indices.__doc__ = _TRIANGLE.format(side=side, name=name, result=result)
    return indices


tril_indices = _triangle_indices("tril_indices", numpy.greater_equal)
triu_indices = _triangle_indices("triu_indices", numpy.less_equal)


def is_tensor(obj: object) -> bool:
    """True for a Tensor, also one of a subclass; False for arrays, numbers and all other objects.

    >>> import adjoint
    >>> adjoint.is_tensor(adjoint.ones(2)), adjoint.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, TensorBase)


def typename(obj: Any) -> str:
    """The full name of an object's class, of a class itself, or of a tensor's type.

    >>> import adjoint
    >>> adjoint.typename(adjoint.zeros(1)), adjoint.typename(3)
    ('adjoint.FloatTensor', 'int')
    """
    if isinstance(obj, TensorBase):
        return str(obj.type())
    kind = obj if isinstance(obj, type) or hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None)
    return kind.__qualname__ if module in (None, "builtins") else f"{module}.{kind.__qualname__}"


def numel(input: Tensor) -> int:
    """The number of elements.

    The product of the lengths of all axes, 1 if there are none.

    >>> import adjoint
    >>> adjoint.ones(2, 3).numel()
    6
    """
    return int(_array_of(input, "numel").size)


def is_floating_point(input: Tensor) -> bool:
    """True for float16, bfloat16, float32 and float64.

    Of the dtype; complex numbers are none of these.

    >>> import adjoint
    >>> adjoint.tensor([1.5]).is_floating_point()
    True
    """
    return from_numpy_dtype(_array_of(input, "is_floating_point").dtype).is_floating_point


def is_complex(input: Tensor) -> bool:
    """True for complex64 and complex128.

    Of the dtype; values do not matter.

    >>> import adjoint
    >>> adjoint.tensor([1j]).is_complex()
    True
    """
    return from_numpy_dtype(_array_of(input, "is_complex").dtype).is_complex


def is_signed(input: Tensor) -> bool:
    """True if the dtype can hold negative numbers.

    False for bool and the unsigned integers.

    >>> import adjoint
    >>> adjoint.tensor([True]).is_signed()
    False
    """
    return from_numpy_dtype(_array_of(input, "is_signed").dtype).is_signed


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not 0. Raises RuntimeError if there are none or several.

    >>> import adjoint
    >>> adjoint.is_nonzero(adjoint.tensor([0.0]))
    False
    """
    _array_of(input, "is_nonzero")
    return bool(input)


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """True if two tensors have the same shape.

    Dtypes and devices may differ.

    >>> import adjoint
    >>> adjoint.ones(2, 3).is_same_size(adjoint.zeros(2, 3))
    True
    """
    return bool(_array_of(input, "is_same_size").shape == _array_of(other, "is_same_size").shape)


def result_type(*tensors_or_numbers: Any) -> dtype:
    """The dtype that arithmetic on these operands gives.

    >>> import adjoint
    >>> adjoint.result_type(adjoint.ones(2, dtype=adjoint.int64), 1.0)
    adjoint.float32
    """
    from adjoint.arrays.promotion import common_dtype

    operands = [value._array if isinstance(value, TensorBase) else value for value in tensors_or_numbers]
    numbers_too = [value.item() if isinstance(value, numpy.generic) else value for value in operands]
    return common_dtype(numbers_too, "same")


PUBLIC = (
    "tensor", "as_tensor", "asarray", "from_numpy", "zeros", "ones", "empty", "full", "zeros_like", "ones_like",
    "empty_like", "empty_strided", "full_like", "arange", "linspace", "logspace", "eye", "rand", "randn", "randint",
    "randperm", "rand_like", "randn_like", "randint_like", "get_rng_state", "set_rng_state", "is_tensor", "numel",
    "result_type", "is_floating_point", "is_complex", "is_nonzero", "is_same_size", "is_signed", "scalar_tensor",
    "tril_indices", "triu_indices", "empty_permuted", "frombuffer", "typename",
)  # fmt: skip
