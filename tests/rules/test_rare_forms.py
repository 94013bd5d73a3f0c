"""Rare forms of calls: their gradients, tangents and second derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import adjoint
from adjoint.arrays.namespace import namespace
from adjoint.autograd import gradcheck, gradgradcheck
from adjoint.nn import functional as F
from adjoint.rules import closed_forms
from adjoint.tensor.table import operations

rng = np.random.default_rng(0)
special = adjoint.scipy.special
I = adjoint.tensor


def draw(*shape: int, dtype: str = "float64") -> Any:
    parts = rng.uniform(0.2, 0.9, (2, *shape))
    return adjoint.tensor(parts[0] if dtype == "float64" else parts[0] + 1j * parts[1])


FORMS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "cdist of a constant": (lambda y: adjoint.cdist(adjoint.ones(3, 2, dtype=y.dtype), y), [draw(4, 2)]),
    "cdist by products": (
        lambda y: adjoint.cdist(adjoint.ones(3, 2, dtype=y.dtype), y, compute_mode="use_mm_for_euclid_dist"),
        [draw(4, 2)],
    ),
    "ctc_loss of no labels": (
        lambda x: F.ctc_loss(x.log_softmax(-1), adjoint.zeros(1, 0, dtype=adjoint.int64), [3], [0]),
        [draw(3, 1, 2)],
    ),
    "ctc_loss of one label": (lambda x: F.ctc_loss(x.log_softmax(-1), I([[1]]), [3], [1]), [draw(3, 1, 2)]),
    "split into one": (lambda x: x.split(3)[0] * x, [draw(3)]),
    "pdist without columns": (adjoint.pdist, [draw(4, 0)]),
    "irfft to one element": (lambda x: adjoint.fft.irfft(x, 1), [draw(3, dtype="complex128")]),
    "irfft of one element": (lambda x: adjoint.fft.irfft(x, 1), [draw(1, dtype="complex128")]),
    "hfft of one element": (lambda x: adjoint.fft.ihfft(x, 1), [draw(1)]),
    "vector_norm of order 0": (lambda x: adjoint.linalg.vector_norm(x, 0), [draw(3)]),
    "repeat of nothing": (lambda x: x.repeat(()), [draw()]),
    "struve of a half order": (lambda z: special.struve(-1.5, z), [draw(3)]),
    "lpmv of an order above the degree": (lambda z: special.lpmv(3, 2, z), [draw(3)]),
    "nll_loss without classes": (lambda x: F.nll_loss(x, adjoint.tensor([-100, -100]), reduction="sum"), [draw(2, 0)]),
    "grid_sample of one pixel": (
        lambda x, g: F.grid_sample(x, g, padding_mode="reflection", align_corners=True),
        [draw(1, 1, 1, 1), draw(1, 2, 2, 2)],
    ),
    "det of no elements": (adjoint.linalg.det, [draw(0, 0)]),
    "conv1d with elements left over": (lambda x, w: F.conv1d(x, w, stride=3), [draw(1, 1, 6), draw(1, 1, 2)]),
    "conv_transpose1d": (
        lambda x, w: F.conv_transpose1d(x, w, stride=3, output_padding=1),
        [draw(1, 1, 2), draw(1, 1, 2)],
    ),
    "0 to a complex power": (lambda e: adjoint.pow(0.0, e), [draw(3, dtype="complex128")]),
    "prod of a long row": (lambda x: (1 + 0.01 * x).repeat(40).prod(), [draw(3)]),
    "bincount of no weights": (lambda w: adjoint.bincount(adjoint.zeros(0, dtype=adjoint.int64), w), [draw(0)]),
    "masked_scatter of nothing": (
        lambda x, s: x.masked_scatter(adjoint.zeros(3, dtype=adjoint.bool), s),
        [draw(3), draw(0)],
    ),
    "dct of one element": (adjoint.scipy.fft.dct, [draw(1)]),
    "dst of one element": (lambda x: adjoint.scipy.fft.dst(x, type=3), [draw(1)]),
}


@pytest.mark.filterwarnings("ignore:Input #")
@pytest.mark.parametrize("name", FORMS)
def test_rare_forms(name: str) -> None:
    function, inputs = FORMS[name]
    inputs = [each.clone().requires_grad_() for each in inputs]
    assert gradcheck(function, inputs, check_forward_ad=True, check_batched_grad=False)
    assert gradgradcheck(function, inputs)


B = adjoint.zeros(2, 3, dtype=adjoint.bool)


def put_separately(x: Any, values: Any) -> Any:
    """A slice is between two index arrays."""
    return operations["index_put"](x, (np.array([0, 2]), slice(None), np.array([1, 0])), values, False)


#: Functions of members, which are the rows of all arguments.
BATCHES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "masked_scatter of nothing": (lambda x, m: x.masked_scatter(m, adjoint.zeros(0, dtype=x.dtype)), [draw(2, 3), B]),
    "masked_select of nothing": (lambda x, m: x.masked_scatter(m, x), [draw(2, 3), ~B]),
    "index_put of batched values": (lambda v: adjoint.zeros(3, dtype=v.dtype).index_put((I([0, 2]),), v), [draw(2, 2)]),
    "index_put of batched numbers": (lambda v: adjoint.zeros(3, dtype=v.dtype).index_put((I([0, 2]),), v), [draw(2)]),
    "index_put into batched": (lambda x: x.index_put((I([0, 2]),), adjoint.ones(2, dtype=x.dtype)), [draw(2, 3)]),
    "index_put by a mask": (
        lambda x: x.index_put((I([True, False, True]),), adjoint.ones(2, dtype=x.dtype)),
        [draw(2, 3)],
    ),
    "index_put of both": (lambda x, v: x.index_put((I([0, 2]),), v, accumulate=True), [draw(2, 3), draw(2, 2)]),
    "index_put of matrices": (lambda x, v: x.index_put((I([0, 2]),), v), [draw(2, 3, 4), draw(2, 4)]),
    "index_select without axes": (lambda x, i: x.index_select(0, i), [draw(2), I([[0], [0]])]),
    "index_add without axes": (
        lambda x, i: x.index_add(0, i, adjoint.ones(1, dtype=x.dtype)),
        [draw(2), I([[0], [0]])],
    ),
    "index_add of no axes": (lambda x, i: x.index_add(0, i, x), [draw(2), I([0, 0])]),
    "index_fill of whole numbers": (lambda x, i: x.index_fill(0, i, 2), [I([[1, 5], [3, 4]]), I([[0], [1]])]),
    "index_fill of members without axes": (lambda x, v: x.index_fill(0, I([0]), v), [draw(2), draw(2)]),
    "index_fill by another type": (
        lambda x, i: x.float().index_fill(0, i, I(0.3).double()),
        [draw(2, 2), I([[0], [1]])],
    ),
    "index_put by NumPy's arrays": (
        lambda x: x.index_put((np.array([0, 2]),), adjoint.ones(2, dtype=x.dtype)),
        [draw(2, 3)],
    ),
    "index_put of separate indices": (put_separately, [draw(2, 3, 2, 3), draw(2, 2, 2)]),
    "index_put of separate indices into batched": (
        lambda x: put_separately(x, adjoint.ones(2, 2, dtype=x.dtype)),
        [draw(2, 3, 2, 3)],
    ),
    "index_put of separate indices of batched": (
        lambda v: put_separately(adjoint.zeros(3, 2, 3, dtype=v.dtype), v),
        [draw(2, 2, 2)],
    ),
    "roll of the flat elements": (lambda x: x.roll(1), [draw(2, 2, 3)]),
    "flip": (lambda x: x.flip(()), [draw(2, 3)]),
    "vector times vector": (lambda a, b: a @ b, [draw(2, 3), draw(2, 3)]),
    "vector times matrix": (lambda a, b: a @ b, [draw(2, 3), draw(2, 3, 4)]),
    "vector times a stack": (lambda a, b: a @ b, [draw(2, 3), draw(2, 5, 3, 4)]),
    "matrix times vector": (lambda a, b: a @ b, [draw(2, 4, 3), draw(2, 3)]),
    "stack times vector": (lambda a, b: a @ b, [draw(2, 5, 4, 3), draw(2, 3)]),
    "vector times a constant": (lambda a: a @ adjoint.ones(5, 3, 4, dtype=a.dtype), [draw(2, 3)]),
    "constant vector times matrix": (lambda b: adjoint.ones(3, dtype=b.dtype) @ b, [draw(2, 3, 4)]),
    "flip along one axis": (lambda x: adjoint.flip(x, 0), [draw(2, 3)]),
    "cat": (lambda x: adjoint.cat([x, adjoint.ones(1, dtype=x.dtype)]), [draw(2, 3)]),
    "meshgrid": (lambda x: adjoint.meshgrid(x, I([1.0, 2.0]).double(), indexing="ij")[0], [draw(2, 3)]),
    "multi_dot": (lambda x: adjoint.linalg.multi_dot([x, x, x]), [draw(2, 3, 3)]),
    "mode of a vector": (lambda x: x.mode()[0], [draw(2, 3)]),
    "bincount of nothing": (lambda i: adjoint.bincount(i, minlength=3), [adjoint.zeros(2, 0, dtype=adjoint.int64)]),
    "gather of points": (lambda x: x.gather(0, I([0, 0])), [draw(2)]),
    "scatter_add of points": (lambda x: x.scatter_add(0, I([0]), adjoint.ones(1, dtype=x.dtype)), [draw(2)]),
    "topk of no points": (lambda x: x.topk(0, 0)[0], [draw(2)]),
    "masked_gather of nothing": (lambda x, m: operations["masked_gather"](x, m, (0,)), [draw(2, 3), B]),
}


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("name", BATCHES)
def test_batches_of_rare_forms(name: str) -> None:
    function, arguments = BATCHES[name]
    together = adjoint.vmap(function)(*arguments)
    alone = [function(*members) for members in zip(*arguments, strict=True)]
    np.testing.assert_allclose(together.numpy(), np.stack([each.numpy() for each in alone]), rtol=1e-13)
    assert together.dtype == alone[0].dtype


@pytest.mark.parametrize(
    ("function", "shape"), [(lambda x: x.roll(1), (2, 3)), (lambda x: put_separately(x, 0.5), (3, 2, 3))]
)
def test_empty_batches_of_rare_forms(function: Any, shape: tuple[int, ...]) -> None:
    assert adjoint.vmap(function)(adjoint.ones(0, *shape)).shape == (0, *shape)


@pytest.mark.parametrize("n", [4096, 4099])
def test_the_product_of_a_long_row_with_a_zero(n: int) -> None:
    x = adjoint.ones(n, dtype=adjoint.float64) * 2 ** (1 / n)
    x[7] = 0.0
    (gradient,) = adjoint.autograd.grad(x.requires_grad_().prod(), x)
    expected = np.zeros(n)
    expected[7] = 2 ** ((n - 1) / n)
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-10)


def test_rare_values() -> None:
    many = adjoint.arange(2000)
    assert adjoint.isin(many, many[::2]).tolist() == [True, False] * 1000
    assert adjoint.zeros(0, dtype=adjoint.int64).median().item() == -(2**63)
    x = adjoint.tensor([5.0, -5.0], requires_grad=True)
    for mode in ("floor", "trunc"):
        assert x.div(2, rounding_mode=mode).grad_fn._saved_rounding_mode == mode
    assert adjoint.mul(np.ones(2), np.ones(2)).tolist() == [1.0, 1.0]


def test_an_integral_does_not_depend_on_a_variable_without_a_power() -> None:
    variables = [adjoint.ones(1, dtype=adjoint.float64) for _ in range(3)] + [adjoint.zeros(1, dtype=adjoint.float64)]
    integral = operations["carlson_integral"](*[v.requires_grad_() for v in variables], (0.5, 0.5, 0.5, 0), 0)
    gradients = adjoint.autograd.grad(integral, variables)
    np.testing.assert_allclose([g.item() for g in gradients], [-1 / 3, -1 / 3, -1 / 3, 0.0], rtol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_polygamma_of_complex_numbers_is_that_of_mpmath(n: int) -> None:
    z = np.array([0.7 + 0.4j, 3.0 - 2.0j, 12.0 + 0.1j, -1.6 + 0.3j, 0.5 + 9.0j])
    result = closed_forms._complex_polygamma(namespace(z), z, n)
    expected = [complex(mpmath.polygamma(n, mpmath.mpc(each))) for each in z]
    np.testing.assert_allclose(result, expected, rtol=2e-14)


def test_complex_values_written_into_real_ones_lose_their_imaginary_part() -> None:
    x = adjoint.zeros(2)
    adjoint.set_warn_always(True)
    try:
        for write, expected in ((lambda: x.copy_(I([1 + 2j, 3j])), [1, 0]), (lambda: x.fill_(I(4 - 1j)), [4, 4])):
            with pytest.warns(UserWarning, match="Casting complex values to real discards the imaginary part"):
                write()
            assert x.tolist() == expected
    finally:
        adjoint.set_warn_always(False)


def recurrent(name: str, rows: int, rows_of_state: int) -> Any:
    """A network of two inputs and three units, whose weights have these numbers of rows."""
    weights = adjoint.ones(rows, 2), adjoint.ones(rows_of_state, 3)
    return getattr(adjoint, name)(
        adjoint.ones(5, 1, 2), adjoint.ones(1, 1, 3), weights, False, 1, 0.0, False, False, False
    )


def factors_in_series(mode: str) -> Any:
    start = adjoint.tensor([[3.0, 1.0], [1.0, 2.0], [0.5, 1.0]])
    return adjoint.func.taylor(lambda t: adjoint.linalg.qr(start + t, mode=mode)[1], adjoint.zeros(()), 2)


ERRORS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "too many indices": (
        lambda: adjoint.ones(2, 3).index_put((I([0]),) * 3, adjoint.ones(1)),
        IndexError,
        "too many indices for tensor of dimension 2",
    ),
    "a result that no memory holds": (
        lambda: draw(1, 2)[adjoint.zeros(1, dtype=adjoint.int64).expand(2**59)],
        RuntimeError,
        r"index\(\): array is too big",
    ),
    "eig of what is not finite": (
        lambda: adjoint.linalg.eig(adjoint.tensor([[np.inf, 1.0], [1.0, 1.0]])),
        RuntimeError,
        "input tensor should not contain infs or NaNs",
    ),
    "rnn_tanh": (lambda: recurrent("rnn_tanh", 3, 2), RuntimeError, "tanh_sequence: parts of gates of shape"),
    "gru": (lambda: recurrent("gru", 10, 10), RuntimeError, "gru_sequence: parts of gates of shape .* do not fit"),
    "series of R alone": (
        lambda: factors_in_series("r"),
        RuntimeError,
        "linalg.qr depends on Q, which is not computed",
    ),
    "series of a complete Q": (
        lambda: factors_in_series("complete"),
        RuntimeError,
        "not differentiable when mode='complete'",
    ),
    "a stack of sampled products": (
        lambda: adjoint.sparse.sampled_addmm(
            adjoint.eye(2).to_sparse_csr(), adjoint.ones(5, 2, 3), adjoint.ones(5, 3, 2)
        ),
        RuntimeError,
        "sampled product: a matrix of 2 by 2 takes factors of 2 and 2 rows and equal columns, got shapes",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_of_rare_forms(name: str) -> None:
    call, error, message = ERRORS[name]
    with pytest.raises(error, match=message):
        call()
