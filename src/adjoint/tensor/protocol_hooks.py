"""Hooks of the protocols by which other libraries reach a Tensor: NumPy's, the array API, DLPack.

The functions behind them stand on a floor above. They are loaded at the first call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Protocols:
    """The functions behind each protocol, by name; `load` imports all at the first look-up."""

    def __init__(self) -> None:
        self.load: Callable[[], dict[str, Callable[..., Any]]] = dict

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answers = self.load()
        if name not in answers:
            raise AttributeError(name)
        self.__dict__.update(answers)
        return answers[name]


protocols = Protocols()


def leaves_product(frame: Any) -> bool:
    """True in a conversion for a product of SciPy's sparse arrays, which it leaves to operands that are no arrays.

    SciPy converts the other operand by numpy.asanyarray, and gives way to __rmatmul__ of what becomes an array of no
    axes that holds an object.
    """
    return frame.f_code.co_name == "_matmul_dispatch" and "sparse" in frame.f_code.co_filename
