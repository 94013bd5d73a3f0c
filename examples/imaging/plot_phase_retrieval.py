"""
Phase retrieval: a picture from a diffraction pattern
=====================================================

A detector measures the brightness of the Fourier transform of an object, but not its phase. Several measurements
through known random masks still determine the picture. It is the minimum of a real function of a complex image. For
complex arrays the gradient points in the direction of steepest ascent. The object is a handwritten digit with a varying
phase.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import adjoint

digit = np.kron(load_digits().images[4] / 16, np.ones((4, 4)))
n = len(digit)
across = np.linspace(-1, 1, n)
truth = (0.1 + digit) * np.exp(1.5j * (across[:, None] ** 2 - across[None, :]))
rng = np.random.default_rng(0)
masks = np.exp(2j * np.pi * rng.uniform(size=(6, n, n)))
measured = np.abs(np.fft.fft2(masks * truth)) / n


def misfit(z):
    return 0.5 * np.mean((np.abs(np.fft.fft2(masks * z) / n) - measured) ** 2)


# %%
# The start is the strongest eigenvector of a matrix made of the measurements (spectral start), by power iterations.
z = rng.normal(size=(n, n)) + 1j * rng.normal(size=(n, n))
for _ in range(40):
    z = np.sum(np.conj(masks) * np.fft.ifft2(measured**2 * np.fft.fft2(masks * z)), axis=0)
    z = z / np.linalg.norm(z)
z = z * np.sqrt(np.sum(measured**2) / len(masks))

# %%
# Then gradient descent: a complex image minus a step along its complex gradient. With this step length it is the
# classical iteration of Gerchberg and Saxton, without a derivation by hand.
slope = adjoint.value_and_grad(misfit, compile=True)
losses = []
for _ in range(400):
    value, gradient = slope(z)
    z = z - n**2 * gradient
    losses.append(value)

# %%
# The measurements do not determine a common phase of the whole image. Up to this phase, the result must be the true
# image.
aligned = z * np.exp(-1j * np.angle(np.vdot(truth, z)))
error = np.linalg.norm(aligned - truth) / np.linalg.norm(truth)
print(f"relative error {error:.1e}")
assert error < 1e-4

figure, axes = plt.subplots(1, 4, figsize=(10, 2.8))
axes[0].imshow(np.log(np.fft.fftshift(measured[0]) + 1e-3), cmap="gray")
axes[1].imshow(np.abs(aligned), cmap="gray")
axes[2].imshow(np.angle(aligned), cmap="twilight")
axes[3].semilogy(losses)
for axis, title in zip(axes, ("measured", "brightness", "phase", "loss"), strict=True):
    axis.set_title(title)
for axis in axes[:3]:
    axis.set_axis_off()
plt.show()
