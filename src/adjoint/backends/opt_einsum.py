"""opt_einsum, which finds the order of contractions where it is installed."""

import importlib.util as _importlib_util
from typing import Any as _Any

__all__ = ["get_opt_einsum", "is_available"]


def is_available() -> bool:
    """True if opt_einsum is installed.

    `adjoint.einsum` then finds the order of contractions with it.
    """
    return _importlib_util.find_spec("opt_einsum") is not None


def get_opt_einsum() -> _Any:
    """The package opt_einsum, or None where it is not installed.

    `adjoint.einsum` finds the order of contractions with it.
    """
    if not is_available():
        return None
    import opt_einsum

    return opt_einsum
