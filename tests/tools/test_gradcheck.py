"""gradcheck and gradgradcheck: arguments, messages, unchanged state, and exact differences."""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import gradcheck, gradgradcheck
from adjoint.autograd.gradcheck import GradcheckError
from adjoint.tools.gradcheck import diagnosis
from tools.planted import plant

F64, C128 = adjoint.float64, adjoint.complex128


def leaf(*values: Any, dtype: Any = F64) -> Any:
    return adjoint.tensor(values, dtype=dtype, requires_grad=True)


def message(*args: Any, check: Any = gradcheck, **options: Any) -> str:
    with pytest.raises(GradcheckError) as caught:
        check(*args, **options)
    return str(caught.value)


def half(x: Any) -> Any:
    """The square with half of its derivative."""
    return x * x.detach()


# names --------------------------------------------------------------------------------------------------------------


def test_the_function_and_the_module() -> None:
    module = importlib.import_module("adjoint.autograd.gradcheck")
    assert inspect.isfunction(adjoint.autograd.gradcheck)
    assert adjoint.autograd.gradcheck is module.gradcheck
    assert {name: getattr(adjoint.autograd.gradcheck, name) for name in module.__all__} == {
        name: getattr(module, name) for name in module.__all__
    }
    assert issubclass(module.GradcheckError, RuntimeError)
    assert "call gradcheck" in module.FAILED_BATCHED_GRAD_MSG_FWD_AD


def test_signatures_are_torchs() -> None:
    defaults = {n: p.default for n, p in inspect.signature(gradcheck).parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert defaults == {
        "eps": 1e-6, "atol": 1e-5, "rtol": 1e-3, "raise_exception": True, "nondet_tol": 0.0,
        "check_undefined_grad": True, "check_grad_dtypes": False, "check_batched_grad": False,
        "check_batched_forward_grad": False, "check_forward_ad": False, "check_backward_ad": True, "fast_mode": False,
        "masked": None,
    }  # fmt: skip
    second = inspect.signature(gradgradcheck).parameters
    assert list(second)[:3] == ["func", "inputs", "grad_outputs"]
    assert {n: p.default for n, p in second.items() if p.kind is p.KEYWORD_ONLY} == {
        "eps": 1e-6, "atol": 1e-5, "rtol": 1e-3, "gen_non_contig_grad_outputs": False, "raise_exception": True,
        "nondet_tol": 0.0, "check_undefined_grad": True, "check_grad_dtypes": False, "check_batched_grad": False,
        "check_fwd_over_rev": False, "check_rev_over_rev": True, "fast_mode": False, "masked": False,
    }  # fmt: skip


# functions with right derivatives -------------------------------------------------------------------------------------

RIGHT: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "one input": (adjoint.sin, (leaf(1.0, 2.0),)),
    "several": (lambda x, y: (x * y, x.sum(), y.exp()), (leaf(1.0, 2.0), leaf(3.0, 4.0))),
    "list": (lambda x: [x * 2, x * x], (leaf(1.0, 2.0),)),
    "one requires no gradient": (lambda x, y: x * y, (adjoint.ones(2, dtype=F64), leaf(3.0, 4.0))),
    "other arguments": (lambda x, n, none, flags: x**n, (leaf(1.0, 2.0), 3, None, adjoint.tensor([True]))),
    "unused": (lambda x, y: x * 2, (leaf(1.0), leaf(2.0))),
    "integer output": (lambda x: (x * x, (x > 1), x.to(adjoint.int64)), (leaf(1.0, 2.0),)),
    "constant": (lambda x: adjoint.ones(3), (leaf(1.0, 2.0),)),
    "no output": (lambda x: (), (leaf(1.0),)),
    "identity": (lambda x: x, (leaf(1.0, 2.0),)),
    "view": (lambda x: x[0], (leaf([1.0, 2.0], [3.0, 4.0]),)),
    "zero-dimensional": (adjoint.exp, (adjoint.tensor(1.0, dtype=F64, requires_grad=True),)),
    "empty": (lambda x: (x * 2, x.sum()), (adjoint.zeros(0, 3, dtype=F64, requires_grad=True),)),
    "strided": (adjoint.sin, (adjoint.rand(3, 4, dtype=F64)[:, ::2].requires_grad_(),)),
    "transposed": (adjoint.sin, (adjoint.rand(3, 4, dtype=F64).t().requires_grad_(),)),
    "not a leaf": (adjoint.sin, (leaf(1.0, 2.0) * 2,)),
    "changes a copy": (lambda x: x.clone().mul_(3).sin_(), (leaf(1.0, 2.0),)),
    "complex": (lambda z: (z.sin() * z, z * 2j), (leaf(1 + 2j, 2 - 1j, dtype=C128),)),
    "complex to real": (lambda z: (z.abs(), z.imag), (leaf(1 + 2j, 2 - 1j, dtype=C128),)),
    "real to complex": (lambda x: x * (2 + 3j), (leaf(1.0, 2.0),)),
    "not holomorphic": (lambda z: z.conj() * z.abs(), (leaf(1 + 2j, dtype=C128),)),
    "real and complex": (lambda x, z: (x * z, z.real * x), (leaf(1.0, 2.0), leaf(1 + 2j, 2 - 1j, dtype=C128))),
}
EVERY = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", RIGHT)
def test_right_functions_pass(name: str, fast_mode: bool) -> None:
    func, inputs = RIGHT[name]
    assert gradcheck(func, inputs, fast_mode=fast_mode, check_grad_dtypes=True, **EVERY) is True
    batched = name != "empty"
    options = {"check_fwd_over_rev": True, "check_batched_grad": batched}
    assert gradgradcheck(func, inputs, fast_mode=fast_mode, **options) is True


