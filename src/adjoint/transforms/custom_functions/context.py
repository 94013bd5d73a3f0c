"""The context of a custom function, which is also its node in the graph.

`FunctionCtx` holds the declarations of forward and setup_context; `BackwardCFunction` adds the node: its saved values,
and the call of the user's backward.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import dtype, from_numpy_dtype, kind_of
from adjoint.arrays.namespace import in_batch_of, namespace
from adjoint.arrays.shapes import broadcast_shapes
from adjoint.arrays.size import type_name
from adjoint.core import errors
from adjoint.core.graph import (
    ContextNode,
    SavedTensor,
    TensorBase,
    new_tensor,
    output_dtype,
    output_shape,
    project,
    project_tensor,
)
from adjoint.core.locations import caller
from adjoint.core.modes.batches import in_batches
from adjoint.core.modes.state import current
from adjoint.core.recorded import drop, pack_by_mode, save_input, save_result, unpack_saved
from adjoint.tensor.table import ops
from adjoint.transforms.batching.levels import batches_of

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

MORE = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
CLEARED = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the autograd.Function. "
    "Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
)
TWO_WAYS_BACK = (
    "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one of "
    "them."
)


class FunctionCtx:
    """The declarations that a custom function makes in `forward` or `setup_context`.

    They name the saved tensors, the inputs modified in place and the outputs without derivative, and say whether
    undefined cotangents become zeros.
    """

    to_save: tuple[Any, ...] | None
    saved_for_forward: tuple[Any, ...] | None
    dirty_tensors: tuple[Any, ...] | None
    non_differentiable: tuple[Any, ...] | None
    _grad_dtypes: tuple[dtype | None, ...] | None

    def save_for_backward(self, *tensors: Tensor) -> None:
        """Save tensors (inputs, outputs, others, or None) for backward, which reads them as `ctx.saved_tensors`.

        Call it at most once. Saved tensors are checked for changes in place, go through hooks on saved tensors, and are
        freed with the graph. Tensors stored as attributes of ctx have none of this, and an output stored so is never
        freed.

        >>> import adjoint
        >>> class Square(adjoint.autograd.Function):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x * x
        ...     @staticmethod
        ...     def backward(ctx, g):
        ...         (x,) = ctx.saved_tensors
        ...         return 2 * x * g
        >>> x = adjoint.tensor(3.0, requires_grad=True)
        >>> Square.apply(x).backward()
        >>> x.grad
        tensor(6.)
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor) -> None:
        """Save tensors (inputs, outputs, or None) for jvp, where they are `ctx.saved_tensors`.

        Raises AssertionError for an object that is no tensor.
        """
        for tensor in tensors:
            if not (isinstance(tensor, TensorBase) or tensor is None):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                    "on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Declare the inputs that forward modifies in place.

        All of them must be returned by forward.
        """
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Declare the outputs that have no gradient.

        Integer outputs never have one.
        """
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Declare whether missing gradients and tangents become zeros.

        value: True, the default, for zeros; False for None.
        """
        self.materialize_grads = value

    def set_output_grad_dtype(self, *dtypes: dtype | None) -> None:
        """Declare the dtypes in which backward gets the gradients of the returned values; None for any dtype.

        Call it at most once, with one argument for each returned value, None for a value without a gradient. Without
        this call gradients have the dtypes of the outputs.

        Raises TypeError for an object that is no dtype.
        """
        for kind in dtypes:
            if not (isinstance(kind, dtype) or kind is None):
                raise TypeError(f"set_output_grad_dtype expects dtypes or None, but got {type_name(kind)}")
        self._ad_grad_dtypes = dtypes

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Deprecated: shared memory is detected automatically.

        The call gives a FutureWarning and has no effect.
        """
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that "
            "calls to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )


class BackwardCFunction(ContextNode, FunctionCtx):
    """The node of a custom function in the graph; each Function has a subclass of its own.

    `apply` creates it. It is the `ctx` of `forward`, `backward` and `jvp`.
    """

    _forward_cls: type[Any]
    _ad_saved: tuple[SavedTensor | None, ...] | None
    _ad_freed: bool
    _ad_cleared: bool

    # declarations of forward --------------------------------------------------------------------------------------

    @property
    def materialize_grads(self) -> bool:
        """True if undefined gradients and tangents become zeros."""
        return not self._ad_keeps_undefined

    @materialize_grads.setter
    def materialize_grads(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - got "
                f"({type_name(value)}), but expected (bool)"
            )
        self._ad_keeps_undefined = not value

    @property
    def _materialize_non_diff_grads(self) -> bool:
        return not self._ad_undefined_integers

    @_materialize_non_diff_grads.setter
    def _materialize_non_diff_grads(self, value: bool) -> None:
        self._ad_undefined_integers = not value

    # saved tensors ----------------------------------------------------------------------------------------------------

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to save_for_backward; in jvp, those given to save_for_forward.

        Raises RuntimeError if they were freed, modified in place, or were to be handed out only once.
        """
        if self._ad_in_jvp:
            return tuple(self.saved_for_forward or ())
        if self._ad_cleared:
            raise RuntimeError(CLEARED)
        if self._ad_freed:
            raise errors.freed_error(self)
        if not self._ad_saved:
            return ()
        values = tuple([None if saved is None else unpacked_value(self, saved) for saved in self._ad_saved])
        if self._forward_cls.clear_saved_tensors_on_access:
            self._ad_free()
            self._ad_cleared = True
        return values

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        """The older name of `saved_tensors`.

        Each access causes a DeprecationWarning, as in torch.
        """
        warnings.warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2)
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self) -> tuple[SavedTensor, ...]:
        if self._ad_freed:
            raise errors.freed_error(self)
        return tuple([SavedTensor.__new__(SavedTensor) if saved is None else saved for saved in self._ad_saved or ()])

    def _ad_saved_items(self) -> list[tuple[str, SavedTensor]]:
        """The saved slots, as (name, `SavedTensor`) pairs."""
        entries = enumerate(self._ad_saved or ())
        return [(f"saved_tensors[{i}]", saved) for i, saved in entries if saved is not None]

    def maybe_clear_saved_tensors(self) -> None:
        """Free the saved tensors early, in a backward pass that does not retain the graph; elsewhere do nothing.

        `saved_tensors` raises RuntimeError afterwards.
        """
        run = current().run
        if run is not None and not run.retain_graph:
            self._ad_free()

    def _ad_free(self) -> None:
        """Free the saved tensors; a function that saved none, and does not ask for them, can be run again."""
        self._ad_freed = True
        if self._ad_saved:
            drop(self._ad_saved)
            self._ad_saved = None

    def _ad_is_freed(self) -> bool:
        """True if the function's saved tensors were freed."""
        return self._ad_freed and self._ad_saved is None

    # backward pass ----------------------------------------------------------------------------------------------------

    def apply(self, *args: Any) -> Any:
        """The result of the function's backward for these gradients.

        The gradients are tensors, one for each output.
        """
        if self._forward_cls.boxed_grads_call:
            return way_back(self)(self, list(args))
        return way_back(self)(self, *args)

    def apply_boxed(self, grads: list[Any]) -> Any:
        """The result of the function's backward for gradients in a list.

        The backward may remove gradients from the list to free them early.
        """
        return way_back(self)(self, grads)

    def apply_jvp(self, *args: Any) -> Any:
        """The result of the function's jvp for these tangents.

        One tangent for each argument of forward.
        """
        return self._forward_cls.jvp(self, *args)

    def _ad_pull_back(self, cotangent: Any, create_graph: bool) -> list[Any]:
        """The cotangents of the inputs, one for each edge; raw arrays, or Tensors if create_graph is true."""
        grads: Any
        if self._ad_n_outputs == 1:
            grads = [as_received(self, cotangent, 0, create_graph)]
        else:
            cotangents = cotangent or [None] * self._ad_n_outputs
            grads = [as_received(self, g, nr, create_graph) for nr, g in enumerate(cotangents)]
        model = None
        if self._ad_model is not None:
            model = next((g._array for g in grads if g is not None), self._ad_model)
        if not self._ad_keeps_undefined:
            grads = [zeros_of(self, nr, model) if g is None else g for nr, g in enumerate(grads)]
        if model is None:
            returned = self.apply(*grads)
        else:
            # though the batch may be over, this is part of the function that was mapped
            with in_batches(batches_of(model)):
                returned = self.apply(*grads)
        cotangents = returned if isinstance(returned, tuple) else (returned,)
        if len(cotangents) != self._ad_n_arguments:
            cotangents = without_surplus(self, cotangents)
        # the arrays that arrived may now be handed on
        grads = cotangent = returned = None
        gradients: list[Any] = []
        for i, (node, nr) in enumerate(self.next_functions):
            g = cotangents[self._ad_places[i]]
            if g is not None and not isinstance(g, TensorBase):
                raise RuntimeError(f"expected Variable or None (got {type_name(g)})")
            if g is None or node is None:
                # hooks of this node see the gradient even if nothing needs it
                gradients.append(g if g is None or create_graph else g._array)
                continue
            shape, kind = output_shape(node, nr), output_dtype(node, nr)
            if g._array.shape != shape or g._array.dtype != kind:
                check_fit(self, g._array, shape, kind, i)
            gradients.append(project_tensor(g, shape, kind) if create_graph else project(g._array, shape, kind))
        if len(self._ad_places) != self._ad_n_arguments:
            check_constants(self, cotangents)
        return gradients


# Plain functions: users may give `ctx` attributes of any name, which methods would hide.


def forget(node: BackwardCFunction) -> None:
    """Drop the declarations; outputs among them would form a cycle that is never freed."""
    node.to_save = node.saved_for_forward = node.dirty_tensors = node.non_differentiable = None


