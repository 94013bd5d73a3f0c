"""Machine learning, optimisation, optimal transport."""

from __future__ import annotations

from typing import Any

import numpy as np

from tried.entries import tried

TITLE = "Machine learning, optimisation, optimal transport"

X = np.array([[0.3, -1.2], [1.4, 0.5], [-0.7, 0.9], [0.2, 0.1]])
Y = np.array([[1.1, 0.4], [-0.6, 0.8], [0.9, -0.3]])


# scikit-learn ---------------------------------------------------------------------------------------------------------


def pairwise(name: str, **options: Any) -> None:
    @tried("scikit-learn", f"sklearn.metrics.pairwise.{name}")
    def _() -> Any:
        import sklearn.metrics.pairwise

        return lambda x: getattr(sklearn.metrics.pairwise, name)(x, Y, **options), X


pairwise("rbf_kernel", gamma=0.4)
pairwise("polynomial_kernel", degree=3)
pairwise("cosine_similarity")
pairwise("euclidean_distances")
pairwise("sigmoid_kernel")


def metric(name: str, target: Any, point: Any, **options: Any) -> None:
    @tried("scikit-learn", f"sklearn.metrics.{name}")
    def _() -> Any:
        import sklearn.metrics

        return lambda x: getattr(sklearn.metrics, name)(np.array(target), x, **options), point


metric("mean_squared_error", [0.4, 1.1, -0.3], [0.5, 0.9, 0.2])
metric("mean_tweedie_deviance", [0.4, 1.1, 0.3], [0.5, 0.9, 0.2], power=1.5)
metric("r2_score", [0.4, 1.1, -0.3], [0.5, 0.9, 0.2])
metric("log_loss", [0, 1, 1], [0.2, 0.7, 0.6])
metric("mean_pinball_loss", [0.4, 1.1, -0.3], [0.5, 0.9, 0.2], alpha=0.3)


@tried("scikit-learn", "sklearn.gaussian_process.kernels.RBF")
def _() -> Any:
    from sklearn.gaussian_process.kernels import RBF

    return lambda x: RBF(0.8)(x), X


@tried("scikit-learn", "sklearn.gaussian_process.kernels.Matern", "scaled, with a `WhiteKernel`")
def _() -> Any:
    from sklearn.gaussian_process.kernels import Matern, WhiteKernel

    return lambda x: (1.3 * Matern(0.8, nu=1.5) + WhiteKernel(0.1))(x), X


@tried("scikit-learn", "sklearn.gaussian_process.kernels.ExpSineSquared")
def _() -> Any:
    from sklearn.gaussian_process.kernels import ExpSineSquared

    return lambda x: ExpSineSquared(0.8, 1.5)(x, Y), X


@tried("scikit-learn", "sklearn.gaussian_process.GaussianProcessRegressor.log_marginal_likelihood")
def _() -> Any:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    model = GaussianProcessRegressor(ConstantKernel(1.0) * RBF(0.8), alpha=0.1).fit(X, np.sin(X[:, 0]))
    return lambda t: model.log_marginal_likelihood(t), [0.2, -0.1]


@tried("scikit-learn", "sklearn.neural_network._base.binary_log_loss")
def _() -> Any:
    from sklearn.neural_network._base import binary_log_loss

    return lambda p: binary_log_loss(np.array([[1.0], [0.0], [1.0]]), p), np.array([[0.7], [0.2], [0.4]])


@tried("scikit-learn", "sklearn.utils.extmath.softmax")
def _() -> Any:
    from sklearn.utils.extmath import softmax

    return softmax, X


@tried("scikit-learn", "sklearn.linear_model._huber._huber_loss_and_gradient")
def _() -> Any:
    from sklearn.linear_model._huber import _huber_loss_and_gradient

    y, w = np.array([0.4, 1.1, -0.3, 2.0]), np.ones(4)
    return lambda p: _huber_loss_and_gradient(p, X, y, 1.35, 0.1, w)[0], [0.3, -0.2, 0.5, 0.8]


@tried("scikit-learn", "sklearn.preprocessing.StandardScaler.transform")
def _() -> Any:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X)
    return scaler.transform, X


@tried("scikit-learn", "sklearn.linear_model.LinearRegression.predict")
def _() -> Any:
    from sklearn.linear_model import LinearRegression

    return LinearRegression().fit(X, X[:, 0] - X[:, 1] ** 2).predict, X


@tried(
    "scikit-learn",
    "sklearn._loss.HalfBinomialLoss",
    reason="the loss is compiled code, which reads the memory of plain arrays",
    remedy="Give it to `adjoint.custom` with its own method `gradient` as the rule",
)
def _() -> Any:
    from sklearn._loss import HalfBinomialLoss

    return lambda x: HalfBinomialLoss().loss(np.array([1.0, 0.0, 1.0]), x), [0.4, -0.6, 0.9]


# optimisation, manifolds ----------------------------------------------------------------------------------------------


@tried("pymanopt", "pymanopt.manifolds.Sphere.exp")
def _() -> Any:
    from pymanopt.manifolds import Sphere

    return lambda v: Sphere(3).exp(np.array([1.0, 0.0, 0.0]), v), [0.0, 0.4, -0.3]


@tried("pymanopt", "pymanopt.manifolds.SymmetricPositiveDefinite.dist")
def _() -> Any:
    from pymanopt.manifolds import SymmetricPositiveDefinite

    return (
        lambda a: SymmetricPositiveDefinite(2).dist(a @ a.T, np.array([[1.0, 0.2], [0.2, 2.0]])),
        np.array([[1.2, 0.3], [0.1, 0.8]]),
    )


