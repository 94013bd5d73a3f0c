"""The arrays of Tensors during a recording: a NumPy array, and the recording of its uses.

The array may be the twin of a device array (`twins.py`), or lie in main memory beside such twins.

A `RecordedArray` computes immediately, so the first call of a function returns its results. Each computation is added
to the recording. Reading a value is recorded too, or stops the recording. So no value becomes a constant silently.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.libraries.numpy_namespace import xp as numpy_xp
from adjoint.arrays.namespace import holds_arrays, register
from adjoint.core.graph import TensorBase, meets_memory
from adjoint.core.holders import TensorHolder
from adjoint.runtime.caches import memoize
from adjoint.transforms.batching.batched import LevelRule

if TYPE_CHECKING:
    from adjoint.compilation.recordings.recording import Recording

#: Methods of arrays that write into their array.
WRITING_METHODS = frozenset(("fill", "sort", "partition", "put", "itemset", "byteswap", "setfield"))
#: Functions of NumPy that write into an argument, and its position.
WRITING_FUNCTIONS = {
    numpy.copyto: 0, numpy.put: 0, numpy.place: 0, numpy.putmask: 0, numpy.fill_diagonal: 0, numpy.put_along_axis: 0,
}  # fmt: skip
#: Functions of NumPy whose results follow from shapes, strides and types alone.
OF_LAYOUT = frozenset(
    (numpy.may_share_memory, numpy.shares_memory, numpy.shape, numpy.ndim, numpy.size, numpy.result_type)
    + (numpy.can_cast, numpy.min_scalar_type, numpy.iscomplexobj, numpy.isrealobj, numpy.common_type)
)
#: Operations whose kernels consist of NumPy's functions: each of these is a step.
OF_FUNCTIONS = frozenset(
    ("sum", "sum_all", "mean", "mean_all", "amax", "amin", "embed_view", "written_at", "cat", "stack", "logsumexp")
    + ("linear", "addmm", "addmv", "move", "is_complex_array")
)
#: Attributes without values, which are read from the array.
_LAYOUT_ATTRIBUTES = (
    "shape",
    "dtype",
    "ndim",
    "size",
    "strides",
    "flags",
    "itemsize",
    "nbytes",
    "base",
    "ctypes",
)
#: Attributes that are arrays.
_ARRAY_ATTRIBUTES = frozenset(("T", "mT", "real", "imag"))


class RecordedArray:
    """A NumPy array whose uses are recorded.

    is_on_host: in the recording of a function of a device's arrays, a value in main memory.
    """

    __slots__ = ("__weakref__", "array", "is_on_host", "recording")
    __array_priority__ = 1e6

    def __init__(self, array: Any, recording: Recording, is_on_host: bool = False) -> None:
        self.array = array
        self.recording = recording
        self.is_on_host = is_on_host

    # properties of the layout -----------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name in _ARRAY_ATTRIBUTES:
            return self.recording.call(attribute(name), (self,))
        if name.startswith("__"):
            raise AttributeError(f"a recorded array has no attribute {name!r}")
        value = getattr(self.array, name)
        if not callable(value):
            return value
        writes = (self,) if name in WRITING_METHODS else ()
        return lambda *args, **kwargs: self.recording.call(method(name), (self, *args), kwargs, writes)

    def moved_to(self, target: Any) -> Any:
        """The values on a device, or in main memory."""
        return self.recording.move(self, target)

    @property
    def in_memory(self) -> Any:
        """The NumPy array, for questions about its layout."""
        return self.array

    @property
    def __array_interface__(self) -> Any:
        self.recording.stop("made a plain NumPy array of a value")
        return self.array.__array_interface__

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Any:
        if not self.array.ndim:
            raise TypeError("iteration over a 0-d array")
        return iter([self[i] for i in range(len(self.array))])

    def __repr__(self) -> str:
        self.recording.stop("printed a value")
        return repr(self.array)

    # what looks at values ---------------------------------------------------------------------------------------------

    def __bool__(self) -> bool:
        return self.recording.look(bool, self)  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return self.recording.look(float, self)  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return self.recording.look(int, self)  # type: ignore[no-any-return]

    def __index__(self) -> int:
        return self.recording.look(operator.index, self)  # type: ignore[no-any-return]

    def __complex__(self) -> complex:
        return self.recording.look(complex, self)  # type: ignore[no-any-return]

    def item(self, *index: Any) -> Any:
        """An element as a Python number."""
        return self.recording.look(method("item"), self, *index)

    def tolist(self) -> Any:
        """The elements as Python numbers, in lists."""
        return self.recording.look(method("tolist"), self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self.recording.stop("made a plain NumPy array of a value")
        array = self.array if dtype is None else self.array.astype(dtype, copy=False)
        return array.copy() if copy and array is self.array else array

    # what computes ----------------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, name: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(map(takes_over, inputs)):
            return NotImplemented
        function = ufunc if name == "__call__" else getattr(ufunc, name)
        writes = kwargs.get("out", ())
        if not isinstance(writes, tuple):
            writes = (writes,)
        if name == "at":
            writes = inputs[:1]
        return self.recording.call(function, inputs, kwargs, tuple([target for target in writes if target is not None]))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if any(issubclass(kind, (TensorBase, TensorHolder)) for kind in types):
            return NotImplemented
        writes = tuple([value for value in (kwargs.get("out"),) if value is not None])
        if function in WRITING_FUNCTIONS:
            writes = (args[WRITING_FUNCTIONS[function]],)
        if function in OF_LAYOUT:
            return function(*concrete(args), **concrete(kwargs))
        return self.recording.call(function, args, kwargs, writes)

    def __getitem__(self, index: Any) -> Any:
        return self.recording.call(operator.getitem, (self, index))

    def __setitem__(self, index: Any, value: Any) -> None:
        self.recording.call(operator.setitem, (self, index, value), {}, (self,))

    __hash__ = None  # type: ignore[assignment]


def takes_over(value: Any) -> bool:
    """True for a Tensor, an array around one, or a batched array: these run an operation with a recorded array."""
    return isinstance(value, (TensorBase, TensorHolder)) or holds_arrays(value)


def _operator(ufunc: Any, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def call(self: RecordedArray, other: Any) -> Any:
        if takes_over(other):
            return NotImplemented
        operands = (other, self) if reflected else (self, other)
        return self.recording.call(ufunc, operands)

    return call


def _operator_in_place(ufunc: Any) -> Callable[[Any, Any], Any]:
    def call(self: RecordedArray, other: Any) -> Any:
        self.recording.call(ufunc, (self, other), {"out": (self,)}, (self,))
        return self

    return call


_OPERATORS = {
    "add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "truediv": numpy.divide, "pow": numpy.power,
    "floordiv": numpy.floor_divide, "mod": numpy.remainder, "matmul": numpy.matmul, "and": numpy.bitwise_and,
    "or": numpy.bitwise_or, "xor": numpy.bitwise_xor, "lshift": numpy.left_shift, "rshift": numpy.right_shift,
}  # fmt: skip
for _name, _ufunc in _OPERATORS.items():
    setattr(RecordedArray, f"__{_name}__", _operator(_ufunc))
    setattr(RecordedArray, f"__r{_name}__", _operator(_ufunc, True))
    setattr(RecordedArray, f"__i{_name}__", _operator_in_place(_ufunc))
_COMPARISONS = {
    "eq": numpy.equal, "ne": numpy.not_equal, "lt": numpy.less, "le": numpy.less_equal, "gt": numpy.greater,
    "ge": numpy.greater_equal,
}  # fmt: skip
for _name, _ufunc in _COMPARISONS.items():
    setattr(RecordedArray, f"__{_name}__", _operator(_ufunc))
_UNARY = {"neg": numpy.negative, "pos": numpy.positive, "abs": numpy.absolute, "invert": numpy.invert}


def _unary(ufunc: Any) -> Callable[[Any], Any]:
    return lambda self: self.recording.call(ufunc, (self,))


for _name, _ufunc in _UNARY.items():
    setattr(RecordedArray, f"__{_name}__", _unary(_ufunc))


def _layout(name: str) -> property:
    return property(lambda self: getattr(self.array, name))


for _name in _LAYOUT_ATTRIBUTES:
    setattr(RecordedArray, _name, _layout(_name))


def concrete(value: Any) -> Any:
    """A tree of arguments with NumPy arrays instead of recorded ones."""
    kind = type(value)
    if kind is RecordedArray:
        return value.array
    if kind is tuple or kind is list:
        return kind([member.array if type(member) is RecordedArray else concrete(member) for member in value])
    if kind is dict:
        return {key: concrete(member) for key, member in value.items()}
    if kind is slice:
        return slice(concrete(value.start), concrete(value.stop), concrete(value.step))
    return value


# the functions that steps call ----------------------------------------------------------------------------------------


class Attribute:
    """A function that reads an attribute of an array."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, array: Any) -> Any:
        return getattr(array, self.__name__)


