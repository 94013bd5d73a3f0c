"""The operations: every declared rule, ready to be called on Tensors."""

from adjoint.core.operation import Operation
from adjoint.core.recorded import TensorOps, operations
from adjoint.rules import TABLE
from adjoint.tensor.signatures import signature_of

operations.update({name: Operation(rule) for name, rule in TABLE.items()})
for operation in operations.values():
    operation.__signature__ = signature_of(operation.rule)
    operation.__doc__ = operation.rule.doc or f"numpy.{operation.numpy_kernel.__name__}, elementwise."

#: The namespace of all operations on Tensors.
ops = TensorOps()
