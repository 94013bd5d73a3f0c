"""Errors for wrong arguments have PyTorch's messages: expressions, errors, messages (data/messages.json).

In the expressions A is adjoint, F its nn.functional, and o(*shape) are ones.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import adjoint

ROWS = json.loads((Path(__file__).parent / "data" / "messages.json").read_text())
NAMES = {"A": adjoint, "F": adjoint.nn.functional, "o": adjoint.ones}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("expression", "error", "message"), ROWS, ids=[row[0] for row in ROWS])
def test_message(expression: str, error: str, message: str) -> None:
    with pytest.raises(Exception) as caught:
        eval(expression, dict(NAMES))
    assert (type(caught.value).__name__, str(caught.value)) == (error, message)
