"""Random nests of transforms over random functions, compared with nested backward passes.

A function is a random program with one argument and two tensors in its closure. Or it is a call with random options, as
a function of one of its inputs. A nest applies transforms to it one after another, by each of the two tables
(transforms.py). Both nests are called at the same point. Then their results are differentiated by the argument and by
the tensors of the closure.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import adjoint
from trust.fuzz import custom, options, programs
from trust.fuzz.faults import Fault
from trust.fuzz.observations import Error, Observations, apart, array, attempt, is_steady, same
from trust.fuzz.options import Call
from trust.fuzz.programs import Program
from trust.fuzz.transforms import (
    CLOSED,
    JACOBIANS,
    MOST_JACOBIANS,
    OWN,
    PLAIN,
    Function,
    Transform,
    weighted_sum,
    zero_if_none,
)

SHAPES = ((3,), (2, 3), (2, 2), (), (1, 2))
#: The share of calls among the functions, and the largest number of elements of their resized inputs.
CALLS, MOST_ELEMENTS = 0.6, 60
#: Larger numbers are not compared: their higher derivatives are only rounding.
LARGEST = 1e12
TOLERANCE = 1e-6
#: Errors that PyTorch raises as well, although loops and nested passes work: in vmap, for dual numbers of dual numbers,
#: and in passes through values without effect.
REFUSED = re.compile(
    "view size is not compatible|is not possible because there exists a Tensor `other`|support dynamic shape"
    "|as_strided..: the members of a batch under vmap|Nested forward mode AD|modified by an inplace operation"
    "|inside of a function being transformed by a functorch|called inside a functorch transform"
    "|adjoint.compile: the gradient|shape mismatch: value tensor|data-dependent control flow|the derivative for"
    "|Batch norm got a batched tensor as input"
)


@dataclass(frozen=True)
class Nest:
    """A program and the names of its results, or a call and the number of the input that is the argument.

    transforms: from the innermost to the outermost.
    """

    program: Program | Call
    result: str
    transforms: tuple[str, ...]

    def __str__(self) -> str:
        what = "return" if isinstance(self.program, Program) else "of input"
        return f"{self.program}\n{what} {self.result}\n{' of '.join(reversed(self.transforms))} of it"


class Cases:
    """Nests of one to three transforms."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def text(self, number: int) -> str:
        nest = nest_of(f"{self.seed}:{number}")
        return str(shorten(nest, lambda shorter: fault(shorter) is not None) if fault(nest) else nest)

    def fault(self, number: int) -> Fault | None:
        return fault(nest_of(f"{self.seed}:{number}"))

    def close(self) -> None:
        """Nothing is held."""


def nest_of(name: str, deepest: int = 3, n_lines: int = 5) -> Nest:
    """The nest of a seed."""
    draw = random.Random(name)
    program, result = drawn_call(draw) if draw.random() < CALLS else drawn_program(draw, n_lines)
    kinds: list[str] = []
    for _ in range(draw.randint(1, deepest)):
        kind = draw.choice(list(OWN))
        if sum(JACOBIANS.get(each, 0) for each in (*kinds, kind)) <= MOST_JACOBIANS:
            kinds.append(kind)
    return Nest(program, result, tuple(kinds))


def drawn_call(draw: random.Random) -> tuple[Call, str]:
    """A call of real inputs, and the number of one of them."""
    call = options.call(draw.randrange(2**40), MOST_ELEMENTS)
    # gradients that are scaled by frequencies, or leave out rows of padding, are no derivatives
    text = re.sub("scale_grad_by_freq=True|padding_idx=[^,)]*", "padding_idx=None", call.text)
    return replace(call, text=text, dtype="float64"), str(draw.randrange(3))


def drawn_program(draw: random.Random, n_lines: int) -> tuple[Program, str]:
    """A program, and its result: the last tensor, or the last three."""
    program = programs.program(
        adjoint, draw.randrange(2**40), programs.LOCAL, n_lines=draw.randint(2, n_lines), shapes=SHAPES
    )
    lefts = [line.split(" = ")[0] for line in program.lines if line.startswith("v")]
    names = [*dict.fromkeys(["v0", *(left for left in lefts if left.isalnum())])][-3:]
    all_of_them = f"L.cat([{', '.join(f'{name}.reshape(-1).double()' for name in names)}])"
    return program, names[-1] if draw.random() < 0.5 else all_of_them


