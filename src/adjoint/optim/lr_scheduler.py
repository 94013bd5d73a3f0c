"""Schedules of learning rates: each call of step() sets the learning rates of an optimizer for the next epoch."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

from adjoint.optim.optimizer import Optimizer
from adjoint.tensor.tensor import Tensor

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]


def __dir__() -> list[str]:
    return sorted(__all__)


EARLY = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`. Failure to do this will result in "
    "PyTorch skipping the first value of the learning rate schedule."
)
GIVEN_EPOCH = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available."
)
OUTSIDE_STEP = "To get the last learning rate computed by the scheduler, please use `get_last_lr()`."


def _check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _for_groups(name: str, value: Any, optimizer: Optimizer) -> list[Any]:
    """A list with one value for each group. Raises ValueError for a list with another length."""
    n = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * n
    if len(value) != n:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {n}."
        )
    return list(value)


def _set_rate(group: dict[str, Any], rate: Any) -> None:
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(rate))
    else:
        group["lr"] = rate


class LRScheduler:
    """The base class of schedules. A subclass has `get_lr`, or `_next` for the rate of one group.

    last_epoch: the epoch from which training resumes; -1 starts with the learning rates of the optimizer.

    Raises TypeError unless `optimizer` is an Optimizer, and KeyError if training resumes without initial rates.

    >>> from adjoint import ones, optim
    >>> class Halving(optim.lr_scheduler.LRScheduler):
    ...     def _next(self, rate, first):
    ...         return rate / 2 if self.last_epoch else rate
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = Halving(sgd)
    >>> sgd.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    _is_initial = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        for k, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{k}] when resuming scheduler with "
                    f"last_epoch >= 0. This typically happens when the optimizer is a new one."
                )
        self.base_lrs: list[Any] = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._is_initial, self._get_lr_called_within_step = True, False
        self.step()
        self._is_initial = False
        if not hasattr(optimizer, "_is_scheduled"):
            # the optimizer notes its steps only after the first schedule
            optimizer._is_scheduled, optimizer._opt_called = True, False  # type: ignore[attr-defined]

    def _next(self, rate: Any, first: Any) -> Any:
        """The learning rate after `rate`, for a group with the initial learning rate `first`."""
        raise NotImplementedError

    def get_lr(self) -> list[Any]:
        """The next learning rates, one for each group, which step() sets. It warns outside of step()."""
        self._check_in_step()
        groups = self.optimizer.param_groups
        return [self._next(group["lr"], base) for group, base in zip(groups, self.base_lrs, strict=True)]

    def _check_in_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(OUTSIDE_STEP, stacklevel=3)

    def _rates(self) -> list[Any]:
        """The next learning rates, asked for by step()."""
        self._get_lr_called_within_step = True
        try:
            return self.get_lr()
        finally:
            self._get_lr_called_within_step = False

    def get_last_lr(self) -> list[Any]:
        """The learning rates of the last step, one for each group.

        >>> from adjoint import ones, optim
        >>> optim.lr_scheduler.StepLR(optim.SGD([ones(2, requires_grad=True)], lr=1.0), 2).get_last_lr()
        [1.0]
        """
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Advance to the next epoch, or to `epoch`, and set the learning rates.

        It warns if the optimizer has made no step yet.

        >>> from adjoint import ones, optim
        >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
        >>> schedule = optim.lr_scheduler.ExponentialLR(sgd, 0.5)
        >>> sgd.step()
        >>> schedule.step()
        >>> sgd.param_groups[0]["lr"]
        0.5
        """
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", True):
            warnings.warn(EARLY, stacklevel=2)
        self._step_count += 1
        if epoch is None:
            self.last_epoch += 1
            rates = self._rates()
        else:
            if not self._is_initial:
                warnings.warn(GIVEN_EPOCH, stacklevel=2)
            self.last_epoch = epoch
            closed = getattr(self, "_get_closed_form_lr", None)
            rates = self._rates() if closed is None else closed()
        self._set(rates)

    def _set(self, rates: Iterable[Any]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            _set_rate(group, rate)
        self._last_lr = [
            group["lr"].clone() if isinstance(group["lr"], Tensor) else group["lr"]
            for group in self.optimizer.param_groups
        ]

    def state_dict(self) -> dict[str, Any]:
        """The state, without the optimizer.

        >>> from adjoint import ones, optim
        >>> optim.lr_scheduler.StepLR(optim.SGD([ones(2, requires_grad=True)], lr=1.0), 2).state_dict()["last_epoch"]
        0
        """
        return {key: value for key, value in vars(self).items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state from state_dict().

        >>> from adjoint import ones, optim
        >>> schedule = optim.lr_scheduler.StepLR(optim.SGD([ones(2, requires_grad=True)], lr=1.0), 2)
        >>> schedule.load_state_dict(schedule.state_dict())
        """
        vars(self).update(state_dict)


