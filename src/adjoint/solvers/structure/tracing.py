"""Runs a function with index sets beside its values, to find the elements of x on which each result element depends.

A `Tracer` intercepts the operations of the run. It keeps the sets of an array as long as the array lives. Sets of
memory that was modified in place are kept with the memory, where views find them.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adjoint.core.graph import TensorBase, needs_grad, node_of
from adjoint.core.modes.interceptors import STRUCTURE, Interceptor
from adjoint.core.modes.state import INTERCEPT, ModeBlock
from adjoint.core.operations.dependence import depends
from adjoint.core.operations.operation import Operation
from adjoint.runtime.memory import with_kept_memory
from adjoint.solvers.structure import sets
from adjoint.solvers.structure.dependence import Call, Source, everywhere, raw, terms_of
from adjoint.solvers.structure.sets import Array, Table, Term, Terms

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


class Record(NamedTuple):
    """The terms of an array, valid for one version of its memory."""

    array: weakref.ReferenceType[Array]
    terms: Terms
    version: int


class Memory:
    """The terms of memory that was modified in place, by places in memory.

    owner: the array that owns it. version: the number of modifications.
    """

    def __init__(self, owner: Array, terms: Terms) -> None:
        self.owner = weakref.ref(owner)
        self.version = 0
        self.places = places_in(owner, owner)
        self.parts: list[Term] = []
        self.write(self.places, terms)
        self.version = 0

    def write(self, places: Array, terms: Terms) -> None:
        """Give the elements at places in memory other terms."""
        self.version += 1
        for part in self.parts:
            part.labels[places] = 0
        free = list(self.parts)
        for term in terms:
            fitting = [part for part in free if part.table is term.table]
            if fitting:
                free = [other for other in free if other is not fitting[0]]
            else:
                fitting = [Term(np.zeros(self.places.size, dtype=np.int64), term.table)]
                self.parts += fitting
            fitting[0].labels[places] = term.labels
        if len(self.parts) > sets.MOST_TERMS:
            self.parts = sets.combine(self.parts)

    def read(self, places: Array) -> Terms:
        """The terms of the elements at places in memory."""
        parts = [part.with_labels(part.labels[places]) for part in self.parts]
        return [part for part in parts if part.labels.any()]


def owner_of(array: Array) -> Array:
    """The array that owns the memory of another, as far as NumPy knows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def places_in(array: Array, owner: Array) -> Array:
    """For each element of an array the number of the element of its owner that lies there."""
    start = array.__array_interface__["data"][0] - lowest_address(owner)
    places = np.full(array.shape, start, dtype=np.int64)
    for axis, (n, step) in enumerate(zip(array.shape, array.strides, strict=True)):
        places += (np.arange(n) * step).reshape((n,) + (1,) * (array.ndim - axis - 1))
    return places // owner.itemsize


def lowest_address(array: Array) -> int:
    """The address of the first byte."""
    return np.lib.array_utils.byte_bounds(array)[0] if hasattr(np.lib, "array_utils") else np.byte_bounds(array)[0]


