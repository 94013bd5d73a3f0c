"""The namespace of batched arrays works in the core and in formulas like the namespaces of array libraries."""

from __future__ import annotations

import numpy as np

from adjoint.core.modes.batches import running
from adjoint.transforms.batching.batched import BatchedArray, Namespace


def test_arrays_are_taken_converted_and_copied() -> None:
    xp = Namespace()
    with running(2) as batch:
        data = np.arange(6.0).reshape(2, 3)
        array = BatchedArray(batch.level, data)
        assert xp.asarray(array) is array
        assert xp.asarray(array, dtype=np.float64) is array
        single = xp.asarray(array, dtype=np.float32)
        assert single.dtype == np.float32 and single.shape == (3,) and single.level == batch.level
        copy = xp.asarray(array, copy=True)
        assert not np.shares_memory(copy.data, data) and copy.data.tolist() == data.tolist()


def test_parts_and_sums() -> None:
    xp = Namespace()
    with running(2) as batch:
        data = np.arange(6.0).reshape(2, 3) * (1 + 2j)
        array = BatchedArray(batch.level, data)
        assert xp.imag(array).data.tolist() == array.imag.data.tolist() == data.imag.tolist()
        assert xp.real(array).data.tolist() == array.real.data.tolist() == data.real.tolist()
        assert xp.sum(array).data.tolist() == data.sum(1).tolist()
        single = xp.sum(array, axis=0, keepdims=True, dtype=np.complex64)
        assert single.dtype == np.complex64 and single.data.tolist() == data.sum(1, keepdims=True).tolist()
        empty = xp.empty_like(array, dtype=np.float32)
        assert empty.dtype == np.float32 and empty.shape == (3,) and empty.data.shape == (2, 3)
