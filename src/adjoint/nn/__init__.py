"""The functions of torch.nn: `functional`, `init` and `utils`, and its Parameter. Modules are not part of adjoint."""

import typing as _typing

from adjoint.tensor.older.left_out import AttributeOf as _AttributeOf

from . import functional, init, parameter, utils
from .parameter import Parameter

__all__ = ["Parameter", "functional", "init", "parameter", "utils"]

if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
