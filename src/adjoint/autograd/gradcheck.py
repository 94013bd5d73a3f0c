"""Checking gradients against finite differences, under torch.autograd.gradcheck's names.

The package's attribute `adjoint.autograd.gradcheck` is the function, as in torch, and
`from adjoint.autograd.gradcheck import ...` reads this module. The documents also write
`autograd.gradcheck.gradcheck` and `autograd.gradcheck.GradcheckError`; so the function carries these names too.
"""

import typing as _typing

from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.tools.gradcheck import messages as _messages
from adjoint.tools.gradcheck.check import gradcheck, gradgradcheck
from adjoint.tools.gradcheck.legacy import (
    get_analytical_jacobian,
    get_numerical_jacobian,
    get_numerical_jacobian_wrt_specific_input,
)
from adjoint.tools.gradcheck.messages import GradcheckError

__all__ = [
    "gradcheck",
    "gradgradcheck",
    "GradcheckError",
    "get_numerical_jacobian",
    "get_analytical_jacobian",
    "get_numerical_jacobian_wrt_specific_input",
]

FAILED_BATCHED_GRAD_MSG = _messages.FAILED_BATCHED_GRAD_MSG
FAILED_BATCHED_GRAD_MSG_FWD_AD = _messages.FAILED_BATCHED_GRAD_MSG_FWD_AD
FAILED_NONDET_MSG = _messages.FAILED_NONDET_MSG
FAST_FAIL_SLOW_OK_MSG = _messages.FAST_FAIL_SLOW_OK_MSG

for _name in __all__:
    setattr(gradcheck, _name, globals()[_name])

if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)
