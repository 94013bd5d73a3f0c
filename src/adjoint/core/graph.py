"""The graph: tensors, the nodes that computed them, and the values that nodes save for the backward pass.

A `Node` represents one recorded operation. Its edges lead to the nodes of the operation's inputs, so that the graph
points from results to leaves, the way cotangents flow. A leaf's edge leads to an `AccumulateGrad`, the node that adds
to `.grad`. The invariants that hold here are listed in this folder's README.
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import itertools
import weakref
from typing import NamedTuple

import numpy

from adjoint.arrays.dtypes import NUMPY_TYPES, by_numpy, float64, from_numpy_dtype, kind_of, numpy_dtype
from adjoint.arrays.namespace import astype, copy, library_of, namespace, underlying
from adjoint.arrays.shapes import sum_to
from adjoint.arrays.size import Size, device
from adjoint.core import errors
from adjoint.core.hooks import RETAIN, HookTable, RemovableHandle, first_use
from adjoint.core.locations import caller
from adjoint.core.operations.naming import QUALIFIED_NODES
from adjoint.runtime.forks import new_rlock
from adjoint.runtime.memory import with_kept_memory
from adjoint.runtime.once import warn_caller, warn_once

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.arrays.kernels.products_and_sums import add_into, summed_to
    from adjoint.core.modes.state import Level, ThreadState, current, thread_is_inferring

_ndarray, _FLOAT64 = numpy.ndarray, float64.numpy
if cython.compiled:
    adj_slice_by_c(Size)
_accumulation = new_rlock()
# looked up before: a block of `with` takes memory at its end, without which the lock would stay locked
_begin_accumulation, _end_accumulation = _accumulation.acquire, _accumulation.release
_CPU = device("cpu")
# the sequence number of leaves, which come before everything else
_LAST = 2**64 - 1


# declarations of the floors above -------------------------------------------------------------------------------------


class Registry:
    """Declarations of the floors above, made at import: the class of tensors, the namespace of tensor operations."""

    tensor_type: type = type(None)
    tensor_ops: object = None
    # forward mode: asking for a tangent
    tangent_of: object = None
    has_tangent: object = None
    copy_tangents: object = None
    # the result of an operation, and of any function, whose arguments belong to classes with `__torch_function__`;
    # whether there are objects of such classes that are no subclasses of Tensor; whether these get an operation to
    # see; the number of subclasses
    override: object = None
    dispatch: object = None
    has_foreign: object = None
    is_public: object = None
    overriding: int = 0
    # public functions by namespace and name
    functions: object = None
    # the signatures of an operation's function and method, from its rule
    signature_of: object = None
    method_signature_of: object = None
    # the types in a signature, from the operation
    hints_of: object = None
    # the help of an operation, of its method and of that in place
    help_of: object = None
    help_of_method: object = None
    help_of_method_in_place: object = None
    # whether a tensor that escaped from a differentiated function still needs a gradient
    is_followed: object = None
    # vmap: edges of a node with batched inputs, the nodes that vmap inserts into them, and formulas that sum at once
    cross: object = None
    crossing: object = None
    pull_summed: object = None


registry = Registry()


class InputMetadata(NamedTuple):
    """Shape and dtype of a cotangent, known before it arrives."""

    shape: tuple
    dtype: object
    device: object
    is_nested_tensor: bool = False
    is_cpp_nested_tensor: bool = False


class Tangents(dict):
    """The tangents of a tensor by the number of the level, shared with the nodes that saved the tensor.

    origins: for a view of a primal without its tangent, by level: this primal, and the steps from it to the view.
    """

    __slots__ = ("__weakref__", "origins")
    # weak references to two of them differ, whatever they contain
    __hash__ = object.__hash__  # type: ignore[assignment]


def set_tensor_type(tensor_type: type, native: type, tensor_ops: object) -> None:
    """Set the class of results, the last compiled class among its bases, and the namespace of formulas on Tensors."""
    global _tensor_type, _native_tensor
    _tensor_type = registry.tensor_type = tensor_type
    _native_tensor = native
    registry.tensor_ops = tensor_ops


_tensor_type = _native_tensor = registry.tensor_type
# the number of subclasses of Tensor, and of blocks, that override the results of operations
_overriding = 0


def count_overriding() -> None:
    """Count one more subclass, or block, that overrides the results of operations."""
    global _overriding
    _overriding += 1
    registry.overriding += 1


def overrides(value) -> bool:
    """True for a tensor whose results its class, or a block, overrides, except while such an override runs."""
    if not _overriding or not isinstance(value, TensorBase):
        return False
    state: ThreadState = current()
    if state.plain_results:
        return False
    return bool(state.function_modes) or (type(value) is not _tensor_type and value._overrides)


def any_overrides(values) -> bool:
    """True if one of these, or a member of a sequence among them, has a class with an override, or a block has one."""
    state: ThreadState = current()
    if state.plain_results:
        return False
    if state.function_modes:
        return True
    for value in values:
        if overrides(value):
            return True
        if isinstance(value, (tuple, list)):
            for member in value:
                if overrides(member):
                    return True
    return False


# The functions of (operation, arguments, in place) that compose operations on arrays of their types of others
_composers: dict = {}
_composing = 0


def compose_operations(kind: type, function: object) -> None:
    """Let a function carry out operations on tensors around arrays of a type; it returns NotImplemented for others."""
    global _composing
    _composers[kind] = function
    _composing += 1


def compose(operation, values, in_place):
    """The result of an operation that is composed of others for one of these arguments; else NotImplemented."""
    for value in values:
        for member in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(member, TensorBase):
                function = _composers.get(type(cython.cast(TensorBase, member)._array))
                if function is not None:
                    return function(operation, values, in_place)
    return NotImplemented


# tensors, their versions and views ------------------------------------------------------------------------------------


@cython.final
@cython.freelist(64)
@cython.cclass
class VersionCounter:
    """Counts the modifications of a piece of memory; shared by a tensor and all its views.

    lines: the line of the user's code that made each version, {version: location}, while locations are recorded.
    storage: the array of the tensor that owns the memory, if detach() hid that tensor.
    """


@cython.final
@cython.freelist(64)
@cython.cclass
class View:
    """The steps from a base to its view; they recompute the view's history after the base was modified.

    base: the tensor that owns the memory; never a view itself.
    replay: the steps from the base to the view: () for the base itself, otherwise (replay of the viewed tensor,
    (operation, arguments after the tensor, number of the output or None)). Views of a view share the first steps.
    version: the version of the memory for which the view's grad_fn holds.
    rewritten, rewritten_at: the history that the base got when this view was modified, and the version after that. The
        view's own node is computed from it at first use, also after changes of the base.
    origin: None, or the reason why the view must not be modified in place while recording: "no_grad", "inference",
        "multi_output", "custom" or "custom_outputs" for custom functions, or errors.SEPARATE if the arrays share no
        memory.
    layout: the base's array when the view was made; a reshape of the base in place gives the base another array.
    """


@cython.cclass
class TensorBase:
    """The part of a tensor that the core uses: its array, its node in the graph, its version and its gradient."""

    @property
    def shape(self) -> Size:
        """The lengths of the axes.

        A Size, which is a tuple of ints with numel().

        >>> import adjoint
        >>> adjoint.ones(2, 3).shape
        adjoint.Size([2, 3])
        """
        array = self._array
        return size_of(array) if type(array) is _ndarray else Size(array.shape)

    @property
    def dtype(self):
        """The type of the elements.

        One of adjoint's dtypes, such as adjoint.float32; see promote_types() for the dtypes of results.

        >>> import adjoint
        >>> adjoint.tensor([1, 2]).dtype
        adjoint.int64
        """
        kind = dtype_of(self._array) if type(self._array) is _ndarray else self._array.dtype
        if kind is _FLOAT64:
            return float64
        return by_numpy[kind] if type(kind) in NUMPY_TYPES else from_numpy_dtype(kind)

    @property
    def ndim(self) -> int:
        """The number of axes.

        0 for a tensor of one number.

        >>> import adjoint
        >>> adjoint.ones(2, 3).dim()
        2
        """
        return ndim_of(self._array) if type(self._array) is _ndarray else self._array.ndim

    @property
    def requires_grad(self) -> bool:
        """Is True if gradients need to be computed for this Tensor, False otherwise.

        Can be set for leaves of floating-point and complex dtypes.
        """
        return needs_grad(self)

    @requires_grad.setter
    def requires_grad(self, value):
        if value is not True and value is not False:
            raise RuntimeError(errors.REQUIRES_GRAD_NO_BOOL)
        if not is_leaf_tensor(self):
            raise RuntimeError(errors.REQUIRES_GRAD_OF_NON_LEAF if not value else errors.REQUIRES_GRAD_OF_NON_LEAF_ON)
        if value and not errors.is_differentiable(from_numpy_dtype(self._array.dtype)):
            raise RuntimeError(errors.REQUIRES_GRAD_DTYPE_SETTER)
        if value and self._counter is NO_VERSION and not thread_is_inferring():
            raise errors.REQUIRES_GRAD_OF_INFERENCE.error()
        self._requires = value

    @requires_grad.deleter
    def requires_grad(self):
        raise RuntimeError(errors.REQUIRES_GRAD_NO_BOOL)

    @property
    def is_leaf(self) -> bool:
        """True for tensors made by the user, and by convention for all that do not require a gradient.

        Gradients accumulate in leaves only, and in tensors with `retain_grad`.
        """
        return is_leaf_tensor(self)

    @property
    def grad_fn(self):
        """The node that made this tensor, or None for a leaf.

        Its `next_functions` are the nodes of the operation's inputs.
        """
        return node_of(self)

    @property
    def output_nr(self) -> int:
        """The number of this tensor among the outputs of its node.

        It is 0 unless the operation has several results.
        """
        return self._output_nr

    @property
    def _version(self) -> int:
        if self._counter is NO_VERSION:
            raise RuntimeError(errors.INFERENCE_VERSION)
        return version_of(self)

    def is_inference(self) -> bool:
        """True for a tensor that was made in inference mode.

        It takes no part in a graph, and its memory has no version.
        """
        return self._counter is NO_VERSION

    @property
    def _base(self):
        return self._view.base if self._is_view() else None

    def _is_view(self) -> bool:
        # inference tensors keep no account of who shares their memory
        return self._view is not None and self._counter is not NO_VERSION

    @property
    def grad(self):
        """None until the first backward pass reaches this leaf, then the sum of all gradients so far.

        Setting it to None, or to a tensor of the same shape, dtype and device, begins anew.
        """
        gradient = gradient_of(self)
        if gradient is None and (self._node is not None or self._view is not None):
            warn_of_missing_grad(self)
        return gradient

    @grad.setter
    def grad(self, value):
        if value is not None:
            errors.check_assigned_grad(self, value)
            note_foreign_layout(value._array, self._array)
        note_gradient(self)
        set_gradient(self, value)

    @grad.deleter
    def grad(self):
        note_gradient(self)
        set_gradient(self, None)

    @property
    def grad_dtype(self):
        """The dtype that gradients of this leaf are cast to, its own unless another is set; None for any.

        Raises RuntimeError for a tensor that is not a leaf, and where there is a gradient of another dtype already.
        """
        if not is_leaf_tensor(self):
            raise RuntimeError(errors.GRAD_DTYPE_OF_NON_LEAF.format(done="accessed"))
        kind = dtype_of_grad(self)
        return None if kind is None else from_numpy_dtype(kind)

    @grad_dtype.setter
    def grad_dtype(self, value):
        errors.check_grad_dtype(self, value)
        self._grad_dtype = errors.ANY_DTYPE if value is None else value.numpy
        node: Node = accumulator_at(self)
        if node is not None:
            node._ad_dtype = dtype_of_grad(self)

    @property
    def retains_grad(self) -> bool:
        """True for a tensor that is not a leaf and keeps its gradient all the same.

        See `retain_grad`.
        """
        return self._retain is not None and self._retain is node_of(self)


# saved values ---------------------------------------------------------------------------------------------------------


@cython.final
@cython.freelist(64)
@cython.cclass
class SavedTensor:
    """A saved value that is no plain input tensor: a result of its own node, or a value that hooks have packed.

    Holds array, counter and version, never the tensor that owns the node, so no cycle goes through the graph. `node`
    and `output_nr` say where the value came from. For a result this is the node that saved it, and `node` is empty.
    original: the input itself, if holding it makes no cycle.
    packed, unpack_hook: the value that a pack hook returned, and the hook that unpacks it; array is None then.
    freed: the node has run and dropped it.
    """

    def __init__(self):
        raise RuntimeError(errors.SAVED_TENSOR_MADE)

    def register_hooks(self, pack_hook, unpack_hook):
        """Replace the saved value by the result of `pack_hook(tensor)`; `unpack_hook` turns it into a tensor again.

        Raises RuntimeError if there are hooks already, if the value is None or was freed.
        """
        errors.check_saved_hooks(self, pack_hook, unpack_hook)
        tensor: TensorBase = new_tensor(self.array)
        tensor._counter = self.counter
        pack_saved(self, tensor, pack_hook, unpack_hook)


# nodes ----------------------------------------------------------------------------------------------------------------


def input_metadata(shape, dtype):
    """Shape and dtype of one output of a node; None if a custom function returned an object that is no tensor."""
    if shape is None:
        return None
    return InputMetadata(Size(shape), None if dtype is None else from_numpy_dtype(dtype), _CPU)


@cython.cclass
class Slot:
    """The notes of one backward pass about one node: the number of consumers to come, the sum so far, and marks."""


@cython.final
@cython.cclass
class Extras:
    """The rare fields of a node, kept apart so that most nodes need no memory for them.

    notes: the user's metadata. tensor_hooks: hooks of the outputs, one table for each output number. pre_hooks,
    post_hooks: hooks of the node. owner: weak reference to the history of the base, if the operation modified a view in
    place. tangents: tangents of the results, by output number. number: the node's own sequence number, if a user has
    set another one, else 0.
    """


@cython.trashcan(True)
@cython.cclass
class Node(Slot):
    """One recorded operation.

    _ad_edges: the nodes of the inputs, None where no gradient is needed; _ad_output_nrs: which output of each it was,
    None if all are 0. _ad_shape, _ad_dtype: of the output (tuples of them where _ad_n_outputs is not 1).
    _ad_sequence_nr: later is larger, across all threads, so descending order is a valid order for the backward pass.
    The context of a custom function is a node, and users may set any attribute on it. So all names here and in `Slot`
    that PyTorch does not have begin with _ad_.
    """

    def __init__(self):
        raise TypeError(f"cannot create {type(self).__name__!r} instances")

    def __reduce_ex__(self, protocol):
        raise TypeError(f"cannot pickle {type(self).__name__!r} object")

    @property
    def _ad_edges(self) -> tuple:
        """The nodes of the inputs, None where no gradient is needed."""
        return tuple([edge_of(self, i) for i in range(self._ad_n_edges)])

    def _ad_own_extras(self) -> Extras:
        """The node's `Extras`, made at the first use."""
        if self._ad_extras is None:
            extras: Extras = Extras.__new__(Extras)
            with first_use:
                if self._ad_extras is None:
                    if cython.compiled:
                        adj_publish()
                    self._ad_extras = extras
        return self._ad_extras

    def _ad_set_edges(self, nodes: tuple):
        """Set the edges to the nodes of the inputs. Most nodes have one or two, which need no tuple."""
        self._ad_n_edges = len(nodes)
        self._ad_first = nodes[0]
        if self._ad_n_edges > 1:
            self._ad_second = nodes[1]
        if self._ad_n_edges > 2:
            self._ad_others = nodes[2:]

    def _ad_pull(self, cotangent, create_graph, edges):
        """The cotangents of the inputs, one for each edge, each with the shape and dtype of its edge.

        edges: which edges lead to something that the pass asks for, as bits (`has_edge`); others may get None.
        `cotangent` is one value, or a list with None for undefined ones where n_outputs is not 1; values are raw
        arrays, or Tensors if create_graph is true.
        """
        raise RuntimeError(
            f"{type(self).__name__} has no _ad_pull(): define it, to return the cotangents of the inputs"
        )

    def _ad_saved_items(self) -> list:
        """The values that the node saves, as (name, Tensor, array or `SavedTensor`) pairs, not unpacked."""
        return []

    def _ad_map_saved(self, function):
        """Replace each saved array by function(array)."""

    def _ad_runs_once(self):
        """True if the node cannot run again once its saved values are freed."""
        return False

    def _ad_is_freed(self):
        """True if the saved values were freed, so that the node cannot run."""
        return False

    def _ad_release(self):
        """Free the saved values."""

    @property
    def next_functions(self) -> tuple:
        """The nodes of the inputs and the number of the output that each input was, as (node, number) pairs."""
        return tuple([(edge_of(self, i), output_number(self, i)) for i in shown_edges(self)])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def name(self) -> str:
        """The name of the node, such as 'MulBackward0'."""
        name = type(self).__name__
        return QUALIFIED_NODES.get(name, name)

    @property
    def metadata(self) -> dict:
        """A dictionary for the user's own notes on this node."""
        extras: Extras = self._ad_own_extras()
        if extras.notes is None:
            notes = {}
            with first_use:
                if extras.notes is None:
                    extras.notes = notes
        return extras.notes

    @property
    def requires_grad(self) -> bool:
        """Always True: only operations that need a gradient are recorded."""
        return True

    @property
    def _input_metadata(self) -> tuple:
        """Shape and dtype of the cotangents that the node receives, for each output of its operation."""
        numbers = range(self._ad_n_outputs)
        return tuple([input_metadata(output_shape(self, nr), output_dtype(self, nr)) for nr in numbers])

    def register_hook(self, fn) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after the node has run; a returned tuple replaces grad_inputs."""
        extras: Extras = self._ad_own_extras()
        if extras.post_hooks is None:
            table = HookTable()
            with first_use:
                if extras.post_hooks is None:
                    extras.post_hooks = table
        return RemovableHandle(extras.post_hooks, fn)

    def register_prehook(self, fn) -> RemovableHandle:
        """Call `fn(grad_outputs)` before the node runs; a returned tuple replaces grad_outputs."""
        extras: Extras = self._ad_own_extras()
        if extras.pre_hooks is None:
            table = HookTable()
            with first_use:
                if extras.pre_hooks is None:
                    extras.pre_hooks = table
        return RemovableHandle(extras.pre_hooks, fn)

    def __call__(self, *cotangents):
        """The cotangents of the inputs, without hooks; recorded if gradients are.

        A node with one input returns one cotangent, others return a tuple; an undefined cotangent is None. Raises
        TypeError for a wrong number of cotangents, and for an object that is no Tensor.
        """
        if len(cotangents) != self._ad_n_outputs:
            raise TypeError(f"expected {self._ad_n_outputs} arguments, got {len(cotangents)} instead")
        for nr, cotangent in enumerate(cotangents):
            if cotangent is not None and not isinstance(cotangent, TensorBase):
                raise TypeError(f"argument {nr} is not a Variable")
        if all([cotangent is None for cotangent in cotangents]):
            results = [None] * self._ad_n_edges
            recorded = True
        else:
            recorded = current().grad_enabled
            values = list(cotangents) if recorded else [None if c is None else c._array for c in cotangents]
            results = self._ad_pull(values[0] if len(values) == 1 else values, recorded, ALL_EDGES)
        results = [results[i] for i in shown_edges(self)]
        pulled = [c if recorded or c is None else new_tensor(c) for c in results]
        return pulled[0] if len(pulled) == 1 else tuple(pulled)

    def _register_hook_dict(self, tensor):
        """Call the hooks of a tensor with the cotangent that this node receives for the tensor's output number."""
        if not isinstance(tensor, TensorBase):
            raise TypeError("_register_hook_dict expected a variable")
        number = tensor._output_nr
        hooks = hooks_of(tensor)
        if hooks is None:
            raise ValueError("_register_hook_dict expected a variable with hooks: call its register_hook() first")

        def call(received):
            values = list(received)
            for hook in list(hooks.values()):
                replacement = hook(values[number])
                if replacement is not None:
                    values[number] = replacement
            return tuple(values)

        self.register_prehook(call)

    def _sequence_nr(self) -> int:
        return self._ad_sequence_nr

    def _set_sequence_nr(self, number):
        """Set the sequence number; nodes with larger numbers run first."""
        if not isinstance(number, int):
            raise TypeError("an integer is required")
        if number < 0:
            raise OverflowError("can't convert negative int to unsigned")
        if number > _LAST:
            raise OverflowError("int too big to convert")
        extras: Extras = self._ad_own_extras()
        if extras.number == 0:
            extras.number = self._ad_sequence_nr
        self._ad_sequence_nr = number

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return adj_address(self) if cython.compiled else id(self) >> 4

    def __lt__(self, other):
        # heapq pops the least: the latest node comes first
        first: Node = self
        second: Node = other
        return first._ad_sequence_nr > second._ad_sequence_nr


