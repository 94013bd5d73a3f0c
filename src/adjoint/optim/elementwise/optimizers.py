"""SGD, Adam and related optimizers: each class has options, a state and a formula."""

from __future__ import annotations

from collections.abc import Iterable
from math import sqrt
from typing import Any

from adjoint.arrays.kernels import vectors
from adjoint.arrays.libraries.sparse_arrays import SparseArray
from adjoint.optim.elementwise.base import Elementwise, Options, _Options, check_options
from adjoint.tensor import creation
from adjoint.tensor.tensor import Tensor


class SGD(Elementwise):
    """Gradient descent with momentum: `buffer = momentum * buffer + (1 - dampening) * grad; p -= lr * buffer`.

    nesterov: the step is along `grad + momentum * buffer`. weight_decay: this factor times the parameter is added to
    the gradient. maximize: gradient ascent. `foreach` and `fused` select implementations in torch, and have no effect
    here.

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
    _loop = (vectors.DESCEND, ("lr", "momentum", "taken"))

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
        # the buffer is initially the first gradient, without dampening
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
    """Steps along the running mean of gradients, divided by the root of the running mean of their squares.

    `m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g²; p -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)`.
    amsgrad: use the largest v so far. decoupled_weight_decay: weight decay of AdamW. maximize: gradient ascent.
    `foreach`, `fused` and `capturable` select implementations in torch, and have no effect here.

    Kingma and Ba (2015), "Adam: a method for stochastic optimization"; Reddi et al. (2018), "On the convergence of
    Adam and beyond".

    Raises ValueError for negative options, and for betas outside [0, 1).

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> adam = adjoint.optim.Adam([w], lr=0.5)
    >>> w.square().sum().backward()
    >>> adam.step()
    >>> w.detach()
    tensor([0.5000, 0.5000])
    """

    _loop = (vectors.ADAPT, ("size", "new1", "b2", "new2", "least"))

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
        # numerator and denominator are both multiplied by this root, to avoid a division of arrays
        size, least = group["lr"] * root / (1 - beta1**t), group["eps"] * root
        return {"new1": 1 - beta1, "b2": beta2, "new2": 1 - beta2, "size": size, "least": least}

    @staticmethod
    def _formula(xp: Any, k: Any, p: Any, g: Any, *state: Any) -> None:
        m, v, *largest = state
        m += k.new1 * (g - m)
        v *= k.b2
        v += k.new2 * (g * g)
        for top in largest:
            top[...] = xp.maximum(top, v)
            v = top
        p -= k.size * (m / (xp.sqrt(v) + k.least))


class SparseAdam(Elementwise):
    """Adam for sparse gradients: it updates only the elements with entries in the gradient, and their running means.

    `m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g²; p -= lr (sqrt(1 - b2^t) / (1 - b1^t)) m / (sqrt(v) + eps)`.
    maximize: gradient ascent.

    Raises ValueError for negative options, and for betas outside [0, 1), and RuntimeError for dense gradients.

    >>> import adjoint
    >>> w = adjoint.zeros(3, 1, requires_grad=True)
    >>> adam = adjoint.optim.SparseAdam([w], lr=0.5)
    >>> adjoint.nn.functional.embedding(adjoint.tensor([1]), w, sparse=True).sum().backward()
    >>> adam.step()
    >>> w.detach().round(decimals=4).tolist()
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
            "new1": 1 - beta1,
            "b2": beta2,
            "new2": 1 - beta2,
            "size": group["lr"] * sqrt(1 - beta2**t) / (1 - beta1**t),
            "least": group["eps"],
        }

    def _run(self, options: _Options, rows: list[tuple[Tensor, ...]]) -> None:
        if not all(isinstance(grad._array, SparseArray) for _, grad, *_ in rows):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        super()._run(options, rows)

    _formula = staticmethod(Adam._formula)


class AdamW(Adam):
    """Adam with decoupled weight decay: `p -= lr * weight_decay * p` before each step.

    The other arguments and the errors are those of Adam. Loshchilov and Hutter (2019), "Decoupled weight decay
    regularization".

    >>> import adjoint
    >>> w = adjoint.ones(2, requires_grad=True)
    >>> adamw = adjoint.optim.AdamW([w], lr=0.5, weight_decay=0.0)
    >>> w.square().sum().backward()
    >>> adamw.step()
    >>> w.detach()
    tensor([0.5000, 0.5000])
    """

    _name = "Adam"

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
    """Adam with the largest decayed gradient instead of the root: `u = max(b2 u, |g| + eps)`.

    Kingma and Ba (2015), section 7. The errors are those of Adam.

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

    momentum_decay: the factor in the momentum `b1 (1 - 0.96^(t momentum_decay) / 2)`. The errors are those of Adam.

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
    """Adam with first steps without the root, as long as its variance cannot be estimated.

    Liu et al. (2020), "On the variance of the adaptive learning rate and beyond". The errors are those of Adam.

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
    """Steps along the gradient times a ratio of two roots: running means of squared steps and of squared gradients.

    Zeiler (2012), "ADADELTA: an adaptive learning rate method". Raises ValueError for negative options, and for rho
    outside [0, 1].

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
    """Steps divided by the root of the sum of squared gradients.

    `p -= lr / (1 + (t - 1) lr_decay) * g / (sqrt(sum) + eps)`. Duchi et al. (2011), "Adaptive subgradient methods for
    online learning and stochastic optimization". Raises ValueError for negative options.

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
        """Move the sums to shared memory of processes.

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
    """Steps divided by the root of the running mean of squared gradients, with momentum.

    centered: divide by the root of the variance instead: the mean of squares minus the square of the mean.

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
    """Steps by the sign of the gradient. A step grows while the sign is constant, and shrinks when it changes.

    etas: the factors for shrinking and growing steps. step_sizes: the smallest and the largest step.

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
        # elements with a new sign make no step
        before[...] = xp.where(agrees < 0, 0.0, g)
        p -= xp.sign(before) * size


class ASGD(Elementwise):
    """Gradient descent with a decreasing learning rate; "ax" in the state is the mean of the parameters since step t0.

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
