"""Optimizers for training loops, under torch.optim's names. Each is imported at its first use."""

import typing as _typing

from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.runtime.lazy import by_name as _by_name
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf

if _typing.TYPE_CHECKING:
    from . import lr_scheduler, swa_utils
    from .adafactor import Adafactor
    from .elementwise.optimizers import (
        ASGD,
        SGD,
        Adadelta,
        Adagrad,
        Adam,
        Adamax,
        AdamW,
        NAdam,
        RAdam,
        RMSprop,
        Rprop,
        SparseAdam,
    )
    from .lbfgs import LBFGS
    from .muon import Muon
    from .optimizer import Optimizer

_HELD = {
    "adjoint.optim.elementwise.optimizers": """
        ASGD Adadelta Adagrad Adam AdamW Adamax NAdam RAdam RMSprop Rprop SGD SparseAdam
    """,
    "adjoint.optim.lbfgs": "LBFGS",
    "adjoint.optim.adafactor": "Adafactor",
    "adjoint.optim.muon": "Muon",
    "adjoint.optim.optimizer": "Optimizer",
}
if not _typing.TYPE_CHECKING:
    __getattr__ = _LateAttributes(
        __name__,
        _by_name(_HELD) | dict.fromkeys(("lr_scheduler", "optimizer", "swa_utils"), ""),
        missing=_AttributeOf(__name__),
    )
    __dir__ = __getattr__.list_names
__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]
