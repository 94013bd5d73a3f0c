"""Probability distributions under the names of torch.distributions: samples, densities, divergences, derivatives."""

import typing as _typing

from adjoint.runtime.lazy import LateAttributes as _LateAttributes
from adjoint.runtime.lazy import by_name as _by_name

#: The names of the classes and functions, by the module that defines them.
_HOMES = {
    "adjoint.distributions.families.combined": "Independent MixtureSameFamily TransformedDistribution",
    "adjoint.distributions.constraint_registry": "biject_to transform_to",
    "adjoint.distributions.families.continuous": """
        Beta Cauchy Chi2 Exponential FisherSnedecor Gamma GeneralizedPareto Gumbel HalfCauchy HalfNormal InverseGamma
        Kumaraswamy Laplace LogNormal Normal Pareto StudentT Uniform VonMises Weibull
    """,
    "adjoint.distributions.families.discrete": """
        Bernoulli Binomial Categorical ContinuousBernoulli Geometric Multinomial NegativeBinomial OneHotCategorical
        OneHotCategoricalStraightThrough Poisson
    """,
    "adjoint.distributions.distribution": "Distribution ExponentialFamily",
    "adjoint.distributions.kl": "kl_divergence register_kl",
    "adjoint.distributions.families.multivariate": """
        Dirichlet LKJCholesky LowRankMultivariateNormal MultivariateNormal Wishart
    """,
    "adjoint.distributions.families.relaxed": "LogisticNormal RelaxedBernoulli RelaxedOneHotCategorical",
    "adjoint.distributions.transforms": """
        AbsTransform AffineTransform CatTransform ComposeTransform CorrCholeskyTransform
        CumulativeDistributionTransform ExpTransform IndependentTransform LowerCholeskyTransform
        PositiveDefiniteTransform PowerTransform ReshapeTransform SigmoidTransform SoftmaxTransform SoftplusTransform
        StackTransform StickBreakingTransform TanhTransform Transform identity_transform
    """,
}
_MODULES = "constraint_registry constraints distribution kl transforms utils"

__getattr__ = _LateAttributes(__name__, dict.fromkeys(_MODULES.split(), "") | _by_name(_HOMES))
__all__ = sorted(__getattr__.names())


def __dir__() -> list[str]:
    return list(__all__)