def test_inputs_reached_in_another_way() -> None:
    x = leaf(1.0, 2.0)
    assert gradcheck(lambda _: x.exp(), x)
    assert gradcheck(adjoint.mul, (x, x))


def test_nothing_is_left_changed() -> None:
    x = leaf(0.1, 0.2, 0.3)
    x.grad = adjoint.ones(3, dtype=F64)
    before, state = x.tolist(), adjoint.get_rng_state()
    assert gradcheck(adjoint.exp, x, check_forward_ad=True) and gradgradcheck(adjoint.exp, x, fast_mode=True)
    assert x.tolist() == before and x.grad.tolist() == [1.0, 1.0, 1.0] and x._version == 0
    assert (adjoint.get_rng_state() == state).all()
    with pytest.raises(ZeroDivisionError):
        gradcheck(lambda x: x * 2 if x.tolist() == before else 1 / 0, x)
    assert x.tolist() == before


# arguments ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "options", "text"),
    [
        (gradcheck, {"check_backward_ad": False}, "at least one of check_forward_ad or check_backward_ad"),
        (gradcheck, {"check_batched_forward_grad": True}, "check_batched_forward_grad=True requires check_forward_ad"),
        (
            gradcheck,
            {"check_batched_grad": True, "check_backward_ad": False, "check_forward_ad": True},
            "Setting check_batched_grad=True requires check_backward_ad to be True",
        ),
        (gradgradcheck, {"check_rev_over_rev": False}, "at least one of check_fwd_over_rev or check_rev_over_rev"),
        (
            gradgradcheck,
            {"check_rev_over_rev": False, "check_fwd_over_rev": True},
            "Setting check_undefined_grad=True requires check_rev_over_rev to be True",
        ),
        (
            gradgradcheck,
            {
                "check_rev_over_rev": False,
                "check_fwd_over_rev": True,
                "check_undefined_grad": False,
                "check_batched_grad": True,
            },
            "Setting check_batched_grad=True requires check_rev_over_rev to be True",
        ),
    ],
)
def test_options_that_contradict(check: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        check(adjoint.sin, leaf(1.0), **options)


@pytest.mark.parametrize("inputs", [adjoint.ones(2), (), ("x",), {"x": 1}, [[leaf(1.0)]], adjoint.ones(2).long()])
def test_no_input_requires_a_gradient(inputs: Any) -> None:
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient, but none of them"):
        gradcheck(adjoint.sin, inputs, raise_exception=False)


def test_inputs_of_little_precision() -> None:
    x = leaf(1.0, 2.0, dtype=adjoint.float32)
    with pytest.warns(UserWarning, match="Input #1 requires gradient and is not a double precision") as caught:
        gradcheck(adjoint.mul, (leaf(1.0, 2.0), x))
    assert caught[0].filename == __file__
    for dtype in (adjoint.complex64, adjoint.float16, adjoint.bfloat16):
        with pytest.warns(UserWarning, match="Input #0 requires"):
            gradcheck(lambda x: x * 2, leaf(1.0, 2.0, dtype=dtype), atol=1e-2, rtol=1e-2)


def test_inputs_that_overlap_or_cannot_be_written() -> None:
    x = adjoint.ones(3, 1, dtype=F64).expand(3, 2).requires_grad_()
    with pytest.raises(RuntimeError, match=r"The 1th input has a dimension with stride 0\. gradcheck only supports"):
        gradcheck(lambda y, x: x * y, (leaf(1.0, 2.0), x))
    assert gradcheck(adjoint.sin, adjoint.ones(1, dtype=F64).expand(1, 1).requires_grad_())
    array = np.ones(2)
    array.flags.writeable = False
    with pytest.raises(RuntimeError, match="The 0th input lies in read-only memory"):
        gradcheck(adjoint.sin, adjoint.from_numpy(array).requires_grad_())


@pytest.mark.parametrize(("result", "kind"), [(3, "int"), (None, "NoneType"), ({"a": 1}, "dict")])
def test_results_that_are_no_tensors(result: Any, kind: str) -> None:
    with pytest.raises(TypeError, match=f"output 1 is of type {kind}. Select the tensors"):
        gradcheck(lambda x: (x * 2, result), leaf(1.0))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_results_that_change_with_the_values(fast_mode: bool) -> None:
    where = "" if fast_mode else r"on index \(1,\) "
    x = leaf(1.0, 2.0)

    def at_start(x: Any) -> bool:
        return abs(x.detach()[1].item() - 2.0) < 1e-9 or (fast_mode and abs(x.detach()[0].item() - 1.0) < 1e-9)

    cases = {
        f"same shape when inputs are perturbed {where}by 1e-06, but got: shapes .*2.* and .*4": lambda x: adjoint.cat(
            [x, x]
        ),
        f"same dtype when inputs are perturbed {where}by 1e-06, but got: dtypes .*64 and .*32": lambda x: x.float(),
        f"as many outputs when inputs are perturbed {where}by 1e-06, but got: 0": lambda x: (),
    }
    for text, otherwise in cases.items():
        with pytest.raises(AssertionError, match=text):
            gradcheck(lambda x, f=otherwise: x * 2 if at_start(x) else f(x), x, fast_mode=fast_mode)


def test_without_recording_outputs_have_no_gradient() -> None:
    with adjoint.no_grad():
        assert message(adjoint.sin, leaf(1.0)) == "Numerical gradient for function expected to be zero"


# messages -------------------------------------------------------------------------------------------------------------


def round_numbers(text: str) -> str:
    """A message with shortened numbers."""
    return re.sub(r"\d+\.\d*(?=[,\]])", lambda number: f"{float(number[0]):.4g}", text)


def test_message_of_a_mismatch() -> None:
    assert round_numbers(message(half, leaf(1.5, 2.0))) == (
        "Jacobian mismatch for output 0 with respect to input 0,\n"
        "numerical:tensor([[3, 0],\n        [0, 4]], dtype=adjoint.float64)\n"
        "analytical:tensor([[1.5, 0],\n        [0, 2]], dtype=adjoint.float64)\n"
        "\n"
        "Worst entry: argument 0 at [1], result 0 at [1]: numerical 4, analytical 2, error 2; 2 of 4 entries differ.\n"
        "Likely fault: the analytical derivative is 1/2 times the numerical one: a constant factor is wrong.\n"
    )


def test_message_in_fast_mode() -> None:
    text = round_numbers(message(half, leaf(1.5, 2.0), fast_mode=True))
    head, tail = text.split("\n\n", 1)
    lines = head.split("\n")
    assert lines[0] == "Jacobian mismatch for output 0 with respect to input 0,"
    assert float(lines[1].removeprefix("numerical:")) == pytest.approx(
        2 * float(lines[2].removeprefix("analytical:")), rel=1e-3
    )
    assert tail == (
        "The above quantities relating the numerical and analytical jacobians are computed \n"
        "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
        "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n"
        "\n"
        "Numerical:\n tensor([[3, 0],\n        [0, 4]], dtype=adjoint.float64)\n"
        "Analytical:\ntensor([[1.5, 0],\n        [0, 2]], dtype=adjoint.float64)\n"
        "\n"
        "The max per-element difference (slow mode) is: 2.0.\n"
        "\n"
        "Worst entry: argument 0 at [1], result 0 at [1]: numerical 4, analytical 2, error 2; 2 of 4 entries differ.\n"
        "Likely fault: the analytical derivative is 1/2 times the numerical one: a constant factor is wrong.\n"
    )


def test_tangents_in_fast_mode_are_vectors() -> None:
    wrong = plant(lambda x: x * 2, lambda g, x: g[0] * 2, lambda t, x: t[0] * 3)
    text = message(wrong, leaf(1.0, 2.0), fast_mode=True, check_forward_ad=True)
    assert text.startswith(
        "Jacobian computed with forward mode mismatch for output 0 with respect to input 0,\nnumerical:tensor(["
    )


def test_fast_mode_may_be_stricter_than_slow_mode() -> None:
    # For each entry, slow mode allows an error of rtol times its size. Fast mode allows rtol times the size of the sum.
    signs = adjoint.tensor([1.0, -1.0] * 8, dtype=F64)
    x = adjoint.ones(16, dtype=F64, requires_grad=True)
    slightly = plant(lambda x: x * 1e3 * signs, lambda g, x: g[0] * 1e3 * signs * (1 + 9e-4 * signs))
    assert gradcheck(slightly, x)
    text = message(slightly, x, fast_mode=True)
    assert "Fast gradcheck failed but element-wise differences are small." in text
    assert "`fast_mode=False`" in text


@pytest.mark.parametrize(
    ("func", "text"),
    [
        (
            plant(lambda z: z * 2, lambda g, z: g[0].real * 2 + 0j),
            "While considering the imaginary part of complex outputs only, Jacobian mismatch for output 0",
        ),
        (
            plant(lambda z: z * 2, lambda g, z: g[0].imag * 2j),
            "While considering the real part of complex outputs only, Jacobian mismatch for output 0",
        ),
        (
            plant(lambda z: z * 2, lambda g, z: g[0] * 2, lambda t, z: t[0].real * 2 + 0j),
            "While considering the imaginary part of complex inputs only, Jacobian computed with forward mode mismatch",
        ),
        (
            plant(lambda z: z * 2, lambda g, z: g[0] * 2, lambda t, z: t[0].imag * 2j),
            "While considering the real part of complex inputs only, Jacobian computed with forward mode mismatch",
        ),
        (plant(lambda z: z.abs(), lambda g, z: g[0] * z), "Jacobian mismatch for output 0 with respect to input 0"),
    ],
)
def test_which_part_of_complex_functions(func: Any, text: str) -> None:
    for fast_mode in (False, True):
        result = message(func, leaf(1 + 2j, 3 - 1j, dtype=C128), check_forward_ad=True, fast_mode=fast_mode)
        assert result.startswith(text)


def test_first_mismatch_in_torchs_order() -> None:
    inputs = (adjoint.ones(1, dtype=F64), leaf(1.0), leaf(2.0))
    both = plant(lambda a, x, y: (x + y, x * y), lambda g, a, x, y: (None, g[0] * 5 + g[1] * y, g[0] + g[1] * 7))
    assert message(both, inputs).startswith("Jacobian mismatch for output 0 with respect to input 0,")
    with pytest.raises(GradcheckError) as caught:
        gradcheck(both, inputs)
    result = caught.value.mismatch
    assert (result.input, result.output, result.input_at, result.output_at) == (1, 0, (0,), (0,))
    assert (result.numerical, result.analytical, result.wrong, result.entries) == (pytest.approx(1), 5, 1, 1)
    assert result.error == pytest.approx(4) and result.fault.startswith("the analytical derivative is 5 times")


def test_errors_of_other_kinds_have_no_mismatch() -> None:
    with pytest.raises(GradcheckError) as caught:
        gradcheck(lambda x: x.detach() * 2, leaf(1.0))
    assert caught.value.mismatch is None


def test_message_of_passes_that_differ() -> None:
    numbers = iter(range(100))
    random = plant(lambda x: x * 2, lambda g, x: g[0] * (2 + 1e-7 * next(numbers)))
    text = message(random, leaf(1.0), nondet_tol=1e-9)
    assert text.startswith(
        "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
        "different values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism "
        "was 1e-09.\n\nNOTE: If your op relies on non-deterministic operations"
    )
    assert gradcheck(random, leaf(1.0), nondet_tol=1e-5)


def test_undefined_cotangents() -> None:
    def func(x: Any, y: Any) -> Any:
        a = x * 10

        def hook(g: Any) -> None:
            if g is None:
                raise RuntimeError("undefined")

        a.register_hook(hook)
        return a, y * 3

    inputs = (leaf(1.0), leaf(2.0))
    with pytest.warns(UserWarning, match="Backwards compatibility: New undefined gradient support checking") as caught:
        text = message(func, inputs)
    assert text.startswith("Expected backward function to handle undefined output grads.")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gradcheck(func, inputs, check_undefined_grad=False)


def test_message_of_batched_gradients() -> None:
    looking = plant(lambda x: x * 2, lambda g, x: g[0] * 2 if float(g[0].sum()) else g[0])
    text = message(looking, leaf(1.0, 2.0), check_batched_grad=True)
    assert text.startswith("While computing batched gradients, got: ")
    assert "\n\ngradcheck or gradgradcheck failed while testing batched gradient computation.\n" in text


def test_message_of_batched_tangents() -> None:
    looking = plant(lambda x: x * 2, lambda g, x: g[0] * 2, lambda t, x: t[0] * 2 if t[0].sum() else t[0])
    text = message(looking, leaf(1.0), check_forward_ad=True, check_batched_forward_grad=True)
    assert text.startswith("While computing batched gradients, got: ")
    assert "gradcheck failed while testing batched gradient computation with forward-mode AD.\n" in text


def test_batched_results_that_differ() -> None:
    def of_batch(a: Any) -> bool:
        return type(a._array) is not np.ndarray

    wrong = plant(
        lambda x: x * 2,
        lambda g, x: g[0] * (5 if of_batch(g[0]) else 2),
        lambda t, x: t[0] * (5 if of_batch(t[0]) else 2),
    )
    for option in ({"check_batched_grad": True}, {"check_batched_forward_grad": True}):
        text = message(wrong, leaf(1.0, 2.0), check_forward_ad=True, **option)
        assert text.startswith("For output 0 and input 0:\n\n\ngradcheck")
        assert "\nGot:\ntensor([[" in text and "\nExpected:\ntensor([[" in text


# second order ---------------------------------------------------------------------------------------------------------


def test_given_cotangents() -> None:
    x, g = leaf(1.0, 2.0), leaf(3.0, 4.0)
    assert gradgradcheck(adjoint.sin, x, g) and gradgradcheck(adjoint.sin, x, (g,))
    assert gradgradcheck(adjoint.sin, x, g.detach())
    assert gradgradcheck(lambda x: (x * x, (x > 0), x**3), x, (g, g))
    with pytest.raises(RuntimeError, match=r"grad_output\[0\] has a shape of .*3.* and output\[0\] has a shape of .*2"):
        gradgradcheck(adjoint.sin, x, leaf(1.0, 2.0, 3.0))
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        gradgradcheck(lambda x: (x * x, x**3), x, g)


def test_cotangents_that_are_not_contiguous() -> None:
    grads = []

    def vjp(g: Any, x: Any) -> Any:
        grads.append(g[0].is_contiguous())
        return g[0] * 2 * x

    square = plant(lambda x: x * x, vjp)
    x = adjoint.rand(2, 3, dtype=F64, requires_grad=True)
    assert gradgradcheck(square, x) and all(grads)
    grads.clear()
    assert gradgradcheck(square, x, gen_non_contig_grad_outputs=True) and not all(grads)


# differences ----------------------------------------------------------------------------------------------------------

BADLY_CONDITIONED = {
    "cancellation": (lambda x: (x + 1e8) - 1e8, leaf(1.0, 2.0)),
    "large": (lambda x: x * 3 + 1e10 * (x * 0 + 1), leaf(1.0, 2.0)),
    "fast oscillation": (lambda x: (1e5 * x).sin(), leaf(1.0, 2.0)),
    "near the end of the domain": (adjoint.sqrt, leaf(1e-7, 1e-5)),
    "single precision": (lambda x: x.float() * 2, leaf(1.1, 0.7)),
    "steep": (lambda x: (100 * x).exp(), leaf(1.0, 0.5)),
}


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", BADLY_CONDITIONED)
def test_conditioning_does_not_fail_a_right_function(name: str, fast_mode: bool) -> None:
    func, x = BADLY_CONDITIONED[name]
    assert gradcheck(func, x, fast_mode=fast_mode)

    def a_percent_too_much(x: Any) -> Any:
        y = x * 1
        y.register_hook(lambda g: g * 1.01)
        return func(y)

    assert not gradcheck(a_percent_too_much, x, fast_mode=fast_mode, raise_exception=False)


@pytest.mark.parametrize("x", [40.3, 0.3, 1e3 + 0.3])
def test_steps_are_not_smoothed_over(x: float) -> None:
    straight_through = plant(adjoint.round, lambda g, x: g[0])
    assert "so its derivative is zero" in message(straight_through, leaf(x))
    assert gradcheck(adjoint.round, leaf(x))


def test_kinks_are_not_smoothed_over() -> None:
    assert "numerical 0.5, analytical 0," in message(adjoint.relu, leaf(0.0))


def test_tolerances() -> None:
    wrong = plant(lambda x: x * 2, lambda g, x: g[0] * 2.001)
    assert gradcheck(wrong, leaf(1.0)) and not gradcheck(wrong, leaf(1.0), rtol=1e-4, raise_exception=False)
    assert gradcheck(wrong, leaf(1.0), rtol=0, atol=1e-2)
    assert not gradcheck(adjoint.sin, leaf(1.0), rtol=0, atol=0, raise_exception=False)


def test_fast_mode_is_fast() -> None:
    calls = 0

    def func(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x.sin()

    x = adjoint.rand(30, dtype=F64, requires_grad=True)
    assert gradcheck(func, x, check_forward_ad=True) and calls > 60
    calls = 0
    assert gradcheck(func, x, check_forward_ad=True, fast_mode=True) and calls < 12


# diagnosis ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "1/2"), (-3.0, "-3"), (2 / 3, "2/3"), (0.7071, "0.7071"), (1e-9, "1e-09")]
)
def test_factors_are_written_as_fractions(value: float, text: str) -> None:
    assert diagnosis.fraction_text(value) == text


def test_a_complex_factor() -> None:
    turned = plant(lambda z: z * 2, lambda g, z: g[0] * 2j)
    text = message(turned, leaf(1 + 2j, 2 - 1j, dtype=C128))
    assert "a constant factor is wrong" in text


# older names ----------------------------------------------------------------------------------------------------------


def test_numerical_jacobian_of_older_programs() -> None:
    from adjoint.autograd.gradcheck import get_numerical_jacobian as numerical

    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with pytest.warns(FutureWarning, match="`get_numerical_jacobian` was part of PyTorch's private API"):
        by_x, by_y = numerical(lambda i: (i[0] * i[1], i[0]), (x, y))
    adjoint.testing.assert_close(by_x, adjoint.diag(y.detach()))
    adjoint.testing.assert_close(by_y, adjoint.diag(x.detach()))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        assert len(numerical(lambda i: i[0] * i[1], (x, y), target=x, eps=1e-6)) == 1
        assert len(numerical(lambda i: i[0] * i[1], (x.detach(), y))) == 1
        assert numerical(lambda x: x * 2, leaf(1.0, dtype=adjoint.float32))[0].dtype is adjoint.float32
        with pytest.raises(ValueError, match=r"get_numerical_jacobian no longer supports values of grad_out != 1\.0"):
            numerical(lambda i: i[0], (x,), grad_out=2.0)
        with pytest.raises(ValueError, match=r"Expected output to be non-complex\. get_numerical_jacobian no longer"):
            numerical(lambda i: i[0], (leaf(1j, dtype=C128),))


def test_analytical_jacobian_of_older_programs() -> None:
    from adjoint.autograd.gradcheck import get_analytical_jacobian as analytical

    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with pytest.warns(FutureWarning, match="`get_analytical_jacobian` was part of PyTorch's private API"):
        jacobians, *good = analytical((x, y), x * y)
    assert good == [True, True, True]
    adjoint.testing.assert_close(jacobians, (adjoint.diag(y.detach()), adjoint.diag(x.detach())))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        numbers = iter(range(100))
        random = plant(lambda x: x * 2, lambda g, x: g[0] * next(numbers))
        assert analytical((x,), random(x))[1] is False and analytical((x,), random(x), nondet_tol=10.0)[1] is True
        with pytest.raises(ValueError, match=r"get_analytical_jacobian no longer supports values of grad_out != 1\.0"):
            analytical((x,), x * 2, grad_out=2.0)
        with pytest.raises(ValueError, match=r"Expected output to be non-complex\. get_analytical_jacobian no longer"):
            analytical((x,), x * 2j)


def test_numerical_jacobian_by_one_input() -> None:
    from adjoint.autograd.gradcheck import get_numerical_jacobian_wrt_specific_input as numerical

    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    result = numerical(lambda a, b: (a * b, b * b), 1, (x, y), (x * y, y * y), 1e-6)
    adjoint.testing.assert_close(result, (adjoint.diag(x.detach()), adjoint.diag(2 * y.detach())))
    base = leaf(1.0, 2.0)
    (by_base,) = numerical(lambda a: a * 3, 0, (base.t(),), (base * 3,), 1e-6, input=base)
    adjoint.testing.assert_close(by_base, 3 * adjoint.eye(2, dtype=F64))
    (tangents,) = numerical(lambda a: a * 2j, 0, (x,), (x * 2j,), 1e-6, is_forward_ad=True)
    adjoint.testing.assert_close(tangents, 2j * adjoint.eye(2, dtype=C128))
    with pytest.raises(AssertionError, match="Expected ds_dx to be real-valued, not complex"):
        numerical(lambda a: a * 2j, 0, (x,), (x * 2j,), 1e-6)
