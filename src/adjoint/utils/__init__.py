"""What torch.utils has for automatic differentiation."""

from . import checkpoint

__all__ = ["checkpoint"]
