"""Sparse tensors, SciPy's sparse arrays as operands, and derivatives by structure."""

from adjoint.functions.binding import functions as _functions
from adjoint.interop.sparse.matrix import SparseMatrix, from_scipy
from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.runtime.lazy import by_name as _by_name
from adjoint.solvers.structure.derivatives import hessian, jacobian, prepare_hessian, prepare_jacobian

_HELD = {
    "adjoint.interop.sparse.systems": "spsolve",
    "adjoint.solvers.structure.pictures": "spy",
    "adjoint.tools.gradcheck.sparse_inputs": "as_sparse_gradcheck",
}
__getattr__ = _LateAttributes(__name__, {"linalg": "", **_by_name(_HELD)}, (_functions["sparse"],))
__dir__ = __getattr__.list_names
__all__ = sorted(
    {"SparseMatrix", "from_scipy", "hessian", "jacobian", "prepare_hessian", "prepare_jacobian", *__getattr__.names()}
)
