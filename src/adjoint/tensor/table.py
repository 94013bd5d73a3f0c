"""The operations: every declared rule, ready to be called on Tensors."""

from adjoint.core.operation import Operation, TensorOps, operations
from adjoint.rules import TABLE

operations.update({name: Operation(rule) for name, rule in TABLE.items()})

#: The namespace of all operations on Tensors.
ops = TensorOps()
