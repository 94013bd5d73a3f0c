"""The derivatives that follow from a declaration: vjp, jvp and batch form of any rule, by its kind.

Every function here takes `ops`, the operations under their own names, and runs on whatever arrays these take: raw
arrays or Tensors. `values` maps each parameter of the rule to its argument in canonical form (axes counted from the
front), `y` is the result, or the tuple of results. The core runs vjps by a plan of its own, with the same meaning but
without a dictionary; `vjp` here is the reference, and the transposed jvp differentiates it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from adjoint.arrays.shapes import normalize_dims
from adjoint.runtime.caches import memoize

from .declare import Formula, Rule

Values = Mapping[str, Any]


def call(rule: Rule, ops: Any, values: Values) -> Any:
    """The operation itself, on arguments given by name; several results are a tuple."""
    by_name = {name: values[name] for name in rule.keyword_only}
    result = getattr(ops, rule.name)(*[values[name] for name in rule.positional], **by_name)
    return result if rule.outputs is None else tuple(result)


def value_of_parameter(rule: Rule, name: str, values: Values, y: Any) -> Any:
    """The value of a formula's parameter of this name."""
    if name == "y":
        return y
    if name[0] == "y" and name[1:].isdigit():
        return y[int(name[1:])]
    if name in values:
        return values[name]
    stem, _, attribute = name.rpartition("_")
    if attribute == "shapes" and stem == rule.sequence:
        return tuple(member.shape for member in values[stem])
    if attribute in ("shape", "dtype") and stem in values:
        return getattr(values[stem], attribute, ())
    raise TypeError(f"a formula of {rule.name} asks for {name!r}; known are y, needs and {', '.join(rule.names)}")


def run(formula: Formula, ops: Any, driver: Any, value_of: Callable[[str], Any]) -> Any:
    """Call a formula with the values of its parameters; the driver is its tangent, cotangent or batch size."""
    return formula.call(ops, driver, *[value_of(name) for name in formula.needs])


# vjp ----------------------------------------------------------------------------------------------------------------


def vjp(rule: Rule, ops: Any, g: Any, values: Values, y: Any, needs: Sequence[bool]) -> dict[str, Any]:
    """Cotangents of the inputs by name, before the edges sum broadcast axes and cast to the inputs' dtypes.

    g: the cotangent of the result; a tuple for several results, zeros where undefined.
    needs: for each input (each member, if the input is a sequence) whether its cotangent is needed.
    """
    inputs_needed = needed_inputs(rule, needs)

    def value_of(name: str) -> Any:
        return tuple(needs) if name == "needs" else value_of_parameter(rule, name, values, y)

    cotangents: dict[str, Any] = {}
    for formula in rule.vjps:
        if not inputs_needed.intersection(formula.inputs):
            continue
        results = formula.pull(ops, g, *[value_of(name) for name in formula.needs])
        cotangents.update(zip(formula.inputs, results if len(formula.inputs) > 1 else (results,), strict=True))
    return {name: value for name, value in cotangents.items() if name in inputs_needed}


def needed_inputs(rule: Rule, needs: Sequence[bool]) -> set[str]:
    """The names of the inputs that need a cotangent."""
    if rule.sequence is not None:
        return {rule.sequence}
    return {name for name, flag in zip(rule.inputs, needs, strict=True) if flag}


# jvp ----------------------------------------------------------------------------------------------------------------

#: Gives the jvp of a rule whose author gave only the vjp: (rule, tangents, values, y) -> tangent of the result.
Transposed = Callable[[Rule, dict[str, Any], Values, Any], Any]


def jvp(rule: Rule, ops: Any, tangents: Values, values: Values, y: Any, transposed: Transposed | None = None) -> Any:
    """The tangent of the result (a tuple for several results; None if it does not depend on the given tangents).

    tangents: by input name, only for inputs with a tangent; for a sequence a list with None for the others. transposed:
    the function for inputs with a vjp but no jvp. Without it such an input raises TypeError.
    """
    return _JVPS[rule.kind](rule, ops, tangents, values, y, transposed)


