"""How many threads share the work on large arrays."""

from __future__ import annotations

import pytest

from adjoint.runtime import threads


def test_refuses_numbers_of_threads() -> None:
    with pytest.raises(ValueError, match=r"set_num_threads\(\): expected a number from 1 to 8, got 0"):
        threads.set_num_threads(0)
