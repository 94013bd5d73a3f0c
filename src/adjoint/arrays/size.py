"""Shapes and devices: ``Size``, ``device``, and the conversion of arguments to them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from math import prod
from operator import index
from types import SimpleNamespace
from typing import Any, SupportsIndex, overload

from adjoint.runtime.caches import memoize
from adjoint.runtime.forks import local

_MAX_INDEX = 2**63 - 1
#: The first name of printed types, dtypes and sizes: torch while adjoint runs under that name.
printed = SimpleNamespace(module="adjoint")


def type_name(x: object) -> str:
    """The name of a value's type as error messages show it: ``list``, ``numpy.ndarray``, ``Tensor``."""
    cls = type(x)
    return f"numpy.{cls.__name__}" if cls.__module__ == "numpy" else cls.__name__


def as_int(function: str, argument: str, position: int, value: object) -> int:
    """A whole number as an int: NumPy's and a Tensor's, too. Raises TypeError for other values.

    >>> as_int("eye", "n", 1, 2)
    2
    """
    number = None if isinstance(value, bool) else _integer(value)
    if number is None:
        raise TypeError(
            f"{function}(): argument '{argument}' (position {position}) must be int, not {type_name(value)}"
        )
    return number


def _integer(x: object) -> int | None:
    """The value as an int if it is integer-like (NumPy integers and integer tensors are), else None."""
    if type(x) is int:
        return x
    try:
        return index(x)  # type: ignore[arg-type]
    except TypeError:
        return None


