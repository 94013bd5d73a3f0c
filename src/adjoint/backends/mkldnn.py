"""oneDNN (MKL-DNN), which is not used."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: no operation calls oneDNN (MKL-DNN).

    Convolutions and matrix products use NumPy's BLAS.
    """
    return False
