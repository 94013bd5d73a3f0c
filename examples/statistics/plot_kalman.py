"""
The Nile and the Kalman filter
==============================

The model of the Nile's yearly flow from 1871 to 1970 is a random walk, measured with noise. The Kalman filter gives
the likelihood of both variances. adjoint differentiates the filter's loop. The optimum is the one in Durbin and
Koopman's book.
"""

import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import nile

import adjoint

data = nile.load_pandas().data
flow = data["volume"].to_numpy(dtype=float)


def kalman_filter(log_variances):
    """The levels that the filter predicts, and the log likelihood of the flows."""
    noise, drift = np.exp(log_variances)
    level, variance, total, levels = flow[0], noise, 0.0, [flow[0]]
    for measured in flow[1:]:
        expected = variance + drift
        scale = expected + noise
        surprise = measured - level
        total = total - 0.5 * (np.log(2 * np.pi * scale) + surprise**2 / scale)
        gain = expected / scale
        level, variance = level + gain * surprise, gain * noise
        levels.append(level)
    return levels, total


# %%
# Variances are positive and large, so the variables are their logarithms. ``compile=True`` records the loop once.
solution = adjoint.optimize.minimize(lambda p: -kalman_filter(p)[1], np.log([1e4, 1e3]), method="BFGS", compile=True)
variances = np.exp(solution.x)
print(f"variance of the measurement {variances[0]:.0f}, of the level's steps {variances[1]:.1f}")
assert np.allclose(variances, [15099, 1469.1], rtol=1e-3)  # Durbin and Koopman, section 2.10.3

# %%
plt.plot(data["year"], flow, ".-", lw=0.6, label="measured")
plt.plot(data["year"], kalman_filter(solution.x)[0], lw=2, label="level")
plt.axvline(1899, color="0.5", ls=":", label="dam at Aswan")
plt.ylabel("flow of the Nile, 10$^8$ m$^3$ a year")
plt.legend()
plt.show()
