"""Inference mode does not record its tensors. They raise errors where autograd would need their history."""

from __future__ import annotations

import threading
from typing import Any

import numpy
import pytest

import adjoint
from adjoint.core.modes import state
from adjoint.core.recorded import operations
from adjoint.rules import TABLE
from adjoint.runtime.pytree import flatten


@pytest.fixture
def x() -> adjoint.Tensor:
    return adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_what_is_made_inside_is_an_inference_tensor(x: adjoint.Tensor) -> None:
    with adjoint.inference_mode():
        assert adjoint.is_inference_mode_enabled() and not adjoint.is_grad_enabled()
        tensors = [adjoint.ones(2), x * 2, adjoint.tensor(1.0), adjoint.ones(3)[:1], adjoint.stack([x, x])]
        assert all(t.is_inference() and not t.requires_grad for t in tensors)
        assert adjoint.is_inference(tensors[0])
    assert not adjoint.is_inference_mode_enabled() and adjoint.is_grad_enabled()
    assert not adjoint.ones(2).is_inference()


def test_views_of_normal_tensors_are_normal_and_of_inference_tensors_inference(x: adjoint.Tensor) -> None:
    with adjoint.inference_mode():
        tensor = adjoint.ones(3)
        view = x[:2]
    assert not view.is_inference()
    outside = [tensor[:1], tensor.view(3, 1), tensor.detach()]
    assert all(t.is_inference() for t in outside)
    assert not tensor.clone().is_inference()


def test_no_version_is_counted(x: adjoint.Tensor) -> None:
    with adjoint.inference_mode():
        tensor = adjoint.ones(2)
        tensor.add_(1)
        with pytest.raises(RuntimeError, match=r"Inference tensors do not track version counter\."):
            tensor._version  # noqa: B018
        normal = adjoint.ones(2)
    adjoint.autograd.graph.increment_version(normal)
    with pytest.raises(RuntimeError, match="do not track"):
        normal._version  # noqa: B018


def test_in_place_inside_works_on_both_kinds() -> None:
    normal = adjoint.ones(3)
    with adjoint.inference_mode():
        tensor = adjoint.ones(3)
        tensor.mul_(2)
        normal.add_(tensor)
        tensor[0] = 7
    assert normal.tolist() == [3, 3, 3] and normal._version == 1
    assert tensor.tolist() == [7, 2, 2]


@pytest.mark.parametrize(
    "modify",
    [
        lambda t: t.add_(1),
        lambda t: t[:1].add_(1),
        lambda t: t.__setitem__(0, 5),
        lambda t: t.copy_(adjoint.zeros(3)),
        lambda t: t.zero_(),
        lambda t: adjoint.add(adjoint.ones(3), 1, out=t),
        lambda t: t.unsqueeze_(0),
        lambda t: t.resize_(2),
        lambda t: t.resize_as_(adjoint.ones(5)),
        lambda t: t.set_(adjoint.zeros(3)),
    ],
)
def test_in_place_outside_is_refused_and_changes_nothing(modify) -> None:
    with adjoint.inference_mode():
        tensor = adjoint.ones(3)
    for grad_mode in (adjoint.enable_grad(), adjoint.no_grad()):
        with grad_mode, pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
            modify(tensor)
    assert tensor.tolist() == [1, 1, 1]


def test_saving_for_backward_is_refused(x: adjoint.Tensor) -> None:
    with adjoint.inference_mode():
        tensor = adjoint.ones(3)
    products = (lambda: x * tensor, lambda: tensor * x, lambda: x @ tensor)
    for use in (*products, lambda: adjoint.where(x > 0, x, tensor) * tensor):
        with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
            use()
    # operations that do not save the tensor may use it
    (x + tensor).sum().backward()
    assert x.grad.tolist() == [1, 1, 1]
    assert not (x.detach() * tensor).requires_grad
    (x * tensor.clone()).sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_requires_grad_of_inference_tensors() -> None:
    with adjoint.inference_mode():
        leaf = adjoint.ones(2, requires_grad=True)
        assert leaf.requires_grad
        tensor = adjoint.ones(2).requires_grad_()
        assert tensor.requires_grad
        tensor.requires_grad_(False)
    for switch in (tensor.requires_grad_, tensor.detach().requires_grad_):
        with pytest.raises(RuntimeError, match="Setting requires_grad=True on inference tensor outside"):
            switch()


