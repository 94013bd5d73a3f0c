"""Physics, chemistry, astronomy and optics."""

from __future__ import annotations

from typing import Any

import numpy as np

from tried.entries import tried

TITLE = "Physics, chemistry, astronomy, optics"

X = np.linspace(-1.5, 2.0, 8)


# lmfit ----------------------------------------------------------------------------------------------------------------


def shape(name: str, *point: float) -> None:
    @tried("lmfit", f"lmfit.lineshapes.{name}")
    def _() -> Any:
        import lmfit.lineshapes

        return lambda p: getattr(lmfit.lineshapes, name)(X + 2.0, *p), list(point)


shape("gaussian", 1.3, 0.4, 0.7)
shape("voigt", 1.3, 2.4, 0.7, 0.3)
shape("pearson7", 1.3, 2.4, 0.7, 1.5)
shape("expgaussian", 1.3, 2.4, 0.7, 0.9)
shape("students_t", 1.3, 2.4, 3.5)
shape("doniach", 1.3, 2.4, 0.7, 0.2)
shape("lognormal", 1.3, 0.4, 0.7)
shape("dho", 1.3, 2.4, 0.7, 0.9)
shape("skewed_voigt", 1.3, 2.4, 0.7, 0.3, 0.4)


@tried("lmfit", "lmfit.lineshapes.bose")
def _() -> Any:
    from lmfit.lineshapes import bose

    return lambda p: bose(X + 2.0, *p), [1.3, 0.2, 0.7]


@tried("lmfit", "lmfit.Model.eval")
def _() -> Any:
    from lmfit.models import LinearModel, LorentzianModel

    model = LorentzianModel() + LinearModel()
    return (
        lambda p: model.eval(x=X, amplitude=p[0], center=p[1], sigma=p[2], slope=p[3], intercept=p[4]),
        [1.3, 0.4, 0.7, 0.2, 0.5],
    )


@tried("lmfit", "lmfit.Minimizer", "the residual of its parameters, one of which has a bound")
def _() -> Any:
    import lmfit

    def residual(parameters: Any) -> Any:
        return parameters["a"].value * np.exp(-X * parameters["b"].value) - X

    def function(p: Any) -> Any:
        parameters = lmfit.create_params(a={"value": 1.0, "min": 0.0}, b=0.5)
        minimizer = lmfit.Minimizer(residual, parameters)
        minimizer.prepare_fit()
        return minimizer._Minimizer__residual(p)

    return function, [1.3, 0.4]


# astropy --------------------------------------------------------------------------------------------------------------


def model(name: str, *point: float) -> None:
    @tried("astropy", f"astropy.modeling.models.{name}.evaluate")
    def _() -> Any:
        from astropy.modeling import models

        return lambda p: getattr(models, name).evaluate(X + 2.0, *p), list(point)


model("Gaussian1D", 1.3, 0.4, 0.7)


@tried("astropy", "astropy.modeling.models.Voigt1D.evaluate")
def _() -> Any:
    from astropy.modeling.models import Voigt1D

    return lambda p: Voigt1D().evaluate(X, *p), [0.4, 1.3, 0.7, 0.5]


model("Moffat1D", 1.3, 0.4, 0.7, 1.6)
model("SmoothlyBrokenPowerLaw1D", 1.3, 0.4, -0.7, 1.6, 0.2)


@tried("astropy", "astropy.modeling.models.Sersic1D.evaluate")
def _() -> Any:
    from astropy.modeling.models import Sersic1D

    return lambda p: Sersic1D().evaluate(X + 2.0, *p), [1.3, 0.8, 2.5]


@tried("astropy", "astropy.modeling.models.Gaussian2D.evaluate")
def _() -> Any:
    from astropy.modeling.models import Gaussian2D

    return lambda p: Gaussian2D.evaluate(X, X[::-1], *p), [1.3, 0.4, 0.2, 0.7, 0.9, 0.3]


@tried(
    "astropy",
    "astropy.modeling.models.BlackBody",
    reason="a `Quantity` is a subclass of ndarray with a unit, for which a differentiable array has no place",
    remedy="Write the formula with the plain values of the constants",
)
def _() -> Any:
    import astropy.units as u
    from astropy.modeling.models import BlackBody

    return lambda p: BlackBody(temperature=p[0] * u.K)(np.array([5000.0, 6000.0]) * u.AA).value * 1e5, [5000.0]


