"""Composites over reductions and sorting: overloads by argument, dtypes, and pairs of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from adjoint.arrays.dtypes import as_dtype, dtype, promote_types
from adjoint.arrays.dtypes import dtype as Dtype
from adjoint.arrays.namespace import is_array
from adjoint.arrays.shapes import normalize_dim
from adjoint.core.graph import TensorBase
from adjoint.core.recorded import operations
from adjoint.functions.composite import COMPOSITES, as_number, composite, describe, in_place_text, ops, torch_call
from adjoint.runtime.once import warn_caller

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Dims = int | Sequence[int] | None


def _cast(input: Tensor, dtype: dtype | None) -> Tensor:
    """The input in the dtype of a reduction."""
    return input if dtype is None or input.dtype is as_dtype(dtype) else ops.cast(input, as_dtype(dtype))


def _whole(result: Tensor, dtype: dtype | None) -> Tensor:
    """A result of integers, computed in int64, in the dtype that the caller passed."""
    if dtype is None or result.dtype is as_dtype(dtype) or result.dtype.numpy.kind != "i":
        return result
    return ops.cast(result, as_dtype(dtype))


# sums, means, products ------------------------------------------------------------------------------------------------


class _AllAxes(tuple[int, ...]):
    """The `dim` of a call without it: in torch, sum() and sum(dim=None) have nodes of different names."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "None"


_ALL = _AllAxes()
_sum_all, _mean_all, _prod_all = operations["sum_all"], operations["mean_all"], operations["prod_all"]


@composite()
@torch_call()
def sum(input: Tensor, dim: Dims = _ALL, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The sum over axes (None or (): all); the reduced axes are dropped, or kept with size 1 if `keepdim`.

    Integers and truth values are summed in int64; the input is cast to `dtype` first.
    Raises IndexError for an axis out of range, and RuntimeError for a repeated axis.

    >>> import adjoint
    >>> adjoint.sum(adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([4., 6.])
    """
    if dtype is not None:
        return _whole(sum(_cast(input, dtype), dim, keepdim), dtype)
    if dim is _ALL:
        if not keepdim:
            return _sum_all(input)
        dim = None
    return ops.sum(input, dim, keepdim)


@composite()
@torch_call()
def mean(input: Tensor, dim: Dims = _ALL, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The mean over axes (None or (): all); the reduced axes are dropped, or kept with size 1 if `keepdim`.

    Raises RuntimeError if the input (or `dtype`, to which it is cast before) is neither floating point nor complex.

    >>> import adjoint
    >>> adjoint.mean(adjoint.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=1, keepdim=True)
    tensor([[1.5000],
            [3.5000]])
    """
    if dtype is not None:
        _check_mean_dtype(dtype)
        input = _cast(input, dtype)
    if dim is _ALL:
        if not keepdim:
            return _mean_all(input)
        dim = None
    return ops.mean(input, dim, keepdim)


def _check_mean_dtype(dtype: dtype) -> None:
    if not isinstance(dtype, Dtype):
        raise TypeError(f"mean(): argument 'dtype' must be adjoint.dtype, not {type(dtype).__name__}")
    if not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            "mean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. "
            f"Got: {dtype.long_name}"
        )


@composite()
@torch_call()
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The product over one axis, or of all elements; its derivatives are exact where elements are 0.

    Integers and truth values are multiplied in int64; the input is cast to `dtype` first.

    >>> import adjoint
    >>> x = adjoint.tensor([2.0, 0.0, 3.0], requires_grad=True)
    >>> adjoint.prod(x).backward()
    >>> x.grad
    tensor([0., 6., 0.])
    """
    input = _cast(input, dtype)
    result = _prod_all(input) if dim is None and not keepdim else ops.prod(input, dim, keepdim)
    return _whole(result, dtype)


@composite()
@torch_call()
def nansum(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The sum over axes with NaN counted as 0; no gradient flows to NaN.

    >>> import adjoint
    >>> adjoint.nansum(adjoint.tensor([1.0, float("nan")]))
    tensor(1.)
    """
    if input.is_complex():
        raise RuntimeError("nansum on CPU does not support complex inputs")
    input = _cast(input, dtype)
    return _whole(ops.sum(ops.where(ops.isnan(input), 0, input), dim, keepdim), dtype)


@composite()
@torch_call()
def nanmean(input: Tensor, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None) -> Tensor:
    """The mean over axes of the elements that are not NaN.

    >>> import adjoint
    >>> adjoint.nanmean(adjoint.tensor([1.0, float("nan"), 3.0]))
    tensor(2.)
    """
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {input.dtype.long_name}"
        )
    input = _cast(input, dtype)
    number = ops.sum(ops.logical_not(ops.isnan(input)), dim, keepdim)
    return nansum(input, dim, keepdim) / number


