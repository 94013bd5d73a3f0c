"""Samples of operations on shapes."""

from __future__ import annotations

from adjoint.arrays.dtypes import int64
from support.samples.draws import EMPTY, SCALAR, VECTOR, WHOLE, Sample, draw

TRIANGLE: list[Sample] = [
    {"input": draw(2, 3, 4), "diagonal": 1},
    {"input": draw(3, 2)},
    {"input": draw(0, 2, 2)},
]

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "join_results": [
        {"members": [draw(2, 3), draw(4)], "node": "LinalgLuBackward0"},
        {"members": [SCALAR], "node": "One"},
    ],
    **{
        name: [
            {"input": draw(2, 3, 4), "shape": (6, 4)},
            {"input": draw(2, 3), "shape": (3, -1)},
            {"input": SCALAR, "shape": (1, 1)},
            {"input": EMPTY, "shape": (3, 0)},
        ]
        for name in ("reshape", "view")
    },
    "unsqueeze": [{"input": WHOLE, "dim": -1}, {"input": WHOLE, "dim": 1}, {"input": SCALAR, "dim": 0}],
    "squeeze": [
        {"input": draw(2, 1, 3), "dim": 1},
        {"input": draw(2, 1), "dim": 0},
        {"input": SCALAR, "dim": 0},
    ],
    "squeeze_all": [{"input": draw(1, 2, 1), "dim": (0, 1, 2)}, {"input": draw(2, 3), "dim": (0, 1)}],
    "squeeze_several": [{"input": draw(1, 2, 1), "dim": (0, 2)}, {"input": draw(1, 2), "dim": (1,)}],
    "permute": [
        {"input": WHOLE, "dims": (2, 0, 1)},
        {"input": SCALAR, "dims": ()},
        {"input": EMPTY, "dims": (1, 0)},
    ],
    "transpose": [{"input": WHOLE, "dim0": 0, "dim1": -1}, {"input": WHOLE, "dim0": 1, "dim1": 1}],
    "t": [{"input": draw(2, 3)}, {"input": EMPTY}],
    "expand": [
        {"input": draw(3, 1), "size": (2, 3, 4)},
        {"input": draw(2, 1), "size": (-1, 3)},
        {"input": SCALAR, "size": (2, 2)},
        {"input": EMPTY, "size": (2, 0, 3)},
    ],
    "sum_to_size": [
        {"input": WHOLE, "size": (3, 1)},
        {"input": WHOLE, "size": ()},
        {"input": draw(3), "size": (2, 3)},
    ],
    "repeat": [{"input": draw(2, 3), "repeats": (2, 1, 3)}, {"input": draw(2), "repeats": (3,)}],
    "cat": [
        {"tensors": [draw(2, 3), draw(2, 1), draw(2, 2)], "dim": 1},
        {"tensors": [draw(2, 3)]},
        {"tensors": [draw(0, 3), draw(2, 3)]},
    ],
    "stack": [{"tensors": [VECTOR, VECTOR], "dim": -1}, {"tensors": [SCALAR, SCALAR]}],
    "split": [{"input": draw(5, 2), "split_size": 2}, {"input": draw(2, 4), "split_size": 4, "dim": -1}],
    "split_with_sizes": [{"input": draw(2, 5), "split_sizes": (1, 4), "dim": 1}],
    "unbind": [{"input": draw(2, 3)}, {"input": draw(2, 3), "dim": -1}],
    "unsafe_split": [{"input": draw(5, 2), "split_size": 2}],
    "unsafe_split_with_sizes": [{"input": draw(2, 5), "split_sizes": (1, 4), "dim": 1}],
    "flip": [
        {"input": WHOLE, "dims": (0, 2)},
        {"input": SCALAR, "dims": (0,)},
        {"input": draw(3), "dims": ()},
    ],
    "roll": [{"input": WHOLE, "shifts": (1, -2), "dims": (0, 2)}],
    "tril": TRIANGLE,
    "triu": TRIANGLE,
    "diagonal": [
        {"input": draw(3, 4)},
        {"input": WHOLE, "offset": 1, "dim1": 2, "dim2": 0},
        {"input": draw(3, 3), "offset": -1},
    ],
    "as_strided": [
        {"input": draw(4, 3), "shape": (2, 2), "strides": (3, 1), "offset": 1, "steps": (3, 1)},
        {"input": draw(2, 3), "shape": (3, 2), "strides": (1, 2), "offset": 1, "steps": (3, 1)},
        {"input": draw(5), "shape": (2, 0), "strides": (1, 1), "offset": 0, "steps": (1,)},
    ],
    "restride": [
        {"input": draw(3, 2), "source": ((3, 2), (1, 2), 1), "target": ((2, 3), (3, 1), 0), "shared": 1},
        {"input": draw(2, 3), "source": ((2, 3), (0, 1), 0), "target": ((2,), (1,), 1), "shared": 0},
        {"input": draw(2), "source": ((2,), (2,), 0), "target": ((2, 2), (1, 1), 3), "shared": 1},
    ],
    "unfold": [
        {"input": draw(5), "dimension": 0, "size": 2, "step": 1},
        {"input": draw(2, 7), "dimension": -1, "size": 3, "step": 2},
        {"input": draw(7, 2), "dimension": 0, "size": 2, "step": 3},
    ],
    "fold_windows": [
        {"input": draw(4, 2), "shape": (5,), "dimension": 0, "length": 2, "step": 1},
        {"input": draw(2, 3, 3), "shape": (2, 8), "dimension": 1, "length": 3, "step": 2},
    ],
    "view_as_real": [{"input": draw(2, 3)}, {"input": SCALAR}, {"input": EMPTY}],
    "pairs": [{"input": draw(2, 3)}, {"input": SCALAR}, {"input": EMPTY}],
    "joined_pairs": [{"input": draw(3, 2)}, {"input": draw(2)}, {"input": draw(0, 2)}],
    "view_as_complex": [{"input": draw(3, 2)}, {"input": draw(2)}, {"input": draw(0, 2)}],
    "view_bits": [{"input": draw(2, 2), "dtype": int64}],
    "embed_diagonal": [
        {"input": draw(2, 3), "offset": 0, "dim1": 1, "dim2": 2, "size1": 3, "size2": 3},
        {"input": draw(2), "offset": 1, "dim1": 1, "dim2": 0, "size1": 2, "size2": 4},
    ],
}

REAL_ONLY = {"view_as_complex", "joined_pairs"}
COMPLEX_ONLY = {"view_as_real", "pairs"}

#: Tests that do not apply, by a pattern of their names, with the reasons.
GAPS: dict[str, str] = {
    "view-*-layout": "strided elements have no view of another shape",
}
