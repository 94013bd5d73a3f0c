"""The form of a program: steps in single-assignment order.

A register holds one value: first the inputs, then the constants, then the result of each step. A step names its kernel,
the registers that it reads and the type of its result. The shape of its result is the broadcast shape of all operands,
or, for a reduction, the operand's shape without the last axes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy

from adjoint.arrays.kernels import vector_ufuncs

#: Kernels that are no ufuncs: a selection by truth values; truth values as numbers; a copy; other floats.
WHERE, CAST, COPY, WIDEN, NARROW = "where", "cast", "copy", "widen", "narrow"

BOOL = "?"
#: The types of numbers that programs compute in.
FLOATS = ("f", "d")
#: The time of a step for one element, in additions: of arithmetic, of functions with loops by vectors, of all others.
#: `python -m benchmarks.crossovers` measures them.
ARITHMETIC, ELEMENTARY, SPECIAL = 1, 5, 25


class Reduction(NamedTuple):
    """The axes that a step reduces: the last `axes` ones, or all of them if None; `keepdims` as in NumPy."""

    axes: int | None
    keepdims: bool


class Step(NamedTuple):
    """One step: a ufunc, or the name of another kernel, on registers."""

    kernel: Any
    operands: tuple[int, ...]
    dtype: str
    reduction: Reduction | None = None

    @property
    def name(self) -> str:
        """The name of the kernel."""
        name: str = self.kernel if isinstance(self.kernel, str) else self.kernel.__name__
        return name if self.reduction is None else f"{name}.reduce"

    @property
    def cost(self) -> int:
        """The time for one element, in additions.

        >>> Step(numpy.add, (0, 1), "d").cost, Step(numpy.exp, (0,), "d").cost
        (1, 5)
        """
        if isinstance(self.kernel, str):
            return ARITHMETIC
        name = self.kernel.__name__
        if name in vector_ufuncs.ARITHMETIC:
            return ARITHMETIC
        if name in vector_ufuncs.NUMPY_NAMES or name in vector_ufuncs.SPECIAL_NAMES or name == "sqrt":
            return ELEMENTARY
        return ARITHMETIC if hasattr(numpy, name) else SPECIAL


class Form:
    """A traced program: inputs, constants, steps, and the registers of the results.

    inputs: the type of each input. constants: pairs of a type and a number. results: a register, None, or a tuple of
    these.

    >>> import numpy
    >>> steps = [Step(numpy.multiply, (0, 1), "d"), Step(numpy.tanh, (2,), "d")]
    >>> print(Form(["d"], [("d", 0.5)], steps, 3))
    (a: float64)
    t1 = multiply(a, 0.5)
    t2 = tanh(t1)
    return t2
    """

    __slots__ = ("constants", "inputs", "results", "steps")

    def __init__(self, inputs: Any, constants: Any, steps: Any, results: Any) -> None:
        self.inputs: tuple[str, ...] = tuple(inputs)
        self.constants: tuple[tuple[str, float], ...] = tuple(constants)
        self.steps: tuple[Step, ...] = tuple(steps)
        self.results = results

    @property
    def first_step(self) -> int:
        """The register of the first step's result."""
        return len(self.inputs) + len(self.constants)

    @property
    def dtypes(self) -> list[str]:
        """The type of each register."""
        return [*self.inputs, *[dtype for dtype, _ in self.constants], *[step.dtype for step in self.steps]]

    @property
    def is_elementwise(self) -> bool:
        """True for one result of elementwise steps alone: the program runs on arrays of any shape."""
        return (
            isinstance(self.results, int)
            and self.results >= self.first_step
            and all(step.reduction is None for step in self.steps)
        )

    @property
    def cost(self) -> int:
        """The time of all steps for one element, in additions."""
        return sum([step.cost for step in self.steps])

    def registers_of_results(self) -> list[int]:
        """The registers of the results, in order."""
        listed = self.results if isinstance(self.results, tuple) else (self.results,)
        return [register for register in listed if register is not None]

    def _name(self, register: int) -> str:
        if register < len(self.inputs):
            return _letters(register)
        if register < self.first_step:
            return repr(self.constants[register - len(self.inputs)][1])
        return f"t{register - self.first_step + 1}"

    def __str__(self) -> str:
        inputs = [f"{_letters(k)}: {numpy.dtype(dtype).name}" for k, dtype in enumerate(self.inputs)]
        lines = [f"({', '.join(inputs)})"]
        for k, step in enumerate(self.steps):
            arguments = [self._name(register) for register in step.operands]
            if step.reduction is not None:
                axes, keepdims = step.reduction
                arguments += [f"last_axes={axes}" if axes is not None else "axis=None", f"keepdims={keepdims}"]
            lines.append(f"t{k + 1} = {step.name}({', '.join(arguments)})")
        results = self.results if isinstance(self.results, tuple) else (self.results,)
        result_names = ["None" if register is None else self._name(register) for register in results]
        lines.append("return " + ", ".join(result_names))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Form of {len(self.inputs)} inputs and {len(self.steps)} steps>"

    def _fields(self) -> tuple[Any, ...]:
        # nan is a constant like any other
        return self.inputs, repr(self.constants), self.steps, self.results

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Form) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __reduce__(self) -> Any:
        return Form, (self.inputs, self.constants, self.steps, self.results)


def _letters(k: int) -> str:
    """a, b, ... z, a1, b1, ...

    >>> [_letters(k) for k in (0, 25, 26)]
    ['a', 'z', 'a1']
    """
    round_, letter = divmod(k, 26)
    return chr(ord("a") + letter) + (str(round_) if round_ else "")
