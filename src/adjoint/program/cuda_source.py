"""An elementwise form as the body of a CUDA kernel: one statement for each step.

The body is C++ that host compilers also accept. It calls functions of C's library, which CUDA has for float and double.
The table has an expression for each kernel.
"""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy

from .form import BOOL, CAST, COPY, NARROW, WHERE, WIDEN, Form, Step

#: The types of C, and CuPy's and NumPy's names for them.
TYPES = {"f": "float", "d": "double", BOOL: "bool"}
NAMES = {"f": "float32", "d": "float64", BOOL: "bool"}


class Unprintable(Exception):
    """A form has no kernel; the message names the step or another reason."""


def _functions(*names: str, **renamed: str) -> dict[str, str]:
    """Kernels that are a function of C's library of one operand, some under another name."""
    return {name: f"{function}({{0}})" for name, function in (dict(zip(names, names, strict=True)) | renamed).items()}


#: The expression of each kernel, by its name: {0}, {1}, {2} are the operands, {T} the type of the result.
EXPRESSIONS: dict[str, str] = {
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0} * {1}", "divide": "{0} / {1}",
    "negative": "-{0}", "positive": "{0}", "conjugate": "{0}", "square": "{0} * {0}", "reciprocal": "{T}(1) / {0}",
    "absolute": "fabs({0})", "fabs": "fabs({0})", "power": "pow({0}, {1})",
    "less": "{0} < {1}", "less_equal": "{0} <= {1}", "greater": "{0} > {1}", "greater_equal": "{0} >= {1}",
    "equal": "{0} == {1}", "not_equal": "{0} != {1}",
    "bitwise_and": "{0} && {1}", "bitwise_or": "{0} || {1}", "bitwise_xor": "{0} != {1}", "invert": "!{0}",
    "logical_and": "{0} && {1}", "logical_or": "{0} || {1}", "logical_xor": "bool({0}) != bool({1})",
    "logical_not": "!{0}",
    # comparisons with themselves find NaN, which these hand on, other than C's functions
    "maximum": "{0} >= {1} || {0} != {0} ? {0} : {1}", "minimum": "{0} <= {1} || {0} != {0} ? {0} : {1}",
    "clip": "{0} < {1} ? {1} : {0} > {2} ? {2} : {0}",
    "sign": "{0} != {0} ? {0} : {T}(({0} > 0) - ({0} < 0))",
    "isnan": "{0} != {0}", "isfinite": "{0} - {0} == 0", "isinf": "{0} == {0} && {0} - {0} != 0",
    "signbit": "copysign({T0}(1), {0}) < 0",
    "copysign": "copysign({0}, {1})", "fmax": "fmax({0}, {1})", "fmin": "fmin({0}, {1})", "fmod": "fmod({0}, {1})",
    "hypot": "hypot({0}, {1})", "arctan2": "atan2({0}, {1})", "nextafter": "nextafter({0}, {1})",
    "remainder": "fmod({0}, {1}) == 0 ? copysign({T}(0), {1}) : "
    "fmod({0}, {1}) + (({1} < 0) != (fmod({0}, {1}) < 0) ? {1} : {T}(0))",
    # infinite operands that are equal have no difference
    "logaddexp": "{0} == {1} ? {0} + {T}(0.6931471805599453) : "
    "({0} > {1} ? {0} : {1}) + log1p(exp(-fabs({0} - {1})))",
    "logaddexp2": "{0} == {1} ? {0} + {T}(1) : "
    "({0} > {1} ? {0} : {1}) + log1p(exp2(-fabs({0} - {1}))) * {T}(1.4426950408889634)",
    # C has these in double precision
    "j0": "{T}(j0({0}))", "j1": "{T}(j1({0}))", "y0": "{T}(y0({0}))", "y1": "{T}(y1({0}))",
    "deg2rad": "{0} * {T}(0.017453292519943295)", "rad2deg": "{0} * {T}(57.29577951308232)",
    "expit": "{T}(1) / ({T}(1) + exp(-{0}))", "gamma": "tgamma({0})", "gammaln": "lgamma({0})",
    "ndtr": "{T}(0.5) * erfc(-{0} * {T}(0.7071067811865476))",
    "normal_cdf": "{T}(0.5) * erfc(-{0} * {T}(0.7071067811865476))",
    "entr": "{0} > 0 ? -{0} * log({0}) : {0} == 0 ? {T}(0) : {0} != {0} ? {0} : -{T}(1) / {T}(0)",
    "exprel": "fabs({0}) < {T}(1e-20) ? {T}(1) : expm1({0}) / {0}",
    WHERE: "{0} ? {1} : {2}", CAST: "{T}({0})", COPY: "{0}", WIDEN: "{T}({0})", NARROW: "{T}({0})",
}  # fmt: skip
EXPRESSIONS |= _functions(
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt",
    "cbrt", "floor", "ceil", "trunc", "rint", "erf", "erfc",
    arcsin="asin", arccos="acos", arctan="atan", arcsinh="asinh", arccosh="acosh", arctanh="atanh",
)  # fmt: skip


