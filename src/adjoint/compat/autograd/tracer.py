"""Boxes and primitives, under the names of autograd.tracer."""

from adjoint.compat.autograd._boxes import Box, getval, isbox
from adjoint.compat.autograd._primitives import notrace_primitive, primitive, register_notrace
from adjoint.compat.autograd.util import subvals

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive", "register_notrace", "subvals"]
