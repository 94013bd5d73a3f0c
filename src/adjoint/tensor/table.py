"""The operations: every declared rule, ready to be called on Tensors."""

import copyreg
from importlib import import_module
from typing import Any

from adjoint.core.graph import registry
from adjoint.core.operations.operation import Operation
from adjoint.core.recorded import TensorOps, operations
from adjoint.rules import TABLE, Rule


def _make(home: str) -> None:
    """Make the operations of a file of rules."""
    import_module(home)
    for name, rule_home in TABLE.homes.items():
        if rule_home == home:
            operations.enter(name, Operation(TABLE[name]))


#: The operations between tensors and batches, which a batch of cotangents needs too; they have no rule in the table.
OF_BATCHES = dict.fromkeys(
    ("batch_in", "batch_out", "batch_sum", "batch_spread"), "adjoint.transforms.batching.batch_rules"
)

operations.expect({**TABLE.homes, **OF_BATCHES}, _make)

#: The namespace of all operations on Tensors.
ops = TensorOps()


def operation_named(name: str) -> Operation:
    """The operation of a name: a pickle refers to it, so that a copy is the operation itself."""
    return operations[name]


def _reduce(operation: Operation) -> tuple[Any, tuple[str]]:
    return operation_named, (operation.name,)


copyreg.pickle(Operation, _reduce)


def signature_of(rule: Rule) -> Any:
    """The signature of an operation, computed at first use."""
    from adjoint.tensor import signatures

    return signatures.signature_of(rule)


def method_signature_of(rule: Rule) -> Any:
    """The signature of an operation's method."""
    from adjoint.tensor import signatures

    return signatures.method_signature_of(rule)


def hints_of(operation: Operation, signature: Any) -> dict[str, Any]:
    """The types of the parameters and the result of an operation or of its method."""
    from adjoint.tensor import signatures

    return signatures.hints_of(operation, signature)


registry.signature_of = signature_of
registry.hints_of = hints_of
registry.method_signature_of = method_signature_of
