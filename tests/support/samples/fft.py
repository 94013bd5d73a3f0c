"""Samples of Fourier transforms."""

from __future__ import annotations

from support.samples.draws import Draw, Sample, draw

#: Operations on real numbers only.
REAL_ONLY = {"fft_r2c"}

SIGNAL, IMAGE, EVEN = draw(5), draw(2, 3, 4), draw(2, 6)


def half(*shape: int) -> Draw:
    """Half a spectrum. The imaginary part at the frequency 0 may have any value, since the transforms drop it."""
    return draw(*shape)


#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "trigonometric": [
        {"input": draw(*shape), "name": name, "type": kind}
        for name in ("dct", "dst")
        for kind in (1, 2, 3, 4)
        for shape in ((2, 5), (2,))
    ],
    "fft_c2c": [
        {"input": SIGNAL, "dim": (0,), "norm": "backward", "inverse": False},
        {"input": IMAGE, "dim": (-2, 0), "norm": "ortho", "inverse": True},
        {"input": draw(0, 3), "dim": (1,), "norm": "forward", "inverse": False},
    ],
    "fft_r2c": [
        {"input": SIGNAL, "dim": (0,), "norm": "backward"},
        {"input": EVEN, "dim": (1,), "norm": "forward"},
        {"input": IMAGE, "dim": (2, 0, 1), "norm": "ortho"},
        {"input": draw(0, 3), "dim": (1,), "norm": "forward"},
    ],
    "fft_c2r": [
        {"input": half(3), "dim": (0,), "norm": "backward", "size": 5},
        {"input": half(2, 4), "dim": (1,), "norm": "forward", "size": 6},
        {"input": half(3, 2, 2), "dim": (1, 0), "norm": "ortho", "size": 5},
        {"input": half(2), "dim": (0,), "norm": "ortho", "size": 2},
        {"input": half(1), "dim": (0,), "norm": "ortho", "size": 1},
        {"input": draw(0, 3), "dim": (1,), "norm": "forward", "size": 4},
    ],
    "scale_mirrored": [
        {"input": half(2, 4), "dim": 1, "size": 6, "factor": 2},
        {"input": half(3), "dim": 0, "size": 5, "factor": 0.5},
    ],
    "resize_axes": [
        {"input": IMAGE, "dim": (2, 0), "sizes": (6, 1)},
        {"input": draw(2, 0), "dim": (-1,), "sizes": (3,)},
    ],
}
