"""Samples of operations that order elements."""

from __future__ import annotations

from support.samples.draws import EMPTY, ORDERED, SCALAR, Sample, draw, index

#: Operations on real numbers only.
REAL_ONLY = {
    "kthvalue",
    "max",
    "median",
    "median_all",
    "min",
    "mode",
    "nanmedian",
    "nanmedian_all",
    "sort",
    "topk",
}

PICKED: list[Sample] = [
    {"input": ORDERED, "dim": 1},
    {"input": ORDERED, "dim": -1, "keepdim": True},
    {"input": SCALAR, "dim": 0},
]

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "place": [{"input": draw(2, 3), "dim": 1, "index": index([3, 0, 1], [1, 2, 0]), "size": 4}],
    "sort": [*PICKED[:1], {"input": ORDERED, "descending": True}, {"input": SCALAR}, {"input": EMPTY}],
    "topk": [{"input": ORDERED, "k": 2}, {"input": ORDERED, "k": 2, "dim": 1, "largest": False}],
    "max": PICKED,
    "min": PICKED,
    "kthvalue": [{**sample, "k": 1} for sample in PICKED] + [{"input": ORDERED, "k": 3}],
    "median": PICKED,
    "median_all": [{"input": ORDERED}, {"input": SCALAR}],
    "nanmedian": PICKED,
    "nanmedian_all": [{"input": ORDERED}, {"input": SCALAR}],
    "mode": PICKED,
}