def without_jvp(rule: Rule, tangents: Values) -> tuple[str, ...]:
    """The inputs whose contribution to the tangent must come from the transposed vjp."""
    if rule.kind != "general":
        return ()
    return tuple(name for name in tangents if name not in rule.jvps)


def _constant_jvp(rule: Rule, ops: Any, tangents: Values, values: Values, y: Any, transposed: Any) -> None:
    return None


def _elementwise_jvp(rule: Rule, ops: Any, tangents: Values, values: Values, y: Any, transposed: Any) -> Any:
    total = None
    for formula in rule.vjps:
        (name,) = formula.inputs
        if name not in tangents:
            continue
        total = plus(
            total,
            run(formula, ops, tangents[name], lambda needed_inputs: value_of_parameter(rule, needed_inputs, values, y)),
        )
    return None if total is None else like(ops, total, y)


def _linear_jvp(rule: Rule, ops: Any, tangents: Values, values: Values, y: Any, transposed: Any) -> Any:
    filled = {name: tangent_or_zero(ops, tangents.get(name), values[name]) for name in rule.inputs}
    return call(rule, ops, {**values, **filled})


def _multilinear_jvp(rule: Rule, ops: Any, tangents: Values, values: Values, y: Any, transposed: Any) -> Any:
    total = None
    for name, t in tangents.items():
        if name != rule.sequence:
            total = plus(total, call(rule, ops, {**values, name: t}))
            continue
        for i, member in enumerate(t):
            if member is not None:
                replaced = [*values[name][:i], member, *values[name][i + 1 :]]
                total = plus(total, call(rule, ops, {**values, name: replaced}))
    return total


def _general_jvp(rule: Rule, ops: Any, tangents: Values, values: Values, y: Any, transposed: Transposed | None) -> Any:
    rest = {name: tangents[name] for name in without_jvp(rule, tangents)}
    total = None
    for name in tangents:
        if name not in rest:
            t = tangents[name]
            if name == rule.sequence:
                t = tangent_or_zero(ops, t, values[name])
            total = plus(
                total,
                run(rule.jvps[name], ops, t, lambda needed_inputs: value_of_parameter(rule, needed_inputs, values, y)),
            )
    if not rest:
        return total
    if transposed is None:
        raise TypeError(
            f"{rule.name} declares no jvp for {', '.join(rest)}; pass `transposed`, which derives it from the vjp"
        )
    return plus(total, transposed(rule, rest, values, y))


_JVPS: dict[str, Callable[..., Any]] = {
    "constant": _constant_jvp,
    "elementwise": _elementwise_jvp,
    "linear": _linear_jvp,
    "multilinear": _multilinear_jvp,
    "general": _general_jvp,
}


def plus(first: Any, second: Any) -> Any:
    """The sum of two tangents; each may be None, or a tuple that contains None."""
    if first is None or second is None:
        return second if first is None else first
    if isinstance(first, tuple):
        return tuple(plus(a, b) for a, b in zip(first, second, strict=True))
    return first + second


def like(ops: Any, tangent: Any, y: Any) -> Any:
    """A tangent repeated to the shape of the result, and complex if that is."""
    same = tangent.shape == y.shape and tangent.dtype == y.dtype
    return tangent if same else tangent + ops.zeros_like(y)


def tangent_or_zero(ops: Any, tangent: Any, value: Any) -> Any:
    """The tangent; zeros for an array without one, 0 for a number, None for an absent argument."""
    if isinstance(value, (list, tuple)):
        tangents = [None] * len(value) if tangent is None else tangent
        return [tangent_or_zero(ops, t, member) for t, member in zip(tangents, value, strict=True)]
    if tangent is not None or value is None:
        return tangent
    return 0 if isinstance(value, (bool, int, float, complex)) else ops.zeros_like(value)


# batch form ---------------------------------------------------------------------------------------------------------


