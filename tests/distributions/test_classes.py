"""Shapes, expansion, checks of arguments, text, transforms, constraints and divergences."""

import contextlib
import copy
import pickle
import re

import numpy as np
import pytest

import adjoint
from adjoint import distributions as d
from support import stand_in_cupy

T = lambda *values: adjoint.tensor(values, dtype=adjoint.float64)
c = d.constraints


def every():
    a, b, p = T(1.5, 2.5), T(1.2, 0.8), T(0.3, 0.6)
    rows = adjoint.tensor([[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]], dtype=adjoint.float64)
    two = ("Beta Cauchy FisherSnedecor Gamma Gumbel InverseGamma Kumaraswamy Laplace LogNormal Normal Pareto StudentT "
           "VonMises Weibull")  # fmt: skip
    yield from (getattr(d, name)(a, b) for name in two.split())
    yield from (getattr(d, name)(a) for name in ["Chi2", "Exponential", "HalfCauchy", "HalfNormal", "Poisson"])
    yield from (getattr(d, name)(p) for name in ["Bernoulli", "ContinuousBernoulli", "Geometric"])
    yield d.GeneralizedPareto(a, b, p - 0.4)
    yield from (d.Uniform(a, a + b), d.Binomial(4, p), d.NegativeBinomial(a, p), d.Multinomial(4, rows))
    yield from (getattr(d, name)(rows) for name in ["Categorical", "OneHotCategorical", "Dirichlet"])
    yield from (d.RelaxedBernoulli(T(0.5)[0], p), d.RelaxedOneHotCategorical(T(0.5)[0], rows))
    yield from (d.LogisticNormal(a, b), d.LKJCholesky(3, a), d.Wishart(a + 2, adjoint.eye(2, dtype=adjoint.float64)))
    yield d.MultivariateNormal(adjoint.zeros(2, 2, dtype=adjoint.float64), adjoint.eye(2, dtype=adjoint.float64))
    yield d.LowRankMultivariateNormal(adjoint.zeros(2, 2, dtype=adjoint.float64), rows.mT[:2, :1] + 1, b)
    yield d.Independent(d.Normal(a, b), 1)
    yield d.TransformedDistribution(d.Normal(a, b), [d.AffineTransform(1.0, 2.0), d.TanhTransform()])
    yield d.MixtureSameFamily(d.Categorical(p), d.Normal(a, b))
    yield d.MixtureSameFamily(d.Categorical(p), d.Independent(d.Normal(rows[:, :2], 1.0), 1))


EVERY = {f"{type(each).__name__} {k}": each for k, each in enumerate(every())}


@pytest.mark.parametrize("name", EVERY)
def test_shapes(name):
    distribution = EVERY[name]
    adjoint.manual_seed(1)
    batch, event = distribution.batch_shape, distribution.event_shape
    samples = distribution.sample((3, 2))
    assert samples.shape == (3, 2, *batch, *event)
    assert distribution.log_prob(samples).shape == (3, 2, *batch)
    assert bool(distribution.support.check(samples).all())
    expanded = distribution.expand((4, *batch))
    assert (
        type(expanded) is type(distribution) and expanded.batch_shape == (4, *batch) and expanded.event_shape == event
    )
    assert expanded.sample().shape == (4, *batch, *event)
    assert expanded.log_prob(samples[0, 0]).numpy() == pytest.approx(
        distribution.log_prob(samples[0, 0]).expand(4, *batch).numpy()
    )
    if distribution.has_rsample:
        assert distribution.rsample((2,)).shape == (2, *batch, *event)


def on_device(value):
    """A copy of a distribution, of a transform or of a sequence of them, with all tensors on the device."""
    if adjoint.is_tensor(value):
        return value.cuda()
    if type(value) in (list, tuple):
        return type(value)(map(on_device, value))
    if not isinstance(value, (d.Distribution, d.Transform)):
        return value
    other = copy.copy(value)
    vars(other).update({name: on_device(attribute) for name, attribute in vars(other).items()})
    return other


