"""The functions of adjoint.masked: reductions, cumulative sums and normalisations over the elements that a mask picks.

All replace the other elements by the neutral value (0 for a sum, -inf for a maximum). These elements get a gradient of
exactly 0, for any values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import as_dtype, dtype, float32, float64, iinfo, int64, kind_of
from adjoint.arrays.shapes import normalize_dim
from adjoint.functions.composite import COMPOSITES, as_tensor, composite, ops, torch_call

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Dims = int | Sequence[int] | None

# masks, axes, types -------------------------------------------------------------------------------------------------


def _mask_of(input: Tensor, mask: Any) -> Tensor | None:
    """The mask as truth values of the input's shape."""
    if mask is None:
        return None
    mask = as_tensor("masked", "mask", 3, mask)
    if mask.ndim > input.ndim:
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return ops.expand(mask if kind_of(mask._array) == "b" else mask != 0, tuple(input.shape))


def _fill(input: Tensor, mask: Tensor | None, identity: float) -> Tensor:
    if mask is None:
        return input
    return ops.where(mask, input, identity if input.dtype.category else bool(identity))


def _dims_of(dim: Dims, ndim: int) -> tuple[int, ...]:
    """All axes to reduce; no axes named means all."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    dims: list[int] = []
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        axis = normalize_dim(d, ndim)
        if axis in dims:
            raise RuntimeError(f"dim={axis} appears multiple times in the list of dims")
        dims.append(axis)
    return tuple(sorted(dims))


def _axis_of(dim: Dims, ndim: int) -> int:
    """The one axis along which something runs; of several the first."""
    return (*_dims_of(dim, max(ndim, 1)), 0)[0]


def _of_type(result: Tensor, kind: dtype) -> Tensor:
    return result if result.dtype is kind else ops.cast(result, kind)


def _check_order(name: str, kind: dtype) -> None:
    """Raise NotImplementedError for booleans, which have no identity of a maximum or minimum."""
    if kind.category == 0:
        raise NotImplementedError(f"identity of {name} on {kind} input")


def _least(name: str, kind: dtype) -> float:
    """The least value of a dtype: the identity of a maximum."""
    _check_order(name, kind)
    return -math.inf if kind.is_floating_point else iinfo(kind).min


def _largest(name: str, kind: dtype) -> float:
    _check_order(name, kind)
    return math.inf if kind.is_floating_point else iinfo(kind).max


def _summed_type(kind: dtype) -> dtype:
    return int64 if kind.category < 2 else kind


def _count(input: Tensor, mask: Tensor | None, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The number of elements that the mask picks."""
    if mask is None:
        mask = ops.ones_like(input.detach()) != 0
    return ops.sum(mask, dims, keepdim)


# families of functions ------------------------------------------------------------------------------------------------

_MASK = "mask: True for the elements that count; broadcasts to the input. None for all."
_DIM = "dim: the axes to reduce, None or () for all; they are dropped, or kept with size 1 if `keepdim`."


