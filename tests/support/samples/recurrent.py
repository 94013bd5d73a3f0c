"""Samples of the rules of recurrent networks."""

from __future__ import annotations

from support.samples.draws import Sample, draw

REAL_ONLY = {"lstm_step", "lstm_sequence", "gru_step"}

SAMPLES: dict[str, list[Sample]] = {
    "lstm_step": [
        {"own": draw(2, 12), "before": draw(2, 12), "memory": draw(2, 3)},
        {"own": draw(4), "before": draw(4), "memory": draw(1)},
    ],
    "lstm_sequence": [
        {"own": draw(3, 2, 8), "weight": draw(8, 2), "hidden": draw(2, 2), "memory": draw(2, 2)},
        {"own": draw(2, 1, 4), "weight": draw(4, 1), "hidden": draw(1, 1), "memory": draw(1, 1)},
    ],
    "gru_step": [
        {"own": draw(2, 9), "before": draw(2, 9), "state": draw(2, 3)},
        {"own": draw(3), "before": draw(3), "state": draw(1)},
    ],
}
