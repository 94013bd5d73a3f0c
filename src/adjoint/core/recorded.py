"""Nodes of declared operations: the values they save, and the evaluation of their formulas.

A `Plan` says, once for each operation and set of inputs that need a gradient, which values its formulas need and how
they are called. An `OpNode` then holds no more than its plan and the values that the plan names.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import weakref

import numpy

from adjoint.arrays.dtypes import float32, from_numpy_dtype, is_half, kind_of, numpy_dtype
from adjoint.arrays.namespace import in_batch_of, is_array, is_on_device, namespace
from adjoint.arrays.promotion import upcast
from adjoint.core import errors
from adjoint.core.graph import registry
from adjoint.core.locations import caller, forward_traceback
from adjoint.core.operations.naming import IN_PLACE_NODES
from adjoint.program.fused import Fused
from adjoint.runtime.lazy import LazyTable
from adjoint.runtime.memory import with_kept_memory

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.graph import (
        ALL_EDGES,
        NO_VERSION,
        AccumulateGrad,
        ContextNode,
        Extras,
        Node,
        SavedTensor,
        TensorBase,
        VersionCounter,
        array_in,
        counter_of,
        edge_of,
        empty_saved,
        gradient_edge,
        has_edge,
        has_layout,
        make_saved,
        needs_grad,
        new_tensor,
        original_in,
        output_dtype,
        output_number,
        output_shape,
        pack_saved,
        packed_value_in,
        project,
        project_tensor,
        version_of,
    )
    from adjoint.core.modes.state import ThreadState, current, with_plain_results
    from adjoint.runtime.crossovers import is_large

    _overriding = True  # `with_plain_results` costs little

_ndarray = numpy.ndarray
# names that dir() lists for nodes besides saved values, as in torch
_SHOWN = frozenset(("name", "metadata", "next_functions", "register_hook", "register_prehook", "requires_grad"))
_SHOWN |= {"_input_metadata", "_register_hook_dict", "_sequence_nr", "_set_sequence_nr"}

# kinds of saved values, by their origin; the shape of an input that has an edge is stored at the edge's node
_INPUT, _RESULT, _PARAMETER, _SHAPE, _DTYPE, _NEEDS, _SEQUENCE, _SEQUENCE_SHAPES, _EDGE_SHAPE, _INDICES = range(10)
# the kinds that hold arrays
_ARRAYS = (_INPUT, _RESULT, _SEQUENCE, _INDICES)

# the two worlds of formulas: raw arrays and Tensors -------------------------------------------------------------------


class RawOps:
    """The operations on raw arrays of one library: formulas of a first-order backward pass run in it."""

    def __init__(self, xp):
        self._xp = xp

    def __getattr__(self, name):
        kernel = operation_named(name).kernel.for_formulas(self._xp)
        setattr(self, name, kernel)
        return kernel


class TensorOps:
    """The operations on Tensors: formulas run in it where the derivative itself is recorded."""

    def __getattr__(self, name):
        operation = operation_named(name)
        setattr(self, name, operation)
        return operation


def operation_named(name):
    """The declared operation of this name; AttributeError if there is none."""
    operation = operations.get(name)
    if operation is None:
        raise AttributeError(f"no operation {name!r} is declared; a formula can use only declared operations")
    return operation


#: All declared operations by name.
operations: LazyTable = LazyTable()
#: The operations that the core itself calls by name. It knows all others from their rules.
CORE_OPERATIONS = frozenset(("as_strided", "cast", "clone", "clone_with_strides", "real", "sum_to_size"))

_numpy = namespace(numpy.zeros(0))
_numpy_ops = RawOps(_numpy)
_raw_ops: dict = {_ndarray: _numpy_ops}
_negative: Fused = Fused(numpy.negative, (), True)


def raw_ops(array):
    """The namespace of operations for a raw array."""
    if type(array) is _ndarray:
        return _numpy_ops
    ops = _raw_ops.get(type(array))
    if ops is None:
        ops = _raw_ops.setdefault(type(array), RawOps(namespace(array)))
    return ops


# evaluation of formulas -----------------------------------------------------------------------------------------------


def keeps_large(entry):
    """True if a saved value is a large array, or a tensor that has one."""
    if isinstance(entry, TensorBase):
        return is_large(cython.cast(TensorBase, entry)._array)
    return is_large(entry)


@cython.final
@cython.cclass
class Term:
    """The formula for the cotangent of one input (or of several, jointly) from g and the saved values.

    product: a function of (ops, g, *saved values). arguments: the positions of the saved values in the plan.
    fused: the formula as programs on NumPy's arrays, or None. is_elementwise: a program is faster for small arrays too.
    summed: the formula that also sums over a batch, or None (`Rule.vjp`).
    sign: the sign of the number by which the cotangent is multiplied, mostly 1; 0 if the formula is not a product with
    a number.
    """

    def __init__(self, product, inputs, arguments, fused, native, is_identity, is_elementwise, sign, summed=None):
        self.product = product
        self.inputs = inputs
        self.arguments = arguments
        self.fused = fused
        self.native = native
        self.is_identity = is_identity
        self.is_elementwise = is_elementwise
        self.sign = sign
        self.summed = summed
        self.position = arguments[0] if arguments else 0
        self.is_for_one = len(inputs) == 1
        self.input = inputs[0]

    def is_for_any(self, edges):
        """True if the formula gives the cotangent of one of these edges."""
        for i in self.inputs:
            if has_edge(edges, i):
                return True
        return False

    def pull(self, node, ops, g, create_graph, large):
        """The cotangent, from `g` and the saved values; these and `ops` are all raw or all Tensors.

        large: the arrays are large NumPy arrays.
        """
        if self.is_identity:
            return g
        n: cython.Py_ssize_t = len(self.arguments)
        # each value is unpacked once, since hooks may have effects
        value = node.value(self.position, create_graph) if n else None
        if self.sign and type(value) is int and value == 1:
            if self.sign > 0:
                return g
            out = _negative.one(g, True) if ops is _numpy_ops else None
            return -g if out is None else out
        if ops is not _numpy_ops:
            if self.fused is not None and self.is_elementwise and is_on_device(g):
                saved = [value, *[node.value(k, False) for k in self.arguments[1:]]] if n else []
                out = self.fused.on_device([g, *saved])
                return self.product(ops, g, *saved) if out is None else out
            if n == 0:
                return self.product(ops, g)
            if n == 1:
                return self.product(ops, g, value)
            return self.product(ops, g, value, *[node.value(k, create_graph) for k in self.arguments[1:]])
        out = None
        if self.native is not None and not (self.native.is_move and n > 1):
            out = self.native.two(g, value)
            if out is not None:
                return out
        if n <= 1:
            if self.fused is not None and (self.is_elementwise or large):
                out = self.fused.one(g, True) if n == 0 else self.fused.two(g, value, True, large)
            if out is None:
                out = self.product(ops, g) if n == 0 else self.product(ops, g, value)
            return out
        values: list = [g, value]
        values.extend([node.value(k, False) for k in self.arguments[1:]])
        if self.native is not None:
            out = self.native.several(values)
            if out is not None:
                return out
        if self.fused is not None and (self.is_elementwise or large):
            out = self.fused.several(values, True, large)
        return self.product(ops, *values) if out is None else out


def mapped_saved(entry, function):
    """A saved value with function(array) in the place of its array; a Tensor stays as it is."""
    if isinstance(entry, SavedTensor):
        entry.array = function(entry.array)
    return entry if isinstance(entry, (SavedTensor, TensorBase)) else function(entry)


# plans: saved values and formulas of an operation ---------------------------------------------------------------------


@cython.final
@cython.cclass
class Plan:
    """The saved values and the formulas of an operation for one set of inputs that need a gradient."""

    def __init__(self, names, slots, terms, mask):
        self.names = names
        self.kinds = [kind for kind, _ in slots]
        self.kind0 = self.kinds[0] if self.kinds else -1
        self.positions = [position for _, position in slots]
        self.terms = terms
        self.mask = mask
        # unsaved slots come last
        self.n_saved = len([kind for kind in self.kinds if kind != _EDGE_SHAPE])
        slots = slots[: self.n_saved]
        # simple: at most two values, each the result (position 2) or one of two inputs (position 0 or 1)
        self.is_simple = (
            len(mask) <= 2
            and self.n_saved <= 2
            and all([(kind == _INPUT and n < 2) or (kind == _RESULT and n == 0) for kind, n in slots])
        )
        positions = [2 if kind == _RESULT else position for kind, position in slots]
        self.position0 = positions[0] if positions and self.is_simple else 0
        self.position1 = positions[1] if len(positions) > 1 and self.is_simple else 0
        self.saves_result = any([kind == _RESULT for kind, _ in slots])
        self.needs_first = bool(mask) and mask[0]
        self.needs_second = len(mask) > 1 and mask[1]
        self.saves_inputs = any([kind == _INPUT for kind, _ in slots])
        self.holds_tensors = any([kind in _ARRAYS for kind, _ in slots])

    def saves(self, tensor, values):
        """True if this very tensor is among the arguments that the plan saves."""
        return any([kind == _INPUT and values[n] is tensor for kind, n in zip(self.kinds, self.positions)])


# the nodes of operations ----------------------------------------------------------------------------------------------


@cython.trashcan(True)
@cython.cclass
class OpNode(Node):
    """A node of a declared operation."""

    def _ad_pull(self, cotangent, create_graph, edges):
        """Run the formulas of the plan, on raw arrays or on Tensors."""
        if not create_graph and (
            is_large(cotangent) or keeps_large(entry_of(self, 0)) or keeps_large(entry_of(self, 1))
        ):
            return with_kept_memory(self.run_formulas, (cotangent, False, True, edges))
        if create_graph and _overriding:
            return with_plain_results(self.run_formulas, (cotangent, True, False, edges))
        return self.run_formulas(cotangent, create_graph, False, edges)

    def run_formulas(self, cotangent, create_graph, large, edges):
        """The work of `pull`."""
        if self.freed:
            raise errors.freed_error(self)
        if create_graph:
            ops = registry.tensor_ops
        else:
            ops = raw_ops(cotangent if self._ad_n_outputs == 1 else first_defined(cotangent))
        plan: Plan = self.plan
        if plan.several_results:
            cotangent = self.materialize([cotangent] if self._ad_n_outputs == 1 else cotangent, create_graph)
        elif self.half:
            cotangent = self.widen(cotangent, create_graph)
        term: Term
        results: list = [None] * self._ad_n_edges
        for term in plan.terms:
            if term.is_for_one and edge_of(self, term.input) is None:
                continue
            if edges != ALL_EDGES and not term.is_for_any(edges):
                # torch compares versions and calls hooks for all values that a node saved
                for k in term.arguments:
                    self.value(k, False)
                continue
            if term.summed is not None and type(edge_of(self, term.input)) is registry.crossing:
                pulled = self.pull_from_batch(term, ops, cotangent, create_graph)
            else:
                pulled = term.pull(self, ops, cotangent, create_graph, large)
            if len(term.inputs) > 1:
                for k in range(len(term.inputs)):
                    self.fit_to_edge(results, term.inputs[k], pulled[k], create_graph)
            else:
                self.fit_to_edge(results, term.input, pulled[0] if plan.mask_is_sequence else pulled, create_graph)
        return results

    def pull_from_batch(self, term: Term, ops, cotangent, create_graph):
        """The cotangent of an input that the members of a batch share; where it can be, the batch is summed at once."""
        values = [self.value(k, create_graph) for k in term.arguments]
        pulled = registry.pull_summed(term.summed, edge_of(self, term.input), cotangent, values)
        return term.product(ops, cotangent, *values) if pulled is None else pulled

    def fit_to_edge(self, results: list, i, value, create_graph):
        """Store the cotangent that a formula gave for an input, converted to the shape and dtype of its edge."""
        target: Node = edge_of(self, i)
        if target is None or value is None:
            return
        if cython.compiled:
            if target._ad_n_outputs == 1 and type(value) is _ndarray:
                if has_layout(value, target._ad_shape, target._ad_dtype):
                    results[i] = value
                    return
        nr: cython.int = output_number(self, i)
        try:
            if create_graph:
                results[i] = project_tensor(value, output_shape(target, nr), output_dtype(target, nr))
            else:
                results[i] = project(value, output_shape(target, nr), output_dtype(target, nr))
        except ValueError as error:
            message = errors.invalid_gradient(self, i, value.shape, output_shape(target, nr))
            raise RuntimeError(message) from error

    def materialize(self, cotangents, create_graph):
        """The cotangents of several results, zeros where a result got none; None for rules that know of it."""
        result = []
        plan: Plan = self.plan
        for nr, g in enumerate(cotangents):
            if g is None and plan.undefined:
                result.append(None)
                continue
            if g is None:
                sample = first_defined(cotangents)
                array = sample._array if create_graph else sample
                g = namespace(array).zeros(output_shape(self, nr), dtype=output_dtype(self, nr))
                g = in_batch_of(g, array)
                if create_graph:
                    g = new_tensor(g)
            if self.half:
                g = self.widen(g, create_graph)
            result.append(g)
        return tuple(result)

    def save(self, values: tuple, result, results):
        """Keep the values that the plan names, with their versions."""
        plan: Plan = self.plan
        n: cython.Py_ssize_t = plan.n_saved
        version: cython.long
        versions: list = None
        if n > 0:
            self.saved0 = self.saved_form(0, values, result, results)
        if n > 1:
            self.saved1 = self.saved_form(1, values, result, results)
        if n > 2:
            self.saved_others = tuple([self.saved_form(k, values, result, results) for k in range(2, n)])
        if not plan.saves_inputs:
            return
        for k in range(n):
            saved = self.entry(k)
            if isinstance(saved, TensorBase):
                version = version_of(saved)
                if version:
                    if version < 0:
                        refuse_inference(saved)
                    if versions is None:
                        versions = [0] * n
                    versions[k] = version
        if versions is not None:
            self.versions = tuple(versions)

    def finish(self, values: tuple):
        """The rest of the work for a complete node when the thread's state is unusual."""
        state: ThreadState = current()
        plan: Plan = self.plan
        if plan.holds_tensors:
            if state.locations:
                # not a field, since few nodes have it
                setattr(self, "_ad_saved_at", caller())  # noqa: B010
            if state.saved_hooks:
                self.pack(values)
        announce(self)

    def pack(self, values: tuple):
        """Call the hooks on saved tensors for inputs and results alike."""
        plan: Plan = self.plan
        for k in range(plan.n_saved):
            entry = self.entry(k)
            kind: cython.int = plan.kinds[k]
            if kind == _SEQUENCE:
                for saved, member in zip(entry, values[plan.positions[k]]):
                    pack_by_mode(saved, member, self)
            elif kind == _INDICES:
                entry = saved_indices(entry)
                for member in entry:
                    if isinstance(member, SavedTensor):
                        pack_by_mode(member, self.hand_out(member), self)
                self.replace_entry(k, entry)
            elif kind == _RESULT:
                saved = entry if isinstance(entry, SavedTensor) else self.saved_result(entry)
                pack_by_mode(saved, self.hand_out(saved), self)
                self.replace_entry(k, saved)
            elif isinstance(entry, TensorBase):
                saved = save_input(entry)
                pack_by_mode(saved, entry, self)
                self.replace_entry(k, saved)

    def replace_entry(self, k, entry):
        """Replace the saved value of slot k."""
        set_entry(self, k, entry)

    def saved_result(self, array) -> SavedTensor:
        """The single result as a `SavedTensor`."""
        saved: SavedTensor = make_saved(array, self.counter, None, 0, False)
        saved.version = self.version
        return saved

    def saved_form(self, k, values: tuple, result, results):
        """The saved form of one value: an input Tensor, a result's array, a `SavedTensor` or a plain value."""
        plan: Plan = self.plan
        kind: cython.int = plan.kinds[k]
        position: cython.Py_ssize_t = plan.positions[k]
        if kind == _INPUT or kind == _PARAMETER or kind == _INDICES:
            return values[position]
        if kind == _RESULT:
            if results is not None:
                return save_result(results[position], position)
            self.counter = counter_of(result)
            self.version = self.counter.value
            return result._array
        if kind == _SHAPE:
            return input_shape(values[position])
        if kind == _DTYPE:
            return numpy_dtype(values[position]._array.dtype)
        if kind == _NEEDS:
            return plan.mask
        if kind == _SEQUENCE:
            return tuple([save_input(member) for member in values[position]])
        return tuple([member._array.shape for member in values[position]])

    def entry(self, k):
        """The saved form of slot k; None once it is freed."""
        return entry_of(self, k)

    def value(self, k, create_graph):
        """The saved value of slot k: a raw array, or a Tensor with its history, or a plain value.

        Versions are compared first.
        """
        plan: Plan = self.plan
        kind: cython.int = plan.kind0 if k == 0 else plan.kinds[k]
        if kind == _EDGE_SHAPE:
            return self.edge_shape(plan.positions[k])
        entry = self.entry(k)
        if entry is None and self.freed:
            # by another pass meanwhile
            raise errors.freed_error(self)
        if kind == _RESULT and not create_graph and not self.half and not isinstance(entry, SavedTensor):
            if self.counter.value != self.version:
                self.check_result(entry)
            return entry
        if kind == _SEQUENCE:
            return [self.saved_value(member, create_graph) for member in entry]
        if kind == _INDICES:
            return tuple([self.saved_value(item, False) if isinstance(item, SavedTensor) else item for item in entry])
        if kind != _INPUT and kind != _RESULT:
            return entry
        if isinstance(entry, TensorBase):
            self.check_version(entry, k)
            if not create_graph:
                entry = cython.cast(TensorBase, entry)._array
            else:
                entry = self.as_recorded(entry, plan.input_numbers[k])
            if create_graph and plan.promotes and kind_of(cython.cast(TensorBase, entry)._array) in "biu":
                # the kernel saw it in the type of the result; a formula must not fall back on the default type
                entry = registry.tensor_ops.cast(entry, from_numpy_dtype(self._ad_dtype))
        elif isinstance(entry, SavedTensor):
            return self.saved_value(entry, create_graph)
        elif kind == _RESULT:
            self.check_result(entry)
            if create_graph:
                entry = self.result(entry)
        return self.widen(entry, create_graph) if self.half else entry

    def edge_shape(self, i):
        """The shape of the input at an edge; None if no cotangent flows along it."""
        target: Node = edge_of(self, i)
        return None if target is None else output_shape(target, output_number(self, i))

    def as_recorded(self, tensor: TensorBase, i) -> TensorBase:
        """A saved input with the history and tangents that it had when it was saved: detach_() may have cut both."""
        if i < 0 or tensor._view is not None:
            return tensor
        edge: Node = edge_of(self, i)
        number: cython.int = 0
        if edge is not None:
            number = output_number(self, i)
        if type(edge) is registry.crossing:
            # the crossing sums the cotangents of this node alone; others go to the input directly
            number = output_number(edge, 0)
            edge = edge_of(edge, 0)
        if edge is None or tensor._node is edge or tensor._requires:
            return tensor
        twin: TensorBase = new_tensor(tensor._array)
        twin._counter = counter_of(tensor)
        twin._node = edge
        twin._output_nr = number
        twin._tangents = tensor._tangents
        if twin._tangents is None:
            twin._tangents = tangents_noted_at(edge, number)
        return twin

    def saved_value(self, saved: SavedTensor, create_graph):
        """The value of a `SavedTensor`."""
        entry = self.hand_out(saved)
        if not create_graph:
            entry = cython.cast(TensorBase, entry)._array
        return self.widen(entry, create_graph) if self.half else entry

    def widen(self, value, create_graph):
        """A half-precision value in the type that formulas are computed in."""
        if not create_graph:
            return upcast(value)
        if isinstance(value, TensorBase) and is_half(cython.cast(TensorBase, value)._array.dtype):
            return registry.tensor_ops.cast(value, float32)
        return value

    def hand_out(self, saved: SavedTensor) -> TensorBase:
        """A `SavedTensor` as a Tensor with its history, after its version was compared."""
        tensor: TensorBase = unpack_saved(saved, self)
        if not saved.from_input:
            if self.base_history() is None or saved.output_nr:
                tensor._tangents = self.tangents_of(saved.output_nr)
            else:
                tensor = self.result(tensor._array)
        return tensor

    def note_tangents(self, nr, tangents):
        """Keep the tangents of a result, so that it still has them when it is unpacked."""
        extras: Extras = self._ad_own_extras()
        if extras.tangents is None:
            extras.tangents = {}
        extras.tangents[nr] = tangents

    def tangents_of(self, nr):
        """The tangents of a result, or None."""
        extras: Extras = self._ad_extras
        return None if extras is None or extras.tangents is None else extras.tangents.get(nr)

    def base_history(self):
        """A weak reference to the history of the base, if the operation modified a view in place; else None."""
        return None if self._ad_extras is None else self._ad_extras.owner

    def result(self, array) -> TensorBase:
        """The saved single result as a Tensor that knows its node."""
        tensor: TensorBase = new_tensor(array)
        tensor._counter = self.counter
        owner = self.base_history()
        if owner is None:
            tensor._node = self
        else:
            # the result of an operation in place on a view is a view of the base's new history
            part: TensorBase = owner().part()
            tensor._node = part._node
            tensor._output_nr = part._output_nr
        tensor._tangents = self.tangents_of(0)
        return tensor

    def check_result(self, array):
        """Raise if the saved single result was modified in place since."""
        if self.counter.value != self.version:
            raise errors.modification_error(array, self, 0, self.counter, self.version, self)

    def check_version(self, tensor: TensorBase, k):
        """Raise if a saved input was modified in place since; without a version counter it never was."""
        expected: cython.long = 0
        if self.versions is not None:
            expected = self.versions[k]
        if tensor._counter is not None and tensor._counter.value != expected:
            raise errors.modification_error(
                tensor._array, tensor._node, tensor._output_nr, tensor._counter, expected, self
            )

    def _ad_release(self):
        """Free saved values; a node that saved no tensor, where torch's does not either, can still be run again."""
        plan: Plan = self.plan
        if self.frees_saved():
            self.freed = True
            for k in range(plan.n_saved):
                drop(self.entry(k))
            free_entries(self)

    def _ad_runs_once(self):
        """True if the node cannot run again once its saved values are freed."""
        return self.frees_saved()

    def _ad_is_freed(self):
        """True if the saved values were freed."""
        return self.freed

    def frees_saved(self):
        """True if the node frees saved values when it has run, so that it cannot run again."""
        plan: Plan = self.plan
        if plan.holds_tensors and (not plan.overloads or self.holds_any()):
            return True
        return bool(plan.runs_once and self.is_spent())

    def _ad_map_saved(self, function):
        """Replace each saved array that no Tensor of the caller holds by function(array)."""
        if self.freed:
            return
        plan: Plan = self.plan
        for k in range(plan.n_saved):
            entry = self.entry(k)
            if type(entry) is tuple:
                self.replace_entry(k, tuple([mapped_saved(member, function) for member in entry]))
            else:
                self.replace_entry(k, mapped_saved(entry, function))

    def is_spent(self):
        """True if torch's node of this name saves a tensor that adjoint does not need."""
        runs_once = self.plan.runs_once
        return runs_once is True or type(self).__name__ in runs_once

    def holds_any(self):
        """True if a tensor was saved; a number does not count if it has its own overload, and so its own node."""
        plan: Plan = self.plan
        for k in range(plan.n_saved):
            if plan.kinds[k] in _ARRAYS and not (is_number(self.entry(k)) and plan.public_names[k] in plan.overloads):
                return True
        return False

    def __getattr__(self, name):
        if name.startswith("_saved_"):
            return self.saved_attribute(name[len("_saved_") :])
        if name.startswith("_raw_saved_"):
            return self.raw_saved_attribute(name[len("_raw_saved_") :])
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def saved_attribute(self, name):
        """A saved value under the name that torch gives it: self, other, result, dim ...

        None for a value that only formulas of inputs without a gradient would use.
        """
        attributes = self.attributes()
        if name in attributes:
            return attributes[name]
        k = self.position_of(name)
        value = None if k is None else self.public_value(k)
        return (value,) if isinstance(value, int) and name in self.plan.listed else value

    def attributes(self):
        """Further attributes that the rule computes from saved values, under torch's names."""
        plan: Plan = self.plan
        if plan.attributes is None or self.freed:
            return {}
        function, needs = plan.attributes
        return function(*[self.public_value(plan.names.index(name)) for name in needs])

    def public_value(self, k):
        """The saved value of slot k for users: arrays and factors as Tensors."""
        kind: cython.int = self.plan.kinds[k]
        entry = self.edge_shape(self.plan.positions[k]) if kind == _EDGE_SHAPE else self.entry(k)
        if kind == _SEQUENCE:
            return tuple([self.hand_out(member) for member in entry])
        if kind == _INDICES:
            return self.shown_indices(entry)
        if isinstance(entry, SavedTensor):
            return self.hand_out(entry)
        if kind == _RESULT:
            self.check_result(entry)
            return self.result(entry)
        if isinstance(entry, TensorBase):
            self.check_version(entry, k)
            return self.as_recorded(entry, self.plan.input_numbers[k])
        if kind == _INPUT and is_number(entry) and self.plan.public_names[k] not in self.plan.overloads:
            return new_tensor(numpy.asarray(entry))
        return entry

    def shown_indices(self, entry):
        """The arrays of an index as Tensors, with None for each full slice in front of one."""
        items = [self.hand_out(item) if isinstance(item, SavedTensor) else None for item in saved_indices(entry)]
        while items and items[len(items) - 1] is None:
            items.pop()
        return tuple(items)

    def raw_saved_attribute(self, name):
        """A saved value as the object that hooks can be registered on; a tuple of them for several."""
        k = None if self.freed else self.position_of(name)
        if k is None:
            empty: SavedTensor = SavedTensor.__new__(SavedTensor)
            empty.freed = self.freed
            return empty
        kind: cython.int = self.plan.kinds[k]
        entry = self.edge_shape(self.plan.positions[k]) if kind == _EDGE_SHAPE else self.entry(k)
        if kind == _SEQUENCE:
            return entry
        if kind == _INDICES:
            entry = saved_indices(entry)
            self.replace_entry(k, entry)
            return tuple([item for item in entry if isinstance(item, SavedTensor)])
        if not isinstance(entry, SavedTensor):
            if isinstance(entry, TensorBase):
                self.check_version(entry, k)
                entry = save_input(entry)
                cython.cast(SavedTensor, entry).original = self.entry(k)
            elif kind == _RESULT:
                entry = self.saved_result(entry)
            elif isinstance(self.public_value(k), TensorBase):
                # the factor is a plain number, which no hook sees: the node keeps it
                return save_input(self.public_value(k))
            else:
                raise AttributeError(
                    f"{type(self).__name__!r} object has no attribute '_raw_saved_{name}': "
                    f"it saved {entry!r}, no tensor"
                )
            self.replace_entry(k, entry)
        return entry

    def position_of(self, name):
        """The position in the plan of a saved value, given torch's name; None if the value was not needed."""
        public = self.plan.public_names
        if name in self.plan.unused:
            return None
        if name not in public:
            raise AttributeError(
                f"{type(self).__name__!r} object has no attribute '_saved_{name}'; it saved {self.saved_names()}"
            )
        if self.freed:
            raise errors.freed_error(self)
        return public.index(name)

    def saved_names(self):
        """Torch's names of the saved values."""
        return [*[name for name in self.plan.public_names if name is not None], *self.attributes()]

    def _ad_saved_items(self) -> list:
        """The tensors that the node keeps, by torch's names for them; none once they are freed."""
        if self.freed:
            return []
        items = []
        for k, (slot_name, name, kind) in enumerate(zip(self.plan.names, self.plan.public_names, self.plan.kinds)):
            if kind == _EDGE_SHAPE:
                break
            entry = self.entry(k)
            name = name or slot_name
            if (kind == _SEQUENCE or kind == _INDICES) and entry is not None:
                items.extend([(f"{name}[{i}]", member) for i, member in enumerate(entry)])
            elif kind == _INPUT or kind == _RESULT:
                items.append((name, entry))
        return [(name, entry) for name, entry in items if hasattr(entry, "shape") or isinstance(entry, SavedTensor)]

    def __dir__(self):
        plan: Plan = self.plan
        numbers = [] if self.freed else [k for k in range(plan.n_saved) if is_number(self.entry(k))]
        plain = {plan.public_names[k] for k in numbers} & plan.overloads
        return [
            *[name for name in object.__dir__(self) if name.startswith("__") or name in _SHOWN],
            *[f"_saved_{name}" for name in (*self.saved_names(), *plan.unused)],
            *[f"_raw_saved_{name}" for name in plan.arrays if name not in plain],
        ]


