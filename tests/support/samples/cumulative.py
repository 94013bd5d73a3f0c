"""Samples of running results."""

from __future__ import annotations

from support.samples.draws import EMPTY, ORDERED, SCALAR, WHOLE, Sample

#: Operations on real numbers only.
REAL_ONLY = {"cummax", "cummin"}

EXTREMA: list[Sample] = [{"input": ORDERED, "dim": 1}, {"input": ORDERED, "dim": -1}, {"input": SCALAR, "dim": 0}]

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "neighbour_difference": [{"input": WHOLE, "dim": 1}, {"input": WHOLE, "dim": -1}, {"input": EMPTY, "dim": 0}],
    "cummax": EXTREMA,
    "cummin": EXTREMA,
    "logcumsumexp": [
        {"input": WHOLE, "dim": 1},
        {"input": WHOLE, "dim": -1},
        {"input": SCALAR, "dim": 0},
        {"input": EMPTY, "dim": 1},
    ],
}
