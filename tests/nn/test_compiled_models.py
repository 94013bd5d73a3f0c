"""Models that adjoint.compile records and replays stay modules."""

from __future__ import annotations

import copy
import pickle

import pytest

import adjoint
from adjoint import nn, optim
from adjoint.testing import assert_close


def plain_and_compiled(in_place=False):
    """Two equal models with a batch norm. One of them is compiled."""
    adjoint.manual_seed(3)
    plain = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1))
    other = copy.deepcopy(plain)
    if in_place:
        other.compile(mode="default")
        return plain, other
    return plain, adjoint.compile(other, backend="inductor")


@pytest.mark.parametrize("in_place", [False, True])
def test_a_compiled_model_trains_like_the_model(in_place):
    inputs, losses = adjoint.randn(6, 2), []
    for model in plain_and_compiled(in_place):
        optimizer, records = optim.SGD(model.parameters(), lr=0.1, momentum=0.9), []
        for step in range(6):
            model.train(step % 3 < 2)
            optimizer.zero_grad()
            loss = model(inputs).square().mean()
            loss.backward()
            optimizer.step()
            records.append(loss.detach())
        losses.append(adjoint.stack(records))
    assert_close(losses[0], losses[1])


def test_a_compiled_model_is_a_module_around_the_model():
    plain, model = plain_and_compiled()
    inner = model._orig_mod
    assert isinstance(model, nn.Module) and list(model.children()) == [inner] and adjoint.compile(model) is model
    assert [name for name, _ in model.named_parameters()] == [
        f"_orig_mod.{name}" for name, _ in plain.named_parameters()
    ]
    assert model.load_state_dict({f"_orig_mod.{key}": value for key, value in plain.state_dict().items()})
    assert not model.eval().training and not inner.training
    inner.train()
    assert model.training
    model.note = 3
    assert inner.note == model.note == 3 and "note" in dir(model)
    del model.note
    with pytest.raises(AttributeError, match="'Sequential' object has no attribute 'note'"):
        assert model.note
    assert model.double() is model and inner[0].weight.dtype is adjoint.float64
    model(adjoint.ones(3, 2, dtype=adjoint.float64))
    assert model.n_recordings == 1


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("in_place", [False, True])
def test_copies_of_compiled_models_are_models_of_their_own(in_place, duplicate):
    _, model = plain_and_compiled(in_place)
    inputs = adjoint.ones(3, 2)
    model.eval()
    before = model(inputs)
    other = duplicate(model)
    with adjoint.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    assert not other(inputs).any()
    assert_close(model(inputs), before)
    assert [name for name, _ in other.named_parameters()] == [name for name, _ in model.named_parameters()]


def test_a_compiled_step_with_a_compiled_model_is_recorded_once():
    _, model = plain_and_compiled()
    model.eval()
    step = adjoint.compile(lambda inputs: model(inputs).sum())
    for inputs in (adjoint.ones(3, 2), adjoint.ones(3, 2), adjoint.zeros(3, 2)):
        assert_close(step(inputs), model._orig_mod(inputs).sum())
        model(adjoint.ones(len(inputs) + 1, 2))
    assert step.n_recordings == 1


def test_hooks_of_a_compiled_model_run_at_each_call():
    _, model = plain_and_compiled()
    records = []
    model.register_forward_hook(lambda module, inputs, output: records.append(module))
    for _ in range(3):
        model(adjoint.ones(3, 2))
    assert records == [model] * 3
