"""vmap: a function of one member of a batch, run for the whole batch at once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from adjoint.arrays.shapes import normalize_dim
from adjoint.core.graph import TensorBase
from adjoint.core.modes.batches import Batch, running, transforming
from adjoint.core.modes.random import get_rng_state, set_rng_state
from adjoint.core.modes.state import with_plain_results
from adjoint.runtime.pytree import TreeDef, flatten
from adjoint.tensor.differentiate import of_all_members
from adjoint.tensor.protocol_hooks import values
from adjoint.tensor.table import ops
from adjoint.transforms import passing
from adjoint.transforms.batching import batch_rules as batch_rules
from adjoint.transforms.batching.batched import batches_of
from adjoint.transforms.chunks import Chunks, ChunkSize, check_chunk_size

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Dims = Any

_RANDOMNESS = ("error", "different", "same")


def for_mapping(transform: Callable[..., Any]) -> Callable[..., Any]:
    """Let mapped functions take arrays, see `adjoint.transforms.passing`."""

    @wraps(transform)
    def public(func: Callable[..., Any], in_dims: Dims = 0, *options: Any, **keywords: Any) -> Callable[..., Any]:
        of_tensors = transform(func, in_dims, *options, **keywords)

        @wraps(func, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            if isinstance(in_dims, int) and passing.has_tensor(args):
                return of_tensors(*args, **kwargs)
            leaves, structure = flatten(args, _is_none)
            dims = spread(in_dims, structure) if isinstance(in_dims, (int, tuple)) else None
            numbers = [] if dims is None else [n for n, dim in enumerate(dims) if dim is not None]
            if not passing.are_arrays([leaves[n] for n in numbers]):
                return of_tensors(*args, **kwargs)

            @passing.calls_back
            @wraps(func, updated=())
            def of_arrays(*args: Any, **kwargs: Any) -> Any:
                parts = flatten(args, _is_none)[0]
                for n in numbers:
                    parts[n] = passing.to_arguments(parts[n])
                return passing.to_results(func(*structure.unflatten(parts), **kwargs))

            leaving = passing.Leaving(passing.any_held([leaves[n] for n in numbers]))
            for n in numbers:
                leaves[n] = values.enter(leaves[n], "vmap", True)
            run = transform(of_arrays, in_dims, *options, **keywords)
            return leaving.result(run(*structure.unflatten(leaves), **kwargs))

        return call

    return public


@for_mapping
def vmap(
    func: Callable[..., Any],
    in_dims: Dims = 0,
    out_dims: Dims = 0,
    randomness: str = "error",
    *,
    chunk_size: ChunkSize = None,
) -> Callable[..., Any]:
    """A function that runs `func` for all members of a batch at once: `vmap(f)(x)` is f(x[0]), f(x[1]) ... stacked.

    Args:
        func: takes and returns tensors, alone or in containers (pytrees).
        in_dims: the batch axis of each positional argument: one number for all, or a tuple with a number, or a
            container of numbers, for each. None: the argument is equal for all members, as keyword arguments always
            are.
        out_dims: the batch axis of each result; None: the result is equal for all members.
        randomness: whether random numbers drawn in `func` are an "error", "different" for each member, or the "same".
        chunk_size: the number of members that run at a time, to save memory. "auto": as many as fit into the budget of
            `adjoint.memory.set_batch_budget` (32 MB); runs of one and of two members are measured.

    Raises:
        ValueError: in_dims or out_dims do not fit arguments or results, sizes differ, there is no argument, a result
            is no tensor.
        RuntimeError: in `func`, where control flow or a shape would have to depend on a member's values.

    >>> import adjoint
    >>> x, w = adjoint.arange(6.0).reshape(2, 3), adjoint.ones(3)
    >>> adjoint.vmap(adjoint.dot, in_dims=(0, None))(x, w)
    tensor([ 3., 12.])
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    check_chunk_size("vmap", chunk_size, "vmap: chunk_size should be None or greater than 0. (got {size})")

    @wraps(func, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = flatten(args, _is_none)
        dims = checked_in_dims(func, in_dims, args, leaves, structure)
        size = batch_size(leaves, dims)

        def run(start: int, stop: int) -> Results:
            part = leaves if stop - start == size else narrow(leaves, dims, start, stop)
            with running(stop - start, randomness) as batch, transforming("vmap", batch.level):
                pairs = zip(part, dims, strict=True)
                members = [leaf if dim is None else lead_in(leaf, dim, batch.level) for leaf, dim in pairs]
                return Results(func, func(*structure.unflatten(members), **kwargs), out_dims, batch)

        if chunk_size is None or size < 2:
            return join([run(0, size)])
        state = get_rng_state() if randomness == "same" else None
        chunks = Chunks(size, chunk_size)
        parts = []
        for start, stop in chunks:
            if state is not None:
                set_rng_state(state)
            parts.append(chunks.run(run, start, stop))
        return join(parts)

    return call


def narrow(leaves: list[Any], dims: list[int | None], start: int, stop: int) -> list[Any]:
    """Some members of a batch only."""
    pairs = zip(leaves, dims, strict=True)
    return [leaf if dim is None else leaf.narrow(dim, start, stop - start) for leaf, dim in pairs]


class Results:
    """The results of a function for a batch, without the batch axis.

    outputs: the leaves. places: the batch axis of each, None if it is equal for all members.
    """

    def __init__(self, func: Callable[..., Any], results: Any, out_dims: Dims, batch: Batch) -> None:
        leaves, self.structure = flatten(results, _is_none)
        dims = checked_out_dims(func, out_dims, results, self.structure)
        pairs = [lead_out(func, leaf, dim, batch) for leaf, dim in zip(leaves, dims, strict=True)]
        self.outputs, self.dims = [output for output, _ in pairs], [dim for _, dim in pairs]


def join(parts: list[Results]) -> Any:
    """The results for all members from those for some members each."""
    first = parts[0]
    if len(parts) == 1:
        return first.structure.unflatten(first.outputs)
    columns = zip(*[part.outputs for part in parts], strict=True)
    pairs = zip(columns, first.dims, strict=True)
    return first.structure.unflatten(column[0] if dim is None else ops.cat(column, dim) for column, dim in pairs)


def lead_in(tensor: TensorBase, dim: int, level: int) -> Tensor:
    """A tensor as a batch over one of its axes."""
    if dim:
        tensor = ops.permute(tensor, (dim, *(i for i in range(tensor.ndim) if i != dim)))
    return with_plain_results(ops.batch_in, (tensor, level))


def lead_out(func: Callable[..., Any], output: Any, dim: int | None, batch: Batch) -> tuple[Any, int | None]:
    """A result as a tensor with the batch axis at its place, and this counted from the front.

    The result as it is where the place is None.
    """
    if dim is None:
        if isinstance(output, TensorBase) and any(n == batch.level for n, _ in batches_of(output._array)):
            name = name_of(func)
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return output, None
    if not isinstance(output, TensorBase):
        name = name_of(func)
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(output)}. Did you mean to set "
            "out_dims= to None for output?"
        )
    whole = of_all_members(output, batch.level, batch.size)
    if dim:
        dim = normalize_dim(dim, whole.ndim)
    if dim:
        whole = ops.permute(whole, (*range(1, dim + 1), 0, *range(dim + 1, whole.ndim)))
    return whole, dim


