"""Derivatives of functions as functions, under torch.func's names: grad, vjp, jvp, Jacobians, nested to any depth.

Reverse mode differentiates a recorded run. Each transformation runs its function on aliases of the arguments. An alias
is a new leaf, or a view if an outer transformation (or the user) already tracks the argument. Forward mode opens a
level. So both modes nest in any order, also with vmap.

Arguments and results are pytrees: tensors in tuples, lists, dicts, named tuples and dataclasses.

Under `no_grad` results have no history. Inside a differentiated function recording stays on, unless the function itself
turns it off.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import from_numpy_dtype
from adjoint.arrays.namespace import namespace
from adjoint.arrays.size import Size
from adjoint.core import errors
from adjoint.core.graph import (
    AccumulateGrad,
    TensorBase,
    cut_edges,
    gradient_edge,
    new_tensor,
    twin,
    upcoming_sequence_nr,
)
from adjoint.core.modes.batches import transforming
from adjoint.core.modes.grad_mode import enable_grad
from adjoint.core.modes.state import current, is_grad_enabled, thread_is_inferring, with_modes, with_plain_results
from adjoint.core.operations.dependence import differentiating, leads_elsewhere, recording_run
from adjoint.runtime.pytree import LEAF, TreeDef, flatten
from adjoint.tensor import differentiate
from adjoint.tensor.protocol_hooks import values
from adjoint.tensor.table import ops
from adjoint.transforms import forward, functional
from adjoint.transforms.batching.vmap import description, vmap
from adjoint.transforms.chunks import ChunkSize, check_chunk_size
from adjoint.transforms.jacobians import Block, Job, zero_block
from adjoint.transforms.passing import OUTSIDE_INFERENCE, for_calls, for_primals

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Tree = Any
Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


# aliases --------------------------------------------------------------------------------------------------------------


def alias(tensor: TensorBase, released: Callable[[Tensor], Tensor] | None = None) -> Tensor:
    """An alias with the same value and tangents, but without history.

    released: what takes the history off the tangents, too; without it they keep theirs.
    """
    result = new_tensor(tensor._array)
    # an inference tensor is a plain value to a derivative
    result._counter = None if tensor.is_inference() else tensor._counter
    for number in current().dual_stack:
        tangent = forward.tangent_of(tensor, number)
        if tangent is not None:
            forward.set_tangent(result, number, tangent if released is None else released(tangent))
    return result


def follow(tensor: Tensor) -> Tensor:
    """An alias to differentiate by: a new leaf, or a view that keeps the history that the tensor has."""
    # a view made without recording shows the flag of its base, but has no history
    if tensor.requires_grad and (tensor._requires or not tensor.is_leaf):
        with enable_grad():
            return with_plain_results(ops.view, (tensor, tensor._array.shape))
    return differentiate.needing_grad(alias(tensor))


def input_leaves(tree: Tree) -> tuple[list[Tensor], TreeDef]:
    """The leaves of an argument. Raises ValueError if one is no tensor."""
    if isinstance(tree, TensorBase):
        return [tree], LEAF  # type: ignore[list-item]
    leaves, structure = flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
    return leaves, structure


def output_leaves(tree: Tree, call: str) -> tuple[list[Tensor], TreeDef]:
    """The leaves of a result. Raises RuntimeError if there are none, or if one is no tensor."""
    if isinstance(tree, TensorBase):
        return [tree], LEAF  # type: ignore[list-item]
    leaves, structure = flatten(tree)
    if not leaves:
        prefix = [None] if tree is None else []
        raise RuntimeError(f"{call}: Expected f to be a function that has non-empty output (got output = {prefix})")
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise RuntimeError(
                f"{call}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )
    return leaves, structure


# reverse mode ---------------------------------------------------------------------------------------------------------


class Recording:
    """A run of a function on aliases of some of its arguments, ready to be pulled back.

    outputs: the leaves of the result, with history. leaves: the aliases that nobody outside knows. outer: True if the
    outputs depend on something else that is followed too, so that derivatives must be recorded.
    """

    def __init__(self, function: Function, args: tuple[Any, ...], positions: tuple[int, ...], kwargs: dict[str, Any]):
        self.inputs: list[Tensor] = []
        self.structures: list[TreeDef] = []
        self.since = upcoming_sequence_nr()
        arguments = list(args)
        for position in positions:
            leaves, structure = input_leaves(args[position])
            aliases = [follow(leaf) for leaf in leaves]
            self.inputs += aliases
            self.structures.append(structure)
            arguments[position] = structure.unflatten(aliases)
        self.leaves = [tensor for tensor in self.inputs if tensor.is_leaf]
        # held, so that whatever depends on an argument leads to the same node
        self.edges = [gradient_edge(tensor) for tensor in self.inputs]
        with recording_run(self.inputs) as run:
            run.take_in(self.inputs)
            self.result = function(*arguments, **kwargs)
            run.hand_out((self.result,) if isinstance(self.result, TensorBase) else flatten(self.result)[0])
        for tensor, edge in zip(self.inputs, self.edges, strict=True):
            if gradient_edge(tensor) is not edge:
                raise errors.LEAF_IN_PLACE.error()
        # the function may have stored its arguments
        self.inputs = [twin(tensor) for tensor in self.inputs]  # type: ignore[misc]

    def finish(self, tree: Tree, call: str) -> None:
        """Note which part of the result is differentiated."""
        self.outputs, self.structure = output_leaves(tree, call)
        self.output_ids = {id(output) for output in self.outputs}
        self.outer = leads_elsewhere(self.outputs, self.leaves, self.since)

    def check_outputs(self) -> None:
        """Raise RuntimeError unless the outputs can have cotangents."""
        for output in self.outputs:
            dtype = from_numpy_dtype(output._array.dtype)
            if not errors.is_differentiable(dtype):
                raise RuntimeError(
                    "vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype "
                    f"{dtype}"
                )

    def pull(
        self, outputs: list[Tensor], cotangents: list[Any], retain_graph: bool, batched: bool = False
    ) -> list[Tensor]:
        """The cotangents of the inputs from cotangents of outputs; zeros for inputs on which no output depends.

        cotangents: Tensors, or None for 1, for a scalar.
        batched: cotangents and results have one more axis in front, and one pass pulls back all members;
        an input on which no output depends gets None.
        """
        pairs = [(o, c) for o, c in zip(outputs, cotangents, strict=True) if o.requires_grad]
        if not pairs:
            return [zeros_like(tensor) for tensor in self.inputs]
        record = is_grad_enabled() and (self.outer or any(c is not None and c.requires_grad for _, c in pairs))
        # one tensor takes the quick way through `grad`
        ends, drivers = pairs[0] if len(pairs) == 1 else zip(*pairs, strict=True)
        gradients = differentiate.grad(
            ends,
            self.inputs,
            drivers,
            retain_graph=retain_graph or record,
            create_graph=record,
            allow_unused=True,
            is_grads_batched=batched,
        )
        gradients = gradients if batched else differentiate.with_zeros(gradients, self.inputs)
        return [self.release(cotangent) for cotangent in gradients]

    def release_tree(self, tree: Tree) -> Tree:
        """A result as the caller gets it: without the history that only the aliases have."""
        if isinstance(tree, TensorBase):
            return self.release(tree)
        leaves, structure = flatten(tree)
        return structure.unflatten([self.release(leaf) for leaf in leaves])

    def release(self, leaf: Any) -> Any:
        """A leaf of a result as the caller gets it."""
        # what requires no gradient may still have a node: that of this run, which is over
        if not isinstance(leaf, TensorBase) or not (leaf.requires_grad or leaf._node):
            return leaf
        foreign = leaf.is_leaf and all(leaf is not tensor for tensor in self.leaves)
        if foreign or (is_grad_enabled() and self.leads_out(leaf)):
            return leaf
        return alias(leaf, self.release)

    def close(self, tree: Tree) -> Tree:
        """A result, when the run is over: later passes do not go to the aliases that nobody outside knows."""
        if self.outer and self.leaves and is_grad_enabled():
            ends = {edge for edge in self.edges if isinstance(edge, AccumulateGrad)}
            leaves = [tree] if isinstance(tree, TensorBase) else flatten(tree)[0]
            cut_edges([leaf._node for leaf in leaves if isinstance(leaf, TensorBase)], ends, self.since)
        return tree

    def leads_out(self, leaf: TensorBase) -> bool:
        """True if a leaf of a result depends on something else that is followed."""
        if not self.outer and id(leaf) in self.output_ids:
            return False
        return leads_elsewhere([leaf], self.leaves, self.since)

    def gradients(self, cotangents: list[Tensor]) -> list[Tree]:
        """Cotangents of the inputs as trees, one for each followed argument."""
        if self.structures == [LEAF]:
            return list(cotangents)
        parts = iter(cotangents)
        return [s.unflatten([next(parts) for _ in range(s.n_leaves)]) for s in self.structures]


def zeros_like(tensor: Tensor) -> Tensor:
    """Zeros, without history."""
    return new_tensor(namespace(tensor._array).zeros_like(tensor._array))


def places_of(argnums: Argnums, n: int) -> tuple[int, ...]:
    """The numbers of the arguments to differentiate by. Raises RuntimeError for a missing argument."""
    if type(argnums) is int and 0 <= argnums < n:
        return (argnums,)
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not numbers:
        raise RuntimeError("argnums must be non-empty")
    for number in numbers:
        if not isinstance(number, int):
            raise RuntimeError(f"argnum must be int, got: {type(number)}")
        if not -n <= number < n:
            raise RuntimeError(f"Got argnum={number}, but only {n} positional inputs")
    positions = tuple(number % n for number in numbers)
    if len(set(positions)) < len(positions):
        raise RuntimeError(f"argnums elements must be unique, got {positions}")
    return positions


def replay(function: Function, compile: bool) -> Function:
    """A function, or what `adjoint.compile` makes of it."""
    return values.compile(function) if compile else function


def split_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """The result and the further outputs of the function."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


