"""Public functions made of declared operations, one file per family."""

import importlib

FAMILIES = (
    "activations",
    "adaptive_pooling",
    "arithmetic",
    "aten",
    "attention",
    "average_pooling",
    "calculus",
    "contract",
    "convolution",
    "counting",
    "distances",
    "factorizations",
    "fft",
    "fractional",
    "index",
    "linalg",
    "losses",
    "masked",
    "matrices",
    "max_pooling",
    "multihead",
    "normalization",
    "padding",
    "patches",
    "pixels",
    "pointwise",
    "python_calls",
    "random",
    "recurrent",
    "recurrent_layers",
    "reduce",
    "sampling",
    "segments",
    "shape",
    "signal",
    "signal_windows",
    "special",
    "statistics",
    "view_copies",
    "views",
    "window_functions",
)


def load_families() -> None:
    """Import every family, so that the table of public functions is full."""
    for family in FAMILIES:
        importlib.import_module(f"{__name__}.{family}")
