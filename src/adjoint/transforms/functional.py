"""Derivatives of functions: products with Jacobians and Hessians, and these matrices themselves.

Inputs, outputs and vectors are trees (see `adjoint.arrays.pytree`) of Tensors: a Tensor, a tuple of Tensors, or
dictionaries, lists, dataclasses and so on of them, in any depth. A function is called with the members of a tuple as
its arguments, and with any other tree as its only argument.

Complex numbers. A vector product is what `grad` gives: `vjp` multiplies with the conjugate transpose, and `jvp` is the
change of the outputs along v, for any function. An entry of a Jacobian is, in every mode and strategy, with z = x + iy,

    ∂f/∂x                         where the input is real, and complex if the output is,
    ∂f/∂z = (∂f/∂x - i ∂f/∂y)/2   where both are complex: the derivative of a holomorphic function,
    ∂f/∂x + i ∂f/∂y               where the input is complex and the output real: the gradient, as `grad` gives it.

The second is half of the derivative of a function that is not holomorphic, and a warning says so. The other half,
∂f/∂z̄, is the conjugate of the Jacobian of the conjugated function. A Hessian is the Jacobian of the gradient. A block
has the dtype of the input, or its complex counterpart if the output is complex.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from adjoint.arrays import pytree
from adjoint.arrays.dtypes import finfo, from_numpy_dtype
from adjoint.arrays.namespace import namespace
from adjoint.arrays.pytree import TreeDef
from adjoint.arrays.size import Size
from adjoint.core import errors
from adjoint.core.grad_mode import enable_grad
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.tensor.differentiate import check_implicit, grad, make_cotangent
from adjoint.tensor.table import ops
from adjoint.transforms import forward
from adjoint.transforms.progress import Progress

Tensor = Any
Function: TypeAlias = Callable[..., Any]

INPUTS, OUTPUTS, VECTOR = "inputs", "outputs of the user-provided function", "v"

WRONG_TYPE = "The {role} given to {name} must be either a Tensor or a tuple of Tensors but {where} has type {type}."
VECTOR_FOR_OUTPUT = (
    "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
)
VECTOR_FOR_INPUT = (
    "The vector v can only be None if the input to the user-provided function is a single Tensor with a single element."
)
NO_GRADIENTS = (
    "Output {} of the user-provided function does not require gradients. The outputs must be computed in a "
    "differentiable manner from the input when running in strict mode."
)
INDEPENDENT = "The output of the user-provided function is independent of input {}. This is not allowed in strict mode."
INDEPENDENT_OUTPUT = (
    "Output {output} of the user-provided function is independent of input {}. This is not allowed in strict mode."
)
CONSTANT_JACOBIAN = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)
CONSTANT_GRADIENT = (
    "While computing the hessian, found that the jacobian of the user-provided function with respect to input {} is "
    "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
    "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for "
    "example)."
)
INDEPENDENT_JACOBIAN = (
    "The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode."
)
CONSTANT_HESSIAN = (
    "The hessian of the user-provided function is independent of input {}. This is not allowed in strict mode when "
    "create_graph=True."
)
INDEPENDENT_ENTRY = (
    "The gradient with respect to the input is independent of entry {} in the grad_outputs when using the double "
    "backward trick to compute forward mode gradients. This is not allowed in strict mode."
)
INDEPENDENT_HESSIAN_ENTRY = (
    "The hessian of the user-provided function is independent of entry {} in the grad_jacobian. This is not allowed in "
    "strict mode as it prevents from using the double backward trick to replace forward mode AD."
)
STRICT_FORWARD = (
    'adjoint.autograd.functional.{}: `strict=True` and `strategy="forward-mode"` are not supported together (yet). '
    'Please either set `strict=False` or `strategy="reverse-mode"`.'
)
STRICT_VECTORIZE = (
    "adjoint.autograd.functional.{}: `strict=True` and `vectorized=True` are not supported together. Please either set "
    "`strict=False` or `vectorize=False`."
)
STRATEGY = 'Expected strategy to be either "forward-mode" or "reverse-mode".'
STRATEGY_HINT = (
    ' Hint: If your function has more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, '
    'prefer to use "reverse-mode". "auto" compares their numbers.'
)
NOT_HOLOMORPHIC = (
    "{}: output {} is not a holomorphic function of input {}, and ∂f/∂z alone does not determine its derivative; "
    "∂f/∂z̄, which is not zero, is the conjugate of the Jacobian of the conjugated function (vjp, jvp, vhp and hvp "
    "need no such halves)"
)


class Tree(NamedTuple):
    """Tensors and how they are arranged."""

    tensors: list[Tensor]
    structure: TreeDef


#: What is differentiated: from as many Tensors as there are inputs to all outputs.
Evaluation: TypeAlias = Callable[[list[Tensor]], Tree]


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The dot product of a vector v with the Jacobian of a function.

    Args:
        func: takes Tensors (a tree of them, see this module) and returns Tensors.
        inputs: where the Jacobian is taken; a tuple is spread over the arguments of func.
        v: what is multiplied from the left, one Tensor for each output and of its shape; may be left out if func
            returns one Tensor of one element.
        create_graph: results can be differentiated.
        strict: raise where a result does not depend on an input, instead of giving zeros.

    Returns:
        The outputs of func, and the products in the structure of the inputs, of their shapes and dtypes.

    Raises:
        TypeError: something else than a Tensor is among inputs, outputs or v.
        RuntimeError: v does not fit the outputs; in strict mode, an output is independent of an input.

    >>> import adjoint
    >>> from adjoint.autograd.functional import vjp
    >>> x = adjoint.tensor([1.0, 2.0])
    >>> vjp(lambda x: x**2, x, adjoint.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        given = read("vjp", INPUTS, inputs)
        primals = tracked(given.tensors, create_graph)
        outputs = call("vjp", func, given.structure, primals)
        check_differentiable(outputs.tensors, strict)
        vectors = read_vectors("vjp", v, outputs, VECTOR_FOR_OUTPUT)
        found = pull(outputs.tensors, primals, vectors, create_graph)
        products = filled(found, primals, strict, create_graph, INDEPENDENT, CONSTANT_JACOBIAN)
    return finished(outputs, create_graph), finished(Tree(products, given.structure), create_graph)


def jvp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
    *,
    strategy: str = "reverse-mode",
) -> tuple[Any, Any]:
    """The dot product of the Jacobian of a function with a vector v.

    Args:
        func, inputs, create_graph, strict: as in `vjp`.
        v: what is multiplied from the right, in the structure of the inputs and of their shapes; may be left out if
            there is one input of one element.
        strategy: "reverse-mode" differentiates a backward pass, which is linear in its cotangent, once more;
            "forward-mode" carries tangents through func, which is quicker.

    Returns:
        The outputs of func, and the products in the structure of the outputs, of their shapes and dtypes.

    Raises:
        TypeError, RuntimeError: as in `vjp`; strict in forward mode.

    >>> import adjoint
    >>> from adjoint.autograd.functional import jvp
    >>> x = adjoint.tensor([1.0, 2.0])
    >>> jvp(lambda x: x**2, x, adjoint.tensor([1.0, 0.0]))
    (tensor([1., 4.]), tensor([2., 0.]))
    """
    by_tangents = is_forward("jvp", strategy, strict, STRATEGY)
    with enable_grad():
        given = read("jvp", INPUTS, inputs)
        vectors = read_vectors("jvp", v, given, VECTOR_FOR_INPUT)
        if by_tangents:
            primals = tracked(given.tensors, create_graph) if create_graph else detached(given.tensors)
            outputs, products = push(lambda tensors: call("jvp", func, given.structure, tensors), primals, vectors)
        else:
            primals = tracked(given.tensors, create_graph)
            outputs = call("jvp", func, given.structure, primals)
            check_differentiable(outputs.tensors, strict)
            products = push_by_double_backward(
                outputs.tensors, primals, vectors, create_graph, strict,
                [INDEPENDENT, INDEPENDENT_ENTRY, CONSTANT_JACOBIAN],
            )  # fmt: skip
    return finished(outputs, create_graph), finished(Tree(products, outputs.structure), create_graph)


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The dot product of a vector v with the Hessian of a scalar function.

    Args:
        func: returns one real Tensor of one element; otherwise as in `vjp`.
        inputs, create_graph, strict: as in `vjp`.
        v: what is multiplied, in the structure of the inputs and of their shapes; may be left out if there is one input
            of one element.

    Returns:
        The output of func, and the products in the structure of the inputs.

    Raises:
        TypeError, RuntimeError: as in `vjp`, and if func does not return one element.

    >>> import adjoint
    >>> from adjoint.autograd.functional import vhp
    >>> x = adjoint.tensor([1.0, 2.0])
    >>> vhp(lambda x: (x**3).sum(), x, adjoint.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    with enable_grad():
        given = read("vhp", INPUTS, inputs)
        primals = tracked(given.tensors, create_graph)
        vectors = read_vectors("vhp", v, given, VECTOR_FOR_INPUT)
        output, gradient = value_and_gradient("vhp", func, given.structure, primals, strict)
        found = pull(gradient, primals, vectors, create_graph)
        products = filled(found, primals, strict, create_graph, INDEPENDENT_JACOBIAN, CONSTANT_HESSIAN)
    return finished(output, create_graph), finished(Tree(products, given.structure), create_graph)


def hvp(
    func: Function,
    inputs: Any,
    v: Any = None,
    create_graph: bool = False,
    strict: bool = False,
    *,
    strategy: str = "reverse-mode",
) -> tuple[Any, Any]:
    """The dot product of the Hessian of a scalar function with a vector v.

    The same numbers as `vhp` wherever the Hessian is symmetric, which it is for every twice continuously differentiable
    function; `vhp` is quicker, unless strategy is "forward-mode", which carries tangents through the backward pass.

    Args:
        func, inputs, v, create_graph, strict: as in `vhp`.
        strategy: as in `jvp`.

    Returns:
        The output of func, and the products in the structure of the inputs.

    Raises:
        TypeError, RuntimeError: as in `vhp`; strict in forward mode.

    >>> import adjoint
    >>> from adjoint.autograd.functional import hvp
    >>> x = adjoint.tensor([1.0, 2.0])
    >>> hvp(lambda x: (x**3).sum(), x, adjoint.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    by_tangents = is_forward("hvp", strategy, strict, STRATEGY)
    with enable_grad():
        given = read("hvp", INPUTS, inputs)
        primals = tracked(given.tensors, create_graph)
        vectors = read_vectors("hvp", v, given, VECTOR_FOR_INPUT)
        if by_tangents:
            values: list[Tree] = []

            def gradient_of(tensors: list[Tensor]) -> Tree:
                value, slopes = value_and_gradient("hvp", func, given.structure, tensors, strict)
                values.append(value)
                return Tree(slopes, given.structure)

            _, products = push(gradient_of, primals, vectors)
            output = values[0]
        else:
            output, gradient = value_and_gradient("hvp", func, given.structure, primals, strict)
            products = push_by_double_backward(
                gradient, primals, vectors, create_graph, strict,
                [INDEPENDENT_HESSIAN_ENTRY, INDEPENDENT_HESSIAN_ENTRY, CONSTANT_HESSIAN],
            )  # fmt: skip
    return finished(output, create_graph), finished(Tree(products, given.structure), create_graph)


def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
    *,
    chunk_size: int | None = None,
) -> Any:
    """The Jacobian of a function.

    Args:
        func, inputs, create_graph, strict: as in `vjp`.
        vectorize: compute many rows (or columns) in one pass, by vmap, instead of one pass for each.
        strategy: "reverse-mode", row by row; "forward-mode", column by column; "auto", whichever are fewer.
        chunk_size: with vectorize, how many rows at a time (default: all), which bounds the memory that a pass takes.

    Returns:
        In the structure of the outputs, for each output in the structure of the inputs, a Tensor of shape
        output.shape + input.shape. One Tensor if func maps one Tensor to one. For complex numbers see this module.

    Raises:
        TypeError: something else than a Tensor is among inputs or outputs.
        RuntimeError: in strict mode, an output is independent of an input; strict together with vectorize or
            forward mode.
        ValueError: chunk_size is not positive, or given without vectorize.

    >>> import adjoint
    >>> from adjoint.autograd.functional import jacobian
    >>> x = {"a": adjoint.tensor([1.0, 2.0]), "b": adjoint.tensor(3.0)}
    >>> jacobian(lambda x: x["a"] * x["b"], x)
    {'a': tensor([[3., 0.],
            [0., 3.]]), 'b': tensor([1., 2.])}
    """
    job = Job("jacobian", create_graph, strict, vectorize, chunk_size, [])
    by_columns = is_forward("jacobian", strategy, strict, STRATEGY + STRATEGY_HINT)
    with enable_grad():
        given = read("jacobian", INPUTS, inputs)
        return full_jacobian(lambda tensors: call("jacobian", func, given.structure, tensors), given, by_columns, job)


