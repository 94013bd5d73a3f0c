"""Muon: steps along orthogonalized momenta of matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import sqrt
from typing import Any

from adjoint.arrays.layout import strided
from adjoint.core.modes.grad_mode import no_grad
from adjoint.optim.optimizer import Optimizer, _evaluate
from adjoint.tensor import creation
from adjoint.tensor.tensor import Tensor

#: The factor of a step, for a matrix of n rows and m columns.
_SCALES: dict[str | None, Callable[[int, int], float]] = {
    "original": lambda n, m: sqrt(max(1, n / m)),
    "match_rms_adamw": lambda n, m: 0.2 * sqrt(max(n, m)),
}
_SCALES[None] = _SCALES["original"]


class Muon(Optimizer):
    """Steps along the orthogonalized momentum of a matrix: a Newton-Schulz iteration moves its singular values near 1.

    ns_coefficients: a, b and c of the iteration `X <- a X + (b X X' + c X X' X X') X`. ns_steps: the number of
    iterations. eps: the smallest divisor when the momentum is normalized. adjust_lr_fn: "original" (the default)
    multiplies steps by `sqrt(max(1, rows / columns))`, "match_rms_adamw" by `0.2 sqrt(max(rows, columns))`. Jordan and
    others, Muon: an optimizer for hidden layers in neural networks (2024). The iteration runs in the parameter's dtype;
    PyTorch rounds to bfloat16.

    Raises ValueError for negative options, and for parameters that are not matrices.

    >>> import adjoint
    >>> w = adjoint.zeros(2, 3, requires_grad=True)
    >>> muon = adjoint.optim.Muon([w], lr=0.1)
    >>> (w - adjoint.eye(2, 3)).square().sum().backward()
    >>> muon.step()
    >>> w.detach() > 0
    tensor([[ True, False, False],
            [False,  True, False]])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        values = {"Learning rate": lr, "momentum": momentum, "weight decay": weight_decay}
        for name, value in values.items():
            if value < 0:
                raise ValueError(f"{name} should be >= 0 but is: {value}")
        if adjust_lr_fn not in _SCALES:
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        options = {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov, "eps": eps}
        newton_schulz = {"ns_coefficients": ns_coefficients, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn}
        super().__init__(params, options | newton_schulz)
        for parameter in (each for group in self.param_groups for each in group["params"]):
            if parameter.ndim != 2:
                raise ValueError(
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {parameter.shape}"
                )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients. closure: a function that computes the loss and the gradients."""
        loss = _evaluate(closure)
        with no_grad():
            for group in self.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        _check(parameter, parameter.grad)
                        self._change(group, parameter, parameter.grad)
        return loss

    def _change(self, group: dict[str, Any], p: Tensor, g: Tensor) -> None:
        state, lr, share = self.state[p], float(group["lr"]), group["momentum"]
        mean = state.setdefault("momentum_buffer", creation.zeros_like(p)).lerp_(g, 1 - share)
        step = _orthogonalize(g.lerp(mean, share) if group["nesterov"] else mean, group)
        p.mul_(1 - lr * group["weight_decay"])
        p.add_(step, alpha=-lr * _SCALES[group["adjust_lr_fn"]](*p.shape))


def _check(parameter: Tensor, grad: Tensor) -> None:
    if parameter.is_complex():
        raise RuntimeError("Muon does not support complex parameters")
    if grad.layout is not strided:
        raise RuntimeError("Muon does not support sparse gradients")


def _orthogonalize(momentum: Tensor, group: dict[str, Any]) -> Tensor:
    """The iteration for the matrix or its transpose: for the one with fewer rows, whose product X X' is smaller."""
    a, b, c = group["ns_coefficients"]
    is_tall = momentum.shape[0] > momentum.shape[1]
    x = momentum.T if is_tall else momentum
    x = x / x.norm().clamp(min=group["eps"])
    for _ in range(group["ns_steps"]):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if is_tall else x
