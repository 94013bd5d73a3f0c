"""docs/numpy-and-torch.md: each row of its table, on arrays and on tensors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.core.graph import TensorBase

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numpy-and-torch.md"
ROWS = re.findall(r"^\| `(.*?)` \| (.*?) \| (.*?) \|$", PAGE.read_text(), re.MULTILINE)
X = np.array([1.0, 2.0, 3.0, 4.0])


def message_of(expression: str, x: Any, m: Any) -> Any:
    """The result of an expression as the page writes it."""
    try:
        result = eval(expression, {"x": x, "m": m, "np": np, "adjoint": adjoint})
    except (AttributeError, TypeError, ValueError, RuntimeError) as error:
        return type(error).__name__
    if callable(result) and not isinstance(result, (TensorBase, adjoint.numpy.Array)):
        return "a method"
    if isinstance(result, tuple):
        return f"a pair: {', '.join(result._fields)}"
    return result.detach().tolist() if isinstance(result, TensorBase) else adjoint.numpy.detach(result)


def agree(result: Any, text: str) -> bool:
    if isinstance(result, str):
        return result == text
    return np.allclose(result, np.array(eval(text)), atol=1e-3) and np.shape(result) == np.shape(eval(text))


@pytest.mark.parametrize(("expression", "on_arrays", "on_tensors"), ROWS, ids=[row[0] for row in ROWS])
def test_row(expression: str, on_arrays: str, on_tensors: str) -> None:
    notes: list[Any] = []

    def differentiate(x: Any) -> Any:
        notes.append(message_of(expression, x, x.reshape(2, 2)))
        return x.sum()

    adjoint.grad(differentiate)(X)
    adjoint.grad(differentiate)(adjoint.from_numpy(X))
    assert agree(notes[0], on_arrays), f"arrays: {notes[0]}"
    assert agree(notes[1], on_tensors), f"tensors: {notes[1]}"


def test_there_are_rows_that_differ() -> None:
    assert sum(on_arrays != on_tensors for _, on_arrays, on_tensors in ROWS) > 12