def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
    *,
    chunk_size: int | None = None,
) -> Any:
    """The Hessian of a scalar function: the Jacobian of its gradient.

    Args:
        func: returns one real Tensor of one element; otherwise as in `vjp`.
        inputs, create_graph, strict: as in `vjp`.
        vectorize, chunk_size: as in `jacobian`.
        outer_jacobian_strategy: how the gradient is differentiated, as strategy in `jacobian`.

    Returns:
        In the structure of the inputs, for each input again in the structure of the inputs, a Tensor of shape
        first.shape + second.shape. One Tensor for one. For complex numbers see this module.

    Raises:
        TypeError, RuntimeError, ValueError: as in `jacobian`, and if func does not return one element.

    >>> import adjoint
    >>> from adjoint.autograd.functional import hessian
    >>> hessian(lambda x: (x**3).sum(), adjoint.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    job = Job("hessian", create_graph, strict, vectorize, chunk_size, [])
    by_columns = is_forward("hessian", outer_jacobian_strategy, strict, STRATEGY)
    with enable_grad():
        given = read("hessian", INPUTS, inputs)

        def gradient_of(tensors: list[Tensor]) -> Tree:
            wanted = [x if x.requires_grad else x.view_as(x).requires_grad_() for x in tensors]
            return Tree(value_and_gradient("hessian", func, given.structure, wanted, strict)[1], given.structure)

        return full_jacobian(gradient_of, given, by_columns, job)


# --- trees of Tensors


def read(name: str, role: str, tree: Any) -> Tree:
    """The Tensors of a tree, which has no other leaves."""
    tensors, structure = pytree.flatten(tree)
    if tree is None:
        tensors, structure = [None], pytree.LEAF
    check_tensors(name, role, tensors, structure)
    return Tree(tensors, structure)


def check_tensors(name: str, role: str, leaves: list[Any], structure: TreeDef) -> None:
    """Raise TypeError for a leaf that is not a Tensor."""
    for index, leaf in enumerate(leaves):
        if not isinstance(leaf, TensorBase):
            where = f"the given {role}" if structure.is_leaf else f"the value at {place(structure, index)}"
            raise TypeError(WRONG_TYPE.format(role=role, name=name, where=where, type=type(leaf)))


def place(structure: TreeDef, index: int) -> str:
    """Where a leaf stands: "index 1" in a flat tuple."""
    flat = structure.type is tuple and all(child.is_leaf for child in structure.children)
    return f"index {index}" if flat else pytree.places(structure)[index]


def call(name: str, func: Function, structure: TreeDef, tensors: list[Tensor]) -> Tree:
    """The outputs of the user's function for these inputs."""
    arguments = structure.unflatten(tensors)
    outputs = func(*arguments) if isinstance(arguments, tuple) else func(arguments)
    return read(name, OUTPUTS, outputs)


