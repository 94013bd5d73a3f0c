"""Rare calls: custom functions, levels, views, batches and trees in forms that other tests do not have."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import func
from adjoint.autograd import Function, forward_ad, functional, grad
from adjoint.testing import assert_close
from adjoint.transforms.batching.batched import BatchedArray, batched_ops

F64 = adjoint.float64


def tensor(*values: float) -> Any:
    return adjoint.tensor(values, dtype=F64)


# custom functions -----------------------------------------------------------------------------------------------------


def custom(function: Callable[..., Any], **rules: Callable[..., Any]) -> Any:
    """A function with the jvps of some parameters, or of all."""
    result = adjoint.custom(function)
    for name, rule in rules.items():
        result.jvp(rule) if name == "all" else result.jvp(name)(rule)
    return result


def test_a_jvp_is_transposed_where_an_argument_has_no_derivative() -> None:
    scale = custom(lambda x, n: x * n, all=lambda t, x, n: t[0] * n)
    x = tensor(1, 2, 3).requires_grad_()
    scale(x, adjoint.tensor(3)).sum().backward()
    assert x.grad.tolist() == [3, 3, 3]


def test_a_jvp_without_a_dependence_gives_no_gradient() -> None:
    floor = custom(lambda x: x.floor(), all=lambda t, x: adjoint.zeros_like(x))
    x = tensor(1.5, 2.5).requires_grad_()
    floor(x).sum().backward()
    assert x.grad is None


def test_a_jvp_of_one_of_two_parameters() -> None:
    function = custom(lambda x, z: x * 2 + z.floor(), x=lambda t: t * 2, z=lambda t: None)
    x, z = tensor(1, 2).requires_grad_(), tensor(0.5, 1.5).requires_grad_()
    assert func.jvp(function, (x, z), (tensor(1, 3), tensor(5, 5)))[1].tolist() == [2, 6]
    function(x, z).sum().backward()
    assert x.grad.tolist() == [2, 2] and z.grad is None


class Square(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Any) -> Any:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_forward(*inputs)
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return Tripled.apply(2 * g * ctx.saved_tensors[0]) / 3

    @staticmethod
    def jvp(ctx: Any, t: Any) -> Any:
        return 2 * t * ctx.saved_tensors[0]


class Tripled(Function):
    @staticmethod
    def forward(x: Any) -> Any:
        return x * 3

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def vmap(info: Any, dims: Any, x: Any) -> Any:
        return Tripled.apply(x), dims[0]


def test_series_of_a_custom_function_have_gradients() -> None:
    x = adjoint.tensor(0.5, dtype=F64, requires_grad=True)
    series = func.taylor(lambda t: Square.apply(t * x), adjoint.tensor(2.0, dtype=F64), 2)
    assert series.tolist() == [1, 1, 0.25]  # (2 + t)^2 / 4
    (gradient,) = grad(series[2], x)
    assert gradient.item() == 1  # of x^2


def test_a_vmap_rule_is_asked_in_a_backward_pass_after_the_batch() -> None:
    w, x = tensor(1, 2).requires_grad_(), adjoint.tensor([[1.0, 1.0], [2.0, 3.0]], dtype=F64)
    (gradient,) = grad(adjoint.vmap(lambda row: Square.apply(row * w))(x).sum(), w)
    assert gradient.tolist() == [10, 40]  # 2 w x^2, summed


def test_a_function_in_place_needs_a_tangent_of_its_result() -> None:
    class Written(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(y)

        @staticmethod
        def jvp(ctx: Any, t: Any, u: Any) -> None:
            return None

    message = "custom Function is not modifying the forward mode gradients inplace"
    with forward_ad.dual_level(), pytest.raises(RuntimeError, match=message):
        Written.apply(tensor(1), forward_ad.make_dual(tensor(2), tensor(3)))


def test_gradients_in_a_list_that_backward_may_empty() -> None:
    class Boxed(Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradients: list[Any]) -> Any:
            return gradients.pop() * 2

    gradients = [tensor(5)]
    assert Boxed.apply(tensor(1).requires_grad_()).grad_fn.apply_boxed(gradients).tolist() == [10]
    assert gradients == []


# levels ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("factor", [adjoint.linalg.ldl_factor_ex, adjoint.geqrf])
@pytest.mark.parametrize("transform", ["jvp", "taylor", "laplacian"])
def test_factors_without_a_derivative(factor: Any, transform: str) -> None:
    def total(x: Any) -> Any:
        return x.sum() * sum(part.sum() for part in factor(x))

    x = adjoint.eye(6, dtype=F64)  # of so many elements that a Laplacian has rows of derivatives
    calls = {
        "jvp": lambda: func.jvp(total, (x,), (x,)),
        "taylor": lambda: func.taylor(total, x, 2),
        "laplacian": lambda: func.laplacian(total)(x),
    }
    with pytest.raises((RuntimeError, NotImplementedError), match=r"derivative for .* is not implemented"):
        calls[transform]()


def test_a_primal_that_is_modified_where_its_tangent_is_hidden() -> None:
    w = tensor(1, 2).requires_grad_()
    with forward_ad.dual_level():
        primal = forward_ad.unpack_dual(forward_ad.make_dual(tensor(3, 4), tensor(1, 1))).primal
        primal.mul_(w)
        (gradient,) = grad(primal.sum(), w)
        assert gradient.tolist() == [3, 4] and forward_ad.unpack_dual(primal).tangent is None


def test_a_level_is_closed_in_a_custom_function() -> None:
    tangents = []

    class Looking(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            dual = forward_ad.make_dual(x, adjoint.ones_like(x), level=0)
            tangents.extend(forward_ad.unpack_dual(each, level=0).tangent for each in (x, dual))
            return x * 2

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            tangents.append(forward_ad.unpack_dual(t, level=0).tangent)
            return t * 2

    with forward_ad.dual_level():
        result = Looking.apply(forward_ad.make_dual(tensor(3), tensor(5)))
        assert forward_ad.unpack_dual(result).tangent.tolist() == [10]
    assert tangents == [None, None, None]


def test_a_tangent_at_a_level_around_two_others() -> None:
    """The primal of a dual keeps what varies at inner levels: here the second derivative of x * x * x."""

    def through(x: Any) -> Any:
        return forward_ad.unpack_dual(forward_ad.make_dual(x * x * x, adjoint.ones_like(x))).primal

    x, one = tensor(2), tensor(1)
    with forward_ad.dual_level():
        _, (first, second) = func.jvp(lambda x: func.jvp(through, (x,), (one,)), (x,), (one,))
    assert first.tolist() == [12] and second.tolist() == [12]


def test_series_of_a_part_of_what_is_written_later() -> None:
    def parts(t: Any) -> Any:
        base = adjoint.zeros(3, dtype=F64)
        _, second = base.split([1, 2])
        base.add_(t * tensor(1, 2, 3))
        return second * t

    t = adjoint.tensor(2.0, dtype=F64)
    assert func.taylor(parts, t, 2).tolist() == [[8, 12], [8, 12], [2, 3]]


def test_complex_series_written_into_real_ones() -> None:
    adjoint.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="discards the imaginary part"):
            series = func.taylor(lambda t: tensor(0, 0).copy_(t * (2 + 1j)), tensor(1, 3), 2)
    finally:
        adjoint.set_warn_always(False)
    assert series.tolist() == [[2, 6], [2, 2], [0, 0]]


# functions of functions -----------------------------------------------------------------------------------------------


def test_the_cotangent_of_an_integer_is_one() -> None:
    value, gradient = functional.vjp(lambda x: (x > 0).sum(), tensor(1, -1))
    assert value.item() == 1 and gradient.tolist() == [0, 0]


@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_a_jacobian_without_inputs(strategy: str) -> None:
    assert functional.jacobian(lambda: tensor(1, 2), (), strategy=strategy, vectorize=True) == ()


def test_a_view_of_an_argument_that_is_a_view() -> None:
    x = tensor(0, 1, 2)[1:]
    part, twice = func.functionalize(lambda x: (x[1:], x * 2), remove="mutations_and_views")(x)
    x.mul_(5)
    assert part.tolist() == [2] and twice.tolist() == [2, 4]


@pytest.mark.parametrize("transform", [adjoint.grad, func.jacrev])
def test_text_is_no_argument_to_differentiate_by(transform: Any) -> None:
    with pytest.raises(ValueError, match="Thing passed to transform API must be Tensor, got <class 'str'>"):
        transform(lambda p: np.sum(p["a"]))({"a": np.ones(2), "kind": "sum"})


def test_text_as_a_further_output() -> None:
    gradient, note = adjoint.grad(lambda x: (np.sum(x * x), "text"), has_aux=True)(np.ones(2))
    assert gradient.tolist() == [2, 2] and note == "text"


def test_a_solver_of_the_users_gets_functions_of_arrays() -> None:
    kinds = []

    def bisect(f: Any, start: Any) -> Any:
        kinds.append(type(f(start)))
        low, high = np.zeros(2), 2 * np.ones(2)
        for _ in range(60):
            middle = (low + high) / 2
            low, high = np.where(f(middle) < 0, middle, low), np.where(f(middle) < 0, high, middle)
        return low

    def solution(a: Any) -> Any:
        return adjoint.implicit.root(lambda x, a, square: square(x) - a, np.ones(2), a, lambda x: x * x, method=bisect)

    a = np.array([2.0, 3.0])
    np.testing.assert_allclose(solution(a), np.sqrt(a), rtol=1e-12)
    jacobian = func.jacrev(solution)(a)
    np.testing.assert_allclose(jacobian, np.diag(0.5 / np.sqrt(a)), rtol=1e-10)
    assert issubclass(kinds[0], np.ndarray | adjoint.numpy.Array)


def test_a_solver_starts_from_numbers() -> None:
    with pytest.raises(TypeError, match="invalid data type 'str'"):
        adjoint.implicit.root(lambda x: {"a": x["a"]}, {"a": np.ones(2), "b": "text"})


class Scaled:
    """An object whose methods have no code that tells their parameters."""

    def __init__(self, kind: str) -> None:
        self.scale = tensor(1, 1)
        table = {"scale": self.scale}
        self.named_parameters = table.items if kind == "built in" else functools.partial(table.items)
        self.named_buffers = {}.items if kind == "built in" else functools.partial(dict)

    def __call__(self, x: Any) -> Any:
        return self.scale * x


@pytest.mark.parametrize("kind", ["built in", "partial"])
def test_methods_without_code_give_names(kind: str) -> None:
    module = Scaled(kind)
    assert func.functional_call(module, {"scale": tensor(2, 3)}, tensor(5, 5)).tolist() == [10, 15]
    assert module.scale.tolist() == [1, 1]


# batched arrays -------------------------------------------------------------------------------------------------------


def of_members(function: Callable[[Any], Any]) -> Any:
    """The result of a function of a batched array of two rows."""
    results = []
    adjoint.vmap(lambda x: results.append(function(x._array)) or x)(adjoint.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    return results[0]


def test_kernels_of_batched_arrays() -> None:
    assert batched_ops.mul(2.0, 3.0) == 6
    assert of_members(lambda b: batched_ops.mul(b, other=np.ones(3))).data.tolist() == [[1, 2, 3], [4, 5, 6]]

    def write(array: Any) -> BatchedArray:
        copy = array.copy()
        copy[(0,)] = 7
        return copy

    assert of_members(write).data.tolist() == [[7, 2, 3], [7, 5, 6]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda b: batched_ops.unsqueeze(b), TypeError, r"unsqueeze\(\) is missing the argument 'dim'"),
        (lambda b: batched_ops.unsqueeze(b, 7), IndexError, "Dimension out of range"),
        (lambda b: batched_ops.sum(b, 5), IndexError, "Dimension out of range"),
        (lambda b: batched_ops.sum(b, (0, 5)), IndexError, "Dimension out of range"),
    ],
)
def test_errors_of_kernels_of_batched_arrays(call: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        of_members(call)


def test_a_transposed_convolution_with_a_large_output() -> None:
    """Windows of its own convolution begin in the added elements, too."""
    x, w = tensor(1, 2, 3).reshape(1, 1, 3).requires_grad_(), tensor(4, 5).reshape(1, 1, 2).requires_grad_()
    y = adjoint.nn.functional.conv_transpose1d(x, w, dilation=3, output_padding=2)
    assert y.flatten().tolist() == [4, 8, 12, 5, 10, 15, 0, 0]
    of_x, of_w = grad((y * adjoint.arange(8)).sum(), (x, w))
    assert_close(of_x.flatten(), tensor(15, 24, 33))
    assert_close(of_w.flatten(), tensor(8, 26))
