"""Samples of searching and counting."""

from __future__ import annotations

import numpy as np

from support.samples.draws import Sample, draw, index

_SEQUENCE = np.array([-0.5, 0.0, 0.25, 0.75])

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "sorted_places": [
        {"sorted_sequence": _SEQUENCE, "input": draw(2, 3)},
        {"sorted_sequence": _SEQUENCE, "input": draw(), "right": True},
        {"sorted_sequence": np.stack([_SEQUENCE, 2 * _SEQUENCE]), "input": draw(2, 3)},
    ],
    "among": [
        {"elements": index([1, 2], [3, 2]), "test_elements": index(2, 3)},
        {"elements": 2, "test_elements": index(2, 3), "invert": True},
    ],
    "bincount": [
        {"input": index(1, 3, 1, 3), "minlength": 6},
        {"input": index(2, 0, 1), "weights": np.array([0.5, 0.25, 1.0])},
        {"input": index(2, 0, 2, 1), "weights": draw(4), "minlength": 5},
    ],
    "row_histogram": [
        {"input": draw(6), "bins": 4, "min": -1, "max": 1},
        {"input": draw(5), "bins": 3, "min": 0, "max": 0},
    ],
    "nonzero_places": [{"input": index(1, 0, 0, 2), "size": 3}, {"input": index(1, 0, 2), "size": 1}],
}

REAL_ONLY = ["bincount"]