@for_calls
def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, compile: bool = False) -> Function:
    """A function that returns the gradient of `func` and its value: (gradient, value), or (gradient, (value, aux)).

    Args:
        func: returns a real scalar Tensor, or (scalar, aux) with has_aux.
        argnums: the arguments to differentiate by; a tuple gives a tuple of gradients.
        compile: replay a recording of the function and its gradient from the second call on (`adjoint.compile`).

    Raises:
        RuntimeError: the result is no real scalar Tensor; there is no argument of such a number.
        ValueError: an argument to differentiate by is no tree of Tensors.

    >>> import adjoint
    >>> adjoint.func.grad_and_value(lambda x: (x**2).sum())(adjoint.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """
    return replay(with_gradient(func, argnums, has_aux), compile)


@for_calls
def value_and_grad(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, compile: bool = False) -> Function:
    """A function that returns the value of `func` and its gradient: (value, gradient), or ((value, aux), gradient).

    Arguments and errors are as in `grad_and_value`.

    >>> import adjoint, numpy
    >>> adjoint.value_and_grad(lambda x: numpy.sum(x**2))(numpy.array([1.0, 2.0]))
    (np.float64(5.0), array([2., 4.]))
    """
    both = with_gradient(func, argnums, has_aux)

    @wraps(func, updated=())
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[::-1]

    return replay(wrapper, compile)


