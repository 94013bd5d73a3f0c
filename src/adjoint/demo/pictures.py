"""The pictures that the demonstration writes: matplotlib figures, saved as PNG without opening a window."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import adjoint

from .digits import Training
from .newton import Solution
from .nist import MODELS, Fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROWS, COLUMNS = 4, 8
SMOOTHING = 45  # mini-batches averaged in the loss curve: one epoch
RIGHT, WRONG = "black", "crimson"


def smooth(values: Sequence[float]) -> NDArray[np.float64]:
    """Return the running mean over up to SMOOTHING values."""
    width = min(SMOOTHING, len(values))
    return np.convolve(values, np.ones(width) / width, mode="valid")


def draw_losses(axes: Axes, losses: Sequence[float]) -> None:
    """Draw the loss of every mini-batch, and its running mean."""
    mean = smooth(losses)
    axes.semilogy(losses, color="lightsteelblue", linewidth=0.6, label="mini-batch")
    axes.semilogy(np.arange(len(losses) - len(mean), len(losses)), mean, color="navy", label="running mean")
    axes.set(xlabel="step", ylabel="cross-entropy", title="Loss while learning")
    axes.legend()


def chosen_images(training: Training) -> NDArray[np.int64]:
    """Choose the held-out images to show: the wrong ones first, then right ones, in a grid's number."""
    wrong_first = np.argsort(training.predicted == training.labels, kind="stable")
    return wrong_first[: ROWS * COLUMNS]


def draw_image(axes: Axes, image: NDArray[np.float64], predicted: int, label: int) -> None:
    """Draw one digit with the network's answer; a wrong answer is red and gives the true class."""
    right = predicted == label
    axes.imshow(image.reshape(8, 8), cmap="gray_r")
    axes.set_title(
        str(predicted) if right else f"{predicted}, not {label}", color=RIGHT if right else WRONG, fontsize=9
    )
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(color=RIGHT if right else WRONG, linewidth=0.8 if right else 2.5)


def draw_digits(training: Training, path: Path) -> Path:
    """Write the loss curve and a grid of predictions; return the path."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 5), layout="constrained")
    left, right = figure.subfigures(1, 2, squeeze=False, width_ratios=[2, 3]).flat
    draw_losses(left.subplots(), training.losses)
    for axes, index in zip(right.subplots(ROWS, COLUMNS).flat, chosen_images(training), strict=True):
        draw_image(axes, training.images[index], int(training.predicted[index]), int(training.labels[index]))
    right.suptitle(f"Held-out digits, {training.accuracy:.1%} right (wrong ones in red come first)")
    figure.savefig(path, dpi=110)
    return path


def draw_fit(axes: Axes, result: Fit) -> None:
    """Draw a data set's observations and the fitted curve."""
    dataset = result.dataset
    x = np.linspace(dataset.x.min(), dataset.x.max(), 300)
    curve = MODELS[dataset.name](adjoint.from_numpy(result.parameters), adjoint.from_numpy(x)).numpy()
    axes.plot(x, curve, color="navy", label="fit")
    axes.plot(dataset.x, dataset.y, "o", color="darkorange", markersize=4, label="observed")
    axes.set(xlabel="x", ylabel="y", title=f"{dataset.name}: {result.parameter_digits:.1f} certified digits")
    axes.legend()


def draw_fits(fits: Sequence[Fit], path: Path) -> Path:
    """Write one panel per data set, each with its fit from the first starting point; return the path."""
    from matplotlib.figure import Figure

    first_fits = [result for result in fits if result.start == 1]
    figure = Figure(figsize=(5.5 * len(first_fits), 4), layout="constrained")
    for axes, result in zip(figure.subplots(1, len(first_fits), squeeze=False).flat, first_fits, strict=True):
        draw_fit(axes, result)
    figure.savefig(path, dpi=110)
    return path


def draw_newton(solution: Solution, path: Path) -> Path:
    """Write the gradient norm against the Newton step; return the path."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.5, 4), layout="constrained")
    axes = figure.subplots()
    axes.semilogy([step.gradient_norm for step in solution.steps], "o-", color="navy")
    axes.set(xlabel="Newton step", ylabel="gradient norm", title=f"Order of convergence {solution.order:.2f}")
    axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)
    return path
