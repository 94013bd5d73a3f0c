"""Data-parallel gradients over MPI: every rank differentiates its share of the data, and all get the average.

The parameters are divided into buckets, the last parameters first, since their gradients are ready first. When the last
gradient of a bucket is accumulated, its exchange begins, while the backward pass continues.

An exchange has two steps. In the first, each rank receives its own part of the bucket from all ranks, and sums these
parts in the order of the ranks. So the sum does not depend on the order of messages, and all ranks get the same bits in
every run. In the second step the ranks send each other the sums. All ranks must begin the same exchanges in the same
order. Each step has its own communicator, so the two steps of different buckets may overlap. Within a step, buckets
follow strictly in order.
"""

from __future__ import annotations

import contextlib
import sys
import time
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy

from adjoint.arrays.dtypes import from_numpy_dtype
from adjoint.core.hooks import RemovableHandle
from adjoint.core.modes.grad_mode import no_grad
from adjoint.core.modes.state import ATTRIBUTE, ModeBlock
from adjoint.tensor.creation import from_numpy
from adjoint.tensor.tensor import Tensor

#: Dtypes without an MPI type are exchanged, and added up, in float32.
_NARROW = ("float16", "bfloat16")


def mpi() -> Any:
    """mpi4py's module MPI. Raises ModuleNotFoundError, naming the extra, where it is not installed."""
    try:
        from mpi4py import MPI
    except ModuleNotFoundError as error:
        if error.name != "mpi4py":
            raise
        raise ModuleNotFoundError(
            "gradients over MPI need mpi4py: pip install 'adjoint-autograd[mpi]'", name="mpi4py"
        ) from error
    return MPI


