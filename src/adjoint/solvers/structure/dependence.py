"""Finds the input elements on which each element of a result depends, from the kind of the operation's rule.

    elementwise         elements at the same position
    view                the elements of the view
    linear, affine      elements that it moves or sums, as the kernel or the transpose shows on labels
    core, axes          elements with the same indices along the separate axes (`separable` in the declaration)
    anything else       all elements

Each form below returns the terms of the result, or None if it does not apply. Then the next form is tried.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from adjoint.arrays.dtypes import dtype, float64
from adjoint.arrays.shapes import broadcast_shapes
from adjoint.core.graph import TensorBase
from adjoint.core.recorded import raw_ops
from adjoint.rules import derive
from adjoint.rules.declare import Partial, Rule
from adjoint.solvers.structure import sets
from adjoint.solvers.structure.sets import Array, Table, Term, Terms

_OPS = raw_ops(np.zeros(0))
#: Errors that kernels and formulas raise on unsuitable arrays of labels; then the next form is tried.
_NOT_ON_LABELS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
)
#: Factors with more elements count as dense.
_MOST_TAPS = 128
# the codes of labels, kept for the next operation
_codes = [np.zeros(1, dtype=np.int64)]


class Source(NamedTuple):
    """An input with sets: its name, the member of the sequence that it is (or -1), its terms and its array."""

    name: str
    member: int
    terms: Terms
    array: Array


class Call(NamedTuple):
    """One call of an operation. values: its raw arguments by name. sources: the inputs with sets.

    shape, number: of the result; number counts several results. is_data_dependent: constant arrays among the arguments
    were computed from the sources, and other values of these are to be covered. is_local: other values are not.
    """

    rule: Rule
    values: dict[str, Any]
    sources: list[Source]
    shape: tuple[int, ...]
    is_complex: bool
    number: int
    is_data_dependent: bool
    is_local: bool


def terms_of(call: Call) -> Terms:
    """The terms of one result of a call."""
    for form in forms(call):
        terms = form(call)
        if terms is not None:
            return terms if len(terms) <= sets.MOST_TERMS else sets.combine(terms)
    return dense(call)


def forms(call: Call) -> tuple[Callable[[Call], Terms | None], ...]:
    """The forms to ask, the finest first."""
    rule = call.rule
    if rule.pairs_form is not None:
        return (pair_terms,)
    if rule.is_elementwise and rule.kind != "linear":
        # linear operations also tell which elements they drop
        return (elementwise,)
    if rule.view and not is_about_memory(rule):
        return view_moves, element_moves
    if call.is_data_dependent:
        return in_place_of_each, along_names
    if rule.moves:
        return view_moves, element_moves
    if rule.kind == "linear":
        return element_moves, sum_terms, along_names
    if rule.taps is not None:
        return tap_terms, along_names
    if call.is_local or is_affine(call):
        return sum_terms, along_names
    return (along_names,)


# elementwise ----------------------------------------------------------------------------------------------------------


def is_about_memory(rule: Rule) -> bool:
    """True for a view by steps in memory, which the labels of a view do not share."""
    return "stride" in rule.names


def effective(rule: Rule) -> set[str]:
    """The inputs whose partial derivative is not zero everywhere."""
    if rule.kind != "elementwise":
        return {name for formula in rule.vjps for name in formula.inputs}
    return {formula.inputs[0] for formula in rule.vjps if not is_zero(formula)}


def is_zero(formula: Any) -> bool:
    """True for a partial derivative that is the number 0."""
    if not isinstance(formula, Partial) or formula.needs or formula.takes_driver or formula.takes_ops:
        return False
    try:
        value = formula.body()
    except NotImplementedError:
        return False
    return isinstance(value, (int, float)) and value == 0


def elementwise(call: Call) -> Terms | None:
    """The union of the terms at the same place."""
    names = effective(call.rule)
    sources = [source for source in call.sources if source.name in names]
    return sets.union([steep(call, source) if call.is_local else source.terms for source in sources], call.shape)


def steep(call: Call, source: Source) -> Terms:
    """The terms of an input without the places where the partial derivative is zero."""
    partial = cotangent_of_source(call, source, np.ones(call.shape))
    if partial is None or partial.shape != call.shape:
        return source.terms
    present = np.abs(partial) != 0
    if present.all():
        return source.terms
    return [term.with_labels(np.where(present, np.broadcast_to(term.labels, call.shape), 0)) for term in source.terms]


def in_place_of_each(call: Call) -> Terms | None:
    """The same for an operation that picks among elements at one place by a mask, as where() does.

    The origin of a mask is unknown, so it counts as computed from the sources.
    """
    arrays = [value for value in call.values.values() if isinstance(value, np.ndarray)]
    if (
        call.rule.batching != "align"
        or call.rule.indices
        or broadcast_shapes(*[array.shape for array in arrays]) != call.shape
    ):
        return None
    return sets.union([source.terms for source in call.sources], call.shape)


# views, moved and summed elements -------------------------------------------------------------------------------------


def view_moves(call: Call) -> Terms | None:
    """The result of the same operation on the labels; views of labels need no memory."""
    if call.is_complex or any(source.array.dtype.kind == "c" for source in call.sources):
        return None
    terms = []
    for slot in slots(call):
        table = next(iter(slot.values())).table
        labels = on_labels(call, at_inputs(call, {key: term.labels for key, term in slot.items()}))
        if labels is None or labels.shape != call.shape:
            return None
        terms.append(Term(labels if labels.dtype.kind == "i" else labels.astype(np.int64), table))
    return terms


def slots(call: Call) -> list[dict[tuple[str, int], Term]]:
    """Terms of the sources side by side: those of one slot have the same table, and each source has one at most."""
    slot_of_table: dict[tuple[int, int], dict[tuple[str, int], Term]] = {}
    for source in call.sources:
        counts: dict[int, int] = {}
        for term in source.terms:
            number = counts[id(term.table)] = counts.get(id(term.table), -1) + 1
            slot_of_table.setdefault((id(term.table), number), {})[source.name, source.member] = term
    return list(slot_of_table.values())


def at_inputs(call: Call, labels: dict[tuple[str, int], Array]) -> dict[str, Any]:
    """Labels at the inputs, and zeros where there are none, as the kernel takes them."""
    arrays: dict[str, Any] = {}
    for (name, member), values in labels.items():
        if member < 0:
            arrays[name] = values
        else:
            arrays.setdefault(name, zeros_like(call.values[name], np.int32))[member] = values
    return arrays


def on_labels(call: Call, arrays: dict[str, Any]) -> Any:
    """The result of the kernel for other arrays, or None where it does not take them; zeros for other inputs."""
    values = {name: float64 if isinstance(value, dtype) else value for name, value in call.values.items()}
    for name in call.rule.inputs:
        kind = np.int32 if call.rule.moves else np.float64
        values[name] = arrays[name] if name in arrays else zeros_like(values[name], kind)
    try:
        result = derive.call(call.rule, _OPS, values)
    except _NOT_ON_LABELS:
        return None
    return np.asarray(result if call.rule.outputs is None else result[call.number])


def zeros_like(value: Any, kind: Any) -> Any:
    """Zeros in the shape of an input, of a type that holds labels, or fractions of them."""
    if isinstance(value, np.ndarray):
        return np.zeros(value.shape, complex if value.dtype.kind == "c" else kind)
    if isinstance(value, (list, tuple)):
        return [zeros_like(member, kind) for member in value]
    return value if value is None else 0


def arrange(call: Call, labels: Array) -> dict[str, Any]:
    """Labels of all elements of the sources, one source behind the other, as the kernel takes them."""
    arrays: dict[str, Any] = {}
    start = 0
    for source in call.sources:
        part = labels[start : start + source.array.size].reshape(source.array.shape)
        start += source.array.size
        if source.array.dtype.kind == "c":
            part = part * (1 + 1j)
        if source.member < 0:
            arrays[source.name] = part
        else:
            arrays.setdefault(source.name, zeros_like(call.values[source.name], np.float64))[source.member] = part
    return arrays


def element_moves(call: Call) -> Terms | None:
    """The terms of a result whose elements are each one element of the sources, perhaps times a number, or zero."""
    positions = read(call, lambda labels: on_labels(call, arrange(call, labels)), total_size(call), call.shape)
    if positions is None:
        return None
    if len(call.sources) == 1:
        terms = [sets.take(call.sources[0].terms, source) for source in positions]
    else:
        flat = sets.join([(source.terms, source.array.size) for source in call.sources])
        terms = [sets.take(flat, source) for source in positions]
    return [term for part in terms for term in part]


def tap_terms(call: Call) -> Terms | None:
    """The terms of a product with a constant factor, one after the other for its elements."""
    taps: Any = call.rule.taps
    factor = call.values[taps]
    if [source.name for source in call.sources] != [call.rule.inputs[0]] or np.prod(factor.shape[1:]) > _MOST_TAPS:
        return None
    result: Terms = []
    for tap in np.ndindex(factor.shape[1:]):
        index = (slice(None), *tap)
        if not np.any(factor[index]):
            continue
        unit = np.zeros(factor.shape)
        unit[index] = 1

        def run(labels: Array, unit: Array = unit) -> Any:
            return on_labels(call, {**arrange(call, labels), taps: unit})

        positions = read(call, run, total_size(call), call.shape)
        if positions is None:
            return None
        result.extend([term for source in positions for term in sets.take(call.sources[0].terms, source)])
    return result


def total_size(call: Call) -> int:
    """The number of elements of all sources."""
    return sum([source.array.size for source in call.sources])


def read(call: Call, run: Callable[[Array], Any], count: int, shape: tuple[int, ...]) -> list[Array] | None:
    """The label of which each element of run(labels) is a multiple (several where it is complex), or None.

    Labels of two kinds show that no element is a sum of several.
    """
    codes = codes_of(count)
    first = run(np.arange(1.0, count + 1))
    if first is None or first.shape != shape:
        return None
    second = run(codes[1:].astype(np.float64))
    if second is None:
        return None
    firsts, seconds = real_parts(first), real_parts(second)
    if len(firsts) != len(seconds):
        return None
    plain = [np.rint(values).astype(np.int64) for values in firsts]
    if all(agree(*parts, codes) for parts in zip(firsts, plain, seconds, strict=True)):
        return plain
    third = run(np.ones(count))
    factors = [] if third is None else real_parts(third)
    if len(firsts) != len(factors):
        return None
    result = []
    for values, other, factor in zip(firsts, seconds, factors, strict=True):
        if np.any((factor == 0) & ((values != 0) | (other != 0))):
            return None
        safe = np.where(factor == 0, 1, factor)
        scaled = values / safe
        labels = np.rint(scaled).astype(np.int64)
        if not agree(scaled, labels, other / safe, codes):
            return None
        result.append(labels)
    return result


def codes_of(count: int) -> Array:
    """A random number for each label, so that sums of labels show; 0 for 0."""
    if len(_codes[0]) <= count:
        _codes[0] = np.random.default_rng(0).integers(1, 2**31, 2 * count + 1)
        _codes[0][0] = 0
    return _codes[0][: count + 1]


def real_parts(values: Array) -> list[Array]:
    """Absolute values, of both parts of complex numbers."""
    return [np.abs(values.real), np.abs(values.imag)] if values.dtype.kind == "c" else [np.abs(values)]


def agree(values: Array, labels: Array, other: Array, codes: Array) -> bool:
    """True if these are labels, and the others their codes, up to rounding."""
    if labels.size and (labels.max() >= len(codes) or labels.min() < 0):
        return False
    expected = codes[labels]
    if (values == labels).all():
        return bool((other == expected).all())
    close = np.abs(values - labels) <= 1e-9 * labels
    return bool(close.all() and (np.abs(other - expected) <= 1e-9 * expected).all())


def is_affine(call: Call) -> bool:
    """True if no formula for the sources needs values of an input or of the result: derivatives are constant."""
    arrays = {*call.rule.inputs, "y", *[f"y{i}" for i in range(call.rule.n_outputs or 0)]}
    names = {source.name for source in call.sources}
    formulas = [formula for formula in call.rule.vjps if names.intersection(formula.inputs)]
    return bool(formulas) and not any(arrays.intersection(formula.needs) for formula in formulas)


def cotangent_of_source(call: Call, source: Source, cotangent: Array) -> Any:
    """The cotangent of a source for one of the result, not yet summed over broadcast axes, or None."""
    values = {name: float64 if isinstance(value, dtype) else value for name, value in call.values.items()}
    rule = call.rule
    if rule.sequence is None:
        needs = [name == source.name for name in rule.inputs]
    else:
        needs = [number == source.member for number in range(len(values[rule.sequence]))]
    try:
        y: Any = derive.call(rule, _OPS, values) if call.is_local or rule.outputs is not None else None
        if rule.outputs is not None:
            zeros = [np.zeros(part.shape, cotangent.dtype) for part in y]
            zeros[call.number] = cotangent
            cotangents = derive.vjp(rule, _OPS, tuple(zeros), values, y, needs)
        else:
            cotangents = derive.vjp(rule, _OPS, cotangent, values, y, needs)
    except _NOT_ON_LABELS:
        return None
    result = cotangents.get(source.name)
    if result is not None and source.member >= 0:
        result = result[source.member]
    return None if result is None else np.asarray(result)


def sum_terms(call: Call) -> Terms | None:
    """The terms of a result to which each element of a source contributes once: the transpose moves labels."""
    count = int(np.prod(call.shape))
    result: Terms = []
    for source in call.sources:

        def transpose(labels: Array, source: Source = source) -> Any:
            result_labels = labels.reshape(call.shape)
            return cotangent_of_source(call, source, result_labels * (1 + 1j) if call.is_complex else result_labels)

        groups = read(call, transpose, count, source.array.shape)
        if groups is None:
            return None
        for group in groups:
            table = sets.group(source.terms, group, count)
            result.append(Term(np.arange(1, count + 1).reshape(call.shape), table))
    return sets.combine(result) if len(result) > 1 else result


def pair_terms(call: Call) -> Terms | None:
    """The terms of a result whose rule names the pairs of places that depend on each other."""
    form: Any = call.rule.pairs_form
    result: Terms = []
    count = int(np.prod(call.shape))
    for source in call.sources:
        arguments = [derive.value_of_parameter(call.rule, name, call.values, None) for name in form.needs]
        places, sources = form.call(_OPS, source.name, *arguments)
        terms = sets.take(source.terms, np.asarray(sources) + 1)
        table = sets.group(terms, np.asarray(places) + 1, count)
        result.append(Term(np.arange(1, count + 1).reshape(call.shape), table))
    return result


# separate axes --------------------------------------------------------------------------------------------------------


def along_names(call: Call) -> Terms | None:
    """The terms of a result that depends on all elements with the same indices along the separate axes."""
    result: Terms = []
    for source in call.sources:
        names = names_of_axes(call, source)
        if names is None:
            return None
        terms = align(source.terms, *names, call.shape)
        if terms is None:
            return None
        result.extend(terms)
    return result


def names_of_axes(call: Call, source: Source) -> tuple[list[Any], list[Any]] | None:
    """Names of the axes of a source and of the result, or None; axes with equal names are separate."""
    rule = call.rule
    if rule.signature_form is not None:
        signature = derive.run(
            rule.signature_form, _OPS, None, lambda name: derive.value_of_parameter(rule, name, call.values, None)
        )
        return names_in(signature, call, source, True)
    if rule.core is not None:
        return names_in(rule.core, call, source, rule.separable)
    return names_beside(call, source) if rule.axes and rule.separable else None


def names_in(signature: str, call: Call, source: Source, is_separable: bool) -> tuple[list[Any], list[Any]] | None:
    """Names by a core signature; axes before its axes are counted from the last."""
    inputs, outputs = (re.findall(r"\(([^)]*)\)", side) for side in signature.split("->"))
    number = max(source.member, 0) if call.rule.sequence else call.rule.inputs.index(source.name)
    names, of_result = (
        [name for name in part.split(",") if name]
        for part in (inputs[number], outputs[min(call.number, len(outputs) - 1)])
    )
    if is_separable:
        names = names[-source.array.ndim :] if source.array.ndim else []
    lead, lead_of_result = source.array.ndim - len(names), len(call.shape) - len(of_result)
    if lead < 0 or lead_of_result < 0:
        return None
    if not is_separable:
        names, of_result = [None] * len(names), [None] * len(of_result)
    return [*range(-lead, 0), *names], [*range(-lead_of_result, 0), *of_result]


def names_beside(call: Call, source: Source) -> tuple[list[Any], list[Any]] | None:
    """Names by the axis parameters: all axes except these are separate."""
    first = next((call.values[name] for name in call.rule.inputs), None)
    ndim = source.array.ndim
    if getattr(first, "ndim", -1) != ndim:
        return None
    dims: set[int] = set()
    for name in call.rule.axes:
        value = call.values[name]
        dims.update(range(ndim) if value is None else (value,) if isinstance(value, int) else value)
    names = [None if axis in dims else axis for axis in range(ndim)]
    if len(call.shape) == ndim:
        return names, names
    rest = [axis for axis in names if axis is not None]
    return (names, rest) if len(call.shape) == len(rest) else None


def align(terms: Terms, names: list[Any], of_result: list[Any], shape: tuple[int, ...]) -> Terms | None:
    """One set for each index along the axes whose names source and result share."""
    size_of = {name: n for name, n in zip(of_result, shape, strict=True) if name is not None}
    source_shape = terms[0].labels.shape
    common: list[Any] = []
    for name, n in zip(names, source_shape, strict=True):
        if name in size_of and name not in common and size_of[name] == n:
            common.append(name)
    sizes = [size_of[name] for name in common]
    count = int(np.prod(sizes))
    numbers = np.arange(1, count + 1).reshape(sizes)
    groups = spread(numbers, common, names, source_shape)
    return [Term(spread(numbers, common, of_result, shape), sets.group(terms, groups, count))]


def spread(numbers: Array, common: list[Any], names: list[Any], shape: tuple[int, ...]) -> Array:
    """Numbers along the kept axes, repeated along all others."""
    order = [common.index(name) for name in dict.fromkeys(names) if name in common]
    grid = numbers.transpose(order)
    names_before: set[Any] = set()
    index: list[Any] = []
    for name in names:
        index.append(slice(None) if name in common and name not in names_before else None)
        names_before.add(name)
    return np.broadcast_to(grid[tuple(index)], shape)


# everything -----------------------------------------------------------------------------------------------------------


def dense(call: Call) -> Terms:
    """The terms of a result whose elements all depend on all elements of all sources."""
    result: Terms = []
    for source in call.sources:
        groups = np.broadcast_to(np.int64(1), source.array.shape)
        result.append(everywhere(sets.group(source.terms, groups, 1), call.shape))
    return result


def everywhere(table: Table, shape: tuple[int, ...]) -> Term:
    """One set for all elements."""
    return Term(np.broadcast_to(np.int64(1), shape), table)


def raw(value: Any) -> Any:
    """The array of a Tensor; other arguments as they are."""
    if isinstance(value, TensorBase):
        return value._array
    return (
        [raw(member) for member in value]
        if isinstance(value, (tuple, list)) and any(isinstance(member, TensorBase) for member in value)
        else value
    )
