"""Derivatives of functions as functions, under torch.func's names: grad, vjp, jvp, Jacobians, to any depth.

Reverse mode differentiates a recorded run; each transformation runs its function on aliases of the arguments, which
are leaves of their own, or views where an outer transformation (or the user) already follows the argument. Forward mode
opens a level. So the two nest in any order, and with vmap.

Arguments and results are pytrees: tensors in tuples, lists, dicts, named tuples and dataclasses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from adjoint.arrays.namespace import namespace
from adjoint.arrays.pytree import TreeDef, flatten
from adjoint.core.grad_mode import enable_grad
from adjoint.core.graph import AccumulateGrad, TensorBase, new_tensor, node_of
from adjoint.tensor import differentiate
from adjoint.tensor.table import ops
from adjoint.transforms import forward

Tensor = Any
Tree = Any
Function = Callable[..., Any]
Argnums = int | tuple[int, ...]


# aliases --------------------------------------------------------------------------------------------------------------


def alias(tensor: Tensor) -> Tensor:
    """The same value with the same tangents, but without history."""
    result = new_tensor(tensor._array)
    result._counter = tensor._counter
    result._tangents = tensor._tangents
    return result


def followed(tensor: Tensor) -> Tensor:
    """An alias to differentiate by: a new leaf, or a view that keeps the history that the tensor has."""
    if tensor.requires_grad:
        return ops.view(tensor, tensor._array.shape)
    leaf = alias(tensor)
    leaf.requires_grad_()
    return leaf


def tensor_leaves(tree: Tree, what: str) -> tuple[list[Tensor], TreeDef]:
    """The leaves of a tree of tensors. Raises RuntimeError if one is no tensor."""
    leaves, structure = flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, TensorBase):
            raise RuntimeError(f"{what} to be a Tensor or a pytree of Tensors, got {type(leaf)}")
    return leaves, structure


def leads_elsewhere(outputs: Iterable[Tensor], own: Iterable[Tensor]) -> bool:
    """True if the outputs depend on a leaf that requires a gradient and is not one of `own`."""
    known = {id(tensor) for tensor in own}
    seen = set()
    stack = [node_of(output) for output in outputs if output.requires_grad]
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(node, AccumulateGrad) and id(node.variable) not in known:
            return True
        stack.extend(next_node for next_node, _ in node.next_functions)
    return False


# reverse mode ---------------------------------------------------------------------------------------------------------


class Recording:
    """A run of a function on aliases of some of its arguments, ready to be pulled back.

    outputs: the leaves of the result, with history. outer: True if something else than the aliases is followed too, so
    that derivatives must be recorded and results keep their history.
    """

    def __init__(self, function: Function, args: tuple[Any, ...], places: tuple[int, ...], kwargs: dict[str, Any]):
        self.inputs: list[Tensor] = []
        self.structures: list[TreeDef] = []
        arguments = list(args)
        with enable_grad():
            for place in places:
                leaves, structure = tensor_leaves(args[place], "Expected all inputs")
                aliases = [followed(leaf) for leaf in leaves]
                self.inputs += aliases
                self.structures.append(structure)
                arguments[place] = structure.unflatten(aliases)
            self.result = function(*arguments, **kwargs)

    def finish(self, tree: Tree, what: str) -> None:
        """Note which part of the result is differentiated."""
        self.outputs, self.structure = tensor_leaves(tree, what)
        leaves = [tensor for tensor in self.inputs if tensor.is_leaf]
        self.outer = leads_elsewhere(self.outputs, leaves)

    def pull(self, cotangents: list[Tensor], retain_graph: bool) -> list[Tensor]:
        """The cotangents of the inputs; zeros for those that nothing depends on."""
        pairs = [(o, c) for o, c in zip(self.outputs, cotangents, strict=True) if o.requires_grad]
        if not pairs:
            return [zeros_like(tensor) for tensor in self.inputs]
        record = self.outer or any(c.requires_grad for _, c in pairs)
        outputs, drivers = zip(*pairs, strict=True)
        return list(
            differentiate.grad(
                outputs,
                self.inputs,
                drivers,
                retain_graph=retain_graph or record,
                create_graph=record,
                materialize_grads=True,
            )
        )

    def released(self, tree: Tree) -> Tree:
        """A result as the caller gets it: without the history that only the aliases have."""
        leaves, structure = flatten(tree)
        return structure.unflatten([self._release(leaf) for leaf in leaves])

    def _release(self, leaf: Any) -> Any:
        if not isinstance(leaf, TensorBase) or self.outer:
            return leaf
        return alias(leaf) if leaf.requires_grad else leaf

    def gradients(self, cotangents: list[Tensor]) -> list[Tree]:
        """Cotangents of the inputs as trees, one for each followed argument."""
        parts = iter(cotangents)
        return [s.unflatten([next(parts) for _ in range(s.n_leaves)]) for s in self.structures]


def zeros_like(tensor: Tensor) -> Tensor:
    """Zeros, without history."""
    return new_tensor(namespace(tensor._array).zeros_like(tensor._array))


def ones_like(tensor: Tensor) -> Tensor:
    """Ones, without history."""
    return new_tensor(namespace(tensor._array).ones_like(tensor._array))


def places_of(argnums: Argnums, n: int) -> tuple[int, ...]:
    """The numbers of the arguments to differentiate by. Raises RuntimeError for those that are not there."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    for number in numbers:
        if not -n <= number < n:
            raise RuntimeError(f"Got argnum={number}, but only {n} positional inputs")
    return tuple(number % n for number in numbers)


