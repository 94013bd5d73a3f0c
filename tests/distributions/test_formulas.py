"""Densities, distribution functions, moments and entropies are those of SciPy."""

import math

import numpy as np
import pytest
import scipy.stats as st

import adjoint
from adjoint import distributions as d

T = lambda *values: adjoint.tensor(values, dtype=adjoint.float64)
A, B = T(0.7, 2.5), T(1.5, 0.8)
a, b = A.numpy(), B.numpy()

#: A distribution, and SciPy's distribution with the same parameters.
CONTINUOUS = {
    "Beta": (d.Beta(A, B), st.beta(a, b)),
    "Cauchy": (d.Cauchy(A, B), st.cauchy(a, b)),
    "Chi2": (d.Chi2(A), st.chi2(a)),
    "Exponential": (d.Exponential(A), st.expon(scale=1 / a)),
    "FisherSnedecor": (d.FisherSnedecor(A, B + 6), st.f(a, b + 6)),
    "Gamma": (d.Gamma(A, B), st.gamma(a, scale=1 / b)),
    "GeneralizedPareto": (d.GeneralizedPareto(A, B, T(0.2, -0.3)), st.genpareto([0.2, -0.3], a, b)),
    "Gumbel": (d.Gumbel(A, B), st.gumbel_r(a, b)),
    "HalfCauchy": (d.HalfCauchy(B), st.halfcauchy(scale=b)),
    "HalfNormal": (d.HalfNormal(B), st.halfnorm(scale=b)),
    "InverseGamma": (d.InverseGamma(A + 3, B), st.invgamma(a + 3, scale=b)),
    "Laplace": (d.Laplace(A, B), st.laplace(a, b)),
    "LogNormal": (d.LogNormal(A, B), st.lognorm(b, scale=np.exp(a))),
    "Normal": (d.Normal(A, B), st.norm(a, b)),
    "Pareto": (d.Pareto(B, A + 3), st.pareto(a + 3, scale=b)),
    "StudentT": (d.StudentT(A + 3, A, B), st.t(a + 3, a, b)),
    "Uniform": (d.Uniform(A, A + B), st.uniform(a, b)),
    "VonMises": (d.VonMises(A - 1, B), st.vonmises(b, a - 1)),
    "Weibull": (d.Weibull(B, A), st.weibull_min(a, scale=b)),
}
DISCRETE = {
    "Bernoulli": (d.Bernoulli(T(0.3, 0.8)), st.bernoulli([0.3, 0.8])),
    "Binomial": (d.Binomial(5, T(0.3, 0.8)), st.binom(5, [0.3, 0.8])),
    "Geometric": (d.Geometric(T(0.3, 0.8)), st.geom([0.3, 0.8], loc=-1)),
    "NegativeBinomial": (d.NegativeBinomial(T(3.0, 2.5), T(0.3, 0.8)), st.nbinom([3.0, 2.5], [0.7, 0.2])),
    "Poisson": (d.Poisson(A), st.poisson(a)),
}
BOTH = CONTINUOUS | DISCRETE


def points_in_support(name):
    return CONTINUOUS[name][1].ppf([[0.2, 0.3], [0.7, 0.9]])


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities(name):
    distribution, reference = CONTINUOUS[name]
    x = points_in_support(name)
    assert distribution.log_prob(adjoint.tensor(x)).numpy() == pytest.approx(reference.logpdf(x), rel=1e-10)


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities(name):
    distribution, reference = DISCRETE[name]
    x = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert distribution.log_prob(adjoint.tensor(x)).numpy() == pytest.approx(reference.logpmf(x), rel=1e-6)


@pytest.mark.parametrize("name", sorted(set(CONTINUOUS) - {"VonMises"}))
def test_distribution_functions(name):
    distribution, reference = CONTINUOUS[name]
    x = points_in_support(name)
    assert distribution.cdf(adjoint.tensor(x)).numpy() == pytest.approx(reference.cdf(x), rel=1e-9)
    if name != "FisherSnedecor":
        quantiles = distribution.icdf(T(0.2, 0.7)).numpy()
        assert quantiles == pytest.approx(reference.ppf([0.2, 0.7]), rel=1e-9)


