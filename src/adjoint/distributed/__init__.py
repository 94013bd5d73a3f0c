"""Derivatives on several processes: gradients averaged over MPI."""

from adjoint.interop.mpi import GradientReducer, abort_on_error, broadcast_parameters

__all__ = ["GradientReducer", "abort_on_error", "broadcast_parameters"]
