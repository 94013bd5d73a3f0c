"""Composites over contractions: einsum's and tensordot's conveniences, outer and inner products, chains of products."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import bool_, dtype
from adjoint.arrays.kernels import contraction
from adjoint.arrays.namespace import is_array
from adjoint.arrays.promotion import common_dtype
from adjoint.arrays.shapes import normalize_dim, normalize_dims, require_dim
from adjoint.core import errors
from adjoint.core.graph import TensorBase
from adjoint.core.recorded import operations
from adjoint.functions.arguments import require_member
from adjoint.functions.composite import as_tensor, composite, functional, ops, separate, takes_out
from adjoint.rules.contract import check_batches, shape_text
from adjoint.runtime.caches import memoize

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


# einsum -------------------------------------------------------------------------------------------------------------


@composite(method=False)
def einsum(*args: Any) -> Tensor:
    """The sum of products of the operands' elements that an equation in Einstein's notation names.

    Args:
        args: the equation and the tensors, or one sequence of them. The equation has subscripts of each operand,
            separated by commas, and after "->" those of the result. A subscript that is repeated in one operand takes
            a diagonal, one that is missing in the result is summed, "..." means any number of axes that broadcast.
            Without "->" the result has the subscripts that occur once, in alphabetical order. Instead of an equation,
            each operand may be followed by the list of its subscripts as numbers below 52, and all by the list for the
            result.

    Raises RuntimeError if the equation is malformed or sizes do not fit, ValueError without operands.

    >>> import adjoint
    >>> a = adjoint.arange(6.0).reshape(2, 3)
    >>> adjoint.einsum("ij,kj->ik", a, a)
    tensor([[ 5., 14.],
            [14., 50.]])
    """
    tensors: Sequence[Any] = args
    equation, *operands = args if len(args) > 1 else (None,)
    if isinstance(equation, str):
        tensors = operands[0] if len(operands) == 1 and isinstance(operands[0], (tuple, list)) else operands
    if len(args) < 2 or not tensors:
        raise ValueError(
            "einsum(): must specify the equation string and at least one operand, or at least one operand and its "
            "subscripts list"
        )
    if isinstance(equation, TensorBase) or is_array(equation):
        equation, tensors = _from_sublists(args)
    elif not isinstance(equation, str):
        raise TypeError(f"einsum(): argument 'equation' (position 1) must be str, not {type(equation).__name__}")
    for i, tensor in enumerate(tensors):
        if not is_array(tensor):
            require_member(1, i, tensor)
    explicit = contraction.explicit_equation(equation, tuple([tensor.ndim for tensor in tensors]))
    if len(tensors) == 1 and isinstance(tensors[0], TensorBase):
        view = _rearrange(tensors[0], *explicit.split("->"))
        if view is not None:
            return view
    return ops.einsum(tuple(_widen(tensors, explicit)), explicit)


def _widen(tensors: Sequence[Tensor], explicit: str) -> Sequence[Tensor]:
    """Whole numbers and truth values that are summed over an axis of their own are int64 then, as in every sum.

    An axis of size 1 broadcasts to a longer one. Three and more integer operands all become int64.
    """
    if not any(isinstance(tensor, TensorBase) and tensor.dtype.category < 2 for tensor in tensors):
        return tensors
    subscripts = contraction.subscripts_met(explicit, tuple([tuple(tensor.shape) for tensor in tensors]))
    counts = Counter("".join(subscripts) + contraction.split_equation(explicit)[1])
    sums_alone = [any(counts[c] == 1 for c in labels) for labels in subscripts]
    if len(tensors) > 2 and any(sums_alone):
        sums_alone = [True] * len(tensors)
    return [
        tensor.long() if alone and tensor.dtype.category < 2 else tensor
        for tensor, alone in zip(tensors, sums_alone, strict=True)
    ]


def _rearrange(tensor: Any, subscripts: str, output: str) -> Tensor | None:
    """One operand: diagonals taken, other axes summed, the rest in the order of the output; None if sizes differ."""
    sizes = dict(zip(subscripts, tensor.shape, strict=True))
    if any(sizes[c] != n for c, n in zip(subscripts, tensor.shape, strict=True)):
        return None
    labels = list(subscripts)
    for c in dict.fromkeys(subscripts):
        while labels.count(c) > 1:
            first, second = [axis for axis, label in enumerate(labels) if label == c][:2]
            tensor = ops.diagonal(tensor, 0, first, second)
            labels = [label for axis, label in enumerate(labels) if axis not in (first, second)] + [c]
    others = [axis for axis, c in enumerate(labels) if c not in output]
    order = [*[labels.index(c) for c in output], *others]
    if order != sorted(order) or not others:
        tensor = ops.permute(tensor, tuple(order))
    return ops.sum(tensor, tuple(range(len(output), len(order))), False) if others else tensor


def _from_sublists(arguments: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    output = list(arguments[-1]) if len(arguments) % 2 else None
    pairs = len(arguments) // 2
    sublists = [list(arguments[2 * i + 1]) for i in range(pairs)]
    return contraction.equation_of_sublists(sublists, output), arguments[: 2 * pairs : 2]


# tensordot, inner, outer, kron ---------------------------------------------------------------------------------------


def _contraction_dims(dims: Any, a: Tensor, b: Tensor) -> tuple[list[int], list[int]]:
    if isinstance(dims, TensorBase):
        dims = dims.tolist()
        if isinstance(dims, list) and len(dims) == 1 and not isinstance(dims[0], list):
            dims = dims[0]
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.ndim, b.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        return list(range(-dims, 0)), list(range(dims))
    if isinstance(dims, (tuple, list)) and len(dims) == 2:
        first, second = [[d] if isinstance(d, int) else list(d) for d in dims]
        return first, second
    raise RuntimeError(
        "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, "
        f"but got dims={dims}"
    )


@composite(method=False)
@takes_out
def tensordot(a: Tensor, b: Tensor, dims: int | Sequence[Any] | Tensor = 2) -> Tensor:
    """The sum of products of two tensors over pairs of axes.

    Args:
        dims: the number of last axes of a that are paired with the first axes of b; or two lists, the axes of a and of
            b.

    Returns a tensor with the other axes of a, then the other axes of b. Paired axes have equal sizes, or one has size
    1.

    >>> import adjoint
    >>> adjoint.tensordot(adjoint.ones(2, 3, 4), adjoint.ones(4, 3), dims=([1, 2], [1, 0])).shape
    adjoint.Size([2])
    """
    a, b = as_tensor("tensordot", "a", 1, a), as_tensor("tensordot", "b", 2, b)
    of_a, of_b = _contraction_dims(dims, a, b)
    if len(of_a) != len(of_b):
        raise RuntimeError("both dimension lists should have same length")
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    dims_a = tuple([normalize_dim(d, a.ndim) for d in of_a])
    dims_b = tuple([normalize_dim(d, b.ndim) for d in of_b])
    wide_a, wide_b = a.shape, b.shape
    for i, (da, db) in enumerate(zip(dims_a, dims_b, strict=True)):
        n, m = wide_a[da], wide_b[db]
        if n == m:
            continue
        if n == 1:
            b = b.sum(db, keepdim=True, dtype=b.dtype)
        elif m == 1:
            a = a.sum(da, keepdim=True, dtype=a.dtype)
        else:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {of_a[i]} and second has size "
                f"{m} in dim {of_b[i]}"
            )
    return ops.tensordot(a, b, normalize_dims(dims_a, a.ndim), normalize_dims(dims_b, b.ndim))


@composite()
@takes_out
def inner(input: Tensor, other: Tensor) -> Tensor:
    """The sum of products over the last axes; a plain product if one tensor has no axes. Nothing is conjugated.

    >>> import adjoint
    >>> adjoint.inner(adjoint.tensor([1.0, 2.0]), adjoint.tensor([3.0, 4.0]))
    tensor(11.)
    """
    a, b = as_tensor("inner", "input", 1, input), as_tensor("inner", "other", 2, other)
    if a.ndim == 0 or b.ndim == 0:
        return ops.mul(a, b)
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if a.shape[-1] != b.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {shape_text(a.shape)} and "
            f"{shape_text(b.shape)}"
        )
    if a.ndim == 1 and b.ndim == 1:
        return ops.dot(a, b)
    return ops.tensordot(a, b, (a.ndim - 1,), (b.ndim - 1,))


@composite()
@takes_out
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of each element of one vector with each of another, as a matrix.

    >>> import adjoint
    >>> adjoint.outer(adjoint.tensor([1.0, 2.0]), adjoint.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    a, b = as_tensor("outer", "input", 1, input), as_tensor("outer", "vec2", 2, vec2)
    for name, vector in (("self", a), ("vec2", b)):
        if vector.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D")
    return ops.mul(a[:, None], b)


@composite()
@takes_out
def ger(input: Tensor, vec2: Tensor) -> Tensor:
    """Alias of outer().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.outer).
    """
    return outer(input, vec2)


@composite()
@takes_out
def kron(input: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: each element of input times the whole of other, in blocks.

    >>> import adjoint
    >>> adjoint.kron(adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0, 1.0]))
    tensor([1., 1., 2., 2.])
    """
    a, b = as_tensor("kron", "input", 1, input), as_tensor("kron", "other", 2, other)
    ndim = max(a.ndim, b.ndim)
    first = (1,) * (ndim - a.ndim) + tuple(a.shape)
    second = (1,) * (ndim - b.ndim) + tuple(b.shape)
    blocks = ops.reshape(a, tuple([m for n in first for m in (n, 1)])) * ops.reshape(
        b, tuple([m for n in second for m in (1, n)])
    )
    return separate(ops.reshape(blocks, tuple([n * m for n, m in zip(first, second, strict=True)])))


