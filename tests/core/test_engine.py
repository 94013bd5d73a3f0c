"""backward and grad with all their arguments, nodes as objects, hooks, and random graphs."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint
from adjoint.arrays.kernels.products_and_sums import one_like
from adjoint.autograd import backward, grad
from adjoint.core.engine import gradients_of
from support import engine_page

pytestmark = pytest.mark.filterwarnings("error")


def leaf(*values, dtype=adjoint.float64):
    return adjoint.tensor(values, dtype=dtype, requires_grad=True)


def scalar(value, dtype=adjoint.float64, requires_grad=True):
    return adjoint.tensor(value, dtype=dtype, requires_grad=requires_grad)


def lists(tensors):
    return [None if t is None else t.tolist() for t in tensors]


# backward ------------------------------------------------------------------------------------------------------------


def test_backward_of_a_scalar():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    assert y.backward() is None
    assert x.grad.tolist() == [2.0, 4.0]
    assert not x.grad.requires_grad and x.grad.is_leaf


def test_backward_accumulates():
    x = leaf(1.0, 2.0)
    for n in (1, 2, 3):
        (x * x).sum().backward()
        assert x.grad.tolist() == [2.0 * n, 4.0 * n]


def test_backward_with_a_cotangent():
    x = leaf(1.0, 2.0)
    (x * x).backward(adjoint.tensor([10.0, 100.0], dtype=adjoint.float64))
    assert x.grad.tolist() == [20.0, 400.0]


def test_backward_of_one_element_of_any_rank():
    x = leaf(3.0)
    (x * x).reshape(1, 1).backward()
    assert x.grad.tolist() == [6.0]


def test_backward_of_several_tensors():
    x = leaf(1.0, 2.0)
    w = scalar(3.0)
    seed = adjoint.tensor([1.0, 10.0], dtype=adjoint.float64)
    backward([x * w, w * w, (x * x).sum()], [seed, None, None])
    assert x.grad.tolist() == [1 * 3 + 2, 10 * 3 + 4]
    assert w.grad.item() == 1 * 1 + 10 * 2 + 6


def test_one_root_given_twice():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    backward([y, y])
    assert x.grad.tolist() == [4.0, 8.0]


def test_root_that_another_root_depends_on():
    x = scalar(3.0)
    y = x * x
    z = y * y
    (g,) = grad([y, z], x)
    assert g.item() == 2 * 3 + 4 * 27


def test_leaf_as_root():
    x = leaf(1.0, 2.0)
    seed = adjoint.tensor([5.0, 6.0], dtype=adjoint.float64)
    x.backward(seed)
    assert x.grad.tolist() == [5.0, 6.0]


def test_only_one_cotangent_need_not_be_a_list():
    x = leaf(1.0, 2.0)
    backward(x * 2, adjoint.ones(2, dtype=adjoint.float64))
    assert x.grad.tolist() == [2.0, 2.0]


def test_cotangents_are_cast_to_the_dtype_of_the_output():
    x = leaf(1.0, 2.0)
    backward(x * 2, adjoint.tensor([1, 2]))
    assert x.grad.tolist() == [2.0, 4.0] and x.grad.dtype is adjoint.float64


def test_retain_graph():
    x = scalar(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.item() == 12.0
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    assert x.grad.item() == 12.0


def test_create_graph_retains_unless_told_otherwise():
    x = scalar(3.0)
    y = x * x
    (g,) = grad(y, x, create_graph=True)
    assert grad(y, x, create_graph=True, retain_graph=False)[0].item() == 6.0
    with pytest.raises(RuntimeError, match="second time"):
        grad(y, x)
    assert grad(g, x)[0].item() == 2.0


def test_graph_that_saved_nothing_can_run_again():
    x = leaf(1.0, 2.0)
    y = (x + 1).sum()
    for _ in range(2):
        y.backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_third_order():
    x = scalar(1.5)
    derivatives = [x**4]
    for _ in range(4):
        derivatives.append(grad(derivatives[-1], x, create_graph=True)[0])
    expected = [1.5**4, 4 * 1.5**3, 12 * 1.5**2, 24 * 1.5, 24.0]
    np.testing.assert_allclose([d.item() for d in derivatives], expected)


def test_second_order_by_backward():
    x = scalar(2.0)
    adjoint.set_warn_always(True)
    with pytest.warns(UserWarning, match="create_graph=True will create a reference cycle"):
        (x**3).backward(create_graph=True)
    adjoint.set_warn_always(False)
    slope = x.grad
    assert slope.grad_fn.name() == "torch::autograd::CopyBackwards" and repr(slope.grad_fn).startswith(
        "<CopyBackwards "
    )
    x.grad = None
    slope.backward()
    assert x.grad.item() == 12.0


def test_mixed_second_derivatives():
    x, y = scalar(2.0), scalar(3.0)
    z = x**2 * y**3
    dx, dy = grad(z, [x, y], create_graph=True)
    assert grad(dx, [x, y], retain_graph=True)[1].item() == grad(dy, [x, y])[0].item() == 2 * 2 * 3 * 9.0


# inputs= -------------------------------------------------------------------------------------------------------------


def test_inputs_restricts_backward_to_some_leaves():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x * w).sum().backward(inputs=[x])
    assert x.grad.tolist() == [3.0, 4.0] and w.grad is None


def test_inputs_may_be_one_tensor():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x * w).sum().backward(inputs=w)
    assert w.grad.tolist() == [1.0, 2.0] and x.grad is None


def test_inputs_that_are_not_leaves():
    x = leaf(1.0, 2.0)
    y = x * 3
    (y * y).sum().backward(inputs=[y])
    assert y.grad.tolist() == [6.0, 12.0] and x.grad is None


def test_inputs_at_both_ends_of_a_path():
    x = leaf(1.0, 2.0)
    y = x * 3
    (y * y).sum().backward(inputs=[x, y])
    assert y.grad.tolist() == [6.0, 12.0] and x.grad.tolist() == [18.0, 36.0]


def test_inputs_that_are_not_reached_stay_without_gradient():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    x.sum().backward(inputs=[w])
    assert x.grad is None and w.grad is None


def test_inputs_accumulate_too():
    x = leaf(1.0, 2.0)
    for _ in range(2):
        (x * 2).sum().backward(inputs=[x])
    assert x.grad.tolist() == [4.0, 4.0]


# grad ----------------------------------------------------------------------------------------------------------------


def test_grad_returns_a_tuple_and_leaves_grad_alone():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    x.grad = adjoint.tensor([9.0, 9.0], dtype=adjoint.float64)
    gradients = grad((x * w).sum(), (w, x))
    assert isinstance(gradients, tuple)
    assert lists(gradients) == [[1.0, 2.0], [3.0, 4.0]]
    assert x.grad.tolist() == [9.0, 9.0] and w.grad is None
    assert not gradients[0].requires_grad


def test_grad_of_several_outputs():
    x = leaf(1.0, 2.0)
    seeds = [adjoint.tensor([1.0, 2.0], dtype=adjoint.float64), None]
    assert lists(grad([x * x, x.sum()], x, seeds)) == [[3.0, 9.0]]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("sequence", [list, tuple])
def test_grad_of_several_outputs_with_cotangents(create_graph, sequence):
    x, y = leaf(1.0, 2.0), leaf(3.0, 5.0)
    cotangents = sequence([adjoint.tensor([1.0, 10.0], dtype=adjoint.float64), None])
    of_x, of_y = grad(sequence([x * y, (x * x).sum()]), [x, y], cotangents, create_graph=create_graph)
    assert of_x.tolist() == [5.0, 54.0] and of_y.tolist() == [1.0, 20.0]
    assert of_x.requires_grad is create_graph


def test_grad_of_several_outputs_checks_each():
    x = adjoint.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"got 2 tensors and 1 gradients"):
        grad([x * 2, x * 3], x, [adjoint.ones(2)])
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output\[1\]"):
        grad([x * 2, x * 3], x, [adjoint.ones(2), adjoint.ones(3)])
    with pytest.raises(TypeError, match="gradients can be either Tensors or None, but got int"):
        grad([x * 2], x, [1])
    with pytest.raises(TypeError, match="expected Tensors, got int"):
        grad([x * 2, 3], x, [adjoint.ones(2), adjoint.ones(2)])
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        grad([x.sum(), x * 3], x)
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad([x.sum(), adjoint.ones(())], x)


def test_grad_with_a_dict_of_inputs():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    gradients = grad((x * w).sum(), {"x": x, "w": w})
    assert list(gradients) == ["x", "w"]
    assert gradients["x"].tolist() == [3.0, 4.0] and gradients["w"].tolist() == [1.0, 2.0]


def test_grad_with_respect_to_the_same_input_twice():
    x = leaf(1.0, 2.0)
    y = x * x
    gradients = grad(y.sum(), [x, y, x, y])
    assert lists(gradients) == [[2.0, 4.0], [1.0, 1.0], [2.0, 4.0], [1.0, 1.0]]


def test_grad_with_respect_to_an_output():
    x = leaf(1.0, 2.0)
    y = x * x
    seed = adjoint.tensor([3.0, 4.0], dtype=adjoint.float64)
    assert lists(grad([y], [y, x], [seed])) == [[3.0, 4.0], [6.0, 16.0]]
    assert lists(grad(x, x, seed)) == [[3.0, 4.0]]


def test_grad_with_respect_to_intermediate_values_does_not_run_what_lies_behind():
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.grad_fn.register_hook(lambda pulled, received: pytest.fail("the node behind the input was run"))
    assert lists(grad((y * 2).sum(), y)) == [[2.0, 2.0]]


def test_grad_runs_only_what_leads_to_the_inputs():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    behind = w.exp()
    behind.register_hook(lambda g: pytest.fail("a branch that was not asked for was run"))
    assert lists(grad((x * 2 + behind).sum(), x)) == [[2.0, 2.0]]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(("narrow", "wide"), [("float32", "float64"), ("complex64", "complex128")])
def test_gradients_have_the_dtype_of_their_inputs(narrow, wide, create_graph):
    values = np.array([1.0, 4.0]) * (1 + 2j if wide == "complex128" else 1)
    x = adjoint.tensor([2.0, 3.0], dtype=getattr(adjoint, narrow), requires_grad=True)
    (g,) = grad((x * adjoint.from_numpy(values)).sum().real, x, create_graph=create_graph)
    assert g.dtype is x.dtype
    np.testing.assert_array_equal(g.detach().resolve_conj().numpy(), values.conj())


def test_unused_inputs():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = (x * 2).sum()
    with pytest.raises(RuntimeError, match="The differentiated Tensor at index 1 appears to not have been used"):
        grad(y, [x, w], retain_graph=True)
    assert lists(grad(y, [x, w], retain_graph=True, allow_unused=True)) == [[2.0, 2.0], None]
    gradients = grad(y, [x, w], materialize_grads=True)
    assert lists(gradients) == [[2.0, 2.0], [0.0, 0.0]]
    assert gradients[1].dtype is adjoint.float64


@pytest.mark.parametrize("create_graph", [False, True])
def test_zeros_of_unused_inputs_require_grad_where_the_pass_is_recorded(create_graph):
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    gradients = grad((x * x).sum(), [x, w], create_graph=create_graph, materialize_grads=True)
    assert [g.requires_grad for g in gradients] == [create_graph] * 2 and gradients[1].is_leaf
    # inside a transformation, missing gradients are constants
    both = adjoint.func.grad(lambda x, w: (x * x * leaf(1.0, 1.0)).sum(), argnums=(0, 1))(x, w)
    assert lists(both)[1] == [0.0, 0.0] and not both[1].requires_grad


def test_second_derivative_that_is_zero_everywhere():
    x = leaf(1.0, 2.0)
    w = leaf(3.0, 4.0)
    (first,) = grad((x * w).sum(), x, create_graph=True)
    assert lists(grad(first.sum(), [x, w], allow_unused=True)) == [None, [1.0, 1.0]]


def test_grad_under_no_grad():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    with adjoint.no_grad():
        (g,) = grad(y, x)
    assert g.tolist() == [2.0, 4.0]


def test_old_names_warn():
    x = leaf(1.0, 2.0)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated. Use `grad_tensors` instead."):
        backward(x * 2, grad_variables=adjoint.ones(2, dtype=adjoint.float64))
    assert x.grad.tolist() == [2.0, 2.0]


# shapes of graphs ----------------------------------------------------------------------------------------------------


def test_diamond_runs_each_node_once():
    x = scalar(2.0)
    y = x * x
    runs = []
    y.grad_fn.register_hook(lambda pulled, received: runs.append(received[0].item()))
    z = y.sin() + y.cos() + y * 3
    z.backward()
    cotangent = np.cos(4) - np.sin(4) + 3
    np.testing.assert_allclose(runs, [cotangent])
    np.testing.assert_allclose(x.grad.item(), 4 * cotangent)


def test_ladder_of_diamonds_takes_linear_time():
    x = scalar(1.0)
    y = x
    for _ in range(200):
        y = y * 0.5 + y * 0.5
    y.backward()
    assert x.grad.item() == 1.0


def test_unused_branches_do_not_count():
    x = scalar(2.0)
    y = x * x
    y.exp()
    (y + y.detach()).backward()
    assert x.grad.item() == 4.0


def test_branches_without_gradient():
    x, c = leaf(1.0, 2.0), adjoint.tensor([3.0, 4.0], dtype=adjoint.float64)
    (x * c + c * c).sum().backward()
    assert x.grad.tolist() == [3.0, 4.0] and c.grad is None


def test_nodes_run_latest_first():
    x = scalar(2.0)
    order = []

    def note(tensor, name):
        tensor.grad_fn.register_prehook(lambda received: order.append(name))
        return tensor

    a = note(x * 1, "a")
    b = note(x * 2, "b")
    c = note(a * 3, "c")
    d = note(b * 4, "d")
    note(d + c, "end").backward()
    assert order == ["end", "d", "c", "b", "a"]


def test_sequence_numbers_ascend():
    x = scalar(2.0)
    a = x * 1
    b = x * 2
    c = a + b
    assert a.grad_fn._sequence_nr() < b.grad_fn._sequence_nr() < c.grad_fn._sequence_nr()


@pytest.mark.parametrize("create_graph", [False, True])
def test_some_outputs_of_a_node_unused(create_graph):
    x = leaf(1.0, 2.0, 3.0)
    _, b, _ = (x * x).unbind(0)
    assert lists(grad(b, x, create_graph=create_graph)) == [[0.0, 4.0, 0.0]]
    head, _ = (x * x).split([2, 1])
    assert lists(grad(head.sum(), x, create_graph=create_graph)) == [[2.0, 4.0, 0.0]]
    values, indices = (x * x).topk(2)
    assert indices.tolist() == [2, 1] and not indices.requires_grad
    assert lists(grad(values[1], x, create_graph=create_graph)) == [[0.0, 4.0, 0.0]]


def test_all_outputs_of_a_node_used_more_than_once():
    x = leaf(1.0, 2.0)
    a, b = (x * x).unbind(0)
    (a * b + a).backward(retain_graph=True)
    assert x.grad.tolist() == [2 * (4 + 1.0), 4 * 1.0]
    assert lists(grad(a * b, [b, a])) == [1.0, 4.0]


def test_second_order_through_several_outputs():
    x = leaf(1.0, 2.0)
    a, b = (x * x).unbind(0)
    (first,) = grad(a * b, x, create_graph=True)  # x0^2 x1^2
    assert lists(grad(first.sum(), x)) == [[2 * 4 + 4 * 1 * 2.0, 4 * 1 * 2 + 2.0]]


# nodes ---------------------------------------------------------------------------------------------------------------


def test_nodes_and_edges():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * w
    z = y + x
    assert x.grad_fn is None and x.is_leaf and not y.is_leaf
    assert y.grad_fn.name() == "MulBackward0" and z.grad_fn.name() == "AddBackward0"
    (first, number), (second, _) = z.grad_fn.next_functions
    assert first is y.grad_fn and number == 0
    assert second is y.grad_fn.next_functions[0][0], "one node accumulates all gradients of a leaf"
    assert second.name() == "torch::autograd::AccumulateGrad"
    assert second.variable is x
    assert second.next_functions == ()
    assert isinstance(second, adjoint.autograd.graph.Node)


def test_edges_to_constants_are_none():
    x, c = leaf(1.0, 2.0), adjoint.ones(2, dtype=adjoint.float64)
    (node, number), _ = (c * x).grad_fn.next_functions
    assert node is None and number == 0
    assert (c * c).grad_fn is None


def test_edges_name_the_output():
    x = leaf(1.0, 2.0, 3.0)
    parts = (x * 1).unbind(0)
    assert [part.output_nr for part in parts] == [0, 1, 2]
    z = parts[2] * parts[1]
    assert z.grad_fn.next_functions == ((parts[0].grad_fn, 2), (parts[0].grad_fn, 1))
    stacked = adjoint.stack(parts)
    assert [number for _, number in stacked.grad_fn.next_functions] == [0, 1, 2]


def test_metadata_and_saved_values():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * w
    y.grad_fn.metadata["note"] = 1
    assert y.grad_fn.metadata == {"note": 1}
    assert y.grad_fn._saved_self.tolist() == [1.0, 2.0]
    assert y.grad_fn._saved_other.tolist() == [3.0, 4.0]
    e = x.exp()
    assert e.grad_fn._saved_result.tolist() == e.tolist()
    with pytest.raises(AttributeError, match="_saved_nothing"):
        e.grad_fn._saved_nothing  # noqa: B018
    y.sum().backward()
    with pytest.raises(RuntimeError, match="directly access saved tensors after they have already been freed"):
        y.grad_fn._saved_self  # noqa: B018


# hooks ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("where", ["leaf", "result", "several results"])
def test_hooks_see_and_replace_gradients(where, create_graph):
    x = leaf(1.0, 2.0)
    y = x * 1
    part = y.unbind(0)[1]
    tensor = {"leaf": x, "result": y, "several results": part}[where]
    grads = []
    tensor.register_hook(lambda g: grads.append(g.tolist()))
    tensor.register_hook(lambda g: g * 10)
    tensor.register_hook(lambda g: grads.append(g.tolist()))
    (g,) = grad(part * 3, x, create_graph=create_graph)
    one = 3.0 if where == "several results" else [0.0, 3.0]
    ten = 30.0 if where == "several results" else [0.0, 30.0]
    assert grads == [one, ten]
    assert g.tolist() == [0.0, 30.0]


def test_replacement_is_recorded():
    x = scalar(3.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    (first,) = grad(y, x, create_graph=True)  # 2 x * x
    assert first.item() == 18.0
    assert grad(first, x)[0].item() == 12.0


def test_removed_hooks_do_not_run():
    x = leaf(1.0, 2.0)
    calls = []
    first = x.register_hook(lambda g: calls.append("first"))
    x.register_hook(lambda g: calls.append("second"))
    with x.register_hook(lambda g: calls.append("in the block")):
        x.sum().backward()
    first.remove()
    first.remove()
    x.sum().backward()
    assert calls == ["first", "second", "in the block", "second"]


def test_hook_removes_itself_and_adds_another():
    x = leaf(1.0, 2.0)
    calls = []

    def once(g):
        calls.append("once")
        handle.remove()
        x.register_hook(lambda g: calls.append("later"))

    handle = x.register_hook(once)
    x.sum().backward()
    assert calls == ["once"]
    x.sum().backward()
    assert calls == ["once", "later"]


def test_hooks_see_the_whole_sum():
    x = leaf(1.0, 2.0)
    grads = []
    x.register_hook(lambda g: grads.append(g.tolist()))
    (x * 2 + x * 3 + x.sin() * 0).sum().backward()
    assert grads == [[5.0, 5.0]]


def test_hooks_on_an_output_that_got_nothing():
    x = leaf(1.0, 2.0)
    a, b = (x * 1).unbind(0)
    notes = []
    b.register_hook(notes.append)
    a.backward()
    assert notes == [None]


def test_retain_grad():
    x = leaf(1.0, 2.0)
    y = x * 3
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        assert not y.retains_grad and y.grad is None
    y.retain_grad()
    y.retain_grad()
    x.retain_grad()
    assert y.retains_grad and not x.retains_grad
    z = (y * y).sum()
    z.backward(retain_graph=True)
    assert y.grad.tolist() == [6.0, 12.0]
    z.backward()
    assert y.grad.tolist() == [12.0, 24.0]


def test_retained_gradient_is_what_the_hooks_made_of_it():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: g * 100)
    y.sum().backward()
    assert y.grad.tolist() == [100.0, 100.0]
    assert x.grad.tolist() == [300.0, 300.0]


def test_post_accumulate_hooks():
    x = leaf(1.0, 2.0)
    notes = []
    handle = x.register_post_accumulate_grad_hook(lambda t: notes.append((t is x, t.grad.tolist())))
    grad((x * 2).sum(), x)
    assert notes == []
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert notes == [(True, [2.0, 2.0]), (True, [4.0, 4.0])]
    handle.remove()
    (x * 2).sum().backward()
    assert len(notes) == 2


@pytest.mark.parametrize(
    ("returned", "error", "message"),
    [
        (3, TypeError, "expected Variable, but hook returned 'int'"),
        (adjoint.ones(2), RuntimeError, "Tensor post accumulate grad hooks should return None."),
    ],
)
def test_post_accumulate_hook_returns_nothing(returned, error, message):
    x = leaf(1.0, 2.0)
    x.register_post_accumulate_grad_hook(lambda t: returned)
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        x.sum().backward()


def test_post_accumulate_hook_may_return_the_leaf():
    x = leaf(1.0, 2.0)
    x.register_post_accumulate_grad_hook(lambda t: t.add_(t.grad, alpha=-0.5))
    x.sum().backward()
    assert x.tolist() == [0.5, 1.5]


def test_post_accumulate_hook_may_step_and_clear():
    x = leaf(1.0, 2.0)

    def step(t):
        with adjoint.no_grad():
            t.sub_(t.grad * 0.5)
        t.grad = None

    x.register_post_accumulate_grad_hook(step)
    (x * x).sum().backward()
    assert x.tolist() == [0.0, 0.0] and x.grad is None


def test_hooks_on_nodes():
    x = leaf(1.0, 2.0)
    y = x * x
    order = []
    y.register_hook(lambda g: order.append(("tensor", g.tolist())))
    y.grad_fn.register_prehook(lambda received: (order.append(("before", lists(received))), (received[0] * 2,))[1])
    y.grad_fn.register_hook(
        lambda pulled, received: (order.append(("after", lists(received))), (pulled[0] * 5, None))[1]
    )
    y.sum().backward()
    assert order == [("tensor", [1.0, 1.0]), ("before", [[1.0, 1.0]]), ("after", [[2.0, 2.0]])]
    assert x.grad.tolist() == [10.0, 20.0]


def test_captured_value_is_from_before_the_hooks_on_the_node():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g * 3)
    y.grad_fn.register_prehook(lambda received: (received[0] * 10,))
    assert lists(grad(y.sum(), [y, x])) == [[3.0, 3.0], [60.0, 60.0]]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize(
    "make", [lambda x: x.exp(), lambda x: x.unbind()[0], lambda x: x * x], ids=["exp", "unbind", "mul"]
)
def test_hooks_of_the_node_at_which_backward_ends(make, create_graph):
    """Hooks of the tensors in inputs= run first, then those of their nodes. .grad gets the value between the two."""
    x = adjoint.tensor([0.5, 1.0], requires_grad=True)
    y = make(x)
    notes = []
    y.register_hook(lambda g: notes.append("tensor") or g + 1)
    y.grad_fn.register_prehook(lambda gs: notes.append("before") or tuple(g if g is None else g * 10 for g in gs))
    y.grad_fn.register_hook(lambda inputs, outputs: notes.append((inputs, outputs[0].tolist())))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the warning about the cycle of a recorded gradient
        (3 * y).sum().backward(inputs=[y], create_graph=create_graph)
    assert y.grad.tolist() == adjoint.full_like(y, 4).tolist()
    assert notes[:2] == ["tensor", "before"] and len(notes) == 3
    assert set(notes[2][0]) == {None} and notes[2][1] == adjoint.full_like(y, 40).tolist()
    assert x.grad is None


@pytest.mark.parametrize("register", ["register_hook", "register_prehook"])
@pytest.mark.parametrize("of", [lambda g: g, lambda g: [g], lambda g: 1.0], ids=["Tensor", "list", "float"])
def test_hooks_of_nodes_return_tuples(register, of, request):
    y = leaf(1.0, 2.0).exp()
    getattr(y.grad_fn, register)(lambda grads, *received: of(grads[0]))
    with pytest.raises(
        TypeError, match=f"expected tuple, but hook returned '{request.node.callspec.id.split('-')[0]}'"
    ):
        y.sum().backward()


@pytest.mark.parametrize("retain_graph", [False, True])
def test_node_at_which_backward_ends_is_freed(retain_graph):
    x = adjoint.tensor(2.0, requires_grad=True)
    y = x * x
    (3 * y).backward(inputs=[y], retain_graph=retain_graph)
    if retain_graph:
        y.backward()
        assert x.grad == 4
    else:
        with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
            y.backward()


def test_prehook_does_not_run_where_the_node_does_not():
    y = leaf(1.0, 2.0) * 2
    y.grad_fn.register_prehook(lambda received: pytest.fail("the node is not run"))
    assert lists(grad(y.sum(), y)) == [[1.0, 1.0]]


def test_hook_on_the_node_of_a_leaf():
    x = leaf(1.0, 2.0)
    y = x * 2
    notes = []
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_prehook(lambda received: notes.append(("before", lists(received))))
    accumulator.register_hook(lambda pulled, received: notes.append(("after", pulled, lists(received))))
    y.sum().backward()
    assert notes == [("before", [[2.0, 2.0]]), ("after", (), [[2.0, 2.0]])]


# numbers -------------------------------------------------------------------------------------------------------------


def finite_difference(loss, z, step=1e-6):
    """dL/dRe + i dL/dIm, the direction of steepest ascent, by differences."""
    result = np.zeros_like(z)
    for index in np.ndindex(z.shape):
        for direction in (1.0, 1.0j) if np.iscomplexobj(z) else (1.0,):
            there, back = z.copy(), z.copy()
            there[index] += step * direction
            back[index] -= step * direction
            result[index] += direction * (loss(there) - loss(back)) / (2 * step)
    return result


COMPLEX = {
    "holomorphic": lambda z, w, r: ((z * w).sin() / (z + 2)).real.sum(),
    "modulus": lambda z, w, r: (z * w).abs().sum(),
    "conjugate": lambda z, w, r: (z.conj() * w * z).imag.sum(),
    "parts": lambda z, w, r: (z.real * w.imag).sum() + (z.real**2 * r).sum(),
    "real times complex": lambda z, w, r: (r * z).abs().sum() + (r * w).imag.sum(),
    "real minus complex": lambda z, w, r: ((r - z) * (w - r)).real.sum(),
    "powers": lambda z, w, r: (z**3 + z.exp() * w**2).abs().sum(),
    "built from parts": lambda z, w, r: (adjoint.complex(r, r * r) * z).real.sum(),
    "number": lambda z, w, r: (z * (1 + 2j) + r * 3j).abs().sum(),
    "matrix product": lambda z, w, r: (z.reshape(2, 2) @ w.reshape(2, 2)).abs().sum(),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_gradients_follow_the_direction_of_steepest_ascent(name):
    rng = np.random.default_rng(1)
    arrays = [rng.normal(size=4) + 1j * rng.normal(size=4) for _ in range(2)] + [rng.normal(size=4)]
    tensors = [adjoint.tensor(a, requires_grad=True) for a in arrays]
    gradients = grad(COMPLEX[name](*tensors), tensors, materialize_grads=True)
    for k, (g, array) in enumerate(zip(gradients, arrays, strict=True)):

        def loss(value, k=k):
            values = [adjoint.tensor(value if i == k else a) for i, a in enumerate(arrays)]
            return COMPLEX[name](*values).item()

        assert g.numpy().dtype == array.dtype
        np.testing.assert_allclose(g.numpy(), finite_difference(loss, array), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_second_order(name):
    rng = np.random.default_rng(2)
    arrays = [rng.normal(size=4) + 1j * rng.normal(size=4) for _ in range(2)] + [rng.normal(size=4)]
    directions = [rng.normal(size=a.shape) + (1j * rng.normal(size=4) if np.iscomplexobj(a) else 0) for a in arrays]

    def slope(values):
        """The derivative along `directions`, which is a real function of the values."""
        tensors = [adjoint.tensor(value, requires_grad=True) for value in values]
        firsts = grad(COMPLEX[name](*tensors), tensors, create_graph=True, materialize_grads=True)
        terms = [
            (g.conj() * adjoint.tensor(d)).real.sum() if g.is_complex() else (g * adjoint.tensor(d)).sum()
            for g, d in zip(firsts, directions, strict=True)
        ]
        return tensors, terms[0] + terms[1] + terms[2]

    tensors, total = slope(arrays)
    seconds = grad(total, tensors, materialize_grads=True) if total.requires_grad else [t * 0 for t in tensors]
    for k, g in enumerate(seconds):

        def loss(value, k=k):
            return slope([value if i == k else a for i, a in enumerate(arrays)])[1].item()

        np.testing.assert_allclose(g.detach().numpy(), finite_difference(loss, arrays[k]), rtol=1e-5, atol=1e-6)


def test_dtypes_differ_on_edges():
    a = leaf(1.0, 2.0, dtype=adjoint.float64)
    b = leaf(3.0, 4.0, dtype=adjoint.float32)
    c = leaf(1 + 2j, 3.0, dtype=adjoint.complex64)
    (a * b).sum().backward()
    assert (a.grad.dtype, b.grad.dtype) == (adjoint.float64, adjoint.float32)
    assert lists([a.grad, b.grad]) == [[3.0, 4.0], [1.0, 2.0]]
    (b * c).abs().sum().backward()
    assert (b.grad.dtype, c.grad.dtype) == (adjoint.float32, adjoint.complex64)
    np.testing.assert_allclose(b.grad.numpy(), [1 + 5**0.5, 2 + 3.0], rtol=1e-6)


@pytest.mark.parametrize("create_graph", [False, True])
def test_cast_sends_gradients_back_in_the_old_dtype(create_graph):
    x = leaf(1.0, 2.0, dtype=adjoint.float32)
    (g,) = grad((x.to(adjoint.float64) * 3).sum(), x, create_graph=create_graph)
    assert g.dtype is adjoint.float32 and g.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("create_graph", [False, True])
def test_broadcast_inputs_get_gradients_of_their_shape(create_graph):
    a = adjoint.ones(3, 1, dtype=adjoint.float64, requires_grad=True)
    b = adjoint.ones(4, dtype=adjoint.float64, requires_grad=True)
    c = scalar(2.0)
    gradients = grad((a * b * c).sum(), [a, b, c], create_graph=create_graph)
    assert [tuple(g.shape) for g in gradients] == [(3, 1), (4,), ()]
    assert lists(gradients) == [[[8.0]] * 3, [6.0] * 4, 12.0]


@pytest.mark.parametrize("dtype", [adjoint.float16, adjoint.bfloat16])
@pytest.mark.parametrize("create_graph", [False, True])
def test_half_precision(dtype, create_graph):
    rng = np.random.default_rng(3)
    values = [rng.normal(size=(3, 3)), rng.normal(size=(3, 3))]

    def differentiate(kind):
        x, w = [adjoint.tensor(value).to(dtype).to(kind).detach().requires_grad_() for value in values]
        y = ((x @ w).tanh() * x + w.exp()).sort()[0].mean()
        return [y, *grad(y, [x, w], create_graph=create_graph)]

    eps = {adjoint.float16: 2.0**-10, adjoint.bfloat16: 2.0**-7}[dtype]
    for half, full in zip(differentiate(dtype), differentiate(adjoint.float32), strict=True):
        assert half.dtype is dtype
        half = half.detach().to(adjoint.float32).numpy()
        np.testing.assert_allclose(half, full.detach().numpy(), rtol=8 * eps, atol=8 * eps)


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("function", [adjoint.complex, adjoint.polar])
def test_complex_results_of_half_precision(function, create_graph):
    values = [[0.5, -0.25], [1.0, 2.0]]

    def differentiate(kind):
        operands = [adjoint.tensor(value, dtype=kind, requires_grad=True) for value in values]
        y = function(*operands)
        return grad(y, operands, adjoint.tensor([1 - 2j, 3 + 1j]).to(y.dtype), create_graph=create_graph)

    for half, full in zip(differentiate(adjoint.float16), differentiate(adjoint.float32), strict=True):
        assert half.dtype is adjoint.float16
        np.testing.assert_allclose(half.detach().float().numpy(), full.detach().numpy(), rtol=2e-3)


@pytest.mark.parametrize("dtype", [adjoint.float16, adjoint.bfloat16])
def test_half_precision_accumulates(dtype):
    x = adjoint.ones(3, dtype=dtype, requires_grad=True)
    for _ in range(2):
        (x * 3 + x * 4).sum().backward()
    assert x.grad.dtype is dtype and x.grad.to(adjoint.float32).tolist() == [14.0] * 3


def test_half_precision_second_order():
    x = adjoint.tensor(1.5, dtype=adjoint.float16, requires_grad=True)
    (first,) = grad(x**3, x, create_graph=True)
    (second,) = grad(first, x)
    assert (first.item(), second.item()) == (6.75, 9.0) and second.dtype is adjoint.float16


# the engine of docs/engine.md as a reference -------------------------------------------------------------------------

PAGE = engine_page.load()
_take = PAGE.Rule(lambda a, key: a[key], a=lambda g, a_shape, key: PAGE.scatter(g, shape=a_shape, key=(key,)))
_tail_and_head = PAGE.Rule(
    lambda a, b: np.array([a[1], a[2], b[0]]),
    a=lambda g: PAGE.scatter(g[:2], shape=(3,), key=(slice(1, None),)),
    b=lambda g: PAGE.scatter(g[2:], shape=(3,), key=(slice(1),)),
)


def reversed_by_unbind(x):
    return adjoint.stack(x.unbind(0)[::-1])


def first_twice(x):
    parts = x.unbind(0)
    return adjoint.stack([parts[0], parts[0], parts[2]])


def halves_joined(x, y):
    return adjoint.cat([x.split([1, 2])[1], y.split([1, 2])[0]])


#: name: (function of adjoint's tensors, function of the page's tensors, number of arguments)
OPERATIONS = {
    "add": (lambda a, b: a + b, lambda a, b: a + b, 2),
    "subtract": (lambda a, b: a - b, lambda a, b: a - b, 2),
    "multiply": (lambda a, b: a * b, lambda a, b: a * b, 2),
    "sine": (lambda a: a.sin(), PAGE.sin, 1),
    "tanh": (lambda a: a.tanh(), PAGE.tanh, 1),
    "halve": (lambda a: a * 0.5, lambda a: a * 0.5, 1),
    "spread": (
        lambda a: a.mean().expand(3), lambda a: PAGE.expand(PAGE.sum_to(a, shape=()) * (1 / 3), shape=(3,)), 1,
    ),
    "reverse": (reversed_by_unbind, lambda a: a[::-1], 1),
    "first twice": (first_twice, lambda a: _take(a, key=[0, 0, 2]), 1),
    "join": (halves_joined, _tail_and_head, 2),
}  # fmt: skip


def gradients_by_the_page(outputs, inputs, cotangents, create_graph=False):
    """The gradient by each input from the page's engine; zeros for None."""
    pairs = [(output, PAGE.Tensor(g)) for output, g in zip(outputs, cotangents, strict=True) if output.requires_grad]
    roots, seeds = zip(*pairs, strict=True) if pairs else ((), ())
    result = PAGE.run_backward(roots, seeds, create_graph, [PAGE.history(tensor) for tensor in inputs])
    blank = [PAGE.Tensor(np.zeros(tensor.array.shape)) for tensor in inputs]
    return [zeros if g is None else g for g, zeros in zip(result, blank, strict=True)]


