"""
Bundle adjustment: where were the cameras?
==========================================

Eight cameras see sixty points of a scene. We compute the points and the cameras from the positions in the pictures.
Each measurement depends on one camera and one point, so the Jacobian is sparse. adjoint finds its pattern, and computes
it by a few products.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint

rng = np.random.default_rng(0)
n_cameras, n_points = 8, 60
points = np.c_[rng.uniform(-2, 2, (n_points, 2)), rng.uniform(4, 7, n_points)]
around = np.linspace(-1, 1, n_cameras)
cameras = np.c_[
    0.1 * np.sin(3 * around), -0.15 * around, 0 * around, 1.5 * around, 0.3 * np.cos(2 * around), 0 * around
]
camera, point = np.repeat(np.arange(n_cameras), n_points), np.tile(np.arange(n_points), n_cameras)


def project(cameras, points):
    """Positions in the pictures: the points are rotated about the axes, shifted, and divided by their distance."""
    a, b, c, *move = [cameras[camera, k] for k in range(6)]
    x, y, z = [points[point, k] for k in range(3)]
    y, z = np.cos(a) * y - np.sin(a) * z, np.sin(a) * y + np.cos(a) * z
    x, z = np.cos(b) * x + np.sin(b) * z, -np.sin(b) * x + np.cos(b) * z
    x, y = np.cos(c) * x - np.sin(c) * y, np.sin(c) * x + np.cos(c) * y
    x, y, z = x + move[0], y + move[1], z + move[2]
    return np.concatenate([x / z, y / z])


pictures = project(cameras, points)


# %%
# A common shift, rotation or scaling of scene and cameras does not change the pictures. So the first camera is fixed,
# and one coordinate of the second.
def residuals(p):
    fixed = np.zeros((n_cameras, 6))
    fixed[0], fixed[1, 3] = 1, 1
    placed = np.where(fixed > 0, cameras, p["cameras"])
    return project(placed, p["points"]) - pictures


start = {
    "cameras": cameras + 0.05 * rng.normal(size=cameras.shape),
    "points": points + 0.3 * rng.normal(size=points.shape),
}
solution = adjoint.optimize.least_squares(residuals, start, jac="sparse", ftol=1e-15, xtol=1e-15, gtol=1e-15)
estimate = solution.x["points"]
error = np.abs(estimate - points).max()
print(f"largest error in the pictures {np.abs(solution.fun).max():.1e}, of the points {error:.1e}")
assert error < 1e-6

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
left.spy(solution.jac, markersize=0.4, aspect="auto")
left.set_title(f"the Jacobian, {solution.jac.shape[0]} x {solution.jac.shape[1]}")
right.plot(points[:, 0], points[:, 2], "o", mfc="none", label="true points")
right.plot(start["points"][:, 0], start["points"][:, 2], ".", color="0.6", label="first guess")
right.plot(estimate[:, 0], estimate[:, 2], "x", ms=4, label="found")
right.set_xlabel("x")
right.set_ylabel("distance")
right.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
plt.show()