@cython.cclass
class FunctionNode(Node):
    """A node of one output whose way back is a Python function of (node, cotangent, create_graph)."""

    def _ad_pull(self, cotangent, create_graph, edges):
        """The result of the function for the cotangent."""
        return self.function(self, cotangent, create_graph)


@cython.trashcan(True)
@cython.cclass
class ContextNode(Node):
    """A node of a custom function. A subclass in Python defines `_ad_pull_back` and `_ad_free`, which `_ad_pull` and
    `_ad_release` call.

    It runs also without any cotangent, since the function decides how to treat that. The fields hold the declarations
    of a function while it runs, and the values that it saves.

    to_save, saved_for_forward, dirty_tensors, non_differentiable: the declarations, held only while the function runs.
    The rest without _ad_: saved: the saved form of to_save, `SavedTensor` or None; freed, cleared: the reason why they
    are missing.
    places: for each edge the position of its argument; n_arguments: their number.
    keeps_undefined: undefined cotangents and tangents stay None; undefined_integers: cotangents of results without
        gradient stay None.
    grad_dtypes: the declared dtypes of cotangents, None for any dtype.
    model: an array like the results, if these are not NumPy's. tangents: tangents of the results, by output number.
    owner: weak reference to the history of the base, if a view was modified in place. in_jvp: the jvp is running.
    """

    def __init__(self):
        """An empty context, which no function was run with."""

    def __call__(self, *cotangents):
        raise TypeError(f"{type(self).__name__!r} object is not callable")

    def _ad_pull(self, cotangent, create_graph, edges):
        """The cotangents that the function's backward returns."""
        return self._ad_pull_back(cotangent, create_graph)

    def _ad_map_saved(self, function):
        """Replace each saved array by function(array)."""
        saved: SavedTensor
        for saved in self._ad_saved or ():
            if saved is not None:
                saved.array = function(saved.array)

    def _ad_runs_once(self):
        """True if the function saved Tensors."""
        return bool(self._ad_saved)

    def _ad_is_freed(self):
        """True if the function's saved Tensors were freed."""
        return self._ad_freed

    def _ad_release(self):
        """Free the values that the function saved."""
        self._ad_free()


