"""The jobs of the demonstration: the data are complete, each target is reached, and a missed target is reported."""

from __future__ import annotations

import io

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("rich")
pytest.importorskip("matplotlib")

from rich.console import Console

import adjoint
from adjoint.demo import digits, newton, nist, report
from adjoint.demo.__main__ import main

OBSERVATIONS_AND_PARAMETERS = {"Misra1a": (14, 2), "Thurber": (37, 7)}


@pytest.fixture(scope="module")
def data() -> digits.Digits:
    return digits.load_digits()


@pytest.fixture
def console() -> Console:
    return Console(file=io.StringIO(), width=120)


@pytest.mark.parametrize("name", OBSERVATIONS_AND_PARAMETERS)
def test_parser_reads_all_rows(name):
    dataset = nist.load(name)
    observations, parameters = OBSERVATIONS_AND_PARAMETERS[name]
    assert dataset.x.shape == dataset.y.shape == (observations,)
    assert dataset.starts.shape == (2, parameters)
    assert dataset.certified.shape == dataset.deviations.shape == (parameters,)


def test_parser_keeps_columns_apart():
    dataset = nist.load("Misra1a")
    assert (dataset.y[0], dataset.x[0], dataset.y[-1], dataset.x[-1]) == (10.07, 77.6, 81.78, 760.0)
    assert dataset.starts.tolist() == [[500.0, 0.0001], [250.0, 0.0005]]
    assert dataset.certified.tolist() == [238.94212918, 5.5015643181e-4]
    assert dataset.sum_of_squares == 0.12455138894


@pytest.mark.parametrize("name", OBSERVATIONS_AND_PARAMETERS)
def test_data_and_certified_values_belong_together(name):
    """NIST's parameters give NIST's sum of squares. A mistyped number would not."""
    dataset = nist.load(name)
    values = nist.evaluate(nist.residuals(dataset), dataset.certified)
    assert nist.agreeing_digits(float(np.sum(values**2)), dataset.sum_of_squares) > 10


def test_parser_refuses_other_files():
    with pytest.raises(ValueError, match="notes is not a NIST nonlinear-regression file"):
        nist.parse("notes", "b1 = 1 2 3 4\nData:   y   x\n1 2\n")


def test_jacobian_against_formula():
    dataset = nist.load("Misra1a")
    b1, b2 = point = np.array([300.0, 0.0004])
    decay = np.exp(-b2 * dataset.x)
    expected = np.stack([1 - decay, b1 * dataset.x * decay], axis=1)
    np.testing.assert_allclose(nist.jacobian(nist.residuals(dataset), point), expected, rtol=1e-13)


@pytest.mark.parametrize("start", [1, 2])
@pytest.mark.parametrize("name", OBSERVATIONS_AND_PARAMETERS)
def test_certified_values_are_reached(name, start):
    solution = nist.fit(nist.load(name), start)
    assert solution.parameter_digits >= 8
    assert solution.deviation_digits >= 8
    assert solution.sum_of_squares_digits >= 8


def test_agreeing_digits():
    assert nist.agreeing_digits(np.array([1.0, 2.002]), np.array([1.0, 2.0])) == pytest.approx(3)
    assert nist.agreeing_digits(2.0, 2.0) == nist.CERTIFIED_DIGITS
    assert nist.agreeing_digits(np.nan, 2.0) == 0


@pytest.mark.quick(0)
def test_network_learns(data, console):
    training = digits.train(data, console)
    assert training.accuracy > 0.96
    assert training.losses[-1] < 0.1 * training.losses[0]
    assert training.watch.laps + training.plain.laps == len(training.losses)
    assert training.gain > 0


@pytest.mark.quick(0)
def test_training_is_reproducible(data, console):
    first, second = (digits.train(data, console, epochs=2, seed=3).losses for _ in range(2))
    assert first == second


def test_held_out_images_are_not_trained_on(data):
    trained = {image.tobytes() for image in data.train_images}
    assert len(data.test_labels) == 360
    assert not any(image.tobytes() in trained for image in data.test_images)


def test_hessian_products_against_differences(data):
    loss = newton.objective(data)
    rng = np.random.default_rng(5)
    point, vector = 0.3 * rng.standard_normal((2, 65, 10))

    def gradient(at):
        weights = adjoint.tensor(at, requires_grad=True)
        return adjoint.autograd.grad(loss(weights), weights, create_graph=True)[0], weights

    product = newton.hessian_product(*gradient(point), report.Stopwatch())(vector)
    ahead, behind = (gradient(point + sign * 1e-5 * vector)[0].detach().numpy() for sign in (1, -1))
    np.testing.assert_allclose(product, (ahead - behind) / 2e-5, rtol=1e-6, atol=1e-8)


def test_conjugate_gradient_solves():
    rng = np.random.default_rng(1)
    root = rng.standard_normal((12, 12))
    matrix, right = root @ root.T + np.eye(12), rng.standard_normal(12)
    solution, products = newton.conjugate_gradient(lambda v: matrix @ v, right, 1e-12)
    np.testing.assert_allclose(solution, np.linalg.solve(matrix, right), rtol=1e-9)
    assert 1 < products < 40


def test_line_search_says_when_it_fails(data):
    loss = newton.objective(data)
    uphill = np.ones((65, 10))
    with pytest.raises(ArithmeticError, match="no decrease along a slope"):
        newton.line_search(loss, np.zeros((65, 10)), uphill, value=0.0, slope=-1.0)


@pytest.mark.quick(0)
def test_main_meets_targets_and_writes_pictures(tmp_path, capsys, monkeypatch):
    solutions, solve = [], newton.solve
    monkeypatch.setattr(newton, "solve", lambda data: solutions.append(solve(data)) or solutions[0])
    assert main(["--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "All 8 results met their targets" in printed
    assert "gradient norm" in printed
    for name in ("digits", "regression", "newton"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    (solution,) = solutions
    assert solution.gradient_norm < 1e-12 and solution.loss_difference < 1e-10
    assert solution.order > 1.8, "Newton's method converges quadratically"


@pytest.mark.quick(0)
def test_main_reports_a_missed_target(tmp_path, capsys):
    assert main(["digits", "--epochs", "1", "--out", str(tmp_path)]) == 1
    assert "target missed" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["sudoku"], ["--epochs", "0"]])
def test_main_refuses_unusable_arguments(arguments):
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
