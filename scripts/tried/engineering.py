"""Control, filters, robotics, signals, symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

from tried.entries import tried

TITLE = "Control, filters, robotics, signals, symbols"

A = np.array([[0.0, 1.0], [-0.8, -0.5]])
MEASUREMENTS = [0.5, 0.9, 1.6, 2.2]


# filterpy -------------------------------------------------------------------------------------------------------------


@tried("filterpy", "filterpy.kalman.KalmanFilter", "predict and update, with `log_likelihood`")
def _() -> Any:
    from filterpy.kalman import KalmanFilter

    def function(p: Any) -> Any:
        filter = KalmanFilter(dim_x=2, dim_z=1)
        filter.F, filter.H = np.array([[1.0, 0.3], [0.0, 1.0]]), np.array([[1.0, 0.0]])
        filter.Q, filter.R, filter.P = np.eye(2) * p[0], p[1], np.eye(2) * p[2]
        total = 0.0
        for z in MEASUREMENTS:
            filter.predict()
            filter.update(z)
            total = total + filter.log_likelihood
        return [total, filter.x]

    return function, [0.1, 0.4, 2.0]


@tried("filterpy", "filterpy.kalman.ExtendedKalmanFilter", "predict and update")
def _() -> Any:
    from filterpy.kalman import ExtendedKalmanFilter

    def function(p: Any) -> Any:
        filter = ExtendedKalmanFilter(dim_x=2, dim_z=1)
        filter.x, filter.F = np.array([[1.0], [0.5]]), np.array([[1.0, 0.3], [0.0, 1.0]])
        filter.Q, filter.R = np.eye(2) * p[0], np.array([[1.0]]) * p[1]
        for z in MEASUREMENTS:
            filter.predict()
            filter.update(
                np.array([[z]]), lambda x: np.array([[2 * x[0, 0], 0.0]]), lambda x: np.array([[x[0, 0] ** 2]])
            )
        return filter.x

    return function, [0.1, 0.4]


@tried("filterpy", "filterpy.kalman.UnscentedKalmanFilter", "predict and update")
def _() -> Any:
    from filterpy.kalman import MerweScaledSigmaPoints, UnscentedKalmanFilter

    def function(p: Any) -> Any:
        points = MerweScaledSigmaPoints(2, 0.1, 2.0, 1.0)
        filter = UnscentedKalmanFilter(
            2, 1, 0.3, hx=lambda x: x[:1] ** 2, fx=lambda x, dt: np.array([x[0] + dt * x[1], x[1]]), points=points
        )
        filter.x, filter.P, filter.Q, filter.R = p[:2], np.eye(2) * 0.5, np.eye(2) * p[2], np.eye(1) * p[3]
        for z in MEASUREMENTS:
            filter.predict()
            filter.update(np.array([z]))
        return filter.x

    return function, [1.0, 0.5, 0.1, 0.4]


@tried("filterpy", "filterpy.kalman.update")
def _() -> Any:
    from filterpy.kalman import update

    return lambda p: update(p[:2], np.eye(2) * p[2], 0.7, p[3], np.array([[1.0, 0.4]])), [0.3, 0.5, 1.2, 0.4]


@tried("filterpy", "filterpy.kalman.unscented_transform")
def _() -> Any:
    from filterpy.kalman import unscented_transform

    weights = np.array([0.4, 0.3, 0.3])
    return lambda s: unscented_transform(s, weights, weights), np.array([[0.3, 0.1], [1.1, -0.4], [0.2, 0.9]])


@tried(
    "filterpy",
    "filterpy.kalman.SquareRootKalmanFilter",
    "predict and update",
    reason="the complete QR decomposition of a tall matrix is not unique, and has no derivative",
    remedy="Use `KalmanFilter`, which gives the same estimates",
)
def _() -> Any:
    from filterpy.kalman import SquareRootKalmanFilter

    def function(p: Any) -> Any:
        filter = SquareRootKalmanFilter(dim_x=2, dim_z=1)
        filter.F, filter.H = np.array([[1.0, 0.3], [0.0, 1.0]]), np.array([[1.0, 0.0]])
        filter.Q, filter.R, filter.P = np.eye(2) * p[0], np.eye(1) * p[1], np.eye(2) * p[2]
        for z in MEASUREMENTS:
            filter.predict()
            filter.update(z)
        return filter.x

    return function, [0.1, 0.4, 2.0]


@tried("filterpy", "filterpy.kalman.InformationFilter", "predict and update")
def _() -> Any:
    from filterpy.kalman import InformationFilter

    def function(p: Any) -> Any:
        filter = InformationFilter(dim_x=2, dim_z=1)
        filter.F, filter.H = np.array([[1.0, 0.3], [0.0, 1.0]]), np.array([[1.0, 0.0]])
        filter.Q, filter.R_inv, filter.P_inv = np.eye(2) * p[0], np.eye(1) * p[1], np.eye(2) * p[2]
        for z in MEASUREMENTS:
            filter.predict()
            filter.update(np.array([[z]]))
        return filter.x

    return function, [0.1, 0.4, 2.0]


@tried("filterpy", "filterpy.common.Q_discrete_white_noise")
def _() -> Any:
    from filterpy.common import Q_discrete_white_noise

    return lambda p: Q_discrete_white_noise(3, p[0], p[1]), [0.3, 1.4]


@tried("filterpy", "filterpy.common.van_loan_discretization")
def _() -> Any:
    from filterpy.common import van_loan_discretization

    return lambda p: van_loan_discretization(np.array([[0.0, 1.0], [-p[0], 0.0]]), np.array([[0.0], [p[1]]]), 0.1), [
        1.3,
        2.0,
    ]


@tried("filterpy", "filterpy.stats.multivariate_gaussian")
def _() -> Any:
    from filterpy.stats import multivariate_gaussian

    return lambda p: multivariate_gaussian(p[:2], p[2:4], np.array([[p[4], 0.1], [0.1, 0.8]])), [
        0.3,
        0.5,
        0.1,
        0.2,
        1.2,
    ]


@tried("filterpy", "filterpy.gh.GHFilter.update")
def _() -> Any:
    from filterpy.gh import GHFilter

    def function(p: Any) -> Any:
        filter = GHFilter(x=p[0], dx=p[1], dt=1.0, g=p[2], h=p[3])
        for z in MEASUREMENTS:
            filter.update(z)
        return filter.x

    return function, [0.3, 0.1, 0.8, 0.2]


# control --------------------------------------------------------------------------------------------------------------


@tried("control", "control.StateSpace", "its frequency response")
def _() -> Any:
    import control

    return (
        lambda p: control.ss(np.array([[0.0, 1.0], [-p[0], -p[1]]]), [[0.0], [1.0]], [[1.0, 0.0]], 0.0)(0.7j),
        [0.8, 0.5],
    )


@tried("control", "control.TransferFunction", "its frequency response")
def _() -> Any:
    import control

    return lambda p: control.tf([p[0]], np.array([1.0, p[1], p[2]]))(0.7j), [1.3, 0.5, 0.8]


@tried("control", "control.lyap")
def _() -> Any:
    import control

    return lambda a: control.lyap(a, np.eye(2), method="scipy"), A


@tried("control", "control.ctrb", "with `control.obsv`")
def _() -> Any:
    import control

    return lambda a: [control.ctrb(a, [[0.0], [1.0]]), control.obsv(a, [[1.0, 0.0]])], A


@tried("control", "control.care")
def _() -> Any:
    import control

    return lambda a: control.care(a, np.array([[0.0], [1.0]]), np.eye(2), method="scipy")[0], A


@tried(
    "control",
    "control.forced_response",
    reason="results are viewed as `NamedSignal`, a subclass of ndarray, whose memory is plain",
    remedy="Give the matrices to `scipy.linalg.expm`, or integrate with `adjoint.integrate`",
)
def _() -> Any:
    import control

    t = np.linspace(0.0, 1.0, 5)
    return (
        lambda p: (
            control.forced_response(
                control.ss(np.array([[0.0, 1.0], [-p[0], -p[1]]]), [[0.0], [1.0]], [[1.0, 0.0]], 0.0), t, np.ones(5)
            ).outputs
        ),
        [0.8, 0.5],
    )


# attitude and robotics ------------------------------------------------------------------------------------------------


@tried("ahrs", "ahrs.common.orientation.q2R")
def _() -> Any:
    from ahrs.common.orientation import q2R

    return q2R, [0.9, 0.1, -0.2, 0.3]


@tried("ahrs", "ahrs.common.orientation.q_prod")
def _() -> Any:
    from ahrs.common.orientation import q_prod

    return lambda x: q_prod(x[:4], x[4:]), [0.9, 0.1, -0.2, 0.3, 0.4, 0.2, 0.1, -0.5]


@tried("ahrs", "ahrs.common.orientation.ecompass")
def _() -> Any:
    from ahrs.common.orientation import ecompass

    return lambda x: ecompass(x[:3], x[3:]), [0.1, 0.2, 9.7, 20.0, 1.0, -40.0]


@tried(
    "ahrs",
    "ahrs.filters.Madgwick.updateIMU",
    reason="`Quaternion` is a subclass of ndarray that is made of the memory of a plain array",
    remedy="Use the functions of `ahrs.common.orientation`, which take arrays",
)
def _() -> Any:
    from ahrs.filters import Madgwick

    return lambda x: Madgwick(gain=0.1).updateIMU(np.array([0.9, 0.1, -0.2, 0.3]) / 0.974679, x[:3], x[3:]), [
        0.1, 0.2, -0.3, 0.4, 0.2, 9.7,
    ]  # fmt: skip


@tried("ahrs", "ahrs.common.frames.geodetic2ecef")
def _() -> Any:
    from ahrs.common.frames import geodetic2ecef

    return lambda p: np.array(geodetic2ecef(p[0], p[1], p[2])) * 1e-6, [0.8, 0.3, 200.0]


@tried("pytransform3d", "pytransform3d.rotations.matrix_from_axis_angle")
def _() -> Any:
    from pytransform3d.rotations import matrix_from_axis_angle

    return matrix_from_axis_angle, [0.6, 0.0, 0.8, 0.7]


@tried("pytransform3d", "pytransform3d.rotations.active_matrix_from_angle")
def _() -> Any:
    from pytransform3d.rotations import active_matrix_from_angle

    return lambda p: active_matrix_from_angle(2, p[0]) @ active_matrix_from_angle(0, p[1]), [0.4, 0.9]


@tried("pytransform3d", "pytransform3d.transformations.transform_from_exponential_coordinates")
def _() -> Any:
    from pytransform3d.transformations import transform_from_exponential_coordinates

    return lambda x: transform_from_exponential_coordinates(x), [0.3, -0.2, 0.5, 1.0, 0.4, -0.6]


@tried("pytransform3d", "pytransform3d.rotations.concatenate_quaternions")
def _() -> Any:
    from pytransform3d.rotations import concatenate_quaternions

    return lambda x: concatenate_quaternions(x[:4], x[4:]), [0.9, 0.1, -0.2, 0.3, 0.4, 0.2, 0.1, -0.5]


@tried("pyquaternion", "pyquaternion.Quaternion.rotate")
def _() -> Any:
    from pyquaternion import Quaternion

    return lambda p: Quaternion(p[0], p[1], p[2], p[3]).rotate(p[4:]), [0.9, 0.1, -0.2, 0.3, 1.0, 0.4, -0.6]


@tried(
    "spatialmath-python",
    "spatialmath.base.rpy2r",
    reason="it takes a number for a vector if `isinstance(x, collections.abc.Iterable)`, as a differentiable number is",
    remedy="Use the functions of `pytransform3d.rotations`",
)
def _() -> Any:
    from spatialmath.base import rpy2r

    return lambda p: rpy2r(p[0], p[1], p[2]), [0.4, 0.9, -0.3]


@tried("spatialmath-python", "spatialmath.base.trexp")
def _() -> Any:
    from spatialmath.base import trexp

    return lambda p: trexp(p), [0.3, -0.2, 0.5, 1.0, 0.4, -0.6]


# signals, images, circuits --------------------------------------------------------------------------------------------


@tried("scikit-image", "skimage.color.rgb2hsv")
def _() -> Any:
    from skimage.color import rgb2hsv

    return rgb2hsv, np.array([[[0.3, 0.5, 0.2], [0.9, 0.1, 0.4]]])


@tried("scikit-image", "skimage.color.rgb2lab")
def _() -> Any:
    from skimage.color import rgb2lab

    return rgb2lab, np.array([[[0.3, 0.5, 0.2], [0.9, 0.1, 0.4]]])


@tried("scikit-image", "skimage.metrics.peak_signal_noise_ratio")
def _() -> Any:
    from skimage.metrics import peak_signal_noise_ratio

    return (
        lambda x: peak_signal_noise_ratio(np.linspace(0.0, 1.0, 6).reshape(2, 3), x, data_range=1.0),
        np.linspace(0.1, 0.7, 6).reshape(2, 3),
    )


@tried("scikit-image", "skimage.metrics.structural_similarity")
def _() -> Any:
    from skimage.metrics import structural_similarity

    image = np.sin(np.arange(25.0)).reshape(5, 5)
    return (
        lambda x: structural_similarity(image, x, win_size=3, data_range=2.0),
        np.cos(np.arange(25.0)).reshape(5, 5),
    )


@tried("scikit-image", "skimage.filters.gaussian")
def _() -> Any:
    from skimage.filters import gaussian

    return lambda x: gaussian(x, 0.8), np.cos(np.arange(20.0)).reshape(4, 5)


@tried("scikit-rf", "skrf.network.s2z")
def _() -> Any:
    from skrf.network import s2z

    return lambda x: s2z(x.reshape(1, 2, 2) + 0.1j), [0.2, 0.1, 0.3, -0.4]


@tried("scikit-rf", "skrf.tlineFunctions.zl_2_zin")
def _() -> Any:
    from skrf.tlineFunctions import zl_2_zin

    return lambda p: zl_2_zin(p[0], p[1], p[2]), [50.0, 75.0, 0.4]


@tried("sympy", "sympy.lambdify", "of an expression")
def _() -> Any:
    import sympy

    x, y = sympy.symbols("x y")
    compiled = sympy.lambdify([x, y], sympy.besselj(0, x) * sympy.Piecewise((sympy.sin(y), x > 0), (y, True))
                              + sympy.Matrix([[x, y], [y, 1]]).det(), "scipy")  # fmt: skip
    return lambda p: compiled(p[0], p[1]), [0.7, 1.4]


@tried(
    "sympy",
    "sympy.lambdify",
    "of a Matrix",
    reason="the generated function has NumPy's names in a dictionary of its own, where no block replaces them",
    remedy='Generate it with `modules=[adjoint.numpy, "numpy"]`',
)
def _() -> Any:
    import sympy

    x, y = sympy.symbols("x y")
    compiled = sympy.lambdify([x, y], sympy.Matrix([[sympy.cos(x), x * y], [y**3, sympy.exp(x)]]), "numpy")
    return lambda p: compiled(p[0], p[1]), [0.7, 1.4]


@tried(
    "uncertainties",
    "uncertainties.umath.sin",
    "of a ufloat",
    reason="the functions of math are stored in closures when the package is imported, and call `float`",
    remedy="Take the derivatives that error propagation needs from adjoint itself",
)
def _() -> Any:
    from uncertainties import ufloat, umath

    return lambda p: umath.sin(ufloat(p[0], 0.1)).nominal_value, [0.7]


@tried(
    "numdifftools",
    "numdifftools.Derivative",
    reason="the gradient is NaN: the extrapolation divides by zero in the branch that `numpy.where` does not choose",
    remedy="Differentiate in forward mode: `adjoint.func.jacfwd`",
)
def _() -> Any:
    import numdifftools

    return lambda p: numdifftools.Derivative(lambda t: np.sin(p[0] * t), method="central")(p[1]), [0.7, 1.4]


@tried(
    "networkx",
    "networkx.pagerank",
    reason="a matrix of scipy.sparse is in the product, which holds plain memory",
    remedy="Solve with the dense matrix of `networkx.to_numpy_array`",
)
def _() -> Any:
    import networkx as nx

    graph = nx.DiGraph([(0, 1), (1, 2), (2, 0), (0, 2)])
    return lambda p: list(nx.pagerank(graph, alpha=p[0]).values()), [0.8]
