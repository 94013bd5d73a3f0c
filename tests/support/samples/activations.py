"""Samples of activations, on both sides of their kinks and away from them."""

from __future__ import annotations

import numpy as np

from support.samples.draws import EMPTY, SCALAR, Sample, draw

#: Operations on real numbers only.
REAL_ONLY = {
    "celu",
    "elu",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "leaky_relu",
    "logsigmoid",
    "mish",
    "mish_gate",
    "normal_cdf",
    "prelu_kernel",
    "softplus",
    "softshrink",
    "threshold",
}

#: Domains of the inputs of elementwise operations.
DOMAINS: dict[str, tuple[float, float]] = dict.fromkeys(
    ("hardsigmoid", "hardswish", "silu", "mish", "gelu", "logsigmoid", "hardtanh"), (-5.0, 5.0)
)

#: Samples besides those derived from the signature.
MORE: dict[str, list[Sample]] = {
    "celu": [{"input": draw(6), "alpha": 1.7, "input_scale": 1 / 1.7}],
    "elu": [{"input": draw(6), "alpha": 0.3}, {"input": draw(6), "alpha": 1.67, "scale": 1.05}],
    "gelu": [{"input": draw(6, low=-3.0, high=3.0), "approximate": "tanh"}],
    "hardshrink": [{"input": draw(6), "lambd": 0.2}],
    "hardtanh": [{"input": draw(6, low=-3.0, high=3.0), "min_val": -0.5, "max_val": 2.0}],
    "leaky_relu": [{"input": draw(6), "negative_slope": -0.3}],
    "softplus": [{"input": draw(6), "beta": 3.0, "threshold": 1.0}],
    "softshrink": [{"input": draw(6), "lambd": 0.2}],
}

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "glu": [
        {"input": draw(2, 6)},
        {"input": draw(4, 3), "dim": 0},
        {"input": draw(0, 2), "dim": 1},
    ],
    "rrelu_with_noise": [
        {"input": draw(2, 3), "noise": np.array([[1.0, 0.2, 1.0], [0.3, 1.0, 0.25]])},
        {"input": SCALAR, "noise": np.array(0.3)},
    ],
    "threshold": [
        {"input": draw(2, 3), "threshold": 0.1, "value": 7.0},
        {"input": EMPTY, "threshold": 0.1, "value": 7.0},
        {"input": SCALAR, "threshold": -2.0, "value": 7.0},
    ],
}