def read_vectors(name: str, v: Any, like: Tree, needed: str) -> list[Tensor]:
    """The vectors to multiply with, one for each Tensor of `like`; `needed` is said if v is None and may not be."""
    if v is None:
        if len(like.tensors) != 1 or like.tensors[0].numel() != 1:
            raise RuntimeError(needed)
        if is_differentiable(like.tensors[0]):
            check_implicit(like.tensors[0]._array)
        return [ops.ones_like(like.tensors[0].detach())]
    vectors = arranged_like(name, like, read(name, VECTOR, v), v)
    for index, (vector, tensor) in enumerate(zip(vectors, like.tensors, strict=True)):
        if vector.shape != tensor.shape:
            entry = f"Entry {index} in " if len(vectors) > 1 else ""
            raise RuntimeError(
                f"{entry}v has invalid size: should be {Size(tensor.shape)} but got {Size(vector.shape)}."
            )
    return vectors


def arranged_like(name: str, like: Tree, vectors: Tree, v: Any) -> list[Tensor]:
    """The vectors in the order of `like`. One Tensor and a tuple of one are taken for each other."""
    if vectors.structure == like.structure or all(is_flat(tree.structure) for tree in (like, vectors)):
        n = len(like.tensors)
        if len(vectors.tensors) == n:
            return vectors.tensors
        if n == 1:
            raise RuntimeError("The given v should contain a single Tensor.")
        raise RuntimeError(f"v is a tuple of invalid length: should be {n} but got {len(vectors.tensors)}.")
    try:
        parts = like.structure.flatten_up_to(v)
    except ValueError as error:
        raise ValueError(f"v has another structure: {error}") from None
    check_tensors(name, VECTOR, parts, like.structure)
    return parts


