"""Derivatives on several processes and beyond memory: lazy tensors, sums over shards, gradients averaged over MPI."""

from adjoint.interop.dask import compute, persist, value_and_grad
from adjoint.interop.mpi import GradientReducer, abort_on_error, broadcast_parameters

__all__ = ["GradientReducer", "abort_on_error", "broadcast_parameters", "compute", "persist", "value_and_grad"]
