"""Likelihoods, estimators and stochastic models."""

from __future__ import annotations

from typing import Any

import numpy as np

from tried.entries import tried

TITLE = "Likelihoods, estimators, stochastic models"

T = np.linspace(0.2, 3.0, 9)
#: Eight observations of three explanatory variables.
DESIGN = np.column_stack([np.ones(8), np.linspace(-1.0, 1.2, 8), np.cos(np.arange(8.0))])
RESPONSE = 0.4 + 0.7 * DESIGN[:, 1] - 0.2 * DESIGN[:, 2] + 0.1 * np.sin(3.0 * np.arange(8.0))
BETA = np.array([0.3, -0.4, 0.6])
COUNTS = np.array([1.0, 0.0, 2.0, 1.0, 3.0, 2.0, 4.0, 3.0])
BINARY = np.array([0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0])
RETURNS = 0.8 * np.sin(1.7 * np.arange(30.0)) + 0.3 * np.cos(0.9 * np.arange(30.0) ** 1.3)


# statsmodels ----------------------------------------------------------------------------------------------------------


@tried("statsmodels", "statsmodels.api.OLS.loglike")
def _() -> Any:
    from statsmodels.api import OLS

    return OLS(RESPONSE, DESIGN).loglike, BETA


@tried("statsmodels", "statsmodels.api.WLS.loglike")
def _() -> Any:
    from statsmodels.api import WLS

    return WLS(RESPONSE, DESIGN, weights=np.linspace(0.5, 2.0, 8)).loglike, BETA


@tried("statsmodels", "statsmodels.api.Logit.loglike")
def _() -> Any:
    from statsmodels.api import Logit

    return Logit(BINARY, DESIGN).loglike, BETA


@tried("statsmodels", "statsmodels.api.Probit.loglike")
def _() -> Any:
    from statsmodels.api import Probit

    return Probit(BINARY, DESIGN).loglike, BETA


@tried("statsmodels", "statsmodels.api.Poisson.loglike")
def _() -> Any:
    from statsmodels.api import Poisson

    return Poisson(COUNTS, DESIGN).loglike, BETA


@tried("statsmodels", "statsmodels.api.NegativeBinomial.loglike")
def _() -> Any:
    from statsmodels.api import NegativeBinomial

    return NegativeBinomial(COUNTS, DESIGN).loglike, np.append(BETA, 0.7)


@tried("statsmodels", "statsmodels.api.GeneralizedPoisson.loglike")
def _() -> Any:
    from statsmodels.api import GeneralizedPoisson

    return GeneralizedPoisson(COUNTS, DESIGN).loglike, np.append(BETA, 0.3)


@tried("statsmodels", "statsmodels.api.ZeroInflatedPoisson.loglike")
def _() -> Any:
    from statsmodels.api import ZeroInflatedPoisson

    return ZeroInflatedPoisson(COUNTS, DESIGN).loglike, np.append(-0.5, BETA)


@tried("statsmodels", "statsmodels.api.MNLogit.loglike")
def _() -> Any:
    from statsmodels.api import MNLogit

    return MNLogit(np.array([0, 1, 2, 0, 1, 2, 1, 0]), DESIGN).loglike, np.linspace(-0.4, 0.7, 6)


@tried("statsmodels", "statsmodels.api.GLM.loglike", "of the family Gamma")
def _() -> Any:
    import statsmodels.api as sm

    family = sm.families.Gamma(sm.families.links.Log())
    return lambda b: sm.GLM(np.exp(RESPONSE), DESIGN, family=family).loglike(b, scale=0.5), BETA


@tried("statsmodels", "statsmodels.api.GLM.loglike", "of the family Binomial")
def _() -> Any:
    import statsmodels.api as sm

    return sm.GLM(BINARY, DESIGN, family=sm.families.Binomial()).loglike, BETA


@tried("statsmodels", "statsmodels.api.families.Tweedie.deviance")
def _() -> Any:
    import statsmodels.api as sm

    family = sm.families.Tweedie(var_power=1.5)
    return lambda b: family.deviance(COUNTS + 1.0, np.exp(DESIGN @ b)), BETA


