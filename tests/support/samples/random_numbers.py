"""Samples of operations on random numbers."""

from __future__ import annotations

import numpy as np

from adjoint.rules import TABLE
from support.samples.draws import SCALAR, Sample, draw

_NUMBERS = np.array([[0.5, -1.5, 2.0], [1.0, 0.0, -0.25]])
_DRAWN = sorted(name for name in TABLE if name.startswith("drawn_"))

#: Operations on real numbers only.
REAL_ONLY = {"drawn_around", "drawn_with_chances"}

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    **{
        name: [{"input": draw(2, 3), "numbers": _NUMBERS}, {"input": SCALAR, "numbers": np.array(0.5)}]
        for name in _DRAWN
    },
    "drawn_around": [
        {"mean": draw(2, 3), "std": draw(3), "numbers": _NUMBERS},
        {"mean": 0.5, "std": draw(2, 3), "numbers": _NUMBERS},
        {"mean": draw(2, 3), "std": 2.0, "numbers": _NUMBERS},
    ],
    "drawn_with_chances": [
        {"input": draw(2, 3), "p": draw(3), "numbers": _NUMBERS},
        {"input": SCALAR, "p": SCALAR, "numbers": np.array(1.0)},
    ],
}
