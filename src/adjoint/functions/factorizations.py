"""Factorizations in LAPACK's packed forms, their unpacking and their solvers: LU, LDL, Householder reflectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from adjoint.arrays.dtypes import is_half, kind_of
from adjoint.arrays.kernels.linalg.errors import LinAlgError
from adjoint.arrays.namespace import is_lazy, underlying
from adjoint.core.operations.results import results_of
from adjoint.core.recorded import operations
from adjoint.functions.composite import as_tensor, composite, ops, separate, torch_call
from adjoint.rules.contract import long_name, shape_text
from adjoint.rules.factorizations import in_order, unit_lower, upper
from adjoint.rules.linalg import check_matrix, check_sides, check_square

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def transpose_matrices(x: Tensor) -> Tensor:
    """The transposed matrices of a batch."""
    return ops.transpose(x, -2, -1)


def _first_failure(info: Tensor) -> tuple[str, int] | None:
    """The position in a batch where info is not 0, in words, and info there; None without a failure."""
    array = underlying(info._array)
    if is_lazy(array):  # whoever computes the factors sees what became of them
        return None
    flat = array.reshape(-1).tolist()
    index = next((i for i, value in enumerate(flat) if value), None)
    if index is None:
        return None
    return (f"(Batch element {index}): " if array.ndim else ""), flat[index]


# LU -----------------------------------------------------------------------------------------------------------------


@results_of("linalg_lu_factor")
class _LuFactor(NamedTuple):
    LU: Tensor
    pivots: Tensor


@results_of("linalg_lu_factor_ex")
class _LuFactorEx(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor


@results_of("_lu_with_info")
class _LuWithInfo(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor


@results_of("linalg_lu")
class _Lu(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor


@results_of("lu_unpack")
class _LuUnpack(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor


def _refuse_type(name: str, A: Tensor) -> None:
    if A.dtype.itemsize < 4 or not (A.is_floating_point() or A.is_complex()):
        raise NotImplementedError(f"\"{name}\" not implemented for '{A.dtype.long_name}'")


def _refuse_zero_pivot(name: str, info: Tensor) -> None:
    failed = _first_failure(info)
    if failed is not None:
        where, pivot = failed
        raise RuntimeError(
            f"{name}: {where}U[{pivot},{pivot}] is zero and using it on lu_solve would result in a division by zero. "
            "If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )


@composite(namespace="linalg", method=False)
@torch_call("linalg_lu_factor_ex", first="A")
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False) -> _LuFactorEx:
    """lu_factor() with a third result, `info`: which pivot is zero, counted from 1; 0 where none is.

    Raises RuntimeError for a zero pivot only with check_errors.

    >>> import adjoint
    >>> adjoint.linalg.lu_factor_ex(adjoint.zeros(2, 2)).info
    tensor(1, dtype=adjoint.int32)
    """
    if A.ndim > 1:
        _refuse_type("lu_cpu", A)
    result = ops.linalg_lu_factor_ex(A, pivot)
    if check_errors:
        _refuse_zero_pivot("torch.linalg.lu_factor_ex", result.info)
    return _LuFactorEx(*result)


@composite(namespace="linalg", method=False)
@torch_call("linalg_lu_factor", first="A")
def lu_factor(A: Tensor, *, pivot: bool = True) -> _LuFactor:
    """The factors of A = P L U of matrices (..., m, n) in one tensor LU of that shape, and the pivots.

    U lies on and above the diagonal, L below it; the diagonal of L is ones. `pivots` (..., min(m, n)) has, for each
    row, the number (from 1) of the row exchanged with it. linalg.lu_solve() and adjoint.lu_unpack() take both results.
    Raises RuntimeError if a pivot is zero.

    >>> import adjoint
    >>> adjoint.linalg.lu_factor(adjoint.tensor([[1.0, 2.0], [2.0, 5.0]])).LU
    tensor([[ 2.0000,  5.0000],
            [ 0.5000, -0.5000]])
    """
    result = lu_factor_ex(A, pivot=pivot)
    _refuse_zero_pivot("torch.linalg.lu_factor", result.info)
    return _LuFactor(result.LU, result.pivots)


@composite(namespace="linalg", method=False)
@torch_call("linalg_lu", first="A")
def lu(A: Tensor, *, pivot: bool = True) -> _Lu:
    """A = P L U of matrices (..., m, n): a permutation, a lower triangle with ones on its diagonal, an upper triangle.

    Shapes: P (..., m, m), L (..., m, k), U (..., k, n) with k = min(m, n).

    >>> import adjoint
    >>> adjoint.linalg.lu(adjoint.tensor([[1.0, 2.0], [2.0, 5.0]])).U
    tensor([[ 2.0000,  5.0000],
            [ 0.0000, -0.5000]])
    """
    if A.ndim < 2:
        raise RuntimeError(
            f"linalg.lu: Expected tensor with 2 or more dimensions. Got size: {shape_text(A.shape)} instead"
        )
    factorization = lu_factor_ex(A, pivot=pivot)
    P, L, U = _unpack(factorization.LU, factorization.pivots, "LinalgLuBackward0")
    return _Lu(P if pivot else ops.zeros_of(A, (0,)), L, U)


def _unpack(LU: Tensor, pivots: Tensor, node: str) -> _Lu:
    return _Lu(ops.lu_permutation(LU.detach(), pivots), *ops.join_results((unit_lower(ops, LU), upper(ops, LU)), node))


@composite(method=False)
@torch_call(first="LU_data")
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True) -> _LuUnpack:
    """P, L and U from the results of linalg.lu_factor(); see linalg.lu().

    Without unpack_data L and U are empty, without unpack_pivots P.

    >>> import adjoint
    >>> LU, pivots = adjoint.linalg.lu_factor(adjoint.tensor([[1.0, 2.0], [2.0, 5.0]]))
    >>> P, L, U = adjoint.lu_unpack(LU, pivots)
    >>> P @ L @ U
    tensor([[1., 2.],
            [2., 5.]])
    """
    if LU_data.ndim < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {shape_text(LU_data.shape)} instead"
        )
    pivots = as_tensor("lu_unpack", "LU_pivots", 2, LU_pivots)
    nothing = ops.zeros_of(LU_data, (0,))
    P = nothing
    if unpack_pivots:
        if pivots._array.dtype.name != "int32":
            raise RuntimeError(
                "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\n"
                "Note: this function is intended to be used with the output produced by torch.linalg.lu_factor"
            )
        if pivots.numel() and not bool(((pivots >= 1) & (pivots <= LU_data.shape[-2])).all()):
            raise RuntimeError(
                "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive."
                "Did you properly pass the result of lu_factor?"
            )
        P = ops.lu_permutation(LU_data.detach(), pivots)
    if not unpack_data:
        # parts of the data all the same, so that they belong to its graph
        factors = [ops.reshape(LU_data, (-1,))[:0].clone() for _ in "LU"]
    else:
        factors = [unit_lower(ops, LU_data), upper(ops, LU_data)]
    return _LuUnpack(P, *ops.join_results(factors, "LuUnpackBackward0"))


@composite(namespace="linalg", method=False)
@torch_call("linalg_lu_solve", first="LU")
def lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False) -> Tensor:
    """X with A X = B (or X A = B for left=False), where linalg.lu_factor(A) gave LU and pivots.

    Shapes: LU (..., n, n), pivots (..., n), B (..., n, k), or (..., k, n) for left=False; batch axes broadcast.
    adjoint: solve with the conjugate transpose of A.

    >>> import adjoint
    >>> LU, pivots = adjoint.linalg.lu_factor(adjoint.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> adjoint.linalg.lu_solve(LU, pivots, adjoint.ones(2, 1))
    tensor([[0.5000],
            [0.2500]])
    """
    pivots, B = as_tensor("linalg_lu_solve", "pivots", 2, pivots), as_tensor("linalg_lu_solve", "B", 3, B)
    check_square("torch.linalg.lu_solve", LU._array)
    if LU.dtype is not B.dtype:
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {LU.dtype.long_name} "
            f"and B of type {B.dtype.long_name} instead"
        )
    if pivots._array.dtype.name != "int32":
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    check_matrix("linalg.lu_solve", B._array, "B")
    check_sides("linalg.lu_solve", LU._array, B._array, left)
    if tuple(pivots.shape[-1:]) != LU.shape[-1:]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if tuple(pivots.shape[:-1]) != LU.shape[:-2]:
        raise RuntimeError(
            "linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{shape_text(pivots.shape)} instead"
        )
    if not left:
        return ops.conj_transpose(_lu_solution(LU, pivots, ops.conj_transpose(B), not adjoint))
    return _lu_solution(LU, pivots, B, adjoint)


def _lu_solution(LU: Tensor, pivots: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    triangular, rows = ops.linalg_solve_triangular, LU.shape[-2]
    if adjoint:
        lu_h = ops.conj_transpose(LU)
        inner = triangular(lu_h, triangular(lu_h, B, upper=False), upper=True, unitriangular=True)
        return in_order(ops, inner, ops.lu_order(pivots, rows, True))
    inner = in_order(ops, B, ops.lu_order(pivots, rows))
    return triangular(LU, triangular(LU, inner, upper=False, unitriangular=True), upper=True)


@composite(name="lu_solve")
@torch_call("lu_solve")
def old_lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """Older form of linalg.lu_solve(), with the right-hand side first.

    b: (..., n, k). LU_data and LU_pivots: the results of lu_factor(). Differentiable by b and the factors.

    >>> import adjoint
    >>> adjoint.lu_solve(adjoint.tensor([[8.0]]), *adjoint.linalg.lu_factor(adjoint.tensor([[2.0]])))
    tensor([[4.]])
    """
    return lu_solve(LU_data, LU_pivots, input)


@composite(name="lu")
@torch_call("lu")
def old_lu(input: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """Older form of linalg.lu_factor_ex(): LU, the pivots, and with get_infos which pivot is zero.

    A: (..., m, n). pivot: whether rows are exchanged.

    >>> import adjoint
    >>> adjoint.lu(adjoint.tensor([[1.0, 2.0], [4.0, 5.0]]))[1]
    tensor([2, 2], dtype=adjoint.int32)
    """
    result = lu_factor_ex(input, pivot=pivot)
    return _LuWithInfo(*result) if get_infos else tuple(result[:2])


# inverses and solutions that may fail ---------------------------------------------------------------------------------


@results_of("linalg_inv_ex")
class _InvEx(NamedTuple):
    inverse: Tensor
    info: Tensor


@results_of("linalg_cholesky_ex")
class _CholeskyEx(NamedTuple):
    L: Tensor
    info: Tensor


@results_of("linalg_solve_ex")
class _SolveEx(NamedTuple):
    result: Tensor
    info: Tensor


@composite(namespace="linalg", method=False)
@torch_call("linalg_inv_ex", first="A")
def inv_ex(A: Tensor, *, check_errors: bool = False) -> _InvEx:
    """linalg.inv(), and for each matrix 0, or the number (from 1) of the zero pivot if it has no inverse.

    The "inverse" of such a matrix has infinite or undefined elements. Raises LinAlgError only with check_errors.

    >>> import adjoint
    >>> adjoint.linalg.inv_ex(adjoint.zeros(2, 2)).info
    tensor(1, dtype=adjoint.int32)
    """
    check_square("linalg.inv", A._array)
    if is_half(A._array.dtype):
        raise RuntimeError(f"linalg.inv: Low precision dtypes not supported. Got {A.dtype.long_name}")
    info = ops.linalg_lu_factor_ex(A.detach()).info
    failed = _first_failure(info) if check_errors else None
    if failed is not None:
        raise LinAlgError(
            f"linalg.inv_ex: {failed[0]}The diagonal element {failed[1]} is zero, the inversion could not be completed "
            "because the input matrix is singular."
        )
    return _InvEx(ops.inverse_or_inf(A), info)


@composite(namespace="linalg", method=False)
@torch_call("linalg_cholesky_ex", first="A")
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False) -> _CholeskyEx:
    """linalg.cholesky(), and for each matrix 0, or the order of the first leading minor that is not positive.

    Raises LinAlgError only with check_errors.

    >>> import adjoint
    >>> adjoint.linalg.cholesky_ex(-adjoint.eye(2)).info
    tensor(1, dtype=adjoint.int32)
    """
    if is_half(A._array.dtype):
        _refuse_type("cholesky_cpu", A)
    result = ops.linalg_cholesky_ex(A, upper=upper)
    failed = _first_failure(result.info) if check_errors else None
    if failed is not None:
        raise LinAlgError(
            f"linalg.cholesky_ex: {failed[0]}The factorization could not be completed because the input is not "
            f"positive-definite (the leading minor of order {failed[1]} is not positive-definite)."
        )
    return _CholeskyEx(*result)


@composite(namespace="linalg", method=False)
@torch_call("linalg_solve_ex", first="A")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False) -> _SolveEx:
    """linalg.solve(), and for each matrix 0, or which pivot is zero (from 1) where there is no solution.

    The result has infinite or undefined elements there. Raises LinAlgError only with check_errors.

    >>> import adjoint
    >>> adjoint.linalg.solve_ex(adjoint.eye(2), adjoint.ones(2)).result
    tensor([1., 1.])
    """
    B = as_tensor("linalg_solve_ex", "B", 2, B)
    check_square("linalg.solve", A._array)
    if A.dtype is not B.dtype:
        raise RuntimeError(
            f"linalg.solve: Expected A and B to have the same dtype, but found A of type {A.dtype.long_name} and B of "
            f"type {B.dtype.long_name} instead"
        )
    vector = B.ndim == 1 or (B.ndim > 1 and A.ndim - 1 == B.ndim and A.shape[:-1] == B.shape)
    if vector:
        B = B[..., None]
    check_matrix("linalg.solve", B._array, "B")
    check_sides("linalg.solve", A._array, B._array, left)
    is_right = not (left or vector)
    result, info = (
        ops.linalg_solve_ex(transpose_matrices(A), transpose_matrices(B)) if is_right else ops.linalg_solve_ex(A, B)
    )
    failed = _first_failure(info) if check_errors else None
    if failed is not None:
        raise LinAlgError(f"torch.linalg.solve_ex: {failed[0]}The solver failed because the input matrix is singular.")
    # a singular matrix fails for all right-hand sides that it broadcasts with
    for _ in range(info.ndim - A.ndim + 2):
        info = info[0]
    batch_slices = tuple([slice(0, n) for n in A.shape[:-2]])
    solution = transpose_matrices(result) if is_right else result[..., 0] if vector else result
    return _SolveEx(separate(solution), separate(info[batch_slices]))


# LDL ----------------------------------------------------------------------------------------------------------------


@results_of("linalg_ldl_factor")
class _LdlFactor(NamedTuple):
    LD: Tensor
    pivots: Tensor


@results_of("linalg_ldl_factor_ex")
class _LdlFactorEx(NamedTuple):
    LD: Tensor
    pivots: Tensor
    info: Tensor


@composite(namespace="linalg", method=False)
@torch_call("linalg_ldl_factor_ex", first="A")
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> _LdlFactorEx:
    """ldl_factor() with a third result, `info`: which pivot is zero, counted from 1; 0 where none is.

    Raises RuntimeError for a zero pivot only with check_errors.

    >>> import adjoint
    >>> adjoint.linalg.ldl_factor_ex(adjoint.eye(2)).info
    tensor(0, dtype=adjoint.int32)
    """
    if is_half(A._array.dtype):
        _refuse_type("ldl_factor_kernel_cpu", A)
    LD, pivots, info = ops.linalg_ldl_factor_ex(A, hermitian=hermitian)
    if check_errors:
        _refuse_ldl("torch.linalg.ldl_factor_ex", info)
    missing = RuntimeError("derivative for aten::linalg_ldl_factor_ex is not implemented")
    return _LdlFactorEx(ops.underivable(A, LD, missing), pivots, info)


def _refuse_ldl(name: str, info: Tensor) -> None:
    failed = _first_failure(info)
    if failed is not None:
        raise LinAlgError(
            f"{name}: {failed[0]}The factorization has a zero on the diagonal of D (element {failed[1]}): the matrix "
            "is singular."
        )


@composite(namespace="linalg", method=False)
@torch_call("linalg_ldl_factor", first="A")
def ldl_factor(A: Tensor, *, hermitian: bool = False) -> _LdlFactor:
    """The factors of A = L D L^T (L D H(L) if hermitian) of symmetric matrices in one tensor, and the pivots.

    D is block-diagonal, with blocks of one or two rows; only the lower triangle of A is read. linalg.ldl_solve() takes
    both results. There is no derivative. Raises LinAlgError where D is singular.

    >>> import adjoint
    >>> adjoint.linalg.ldl_factor(adjoint.tensor([[2.0, 1.0], [1.0, 2.0]])).LD
    tensor([[2.0000, 0.0000],
            [0.5000, 1.5000]])
    """
    result = ldl_factor_ex(A, hermitian=hermitian)
    _refuse_ldl("torch.linalg.ldl_factor", result.info)
    return _LdlFactor(result.LD, result.pivots)


@composite(namespace="linalg", method=False)
@torch_call("linalg_ldl_solve", first="LD")
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """X with A X = B, where linalg.ldl_factor(A) gave LD and pivots. There is no derivative.

    Shapes: LD (..., n, n), pivots (..., n), B (..., n, k).

    >>> import adjoint
    >>> LD, pivots = adjoint.linalg.ldl_factor(adjoint.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> adjoint.linalg.ldl_solve(LD, pivots, adjoint.tensor([[3.0], [3.0]]))
    tensor([[1.],
            [1.]])
    """
    pivots, B = as_tensor("linalg_ldl_solve", "pivots", 2, pivots), as_tensor("linalg_ldl_solve", "B", 3, B)
    check_square("torch.linalg.ldl_solve", LD._array)
    check_matrix("torch.linalg.ldl_solve", B._array, "B")
    if B.shape[-2] != LD.shape[-1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for torch.linalg.ldl_solve: each A matrix is {LD.shape[-1]} by {LD.shape[-1]} "
            f"but each b matrix is {B.shape[-2]} by {B.shape[-1]}"
        )
    if tuple(pivots.shape) != LD.shape[:-1]:
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with "
            f"shape {shape_text(pivots.shape)} instead"
        )
    if kind_of(pivots._array) not in "iu":
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {long_name(pivots._array)}")
    if LD.dtype is not B.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {B.dtype.long_name} and A of type "
            f"{LD.dtype.long_name} instead."
        )
    missing = RuntimeError("derivative for aten::linalg_ldl_solve is not implemented")
    result = ops.linalg_ldl_solve(LD, pivots, B, hermitian=hermitian)
    by_right = ops.underivable(B, result, missing)
    by_both = ops.underivable(LD, by_right, missing)
    # the second transposition treats nodes of the first as constants
    return by_both if by_both.requires_grad else by_right


# reflectors -----------------------------------------------------------------------------------------------------------


@results_of("geqrf")
class _Geqrf(NamedTuple):
    a: Tensor
    tau: Tensor


@composite()
@torch_call()
def geqrf(input: Tensor) -> _Geqrf:
    """The QR decomposition of matrices (..., m, n) as LAPACK leaves it: R on and above the diagonal, reflectors below.

    `tau` (..., min(m, n)) holds the reflectors' factors. linalg.householder_product() and ormqr() take both results.
    There is no derivative; see linalg.qr().

    >>> import adjoint
    >>> adjoint.geqrf(adjoint.ones(3, 2)).tau.shape
    adjoint.Size([2])
    """
    if input.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    _refuse_type("geqrf_cpu", input)
    missing = NotImplementedError("the derivative for 'geqrf' is not implemented.")
    parts = [ops.underivable(input, part, missing) for part in operations["geqrf"](input)]
    return _Geqrf(*ops.join_results(parts, "GeqrfBackward0"))


def _check_reflectors(name: str, A: Tensor, tau: Tensor) -> None:
    if A.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if A.shape[-2] < A.shape[-1] and name.endswith("product"):
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if A.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if A.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
            f"input.ndim is equal to {A.ndim}"
        )
    if A.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got "
            f"{shape_text(tau.shape[:-1])}"
        )
    if A.dtype is not tau.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype.long_name} does not match input dtype {A.dtype.long_name}")


def _compact(A: Tensor, tau: Tensor) -> tuple[Tensor, Tensor]:
    """V and the upper triangular T with Q = I - V T H(V), for the product Q of reflectors I - tau[i] v[i] H(v[i]).

    T is the inverse of diag(1 / tau) + the strict upper triangle of H(V) V: Puglisi (1992), "Modification of the
    Householder method based on the compact WY representation", here without a division by tau.
    """
    rows, k = A.shape[-2], tau.shape[-1]
    V = ops.tril(A[..., :k], -1) + ops.identity(A, rows, k)
    scale = tau[..., None] * ops.identity(tau, k, k)
    above = tau[..., None] * ops.triu(ops.conj_transpose(V) @ V, 1)
    return V, ops.linalg_solve_triangular(above, scale, upper=True, unitriangular=True)


@composite(namespace="linalg", method=False)
@torch_call("linalg_householder_product", first="A")
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first n columns of the product of k reflectors I - tau[i] v[i] H(v[i]).

    Shapes: A (..., m, n) with m >= n, tau (..., k) with k <= n; v[i] is the i-th column of A below the diagonal, 1 on
    it and 0 above. For the results of geqrf() that is Q.

    >>> import adjoint
    >>> Q = adjoint.linalg.householder_product(*adjoint.geqrf(adjoint.ones(3, 1)))
    >>> Q.T @ Q
    tensor([[1.0000]])
    """
    tau = as_tensor("linalg_householder_product", "tau", 2, tau)
    _check_reflectors("torch.linalg.householder_product", A, tau)
    rows, columns = A.shape[-2:]
    if not (A.numel() and tau.numel()):
        nothing = ops.expand(ops.identity(A.detach(), rows, columns), A.shape)
        return ops.independent(A if A.requires_grad else tau, nothing.clone())
    V, T = _compact(A, tau)
    return ops.identity(A, rows, columns) - V @ (T @ ops.conj_transpose(V[..., :columns, :]))


@composite(name="orgqr")
@torch_call("orgqr")
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """Alias of linalg.householder_product().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.linalg.householder_product).
    """
    return householder_product(input, input2)


@composite()
@torch_call(others={"input2": "tau", "input3": "other"})
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Q @ other, or other @ Q for left=False, with the m by m matrix Q of geqrf()'s reflectors.

    Shapes: input (..., m, n), tau (..., k), other (..., m, p) or (..., p, m). transpose: take the conjugate transpose
    of Q.

    >>> import adjoint
    >>> a, tau = adjoint.geqrf(adjoint.ones(3, 1))
    >>> adjoint.ormqr(a, tau, adjoint.ones(3, 1), transpose=True).shape
    adjoint.Size([3, 1])
    """
    tau, other = as_tensor("ormqr", "tau", 2, tau), as_tensor("ormqr", "other", 3, other)
    _check_ormqr(input, tau, other, left)
    if not other.numel():
        return other.clone() if other.requires_grad else ops.independent(input if input.requires_grad else tau, other)
    V, T = _compact(input, tau)
    v_h = ops.conj_transpose(V)
    if transpose:
        T = ops.conj_transpose(T)
    if left:
        return other - V @ (T @ (v_h @ other))
    return other - ((other @ V) @ T) @ v_h


def _check_ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool) -> None:
    name, axis = "torch.ormqr", -2 if left else -1
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if other.ndim < 2:
        raise RuntimeError(f"{name}: other must have at least 2 dimensions.")
    if other.shape[axis] != input.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{axis}] must be equal to input.shape[-2]")
    if tau.shape[-1] != min(other.shape[axis], input.shape[-1]):
        raise RuntimeError(f"{name}: tau.shape[-1] must be equal to min(other.shape[{axis}], input.shape[-1])")
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and "
            f"input.ndim is equal to {input.ndim}"
        )
    if input.ndim != other.ndim:
        raise RuntimeError(
            f"{name}: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
            f"{other.ndim} and input.ndim is equal to {input.ndim}"
        )
    for what, batch in (("tau", tau.shape[:-1]), ("other", other.shape[:-2])):
        if batch != input.shape[:-2]:
            raise RuntimeError(
                f"{name}: Expected batch dimensions of {what} to be equal to input.shape[:-2], but got "
                f"{shape_text(batch)}"
            )
    if tau.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}: Expected input and tau to have the same dtype, but input has dtype{input.dtype.long_name} and "
            f"tau has dtype {tau.dtype.long_name}"
        )
    if other.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}: Expected input and other to have the same dtype, but input has dtype{input.dtype.long_name} and "
            f"other has dtype {other.dtype.long_name}"
        )


# equations between tensors --------------------------------------------------------------------------------------------


@composite(namespace="linalg", method=False)
@torch_call("linalg_tensorinv", first="A")
def tensorinv(A: Tensor, ind: int = 2) -> Tensor:
    """The inverse of tensordot(A, ., ind): the tensor B with tensordot(A, B, ind) the identity.

    Shapes: prod(A.shape[:ind]) == prod(A.shape[ind:]); the result has the shape A.shape[ind:] + A.shape[:ind].

    >>> import adjoint
    >>> adjoint.linalg.tensorinv(adjoint.eye(6).reshape(2, 3, 6), ind=2).shape
    adjoint.Size([6, 2, 3])
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    rows, columns = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    n = prod(rows)
    if n != prod(columns):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{prod(columns)} != {n}"
        )
    return ops.reshape(ops.linalg_inv(ops.reshape(A, (n, n))), columns + rows)


@composite(namespace="linalg", method=False)
@torch_call("linalg_tensorsolve", first="A")
def tensorsolve(A: Tensor, B: Tensor, dims: Sequence[int] | None = None) -> Tensor:
    """X with tensordot(A, X, X.ndim) == B.

    Shapes: the first B.ndim axes of A have the same number of elements as its other axes, which are the axes of X.
    dims: axes of A that are moved to the end first.

    >>> import adjoint
    >>> adjoint.linalg.tensorsolve(adjoint.eye(6).reshape(2, 3, 6), adjoint.ones(2, 3)).shape
    adjoint.Size([6])
    """
    B = as_tensor("linalg_tensorsolve", "B", 2, B)
    if dims is not None:
        axes = [d % A.ndim for d in dims]
        A = ops.permute(A, (*[i for i in range(A.ndim) if i not in axes], *axes))
    unknowns = tuple(A.shape[B.ndim :])
    n, m = prod(unknowns), prod(A.shape[: B.ndim])
    if n != m:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), "
            f"but got {n} != {m}"
        )
    return ops.reshape(ops.linalg_solve(ops.reshape(A, (n, n)), ops.reshape(B, (n, 1))), unknowns)


