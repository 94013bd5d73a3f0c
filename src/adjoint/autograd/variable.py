"""Variable, the older name of Tensor."""

from adjoint.tools.legacy import Variable, VariableMeta

__all__ = ["Variable", "VariableMeta"]
