"""Hooks that pack and unpack saved tensors, and clones of saved tensors that are overwritten."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.core import errors
from adjoint.core.graph import TensorBase, counter_of, new_tensor
from adjoint.core.modes.state import PUSH, SET, ModeBlock, current

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


class saved_tensors_hooks(ModeBlock):
    """A block in which `pack_hook` converts each tensor that the graph saves, and `unpack_hook` converts it back.

    pack_hook(tensor) -> anything: called when an operation saves a tensor, custom functions included; it must not
    modify its argument. unpack_hook(anything) -> Tensor: called when the backward pass needs it; the tensor should
    have the same content. The innermost of nested blocks applies. Versions of packed tensors are not checked.

    Raises:
        RuntimeError: a pack hook modified its argument; hooks are disabled (`disable_saved_tensors_hooks`).
        TypeError: an unpack hook did not return a Tensor.

    >>> import adjoint
    >>> x = adjoint.ones(3, requires_grad=True)
    >>> with adjoint.autograd.graph.saved_tensors_hooks(lambda t: (print("packed"), t)[1], lambda t: t):
    ...     y = x.exp().sum()
    packed
    >>> y.backward()
    """

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def _changes(self) -> Any:
        return (pushed_hooks(self.pack_hook, self.unpack_hook),)


def pushed_hooks(pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> Any:
    """The change that lets a pair of hooks count from now on."""
    errors.check_hook_pair("saved_tensors_hooks", pack_hook, unpack_hook)
    state = current()
    if state.saved_hooks_refused is not None:
        raise RuntimeError(state.saved_hooks_refused)
    return PUSH, "saved_hooks", (pack_hook, unpack_hook)


class save_on_cpu(saved_tensors_hooks):
    """A block in which saved tensors wait for the backward pass in the host's memory.

    Arrays in the host's memory are kept without a copy. pin_memory and device_type are accepted for programs written
    for torch: NumPy has no page-locked memory.

    >>> import adjoint
    >>> x = adjoint.ones(3, requires_grad=True)
    >>> with adjoint.autograd.graph.save_on_cpu(pin_memory=True):
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2., 2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> Any:
            # without its history, or the graph would hold itself
            return tensor.device, tensor.detach().cpu()

        def unpack(packed: Any) -> Tensor:
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(pack, unpack)


class save_to_disk(saved_tensors_hooks):
    """A block in which saved tensors wait for the backward pass in files, for graphs larger than memory.

    directory: the existing directory of the files. Each file is deleted when the graph no longer needs it.
    min_bytes: smaller tensors stay in memory. Only NumPy arrays are supported; others raise TypeError.

    >>> import adjoint, tempfile
    >>> x = adjoint.ones(1000, requires_grad=True)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with adjoint.autograd.graph.save_to_disk(directory):
    ...         y = (x * x).sum()
    ...     y.backward()
    >>> x.grad[:2]
    tensor([2., 2.])
    """

    def __init__(self, directory: str | os.PathLike[str], min_bytes: int = 0) -> None:
        self.directory = os.fspath(directory)
        if not os.path.isdir(self.directory):
            raise NotADirectoryError(f"save_to_disk(): {str(directory)!r} is not a directory: make it first")

        def pack(tensor: Tensor) -> Any:
            array = tensor._array
            if not isinstance(array, numpy.ndarray):
                raise TypeError(
                    f"save_to_disk() writes only NumPy arrays, and got an array of {type(array).__module__}: compute "
                    "on the CPU"
                )
            return _File(array, self.directory) if array.nbytes >= min_bytes else tensor.detach()

        super().__init__(pack, lambda packed: new_tensor(packed.read()) if isinstance(packed, _File) else packed)


class _File:
    """An array in a file, which is deleted with this object."""

    def __init__(self, array: numpy.ndarray[Any, Any], directory: str) -> None:
        import tempfile

        handle, name = tempfile.mkstemp(suffix=".saved", dir=directory)
        # before the first byte, so that no file remains if the disk is full
        weakref.finalize(self, _delete, name)
        self.name = name
        self.dtype, self.shape = array.dtype, array.shape
        with open(handle, "wb") as file:
            numpy.ascontiguousarray(array).tofile(file)

    def read(self) -> numpy.ndarray[Any, Any]:
        """The array, in memory again."""
        return numpy.fromfile(self.name, self.dtype).reshape(self.shape)


def _delete(name: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name)


def composed(*hooks: saved_tensors_hooks) -> saved_tensors_hooks:
    """Several pairs of hooks as one: each packs the result of the pair before it, and they unpack in reverse order.

    All but the last must pack a tensor into a tensor.

    >>> import adjoint
    >>> graph = adjoint.autograd.graph
    >>> halves = graph.saved_tensors_hooks(lambda t: t.half(), lambda t: t.float())
    >>> x = adjoint.ones(3, requires_grad=True)
    >>> with graph.composed(halves, graph.save_on_cpu()):
    ...     y = (x * x).sum()
    >>> y.backward()
    """

    def pack(value: Any) -> Any:
        for pair in hooks:
            value = pair.pack_hook(value)
        return value

    def unpack(value: Any) -> Any:
        for pair in reversed(hooks):
            value = pair.unpack_hook(value)
        return value

    return saved_tensors_hooks(pack, unpack)