def batch(
    rule: Rule, ops: Any, values: Values, in_dims: Values, on_loop: Callable[[Rule], None] | None = None
) -> tuple[Any, int | None]:
    """Run the operation on a whole batch; returns the result (a tuple for several) and the position of its batch axis.

    in_dims: the batch axis of each array argument that has one (for a sequence a list, None for members without). All
    other entries of `values` are equal for all members of the batch, and have their form without a batch. The batch
    axis of the result comes first. Its position is None if no argument has a batch axis, or if the result is no array,
    such as a bool for the whole batch.
    on_loop: called for an operation that can only be run in a loop.

    Raises ValueError for an empty batch if the operation runs only in a loop and fails on zeros.
    """
    dims = {name: dim for name, dim in in_dims.items() if _is_batched(dim)}
    if not dims:
        return call(rule, ops, values), None
    values = {**values, **{name: in_front(ops, values[name], dim) for name, dim in dims.items()}}
    size = next(_arrays(values, dims)).shape[0]
    arguments = _batch_arguments(rule, ops, values, dims, size)
    if arguments is not None:
        result = call(rule, ops, arguments)
    else:
        result = _of_points(rule, ops, values, dims, size)
        if result is None:
            if on_loop is not None and size:
                on_loop(rule)
            result = _loop(rule, ops, values, dims, size)
    has_axis = isinstance(result, tuple) or bool(getattr(result, "ndim", None))
    return result, 0 if has_axis else None


def _is_batched(dim: Any) -> bool:
    return any(d is not None for d in dim) if isinstance(dim, (list, tuple)) else dim is not None


def _arrays(values: Values, dims: Values) -> Any:
    """The arrays that have a batch axis."""
    for name, dim in dims.items():
        if isinstance(dim, (list, tuple)):
            yield from (member for member, d in zip(values[name], dim, strict=True) if d is not None)
        else:
            yield values[name]


def in_front(ops: Any, array: Any, dim: Any) -> Any:
    """The array (or each of several) with its batch axis moved to the front."""
    if isinstance(dim, (list, tuple)):
        return [in_front(ops, member, d) for member, d in zip(array, dim, strict=True)]
    if not dim:
        return array
    return ops.permute(array, (dim, *(i for i in range(array.ndim) if i != dim)))


def _batch_arguments(rule: Rule, ops: Any, values: Values, dims: Values, size: int) -> Values | None:
    """The arguments of one run for the whole batch, or None where a loop over the members is needed."""
    ndim = _logical_ndim(rule, values, dims)
    arguments = _BATCH_ARGUMENTS[rule.batching](rule, ops, values, dims, size, ndim)
    if arguments is None or rule.batch_form is None:
        return arguments
    changed = run(rule.batch_form, ops, size, lambda name: ndim if name == "ndim" else arguments[name])
    return None if changed is None else {**arguments, **changed}


def _logical_ndim(rule: Rule, values: Values, dims: Values) -> int:
    """The number of axes of the first array without its batch axis."""
    name = next(n for n in rule.names if n in rule.inputs + rule.constants)
    value, dim = values[name], dims.get(name)
    if name == rule.sequence:
        value, dim = value[0], dim[0] if dim else None
    return getattr(value, "ndim", 0) - (dim is not None)


def _with_equal_ranks(rule: Rule, ops: Any, values: Values, dims: Values, size: int, ndim: int) -> Values | None:
    """Axes of size 1 behind the batch axis, until all arrays have the same rank in front of their core axes."""
    names = [n for n in rule.names if n in rule.inputs + rule.constants and hasattr(values[n], "ndim")]
    core = core_ranks(rule) if rule.batching == "core" else dict.fromkeys(names, 0)
    ranks = {name: values[name].ndim - (name in dims) - core[name] for name in names}
    if min(ranks.values()) < 0:
        return None
    rank = max(ranks.values())
    return {
        **values,
        **{name: values[name][(slice(None), *(None,) * (rank - ranks[name]))] for name in names if name in dims},
        **_shift(rule, values, ndim, 1 + rank - ranks[names[0]]),
    }


