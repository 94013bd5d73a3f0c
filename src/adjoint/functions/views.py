"""Views of memory, reshaping in place, copies of views, and copies with a memory layout."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from math import prod
from operator import index
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import as_dtype
from adjoint.arrays.dtypes import dtype as dtype_class
from adjoint.arrays.layout import as_memory_format, lies_so, preserve_format, strides_in
from adjoint.arrays.libraries.numpy_namespace import elements_meet, memory_of
from adjoint.arrays.namespace import address, underlying
from adjoint.arrays.shapes import normalize_dim
from adjoint.arrays.size import check_shape, type_name
from adjoint.core import errors
from adjoint.core.graph import TensorBase, bump_version, needs_grad, registry
from adjoint.core.in_place import CopySlices, become, own_strides, rebase
from adjoint.core.modes.grad_mode import recording
from adjoint.core.modes.state import current, is_grad_enabled
from adjoint.core.recorded import operations
from adjoint.functions import index as indexing
from adjoint.functions import shape as shapes
from adjoint.functions import splitting
from adjoint.functions.composite import composite, ops, takes_out
from adjoint.functions.underived import unknown_node
from adjoint.tensor.memory.storage import bounds, place, share_start, share_version, storage_of

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

# views of memory ------------------------------------------------------------------------------------------------------


@composite()
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """A view of a tensor's memory with any size and strides; strides count elements.

    storage_offset: the start in the memory (by default the tensor's start). Elements may overlap; each element that
    shares a cell gets the gradient of all of them.

    Raises RuntimeError for negative strides, strides and sizes that differ in number, and views beyond the memory.

    >>> import adjoint
    >>> adjoint.arange(4).as_strided((3, 2), (1, 1))
    tensor([[0, 1],
            [1, 2],
            [2, 3]])
    """
    array = input._array
    shape, steps = tuple(map(index, size)), tuple(map(index, stride))
    if underlying(array) is not array:
        raise RuntimeError("as_strided(): the members of a batch under vmap have no memory of their own")
    if len(shape) != len(steps):
        raise RuntimeError("mismatch in length of strides and shape")
    if min(steps, default=0) < 0:
        raise RuntimeError(f"as_strided: Negative strides are not supported at the moment, got strides: {list(steps)}")
    if min(shape, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(steps)}")
    offset = 0
    if storage_offset is not None:
        if storage_offset < 0:
            raise RuntimeError(f"Tensor: invalid storage offset {storage_offset}")
        offset = storage_offset - input.storage_offset()
    check_bounds(input, shape, steps, offset)
    return ops.as_strided(input, shape, steps, offset, tuple([k // array.itemsize for k in array.strides]))


def check_bounds(input: Tensor, shape: tuple[int, ...], steps: tuple[int, ...], offset: int) -> None:
    """Raise RuntimeError if a strided view would leave the tensor's memory."""
    array, reach = input._array, 1 + sum([(n - 1) * k for n, k in zip(shape, steps, strict=True)])
    is_simple = type(array) is numpy.ndarray and array.flags.c_contiguous and not offset
    if 0 in shape or (is_simple and reach <= array.size):
        return
    owner = storage_of(input)
    first, stop = bounds(owner)
    size, available = array.itemsize, stop - first
    start = offset if owner is array else offset + (address(array) - first) // size
    n_bytes = size * (start + reach)
    if n_bytes > available:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {start}, and itemsize {size} "
            f"requiring a storage size of {n_bytes} are out of bounds for storage of size {available}"
        )