def tangents_noted_at(node: Node, nr):
    """The tangents of a result of a node, as it keeps them."""
    if isinstance(node, OpNode):
        return cython.cast(OpNode, node).tangents_of(nr)
    if isinstance(node, ContextNode) and cython.cast(ContextNode, node)._ad_tangents is not None:
        return cython.cast(ContextNode, node)._ad_tangents.get(nr)
    return None


_in_place_types: dict = {}


def name_in_place(node):
    """Give the node of an operation in place torch's name for it."""
    kind = type(node)
    name = IN_PLACE_NODES.get(kind.__name__)
    if name is not None:
        if name not in _in_place_types:
            numbers = getattr(kind, "_ad_numbers", ())
            attributes = {"__doc__": kind.__doc__, "__module__": "builtins", "_ad_numbers": numbers}
            _in_place_types.setdefault(name, type(name, (OpNode,), attributes))
        setattr(node, "__class__", _in_place_types[name])  # noqa: B010  # a C type's instance is no place for a plain =


# values ---------------------------------------------------------------------------------------------------------------


def first_defined(values):
    """The first that is not None; there is one."""
    return next(iter([value for value in values if value is not None]))


def is_number(value):
    """True for Python's numbers."""
    return isinstance(value, (bool, int, float, complex))


def input_shape(value):
    """Shape of a Tensor; a number has the empty shape."""
    return value._array.shape if isinstance(value, TensorBase) else ()


