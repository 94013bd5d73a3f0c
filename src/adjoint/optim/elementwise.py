"""Optimizers whose step is a formula for each element: SGD, Adam and their kin.

Each class has its options, its state and its formula. What they share is in `Elementwise`: checks, weight decay, the
grouping of parameters, and the two ways to run a formula. Raw arrays go through `blocks.run`; tensors of other
libraries, and differentiable steps, go through the same formula with Tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from math import sqrt
from typing import Any

import numpy

from adjoint.arrays.libraries.sparse_arrays import SparseArray
from adjoint.core import graph, in_place
from adjoint.core.modes.grad_mode import no_grad
from adjoint.optim import blocks
from adjoint.optim.optimizer import Optimizer, _evaluated
from adjoint.tensor import creation
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor

Options = dict[str, Any]

ADVICE = {"Adam": ", please consider SparseAdam instead"}
NOT_NEGATIVE = {
    "lr": "learning rate",
    "eps": "epsilon value",
    "weight_decay": "weight_decay value",
    "momentum": "momentum value",
    "alpha": "alpha value",
    "lr_decay": "lr_decay value",
    "momentum_decay": "momentum_decay value",
    "initial_accumulator_value": "initial_accumulator_value value",
}


def check_options(options: Options, names: Iterable[str] = NOT_NEGATIVE) -> None:
    """Raise ValueError for options below zero, and for betas outside of [0, 1).

    >>> check_options({"lr": -1})
    Traceback (most recent call last):
    ValueError: Invalid learning rate: -1
    """
    if isinstance(options.get("lr"), Tensor) and options["lr"].numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    for name in NOT_NEGATIVE:
        if name in names and name in options and not options[name] >= 0:
            raise ValueError(f"Invalid {NOT_NEGATIVE[name]}: {options[name]}")
    for k, beta in enumerate(options.get("betas", ())):
        if not 0 <= beta < 1:
            raise ValueError(f"Invalid beta parameter at index {k}: {beta}")


class Elementwise(Optimizer):
    """An optimizer with a formula for each element.

    _scalars: names of numbers of the state, with their first values; the first is the count of steps. _arrays: names
    of arrays of the state. _coefficients(): the numbers of the formula. _formula(): changes parameters and state.

    >>> from adjoint.optim.elementwise import Elementwise, SGD
    >>> issubclass(SGD, Elementwise)
    True
    """

    _scalars: dict[str, float] = {"step": 0.0}
    #: Small parameters are joined, which pays for formulas of more operations than copies.
    _joined = True
    #: What a sparse gradient changes: the elements where it has values ("elements"), as any gradient does ("all"), or
    #: nothing, as it is refused.
    _of_sparse = ""

    def __init__(self, params: Iterable[Any], options: Options) -> None:
        check_options(options)
        super().__init__(params, options)

    # what a class says -----------------------------------------------------------------------------------------------

    def _arrays(self, group: Options) -> tuple[str, ...]:
        """The names of the arrays of the state."""
        return ()

    def _first(self, name: str, parameter: Tensor, group: Options) -> Tensor:
        """The first value of an array of the state."""
        return creation.zeros_like(parameter)

    def _coefficients(self, group: Options, scalars: dict[str, float], new: bool) -> Options:
        """The numbers of the formula; `scalars` are changed to those after the step."""
        return {}

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        """Change a parameter and its state by a gradient; k: options and coefficients, xp: functions of the arrays."""
        raise NotImplementedError

    # the step --------------------------------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients; closure: computes the loss, and the gradients, once more."""
        loss = _evaluated(closure)
        for group in self.param_groups:
            with nullcontext() if group.get("differentiable") else no_grad():
                self._step_group(group)
        return loss

    def _step_group(self, group: Options) -> None:
        """Collect parameters with the same numbers in their state, and run the formula for each such set."""
        names = self._arrays(group)
        needed = (*self._scalars, *names)
        sets: dict[Any, list[Any]] = {}
        states: dict[Any, list[Any]] = {}
        for parameter in group["params"]:
            grad = parameter.grad
            if grad is None:
                continue
            state = self.state[parameter] if needed else {}
            # loaded states may have None for arrays that have not begun
            values = [state.get(name) for name in names]
            new = None in values if state else bool(needed)
            if new:
                self._begin(state, parameter, group)
                values = [state[name] for name in names]
            key = (new, parameter._array.dtype, *[_number(state[name]) for name in self._scalars])
            sets.setdefault(key, []).append((parameter, grad, *values))
            states.setdefault(key, []).append(state)
        for key, rows in sets.items():
            new, _, *numbers = key
            scalars = dict(zip(self._scalars, numbers, strict=True))
            if "step" in scalars:
                scalars["step"] += 1
            options = {**group, "lr": float(group["lr"])} if not group.get("differentiable") else dict(group)
            options.update(self._coefficients(options, scalars, new))
            self._run(_Options(options), rows)
            for state in states[key]:
                for name, value in scalars.items():
                    _set_number(state[name], value)

    def _begin(self, state: Options, parameter: Tensor, group: Options) -> None:
        for name, value in self._scalars.items():
            state[name] = creation.tensor(value)
        for name in self._arrays(group):
            state[name] = self._first(name, parameter, group)

    def _run(self, options: _Options, rows: list[tuple[Tensor, ...]]) -> None:
        formula = self._whole_formula
        plain = not options.differentiable
        arrays: list[Any] = [[tensor._array for tensor in row] for row in rows]
        if plain and {type(array) for row in arrays for array in row} == {numpy.ndarray}:
            written = [tensor for p, _, *state in rows for tensor in (p, *state)]
            for tensor in written:
                in_place.check_writable(tensor)
            if arrays[0][0].dtype.kind == "c":
                arrays = [[_real_array(array) for array in row] for row in arrays]
            with numpy.errstate(all="ignore"):
                blocks.run(lambda *columns: formula(numpy, options, *columns), arrays, self._joined)
            for tensor in written:
                graph.bump_version(tensor)
            return
        for row in rows:
            if isinstance(row[1]._array, SparseArray):
                self._run_sparse(options, *row)
            else:
                formula(ops, options, *(_real(tensor) for tensor in row))

    def _run_sparse(self, options: _Options, parameter: Tensor, grad: Tensor, *state: Tensor) -> None:
        """Change a parameter and its state by a sparse gradient. Raises RuntimeError if the formula takes none."""
        if self._of_sparse == "all":
            self._whole_formula(ops, options, parameter, grad, *state)
            return
        if not self._of_sparse:
            name = "Adam" if isinstance(self, Adam) else type(self).__name__
            raise RuntimeError(f"{name} does not support sparse gradients" + ADVICE.get(name, ""))
        if options.weight_decay:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        own = grad._array.coalesced()
        places = own.pattern.coordinates
        tensors = (parameter, *state)
        for tensor in tensors:
            in_place.check_writable(tensor)
        # each place is there once, so that the elements may be taken and put back
        parts = [tensor._array[places] for tensor in tensors]
        values = [parts[0], own.entries, *parts[1:]]
        with numpy.errstate(all="ignore"):
            self._whole_formula(numpy, options, *(map(_real_array, values) if parts[0].dtype.kind == "c" else values))
        for tensor, part in zip(tensors, parts, strict=True):
            tensor._array[places] = part
            graph.bump_version(tensor)

    def _whole_formula(self, xp: Any, k: _Options, p: Any, g: Any, *state: Any) -> None:
        """The formula, with the sign of the gradient and weight decay before it."""
        if k.maximize:
            g = -g
        if k.weight_decay:
            if k.decoupled_weight_decay:
                p *= 1 - k.lr * k.weight_decay
            else:
                g = g + k.weight_decay * p
        self._formula(xp, k, p, g, *state)