def with_gradient(func: Function, argnums: Argnums, has_aux: bool, has_value: bool = True) -> Function:
    """The body of `grad_and_value`, for Tensors, or of `grad`, which has no value."""
    name = "grad_and_value(f)(*args)"

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        recording = Recording(func, args, places_of(argnums, len(args)), kwargs)
        value, aux = split_aux(recording.result, has_aux, name)
        if not isinstance(value, TensorBase):
            raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(value)}")
        if value._array.ndim:
            raise RuntimeError(
                f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {value.ndim} dims. "
                "Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        recording.finish(value, name)
        gradients = recording.gradients(recording.pull(recording.outputs, [None], False))
        gradient = gradients[0] if isinstance(argnums, int) else tuple(gradients)
        more = ([recording.release(value)] if has_value else []) + ([recording.release_tree(aux)] if has_aux else [])
        return recording.close((gradient, more[0] if len(more) == 1 else tuple(more)) if more else gradient)

    return wrapper


@for_calls
def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, compile: bool = False) -> Function:
    """A function that returns the gradient of `func`; see `grad_and_value`. With has_aux: (gradient, aux).

    >>> import adjoint
    >>> adjoint.func.grad(adjoint.func.grad(adjoint.sin))(adjoint.tensor(1.0))
    tensor(-0.8415)
    """
    return replay(with_gradient(func, argnums, has_aux, has_value=False), compile)


