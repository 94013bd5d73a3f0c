"""The observations of a program in a library: errors by line, values, properties, gradients, gradients of gradients.

This module runs beside PyTorch too, and does not import adjoint.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from trust.fuzz import programs
from trust.fuzz.observations import Error, Observations, array, array_or_none, attempt
from trust.fuzz.programs import Program

#: Errors that end a program. Libraries save different values for an operation and compose it of different calls.
#: PyTorch deprecates some writes to elements that share memory, and adjoint refuses them.
OWN_AFFAIR = re.compile(
    "modified by an inplace operation|second time|its base or another view|view size is not compatible"
    "|more than one element of the written-to tensor"
)


def observe(library: Any, program: Program) -> Observations:
    """What a library shows of a program."""
    library.manual_seed(0)
    library.set_grad_enabled(True)
    space = programs.names(library, program)
    leaves = [space[entry[0]] for entry in program.inputs if entry[3]]
    observed: Observations = []
    try:
        observed += outcomes(program, space)
    finally:
        library.set_grad_enabled(True)
    tensors = {name: value for name, value in space.items() if name.startswith("v") and hasattr(value, "numel")}
    for name, value in tensors.items():
        observed += description(name, value)
    for name, value in tensors.items():
        if (
            value.requires_grad
            and (value.is_floating_point() or value.is_complex())
            and attempt(partial(getattr, value, "grad_fn")) is not None
        ):
            observed += derivatives(library, name, value, leaves)
    return observed


def outcomes(program: Program, space: dict[str, Any]) -> Observations:
    """Whether each line runs.

    The list ends at an error that may differ between libraries, or at a line without its operands.
    """
    observed: Observations = []
    failed = False
    for k, line in enumerate(program.lines):
        try:
            error = programs.run_line(line, space)
        except NameError:
            if failed:
                break
            raise
        failed = failed or error is not None
        observed.append((f"line {k} {line}", "runs" if error is None else Error(type(error).__name__, str(error))))
        if error is not None and OWN_AFFAIR.search(str(error)):
            break
    return observed


def derivatives(library: Any, name: str, value: Any, leaves: list[Any]) -> Observations:
    grad = library.autograd.grad
    ones = library.ones_like(value).detach()
    grads = attempt(lambda: grad(value, leaves, ones, create_graph=True, allow_unused=True))
    if isinstance(grads, Error):
        return [(f"gradient of {name}", grads)]
    observed: Observations = [(f"gradient of {name} by {k}", array_or_none(g)) for k, g in enumerate(grads)]
    usable = [real(library, g).sin().sum() for g in grads if g is not None and g.requires_grad]
    if usable:
        total = sum(usable[1:], usable[0])
        seconds = attempt(lambda: grad(total, leaves, retain_graph=True, allow_unused=True))
        if isinstance(seconds, Error):
            return [*observed, (f"second order of {name}", seconds)]
        observed += [(f"second order of {name} by {k}", array_or_none(g)) for k, g in enumerate(seconds)]
    return observed


def real(library: Any, g: Any) -> Any:
    """Real numbers, so that their sum can be differentiated."""
    return library.view_as_real(g.resolve_conj()) if g.is_complex() else g


def description(name: str, value: Any) -> Observations:
    is_leaf = attempt(lambda: value.is_leaf)
    return [
        (f"{name} dtype", str(value.dtype).rpartition(".")[2]),
        (f"{name} requires_grad", value.requires_grad),
        (f"{name} version", value._version if name in programs.FIRST else None),
        (f"{name} is_leaf", is_leaf),
        (f"{name} grad_fn is None", attempt(lambda: value.grad_fn is None)),
        (f"{name} values", array(value)),
        (f"{name} grad", array_or_none(value.grad) if is_leaf is True else None),
    ]
