"""Statistics of samples: covariances, quantiles, medians, distances."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import get_default_dtype, is_half, kind_of
from adjoint.arrays.shapes import normalize_dim
from adjoint.core.recorded import operations
from adjoint.functions.composite import as_tensor, composite, ops, separate, torch_call
from adjoint.runtime.once import warn_caller

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

# covariances --------------------------------------------------------------------------------------------------------


def _weights(name: str, value: Any, number: int, integral: bool) -> Tensor | None:
    if value is None:
        return None
    weights = as_tensor("cov", name, 2 if integral else 3, value)
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.ndim} dimensions"
        )
    expected = "integral" if integral else "floating point"
    if not (kind_of(weights._array) in "iu" if integral else weights.is_floating_point()):
        raise RuntimeError(
            f"cov(): expected {name} to have {expected} dtype but got {name} with {weights.dtype.long_name} dtype"
        )
    if weights.numel() != number:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {number}"
        )
    if number and bool((weights < 0).any()):
        raise RuntimeError(f"cov(): {name} cannot be negative")
    return weights


@composite()
@torch_call()
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance matrix of the rows of a matrix, whose columns are observations; of a vector its variance.

    Args:
        correction: the number that is subtracted from the number of observations before dividing by it.
        fweights: how often each observation counts, whole numbers.
        aweights: how much each observation counts.

    Raises RuntimeError for truth values and for more than two axes.

    >>> import adjoint
    >>> adjoint.cov(adjoint.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    if kind_of(input._array) == "b":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    if kind_of(input._array) in "iu":
        input = ops.cast(input, get_default_dtype())
    rows = input if input.ndim == 2 else ops.reshape(input, (1, -1 if input.numel() else 0))
    number = rows.shape[1]
    counts, shares = _weights("fweights", fweights, number, True), _weights("aweights", aweights, number, False)
    weights = counts if shares is None else shares if counts is None else counts * shares
    total = number if weights is None else weights.sum()
    if number and not bool(total):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    center = ops.mean(rows, (1,), True) if weights is None else ops.sum(rows * weights, (1,), True) / total
    rows = rows - center
    matrix = (rows if weights is None else rows * weights) @ ops.conj_transpose(rows)
    freedom = total - correction * (1 if shares is None else (weights * shares).sum() / total)
    if bool(freedom <= 0):
        warn_caller("cov(): degrees of freedom is <= 0")
        freedom = ops.zeros_like(ops.real(matrix))
    matrix = matrix / freedom
    # a view in any case, as in torch
    return separate(ops.reshape(matrix, () if matrix.shape == (1, 1) else tuple(matrix.shape)))


@composite()
@torch_call()
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of the rows of a matrix, whose columns are observations: cov() scaled to 1.

    >>> import adjoint
    >>> adjoint.corrcoef(adjoint.tensor([[0.0, 1.0, 2.0], [4.0, 2.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.ndim} dimensions"
        )
    matrix = cov(input)
    if not matrix.ndim:
        return matrix / matrix
    spread = ops.sqrt(ops.real(ops.diagonal(matrix, 0, 0, 1)))
    scaled = matrix / spread[:, None] / spread
    if not scaled.is_complex():
        return ops.clamp(scaled, -1, 1)
    return ops.complex(ops.clamp(ops.real(scaled), -1, 1), ops.clamp(ops.imag(scaled), -1, 1))


# quantiles and medians ------------------------------------------------------------------------------------------------

_INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _check(input: Tensor, q: Any, interpolation: str) -> Tensor:
    """q as a Tensor of the input's type."""
    number = isinstance(q, Real)
    if number:
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = ops.full_like(ops.zeros_of(input.detach(), ()), q)
    q = as_tensor("quantile", "q", 2, q)
    if not input.numel():
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.ndim > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if not input.is_floating_point() or is_half(input._array.dtype):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if q.dtype is not input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if interpolation not in _INTERPOLATIONS:
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if not number and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    return q


