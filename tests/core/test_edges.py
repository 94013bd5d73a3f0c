"""Gradient edges and hooks on several tensors."""

from __future__ import annotations

import copy
import io
import pickle

import pytest

import adjoint
from adjoint.autograd import backward, grad
from adjoint.autograd.graph import GradientEdge, get_gradient_edge, register_multi_grad_hook
from adjoint.core.hooks import HookTable
from adjoint.core.recorded import public_name
from adjoint.rules import TABLE, Rule
from adjoint.utils import hooks


@pytest.fixture
def a() -> adjoint.Tensor:
    return adjoint.tensor([1.0, 2.0], requires_grad=True)


@pytest.fixture
def b() -> adjoint.Tensor:
    return adjoint.tensor([3.0, 4.0], requires_grad=True)


def test_edges_stand_for_tensors(a: adjoint.Tensor, b: adjoint.Tensor) -> None:
    h = a * b
    y = h.sum()
    edge = get_gradient_edge(h)
    assert isinstance(edge, GradientEdge) and edge.node is h.grad_fn and edge.output_nr == 0
    (gradient,) = grad(edge, a, adjoint.ones(2), retain_graph=True)
    assert gradient.tolist() == [3, 4]
    (gradient,) = grad(h, get_gradient_edge(a), adjoint.ones(2), retain_graph=True)
    assert gradient.tolist() == [3, 4]
    gradients = grad([get_gradient_edge(y)], [a, get_gradient_edge(h)], retain_graph=True)
    assert [g.tolist() for g in gradients] == [[3, 4], [1, 1]]
    backward(get_gradient_edge(y), retain_graph=True)
    assert a.grad.tolist() == [3, 4] and b.grad.tolist() == [1, 2]
    backward(y, inputs=[get_gradient_edge(a)], retain_graph=True)
    assert a.grad.tolist() == [6, 8] and b.grad.tolist() == [1, 2]
    (batch,) = grad(get_gradient_edge(y), a, adjoint.ones(3), is_grads_batched=True)
    assert batch.tolist() == [[3, 4]] * 3


def test_edge_outlives_its_tensor(a: adjoint.Tensor) -> None:
    edge = get_gradient_edge(a.exp().unbind(0)[1])
    (gradient,) = grad(edge, a)
    assert gradient[0] == 0 and gradient[1] == a[1].exp()


def test_errors_with_edges(a: adjoint.Tensor) -> None:
    with pytest.raises(RuntimeError, match="It is not possible to get the gradient edge for a Tensor that does not"):
        get_gradient_edge(adjoint.ones(2))
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        grad(get_gradient_edge(a * 2), a)
    unused = get_gradient_edge(a * 2)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        grad(a.sum(), unused)
    assert grad(a.sum(), unused, allow_unused=True) == (None,)
    with pytest.raises(RuntimeError, match="materialize_grads cannot be used when the given input is a GradientEdge"):
        grad(a.sum(), unused, materialize_grads=True)
    edge, other = get_gradient_edge(a), adjoint.ones(2, requires_grad=True)
    gradients = grad((a * 2).sum(), [edge, other], materialize_grads=True)
    assert gradients[0].tolist() == [2.0] * len(a) and gradients[1].tolist() == [0.0, 0.0]


def test_hook_for_all(a: adjoint.Tensor, b: adjoint.Tensor) -> None:
    grads: list[list[object]] = []
    tensors = [a * 2, b * 3, a + b]
    handle = register_multi_grad_hook(tensors, lambda gs: grads.append([g if g is None else g.tolist() for g in gs]))
    first, second, third = tensors
    (first + second).sum().backward(retain_graph=True)
    (first + second + third).sum().backward(retain_graph=True)
    first.sum().backward(retain_graph=True)
    assert grads == [[[1, 1], [1, 1], None], [[1, 1]] * 3, [[1, 1], None, None]]
    handle.remove()
    first.sum().backward()
    assert len(grads) == 3


def test_hook_for_any(a: adjoint.Tensor, b: adjoint.Tensor) -> None:
    grads: list[list[float]] = []
    with register_multi_grad_hook([a, b], lambda g: grads.append(g.tolist()), mode="any"):
        (a * 2 + b).sum().backward()
        b.sum().backward()
    a.sum().backward()
    assert len(grads) == 2 and grads[1] == [1, 1]
    # tensors that require no gradient are ignored
    with register_multi_grad_hook([adjoint.ones(2), b], lambda g: grads.append(g.tolist()), mode="any"):
        (b * 3).sum().backward()
    assert grads[2:] == [[3, 3]]
    register_multi_grad_hook([], print, mode="any").remove()


