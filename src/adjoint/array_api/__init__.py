"""The array API standard over Tensors, version 2024.12: the namespace that `array_api_compat.array_namespace` finds."""

from adjoint.interop import array_api as _namespace
from adjoint.interop.array_api import *  # noqa: F403

__all__ = _namespace.__all__
