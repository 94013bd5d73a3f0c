"""Custom functions: subclasses of `Function` define a computation and its derivative.

`apply` runs forward without recording and makes its returned values the outputs of one node (`record`). Then it runs
the jvp at each level of forward mode where an argument has a tangent (`evaluate`). Inside vmap a function that sets
generate_vmap_rule runs on batched tensors like any code; `vmap_rules` calls the function's own vmap rule.
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.size import type_name
from adjoint.core import errors
from adjoint.core.graph import (
    FunctionNode,
    TensorBase,
    bump_version,
    connect_inputs,
    needs_grad,
    new_node,
    next_sequence_nr,
    registry,
    version_of,
)
from adjoint.core.in_place import rebase
from adjoint.core.modes.grad_mode import no_grad
from adjoint.core.modes.profiling import CUSTOM, current_profiler
from adjoint.core.modes.state import current, is_grad_enabled
from adjoint.core.operations.recorder import is_inexact
from adjoint.core.recorded import announce
from adjoint.runtime.pytree import flatten
from adjoint.tensor.differentiate import needing_grad
from adjoint.tensor.older.volatile import run_function
from adjoint.tensor.table import ops
from adjoint.transforms import duals, forward
from adjoint.transforms.custom_functions.context import MORE, BackwardCFunction, FunctionCtx, forget, save

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
    from adjoint.transforms.custom_functions.vmap_rules import VmapInfo

NO_BACKWARD = (
    "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
    "mode AD."
)
NO_SETUP_CONTEXT = (
    "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
    f"the setup_context staticmethod. {MORE}"
)
LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
    "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)
DIRTY_NOT_RETURNED = (
    "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
    "inplace must all be outputs of the Function."
)
DIRTY_VIEW_OF_SEVERAL = (
    "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
    "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input is "
    "not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
    "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
    "operations)."
)
DIRTY_NO_INPUT = (
    "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
    "passed to ctx.mark_dirty()."
)
DIRTY_TANGENT_AS_IT_WAS = (
    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
    "input inplace, then the jvp function must modify the corresponding gradient inplace."
)
DIRTY_TANGENT = (
    "An inplace custom Function is not returning the forward mode gradients as-is. If the forward is modifying an "
    "input inplace, then the jvp function must modify the gradient inplace and return it as-is."
)
DIRTY_LEAF = "a leaf Variable that requires grad has been used in an in-place operation."
ONCE = "trying to differentiate twice a function that was marked with @once_differentiable"


# the class ------------------------------------------------------------------------------------------------------------


class FunctionMeta(type):
    """The class of Functions. It gives each Function its class of nodes.

    The nodes of `MyFunction` are objects of `MyFunctionBackward`.
    """

    _backward_cls: type[BackwardCFunction]
    _signature_of: tuple[Any, inspect.Signature, int, float] | None

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        super().__init__(name, bases, attributes)
        node = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls})
        node.__module__ = "adjoint.autograd.function"
        cls._backward_cls = node
        cls._signature_of = None


class Function(FunctionCtx, metaclass=FunctionMeta):
    """A function with its own derivative: subclass it, and call `apply`.

    forward(ctx, *args) computes and returns a Tensor, or a tuple that may also contain other values. In the other form,
    forward(*args) computes, and setup_context(ctx, inputs, output) makes the declarations on `ctx` (`FunctionCtx`).
    forward runs without recording. An input that it modifies must be passed to ctx.mark_dirty and returned.

    backward(ctx, *grad_outputs) (or vjp) gets a gradient for each returned value, None for a value that is no tensor.
    It returns one for each argument, None for an argument without a gradient. With create_graph it is recorded, so a
    backward of differentiable operations can be differentiated again.

    jvp(ctx, *tangents) gets a tangent for each argument and returns one for each returned value.

    vmap(info, in_dims, *args) gets whole batches and returns (output, out_dims). With generate_vmap_rule = True,
    forward, backward and jvp run on batched tensors instead.

    >>> import adjoint
    >>> class Exp(adjoint.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         y = x.exp()
    ...         ctx.save_for_backward(y)
    ...         return y
    ...     @staticmethod
    ...     def backward(ctx, g):
    ...         (y,) = ctx.saved_tensors
    ...         return g * y
    >>> x = adjoint.zeros(2, requires_grad=True)
    >>> Exp.apply(x)
    tensor([1., 1.], grad_fn=<ExpBackward>)
    """

    _backward_cls: type[BackwardCFunction]

    #: vmap runs forward, backward and jvp on batched tensors.
    generate_vmap_rule = False
    #: ctx.saved_tensors can be read once, and is freed then, before the node has run.
    clear_saved_tensors_on_access = False
    #: backward gets its gradients as one list, and may remove them from it.
    boxed_grads_call = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(LEGACY)

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the result: forward(ctx, *args), or forward(*args) together with setup_context.

        To be overridden. Returns a Tensor, or a tuple that may contain other values.
        """
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Declare on ctx the values for backward and jvp, if forward has no ctx.

        inputs: the arguments of forward. output: its result. To be overridden.
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments from the gradients of the outputs.

        To be overridden. Returns one gradient for each argument of forward, None for an argument without a gradient.
        """
        raise NotImplementedError(NO_BACKWARD)

    # vjp and backward are two names of one method
    vjp = _no_backward = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs from the tangents of the arguments.

        To be overridden. Gets one tangent for each argument of forward, None for an argument that is no tensor.
        """
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: VmapInfo, in_dims: tuple[Any, ...], *args: Any) -> tuple[Any, Any]:
        """The outputs for a whole batch, and the axes along which the members lie in them.

        in_dims has the structure of args, with the axis of the batch for a batched argument and None for another.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function; arguments may be given by the names that forward has for them.

        Raises the errors of forward; RuntimeError for declarations on ctx that break the rules; TypeError for arguments
        that forward does not take.
        """
        separate = cls.setup_context is not _no_setup_context
        if kwargs or separate:
            args = positional_arguments(cls, args, kwargs)
        state = current()
        if state.unusual or state.batches:
            return apply_in_transforms(cls, args)
        if state.transforms:
            check_setup_context(cls)
        node, outputs, single = record(cls, args, separate)
        forget(node)
        return outputs[0] if single else outputs


