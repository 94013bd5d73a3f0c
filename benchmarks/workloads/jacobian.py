"""Jacobians: of a small function row by row, and of a larger one with all rows in one batch."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..workload import Data, Steps


def make_data(size: int) -> Data:
    rng = np.random.default_rng(0)
    return {"w": rng.normal(size=(size, size)) / size**0.5, "x": rng.normal(size=size)}


def in_torch(torch, data, *, vectorize):
    w, x = torch.from_numpy(data["w"]), torch.from_numpy(data["x"])
    jacobian = torch.autograd.functional.jacobian
    return lambda: (jacobian(lambda x: (w @ x).tanh() * x, x, vectorize=vectorize),)


def in_autograd(autograd, data, *, vectorize):
    import autograd.numpy as numpy_like

    jacobian = autograd.jacobian(lambda x: numpy_like.tanh(numpy_like.dot(data["w"], x)) * x)
    return lambda: (jacobian(data["x"]),)


def in_numpy(numpy, data, *, vectorize):
    w, x = data["w"], data["x"]

    def step():
        t = numpy.tanh(w @ x)
        return (numpy.diag(t) + ((1 - t * t) * x)[:, None] * w,)

    return step


def jacobian(name: str, title: str, size: int, vectorize: bool) -> Steps:
    programs = {"torch": in_torch, "autograd": in_autograd, "numpy": in_numpy}
    return Steps(
        name=name,
        title=f"Jacobian of tanh(W x) * x, {size} x {size}, {title}, float64",
        data=partial(make_data, size),
        programs={dialect: partial(program, vectorize=vectorize) for dialect, program in programs.items()},
    )


WORKLOADS = (
    jacobian("jacobian-loop", "row by row", 10, False),
    jacobian("jacobian-vectorised", "all rows at once", 200, True),
)
