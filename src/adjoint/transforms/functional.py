"""Derivatives of functions: Jacobians, Hessians, and their products with vectors.

Inputs, outputs and vectors are trees (see `adjoint.runtime.pytree`) of Tensors: a Tensor, a tuple of Tensors, or
dictionaries, lists, dataclasses and so on of them, in any depth. The members of a tuple become the arguments of the
function; any other tree is its only argument.

Complex numbers. Products with vectors follow `grad`: `vjp` multiplies with the conjugate transpose, and `jvp` is the
change of the outputs along v, for any function. `adjoint.transforms.jacobians` defines the entries of a Jacobian; a
Hessian is the Jacobian of the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy

from adjoint.arrays.dtypes import from_numpy_dtype
from adjoint.arrays.size import Size
from adjoint.core import errors
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.modes.grad_mode import enable_grad
from adjoint.core.operations.dependence import differentiating
from adjoint.runtime import pytree
from adjoint.runtime.pytree import TreeDef
from adjoint.tensor.differentiate import check_implicit, grad, make_cotangent, needing_grad
from adjoint.tensor.table import ops
from adjoint.transforms import forward
from adjoint.transforms.batching.vmap import vmap
from adjoint.transforms.chunks import ChunkSize, check_chunk_size
from adjoint.transforms.jacobians import Job, Pull, Push, n_directions, zero_block
from adjoint.transforms.passing import for_primals

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
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


class Tree(NamedTuple):
    """Tensors and how they are arranged."""

    tensors: list[Tensor]
    structure: TreeDef


#: A function to differentiate: it takes one Tensor per input and returns all outputs.
Evaluation: TypeAlias = "Callable[[list[Tensor]], Tree]"


@for_primals
def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The dot product of a vector v with the Jacobian of a function.

    Args:
        func: takes Tensors (a tree of them, see this module) and returns Tensors.
        inputs: the point of the Jacobian; the members of a tuple are the arguments of func.
        v: the vectors to multiply from the left, one Tensor for each output, with its shape; optional if func returns
            one Tensor of one element.
        create_graph: results can be differentiated.
        strict: raise an error, instead of zeros, if a result does not depend on an input.

    Returns:
        The outputs of func, and the products in the structure of the inputs, of their shapes and dtypes.

    Raises:
        TypeError: an input, an output or a member of v is no Tensor.
        RuntimeError: v does not fit the outputs; in strict mode, an output is independent of an input.

    >>> import adjoint
    >>> from adjoint.autograd.functional import vjp
    >>> x = adjoint.tensor([1.0, 2.0])
    >>> vjp(lambda x: x**2, x, adjoint.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    with enable_grad():
        arguments = read("vjp", INPUTS, inputs)
        primals = track(arguments.tensors, create_graph)
        outputs = call("vjp", func, arguments.structure, primals)
        check_differentiable(outputs.tensors, strict)
        vectors = read_vectors("vjp", v, outputs, VECTOR_FOR_OUTPUT)
        cotangents = pull(outputs.tensors, primals, vectors, create_graph)
        products = zeros_for_none(cotangents, primals, strict, create_graph, INDEPENDENT, CONSTANT_JACOBIAN)
    return finish(outputs, create_graph), finish(Tree(products, arguments.structure), create_graph)


@for_primals
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
        v: the vectors to multiply from the right, with the structure and shapes of the inputs; optional if there is one
            input of one element.
        strategy: "reverse-mode" differentiates a backward pass, which is linear in its cotangent; "forward-mode"
            propagates tangents through func, which is faster.

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
        arguments, primals, vectors = along("jvp", inputs, v, create_graph)
        if by_tangents:
            outputs, products = push(
                lambda tensors: call("jvp", func, arguments.structure, tensors), primals, vectors, create_graph
            )
        else:
            outputs = call("jvp", func, arguments.structure, primals)
            check_differentiable(outputs.tensors, strict)
            products = push_by_double_backward(
                outputs.tensors, primals, vectors, create_graph, strict,
                [INDEPENDENT, INDEPENDENT_ENTRY, CONSTANT_JACOBIAN],
            )  # fmt: skip
    return finish(outputs, create_graph), finish(Tree(products, outputs.structure), create_graph)


@for_primals
def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, Any]:
    """The dot product of a vector v with the Hessian of a scalar function.

    Args:
        func: returns one real Tensor of one element; otherwise as in `vjp`.
        inputs, create_graph, strict: as in `vjp`.
        v: the vectors to multiply, in the structure of the inputs and of their shapes; may be left out if there is one
            input of one element.

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
        arguments, primals, vectors = along("vhp", inputs, v, create_graph)
        output, gradient = value_and_gradient("vhp", func, arguments.structure, primals, strict)
        cotangents = pull(gradient, primals, vectors, create_graph)
        products = zeros_for_none(cotangents, primals, strict, create_graph, INDEPENDENT_JACOBIAN, CONSTANT_HESSIAN)
    return finish(output, create_graph), finish(Tree(products, arguments.structure), create_graph)


