"""
Optics: a lens without spherical aberration
===========================================

Parallel rays fall on the flat side of a lens of glass. A spherical back does not focus them at one point. Which conic
does? Snell's law gives the rays. The loss measures their distances from the focus. A minimiser of the loss by the conic
constant finds Descartes' hyperbola, :math:`k = -n^2`.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint

index, radius = 1.5, 50.0
focal = radius / (index - 1)
heights = np.linspace(1, 18, 18)


def sag(h, conic):
    """The distance between the back of the lens and its vertex plane at height h."""
    return h**2 / radius / (1 + np.sqrt(1 - (1 + conic) * h**2 / radius**2))


def trace(conic, h):
    """The positions of rays at the back of the lens, and their slopes behind it."""
    z = -sag(h, conic)
    steepness = h / np.sqrt(radius**2 - (1 + conic) * h**2)  # slope of the surface
    angle = np.arctan(steepness)  # angle between the ray and the normal of the surface
    outside = np.arcsin(index * np.sin(angle))
    return z, np.tan(outside - angle)


def spot(conic):
    z, slope = trace(conic, heights)
    miss = heights - slope * (focal - z)
    return np.sum(miss**2)


solution = adjoint.optimize.minimize(spot, 0.0, method="BFGS", options={"gtol": 1e-10})
conic = solution.x[0]
print(
    f"conic constant {conic:.6f}, Descartes {-(index**2):.6f}; misses {spot(0.0):.3g} before, {solution.fun:.3g} after"
)
assert abs(conic + index**2) < 1e-4 and solution.fun < 1e-9

# %%
figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 5))
for axis, k, title in zip(axes, (0.0, conic), ("sphere", "hyperbola"), strict=True):
    for h in np.linspace(-18, 18, 13):
        z, slope = trace(k, abs(h))
        end = focal + 15
        axis.plot([-25, z, end], [h, h, h - np.sign(h) * slope * (end - z)], color="C0", lw=0.7)
    profile = np.linspace(-20, 20, 100)
    axis.fill_betweenx(profile, -12, -sag(profile, k), color="C0", alpha=0.2)
    axis.set_title(title)
plt.show()
