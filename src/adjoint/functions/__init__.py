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
    "class_losses",
    "contract",
    "convolution",
    "counting",
    "ctc",
    "difference_losses",
    "distances",
    "factorizations",
    "fft",
    "fractional",
    "index",
    "joining",
    "linalg",
    "margin_losses",
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
    "reordering",
    "repeating",
    "sampling",
    "segments",
    "shape",
    "signal",
    "signal_windows",
    "special",
    "splitting",
    "statistics",
    "view_copies",
    "views",
    "window_functions",
)


def load_families() -> None:
    """Import every family, so that the table of public functions is full."""
    for family in FAMILIES:
        importlib.import_module(f"{__name__}.{family}")
