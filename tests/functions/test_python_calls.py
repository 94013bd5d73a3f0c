"""Python functions that are called for each element."""

import re

import pytest

import adjoint


def raises(kind, text):
    return pytest.raises(kind, match=re.escape(text))


def test_functions_of_elements():
    x = adjoint.arange(3.0)
    before = x._version
    assert x.apply_(lambda v: v * 2 + 1) is x and x.tolist() == [1, 3, 5] and x._version == before + 1
    assert x.map_(adjoint.ones(1), lambda a, b: a + b).tolist() == [2, 4, 6]
    assert x[:].map2_(adjoint.ones(3), adjoint.tensor(2.0), lambda a, b, c: a + b * c).tolist() == [4, 6, 8]


def test_functions_of_elements_refuse():
    x = adjoint.arange(3.0)
    tracked = adjoint.ones(3, requires_grad=True)
    with raises(RuntimeError, "Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead."):
        tracked.apply_(float)
    with raises(RuntimeError, "Can't call map_() on Variable that requires grad."):
        x.map_(tracked, max)
    with raises(TypeError, "map_(): expected tensors of dtype adjoint.float32, but got one of dtype adjoint.int64"):
        x.map_(adjoint.arange(3), max)
    with pytest.raises(ZeroDivisionError):
        x.apply_(lambda v: 1 / (1 - v))
    assert x.tolist() == [0, 1, 2], "a function that raises leaves the tensor as it was"