def is_flat(structure: TreeDef) -> bool:
    """True for what torch takes: a Tensor or a tuple of Tensors."""
    kind = structure.type
    return kind is None or (issubclass(kind, tuple) and all(child.is_leaf for child in structure.children))


def finished(tree: Tree, create_graph: bool) -> Any:
    """What the user gets: the Tensors in their structure, with their history only if that is wanted."""
    return tree.structure.unflatten(tree.tensors if create_graph else detached(tree.tensors))


# --- one pass


def detached(tensors: list[Tensor]) -> list[Tensor]:
    """The values without their history."""
    return [tensor.detach() for tensor in tensors]


def tracked(tensors: list[Tensor], create_graph: bool) -> list[Tensor]:
    """Inputs to differentiate with respect to: views with create_graph, so that results lead back to the originals."""
    if not create_graph:
        return [tensor.detach().requires_grad_() for tensor in tensors]
    views = [tensor.view_as(tensor) for tensor in tensors]
    return [view if view.requires_grad else view.requires_grad_() for view in views]


def is_differentiable(tensor: Tensor) -> bool:
    """True if a tensor can have gradients."""
    return errors.is_differentiable(from_numpy_dtype(tensor._array.dtype))


def check_differentiable(outputs: list[Tensor], strict: bool) -> None:
    """Raise RuntimeError, in strict mode, for an output without history."""
    if strict:
        for index, output in enumerate(outputs):
            if not output.requires_grad:
                raise RuntimeError(NO_GRADIENTS.format(index))


