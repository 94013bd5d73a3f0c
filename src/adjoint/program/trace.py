"""Traces a function of arrays to the form of a program: the function is called once with symbols instead of arrays.

A `Symbol` records the operations on it: operators, ufuncs, selections, sums and maxima over the last axes. Kernels and
formulas need no declaration for this. Facts about shapes that a function reads limit its program:

    NOTHING    neither ranks nor shapes: one program for arrays of any shape
    RANKS      the number of axes of its arguments
    SHAPES     their shapes

A function is first traced with NOTHING. If it reads more, the symbol raises `Looked`, and the trace starts again with
that level. A function that does anything else, such as reading values, is `Untraceable`, with the reason. All other
exceptions come from the function itself.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, prod
from typing import Any

import numpy

from adjoint.runtime.caches import memoize

from .form import BOOL, CAST, FLOATS, WHERE, Form, Reduction
from .passes import form_of, merge, simplify

NOTHING, RANKS, SHAPES = range(3)

#: So many operands has a step.
MAX_OPERANDS = 3

_NUMBERS = (bool, int, float, numpy.floating)
#: The reductions that programs have.
_REDUCTIONS = (numpy.add, numpy.maximum)


class Untraceable(Exception):
    """A function did something with its arguments that is no step of a program; the message names it."""


class Looked(Exception):
    """A function read ranks or shapes that its symbols did not have; `level` is the level that it needs."""

    def __init__(self, level: int) -> None:
        super().__init__(level)
        self.level = level


class Value:
    """One value during a trace: an input, a constant (`number`), or the result of a step.

    depends_on: bits of the inputs whose broadcast shape is the shape of this value; -1 if it has another shape.
    """

    __slots__ = ("depends_on", "dtype", "kernel", "number", "operands", "rank", "reduction", "shape")

    def __init__(
        self,
        kernel: Any,
        operands: tuple[Value, ...],
        dtype: str,
        depends_on: int = 0,
        rank: int | None = None,
        shape: tuple[int, ...] | None = None,
        reduction: Reduction | None = None,
        number: Any = None,
    ) -> None:
        self.kernel, self.operands, self.dtype, self.number = kernel, operands, dtype, number
        self.depends_on, self.rank, self.shape = depends_on, rank, shape
        self.reduction = reduction


class Trace:
    """The values recorded during one call. Equal steps are recorded once."""

    def __init__(self) -> None:
        self.inputs: list[Value] = []
        self._values: dict[Any, Value] = {}

    def add_input(self, dtype: str, shape: tuple[int, ...], level: int) -> Symbol:
        """A symbol for an array of the caller's."""
        value = Value("input", (), dtype, 1 << len(self.inputs))
        value.rank = len(shape) if level >= RANKS else None
        value.shape = shape if level >= SHAPES else None
        self.inputs.append(value)
        return Symbol(self, value)

    def step(self, kernel: Any, operands: list[Value], dtype: str) -> Value:
        """The value of an elementwise step."""
        unchanged = simplify(kernel, operands)
        if unchanged is not None:
            return unchanged  # type: ignore[no-any-return]
        kernel, operands = merge(kernel, operands)
        key = (kernel, dtype, *map(id, operands))
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = Value(kernel, tuple(operands), dtype, *_broadcast(operands))
        return value

    def reduce(self, kernel: Any, value: Value, axes: int | None, keepdims: bool) -> Value:
        """The value of a reduction over the last axes."""
        key = (kernel, id(value), axes, keepdims)
        result = self._values.get(key)
        if result is None:
            result = Value(kernel, (value,), value.dtype, -1, reduction=Reduction(axes, keepdims))
            if value.rank is not None:
                n = value.rank if axes is None else axes
                result.rank = value.rank if keepdims else value.rank - n
                if value.shape is not None:
                    result.shape = value.shape[: value.rank - n] + (1,) * (n if keepdims else 0)
            self._values[key] = result
        return result

    def constant(self, number: Any, dtype: str) -> Value:
        """A number in the type of the operation that uses it."""
        with numpy.errstate(all="ignore"):
            converted = numpy.dtype(dtype).type(number)
        if isfinite(number) and not isfinite(converted):
            raise Untraceable(f"the constant {number!r} does not fit {converted.dtype}")
        if isinstance(number, int) and int(converted) != number:
            raise Untraceable(f"the constant {number!r} is rounded in {converted.dtype}")
        key = ("constant", dtype, repr(float(converted)))
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = Value("constant", (), dtype, 0, 0, (), number=float(converted))
        return value

    def operands(self, values: Any, name: str) -> list[Value]:
        """The operands of one operation, in the common type."""
        dtypes = {value.value.dtype for value in values if isinstance(value, Symbol)}
        dtypes |= {value.dtype.char for value in values if isinstance(value, numpy.floating)}
        floats = dtypes - {BOOL}
        if len(floats) > 1 or not floats <= {*FLOATS}:
            raise Untraceable(f"{name} of operands of the types {', '.join(sorted(floats))}")
        if not floats:
            if not all(isinstance(value, Symbol) for value in values):
                raise Untraceable(f"{name} of truth values and something else")
            return [value.value for value in values]
        (dtype,) = floats
        return [self.as_number(value, dtype, name) for value in values]

    def as_number(self, value: Any, dtype: str, name: str = "an operation") -> Value:
        """An operand in a type of numbers."""
        if isinstance(value, Symbol):
            operand = value.value
            return operand if operand.dtype == dtype else self.step(CAST, [operand], dtype)
        if type(value) not in (bool, int, float) and not isinstance(value, numpy.floating):
            raise Untraceable(f"{name} of a {type(value).__name__}")
        return self.constant(value, dtype)


