"""Random programs and calls, compiled and eager: values, effects, gradients and gradients of gradients.

A function has two tensors as arguments and one in its closure. Or it is a call with random options whose arguments are
all inputs, with indices and masks. It is called six times: twice on equal shapes, without recording, on another shape
or layout, in inference mode, and again like the first time. The arguments have other values each time. A function may
write to its arguments.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import adjoint
from adjoint.compilation.replays import CHANGED, HISTORY
from trust.fuzz import custom, options, programs
from trust.fuzz.compared import DTYPES
from trust.fuzz.faults import Fault
from trust.fuzz.lines import real
from trust.fuzz.observations import (
    Error,
    Observations,
    apart,
    array,
    array_or_none,
    attempt,
    is_steady,
    same,
)
from trust.fuzz.options import Call
from trust.fuzz.programs import Program

#: The calls: the additional length of the first axis, and the mode.
CALLS = (
    (0, adjoint.enable_grad),
    (0, adjoint.enable_grad),
    (0, adjoint.no_grad),
    (1, adjoint.enable_grad),
    (0, adjoint.inference_mode),
    (0, adjoint.enable_grad),
)
WEIGHTS: tuple[programs.Weights, ...] = (programs.PURE, programs.LOCAL, programs.KINKS, programs.COMPILED)
#: Stands for a missing observation.
MISSING = "nothing"
#: The share of programs that have tensors of a thousand elements.
LARGE = 0.15
#: The share of calls among the functions, and of their inputs that need a gradient.
OPTIONS, GRADS = 0.4, 0.8


class Cases:
    """Programs of 2 to 10 lines, and calls."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def text(self, number: int) -> str:
        case = case_of(f"{self.seed}:{number}")
        if isinstance(case, Program) and fault(case):
            case = programs.shorten(case, lambda shorter: fault(shorter) is not None)
        return str(case)

    def fault(self, number: int) -> Fault | None:
        return fault(case_of(f"{self.seed}:{number}"))

    def close(self) -> None:
        """Nothing is held."""


def case_of(name: str) -> Program | Call:
    """The program or call of a seed."""
    draw = random.Random(name)
    if draw.random() < OPTIONS:
        return options.call(draw.randrange(2**40))
    large = draw.random() < LARGE
    return programs.program(
        adjoint,
        draw.randrange(2**40),
        draw.choice(WEIGHTS),
        n_lines=draw.randint(2, 10),
        shapes=programs.LARGE if large else programs.SHAPES,
        most=9000 if large else programs.MOST_ELEMENTS,
        layouts=("plain",) if draw.random() < 0.6 else tuple(programs.LAYOUTS),
        dtypes=draw.choice(DTYPES),
    )


def function(program: Program) -> Callable[[Any], Callable[..., Any]]:
    """The maker of the function, which gets the tensor of the closure.

    With odd seeds the function writes to its arguments.
    """
    names = [entry[0] for entry in program.inputs]
    copies = [] if program.seed % 2 else [f"{', '.join(names)} = {', '.join(f'{name} * 1' for name in names)}"]
    lefts = [line.split(" = ")[0] for line in program.lines]
    results = [*dict.fromkeys(left for left in lefts if left[0] == "v" and left.isalnum())]
    first, second, closure = names
    body = [f"{closure} = {closure}_", *copies, *program.lines, f"return [{', '.join([*results, first, closure])}]"]
    space: dict[str, Any] = {"L": adjoint, "K": custom.functions(adjoint)}
    exec("\n  ".join([f"def make({closure}_):\n def f({first}, {second}):", *body]) + "\n return f", space)
    make: Callable[[Any], Callable[..., Any]] = space["make"]
    return make


def function_of_call(call: Call) -> Callable[..., Any]:
    """A call of all its inputs."""
    return lambda *inputs: options.evaluate(adjoint, call, options.Stored(inputs))


def observe(case: Program | Call, wrap: Callable[[Any], Any]) -> Observations:
    """The observations of all calls."""
    closure: list[Any] = []
    if isinstance(case, Program):
        closure = programs.inputs_of(adjoint, case)[2:]
        call = wrap(function(case)(*closure))
    else:
        call = wrap(function_of_call(case))
    observations: Observations = []
    for k, (longer, mode) in enumerate(CALLS):
        adjoint.manual_seed(k)
        for tensor in closure:
            tensor.grad = None
        args = attempt(partial(arguments, case, k, longer))
        if isinstance(args, Error):
            observations.append((f"call {k}", args))
            continue
        with mode():
            results = attempt(lambda args=args: call(*args))  # type: ignore[misc]
        if isinstance(results, Error):
            observations.append((f"call {k}", results))
            continue
        tensors = [result for result in results if isinstance(result, adjoint.Tensor)]
        observations += description(f"call {k} results", tensors)
        observations += description(f"call {k} arguments", [*args, *closure])
        observations += gradients(f"call {k}", tensors, [*args, *closure])
    return observations


