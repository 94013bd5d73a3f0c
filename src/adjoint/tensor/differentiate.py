"""`backward` and `grad`: from Tensors to the engine and back, with torch's checks and messages."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import from_numpy_dtype, kind_of
from adjoint.arrays.namespace import namespace
from adjoint.arrays.size import Size, type_name
from adjoint.core import errors
from adjoint.core.edges import GradientEdge, as_edge
from adjoint.core.engine import as_results, gradients_of, run_backward
from adjoint.core.graph import TensorBase, new_tensor, output_dtype, output_shape, registry
from adjoint.core.modes.batches import running, vmap_batches
from adjoint.core.modes.profiling import current_profiler
from adjoint.core.modes.state import current
from adjoint.core.recorded import TensorOps
from adjoint.runtime.lazy import LateModule
from adjoint.runtime.once import warn_once
from adjoint.tensor.older.older_names import older_names
from adjoint.tensor.subclasses import gradients_like

if TYPE_CHECKING:
    from adjoint.tensor.older import stochastic
else:
    stochastic = LateModule("adjoint.tensor.older.stochastic")

ONLY_INPUTS = (
    "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts "
    "of the graph, please use adjoint.autograd.backward."
)

Target = TensorBase | GradientEdge
Targets = Target | Sequence[Target]

_ops: Any = TensorOps()
_TENSORS = (TensorBase, tuple, list)


def needing_grad(tensor: Any, requires_grad: bool = True) -> Any:
    """The tensor itself, a leaf that requires grad, or not; also inside of transformations."""
    is_leaf = tensor.is_leaf
    if requires_grad and is_leaf and kind_of(tensor._array) not in "fcV":
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    if is_leaf or not requires_grad:
        tensor.requires_grad = requires_grad
    return tensor


@older_names(variables="tensors", retain_variables="retain_graph")
def backward(
    tensors: Targets,
    grad_tensors: TensorBase | Sequence[TensorBase | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: TensorBase | Sequence[TensorBase | None] | None = None,
    inputs: Targets | None = None,
) -> None:
    """Compute the sum of gradients of the given tensors with respect to graph leaves, into their `.grad`.

    Args:
        tensors: the tensors to differentiate, of any shapes; a GradientEdge replaces the tensor whose edge it is.
        grad_tensors: the cotangent of each, of the same shape; None where the tensor has one element.
        retain_graph: keep the graph for another pass (default: the value of create_graph).
        create_graph: record the pass itself, so that gradients can be differentiated again.
        inputs: accumulate into these tensors (or edges) only.

    Raises:
        RuntimeError: a tensor needs no gradient, has several elements but no cotangent, or shapes differ; the graph
            was freed; a saved value was modified in place.

    >>> import adjoint
    >>> x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    >>> adjoint.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([2., 4.])
    """
    state = current()
    if vmap_batches() or (state.transforms and state.run is None):
        raise RuntimeError(errors.BACKWARD_IN_TRANSFORM)
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                "Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    if create_graph:
        warn_once(errors.CYCLE_OF_GRADIENTS)
    roots = as_sequence(tensors)
    targets = None if inputs is None else as_sequence(inputs, are_inputs=True)
    if targets is not None and not targets:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    cotangents = make_cotangents(roots, grad_tensors, create_graph)
    retain = create_graph if retain_graph is None else retain_graph
    captures: dict[Any, list[Any]] | None = None
    if targets is not None:
        captures = {}
        for index, tensor in enumerate(targets):
            check_requires_grad(tensor, index)
            if isinstance(tensor, TensorBase) and not tensor.is_leaf:
                tensor.retain_grad()
            node = as_edge(tensor).node
            if node is not None:
                captures[node] = []
    run_backward(edges_of(roots), cotangents, retain, create_graph, captures, 0, True)


def grad(
    outputs: Targets,
    inputs: Targets | dict[Any, Target],
    grad_outputs: TensorBase | Sequence[TensorBase | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The sum of gradients of outputs with respect to the inputs.

    Args:
        outputs: the tensors to differentiate, or their edges, as returned by `graph.get_gradient_edge`.
        inputs: the tensors to differentiate by; a dict gives a dict of gradients under the same keys.
        grad_outputs: the cotangent of each output, with its shape; None for an output with one element.
        retain_graph: keep the graph for another pass (default: the value of create_graph).
        create_graph: record the pass itself, so that gradients can be differentiated again.
        only_inputs: deprecated and ignored.
        allow_unused: return None for an input on which no output depends, instead of an error.
        is_grads_batched: the first axis of each grad_output is a batch of cotangents; the pass runs once for all of
            them, and the gradients have the same axis in front.
        materialize_grads: return zeros instead of None for these inputs.

    Returns:
        A tuple with one gradient for each input, of its shape and dtype (a dict for a dict).

    Raises:
        RuntimeError: as `backward`, and if an input was not used and allow_unused is not set.

    >>> import adjoint
    >>> x = adjoint.tensor(3.0, requires_grad=True)
    >>> (slope,) = adjoint.autograd.grad(x**2, x, create_graph=True)
    >>> adjoint.autograd.grad(slope, x)
    (tensor(2.),)
    """
    members = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
    plain = only_inputs and not is_grads_batched and not (materialize_grads and allow_unused is False)
    if plain and isinstance(outputs, _TENSORS) and (grad_outputs is None or isinstance(grad_outputs, _TENSORS)):
        retain = create_graph if retain_graph is None else retain_graph
        quick = gradients_of(outputs, members, grad_outputs, retain, create_graph)
        if quick is not None:
            unused = allow_unused or materialize_grads
            quick_gradients = finish_gradients(quick, members, unused, create_graph, materialize_grads)
            return (
                gradients_like(quick_gradients, (outputs, members), grad_outputs)
                if registry.overriding
                else quick_gradients
            )
    if not only_inputs:
        warnings.warn(ONLY_INPUTS, FutureWarning, stacklevel=2)
    if isinstance(inputs, dict):
        values = grad(outputs, list(inputs.values()), grad_outputs, retain_graph, create_graph, only_inputs,
                      allow_unused, is_grads_batched, materialize_grads)  # fmt: skip
        return dict(zip(inputs, values, strict=True))
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    roots, targets = as_sequence(outputs), as_sequence(inputs, are_inputs=True)
    if is_grads_batched:
        return grad_of_batch(roots, targets, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    cotangents = make_cotangents(roots, grad_outputs, create_graph)
    captures: dict[Any, list[tuple[int, int]]] = {}
    for position, tensor in enumerate(targets):
        check_requires_grad(tensor, position)
        node, nr, _ = as_edge(tensor)
        if node is not None:
            # no operation uses a view without history that shows the flag of its base
            captures.setdefault(node, []).append((nr, position))
    retain = create_graph if retain_graph is None else retain_graph
    captured = run_backward(edges_of(roots), cotangents, retain, create_graph, captures, len(targets), False)
    gradients = finish_gradients(captured, targets, allow_unused or materialize_grads, create_graph, materialize_grads)
    return gradients_like(gradients, (roots, targets), grad_outputs) if registry.overriding else gradients


def finish_gradients(
    gradients: list[Any], targets: Sequence[Target], allow_unused: bool | None, create_graph: bool, materialize: bool
) -> tuple[TensorBase | None, ...]:
    """The captured cotangents as Tensors."""
    results: tuple[TensorBase, ...] | None = as_results(gradients)
    if results is not None:
        return results
    return tuple(
        [
            finish(value, tensor, index, allow_unused, create_graph, materialize)
            for index, (value, tensor) in enumerate(zip(gradients, targets, strict=True))
        ]
    )


def grad_of_batch(
    roots: list[Target],
    targets: list[Target],
    grad_outputs: Any,
    retain_graph: bool | None,
    create_graph: bool,
    allow_unused: bool | None,
    materialize: bool,
) -> tuple[TensorBase | None, ...]:
    """The gradients for a whole batch of cotangents, in one pass."""
    cotangents_given = listed_cotangents(roots, grad_outputs)
    size = batch_size(roots, cotangents_given)
    with running(size) as batch:
        cotangents = [_ops.batch_in(g, batch.level) for g in cotangents_given]
        gradients = grad(roots, targets, cotangents, retain_graph, create_graph, True, allow_unused or materialize)
        results = [None if g is None else of_all_members(g, batch.level, size) for g in gradients]
    if materialize:
        results = [_ops.zeros_like(x) if g is None else g for g, x in zip(results, targets, strict=True)]
    return tuple(results)


def of_all_members(tensor: TensorBase, level: int, size: int) -> TensorBase:
    """A tensor with a first axis for the members of a batch, repeated along it if it is equal for all."""
    array = tensor._array
    if getattr(array, "level", None) == level or any(number == level for number, _ in getattr(array, "batches", ())):
        return _ops.batch_out(tensor, level, size)
    return _ops.expand(tensor, (size, *tensor._array.shape))


def batch_size(roots: list[Target], cotangents: list[Any]) -> int:
    """The number of cotangents for each output. Raises where shapes do not fit or numbers differ."""
    for index, (root, g) in enumerate(zip(roots, cotangents, strict=False)):
        if g is None:
            check_implicit(sample_of(root))
            raise ValueError(errors.NO_BATCH)
        if not isinstance(g, TensorBase):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
        shape, expected = g._array.shape, sample_of(root).shape
        if not shape:
            raise IndexError("invalid index of a 0-dim tensor: a batch of cotangents has at least one axis")
        if shape[1:] != expected:
            shapes = {"given": Size(shape[1:]), "expected": Size(expected)}
            raise RuntimeError(errors.COTANGENT_OF_BATCH.format(index=index, **shapes))
    sizes = [g._array.shape[0] for g in cotangents]
    if len(set(sizes)) > 1:
        raise ValueError(errors.BATCH_SIZES.format(sizes=sizes))
    return int(sizes[0])


def finish(
    value: Any, tensor: Target, index: int, allow_unused: bool | None, create_graph: bool, materialize: bool
) -> TensorBase | None:
    """One captured cotangent as a Tensor."""
    if value is None:
        if not allow_unused:
            raise errors.UNUSED_INPUT.error(index=index)
        if not materialize:
            return None
        if isinstance(tensor, GradientEdge):
            raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
        zeros = zeros_for(tensor)
        return needing_grad(zeros) if create_graph else zeros
    return value if isinstance(value, TensorBase) else new_tensor(value)


def zeros_for(tensor: Any) -> TensorBase:
    """The gradient, a constant, of an input on which no output depends."""
    array = sample_of(tensor)
    return new_tensor(namespace(array).zeros_like(array))


def with_zeros(gradients: Sequence[TensorBase | None], targets: Sequence[TensorBase]) -> list[TensorBase]:
    """Gradients with constant zeros for inputs on which no output depends.

    Transformations need these; with materialize_grads and create_graph the zeros are leaves that require grad.
    """
    return [zeros_for(tensor) if g is None else g for g, tensor in zip(gradients, targets, strict=True)]


def as_sequence(targets: Any, are_inputs: bool = False) -> list[Target]:
    """One Tensor or edge or several, as a list. Raises TypeError for other objects, RuntimeError among inputs."""
    if isinstance(targets, (TensorBase, GradientEdge)):
        return [targets]
    members = list(targets)
    for member in members:
        if not isinstance(member, (TensorBase, GradientEdge)):
            if are_inputs:
                raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type_name(member)}")
            raise TypeError(f"expected Tensors, got {type(member).__name__}: {member!r:.60}")
    return members


