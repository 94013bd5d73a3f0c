"""Samples of matrix equations and functions of matrices."""

from __future__ import annotations

from support.samples.draws import REGULAR, Sample, draw, positive_definite, well_conditioned

_BANDS: list[Sample] = [
    {"ab": draw(3, 5, then=lambda a: a + [[0], [4], [0]]), "b": draw(5, 2), "lower": 1, "upper": 1},
    {"ab": draw(4, 2, then=lambda a: a + [[0], [0], [0], [4]]), "b": draw(2, 1), "lower": 0, "upper": 3},
    {"ab": draw(3, 4, then=lambda a: a + [[4], [0], [0]]), "b": draw(4, 1), "lower": 2, "upper": 0},
    {"ab": draw(2, 3, 4, then=lambda a: a + [[0], [4], [0]]), "b": draw(4, 2), "lower": 1, "upper": 1},
]

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "sylvester": [
        {"A": REGULAR, "B": draw(2, 2, then=well_conditioned), "Q": draw(3, 2)},
        {
            "A": draw(2, 3, 3, then=well_conditioned),
            "B": draw(2, 2, 2, then=well_conditioned),
            "Q": draw(2, 3, 2),
        },
    ],
    "stein": [
        {"A": draw(3, 3, then=lambda a: 0.3 * a), "Q": draw(3, 3)},
        {"A": draw(2, 2, 2, then=lambda a: 0.3 * a), "Q": draw(2, 2, 2)},
    ],
    "riccati": [
        {
            "A": draw(*batch, 3, 3),
            "B": draw(*batch, 3, 2),
            "discrete": discrete,
            "Q": draw(*batch, 3, 3, then=positive_definite),
            "R": draw(*batch, 2, 2, then=positive_definite),
        }
        for batch, discrete in (((), False), ((), True), ((2,), False))
    ],
    "banded_solution": _BANDS,
    "matrix_function": [
        {"A": REGULAR, "name": "sqrtm"},
        {"A": draw(2, 2, 2, then=well_conditioned), "name": "logm"},
        {"A": draw(2, 2, then=well_conditioned), "name": "fractional_matrix_power", "power": -0.3},
        {"A": draw(3, 3, then=lambda a: a * 0.3 - [[2, 0, 0], [0, 4, 0], [0, 0, 6]]), "name": "sqrtm"},
    ],
}
