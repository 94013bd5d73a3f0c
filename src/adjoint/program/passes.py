"""A form made shorter, with the same results to the last bit.

A trace records equal steps once. During the trace `simplify` removes trivial steps. `form_of` keeps the steps that
lead to a result and numbers the registers.
"""

from __future__ import annotations

from typing import Any

import numpy

from .form import Form, Step


def simplify(kernel: Any, operands: list[Any]) -> Any:
    """The operand that a step would give unchanged, or None.

    An input is never one: a function's result is memory of its own.
    """
    rule = _SIMPLER.get(kernel)
    operand = None if rule is None else rule(operands)
    return None if operand is None or operand.kernel == "input" else operand


def _without_factor_one(operands: list[Any]) -> Any:
    first, second = operands
    if second.number == 1:
        return first
    return second if first.number == 1 else None


def _without_divisor_one(operands: list[Any]) -> Any:
    return operands[0] if operands[1].number == 1 else None


def _itself(operands: list[Any]) -> Any:
    return operands[0]


def merge(kernel: Any, operands: list[Any]) -> tuple[Any, list[Any]]:
    """The single step for an upper bound after a lower bound, if both bounds are numbers.

    The bound is the first operand: of two equal operands, such as zeros of two signs, the second is the result, as in
    clip.
    """
    if getattr(kernel, "__name__", "") != "minimum" or getattr(operands[1].kernel, "__name__", "") != "maximum":
        return kernel, operands
    high, (low, values) = operands[0], operands[1].operands
    if low.number is None or high.number is None or not low.number <= high.number:
        return kernel, operands
    return _CLIP, [values, low, high]


_CLIP = numpy._core.umath.clip  # type: ignore[attr-defined]

_SIMPLER = {
    numpy.multiply: _without_factor_one,
    numpy.divide: _without_divisor_one,
    numpy.positive: _itself,
}


def form_of(inputs: list[Any], results: Any) -> Form:
    """The form of the values that lead to the results, operands first."""
    outputs = [value for value in (results if isinstance(results, tuple) else (results,)) if value is not None]
    order = live_values(outputs)
    constants = [value for value in order if value.kernel == "constant"]
    steps = [value for value in order if value.kernel not in ("constant", "input")]
    numbers = {id(value): k for k, value in enumerate([*inputs, *constants, *steps])}

    def register(value: Any) -> int | None:
        return None if value is None else numbers[id(value)]

    return Form(
        [value.dtype for value in inputs],
        [(value.dtype, value.number) for value in constants],
        [Step(v.kernel, tuple([numbers[id(o)] for o in v.operands]), v.dtype, v.reduction) for v in steps],
        tuple([register(value) for value in results]) if isinstance(results, tuple) else register(results),
    )


def live_values(outputs: list[Any]) -> list[Any]:
    """The values that lead to the given ones, operands first, without recursion."""
    unique: dict[int, Any] = {}
    stack = [(value, False) for value in reversed(outputs)]
    while stack:
        value, returning = stack.pop()
        if returning:
            unique[id(value)] = value
        elif id(value) not in unique:
            stack.append((value, True))
            stack.extend([(operand, False) for operand in value.operands])
    return list(unique.values())
