"""
Survival of two groups: Cox's proportional hazards
==================================================

Twenty-one pairs of leukaemia patients got a drug or a placebo. The data are the weeks until relapse. A patient without
a relapse is *censored*. Cox's partial likelihood needs no form of the hazard. We write it as one NumPy function. Its
gradient and its Hessian give the estimate and its standard error.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint

relapse = [6, 6, 6, 7, 10, 13, 16, 22, 23]
censored = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
placebo = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]
weeks = np.array(relapse + censored + placebo, dtype=float)
event = np.array([True] * len(relapse) + [False] * len(censored) + [True] * len(placebo))
group = np.array([0.0] * 21 + [1.0] * 21)  # 1: placebo
at_risk = weeks[None, :] >= weeks[:, None]  # row i: the patients under observation when i had a relapse

# %%
# The partial likelihood (with Breslow's treatment of ties): the probability that this patient had the relapse, among
# all patients at risk.


def loss(b):
    risk = np.exp(b * group)
    return -np.sum((b * group - np.log(at_risk @ risk))[event])


solution = adjoint.optimize.minimize(loss, 0.0, method="trust-exact")
beta = solution.x[0]
error = adjoint.hessian(loss)(beta) ** -0.5
print(f"log hazard ratio {beta:.4f}, standard error {error:.4f}")
assert abs(beta - 1.5092) < 1e-3 and abs(error - 0.4096) < 1e-3  # published, as in R's coxph(ties="breslow")

# %%
# Kaplan and Meier's curves of the two groups, and the model's curve of the placebo group, which it predicts from the
# other one.


def kaplan_meier(t, e):
    times = np.unique(t[e])
    steps = [1 - np.sum(t[e] == u) / np.sum(t >= u) for u in times]
    return np.r_[0, times, t.max()], np.r_[1, np.cumprod(steps), np.prod(steps)]


for value, label in ((0, "drug"), (1, "placebo")):
    members = group == value
    times, survival = kaplan_meier(weeks[members], event[members])
    plt.step(times, survival, where="post", label=label)
    if value == 0:
        plt.step(times, survival ** np.exp(beta), where="post", ls="--", label="drug's curve, at the hazard of placebo")
plt.xlabel("weeks")
plt.ylabel("share without relapse")
plt.legend()
plt.show()
