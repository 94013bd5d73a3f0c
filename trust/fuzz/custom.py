"""Custom functions for programs, of one library. They differ in what they save, modify, return as a view and leave out.

This module runs beside PyTorch too, and does not import adjoint.
"""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any


@cache
def functions(library: Any) -> SimpleNamespace:
    """The custom functions by name."""
    base: Any = library.autograd.Function

    class Cube(base):  # type: ignore[misc]
        """Saves its input."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 3 * g * (x.conj() if x.is_complex() else x) ** 2

    class Exp(base):  # type: ignore[misc]
        """Saves its result, in `setup_context`."""

        @staticmethod
        def forward(x: Any) -> Any:
            return (0.3 * x).exp()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (y,) = ctx.saved_tensors
            return 0.3 * g * (y.conj() if y.is_complex() else y)

    class Scaled(base):  # type: ignore[misc]
        """Writes to its input."""

        @staticmethod
        def forward(ctx: Any, x: Any, factor: float) -> Any:
            ctx.factor = factor
            ctx.mark_dirty(x)
            return x.mul_(factor)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor, None

    class Turned(base):  # type: ignore[misc]
        """Returns a view."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.mT

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g.mT

    class Parts(base):  # type: ignore[misc]
        """Several results, one of them without a derivative; cotangents may be None."""

        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            ctx.set_materialize_grads(False)
            sign = x.detach().real > 0 if x.is_complex() else x.detach() > 0
            ctx.mark_non_differentiable(sign)
            return x * y, x - y, sign

        @staticmethod
        def backward(ctx: Any, product: Any, difference: Any, sign: Any) -> Any:
            x, y = ctx.saved_tensors
            of_x = of_y = None
            if product is not None:
                of_x, of_y = product * y.conj(), product * x.conj()
            if difference is not None:
                of_x = difference if of_x is None else of_x + difference
                of_y = -difference if of_y is None else of_y - difference
            return (
                None if of_x is None else of_x.sum_to_size(x.shape),
                None if of_y is None else of_y.sum_to_size(y.shape),
            )

    class Same(base):  # type: ignore[misc]
        """Returns its input, and changes the gradient."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return -g

    classes = (Cube, Exp, Scaled, Turned, Parts, Same)
    return SimpleNamespace(**{each.__name__: each.apply for each in classes})
