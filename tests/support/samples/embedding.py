"""Samples of embeddings and attention."""

from __future__ import annotations

import numpy as np

from support.samples.draws import SCALAR, Sample, draw, index

#: Operations on real numbers only.
REAL_ONLY = {"safe_softmax"}

PLACES = index([1, 2, 1], [3, 0, 1])

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    # other tests cover options that drop or divide rows of the gradient, since it is then not the derivative
    "embedding": [
        {"weight": draw(4, 3), "indices": PLACES},
        {"weight": draw(4, 3), "indices": index(2)},
        {"weight": draw(4, 0), "indices": PLACES},
    ],
    "embedding_sum": [
        {"input": draw(2, 3, 2), "indices": PLACES, "rows": 4},
        {"input": draw(2, 3, 2), "indices": PLACES, "rows": 4, "padding_idx": 1},
        {"input": draw(2, 3, 2), "indices": PLACES, "rows": 5, "scale_grad_by_freq": True},
    ],
    "embedding_counts": [{"like": np.zeros(2), "indices": PLACES, "rows": 4}],
    "safe_softmax": [
        {"input": draw(2, 3, 4), "dim": -1},
        {"input": draw(2, 3), "dim": 0},
        {"input": SCALAR, "dim": 0},
        {"input": draw(2, 0), "dim": 1},
    ],
}
