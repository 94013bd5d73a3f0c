"""Custom functions that several scenarios use."""

from __future__ import annotations

from typing import Any

import adjoint


class Square(adjoint.autograd.Function):
    """x * x, which saves its input."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        (x,) = ctx.saved_tensors
        return 2 * x * grads[0]
