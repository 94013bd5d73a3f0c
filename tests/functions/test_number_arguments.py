"""Numbers in the type of a tensor, refused arguments, dtypes and names of results, as in torch."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint as torch

F = torch.nn.functional

# numbers and the types of tensors -------------------------------------------------------------------------------------

BYTES = torch.tensor([1, 2, 250], dtype=torch.uint8)
PICK = torch.tensor([0])
FLAGS = torch.tensor([True, False])


def write(target, index):
    target[index] = -1
    return target


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (lambda: BYTES + 1000, [233, 234, 226]),
        (lambda: BYTES - 1, [0, 1, 249]),
        (lambda: BYTES * -1, [255, 254, 6]),
        (lambda: BYTES > -1, [False, False, False]),
        (lambda: BYTES == 257, [True, False, False]),
        (lambda: torch.tensor([1, 2], dtype=torch.int8) // 200, [-1, -1]),
        (lambda: BYTES.clamp(-1, 5), [5, 5, 5]),
        (lambda: BYTES.clone().fill_(-1), [255, 255, 255]),
        (lambda: FLAGS.clone().fill_(1j), [True, True]),
        (lambda: FLAGS.masked_fill(FLAGS, torch.tensor(2j)), [True, False]),
        (lambda: torch.tensor([1, 2], dtype=torch.int8).masked_fill(FLAGS, 3.7), [3, 2]),
        (lambda: torch.add(FLAGS, FLAGS, alpha=2), [True, False]),
        (lambda: torch.tensor([1, 2]).index_add(0, PICK, torch.tensor([5]), alpha=1.7), [6, 2]),
        (lambda: torch.addmm(torch.tensor([[1]]), torch.tensor([[2]]), torch.tensor([[3]]), beta=1.7), [[7]]),
        (lambda: torch.ones(1).fill_(float("inf")), [float("inf")]),
        # one number or none needs no comparison
        (lambda: torch.kthvalue(torch.tensor(1j), 1).values, 1j),
        (lambda: torch.mode(torch.tensor(1j)).values, 1j),
        (lambda: torch.mode(torch.ones(0, 2) * 1j).values, []),
        (lambda: torch.cummax(torch.tensor(1j), 0).values, 1j),
        (lambda: torch.add(BYTES, BYTES, alpha=-1), [0, 0, 0]),
        (lambda: torch.sub(BYTES, BYTES, alpha=-2), [3, 6, 238]),
        (lambda: BYTES.add(2, alpha=-1), [255, 0, 248]),
        (lambda: torch.addcmul(BYTES, BYTES, BYTES, value=-1), [0, 254, 214]),
        (lambda: torch.add(torch.ones(1), True, alpha=2), [3.0]),
        (lambda: torch.ones(1).sub_(torch.ones(1), alpha=torch.tensor(2)), [-1.0]),
        (lambda: torch.addcmul(torch.ones(1), torch.ones(1), torch.ones(1), value=torch.tensor(2.5)), [3.5]),
        (lambda: torch.add(torch.ones(1), torch.ones(1), alpha=np.float32(0.5)), [1.5]),
        (lambda: torch.addmm(BYTES[:1, None], BYTES[:1, None], BYTES[:1, None], beta=-1), [[0]]),
        (lambda: BYTES[:2].masked_fill(FLAGS, -1), [255, 2]),
        (lambda: BYTES.index_fill(0, PICK, -1), [255, 2, 250]),
        (lambda: BYTES.scatter(0, PICK, -1), [255, 2, 250]),
        (lambda: torch.full_like(BYTES, -2), [254, 254, 254]),
        (lambda: torch.full((1,), -2, dtype=torch.uint8), [254]),
        (lambda: write(BYTES.clone(), 0), [255, 2, 250]),
        (lambda: FLAGS**True, [True, False]),
        (lambda: torch.addr(torch.zeros(1, 2).bool(), FLAGS, FLAGS, alpha=2), [[True, False], [False, False]]),
        (lambda: torch.addr(torch.ones(1, 2).bool(), FLAGS, FLAGS, beta=False, alpha=False), [[False, False]] * 2),
        (lambda: torch.addr(torch.ones(1), torch.tensor([2, 3]), torch.tensor([1]), beta=0.5), [[2.5], [3.5]]),
        (lambda: torch.ones(2, 2).addr_(torch.tensor([1, 2]), torch.tensor([1, 0]).char()), [[2, 1], [3, 1]]),
        (lambda: torch.zeros(2, 2).bool().addr_(FLAGS, FLAGS), [[True, False], [False, False]]),
        (lambda: torch.lerp(torch.tensor([1, 4]), torch.tensor([3, 9]), torch.tensor(0.5)), [2.0, 6.5]),
        (lambda: FLAGS**False, [True, True]),
        # torch counts from both ends to the middle and truncates; 7 - 3 * (10 / 6) is slightly less than 2
        (lambda: torch.linspace(-3, 7, 7, dtype=torch.int32), [-3, -1, 0, 1, 3, 5, 7]),
        (lambda: torch.linspace(-2.7, 5.5, 6, dtype=torch.int64), [-2, 0, 0, 2, 3, 5]),
        (lambda: torch.linspace(-9, 5, 1, dtype=torch.int64), [-9]),
        (lambda: torch.logspace(0, 2.5, 7, dtype=torch.int64), [1, 2, 4, 10, 21, 46, 100]),
        (lambda: torch.argsort(torch.tensor([float("nan"), 2.0, -1.0]).bfloat16()), [2, 1, 0]),
        (lambda: torch.reciprocal(torch.tensor([0j])).real, [float("inf")]),
        (lambda: write(BYTES.clone(), PICK), [255, 2, 250]),
        (lambda: write(BYTES.clone(), BYTES > 1), [1, 255, 255]),
    ],
)
def test_numbers_in_the_type_of_the_tensor(result, expected) -> None:
    with np.errstate(all="ignore"):
        assert result().tolist() == expected


ALONG = (torch.max, torch.min, torch.amax, torch.amin, torch.median, torch.nanmedian)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        # the distance of neighbouring bfloat16 numbers is 1 near 200, 2 near 300, and 1/128 near 1
        (lambda x: x == 200.2, True),
        (lambda x: x - torch.tensor([301]), -100.0),
        (lambda x: torch.remainder(torch.tensor(400.9, dtype=torch.float64), x), 0.0),
        (lambda x: torch.fmod(x, 1.0041), 0.453125),
        # products and quotients use the number without rounding
        (lambda x: x * torch.tensor(1.0046, dtype=torch.float64), 201.0),
        (lambda x: x / 0.994, 201.0),
        (lambda x: x // 0.9923, 201.0),
        (lambda x: torch.div(x, 0.9923, rounding_mode="trunc"), 201.0),
    ],
)
def test_operands_are_rounded_to_the_half_type_of_the_others(result, expected) -> None:
    x = torch.tensor([200.0]).bfloat16()
    actual = result(x)
    assert actual.item() == expected and actual.dtype in (torch.bfloat16, torch.bool)


OVERFLOW = "cannot be converted to type {} without overflow"
MATRIX = torch.ones(2, 2)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: BYTES**300, RuntimeError, OVERFLOW.format("uint8_t")),
        (lambda: BYTES.clamp(0, 300), RuntimeError, OVERFLOW.format("uint8_t")),
        (lambda: torch.where(FLAGS, BYTES[:2], 1000), RuntimeError, OVERFLOW.format("uint8_t")),
        (lambda: BYTES.clone().fill_(-3.5), RuntimeError, OVERFLOW.format("uint8_t")),
        (lambda: BYTES.scatter(0, PICK, 1000), RuntimeError, OVERFLOW.format("uint8_t")),
        (lambda: torch.ones(2).masked_fill(FLAGS, 1e40), RuntimeError, OVERFLOW.format("float")),
        (lambda: torch.ones(2).clamp_max(1e40), RuntimeError, OVERFLOW.format("float")),
        (lambda: torch.ones(2).lerp(torch.ones(2), 1e40), RuntimeError, OVERFLOW.format("float")),
        (lambda: torch.addcmul(MATRIX, MATRIX, MATRIX, value=1j), RuntimeError, OVERFLOW.format("float")),
        (lambda: torch.addcdiv(MATRIX, MATRIX, MATRIX, value=1j), RuntimeError, OVERFLOW.format("float")),
        (lambda: torch.add(MATRIX, MATRIX, alpha=True), RuntimeError, "Boolean alpha only supported"),
        (lambda: torch.sub(PICK, PICK, alpha=0.5), RuntimeError, "must not be a floating point number"),
        (lambda: torch.rsub(MATRIX, MATRIX, alpha=1j), RuntimeError, "must not be a complex number"),
        (lambda: torch.add(MATRIX, MATRIX, alpha="a"), TypeError, r"add\(\): argument 'alpha' must be Number, not str"),
        (lambda: torch.add(MATRIX, 1, alpha=None), TypeError, "argument 'alpha' must be Number, not NoneType"),
        (lambda: MATRIX.sub(1, alpha=torch.ones((), requires_grad=True)), TypeError, "must be Number, not Tensor"),
        (lambda: MATRIX.bool().mvlgamma(1), RuntimeError, "The input tensor may not be a boolean tensor."),
        (lambda: torch.where(True, MATRIX, MATRIX), TypeError, "argument 'condition' .* must be Tensor, not bool"),
        (lambda: torch.addr(PICK[None], PICK, PICK, beta=0.5), RuntimeError, "argument beta must not be a floating"),
        *((lambda f=f: f(torch.ones(0) * 1j, 0), IndexError, "to have non-zero size") for f in ALONG),
        (lambda: torch.aminmax(torch.ones(0) * 1j, dim=0), IndexError, "to have non-zero size"),
        (lambda: torch.aminmax(torch.ones(1) * 1j, dim=0), NotImplementedError, '"aminmax_cpu" not implemented for'),
        (lambda: torch.gradient(BYTES), RuntimeError, "torch.gradient does not support uint8 input."),
        (lambda: torch.addr(PICK[None], PICK, PICK, alpha=True), RuntimeError, "Boolean alpha only supported for Bool"),
        (lambda: PICK[None].addr_(MATRIX[0, :1], PICK), RuntimeError, "result type Float can't be cast to the desired"),
        (lambda: MATRIX.cfloat().abs_(), RuntimeError, "In-place abs is not supported for complex"),
        (lambda: PICK.round(decimals=1), NotImplementedError, "\"round_cpu\" not implemented for 'Long'"),
        (lambda: torch.isclose(MATRIX, MATRIX, rtol=-1), RuntimeError, "rtol must be greater than or equal to zero"),
        (lambda: MATRIX.long().renorm(2, 0, 1), RuntimeError, "Expected a floating point or complex tensor"),
        (lambda: torch.trace(MATRIX.bool()), NotImplementedError, '"trace" not implemented'),
        (lambda: MATRIX.clone().cumsum_(0, dtype=torch.float64), RuntimeError, "float and output tensor dtype double"),
        (lambda: torch.nansum(MATRIX.cfloat(), dtype=torch.float32), RuntimeError, "does not support complex inputs"),
        (lambda: torch.nanmean(PICK, dtype=torch.float32), RuntimeError, "to have floating point or complex dtype"),
        (lambda: torch.take_along_dim(MATRIX, PICK.int()[None], 0), RuntimeError, "should be Long but got Int"),
        (lambda: MATRIX.index_copy(0, PICK.int(), MATRIX[:1]), RuntimeError, "Expected a long tensor for index"),
        (lambda: MATRIX.index_fill(0, PICK.int(), 1), IndexError, "Expected dtype int64 for index"),
        (
            lambda: MATRIX.cfloat().index_reduce(0, PICK, MATRIX[:1].cfloat(), "amax"),
            NotImplementedError,
            '"maximum_cpu" not implemented for',
        ),
    ],
)
def test_refused_as_in_torch(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()


# results with forms of torch, which differ from NumPy's ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "dtype"),
    [
        (lambda: torch.trapezoid(torch.zeros(0, dtype=torch.int32)), torch.int32),
        (lambda: torch.ones(2, dtype=torch.uint8).sum_to_size(1), torch.int64),
        (lambda: torch.tensor(1, dtype=torch.int32).sum_to_size(()), torch.int64),
        (lambda: torch.trace(torch.ones(2, 2, dtype=torch.uint8)), torch.int64),
        (lambda: torch.vander(torch.ones(2, dtype=torch.int8), 0), torch.int64),
        (lambda: torch.unravel_index(PICK.int(), (2, 2))[0], torch.int64),
        (lambda: torch.ldexp(torch.ones(2).half(), PICK), torch.float16),
        (lambda: torch.ldexp(torch.ones(2), PICK * 1j), torch.complex64),
        (lambda: torch.logspace(0, 1j, 3), torch.complex64),
        (lambda: torch.nan_to_num(torch.ones(2).bfloat16()), torch.bfloat16),
        (lambda: FLAGS.clone().conj_physical_(), torch.bool),
        (lambda: torch.nansum(PICK, dtype=torch.complex64), torch.complex64),
        # NumPy's numbers count as Python's numbers
        (lambda: PICK * np.float64(2), torch.float32),
        (lambda: torch.tensor(1.0) + np.float64(2), torch.float32),
        (lambda: torch.add(PICK, np.complex128(2)), torch.complex64),
        (lambda: PICK.int() + np.int64(2), torch.int32),
        (lambda: torch.full((1,), np.int8(2)), torch.int64),
        (lambda: torch.full((1,), np.float16(2)), torch.float32),
    ],
)
def test_dtypes_of_results(result, dtype) -> None:
    assert result().dtype is dtype


def test_names_of_arguments_and_of_results() -> None:
    x = torch.ones(2, 3)
    assert x.tile(dims=(2,)).shape == (2, 6) and torch.swapdims(x, dim0=0, dim1=1).shape == (3, 2)
    for tensor in (x.new_zeros(size=(4,)), x.new_ones(size=(4,)), x.new_empty(size=(4,))):
        assert tensor.shape == (4,)
    assert torch.special.softmax(x, 0, torch.float64).dtype is torch.float64
    assert torch.special.log_softmax(x, 0, torch.float64).dtype is torch.float64
    assert [type(actual).__name__ for actual in (torch.aminmax(x), torch.histogram(x, 2))] == ["aminmax", "histogram"]
    assert torch.real(x) is x
    assert torch.ones(2).scatter_reduce(0, PICK, torch.tensor([5.0]), "max").tolist() == [5.0, 1.0]
    assert torch.zeros(0, 2, dtype=torch.int64).floor_divide(torch.tensor(0)).shape == (0, 2)
    assert torch.result_type(PICK, np.float64(1)) is torch.float32
    assert torch.float_power(self=2, exponent=PICK).tolist() == torch.pow(self=2, exponent=PICK).tolist() == [1.0]
    special = torch.special
    values = [special.airy_ai(x=x), special.spherical_bessel_j0(x=x), special.legendre_polynomial_p(x=x, n=2)]
    assert values[2].tolist() == x.tolist() and all(each.shape == x.shape for each in values)
    y = torch.ones(2, requires_grad=True)
    assert [y.deg2rad().grad_fn.name(), y.rad2deg().grad_fn.name()] == ["Deg2RadBackward0", "Rad2DegBackward0"]


@pytest.mark.parametrize(("kind", "step"), [(torch.bfloat16, 2**-7), (torch.float16, 2**-10), (torch.float32, 2**-23)])
def test_the_next_number_is_one_of_the_type(kind, step) -> None:
    x = torch.ones(2, dtype=kind)
    result = torch.nextafter(x, x + 1)
    assert result.dtype is kind and result.tolist() == [1 + step] * 2


def test_factors_where_older_programs_gave_them() -> None:
    x, y = torch.ones(2), torch.tensor([2.0, 3.0], requires_grad=True)
    with pytest.warns(DeprecationWarning, match=r"add\(\) with alpha in second place is deprecated"):
        result = torch.add(x, 10, y)
    assert result.tolist() == [21.0, 31.0] and torch.autograd.grad(result.sum(), y)[0].tolist() == [10.0, 10.0]
    with pytest.warns(DeprecationWarning, match=r"addcdiv\(\) with value in second place"):
        assert x.clone().addcdiv_(6, x, y.detach()).tolist() == [4.0, 3.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda **out: torch.full((2,), 3.0, **out),
        lambda **out: torch.arange(3.0, **out),
        lambda **out: torch.linspace(0, 1, 3, **out),
        lambda **out: torch.logspace(0, 1, 3, **out),
        lambda **out: torch.eye(2, **out),
        lambda **out: torch.zeros(2, **out),
        lambda **out: torch.scatter(torch.ones(2), 0, PICK, 5.0, **out),
        lambda **out: torch.scatter_reduce(torch.ones(2), 0, PICK, torch.ones(1), "sum", **out),
        lambda **out: torch.index_reduce(torch.ones(2), 0, PICK, torch.ones(1), "prod", **out),
        lambda **out: torch.slice_scatter(torch.ones(2), torch.zeros(1), 0, 1, **out),
        lambda **out: torch.take_along_dim(torch.ones(2), PICK, 0, **out),
        lambda **out: torch.addr(torch.ones(2, 2), torch.ones(2), torch.ones(2), **out),
        lambda **out: torch.addbmm(torch.ones(2, 2), torch.ones(1, 2, 2), torch.ones(1, 2, 2), **out),
    ],
)
def test_results_written_where_they_are_wanted(call) -> None:
    out = torch.empty(0)
    assert call(out=out) is out
    np.testing.assert_array_equal(out.numpy(), call().numpy())


def test_places_and_counts_written_where_they_are_wanted() -> None:
    rows, pair = torch.empty(0, dtype=torch.int64), (torch.empty(0), torch.empty(0))
    torch.nonzero_static(torch.tensor([0, 5]), size=1, out=rows)
    torch.histogram(torch.tensor([0.0, 1.0]), 2, out=pair)
    assert rows.tolist() == [[1]] and [each.tolist() for each in pair] == [[1.0, 1.0], [0.0, 0.5, 1.0]]


# derivatives ----------------------------------------------------------------------------------------------------------


COMPARISONS = ("eq_", "ne_", "lt_", "le_", "gt_", "ge_")


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_in_place_have_zero_gradients(name: str) -> None:
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([2.0, 2.0], requires_grad=True)
    actual = torch.autograd.grad(getattr(x.clone(), name)(y).sum(), [x, y])
    assert [g.tolist() for g in actual] == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("name", ["logical_and_", "logical_or_", "logical_xor_", "logical_not_"])
def test_logical_operations_in_place_leave_the_history_as_it_is(name: str) -> None:
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([2.0, 0.0], requires_grad=True)
    z = 3 * x
    history = z.grad_fn
    assert getattr(z, name)(*([] if name == "logical_not_" else [y])) is z
    assert z.grad_fn is history and z._version == 1
    first, second = torch.autograd.grad(z.sum(), [x, y], allow_unused=True)
    assert first.tolist() == [3.0, 3.0] and second is None
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x.detach().clone(), y.detach())
        getattr(dual, name)(*([] if name == "logical_not_" else [y.detach()]))
        assert torch.autograd.forward_ad.unpack_dual(dual).tangent.tolist() == [2.0, 0.0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: torch.unique(x), "the derivative for '_unique2' is not implemented."),
        (lambda x: torch.unique(x, dim=0), "the derivative for 'unique_dim' is not implemented."),
        (lambda x: torch.unique_consecutive(x, return_counts=True)[0], "derivative for 'unique_consecutive' is not"),
        (lambda x: torch.histogram(x, 2).hist, "derivative for histogram is not implemented"),
        (lambda x: torch.histogramdd(x[:, None], 2).bin_edges[0], "derivative for histogramdd is not implemented"),
    ],
)
def test_results_without_derivative_require_one_all_the_same(call, message) -> None:
    assert not call(torch.ones(3)).requires_grad
    result = call(torch.ones(3, requires_grad=True))
    assert result.requires_grad and result.grad_fn.name() == "NotImplemented"
    with pytest.raises((NotImplementedError, RuntimeError), match=message):
        result.sum().backward()
    with torch.no_grad():
        assert not call(torch.ones(3, requires_grad=True)).requires_grad


def test_powers_of_negative_numbers_by_zero_are_constant() -> None:
    x, zero = torch.tensor([-2.0], requires_grad=True), torch.tensor([0.0], requires_grad=True)
    first = torch.autograd.grad(x**zero, [x, zero], create_graph=True)
    assert first[0].item() == 0 and np.isnan(first[1].item())
    # the logarithm of a negative number is NaN, but its derivative is a number
    assert torch.autograd.grad(first[1], x)[0].item() == -0.5


def test_logarithm_at_zero_has_an_infinite_derivative() -> None:
    zero = torch.zeros(1, dtype=torch.complex128, requires_grad=True)
    for function in (torch.log, torch.log2, torch.log10, torch.sqrt):
        with np.errstate(all="ignore"):
            (slope,) = torch.autograd.grad(function(zero).real.sum(), zero)
        assert slope.real.item() == float("inf")


def test_remainder_of_two_half_types() -> None:
    x = torch.tensor([5.0, -3.0]).bfloat16().requires_grad_()
    y = torch.tensor([3.0, 2.0]).half().requires_grad_()
    first, second = torch.autograd.grad(torch.fmod(x, y).sum(), [x, y])
    assert (first.dtype, second.dtype) == (torch.bfloat16, torch.float16)
    assert second.tolist() == [-1.0, 1.0]


def test_negative_bases_have_complex_logarithms() -> None:
    base, exponent = torch.tensor([-2.0], dtype=torch.float64), torch.tensor([1j], requires_grad=True)
    assert torch.autograd.gradcheck(lambda e: base**e, exponent.detach().cdouble().requires_grad_())
    zero = torch.tensor([-1.0, 2.0], requires_grad=True)
    with np.errstate(divide="ignore"):
        y = 0.0**zero
    assert torch.autograd.grad(y.sum(), zero)[0].tolist() == [-float("inf"), 0.0]


@pytest.mark.parametrize("function", [F.relu, F.relu6, F.leaky_relu, F.hardtanh, F.hardsigmoid, F.hardshrink])
def test_derivatives_of_rectifiers_can_be_differentiated(function) -> None:
    x = torch.tensor([-2.0, 0.25, 0.75], requires_grad=True)
    (slope,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
    assert torch.autograd.grad(slope.sum(), x)[0].tolist() == [0.0, 0.0, 0.0]


def test_zeros_that_are_overwritten_do_not_spoil_a_product() -> None:
    x = torch.tensor([0.0, 3.0], requires_grad=True)
    y = x.scatter_reduce(0, PICK, torch.tensor([2.0]), "prod", include_self=False)
    assert torch.autograd.grad(y.sum(), x)[0].tolist() == [0.0, 1.0]


def test_quantiles_between_infinite_elements() -> None:
    x = torch.tensor([-float("inf"), 0.0, float("nan")])
    with np.errstate(invalid="ignore"):
        assert torch.nanquantile(x, 0.6).item() == -float("inf")


@pytest.mark.parametrize("divide", [lambda x: 2 / x, lambda x: torch.ldexp(x, torch.ones(1, requires_grad=True))])
def test_operands_that_are_not_saved_may_be_overwritten(divide) -> None:
    x = torch.tensor([4.0], requires_grad=True)
    operand = x.clone()
    result = divide(operand)
    expected = 2.0 if result.item() == 8 else -0.125
    operand.zero_()
    assert torch.autograd.grad(result, x)[0].item() == expected


def test_a_quotient_of_a_number_is_not_saved() -> None:
    x = torch.tensor([4.0], requires_grad=True)
    result = 1 / x
    assert torch.autograd.grad(result.add_(1), x)[0].item() == -0.0625


@pytest.mark.parametrize("function", [torch.xlogy, torch.special.xlogy, torch.special.xlog1py])
def test_results_that_are_not_saved_may_be_overwritten(function) -> None:
    x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    result = function(x, y)
    result.detach().zero_()
    assert all(g.item() > 0 for g in torch.autograd.grad(result, [x, y]))


# powers by products ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("exponent", [3, 3.0, 4, -2])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_powers_by_products_are_those_of_numpy(exponent, kind):
    x = np.array([-1e-3, 0.3, 1.7, -25.0, 0.0, -0.0, np.inf, -np.inf, np.nan], kind)
    with np.errstate(all="ignore"):
        expected = x.astype(np.float64) ** exponent
        result = (torch.from_numpy(x) ** exponent).numpy()
    assert result.dtype == kind
    np.testing.assert_allclose(result, expected, rtol=3 * np.finfo(kind).eps)
    assert np.array_equal(np.signbit(result), np.signbit(expected))
    t = torch.tensor([0.3, -1.7], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradgradcheck(lambda v: v**exponent, (t,))


# parameters given as NumPy's numbers ----------------------------------------------------------------------------------

X = torch.ones(2, 2)


@pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2), torch.tensor(2)])
@pytest.mark.parametrize(
    "call",
    [
        lambda n: torch.add(X, X, alpha=n),
        lambda n: torch.addmm(X, X, X, beta=n, alpha=n),
        lambda n: torch.addcmul(X, X, X, value=n),
        lambda n: F.leaky_relu(-X, n),
        lambda n: F.elu(-X, n),
        lambda n: torch.linalg.vector_norm(X, n),
        lambda n: torch.linalg.matrix_norm(X, n),
        lambda n: torch.linalg.norm(X, n, 0),
        lambda n: torch.linalg.cond(X + torch.eye(2), n),
        lambda n: torch.cdist(X, 2 * X, n),
        lambda n: torch.renorm(X, n, 0, n),
        lambda n: torch.std(torch.ones(4), correction=n),
        lambda n: F.huber_loss(X, 3 * X, delta=n),
    ],
)
def test_the_dtype_of_a_parameter_does_not_count(call, number):
    result = call(number)
    assert result.dtype is torch.float32
    torch.testing.assert_close(result, call(2))