def arguments(case: Program | Call, k: int, other: int) -> list[Any]:
    """The arguments of call k. other: they have another length or layout."""
    return arguments_of_program(case, k, other) if isinstance(case, Program) else arguments_of_call(case, k, other)


def arguments_of_program(program: Program, k: int, longer: int) -> list[Any]:
    """Two tensors, perhaps with a longer first axis."""
    inputs = tuple(
        (name, (shape[0] + longer, *shape[1:]) if shape else shape, *others) for name, shape, *others in program.inputs
    )
    values = replace(program, inputs=inputs, seed=program.seed + 1000 * (k + 1))  # type: ignore[arg-type]
    return programs.inputs_of(adjoint, values)[:2]


def arguments_of_call(call: Call, k: int, other: int) -> list[Any]:
    """All inputs, perhaps with other layouts."""
    layouts = call.layouts != bool(other)
    inputs = options.Inputs(
        adjoint, replace(call, seed=call.seed + 1000 * (k + 1), layouts=layouts), options.leaf_for(call.seed, GRADS)
    )
    options.evaluate(adjoint, call, inputs)
    return inputs.all


def description(where: str, tensors: list[Any]) -> Observations:
    observations: Observations = []
    for k, t in enumerate(tensors):
        is_leaf = attempt(lambda t=t: t.is_leaf)  # type: ignore[misc]
        observations += [(f"{where} {k} properties", (t.requires_grad, is_leaf)), (f"{where} {k}", array(t))]
    return observations


def gradients(where: str, results: list[Any], inputs: list[Any]) -> Observations:
    """Gradients of each result and of all together, and a second order."""
    leaves = [x for x in inputs if x.requires_grad]
    ys = [y for y in results if y.requires_grad and is_recorded(y)]
    if not leaves or not ys:
        return []
    observations: Observations = []

    def pull(name: str, outputs: list[Any], create_graph: bool = False) -> list[Any]:
        weights = [adjoint.ones_like(y).detach() for y in outputs]
        grads = attempt(
            lambda: adjoint.autograd.grad(
                outputs, leaves, weights, retain_graph=True, create_graph=create_graph, allow_unused=True
            )
        )
        if isinstance(grads, Error):
            observations.append((f"{where} {name}", grads))
            return []
        observations.extend((f"{where} {name} by {k}", array_or_none(g)) for k, g in enumerate(grads))
        return [real(adjoint, g).sin().sum() for g in grads if g is not None and g.requires_grad]

    pull("gradient of the first", ys[:1])
    again = pull("gradient", ys, create_graph=True)
    if again:
        pull("second order", [sum(again[1:], again[0])])
    attempt(lambda: adjoint.autograd.backward(ys, [adjoint.ones_like(y) for y in ys]))
    grads = [x.grad if attempt(lambda x=x: x.is_leaf) is True else None for x in leaves]  # type: ignore[misc]
    return [*observations, *((f"{where} .grad {k}", array_or_none(g)) for k, g in enumerate(grads))]


def is_recorded(y: Any) -> bool:
    node = attempt(lambda: y.grad_fn)
    return node is not None and not isinstance(node, Error)


def fault(case: Program | Call) -> Fault | None:
    """The difference of the compiled function, or None."""

    def as_it_is(shake: int) -> Observations:
        return observe(replace(case, shake=shake), lambda f: f)

    tol = case.rounding
    plain, compiled = dict(as_it_is(0)), dict(observe(case, adjoint.compile))
    refused = [
        name for name, outcome in compiled.items() if isinstance(outcome, Error) and outcome.text in (HISTORY, CHANGED)
    ]
    # a refused gradient with a history, and the observations that would follow from it
    left_out = tuple(part for name in refused for part in (name, name.replace("gradient", "second order")))
    for name in [*plain, *(name for name in compiled if name not in plain)]:
        if name.startswith(left_out or ("none",)):
            continue
        result, expected = compiled.get(name, MISSING), plain.get(name, MISSING)
        if not alike(result, expected, tol) and is_steady(name, expected, as_it_is, tol):
            what = f"{name}: {apart(result, expected)}"
            return Fault(name.split(" ")[2] if name.count(" ") > 1 else "call", "compiled", what)
    return None


def alike(one: Any, other: Any, tol: float) -> bool:
    if isinstance(one, Error) and isinstance(other, Error):
        return one.kind == other.kind
    return same(one, other, tol)