def parts_of(nest: Nest) -> tuple[Any, list[Any], Function]:
    """The argument, the tensors of the closure that may need a gradient, and the function."""
    if isinstance(nest.program, Program):
        x, *closure = programs.inputs_of(adjoint, nest.program)
        return x, closure, function_of_program(nest.program, nest.result, closure)
    inputs = options.Inputs(adjoint, nest.program, options.leaf)
    options.evaluate(adjoint, nest.program, inputs)
    x = inputs.leaves[int(nest.result) % len(inputs.leaves)]
    return x, [leaf for leaf in inputs.leaves if leaf is not x], function_of_call(nest.program, inputs.all, x)


def function_of_call(call: Call, inputs: list[Any], argument: Any) -> Function:
    """A call of one of its inputs: all results in one row."""

    def f(x: Any) -> Any:
        values = options.Stored([x if value is argument else value for value in inputs])
        results = options.evaluate(adjoint, call, values)
        rows = [adjoint.view_as_real(y) if y.is_complex() else y for y in results]
        return adjoint.cat([y.reshape(-1) for y in rows if y.is_floating_point()])

    return f


def function_of_program(program: Program, result: str, closure: list[Any]) -> Function:
    """A program of its first input. It starts from copies, since it may write to them."""
    names = [entry[0] for entry in program.inputs]
    copies = f"{', '.join(names)} = {', '.join(f'{name} * 1' for name in names)}"
    body = "\n ".join([copies, *program.lines])
    space: dict[str, Any] = {"L": adjoint, "K": custom.functions(adjoint)}
    exec(f"def f({', '.join(names)}):\n {body}\n return {result}", space)
    return lambda x: space["f"](x, *closure)


def observe(nest: Nest, table: dict[str, Transform]) -> Observations:
    """The result of a nest, and its gradients."""
    x, closure, f = parts_of(nest)
    for kind in nest.transforms:
        f = table[kind](adjoint, f)
    y = f(x)
    leaves = [x, *([] if CLOSED & {*nest.transforms} else [t for t in closure if t.requires_grad])]
    grads: Any = [None] * len(leaves)
    if y.requires_grad:
        grads = adjoint.autograd.grad(weighted_sum(adjoint, y), leaves, allow_unused=True)
    pairs = zip(grads, leaves, strict=True)
    return [
        ("result", array(y)),
        *((f"gradient {k}", array(zero_if_none(adjoint, grad, leaf))) for k, (grad, leaf) in enumerate(pairs)),
    ]


def fault(nest: Nest) -> Fault | None:
    """The fault of a nest, or None."""
    if "dual" in nest.transforms and "Function" in nest.transforms[nest.transforms.index("dual") :]:
        return None  # dual numbers have no tangents inside of a custom function, as in PyTorch

    def by_passes(shake: int) -> Any:
        program = replace(nest.program, shake=shake)
        return attempt(lambda: observe(replace(nest, program=program), PLAIN))

    plain = by_passes(0)
    if isinstance(plain, Error) or not is_finite(nest):
        return None  # the function itself cannot be differentiated
    results = attempt(lambda: observe(nest, OWN))
    where = " of ".join(reversed(nest.transforms))
    if isinstance(results, Error):
        return None if REFUSED.search(results.text) else Fault(results.kind, where, results.text)
    for (name, one), (_, other) in zip(results, plain, strict=True):
        if np.max(np.abs(other[np.isfinite(other)]), initial=0) > LARGEST:
            return None
        if not same(one, other, TOLERANCE) and is_steady(name, other, by_passes, TOLERANCE):
            return Fault(name.split(" ")[0], where, f"{name}: {apart(one, other)}")
    return None


def is_finite(nest: Nest) -> bool:
    """Whether the function has numbers where it is called."""
    x, _, f = parts_of(nest)
    return bool(np.isfinite(array(f(x))).all())


def shorten(nest: Nest, fails: Callable[[Nest], bool]) -> Nest:
    """The nest with as few transforms and lines as the failure needs."""
    changed = True
    while changed:
        changed = False
        for k in range(len(nest.transforms)):
            shorter = replace(nest, transforms=nest.transforms[:k] + nest.transforms[k + 1 :])
            if fails(shorter):
                nest, changed = shorter, True
                break
    if isinstance(nest.program, Program):
        program = programs.shorten(nest.program, lambda program: fails(replace(nest, program=program)))
        nest = replace(nest, program=program)
    return nest
