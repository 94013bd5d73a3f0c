"""adjoint.testing.assert_close has PyTorch's messages (data/assert_close.json) for comparisons of all kinds."""

import json
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint.testing import assert_close

CASES = json.loads((Path(__file__).parent / "data" / "assert_close.json").read_text())
NAMES = ("tensor", "ones", "float64", "float32", "float16", "bfloat16", "uint8", "int64")
SPACE = {name: getattr(adjoint, name) for name in NAMES} | {"np": np, "nan": float("nan"), "inf": float("inf")}


def call(arguments):
    """assert_close with arguments given as text."""
    eval(f"lambda compare: compare({arguments})", SPACE)(assert_close)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["arguments"])
def test_message_is_pytorchs(case):
    if case["error"] is None:
        call(case["arguments"])
        return
    with pytest.raises((AssertionError, TypeError, ValueError)) as caught:
        call(case["arguments"])
    text = str(caught.value).replace("adjoint.tensor.tensor.Tensor", "adjoint.Tensor")
    assert (caught.type.__name__, text) == (case["error"], case["message"])


def test_the_cases_cover_success_and_each_error():
    assert {case["error"] for case in CASES} == {None, "AssertionError", "TypeError", "ValueError"} and len(CASES) > 60


def test_arrays_are_compared_with_tensors():
    assert_close(np.ones(2, np.float32), adjoint.ones(2))
    with pytest.raises(AssertionError, match="The values for attribute 'dtype' do not match"):
        assert_close(np.ones(2), adjoint.ones(2))
    with pytest.raises(AssertionError, match=r"Mismatched elements: 2 / 2 \(100\.0%\)"):
        assert_close(np.zeros(2, np.float32), adjoint.ones(2))


def test_bools_are_not_numbers():
    with pytest.raises(AssertionError, match=r"The \(d\)types do not match: <class 'bool'> != <class 'int'>\."):
        assert_close(True, 1)


@pytest.mark.parametrize(
    ("dtype", "within", "beyond"),
    [
        (adjoint.float16, 9e-4, 3e-3),
        (adjoint.bfloat16, 1e-2, 4e-2),
        (adjoint.float32, 1e-6, 2e-5),
        (adjoint.float64, 1e-8, 3e-7),
        (adjoint.complex64, 1e-6, 2e-5),
        (adjoint.complex128, 1e-8, 3e-7),
    ],
)
def test_tolerances_follow_the_dtype(dtype, within, beyond):
    one = adjoint.ones(2, dtype=dtype)
    assert_close(adjoint.tensor([1, 1 + within], dtype=dtype), one)
    with pytest.raises(AssertionError, match="Tensor-likes are not close!"):
        assert_close(adjoint.tensor([1, 1 + beyond], dtype=dtype), one)


def test_tensors_that_require_grad_are_compared_by_value():
    x = adjoint.tensor([1.0], requires_grad=True)
    assert_close(x * 2, adjoint.tensor([2.0]))
    assert x.grad is None
