"""Public functions made of declared operations, one file per family."""

import importlib

FAMILIES = (
    "arithmetic", "contract", "convolution", "index", "linalg", "pooling", "reduce", "sampling", "shape", "views",
)  # fmt: skip


def load() -> None:
    """Import every family, so that the table of composites is full."""
    for family in FAMILIES:
        importlib.import_module(f"{__name__}.{family}")
