"""Shapes: every function against NumPy, views that share memory, gradients of composites, torch's errors.

test_table.py tests the rules themselves by their declarations.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import Tensor

A = np.arange(24.0).reshape(2, 3, 4)
M = np.arange(6.0).reshape(2, 3)
V = np.arange(1.0, 4.0)
Case = tuple[np.ndarray[Any, Any], Callable[[Tensor], Tensor], Callable[[Any], Any]]

VIEWS: dict[str, Case] = {
    "reshape": (A, lambda x: x.reshape(4, -1), lambda a: a.reshape(4, 6)),
    "reshape-tuple": (A, lambda x: x.reshape((4, 6)), lambda a: a.reshape(4, 6)),
    "reshape-0d": (np.array(2.0), lambda x: x.reshape(1, 1), lambda a: a.reshape(1, 1)),
    "view": (A, lambda x: x.view(-1), lambda a: a.reshape(-1)),
    "view_as": (M, lambda x: x.view_as(adjoint.zeros(3, 2)), lambda a: a.reshape(3, 2)),
    "reshape_as": (M, lambda x: x.reshape_as(adjoint.zeros(3, 2)), lambda a: a.reshape(3, 2)),
    "flatten": (A, lambda x: x.flatten(1), lambda a: a.reshape(2, 12)),
    "flatten-middle": (A, lambda x: x.flatten(0, -2), lambda a: a.reshape(6, 4)),
    "unflatten": (A, lambda x: x.unflatten(-1, (2, -1)), lambda a: a.reshape(2, 3, 2, 2)),
    "broadcast_to-numbers": (V, lambda x: x.broadcast_to(2, 3), lambda a: np.broadcast_to(a, (2, 3))),
    "ravel": (A, lambda x: x.ravel(), np.ravel),
    "squeeze": (A[:1], lambda x: x.squeeze(), np.squeeze),
    "squeeze-dim": (A[:1], lambda x: x.squeeze(0), lambda a: a[0]),
    "squeeze-other": (A[:1], lambda x: x.squeeze(1), lambda a: a),
    "squeeze-dims": (A[:1, :, :1], lambda x: x.squeeze((0, 1, -1)), lambda a: a[0, :, 0]),
    "unsqueeze": (A, lambda x: x.unsqueeze(-2), lambda a: a[:, :, None]),
    "atleast_1d": (np.array(2.0), adjoint.atleast_1d, np.atleast_1d),
    "atleast_2d": (V, adjoint.atleast_2d, np.atleast_2d),
    "atleast_3d": (V, adjoint.atleast_3d, np.atleast_3d),
    "atleast_3d-matrix": (M, adjoint.atleast_3d, np.atleast_3d),
    "permute": (A, lambda x: x.permute(2, 0, 1), lambda a: a.transpose(2, 0, 1)),
    "permute-tuple": (A, lambda x: adjoint.permute(x, (-1, 0, 1)), lambda a: a.transpose(2, 0, 1)),
    "transpose": (A, lambda x: x.transpose(0, -1), lambda a: a.swapaxes(0, 2)),
    "swapaxes": (A, lambda x: x.swapaxes(0, 1), lambda a: a.swapaxes(0, 1)),
    "swapdims": (A, lambda x: x.swapdims(0, 1), lambda a: a.swapaxes(0, 1)),
    "t": (M, lambda x: x.t(), np.transpose),
    "t-vector": (V, lambda x: x.t(), np.transpose),
    "T": (M, lambda x: x.T, np.transpose),
    "mT": (A, lambda x: x.mT, np.matrix_transpose),
    "movedim": (A, lambda x: x.movedim(0, -1), lambda a: np.moveaxis(a, 0, -1)),
    "movedim-several": (A, lambda x: x.movedim((0, 1), (2, 0)), lambda a: np.moveaxis(a, (0, 1), (2, 0))),
    "moveaxis": (A, lambda x: x.moveaxis((2, 0), (0, 1)), lambda a: np.moveaxis(a, (2, 0), (0, 1))),
    "expand": (M, lambda x: x.expand(4, -1, 3), lambda a: np.broadcast_to(a, (4, 2, 3))),
    "expand_as": (V, lambda x: x.expand_as(adjoint.zeros(2, 3)), lambda a: np.broadcast_to(a, (2, 3))),
    "broadcast_to": (V, lambda x: adjoint.broadcast_to(x, (2, 3)), lambda a: np.broadcast_to(a, (2, 3))),
    "narrow": (A, lambda x: x.narrow(1, -2, 2), lambda a: a[:, 1:3]),
    "diagonal": (A, lambda x: x.diagonal(), np.diagonal),
    "diagonal-offset": (A, lambda x: x.diagonal(1, -1, 0), lambda a: np.diagonal(a, 1, 2, 0)),
}

COPIES: dict[str, Case] = {
    "reshape-strided": (M.T, lambda x: x.reshape(6), lambda a: a.reshape(6)),
    "ravel-strided": (M.T, lambda x: x.ravel(), np.ravel),
    "repeat": (M, lambda x: x.repeat(2, 1, 3), lambda a: np.tile(a, (2, 1, 3))),
    "repeat-none": (M, lambda x: x.repeat(0, 1), lambda a: np.tile(a, (0, 1))),
    "tile": (M, lambda x: x.tile(2), lambda a: np.tile(a, 2)),
    "tile-names": (V, lambda x: adjoint.tile(input=x, dims=(2, 3)), lambda a: np.tile(a, (2, 3))),
    "sum_to_size-name": (M, lambda x: x.sum_to_size(size=(2, 1)), lambda a: a.sum(1, keepdims=True)),
    "tile-tuple": (V, lambda x: x.tile((2, 3)), lambda a: np.tile(a, (2, 3))),
    "repeat_interleave": (M, lambda x: x.repeat_interleave(2), lambda a: np.repeat(a, 2)),
    "repeat_interleave-dim": (M, lambda x: x.repeat_interleave(2, 1), lambda a: np.repeat(a, 2, 1)),
    "repeat_interleave-each": (
        M,
        lambda x: x.repeat_interleave(adjoint.tensor([2, 0]), dim=0),
        lambda a: np.repeat(a, [2, 0], 0),
    ),
    "sum_to_size": (A, lambda x: x.sum_to_size(3, 1), lambda a: a.sum(0).sum(-1, keepdims=True)),
    "flip": (A, lambda x: x.flip(0, -1), lambda a: np.flip(a, (0, 2))),
    "flip-none": (A, lambda x: x.flip(()), lambda a: a),
    "fliplr": (M, lambda x: x.fliplr(), np.fliplr),
    "flipud": (M, lambda x: x.flipud(), np.flipud),
    "roll": (M, lambda x: x.roll(2), lambda a: np.roll(a, 2)),
    "roll-dim": (M, lambda x: x.roll(-1, 1), lambda a: np.roll(a, -1, 1)),
    "roll-dims": (A, lambda x: x.roll((1, 3), (0, -1)), lambda a: np.roll(a, (1, 3), (0, 2))),
    "roll-same": (M, lambda x: x.roll((1, 1), (1, 1)), lambda a: np.roll(a, 2, 1)),
    "rot90": (A, lambda x: x.rot90(), np.rot90),
    "rot90-back": (A, lambda x: x.rot90(-1, (1, 2)), lambda a: np.rot90(a, -1, (1, 2))),
    "rot90-twice": (A, lambda x: x.rot90(2, (2, 0)), lambda a: np.rot90(a, 2, (2, 0))),
    "rot90-whole": (M, lambda x: x.rot90(4), lambda a: a),
    "diag-matrix": (M, lambda x: x.diag(1), lambda a: np.diag(a, 1)),
    "diag-vector": (V, lambda x: x.diag(-1), lambda a: np.diag(a, -1)),
    "diagflat": (M, lambda x: x.diagflat(), np.diagflat),
    "diag_embed": (V, lambda x: x.diag_embed(2), lambda a: np.diag(a, 2)),
    "tril": (A, lambda x: x.tril(-1), lambda a: np.tril(a, -1)),
    "triu": (A, lambda x: x.triu(1), lambda a: np.triu(a, 1)),
    "contiguous": (M.T, lambda x: x.contiguous(), lambda a: a),
    "cat": (M, lambda x: adjoint.cat([x, 2 * x], -1), lambda a: np.concatenate([a, 2 * a], 1)),
    "cat-empty": (M, lambda x: adjoint.cat([adjoint.zeros(0), x]), lambda a: a),
    "concat": (M, lambda x: adjoint.concat((x, x)), lambda a: np.concatenate([a, a])),
    "concatenate": (M, lambda x: adjoint.concatenate((x, x), axis=1), lambda a: np.concatenate([a, a], 1)),
    "stack": (M, lambda x: adjoint.stack([x, -x], -1), lambda a: np.stack([a, -a], -1)),
    "hstack": (M, lambda x: adjoint.hstack([x, x]), lambda a: np.hstack([a, a])),
    "hstack-empty": (M, lambda x: adjoint.hstack([x, adjoint.zeros(0).double(), x]), lambda a: np.hstack([a, a])),
    "view_copy": (M, lambda x: adjoint.view_copy(x.T, (6,)), lambda a: a.T.reshape(6)),
    "hstack-vectors": (V, lambda x: adjoint.hstack([x, x]), lambda a: np.hstack([a, a])),
    "vstack": (V, lambda x: adjoint.vstack([x, x]), lambda a: np.vstack([a, a])),
    "row_stack": (V, lambda x: adjoint.row_stack([x, x]), lambda a: np.vstack([a, a])),
    "dstack": (V, lambda x: adjoint.dstack([x, x]), lambda a: np.dstack([a, a])),
    "column_stack": (V, lambda x: adjoint.column_stack([x, x]), lambda a: np.column_stack([a, a])),
}


def check(case: Case, view: bool) -> None:
    array, function, reference = case
    x = adjoint.from_numpy(array).requires_grad_()
    y, expected = function(x), np.asarray(reference(array))
    assert y.shape == expected.shape
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    assert np.may_share_memory(y.detach().numpy(), array) is view
    weights = np.random.default_rng(0).standard_normal(expected.shape)
    (g,) = adjoint.autograd.grad(y, x, adjoint.from_numpy(weights), create_graph=True)
    np.testing.assert_allclose(g.detach().numpy(), slope(array, reference, weights), atol=1e-7)


def slope(array: np.ndarray[Any, Any], reference: Callable[[Any], Any], weights: np.ndarray[Any, Any]) -> Any:
    """The gradient of the weighted sum of a linear function, from its values at unit arrays."""
    result = np.zeros(array.shape)
    for index in np.ndindex(array.shape):
        unit = np.zeros(array.shape)
        unit[index] = 1
        result[index] = (np.asarray(reference(unit)) * weights).sum()
    return result


@pytest.mark.parametrize("name", VIEWS)
def test_view(name: str) -> None:
    check(VIEWS[name], view=True)


@pytest.mark.parametrize("name", COPIES)
def test_copy(name: str) -> None:
    check(COPIES[name], view=False)


SPLITS: dict[str, tuple[Callable[[Tensor], Any], Callable[[Any], Any]]] = {
    "split": (lambda x: x.split(2, 1), lambda a: np.split(a, [2], 1)),
    "split-sizes": (lambda x: adjoint.split(x, [1, 0, 2], 1), lambda a: np.split(a, [1, 1], 1)),
    "split-one": (lambda x: x.split(9), lambda a: [a]),
    "split_with_sizes": (lambda x: x.split_with_sizes((3, 1), -1), lambda a: np.split(a, [3], -1)),
    "chunk": (lambda x: x.chunk(3, 2), lambda a: np.split(a, [2], 2)),
    "unbind": (lambda x: x.unbind(), list),
    "unbind-last": (lambda x: adjoint.unbind(x, -1), lambda a: list(np.moveaxis(a, -1, 0))),
    "tensor_split": (lambda x: x.tensor_split(3, -1), lambda a: np.array_split(a, 3, -1)),
    "tensor_split-places": (lambda x: x.tensor_split((1, 3), -1), lambda a: np.split(a, [1, 3], -1)),
    "tensor_split-tensor": (lambda x: x.tensor_split(adjoint.tensor(2), -1), lambda a: np.array_split(a, 2, -1)),
    "hsplit": (lambda x: x.hsplit(3), lambda a: np.hsplit(a, 3)),
    "hsplit-places": (lambda x: x.hsplit(1, 2), lambda a: np.hsplit(a, [1, 2])),
    "hsplit-name": (lambda x: adjoint.hsplit(x, indices=[1]), lambda a: np.hsplit(a, [1])),
    "tensor_split-name": (
        lambda x: adjoint.tensor_split(x, tensor_indices_or_sections=adjoint.tensor(2)),
        lambda a: np.array_split(a, 2),
    ),
    "vsplit": (lambda x: x.vsplit([1]), lambda a: np.vsplit(a, [1])),
    "dsplit": (lambda x: adjoint.dsplit(x, 2), lambda a: np.dsplit(a, 2)),
    "iteration": (list, list),
}


@pytest.mark.parametrize("name", SPLITS)
def test_split(name: str) -> None:
    function, reference = SPLITS[name]
    x = adjoint.from_numpy(A.copy()).requires_grad_()
    pieces, expected = function(x), reference(x.detach().numpy())
    assert [p.shape for p in pieces] == [e.shape for e in expected]
    for piece, part in zip(pieces, expected, strict=True):
        np.testing.assert_array_equal(piece.detach().numpy(), part)
        assert piece._base is x or not piece.numel()
    sum((i + 1.0) * (p * p).sum() for i, p in enumerate(pieces)).backward()
    total = np.zeros(A.shape)
    for i, part in enumerate(reference(total)):
        part += i + 1
    np.testing.assert_allclose(x.grad.numpy(), 2 * A * total)


def test_pieces_must_not_be_written_to_while_recording() -> None:
    x = adjoint.ones(4, requires_grad=True) * 1
    first, _ = x.split(2)
    with pytest.raises(RuntimeError, match="Output 0 of Split is a view and is being modified inplace"):
        first.mul_(2)


def test_writing_to_a_view_of_a_view_changes_the_base_and_its_gradient() -> None:
    x = adjoint.ones(2, 3, requires_grad=True)
    y = x * 2
    y.t()[1].unsqueeze(0).mul_(adjoint.tensor([5.0, 7.0]))
    assert y.tolist() == [[2, 10, 2], [2, 14, 2]]
    y.sum().backward()
    assert x.grad.tolist() == [[2, 10, 2], [2, 14, 2]]


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.diagonal(),
        lambda x: x.expand(3, 3).diagonal(),
        lambda x: x[:, :1].expand(3, 1),
        lambda x: x.permute(1, 0).unsqueeze(1).squeeze(1),
        lambda x: x.view(9)[2:5],
    ],
)
def test_views_can_be_written_to(view: Callable[[Tensor], Tensor]) -> None:
    x = adjoint.zeros(3, 3)
    part = view(x)
    part.fill_(7)
    assert (x == 7).sum().item() == part.numel()


def test_an_expanded_tensor_must_not_be_written_to() -> None:
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        adjoint.zeros(3).expand(2, 3).add_(1)


def test_contiguous_gives_the_tensor_itself() -> None:
    x = adjoint.zeros(2, 3)
    assert x.contiguous() is x
    assert x.t().contiguous().is_contiguous()
    assert x.t().contiguous().t().is_contiguous() is False


def test_flatten_of_a_vector_is_the_vector() -> None:
    x = adjoint.zeros(3)
    assert x.flatten() is x


@pytest.mark.parametrize(
    ("function", "node"),
    [
        (lambda x: x.reshape(-1), "ViewBackward0"),
        (lambda x: x.t(), "TBackward0"),
        (lambda x: x.T, "PermuteBackward0"),
        (lambda x: x.mT, "TransposeBackward0"),
        (lambda x: x.expand(2, 2, 3), "ExpandBackward0"),
        (lambda x: x.squeeze(), "SqueezeBackward0"),
        (lambda x: x.squeeze(0), "SqueezeBackward1"),
        (lambda x: x.squeeze((0, 1)), "SqueezeBackward2"),
        (lambda x: x.unsqueeze(0), "UnsqueezeBackward0"),
        (lambda x: adjoint.cat([x, x]), "CatBackward0"),
        (lambda x: adjoint.stack([x, x]), "StackBackward0"),
        (lambda x: x.split(1)[0], "SplitBackward0"),
        (lambda x: x.split([1, 1])[0], "SplitWithSizesBackward0"),
        (lambda x: x.unbind()[0], "UnbindBackward0"),
        (lambda x: x.narrow(0, 0, 1), "SliceBackward0"),
        (lambda x: x.diag_embed(), "DiagEmbedBackward0"),
    ],
)
def test_nodes_have_torchs_names(function: Callable[[Tensor], Tensor], node: str) -> None:
    assert function(adjoint.ones(2, 3, requires_grad=True)).grad_fn.name() == node


X, Z = adjoint.zeros(2, 3), adjoint.tensor(1.0)
ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: X.reshape(4, -1), RuntimeError, "shape '[4, -1]' is invalid for input of size 6"),
    (lambda: X.reshape(4), RuntimeError, "shape '[4]' is invalid for input of size 6"),
    (lambda: X.reshape(-1, -1), RuntimeError, "only one dimension can be inferred"),
    (lambda: X.reshape(-2, 3), RuntimeError, "invalid shape dimension -2 at index 0 of shape [-2, 3]"),
    (lambda: adjoint.zeros(0, 3).reshape(0, -1), RuntimeError, "cannot reshape tensor of 0 elements into shape"),
    (lambda: X.reshape("a"), TypeError, "must be tuple of ints, but found element of type str"),
    (lambda: X.t().view(6), RuntimeError, "view size is not compatible with input tensor's size and stride"),
    (lambda: X.flatten(1, 0), RuntimeError, "flatten() has invalid args: start_dim cannot come after end_dim"),
    (lambda: X.unflatten(1, (2, 2)), RuntimeError, "unflatten: Provided sizes [2, 2] don't multiply up to the size"),
    (lambda: X.permute(1, 1), RuntimeError, "permute(): duplicate dims are not allowed."),
    (lambda: X.permute(1), RuntimeError, "input.dim() = 2 is not equal to len(dims) = 1"),
    (lambda: X.permute(0, 5), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
    (lambda: adjoint.zeros(1, 1, 1).t(), RuntimeError, "t() expects a tensor with <= 2 dimensions, but self is 3D"),
    (lambda: X.transpose(0, 5), IndexError, "Dimension out of range (expected to be in range of [-2, 1], but got 5)"),
    (lambda: X.unsqueeze(3), IndexError, "Dimension out of range (expected to be in range of [-3, 2], but got 3)"),
    (lambda: X.movedim((0, 1), (1,)), RuntimeError, "movedim: Invalid source or destination dims: source"),
    (lambda: X.movedim((0, 0), (1, 0)), RuntimeError, "movedim: repeated dim in `source` ([0, 0])"),
    (lambda: X.expand(4, 3), RuntimeError, "The expanded size of the tensor (4) must match the existing size (2)"),
    (lambda: X.expand(3), RuntimeError, "the number of sizes provided (1) must be greater or equal"),
    (lambda: X.expand(-1, 2, 3), RuntimeError, "isn't allowed in a leading, non-existing dimension 0"),
    (lambda: X.repeat(2), RuntimeError, "Number of dimensions of repeat dims can not be smaller"),
    (lambda: X.repeat(-1, 2), RuntimeError, "Trying to create tensor with negative dimension -2: [-2, 6]"),
    (lambda: X.repeat_interleave(-1), RuntimeError, "Repeats must be non-negative"),
    (lambda: X.repeat_interleave(adjoint.tensor([1, 2, 3]), 0), RuntimeError, "repeats.size(0) = 3 and input.size"),
    (lambda: X.sum_to_size(2), RuntimeError, "size {[2]} is not expandable to size {[2, 3]}."),
    (lambda: adjoint.cat([]), ValueError, "expected a non-empty list of Tensors"),
    (lambda: adjoint.cat(X), TypeError, "must be tuple of Tensors, not Tensor"),
    (lambda: adjoint.cat([Z, Z]), RuntimeError, "zero-dimensional tensor (at position 0) cannot be concatenated"),
    (lambda: adjoint.cat([X, X[0]]), RuntimeError, "Tensors must have same number of dimensions: got 2 and 1"),
    (
        lambda: adjoint.cat([X, adjoint.ones(2, 4)]),
        RuntimeError,
        "Sizes of tensors must match except in dimension 0. Expected size 3 but got size 4 for tensor number 1",
    ),
    (lambda: adjoint.stack([]), RuntimeError, "stack expects a non-empty TensorList"),
    (lambda: adjoint.stack([X, X[0]]), RuntimeError, "stack expects each tensor to be equal size, but got [2, 3] at"),
    (lambda: X.split(0), RuntimeError, "split_size can only be 0 if dimension size is 0, but got dimension size of 2"),
    (lambda: X.split(-1), RuntimeError, "split expects split_size be non-negative, but got split_size=-1"),
    (lambda: X.split([1, 2]), RuntimeError, "split_with_sizes expects split_sizes to sum exactly to 2"),
    (lambda: X.split([-1, 3]), RuntimeError, "have only non-negative entries, but got split_sizes=[-1, 3]"),
    (lambda: Z.split(1), RuntimeError, "split expects at least a 1-dimensional tensor"),
    (lambda: X.split(1.5), TypeError, "must be tuple of ints, not float"),
    (lambda: X.chunk(0), RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0"),
    (lambda: Z.unbind(), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
    (lambda: X.tensor_split(0), RuntimeError, "number of sections must be larger than 0, got 0"),
    (lambda: X.hsplit(), TypeError, 'hsplit() missing 1 required positional arguments: "indices_or_sections"'),
    (lambda: X.hsplit(2), RuntimeError, "is not divisible by the split_size 2!"),
    (lambda: X.narrow(1, 2, 2), RuntimeError, "start (2) + length (2) exceeds dimension size (3)."),
    (lambda: X.narrow(1, 5, 0), IndexError, "start out of range (expected to be in range of [-3, 3], but got 5)"),
    (lambda: X.narrow(1, 0, -1), RuntimeError, "narrow(): length must be non-negative."),
    (lambda: X.flip(0, 0), RuntimeError, "dim 0 appears multiple times in the list of dims"),
    (lambda: X[0].fliplr(), RuntimeError, "Input must be >= 2-d."),
    (lambda: X.roll((1, 2), 0), RuntimeError, "shifts and dimensions must align. shifts: 2, dims:1"),
    (lambda: X.diagonal(0, 0, 0), RuntimeError, "diagonal dimensions cannot be identical 0, 0"),
    (lambda: X[0].tril(), RuntimeError, "tril: input tensor must have at least 2 dimensions"),
    (lambda: Z.diag(), RuntimeError, "diag(): Supports 1D or 2D tensors. Got 0D"),
    (lambda: X.diag_embed(0, 1, 1), RuntimeError, "diagonal dimensions cannot be identical 1, 1"),
]


@pytest.mark.parametrize(("function", "kind", "message"), ERRORS, ids=[m[:40] for _, _, m in ERRORS])
def test_errors_are_torchs(function: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as caught:
        function()
    assert message in str(caught.value)


def test_cat_promotes() -> None:
    assert adjoint.cat([adjoint.ones(2), adjoint.ones(2, dtype=adjoint.int64)]).dtype is adjoint.float32
    y = adjoint.ones(2, requires_grad=True)
    both = adjoint.cat([y, adjoint.ones(1, dtype=adjoint.complex64)])
    (both * 1j).abs().sum().backward()
    assert y.grad.dtype is adjoint.float32


def test_chunks_of_nothing() -> None:
    assert [tuple(p.shape) for p in adjoint.zeros(0).chunk(3)] == [(0,)] * 3
    assert [tuple(p.shape) for p in adjoint.zeros(0).split(2)] == [(0,)]


def test_arguments_by_torchs_names() -> None:
    x = adjoint.tensor(A)
    assert x.permute(dims=(2, 0, 1)).shape == adjoint.permute(x, dims=(2, 0, 1)).shape == (4, 2, 3)
    pieces = x.split(split_size=3, dim=2), adjoint.split(x, split_size_or_sections=[3, 1], dim=2)
    assert [[piece.shape[2] for piece in several] for several in pieces] == [[3, 1], [3, 1]]


def test_sum_to_no_axes_is_a_new_tensor() -> None:
    x = adjoint.tensor(1.0)
    x.sum_to_size(()).add_(1)
    assert x.item() == 1 and adjoint.ones(2, 3).sum_to_size(()).item() == 6
    assert adjoint.tensor(True).sum_to_size(()).dtype is adjoint.int64


def test_integers_wrap_in_margins() -> None:
    assert adjoint.constant_pad_nd(adjoint.ones(1, dtype=adjoint.uint8), (1, 0), -2).tolist() == [254, 1]


@pytest.mark.parametrize("dtype", [adjoint.bool, adjoint.int8, adjoint.float32])
def test_numbers_of_repetitions_are_int32_or_int64(dtype: adjoint.dtype) -> None:
    x, numbers = adjoint.ones(3), adjoint.tensor([1, 0, 1])
    assert x.repeat_interleave(numbers.int(), 0).shape == (2,)
    assert adjoint.repeat_interleave(repeats=numbers).tolist() == [0, 2]
    for repeat in (lambda n: x.repeat_interleave(n, 0), adjoint.repeat_interleave):
        with pytest.raises(NotImplementedError, match='"repeat_interleave_cpu" not implemented for'):
            repeat(numbers.to(dtype))


# results whose number of elements overflows --------------------------------------------------------------------------

HUGE = {
    "repeat": lambda x, n: x.repeat(n),
    "repeat two axes": lambda x, n: x.repeat(2, n),
    "tile": lambda x, n: x.tile(n),
    "repeat_interleave": lambda x, n: x.repeat_interleave(n),
    "repeat_interleave along an axis": lambda x, n: x[None].repeat_interleave(n, 1),
    "repeat_interleave by numbers": lambda x, n: x.repeat_interleave(adjoint.full((len(x),), n)),
    "numbers alone": lambda x, n: adjoint.repeat_interleave(adjoint.full((len(x),), n)),
    "numpy.repeat": lambda x, n: np.repeat(x, n),
    "numpy.repeat along an axis": lambda x, n: np.repeat(x[None], n, 1),
    "numpy.tile": lambda x, n: np.tile(x, n),
    "combinations": lambda x, n: adjoint.combinations(x, n, True),
    "expand": lambda x, n: x[:, None, None].expand(len(x), n, n),
}


@pytest.mark.parametrize("length", [2, 4, 8, 12])
@pytest.mark.parametrize("number", [2**60 + 1, 2**61, 2**61 + 1, 2**62, 2**62 + 2, 2**63 - 1])
@pytest.mark.parametrize("name", HUGE)
def test_results_too_large_to_be_counted_are_refused(name, number, length):
    """The product of sizes may wrap around to a small number. NumPy would then write outside of the memory."""
    with pytest.raises((RuntimeError, MemoryError, ValueError)):
        HUGE[name](adjoint.ones(length), number)


def test_combinations_are_those_of_itertools():
    for n, r, again in itertools.product(range(6), range(1, 8), (False, True)):
        expected = (itertools.combinations_with_replacement if again else itertools.combinations)(range(n), r)
        assert adjoint.combinations(adjoint.arange(n), r, again).tolist() == [list(each) for each in expected]
    assert adjoint.combinations(adjoint.ones(50), 49).shape == (50, 49)
    assert adjoint.combinations(adjoint.ones(3), 10**9).shape == (0, 10**9)
    for n, r in ((100, 50), (60, 30)):
        with pytest.raises((RuntimeError, MemoryError)):
            adjoint.combinations(adjoint.ones(n), r)


@pytest.mark.parametrize("stack", ["hstack", "vstack", "dstack", "column_stack"])
def test_stacks(stack: str) -> None:
    out = adjoint.empty(0)
    parts = [adjoint.ones(2, 2), adjoint.zeros(2, 2)]
    assert getattr(adjoint, stack)(parts, out=out) is out
    np.testing.assert_array_equal(out.numpy(), getattr(np, stack)([p.numpy() for p in parts]))
    with pytest.raises(RuntimeError, match=f"{stack} expects a non-empty TensorList"):
        getattr(adjoint, stack)([])


def test_empty_vectors_among_matrices_get_empty_gradients() -> None:
    hollow, full = adjoint.zeros(0, requires_grad=True), adjoint.zeros(2, 3, requires_grad=True)
    actual = adjoint.autograd.grad(adjoint.cat([hollow, full], 1).sum(), [hollow, full])
    assert [tuple(g.shape) for g in actual] == [(0,), (2, 3)]


def test_pieces_have_rows() -> None:
    x = adjoint.zeros(4, 6)
    assert x.repeat_interleave(2, -1).stride() == (12, 1)
    assert x.index_select(1, adjoint.tensor([0, 3])).stride() == (2, 1)


def test_names_of_tensor_split() -> None:
    x = adjoint.arange(5)
    assert [p.tolist() for p in x.tensor_split(indices=[1])] == [[0], [1, 2, 3, 4]]
    assert [p.tolist() for p in x.tensor_split(sections=2)] == [[0, 1, 2], [3, 4]]
    with pytest.raises(RuntimeError, match="expected total dims >= 2, but got total dims = 1"):
        x.rot90()


def test_adjoint():
    x = adjoint.tensor([[1, 2j]])
    assert x.adjoint().tolist() == adjoint.adjoint(x).tolist() == [[1], [-2j]]
    with pytest.raises(
        RuntimeError,
        match=re.escape("tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."),
    ):
        adjoint.ones(2).adjoint()