class _Options:
    """Options and coefficients as attributes; those that an optimizer does not have are None."""

    def __init__(self, options: Options) -> None:
        vars(self).update(options)

    def __getattr__(self, name: str) -> Any:
        return None


def _real_array(array: Any) -> Any:
    """An array of complex numbers as one of real numbers, over the same memory."""
    return array.view(array.real.dtype) if array.ndim else array.reshape(1).view(array.real.dtype)


def _real(tensor: Tensor) -> Tensor:
    return ops.view_as_real(tensor) if tensor.is_complex() else tensor


def _number(tensor: Tensor) -> float:
    array = tensor._array
    return array.item() if type(array) is numpy.ndarray else float(tensor)


def _set_number(tensor: Tensor, value: float) -> None:
    array = tensor._array
    if type(array) is numpy.ndarray:
        array.fill(value)
        graph.bump_version(tensor)
    else:
        tensor.fill_(value)


class SGD(Elementwise):
    """Gradient descent, with momentum: `buffer = momentum * buffer + (1 - dampening) * grad; p -= lr * buffer`.

    nesterov: the step is along `grad + momentum * buffer`. weight_decay times the parameter is added to the gradient.
    maximize: ascent. `foreach` and `fused`, which pick between implementations in torch, change nothing here.

    Sutskever et al. (2013), "On the importance of initialization and momentum in deep learning".

    Raises ValueError for negative options, and for nesterov without momentum.

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> sgd = adjoint.optim.SGD([w], lr=0.25, momentum=0.9)
    >>> w.square().sum().backward()
    >>> sgd.step()
    >>> w.tolist()
    [0.5, 0.5]
    """

    _scalars = {}
    _joined = False
    _of_sparse = "all"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        options: Options = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        options |= {"nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable}
        check_options(options)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, options | {"fused": fused})

    def _arrays(self, group: Options) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

    def _coefficients(self, group: Options, scalars: dict[str, float], new: bool) -> Options:
        # the buffer begins with the first gradient
        return {"taken": 1.0 if new else 1 - group["dampening"]}

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        for buffer in state:
            buffer *= k.momentum
            buffer += g if k.taken == 1 else k.taken * g
            g = g + k.momentum * buffer if k.nesterov else buffer
        p -= k.lr * g


