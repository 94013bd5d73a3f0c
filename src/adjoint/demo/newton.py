"""Job 3: Newton's method with Hessian-vector products, reverse mode over reverse mode.

The model is multinomial logistic regression with a quadratic penalty on the same digits: 650 parameters,
strictly convex. The Hessian is never formed: conjugate gradients ask only for its products with vectors, and
each product is the gradient of a gradient. Near the solution the number of correct digits doubles with every
Newton step, which happens only when first and second derivatives are both exact. The least loss is then
compared with scikit-learn's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

import adjoint
from adjoint import Tensor

from .digits import CLASSES, Digits, cross_entropy
from .report import Check, Stopwatch

Array = NDArray[np.float64]

PENALTY = 1e-3
MAX_STEPS, MAX_HALVINGS, MAX_CG_STEPS = 30, 30, 500
GRADIENT_TARGET, LOSS_TARGET, ORDER_TARGET = 1e-12, 1e-10, 1.8
ROUNDING = 1e-14  # below it a gradient norm tells of rounding, not of convergence


@dataclass(frozen=True)
class NewtonStep:
    """The state before a Newton step, and the number of Hessian-vector products that the step took."""

    loss: float
    gradient_norm: float
    products: int


@dataclass(frozen=True)
class Solution:
    """The minimum that Newton's method found, how it got there, and scikit-learn's loss for comparison."""

    weights: Array
    steps: list[NewtonStep]
    reference_loss: float
    products: Stopwatch

    @property
    def gradient_norm(self) -> float:
        """The gradient's norm at the end."""
        return self.steps[-1].gradient_norm

    @property
    def loss_difference(self) -> float:
        """The relative distance of the final loss from the reference."""
        return abs(self.steps[-1].loss - self.reference_loss) / self.reference_loss

    @property
    def order(self) -> float:
        """The observed order of convergence: 2 means that the correct digits double with every step."""
        return convergence_order([step.gradient_norm for step in self.steps])

    def checks(self) -> list[Check]:
        """Compare gradient, order of convergence and loss with their targets."""
        per_product = f"{self.products.per_lap()} / H-v product"
        norm, order, difference = self.gradient_norm, self.order, self.loss_difference
        agrees = difference < LOSS_TARGET
        rows = (
            ("gradient norm", f"{norm:.1e}", f"< {GRADIENT_TARGET:.0e}", norm < GRADIENT_TARGET),
            ("order of convergence", f"{order:.2f}", f"> {ORDER_TARGET}", order > ORDER_TARGET),
            ("loss against scikit-learn's", f"{difference:.1e}", f"< {LOSS_TARGET:.0e}", agrees),
        )
        return [Check("Newton's method", *row, per_product) for row in rows]


def with_ones(images: Array) -> Array:
    """Append a column of ones, whose weights are the biases."""
    return np.hstack([images, np.ones((len(images), 1))])


def objective(digits: Digits) -> Callable[[Tensor], Tensor]:
    """Return the penalised loss of multinomial logistic regression as a function of the (65, 10) weights."""
    images = adjoint.from_numpy(with_ones(digits.train_images))
    labels = adjoint.from_numpy(digits.train_labels)

    def loss(weights: Tensor) -> Tensor:
        log_probabilities = adjoint.log_softmax(images @ weights, dim=1)
        return cross_entropy(log_probabilities, labels) + 0.5 * PENALTY * (weights * weights).sum()

    return loss


def conjugate_gradient(product: Callable[[Array], Array], right: Array, tolerance: float) -> tuple[Array, int]:
    """Solve H s = right for a positive definite H given by its products; return s and their number.

    It stops once the residual's norm is below the tolerance, or after 500 products.
    """
    solution, residual, direction = np.zeros_like(right), right.copy(), right.copy()
    square = np.vdot(residual, residual)
    products = 0
    while square > tolerance**2 and products < MAX_CG_STEPS:
        curved = product(direction)
        length = square / np.vdot(direction, curved)
        solution += length * direction
        residual -= length * curved
        square, previous = np.vdot(residual, residual), square
        direction = residual + (square / previous) * direction
        products += 1
    return solution, products