def split_aux(result: Any, has_aux: bool, name: str) -> tuple[Any, Any]:
    """The result and what the function gives besides."""
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def grad_and_value(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that gives the gradient of `func`, and its value: (gradient, value), or (gradient, (value, aux)).

    Args:
        func: gives a scalar Tensor (real), or (scalar, aux) with has_aux.
        argnums: which arguments to differentiate by; a tuple gives a tuple of gradients.

    Raises:
        RuntimeError: the result is no scalar Tensor.

    >>> import adjoint
    >>> adjoint.func.grad_and_value(lambda x: (x**2).sum())(adjoint.tensor([1.0, 2.0]))
    (tensor([2., 4.]), tensor(5.))
    """
    name = "grad_and_value(f)(*args)"

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        recording = Recording(func, args, places_of(argnums, len(args)), kwargs)
        value, aux = split_aux(recording.result, has_aux, name)
        if not isinstance(value, TensorBase):
            raise RuntimeError(f"{name}: Expected f(*args) to return a Tensor, got {type(value)}")
        if value.ndim:
            raise RuntimeError(
                f"{name}: Expected f(*args) to return a scalar Tensor, got tensor with {value.ndim} dims. "
                "Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        recording.finish(value, "Expected f(*args)")
        found = recording.gradients(recording.pull([ones_like(value)], False))
        gradient = found[0] if isinstance(argnums, int) else tuple(found)
        value = recording.released(value)
        return gradient, (value, recording.released(aux)) if has_aux else value

    return wrapper


def grad(func: Function, argnums: Argnums = 0, has_aux: bool = False) -> Function:
    """A function that gives the gradient of `func`; see `grad_and_value`. With has_aux: (gradient, aux).

    >>> import adjoint
    >>> adjoint.func.grad(adjoint.func.grad(adjoint.sin))(adjoint.tensor(1.0))
    tensor(-0.8415)
    """
    both = grad_and_value(func, argnums, has_aux)

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        gradient, value = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    return wrapper


def vjp(func: Function, *primals: Tree, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of `func`, and the function that pulls cotangents back: (value, pullback), or (value, pullback, aux).

    The pullback takes a cotangent of the structure of the value and gives a tuple, one cotangent for each primal; it
    may be called any number of times.

    Raises RuntimeError if a cotangent has another structure than the value.

    >>> import adjoint
    >>> value, pullback = adjoint.func.vjp(lambda x: x**2, adjoint.tensor([1.0, 2.0]))
    >>> pullback(adjoint.tensor([1.0, 1.0]))
    (tensor([2., 4.]),)
    """
    recording = Recording(func, primals, tuple(range(len(primals))), {})
    value, aux = split_aux(recording.result, has_aux, "vjp(f, *primals)")
    recording.finish(value, "vjp(f, *primals): Expected f(*primals)")

    def pullback(cotangents: Tree) -> tuple[Tree, ...]:
        leaves, structure = flatten(cotangents)
        if structure != recording.structure:
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the "
                f"function. cotangents: {structure}, primal output: {recording.structure}"
            )
        return tuple(recording.gradients(recording.pull(leaves, True)))

    value = recording.released(value)
    return (value, pullback, recording.released(aux)) if has_aux else (value, pullback)


