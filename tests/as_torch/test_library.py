"""torch.library.custom_op: functions of programs as operations with derivatives; torch.ops."""

import numpy as np
import pytest

import adjoint
from adjoint.as_torch import _library as library
from adjoint.as_torch._library import custom_op, ops


@pytest.fixture(autouse=True)
def no_operations(monkeypatch):
    monkeypatch.setattr(library, "_operations", {})


def scale(x: adjoint.Tensor, factor: float = 2.0) -> adjoint.Tensor:
    """x times a factor, by NumPy."""
    return adjoint.from_numpy(np.asarray(x.numpy() * factor))


def save_factor(ctx, inputs, output):
    ctx.factor = inputs[1]


def scaled_gradient(ctx, gradient):
    return gradient * ctx.factor, None


def vector():
    return adjoint.tensor([1.0, 2.0], dtype=adjoint.float64, requires_grad=True)


def test_an_operation_is_a_function_and_a_member_of_ops():
    operation = custom_op("mine::scale", scale, mutates_args=())
    x = adjoint.ones(2)
    for call in (operation, ops.mine.scale, ops.mine.scale.default):
        assert call(x).tolist() == [2.0, 2.0] and call(x, factor=3.0).tolist() == [3.0, 3.0]
    assert repr(operation) == "<CustomOpDef(mine::scale)>" and operation.__doc__ == scale.__doc__


@pytest.mark.parametrize("by_name", [False, True])
def test_gradients_of_both_modes_and_orders(by_name):
    operation = custom_op("mine::scale", mutates_args=())(scale)
    library.register_autograd("mine::scale" if by_name else operation, scaled_gradient, setup_context=save_factor)
    x = vector()
    y = operation(x, factor=3.0)
    assert y.grad_fn.name() == "GeneratedBackwardFor_mine_scale_defaultBackward"
    (gradient,) = adjoint.autograd.grad((y**3).sum(), x, create_graph=True)
    assert gradient.tolist() == [81.0, 324.0]
    assert adjoint.autograd.grad(gradient.sum(), x)[0].tolist() == [162.0, 324.0]
    assert adjoint.func.grad(lambda v: operation(v, 4.0).sum())(x.detach()).tolist() == [4.0, 4.0]
    assert not operation(x.detach()).requires_grad


def test_keyword_only_arguments_and_several_results():
    @custom_op("mine::parts", mutates_args=())
    def parts(x: adjoint.Tensor, *, at: int) -> tuple[adjoint.Tensor, adjoint.Tensor]:
        return x[:at].clone(), x[at:].clone()

    def save(ctx, inputs, keyword_only_inputs, output):
        assert len(inputs) == 1 and keyword_only_inputs == {"at": 1}

    parts.register_autograd(lambda ctx, a, b: adjoint.cat([a, b]), setup_context=save)
    x = vector()
    first, second = parts(x, at=1)
    assert adjoint.autograd.grad(first.sum() + 5 * second.sum(), x)[0].tolist() == [1.0, 5.0]


def test_batches():
    operation = custom_op("mine::scale", scale, mutates_args=())
    operation.register_vmap(lambda info, in_dims, x, factor: (operation(x, factor), in_dims[0]))
    x = adjoint.arange(6.0).reshape(2, 3)
    assert adjoint.equal(adjoint.vmap(operation, 1, 1)(x), 2 * x)


def test_arguments_that_are_modified():
    @custom_op("mine::increase", mutates_args={"x"})
    def increase(x: adjoint.Tensor) -> None:
        x.add_(1)

    x = vector() * 1
    version = x._version
    increase(x)
    assert x.tolist() == [2.0, 3.0] and x._version > version
    with pytest.raises(RuntimeError, match="Cannot register autograd formula for non-functional operator"):
        increase.register_autograd(scaled_gradient)


def test_kernels_and_functions_of_shapes():
    operation = custom_op("mine::scale", scale, mutates_args=())

    @library.register_fake("mine::scale")
    def of_shapes(x, factor=2.0):
        return adjoint.empty_like(x)

    @operation.register_kernel("cuda")
    def elsewhere(x, factor=2.0):
        raise AssertionError

    assert operation(adjoint.ones(1)).tolist() == [2.0]
    library.register_kernel(operation, ["cpu"], lambda x, factor=2.0: x * factor + 1)
    assert operation(adjoint.ones(1)).tolist() == [3.0]


def identity(x):
    return x


ERRORS = {
    "no gradient": (
        lambda: custom_op("a::b", scale, mutates_args=())(vector()).sum().backward(),
        RuntimeError,
        "Trying to backward through a.b.default but no autograd formula was registered",
    ),
    "memory of the argument": (
        lambda: custom_op("a::same", lambda x: x.view(-1), mutates_args=(), schema="(Tensor x) -> Tensor")(vector()),
        RuntimeError,
        "must not also be an input to this custom operator",
    ),
    "no annotation": (
        lambda: custom_op("a::c", identity, mutates_args=()),
        ValueError,
        r"infer_schema\(func\): Parameter x must have a type annotation. Got func with signature \(x\)",
    ),
    "no namespace": (lambda: custom_op("c", scale, mutates_args=()), ValueError, "must have a namespace"),
    "no argument": (
        lambda: custom_op("a::d", scale, mutates_args=())(),
        RuntimeError,
        r"a::d\(\) missing a required argument: 'x'",
    ),
    "no operation": (lambda: ops.a.fermata, AttributeError, "'_OpNamespace' 'a' object has no attribute 'fermata'"),
    "torch's operation": (lambda: ops.aten.add, AttributeError, "torch.ops is left out of adjoint on purpose"),
    "register of a function": (lambda: library.register_fake(len, len), ValueError, "an operation of custom_op"),
    "older interface": (lambda: library.Library("a", "DEF"), NotImplementedError, "torch.library.Library is left out"),
    "other name": (lambda: library.fermata, AttributeError, "module 'torch.library' has no attribute 'fermata'"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    call, error, text = ERRORS[name]
    with pytest.raises(error, match=text):
        call()