class Method:
    """A function that calls a method of an array."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __call__(self, array: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(array, self.__name__)(*args, **kwargs)


attribute = memoize()(Attribute)
method = memoize()(Method)


class RuleKernel:
    """The kernel of a declared operation on NumPy's arrays, as steps call it."""

    def __init__(self, rule: Any) -> None:
        self.rule = rule
        self.function = rule.kernel(numpy_xp)
        self.__name__ = rule.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@memoize()
def rule_kernel(rule: Any) -> RuleKernel:
    """The kernel of a rule; the same object at each call."""
    return RuleKernel(rule)


# the namespace --------------------------------------------------------------------------------------------------------


def recording_among(values: Any) -> Recording | None:
    """The recording of the first recorded array in a tree of arguments."""
    for value in values:
        kind = type(value)
        if kind is RecordedArray:
            return value.recording  # type: ignore[no-any-return]
        if kind is tuple or kind is list:
            inner = recording_among(value)
            if inner is not None:
                return inner
        elif kind is dict:
            inner = recording_among(value.values())
            if inner is not None:
                return inner
    return None


def _record(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays, added to the recording of its arguments."""

    def call(*args: Any, **kwargs: Any) -> Any:
        argument_recording = recording_among(args) or recording_among(kwargs.values())
        recording = argument_recording or current_recording()
        if recording is None or function in OF_LAYOUT:
            return function(*concrete(args), **concrete(kwargs))
        # a result without array arguments lies where the arrays of the function lie
        return recording.call(function, args, kwargs, (), argument_recording is None)

    return call


#: The recording that runs in this thread, or None; recording.py fills it in.
current_recording: Callable[[], Recording | None] = lambda: None


#: The location of NumPy functions in the namespace: the part, and the name there.
_NAMES: dict[Any, tuple[str, str]] = {}


def name_in_namespace(function: Any) -> tuple[str, str]:
    """The part of the namespace that has a NumPy function, and its name there.

    >>> name_in_namespace(numpy.linalg.inv), name_in_namespace(numpy.tanh)
    (('linalg', 'inv'), ('', 'tanh'))
    """
    part_and_name = _NAMES.get(function) if function.__hash__ else None
    if part_and_name is not None:
        return part_and_name
    part = str(getattr(function, "__module__", "") or "").removeprefix("numpy").strip(".")
    return part if part in ("linalg", "fft") else "", str(getattr(function, "__name__", function))


class _Functions:
    """The functions of a module, recorded; part: its name in the namespace."""

    def __init__(self, module: Any, part: str = "") -> None:
        self._module = module
        self._part = part

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if callable(value) and not isinstance(value, type):
            if value.__hash__:
                _NAMES.setdefault(value, (self._part, name))
            value = _record(value)
        setattr(self, name, value)
        return value


class Namespace(_Functions):
    """NumPy's namespace for recorded arrays: each function, and each kernel of a rule, becomes a step."""

    __name__ = __name__
    views = True
    # an attribute of other namespaces, which each operation reads
    check_alive = None

    def __init__(self) -> None:
        super().__init__(numpy_xp)
        self.linalg = _Functions(numpy_xp.linalg, "linalg")
        self.special = _Functions(numpy_xp.special, "special")

    @staticmethod
    def kernel_of(rule: Any) -> Callable[..., Any]:
        """The kernel of a rule. A kernel that puts an array into a batch, or calls functions, is no step itself."""
        if isinstance(rule, LevelRule):
            return rule.kernel_on(None)
        if rule.name in OF_FUNCTIONS:
            return rule.kernel_on(namespace)  # type: ignore[no-any-return]
        kernel = _record(rule_kernel(rule))
        kernel.__name__ = kernel.__qualname__ = rule.name
        return kernel

    @staticmethod
    def call_native(function: Callable[..., Any], *args: Any) -> Any:
        """A function in C of NumPy's arrays, added to the recording; None where a device replays it."""
        recording = recording_among(args)
        if recording is not None and recording.twins is not None:
            return None
        return _record(function)(*args)

    @staticmethod
    def device_of(array: Any) -> Any:
        """The device of the function's array."""
        return array.recording.device_of(array)

    @staticmethod
    def beside(value: Any, model: Any, is_operand: bool) -> Any:
        """An argument of an operation that runs where the array `model` lies, as CuPy's namespace has it."""
        return model.recording.beside(value, model, is_operand)

    @staticmethod
    def address(array: Any) -> int:
        """The address of the first element."""
        array.recording.stop("took the address of memory")
        return int(array.array.__array_interface__["data"][0])

    @staticmethod
    def may_share_memory(first: Any, second: Any) -> bool:
        """Whether an array lies in the memory of another; of one without elements, whether both come from one array."""
        return bool(meets_memory(concrete(first), concrete(second)))

    @staticmethod
    def getitem(array: Any, index: Any) -> Any:
        """array[index]."""
        return array[index]

    @staticmethod
    def setitem(array: Any, index: Any, value: Any) -> None:
        """array[index] = value."""
        array[index] = value


namespace = Namespace()
register(RecordedArray, namespace)