@cython.final
@cython.cclass
class AccumulateGrad(Node):
    """Adds cotangents to the gradient of its leaf.

    It has the leaf's shape at the time of recording. If the leaf gets another shape, later operations use a new node.
    """

    def name(self) -> str:
        """The name that the documents give this node."""
        return "torch::autograd::AccumulateGrad"

    def _ad_pull(self, cotangent, create_graph, edges):
        """Add to the leaf's .grad: by reference or into a copy the first time, in place later on."""
        leaf: TensorBase = self.variable
        if leaf._view is not None and node_of(leaf) is not None:
            raise RuntimeError(errors.LEAF_IN_INTERIOR)
        if not leaf._requires:
            # switched off since
            return []
        before: TensorBase = gradient_of(leaf)
        fits(cotangent._array if create_graph else cotangent, leaf._array if before is None else before._array)
        if _foreign_layouts is not None and before is not None:
            warn_of_layout(before._array, leaf._array)
        if create_graph:
            like = leaf._array if before is None else before._array
            laid_out = registry.tensor_ops.clone_with_strides(cotangent, gradient_strides(like), True)
            set_gradient(leaf, laid_out if before is None else before + laid_out)
        else:
            # NumPy lets other threads run while it adds; no user's code runs under this lock, but for finalizers
            _begin_accumulation()
            try:
                before = gradient_of(leaf)
                if before is None:
                    set_gradient(leaf, new_tensor(fit_layout(cotangent, leaf._array)))
                else:
                    add_in_place(before, cotangent)
            finally:
                _end_accumulation()
        return []


