"""
A climate of two boxes
======================

The upper ocean warms quickly, the deep ocean slowly. How large is the warming for a doubled amount of carbon dioxide,
and how uncertain is it? The model has four parameters. The derivative of the solution by the parameters turns their
uncertainties into uncertainties of temperatures.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint
from adjoint.implicit import odeint

forcing = 3.7  # W/m^2, for twice the carbon dioxide
#: Feedback and exchange in W/m^2/K, heat capacities in W years/m^2/K: means of climate models (Geoffroy et al., 2013)
best = np.array([1.13, 0.73, 7.3, 91.0])
deviation = np.array([0.31, 0.18, 1.1, 27.0])


def change(t, temperature, p):
    upper, deep = temperature[0], temperature[1]
    exchange = p[1] * (upper - deep)
    return np.stack([(forcing - p[0] * upper - exchange) / p[2], exchange / p[3]])


years = np.linspace(0, 300, 61)


def warming(p):
    return odeint(change, np.zeros(2), years, p, rtol=1e-9, atol=1e-9)[:, 0]


# %%
# The equations are linear: the exact solution is a sum of two exponentials.
matrix = np.array([[-(best[0] + best[1]) / best[2], best[1] / best[2]], [best[1] / best[3], -best[1] / best[3]]])
rates, modes = np.linalg.eig(matrix)
weights = np.linalg.solve(modes, np.full(2, forcing / best[0]))
exact = forcing / best[0] - (modes * weights) @ np.exp(rates[:, None] * years)
temperature = warming(best)
print(f"in the end {forcing / best[0]:.2f} K; times {np.sort(-1 / rates).round(1)} years")
assert np.allclose(temperature, exact[0], atol=1e-6)

# %%
# Forward mode: four parameters, four tangents, one pass.
sensitivity = adjoint.func.jacfwd(warming)(best)
assert np.isclose(adjoint.grad(lambda p: warming(p)[-1])(best)[0], sensitivity[-1, 0], rtol=1e-5)
uncertainty = np.abs(sensitivity * deviation)
total = np.sqrt(np.sum(uncertainty**2, axis=1))
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.5))
left.fill_between(years, temperature - total, temperature + total, alpha=0.25)
left.plot(years, temperature)
left.set_title("warming of the surface, K")
right.plot(years, uncertainty, label=["feedback", "exchange", "upper ocean", "deep ocean"])
right.set_title("of its uncertainty, from")
right.legend()
for axis in (left, right):
    axis.set_xlabel("years after the doubling")
plt.show()
