"""The names in samples: constructors of inputs, named inputs, and the library's own functions.

A sample gets the same numbers in both libraries. The text of the sample seeds their generator.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan
from types import CodeType, ModuleType
from typing import Any

import numpy as np

from .samples import Sample, named_inputs, names_of

Array = np.ndarray[Any, Any]
Leaf = Callable[[Any, int], Any]  # what becomes of an input and its number: itself, a leaf, a dual tensor

DIFFERENTIABLE = ("float64", "float32", "float16", "bfloat16", "complex128", "complex64")
PYTHON = {"inf": inf, "nan": nan, "np": np, "range": range, "slice": slice, "len": len, "list": list, "tuple": tuple}
EXTREME = (nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e-30, 700.0)


@dataclass(frozen=True)
class Dtypes:
    """The dtype of the sample, a dtype for rounding the inputs before, and whether named inputs are contiguous."""

    dtype: str
    rounded: str = ""
    contiguous: bool = False


class Inputs:
    """The constructors of samples. Each result is a separate input, with a derivative if its dtype allows it."""

    def __init__(self, library: ModuleType, dtypes: Dtypes, seed: str, leaf: Leaf):
        self.library, self.dtype, self.rounded, self.leaf = library, dtypes.dtype, dtypes.rounded, leaf
        self.random = np.random.default_rng(zlib.crc32(seed.encode()))
        self.leaves: list[Any] = []

    def input(self, values: Array, imaginary: Array | None = None, dtype: Any = None, constant: bool = False) -> Any:
        """A tensor of these numbers in the sample's dtype or another one."""
        name = self.dtype if dtype is None else str(dtype).rpartition(".")[2]
        first = self.rounded if self.rounded and name == self.dtype else name
        tensor = self.library.tensor(convert(values, imaginary, first))
        for each in (first, name):
            tensor = tensor.to(getattr(self.library, each))
        if name in DIFFERENTIABLE and not constant:
            tensor = self.leaf(tensor, len(self.leaves))
            self.leaves.append(tensor)
        return tensor

    def normal(self, *shape: int, dtype: Any = None) -> Any:
        return self.input(self.random.normal(size=shape), self.random.normal(size=shape), dtype)

    def uniform(self, low: float, high: float, *shape: int, dtype: Any = None) -> Any:
        values = self.random.uniform(low, high, shape), self.random.uniform(low, high, shape)
        return self.input(*values, dtype)

    def steps(self, *shape: int, dtype: Any = None) -> Any:
        """Integers from -2 to 2: ties, zeros, kinks."""
        values = self.random.integers(-2, 3, shape), self.random.integers(-2, 3, shape)
        return self.input(*values, dtype)

    def extreme(self, *shape: int, dtype: Any = None) -> Any:
        """NaN, infinities, signed zeros and some more, then normal numbers: constants, of which values are compared."""
        values = self.random.normal(size=shape)
        count = min(values.size, len(EXTREME))
        values.flat[:count] = EXTREME[:count]
        tensor = self.input(values, None, dtype, constant=True)
        if not tensor.isnan().any():
            return tensor
        return tensor.masked_fill(tensor.isnan(), nan)  # whose sign a conversion may have changed

    def gaps(self, *shape: int, dtype: Any = None) -> Any:
        """Normal numbers, and minus infinity in every third place, as masks leave it."""
        values = self.random.normal(size=shape)
        values.flat[::3] = -inf
        return self.input(values, None, dtype)

    def constant(self, value: float, *shape: int, dtype: Any = None) -> Any:
        return self.input(np.full(shape, value), None, dtype)

    def of(self, values: Any, dtype: Any = None) -> Any:
        """These numbers."""
        array = np.asarray(values)
        return self.input(array.real, array.imag if array.dtype.kind == "c" else None, dtype)

    def definite(self, *shape: int, dtype: Any = None) -> Any:
        """Hermitian positive definite matrices."""
        real, imaginary = self.random.normal(size=(2, *shape, shape[-1]))
        name = self.dtype if dtype is None else str(dtype).rpartition(".")[2]
        root = real + 1j * imaginary if name.startswith("complex") else real
        values = root @ np.conj(np.swapaxes(root, -1, -2)) + shape[-1] * np.eye(shape[-1])
        return self.input(values.real, values.imag, dtype)


def convert(values: Array, imaginary: Array | None, dtype: str) -> Array:
    """Numbers in a NumPy dtype that becomes the dtype of the tensor.

    So both libraries round at most once, in the same way.
    """
    values = np.asarray(values)
    if dtype.startswith("complex"):
        return np.asarray(values + 1j * imaginary if imaginary is not None else values).astype(dtype)
    if dtype in ("float16", "bfloat16"):
        return values.astype("float32")
    if dtype == "bool":
        return values > 0
    if dtype.startswith(("int", "uint")):
        spread = values if values.dtype.kind == "i" else 2 * values
        whole = np.round(np.nan_to_num(spread, nan=6, posinf=10, neginf=-8).clip(-99, 99))
        return np.asarray(np.abs(whole) if dtype == "uint8" else whole, dtype)
    return values.astype(dtype)


class Scope:
    """Evaluates a sample in one library. It looks up all names first, then it runs the expression."""

    def __init__(self, library: ModuleType, sample: Sample, dtypes: Dtypes, leaf: Leaf):
        self.library, self.dtype, self.contiguous = library, dtypes.dtype, dtypes.contiguous
        self.inputs = Inputs(library, dtypes, sample.text, leaf)
        self.names: dict[str, Any] = {}
        self.call, _, self.comparison = sample.text.partition(" => ")

    def result(self) -> Any:
        """The result of the call."""
        return self.value(self.call)

    def compared_value(self, result: Any) -> Any:
        """The compared value: the result, or an expression of the result."""
        self.names["r"] = result
        return self.value(self.comparison) if self.comparison else result

    def value(self, expression: str) -> Any:
        for name in names_of(expression):
            self.find(name)
        return eval(code_of(expression), self.names)

    def find(self, name: str) -> None:
        """Store the value of a name for expressions."""
        if name not in self.names:
            self.names[name] = self.look_up(name)

    def look_up(self, name: str) -> Any:
        if name in named_inputs():
            value = self.value(named_inputs()[name])
            return value.contiguous() if self.contiguous else value
        if name == "dtype":
            return getattr(self.library, self.dtype)
        if hasattr(Inputs, name):
            return getattr(self.inputs, name)
        if name in PYTHON:
            return PYTHON[name]
        definition, _, dtype = name.partition("_")
        if definition in named_inputs() and not hasattr(self.library, name):  # x_float64: x in another dtype
            return self.of_dtype(named_inputs()[definition], dtype)
        return getattr(self.library, name)

    def of_dtype(self, expression: str, dtype: str) -> Any:
        before = self.inputs.dtype, self.inputs.rounded
        self.inputs.dtype, self.inputs.rounded = dtype, ""
        try:
            return self.value(expression)
        finally:
            self.inputs.dtype, self.inputs.rounded = before


CODE: dict[str, CodeType] = {}


def code_of(expression: str) -> CodeType:
    """The expression's code, made once."""
    if expression not in CODE:
        CODE[expression] = compile(expression.strip(), "<sample>", "eval")
    return CODE[expression]


def random_array(shape: Sequence[int], dtype: str, *seed: int) -> Array:
    """Cotangents and tangents: normal numbers, complex ones for complex dtypes."""
    random = np.random.default_rng(seed)
    real, imaginary = random.normal(size=(2, *shape))
    return convert(real, imaginary, dtype)