# products of several matrices ----------------------------------------------------------------------------------------


@composite()
@takes_out
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * the sum of the products of matrices in pairs.

    Shapes: input broadcasts to (m, n), batch1 is (b, m, k), batch2 (b, k, n).

    >>> import adjoint
    >>> adjoint.addbmm(adjoint.zeros(2), adjoint.ones(3, 1, 2), adjoint.ones(3, 2, 2))
    tensor([[6., 6.]])
    """
    return ops.addmm(input, *_as_one_product(batch1, batch2), beta=beta, alpha=alpha)


@composite(namespace=None)
def addbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """In-place version of addbmm().

    The result is written into the tensor, which is returned; its version counts up. Raises RuntimeError for a leaf that
    requires a gradient while gradients are recorded, and where the tensor cannot hold the result.
    """
    return input.addmm_(*_as_one_product(batch1, batch2), beta=beta, alpha=alpha)


def _as_one_product(batch1: Tensor, batch2: Tensor) -> tuple[Tensor, Tensor]:
    """Two matrices whose product is the sum of the products of pairs: all pairs side by side."""
    a, b = as_tensor("addbmm", "batch1", 2, batch1), as_tensor("addbmm", "batch2", 3, batch2)
    check_batches(a._array, b._array)
    n, rows, inner = a.shape
    return ops.reshape(ops.permute(a, (1, 0, 2)), (rows, n * inner)), ops.reshape(b, (n * inner, b.shape[2]))


@composite()
@takes_out
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2), input broadcast; of truth values their disjunction.

    Raises RuntimeError for factors that the common type does not take, and for vectors with other than one axis.

    >>> import adjoint
    >>> adjoint.addr(adjoint.zeros(2, 2), adjoint.ones(2), adjoint.tensor([1.0, 2.0]))
    tensor([[1., 2.],
            [1., 2.]])
    """
    operands = _of_common_type(input, *_column_and_row(vec1, vec2))
    kind = operands[0].dtype
    _check_factors(kind, beta, alpha)
    if kind is not bool_:
        return ops.addmm(*operands, beta=beta, alpha=alpha)
    product = ops.logical_and(*operands[1:]) if alpha else ops.zeros_of(operands[1], (1, 1))
    addend = operands[0] if beta else ops.zeros_of(operands[0], ())
    return ops.logical_or(addend, ops.expand(product, (operands[1].shape[0], operands[2].shape[1])))


