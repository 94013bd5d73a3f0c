"""Subclasses made from data, and parameters."""

import copy
import pickle
import re

import pytest

import adjoint
from adjoint import Tensor


def raises(kind, text):
    return pytest.raises(kind, match=re.escape(text))


class Weight(Tensor):
    @staticmethod
    def __new__(cls, data):
        return Tensor._make_subclass(cls, data, True)

    def __init__(self, data):
        self.data = data


def test_subclasses_made_of_data():
    weight = Weight(adjoint.ones(2))
    assert type(weight) is Weight and weight.requires_grad and weight.is_leaf and not weight._is_view()
    (2 * weight).sum().backward()
    assert weight.grad.tolist() == [2, 2]


def test_as_subclass_keeps_the_history():
    x = adjoint.ones(2, requires_grad=True)
    y = (2 * x).as_subclass(Weight)
    assert type(y) is Weight and not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    with raises(TypeError, "Creating a Tensor subclass from a class that does not inherit from Tensor"):
        x.as_subclass(int)


def test_parameter_of_a_subclass_is_of_that_class():
    data = adjoint.ones(2).as_subclass(Weight)
    weight = adjoint.nn.Parameter(data)
    assert type(weight) is Weight and isinstance(weight, adjoint.nn.Parameter) and weight.requires_grad
    assert not isinstance(data, adjoint.nn.Parameter) and not isinstance(weight * 2, adjoint.nn.Parameter)
    assert not adjoint.nn.Parameter(data, requires_grad=False).requires_grad
    model = adjoint.nn.Module()
    model.weight = weight
    for owner in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert [(name, type(each)) for name, each in owner.named_parameters()] == [("weight", Weight)]
    (model.weight * 3).sum().backward()
    adjoint.optim.SGD(model.parameters(), lr=1.0).step()
    assert data.tolist() == [-2, -2]
    with raises(RuntimeError, "requires that detach() returns an instance of the same type"):
        adjoint.nn.Parameter(Plain(adjoint.nn.Parameter(adjoint.ones(1))))


class Plain(adjoint.nn.Parameter):
    """Operations on it, also detach, return plain tensors."""


def test_parameter():
    data = adjoint.ones(2)
    weight = adjoint.nn.Parameter(data)
    weight.data[0] = 5
    assert data.tolist() == [5, 1] and weight.is_leaf and weight.requires_grad and not weight._is_view()
    assert repr(weight) == "Parameter containing:\ntensor([5., 1.], requires_grad=True)"
    assert type(weight + 1) is Tensor and type(copy.deepcopy(weight)) is adjoint.nn.Parameter
    assert not adjoint.nn.Parameter(data, requires_grad=False).requires_grad and adjoint.nn.Parameter().shape == (0,)
    of_result = adjoint.nn.Parameter(2 * weight)
    assert of_result.is_leaf and of_result.grad_fn is None
