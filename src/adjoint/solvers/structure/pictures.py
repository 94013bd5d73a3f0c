"""Pictures of patterns, by matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from adjoint.solvers.structure.colouring import Pattern
from adjoint.solvers.structure.derivatives import OfTrees

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SIZE = 4.0


def spy(matrix: Any, ax: Any = None) -> Axes:
    """Draw the entries of a matrix, with one colour for the entries of each product.

    Args:
        matrix: the result of `prepare_jacobian` or `prepare_hessian`, or a sparse or dense matrix, drawn in one colour.
        ax: matplotlib's Axes, by default of a new figure, which opens no window:
            `spy(J).figure.savefig("pattern.png")`.

    Returns the Axes. Raises ImportError if matplotlib is not installed.

    >>> import adjoint, numpy
    >>> J = adjoint.sparse.prepare_jacobian(lambda x: x[1:] * x[:-1], numpy.ones(8))
    >>> adjoint.sparse.spy(J).get_title()
    'Jacobian of 7×8, 14 entries, 2 colours of columns'
    """
    try:
        from matplotlib import colormaps
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("spy() needs the package matplotlib: pip install matplotlib") from error
    if ax is None:
        ax = Figure(figsize=(_SIZE, _SIZE), layout="constrained").add_subplot()
    is_derivative = isinstance(matrix, OfTrees)
    places = matrix.derivative.places if is_derivative else Pattern.of(matrix)
    colours = np.zeros(places.nnz, dtype=np.int64)
    for number, part in enumerate(matrix.derivative.parts if is_derivative else ()):
        before = sum([earlier.n_colours for earlier in matrix.derivative.parts[:number]])
        colours[part.entries] = part.colours + before
    m, n = places.shape
    # a square for each entry, as far as that can be seen
    side = max(0.5, 0.9 * 72 * 0.8 * _SIZE / max(m, n, 1))
    palette = np.asarray(colormaps["tab20" if colours.max(initial=0) > 9 else "tab10"].colors)
    ax.scatter(places.indices, places.rows, s=side**2, c=palette[colours % len(palette)], marker="s", linewidths=0)
    ax.set(xlim=(-0.5, n - 0.5), ylim=(m - 0.5, -0.5), aspect="equal")
    ax.xaxis.tick_top()
    size = f"{m}×{n}, {places.nnz} entries"
    ax.set_title(repr(matrix).strip("<>") if is_derivative else size, fontsize=9)
    return ax
