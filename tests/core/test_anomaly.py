"""Anomaly mode names the forward operation."""

from __future__ import annotations

import threading
import warnings

import pytest

import adjoint
from adjoint.autograd import detect_anomaly, set_detect_anomaly


def quietly(mode: type, *arguments: object) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mode(*arguments)


def loss_with_nan(x: adjoint.Tensor) -> adjoint.Tensor:
    root = x.sqrt()  # the culprit
    return (root * 0).sum()


@pytest.fixture
def zero() -> adjoint.Tensor:
    return adjoint.zeros(2, requires_grad=True)


def test_entering_warns() -> None:
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled"), detect_anomaly():
        assert adjoint.is_anomaly_enabled() and adjoint.is_anomaly_check_nan_enabled()
    assert not adjoint.is_anomaly_enabled()


def test_nan_names_the_node_and_shows_its_origin(zero: adjoint.Tensor) -> None:
    with quietly(detect_anomaly):
        loss = loss_with_nan(zero)
        with (
            pytest.raises(RuntimeError, match=r"Function 'SqrtBackward0' returned nan values in its 0th output\."),
            pytest.warns(UserWarning, match="Error detected in ") as caught,
        ):
            loss.backward()
    (warning,) = caught
    assert warning.filename == __file__
    text = str(warning.message)
    assert text.startswith("Error detected in SqrtBackward0. Traceback of forward call that caused the error:\n")
    assert "in loss_with_nan" in text and "root = x.sqrt()  # the culprit" in text


def test_without_nan_check_nan_goes_through(zero: adjoint.Tensor) -> None:
    with quietly(detect_anomaly, False):
        loss_with_nan(zero).backward()
    assert zero.grad.isnan().all()


def test_forward_outside_the_block(zero: adjoint.Tensor) -> None:
    loss = loss_with_nan(zero)
    with quietly(detect_anomaly), pytest.raises(RuntimeError), pytest.warns(UserWarning, match="No forward pass inf"):
        loss.backward()


def test_error_in_a_node_is_unchanged_and_shown(zero: adjoint.Tensor) -> None:
    def fail(tensor: object) -> adjoint.Tensor:
        raise KeyError("mine")

    with quietly(detect_anomaly):
        with adjoint.autograd.graph.saved_tensors_hooks(lambda t: t, fail):
            y = zero.exp().sum()
        with pytest.raises(KeyError, match="mine"), pytest.warns(UserWarning, match="Error detected in ExpBackward0"):
            y.backward()


def test_second_order_shows_the_parent(zero: adjoint.Tensor) -> None:
    with quietly(detect_anomaly):
        y = zero * zero.detach().requires_grad_()
        y = (zero**1.5).sum()
        (first,) = adjoint.autograd.grad(y, zero, create_graph=True)
        assert {"traceback_", "parent_"} <= set(first.grad_fn.metadata)
        warned = pytest.warns(UserWarning, match="Error detected|Previous calculation")
        with pytest.raises(RuntimeError, match="returned nan values"), warned as caught_warnings:
            adjoint.autograd.grad((first * 0).sum(), zero)
    texts = [str(w.message) for w in caught_warnings]
    assert texts[0].startswith("Error detected in ")
    assert "\n\nPrevious calculation was induced by PowBackward0. Traceback of forward call that induced" in texts[1]


def test_set_detect_anomaly_as_function_and_block() -> None:
    set_detect_anomaly(True)
    assert adjoint.is_anomaly_enabled()
    set_detect_anomaly(False)
    assert not adjoint.is_anomaly_enabled()
    with set_detect_anomaly(True, check_nan=False):
        assert adjoint.is_anomaly_enabled() and not adjoint.is_anomaly_check_nan_enabled()
    assert not adjoint.is_anomaly_enabled() and adjoint.is_anomaly_check_nan_enabled()


def test_holds_in_all_threads(zero: adjoint.Tensor) -> None:
    flags: list[object] = []

    def work() -> None:
        flags.append(adjoint.is_anomaly_enabled())
        flags.append("traceback_" in (zero * 2).grad_fn.metadata)

    with set_detect_anomaly(True):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert flags == [True, True]
    assert not (zero * 2).grad_fn.metadata


def test_normal_gradients_are_unchanged() -> None:
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    with quietly(detect_anomaly):
        (adjoint.stack([x, x * x]).max(dim=0).values * x).sum().backward()
    assert x.grad.tolist() == [2 if x[0] >= x[0] ** 2 else 3, 12] or x.grad.tolist() == [2.5, 12]


def failing_hook(x: adjoint.Tensor) -> None:
    def fail(gradient: adjoint.Tensor) -> None:
        raise KeyError("mine")

    y = x.exp()  # the culprit
    y.register_hook(fail)
    y.sum().backward()


def nan_of_the_first_order(x: adjoint.Tensor) -> None:
    loss_with_nan(x).backward()


def nan_of_the_second_order(x: adjoint.Tensor) -> None:
    root = (x * 1).sqrt().sum()  # the culprit
    (slope,) = adjoint.autograd.grad(root, x, create_graph=True)
    (slope * 0).sum().backward()


FAILURES = {
    failing_hook: (KeyError, ["Error detected in ExpBackward0"]),
    nan_of_the_first_order: (RuntimeError, ["Error detected in SqrtBackward0"]),
    nan_of_the_second_order: (
        RuntimeError,
        ["Error detected in ", "Previous calculation was induced by SqrtBackward0"],
    ),
}


@pytest.mark.parametrize("failing", FAILURES)
def test_where_warnings_are_errors_the_traceback_is_printed(failing, zero, capsys) -> None:
    error, message = FAILURES[failing]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RuntimeWarning)  # NumPy's warning in the forward pass
        with set_detect_anomaly(True), pytest.raises(error) as caught:
            failing(zero)
    assert caught.value.__cause__ is None
    assert not any("Error detected" in note for note in getattr(caught.value, "__notes__", ()))
    printed = capsys.readouterr()
    parts = printed.err.split("UserWarning: ")[1:]
    assert not printed.out and len(parts) == len(message)
    assert all(text in part for text, part in zip(message, parts, strict=True)) and "# the culprit" in parts[-1]


def test_where_warnings_are_errors_and_there_is_no_stderr(zero, monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.stderr", None)
    with set_detect_anomaly(True), pytest.raises(RuntimeError, match="SqrtBackward0' returned nan"):
        loss_with_nan(zero).backward()
    assert not capsys.readouterr().out


def test_batches_of_cotangents(zero: adjoint.Tensor) -> None:
    with quietly(detect_anomaly):
        (gradient,) = adjoint.autograd.grad(zero.exp(), zero, adjoint.ones(3, 2), is_grads_batched=True)
        assert gradient.tolist() == [[1, 1]] * 3
        y = zero.sqrt() * 0
        with pytest.raises(RuntimeError, match="returned nan"), pytest.warns(UserWarning, match="Error detected in"):
            adjoint.autograd.grad(y, zero, adjoint.ones(3, 2), is_grads_batched=True)