_no_setup_context = Function.setup_context
_no_vmap = Function.vmap


def has_setup_context(cls: type[Function]) -> bool:
    """True if a function has a forward without ctx."""
    return cls.setup_context is not _no_setup_context


def check_setup_context(cls: type[Function]) -> None:
    """Raise RuntimeError unless a function can be used under transformations of functions."""
    if not has_setup_context(cls):
        raise RuntimeError(NO_SETUP_CONTEXT)


def positional_arguments(cls: type[Function], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments by position, in the order of forward's parameters.

    Defaults are filled in where there is a setup_context, which wants all inputs, and otherwise before the last one
    given by name.
    """
    signature, least, most = parameters_of(cls)
    if not kwargs and least <= len(args) <= most:
        return args
    for name in kwargs:
        parameter = signature.parameters.get(name)
        if parameter is None or parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
    if has_setup_context(cls):
        arguments = signature.bind(*args, **kwargs)
        arguments.apply_defaults()
        if arguments.kwargs:
            raise TypeError(f"forward() got an unexpected keyword argument '{next(iter(arguments.kwargs))}'")
        return arguments.args
    values = list(args)
    names = list(signature.parameters)
    last = max(names.index(name) for name in kwargs)
    for name in names[: len(args)]:
        if name in kwargs:
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    for position in range(len(args), last + 1):
        default = signature.parameters[names[position]].default
        if names[position] not in kwargs and default is inspect.Parameter.empty:
            raise TypeError(f"forward() missing required argument: '{names[position]}' (position {position})")
        values.append(kwargs.get(names[position], default))
    return tuple(values)


def parameters_of(cls: type[Function]) -> tuple[inspect.Signature, int, float]:
    """The signature of forward without ctx, and how many arguments, from least to most, leave no default to fill in."""
    function = cls.forward
    cached_signature = cls._signature_of
    if cached_signature is None or cached_signature[0] != function:
        signature = inspect.signature(function)
        if not has_setup_context(cls):
            signature = signature.replace(parameters=list(signature.parameters.values())[1:])
        kinds = [parameter.kind for parameter in signature.parameters.values()]
        least = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD) + kinds.count(inspect.Parameter.POSITIONAL_ONLY)
        most = math.inf if inspect.Parameter.VAR_POSITIONAL in kinds else least
        if inspect.Parameter.KEYWORD_ONLY in kinds:
            most = -1
        cached_signature = cls._signature_of = (function, signature, least, most)
    return cached_signature[1:]


# running and recording ------------------------------------------------------------------------------------------------


def record(cls: type[Function], args: tuple[Any, ...], separate: bool) -> tuple[Any, tuple[Any, ...], bool]:
    """Run a function: its node, the returned values as a tuple, and whether it returned one value and no tuple.

    separate: forward takes no ctx.
    """
    state = current()
    enabled = state.grad_enabled
    node: Any = new_node(cls._backward_cls, BackwardCFunction)
    needs = tuple([isinstance(value, TensorBase) and needs_grad(value) for value in args])
    node.needs_input_grad = needs
    records = enabled and True in needs
    if records:
        connect(node, args, needs)
        if state.unusual:
            announce(node)
    forward_off = state.forward_off
    state.grad_enabled, state.forward_off = False, True
    try:
        if separate:
            returned = evaluate_forward(cls, args)
            cls.setup_context(node, args, returned)
        else:
            returned = cls.forward(node, *args)
    finally:
        state.grad_enabled, state.forward_off = enabled, forward_off
    if isinstance(returned, tuple):
        return node, finish(node, args, returned, records), False
    if records and is_new(node, args, returned):
        returned._node, returned._requires = node, False
        node._ad_n_outputs, node._ad_shape, node._ad_dtype = 1, returned._array.shape, returned._array.dtype
        if node.to_save:
            save(node, (returned,))
        return node, (returned,), True
    return node, finish(node, args, (returned,), records), True


def is_new(node: Any, args: tuple[Any, ...], value: Any) -> bool:
    """True for an ordinary result: one tensor with a gradient, in memory of its own, without declarations."""
    if not isinstance(value, TensorBase) or type(value._array) is not numpy.ndarray:
        return False
    if node.dirty_tensors or node.non_differentiable or node._ad_grad_dtypes or value._view is not None:
        return False
    return value._output_nr == 0 and is_inexact(value._array.dtype) and all(value is not other for other in args)


def connect(node: Any, args: tuple[Any, ...], needs: tuple[bool, ...]) -> None:
    """Let the node point to the nodes of its inputs; every tensor among the arguments has an edge."""
    positions: tuple[int, ...] = (0,)
    tensors = args
    if len(args) == 1:
        connect_inputs(node, list(args))
    else:
        positions = tuple([position for position, value in enumerate(args) if isinstance(value, TensorBase)])
        tensors = tuple([args[position] for position in positions])
        connect_inputs(node, [args[position] if needs[position] else None for position in positions])
    cross: Any = registry.cross
    if cross is not None and any(type(tensor._array) is not numpy.ndarray for tensor in tensors):
        cross(node, tensors, tensors)
    node._ad_places = positions
    node._ad_n_arguments = len(args)
    node._ad_sequence_nr = next_sequence_nr()


def finish(node: Any, args: tuple[Any, ...], returned: tuple[Any, ...], records: bool) -> tuple[Any, ...]:
    """The returned values as outputs of the node, with the declarations about them and the inputs."""
    dirty = checked_dirty(node, returned)
    inputs = {id(value): position for position, value in enumerate(args) if isinstance(value, TensorBase)}
    if not dirty <= inputs.keys():
        warnings.warn(DIRTY_NO_INPUT, stacklevel=4)
    constant = {id(tensor) for tensor in checked_constants(node)}
    tensors = [value for value in returned if isinstance(value, TensorBase)]
    origin = "custom" if len(tensors) == 1 else "custom_outputs"
    outputs: list[Any] = []
    for nr, value in enumerate(returned):
        if isinstance(value, TensorBase):
            is_input, is_dirty = id(value) in inputs, id(value) in dirty
            if is_dirty and is_grad_enabled():
                check_in_place(value, records, len(tensors))
            if not (records and is_inexact(value._array.dtype) and id(value) not in constant):
                value = without_history(value, is_input, is_dirty)
            elif is_dirty and is_input:
                rebase(value, node, node._ad_places.index(inputs[id(value)]), nr)
            else:
                value = with_history(value, node, nr, is_input, origin)
        outputs.append(value)
    node.non_differentiable = tuple([o for o, value in zip(outputs, returned, strict=True) if id(value) in constant])
    if records:
        describe_outputs(node, outputs)
        if node.to_save:
            save(node, outputs)
    return tuple(outputs)


def checked_dirty(node: Any, returned: tuple[Any, ...]) -> set[int]:
    """The tensors that were modified in place, by their ids; their versions are counted.

    Raises RuntimeError for an object that is no tensor or was not returned.
    """
    if not node.dirty_tensors:
        return set()
    for position, tensor in enumerate(node.dirty_tensors):
        if not isinstance(tensor, TensorBase):
            raise RuntimeError(
                f"mark_dirty can only accept variables, but argument {position} is of type {type_name(tensor)}"
            )
    dirty = {id(tensor) for tensor in node.dirty_tensors}
    if not dirty <= {id(value) for value in returned}:
        raise RuntimeError(DIRTY_NOT_RETURNED)
    for tensor in node.dirty_tensors:
        bump_version(tensor)
    return dirty


def checked_constants(node: Any) -> tuple[Tensor, ...]:
    """The outputs that have no gradient. Raises RuntimeError for an object that is no tensor."""
    for tensor in node.non_differentiable or ():
        if not isinstance(tensor, TensorBase):
            raise RuntimeError(f"mark_non_differentiable only accepts variable arguments, but got {type_name(tensor)}")
    return node.non_differentiable or ()


def without_history(value: Any, is_input: bool, is_dirty: bool) -> Tensor:
    """An output without gradient: never an input itself, unless that was modified."""
    if not (is_input or is_dirty):
        return value
    if needs_grad(value):
        return value.detach()
    if is_dirty:
        return value
    # a history that the view got later would lack the function
    with no_grad():
        return ops.view(value, value._array.shape)


def with_history(value: Any, node: Any, nr: int, is_input: bool, origin: str) -> Tensor:
    """An output of the node; an input that was returned as it is becomes a view of itself."""
    if is_input:
        with no_grad():
            value = ops.view(value, value._array.shape)
    view = value._view
    if view is not None:
        view.origin, view.version = origin, version_of(value)
    value._node, value._output_nr, value._requires = node, nr, False
    return value


def check_in_place(tensor: TensorBase, records: bool, n_outputs: int) -> None:
    """Raise RuntimeError if an input must not have been modified in place while recording."""
    view = tensor._view
    if view is not None:
        # the write has made the history of a view stale, so these checks come before it is read
        if tensor._node is None and view.base._requires:
            raise RuntimeError(DIRTY_LEAF)
        if records and not tensor._requires and view.origin not in (None, errors.SEPARATE):
            raise errors.view_modified(view.origin, tensor._node, tensor._output_nr, False)
    if tensor._requires or (tensor.requires_grad and tensor.is_leaf):
        raise RuntimeError(DIRTY_LEAF)
    errors.check_in_place(tensor, int(records))
    if records and tensor._view is not None and n_outputs > 1:
        raise RuntimeError(DIRTY_VIEW_OF_SEVERAL)


def describe_outputs(node: Any, outputs: Sequence[Any]) -> None:
    """Store shapes and dtypes of the outputs in the node, for the conversion of cotangents."""
    arrays = [value._array if isinstance(value, TensorBase) else None for value in outputs]
    shapes = tuple([None if array is None else array.shape for array in arrays])
    kinds = tuple([None if array is None else array.dtype for array in arrays])
    node._ad_n_outputs = len(outputs)
    if node._ad_grad_dtypes is not None:
        kinds = declared_dtypes(node, kinds)
    if len(outputs) == 1:
        node._ad_shape, node._ad_dtype = shapes[0], kinds[0]
    else:
        node._ad_shape, node._ad_dtype = shapes, kinds
    node._ad_model = next((a for a in arrays if a is not None and type(a) is not numpy.ndarray), None)


def declared_dtypes(node: Any, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    """The declared dtypes of backward's gradients.

    Raises RuntimeError for a number of dtypes other than the number of outputs, and for an output without a gradient.
    """
    dtypes = node._ad_grad_dtypes
    if len(dtypes) != len(kinds):
        raise RuntimeError(
            f"set_output_grad_dtype got {len(dtypes)} dtypes, but the function {errors.name_of(node)} returned "
            f"{len(kinds)} values"
        )
    for nr, (dtype, kind) in enumerate(zip(dtypes, kinds, strict=True)):
        if dtype is not None and (kind is None or not is_inexact(kind)):
            raise RuntimeError(
                f"set_output_grad_dtype got {dtype} for output {nr} of {errors.name_of(node)}, which has no gradient; "
                "pass None"
            )
    return tuple(None if dtype is None else dtype.numpy for dtype in dtypes)


# forward mode ---------------------------------------------------------------------------------------------------------


def evaluate(cls: type[Function], args: tuple[Any, ...], levels: tuple[int, ...]) -> Any:
    """Run a function at these levels of forward mode; returns the results of `record`."""
    if not levels:
        return record(cls, args, has_setup_context(cls))
    *outer, level = levels
    tangents: list[Any] = [
        forward.tangent_of(value, level) if isinstance(value, TensorBase) else None for value in args
    ]
    with forward.outside(tuple(outer)):
        node, outputs, single = evaluate(cls, args, tuple(outer))
        if all(t is None for t in tangents):
            hide_tangents(outputs, level)
            return node, outputs, single
        propagation = forward.propagation_of(level)
        if propagation is not None:
            note_series(node, args, tangents, outputs, level, propagation)
            return node, outputs, single
        dirty = {id(tensor) for tensor in node.dirty_tensors or ()}
        coming = next(t for t in tangents if t is not None)
        input_tangents: list[Any] = [
            given_tangent(node, value, t, id(value) in dirty, level, coming)
            for value, t in zip(args, tangents, strict=True)
        ]
        versions = [None if t is None else version_of(t) for t in input_tangents]
        results = push_tangents(node, input_tangents, len(outputs))
        modified = {id(value): position for position, value in enumerate(args) if id(value) in dirty}
        for nr, (output, t) in enumerate(zip(outputs, results, strict=True)):
            position = modified.get(id(output))
            if position is None:
                note_tangent(node, nr, output, t, level, args, tangents)
            elif tangents[position] is not None:
                check_modified(t, tangents[position], versions[position])
            elif t is not input_tangents[position]:
                check_tangent_shape(output, t)
                input_tangents[position].copy_(t)
    return node, outputs, single


def note_series(
    node: Any,
    args: tuple[Any, ...],
    series: list[Any],
    outputs: tuple[Any, ...],
    level: int,
    propagation: forward.Propagation,
) -> None:
    """Give the outputs their Taylor series. Raises NotImplementedError if the function modified an argument."""
    if node.dirty_tensors:
        raise NotImplementedError(
            f"Taylor series do not pass through {errors.name_of(node)}, which modifies an argument in place: give back "
            "a new Tensor"
        )

    def push(rates: list[Any]) -> tuple[Any, ...]:
        coming = next(rate for rate in rates if rate is not None)
        tangents = [given_tangent(node, a, r, False, level, coming) for a, r in zip(args, rates, strict=True)]
        return push_tangents(node, tangents, len(outputs))

    for nr, (output, tangent) in enumerate(zip(outputs, propagation.of_function(push, series, outputs), strict=True)):
        if tangent is not None:
            forward.set_tangent(output, level, tangent)
            if output._node is node:
                node._ad_tangents = node._ad_tangents or {}
                node._ad_tangents[nr] = output._tangents


def check_modified(returned: Tensor | None, expected: Tensor, version: int | None) -> None:
    """Raise RuntimeError unless jvp modified the tangent of a modified input in place and returned the same tensor.

    As in torch, the first message is for any tensor whose version is the tangent's earlier version.
    """
    if returned is None or (version_of(returned) == version and not expected.is_inference()):
        raise RuntimeError(DIRTY_TANGENT_AS_IT_WAS)
    if returned is not expected:
        raise RuntimeError(DIRTY_TANGENT)


def hide_tangents(outputs: Sequence[Any], level: int) -> None:
    """Let outputs of arguments without tangents have none: a view of a primal shares memory with a tensor that has."""
    for output in outputs:
        if (
            isinstance(output, TensorBase)
            and output._view is not None
            and forward.tangent_of(output, level) is not None
        ):
            forward.set_tangent(output, level, None)


def check_tangent_shape(output: TensorBase, tangent: Tensor | None) -> None:
    """Raise RuntimeError if jvp returned nothing for an output, or a tangent of another shape."""
    if tangent is None:
        raise RuntimeError(DIRTY_TANGENT_AS_IT_WAS)
    if tangent._array.shape != output._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {errors.sizes(output._array.shape)} while the given forward gradient is of "
            f"size {errors.sizes(tangent._array.shape)}."
        )


def given_tangent(
    node: Any, value: Any, tangent: Tensor | None, is_dirty: bool, level: int, coming: Tensor
) -> Tensor | None:
    """The tangent of one argument for jvp; for a modified argument, the tensor that jvp must modify.

    coming: the tangent of another argument; the modified tensor gets the same batches.
    """
    if tangent is not None or not isinstance(value, TensorBase) or not is_inexact(value._array.dtype):
        return tangent
    if is_dirty:
        return forward.make_zero_tangent(value, level, coming)
    return None if node._ad_keeps_undefined else ops.zeros_like(value)


def push_tangents(node: Any, tangents: list[Any], n_outputs: int) -> tuple[Any, ...]:
    """The result of jvp for the tangents, one for each returned value."""
    node._ad_in_jvp = True
    try:
        returned = node.apply_jvp(*tangents)
    finally:
        node._ad_in_jvp = False
    results = returned if isinstance(returned, tuple) else (returned,)
    if len(results) != n_outputs:
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {n_outputs} but got "
            f"{len(results)})"
        )
    for nr, t in enumerate(results):
        if not (t is None or isinstance(t, TensorBase)):
            raise RuntimeError(f"expected Variable or None (got {type_name(t)}) for grad output {nr}.")
    return results


def note_tangent(
    node: Any, nr: int, output: Any, tangent: Tensor | None, level: int, args: Sequence[Any], tangents: Sequence[Any]
) -> None:
    """Set the tangent of an output; tangents: the arguments' tangents. Raises RuntimeError for an invalid tangent."""
    constant = any(output is other for other in node.non_differentiable or ())
    if not isinstance(output, TensorBase) or constant or not is_inexact(output._array.dtype):
        if tangent is not None:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {nr}, but  the corresponding forward output is not a "
                "differentiable Tensor.You should return None at that position instead."
            )
        return
    if tangent is None:
        if output._view is not None:
            forward.set_tangent(output, level, None)
        return
    check_view(output, tangent, args, tangents)
    check_tangent_shape(output, tangent)
    tangent = duals.as_tangent_of(tangent, output)
    if output._view is None:
        tangent = duals.in_own_memory(tangent, {"": [t for t in tangents if t is not None]})
    forward.set_tangent(output, level, tangent)
    if output._node is node:
        if node._ad_tangents is None:
            node._ad_tangents = {}
        node._ad_tangents[nr] = output._tangents