@composite(namespace="linalg", method=False)
@torch_call("linalg_vander", first="x")
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 (N: the size of the last axis) of each element, along a new last axis.

    >>> import adjoint
    >>> adjoint.linalg.vander(adjoint.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [1, 2, 4],
            [1, 3, 9]])
    """
    if kind_of(x._array) == "b" or is_half(x._array.dtype):
        raise RuntimeError(
            f"linalg.vander supports floating point, complex, and integer tensors, but got {x.dtype.long_name}"
        )
    x = x if x.ndim else ops.reshape(x, (1,))
    n = N if N is not None else x.shape[-1]
    if n <= 1:
        raise RuntimeError("N must be greater than 1.")
    shape = (*x.shape, n - 1)
    powers = ops.cumprod(ops.expand(x[..., None], shape), x.ndim)
    return ops.cat([ops.ones_like(powers[..., :1]), powers], x.ndim)


@composite(method=False, name="vander")
@torch_call("vander", first="x")
def old_vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers N - 1 to 0 of each element of a vector as rows of a matrix; `increasing`: 0 to N - 1.

    >>> import adjoint
    >>> adjoint.vander(adjoint.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    n = x.shape[0] if N is None else N
    if n < 0:
        raise RuntimeError("N must be non-negative.")
    if x.dtype.numpy.kind in "biu":
        x = x.long()
    columns = [ops.ones_like(x[:, None])]
    if n > 1:
        columns.append(ops.cumprod(ops.expand(x[:, None], (x.shape[0], n - 1)), 1))
    powers = ops.cat(columns, 1)[:, :n]
    return powers if increasing else ops.flip(powers, (1,))


@composite(namespace="linalg", method=False)
@torch_call("linalg_diagonal", first="A")
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of matrices: adjoint.diagonal() with other defaults. A view.

    >>> import adjoint
    >>> adjoint.linalg.diagonal(adjoint.eye(2)[None])
    tensor([[1., 1.]])
    """
    return ops.diagonal(A, offset, dim1, dim2)