def save(node: BackwardCFunction, outputs: Sequence[Any]) -> None:
    """Keep the tensors given to save_for_backward, with their versions."""
    numbers = {id(output): nr for nr, output in enumerate(outputs)}
    entries = []
    for position, tensor in enumerate(node.to_save or ()):
        if not (isinstance(tensor, TensorBase) or tensor is None):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {position} is of type {type_name(tensor)}"
            )
        entries.append(None if tensor is None else saved_slot(node, tensor, numbers.get(id(tensor))))
    node._ad_saved = tuple(entries)
    if current().locations:
        node.__dict__["_ad_saved_at"] = caller()


def saved_slot(node: BackwardCFunction, tensor: TensorBase, nr: int | None) -> SavedTensor:
    """One saved tensor; an output (of number nr), or a view of one, is saved as an array: it holds the node."""
    view = tensor._view
    if nr is not None:
        saved = save_result(tensor, nr)
    else:
        saved = save_input(tensor)
        if tensor._node is not node and (view is None or view.base._node is not node):
            saved.original = tensor
    if current().saved_hooks:
        pack_by_mode(saved, unpacked_value(node, saved), node)
    return saved


def unpacked_value(node: BackwardCFunction, saved: SavedTensor) -> Tensor:
    """A saved tensor with its history."""
    tensor: Any = unpack_saved(saved, node)
    if not saved.from_input:
        tensor._tangents = (node._ad_tangents or {}).get(saved.output_nr)
        base = None if node._ad_owner is None else node._ad_owner()
        if base is not None:
            # a view that was modified in place has its history from its base
            part = base.part()
            tensor._node, tensor._output_nr = part._node, part._output_nr
    return tensor


def way_back(node: BackwardCFunction) -> Callable[..., Any]:
    """The function's backward, or vjp. Raises RuntimeError if it has both."""
    cls = node._forward_cls
    backward, vjp, default = cls.backward, cls.vjp, cls._no_backward
    if vjp is default:
        return backward
    if backward is not default:
        raise RuntimeError(TWO_WAYS_BACK)
    return vjp


def as_received(node: BackwardCFunction, cotangent: Any, nr: int, create_graph: bool) -> Tensor | None:
    """The cotangent of one output as backward gets it."""
    if cotangent is None:
        return None
    tensor: Any = cotangent if create_graph else new_tensor(cotangent)
    if node._ad_grad_dtypes is not None:
        target = node._ad_grad_dtypes[nr]
        if target is not None and tensor.dtype is not target:
            tensor = ops.cast(tensor, target)
    return tensor


def zeros_of(node: BackwardCFunction, nr: int, model: Any) -> Tensor | None:
    """Zeros like one output; None for other values, and if set_materialize_grads(False) was called."""
    shape, kind = output_shape(node, nr), output_dtype(node, nr)
    if shape is None or (node._ad_undefined_integers and kind is not None and kind.kind in "biu"):
        return None
    if model is None:
        return new_tensor(numpy.zeros(shape, kind))
    return new_tensor(in_batch_of(namespace(model).zeros(shape, dtype=kind), model))


def without_surplus(node: BackwardCFunction, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
    """The cotangents without None behind the last argument. Raises RuntimeError if their number is wrong."""
    n, number = node._ad_n_arguments, len(gradients)
    if number < n or any(g is not None for g in gradients[n:]):
        raise RuntimeError(
            f"function {errors.name_of(node)} returned an incorrect number of gradients (expected {n}, got {number})"
        )
    return gradients[:n]


def check_constants(node: BackwardCFunction, gradients: tuple[Any, ...]) -> None:
    """Raise RuntimeError if there is a cotangent for an argument that is no tensor."""
    for position, g in enumerate(gradients):
        if g is not None and position not in node._ad_places:
            raise RuntimeError(
                f"function {errors.name_of(node)} returned a gradient different than None at position {position + 1}, "
                "but the corresponding forward input was not a Variable"
            )


def check_fit(node: BackwardCFunction, array: Any, shape: tuple[int, ...], kind: Any, i: int) -> None:
    """Raise RuntimeError if a cotangent does not fit an input of this shape and dtype."""
    message = f"Function {errors.name_of(node)} returned an invalid gradient at index {i} - "
    if array.shape != shape and not expands_to(shape, array.shape):
        raise RuntimeError(
            f"{message}got {errors.sizes(array.shape)} but expected shape compatible with {errors.sizes(shape)}"
        )
    if kind is not None and kind_of(array) == "c" and kind_of(kind) != "c":
        raise RuntimeError(
            f"{message}expected type {from_numpy_dtype(kind)} but got {from_numpy_dtype(array.dtype)}: the gradient "
            "of a real input is real"
        )


def expands_to(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """True if an array of a shape can be expanded to another."""
    try:
        return tuple(broadcast_shapes(shape, target)) == tuple(target)
    except RuntimeError:
        return False
