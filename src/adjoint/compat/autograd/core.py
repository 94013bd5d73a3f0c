"""The names of autograd.core."""

from adjoint.compat.autograd._boxes import Box, getval, isbox
from adjoint.compat.autograd._primitives import (
    SparseObject,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    primitive,
)
from adjoint.compat.autograd._tracing import make_jvp, make_vjp
from adjoint.compat.autograd._vspaces import VSpace, vspace
from adjoint.compat.autograd.extend import JVPNode, VJPNode

__all__ = [
    "Box", "JVPNode", "SparseObject", "VJPNode", "VSpace", "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums",
    "defvjp", "defvjp_argnum", "defvjp_argnums", "getval", "isbox", "make_jvp", "make_vjp", "primitive", "vspace",
]  # fmt: skip
