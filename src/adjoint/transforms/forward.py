"""Forward mode: tangents travel beside values, level by level.

A level is one derivation in progress. Tensors carry at most one tangent for each level that is open in the thread; an
operation at the innermost level runs with that level closed, which gives the value (outer levels and the graph take
part as usual). Then the declared jvp gives the tangent. So levels nest to any depth, and reverse mode may be inside or
outside of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import from_numpy_dtype, kind_of
from adjoint.core import errors
from adjoint.core.graph import TensorBase, registry
from adjoint.core.in_place import is_shared
from adjoint.core.modes.interceptors import DUAL_LEVELS
from adjoint.core.modes.state import PUSH, SET, ModeBlock, current, heed_levels_by
from adjoint.core.operations.operation import Operation
from adjoint.tensor.table import operations, ops
from adjoint.tensor.tensor import batched_as
from adjoint.transforms.duals import (
    DualLevels,
    is_hidden,
    laid_out_like,
    origin_of,
    tangent_of,
    tangents_of,
)
from adjoint.transforms.tangents import forget_level, holders, new_level, propagations, set_tangent

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor


class level(ModeBlock):
    """A derivation for the duration of a with block; tangents propagate in it even if forward mode is off."""

    def __init__(self, propagation: Propagation | None = None) -> None:
        self.propagation = propagation

    def _changes(self) -> Any:
        self.number = new_level(self.propagation)
        return *opening(self.number), (SET, "forward_off", False)

    def _entry_value(self) -> int:
        return self.number

    def _after_exit(self, error: BaseException | None) -> None:
        forget_level(self.number)


class Propagation:
    """Propagation of the tangents of a level: here as tangents, in Taylor mode as series.

    number: the number of the level.
    """

    number = 0
    #: The tangents are series along a new first axis.
    of_series = False

    def result_tangent(self, operation: Operation, tangents: dict[str, Any], values: list[Any], result: Any) -> Any:
        """The tangent of a result (a tuple for several) from tangents of inputs by name."""
        raise NotImplementedError

    def of_view(self, replay: Any, tangent: Any) -> Any:
        """The tangent of a view from its base's tangent; `replay` makes the view from the base."""
        raise NotImplementedError

    def constant(self, tensor: TensorBase, coming: Any) -> Any:
        """The tangent of a constant, of the kind that another one has."""
        raise NotImplementedError

    def of_function(self, push: Callable[[list[Any]], Any], tangents: list[Any], outputs: Any) -> Any:
        """The tangents of a custom function's outputs; push: its jvp."""
        raise NotImplementedError


def propagation_of(number: int) -> Propagation | None:
    """The propagation of the tangents of a level; None for the usual one."""
    return propagations.get(number)


def opening(number: int) -> Any:
    """The changes that open a level."""
    return (PUSH, "dual_stack", number), (PUSH, "open_levels", number)


def is_open(level: int) -> bool:
    """True while a derivation goes on."""
    return level in holders


class outside(ModeBlock):
    """Run with only these levels open: values at an inner level are computed from values of outer levels."""

    def __init__(self, levels: tuple[int, ...]) -> None:
        self.levels = levels

    def _changes(self) -> Any:
        return ((SET, "dual_stack", self.levels),)


def copy_tangents(source: Tensor, target: Tensor) -> None:
    """Give a tensor copies of the tangents that another one has, and of the tangents of those at outer levels."""
    for number, tangent in (source._tangents or {}).items():
        if tangent is not None and is_open(number):
            copy = ops.clone(tangent)
            copy_tangents(tangent, copy)
            set_tangent(target, number, copy)


def apply_in_place(operation: Operation, values: list[Any]) -> bool:
    """For an operation in place: writes value and tangent; False if no argument has a tangent."""
    state = current()
    *outer, number = state.dual_stack
    target = values[0]
    with outside(tuple(outer)):
        if not tangents_of(operation, values, number):
            if not outer:
                return False
            write(operation, values)
            return True
        if kind_of(target._array) in "biu" or not operation.rule.vjps:
            write(operation, values)
            return True
    # the tangent and its derivative may need the overwritten values
    before = ops.clone(target)
    result = operation.apply([before if value is target else value for value in values])
    with outside(tuple(outer)):
        write(operation, values)
        tangent = tangent_of(result, number)
        # other views of the same memory share in the tangent's memory too
        target_tangent = tangent_of(target, number)
        target_tangent = make_zero_tangent(target, number, tangent) if target_tangent is None else target_tangent
        copy = operations["copy"]
        arguments = copy.arguments.bind((target_tangent, tangent), {})
        write(copy, copy.arguments.prepare(arguments))
    return True


def write(operation: Operation, values: list[Any]) -> None:
    """Run an operation in place at the levels that are open, which may be none."""
    if not current().dual_stack or not apply_in_place(operation, values):
        operation.proceed_in_place(list(values), DUAL_LEVELS)


