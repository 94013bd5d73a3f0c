"""Samples of the rules of recurrent networks."""

from __future__ import annotations

from support.samples.draws import Sample, draw

REAL_ONLY = {"lstm_step", "gru_step"}

SAMPLES: dict[str, list[Sample]] = {
    "lstm_step": [
        {"own": draw(2, 12), "before": draw(2, 12), "memory": draw(2, 3)},
        {"own": draw(4), "before": draw(4), "memory": draw(1)},
    ],
    "gru_step": [
        {"own": draw(2, 9), "before": draw(2, 9), "state": draw(2, 3)},
        {"own": draw(3), "before": draw(3), "state": draw(1)},
    ],
}