def test_hook_on_leaves_under_grad_and_nested_passes(a: adjoint.Tensor, b: adjoint.Tensor) -> None:
    calls: list[int] = []

    def count(gradients: list[adjoint.Tensor | None]) -> None:
        calls.append(sum(g is not None for g in gradients))
        if len(calls) == 1:
            with adjoint.enable_grad():
                (a * b).sum().backward()

    with register_multi_grad_hook([a, b], count):
        (a + b).sum().backward()
        grad((a * b).sum(), [a, b])
        grad((a * b).sum(), [a])
    assert calls == [2, 2, 2, 1]


def test_multi_hook_errors(a: adjoint.Tensor) -> None:
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got x"):
        register_multi_grad_hook([a], print, mode="x")
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        register_multi_grad_hook([adjoint.ones(2)], print)

    def fail(gradients: object) -> None:
        raise KeyError("mine")

    with register_multi_grad_hook([a], fail), pytest.raises(KeyError, match="mine"):
        a.sum().backward()


def test_handles_are_copied_and_pickled(a: adjoint.Tensor) -> None:
    calls: list[int] = []
    handle = a.register_hook(lambda g: calls.append(1))
    twin = copy.copy(handle)
    twin.remove()
    a.sum().backward()
    assert not calls
    restored = pickle.loads(pickle.dumps(a.register_hook(print)))
    restored.remove()
    copy.copy(register_multi_grad_hook([a], lambda gradients: calls.append(2))).remove()
    a.sum().backward()
    assert not calls
    # the tensor and its table of hooks no longer exist
    pickle.loads(pickle.dumps(adjoint.ones(2, requires_grad=True).register_hook(print))).remove()


def test_streams_do_not_count() -> None:
    adjoint.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
    with pytest.warns(UserWarning, match="expected a bool, got 1"):
        adjoint.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(1)  # type: ignore[arg-type]


def test_input_metadata(a: adjoint.Tensor) -> None:
    (metadata,) = (a * 2).grad_fn._input_metadata
    assert metadata.shape == (2,) and metadata.dtype is adjoint.float32
    assert get_gradient_edge(a).node.name() == "torch::autograd::AccumulateGrad"


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        (lambda x: x**2, "PowBackward0"),
        (lambda x: x**x, "PowBackward1"),
        (lambda x: 2**x, "PowBackward2"),
        (lambda x: x - 1, "SubBackward0"),
        (lambda x: 1 - x, "RsubBackward1"),
        (lambda x: x % 2, "RemainderBackward0"),
        (lambda x: x.remainder(x), "RemainderBackward1"),
        (lambda x: x.clamp(0, 1), "ClampBackward1"),
        (lambda x: x.clamp(x, None), "ClampBackward0"),
        (lambda x: x.clamp_min(1), "ClampMinBackward0"),
        (lambda x: x.clamp_max(x), "ClampMaxBackward1"),
        (lambda x: x.clone().zero_(), "ZeroBackward0"),
        (lambda x: adjoint.fill(x, 2), "FillBackward0"),
        (lambda x: adjoint.fill(x, x[0]), "FillBackward1"),
        (lambda x: x.masked_fill(x > 0, 2), "MaskedFillBackward0"),
        (lambda x: x.masked_fill(x > 0, x[0]), "MaskedFillBackward1"),
        (lambda x: x.fmod(2), "FmodBackward0"),
        (lambda x: x.div(2, rounding_mode="trunc"), "DivBackward2"),
        (lambda x: x.div(x, rounding_mode="floor"), "DivBackward2"),
        (lambda x: x @ x, "DotBackward0"),
        (lambda x: x.expand(3, 2) @ x, "MvBackward0"),
        (lambda x: x.expand(3, 2) @ x.expand(2, 2), "MmBackward0"),
        (lambda x: x.expand(4, 3, 2) @ x.expand(2, 2), "BmmBackward0"),
        (lambda x: x.sum(), "SumBackward0"),
        (lambda x: x.sum(0), "SumBackward1"),
    ],
)
def test_names_of_nodes_by_overload(a: adjoint.Tensor, expression, name: str) -> None:
    assert type(expression(a).grad_fn).__name__ == expression(a).grad_fn.name() == name


