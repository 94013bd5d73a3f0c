"""Operations in place: the tensors that may be modified, and the history of a modified tensor.

`CopySlices` is the history of a base after one of its views was modified.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import weakref

import numpy

from adjoint.arrays.dtypes import numpy_dtype
from adjoint.arrays.libraries.numpy_namespace import elements_meet
from adjoint.arrays.namespace import copy, library_of
from adjoint.core import errors
from adjoint.core.graph import registry

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.graph import (
        MOST_BITS,
        NO_VERSION,
        AccumulateGrad,
        ContextNode,
        Extras,
        Node,
        TensorBase,
        View,
        bump_version,
        carry_retained,
        dtype_of_grad,
        edge_of,
        gradient_edge,
        needs_grad,
        new_tensor,
        next_sequence_nr,
        node_of,
        output_number,
        replay_view,
        version_of,
        view_of_base,
    )
    from adjoint.core.modes.state import ThreadState, current
    from adjoint.core.recorded import OpNode, name_in_place, raw_ops


def check_writable(tensor: TensorBase):
    """Raise if a tensor must not be modified in place; otherwise call the functions that observe modifications."""
    state: ThreadState = current()
    if tensor._counter is NO_VERSION and not state.inference:
        raise errors.INFERENCE_IN_PLACE.error()
    view: View = tensor._view
    if view is not None and view.origin == errors.SEPARATE:
        raise RuntimeError(errors.SEPARATE_IN_PLACE.format(library=library_of(tensor._array)))
    for hook in state.before_write:
        hook(tensor)


def check_current(tensor: TensorBase):
    """Raise for a former view of a tensor that has been modified since, if their arrays share no memory."""
    view: View = tensor._view
    if view is not None and view.origin == errors.SEPARATE and view.version != version_of(tensor):
        raise RuntimeError(errors.SEPARATE_STALE.format(library=library_of(tensor._array)))


def copy_with_history(tensor: TensorBase) -> TensorBase:
    """A copy of a tensor's value, with its history, made before an operation in place overwrites it."""
    twin: TensorBase = new_tensor(copy(tensor._array))
    twin._node = node_of(tensor)
    twin._output_nr = tensor._output_nr
    if tensor._tangents is not None:
        registry.copy_tangents(tensor, twin)
    return twin


def rebase(tensor: TensorBase, node: Node, input_index: cython.Py_ssize_t = 0, output_nr: cython.int = 0):
    """Make `node` the history of a tensor that was modified in place, and of its base if it is a view.

    input_index: which input of the node the tensor was; output_nr: which output it is.
    """
    succeed(tensor, node, successor(tensor, node, input_index), output_nr)


def successor(tensor: TensorBase, node: Node, input_index: cython.Py_ssize_t) -> Node:
    """The next history of the base when `node` modifies one of its views; None for a tensor that is no view.

    It allocates all memory, so that `succeed` cannot fail after the write.
    """
    view: View = None if tensor._view is None else view_of_base(tensor)
    if view is None:
        return None
    base: TensorBase = view.base
    whole: CopySlices = CopySlices.__new__(CopySlices)
    old: Node = gradient_edge(base) if needs_grad(base) else None
    edges = list(node._ad_edges)
    numbers = [output_number(node, i) for i in range(node._ad_n_edges)]
    edges[input_index] = old
    numbers[input_index] = base._output_nr if old is not None else 0
    whole._ad_set_edges(tuple(edges))
    whole._ad_output_nrs = tuple(numbers)
    whole._ad_n_outputs = 1
    whole._ad_shape = base._array.shape
    whole._ad_dtype = numpy_dtype(base._array.dtype)
    whole.replay = view.replay
    whole.strides = own_strides(base._array)
    whole.is_shared = whole.strides is None and is_shared(base._array)
    if isinstance(node, OpNode):
        extras: Extras = node._ad_own_extras()
        extras.owner = weakref.ref(whole)
    else:
        # a custom function declared the view dirty
        cython.cast(ContextNode, node)._ad_owner = weakref.ref(whole)
    whole.inner = node
    whole.input_index = input_index
    whole._ad_sequence_nr = next_sequence_nr()
    return whole


def succeed(tensor: TensorBase, node: Node, whole: Node, output_nr: cython.int):
    """Set the history of a tensor modified in place to `node`, and the history of its base to `successor`."""
    if whole is None:
        before: Node = tensor._node
        number = tensor._output_nr
        tensor._node = node
        tensor._output_nr = output_nr
        tensor._requires = False
        carry_retained(tensor, before, number)
        return
    view: View = tensor._view
    base: TensorBase = view.base
    before = base._node
    number = base._output_nr
    base._node = whole
    base._output_nr = 0
    base._requires = False
    # the view's own node is computed from this one of the base at first use
    view.rewritten = whole
    view.rewritten_at = version_of(tensor)
    view.version = -1
    carry_retained(base, before, number)