@for_primals
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

    If the Hessian is symmetric, as for every twice continuously differentiable function, the result equals `vhp`. `vhp`
    is faster, unless strategy is "forward-mode", which propagates tangents through the backward pass.

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
        arguments, primals, vectors = along("hvp", inputs, v, create_graph)
        if by_tangents:
            values: list[Tree] = []

            def gradient_of(tensors: list[Tensor]) -> Tree:
                value, slopes = value_and_gradient("hvp", func, arguments.structure, track(tensors, True), strict)
                values.append(value)
                return Tree(slopes, arguments.structure)

            _, products = push(gradient_of, primals, vectors, create_graph)
            output = values[0]
        else:
            output, gradient = value_and_gradient("hvp", func, arguments.structure, primals, strict)
            products = push_by_double_backward(
                gradient, primals, vectors, create_graph, strict,
                [INDEPENDENT_HESSIAN_ENTRY, INDEPENDENT_HESSIAN_ENTRY, CONSTANT_HESSIAN],
            )  # fmt: skip
    return finish(output, create_graph), finish(Tree(products, arguments.structure), create_graph)


@for_primals
def jacobian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
    *,
    chunk_size: ChunkSize = None,
) -> Any:
    """The Jacobian of a function.

    Args:
        func, inputs, create_graph, strict: as in `vjp`.
        vectorize: compute many rows (or columns) in one pass, by vmap, instead of one pass for each.
        strategy: "reverse-mode", row by row; "forward-mode", column by column; "auto", whichever are fewer.
        chunk_size: with vectorize, the number of rows at a time, as in `adjoint.func.jacrev`; it bounds the memory of a
            pass.

    Returns:
        For each output and input a Tensor of shape output.shape + input.shape, nested: the structure of the outputs
        outside, the structure of the inputs inside. One Tensor if func maps one Tensor to one. For complex numbers see
        `adjoint.transforms.jacobians`.

    Raises:
        TypeError: an input or an output is no Tensor.
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
    settings = Settings("jacobian", create_graph, strict, vectorize, chunk_size)
    by_columns = is_forward("jacobian", strategy, strict, STRATEGY + STRATEGY_HINT)
    with enable_grad():
        arguments = read("jacobian", INPUTS, inputs)
        return full_jacobian(
            lambda tensors: call("jacobian", func, arguments.structure, tensors), arguments, by_columns, settings
        )


@for_primals
def hessian(
    func: Function,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
    *,
    chunk_size: ChunkSize = None,
) -> Any:
    """The Hessian of a scalar function: the Jacobian of its gradient.

    Args:
        func: returns one real Tensor of one element; otherwise as in `vjp`.
        inputs, create_graph, strict: as in `vjp`.
        vectorize, chunk_size: as in `jacobian`.
        outer_jacobian_strategy: how the gradient is differentiated, as strategy in `jacobian`.

    Returns:
        In the structure of the inputs, for each input again in the structure of the inputs, a Tensor of shape
        first.shape + second.shape. One Tensor for one. For complex numbers see `adjoint.transforms.jacobians`.

    Raises:
        TypeError, RuntimeError, ValueError: as in `jacobian`, and if func does not return one element.

    >>> import adjoint
    >>> from adjoint.autograd.functional import hessian
    >>> hessian(lambda x: (x**3).sum(), adjoint.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    settings = Settings("hessian", create_graph, strict, vectorize, chunk_size)
    by_columns = is_forward("hessian", outer_jacobian_strategy, strict, STRATEGY)
    with enable_grad():
        arguments = read("hessian", INPUTS, inputs)

        def gradient_of(tensors: list[Tensor]) -> Tree:
            slopes = value_and_gradient("hessian", func, arguments.structure, track(tensors, True), strict)[1]
            return Tree(slopes, arguments.structure)

        return full_jacobian(gradient_of, arguments, by_columns, settings)


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
            where = f"the given {role}" if structure.is_leaf else f"the value at {describe_position(structure, index)}"
            raise TypeError(WRONG_TYPE.format(role=role, name=name, where=where, type=type(leaf)))


def describe_position(structure: TreeDef, index: int) -> str:
    """The place of a leaf: "index 1" in a flat tuple."""
    flat = structure.type is tuple and all(child.is_leaf for child in structure.children)
    return f"index {index}" if flat else pytree.places(structure)[index]


def call(name: str, func: Function, structure: TreeDef, tensors: list[Tensor]) -> Tree:
    """The outputs of the user's function for these inputs."""
    arguments = structure.unflatten(tensors)
    with differentiating(tensors):
        outputs = func(*arguments) if isinstance(arguments, tuple) else func(arguments)
    return read(name, OUTPUTS, outputs)


def read_vectors(name: str, v: Any, like: Tree, reason: str) -> list[Tensor]:
    """The vectors to multiply with, one for each Tensor of `like`; `reason` is the error's text for v=None."""
    if v is None:
        if len(like.tensors) != 1 or like.tensors[0].numel() != 1:
            raise RuntimeError(reason)
        if is_differentiable(like.tensors[0]):
            check_implicit(like.tensors[0]._array)
        return [ops.ones_like(like.tensors[0].detach())]
    vectors = arranged_like(name, like.structure, v)
    for index, (vector, tensor) in enumerate(zip(vectors, like.tensors, strict=True)):
        if vector.shape != tensor.shape:
            entry = "" if like.structure.is_leaf else f"Entry {index} in "
            raise RuntimeError(
                f"{entry}v has invalid size: should be {Size(tensor.shape)} but got {Size(vector.shape)}."
            )
    return vectors


def arranged_like(name: str, like: TreeDef, v: Any) -> list[Tensor]:
    """The vectors in the order of a structure. One Tensor and a tuple of one Tensor are equivalent."""
    if not is_flat(like):
        try:
            parts = like.flatten_up_to(v)
        except ValueError as error:
            raise ValueError(f"v has another structure: {error}") from None
        check_tensors(name, VECTOR, parts, like)
        return parts
    parts, structure = pytree.flatten(v, lambda part: not (part is v and isinstance(v, tuple)))
    check_tensors(name, VECTOR, parts, structure)
    if len(parts) == like.n_leaves:
        return parts
    if like.is_leaf:
        raise RuntimeError("The given v should contain a single Tensor.")
    raise RuntimeError(f"v is a tuple of invalid length: should be {like.n_leaves} but got {len(parts)}.")


def is_flat(structure: TreeDef) -> bool:
    """True for the inputs that torch accepts: a Tensor or a tuple of Tensors."""
    kind = structure.type
    return kind is None or (issubclass(kind, tuple) and all(child.is_leaf for child in structure.children))


def finish(tree: Tree, create_graph: bool) -> Any:
    """The results for the user: the Tensors in their structure, with history only if requested."""
    return tree.structure.unflatten(tree.tensors if create_graph else detach(tree.tensors))


# --- one pass


def along(name: str, inputs: Any, v: Any, create_graph: bool) -> tuple[Tree, list[Tensor], list[Tensor]]:
    """The inputs, as given and as followed by a graph, and a vector for each of them."""
    arguments = read(name, INPUTS, inputs)
    primals = track(arguments.tensors, create_graph)
    return arguments, primals, read_vectors(name, v, arguments, VECTOR_FOR_INPUT)


def detach(tensors: list[Tensor]) -> list[Tensor]:
    """The values without their history."""
    return [tensor.detach() for tensor in tensors]


def track(tensors: list[Tensor], create_graph: bool) -> list[Tensor]:
    """Inputs to differentiate with respect to: views with create_graph, so that results lead back to the originals."""
    # a copy of an inference tensor is a normal one
    tensors = [tensor.clone() if tensor.is_inference() else tensor for tensor in tensors]
    if not create_graph:
        return [needing_grad(tensor.detach()) for tensor in tensors]
    views = [tensor.view_as(tensor) for tensor in tensors]
    return [view if view.requires_grad else needing_grad(view) for view in views]


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


def zeros_for_none(
    products: Sequence[Tensor | None], like: list[Tensor], strict: bool, create_graph: bool, missing: str, constant: str
) -> list[Tensor]:
    """Replace None by zeros. strict: None is an error, and with create_graph so is a result without history."""
    for index, value in enumerate(products):
        if strict and value is None:
            raise RuntimeError(missing.format(index))
        if strict and create_graph and value is not None and not value.requires_grad:
            raise RuntimeError(constant.format(index))
    pairs = zip(products, like, strict=True)
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
    gradients = pull([value], primals, [ops.ones_like(value.detach())], True)
    missing = CONSTANT_GRADIENT if name == "hessian" else INDEPENDENT
    return output, zeros_for_none(gradients, primals, strict, True, missing, CONSTANT_GRADIENT)


def push_by_double_backward(
    outputs: list[Tensor],
    primals: list[Tensor],
    tangents: list[Tensor],
    create_graph: bool,
    strict: bool,
    messages: list[str],
) -> list[Tensor]:
    """The tangents of the outputs: u ↦ pull(u) is linear, and its transpose maps tangents forward."""
    independent, missing, constant = messages
    dependent = [output for output in outputs if output.requires_grad]
    dummies = [needing_grad(ops.zeros_like(output.detach())) for output in dependent]
    cotangents = zeros_for_none(pull(dependent, primals, dummies, True), primals, strict, False, independent, "")
    results = iter(pull(cotangents, dummies, tangents, create_graph) if dummies else [])
    pushed_or_none = [next(results) if output.requires_grad else None for output in outputs]
    return zeros_for_none(pushed_or_none, outputs, strict, create_graph, missing, constant)


def push(
    evaluate: Evaluation, primals: list[Tensor], tangents: Sequence[Tensor | None], create_graph: bool
) -> tuple[Tree, list[Tensor]]:
    """The outputs and their tangents, by forward mode; None among the tangents means zeros.

    The function gets copies of primals and tangents, which it may change in place.
    """
    values = [ops.clone(x) for x in (primals if create_graph else detach(primals))]
    directions = [
        None if t is None else ops.clone(make_cotangent(x, t, k, True))
        for k, (x, t) in enumerate(zip(values, tangents, strict=True))
    ]
    with forward.level() as level:
        pairs = zip(values, directions, strict=True)
        duals = [x if t is None else forward.dual(x, t, level) for x, t in pairs]
        outputs = evaluate(duals)
        results = [forward.tangent_of(output, level) for output in outputs.tensors]
    return outputs, zeros_for_none(results, outputs.tensors, False, False, "", "")


# --- whole Jacobians


class Settings(NamedTuple):
    """The request: the options of a public function, and its name."""

    name: str
    create_graph: bool
    strict: bool
    vectorize: bool
    chunk_size: ChunkSize


def is_forward(name: str, strategy: str, strict: bool, message: str) -> bool | None:
    """True for forward mode, False for reverse mode, None if the numbers of inputs and outputs are to decide."""
    modes = {"forward-mode": True, "reverse-mode": False, "auto": False if strict else None}
    if strategy not in modes:
        raise AssertionError(message)
    if strict and modes[strategy]:
        raise RuntimeError(STRICT_FORWARD.format(name))
    return modes[strategy]


def check_settings(settings: Settings) -> None:
    """Raise where options contradict each other."""
    if settings.strict and settings.vectorize:
        raise RuntimeError(STRICT_VECTORIZE.format(settings.name))
    if settings.chunk_size is None:
        return
    if not settings.vectorize:
        raise ValueError(
            f"{settings.name}: chunk_size={settings.chunk_size} bounds how many rows are vectorized at a time; "
            "pass vectorize=True with it"
        )
    message = "{name}: chunk_size must be a positive number, but got {size}"
    check_chunk_size(settings.name, settings.chunk_size, message)


def full_jacobian(evaluate: Evaluation, arguments: Tree, by_columns: bool | None, settings: Settings) -> Any:
    """The Jacobian as the user gets it."""
    check_settings(settings)
    job = Job(settings.name, settings.chunk_size if settings.vectorize else 1)
    primals = track(arguments.tensors, settings.create_graph)
    # forward mode needs only the shapes
    outputs = evaluate([x.detach().clone() for x in primals] if by_columns else primals)
    if by_columns is None:
        by_columns = n_directions(primals) < n_directions(outputs.tensors)
    if by_columns:
        blocks = job.by_columns(pusher(evaluate, primals, settings), outputs.tensors, primals)
    else:
        blocks = rows(job, primals, outputs.tensors, settings)
    job.warn()
    return outputs.structure.unflatten(finish(Tree(row, arguments.structure), settings.create_graph) for row in blocks)


def rows(job: Job, primals: list[Tensor], outputs: list[Tensor], settings: Settings) -> list[list[Tensor]]:
    """The blocks by reverse mode: for each output the blocks of all inputs."""
    check_differentiable(outputs, settings.strict)
    jacobian_rows = []
    for number, blocks in enumerate(job.by_rows(puller(outputs, primals, settings), outputs, primals)):
        zeros = [zero_block(outputs[number], x) for x in primals]
        missing = INDEPENDENT_OUTPUT.replace("{output}", str(number))
        strict = settings.strict and outputs[number].numel() > 0
        jacobian_rows.append(zeros_for_none(blocks, zeros, strict, settings.create_graph, missing, CONSTANT_JACOBIAN))
    return jacobian_rows


def puller(outputs: list[Tensor], primals: list[Tensor], settings: Settings) -> Pull:
    """Pulls cotangents back through the graph, a batch at once or, a batch of one, in a pass of its own."""

    def pull_batch(number: int, cotangents: Tensor) -> Sequence[Tensor | None]:
        return grad(outputs[number], primals, cotangents, True, settings.create_graph, allow_unused=True,
                    is_grads_batched=True)  # fmt: skip

    def pull_one(number: int, cotangents: Tensor) -> Sequence[Tensor | None]:
        cotangent = reshape(cotangents, cotangents._array.shape[1:])
        gradients = grad(outputs[number], primals, cotangent, True, settings.create_graph, allow_unused=True)
        if settings.create_graph:
            return [None if g is None else g.unsqueeze(0) for g in gradients]
        return [None if g is None else reshape(g, (1, *g._array.shape)) for g in gradients]

    return pull_batch if settings.vectorize else pull_one


def reshape(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A tensor without history in another shape; without the work of an operation where it holds a plain array."""
    array = tensor._array
    result: Tensor = new_tensor(array.reshape(shape)) if type(array) is numpy.ndarray else tensor.reshape(shape)
    return result


def pusher(evaluate: Evaluation, primals: list[Tensor], settings: Settings) -> Push:
    """Pushes tangents forward through a run of the function, a batch at once or, a batch of one, in its own run."""

    def push_one(k: int, direction: Tensor) -> tuple[Tensor, ...]:
        directions = [direction if i == k else None for i in range(len(primals))]
        return tuple(push(evaluate, primals, directions, settings.create_graph)[1])

    if settings.vectorize:
        return vmap(push_one, (None, 0))
    return lambda k, tangents: [t.unsqueeze(0) for t in push_one(k, tangents[0])]