class Size(tuple[int, ...]):
    """The shape of an array: a tuple of ints that stays a Size when sliced, added or repeated.

    >>> Size([2, 3]) + (4,), Size([2, 3]).numel()
    (adjoint.Size([2, 3, 4]), 6)
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[SupportsIndex] = (), /) -> Size:
        items = tuple(sizes)
        for position, item in enumerate(items):
            if type(item) is not int:
                return tuple.__new__(cls, _checked_items(items, position))
        return tuple.__new__(cls, items)

    def numel(self) -> int:
        """The number of elements of a tensor of this shape, 1 for an empty shape.

        >>> import adjoint
        >>> adjoint.Size([2, 3]).numel()
        6
        """
        return prod(self)

    def __repr__(self) -> str:
        return f"{printed.module}.Size({list(self)})"

    @overload
    def __getitem__(self, key: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, key: slice) -> Size: ...
    def __getitem__(self, key: Any) -> int | Size:
        item = tuple.__getitem__(self, key)
        return tuple.__new__(Size, item) if type(item) is tuple else item

    def __add__(self, other: object) -> Size:
        if not isinstance(other, tuple):
            raise TypeError(f"can only concatenate tuple (not {type_name(other)}) to {printed.module}.Size")
        return Size(tuple(self) + other)

    def __radd__(self, other: object) -> Size:
        if not isinstance(other, tuple):
            # a list that is extended asks here first
            return NotImplemented
        return Size(other + tuple(self))

    def __mul__(self, times: SupportsIndex) -> Size:
        return tuple.__new__(Size, tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[Any, ...]:
        return Size, (tuple(self),)


def _checked_items(items: tuple[Any, ...], start: int) -> tuple[int, ...]:
    checked = list(items)
    for position in range(start, len(items)):
        value = _integer(items[position])
        if value is None:
            raise TypeError(
                f"{printed.module}.Size() takes an iterable of 'int' "
                f"(item {position} is '{type_name(items[position])}')"
            )
        checked[position] = value
    return tuple(checked)


# --- the size arguments of zeros, ones, empty, ... ----------------------------------------------------------


def check_shape(
    name: str,
    size: Sequence[Any],
    *,
    argument: str = "size",
    position: int = 1,
    allow_int: bool = True,
) -> tuple[int, ...]:
    """The shape that the positional arguments ``size`` of function ``name`` mean.

    Accepts ``(2, 3)``, ``((2, 3),)``, ``([2, 3],)`` and ``(Size([2, 3]),)``; integer-like items count as
    ints. A function whose size must be a tuple (``full``, ``randint``) passes ``((2, 3),)`` and
    ``allow_int=False``, and ``position`` tells where that argument stands.

    Raises:
        TypeError: an item is not an integer, or there is no argument.
        RuntimeError: an item is negative, or the number of elements exceeds 2**63 - 1.

    >>> check_shape("zeros", (2, 3)), check_shape("zeros", ([2, 3],)), check_shape("zeros", (4,))
    ((2, 3), (2, 3), (4,))
    """
    if not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "{argument}"')
    first = size[0]
    is_sequence = isinstance(first, (tuple, list))
    if is_sequence or not allow_int:
        if len(size) > 1:
            raise TypeError(f"{name}() takes {position} positional argument but {position + len(size) - 1} were given")
        if not is_sequence:
            raise TypeError(f"{_must_be_ints(name, argument, position)}, not {type_name(first)}")
        size = first
    shape = tuple(size)
    for item in shape:
        if type(item) is not int or not 0 <= item <= _MAX_INDEX:
            return _slow_check_shape(name, argument, position, shape, is_sequence)
    if prod(shape) > _MAX_INDEX:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return shape


def _must_be_ints(name: str, argument: str, position: int) -> str:
    return f"{name}(): argument '{argument}' (position {position}) must be tuple of ints"


def _slow_check_shape(
    name: str, argument: str, position: int, items: tuple[Any, ...], is_sequence: bool
) -> tuple[int, ...]:
    """Convert items one by one, and say which of them is wrong."""
    where = _must_be_ints(name, argument, position)
    shape = []
    for i, item in enumerate(items):
        value = _integer(item)
        # PyTorch takes True for 1, except where it decides whether the first argument is an integer at all.
        if i == 0 and (value is None or isinstance(item, bool)):
            if is_sequence:
                raise TypeError(f"{where}, but found element of type {type_name(item)} at pos 0")
            if len(items) > 1:
                n_given = position + len(items) - 1
                raise TypeError(f"{name}() takes {position} positional argument but {n_given} were given")
            raise TypeError(f"{where}, not {type_name(item)}")
        reason = "Overflow when unpacking long long"
        if value is None:
            reason = f"type must be tuple of ints,but got {type_name(item)}"
        if value is None or not -_MAX_INDEX - 1 <= value <= _MAX_INDEX:
            raise TypeError(
                f"{name}(): argument '{argument}' failed to unpack the object at pos {i + 1} with error \"{reason}\""
            )
        shape.append(value)
    for value in shape:
        if value < 0 and name == "zeros":
            raise RuntimeError("zeros: Dimension size must be non-negative.")
        if value < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {value}: {shape}")
    return check_shape(name, (tuple(shape),), argument=argument, position=position)


# --- devices ------------------------------------------------------------------------------------------------

_DEVICE_TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla",
    "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip


class device:
    """The location of arrays, like ``torch.device``: ``device("cpu")``, ``device("cuda:1")``, ``device("cuda", 1)``.

    The device need not exist; ``as_device`` checks that it does. A bare number names an accelerator.

    Raises:
        RuntimeError: the type is unknown, the string is malformed, or a number is given and there is no
            accelerator.
        TypeError: the arguments are neither a string (with an int) nor a device.

    In a `with` block it is the default of functions that make tensors.

    >>> device("cuda", 1), str(device("cuda:1")), device("cpu").index
    (device(type='cuda', index=1), 'cuda:1', None)
    """

    __slots__ = ("_index", "_type")

    _type: str
    _index: int | None

    def __init__(self, type: str | device | int, index: int | None = None) -> None:
        if isinstance(type, device):
            if index is not None:
                raise TypeError("device(): argument 'type' (position 1) must be str, not adjoint.device")
            self._type, self._index = type._type, type._index
        elif isinstance(type, int) and not isinstance(type, bool) and index is None:
            self._type, self._index = "cuda", _accelerator_index(type)
        elif isinstance(type, str):
            self._type, self._index = _parse_device(type, index)
        else:
            raise TypeError(
                f"device() received an invalid combination of arguments - got ({type_name(type)}), "
                "but expected one of:\n * (adjoint.device device)\n * (str type, int index = -1)\n"
            )

    @property
    def type(self) -> str:
        """The kind of device: ``"cpu"``, ``"cuda"``."""
        return self._type

    @property
    def index(self) -> int | None:
        """Its number among the devices of its kind; None is the current one."""
        return self._index

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return self._type == other._type and self._index == other._index

    def __hash__(self) -> int:
        return hash((self._type, self._index))

    def __repr__(self) -> str:
        index_text = "" if self._index is None else f", index={self._index}"
        return f"device(type={self._type!r}{index_text})"

    def __str__(self) -> str:
        return self._type if self._index is None else f"{self._type}:{self._index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return device, (str(self),)

    def __enter__(self) -> device:
        DEFAULT.before.append(DEFAULT.device)
        DEFAULT.device = self
        return self

    def __exit__(self, *error: object) -> None:
        DEFAULT.device = DEFAULT.before.pop()


class _Default(local):
    """The device that new tensors of a thread go to where none is named; None is main memory."""

    device: device | None = None

    def __init__(self) -> None:
        self.before: list[device | None] = []


DEFAULT = _Default()


def _accelerator_index(number: int) -> int:
    if number < 0:
        raise RuntimeError("Device index must not be negative")
    if not cuda_is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return number


def _parse_device(text: str, number: int | None) -> tuple[str, int | None]:
    if not text:
        raise RuntimeError("Device string must not be empty")
    kind, colon, digits = text.partition(":")
    if kind not in _DEVICE_TYPES:
        raise RuntimeError(f"Expected one of {', '.join(_DEVICE_TYPES)} device type at start of device string: {text}")
    if colon:
        if not (digits.isascii() and digits.isdigit()) or (digits[0] == "0" and digits != "0"):
            raise RuntimeError(f"Invalid device string: '{text}'")
        if number is not None:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {text}")
        return kind, int(digits)
    if number is None:
        return kind, None
    if not isinstance(number, int):
        raise TypeError(f"device(): argument 'index' (position 2) must be int, not {type_name(number)}")
    if number < 0:
        raise RuntimeError("Device index must not be negative")
    return kind, number


@memoize()
def cuda_is_available() -> bool:
    """Whether CuPy is installed and sees a CUDA device."""
    if importlib.util.find_spec("cupy") is None:
        return False
    import cupy

    try:
        return bool(cupy.cuda.runtime.getDeviceCount() > 0)
    except cupy.cuda.runtime.CUDARuntimeError:
        return False


CPU = device("cpu")


def as_device(x: object, function: str = "tensor") -> device:
    """Convert the ``device`` argument of ``function``; check that arrays can be placed there.

    None and a CPU of any number are the CPU.

    Raises:
        AssertionError: the argument names a CUDA device, and there is none.
        RuntimeError: the device is of a kind that no array library here serves.
        TypeError: it is not a device, a string or a number.

    >>> as_device("cpu:0"), as_device(None)
    (device(type='cpu'), device(type='cpu'))
    """
    if x is None or x is CPU or x == "cpu":
        return CPU
    if not isinstance(x, (str, int, device)) or isinstance(x, bool):
        raise TypeError(f"{function}(): argument 'device' must be adjoint.device, not {type_name(x)}")
    result = x if isinstance(x, device) else device(x)
    if result.type == "cuda" and not cuda_is_available():
        raise AssertionError(
            f"device '{result}' was asked for, but no CUDA device is available: install CuPy on a machine "
            "with one, or use device='cpu'"
        )
    if result.type not in ("cpu", "cuda"):
        raise RuntimeError(f"device '{result}' was asked for, but the supported devices are 'cpu' and 'cuda'")
    # main memory is one, whichever number it is given
    return CPU if result.type == "cpu" else result
