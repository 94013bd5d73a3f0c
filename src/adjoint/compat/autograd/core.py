"""The names of autograd.core."""

from adjoint.compat.autograd._boxes import Box, getval, isbox
from adjoint.compat.autograd._nodes import Node, toposort, trace
from adjoint.compat.autograd._older import PrimitiveWithMethods, primitive
from adjoint.compat.autograd._passes import (
    JVPNode,
    VJPNode,
    backward_pass,
    primitive_jvps,
    primitive_vjps,
    register_notrace,
)
from adjoint.compat.autograd._primitives import (
    SparseObject,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
)
from adjoint.compat.autograd._tracing import make_jvp, make_vjp
from adjoint.compat.autograd._vspaces import VSpace, vspace

primitive_with_deprecation_warnings = primitive

__all__ = [
    "Box", "JVPNode", "Node", "PrimitiveWithMethods", "SparseObject", "VJPNode", "VSpace", "backward_pass",
    "def_linear", "defjvp", "defjvp_argnum", "defjvp_argnums", "defvjp", "defvjp_argnum", "defvjp_argnums", "getval",
    "isbox", "make_jvp", "make_vjp", "primitive",
    "primitive_jvps", "primitive_vjps", "primitive_with_deprecation_warnings", "register_notrace",
    "toposort", "trace", "vspace",
]  # fmt: skip
