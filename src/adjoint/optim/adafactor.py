"""Adafactor: estimates of squared gradients by rows and columns. Shazeer and Stern (2018), "Adafactor"."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import sqrt
from typing import Any

from adjoint.arrays.dtypes import finfo
from adjoint.arrays.layout import strided
from adjoint.core.modes.grad_mode import no_grad
from adjoint.optim.optimizer import Optimizer, _evaluate
from adjoint.tensor import creation
from adjoint.tensor.tensor import Tensor


class Adafactor(Optimizer):
    """Steps divided by the root of an estimate of squared gradients; for matrices, it is stored by rows and columns.

    lr: the largest step, relative to the parameter. beta2_decay: the means decay by `1 - t^beta2_decay`. eps: the
    smallest square (None: the eps of the dtype) and the smallest root mean square of a parameter. d: the largest root
    mean square of a step.

    Raises ValueError for negative options.

    >>> import adjoint
    >>> w = adjoint.ones(2, 3, requires_grad=True)
    >>> adafactor = adjoint.optim.Adafactor([w], lr=0.5)
    >>> w.square().sum().backward()
    >>> adafactor.step()
    >>> w.detach()
    tensor([[0.5000, 0.5000, 0.5000],
            [0.5000, 0.5000, 0.5000]])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        checks = {
            "Learning rate should be >= 0": lr >= 0,
            "beta2_decay should be <= 0": beta2_decay <= 0,
            "epsilon1 should be >= 0": eps[0] is None or eps[0] >= 0,
            "epsilon2 should be >= 0": eps[1] >= 0,
            "Clipping threshold d should be >= 1": d >= 1,
            "weight_decay should be >= 0": weight_decay >= 0,
        }
        values = (lr, beta2_decay, eps[0], eps[1], d, weight_decay)
        for (rule, holds), value in zip(checks.items(), values, strict=True):
            if not holds:
                raise ValueError(f"{rule} but is: {value}")
        options = {"lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay}
        super().__init__(params, options | {"foreach": foreach, "maximize": maximize})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients. closure: a function that computes the loss and the gradients."""
        loss = _evaluate(closure)
        with no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        if parameter.grad.layout is not strided:
                            raise RuntimeError("Adafactor does not support sparse gradients")
                        self._change(group, parameter, parameter.grad, self.state[parameter])
        return loss

    def _change(self, group: dict[str, Any], p: Tensor, g: Tensor, state: dict[str, Tensor]) -> None:
        if not state:
            state.update(_first(p))
        state["step"].add_(1)
        t, lr = float(state["step"]), float(group["lr"])
        g = -g if group["maximize"] else g
        least = finfo(p.dtype).eps if group["eps"][0] is None else group["eps"][0]
        size = max(group["eps"][1], float(p.norm(2)) / sqrt(p.numel())) * min(lr, 1 / sqrt(t))
        if group["weight_decay"]:
            p.mul_(1 - lr * group["weight_decay"])
        share = t ** group["beta2_decay"]
        if p.ndim > 1:
            rows, columns = state["row_var"], state["col_var"]
            rows.lerp_(g.square().mean(-1, keepdim=True), share)
            columns.lerp_(g.square().mean(-2, keepdim=True), share)
            squares = rows @ columns / rows.mean(-2, keepdim=True).clamp(min=least)
        else:
            squares = state["variance"].lerp_(g.square(), share)
        change = g * squares.clamp(min=least * least).rsqrt()
        limit = max(1.0, float(change.norm(2)) / (sqrt(p.numel()) * group["d"]))
        p.add_(change, alpha=-size / limit)


def _first(p: Tensor) -> dict[str, Tensor]:
    """The initial state of a parameter."""
    factory: dict[str, Any] = {"dtype": p.dtype, "device": p.device}
    state = {"step": creation.tensor(0.0)}
    if p.ndim > 1:
        state["row_var"] = creation.zeros(*p.shape[:-1], 1, **factory)
        state["col_var"] = creation.zeros(*p.shape[:-2], 1, p.shape[-1], **factory)
    else:
        state["variance"] = creation.zeros_like(p)
    return state
