"""Job 1: a two-layer network learns handwritten digits by mini-batch gradient descent.

The 1797 images of 8 x 8 pixels come with scikit-learn. A fifth of them is held out; the network never sees
it while learning, and the accuracy is counted there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import adjoint
from adjoint import Tensor

from .report import Check, Stopwatch

PIXELS, CLASSES, HIDDEN = 64, 10, 256
BATCH, LEARNING_RATE, EPOCHS = 32, 0.5, 40
ACCURACY_TARGET = 0.96

Parameters = tuple[Tensor, Tensor, Tensor, Tensor]


@dataclass(frozen=True)
class Digits:
    """Images as rows of 64 numbers from 0 to 1, and their classes 0 to 9, split for training and testing."""

    train_images: NDArray[np.float64]
    train_labels: NDArray[np.int64]
    test_images: NDArray[np.float64]
    test_labels: NDArray[np.int64]


@dataclass(frozen=True)
class Training:
    """A finished run: the loss after each mini-batch, the test set's answers, and the time of the steps.

    plain: the time of the first epoch's steps, which run without `adjoint.compile`; watch: that of the others.
    """

    losses: list[float]
    images: NDArray[np.float64]
    labels: NDArray[np.int64]
    predicted: NDArray[np.int64]
    watch: Stopwatch
    plain: Stopwatch

    @property
    def gain(self) -> float:
        """The speedup of a compiled step; 1 where no step ran uncompiled."""
        if not self.plain.laps:
            return 1.0
        return (self.plain.seconds / self.plain.laps) / (self.watch.seconds / self.watch.laps)

    @property
    def accuracy(self) -> float:
        """The share of held-out images that were recognised, from 0 to 1."""
        return float(np.mean(self.predicted == self.labels))

    def checks(self) -> list[Check]:
        """Compare the accuracy with its target."""
        return [
            Check(
                job="handwritten digits",
                computed=f"accuracy on {len(self.labels)} held-out images",
                result=f"{self.accuracy:.2%}",
                target=f"> {ACCURACY_TARGET:.0%}",
                is_met=self.accuracy > ACCURACY_TARGET,
                step=f"{self.watch.per_lap()} / SGD step",
            )
        ]


def load_digits() -> Digits:
    """Return scikit-learn's handwritten digits; a fifth of each class is held out (always the same fifth)."""
    from sklearn.datasets import load_digits as load
    from sklearn.model_selection import train_test_split

    images, labels = load(return_X_y=True)
    parts = train_test_split(images / 16.0, labels.astype(np.int64), test_size=0.2, stratify=labels, random_state=0)
    train_images, test_images, train_labels, test_labels = parts
    return Digits(train_images, train_labels, test_images, test_labels)


def initial_parameters(seed: int) -> Parameters:
    """Draw weights and biases; the factor sqrt(2 / inputs) keeps the signal's size through a relu layer."""
    adjoint.manual_seed(seed)
    weights_1 = adjoint.randn(PIXELS, HIDDEN) * (2 / PIXELS) ** 0.5
    weights_2 = adjoint.randn(HIDDEN, CLASSES) * (2 / HIDDEN) ** 0.5
    parameters = (weights_1, adjoint.zeros(HIDDEN), weights_2, adjoint.zeros(CLASSES))
    for parameter in parameters:
        parameter.requires_grad_()
    return parameters


def network(parameters: Parameters, images: Tensor) -> Tensor:
    """Return the logarithms of the class probabilities, (n, 10), for images of shape (n, 64)."""
    weights_1, biases_1, weights_2, biases_2 = parameters
    hidden = adjoint.relu(images @ weights_1 + biases_1)
    return adjoint.log_softmax(hidden @ weights_2 + biases_2, dim=1)


def cross_entropy(log_probabilities: Tensor, labels: Tensor) -> Tensor:
    """Return the mean negative log-probability of the true classes, a scalar."""
    return -log_probabilities.gather(1, labels[:, None]).mean()


def descend(parameters: Parameters, learning_rate: float) -> None:
    """Take one step against the gradient, in place, and clear the gradients."""
    with adjoint.no_grad():
        for parameter in parameters:
            if parameter.grad is not None:
                parameter -= learning_rate * parameter.grad
            parameter.grad = None


def step(parameters: Parameters, images: Tensor, labels: Tensor) -> Tensor:
    """Run one mini-batch forward and backward, update the parameters, and return the loss."""
    loss = cross_entropy(network(parameters, images), labels)
    loss.backward()
    descend(parameters, LEARNING_RATE)
    return loss.detach()


def batches(count: int, rng: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Yield one epoch's mini-batches: the indices 0 to count - 1, each once, in random order."""
    order = rng.permutation(count)
    for start in range(0, count, BATCH):
        yield order[start : start + BATCH]


def classify(parameters: Parameters, images: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the most probable class of each image."""
    with adjoint.no_grad():
        scores = network(parameters, adjoint.from_numpy(images.astype(np.float32)))
    return np.asarray(np.argmax(scores.numpy(), axis=1))


def progress_bar(console: Console) -> Progress:
    """Return a progress bar with the current loss; it stays silent where the output is not a terminal."""
    columns = (
        TextColumn("  training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("epochs, loss {task.fields[loss]:.4f}"),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console, disable=not console.is_terminal)


def train(digits: Digits, console: Console, *, epochs: int = EPOCHS, seed: int = 0) -> Training:
    """Train the network for a number of epochs and try it on the held-out images."""
    images = adjoint.from_numpy(digits.train_images.astype(np.float32))
    labels = adjoint.from_numpy(digits.train_labels)
    parameters = initial_parameters(seed)
    rng = np.random.default_rng(seed)
    losses: list[float] = []
    plain, watch = Stopwatch(), Stopwatch()
    compiled = adjoint.compile(step)
    with progress_bar(console) as progress:
        task = progress.add_task("training", total=epochs, loss=float("nan"))
        for epoch in range(epochs):
            # the first of several epochs runs as it is, to show what the recording gains
            is_plain = epoch == 0 and epochs > 1
            run_step = step if is_plain else compiled
            for batch in batches(len(labels), rng):
                index = adjoint.from_numpy(batch)
                with plain if is_plain else watch:
                    losses.append(run_step(parameters, images[index], labels[index]).item())
            progress.update(task, advance=1, loss=losses[-1])
    predicted = classify(parameters, digits.test_images)
    return Training(losses, digits.test_images, digits.test_labels, predicted, watch, plain)


def run(digits: Digits, console: Console, *, epochs: int = EPOCHS) -> Training:
    """Do the job and tell how it went."""
    console.print("[bold]1. Handwritten digits[/]: a two-layer network, reverse mode, mini-batch SGD")
    training = train(digits, console, epochs=epochs)
    wrong = int(np.sum(training.predicted != training.labels))
    console.print(
        f"  {training.watch.laps} compiled steps in {training.watch.seconds:.1f} s, {training.gain:.1f} times as quick "
        f"as those of the first epoch; loss {training.losses[0]:.3f} -> {np.mean(training.losses[-20:]):.4f}, "
        f"{wrong} of {len(training.labels)} held-out images wrong"
    )
    return training
