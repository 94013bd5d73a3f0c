"""Samples of fused arithmetic, parts of numbers, integers and bits."""

from __future__ import annotations

import numpy as np

from support.samples.draws import EMPTY, SCALAR, Sample, draw, index

#: Domains of the inputs of elementwise operations: (low, high) for all inputs, or by input.
DOMAINS: dict[str, tuple[float, float] | dict[str, tuple[float, float]]] = {
    "addcdiv": {"input": (-1.0, 1.0), "tensor1": (-1.0, 1.0), "tensor2": (0.5, 2.0)},
    "frexp": (0.6, 0.9),
}

#: Operations on real numbers only.
REAL_ONLY = {
    "copysign",
    "deg2rad",
    "fmax",
    "fmin",
    "frac",
    "frexp",
    "heaviside",
    "logaddexp2",
    "nextafter",
    "polar",
    "rad2deg",
    "times_power_of_two",
}

_WHOLE = [{"input": index([12, -7], [0, 8]), "other": index(3, 9)}, {"input": index(5), "other": index(2)}]

#: Samples besides those derived from the signature.
MORE: dict[str, list[Sample]] = {
    "addcmul": [{"input": draw(2, 3), "tensor1": draw(3), "tensor2": draw(2, 1), "value": 2.5}],
    "addcdiv": [{"input": draw(2, 3), "tensor1": draw(3), "tensor2": draw(2, 1, low=0.5, high=2.0), "value": 2.5}],
    "lerp": [{"input": draw(2, 3), "end": draw(3), "weight": weight} for weight in (0.25, 0.75)],
    "copysign": [{"input": draw(2, 3), "other": -2.5}],
    "nan_to_num": [{"input": draw(4), "nan": 1.0, "posinf": 2.0, "neginf": 3.0}],
}

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "times_power_of_two": [
        {"input": draw(2, 3), "exponent": np.array([1, -2, 0], dtype=np.int32)},
        {"input": SCALAR, "exponent": np.array(3, dtype=np.int32)},
        {"input": EMPTY, "exponent": np.zeros((0, 3), dtype=np.int32)},
    ],
    **dict.fromkeys(("bitwise_left_shift", "bitwise_right_shift", "gcd", "lcm"), _WHOLE),
}