def _quantiles(
    input: Tensor, q: Any, dim: int | None, keepdim: bool, interpolation: str, ranks: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """Elements at fractional ranks, which `ranks` gives for the sorted elements (NaN last) and q."""
    q = _check(input, q, interpolation)
    axis = None if dim is None else normalize_dim(dim, input.ndim)
    if axis is None or not input.ndim:
        rows = ops.reshape(input, (input.numel(),))
    else:
        rows = ops.permute(input, (*[i for i in range(input.ndim) if i != axis], axis))
    last = rows.ndim - 1
    rows = ops.sort(rows, last).values
    rank = ranks(rows, q if q.ndim else q[None])
    rank = ops.expand(rank, (*rows.shape[:-1], rank.shape[-1]))

    def at(position: Tensor) -> Tensor:
        return ops.gather(rows, last, position.detach().long())

    if interpolation == "lower":
        result = at(ops.floor(rank))
    elif interpolation == "higher":
        result = at(ops.ceil(rank))
    elif interpolation == "nearest":
        result = at(ops.round(rank))
    else:
        below = ops.floor(rank.detach())
        low, high = at(below), at(ops.ceil(rank))
        result = ops.lerp(low, high, 0.5 if interpolation == "midpoint" else rank - below)
    shape = [1] * input.ndim if axis is None else [1 if i == axis else n for i, n in enumerate(input.shape)]
    if not keepdim:
        shape = [] if axis is None else [n for i, n in enumerate(input.shape) if i != axis]
    if not q.ndim:
        return separate(ops.reshape(result, tuple(shape)))
    result = ops.permute(result, (last, *range(last)))
    return separate(ops.reshape(result, (q.shape[0], *shape)))


@composite()
@torch_call()
def quantile(
    input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The q-th quantiles along an axis (None: of all elements); NaN where there is one among them.

    Args:
        q: one number between 0 and 1, or a vector of them, along which the first axis of the result runs.
        interpolation: the value of a quantile between two elements: "linear", "lower", "higher", "midpoint" or
        "nearest".

    Raises RuntimeError for numbers other than float32 and float64, and for no elements.

    >>> import adjoint
    >>> adjoint.quantile(adjoint.tensor([0.0, 1.0, 2.0, 4.0]), adjoint.tensor([0.5, 1.0]))
    tensor([1.5000, 4.0000])
    """

    def ranks(rows: Tensor, q: Tensor) -> Tensor:
        top = rows.shape[-1] - 1
        return ops.where(ops.isnan(rows[..., -1:]), top, q * top)

    return _quantiles(input, q, dim, keepdim, interpolation, ranks)


@composite()
@torch_call()
def nanquantile(
    input: Tensor, q: float | Tensor, dim: int | None = None, keepdim: bool = False, *, interpolation: str = "linear"
) -> Tensor:
    """The q-th quantiles of the elements that are not NaN; NaN if all are. See quantile().

    >>> import adjoint
    >>> adjoint.nanquantile(adjoint.tensor([0.0, float("nan"), 2.0]), 0.5)
    tensor(1.)
    """

    def ranks(rows: Tensor, q: Tensor) -> Tensor:
        counts = ops.sum(ops.logical_not(ops.isnan(rows)), (rows.ndim - 1,), True)
        return q * ops.clamp(counts - 1, 0)

    return _quantiles(input, q, dim, keepdim, interpolation, ranks)


@composite()
@torch_call()
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of the elements that are not NaN, of all, or along an axis with its index: the lower middle one.

    >>> import adjoint
    >>> adjoint.nanmedian(adjoint.tensor([1.0, float("nan"), 3.0, 2.0]))
    tensor(2.)
    """
    return operations["nanmedian_all"](input) if dim is None else ops.nanmedian(input, dim, keepdim)


# distances ----------------------------------------------------------------------------------------------------------


@composite()
@torch_call()
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of input - other, broadcast, over all axes.

    >>> import adjoint
    >>> adjoint.dist(adjoint.tensor([0.0, 0.0]), adjoint.tensor([3.0, 4.0]))
    tensor(5.)
    """
    away = ops.sub(input, as_tensor("dist", "other", 2, other))
    if kind_of(away._array) in "iu":
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {away.dtype.long_name} instead."
        )
    return ops.linalg_vector_norm(away, p)


_MODES = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
#: From this number of points on, distances come from a product of matrices by default.
_MANY_POINTS = 25


@composite(method=False)
@torch_call(first="x1")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Tensor:
    """The p-norm distances of all points of x1 (..., n, d) to all points of x2 (..., m, d): (..., n, m).

    Args:
        p: the order, 0 or larger; 0 counts the coordinates that differ, infinity takes the largest difference.
        compute_mode: whether to make Euclidean distances by one product of matrices, which is faster and less
            accurate: "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist", or, for more than 25 points,
            "use_mm_for_euclid_dist_if_necessary".

    The gradient is 0 where two points are equal.

    >>> import adjoint
    >>> adjoint.cdist(adjoint.tensor([[0.0, 0.0]]), adjoint.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    if compute_mode not in _MODES:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    x2 = as_tensor("cdist", "x2", 2, x2)
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype.long_name}")
    many = max(x1.shape[-2], x2.shape[-2]) > _MANY_POINTS
    by_product = p == 2 and (compute_mode == _MODES[1] or (compute_mode == _MODES[0] and many))
    if is_half(x1._array.dtype) and not by_product and x1.numel() and x2.numel():
        raise NotImplementedError(f"\"cdist\" not implemented for '{x1.dtype.long_name}'")
    if x1.dtype is not x2.dtype:
        raise RuntimeError(f"expected scalar type {x1.dtype.long_name} but found {x2.dtype.long_name}")
    if p < 0:
        raise RuntimeError("cdist only supports non-negative p values")
    return ops.cdist(x1, x2, p, by_product)
