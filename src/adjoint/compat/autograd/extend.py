"""Functions and classes for the definition of new primitives."""

from adjoint.compat.autograd import _node_derivatives  # noqa: F401  (registers itself)
from adjoint.compat.autograd._boxes import Box
from adjoint.compat.autograd._passes import JVPNode, VJPNode, register_notrace
from adjoint.compat.autograd._primitives import (
    SparseObject,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
)
from adjoint.compat.autograd._user_values import connect as _connect  # noqa: F401  (registers itself)
from adjoint.compat.autograd._vspaces import VSpace, vspace

__all__ = [
    "Box", "JVPNode", "SparseObject", "VJPNode", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums",
    "defvjp", "defvjp_argnum", "defvjp_argnums", "notrace_primitive", "primitive", "register_notrace", "vspace",
]  # fmt: skip
