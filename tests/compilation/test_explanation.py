"""Explanations of compiled functions: text, guards, times, and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import adjoint


def record(**options: Any) -> tuple[Any, tuple[Any, ...]]:
    """A compiled function with two calls and two regions, and its arguments."""
    compiled = adjoint.compile(lambda x, w: (x @ w).tanh().sum(1) @ w[0].exp(), **options)
    arguments = adjoint.ones(8, 5), adjoint.ones(5, 8)
    compiled(*arguments)
    return compiled, arguments


def test_a_picture_shows_regions_and_what_they_take() -> None:
    compiled, arguments = record()
    explanation = compiled.explain(*arguments)
    assert explanation.drawing is not None
    boxes, arrows = explanation.drawing.boxes, explanation.drawing.arrows
    assert len(boxes) == len(explanation.regions)
    assert all(line in box.text for line, box in zip(explanation.regions, boxes, strict=True))
    numbers = {word: k for k, box in enumerate(boxes) for word in ("tanh", "exp") if word in box.text}
    products = [k for k, box in enumerate(boxes) if "matmul" in box.text]
    assert [box.kind for box in boxes].count("call") == len(products) == 2
    assert (products[0], numbers["tanh"]) in arrows and (numbers["exp"], products[1]) in arrows
    assert all(source < target for source, target in arrows)


def test_a_picture_is_written_and_shown(tmp_path: Path) -> None:
    compiled, arguments = record()
    explanation = compiled.explain(*arguments)
    explanation.drawing.save(str(tmp_path / "program.dot"))
    assert (tmp_path / "program.dot").read_text().startswith("digraph program {")
    text = explanation._repr_mimebundle_()
    assert text["text/plain"] == str(explanation) and len(text) == 2


def test_what_runs_as_it_is_has_no_picture() -> None:
    compiled = adjoint.compile(lambda x: x * 2 if x.numpy()[0] > 0 else x)
    x = adjoint.ones(2)
    with pytest.warns(UserWarning, match="without a recording"):
        compiled(x)
    explanation = compiled.explain(x)
    assert explanation.drawing is None and set(explanation._repr_mimebundle_()) == {"text/plain"}