def hessian_product(gradient: Tensor, weights: Tensor, watch: Stopwatch) -> Callable[[Array], Array]:
    """Return v -> H v: the gradient's own vector-Jacobian product (H is symmetric)."""

    def product(vector: Array) -> Array:
        with watch:
            seed = adjoint.from_numpy(vector)
            return np.asarray(adjoint.autograd.grad(gradient, weights, grad_outputs=seed, retain_graph=True)[0])

    return product


def line_search(loss: Callable[[Tensor], Tensor], point: Array, step: Array, value: float, slope: float) -> Array:
    """Halve the step until the loss falls by a ten-thousandth of what its slope promises.

    Returns the new point; raises ArithmeticError when 30 halvings bring no decrease.
    """
    length = 1.0
    for _ in range(MAX_HALVINGS):
        candidate = point + length * step
        with adjoint.no_grad():
            reached = loss(adjoint.from_numpy(candidate)).item()
        # Near the solution the decrease drowns in rounding, hence the last term.
        if reached <= value + 1e-4 * length * slope + 1e-14 * abs(value):
            return candidate
        length /= 2
    raise ArithmeticError(f"the line search found no decrease along a slope of {slope:.3e} from {value!r}")


def minimise(loss: Callable[[Tensor], Tensor], start: Array, watch: Stopwatch) -> tuple[Array, list[NewtonStep]]:
    """Minimise a smooth convex function by Newton's method with conjugate gradients.

    Returns the minimum and the course of the iteration; the last entry describes the minimum itself.
    """
    point, steps = start, []
    for _ in range(MAX_STEPS):
        weights = adjoint.tensor(point, requires_grad=True)
        value = loss(weights)
        (gradient,) = adjoint.autograd.grad(value, weights, create_graph=True)
        downhill = -gradient.detach().numpy()
        norm = float(np.linalg.norm(downhill))
        if norm < GRADIENT_TARGET:
            steps.append(NewtonStep(value.item(), norm, 0))
            break
        # Solving ever more exactly as the gradient falls is what makes the convergence quadratic.
        tolerance = min(0.1, norm) * norm
        step, products = conjugate_gradient(hessian_product(gradient, weights, watch), downhill, tolerance)
        steps.append(NewtonStep(value.item(), norm, products))
        point = line_search(loss, point, step, value.item(), -float(np.vdot(downhill, step)))
    return point, steps


def convergence_order(norms: list[float]) -> float:
    """Estimate the order p in norm[k + 1] ~ C norm[k]**p from the last three norms above rounding.

    It is 0 when fewer than three are left.

    >>> round(convergence_order([1e-1, 1e-2, 1e-4, 1e-8]), 6)
    2.0
    """
    exact = [norm for norm in norms if norm > ROUNDING]
    if len(exact) < 3:
        return 0.0
    first, second, third = exact[-3:]
    return float(np.log(third / second) / np.log(second / first))


def reference_loss(digits: Digits) -> float:
    """Return the least loss that scikit-learn finds, evaluated in plain NumPy and SciPy."""
    from scipy.special import logsumexp
    from sklearn.linear_model import LogisticRegression

    images, labels = with_ones(digits.train_images), digits.train_labels
    strength = 1 / (PENALTY * len(labels))
    model = LogisticRegression(C=strength, fit_intercept=False, tol=1e-10, max_iter=10_000)
    weights = model.fit(images, labels).coef_.T
    scores = images @ weights
    likelihood = scores[np.arange(len(labels)), labels] - logsumexp(scores, axis=1)
    return float(-np.mean(likelihood) + 0.5 * PENALTY * np.sum(weights**2))


def solve(digits: Digits) -> Solution:
    """Minimise the penalised loss from zero weights and compare the result with scikit-learn's."""
    watch = Stopwatch()
    start = np.zeros((digits.train_images.shape[1] + 1, CLASSES))
    weights, steps = minimise(objective(digits), start, watch)
    return Solution(weights, steps, reference_loss(digits), watch)


def run(digits: Digits, console: Console) -> Solution:
    """Do the job and tell how it went."""
    console.print("[bold]3. Newton's method[/]: logistic regression, reverse over reverse mode")
    solution = solve(digits)
    for number, step in enumerate(solution.steps):
        console.print(
            f"  step {number:2d}  loss {step.loss:.14f}  gradient norm {step.gradient_norm:.1e}  "
            f"H-v products {step.products}"
        )
    console.print(f"  scikit-learn  {solution.reference_loss:.14f}")
    return solution