@tried("pymanopt", "pymanopt.manifolds.Stiefel.retraction")
def _() -> Any:
    from pymanopt.manifolds import Stiefel

    return lambda v: Stiefel(3, 2).retraction(np.eye(3, 2), v), np.array([[0.1, 0.3], [-0.3, 0.2], [0.4, -0.5]])


@tried("pymoo", "pymoo.problems.multi.ZDT1.evaluate")
def _() -> Any:
    from pymoo.problems import get_problem

    return lambda x: get_problem("zdt1", n_var=4).evaluate(x), np.array([[0.3, 0.2, 0.7, 0.4]])


@tried("pymoo", "pymoo.problems.single.Ackley._evaluate")
def _() -> Any:
    from pymoo.problems.single import Ackley

    def function(x: Any) -> Any:
        out: dict[str, Any] = {}
        Ackley(n_var=3)._evaluate(x, out)
        return out["F"]

    return function, np.array([[0.3, 0.2, -0.7]])


@tried("cma", "cma.ff.rosen")
def _() -> Any:
    import cma

    return cma.ff.rosen, [0.3, 0.8, 1.2]


@tried("cma", "cma.ff.elli")
def _() -> Any:
    import cma

    return cma.ff.elli, [0.3, 0.8, 1.2]


@tried("bayesian-optimization", "bayes_opt.acquisition.ExpectedImprovement.base_acq")
def _() -> Any:
    from bayes_opt.acquisition import ExpectedImprovement

    acquisition = ExpectedImprovement(xi=0.01)
    acquisition.y_max = 0.5
    return lambda p: acquisition.base_acq(p[:2], p[2:]), [0.4, 0.7, 0.3, 0.5]


@tried("POT", "ot.sinkhorn2")
def _() -> Any:
    import ot

    a, b = np.array([0.1, 0.4, 0.2, 0.3]), np.array([0.5, 0.2, 0.3])
    return lambda x: ot.sinkhorn2(a, b, ot.dist(x, Y), 0.5, numItermax=50, warn=False), X


@tried("POT", "ot.gaussian.bures_wasserstein_distance")
def _() -> Any:
    import ot

    cov = np.array([[1.0, 0.2], [0.2, 2.0]])
    return (
        lambda a: ot.gaussian.bures_wasserstein_distance(a[0], np.zeros(2), a @ a.T, cov),
        np.array([[1.2, 0.3], [0.1, 0.8]]),
    )


@tried("POT", "ot.sliced.sliced_wasserstein_distance")
def _() -> Any:
    import ot

    projections = np.array([[0.6, 1.0], [0.8, 0.0]])
    return lambda x: ot.sliced_wasserstein_distance(x, X[::-1] * 1.2 + 0.1, projections=projections), X


@tried("tensorly", "tensorly.cp_to_tensor")
def _() -> Any:
    import tensorly

    return lambda a: tensorly.cp_to_tensor((None, [a, Y, X])), np.array([[0.4, 0.1], [0.7, -0.5]])


@tried("tensorly", "tensorly.tenalg.khatri_rao")
def _() -> Any:
    from tensorly.tenalg import khatri_rao

    return lambda a: khatri_rao([a, Y]), X


@tried("autograd", "autograd.scipy.stats.norm.logpdf")
def _() -> Any:
    import autograd.scipy.stats.norm as norm

    return lambda p: norm.logpdf(p[0], p[1], p[2]), [0.4, 0.1, 0.7]


@tried("autograd-gamma", "autograd_gamma.gammaincc")
def _() -> Any:
    from autograd_gamma import gammaincc

    return lambda p: gammaincc(p[0], p[1]), [0.9, 1.4]


@tried("similaritymeasures", "similaritymeasures.area_between_two_curves")
def _() -> Any:
    from similaritymeasures import area_between_two_curves

    return lambda x: area_between_two_curves(x, np.array([[0.0, 0.1], [1.0, 0.2], [2.0, 0.9]])), np.array(
        [[0.0, 0.5], [1.1, 0.7], [2.2, 0.4]]
    )


@tried("similaritymeasures", "similaritymeasures.dtw")
def _() -> Any:
    from similaritymeasures import dtw

    return lambda x: dtw(x, np.array([[0.0, 0.1], [1.0, 0.2], [2.0, 0.9]]))[0], np.array(
        [[0.1, 0.5], [1.1, 0.7], [2.2, 0.4]]
    )


@tried("spotpy", "spotpy.objectivefunctions.kge")
def _() -> Any:
    from spotpy.objectivefunctions import kge

    return lambda x: kge(np.array([0.5, 1.2, 0.9, 1.7]), x), [0.6, 1.0, 1.1, 1.5]


@tried("spotpy", "spotpy.objectivefunctions.nashsutcliffe")
def _() -> Any:
    from spotpy.objectivefunctions import nashsutcliffe

    return lambda x: nashsutcliffe(np.array([0.5, 1.2, 0.9, 1.7]), x), [0.6, 1.0, 1.1, 1.5]


@tried("opt_einsum", "opt_einsum.contract")
def _() -> Any:
    from opt_einsum import contract

    return lambda x: contract("ij,kj,kl->il", x, Y, np.eye(3, 2)), X


@tried("einops", "einops.rearrange", "with `einops.reduce`")
def _() -> Any:
    from einops import rearrange, reduce

    return lambda x: [rearrange(x, "(a b) c -> b (a c)", a=2), reduce(x, "a c -> c", "max")], X