@tried("astropy", "astropy.cosmology.FlatLambdaCDM.efunc")
def _() -> Any:
    from astropy.cosmology import FlatLambdaCDM

    return FlatLambdaCDM(H0=70.0, Om0=0.3, Tcmb0=2.7).efunc, [0.1, 0.5, 1.4]


@tried("astropy", "astropy.cosmology.LambdaCDM.inv_efunc")
def _() -> Any:
    from astropy.cosmology import LambdaCDM

    return LambdaCDM(H0=70.0, Om0=0.3, Ode0=0.6).inv_efunc, [0.1, 0.5, 1.4]


@tried("astropy", "astropy.cosmology.w0waCDM.de_density_scale")
def _() -> Any:
    from astropy.cosmology import w0waCDM

    return w0waCDM(H0=70.0, Om0=0.3, Ode0=0.7, w0=-0.9, wa=0.2).de_density_scale, [0.1, 0.5, 1.4]


@tried(
    "astropy",
    "astropy.cosmology.FlatLambdaCDM.comoving_distance",
    reason="a `Quantity` is a subclass of ndarray with a unit, for which a differentiable array has no place",
    remedy="Integrate `inv_efunc`, which works, with `adjoint.scipy.integrate.quad`",
)
def _() -> Any:
    from astropy.cosmology import FlatLambdaCDM

    return lambda z: FlatLambdaCDM(H0=70.0, Om0=0.3).comoving_distance(z).value, [0.1, 0.5, 1.4]


@tried("astropy", "astropy.stats.biweight_location")
def _() -> Any:
    from astropy.stats import biweight_location

    return biweight_location, [0.3, 0.5, 0.1, 1.9, 0.45, 0.8]


@tried("astropy", "astropy.coordinates.angles.angular_separation")
def _() -> Any:
    from astropy.coordinates import angular_separation

    return lambda p: angular_separation(*p), [0.3, 0.5, 1.1, -0.2]


# pvlib ----------------------------------------------------------------------------------------------------------------


@tried("pvlib", "pvlib.irradiance.aoi")
def _() -> Any:
    from pvlib.irradiance import aoi

    return lambda p: aoi(*p), [30.0, 170.0, 40.0, 150.0]


@tried("pvlib", "pvlib.irradiance.haydavies")
def _() -> Any:
    from pvlib.irradiance import haydavies

    return lambda p: haydavies(*p), [30.0, 170.0, 100.0, 700.0, 1360.0, 40.0, 150.0]


@tried("pvlib", "pvlib.irradiance.perez")
def _() -> Any:
    from pvlib.irradiance import perez

    return lambda p: perez(30.0, 170.0, p[0], p[1], 1360.0, p[2], p[3], 1.5), [100.0, 700.0, 40.0, 150.0]


@tried("pvlib", "pvlib.temperature.sapm_cell")
def _() -> Any:
    from pvlib.temperature import sapm_cell

    return lambda p: sapm_cell(*p), [800.0, 20.0, 2.0, -3.5, -0.06, 3.0]


@tried("pvlib", "pvlib.pvsystem.calcparams_desoto")
def _() -> Any:
    from pvlib.pvsystem import calcparams_desoto

    return lambda p: calcparams_desoto(p[0], p[1], 0.003, 1.5, 6.0, 5e-10, 300.0, 0.4)[0:1], [800.0, 40.0]


@tried("pvlib", "pvlib.pvsystem.i_from_v")
def _() -> Any:
    from pvlib.pvsystem import i_from_v

    return lambda p: i_from_v(p[0], p[1], 5e-10, p[2], 300.0, 1.5), [20.0, 6.0, 0.4]


@tried("pvlib", "pvlib.singlediode.bishop88")
def _() -> Any:
    from pvlib.singlediode import bishop88

    return lambda p: bishop88(p, 6.0, 5e-10, 0.4, 300.0, 1.5), [5.0, 20.0, 30.0]


@tried("pvlib", "pvlib.iam.physical")
def _() -> Any:
    from pvlib.iam import physical

    return lambda p: physical(p[:3], p[3], p[4], p[5]), [10.0, 40.0, 70.0, 1.5, 4.0, 0.002]


@tried("pvlib", "pvlib.iam.martin_ruiz")
def _() -> Any:
    from pvlib.iam import martin_ruiz

    return lambda p: martin_ruiz(p[:3], p[3]), [10.0, 40.0, 70.0, 0.16]


@tried("pvlib", "pvlib.atmosphere.get_relative_airmass")
def _() -> Any:
    from pvlib.atmosphere import get_relative_airmass

    return get_relative_airmass, [10.0, 40.0, 70.0]