def pull(
    outputs: list[Tensor], inputs: list[Tensor], cotangents: list[Tensor], create_graph: bool
) -> list[Tensor | None]:
    """The cotangents of the inputs, None where no output depends on one."""
    pairs = [pair for pair in zip(outputs, cotangents, strict=True) if pair[0].requires_grad]
    if not pairs and inputs:
        return [None] * len(inputs)
    roots, vectors = [list(column) for column in zip(*pairs, strict=True)] or ([], [])
    return list(grad(roots, inputs, vectors, create_graph=create_graph, allow_unused=True))


def filled(
    found: Sequence[Tensor | None], like: list[Tensor], strict: bool, create_graph: bool, missing: str, constant: str
) -> list[Tensor]:
    """Zeros for None. In strict mode it is an error instead, and with create_graph so is a result without history."""
    for index, value in enumerate(found):
        if strict and value is None:
            raise RuntimeError(missing.format(index))
        if strict and create_graph and value is not None and not value.requires_grad:
            raise RuntimeError(constant.format(index))
    pairs = zip(found, like, strict=True)
    return [ops.zeros_like(tensor.detach()) if value is None else value for value, tensor in pairs]


def value_and_gradient(
    name: str, func: Function, structure: TreeDef, primals: list[Tensor], strict: bool
) -> tuple[Tree, list[Tensor]]:
    """The value of a scalar function and its gradient, which can be differentiated."""
    output = call(name, func, structure, primals)
    if not output.structure.is_leaf:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    (value,) = output.tensors
    if value.numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
    check_differentiable([value], strict)
    if value.requires_grad:
        check_implicit(value._array)
    found = pull([value], primals, [ops.ones_like(value.detach())], True)
    missing = CONSTANT_GRADIENT if name == "hessian" else INDEPENDENT
    return output, filled(found, primals, strict, True, missing, CONSTANT_GRADIENT)


