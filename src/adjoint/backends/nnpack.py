"""NNPACK, which is not used."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: no operation calls NNPACK."""
    return False
