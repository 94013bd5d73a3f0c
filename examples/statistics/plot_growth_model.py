r"""
Economics: how much to save
===========================

In the growth model of Brock and Mirman, capital :math:`k` yields :math:`k^\alpha`. One part is consumed, and the rest
is the capital of the next year. With logarithmic utility, discounted by :math:`\beta` per year, the constant share
:math:`\alpha\beta` of savings is optimal. We optimise the savings of every year by gradients, without this knowledge.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint

alpha, beta, years = 0.36, 0.9, 60


def path(share, capital=0.05):
    capitals, consumed = [capital], []
    for k in range(years):
        produced = capitals[-1] ** alpha
        consumed.append((1 - share[k]) * produced)
        capitals.append(share[k] * produced)
    return capitals, consumed


def loss(free):
    share = 1 / (1 + np.exp(-free))  # makes the share lie between 0 and 1
    _, consumed = path(share)
    return -sum(beta**k * np.log(c) for k, c in enumerate(consumed))


solution = adjoint.optimize.minimize(loss, np.zeros(years), method="Newton-CG", options={"xtol": 1e-10}, compile=True)
share = 1 / (1 + np.exp(-solution.x))
print("savings of the first years", share[:4].round(5), "theory", round(alpha * beta, 5))

# %%
# With an end after 60 years the exact share of year :math:`k` is :math:`ab\,(1 - (ab)^{n}) / (1 - (ab)^{n+1})` with
# :math:`ab = \alpha\beta` and :math:`n` remaining years. In the last year nothing is saved.
to_come = years - 1 - np.arange(years)
exact = alpha * beta * (1 - (alpha * beta) ** to_come) / (1 - (alpha * beta) ** (to_come + 1))
assert np.allclose(share[:50], exact[:50], atol=1e-4)

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
left.plot(share, "o", ms=3, label="optimised")
left.plot(exact, label="exact")
left.set_title("share that is saved")
left.set_ylim(0, 0.5)
left.legend()
right.plot(path(share)[0][:20], "o-", label="optimised")
right.axhline((alpha * beta) ** (1 / (1 - alpha)), color="0.5", ls=":", label="steady state")
right.set_title("capital")
right.legend()
for axis in (left, right):
    axis.set_xlabel("year")
plt.show()
