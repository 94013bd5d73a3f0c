"""What the core says when something is wrong: PyTorch's words where it has them."""

from typing import Any

from adjoint.arrays.dtypes import can_cast, from_numpy_dtype
from adjoint.arrays.namespace import namespace, underlying
from adjoint.arrays.shapes import broadcast_shapes

FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)
REQUIRES_GRAD_OF_NON_LEAF = (
    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
    "that doesn't require differentiation use var_no_grad = var.detach()."
)
REQUIRES_GRAD_OF_NON_LEAF_ON = "you can only change requires_grad flags of leaf variables."
REQUIRES_GRAD_DTYPE_SETTER = "only Tensors of floating point and complex dtype can require gradients"
REQUIRES_GRAD_DTYPE = "Only Tensors of floating point and complex dtype can require gradients"
LEAF_IN_PLACE = "a leaf Variable that requires grad is being used in an in-place operation."
VIEW_OF_LEAF_IN_PLACE = "a view of a leaf Variable that requires grad is being used in an in-place operation."
NO_GRAD_VIEW = (
    "A view was created in no_grad mode and is being modified inplace with grad mode enabled. Given that this use "
    "case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both the view and the "
    "inplace either both inside the no_grad block (if you don't want the inplace to be tracked) or both outside (if "
    "you want the inplace to be tracked)."
)
MULTI_OUTPUT_VIEW = (
    "Output {nr} of {node} is a view and is being modified inplace. This view is the output of a function that "
    "returns multiple views. Such functions do not allow the output views to be modified inplace. You should replace "
    "the inplace operation by an out-of-place one."
)
OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)
CANNOT_NUMPY = "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
NON_SCALAR = "grad can be implicitly created only for scalar outputs"
UNUSED_INPUT = (
    "The differentiated Tensor at index {index} appears to not have been used in the graph. "
    "Set allow_unused=True if this is the desired behavior."
)
INPUT_WITHOUT_GRAD = "One of the differentiated Tensors does not require grad"
NO_GRAD_FN = "element {index} of tensors does not require grad and does not have a grad_fn"
BACKWARD_IN_VMAP = (
    "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
    "instead or call backward() outside of functorch transforms."
)
NO_BATCH = (
    "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of dimensionality 0 "
    "so expected in_dim to satisfy 0 <= in_dim < 0."
)
BATCH_SIZES = (
    "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
    "dimension"
)
COTANGENT_OF_BATCH = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The "
    "sizes of the remaining dimensions are expected to match the shape of corresponding output, but a mismatch was "
    "detected: grad_output[{index}] has a shape of {given} and output[{index}] has a shape of {expected}. If you only "
    "want some tensors in `grad_output` to be considered batched, consider using vmap."
)
DEEPCOPY = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment. "
    "Call .detach() (or .clone().detach()) on the result first."
)


def is_differentiable(dtype: Any) -> bool:
    """True for the dtypes that gradients can have."""
    return bool(dtype.is_floating_point or dtype.is_complex)


def operation_of(node: Any) -> str:
    """What a node stands for, as messages show it: Mul for MulBackward0."""
    return str(node.name().removesuffix("0").removesuffix("Backward"))


def sizes(shape: tuple[int, ...]) -> str:
    """A shape as torch prints it in messages: [2, 3]."""
    return "[" + ", ".join(map(str, shape)) + "]"


