"""
A Gaussian process and its hyperparameters
==========================================

The length scale, the amplitude and the noise of a Gaussian process maximise the marginal likelihood. Its gradient
passes through a Cholesky factorisation. scikit-learn computes the same with derivatives written by hand.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import adjoint

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(0, 10, 40))
y = np.sin(x) + 0.5 * np.sin(3 * x) + 0.2 * rng.normal(size=40)


def kernel(a, b, theta):
    amplitude, length, _ = np.exp(theta)
    return amplitude * np.exp(-0.5 * (a[:, None] - b[None, :]) ** 2 / length**2)


def negative_log_likelihood(theta):
    lower = np.linalg.cholesky(kernel(x, x, theta) + np.exp(theta[2]) * np.eye(len(x)))
    alpha = np.linalg.solve(lower, y)
    return 0.5 * alpha @ alpha + np.sum(np.log(np.diagonal(lower))) + 0.5 * len(x) * np.log(2 * np.pi)


solution = adjoint.optimize.minimize(negative_log_likelihood, np.log([1.0, 1.0, 0.1]), method="BFGS")
print("amplitude, length scale, noise:", np.exp(solution.x).round(3))

# %%
# The known answer: scikit-learn's optimum.
theirs = GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(0.1)).fit(x[:, None], y)
print(f"log likelihood {-solution.fun:.6f}, scikit-learn {theirs.log_marginal_likelihood_value_:.6f}")
assert np.isclose(-solution.fun, theirs.log_marginal_likelihood_value_, atol=1e-4)

# %%
grid = np.linspace(0, 10, 300)
covariance = kernel(x, x, solution.x) + np.exp(solution.x[2]) * np.eye(len(x))
cross = kernel(grid, x, solution.x)
mean = cross @ np.linalg.solve(covariance, y)
spread = np.sqrt(np.exp(solution.x[0]) - np.sum(cross * np.linalg.solve(covariance, cross.T).T, axis=1))
plt.fill_between(grid, mean - 2 * spread, mean + 2 * spread, alpha=0.2, label="two standard deviations")
plt.plot(grid, mean, label="mean of the process")
plt.plot(x, y, "k.", label="data")
plt.legend(ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1))
plt.xlabel("x")
plt.show()
