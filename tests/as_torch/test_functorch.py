"""functorch, the older name of torch.func, and modules as functions of their parameters."""

import pytest

import adjoint
from adjoint import nn
from adjoint.as_torch import _functorch as functorch
from support.as_torch import run


def network():
    adjoint.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))


X = adjoint.arange(12.0).reshape(4, 3).sin()


def test_functorch_and_the_configuration_can_be_imported():
    run("""
        import functorch, torch
        from functorch import vmap, grad, make_functional
        assert vmap is torch.func.vmap and grad(lambda x: (x * x).sum())(torch.ones(2)).tolist() == [2, 2]
        assert "USE_MKL=OFF" not in torch.__config__.show() and "numpy" in torch.__config__.show()
        assert str(torch.get_num_threads()) in torch.__config__.parallel_info()
        adjoint.as_torch.uninstall()
        import sys
        assert "functorch" not in sys.modules
    """)


def test_a_module_is_a_function_of_its_parameters():
    module = nn.Linear(3, 2)
    call, parameters = functorch.make_functional(module)
    assert adjoint.equal(call(parameters, X), module(X))
    doubled = tuple(2 * each for each in parameters)
    assert adjoint.allclose(call(doubled, X), 2 * module(X))
    gradient = adjoint.func.grad(lambda values: call(values, X).sum())(parameters)
    assert adjoint.allclose(gradient[0], X.sum(0).expand(2, 3)) and gradient[1].tolist() == [4.0, 4.0]
    # the parameters are copies
    assert parameters[0] is not module.weight and all(each.requires_grad for each in parameters)
    _, constants = functorch.make_functional(module, disable_autograd_tracking=True)
    assert not any(each.requires_grad for each in constants)


def test_buffers_are_arguments():
    module = network()
    call, parameters, buffers = functorch.make_functional_with_buffers(module)
    before = module[1].running_mean.clone()
    assert adjoint.allclose(call(parameters, buffers, X), network()(X))
    assert adjoint.equal(module[1].running_mean, before)
    assert not adjoint.equal(buffers[0], before)


def test_an_ensemble_runs_by_vmap():
    models = [nn.Linear(3, 2) for _ in range(3)]
    call, parameters, buffers = functorch.combine_state_for_ensemble(models)
    results = functorch.vmap(call, (0, 0, None))(parameters, buffers, X)
    assert adjoint.allclose(results, adjoint.stack([model(X) for model in models]))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: functorch.make_functional(network()), "`model` has buffers"),
        (lambda: functorch.combine_state_for_ensemble([]), "Expected at least one model, got 0"),
        (lambda: functorch.combine_state_for_ensemble([network(), nn.Linear(1, 1)]), "to be of the same class"),
        (lambda: functorch.combine_state_for_ensemble([network(), network().eval()]), "same training/eval mode"),
    ],
    ids=["buffers", "none", "classes", "modes"],
)
def test_errors(call, text):
    with pytest.raises(RuntimeError, match=text):
        call()