@composite()
@torch_call()
def cumsum(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Running sums along an axis; integers and truth values are summed in int64.

    >>> import adjoint
    >>> adjoint.cumsum(adjoint.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 3., 6.])
    """
    return _whole(ops.cumsum(_cast(input, dtype), dim), dtype)


@composite()
@torch_call()
def cumprod(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    """Running products along an axis; its derivatives are exact where elements are 0.

    >>> import adjoint
    >>> adjoint.cumprod(adjoint.tensor([1.0, 2.0, 3.0]), 0)
    tensor([1., 2., 6.])
    """
    return _whole(ops.cumprod(_cast(input, dtype), dim), dtype)


def _cumulate_in_place(function: str, operation: Any, input: Tensor, dim: int, dtype: dtype | None) -> Tensor:
    kind = input.dtype if dtype is None else as_dtype(dtype, function)
    if kind is not input.dtype:
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {input.dtype.c_name} and output tensor dtype {kind.c_name} "
            "should match"
        )
    return operation.inplace((input, dim), {})


@composite(namespace=None)
@describe(in_place_text("cumsum()"))
def cumsum_(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    return _cumulate_in_place("cumsum_", operations["cumsum"], input, dim, dtype)


@composite(namespace=None)
@describe(in_place_text("cumprod()"))
def cumprod_(input: Tensor, dim: int, *, dtype: dtype | None = None) -> Tensor:
    return _cumulate_in_place("cumprod_", operations["cumprod"], input, dim, dtype)


# variances ------------------------------------------------------------------------------------------------------------


class _Spread(NamedTuple):
    """The arguments of std, var, std_mean and var_mean, from either of their two signatures."""

    dim: Dims
    correction: float
    keepdim: bool


def _spread(name: str, dim: Any, unbiased: bool | None, keepdim: bool, correction: float | None) -> _Spread:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if unbiased is not None and correction is not None:
        raise TypeError(f"{name}() takes either unbiased or correction, got {unbiased=} and {correction=}")
    if correction is None:
        correction = 0 if unbiased is False else 1
    return _Spread(dim, correction, keepdim)


_SPREAD = """{text}

    `correction` is 1 unless given; unbiased=False is correction=0, and `{name}(input, False)` the same over
    all axes. NaN or infinite where there are not more elements than `correction`. Real for complex input.
    Raises RuntimeError for integers and truth values.

    >>> import adjoint
    >>> adjoint.{name}(adjoint.tensor([1.0, 2.0, 3.0]))
    {output}
    """


@composite()
@torch_call()
@describe(
    _SPREAD,
    name="var",
    text="The variance over axes: the sum of squared distances from the mean over (count - correction).",
    output="tensor(1.)",
)
def var(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    return ops.var(input, *_spread("var", dim, unbiased, keepdim, correction))


@composite()
@torch_call()
@describe(
    _SPREAD,
    name="std",
    text="The standard deviation over axes, the square root of the variance; its gradient is 0 where it is 0.",
    output="tensor(1.)",
)
def std(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    return ops.std(input, *_spread("std", dim, unbiased, keepdim, correction))


@composite(method=False)
@torch_call()
@describe(
    _SPREAD,
    name="var_mean",
    text="The variance and the mean over axes; see var().",
    output="(tensor(1.), tensor(2.))",
)
def var_mean(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    return ops.var_mean(input, *_spread("var_mean", dim, unbiased, keepdim, correction))


@composite(method=False)
@torch_call()
@describe(
    _SPREAD,
    name="std_mean",
    text="The standard deviation and the mean over axes; see std().",
    output="(tensor(1.), tensor(2.))",
)
def std_mean(
    input: Tensor,
    dim: Dims | bool = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> tuple[Tensor, Tensor]:
    return ops.std_mean(input, *_spread("std_mean", dim, unbiased, keepdim, correction))


# extrema and medians --------------------------------------------------------------------------------------------------


_EXTREMUM = """The {name}imum of all elements, along an axis (with its index), or of two tensors.

    {name}(input): of all elements; equal ones share the gradient evenly. Raises RuntimeError if there are none.
    {name}(input, dim, keepdim=False): values and indices along the axis `dim`; the first of equal elements is taken and
    gets the gradient. Raises IndexError if the axis is empty or out of range.
    {name}(input, other): elementwise; see {name}imum().

    >>> import adjoint
    >>> adjoint.{name}(adjoint.tensor([[1.0, 2.0], [4.0, 3.0]]), dim=0).indices
    tensor({output})
    """


@composite()
@torch_call()
@describe(_EXTREMUM, name="max", output="[1, 1]")
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    if dim is not None and (isinstance(dim, TensorBase) or is_array(dim)):
        dim, other = None, dim
    if other is not None:
        return ops.maximum(input, other)
    return ops.max_all(input) if dim is None and not keepdim else ops.max(input, dim, keepdim)


@composite()
@torch_call()
@describe(_EXTREMUM, name="min", output="[0, 0]")
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None) -> Any:
    if dim is not None and (isinstance(dim, TensorBase) or is_array(dim)):
        dim, other = None, dim
    if other is not None:
        return ops.minimum(input, other)
    return ops.min_all(input) if dim is None and not keepdim else ops.min(input, dim, keepdim)


@composite()
@torch_call()
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The minimum and the maximum over an axis, or of all elements; equal elements share the gradient evenly.

    >>> import adjoint
    >>> adjoint.aminmax(adjoint.tensor([1.0, 3.0, 2.0])).max
    tensor(3.)
    """
    if dim is None and not input.numel():
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    axis = () if dim is None else normalize_dim(dim, input.ndim)
    if dim is not None and input.ndim and not input.shape[axis]:
        raise IndexError(f"aminmax: Expected reduction dim {axis} to have non-zero size.")
    if input.is_complex():
        raise NotImplementedError(f"\"aminmax_cpu\" not implemented for '{input.dtype.long_name}'")
    return ops.aminmax(input, axis, keepdim)


