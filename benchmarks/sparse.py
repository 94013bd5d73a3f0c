"""Figures of sparse derivatives and products, as a section in Markdown.

    python -m benchmarks.sparse [--document docs/benchmarks.md]

Times are processor times, the least of several runs. The dense Jacobian is the vectorised one of `adjoint.jacobian`.
Its bundle adjustment is the largest one whose dense Jacobian and batch fit into a few gigabytes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse as scipy_sparse

import adjoint
from adjoint.solvers.structure.tracing import pattern

from .programs.document import with_section

N = 10**6
TITLE = "## Sparse matrices"
TEXT = """\
{title}

Written by `python -m benchmarks.sparse --document docs/benchmarks.md`. Times are those of the processor, the least of
several runs; [sparse.md](sparse.md) says what is measured.

| | |
|---|---:|
{rows}
"""


def seconds(call: Callable[[], Any], repeats: int = 5) -> float:
    """The shortest processor time of a call."""
    times = []
    for _ in range(repeats):
        start = process_time()
        call()
        times.append(process_time() - start)
    return min(times)


def band_matrix(x: Any) -> Any:
    return x[2:] - 2 * x[1:-1] + x[:-2] + x[1:-1] ** 3 * x[2:]


def residuals_of_rosenbrock(x: Any) -> Any:
    return adjoint.cat([10 * (x[1:] - x[:-1] ** 2), 1 - x[:-1]])


def bundle(cameras: int, points: int, n_observations: int) -> tuple[Callable[[Any], Any], dict[str, Any]]:
    """The residuals of a bundle adjustment, as in the data set "Bundle Adjustment in the Large", and its parameters."""
    rng = np.random.default_rng(0)
    who = rng.integers(0, cameras, n_observations)
    what = np.concatenate([np.arange(points), rng.integers(0, points, n_observations - points)])
    pictures = rng.standard_normal((n_observations, 2))

    def residuals(p: Any) -> Any:
        camera, spot = p["cameras"][who], p["points"][what]
        turn = camera[:, :3]
        angle = np.sqrt((turn**2).sum(1, keepdims=True) + 1e-12)
        axis = turn / angle
        along = (axis * spot).sum(1, keepdims=True) * (1 - np.cos(angle))
        spot = spot * np.cos(angle) + np.cross(axis, spot) * np.sin(angle) + axis * along + camera[:, 3:6]
        flat = -spot[:, :2] / spot[:, 2:3]
        square = (flat**2).sum(1, keepdims=True)
        return camera[:, 6:7] * flat * (1 + camera[:, 7:8] * square + camera[:, 8:9] * square**2) - pictures

    start = {"cameras": 0.1 * rng.standard_normal((cameras, 9)), "points": rng.standard_normal((points, 3)) + [0, 0, 9]}
    return residuals, start


def rows() -> list[tuple[str, str]]:
    """The figures."""
    result = []
    leaf = adjoint.rand(N, dtype=adjoint.float64, requires_grad=True)
    for name, f in (("a stencil", band_matrix), ("the residuals of Rosenbrock's function", residuals_of_rosenbrock)):
        evaluation, traced = seconds(lambda f=f: f(leaf)), seconds(lambda f=f: pattern(f, leaf, False))  # type: ignore[misc]
        result.append((f"pattern of {name}, 10^6 variables, in times of f", f"{traced / evaluation:.1f}"))
    small = np.ones(1000)
    info = adjoint.sparse.jacobian(lambda x: x[2:] - 2 * x[1:-1] + x[:-2], small, full_output=True)[1]
    result.append(("products of a tridiagonal Jacobian", str(info["passes"])))
    info = adjoint.sparse.hessian(lambda x: (x[0] * x[1:] ** 2).sum(), small, full_output=True)[1]
    result.append(("products of an arrow-shaped Hessian", str(info["passes"])))
    f, x = bundle(1000, 30_000, 120_000)
    result.append(("pattern and colouring of a bundle adjustment, 99,000 parameters, 240,000 residuals",
                   f"{seconds(lambda: adjoint.sparse.prepare_jacobian(f, x), 2):.2f} s"))  # fmt: skip
    J = adjoint.sparse.prepare_jacobian(f, x)
    result.append((f"its Jacobian, {J.colors} products", f"{seconds(lambda: J(x), 3):.2f} s"))
    f, x = bundle(50, 1500, 6000)
    flat, J = np.concatenate([part.reshape(-1) for part in x.values()]), adjoint.sparse.prepare_jacobian(f, x)
    n = x["cameras"].size

    def of_vector(v: Any) -> Any:
        return f({"cameras": v[:n].reshape(-1, 9), "points": v[n:].reshape(-1, 3)}).reshape(-1)

    dense = seconds(lambda: adjoint.func.jacfwd(of_vector)(flat), 1)
    ratio = dense / seconds(lambda: J(x), 3)
    result.append((f"dense over sparse Jacobian of a bundle adjustment, {len(flat):,} parameters", f"{ratio:.0f}"))
    result.append(
        ("A @ x and its gradient over SciPy's two products, tridiagonal, 10^6 rows", f"{product_ratio():.2f}")
    )
    return result


def product_ratio() -> float:
    """The time of A @ x forward and backward, divided by SciPy's time for A @ x and A.T @ g."""
    A = scipy_sparse.diags_array([1.0, -2.0, 1.0], offsets=[-1, 0, 1], shape=(N, N)).tocsr()
    transposed = A.T
    x, g = adjoint.rand(N, dtype=adjoint.float64, requires_grad=True), adjoint.ones(N, dtype=adjoint.float64)
    ours = seconds(lambda: (A @ x).backward(g), 9)
    plain, ones = x.detach().numpy(), g.numpy()
    return ours / seconds(lambda: (A @ plain, transposed @ ones), 9)


def main() -> None:
    lines = "\n".join([f"| {name} | {figure} |" for name, figure in rows()])
    text = TEXT.format(title=TITLE, rows=lines)
    print(text)
    if "--document" in sys.argv:
        path = Path(sys.argv[sys.argv.index("--document") + 1])
        path.write_text(with_section(path.read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    main()
