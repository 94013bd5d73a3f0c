"""Job 2: nonlinear regression against certified values.

NIST publishes data sets whose least-squares solutions were computed in extended precision and certified to
eleven digits. Here SciPy's Levenberg-Marquardt solver fits them with Jacobians from reverse mode, from
both of NIST's starting points. The standard deviations are checked too: they come straight from the Jacobian
at the solution, so they show its accuracy, where the parameters alone would forgive an inexact one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import adjoint
from adjoint import Tensor

from .report import Check, Stopwatch

Array = NDArray[np.float64]

CERTIFIED_DIGITS = 11
DIGITS_TARGET = 8.0
SOLVER_TOLERANCE, POLISHING_STEPS = 1e-15, 30

_PARAMETER = re.compile(r"^\s*b\d+\s*=(.*)$", re.MULTILINE)
_SUM_OF_SQUARES = re.compile(r"^Residual Sum of Squares:\s*(\S+)", re.MULTILINE)
_OBSERVATIONS = re.compile(r"^Data:\s+y\s+x\s*$", re.MULTILINE)


@dataclass(frozen=True)
class Dataset:
    """One NIST data set: m observations, two starting points and certified values for p parameters."""

    name: str
    x: Array
    y: Array
    starts: Array
    certified: Array
    deviations: Array
    sum_of_squares: float


@dataclass(frozen=True)
class Fit:
    """A fit from one starting point, and the digits that agree with the certified values."""

    dataset: Dataset
    start: int
    parameters: Array
    parameter_digits: float
    deviation_digits: float
    sum_of_squares_digits: float
    jacobians: Stopwatch

    @property
    def digits(self) -> float:
        """The digits that agree in the worst of the certified values."""
        return min(self.parameter_digits, self.deviation_digits, self.sum_of_squares_digits)

    def checks(self) -> list[Check]:
        """Compare the number of agreeing digits with its target."""
        values = 2 * len(self.parameters) + 1
        return [
            Check(
                job="certified regression",
                computed=f"{self.dataset.name}, start {self.start}, all {values} values",
                result=f"{self.digits:.1f} digits",
                target=f">= {DIGITS_TARGET:.0f} digits",
                is_met=self.digits >= DIGITS_TARGET,
                step=f"{self.jacobians.per_lap()} / Jacobian",
            )
        ]


def misra1a(b: Tensor, x: Tensor) -> Tensor:
    """Monomolecular adsorption: two parameters, an exponential."""
    return b[0] * (1 - adjoint.exp(-b[1] * x))


def thurber(b: Tensor, x: Tensor) -> Tensor:
    """Electron mobility: seven parameters, a cubic over a cubic."""
    numerator = b[0] + x * (b[1] + x * (b[2] + x * b[3]))
    return numerator / (1 + x * (b[4] + x * (b[5] + x * b[6])))


MODELS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"Misra1a": misra1a, "Thurber": thurber}


def parse(name: str, text: str) -> Dataset:
    """Read NIST's file format: lines ``b1 = start 1, start 2, certified, deviation``, then rows of y and x.

    Raises ValueError when a part is missing or a row has not the right number of columns.
    """
    parameters = [line.split() for line in _PARAMETER.findall(text)]
    sum_of_squares = _SUM_OF_SQUARES.search(text)
    observations = _OBSERVATIONS.search(text)
    if not parameters or sum_of_squares is None or observations is None:
        raise ValueError(
            f"{name} is not a NIST nonlinear-regression file: it needs lines 'b1 = ...', "
            "'Residual Sum of Squares:' and 'Data: y x'"
        )
    columns = np.array(parameters, dtype=np.float64)
    rows = [line.split() for line in text[observations.end() :].splitlines() if line.strip()]
    y, x = np.array(rows, dtype=np.float64).T
    start_1, start_2, certified, deviations = columns.T
    starts = np.stack([start_1, start_2])
    return Dataset(name, x, y, starts, certified, deviations, float(sum_of_squares[1]))


def load(name: str) -> Dataset:
    """Read one of the data sets that come with the demonstration: ``"Misra1a"`` or ``"Thurber"``."""
    file = resources.files(__package__) / "data" / f"{name}.dat"
    return parse(name, file.read_text(encoding="ascii"))


def residuals(dataset: Dataset) -> Callable[[Tensor], Tensor]:
    """Return the function from p parameters to m differences between model and observation."""
    model = MODELS[dataset.name]
    x, y = adjoint.from_numpy(dataset.x), adjoint.from_numpy(dataset.y)
    return lambda b: model(b, x) - y


def jacobian(function: Callable[[Tensor], Tensor], point: Array) -> Array:
    """Return the (m, p) matrix of derivatives of a function from p to m numbers: one reverse pass per row.

    >>> jacobian(lambda b: b[0] * b, np.array([2.0, 3.0]))
    array([[4., 0.],
           [3., 2.]])
    """
    b = adjoint.tensor(point, requires_grad=True)
    values = function(b)
    rows = [adjoint.autograd.grad(value, b, retain_graph=True)[0].numpy() for value in values]
    return np.stack(rows)


def agreeing_digits(computed: Array | float, certified: Array | float) -> float:
    """Return NIST's log relative error, the number of correct digits, of the worst value; 11 at most.

    >>> round(agreeing_digits(1.001, 1.0), 3)
    3.0
    """
    error = float(np.max(np.abs(np.asarray(computed) - certified) / np.abs(certified)))
    if not math.isfinite(error):
        return 0.0
    return -math.log10(max(error, 10.0**-CERTIFIED_DIGITS))


def standard_deviations(rows: Array, sum_of_squares: float) -> Array:
    """Return the p parameters' standard deviations from the (m, p) Jacobian at the solution."""
    observations, parameters = rows.shape
    # Through the triangular factor, because forming J^T J would square the condition number.
    inverse = np.linalg.inv(np.linalg.qr(rows, mode="r"))
    variance = sum_of_squares / (observations - parameters)
    return np.asarray(np.sqrt(variance * np.sum(inverse**2, axis=1)))


