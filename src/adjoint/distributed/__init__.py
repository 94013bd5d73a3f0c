"""Derivatives on several processes and beyond memory: lazy tensors, sums over shards, gradients averaged over MPI.

torch's process groups are left out: `is_available` and its kin are False, so that programs take their plain path.
"""

import typing as _typing

from adjoint.interop.dask import compute, persist, value_and_grad
from adjoint.interop.mpi import GradientReducer, abort_on_error, broadcast_parameters
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

__all__ = [
    "GradientReducer",
    "abort_on_error",
    "broadcast_parameters",
    "compute",
    "is_available",
    "is_backend_available",
    "is_gloo_available",
    "is_initialized",
    "is_mpi_available",
    "is_nccl_available",
    "is_torchelastic_launched",
    "is_ucc_available",
    "is_xccl_available",
    "persist",
    "value_and_grad",
]


def is_available() -> bool:
    """False: there are no process groups.

    >>> import adjoint
    >>> adjoint.distributed.is_available(), adjoint.distributed.is_initialized()
    (False, False)
    """
    return False


def is_backend_available(backend: str) -> bool:
    """False: there are no process groups, whatever the name of their backend.

    backend: "gloo", "nccl" or another.
    """
    return False


def is_gloo_available() -> bool:
    """False: there are no process groups of Gloo.

    See `is_available`.
    """
    return False


def is_initialized() -> bool:
    """False: there are no process groups.

    None has been set up, and none can be.
    """
    return False


def is_mpi_available() -> bool:
    """False: there are no process groups of MPI.

    See `is_available`.
    """
    return False


def is_nccl_available() -> bool:
    """False: there are no process groups of NCCL.

    See `is_available`.
    """
    return False


def is_torchelastic_launched() -> bool:
    """False: the process was not started by torch's launcher.

    Start programs of several processes by dask or mpiexec.
    """
    return False


def is_ucc_available() -> bool:
    """False: there are no process groups of UCC.

    See `is_available`.
    """
    return False


def is_xccl_available() -> bool:
    """False: there are no process groups of XCCL.

    See `is_available`.
    """
    return False


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
