"""Survival times with censoring
=============================

A Weibull regression with standard errors, and a fit of one group, which is compared with SciPy.

The data are the remission times, in weeks, of 42 patients with leukaemia, half of whom were given 6-mercaptopurine (E.
Gehan, Biometrika 52 (1965) 203-223). The regression is a standard example. For instance, R's survreg gives the results
below and the log-likelihood -106.6.
"""

from typing import Any, TypeAlias

import numpy as np
from scipy import stats

import adjoint

Vector: TypeAlias = np.ndarray[Any, Any]

TREATED = [6, 6, 6, 7, 10, 13, 16, 22, 23]
STILL_WELL = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
CONTROL = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]
PUBLISHED = {"intercept": (3.516, 0.252), "control": (-1.267, 0.311), "log scale": (-0.312, 0.147)}


def log_likelihood(location: Any, log_scale: Any, time: Vector, ended: Vector) -> Any:
    """The likelihood of log(time) = location + scale * W, where W has the least-extreme-value distribution.

    Observations without an end are censored.
    """
    z = (np.log(time) - location) / np.exp(log_scale)
    return np.sum(ended * (z - log_scale - np.log(time)) - np.exp(z))


def main() -> None:
    time = np.array(TREATED + STILL_WELL + CONTROL)
    ended = np.array([1.0] * len(TREATED) + [0.0] * len(STILL_WELL) + [1.0] * len(CONTROL))
    control = np.array([0.0] * (len(TREATED) + len(STILL_WELL)) + [1.0] * len(CONTROL))

    def loss(p: Any) -> Any:
        return -log_likelihood(p[0] + p[1] * control, p[2], time, ended)

    solution = adjoint.optimize.minimize(loss, [2.0, 0.0, 0.0], method="trust-exact", options={"gtol": 1e-10})
    errors = np.sqrt(np.diag(np.linalg.inv(adjoint.optimize.scipy_function(loss).hess(solution.x))))
    for (name, (value, error)), estimate, deviation in zip(PUBLISHED.items(), solution.x, errors, strict=True):
        print(f"{name:>10}: {estimate:7.4f} ({deviation:.4f})   published {value:7.3f} ({error:.3f})")
        assert abs(estimate - value) < 6e-4 and abs(deviation - error) < 6e-4
    print(f"log-likelihood {-solution.fun:.2f}   published -106.6")
    assert abs(-solution.fun + 106.6) < 0.06

    # the treated group alone, compared with SciPy's fit
    n = len(TREATED) + len(STILL_WELL)
    alone = adjoint.optimize.minimize(
        lambda p: -log_likelihood(p["location"], p["log scale"], time[:n], ended[:n]),
        {"location": 3.0, "log scale": 0.0},
        method="trust-exact",
        options={"gtol": 1e-10},
    )
    data = stats.CensoredData.right_censored([*TREATED, *STILL_WELL], 1 - ended[:n])
    shape, _, scale = stats.weibull_min.fit(data, floc=0)
    ours = np.exp(-alone.x["log scale"]), np.exp(alone.x["location"])
    print(f"treated alone: shape {ours[0]:.4f}, scale {ours[1]:.4f}   SciPy: {shape:.4f}, {scale:.4f}")
    assert np.allclose(ours, (shape, scale), rtol=1e-3)


if __name__ == "__main__":
    main()
