"""
A neural network as a law of motion
===================================

We know points of a spiral, but not the law of their motion. A small network replaces the law. We train it so that
solutions pass through the points. At the end we compute a solution from another start, which was not in the training.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint

matrix = np.array([[-0.1, 2.0], [-2.0, -0.1]])
times = np.linspace(0, 3, 31)
h = times[1] - times[0]


def law(x, w):
    return np.tanh(x @ w["a"] + w["b"]) @ w["c"] + w["d"]


def flow(start, w):
    """The states at the given times for several starts at once, by the Runge-Kutta method."""
    x, states = start, [start]
    for _ in times[1:]:
        k1 = law(x, w)
        k2 = law(x + 0.5 * h * k1, w)
        k3 = law(x + 0.5 * h * k2, w)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + law(x + h * k3, w))
        states.append(x)
    return np.stack(states)


def true_flow(start):
    rates, modes = np.linalg.eig(matrix)
    return np.stack([(modes @ np.diag(np.exp(rates * t)) @ np.linalg.solve(modes, start.T)).real.T for t in times])


rng = np.random.default_rng(0)
starts = np.array([[2.0, 0.0], [0.0, 1.2], [-1.0, -1.0], [0.5, 0.3]])
data = true_flow(starts)
w = {
    "a": 0.3 * rng.normal(size=(2, 24)),
    "b": 0.1 * rng.normal(size=24),
    "c": 0.3 * rng.normal(size=(24, 2)),
    "d": np.zeros(2),
}

# %%
# A quasi-Newton method is suitable, since there are only 122 weights. The loop over time is recorded once and replayed.
solution = adjoint.optimize.minimize(
    lambda w: np.mean((flow(starts, w) - data) ** 2), w, method="L-BFGS-B", options={"maxiter": 400}, compile=True
)
other = np.array([[1.4, -0.6]])
error = np.abs(flow(other, solution.x) - true_flow(other)).max()
print(f"mean square {solution.fun:.1e}; on a way that was not shown, the largest error is {error:.3f}")
assert solution.fun < 1e-3 and error < 0.15

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 4))
for k in range(len(starts)):
    left.plot(*data[:, k].T, "k.", ms=3)
    left.plot(*flow(starts, solution.x)[:, k].T, color="C0")
left.plot(*true_flow(other)[:, 0].T, "k:", lw=2, label="true way of another start")
left.plot(*flow(other, solution.x)[:, 0].T, color="C1", label="by the network")
left.legend(loc="lower left")
left.set_title("points that were shown, and solutions")
grid = np.stack(np.meshgrid(np.linspace(-2, 2, 15), np.linspace(-2, 2, 15)), axis=-1)
field, true_field = law(grid, solution.x), grid @ matrix.T
right.quiver(*grid.T, *true_field.T, color="0.6", label="true")
right.quiver(*grid.T, *field.T, color="C0", alpha=0.8, label="network")
right.set_title("the law of motion")
for axis in (left, right):
    axis.set_aspect("equal")
plt.show()
