"""Arrays that wait on disk."""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from time import perf_counter
from typing import IO, Any, NamedTuple

import numpy


class ArrayFile:
    """Consecutive arrays in a file without a name in its directory.

    No other process can open it, and the operating system deletes it with its last descriptor, however the process
    ends. Raises FileNotFoundError if the directory does not exist.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.process = os.getpid()
        self.file: IO[bytes] = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115 - closed by the finalizer
        weakref.finalize(self, self.file.close)
        self.end = 0

    def write(self, array: numpy.ndarray[Any, Any]) -> StoredArray:
        """Write an array. Raises OSError if the disk is full, RuntimeError if another process made the file."""
        if self.process != os.getpid():
            raise RuntimeError(
                f"process {self.process} made this file, and process {os.getpid()} cannot write to it: call the "
                "function again in this process"
            )
        # products of matrices round by the order in memory
        order = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
        flat = numpy.ravel(array, order=order)  # type: ignore[call-overload]
        # memory maps begin at such places
        start = -(-self.end // mmap.ALLOCATIONGRANULARITY) * mmap.ALLOCATIONGRANULARITY
        self.file.seek(start)
        self.file.write(flat.view(numpy.uint8).data)
        self.file.flush()
        self.end = start + array.nbytes
        return StoredArray(self, start, array.nbytes, array.dtype, array.shape, order)


class StoredArray(NamedTuple):
    """An array in a file, which is there as long as this object."""

    file: ArrayFile
    start: int
    nbytes: int
    dtype: Any
    shape: tuple[int, ...]
    order: str

    def read(self) -> numpy.ndarray[Any, Any]:
        """The array, in memory again."""
        if not self.nbytes:
            return numpy.empty(self.shape, self.dtype)
        # a map has no position that threads and processes would share
        with mmap.mmap(self.file.file.fileno(), self.nbytes, access=mmap.ACCESS_READ, offset=self.start) as mapped:
            flat = numpy.frombuffer(mapped, self.dtype).copy()
        return numpy.reshape(flat, self.shape, order=self.order)  # type: ignore[no-any-return, call-overload]


class DiskTime(NamedTuple):
    """The seconds for writing and reading an array: a constant, and seconds for each byte."""

    of_array: float
    of_byte: float

    def __call__(self, nbytes: int) -> float:
        return self.of_array + self.of_byte * nbytes


#: The size of the larger of the two arrays that measure a disk.
_SAMPLE = 2**22


def disk_time(directory: str | os.PathLike[str]) -> DiskTime:
    """The speed of the disk that a directory is on, by one small and one large array."""
    file = ArrayFile(directory)
    seconds = []
    for size in (1, 1, _SAMPLE):
        array = numpy.zeros(size, numpy.uint8)
        start = perf_counter()
        file.write(array).read()
        seconds.append(perf_counter() - start)
    return DiskTime(seconds[1], max(seconds[2] - seconds[1], 0.0) / _SAMPLE)
