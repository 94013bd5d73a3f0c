"""Errors for wrong arguments have PyTorch's messages: expressions, errors, messages (data/messages.json).

In the expressions A is adjoint, F its nn.functional, and o(*shape) are ones.
"""

from __future__ import annotations

import json
import operator
from pathlib import Path

import pytest

import adjoint

ROWS = json.loads((Path(__file__).parent / "data" / "messages.json").read_text())
NAMES = {"A": adjoint, "F": adjoint.nn.functional, "o": adjoint.ones}

#: Python 3.14 has another text for this error.
DIVISION = "integer division or modulo by zero"


def division_by_zero() -> str:
    """The text of this Python for a division of integers by zero."""
    with pytest.raises(ZeroDivisionError) as caught:
        operator.floordiv(1, 0)
    return str(caught.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("expression", "error", "message"), ROWS, ids=[row[0] for row in ROWS])
def test_message(expression: str, error: str, message: str) -> None:
    with pytest.raises(Exception) as caught:
        eval(expression, dict(NAMES))
    assert (type(caught.value).__name__, str(caught.value)) == (
        error,
        message.replace(DIVISION, division_by_zero()),
    )
