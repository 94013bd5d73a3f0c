"""A chain of 20,000 nodes with one element each, which measures almost only the engine."""

from __future__ import annotations

import numpy as np

from ..workload import Data, Steps

NODES = 20_000
LINKS = NODES // 2
FACTOR = 1.0001


def make_data() -> Data:
    return {"x": np.array([0.5])}


def walk(x):
    for _ in range(LINKS):
        x = x + 1.0
        x = x * FACTOR
    return x


def in_torch(torch, data):
    x = torch.from_numpy(data["x"]).requires_grad_()

    def step():
        walk(x).sum().backward()
        gradient, x.grad = x.grad, None
        return (gradient,)

    return step


def in_mygrad(mygrad, data):
    x = mygrad.tensor(data["x"])

    def step():
        walk(x).sum().backward()
        gradient = x.grad
        x.null_grad()
        return (gradient,)

    return step


def in_autograd(autograd, data):
    import autograd.numpy as numpy_like

    gradient = autograd.grad(lambda x: numpy_like.sum(walk(x)))
    return lambda: (gradient(data["x"]),)


def in_jax(jax, data):
    x = jax.numpy.asarray(data["x"])
    gradient = jax.grad(lambda x: walk(x).sum())
    return lambda: (jax.block_until_ready(gradient(x)),)


def in_numpy(numpy, data):
    def step():
        numpy.sum(walk(data["x"]))
        g = numpy.ones_like(data["x"])
        for _ in range(LINKS):  # an addition returns its cotangent unchanged
            g = g * FACTOR
        return (g,)

    return step


WORKLOADS = (
    Steps(
        name="deep-chain",
        title=f"{NODES:,} nodes in a line, x + 1 and x * {FACTOR}, 1 element, float64",
        data=make_data,
        programs={
            "torch": in_torch,
            "autograd": in_autograd,
            "mygrad": in_mygrad,
            "jax": in_jax,
            "numpy": in_numpy,
        },
        unit="operation",
        operations=NODES,
    ),
)
