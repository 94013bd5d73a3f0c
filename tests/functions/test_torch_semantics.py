"""What torch's functions do that NumPy's of the same name do not."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import adjoint as torch

F = torch.nn.functional


def test_rsub_multiplies_what_is_subtracted() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.rsub(x, torch.tensor([5.0, 5.0]), alpha=2)
    assert y.tolist() == [3.0, 1.0]
    y.sum().backward()
    assert x.grad.tolist() == [-2.0, -2.0]


@pytest.mark.parametrize("mode", ["floor", "trunc"])
def test_rounded_quotient_has_a_zero_gradient(mode: str) -> None:
    x = torch.tensor([5.0, -5.0], requires_grad=True)
    torch.div(x, 2, rounding_mode=mode).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_negative_powers_of_integers_are_rounded_towards_zero() -> None:
    base, exponent = torch.tensor([2, 1, -1, -1, 3, 0]), torch.tensor([-1, -1, -1, -2, 2, -1])
    assert (base**exponent).tolist() == [0, 1, -1, 1, 9, 0]
    assert (2 ** torch.tensor([-1, 3], dtype=torch.int8)).tolist() == [0, 8]
    for whole in (base, base.to(torch.uint8), base > 0):
        with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
            whole**-1


def test_sign_of_nan() -> None:
    assert torch.sign(torch.tensor([float("nan"), -2.0])).tolist() == [0.0, -1.0]


@pytest.mark.parametrize("stack", ["hstack", "vstack", "dstack", "column_stack"])
def test_stacks(stack: str) -> None:
    out = torch.empty(0)
    parts = [torch.ones(2, 2), torch.zeros(2, 2)]
    assert getattr(torch, stack)(parts, out=out) is out
    np.testing.assert_array_equal(out.numpy(), getattr(np, stack)([p.numpy() for p in parts]))
    with pytest.raises(RuntimeError, match=f"{stack} expects a non-empty TensorList"):
        getattr(torch, stack)([])


def test_empty_vectors_among_matrices_get_empty_gradients() -> None:
    hollow, full = torch.zeros(0, requires_grad=True), torch.zeros(2, 3, requires_grad=True)
    got = torch.autograd.grad(torch.cat([hollow, full], 1).sum(), [hollow, full])
    assert [tuple(g.shape) for g in got] == [(0,), (2, 3)]


@pytest.mark.parametrize("function", ["sum", "cumsum", "prod", "cumprod", "nansum"])
def test_dtype_of_integer_results(function: str) -> None:
    args = (0,) if function.startswith("cum") else ()
    for dtype in (torch.int8, torch.int32, torch.int64):
        assert getattr(torch, function)(torch.tensor([1, 2]), *args, dtype=dtype).dtype is dtype


def test_pieces_have_rows() -> None:
    x = torch.zeros(4, 6)
    assert x.repeat_interleave(2, -1).stride() == (12, 1)
    assert x.index_select(1, torch.tensor([0, 3])).stride() == (2, 1)


def test_names_of_tensor_split() -> None:
    x = torch.arange(5)
    assert [p.tolist() for p in x.tensor_split(indices=[1])] == [[0], [1, 2, 3, 4]]
    assert [p.tolist() for p in x.tensor_split(sections=2)] == [[0, 1, 2], [3, 4]]
    with pytest.raises(RuntimeError, match="expected total dims >= 2, but got total dims = 1"):
        x.rot90()


def test_where_with_a_condition_of_bytes_warns() -> None:
    condition = torch.tensor([0, 2], dtype=torch.uint8)
    torch.set_warn_always(True)
    with pytest.warns(UserWarning, match="where received a uint8 condition tensor"):
        y = torch.where(condition, 1.0, 0.0)
    torch.set_warn_always(False)
    assert y.tolist() == [0.0, 1.0]


def test_each_matrix_has_its_own_bound_in_pinv() -> None:
    A = torch.tensor([[[1.0, 0.0], [0.0, 0.3]], [[100.0, 0.0], [0.0, 0.3]]], dtype=torch.float64)
    found = torch.linalg.pinv(A, atol=0.5)
    assert found[:, 1, 1].tolist() == [0.0, 0.0]
    found = torch.linalg.pinv(A, atol=torch.tensor([0.5, 0.1], dtype=torch.float64))
    np.testing.assert_allclose(found[:, 1, 1].numpy(), [0.0, 1 / 0.3])
    found = torch.linalg.pinv(A, rtol=torch.tensor([0.1, 0.1], dtype=torch.float64))
    np.testing.assert_allclose(found[:, 1, 1].numpy(), [1 / 0.3, 0.0])


def test_slices_that_are_filled_twice_count_once() -> None:
    value = torch.tensor(2.0, requires_grad=True)
    y = torch.zeros(3, 2).index_fill(0, torch.tensor([1, 1, -1]), value)
    assert y.tolist() == [[0.0, 0.0], [2.0, 2.0], [2.0, 2.0]]
    y.sum().backward()
    assert value.grad.item() == 4.0


@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_reductions_in_place_keep_what_their_derivatives_need(reduce: str) -> None:
    index = torch.tensor([0, 1, 0])
    x, src = torch.tensor([2.0, 3.0], requires_grad=True), torch.tensor([5.0, 1.0, 4.0], requires_grad=True)
    calls = [("scatter_reduce", (0, index, src, reduce))]
    if reduce != "sum":
        calls.append(("index_reduce", (0, index, src, reduce)))
    for name, args in calls:
        expected = torch.autograd.grad(getattr(x, name)(*args).sum(), [x, src])
        found = torch.autograd.grad(getattr(x.clone(), f"{name}_")(*args).sum(), [x, src])
        assert [g.tolist() for g in found] == [g.tolist() for g in expected]


def test_scatter_multiplies() -> None:
    x, index = torch.tensor([2.0, 3.0]), torch.tensor([0, 0])
    assert x.scatter(0, index, torch.tensor([5.0, 7.0]), reduce="multiply").tolist() == [70.0, 3.0]
    assert x.scatter_(0, index, 2, reduce="multiply").tolist() == [8.0, 3.0]
    with pytest.raises(RuntimeError, match="reduce argument must be either add or multiply"):
        x.scatter(0, index, x, reduce="mean")


@pytest.mark.parametrize(
    ("name", "args"),
    [("t_", ()), ("transpose_", (0, 1)), ("unsqueeze_", (0,)), ("squeeze_", ()), ("swapaxes_", (0, 1))],
)
def test_tangents_are_reshaped_in_place_too(name: str, args: tuple[int, ...]) -> None:
    fw = torch.autograd.forward_ad
    x, t = torch.ones(3, 1), torch.tensor([[1.0], [2.0], [3.0]])
    with fw.dual_level():
        y = fw.make_dual(x, t).clone()
        getattr(y, name)(*args)
        value, tangent = fw.unpack_dual(y)
        assert tangent.shape == value.shape
        assert tangent.flatten().tolist() == [1.0, 2.0, 3.0]
        assert fw.unpack_dual(2 * y).tangent.shape == value.shape


def test_ends_of_lgamma() -> None:
    assert torch.lgamma(torch.tensor([float("-inf"), float("inf")])).tolist() == [float("inf")] * 2


# torch's own functions beside those of nn.functional ------------------------------------------------------------------


def normal(*shape: int) -> torch.Tensor:
    return torch.tensor(np.random.default_rng(len(shape)).normal(size=shape))


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
def test_reductions_by_number() -> None:
    x, y = normal(3), torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
    for number, kind in enumerate(("none", "mean", "sum")):
        pairs = [
            (torch.kl_div(x, y * y, number), F.kl_div(x, y * y, reduction=kind)),
            (torch.hinge_embedding_loss(x, y, 0.5, number), F.hinge_embedding_loss(x, y, 0.5, reduction=kind)),
            (
                torch.binary_cross_entropy_with_logits(x, y, None, None, number),
                F.binary_cross_entropy_with_logits(x, y, reduction=kind),
            ),
            (
                torch.margin_ranking_loss(x, 2 * x, y, 0.1, number),
                F.margin_ranking_loss(x, 2 * x, y, 0.1, reduction=kind),
            ),
            (
                torch.poisson_nll_loss(x, y * y, True, False, 1e-8, number),
                F.poisson_nll_loss(x, y * y, reduction=kind),
            ),
        ]
        rows = normal(2, 3)
        flags = torch.tensor([1, -1])
        pairs += [
            (
                torch.cosine_embedding_loss(rows, rows + 1, flags, 0.1, number),
                F.cosine_embedding_loss(rows, rows + 1, flags, 0.1, reduction=kind),
            ),
            (
                torch.triplet_margin_loss(rows, rows + 1, rows - 1, 1.0, 2.0, 1e-6, False, number),
                F.triplet_margin_loss(rows, rows + 1, rows - 1, reduction=kind),
            ),
        ]
        spectra = F.log_softmax(normal(4, 1, 3), 2)
        targets = torch.tensor([[1, 2]])
        pairs.append(
            (
                torch.ctc_loss(spectra, targets, (4,), (2,), 0, number),
                F.ctc_loss(spectra, targets, (4,), (2,), reduction=kind),
            )
        )
        for found, expected in pairs:
            np.testing.assert_array_equal(found.numpy(), expected.numpy())
    assert torch.hinge_embedding_loss(x, y).shape == x.shape  # none unless given
    with pytest.raises(TypeError, match=r"kl_div\(\): argument 'reduction' must be int, not str"):
        torch.kl_div(x, y, "mean")
    with pytest.raises(ValueError, match="3 is not a valid value for reduction"):
        torch.kl_div(x, y, 3)


def test_normalisations_with_their_parameters_first() -> None:
    x, w, b = normal(2, 4, 3), normal(4), normal(4) + 1
    m, v = normal(4), normal(4) ** 2 + 1
    same = np.testing.assert_array_equal
    same(torch.batch_norm(x, w, b, m, v, False, 0.1, 1e-5, True), F.batch_norm(x, m, v, w, b))
    same(torch.instance_norm(x, w, b, None, None, True, 0.1, 1e-5, True), F.instance_norm(x, None, None, w, b))
    same(torch.group_norm(x, 2, w, b, 1e-5, False), F.group_norm(x, 2, w, b))
    same(torch.layer_norm(x, (3,), b[:3], None, 1e-5, False), F.layer_norm(x, (3,), b[:3]))
    same(torch.bilinear(w, b, normal(2, 4, 4)), F.bilinear(w, b, normal(2, 4, 4)))
    y = torch.ones(3)
    assert torch.alpha_dropout(y, 0.5, False) is y
    assert torch.alpha_dropout_(y, 0.5, True) is y


def test_conv_tbc_is_a_convolution_in_time() -> None:
    x, w, b = normal(5, 2, 3), normal(2, 3, 4), normal(4)
    expected = sum(np.pad(x.numpy(), ((1, 1), (0, 0), (0, 0)))[k : k + 6] @ w.numpy()[k] for k in range(2)) + b.numpy()
    np.testing.assert_allclose(torch.conv_tbc(x, w, b, 1).numpy(), expected)
    assert torch.autograd.gradcheck(torch.conv_tbc, [t.requires_grad_() for t in (x, w, b)])


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((3, 2), (2, 2, 2), (2,)), "Input must have 3 dims: time, batch, in_channel"),
        (((3, 2, 2), (2, 2), (2,)), "Weight tensor must have 3 dims"),
        (((3, 2, 2), (2, 2, 2), ()), "Bias must be 1-D"),
        (((3, 2, 2), (2, 3, 2), (2,)), r"Input dim 2 \(input channels\) is not == dim 1 in the weight tensor"),
        (((3, 2, 2), (2, 2, 2), (3,)), "Bias size must equal dim 2 in the weight tensor"),
    ],
)
def test_conv_tbc_refuses(shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        torch.conv_tbc(*[torch.zeros(s) for s in shapes])


# what is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: torch.zeros(2, dtype=torch.int8).masked_fill(torch.ones(2) > 0, 1000), RuntimeError, "overflow"),
        (lambda: torch.zeros(5).index_add(0, torch.tensor([9]), torch.zeros(1)), IndexError, "out of range in self"),
        (
            lambda: F.interpolate(torch.zeros(1, 1, 4, 4), size=2, mode="bilinear", align_corners="a"),
            TypeError,
            "must be bool",
        ),
        (lambda: torch.zeros(3).normal_("a"), TypeError, "must be float, not str"),
        (lambda: F.conv2d(torch.zeros(1, 2, 5, 5), torch.zeros(0, 2, 3, 3)), RuntimeError, "to be at least 1"),
    ],
)
def test_refused(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()


def test_rank_with_a_bound_for_each_matrix() -> None:
    pair = torch.tensor([[[2.0, 0.0], [0.0, 0.5]]]).expand(3, 2, 2)
    assert torch.linalg.matrix_rank(pair, atol=torch.tensor([0.1, 1.0, 3.0])).tolist() == [2, 1, 0]
    assert torch.linalg.matrix_rank(pair, rtol=torch.tensor([0.1, 0.3, 1.0])).tolist() == [2, 1, 0]
    assert torch.linalg.matrix_rank(pair[0], tol=1.0).item() == 1
    for function in (torch.linalg.matrix_rank, torch.linalg.pinv):
        with pytest.raises(RuntimeError, match="must be batches of square matrices"):
            function(torch.ones(2, 3), hermitian=True)


def test_einsum_of_one_operand_is_a_view() -> None:
    x = torch.arange(18.0).reshape(3, 2, 3).clone().requires_grad_()
    for equation in ("iji->ji", "ijk->kij", "...->..."):
        y = torch.einsum(equation, x)
        assert y._base is x, equation
        np.testing.assert_array_equal(y.detach().numpy(), np.einsum(equation, x.detach().numpy()))
    torch.einsum("iji->ji", x).sum().backward()
    assert x.grad.sum().item() == 6 and x.grad[1, 1, 1] == 1
    assert not torch.einsum("ijk->ij", x)._is_view()
    with pytest.raises(RuntimeError):
        torch.einsum("ii->i", torch.ones(2, 3))


def test_first_and_zeroth_power_of_matrices() -> None:
    x = torch.tensor([[2.0, 1.0], [0.0, float("inf")]], requires_grad=True)
    one, same = torch.linalg.matrix_power(x, 0), torch.linalg.matrix_power(x, 1)
    assert one.tolist() == [[1.0, 0.0], [0.0, 1.0]] and same is not x and not same._is_view()
    one.sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_factors_of_whole_numbers() -> None:
    ones = torch.ones(2, 2, dtype=torch.int64)
    assert torch.addmm(ones, ones, ones, alpha=1.5, beta=2.5).tolist() == [[4, 4], [4, 4]]
    assert torch.addmv(ones[0], ones, ones[0], alpha=0.5).tolist() == [1, 1]
    for name in ("alpha", "beta"):
        with pytest.raises(RuntimeError, match=f"argument {name} must not be a floating point number"):
            torch.addr(ones, ones[0], ones[0], **{name: 0.5})


def test_odds_and_ends_of_linear_algebra() -> None:
    assert torch.linalg.vander(torch.tensor(2.0), N=3).tolist() == [[1.0, 2.0, 4.0]]
    assert torch.func.vmap(lambda a: torch.geqrf(a).tau)(torch.ones(2, 3, 3)).shape == (2, 3)
    with pytest.raises(RuntimeError, match="Incompatible shapes of A and B for the equation XA = B"):
        torch.linalg.solve_ex(torch.eye(3), torch.ones(3), left=False)
    weights = torch.tensor([1.0, 2.0, 1.0], dtype=torch.bfloat16)
    assert torch.cov(torch.tensor([1.0, 2.0, 4.0], dtype=torch.bfloat16), aweights=weights).dtype is torch.bfloat16


def test_bounds_of_whole_numbers_are_cut_off() -> None:
    x = torch.tensor([-2, -1, 0, 1, 2])
    assert F.threshold(x, -0.5, 7).tolist() == [7, 7, 7, 1, 2]
    assert F.threshold(x.abs().to(torch.uint8), 0, -1).tolist() == [2, 1, 255, 1, 2]
    with pytest.raises(RuntimeError, match="value cannot be converted to type uint8_t without overflow"):
        F.threshold(x.to(torch.uint8), -0.5, 7)
    assert F.hardtanh(x.abs().to(torch.uint8), -0.5, 1.5).tolist() == [1, 1, 0, 1, 1]


def test_ctc_loss_of_torch_is_not_reduced_unless_asked() -> None:
    spectra = torch.zeros(4, 3, 5).log_softmax(2)
    arguments = (spectra, torch.ones(3, 1, dtype=torch.int64), (4, 4, 4), (1, 1, 1))
    assert torch.ctc_loss(*arguments).shape == (3,) and F.ctc_loss(*arguments).shape == ()


def test_named_results_bear_the_name_of_their_function() -> None:
    x = torch.eye(2)
    calls = {
        "linalg_svd": torch.linalg.svd(x), "svd": torch.svd(x), "linalg_qr": torch.linalg.qr(x), "qr": torch.qr(x),
        "slogdet": torch.slogdet(x), "linalg_slogdet": torch.linalg.slogdet(x), "linalg_lu": torch.linalg.lu(x),
        "lu_unpack": torch.lu_unpack(*torch.linalg.lu_factor(x)), "linalg_lu_factor": torch.linalg.lu_factor(x),
        "linalg_lstsq": torch.linalg.lstsq(x, x), "aminmax": torch.aminmax(x), "max": torch.max(x, 0),
    }  # fmt: skip
    assert {name: type(result).__name__ for name, result in calls.items()} == {name: name for name in calls}
    assert repr(torch.aminmax(x)) == "adjoint.return_types.aminmax(\nmin=tensor(0.),\nmax=tensor(1.))"
    assert type(pickle.loads(pickle.dumps(calls["linalg_lu"]))) is type(calls["linalg_lu"])


def test_margins_of_integer_losses() -> None:
    x, y, signs = torch.tensor([3, -2, 5]), torch.tensor([1, 2, 2]), torch.tensor([1, -1, 1])
    hinge = F.hinge_embedding_loss(x, signs, margin=0.5, reduction="none")
    assert hinge.tolist() == [3, 2, 5] and hinge.dtype is torch.int64
    ranking = F.margin_ranking_loss(x, y, signs, margin=5, reduction="none")
    assert ranking.tolist() == [3.0, 1.0, 2.0] and ranking.dtype is torch.float32


def test_every_largest_coordinate_of_a_distance_gets_its_gradient() -> None:
    x = torch.tensor([[1.0, 2.0], [0.0, 1.0]], requires_grad=True)
    torch.pdist(x, torch.inf).backward()
    counted = torch.ones(2, 3, requires_grad=True)
    torch.pdist(counted, 0).backward()
    assert not counted.grad.any()
    assert x.grad.tolist() == [[1.0, 1.0], [-1.0, -1.0]]


PICKED = torch.tensor([0, 1, 2, 3] * 50)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "repeated",
    [
        lambda x: x.expand(200, 4),
        lambda x: x.repeat(50, 4),
        lambda x: x[:, None].expand(4, 200),
        lambda x: x[PICKED],
        lambda x: x.gather(0, PICKED),
        lambda x: x.repeat_interleave(50),
        lambda x: torch.zeros(200, 4, dtype=x.dtype).copy_(x),
    ],
)
def test_gradients_of_what_is_repeated_are_rounded_once(repeated, dtype) -> None:
    x = torch.ones(4, dtype=dtype, requires_grad=True)
    y = repeated(x)
    cotangent = torch.tensor(np.random.default_rng(0).normal(size=tuple(y.shape)) + 0.5).to(dtype)
    y.backward(cotangent)
    exact = x.detach().double().requires_grad_()
    repeated(exact).backward(cotangent.double())
    assert x.grad.dtype is dtype
    np.testing.assert_allclose(x.grad.double().numpy(), exact.grad.numpy(), rtol=torch.finfo(dtype).eps)


def test_sums_of_halves_at_one_place_are_rounded_once() -> None:
    ones = torch.ones(600, dtype=torch.bfloat16)  # 1 + 256 is 256 again
    for total in (
        torch.zeros(1).bfloat16().scatter_add(0, torch.zeros(600).long(), ones),
        torch.zeros(1).bfloat16().index_put((torch.zeros(600).long(),), ones, accumulate=True),
    ):
        assert total.item() == 600
