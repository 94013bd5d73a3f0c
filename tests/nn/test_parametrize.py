"""Parameters that are functions of other tensors."""

from __future__ import annotations

import copy
import pickle

import pytest

import adjoint
from adjoint import nn
from support import stand_in_cupy

parametrize, parametrizations = nn.utils.parametrize, nn.utils.parametrizations


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).transpose(-1, -2)

    def right_inverse(self, value):
        return value.triu()


class Exponential(nn.Module):
    def forward(self, x):
        return x.exp()


def test_a_tensor_is_computed_and_can_be_set():
    model = nn.Linear(3, 3)
    optimizer = adjoint.optim.SGD(model.parameters(), lr=0.1)
    assert parametrize.register_parametrization(model, "weight", Symmetric()) is model
    assert type(model).__name__ == "ParametrizedLinear" and isinstance(model, nn.Linear)
    assert list(model.state_dict()) == ["bias", "parametrizations.weight.original"]
    assert bool((model.weight == model.weight.T).all())
    value = adjoint.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]])
    model.weight = value
    assert bool((model.weight == value).all())
    model(adjoint.ones(3)).sum().backward()
    optimizer.step()
    assert bool((model.weight == model.weight.T).all()) and not bool((model.weight == value).all())
    assert parametrize.is_parametrized(model) and not parametrize.is_parametrized(model, "bias")
    assert parametrize.type_before_parametrizations(model) is nn.Linear


def test_several_functions_and_the_way_back():
    model = nn.Linear(2, 2)
    parametrize.register_parametrization(model, "weight", Symmetric())
    parametrize.register_parametrization(model, "weight", Exponential())
    original = model.parametrizations.weight.original
    assert bool((model.weight == Symmetric()(original).exp()).all())
    with pytest.raises(RuntimeError, match="parametrization Exponential does not implement right_inverse"):
        model.weight = adjoint.ones(2, 2)
    value = model.weight.detach().clone()
    parametrize.remove_parametrizations(model, "weight")
    assert type(model) is nn.Linear and bool((model.weight == value).all()) and "parametrizations" not in dir(model)
    parametrize.register_parametrization(model, "weight", Symmetric())
    before = model.parametrizations.weight.original.detach().clone()
    parametrize.remove_parametrizations(model, "weight", leave_parametrized=False)
    assert bool((model.weight == before).all())


def test_one_computation_in_a_block():
    model = parametrizations.weight_norm(nn.Linear(2, 3))
    assert model.weight is not model.weight
    with parametrize.cached():
        assert model.weight is model.weight
    assert not parametrize._cache


def test_copies_have_classes_of_their_own():
    model = parametrizations.weight_norm(nn.Linear(2, 3))
    other = copy.deepcopy(model)
    parametrize.remove_parametrizations(other, "weight")
    assert parametrize.is_parametrized(model, "weight") and bool(adjoint.allclose(model.weight, other.weight))
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(model)
    third = parametrize.transfer_parametrizations_and_params(model, nn.Linear(2, 3))
    assert bool(adjoint.allclose(third.weight, model.weight))


def test_buffers_stay_buffers():
    model = nn.BatchNorm1d(2)
    parametrize.register_parametrization(model, "running_mean", Exponential())
    assert model.running_mean.tolist() == [1, 1]
    parametrize.remove_parametrizations(model, "running_mean")
    assert "running_mean" in model._buffers


class Changing(nn.Module):
    def __init__(self, function, inverse=None):
        super().__init__()
        self.function = function
        if inverse is not None:
            self.right_inverse = inverse

    def forward(self, *parts):
        return self.function(*parts)


ONE = adjoint.ones(2, 2)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (ONE.double(), "The tensor returned by `right_inverse` has dtype adjoint.float64 while `original` has dtype"),
        (3, "`right_inverse` should return a tensor. Got int"),
    ],
)
def test_values_that_are_not_set(returned, message):
    values = [ONE]
    register, module = parametrize.register_parametrization, nn.Linear(2, 2)
    register(module, "weight", Changing(lambda x: x, lambda _: values[-1]), unsafe=True)
    values.append(returned)
    with pytest.raises(ValueError, match=message):
        module.weight = ONE
    assert module.weight.tolist() == ONE.tolist()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (ONE, "must return a sequence of tensors. Got Tensor."),
        ((ONE,), "of length 2. Got a sequence of length 1."),
        ((ONE * 2, 3), "Got element 1 of type int."),
        ((ONE * 2, ONE.double()), "Tensor 1 returned by `right_inverse` has dtype adjoint.float64 while `original1`"),
    ],
)
def test_sequences_that_are_not_set(returned, message):
    values = [(ONE, ONE)]
    register, module = parametrize.register_parametrization, nn.Linear(2, 2)
    register(module, "weight", Changing(lambda x, y: x + y, lambda _: values[-1]))
    values.append(returned)
    with pytest.raises(ValueError, match=message):
        module.weight = ONE
    assert module.weight.tolist() == [[2, 2], [2, 2]]  # the value is unchanged


