"""Texts of the core's errors: PyTorch's words where it has them."""

from typing import Any, TypeVar

from numpy import may_share_memory, ndarray

from adjoint.arrays.dtypes import can_cast, dtype, from_numpy_dtype, kind_of
from adjoint.arrays.kernels.products_and_sums import address_of
from adjoint.arrays.layout import strided
from adjoint.arrays.libraries.numpy_namespace import elements_meet
from adjoint.arrays.namespace import in_memory, namespace, underlying
from adjoint.arrays.shapes import broadcast_shapes
from adjoint.arrays.size import printed, type_name
from adjoint.core.locations import description
from adjoint.core.modes.state import current

Error = TypeVar("Error", bound=BaseException)

#: The address of the pages that explain errors with worked examples. `adjoint.explain` prints them offline.
PAGES = "https://adjoint-autograd.github.io/adjoint/errors"


def explain(error: Error, page: str, remedy: str = "") -> Error:
    """An error with notes, which tracebacks show below its message: a remedy, and the page that explains it.

    The message itself stays torch's.
    """
    for note in (remedy, f"See {PAGES}/{page}.html or call adjoint.explain(error)"):
        if note:
            error.add_note(note)
    return error


class Message:
    """The text of a RuntimeError, with the names of values in braces, and the page that explains it."""

    __slots__ = ("page", "text")

    def __init__(self, text: str, page: str) -> None:
        self.text, self.page = text, page

    def error(self, remedy: str = "", **values: object) -> RuntimeError:
        """The error, to be raised."""
        return explain(RuntimeError(self.text.format(**values)), self.page, remedy)


FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already "
    "been freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). "
    "Specify retain_graph=True if you need to backward through the graph a second time or if you need to access "
    "saved tensors after calling backward."
)
SAVED_TENSOR_MADE = "Trying to create a SavedTensor object from Python is forbidden."
REQUIRES_GRAD_OF_NON_LEAF = (
    "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a subgraph "
    "that doesn't require differentiation use var_no_grad = var.detach()."
)
REQUIRES_GRAD_OF_NON_LEAF_ON = "you can only change requires_grad flags of leaf variables."
REQUIRES_GRAD_NO_BOOL = "requires_grad must be a bool"
REQUIRES_GRAD_DTYPE_SETTER = "only Tensors of floating point and complex dtype can require gradients"
REQUIRES_GRAD_DTYPE = "Only Tensors of floating point and complex dtype can require gradients"
DETACH_OF_VIEW = "Can't detach views in-place. Use detach() instead."
LEAF_IN_PLACE = Message("a leaf Variable that requires grad is being used in an in-place operation.", "leaf-in-place")
VIEW_OF_LEAF_IN_PLACE = Message(
    "a view of a leaf Variable that requires grad is being used in an in-place operation.", "leaf-in-place"
)
AMBIGUOUS_VIEW = (
    "Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
    "the view and the inplace either both inside the {block} block (if you don't want the inplace to be tracked) or "
    "both outside (if you want the inplace to be tracked)."
)
#: Blocks whose views must not be modified outside.
BLOCKS = {"inference": "inference_mode", "no_grad": "no_grad"}
MULTI_OUTPUT_VIEW = (
    "This view is the output of a function that returns multiple views. Such functions do not allow the output views "
    "to be modified inplace. You should replace the inplace operation by an out-of-place one."
)
RESHAPED_BASE = (
    "the base of this view was reshaped in place after the view, of another dtype, had been made, and then modified; "
    "make the view again"
)
OTHER_MEMORY = (
    "no gradient flows through this view: its base was modified, and has other memory of another shape now; make the "
    "view again"
)
CUSTOM_VIEW = (
    "This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
    "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
    "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function."
)
NO_STRIDES = "arrays of {} have no strides: how their elements lie in memory is not known"
CUDA_NUMPY = (
    "can't convert {device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."
)
LAZY_NUMPY = (
    "a lazy tensor, over a dask array, would have to be computed: say tensor.compute().numpy(), or "
    "adjoint.distributed.compute(loss, *gradients) for several in one pass"
)
OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)
CYCLE_OF_GRADIENTS = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
    "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
    "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break the "
    "cycle and avoid the leak."
)
RESIZED_OUTPUT = (
    "An output with one or more elements was resized since it had shape {given}, which does not match the required "
    "output shape {wanted}. This behavior is deprecated, and in a future PyTorch release outputs will not be resized "
    "unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, inplace, to zero "
    "elements with t.resize_(0)."
)
GRAD_OF_NON_LEAF = (
    "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
    "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, "
    "use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure you access the "
    "leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information."
)
LEAF_IN_INTERIOR = "leaf variable has been moved into the graph interior"
INFERENCE_VERSION = "Inference tensors do not track version counter."
INFERENCE_SAVED = Message(
    "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in "
    "computation tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in "
    "autograd, or use `adjoint.no_grad()` instead of `adjoint.inference_mode()`.",
    "inference-tensors",
)
INFERENCE_IN_PLACE = Message(
    "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
    "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.",
    "inference-tensors",
)
REQUIRES_GRAD_OF_INFERENCE = Message(
    "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.", "inference-tensors"
)
PACK_HOOK_IN_PLACE = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
    "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you need to "
    "perform in-place operations on the input to a pack hook."
)
OVERLAP_OF_INPUT = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)
CANNOT_NUMPY = Message(
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.", "numpy-of-a-tensor"
)
NON_SCALAR = Message("grad can be implicitly created only for scalar outputs", "not-a-scalar")
UNUSED_INPUT = Message(
    "The differentiated Tensor at index {index} appears to not have been used in the graph. "
    "Set allow_unused=True if this is the desired behavior.",
    "unused-input",
)
INPUT_WITHOUT_GRAD = Message("One of the differentiated Tensors does not require grad", "no-history")
NO_GRAD_FN = Message("element {index} of tensors does not require grad and does not have a grad_fn", "no-history")
CAPTURED_IN_PLACE = (
    "During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
    "({name}) that would mutate a captured Tensor. This is not supported; please rewrite the function being "
    "transformed to explicitly accept the mutated Tensor(s) as inputs."
)
IN_TRANSFORM = (
    "You are attempting to call Tensor.{name}() (or perhaps using torch.autograd.functional.* APIs) inside of a "
    "function being transformed by a functorch transform. This is unsupported, please attempt to use the functorch "
    "transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {name}() outside of a function being transformed "
    "instead."
)
BACKWARD_IN_TRANSFORM = (
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


CALLBACK_OUTSIDE = "Final callbacks can only be installed during backward pass."
ENABLE_ANOMALY_MODE = (
    "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
    "adjoint.autograd.set_detect_anomaly(True, check_nan=False)."
)
SEE_BACKTRACE = (
    "Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in "
    "question was changed in there or anywhere later. Good luck!"
)
FREED_BEFORE_HOOKS = (
    "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
    "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward through "
    "the graph a second time or if you need to access saved variables after calling backward."
)


def is_differentiable(dtype: Any) -> bool:
    """True for the dtypes that gradients can have."""
    return bool(dtype.is_floating_point or dtype.is_complex)


def name_of(node: Any) -> str:
    """The name of a node, also of one whose context got an attribute `name` from the user."""
    return str(type(node).name(node))


def operation_of(node: Any) -> str:
    """The operation of a node, as messages name it: Mul for MulBackward0, Fill3 for FillBackward3."""
    name = name_of(node)
    operation, _, number = name.rpartition("Backward")
    return operation + number.removesuffix("0") if operation and (not number or number.isdigit()) else name


def sizes(shape: tuple[int, ...]) -> str:
    """A shape as torch prints it in messages: [2, 3]."""
    return "[" + ", ".join(map(str, shape)) + "]"


def modification_error(array: Any, node: Any, output_nr: int, counter: Any, expected: int, owner: Any) -> RuntimeError:
    """The error for a saved value that was overwritten; `owner` is the node that saved it."""
    version = counter.value
    kind = from_numpy_dtype(array.dtype).long_name
    made_by = ""
    if node is not None:
        made_by = f", which is output {output_nr} of {operation_of(node)},"
    error = RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace operation: "
        f"[{printed.module}.{kind}Tensor {sizes(array.shape)}]{made_by} is at version {version}; "
        f"expected version {expected} instead. {culprits(counter, expected, owner)}"
    )
    return explain(error, "modified-in-place")


