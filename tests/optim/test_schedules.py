"""Schedules of learning rates against their closed forms; averages of parameters."""

from __future__ import annotations

import math

import pytest

import adjoint
from adjoint import nn, optim

kinds = optim.lr_scheduler


def sgd(lr=1.0, **options):
    return optim.SGD([nn.Parameter(adjoint.ones(2))], lr=lr, momentum=0.9, **options)


def rates(schedule, optimizer, n=12):
    values = []
    for _ in range(n):
        values.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return values


def cosine(epoch, length):
    return (1 + math.cos(math.pi * epoch / length)) / 2


#: The schedule, and the learning rate of each epoch.
CASES = {
    "StepLR": (lambda o: kinds.StepLR(o, 3, 0.5), lambda e: 0.5 ** (e // 3)),
    "MultiStepLR": (lambda o: kinds.MultiStepLR(o, [2, 5, 5]), lambda e: 0.1 ** ((e >= 2) + 2 * (e >= 5))),
    "ConstantLR": (lambda o: kinds.ConstantLR(o, 0.5, 4), lambda e: 0.5 if e < 4 else 1),
    "LinearLR": (lambda o: kinds.LinearLR(o, 0.2, 0.8, 6), lambda e: 0.2 + 0.6 * min(e, 6) / 6),
    "ExponentialLR": (lambda o: kinds.ExponentialLR(o, 0.9), lambda e: 0.9**e),
    "PolynomialLR": (lambda o: kinds.PolynomialLR(o, 6, 2.0), lambda e: (1 - min(e, 6) / 6) ** 2),
    "CosineAnnealingLR": (lambda o: kinds.CosineAnnealingLR(o, 4, 0.1), lambda e: 0.1 + 0.9 * cosine(e, 4)),
    "CosineAnnealingWarmRestarts": (
        lambda o: kinds.CosineAnnealingWarmRestarts(o, 3, 2),
        lambda e: cosine(e, 3) if e < 3 else cosine(e - 3, 6) if e < 9 else cosine(e - 9, 12),
    ),
    "LambdaLR": (lambda o: kinds.LambdaLR(o, lambda e: 1 / (1 + e)), lambda e: 1 / (1 + e)),
    "MultiplicativeLR": (lambda o: kinds.MultiplicativeLR(o, lambda e: 0.9), lambda e: 0.9**e),
    "CyclicLR": (
        lambda o: kinds.CyclicLR(o, 0.1, 0.5, 2, 4, cycle_momentum=False),
        lambda e: 0.1 + 0.4 * ((e % 6) / 2 if e % 6 < 2 else (6 - e % 6) / 4),
    ),
    "OneCycleLR": (
        lambda o: kinds.OneCycleLR(o, 1.0, 12, pct_start=0.5, anneal_strategy="linear", cycle_momentum=False),
        lambda e: 0.04 + 0.96 * e / 5 if e < 5 else 1 + (4e-6 - 1) * (e - 5) / 6,
    ),
    "SequentialLR": (
        lambda o: kinds.SequentialLR(o, [kinds.ConstantLR(o, 0.5, 9), kinds.ExponentialLR(o, 0.9)], [3]),
        lambda e: 0.5 if e < 3 else 0.9 ** (e - 3),
    ),
    "ChainedScheduler": (
        lambda o: kinds.ChainedScheduler([kinds.ExponentialLR(o, 0.9), kinds.ConstantLR(o, 0.5, 4)]),
        lambda e: 0.9**e * (0.5 if e < 4 else 1),
    ),
    "SWALR": (
        lambda o: optim.swa_utils.SWALR(o, 0.2, 5, "linear"),
        lambda e: 1 - 0.8 * min(e, 5) / 5,
    ),
}


@pytest.mark.parametrize(("make", "form"), CASES.values(), ids=CASES)
def test_rates(make, form):
    optimizer = sgd()
    schedule = make(optimizer)
    assert rates(schedule, optimizer) == pytest.approx([form(e) for e in range(12)], abs=1e-12)
    assert schedule.get_last_lr() == [optimizer.param_groups[0]["lr"]]


@pytest.mark.parametrize(("make", "form"), CASES.values(), ids=CASES)
def test_states_go_on_where_they_ended(make, form):
    first, second = sgd(), sgd()
    schedule, other = make(first), make(second)
    rates(schedule, first, 5)
    other.load_state_dict(schedule.state_dict())
    second.load_state_dict(first.state_dict())
    assert rates(other, second, 4) == pytest.approx(rates(schedule, first, 4))


@pytest.mark.parametrize("name", ["StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR"])
def test_an_epoch_may_be_named(name):
    make, form = CASES[name]
    optimizer = sgd()
    schedule = make(optimizer)
    optimizer.step()
    with pytest.warns(UserWarning, match=r"The epoch parameter in `scheduler.step\(\)` was not necessary"):
        schedule.step(7)
    assert schedule.get_last_lr() == pytest.approx([form(7)])


@pytest.mark.parametrize("name", sorted(CASES.keys() - {"ChainedScheduler", "SequentialLR"}))
def test_rates_are_asked_for_within_steps(name):
    make, _ = CASES[name]
    schedule = make(sgd())
    with pytest.warns(UserWarning, match="To get the last learning rate computed by the scheduler, please use"):
        schedule.get_lr()


def test_a_schedule_of_the_user_knows_when_a_step_asks():
    class Own(kinds.LRScheduler):
        def get_lr(self):
            calls.append(self._get_lr_called_within_step)
            return [1.0]

    calls = []
    optimizer = sgd()
    schedule = Own(optimizer)
    optimizer.step()
    schedule.step()
    schedule.get_lr()
    assert calls == [True, True, False]


def test_factors_are_functions():
    with pytest.raises(TypeError, match="lr_lambda should be a function, but got int"):
        kinds.MultiplicativeLR(sgd(), 3)


def test_rates_that_are_tensors_and_groups_of_their_own():
    optimizer = optim.SGD([{"params": [nn.Parameter(adjoint.ones(1))], "lr": 0.5}], lr=adjoint.tensor(1.0))
    optimizer.add_param_group({"params": [nn.Parameter(adjoint.ones(1))]})
    schedule = kinds.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    schedule.step()
    assert [float(rate) for rate in schedule.get_last_lr()] == [0.25, 0.5]


def test_momentum_goes_the_other_way():
    optimizer = optim.Adam([nn.Parameter(adjoint.ones(1))])
    schedule = kinds.CyclicLR(optimizer, 0.1, 0.5, 2, base_momentum=0.8, max_momentum=0.9)
    values = []
    for _ in range(3):
        values.append(optimizer.param_groups[0]["betas"][0])
        optimizer.step()
        schedule.step()
    assert values == pytest.approx([0.9, 0.85, 0.8])


def test_plateaus():
    optimizer = sgd()
    schedule = kinds.ReduceLROnPlateau(optimizer, patience=1, cooldown=1, factor=0.5, min_lr=0.2)
    values = []
    for measure in (5, 4, 4, 4, 4, 4, 4, 4, 4, 4):
        schedule.step(measure)
        values.append(optimizer.param_groups[0]["lr"])
    assert values == [1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2]
    best = kinds.ReduceLROnPlateau(sgd(), mode="max", threshold=0.5, threshold_mode="abs")
    assert best.is_better(3.6, 3.0) and not best.is_better(3.4, 3.0)


def test_a_schedule_before_the_optimizer_warns():
    schedule = kinds.StepLR(sgd(), 2)
    with pytest.warns(UserWarning, match=r"`lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        schedule.step()


ADAGRAD = lambda: optim.Adagrad([nn.Parameter(adjoint.ones(1))])
NO_MOMENTUM = "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
WRONG = {
    "Factor should be < 1.0.": lambda: kinds.ReduceLROnPlateau(sgd(), factor=2),
    "mode x is unknown!": lambda: kinds.ReduceLROnPlateau(sgd(), mode="x"),
    "threshold mode x is unknown!": lambda: kinds.ReduceLROnPlateau(sgd(), threshold_mode="x"),
    "You must define either total_steps OR (epochs AND steps_per_epoch)": lambda: kinds.OneCycleLR(sgd(), 1.0),
    "Expected positive integer total_steps, but got -1": lambda: kinds.OneCycleLR(sgd(), 1.0, total_steps=-1),
    "Expected float between 0 and 1 pct_start, but got 2": lambda: kinds.OneCycleLR(sgd(), 1.0, 9, pct_start=2),
    "anneal_strategy must be one of 'cos' or 'linear', instead got x": lambda: kinds.OneCycleLR(
        sgd(), 1.0, 9, anneal_strategy="x"
    ),
    "max_lr must have the same length as optimizer.param_groups. max_lr has 2 values, param_groups has 1.": (
        lambda: kinds.OneCycleLR(sgd(), [1.0, 2.0], 9)
    ),
    "Expected 1 lr_lambdas, but got 2": lambda: kinds.LambdaLR(sgd(), [abs, abs]),
    "Constant multiplicative factor expected to be between 0 and 1.": lambda: kinds.ConstantLR(sgd(), 2),
    "Starting multiplicative factor expected to be greater than 0 and less or equal to 1.": lambda: kinds.LinearLR(
        sgd(), 2
    ),
    "Ending multiplicative factor expected to be between 0 and 1.": lambda: kinds.LinearLR(sgd(), end_factor=2),
    "Expected positive integer T_0, but got 0": lambda: kinds.CosineAnnealingWarmRestarts(sgd(), 0),
    "Expected integer T_mult >= 1, but got 0": lambda: kinds.CosineAnnealingWarmRestarts(sgd(), 1, 0),
    "Expected non-negative epoch, but got -1": lambda: kinds.CosineAnnealingWarmRestarts(sgd(), 1).step(-1),
    "mode is invalid and scale_fn is None": lambda: kinds.CyclicLR(sgd(), 0.1, 0.2, mode="x"),
    NO_MOMENTUM: lambda: kinds.CyclicLR(ADAGRAD(), 0.1, 0.2),
    "SequentialLR expects at least one scheduler, but got no scheduler.": lambda: kinds.SequentialLR(sgd(), [], []),
    "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.": (
        lambda: kinds.ChainedScheduler([])
    ),
    "anneal_epochs must be equal or greater than 0, got -1": lambda: optim.swa_utils.SWALR(sgd(), 0.1, -1),
    "Invalid decay value 3 provided. Please provide a value in [0,1] range.": lambda: optim.swa_utils.get_ema_avg_fn(3),
}


@pytest.mark.parametrize("message", WRONG)
def test_bad_arguments(message):
    with pytest.raises(ValueError) as caught:
        WRONG[message]()
    assert str(caught.value) == message


def test_other_bad_arguments():
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        kinds.StepLR(3, 2)
    with pytest.raises(KeyError, match="initial_lr"):
        kinds.StepLR(sgd(), 2, last_epoch=3)
    with pytest.raises(NotImplementedError):
        kinds.LRScheduler(sgd())
    one, two = sgd(), sgd()
    parts = [kinds.StepLR(one, 2), kinds.StepLR(two, 2)]
    with pytest.raises(ValueError, match="of another optimizer"):
        kinds.SequentialLR(one, parts, [1])
    with pytest.raises(ValueError, match="of another optimizer"):
        kinds.ChainedScheduler(parts)
    with pytest.raises(ValueError, match="one more than the number of milestone points"):
        kinds.SequentialLR(one, parts[:1], [1])
    with pytest.raises(ValueError, match="does not support `ReduceLROnPlateau`"):
        kinds.SequentialLR(one, [kinds.ReduceLROnPlateau(one)], [])
    with pytest.raises(TypeError, match="should have `optimizer` as its attribute"):
        kinds.SequentialLR(one, [3], [])
    schedule = kinds.OneCycleLR(one, 1.0, 2)
    one.step()
    schedule.step()
    schedule.step()
    with pytest.raises(ValueError, match="Tried to step 3 times"):
        schedule.step()


@pytest.mark.parametrize("use_buffers", [False, True])
def test_means_of_parameters(use_buffers):
    model = nn.Sequential(nn.Linear(1, 2), nn.BatchNorm1d(2))
    averaged = optim.swa_utils.AveragedModel(model, use_buffers=use_buffers)
    for value in (1.0, 2.0, 6.0):
        with adjoint.no_grad():
            model[0].weight.fill_(value)
            model[1].running_mean.fill_(value)
        averaged.update_parameters(model)
    assert averaged.module[0].weight.flatten().tolist() == [3.0, 3.0]
    assert averaged.module[1].running_mean.tolist() == ([3.0, 3.0] if use_buffers else [6.0, 6.0])
    x = adjoint.randn(6, 1)
    optim.swa_utils.update_bn([x, (x,)], averaged)
    expected = averaged.module[0](x).mean(0)
    assert (averaged.module[1].running_mean - expected).abs().max() < 1e-5
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        optim.swa_utils.AveragedModel(model, avg_fn=abs, multi_avg_fn=abs)