def test_a_second_parametrization_leaves_the_originals():
    module = nn.Linear(2, 2)
    module.weight.data = adjoint.ones(2, 2)
    for inverse in (None, lambda x: x / 2, lambda x: x / 2, None):
        parametrize.register_parametrization(module, "weight", Changing(lambda x: x * 2, inverse))
    originals = module.parametrizations.weight
    assert originals.original.tolist() == [[1, 1], [1, 1]] and module.weight.tolist() == [[16, 16], [16, 16]]


@pytest.mark.parametrize(
    ("inverse", "message"),
    [
        (lambda x: x[:1], "parametrization.right_inverse must have the same shape as module.weight"),
        (lambda x: x.double(), "parametrization.right_inverse must have the same dtype as module.weight"),
        (lambda x: (x, x), "parametrization.right_inverse must return a tensor. Got: tuple"),
    ],
)
def test_the_inverse_of_a_second_parametrization_is_checked(inverse, message):
    register, module = parametrize.register_parametrization, nn.Linear(2, 2)
    register(module, "weight", Symmetric())
    with pytest.raises(ValueError, match=message):
        register(module, "weight", Changing(lambda x: x, inverse))
    register(module, "weight", Changing(lambda x: x, inverse), unsafe=True)
    assert len(module.parametrizations.weight) == 2


def test_bad_parametrizations():
    register = parametrize.register_parametrization
    with pytest.raises(
        ValueError, match="does not have a parameter, a buffer, or a parametrized element with name 'x'"
    ):
        register(nn.Linear(2, 2), "x", Symmetric())
    for function, message in (
        (lambda x: x.sum(), "may not change the shape of the tensor"),
        (lambda x: x.double(), "may not change the dtype of the tensor"),
        (lambda x: 3, "A parametrization must return a tensor. Got int."),
    ):
        with pytest.raises(ValueError, match=message):
            register(nn.Linear(2, 2), "weight", Changing(function))
        with pytest.raises(ValueError, match=message):
            register(register(nn.Linear(2, 2), "weight", Symmetric()), "weight", Changing(function))
    with pytest.raises(ValueError, match="it may not change the dtype"):
        register(nn.Linear(2, 2), "weight", Changing(lambda x: x, lambda x: x.double()))
    with pytest.raises(ValueError, match="must return a Tensor or a Sequence of tensors"):
        register(nn.Linear(2, 2), "weight", Changing(lambda x: x, lambda x: 3))
    with pytest.raises(ValueError, match="Got element 1 of the sequence with type int"):
        register(nn.Linear(2, 2), "weight", Changing(lambda x: x, lambda x: (x, 3)))
    with pytest.raises(ValueError, match="does not have a parametrization on weight"):
        parametrize.remove_parametrizations(nn.Linear(2, 2), "weight")
    with pytest.raises(ValueError, match="Cannot leave unparametrized"):
        parametrize.remove_parametrizations(
            parametrizations.weight_norm(nn.Linear(2, 3)), "weight", leave_parametrized=False
        )
    with pytest.raises(ValueError, match="requires one or more modules"):
        parametrize.ParametrizationList([], adjoint.ones(2))


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    model = nn.Linear(3, 2)
    weight = model.weight.detach().clone()
    parametrizations.weight_norm(model, dim=dim)
    assert bool(adjoint.allclose(model.weight, weight))
    shapes = {0: (2, 1), 1: (1, 3), None: ()}
    assert model.parametrizations.weight.original0.shape == shapes[dim]
    with adjoint.no_grad():
        model.parametrizations.weight.original1.mul_(5.0)
    assert bool(adjoint.allclose(model.weight, weight))


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize("use_trivialization", [False, True])
def test_orthogonal(kind, shape, use_trivialization):
    adjoint.manual_seed(0)
    model = nn.Linear(shape[1], shape[0])
    parametrizations.orthogonal(model, orthogonal_map=kind, use_trivialization=use_trivialization)
    few = min(shape)

    def product():
        weight = model.weight
        return weight @ weight.T if shape[0] <= shape[1] else weight.T @ weight

    assert bool(adjoint.allclose(product(), adjoint.eye(few), atol=1e-5))
    (product()[0, 0] + model.weight.sum()).backward()
    adjoint.optim.SGD(model.parameters(), lr=0.1).step()
    if kind != "householder":
        assert bool(adjoint.allclose(product(), adjoint.eye(few), atol=1e-5))
    if use_trivialization:
        value = adjoint.linalg.qr(adjoint.randn(max(shape), few))[0]
        value = value if shape[0] > shape[1] else value.T
        model.weight = value
        assert bool(adjoint.allclose(model.weight, value, atol=1e-5))
        with pytest.raises(ValueError, match="Expected a matrix or batch of matrices of shape"):
            model.weight = adjoint.ones(7, 7)
    elif kind != "householder":
        with pytest.raises(NotImplementedError, match="not possible to assign"):
            model.weight = adjoint.eye(*shape)