def freed_error(node: Any) -> RuntimeError:
    """The error for freed saved values. With recorded locations it names the values and the pass that freed them."""
    notes = getattr(node, "__dict__", {})
    text = FREED
    if "_ad_freed_at" in notes:
        line = f" ({description(notes['_ad_saved_at'])})" if "_ad_saved_at" in notes else ""
        name = name_of(node)
        text += (
            f"\nThe first pass, which freed what {name} had saved, was called here: "
            f"{description(notes['_ad_freed_at'])}\n{name} is the gradient of {operation_of(node)}{line}, which made a "
            f"tensor of shape {shapes(node)}."
        )
    return explain(RuntimeError(text), "backward-twice")


def shapes(node: Any) -> str:
    """The shape of the result of a node's operation, or the shapes of several."""
    return ", ".join(sizes(metadata.shape) for metadata in node._input_metadata)


def culprits(counter: Any, expected: int, owner: Any) -> str:
    """The lines that saved a value and modified it afterwards, if locations were recorded."""
    saved = None if owner is None else owner.__dict__.get("_ad_saved_at")
    changed = (counter.lines or {}).get(expected + 1)
    saved_at = "" if saved is None else f"\nIt was saved for the backward pass here: {description(saved)}"
    if changed is not None:
        saved_at += f"\nIt was modified here: {description(changed)}"
    if current().anomaly:
        return SEE_BACKTRACE + saved_at
    return saved_at.lstrip() or ENABLE_ANOMALY_MODE


def check_saved_hooks(saved: Any, pack_hook: Any, unpack_hook: Any) -> None:
    """Raise unless hooks can be registered on a saved value."""
    check_hook_pair("register_hooks", pack_hook, unpack_hook)
    if saved.freed:
        raise RuntimeError(FREED_BEFORE_HOOKS)
    if saved.unpack_hook is not None:
        raise RuntimeError(
            "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks "
            "is allowed at a time."
        )
    if saved.array is None:
        raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")


def check_hook_pair(function: str, pack_hook: Any, unpack_hook: Any) -> None:
    """Raise TypeError unless both hooks can be called."""
    for name, hook in (("pack_hook", pack_hook), ("unpack_hook", unpack_hook)):
        if not callable(hook):
            raise TypeError(f"{function}(): {name} must be a function of one argument, not {type(hook).__name__}")


def unpacked_type(value: object) -> str:
    """The message for an unpack hook that returned no tensor."""
    return f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(value).__name__}"


def named_hook(hook: Any) -> str:
    """A hook as messages name it."""
    return f"hook '{getattr(hook, '__name__', '<unknown>')}'"


def hook_changed_type(hook: Any, before: Any, after: Any) -> str:
    """The message for a hook that returned a gradient of another dtype."""
    was, actual = [from_numpy_dtype(array.dtype).long_name for array in (before, after)]
    was, actual = [f"{printed.module}.{kind}Tensor" for kind in (was, actual)]
    return f"{named_hook(hook)} has changed the type of value (was {was} got {actual})"


def hook_changed_number(hook: Any, actual: int, expected: int) -> str:
    """The message for a hook on a node that returned too few or too many gradients."""
    return f"{named_hook(hook)} has returned an incorrect number of values (got {actual}, but expected {expected})"


def must_be_tensor(operation: str, argument: str, position: int, value: object) -> str:
    """The message for an argument that is neither a tensor nor an array."""
    return f"{operation}(): argument '{argument}' (position {position + 1}) must be Tensor, not {type_name(value)}"


def must_be_number(operation: str, argument: str, value: object) -> str:
    """The message for a parameter that is no number."""
    return f"{operation}(): argument '{argument}' must be Number, not {type(value).__name__}"


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


