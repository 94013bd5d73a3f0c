"""
The growth of small differences: Lyapunov exponents
===================================================

Two starting points of a chaotic system separate exponentially. The rate is the Lyapunov exponent: the mean growth of a
tangent. ``jvp`` computes the tangent through Hénon's map. For each parameter the exponent says whether the motion is
regular (below zero) or chaotic (above).
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint


def henon(state, a):
    x, y = state
    return [1 - a * x**2 + y, 0.3 * x]


def exponent(a, steps):
    """The exponents of many parameters or starting points at once, and the last states."""
    state, tangent = [np.full_like(a, 0.1), np.full_like(a, 0.1)], [np.ones_like(a), np.zeros_like(a)]
    total = np.zeros_like(a)
    for k in range(steps):
        state, tangent = adjoint.jvp(lambda s: henon(s, a), (state,), (tangent,))
        size = np.hypot(*tangent)
        tangent = [t / size for t in tangent]
        if k >= 100:
            total += np.log(size)
    return total / (steps - 100), state


# %%
# At a = 1.4 the known exponent is 0.4192. We take eight orbits with slightly different parameters, of 4000 steps each.
values, _ = exponent(np.full(8, 1.4) + 1e-9 * np.arange(8), 4000)
print(f"exponent at 1.4: {values.mean():.4f}")
assert abs(values.mean() - 0.4192) < 0.006

# %%
a = np.linspace(0.8, 1.4, 900)
values, last = exponent(a, 1000)
figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 5))
for _ in range(60):
    last = henon(last, a)
    above.plot(a, last[0], ",", color="C0", alpha=0.6)
above.set_ylabel("x, after a long time")
below.plot(a, values, lw=0.8)
below.axhline(0, color="0.5", lw=0.8)
below.set_ylim(-1, 0.6)
below.set_ylabel("Lyapunov exponent")
below.set_xlabel("a")
plt.show()
