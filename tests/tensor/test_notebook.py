"""HTML of tensors and arrays in a notebook: it can be parsed, and has the attributes and a picture of the values."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import adjoint

VALUES: list[Any] = [
    np.arange(5.0), np.arange(1000.0), np.array([1.0, np.nan, np.inf, 2.0]), np.ones((3, 4)), np.eye(100),
    np.arange(6).reshape(2, 3), np.array([[np.nan, 1.0], [2.0, 3.0]]), np.full((2, 2), np.nan), np.zeros((0, 3)),
    np.array(2.0), np.ones((2, 2, 2)), np.array([1 + 2j, 3.0]), np.array([True, False]),
]  # fmt: skip


def parse(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html.replace("&middot;", "").replace("<br>", "<br/>"))


@pytest.mark.parametrize("values", VALUES, ids=lambda v: f"{v.dtype}{v.shape}")
def test_pages_parse_and_say_shape_and_dtype(values: Any) -> None:
    tree = parse(adjoint.from_numpy(values)._repr_html_())
    facts = tree.findtext("small")
    assert facts is not None and str(values.shape) in facts and str(adjoint.from_numpy(values).dtype) in facts
    has_picture = values.dtype.kind in "fi" and values.ndim in (1, 2) and values.size > 1 and np.isfinite(values).any()
    assert (tree.find("svg") is not None) == bool(has_picture)
    assert "nan" not in ElementTree.tostring(tree.find("svg"), "unicode") if has_picture else True


def test_long_axes_are_thinned() -> None:
    assert len(parse(adjoint.eye(100)._repr_html_()).findall("svg/rect")) == 24 * 24
    path = parse(adjoint.arange(10_000.0)._repr_html_()).find("svg/path")
    assert path is not None and path.attrib["d"].count("L") == 199


def test_history_is_named() -> None:
    x = adjoint.ones(2, requires_grad=True)
    assert "leaf, requires grad" in x._repr_html_() and "history: ExpBackward0" in x.exp()._repr_html_()
    pages: list[str] = []
    adjoint.grad(lambda x: (pages.append((x * 2)._repr_html_()), x.sum())[1])(np.ones(3))
    assert "history: MulBackward0" in pages[0] and "Array([2., 2., 2.])" in pages[0]
