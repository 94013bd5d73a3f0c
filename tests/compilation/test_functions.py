"""Each public function is compiled once and replayed: values, gradients and errors are those of the function."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from support import function_calls
from support.function_probe import Problem, flat, look_up

DTYPES = ("float64", "complex128", "int64")
#: Functions whose formulas add in another order in a recording than in their own loops.
SUMS = "its formula adds up tile by tile, or along other strides"
ROUNDED = dict.fromkeys(
    [
        *("conv_tbc", "nn.functional.conv_tbc", "native_layer_norm"),
        *("nn.functional.cross_entropy", "nn.functional.linear_cross_entropy"),
    ],
    SUMS,
)
#: Functions that are not recorded, and the reason. Neither are functions that return a view of an argument.
AT_VALUES = "it looks at values to choose its memory"
NO_GRADIENT = "the gradient of some result is an error"
NOT_RECORDED = {
    **dict.fromkeys(["ctc_loss", "nn.functional.ctc_loss", "embedding_bag", "segment_reduce"], AT_VALUES),
    **dict.fromkeys(["linalg.eig", "linalg.eigh", "lobpcg", "linalg.svd", "svd"], NO_GRADIENT),
    **dict.fromkeys(["pca_lowrank", "svd_lowrank", "geqrf", "unique", "unique_consecutive", "binomial"], NO_GRADIENT),
    **dict.fromkeys(["linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg.ldl_solve"], NO_GRADIENT),
}


def outcome_of(problem: Problem, function: Callable[..., Any], scale: float, seed: int) -> Any:
    """The outcome of a call: results and gradients by all leaves, or the error."""
    leaves = [start.mul(scale).requires_grad_() for start in problem.starts()]
    within = function_calls.WITHIN.get(problem.name, lambda a: a)
    adjoint.manual_seed(seed)
    try:
        call = problem.call_with([within(leaf) for leaf in leaves])
        results = flat(function(*call.args, **call.kwargs))
        if problem.name in function_calls.UP_TO_PHASE:
            results = [y.abs() for y in results]
        outputs = [y for y in results if y.requires_grad]
        weights = [adjoint.ones_like(y) for y in outputs]
        gradients = adjoint.autograd.grad(outputs, leaves, weights, allow_unused=True) if outputs and leaves else ()
    except Exception as error:
        return type(error), str(error)
    return [observe(y) for y in results], [observe(g) for g in gradients]


def observe(tensor: Any) -> Any:
    """The values and properties of a Tensor; None for None."""
    if tensor is None:
        return None
    array = tensor.detach().resolve_conj().resolve_neg().numpy() if tensor.dtype is not adjoint.bfloat16 else None
    return tensor.dtype, tuple(tensor.shape), tensor.requires_grad, array


def same(first: Any, second: Any, rounded: bool) -> bool:
    """True for equal outcomes, arrays compared bit for bit, or up to rounding."""
    if isinstance(first, np.ndarray):
        if not isinstance(second, np.ndarray):
            return False
        return first.tobytes() == second.tobytes() or (rounded and np.allclose(first, second, rtol=1e-14, atol=1e-15))
    if isinstance(first, (list, tuple)):
        if type(first) is not type(second) or len(first) != len(second):
            return False
        return all(same(a, b, rounded) for a, b in zip(first, second, strict=True))
    return bool(first == second)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(function_calls.CALLS))
def test_replay_gives_what_the_function_gives(name: str, dtype: str) -> None:
    problem = Problem(name, dtype)
    function = look_up(name)
    compiled = adjoint.compile(lambda *args, **kwargs: function(*args, **kwargs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed, scale in enumerate((1, 1, 1 if dtype == "int64" else 0.75)):
            expected, actual = [outcome_of(problem, form, scale, seed) for form in (function, compiled)]
            assert same(expected, actual, name in ROUNDED), (expected, actual)
    reasons = [why for why in compiled.refused.values() if "returned a view of" not in why]
    assert not reasons or name in NOT_RECORDED