def _public(function: Callable[..., Any], name: str, text: str, example: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{text}

    Args:
        {_DIM if "keepdim" in function.__code__.co_varnames else "dim: the axis."}
        dtype: of the result.
        {_MASK}

    >>> import adjoint
    >>> x = adjoint.tensor([[1.0, 2.0, 3.0]])
    >>> adjoint.masked.{example}
    """
    return composite(namespace="masked", method=False)(torch_call(f"masked_{name}")(function))


def _reduction(
    name: str,
    identity: Callable[[dtype], float],
    reduce: Callable[..., Tensor],
    result_type: Callable[[dtype], dtype],
    text: str,
    example: str,
    cast_before: bool = False,
) -> Callable[..., Any]:
    def reduction(
        input: Tensor,
        dim: Dims = None,
        *,
        keepdim: bool | None = False,
        dtype: dtype | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        kind = result_type(input.dtype) if dtype is None else as_dtype(dtype)
        picks = _mask_of(input, mask)
        filled = input if picks is None else _fill(input, picks, identity(input.dtype))
        if cast_before:
            filled = _of_type(filled, kind)
        return _of_type(reduce(filled, _dims_of(dim, input.ndim), bool(keepdim)), kind)

    return _public(reduction, name, text, example)


def _same(kind: dtype) -> dtype:
    return kind


_picks = "mask=adjoint.tensor([True, False, True])"
sum = _reduction(
    "sum", lambda kind: 0, ops.sum, _summed_type, "The sum over axes.", f"sum(x, 1, {_picks})\n    tensor([4.])", True
)
prod = _reduction(
    "prod",
    lambda kind: 1,
    ops.prod,
    _summed_type,
    "The product over axes.",
    f"prod(x, 1, {_picks})\n    tensor([3.])",
    True,
)
amax = _reduction(
    "amax",
    lambda kind: _least("amax", kind),
    ops.amax,
    _same,
    "The maximum over axes; equal elements share the gradient evenly. -inf where the mask picks nothing.",
    f"amax(x, 1, {_picks})\n    tensor([3.])",
)
amin = _reduction(
    "amin",
    lambda kind: _largest("amin", kind),
    ops.amin,
    _same,
    "The minimum over axes; equal elements share the gradient evenly. inf where the mask picks nothing.",
    f"amin(x, 1, {_picks})\n    tensor([1.])",
)
logsumexp = _reduction(
    "logsumexp",
    lambda kind: -math.inf if kind.is_complex else _least("logsumexp", kind),
    ops.logsumexp,
    _same,
    "The logarithm of the sum of exp(input) over axes.",
    f"logsumexp(x, 1, {_picks})\n    tensor([3.1269])",
)


def _arg_reduction(name: str, identity: Callable[[str, dtype], float], example: str) -> Callable[..., Any]:
    operation = getattr(ops, name)

    def reduction(
        input: Tensor,
        dim: int | None = None,
        *,
        keepdim: bool | None = False,
        dtype: dtype | None = None,
        mask: Tensor | None = None,
    ) -> Tensor:
        picks = _mask_of(input, mask)
        filled = input if picks is None else _fill(input, picks, identity(name, input.dtype))
        kind = input.dtype if dtype is None else as_dtype(dtype)
        return _of_type(operation(filled, dim, bool(keepdim)), kind)

    text = f"Where the {name[3:]}imum is along an axis, or in the flattened input, in the input's type as in torch."
    return _public(reduction, name, text, example)


argmax = _arg_reduction("argmax", _least, f"argmax(x, 1, {_picks})\n    tensor([2.])")
argmin = _arg_reduction("argmin", _largest, f"argmin(x, 1, {_picks})\n    tensor([0.])")


def _running(name: str, identity: float, text: str, example: str) -> Callable[..., Any]:
    operation = getattr(ops, name)

    def running(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
        kind = input.dtype if dtype is None else as_dtype(dtype)
        if kind.category == 0 and input.ndim and input.numel():
            raise NotImplementedError(f"\"{name}_out_cpu\" not implemented for 'Bool'")
        filled = _of_type(_fill(input, _mask_of(input, mask), identity), kind)
        return _of_type(operation(filled, _axis_of(dim, input.ndim)), kind)

    return _public(running, name, text, example)


cumsum = _running("cumsum", 0, "Running sums along an axis.", f"cumsum(x, 1, {_picks})\n    tensor([[1., 1., 4.]])")
cumprod = _running(
    "cumprod", 1, "Running products along an axis.", f"cumprod(x, 1, {_picks})\n    tensor([[1., 1., 3.]])"
)


def _normalize(
    name: str,
    function: Callable[[Tensor, int], Tensor],
    identity: Callable[[str, dtype], float],
    text: str,
    output: str,
) -> Callable[..., Any]:
    def normalize(input: Tensor, dim: int, *, dtype: dtype | None = None, mask: Tensor | None = None) -> Tensor:
        picks = _mask_of(input, mask)
        filled = input if picks is None else _fill(input, picks, identity(name, input.dtype))
        kind = input.dtype if dtype is None else as_dtype(dtype)
        return function(_of_type(filled, kind), _axis_of(dim, input.ndim))

    return _public(normalize, name, text, f"{name}(x, 1, {_picks})\n    {output}")


_ALONG = "along an axis, over the elements that the mask picks; {} for the others, NaN where it picks none."
softmax = _normalize(
    "softmax", ops.softmax, _least, f"softmax {_ALONG.format(0)}", "tensor([[0.1192, 0.0000, 0.8808]])"
)
log_softmax = _normalize(
    "log_softmax",
    ops.log_softmax,
    _least,
    f"log_softmax {_ALONG.format('-inf')}",
    "tensor([[-2.1269,    -inf, -0.1269]])",
)
softmin = _normalize(
    "softmin",
    lambda x, dim: ops.softmax(-x, dim),
    _largest,
    f"softmin {_ALONG.format(0)}",
    "tensor([[0.8808, 0.0000, 0.1192]])",
)

# means and medians ----------------------------------------------------------------------------------------------------


@composite(namespace="masked", method=False)
@torch_call("masked_mean")
def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean over axes of the elements that the mask picks; NaN if it picks none.

    Arguments are as in masked.sum(). Raises ValueError for integers and truth values without a dtype.

    >>> import adjoint
    >>> adjoint.masked.mean(adjoint.tensor([1.0, 2.0, 6.0]), mask=adjoint.tensor([True, True, False]))
    tensor(1.5000)
    """
    kind = input.dtype if dtype is None else as_dtype(dtype)
    if kind.category < 2:
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {kind}"
        )
    picks, dims = _mask_of(input, mask), _dims_of(dim, input.ndim)
    total = ops.sum(_of_type(_fill(input, picks, 0), kind), dims, bool(keepdim))
    return _of_type(total / _count(input, picks, dims, bool(keepdim)), kind)


