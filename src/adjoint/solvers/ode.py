"""Initial value problems whose solutions can be differentiated: through the solver's steps, or by the adjoint equation.

Explicit Runge-Kutta methods in recorded operations. Steps are chosen from plain values, as fractions of the interval
between two times. So a recorded solution depends on the times, but not on the choice of steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from adjoint.arrays.namespace import underlying
from adjoint.core.graph import TensorBase
from adjoint.core.modes.grad_mode import no_grad
from adjoint.core.modes.state import current, is_grad_enabled
from adjoint.runtime.pytree import flatten
from adjoint.solvers.convergence import ConvergenceError
from adjoint.solvers.flattening import Differentiable, Flat, check_function, differentiated_leaves, plain
from adjoint.tensor.creation import as_tensor
from adjoint.tensor.protocol_hooks import values
from adjoint.tensor.table import ops
from adjoint.tools.checkpoint import checkpoint_chain
from adjoint.transforms import func
from adjoint.transforms.custom_functions.custom import custom
from adjoint.transforms.jets import series_along
from adjoint.transforms.passing import for_solvers

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Tree = Any
#: From time, state and arguments to the derivative of the state, all flat.
Field: TypeAlias = "Callable[[Tensor, Tensor, Tree], Tensor]"


class Tableau(NamedTuple):
    """A Runge-Kutta method.

    nodes, stages: the time of each further slope, and its weights of earlier slopes. weights: the weights of the slopes
    in the step. errors: their weights in the estimated error, None for methods of fixed step. order: the order of that
    estimate. closing: the last slope of a step is the first slope of the next step.
    """

    nodes: tuple[float, ...]
    stages: tuple[tuple[float, ...], ...]
    weights: tuple[float, ...]
    errors: tuple[float, ...] | None = None
    order: int = 0
    closing: bool = False


#: Sources: J. Dormand, P. Prince, J. Comput. Appl. Math. 6 (1980) 19-26 (dopri5); P. Bogacki, L. Shampine, Appl. Math.
#: Lett. 2 (1989) 321-325 (bosh3).
METHODS = {
    "euler": Tableau((), (), (1.0,)),
    "midpoint": Tableau((1 / 2,), ((1 / 2,),), (0.0, 1.0)),
    "rk4": Tableau((1 / 2, 1 / 2, 1.0), ((1 / 2,), (0.0, 1 / 2), (0.0, 0.0, 1.0)), (1 / 6, 1 / 3, 1 / 3, 1 / 6)),
    "bosh3": Tableau(
        (1 / 2, 3 / 4, 1.0),
        ((1 / 2,), (0.0, 3 / 4), (2 / 9, 1 / 3, 4 / 9)),
        (2 / 9, 1 / 3, 4 / 9, 0.0),
        (-5 / 72, 1 / 12, 1 / 9, -1 / 8),
        3,
        True,
    ),
    "dopri5": Tableau(
        (1 / 5, 3 / 10, 4 / 5, 8 / 9, 1.0, 1.0),
        (
            (1 / 5,),
            (3 / 40, 9 / 40),
            (44 / 45, -56 / 15, 32 / 9),
            (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
            (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
            (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
        ),
        (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84, 0.0),
        (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40),
        5,
        True,
    ),
}
_SAFETY, _SMALLEST, _LARGEST = 0.9, 0.2, 10.0


class Stepper:
    """A method with its options: how one interval is crossed.

    recorded: the method that `compile` has replayed.
    """

    recorded = "step"

    def __init__(self, method: str, rtol: float, atol: float, steps: int | None, max_steps: int) -> None:
        if method not in METHODS:
            raise ValueError(f"odeint(): unknown method {method!r}; known are {', '.join(METHODS)}, taylor")
        self.tableau = METHODS[method]
        if (steps is None) == (self.tableau.errors is None):
            need = "needs steps=, their number between two times" if steps is None else "chooses its steps itself"
            raise ValueError(f"odeint(): {method} {need}")
        self.rtol, self.atol, self.steps, self.max_steps = rtol, atol, steps, max_steps

    def compile(self) -> None:
        """Let steps be replayed, one recording for each field."""
        step, replays = getattr(self, self.recorded), dict[Field, Callable[..., Any]]()

        def replay(field: Field, *operands: Any) -> Any:
            if field not in replays:
                replays[field] = values.compile(partial(step, field))
            return replays[field](*operands)

        setattr(self, self.recorded, replay)

    def step(self, field: Field, t: Tensor, h: Tensor, y: Tensor, first: Tensor, args: Tree) -> tuple[Any, ...]:
        """The state after one step, and all slopes."""
        slopes, state = [first], y
        for node, row in zip(self.tableau.nodes, self.tableau.stages, strict=True):
            state = y + h * combine(row, slopes)
            slopes.append(field(t + node * h, state, args))
        # the last slope of a closing method belongs to the new state
        return state if self.tableau.closing else y + h * combine(self.tableau.weights, slopes), slopes

    def cross(
        self, field: Field, y: Tensor, t0: Tensor, t1: Tensor, args: Tree, guess: float | None
    ) -> tuple[Tensor, float | None, list[float]]:
        """The state at t1 from that at t0, the step to try next, and where steps ended, as fractions of the whole."""
        span = t1 - t0
        if self.steps is not None:
            ends = [k / self.steps for k in range(1, self.steps + 1)]
            return self.follow(field, y, t0, t1, args, ends), None, ends
        length = abs(span.item())
        if not length:
            return y, guess, []
        progress, ends, first = 0.0, [], field(t0, y, args)
        step = self.first_step(y, first, length) if guess is None else guess
        for _ in range(self.max_steps):
            end = 1.0 if progress + 1.01 * step / length >= 1 else progress + step / length
            new, slopes = self.step(field, t0 + progress * span, (end - progress) * span, y, first, args)
            size = length * (end - progress)
            error = size * self.relative(combine(self.tableau.errors, plain(slopes)), y, new)
            if not math.isfinite(error):
                error = math.inf
            scale = _SAFETY * max(error, 1e-10) ** (-1 / self.tableau.order)
            step = size * min(max(scale, _SMALLEST), _LARGEST if error <= 1 else 1.0)
            if error <= 1:
                progress, y, first = end, new, slopes[-1]
                ends.append(progress)
                if progress == 1:
                    return y, step, ends
        raise ConvergenceError(
            f"odeint(): {self.max_steps} steps were not enough from t = {t0.item():g} to {t1.item():g}; they have "
            f"come to {t0.item() + progress * span.item():g}, with a step of {step:.1e}. Raise max_steps or rtol; for "
            "a stiff problem, explicit methods are not suited"
        )

    def follow(self, field: Field, y: Tensor, t0: Tensor, t1: Tensor, args: Tree, ends: list[float]) -> Tensor:
        """The state at t1 by steps that end at these fractions."""
        for start, end in spans(ends):
            y = self.one(field, t0, t1, args, start, end, y)
        return y

    def one(self, field: Field, t0: Tensor, t1: Tensor, args: Tree, start: float, end: float, y: Tensor) -> Tensor:
        """One step between two fractions of an interval."""
        t = t0 + start * (t1 - t0)
        return self.step(field, t, (end - start) * (t1 - t0), y, field(t, y, args), args)[0]

    def relative(self, error: Tensor, *states: Tensor) -> float:
        """The greatest error of a unit step over the tolerance, of all members of a batch."""
        sizes = [np.abs(underlying(state._array)) for state in states]
        top = max(float(np.max(size, initial=0.0)) for size in sizes)
        if all(size.shape == sizes[0].shape for size in sizes):
            top = np.maximum.reduce(sizes)
        magnitudes = np.abs(underlying(error._array))
        allowed = self.atol + self.rtol * (top if np.shape(top) == magnitudes.shape else np.max(top, initial=0.0))
        return float(np.max(magnitudes / allowed, initial=0.0))

    def first_step(self, y: Tensor, slope: Tensor, length: float) -> float:
        """A careful guess."""
        rate = self.relative(slope, y)
        return min(length, 0.01 / rate if rate > 0 else length, 0.1 * length if rate > 0 else length)


class TaylorStepper(Stepper):
    """Taylor series of the solution in each step, whose lengths follow from the last two coefficients.

    order: of the series. Sources: A. Jorba, M. Zou, Experimental Mathematics 14 (2005) 99-117, section 3.
    """

    recorded = "series"

    def __init__(self, order: int | None, rtol: float, atol: float, steps: int | None, max_steps: int) -> None:
        if steps is not None:
            raise ValueError(
                f"odeint(): steps={steps} is not supported for method 'taylor', which chooses its steps: leave it "
                "out, or set rtol"
            )
        if order is not None and order < 2:
            raise ValueError(f"odeint(): order must be 2 or more, got {order}")
        self.order = order or max(4, math.ceil(1 - math.log(max(rtol, 1e-16)) / 2))
        self.rtol, self.atol, self.steps, self.max_steps = rtol, atol, None, max_steps

    def series(self, field: Field, t: Tensor, y: Tensor, args: Tree) -> list[Tensor]:
        """The coefficients of the solution through y at t: each follows from the series of f up to the one before."""
        rows = [y]
        for k in range(self.order):
            times = [t, ops.ones_like(t), *[ops.zeros_like(t)] * k][: k + 1]
            coefficients = [ops.stack(times, 0), ops.stack(rows, 0)]
            slopes = series_along(lambda t, y: field(t, y, args), (t, y), coefficients)
            rows.append(slopes[k] / (k + 1))
        return rows

    def cross(
        self, field: Field, y: Tensor, t0: Tensor, t1: Tensor, args: Tree, guess: float | None
    ) -> tuple[Tensor, float | None, list[float]]:
        """The state at t1 from that at t0, and where steps ended, as fractions of the whole."""
        span = t1 - t0
        length = abs(span.item())
        if not length:
            return y, None, []
        progress, ends = 0.0, []
        for _ in range(self.max_steps):
            rows = self.series(field, t0 + progress * span, y, args)
            step = self.length_of(rows) / length
            end = 1.0 if progress + 1.01 * step >= 1 else progress + step
            y = horner(rows, (end - progress) * span)
            progress = end
            ends.append(end)
            if end == 1:
                return y, None, ends
        raise ConvergenceError(
            f"odeint(): {self.max_steps} steps were not enough from t = {t0.item():g} to {t1.item():g}; they have "
            f"come to {t0.item() + progress * span.item():g}. Raise max_steps or rtol; for a stiff problem, explicit "
            "methods are not suited"
        )

    def one(self, field: Field, t0: Tensor, t1: Tensor, args: Tree, start: float, end: float, y: Tensor) -> Tensor:
        """One step between two fractions of an interval."""
        return horner(self.series(field, t0 + start * (t1 - t0), y, args), (end - start) * (t1 - t0))

    def length_of(self, rows: list[Tensor]) -> float:
        """The step at which the terms of the last two orders are as small as the tolerances."""
        lengths = []
        for k in (self.order - 1, self.order):
            size = self.relative(rows[k].detach(), rows[0].detach())
            if not math.isfinite(size):
                raise ConvergenceError(
                    f"odeint(): the coefficient of order {k} of the solution's series is not finite: lower order=, or "
                    "end the interval before the singularity"
                )
            lengths.append((1 / size) ** (1 / k) if size > 0 else math.inf)
        return _SAFETY * min(lengths)


def horner(rows: list[Tensor], h: Tensor) -> Tensor:
    """The value of a polynomial with these coefficients."""
    total = rows[-1]
    for row in rows[-2::-1]:
        total = total * h + row
    return total


def stepper_for(method: str, rtol: float, atol: float, steps: int | None, max_steps: int, order: int | None) -> Stepper:
    """A method with its options."""
    if method == "taylor":
        return TaylorStepper(order, rtol, atol, steps, max_steps)
    if order is not None:
        raise ValueError(f"odeint(): order= is for method 'taylor', not for {method!r}")
    return Stepper(method, rtol, atol, steps, max_steps)


def spans(ends: list[float]) -> list[tuple[float, float]]:
    """The begin and end of each step, as fractions, from the ends."""
    return list(pairwise([0.0, *ends]))


def combine(weights: Any, slopes: list[Tensor]) -> Tensor:
    """A weighted sum, without the terms of weight 0."""
    terms = [weight * slope for weight, slope in zip(weights, slopes, strict=True) if weight]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def states(stepper: Stepper, field: Field, y: Tensor, t: Tensor, args: Tree, snapshots: int | None) -> Tensor:
    """The states at all times, stacked."""
    values, guess = [y], None
    for k in range(len(t) - 1):
        if snapshots is None or not is_grad_enabled() or (current().dual_stack and not _any_needs_grad((y, t, args))):
            y, guess, _ = stepper.cross(field, y, t[k], t[k + 1], args, guess)
        else:
            start, *rest = plain((y, t[k], t[k + 1], args))
            with no_grad():
                _, guess, ends = stepper.cross(field, start, rest[0], rest[1], rest[2], guess)
            # tensors with derivatives are passed along, so that checkpoints keep their tangents
            steps = [partial(_step, stepper, field, a, b) for a, b in spans(ends)]
            y = checkpoint_chain(steps, (y, t[k], t[k + 1], args), snapshots=snapshots)[0]
        values.append(y)
    return ops.stack(values, 0)


def _step(stepper: Stepper, field: Field, start: float, end: float, state: tuple[Any, ...]) -> tuple[Any, ...]:
    y, t0, t1, args = state
    return stepper.one(field, t0, t1, args, start, end, y), t0, t1, args


def _any_needs_grad(tree: Tree) -> bool:
    return any(isinstance(leaf, TensorBase) and leaf.requires_grad for leaf in flatten(tree)[0])


# the adjoint equation -------------------------------------------------------------------------------------------------


class Problem:
    """A field and the steps of its solution."""

    def __init__(self, field: Field, stepper: Stepper) -> None:
        self.field, self.stepper = field, stepper

    def with_field(self, field: Field) -> Problem:
        """The same steps for another field."""
        return Problem(field, self.stepper)


@custom
def trajectory(problem: Problem, start: Tensor, t: Tensor, args: Tree) -> Tensor:
    """The states at all times."""
    return states(problem.stepper, problem.field, start, t, args, None)


@trajectory.vjp
def _(g: Tensor, problem: Problem, t: Tensor, args: Tree, y: Tensor) -> dict[str, Tree]:
    part, n = Differentiable(args), y.shape[1]
    flat = Flat(part.tensors, "odeint()", y.dtype)

    def backward(t: Tensor, state: Tensor, args: Tree) -> Tensor:
        """y' = f, u' = -(df/dy)^T u, and the integrand for the parameters: -(df/dp)^T u."""
        part = Differentiable(args)
        slope, pull = func.vjp(lambda y, *p: problem.field(t, y, part.tree(p)), state[:n], *part.tensors)
        of_y, *of_p = pull(state[n : 2 * n])
        return ops.cat([slope, -of_y, *([-flat.ravel(of_p)] if of_p else [])], 0)

    reversed_problem = problem.with_field(backward)
    u, rest = g[-1], ops.zeros_like(flat.start())
    moments = []
    for k in range(len(t) - 1, 0, -1):
        moments.append((g[k] * problem.field(t[k], y[k], args)).sum())
        ends = ops.stack([t[k], t[k - 1]], 0)
        state = trajectory(reversed_problem, ops.cat([y[k], u, rest], 0), ends, args)[1]
        u, rest = state[n : 2 * n] + g[k - 1], state[2 * n :]
    moments.append(-((u - g[0]) * problem.field(t[0], y[0], args)).sum())
    gradients = part.tree(flat.unravel(rest), rest=(None,))
    return {"start": u, "t": ops.stack(moments[::-1], 0).to(t.dtype), "args": gradients}


@trajectory.jvp
def _(tangents: tuple[Any, ...], problem: Problem, t: Tensor, args: Tree, y: Tensor) -> Tensor:
    _, of_start, of_t, of_args = tangents
    n = y.shape[1]
    part = Differentiable(args)
    directions = part.of(flatten(of_args, lambda leaf: leaf is None)[0]) if part.tensors else []

    def along(t: Tensor, state: Tensor, both: Tree) -> Tensor:
        """y' = f, s' = df/dy s + df/dp p'."""
        args, directions = both
        part = Differentiable(args)
        primals, drivers = (state[:n], *part.tensors), (state[n:], *directions)
        slope, tangent = func.jvp(lambda y, *p: problem.field(t, y, part.tree(p)), primals, drivers)
        return ops.cat([slope, tangent], 0)

    slopes = ops.stack([problem.field(t[k], y[k], args) for k in range(len(t))], 0)
    shift = of_t.to(y.dtype).unsqueeze(1) * slopes
    state = ops.cat([y[0], of_start - shift[0]], 0)
    return trajectory(problem.with_field(along), state, t, (args, directions))[:, n:] + shift


