"""Methods of Tensor as functions."""

import pickle
import re

import numpy
import pytest

import adjoint


def raises(kind, text):
    return pytest.raises(kind, match=re.escape(text))


def test_methods_in_place_as_functions():
    x = adjoint.tensor([0.0, 2.0])
    assert adjoint.clamp_(input=x, max=1) is x and x.tolist() == [0, 1]
    assert adjoint.detach(x).tolist() == [0, 1] and adjoint.zero_(x).tolist() == [0, 0]
    assert pickle.loads(pickle.dumps(adjoint.sin_)) is adjoint.sin_
    with raises(TypeError, "sin_(): argument 'input' (position 1) must be Tensor, not float"):
        adjoint.sin_(3.0)


def test_they_are_recorded():
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    adjoint.exp_(y).sum().backward()
    assert numpy.allclose(x.grad, numpy.exp([1, 2]))
