"""check_derivatives: all derivatives of a function up to some order, in all modes, in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from adjoint.runtime.pytree import flatten
from adjoint.tensor.tensor import Tensor
from adjoint.transforms import func as transforms
from adjoint.transforms import passing

from .check import Options, Pullback, check, given_cotangents
from .contracts import noise
from .functions import Function, results_of, tensor_of, tensors_to_check, wide
from .messages import GradcheckError
from .numerical import ComplexStep, Numerical

METHODS: dict[str, type[Numerical]] = {"central": Numerical, "complex-step": ComplexStep}
MODES = ("rev", "fwd")


def check_derivatives(
    f: Callable[..., Any],
    *args: Any,
    order: int = 2,
    modes: Sequence[str] = MODES,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    method: str = "central",
    fast: bool = False,
    batched: bool = False,
) -> None:
    """Check all derivatives of a function up to an order, in all modes, against differences.

    For `order=2` and both modes: backward, forward, backward over backward, forward over backward, backward over
    forward, and forward over forward.

    Args:
        f: takes `args`, and returns tensors, alone or in containers. If `args` hold only arrays and numbers, it gets
            differentiable arrays that follow NumPy, and may return these.
        args: tensors, arrays and numbers, alone or in containers. If tensors among them require a gradient, exactly
            these are checked. Otherwise all floating-point and complex ones are checked, as copies in double precision.
        order: the order of the highest derivatives.
        modes: "rev", "fwd" or both.
        eps, atol, rtol: step and tolerances, as in `autograd.gradcheck`.
        method: the numerical method for first derivatives: "central" for differences, or "complex-step", which is exact
            for an analytic f of complex numbers. Higher derivatives use differences.
        fast: compare one random projection of each Jacobian instead of all entries.
        batched: check that backward and forward mode can be run for batches.

    Raises:
        GradcheckError: a derivative is wrong; a note of the error says which one.
        ValueError: no argument can be checked, or the method is not possible.

    >>> import adjoint
    >>> adjoint.testing.check_derivatives(lambda x, y: (x * y).sin(), adjoint.rand(3), adjoint.rand(2, 1))
    """
    if method not in METHODS:
        raise ValueError(f"method must be one of {list(METHODS)}, got {method!r}")
    if order < 1 or not modes or set(modes) - set(MODES):
        raise ValueError(f"order must be at least 1 and modes among {MODES}, got order={order}, modes={modes!r}")
    leaves, structure = flatten(args)
    inputs = prepare(leaves)

    of_arrays = passing.are_arrays(leaves)

    @passing.calls_back
    def func(*values: Any) -> tuple[Tensor, ...]:
        arguments = structure.unflatten(list(values))
        results = passing.to_results(f(*passing.to_arguments(arguments))) if of_arrays else f(*arguments)
        return tuple(y for y in flatten(results)[0] if isinstance(y, Tensor))

    options = Options(
        eps, atol, rtol, method=METHODS[method], fast_mode=fast,
        check_backward_ad="rev" in modes, check_forward_ad="fwd" in modes, check_undefined_grad=True,
        check_batched_grad=batched and "rev" in modes, check_batched_forward_grad=batched and "fwd" in modes,
    )  # fmt: skip
    check_orders(func, inputs, order, tuple(modes), options, "")


def prepare(leaves: list[Any]) -> tuple[Any, ...]:
    """The arguments, with tensors that require a gradient for those to check."""
    if tensors_to_check(tuple(leaves)):
        return tuple(leaves)
    return tuple(double(leaf) for leaf in leaves)


def double(leaf: Any) -> Any:
    """A floating-point argument as a leaf of double precision; others unchanged."""
    if isinstance(leaf, Tensor):
        return tensor_of(wide(leaf._array)).requires_grad_() if leaf.is_floating_point() or leaf.is_complex() else leaf
    if isinstance(leaf, (float, complex, numpy.floating, numpy.complexfloating)):
        leaf = numpy.asarray(leaf)
    if isinstance(leaf, numpy.ndarray):
        tensor = tensor_of(wide(leaf) if leaf.dtype.kind in "fc" else leaf)
        return tensor.requires_grad_() if leaf.dtype.kind in "fc" else tensor
    return leaf


def check_orders(
    func: Function, inputs: tuple[Any, ...], order: int, modes: tuple[str, ...], options: Options, path: str
) -> None:
    """Check the derivatives of a function, then the derivatives of each derivative."""
    try:
        check(func, inputs, options)
    except GradcheckError as error:
        error.add_note(f"in {' and '.join(modes)} mode{f' over {path}' if path else ''}")
        raise
    if order == 1:
        return
    following = options._replace(method=Numerical)
    for mode in modes:
        derived, more = DERIVED[mode](func, inputs)
        check_orders(derived, (*inputs, *more), order - 1, modes, following, f"{mode} over {path}" if path else mode)


def gradients_of(func: Function, inputs: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """The gradients of a function as a function of its inputs and of cotangents, and random cotangents."""
    return Pullback(func, len(inputs)), given_cotangents(func, inputs, None, False)


def tangents_of(func: Function, inputs: tuple[Any, ...]) -> tuple[Function, tuple[Any, ...]]:
    """The tangents of a function as a function of its inputs and of their tangents, and random tangents."""
    positions = list(tensors_to_check(inputs))
    outputs = list(tensors_to_check(results_of(func, inputs)))

    def derive(*values: Any) -> tuple[Tensor, ...]:
        arguments, tangents = list(values[: len(inputs)]), values[len(inputs) :]

        def of_checked(*variables: Tensor) -> tuple[Tensor, ...]:
            for position, x in zip(positions, variables, strict=True):
                arguments[position] = x
            results = results_of(func, tuple(arguments))
            return tuple(results[o] for o in outputs)

        return transforms.jvp(of_checked, tuple(arguments[position] for position in positions), tangents)[1]  # type: ignore[no-any-return]

    rng = numpy.random.default_rng(1)
    return derive, tuple(noise(x, rng).requires_grad_() for x in tensors_to_check(inputs).values())


DERIVED = {"rev": gradients_of, "fwd": tangents_of}