# saved values ---------------------------------------------------------------------------------------------------------


def pack_by_mode(saved: SavedTensor, tensor: TensorBase, owner):
    """Call the innermost pair of hooks on saved tensors for a value that `owner` saves."""
    state: ThreadState = current()
    if state.saved_hooks:
        pack, unpack = state.saved_hooks[len(state.saved_hooks) - 1]
        outer = state.saving
        state.saving = owner
        try:
            pack_saved(saved, tensor, pack, unpack)
        finally:
            state.saving = outer


def unpack_saved(saved: SavedTensor, owner) -> TensorBase:
    """A saved value as a Tensor with its history; `owner` is the node that saved it.

    Versions are compared, except where hooks have packed the value.
    """
    if saved.freed:
        raise errors.freed_error(owner)
    if saved.unpack_hook is None:
        check_saved(saved, owner)
        original = original_in(saved)
        if original is not None:
            return original
    tensor: TensorBase = None
    array = array_in(saved)
    if array is not None:
        tensor = new_tensor(array)
        tensor._counter = saved.counter
    packed = packed_value_in(saved)
    if saved.freed:
        # by another pass meanwhile
        raise errors.freed_error(owner)
    if saved.unpack_hook is not None:
        value = saved.unpack_hook(packed if tensor is None else tensor)
        if not isinstance(value, TensorBase):
            raise TypeError(errors.unpacked_type(value))
        tensor = new_tensor(cython.cast(TensorBase, value)._array)
        tensor._counter = cython.cast(TensorBase, value)._counter
    history: Node = saved.node if saved.from_input else owner
    if isinstance(history, AccumulateGrad):
        tensor._requires = True
        tensor._accumulator = weakref.ref(history)
    elif history is not None and kind_of(tensor._array) not in "biu":
        tensor._node = history
        tensor._output_nr = saved.output_nr
    tensor._tangents = saved.tangents
    return tensor


