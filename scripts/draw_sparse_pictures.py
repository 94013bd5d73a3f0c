"""Draw the pictures of docs/sparse.md, from its own programs.

python scripts/draw_sparse_pictures.py
"""

from __future__ import annotations

from functools import partial

from matplotlib.figure import Figure
from page_programs import IMAGES
from page_programs import program_of as of_page

import adjoint

program_of = partial(of_page, "sparse.md")


def draw_fit() -> None:
    """The pattern of the Jacobian, enlarged in a corner, and the solution."""
    names = program_of("A fit with a differential equation")
    figure = Figure(figsize=(9, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    adjoint.sparse.spy(names["J"], left)
    left.set(xlim=(-0.5, 119.5), ylim=(119.5, -0.5))
    left.collections[0].set_sizes([4])
    image = right.imshow(names["solution"](names["fit"].x).T, origin="lower", extent=(0, 1, 0, 1))
    sensors = names["sensors"]
    right.plot(names["x"][sensors // names["n"]], names["x"][sensors % names["n"]], "w.", label="sensors")
    right.legend()
    right.set_title("the solution", fontsize=9)
    figure.colorbar(image)
    figure.savefig(IMAGES / "sparse-fit.png", dpi=80)


def draw_bundle() -> None:
    """The pattern of a part of the Jacobian: the first residuals."""
    names = program_of("Bundle adjustment")
    figure = Figure(figsize=(9, 3), layout="constrained")
    ax = adjoint.sparse.spy(names["J"], figure.add_subplot())
    ax.set(xlim=(-0.5, 299.5), ylim=(99.5, -0.5))
    ax.collections[0].set_sizes([3])
    figure.savefig(IMAGES / "sparse-bundle.png", dpi=80)


if __name__ == "__main__":
    draw_fit()
    draw_bundle()