def test_saved_attributes_of_inputs_that_need_no_gradient_are_none(a: adjoint.Tensor) -> None:
    node = (a * adjoint.ones(2)).grad_fn
    assert node._saved_self is None and "_saved_self" in dir(node) and node._saved_other.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="Calling register_hooks on a saved tensor with value None is forbidden"):
        node._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


def test_raw_saved_attributes_of_a_freed_node(a: adjoint.Tensor) -> None:
    y = a.exp()
    y.sum().backward()
    raw = y.grad_fn._raw_saved_result
    with pytest.raises(RuntimeError, match="Calling register_hooks on a saved tensor after it has been freed"):
        raw.register_hooks(lambda t: t, lambda t: t)


def test_saved_attributes_have_torchs_names(a: adjoint.Tensor) -> None:
    node = a.sort(dim=0).values.grad_fn
    assert node._saved_dim == 0 and node._saved_indices.tolist() == [0, 1] and node._saved_self_sym_sizes == (2,)
    node = a.exp().grad_fn
    assert {"_saved_result", "_raw_saved_result"} <= set(dir(node)) and node._saved_result.tolist() == a.exp().tolist()
    listed = {name for name in dir((a * a).grad_fn) if not name.startswith(("__", "_saved", "_raw_saved"))}
    names = "name metadata next_functions register_hook register_prehook requires_grad"
    assert listed == {*names.split(), "_input_metadata", "_register_hook_dict", "_sequence_nr", "_set_sequence_nr"}
    assert "_saved_self" in dir((a * a).grad_fn) and (a * a).grad_fn._saved_other is a
    for reduced in (a.sum(0), a.mean(0), a.amax(0), a.var(0), a.std(0), a.logsumexp(0), a.norm(2, 0)):
        assert reduced.grad_fn._saved_dim == (0,)
    assert a.prod(0).grad_fn._saved_dim == 0 and (a[None].sum((0, 1))).grad_fn._saved_dim == (0, 1)
    assert (a[None] @ a[:, None]).grad_fn._saved_mat2.shape == (2, 1)
    assert adjoint.linalg.inv(a.diag()).grad_fn._saved_inverse.shape == (2, 2)
    with pytest.raises(AttributeError, match="has no attribute '_saved_nothing'; it saved"):
        node._saved_nothing  # noqa: B018


def test_views_without_history_have_no_edge() -> None:
    x = adjoint.ones(3, requires_grad=True)
    with adjoint.no_grad():
        view = x[1:]
    assert view.requires_grad
    for use in (get_gradient_edge, lambda v: register_multi_grad_hook([x * 2, v], print)):
        with pytest.raises(AssertionError, match="Expected gradient function to be set"):
            use(view)


@pytest.mark.parametrize("rule", TABLE.values(), ids=list(TABLE))
def test_what_formulas_need_of_the_engine_is_no_saved_attribute(rule: Rule) -> None:
    names = {name for formula in rule.vjps for name in formula.needs}
    inner = {name for name in names - rule.shown.keys() if name == "needs" or name.endswith("_shapes")}
    assert {public_name(rule, name) for name in inner} <= {None}
    others = {"y", "y1", "input", "input_shape", *names} - inner - rule.shown.keys()
    assert None not in {public_name(rule, name) for name in others}


def test_handles_for_tables_of_others() -> None:
    table, extra = HookTable(), HookTable()
    handle = hooks.RemovableHandle(table, extra_dict=[extra])
    assert not table
    table[handle.id], extra[handle.id] = print, True
    handle.remove()
    assert not table and not extra


def test_a_pickle_warns_of_hooks_that_it_loses(a: adjoint.Tensor) -> None:
    a.register_hook(hooks.unserializable_hook(lambda g: g * 2))
    assert pickle.loads(pickle.dumps(a)).tolist() == a.tolist()
    a.register_hook(print)
    with pytest.warns(UserWarning, match="backward hook <built-in function print> on tensor will not be serialized"):
        pickle.dumps(a)
    with pytest.warns(UserWarning, match="will not be serialized"):
        adjoint.save(a, io.BytesIO())
    parameter = adjoint.nn.Parameter(a.detach())
    parameter.register_hook(print)
    pickle.dumps(parameter)
    adjoint.save(parameter, io.BytesIO())