def check_saved(saved: SavedTensor, owner):
    """Raise if a saved value was modified in place since."""
    if saved.counter is None or saved.counter.value == saved.version:
        return
    node, output_nr = saved.node if saved.from_input else owner, saved.output_nr
    if saved.original is not None:
        # the operation that modified it
        node, output_nr = saved.original._node, saved.original._output_nr
    raise errors.modification_error(saved.array, node, output_nr, saved.counter, saved.version, owner)


def drop(entry):
    """Mark a saved value as freed, for those who still hold it."""
    if isinstance(entry, SavedTensor):
        empty_saved(entry)
    elif isinstance(entry, tuple):
        for member in entry:
            drop(member)


def announce(node: Node):
    """Report a new node to the hooks on nodes; called only if the thread's state is unusual."""
    state: ThreadState = current()
    if state.anomaly:
        node.metadata["traceback_"] = forward_traceback()
        if state.evaluating is not None:
            node.metadata["parent_"] = state.evaluating
    for hook in state.node_hooks:
        hook(node)


def refuse_inference(tensor: TensorBase) -> None:
    """Raise the error for saving an inference tensor.

    A function under a transformation may use inference tensors made outside of it.
    """
    level = current().level
    if level is None or tensor._level is level:
        raise errors.INFERENCE_SAVED.error()


