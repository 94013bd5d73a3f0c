"""Apple's Metal, which no array library here serves."""

__all__ = ["is_available", "is_built", "is_macos_or_newer"]


def is_built() -> bool:
    """False: arrays are in main memory, or with CuPy on a CUDA device.

    There is no backend for Metal.
    """
    return False


def is_available() -> bool:
    """False, as `is_built`.

    >>> import adjoint
    >>> adjoint.backends.mps.is_available()
    False
    """
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """True on this version of macOS or a newer one; False on other systems.

    major, minor: the two parts of the version.
    """
    import platform

    release = platform.mac_ver()[0]
    return bool(release) and tuple(map(int, release.split(".")[:2])) >= (major, minor)
