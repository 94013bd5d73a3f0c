"""Recording of an operation: which inputs need a gradient, and the node that saves the values for their formulas."""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import numpy

from adjoint.arrays.dtypes import is_half, numpy_dtype
from adjoint.core.graph import registry
from adjoint.core.operations.results import results_type
from adjoint.core.recorded import derive_plan, refuse_inference
from adjoint.runtime.forks import new_rlock

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.graph import (
        NO_VERSION,
        Node,
        TensorBase,
        counter_of,
        dtype_of,
        edge_of,
        gradient_edge,
        has_shape,
        ndim_of,
        needs_grad,
        new_node,
        next_sequence_nr,
        shape_of,
        version_of,
    )
    from adjoint.core.modes.state import current
    from adjoint.core.recorded import OpNode, Plan

_ndarray = numpy.ndarray
# classes of nodes are cached for fewer axes than this
_RANKS = 5
_FLOAT32, _FLOAT64 = numpy.dtype("float32"), numpy.dtype("float64")
# held while a class of results is made, or a member of a list is set
_making = new_rlock()


@cython.final
@cython.cclass
class Recorder:
    """Makes the nodes of an operation. tail: the arguments that calls of one or two tensors leave out."""

    def __init__(self, arguments, tail):
        self.rule = arguments.rule
        self.name = arguments.rule.name
        self.arguments = arguments
        self.tail = tail
        self.native = arguments.rule.native
        self.plans = {}
        self.real_plans = [None] * 4
        # classes of nodes and of named results are made when they are first needed, which spares time at import
        self.node_type = None
        self.results = None
        self.node, self.node_for = arguments.rule.node, arguments.rule.node_for
        self.numbered = [
            (self.arguments.names.index(n), node_name) for n, node_name in self.rule.nodes_with_number.items()
        ]
        self.node_types = {}
        self.ranked_types = [None] * (_RANKS * _RANKS)

    def mask(self, values):
        """The inputs that need a gradient: bit k for input k, or a tuple of bools for a sequence."""
        if self.arguments.sequence >= 0:
            flags = tuple([needs_grad(member) for member in values[self.arguments.sequence]])
            return flags if any(flags) and not self.is_left_out(values) else 0
        mask: cython.int = 0
        inference: cython.bint = False
        k: cython.int
        position: cython.Py_ssize_t
        for k in range(len(self.arguments.inputs)):
            position = self.arguments.inputs[k]
            value = values[position]
            if isinstance(value, TensorBase) and needs_grad(value):
                mask |= 1 << k
                inference |= cython.cast(TensorBase, value)._counter is NO_VERSION
        return 0 if inference and self.is_left_out(values) else mask

    def is_left_out(self, values):
        """True if all arrays among the arguments are inference tensors: then only a copy of them is recorded.

        A number or a raw array becomes a tensor without history, unless torch has an overload for it.
        """
        if self.rule.copies:
            return False
        for position, value in enumerate(values):
            for member in value if isinstance(value, (tuple, list)) else (value,):
                if isinstance(member, TensorBase):
                    if cython.cast(TensorBase, member)._counter is not NO_VERSION:
                        return False
                elif isinstance(member, _ndarray):
                    return False
            if isinstance(value, (int, float, complex)) and position in self.arguments.inputs:
                if self.arguments.names[position] not in self.rule.nodes_with_number:
                    return False
        return True

    def plan(self, mask, is_complex) -> Plan:
        """The plan for these inputs, derived once."""
        if not is_complex and self.arguments.sequence < 0 and mask < 4:
            return self.real_plan(mask)
        key = (mask, is_complex)
        plan = self.plans.get(key)
        if plan is None:
            plan = self.plans[key] = derive_plan(self.arguments, mask, is_complex)
        return plan

    def real_plan(self, mask) -> Plan:
        """The plan for real inputs among the first two."""
        plan = member_of(self.real_plans, mask)
        return set_once(self.real_plans, mask, derive_plan(self.arguments, mask, False)) if plan is None else plan

    def record(self, values: tuple, plan: Plan, half, out, result: TensorBase):
        """Make the node of a single result."""
        dtype = dtype_of(out) if type(out) is _ndarray else numpy_dtype(out.dtype)
        if not is_inexact(dtype):
            return
        node: OpNode = self.new_node(values, plan, half)
        node._ad_n_outputs = 1
        node._ad_shape = recorded_shape(out, node)
        node._ad_dtype = dtype
        node.save(values, result, None)
        if type(out) is not _ndarray and registry.cross is not None:
            self.cross(node, values)
        node._ad_sequence_nr = next_sequence_nr()
        result._node = node
        if current().unusual:
            node.finish(values)

    def record_quick(self, x, y, plan: Plan, out, result: TensorBase):
        """`record` for one or two inputs and a plan that saves only these and the result."""
        tensor: TensorBase = cython.cast(TensorBase, x if plan.needs_first else y)
        if tensor._counter is NO_VERSION and self.is_left_out([x, y]):
            return
        if not plan.is_simple:
            values = (x,) if y is None else (x, y)
            self.record(values + self.tail, plan, False, out, result)
            return
        node_type = self.node_type
        if node_type is None:
            node_type = self.node_type_for((x, y)) if y is None or self.native is None else self.ranked_type(x, y)
        node: OpNode = cython.cast(OpNode, new_node(node_type, OpNode))
        first: cython.int = 0
        second: cython.int = 0
        node.plan = plan
        node._ad_n_outputs = 1
        node._ad_n_edges = 1 if y is None else 2
        if plan.needs_first:
            tensor = cython.cast(TensorBase, x)
            node._ad_first = gradient_edge(tensor)
            first = tensor._output_nr
        if plan.needs_second:
            tensor = cython.cast(TensorBase, y)
            node._ad_second = gradient_edge(tensor)
            second = tensor._output_nr
        if first or second:
            node._ad_output_nrs = (first, second)
        node._ad_shape = recorded_shape(out, node)
        node._ad_dtype = dtype_of(out)
        if plan.saves_result:
            node.counter = counter_of(result)
            node.version = node.counter.value
        if plan.n_saved > 0:
            node.saved0 = self.quick_entry(node, plan.position0, x, y, result, 0)
        if plan.n_saved > 1:
            node.saved1 = self.quick_entry(node, plan.position1, x, y, result, 1)
        node._ad_sequence_nr = next_sequence_nr()
        result._node = node

    def quick_entry(self, node: OpNode, position, x, y, result: TensorBase, k):
        """The saved form of an input (position 0 or 1) or of the result (position 2), with the version of an input."""
        if position == 2:
            return result._array
        entry = x if position == 0 else y
        if isinstance(entry, TensorBase):
            version: cython.long = version_of(entry)
            if version:
                if version < 0:
                    refuse_inference(entry)
                node.versions = (version, 0) if k == 0 else (0 if node.versions is None else node.versions[0], version)
        return entry

    def record_several(self, values, plan: Plan, half, outs, tensors):
        """Make the node of several results."""
        flags = self.rule.differentiable or (True,) * len(outs)
        dtypes: list = [dtype_of(out) if type(out) is _ndarray else numpy_dtype(out.dtype) for out in outs]
        flags = [flag and is_inexact(dtype) for flag, dtype in zip(flags, dtypes)]
        if not any(flags):
            return
        node: OpNode = self.new_node(values, plan, half)
        node._ad_n_outputs = len(outs)
        node._ad_shape = tuple([out.shape for out in outs])
        node._ad_dtype = tuple(dtypes)
        if node._ad_n_outputs == 1:
            node._ad_shape, node._ad_dtype = node._ad_shape[0], node._ad_dtype[0]
        node.save(values, None, tensors)
        if registry.cross is not None and any([type(out) is not _ndarray for out in outs]):
            self.cross(node, values)
        node._ad_sequence_nr = next_sequence_nr()
        for nr, (tensor, flag) in enumerate(zip(tensors, flags)):
            if flag:
                tensor._node = node
                tensor._output_nr = nr
        if current().unusual:
            node.finish(values)

    def new_node(self, values: tuple, plan: Plan, half) -> OpNode:
        """A node with its plan and edges."""
        node_type = self.node_type
        if node_type is None:
            node_type = self.node_type_for(values)
        node: OpNode = new_node(node_type, OpNode)
        node.plan = plan
        node.half = half
        self.connect(node, plan, values[self.arguments.sequence] if self.arguments.sequence >= 0 else values)
        return node

    def node_type_for(self, values: tuple):
        """The class of the node for these arguments: torch names overloads for numbers in the place of tensors."""
        name = self.node if self.node_for is None else self.node_for(*values)
        for position, node_name in self.numbered:
            value = values[position]
            if value is not None and not isinstance(value, TensorBase):
                name = node_name
                break
        node_type = self.node_types.get(name)
        if node_type is None:
            doc = f"Recorded by {self.name}()."
            numbers = self.number_edges() if name in self.rule.nodes_with_number.values() else ()
            attributes = {"__doc__": doc, "__module__": "builtins", "_ad_numbers": numbers}
            node_type = self.node_types.setdefault(name, type(name, (OpNode,), attributes))
        if not self.numbered and self.node_for is None:
            self.node_type = node_type
        return node_type

    def number_edges(self):
        """The numbers of the edges of inputs that may be numbers with a node of their own in torch."""
        names = [self.arguments.names[position] for position in self.arguments.inputs]
        return tuple([i for i, name in enumerate(names) if name in self.rule.nodes_with_number])

    def ranked_type(self, x, y):
        """The class of the node for two Tensors, if it depends only on their numbers of axes."""
        first: cython.int = ndim_of(cython.cast(TensorBase, x)._array)
        second: cython.int = ndim_of(cython.cast(TensorBase, y)._array)
        if first >= _RANKS or second >= _RANKS:
            return self.node_type_for((x, y))
        rank: cython.int = _RANKS * first + second
        node_type = member_of(self.ranked_types, rank)
        if node_type is None:
            node_type = set_once(self.ranked_types, rank, self.node_type_for((x, y)))
        return node_type

    def connect(self, node: OpNode, plan: Plan, values: tuple):
        """Point a node to the nodes of the inputs that need a gradient, and note which outputs of theirs these are."""
        flags: tuple = plan.mask
        n: cython.Py_ssize_t = len(flags)
        tensor: TensorBase
        if n <= 2 and self.arguments.sequence < 0:
            nr: cython.int = 0
            node._ad_n_edges = n
            if flags[0]:
                tensor = values[self.arguments.first_input]
                node._ad_first = gradient_edge(tensor)
                nr = tensor._output_nr
            if n == 2 and flags[1]:
                tensor = values[self.arguments.inputs[1]]
                node._ad_second = gradient_edge(tensor)
                nr |= tensor._output_nr
            if nr == 0:
                return
        edges: list = []
        numbers: list = [0] * n
        for k in range(n):
            if not flags[k]:
                edges.append(None)
                continue
            tensor = values[k] if self.arguments.sequence >= 0 else values[self.arguments.inputs[k]]
            edges.append(gradient_edge(tensor))
            numbers[k] = tensor._output_nr
        node._ad_set_edges(tuple(edges))
        if any(numbers):
            node._ad_output_nrs = tuple(numbers)

    def cross(self, node: OpNode, values):
        """Adapt the edges to inputs without the batch, when other inputs are batched."""
        tensors = [values[n] for n in self.arguments.array_positions if n != self.arguments.sequence]
        inputs = [values[position] for position in self.arguments.inputs]
        if self.arguments.sequence >= 0:
            inputs = values[self.arguments.sequence]
            tensors.extend(inputs)
        registry.cross(node, inputs, [t for t in tensors if isinstance(t, TensorBase)])

    def named_results(self, tensors):
        """Several results under their names."""
        return tuple.__new__(self.results_type(), tensors)

    def results_type(self):
        """The class of several results."""
        if self.results is None:
            with _making:
                if self.results is None:
                    self.results = results_type(self.name, self.rule.outputs)
        return self.results


def set_once(members: list, i: cython.Py_ssize_t, value):
    """A member of a list, set to a value if it is None."""
    with _making:
        if members[i] is None:
            members[i] = value
        return members[i]


def is_inexact(dtype):
    """True for types that gradients have: floating point and complex."""
    if dtype is _FLOAT32 or dtype is _FLOAT64:
        return True
    kind: str = dtype.kind if hasattr(dtype, "kind") else numpy_dtype(dtype).kind
    return kind in "fc" or (kind not in "biu" and is_half(dtype))


if not cython.compiled:

    def member_of(members, i):
        """A member of a list that threads share."""
        return members[i]


def recorded_shape(out, node: OpNode):
    """The shape of a result; where an input's node has the same, its tuple is shared, which saves memory and time."""
    if type(out) is not _ndarray:
        return out.shape
    source: Node
    for i in range(node._ad_n_edges):
        source = edge_of(node, i)
        if source is not None and source._ad_n_outputs == 1 and has_shape(out, source._ad_shape):
            return source._ad_shape
    return shape_of(out)
