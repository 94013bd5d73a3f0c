"""Samples of normalisations."""

from __future__ import annotations

from support.samples.draws import Sample, draw

#: Operations on real numbers only.
REAL_ONLY = {"fused_rms_norm", "native_batch_norm", "native_group_norm", "native_layer_norm"}

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "native_batch_norm": [
        {"input": draw(3, 2), "weight": draw(1, 2), "bias": draw(1, 2), "dims": (0,)},
        {"input": draw(2, 3, 2, 2), "bias": draw(1, 3, 1, 1), "dims": (0, 2, 3), "eps": 0.1},
    ],
    "native_layer_norm": [
        {"input": draw(2, 4), "weight": draw(1, 4), "bias": draw(1, 4), "dims": (1,)},
        {"input": draw(2, 3, 2), "weight": draw(1, 3, 2), "dims": (1, 2), "eps": 0.1},
        {"input": draw(2, 4), "bias": draw(1, 4), "dims": (1,)},
        {"input": draw(4), "dims": (0,)},
    ],
    "native_group_norm": [
        {"input": draw(2, 2, 3, 2), "weight": draw(1, 2, 3, 1), "bias": draw(1, 2, 3, 1), "dims": (2, 3)},
    ],
    "fused_rms_norm": [
        {"input": draw(2, 4), "weight": draw(1, 4), "dims": (1,)},
        {"input": draw(2, 3, 2), "dims": (1, 2), "eps": 0.1},
    ],
}
