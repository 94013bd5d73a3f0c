"""The definition of a program, and its random data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

Step = Callable[[], Sequence[Any]]


class Program(NamedTuple):
    """A whole program.

    make: a function of the library's module and a `Draw`. It returns the step. The step returns tensors: the value and
    the gradients, which must agree between libraries.
    """

    field: str
    name: str
    make: Callable[[ModuleType, Draw], Step]

    def step(self, library: ModuleType) -> Step:
        """The step in a library, with equal data for all libraries."""
        return self.make(library, Draw(library, self.name))


class Draw:
    """Random tensors of a library, equal in each library. Floating point tensors have double precision."""

    def __init__(self, library: ModuleType, name: str) -> None:
        self.library = library
        self.rng = np.random.default_rng(crc32(name.encode()))
        self.dtype = np.float64

    def single(self) -> Draw:
        """Use single precision from now on."""
        self.dtype = np.float32
        return self

    def constant(self, values: Any) -> Any:
        """A tensor with these values."""
        array = np.asarray(values)
        return self.library.tensor(array.astype(self.dtype) if array.dtype.kind == "f" else array)

    def leaf(self, *shape: int, scale: float = 1.0, shift: float = 0.0) -> Any:
        """A tensor of normal numbers that requires a gradient."""
        return self.normal(*shape, scale=scale, shift=shift).requires_grad_()

    def normal(self, *shape: int, scale: float = 1.0, shift: float = 0.0) -> Any:
        """Normal numbers."""
        return self.constant(shift + scale * self.rng.normal(size=shape))

    def uniform(self, *shape: int, low: float = 0.0, high: float = 1.0) -> Any:
        """Numbers between two bounds."""
        return self.constant(self.rng.uniform(low, high, shape))

    def whole(self, *shape: int, n: int) -> Any:
        """Random integers below n."""
        return self.constant(self.rng.integers(n, size=shape))


class Field(list[Program]):
    """The programs of one field; calling it declares one.

    >>> field = Field("statistics")
    >>> @field
    ... def mean(torch, draw):
    ...     x = draw.leaf(3)
    ...     return lambda: torch.autograd.grad(x.mean(), [x])
    >>> [program.name for program in field]
    ['mean']
    """

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __call__(self, make: Callable[[ModuleType, Draw], Step]) -> Callable[[ModuleType, Draw], Step]:
        self.append(Program(self.name, make.__name__.replace("_", "-"), make))
        return make


def with_gradients(library: ModuleType, loss: Callable[[], Any], leaves: Sequence[Any]) -> Step:
    """The step that returns a loss and its gradients."""

    def step() -> Sequence[Any]:
        value = loss()
        return value, *library.autograd.grad(value, leaves)

    return step
