"""The dtypes that a tensor may have as out=."""

import re

import pytest

import adjoint
from adjoint.core.operations.out_dtypes import _MESSAGES
from adjoint.core.recorded import operations
from adjoint.functions.composite import COMPOSITES

A = adjoint.tensor([[2.0, 1.0], [0.0, 3.0]], dtype=adjoint.float64)
V = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda out: adjoint.mm(A, A, out=out), "Expected out tensor to have dtype double, but got float instead"),
        (lambda out: adjoint.linalg.inv(A, out=out), "Expected out tensor to have dtype double, but got float instead"),
        (lambda out: adjoint.argmax(A, out=out), "Expected out tensor to have dtype long int, but got float instead"),
        (lambda out: adjoint.abs(A, out=out), "Found dtype Float but expected Double"),
        (lambda out: adjoint.dot(V, V, out=out), "result dtype Float does not match input dtype Double"),
        (lambda out: adjoint.linalg.norm(A, out=out), "linalg.norm expected out tensor dtype Double but got: Float"),
        (
            lambda out: adjoint.linalg.multi_dot([A, A], out=out),
            "multi_dot(): expected out tensor to have dtype double but got float",
        ),
        (
            lambda out: adjoint.amax(A, out=out),
            "Expected the dtype for input and out to match, but got Double for input's dtype and Float for out's "
            "dtype.",
        ),
        (lambda out: adjoint.signbit(A, out=out), "signbit does not support non-boolean outputs."),
        (
            lambda out: adjoint.fft.fft(A, out=out),
            "result type ComplexDouble can't be cast to the desired output type Float",
        ),
    ],
)
def test_results_are_not_written_into_another_dtype(call, message):
    out = adjoint.full((2, 2), 7.0)
    with pytest.raises(RuntimeError, match=f"^{re.escape(message)}$"):
        call(out)
    assert out.tolist() == [[7.0, 7.0], [7.0, 7.0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda out: adjoint.add(A, A, out=out),
        lambda out: adjoint.cat([A, A], out=out),
        lambda out: adjoint.linalg.pinv(A, out=out),
        lambda out: adjoint.sum(A, 0, out=out),
    ],
)
def test_others_are_cast(call):
    exact, narrow = adjoint.empty(0, dtype=adjoint.float64), adjoint.empty(0)
    assert call(narrow) is narrow
    assert narrow.dtype is adjoint.float32
    assert narrow.tolist() == call(exact).float().tolist()


def test_the_table_names_functions():
    composites = {name for _, name in COMPOSITES}
    of_linalg = {f"linalg_{name}" for space, name in COMPOSITES if space == "linalg"}
    assert set(_MESSAGES) <= {*operations, *composites, *of_linalg}
