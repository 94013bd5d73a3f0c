"""
Tomography: an image from its shadows
=====================================

A scanner measures sums along rays at sixty angles. The rays are a sparse matrix, and ``A @ x`` has a derivative like
any other product. Pixels are not negative, so each one is a square. We minimise by a Gauss-Newton method that never
forms the Jacobian, and compare with a plain least-squares solution.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy import sparse
from scipy.sparse.linalg import lsqr

import adjoint

n, n_angles = 48, 60
y, x = np.mgrid[:n, :n] - (n - 1) / 2
disc = np.hypot(x, y) < 0.45 * n
phantom = 1.0 * disc - 0.6 * (np.hypot(x / 1.5, y + 6) < 7) + 0.8 * (np.hypot(x - 6, y - 9) < 4)

rows, columns, weights = [], [], []
for k, angle in enumerate(np.linspace(0, np.pi, n_angles, endpoint=False)):
    position = x * np.cos(angle) + y * np.sin(angle) + n / 2 - 0.5
    left = np.floor(position).astype(int)
    for ray, weight in ((left, 1 - (position - left)), (left + 1, position - left)):
        in_picture = (ray >= 0) & (ray < n)
        rows.append((k * n + ray)[in_picture])
        columns.append(np.arange(n * n).reshape(n, n)[in_picture])
        weights.append(weight[in_picture])
indices = np.concatenate(rows), np.concatenate(columns)
rays = sparse.csr_array((np.concatenate(weights), indices), shape=(n_angles * n, n * n))
rng = np.random.default_rng(0)
measured = rays @ phantom.ravel() + 0.5 * rng.normal(size=n_angles * n)


# %%
def residuals(root):
    pixels = root**2
    picture = pixels.reshape(n, n)
    rough = np.concatenate([np.diff(picture, axis=0).reshape(-1), np.diff(picture, axis=1).reshape(-1)])
    return np.concatenate([rays @ pixels - measured, 0.7 * rough])


solution = adjoint.optimize.minimize(
    lambda root: 0.5 * np.sum(residuals(root) ** 2), np.full(n * n, 0.5), method="L-BFGS-B", options={"maxiter": 200}
)
positive = (solution.x**2).reshape(n, n)
plain = lsqr(rays, measured, iter_lim=200)[0].reshape(n, n)


def error(picture):
    return np.linalg.norm(picture - phantom) / np.linalg.norm(phantom)


print(f"error of least squares {error(plain):.3f}, with smooth and positive pixels {error(positive):.3f}")
assert error(positive) < 0.15 and error(positive) < 0.7 * error(plain)

# %%
figure, axes = plt.subplots(1, 4, figsize=(10, 2.9))
pictures = {"true": phantom, "measured": measured.reshape(n_angles, n), "least squares": plain, "positive": positive}
for axis, (title, picture) in zip(axes, pictures.items(), strict=True):
    axis.imshow(picture, cmap="gray", aspect="auto", **({} if title == "measured" else {"vmin": 0, "vmax": 1.8}))
    axis.set_title(title)
    axis.set_axis_off()
plt.show()