@pytest.mark.parametrize("kind", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (3, 5)])
@pytest.mark.parametrize("use_trivialization", [False, True])
def test_orthogonal_on_a_device(kind, shape, use_trivialization):
    with stand_in_cupy.install():
        model = nn.Linear(shape[1], shape[0]).cuda()
        parametrizations.orthogonal(model, orthogonal_map=kind, use_trivialization=use_trivialization)
        assert all(tensor.is_cuda for tensor in (model.weight, *model.parameters(), *model.buffers()))


def test_spectral_norm():
    adjoint.manual_seed(0)
    model = parametrizations.spectral_norm(nn.Linear(3, 4), n_power_iterations=30)
    assert adjoint.linalg.matrix_norm(model.weight, 2).item() == pytest.approx(1, abs=1e-3)
    state = model.eval().state_dict()
    assert [state[f"parametrizations.weight.0.{name}"].shape for name in ("_u", "_v")] == [(4,), (3,)]
    first = state["parametrizations.weight.0._u"].clone()
    assert bool((model.weight == model.weight).all()) and bool((state["parametrizations.weight.0._u"] == first).all())
    image = parametrizations.spectral_norm(nn.ConvTranspose2d(2, 3, 2))
    assert image.parametrizations.weight[0]._u.shape == (3,)
    bias = parametrizations.spectral_norm(nn.Linear(2, 3), "bias")
    assert bias.bias.norm().item() == pytest.approx(1, abs=1e-5)


def test_bad_arguments():
    with pytest.raises(ValueError, match=r'one of "matrix_exp", "cayley", "householder"\. Got: x'):
        parametrizations.orthogonal(nn.Linear(2, 3), orthogonal_map="x")
    with pytest.raises(ValueError, match="Got a tensor of 1 dimensions"):
        parametrizations.orthogonal(nn.Linear(2, 3), "bias")
    with pytest.raises(ValueError, match="has no parameter or buffer with name 'x'"):
        parametrizations.orthogonal(nn.Linear(2, 3), "x")
    with pytest.raises(ValueError, match="to be positive, but got n_power_iterations=0"):
        parametrizations.spectral_norm(nn.Linear(2, 3), n_power_iterations=0)
    with pytest.raises(IndexError, match="Dimension out of range"):
        parametrizations.spectral_norm(nn.Linear(2, 3), dim=4)
    model = nn.Module()
    model.weight = nn.Parameter(adjoint.ones(2, 2, dtype=adjoint.complex64))
    with pytest.raises(ValueError, match="does not support complex"):
        parametrizations.orthogonal(model, orthogonal_map="householder")


def test_older_forms():
    utils = nn.utils
    model = nn.Linear(3, 2)
    weight = model.weight.detach().clone()
    with pytest.warns(FutureWarning, match="deprecated in favor of `adjoint.nn.utils.parametrizations.weight_norm`"):
        utils.weight_norm(model)
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'other'"), pytest.warns(FutureWarning):
        utils.weight_norm(model, "other")
    assert sorted(model.state_dict()) == ["bias", "weight_g", "weight_v"]
    assert bool(adjoint.allclose(model(adjoint.eye(3)) - model.bias, weight.T, atol=1e-6))
    with pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks"), pytest.warns(FutureWarning):
        utils.weight_norm(model)
    utils.remove_weight_norm(model)
    assert bool(adjoint.allclose(model.weight, weight)) and isinstance(model.weight, nn.Parameter)
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found in Linear"):
        utils.remove_weight_norm(model)
    utils.spectral_norm(model, n_power_iterations=20)
    assert sorted(model.state_dict()) == ["bias", "weight_orig", "weight_u", "weight_v"]
    with pytest.raises(RuntimeError, match="Cannot register two spectral_norm hooks on the same parameter weight"):
        utils.spectral_norm(model)
    model(adjoint.ones(1, 3)).sum().backward()
    assert model.weight_orig.grad is not None
    assert adjoint.linalg.matrix_norm(model.weight, 2).item() == pytest.approx(1, abs=1e-3)
    utils.remove_spectral_norm(model)
    assert [name for name, _ in model.named_parameters()] == ["bias", "weight"]
    with pytest.warns(FutureWarning, match="Please use `adjoint.func.functional_call` instead"):
        result = utils.stateless.functional_call(model, {"bias": adjoint.zeros(2)}, args=adjoint.zeros(3))
    assert result.tolist() == [0, 0]