def save_input(tensor: TensorBase) -> SavedTensor:
    """An input as a node keeps it that does not keep the Tensor itself."""
    counter: VersionCounter = counter_of(tensor)
    if counter is NO_VERSION:
        refuse_inference(tensor)
    node = gradient_edge(tensor) if needs_grad(tensor) else None
    saved: SavedTensor = make_saved(tensor._array, counter, node, tensor._output_nr, True)
    saved.tangents = tensor._tangents
    return saved


def saved_indices(indices):
    """An index with its arrays as a node keeps them where hooks are to see them."""
    return tuple([save_input(new_tensor(item)) if is_array(item) else item for item in indices])


def save_result(result: TensorBase, nr) -> SavedTensor:
    """A result as its own node keeps it."""
    return make_saved(result._array, counter_of(result), None, nr, False)


# deriving a plan from a rule ------------------------------------------------------------------------------------------


def derive_plan(arguments, mask, is_complex) -> Plan:
    """Determine the saved values and the formulas for the inputs in `mask` that need a gradient."""
    rule = arguments.rule
    sequence = arguments.sequence >= 0
    flags = mask if sequence else tuple([bool(mask >> k & 1) for k in range(len(arguments.inputs))])
    formulas = []
    for formula in rule.vjps:
        positions = range(len(flags)) if sequence else [rule.inputs.index(n) for n in formula.inputs]
        if any([flags[p] for p in positions]):
            formulas.append((formula, tuple(positions)))
    positions = {name: slot_of(arguments, name) for formula, _ in formulas for name in formula.needs}
    for name, (kind, position) in positions.items():
        users = {positions for formula, positions in formulas if name in formula.needs}
        if kind == _SHAPE and position in arguments.inputs and users == {(arguments.inputs.index(position),)}:
            positions[name] = (_EDGE_SHAPE, arguments.inputs.index(position))
    for name in (*rule.keeps, *(rule.attributes[1] if rule.attributes else ())):
        if name not in positions:
            positions[name] = slot_of(arguments, name)
    names = sorted(positions, key=lambda name: positions[name][0] == _EDGE_SHAPE)
    slots = tuple([positions[name] for name in names])
    terms = [make_term(rule, formula, positions, names, is_complex) for formula, positions in formulas]
    plan = Plan(tuple(names), slots, tuple(terms), flags)
    plan.mask_is_sequence = sequence
    plan.input_numbers = [
        arguments.inputs.index(position) if kind == _INPUT and position in arguments.inputs and not sequence else -1
        for kind, position in slots
    ]
    plan.public_names = tuple([public_name(rule, name) for name in names])
    every = {name: slot_of(arguments, name)[0] for formula in rule.vjps for name in formula.needs}
    public = {public_name(rule, name) for name in every} - {None}
    plan.unused = tuple(sorted(public - set(plan.public_names)))
    plan.arrays = tuple(sorted({public_name(rule, name) for name in every if every[name] in _ARRAYS} - {None}))
    plan.overloads = frozenset([public_name(rule, name) for name in rule.nodes_with_number])
    plan.listed = tuple([name.removesuffix("[]") for name in rule.shown.values() if name and name.endswith("[]")])
    plan.attributes = rule.attributes
    plan.runs_once = rule.runs_once
    plan.undefined = rule.undefined
    plan.several_results = rule.outputs is not None
    plan.promotes = rule.kind == "elementwise" and rule.dtypes != "any"
    return plan


