"""gradcheck with sparse arguments: the check varies strided tensors, and the function converts them to sparse ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from adjoint.arrays.libraries.sparse_arrays import SparseArray, SparsePattern, dense_at
from adjoint.core.graph import new_tensor
from adjoint.functions.sparse import to_dense, whole_pattern
from adjoint.functions.sparse_operations import is_sparse, of_values, pattern_of, strided_form
from adjoint.tensor.differentiate import needing_grad
from adjoint.tensor.tensor import Tensor
from adjoint.transforms.custom_functions.function import Function

from .functions import as_tuple

SPARSE_OUTPUT = (
    "Sparse output is not supported at gradcheck yet. Please call to_dense(masked_grad=...) on the output of fn for "
    "gradcheck."
)
Map = Callable[..., Any]


class WithPattern(Function):
    """A strided tensor as a sparse one of a pattern; of all places, if there is something elsewhere.

    A sparse gradient is made strided, with 0 where it has no value.
    """

    @staticmethod
    def forward(ctx: Any, dense: Tensor, pattern: SparsePattern) -> Tensor:
        array = dense._array
        sparse = SparseArray(pattern, dense_at(array, pattern))
        if not (sparse.to_dense() == array).all():
            everywhere = whole_pattern(pattern)
            sparse = SparseArray(everywhere, dense_at(array, everywhere))
        return new_tensor(sparse)  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return strided_form(gradient) if is_sparse(gradient) else gradient, None


def with_strided_inputs(func: Map, inputs: tuple[Any, ...], masked: bool) -> tuple[Map, tuple[Any, ...]]:
    """The function with strided arguments instead of sparse ones that require a gradient, and these arguments.

    masked: perturb only the stored values, and compare only their derivatives.
    """
    patterns = {i: pattern_of(x) for i, x in enumerate(inputs) if is_sparse(x) and x.requires_grad}
    if not patterns:
        return func, inputs
    leaves = list(inputs)
    for i, pattern in patterns.items():
        array = inputs[i]._array
        values = array.at(pattern) if masked else array.to_dense()
        leaves[i] = needing_grad(new_tensor(numpy.array(values)))

    def of_strided(*values: Any) -> Any:
        arguments = list(values)
        for i, pattern in patterns.items():
            leaf = of_values(values[i], pattern) if masked else WithPattern.apply(values[i], pattern)
            arguments[i] = leaf
        return func(*arguments)

    return of_strided, tuple(leaves)


def refuse_sparse(results: tuple[Any, ...]) -> None:
    """Raise ValueError for a sparse result."""
    if any(is_sparse(result) for result in results):
        raise ValueError(SPARSE_OUTPUT)


def as_sparse_gradcheck(gradcheck: Callable[..., Any]) -> Callable[..., Any]:
    """gradcheck() for functions of sparse tensors with sparse results.

    Sparse arguments are replaced by their values, masked=True, or by tensors of the same layout with a value in every
    place; sparse results by dense ones.

    >>> import adjoint
    >>> check = adjoint.sparse.as_sparse_gradcheck(adjoint.autograd.gradcheck)
    >>> s = adjoint.eye(2, dtype=adjoint.float64).to_sparse().requires_grad_()
    >>> check(lambda s: s * 2, s, masked=True)
    True
    """

    def check(func: Map, inputs: Any, *args: Any, masked: bool | None = None, **options: Any) -> Any:
        arguments = list(as_tuple(inputs))
        is_masked = bool(masked)
        if not is_masked:
            for i, x in enumerate(arguments):
                if is_sparse(x) and x.requires_grad:
                    everywhere = whole_pattern(x._array.pattern)
                    arguments[i] = needing_grad(new_tensor(SparseArray(everywhere, x._array.at(everywhere))))
        # with a value in every place, masked derivatives are the whole ones
        strided_func, leaves = with_strided_inputs(func, tuple(arguments), True)

        def strided_results(*strided_inputs: Any) -> Any:
            results = strided_func(*strided_inputs)
            dense = [to_dense(r, masked_grad=is_masked) if isinstance(r, Tensor) else r for r in as_tuple(results)]
            return tuple(dense) if isinstance(results, (tuple, list)) else dense[0]

        return gradcheck(strided_results, leaves, *args, masked=is_masked, **options)

    return check
