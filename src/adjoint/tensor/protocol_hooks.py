"""Functions of a higher floor that are loaded at the first call.

`protocols` are the protocols of other libraries for a Tensor: NumPy's, the array API, DLPack. `values` convert arrays
and numbers at the entry and exit of functions of functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Above:
    """Functions of a floor above, by name; `load` imports all at the first look-up."""

    def __init__(self) -> None:
        self.load: Callable[[], dict[str, Callable[..., Any]]] = dict

    def __getattr__(self, name: str) -> Callable[..., Any]:
        functions = self.load()
        if name not in functions:
            raise AttributeError(name)
        self.__dict__.update(functions)
        return functions[name]


protocols = Above()
#: How values that are no Tensors go into transformations and come out. is_value: whether something is an array or a
#: number. enter(value, name): its Tensor. enter_quickly(value): the same for a plain array of floating-point numbers,
#: None for anything else. is_held(value): whether it is a differentiable array. give(tensor): what a function gets for
#: it. take(value): the Tensor of what a function returned, or the value itself if it is no array; constants become
#: Tensors, too, with take(value, True). leave(tensor, held): what the caller gets; held: as a differentiable array.
#: plain(tensor): its values. compile(function): `adjoint.compile`.
values = Above()


def leaves_product(frame: Any) -> bool:
    """True in a conversion for a product of SciPy's sparse arrays, which it leaves to operands that are no arrays.

    SciPy converts the other operand by numpy.asanyarray, and gives way to __rmatmul__ of what becomes an array of no
    axes that holds an object.
    """
    return frame.f_code.co_name == "_matmul_dispatch" and "sparse" in frame.f_code.co_filename
