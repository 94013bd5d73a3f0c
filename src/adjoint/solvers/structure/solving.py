"""Sparse derivatives as SciPy's solvers take them: functions of flat vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adjoint.solvers.functions import FlatFunction, ScalarFunction, VectorFunction, vector_of
from adjoint.solvers.structure.derivatives import SparseDerivative, SparseHessian, SparseJacobian, sparse_derivative
from adjoint.solvers.structure.sets import DensePatternError
from adjoint.tensor.creation import from_numpy

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

#: The size above which solvers try sparse Jacobians automatically.
LARGE = 100
#: Sparse derivatives pay up to this fraction of colours and of entries.
_MOST_COLOURS, _MOST_ENTRIES = 0.25, 0.1


def sparse_jacobian(function: VectorFunction, pattern: Any = None) -> Callable[[Any], Any]:
    """The Jacobian at a vector as a sparse matrix; its pattern is traced at the start unless it is given."""
    return at_vectors(derivative_of(SparseJacobian, function, function.value, pattern))


def sparse_hessian(function: ScalarFunction) -> Callable[..., Any]:
    """The Hessian at a vector as a sparse matrix."""
    return at_vectors(derivative_of(SparseHessian, function, function.value))


def sparse_weighted_hessian(function: VectorFunction) -> Callable[[Any, Any], Any]:
    """The Hessian of v @ fun at x as a sparse matrix, for x and v."""
    weights: list[Tensor] = []

    def weighted_sum(vector: Tensor) -> Tensor:
        values = function.value(vector)
        return (values * weights[0]).sum() if weights else values.sum()

    derivative = derivative_of(SparseHessian, function, weighted_sum)

    def hess(x: Any, v: Any) -> Any:
        weights[:] = [from_numpy(vector_of(v))]
        return derivative.matrix_at(from_numpy(vector_of(x)))

    return hess


def paying_derivative(kind: type[SparseDerivative], function: FlatFunction, least: int) -> Callable[..., Any] | None:
    """The derivative at a vector as a sparse matrix if that is faster, by its colours and entries; else None.

    least: the smallest size of x for a try.
    """
    n = function.flat.size
    if n < least:
        return None
    try:
        derivative = derivative_of(kind, function, function.value, most_entries=_MOST_ENTRIES)
    except DensePatternError:
        return None
    return at_vectors(derivative) if derivative.colors <= _MOST_COLOURS * n else None


def derivative_of(
    kind: type[SparseDerivative],
    function: FlatFunction,
    value: Callable[[Tensor], Tensor],
    pattern: Any = None,
    most_entries: float | None = None,
) -> SparseDerivative:
    """A derivative with its pattern and colouring."""
    derivative: SparseDerivative = sparse_derivative(
        kind,
        function.name,
        value,
        function.flat.start(),
        pattern,
        allow_constant=function.allow_constant,
        most_entries=most_entries,
    )
    return derivative


def at_vectors(derivative: SparseDerivative) -> Callable[..., Any]:
    """The derivative as a function of SciPy's vectors."""
    return lambda x, *args: derivative.matrix_at(from_numpy(vector_of(x)))
