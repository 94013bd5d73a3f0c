"""A stand-in for CuPy on machines without a GPU: NumPy's arithmetic behind CuPy's interface.

Its arrays are not NumPy arrays. Only get() converts them. They refuse NumPy arrays as operands. They have only CuPy's
names (tests/data/cupy_names.json). So code that runs on the stand-in uses only existing names of CuPy. Only a GPU can
show whether CuPy computes the same, and how fast: see benchmarks/gpu.md.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import json
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy

#: The names of CuPy's modules and arrays, with their parameters. None for unknown parameters.
NAMES: dict[str, Any] = json.loads((Path(__file__).parents[1] / "data" / "cupy_names.json").read_text())
# names for which CuPy has Python's or NumPy's own objects
_AS_IN_NUMPY = ("dtype", "generic", "number", "integer", "floating", "newaxis", "inf", "nan", "pi", "e", "errstate")


class ndarray:
    """An array that pretends to be on a device."""

    def __init__(self, shape: Any, dtype: Any = None, memptr: Any = None, strides: Any = None) -> None:
        if isinstance(shape, numpy.ndarray):
            self._host = shape
        else:
            self._host = numpy.ndarray(shape, dtype, memptr and memptr.memory, memptr.start if memptr else 0, strides)

    def __getattr__(self, name: str) -> Any:
        if name not in NAMES["cupy.ndarray"]:
            raise AttributeError(f"'ndarray' object has no attribute {name!r}: CuPy's has none")
        value = getattr(self._host, name)
        return give_out(value) if not callable(value) else calling(value, NAMES["cupy.ndarray"][name])

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_host":
            object.__setattr__(self, name, value)
        else:
            setattr(self._host, name, take_in(value))

    @property
    def device(self) -> Any:
        """The device of the array, which is only simulated."""
        return Device(0)

    @property
    def data(self) -> Pointer:
        """The address of the first element."""
        return Pointer(self._host)

    @property
    def base(self) -> Any:
        """The array whose memory this view shares."""
        return None if self._host.base is None else ndarray(self._host.base)

    def get(self, **options: Any) -> Any:
        """A copy as a NumPy array."""
        return self._host.copy()

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct one.")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__" or ufunc.__name__ not in NAMES["cupy"]:
            return NotImplemented
        return calling(ufunc)(*inputs, **options)

    def __array_function__(self, function: Any, kinds: Any, args: Any, options: Any) -> Any:
        if function.__name__ not in NAMES["cupy"]:
            return NotImplemented
        return calling(function)(*args, **options)

    def __len__(self) -> int:
        return len(self._host)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        return bool(self._host)

    def __float__(self) -> float:
        return float(self._host)

    def __int__(self) -> int:
        return int(self._host)

    def __complex__(self) -> complex:
        return complex(self._host)

    def __repr__(self) -> str:
        return repr(self._host)

    def __getitem__(self, index: Any) -> Any:
        # an element is an array without axes, also a view
        index = take_in(index)
        whole = (*index, ...) if isinstance(index, tuple) and Ellipsis not in map(id_of, index) else index
        if not isinstance(whole, tuple) and whole is not Ellipsis:
            whole = (whole, ...)
        return give_out(self._host[whole])

    def __setitem__(self, index: Any, value: Any) -> None:
        self._host[take_in(index)] = take_in(value)


def id_of(value: Any) -> Any:
    """An index itself if it can be compared, or None."""
    return value if value is Ellipsis else None


def _operator(name: str) -> Any:
    def operator(self: ndarray, *others: Any) -> Any:
        if any(isinstance(other, numpy.ndarray) for other in others):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        if not all(isinstance(other, (ndarray, bool, int, float, complex, numpy.generic)) for other in others):
            return NotImplemented
        result = getattr(self._host, name)(*[take_in(other) for other in others])
        if result is NotImplemented:
            return result
        if name.startswith("__i") and name not in ("__invert__",):
            self._host = result
            return self
        return give_out(result)

    return operator


_BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift")
for _name in _BINARY:
    for _way in ("", "r", "i"):
        if f"__{_way}{_name}__" in NAMES["cupy.ndarray"]:
            setattr(ndarray, f"__{_way}{_name}__", _operator(f"__{_way}{_name}__"))
for _name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert"):
    setattr(ndarray, f"__{_name}__", _operator(f"__{_name}__"))
ndarray.__hash__ = None  # type: ignore[assignment]


def take_in(value: Any) -> Any:
    """An argument as NumPy takes it. Raises TypeError for a NumPy array, as CuPy does."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, numpy.ndarray):
        raise TypeError("Unsupported type <class 'numpy.ndarray'>")
    if isinstance(value, (tuple, list)) and not hasattr(value, "_fields"):
        return type(value)([take_in(item) for item in value])
    return value