@tried(
    "statsmodels",
    "statsmodels.miscmodels.ordinal_model.OrderedModel.loglike",
    reason="`dot` is called as a method of a plain array with a differentiable one",
    remedy="Write `exog @ params` in a copy of the method, which keeps the derivative",
)
def _() -> Any:
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    model = OrderedModel(np.array([0, 1, 2, 0, 1, 2, 1, 0]), DESIGN[:, 1:], distr="logit")
    return model.loglike, np.array([0.3, -0.2, -0.5, 0.1])


@tried("statsmodels", "statsmodels.robust.norms.TukeyBiweight.rho")
def _() -> Any:
    from statsmodels.robust.norms import TukeyBiweight

    return TukeyBiweight(c=4.685).rho, np.array([0.3, -2.0, 4.0, -6.0])


@tried("statsmodels", "statsmodels.robust.norms.HuberT.rho")
def _() -> Any:
    from statsmodels.robust.norms import HuberT

    return HuberT(1.345).rho, np.array([0.3, -2.0, 4.0, -6.0])


@tried("statsmodels", "statsmodels.stats.moment_helpers.cov2corr")
def _() -> Any:
    from statsmodels.stats.moment_helpers import cov2corr

    return lambda x: cov2corr(x @ x.T), np.array([[1.2, 0.3], [0.2, 0.9]])


@tried("statsmodels", "statsmodels.tsa.arima_process.arma_impulse_response")
def _() -> Any:
    from statsmodels.tsa.arima_process import arma_impulse_response

    return lambda x: arma_impulse_response(np.append(1.0, -x[:2]), np.append(1.0, x[2:]), 8), np.array([0.5, 0.2, 0.4])


@tried("statsmodels", "statsmodels.tsa.tsatools._ar_transparams")
def _() -> Any:
    from statsmodels.tsa.tsatools import _ar_transparams

    return _ar_transparams, np.array([0.3, -0.6, 0.2])


@tried("statsmodels", "statsmodels.tsa.stattools.acf")
def _() -> Any:
    from statsmodels.tsa.stattools import acf

    return lambda x: acf(x, nlags=4, fft=False), RETURNS


@tried(
    "statsmodels",
    "statsmodels.tsa.arima.model.ARIMA.loglike",
    reason="the Kalman filter is compiled code, which reads the memory of plain arrays",
    remedy="Give the model's own score to `adjoint.custom`, or use the filter of filterpy",
)
def _() -> Any:
    from statsmodels.tsa.arima.model import ARIMA

    return ARIMA(RETURNS, order=(1, 0, 1)).loglike, np.array([0.1, 0.4, 0.2, 0.5])


@tried("statsmodels", "statsmodels.genmod.families.links.CLogLog.inverse")
def _() -> Any:
    from statsmodels.genmod.families.links import CLogLog

    return CLogLog().inverse, np.array([0.2, -0.7, 1.1])


@tried("statsmodels", "statsmodels.nonparametric.kernels.gaussian")
def _() -> Any:
    from statsmodels.nonparametric.kernels import gaussian

    return lambda x: gaussian(0.7, x[:3], x[3]), np.array([0.2, 0.9, 1.4, 0.5])


# lifelines ------------------------------------------------------------------------------------------------------------

TIMES = np.array([0.7, 1.3, 2.2, 0.4, 3.1])
EVENTS = np.array([True, True, False, True, False])


def survival(name: str, point: Any, **reason: str) -> None:
    entry = "_negative_log_likelihood_right_censoring"

    @tried("lifelines", f"lifelines.{name}.{entry}", **reason)
    def _() -> Any:
        import lifelines

        fitter = getattr(lifelines, name)()
        ones = np.ones(5)
        return lambda p: getattr(fitter, entry)(p, (TIMES, None), EVENTS, np.zeros(5), ones), point


survival("WeibullFitter", [1.3, 0.8])
survival("ExponentialFitter", [1.3])
survival("LogNormalFitter", [0.4, 0.9])
survival(
    "LogLogisticFitter",
    [1.4, 1.8],
    reason="it calls `autograd.elementwise_grad` inside, which takes HIPS autograd's own arrays alone",
    remedy="Use `_cumulative_hazard` and `_log_1m_sf`, which work",
)


