"""A phase mask for a laser beam
=============================

An inverse problem of optics: find the phase mask with which a laser beam forms a given picture at a distance.

Light travels by the angular spectrum method: a Fourier transform, a phase for each plane wave, and the transform back.
The loss is a real function of complex fields. One backward pass gives its gradient by 4096 phases.
"""

import numpy as np
from rich.progress import Progress

import adjoint
from adjoint import Tensor

N, PIXEL, WAVELENGTH, DISTANCE = 64, 8e-6, 633e-9, 0.01
STEPS = 60


def picture() -> np.ndarray:
    """The letter A with unit power, blurred by one and a half pixels."""
    letter = np.zeros((N, N))
    for row in range(18, 46):
        half = (row - 18) * 9 // 28
        for column in (31 - half, 32 + half):
            letter[row, column - 1 : column + 2] = 1
    letter[36:39, 28:36] = 1
    frequency = np.fft.fftfreq(N)
    blur = np.exp(-2 * (1.5 * np.pi) ** 2 * (frequency[:, None] ** 2 + frequency[None, :] ** 2))
    smooth = np.fft.ifft2(np.fft.fft2(letter) * blur).real
    return smooth / np.linalg.norm(smooth)


def propagation() -> Tensor:
    """The phase change of a plane wave of each direction. Evanescent waves are dropped."""
    frequency = np.fft.fftfreq(N, PIXEL)
    along = WAVELENGTH**-2 - frequency[:, None] ** 2 - frequency[None, :] ** 2
    return adjoint.from_numpy(np.where(along > 0, np.exp(2j * np.pi * DISTANCE * np.sqrt(np.maximum(along, 0))), 0))


def main() -> None:
    axis = np.arange(N) - (N - 1) / 2
    beam = np.exp(-(axis[:, None] ** 2 + axis[None, :] ** 2) / (N / 4) ** 2)
    beam = adjoint.from_numpy(beam / np.linalg.norm(beam))
    target, transfer = adjoint.from_numpy(picture()), propagation()

    def amplitude(phase: Tensor) -> Tensor:
        field = beam * adjoint.exp(1j * phase)
        return adjoint.fft.ifft2(adjoint.fft.fft2(field) * transfer).abs()

    def loss(phase: Tensor) -> Tensor:
        return 1 - (amplitude(phase) * target).sum() ** 2

    start = np.random.default_rng(0).normal(scale=0.1, size=(N, N))
    f = adjoint.optimize.scipy_function(loss, start)
    direction = np.random.default_rng(1).normal(size=N * N)
    difference = (f.fun(f.x0 + 1e-5 * direction) - f.fun(f.x0 - 1e-5 * direction)) / 2e-5
    print(f"directional derivative {f.jac(f.x0) @ direction:.9f}, by differences {difference:.9f}")
    assert np.isclose(f.jac(f.x0) @ direction, difference, rtol=1e-5)

    with Progress(transient=True) as progress:
        task = progress.add_task("shaping the beam", total=STEPS)
        result = adjoint.optimize.minimize(
            loss, start, method="L-BFGS-B", callback=lambda _: progress.advance(task), options={"maxiter": STEPS}
        )
    before, after = 1 - f.fun(f.x0), 1 - result.fun
    power = (amplitude(adjoint.from_numpy(result.x)) ** 2).sum().item()
    print(
        f"overlap with the picture: {before:.3f} before, {after:.3f} after {result.nit} steps; power kept {power:.3f}"
    )
    assert before < 0.5 and after > 0.9 and result.x.shape == (N, N)


if __name__ == "__main__":
    main()
