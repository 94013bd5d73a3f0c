"""NNPACK, which is not used."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: no operation calls NNPACK.

    Convolutions use NumPy's BLAS.
    """
    return False
