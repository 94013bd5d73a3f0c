"""The number of batch members that run at a time, from a budget of memory.

The first two chunks have one and two members, and the arrays that they make are measured. The difference is the memory
of one member. From it follows the number of members that fit into the budget.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy

from adjoint.arrays.namespace import underlying
from adjoint.core.modes.interceptors import METER, Interceptor, interceptor_at
from adjoint.core.modes.state import INTERCEPT, ModeBlock, current
from adjoint.runtime import batch_budget

#: A number of members, by the budget, or (None) as the transformation does by itself.
ChunkSize = int | Literal["auto"] | None


class Meter(Interceptor):
    """Counts the bytes of the arrays that kernels and nodes make, for as long as they are there."""

    def __init__(self) -> None:
        super().__init__(METER)
        self.live = self.peak = 0
        self.references: dict[int, weakref.ref[Any]] = {}

    def kernel(self, operation: Any, raw: list[Any], half: Any) -> Any:
        """Count the results of a kernel; views show memory that is counted, or from outside."""
        results = operation.proceed_to_kernel(raw, half, self.position)
        arguments = [a for value in raw for a in (value if isinstance(value, (list, tuple)) else (value,))]
        return self.count_results(results, {id(owner(argument)) for argument in arguments})

    def node(self, run: Any, node: Any) -> Any:
        """Count the cotangents that a node gives."""
        return self.count_results(run.proceed(node, self.position), set())

    def count_results(self, results: Any, known_ids: set[int]) -> Any:
        """Results as they are; the bytes of memory that is not known count while it is there."""
        for result in results if isinstance(results, (tuple, list)) else (results,):
            array = owner(getattr(result, "_array", result))
            if hasattr(array, "nbytes") and id(array) not in known_ids and id(array) not in self.references:
                self.add(array, int(array.nbytes))
        return results

    def add(self, array: Any, nbytes: int) -> None:
        """Count an array until it is no more."""
        key = id(array)

        def release(_: Any) -> None:
            self.live -= nbytes
            del self.references[key]

        self.references[key] = weakref.ref(array, release)
        self.live += nbytes
        self.peak = max(self.peak, self.live)


def owner(array: Any) -> Any:
    """The array that has the memory of an array, or of a batch of arrays."""
    array = underlying(array)
    while isinstance(getattr(array, "base", None), numpy.ndarray):
        array = array.base
    return array


class _metering(ModeBlock):
    """A block whose arrays a meter counts."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter

    def _changes(self) -> Any:
        return ((INTERCEPT, "interceptors", (METER, self.meter)),)


def measure(function: Callable[..., Any], *args: Any) -> tuple[Any, int]:
    """The result of a function, and the peak of bytes in arrays that it made."""
    meter = interceptor_at(current().interceptors, METER)
    if meter is not None:
        # inside of a measured run: the outer one counts on
        before, outer, meter.peak = meter.live, meter.peak, meter.live
        result = function(*args)
        nbytes, meter.peak = meter.peak - before, max(meter.peak, outer)
        return result, nbytes
    meter = Meter()
    with _metering(meter):
        result = function(*args)
    return result, meter.peak


#: Kernels and formulas hold so many times the bytes of their results, temporary arrays included.
_UNSEEN = 1.5


class Chunks:
    """The members 0 to n of a batch in chunks (start, stop), for `run`; one empty chunk if n is 0.

    size: the size of each chunk; "auto" for as many as fit into the budget. budget: in bytes, by default the set
    budget. member_bytes: the memory that `run` takes for each member, which is not measured.
    """

    def __init__(self, n: int, size: int | Literal["auto"], budget: int | None = None, member_bytes: int = 0) -> None:
        self.n, self.size, self.member_bytes = n, size, member_bytes
        self.budget = batch_budget.get() if budget is None else budget
        self.sizes: list[int] = []

    def __iter__(self) -> Iterator[tuple[int, int]]:
        start = 0
        if not self.n:
            yield 0, 0
        while start < self.n:
            stop = min(start + self.next_size(), self.n)
            yield start, stop
            start = stop

    def next_size(self) -> int:
        """The size of the next chunk."""
        if self.size != "auto":
            return self.size
        if len(self.sizes) < 2:
            return len(self.sizes) + 1
        one, two = self.sizes
        of_member = max(two - one, 1)
        fixed = max(one - of_member, 0)
        return max(1, int((self.budget / _UNSEEN - fixed) / (of_member + self.member_bytes)))

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """The result of a function for one chunk."""
        if self.size != "auto" or len(self.sizes) == 2:
            return function(*args)
        result, nbytes = measure(function, *args)
        self.sizes.append(nbytes)
        return result


def check_chunk_size(
    name: str, chunk_size: Any, message: str = "{name}: `chunk_size` should be greater than 0."
) -> None:
    """Raise ValueError unless this is a valid chunk size."""
    if isinstance(chunk_size, str):
        if chunk_size != "auto":
            raise ValueError(f"{name}: `chunk_size` should be a number, 'auto' or None, got {chunk_size!r}")
    elif not (chunk_size is None or chunk_size > 0):
        raise ValueError(message.format(name=name, size=chunk_size))