@for_primals
def vjp(func: Function, *primals: Tree, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `func`, and the function that pulls cotangents back: (value, pullback), or (value, pullback, aux).

    The pullback takes a cotangent of the structure of the value and gives a tuple, one cotangent for each primal; it
    may be called any number of times.

    Raises:
        RuntimeError: a result is no floating-point or complex Tensor; a cotangent has another structure or shape than
            the value.
        ValueError: a primal is no tree of Tensors.

    >>> import adjoint
    >>> value, pullback = adjoint.func.vjp(lambda x: x**2, adjoint.tensor([1.0, 2.0]))
    >>> pullback(adjoint.tensor([1.0, 1.0]))
    (tensor([2., 4.]),)
    """
    recording = Recording(func, primals, tuple(range(len(primals))), {})
    value, aux = split_aux(recording.result, has_aux, "vjp(f, *primals)")
    recording.finish(value, "vjp(f, *primals)")
    recording.check_outputs()

    def pullback(cotangents: Tree) -> tuple[Tree, ...]:
        leaves, structure = flatten(cotangents)
        if structure != recording.structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {structure}, primal output: {recording.structure}"
            )
        for leaf in leaves:
            if not isinstance(leaf, TensorBase):
                raise TypeError(f"gradients can be either Tensors or None, but got {type(leaf).__name__}")
        if thread_is_inferring():
            return with_modes(OUTSIDE_INFERENCE, pull, (leaves,))
        return pull(leaves)

    def pull(leaves: list[Any]) -> tuple[Tree, ...]:
        return tuple(recording.gradients(recording.pull(recording.outputs, leaves, True)))

    value = recording.release_tree(value)
    return (value, pullback, recording.release_tree(aux)) if has_aux else (value, pullback)


# forward mode ---------------------------------------------------------------------------------------------------------


@for_primals
def jvp(
    func: Function,
    primals: tuple[Tree, ...],
    tangents: tuple[Tree, ...],
    *,
    strict: bool = False,
    has_aux: bool = False,
) -> tuple[Any, ...]:
    """The value of `func`, and its derivative along the tangents: (value, tangent), or (value, tangent, aux).

    Args:
        primals, tangents: tuples of the same structure.
        strict: raise if a result does not depend on the primals, instead of giving zeros.

    Raises:
        RuntimeError: structures or shapes differ.

    >>> import adjoint
    >>> x, t = adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0, 0.0])
    >>> adjoint.func.jvp(lambda x: x**2, (x,), (t,))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    name = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(f"{name}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    values, structure = flatten(primals)
    directions, other = flatten(tangents)
    if structure != other:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {description(structure)} and "
            f"tangents with structure {description(other)}"
        )
    if not values:
        raise RuntimeError(f"{name}: Expected primals to contain at least one Tensor.")
    for what, leaves in (("primals", values), ("tangents", directions)):
        for leaf in leaves:
            if not isinstance(leaf, TensorBase):
                raise RuntimeError(f"{name}: Expected {what} to only contain Tensors, got {type(leaf)}")
    with forward.level() as number:
        duals = [
            with_plain_results(forward.dual, (value, t, number)) for value, t in zip(values, directions, strict=True)
        ]
        with transforming("jvp") as run, differentiating(()):
            run.take_in(duals)
            returned = func(*structure.unflatten(duals))
            result, aux = split_aux(returned, has_aux, name)
            outputs, shape = output_leaves(result, name)
            tangents_out = [forward.tangent_of(output, number) for output in outputs]
            run.hand_out([*outputs, *tangents_out, *flatten(aux)[0]])
    if strict and any(t is None for t in tangents_out):
        raise RuntimeError(
            "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed "
            "with strict=True."
        )
    tangent = [zeros_like(output) if t is None else t for output, t in zip(outputs, tangents_out, strict=True)]
    pair = (result, shape.unflatten(tangent))
    return (*pair, aux) if has_aux else pair


