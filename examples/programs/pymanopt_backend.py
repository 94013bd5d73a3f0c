"""A backend for optimisation on manifolds
=======================================

A pymanopt backend: cost functions on manifolds, written with tensors, with gradients and Hessians from adjoint.

pymanopt's backends provide a function of arrays, its gradient, and its Hessian times a vector.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pymanopt
from pymanopt.autodiff import backend_decorator_factory
from pymanopt.autodiff.backends._backend import Backend
from pymanopt.manifolds import Product, Sphere, Stiefel
from pymanopt.optimizers import TrustRegions

import adjoint
from adjoint import Tensor

Cost = Callable[..., Tensor]


class AdjointBackend(Backend):
    """Derivatives by adjoint, for any number of array arguments, real or complex."""

    def __init__(self) -> None:
        super().__init__("adjoint")

    @staticmethod
    def is_available() -> bool:
        return True

    def prepare_function(self, function: Cost) -> Callable[..., float]:
        return lambda *arrays: function(*map(adjoint.from_numpy, arrays)).item()

    def generate_gradient_operator(self, function: Cost, num_arguments: int) -> Callable[..., Any]:
        gradient = adjoint.func.grad(function, argnums=tuple(range(num_arguments)))
        return lambda *arrays: unpack(gradient(*map(adjoint.from_numpy, arrays)))

    def generate_hessian_operator(self, function: Cost, num_arguments: int) -> Callable[..., Any]:
        gradient = adjoint.func.grad(function, argnums=tuple(range(num_arguments)))

        def product(*arrays: np.ndarray) -> Any:
            tensors = tuple(map(adjoint.from_numpy, arrays))
            point, vector = tensors[:num_arguments], tensors[num_arguments:]
            return unpack(adjoint.func.jvp(gradient, point, vector)[1])

        return product


def unpack(tensors: tuple[Tensor, ...]) -> Any:
    """The arrays in a list, or the array itself if there is only one."""
    arrays = [tensor.numpy() for tensor in tensors]
    return arrays[0] if len(arrays) == 1 else arrays


on = backend_decorator_factory(AdjointBackend)


def main() -> None:
    rng = np.random.default_rng(0)
    half = rng.normal(size=(30, 30))
    array = half @ half.T
    matrix = adjoint.from_numpy(array)

    # the subspace of the largest eigenvalues; different weights put the eigenvectors in order
    weights = adjoint.tensor([3.0, 2.0, 1.0], dtype=adjoint.float64)
    manifold = Stiefel(30, 3)

    @on(manifold)
    def cost(x: Tensor) -> Tensor:
        return -((x * (matrix @ x)).sum(0) * weights).sum()

    solver = TrustRegions(verbosity=0, min_gradient_norm=1e-9)
    result = solver.run(pymanopt.Problem(manifold, cost), initial_point=np.linalg.qr(rng.normal(size=(30, 3)))[0])
    values = np.sum(result.point * (array @ result.point), axis=0)
    exact = np.linalg.eigvalsh(array)[:-4:-1]
    print(f"Stiefel manifold, {result.iterations} steps: eigenvalues {values.round(6)}, LAPACK {exact.round(6)}")
    assert np.allclose(values, exact, rtol=1e-8)

    # two arguments: the best approximation of rank one
    other = adjoint.from_numpy(half[:, :20].copy())
    spheres = Product([Sphere(30), Sphere(20)])

    @on(spheres)
    def loss(u: Tensor, v: Tensor) -> Tensor:
        return -((u @ (other @ v)) ** 2)

    start = [u / np.linalg.norm(u) for u in (rng.normal(size=30), rng.normal(size=20))]
    u, v = solver.run(pymanopt.Problem(spheres, loss), initial_point=start).point
    value, largest = abs(u @ half[:, :20] @ v), np.linalg.svd(half[:, :20])[1][0]
    print(f"product of spheres: singular value {value:.8f}, LAPACK {largest:.8f}")
    assert np.isclose(value, largest, rtol=1e-8)


if __name__ == "__main__":
    main()
