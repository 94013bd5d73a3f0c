"""L-BFGS with a line search for the strong Wolfe conditions.

Nocedal and Wright, "Numerical optimization", algorithms 7.4 and 7.5 (L-BFGS), 3.5 and 3.6 (line search); the cubic
interpolation is equation (3.59). Limits and safeguards are those of torch.optim.LBFGS, so that runs can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from adjoint.core.modes.grad_mode import enable_grad, no_grad
from adjoint.optim.optimizer import Optimizer
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor

Evaluate = Callable[[Any, float, Any], tuple[float, Tensor]]


def _cubic_interpolate(
    x1: float, f1: float, g1: Any, x2: float, f2: float, g2: Any, bounds: tuple[float, float] | None = None
) -> float:
    """The minimum between the bounds of the cubic polynomial with these values and derivatives at two points."""
    low, high = bounds if bounds is not None else (x1, x2) if x1 <= x2 else (x2, x1)
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if not square >= 0:
        return (low + high) / 2.0
    d2 = float(square) ** 0.5
    if x1 <= x2:
        least = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        least = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(least, low), high)


class _Point:
    """A step along a direction, with the value, the gradient and the slope at its end."""

    def __init__(self, t: float, f: Any, g: Any, slope: Any) -> None:
        self.t, self.f, self.g, self.slope = t, f, g, slope


def _strong_wolfe(
    obj_func: Evaluate,
    x: Any,
    t: Any,
    d: Tensor,
    f: Any,
    g: Tensor,
    gtd: Any,
    c1: float = 1e-4,
    c2: float = 0.9,
    tolerance_change: float = 1e-9,
    max_ls: int = 25,
) -> tuple[Any, Tensor, Any, int]:
    """A line search; returns value, gradient and length of a step, and the number of evaluations.

    The step satisfies the strong Wolfe conditions. obj_func(x, t, d): value and gradient at the point `x + t d`. f, g,
    gtd: value, gradient and slope at x.
    """
    width = d.abs().max()
    g = g.clone()
    start = _Point(0, f, g, gtd)
    value, grad = obj_func(x, t, d)
    point, before, n = _Point(t, value, grad, grad.dot(d)), start, 1
    bracket: list[_Point] | None = None
    is_done = False
    # first, find a bracket that contains a step with these conditions
    for k in range(max_ls):
        if point.f > f + c1 * point.t * gtd or (k > 0 and point.f >= before.f):
            bracket = [before, point]
        elif abs(point.slope) <= -c2 * gtd:
            bracket, is_done = [point], True
        elif point.slope >= 0:
            bracket = [before, point]
        if bracket is not None:
            break
        least, most = point.t + 0.01 * (point.t - before.t), point.t * 10
        length = _cubic_interpolate(
            before.t, before.f, before.slope, point.t, point.f, point.slope, bounds=(least, most)
        )
        value, grad = obj_func(x, length, d)
        before, point, n = point, _Point(length, value, grad.clone(), grad.dot(d)), n + 1
    else:
        bracket = [start, point]
    best, n_more = _zoom(obj_func, x, d, f, gtd, bracket, is_done, width, c1, c2, tolerance_change, max_ls - (n - 1))
    return best.f, best.g, best.t, n + n_more


def _zoom(
    obj_func: Evaluate,
    x: Any,
    d: Tensor,
    f: Any,
    gtd: Any,
    bracket: list[_Point],
    is_done: bool,
    width: Tensor,
    c1: float,
    c2: float,
    tolerance_change: float,
    tries: int,
) -> tuple[_Point, int]:
    """Shrink a bracket until one end satisfies the conditions; returns this end, and the number of evaluations."""
    n, near_end = 0, False
    bracket = sorted(bracket, key=lambda point: float(point.f))
    while not is_done and n < tries:
        low, high = bracket
        left, right = min(low.t, high.t), max(low.t, high.t)
        if (right - left) * width < tolerance_change:
            break
        t = _cubic_interpolate(low.t, low.f, low.slope, high.t, high.f, high.slope)
        edge = 0.1 * (right - left)
        # move the second of two successive points near an end towards the middle
        if min(right - t, t - left) < edge:
            if near_end or t >= right or t <= left:
                t = right - edge if abs(t - right) < abs(t - left) else left + edge
                near_end = False
            else:
                near_end = True
        else:
            near_end = False
        value, grad = obj_func(x, t, d)
        n += 1
        point = _Point(t, value, grad.clone(), grad.dot(d))
        if point.f > f + c1 * t * gtd or point.f >= low.f:
            bracket = sorted([low, point], key=lambda each: float(each.f))
        else:
            is_done = bool(abs(point.slope) <= -c2 * gtd)
            bracket = [point, low if point.slope * (high.t - low.t) >= 0 else high]
    return bracket[0], n


class LBFGS(Optimizer):
    """Quasi-Newton steps, with an approximation of the inverse Hessian from the last steps: `step(closure)`.

    The closure clears the gradients, computes the loss, calls backward, and returns the loss. One step runs at most
    max_iter iterations.

    Args:
        params: tensors, in a single group.
        lr: the length of steps, or the initial length of the line search.
        max_iter, max_eval: the largest numbers of iterations and of closure calls in one step.
        tolerance_grad, tolerance_change: a step ends if the gradient or the change falls below these limits.
        history_size: the number of earlier steps in the approximation.
        line_search_fn: "strong_wolfe", or None for steps of length lr.

    Raises ValueError for a negative lr and for several groups, RuntimeError for another line search.

    >>> import adjoint
    >>> w = adjoint.zeros(2, requires_grad=True)
    >>> lbfgs = adjoint.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     lbfgs.zero_grad()
    ...     loss = (w - adjoint.tensor([1.0, -2.0])).square().sum()
    ...     loss.backward()
    ...     return loss
    >>> lbfgs.step(closure).item()
    5.0
    >>> w.detach().round(decimals=4)
    tensor([ 1., -2.])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        options = {"lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval}
        options |= {"tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change}
        super().__init__(params, options | {"history_size": history_size, "line_search_fn": line_search_fn})
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params: list[Tensor] = self.param_groups[0]["params"]

    # parameters as one vector ----------------------------------------------------------------------------------------

    def _gather_flat_grad(self) -> Tensor:
        parts = []
        for p in self._params:
            part = ops.zeros_like(p) if p.grad is None else p.grad.to_dense()
            parts.append((ops.view_as_real(part) if part.is_complex() else part).reshape(-1))
        return ops.cat(parts) if len(parts) > 1 else parts[0].clone()

    def _add_grad(self, step_size: Any, direction: Tensor) -> None:
        start = 0
        for p in self._params:
            p = ops.view_as_real(p) if p.is_complex() else p
            stop = start + p.numel()
            p.add_(direction[start:stop].reshape(p.shape), alpha=float(step_size))
            start = stop

    def _clone_param(self) -> list[Tensor]:
        return [p.clone() for p in self._params]

    def _set_param(self, params_data: list[Tensor]) -> None:
        for p, data in zip(self._params, params_data, strict=True):
            p.copy_(data)

    def _directional_evaluate(self, closure: Callable[[], Any], x: Any, t: Any, d: Tensor) -> tuple[float, Tensor]:
        self._add_grad(t, d)
        loss = float(closure())
        flat_grad = self._gather_flat_grad()
        self._set_param(x)
        return loss, flat_grad

    # the step --------------------------------------------------------------------------------------------------------

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Run at most max_iter iterations. closure: computes the loss and the gradients. Returns the first loss."""
        closure = enable_grad()(closure)
        group = self.param_groups[0]
        lr = float(group["lr"])
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        loss, evaluations = float(first), 1
        state["func_evals"] += 1
        grad = self._gather_flat_grad()
        largest = grad.abs().max()
        if largest <= group["tolerance_grad"]:
            return first
        d, t, before, loss_before = (state.get(name) for name in ("d", "t", "prev_flat_grad", "prev_loss"))
        for n_iter in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = self._direction(state, group, grad, before, d, t)
            before, loss_before = grad.clone(), loss
            t = min(1.0, 1.0 / float(grad.abs().sum())) * lr if state["n_iter"] == 1 else lr
            slope = grad.dot(d)
            if slope > -group["tolerance_change"]:
                break
            n_evaluations = 0
            if group["line_search_fn"] is not None:
                if group["line_search_fn"] != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                x = self._clone_param()

                def evaluate(x: Any, t: Any, d: Tensor) -> tuple[float, Tensor]:
                    return self._directional_evaluate(closure, x, t, d)

                loss, grad, t, n_evaluations = _strong_wolfe(evaluate, x, t, d, loss, grad, slope)
                self._add_grad(t, d)
            else:
                self._add_grad(t, d)
                if n_iter != group["max_iter"]:
                    loss = float(closure())
                    grad = self._gather_flat_grad()
                    n_evaluations = 1
            largest = grad.abs().max()
            evaluations += n_evaluations
            state["func_evals"] += n_evaluations
            if (
                n_iter == group["max_iter"]
                or evaluations >= group["max_eval"]
                or largest <= group["tolerance_grad"]
                or (d * t).abs().max() <= group["tolerance_change"]
                or abs(loss - loss_before) < group["tolerance_change"]
            ):
                break
        state["d"], state["t"], state["prev_flat_grad"], state["prev_loss"] = d, t, before, loss_before
        return first

    def _direction(self, state: Any, group: Any, grad: Tensor, before: Any, d: Any, t: Any) -> Tensor:
        """Add the last step to the approximation, and return the direction of the next step."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -grad
        changes, steps, factors = state["old_dirs"], state["old_stps"], state["ro"]
        y, s = grad - before, d * t
        curvature = y.dot(s)
        if curvature > 1e-10:
            if len(changes) == group["history_size"]:
                for history in (changes, steps, factors):
                    history.pop(0)
            changes.append(y)
            steps.append(s)
            factors.append(1.0 / curvature)
            state["H_diag"] = curvature / y.dot(y)
        q, shares = -grad, []
        for y, s, factor in zip(reversed(changes), reversed(steps), reversed(factors), strict=True):
            share = s.dot(q) * factor
            q = q - share * y
            shares.append(share)
        r = q * state["H_diag"]
        for y, s, factor, share in zip(changes, steps, factors, reversed(shares), strict=True):
            r = r + s * (share - y.dot(r) * factor)
        state["al"] = shares
        return r
