"""Events and their names: functions, creation, formulas of backward passes, custom functions."""

import numpy as np
import pytest

import adjoint
from adjoint.autograd.profiler import profile
from adjoint.nn import functional as F
from adjoint.tools.profiler.functions import wrapped_functions

EVALUATE = "autograd::engine::evaluate_function: "


def tree(call):
    """A call as its name, or as (name, inner calls)."""
    name = call.name.removeprefix("aten::")
    return (name, [tree(inner) for inner in call.cpu_children]) if call.cpu_children else name


def note(program):
    """The events of a program, without the engine's own events."""
    with profile() as prof:
        program()
    outermost = [event for event in prof.function_events if event.cpu_parent is None]
    return [tree(call.cpu_children[0] if call.name.startswith(EVALUATE) else call) for call in outermost]


def leaf(*shape):
    return adjoint.ones(*shape, requires_grad=True)


CREATION = {
    "ones": lambda: adjoint.ones(2),
    "zeros": lambda: adjoint.zeros(2),
    "randn": lambda: adjoint.randn(2),
    "arange": lambda: adjoint.arange(3),
    "full": lambda: adjoint.full((2,), 1.0),
    "eye": lambda: adjoint.eye(2),
    "linspace": lambda: adjoint.linspace(0, 1, 3),
    "randperm": lambda: adjoint.randperm(3),
    "lift_fresh": lambda: adjoint.tensor([1.0]),
}


@pytest.mark.parametrize("name", CREATION)
def test_functions_that_make_tensors(name):
    assert note(CREATION[name]) == [name]


def test_like_functions_and_methods_that_are_written_by_hand():
    x = adjoint.ones(2)
    assert note(lambda: adjoint.zeros_like(x)) == ["zeros_like"]
    assert note(lambda: x.new_zeros(2)) == ["new_zeros"]
    assert note(lambda: x.detach()) == ["detach"]
    assert note(lambda: x[0].item()) == ["select", "item"]
    assert note(lambda: x.double()) == [("to", ["_to_copy"])]
    assert note(lambda: x.float()) == ["to"]
    assert note(lambda: bool(x[0] > 0)) == ["select", "gt", "is_nonzero"]


def test_functions_made_of_operations_are_around_them():
    x, target = leaf(2, 3), adjoint.tensor([0, 1])
    children = ["log_softmax", "unsqueeze", "nll_loss"]
    assert note(lambda: F.cross_entropy(x, target)) == [("cross_entropy_loss", children)]
    image, weight = adjoint.ones(1, 1, 3, 3), adjoint.ones(1, 1, 2, 2)
    assert note(lambda: F.conv2d(image, weight)) == [("conv2d", ["convolution"])]
    # a function with the same name as its operation makes one event
    assert note(lambda: x.sum()) == ["sum"]
    assert note(lambda: x / 2) == ["div"]
    assert note(lambda: x[:, 1:]) == ["slice"]
    assert note(lambda: x.max(1)) == ["max"]


def test_double_noted_call_keeps_what_is_known_of_the_inner_one():
    with profile(record_shapes=True, with_flops=True) as prof:
        adjoint.linalg.matmul(adjoint.ones(2, 3), adjoint.ones(3, 4))
    call = prof.function_events[-1]
    assert call.name == "aten::matmul" and call.cpu_parent.name == "aten::linalg_matmul"
    assert call.flops == 2 * 2 * 3 * 4 and call.input_shapes == [[2, 3], [3, 4]]


def test_formulas_of_a_backward_pass_are_inside_of_their_nodes():
    x = leaf(2, 2)
    assert note(lambda: (x**2).sum().backward()) == [
        "pow",
        "sum",
        "ones_like",
        ("SumBackward0", ["expand"]),
        ("PowBackward0", ["pow", "mul", "mul"]),
        "torch::autograd::AccumulateGrad",
    ]


def test_sums_of_cotangents_are_events():
    x = leaf(2)
    y = x * x + x
    noted_names = note(lambda: y.backward(adjoint.ones(2)))
    assert noted_names.count("add") == 2
    assert x.grad.tolist() == [3.0, 3.0]


def test_documented_example_counts_formulas_too():
    x = adjoint.randn((1, 1), requires_grad=True)
    with profile() as prof:
        for _ in range(100):
            y = x**2
            y.backward()
    table = prof.key_averages().table(sort_by="self_cpu_time_total")
    rows = {line.split("  ")[0] or line.strip().split("  ")[0]: line.split()[-1] for line in table.splitlines()}
    counts = {name.strip(): count for name, count in rows.items()}
    assert counts["aten::mul"] == counts["aten::pow"] == "200"
    assert counts["PowBackward0"] == counts["torch::autograd::AccumulateGrad"] == "100"


def test_custom_functions_are_events_with_what_is_inside():
    class Twice(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.exp() * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = leaf(2)
    with profile(record_shapes=True) as prof:
        Twice.apply(x).sum().backward()
    call = prof.function_events[0]
    assert (call.name, call.scope, call.input_shapes) == ("Twice", 0, [[2]])
    assert [inner.name for inner in call.cpu_children] == ["aten::exp", "aten::mul"]
    (node,) = [event for event in prof.function_events if event.name == "TwiceBackward"]
    assert node.sequence_nr == call.sequence_nr >= 0


def test_numbers_of_operations_follow_each_other():
    x = leaf(2)
    with profile() as prof:
        x.exp().sin().cos()
    numbers = [event.sequence_nr for event in prof.function_events]
    assert numbers == list(range(numbers[0], numbers[0] + 3))


def test_functions_are_as_before_afterwards():
    before = {(id(owner), name): vars(owner)[name] for owner, name, _, _ in wrapped_functions()}
    with profile() as outer:
        assert adjoint.ones is not before[id(adjoint), "ones"]
        with profile():
            adjoint.ones(2)
        assert adjoint.ones.__wrapped__ is before[id(adjoint), "ones"]
    assert outer.function_events == []
    assert {(id(owner), name): vars(owner)[name] for owner, name, _, _ in wrapped_functions()} == before


def test_a_function_that_the_user_replaced_stays(monkeypatch):
    with profile():
        mine = lambda *size: adjoint.zeros(*size)
        monkeypatch.setattr(adjoint, "ones", mine)
        assert adjoint.ones(2).tolist() == [0.0, 0.0]
    assert adjoint.ones is mine


def test_functions_without_a_profiler_in_their_thread_are_called_as_they_are():
    wrapper = next(wrapper for owner, name, _, wrapper in wrapped_functions() if name == "ones" and owner is adjoint)
    assert wrapper(2).tolist() == [1.0, 1.0]


def test_gradients_in_place_and_of_several_results_are_the_same_when_profiled():
    def run():
        x = adjoint.tensor(np.linspace(0.5, 2.0, 12).reshape(3, 4), requires_grad=True)
        y = x * 3
        y[1:, ::2].mul_(x[0, :2])
        values, _ = y.sort(1)
        q, r = adjoint.linalg.qr(values[:, :3])
        (q.sum() + r.exp().sum() + y.half().sum()).backward()
        return x.grad

    expected = run()
    with profile():
        result = run()
    np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-12)
