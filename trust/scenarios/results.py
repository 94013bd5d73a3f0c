"""Results in a file of NumPy: python -m trust.scenarios.results POINTS FILE

The results are functions and slopes at the points of measurement, reductions, and networks, by name. `trust.kinds`
compares the results of processes with different values of ADJOINT_CPU, the kind of processor.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import adjoint
from adjoint.core.recorded import operations
from trust import exact_sums
from trust.libraries import DTYPES, with_slopes
from trust.points import arguments_of
from trust.references import REFERENCES

#: Shapes whose rows are whole vectors on all kinds of processor, and on none.
SIZES = ((3, 7), (64, 64), (5, 1, 33))

#: The beginnings of names of results whose elements are sums of other elements.
NETWORK = "rows, "

F = adjoint.nn.functional


def functions(points: int) -> Iterator[tuple[str, list[Any]]]:
    for reference in REFERENCES:
        for dtype in DTYPES:
            arguments = arguments_of(reference.label, reference.ranges, dtype, points)
            yield f"{reference.label} {dtype}", with_slopes(adjoint, operations[reference.rule], arguments, reference)


def reductions() -> Iterator[tuple[str, list[Any]]]:
    for dtype in DTYPES:
        for title, values in exact_sums.data(dtype).items():
            for case in exact_sums.CASES:
                yield f"{case.name}, {title} {dtype}", [case.ours(adjoint.tensor(values)).numpy()]


def lstm(x: Any) -> Any:
    rng = np.random.default_rng(0)
    weights, hidden = [adjoint.tensor(rng.normal(size=(4 * 8, n))).to(x.dtype) for n in (x.shape[-1], 8)]
    state = adjoint.zeros(1, x.shape[0], 8, dtype=x.dtype)
    rows = x.reshape(x.shape[0], -1, x.shape[-1]).transpose(0, 1)
    return adjoint.lstm(rows, (state, state), [weights, hidden], False, 1, 0.0, False, False, False)[0]


NETWORKS: dict[str, Any] = {
    "softmax": lambda x: F.softmax(x, -1),
    "log_softmax": lambda x: F.log_softmax(x, -1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda x: F.rms_norm(x, x.shape[-1:]),
    "chain": lambda x: (x.sin() * adjoint.exp(-x * x) + adjoint.tanh(x)).sum(0),
    "huber_loss": lambda x: F.huber_loss(x, adjoint.zeros_like(x), reduction="none"),
    "logcumsumexp": lambda x: x.logcumsumexp(-1),
    "cumprod": lambda x: x.cumprod(-1),
    "norm": lambda x: x.norm(dim=-1),
    "lstm": lstm,
}


def networks() -> Iterator[tuple[str, list[Any]]]:
    rng = np.random.default_rng(0)
    for shape in SIZES:
        values = rng.normal(size=shape)
        for name, function in NETWORKS.items():
            for dtype in DTYPES:
                x = adjoint.tensor(values.astype(dtype)).requires_grad_()
                y = function(x)
                cotangent = adjoint.tensor(np.cos(np.arange(y.numel())).reshape(y.shape).astype(dtype))
                (slope,) = adjoint.autograd.grad(y, [x], cotangent)
                yield f"{NETWORK}{name} {shape} {dtype}", [y.detach().numpy(), slope.numpy()]


def main(points: int, file: str) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        every: dict[str, Any] = {
            f"{name}, {what}": np.array(array)
            for part in (functions(points), reductions(), networks())
            for name, arrays in part
            for what, array in zip(("value", "slope", "second slope", "third slope"), arrays, strict=False)
            if array is not None
        }
    np.savez(file, **every)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
