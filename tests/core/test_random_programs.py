"""Random programs of views, operations in place, modes and passes, against a model (support/programs_of_views.py).

Hypothesis shortens a failing program by removing steps. ADJOINT_PROGRAMS sets the number of programs.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

from support.programs_of_views import run

PROGRAMS = int(os.environ.get("ADJOINT_PROGRAMS", "200"))
numbers = st.integers(0, 127)
programs = st.lists(st.tuples(numbers, numbers, numbers, numbers), min_size=4, max_size=24)


@settings(
    max_examples=PROGRAMS,
    derandomize=PROGRAMS <= 1000,
    database=None,
    deadline=None,
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
@example([(0, 0, 0, 0), (0, 0, 0, 0), (13, 127, 0, 0), (0, 0, 0, 0), (14, 12, 0, 0), (1, 110, 50, 0), (6, 2, 0, 0)])
@example(
    [
        *[(0, 0, 0, 0)] * 8,
        *[(7, 0, 0, 0), (82, 0, 45, 0), (0, 0, 0, 0), (62, 0, 0, 0), (79, 0, 0, 0), (10, 2, 83, 0), (18, 59, 58, 0)],
    ]
)
@example([(0, 0, 0, 0), (34, 3, 50, 0), (14, 3, 0, 0), (62, 4, 0, 0), (8, 3, 0, 0)])
@example([(0, 0, 0, 0), (61, 0, 1, 0), (125, 0, 0, 0), (0, 0, 0, 0), (14, 117, 0, 0), (66, 0, 73, 25)])
@example(  # a base gets an axis of length 1 before a write to a view of it
    [
        *[
            (123, 9, 23, 29),
            (73, 18, 27, 85),
            (75, 6, 120, 93),
            (106, 70, 46, 19),
            (77, 108, 43, 45),
            (44, 84, 109, 29),
        ],
        *[(10, 16, 40, 122), (49, 0, 121, 9), (111, 16, 30, 49)],
    ]
)
@given(programs)
def test_programs(steps: list[tuple[int, int, int, int]]) -> None:
    run(steps, note)