# arguments and results against in_dims and out_dims -------------------------------------------------------------------


def _is_none(value: Any) -> bool:
    return value is None


def name_of(func: Callable[..., Any]) -> str:
    """The name of a function in messages."""
    if isinstance(func, partial):
        return f"functools.partial({name_of(func.func)}, ...)"
    return getattr(func, "__name__", None) or repr(func)


def description(structure: TreeDef, indent: int = 0) -> str:
    """A structure as torch's messages show it: TreeSpec(tuple, None, [*, *])."""
    if structure.type is None:
        return "*"
    children = (",\n" + " " * (indent + 2)).join(description(child, indent + 2) for child in structure.children)
    names = list(structure.keys) if isinstance(structure.keys, tuple) and issubclass(structure.type, dict) else None
    return f"TreeSpec({structure.type.__name__}, {names}, [{children}])"


def spread(dims: Any, structure: TreeDef) -> list[Any] | None:
    """Numbers for the leaves of a structure from a tree of them; a leaf of the tree may cover a whole container.

    None where the trees do not fit.
    """
    if dims is None or isinstance(dims, int):
        return [dims] * structure.n_leaves
    children, dims_structure = flatten(dims, lambda part: part is not dims or part is None)
    if dims_structure.is_leaf:
        return [dims] * structure.n_leaves
    if dims_structure.type is not structure.type or set(dims_structure.keys) != set(structure.keys):
        return None
    by_key = dict(zip(dims_structure.keys, children, strict=True))
    parts = [spread(by_key[key], child) for key, child in zip(structure.keys, structure.children, strict=True)]
    leaves: list[Any] = []
    for part in parts:
        if part is None:
            return None
        leaves.extend(part)
    return leaves


def checked_in_dims(
    func: Callable[..., Any], in_dims: Dims, args: tuple[Any, ...], leaves: list[Any], structure: TreeDef
) -> list[int | None]:
    """The batch axis of each leaf of the arguments, counted from the front. Raises ValueError where there is none."""

    def prefix() -> str:
        return f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "

    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{prefix()}expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, "
            f"got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to "
            "vmap over a function with no inputs. The latter is unsupported."
        )
    dims = spread(in_dims, structure)
    if dims is None:
        raise ValueError(
            f"{prefix()}in_dims is not compatible with the structure of `inputs`. in_dims has structure "
            f"{description(flatten(in_dims, _is_none)[1])} but inputs has structure {description(structure)}."
        )
    return [checked_dim(prefix, leaf, dim) for leaf, dim in zip(leaves, dims, strict=True)]


def checked_dim(prefix: Callable[[], str], leaf: Any, dim: Any) -> int | None:
    """The batch axis of one argument, counted from the front."""
    if not isinstance(dim, int) and dim is not None:
        raise ValueError(
            f"{prefix()}Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
        )
    if dim is None:
        return None
    if not isinstance(leaf, TensorBase):
        raise ValueError(
            f"{prefix()}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    n = leaf._array.ndim
    if not -n <= dim < n:
        raise ValueError(
            f"{prefix()}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {n} so expected "
            f"in_dim to satisfy -{n} <= in_dim < {n}."
        )
    return dim % n


def batch_size(leaves: list[Any], dims: list[int | None]) -> int:
    """The size of the batch. Raises ValueError if it is not the same everywhere."""
    sizes = [leaf._array.shape[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
            "mapped dimension"
        )
    return int(sizes[0])


def checked_out_dims(func: Callable[..., Any], out_dims: Dims, results: Any, structure: TreeDef) -> list[int | None]:
    """The position of the batch axis in each leaf of the results. Raises ValueError where out_dims do not fit."""
    if isinstance(out_dims, int):
        return [out_dims] * structure.n_leaves
    name = name_of(func)
    if not all(dim is None or isinstance(dim, int) for dim in flatten(out_dims, _is_none)[0]):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
            "representing where in the outputs the vmapped dimension should appear."
        )
    if isinstance(results, TensorBase) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return list(out_dims)
    dims = spread(out_dims, structure)
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {description(flatten(out_dims, _is_none)[1])} but outputs has "
            f"structure {description(structure)}."
        )
    return dims