def public_name(rule, name):
    """Torch's name for a saved value: self for input, result for y, indices for y1 ...; or None."""
    if name in rule.shown:
        return rule.shown[name] and rule.shown[name].removesuffix("[]")
    if name == "needs" or name.endswith("_shapes"):
        return None
    if name == "y":
        return "result"
    if name[0] == "y" and name[1:].isdigit():
        return rule.outputs[int(name[1:])] if rule.outputs else "result" + name[1:]
    stem, is_shape = (name[: -len("_shape")], True) if name.endswith("_shape") else (name, False)
    stem = "self" if stem == "input" else rule.shown.get(stem, stem)
    return stem + "_sym_sizes" if is_shape else stem


def make_term(rule, formula, positions, names, is_complex) -> Term:
    """How one formula is called."""
    arguments = tuple([names.index(n) for n in formula.needs])
    elementwise = rule.kind == "elementwise"
    if elementwise and is_complex:
        return Term(formula.pull, positions, arguments, None, formula.native, formula.is_identity, True, 0)
    product = formula.call

    def on_numpy(*values):
        return product(_numpy_ops, *values)

    sign = formula.sign if elementwise else 0
    fused = Fused(on_numpy, (), elementwise and formula.takes_numbers)
    identity = elementwise and formula.is_identity
    is_elementwise = rule.is_elementwise and not is_complex
    return Term(product, positions, arguments, fused, formula.native, identity, is_elementwise, sign, formula.summed)