@composite(namespace=None)
def unfold(input: Tensor, dimension: int, size: int, step: int) -> Tensor:
    """A view of all windows of a size, each `step` further along an axis; places in a window are the new last axis.

    Raises RuntimeError for a window larger than the axis, and a step that is not positive.

    >>> import adjoint
    >>> adjoint.arange(5).unfold(0, 2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if input._array.ndim:
        return ops.unfold(input, dimension, size, step)
    normalize_dim(dimension, 0)
    return ops.reshape(ops.unfold(ops.reshape(input, (1,)), 0, size, step), (-1,))


#: The types of sizes whose members need no check.
_SIZES = frozenset((int, tuple))


@composite(namespace=None, name="view")
def view(input: Tensor, *shape: Any, dtype: Any = None, size: Any = None) -> Tensor:
    """The elements in another shape (one size may be -1), or the memory as elements of another dtype; shares memory.

    If the types differ in size, the last axis becomes shorter or longer. No gradient flows through such a view.

    Raises RuntimeError if the tensor's layout does not allow the view.

    >>> import adjoint
    >>> x = adjoint.arange(4.0)
    >>> x.view(2, -1).shape, x.view(adjoint.int32)[1]
    (adjoint.Size([2, 2]), tensor(1065353216, dtype=adjoint.int32))
    """
    if dtype is None and size is None and shape and _SIZES.issuperset(map(type, shape)):
        return ops.view(input, *shape)
    if dtype is None and len(shape) == 1 and isinstance(shape[0], dtype_class):
        dtype, shape = shape[0], ()
    if size is not None and not shape:
        shape = (size,)
    wrong = any(isinstance(n, (str, float, type(None), dtype_class)) for n in shape)
    if (dtype is None) == (not shape) or wrong:
        types = ["adjoint.dtype" if isinstance(n, dtype_class) else type_name(n) for n in shape]
        types += [] if dtype is None else ["dtype=adjoint.dtype"]
        raise TypeError(
            f"view() received an invalid combination of arguments - got ({', '.join(types)}), but expected one of:\n"
            " * (adjoint.dtype dtype)\n * (tuple of ints size)"
        )
    if dtype is None:
        return ops.view(input, *shape)
    dtype = as_dtype(dtype, "view")
    check_retyped(input, dtype)
    result = ops.view_bits(input, dtype)
    share_version(result, input)
    return result


def check_retyped(input: Tensor, kind: Any) -> None:
    """Raise RuntimeError unless memory can be seen as elements of another type."""
    source, size = input.dtype, kind.itemsize
    if source.itemsize == size:
        return
    what = f"to view {source.long_name} as {kind.long_name} (different element sizes)"
    if not input.ndim:
        raise RuntimeError(f"self.dim() cannot be 0 {what}")
    strides = input.stride()
    if strides[-1] != 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {what}, but got {strides[-1]}")
    ratio = size // source.itemsize
    if ratio < 2:
        return
    if input.shape[-1] % ratio:
        raise RuntimeError(f"self.size(-1) must be divisible by {ratio} {what}, but got {input.shape[-1]}")
    for axis, step in enumerate(strides[:-1]):
        if step % ratio:
            raise RuntimeError(f"self.stride({axis}) must be divisible by {ratio} {what}, but got {step}")
    if input.storage_offset() % ratio:
        raise RuntimeError(
            f"self.storage_offset() must be divisible by {ratio} {what}, but got {input.storage_offset()}"
        )


# reshaping in place ---------------------------------------------------------------------------------------------------


def _check_changeable(input: Tensor, name: str) -> None:
    """Raise RuntimeError for an inference tensor outside its mode, and for a tensor from outside a transformation."""
    if input.is_inference() and not current().inference:
        raise errors.INFERENCE_IN_PLACE.error()
    errors.check_captured(input, name)


def _in_place(name: str, function: Callable[..., Any]) -> None:
    def reshape(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        _check_changeable(input, name)
        if is_grad_enabled():
            errors.check_in_place(input, 0)
        # also under no_grad, since the history of a tensor must have the tensor's shape
        with recording(is_grad_enabled() or input._node is not None):
            view = function(input, *args, **kwargs)
            if name == "as_strided_":
                share_start(input, view)
            become(input, view)
            input._tangents = view._tangents
        return input

    reshape.__doc__ = f"""In-place version of {name[:-1]}(): the same tensor, with other axes, of the same memory.

    The arguments are those of {name[:-1]}(). Raises RuntimeError for a leaf that requires a gradient while gradients
    are recorded.
    """
    reshape.__name__ = reshape.__qualname__ = name
    parameters = list(inspect.signature(function, eval_str=False).parameters.values())[1:]
    parameter = inspect.Parameter("input", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Tensor")
    reshape.__signature__ = inspect.Signature([parameter, *parameters], return_annotation="Tensor")
    composite(namespace=None, name=name)(reshape)


def _transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    return ops.transpose(input, dim0, dim1)


def _swapaxes(input: Tensor, axis0: int, axis1: int) -> Tensor:
    return ops.transpose(input, axis0, axis1)


def _unsqueeze(input: Tensor, dim: int) -> Tensor:
    return ops.unsqueeze(input, dim)


def _t(input: Tensor) -> Tensor:
    if input._array.ndim > 2:
        raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {input._array.ndim}D")
    return shapes.t(input)


_RESHAPED: dict[str, Callable[..., Any]] = {
    "t_": _t,
    "transpose_": _transpose,
    "swapaxes_": _swapaxes,
    "swapdims_": _transpose,
    "squeeze_": shapes.squeeze,
    "unsqueeze_": _unsqueeze,
    "as_strided_": as_strided,
}
for _name, _function in _RESHAPED.items():
    _in_place(_name, _function)


@composite(namespace=None, name="copy_")
def copy_(input: Tensor, other: Tensor, non_blocking: bool = False) -> Tensor:
    """Write the elements of another tensor, broadcast and converted, into this one.

    Raises RuntimeError if the other cannot be broadcast to the tensor's shape, and the errors of all in-place
    operations.

    >>> import adjoint
    >>> adjoint.zeros(2, 2).copy_(adjoint.tensor([1, 2]))
    tensor([[1., 2.],
            [1., 2.]])
    """
    return _copy.inplace((input, other), {})


_copy = operations["copy"]


@composite(namespace=None, name="resize_")
def resize_(input: Tensor, *sizes: Any, memory_format: Any = None) -> Tensor:
    """Give the tensor another, row-major shape in place, in the same memory if that is large enough, else in new
    memory.

    Existing elements keep their order; new elements have arbitrary values.

    Raises RuntimeError for a tensor that requires grad.

    >>> import adjoint
    >>> adjoint.arange(6).resize_(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    if needs_grad(input) and not current().inference:
        raise RuntimeError("cannot resize variables that require grad")
    if current().dual_stack and registry.has_tangent(input):
        raise RuntimeError("cannot resize variables that has a forward grad")
    _check_changeable(input, "resize_")
    array, shape = input._array, check_shape("resize_", sizes)
    if array.shape == shape:
        return input
    n = prod(shape)
    memory, start = memory_of(array)
    elements = memory[start : start + n * array.itemsize]
    if elements.nbytes < n * array.itemsize:
        larger = numpy.empty(n, array.dtype)
        larger.view(numpy.uint8)[: elements.nbytes] = elements
        input._array = larger.reshape(shape)
    else:
        input._array = elements.view(array.dtype).reshape(shape)
    bump_version(input)
    return input


@composite(namespace=None, name="resize_as_")
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """resize_() to the shape of another tensor.

    New elements have no particular values. Raises RuntimeError for a tensor that requires a gradient.

    >>> import adjoint
    >>> adjoint.ones(4).resize_as_(adjoint.ones(2, 2)).shape
    adjoint.Size([2, 2])
    """
    return resize_(input, tuple(the_template._array.shape))


@composite(namespace=None, name="set_")
def set_(
    input: Tensor,
    source: Any = None,
    storage_offset: int | None = None,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """Let the tensor refer to the memory of another tensor or storage, read with a size and strides if these are given.

    Raises RuntimeError for a leaf that requires grad, another dtype, and places outside the memory.
    """
    is_tracked = isinstance(source, TensorBase) and needs_grad(source)
    _check_changeable(input, "set_")
    if is_grad_enabled():
        errors.check_in_place(input, is_tracked)
    input._array = place(source, storage_offset, size, stride, input)
    input._view = None
    # nodes that saved the earlier memory are not differentiated by the new one
    input._accumulator = None
    bump_version(input)
    node = unknown_node(
        input, (source, input) if is_tracked else (input,), RuntimeError("derivative for set_ is not implemented")
    )
    if node is not None:
        rebase(input, node)
    return input


@composite(namespace=None)
def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """True if both tensors are the same elements of the same memory, in the same order.

    Values do not matter.

    >>> import adjoint
    >>> adjoint.ones(2).is_set_to(adjoint.ones(2))
    False
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(errors.must_be_tensor("is_set_to", "tensor", 0, tensor))
    a, b = input._array, tensor._array
    return a is b or (address(a) == address(b) and a.shape == b.shape and a.strides == b.strides)


# copies with a memory layout ------------------------------------------------------------------------------------------


@composite()
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy that is part of the graph; memory_format: how its axes lie in memory (default: as the tensor's do).

    >>> import adjoint
    >>> adjoint.zeros(2, 3).t().clone(memory_format=adjoint.contiguous_format).stride()
    (2, 1)
    """
    layout = preserve_format if memory_format is None else as_memory_format(memory_format, "clone")
    if layout is preserve_format:
        return ops.clone(input)
    return ops.clone_with_strides(input, strides_in(input._array.shape, layout))


@composite(namespace=None)
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if its axes have the requested layout in memory, else a copy that has it.

    memory_format: None or adjoint.contiguous_format for row-major order, or a channels_last format. A copy is a
    recorded operation.

    >>> import adjoint
    >>> adjoint.tensor([[1, 2], [3, 4]]).T.contiguous().stride()
    (2, 1)
    """
    if is_contiguous(input, memory_format) or memory_format is preserve_format:
        return input
    strides = None if memory_format is None else strides_in(input._array.shape, memory_format)
    return ops.clone_with_strides(input, strides)


@composite(namespace=None)
def is_contiguous(input: Tensor, memory_format: Any = None) -> bool:
    """True if the elements lie in memory row by row without gaps, or in the order of the given format.

    memory_format: adjoint.contiguous_format, or one of the formats of channels.

    >>> import adjoint
    >>> adjoint.ones(2, 3).T.is_contiguous()
    False
    """
    array = input._array
    if memory_format is None or as_memory_format(memory_format, "is_contiguous").order is None:
        return hasattr(array, "flags") and bool(array.flags.c_contiguous)
    return lies_so(array.shape, input.stride(), memory_format)


def slice_along(input: Tensor, dim: int, start: int | None, end: int | None, step: int) -> Tensor:
    """The view input[start:end:step] along one axis."""
    before = (slice(None),) * normalize_dim(dim, input.ndim)
    return indexing.getitem(input, (*before, slice(start, end, step)))


# writing into a copy --------------------------------------------------------------------------------------------------


def _scatter(input: Tensor, src: Tensor, view_of: Callable[[Tensor], Tensor], node: str) -> Tensor:
    """A copy with src in place of a view of it. Raises RuntimeError for a src of another shape."""
    result = ops.clone_with_strides(input, own_strides(input._array))
    part = view_of(result)
    if part._array.shape != src._array.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. src size = "
            f"{list(src._array.shape)}, slice size = {list(part._array.shape)}"
        )
    part.copy_(src)
    if isinstance(result._node, CopySlices):
        result._node.label = node
    return result


@composite()
def select_scatter(input: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy with src in place of one slice along an axis: select() written to, out of place.

    Raises RuntimeError unless src has the shape of the slice.

    >>> import adjoint
    >>> adjoint.zeros(2, 2).select_scatter(adjoint.ones(2), 0, 1)
    tensor([[0., 0.],
            [1., 1.]])
    """
    return _scatter(input, src, lambda whole: indexing.select(whole, dim, index), "SelectScatterBackward0")


@composite()
@takes_out
def slice_scatter(
    input: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy with src in place of input[start:end:step] along an axis. Raises RuntimeError unless src has its shape.

    Linear in both: of the cotangent, input gets the part outside of the slice, and src the part inside.

    >>> import adjoint
    >>> adjoint.slice_scatter(adjoint.zeros(4), adjoint.ones(2), 0, 1, 3)
    tensor([0., 1., 1., 0.])
    """
    return _scatter(input, src, lambda whole: slice_along(whole, dim, start, end, step), "SliceScatterBackward0")


@composite()
def diagonal_scatter(input: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy with src in place of a diagonal. Raises RuntimeError unless src has the shape that diagonal() gives.

    >>> import adjoint
    >>> adjoint.zeros(2, 2).diagonal_scatter(adjoint.ones(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return _scatter(input, src, lambda whole: ops.diagonal(whole, offset, dim1, dim2), "DiagonalScatterBackward0")


@composite()
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy with src written into the view that as_strided() gives.

    Elements of the input that overlap by steps other than zero do so in the copy too.

    Raises RuntimeError unless src has the given size, or if elements of the view overlap.

    >>> import adjoint
    >>> adjoint.as_strided_scatter(adjoint.zeros(4), adjoint.ones(2), (2,), (2,))
    tensor([1., 0., 1., 0.])
    """
    offset = None if storage_offset is None else storage_offset - input.storage_offset()
    view_of, node = lambda whole: as_strided(whole, size, stride, offset), "AsStridedScatterBackward0"
    if type(input._array) is not numpy.ndarray or 0 in input.stride() or not elements_meet(input._array):
        return _scatter(input, src, view_of, node)
    # the memory itself is copied, so that overlapping elements overlap in the result
    length = 1 + sum((n - 1) * step for n, step in zip(input._array.shape, input.stride(), strict=True))
    memory = as_strided(input, (length,), (1,))
    return as_strided(_scatter(memory, src, view_of, node), input.shape, input.stride())


# matrices -------------------------------------------------------------------------------------------------------------


@composite()
def adjoint(input: Tensor) -> Tensor:
    """The matrices (the last two axes) transposed, and conjugated if complex. For real matrices a view.

    Raises RuntimeError for vectors.

    >>> import adjoint
    >>> adjoint.tensor([[1, 2j]]).adjoint()
    tensor([[1.-0.j],
            [0.-2.j]])
    """
    if input._array.ndim == 1:
        raise RuntimeError(
            f"tensor.adjoint() is only supported on matrices or batches of matrices. Got {input._array.ndim}-D tensor."
        )
    return input.mH


@composite(namespace=None, name="fill_diagonal_")
def fill_diagonal_(input: Tensor, fill_value: complex, wrap: bool = False) -> Tensor:
    """Write a number where all indices are equal; with wrap, a tall matrix's diagonal begins again at the top.

    Raises RuntimeError for fewer than two axes, and for more than two of different lengths.

    >>> import adjoint
    >>> adjoint.zeros(2, 3).fill_diagonal_(4)
    tensor([[4., 0., 0.],
            [0., 4., 0.]])
    """
    shape = tuple(input._array.shape)
    if len(shape) < 2:
        raise RuntimeError("dimensions must larger than 1")
    if len(shape) > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    diagonal = input
    while diagonal.ndim > 1:
        diagonal = ops.diagonal(diagonal, 0, 0, -1)
    diagonal.fill_(fill_value)
    rows, columns = shape[:2]
    if wrap and len(shape) == 2:
        # a row of the matrix is skipped between two runs of the diagonal
        for start in range(columns + 1, rows, columns + 1):
            ops.diagonal(splitting.narrow(input, 0, start, rows - start)).fill_(fill_value)
    return input


@composite(namespace=None)
def dim_order(input: Tensor, *, ambiguity_check: bool = False) -> tuple[int, ...]:
    """The axes in memory order, from the largest stride to the smallest.

    ambiguity_check: raise RuntimeError if axes of length one allow more than one order.

    >>> import adjoint
    >>> adjoint.empty_permuted((2, 3, 5), (0, 2, 1)).dim_order()
    (0, 2, 1)
    """
    strides, shape = input.stride(), tuple(input._array.shape)
    if ambiguity_check and (1 in shape or len(set(strides)) < len(strides)):
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    return tuple(sorted(range(len(shape)), key=lambda axis: -strides[axis]))
