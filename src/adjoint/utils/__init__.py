"""The parts of torch.utils for automatic differentiation."""

import typing as _typing

from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.tensor.memory.swapping import swap_tensors
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

from . import _pytree as _pytree
from . import checkpoint, dlpack

__all__ = ["checkpoint", "data", "dlpack", "hooks", "swap_tensors"]

if not _typing.TYPE_CHECKING:
    __getattr__ = _LateAttributes(__name__, {"data": "", "hooks": ""}, missing=_AttributeOf(__name__))
    __dir__ = __getattr__.list_names
