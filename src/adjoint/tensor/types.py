"""The older names of types: `FloatTensor` and its relatives, which create tensors and test their type."""

from __future__ import annotations

from typing import Any

from adjoint.arrays.dtypes import DTYPES, dtype, set_default_dtype
from adjoint.arrays.size import printed
from adjoint.core.graph import new_tensor
from adjoint.runtime.once import warn_once
from adjoint.tensor.tensor import Tensor, array_from_arguments


class tensortype(type):
    """The class of `FloatTensor` and its relatives."""

    dtype: dtype

    def __call__(cls, *data: Any, device: Any = None) -> Tensor:
        """A tensor of this type: of the shape given, with a copy of the data, or sharing a tensor's memory.

        Raises TypeError for data that are no sequence, and for a tensor of another type.
        """
        first = data[0] if len(data) == 1 else None
        if isinstance(first, Tensor) and first.dtype is not cls.dtype:
            raise TypeError(f"expected a tensor of dtype {cls.dtype}, but got one of dtype {first.dtype}")
        return new_tensor(array_from_arguments(data, cls.dtype, device))

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class '{printed.module}.{cls.__name__}'>"


_HELP = """Tensors of {kind}.

    {name}(2, 3) is a tensor of shape (2, 3) with arbitrary elements, and {name}([1, 2]) has elements 1 and 2.
    isinstance(x, {name}) is True for tensors of this dtype in main memory.
    """


def _tensor_type(kind: dtype) -> tensortype:
    name = f"{kind.long_name}Tensor"
    doc = _HELP.format(name=name, kind=kind)
    return tensortype(name, (), {"dtype": kind, "__doc__": doc, "__module__": "adjoint"})


#: By name, for all dtypes except complex and wider unsigned ones, as in torch.
TENSOR_TYPES: dict[str, tensortype] = {
    f"{kind.long_name}Tensor": _tensor_type(kind)
    for kind in DTYPES
    if not kind.is_complex and kind.name not in ("uint16", "uint32", "uint64")
}
globals().update(TENSOR_TYPES)


def set_default_tensor_type(t: Any) -> None:
    """Set the default type of floating-point tensors (such as FloatTensor, or "adjoint.FloatTensor").

    Raises TypeError for an object that names no such type.
    """
    kind = TENSOR_TYPES.get(t.rpartition(".")[2]) if isinstance(t, str) else t
    if not isinstance(kind, tensortype) or not kind.dtype.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    warn_once(
        f"{printed.module}.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use "
        f"{printed.module}.set_default_dtype() and {printed.module}.set_default_device() as alternatives."
    )
    set_default_dtype(kind.dtype)
