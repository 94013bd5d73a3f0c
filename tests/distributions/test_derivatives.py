"""Derivatives of samples and densities agree with finite differences."""

import pytest
import scipy.stats as st

import adjoint
from adjoint import distributions as d
from adjoint.autograd import grad, gradcheck

T = lambda *values: adjoint.tensor(values, dtype=adjoint.float64, requires_grad=True)
STEP = 1e-5

IMPLICIT = {
    "Gamma": (lambda a: d.Gamma(a, adjoint.ones_like(a)), lambda x, a: st.gamma(a).cdf(x)),
    "Chi2": (lambda a: d.Chi2(a), lambda x, a: st.chi2(a).cdf(x)),
    "InverseGamma": (lambda a: d.InverseGamma(a, adjoint.ones_like(a)), lambda x, a: st.invgamma(a).cdf(x)),
}


@pytest.mark.parametrize("name", IMPLICIT)
@pytest.mark.parametrize("concentration", [0.3, 1.0, 4.0, 30.0])
def test_implicit_derivatives(name, concentration):
    """dx / da = -(dF / da) / p(x) for each sample, with the distribution function F and the density p."""
    adjoint.manual_seed(4)
    make, cdf = IMPLICIT[name]
    a = adjoint.full((6,), concentration, dtype=adjoint.float64, requires_grad=True)
    distribution = make(a)
    x = distribution.rsample()
    (slope,) = grad(x.sum(), a)
    step = 1e-5 * concentration
    points = x.detach().numpy()
    by_differences = (cdf(points, concentration + step) - cdf(points, concentration - step)) / (2 * step)
    density = make(a.detach()).log_prob(x.detach()).exp().numpy()
    assert slope.numpy() == pytest.approx(-by_differences / density, rel=1e-4)


@pytest.mark.parametrize(
    ("make", "mean", "parameters"),
    [
        (lambda a, b: d.Beta(a, b), lambda a, b: a / (a + b), T(1.5, 0.7)),
        (lambda a, b: d.Dirichlet(adjoint.stack([a, b])), lambda a, b: a / (a + b), T(1.5, 0.7)),
        (lambda a, b: d.Gamma(a, b), lambda a, b: a / b, T(1.5, 0.7)),
        (lambda a, b: d.StudentT(a + 4, b), lambda a, b: b, T(1.5, 0.7)),
        (lambda a, b: d.Weibull(a, b + 1), lambda a, b: a * adjoint.lgamma(1 + 1 / (b + 1)).exp(), T(1.5, 0.7)),
        (lambda a, b: d.Kumaraswamy(a, b), lambda a, b: d.Kumaraswamy(a, b).mean, T(1.5, 0.7)),
        (lambda a, b: d.Normal(a, b), lambda a, b: a, T(1.5, 0.7)),
    ],
)
def test_means_of_derivatives_are_derivatives_of_means(make, mean, parameters):
    adjoint.manual_seed(5)
    a, b = parameters
    samples = make(a, b).rsample((20000,))
    samples = samples[..., 0] if samples.dim() > 1 else samples
    result = grad(samples.mean(), parameters, retain_graph=True)[0]
    (expected,) = grad(mean(a, b), parameters, retain_graph=True)
    assert result.numpy() == pytest.approx(expected.numpy(), abs=0.06)


def test_samples_have_second_derivatives():
    adjoint.manual_seed(6)
    a = T(2.0)
    x = d.Gamma(a, adjoint.ones_like(a)).rsample()
    (first,) = grad(x.sum(), a, create_graph=True)
    (second,) = grad(first.sum(), a)
    slopes = []
    for shift in (-STEP, STEP):
        adjoint.manual_seed(6)
        neighbour = (a.detach() + shift).requires_grad_()
        slopes.append(grad(d.Gamma(neighbour, adjoint.ones_like(neighbour)).rsample().sum(), neighbour)[0].item())
    assert second.item() == pytest.approx((slopes[1] - slopes[0]) / (2 * STEP), rel=1e-4)


A, B = T(0.7, 2.5), T(1.5, 0.8)
DENSITIES = {
    "Beta": (lambda a, b: d.Beta(a, b), [0.2, 0.9]),
    "Cauchy": (lambda a, b: d.Cauchy(a, b), [0.2, 0.9]),
    "Gamma": (lambda a, b: d.Gamma(a, b), [0.2, 0.9]),
    "Gumbel": (lambda a, b: d.Gumbel(a, b), [0.2, 0.9]),
    "LogNormal": (lambda a, b: d.LogNormal(a, b), [0.2, 0.9]),
    "Normal": (lambda a, b: d.Normal(a, b), [0.2, 0.9]),
    "StudentT": (lambda a, b: d.StudentT(a, b, b), [0.2, 0.9]),
    "VonMises": (lambda a, b: d.VonMises(a, b), [0.2, 0.9]),
    "Weibull": (lambda a, b: d.Weibull(a, b), [0.2, 0.9]),
    "NegativeBinomial": (lambda a, b: d.NegativeBinomial(a, logits=b), [2.0, 0.0]),
    "Poisson": (lambda a, b: d.Poisson(a * b), [2.0, 0.0]),
    "MultivariateNormal": (lambda a, b: d.MultivariateNormal(a, adjoint.diag(b) + 0.1), [0.2, 0.9]),
    "Dirichlet": (lambda a, b: d.Dirichlet(a * b), [0.3, 0.7]),
    "LowRank": (lambda a, b: d.LowRankMultivariateNormal(a, a.unsqueeze(-1), b), [0.3, 0.7]),
}


@pytest.mark.parametrize("name", DENSITIES)
def test_densities_have_derivatives(name):
    make, value = DENSITIES[name]
    x = adjoint.tensor(value, dtype=adjoint.float64)
    assert gradcheck(lambda a, b: make(a, b).log_prob(x), (A, B))


@pytest.mark.parametrize("name", ["Beta", "Gamma", "StudentT"])
def test_distribution_functions_have_derivatives(name):
    make, value = DENSITIES[name]
    x = T(*value)
    assert gradcheck(lambda a, b, x: make(a, b).cdf(x), (A, B, x))


def test_straight_through_samples():
    logits = T(0.3, 1.0, -0.5)
    distribution = d.OneHotCategoricalStraightThrough(logits=logits)
    samples = distribution.rsample()
    assert sorted(samples.tolist()) == pytest.approx([0, 0, 1])
    (slope,) = grad(samples[0], logits)
    (expected,) = grad(adjoint.softmax(logits, 0)[0], logits)
    assert slope.tolist() == pytest.approx(expected.tolist())
