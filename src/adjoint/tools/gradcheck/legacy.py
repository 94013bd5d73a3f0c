"""Functions that older programs take from torch.autograd.gradcheck."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from adjoint.tensor.tensor import Tensor

from .analytical import pull_back
from .bases import Units
from .functions import Array, Evaluation, Function, as_tuple, results_of, tensor_of, tensors_to_check
from .numerical import Numerical

_DEPRECATED = (
    "`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be "
    "removed in a future version of PyTorch. Use gradcheck, which compares numerical and analytical Jacobians, or "
    "autograd.functional.jacobian, which gives the analytical one."
)


def _deprecate(function: Function) -> Function:
    @functools.wraps(function)
    def warning(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(_DEPRECATED.format(name=function.__name__), FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    return warning


def _check_grad_out(grad_out: complex, name: str) -> None:
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports values of grad_out != 1.0.")


def _check_real(output: Tensor, name: str) -> None:
    if output.is_complex():
        raise ValueError(
            f"Expected output to be non-complex. {name} no longer supports functions that return complex outputs."
        )


@_deprecate
def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: complex = 1.0
) -> tuple[Tensor, ...]:
    """The Jacobians of the first output of `fn`, which takes `inputs` as one argument, by differences.

    One matrix, a row for each element of the input, for each tensor in `target` (default: in `inputs`) that requires a
    gradient. Deprecated.
    """
    name = "get_numerical_jacobian"
    _check_grad_out(grad_out, name)
    output = results_of(fn, (inputs,))[0]
    _check_real(output, name)
    evaluate = Evaluation(fn, (inputs,), {0: output})
    targets = tensors_to_check(as_tuple(inputs if target is None else target)).values()
    return tuple(_gradients(evaluate, x, eps)[0] for x in targets)


def _gradients(evaluate: Evaluation, x: Tensor, eps: float) -> tuple[Tensor, ...]:
    derivatives = Numerical(evaluate, x, Units(x.shape), eps)
    return tuple(_like(derivatives.gradients(o, "real"), y) for o, y in enumerate(evaluate.outputs.values()))


def _like(matrix: Array, model: Tensor) -> Tensor:
    single = model._array.itemsize <= (8 if model.is_complex() else 4)
    kinds = {"c": ("complex128", "complex64"), "f": ("float64", "float32")}[matrix.dtype.kind]
    return tensor_of(matrix.astype(kinds[single]))


@_deprecate
def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: complex = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """The Jacobians of an output by the inputs that require a gradient, by backward mode.

    Returns the matrices, whether two passes agree, and whether gradients have the right sizes and dtypes. Deprecated.
    """
    name = "get_analytical_jacobian"
    _check_grad_out(grad_out, name)
    _check_real(output, name)
    targets = list(tensors_to_check(as_tuple(inputs)).values())
    directions = [Units(x.shape) for x in targets]
    first, second = (pull_back(output, targets, Units(output.shape), directions, 1) for _ in range(2))
    pairs = zip(first.matrices, second.matrices, strict=True)
    reentrant = all(numpy.allclose(a, b, rtol=0, atol=nondet_tol, equal_nan=True) for a, b in pairs)
    matrices = tuple(_like(matrix, x) for matrix, x in zip(first.matrices, targets, strict=True))
    return matrices, reentrant, first.sizes, first.dtypes


def get_numerical_jacobian_wrt_specific_input(
    fn: Callable[..., Any],
    input_idx: int,
    inputs: Sequence[Any],
    outputs: Sequence[Tensor],
    eps: float,
    input: Tensor | None = None,
    is_forward_ad: bool = False,
) -> tuple[Tensor, ...]:
    """The Jacobians of all outputs of `fn(*inputs)` by one input, by differences: a row for each of its elements.

    Args:
        input: the tensor to perturb instead of `inputs[input_idx]`, for example its base.
        is_forward_ad: return derivatives as forward mode does: complex ones of complex outputs by a real input.

    Raises AssertionError for complex outputs otherwise.
    """
    x = inputs[input_idx] if input is None else input
    evaluate = Evaluation(fn, tuple(inputs), dict(enumerate(outputs)))
    if any(y.is_complex() for y in outputs) and not (is_forward_ad and not x.is_complex()):
        raise AssertionError("Expected ds_dx to be real-valued, not complex")
    if not is_forward_ad:
        return _gradients(evaluate, x, eps)
    derivatives = Numerical(evaluate, x, Units(x.shape), eps)
    return tuple(_like(derivatives.tangents(o, 1), y) for o, y in enumerate(outputs))