def _broadcast(operands: list[Value]) -> tuple[int, int | None, tuple[int, ...] | None]:
    """The facts about a result's shape: inputs that it depends on, rank, shape."""
    depends_on = 0
    for value in operands:
        depends_on |= value.depends_on
    if any(value.rank is None for value in operands):
        return depends_on, None, None
    rank = max([value.rank for value in operands if value.rank is not None])
    if any(value.shape is None for value in operands):
        return depends_on, rank, None
    try:
        return depends_on, rank, numpy.broadcast_shapes(*[value.shape or () for value in operands])
    except ValueError as error:
        raise Untraceable(f"shapes that do not broadcast: {error}") from error


@memoize()
def loop_index(ufunc: Any, dtypes: str) -> int:
    """The index of a ufunc's loop for operands of these types: the first that fits, as in NumPy."""
    for index, signature in enumerate(ufunc.types):
        if signature.split("->")[0] == dtypes:
            return index
    raise Untraceable(f"{ufunc.__name__} has no loop for operands of the types {dtypes}")


class Symbol:
    """Stands for an array and records the operations on it. It can be modified in place."""

    __slots__ = ("trace", "value")
    __array_priority__ = 1e9

    def __init__(self, trace: Trace, value: Value) -> None:
        self.trace, self.value = trace, value

    @property
    def dtype(self) -> Any:
        return numpy.dtype(self.value.dtype)

    @property
    def ndim(self) -> int:
        if self.value.rank is None:
            raise Looked(RANKS)
        return self.value.rank

    @property
    def shape(self) -> tuple[int, ...]:
        if self.value.shape is None:
            raise Looked(SHAPES)
        return self.value.shape

    @property
    def size(self) -> int:
        return prod(self.shape)

    def __bool__(self) -> bool:
        raise Untraceable("looked at the truth of a value")

    def __float__(self) -> float:
        raise Untraceable("looked at a value as a number")

    __int__ = __index__ = __complex__ = __float__

    def __len__(self) -> int:
        raise Untraceable("looked at the length of a value")

    def __iter__(self) -> Any:
        raise Untraceable("looked at the elements of a value")

    def __getitem__(self, index: Any) -> Any:
        raise Untraceable("indexed a value")

    def __setitem__(self, index: Any, value: Any) -> None:
        raise Untraceable("assigned to elements of a value")

    def __matmul__(self, other: Any) -> Any:
        raise Untraceable("multiplied matrices")

    __rmatmul__ = __matmul__

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise Untraceable("converted a value to an array")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)  # Python's protocols look up attributes that an object may lack
        raise Untraceable(f"used the attribute {name} of a value")

    def macro_step(self, name: str) -> None:
        """End the trace: a kernel with loops of its own runs quicker outside a program."""
        raise Untraceable(f"{name} has loops of its own")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduce" and ufunc in _REDUCTIONS and isinstance(inputs[0], Symbol):
            return self._reduce(ufunc, *inputs, **options)
        if method != "__call__":
            raise Untraceable(f"{ufunc.__name__}.{method}")
        if ufunc is numpy.vecdot and not options:
            product = numpy.multiply(inputs[0], inputs[1])
            return product._reduce(numpy.add, product, axis=-1)
        (out,) = options.pop("out", (None,))
        if options:
            raise Untraceable(f"{ufunc.__name__} with {', '.join(options)}")
        if ufunc.nout != 1 or ufunc.signature is not None or ufunc.nin > MAX_OPERANDS:
            raise Untraceable(f"{ufunc.__name__} is no ufunc of at most {MAX_OPERANDS} operands and one result")
        operands = self.trace.operands(inputs, ufunc.__name__)
        index = loop_index(ufunc, "".join([value.dtype for value in operands]))
        dtype = ufunc.types[index].split("->")[1]
        if dtype not in (*FLOATS, BOOL):
            raise Untraceable(f"{ufunc.__name__} has a result of the type {dtype}")
        return self._result(self.trace.step(ufunc, operands, dtype), out)

    def _result(self, value: Value, out: Any) -> Symbol:
        """The symbol for a value, or the symbol that the value was written into."""
        if out is None:
            return Symbol(self.trace, value)
        if not isinstance(out, Symbol):
            raise Untraceable("wrote into an array that is no argument")
        before = out.value
        if before.dtype != value.dtype:
            raise Untraceable(f"wrote a value of the type {value.dtype} into one of the type {before.dtype}")
        if before.depends_on < 0 or value.depends_on & ~before.depends_on:
            # another operand may have more elements, which is an error of the function
            if before.shape is None or value.shape is None:
                raise Looked(SHAPES)
            if before.shape != value.shape:
                raise Untraceable(f"wrote a value of the shape {value.shape} into one of the shape {before.shape}")
        if before in self.trace.inputs:
            raise Untraceable("wrote into an argument")
        out.value = value
        return out

    def _reduce(
        self, ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, **options: Any
    ) -> Symbol:
        keepdims = bool(options.pop("keepdims", False))
        value = array.value
        if dtype is not None or out not in (None, (None,)) or options:
            raise Untraceable(f"{ufunc.__name__}.reduce with options")
        if value.dtype not in FLOATS:
            raise Untraceable(f"{ufunc.__name__}.reduce of truth values")
        axes = None if axis is None else self._last_axes(array, axis if isinstance(axis, tuple) else (axis,))
        if ufunc is not numpy.add and (axes is None or axes == value.rank):
            raise Untraceable(f"{ufunc.__name__}.reduce over all axes")
        return Symbol(self.trace, self.trace.reduce(ufunc, value, axes, keepdims))

    def _last_axes(self, array: Symbol, axes: tuple[int, ...]) -> int | None:
        """How many last axes these are; None for all."""
        n = len(axes)
        if n == 0 or array.value.rank == 0:
            raise Untraceable("reduced no axes")
        if sorted(axes) != list(range(-n, 0)):
            rank = array.ndim
            if not rank or sorted([k % rank for k in axes]) != list(range(rank - n, rank)):
                raise Untraceable("reduced axes that are not the last ones")
            return None if n == rank else n
        return None if n == array.value.rank else n

    def __array_function__(self, function: Any, _: Any, arguments: Any, options: Any) -> Any:
        method = _FUNCTIONS.get(function)
        if method is None:
            raise Untraceable(f"called {function.__name__}")
        return method(self, *arguments, **options)

    def _where(self, condition: Any, first: Any, second: Any) -> Symbol:
        if not isinstance(condition, Symbol) or condition.value.dtype != BOOL:
            raise Untraceable("where() by something else than truth values")
        first, second = self.trace.operands((first, second), "where")
        return Symbol(self.trace, self.trace.step(WHERE, [condition.value, first, second], first.dtype))

    def _max(self, array: Any, axis: Any = None, keepdims: bool = False, **options: Any) -> Symbol:
        if options:
            raise Untraceable(f"max with {', '.join(options)}")
        return array._reduce(numpy.maximum, array, axis=axis, keepdims=keepdims)  # type: ignore[no-any-return]

    def _astype_of(self, array: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Symbol:
        return array.astype(dtype, copy)  # type: ignore[no-any-return]

    def _result_type(self, *values: Any) -> Any:
        return numpy.result_type(*[value.dtype if isinstance(value, Symbol) else value for value in values])

    def _round_of(self, array: Any, decimals: int = 0, **options: Any) -> Any:
        if decimals or options:
            raise Untraceable("round to places")
        return numpy.rint(array)

    def _reshape_of(self, array: Any, shape: Any, **_: Any) -> Symbol:
        return array.reshape(shape)  # type: ignore[no-any-return]

    def reshape(self, *shape: Any) -> Symbol:
        """The value itself for an equal shape; after a sum or maximum, axes of length one may be added."""
        new_shape = tuple(shape[0]) if isinstance(shape[0], tuple) else shape
        if new_shape == self.shape:
            return self
        value = self.value
        more = len(new_shape) - self.ndim
        if value.reduction is None or more <= 0 or new_shape != (*self.shape, *(1,) * more):
            raise Untraceable("changed the shape of a value")
        if value.reduction.axes == more and not value.reduction.keepdims:
            return Symbol(self.trace, self.trace.reduce(value.kernel, value.operands[0], more, True))
        raise Untraceable("changed the shape of a sum")

    def astype(self, dtype: Any, copy: bool = True) -> Symbol:
        """The value cast to another dtype."""
        char = numpy.dtype(dtype).char
        if char == self.value.dtype:
            return Symbol(self.trace, self.value)
        if char not in FLOATS:
            raise Untraceable(f"converted a value of the type {self.value.dtype} to {char}")
        return Symbol(self.trace, self.trace.as_number(self, char))

    def __pow__(self, exponent: Any) -> Any:
        # NumPy's operator picks these ufuncs too
        quick = _POWERS.get(exponent) if type(exponent) in (int, float) else None
        if quick is None:
            return numpy.power(self, exponent)
        return quick(self)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    numpy.where: Symbol._where,
    numpy.max: Symbol._max,
    numpy.reshape: Symbol._reshape_of,
    numpy.round: Symbol._round_of,
    numpy.astype: Symbol._astype_of,
    numpy.result_type: Symbol._result_type,
}
_POWERS = {2: numpy.square, 1: numpy.positive, -1: numpy.reciprocal, 0.5: numpy.sqrt}