def check_in_place_result(operation: str, array: Any, out: Any) -> None:
    """Raise RuntimeError if the result of an operation in place does not fit into its tensor."""
    if kind_of(array) == "c" and kind_of(out) == "f":
        raise RuntimeError(f"In-place {operation} is not supported for complex tensors.")
    if out.shape != array.shape and broadcast_shapes(out.shape, array.shape) != array.shape:
        raise RuntimeError(
            f"output with shape {sizes(array.shape)} doesn't match the broadcast shape "
            f"{sizes(broadcast_shapes(out.shape, array.shape))}"
        )
    check_cast(out.dtype, array.dtype)


def check_batch(operation: str, array: Any, out: Any) -> None:
    """Raise RuntimeError if a result differs between the members of a batch and the tensor to hold it does not."""
    check = getattr(namespace(out), "check_in_place", None)
    if check is not None:
        check(operation, array, out)


def check_overlap(array: Any) -> None:
    """Raise RuntimeError if the target of a write repeats elements, as an expanded array does."""
    array = in_memory(underlying(array))
    if isinstance(array, ndarray) and not array.flags.forc and elements_meet(array):
        raise RuntimeError(OVERLAP)


def check_sources(array: Any, sources: Any) -> None:
    """Raise RuntimeError if one of the sources lies partly, but not wholly, where an array is that is to be written."""
    array = in_memory(array)
    for source in map(in_memory, sources):
        if (
            source is array
            or not isinstance(array, ndarray)
            or not isinstance(source, ndarray)
            or not may_share_memory(array, source)
        ):
            continue
        starts = [address_of(a) for a in (array, source)]
        if starts[0] == starts[1] and steps(array) == steps(source):
            continue
        if is_dense(array) and is_dense(source):
            raise RuntimeError(OVERLAP_OF_INPUT)


def steps(array: Any) -> list[tuple[int, int]]:
    """The strides and lengths of axes that have more than one element."""
    return [(step, n) for step, n in zip(array.strides, array.shape, strict=True) if n > 1]


def is_dense(array: Any) -> bool:
    """True for an array that fills its memory without gaps, elements in whatever order."""
    if array.flags.forc:
        return True
    expected = int(array.itemsize)
    for step, n in sorted(zip(array.strides, array.shape, strict=True)):
        if n != 1 and step != expected:
            return False
        expected *= n
    return True


def invalid_gradient(node: Any, index: int, actual: Any, expected: Any) -> str:
    """The message for a formula's result that does not fit its input."""
    return (
        f"Function {name_of(node)} returned an invalid gradient at index {index} - got {sizes(actual)} but expected "
        f"shape compatible with {sizes(expected)}"
    )


def other_shape(shape: tuple[int, ...], other: tuple[int, ...]) -> str:
    """The message for a cotangent that does not have the shape of its leaf."""
    return f"a gradient of size {sizes(other)} arrived at a leaf of size {sizes(shape)}, whose data was replaced"