def check_view(output: TensorBase, tangent: Tensor, args: Sequence[Any], tangents: Sequence[Any]) -> None:
    """Raise RuntimeError if an output is a view of an input, and its tangent none of that input's tangent."""
    if output._view is None:
        return
    for value, t in zip(args, tangents, strict=True):
        if isinstance(value, TensorBase) and base_of(value) is output._view.base and t is not None:
            if tangent._view is None:
                raise RuntimeError(
                    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning "
                    "a view."
                )
            if tangent._view.base is not base_of(t):
                raise RuntimeError(
                    "A custom Function is returning a view but the jvp is not returning a view of the given grad input."
                )
            return


def base_of(tensor: TensorBase) -> TensorBase:
    """The tensor whose memory this one is part of, perhaps itself."""
    return tensor if tensor._view is None else tensor._view.base


# vmap -----------------------------------------------------------------------------------------------------------------


def apply_in_transforms(cls: type[Function], args: tuple[Any, ...]) -> Any:
    """Call a function under dual levels, batches or other unusual modes."""
    profiler = current_profiler()
    if profiler is not None:
        return profiler.call(cls.__name__, functools.partial(apply_unobserved, cls), list(args), CUSTOM)
    return apply_unobserved(cls, args)


def apply_unobserved(cls: type[Function], args: Sequence[Any]) -> Any:
    """`apply_in_transforms` without a record for the profiler."""
    args = tuple(args)
    state = current()
    if state.transforms:
        check_setup_context(cls)
    if state.batches:
        # imported when it is first needed: vmap is large
        from adjoint.transforms.custom_functions.vmap_rules import batch_level, by_rule, differentiates_inside

        level = batch_level(args)
        if level and asks_rule(cls) and not differentiates_inside(level):
            return by_rule(cls, args, level)
    levels = () if state.forward_off else state.dual_stack

    def run() -> tuple[Any, tuple[Any, ...], bool]:
        return evaluate(cls, args, levels)

    node, outputs, single = run_function(run, args)
    forget(node)
    return outputs[0] if single else outputs