def test_view_made_inside_may_not_be_modified_while_recording(x: adjoint.Tensor) -> None:
    y = x.clone()
    with adjoint.inference_mode():
        view = y[:2]
        view.add_(1)
    with pytest.raises(RuntimeError, match="A view was created in inference mode and is being modified inplace"):
        view.add_(1)
    with adjoint.no_grad():
        view.add_(1)
    assert y.tolist() == [3, 4, 3]


def test_modes_nest_and_come_back(x: adjoint.Tensor) -> None:
    with adjoint.inference_mode():
        with adjoint.inference_mode(False):
            y = x * 2
            assert y.requires_grad and not y.is_inference()
        with adjoint.enable_grad():
            assert not (x * 2).requires_grad
    with pytest.raises(ZeroDivisionError), adjoint.inference_mode():
        1 / 0  # noqa: B018
    assert (x * 2).requires_grad


def test_decorators(x: adjoint.Tensor) -> None:
    @adjoint.inference_mode
    def plain() -> bool:
        return (x * 2).is_inference()

    @adjoint.inference_mode()
    def flag() -> bool:
        return (x * 2).is_inference()

    @adjoint.inference_mode(mode=False)
    def off() -> bool:
        return (x * 2).is_inference()

    @adjoint.inference_mode()
    def generator():
        yield (x * 2).is_inference()
        yield (x * 3).is_inference()

    assert plain() and flag() and not off()
    assert list(generator()) == [True, True]
    with adjoint.inference_mode():
        assert not off()
    steps = generator()
    assert next(steps) and not (x * 2).is_inference()


def test_belongs_to_one_thread(x: adjoint.Tensor) -> None:
    flags: list[bool] = []
    with adjoint.inference_mode():
        thread = threading.Thread(target=lambda: flags.append((x * 2).requires_grad))
        thread.start()
        thread.join()
    assert flags == [True]


def test_multithreading_flag() -> None:
    autograd = adjoint.autograd
    assert autograd.is_multithreading_enabled()
    with autograd.set_multithreading_enabled(False):
        assert not autograd.is_multithreading_enabled()

    @autograd.set_multithreading_enabled(False)
    def flag() -> bool:
        return autograd.is_multithreading_enabled()

    assert not flag() and autograd.is_multithreading_enabled()
    autograd.set_multithreading_enabled(False)
    assert not autograd.is_multithreading_enabled()
    autograd.set_multithreading_enabled(True)


def test_increment_and_preserve_version() -> None:
    x = adjoint.ones(3)
    increment = adjoint.autograd.graph.increment_version
    increment(x)
    increment([x, x[:1]])
    increment(iter([x]))
    assert x._version == 4
    with pytest.raises(RuntimeError, match=r"increment_version expect a Iterable\[Tensor\] as input"):
        increment(3)
    for wrong in ([3], "ab", [x, 3]):
        with pytest.raises(RuntimeError, match="increment_version expects each element of the iterable to be a tensor"):
            increment(wrong)
    assert x._version == 4
    with adjoint.autograd._unsafe_preserve_version_counter((x, x)):
        x.add_(1)
    assert x._version == 4
    number = adjoint.zeros(())
    for tensors in (number, [number], (x, number)):
        with adjoint.autograd._unsafe_preserve_version_counter(tensors):
            number.add_(1)
        assert number._version == 0


def test_views_of_inference_tensors_are_no_views():
    with adjoint.inference_mode():
        x = adjoint.ones(2, 2)
    assert not x[1]._is_view() and x[1]._base is None and x[1].storage_offset() == 2
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor outside InferenceMode"):
        x.t_()
    with adjoint.inference_mode():
        assert x.t_() is x
        assert not adjoint.inference_mode(False)(lambda: adjoint.ones(2).data)().is_inference()


