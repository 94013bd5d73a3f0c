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


def test_differentiable_arrays_keep_their_history():
    def function(x):
        return (x[1:] * x[:-1]).sum()

    compiled, start = adjoint.compile(function), numpy.linspace(1, 2, 5)
    expected = adjoint.grad(function)(start)
    for _ in range(3):
        assert numpy.array_equal(adjoint.grad(compiled)(start), expected)
        found = adjoint.optimize.minimize(compiled, start, method="BFGS", options={"maxiter": 2})
    assert found.fun == adjoint.optimize.minimize(function, start, method="BFGS", options={"maxiter": 2}).fun


def test_profilers_see_regions():
    weight = adjoint.rand(3, 5, requires_grad=True)

    @adjoint.compile
    def function(x):
        return ((x @ weight).tanh() * 2).sum()

    x = adjoint.rand(4, 3)
    expected = function(x).item()
    with adjoint.profiler.profile() as profile:
        result = function(x)
        result.backward()
    names = [event.name for event in profile.events()]
    assert result.item() == expected
    assert "region of (4, 5): tanh, multiply, add.reduce" in names
    assert names.count("matmul") == 2
    assert "ReplayBackward" in names


def test_results_without_a_cotangent_have_no_part_in_the_pass():
    def function(x):
        return x.sqrt(), x * 2, x**0.25, x.exp()

    compiled = adjoint.compile(function)
    for n in (2, 3, 4):
        for function_too in (function, compiled, compiled):
            x = adjoint.zeros(3, requires_grad=True)
            results = function_too(x)[:n]
            gradient = adjoint.autograd.grad([results[1].sum(), *[y.sum() for y in results[3:]]], x)[0]
            assert gradient.tolist() == [2.0 + (n == 4)] * 3


def test_equal_results_have_memory_of_their_own():
    compiled = adjoint.compile(lambda x: (x.sin(), x.sin(), x.sin().clone()))
    for _ in range(3):
        first, *others = compiled(adjoint.ones(3))
        first.zero_()
        assert all(other.tolist() == adjoint.ones(3).sin().tolist() for other in others)


def test_copies_of_compiled_functions():
    import copy
    import pickle

    compiled = adjoint.compile(numpy.sin)
    assert compiled(numpy.array([1.0])) == numpy.sin(1.0)
    for other in (copy.deepcopy(compiled), copy.copy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert other.n_recordings == 0
        assert other(numpy.array([1.0])) == numpy.sin(1.0)
