"""Samples of products."""

from __future__ import annotations

from support.samples.draws import SCALAR, SQUARE, Sample, draw

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "mm": [{"input": draw(2, 3), "mat2": draw(3, 4)}, {"input": draw(2, 0), "mat2": draw(0, 3)}],
    "bmm": [{"input": draw(2, 2, 3), "mat2": draw(2, 3, 4)}],
    "mv": [{"input": draw(2, 3), "vec": draw(3)}, {"input": draw(2, 0), "vec": draw(0)}],
    "dot": [{"input": draw(3), "tensor": draw(3)}, {"input": draw(0), "tensor": draw(0)}],
    "vdot": [{"input": draw(3), "other": draw(3)}, {"input": draw(0), "other": draw(0)}],
    "einsum": [
        {"operands": [draw(2, 3), draw(3, 4)], "equation": "ij,jk->ik"},
        {"operands": [SQUARE], "equation": "ii->i"},
        {"operands": [SQUARE], "equation": "ii->"},
        {"operands": [draw(2, 3), draw(3), draw(2)], "equation": "ij,j,i->"},
        {"operands": [draw(2, 3, 4), draw(1, 4)], "equation": "bij,bj->ib"},
    ],
    "tensordot": [
        {"input": draw(2, 3, 4), "other": draw(4, 3, 2), "dims_self": (1, 2), "dims_other": (1, 0)},
        {"input": draw(2, 3), "other": draw(4), "dims_self": (), "dims_other": ()},
    ],
    "addmm": [
        {"input": draw(2, 4), "mat1": draw(2, 3), "mat2": draw(3, 4)},
        {"input": draw(4), "mat1": draw(2, 3), "mat2": draw(3, 4), "beta": 0.5, "alpha": 2.0},
        {"input": SCALAR, "mat1": draw(2, 3), "mat2": draw(3, 4)},
    ],
    "baddbmm": [
        {"input": draw(2, 2, 4), "batch1": draw(2, 2, 3), "batch2": draw(2, 3, 4)},
        {"input": draw(2, 1), "batch1": draw(3, 2, 3), "batch2": draw(3, 3, 4), "beta": 0.5, "alpha": 2.0},
    ],
    "addmv": [
        {"input": draw(2), "mat": draw(2, 3), "vec": draw(3)},
        {"input": SCALAR, "mat": draw(2, 3), "vec": draw(3), "beta": 0.5, "alpha": 2.0},
    ],
    "linear": [
        {"input": draw(5, 3), "weight": draw(2, 3), "bias": draw(2)},
        {"input": draw(2, 5, 3), "weight": draw(2, 3)},
        {"input": draw(3), "weight": draw(2, 3), "bias": draw(2)},
    ],
    "linalg_cross": [
        {"input": draw(2, 3), "other": draw(2, 3)},
        {"input": draw(3, 1), "other": draw(3, 2), "dim": 0},
    ],
    "trace": [{"input": SQUARE}, {"input": draw(2, 3)}, {"input": draw(0, 2)}],
    "conj_transpose": [{"input": draw(2, 3, 4)}, {"input": draw(0, 2)}],
}
