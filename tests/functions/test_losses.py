"""Losses and distances: values of NumPy and SciPy, reductions, ignored entries, errors; CTC against all paths."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special
from scipy.spatial import distance

import adjoint
from adjoint.autograd import gradcheck, gradgradcheck

F = adjoint.nn.functional
RNG = np.random.default_rng(3)
X, Y = RNG.standard_normal((4, 5)), RNG.standard_normal((4, 5))
P, Q = RNG.uniform(0.05, 0.95, (4, 5)), RNG.uniform(0.05, 0.95, (4, 5))
SIGNS = np.where(Y > 0, 1.0, -1.0)
LABELS = np.array([3, 0, 4, 3])
WEIGHT = np.array([0.5, 1.0, 2.0, 1.5, 0.25])


def tensors(*arrays: Any) -> list[Any]:
    return [adjoint.tensor(a) if isinstance(a, np.ndarray) else a for a in arrays]


def huber(d: np.ndarray, delta: float) -> np.ndarray:
    return np.where(np.abs(d) < delta, d * d / 2, delta * (np.abs(d) - delta / 2))


def norm(a: np.ndarray) -> np.ndarray:
    return np.sqrt((a * a).sum(-1))


def cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(-1) / (norm(a) * norm(b))


ROWS = np.array([1, -1, -1, 1])
STIRLING = np.where(Q * 9 > 1, Q * 9 * np.log(Q * 9) - Q * 9 + 0.5 * np.log(2 * np.pi * Q * 9), 0)
ENTROPY = -(Q * np.log(P) + (1 - Q) * np.log(1 - P))
LOGITS = np.log1p(np.exp(X)) - X * Q

# the loss, its arguments, and its value for each element
VALUES: dict[str, tuple[Callable[..., Any], list[np.ndarray], np.ndarray]] = {
    "mse": (F.mse_loss, [X, Y], (X - Y) ** 2),
    "l1": (F.l1_loss, [X, Y], np.abs(X - Y)),
    "smooth_l1": (lambda *a, **k: F.smooth_l1_loss(*a, beta=0.6, **k), [X, Y], huber(X - Y, 0.6) / 0.6),
    "huber": (lambda *a, **k: F.huber_loss(*a, delta=0.6, **k), [X, Y], huber(X - Y, 0.6)),
    "kl_div": (F.kl_div, [X, Q], special.xlogy(Q, Q) - Q * X),
    "kl_div of logs": (lambda *a, **k: F.kl_div(*a, log_target=True, **k), [X, Y], np.exp(Y) * (Y - X)),
    "bce": (F.binary_cross_entropy, [P, Q], ENTROPY),
    "bce weighted": (F.binary_cross_entropy, [P, Q, WEIGHT], ENTROPY * WEIGHT),
    "bce logits": (F.binary_cross_entropy_with_logits, [X, Q], LOGITS),
    "bce logits weighted": (F.binary_cross_entropy_with_logits, [X, Q, WEIGHT], LOGITS * WEIGHT),
    "bce logits, weight of ones": (
        lambda x, q, w, **k: F.binary_cross_entropy_with_logits(x, q, pos_weight=w, **k),
        [X, Q, WEIGHT],
        (1 - Q) * np.log1p(np.exp(X)) + WEIGHT * Q * np.log1p(np.exp(-X)),
    ),
    "gaussian": (F.gaussian_nll_loss, [X, Y, P], 0.5 * (np.log(P) + (X - Y) ** 2 / P)),
    "gaussian full": (
        lambda *a, **k: F.gaussian_nll_loss(*a, full=True, **k),
        [X, Y, P[:, 0]],
        0.5 * (np.log(2 * np.pi * P[:, :1]) + (X - Y) ** 2 / P[:, :1]),
    ),
    "poisson": (F.poisson_nll_loss, [X, Q], np.exp(X) - Q * X),
    "poisson of rates, full": (
        lambda *a, **k: F.poisson_nll_loss(*a, log_input=False, full=True, **k),
        [P, Q * 9],
        P - Q * 9 * np.log(P + 1e-8) + STIRLING,
    ),
    "soft margin": (F.soft_margin_loss, [X, SIGNS], np.log1p(np.exp(-SIGNS * X))),
    "hinge embedding": (
        lambda *a, **k: F.hinge_embedding_loss(*a, margin=0.4, **k),
        [X, SIGNS],
        np.where(SIGNS > 0, X, np.maximum(0, 0.4 - X)),
    ),
    "margin ranking": (
        lambda *a, **k: F.margin_ranking_loss(*a, margin=0.4, **k),
        [X, Y, SIGNS],
        np.maximum(0, 0.4 - SIGNS * (X - Y)),
    ),
    "cosine embedding": (
        lambda *a, **k: F.cosine_embedding_loss(*a, margin=0.1, **k),
        [X, Y, ROWS],
        np.where(ROWS > 0, 1 - cosine(X, Y), np.maximum(0, cosine(X, Y) - 0.1)),
    ),
    "triplet": (
        lambda *a, **k: F.triplet_margin_loss(*a, margin=1.5, **k),
        [X, Y, P],
        np.maximum(0, 1.5 + norm(X - Y + 1e-6) - norm(X - P + 1e-6)),
    ),
    "triplet swapped": (
        lambda *a, **k: F.triplet_margin_loss(*a, swap=True, **k),
        [X, Y, P],
        np.maximum(0, 1 + norm(X - Y + 1e-6) - np.minimum(norm(X - P + 1e-6), norm(Y - P + 1e-6))),
    ),
    "nll": (F.nll_loss, [X, LABELS], -X[range(4), LABELS]),
    "cross entropy": (F.cross_entropy, [X, LABELS], special.logsumexp(X, axis=1) - X[range(4), LABELS]),
    "cross entropy of probabilities": (F.cross_entropy, [X, Q], -(Q * special.log_softmax(X, 1)).sum(1)),
    "cross entropy, weights": (
        F.cross_entropy,
        [X, Q, WEIGHT],
        -(Q * WEIGHT * special.log_softmax(X, 1)).sum(1),
    ),
    "multi margin": (
        lambda *a, **k: F.multi_margin_loss(*a, p=2, margin=0.7, **k),
        [X, LABELS],
        (np.maximum(0, 0.7 - X[range(4), LABELS][:, None] + X) ** 2).sum(1) / 5 - 0.7**2 / 5,
    ),
    "multilabel soft margin": (F.multilabel_soft_margin_loss, [X, Q], LOGITS.mean(1)),
}


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("name", VALUES)
def test_value(name: str) -> None:
    function, arguments, losses = VALUES[name]
    for reduction, expected in (("none", losses), ("sum", losses.sum()), ("mean", losses.mean())):
        result = function(*tensors(*arguments), reduction=reduction).numpy()
        np.testing.assert_allclose(result, expected, rtol=1e-12, err_msg=reduction)
    np.testing.assert_allclose(function(*tensors(*arguments)).numpy(), losses.mean(), rtol=1e-12)


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
@pytest.mark.parametrize("name", VALUES)
def test_single_precision_stays(name: str) -> None:
    function, arguments, losses = VALUES[name]
    single = [a.astype(np.float32) if a.dtype == np.float64 else a for a in arguments]
    leaf = adjoint.tensor(single[0], requires_grad=True)
    for reduction in ("none", "mean"):
        loss = function(leaf, *tensors(*single[1:]), reduction=reduction)
        assert loss.dtype is adjoint.float32
        loss.sum().backward()
        assert leaf.grad.dtype is adjoint.float32
    np.testing.assert_allclose(loss.item(), losses.mean(), rtol=1e-5)


@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"])
def test_half_precision_is_rounded_once(name: str) -> None:
    pair = [adjoint.tensor(a).to(adjoint.float16) for a in (X, Q)]
    result = getattr(F, name)(*pair)
    assert result.dtype is adjoint.float16
    wide = getattr(F, name)(*[t.to(adjoint.float32) for t in pair])
    assert result == wide.to(adjoint.float16)


def test_shapes_that_differ_are_broadcast_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="Using a target size .* that is different to the input size"):
        result = F.mse_loss(*tensors(X, Y[0]))
    np.testing.assert_allclose(result.numpy(), ((X - Y[0]) ** 2).mean())


def test_older_arguments_of_reduction() -> None:
    with pytest.warns(UserWarning, match="please use reduction='sum' instead"):
        assert F.mse_loss(*tensors(X, Y), size_average=False) == F.mse_loss(*tensors(X, Y), reduction="sum")
    with pytest.warns(UserWarning, match="please use reduction='none' instead"):
        assert F.l1_loss(*tensors(X, Y), reduce=False).shape == (4, 5)


def test_weights_of_elements() -> None:
    weighted = (X - Y) ** 2 * P
    np.testing.assert_allclose(F.mse_loss(*tensors(X, Y), weight=adjoint.tensor(P)).numpy(), weighted.sum() / P.sum())
    np.testing.assert_allclose(
        F.huber_loss(*tensors(X, Y), weight=adjoint.tensor(P)).numpy(), (huber(X - Y, 1.0) * P).mean()
    )
    z = F.mse_loss(*tensors(X + 1j * Y, Y), weight=adjoint.tensor(P), reduction="sum")
    np.testing.assert_allclose(z.item(), ((X + 1j * Y - Y) ** 2 * P).sum())


# extreme values -----------------------------------------------------------------------------------------------------


def test_certain_probabilities() -> None:
    p = adjoint.tensor([0.0, 1.0, 0.0, 1.0], requires_grad=True)
    losses = F.binary_cross_entropy(p, adjoint.tensor([0.0, 1.0, 1.0, 0.0]), reduction="none")
    np.testing.assert_array_equal(losses.detach().numpy(), [0, 0, 100, 100])
    losses.sum().backward()
    np.testing.assert_allclose(p.grad.numpy(), [0, 0, -1e12, 1e12])


def test_large_logits() -> None:
    x = adjoint.tensor([1000.0, -1000.0, 1000.0], requires_grad=True)
    with np.errstate(over="raise", invalid="raise"):
        losses = F.binary_cross_entropy_with_logits(x, adjoint.tensor([1.0, 1.0, 0.0]), reduction="none")
        losses.sum().backward()
    np.testing.assert_array_equal(losses.detach().numpy(), [0, 1000, 1000])
    np.testing.assert_array_equal(x.grad.numpy(), [0, -1, 1])
    big = adjoint.tensor([[1e4, 1e4 + 1, 0.0]], dtype=adjoint.float32)
    np.testing.assert_allclose(F.cross_entropy(big, adjoint.tensor([0])).numpy(), 1.3132617, rtol=1e-6)


def test_a_variance_below_eps_counts_as_eps_and_keeps_its_gradient() -> None:
    var = adjoint.tensor([1e-9], dtype=adjoint.float64, requires_grad=True)
    loss = F.gaussian_nll_loss(*tensors(np.array([1.0]), np.array([3.0])), var)
    loss.backward()
    np.testing.assert_allclose(loss.detach().numpy(), 0.5 * (np.log(1e-6) + 4e6))
    np.testing.assert_allclose(var.grad.numpy(), [0.5 * (1e6 - 4e12)])
    assert var == 1e-9


def test_a_cotangent_of_zero_hides_where_a_target_has_no_logarithm() -> None:
    x, target = adjoint.zeros(3), adjoint.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    with np.errstate(invalid="ignore"):
        losses = F.kl_div(x, target, reduction="none")
    losses.backward(adjoint.tensor([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(target.grad.numpy(), [0, 0, np.log(2) + 1], rtol=1e-6)


# types --------------------------------------------------------------------------------------------------------------


def test_types_of_losses_whose_target_has_another() -> None:
    x, target = adjoint.tensor(X), adjoint.tensor(Q).float()
    assert F.binary_cross_entropy_with_logits(x, target).dtype is adjoint.float32
    weighted = F.binary_cross_entropy_with_logits(x.half(), target.half(), pos_weight=adjoint.ones(5))
    assert weighted.dtype is adjoint.float16
    counts = adjoint.tensor([3, 0, 4, 1, 2])
    assert F.poisson_nll_loss(x.half(), counts.expand(4, 5), full=True).dtype is adjoint.float16
    result = F.pairwise_distance(counts, counts - 2, eps=0)
    assert result.dtype is adjoint.float32 and result == adjoint.tensor(20.0).sqrt()


def test_squares_of_differences_from_bools() -> None:
    x, flags = adjoint.tensor(X[0], requires_grad=True), adjoint.tensor(Y[0] > 0)
    (grad,) = adjoint.autograd.grad(F.mse_loss(x, flags), x, create_graph=True)
    np.testing.assert_allclose(grad.detach().numpy(), 2 * (X[0] - (Y[0] > 0)) / 5)
    np.testing.assert_allclose(adjoint.autograd.grad(grad.sum(), x)[0].numpy(), np.full(5, 2 / 5))


def test_soft_margin_of_complex_numbers() -> None:
    x = adjoint.tensor(X + 1j * Y)
    expected = np.log1p(np.exp(-SIGNS * (X + 1j * Y)))
    np.testing.assert_allclose(F.soft_margin_loss(x, *tensors(SIGNS), reduction="none").numpy(), expected)
    np.testing.assert_allclose(F.soft_margin_loss(x, *tensors(SIGNS)).numpy(), expected.mean())


# classes ------------------------------------------------------------------------------------------------------------


def reference_nll(x: np.ndarray, labels: np.ndarray, weight: np.ndarray, ignore: int) -> tuple[np.ndarray, np.ndarray]:
    """Losses and weights of all positions, one by one. The classes are axis 1."""
    losses, weights = np.zeros(labels.shape), np.zeros(labels.shape)
    for index in np.ndindex(labels.shape):
        c = labels[index]
        if c != ignore:
            losses[index] = -weight[c] * x[(index[0], c, *index[1:])]
            weights[index] = weight[c]
    return losses, weights


@pytest.mark.parametrize("ignore", [-100, 2])
@pytest.mark.parametrize("shape", [(6, 5), (2, 5, 3), (2, 5, 3, 2)])
def test_nll_of_every_rank(shape: tuple[int, ...], ignore: int) -> None:
    x = RNG.standard_normal(shape)
    labels = RNG.integers(0, 5, (shape[0], *shape[2:]))
    labels[0] = ignore
    losses, weights = reference_nll(x, labels, WEIGHT, ignore)
    for reduction, expected in (("none", losses), ("sum", losses.sum()), ("mean", losses.sum() / weights.sum())):
        result = F.nll_loss(*tensors(x, labels, WEIGHT), ignore_index=ignore, reduction=reduction)
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("kind", ["Long", "ComplexDouble"])
@pytest.mark.parametrize(
    ("shape", "function"), [((2, 3), "nll_loss_out_frame"), ((2, 3, 4), "nll_loss2d_forward_out_frame")]
)
def test_nll_refuses_numbers_that_are_no_real_ones(shape: tuple[int, ...], function: str, kind: str) -> None:
    x = np.ones(shape, {"Long": np.int64, "ComplexDouble": np.complex128}[kind])
    labels = np.zeros((shape[0], *shape[2:]), np.int64)
    with pytest.raises(NotImplementedError, match=f"\"{function}\" not implemented for '{kind}'"):
        F.nll_loss(*tensors(x, labels))


def test_ignored_places_have_exact_zeros() -> None:
    x = np.array([[-np.inf, np.nan, 1.0], [1.0, 2.0, 3.0]])
    leaf = adjoint.tensor(x, requires_grad=True)
    loss = F.nll_loss(leaf, adjoint.tensor([-100, 0]))
    loss.backward()
    assert loss == -1.0
    np.testing.assert_array_equal(leaf.grad.numpy(), [[0, 0, 0], [-1, 0, 0]])


def test_everything_ignored() -> None:
    labels = adjoint.tensor([-100, -100])
    x = adjoint.ones(2, 3)
    with np.errstate(invalid="ignore"):
        assert np.isnan(F.cross_entropy(x, labels).numpy())
    assert F.cross_entropy(x, labels, reduction="sum") == 0


def test_label_smoothing() -> None:
    labels = np.array([3, 0, 4, 1])
    logs = special.log_softmax(X, 1)
    shares = np.full((4, 5), 0.2 / 5)
    shares[range(4), labels] += 0.8
    plain = -(shares * logs).sum(1)
    np.testing.assert_allclose(F.cross_entropy(*tensors(X, labels), label_smoothing=0.2).numpy(), plain.mean())
    mask = labels != 0
    weighted = -(shares * logs * WEIGHT).sum(1) * mask
    result = F.cross_entropy(*tensors(X, labels, WEIGHT), label_smoothing=0.2, ignore_index=0)
    np.testing.assert_allclose(result.numpy(), weighted.sum() / WEIGHT[labels][mask].sum())
    of_shares = F.cross_entropy(*tensors(X, np.eye(5)[labels]), label_smoothing=0.2)
    np.testing.assert_allclose(of_shares.numpy(), plain.mean())


def test_multilabel_margin() -> None:
    labels = np.array([[0, 3, -1, 1, 2], [4, -1, 2, 0, 0], [-1, 0, 0, 0, 0], [1, 1, 0, -1, -1]])
    expected = []
    for x, row in zip(X, labels, strict=True):
        classes = list(itertools.takewhile(lambda c: c >= 0, row))
        others = [i for i in range(5) if i not in classes]
        expected.append(sum(max(0, 1 - x[y] + x[i]) for y in classes for i in others) / 5)
    np.testing.assert_allclose(F.multilabel_margin_loss(*tensors(X, labels), reduction="none").numpy(), expected)


def test_losses_of_classes_under_vmap() -> None:
    x, labels = adjoint.tensor(RNG.standard_normal((3, 4, 5))), adjoint.tensor(RNG.integers(0, 5, (3, 4)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = adjoint.func.vmap(F.cross_entropy)(x, labels)
        by_sample = adjoint.func.vmap(adjoint.func.grad(F.cross_entropy))(x, labels)
    np.testing.assert_allclose(result.numpy(), [F.cross_entropy(a, b).item() for a, b in zip(x, labels, strict=True)])
    np.testing.assert_allclose(by_sample[1].numpy(), adjoint.func.grad(F.cross_entropy)(x[1], labels[1]).numpy())


# connectionist temporal classification ------------------------------------------------------------------------------


def collapse(path: tuple[int, ...], blank: int) -> tuple[int, ...]:
    return tuple(c for c, _ in itertools.groupby(path) if c != blank)


def probability(log_probs: np.ndarray, target: tuple[int, ...], blank: int) -> float:
    """The sum of the probabilities of all paths that give the target."""
    moments, classes = log_probs.shape
    return sum(
        np.exp(log_probs[range(moments), path].sum())
        for path in itertools.product(range(classes), repeat=moments)
        if collapse(path, blank) == target
    )


@pytest.mark.parametrize("blank", [0, 2])
def test_ctc_loss_is_the_sum_over_all_paths(blank: int) -> None:
    x = RNG.standard_normal((5, 4, 3))
    labels = [c for c in range(3) if c != blank]
    a, b = labels
    targets, steps = [(a, b), (a, a, b), (), (b,)], [5, 4, 3, 1]
    logs = special.log_softmax(x, 2)
    expected = [
        -np.log(probability(logs[:n, i], t, blank)) for i, (t, n) in enumerate(zip(targets, steps, strict=True))
    ]
    lengths = [len(t) for t in targets]
    padded = adjoint.tensor([[*t, *[a] * (3 - len(t))] for t in targets])
    joined = adjoint.tensor([c for t in targets for c in t])
    leaf = adjoint.tensor(x, requires_grad=True)
    for labels_given in (padded, joined):
        result = F.ctc_loss(leaf.log_softmax(2), labels_given, steps, lengths, blank, reduction="none")
        np.testing.assert_allclose(result.detach().numpy(), expected, rtol=1e-10)
    mean = F.ctc_loss(leaf.log_softmax(2), padded, adjoint.tensor(steps), adjoint.tensor(lengths), blank)
    np.testing.assert_allclose(mean.item(), np.mean(expected / np.maximum(lengths, 1)), rtol=1e-10)
    mean.backward()
    assert not leaf.grad[3:, 2].numpy().any()
    one = F.ctc_loss(leaf[:, 0].log_softmax(1), padded[0, :2], (5,), (2,), blank, reduction="none")
    np.testing.assert_allclose(one.item(), expected[0], rtol=1e-10)


def test_ctc_gradient_takes_probabilities_to_sum_to_one() -> None:
    x = adjoint.tensor(RNG.standard_normal((4, 2, 3)), requires_grad=True)

    def loss(logs: adjoint.Tensor) -> adjoint.Tensor:
        return F.ctc_loss(logs, adjoint.tensor([[1, 1], [2, 1]]), (4, 3), (2, 1), reduction="none")

    assert gradcheck(lambda x: loss(x.log_softmax(2)), x) and gradgradcheck(lambda x: loss(x.log_softmax(2)), x)
    leaf = x.detach().requires_grad_()
    loss(leaf).sum().backward()
    # the second sample has only three frames
    sums = leaf.exp().sum(2) - 1
    sums[3, 1] = 0
    np.testing.assert_allclose(leaf.grad.sum(2).numpy(), sums.detach().numpy(), atol=1e-12)


def test_ignored_places_count_for_nothing_and_those_without_weight_for_zero() -> None:
    logs = adjoint.tensor([[-np.inf, -1.0], [-2.0, -3.0]], requires_grad=True)
    target, weight = adjoint.tensor([0, 1]), adjoint.tensor([0.0, 1.0])
    assert F.nll_loss(logs, target, ignore_index=0).item() == 3.0
    with np.errstate(invalid="ignore"):
        assert np.isnan(F.nll_loss(logs, target, weight).item())
        nothing = F.nll_loss(logs, adjoint.tensor([0, 0]), weight)
        nothing.backward()
    assert np.isnan(nothing.item())
    np.testing.assert_array_equal(logs.grad.numpy(), [[np.nan, 0.0], [np.nan, 0.0]])


def test_weights_of_half_precision_are_added_up_in_another() -> None:
    x = adjoint.full((2000, 2), -2.0, dtype=adjoint.bfloat16, requires_grad=True)
    weight, target = adjoint.tensor([0.5, 0.5], dtype=adjoint.bfloat16), adjoint.zeros(2000, dtype=adjoint.int64)
    loss = F.nll_loss(x, target, weight)
    loss.backward()
    assert loss == 2 and (x.grad[:, 0] == adjoint.tensor(-1 / 2000).to(x.dtype)).all()


@pytest.mark.parametrize("extra", [(), (2,), (2, 3)])
def test_linear_cross_entropy(extra: tuple[int, ...]) -> None:
    x, w, b = [adjoint.tensor(RNG.standard_normal(shape)) for shape in ((4, 3), (5, *extra, 3), (5, *extra))]
    logits = adjoint.einsum("ni,c...i->nc...", x, w) + b
    classes = adjoint.tensor(RNG.integers(0, 5, (4, *extra)))
    shares = adjoint.tensor(RNG.uniform(0, 1, (4, 5, *extra)))
    for target, options in (
        (classes, {"ignore_index": 2, "weight": adjoint.tensor(WEIGHT)}),
        (classes, {"label_smoothing": 0.2, "reduction": "none"}),
        (shares, {"reduction": "sum"}),
    ):
        result = F.linear_cross_entropy(x, w, target, linear_bias=b, **options)
        np.testing.assert_allclose(result.numpy(), F.cross_entropy(logits, target, **options).numpy())
    alone = F.linear_cross_entropy(x[0], w.reshape(-1, 3), classes.flatten()[0])
    assert alone.shape == ()


def test_ctc_target_that_is_too_long() -> None:
    logs = adjoint.zeros(2, 1, 3, requires_grad=True)
    target = adjoint.tensor([[1, 1]])
    infinite = F.ctc_loss(logs, target, (2,), (2,))
    infinite.backward()
    assert infinite.item() == np.inf and np.isnan(logs.grad.numpy()).all()
    logs.grad = None
    loss = F.ctc_loss(logs, target, (2,), (2,), zero_infinity=True)
    loss.backward()
    assert loss == 0
    np.testing.assert_array_equal(logs.grad.numpy(), 0)


# distances ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("p", "metric"), [(1, "cityblock"), (2, "euclidean"), (np.inf, "chebyshev"), (3, "minkowski")])
def test_distances(p: float, metric: str) -> None:
    options = {"p": 3} if metric == "minkowski" else {}
    np.testing.assert_allclose(F.pdist(adjoint.tensor(X), p).numpy(), distance.pdist(X, metric, **options))
    pairs = F.pairwise_distance(*tensors(X, Y), p=p, eps=0.0, keepdim=True).numpy()
    np.testing.assert_allclose(pairs[:, 0], np.linalg.norm(X - Y, ord=p, axis=1))
    unit = F.normalize(adjoint.tensor(X), p=p, dim=0).numpy()
    np.testing.assert_allclose(np.linalg.norm(unit, ord=p, axis=0), 1)


def test_cosine_similarity() -> None:
    result = F.cosine_similarity(adjoint.tensor(X[:, None]), adjoint.tensor(Y), dim=-1)
    np.testing.assert_allclose(result.numpy(), 1 - distance.cdist(X, Y, "cosine"))
    zero = adjoint.zeros(1, 3, requires_grad=True)
    F.cosine_similarity(zero, adjoint.ones(1, 3)).backward()
    np.testing.assert_allclose(zero.grad.numpy(), 3**-0.5 / 1e-8)


@pytest.mark.parametrize("function", [F.pdist, F.normalize])
def test_zero_vectors_have_finite_derivatives(function: Callable[[Any], Any]) -> None:
    x = adjoint.zeros(3, 2, requires_grad=True)
    (first,) = adjoint.autograd.grad(function(x).sum(), x, create_graph=True)
    (second,) = adjoint.autograd.grad(first.sum(), x)
    assert np.isfinite(first.detach().numpy()).all()
    assert np.isfinite(second.numpy()).all()


# errors -------------------------------------------------------------------------------------------------------------

ONES, LABEL = adjoint.ones(2, 2), adjoint.tensor([0, 1])
ERRORS = [
    (lambda: F.mse_loss(*tensors(X, Y), reduction="x"), ValueError, "x is not a valid value for reduction"),
    (lambda: F.mse_loss(*tensors(X, Y), weight=adjoint.ones(5)), ValueError, "must have the same size"),
    (lambda: F.smooth_l1_loss(*tensors(X, Y), beta=-1.0), RuntimeError, "negative values for beta"),
    (lambda: F.huber_loss(*tensors(X, Y), delta=0.0), RuntimeError, "non-positive values for delta"),
    (lambda: F.binary_cross_entropy(*tensors(X, Q)), RuntimeError, "should be between 0 and 1"),
    (lambda: F.binary_cross_entropy(*tensors(P, Q[0])), ValueError, "is deprecated. Please ensure"),
    (lambda: F.binary_cross_entropy_with_logits(*tensors(X, Q[0])), ValueError, "must be the same as input size"),
    (lambda: F.kl_div(*tensors(LABELS, LABELS), reduction="sum"), RuntimeError, "Integral inputs not supported"),
    (lambda: F.gaussian_nll_loss(*tensors(X, Y, -P)), ValueError, "var has negative entry/entries"),
    (lambda: F.gaussian_nll_loss(*tensors(X, Y, P[0])), ValueError, "var is of incorrect size"),
    (lambda: F.gaussian_nll_loss(ONES[0, 0], ONES[0, 0], ONES[0, :1]), ValueError, "var is of incorrect size"),
    (lambda: F.soft_margin_loss(ONES[:, :1], ONES), RuntimeError, r"shape \[2, 1\] doesn't match .* shape \[2, 2\]"),
    (lambda: F.nll_loss(*tensors(X, LABELS + 1)), IndexError, r"Target 5 is out of bounds\."),
    (lambda: F.nll_loss(*tensors(X, LABELS[:2])), ValueError, r"batch_size \(4\) to match target batch_size \(2\)"),
    (lambda: F.nll_loss(*tensors(X, LABELS.astype("i4"))), RuntimeError, "Long or Byte, but got Int"),
    (lambda: F.nll_loss(*tensors(X, LABELS, WEIGHT[:2])), RuntimeError, "all 5 classes or no classes"),
    (lambda: F.cross_entropy(*tensors(X, Q), ignore_index=1), RuntimeError, "ignore_index is not supported"),
    (lambda: F.cross_entropy(*tensors(X, LABELS), label_smoothing=2.0), RuntimeError, "label_smoothing must be"),
    (lambda: F.cosine_embedding_loss(*tensors(X, Y, ROWS[0])), RuntimeError, "0D target tensor expects 1D input"),
    (lambda: F.margin_ranking_loss(*tensors(X, Y, ROWS)), RuntimeError, "should have same dimension but got sizes"),
    (lambda: F.triplet_margin_loss(*tensors(X, Y, P), margin=0.0), ValueError, "margin must be greater than 0"),
    (lambda: F.multi_margin_loss(*tensors(X, LABELS), p=3), ValueError, "only p == 1 and p == 2 supported"),
    (lambda: F.multi_margin_loss(*tensors(X, LABELS + 1)), RuntimeError, "target out of range"),
    (lambda: F.multilabel_margin_loss(*tensors(X[0], LABELS)), RuntimeError, "inconsistent target size"),
    (lambda: F.ctc_loss(adjoint.zeros(2, 1, 3), adjoint.ones(1, 1), (3,), (1,)), RuntimeError, "at most 2, but got"),
    (lambda: F.ctc_loss(adjoint.zeros(2, 3), adjoint.ones(2), (2,), (1,)), RuntimeError, "size 1 at dimension 0, but"),
    (lambda: F.ctc_loss(adjoint.zeros(2, 1, 3), adjoint.tensor([[7]]), (2,), (1,)), RuntimeError, "from 0 to 2"),
    (
        lambda: F.linear_cross_entropy(ONES, ONES, LABEL, options=1),
        NotImplementedError,
        "options=1 is not supported: leave it out",
    ),
    (lambda: F.linear_cross_entropy(ONES[None], ONES, LABEL), RuntimeError, "input with dimensionality 1 or 2, got 3"),
    (lambda: F.linear_cross_entropy(ONES, ONES[0], LABEL), RuntimeError, "dimensionality at least 2, got 1"),
    (lambda: F.linear_cross_entropy(ONES[0], ONES[None], LABEL), RuntimeError, "requires batched input"),
    (lambda: F.linear_cross_entropy(ONES, ONES[:, :1], LABEL), RuntimeError, "got 2 and 1, respectively"),
    (lambda: F.linear_cross_entropy(ONES, ONES, LABEL, linear_bias=ONES), RuntimeError, "expected linear_bias shape"),
    (lambda: F.linear_cross_entropy(ONES, ONES, ONES, ignore_index=1), RuntimeError, "target contains probabilities"),
    (lambda: F.cosine_similarity(*tensors(LABELS, LABELS), dim=0), RuntimeError, "yet common dtype is Long"),
    (lambda: F.pdist(adjoint.tensor(X[0])), RuntimeError, "pdist only supports 2D tensors, got: 1D"),
]


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize(("call", "error", "message"), ERRORS)
def test_errors(call: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("average", [None, False, True])
@pytest.mark.parametrize("reduce", [None, False, True])
@pytest.mark.parametrize("name", ["multilabel_soft_margin_loss", "binary_cross_entropy_with_logits"])
def test_older_names_of_reductions_by_position(name, average, reduce):
    loss = getattr(adjoint.nn.functional, name)
    x, target = adjoint.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]]), adjoint.tensor([[1.0, 0, 1], [0, 1, 0]])
    reduction = "mean" if average is None and reduce is None else None
    reduction = reduction or ("none" if reduce is False else "sum" if average is False else "mean")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = loss(x, target, None, average, reduce)
        by_name = loss(x, target, size_average=average, reduce=reduce)
    expected = loss(x, target, None, None, None, reduction)
    assert result.tolist() == by_name.tolist() == expected.tolist() == loss(x, target, reduction=reduction).tolist()


def normal(*shape: int) -> adjoint.Tensor:
    return adjoint.tensor(np.random.default_rng(len(shape)).normal(size=shape))


@pytest.mark.filterwarnings("ignore:reduction. 'mean' divides")
def test_reductions_by_number() -> None:
    x, y = normal(3), adjoint.tensor([1.0, -1.0, 1.0], dtype=adjoint.float64)
    for number, kind in enumerate(("none", "mean", "sum")):
        pairs = [
            (adjoint.kl_div(x, y * y, number), F.kl_div(x, y * y, reduction=kind)),
            (adjoint.hinge_embedding_loss(x, y, 0.5, number), F.hinge_embedding_loss(x, y, 0.5, reduction=kind)),
            (
                adjoint.binary_cross_entropy_with_logits(x, y, None, None, number),
                F.binary_cross_entropy_with_logits(x, y, reduction=kind),
            ),
            (
                adjoint.margin_ranking_loss(x, 2 * x, y, 0.1, number),
                F.margin_ranking_loss(x, 2 * x, y, 0.1, reduction=kind),
            ),
            (
                adjoint.poisson_nll_loss(x, y * y, True, False, 1e-8, number),
                F.poisson_nll_loss(x, y * y, reduction=kind),
            ),
        ]
        rows = normal(2, 3)
        flags = adjoint.tensor([1, -1])
        pairs += [
            (
                adjoint.cosine_embedding_loss(rows, rows + 1, flags, 0.1, number),
                F.cosine_embedding_loss(rows, rows + 1, flags, 0.1, reduction=kind),
            ),
            (
                adjoint.triplet_margin_loss(rows, rows + 1, rows - 1, 1.0, 2.0, 1e-6, False, number),
                F.triplet_margin_loss(rows, rows + 1, rows - 1, reduction=kind),
            ),
        ]
        spectra = F.log_softmax(normal(4, 1, 3), 2)
        targets = adjoint.tensor([[1, 2]])
        pairs.append(
            (
                adjoint.ctc_loss(spectra, targets, (4,), (2,), 0, number),
                F.ctc_loss(spectra, targets, (4,), (2,), reduction=kind),
            )
        )
        for actual, expected in pairs:
            np.testing.assert_array_equal(actual.numpy(), expected.numpy())
    assert adjoint.hinge_embedding_loss(x, y).shape == x.shape  # the default is no reduction
    with pytest.raises(TypeError, match=r"kl_div\(\): argument 'reduction' must be int, not str"):
        adjoint.kl_div(x, y, "mean")
    with pytest.raises(ValueError, match="3 is not a valid value for reduction"):
        adjoint.kl_div(x, y, 3)


def test_ctc_loss_of_torch_is_not_reduced_unless_asked() -> None:
    spectra = adjoint.zeros(4, 3, 5).log_softmax(2)
    arguments = (spectra, adjoint.ones(3, 1, dtype=adjoint.int64), (4, 4, 4), (1, 1, 1))
    assert adjoint.ctc_loss(*arguments).shape == (3,) and F.ctc_loss(*arguments).shape == ()


def test_margins_of_integer_losses() -> None:
    x, y, signs = adjoint.tensor([3, -2, 5]), adjoint.tensor([1, 2, 2]), adjoint.tensor([1, -1, 1])
    hinge = F.hinge_embedding_loss(x, signs, margin=0.5, reduction="none")
    assert hinge.tolist() == [3, 2, 5] and hinge.dtype is adjoint.int64
    ranking = F.margin_ranking_loss(x, y, signs, margin=5, reduction="none")
    assert ranking.tolist() == [3.0, 1.0, 2.0] and ranking.dtype is adjoint.float32


#: For (input, target) = (0-d double, single), (single, 0-d double), (0-d single, double), (double, 0-d single): 1 if
#: PyTorch's result is double. Some losses expand both tensors first, and some use the input's type.
OF_NUMBERS = {
    "kl_div": "0011", "poisson_nll_loss": "0011", "l1_loss": "1111", "mse_loss": "1111", "smooth_l1_loss": "1111",
    "huber_loss": "1001", "hinge_embedding_loss": "1001",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", OF_NUMBERS)
def test_dtype_beside_a_number(name: str, reduction: str) -> None:
    single, double = adjoint.float32, adjoint.float64
    matrix, number = adjoint.rand(2, 2), adjoint.tensor(0.5)
    pairs = [(number.to(double), matrix), (matrix, number.to(double))]
    pairs += [(number, matrix.to(double)), (matrix.to(double), number)]
    for is_double, (x, y) in zip(OF_NUMBERS[name], pairs, strict=True):
        x.requires_grad_()
        loss = getattr(F, name)(x, y, reduction=reduction)
        assert loss.dtype is (double if is_double == "1" else single)
        (gradient,) = adjoint.autograd.grad(loss.sum(), x)
        assert gradient.dtype is x.dtype and gradient.shape == x.shape
        x.requires_grad_(False)


def test_blocks_and_numbers() -> None:
    assert adjoint.block_diag(adjoint.ones(2, 2), adjoint.tensor(1.0, dtype=adjoint.float64)).dtype is adjoint.float32
    assert adjoint.block_diag(adjoint.ones(2), adjoint.ones(2, dtype=adjoint.float64)).dtype is adjoint.float64
    assert adjoint.block_diag(adjoint.ones(2, dtype=adjoint.int64), adjoint.tensor(1.0)).dtype is adjoint.float32


def test_a_mean_over_classes_needs_an_axis() -> None:
    with pytest.raises(IndexError, match="Dimension specified as -1 but tensor has no dimensions"):
        F.multilabel_soft_margin_loss(adjoint.tensor(0.5), adjoint.tensor(1.0))