def push_by_double_backward(
    outputs: list[Tensor],
    primals: list[Tensor],
    tangents: list[Tensor],
    create_graph: bool,
    strict: bool,
    messages: list[str],
) -> list[Tensor]:
    """The tangents of the outputs: u ↦ pull(u) is linear, and its transpose is what carries tangents forward."""
    independent, missing, constant = messages
    dependent = [output for output in outputs if output.requires_grad]
    dummies = [ops.zeros_like(output.detach()).requires_grad_() for output in dependent]
    pulled = filled(pull(dependent, primals, dummies, True), primals, strict, False, independent, "")
    pushed = iter(pull(pulled, dummies, tangents, create_graph) if dummies else [])
    found = [next(pushed) if output.requires_grad else None for output in outputs]
    return filled(found, outputs, strict, create_graph, missing, constant)


def push(evaluate: Evaluation, primals: list[Tensor], tangents: Sequence[Tensor | None]) -> tuple[Tree, list[Tensor]]:
    """The outputs and their tangents, by forward mode; None among the tangents stands for zeros."""
    with forward.level() as level:
        pairs = enumerate(zip(primals, tangents, strict=True))
        duals = [x if t is None else forward.dual(x, make_cotangent(x, t, k, True), level) for k, (x, t) in pairs]
        outputs = evaluate(duals)
        found = [forward.tangent_of(output, level) for output in outputs.tensors]
    return outputs, filled(found, outputs.tensors, False, False, "", "")


# --- whole Jacobians


class Job(NamedTuple):
    """How a Jacobian is to be computed, and for which public function."""

    name: str
    create_graph: bool
    strict: bool
    vectorize: bool
    chunk_size: int | None
    mixed: list[tuple[int, int]]
    """(output, input) where both ∂f/∂z and ∂f/∂z̄ differ from zero."""


#: A Tensor of shape output.shape + input.shape, or None where the output does not depend on the input.
Block: TypeAlias = Tensor | None


def is_forward(name: str, strategy: str, strict: bool, message: str) -> bool | None:
    """True for forward mode, False for reverse mode, None if the numbers of inputs and outputs are to decide."""
    modes = {"forward-mode": True, "reverse-mode": False, "auto": False if strict else None}
    if strategy not in modes:
        raise AssertionError(message)
    if strict and modes[strategy]:
        raise RuntimeError(STRICT_FORWARD.format(name))
    return modes[strategy]


def check_job(job: Job) -> None:
    """Raise where options contradict each other."""
    if job.strict and job.vectorize:
        raise RuntimeError(STRICT_VECTORIZE.format(job.name))
    if job.chunk_size is None:
        return
    if not job.vectorize:
        raise ValueError(
            f"{job.name}: chunk_size={job.chunk_size} bounds how many rows are vectorized at a time; "
            "pass vectorize=True with it"
        )
    if job.chunk_size < 1:
        raise ValueError(f"{job.name}: chunk_size must be a positive number, but got {job.chunk_size}")


def full_jacobian(evaluate: Evaluation, given: Tree, by_columns: bool | None, job: Job) -> Any:
    """The Jacobian as the user gets it."""
    check_job(job)
    primals = tracked(given.tensors, job.create_graph)
    outputs = evaluate(primals)
    rows, columns = n_directions(outputs.tensors), n_directions(primals)
    if by_columns is None:
        by_columns = columns < rows
    with Progress(job.name, columns if by_columns else rows) as progress:
        if by_columns:
            blocks = jacobian_by_columns(evaluate, primals, outputs.tensors, job, progress)
        else:
            blocks = jacobian_by_rows(primals, outputs.tensors, job, progress)
    if job.mixed:
        warnings.warn(NOT_HOLOMORPHIC.format(job.name, *job.mixed[0]), UserWarning, stacklevel=3)
    return outputs.structure.unflatten(finished(Tree(row, given.structure), job.create_graph) for row in blocks)