_LRScheduler = LRScheduler


class _ByFunctions(LRScheduler):
    """A schedule with one function of the epoch for all groups, or one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        n = len(optimizer.param_groups)
        lambdas = list(lr_lambda) if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * n
        if len(lambdas) != n:
            raise ValueError(f"Expected {n} lr_lambdas, but got {len(lambdas)}")
        self.lr_lambdas: list[Callable[[int], float]] = lambdas
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """The state without the optimizer and functions; callable objects are stored as their attributes."""
        state = {key: value for key, value in vars(self).items() if key not in ("optimizer", "lr_lambdas")}
        of_objects = [None if isinstance(each, FunctionType) else dict(vars(each)) for each in self.lr_lambdas]
        return state | {"lr_lambdas": of_objects}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state from state_dict(); functions do not change."""
        vars(self).update({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for function, state in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if state is not None:
                vars(function).update(state)


class LambdaLR(_ByFunctions):
    """The initial learning rate times a function of the epoch.

    Raises ValueError unless there are as many functions as groups.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.LambdaLR(sgd, lambda epoch: 1 / (1 + epoch))
    >>> for _ in range(3):
    ...     sgd.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def get_lr(self) -> list[Any]:
        self._check_in_step()
        return [base * of(self.last_epoch) for of, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_ByFunctions):
    """The previous learning rate times a function of the epoch.

    Raises ValueError unless there are as many functions as groups, TypeError for objects that cannot be called.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.MultiplicativeLR(sgd, lambda epoch: 0.5)
    >>> sgd.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        for each in lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]:
            if not callable(each):
                raise TypeError(f"lr_lambda should be a function, but got {type(each).__name__}")
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self) -> list[Any]:
        self._check_in_step()
        groups = self.optimizer.param_groups
        if self._is_initial:
            return [group["lr"] for group in groups]
        return [group["lr"] * of(self.last_epoch) for of, group in zip(self.lr_lambdas, groups, strict=True)]