# fluids, chemicals, steam ---------------------------------------------------------------------------------------------


@tried("fluids", "fluids.friction.friction_factor")
def _() -> Any:
    from fluids.friction import friction_factor

    return lambda p: friction_factor(Re=p[0], eD=p[1]), [1e5, 1e-3]


@tried("fluids", "fluids.compressible.isothermal_gas")
def _() -> Any:
    from fluids.compressible import isothermal_gas

    return (
        lambda p: isothermal_gas(rho=p[0], fd=p[1], P1=1e6, P2=9e5, L=1000.0, D=p[2]),
        [11.3, 0.00185, 0.5],
    )


@tried("fluids", "fluids.two_phase.Lockhart_Martinelli")
def _() -> Any:
    from fluids.two_phase import Lockhart_Martinelli

    return (
        lambda p: Lockhart_Martinelli(m=p[0], x=p[1], rhol=915.0, rhog=2.67, mul=180e-6, mug=14e-6, D=p[2], L=1.0),
        [0.6, 0.1, 0.05],
    )


@tried("fluids", "fluids.core.Reynolds")
def _() -> Any:
    from fluids.core import Reynolds

    return lambda p: Reynolds(V=p[0], D=p[1], rho=p[2], mu=p[3]), [2.5, 0.25, 1.1, 0.2]


@tried("fluids", "fluids.drag.drag_sphere")
def _() -> Any:
    from fluids.drag import drag_sphere

    return lambda p: drag_sphere(p[0]), [200.0]


@tried("chemicals", "chemicals.vapor_pressure.Wagner")
def _() -> Any:
    from chemicals.vapor_pressure import Wagner

    return lambda p: Wagner(p[0], 190.53, 4596420.0, *p[1:]), [100.0, -6.00435, 1.1885, -0.834082, -1.22833]


@tried("chemicals", "chemicals.virial.BVirial_Tsonopoulos")
def _() -> Any:
    from chemicals.virial import BVirial_Tsonopoulos

    return lambda p: BVirial_Tsonopoulos(*p) * 1e5, [510.0, 425.2, 38e5, 0.193]


@tried("chemicals", "chemicals.rachford_rice.flash_inner_loop")
def _() -> Any:
    from chemicals.rachford_rice import flash_inner_loop

    return lambda z: flash_inner_loop(z, [1.685, 0.742, 0.532])[0], [0.5, 0.3, 0.2]


@tried("chemicals", "chemicals.iapws.iapws95_P")
def _() -> Any:
    from chemicals.iapws import iapws95_P

    return lambda p: iapws95_P(p[0], p[1]) * 1e-6, [330.0, 990.0]


@tried("chemicals", "chemicals.viscosity.mu_IAPWS")
def _() -> Any:
    from chemicals.viscosity import mu_IAPWS

    return lambda p: mu_IAPWS(p[0], p[1]) * 1e3, [298.15, 998.0]


@tried("chemicals", "chemicals.volume.Rackett")
def _() -> Any:
    from chemicals.volume import Rackett

    return lambda p: Rackett(*p) * 1e5, [272.03889, 369.83, 4248000.0, 0.2763]


@tried("thermo", "thermo.nrtl.NRTL_gammas")
def _() -> Any:
    from thermo.nrtl import NRTL_gammas

    tau, alpha = [[0.0, 0.5], [0.9, 0.0]], [[0.0, 0.3], [0.3, 0.0]]
    return lambda x: NRTL_gammas(x, tau, alpha), [0.3, 0.7]


@tried("iapws", "iapws.iapws97._Region1")
def _() -> Any:
    from iapws.iapws97 import _Region1

    return lambda p: [_Region1(p[0], p[1])[name] for name in ("v", "h", "s", "cp")], [300.0, 3.0]


# optics, quantum mechanics, others ------------------------------------------------------------------------------------


@tried("tmm", "tmm.coh_tmm")
def _() -> Any:
    from tmm import coh_tmm

    def function(d: Any) -> Any:
        result = coh_tmm("s", [1.0, 2.2, 3.3 + 0.3j, 1.0], [np.inf, d[0], d[1], np.inf], 0.3, 400.0)
        return [result["R"], result["T"]]

    return function, [100.0, 300.0]


