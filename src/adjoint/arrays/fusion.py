"""Kernels and formulas on large arrays, all their steps on one block after the other.

`run(function, arguments, keywords)` gives what `function(*arguments, **keywords)` gives. A kernel such as

    def gelu(xp, input): return input * xp.normal_cdf(input)

makes an array in every step, and each is written to memory and read again. Here the function is called once with
symbols (`Symbol`) in place of arrays, which note what is done to them; what they noted becomes a program for
`blocks.Machine`, and that is kept for all later calls with arguments of the same shapes and types. Nothing needs to be
declared for this: functions of ufuncs, selections, and sums or maxima along the last axes can be noted. Whatever else a
function does with its arguments, such as a look at their values, raises inside a symbol; then the function is called as
it is, now and later.

Elements get the very operations that NumPy would apply, by the same loops. Only sums of all elements add their blocks
in another order. Where an operation divides by zero or overflows and NumPy would tell, the function is called again
as it is, so that NumPy does.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy

from . import blocks
from .blocks import EACH, MOST_REGISTERS, MOST_STEPS, OWN_LOOPS, PER_ROW, ROW_FOLD, ROW_SUM, TOTAL
from .dtypes import dtype as DType
from .memory import with_kept_memory

_FLOATS = (numpy.dtype("float32"), numpy.dtype("float64"))
_BOOL = numpy.dtype(bool)
_SCALARS = (bool, int, float, numpy.floating)

#: What arguments may be besides arrays: values on which alone it depends what a function does.
_PLAIN = (bool, int, float, str, numpy.dtype, DType, type)

#: From this number of elements on blocks pay, and from this number of steps times elements on a second thread.
SMALLEST, THREADED = 1 << 14, 1 << 17
#: Elements of a block, and the longest row that is reduced.
_BLOCK, _LONGEST_ROW = 2048, 1 << 15
#: Rows shorter than this are left to NumPy.
_SHORTEST_ROW = 8
#: So many programs are kept.
_MOST_PROGRAMS = 4096


class Untraceable(Exception):
    """A function did something with its arguments that cannot be noted."""


class Node:
    """What is known of one value: the step that makes it, its arguments, type and shape."""

    __slots__ = ("arguments", "dtype", "shape", "step", "value")

    def __init__(self, step: Any, arguments: tuple[Node, ...], dtype: Any, shape: tuple[int, ...], value: Any = None):
        self.step, self.arguments, self.dtype, self.shape, self.value = step, arguments, dtype, shape, value


class Trace:
    """Everything that was noted during one call."""

    def __init__(self) -> None:
        self.known: dict[Any, Node] = {}

    def note(self, step: Any, arguments: tuple[Node, ...], dtype: Any, shape: tuple[int, ...]) -> Node:
        """The node of a step; the same one again if the step was noted before."""
        key = (step, *map(id, arguments))
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Node(step, arguments, dtype, shape)
        return found

    def constant(self, value: Any, dtype: Any) -> Node:
        """A number in the type of the operation that uses it."""
        key = ("constant", dtype, type(value), repr(value))
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = Node("constant", (), dtype, (), numpy.asarray(value, dtype))
        return found

    def nodes_of(self, values: Any) -> list[Node]:
        """Nodes of symbols and numbers that take part in one operation, in their common type."""
        found = [value.node if isinstance(value, Symbol) else value for value in values]
        types = {value.dtype for value in found if isinstance(value, Node)}
        types |= {value.dtype for value in found if isinstance(value, numpy.floating)}
        if not types or not types <= {*_FLOATS, _BOOL} or len(types - {_BOOL}) > 1:
            raise Untraceable
        if types == {_BOOL}:
            if not all(isinstance(value, Node) for value in found):
                raise Untraceable
            return found
        (dtype,) = types - {_BOOL}
        return [self.number(value, dtype) for value in found]

    def number(self, value: Any, dtype: Any) -> Node:
        """A value in a type of numbers."""
        if not isinstance(value, Node):
            if not isinstance(value, _SCALARS):
                raise Untraceable
            return self.constant(value, dtype)
        if value.dtype == dtype:
            return value
        return self.note(("number", dtype.itemsize), (value,), dtype, value.shape)


def _broadcast(nodes: list[Node]) -> tuple[int, ...]:
    return numpy.broadcast_shapes(*[node.shape for node in nodes])


def _loop(ufunc: Any, types: str) -> int:
    """The place of the loop for these types of inputs; NumPy takes the first that fits exactly, too."""
    for place, signature in enumerate(ufunc.types):
        if signature.split("->")[0] == types:
            return place
    raise Untraceable


class Symbol:
    """Stands for an array: notes what is done to it. It can be modified in place, as an array can."""

    __slots__ = ("node", "trace")

    def __init__(self, trace: Trace, node: Node) -> None:
        self.trace, self.node = trace, node

    shape = property(lambda self: self.node.shape)
    dtype = property(lambda self: self.node.dtype)
    ndim = property(lambda self: len(self.node.shape))
    size = property(lambda self: prod(self.node.shape))

    def __bool__(self) -> bool:
        raise Untraceable

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise Untraceable

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduce" and ufunc in (numpy.add, numpy.maximum):
            return self._reduced(ufunc, *inputs, **options)
        if method != "__call__":
            raise Untraceable
        if ufunc is numpy.vecdot and not options:
            return (inputs[0] * inputs[1])._reduced(numpy.add, inputs[0] * inputs[1], axis=-1)
        (out,) = options.pop("out", (None,))
        if options or ufunc.nout != 1 or ufunc.signature is not None or not 1 <= ufunc.nin <= 2:
            raise Untraceable
        if out is not None and not isinstance(out, Symbol):
            raise Untraceable
        nodes = self.trace.nodes_of(inputs)
        types = "".join([node.dtype.char for node in nodes])
        result = numpy.dtype(ufunc.types[_loop(ufunc, types)].split("->")[1])
        return self._result(self.trace.note(ufunc, tuple(nodes), result, _broadcast(nodes)), out)

    def _result(self, node: Node, out: Symbol | None) -> Symbol:
        if out is None:
            return Symbol(self.trace, node)
        if out.shape != node.shape or out.dtype != node.dtype:
            raise Untraceable
        out.node = node
        return out

    def _reduced(
        self, ufunc: Any, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None, **options: Any
    ) -> Any:
        keepdims = options.pop("keepdims", False)
        node = array.node
        if any([dtype is not None, out not in (None, (None,)), options, node.dtype not in _FLOATS]):
            raise Untraceable
        ndim = len(node.shape)
        axes = range(ndim) if axis is None else [axis] if isinstance(axis, int) else axis
        first = ndim - len(axes)
        if sorted([k % ndim for k in axes]) != list(range(first, ndim)) or not (first or ufunc is numpy.add):
            raise Untraceable
        shape = (*node.shape[:first], *(1,) * len(axes)) if keepdims else node.shape[:first]
        return Symbol(self.trace, self.trace.note(("reduce", ufunc, first, keepdims), (node,), node.dtype, shape))

    def __array_function__(self, function: Any, _: Any, arguments: Any, options: Any) -> Any:
        return getattr(self, "_" + _FUNCTIONS.get(function, "unknown"))(*arguments, **options)

    def _unknown(self, *_: Any, **__: Any) -> Any:
        raise Untraceable

    def _chosen(self, condition: Any, first: Any, second: Any) -> Any:
        if not isinstance(condition, Symbol) or condition.dtype != _BOOL:
            raise Untraceable
        first, second = self.trace.nodes_of((first, second))
        nodes = [condition.node, first, second]
        step = ("where", first.dtype.itemsize)
        return Symbol(self.trace, self.trace.note(step, tuple(nodes), first.dtype, _broadcast(nodes)))

    def _maximum(self, array: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return array._reduced(numpy.maximum, array, axis=axis, keepdims=keepdims)

    def _reshaped(self, array: Any, shape: Any, **_: Any) -> Any:
        return array.reshape(shape)

    def reshape(self, *shape: Any) -> Symbol:
        """The same, if the shape is, or if axes of size 1 are added to or taken from the end of one number per row."""
        wanted = tuple(shape[0]) if isinstance(shape[0], tuple) else shape
        if wanted == self.shape:
            return self
        node, step = self.node, self.node.step
        if _is_reduction(node) and wanted == (*node.shape, *(1,) * (len(wanted) - self.ndim)):
            (source,) = node.arguments
            if len(wanted) == len(source.shape):
                return Symbol(self.trace, self.trace.note((*step[:3], True), (source,), node.dtype, wanted))
        raise Untraceable

    def astype(self, dtype: Any, copy: bool = True) -> Symbol:
        """Truth values as numbers, or the same."""
        dtype = numpy.dtype(dtype)
        if dtype != self.dtype and (self.dtype != _BOOL or dtype not in _FLOATS):
            raise Untraceable
        return Symbol(self.trace, self.trace.number(self.node, dtype))


_FUNCTIONS = {numpy.where: "chosen", numpy.max: "maximum", numpy.reshape: "reshaped"}


def _operator(ufunc: Any, turned: bool, in_place: bool) -> Callable[..., Any]:
    if in_place:
        return lambda self, other: ufunc(self, other, out=self)
    if turned:
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
Symbol.__hash__ = None  # type: ignore[assignment]


# programs -------------------------------------------------------------------------------------------------------------

_FULL, _ROWS, _COLUMNS, _NUMBER = "full", "one number per row", "one row", "one number"


class _Registers:
    """The machine's registers, one for each value, and the room for blocks of intermediate values."""

    def __init__(self, kinds: dict[int, str], block: int, group: int) -> None:
        self.kinds, self.block = kinds, block
        # blocks of intermediate values are as large as the largest, and are used again when the last use is past
        self.block_size, self.column_size = (-(-n * 8 // 64) * 64 for n in (block * group, group))
        self.numbers: dict[int, int] = {}
        self.scratch: list[int | None] = []
        self.strides: list[tuple[int, int]] = []
        self.room = 0
        self._blocks: dict[int, int] = {}
        self._free: list[int] = []

    def add(self, node: Node, offset: int | None = None) -> int:
        """A register for a value: at an offset in the room, or for memory that is named when the machine runs."""
        number = self.numbers[id(node)] = len(self.scratch)
        self.scratch.append(offset)
        item = node.dtype.itemsize
        self.strides.append((self.block * item, item) if self.kinds[id(node)] == _FULL else (item, 0))
        return number

    def add_intermediate(self, node: Node) -> int:
        """A register for a value that only other steps use."""
        if self.kinds[id(node)] != _FULL:
            # one number for each row: written while longer values are still being read
            return self.add(node, self._taken(self.column_size))
        place = self._free.pop() if self._free else self._taken(self.block_size)
        self._blocks[id(node)] = place
        return self.add(node, place)

    def release(self, values: list[Node]) -> None:
        """Let the blocks of values be used again."""
        self._free.extend([self._blocks[id(value)] for value in values if id(value) in self._blocks])

    def _taken(self, size: int) -> int:
        place, self.room = self.room, self.room + size
        return place


class Program:
    """What was noted, made ready to run on arrays of these shapes: some of it before the blocks, the most in them."""

    def __init__(self, inputs: list[Node], results: Any) -> None:
        self.inputs = inputs
        self.structure = results
        wanted = [node for node in _leaves(results) if isinstance(node, Node)]
        self.order = _needed(wanted)
        self.shape = max([node.shape for node in self.order], key=lambda shape: (prod(shape), len(shape)), default=())
        reduced = {node.step[2] for node in self.order if _is_reduction(node) and node.step[2]}
        if len(reduced) > 1:
            raise Untraceable
        whole = all(node.shape in (self.shape, ()) or prod(node.shape) == 1 for node in self.order)
        self.split = reduced.pop() if reduced else 0 if whole else len(self.shape) - 1
        self.n_rows, self.n_columns = prod(self.shape[: self.split]), prod(self.shape[self.split :])
        self.reduces_rows = any(_is_reduction(node) and node.step[2] for node in self.order)
        if self.n_columns < _SHORTEST_ROW or (self.reduces_rows and self.n_columns > _LONGEST_ROW):
            raise Untraceable
        self.kinds: dict[int, str] = {}
        self._deal_out(wanted)

    def _kind(self, node: Node) -> str:
        """How a value lies in the rows and columns."""
        shape = (1,) * (len(self.shape) - len(node.shape)) + node.shape
        if _is_reduction(node):
            if not node.step[2]:
                return _NUMBER
            shape = self.shape[: self.split] + (1,) * (len(self.shape) - self.split)
        first, last = shape[: self.split], shape[self.split :]
        kinds = {(True, True): _FULL, (True, False): _ROWS, (False, True): _COLUMNS, (False, False): _NUMBER}
        of_rows = first == self.shape[: self.split] and (bool(first) or last == self.shape[self.split :])
        of_columns = last == self.shape[self.split :]
        if (not of_rows and prod(first) != 1) or (not of_columns and prod(last) != 1):
            raise Untraceable
        if not self.split and not of_columns:
            return _NUMBER
        return kinds[of_rows, of_columns]

    def _deal_out(self, wanted: list[Node]) -> None:
        """Which values are made before the blocks, in them and after them; registers and steps of the machine."""
        self.before: list[Node] = []
        self.after: list[Node] = []
        self.inside: list[Node] = []
        self.totals: list[Node] = []
        late: set[int] = set()
        for node in self.order:
            if any(id(argument) in late for argument in node.arguments):
                # made of complete sums: what is left is small, and no sum
                if prod(node.shape) == prod(self.shape) or _is_reduction(node):
                    raise Untraceable
                self.after.append(node)
                late.add(id(node))
                continue
            self.kinds[id(node)] = self._kind(node)
            if node.step in ("input", "constant"):
                continue
            if _is_reduction(node):
                self.inside.append(node)
                if not node.step[2]:
                    self.totals.append(node)
                if not node.step[2] or not node.step[3]:
                    late.add(id(node))
            elif self.kinds[id(node)] in (_NUMBER, _COLUMNS):
                self.before.append(node)
            else:
                self.inside.append(node)
        if not self.inside or len(self.totals) > 1 or len(self.inside) > MOST_STEPS:
            raise Untraceable
        self._make_machine([*wanted, *[argument for node in self.after for argument in node.arguments]])

    def _make_machine(self, wanted: list[Node]) -> None:
        made = {id(node) for node in self.inside}
        # a result that other steps turn into an array that is asked for has a place of its own
        self.kept = [node for node in dict.fromkeys(wanted) if id(node) in made and node not in self.totals]
        last_use = {id(argument): k for k, node in enumerate(self.inside) for argument in node.arguments}
        block = self.n_columns if self.reduces_rows else min(_BLOCK, self.n_columns)
        group = max(1, min(self.n_rows, _BLOCK // block)) if block == self.n_columns else 1
        registers = _Registers(self.kinds, block, group)
        #: The arguments that come from outside.
        self.places: list[Node] = []
        steps = []
        for k, node in enumerate(self.inside):
            past = [argument for argument in dict.fromkeys(node.arguments) if last_use[id(argument)] == k]
            steps.append(self._step(node, past, registers))
        if len(registers.scratch) > MOST_REGISTERS:
            raise Untraceable
        item = max([node.dtype.itemsize for node in self.inside if _is_reduction(node)], default=8)
        self.n_totals = self.n_rows * -(-self.n_columns // block)
        self.machine = blocks.Machine(
            steps, registers.scratch, registers.strides, registers.room, block, group, item
        )
        self._say_where(registers.numbers)
        self.threaded = prod(self.shape) * len(steps) >= THREADED

    def _step(self, node: Node, past: list[Node], registers: _Registers) -> tuple[Any, ...]:
        """The machine's step for a node, which is the last one to use the values `past`."""
        used = []
        for argument in node.arguments:
            if id(argument) not in registers.numbers:
                registers.add(argument)
                self.places.append(argument)
            used.append(registers.numbers[id(argument)])
        # a loop may write where it reads only if elements have the same size
        registers.release([value for value in past if value.dtype.itemsize == node.dtype.itemsize])
        if node in self.totals:
            used.append(used[0])
        elif node in self.kept:
            used.append(registers.add(node))
        else:
            used.append(registers.add_intermediate(node))
        registers.release([value for value in past if value.dtype.itemsize != node.dtype.itemsize])
        return self._way(node), *self._loop(node), used

    def _say_where(self, numbers: dict[int, int]) -> None:
        """Where registers lie: constants, and arrays with the strides they have if they are contiguous and full."""
        self.names = [id(node) for node in self.inputs]
        self.fixed = [(numbers[id(node)], node.value, 0, 0) for node in self.places if node.step == "constant"]
        self.moving = []
        # sums without the axes that were summed
        with_axes = self.shape[: self.split] + (1,) * (len(self.shape) - self.split)
        self.per_row = {id(node): with_axes for node in self.kept if _is_reduction(node)}
        for node in (*self.places, *self.kept):
            if node.step != "constant":
                item = node.dtype.itemsize if node.shape == self.shape else 0
                self.moving.append((numbers[id(node)], id(node), self.n_columns * item, item))

    def _way(self, node: Node) -> int:
        if node in self.totals:
            return TOTAL
        if _is_reduction(node):
            return ROW_SUM if node.step[1] is numpy.add else ROW_FOLD
        return EACH if self.kinds[id(node)] == _FULL else PER_ROW

    def _loop(self, node: Node) -> tuple[Any, int | None]:
        if node.step in OWN_LOOPS:
            return OWN_LOOPS[node.step], None
        if _is_reduction(node):
            return node.step[1], _loop(node.step[1], node.dtype.char * 2)
        return node.step, _loop(node.step, "".join([argument.dtype.char for argument in node.arguments]))

    def run(self, arrays: list[Any], threads: int) -> tuple[Any, int]:
        """The results, and what the processor noted: an or of C's FE_ constants, -2 for nothing having been done."""
        values = dict(zip(self.names, arrays, strict=True))
        for node in self.before:
            values[id(node)] = _evaluated(node, values)
        for node in self.kept:
            values[id(node)] = numpy.empty(node.shape, node.dtype)
        places = self.fixed.copy()
        for register, name, rows, columns in self.moving:
            array = values[name]
            if name in self.per_row:
                array = array.reshape(self.per_row[name])
            if not (columns and array.flags.c_contiguous):
                found = self._strides(array)
                if found is None:
                    return None, -2
                rows, columns = found
            places.append((register, array, rows, columns))
        totals = numpy.empty(self.n_totals, self.totals[0].dtype) if self.totals else None
        flags = self.machine.run(places, self.n_rows, self.n_columns, totals, threads if self.threaded else 1)
        if totals is not None:
            (node,) = self.totals
            values[id(node)] = numpy.add.reduce(totals).reshape(node.shape)
        for node in self.after:
            values[id(node)] = _evaluated(node, values)
        return _filled(self.structure, values), flags

    def _strides(self, array: Any) -> tuple[int, int] | None:
        """The strides of rows and columns of an array, None if it does not lie in such."""
        shape = (1,) * (len(self.shape) - array.ndim) + array.shape
        strides = (0,) * (len(self.shape) - array.ndim) + array.strides
        rows = _one_stride(self.shape[: self.split], shape[: self.split], strides[: self.split])
        columns = _one_stride(self.shape[self.split :], shape[self.split :], strides[self.split :])
        return None if rows is None or columns is None else (rows, columns)


def _one_stride(whole: tuple[int, ...], shape: tuple[int, ...], strides: tuple[int, ...]) -> int | None:
    """The stride that steps through several axes as through one, None if there is none."""
    found, expected = 0, None
    for n, k, step in reversed(list(zip(whole, shape, strides, strict=True))):
        if n == 1:
            continue
        step = 0 if k == 1 else step
        if expected is None:
            found = step
        elif step != expected:
            return None
        expected = step * n
    return found


def _is_reduction(node: Node) -> bool:
    return isinstance(node.step, tuple) and node.step[0] == "reduce"


def _leaves(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (tuple, list)) else [results]


def _filled(structure: Any, values: dict[int, Any]) -> Any:
    if isinstance(structure, (tuple, list)):
        return tuple([_filled(member, values) for member in structure])
    if isinstance(structure, Node):
        return structure.value if structure.step == "constant" else values[id(structure)]
    return structure


def _needed(wanted: list[Node]) -> list[Node]:
    """The nodes that lead to some, arguments first."""
    found: dict[int, Node] = {}
    stack = [(node, False) for node in reversed(wanted)]
    while stack:
        node, returning = stack.pop()
        if returning:
            found[id(node)] = node
        elif id(node) not in found:
            stack.append((node, True))
            stack.extend([(argument, False) for argument in node.arguments])
    return list(found.values())


def _evaluated(node: Node, values: dict[int, Any]) -> Any:
    """A value that is made by NumPy itself, since it is small."""
    arguments = [a.value if a.step == "constant" else values[id(a)] for a in node.arguments]
    if isinstance(node.step, numpy.ufunc):
        return numpy.asarray(node.step(*arguments))
    if node.step[0] == "where":
        return numpy.asarray(numpy.where(*arguments))
    return arguments[0].astype(node.dtype)  # the step "number"


# calls ----------------------------------------------------------------------------------------------------------------

_programs: dict[Any, Program | None] = {}
_enabled = True


def set_fusion(enabled: bool) -> bool:
    """Switch blocks on or off, for comparisons; returns what was."""
    global _enabled
    before = _enabled
    _enabled = enabled
    return before


def _signature(value: Any, arrays: list[Any]) -> Any:
    """What a program depends on; arrays are collected."""
    if type(value) is numpy.ndarray:
        arrays.append(value)
        # an array that repeats one number is as good as a number, and lies as one
        return value.shape, value.dtype.char
    if type(value) is tuple:
        return tuple([_signature(member, arrays) for member in value])
    if value is not None and not isinstance(value, _PLAIN):
        raise TypeError
    return type(value), value


def _symbols(value: Any, trace: Trace, inputs: list[Node]) -> Any:
    """The arguments with symbols in place of arrays."""
    if type(value) is numpy.ndarray:
        if value.dtype not in _FLOATS and value.dtype != _BOOL:
            raise Untraceable
        node = Node("input", (), value.dtype, value.shape)
        inputs.append(node)
        return Symbol(trace, node)
    if type(value) is tuple:
        return tuple([_symbols(member, trace, inputs) for member in value])
    return value


def _program(function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Program | None:
    """Call a function with symbols; None if what it does cannot be noted."""
    trace = Trace()
    inputs: list[Node] = []
    try:
        symbols = [_symbols(value, trace, inputs) for value in arguments]
        results = function(*symbols, **{name: _symbols(value, trace, inputs) for name, value in keywords.items()})
        return Program(inputs, _nodes(results, inputs))
    except Exception:
        # whatever went wrong, wrong arguments too: the function itself is called, and raises if it must
        return None


def _nodes(results: Any, inputs: list[Node]) -> Any:
    if isinstance(results, (tuple, list)):
        return tuple([_nodes(member, inputs) for member in results])
    if isinstance(results, Symbol):
        return results.node
    if results is None:
        return None
    raise Untraceable


def run(function: Any, arguments: Any, keywords: dict[str, Any] | None = None) -> Any:
    """function(*arguments, **keywords), block by block if it can be; in memory that is kept."""
    return with_kept_memory(attempt, (function, arguments, keywords or {}))


def attempt(function: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
    """What `run` does."""
    arrays: list[Any] = []
    if _enabled and blocks.compiled and _is_worth_it(function, arguments):
        if isinstance(function, numpy.ufunc):
            arguments = _numbers_as_arrays(arguments)
        try:
            key: Any = (function, tuple([_signature(value, arrays) for value in arguments]))
            if keywords:
                key += (tuple(keywords), tuple([_signature(value, arrays) for value in keywords.values()]))
            program = _programs[key]
        except KeyError:
            if len(_programs) >= _MOST_PROGRAMS:
                _programs.clear()
            program = _programs[key] = _program(function, arguments, keywords)
        except TypeError:
            program = None
        if program is not None:
            results, flags = program.run(arrays, blocks.get_num_threads())
            if flags == 0 or (flags > 0 and not _told(flags)):
                return results
    return function(*arguments, **keywords)


def _is_worth_it(function: Any, arguments: Any) -> bool:
    """True if blocks may be quicker: a single ufunc gains by a second thread only."""
    least = THREADED if isinstance(function, numpy.ufunc) else SMALLEST
    for value in arguments:
        if type(value) is numpy.ndarray and value.size >= least:
            return True
        if type(value) is tuple and value and type(value[0]) is numpy.ndarray and value[0].size >= least:
            return True
    return False


def _numbers_as_arrays(arguments: Any) -> list[Any]:
    """Arguments of a ufunc with arrays in place of Python's numbers, so that one program serves all of these."""
    types = [value.dtype for value in arguments if type(value) is numpy.ndarray]
    if types[0] not in _FLOATS:
        return arguments
    return [numpy.asarray(value, types[0]) if type(value) in (int, float) else value for value in arguments]


#: numpy.geterr's names of C's FE_ constants.
_FLAGS: dict[str, int] = {}


def _told(flags: int) -> bool:
    """True if NumPy would warn of one of these or raise."""
    state: Any = numpy.geterr()
    return any(flags & bits and state[name] != "ignore" for name, bits in _flags().items())


def _flags() -> dict[str, int]:
    if not _FLAGS:
        _FLAGS.update(blocks.flags())
    return _FLAGS