@tried("lifelines", "lifelines.GeneralizedGammaFitter._cumulative_hazard")
def _() -> Any:
    from lifelines import GeneralizedGammaFitter

    return lambda p: GeneralizedGammaFitter()._cumulative_hazard(p, TIMES), [0.4, -0.2, 0.7]


@tried("lifelines", "lifelines.SplineFitter._cumulative_hazard")
def _() -> Any:
    from lifelines import SplineFitter

    fitter = SplineFitter(np.array([0.3, 1.2, 3.2]))
    return lambda p: fitter._cumulative_hazard(p, TIMES), [0.4, 1.1, 0.2]


@tried("lifelines", "lifelines.PiecewiseExponentialFitter._cumulative_hazard")
def _() -> Any:
    from lifelines import PiecewiseExponentialFitter

    fitter = PiecewiseExponentialFitter([0.5, 2.0])
    return lambda p: fitter._cumulative_hazard(p, TIMES), [0.4, 1.1, 0.2]


# others ---------------------------------------------------------------------------------------------------------------


@tried("surpyval", "surpyval.Weibull.log_df")
def _() -> Any:
    import surpyval

    return lambda p: surpyval.Weibull.log_df(TIMES, p[0], p[1]), [1.3, 0.8]


@tried("surpyval", "surpyval.Gamma.sf")
def _() -> Any:
    import surpyval

    return lambda p: surpyval.Gamma.sf(TIMES, p[0], p[1]), [1.3, 0.8]


@tried("reliability", "reliability.Fitters.Fit_Weibull_2P.LL")
def _() -> Any:
    from reliability.Fitters import Fit_Weibull_2P

    return lambda p: Fit_Weibull_2P.LL(p, TIMES[:3], TIMES[3:]), [1.3, 0.8]


@tried("reliability", "reliability.Fitters.Fit_Gamma_2P.LL_ab")
def _() -> Any:
    from reliability.Fitters import Fit_Gamma_2P

    return lambda p: Fit_Gamma_2P.LL_ab(p, TIMES[:3], TIMES[3:]), [1.3, 0.8]


@tried("pyhf", "pyhf.Model.logpdf")
def _() -> Any:
    import pyhf

    model = pyhf.simplemodels.uncorrelated_background([12.0, 11.0], [50.0, 52.0], [3.0, 7.0])
    data = [55.0, 60.0, *model.config.auxdata]
    return lambda p: model.logpdf(p, data), [0.8, 1.05, 0.95]


@tried("pyhf", "pyhf.Model.expected_data (normsys, histosys)")
def _() -> Any:
    import pyhf

    model = pyhf.simplemodels.correlated_background([12.0, 11.0], [50.0, 52.0], [55.0, 58.0], [45.0, 48.0])
    return lambda p: model.expected_data(p), [0.3, 1.1]


@tried(
    "pykalman",
    "pykalman.KalmanFilter.loglikelihood",
    reason="observations become masked arrays, for whose masks a differentiable array has no place",
    remedy="Use the filter of filterpy",
)
def _() -> Any:
    from pykalman import KalmanFilter

    def function(p: Any) -> Any:
        filter = KalmanFilter(
            transition_matrices=np.array([[1.0, p[0]], [0.0, p[1]]]),
            observation_matrices=np.array([[1.0, 0.2]]),
            transition_covariance=np.eye(2) * p[2],
            observation_covariance=np.array([[p[3]]]),
            initial_state_mean=np.zeros(2),
            initial_state_covariance=np.eye(2),
        )
        return filter.loglikelihood(RETURNS[:6])

    return function, [0.4, 0.8, 0.3, 0.5]


@tried("hmmlearn", "hmmlearn.stats.log_multivariate_normal_density")
def _() -> Any:
    from hmmlearn.stats import log_multivariate_normal_density

    points = np.array([[0.3, 0.1], [1.1, -0.4], [0.2, 0.9]])
    return (
        lambda p: log_multivariate_normal_density(
            points, p.reshape(2, 2), np.array([np.eye(2), 2 * np.eye(2)]), "full"
        ),
        [0.1, 0.4, -0.2, 0.6],
    )


