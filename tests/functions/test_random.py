"""Random numbers in tensors, and random numbers of distributions whose parameters are tensors."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from scipy import special, stats

import adjoint

N = 20_000

#: By method: arguments, and SciPy's distribution of the same numbers.
CONTINUOUS = {
    "uniform_": ((-1.0, 2.0), stats.uniform(-1.0, 3.0)),
    "normal_": ((1.0, 0.5), stats.norm(1.0, 0.5)),
    "exponential_": ((2.0,), stats.expon(scale=0.5)),
    "cauchy_": ((1.0, 2.0), stats.cauchy(1.0, 2.0)),
    "log_normal_": ((0.5, 0.25), stats.lognorm(0.25, scale=math.exp(0.5))),
}


@pytest.fixture(autouse=True)
def _seed():
    adjoint.manual_seed(0)


@pytest.mark.parametrize("kind", [adjoint.float32, adjoint.float64])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_distributions(name, kind):
    arguments, expected = CONTINUOUS[name]
    x = adjoint.empty(N, dtype=kind)
    assert getattr(x, name)(*arguments) is x
    assert stats.kstest(x.numpy(), expected.cdf).pvalue > 1e-3


def test_counts_of_trials():
    x = adjoint.empty(N).geometric_(0.25)
    assert x.min().item() == 1.0 and x.mean().item() == pytest.approx(4.0, rel=0.05)
    assert adjoint.empty(3, dtype=adjoint.int64).geometric_(0.5).dtype is adjoint.int64


def test_ones_and_zeros():
    assert adjoint.empty(N).bernoulli_(0.25).mean().item() == pytest.approx(0.25, abs=0.02)
    assert adjoint.empty(2, dtype=adjoint.bool).bernoulli_(1.0).tolist() == [True, True]
    chances = adjoint.tensor([0.0, 1.0])
    assert adjoint.empty(3, 2, dtype=adjoint.int64).bernoulli_(chances).tolist() == [[0, 1]] * 3
    assert adjoint.bernoulli(chances).tolist() == [0.0, 1.0] and adjoint.bernoulli(chances, 1.0).tolist() == [1.0, 1.0]
    out = adjoint.empty(2)
    assert adjoint.bernoulli(chances, out=out) is out and out.tolist() == [0.0, 1.0]


def test_integers():
    x = adjoint.empty(1000)
    assert sorted(x.random_(2, 5).unique().tolist()) == [2.0, 3.0, 4.0]
    assert sorted(x.random_(2).unique().tolist()) == [0.0, 1.0]
    assert sorted(x.random_(**{"from": 1, "to": 3}).unique().tolist()) == [1.0, 2.0]
    assert x.random_().max().item() <= 2**24 and x.max().item() > 2**20
    assert adjoint.empty(1000, dtype=adjoint.bfloat16).random_().max().item() <= 2**8
    assert adjoint.empty(1000, dtype=adjoint.uint8).random_().max().item() > 200
    assert adjoint.empty(100, dtype=adjoint.bool).random_().any()
    assert sorted(adjoint.randint_like(x, 3, 5).unique().tolist()) == [3.0, 4.0]


def test_rates():
    sample = adjoint.poisson(adjoint.full((N,), 3.0))
    assert sample.mean().item() == pytest.approx(3.0, rel=0.05) and sample.var().item() == pytest.approx(3.0, rel=0.05)
    assert adjoint.poisson(adjoint.zeros(2, dtype=adjoint.bfloat16)).tolist() == [0.0, 0.0]
    sample = adjoint.binomial(adjoint.full((N, 1), 4.0), adjoint.tensor([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(sample.mean(0).numpy(), [0.0, 2.0, 4.0], atol=0.05)


def test_normal():
    mean, std = adjoint.tensor([1.0, 2.0]), adjoint.tensor([[0.0], [0.0]])
    assert adjoint.normal(mean, std).tolist() == [[1.0, 2.0], [1.0, 2.0]]
    assert adjoint.normal(mean, 0.0).tolist() == [1.0, 2.0] and adjoint.normal(3.0, adjoint.zeros(2)).tolist() == [
        3.0,
        3.0,
    ]
    sample = adjoint.normal(1.0, 2.0, (N,), dtype=adjoint.float64)
    assert sample.dtype is adjoint.float64 and stats.kstest(sample.numpy(), stats.norm(1.0, 2.0).cdf).pvalue > 1e-3
    sample = adjoint.normal(adjoint.full((N,), 1.0), 2.0)
    assert stats.kstest(sample.numpy(), stats.norm(1.0, 2.0).cdf).pvalue > 1e-3


def test_multinomial():
    weights = adjoint.tensor([[0.0, 1.0, 3.0], [2.0, 0.0, 0.0]])
    sample = adjoint.multinomial(weights, N, replacement=True)
    assert sample.dtype is adjoint.int64 and sample.shape == (2, N)
    shares = adjoint.bincount(sample[0], minlength=3).numpy() / N
    np.testing.assert_allclose(shares, [0.0, 0.25, 0.75], atol=0.02)
    assert (sample[1] == 0).all()
    for _ in range(20):
        assert sorted(adjoint.multinomial(weights[0], 2).tolist()) == [1, 2]
    firsts = adjoint.stack([adjoint.multinomial(weights[0], 1) for _ in range(2000)]).flatten()
    assert (firsts == 2).double().mean().item() == pytest.approx(0.75, abs=0.04)


# gradients ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draw", "node"),
    [
        (lambda t: t.uniform_(), "UniformBackward0"),
        (lambda t: t.normal_(), "NormalBackward0"),
        (lambda t: t.bernoulli_(), "BernoulliBackward2"),
        (lambda t: t.exponential_(), "ExponentialBackward0"),
        (lambda t: t.geometric_(0.5), "GeometricBackward0"),
        (adjoint.bernoulli, "BernoulliBackward0"),
        (adjoint.poisson, "PoissonBackward0"),
        (lambda t: adjoint.normal(t, t), "NormalBackward3"),
        (lambda t: adjoint.normal(t, 1.0), "NormalBackward1"),
        (lambda t: adjoint.normal(1.0, t), "NormalBackward2"),
    ],
)
def test_what_is_overwritten_and_parameters_get_zeros(draw, node):
    x = adjoint.full((3,), 0.25, requires_grad=True)
    y = draw(x * 2)
    assert y.grad_fn.name() == node
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_a_leaf_that_needs_a_gradient_is_not_overwritten():
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        adjoint.zeros(2, requires_grad=True).uniform_()


# generators ---------------------------------------------------------------------------------------------------------


def test_generators_repeat_their_numbers():
    g = adjoint.Generator().manual_seed(3)
    state = g.get_state()
    assert state.dtype is adjoint.uint8
    first = [adjoint.empty(3).uniform_(generator=g), adjoint.normal(0.0, 1.0, (2,), generator=g)]
    assert g.set_state(state) is g
    again = [adjoint.empty(3).uniform_(generator=g), adjoint.normal(0.0, 1.0, (2,), generator=g)]
    assert all(adjoint.equal(a, b) for a, b in zip(first, again, strict=True))
    assert adjoint.rand_like(first[0], generator=adjoint.Generator()).shape == (3,)


def test_the_default_generator():
    assert adjoint.manual_seed(3) is adjoint.default_generator is adjoint.random.default_generator
    state = adjoint.get_rng_state()
    with adjoint.random.fork_rng():
        first = adjoint.rand(2)
    assert adjoint.equal(adjoint.rand(2), first)
    adjoint.set_rng_state(state)
    assert adjoint.equal(adjoint.rand(2), first)
    with adjoint.random.fork_rng(enabled=False):
        adjoint.rand(2)
    assert not adjoint.equal(adjoint.get_rng_state(), state)
    with pytest.raises(TypeError, match=r"expected an adjoint\.ByteTensor, but got list"):
        adjoint.set_rng_state([1])


# vmap ---------------------------------------------------------------------------------------------------------------


def test_members_of_a_batch():
    rows = adjoint.full((4, 3), 0.5)
    for draw in (lambda t: t.clone().normal_(), lambda t: adjoint.normal(t, 1.0), lambda t: adjoint.poisson(t * 100)):
        different = adjoint.vmap(draw, randomness="different")(rows)
        assert different.shape == (4, 3) and len({tuple(row) for row in different.tolist()}) == 4
        with pytest.raises(RuntimeError, match="called random operation while in randomness error mode"):
            adjoint.vmap(draw)(rows)
    same = adjoint.vmap(lambda t: t.clone().normal_(), randomness="same")(rows)
    assert len({tuple(row) for row in same.tolist()}) == 1
    picked = adjoint.vmap(lambda w: adjoint.multinomial(w, 2), randomness="different")(rows)
    assert picked.shape == (4, 2) and picked.max().item() <= 2
    with pytest.raises(RuntimeError, match="does not currently support same randomness with a batched tensor"):
        adjoint.vmap(adjoint.poisson, randomness="same")(rows)
    with pytest.raises(RuntimeError, match="Cannot ask for different inplace randomness on an unbatched tensor"):
        adjoint.vmap(lambda t: t + adjoint.zeros(3).uniform_(), randomness="different")(rows)


# refused arguments ---------------------------------------------------------------------------------------------------

X, WHOLE, COMPLEX = adjoint.zeros(3), adjoint.zeros(3, dtype=adjoint.int64), adjoint.zeros(3, dtype=adjoint.complex64)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: X.uniform_(3, 2),
            RuntimeError,
            "uniform_ expects to return a [from, to) range, but found from=3 > to=2",
        ),
        (lambda: X.uniform_(begin=1), TypeError, "uniform_() got an unexpected keyword argument 'begin'"),
        (lambda: WHOLE.uniform_(), NotImplementedError, "\"check_uniform_bounds\" not implemented for 'Long'"),
        (lambda: X.normal_(2, -1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        (lambda: X.random_(5, 5), RuntimeError, "random_ expects 'from' to be less than 'to', but got from=5 >= to=5"),
        (lambda: X.bool().random_(5), RuntimeError, "to - 1 is out of bounds for bool"),
        (lambda: COMPLEX.random_(), NotImplementedError, "\"random_kernel_cpu\" not implemented for 'ComplexFloat'"),
        (lambda: X.bernoulli_(1.5), RuntimeError, "bernoulli_ expects p to be in [0, 1], but got p=1.5"),
        (
            lambda: COMPLEX.bernoulli_(),
            NotImplementedError,
            "\"bernoulli_scalar_cpu_\" not implemented for 'ComplexFloat'",
        ),
        (lambda: X.exponential_(0), RuntimeError, "exponential_ expects lambda > 0.0, but found lambda=0"),
        (lambda: WHOLE.exponential_(), RuntimeError, "dtype must be a floating point but you specified Long"),
        (lambda: X.cauchy_(0, 0), RuntimeError, "cauchy_ expects sigma > 0.0, but found sigma=0"),
        (lambda: WHOLE.cauchy_(), RuntimeError, "dtype must be a floating point but you specified long int"),
        (lambda: X.geometric_(1.0), RuntimeError, "geometric_ expects p to be in (0, 1), but got p=1"),
        (lambda: X.bool().geometric_(0.5), NotImplementedError, "\"geometric_cpu\" not implemented for 'Bool'"),
        (lambda: X.log_normal_(1, -1), RuntimeError, "log_normal_ expects std > 0.0, but found std=-1"),
        (lambda: WHOLE.log_normal_(), NotImplementedError, "\"log_normal_cpu\" not implemented for 'Long'"),
        (
            lambda: adjoint.bernoulli(WHOLE),
            NotImplementedError,
            "\"bernoulli_tensor_cpu_p_\" not implemented for 'Long'",
        ),
        (
            lambda: adjoint.bernoulli(X.to(adjoint.complex64)),
            NotImplementedError,
            "\"bernoulli_tensor_cpu_self_\" not implemented for 'ComplexFloat'",
        ),
        (lambda: adjoint.poisson(X - 1), RuntimeError, "invalid Poisson rate, expected rate to be non-negative"),
        (lambda: adjoint.poisson(WHOLE), NotImplementedError, "\"poisson_cpu\" not implemented for 'Long'"),
        (lambda: adjoint.binomial(X, X + 2), RuntimeError, "binomial expects all elements of prob to be in [0, 1]"),
        (lambda: adjoint.binomial(X.long(), X), ValueError, "binomial only supports floating-point dtypes for count"),
        (lambda: adjoint.binomial(X, X.long()), ValueError, "dtypes for prob, got: Long"),
        (lambda: adjoint.normal(X, -1.0), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        (lambda: adjoint.normal(0.0, X - 1), RuntimeError, "normal expects all elements of std >= 0.0"),
        (lambda: adjoint.normal(0.0, 1.0), TypeError, "normal() takes tensors, or two numbers and a size"),
        (
            lambda: adjoint.multinomial(X, 1),
            RuntimeError,
            "invalid multinomial distribution (sum of probabilities <= 0)",
        ),
        (
            lambda: adjoint.multinomial(X - 1, 1),
            RuntimeError,
            "probability tensor contains either `inf`, `nan` or element < 0",
        ),
        (
            lambda: adjoint.multinomial(X + 1, 4),
            RuntimeError,
            "cannot sample n_sample > prob_dist.size(-1) samples without",
        ),
        (lambda: adjoint.multinomial(X + 1, 0), RuntimeError, "cannot sample n_sample <= 0 samples"),
        (lambda: adjoint.multinomial(adjoint.tensor(1.0), 1), RuntimeError, "prob_dist must be 1 or 2 dim"),
        (
            lambda: adjoint.multinomial(WHOLE, 1),
            RuntimeError,
            "multinomial only supports floating-point dtypes for input",
        ),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
    assert X.tolist() == [0.0, 0.0, 0.0]


def test_chances_get_zeros_too():
    x, p = [adjoint.tensor([0.25, 0.75], requires_grad=True) for _ in range(2)]
    y = x.clone().bernoulli_(p)
    assert set(y.tolist()) <= {0.0, 1.0}
    assert [g.tolist() for g in adjoint.autograd.grad(y.sum(), [x, p])] == [[0.0, 0.0]] * 2


@pytest.mark.parametrize(
    ("name", "draw"),
    [
        ("bernoulli", lambda p: adjoint.bernoulli(p, 0.5)),
        ("binomial", lambda p: adjoint.binomial(adjoint.ones(2), p)),
        ("histogram", lambda p: adjoint.histogram(p, 3).hist),
        ("histogram", lambda p: adjoint.histogram(adjoint.ones(2), 3, weight=p).bin_edges),
        ("histogramdd", lambda p: adjoint.histogramdd(p[:, None], [3]).bin_edges[0]),
    ],
)
def test_results_without_a_formula_say_so_in_the_backward_pass(name, draw):
    p = adjoint.tensor([0.25, 0.75], requires_grad=True)
    y = draw(p)
    assert y.requires_grad and not draw(p.detach()).requires_grad
    with adjoint.no_grad():
        assert not draw(p).requires_grad
    with pytest.raises(NotImplementedError, match=f"derivative for {name} is not implemented"):
        y.sum().backward()


def test_draws_into_out_have_no_history():
    p, out = adjoint.tensor([0.25, 0.75], requires_grad=True), adjoint.empty(2)
    for draw in (lambda: adjoint.bernoulli(p, out=out), lambda: adjoint.normal(p, p, out=out)):
        with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
            draw()
        with adjoint.no_grad():
            assert draw() is out


def test_gamma_draws_are_quantiles_that_follow_their_parameters():
    shapes = adjoint.full((20_000,), 2.5, dtype=adjoint.float32, requires_grad=True)
    sample = adjoint._standard_gamma(shapes)
    assert sample.dtype is adjoint.float32 and sample.min().item() > 0
    assert sample.mean().item() == pytest.approx(2.5, abs=0.05) and sample.var().item() == pytest.approx(2.5, abs=0.15)
    # the mean of x is a, and that of x^2 is a + a^2
    (slopes,) = adjoint.autograd.grad(sample.square().mean(), shapes)
    assert slopes.sum().item() == pytest.approx(1 + 2 * 2.5, rel=0.05)
    a = adjoint.tensor([0.3, 1.0, 7.0], dtype=adjoint.float64, requires_grad=True)
    x = adjoint._standard_gamma(a)
    u, step = special.gammainc(a.detach().numpy(), x.detach().numpy()), 1e-6
    (slope,) = adjoint.autograd.grad(x.sum(), a)
    ends = [special.gammaincinv(a.detach().numpy() + h, u) for h in (-step, step)]
    np.testing.assert_allclose(slope.numpy(), (ends[1] - ends[0]) / (2 * step), rtol=1e-5)
    with pytest.raises(NotImplementedError, match="\"gamma\" not implemented for 'Long'"):
        adjoint._standard_gamma(adjoint.tensor([1]))


def test_points_of_dirichlets_distribution_follow_their_parameters():
    parameters = adjoint.tensor([1.0, 2.0, 3.0], dtype=adjoint.float64, requires_grad=True)
    points = adjoint._sample_dirichlet(parameters.expand(5_000, 3))
    np.testing.assert_allclose(points.sum(-1).detach().numpy(), 1)
    np.testing.assert_allclose(points.mean(0).detach().numpy(), [1 / 6, 1 / 3, 1 / 2], atol=0.02)
    # the mean of the first is a / (a + b + c)
    (slope,) = adjoint.autograd.grad(points[:, 0].mean(), parameters)
    np.testing.assert_allclose(slope.numpy(), [5 / 36, -1 / 36, -1 / 36], atol=0.01)


def test_the_mean_of_normal_is_a_number() -> None:
    with pytest.raises(TypeError, match="must be float, not str"):
        adjoint.zeros(3).normal_("a")


@pytest.mark.parametrize("draw", ["exponential_", "cauchy_", "log_normal_", "geometric_", "normal_", "uniform_"])
def test_draws_in_half_precision(draw):
    x = getattr(adjoint.zeros(50, dtype=adjoint.float16), draw)(*((0.5,) if draw == "geometric_" else ()))
    assert x.dtype is adjoint.float16 and len(set(x.tolist())) > 1


def test_a_range_without_width():
    assert adjoint.zeros(3).uniform_(2.0, 2.0).tolist() == [2.0] * 3
    assert adjoint.Generator().device == adjoint.device("cpu")


def test_parts_of_complex_numbers_have_half_of_the_variance_each():
    x = adjoint.zeros(4000, dtype=adjoint.complex64).normal_(0.0, 10.0, generator=adjoint.Generator().manual_seed(1))
    for part in (x.real, x.imag):
        assert abs(part.std().item() / (10 / math.sqrt(2)) - 1) < 0.05


@pytest.mark.parametrize("seed", [-1, -(2**63)])
def test_negative_seeds_count_from_the_largest(seed):
    generators = [adjoint.Generator().manual_seed(each) for each in (seed, seed + 2**64)]
    first, second = (adjoint.rand(4, generator=generator).tolist() for generator in generators)
    assert first == second
    with pytest.raises((RuntimeError, ValueError), match="Overflow when unpacking long"):
        generators[0].manual_seed(-(2**63) - 1)
