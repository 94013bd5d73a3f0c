"""Repeats `x = (x * b).tanh()`: the cost of one operation, for one element to a million.

With few elements this is the overhead of the library. With many elements it is memory traffic.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..workload import Data, Steps

OPERATIONS_PER_LINK = 2  # the product and the tanh, without the sum at the end


def make_data(elements: int) -> Data:
    rng = np.random.default_rng(0)
    return {"x": rng.normal(size=elements), "b": rng.uniform(0.8, 1.2, size=elements)}


def in_torch(torch, data, *, links, factor_too):
    x = torch.from_numpy(data["x"]).requires_grad_()
    b = torch.from_numpy(data["b"]).requires_grad_(factor_too)
    leaves = (x, b) if factor_too else (x,)

    def step():
        y = x
        for _ in range(links):
            y = (y * b).tanh()
        y.sum().backward()
        gradients = [leaf.grad for leaf in leaves]
        for leaf in leaves:
            leaf.grad = None
        return gradients

    return step


def in_mygrad(mygrad, data, *, links, factor_too):
    x = mygrad.tensor(data["x"])
    b = mygrad.tensor(data["b"], constant=not factor_too)
    leaves = (x, b) if factor_too else (x,)

    def step():
        y = x
        for _ in range(links):
            y = mygrad.tanh(y * b)
        y.sum().backward()
        gradients = [leaf.grad for leaf in leaves]
        for leaf in leaves:
            leaf.null_grad()
        return gradients

    return step


def functional(numpy_like, grad, x, b, links, factor_too):
    """The chain for libraries that differentiate functions and do not record tensors."""

    def loss(x, b):
        for _ in range(links):
            x = numpy_like.tanh(x * b)
        return numpy_like.sum(x)

    gradient = grad(loss, (0, 1) if factor_too else (0,))
    return lambda: gradient(x, b)


def in_autograd(autograd, data, *, links, factor_too):
    import autograd.numpy as numpy_like

    return functional(numpy_like, autograd.grad, data["x"], data["b"], links, factor_too)


def in_jax(jax, data, *, links, factor_too):
    x, b = jax.numpy.asarray(data["x"]), jax.numpy.asarray(data["b"])
    gradient = functional(jax.numpy, jax.grad, x, b, links, factor_too)
    return lambda: jax.block_until_ready(gradient())


def in_numpy(numpy, data, *, links, factor_too):
    x, b = data["x"], data["b"]

    def step():
        results = [x]
        for _ in range(links):
            results.append(numpy.tanh(results[-1] * b))
        numpy.sum(results[-1])
        g = numpy.ones_like(x)
        g_b = numpy.zeros_like(b)
        while len(results) > 1:
            y = results.pop()
            g = g * (1 - y * y)
            if factor_too:
                g_b += g * results[-1]
            g = g * b
        return (g, g_b) if factor_too else (g,)

    return step


def forward_in_torch(torch, data, *, links):
    x = torch.from_numpy(data["x"]).requires_grad_()
    b = torch.from_numpy(data["b"])

    def step():
        y = x
        for _ in range(links):
            y = (y * b).tanh()
        return (y,)

    return step


def forward_in_mygrad(mygrad, data, *, links):
    x, b = mygrad.tensor(data["x"]), mygrad.tensor(data["b"], constant=True)

    def step():
        y = x
        for _ in range(links):
            y = mygrad.tanh(y * b)
        return (y.data,)

    return step


def forward_in_autograd(autograd, data, *, links):
    import autograd.numpy as numpy_like

    def chain(x):
        for _ in range(links):
            x = numpy_like.tanh(x * data["b"])
        return x

    record = autograd.make_vjp(chain)
    return lambda: record(data["x"])[1:]


def forward_in_jax(jax, data, *, links):
    x, b = jax.numpy.asarray(data["x"]), jax.numpy.asarray(data["b"])

    def chain(x):
        for _ in range(links):
            x = jax.numpy.tanh(x * b)
        return x

    return lambda: jax.block_until_ready(jax.vjp(chain, x)[:1])


def forward_in_numpy(numpy, data, *, links):
    def step():
        results = [data["x"]]  # a backward pass needs these values
        for _ in range(links):
            results.append(numpy.tanh(results[-1] * data["b"]))
        return results[-1:]

    return step


BOTH_WAYS = {
    "torch": in_torch,
    "autograd": in_autograd,
    "mygrad": in_mygrad,
    "jax": in_jax,
    "numpy": in_numpy,
}
FORWARD = {
    "torch": forward_in_torch,
    "autograd": forward_in_autograd,
    "mygrad": forward_in_mygrad,
    "jax": forward_in_jax,
    "numpy": forward_in_numpy,
}


def chain(name: str, title: str, elements: int, links: int, programs=BOTH_WAYS, **choices) -> Steps:
    return Steps(
        name=name,
        title=f"{title}, {links} times (x * b).tanh(), float64",
        data=partial(make_data, elements),
        programs={dialect: partial(program, links=links, **choices) for dialect, program in programs.items()},
        unit="operation",
        operations=OPERATIONS_PER_LINK * links,
    )


WORKLOADS = (
    chain("chain-1", "1 element", 1, 50, factor_too=False),
    chain("chain-100", "100 elements", 100, 50, factor_too=False),
    chain("chain-100-shared", "100 elements, b a leaf too", 100, 50, factor_too=True),
    chain("chain-1e4", "10^4 elements", 10**4, 10, factor_too=False),
    chain("chain-1e5", "10^5 elements", 10**5, 10, factor_too=False),
    chain("chain-1e6", "10^6 elements", 10**6, 5, factor_too=False),
    chain("forward-1", "1 element, forward only (recorded)", 1, 50, FORWARD),
    chain("forward-100", "100 elements, forward only (recorded)", 100, 50, FORWARD),
)
