"""scipy.sparse.linalg for sparse matrices with derivatives."""

from adjoint.interop.sparse.linalg import cg, eigsh, expm_multiply, factorized, gmres, splu, spsolve

__all__ = ["cg", "eigsh", "expm_multiply", "factorized", "gmres", "splu", "spsolve"]
