"""Checks whether a recording holds for a call: a fast comparison of arguments, visible values and modes.

A `Matcher` belongs to one recording. It compares each argument with the argument of the recorded call: Tensors and
arrays by layout, others by value. Then it compares the slots of the values that the function sees
(`recordings/reach.py`).
"""

try:
    import cython
except ModuleNotFoundError:
    from adjoint.runtime import cython_shim as cython

import numpy

from adjoint.arrays.determinism import are_deterministic_algorithms_enabled
from adjoint.arrays.dtypes import get_default_dtype
from adjoint.arrays.namespace import device_of
from adjoint.program.plain_region import CheckFailed

if not cython.compiled:
    # the compiled form has them from the .pxd
    from adjoint.core.graph import TensorBase, gradient_of, version_of
    from adjoint.core.modes.state import ThreadState, current

_ndarray = numpy.ndarray
_PLAIN = (bool, int, float, complex, str, bytes, type(None))
#: How a slot is read: a variable of an enclosing function, an entry of a dictionary, an attribute, a member of a list,
#: a number of members.
CELL, ENTRY, ATTRIBUTE, MEMBER, LENGTH = range(5)
ABSENT = object()


def is_plain_thread():
    """True where compiled functions are replayed: outside of transformations, profilers and similar."""
    state: ThreadState = current()
    return not (state.unusual or state.transforms or state.batches or state.inference or state.dual_stack)


def read_slot(kind, owner, key):
    """The value in a slot now; ABSENT where there is none."""
    if kind == ENTRY:
        return cython.cast(dict, owner).get(key, ABSENT)
    if kind == CELL:
        try:
            return owner.cell_contents
        except ValueError:
            return ABSENT
    if kind == ATTRIBUTE:
        return getattr(owner, key, ABSENT)
    if kind == LENGTH:
        return len(owner)
    return owner[key] if key < len(owner) else ABSENT


def same_value(value, expected):
    """True for the same object, or for equal numbers and texts of one type; 0.0 and -0.0 differ."""
    if value is expected:
        return True
    if type(value) is not type(expected) or not isinstance(value, _PLAIN):
        return False
    if isinstance(value, (float, complex)):
        return repr(value) == repr(expected)
    return value == expected


@cython.final
@cython.cclass
class Layout:
    """The layout of an array: type, dtype, shape, strides and device."""

    def __init__(self, array):
        self.type = type(array)
        self.device = None if type(array) is _ndarray else device_of(array)
        self.dtype, self.shape, self.strides = array.dtype, array.shape, array.strides

    def fits(self, array):
        """True for an array of this layout."""
        if type(array) is not self.type:
            return False
        if self.device is not None and device_of(array) != self.device:
            return False
        if cython.compiled and self.device is None:
            return adj_has_layout(array, self.shape, self.dtype) and adj_has_strides(array, self.strides)
        return array.dtype == self.dtype and array.shape == self.shape and array.strides == self.strides


@cython.final
@cython.cclass
class TensorKind:
    """The properties of a Tensor for which a recording holds."""

    def __init__(self, tensor: TensorBase):
        self.type = type(tensor)
        self.layout = Layout(tensor._array)
        self.requires = tensor._requires
        self.is_leaf = tensor._node is None
        self.has_hooks = bool(tensor._hooks) or bool(tensor._post_hooks)
        grad: TensorBase = gradient_of(tensor)
        self.grad_layout = None if grad is None else Layout(grad._array)

    def fits(self, value):
        """True for a Tensor of this kind."""
        if type(value) is not self.type:
            return False
        tensor: TensorBase = value
        if tensor._requires != self.requires or (tensor._node is None) != self.is_leaf:
            return False
        if (bool(tensor._hooks) or bool(tensor._post_hooks)) != self.has_hooks:
            return False
        grad: TensorBase = gradient_of(tensor)
        if (grad is None) != (self.grad_layout is None):
            return False
        if grad is not None and not cython.cast(Layout, self.grad_layout).fits(grad._array):
            return False
        return cython.cast(Layout, self.layout).fits(tensor._array)