def _lr_and_betas(lr: Any, betas: Any, eps: float, weight_decay: float) -> Options:
    return {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}


class Adam(Elementwise):
    """Steps along the running mean of gradients, over the root of the running mean of their squares.

    `m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g²; p -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)`.
    amsgrad: v is the largest so far. decoupled_weight_decay: as AdamW. maximize: ascent. `foreach`, `fused` and
    `capturable`, which pick between implementations in torch, change nothing here.

    Kingma and Ba (2015), "Adam: a method for stochastic optimization"; Reddi et al. (2018), "On the convergence of
    Adam and beyond".

    Raises ValueError for negative options, and for betas outside of [0, 1).

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> adam = adjoint.optim.Adam([w], lr=0.5)
    >>> w.square().sum().backward()
    >>> adam.step()
    >>> w.detach()
    tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        options = _lr_and_betas(lr, betas, eps, weight_decay) | {"amsgrad": amsgrad, "maximize": maximize}
        options |= {"foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused}
        super().__init__(params, options | {"decoupled_weight_decay": decoupled_weight_decay})

    def _arrays(self, group: Options) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq", "max_exp_avg_sq") if group["amsgrad"] else ("exp_avg", "exp_avg_sq")

    def _coefficients(self, group: Options, scalars: dict[str, float], new: bool) -> Options:
        (beta1, beta2), t = map(float, group["betas"]), scalars["step"]
        root = sqrt(1 - beta2**t)
        # numerator and denominator are both multiplied by this root, which spares a division of arrays
        size, least = group["lr"] * root / (1 - beta1**t), group["eps"] * root
        return {"b1": beta1, "b2": beta2, "size": size, "least": least}

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        m, v, *largest = state
        m += (1 - k.b1) * (g - m)
        v *= k.b2
        v += (1 - k.b2) * (g * g)
        for top in largest:
            top[...] = xp.maximum(top, v)
            v = top
        p -= k.size * (m / (xp.sqrt(v) + k.least))


class SparseAdam(Elementwise):
    """Adam for sparse gradients: only the elements where the gradient has values, and their running means, change.

    `m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g²; p -= lr (sqrt(1 - b2^t) / (1 - b1^t)) m / (sqrt(v) + eps)`.
    maximize: ascent.

    Raises ValueError for negative options, and for betas outside of [0, 1); RuntimeError for dense gradients.

    >>> import adjoint
    >>> w = adjoint.zeros(3, 1, requires_grad=True)
    >>> adam = adjoint.optim.SparseAdam([w], lr=0.5)
    >>> adjoint.nn.functional.embedding(adjoint.tensor([1]), w, sparse=True).sum().backward()
    >>> adam.step()
    >>> w.detach().tolist()
    [[0.0], [-0.5], [0.0]]
    """

    _of_sparse = "elements"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _arrays(self, group: Options) -> tuple[str, ...]:
        return "exp_avg", "exp_avg_sq"

    def _coefficients(self, group: Options, scalars: dict[str, float], new: bool) -> Options:
        (beta1, beta2), t = map(float, group["betas"]), scalars["step"]
        return {
            "b1": beta1,
            "b2": beta2,
            "size": group["lr"] * sqrt(1 - beta2**t) / (1 - beta1**t),
            "least": group["eps"],
        }

    def _run(self, options: _Options, rows: list[tuple[Tensor, ...]]) -> None:
        if not all(isinstance(grad._array, SparseArray) for _, grad, *_ in rows):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        super()._run(options, rows)

    _formula = staticmethod(Adam._formula)


class AdamW(Adam):
    """Adam with decoupled weight decay: `p -= lr * weight_decay * p` before each step. Arguments as Adam's.

    Loshchilov and Hutter (2019), "Decoupled weight decay regularization".

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> adamw = adjoint.optim.AdamW([w], lr=0.5, weight_decay=0.0)
    >>> w.square().sum().backward()
    >>> adamw.step()
    >>> w.detach()
    tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )


class Adamax(Elementwise):
    """Adam with the largest decayed gradient in place of the root: `u = max(b2 u, |g| + eps)`.

    Kingma and Ba (2015), section 7. Raises ValueError as Adam.

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> adamax = adjoint.optim.Adamax([w], lr=0.5)
    >>> w.square().sum().backward()
    >>> adamax.step()
    >>> w.detach()
    tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        options = _lr_and_betas(lr, betas, eps, weight_decay) | {"foreach": foreach, "maximize": maximize}
        super().__init__(params, options | {"differentiable": differentiable, "capturable": capturable})

    def _arrays(self, group: Options) -> tuple[str, ...]:
        return ("exp_avg", "exp_inf")

    def _coefficients(self, group: Options, scalars: dict[str, float], new: bool) -> Options:
        beta1, beta2 = group["betas"]
        return {"b1": beta1, "b2": beta2, "size": group["lr"] / (1 - beta1 ** scalars["step"])}

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        m, u = state
        m += (1 - k.b1) * (g - m)
        u[...] = xp.maximum(k.b2 * u, abs(g) + k.eps)
        p -= k.size * (m / u)


class NAdam(Elementwise):
    """Adam with Nesterov's momentum. Dozat (2016), "Incorporating Nesterov momentum into Adam".

    momentum_decay: of the momentum `b1 (1 - 0.96^(t momentum_decay) / 2)`. Raises ValueError as Adam.

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> nadam = adjoint.optim.NAdam([w], lr=0.5)
    >>> w.square().sum().backward()
    >>> nadam.step()
    >>> bool((w < 1).all())
    True
    """

    _scalars = {"step": 0.0, "mu_product": 1.0}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = _lr_and_betas(lr, betas, eps, weight_decay) | {"momentum_decay": momentum_decay}
        options |= {"decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach}
        super().__init__(params, options | {"capturable": capturable, "differentiable": differentiable})

    def _arrays(self, group: Options) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _coefficients(self, group: Options, scalars: dict[str, float], new: bool) -> Options:
        (beta1, beta2), t, lr = group["betas"], scalars["step"], group["lr"]
        now, after = (beta1 * (1 - 0.5 * 0.96 ** (n * group["momentum_decay"])) for n in (t, t + 1))
        product = scalars["mu_product"] = scalars["mu_product"] * now
        of_grad, of_mean = lr * (1 - now) / (1 - product), lr * after / (1 - product * after)
        return {"b1": beta1, "b2": beta2, "of_grad": of_grad, "of_mean": of_mean, "share": 1 - beta2**t}

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        m, v = state
        m += (1 - k.b1) * (g - m)
        v *= k.b2
        v += (1 - k.b2) * (g * g)
        root = xp.sqrt(v / k.share) + k.eps
        p -= k.of_grad * (g / root)
        p -= k.of_mean * (m / root)


class RAdam(Elementwise):
    """Adam whose first steps go without the root, until its variance can be told.

    Liu et al. (2020), "On the variance of the adaptive learning rate and beyond". Raises ValueError as Adam.

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> radam = adjoint.optim.RAdam([w], lr=0.25)
    >>> w.square().sum().backward()
    >>> radam.step()
    >>> w.detach()
    tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = _lr_and_betas(lr, betas, eps, weight_decay) | {"maximize": maximize, "foreach": foreach}
        options |= {"capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay}
        super().__init__(params, options | {"differentiable": differentiable})

    def _arrays(self, group: Options) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def _coefficients(self, group: Options, scalars: dict[str, float], new: bool) -> Options:
        (beta1, beta2), t = group["betas"], scalars["step"]
        share, limit = 1 - beta2**t, 2 / (1 - beta2) - 1
        length = limit - 2 * t * beta2**t / share
        rectified = None
        if length > 5:
            ratio = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
            rectified = sqrt(ratio) * sqrt(share)
        return {"b1": beta1, "b2": beta2, "size": group["lr"] / (1 - beta1**t), "rectified": rectified}

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        m, v = state
        m += (1 - k.b1) * (g - m)
        v *= k.b2
        v += (1 - k.b2) * (g * g)
        p -= k.size * (m if k.rectified is None else m * (k.rectified / (xp.sqrt(v) + k.eps)))


class Adadelta(Elementwise):
    """Steps in the ratio of the roots of running means: of squared steps and squared gradients.

    Zeiler (2012), "ADADELTA: an adaptive learning rate method". Raises ValueError for negative options and for rho
    outside of [0, 1].

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> adadelta = adjoint.optim.Adadelta([w])
    >>> w.square().sum().backward()
    >>> adadelta.step()
    >>> bool((w < 1).all())
    True
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options: Options = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        check_options(options)
        if not 0 <= rho <= 1:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(
            params, options | {"capturable": capturable, "foreach": foreach, "differentiable": differentiable}
        )

    def _arrays(self, group: Options) -> tuple[str, ...]:
        return ("square_avg", "acc_delta")

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        squares, steps = state
        squares *= k.rho
        squares += (1 - k.rho) * (g * g)
        change = xp.sqrt(steps + k.eps) / xp.sqrt(squares + k.eps) * g
        steps *= k.rho
        steps += (1 - k.rho) * (change * change)
        p -= k.lr * change


class Adagrad(Elementwise):
    """Steps over the root of the sum of squared gradients: `p -= lr / (1 + (t - 1) lr_decay) * g / (sqrt(sum) + eps)`.

    Duchi et al. (2011), "Adaptive subgradient methods for online learning and stochastic optimization". Raises
    ValueError for negative options.

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> adagrad = adjoint.optim.Adagrad([w], lr=0.5)
    >>> w.square().sum().backward()
    >>> adagrad.step()
    >>> w.detach()
    tensor([0.5000, 0.5000])
    """

    _of_sparse = "elements"

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        options: Options = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        options |= {"initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize}
        super().__init__(params, options | {"differentiable": differentiable, "fused": fused})
        for group in self.param_groups:
            for parameter in group["params"]:
                self._begin(self.state[parameter], parameter, group)

    def share_memory(self) -> None:
        """Move the sums to memory that processes share.

        >>> from adjoint import ones, optim
        >>> optim.Adagrad([ones(2, requires_grad=True)]).share_memory()
        """
        for state in self.state.values():
            state["sum"].share_memory_()

    def _arrays(self, group: Options) -> tuple[str, ...]:
        return ("sum",)

    def _first(self, name: str, parameter: Tensor, group: Options) -> Tensor:
        value = group["initial_accumulator_value"]
        return creation.full_like(parameter, complex(value, value) if parameter.is_complex() else value)

    def _coefficients(self, group: Options, scalars: dict[str, float], new: bool) -> Options:
        return {"size": group["lr"] / (1 + (scalars["step"] - 1) * group["lr_decay"])}

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        (total,) = state
        total += g * g
        p -= k.size * (g / (xp.sqrt(total) + k.eps))


class RMSprop(Elementwise):
    """Steps over the root of the running mean of squared gradients, with momentum.

    centered: over the root of the variance, the mean of squares without the square of the mean.

    Hinton, lecture 6e of "Neural networks for machine learning"; Graves (2013), "Generating sequences with recurrent
    neural networks", for the centered form. Raises ValueError for negative options.

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> rmsprop = adjoint.optim.RMSprop([w], lr=0.05)
    >>> w.square().sum().backward()
    >>> rmsprop.step()
    >>> w.detach()
    tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options: Options = {"lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered}
        options |= {"weight_decay": weight_decay, "capturable": capturable, "foreach": foreach, "maximize": maximize}
        super().__init__(params, options | {"differentiable": differentiable})

    def _arrays(self, group: Options) -> tuple[str, ...]:
        names = {"square_avg": True, "momentum_buffer": group["momentum"] > 0, "grad_avg": group["centered"]}
        return tuple(name for name, there in names.items() if there)

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        squares, *others = state
        squares *= k.alpha
        squares += (1 - k.alpha) * (g * g)
        spread = squares
        if k.centered:
            mean = others.pop()
            mean += (1 - k.alpha) * (g - mean)
            spread = squares - mean * mean
        change = g / (xp.sqrt(spread) + k.eps)
        for buffer in others:
            buffer *= k.momentum
            buffer += change
            change = buffer
        p -= k.lr * change


class Rprop(Elementwise):
    """Steps by the sign of the gradient, which grow while it stays and shrink where it changes.

    etas: the factors by which steps shrink and grow. step_sizes: the smallest and the largest step.

    Riedmiller and Braun (1993), "A direct adaptive method for faster backpropagation learning". Raises ValueError for
    a negative lr, and unless 0 < etas[0] < 1 < etas[1].

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> rprop = adjoint.optim.Rprop([w], lr=0.5)
    >>> w.square().sum().backward()
    >>> rprop.step()
    >>> w.detach()
    tensor([0.5000, 0.5000])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options: Options = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize}
        check_options(options)
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, options | {"differentiable": differentiable, "capturable": capturable})

    def _arrays(self, group: Options) -> tuple[str, ...]:
        return ("prev", "step_size")

    def _first(self, name: str, parameter: Tensor, group: Options) -> Tensor:
        if name == "prev":
            return creation.zeros_like(parameter)
        lr = float(group["lr"])
        return creation.full_like(parameter, complex(lr, lr) if parameter.is_complex() else lr)

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        before, size = state
        agrees = g * before
        (less, more), (least, most) = k.etas, k.step_sizes
        scaled = xp.where(agrees > 0, more * size, xp.where(agrees < 0, less * size, size))
        size[...] = xp.where(scaled < least, least, xp.where(scaled > most, most, scaled))
        # where the sign changes, there is no step
        before[...] = xp.where(agrees < 0, 0.0, g)
        p -= xp.sign(before) * size


class ASGD(Elementwise):
    """Gradient descent with a decreasing rate, and the mean of the parameters from step t0 on, in the state's "ax".

    Polyak and Juditsky (1992), "Acceleration of stochastic approximation by averaging". Raises ValueError for negative
    options.

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> asgd = adjoint.optim.ASGD([w], lr=0.25)
    >>> w.square().sum().backward()
    >>> asgd.step()
    >>> w.detach()
    tensor([0.5000, 0.5000])
    """

    _scalars = {"step": 0.0, "eta": 0.0, "mu": 1.0}

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        options: Options = {"lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay}
        options |= {"foreach": foreach, "maximize": maximize, "differentiable": differentiable}
        super().__init__(params, options | {"capturable": capturable})

    def _arrays(self, group: Options) -> tuple[str, ...]:
        return ("ax",)

    def _coefficients(self, group: Options, scalars: dict[str, float], new: bool) -> Options:
        lr, t = group["lr"], scalars["step"]
        now = {"eta": lr if new else scalars["eta"], "mu": scalars["mu"]}
        scalars["eta"] = lr / (1 + group["lambd"] * lr * t) ** group["alpha"]
        scalars["mu"] = 1 / max(1, t - group["t0"])
        return now

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        (mean,) = state
        p *= 1 - k.lambd * k.eta
        p -= k.eta * g
        if k.mu == 1:
            mean[...] = p
        else:
            mean += k.mu * (p - mean)