class disable_saved_tensors_hooks(ModeBlock, contextlib.ContextDecorator):
    """A block (or decorated function) in which saved_tensors_hooks raises RuntimeError with the given message.

    Raises RuntimeError, with that message, if hooks are on already.

    >>> import adjoint
    >>> graph = adjoint.autograd.graph
    >>> with graph.disable_saved_tensors_hooks("not here"):
    ...     with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    ...         print("never")
    Traceback (most recent call last):
        ...
    RuntimeError: not here
    """

    def __init__(self, error_message: str) -> None:
        self.error_message = error_message

    def _changes(self) -> Any:
        if current().saved_hooks:
            raise RuntimeError(self.error_message)
        return ((SET, "saved_hooks_refused", self.error_message),)


class _Handle:
    """The packed form of a saved tensor while its mutation is allowed."""

    __slots__ = ("__weakref__",)


class SavedMutations:
    """The saved tensors of an `allow_mutation_on_saved_tensors` block.

    original: the saved tensors that are unmodified, by their handles. cloned: copies of the others, made before the
    modification. Both drop a tensor when the graph does.
    """

    def __init__(self) -> None:
        self.original: weakref.WeakKeyDictionary[_Handle, Tensor] = weakref.WeakKeyDictionary()
        self.cloned: weakref.WeakKeyDictionary[_Handle, Tensor] = weakref.WeakKeyDictionary()
        # values saved since the last change, by the version counter of the memory, which views share, and by array
        self._handles: dict[int, weakref.WeakValueDictionary[int, _Handle]] = {}

    def pack(self, tensor: Tensor) -> _Handle:
        """Keep a saved tensor, without its history, once however often it is saved."""
        counter = counter_of(tensor)
        handles = self._handles.setdefault(id(counter), weakref.WeakValueDictionary())
        handle = handles.get(id(tensor._array))
        if handle is None:
            handle = handles[id(tensor._array)] = _Handle()
            alias = new_tensor(tensor._array)
            alias._counter = counter
            self.original[handle] = alias
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        """The tensor as it was when it was saved."""
        tensor = self.cloned.get(handle)
        if tensor is None:
            tensor = self.original.get(handle)
        if tensor is None:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        return tensor

    def before_write(self, tensor: TensorBase) -> None:
        """Copy the saved values in the memory of a tensor that is going to be modified."""
        for handle in list(self._handles.pop(id(tensor._counter), {}).values()):
            self.cloned[handle] = self.original.pop(handle).clone()

    def clear(self) -> None:
        """Forget everything."""
        self.original.clear()
        self.cloned.clear()
        self._handles.clear()


class allow_mutation_on_saved_tensors(ModeBlock, contextlib.ContextDecorator):
    """A block in which saved tensors may be modified in place: the block copies them before.

    Forward and backward pass must both run in the same block. Gives an object with `original` and `cloned` tensors,
    which is cleared at the end.

    Raises:
        RuntimeError: blocks are nested.
        AssertionError: the backward pass runs outside of the block in which the graph was recorded.

    >>> import adjoint
    >>> with adjoint.autograd.graph.allow_mutation_on_saved_tensors():
    ...     a = adjoint.ones(2, 3, requires_grad=True)
    ...     b = a.clone()
    ...     out = (b**2).sum()
    ...     b = b.sin_()
    ...     out.backward()
    >>> a.grad[0]
    tensor([2., 2., 2.])
    """

    def _changes(self) -> Any:
        if any(isinstance(getattr(hook, "__self__", None), SavedMutations) for hook in current().before_write):
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        self._context = context = SavedMutations()
        return pushed_hooks(context.pack, context.unpack), (PUSH, "before_write", context.before_write)

    def _entry_value(self) -> SavedMutations:
        return self._context

    def _after_exit(self, error: BaseException | None) -> None:
        self._context.clear()


class node_creation_hook(ModeBlock, contextlib.ContextDecorator):
    """A block that calls `fn(node)` with every new node of the graph.

    >>> import adjoint
    >>> x = adjoint.ones(3, requires_grad=True)
    >>> with adjoint.autograd.graph.node_creation_hook(lambda node: print(node.name())):
    ...     y = (x * x).sum()
    MulBackward0
    SumBackward0
    """

    def __init__(self, fn: Callable[[Any], None]) -> None:
        self.fn = fn

    def _changes(self) -> Any:
        return ((PUSH, "node_hooks", self.fn),)


class record_locations(ModeBlock, contextlib.ContextDecorator):
    """A block that remembers source lines: errors about overwritten values then name who saved and who modified them.

    Cheaper than anomaly mode, which does the same and keeps whole tracebacks.

    >>> import adjoint
    >>> with adjoint.autograd.graph.record_locations():
    ...     x = adjoint.ones(2, requires_grad=True)
    ...     y = x.exp()
    ...     z = y.mul_(2)
    >>> try:
    ...     y.sum().backward()
    ... except RuntimeError as error:
    ...     print(error)
    one of the variables needed ... It was saved for the backward pass here: ... y = x.exp()
    It was modified here: ... z = y.mul_(2)
    """

    def _changes(self) -> Any:
        return ((PUSH, "locators", self),)
