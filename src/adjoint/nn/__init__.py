"""Modules, layers, losses and parameters, under torch.nn's names."""

import typing as _typing

from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.runtime.lazy import by_name as _by_name
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

from .homes import HOMES as _HOMES

_MODULES = ("common_types", "functional", "init", "modules", "parameter", "utils")
_LAYERS = _by_name(_HOMES)
if not _typing.TYPE_CHECKING:
    __getattr__ = _LateAttributes(
        __name__,
        dict.fromkeys(_MODULES, "") | dict.fromkeys(("Buffer", "Parameter"), "adjoint.nn.parameter") | _LAYERS,
        missing=_AttributeOf(__name__),
    )
    __dir__ = __getattr__.list_names

__all__ = sorted(["Buffer", "Parameter", *_MODULES, *_LAYERS])