def units(tensor: Tensor) -> tuple[complex, ...]:
    """The directions into which one element can move."""
    return (1, 1j) if tensor.is_complex() else (1,)


def n_directions(tensors: list[Tensor]) -> int:
    """How many passes it takes to treat every element of these tensors."""
    return sum(tensor.numel() * len(units(tensor)) for tensor in tensors)


def basis(tensor: Tensor, start: int, stop: int, unit: complex) -> Tensor:
    """The basis vectors number start to stop of the space of a tensor, times unit, along a new first dimension."""
    xp, dtype = namespace(tensor._array), tensor._array.dtype
    ones = xp.arange(tensor.numel())[None, :] == xp.arange(start, stop)[:, None]
    vectors: Tensor = new_tensor(xp.reshape(xp.astype(ones, dtype), (stop - start, *tensor.shape)))
    return vectors if unit == 1 else vectors * unit


def jacobian_by_rows(primals: list[Tensor], outputs: list[Tensor], job: Job, progress: Progress) -> list[list[Tensor]]:
    """Reverse mode: for each output the blocks of all inputs."""
    check_differentiable(outputs, job.strict)
    rows_of = _rows_batched if job.vectorize else _rows_by_loop
    result = []
    for number, output in enumerate(outputs):
        parts: list[list[Block]] = [[None] * len(primals)]
        if output.requires_grad and output.numel():
            parts = [rows_of(output, unit, primals, job, progress) for unit in units(output)]
        blocks = [
            block_of_cotangents(job, (number, k), output, x, [part[k] for part in parts]) for k, x in enumerate(primals)
        ]
        missing = INDEPENDENT_OUTPUT.replace("{output}", str(number))
        zeros = [zero_block(output, x) for x in primals]
        result.append(filled(blocks, zeros, job.strict, job.create_graph, missing, CONSTANT_JACOBIAN))
    return result


def _rows_by_loop(output: Tensor, unit: complex, primals: list[Tensor], job: Job, progress: Progress) -> list[Block]:
    """The cotangents of each input for every element of an output, one pass for each."""
    rows = []
    for j in range(output.numel()):
        (cotangent,) = basis(output, j, j + 1, unit)
        rows.append(grad(output, primals, cotangent, True, job.create_graph, allow_unused=True))
        progress.advance()
    return [stacked(column, output, x) for column, x in zip(zip(*rows, strict=True), primals, strict=True)]


def _rows_batched(output: Tensor, unit: complex, primals: list[Tensor], job: Job, progress: Progress) -> list[Block]:
    """The same, many elements in one pass."""
    n = output.numel()
    chunks = []
    for start, stop in spans(n, job.chunk_size):
        cotangents = basis(output, start, stop, unit)
        chunks.append(
            grad(output, primals, cotangents, True, job.create_graph, allow_unused=True, is_grads_batched=True)
        )
        progress.advance(stop - start)
    columns = zip(*chunks, strict=True)
    return [joined(column, (*output.shape, *x.shape)) for column, x in zip(columns, primals, strict=True)]


def spans(n: int, size: int | None) -> list[tuple[int, int]]:
    """The numbers from 0 to n in pieces, as (start, stop)."""
    step = max(n, 1) if size is None else size
    return [(start, min(start + step, n)) for start in range(0, n, step)]


def stacked(rows: Sequence[Tensor | None], output: Tensor, x: Tensor) -> Block:
    """Rows one below the other as a block; None if all are."""
    if all(row is None for row in rows):
        return None
    zero = ops.zeros_like(x.detach())
    return ops.stack(tuple(zero if row is None else row for row in rows)).reshape((*output.shape, *x.shape))


def joined(chunks: Sequence[Tensor | None], shape: tuple[int, ...]) -> Block:
    """Chunks of rows one below the other as a block; None if the output does not depend on the input."""
    present = tuple(chunk for chunk in chunks if chunk is not None)
    return ops.cat(present).reshape(shape) if present else None