def asks_rule(cls: type[Function]) -> bool:
    """True if a function has a vmap rule of its own.

    Raises RuntimeError if it cannot be batched, or in two ways.
    """
    has_vmap_rule = cls.vmap is not _no_vmap
    if has_vmap_rule and cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
            "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
            f"ambiguity. {MORE}"
        )
    if not has_vmap_rule and not cls.generate_vmap_rule and current().transforms:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement "
            f"the vmap staticmethod or set generate_vmap_rule=True. {MORE}"
        )
    return has_vmap_rule


def evaluate_forward(cls: type[Function], args: tuple[Any, ...]) -> Any:
    """The result of a forward without ctx, by the vmap rule if the arguments are batched and there is one."""
    if current().batches:
        from adjoint.transforms.custom_functions.vmap_rules import batch_level, by_rule

        level = batch_level(args)
        if level and asks_rule(cls):
            return by_rule(cls, args, level)
    return cls.forward(*args)


# once differentiable --------------------------------------------------------------------------------------------------


class Error(FunctionNode):
    """The node of a result that must not be differentiated."""

    __slots__ = ()

    def name(self) -> str:
        """The name that the documents give this node."""
        return "torch::autograd::Error"


def refuse(node: Error, cotangent: Any, create_graph: bool) -> list[Any]:
    """Raise RuntimeError: this cannot be differentiated."""
    raise RuntimeError(ONCE)


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward that cannot be differentiated itself: it runs without recording.

    With create_graph its results require a gradient if its arguments do, and differentiating them raises RuntimeError.

    >>> import adjoint
    >>> from adjoint.autograd.function import once_differentiable
    >>> class Sin(adjoint.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x.sin()
    ...     @staticmethod
    ...     @once_differentiable
    ...     def backward(ctx, g):
    ...         (x,) = ctx.saved_tensors
    ...         return g * adjoint.from_numpy(x.detach().numpy()).cos()
    >>> x = adjoint.zeros(2, requires_grad=True)
    >>> Sin.apply(x).sum().backward()
    >>> x.grad
    tensor([1., 1.])
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        with no_grad():
            outputs = fn(ctx, *args)
        if not is_grad_enabled() or not any(isinstance(g, TensorBase) and g.requires_grad for g in args):
            return outputs
        if isinstance(outputs, tuple):
            return guard(outputs)
        return guard((outputs,))[0]

    return wrapper


def guard(outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Results of one node that raises when they are differentiated; its edges lead to leaves with their values."""
    arrays = [output._array if isinstance(output, TensorBase) else None for output in outputs]
    node = new_node(Error, FunctionNode)
    node.function = refuse
    shapes, kinds = zip(*[(None, None) if a is None else (a.shape, a.dtype) for a in arrays], strict=True)
    node._ad_n_outputs = len(arrays)
    node._ad_shape, node._ad_dtype = (shapes[0], kinds[0]) if len(arrays) == 1 else (shapes, kinds)
    leaves = [
        None if array is None or not is_inexact(array.dtype) else needing_grad(output.detach())
        for array, output in zip(arrays, outputs, strict=True)
    ]
    # only their nodes hold the leaves
    connect_inputs(node, leaves)
    node._ad_sequence_nr = next_sequence_nr()
    results = [output if array is None else output.detach() for array, output in zip(arrays, outputs, strict=True)]
    for nr, leaf in enumerate(leaves):
        if leaf is not None:
            results[nr]._node, results[nr]._output_nr = node, nr
    return tuple(results)


# for old code ---------------------------------------------------------------------------------------------------------


class InplaceFunction(Function):
    """A Function whose objects store whether they work in place; for programs of older versions.

    inplace: the value of the attribute of this name.
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class NestedIOFunction(Function):
    """For old code only: a Function of tensors in nested tuples, lists and dicts.

    Override forward_extended(ctx, *inputs) and backward_extended(ctx, *grad_outputs), which give and get gradients in
    the structure of inputs and outputs. New code takes `adjoint.autograd.custom`.
    """

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Call the function with nested arguments.

        It is `Function.apply` if the subclass has a forward of its own.
        """
        if cls.forward is not NestedIOFunction.forward:
            return super().apply(*args, **kwargs)
        leaves, structure = flatten(args)
        *outputs, shape = super().apply(structure, *leaves)
        return shape.unflatten(outputs)

    @staticmethod
    def forward(ctx: Any, structure: Any, *leaves: Any) -> Any:
        """The results of forward_extended, leaf by leaf, and their structure.

        A subclass overrides forward_extended instead.
        """
        ctx._ad_structures = [structure]
        outputs, shape = flatten(ctx._forward_cls.forward_extended(ctx, *structure.unflatten(leaves)))
        ctx._ad_structures.append(shape)
        return (*outputs, shape)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """The results of backward_extended, leaf by leaf.

        A subclass overrides backward_extended instead.
        """
        structure, shape = ctx._ad_structures
        nested = shape.unflatten(gradients[:-1])
        grads = nested if isinstance(nested, tuple) else (nested,)
        cotangents = ctx._forward_cls.backward_extended(ctx, *grads)
        return (None, *structure.flatten_up_to(cotangents if isinstance(cotangents, tuple) else (cotangents,)))

    def forward_extended(self, *input: Any) -> Any:
        """The result of the function, nested tensors.

        To be overridden.
        """
        raise NotImplementedError

    def backward_extended(self, *grad_output: Any) -> Any:
        """The gradients of the inputs, in the structure of the inputs.

        To be overridden.
        """
        raise NotImplementedError