def as_writable(value: numpy.ndarray) -> numpy.ndarray:
    """The same array, writable if NumPy allows that; else a copy."""
    try:
        value.flags.writeable = True
    except ValueError:
        return value.copy()
    return value


def give_out(value: Any) -> Any:
    """A result as CuPy gives it: never a NumPy array, and arrays without axes in place of NumPy's numbers."""
    if isinstance(value, numpy.generic):
        return ndarray(numpy.asarray(value))
    if isinstance(value, numpy.ndarray):
        if value.base is not None and getattr(value.base, "flags", value.flags).writeable:
            # CuPy's views are always writable
            value = as_writable(value)
        return ndarray(value)
    if isinstance(value, (tuple, list)) and any(isinstance(item, (numpy.ndarray, numpy.generic)) for item in value):
        parts = [give_out(item) for item in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def calling(function: Any, parameters: list[str] | None = None) -> Any:
    """Make NumPy's function work on these arrays, with CuPy's parameters."""

    def call(*args: Any, **options: Any) -> Any:
        unknown = set() if parameters is None else set(options) - set(parameters)
        if unknown:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {unknown.pop()!r}")
        out = options.get("out")
        result = function(*take_in(args), **{name: take_in(value) for name, value in options.items()})
        return out if isinstance(out, ndarray) else give_out(result)

    call.__name__ = getattr(function, "__name__", "call")
    return call


class Pointer:
    """A place in the memory of an array."""

    def __init__(self, array: Any, start: int = 0) -> None:
        self.array, self.shift = array, start
        self.ptr = array.ctypes.data + start
        owner = array
        while isinstance(owner.base, numpy.ndarray):
            owner = owner.base
        #: All bytes, and the offset of the address among them.
        self.memory = numpy.ravel(owner, order="K").view(numpy.uint8)
        self.start = self.ptr - self.memory.ctypes.data

    def __add__(self, offset: int) -> Pointer:
        return Pointer(self.array, self.shift + offset)


class Device:
    """A device by its number."""

    def __init__(self, id: int = 0) -> None:
        self.id = id

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: object) -> None:
        return None

    def synchronize(self) -> None:
        """No work is ever pending."""
        CALLS.append("synchronize")

    def use(self) -> None:
        """Select the device. There is no other."""
        CALLS.append(f"use {self.id}")


