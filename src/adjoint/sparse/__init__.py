"""Sparse matrices: derivatives by structure."""

from adjoint.solvers.structure.derivatives import hessian, jacobian, prepare_hessian, prepare_jacobian

__all__ = ["hessian", "jacobian", "prepare_hessian", "prepare_jacobian"]