def become(tensor: TensorBase, view: TensorBase):
    """Let a tensor be a view of it that an operation gave: other axes, the same memory and place in the graph."""
    old: View = tensor._view
    if old is not None and old.rewritten is not None:
        # the new view does not know of the write through the old one
        node_of(tensor)
    before: Node = tensor._node
    number = tensor._output_nr
    tensor._array = view._array
    if tensor._view is not None:
        view._view.origin = tensor._view.origin
        tensor._view = view._view
    if view._node is not None:
        name_in_place(view._node)
        tensor._node = view._node
        tensor._output_nr = view._output_nr
        tensor._requires = False
        carry_retained(tensor, before, number)
    elif tensor._accumulator is not None:
        reshape_accumulator(tensor)
    bump_version(tensor)
    if tensor._view is not None and view._node is not None:
        tensor._view.version = version_of(tensor)


def reshape_accumulator(leaf: TensorBase):
    """Adapt the accumulator of a leaf that got another array: a new one for a new shape, else a new dtype."""
    node: AccumulateGrad = leaf._accumulator()
    if node is None:
        return
    node._ad_dtype = dtype_of_grad(leaf)
    if node._ad_shape != leaf._array.shape:
        leaf._accumulator = None


def own_strides(array):
    """The strides of an array in elements, or None if it is row-major.

    Returns None also if elements overlap in memory, since a copy could not represent that.
    """
    strides = getattr(array, "strides", None)
    if strides is None or array.flags.c_contiguous or is_shared(array):
        return None
    return tuple([step // array.itemsize for step in strides])


def is_shared(array):
    """True if elements of an array overlap in memory."""
    return hasattr(array, "strides") and not array.flags.c_contiguous and elements_meet(array)


@cython.trashcan(True)
@cython.cclass
class CopySlices(Node):
    """The new history of a base after one of its views was modified in place.

    Cotangents of the base pass through the in-place operation's node inside the view, and unchanged outside it.
    input_index: the position of the view among the inputs of that node. is_shared: elements of the base share memory,
    so one operation wrote to several of them through the view; a cotangent cannot be split among them.
    """

    def name(self):
        """The documented name of this node, or the name of the function that wrote into its own copy."""
        return self.label or "torch::autograd::CopySlices"

    def part(self) -> TensorBase:
        """A Tensor with the history, but not the values, that the view has after the operation."""
        empty = numpy.broadcast_to(numpy.zeros((), self._ad_dtype), self._ad_shape)
        whole: TensorBase = new_tensor(raw_ops(empty).clone_with_strides(empty, self.strides))
        whole._node = self
        return replay_view(self.replay, whole)

    def _ad_pull(self, cotangent, create_graph, edges):
        """Split the base's cotangent between the inputs of the operation and the old base."""
        if self.freed:
            raise errors.freed_error(self.inner)
        if self.is_shared:
            raise RuntimeError(errors.OVERLAP)
        ops = registry.tensor_ops if create_graph else raw_ops(cotangent)
        # the copy has the layout of the base, so that every view of the base is a view of it
        whole = ops.clone_with_strides(cotangent, self.strides)
        part = replay_view(self.replay, whole)
        part_cotangent = ops.clone(part) if create_graph else raw_ops(part).clone(part)
        own_edge = cython.cast(cython.longlong, 1) << min(self.input_index, MOST_BITS)
        pulled = self.inner._ad_pull(part_cotangent, create_graph, edges | own_edge)
        input_gradient = pulled[self.input_index]
        if create_graph:
            # overlapping elements of the part have all received one value
            part.zero_() if input_gradient is None or elements_meet(part._array) else part.copy_(input_gradient)
        else:
            part[...] = 0 if input_gradient is None else input_gradient
        pulled[self.input_index] = whole if edge_of(self, self.input_index) is not None else None
        return pulled

    def _ad_saved_items(self) -> list:
        """The values that the in-place operation saves."""
        return [] if self.freed else self.inner._ad_saved_items()

    def _ad_runs_once(self):
        """True if the node is freed when it has run."""
        return self.label is None

    def _ad_is_freed(self):
        """True if the saved values were freed."""
        return self.freed

    def _ad_release(self):
        """Free the saved values. As in torch, this node can then run no more, except for a custom function."""
        self.inner._ad_release()
        self.freed = self.label is None


if not cython.compiled:
    # the values that fields of compiled classes have before they are set
    CopySlices.inner = CopySlices.replay = CopySlices.strides = CopySlices.label = None
    CopySlices.input_index = 0
    CopySlices.is_shared = CopySlices.freed = False
