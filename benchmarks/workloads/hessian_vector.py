"""A Hessian-vector product of f(x) = sum(tanh(W x)^2), by differentiating the gradient.

By hand, with t = tanh(W x): the gradient is W^T [2 t (1 - t^2)], and its derivative along v is
W^T [(2 - 6 t^2) (1 - t^2) * (W v)].
"""

from __future__ import annotations

import numpy as np

from ..workload import Data, Steps

ROWS, COLUMNS = 64, 32  # so small that no threads are used, and the time is that of the second backward pass


def make_data() -> Data:
    rng = np.random.default_rng(0)
    return {
        "w": rng.normal(size=(ROWS, COLUMNS)) / COLUMNS**0.5,
        "x": rng.normal(size=COLUMNS),
        "v": rng.normal(size=COLUMNS),
    }


def in_torch(torch, data):
    w, v = torch.from_numpy(data["w"]), torch.from_numpy(data["v"])
    x = torch.from_numpy(data["x"]).requires_grad_()

    def step():
        t = (w @ x).tanh()
        (gradient,) = torch.autograd.grad((t * t).sum(), x, create_graph=True)
        return torch.autograd.grad((gradient * v).sum(), x)

    return step


def functional(numpy_like, grad, w, x, v):
    def f(x):
        t = numpy_like.tanh(w @ x)
        return numpy_like.sum(t * t)

    gradient = grad(f)
    product = grad(lambda x: numpy_like.sum(gradient(x) * v))
    return lambda: (product(x),)


def in_autograd(autograd, data):
    import autograd.numpy as numpy_like

    return functional(numpy_like, autograd.grad, data["w"], data["x"], data["v"])


def in_jax(jax, data):
    w, x, v = (jax.numpy.asarray(data[name]) for name in ("w", "x", "v"))
    product = functional(jax.numpy, jax.grad, w, x, v)
    return lambda: jax.block_until_ready(product())


def in_numpy(numpy, data):
    w, x, v = data["w"], data["x"], data["v"]

    def step():
        t = numpy.tanh(w @ x)
        square = t * t
        slope = (2 - 6 * square) * (1 - square)
        return (w.T @ (slope * (w @ v)),)

    return step


WORKLOADS = (
    Steps(
        name="hessian-vector",
        title=f"Hessian-vector product of sum(tanh(W x)^2), W {ROWS} x {COLUMNS}, float64",
        data=make_data,
        # mygrad has no second derivatives
        programs={"torch": in_torch, "autograd": in_autograd, "jax": in_jax, "numpy": in_numpy},
    ),
)
