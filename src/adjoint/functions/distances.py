"""Distances and angles of vectors, and vectors brought to length 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import promote_types
from adjoint.arrays.shapes import broadcast_shapes
from adjoint.core.recorded import operations
from adjoint.functions.arguments import require_tensors
from adjoint.functions.composite import composite, functional, ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


def _norm(input: Tensor, p: float, dim: Any, keepdim: bool = False) -> Tensor:
    return ops.linalg_vector_norm(input, p, dim, keepdim)


@composite(method=False)
@functional
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosines of the angles between vectors along an axis of the broadcast inputs; no length counts as below eps.

    Raises RuntimeError for integers.

    >>> import adjoint
    >>> adjoint.cosine_similarity(adjoint.tensor([[1.0, 0.0]]), adjoint.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    require_tensors("cosine_similarity", x1=x1, x2=x2)
    common = promote_types(x1.dtype, x2.dtype)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common.long_name}")
    if eps < 0:
        raise RuntimeError(f"eps must be non-negative, got: {eps:g}")
    if x1.shape != x2.shape:
        shape = broadcast_shapes(tuple(x1.shape), tuple(x2.shape))
        x1, x2 = ops.expand(x1, shape), ops.expand(x2, shape)
    unit1, unit2 = [x / _at_least(_norm(x, 2, dim, True), eps) for x in (x1.to(common), x2.to(common))]
    return ops.sum(unit1 * unit2, dim)


def _at_least(length: Tensor, eps: float) -> Tensor:
    # the bound is not seen by the gradient, as in torch
    detached = length.detach()
    return length + (ops.clamp(detached, min=eps) - detached)


@composite(method=False)
@functional
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norms of x1 - x2 + eps along the last axis, broadcast.

    >>> import adjoint
    >>> adjoint.pairwise_distance(adjoint.tensor([[3.0, 4.0]]), adjoint.zeros(1, 2))
    tensor([5.0000])
    """
    require_tensors("pairwise_distance", x1=x1, x2=x2)
    return _norm(x1 - x2 + float(eps), p, -1, keepdim)


@composite(method=False)
@functional
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norms of the differences of all pairs of rows: (0, 1), (0, 2) ... (1, 2) ...

    Raises RuntimeError unless the input is a matrix of real floating point numbers and p is not negative.

    >>> import adjoint
    >>> adjoint.pdist(adjoint.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    require_tensors("pdist", input=input)
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.is_floating_point():
        raise RuntimeError("pdist only supports floating-point dtypes")
    if p < 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return ops.pdist(input, p)


@functional
def normalize(
    input: Tensor, p: float = 2.0, dim: int | Sequence[int] = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """The input divided by its p-norm along an axis, or by eps where that is larger.

    >>> import adjoint
    >>> adjoint.nn.functional.normalize(adjoint.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    require_tensors("normalize", input=input)
    length = ops.clamp(_norm(input, p, dim, True), min=eps)
    return input / length if out is None else operations["true_divide"].into(out, [input, length])