# forward mode ---------------------------------------------------------------------------------------------------------


def jvp(
    func: Function, primals: tuple[Tree, ...], tangents: tuple[Tree, ...], *, strict: bool = False, has_aux: bool = False
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
    values, structure = tensor_leaves(primals, f"{name}: Expected primals")
    directions, other = tensor_leaves(tangents, f"{name}: Expected tangents")
    if structure != other:
        raise RuntimeError(
            f"{name}: Expected primals and tangents to have the same python structure. For example, if primals is a "
            f"tuple of 3 tensors, tangents also must be. Got primals with structure {structure} and tangents with "
            f"structure {other}"
        )
    with forward.level() as number:
        duals = [forward.dual(value, t, number) for value, t in zip(values, directions, strict=True)]
        result, aux = split_aux(func(*structure.unflatten(duals)), has_aux, name)
        outputs, shape = tensor_leaves(result, f"{name}: Expected f(*primals)")
        found = [forward.tangent_of(output, number) for output in outputs]
    if strict and any(t is None for t in found):
        place = next(i for i, t in enumerate(found) if t is None)
        raise RuntimeError(f"{name}: The output of f with index {place} is independent of the primals, with strict=True.")
    tangent = [zeros_like(output) if t is None else t for output, t in zip(outputs, found, strict=True)]
    pair = (result, shape.unflatten(tangent))
    return (*pair, aux) if has_aux else pair


def linearize(func: Function, *primals: Tree) -> tuple[Any, Function]:
    """The value of `func`, and its derivative at the primals as a linear function of tangents, recorded once.

    >>> import adjoint
    >>> value, derivative = adjoint.func.linearize(lambda x: x**2, adjoint.tensor([1.0, 2.0]))
    >>> derivative(adjoint.tensor([1.0, 1.0]))
    tensor([2., 4.])
    """
    recording = Recording(func, primals, tuple(range(len(primals))), {})
    recording.finish(recording.result, "linearize(f, *primals): Expected f(*primals)")
    blanks = [zeros_like(output).requires_grad_() for output in recording.outputs]
    with enable_grad():
        pulled = recording.pull(blanks, True)

    def derivative(*tangents: Tree) -> Tree:
        directions, structure = flatten(tangents)
        if structure != flatten(primals)[1]:
            raise RuntimeError(
                f"Expected the tangents {structure} to have the same argspec as the primals {flatten(primals)[1]}"
            )
        pairs = [(p, t) for p, t in zip(pulled, directions, strict=True) if p.requires_grad]
        if not pairs:
            return recording.structure.unflatten([zeros_like(output) for output in recording.outputs])
        ends, drivers = zip(*pairs, strict=True)
        record = any(t.requires_grad for t in drivers) or recording.outer
        found = differentiate.grad(
            ends, blanks, drivers, retain_graph=True, create_graph=record, materialize_grads=True
        )
        return recording.structure.unflatten(found)

    return recording.released(recording.result), derivative


def linear_transpose(func: Function, *primals: Tree) -> Function:
    """The transpose of a linear function: takes a cotangent of its result, gives a tuple of those of its arguments.

    The values of the primals do not matter, only their structure, shapes and dtypes.

    >>> import adjoint
    >>> back = adjoint.func.linear_transpose(lambda x: 3 * x, adjoint.zeros(2))
    >>> back(adjoint.tensor([1.0, 2.0]))
    (tensor([3., 6.]),)
    """
    return vjp(func, *primals)[1]  # type: ignore[no-any-return]


# Jacobians ------------------------------------------------------------------------------------------------------------


def basis(tensor: Tensor) -> Iterable[Tensor]:
    """The unit tensors of a tensor's shape, in row-major order."""
    xp = namespace(tensor._array)
    units = xp.reshape(xp.eye(tensor.numel(), dtype=tensor._array.dtype), (tensor.numel(), *tensor._array.shape))
    return (new_tensor(units[i]) for i in range(tensor.numel()))


def jacrev(func: Function, argnums: Argnums = 0, *, has_aux: bool = False) -> Function:
    """A function that gives the Jacobian of `func` by reverse mode, one pass for each element of its result.

    For a result of shape R and an argument of shape A the Jacobian has shape R + A; trees give trees of these, the
    result's structure outside. Complex: rows are the conjugated pullbacks of unit cotangents, so that for a holomorphic
    function jacrev and jacfwd agree.

    >>> import adjoint
    >>> adjoint.func.jacrev(lambda x: x**2)(adjoint.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        recording = Recording(func, args, places_of(argnums, len(args)), kwargs)
        value, aux = split_aux(recording.result, has_aux, "jacrev(f)(*args)")
        recording.finish(value, "jacrev(f)(*args): Expected f(*args)")
        rows_of = []
        for nr, output in enumerate(recording.outputs):
            rows = [recording.pull(only(recording.outputs, nr, unit), True) for unit in basis(output)]
            blocks = [
                assembled([row[k] for row in rows], output, recording.inputs[k], conjugate=True)
                for k in range(len(recording.inputs))
            ]
            found = recording.gradients(blocks)
            rows_of.append(found[0] if isinstance(argnums, int) else tuple(found))
        jacobian = recording.structure.unflatten(rows_of)
        return (jacobian, recording.released(aux)) if has_aux else jacobian

    return wrapper


def only(outputs: list[Tensor], place: int, unit: Tensor) -> list[Tensor]:
    """Cotangents of all outputs: a unit for one, zeros for the others."""
    return [unit if nr == place else zeros_like(output) for nr, output in enumerate(outputs)]


def assembled(rows: list[Tensor], output: Tensor, input: Tensor, *, conjugate: bool) -> Tensor:
    """Rows of a Jacobian as one tensor of the shape of the output and then that of the input."""
    shape = (*output._array.shape, *input._array.shape)
    if not rows:
        return new_tensor(namespace(input._array).zeros(shape, dtype=input._array.dtype))
    stacked = ops.reshape(ops.stack(rows, 0), shape)
    return ops.conj(stacked) if conjugate and stacked.is_complex() else stacked


def jacfwd(func: Function, argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error") -> Function:
    """A function that gives the Jacobian of `func` by forward mode, one run for each element of its arguments.

    The structure is that of `jacrev`.

    >>> import adjoint
    >>> adjoint.func.jacfwd(lambda x: x**2)(adjoint.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        places = places_of(argnums, len(args))
        trees = [args[place] for place in places]
        inputs, structure = tensor_leaves(tuple(trees), "jacfwd(f)(*args): Expected all inputs")

        def run(*parts: Tree) -> Any:
            arguments = list(args)
            for place, part in zip(places, parts, strict=True):
                arguments[place] = part
            return func(*arguments, **kwargs)

        columns = []
        aux = value = None
        for nr, input in enumerate(inputs):
            for unit in basis(input):
                tangents = structure.unflatten(only(inputs, nr, unit))
                value, tangent, *rest = jvp(run, tuple(trees), tangents, has_aux=has_aux)
                aux = rest[0] if rest else None
                columns.append(flatten(tangent)[0])
        if value is None:
            value, aux = split_aux(run(*trees), has_aux, "jacfwd(f)(*args)")
        outputs, shape = tensor_leaves(value, "jacfwd(f)(*args): Expected f(*args)")
        rows_of = []
        for k, output in enumerate(outputs):
            taken = iter([column[k] for column in columns])
            blocks = [columns_block([next(taken) for _ in range(i.numel())], output, i) for i in inputs]
            found = structure.unflatten(blocks)
            rows_of.append(found[0] if isinstance(argnums, int) else tuple(found))
        jacobian = shape.unflatten(rows_of)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def columns_block(columns: list[Tensor], output: Tensor, input: Tensor) -> Tensor:
    """Columns of a Jacobian as one tensor of the shape of the output and then that of the input."""
    shape = (*output._array.shape, *input._array.shape)
    if not columns:
        return new_tensor(namespace(output._array).zeros(shape, dtype=output._array.dtype))
    return ops.reshape(ops.stack(columns, output.ndim), shape)


def hessian(func: Function, argnums: Argnums = 0) -> Function:
    """A function that gives the Hessian of `func`: forward mode over reverse mode.

    >>> import adjoint
    >>> adjoint.func.hessian(lambda x: (x**3).sum())(adjoint.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
