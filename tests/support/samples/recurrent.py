"""Samples of the rules of recurrent networks."""

from __future__ import annotations

from support.samples.draws import Sample, draw

SAMPLES: dict[str, list[Sample]] = {
    "lstm_step": [
        {"input_part": draw(2, 12), "before": draw(2, 12), "memory": draw(2, 3)},
        {"input_part": draw(4), "before": draw(4), "memory": draw(1)},
    ],
    "lstm_sequence": [
        {"input_part": draw(6, 8), "weight": draw(8, 2), "hidden": draw(2, 2), "memory": draw(2, 2)},
        {"input_part": draw(5, 8), "weight": draw(8, 2), "hidden": draw(3, 2), "memory": draw(3, 2), "sizes": (3, 2)},
        {
            "input_part": draw(4, 8),
            "weight": draw(8, 1),
            "hidden": draw(2, 1),
            "memory": draw(2, 2),
            "projection": draw(1, 2),
            "sizes": (2, 1, 1),
            "reverse": True,
        },
    ],
    "gru_sequence": [
        {"input_part": draw(4, 6), "weight": draw(6, 2), "hidden": draw(2, 2)},
        {
            "input_part": draw(5, 6),
            "weight": draw(6, 2),
            "hidden": draw(3, 2),
            "bias": draw(6),
            "sizes": (3, 2),
            "reverse": True,
        },
    ],
    "rnn_sequence": [
        {"input_part": draw(6, 3), "weight": draw(3, 3), "hidden": draw(2, 3), "nonlinearity": "tanh"},
        {
            "input_part": draw(4, 2, real=True),
            "weight": draw(2, 2, real=True),
            "hidden": draw(3, 2, real=True),
            "nonlinearity": "relu",
            "sizes": (3, 1),
            "reverse": True,
        },
    ],
    "gru_step": [
        {"input_part": draw(2, 9), "before": draw(2, 9), "state": draw(2, 3)},
        {"input_part": draw(3), "before": draw(3), "state": draw(1)},
    ],
}
