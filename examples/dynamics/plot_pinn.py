"""
A network that obeys a differential equation
============================================

A *physics-informed* network needs no data. Its loss measures the error in :math:`u'' + u^2 u' = f` and in the boundary
values. Forward mode gives the derivatives by the position inside of the loss. Reverse mode through them gives the
gradient by the weights.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint

points = np.linspace(0, 1, 40)


def exact(x):
    return np.sin(np.pi * x) * np.exp(x)


# the right-hand side for the exact solution, by two levels of forward mode
slope = lambda f: lambda x: adjoint.jvp(f, (x,), (np.ones_like(x),))[1]
right_hand_side = slope(slope(exact))(points) + exact(points) ** 2 * slope(exact)(points)


def network(w, x):
    hidden = np.tanh(x[:, None] * w["a"] + w["b"])
    hidden = np.tanh(hidden @ w["c"] + w["d"])
    return x * (1 - x) * (hidden @ w["e"])  # zero at both ends


def residual(w, x):
    u = lambda x: network(w, x)
    return slope(slope(u))(x) + u(x) ** 2 * slope(u)(x)


rng = np.random.default_rng(0)
start = {"a": rng.normal(size=12), "b": rng.normal(size=12), "c": 0.4 * rng.normal(size=(12, 12)), "d": np.zeros(12)}
start["e"] = 0.3 * rng.normal(size=12)
solution = adjoint.optimize.minimize(
    lambda w: np.mean((residual(w, points) - right_hand_side) ** 2), start, method="BFGS", options={"maxiter": 400}
)

# %%
fine = np.linspace(0, 1, 200)
error = np.abs(network(solution.x, fine) - exact(fine))
print(f"loss {solution.fun:.1e}, largest error of the solution {error.max():.1e}")
assert error.max() < 2e-3

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
left.plot(fine, exact(fine), lw=6, alpha=0.3, label="exact")
left.plot(fine, network(solution.x, fine), color="C1", label="network")
left.plot(points, 0 * points, "k|", ms=5)
left.legend()
left.set_title("solution")
right.semilogy(fine, error + 1e-9)
right.set_title("error")
for axis in (left, right):
    axis.set_xlabel("x")
plt.show()