@memoize()
def core_ranks(rule: Rule) -> dict[str, int]:
    """The number of axes that the core signature names for each array argument.

    "(m,k),(k,n)->(m,n)" gives 2 and 2, "(),(n)->(n)" 0 and 1.
    """
    groups = re.findall(r"\(([^)]*)\)", (rule.core or "").split("->")[0])
    names = [n for n in rule.names if n in rule.inputs + rule.constants]
    return {name: len(re.findall(r"\w+", group)) for name, group in zip(names, groups, strict=True)}


def _with_batch_axes(rule: Rule, ops: Any, values: Values, dims: Values, size: int, ndim: int) -> Values | None:
    """The batch axis on every input (on constants too, if the rule says so), and axis parameters shifted by one."""
    joint = rule.batching == "joint"
    if not joint and any(name in dims for name in rule.constants):
        return None
    shifted = _shift(rule, values, ndim, 1)
    if (rule.axes and ndim == 0) or any(dim == () for dim in shifted.values()):
        # 0-d arrays are treated as 1-d when dim is given; an empty dim may mean all axes
        return None
    names = [n for n in rule.inputs + (rule.constants if joint else ()) if values[n] is not None]
    if joint and rule.axes and rule.batch_form is None and ndim == 1:
        # the same for a 0-d array beside vectors
        ranks = [values[n].ndim - (dims.get(n) is not None) for n in names if hasattr(values[n], "ndim")]
        if min(ranks) == 0:
            return None
    spread = {name: on_all(ops, values[name], dims.get(name), size) for name in names}
    return {**values, **shifted, **spread}


def _on_all_with_equal_ranks(rule: Rule, ops: Any, values: Values, dims: Values, size: int, ndim: int) -> Values | None:
    """The batch axis on every array, then equal ranks: of a result that does not depend on all arguments."""
    names = [n for n in rule.inputs + rule.constants if hasattr(values[n], "shape")]
    spread = {name: on_all(ops, values[name], dims.get(name), size) for name in names}
    return _with_equal_ranks(rule, ops, {**values, **spread}, dict.fromkeys(names, 0), size, ndim)


def on_all(ops: Any, array: Any, dim: Any, size: int) -> Any:
    """The array (or each of several) with the batch axis in front, repeated along it if it had none."""
    if isinstance(array, (list, tuple)):
        dims = dim or [None] * len(array)
        return [on_all(ops, member, d, size) for member, d in zip(array, dims, strict=True)]
    if dim is not None or not hasattr(array, "shape"):
        return array
    return ops.expand(array, (size, *array.shape))


def _shift(rule: Rule, values: Values, ndim: int, by: int) -> dict[str, Any]:
    """The axis parameters for arrays with `by` more axes in front; None, or a default of (), becomes all axes."""
    shifted: dict[str, Any] = {}
    if not (rule.axes or rule.new_axes):
        return shifted
    defaults = {p.name: p.default for p in rule.parameters}
    for names, n in ((rule.axes, ndim), (rule.new_axes, ndim + 1)):
        for name in names:
            dim = normalize_dims(values[name], n)
            if dim is None or (dim == () and defaults[name] in (None, ())):
                dim = dim if rule.batch_form is not None else tuple(range(n))
            if dim is not None:
                dim = tuple(d + by for d in dim) if isinstance(dim, tuple) else dim + by
            shifted[name] = dim
    return shifted


def _no_single_run(rule: Rule, ops: Any, values: Values, dims: Values, size: int, ndim: int) -> None:
    return None


_BATCH_ARGUMENTS: dict[str, Callable[..., Any]] = {
    "align": _with_equal_ranks,
    "core": _with_equal_ranks,
    "axes": _with_batch_axes,
    "joint": _with_batch_axes,
    "spread": _on_all_with_equal_ranks,
    "loop": _no_single_run,
}


