"""Signatures of operations, as inspect, help(), editors and the type stubs show them: torch's, with types."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from adjoint.core.graph import registry
from adjoint.rules.declare import Parameter as Declared
from adjoint.rules.declare import Rule

if TYPE_CHECKING:
    from adjoint.core.operations.operation import Operation

# types of parameters whose default does not show them
_TYPES = {
    "k": "int",
    "n": "int",
    "p": "int",
    "split_size": "int",
    "maxnorm": "float",
    "eps": "float | None",
    "posinf": "float | None",
    "neginf": "float | None",
    "value": "complex",
    "fill_value": "complex",
    "indices": "Sequence[Tensor]",
    "split_sizes": "Sequence[int]",
    "alpha": "complex",
    "beta": "complex",
    "logsumexp.dim": "int | Sequence[int]",
}


def signature_of(rule: Rule) -> Signature:
    """The signature of a function: all parameters of the rule, and out=.

    >>> from adjoint.rules import TABLE
    >>> str(signature_of(TABLE["tril"])).replace("'", "")
    '(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor'
    """
    parameters = [_typed_parameter(rule, parameter) for parameter in rule.parameters]
    if not rule.view:
        out = "Tensor | None" if rule.outputs is None else "Sequence[Tensor] | None"
        parameters.append(Parameter("out", Parameter.KEYWORD_ONLY, default=None, annotation=out))
    return Signature(parameters, return_annotation=_result(rule), __validate_parameters__=False)


def method_signature_of(rule: Rule) -> Signature:
    """The signature of a method, in place or not."""
    parameters = [_typed_parameter(rule, parameter) for parameter in rule.parameters]
    parameters[0] = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    return Signature(parameters, return_annotation=_result(rule), __validate_parameters__=False)


def _typed_parameter(rule: Rule, parameter: Declared) -> Parameter:
    return Parameter(parameter.name, parameter.kind, default=parameter.default, annotation=_annotation(rule, parameter))


def _result(rule: Rule) -> str:
    if rule.outputs is None:
        return "Tensor"
    return result_name(rule.outputs) if rule.outputs else "tuple[Tensor, ...]"


def result_name(outputs: tuple[str, ...]) -> str:
    """The name of the type of several named results.

    >>> result_name(("values", "indices"))
    'ValuesIndices'
    """
    return "".join(map(str.title, outputs))


def _annotation(rule: Rule, parameter: Declared) -> str:
    name, default = parameter.name, parameter.default
    if name == rule.sequence:
        return "Sequence[Tensor]"
    if name in rule.inputs or name in rule.constants:
        first = name == rule.names[0]
        scalars = rule.inputs if rule.scalars is True else rule.scalars or ()
        numbers = name in scalars and (rule.kind == "elementwise" if first else True)
        text = "Tensor | complex" if numbers and len(rule.inputs) > 1 else "Tensor"
        return f"{text} | None" if default is None else text
    annotation = _TYPES.get(f"{rule.name}.{name}") or _TYPES.get(name)
    if annotation is None and (name == rule.spread or name in rule.axes + rule.new_axes):
        several = name == rule.spread or default in ((), None)
        return "int" if not several else "int | Sequence[int] | None" if default is None else "int | Sequence[int]"
    return annotation or ("Any" if default is Parameter.empty else type(default).__name__)


def hints_of(operation: Operation, signature: Signature) -> dict[str, Any]:
    """The annotations of a signature as types, as typing.get_type_hints() wants them.

    >>> from adjoint.tensor.table import operations
    >>> hints_of(operations["tril"], signature_of(operations["tril"].rule))["diagonal"]
    <class 'int'>
    """
    rule = operation.rule
    names = {"Tensor": registry.tensor_type, "Sequence": Sequence, "Any": Any}
    if rule.outputs:
        names[result_name(rule.outputs)] = operation.results_type()
    hints = {}
    for parameter in signature.parameters.values():
        if parameter.annotation is not parameter.empty:
            # a default tells its own type, whatever that is called
            default_type = {type(parameter.default).__name__: type(parameter.default)}
            hints[parameter.name] = eval(parameter.annotation, default_type | names)
    hints["return"] = eval(signature.return_annotation, dict(names))
    return hints
