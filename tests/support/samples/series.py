"""Samples of truncated power series."""

from __future__ import annotations

from typing import Any

from adjoint.arrays.kernels.series.elementwise import RICCATI, WAVES

from .draws import draw

PAIRS: list[dict[str, Any]] = [
    {"input": draw(4, 3, low=0.5), "other": draw(4, 3, low=0.5)},
    {"input": draw(4, 1, 3, low=0.5), "other": draw(4, 2, 1, low=0.5)},
    {"input": draw(2, 5, low=0.5), "other": draw(2, 5, low=0.5), "dim": 1},
]
SAMPLES: dict[str, list[dict[str, Any]]] = {
    "series_product": PAIRS,
    "series_correlation": PAIRS,
    "series_quotient": PAIRS,
    "series_riccati": [{"input": draw(4, 2), "name": name} for name in RICCATI]
    + [{"input": draw(3, 4), "name": "tanh", "dim": 1}],
    "series_power": [{"input": draw(4, 2, low=0.5), "exponent": exponent} for exponent in (0.5, -2, 3)],
    "series_log": [{"input": draw(4, 2, low=0.5)}],
    "series_wave": [{"input": draw(4, 2), "name": name} for name in WAVES],
}