def _operator(ufunc: Any, reflected: bool, in_place: bool) -> Callable[..., Any]:
    if in_place:
        return lambda self, other: ufunc(self, other, out=self)
    if reflected:
        return lambda self, other: ufunc(other, self)
    return lambda self, *other: ufunc(self, *other)


_BINARY: dict[str, Any] = {
    "add": numpy.add, "sub": numpy.subtract, "mul": numpy.multiply, "truediv": numpy.divide, "and": numpy.bitwise_and,
    "or": numpy.bitwise_or, "xor": numpy.bitwise_xor,
}  # fmt: skip
_OTHERS: dict[str, Any] = {
    "lt": numpy.less, "le": numpy.less_equal, "gt": numpy.greater, "ge": numpy.greater_equal, "eq": numpy.equal,
    "ne": numpy.not_equal, "neg": numpy.negative, "abs": numpy.absolute, "invert": numpy.invert,
}  # fmt: skip
for _name, _ufunc in _BINARY.items():
    setattr(Symbol, f"__{_name}__", _operator(_ufunc, False, False))
    setattr(Symbol, f"__r{_name}__", _operator(_ufunc, True, False))
    setattr(Symbol, f"__i{_name}__", _operator(_ufunc, False, True))
for _name, _ufunc in _OTHERS.items():
    setattr(Symbol, f"__{_name}__", _operator(_ufunc, False, False))
