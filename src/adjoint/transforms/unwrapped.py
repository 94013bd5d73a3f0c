"""Functions for programs that look inside torch's transforms: functionalize, and unwrapping of tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from adjoint.arrays.size import type_name
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.runtime.pytree import flatten
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor
from adjoint.transforms.batching.batched import BatchedArray


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function itself, for programs that expect one without operations in place.

    torch rewrites the operations of a program that is to be traced. Nothing is traced here, and results and changed
    arguments are the same either way; with remove="mutations_and_views" results share no memory with arguments.

    Raises RuntimeError for any other value of remove.

    >>> import adjoint
    >>> adjoint.func.functionalize(lambda x: x.add_(1))(adjoint.zeros(2))
    tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}. Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and replaced "
            "with their out-of-place equivalents.\n     remove='mutations_and_views': In addition to the above, all "
            "aliasing operators {view} will be replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        result = func(*args, **kwargs)
        if remove == "mutations":
            return result
        owners = {_owner_of(leaf) for leaf in flatten((args, kwargs))[0] if isinstance(leaf, TensorBase)}
        leaves, structure = flatten(result)
        return structure.unflatten([ops.clone(x) if is_view_of(x, owners) else x for x in leaves])

    return wrapper


def _owner_of(tensor: TensorBase) -> int:
    return id(tensor if tensor._view is None else tensor._view.base)


def is_view_of(value: Any, owners: set[int]) -> bool:
    """True for a view of a tensor with one of these ids."""
    return isinstance(value, TensorBase) and value._view is not None and id(value._view.base) in owners


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The value inside a transformed tensor, for inspection: all members of a batch instead of one.

    recurse: through all nested batches. The result has no history; computing with it inside the transform is wrong.

    Raises TypeError unless the argument is a Tensor.

    >>> import adjoint
    >>> seen = []
    >>> _ = adjoint.func.vmap(lambda x: (seen.append(adjoint.func.debug_unwrap(x)), x)[1])(adjoint.ones(2, 3))
    >>> seen[0].shape
    adjoint.Size([2, 3])
    """
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"debug_unwrap(): argument 'tensor' (position 1) must be Tensor, not {type_name(tensor)}")
    array = tensor._array
    while isinstance(array, BatchedArray):
        array = array.data
        if not recurse:
            break
    return new_tensor(array)
