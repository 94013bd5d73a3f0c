"""Normalisations that return their statistics."""

import re

import numpy
import pytest

import adjoint


def raises(kind, text):
    return pytest.raises(kind, match=re.escape(text))


def close(actual, expected):
    return numpy.allclose(actual.detach(), expected, rtol=1e-6, atol=1e-6)


def test_native_layer_norm():
    x = adjoint.arange(6.0, requires_grad=True).reshape(2, 3).sin()
    output, mean, scale = adjoint.native_layer_norm(x, (3,), None, None, 1e-5)
    array = x.detach().numpy()
    assert close(mean, array.mean(1, keepdims=True)) and close(scale, (array.var(1, keepdims=True) + 1e-5) ** -0.5)
    assert close(output, (array - array.mean(1, keepdims=True)) * scale.numpy()) and output.requires_grad


def test_native_group_norm():
    x = adjoint.arange(24.0, requires_grad=True).reshape(2, 4, 3).sin()
    output, mean, scale = adjoint.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)
    groups = x.detach().numpy().reshape(2, 2, 6)
    assert close(mean, groups.mean(2)) and close(scale, (groups.var(2) + 1e-5) ** -0.5)
    assert close(output.reshape(2, 2, 6), (groups - mean.numpy()[..., None]) * scale.numpy()[..., None])
    with raises(RuntimeError, "Expected input to have N * C * HxW = 16 elements, but got 24"):
        adjoint.native_group_norm(x, None, None, 2, 4, 2, 2, 1e-5)


def test_native_batch_norm():
    x = adjoint.arange(24.0, requires_grad=True).reshape(2, 4, 3).sin()
    output, mean, scale = adjoint.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    array = x.detach().numpy()
    assert close(mean, array.mean((0, 2))) and close(scale, (array.var((0, 2)) + 1e-5) ** -0.5)
    assert close(output, (array - mean.numpy()[:, None]) * scale.numpy()[:, None])
    evaluated = adjoint.native_batch_norm(x, None, None, adjoint.zeros(4), adjoint.ones(4), False, 0.1, 0.0)
    assert close(evaluated[0], array) and evaluated[1].shape == evaluated[2].shape == (0,)


def test_native_dropout():
    adjoint.manual_seed(0)
    x = adjoint.ones(1000, requires_grad=True)
    output, mask = adjoint.native_dropout(x, 0.25, True)
    assert 700 < mask.sum() < 800 and numpy.allclose(output.detach(), mask.numpy() / 0.75)
    output.sum().backward()
    assert numpy.array_equal(x.grad, output.detach())
    for arguments, share in [((0.25, False), 1), ((0.0, True), 1), ((1.0, True), 0)]:
        output, mask = adjoint.native_dropout(x, *arguments)
        assert output.mean() == share and mask.dtype is adjoint.bool and mask.all() == bool(share)
    with raises(ValueError, "dropout probability has to be between 0 and 1, but got 1.5"):
        adjoint.native_dropout(x, 1.5, True)


def test_native_batch_norm_without_elements() -> None:
    for shape in ((0, 3), (2, 0), (2, 3, 0)):
        x = adjoint.zeros(*shape)
        channels = (adjoint.zeros(shape[1]), adjoint.ones(shape[1]))
        with pytest.raises(RuntimeError, match=re.escape(f"at least one element, but got input_sizes = {[*shape]}")):
            adjoint.native_batch_norm(x, None, None, *channels, True, 0.1, 1e-5)
        result = adjoint.native_batch_norm(x, None, None, *channels, False, 0.1, 1e-5)
        assert [tuple(each.shape) for each in result] == [shape, (0,), (0,)]
        assert [each.tolist() for each in channels] == [[0] * shape[1], [1] * shape[1]]
