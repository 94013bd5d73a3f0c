"""Rare states of the graph and of the modes: what nodes show, which history counts, what messages leave out."""

from __future__ import annotations

import _thread
import io
import re
import time
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import scipy.io

import adjoint
from adjoint import func
from adjoint.autograd import Function, detect_anomaly, forward_ad, grad, graph
from adjoint.core.graph import SavedTensor, nodes_behind
from adjoint.core.modes.finite import failure
from adjoint.core.operations.dependence import LostDerivativeError
from adjoint.tensor.table import operations
from adjoint.utils.checkpoint import checkpoint
from adjoint.utils.hooks import RemovableHandle


def leaf(*values: float) -> Any:
    return adjoint.tensor(values or (1.0, 2.0), requires_grad=True)


# what nodes show ------------------------------------------------------------------------------------------------------


def test_a_leaf_that_takes_gradients_of_any_dtype_names_none() -> None:
    x = leaf()
    x.grad_dtype = None
    (metadata,) = graph.get_gradient_edge(x).node._input_metadata
    assert metadata.dtype is None and metadata.shape == (2,)


def test_raw_operands_of_a_sequence() -> None:
    x = leaf()
    node = adjoint.einsum("i,j,k->", x, x * 2, x).grad_fn
    assert [type(each) for each in node._raw_saved_operands] == [SavedTensor] * 3
    assert [each.tolist() for each in node._saved_operands] == [[1, 2], [2, 4], [1, 2]]


def test_a_shape_is_not_shown_where_no_gradient_flows_any_more() -> None:
    w, sizes = leaf(1.0, 2.0, 3.0), []

    def total(x: Any) -> Any:
        y = w.index_add(0, adjoint.tensor([0, 1]), x)
        sizes.append(y.grad_fn._saved_source_sym_sizes)
        return (y**3).sum()

    gradient = func.grad(total)(adjoint.ones(2))
    (node,) = [node for node in nodes_behind([gradient.grad_fn]) if node.name() == "IndexAddBackward0"]
    assert sizes == [(2,)] and node._saved_source_sym_sizes is None and node.next_functions[1] == (None, 0)
    (second,) = grad(gradient.sum(), w)
    assert second.tolist() == [12.0, 18.0, 0.0]  # 6 (w + 1), at the places of x


def test_a_sequence_number_is_set_twice() -> None:
    node = leaf().exp().grad_fn
    for number in (5, 7):
        node._set_sequence_nr(number)
        assert node._sequence_nr() == number


def test_a_handle_removes_its_hook_from_two_tables() -> None:
    first, second = OrderedDict[int, Any](), OrderedDict[int, Any]()
    handle = RemovableHandle(first, extra_dict=second)
    first[handle.id] = second[handle.id] = len
    handle.remove()
    assert not first and not second


def test_a_public_function_says_its_name() -> None:
    assert repr(adjoint.atleast_1d) == "<function atleast_1d>"


def test_no_numbers_are_drawn() -> None:
    nothing = adjoint.zeros(0)
    for draws in (adjoint.bernoulli(nothing), adjoint.poisson(nothing), adjoint.binomial(nothing, nothing)):
        assert draws.shape == (0,)


# which history counts -------------------------------------------------------------------------------------------------


def test_a_saved_leaf_keeps_its_tangent_after_its_flag_was_switched_off() -> None:
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0, 10.0]))
        x = dual.clone().requires_grad_()
        edge = graph.get_gradient_edge(x)
        y = x**3
        x.requires_grad_(False)
        (gradient,) = grad(y.sum(), edge, create_graph=True)
        primal, tangent = forward_ad.unpack_dual(gradient)
    assert primal.tolist() == [3, 12] and tangent.tolist() == [6, 120]