QUANTITIES = {
    "mean": lambda p, x: p.mean,
    "mode": lambda p, x: p.mode,
    "variance": lambda p, x: p.variance,
    "entropy": lambda p, x: p.entropy(),
    "log_prob": lambda p, x: p.log_prob(x),
    "cdf": lambda p, x: p.cdf(x),
    "icdf": lambda p, x: p.icdf(p.cdf(x)),
    "enumerate_support": lambda p, x: p.enumerate_support(),
    "kl_divergence": lambda p, x: d.kl_divergence(p, p),
    "support": lambda p, x: p.support.check(x),
}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("name", EVERY)
def test_results_stay_on_the_device(name):
    with stand_in_cupy.install():
        distribution = on_device(EVERY[name])
        samples = distribution.sample((3,))
        assert samples.is_cuda
        for quantity, function in QUANTITIES.items():
            with contextlib.suppress(NotImplementedError):
                assert function(distribution, samples).is_cuda, quantity


@pytest.mark.parametrize("name", EVERY)
def test_copies(name):
    distribution = EVERY[name]
    adjoint.manual_seed(1)
    x = distribution.sample()
    for other in (copy.deepcopy(distribution), pickle.loads(pickle.dumps(distribution))):
        assert other.log_prob(x).tolist() == distribution.log_prob(x).tolist()


def test_numbers_become_tensors_of_the_default_dtype():
    distribution = d.Normal(0, 1.0)
    assert distribution.batch_shape == () and distribution.loc.dtype == adjoint.float32
    assert d.Normal(T(0.0, 1.0), 1).scale.dtype == adjoint.float64
    with pytest.raises(ValueError, match="must all be instances of Number"):
        d.Normal("a", 1.0)