def make_zero_tangent(tensor: Any, number: int, coming: Tensor) -> Tensor | None:
    """Set zeros as the tangent of a tensor without one, and of its base.

    coming: the tangent that will be written there; the zeros get the same batches.
    """
    if is_hidden(tensor, number):
        base, _ = origin_of(tensor, number)
    else:
        base = None if tensor._view is None else tensor._view.base
    base = tensor if base is None else base
    propagation = propagations.get(number)
    if propagation is not None:
        set_tangent(base, number, propagation.constant(base, coming))
    else:
        zeros = ops.zeros_like(base)
        if is_shared(base._array):
            # a write through one view is visible in all others, also in their tangents
            zeros = ops.clone_with_strides(zeros, steps_of_axes(base._array))
        set_tangent(base, number, batched_as(coming, zeros))
    return tangent_of(tensor, number)


def steps_of_axes(array: Any) -> tuple[int, ...]:
    """The strides of an array, counted in elements."""
    return tuple(step // array.itemsize for step in array.strides)


def check_pair(primal: Tensor, tangent: Tensor) -> None:
    """Raise unless `tangent` can be the tangent of `primal`."""
    for name, value in (("primal", primal), ("tangent", tangent)):
        if not isinstance(value, TensorBase):
            raise TypeError(f"Expected {name} to be a Tensor, but got {type(value).__name__}")
        dtype = from_numpy_dtype(value._array.dtype)
        if not errors.is_differentiable(dtype):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: {dtype}")
    if kind_of(tangent._array) == "c" and kind_of(primal._array) != "c":
        raise ValueError(
            f"Expected a real tangent for a primal of type {from_numpy_dtype(primal._array.dtype)}, but got: "
            f"{from_numpy_dtype(tangent._array.dtype)}; differentiate along its real and its imaginary part"
        )
    if primal._array.shape != tangent._array.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {errors.sizes(primal._array.shape)} while the given forward gradient is of "
            f"size {errors.sizes(tangent._array.shape)}."
        )


def dual(primal: Tensor, tangent: Tensor, number: int) -> Tensor:
    """A view of the primal that has the tangent at a level."""
    check_pair(primal, tangent)
    if tangent_of(primal, number) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 "
            "is not supported."
        )
    if tangent_of(tangent, number) is not None:
        raise RuntimeError(
            "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
        )
    outer, inner = around(number)
    return put_together(primal, tangent, number, outer, inner)


def around(number: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The open levels outside of a level and inside of it; for a temporarily closed level all are outside."""
    stack = current().dual_stack
    if number not in stack:
        return stack, ()
    position = stack.index(number)
    return stack[:position], stack[position + 1 :]


# A tangent at an inner level has the tangents at outer levels itself. So setting or reading a tangent at a level that
# is not the innermost goes through the tangents at inner levels, too.


def put_together(
    primal: Tensor, tangent: Tensor | None, number: int, outer: tuple[int, ...], inner: tuple[int, ...]
) -> Tensor:
    """A view of the primal with the tangent at a level, and with the tangents of both at inner levels."""
    with outside(outer):
        result = ops.view(primal, primal._array.shape)
    if tangent is not None:
        set_tangent(result, number, laid_out_like(tangent, primal))
    for position, level in enumerate(inner):
        primal_tangent = tangent_of(primal, level)
        inner_tangent = None if tangent is None else tangent_of(tangent, level)
        if primal_tangent is not None or inner_tangent is not None:
            primal_tangent, inner_tangent = complete(primal, tangent, primal_tangent, inner_tangent, level)
            set_tangent(result, level, put_together(primal_tangent, inner_tangent, number, outer, inner[:position]))
    return result


def complete(
    primal: Tensor, tangent: Tensor | None, primal_tangent: Any, of_tangent: Any, level: int
) -> tuple[Any, Any]:
    """The tangents of a primal and of its tangent at an inner level; one may be missing."""
    propagation = propagations.get(level)
    if propagation is None:
        return (ops.zeros_like(of_tangent) if primal_tangent is None else primal_tangent), of_tangent
    primal_tangent = propagation.constant(primal, of_tangent) if primal_tangent is None else primal_tangent
    if of_tangent is None and tangent is not None:
        of_tangent = propagation.constant(tangent, primal_tangent)
    return primal_tangent, of_tangent


def taken_apart(
    tensor: Tensor, number: int, outer: tuple[int, ...], inner: tuple[int, ...]
) -> tuple[Tensor, Tensor | None]:
    """A view without the tangent at a level, and this tangent; both keep their tangents at inner levels."""
    with outside(outer):
        primal = ops.view(tensor, tensor._array.shape)
    # a view shares in its base's tangent; this one does not
    set_tangent(primal, number, None)
    tangent: Any = tangent_of(tensor, number)
    varying = {level: tangent_of(tensor, level) for level in inner}
    parts = {
        level: taken_apart(t, number, outer, inner[:position])
        for position, (level, t) in enumerate(varying.items())
        if t is not None
    }
    if any(part is not None for _, part in parts.values()):
        with outside(outer):
            tangent = ops.zeros_like(primal) if tangent is None else ops.view(tangent, tangent._array.shape)
    for level, (primal_part, part) in parts.items():
        set_tangent(primal, level, primal_part)
        if part is not None:
            set_tangent(tangent, level, part)
    return primal, tangent


def has_tangent(tensor: Tensor) -> bool:
    """True if a tensor has a tangent at some open level."""
    return any(tangent_of(tensor, number) is not None for number in current().dual_stack)


heed_levels_by(DualLevels(write))
registry.tangent_of = tangent_of
registry.has_tangent = has_tangent
registry.copy_tangents = copy_tangents