class Event:
    """A mark that is always complete."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.done = True
        self.recorded: Any = None

    def record(self, stream: Stream | None = None) -> None:
        """Set the mark."""
        self.recorded = stream or _streams[-1]

    def synchronize(self) -> None:
        """No work is ever pending."""
        CALLS.append("event.synchronize")


class Stream:
    """A stream that notes its calls."""

    null: Stream

    def __init__(self, non_blocking: bool = False, priority: int = 0) -> None:
        self.done, self.ptr, self.captures = True, id(self), False

    def use(self) -> None:
        """Select the stream for the work that follows."""
        _streams[-1] = self

    def begin_capture(self, mode: int | None = None) -> None:
        """Note that work is captured. It also runs at once."""
        if self is Stream.null:
            raise RuntimeProblem("cudaErrorStreamCaptureUnsupported")
        self.captures = True
        CALLS.append(f"begin_capture {mode}")

    def is_capturing(self) -> bool:
        """True between the beginning and the end of a capture."""
        return self.captures

    def end_capture(self) -> Graph:
        """Return an empty graph."""
        self.captures = False
        CALLS.append("end_capture")
        return Graph()

    def wait_event(self, event: Event) -> None:
        """No work is ever pending."""
        CALLS.append("wait_event")

    def __enter__(self) -> Stream:
        _streams.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        _streams.pop()

    def synchronize(self) -> None:
        """No work is ever pending."""
        CALLS.append("stream.synchronize")


class Graph:
    """A graph that notes its launches."""

    def launch(self, stream: Stream | None = None) -> None:
        """Note the launch. The graph has no work."""
        CALLS.append("launch")


class MemoryPool:
    """A pool with separate memory."""

    def malloc(self, size: int) -> None:
        """Allocate memory; no array of this stand-in uses it."""


@contextlib.contextmanager
def using_allocator(allocator: Any = None) -> Iterator[None]:
    """Note that an allocator is used."""
    CALLS.append("allocator")
    yield
    CALLS.append("own allocator")


Stream.null = Stream()
_streams = [Stream.null]
#: The calls of devices and streams.
CALLS: list[str] = []


class ElementwiseKernel:
    """A kernel of adjoint's. NumPy computes the form of its body."""

    def __init__(self, in_params: str, out_params: str, operation: str, name: str = "kernel") -> None:
        from adjoint.program.device import FORMS

        self.operation, self.name, self.form = operation, name, FORMS[name]
        parameters = in_params.split(", ") if in_params else []
        self.places = [int(parameter.rsplit(" in", 1)[1]) for parameter in parameters]
        self.dtypes = [parameter.split(" ")[0] for parameter in parameters]
        self.n_outputs = len(out_params.split(", "))
        KERNELS.append(self)

    def __call__(self, *args: Any) -> Any:
        from adjoint.program.cuda_source import evaluate

        values: list[Any] = [None] * len(self.form.inputs)
        if len(args) not in (len(self.places), len(self.places) + self.n_outputs):
            raise TypeError(f"Wrong number of arguments for {self.name!r}")
        inputs, outputs = args[: len(self.places)], args[len(self.places) :]
        for position, dtype, value in zip(self.places, self.dtypes, inputs, strict=True):
            array = take_in(value)
            if isinstance(value, ndarray) and array.dtype != dtype:
                raise TypeError(f"Type is mismatched. {array.dtype} {dtype}")
            values[position] = array if isinstance(value, ndarray) else numpy.dtype(dtype).type(array)
        shape = numpy.broadcast_shapes(*[numpy.shape(values[position]) for position in self.places])
        if outputs:
            return self._write(values, outputs, numpy.broadcast_shapes(shape, *[out.shape for out in outputs]))
        results = [
            ndarray(numpy.array(numpy.broadcast_to(value, shape), order="C")) for value in evaluate(self.form, values)
        ]
        return results[0] if len(results) == 1 else tuple(results)

    def _write(self, values: list[Any], outputs: Any, shape: Any) -> Any:
        """Write the results into existing arrays."""
        from adjoint.program.cuda_source import evaluate

        for out, value in zip(outputs, evaluate(self.form, values), strict=True):
            if out.shape != shape:
                raise ValueError("Out shape is mismatched")
            if out.dtype != numpy.asarray(value).dtype:
                raise TypeError(f"Type is mismatched. {out.dtype} {numpy.asarray(value).dtype}")
            out._host[...] = value
        return outputs[0] if len(outputs) == 1 else tuple(outputs)


#: All kernels of this stand-in.
KERNELS: list[ElementwiseKernel] = []


class Module(types.ModuleType):
    """One of CuPy's modules: NumPy's functions by the names that CuPy has."""

    def __init__(self, name: str, source: Any, **members: Any) -> None:
        super().__init__(name)
        self._source = source
        self.__path__: list[str] = []
        self.__dict__.update(members)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name not in NAMES[self.__name__]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}: CuPy has none")
        value = getattr(self._source, name)
        if name in _AS_IN_NUMPY or isinstance(value, type) or not callable(value):
            return value
        return calling(value, NAMES[self.__name__][name])


class RuntimeProblem(Exception):
    """The error of CuPy without the driver."""


def _asarray(value: Any, dtype: Any = None, order: Any = None, *, copy: bool | None = None) -> Any:
    if not isinstance(value, ndarray):
        return ndarray(numpy.array(value, dtype, order=order))  # values from the host are copied
    array = numpy.asarray(value._host, dtype, order, copy=copy)
    return value if array is value._host else ndarray(array)


def _array(value: Any, dtype: Any = None, copy: bool = True, order: str = "K") -> Any:
    return _asarray(value, dtype, order, copy=True if copy else None)