# gradients of leaves: their dtypes and their layout -------------------------------------------------------------------


def fits(cotangent, array):
    """Raise RuntimeError for a cotangent of another shape than its leaf has, whose data was replaced since."""
    if type(cotangent) is _ndarray and type(array) is _ndarray and has_shape(cotangent, shape_of(array)):
        return
    if cotangent.shape != array.shape:
        errors.check_broadcast([array, cotangent])
        raise RuntimeError(errors.other_shape(array.shape, cotangent.shape))


def warn_of_missing_grad(tensor: TensorBase):
    """Warn the user who reads .grad of a tensor that is no leaf and does not retain its gradient."""
    try:
        node = node_of(tensor)
    except RuntimeError:
        # the history of this view cannot be made again; to ask for a gradient that is not there is no use of it
        node = tensor._node
    if node is not None and tensor._retain is not node:
        warn_caller(errors.GRAD_OF_NON_LEAF)


# True once an assigned gradient lay in memory otherwise than its leaf
_foreign_layouts = None


def note_foreign_layout(gradient, array):
    """Remember that an assigned gradient has other strides than a backward pass would give it."""
    global _foreign_layouts
    if type(gradient) is _ndarray and type(array) is _ndarray and not obeys_layout(gradient, array):
        _foreign_layouts = True


def obeys_layout(gradient, array):
    """True if a gradient has the strides that a backward pass would give it."""
    strides = dense_strides(array)
    if strides is None or array.flags.c_contiguous:
        return gradient.flags.c_contiguous
    return gradient.strides == strides


def warn_of_layout(gradient, array):
    """Warn once, when a gradient is added to one with other strides than its leaf, that this may be slow."""
    state: ThreadState = current()
    if state.enforce_layout and type(gradient) is _ndarray and not obeys_layout(gradient, array):
        warn_once(errors.other_layout(gradient, array), key="gradient layout")


