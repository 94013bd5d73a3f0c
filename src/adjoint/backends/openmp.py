"""OpenMP, which is not used."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: no operation uses OpenMP.

    adjoint has threads of its own for large arrays; see adjoint.set_num_threads.
    """
    return False