@composite(namespace="masked", method=False)
@torch_call("masked_median")
def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The median along an axis of the elements that the mask picks (the lower of two); NaN where it picks none.

    Raises ValueError for whole numbers where it picks none.

    >>> import adjoint
    >>> adjoint.masked.median(adjoint.tensor([1.0, 2.0, 6.0]), mask=adjoint.tensor([False, True, True]))
    tensor(2.)
    """
    axis, picks = _axis_of(dim, input.ndim), _mask_of(input, mask)
    if input.is_floating_point() or input.is_complex():
        return ops.nanmedian(_fill(input, picks, math.nan), axis, keepdim)[0]
    if picks is not None and not bool(_count(input, picks, (axis,), False).all()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    medians = ops.nanmedian(_fill(ops.cast(input, float64), picks, math.nan), axis, keepdim)[0]
    return _of_type(medians, input.dtype if dtype is None else as_dtype(dtype))


# spreads --------------------------------------------------------------------------------------------------------------


def _variance(
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    picks: Tensor | None,
    kind: dtype,
) -> Tensor:
    """The variance; for integers it is computed in `kind`, the dtype of the result, if that is floating."""
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if kind_of(input._array) == "b":
        ops.sub(input, input)
    taken_off = correction if correction is not None else 0 if unbiased is False else 1
    x = input if input.dtype.category > 1 else ops.cast(input, kind if kind.category > 1 else float32)
    dims = _dims_of(dim, input.ndim)
    number = _count(input, picks, dims, True)
    center = ops.sum(_fill(x, picks, 0), dims, True) / number
    # without picked elements there is no mean: the result is NaN, and, as in torch, so is its gradient
    away = _fill(x - center, picks if picks is None else picks | (number == 0), 0)
    squares = ops.real(away * ops.conj(away)) if x.is_complex() else away * away
    freedom = ops.clamp(_count(input, picks, dims, keepdim) - taken_off, 0)
    return ops.sum(squares, dims, keepdim) / freedom


def _spread_type(input: Tensor, kind: dtype | None) -> dtype:
    if kind is not None:
        return as_dtype(kind)
    return input.dtype if input.dtype.category > 1 else float32


@composite(namespace="masked", method=False)
@torch_call("masked_var")
def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance over axes of the elements that the mask picks; NaN unless there are more than `correction`.

    `correction` is 1 unless given; unbiased=False is correction=0. Other arguments are as in masked.sum().

    >>> import adjoint
    >>> adjoint.masked.var(adjoint.tensor([1.0, 3.0, 9.0]), mask=adjoint.tensor([True, True, False]))
    tensor(2.)
    """
    kind = _spread_type(input, dtype)
    return _of_type(_variance(input, dim, unbiased, correction, bool(keepdim), _mask_of(input, mask), kind), kind)