@for_primals
def linearize(func: Function, *primals: Tree) -> tuple[Any, Function]:
    """The value of `func`, and its derivative at the primals as a linear function of tangents, recorded once.

    >>> import adjoint
    >>> value, derivative = adjoint.func.linearize(lambda x: x**2, adjoint.tensor([1.0, 2.0]))
    >>> derivative(adjoint.tensor([1.0, 1.0]))
    tensor([2., 4.])
    """
    recording = Recording(func, primals, tuple(range(len(primals))), {})
    recording.finish(recording.result, "linearize(f, *primals)")
    expected = flatten(primals)[1]
    kinds = [(Size(p._array.shape), from_numpy_dtype(p._array.dtype)) for p in recording.inputs]
    blanks = [differentiate.needing_grad(zeros_like(output)) for output in recording.outputs]
    with enable_grad():
        cotangents = recording.pull(recording.outputs, blanks, True)

    def derivative(*tangents: Tree) -> Tree:
        directions, structure = flatten(tangents)
        if structure != expected:
            raise RuntimeError(
                f"Expected the tangents {description(structure)} to have the same argspec as the primals "
                f"{description(expected)}"
            )
        check_tangents(directions, kinds)
        pairs = [(p, t) for p, t in zip(cotangents, directions, strict=True) if p.requires_grad]
        if not pairs:
            return recording.structure.unflatten([zeros_like(output) for output in recording.outputs])
        ends, drivers = zip(*pairs, strict=True)
        record = is_grad_enabled() and (recording.outer or any(t.requires_grad for t in drivers))
        options = {"retain_graph": True, "create_graph": record, "allow_unused": True}
        derivatives = differentiate.grad(ends, blanks, drivers, **options)
        return recording.release_tree(recording.structure.unflatten(differentiate.with_zeros(derivatives, blanks)))

    return recording.release_tree(recording.result), derivative


def check_tangents(tangents: list[Any], kinds: list[tuple[Size, Any]]) -> None:
    """Raise RuntimeError unless the tangents have these shapes and dtypes."""
    for nr, (tangent, (shape, dtype)) in enumerate(zip(tangents, kinds, strict=True)):
        if not isinstance(tangent, TensorBase):
            raise RuntimeError(f"tangent:{nr} in flattened pytree must be a Tensor, got {type(tangent)}")
        properties = (
            ("shape", Size(tangent._array.shape), shape),
            ("dtype", from_numpy_dtype(tangent._array.dtype), dtype),
        )
        for what, leaves, expected in properties:
            if leaves != expected:
                raise RuntimeError(
                    f"tangent:{nr} with {what} {leaves} in flattened pytree doesn't match the {what} {expected} of the "
                    "corresponding primal."
                )


def linear_transpose(func: Function, *primals: Tree) -> Function:
    """The transpose of a linear function: from a cotangent of its result to a tuple of cotangents of its arguments.

    Only the structure, shapes and dtypes of the primals matter, not their values.

    >>> import adjoint
    >>> back = adjoint.func.linear_transpose(lambda x: 3 * x, adjoint.zeros(2))
    >>> back(adjoint.tensor([1.0, 2.0]))
    (tensor([3., 6.]),)
    """
    return vjp(func, *primals)[1]