@composite(namespace=None)
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """In-place version of addr(). Raises RuntimeError if the tensor does not hold the type of the result.

    Adds alpha times the outer product of two vectors to beta times the tensor.

    >>> import adjoint
    >>> adjoint.zeros(2, 2).addr_(adjoint.tensor([1.0, 2.0]), adjoint.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    first, *factors = _of_common_type(input, *_column_and_row(vec1, vec2))
    if first is input and input.dtype is not bool_:
        _check_factors(input.dtype, beta, alpha)
        return input.addmm_(*factors, beta=beta, alpha=alpha)
    result = addr(input, vec1, vec2, beta=beta, alpha=alpha)
    errors.check_cast(result._array.dtype, input._array.dtype)
    return input.copy_(result)


def _of_common_type(*operands: Tensor) -> list[Tensor]:
    kind = common_dtype([operand._array for operand in operands], "same")
    return [operand if operand.dtype is kind else ops.cast(operand, kind) for operand in operands]


def _check_factors(kind: dtype, beta: float, alpha: float) -> None:
    for name, value in (("beta", beta), ("alpha", alpha)):
        if isinstance(value, bool) and kind is not bool_:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(value, float) and not (kind.is_floating_point or kind.is_complex):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")


def _column_and_row(vec1: Tensor, vec2: Tensor) -> tuple[Tensor, Tensor]:
    a, b = as_tensor("addr", "vec1", 2, vec1), as_tensor("addr", "vec2", 3, vec2)
    for position, vector in ((1, a), (2, b)):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument vec{position}, but got {vector.ndim}-D")
    return a[:, None], b[None]


@memoize(256)
def _split_points(sizes: tuple[int, ...]) -> dict[tuple[int, int], int]:
    # the classical dynamic programme: matrix i has sizes[i] rows and sizes[i + 1] columns
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            costs = [cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)]
            cost[i, j] = min(costs)
            split[i, j] = i + costs.index(cost[i, j])
    return split


@composite(namespace="linalg", method=False)
@takes_out
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of two or more matrices, in the order that needs the fewest multiplications.

    The first may be a vector (a row) and the last too (a column). Raises RuntimeError if sizes do not fit.

    >>> import adjoint
    >>> adjoint.linalg.multi_dot([adjoint.ones(3), adjoint.ones(3, 4), adjoint.ones(4)])
    tensor(12.)
    """
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    matrices = [as_tensor("multi_dot", "tensors", 1, t) for t in tensors]
    for i, matrix in enumerate(matrices):
        if matrix.dtype is not matrices[0].dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{matrices[0].dtype.c_name} and tensor {i} {matrix.dtype.c_name}"
            )
    for position, name in ((0, "first"), (-1, "last")):
        if matrices[position].ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {matrices[position].ndim}D")
    row, column = matrices[0].ndim == 1, matrices[-1].ndim == 1
    if row:
        matrices[0] = matrices[0][None]
    if column:
        matrices[-1] = matrices[-1][:, None]
    for i, (a, b) in enumerate(pairwise(matrices)):
        if b.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i + 1} must be 2D but got {b.ndim}D")
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {shape_text(tensors[i].shape)} and "
                f"{shape_text(tensors[i + 1].shape)} cannot be multiplied"
            )
    split = _split_points((matrices[0].shape[0], *[m.shape[1] for m in matrices]))

    def product(i: int, j: int) -> Tensor:
        if i == j:
            return matrices[i]
        k = split[i, j]
        return product(i, k) @ product(k + 1, j)

    result = product(0, len(matrices) - 1)
    if row:
        result = result[0]
    return result[..., 0] if column else result


