"""The vmap rules of users' functions: each is called once for a whole batch, outside of vmap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from adjoint.arrays.shapes import normalize_dim
from adjoint.core.graph import TensorBase
from adjoint.core.modes.state import current
from adjoint.runtime.pytree import flatten
from adjoint.tensor.table import ops
from adjoint.transforms.batching.batched import BatchedArray
from adjoint.transforms.batching.levels import batches_of
from adjoint.transforms.batching.vmap import description, lead_in, spread
from adjoint.transforms.custom_functions.context import MORE

if TYPE_CHECKING:
    from adjoint.transforms.custom_functions.function import Function


class VmapInfo(NamedTuple):
    """The first argument of a vmap rule: the size of the batch, and the randomness of its members."""

    batch_size: int
    randomness: str


def batch_level(args: tuple[Any, ...]) -> int:
    """The level of the innermost batch that an argument is batched over, 0 if there is none."""
    arrays = [leaf._array for leaf in flatten(args)[0] if isinstance(leaf, TensorBase)]
    return max((array.level for array in arrays if isinstance(array, BatchedArray)), default=0)


def differentiates_inside(level: int) -> bool:
    """True if a derivative is taken inside the batch of this level; then the function's own derivative must be used."""
    transforms = current().transforms
    if ("vmap", level) not in transforms:
        return False
    return any(kind != "vmap" for kind, _ in transforms[transforms.index(("vmap", level)) :])


def by_rule(cls: type[Function], args: tuple[Any, ...], level: int) -> Any:
    """Ask the vmap rule of a function about a whole batch, outside of it."""
    leaves, structure = flatten(args, lambda part: part is None)
    batches = [batches_of(leaf._array) if isinstance(leaf, TensorBase) else () for leaf in leaves]
    sizes = [dict(pairs).get(level) for pairs in batches]
    size = next(n for n in sizes if n is not None)
    whole = [leaf if n is None else ops.batch_out(leaf, level, n) for leaf, n in zip(leaves, sizes, strict=True)]
    in_dims = structure.unflatten([None if n is None else 0 for n in sizes])
    state = current()
    randomness = next((batch.randomness for batch in state.batches if batch.level == level), None)
    before = state.batches, state.transforms
    others = tuple([batch for batch in state.batches if batch.level != level])
    transforms = state.transforms
    if ("vmap", level) in transforms:
        transforms = transforms[: transforms.index(("vmap", level))]
    # no call stands between this and the block, so that no signal comes in between
    state.batches, state.transforms = others, transforms
    try:
        returned = cls.vmap(VmapInfo(size, randomness or "error"), in_dims, *structure.unflatten(whole))
    finally:
        state.batches, state.transforms = before
    if not isinstance(returned, tuple) or len(returned) != 2:
        returns = f"{len(returned)} returns" if isinstance(returned, tuple) else f"a {type(returned)}"
        raise RuntimeError(
            "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure "
            f"compatible with the output. Got {returns} instead"
        )
    return lead_in_outputs(*returned, level)


def lead_in_outputs(output: Any, out_dims: Any, level: int) -> Any:
    """The outputs of a vmap rule as batched tensors. Raises RuntimeError if out_dims do not fit."""
    leaves, structure = flatten(output, lambda part: part is None)
    dims = spread(out_dims, structure)
    if dims is None:
        dims_structure = flatten(out_dims, lambda part: part is None)[1]
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
            f"out_dims={out_dims} to be compatible with the structure of `output`. out_dims has structure "
            f"{description(dims_structure)} but output has structure {description(structure)}. {MORE}"
        )
    return structure.unflatten(
        [
            leaf
            if dim is None or not isinstance(leaf, TensorBase)
            else lead_in(leaf, normalize_dim(dim, leaf.ndim), level)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
    )
