"""Intel's MKL, where NumPy was built with it."""

import numpy as _numpy

__all__ = ["is_available"]


def is_available() -> bool:
    """True if NumPy's linear algebra is MKL's.

    >>> import adjoint
    >>> adjoint.backends.mkl.is_available() in (True, False)
    True
    """
    build = _numpy.show_config(mode="dicts")["Build Dependencies"]
    return "mkl" in str(build.get("blas", {}).get("name", "")).lower()
