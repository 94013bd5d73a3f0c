"""adjoint.compile: a replay gives what the function gives."""

import numpy
import pytest

import adjoint


def test_gradients_of_a_replay_are_those_of_the_function():
    weight = adjoint.randn(4, 3, dtype=adjoint.float64, requires_grad=True)

    def function(x):
        return (x @ weight).tanh().sum(1)

    compiled = adjoint.compile(function)
    x = adjoint.randn(5, 4, dtype=adjoint.float64, requires_grad=True)
    expected = function(x)
    gradients = adjoint.autograd.grad(expected.sum(), [x, weight])
    for _ in range(3):
        result = compiled(x)
        assert (result == expected).all()
        pairs = zip(adjoint.autograd.grad(result.sum(), [x, weight]), gradients, strict=True)
        assert all((own == other).all() for own, other in pairs)
    assert compiled.n_recordings == 1 and not compiled.refused


def test_step_of_training_writes_to_parameters():
    def train(step_of):
        weight, target = adjoint.ones(3, requires_grad=True), adjoint.zeros(3)

        def step(target):
            loss = ((weight - target) ** 2).sum()
            loss.backward()
            with adjoint.no_grad():
                weight.sub_(0.1 * weight.grad)
            weight.grad = None
            return loss.detach()

        step = step_of(step)
        return [step(target) for _ in range(5)], weight

    (losses, weight), (expected, other) = train(adjoint.compile), train(lambda step: step)
    assert losses == expected and (weight == other).all() and weight._version == other._version


def test_branches_are_recorded_one_by_one():
    compiled = adjoint.compile(lambda x: x * 2 if x.sum() > 0 else x * 3)
    for value, factor in ((1.0, 2), (-1.0, 3), (2.0, 2), (-2.0, 3)):
        assert compiled(adjoint.tensor([value])) == value * factor
    assert compiled.n_recordings == 2


def test_functions_of_arrays_give_arrays():
    compiled = adjoint.compile(adjoint.grad(lambda v: numpy.sum(numpy.tanh(v) * v)))
    v = numpy.linspace(-1, 1, 5)
    for _ in range(3):
        result = compiled(v)
        assert type(result) is numpy.ndarray
        numpy.testing.assert_allclose(result, numpy.tanh(v) + v / numpy.cosh(v) ** 2, rtol=1e-14)


def test_what_cannot_be_recorded_is_said_once():
    compiled = adjoint.compile(lambda x: x * float(numpy.asarray(x.numpy()).sum()))
    with pytest.warns(UserWarning, match="runs as it is, without a recording: it made a plain NumPy array of a value"):
        assert compiled(adjoint.ones(2))[0] == 2
    assert compiled(adjoint.ones(2) * 2)[0] == 8
    with pytest.raises(adjoint.compiler.Unsupported, match="made a plain NumPy array of a value, in <lambda>"):
        adjoint.compile(lambda x: x * float(x.numpy().sum()), fullgraph=True)(adjoint.ones(2))
