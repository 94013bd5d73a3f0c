"""Copies of views: row-major tensors of their own with the elements of a view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adjoint.functions import index as indexing
from adjoint.functions import shape as shapes
from adjoint.functions import splitting, views
from adjoint.functions.arguments import Dims
from adjoint.functions.composite import composite, describe, ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_public = composite(method=False)

_COPY = """A copy of what {view}() gives a view of.

    Arguments, shapes, errors and derivative are those of {view}(); the result has
    memory of its own.
    """


def _copy(view: Tensor, out: Tensor | None) -> Tensor:
    """A row-major copy of a view, written to `out` if that is given."""
    copied = ops.clone_with_strides(view)
    if out is None:
        return copied
    ops.clone(copied, out=out)
    return out


def _copies(node: str, pieces: Sequence[Tensor], out: Sequence[Tensor] | None) -> Any:
    """Row-major copies of several views, which share one node of the graph; None if they are written to `out`."""
    copied = ops.join_results(tuple(map(ops.clone_with_strides, pieces)), node)
    if out is None:
        return copied
    for target, value in zip(out, copied, strict=True):
        ops.clone(value, out=target)
    return None


@_public
@describe(_COPY, view="alias")
def alias_copy(input: Tensor, *, out: Any = None) -> Tensor:
    return _copy(ops.getitem_alias(input, (...,)), out)


@_public
@describe(_COPY, view="as_strided")
def as_strided_copy(
    input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None, *, out: Any = None
) -> Tensor:
    return _copy(views.as_strided(input, size, stride, storage_offset), out)


@_public
@describe(_COPY, view="detach")
def detach_copy(input: Tensor, *, out: Any = None) -> Tensor:
    return _copy(input.detach(), out)


@_public
@describe(_COPY, view="diagonal")
def diagonal_copy(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1, *, out: Any = None) -> Tensor:
    return _copy(ops.diagonal(input, offset, dim1, dim2), out)


@_public
@describe(_COPY, view="expand")
def expand_copy(input: Tensor, size: Sequence[int], *, implicit: bool = False, out: Any = None) -> Tensor:
    return _copy(ops.expand(input, tuple(size)), out)


@composite()
@describe(_COPY, view="narrow")
def narrow_copy(input: Tensor, dim: int, start: int | Tensor, length: int, *, out: Any = None) -> Tensor:
    return _copy(splitting.narrow(input, dim, start, length), out)


@_public
@describe(_COPY, view="permute")
def permute_copy(input: Tensor, dims: Sequence[int], *, out: Any = None) -> Tensor:
    return _copy(shapes.permute(input, dims), out)


@_public
@describe(_COPY, view="select")
def select_copy(input: Tensor, dim: int, index: int, *, out: Any = None) -> Tensor:
    return _copy(indexing.select(input, dim, index), out)


@_public
@describe(_COPY, view="slice")
def slice_copy(
    input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1, *, out: Any = None
) -> Tensor:
    return _copy(views.slice_along(input, dim, start, end, step), out)


@_public
@describe(_COPY, view="squeeze")
def squeeze_copy(input: Tensor, dim: Dims | None = None, *, out: Any = None) -> Tensor:
    return _copy(shapes.squeeze(input, dim), out)


@_public
@describe(_COPY, view="t")
def t_copy(input: Tensor, *, out: Any = None) -> Tensor:
    return _copy(shapes.t(input), out)


@_public
@describe(_COPY, view="transpose")
def transpose_copy(input: Tensor, dim0: int, dim1: int, *, out: Any = None) -> Tensor:
    return _copy(ops.transpose(input, dim0, dim1), out)


@_public
@describe(_COPY, view="unfold")
def unfold_copy(input: Tensor, dimension: int, size: int, step: int, *, out: Any = None) -> Tensor:
    return _copy(views.unfold(input, dimension, size, step), out)


@_public
@describe(_COPY, view="unsqueeze")
def unsqueeze_copy(input: Tensor, dim: int, *, out: Any = None) -> Tensor:
    return _copy(ops.unsqueeze(input, dim), out)


@_public
@describe(_COPY, view="view")
def view_copy(input: Tensor, size: Any = None, dtype: Any = None, *, out: Any = None) -> Tensor:
    if isinstance(size, (tuple, list)):
        return _copy(ops.reshape(input, tuple(size)), out)  # a shape that no view of this memory has is copied as well
    if size is None:
        return _copy(views.view(input, dtype=dtype), out)
    return _copy(views.view(input, size, dtype=dtype), out)


@_public
@describe(_COPY, view="view_as_complex")
def view_as_complex_copy(input: Tensor, *, out: Any = None) -> Tensor:
    return _copy(ops.view_as_complex(input), out)


@_public
@describe(_COPY, view="view_as_real")
def view_as_real_copy(input: Tensor, *, out: Any = None) -> Tensor:
    return _copy(ops.view_as_real(input), out)


@_public
@describe(_COPY, view="split")
def split_copy(input: Tensor, split_size: int | Sequence[int], dim: int = 0, *, out: Any = None) -> tuple[Tensor, ...]:
    return _copies("SplitBackward0_copy", splitting.split(input, split_size, dim), out)


@_public
@describe(_COPY, view="split_with_sizes")
def split_with_sizes_copy(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0, *, out: Any = None
) -> tuple[Tensor, ...]:
    return _copies("SplitWithSizesBackward0_copy", ops.split_with_sizes(input, tuple(split_sizes), dim), out)


@_public
@describe(_COPY, view="unbind")
def unbind_copy(input: Tensor, dim: int = 0, *, out: Any = None) -> tuple[Tensor, ...]:
    return _copies("UnbindBackward0_copy", ops.unbind(input, dim), out)
