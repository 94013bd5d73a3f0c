"""Taylor series of functions: `jet` and `taylor`, under JAX's name and convention."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import TYPE_CHECKING, Any

from adjoint.arrays.dtypes import from_numpy_dtype, kind_of
from adjoint.arrays.kernels.series.loops import line as series_of_line
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.modes.batches import transforming
from adjoint.core.modes.state import SET, current, with_modes
from adjoint.core.operations.dependence import show_cause
from adjoint.runtime.pytree import LEAF, TreeDef, flatten
from adjoint.tensor.table import ops
from adjoint.transforms import forward
from adjoint.transforms.batching.vmap import description
from adjoint.transforms.func import output_leaves
from adjoint.transforms.passing import for_primals
from adjoint.transforms.tangents import is_alone, taken_series
from adjoint.transforms.taylor import TaylorLevel

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Tree = Any
Function = Callable[..., Any]
#: Taylor mode passes series on also where forward mode is switched off, as in inference mode.
_FORWARD_ON = ((SET, "forward_off", False),)


@for_primals
def jet(func: Function, primals: tuple[Tree, ...], series: tuple[Tree, ...]) -> tuple[Tree, Tree]:
    """The value of a function along a curve, and its derivatives up to the given order: (value, series).

    The curve is t -> primals + t * series[.][0] + t**2 / 2 * series[.][1] + ..., and the results are the value and the
    derivatives of func along the curve at t = 0. As in JAX, series hold derivatives, not coefficients. All d orders
    together cost about d**2 / 2 times the cost of func. At a point without derivatives the series follows the formulas:
    one-sided, as for relu at 0, or NaN or infinite, as for sqrt at 0.

    Args:
        func: takes the primals and returns Tensors, alone or in containers.
        primals: the arguments, floating point or complex, as a tuple of trees.
        series: for each Tensor among the primals a list or tuple of Tensors of its shape: the derivatives of order 1, 2
            and so on of the curve. All have the same length.

    Returns:
        The value of func, and the same tree with a list of derivatives for each Tensor.

    Raises:
        TypeError: primals is no tuple; a primal is no Tensor, or one of integers.
        ValueError: the structure, the length or a shape of series is wrong.

    The recurrences are those of Griewank and Walther, Evaluating Derivatives, chapter 13.

    >>> import adjoint
    >>> x = adjoint.tensor(0.0)
    >>> adjoint.func.jet(adjoint.sin, (x,), ([adjoint.tensor(1.0), adjoint.tensor(0.0), adjoint.tensor(0.0)],))
    (tensor(0.), [tensor(1.), tensor(0.), tensor(-1.)])
    """
    name = "jet(f, primals, series)"
    if not isinstance(primals, tuple):
        raise TypeError(f"{name}: primals must be a tuple, so that f(*primals) can be called, got {type(primals)}")
    values, structure = flatten(primals)
    if not values:
        raise ValueError(f"{name}: primals={primals!r:.80} has no Tensor: give at least one")
    curves = [check_series(name, value, rows) for value, rows in zip(values, rows_of(series, structure), strict=True)]
    check_lengths(name, curves)
    order = len(curves[0])
    coefficients = [
        ops.stack([value, *[row / factorial(k) for k, row in enumerate(rows, 1)]], 0)
        for value, rows in zip(values, curves, strict=True)
    ]
    result, outputs, tree = propagate(name, func, structure, values, coefficients, order)
    rows_out = [[output[k] * factorial(k) for k in range(1, order + 1)] for output in outputs]
    return result, tree.unflatten(rows_out)


@for_primals
def taylor(func: Function, x: Tree, order: int = 1) -> Tree:
    """The Taylor coefficients of t -> func(x + t), up to an order, along a new first axis.

    Coefficient k is the derivative of order k divided by k!. t is added to every element of x, so an elementwise
    function has its own coefficients at each element.

    Args:
        func: takes x and returns Tensors, alone or in containers.
        x: a floating point or complex Tensor, or a tree of these.
        order: the highest order, 0 or more.

    Returns:
        For each Tensor of the result a Tensor of shape (order + 1, *shape).

    Raises:
        TypeError: a member of x is no floating-point or complex Tensor, or order is no int.
        ValueError: order is negative.

    >>> import adjoint
    >>> adjoint.func.taylor(adjoint.exp, adjoint.tensor(0.0), order=4)
    tensor([1.0000, 1.0000, 0.5000, 0.1667, 0.0417])
    """
    name = "taylor(f, x, order)"
    check_order(name, order)
    leaves, structure = ([x], LEAF) if isinstance(x, TensorBase) else flatten((x,))
    values: list[Any] = leaves
    for value in values:
        check_primal(name, value)
    coefficients = [line(value, order) for value in values]
    _, outputs, tree = propagate(name, func, structure, values, coefficients, order)
    return outputs[0] if tree is LEAF else tree.unflatten(outputs)


def series_along(func: Function, primals: tuple[Tensor, ...], coefficients: list[Tensor]) -> Tensor:
    """The Taylor coefficients of a function of Tensors along a curve that has these."""
    structure = flatten(primals)[1]
    order = coefficients[0].shape[0] - 1
    return propagate("series", func, structure, list(primals), coefficients, order)[1][0]


def line(value: Tensor, order: int) -> Tensor:
    """The coefficients of value + t."""
    if is_alone(value):
        return new_tensor(series_of_line(value._array, order + 1))
    rows = [value, ops.ones_like(value), *[ops.zeros_like(value)] * (order - 1)]
    return ops.stack(rows[: order + 1], 0)


def propagate(
    name: str,
    func: Function,
    structure: TreeDef,
    values: list[Tensor],
    coefficients: list[Tensor],
    order: int,
    propagation: TaylorLevel | None = None,
) -> tuple[Tree, list[Tensor], TreeDef]:
    """The result of a function, the coefficients of its Tensors, and their tree.

    structure: the structure of the tuple of arguments; LEAF for one Tensor. propagation: the rules for coefficients.
    """
    propagation = TaylorLevel() if propagation is None else propagation
    inputs: list[Tensor] = []
    number, run = forward.new_level(propagation), transforming("jvp")
    try:
        inputs = list(map(propagation.dual, values, coefficients))
        run.take_in(inputs)
        arguments = inputs if structure is LEAF else structure.unflatten(inputs)
        changes = run.opening() + forward.opening(number)
        is_off = current().forward_off
        if is_off:
            changes += _FORWARD_ON
        result = with_modes(changes, func, arguments)
        outputs, tree = output_leaves(result, name)
        if is_off:
            series = list(with_modes(_FORWARD_ON, propagation.read, (tuple(outputs), order + 1)))
        else:
            series = [propagation.read(output, order + 1) for output in outputs]
        run.hand_out([*outputs, *series])
        for tensor in outputs:
            taken_series(tensor, number)
    except ValueError as error:
        show_cause(error)
        raise
    finally:
        for tensor in inputs:
            taken_series(tensor, number)
        forward.forget_level(number)
        run.close()
    return result, series, tree


# checks ---------------------------------------------------------------------------------------------------------------


def check_order(name: str, order: Any) -> None:
    """Raise unless `order` is a whole number that is not negative."""
    if type(order) is not int and (isinstance(order, bool) or not isinstance(order, int)):
        raise TypeError(f"{name}: order must be an int, got {type(order).__name__}")
    if order < 0:
        raise ValueError(f"{name}: order must be 0 or more, got {order}")


def check_primal(name: str, value: Any) -> None:
    """Raise unless a primal is a Tensor that can have a series."""
    if not isinstance(value, TensorBase):
        raise TypeError(f"{name}: expected Tensors, got {type(value).__name__}")
    if kind_of(value._array) not in "fc":
        raise TypeError(
            f"{name}: series are of floating-point or complex numbers, got {from_numpy_dtype(value._array.dtype)}; "
            "convert x by x.double()"
        )


def check_series(name: str, value: Any, rows: Any) -> list[Tensor]:
    """The derivatives of one primal, of its shape."""
    check_primal(name, value)
    if not isinstance(rows, (list, tuple)):
        raise ValueError(
            f"{name}: the series of a primal must be a list or tuple of Tensors, got {type(rows).__name__}"
        )
    for k, row in enumerate(rows, 1):
        check_primal(name, row)
        if row._array.shape != value._array.shape:
            raise ValueError(
                f"{name}: the derivative of order {k} has shape {tuple(row._array.shape)}, its primal has shape "
                f"{tuple(value._array.shape)}"
            )
        if kind_of(row._array) == "c" != kind_of(value._array):
            raise ValueError(f"{name}: the derivative of order {k} is complex, its primal is real: convert the primal")
    return list(rows)


def check_lengths(name: str, curves: list[list[Tensor]]) -> None:
    """Raise ValueError unless all series have one length."""
    lengths = [len(rows) for rows in curves]
    if len(set(lengths)) > 1:
        raise ValueError(f"{name}: all series must have one length, got {lengths}; add zeros to the shorter ones")


def rows_of(series: Any, structure: TreeDef) -> list[Any]:
    """The parts of a tree of series at the leaves of a structure."""
    if structure.is_leaf:
        return [series]
    children, series_structure = flatten(series, lambda part: part is not series)
    sequences = (tuple, list)
    fits = series_structure.type is structure.type or (
        series_structure.type in sequences and structure.type in sequences
    )
    if not fits or len(children) != len(structure.children):
        raise ValueError(
            "jet(f, primals, series): series must have the structure of primals, with a list of Tensors for each "
            f"Tensor; primals have {description(structure)}"
        )
    return [row for child, part in zip(children, structure.children, strict=True) for row in rows_of(child, part)]