@composite()
@torch_call()
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of all elements, or along an axis with its index: the lower of the two in the middle.

    NaN if there is one. Raises IndexError if the axis is empty or out of range.

    >>> import adjoint
    >>> adjoint.median(adjoint.tensor([1.0, 3.0, 2.0, 4.0]))
    tensor(2.)
    """
    return operations["median_all"](input) if dim is None else ops.median(input, dim, keepdim)


@composite()
@torch_call()
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first axis.

    >>> import adjoint
    >>> adjoint.msort(adjoint.tensor([3.0, 1.0, 2.0]))
    tensor([1., 2., 3.])
    """
    return ops.sort(input, 0).values


# norms ----------------------------------------------------------------------------------------------------------------


@composite(namespace="linalg", method=False)
@torch_call()
def vector_norm(
    input: Tensor, ord: float = 2, dim: Dims = None, keepdim: bool = False, *, dtype: dtype | None = None
) -> Tensor:
    """(sum of abs(input) ** ord) ** (1 / ord) over axes (None: all); its limits for ord 0, inf and -inf.

    The input is cast to `dtype` first. The gradient is 0 where the norm is 0.
    Raises RuntimeError for integers and bools, for a narrower `dtype`, and for an empty axis with a negative or
    infinite ord.

    >>> import adjoint
    >>> adjoint.linalg.vector_norm(adjoint.tensor([3.0, -4.0]))
    tensor(5.)
    """
    if dtype is None and type(ord) in (int, float):
        return ops.linalg_vector_norm(input, ord, dim, keepdim)
    if dtype is not None and input.dtype.category > 1:
        check_norm_dtype("linalg.vector_norm", input.dtype, dtype)
    ord = as_number(ord)
    if not isinstance(ord, (int, float)):
        raise TypeError(f"linalg_vector_norm(): argument 'ord' (position 2) must be Number, not {type(ord).__name__}")
    if dtype is not None and input.dtype.category > 1:  # whole numbers are refused, whatever they would become
        input = _cast(input, dtype)
    return ops.linalg_vector_norm(input, ord, dim, keepdim)


