"""Taylor series and tangents of functions with several outputs, inputs without series, and modified arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd import Function
from adjoint.func import jacobian, jet, jvp

X = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64)


def function(forward: Callable[..., Any], push: Callable[..., Any], **marks: Any) -> Any:
    """A custom function with a jvp. `marks` are calls on its context."""

    class Own(Function):
        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(*inputs)
            for name, arguments in marks.items():
                getattr(ctx, name)(*arguments(inputs))

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            return push(tangents, ctx.saved_tensors)

    Own.forward = staticmethod(forward)  # type: ignore[method-assign]
    return Own


PRODUCT_AND_SINE = function(
    lambda a, b: (a * b, a.sin()), lambda t, saved: (t[0] * saved[1] + saved[0] * t[1], t[0] * saved[0].cos())
)
#: The second output has no tangent if b has none. The third output never has one.
PARTLY = function(
    lambda a, b: (a * b, b * 2, a.long()),
    lambda t, saved: (
        t[0] * saved[1] if t[1] is None else t[0] * saved[1] + saved[0] * t[1],
        None if t[1] is None else t[1] * 2,
        None,
    ),
    set_materialize_grads=lambda inputs: (False,),
)


def compare(actual: Any, expected: Any) -> None:
    for fused, other in zip(actual, expected, strict=True):
        if isinstance(fused, (list, tuple)):
            compare(fused, other)
        else:
            np.testing.assert_allclose(fused.numpy(), other.numpy())


@pytest.mark.parametrize("second", [lambda t: t * t, lambda t: X], ids=["variable", "constant"])
def test_series_of_several_outputs(second: Callable[[Any], Any]) -> None:
    result = jet(lambda t: PRODUCT_AND_SINE.apply(t, second(t)), (X,), ((X, X, 0.5 * X),))
    expected = jet(lambda t: (t * second(t), t.sin()), (X,), ((X, X, 0.5 * X),))
    compare(result, expected)


def test_series_of_outputs_without_tangents() -> None:
    (value, double, whole), (of_product, of_double, of_whole) = jet(lambda t: PARTLY.apply(t, X), (X,), ((X, X),))
    compare([value, double], [X * X, 2 * X])
    compare(of_product, [X * X, X * X])
    compare(of_double, [0 * X, 0 * X])
    assert whole.tolist() == [1, 2]
    compare(of_whole, [0 * X, 0 * X])
    _, (_, of_double, _) = jet(lambda t: PARTLY.apply(t, t), (X,), ((X, X),))
    compare(of_double, [2 * X, 2 * X])


def test_series_do_not_pass_through_a_modified_argument() -> None:
    doubled = function(lambda a: a.mul_(2), lambda t, _: t[0].mul_(2), mark_dirty=lambda inputs: inputs)
    with pytest.raises(
        NotImplementedError, match="Taylor series do not pass through OwnBackward, which modifies an arg"
    ):
        jet(lambda t: doubled.apply(t.clone()), (X,), ((X,),))
    compare(jvp(lambda t: doubled.apply(t.clone()), (X,), (X,)), (2 * X, 2 * X))


def test_tangents_and_series_of_a_view() -> None:
    flat = function(lambda a: a.view(-1), lambda t, _: t[0].view(-1))
    square = X.reshape(1, 2)
    compare(jvp(flat.apply, (square,), (square,)), (X, X))
    compare(jet(flat.apply, (square,), ((square, 2 * square),)), (X, [X, 2 * X]))


@pytest.mark.parametrize("copies", [1, 3])
def test_jacobian_with_further_results(copies: int) -> None:
    """Reverse mode if there is one copy; forward mode if there are more results than arguments."""
    matrix, further = jacobian(lambda t: (adjoint.cat([t * t] * copies), t * 3), has_aux=True)(X)
    np.testing.assert_allclose(matrix.numpy(), np.tile(np.diag([2.0, 4.0]), (copies, 1)))
    assert further.tolist() == [3.0, 6.0]
    assert not further.requires_grad