@tried("arch", "arch.univariate.Normal.loglikelihood")
def _() -> Any:
    from arch.univariate import Normal

    return lambda s: Normal().loglikelihood([], RETURNS[:5], s), [0.5, 0.8, 1.1, 0.7, 0.9]


@tried("arch", "arch.univariate.StudentsT.loglikelihood")
def _() -> Any:
    from arch.univariate import StudentsT

    return lambda p: StudentsT().loglikelihood(p[:1], RETURNS[:5], p[1:]), [5.0, 0.5, 0.8, 1.1, 0.7, 0.9]


@tried(
    "arch",
    "arch.univariate.recursions_python.garch_recursion_python",
    reason="it calls a function that numba compiles, which takes plain arrays alone",
    remedy="Set NUMBA_DISABLE_JIT=1 before the import",
)
def _() -> Any:
    from arch.univariate import recursions_python

    bounds = np.ones((30, 2)) * np.array([1e-6, 1e6])

    def function(p: Any) -> Any:
        sigma2 = np.zeros(30)
        return recursions_python.garch_recursion_python(
            p, RETURNS**2, np.sign(RETURNS), sigma2, 1, 0, 1, 30, 0.5, bounds
        )

    return function, [0.1, 0.2, 0.6]


@tried("emcee", "emcee.EnsembleSampler.compute_log_prob")
def _() -> Any:
    import emcee
    from scipy.special import logsumexp

    def log_probability(p: Any) -> Any:
        terms = np.stack([-0.5 * ((RETURNS - p[0]) / p[2]) ** 2, -0.5 * ((RETURNS - p[1]) / p[2]) ** 2])
        return np.sum(logsumexp(terms, axis=0)) - 30 * np.log(p[2])

    sampler = emcee.EnsembleSampler(6, 3, log_probability)
    return lambda x: sampler.compute_log_prob(x)[0], np.linspace(0.2, 1.1, 18).reshape(6, 3)


@tried("dynesty", "dynesty.bounding.Ellipsoid.distance")
def _() -> Any:
    from dynesty.bounding import Ellipsoid

    ellipsoid = Ellipsoid(2, np.zeros(2), np.array([[1.2, 0.3], [0.3, 0.8]]))
    return ellipsoid.distance, [0.4, 0.2]


@tried("scoringrules", "scoringrules.crps_normal")
def _() -> Any:
    import scoringrules

    return lambda p: scoringrules.crps_normal(RETURNS[:4], p[0], p[1], backend="numpy"), [0.3, 0.7]


@tried("scoringrules", "scoringrules.crps_ensemble")
def _() -> Any:
    import scoringrules

    return lambda x: scoringrules.crps_ensemble(0.4, x, backend="numpy"), RETURNS[:6]


@tried("scoringrules", "scoringrules.logs_gamma")
def _() -> Any:
    import scoringrules

    return lambda p: scoringrules.logs_gamma(0.8, p[0], p[1], backend="numpy"), [1.3, 0.7]


@tried("SALib", "SALib.test_functions.Ishigami.evaluate")
def _() -> Any:
    from SALib.test_functions import Ishigami

    return lambda x: Ishigami.evaluate(x), np.array([[0.3, -1.2, 2.0], [1.1, 0.4, -0.6]])


@tried(
    "SALib",
    "SALib.test_functions.Sobol_G.evaluate",
    reason="it asks for `type(values) == numpy.ndarray`, which no other class can be",
    remedy="Write the formula out: it is one line",
)
def _() -> Any:
    from SALib.test_functions import Sobol_G

    return lambda x: Sobol_G.evaluate(x), np.array([[0.3, 0.2, 0.9, 0.1, 0.6, 0.7, 0.85, 0.15]])