def check_norm_dtype(name: str, source: dtype, target: dtype) -> None:
    """Raise RuntimeError unless the dtype allows a norm; the conversion must not narrow."""
    if not (target.is_floating_point or target.is_complex):
        raise RuntimeError(f"{name}: dtype should be floating point or complex, but got {target.long_name}")
    if source.is_complex != target.is_complex:
        kind = "complex" if source.is_complex else "real"
        raise RuntimeError(f"{name}: dtype should be {kind} for {kind} inputs, but got {target.long_name}")
    if promote_types(source, target) is not target:
        raise RuntimeError(
            f"{name}: the dtype of the input ({source.long_name}) should be convertible without narrowing to the "
            f"specified dtype ({target.long_name})"
        )


@composite()
@torch_call()
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: Dims = None,
    keepdim: bool = False,
    dtype: dtype | None = None,
) -> Tensor:
    """The norm of a tensor over axes (None: all), taken as a vector: linalg.vector_norm with ord=p.

    p "fro" or None is 2, the Euclidean norm; "nuc" is the sum of singular values of a matrix (two axes).

    >>> import adjoint
    >>> adjoint.norm(adjoint.tensor([[3.0, 0.0], [0.0, -4.0]]), p=1)
    tensor(7.)
    """
    if isinstance(p, str) and p != "fro":
        axes = dim if dim is not None else tuple(range(input.ndim))
        return COMPOSITES["linalg", "matrix_norm"].function(input, p, axes, keepdim, dtype=dtype)
    order: Any = 2 if p is None or p == "fro" else p
    if dtype is None and type(order) in (int, float):
        return ops.linalg_vector_norm(input, order, dim, keepdim)
    return vector_norm(input, order.item() if isinstance(order, TensorBase) else order, dim, keepdim, dtype=dtype)


# softmax --------------------------------------------------------------------------------------------------------------


@composite()
@torch_call()
def softmax(input: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    """exp(input) along an axis, divided by its sum; the input is cast to `dtype` first.

    Raises NotImplementedError for integers and complex numbers.

    >>> import adjoint
    >>> adjoint.softmax(adjoint.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return ops.softmax(_cast(input, dtype), dim)


@composite()
@torch_call()
def log_softmax(input: Tensor, dim: int, dtype: dtype | None = None) -> Tensor:
    """The logarithm of softmax(), without overflow; the input is cast to `dtype` first.

    Raises NotImplementedError for integers and complex numbers.

    >>> import adjoint
    >>> adjoint.log_softmax(adjoint.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return ops.log_softmax(_cast(input, dtype), dim)


def _chosen_axis(name: str, ndim: int, dim: int | None) -> int:
    # torch's old default axis, which torch deprecates
    if dim is not None:
        return dim
    warn_caller(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument."
    )
    return 0 if ndim in (0, 1, 3) else 1


@composite(namespace="nn.functional", method=False, name="softmax")
def functional_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """exp(input) along an axis, divided by its sum; see adjoint.softmax().

    >>> import adjoint
    >>> adjoint.nn.functional.softmax(adjoint.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return softmax(input, _chosen_axis("softmax", input.ndim, dim), dtype)


@composite(namespace="nn.functional", method=False, name="softmin")
def functional_softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """softmax(-input).

    >>> import adjoint
    >>> adjoint.nn.functional.softmin(adjoint.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    return softmax(-input, _chosen_axis("softmin", input.ndim, dim), dtype)


@composite(namespace="nn.functional", method=False, name="log_softmax")
def functional_log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Tensor:
    """The logarithm of softmax(); see adjoint.log_softmax().

    >>> import adjoint
    >>> adjoint.nn.functional.log_softmax(adjoint.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    return log_softmax(input, _chosen_axis("log_softmax", input.ndim, dim), dtype)
