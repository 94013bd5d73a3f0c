"""Samples of reductions."""

from __future__ import annotations

import numpy as np

from support.samples.draws import EMPTY, ORDERED, SCALAR, WHOLE, Sample, draw

#: Operations on real numbers only.
REAL_ONLY = {
    "amax",
    "amin",
    "aminmax",
    "log_softmax",
    "max_all",
    "min_all",
    "softmax",
}

#: Reductions over some axes, over all axes, over no axis.
REDUCTIONS: list[Sample] = [
    {"input": WHOLE},
    {"input": WHOLE, "dim": 1},
    {"input": WHOLE, "dim": (0, -1), "keepdim": True},
    {"input": SCALAR},
    {"input": EMPTY, "dim": 1},
]
ALONG: list[Sample] = [
    {"input": WHOLE, "dim": 1},
    {"input": WHOLE, "dim": -1},
    {"input": SCALAR, "dim": 0},
    {"input": EMPTY, "dim": 1},
]

SPREADS: list[Sample] = [
    {"input": WHOLE},
    {"input": WHOLE, "dim": 1, "correction": 0},
    {"input": WHOLE, "dim": (0, -1), "keepdim": True},
]

ATTAINED: list[Sample] = [
    {"input": ORDERED},
    {"input": ORDERED, "dim": 1},
    {"input": ORDERED, "dim": (0, -1), "keepdim": True},
    {"input": SCALAR},
]

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "sum": REDUCTIONS,
    "sum_all": [{"input": WHOLE}, {"input": SCALAR}, {"input": EMPTY}],
    "mean": REDUCTIONS[:-1],
    "mean_all": [{"input": WHOLE}, {"input": SCALAR}],
    "cumsum": ALONG,
    "prod": REDUCTIONS,
    "prod_all": [{"input": WHOLE}, {"input": SCALAR}, {"input": EMPTY}],
    "cumprod": ALONG,
    "exclusive_cumprod": [
        {"input": draw(2, 4), "dim": -1, "reverse": False},
        {"input": draw(4, 2), "dim": 0, "reverse": True},
        {"input": draw(1, 2), "dim": 0, "reverse": True},
        {"input": draw(2, 2), "dim": 1, "reverse": False},
    ],
    "recurrence": [
        {"links": draw(2, 4), "input": draw(2, 5), "dim": -1, "reverse": False},
        {"links": draw(4, 2), "input": draw(5, 2), "dim": 0, "reverse": True},
    ],
    **dict.fromkeys(("var", "std", "var_mean", "std_mean"), SPREADS),
    "amax": ATTAINED,
    "amin": ATTAINED,
    "aminmax": ATTAINED,
    "max_all": [ATTAINED[0], ATTAINED[-1]],
    "min_all": [ATTAINED[0], ATTAINED[-1]],
    "linalg_vector_norm": [
        {"input": draw(2, 3, 4, low=0.2), "ord": ord, "dim": dim, "keepdim": keepdim}
        for ord in (2, 1, 3, 0.5, np.inf, -np.inf)
        for dim, keepdim in ((None, False), (1, False), ((0, 2), True))
    ],
    "logsumexp": [{"input": WHOLE, "dim": (0, -1), "keepdim": True}, *ALONG[:-1]],
    "softmax": ALONG,
    "log_softmax": ALONG,
}