@composite(namespace="masked", method=False)
@torch_call("masked_std")
def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The standard deviation over axes of the elements that the mask picks: the root of masked.var().

    >>> import adjoint
    >>> adjoint.masked.std(adjoint.tensor([1.0, 3.0, 9.0]), mask=adjoint.tensor([True, True, False]))
    tensor(1.4142)
    """
    kind = _spread_type(input, dtype)
    variance = _variance(input, dim, unbiased, correction, bool(keepdim), _mask_of(input, mask), kind)
    return _of_type(ops.sqrt(variance), kind)


# norms ----------------------------------------------------------------------------------------------------------------


@composite(namespace="masked", method=False)
@torch_call("masked_norm")
def norm(
    input: Tensor,
    ord: float = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool | None = False,
    dtype: dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """linalg.vector_norm() of the elements that the mask picks; the gradient is 0 where the norm is 0.

    Other elements count as 0, for ord=-inf as infinite. Arguments are as in masked.sum().

    >>> import adjoint
    >>> adjoint.masked.norm(adjoint.tensor([3.0, 4.0, 9.0]), mask=adjoint.tensor([True, True, False]))
    tensor(5.)
    """
    filled = _fill(input, _mask_of(input, mask), math.inf if ord == -math.inf else 0)
    of_vector = COMPOSITES["linalg", "vector_norm"].function
    return of_vector(filled, ord, _dims_of(dim, input.ndim), bool(keepdim), dtype=dtype)


@composite(namespace="masked", method=False)
@torch_call("masked_normalize")
def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The input divided along an axis by masked.norm(), at least eps; 0 where the mask picks no elements.

    >>> import adjoint
    >>> adjoint.masked.normalize(adjoint.tensor([3.0, 4.0, 9.0]), 2, 0, mask=adjoint.tensor([True, True, False]))
    tensor([0.6000, 0.8000, 0.0000])
    """
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    filled = _fill(input, _mask_of(input, mask), 0)
    return filled / ops.maximum(length, ops.full_like(length.detach(), eps))


@composite(namespace="masked", method=False)
@torch_call("masked_logaddexp")
def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)), elementwise, without those terms that the masks do not pick.

    Raises NotImplementedError for whole numbers and truth values.

    >>> import adjoint
    >>> x = adjoint.tensor([1.0, 2.0])
    >>> adjoint.masked.logaddexp(x, x, other_mask=adjoint.tensor([False, True]))
    tensor([1.0000, 2.6931])
    """
    other = as_tensor("masked_logaddexp", "other", 2, other)
    filled = []
    for tensor, mask in ((input, input_mask), (other, other_mask)):
        picks = _mask_of(tensor, mask)
        filled.append(tensor if picks is None else _fill(tensor, picks, _least("logaddexp", tensor.dtype)))
    if input.dtype.category < 2 and other.dtype.category < 2:
        raise NotImplementedError(f"\"logaddexp_cpu\" not implemented for '{input.dtype.long_name}'")
    return _of_type(ops.logaddexp(*filled), input.dtype if dtype is None else as_dtype(dtype))
