"""
Electrons on a sphere
=====================

Electrons on a sphere repel each other. Which positions have the least energy? This is Thomson's problem. The variables
are points in space, which are projected onto the sphere, so there are no constraints. The energies are known.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint


def energy(x):
    points = x / np.sqrt(np.sum(x**2, axis=1, keepdims=True))
    a, b = np.triu_indices(len(points), 1)
    return np.sum(1 / np.sqrt(np.sum((points[a] - points[b]) ** 2, axis=1)))


KNOWN = {4: 3.674234614, 6: 9.985281374, 12: 49.165253058, 24: 223.347074052, 32: 412.261274651}
rng = np.random.default_rng(2)
points = {}
for n, energy_in_table in KNOWN.items():
    tries = [
        adjoint.optimize.minimize(
            energy, rng.normal(size=(n, 3)), method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}
        )
        for _ in range(3)
    ]
    best = min(tries, key=lambda solution: solution.fun)
    points[n] = best.x / np.linalg.norm(best.x, axis=1, keepdims=True)
    print(f"{n:3d} electrons: {best.fun:.9f}, known {energy_in_table:.9f}")
    assert abs(best.fun - energy_in_table) < 1e-6  # Wales and Ulker, 2006

# %%
figure = plt.figure(figsize=(9, 3.2))
for column, n in enumerate((6, 12, 32), 1):
    axis = figure.add_subplot(1, 3, column, projection="3d")
    p = points[n]
    for i in range(n):
        for j in np.argsort(np.linalg.norm(p - p[i], axis=1))[1:6]:
            axis.plot(*p[[i, j]].T, color="C0", lw=0.6, alpha=0.5)
    axis.scatter(*p.T, color="C1", s=30)
    axis.set_title(f"{n} electrons")
    axis.set_axis_off()
    axis.set_box_aspect((1, 1, 1), zoom=1.5)
plt.show()
