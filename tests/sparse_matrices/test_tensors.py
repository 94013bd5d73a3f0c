"""Sparse tensors: creation, parts, layouts, texts, and torch's errors."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import adjoint
from adjoint import Tensor
from adjoint.functions.sparse_operations import rebuilt

COMPRESSED = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
LAYOUTS = ("sparse_coo", *COMPRESSED)


def as_layout(tensor: Tensor, name: str) -> Tensor:
    return tensor.to_sparse(layout=getattr(adjoint, name), blocksize=(2, 1) if "_bs" in name else None)


def example(requires_grad: bool = False) -> Tensor:
    """A matrix with two values at one position."""
    return adjoint.sparse_coo_tensor(
        [[0, 1, 1, 0], [2, 0, 2, 2]],
        [1.0, 2.0, 3.0, 4.0],
        (2, 3),
        dtype=adjoint.float64,
        requires_grad=requires_grad,
    )


def dense(shape: tuple[int, ...] = (4, 6), seed: int = 0, share: float = 0.4) -> Tensor:
    random = np.random.default_rng(seed)
    return adjoint.from_numpy(random.normal(size=shape) * (random.random(shape) < share))


# creation -------------------------------------------------------------------------------------------------------------


def test_values_in_one_place_are_added() -> None:
    assert example().to_dense().tolist() == [[0, 0, 5], [2, 0, 3]]
    assert not example().is_coalesced()
    merged = example().coalesce()
    assert merged.is_coalesced()
    assert merged.indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    assert merged.values().tolist() == [5, 2, 3]
    assert merged.coalesce() is merged


def test_size_follows_from_indices() -> None:
    assert adjoint.sparse_coo_tensor([[0, 4]], [1, 2]).shape == (5,)
    assert adjoint.sparse_coo_tensor([[0, 4]], adjoint.ones(2, 3)).shape == (5, 3)
    assert adjoint.sparse_csr_tensor([0, 1, 2], [0, 3], [1.0, 2.0]).shape == (2, 4)
    assert adjoint.sparse_csc_tensor([0, 1, 2], [0, 3], [1.0, 2.0]).shape == (4, 2)
    assert adjoint.sparse_bsr_tensor([0, 1, 2], [0, 1], adjoint.ones(2, 2, 3)).shape == (4, 6)
    assert adjoint.sparse_coo_tensor(size=(2, 3)).to_dense().tolist() == [[0] * 3] * 2


def test_options_of_makers() -> None:
    leaf = adjoint.sparse_coo_tensor([[0, 4]], [1, 2], dtype=adjoint.float64, requires_grad=True)
    assert leaf.is_leaf
    assert leaf.requires_grad
    assert leaf.dtype is adjoint.float64
    values = adjoint.ones(2, requires_grad=True)
    tensor = adjoint.sparse_coo_tensor([[0, 4]], values)
    assert type(tensor.grad_fn).__name__ == "SparseCooTensorWithDimsAndTensorsBackward0"
    tensor = adjoint.sparse_csr_tensor([0, 1, 2], [0, 1], values)
    assert type(tensor.grad_fn).__name__ == "SparseCompressedTensorBackward0"
    assert adjoint.sparse_coo_tensor([[0, 4]], [1, 2], is_coalesced=True).is_coalesced()


def test_parts_and_facts() -> None:
    s = dense().to_sparse_csr()
    assert (s.sparse_dim(), s.dense_dim(), s._nnz()) == (2, 0, int((dense() != 0).sum()))
    assert s.layout is adjoint.sparse_csr
    assert s.is_sparse_csr
    assert not s.is_sparse
    expected = scipy.sparse.csr_array(dense().numpy())
    assert s.crow_indices().tolist() == expected.indptr.tolist()
    assert s.col_indices().tolist() == expected.indices.tolist()
    assert s.values().tolist() == expected.data.tolist()
    c = dense().to_sparse_csc()
    expected = scipy.sparse.csc_array(dense().numpy())
    assert c.ccol_indices().tolist() == expected.indptr.tolist()
    assert c.row_indices().tolist() == expected.indices.tolist()
    assert c.values().tolist() == expected.data.tolist()
    assert (dense().sparse_dim(), dense().dense_dim()) == (0, 2)
    assert example().is_sparse
    assert example()._values().tolist() == [1, 2, 3, 4]
    assert example()._indices().tolist() == [[0, 1, 1, 0], [2, 0, 2, 2]]


# conversions between layouts ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("other", LAYOUTS)
def test_conversions_keep_elements(name: str, other: str) -> None:
    first = as_layout(dense(), name)
    assert first.layout is getattr(adjoint, name)
    second = as_layout(first, other) if other != name else first
    assert second.layout is getattr(adjoint, other)
    assert second.to_dense().tolist() == dense().tolist()


@pytest.mark.parametrize("name", COMPRESSED)
def test_batches_and_dense_axes(name: str) -> None:
    one = dense((2, 4, 3), 1, 0.9)
    one[1] = one[0] * 2
    assert as_layout(one, name).to_dense().tolist() == one.tolist()
    hybrid = dense((4, 6, 2), 2)
    tensor = hybrid.to_sparse(layout=getattr(adjoint, name), blocksize=(2, 3) if "_bs" in name else None, dense_dim=1)
    assert tensor.dense_dim() == 1
    assert tensor.to_dense().tolist() == hybrid.tolist()


def test_scipys_blocks() -> None:
    expected = scipy.sparse.bsr_array(dense().numpy(), blocksize=(2, 3)).sorted_indices()
    tensor = dense().to_sparse_bsr((2, 3))
    assert tensor.crow_indices().tolist() == expected.indptr.tolist()
    np.testing.assert_array_equal(tensor.values().numpy(), expected.data)


def test_hybrid_coordinates() -> None:
    x = dense((3, 4, 2), 3)
    s = x.to_sparse(1)
    assert (s.sparse_dim(), s.dense_dim()) == (1, 2)
    assert s.to_dense().tolist() == x.tolist()
    assert s.to_sparse() is s


def test_mask() -> None:
    mask = (dense(seed=1) != 0).double()
    for name in LAYOUTS:
        pattern = as_layout(mask, name)
        expected = (dense() * (pattern.to_dense() != 0)).tolist() if "_bs" not in name else None
        masked = dense().sparse_mask(pattern)
        assert masked.layout is pattern.layout
        if expected is not None:
            assert masked.to_dense().tolist() == expected
            assert dense().to_sparse().sparse_mask(pattern).to_dense().tolist() == expected


# texts, copies --------------------------------------------------------------------------------------------------------


def test_texts() -> None:
    assert repr(example(True)) == (
        "tensor(indices=tensor([[0, 1, 1, 0],\n"
        "                       [2, 0, 2, 2]]),\n"
        "       values=tensor([1., 2., 3., 4.]),\n"
        "       size=(2, 3), nnz=4, dtype=adjoint.float64, layout=adjoint.sparse_coo,\n"
        "       requires_grad=True)"
    )
    assert repr(adjoint.eye(2).to_sparse_csr()) == (
        "tensor(crow_indices=tensor([0, 1, 2]),\n"
        "       col_indices=tensor([0, 1]),\n"
        "       values=tensor([1., 1.]), size=(2, 2), nnz=2, layout=adjoint.sparse_csr)"
    )
    assert repr(adjoint.sparse_coo_tensor(size=(2, 3))) == (
        "tensor(indices=tensor([], size=(2, 0)),\n"
        "       values=tensor([], size=(0,)),\n"
        "       size=(2, 3), nnz=0, layout=adjoint.sparse_coo)"
    )
    assert repr(adjoint.sparse_bsc) == "adjoint.sparse_bsc"


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda s: pickle.loads(pickle.dumps(s))])
def test_copies(name: str, twin_of: Callable[[Tensor], Tensor]) -> None:
    s = as_layout(dense(), name).requires_grad_()
    twin = twin_of(s)
    assert twin.layout is s.layout
    assert twin.requires_grad
    assert twin.to_dense().tolist() == s.to_dense().tolist()
    with adjoint.no_grad():
        twin.mul_(2)
    assert s.to_dense().tolist() == dense().tolist()
    assert pickle.loads(pickle.dumps(s.layout)) is s.layout


def test_files(tmp_path: Path) -> None:
    for name in LAYOUTS:
        s = as_layout(dense(), name)
        adjoint.save({"s": s}, tmp_path / "file")
        loaded = adjoint.load(tmp_path / "file")["s"]
        assert loaded.layout is s.layout
        assert loaded.to_dense().tolist() == dense().tolist()


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 4)])
@pytest.mark.parametrize("name", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_tensors_without_values(name: str, shape: tuple[int, int], tmp_path: Path) -> None:
    s = adjoint.zeros(shape).to_sparse(layout=getattr(adjoint, name))
    assert s.to_dense().shape == shape and s.values().numel() == 0
    adjoint.save(s, tmp_path / "file")
    assert adjoint.load(tmp_path / "file").to_dense().shape == shape
    assert (s @ adjoint.ones(shape[1], 2)).tolist() == [[0, 0]] * shape[0]
    if name != "sparse_coo":
        parts = (s.crow_indices(), s.col_indices()) if name == "sparse_csr" else (s.ccol_indices(), s.row_indices())
        again = getattr(adjoint, f"{name}_tensor")(*parts, s.values(), shape)
        assert again.to_dense().tolist() == s.to_dense().tolist()


BROKEN = [
    ("strided", (2, 3), (np.zeros((2, 1), int),), np.ones(1), "a layout and a shape"),
    ("sparse_coo", (2, -3), (np.zeros((2, 1), int),), np.ones(1), "a layout and a shape"),
    ("sparse_coo", (2, 3), ([[0], [0]],), np.ones(1), "arrays of indices"),
    ("sparse_csr", (2, 3), (np.zeros((2, 1), int),), np.ones(1), "arrays of indices"),
    ("sparse_coo", (2, 3), (np.zeros((2, 1)),), np.ones(1), "do not fit together"),
    ("sparse_coo", (2, 3), (np.zeros((2, 1), int),), np.ones(2), "do not fit together"),
    ("sparse_csr", (2, 3), (np.array([0, 1, 1]), np.array([7])), np.ones(1), "out of range"),
    ("sparse_csr", (2, 3), (np.array([0, 2, 1]), np.array([2])), np.ones(1), "do not fit together"),
    ("sparse_csr", (2, 3), (np.array([0, 2**56, 1]), np.array([2])), np.ones(1), "do not fit together"),
    ("sparse_csr", (2, 3), (np.array([0, 0, 1]), np.array([-1])), np.ones(1), "out of range"),
    ("sparse_csr", (2**60, 3), (np.array([0, 0, 1]), np.array([1])), np.ones(1), "do not fit together"),
]


@pytest.mark.parametrize(("name", "shape", "indices", "values", "words"), BROKEN)
def test_broken_files(name: str, shape: Any, indices: Any, values: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        rebuilt(name, shape, indices, 0, 0, (), False, values)


# errors ---------------------------------------------------------------------------------------------------------------

S = example()
CSR = S.to_sparse_csr()
D = adjoint.ones(2, 3, dtype=adjoint.float64)
ERRORS: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: adjoint.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,)), RuntimeError,
     "size is inconsistent with indices: for dim 0, size is 3 but found index 5"),
    (lambda: adjoint.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (3,)), RuntimeError, "found negative index -1 for dim 0"),
    (lambda: adjoint.sparse_coo_tensor([[0, -1]], [1.0, 2.0]), RuntimeError, "found negative index -1 for dim 0"),
    (lambda: adjoint.sparse_coo_tensor([[0, 1]], [1.0, 2.0, 3.0], (3,)), RuntimeError,
     "indices and values must have same nnz, but got nnz from indices: 2, nnz from values: 3"),
    (lambda: adjoint.sparse_coo_tensor([[0, 1]], [1.0, 2.0], (3, 3)), RuntimeError,
     "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = 2, sparse_dim = 1, dense_dim = 0"),
    (lambda: adjoint.sparse_coo_tensor([[0, 1]], adjoint.ones(2, 3), (3, 4)), RuntimeError,
     "values has incorrect size, expected [2, 4], got [2, 3]"),
    (lambda: adjoint.sparse_coo_tensor([[4, 0]], [1, 2], is_coalesced=True), RuntimeError,
     "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"),
    (lambda: adjoint.sparse_coo_tensor([[0]], [1], requires_grad=True), RuntimeError,
     "Only Tensors of floating point and complex dtype can require gradients"),
    (lambda: adjoint.sparse_csr_tensor([0, 1, 3], [0, 1], [1.0, 2.0], (2, 2)), RuntimeError,
     "`crow_indices[..., -1] == nnz` is not satisfied."),
    (lambda: adjoint.sparse_csc_tensor([0, 1, 3], [0, 1], [1.0, 2.0], (2, 2)), RuntimeError,
     "`ccol_indices[..., -1] == nnz` is not satisfied."),
    (lambda: adjoint.sparse_csr_tensor([1, 1, 2], [0, 1], [1.0, 2.0], (2, 2)), RuntimeError,
     "`crow_indices[..., 0] == 0` is not satisfied."),
    (lambda: adjoint.sparse_csr_tensor([0, 3, 1, 2], [0, 1], [1.0, 2.0], (3, 2)), RuntimeError,
     "`0 <= crow_indices[..., 1:] - crow_indices[..., :-1] <= ncols` is not satisfied."),
    (lambda: adjoint.sparse_csr_tensor([0, 1, 2], [0, 5], [1.0, 2.0], (2, 2)), RuntimeError,
     "`0 <= col_indices < ncols` is not satisfied."),
    (lambda: adjoint.sparse_csr_tensor([0, 2, 2], [1, 0], [1.0, 2.0], (2, 2)), RuntimeError,
     "are sorted and distinct along the last dimension values` is not satisfied."),
    (lambda: adjoint.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (3, 2)), RuntimeError,
     "crow_indices.shape[-1] must be equal to the number of rows + 1 (=4), but got 3"),
    (lambda: adjoint.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0, 3.0], (2, 2)), RuntimeError,
     "col_indices.shape[-1] must be equal to nnz (=3) as defined by values.shape[0], but got 2"),
    (lambda: adjoint.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (4,)), RuntimeError,
     "tensor dimensionality must be sum of batch, base, and dense dimensionalities (=0 + 2 + 0) but got 1"),
    (lambda: adjoint.sparse_bsr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2)), RuntimeError,
     "values must have dimensionality > sum of batch and block dimensionalities (=0 + 2) but got 1"),
    (lambda: adjoint.sparse_bsr_tensor([0, 1, 2], [0, 1], adjoint.ones(2, 2, 2), (4, 3)), RuntimeError,
     "tensor shape[1] (=3) must be divisible with blocksize[1] (=2) as defined by values shape"),
    (lambda: adjoint.sparse_compressed_tensor([0, 1], [0], [1.0]), RuntimeError,
     "sparse_compressed_tensor expected sparse compressed tensor layout but got none"),
    (lambda: S.indices(), RuntimeError, "Cannot get indices on an uncoalesced tensor, please call .coalesce() first"),
    (lambda: S.values(), RuntimeError, "Cannot get values on an uncoalesced tensor, please call .coalesce() first"),
    (lambda: D.values(), RuntimeError, "values expected sparse tensor layout but got Strided"),
    (lambda: D.indices(), RuntimeError, "indices expected sparse coordinate tensor layout but got Strided"),
    (lambda: D.coalesce(), RuntimeError, "coalesce expected sparse coordinate tensor layout but got Strided"),
    (lambda: CSR.is_coalesced(), RuntimeError, "is_coalesced expected sparse coordinate tensor layout but"),
    (lambda: S.crow_indices(), RuntimeError, "crow_indices expected sparse row compressed tensor layout but got"),
    (lambda: CSR.ccol_indices(), RuntimeError,
     "ccol_indices expected sparse column compressed tensor layout but got SparseCsr"),
    (lambda: CSR._values(), NotImplementedError, "Could not run 'aten::_values' with arguments from the 'SparseCsr"),
    (lambda: D._nnz(), NotImplementedError, "Could not run 'aten::_nnz' with arguments from the 'CPU' backend."),
    (lambda: D.to_sparse(9), RuntimeError,
     "dense_to_sparse: sparse_dim argument must be in [0,2] range, but 9 is given"),
    (lambda: S.to_sparse(1), RuntimeError,
     "to_sparse: conversion from Sparse to Sparse with sparse_dim argument !=self.sparse_dim() is not supported"),
    (lambda: D.to_sparse(layout=adjoint.sparse_bsr), RuntimeError,
     "dense_to_sparse: conversion from Strided to SparseBsr without blocksize argument given is not supported"),
    (lambda: D.to_sparse(layout=adjoint.sparse_csr, blocksize=(1, 1)), RuntimeError,
     "dense_to_sparse: conversion from Strided to SparseCsr with blocksize argument given is not supported"),
    (lambda: D.to_sparse_bsr((2, 2)), RuntimeError,
     "dense_to_sparse_bsr: tensor sparse size (2,3) must be divisible by given blocksize (2,2)"),
    (lambda: D[0].to_sparse_csr(), RuntimeError, "to_sparse_csr: expected a tensor of at least two axes"),
    (lambda: adjoint.tensor([[[1.0, 0], [0, 1]], [[0, 0], [0, 1]]]).to_sparse_csr(), RuntimeError,
     "Expect the same number of specified elements per batch."),
    (lambda: D.sparse_mask(S.t()), RuntimeError,
     "sparse_mask(): operands have incompatible sizes; self has size [2, 3] but mask has size [3, 2]"),
    (lambda: D.sparse_mask(D), NotImplementedError, "Could not run 'aten::sparse_mask' with arguments from the 'CPU'"),
    (lambda: S + 2, RuntimeError, "add(sparse, dense) is not supported. Use add(dense, sparse) instead."),
    (lambda: S + S.t(), RuntimeError, "add: expected sizes of 'self' and 'other' to match, but [2, 3] != [3, 2]"),
    (lambda: S * S.t(), RuntimeError, "expects sparse inputs with equal dimensionality"),
    (lambda: S * adjoint.ones(3, 3), RuntimeError, "does not broadcast to the sparse one of shape [2, 3]"),
    (lambda: S / D, RuntimeError, "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape [2"),
    (lambda: D / S, RuntimeError, "Sparse division requires a scalar or zero-dim dense tensor divisor (got shape [2"),
    (lambda: S**0, RuntimeError, "pow: cannot raise to zeroth power on sparse tensor"),
    (lambda: S.cos(), NotImplementedError, "Could not run 'aten::cos' with arguments from the 'SparseCPU' backend."),
    (lambda: CSR.exp(), NotImplementedError, "Could not run 'aten::exp' with arguments from the 'SparseCsrCPU'"),
    (lambda: S == S, NotImplementedError, "Could not run 'aten::eq' with arguments from the 'SparseCPU' backend."),
    (lambda: adjoint.equal(S, S), NotImplementedError, "Could not run 'aten::eq.Tensor'"),
    (lambda: S.reshape(6), RuntimeError, "reshape is not implemented for sparse tensors"),
    (lambda: S.expand(2, 3), RuntimeError, "expand is unsupported for Sparse tensors"),
    (lambda: S.__setitem__(0, 1.0), TypeError, "Cannot assign to a sparse tensor"),
    (lambda: S.permute(0, 0, 1), RuntimeError, "permute(sparse_coo): number of dimensions in the tensor input"),
    (lambda: D.clone().copy_(S), RuntimeError, "copy_() between dense and sparse Tensors is not implemented!"),
    (lambda: S @ D, RuntimeError, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    (lambda: adjoint.mv(S, D[0, :2]), RuntimeError, "mv: expected self.size(-1) == vec.size(-1)"),
    (lambda: S @ adjoint.ones(3, 2), RuntimeError, "expected scalar type Double but found Float"),
    (lambda: adjoint.sparse.mm(S, D.T, "sum"), NotImplementedError, "Could not run 'aten::_sparse_mm_reduce_impl'"),
    (lambda: adjoint.sparse.mm(CSR, D.T, "cat"), RuntimeError,
     "reduce argument must be either sum, prod, mean, amax or amin, got cat"),
    (lambda: adjoint.sparse.sum(D), RuntimeError, "coalesce expected sparse coordinate tensor layout but got Strided"),
    (lambda: adjoint.sparse.sum(S, 5), IndexError, "Dimension out of range"),
    (lambda: adjoint.sparse.sum(S, (0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims"),
    (lambda: CSR.sum(0), RuntimeError, "reduction operations on CSR tensors with keepdim=False is unsupported"),
    (lambda: adjoint.sparse.softmax(CSR, 1), NotImplementedError, "Could not run 'aten::_sparse_softmax'"),
    (lambda: adjoint.sparse.softmax(S, 5), IndexError, "Dimension out of range"),
    (lambda: adjoint.sparse.sampled_addmm(S, D, D.T), NotImplementedError, "'aten::sparse_sampled_addmm'"),
    (lambda: adjoint.sparse.sampled_addmm(CSR, D, D), RuntimeError,
     "sampled_addmm: mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)"),
    (lambda: adjoint.sparse.sampled_addmm(CSR, adjoint.ones(3, 2), adjoint.ones(2, 3)), RuntimeError,
     "sampled_addmm: self.shape[-2] must match mat1.shape[-2]"),
    (lambda: adjoint.sparse.spdiags(adjoint.ones(2, 3), adjoint.tensor([0]), (3, 3)), RuntimeError,
     "Number of diagonals (2) does not match the number of offsets (1)"),
    (lambda: adjoint.sparse.spdiags(adjoint.ones(2, 3), adjoint.tensor([0, 0]), (3, 3)), RuntimeError,
     "Offset tensor contains duplicate values"),
    (lambda: adjoint.sparse.spdiags(adjoint.ones(1, 3), adjoint.tensor([0.0]), (3, 3)), RuntimeError,
     "Offset Tensor must have dtype Long but got Float"),
    (lambda: adjoint.sparse.spdiags(adjoint.ones(1, 3), adjoint.tensor([0]), (3, 3, 3)), RuntimeError,
     "Output shape must be 2d"),
    (lambda: adjoint.sparse.spdiags(adjoint.ones(1, 3), adjoint.tensor([0]), (3, 3), adjoint.sparse_bsr), RuntimeError,
     "Only output layouts (Sparse, SparseCsc, SparseCsr) are supported, got SparseBsr"),
    (lambda: S.numpy(), TypeError, "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first."),
    (lambda: S.tolist(), RuntimeError, "Cannot access data pointer of Tensor that doesn't have storage"),
    (lambda: setattr(example(True), "grad", D), RuntimeError,
     "attempting to assign a gradient to a tensor that has data of a different type"),
    (lambda: adjoint.ones(2, 3, layout=adjoint.sparse_coo), RuntimeError, "is not implemented for sparse layout"),
    (lambda: example(True).add_(S), RuntimeError,
     "a leaf Variable that requires grad is being used in an in-place operation."),
]  # fmt: skip


@pytest.mark.parametrize(("case", "kind", "words"), ERRORS, ids=[str(k) for k in range(len(ERRORS))])
def test_errors(case: Callable[[], Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as raised:
        case()
    assert words in str(raised.value)
