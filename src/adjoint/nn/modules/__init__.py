"""The classes of torch.nn: modules, layers, losses and containers. Each is imported at its first use."""

import typing as _typing

from adjoint.nn.homes import HOMES as _HOMES
from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.runtime.lazy import by_name as _by_name
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

if not _typing.TYPE_CHECKING:
    __getattr__ = _LateAttributes(
        __name__,
        _by_name(_HOMES) | {home.rpartition(".")[2]: "" for home in _HOMES} | {"utils": ""},
        missing=_AttributeOf(__name__),
    )
    __dir__ = __getattr__.list_names
__all__ = sorted(_by_name(_HOMES))
