"""Samples of products with sparse matrices."""

from __future__ import annotations

import numpy as np

from adjoint.arrays.kernels.sparse import SparseLayout
from adjoint.arrays.layout import sparse_csr
from adjoint.arrays.libraries.sparse_arrays import compressed_pattern, coo_pattern
from support.samples.draws import Sample, draw

_SORTED = SparseLayout((3, 4), np.array([0, 0, 1, 2, 2]), np.array([1, 3, 0, 2, 3]))
#: A matrix with unsorted entries, two values at one position, and an empty row.
_UNSORTED = SparseLayout((4, 3), np.array([2, 0, 2, 3, 2]), np.array([1, 2, 0, 0, 1]))

_COO = coo_pattern((3, 4), np.array([1, 3, 4, 10]))
_CSR = compressed_pattern(sparse_csr, (3, 4), np.array([1, 3, 4, 10]))

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "sparse_product": [
        {"values": draw(5), "input": draw(*shape), "layout": layout}
        for layout, shape in ((_SORTED, (4,)), (_SORTED, (4, 2)), (_UNSORTED, (3,)), (_UNSORTED, (3, 2)))
    ],
    "sampled_product": [
        {"left": draw(layout.shape[0], *more), "right": draw(layout.shape[1], *more), "layout": layout}
        for layout in (_SORTED, _UNSORTED)
        for more in ((), (2,))
    ],
    "elements_at": [{"input": draw(3, 4), "pattern": pattern} for pattern in (_COO, _CSR)],
    "sparse_array": [{"values": draw(4), "pattern": pattern} for pattern in (_COO, _CSR)],
    "sparse_of": [{"input": draw(3, 4), "pattern": pattern} for pattern in (_COO, _CSR)],
    "strided_of": [{"input": draw(3, 4), "pattern": None}],
}

_ELSEWHERE = "results or gradients are sparse arrays: tests/sparse_matrices/test_tensor_derivatives.py"
#: Tests that do not apply, with the reasons.
GAPS: dict[str, str] = {f"{name}-*": _ELSEWHERE for name in ("elements_at", "sparse_array", "sparse_of", "strided_of")}
#: Operations on sparse arrays.
SPARSE = {"elements_at", "sparse_array", "sparse_of", "strided_of"}
