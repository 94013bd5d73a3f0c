"""
Greeks of an option
===================

The sensitivities of an option's price are derivatives up to the second order. We write only the price, by Black and
Scholes' formula. Its gradient and its Hessian give delta, gamma, vega, theta and rho.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import special

import adjoint


def price(p):
    spot, volatility, years, rate = p
    strike = 100.0
    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * years) / spread
    return spot * special.ndtr(d1) - strike * np.exp(-rate * years) * special.ndtr(d1 - spread)


greeks, second = adjoint.grad(price), adjoint.hessian(price)
at = np.array([105.0, 0.25, 0.5, 0.03])
delta, vega, theta, rho = greeks(at)
gamma = second(at)[0, 0]
print(f"delta {delta:.5f}, gamma {gamma:.5f}, vega {vega:.4f}, theta {-theta:.4f}, rho {rho:.4f}")

# %%
# The formulas in textbooks.
spot, volatility, years, rate = at
d1 = (np.log(spot / 100) + (rate + volatility**2 / 2) * years) / (volatility * np.sqrt(years))
density = np.exp(-(d1**2) / 2) / np.sqrt(2 * np.pi)
assert np.allclose([delta, gamma], [special.ndtr(d1), density / (spot * volatility * np.sqrt(years))], rtol=1e-12)
assert np.isclose(vega, spot * density * np.sqrt(years), rtol=1e-12)

# %%
# ``vmap`` computes the Greeks for many spot prices at once.
spots = np.linspace(60, 140, 200)
figure, axes = plt.subplots(1, 3, figsize=(9, 3))
for remaining in (0.05, 0.25, 1.0):
    points = np.c_[spots, np.full(200, 0.25), np.full(200, remaining), np.full(200, 0.03)]
    first, curvature = adjoint.vmap(greeks)(points), adjoint.vmap(second)(points)
    for axis, values in zip(axes, (first[:, 0], curvature[:, 0, 0], first[:, 1]), strict=True):
        axis.plot(spots, values, label=f"{remaining} years")
for axis, title in zip(axes, ("delta", "gamma", "vega"), strict=True):
    axis.set_title(title)
    axis.set_xlabel("price of the share")
axes[0].legend()
plt.show()
