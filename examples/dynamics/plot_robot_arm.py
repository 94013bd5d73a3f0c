"""
A robot arm that draws a circle
===============================

The hand of an arm with three joints follows a circle. At each point Newton's method finds the angles, by the Jacobian
of the hand's position. Of all solutions the pseudoinverse selects the smallest motion. For two joints we compare with a
formula.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint


def joints(angles, lengths):
    """The positions of all joints. The hand is the last one."""
    total = np.cumsum(angles)
    return np.stack([np.cumsum(lengths * np.cos(total)), np.cumsum(lengths * np.sin(total))])


def reach(angles, lengths, target):
    hand = adjoint.jacobian(lambda a: joints(a, lengths)[:, -1])
    for _ in range(20):
        miss = target - joints(angles, lengths)[:, -1]
        if np.abs(miss).max() < 1e-13:
            break
        angles = angles + np.linalg.pinv(hand(angles)) @ miss
    return angles


# %%
# Two joints: the law of cosines gives the angle of the elbow.
lengths, target = np.array([1.0, 0.8]), np.array([0.9, 0.9])
solution = reach(np.array([0.2, 1.0]), lengths, target)
elbow = np.arccos((target @ target - lengths @ lengths) / (2 * lengths[0] * lengths[1]))
print(f"elbow {solution[1]:.12f}, formula {elbow:.12f}")
assert np.isclose(solution[1], elbow, atol=1e-12)

# %%
# Three joints on a circle. The Jacobian maps a circle to an ellipse. Its area measures how well the hand can move.
lengths = np.array([1.0, 0.8, 0.5])
circle = np.linspace(0, 2 * np.pi, 61)
targets = np.c_[1.1 + 0.5 * np.cos(circle), 0.6 + 0.5 * np.sin(circle)]
angles, poses = np.array([0.2, 0.8, 0.5]), []
for target in targets:
    angles = reach(angles, lengths, target)
    poses.append(angles)
hands = np.array([joints(a, lengths)[:, -1] for a in poses])
assert np.allclose(hands, targets, atol=1e-12)

jacobians = adjoint.vmap(adjoint.jacobian(lambda a: joints(a, lengths)[:, -1]))(np.array(poses))
areas = np.sqrt(np.linalg.det(jacobians @ np.swapaxes(jacobians, 1, 2)))
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.8))
for pose in poses[::6]:
    left.plot(*np.c_[[0, 0], joints(pose, lengths)], "o-", color="C0", alpha=0.4, ms=3)
left.plot(*targets.T, color="C1")
left.set_aspect("equal")
right.plot(np.degrees(circle), areas)
right.set_xlabel("place on the circle, degrees")
right.set_title("how well the hand can move")
plt.show()
