"""
Molecular dynamics: a cluster of thirteen atoms
===============================================

Noble gas atoms attract each other at a distance and repel each other when close. The energy is one function. The forces
are minus its gradient, and the Hessian gives the frequencies of the vibrations. Thirteen atoms form an icosahedron,
with the known energy -44.326801.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint

n = 13
first, second = np.triu_indices(n, 1)


def energy(x):
    r2 = np.sum((x[first] - x[second]) ** 2, axis=1)
    return 4 * np.sum(r2**-6 - r2**-3)


forces = adjoint.value_and_grad(energy)

# %%
# Hot atoms cool down slowly (velocity Verlet with friction). Then the minimiser finds the exact positions.
golden = (1 + 5**0.5) / 2
corners = [(0, a, b * golden) for a in (-1, 1) for b in (-1, 1)]
icosahedron = np.array([(0, 0, 0), *corners, *[(z, x, y) for x, y, z in corners], *[(y, z, x) for x, y, z in corners]])
rng = np.random.default_rng(0)
x = 0.6 * icosahedron + 0.1 * rng.normal(size=(n, 3))
v, h, energies = np.zeros((n, 3)), 0.004, []
slope = forces(x)[1]
for _ in range(1500):
    v -= 0.5 * h * slope
    x = x + h * v
    value, slope = forces(x)
    v = 0.998 * (v - 0.5 * h * slope)
    energies.append(value)
solution = adjoint.optimize.minimize(energy, x, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
print(f"energy {solution.fun:.6f}")
assert abs(solution.fun + 44.326801) < 1e-5  # Hoare and Pal, 1971

# %%
# Small vibrations: the eigenvalues of the Hessian. Six of them are zero, since shifts and rotations do not change
# the energy.
hessian = adjoint.hessian(energy)(solution.x).reshape(3 * n, 3 * n)
eigenvalues = np.linalg.eigvalsh(hessian)
assert np.allclose(eigenvalues[:6], 0, atol=1e-6) and eigenvalues[6] > 1
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
left.plot(energies)
left.axhline(-44.326801, color="0.5", ls=":", label="known minimum")
left.set_xlabel("step")
left.set_title("energy while it cools")
left.legend()
right.stem(np.sqrt(np.maximum(eigenvalues, 0)), basefmt=" ")
right.set_xlabel("mode")
right.set_title("frequencies")
plt.show()
