"""Variable, the older name of Tensor."""

from adjoint.tools.legacy import ImperativeEngine, Variable, VariableMeta

__all__ = ["ImperativeEngine", "Variable", "VariableMeta"]