def test_text():
    assert repr(d.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(d.Normal(adjoint.zeros(2), 1.0)) == "Normal(loc: adjoint.Size([2]), scale: adjoint.Size([2]))"
    assert repr(d.Independent(d.Bernoulli(adjoint.ones(2) / 2), 1)) == (
        "Independent(Bernoulli(probs: adjoint.Size([2])), 1)"
    )
    assert repr(c.interval(0.0, 2.0)) == "Interval(lower_bound=0.0, upper_bound=2.0)"
    assert repr(c.real_vector) == "IndependentConstraint(Real(), 1)"
    assert repr(d.ComposeTransform([d.ExpTransform(), d.ExpTransform().inv])) == (
        "ComposeTransform(\n    ExpTransform(),\n    _InverseTransform(ExpTransform())\n)"
    )


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: d.Normal(0.0, -1.0),
            ValueError,
            "Expected parameter scale (Tensor of shape ()) of distribution Normal(loc: 0.0, scale: -1.0) to satisfy "
            "the constraint GreaterThan(lower_bound=0.0), but found invalid values:\n-1.0",
        ),
        (
            lambda: d.Exponential(1.0).log_prob(adjoint.tensor(-1.0)),
            ValueError,
            "Expected value argument (Tensor of shape ()) to be within the support (GreaterThanEq(lower_bound=0.0)) of "
            "the distribution Exponential(rate: 1.0), but found invalid values:\n-1.0",
        ),
        (lambda: d.Normal(0.0, 1.0).log_prob(1.0), ValueError, "The value argument to log_prob must be a Tensor"),
        (
            lambda: d.Normal(adjoint.zeros(2), 1.0).log_prob(adjoint.zeros(3)),
            ValueError,
            "Value is not broadcastable with batch_shape+event_shape",
        ),
        (
            lambda: d.Dirichlet(adjoint.ones(2)).log_prob(adjoint.ones(3) / 3),
            ValueError,
            "The right-most size of value must match event_shape",
        ),
        (lambda: d.Bernoulli(), ValueError, "Either `probs` or `logits` must be specified, but not both."),
        (lambda: d.Categorical(adjoint.tensor(0.5)), ValueError, "`probs` parameter must be at least one-dimensional."),
        (lambda: d.Geometric(adjoint.zeros(2)), ValueError, "to be positive but found invalid values"),
        (lambda: d.Uniform(1.0, 0.0), ValueError, "Uniform is not defined when low>= high"),
        (lambda: d.Multinomial(-1, T(0.5, 0.5)), ValueError, "Expected parameter total_count"),
        (lambda: d.Multinomial(T(1.0), T(0.5, 0.5)), NotImplementedError, "inhomogeneous total_count is not supported"),
        (
            lambda: d.Binomial(T(1.0, 2.0), T(0.5, 0.5)).entropy(),
            NotImplementedError,
            "Inhomogeneous total count not supported by `entropy`.",
        ),
        (
            lambda: d.Dirichlet(adjoint.tensor(1.0)),
            ValueError,
            "`concentration` parameter must be at least one-dimensional.",
        ),
        (
            lambda: d.MultivariateNormal(adjoint.zeros(2)),
            ValueError,
            "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.",
        ),
        (
            lambda: d.MultivariateNormal(adjoint.tensor(0.0), adjoint.eye(1)),
            ValueError,
            "loc must be at least one-dimensional.",
        ),
        (
            lambda: d.MultivariateNormal(adjoint.zeros(2), adjoint.ones(2)),
            ValueError,
            "covariance_matrix must be at least two-dimensional",
        ),
        (
            lambda: d.LowRankMultivariateNormal(adjoint.tensor(0.0), adjoint.ones(1, 1), adjoint.ones(1)),
            ValueError,
            "loc must be at least one-dimensional.",
        ),
        (
            lambda: d.LowRankMultivariateNormal(adjoint.zeros(2), adjoint.ones(2), adjoint.ones(2)),
            ValueError,
            "cov_factor must be at least two-dimensional",
        ),
        (
            lambda: d.LowRankMultivariateNormal(adjoint.zeros(2), adjoint.ones(3, 1), adjoint.ones(2)),
            ValueError,
            "cov_factor must be a batch of matrices with shape 2 x m",
        ),
        (
            lambda: d.LowRankMultivariateNormal(adjoint.zeros(2), adjoint.ones(2, 1), adjoint.ones(3)),
            ValueError,
            "cov_diag must be a batch of vectors with shape",
        ),
        (
            lambda: d.Wishart(adjoint.tensor(0.5), adjoint.eye(2)),
            ValueError,
            "expected to be greater than ndim - 1 = 1",
        ),
        (
            lambda: d.LKJCholesky(1),
            ValueError,
            "Expected dim to be an integer greater than or equal to 2. Found dim=1.",
        ),
        (
            lambda: d.Independent(d.Normal(0.0, 1.0), 1),
            ValueError,
            "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual 1 vs 0",
        ),
        (
            lambda: d.Independent(d.Bernoulli(adjoint.ones(2) / 2), 1).enumerate_support(),
            NotImplementedError,
            "Enumeration over cartesian product is not implemented",
        ),
        (
            lambda: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
            ValueError,
            "transforms must be a Transform or list, but was 3",
        ),
        (
            lambda: d.TransformedDistribution(d.Normal(0.0, 1.0), [3]),
            ValueError,
            "transforms must be a Transform or a list of Transforms",
        ),
        (
            lambda: d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform()),
            ValueError,
            "base_distribution needs to have shape with size at least 1",
        ),
        (
            lambda: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(adjoint.zeros(2), 1.0)),
            ValueError,
            "needs to be an  instance of torch.distributions.Categorical",
        ),
        (
            lambda: d.MixtureSameFamily(d.Categorical(adjoint.ones(2)), 3),
            ValueError,
            "need to be an instance of torch.distributions.Distribution",
        ),
        (
            lambda: d.MixtureSameFamily(d.Categorical(adjoint.ones(2)), d.Normal(adjoint.zeros(3), 1.0)),
            ValueError,
            "does not equal `component_distribution.batch_shape[-1]`",
        ),
        (
            lambda: d.MixtureSameFamily(d.Categorical(adjoint.ones(4, 2)), d.Normal(adjoint.zeros(3, 2), 1.0)),
            ValueError,
            "is not compatible with",
        ),
        (
            lambda: d.kl_divergence(d.Normal(0.0, 1.0), d.Poisson(1.0)),
            NotImplementedError,
            "cross KL-divergence between different exponential families",
        ),
        (
            lambda: d.kl_divergence(d.Weibull(1.0, 1.0), d.Poisson(1.0)),
            NotImplementedError,
            "No KL(p || q) is implemented for p type Weibull and q type Poisson",
        ),
        (
            lambda: d.kl_divergence(d.Binomial(2, T(0.5)), d.Binomial(3, T(0.5))),
            NotImplementedError,
            "KL between Binomials",
        ),
        (
            lambda: d.kl_divergence(
                d.MultivariateNormal(adjoint.zeros(2), adjoint.eye(2)),
                d.MultivariateNormal(adjoint.zeros(3), adjoint.eye(3)),
            ),
            ValueError,
            "different event shapes",
        ),
        (lambda: d.register_kl(3, d.Normal), TypeError, "Expected type_p to be a Distribution subclass"),
        (lambda: d.ExpTransform(cache_size=2), ValueError, "cache_size must be 0 or 1"),
        (lambda: d.ReshapeTransform((2,), (3,)), ValueError, "in_shape, out_shape have different numbers of elements"),
        (lambda: d.ReshapeTransform((2,), (2, 1))(adjoint.zeros(3)), ValueError, "Shape mismatch: expected"),
        (lambda: d.ReshapeTransform((2,), (2, 1))(adjoint.tensor(0.0)), ValueError, "Too few dimensions on input"),
        (
            lambda: d.CorrCholeskyTransform().forward_shape((4,)),
            ValueError,
            "Input is not a flattened lower-diagonal number",
        ),
        (lambda: d.CorrCholeskyTransform().inverse_shape((4, 3)), ValueError, "Input is not square"),
        (lambda: d.biject_to(c.boolean), NotImplementedError, "Cannot transform"),
        (
            lambda: d.biject_to.register(3, lambda _: None),
            TypeError,
            "Expected constraint to be either a Constraint subclass or instance",
        ),
        (lambda: c.dependent.check(T(1.0)), ValueError, "Cannot determine validity of dependent constraint"),
        (lambda: c.dependent.event_dim, NotImplementedError, ".event_dim cannot be determined statically"),
        (lambda: d.utils.tril_matrix_to_vec(adjoint.eye(2), 3), ValueError, "diag (3) provided is outside [-2, 1]."),
        (lambda: d.Distribution.set_default_validate_args(3), ValueError, "must be True or False, not 3"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_checks_can_be_left_out():
    assert d.Normal(0.0, -1.0, validate_args=False).scale.item() == -1.0
    assert d.Exponential(1.0, validate_args=False).log_prob(adjoint.tensor(-1.0)).item() == 1.0
    before = d.Distribution._validate_args
    try:
        d.Distribution.set_default_validate_args(False)
        d.Normal(0.0, -1.0)
    finally:
        d.Distribution.set_default_validate_args(before)


def test_subclasses():
    class Plain(d.Normal):
        pass

    class Own(d.Normal):
        def __init__(self, loc):
            super().__init__(loc, 1.0)

    assert type(Plain(0.0, 1.0).expand((2,))) is Plain
    with pytest.raises(
        NotImplementedError, match=r"defines a custom __init__ method must also define a custom .expand"
    ):
        Own(0.0).expand((2,))
    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        type("Bare", (d.Distribution,), {})()
    with pytest.warns(UserWarning, match="sample_n will be deprecated"):
        assert Plain(0.0, 1.0).sample_n(3).shape == (3,)


TRANSFORMS = {
    "exp": (d.ExpTransform(), T(0.3, -1.0)),
    "sigmoid": (d.SigmoidTransform(), T(0.3, -1.0)),
    "tanh": (d.TanhTransform(), T(0.3, -1.0)),
    "softplus": (d.SoftplusTransform(), T(0.3, -1.0)),
    "power": (d.PowerTransform(1.7), T(0.3, 2.0)),
    "affine": (d.AffineTransform(1.0, -2.0), T(0.3, -1.0)),
    "affine tensor": (d.AffineTransform(T(1.0, 2.0), T(3.0, -2.0)), T(0.3, -1.0)),
    "cdf": (d.CumulativeDistributionTransform(d.Normal(T(0.0), T(1.0))), T(0.3, -1.0)),
    "inverse": (d.ExpTransform().inv, T(0.3, 1.0)),
    "chain": (d.ComposeTransform([d.AffineTransform(1.0, 2.0), d.TanhTransform()]), T(0.3, -1.0)),
    "stack": (d.StackTransform([d.ExpTransform(), d.TanhTransform()], 0), T(0.3, -1.0)),
    "cat": (d.CatTransform([d.ExpTransform(), d.TanhTransform()], 0, [1, 1]), T(0.3, -1.0)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_numbers(name):
    transform, x = TRANSFORMS[name]
    y = transform(x)
    assert bool(transform.codomain.check(y).all())
    assert transform.inv(y).tolist() == pytest.approx(x.tolist())
    slopes = adjoint.autograd.functional.jacobian(transform, x).diagonal()
    assert transform.log_abs_det_jacobian(x, y).tolist() == pytest.approx(slopes.abs().log().tolist())
    assert transform.inv.inv is transform
    for sized in (transform.with_cache(1), transform.with_cache(0)):
        assert sized.inv(sized(x)).tolist() == pytest.approx(x.tolist())


@pytest.mark.parametrize(
    ("transform", "x", "keep"),
    [
        (d.StickBreakingTransform(), T(0.3, -1.0, 0.5), slice(-1)),
        (d.CorrCholeskyTransform(), T(0.3, -1.0, 0.5), None),
        (d.LowerCholeskyTransform(), T(0.3, 0.0, 0.5, -1.0).view(2, 2), None),
    ],
)
def test_transforms_of_vectors(transform, x, keep):
    y = transform(x)
    assert bool(transform.codomain.check(y).all())
    assert transform.forward_shape(x.shape) == y.shape and transform.inverse_shape(y.shape) == x.shape
    assert transform.inv(y).flatten().tolist() == pytest.approx(x.flatten().tolist())

    def free(x):
        result = transform(x)
        if result.dim() == 1:
            return result[keep]
        return result[adjoint.tril(adjoint.ones_like(result), -1 if result.shape[-1] == 3 else 0) > 0]

    jacobian = adjoint.autograd.functional.jacobian(free, x).reshape(free(x).numel(), -1)
    jacobian = jacobian[:, jacobian.abs().sum(0) > 0]
    result = transform.log_abs_det_jacobian(x, y).item()
    assert result == pytest.approx(jacobian.det().abs().log().item())


def test_caches_keep_the_value():
    transform = d.ExpTransform(cache_size=1)
    x = T(0.3)
    y = transform(x)
    assert transform.inv(y) is x and transform(x) is y


def test_equal_transforms():
    assert d.ExpTransform() == d.ExpTransform() != d.TanhTransform()
    assert d.AffineTransform(1.0, 2.0) == d.AffineTransform(1.0, 2.0) != d.AffineTransform(1.0, 3.0)
    assert d.ComposeTransform([d.ExpTransform()]) == d.ComposeTransform([d.ExpTransform()])
    assert d.ExpTransform().inv == d.ExpTransform().inv
    assert d.AffineTransform(0.0, -1.0).sign == -1 and d.ExpTransform().inv.sign == 1


@pytest.mark.parametrize(
    "constraint",
    [c.real, c.positive, c.nonnegative, c.greater_than(2.0), c.less_than(-1.0), c.unit_interval, c.interval(-2.0, 5.0),
     c.half_open_interval(-2.0, 5.0), c.simplex, c.lower_cholesky, c.positive_definite, c.corr_cholesky, c.real_vector,
     c.independent(c.positive, 1), c.stack([c.positive, c.real], -1), c.cat([c.positive, c.real], -1, [1, 2])],
    ids=repr,
)  # fmt: skip
def test_transforms_to_constraints(constraint):
    shapes = {"LowerCholesky()": (3, 3), "PositiveDefinite()": (3, 3)}
    width = 2 if isinstance(constraint, c.stack) else 3
    x = adjoint.randn(*shapes.get(repr(constraint), (4, width)), dtype=adjoint.float64)
    for registry in (d.biject_to, d.transform_to):
        y = registry(constraint)(x)
        assert bool(constraint.check(y).all())


def test_constraints_tell_values():
    assert c.simplex.check(T(0.5, 0.6)).item() is False and c.simplex.check(T(0.5, 0.5)).item() is True
    assert c.integer_interval(0, 2).check(T(0.0, 0.5, 3.0)).tolist() == [True, False, False]
    assert c.one_hot.check(T(0.0, 1.0)).item() is True and c.one_hot.check(T(1.0, 1.0)).item() is False
    assert c.positive_definite.check(-adjoint.eye(2)).item() is False
    assert c.positive_semidefinite.check(adjoint.zeros(2, 2)).item() is True
    assert c.square.check(adjoint.zeros(2, 3)).item() is False
    assert c.symmetric.check(adjoint.tensor([[1.0, 2.0], [0.0, 1.0]])).item() is False
    assert c.multinomial(2).check(T(1.0, 2.0)).item() is False
    assert isinstance(c.positive, c.greater_than) and not isinstance(c.real, c.greater_than)
    with pytest.raises(ValueError, match=r"Expected value.dim\(\) >= 1"):
        c.real_vector.check(adjoint.tensor(0.0))


A, B = T(0.7, 2.5), T(1.5, 0.8)
PAIRS = {
    "Beta": (d.Beta(A, B), d.Beta(B, A)),
    "Beta Uniform": (d.Beta(A, B), d.Uniform(T(-1.0), T(2.0))),
    "Beta Gamma": (d.Beta(A, B), d.Gamma(B, A)),
    "Beta Normal": (d.Beta(A, B), d.Normal(B, A)),
    "Beta ContinuousBernoulli": (d.Beta(A, B), d.ContinuousBernoulli(T(0.3, 0.7))),
    "Bernoulli": (d.Bernoulli(T(0.3, 0.7)), d.Bernoulli(T(0.6, 0.5))),
    "Bernoulli Poisson": (d.Bernoulli(T(0.3, 0.7)), d.Poisson(T(0.6, 0.5))),
    "Binomial": (d.Binomial(3, T(0.3, 0.7)), d.Binomial(3, T(0.6, 0.5))),
    "Categorical": (d.Categorical(T(0.3, 0.7)), d.Categorical(T(0.6, 0.4))),
    "ContinuousBernoulli": (d.ContinuousBernoulli(T(0.3)), d.ContinuousBernoulli(T(0.6))),
    "Dirichlet": (d.Dirichlet(A), d.Dirichlet(B)),
    "Exponential": (d.Exponential(A), d.Exponential(B)),
    "Exponential Gumbel": (d.Exponential(A), d.Gumbel(B, A)),
    "Exponential Gamma": (d.Exponential(A), d.Gamma(B, A)),
    "Gamma": (d.Gamma(A, B), d.Gamma(B, A)),
    "Gamma Gumbel": (d.Gamma(A, B), d.Gumbel(B, A)),
    "Geometric": (d.Geometric(T(0.3, 0.7)), d.Geometric(T(0.6, 0.5))),
    "Gumbel": (d.Gumbel(A, B), d.Gumbel(B, A)),
    "HalfNormal": (d.HalfNormal(A), d.HalfNormal(B)),
    "InverseGamma": (d.InverseGamma(A + 3, B), d.InverseGamma(B, A)),
    "Laplace": (d.Laplace(A, B), d.Laplace(B, A)),
    "Laplace Normal": (d.Laplace(A, B), d.Normal(B, A)),
    "LogNormal": (d.LogNormal(A, B), d.LogNormal(B, A)),
    "Normal": (d.Normal(A, B), d.Normal(B, A)),
    "Normal Laplace": (d.Normal(A, B), d.Laplace(B, A)),
    "Normal Gumbel": (d.Normal(A, B), d.Gumbel(B, A + 1)),
    "Pareto": (d.Pareto(A + 2, B + 3), d.Pareto(A, B)),
    "Pareto Gamma": (d.Pareto(A, B + 3), d.Gamma(B, A)),
    "Poisson": (d.Poisson(A), d.Poisson(B)),
    "Uniform": (d.Uniform(A, A + B), d.Uniform(A - 1, A + B + 1)),
    "Uniform Beta": (d.Uniform(A / 10, A / 10 + 0.1), d.Beta(A, B)),
    "Uniform Gamma": (d.Uniform(A, A + B), d.Gamma(A, B)),
    "Uniform Gumbel": (d.Uniform(A, A + B), d.Gumbel(A, B)),
    "Uniform Normal": (d.Uniform(A, A + B), d.Normal(A, B)),
    "Uniform Pareto": (d.Uniform(A, A + B), d.Pareto(A / 2, B)),
    "Weibull": (d.Weibull(A, B), d.Weibull(B, A)),
    "MultivariateNormal": (d.MultivariateNormal(A, adjoint.diag(B) + 0.1), d.MultivariateNormal(B, adjoint.diag(A))),
    "LowRank": (d.LowRankMultivariateNormal(A, A.view(2, 1), B), d.MultivariateNormal(B, adjoint.diag(A))),
    "Wishart": (d.Wishart(T(4.5)[0], adjoint.diag(B)), d.Wishart(T(3.5)[0], adjoint.diag(A))),
    "Independent": (d.Independent(d.Normal(A, B), 1), d.Independent(d.Normal(B, A), 1)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_divergences_are_means_of_the_difference(name):
    p, q = PAIRS[name]
    adjoint.manual_seed(2)
    x = p.sample((40000,))
    differences = p.log_prob(x) - q.log_prob(x)
    error = 5 * differences.std(0) / 200
    result = d.kl_divergence(p, q)
    assert result.shape == differences.shape[1:]
    assert bool(((result - differences.mean(0)).abs() <= error + 1e-3).all()), (result, differences.mean(0), error)


@pytest.mark.parametrize("pair", [(d.Normal(0.0, 1.0), d.Uniform(0.0, 1.0)), (d.Poisson(1.0), d.Bernoulli(0.5)),
                                  (d.Uniform(0.0, 2.0), d.Beta(1.0, 1.0)), (d.Uniform(0.0, 2.0), d.Uniform(0.0, 1.0)),
                                  (d.Pareto(1.0, 1.0), d.Pareto(2.0, 1.0))], ids=repr)  # fmt: skip
def test_divergences_are_infinite_where_the_other_is_zero(pair):
    assert d.kl_divergence(*pair).item() == float("inf")


def test_divergences_of_exponential_families():
    class Own(d.ExponentialFamily):
        """A normal distribution that defines only its natural parameters."""

        arg_constraints = {}
        _mean_carrier_measure = -0.5 * np.log(2 * np.pi)

        def __init__(self, loc):
            self.loc = loc
            super().__init__(loc.shape)

        @property
        def _natural_params(self):
            return (self.loc,)

        def _log_normalizer(self, x):
            return 0.5 * x**2

    assert d.kl_divergence(Own(T(0.0)), Own(T(2.0))).item() == pytest.approx(2.0)
    assert d.Normal(A, B)._natural_params[0].shape == (2,)
    for distribution in (d.Normal(A, B), d.Gamma(A, B), d.Beta(A + 1, B + 1), d.Exponential(A)):
        general = d.ExponentialFamily.entropy(distribution)
        if not isinstance(distribution, (d.Normal, d.Beta)):
            assert general.tolist() == pytest.approx(distribution.entropy().tolist())