def _of_points(rule: Rule, ops: Any, values: Values, dims: Values, size: int) -> Any:
    """The result for 0-d arrays, which are treated as 1-d when dim is given: each gets an axis of size 1.

    The other arguments may be vectors if constants have the batch axis too. None for all other arguments, and where the
    result of a member does not follow from the result of the run.
    """
    axes = {name: values[name] for name in rule.axes}
    arrays = [*_arrays(values, dims)]
    others = {n: values[n] for n in rule.inputs + rule.constants if n not in dims and hasattr(values[n], "ndim")}
    ranks = [*(array.ndim - 1 for array in arrays), *(array.ndim for array in others.values())]
    joint = rule.batching == "joint"
    if not joint and any(name in dims for name in rule.constants):
        return None
    if not axes or rule.new_axes or rule.batch_form is not None or max(ranks) > joint or not size:
        return None
    with_axis = {name: _with_axis(values[name], dim) for name, dim in dims.items()}
    for name, array in others.items():
        if joint or name in rule.inputs:
            with_axis[name] = on_all(ops, array if array.ndim else array[None], None, size)
    shifted = {name: 1 if dim is None or dim == () else _one_along(dim) for name, dim in axes.items()}
    result = call(rule, ops, {**values, **with_axis, **shifted})
    member = call(rule, ops, {**values, **{name: _pick(values[name], dim, 0) for name, dim in dims.items()}})
    if rule.outputs is None:
        return _reshape(ops, result, member, size)
    parts = tuple(_reshape(ops, part, one, size) for part, one in zip(result, member, strict=True))
    return None if any(part is None for part in parts) else parts


def _with_axis(array: Any, dim: Any) -> Any:
    if isinstance(dim, (list, tuple)):
        return [_with_axis(member, d) for member, d in zip(array, dim, strict=True)]
    return array[:, None] if dim is not None and array.ndim == 1 else array


def _one_along(dim: Any) -> Any:
    return tuple(1 for _ in dim) if isinstance(dim, (list, tuple)) else 1


def _reshape(ops: Any, result: Any, member: Any, size: int) -> Any:
    """A result for a batch with the axes that a member's result has; None if it has another number of elements."""
    shape = getattr(member, "shape", ())
    return ops.reshape(result, (size, *shape)) if prod(result.shape) == size * prod(shape) else None


def _loop(rule: Rule, ops: Any, values: Values, dims: Values, size: int) -> Any:
    """One run for each member of the batch, and the results stacked."""
    if size == 0:
        return _of_no_members(rule, ops, values, dims)
    results = []
    for i in range(size):
        member = {name: _pick(values[name], dim, i) for name, dim in dims.items()}
        results.append(call(rule, ops, {**values, **member}))
    if rule.outputs is None:
        return ops.stack(results, 0)
    return tuple(ops.stack(list(column), 0) for column in zip(*results, strict=True))


def _of_no_members(rule: Rule, ops: Any, values: Values, dims: Values) -> Any:
    """The results for an empty batch: of shapes and types that a member of zeros shows."""
    zeros = {name: _zeros(ops, values[name], dim) for name, dim in dims.items()}
    try:
        sample = call(rule, ops, {**values, **zeros})
    except (ValueError, RuntimeError, IndexError, ArithmeticError) as error:
        text = f"{rule.name} runs a batch one by one, and the batch is empty: the result's shape is unknown"
        raise ValueError(text) from error
    if rule.outputs is None:
        return ops.zeros_of(sample, (0, *sample.shape)) if hasattr(sample, "shape") else sample
    return tuple(ops.zeros_of(part, (0, *part.shape)) for part in sample)


def _zeros(ops: Any, array: Any, dim: Any) -> Any:
    """A member of zeros of an array (or of each of several) with the batch axis in front."""
    if isinstance(dim, (list, tuple)):
        return [member if d is None else _zeros(ops, member, d) for member, d in zip(array, dim, strict=True)]
    return ops.zeros_of(array, array.shape[1:])


def _pick(array: Any, dim: Any, i: int) -> Any:
    if isinstance(dim, (list, tuple)):
        return [member if d is None else member[i] for member, d in zip(array, dim, strict=True)]
    return array[i]
