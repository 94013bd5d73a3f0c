"""Errors name the operation that made NaN or infinity, the origin of zeros, and the pass that freed a graph."""

from __future__ import annotations

import math
import threading
import warnings

import pytest

import adjoint
from adjoint.autograd import detect_anomaly, set_detect_anomaly
from adjoint.autograd.graph import record_locations, watch_forward


def quietly(mode: type, *arguments: object, **options: object) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mode(*arguments, **options)


def message_of_nan(loss: adjoint.Tensor) -> str:
    """The error message of a backward pass in anomaly mode."""
    with pytest.warns(UserWarning, match="Error detected"), pytest.raises(RuntimeError, match="returned nan") as caught:
        loss.backward()
    return str(caught.value)


# forward --------------------------------------------------------------------------------------------------------------


def test_nan_names_the_operation_its_inputs_and_the_line() -> None:
    x = adjoint.tensor([-1.0, 2.0, 3.0])
    with watch_forward(), pytest.raises(FloatingPointError) as caught:
        x.log()  # the culprit
    text = str(caught.value)
    first = "log() made NaN at 1 of 3 elements, first at [0].\n"
    assert text.startswith(first + "  input: [3] float32, from -1.0 to 3.0\n")
    assert __file__ in text and "x.log()  # the culprit" in text


def test_infinity_made_of_finite_numbers() -> None:
    x = adjoint.tensor([[1.0, 300.0], [2.0, 400.0]])
    with watch_forward(), pytest.raises(FloatingPointError, match=r"exp\(\) made inf at 2 of 4 .*, first at \[0, 1\]"):
        x.exp()
    with watch_forward(inf=False):
        assert x.exp().isinf().any()


def test_division_names_the_number() -> None:
    with watch_forward(), pytest.raises(FloatingPointError, match=r"true_div\w*\(\) made inf .*\n.*\n  other: 0\.0"):
        adjoint.ones(2) / 0.0


def test_infinity_put_in_on_purpose_may_go_on() -> None:
    scores = adjoint.tensor([1.0, 2.0])
    with watch_forward():
        weights = scores.masked_fill(adjoint.tensor([True, False]), -math.inf).softmax(-1)
    assert weights.tolist() == [0.0, 1.0]


def test_nan_of_infinities_is_made_there() -> None:
    x = adjoint.tensor([math.inf, 1.0])
    with watch_forward(), pytest.raises(FloatingPointError, match=r"sub\(\) made NaN .*\n.*from 1.0 to 1.0, 1 inf"):
        x - x


def test_nan_that_came_with_the_data_is_told_apart() -> None:
    x = adjoint.tensor([math.nan, 1.0])
    with watch_forward(), pytest.raises(FloatingPointError, match=r"mul\(\) passed on NaN .* in input at 1 of 2"):
        x * 2
    with watch_forward(nan=False):
        assert (x * 2).isnan().any()


def test_operations_in_place_on_sequences_and_complex_numbers() -> None:
    x = adjoint.tensor([-1.0])
    with watch_forward(), pytest.raises(FloatingPointError, match=r"sqrt\(\) made NaN"):
        x.sqrt_()
    with watch_forward(), pytest.raises(FloatingPointError, match=r"cat\(\) passed on NaN that it got in tensors"):
        adjoint.cat([adjoint.ones(1), adjoint.tensor([math.nan])])
    with watch_forward(), pytest.raises(FloatingPointError, match=r"\[1\] complex64 of magnitudes, from 0.0 to 0.0"):
        adjoint.tensor([0j]).reciprocal()


NAN = adjoint.tensor([math.nan])

