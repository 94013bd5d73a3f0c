"""
Optimal control: from rest to rest with least effort
====================================================

A force pushes a cart from one point to another in one second, and the cart must be at rest there. Which force needs the
least effort? The calculus of variations gives :math:`u(t) = 6 - 12 t`, with the cost 12. A solver with constraints
finds it, too. Then we add a drag that grows with the square of the speed. This problem has no formula.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import NonlinearConstraint

import adjoint

steps = 50
h = 1 / steps


def drive(force, drag=0.0):
    """Positions and speeds. The force is constant in each step."""
    position, speed, way = 0.0 * force[0], 0.0 * force[0], []
    for k in range(steps):
        pull = force[k] - drag * speed * np.abs(speed)
        position, speed = position + h * speed + 0.5 * h**2 * pull, speed + h * pull
        way.append(np.stack([position, speed]))
    return np.stack(way)


def effort(force):
    return h * np.sum(force**2)


solutions = {}
for drag in (0.0, 3.0):
    arrive = NonlinearConstraint(lambda u, drag=drag: drive(u, drag)[-1], [1.0, 0.0], [1.0, 0.0])
    solution = adjoint.optimize.minimize(effort, np.ones(steps), method="SLSQP", constraints=arrive, tol=1e-10)
    solutions[drag] = solution.x
    print(f"drag {drag}: effort {solution.fun:.4f}")

# %%
# With n steps the least effort is exactly 12 / (1 - 1/n^2), and the force lies on the same line.
middle = (np.arange(steps) + 0.5) * h
assert np.isclose(effort(solutions[0.0]), 12 / (1 - h**2), rtol=1e-6)
assert np.allclose(solutions[0.0], (6 - 12 * middle) / (1 - h**2), atol=1e-3)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
for drag, force in solutions.items():
    left.step(middle, force, where="mid", label=f"drag {drag:g}")
    right.plot(middle, drive(force, drag)[:, 1])
left.plot(middle, 6 - 12 * middle, "k:", label="6 - 12 t")
left.set_title("force")
right.set_title("speed")
left.legend()
for axis in (left, right):
    axis.set_xlabel("time")
plt.show()