@tried(
    "tmm",
    "tmm.unpolarized_RT",
    reason="the gradient by the angle is NaN: a phase that is not used is infinite, and 0 times infinity is NaN",
    remedy="Differentiate by the angle in forward mode: `adjoint.func.jacfwd`",
)
def _() -> Any:
    from tmm import unpolarized_RT

    return lambda d: unpolarized_RT([1.0, 2.2, 1.5], [np.inf, d[0], np.inf], d[1], 400.0)["R"], [100.0, 0.3]


@tried("colour-science", "colour.XYZ_to_Lab")
def _() -> Any:
    import colour

    return lambda x: colour.XYZ_to_Lab(x), [0.2, 0.12, 0.05]


@tried("colour-science", "colour.difference.delta_E_CIE2000")
def _() -> Any:
    from colour.difference import delta_E_CIE2000

    return lambda x: delta_E_CIE2000(x, np.array([50.0, 40.0, 20.0])), [60.0, 30.0, -10.0]


@tried("colour-science", "colour.XYZ_to_sRGB")
def _() -> Any:
    import colour

    return lambda x: colour.XYZ_to_sRGB(x), [0.2, 0.12, 0.05]


@tried("colour-science", "colour.models.eotf_ST2084")
def _() -> Any:
    from colour.models import eotf_ST2084

    return lambda x: eotf_ST2084(x), [0.2, 0.5]


@tried("PennyLane", "pennylane.math.fidelity_statevector")
def _() -> Any:
    import pennylane as qml

    def function(p: Any) -> Any:
        state = np.stack([np.cos(p[0]) * (1 + 0j), np.exp(1j * p[1]) * np.sin(p[0])])
        return qml.math.fidelity_statevector(state, np.array([0.6, 0.8j]))

    return function, [0.4, 0.7]


@tried("PennyLane", "pennylane.RX.compute_matrix")
def _() -> Any:
    import pennylane as qml

    return lambda p: qml.RX.compute_matrix(p[0]) @ qml.Rot.compute_matrix(p[1], p[2], p[3]), [0.4, 0.7, -0.3, 1.1]


@tried("PennyLane", "pennylane.QNode", "on `default.qubit`")
def _() -> Any:
    import pennylane as qml

    @qml.qnode(qml.device("default.qubit", wires=2), diff_method="backprop")
    def circuit(p: Any) -> Any:
        qml.RX(p[0], wires=0)
        qml.RY(p[1], wires=1)
        qml.CNOT(wires=[0, 1])
        return qml.expval(qml.PauliZ(1))

    return circuit, [0.4, 0.7]


@tried("radvel", "radvel.kepler.kepler")
def _() -> Any:
    from radvel.kepler import kepler

    return lambda p: kepler(p[:3], p[3:]), [0.4, 1.7, 2.5, 0.3, 0.2, 0.5]


@tried("radvel", "radvel.orbit.timeperi_to_timetrans")
def _() -> Any:
    from radvel.orbit import timeperi_to_timetrans

    return lambda p: timeperi_to_timetrans(*p), [1.0, 10.0, 0.3, 0.5]


@tried("refnx", "refnx.reflect._reflect.abeles")
def _() -> Any:
    from refnx.reflect._reflect import abeles

    q = np.linspace(0.01, 0.3, 6)

    def function(p: Any) -> Any:
        layers = np.array([[0.0, 2.07, 0.0, 0.0], [p[0], p[1], 0.0, p[2]], [0.0, 6.36, 0.0, 3.0]])
        return np.log10(abeles(q, layers))

    return function, [100.0, 3.5, 2.0]


@tried("MetPy", "metpy.calc.dewpoint_from_relative_humidity")
def _() -> Any:
    import metpy.calc
    from metpy.units import units

    return (
        lambda p: metpy.calc.dewpoint_from_relative_humidity(p[0] * units.degC, p[1] * units.dimensionless).magnitude,
        [15.0, 0.5],
    )


@tried(
    "sncosmo",
    "sncosmo.salt2utils.SALT2ColorLaw",
    reason="the class is compiled code, which reads the memory of plain arrays",
    remedy="Give it to `adjoint.custom` with a rule",
)
def _() -> Any:
    from sncosmo.salt2utils import SALT2ColorLaw

    return SALT2ColorLaw((2800.0, 7000.0), [-0.5, 0.4, -0.3, 0.05]), [3000.0, 4000.0]


@tried("bumps", "bumps.bounds of a Normal distribution nllf")
def _() -> Any:
    from bumps.bounds import Normal

    return lambda p: Normal(0.4, 0.7).nllf(p[0]), [0.9]
