"""Samples of linear algebra."""

from __future__ import annotations

from support.samples.draws import (
    REGULAR,
    Sample,
    distinct_singular_values,
    draw,
    hermitian,
    hermitian_part,
    positive_definite,
    spread_apart,
    well_conditioned,
)

SQUARES: list[Sample] = [{"A": REGULAR}, {"A": draw(2, 3, 3, then=well_conditioned)}, {"A": draw(0, 0)}]

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "linalg_solve": [
        {"A": REGULAR, "B": draw(3, 2)},
        {"A": draw(2, 3, 3, then=well_conditioned), "B": draw(2, 3, 2)},
    ],
    "linalg_solve_triangular": [
        {"A": REGULAR, "B": draw(3, 2), "upper": True},
        {"A": draw(2, 3, 3, then=well_conditioned), "B": draw(3, 2), "upper": False},
        {"A": REGULAR, "B": draw(3, 2), "upper": False, "unitriangular": True},
    ],
    "linalg_inv": SQUARES,
    "inverse_or_inf": SQUARES,
    "linalg_pinv": [{"A": draw(2, 4, 3, then=well_conditioned)}, {"A": draw(2, 3, then=well_conditioned)}],
    "linalg_cholesky": [
        {"A": draw(3, 3, then=positive_definite)},
        {"A": draw(2, 3, 3, then=positive_definite), "upper": True},
        {"A": draw(0, 0)},
    ],
    "linalg_eigh": [{"A": draw(3, 3, then=hermitian)}, {"A": draw(2, 3, 3, then=hermitian), "UPLO": "U"}],
    "linalg_eig": [{"A": draw(3, 3, then=spread_apart)}],
    "linalg_svd": [
        {"A": draw(3, 3, then=spread_apart)},
        {"A": draw(2, 4, 3, then=distinct_singular_values), "full_matrices": False},
        {"A": draw(2, 3, then=distinct_singular_values), "full_matrices": False},
    ],
    "linalg_qr": [{"A": draw(4, 3)}, {"A": draw(2, 3, 3, then=well_conditioned)}, {"A": draw(2, 3)}],
}

_PHASE = "complex vectors are determined up to a phase, and so is this derivative"

#: Tests that do not apply, by a pattern of their names, with the reasons.
GAPS: dict[str, str] = {
    "linalg_eig-*-[!b]*": _PHASE,
    "linalg_eig-float64-programs": _PHASE,
    "linalg_eigh-complex128-[!b]*": _PHASE,
    "linalg_svd-complex128-[!b]*": _PHASE,
}

#: Operations that assume a Hermitian input.
WITHIN = dict.fromkeys(["linalg_cholesky", "linalg_eigh"], hermitian_part)