def sample_of(target: Target) -> Any:
    """An array with the shape and dtype of a target's cotangent; its values do not matter."""
    if isinstance(target, TensorBase):
        return target._array
    node: Any = target.node
    nr = target.output_nr
    return numpy.broadcast_to(numpy.zeros((), output_dtype(node, nr)), output_shape(node, nr))


def needs_gradient(target: Target) -> bool:
    """True if gradients flow to a tensor; edges exist only where they do."""
    return isinstance(target, GradientEdge) or target.requires_grad


def check_requires_grad(target: Target, index: int) -> None:
    """Raise RuntimeError for a tensor that gradients do not flow to."""
    if not needs_gradient(target):
        shape = errors.sizes(sample_of(target).shape)
        raise errors.INPUT_WITHOUT_GRAD.error(
            f"It is the one at index {index}, of shape {shape}: call requires_grad_() on it before it is used."
        )


def edges_of(targets: list[Target]) -> list[tuple[Any, int]]:
    """The edges that receive the cotangents of these tensors."""
    for index, target in enumerate(targets):
        if not needs_gradient(target):
            raise errors.NO_GRAD_FN.error(index=index)
    edges = [as_edge(target)[:2] for target in targets]
    for index, (node, _) in enumerate(edges):
        if node is None:
            # a view without history that shows the flag of its base
            raise errors.NO_GRAD_FN.error(index=index)
    return edges