def polish(function: Callable[[Tensor], Tensor], point: Array, derivatives: Callable[[Array], Array]) -> Array:
    """Sharpen a minimum by Gauss-Newton steps, which look for J^T r = 0, until they cease to shrink.

    A solver that watches the sum of squares stops at half the digits: there the sum is flat, and moving the
    parameters by 1e-8 changes it by 1e-16. The gradient J^T r still tells the difference.
    """
    shortest = math.inf
    for _ in range(POLISHING_STEPS):
        step = np.linalg.lstsq(derivatives(point), -evaluate(function, point), rcond=None)[0]
        length = float(np.max(np.abs(step / point)))
        if length >= shortest:
            break
        point, shortest = point + step, length
    return point


def evaluate(function: Callable[[Tensor], Tensor], point: Array) -> Array:
    """Return a function's values without recording a graph."""
    with adjoint.no_grad():
        return np.asarray(function(adjoint.tensor(point)))


def fit(dataset: Dataset, start: int) -> Fit:
    """Fit the data set's model from starting point 1 or 2 by Levenberg-Marquardt with exact Jacobians."""
    from scipy.optimize import least_squares

    function, watch = residuals(dataset), Stopwatch()

    def derivatives(point: Array) -> Array:
        with watch:
            return jacobian(function, point)

    solution = least_squares(
        lambda point: evaluate(function, point),
        dataset.starts[start - 1],
        jac=derivatives,
        method="lm",
        x_scale="jac",
        ftol=SOLVER_TOLERANCE,
        xtol=SOLVER_TOLERANCE,
        gtol=SOLVER_TOLERANCE,
    )
    parameters = polish(function, solution.x, derivatives)
    sum_of_squares = float(np.sum(evaluate(function, parameters) ** 2))
    deviations = standard_deviations(jacobian(function, parameters), sum_of_squares)
    return Fit(
        dataset,
        start,
        parameters,
        parameter_digits=agreeing_digits(parameters, dataset.certified),
        deviation_digits=agreeing_digits(deviations, dataset.deviations),
        sum_of_squares_digits=agreeing_digits(sum_of_squares, dataset.sum_of_squares),
        jacobians=watch,
    )


def run(console: Console) -> list[Fit]:
    """Do the job and tell how it went."""
    console.print("[bold]2. Certified regression[/]: NIST reference data, exact Jacobians by reverse mode")
    fits = [fit(load(name), start) for name in MODELS for start in (1, 2)]
    for result in fits:
        console.print(
            f"  {result.dataset.name}, start {result.start}, {result.jacobians.laps} Jacobians; agreeing "
            f"digits: parameters {result.parameter_digits:.1f}, deviations {result.deviation_digits:.1f}, "
            f"sum of squares {result.sum_of_squares_digits:.1f}"
        )
    return fits