@st.composite
def programs(draw):
    n_leaves = draw(st.integers(1, 3))
    steps, n = [], n_leaves
    for _ in range(draw(st.integers(1, 8))):
        name = draw(st.sampled_from(sorted(OPERATIONS)))
        steps.append((name, [draw(st.integers(0, n - 1)) for _ in range(OPERATIONS[name][2])]))
        n += 1
    roots = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3))
    indices = draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=3))
    return n_leaves, steps, roots, indices, draw(st.integers(0, 2**16))


@settings(max_examples=150, deadline=None)
@given(programs(), st.booleans())
def test_random_graphs_against_the_engine_of_the_page(program, create_graph):
    n_leaves, steps, roots, indices, seed = program
    rng = np.random.default_rng(seed)
    starts = rng.normal(size=(n_leaves, 3))
    cotangents = rng.normal(size=(len(roots), 3))

    plain = [PAGE.Tensor(start.copy(), requires_grad=True) for start in starts]
    tensors = [adjoint.tensor(start, requires_grad=True) for start in starts]
    for name, places in steps:
        real, of_page, _ = OPERATIONS[name]
        plain.append(of_page(*[plain[p] for p in places]))
        tensors.append(real(*[tensors[p] for p in places]))

    expected = gradients_by_the_page([plain[r] for r in roots], [plain[w] for w in indices], cotangents)
    seeds = [adjoint.tensor(g) for g in cotangents]
    outputs, inputs = [tensors[r] for r in roots], [tensors[w] for w in indices]
    gradients = grad(outputs, inputs, seeds, retain_graph=True, create_graph=create_graph, materialize_grads=True)
    for w, g, right in zip(indices, gradients, expected, strict=True):
        np.testing.assert_allclose(tensors[w].detach().numpy(), plain[w].array, atol=1e-12)
        np.testing.assert_allclose(g.detach().numpy(), right.array, atol=1e-10)

    backward(outputs, seeds, retain_graph=True, inputs=inputs)
    for w, right in zip(indices, expected, strict=True):
        actual = tensors[w].grad
        np.testing.assert_allclose(np.zeros(3) if actual is None else actual.numpy(), right.array, atol=1e-10)

    for tensor in tensors[:n_leaves]:
        tensor.grad = None
    backward(outputs, seeds)
    PAGE.run_backward([plain[r] for r in roots], [PAGE.Tensor(g) for g in cotangents])
    for tensor, value in zip(tensors[:n_leaves], plain, strict=False):
        actual, right = [np.zeros(3) if t is None else t for t in (tensor.grad, value.grad)]
        np.testing.assert_allclose(np.asarray(actual), right if value.grad is None else right.array, atol=1e-10)


