"""Samples of factorizations in packed forms."""

from __future__ import annotations

from support.samples.draws import (
    REGULAR,
    Sample,
    draw,
    hermitian_part,
    index,
    lower_factor,
    positive_definite,
    well_conditioned,
)

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "linalg_lu_factor_ex": [
        {"A": REGULAR},
        {"A": draw(2, 3, 3, then=well_conditioned)},
        {"A": draw(4, 2, then=well_conditioned)},
        {"A": draw(2, 2, 4, then=well_conditioned)},
        {"A": draw(0, 0)},
    ],
    "lu_order": [{"pivots": index(3, 3, 3), "rows": 4}, {"pivots": index([2, 2], [1, 3]), "rows": 3, "inverse": True}],
    "lu_permutation": [{"LU": draw(4, 3), "pivots": index(3, 3, 3)}],
    "linalg_solve_ex": [
        {"A": REGULAR, "B": draw(3, 2)},
        {"A": draw(2, 3, 3, then=well_conditioned), "B": draw(2, 3, 2)},
    ],
    "linalg_cholesky_ex": [
        {"A": draw(3, 3, then=positive_definite)},
        {"A": draw(2, 3, 3, then=positive_definite), "upper": True},
    ],
    "cholesky_solution": [
        {"B": draw(3, 2), "factor": draw(3, 3, then=lower_factor)},
        {"B": draw(3, 1), "factor": draw(2, 3, 3, then=lower_factor)},
    ],
    "unread_triangle": [{"factor": REGULAR, "upper": True}, {"factor": REGULAR, "upper": False}],
    "linalg_ldl_factor_ex": [{"A": REGULAR}, {"A": draw(2, 3, 3), "hermitian": True}],
    "linalg_ldl_solve": [{"LD": REGULAR, "pivots": index(1, 2, 3), "B": draw(3, 2)}],
    "geqrf": [{"input": draw(4, 3)}, {"input": draw(2, 2, 3)}],
    "independent": [{"input": draw(3), "result": index(1, 2, 3)}],
    "underivable": [{"input": draw(3), "result": index(1, 2, 3), "error": RuntimeError("no derivative")}],
}

#: Tests that do not apply, by a pattern of their names, with the reasons.
GAPS: dict[str, str] = {
    "independent-*": "its gradient is undefined: tests/functions/test_factorizations.py",
    "underivable-*": "its derivative raises an error: tests/functions/test_factorizations.py",
}

#: Operations that assume a Hermitian or triangular input.
WITHIN = {"linalg_cholesky_ex": hermitian_part, "cholesky_solution": lambda a: a.tril()}