SOURCES = {
    "a number": (lambda: adjoint.ones(2) * math.nan, r"mul\(\) passed on NaN that it got in other"),
    "one of several results": (lambda: NAN.max(0), r"passed on NaN that it got in input at 1 of 1"),
    "no elements": (lambda: adjoint.cat([adjoint.ones(0), NAN]), r"\n  tensors: \[0\] float32\n"),
    "truth values": (lambda: adjoint.where(NAN > 0, 1.0, NAN), r"\n  condition: \[1\] bool, from False to False\n"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_what_operands_are(source: str) -> None:
    compute, message = SOURCES[source]
    with watch_forward(), pytest.raises(FloatingPointError, match=message):
        compute()


def test_a_zero_dimensional_result() -> None:
    with watch_forward(), pytest.raises(FloatingPointError, match=r"log\(\) made inf at 1 of 1 .*, first at \[\]"):
        adjoint.tensor(0.0).log()


def test_views_integers_and_finite_results_are_left_alone() -> None:
    with watch_forward():
        x = adjoint.tensor([math.nan, 1.0])
        assert x[1:].item() == 1 and (adjoint.tensor([1, 2]) * 2).tolist() == [2, 4]
        assert adjoint.isnan(x).tolist() == [True, False]
        assert adjoint.where(adjoint.isnan(x), 0.0, x).tolist() == [0, 1]


def test_blocks_nest_and_end() -> None:
    x = adjoint.tensor([0.0])
    with watch_forward(nan=False):
        with watch_forward(inf=False):
            assert x.log().isinf()
        with pytest.raises(FloatingPointError):
            x.log()
    with adjoint.autograd.set_multithreading_enabled(True), pytest.warns(RuntimeWarning, match="divide by zero"):
        assert x.log().isinf()


def test_only_the_calling_thread_is_watched() -> None:
    flags: list[bool] = []

    def work() -> None:
        flags.append(bool((adjoint.tensor([math.nan]) * 2).isnan()))

    with watch_forward():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert flags == [True]


def test_backward_passes_are_not_watched() -> None:
    x = adjoint.tensor([0.0], requires_grad=True)
    with watch_forward():
        y = x.sqrt()
        y.backward(create_graph=True)
    assert x.grad.isinf()
    x.grad = None


def test_as_part_of_anomaly_mode() -> None:
    with quietly(detect_anomaly, check_forward=True):
        with pytest.raises(FloatingPointError, match=r"log\(\) made NaN"):
            adjoint.tensor([-1.0]).log()
        assert adjoint.is_anomaly_enabled()
    assert not adjoint.is_anomaly_enabled()
    with pytest.warns(RuntimeWarning):
        adjoint.tensor([-1.0]).log()


# the origin of zeros --------------------------------------------------------------------------------------------------


def test_nan_from_the_branch_that_where_did_not_select() -> None:
    x = adjoint.tensor([0.0, 4.0, 0.0], requires_grad=True)
    with quietly(detect_anomaly):
        y = adjoint.where(x > 0, x.sqrt() * 2, x)  # selects
        text = message_of_nan(y.sum())
    first, second, *_ = text.splitlines()
    assert first == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert second.startswith("At 2 of 2 places of NaN the gradient that arrived was 0")
    assert "NaN came from the branch that where() did not select." in second
    assert "x.sqrt() * 2, x)  # selects" in text and "where(mask, f(where(mask, x, 1)), other)" in text
    x.grad = None
    safe = adjoint.where(x > 0, x, 1.0)
    with quietly(detect_anomaly):
        adjoint.where(x > 0, safe.sqrt() * 2, x).sum().backward()
    assert x.grad.tolist() == [1.0, 0.5, 1.0]


def test_nan_behind_masked_fill() -> None:
    x = adjoint.tensor([0.0, 4.0], requires_grad=True)
    with quietly(detect_anomaly):
        text = message_of_nan(x.sqrt().masked_fill(x == 0, 1.0).sum())
    assert "the branch that masked_fill() did not select" in text


def test_zeros_of_another_operation_are_named() -> None:
    x = adjoint.tensor([0.0], requires_grad=True)
    with quietly(detect_anomaly):
        text = message_of_nan((x.sqrt() * 0).sum())
    assert "The zeros come from MulBackward0." in text and "did not select" not in text


def test_zeros_that_the_user_gave_have_no_source() -> None:
    x = adjoint.tensor([0.0, 1.0], requires_grad=True)
    with quietly(detect_anomaly), pytest.warns(UserWarning, match="Error"), pytest.raises(RuntimeError) as caught:
        x.sqrt().backward(adjoint.tensor([0.0, 1.0]))
    assert str(caught.value).endswith("0 times an infinite or NaN derivative is NaN.")


def test_nan_without_zeros_says_no_more_than_torch() -> None:
    x = adjoint.tensor([1.0], requires_grad=True)
    with quietly(detect_anomaly):
        text = message_of_nan((x * math.nan).sum())
    assert text == "Function 'MulBackward0' returned nan values in its 0th output."


def test_where_without_forward_information() -> None:
    x = adjoint.tensor([0.0, 4.0], requires_grad=True)
    loss = adjoint.where(x > 0, x.sqrt(), x).sum()
    with quietly(detect_anomaly):
        assert "the branch that where() did not select.\nGive that" in message_of_nan(loss)


# anomaly mode in torch's form -----------------------------------------------------------------------------------------


def test_what_hooks_raise_is_shown_too() -> None:
    x = adjoint.ones(2, requires_grad=True)

    def fail(*gradients: object) -> None:
        raise KeyError("mine")

    for register in (lambda y: y.register_hook(fail), lambda y: y.grad_fn.register_hook(fail)):
        with quietly(detect_anomaly):
            y = x.exp()
            register(y)
            with pytest.raises(KeyError, match="mine"), pytest.warns(UserWarning, match="Error detected in Exp"):
                y.sum().backward()


def test_nan_of_a_hook_on_a_node_is_the_nodes() -> None:
    x = adjoint.ones(2, requires_grad=True)
    with quietly(detect_anomaly):
        y = x.exp()
        y.grad_fn.register_hook(lambda inputs, outputs: (inputs[0] * math.nan,))
        assert "'ExpBackward0' returned nan values in its 0th output" in message_of_nan(y.sum())


def test_a_parent_without_forward_information() -> None:
    x = adjoint.zeros(2, requires_grad=True)
    y = (x**1.5).sum()
    with quietly(detect_anomaly):
        (first,) = adjoint.autograd.grad(y, x, create_graph=True)
        with pytest.raises(RuntimeError), pytest.warns(UserWarning, match="Error detected") as caught:
            adjoint.autograd.grad((first * 0).sum(), x)
    texts = [str(w.message) for w in caught]
    assert texts[0].startswith("Error detected in PowBackward0. Traceback of forward call that caused the error:\n")
    assert texts[1].startswith("Error detected in PowBackward0. No forward pass information available.")


def test_arguments_and_attributes() -> None:
    wrong = r"set_anomaly_enabled\(\): argument '{}' \(position {}\) must be bool, not int"
    with pytest.raises(TypeError, match=wrong.format("enabled", 1)):
        set_detect_anomaly(1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=wrong.format("check_nan", 2)):
        quietly(detect_anomaly, check_nan=1).__enter__()  # type: ignore[attr-defined]
    assert not adjoint.is_anomaly_enabled()
    mode = quietly(detect_anomaly, check_nan=False)
    assert (mode.prev, mode.check_nan, mode.prev_check_nan) == (False, False, True)  # type: ignore[attr-defined]


def test_a_mode_can_be_entered_twice() -> None:
    mode = quietly(detect_anomaly)
    with mode:  # type: ignore[attr-defined]
        with mode:  # type: ignore[attr-defined]
            assert adjoint.is_anomaly_enabled()
        assert not adjoint.is_anomaly_enabled()


# the pass that freed the graph ----------------------------------------------------------------------------------------


def test_second_pass_names_the_first() -> None:
    x = adjoint.ones(2, 3, requires_grad=True)
    with record_locations():
        y = x.exp()  # saves
        y.sum().backward()  # the first pass
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    torch_text, first, node = str(caught.value).splitlines()
    assert torch_text.startswith("Trying to backward through the graph a second time")
    assert torch_text.endswith("backward.")
    assert "ExpBackward0" in first and first.endswith("y.sum().backward()  # the first pass")
    assert "y = x.exp()  # saves" in node and node.endswith("which made a tensor of shape [2, 3].")


def test_second_pass_without_locations_says_no_more_than_torch() -> None:
    x = adjoint.ones(2, requires_grad=True)
    y = x.exp().sum()
    y.backward()
    with pytest.raises(RuntimeError) as caught:
        y.backward()
    assert str(caught.value).endswith("calling backward.") and "\n" not in str(caught.value)


def test_first_pass_through_views_and_custom_functions() -> None:
    class Double(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx, x):  # type: ignore[no-untyped-def]
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):  # type: ignore[no-untyped-def]
            return g * 2 + 0 * ctx.saved_tensors[0]

    x = adjoint.ones(3, requires_grad=True)
    with record_locations():
        base = x * 1
        part = base[:2]
        part.mul_(part)
        for y in (Double.apply(x).sum(), base.sum()):
            y.backward()
            with pytest.raises(RuntimeError, match=r"The first pass, which freed what \w+ had saved, was called here"):
                y.backward()


def test_saved_attribute_of_a_freed_node_names_the_pass() -> None:
    x = adjoint.ones(3, requires_grad=True)
    with record_locations():
        y = x.exp()
        y.sum().backward()
    with pytest.raises(RuntimeError, match="The first pass, which freed what ExpBackward0 had saved"):
        _ = y.grad_fn._saved_result
