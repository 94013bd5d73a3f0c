"""
Circuits: a diode clipper
=========================

A resistor and a diode are in series. At each instant the voltage of the diode solves a nonlinear equation.
``implicit.root`` gives the solution and its derivative, which is the small-signal gain. Lambert's function W is the
known answer.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import lambertw

import adjoint
from adjoint.implicit import root

resistance, saturation, thermal = 1000.0, 1e-12, 0.02585


def current_balance(v, source, ohm):
    """The difference of the currents through the resistor and through the diode."""
    return (source - v) / ohm - saturation * (np.exp(v / thermal) - 1)


def diode_voltage(source, ohm=resistance):
    first_guess = np.minimum(np.linspace(-2, 2, 81), 0.6)
    return root(current_balance, first_guess, source, ohm)


source = np.linspace(-2, 2, 81)
voltage = diode_voltage(source)
x = resistance * saturation / thermal * np.exp((source + resistance * saturation) / thermal)
large = x > 1e300
exact = source + resistance * saturation - thermal * lambertw(np.where(large, 1, x)).real
print(f"largest difference from Lambert's function {np.abs(voltage - exact)[~large].max():.1e} V")
assert np.allclose(voltage[~large], exact[~large], atol=1e-9)

# %%
# The gain of a small signal is the slope of the curve. The formula is 1 / (1 + R I').
gain = adjoint.jvp(diode_voltage, (source,), (np.ones_like(source),))[1]
by_hand = 1 / (1 + resistance * saturation / thermal * np.exp(voltage / thermal))
assert np.allclose(gain, by_hand, rtol=1e-7)

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4))
left.plot(source, voltage)
left.set_xlabel("source, V")
left.set_title("voltage of the diode")
right.plot(source, gain, label="implicit derivative")
right.plot(source[::4], by_hand[::4], "o", mfc="none", label="by hand")
right.set_xlabel("source, V")
right.set_title("gain of a small signal")
right.legend()
plt.show()
