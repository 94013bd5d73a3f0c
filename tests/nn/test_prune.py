"""Pruned parameters: masks, further methods, removal, training."""

from __future__ import annotations

import pytest

import adjoint
from adjoint import nn
from adjoint.nn.utils import prune


def layer(*rows: list[float]) -> nn.Linear:
    model = nn.Linear(len(rows[0]), len(rows))
    model.weight.data = adjoint.tensor(rows)
    return model


def test_a_pruned_parameter_is_trained_at_the_places_that_are_left() -> None:
    model = prune.l1_unstructured(layer([3.0, -1.0, 2.0]), "weight", amount=1)
    assert [name for name, _ in model.named_parameters()] == ["bias", "weight_orig"]
    assert list(model.state_dict()) == ["bias", "weight_orig", "weight_mask"]
    assert model.weight_mask.tolist() == [[1, 0, 1]]
    sgd = adjoint.optim.SGD(model.parameters(), lr=1.0)
    model(adjoint.ones(1, 3)).sum().backward()
    sgd.step()
    model(adjoint.ones(1, 3))
    assert model.weight_orig.tolist() == [[2, -1, 1]]
    assert model.weight.tolist() == [[2, 0, 1]]
    assert prune.is_pruned(nn.Sequential(model))
    prune.remove(model, "weight")
    assert isinstance(model.weight, nn.Parameter)
    assert model.weight.tolist() == [[2, 0, 1]]
    assert not prune.is_pruned(model)
    with pytest.raises(ValueError, match=r"Parameter 'weight' of module .* has to be pruned before pruning can be"):
        prune.remove(model, "weight")


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (("l1", 2), ("l1", 1), [[0, 0, 0], [1, 1, 1]]),
        (("l1", 2), ("ln", 1, 2, 0), [[0, 0, 0], [1, 1, 1]]),
        (("ln", 1, 2, 0), ("ln", 1, 2, 1), [[0, 0, 0], [0, 1, 1]]),
        (("ln", 1, 2, 0), ("custom", [[1, 1, 1], [1, 0, 1]]), [[0, 0, 0], [1, 0, 1]]),
    ],
)
def test_further_methods_prune_what_is_left(first: tuple, second: tuple, expected: list) -> None:
    model = layer([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    functions = {
        "l1": lambda n: prune.l1_unstructured(model, "weight", n),
        "ln": lambda n, order, dim: prune.ln_structured(model, "weight", n, order, dim),
        "custom": lambda mask: prune.custom_from_mask(model, "weight", adjoint.tensor(mask)),
    }
    for name, *options in (first, second):
        functions[name](*options)
    assert model.weight_mask.tolist() == expected
    assert len(model._forward_pre_hooks) == 1
    assert adjoint.equal(model.weight, model.weight_orig * model.weight_mask)


def test_random_methods_prune_as_many_as_asked() -> None:
    model = nn.Conv2d(2, 4, 3)
    prune.random_unstructured(model, "weight", 0.25)
    assert model.weight_mask.sum() == 54
    other = prune.random_structured(nn.Conv2d(2, 4, 3), "weight", 0.5, dim=0)
    assert other.weight_mask.sum((1, 2, 3)).sort().values.tolist() == [0, 0, 18, 18]


def test_global_pruning_compares_all_parameters() -> None:
    a, b = layer([1.0, 5.0]), layer([2.0, 6.0])
    pairs = [(a, "weight"), (b, "weight")]
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=2)
    assert [a.weight_mask.tolist(), b.weight_mask.tolist()] == [[[0, 1]], [[0, 1]]]
    scores = {(a, "weight"): adjoint.tensor([[0.0, 1.0]])}
    prune.global_unstructured(pairs, prune.L1Unstructured, importance_scores=scores, amount=1)
    assert [a.weight_mask.tolist(), b.weight_mask.tolist()] == [[[0, 0]], [[0, 1]]]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: prune.l1_unstructured(m, "weight", 1.5), ValueError, r"either be a float in the range \[0, 1\]"),
        (lambda m: prune.l1_unstructured(m, "weight", 9), ValueError, "amount=9 should be smaller than the number of"),
        (lambda m: prune.l1_unstructured(m, "weight", "a"), TypeError, "Invalid type for amount: a. Must be int or"),
        (lambda m: prune.ln_structured(m, "weight", 1, 2, 5), IndexError, "Invalid index 5 for tensor of size"),
        (lambda m: prune.ln_structured(m, "bias", 1, 2, 0), ValueError, "only be applied to multidimensional tensors"),
        (lambda m: prune.l1_unstructured(m, "other", 1), AttributeError, "'Linear' object has no attribute 'other'"),
        (lambda m: prune.global_unstructured(3, prune.L1Unstructured), TypeError, "parameters is not an Iterable"),
        (
            lambda m: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=2),
            TypeError,
            'Only "unstructured" PRUNING_TYPE supported',
        ),
    ],
)  # fmt: skip
def test_wrong_arguments(call: object, error: type[Exception], message: str) -> None:
    model = nn.Linear(2, 2)
    with pytest.raises(error, match=message):
        call(model)  # type: ignore[operator]
    assert not prune.is_pruned(model)
    assert [name for name, _ in model.named_parameters()] == ["weight", "bias"]