def test_data_of_a_normal_tensor_is_normal_in_inference_mode():
    x = adjoint.ones(2)
    with adjoint.inference_mode():
        assert not x.data.is_inference() and x.data._version == 0


@pytest.mark.parametrize(
    ("mode", "text"),
    [(adjoint.no_grad, "modified inplace with grad mode enabled"), (adjoint.inference_mode, "inplace in normal mode")],
)
def test_a_view_of_a_view_tells_which_it_is(mode, text):
    x = adjoint.ones(3, 3, requires_grad=True) * 1
    with mode():
        y = x[0]
    for part, start in ((y, "A view was created in"), (y[1:], "Output 0 of Slice is a view of a view which was")):
        with pytest.raises(RuntimeError, match=f"{start}.*{text}"):
            part.add_(1)


VIEWS = {
    "slice": lambda t: t[1:],
    "select": lambda t: t[0],
    "view": lambda t: t.view(9),
    "reshape": lambda t: t.reshape(-1),
    "flatten": lambda t: t.flatten(),
    "t": lambda t: t.t(),
    "T": lambda t: t.T,
    "permute": lambda t: t.permute(1, 0),
    "expand": lambda t: t.expand(2, 3, 3),
    "unsqueeze": lambda t: t.unsqueeze(0),
    "narrow": lambda t: t.narrow(0, 0, 1),
    "as_strided": lambda t: t.as_strided((2,), (1,)),
    "diagonal": lambda t: t.diagonal(),
    "unbind": lambda t: t.unbind(0)[1],
    "split": lambda t: t.split(1)[1],
    "chunk": lambda t: t.chunk(2)[0],
    "view_as": lambda t: t.view_as(t),
    "detach": lambda t: t.detach(),
    "data": lambda t: t.data,
    "view of a view": lambda t: t[1:].t()[0],
}
MODES = {"recording": adjoint.enable_grad, "no_grad": adjoint.no_grad, "inference": adjoint.inference_mode}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", VIEWS)
def test_a_view_of_an_inference_tensor_requires_no_grad(name, mode):
    with adjoint.inference_mode():
        leaf, unasked = adjoint.ones(3, 3, requires_grad=True), adjoint.ones(3, 3)
    for tensor in (leaf, unasked):
        with MODES[mode]():
            view = VIEWS[name](tensor)
        assert view.is_inference() and view.is_leaf and not view.requires_grad and not view._is_view()
        assert view.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    # later calls of requires_grad_() on the leaf do not change existing views
    with adjoint.inference_mode():
        view = VIEWS[name](unasked)
        unasked.requires_grad_()
    assert unasked.requires_grad and not view.requires_grad


@pytest.mark.parametrize("name", VIEWS)
def test_views_made_in_inference_mode_of_normal_tensors_show_the_flag_of_their_base(name):
    leaf = adjoint.ones(3, 3, requires_grad=True)
    with adjoint.inference_mode():
        view = VIEWS[name](leaf)
    assert not view.is_inference() and view.is_leaf
    assert view.requires_grad == (name not in ("detach", "data")) and (", requires_grad=True" in repr(view)) == (
        view.requires_grad
    )


ALONE = [
    rule.name for rule in TABLE.values() if rule.inputs == rule.names and len(rule.names) == 1 and rule.has_derivative
]


@pytest.mark.parametrize("name", ALONE)
def test_operations_on_inference_tensors_alone_are_not_recorded_but_copies_are(name):
    """An operation on inference tensors alone is not recorded, as in torch. A copy is a normal tensor."""
    with adjoint.inference_mode():
        leaf = adjoint.full((3, 3), 0.5, requires_grad=True)
        raw = adjoint.eye(3) + 0.1
        definite = raw.requires_grad_()
    for tensor in (leaf, definite):
        try:
            with numpy.errstate(all="ignore"):
                results = operations[name](tensor)
        except (RuntimeError, TypeError, ValueError):  # the operation does not take these shapes or numbers
            continue
        for result in results if isinstance(results, tuple) else (results,):
            assert result.requires_grad == operations[name].rule.copies


@pytest.mark.parametrize(
    ("function", "recorded"),
    [
        (lambda i, w: i + i, False),
        (lambda i, w: i * i, False),
        (lambda i, w: i**2, False),
        (lambda i, w: i.sum(0), False),
        (lambda i, w: adjoint.stack([i, i]), False),
        (lambda i, w: adjoint.stack([i, w]), True),
        (lambda i, w: i + w, True),
        (lambda i, w: i.clone(), True),
        (lambda i, w: i.double(), True),
        (lambda i, w: i.index_select(0, adjoint.tensor([0])), True),
        (lambda i, w: i[[0, 1]], True),
        (lambda i, w: adjoint.ones(3).add_(i), True),
        # numbers become normal tensors if torch has no overload for numbers
        (lambda i, w: i * 2, True),
        (lambda i, w: 1 + i, True),
        (lambda i, w: i / 2.0, True),
    ],
)
def test_a_normal_tensor_among_the_arguments_lets_gradients_flow_to_inference_leaves(function, recorded):
    with adjoint.inference_mode():
        leaf = adjoint.ones(3, requires_grad=True)
    result = function(leaf, adjoint.ones(3, requires_grad=True))
    assert result.requires_grad == recorded
    if recorded:
        result.sum().backward()
        assert leaf.grad is not None and leaf.grad.abs().sum() > 0


def test_detach_in_place_does_nothing_in_inference_mode_and_to_inference_tensors(x):
    y = x * 2
    with adjoint.inference_mode():
        assert y.detach_() is y and y[:1].detach_() is not None
        tensor = adjoint.ones(2, requires_grad=True)
    assert y.grad_fn is not None and tensor.detach_().requires_grad


@pytest.mark.parametrize("mode", [adjoint.no_grad, adjoint.inference_mode])
def test_a_view_without_history_that_shows_the_flag_of_its_base_is_used_by_nothing(x, mode):
    with mode():
        view = x[:]
    assert view.requires_grad and view.is_leaf
    loss = (view * 2 + x).sum()
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        adjoint.autograd.grad(loss, view, retain_graph=True)
    unused, slope = adjoint.autograd.grad(loss, [view, x], allow_unused=True, retain_graph=True)
    assert unused is None and slope.tolist() == [1, 1, 1]
    adjoint.autograd.backward(loss, inputs=[view])
    assert view.grad is None and x.grad is None
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        adjoint.autograd.graph.get_gradient_edge(view)


@pytest.mark.skipif(not state.__file__.endswith(".py"), reason="the compiled form counts in a variable of C")
def test_nothing_counts_as_inferring_after_the_block() -> None:
    before = state._inferring
    with adjoint.inference_mode():
        assert state._inferring > before
        with adjoint.inference_mode(False):
            assert state._inferring == before
    assert state._inferring == before


def of_vector(x: Any) -> Any:
    return (x.sin() * x).sum()


