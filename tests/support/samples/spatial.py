"""Samples of convolution, pooling, margins and sampling."""

from __future__ import annotations

import numpy as np

from adjoint.arrays.kernels import axis_maps, interpolation
from adjoint.rules.interpolation import Origin
from support.samples.draws import Sample, apart, draw, index

#: Operations on real numbers only.
REAL_ONLY = {"maxima", "places_of_maxima", "places_in_drawn_windows"}

PLAIN: Sample = {"stride": (1,), "padding": (1,), "dilation": (1,), "groups": 1}
STRIDED: Sample = {"stride": (2, 1), "padding": (1, 0), "dilation": (1, 2), "groups": 2}

WINDOWS = (axis_maps.windows(4, 2, 2, 0, 1, 2), axis_maps.windows(5, 3, 1, 1, 1, 5))
UNEVEN = (axis_maps.adaptive(5, 3),)
LINES = (interpolation.lines(3, 5, False, None, False), interpolation.cubics(4, 2, True, None, False))
MEANS = (axis_maps.adaptive_means(4, 1), axis_maps.means(5, 3, 2, 1, 3, False))
PLACES = index([[3, 0], [1, 1]], [[2, 3], [-1, 2]])

#: The points of a grid avoid kinks of the weights, and some are outside of the grid.
POINTS = np.array([[[-0.71, 0.23], [0.41, 0.87], [1.32, -1.43]], [[-2.11, 0.05], [0.17, -0.37], [0.63, 1.09]]])

SAMPLES: dict[str, list[Sample]] = {
    "convolution": [
        {"input": draw(2, 2, 5), "weight": draw(3, 2, 3), "bias": draw(3), **PLAIN},
        {"input": draw(1, 4, 5, 4), "weight": draw(4, 2, 2, 2), **STRIDED},
    ],
    "transposed_convolution": [
        {"input": draw(2, 3, 5), "weight": draw(3, 2, 3), "bias": draw(2), "image": (5,), **PLAIN},
        {"input": draw(1, 4, 3, 2), "weight": draw(4, 2, 2, 2), "image": (5, 4), **STRIDED},
    ],
    "convolution_weight": [
        {"grad": draw(2, 3, 5), "input": draw(2, 2, 5), "kernel": (3,), **PLAIN},
        {"grad": draw(1, 4, 3, 2), "input": draw(1, 4, 5, 4), "kernel": (2, 2), **STRIDED},
    ],
    "along_axes": [
        {"input": draw(2, 4, 5), "maps": WINDOWS},
        {"input": draw(2, 4, 5), "maps": MEANS, "origin": Origin("AvgPool2DBackward0")},
        {"input": draw(3, 4), "maps": LINES},
        {"input": draw(0, 5), "maps": UNEVEN},
    ],
    "maxima": [
        {"input": draw(2, 4, 5, then=apart), "maps": WINDOWS},
        {"input": draw(2, 5, then=apart), "maps": UNEVEN},
    ],
    "places_of_maxima": [{"input": np.array([[3.0, 1.0, 2.0, 2.0, 5.0]]), "maps": UNEVEN}],
    "from_places": [{"input": draw(2, 2, 3), "places": index([[5, 0, 0]], [[1, 2, 3]]), "ndim": 2}],
    "on_places": [
        {"input": draw(2, 1, 3), "places": index([[3, 0, 0]], [[1, 2, 3]]), "image": (2, 2), "ndim": 2, "once": False},
        {"input": draw(2, 2), "places": index([3, 0], [1, 2]), "image": (4,), "ndim": 1, "once": True},
    ],
    "places_in_drawn_windows": [
        {
            "input": draw(2, 5, 4, then=apart),
            "samples": np.array([[0.3, 0.9], [0.0, 0.6]]),
            "kernel": (2, 1),
            "results": (3, 2),
        },
    ],
    "im2col": [{"input": draw(2, 1, 4, 5), "maps": WINDOWS}],
    "col2im": [{"input": draw(2, 6, 10), "maps": WINDOWS}],
    "constant_pad_nd": [
        {"input": draw(2, 3), "pad": (1, -1, 0, 2), "value": 0.5},
        {"input": draw(3), "pad": (2, 1)},
    ],
    "grid_corners": [
        {"points": POINTS, "lengths": (3, 4), "mode": "bilinear", "padding": "zeros", "align_corners": False},
        {"points": POINTS, "lengths": (5, 3), "mode": "bicubic", "padding": "reflection", "align_corners": True},
        {"points": POINTS, "lengths": (2, 4), "mode": "bilinear", "padding": "reflection", "align_corners": False},
        {"points": POINTS[..., :1], "lengths": (4,), "mode": "bilinear", "padding": "border", "align_corners": True},
    ],
    "sample": [{"input": draw(2, 3, 4), "weight": draw(2, 2, 2), "places": PLACES}],
    "sample_input": [{"grad": draw(2, 3, 2), "weight": draw(2, 2, 2), "places": PLACES, "size": 4}],
    "sample_weight": [{"grad": draw(2, 3, 2), "input": draw(2, 3, 4), "places": PLACES}],
}