def modified(array: Any, node: Any, output_nr: int, version: int, expected: int) -> str:
    """The message for a saved value that was overwritten."""
    kind = from_numpy_dtype(array.dtype).long_name
    made_by = ""
    if node is not None:
        made_by = f", which is output {output_nr} of {operation_of(node)},"
    return (
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[adjoint.{kind}Tensor {sizes(array.shape)}]{made_by} is at version {version}; expected version {expected} "
        "instead. Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        "adjoint.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def named_hook(hook: Any) -> str:
    """A hook as messages name it."""
    return f"hook '{getattr(hook, '__name__', '<unknown>')}'"


def hook_changed_type(hook: Any, before: Any, after: Any) -> str:
    """The message for a hook that returned a gradient of another dtype."""
    was, got = [from_numpy_dtype(array.dtype).long_name for array in (before, after)]
    return f"{named_hook(hook)} has changed the type of value (was adjoint.{was}Tensor got adjoint.{got}Tensor)"


def hook_changed_number(hook: Any, got: int, expected: int) -> str:
    """The message for a hook on a node that returned too few or too many gradients."""
    return f"{named_hook(hook)} has returned an incorrect number of values (got {got}, but expected {expected})"


def must_be_tensor(operation: str, argument: str, place: int, value: object) -> str:
    """The message for an argument that is neither a tensor nor an array."""
    return f"{operation}(): argument '{argument}' (position {place + 1}) must be Tensor, not {type(value).__name__}"


def out_requires_grad(operation: str) -> str:
    """The message for out= where a gradient is needed."""
    return (
        f"{operation}(): functions with out=... arguments don't support automatic differentiation, but one of the "
        "arguments requires grad."
    )


def check_broadcast(arrays: list[Any]) -> None:
    """Raise RuntimeError, in torch's words, if the shapes do not broadcast."""
    broadcast_shapes(*[array.shape for array in arrays])


def check_cast(source: Any, target: Any) -> None:
    """Raise RuntimeError if a result of one (array) dtype may not be written into a tensor of another."""
    if source == target:
        return
    source, target = from_numpy_dtype(source), from_numpy_dtype(target)
    if not can_cast(source, target):
        raise RuntimeError(
            f"result type {source.long_name} can't be cast to the desired output type {target.long_name}"
        )


def check_in_place_result(array: Any, out: Any) -> None:
    """Raise RuntimeError if the result of an operation in place does not fit into its tensor."""
    check_cast(out.dtype, array.dtype)
    if out.shape != array.shape and broadcast_shapes(out.shape, array.shape) != array.shape:
        raise RuntimeError(
            f"output with shape {sizes(array.shape)} doesn't match the broadcast shape "
            f"{sizes(broadcast_shapes(out.shape, array.shape))}"
        )
    check_overlap(array)


def check_batch(operation: str, array: Any, out: Any) -> None:
    """Raise RuntimeError if a result differs between the members of a batch and the tensor to hold it does not."""
    check = getattr(namespace(out), "check_in_place", None)
    if check is not None:
        check(operation, array, out)


def check_overlap(array: Any) -> None:
    """Raise RuntimeError if an array that is to be written to repeats elements, as expanded ones do."""
    array = underlying(array)
    strides = getattr(array, "strides", None)
    if strides is not None and array.size and any(s == 0 and n > 1 for s, n in zip(strides, array.shape, strict=True)):
        raise RuntimeError(OVERLAP)


def check_in_place(tensor: Any, mask: int) -> None:
    """Raise RuntimeError if a tensor must not be modified in place while recording."""
    view = tensor._view
    if tensor.requires_grad and tensor.is_leaf:
        raise RuntimeError(LEAF_IN_PLACE)
    if view is None:
        return
    if not (mask or tensor.requires_grad or view.base.requires_grad):
        return
    if view.origin == "no_grad":
        raise RuntimeError(NO_GRAD_VIEW)
    if view.base.requires_grad and view.base.is_leaf:
        raise RuntimeError(VIEW_OF_LEAF_IN_PLACE)
    if view.origin == "multi_output":
        node = tensor.grad_fn
        raise RuntimeError(
            MULTI_OUTPUT_VIEW.format(nr=tensor.output_nr, node="None" if node is None else operation_of(node))
        )


def check_assigned_grad(tensor: Any, value: Any) -> None:
    """Raise unless `value` can be the gradient of `tensor`."""
    if not hasattr(value, "_array"):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(value).__name__}")
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if value._array.dtype != tensor._array.dtype:
        own, given = from_numpy_dtype(tensor._array.dtype), from_numpy_dtype(value._array.dtype)
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{given.c_name}' to a tensor with grad_dtype "
            f"'{own.long_name}'. The gradient must match the tensor's grad_dtype (defaults to the tensor's dtype)."
        )
    if value._array.shape != tensor._array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{sizes(value._array.shape)}' to a tensor of size "
            f"'{sizes(tensor._array.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
