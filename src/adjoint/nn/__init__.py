"""The functions of torch.nn: `functional`, `init` and `utils`, and its Parameter. Modules are not part of adjoint."""

import typing as _typing

from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.tensor.older.left_out import AttributeOf as _AttributeOf

if _typing.TYPE_CHECKING:
    from . import functional, init, parameter, utils
    from .parameter import Parameter
else:
    __getattr__ = _LateAttributes(
        __name__,
        dict.fromkeys(("functional", "init", "parameter", "utils"), "") | {"Parameter": "adjoint.nn.parameter"},
        missing=_AttributeOf(__name__),
    )
    __dir__ = __getattr__.listed

__all__ = ["Parameter", "functional", "init", "parameter", "utils"]
