"""
Hamiltonian Monte Carlo on a curved ridge
=========================================

Hamiltonian Monte Carlo uses the gradient of the log density to make long steps along a narrow, curved ridge. The
density has a known answer: :math:`x` is standard normal, and :math:`y` given :math:`x` is normal around :math:`x^2`
with standard deviation 0.5. So the means are 0 and 1, and the variances 1 and 2.25. All 200 chains run as one array.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint


def energy(q):  # minus the log density, summed over the independent chains
    x, y = q[:, 0], q[:, 1]
    return np.sum(0.5 * x**2 + 0.5 * ((y - x**2) / 0.5) ** 2)


force = adjoint.value_and_grad(energy)
rng = np.random.default_rng(1)
step, n_steps, n_chains = 0.08, 25, 200


def each(q):
    return 0.5 * q[:, 0] ** 2 + 0.5 * ((q[:, 1] - q[:, 0] ** 2) / 0.5) ** 2


x = rng.normal(size=n_chains)
q = np.c_[x, x**2]
samples, accepted = [], 0.0
for iteration in range(300):
    p = rng.normal(size=q.shape)
    new, momentum = q, p - 0.5 * step * force(q)[1]
    for k in range(n_steps):  # leapfrog
        new = new + step * momentum
        momentum = momentum - step * (1.0 if k < n_steps - 1 else 0.5) * force(new)[1]
    change = each(q) + 0.5 * np.sum(p**2, axis=1) - each(new) - 0.5 * np.sum(momentum**2, axis=1)
    accepts = np.log(rng.uniform(size=n_chains)) < change
    q = np.where(accepts[:, None], new, q)
    accepted += accepts.mean() / 300
    if iteration >= 50:
        samples.append(q)
samples = np.concatenate(samples)
print("mean", samples.mean(0).round(2), "variance", samples.var(0).round(2), f"accepted {accepted:.0%}")
assert np.allclose(samples.mean(0), [0, 1], atol=0.08) and np.allclose(samples.var(0), [1, 2.25], rtol=0.12)

# %%
plt.plot(*samples[::5].T, ".", ms=1.5, alpha=0.5)
grid_x, grid_y = np.meshgrid(np.linspace(-3.5, 3.5, 200), np.linspace(-2, 10, 200))
log_density = -0.5 * grid_x**2 - 2 * (grid_y - grid_x**2) ** 2
plt.contour(grid_x, grid_y, log_density, levels=[-8, -4, -2, -0.5], colors="C1")
plt.xlabel("x")
plt.ylabel("y")
plt.title(f"{len(samples)} samples and the true density")
plt.show()