def slot_of(arguments, name):
    """The source of the parameter of a formula, as (kind, position)."""
    names = arguments.names
    if name == "y":
        return _RESULT, 0
    if name[0] == "y" and name[1:].isdigit():
        return _RESULT, int(name[1:])
    if name == "needs":
        return _NEEDS, 0
    if name in names:
        position = names.index(name)
        if position == arguments.sequence:
            return _SEQUENCE, position
        if name in arguments.rule.indices:
            return _INDICES, position
        return (_INPUT if position in arguments.array_positions else _PARAMETER), position
    for suffix, kind in (("_shape", _SHAPE), ("_dtype", _DTYPE)):
        stem = name[: -len(suffix)]
        if name.endswith(suffix) and stem in names:
            return kind, names.index(stem)
    if name.endswith("_shapes") and name[: -len("_shapes")] == arguments.rule.sequence:
        return _SEQUENCE_SHAPES, arguments.sequence
    raise TypeError(
        f"a formula of {arguments.name} asks for {name!r}; known are y, needs, {', '.join(names)} "
        "and an input's name with _shape or _dtype"
    )


if not cython.compiled:

    def entry_of(node, k):
        """The saved form of slot k; None once it is freed."""
        if k == 0:
            return node.saved0
        if k == 1:
            return node.saved1
        others = node.saved_others
        return None if others is None else others[k - 2]

    def set_entry(node, k, entry):
        """Replace the saved form of slot k."""
        if k == 0:
            node.saved0 = entry
        elif k == 1:
            node.saved1 = entry
        else:
            others = node.saved_others
            node.saved_others = (*others[: k - 2], entry, *others[k - 1 :])

    def free_entries(node):
        """Let go of the saved values."""
        node.freed = True
        node.saved0 = node.saved1 = node.saved_others = None

    # the values that fields of compiled classes have before they are set
    OpNode.saved0 = OpNode.saved1 = OpNode.saved_others = None
    OpNode.freed = False
    OpNode.versions = OpNode.plan = OpNode.counter = None
    OpNode.version = 0
    OpNode.half = False