def other_layout(gradient: Any, array: Any) -> str:
    """The warning for a gradient that lies in memory otherwise than a gradient of this leaf would."""
    strides = [[k // a.itemsize for k in a.strides] for a in (gradient, array)]
    return (
        "grad and param do not obey the gradient layout contract. This is not an error, but may impair performance.\n"
        f"grad.sizes() = {list(gradient.shape)}, strides() = {strides[0]}\n"
        f"param.sizes() = {list(array.shape)}, strides() = {strides[1]}"
    )


#: Why a view may not be modified where the arrays of a library share no memory.
SEPARATE = "separate"
SEPARATE_IN_PLACE = (
    "a view of an array of {library} cannot be modified in place: such arrays share no memory, so the tensor that it "
    "is a view of would not change. Assign to that tensor itself, as in x[index] = value"
)
SEPARATE_STALE = (
    "the tensor that this is a view of was modified in place since, and arrays of {library} share no memory: the view "
    "still has the values from before. Make it again, or clone() it before the modification"
)


def view_modified(origin: str, node: Any, nr: int, by_other: bool) -> RuntimeError:
    """The error for an operation in place on a view whose origin forbids it.

    by_other: the modified tensor is the view's base or another view of that base.
    """
    what = "its base or another view of its base has been" if by_other else "is being"
    # this view has a history of its own: it was recorded, but the view that it was made from was not
    subject = "A view was" if node is None else f"Output {nr} of {operation_of(node)} is a view of a view which was"
    reason = AMBIGUOUS_VIEW if origin in BLOCKS else CUSTOM_VIEW if origin == "custom" else MULTI_OUTPUT_VIEW
    if origin == "inference":
        where = f"{subject} created in inference mode and {what} modified inplace in normal mode."
    elif origin == "no_grad" or node is None:
        where = f"{subject} created in no_grad mode and {what} modified inplace with grad mode enabled."
    else:
        where = f"Output {nr} of {operation_of(node)} is a view and {what} modified inplace."
    return explain(RuntimeError(f"{where} {reason.format(block=BLOCKS.get(origin))}"), "view-in-place")


def check_captured(tensor: Any, name: str) -> None:
    """Raise RuntimeError for an operation in place on a tensor from outside of the function that is differentiated."""
    level = current().level
    if level is not None and (tensor._level is None or tensor._level.number < level.number):
        raise RuntimeError(CAPTURED_IN_PLACE.format(name=name))


def check_not_differentiated(name: str) -> None:
    """Raise RuntimeError inside a function that a transformation differentiates."""
    if current().level is not None:
        raise RuntimeError(IN_TRANSFORM.format(name=name))


def check_not_transformed(name: str) -> None:
    """Raise RuntimeError inside a function that runs under a transformation: a derivative or vmap."""
    if current().transforms:
        raise RuntimeError(IN_TRANSFORM.format(name=name))


def check_in_place(tensor: Any, mask: int) -> None:
    """Raise RuntimeError if a tensor must not be modified in place while recording."""
    view = tensor._view
    requires = tensor.requires_grad
    if view is not None and (mask or requires):
        if view.origin == SEPARATE:
            return
        if view.origin is not None:
            raise view_modified(view.origin, tensor._node, tensor.output_nr, False)
        if requires and view.base.is_leaf:
            raise VIEW_OF_LEAF_IN_PLACE.error()
    if requires and tensor.is_leaf and view is None:
        raise LEAF_IN_PLACE.error()


#: The value for "any dtype" of a leaf's attribute grad_dtype.
ANY_DTYPE = "any"
GRAD_DTYPE_OF_NON_LEAF = "grad_dtype can only be {done} on leaf tensors."


def check_grad_dtype(tensor: Any, value: Any) -> None:
    """Raise unless gradients of `tensor` can be of this dtype, or of any for None."""
    if value is not None and not isinstance(value, dtype):
        raise RuntimeError(f"grad_dtype must be a adjoint.dtype or None, but got {type_name(value)}")
    if not tensor.is_leaf:
        raise RuntimeError(GRAD_DTYPE_OF_NON_LEAF.format(done="set"))
    gradient = tensor._grad
    if value is not None and gradient is not None and gradient.dtype is not value:
        raise RuntimeError(
            f"Cannot set grad_dtype to '{value.long_name}' because there is already a gradient with dtype "
            f"'{gradient.dtype.c_name}'. Please clear the gradient (.grad = None) before changing grad_dtype, or "
            "ensure the new grad_dtype matches the existing gradient's dtype."
        )


def check_assigned_grad(tensor: Any, value: Any) -> None:
    """Raise unless `value` can be the gradient of `tensor`."""
    if not hasattr(value, "_array"):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type_name(value)}")
    if value is tensor:
        raise RuntimeError("can't assign Variable as its own grad")
    if tensor.layout is not strided and value.layout is strided:
        raise RuntimeError("attempting to assign a gradient to a tensor that has data of a different type")
    grad_dtype = tensor.grad_dtype if tensor.is_leaf else from_numpy_dtype(tensor._array.dtype)
    value_dtype = from_numpy_dtype(value._array.dtype)
    if grad_dtype is not None and value_dtype is not grad_dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{value_dtype.c_name}' to a tensor with "
            f"grad_dtype '{grad_dtype.long_name}'. The gradient must match the tensor's grad_dtype (defaults to the "
            "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to "
            "allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may break "
            "downstream systems that assume they match."
        )
    if value._array.shape != tensor._array.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{sizes(value._array.shape)}' to a tensor of size "
            f"'{sizes(tensor._array.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )
