"""Module: members, state dicts, hooks, conversions, copies."""

from __future__ import annotations

import copy
import pickle
from functools import partial

import pytest

import adjoint
from adjoint import nn, testing
from adjoint.nn.modules.module import parse_to


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        self.scale = nn.Parameter(adjoint.ones(3))
        self.register_buffer("shift", adjoint.zeros(3))
        self.register_buffer("scratch", adjoint.zeros(1), persistent=False)

    def forward(self, x):
        return self.inner(x) * self.scale + self.shift


KEYS = [
    "scale", "shift", "inner.0.weight", "inner.0.bias", "inner.1.weight", "inner.1.bias", "inner.1.running_mean",
    "inner.1.running_var", "inner.1.num_batches_tracked",
]  # fmt: skip


def message_of(error, call):
    with pytest.raises(error) as caught:
        call()
    return caught.value.args[0]


# members -------------------------------------------------------------------------------------------------------------


def test_names_of_members():
    model = Scaled()
    assert list(model.state_dict()) == KEYS
    assert [name for name, _ in model.named_parameters(prefix="a")] == [
        "a.scale", "a.inner.0.weight", "a.inner.0.bias", "a.inner.1.weight", "a.inner.1.bias",
    ]  # fmt: skip
    assert [name for name, _ in model.named_parameters(recurse=False)] == ["scale"]
    assert [name for name, _ in model.named_modules()] == ["", "inner", "inner.0", "inner.1"]
    assert [name for name, _ in model.named_buffers()][:2] == ["shift", "scratch"]
    assert {"scale", "inner", "shift"} <= set(dir(model))


def test_shared_members_come_once_unless_asked_for():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    assert [name for name, _ in model.named_parameters()] == ["0.weight", "0.bias", "1.bias"]
    assert len(list(model.named_parameters(remove_duplicate=False))) == 4
    assert len(model.state_dict()) == 4
    twice = nn.Sequential(model[0], model[0])
    assert len(list(twice.modules())) == 2 and len(list(twice.named_modules(remove_duplicate=False))) == 3


def test_attributes_change_their_kind():
    model = nn.Module()
    model.part = adjoint.ones(2)
    model.part = nn.Parameter(adjoint.ones(2))
    assert list(model._parameters) == ["part"] and "part" not in vars(model)
    del model.part
    model.part = nn.ReLU()
    assert list(model._modules) == ["part"]
    model.part = None
    assert model.part is None and list(model.children()) == []
    model.mean = nn.Buffer(adjoint.ones(2), persistent=False)
    assert isinstance(model.mean, nn.Buffer) and not isinstance(adjoint.ones(2), nn.Buffer)
    assert list(model.state_dict()) == [] and [name for name, _ in model.named_buffers()] == ["mean"]


def late(assign):
    """The error of a class that assigns before it calls the constructor of Module."""
    early = type("Early", (nn.Module,), {"__init__": assign})
    return message_of(AttributeError, early)


def test_what_may_not_be_registered():
    model = nn.Linear(2, 3)
    x = adjoint.ones(2)
    assert message_of(AttributeError, lambda: model.foo) == "'Linear' object has no attribute 'foo'"
    assert message_of(AttributeError, lambda: delattr(model, "foo")) == "'Linear' object has no attribute 'foo'"
    assert "cannot assign 'adjoint.FloatTensor' as parameter 'weight'" in message_of(
        TypeError, lambda: setattr(model, "weight", x)
    )
    assert "as child module '0'" in message_of(TypeError, lambda: setattr(nn.Sequential(model), "0", x))
    assert "as buffer 'running_mean'" in message_of(TypeError, lambda: setattr(nn.BatchNorm1d(2), "running_mean", 3))
    for register, kind in ((model.register_parameter, "parameter"), (model.register_buffer, "buffer")):
        assert message_of(KeyError, partial(register, "a.b", None)) == f'{kind} name can\'t contain "."'
        assert message_of(KeyError, partial(register, "", None)) == f'{kind} name can\'t be empty string ""'
        assert message_of(TypeError, partial(register, 1, None)) == f"{kind} name should be a string. Got int"
        assert message_of(KeyError, partial(register, "in_features", None)) == "attribute 'in_features' already exists"
    assert "object to parameter 'x'" in message_of(TypeError, lambda: model.register_parameter("x", x))
    assert "object to buffer 'x'" in message_of(TypeError, lambda: model.register_buffer("x", 3))
    assert message_of(TypeError, lambda: model.add_module("x", 3)) == "int is not a Module subclass"
    assert message_of(KeyError, lambda: model.add_module("a.b", model)) == 'module name can\'t contain ".", got: a.b'
    result = nn.Parameter(x).clone()
    result.__class__ = nn.Parameter
    assert "Cannot assign non-leaf Tensor to parameter 'x'" in message_of(
        ValueError, lambda: model.register_parameter("x", result)
    )


def test_nothing_is_registered_before_the_constructor():
    assert late(lambda self: setattr(self, "x", nn.ReLU())) == "cannot assign module before Module.__init__() call"
    assert late(lambda self: setattr(self, "x", nn.Parameter())).startswith("cannot assign parameters before")
    assert late(lambda self: self.register_buffer("x", None)).startswith("cannot assign buffer before")
    assert late(lambda self: self.register_parameter("x", None)).startswith("cannot assign parameter before")
    assert (
        message_of(TypeError, lambda: nn.Module(3)) == "Module.__init__() takes 1 positional argument but 2 were given"
    )
    assert "unexpected keyword argument 'a'" in message_of(TypeError, lambda: nn.Module(a=3))
    assert "missing the required" in message_of(NotImplementedError, lambda: nn.Module()(3))


def test_members_by_dotted_names():
    model = Scaled()
    assert model.get_submodule("inner.0") is model.inner[0] and model.get_submodule("") is model
    assert model.get_parameter("inner.0.weight") is model.inner[0].weight
    assert model.get_buffer("inner.1.running_mean") is model.inner[1].running_mean
    assert message_of(AttributeError, lambda: model.get_submodule("q")) == "Scaled has no attribute `q`"
    assert message_of(AttributeError, lambda: model.get_submodule("scale")) == "`scale` is not an nn.Module"
    assert message_of(AttributeError, lambda: model.get_parameter("shift")) == "`shift` is not an nn.Parameter"
    assert message_of(AttributeError, lambda: model.get_parameter("q")) == "Scaled has no attribute `q`"
    assert message_of(AttributeError, lambda: model.get_buffer("scale")) == "`scale` is not a buffer"
    model.set_submodule("inner.0", nn.Linear(2, 3, bias=False))
    assert model.inner[0].bias is None
    assert message_of(ValueError, lambda: model.set_submodule("", nn.ReLU())).startswith("Cannot set the submodule")
    assert "found <class 'int'>" in message_of(ValueError, lambda: model.set_submodule("inner", 3))
    assert "no attribute `q`" in message_of(AttributeError, lambda: model.set_submodule("q", nn.ReLU(), strict=True))
    assert "is not an nn.Module" in message_of(AttributeError, lambda: model.set_submodule("scale", nn.ReLU()))


# state dicts ---------------------------------------------------------------------------------------------------------


def test_state_moves_to_another_module():
    first, second = Scaled(), Scaled()
    first(adjoint.randn(5, 2))
    assert repr(second.load_state_dict(first.state_dict())) == "<All keys matched successfully>"
    for name, value in first.state_dict().items():
        assert bool((second.state_dict()[name] == value).all()), name
    assert first.state_dict()._metadata["inner.1"] == {"version": 2}
    tensors = first.state_dict(keep_vars=True)
    assert tensors["scale"] is first.scale and not first.state_dict()["scale"].requires_grad
    assert next(iter(first.inner.state_dict(prefix="p."))) == "p.0.weight"


def test_wrong_state_is_told_at_once():
    model = nn.Linear(2, 3)
    state = {"weight": adjoint.ones(2), "bias": 3, "other": adjoint.ones(1)}
    with pytest.raises(RuntimeError) as caught:
        model.load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Linear:\n"
        '\tUnexpected key(s) in state_dict: "other". \n'
        "\tsize mismatch for weight: copying a param with shape adjoint.Size([2]) from checkpoint, the shape in "
        "current model is adjoint.Size([3, 2]).\n"
        '\tWhile copying the parameter named "bias", expected adjoint.Tensor or Tensor-like object from checkpoint but '
        "received <class 'int'>"
    )
    missing = message_of(RuntimeError, lambda: nn.Sequential(model).load_state_dict({}))
    assert missing.endswith('Missing key(s) in state_dict: "0.weight", "0.bias". ')
    outcome = model.load_state_dict({"other": 1}, strict=False)
    assert outcome.missing_keys == ["weight", "bias"] and outcome.unexpected_keys == ["other"]
    assert message_of(TypeError, lambda: model.load_state_dict([])) == (
        "Expected state_dict to be dict-like, got <class 'list'>."
    )


def test_values_are_copied_or_assigned():
    model, state = nn.Linear(2, 3), nn.Linear(2, 3).state_dict()
    weight = model.weight
    model.load_state_dict(state)
    assert model.weight is weight and weight.data_ptr() != state["weight"].data_ptr()
    model.load_state_dict(state, assign=True)
    assert model.weight is not weight and model.weight.data_ptr() == state["weight"].data_ptr()
    assert isinstance(model.weight, nn.Parameter) and model.weight.requires_grad


class Counted(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.count = count

    def get_extra_state(self):
        return {"count": self.count}

    def set_extra_state(self, state):
        self.count = state["count"]


def test_extra_state():
    model = Counted(1)
    model.load_state_dict(Counted(5).state_dict())
    assert model.count == 5
    assert "_extra_state" in message_of(RuntimeError, lambda: model.load_state_dict({}))
    assert "_extra_state" in message_of(RuntimeError, lambda: nn.ReLU().load_state_dict({"_extra_state": 1}))
    assert "defines get_extra_state()" in message_of(RuntimeError, nn.ReLU().get_extra_state)
    assert "defines set_extra_state()" in message_of(RuntimeError, lambda: nn.ReLU().set_extra_state(1))


def test_hooks_of_state_dicts():
    model, calls = nn.Sequential(nn.Linear(1, 1)), []
    model.register_state_dict_pre_hook(lambda module, prefix, keep: calls.append(("before", prefix)))
    model.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update(more=1))
    model[0]._register_state_dict_hook(lambda module, state, prefix, metadata: calls.append(prefix))
    model.register_load_state_dict_pre_hook(lambda module, state, *rest: state.pop("more"))
    model.register_load_state_dict_post_hook(lambda module, keys: calls.append(keys.missing_keys))
    state = model.state_dict()
    assert state["more"] == 1
    model.load_state_dict(state)
    assert calls == [("before", ""), "0.", []]
    model.register_load_state_dict_post_hook(lambda module, keys: 1)
    assert "not expected to return" in message_of(RuntimeError, lambda: model.load_state_dict(state))

    def public(module, state, prefix, metadata):
        return 1

    other = nn.ReLU()
    other.register_state_dict_post_hook(public)
    assert message_of(RuntimeError, other.state_dict) == "state_dict post-hook must return None"
    assert "Cannot register the same function" in message_of(
        RuntimeError, lambda: other._register_state_dict_hook(public)
    )


# conversions ---------------------------------------------------------------------------------------------------------


def test_memory_formats_are_those_of_tensors_with_channels():
    model = nn.Sequential(nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3), nn.Linear(2, 2))
    weight, before = model[0].weight, model[0].weight.tolist()
    assert model.to(memory_format=adjoint.channels_last) is model and model[0].weight is weight
    assert weight.is_contiguous(memory_format=adjoint.channels_last) and not weight.is_contiguous()
    assert weight.tolist() == before and model[2].weight.is_contiguous()
    assert model.to(adjoint.float64, memory_format=adjoint.contiguous_format)[0].weight.is_contiguous()


def test_arguments_that_conversions_do_not_take():
    model = nn.Linear(2, 2)
    assert model.to("cpu", non_blocking=True) is model
    assert message_of(RuntimeError, lambda: model.to("cpu", copy=True)) == ".to() does not accept copy argument"
    assert "unexpected keyword argument 'kind'" in message_of(TypeError, lambda: model.to(kind=adjoint.float64))


def test_conversions_keep_the_parameters():
    model = Scaled()
    model(adjoint.randn(5, 2)).sum().backward()
    scale, count = model.scale, model.inner[1].num_batches_tracked
    assert model.double() is model
    assert model.scale is scale and scale.dtype is adjoint.float64 and scale.grad.dtype is adjoint.float64
    assert model.shift.dtype is adjoint.float64 and count.dtype is adjoint.int64
    assert model.to(adjoint.float32).scale.dtype is adjoint.float32
    assert model.to(adjoint.ones(1, dtype=adjoint.float64)).scale.dtype is adjoint.float64
    assert model.to("cpu", adjoint.float32).scale.dtype is adjoint.float32
    assert message_of(TypeError, lambda: model.to(adjoint.int32)).startswith("nn.Module.to only accepts floating point")
    assert message_of(TypeError, lambda: model.to(1, 2, 3, 4, 5)).startswith("to() takes from 0 to 4")


def test_modes_and_gradients():
    model = Scaled()
    assert not model.eval().inner[1].training and model.train().inner[1].training
    assert message_of(ValueError, lambda: model.train(3)) == "training mode is expected to be boolean"
    model(adjoint.randn(5, 2)).sum().backward()
    model.zero_grad(set_to_none=False)
    assert model.scale.grad.tolist() == [0, 0, 0]
    model.zero_grad()
    assert model.scale.grad is None
    assert not any(p.requires_grad for p in model.requires_grad_(False).parameters())


def test_copies():
    model = Scaled()
    model(adjoint.randn(4, 2)).sum().backward()
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.scale is not model.scale and type(other.scale) is nn.Parameter
        # a copy trains from its own gradients only
        assert model.scale.grad is not None and all(parameter.grad is None for parameter in other.parameters())
        assert repr(other) == repr(model)
        x = adjoint.randn(4, 2)
        assert bool((other.eval()(x) == model.eval()(x)).all())


# hooks of calls ------------------------------------------------------------------------------------------------------


def test_order_of_hooks():
    model, calls = nn.ReLU(), []
    for name in "ab":
        model.register_forward_pre_hook(lambda module, args, name=name: calls.append(f"pre {name}"))
        model.register_forward_hook(lambda module, args, output, name=name: calls.append(f"post {name}"))
    model.register_forward_pre_hook(lambda module, args: calls.append("pre first"), prepend=True)
    handle = model.register_forward_hook(lambda module, args, output: calls.append("removed"))
    handle.remove()
    with nn.modules.module.register_module_forward_pre_hook(lambda module, args: calls.append("pre all")):
        model(adjoint.ones(1))
    assert calls == ["pre all", "pre first", "pre a", "pre b", "post a", "post b"]


def test_hooks_change_arguments_and_outputs():
    class Power(nn.Module):
        def forward(self, x, exponent=1):
            return x**exponent

    model, x = Power(), adjoint.tensor([2.0])
    handle = model.register_forward_pre_hook(lambda m, args, kwargs: (args, {"exponent": 3}), with_kwargs=True)
    assert model(x).item() == 8
    handle.remove()
    model.register_forward_hook(lambda m, args, kwargs, output: output + kwargs["exponent"], with_kwargs=True)
    assert model(x, exponent=2).item() == 6
    model.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    assert "must return None or a tuple of (new_args, new_kwargs), but got 3." in message_of(
        RuntimeError, lambda: model(x)
    )


def test_hooks_that_are_always_called():
    class Failing(nn.Module):
        def forward(self, x):
            raise KeyError("own")

    model, calls = Failing(), []
    model.register_forward_hook(lambda *_: calls.append("never"))
    model.register_forward_hook(lambda module, args, output: calls.append(output), always_call=True)
    with pytest.raises(KeyError, match="own"):
        model(1)
    assert calls == [None]
    model.register_forward_hook(lambda *_: 1 / 0, always_call=True)
    with pytest.warns(UserWarning, match="silenced"), pytest.raises(KeyError):
        model(1)


def test_full_backward_hooks_see_and_replace_gradients():
    model, x = nn.Linear(2, 1, bias=False), adjoint.ones(1, 2, requires_grad=True)
    records = []
    with adjoint.no_grad():
        model.weight.copy_(adjoint.tensor([[2.0, 3.0]]))
    model.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 10,))
    handle = model.register_full_backward_hook(lambda module, grads, cotangents: records.append((grads, cotangents)))
    model(x).sum().backward()
    ((grads, cotangents),) = records
    assert grads[0].tolist() == [[20.0, 30.0]] and cotangents[0].tolist() == [[10.0]]
    assert model.weight.grad.tolist() == [[10.0, 10.0]]
    handle.remove()
    model.register_full_backward_hook(lambda module, grads, cotangents: (grads[0] * 0,))
    x.grad = None
    model(x).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0]]
    model.register_full_backward_hook(lambda module, grads, cotangents: (1, 2))
    assert "invalid number of grad_input, got 2, but expected 1" in message_of(
        RuntimeError, lambda: model(x).sum().backward()
    )


def test_full_backward_hooks_without_inputs_that_require_grad():
    model, records = nn.Linear(2, 1), []
    model.register_full_backward_hook(lambda module, grads, cotangents: records.append(grads))
    with pytest.warns(UserWarning, match="with respect to module outputs since no inputs require gradients"):
        model(adjoint.ones(1, 2)).sum().backward()
    assert records == [(None,)]
    model.register_full_backward_hook(lambda module, grads, cotangents: (1,))
    with pytest.warns(UserWarning, match="Full backward hook"):
        assert "no input requires gradient" in message_of(
            RuntimeError, lambda: model(adjoint.ones(1, 2)).sum().backward()
        )


class Applied(nn.Module):
    """A module that applies a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def with_backward_hook(function):
    """A module of a function, and the list of the values that its full backward hook got."""
    model, records = Applied(function), []
    model.register_full_backward_hook(
        lambda _, grads, cotangents: records.append(
            [[g if g is None else g.tolist() for g in gs] for gs in (grads, cotangents)]
        )
    )
    return model, records


def test_gradients_that_pass_by_the_output_call_no_hook():
    tensors = []
    model, records = with_backward_hook(lambda x: tensors.append(x * 2) or x * 3)
    x = adjoint.ones(1, requires_grad=True)
    model(x)
    tensors.pop().sum().backward()
    assert records == [] and x.grad.tolist() == [2]
    model(x).sum().backward()
    tensors.pop().sum().backward()
    assert records == [[[[3]], [[1]]]] and x.grad.tolist() == [7]


@pytest.mark.parametrize("of", [lambda y: {"y": y}, lambda y: [y], lambda y: None, lambda y: 3])
def test_outputs_that_are_neither_tensors_nor_tuples_have_no_backward_hooks(of):
    results = []
    model, records = with_backward_hook(lambda x: of(results.append(x * 2) or results[-1]))
    x = adjoint.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors but received"):
        model(x)
    results.pop().sum().backward()
    assert records == [] and x.grad.tolist() == [2, 2]


def test_backward_hooks_let_tensors_without_gradient_be():
    flags = []

    def function(x, mask, index):
        flags.append((mask.requires_grad, index.requires_grad))
        return (x * mask.mul_(2).clone())[index], mask, index

    model, records = with_backward_hook(function)
    x, mask, index = adjoint.ones(2, requires_grad=True), adjoint.ones(2), adjoint.tensor([1])
    y, *others = model(x, mask, index)
    assert flags == [(False, False)] and not any(other.requires_grad for other in others)
    others[0].add_(1)
    y.sum().backward()
    assert records == [[[[0, 2], [0, 0], [0]], [[1], None, None]]]
    assert mask.tolist() == [3, 3] and mask.grad is None and x.grad.tolist() == [0, 2]


def test_full_backward_hooks_see_zeros_of_inputs_that_are_not_reached():
    model, records = with_backward_hook(lambda x, y: (x * 2, y * 3))
    x, y = (adjoint.ones(1, requires_grad=True) for _ in range(2))
    model(x, y)[1].sum().backward()
    assert records == [[[[0], [3]], [None, [1]]]] and x.grad.tolist() == [0]


@pytest.mark.parametrize(
    ("transformed", "calls"),
    [
        (lambda model: adjoint.func.grad(lambda x: model(x).sum()), 1),
        (lambda model: adjoint.func.vmap(adjoint.func.grad(model)), 1),
        (lambda model: adjoint.func.jacrev(model), 1),
        (lambda model: adjoint.func.vmap(model), 0),
        (lambda model: adjoint.func.jacfwd(model), 0),
    ],
)
def test_modules_with_backward_hooks_under_transformations(transformed, calls):
    weight = adjoint.tensor(3.0, requires_grad=True)
    plain, model, records = Applied(lambda x: x.sin() * weight), Applied(lambda x: x.sin() * weight), []
    model.register_full_backward_hook(
        lambda _, grads, cotangents: records.append(grads[0].shape == cotangents[0].shape)
    )
    x = adjoint.tensor([0.5, -1.0])
    testing.assert_close(transformed(model)(x), transformed(plain)(x))
    assert records == [True] * calls


def test_both_kinds_of_backward_hooks_do_not_mix():
    model, records = nn.ReLU(), []
    model.register_backward_hook(lambda module, grads, cotangents: records.append(cotangents[0].item()))
    model(adjoint.ones((), requires_grad=True)).backward()
    assert records == [1.0]
    assert "Please use only one of them" in message_of(
        RuntimeError, lambda: model.register_full_backward_hook(lambda *_: None)
    )
    module = nn.modules.module
    with module.register_module_full_backward_hook(lambda *_: None):
        assert "as a global Module hook" in message_of(
            RuntimeError, lambda: module.register_module_backward_hook(lambda *_: None)
        )


def test_registration_hooks():
    module = nn.modules.module
    replaced = nn.Parameter(adjoint.zeros(1, 1))
    with module.register_module_parameter_registration_hook(
        lambda owner, name, value: replaced if name == "weight" else None
    ):
        assert nn.Linear(1, 1).weight is replaced


# functions of modules ------------------------------------------------------------------------------------------------


def test_functional_calls_leave_the_module_alone():
    model, x = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)), adjoint.randn(4, 2)
    weights = {name: adjoint.zeros_like(value) for name, value in model.named_parameters()}
    before = model[0].weight
    gradient = adjoint.func.grad(lambda w: adjoint.func.functional_call(model, w, x).sum())(weights)
    assert gradient["2.bias"].tolist() == [4.0] and model[0].weight is before
    models = [nn.Linear(2, 3) for _ in range(3)]
    parameters, buffers = adjoint.func.stack_module_state(models)
    call = lambda p, b, x: adjoint.func.functional_call(models[0], (p, b), x)
    outcome = adjoint.func.vmap(call, (0, 0, None))(parameters, buffers, x)
    assert all(bool(adjoint.allclose(one, model(x))) for one, model in zip(outcome, models, strict=True))


def test_batch_norms_in_transformations():
    model, x = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)), adjoint.randn(4, 2)
    weights = dict(model.named_parameters())
    call = lambda w: adjoint.func.functional_call(model, w, x).square().sum()
    with pytest.raises(RuntimeError, match="would mutate a captured Tensor"):
        adjoint.func.grad(call)(weights)
    assert adjoint.func.replace_all_batch_norm_modules_(model) is model
    assert set(adjoint.func.grad(call)(weights)) == set(weights)


def test_a_call_costs_little_beside_its_forward():
    model = nn.Identity()
    assert model(model) is model and adjoint.nn.parameter.is_lazy(nn.Parameter()) is False


def test_batch_norms_of_what_is_no_module() -> None:
    with pytest.raises(TypeError, match="int is not a Module subclass"):
        adjoint.func.replace_all_batch_norm_modules_(0)  # type: ignore[arg-type]


def test_a_module_takes_dtype_and_device_from_a_tensor_of_any_size():
    for like in (adjoint.ones(3, dtype=adjoint.float64), adjoint.zeros(2, 2, dtype=adjoint.float64)):
        for call in (lambda m, like=like: m.to(like), lambda m, like=like: m.to(tensor=like)):
            assert call(adjoint.nn.Linear(2, 3)).weight.dtype is adjoint.float64
    assert parse_to("cpu", adjoint.float32, True) == (adjoint.device("cpu"), adjoint.float32, True, None)
    with pytest.raises(TypeError, match="unexpected keyword argument 'fermata'"):
        parse_to(fermata=1)
