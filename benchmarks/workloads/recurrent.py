"""A recurrent network of 100 small steps: h = tanh(W h + U x + b), the sum of the last state, gradients of W, U, b."""

from __future__ import annotations

import numpy as np

from ..workload import Data, Steps

STEPS, WIDTH, INPUTS = 100, 16, 8
PARAMETERS = ("w", "u", "b")


def make_data() -> Data:
    rng = np.random.default_rng(0)
    return {
        "w": rng.normal(size=(WIDTH, WIDTH)) / WIDTH**0.5,
        "u": rng.normal(size=(WIDTH, INPUTS)) / INPUTS**0.5,
        "b": 0.1 * rng.normal(size=WIDTH),
        "x": rng.normal(size=(STEPS, INPUTS)),
    }


def in_torch(torch, data):
    parameters = [torch.from_numpy(data[name]).requires_grad_() for name in PARAMETERS]
    w, u, b = parameters
    inputs = list(torch.from_numpy(data["x"]))

    def step():
        h = b
        for x in inputs:
            h = (w @ h + u @ x + b).tanh()
        return torch.autograd.grad(h.sum(), parameters)

    return step


def in_autograd(autograd, data):
    import autograd.numpy as numpy_like

    def loss(parameters):
        w, u, b = parameters
        h = b
        for x in data["x"]:
            h = numpy_like.tanh(numpy_like.dot(w, h) + numpy_like.dot(u, x) + b)
        return numpy_like.sum(h)

    gradient = autograd.grad(loss)
    parameters = [data[name] for name in PARAMETERS]
    return lambda: gradient(parameters)


def in_numpy(numpy, data):
    w, u, b = (data[name] for name in PARAMETERS)
    inputs = list(data["x"])

    def step():
        states = [b]
        for x in inputs:
            states.append(numpy.tanh(w @ states[-1] + u @ x + b))
        states[-1].sum()
        g = numpy.ones_like(b)
        g_w, g_u, g_b = numpy.zeros_like(w), numpy.zeros_like(u), numpy.zeros_like(b)
        for k in range(STEPS - 1, -1, -1):
            h = states[k + 1]
            g = g - g * h * h
            g_w += numpy.outer(g, states[k])
            g_u += numpy.outer(g, inputs[k])
            g_b += g
            g = w.T @ g
        return g_w, g_u, g_b + g  # the first state is b itself

    return step


WORKLOADS = (
    Steps(
        name="recurrent",
        title=f"{STEPS} steps of tanh(W h + U x + b), width {WIDTH}, float64",
        data=make_data,
        programs={"torch": in_torch, "autograd": in_autograd, "numpy": in_numpy},
    ),
)