def _as_strided(x: ndarray, shape: Any = None, strides: Any = None) -> ndarray:
    return ndarray(numpy.lib.stride_tricks.as_strided(x._host, shape, strides))


def _scatter(name: str) -> Any:
    def scatter(target: ndarray, where: Any, values: Any) -> None:
        getattr(numpy, name).at(target._host, take_in(where), take_in(values))

    return scatter


def modules() -> dict[str, types.ModuleType]:
    """CuPy's modules by name."""
    import scipy.linalg
    import scipy.special

    runtime = types.SimpleNamespace(
        getDeviceCount=lambda: 1, CUDARuntimeError=RuntimeProblem, memGetInfo=lambda: (3, 4),
        deviceCanAccessPeer=lambda first, second: 0,
        getDeviceProperties=lambda number: {
            "name": b"stand-in", "major": 9, "minor": 0, "totalGlobalMem": 4, "multiProcessorCount": 2, "warpSize": 32,
            "l2CacheSize": 1,
        },
    )  # fmt: skip
    profiler = types.SimpleNamespace(start=lambda: CALLS.append("profile"), stop=lambda: CALLS.append("profiled"))
    pool = types.SimpleNamespace(
        used_bytes=lambda: 1, total_bytes=lambda: 2, free_all_blocks=lambda: CALLS.append("free_all_blocks")
    )
    cuda = types.ModuleType("cupy.cuda")
    cuda.__dict__.update(
        runtime=runtime, Device=Device, Stream=Stream, Event=Event, get_current_stream=lambda: _streams[-1],
        get_elapsed_time=lambda first, last: 1.5, profiler=profiler, MemoryPool=MemoryPool, Graph=Graph,
        using_allocator=using_allocator,
        memory=types.SimpleNamespace(OutOfMemoryError=type("OutOfMemoryError", (MemoryError,), {})),
        alloc_pinned_memory=lambda size: memoryview(bytearray(size)),
    )  # fmt: skip
    modules_by_name: dict[str, types.ModuleType] = {
        "cupy.cuda": cuda,
        "cupy.fft": Module("cupy.fft", numpy.fft),
        "cupy.linalg": Module("cupy.linalg", numpy.linalg),
        "cupyx.scipy": types.ModuleType("cupyx.scipy"),
        "cupyx.scipy.special": Module("cupyx.scipy.special", scipy.special),
        "cupyx.scipy.linalg": Module("cupyx.scipy.linalg", scipy.linalg),
        "cupyx": Module("cupyx", None, **{f"scatter_{n}": _scatter(u) for n, u in _SCATTERS.items()}),
    }
    modules_by_name["cupy"] = Module(
        "cupy", numpy, ndarray=ndarray, asarray=_asarray, array=_array, asnumpy=lambda x: x.get(), cuda=cuda,
        lib=types.SimpleNamespace(stride_tricks=types.SimpleNamespace(as_strided=_as_strided)),
        get_default_memory_pool=lambda: pool, ElementwiseKernel=ElementwiseKernel,
        fft=modules_by_name["cupy.fft"], linalg=modules_by_name["cupy.linalg"], __version__=NAMES["version"],
    )  # fmt: skip
    for name, module in modules_by_name.items():
        module.__spec__ = importlib.machinery.ModuleSpec(name, None)
    return modules_by_name


_SCATTERS = {"add": "add", "max": "maximum", "min": "minimum"}


@contextlib.contextmanager
def install() -> Iterator[types.ModuleType]:
    """A block with the stand-in under CuPy's name. It raises if CuPy itself is imported."""
    from adjoint.arrays import namespace, size
    from adjoint.program import device
    from adjoint.program.fused import reset_programs

    if "cupy" in sys.modules:
        raise RuntimeError("cupy is imported: the stand-in would take its place")
    modules_by_name = modules()
    sys.modules.update(modules_by_name)
    size.cuda_is_available.cache_clear()
    try:
        yield modules_by_name["cupy"]
    finally:
        for name in modules_by_name:
            sys.modules.pop(name, None)
        size.cuda_is_available.cache_clear()
        namespace._namespaces.pop(ndarray, None)
        KERNELS.clear()
        device.reset()
        reset_programs()