def parameter(k: int) -> str:
    """The name of an input."""
    return f"in{k}"


def result(k: int) -> str:
    """The name of an output."""
    return f"out{k}"


def results_of(form: Form) -> list[int]:
    """The registers that a kernel writes. Raises Unprintable where one kernel cannot write them."""
    if any(step.reduction is not None for step in form.steps):
        raise Unprintable("a reduction is no kernel on elements")
    registers = registers_of(form)
    if any(register < form.first_step for register in registers):
        raise Unprintable("an input or a constant is a result")
    if len({frozenset(inputs_of(form, register)) for register in registers}) != 1:
        raise Unprintable("results of several shapes")
    return registers


def inputs_of(form: Form, register: int) -> list[int]:
    """The inputs that a register depends on."""
    visited: set[int] = set()
    stack = [register]
    while stack:
        k = stack.pop()
        if k not in visited:
            visited.add(k)
            stack.extend(form.steps[k - form.first_step].operands if k >= form.first_step else ())
    return sorted([k for k in visited if k < len(form.inputs)])


def registers_of(form: Form) -> list[int]:
    """The registers of all results, each once; the kernel of a region writes them."""
    return list(dict.fromkeys(form.registers_of_results()))


def body_of(form: Form, registers: list[int] | None = None) -> str:
    """The statements of a form, from in0, in1, ... to out0, out1, ...

    registers: the registers to write; by default `results_of` the form.

    Raises Unprintable for a step without an expression.

    >>> import numpy
    >>> from adjoint.program.trace import trace
    >>> x = numpy.ones(3)
    >>> print(body_of(trace(lambda g, y: g * (1 - y * y), (x, x))))
    const double t0 = in1 * in1;
    const double t1 = double(1.0) - t0;
    out0 = in0 * t1;
    """
    registers = results_of(form) if registers is None else registers
    names = [parameter(k) for k in range(len(form.inputs))]
    names += [literal(number, dtype) for dtype, number in form.constants]
    lines = []
    for k, step in enumerate(form.steps):
        expression = expression_of(step, [names[operand] for operand in step.operands], form.dtypes)
        register = form.first_step + k
        if registers == [register]:
            lines.append(f"{result(0)} = {expression};")
            names.append(result(0))
            continue
        names.append(f"t{k}")
        lines.append(f"const {TYPES[step.dtype]} t{k} = {expression};")
    if len(registers) > 1:
        lines += [f"{result(k)} = {names[register]};" for k, register in enumerate(registers)]
    return "\n".join(lines)


def expression_of(step: Step, operands: list[str], dtypes: list[str]) -> str:
    """The expression of a step."""
    text = EXPRESSIONS.get(step.name)
    if text is None:
        raise Unprintable(f"{step.name} has no expression in CUDA")
    operand_dtype = dtypes[step.operands[0]]
    return text.format(*operands, T=TYPES[step.dtype], T0=TYPES[operand_dtype])


def literal(number: Any, dtype: str) -> str:
    """A constant, to the last bit.

    >>> literal(0.1, "f"), literal(float("-inf"), "d"), literal(1.0, "?")
    ('float(0.10000000149011612)', 'double(-1.0 / 0.0)', 'true')
    """
    if dtype == BOOL:
        return "true" if number else "false"
    value = float(numpy.dtype(dtype).type(number))
    if value != value:
        text = "0.0 / 0.0"
    else:
        text = repr(value) if isfinite(value) else "1.0 / 0.0" if value > 0 else "-1.0 / 0.0"
    return f"{TYPES[dtype]}({text})"


def has_expression(name: str, dtypes: list[str]) -> bool:
    """True for a step that a kernel can have: its name, and the types of its operands and its result.

    >>> has_expression("tanh", ["f", "f"]), has_expression("add", ["l", "l"])
    (True, False)
    """
    return name in EXPRESSIONS and all(dtype in TYPES for dtype in dtypes)


def evaluate(form: Form, arrays: list[Any]) -> list[Any]:
    """All results of a form by NumPy's functions, step by step, as its kernel computes them."""
    values = [*arrays, *[numpy.dtype(dtype).type(number) for dtype, number in form.constants]]
    with numpy.errstate(all="ignore"):
        for step in form.steps:
            operands = [values[operand] for operand in step.operands]
            if step.kernel == WHERE:
                values.append(numpy.where(*operands))
            elif isinstance(step.kernel, str):
                values.append(numpy.asarray(operands[0]).astype(step.dtype))
            else:
                values.append(numpy.asarray(step.kernel(*operands)))
    return [values[register] for register in registers_of(form)]
