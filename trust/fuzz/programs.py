"""Random programs as text: lines of calls under names that adjoint and PyTorch share. `L` is the library.

A program is drawn line by line. Each line is tried at once, so that the shapes of its operands fit. Some lines that
fail stay, since errors are compared too. This module runs beside PyTorch too, and does not import adjoint.

    v3 = v0.sin()
    v4 = v3.mT[..., 1:]
    v3.mul_(v1)

A program that shows a difference is shortened by removing lines (`shorten`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trust.fuzz import custom
from trust.fuzz.observations import NARROW, shake_values

Lines = tuple[str, ...]


def read(text: str) -> dict[str, Lines]:
    """The lines of each section.

    >>> read("# comment\\n[views]\\n{x}.mT\\n\\n[moves]\\n{x}.clone()\\n{x}.tril()")
    {'views': ('{x}.mT',), 'moves': ('{x}.clone()', '{x}.tril()')}
    """
    sections: dict[str, Lines] = {}
    for line in text.splitlines():
        if line.startswith("["):
            sections[name := line[1:-1]] = ()
        elif line and not line.startswith("#"):
            sections[name] += (line,)
    return sections


LINES = read((Path(__file__).parent / "lines.txt").read_text(encoding="utf-8"))
#: How often each kind is drawn, by the kind of program.
Weights = dict[str, int]
PURE = {"smooth": 6, "moves": 2, "views": 2}
LOCAL = {"smooth": 5, "moves": 2, "views": 3, "in place": 3}
KINKS = {"smooth": 4, "kinked": 3, "moves": 2, "views": 2}
COMPILED = {"smooth": 4, "kinked": 1, "moves": 2, "views": 3, "in place": 3, "types": 1, "passes": 1, "custom": 1}
ANY = {
    "smooth": 4,
    "kinked": 1,
    "moves": 2,
    "views": 4,
    "in place": 4,
    "types": 1,
    "modes": 1,
    "passes": 1,
    "custom": 1,
}
#: Kinds of lines that make no tensor.
STATEMENTS = ("in place", "modes")

SHAPES = ((2, 3), (3,), (3, 3), (2, 3, 2), (), (1, 3), (3, 1), (4,), (2, 2))
NUMBERS = ("0.5", "-1.0", "2", "1.5", "-0.7")
MOST_ELEMENTS = 96
LARGE = ((1100,), (33, 40), (7, 11, 13), (2, 1030), (1030, 2), (1,), (40, 1), (5, 300), (300,), (40,))
#: The names of the inputs.
FIRST = ("v0", "v1", "v2")
#: Errors that a line may raise.
ERRORS = (
    RuntimeError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    NotImplementedError,
    AssertionError,
    KeyError,
    MemoryError,
)


@dataclass(frozen=True)
class Program:
    """Lines, and the inputs that they start from: name, shape, dtype, whether a gradient is needed, a layout.

    shake: the number of a change of all inputs by rounding, 0 for none.
    """

    inputs: tuple[tuple[str, tuple[int, ...], str, bool, str], ...]
    lines: tuple[str, ...]
    seed: int = 0
    shake: int = 0

    @property
    def rounding(self) -> float:
        """The additional tolerance for intermediate numbers of less than 64 bits."""
        return NARROW if any(word in str(self) for word in ("float32", "float()", "half()")) else 0.0

    def __str__(self) -> str:
        heads = [
            f"{name}: {dtype}{list(shape)}{' grad' * grad} {layout}" for name, shape, dtype, grad, layout in self.inputs
        ]
        return "\n".join(["# " + "; ".join(heads), *self.lines])


# inputs ---------------------------------------------------------------------------------------------------------------

#: A layout: the shape of the drawn array, and the change that gives the input.
LAYOUTS: dict[str, tuple[Callable[[tuple[int, ...]], tuple[int, ...]], Callable[[Any], Any]]] = {
    "plain": (lambda shape: shape, lambda x: x),
    "transposed": (lambda shape: shape[::-1], lambda x: x.permute(tuple(range(x.ndim - 1, -1, -1)))),
    "steps": (lambda shape: (*shape[:-1], shape[-1] * 2) if shape else shape, lambda x: x[..., ::2] if x.ndim else x),
    "offset": (lambda shape: (shape[0] + 1, *shape[1:]) if shape else shape, lambda x: x[1:] if x.ndim else x),
    "expanded": (lambda shape: (1, *shape[1:]) if shape else shape, lambda x: x),
}


def numbers(seed: int, k: int, shape: Sequence[int], is_complex: bool) -> np.ndarray[Any, Any]:
    """The values of input k: distinct, apart from each other, none near 0."""
    rng = np.random.default_rng([seed, k])
    values = rng.uniform(0.1, 1.4, tuple(shape)) * rng.choice([-1.0, 1.0], tuple(shape))
    return np.asarray(values + 1j * rng.uniform(0.1, 1.4, tuple(shape)) if is_complex else values)


def inputs_of(library: Any, program: Program, leaves: bool = True) -> list[Any]:
    """The inputs of a program, as tensors of a library."""
    tensors = []
    for k, (_, shape, dtype, grad, layout) in enumerate(program.inputs):
        before, change = LAYOUTS[layout]
        is_complex = dtype.startswith("complex")
        values = numbers(program.seed, k, before(shape), is_complex)
        if program.shake:
            # elements that share memory become different ones
            values = np.broadcast_to(values, shape) if layout == "expanded" else values
            values = shake_values(values, program.shake, dtype)
        tensor = change(
            library.tensor(values.tolist(), dtype=library.complex128 if is_complex else library.float64).to(
                getattr(library, dtype)
            )
        )
        tensor = tensor.expand(shape) if layout == "expanded" else tensor
        tensors.append(tensor.requires_grad_() if grad and leaves else tensor)
    return tensors


# drawing --------------------------------------------------------------------------------------------------------------


def program(
    library: Any,
    seed: int,
    weights: Weights,
    *,
    n_lines: int = 8,
    failing: float = 0.0,
    dtypes: Sequence[str] = ("float64",),
    layouts: Sequence[str] = ("plain",),
    shapes: Sequence[tuple[int, ...]] = SHAPES,
    grads: float = 0.7,
    overlaps: bool = True,
    most: int = MOST_ELEMENTS,
) -> Program:
    """The program of a seed."""
    draw = random.Random(f"program {seed}")
    inputs = tuple(
        (name, draw.choice(shapes), draw.choice(dtypes), name == "v0" or draw.random() < grads, draw.choice(layouts))
        for name in FIRST
    )
    start = Program(inputs, (), seed)
    space = names(library, start)
    lines: list[str] = []
    tries = 0
    before = library.is_grad_enabled()
    try:
        while len(lines) < n_lines and tries < 12 * n_lines:
            tries += 1
            line = statement(draw, weights, space, overlaps)
            error = run_line(line, space)
            if error is None or draw.random() < failing:
                lines.append(line)
                clean(space, most)
    finally:
        library.set_grad_enabled(before)
    return replace(start, lines=tuple(lines))


def names(library: Any, program: Program, leaves: bool = True) -> dict[str, Any]:
    tensors = inputs_of(library, program, leaves)
    return {
        "L": library,
        "K": custom.functions(library),
        **{entry[0]: tensor for entry, tensor in zip(program.inputs, tensors, strict=True)},
    }


def statement(draw: random.Random, weights: Weights, space: dict[str, Any], overlaps: bool = True) -> str:
    """A line whose operands exist. overlaps: a line may write to memory that it also reads."""
    kind = draw.choices(list(weights), list(weights.values()))[0]
    tensors = [name for name in space if name.startswith("v")]
    recent = tensors[-4:] if draw.random() < 0.6 else tensors
    x, y = draw.choice(recent), draw.choice(tensors)
    if kind == "in place" and not overlaps and x != y and meet(space[x], space[y]):
        y = f"{y}.clone()"
    text = draw.choice(LINES[kind]).format(
        x=x, y=y, i=draw.choice((0, -1, 1, 0, -1, 2)), j=draw.choice((0, 1, -1)),
        c=draw.choice(NUMBERS),
    )  # fmt: skip
    if kind in STATEMENTS:
        return text
    number = 1 + max(int(name[1:]) for name in tensors)
    return f"v{number} = {text}"


def meet(first: Any, second: Any) -> bool:
    """Whether two tensors may share memory."""
    return bool(np.may_share_memory(first.detach().numpy(force=True), second.detach().numpy(force=True)))


def run_line(line: str, space: dict[str, Any]) -> BaseException | None:
    """Run a line. Returns its error, or None."""
    try:
        exec(line, space)
    except ERRORS as error:
        return error
    return None


def clean(space: dict[str, Any], most: int) -> None:
    """Leave out results that are no tensors, or too large."""
    takes_complex = any(space[name].is_complex() for name in FIRST)
    for name in [name for name in space if name.startswith("v")]:
        value = space[name]
        if name in FIRST:
            continue
        is_tensor = hasattr(value, "numel")
        if not is_tensor or not 0 < value.numel() <= most or (value.is_complex() and not takes_complex):
            del space[name]


# shortening -----------------------------------------------------------------------------------------------------------


def shorten(whole: Program, fails: Callable[[Program], bool]) -> Program:
    """The shortest program that still fails: lines are removed one by one."""
    lines = list(whole.lines)
    changed = True
    while changed:
        changed = False
        for k in reversed(range(len(lines))):
            shorter = replace(whole, lines=tuple(lines[:k] + lines[k + 1 :]))
            try:
                still_fails = fails(shorter)
            except NameError:
                still_fails = False  # a line that others need
            if still_fails:
                lines = list(shorter.lines)
                changed = True
    return replace(whole, lines=tuple(lines))
