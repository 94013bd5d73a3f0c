"""Adjoint matrices, filled diagonals, norms except one axis."""

import re

import numpy
import pytest

import adjoint


def raises(kind, text):
    return pytest.raises(kind, match=re.escape(text))


def test_adjoint():
    x = adjoint.tensor([[1, 2j]])
    assert x.adjoint().tolist() == adjoint.adjoint(x).tolist() == [[1], [-2j]]
    with raises(RuntimeError, "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."):
        adjoint.ones(2).adjoint()


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (7, 3), (9, 2), (3, 3, 3), (0, 2)])
@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(shape, wrap):
    expected = numpy.zeros(shape)
    if 0 not in shape:
        numpy.fill_diagonal(expected, 4, wrap)
    assert numpy.array_equal(adjoint.zeros(shape).fill_diagonal_(4, wrap), expected)


def test_fill_diagonal_cuts_the_gradient_there():
    x = adjoint.ones(2, 2, requires_grad=True)
    (x * 1).fill_diagonal_(3).sum().backward()
    assert x.grad.tolist() == [[0, 1], [1, 0]]
    with raises(RuntimeError, "dimensions must larger than 1"):
        adjoint.ones(2).fill_diagonal_(1)
    with raises(RuntimeError, "all dimensions of input must be of equal length"):
        adjoint.ones(2, 2, 3).fill_diagonal_(1)


def test_dim_order():
    assert adjoint.zeros(2, 3, 4).permute(2, 0, 1).dim_order() == (1, 2, 0)
    assert adjoint.zeros(2, 3).dim_order(ambiguity_check=True) == (0, 1)
    with raises(RuntimeError, "The tensor does not have unique dim order"):
        adjoint.zeros(2, 1).dim_order(ambiguity_check=True)


def test_norm_except_dim():
    x = adjoint.arange(24.0, dtype=adjoint.float64).reshape(2, 3, 4).requires_grad_()
    expected = numpy.sqrt((x.detach().numpy() ** 2).sum((0, 2), keepdims=True))
    assert numpy.allclose(adjoint.norm_except_dim(x, 2, 1).detach(), expected)
    assert adjoint.norm_except_dim(x, 1, -1).item() == 276
    assert adjoint.autograd.gradcheck(lambda v: adjoint.norm_except_dim(v, 2, 0), (x,))
    assert adjoint.norm_except_dim(adjoint.tensor([3.0, -4.0])).tolist() == [3.0, 4.0]
    assert adjoint.norm_except_dim(x, 1, -2).shape == (1, 3, 1)
    with raises(IndexError, "expected to be in range of [-1, 0], but got 1"):
        adjoint.norm_except_dim(adjoint.ones(2), 2, 1)
    with raises(IndexError, "expected to be in range of [-3, 2], but got 3"):
        adjoint.norm_except_dim(x, 2, 3)
    with raises(IndexError, "Dimension specified as 0 but tensor has no dimensions"):
        adjoint.norm_except_dim(adjoint.tensor(2.0))
