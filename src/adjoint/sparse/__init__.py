"""Sparse matrices: SciPy's as operands, and derivatives by structure."""

from adjoint.interop.sparse.matrix import SparseMatrix, from_scipy
from adjoint.runtime.lazy import LateAttributes
from adjoint.solvers.structure.derivatives import hessian, jacobian, prepare_hessian, prepare_jacobian

__getattr__ = LateAttributes(__name__, {"linalg": "", "spy": "adjoint.solvers.structure.pictures"})
__all__ = ["SparseMatrix", "from_scipy", "hessian", "jacobian", "linalg", "prepare_hessian", "prepare_jacobian", "spy"]