@cython.final
@cython.cclass
class Matcher:
    """The conditions under which a recording holds.

    leaves: the arguments of the recorded call. visible: the Tensors that the function sees. slots: (kind, owner, key,
    value) for each slot that it reads. fixed: (position, Tensor) for arguments that are also visible.
    externals: for each Tensor that the program reads, the position of the argument, or the Tensor itself. with_grad:
    the externals whose gradient it reads.
    """

    def __init__(self, leaves, visible, slots, fixed, externals, with_grad):
        self.n_leaves = len(leaves)
        self.kinds = [
            TensorKind(leaf) if isinstance(leaf, TensorBase) else Layout(leaf) if type(leaf) is _ndarray else None
            for leaf in leaves
        ]
        self.values = [leaf if kind is None else None for leaf, kind in zip(leaves, self.kinds)]
        self.visible = visible
        self.visible_kinds = [TensorKind(tensor) for tensor in visible]
        self.slots = slots
        self.fixed = fixed
        self.externals = externals
        self.with_grad = with_grad
        self.pairs = identical_pairs(leaves)
        self.several = sum([kind is not None for kind in self.kinds]) > 1
        state: ThreadState = current()
        self.grad_enabled = state.grad_enabled
        self.default_dtype = get_default_dtype()
        self.is_deterministic = are_deterministic_algorithms_enabled()

    def fits(self, leaves: list):
        """True if the recording is for arguments of these kinds, and for the modes of the thread."""
        state: ThreadState = current()
        n: cython.Py_ssize_t = len(leaves)
        k: cython.Py_ssize_t
        if n != self.n_leaves or state.grad_enabled != self.grad_enabled:
            return False
        if get_default_dtype() is not self.default_dtype:
            return False
        if are_deterministic_algorithms_enabled() != self.is_deterministic:
            return False
        for k in range(n):
            kind = self.kinds[k]
            value = leaves[k]
            if kind is None:
                if not same_value(value, self.values[k]):
                    return False
            elif type(kind) is TensorKind:
                if not cython.cast(TensorKind, kind).fits(value):
                    return False
            elif not cython.cast(Layout, kind).fits(value):
                return False
        return not self.several or self.pairs == identical_pairs(leaves)

    def holds(self, leaves: list):
        """True if the visible values are unchanged, for arguments that fit."""
        for position, tensor in self.fixed:
            if leaves[position] is not tensor:
                return False
        k: cython.Py_ssize_t
        for k in range(len(self.visible)):
            if not cython.cast(TensorKind, self.visible_kinds[k]).fits(self.visible[k]):
                return False
        for kind, owner, key, expected in self.slots:
            value = read_slot(kind, owner, key)
            if value is not expected and not same_value(value, expected):
                return False
        return True

    def tensors(self, leaves: list):
        """The Tensors, or arrays of the caller, that the program reads and writes."""
        return [leaves[entry] if type(entry) is int else entry for entry in self.externals]

    def arrays(self, tensors: list):
        """The memory of these, and of their gradients where the program reads some."""
        arrays: list = []
        tensor: TensorBase
        for value in tensors:
            if type(value) is _ndarray:
                arrays.append(value)
            else:
                tensor = value
                arrays.append(tensor._array)
        for k in self.with_grad:
            tensor = gradient_of(tensors[k])
            if tensor is None:
                # another thread has removed it since
                raise CheckFailed
            arrays.append(tensor._array)
        return arrays


def versions_of(tensors: list):
    """How often each Tensor was modified in place; caller's arrays are not counted."""
    return [version_of(value) if isinstance(value, TensorBase) else 0 for value in tensors]


def identical_pairs(leaves):
    """The pairs of arguments that are one Tensor or array."""
    first: dict = {}
    pairs: list = []
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, TensorBase) or isinstance(leaf, _ndarray):
            n = first.setdefault(id(leaf), k)
            if n != k:
                pairs.append((n, k))
    return pairs
