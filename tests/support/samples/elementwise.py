"""Samples of elementwise operations and of those that make arrays."""

from __future__ import annotations

import numpy as np

import adjoint
from adjoint.rules.elementwise import GATED
from support.samples.draws import EMPTY, ORDERED, SCALAR, Sample, draw, index, mask

#: Domains of the inputs of elementwise operations: (low, high) for all inputs, or by input.
DOMAINS: dict[str, tuple[float, float] | dict[str, tuple[float, float]]] = {
    "acos": (-0.8, 0.8),
    "acosh": (1.2, 3.0),
    "asin": (-0.8, 0.8),
    "atanh": (-0.8, 0.8),
    "fmod": {"input": (-3.0, 3.0), "other": (0.8, 1.3)},
    "hypot": (0.5, 2.0),
    "cbrt": (0.5, 2.0),
    "log": (0.5, 2.0),
    "log10": (0.5, 2.0),
    "log1p": (-0.5, 2.0),
    "log2": (0.5, 2.0),
    "pow": {"input": (0.5, 2.0), "exponent": (-2.0, 2.0)},
    "reciprocal": (0.5, 2.0),
    "floor_divide": {"input": (1.1, 1.9), "other": (0.95, 1.05)},
    "remainder": {"input": (-3.0, 3.0), "other": (0.8, 1.3)},
    "rsqrt": (0.5, 2.0),
    "trunc_divide": {"input": (1.1, 1.9), "other": (0.95, 1.05)},
    "sqrt": (0.5, 2.0),
    "true_divide": {"input": (-1.0, 1.0), "other": (0.5, 2.0)},
}

#: Operations on real numbers only.
REAL_ONLY = {
    "atan2",
    "cbrt",
    "ceil",
    "clamp",
    "clamp_max",
    "clamp_min",
    "complex",
    "floor",
    "floor_divide",
    "fmod",
    "hypot",
    "maximum",
    "minimum",
    "relu",
    "remainder",
    "round",
    "sign",
    "trunc",
    "trunc_divide",
}

#: Operations on complex numbers only.
COMPLEX_ONLY = {"imag"}

ON_INTEGERS = {
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
}

#: Samples besides those derived from the signature.
MORE: dict[str, list[Sample]] = {
    "add": [{"input": draw(2, 3), "other": draw(3), "alpha": 2.5}],
    "sub": [{"input": draw(2, 3), "other": draw(3), "alpha": 2.5}],
    "rsub": [{"input": draw(2, 3), "other": draw(3), "alpha": 2.5}],
    "mul": [{"input": draw(2, 3), "other": 2.5}],
    "true_divide": [{"input": draw(2, 3), "other": 2.5}, {"input": 2.5, "other": draw(3, low=0.5, high=2.0)}],
    "pow": [
        {"input": draw(2, 3), "exponent": 3},
        {"input": draw(4, low=0.5, high=2.0), "exponent": -1.5},
        {"input": 2.0, "exponent": draw(4)},
    ],
    "matmul": [
        {"input": draw(3), "other": draw(3)},
        {"input": draw(3), "other": draw(2, 3, 4)},
        {"input": draw(2, 4, 3), "other": draw(3)},
        {"input": draw(2, 1, 2, 3), "other": draw(4, 3, 2)},
        {"input": draw(2, 0), "other": draw(0, 3)},
    ],
}

GATES: list[Sample] = [
    {"grad": draw(2, 3, real=True), "input": draw(2, 3, real=True), "closed": mask(*[[True, False, True]] * 2)},
    {"grad": draw(2, real=True), "input": draw(2, real=True), "closed": mask(True, False), "slope": 0.5},
]

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "mul_number": [{"input": draw(2, 3), "other": 2.5}, {"input": SCALAR, "other": -3}, {"input": EMPTY, "other": 2}],
    "div_number": [{"input": draw(2, 3), "other": 2.5}, {"input": SCALAR, "other": -3}, {"input": EMPTY, "other": 2}],
    "clamp": [
        {"input": draw(2, 3), "min": draw(3, low=-0.5, high=-0.1), "max": draw(2, 1, low=0.1, high=0.5)},
        {"input": draw(4), "min": draw(4), "max": draw(4)},
        {"input": draw(4), "min": -0.25},
        {"input": draw(4), "max": draw(4)},
        {"input": EMPTY, "max": SCALAR},
        {"input": SCALAR, "min": SCALAR},
    ],
    "where": [
        {"condition": mask([True, False, True], [False, False, True]), "input": draw(2, 3), "other": draw(3)},
        {"condition": mask(True, False), "input": draw(3, 1), "other": draw()},
        {"condition": mask(True, False), "input": draw(2), "other": 0.5},
        {"condition": np.array(True), "input": SCALAR, "other": SCALAR},
    ],
    "complex": [
        {"real": draw(2, 3, real=True), "imag": draw(2, 3, real=True)},
        {"real": draw(2, 1, real=True), "imag": draw(3, real=True)},
        {"real": draw(real=True), "imag": draw(real=True)},
    ],
    "cast": [
        {"input": draw(2, 3), "dtype": adjoint.float64},
        {"input": draw(2, 3), "dtype": adjoint.complex128},
    ],
    "move": [{"input": draw(2, 3), "target": adjoint.device("cpu"), "source": adjoint.device("cpu")}],
    "copy": [
        {"input": draw(2, 3), "other": draw(3)},
        {"input": draw(2, 3), "other": draw(2, 3)},
        {"input": SCALAR, "other": SCALAR},
        {"input": EMPTY, "other": EMPTY},
    ],
    "clone_with_strides": [
        {"input": draw(2, 3), "strides": None},
        {"input": draw(2, 3, 4), "strides": (1, 12, 3)},
        {"input": draw(2, 3), "strides": (1, 2)},
        {"input": draw(2, 3), "strides": (3, -1)},
        {"input": draw(2, 3, 2), "strides": (-1, 9, -3)},
    ],
    **{f"{name}_backward": GATES for name in GATED},
    "clamp_min": [{"input": draw(2, 3), "min": draw(3)}, {"input": draw(4), "min": -0.25}],
    "clamp_max": [{"input": draw(2, 3), "max": draw(3)}, {"input": draw(4), "max": 0.25}],
    "fill": [{"input": draw(2, 3), "value": draw()}, {"input": SCALAR, "value": SCALAR}],
    # constants
    "full_like": [{"input": draw(2, 3), "fill_value": 2.0}],
    "zeros_of": [{"input": draw(2, 3), "shape": (4,)}],
    "identity": [{"like": draw(2, 3), "rows": 2, "columns": 3}],
    **{name: [{"input": index([5, 6], [7, 8]), "other": index(3, 9)}] for name in ON_INTEGERS},
    "bitwise_not": [{"input": index([5, 6], [7, 8])}],
    **{
        name: [{"input": mask([True, False], [True, True])}, {"input": ORDERED, "dim": 1, "keepdim": True}]
        for name in ("any", "all")
    },
    "count_nonzero": [{"input": index([0, 6], [7, 8])}, {"input": index([0, 6], [7, 8]), "dim": 1}],
    **{name: [{"input": ORDERED}, {"input": ORDERED, "dim": 1, "keepdim": True}] for name in ("argmax", "argmin")},
    "argsort": [{"input": ORDERED}, {"input": ORDERED, "dim": 1, "descending": True}],
}
