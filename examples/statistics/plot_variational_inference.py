"""
Variational inference that must find the exact posterior
========================================================

The posterior of a linear regression is a Gaussian. So variational inference with Gaussians must find it, which is a
good test. Samples estimate the bound (ELBO). They depend smoothly on the mean and on the Cholesky factor. So the
gradient of the bound is the gradient of the function below.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint

rng = np.random.default_rng(0)
x = np.c_[np.ones(30), rng.uniform(-1, 3, 30)]
y = x @ [0.5, 1.5] + 0.8 * rng.normal(size=30)
noise, prior = 0.8, 2.0

# Antithetic draws of the standard normal, whitened: their mean and covariance are exact.
half = rng.normal(size=(500, 2))
draws = np.r_[half, -half]
draws = draws @ np.linalg.inv(np.linalg.cholesky(draws.T @ draws / len(draws))).T


def log_joint(w):  # for many w at once, one in each row
    return -0.5 * np.sum((y - w @ x.T) ** 2, axis=1) / noise**2 - 0.5 * np.sum(w**2, axis=1) / prior**2


def negative_bound(q):
    factor = np.array([[np.exp(q["log_scale"][0]), 0.0], [q["off"], np.exp(q["log_scale"][1])]], like=q["off"])
    samples = q["mean"] + draws @ factor.T
    return -np.mean(log_joint(samples)) - np.sum(q["log_scale"])


start = {"mean": np.zeros(2), "log_scale": np.zeros(2), "off": 0.0}
solution = adjoint.optimize.minimize(negative_bound, start, method="BFGS").x
factor = np.array([[np.exp(solution["log_scale"][0]), 0.0], [solution["off"], np.exp(solution["log_scale"][1])]])

# %%
# The exact posterior.
covariance = np.linalg.inv(x.T @ x / noise**2 + np.eye(2) / prior**2)
mean = covariance @ x.T @ y / noise**2
print("mean", solution["mean"].round(4), "exact", mean.round(4))
assert np.allclose(solution["mean"], mean, atol=1e-4) and np.allclose(factor @ factor.T, covariance, atol=1e-4)

# %%
circle = np.exp(1j * np.linspace(0, 2 * np.pi, 100))
circle = np.c_[circle.real, circle.imag]
for k in (1, 2):
    plt.plot(*(mean + k * circle @ np.linalg.cholesky(covariance).T).T, color="C0", lw=5, alpha=0.35)
    plt.plot(*(solution["mean"] + k * circle @ factor.T).T, color="C1", ls="--")
plt.plot([], [], color="C0", lw=5, alpha=0.35, label="exact, one and two standard deviations")
plt.plot([], [], color="C1", ls="--", label="variational")
plt.xlabel("intercept")
plt.ylabel("slope")
plt.legend()
plt.show()
