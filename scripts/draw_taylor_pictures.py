"""Draw the pictures of docs/taylor.md, from its own programs.

python scripts/draw_taylor_pictures.py
"""

from __future__ import annotations

from functools import partial

from matplotlib.figure import Figure
from page_programs import IMAGES
from page_programs import program_of as of_page

import adjoint

program_of = partial(of_page, "taylor.md")


def draw_pendulum() -> None:
    """The angle over time, and the error of the energy by series and by Runge-Kutta."""
    names = program_of("A pendulum by its Taylor series")
    times, start = names["times"], names["start"].detach()
    figure = Figure(figsize=(9, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(times.numpy(), names["path"].detach().numpy()[:, 0])
    left.set(xlabel="time", ylabel="angle")
    for method, tolerance in (("taylor", 1e-14), ("dopri5", 1e-7)):
        path = names["odeint"](names["pendulum"], start, times, method=method, rtol=tolerance, atol=tolerance)
        error = (names["energy"](path) - names["energy"](start)).abs().numpy() + 1e-17
        right.semilogy(times.numpy(), error, label=f"{method}, tolerance {tolerance:g}")
    right.set(xlabel="time", ylabel="error of the energy")
    right.legend()
    figure.savefig(IMAGES / "taylor-pendulum.png", dpi=80)


def draw_pinn() -> None:
    """What the network learnt, and its loss."""
    names = program_of("A Laplacian in a physics-informed network")
    side = adjoint.linspace(0.0, 1.0, 41, dtype=adjoint.float64)
    points = adjoint.cartesian_prod(side, side)
    with adjoint.no_grad():
        values = adjoint.vmap(names["u"])(points).reshape(41, 41).numpy()
    figure = Figure(figsize=(9, 3), layout="constrained")
    left, right = figure.subplots(1, 2)
    figure.colorbar(left.imshow(values, origin="lower", extent=(0, 1, 0, 1)), ax=left)
    right.semilogy(names["losses"])
    right.set(xlabel="step", ylabel="squared residual")
    figure.savefig(IMAGES / "taylor-pinn.png", dpi=80)


def draw_budget() -> None:
    """The planned memory over the forward and the backward pass."""
    figure = Figure(figsize=(9, 3), layout="constrained")
    program_of("A network trained in 40 % of its memory")["plan"].plot(figure.subplots())
    figure.savefig(IMAGES / "taylor-budget.png", dpi=80)


def draw_disk() -> None:
    """The planned memory with a disk."""
    program_of("Saved arrays on disk")["picture"].save(IMAGES / "taylor-disk.svg")


if __name__ == "__main__":
    draw_pendulum()
    draw_pinn()
    draw_budget()
    draw_disk()