@pytest.mark.parametrize("name", sorted(set(BOTH) - {"VonMises", "Cauchy", "HalfCauchy"}))
def test_moments(name):
    distribution, reference = BOTH[name]
    assert distribution.mean.numpy() == pytest.approx(reference.mean(), rel=1e-6)
    assert distribution.variance.numpy() == pytest.approx(reference.var(), rel=1e-6)
    assert distribution.stddev.numpy() == pytest.approx(reference.std(), rel=1e-6)


@pytest.mark.parametrize("name", sorted(set(CONTINUOUS) - {"VonMises", "FisherSnedecor"}))
def test_entropies(name):
    distribution, reference = CONTINUOUS[name]
    assert distribution.entropy().numpy() == pytest.approx(reference.entropy(), rel=1e-6)


@pytest.mark.parametrize(
    "name", sorted({"Cauchy", "Gumbel", "HalfNormal", "InverseGamma", "Laplace", "LogNormal", "Normal", "StudentT"})
)
def test_modes_have_the_largest_density(name):
    distribution, _ = CONTINUOUS[name]
    others = distribution.log_prob(adjoint.tensor(points_in_support(name)))
    assert bool((distribution.log_prob(distribution.mode) >= others - 1e-12).all())


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
@pytest.mark.parametrize("concentration", [-1.4, -1e-4, 0.0, 1e-9, 2e-3, 0.7, 1.0])
def test_concentrations_near_and_far_from_an_exponential_distribution(concentration):
    c = T(concentration).requires_grad_()
    x, q = T(1.3, 1.7), T(0.2, 0.9)
    assert adjoint.autograd.gradcheck(lambda c: d.GeneralizedPareto(1.0, 1.5, c).log_prob(x), c)
    assert adjoint.autograd.gradcheck(lambda c: d.GeneralizedPareto(1.0, 1.5, c).icdf(q), c)
    distribution, reference = d.GeneralizedPareto(1.0, 1.5, c.detach()), st.genpareto(concentration, 1.0, 1.5)
    assert distribution.log_survival_function(x).numpy() == pytest.approx(reference.logsf(x.numpy()), rel=1e-9)
    assert distribution.log_cdf(x).numpy() == pytest.approx(reference.logcdf(x.numpy()), rel=1e-9)
    assert distribution.icdf(T(0.0, 1.0)).numpy() == pytest.approx(reference.ppf([0.0, 1.0]))
    assert distribution.mean.numpy() == pytest.approx(reference.mean())


