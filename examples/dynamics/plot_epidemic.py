"""
An epidemic in a boarding school
================================

In 1978 an English boarding school of 763 boys had an influenza epidemic. The number of boys in bed was noted each day.
We fit the SIR model: ``odeint`` solves its differential equation, and the Jacobian passes through the solution.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint
from adjoint.implicit import odeint

days = np.arange(14.0)
in_bed = np.array([3, 8, 26, 76, 225, 298, 258, 233, 189, 128, 68, 29, 14, 4.0])
boys = 763


def change(t, state, rates):
    susceptible, ill = state[0], state[1]
    infections = rates[0] * susceptible * ill / boys
    return np.stack([-infections, infections - rates[1] * ill])


def ill(rates, times=days):
    return odeint(change, np.array([boys - 3.0, 3.0]), times, rates)[:, 1]


solution = adjoint.optimize.least_squares(lambda rates: ill(rates) - in_bed, np.array([1.0, 0.3]))
infection, recovery = solution.x
spread = np.sqrt(np.diag(np.linalg.inv(solution.jac.T @ solution.jac)) * np.sum(solution.fun**2) / (len(days) - 2))
print(f"infection {infection:.3f} +- {spread[0]:.3f} a day, recovery {recovery:.3f} +- {spread[1]:.3f} a day")
print(f"one ill boy infects {infection / recovery:.2f} others")
# Murray, Mathematical Biology I, section 10.2, gives 1.66 and 0.44 a day
assert np.all(np.abs(solution.x - [1.66, 0.44]) < 2 * spread)

# %%
# Final size: the share s of boys that are never infected solves s = exp(-R (1 - s)). Its derivative by R follows from
# the equation, not from the steps of a solver.
ratio = infection / recovery
left = adjoint.implicit.root(lambda s, r: s - np.exp(-r * (1 - s)), 0.02, ratio)
slope = adjoint.grad(lambda r: adjoint.implicit.root(lambda s, r: s - np.exp(-r * (1 - s)), 0.02, r))(ratio)
exact = -left * (1 - left) / (1 - ratio * left)
print(f"never ill: {left:.4f} of all, changes by {slope:.5f} for each unit of R")
assert np.isclose(slope, exact, rtol=1e-8)

t = np.linspace(0, 13, 100)
plt.plot(t, ill(solution.x, t), label="model")
plt.plot(days, in_bed, "ko", label="boys in bed")
plt.xlabel("day")
plt.legend()
plt.show()