# Jacobians ------------------------------------------------------------------------------------------------------------


def in_structures(
    rows: list[list[Tensor]], outer: TreeDef, inner: Callable[[list[Tensor]], list[Tree]], argnums: Argnums
) -> Tree:
    """The blocks in nested structures: the result's structure outside, the arguments' structure inside."""
    parts = [inner(row) for row in rows]
    return outer.unflatten(part[0] if isinstance(argnums, int) else tuple(part) for part in parts)


@for_calls
def jacrev(
    func: Function,
    argnums: Argnums = 0,
    *,
    has_aux: bool = False,
    chunk_size: ChunkSize = None,
    compile: bool = False,
) -> Function:
    """A function that returns the Jacobian of `func` by reverse mode, in one batched pass for each result.

    chunk_size: the number of elements at once. "auto": as many as fit into the budget of
        `adjoint.memory.set_batch_budget` (32 MB), or into an eighth of the Jacobian; passes of one and of two elements
        are measured. The default is "auto", but for a small argument all elements run at once, without measurement.
        compile: as in `grad_and_value`.

    For a result of shape R and an argument of shape A the Jacobian has shape R + A. For trees it is a tree of such
    blocks, with the result's structure outside. With has_aux: (Jacobian, aux). `adjoint.transforms.jacobians` defines
    the entries for complex numbers, which need two directions for each element.

    Raises:
        RuntimeError: a result is no floating-point or complex Tensor; there is no argument of such a number.
        ValueError: an argument to differentiate by is no tree of Tensors; chunk_size is not positive.

    >>> import adjoint
    >>> adjoint.func.jacrev(lambda x: x**2)(adjoint.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_chunk_size("jacrev", chunk_size)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        recording = Recording(func, args, places_of(argnums, len(args)), kwargs)
        value, aux = split_aux(recording.result, has_aux, "vjp(f, *primals)")
        recording.finish(value, "vjp(f, *primals)")
        recording.check_outputs()

        jacobian = by_rows(recording, argnums, chunk_size)
        return recording.close((jacobian, recording.release_tree(aux)) if has_aux else jacobian)

    return replay(wrapper, compile)


def by_rows(recording: Recording, argnums: Argnums, chunk_size: ChunkSize) -> Tree:
    """The Jacobian of a recorded run, by reverse mode."""

    def pull(number: int, cotangents: Tensor) -> list[Tensor]:
        return recording.pull([recording.outputs[number]], [cotangents], True, batched=True)

    def block(rows: Block, output: Tensor, x: Tensor) -> Tensor:
        return zero_block(output, x) if rows is None else recording.release(rows)

    job = Job("jacrev", chunk_size)
    rows = zip(recording.outputs, job.by_rows(pull, recording.outputs, recording.inputs), strict=True)
    blocks = [[block(b, y, x) for b, x in zip(row, recording.inputs, strict=True)] for y, row in rows]
    job.warn()
    return in_structures(blocks, recording.structure, recording.gradients, argnums)


@for_calls
def jacobian(
    func: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    chunk_size: ChunkSize = None,
    compile: bool = False,
) -> Function:
    """A function that returns the Jacobian of `func`, by reverse or forward mode, whichever takes fewer passes.

    If the results have more elements than the arguments, `func` runs again, in forward mode. Structure, shapes, errors,
    chunk_size, compile and complex entries are as in `jacrev`. With has_aux: (Jacobian, aux).

    >>> import adjoint, numpy
    >>> adjoint.jacobian(lambda x: x**2)(numpy.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    """
    check_chunk_size("jacobian", chunk_size)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        recording = Recording(func, args, places_of(argnums, len(args)), kwargs)
        value, aux = split_aux(recording.result, has_aux, "jacobian(f)(*args)")
        recording.finish(value, "jacobian(f)(*args)")
        recording.check_outputs()
        n_results, n_arguments = (sum(t._array.size for t in ts) for ts in (recording.outputs, recording.inputs))
        if n_results > n_arguments:
            return jacfwd(func, argnums, has_aux, chunk_size=chunk_size)(*args, **kwargs)
        result = by_rows(recording, argnums, chunk_size)
        return recording.close((result, recording.release_tree(aux)) if has_aux else result)

    return replay(wrapper, compile)


@for_calls
def jacfwd(
    func: Function,
    argnums: Argnums = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
    chunk_size: ChunkSize = None,
    compile: bool = False,
) -> Function:
    """A function that returns the Jacobian of `func` by forward mode, in one mapped run for each argument.

    Structure and complex entries are as in `jacrev`. The function gets copies of the arguments, so it may modify them
    in place. It runs under `vmap`, once for each argument. With has_aux, or without elements to differentiate by, it
    also runs once without vmap, for aux and the shapes of the results.

    randomness: for random numbers drawn in `func`, as in `vmap`. chunk_size: as in `jacrev`. compile: as in
    `grad_and_value`.

    Raises:
        RuntimeError: a result is no Tensor; there is no argument of such a number; randomness is not one of "error",
            "different" and "same", or random numbers are drawn under "error".
        ValueError: an argument to differentiate by is no tree of floating-point or complex Tensors; chunk_size is not
            positive.

    >>> import adjoint
    >>> adjoint.func.jacfwd(lambda x: x**2)(adjoint.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    check_chunk_size("jacfwd", chunk_size)
    name = "jvp(f, primals, tangents)"

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        positions = places_of(argnums, len(args))
        inputs, structure = input_leaves(tuple(args[position] for position in positions))

        def run(tensors: list[Tensor]) -> tuple[list[Tensor], TreeDef, Any]:
            arguments = list(args)
            for position, part in zip(positions, structure.unflatten(tensors), strict=True):
                arguments[position] = part
            value, aux = split_aux(func(*arguments, **kwargs), has_aux, name)
            return *output_leaves(value, name), aux

        def transform(tensors: list[Tensor]) -> tuple[list[Tensor], TreeDef, Any]:
            with transforming("jvp") as block:
                block.take_in(tensors)
                outputs, shape, aux = run(tensors)
                block.hand_out([*outputs, *flatten(aux)[0]])
            return outputs, shape, aux

        outputs: list[Tensor] = []
        shape, aux = LEAF, None

        def on_duals(duals: list[Tensor]) -> functional.Tree:
            nonlocal shape
            with differentiating(()):
                tensors, structure, _ = transform(duals)
            if not outputs:
                # from here on their shapes and dtypes are known
                outputs.extend(tensors)
                shape = structure
            return functional.Tree(tensors, structure)

        def push_one(k: int, direction: Tensor) -> tuple[Tensor, ...]:
            directions = [direction if i == k else None for i in range(len(inputs))]
            return tuple(functional.push(on_duals, inputs, directions, True)[1])

        push = vmap(push_one, (None, 0), randomness=randomness)
        if has_aux or not inputs or not all(x._array.size for x in inputs):
            outputs, shape, aux = transform([ops.clone(x) for x in inputs])
        job = Job("jacfwd", chunk_size)
        blocks = job.by_columns(push, outputs, inputs)
        job.warn()
        jacobian = in_structures(blocks, shape, structure.unflatten, argnums)
        return (jacobian, aux) if has_aux else jacobian

    return replay(wrapper, compile)


@for_calls
def hessian(func: Function, argnums: Argnums = 0, *, chunk_size: ChunkSize = None, compile: bool = False) -> Function:
    """A function that gives the Hessian of `func`, the Jacobian of its Jacobian: forward mode over reverse mode.

    chunk_size: how many rows at once, as in `jacrev`. compile: as in `grad_and_value`.

    >>> import adjoint
    >>> adjoint.func.hessian(lambda x: (x**3).sum())(adjoint.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    check_chunk_size("hessian", chunk_size)
    return jacfwd(jacrev(func, argnums), argnums, chunk_size=chunk_size, compile=compile)
