"""Samples of distances."""

from __future__ import annotations

from math import inf

import numpy as np

from support.samples.draws import Sample, draw

#: Operations on real numbers only.
REAL_ONLY = {"cdist"}

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "pdist": [
        {"input": draw(4, 3), "p": 2},
        {"input": draw(3, 2), "p": 1},
        {"input": draw(3, 4), "p": inf},
        {"input": draw(4, 2), "p": 3.0},
        {"input": draw(3, 2), "p": 0},
    ],
    "cdist": [
        *({"x1": draw(2, 3, 4), "x2": draw(5, 4), "p": p} for p in (0.5, 1, 1.5, 2, 3, np.inf)),
        {"x1": draw(3, 2), "x2": draw(2, 4, 2), "p": 2, "by_product": True},
    ],
    "renorm": [
        {"input": draw(3, 4), "p": p, "dim": dim, "maxnorm": 0.9} for p in (1, 2, 3.5, np.inf) for dim in (0, -1)
    ]
    + [{"input": draw(2, 3, 4), "p": 2, "dim": 1, "maxnorm": 1.3}],
}
