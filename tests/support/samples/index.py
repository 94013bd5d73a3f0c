"""Samples of indexing."""

from __future__ import annotations

import numpy as np

from support.samples.draws import SCALAR, WHOLE, Sample, draw, index, mask

ZEROS = draw(4, then=lambda a: a * index(0, 1, 1, 0))
ROWS = index([2, 0, 1], [1, 1, 0])
BASIC: list[Sample] = [
    {"input": WHOLE, "index": (1,)},
    {"input": WHOLE, "index": (slice(None), slice(2, None, -2), None, -1)},
    {"input": WHOLE, "index": (..., 0)},
    {"input": SCALAR, "index": (None,)},
]

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    **{f"getitem_{name}": BASIC for name in ("select", "slice", "unsqueeze", "alias")},
    "embed_view": [
        {"input": draw(2, 3), "shape": (2, 3, 4), "index": (..., 1)},
        {"input": draw(2, 1), "shape": (2, 3), "index": (slice(None), slice(2, None))},
    ],
    "written_at": [
        {"input": draw(2, 3, 4), "index": (..., 1), "source": draw(2, 3)},
        {"input": draw(2, 3), "index": (slice(None), None, slice(1, None)), "source": draw(2, 1, 1)},
        {"input": draw(2, 3, 4), "index": (1, ..., slice(2)), "source": draw(2)},
        {"input": draw(2, 3), "index": (slice(None), 1), "source": draw()},
    ],
    "index": [
        {"input": WHOLE, "indices": (index(1, 0, 1),)},
        {"input": WHOLE, "indices": (slice(None), index([2, 2], [0, 1]))},
        {"input": WHOLE, "indices": (index(0, 1), slice(None), index(3, 0))},
        {"input": draw(2, 3), "indices": (mask([True, False, True], [False, False, True]),)},
    ],
    "sum_at": [
        {"input": draw(3, 4), "shape": (2, 4), "indices": (index(1, 0, 1),)},
        {"input": draw(2, 3), "shape": (2, 4), "indices": (slice(None), index(1, 1, 3))},
    ],
    "index_put": [
        {"input": draw(2, 3), "indices": (index(1),), "values": draw(3)},
        {"input": draw(2, 3), "indices": (slice(None), index(2, 0)), "values": draw(2, 2)},
        {"input": draw(2, 3), "indices": (index(1, 1, 0),), "values": draw(3, 3), "accumulate": True},
    ],
    "gather": [
        {"input": draw(2, 4), "dim": 1, "index": ROWS},
        {"input": draw(3, 3), "dim": 0, "index": ROWS},
        {"input": SCALAR, "dim": 0, "index": np.array(0)},
    ],
    "scatter": [
        {"input": draw(2, 4), "dim": 1, "index": index([2, 0, 1], [1, 3, 0]), "src": draw(2, 3)},
        {"input": draw(4, 3), "dim": 0, "index": index([2, 0, 1], [1, 3, 0]), "src": draw(3, 4)},
        {"input": draw(2, 4), "dim": 1, "index": index([2, 0, 1], [1, 3, 0]), "src": 0.5},
    ],
    "scatter_add": [
        {"input": draw(2, 4), "dim": 1, "index": ROWS, "src": draw(2, 3)},
        {"input": draw(3, 3), "dim": 0, "index": ROWS, "src": draw(2, 4)},
    ],
    **{
        name: [
            {"input": draw(2, 4), "dim": 1, "index": ROWS, "src": draw(2, 3), "reduce": "mean", **options},
            {"input": draw(3, 3), "dim": 0, "index": ROWS, "src": draw(3, 4), "reduce": "prod", **options},
            {"input": draw(3), "dim": 0, "index": index(1, 1, 0, 1), "src": ZEROS, "reduce": "prod", **options},
        ]
        for name, options in (("scatter_reduce", {"include_self": False}), ("index_reduce", {}))
    },
    "index_select": [
        {"input": draw(3, 4), "dim": 0, "index": index(2, 0, 2)},
        {"input": draw(3, 4), "dim": 1, "index": index(1)},
    ],
    "index_add": [
        {"input": draw(3, 4), "dim": 0, "index": index(2, 0, 2), "source": draw(3, 4)},
        {"input": draw(3, 4), "dim": 1, "index": index(1, 1), "source": draw(3, 2), "alpha": 2.0},
    ],
    "index_copy": [
        {"input": draw(3, 4), "dim": 0, "index": index(2, 0), "source": draw(2, 4)},
        {"input": draw(3, 4), "dim": 1, "index": index(1), "source": draw(3, 1)},
    ],
    "index_fill": [
        {"input": draw(3, 4), "dim": 0, "index": index(2, 0), "value": SCALAR},
        {"input": draw(3, 4), "dim": 1, "index": index(1), "value": 0.5},
    ],
    "take": [{"input": draw(2, 3), "index": index([5, 0], [5, -1])}, {"input": SCALAR, "index": index(0)}],
    "put": [
        {"input": draw(2, 3), "index": index([5, 0], [1, 2]), "source": draw(2, 2)},
        {"input": draw(2, 3), "index": index(5, 0, 5), "source": draw(3), "accumulate": True},
    ],
    "masked_fill": [
        {"input": draw(2, 3), "mask": mask(True, False, True), "value": SCALAR},
        {"input": draw(3), "mask": mask([True, False, True], [False, False, True]), "value": 0.5},
    ],
    "masked_select": [
        {"input": draw(2, 3), "mask": mask([True, False, True], [False, False, True])},
        {"input": draw(2, 3), "mask": mask(True, False, True)},
    ],
    "masked_scatter": [
        {"input": draw(2, 3), "mask": mask([True, False, True], [False, False, True]), "source": draw(5)},
        {"input": draw(2, 3), "mask": mask(True, False, True), "source": draw(2, 2)},
    ],
    "masked_gather": [
        {"input": draw(2, 3), "mask": mask([True, False, True], [False, False, True]), "shape": (5,)},
        {"input": draw(2, 3), "mask": mask(True, False, True), "shape": (3, 2)},
        {"input": draw(0, 3), "mask": mask(True, False, True), "shape": (2,)},
    ],
}

#: Tests that do not apply, by a pattern of their names, with the reasons.
GAPS: dict[str, str] = {
    "argwhere-*": "the size of its result depends on the values, so members of a batch do not fit together",
}