@composite(method=False)
@takes_out
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of matrices in the order that needs the fewest multiplications; see linalg.multi_dot.

    >>> import adjoint
    >>> adjoint.chain_matmul(adjoint.ones(2, 3), adjoint.ones(3, 1), adjoint.ones(1, 2))
    tensor([[3., 3.],
            [3., 3.]])
    """
    for matrix in matrices:
        if matrix.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.ndim}, expected 2 instead.")
    if len(matrices) == 1:
        return matrices[0].clone()
    return multi_dot(matrices)


# namespaces ---------------------------------------------------------------------------------------------------------


@functional
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight^T + bias.

    Shapes: input (..., k), weight (n, k) or (k), bias (n) or (); the result is (..., n) or (...).

    >>> import adjoint
    >>> adjoint.nn.functional.linear(adjoint.ones(2, 3), adjoint.ones(4, 3)).shape
    adjoint.Size([2, 4])
    """
    return operations["linear"](input, weight, bias)


@functional
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The sum of input1[..., i] * weight[o, i, j] * input2[..., j] over i and j, plus bias.

    Shapes: input1 (..., n), input2 (..., m), weight (o, n, m), bias (o); the result is (..., o).
    Raises RuntimeError for other shapes; the inputs' do not broadcast.

    >>> import adjoint
    >>> adjoint.nn.functional.bilinear(adjoint.ones(1, 2), adjoint.ones(1, 3), adjoint.ones(1, 2, 3))
    tensor([[6.]])
    """
    _check_bilinear(input1, input2, weight, bias)
    product = einsum("...i,oij,...j->...o", input1, weight, input2)
    return product if bias is None else product + bias


def _check_bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> None:
    for position, (name, value) in enumerate({"input1": input1, "input2": input2, "weight": weight}.items()):
        if not isinstance(value, TensorBase):
            raise TypeError(errors.must_be_tensor("bilinear", name, position, value))
    if input1.ndim != input2.ndim:
        raise RuntimeError(f"bilinear(): input dimensions do not match: got {input1.ndim} and {input2.ndim}")
    for axis in range(input1.ndim - 1):
        if input1.shape[axis] != input2.shape[axis]:
            sizes = f"{input1.shape[axis]} and {input2.shape[axis]}"
            raise RuntimeError(f"bilinear(): input batch dimensions do not match at dim {axis}: got {sizes}")
    for name, tensor, position in (("input1", input1, 1), ("input2", input2, 2)):
        if tensor.shape[-1] != weight.shape[position]:
            sizes = f"{tensor.shape[-1]} but expected {weight.shape[position]}"
            raise RuntimeError(f"bilinear(): {name} size does not match weight size: got {sizes}")
    if bias is not None and bias.shape[0] != weight.shape[0]:
        sizes = f"{bias.shape[0]} but expected {weight.shape[0]}"
        raise RuntimeError(f"bilinear(): bias size does not match weight size: got {sizes}")


@composite(namespace="linalg", method=False, name="matmul")
@takes_out
def linalg_matmul(input: Tensor, other: Tensor) -> Tensor:
    """Alias of adjoint.matmul().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.matmul).
    """
    return ops.matmul(input, other)


@composite(namespace="linalg", method=False)
@takes_out
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1) -> Tensor:
    """The inner products of vectors along an axis, the first conjugated; other axes broadcast.

    Raises RuntimeError for two dtypes, and for two vectors of different lengths.

    >>> import adjoint
    >>> adjoint.linalg.vecdot(adjoint.ones(2, 3), adjoint.ones(3))
    tensor([3., 3.])
    """
    x, y = as_tensor("linalg_vecdot", "x", 1, x), as_tensor("linalg_vecdot", "y", 2, y)
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype.long_name} and y of "
            f"type {y.dtype.long_name} instead"
        )
    if x.ndim == y.ndim == 1 and x.dtype.category >= 2:
        return ops.vdot(x, y)
    return (ops.conjugate(x) * y).sum(dim)


@composite(namespace="linalg", method=False, name="cross")
@takes_out
def linalg_cross(input: Tensor, other: Tensor, *, dim: int = -1) -> Tensor:
    """The vector product along an axis of length 3; other axes broadcast.

    >>> import adjoint
    >>> adjoint.linalg.cross(adjoint.tensor([1.0, 0.0, 0.0]), adjoint.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    a, b = as_tensor("cross", "input", 1, input), as_tensor("cross", "other", 2, other)
    shape, other_shape, dtype = a._array.shape, b._array.shape, a.dtype
    if len(shape) != len(other_shape):
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = require_dim(dim, len(shape))
    if shape[axis] != 3 or other_shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {shape[axis]} and {other_shape[axis]}"
        )
    if dtype is not b.dtype:
        raise RuntimeError(f"expected scalar type {dtype.long_name} but found {b.dtype.long_name}")
    if dtype is bool_:
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    return ops.linalg_cross(a, b, dim=dim)


@composite()
@takes_out
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along an axis of length 3: the first such axis, if dim is None.

    >>> import adjoint
    >>> adjoint.cross(adjoint.tensor([1.0, 0.0, 0.0]), adjoint.tensor([0.0, 1.0, 0.0]))
    tensor([0., 0., 1.])
    """
    if dim is None:
        dim = next((i for i, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim=dim)
