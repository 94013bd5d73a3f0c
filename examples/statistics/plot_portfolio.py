"""
Portfolios: least risk, and equal risk
======================================

The portfolio of least variance has a closed form. A solver with exact derivatives must find it. The portfolio in which
each asset has the same share of the risk has no closed form. Newton's method finds it as the minimum of a convex
function.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint

names = ["shares A", "shares B", "bonds", "gold", "property"]
volatility = np.array([0.22, 0.28, 0.06, 0.16, 0.12])
correlation = np.array(
    [
        [1.0, 0.7, 0.0, 0.1, 0.5],
        [0.7, 1.0, -0.1, 0.2, 0.4],
        [0.0, -0.1, 1.0, 0.1, 0.2],
        [0.1, 0.2, 0.1, 1.0, 0.0],
        [0.5, 0.4, 0.2, 0.0, 1.0],
    ]
)
covariance = correlation * np.outer(volatility, volatility)


def risk(w):
    return np.sqrt(w @ covariance @ w)


# %%
# The least variance for weights whose sum is one. The last weight is eliminated. Then the closed form.
def complete(free):
    return np.concatenate([free, 1 - np.sum(free, keepdims=True)])


least = adjoint.optimize.minimize(
    lambda free: risk(complete(free)) ** 2, np.full(4, 0.2), method="trust-exact", tol=1e-12
)
least = complete(least.x)
exact = np.linalg.solve(covariance, np.ones(5))
exact /= exact.sum()
print("least variance", least.round(4))
assert np.allclose(least, exact, atol=1e-6)

# %%
# Equal risk: the minimum of :math:`\tfrac12 w^T C w - \sum_i \log w_i`. The share of an asset in the risk is
# :math:`w_i\,\partial r / \partial w_i`, a gradient.
logs = adjoint.optimize.minimize(
    lambda u: 0.5 * np.exp(u) @ covariance @ np.exp(u) - np.sum(u), np.zeros(5), method="trust-exact", tol=1e-12
)
equal = np.exp(logs.x) / np.exp(logs.x).sum()
shares = {name: w * adjoint.grad(risk)(w) / risk(w) for name, w in (("least variance", least), ("equal risk", equal))}
print("shares of the risk", shares["equal risk"].round(6))
assert np.allclose(shares["equal risk"], 0.2, atol=1e-6)

# %%
figure, axes = plt.subplots(1, 2, sharey=True, figsize=(8, 3.6))
for axis, (title, w) in zip(axes, (("least variance", least), ("equal risk", equal)), strict=True):
    positions = np.arange(5)
    axis.bar(positions - 0.2, w, 0.4, label="weight")
    axis.bar(positions + 0.2, shares[title], 0.4, label="share of the risk")
    axis.set_xticks(positions, names, rotation=30)
    axis.set_title(f"{title}: volatility {risk(w):.1%}")
axes[1].legend()
plt.show()