class StepLR(LRScheduler):
    """Multiply the learning rate by gamma every step_size epochs.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.StepLR(sgd, step_size=2, gamma=0.5)
    >>> for _ in range(5):
    ...     sgd.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: Any, first: Any) -> Any:
        return rate if self.last_epoch == 0 or self.last_epoch % self.step_size else rate * self.gamma

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Multiply the learning rate by gamma at each of some epochs, the milestones.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.MultiStepLR(sgd, [1, 3], gamma=0.5)
    >>> for _ in range(3):
    ...     sgd.step()
    ...     schedule.step()
    >>> schedule.get_last_lr()
    [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: Any, first: Any) -> Any:
        return rate * self.gamma ** self.milestones[self.last_epoch] if self.last_epoch in self.milestones else rate

    def _get_closed_form_lr(self) -> list[Any]:
        n_milestones = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**n_milestones for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The learning rate times a factor during the first total_iters epochs.

    Raises ValueError for a factor outside [0, 1].

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.ConstantLR(sgd, factor=0.5, total_iters=2)
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: Any, first: Any) -> Any:
        if self.last_epoch == 0:
            return rate * self.factor
        return rate * (1.0 / self.factor) if self.last_epoch == self.total_iters else rate

    def _get_closed_form_lr(self) -> list[Any]:
        over = self.last_epoch >= self.total_iters
        return [base * (1 if over else self.factor) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The initial learning rate times a factor that changes linearly from start_factor to end_factor.

    The change takes total_iters epochs. Raises ValueError for factors outside [0, 1].

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.LinearLR(sgd, start_factor=0.5, total_iters=2)
    >>> sgd.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor, self.total_iters = start_factor, end_factor, total_iters
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: Any, first: Any) -> Any:
        if self.last_epoch == 0:
            return rate * self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return rate
        growth = self.end_factor - self.start_factor
        return rate * (1.0 + growth / (self.total_iters * self.start_factor + (self.last_epoch - 1) * growth))

    def _get_closed_form_lr(self) -> list[Any]:
        growth, epoch = self.end_factor - self.start_factor, min(self.total_iters, self.last_epoch)
        return [base * (self.start_factor + growth * epoch / self.total_iters) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Multiply the learning rate by gamma after every epoch.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.ExponentialLR(sgd, gamma=0.5)
    >>> sgd.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: Any, first: Any) -> Any:
        return rate if self._is_initial else rate * self.gamma

    def _get_closed_form_lr(self) -> list[Any]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The initial learning rate times `(1 - epoch / total_iters) ** power`, and zero after total_iters epochs.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.PolynomialLR(sgd, total_iters=4)
    >>> sgd.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: Any, first: Any) -> Any:
        epoch, total = self.last_epoch, self.total_iters
        if self._is_initial or epoch > total:
            return rate
        return rate * ((1.0 - epoch / total) / (1.0 - (epoch - 1) / total)) ** self.power

    def _get_closed_form_lr(self) -> list[Any]:
        epoch = min(self.total_iters, self.last_epoch)
        return [base * (1.0 - epoch / self.total_iters) ** self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """A cosine curve from the initial learning rate to eta_min in T_max epochs, and back.

    Loshchilov and Hutter (2017), "SGDR: stochastic gradient descent with warm restarts".

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.CosineAnnealingLR(sgd, T_max=2)
    >>> sgd.step()
    >>> schedule.step()
    >>> round(schedule.get_last_lr()[0], 6)
    0.5
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: Any, first: Any) -> Any:
        epoch, length, least = self.last_epoch, self.T_max, self.eta_min
        if self._is_initial:
            return rate
        if (epoch - 1 - length) % (2 * length) == 0:
            return rate + (first - least) * (1 - math.cos(math.pi / length)) / 2
        before, now = (1 + math.cos(math.pi * each / length) for each in (epoch - 1, epoch))
        return now / before * (rate - least) + least

    def _get_closed_form_lr(self) -> list[Any]:
        wave = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * wave for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """CosineAnnealingLR with restarts: after T_0 epochs, then each period is T_mult times longer than the previous one.

    Loshchilov and Hutter (2017). Raises ValueError unless T_0 is a positive integer and T_mult an integer >= 1.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.CosineAnnealingWarmRestarts(sgd, T_0=1)
    >>> sgd.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0, self.T_i, self.T_mult, self.eta_min, self.T_cur = T_0, T_0, T_mult, eta_min, last_epoch
        super().__init__(optimizer, last_epoch)

    def _next(self, rate: Any, first: Any) -> Any:
        return self.eta_min + (first - self.eta_min) * (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2

    def step(self, epoch: float | None = None) -> None:
        """Advance to the next epoch, or to `epoch`, which may be a fraction. Raises ValueError if it is negative."""
        if epoch is not None and epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur = self.T_cur + 1
            if self.T_cur >= self.T_i:
                self.T_cur -= self.T_i
                self.T_i *= self.T_mult
        elif epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch  # type: ignore[assignment]
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0  # type: ignore[assignment]
        else:
            n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
            self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
            self.T_i = self.T_0 * self.T_mult**n
        self._step_count += 1
        self.last_epoch = math.floor(epoch)
        self._set(self._rates())


class SequentialLR(LRScheduler):
    """Several schedules in sequence; the next schedule begins at each milestone.

    Raises ValueError unless there is one milestone fewer than schedules, and all schedules have the same optimizer.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> kinds = optim.lr_scheduler
    >>> schedules = [kinds.ConstantLR(sgd, factor=0.5, total_iters=9), kinds.ExponentialLR(sgd, gamma=0.5)]
    >>> schedule = kinds.SequentialLR(sgd, schedules, milestones=[2])
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[Any], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if len(schedulers) < 1:
            raise ValueError("SequentialLR expects at least one scheduler, but got no scheduler.")
        for k, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(
                    f"SequentialLR at index {k} should have `optimizer` as its attribute, got {type(scheduler)}."
                )
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    "SequentialLR does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to "
                    f"be specified when calling `step`, but got one at index {k} in the given schedulers sequence."
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"SequentialLR expects all schedulers to belong to the same optimizer, but got scheduler at index "
                    f"{k} of another optimizer."
                )
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = schedulers, milestones
        self.last_epoch, self.optimizer = last_epoch + 1, optimizer
        # undo the initial steps of all schedules, then repeat that of the first schedule
        for group in optimizer.param_groups:
            _set_rate(group, group["initial_lr"])
        for scheduler in schedulers:
            scheduler.last_epoch -= 1
        first = schedulers[0]
        first._is_initial = True
        first._step_count = 0
        first.step()
        first._is_initial = False
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Advance to the next epoch with the schedule for it."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            scheduler._is_initial = True
            scheduler.step(0)
            scheduler._is_initial = False
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        """The state with the states of all schedules, without the optimizer."""
        return _state_of_all(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state from state_dict()."""
        _load_all(self, state_dict)


class ChainedScheduler(LRScheduler):
    """Several schedules that all change the learning rates in each epoch, in sequence.

    Raises ValueError for an empty sequence, and for schedules of different optimizers.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> kinds = optim.lr_scheduler
    >>> schedule = kinds.ChainedScheduler([kinds.ExponentialLR(sgd, gamma=0.5), kinds.StepLR(sgd, 1)])
    >>> sgd.step()
    >>> schedule.step()
    >>> schedule.get_last_lr()
    [0.05]
    """

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or schedulers[0].optimizer
        for k, scheduler in enumerate(schedulers):
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"ChainedScheduler expects all schedulers to belong to the same optimizer, but got scheduler at "
                    f"index {k} of another optimizer."
                )
        self._schedulers, self.optimizer = schedulers, optimizer
        self._last_lr = [group["lr"] for group in optimizer.param_groups]

    def step(self) -> None:  # type: ignore[override]
        """Advance all schedules to the next epoch."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = [group["lr"] for group in self._schedulers[-1].optimizer.param_groups]

    def state_dict(self) -> dict[str, Any]:
        """The state with the states of all schedules, without the optimizer."""
        return _state_of_all(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state from state_dict()."""
        _load_all(self, state_dict)


def _state_of_all(schedule: Any) -> dict[str, Any]:
    state = {key: value for key, value in vars(schedule).items() if key not in ("optimizer", "_schedulers")}
    return state | {"_schedulers": [each.state_dict() for each in schedule._schedulers]}


def _load_all(schedule: Any, state_dict: dict[str, Any]) -> None:
    vars(schedule).update({key: value for key, value in state_dict.items() if key != "_schedulers"})
    for each, state in zip(schedule._schedulers, state_dict["_schedulers"], strict=True):
        each.load_state_dict(state)


class ReduceLROnPlateau(LRScheduler):
    """Multiply the learning rate by a factor after more than `patience` epochs without improvement: `step(measure)`.

    mode: "min" or "max". threshold: the smallest improvement. threshold_mode: "rel" for a threshold relative to the
    best value, or "abs". cooldown: the number of epochs after a reduction in which epochs are not counted. min_lr: the
    smallest learning rate. eps: the smallest change of the learning rate.

    Raises ValueError for a factor >= 1, and for other modes.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0)
    >>> schedule = optim.lr_scheduler.ReduceLROnPlateau(sgd, patience=0)
    >>> for loss in (3.0, 3.0):
    ...     schedule.step(loss)
    >>> schedule.get_last_lr()
    [0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        _check_optimizer(optimizer)
        self.factor, self.optimizer = factor, optimizer
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = _for_groups("min_lr", min_lr, optimizer)
        self.patience, self.cooldown, self.eps, self.last_epoch = patience, cooldown, eps, 0
        self._last_lr = [group["lr"] for group in optimizer.param_groups]
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode
        self._reset()

    def _reset(self) -> None:
        self.best, self.cooldown_counter, self.num_bad_epochs = self.mode_worse, 0, 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Compare the measure of an epoch with the best one, and set the learning rates."""
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best, self.num_bad_epochs = current, 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            for group, least in zip(self.optimizer.param_groups, self.min_lrs, strict=True):
                before = float(group["lr"])
                after = max(before * self.factor, least)
                if before - after > self.eps:
                    _set_rate(group, after)
            self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0
        self._last_lr = [group["lr"] for group in self.optimizer.param_groups]

    @property
    def in_cooldown(self) -> bool:
        """Whether fewer than `cooldown` epochs have passed since a reduction."""
        return self.cooldown_counter > 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether a measure improves on the best one by more than the threshold.

        >>> from adjoint import ones, optim
        >>> schedule = optim.lr_scheduler.ReduceLROnPlateau(optim.SGD([ones(2, requires_grad=True)]))
        >>> schedule.is_better(2.0, 3.0)
        True
        """
        sign = -1.0 if self.mode == "min" else 1.0
        if self.threshold_mode == "rel":
            limit = best * (1.0 + sign * self.threshold)
        else:
            limit = best + sign * self.threshold
        return a < limit if self.mode == "min" else a > limit


def _momentum_key(optimizer: Optimizer, error: str) -> bool:
    """True if the momentum of an optimizer is its first beta. Raises ValueError without a momentum."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(error)
    return "betas" in optimizer.defaults


def _set_momentum(group: dict[str, Any], momentum: float, use_beta1: bool) -> None:
    if use_beta1:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class CyclicLR(LRScheduler):
    """Change the learning rate up and down between base_lr and max_lr, batch by batch, and the momentum inversely.

    mode: "triangular", "triangular2" (each cycle has half the height of the previous one), or "exp_range" (the height
    is gamma to the power of the batch number). scale_fn replaces the mode: a function of the cycle or of the batch
    (scale_mode "cycle" or "iterations").

    Smith (2017), "Cyclical learning rates for training neural networks". Raises ValueError for other modes, and if the
    optimizer has no momentum to cycle.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> schedule = optim.lr_scheduler.CyclicLR(sgd, 0.1, 0.5, step_size_up=2)
    >>> sgd.step()
    >>> schedule.step()
    >>> round(schedule.get_last_lr()[0], 6)
    0.3
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(optimizer)
        base_lrs = _for_groups("base_lr", base_lr, optimizer)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs, strict=True):
                _set_rate(group, lr)
        self.max_lrs = _for_groups("max_lr", max_lr, optimizer)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            error = "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            self.use_beta1 = _momentum_key(optimizer, error)
            self.base_momentums = _for_groups("base_momentum", base_momentum, optimizer)
            self.max_momentums = _for_groups("max_momentum", max_momentum, optimizer)
            if last_epoch == -1:
                for group, most, least in zip(
                    optimizer.param_groups, self.max_momentums, self.base_momentums, strict=True
                ):
                    _set_momentum(group, most, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = most, least
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, or at a batch."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        return 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x

    def get_lr(self) -> list[Any]:
        """The learning rates of this batch. It also sets the momenta."""
        self._check_in_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        phase = 1.0 + self.last_epoch / self.total_size - cycle
        share = phase / self.step_ratio if phase <= self.step_ratio else (phase - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        rates = [base + (most - base) * share * scale for base, most in zip(self.base_lrs, self.max_lrs, strict=True)]
        if self.cycle_momentum:
            groups = self.optimizer.param_groups
            for group, most, least in zip(groups, self.max_momentums, self.base_momentums, strict=True):
                _set_momentum(group, most - (most - least) * share * scale, self.use_beta1)
        return rates

    def state_dict(self) -> dict[str, Any]:
        """The state, without the optimizer and the function scale_fn."""
        state = super().state_dict()
        custom = state.pop("_scale_fn_custom")
        attributes = None if custom is None or isinstance(custom, FunctionType) else dict(vars(custom))
        return state | {"_scale_fn_custom": attributes}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state from state_dict(); the function scale_fn does not change."""
        custom = state_dict.get("_scale_fn_custom")
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        if custom is not None:
            vars(self._scale_fn_custom).update(custom)


class OneCycleLR(LRScheduler):
    """One cycle over all batches: up to max_lr, then down far below the initial learning rate; the momentum inversely.

    total_steps, or epochs and steps_per_epoch: the number of batches. pct_start: the fraction of batches with an
    increasing rate. div_factor: max_lr divided by the initial rate. final_div_factor: the initial rate divided by the
    last one. three_phase: down to the initial rate in the time of the increase, then down to the last rate.

    Smith and Topin (2018), "Super-convergence". Raises ValueError for numbers of steps and fractions out of range, and
    if the optimizer has no momentum to cycle.

    >>> from adjoint import ones, optim
    >>> sgd = optim.SGD([ones(2, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> schedule = optim.lr_scheduler.OneCycleLR(sgd, max_lr=1.0, total_steps=10)
    >>> [round(rate, 6) for rate in schedule.get_last_lr()]
    [0.04]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(optimizer)
        self.total_steps = _number_of_steps(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        up = float(pct_start * self.total_steps) - 1
        bounds = [(up, "initial_lr", "max_lr", True)]
        if three_phase:
            bounds.append((float(2 * pct_start * self.total_steps) - 2, "max_lr", "initial_lr", False))
            bounds.append((self.total_steps - 1, "initial_lr", "min_lr", None))  # type: ignore[arg-type]
        else:
            bounds.append((self.total_steps - 1, "max_lr", "min_lr", False))
        momenta = {
            True: ("max_momentum", "base_momentum"),
            False: ("base_momentum", "max_momentum"),
            None: ("max_momentum",) * 2,
        }
        self._schedule_phases: list[dict[str, Any]] = [
            {
                "end_step": end,
                "start_lr": start_lr,
                "end_lr": end_lr,
                "start_momentum": momenta[rises][0],
                "end_momentum": momenta[rises][1],
            }
            for end, start_lr, end_lr, rises in bounds
        ]
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_func_type = anneal_strategy
        highest = _for_groups("max_lr", max_lr, optimizer)
        if last_epoch == -1:
            for group, most in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"], group["max_lr"] = most / div_factor, most
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            error = "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            self.use_beta1 = _momentum_key(optimizer, error)
            most_momenta = _for_groups("max_momentum", max_momentum, optimizer)
            least_momenta = _for_groups("base_momentum", base_momentum, optimizer)
            if last_epoch == -1:
                for group, most, least in zip(optimizer.param_groups, most_momenta, least_momenta, strict=True):
                    _set_momentum(group, most, self.use_beta1)
                    group["max_momentum"], group["base_momentum"] = most, least
        super().__init__(optimizer, last_epoch)

    def _anneal(self, start: float, end: float, share: float) -> float:
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (1 + math.cos(math.pi * share))
        return (end - start) * share + start

    def get_lr(self) -> list[Any]:
        """The learning rates of this batch. It also sets the momenta. Raises ValueError after the last batch."""
        self._check_in_step()
        batch = self.last_epoch
        if batch > self.total_steps:
            raise ValueError(f"Tried to step {batch} times. The specified number of total steps is {self.total_steps}")
        rates = []
        for group in self.optimizer.param_groups:
            start: float = 0
            for k, phase in enumerate(self._schedule_phases):
                end: Any = phase["end_step"]
                if batch <= end or k == len(self._schedule_phases) - 1:
                    share = (batch - start) / (end - start)
                    rates.append(self._anneal(group[phase["start_lr"]], group[phase["end_lr"]], share))
                    if self.cycle_momentum:
                        ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                        _set_momentum(group, self._anneal(*ends, share), self.use_beta1)
                    break
                start = end
        return rates


def _number_of_steps(total_steps: int | None, epochs: int | None, steps_per_epoch: int | None) -> int:
    if total_steps is not None:
        numbers: dict[str, Any] = {"total_steps": total_steps}
    elif epochs is not None and steps_per_epoch is not None:
        numbers = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
    else:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, number in numbers.items():
        if not isinstance(number, int) or number <= 0:
            raise ValueError(f"Expected positive integer {name}, but got {number}")
    return math.prod(numbers.values())
