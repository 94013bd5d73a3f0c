"""Samples of the fused helpers of formulas."""

from __future__ import annotations

from support.samples.draws import Sample, draw

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "sum_product": [
        {"input": draw(2, 3, 4), "other": draw(2, 3, 4), "dims": (2,)},
        {"input": draw(2, 3, 4), "other": draw(1, 3, 4), "dims": (0, 2)},
        {"input": draw(2, 3, 4), "other": draw(2, 3, 4), "dims": (0,)},
        {"input": draw(2, 3, 4), "other": draw(2, 3, 1), "dims": (1, 2)},
        {"input": draw(2, 0), "other": draw(2, 0), "dims": (1,)},
    ],
}
