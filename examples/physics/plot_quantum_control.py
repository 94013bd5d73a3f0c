r"""
Quantum control: flipping a qubit by a pulse
============================================

A pulse of two quadratures drives a qubit with a constant detuning. Which pulse turns the state :math:`|0\rangle` into
:math:`|1\rangle`? Each time slice is an exponential of a complex matrix. One backward pass through all of them gives
the gradient. The method is known as GRAPE.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint

sx = np.array([[0, 1], [1, 0]], dtype=complex)
sy = np.array([[0, -1j], [1j, 0]])
sz = np.diag([1.0 + 0j, -1.0])
slices, duration, detuning = 40, 1.0, 2.0
h = duration / slices


def slice_of(x, y, detuning):
    """exp(-i h H) for H = (x sx + y sy + detuning sz) / 2, in closed form."""
    size = np.sqrt(x**2 + y**2 + detuning**2)
    generator = (x * sx + y * sy + detuning * sz) / size
    return np.cos(h * size / 2) * np.eye(2) - 1j * np.sin(h * size / 2) * generator


def final_state(pulse, detuning=detuning):
    state = np.array([1.0 + 0j, 0.0])
    states = [state]
    for x, y in pulse:
        state = slice_of(x, y, detuning) @ state
        states.append(state)
    return states


def infidelity(pulse, detuning=detuning):
    return 1 - np.abs(final_state(pulse, detuning)[-1][1]) ** 2


# %%
# A pulse that works for three detunings at once, with little energy.
def loss(pulse):
    return sum(infidelity(pulse, d) for d in (1.0, 2.0, 3.0)) / 3 + 1e-6 * np.sum(pulse**2)


rng = np.random.default_rng(0)
start = np.pi * np.c_[np.ones(slices), np.zeros(slices)] + 0.3 * rng.normal(size=(slices, 2))
solution = adjoint.optimize.minimize(loss, start, method="L-BFGS-B", options={"maxiter": 300}, compile=True)
errors = [infidelity(solution.x, d) for d in (1.0, 2.0, 3.0)]
print("infidelities", np.array(errors))
assert max(errors) < 1e-3

# %%
# The known answer: without detuning, a constant pulse of area pi is a perfect flip.
assert infidelity(np.pi * np.c_[np.ones(slices), np.zeros(slices)], 1e-12) < 1e-12
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
time = (np.arange(slices) + 0.5) * h
left.step(time, solution.x, where="mid", label=["x", "y"])
left.set_title("pulse")
left.set_xlabel("time")
left.legend()
detunings = np.linspace(-2, 6, 80)
right.plot(detunings, [1 - infidelity(solution.x, d) for d in detunings], label="optimised")
square = np.pi * np.c_[np.ones(slices), np.zeros(slices)]
right.plot(detunings, [1 - infidelity(square, d) for d in detunings], label="constant pulse")
right.set_title("probability of a flip")
right.set_xlabel("detuning")
right.legend()
plt.show()
