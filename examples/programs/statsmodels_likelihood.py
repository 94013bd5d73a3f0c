"""Score and Hessian for a statsmodels model
=========================================

The likelihood defines a statsmodels model. adjoint gives its score and its Hessian, in place of finite differences. The
data are counts with a larger variance than Poisson's: the negative binomial distribution with mean m = exp(x b) and
variance m + a m^2. We compare with statsmodels' own model, whose derivatives are written by hand.
"""

import numpy as np
import statsmodels.api as sm
from statsmodels.base.model import GenericLikelihoodModel

import adjoint
from adjoint import Tensor


def log_likelihood(params: Tensor, counts: Tensor, regressors: Tensor) -> Tensor:
    mean, alpha = (regressors @ params[:-1]).exp(), params[-1]
    size = 1 / alpha
    return (
        adjoint.lgamma(counts + size)
        - adjoint.lgamma(size)
        - adjoint.lgamma(counts + 1)
        - size * adjoint.log1p(alpha * mean)
        + counts * (alpha * mean / (1 + alpha * mean)).log()
    ).sum()


class NegativeBinomial(GenericLikelihoodModel):
    """The model of the likelihood above."""

    def __init__(self, endog: np.ndarray, exog: np.ndarray) -> None:
        super().__init__(endog, exog, extra_params_names=["alpha"])
        data = adjoint.from_numpy(np.array(endog, dtype=float)), adjoint.from_numpy(np.array(exog))
        self.function = adjoint.optimize.scipy_function(log_likelihood, args=data)

    def loglike(self, params: np.ndarray) -> float:
        return self.function.fun(params)

    def score(self, params: np.ndarray) -> np.ndarray:
        return self.function.jac(params)

    def hessian(self, params: np.ndarray) -> np.ndarray:
        return self.function.hess(params)


def main() -> None:
    rng = np.random.default_rng(1)
    exog = sm.add_constant(rng.normal(size=(400, 2)))
    mean = np.exp(exog @ [1.0, 0.5, -0.3])
    endog = rng.poisson(mean * rng.gamma(2.0, 0.5, size=400))

    start = np.append(sm.Poisson(endog, exog).fit(disp=False).params, 0.5)
    ours = NegativeBinomial(endog, exog).fit(start, method="newton", disp=False)
    theirs = sm.NegativeBinomial(endog, exog).fit(disp=False, method="newton", maxiter=100)
    print(f"parameters      {ours.params.round(6)}, built in: {theirs.params.round(6)}")
    print(f"standard errors {ours.bse.round(6)}, built in: {theirs.bse.round(6)}")
    print(f"log-likelihood  {ours.llf:.6f}, built in: {theirs.llf:.6f}")
    assert np.allclose(ours.params, theirs.params, rtol=1e-5, atol=1e-6)
    assert np.allclose(ours.bse, theirs.bse, rtol=1e-3)
    assert np.abs(ours.model.score(ours.params)).max() < 1e-6


if __name__ == "__main__":
    main()
