"""The functions of torch.nn: `functional`, `init` and `utils`, and its Parameter. Modules are not part of adjoint."""

from . import functional, init, parameter, utils
from .parameter import Parameter

__all__ = ["Parameter", "functional", "init", "parameter", "utils"]
