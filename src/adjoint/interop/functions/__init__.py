"""NumPy's functions over Tensors, with NumPy's signatures, one file per family."""

from importlib import import_module

_FAMILIES = (
    "reductions", "creation", "shapes", "selection", "statistics", "calculus", "polynomials", "products", "linalg",
    "fourier", "padding",
)  # fmt: skip


def load() -> None:
    """Fill the table of functions."""
    for family in _FAMILIES:
        import_module(f"adjoint.interop.functions.{family}")