class Bucket:
    """Some parameters of one dtype, and the flat arrays in which their gradients are exchanged.

    outgoing: the concatenated gradients, then for each a number, 1 if it was accumulated in this pass. Padding makes
    the parts of all ranks equally long. parts: this rank's part, as received from each rank, in rows.
    """

    def __init__(self, members: list[tuple[int, Tensor]], ranks: int) -> None:
        self.members = members
        self.missing = {number for number, _ in members}
        dtype = exchanged_as(members[0][1]._array.dtype)
        self.size = sum(parameter._array.size for _, parameter in members)
        part = -(-(self.size + len(members)) // ranks)
        self.outgoing = numpy.zeros(part * ranks, dtype)
        self.parts = numpy.empty((ranks, part), dtype)
        self.incoming = numpy.empty_like(self.outgoing)
        self.request: Any = None

    def fill(self) -> None:
        """Copy the gradients, with zeros for missing ones, and mark those that were accumulated."""
        start = 0
        for position, (number, parameter) in enumerate(self.members):
            stop = start + parameter._array.size
            self.outgoing[start:stop] = 0 if parameter.grad is None else parameter.grad._array.ravel()
            self.outgoing[self.size + position] = number not in self.missing
            start = stop

    def add_up(self) -> numpy.ndarray[Any, Any]:
        """This rank's part, added up in the order of the ranks."""
        total = self.parts[0]
        for row in self.parts[1:]:
            total += row
        return total

    def give_back(self, divisor: int) -> None:
        """Write the sums, divided, into the gradients; a parameter that no rank used keeps its gradient."""
        start = 0
        for position, (number, parameter) in enumerate(self.members):
            stop = start + parameter._array.size
            if self.incoming[self.size + position]:
                values = (self.incoming[start:stop] / divisor).astype(parameter._array.dtype)
                value = from_numpy(values.reshape(parameter._array.shape))
                if parameter.grad is None:
                    parameter.grad = value
                else:
                    parameter.grad.copy_(value)
            start = stop
            self.missing.add(number)
        self.request = None


class GradientReducer:
    """Averages gradients over the ranks of an MPI communicator, while the backward pass still runs.

    Make one on every rank, for the same parameters in the same order, and call `wait()` after each `backward()`. Then
    every `.grad` is the average over all ranks, with the same bits on each. For a rank that did not use a parameter its
    gradient counts as zero. A parameter that no rank used keeps its `.grad`.

    Args:
        parameters: leaves that require grad, over NumPy arrays.
        comm: an mpi4py communicator, by default MPI.COMM_WORLD.
        average: divide by the number of ranks; False for the plain sum.
        bucket_bytes: the largest size of a bucket in bytes (a bucket has at least one parameter).
        timeout: the limit in seconds for which `wait()` waits for the other ranks; None for no limit.

    Raises:
        ModuleNotFoundError: mpi4py is not installed.
        ValueError: there are no parameters, or one is repeated, is no leaf or does not require grad; bucket_bytes is
            not positive; on every rank, if the parameters of a rank differ from those of rank 0.
        TypeError: a parameter is no Tensor, or not over a NumPy array.

    On a single rank there is no exchange, and the same program runs (the example runs without mpiexec):

    >>> import adjoint
    >>> from adjoint.distributed import GradientReducer
    >>> w = adjoint.ones(3, requires_grad=True)
    >>> with GradientReducer([w]) as reducer:  # doctest: +SKIP
    ...     (w * w).sum().backward()
    ...     reducer.wait()
    >>> w.grad  # doctest: +SKIP
    tensor([2., 2., 2.])
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        comm: Any = None,
        *,
        average: bool = True,
        bucket_bytes: int = 25 * 2**20,
        timeout: float | None = 300.0,
    ) -> None:
        self.parameters = check(list(parameters))
        if bucket_bytes <= 0:
            raise ValueError(f"bucket_bytes must be positive, but got {bucket_bytes}")
        comm = mpi().COMM_WORLD if comm is None else comm
        check_agreement(comm, self.parameters)
        self.comm, self.ranks, self.timeout = comm, comm.Get_size(), timeout
        self.divisor = self.ranks if average else 1
        self._collecting, self._sharing = comm.Dup(), comm.Dup()
        self.buckets = [Bucket(members, self.ranks) for members in divide(self.parameters, bucket_bytes)]
        self._bucket_of = {number: bucket for bucket in self.buckets for number, _ in bucket.members}
        # of the buckets, in their order: how many collect, how many of these share, how many of these are done
        self._collected = self._shared = self._completed = 0
        self._paused = False
        self._handles: list[RemovableHandle] = [
            parameter.register_post_accumulate_grad_hook(partial(self._arrive, number))
            for number, parameter in enumerate(self.parameters)
        ]

    def _arrive(self, number: int, parameter: Tensor) -> None:
        """A gradient has been accumulated: begin what exchanges can begin, and let those under way go on."""
        if self._paused:
            return
        bucket = self._bucket_of[number]
        if number not in bucket.missing:
            raise RuntimeError(
                f"the gradient of parameter {number}, of shape {list(parameter.shape)}, was accumulated a second time "
                "before wait(): call wait() after each backward pass, or accumulate the passes before under no_sync()"
            )
        bucket.missing.discard(number)
        while self._collected < len(self.buckets) and not self.buckets[self._collected].missing:
            self._collect()
        self._proceed()

    def _collect(self) -> None:
        bucket = self.buckets[self._collected]
        bucket.fill()
        bucket.request = self._collecting.Ialltoall(bucket.outgoing, bucket.parts)
        self._collected += 1

    def _proceed(self) -> bool:
        """Begin second steps, and end exchanges, as far as messages have come; True when all are done."""
        while self._shared < self._collected and self.buckets[self._shared].request.Test():
            bucket = self.buckets[self._shared]
            bucket.request = self._sharing.Iallgather(bucket.add_up(), bucket.incoming)
            self._shared += 1
        while self._completed < self._shared and self.buckets[self._completed].request.Test():
            self._completed += 1
        return self._completed == len(self.buckets)

    def wait(self) -> None:
        """Finish the exchanges of this backward pass and write the averages into `.grad`.

        Call it on every rank, also on a rank that used none of the parameters.

        Raises RuntimeError if the other ranks do not take part within `timeout` seconds.
        """
        while self._collected < len(self.buckets):
            self._collect()
        begin = time.monotonic()
        while not self._proceed():
            elapsed = time.monotonic() - begin
            if self.timeout is not None and elapsed > self.timeout:
                raise RuntimeError(
                    f"rank {self.comm.Get_rank()} of {self.ranks} has waited {elapsed:.1f} s "
                    f"for bucket {self._completed + 1} of {len(self.buckets)}: "
                    "another rank has failed, or has not called wait() after this backward pass"
                )
            time.sleep(0 if elapsed < 0.01 else 0.001)
        with no_grad():
            for bucket in self.buckets:
                bucket.give_back(self.divisor)
        self._collected = self._shared = self._completed = 0

    def no_sync(self) -> AbstractContextManager[None]:
        """A block in which backward passes accumulate gradients on each rank alone.

        The next pass outside of the block exchanges all of them.
        """
        return _Paused(self)

    def remove(self) -> None:
        """Remove the hooks of the parameters and free the communicators.

        Each rank must call it.
        """
        for handle in self._handles:
            handle.remove()
        if self._handles:
            self._collecting.Free()
            self._sharing.Free()
        self._handles = []

    def __enter__(self) -> GradientReducer:
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        # after an error the state of other ranks is unknown: freeing a communicator would wait for them
        if kind is None:
            self.remove()
        else:
            for handle in self._handles:
                handle.remove()

    def __repr__(self) -> str:
        rank = f"rank {self.comm.Get_rank()} of {self.ranks}"
        return f"<GradientReducer of {len(self.parameters)} parameters in {len(self.buckets)} buckets, {rank}>"


def exchanged_as(dtype: Any) -> Any:
    """The dtype in which gradients are exchanged."""
    return numpy.dtype(numpy.float32) if dtype.name in _NARROW else dtype


def check(parameters: list[Any]) -> list[Tensor]:
    """The parameters, if gradients of all of them can be exchanged."""
    if not parameters:
        raise ValueError("GradientReducer needs at least one parameter, but got none")
    for number, parameter in enumerate(parameters):
        if not isinstance(parameter, Tensor):
            raise TypeError(f"parameter {number} must be a Tensor, but is {type(parameter).__name__}")
        if not isinstance(parameter._array, numpy.ndarray):
            raise TypeError(
                f"parameter {number} must be over a NumPy array, which MPI can send, but is over "
                f"{type(parameter._array).__module__}.{type(parameter._array).__name__}"
            )
        if not parameter.is_leaf or not parameter.requires_grad:
            raise ValueError(f"parameter {number} must be a leaf that requires grad; this is {parameter!r}")
    numbers: dict[int, int] = {}
    for number, parameter in enumerate(parameters):
        if (first := numbers.setdefault(id(parameter), number)) != number:
            raise ValueError(f"parameters {first} and {number} are the same tensor: give each parameter once")
    return parameters


def divide(parameters: Sequence[Tensor], most: int) -> list[list[tuple[int, Tensor]]]:
    """The numbered parameters in buckets of one dtype and at most so many bytes, the last parameters first."""
    buckets: list[list[tuple[int, Tensor]]] = []
    room = 0
    for number in reversed(range(len(parameters))):
        parameter = parameters[number]
        if not buckets or room < parameter.nbytes or buckets[-1][0][1]._array.dtype != parameter._array.dtype:
            buckets.append([])
            room = most
        buckets[-1].append((number, parameter))
        room -= parameter.nbytes
    return buckets


def check_agreement(comm: Any, parameters: Sequence[Tensor]) -> None:
    """Raise ValueError, on every rank, if ranks have other parameters than rank 0."""
    signature = [(tuple(p._array.shape), from_numpy_dtype(p._array.dtype).name) for p in parameters]
    all_of_them = comm.allgather(signature)
    for rank, theirs in enumerate(all_of_them):
        if len(theirs) != len(all_of_them[0]):
            raise ValueError(
                f"rank {rank} has {len(theirs)} parameters, but rank 0 has {len(all_of_them[0])}: all ranks must give "
                "the same ones in the same order"
            )
        for number, (first, other) in enumerate(zip(all_of_them[0], theirs, strict=True)):
            if first != other:
                raise ValueError(
                    f"parameter {number} is {list(other[0])} of {other[1]} on rank {rank}, but {list(first[0])} of "
                    f"{first[1]} on rank 0: all ranks must give the same parameters in the same order"
                )


def broadcast_parameters(parameters: Iterable[Tensor], comm: Any = None, root: int = 0) -> None:
    """Give all ranks the values that tensors have on one rank, in place, before training begins.

    Args:
        parameters: tensors over NumPy arrays, the same on every rank in shape, dtype and order.
        comm: an mpi4py communicator, by default MPI.COMM_WORLD.
        root: the rank whose values all get.

    Raises:
        ModuleNotFoundError: mpi4py is not installed.
        ValueError: the tensors of a rank differ from those of rank 0.
    """
    parameter_list = list(parameters)
    comm = mpi().COMM_WORLD if comm is None else comm
    check_agreement(comm, parameter_list)
    with no_grad():
        for parameter in parameter_list:
            value = numpy.ascontiguousarray(parameter._array).reshape(parameter._array.shape)
            comm.Bcast(value.reshape(-1).view(numpy.uint8), root)
            parameter.copy_(from_numpy(value))


class _Paused(ModeBlock):
    """A block in which a reducer does not exchange."""

    def __init__(self, reducer: GradientReducer) -> None:
        self.reducer = reducer

    def _changes(self) -> tuple[Any, ...]:
        return ((ATTRIBUTE, "_paused", (self.reducer, True)),)


@contextlib.contextmanager
def abort_on_error(comm: Any = None) -> Iterator[None]:
    """Within it, an exception on one rank ends all ranks, with its traceback, instead of leaving them to wait for ever.

    Put it around the whole of a program's work. `sys.exit()` without an error passes through.

    Args:
        comm: the mpi4py communicator whose ranks end, by default MPI.COMM_WORLD.
    """
    comm = mpi().COMM_WORLD if comm is None else comm
    try:
        yield
    except BaseException as error:
        if isinstance(error, SystemExit) and error.code in (None, 0):
            raise
        sys.stdout.flush()
        print(
            f"rank {comm.Get_rank()} of {comm.Get_size()} failed, so all ranks end:\n{traceback.format_exc()}",
            file=sys.stderr,
            flush=True,
        )
        comm.Abort(1)
        raise