def gradient_strides(array):
    """The strides, in elements, that a gradient for this array gets; None for row by row."""
    strides = dense_strides(array)
    if strides is None or array.flags.c_contiguous:
        return None
    return tuple([step // array.itemsize for step in strides])


# making saved values, tensors and nodes -------------------------------------------------------------------------------


def pack_saved(saved: SavedTensor, tensor: TensorBase, pack_hook, unpack_hook):
    """Save the result of the hook for a tensor instead of its array.

    A hook may return its argument itself. This makes no reference cycle, since of a result only the array is kept.
    """
    version = version_of(tensor)
    state: ThreadState = current()
    enabled = state.grad_enabled
    state.grad_enabled = False
    try:
        packed = pack_hook(tensor)
    finally:
        state.grad_enabled = enabled
    if version_of(tensor) != version:
        raise RuntimeError(errors.PACK_HOOK_IN_PLACE)
    saved.original = None
    saved.unpack_hook = unpack_hook
    if packed is not tensor or saved.from_input:
        saved.array = None
        saved.packed = packed


def make_saved(array, counter: VersionCounter, node: Node, output_nr, from_input) -> SavedTensor:
    """A saved array with the version that it has now."""
    saved: SavedTensor = SavedTensor.__new__(SavedTensor)
    saved.array = array
    saved.counter = counter
    saved.version = counter.value
    saved.node = node
    saved.output_nr = output_nr
    saved.from_input = from_input
    return saved


_sequence = 0


def next_sequence_nr() -> cython.longlong:
    """A number larger than all given out before."""
    return adj_count(cython.address(_sequence), 1)


def upcoming_sequence_nr():
    """The number that `next_sequence_nr` will give next, if no other thread asks before."""
    return adj_counted(cython.address(_sequence)) + 1


#: By type of array two functions: one for each new tensor around it, one for each whose gradient is about to be set.
_watched: dict = {}


def watch_arrays(kind, of_new, of_gradient):
    """Let functions be called with tensors around arrays of a type, which is not NumPy's.

    of_new: with each new one. of_gradient: with each one before its gradient is set.
    """
    _watched[kind] = of_new, of_gradient


def note_gradient(tensor):
    """Tell who watches that the gradient of a tensor is about to be set."""
    typed_tensor: TensorBase = tensor
    if type(typed_tensor._array) is not _ndarray and _watched:
        notes = _watched.get(type(typed_tensor._array))
        if notes is not None:
            notes[1](typed_tensor)


def new_tensor(array):
    """A tensor around an array, with no history."""
    if cython.compiled:
        tensor = cython.cast(object, instantiate(_tensor_type, _native_tensor))
    else:
        tensor = _tensor_type.__new__(_tensor_type)
    result: TensorBase = cython.cast(TensorBase, tensor)
    result._array = array
    if type(array) is not _ndarray and _watched:
        notes = _watched.get(type(array))
        if notes is not None:
            notes[0](result)
    if cython.compiled:
        # spares the call while no thread is in inference mode
        if counted_inferring() == 0:
            return result
    if thread_is_inferring():
        result._counter = NO_VERSION
    result._level = cython.cast(ThreadState, current()).level
    return result


def twin(tensor: TensorBase) -> TensorBase:
    """Another tensor of the same value at the same place in the graph."""
    other: TensorBase = new_tensor(tensor._array)
    other._node = tensor._node
    other._output_nr = tensor._output_nr
    other._requires = tensor._requires
    other._accumulator = tensor._accumulator
    other._counter = tensor._counter
    other._view = tensor._view
    other._grad_dtype = tensor._grad_dtype
    return other


def twin_outside(tensor: TensorBase) -> TensorBase:
    """Another tensor of the same memory and version, outside the graph."""
    other: TensorBase = new_tensor(tensor._array)
    other._counter = counter_of(tensor)
    other._level = tensor._level
    return other


def new_node(node_type, native) -> Node:
    """An empty node of the given class, which derives from the compiled class `native`."""
    if cython.compiled:
        return cython.cast(object, instantiate(node_type, native))
    return node_type.__new__(node_type)


# arrays: the plain form of functions in C -----------------------------------------------------------------------------


def shown_edges(node) -> list:
    """The numbers of the edges that users see: all but those of numbers, which torch's node of this name lacks."""
    numbers = getattr(type(node), "_ad_numbers", ())
    return [i for i in range(node._ad_n_edges) if i not in numbers or edge_of(node, i) is not None]


if not cython.compiled:
    ALL_EDGES = -1
    MOST_BITS = 62

    def edge_of(node, i):
        """The node of one input."""
        if i == 0:
            return node._ad_first
        return node._ad_second if i == 1 else node._ad_others[i - 2]

    def has_edge(edges, i):
        """True for an edge whose bit is set, and for those that have none."""
        return i >= MOST_BITS or edges >> i & 1 == 1

    def dtype_of(array):
        """The dtype of an array."""
        return array.dtype

    def ndim_of(array):
        """How many axes an array has."""
        return array.ndim

    def shape_of(array):
        """The shape of an array."""
        return array.shape

    def size_of(array):
        """The shape of an array as a Size."""
        return tuple.__new__(Size, array.shape)

    def has_shape(array, shape):
        """True if an array has this shape."""
        return array.shape == shape

    def has_layout(array, shape, dtype):
        """... and this dtype."""
        return array.shape == shape and array.dtype == dtype

    def count_write(counter):
        """Count one more modification of the memory; returns the version."""
        with first_use:
            counter.value += 1
            return counter.value

    def first_counter(tensor):
        """The version counter of a tensor, made if it has none."""
        counter = VersionCounter()
        with first_use:
            if tensor._counter is None:
                tensor._counter = counter
            return tensor._counter

    def lines_of(counter):
        """The source lines of a counter, made at the first use."""
        with first_use:
            if counter.lines is None:
                counter.lines = {}
            return counter.lines

    def first_tangents(tensor, tangents):
        """The tangents of a tensor; the given ones if it has none yet."""
        with first_use:
            if tensor._tangents is None:
                tensor._tangents = tangents
            return tensor._tangents

    def gradient_of(tensor):
        """The gradient of a tensor, or None."""
        return tensor._grad

    def set_gradient(tensor, value):
        """Set the gradient of a tensor, or None."""
        tensor._grad = value

    def accumulator_at(leaf):
        """The accumulator of a leaf, or None if it has none by now."""
        reference = leaf._accumulator
        return None if reference is None else reference()

    def enter_accumulator(leaf, accumulator):
        """Give a leaf an accumulator; returns the one of another thread that was quicker."""
        reference = weakref.ref(accumulator)
        with first_use:
            other = accumulator_at(leaf)
            if other is None:
                leaf._accumulator = reference
        return accumulator if other is None else other

    def is_stale(tensor, view):
        """True for a view whose history has to be recomputed."""
        return view.version != version_of(tensor)

    def node_of_view(tensor, view):
        """The node of a tensor that is a view."""
        return tensor._node

    def rewritten_history(view, version):
        """The history that the base of a view got when this view was modified, if that made a version; else None."""
        return view.rewritten if view.rewritten_at == version else None

    def forget_rewritten(view):
        """Forget the history that the base of a view got."""
        view.rewritten = None

    def renew_view(tensor, view, again, version):
        """Give a view the history of another tensor; False if another thread was quicker."""
        with first_use:
            if view.version == version:
                return False
            tensor._node = again._node
            tensor._output_nr = again._output_nr
            tensor._requires = False
            view.rewritten = None
            # set last: until then every reader recomputes the history
            view.version = version
        return True

    def has_base(view, array):
        """True if the replay of a view begins with this array of its base."""
        return view.layout is array

    def set_base(view, array, replay):
        """Let the replay of a view begin with another array of its base."""
        view.replay = replay
        view.layout = array

    def drop_view(tensor):
        """Let a tensor be a view no longer."""
        tensor._view = None

    def array_in(saved):
        """The array of a saved value."""
        return saved.array

    def original_in(saved):
        """The input of which this is the saved value."""
        return saved.original

    def packed_value_in(saved):
        """The value that a hook packed."""
        return saved.packed

    def empty_saved(saved):
        """Let go of a saved value."""
        saved.freed = True
        saved.array = saved.packed = saved.original = None

    # `_sequence += 1` is more than one step of the interpreter, and threads may come between
    _numbers = itertools.count(1)
    next_sequence_nr = _numbers.__next__

    def upcoming_sequence_nr():
        """The number that `next_sequence_nr` will give next, if no other thread asks before."""
        # the next value of a counter shows only in its repr
        return int(repr(_numbers)[len("count(") : -1])

    # the values that fields of compiled classes have before they are set
    VersionCounter.value = View.version = View.rewritten_at = 0
    VersionCounter.lines = VersionCounter.storage = None
    SavedTensor.array = SavedTensor.counter = SavedTensor.node = None
    SavedTensor.version = SavedTensor.output_nr = 0
    SavedTensor.from_input = False
    SavedTensor.tangents = SavedTensor.original = SavedTensor.packed = SavedTensor.unpack_hook = None
    SavedTensor.freed = False
    View.base = View.replay = View.origin = View.layout = View.rewritten = None
    TensorBase._node = TensorBase._grad = TensorBase._accumulator = TensorBase._counter = None
    TensorBase._tangents = TensorBase._view = TensorBase._hooks = TensorBase._post_hooks = TensorBase._retain = None
    TensorBase._requires = False
    TensorBase._level = None
    TensorBase._grad_dtype = None
    TensorBase._output_nr = 0
    Slot._ad_run = Slot._ad_pending = 0
    Slot._ad_buffer = None
    Slot._ad_owned = False
    Slot._ad_marks = 0
    Node._ad_n_edges = 0
    Node._ad_first = Node._ad_second = Node._ad_others = None
    Node._ad_output_nrs = Node._ad_extras = Node._ad_shape = Node._ad_dtype = None
    Extras.number = AccumulateGrad.since = 0
    Extras.notes = Extras.tensor_hooks = Extras.pre_hooks = Extras.post_hooks = Extras.owner = Extras.tangents = None
    Node._ad_n_outputs = 1
    FunctionNode.function = None
    ContextNode.to_save = ContextNode.saved_for_forward = ContextNode.dirty_tensors = None
    ContextNode.non_differentiable = ContextNode._ad_saved = ContextNode._ad_places = ContextNode._ad_grad_dtypes = None
    ContextNode._ad_model = ContextNode._ad_tangents = ContextNode._ad_owner = None
    ContextNode.needs_input_grad = ()
    ContextNode._ad_n_arguments = 0
    ContextNode._ad_freed = ContextNode._ad_cleared = ContextNode._ad_in_jvp = False
    ContextNode._ad_keeps_undefined = ContextNode._ad_undefined_integers = False
    Node._ad_sequence_nr = 0


# a tensor's position in the graph -------------------------------------------------------------------------------------


def hooks_of(tensor: TensorBase):
    """The table of hooks of a tensor, which later hooks share; None if it never had any."""
    node: Node = node_of(tensor)
    if node is None:
        return tensor._hooks
    if node._ad_extras is None or node._ad_extras.tensor_hooks is None:
        return None
    return node._ad_extras.tensor_hooks.get(tensor._output_nr)


def hook_table(node: Node, number) -> HookTable:
    """The table of hooks of one output of a node, made at the first use."""
    extras: Extras = node._ad_own_extras()
    if extras.tensor_hooks is None:
        tables = {}
        with first_use:
            if extras.tensor_hooks is None:
                extras.tensor_hooks = tables
    return extras.tensor_hooks.setdefault(number, HookTable())


def is_hooked(node: Node) -> bool:
    """True if a node, or one of its outputs, has had hooks."""
    extras: Extras = node._ad_extras
    return extras is not None and bool(extras.tensor_hooks or extras.pre_hooks or extras.post_hooks)


def needs_grad(tensor: TensorBase) -> bool:
    """True if gradients flow to this tensor, or to the base of this view.

    A view made without recording shows the flag of its base, but no gradient flows from it to the base.
    """
    if tensor._requires or tensor._node is not None:
        level: Level = tensor._level
        return level is None or level.alive or registry.is_followed(tensor)
    view: View = tensor._view
    return view is not None and (view.rewritten is not None or needs_grad(view.base))


def is_leaf_tensor(tensor: TensorBase) -> bool:
    """True if no recorded operation made this tensor."""
    return node_of(tensor) is None


def node_of(tensor: TensorBase) -> Node:
    """The node that made a tensor, or None. If the base of a view was modified, the view's history is recomputed."""
    view: View = tensor._view
    if view is None:
        return tensor._node
    if is_stale(tensor, view):
        renew_history(tensor, view)
    return node_of_view(tensor, view)


def renew_history(tensor: TensorBase, view: View):
    """Replay a view from its base, whose history was rewritten by an operation in place.

    Raises RuntimeError for a view that must not be modified so: the base was modified, or another view of it.
    """
    if view.origin == errors.SEPARATE:
        raise RuntimeError(errors.SEPARATE_STALE.format(library=library_of(tensor._array)))
    version = version_of(tensor)
    source: TensorBase = None
    rewritten: Node = rewritten_history(view, version)
    if rewritten is not None:
        source = new_tensor(view.layout)
        source._node = rewritten
    recorded = source is not None or needs_grad(view.base)
    has_history = recorded or tensor._node is not None or view.rewritten is not None
    # a leaf over memory that has no history
    stays = tensor._requires and not recorded
    if view.origin is not None and not stays and has_history:
        raise errors.view_modified(view.origin, tensor._node, tensor._output_nr, True)
    if stays or not has_history:
        # the version stays behind: when the base gets a history, or the flag, the view follows it
        forget_rewritten(view)
        return
    if not recorded:
        # the base was removed from the graph: the view stays in it, but no gradient flows from it any more
        source = tensor_without_edge(view.layout)
    elif source is None:
        source = view.base if view_of_base(tensor) is not None else earlier_base(view)
        if source is None:
            return
    state: ThreadState = current()
    enabled = state.grad_enabled
    replaying = state.replaying
    state.grad_enabled = state.replaying = True
    try:
        again: TensorBase = replay_view(view.replay, source)
    finally:
        state.grad_enabled = enabled
        state.replaying = replaying
    before: Node = node_of_view(tensor, view)
    number = tensor._output_nr
    if renew_view(tensor, view, again, version):
        carry_retained(tensor, before, number)


def tensor_without_edge(array) -> TensorBase:
    """A new tensor whose operations are recorded without an edge: a view that shows the flag of a new leaf."""
    leaf: TensorBase = new_tensor(array)
    leaf._requires = True
    tensor: TensorBase = new_tensor(array)
    view: View = View.__new__(View)
    view.base = leaf
    view.replay = ()
    view.layout = array
    view.version = version_of(tensor)
    tensor._view = view
    return tensor


def view_of_base(tensor: TensorBase) -> View:
    """The `View` of a tensor, updated if its base was reshaped in place; None if the base has other memory now."""
    view: View = tensor._view
    base = view.base._array
    if not has_base(view, base):
        if not meets_memory(base, tensor._array):
            drop_view(tensor)
            return None
        if base.dtype != tensor._array.dtype:
            raise RuntimeError(errors.RESHAPED_BASE)
        set_base(view, base, ((), registry.tensor_ops.as_strided.as_step(base, tensor._array)))
    return view


def earlier_base(view: View) -> TensorBase:
    """The base of a view, with its history, in the memory that the view still has; the base has other memory now.

    None for a leaf, whose history no write has changed.
    """
    base: TensorBase = view.base
    if base._node is None:
        return None
    earlier: TensorBase = new_tensor(view.layout)
    if output_shape(base._node, base._output_nr) == view.layout.shape:
        earlier._node = base._node
        earlier._output_nr = base._output_nr
    else:
        node: FunctionNode = cython.cast(FunctionNode, new_node(FunctionNode, FunctionNode))
        node.function = refuse_other_memory
        connect_inputs(node, [base])
        connect_outputs(node, [earlier])
    return earlier


def refuse_other_memory(node, cotangent, create_graph):
    """Raise RuntimeError instead of a gradient through a view whose base has other memory of another shape."""
    raise RuntimeError(errors.OTHER_MEMORY)


def meets_memory(base, array):
    """Whether an array lies in the memory of another; if one has no elements, whether both come from one array."""
    base, array = underlying(base), underlying(array)
    if base.size and array.size:
        return numpy.may_share_memory(base, array)
    return memory_owner(base) is memory_owner(array)


def memory_owner(array):
    """The array that an array is in the end a view of."""
    while isinstance(getattr(array, "base", None), numpy.ndarray):
        array = array.base
    return array


def carry_retained(tensor: TensorBase, before, number):
    """Let retain_grad() follow a tensor to its new node after an operation in place."""
    if tensor._retain is None or tensor._retain is not before:
        return
    keep = hook_table(before, number).pop(RETAIN, None)
    if keep is None:
        # it followed another Tensor of the same node
        return
    node: Node = tensor._node
    hook_table(node, tensor._output_nr)[RETAIN] = keep
    tensor._retain = node


def replay_view(steps, array):
    """Apply the steps of a view to another tensor (recorded) or raw array of the base's shape."""
    steps_in_order: list = []
    while steps:
        steps, step = steps
        steps_in_order.append(step)
    while steps_in_order:
        operation, others, nr = steps_in_order.pop()
        array = operation.replay(array, others, nr)
    return array


# versions -------------------------------------------------------------------------------------------------------------


#: The counter that all inference tensors share, views of them included: it does not count.
NO_VERSION = VersionCounter.__new__(VersionCounter)
NO_VERSION.value = -1


def version_of(tensor: TensorBase) -> int:
    """How often the tensor's memory was modified in place."""
    if cython.compiled:
        return 0 if tensor._counter is None else adj_counted(cython.address(tensor._counter.value))
    return 0 if tensor._counter is None else tensor._counter.value


def counter_of(tensor: TensorBase) -> VersionCounter:
    """The version counter of the tensor's memory, made when it must be shared or counted."""
    return first_counter(tensor) if tensor._counter is None else tensor._counter


def bump_version(tensor: TensorBase) -> None:
    """Note that the tensor's memory was modified in place."""
    counter: VersionCounter = counter_of(tensor)
    if counter is NO_VERSION:
        return
    version = count_write(counter)
    if current().locations:
        lines_of(counter)[version] = caller()


# edges ----------------------------------------------------------------------------------------------------------------


def accumulator_of(leaf: TensorBase) -> Node:
    """The node that adds to the leaf's .grad. The leaf holds it weakly, so that it keeps no graph alive."""
    array = leaf._array
    node = accumulator_at(leaf)
    if node is not None:
        return node
    accumulator: AccumulateGrad = AccumulateGrad.__new__(AccumulateGrad)
    accumulator.variable = leaf
    accumulator._ad_n_outputs = 1
    accumulator._ad_shape = shape_of(array) if type(array) is _ndarray else array.shape
    accumulator._ad_dtype = dtype_of_grad(leaf)
    accumulator._ad_sequence_nr = _LAST
    accumulator.since = upcoming_sequence_nr()
    return enter_accumulator(leaf, accumulator)


def dtype_of_grad(leaf: TensorBase):
    """The dtype (of arrays) that gradients of a leaf are cast to; None for whatever they come in."""
    if leaf._grad_dtype is None:
        array = leaf._array
        return dtype_of(array) if type(array) is _ndarray else numpy_dtype(array.dtype)
    return None if leaf._grad_dtype is errors.ANY_DTYPE else leaf._grad_dtype


def gradient_edge(tensor: TensorBase) -> Node:
    """The node that the tensor's cotangent is delivered to (as its output number tensor._output_nr)."""
    node: Node = node_of(tensor)
    if node is not None:
        return node
    if tensor._view is not None and not tensor._requires:
        # a view that shows the flag of its base
        return None
    return accumulator_of(tensor)


def connect_inputs(node: Node, inputs: list):
    """Let a new node point to the nodes of its inputs. None: no edge."""
    tensor: TensorBase
    edges: list = []
    numbers: list = []
    for value in inputs:
        if value is None:
            edges.append(None)
            numbers.append(0)
            continue
        tensor = value
        edges.append(gradient_edge(tensor))
        numbers.append(tensor._output_nr)
    node._ad_set_edges(tuple(edges))
    if any(numbers):
        node._ad_output_nrs = tuple(numbers)


def connect_outputs(node: Node, outputs: list):
    """Let Tensors be the outputs of a new node, and give it its sequence number."""
    tensor: TensorBase
    n: cython.Py_ssize_t = len(outputs)
    k: cython.Py_ssize_t
    node._ad_n_outputs = n
    node._ad_sequence_nr = next_sequence_nr()
    if n == 1:
        tensor = outputs[0]
        node._ad_shape, node._ad_dtype = tensor._array.shape, tensor._array.dtype
        tensor._node = node
        return
    shapes: list = []
    dtypes: list = []
    for k in range(n):
        tensor = outputs[k]
        shapes.append(tensor._array.shape)
        dtypes.append(tensor._array.dtype)
        tensor._node = node
        tensor._output_nr = k
    node._ad_shape, node._ad_dtype = tuple(shapes), tuple(dtypes)


def nodes_behind(waiting: list, since: cython.ulonglong = 0) -> list:
    """These nodes and all nodes that they lead to, each once; None among the arguments is skipped.

    since: a sequence number. The walk ends at nodes that are older.
    """
    node: Node
    visited: set = set()
    nodes: list = []
    waiting = list(waiting)
    while waiting:
        node = waiting.pop()
        if node is None or node in visited:
            continue
        visited.add(node)
        nodes.append(node)
        if is_older(node, since):
            continue
        for i in range(node._ad_n_edges):
            waiting.append(edge_of(node, i))
    return nodes


def cut_edges(roots: list, ends: set, since: cython.ulonglong):
    """Remove the edges behind these nodes that lead to nothing but some leaves, given by their accumulators.

    since: a sequence number. Older nodes lead to other leaves.
    """
    node: Node
    target: Node
    # for each node whether it leads to something else
    leads: dict = {}
    waiting: list = list(roots)
    while waiting:
        n: cython.Py_ssize_t = len(waiting)
        node = waiting[n - 1]
        if node is None or node in leads:
            del waiting[n - 1]
            continue
        if isinstance(node, AccumulateGrad) or is_older(node, since):
            leads[node] = node not in ends
            continue
        for i in range(node._ad_n_edges):
            target = edge_of(node, i)
            if target is not None and target not in leads:
                waiting.append(target)
        if len(waiting) == n:
            leads[node] = cut_edges_of(node, leads)


def cut_edges_of(node: Node, leads: dict) -> bool:
    """Remove the edges of a node to nodes that lead nowhere else. Returns whether an edge remains."""
    target: Node
    remains = has_cut = False
    for i in range(node._ad_n_edges):
        target = edge_of(node, i)
        if target is not None:
            if leads[target]:
                remains = True
            else:
                has_cut = True
    # a node that leads nowhere is not reached any more
    if has_cut and remains:
        edges = [edge_of(node, i) for i in range(node._ad_n_edges)]
        node._ad_set_edges(tuple([target if target is not None and leads[target] else None for target in edges]))
    return remains


def age_of(node: Node) -> int:
    """The number of a node by age: no node leads to one with a larger number."""
    if isinstance(node, AccumulateGrad):
        return cython.cast(AccumulateGrad, node).since
    extras: Extras = node._ad_extras
    # a user may have set another sequence number
    return node._ad_sequence_nr if extras is None or extras.number == 0 else extras.number


def oldest_of(nodes: list) -> int:
    """The least age of some nodes: only nodes with larger numbers lead to one of them."""
    number: cython.ulonglong = _LAST
    for node in nodes:
        number = min(number, age_of(node))
    return number


def is_older(node: Node, since: cython.ulonglong) -> bool:
    """True for a node of an operation that was there before the node with this number."""
    return not isinstance(node, AccumulateGrad) and age_of(node) < since


def output_number(node: Node, i) -> int:
    """The output number of the i-th input at its node."""
    return 0 if node._ad_output_nrs is None else node._ad_output_nrs[i]


def output_shape(node: Node, nr):
    """Shape of one output of a node."""
    return node._ad_shape if node._ad_n_outputs == 1 else node._ad_shape[nr]


def output_dtype(node: Node, nr):
    """Data type (of the array) of one output of a node."""
    return node._ad_dtype if node._ad_n_outputs == 1 else node._ad_dtype[nr]


# cotangents that fit their edges --------------------------------------------------------------------------------------


def project(cotangent, shape, dtype):
    """Convert a raw cotangent for its edge: sum over broadcast axes, take the real part for a real input, cast.

    No dtype: it may have any.
    """
    if cython.compiled:
        if type(cotangent) is not _ndarray and isinstance(cotangent, numpy.generic):
            cotangent = numpy.asarray(cotangent)
        if type(cotangent) is _ndarray:
            if has_layout(cotangent, shape, dtype):
                return cotangent
            if dtype_of(cotangent) is dtype:
                total = summed_to(cotangent, shape)
                if total is not None:
                    return total
    xp = namespace(cotangent)
    cotangent = xp.asarray(cotangent)
    if cotangent.shape != shape:
        cotangent = sum_to(xp, cotangent, shape)
    if dtype is not None and numpy_dtype(cotangent.dtype) != dtype:
        if kind_of(cotangent) == "c" and dtype.kind != "c":
            cotangent = xp.real(cotangent)
        cotangent = astype(cotangent, dtype)
    return cotangent


def project_tensor(cotangent: TensorBase, shape, dtype) -> TensorBase:
    """As `project`, for a Tensor, recorded."""
    array = cotangent._array
    if array.shape != shape:
        cotangent = registry.tensor_ops.sum_to_size(cotangent, shape)
    if dtype is not None and numpy_dtype(array.dtype) != dtype:
        if kind_of(array) == "c" and dtype.kind != "c":
            cotangent = registry.tensor_ops.real(cotangent)
        cotangent = registry.tensor_ops.cast(cotangent, from_numpy_dtype(dtype))
    return cotangent


# accumulation into .grad ----------------------------------------------------------------------------------------------


def fit_layout(cotangent, array):
    """A gradient for a leaf: an array of its own, with the leaf's strides where these are dense, else row-major."""
    if type(cotangent) is not _ndarray:
        return copy(cotangent)
    strides = dense_strides(array)
    if cython.compiled:
        # one reference, the engine's: nobody else can see the buffer
        if (
            owner_count(cotangent) == 1
            and cotangent.base is None
            and cotangent.flags.owndata
            and cotangent.flags.writeable
            and (
                (cotangent.strides == strides if strides is not None else cotangent.flags.c_contiguous)
                or not current().enforce_layout
            )
        ):
            return cotangent
    if strides is None or array.flags.c_contiguous:
        return with_kept_memory(cotangent.copy, ("C",))
    fitted = numpy.empty_like(array, dtype=cotangent.dtype)
    fitted[...] = cotangent
    return fitted


def dense_strides(array):
    """Strides of an array whose memory is dense and does not overlap, else None."""
    if type(array) is not _ndarray:
        return None
    if array.flags.c_contiguous:
        return array.strides
    order = sorted(range(array.ndim), key=lambda axis: array.strides[axis])
    expected = array.itemsize
    for axis in order:
        if array.shape[axis] != 1 and array.strides[axis] != expected:
            return None
        expected *= array.shape[axis]
    return array.strides


def add_in_place(tensor: TensorBase, cotangent) -> None:
    """Add a raw cotangent to a tensor's memory, keeping the object, its strides and counting the version."""
    array = tensor._array
    if type(array) is not _ndarray or array.base is not None:
        # a gradient that the user assigned may be an expanded one
        errors.check_overlap(array)
    counter_of(tensor)
    if not add_into(array, cotangent):
        array += cotangent
        tensor._array = array
    bump_version(tensor)