@tried("quantecon", "quantecon.LinearStateSpace.impulse_response")
def _() -> Any:
    from quantecon import LinearStateSpace

    def function(a: Any) -> Any:
        return LinearStateSpace(a, np.array([[0.5], [1.0]]), np.eye(2)).impulse_response(4)[1]

    return function, np.array([[0.8, 0.1], [-0.2, 0.7]])


@tried("quantecon", "quantecon.Kalman.update")
def _() -> Any:
    from quantecon import Kalman, LinearStateSpace

    def function(p: Any) -> Any:
        model = LinearStateSpace(np.array([[0.8, 0.1], [0.0, 0.7]]), np.eye(2) * 0.3, np.array([[1.0, 0.5]]),
                                 np.array([[0.4]]))  # fmt: skip
        kalman = Kalman(model, p[:2], np.array([[p[2], 0.1], [0.1, p[3]]]))
        kalman.update(np.array([0.7]))
        return [kalman.x_hat, kalman.Sigma]

    return function, [0.1, 0.4, 1.2, 0.9]


@tried("quantecon", "quantecon.LQ.update_values")
def _() -> Any:
    from quantecon import LQ

    def function(p: Any) -> Any:
        lq = LQ(p[0], np.array([[1.0, 0.2], [0.2, 2.0]]), np.array([[1.0, p[1]], [0.0, 0.9]]),
                np.array([[0.3], [1.0]]), C=np.array([[p[2]], [0.4]]), beta=0.95, T=3, Rf=np.eye(2))  # fmt: skip
        lq.update_values()
        lq.update_values()
        return [lq.P, lq.d, lq.F]

    return function, [0.6, 0.3, 0.2]


@tried("quantecon", "quantecon.solve_discrete_lyapunov")
def _() -> Any:
    from quantecon import solve_discrete_lyapunov

    return lambda a: solve_discrete_lyapunov(a, np.eye(2)), np.array([[0.6, 0.1], [-0.2, 0.5]])


@tried("quantecon", "quantecon.solve_discrete_riccati")
def _() -> Any:
    from quantecon import solve_discrete_riccati

    return (
        lambda a: solve_discrete_riccati(a, np.array([[0.0], [1.0]]), np.eye(2), np.eye(1)),
        np.array([[0.9, 0.2], [-0.1, 0.8]]),
    )


@tried("quantecon", "quantecon.shorrocks_index")
def _() -> Any:
    from quantecon import shorrocks_index

    return shorrocks_index, np.array([[0.9, 0.1], [0.4, 0.6]])


@tried(
    "quantecon",
    "quantecon.gini_coefficient",
    reason="it is compiled by numba, which takes plain arrays alone",
    remedy="Call `gini_coefficient.py_func`, or give it to `adjoint.custom`",
)
def _() -> Any:
    from quantecon import gini_coefficient

    return gini_coefficient, [0.4, 1.3, 2.0]


@tried("PyPortfolioOpt", "pypfopt.objective_functions.sharpe_ratio")
def _() -> Any:
    from pypfopt.objective_functions import sharpe_ratio

    return lambda w: sharpe_ratio(w, np.array([0.1, 0.2, 0.15]), np.eye(3) + 0.2, 0.02), [0.2, 0.5, 0.3]


@tried("PyPortfolioOpt", "pypfopt.objective_functions.quadratic_utility")
def _() -> Any:
    from pypfopt.objective_functions import quadratic_utility

    return lambda w: quadratic_utility(w, np.array([0.1, 0.2, 0.15]), np.eye(3) + 0.2, 2.0), [0.2, 0.5, 0.3]


@tried("numpy-financial", "numpy_financial.npv")
def _() -> Any:
    import numpy_financial

    return lambda p: numpy_financial.npv(p[0], p[1:]), [0.08, -100.0, 40.0, 50.0, 60.0]


@tried("numpy-financial", "numpy_financial.pmt")
def _() -> Any:
    import numpy_financial

    return lambda p: numpy_financial.pmt(p[0], 24, p[1], p[2]), [0.01, 1000.0, 100.0]


@tried("numpy-financial", "numpy_financial.irr")
def _() -> Any:
    import numpy_financial

    return numpy_financial.irr, [-100.0, 40.0, 50.0, 60.0]
