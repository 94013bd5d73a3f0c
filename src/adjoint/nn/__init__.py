"""The functions of torch.nn, in `adjoint.nn.functional`, and its Parameter. Modules are not part of adjoint."""

from . import functional, parameter
from .parameter import Parameter

__all__ = ["Parameter", "functional", "parameter"]
