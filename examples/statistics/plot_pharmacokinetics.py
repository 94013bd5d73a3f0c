"""
Pharmacokinetics: a drug in the blood
=====================================

A dose of theophylline is absorbed at one rate and eliminated at another. We fit three parameters to the blood
concentrations of one person, by exact Jacobians. The data are those of subject 1 in R's data set *Theoph*.
"""

import matplotlib.pyplot as plt
import numpy as np

import adjoint

dose = 4.02  # mg/kg
hours = np.array([0, 0.25, 0.57, 1.12, 2.02, 3.82, 5.1, 7.03, 9.05, 12.12, 24.37])
measured = np.array([0.74, 2.84, 6.57, 10.5, 9.66, 8.58, 8.36, 7.47, 6.89, 5.94, 3.28])  # mg/L


def concentration(t, log_elimination, log_absorption, log_clearance):
    ke, ka, clearance = np.exp(log_elimination), np.exp(log_absorption), np.exp(log_clearance)
    return dose * ke * ka / (clearance * (ka - ke)) * (np.exp(-ke * t) - np.exp(-ka * t))


best, covariance = adjoint.optimize.curve_fit(concentration, hours, measured, [-2.5, 0.5, -3.0])
errors = np.sqrt(np.diag(covariance))
for name, value, error in zip(("elimination", "absorption", "clearance"), best, errors, strict=True):
    print(f"log {name:<11} {value:8.4f} +- {error:.4f}")
assert np.allclose(best, [-2.9196, 0.5752, -3.9159], atol=2e-4)  # R: nls(conc ~ SSfol(Dose, Time, lKe, lKa, lCl))

# %%
# Which measurement determines which parameter best? The Jacobian of the curve shows it.
t = np.linspace(0, 25, 200)
sensitivity = adjoint.jacobian(lambda p: concentration(t, *p))(best)
figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7, 5.5))
above.plot(t, concentration(t, *best), label="fit")
above.plot(hours, measured, "ko", label="measured")
above.set_ylabel("mg/L")
above.legend()
below.plot(t, sensitivity, label=["elimination", "absorption", "clearance"])
below.set_ylabel("mg/L for a unit of the logarithm")
below.set_xlabel("hours")
below.legend()
plt.show()