TRANSFORMED = {
    "grad": lambda x: adjoint.func.grad(of_vector)(x),
    "grad and value": lambda x: adjoint.func.grad_and_value(of_vector)(x)[0],
    "vjp": lambda x: adjoint.func.vjp(of_vector, x)[1](adjoint.tensor(1.0, dtype=x.dtype))[0],
    "jvp": lambda x: adjoint.func.jvp(of_vector, (x,), (adjoint.ones_like(x),))[1],
    "jacrev": lambda x: adjoint.func.jacrev(adjoint.sin)(x),
    "jacfwd": lambda x: adjoint.func.jacfwd(adjoint.sin)(x),
    "hessian": lambda x: adjoint.func.hessian(of_vector)(x),
    "hvp": lambda x: adjoint.func.hvp(of_vector, (x,), (adjoint.ones_like(x),)),
    "grad of grad": lambda x: adjoint.func.grad(lambda x: adjoint.func.grad(of_vector)(x).sum())(x),
    "vmap of grad": lambda x: adjoint.func.vmap(adjoint.func.grad(adjoint.sin))(x),
    "grad of vmap": lambda x: adjoint.func.grad(lambda x: adjoint.func.vmap(adjoint.sin)(x).sum())(x),
    "linearize": lambda x: adjoint.func.linearize(of_vector, x)[1](adjoint.ones_like(x)),
    "taylor": lambda x: adjoint.func.taylor(adjoint.sin, x, order=3),
    "taylor of a view": lambda x: adjoint.func.taylor(lambda x: x.exp()[1:], x, order=2),
    "jvp of a view": lambda x: adjoint.func.jvp(lambda x: x.exp()[1:], (x,), (adjoint.ones_like(x),)),
    "laplacian": lambda x: adjoint.func.laplacian(of_vector)(x),
    "collapsed laplacian": lambda x: adjoint.func.laplacian(of_vector)(x.repeat(3)),
    "jacobian": lambda x: adjoint.autograd.functional.jacobian(adjoint.sin, x),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations_give_in_inference_mode_what_they_give_outside(name: str) -> None:
    x = adjoint.tensor([1.0, 2.0, 3.0], dtype=adjoint.float64)
    expected = flatten(TRANSFORMED[name](x))[0]
    with adjoint.inference_mode():
        point = adjoint.tensor([1.0, 2.0, 3.0], dtype=adjoint.float64)
        for argument in (x, point):
            for value, other in zip(flatten(TRANSFORMED[name](argument))[0], expected, strict=True):
                numpy.testing.assert_array_equal(value.numpy(), other.numpy())
                assert not value.requires_grad
        assert adjoint.is_inference_mode_enabled()
    # outside of the mode, an inference tensor is a value like any other
    for value, other in zip(flatten(TRANSFORMED[name](point))[0], expected, strict=True):
        numpy.testing.assert_array_equal(value.numpy(), other.numpy())


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transformations_give_in_a_custom_function_what_they_give_outside(name: str) -> None:
    x = adjoint.tensor([1.0, 2.0, 3.0], dtype=adjoint.float64)
    results: list[Any] = []

    class Transformed(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            results.extend(flatten(TRANSFORMED[name](x))[0])
            return x.clone()

    Transformed.apply(x.clone().requires_grad_())
    for value, other in zip(results, flatten(TRANSFORMED[name](x))[0], strict=True):
        numpy.testing.assert_array_equal(value.numpy(), other.numpy())


def test_functions_under_transformations_use_inference_tensors_from_outside_alone() -> None:
    x = adjoint.ones(3)
    with adjoint.inference_mode():
        factor = adjoint.full((3,), 2.0)
    assert adjoint.func.grad(lambda x: (x * factor).sum())(x).tolist() == [2, 2, 2]

    def function(x: Any) -> Any:
        with adjoint.inference_mode():
            y = x.sin()
        return (y * x).sum()

    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        adjoint.func.grad(function)(x)


def test_what_inference_mode_inside_a_function_cuts_off_has_no_derivative() -> None:
    x = adjoint.tensor([1.0, 2.0, 3.0], dtype=adjoint.float64)

    def function(x: Any) -> Any:
        with adjoint.inference_mode():
            g = adjoint.func.grad(of_vector)(x)
        return (g * x).sum()

    g = adjoint.func.grad(of_vector)(x)
    numpy.testing.assert_array_equal(adjoint.func.grad(function)(x).numpy(), g.numpy())
    assert adjoint.func.jvp(function, (x,), (adjoint.ones_like(x),))[1].item() == pytest.approx(g.sum().item())


def test_pullbacks_give_normal_tensors_in_inference_mode() -> None:
    with adjoint.inference_mode():
        value, pullback = adjoint.func.vjp(adjoint.sin, adjoint.zeros(2))
        (gradient,) = pullback(adjoint.ones(2))
    assert not value.is_inference()
    assert not gradient.is_inference()
    assert gradient.tolist() == [1, 1]


@pytest.mark.parametrize("mode", [True, False])
def test_a_clone_has_the_mode_of_its_block(mode: bool) -> None:
    block = adjoint.inference_mode(mode)
    with adjoint.inference_mode(not mode), block.clone():
        assert adjoint.is_inference_mode_enabled() == mode