@for_solvers
def odeint(
    f: Callable[..., Tree],
    y0: Tree,
    t: Any,
    *args: Tree,
    method: str = "dopri5",
    derivative: str = "discrete",
    rtol: float = 1e-7,
    atol: float = 1e-9,
    steps: int | None = None,
    snapshots: int | None = None,
    max_steps: int = 10_000,
    allow_constant: bool = False,
    order: int | None = None,
    compile: bool = False,
) -> Tree:
    """The solution of dy/dt = f(t, y, *args), y(t[0]) = y0, at the times t, with derivatives in y0, t and args.

    Args:
        f: from a scalar tensor t, y and args to a tree of y's structure.
        y0: a tensor or a tree of tensors.
        t: at least one time, in order, upwards or downwards; numbers, or a tensor.
        args: tensors, trees of tensors, and whatever else.
        method: "dopri5" or "bosh3", which choose their steps by rtol and atol; "taylor", which chooses steps by series
            of the solution, for high precision and smooth f; "rk4", "midpoint" or "euler", with a fixed number of
            steps.
        derivative: "discrete" differentiates the steps themselves. It is exact for the computed steps, but needs memory
            for each step. "adjoint" solves the adjoint equation backward in time, and in forward mode the equation of
            the tangents, with the same method. It needs memory only for the times, and is as exact as the tolerances.
        steps: the number of steps between two times, for methods of fixed step.
        snapshots: with "discrete", the number of states to keep between two times; the others are recomputed (binomial
            checkpoints, see `utils.checkpoint.checkpoint_chain`).
        max_steps: the limit of steps between two times, for methods that choose steps.
        allow_constant: the result of f need not depend on t, y or the args.
        order: the order of the series of "taylor"; by default it follows from rtol, 1 - ln(rtol) / 2.
        compile: one step is recorded, and replayed at other times and states (`adjoint.compile`).

    Returns:
        A tree of y0's structure; each leaf has an axis for time in front.

    Derivatives are of any order, in both modes. Under `vmap` all members take the same steps. The cheapest second
    derivatives of a number that depends on the solution, as for Newton's method, are two reverse passes over "discrete"
    steps (`autograd.functional.hvp`, `autograd.grad` of a gradient with create_graph=True): some 6 times the solution.
    Forward over reverse mode costs 3 to 5 times that for small states, and "adjoint" 12 times, since the adjoint
    equation of the adjoint equation is solved; it is for problems whose steps do not fit into memory.

    Raises:
        ConvergenceError: max_steps were not enough.
        LostDerivativeError: derivatives are requested, and f makes a plain number or array of an argument.
        RuntimeError: derivatives are requested, and the result of f depends neither on t nor on y nor on the args by
            any recorded operation; with "adjoint", f uses a tensor that requires grad and is not among the args.
        TypeError: y0 is not floating-point or complex.
        ValueError: an unknown method or derivative; steps for a method that chooses its steps, or no steps for another
            method; f returns another structure or other shapes than y's.

    >>> import adjoint
    >>> a = adjoint.tensor(-1.0, dtype=adjoint.float64, requires_grad=True)
    >>> y = adjoint.implicit.odeint(lambda t, y, a: a * y, adjoint.ones_like(a), [0.0, 1.0], a)
    >>> y[-1].backward()
    >>> y.detach(), a.grad
    (tensor([1.0000, 0.3679], dtype=adjoint.float64), tensor(0.3679, dtype=adjoint.float64))
    """
    name = "odeint()"
    if derivative not in ("discrete", "adjoint"):
        raise ValueError(f"{name}: derivative must be 'discrete' or 'adjoint', got {derivative!r}")
    flat = Flat(y0, name)
    stepper = stepper_for(method, rtol, atol, steps, max_steps, order)
    if compile:
        stepper.compile()
    times = as_tensor(t).to(flat.kind)
    if times.ndim != 1 or not len(times):
        raise ValueError(f"{name}: expected one or more times, in one dimension, got shape {tuple(times.shape)}")

    def field(t: Tensor, y: Tensor, args: Tree) -> Tensor:
        return flat.ravel(f(t, flat.unravel(y), *args))

    start = flat.start()
    arguments = (times[0], start, args)
    targets = (
        [] if allow_constant or not differentiated_leaves((start, times, args)) else Differentiable(arguments).tensors
    )
    if derivative == "adjoint" or targets:
        after = "t" if derivative == "adjoint" else None
        check_function(field, arguments, name, after, [("t, y or its arguments", targets)])
    if derivative == "discrete":
        return flat.unravel(states(stepper, field, start, times, args, snapshots))
    return flat.unravel(trajectory(Problem(field, stepper), start, times, args))