def test_one_cotangent_is_not_taken_for_two_outputs():
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match=r"got 2 tensors and 1 gradients"):
        adjoint.autograd.grad((y, y), x, adjoint.ones(2))
    (gradient,) = adjoint.autograd.grad((y, y), x, (adjoint.ones(2), adjoint.ones(2)))
    assert gradient.tolist() == [4, 4]


# passes without checks of arguments ---------------------------------------------------------------------------------


X, W, FIXED = leaf(2.0, 3.0), leaf(5.0, 7.0), adjoint.tensor([1.0, 2.0], dtype=adjoint.float64)
G, ONE = adjoint.tensor([10.0, 100.0], dtype=adjoint.float64), scalar(1.0, requires_grad=False)
#: The compiled form makes its cotangents of ones itself. The plain form does not.
MAKES_ONES = one_like(np.ones(())) is not None


@pytest.mark.parametrize(
    ("outputs", "inputs", "cotangents", "expected"),
    [
        ("s", [X], None, [[5, 7]]),
        ("s", [X], ONE, [[5, 7]]),
        ("s", [X, W], [ONE], [[5, 7], [2, 3]]),
        ("s", [W, X, W], ONE, [[2, 3], [5, 7], [2, 3]]),
        ("st", [X, W], None, [[9, 13], [2, 3]]),
        ("st", [X, W], [ONE, ONE], [[9, 13], [2, 3]]),
        ("y", [X], G, [[50, 700]]),
        ("y", (X, W), [G], [[50, 700], [20, 300]]),
        ("sy", [X], [None, G], [[55, 707]]),
        ("t", [X, W], ONE, [[4, 6], None]),
        ("s", [], ONE, None),
        ("", [X], None, None),
        ("", [X], [], None),
        ("st", [X], [None], None),
        ("st", [X], [ONE], None),
        ("s", [X], [ONE, ONE], None),
        ("s", [X, 3], ONE, None),
        ("s", [X, FIXED], ONE, None),
        ("s3", [X], [ONE, ONE], None),
        ("3s", [X], [ONE, ONE], None),
        ("sf", [X], [ONE, ONE], None),
        ("y", [X], None, None),
        ("y", [X], G[:1], None),
        ("y", [X], G.float(), None),
        ("y", [X], [3], None),
    ],
)
@pytest.mark.parametrize("create_graph", [False, True])
def test_passes_without_checks_are_those_with_plain_arguments(outputs, inputs, cotangents, expected, create_graph):
    y = X * W
    tensors = {"y": y, "s": y.sum(), "t": (X * X).sum(), "f": FIXED.sum(), "3": 3}
    members = tuple(tensors[name] for name in outputs)
    seeds = cotangents if isinstance(cotangents, list) else [cotangents]
    if not MAKES_ONES and any(cotangent is None for cotangent in seeds):
        expected = None
    for roots in (members, members[0]) if len(members) == 1 else (members,):
        gradients = gradients_of(roots, inputs, cotangents, True, create_graph)
        assert (gradients if gradients is None else lists(gradients)) == expected
        for gradient in gradients or ():
            assert gradient is None or isinstance(gradient, adjoint.Tensor) == create_graph
        if expected is not None:
            assert lists(grad(roots, inputs, cotangents, retain_graph=True, allow_unused=True)) == expected


@pytest.mark.parametrize("retain", [False, True])
def test_passes_without_checks_keep_the_graph_if_asked(retain):
    y = (X * W).sum()
    assert lists(gradients_of(y, [X], ONE, retain, False)) == [[5, 7]]
    if retain:
        assert lists(gradients_of(y, [W], ONE, False, False)) == [[2, 3]]
    with pytest.raises(RuntimeError, match="second time"):
        gradients_of(y, [X], ONE, False, False)
