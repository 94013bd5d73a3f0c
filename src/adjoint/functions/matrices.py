"""Products of groups of matrices, and a few eigenpairs of a matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjoint.arrays.size import Size, type_name
from adjoint.core import errors
from adjoint.core.graph import TensorBase
from adjoint.functions.composite import composite, functional, ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


@functional
def grouped_mm(
    mat_a: Tensor, mat_b: Tensor, *, offs: Tensor | None = None, bias: Tensor | None = None, out_dtype: Any = None
) -> Tensor:
    """Products of matrices group by group; groups of rows or columns are consecutive in one matrix.

    Args:
        mat_a, mat_b: matrices, or stacks with one matrix for each group. Members of two stacks are multiplied. For a
            matrix and a stack, groups of mat_a's rows or mat_b's columns are multiplied with the members. For two
            matrices, groups of mat_a's columns are multiplied with groups of mat_b's rows, which gives a stack.
        offs: the end of each group, int32, ascending; needed with a matrix. Rows after the last group count as zeros.
        bias: must be None. out_dtype: must be None or the dtype of mat_a.

    Raises RuntimeError if shapes, dtypes or offsets do not fit.

    >>> import adjoint
    >>> rows, weights = adjoint.ones(3, 2), adjoint.tensor([[[1.0], [1.0]], [[5.0], [5.0]]])
    >>> ends = adjoint.tensor([1, 3], dtype=adjoint.int32)
    >>> adjoint.nn.functional.grouped_mm(rows, weights, offs=ends).flatten()
    tensor([ 2., 10., 10.])
    """
    check_grouped(mat_a, mat_b, offs, bias, out_dtype)
    if offs is None:
        return ops.bmm(mat_a, mat_b)
    ends = offs.tolist()
    if ends != sorted(ends) or (ends and ends[0] < 0):
        raise RuntimeError(f"grouped_mm(): offsets must ascend from 0, but got {ends}")
    spans = list(zip([0, *ends[:-1]], ends, strict=True))
    if mat_a.dim() == 2 and mat_b.dim() == 2:
        check_end(ends, mat_a.shape[1])
        return ops.stack([ops.mm(mat_a[:, i:j], mat_b[i:j]) for i, j in spans])
    if mat_a.dim() == 2:
        size, shape = mat_a.shape[0], (mat_b.shape[2],)
        check_end(ends, size)
        parts = [ops.mm(mat_a[i:j], mat_b[n]) for n, (i, j) in enumerate(spans)]
        return ops.cat([*parts, mat_a.new_zeros((size - ends[-1], *shape))], 0)
    size = mat_b.shape[1]
    check_end(ends, size)
    parts = [ops.mm(mat_a[n], mat_b[:, i:j]) for n, (i, j) in enumerate(spans)]
    return ops.cat([*parts, mat_b.new_zeros((mat_a.shape[1], size - ends[-1]))], 1)


def check_end(ends: list[int], size: int) -> None:
    """Raise RuntimeError where the last group ends outside of the matrix."""
    if ends[-1] > size:
        raise RuntimeError(f"grouped_mm(): the last group ends at {ends[-1]}, behind the {size} rows or columns")


def check_grouped(mat_a: Tensor, mat_b: Tensor, offs: Any, bias: Any, out_dtype: Any) -> None:
    """Raise an error unless these can be multiplied by groups."""
    for name, matrix in (("mat_a", mat_a), ("mat_b", mat_b)):
        if not isinstance(matrix, TensorBase):
            raise TypeError(errors.must_be_tensor("grouped_mm", name, 0, matrix))
        if matrix.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if mat_a.dtype is not mat_b.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {mat_a.dtype} != {mat_b.dtype}")
    both, stacked = mat_a.dim() == mat_b.dim() == 2, mat_a.dim() == mat_b.dim() == 3
    if mat_a.shape[-1] != mat_b.shape[-2]:
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    if (offs is None) != stacked:
        raise RuntimeError("Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d")
    if stacked and mat_a.shape[0] != mat_b.shape[0]:
        raise RuntimeError("batched dimension has to match")
    if offs is not None:
        if not isinstance(offs, TensorBase):
            raise TypeError(f"grouped_mm(): argument 'offs' must be Tensor, not {type_name(offs)}")
        if offs.dim() != 1:
            raise RuntimeError("offs has to be 1D")
        if offs._array.dtype != "int32":
            raise RuntimeError("Offsets have to be int32")
        groups = None if both else (mat_b if mat_a.dim() == 2 else mat_a).shape[0]
        if groups not in (None, offs._array.size) or not offs._array.size:
            raise RuntimeError("matrix batch sizes have to match")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    if out_dtype is not None and out_dtype is not mat_a.dtype:
        raise RuntimeError("Grouped gemm output dtype must match `mat_a` dtype")


@composite(method=False)
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of symmetric matrices, with eigenvectors of length 1 as columns.

    LAPACK computes all eigenpairs, and k of them are returned. They are exact, whereas torch iterates. So the
    parameters of the iteration have no effect (iK, niter, tol, method, and X except its number of columns). For few
    eigenpairs of
    large sparse matrices use scipy.sparse.linalg.eigsh.

    Args:
        A: symmetric matrices.
        k: the number of eigenvalues; by default the number of X's columns, or 1.
        B: positive definite matrices, for A x = l B x; the eigenvectors then have length 1 by B.
        n: the size of the random start in torch, for k.
        largest: the largest, descending; False: the smallest, ascending.
        tracker: must be None, as there is no iteration.

    Raises ValueError if A has fewer than 3 k rows, and AssertionError if it is not square.

    >>> import adjoint
    >>> adjoint.lobpcg(adjoint.diag(adjoint.tensor([1.0, 5.0, 2.0])))[0]
    tensor([5.])
    """
    if tracker is not None:
        raise NotImplementedError(
            f"lobpcg(): tracker={tracker!r:.80} is not supported, since this solution has no steps: leave it out"
        )
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {Size(A.shape)}")
    if k is None:
        k = n if n is not None and X is None else 1 if X is None else int(X.shape[-1])
    m = int(A.shape[-1])
    if k < 1:
        raise ValueError(f"lobpcg(): the number of eigenpairs must be positive, got {k}")
    if m < 3 * k:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
            f"requested eigenpairs (={k})"
        )
    if B is None:
        values, vectors = ops.linalg_eigh(A, "L")
    else:
        # with B = L Lᵀ this is the eigenproblem of L⁻¹ A L⁻ᵀ
        factor = ops.linalg_cholesky(B)
        inner = ops.linalg_solve_triangular(factor, A, upper=False)
        inner = ops.linalg_solve_triangular(factor, inner.mT, upper=False)
        values, vectors = ops.linalg_eigh((inner + inner.mT) / 2, "L")
        vectors = ops.linalg_solve_triangular(factor.mT, vectors, upper=True)
    if largest is False:
        pairs = values[..., :k], vectors[..., :k]
    else:
        pairs = values[..., -k:].flip(-1), vectors[..., -k:].flip(-1)
    return ops.join_results(pairs, "LOBPCGAutogradFunctionBackward")
