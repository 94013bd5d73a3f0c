"""The graph as an object: its nodes."""

from adjoint.core.graph import Node

__all__ = ["Node"]