Symbol.__rpow__ = _operator(numpy.power, True, False)  # type: ignore[attr-defined]
Symbol.__hash__ = None  # type: ignore[assignment]


def trace(function: Callable[..., Any], arguments: Any, level: int = NOTHING, numbers: bool = False) -> Form:
    """The form of function(*arguments). Arrays are inputs, also inside tuples and lists.

    level: the facts about shapes that symbols have. numbers: Python numbers among the arguments are inputs too, in the
    arrays' dtype. Otherwise they are constants, as are all other arguments.

    Raises Untraceable for an operation that is no step; Looked if the function needs more than `level`.

    >>> import numpy
    >>> print(trace(lambda x, y: numpy.tanh(x * y) ** 2, (numpy.zeros(3), numpy.zeros(3))))
    (a: float64, b: float64)
    t1 = multiply(a, b)
    t2 = tanh(t1)
    t3 = square(t2)
    return t3
    """
    tape = Trace()
    dtype = _dtype_of_numbers(arguments) if numbers else None
    symbols = [_symbols(value, tape, level, dtype) for value in arguments]
    results = _values(function(*symbols))
    return form_of(tape.inputs, results)


def _dtype_of_numbers(arguments: Any) -> str | None:
    """The dtype that numbers take beside these arrays; None if there is none."""
    chars = {value.dtype.char for value in arguments if type(value) is numpy.ndarray}
    return chars.pop() if len(chars) == 1 and chars <= {*FLOATS} else None


def _symbols(value: Any, tape: Trace, level: int, dtype: str | None) -> Any:
    """An argument with symbols instead of arrays, and instead of numbers if a type is given."""
    if type(value) is numpy.ndarray:
        if value.dtype.char not in (*FLOATS, BOOL) or not value.dtype.isnative:
            raise Untraceable(f"an argument of the type {value.dtype}")
        return tape.add_input(value.dtype.char, value.shape, level)
    if dtype is not None and type(value) in (int, float):
        return tape.add_input(dtype, (), level)
    if type(value) in (tuple, list):
        return type(value)([_symbols(member, tape, level, dtype) for member in value])
    return value


def _values(results: Any) -> Any:
    if isinstance(results, (tuple, list)):
        return tuple([_values(member) for member in results])
    if isinstance(results, Symbol):
        return results.value
    if results is None:
        return None
    raise Untraceable(f"returned a {type(results).__name__} that depends on no argument")
