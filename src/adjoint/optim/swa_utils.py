"""Averages of parameters during training: AveragedModel, rules of averaging, update_bn, SWALR.

Izmailov et al. (2018), "Averaging weights leads to wider optima and better generalization".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any

from adjoint.core.modes.grad_mode import no_grad
from adjoint.nn.modules.batchnorm import _BatchNorm
from adjoint.nn.modules.module import Module
from adjoint.optim.lr_scheduler import LRScheduler, _for_groups
from adjoint.optim.optimizer import Optimizer
from adjoint.tensor import creation
from adjoint.tensor.tensor import Tensor

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def __dir__() -> list[str]:
    return sorted(__all__)


Rule = Callable[[Tensor, Tensor, Any], Tensor]
RuleOfLists = Callable[[list[Tensor], list[Tensor], Any], None]


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_ema_avg_fn(decay: float = 0.999) -> Rule:
    """The rule `decay * mean + (1 - decay) * value`. Raises ValueError for a decay outside [0, 1].

    >>> import adjoint
    >>> adjoint.optim.swa_utils.get_ema_avg_fn(0.5)(adjoint.zeros(2), adjoint.ones(2), 3)
    tensor([0.5000, 0.5000])
    """
    _check_decay(decay)
    return lambda mean, value, n: decay * mean + (1 - decay) * value


def get_swa_avg_fn() -> Rule:
    """The rule of the arithmetic mean, `mean + (value - mean) / (n + 1)`.

    >>> import adjoint
    >>> adjoint.optim.swa_utils.get_swa_avg_fn()(adjoint.zeros(2), adjoint.ones(2), 3)
    tensor([0.2500, 0.2500])
    """
    return lambda mean, value, n: mean + (value - mean) / (n + 1)


def get_ema_multi_avg_fn(decay: float = 0.999) -> RuleOfLists:
    """The rule of get_ema_avg_fn() for lists of tensors, in place.

    >>> import adjoint
    >>> means = [adjoint.zeros(2)]
    >>> adjoint.optim.swa_utils.get_ema_multi_avg_fn(0.5)(means, [adjoint.ones(2)], 3)
    >>> means
    [tensor([0.5000, 0.5000])]
    """
    return _of_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> RuleOfLists:
    """The rule of get_swa_avg_fn() for lists of tensors, in place.

    >>> import adjoint
    >>> means = [adjoint.zeros(2)]
    >>> adjoint.optim.swa_utils.get_swa_multi_avg_fn()(means, [adjoint.ones(2)], 3)
    >>> means
    [tensor([0.2500, 0.2500])]
    """
    return _of_lists(get_swa_avg_fn())


def _of_lists(rule: Rule) -> RuleOfLists:
    def update(means: list[Tensor], values: list[Tensor], n: Any) -> None:
        with no_grad():
            for mean, value in zip(means, values, strict=True):
                mean.copy_(rule(mean, value, n))

    return update


class AveragedModel(Module):
    """A copy of a model with averaged parameters: call `update_parameters(model)` after steps.

    avg_fn, multi_avg_fn: the rule, for tensors or for lists of tensors; the default is the arithmetic mean.
    use_buffers: average buffers, too; otherwise they are copied. Raises AssertionError if both rules are present.

    >>> import adjoint
    >>> model = adjoint.nn.Linear(2, 1)
    >>> averaged = adjoint.optim.swa_utils.AveragedModel(model)
    >>> averaged.update_parameters(model)
    >>> bool((averaged.module.weight == model.weight).all())
    True
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Rule | None = None,
        multi_avg_fn: RuleOfLists | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", creation.tensor(0))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def update_parameters(self, model: Module) -> None:
        """Include the parameters of a model in the averages; the first call copies them.

        >>> import adjoint
        >>> model = adjoint.nn.Linear(2, 1)
        >>> averaged = adjoint.optim.swa_utils.AveragedModel(model)
        >>> averaged.update_parameters(model)
        >>> averaged.n_averaged
        tensor(1)
        """
        pairs = [
            (chain(each.parameters(), each.buffers()) if self.use_buffers else each.parameters())
            for each in (self.module, model)
        ]
        means, values = ([each.detach() for each in members] for members in pairs)
        with no_grad():
            if self.n_averaged == 0:
                for mean, value in zip(means, values, strict=True):
                    mean.copy_(value)
            else:
                self._average(means, values)
            if not self.use_buffers:
                for target, source in zip(self.module.buffers(), model.buffers(), strict=True):
                    target.copy_(source)
            self.n_averaged += 1

    def _average(self, means: list[Tensor], values: list[Tensor]) -> None:
        if self.avg_fn is not None:
            _of_lists(self.avg_fn)(means, values, self.n_averaged)
            return
        update = get_swa_multi_avg_fn() if self.multi_avg_fn is None else self.multi_avg_fn
        update(means, values, self.n_averaged)


def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Set the running statistics of all batch norms of a model to the means over all batches of a loader.

    A batch is the input, or a list or tuple with the input as first element.

    >>> import adjoint
    >>> model = adjoint.nn.BatchNorm1d(1)
    >>> adjoint.optim.swa_utils.update_bn([adjoint.full((2, 1), 3.0)], model)
    >>> model.running_mean
    tensor([3.])
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    was_training = model.training
    model.train()
    for norm in norms:
        norm.reset_running_stats()
        # None selects the mean over all batches
        norm.momentum = None
    with no_grad():
        for batch in loader:
            input = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(input if device is None else input.to(device))
    for norm, momentum in zip(norms, momenta, strict=True):
        norm.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """Change the learning rate to swa_lr in anneal_epochs epochs, along a cosine or a line; then it is constant.

    Raises ValueError unless anneal_strategy is "cos" or "linear", and for negative anneal_epochs.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.swa_utils.SWALR(sgd, swa_lr=0.5, anneal_epochs=1)
    >>> sgd.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for group, rate in zip(optimizer.param_groups, _for_groups("swa_lr", swa_lr, optimizer), strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch: float) -> float:
        """The weight of swa_lr at an epoch."""
        t = max(0.0, min(1.0, epoch / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self) -> list[Any]:
        """The learning rates of this epoch."""
        self._check_in_step()
        groups, epoch = self.optimizer.param_groups, self.last_epoch
        if self._is_initial and self.anneal_epochs:
            return [group["lr"] for group in groups]
        if self.anneal_epochs == 0:
            epoch = max(1, epoch)
        before, now = self._share(max(0, epoch - 1)), self._share(epoch)
        rates = []
        for group in groups:
            # the initial learning rate
            start = group["swa_lr"] if before == 1 else (group["lr"] - before * group["swa_lr"]) / (1 - before)
            rates.append(group["swa_lr"] * now + start * (1 - now))
        return rates