@pytest.mark.parametrize("hooked", [False, True])
def test_second_derivative_of_a_result_written_into_a_view(hooked: bool) -> None:
    x = leaf(0.5, 1.0, 2.0)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t) if hooked else adjoint.enable_grad():
        base = x * 2
        base[:2].exp_()
    (first,) = grad(base.sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    np.testing.assert_allclose(second.numpy(), [4 * np.e, 4 * np.e**2, 0], rtol=1e-6)


class Copied(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g


@pytest.mark.parametrize("copy", [lambda x: x * 1, Copied.apply])
def test_a_saved_result_keeps_the_history_that_detach_cut_off(copy: Any) -> None:
    x = leaf()
    y = copy(x)
    z = y * y
    y.detach_()
    (first,) = grad(z.sum(), x, create_graph=True)
    (second,) = grad(first.sum(), x)
    assert y.is_leaf and second.tolist() == [2, 2]


def test_of_two_tensors_of_one_node_the_one_that_is_written_first_retains_its_gradient() -> None:
    """Both share the hook that retains; torch fails with an internal assertion."""
    y = leaf().exp()
    y.retain_grad()
    twin = y.grad_fn._saved_result
    twin.retain_grad()
    y.mul_(2)
    twin.mul_(3)
    assert y.retains_grad and not twin.retains_grad


def test_the_number_of_the_pass_outside_of_passes() -> None:
    """A checkpointed value that is read outside of a pass is computed again."""
    x = leaf()
    y = checkpoint(lambda t: t.exp(), x, use_reentrant=False)
    for _ in range(2):
        np.testing.assert_allclose(y.grad_fn._saved_result.tolist(), np.exp([1, 2]), rtol=1e-6)


@pytest.mark.parametrize("preserves", [False, True])
def test_a_second_run_draws_the_same_numbers_if_it_is_asked_to(preserves: bool) -> None:
    draws = []

    def noisy(t: Any) -> Any:
        draws.append(adjoint.rand(2))
        return (t * draws[-1]).exp()

    checkpoint(noisy, leaf(), use_reentrant=False, preserve_rng_state=preserves).sum().backward()
    assert len(draws) == 2 and (draws[0].tolist() == draws[1].tolist()) == preserves


def test_small_arrays_are_not_saved_to_disk(tmp_path: Any) -> None:
    x, large = leaf(), adjoint.ones(100, requires_grad=True)
    with graph.save_to_disk(tmp_path, min_bytes=100):
        y, z = x.exp().sum(), large.exp().sum()
    assert len(list(tmp_path.iterdir())) == 1
    (y + z).backward()
    np.testing.assert_allclose(x.grad.tolist(), np.exp([1, 2]), rtol=1e-6)


# messages -------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
def test_a_freed_graph_at_whose_input_a_pass_ended_names_the_pass() -> None:
    with detect_anomaly():
        x = leaf()
        y = x * x
        (y * 3).sum().backward(inputs=[y])
    text = r"The first pass, which freed what MulBackward0 had saved, was called here: .*backward\(inputs=\[y\]\)"
    with pytest.raises(RuntimeError, match=text):
        y.sum().backward()


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected")
def test_no_zeros_explain_nan_of_another_shape() -> None:
    with detect_anomaly(), pytest.raises(RuntimeError, match="'LinalgVectorNormBackward0' returned nan") as caught:
        leaf(np.inf, 1.0).norm().backward()
    assert "places of NaN" not in str(caught.value)


def test_an_operation_that_no_python_code_called_has_no_line() -> None:
    errors: list[Any] = []
    arguments = operations["log"], "made NaN", np.array([True]), [("input", np.ones(1))]
    _thread.start_new_thread(errors.extend, (map(failure, *([each] for each in arguments)),))
    while not errors:
        time.sleep(0.001)
    assert str(errors[0]).startswith("log() made NaN at 1 of 1 elements") and "Called here" not in str(errors[0])
    assert "Called here: File" in str(failure(*arguments))


def test_no_module_is_recommended_where_adjoint_has_none() -> None:
    with pytest.raises(LostDerivativeError, match=r"[/\\]scipy[/\\]io[/\\]") as caught:
        adjoint.grad(lambda x: scipy.io.savemat(io.BytesIO(), {"x": x}) or np.sum(x))(np.ones(2))
    assert re.search(r"the functions of adjoint\.scipy", str(caught.value)) is None


class Wrong(int):
    """A number of a user's, whose comparison has a fault."""

    def __le__(self, other: Any) -> Any:
        return self.missing

    __lt__ = __gt__ = __ge__ = __le__


def test_errors_of_numbers_that_users_give_stay_what_they_are() -> None:
    with pytest.raises(AttributeError, match="'Wrong' object has no attribute 'missing'"):
        adjoint.ones(3).unfold(0, Wrong(1), 1)


@pytest.mark.parametrize("dtype", [adjoint.int64, adjoint.float32])
def test_a_number_says_whether_an_axis_is_kept(dtype: Any) -> None:
    x = adjoint.tensor([3, 1, 2], dtype=dtype)
    assert x.argmax(0, keepdim=1).tolist() == [0] and x.argmin(0, keepdim=0).tolist() == 1


class SavesNothing(Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(None, x)
        return x * x

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        nothing, x = ctx.saved_tensors
        assert nothing is None
        return 2 * g * x


def test_a_recording_of_a_function_that_saves_none() -> None:
    replayed = adjoint.compile(SavesNothing.apply)
    for _ in range(3):
        x = leaf()
        replayed(x).sum().backward()
        assert x.grad.tolist() == [2, 4]