def make_cotangents(tensors: list[Target], grad_outputs: Any, create_graph: bool) -> list[Any]:
    """A cotangent for each tensor: the given one, or 1 for a tensor of one element."""
    return [
        make_cotangent(target, cotangent, index, create_graph)
        for index, (target, cotangent) in enumerate(
            zip(tensors, listed_cotangents(tensors, grad_outputs), strict=False)
        )
    ]


def listed_cotangents(tensors: list[Target], grad_outputs: Any) -> list[Any]:
    """The cotangents for these tensors as a list, None for missing ones."""
    if grad_outputs is None:
        return [None] * len(tensors)
    if isinstance(grad_outputs, TensorBase):
        grad_outputs = (grad_outputs,)
    grad_outputs = list(grad_outputs)
    if len(grad_outputs) < len(tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grad_outputs)} gradients")
    return grad_outputs


def make_cotangent(target: Target, value: Any, index: int, create_graph: bool) -> Any:
    """One cotangent, checked, raw or as a Tensor."""
    array = sample_of(target)
    if value is None:
        if not needs_gradient(target):
            raise errors.NO_GRAD_FN.error(index=index)
        if getattr(target, "_draw", None) is None or not stochastic.is_reinforced(target):
            check_implicit(array)
        profiler = current_profiler()
        raw = ones_like(array) if profiler is None else profiler.call("ones_like", lambda _: ones_like(array), [array])
        return new_tensor(raw) if create_graph else raw
    if not isinstance(value, TensorBase):
        raise TypeError(f"gradients can be either Tensors or None, but got {type(value).__name__}")
    if value._array.shape != array.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {Size(value._array.shape)} and "
            f"output[{index}] has a shape of {Size(array.shape)}."
        )
    if (kind_of(value._array) == "c") != (kind_of(array) == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in "
            f"dtype: grad_output[{index}] has a dtype of {from_numpy_dtype(value._array.dtype)} and "
            f"output[{index}] has a dtype of {from_numpy_dtype(array.dtype)}."
        )
    if value._array.dtype != array.dtype:
        value = value.to(from_numpy_dtype(array.dtype))
    there = dict(getattr(value._array, "batches", ()))
    batches = tuple([batch for batch in getattr(array, "batches", ()) if batch[0] not in there])
    if batches:
        # a tensor that differs between members of a batch has a cotangent for each
        value = _ops.batch_spread(value, batches)
    return value if create_graph or current().dual_stack else value._array


def ones_like(array: Any) -> Any:
    """An array of the same library, shape and dtype that is 1 everywhere."""
    return namespace(array).ones_like(array)


def check_implicit(array: Any) -> None:
    """Raise RuntimeError unless 1 is the natural cotangent: for one real element."""
    size = 1
    for n in array.shape:
        size *= n
    if size != 1:
        raise errors.NON_SCALAR.error(
            f"This one has shape {errors.sizes(array.shape)}: reduce it to one element, as in y.sum(), or give the "
            "gradient with respect to it."
        )
    kind = from_numpy_dtype(array.dtype)
    if not kind.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {kind}")