def zero_block(output: Tensor, x: Tensor) -> Tensor:
    """The block of an output that does not depend on an input: of the input's dtype, complex if one of them is."""
    array = x._array
    zeros: Tensor = new_tensor(namespace(array).zeros((*output.shape, *x.shape), dtype=array.dtype))
    return zeros + 0j if output.is_complex() and not x.is_complex() else zeros


def block_of_cotangents(job: Job, where: tuple[int, int], output: Tensor, x: Tensor, parts: list[Block]) -> Block:
    """A block from the rows for the cotangents 1 and, if the output is complex, i."""
    if len(parts) == 1 or all(part is None for part in parts):
        return parts[0]
    first, second = [zero_block(output, x) if part is None else part for part in parts]
    if not x.is_complex():
        return first + second * 1j
    check_holomorphic(job, where, first, second)
    return (first - second * 1j).conj() / 2


def jacobian_by_columns(
    evaluate: Evaluation, primals: list[Tensor], outputs: list[Tensor], job: Job, progress: Progress
) -> list[list[Tensor]]:
    """Forward mode: for each output the blocks of all inputs."""
    if not job.create_graph:
        primals = detached(primals)
    columns = [[_columns_by_forward_mode(evaluate, primals, k, unit, outputs, job, progress) for unit in units(x)]
               for k, x in enumerate(primals)]  # fmt: skip
    return [
        [
            block_of_tangents(job, (number, k), output, x, [part[number] for part in columns[k]])
            for k, x in enumerate(primals)
        ]
        for number, output in enumerate(outputs)
    ]


def _columns_by_forward_mode(
    evaluate: Evaluation,
    primals: list[Tensor],
    k: int,
    unit: complex,
    outputs: list[Tensor],
    job: Job,
    progress: Progress,
) -> list[Tensor]:
    """For every output its tangents for all elements of input number k, of shape output.shape + input.shape."""
    x = primals[k]

    def tangents_for(direction: Tensor) -> tuple[Tensor, ...]:
        return tuple(push(evaluate, primals, [direction if i == k else None for i in range(len(primals))])[1])

    if job.vectorize:
        from adjoint.transforms.vmap import vmap

        step, tangents_for_chunk = job.chunk_size, vmap(tangents_for)
    else:
        step, tangents_for_chunk = 1, lambda directions: [t.unsqueeze(0) for t in tangents_for(directions[0])]
    chunks = []
    for start, stop in spans(x.numel(), step):
        chunks.append(tangents_for_chunk(basis(x, start, stop, unit)))
        progress.advance(stop - start)
    return [joined_columns([chunk[number] for chunk in chunks], output, x) for number, output in enumerate(outputs)]


def joined_columns(chunks: list[Tensor], output: Tensor, x: Tensor) -> Tensor:
    """Tangents of an output, one for each element of an input, side by side."""
    if not chunks or not output.numel():
        return zero_block(output, x)
    rows = ops.cat(tuple(chunks)).reshape((x.numel(), output.numel()))
    return rows.transpose(0, 1).reshape((*output.shape, *x.shape))


def block_of_tangents(job: Job, where: tuple[int, int], output: Tensor, x: Tensor, parts: list[Tensor]) -> Tensor:
    """A block from the columns for the tangents 1 and, if the input is complex, i."""
    block = parts[0]
    if x.is_complex():
        first, second = parts
        if output.is_complex():
            check_holomorphic(job, where, first, second)
            block = (first - second * 1j) / 2
        else:
            block = first + second * 1j
    return block.to(zero_block(output, x).dtype)


def check_holomorphic(job: Job, where: tuple[int, int], first: Tensor, second: Tensor) -> None:
    """Note where derivatives along 1 and along i are not those of a holomorphic function, for which they cancel."""
    rest = first.detach() + second.detach() * 1j
    if rest.numel() and largest(rest) > math.sqrt(finfo(rest.dtype).eps) * largest(first):
        job.mixed.append(where)


def largest(tensor: Tensor) -> float:
    """The largest absolute value in a tensor."""
    xp = namespace(tensor._array)
    return float(xp.max(xp.abs(tensor._array)))
