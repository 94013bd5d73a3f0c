"""Newton's method in 200 dimensions
=================================

Newton's method for the Rosenbrock function of 200 variables. One batched pass gives each exact Hessian."""

import numpy as np
from rich.progress import Progress

import adjoint

N, MOST_STEPS = 200, 50


def rosenbrock(x: adjoint.Tensor) -> adjoint.Tensor:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def main() -> None:
    f = adjoint.optimize.scipy_function(rosenbrock)
    x = np.random.default_rng(0).uniform(0.5, 1.5, N)
    with Progress(transient=True) as progress:
        task = progress.add_task("Newton's method", total=None)
        for steps in range(MOST_STEPS):
            gradient, hessian = f.jac(x), f.hess(x)
            if np.linalg.norm(gradient) < 1e-10:
                break
            # far from the minimum the Hessian may be indefinite, so change the signs of its negative eigenvalues
            values, vectors = np.linalg.eigh(hessian)
            step = vectors @ ((vectors.T @ gradient) / np.maximum(np.abs(values), 1e-8))
            length = 1.0
            while f.fun(x - length * step) > f.fun(x) - 1e-4 * length * (gradient @ step) and length > 1e-12:
                length /= 2
            x = x - length * step
            progress.update(task, completed=steps + 1)
    print(f"{N} variables: {steps} steps, f = {f.fun(x):.1e}, |gradient| = {np.linalg.norm(f.jac(x)):.1e}")
    assert np.linalg.norm(f.jac(x)) < 1e-10
    corner = [[802.0, -400.0, 0.0], [-400.0, 1002.0, -400.0], [0.0, -400.0, 1002.0]]
    assert np.allclose(f.hess(x)[:3, :3], corner)


if __name__ == "__main__":
    main()
