"""
The curve of quickest descent
=============================

A bead slides without friction from one point to another. Which curve is the quickest? Bernoulli's answer is the
cycloid. We divide the curve into straight pieces. Newton's method minimises the time by the heights of the corners.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import optimize

import adjoint

gravity, width, depth, pieces = 9.81, 2.0, 1.0, 60
# the curve starts vertically, so the corners are closer together there
x = width * np.linspace(0, 1, pieces + 1) ** 2


def time(inner):
    """The time of the whole curve. On a straight piece the mean speed is the mean of the speeds at its ends."""
    y = np.concatenate([np.zeros(1), inner, np.full(1, depth)])
    speed = np.sqrt(2 * gravity * np.maximum(y, 1e-12))
    length = np.sqrt(np.diff(x) ** 2 + np.diff(y) ** 2)
    return np.sum(2 * length / (speed[1:] + speed[:-1]))


line = depth * x[1:-1] / width
solution = adjoint.optimize.minimize(time, np.sqrt(line), method="L-BFGS-B", options={"maxiter": 2000, "gtol": 1e-10})

# %%
# The cycloid through both points: :math:`x = r(\varphi - \sin\varphi)`, :math:`y = r(1 - \cos\varphi)`.
end = optimize.brentq(lambda a: (a - np.sin(a)) / (1 - np.cos(a)) - width / depth, 0.1, 6)
radius = depth / (1 - np.cos(end))
exact = end * np.sqrt(radius / gravity)
print(f"time {solution.fun:.5f} s, cycloid {exact:.5f} s, straight line {time(line):.5f} s")
assert exact <= solution.fun < 1.001 * exact

# %%
angle = np.linspace(0, end, 200)
plt.plot(
    radius * (angle - np.sin(angle)), -radius * (1 - np.cos(angle)), lw=6, alpha=0.3, label=f"cycloid, {exact:.3f} s"
)
plt.plot(x, -np.r_[0, solution.x, depth], ".-", color="C1", label=f"optimised, {solution.fun:.3f} s")
plt.plot([0, width], [0, -depth], color="0.5", ls=":", label=f"straight, {time(line):.3f} s")
plt.axis("equal")
plt.legend()
plt.show()
