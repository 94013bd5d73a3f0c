"""OpenMP, which is not used."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: large results are computed by threads of adjoint's own; see adjoint.set_num_threads."""
    return False
