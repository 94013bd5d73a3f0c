"""How a notebook shows a tensor or an array: its facts, a small picture of the values, and its text."""

from __future__ import annotations

from typing import Any

import numpy

#: The most points of a line, and the most cells along an axis of a map; longer axes are thinned out.
POINTS, CELLS = 200, 24
WIDTH, HEIGHT = 160, 60

#: The colours of the smallest and of the largest value, and of values that are not finite, as red, green and blue.
LOW, HIGH, NOT_FINITE = (68, 1, 84), (253, 231, 37), (160, 160, 160)


def page(facts: list[str], array: Any, text: str) -> str:
    """The HTML of an array: facts, a picture if it has one or two axes of real numbers, its text.

    >>> page(["shape (2,)"], numpy.ones(2), "array([1., 1.])").startswith("<div><small>shape (2,)</small>")
    True
    """
    # imported only here: few programs draw pages, and all import this file
    from html import escape

    line = " &middot; ".join(escape(fact) for fact in facts)
    return f"<div><small>{line}</small>{picture(array)}<pre>{escape(text)}</pre></div>"


def picture(array: Any) -> str:
    """A line for a vector, a map for a matrix, as SVG; None for other arrays, and for arrays without numbers."""
    if type(array) is not numpy.ndarray or array.dtype.kind not in "fiu" or array.size < 2 or array.ndim not in (1, 2):
        return ""
    values = thin(array.astype(numpy.float64), POINTS if array.ndim == 1 else CELLS)
    if not numpy.isfinite(values).any():
        return ""
    drawing = line_of(values) if values.ndim == 1 else map_of(values)
    return f'<br><svg width="{WIDTH}" height="{HEIGHT}" preserveAspectRatio="none" {drawing}</svg>'


def thin(values: Any, most: int) -> Any:
    """The values at evenly spaced positions, so many at most along each axis."""
    for axis, n in enumerate(values.shape):
        values = values.take(numpy.linspace(0, n - 1, min(n, most)).round().astype(int), axis)
    return values


def relative(values: Any) -> Any:
    """The values between the least and the greatest finite one, as numbers from 0 to 1."""
    finite = values[numpy.isfinite(values)]
    span = finite.max() - finite.min()
    return (values - finite.min()) / span if span > 0 else numpy.where(numpy.isfinite(values), 0.5, numpy.nan)


def line_of(values: Any) -> str:
    """A line through the finite values, with gaps at the others."""
    heights = HEIGHT * (0.95 - 0.9 * relative(values))
    paths, drawing = [], False
    for x, y in zip(numpy.linspace(0, WIDTH, len(values)), heights, strict=True):
        if numpy.isfinite(y):
            paths.append(f"{'L' if drawing else 'M'}{x:.1f} {y:.1f}")
        drawing = bool(numpy.isfinite(y))
    return f'viewBox="0 0 {WIDTH} {HEIGHT}"><path d="{" ".join(paths)}" fill="none" stroke="steelblue"/>'


def map_of(values: Any) -> str:
    """A cell for each value, dark for small ones and bright for large ones."""
    n_rows, n_columns = values.shape
    cells = [
        f'<rect x="{j}" y="{i}" width="1.02" height="1.02" fill="rgb{colour(value)}"/>'
        for i, row in enumerate(relative(values))
        for j, value in enumerate(row)
    ]
    return f'viewBox="0 0 {n_columns} {n_rows}">{"".join(cells)}'


def colour(value: float) -> tuple[int, ...]:
    """The colour of a number from 0 to 1.

    >>> colour(0.0), colour(1.0)
    ((68, 1, 84), (253, 231, 37))
    """
    if not numpy.isfinite(value):
        return NOT_FINITE
    return tuple(round(low + (high - low) * float(value)) for low, high in zip(LOW, HIGH, strict=True))
