"""Start and stop of recording by NVIDIA's profilers (Nsight Systems, nvprof), under torch.cuda.profiler's names."""

from __future__ import annotations

import typing as _typing
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from adjoint.cuda._devices import cuda_of, is_available
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

__all__ = ["profile", "start", "stop"]

NOTHING_TO_RECORD = (
    "adjoint.cuda.profiler.profile(): no CUDA device is available, so a profiler of NVIDIA's is not told when to "
    "record; the block runs as it is"
)


def start() -> None:
    """Start recording by an attached profiler, for instance Nsight Systems.

    Raises AssertionError without a device.
    """
    cuda_of("profiler.start").profiler.start()


def stop() -> None:
    """Stop recording by an attached profiler.

    Raises AssertionError without a device.
    """
    cuda_of("profiler.stop").profiler.stop()


@contextmanager
def profile() -> Iterator[None]:
    """A block that NVIDIA's profilers record, for programs under `nvprof --profile-from-start off`.

    Without a CUDA device it warns and only runs the block.

    >>> import adjoint, warnings
    >>> warnings.simplefilter("ignore")
    >>> with adjoint.cuda.profiler.profile():
    ...     y = adjoint.ones(2) * 2
    """
    if not is_available():
        warnings.warn(NOTHING_TO_RECORD, stacklevel=3)
        yield
        return
    start()
    try:
        yield
    finally:
        stop()


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)


def __dir__() -> list[str]:
    return sorted(__all__)
