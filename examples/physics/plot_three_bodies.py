"""
Three bodies on a figure of eight
=================================

Three equal masses can chase each other on a curve like an eight. We compute this orbit. The initial velocity and the
period are unknown. After one period the state must be the initial one. Newton's method needs the derivative of the
final state by the unknowns. Forward mode computes it through the integrator.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint

x0 = np.array([[-0.97000436, 0.24308753], [0.97000436, -0.24308753], [0.0, 0.0]])


def acceleration(x):
    d = x[None, :, :] - x[:, None, :]
    r2 = np.sum(d**2, axis=-1) + np.eye(3)  # avoids division by 0; these distances are not used
    return np.sum(d / r2[:, :, None] ** 1.5, axis=1)


#: Yoshida's integrator of fourth order: fractions of a step for positions and for velocities.
ROOT = 2 ** (1 / 3)
W = 1 / (2 - ROOT)
DRIFTS = [W / 2, (1 - ROOT) * W / 2, (1 - ROOT) * W / 2, W / 2]
KICKS = [W, -ROOT * W, W]


def fly(unknown, steps=240):
    """All positions, and the last position and velocity."""
    pair, period = unknown[:2], unknown[2]
    velocity = np.stack([pair, pair, -2 * pair])
    x, h, path = x0, period / steps, []
    for _ in range(steps):
        for drift, kick in zip(DRIFTS, [*KICKS, 0.0], strict=True):
            x = x + drift * h * velocity
            if kick:
                velocity = velocity + kick * h * acceleration(x)
        path.append(x)
    return path, x, velocity


def mismatch(unknown):
    _, x, velocity = fly(unknown)
    return np.concatenate([(x - x0).reshape(-1), velocity[0] - unknown[:2]])


# %%
# There are eight equations and three unknowns. Gauss-Newton steps start from a rough guess.
slope = adjoint.func.jacfwd(mismatch)  # three columns: three tangents at once
unknown = np.array([0.47, 0.43, 6.33])
for _ in range(6):
    unknown = unknown - np.linalg.lstsq(slope(unknown), mismatch(unknown))[0]
print("velocity and period", unknown.round(6), "mismatch", np.abs(mismatch(unknown)).max())
assert np.allclose(unknown, [0.466203685, 0.43236573, 6.32591398], atol=1e-5)  # Chenciner and Montgomery, 2000

# %%
path = np.array(fly(unknown)[0])
for body in range(3):
    third = path[: len(path) // 3, body]
    plt.plot(*third.T, lw=2)
    plt.plot(*third[-1], "o", color=f"C{body}", ms=10)
plt.axis("equal")
plt.title("the way of each body in a third of the period")
plt.show()