class Tracer(Interceptor):
    """Gives the results of operations the sets of leaf elements on which they depend.

    is_local: the sets hold only at the values of this run; otherwise they hold for all values with the same branches.
    unseen: names of nodes whose structure is unknown.
    """

    def __init__(self, leaf: Tensor, is_local: bool) -> None:
        super().__init__(STRUCTURE)
        self.leaf, self.is_local = leaf, is_local
        self.records: dict[int, Record] = {}
        self.memories: dict[int, Memory] = {}
        self.computed: dict[int, weakref.ReferenceType[Array]] = {}
        self.unseen: list[str] = []
        self.has_plain_integers = False
        self.store(leaf._array, sets.columns_of(leaf._array.shape))
        size = leaf._array.size
        self.everything = Table(np.array([0, size]), np.arange(size))

    # operations -------------------------------------------------------------------------------------------------------

    def operation(self, operation: Operation, values: list[Any]) -> Any:
        """Run an operation and give its results their sets."""
        result = operation.proceed(values, self.position)
        sources = self.sources(operation, values)
        outputs = (result,) if operation.rule.outputs is None else tuple(result)
        for number, output in enumerate(outputs):
            self.note(operation, values, sources, output, number)
        return result

    def note(self, operation: Operation, values: list[Any], sources: list[Source], output: Any, number: int) -> None:
        """Give one result its sets; one without a derivative is noted as computed from x."""
        array = output._array
        if type(array) is not np.ndarray:
            return
        if not needs_grad(output):
            if sources or self.depends_on_values(values):
                self.mark(array)
        elif not sources:
            self.store(array, [])
        elif operation.is_view and operation.rule.view and "stride" in operation.rule.names:
            self.store(array, self.in_memory(array))
        else:
            call = self.call(operation, values, sources, array, number)
            self.store(array, with_kept_memory(terms_of, (call,)))

    def in_place(self, operation: Operation, values: list[Any]) -> Any:
        """Run an operation in place and give the tensor that it writes into its sets."""
        target = values[0]
        sources = self.sources(operation, values)
        array = target._array
        terms: Terms = []
        if sources and type(array) is np.ndarray:
            terms = terms_of(self.call(operation, values, sources, array, 0))
        memory = self.memory_of(owner_of(array)) if type(array) is np.ndarray else None
        result = operation.proceed_in_place(values, self.position)
        if memory is not None:
            if target._array is array:
                memory.write(places_in(array, owner_of(array)), terms)
            self.store(target._array, terms)
        return result

    def call(self, operation: Operation, values: list[Any], sources: list[Source], array: Array, number: int) -> Call:
        """The facts of a call from which its dependence follows."""
        names = operation.arguments.names
        return Call(
            operation.rule,
            {name: raw(value) for name, value in zip(names, values, strict=True)},
            sources,
            array.shape,
            array.dtype.kind == "c",
            number,
            not self.is_local and self.picks(operation, values),
            self.is_local,
        )

    def picks(self, operation: Operation, values: list[Any]) -> bool:
        """True if the operation picks elements by a mask, or by indices that were computed from x."""
        pickers = [values[operation.arguments.names.index(name)] for name in constants(operation)]
        masks = [value for value in pickers if isinstance(value, TensorBase) and value._array.dtype == bool]
        return bool(masks) or self.depends_on_values(pickers) or (self.has_plain_integers and bool(pickers))

    def sources(self, operation: Operation, values: list[Any]) -> list[Source]:
        """The inputs with sets."""
        result = []
        for name, position in zip(operation.rule.inputs, operation.arguments.inputs, strict=True):
            value = values[position]
            members = enumerate(value) if isinstance(value, (tuple, list)) else ((-1, value),)
            for member, tensor in members:
                terms = self.terms(tensor)
                if terms:
                    array = tensor._array
                    if type(array) is not np.ndarray:
                        array = np.empty(tuple(array.shape), dtype=np.float64)
                    result.append(Source(name, member, terms, array))
        return result

    # sets of arrays ---------------------------------------------------------------------------------------------------

    def terms(self, tensor: Any) -> Terms:
        """The terms of a tensor; none for a constant."""
        if not isinstance(tensor, TensorBase) or not needs_grad(tensor):
            return []
        array = tensor._array
        if type(array) is np.ndarray:
            record = self.records.get(id(array))
            memory = self.memories.get(id(owner_of(array)))
            if record is not None and record.version == (0 if memory is None else memory.version):
                return record.terms
            if memory is not None:
                return memory.read(places_in(array, owner_of(array)))
            if id(owner_of(array)) in self.records:
                return self.in_memory(array)
        return self.unknown(tensor)  # type: ignore[arg-type]

    def unknown(self, tensor: Tensor) -> Terms:
        """The terms of a tensor that no observed operation made: all elements, if it depends on x at all."""
        if not depends([tensor], [self.leaf]):
            return []
        name = type(node_of(tensor)).__name__
        if name not in self.unseen:
            self.unseen.append(name)
        return [everywhere(self.everything, tuple(tensor._array.shape))]

    def store(self, array: Array, terms: Terms) -> None:
        """Keep the terms of an array while it lives."""
        key = id(array)
        memory = self.memories.get(id(owner_of(array)))
        version = 0 if memory is None else memory.version
        self.records[key] = Record(weakref.ref(array, lambda _: self.records.pop(key, None)), terms, version)

    def memory_of(self, owner: Array) -> Memory:
        """The terms by places in the memory of an array."""
        key = id(owner)
        if key not in self.memories:
            record = self.records.get(key)
            self.memories[key] = Memory(owner, [] if record is None else record.terms)
            weakref.finalize(owner, self.memories.pop, key, None)
            for number, other_record in list(self.records.items()):
                other = other_record.array()
                if number != key and other is not None and record is None and owner_of(other) is owner:
                    self.memories[key].write(places_in(other, owner), other_record.terms)
            self.memories[key].version = 0
        return self.memories[key]

    def in_memory(self, array: Array) -> Terms:
        """The terms of a view, by its positions in memory."""
        owner = owner_of(array)
        return self.memory_of(owner).read(places_in(array, owner))

    # values without derivatives ---------------------------------------------------------------------------------------

    def mark(self, array: Array) -> None:
        """Note that an array without a derivative was computed from x."""
        key = id(array)
        self.computed[key] = weakref.ref(array, lambda _: self.computed.pop(key, None))

    def note_plain(self, result: Any) -> None:
        """Note that a function gave a plain array of integers, computed from x: later indices may come from it."""
        parts = result if isinstance(result, tuple) else (result,)
        self.has_plain_integers |= any(isinstance(part, np.ndarray) and part.dtype.kind in "iu" for part in parts)

    def depends_on_values(self, values: list[Any]) -> bool:
        """True if an argument was computed from x, though it may have no derivative."""
        for value in values:
            for member in value if isinstance(value, (tuple, list)) else (value,):
                array = member._array if isinstance(member, TensorBase) else member
                if isinstance(array, np.ndarray):
                    keys = (id(array), id(owner_of(array)))
                    if any(key in self.computed or key in self.records for key in keys):
                        return True
        return False


def constants(operation: Operation) -> tuple[str, ...]:
    """The names of the arguments that pick elements and have no derivative."""
    return (*operation.rule.constants, *operation.rule.indices)


class tracing(ModeBlock):
    """A with block in which a tracer sees the operations of this thread."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer

    def _changes(self) -> Any:
        return ((INTERCEPT, "interceptors", (STRUCTURE, self.tracer)),)


def pattern(function: Callable[[Any], TensorBase], leaf: Any, is_local: bool) -> tuple[Any, list[str]]:
    """The pattern of the Jacobian of function(leaf), a vector of a vector, as a csr_array; names of unseen nodes.

    The leaf requires a gradient.
    """
    from scipy.sparse import csr_array

    tracer = Tracer(leaf, is_local)
    with tracing(tracer):
        result = function(leaf)
        indptr, indices = with_kept_memory(sets.rows, (tracer.terms(result), result._array.size))
    shape = (result._array.size, leaf._array.size)
    data = np.broadcast_to(np.bool_(True), indices.shape).copy()
    return csr_array((data, indices, indptr), shape=shape), tracer.unseen