@pytest.mark.parametrize(
    ("distribution", "ends", "expected"),
    [
        (d.LogNormal(A, B), (0.0, math.inf), (0.0, 1.0)),
        (d.Weibull(A, B), (0.0, math.inf), (0.0, 1.0)),
        (d.InverseGamma(A, B), (0.0, math.inf), (0.0, 1.0)),
        (d.Kumaraswamy(A, B), (0.0, 1.0), (0.0, 1.0)),
        (d.TransformedDistribution(d.Normal(A, B), d.transforms.ExpTransform().inv.inv), (0.0,), (0.0,)),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning")
def test_distribution_functions_at_the_ends_of_the_support(distribution, ends, expected):
    for end, value in zip(ends, expected, strict=True):
        assert distribution.cdf(T(end)).tolist() == [value, value]


@pytest.mark.parametrize("name", BOTH)
def test_samples_are_distributed_so(name):
    adjoint.manual_seed(3)
    distribution, reference = BOTH[name]
    samples = distribution.sample((4000,))
    assert tuple(samples.shape) == (4000, 2)
    assert not samples.requires_grad
    levels = np.quantile(samples.numpy(), [0.25, 0.5, 0.9], axis=0)
    if name in DISCRETE:
        assert samples.mean(0).numpy() == pytest.approx(reference.mean(), rel=0.1)
    elif name == "VonMises":
        assert samples.sin().mean(0).numpy() == pytest.approx(_mean_sine(distribution), abs=0.05)
    else:
        assert np.abs(reference.cdf(levels) - np.array([[0.25], [0.5], [0.9]])).max() < 0.03


def _mean_sine(distribution):
    x = np.linspace(-np.pi, np.pi, 4001)[:, None]
    density = distribution.log_prob(adjoint.tensor(x)).exp().numpy()
    return (density * np.sin(x)).sum(0) * (x[1, 0] - x[0, 0])


@pytest.mark.parametrize(
    ("distribution", "reference"),
    [
        (
            d.MultivariateNormal(T(0.1, 0.2), T(2.0, 0.5, 0.5, 1.0).view(2, 2)),
            st.multivariate_normal([0.1, 0.2], [[2, 0.5], [0.5, 1]]),
        ),
        (
            d.MultivariateNormal(T(0.1, 0.2), precision_matrix=adjoint.linalg.inv(T(2.0, 0.5, 0.5, 1.0).view(2, 2))),
            st.multivariate_normal([0.1, 0.2], [[2, 0.5], [0.5, 1]]),
        ),
        (
            d.LowRankMultivariateNormal(T(0.1, 0.2), T(1.0, 2.0).view(2, 1), T(0.5, 0.7)),
            st.multivariate_normal([0.1, 0.2], [[1.5, 2], [2, 4.7]]),
        ),
        (d.Dirichlet(T(0.7, 1.3)), st.dirichlet([0.7, 1.3])),
    ],
)
def test_vectors(distribution, reference):
    x = np.array([0.3, 0.7])
    assert distribution.log_prob(adjoint.tensor(x)).item() == pytest.approx(reference.logpdf(x))
    assert distribution.entropy().item() == pytest.approx(reference.entropy())
    adjoint.manual_seed(1)
    samples = distribution.sample((6000,))
    assert samples.mean(0).numpy() == pytest.approx(distribution.mean.numpy(), abs=0.1)
    assert samples.var(0).numpy() == pytest.approx(distribution.variance.numpy(), rel=0.1)


def test_matrices():
    scale = np.array([[2.0, 0.5], [0.5, 1.0]])
    distribution, reference = d.Wishart(T(3.5)[0], adjoint.tensor(scale)), st.wishart(3.5, scale)
    x = scale * 1.3 + 0.1 * np.eye(2)
    assert distribution.log_prob(adjoint.tensor(x)).item() == pytest.approx(reference.logpdf(x))
    assert distribution.entropy().item() == pytest.approx(reference.entropy())
    adjoint.manual_seed(1)
    assert distribution.rsample((6000,)).mean(0).numpy() == pytest.approx(3.5 * scale, rel=0.08)
    factors = d.LKJCholesky(3, T(1.0)[0]).sample((5,))
    assert bool(d.constraints.corr_cholesky.check(factors).all())
    # the correlations of 2 x 2 matrices with concentration 1 are uniform in (-1, 1)
    assert d.LKJCholesky(2, T(1.0)[0]).log_prob(T(1.0, 0.0, 0.6, 0.8).view(2, 2)).exp().item() == pytest.approx(0.5)


def test_categories():
    probs = T(0.2, 0.5, 0.3)
    index = d.Categorical(probs)
    assert index.log_prob(adjoint.tensor([0, 2])).exp().tolist() == pytest.approx([0.2, 0.3])
    assert index.entropy().item() == pytest.approx(st.entropy([0.2, 0.5, 0.3]))
    assert index.mode.item() == 1 and index.enumerate_support().tolist() == [0, 1, 2]
    adjoint.manual_seed(2)
    counts = adjoint.bincount(index.sample((4000,)))
    assert (counts / 4000).tolist() == pytest.approx([0.2, 0.5, 0.3], abs=0.03)
    one_hot = d.OneHotCategorical(probs)
    assert one_hot.log_prob(T(0.0, 1.0, 0.0)).exp().item() == pytest.approx(0.5)
    assert one_hot.sample((5,)).sum(-1).tolist() == [1.0] * 5
    counted = d.Multinomial(4, probs)
    assert counted.log_prob(T(1.0, 2.0, 1.0)).item() == pytest.approx(
        st.multinomial(4, [0.2, 0.5, 0.3]).logpmf([1, 2, 1])
    )
    assert counted.entropy().item() == pytest.approx(st.multinomial(4, [0.2, 0.5, 0.3]).entropy())
    assert counted.sample((3,)).sum(-1).tolist() == [4.0] * 3


def test_mixtures():
    weights, parts = d.Categorical(T(0.25, 0.75)), d.Normal(T(-1.0, 2.0), T(0.5, 1.0))
    mixture = d.MixtureSameFamily(weights, parts)
    x = np.array([-1.0, 0.3, 2.0])
    density = 0.25 * st.norm(-1, 0.5).pdf(x) + 0.75 * st.norm(2, 1).pdf(x)
    assert mixture.log_prob(adjoint.tensor(x)).exp().numpy() == pytest.approx(density)
    levels = 0.25 * st.norm(-1, 0.5).cdf(x) + 0.75 * st.norm(2, 1).cdf(x)
    assert mixture.cdf(adjoint.tensor(x)).numpy() == pytest.approx(levels)
    adjoint.manual_seed(0)
    samples = mixture.sample((8000,))
    assert samples.mean().item() == pytest.approx(mixture.mean.item(), abs=0.06)
    assert samples.var().item() == pytest.approx(mixture.variance.item(), rel=0.06)
    assert mixture.expand((2,)).sample((3,)).shape == (3, 2)


@pytest.mark.parametrize(
    "distribution",
    [
        d.ContinuousBernoulli(T(0.3, 0.5)),
        d.Kumaraswamy(T(1.5, 3.0), T(1.2, 1.7)),
        d.RelaxedBernoulli(T(0.7)[0], T(0.3, 0.8)),
    ],
    ids=repr,
)
def test_densities_over_the_unit_interval_sum_to_one(distribution):
    n = 200_000
    x = (adjoint.arange(n, dtype=adjoint.float64) + 0.5).unsqueeze(-1) / n
    density = distribution.log_prob(x).exp()
    assert (density.sum(0) / n).tolist() == pytest.approx([1.0, 1.0], rel=1e-3)
    if not isinstance(distribution, d.RelaxedBernoulli):
        assert ((density * x).sum(0) / n).tolist() == pytest.approx(distribution.mean.tolist(), rel=1e-4)
        assert (-(density * density.log()).sum(0) / n).tolist() == pytest.approx(
            distribution.entropy().tolist(), rel=1e-3, abs=1e-6
        )
        assert distribution.cdf(distribution.icdf(T(0.2, 0.7))).tolist() == pytest.approx([0.2, 0.7])


def test_points_of_the_simplex():
    for distribution in (
        d.RelaxedOneHotCategorical(T(0.5)[0], T(0.2, 0.5, 0.3)),
        d.LogisticNormal(T(0.0, 0.0), T(1.0, 1.0)),
    ):
        assert distribution.rsample((4,)).sum(-1).tolist() == pytest.approx([1.0] * 4)
    # with two parts, a sample is the logistic function of a normal number; that gives the density
    x, distribution = 0.3, d.LogisticNormal(T(0.2), T(1.5))
    reference = st.norm(0.2, 1.5).pdf(math.log(x / (1 - x))) / (x * (1 - x))
    assert distribution.log_prob(T(x, 1 - x)).exp().item() == pytest.approx(reference)
