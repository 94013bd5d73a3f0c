"""
An inverse problem: what conducts the heat?
===========================================

A plate is heated evenly and kept cold at its edge. We compute the conductivity at every point from the temperatures.
The temperature solves a sparse linear system. ``spsolve`` has derivatives by the matrix's entries. The gradient needs
one more solve with the same factorisation.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint
from adjoint.implicit import spsolve

n = 24
cell = np.arange(n * n).reshape(n, n)
x, y = (np.mgrid[:n, :n] + 0.5) / n
truth = (
    1.0
    + 1.5 * np.exp(-60 * ((x - 0.35) ** 2 + (y - 0.4) ** 2))
    - 0.5 * np.exp(-60 * ((x - 0.7) ** 2 + (y - 0.65) ** 2))
)

across, below = (cell[:, :-1].ravel(), cell[:, 1:].ravel()), (cell[:-1].ravel(), cell[1:].ravel())
one = np.concatenate([across[0], below[0]])
other = np.concatenate([across[1], below[1]])
# the number of sides of each cell at the cold edge
sides = sum((np.indices((n, n))[k] == end).astype(float) for k in (0, 1) for end in (0, n - 1)).ravel()
rows = np.concatenate([one, other, one, other, cell.ravel()])
columns = np.concatenate([one, other, other, one, cell.ravel()])
heat = np.full(n * n, 1.0 / n**2)


def temperature(conductivity):
    k = conductivity.reshape(-1)
    link = 2 * k[one] * k[other] / (k[one] + k[other])  # two half cells in series
    entries = np.concatenate([link, link, -link, -link, 2 * sides * k])
    return spsolve(entries, np.stack([rows, columns]), heat)


measured = temperature(truth)


# %%
# The loss has a small penalty on differences of the logarithm of the conductivity.
def loss(log_k):
    misfit = (temperature(np.exp(log_k)) - measured) / measured.max()
    smooth = np.sum(np.diff(log_k, axis=0) ** 2) + np.sum(np.diff(log_k, axis=1) ** 2)
    return np.sum(misfit**2) + 1e-7 * smooth


start = np.zeros((n, n))
direction = np.random.default_rng(0).normal(size=(n, n))
difference = (loss(1e-5 * direction) - loss(-1e-5 * direction)) / 2e-5
assert np.isclose(np.sum(adjoint.grad(loss)(start) * direction), difference, rtol=1e-6)

solution = adjoint.optimize.minimize(
    loss, start, method="L-BFGS-B", options={"maxiter": 250, "ftol": 1e-16, "gtol": 1e-12}
)
estimate = np.exp(solution.x)
print(f"error of the conductivity {np.linalg.norm(estimate - truth) / np.linalg.norm(truth):.3f}")
assert np.linalg.norm(estimate - truth) < 0.05 * np.linalg.norm(truth)

# %%
figure, axes = plt.subplots(1, 3, figsize=(9.5, 3))
pictures = {"temperature": measured.reshape(n, n), "conductivity, found": estimate, "conductivity, true": truth}
for axis, (title, picture) in zip(axes, pictures.items(), strict=True):
    limits = {} if title == "temperature" else {"vmin": truth.min(), "vmax": truth.max()}
    figure.colorbar(axis.imshow(picture, cmap="viridis", **limits), ax=axis, shrink=0.8)
    axis.set_title(title)
    axis.set_axis_off()
plt.show()
