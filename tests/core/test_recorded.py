"""The saved values of nodes, and the access to them."""

from __future__ import annotations

import numpy as np
import pytest

import adjoint
from adjoint.autograd import SavedTensor


def test_indices_of_trailing_slices_are_left_out():
    x, i = adjoint.ones(3, 3, 3, requires_grad=True), adjoint.tensor([0])
    assert [item is None for item in x[:, i].grad_fn._saved_indices] == [True, False]
    assert [item is None for item in x[i, :, 1:].grad_fn._saved_indices] == [False]


def test_saved_values_that_were_modified_have_no_raw_form():
    x, y = adjoint.ones(2, requires_grad=True), adjoint.ones(2)
    node = (x * y).grad_fn
    y.add_(1)
    for name in ("_raw_saved_other", "_saved_other"):
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            getattr(node, name)


def test_saved_values_of_an_index_are_freed_together():
    x = adjoint.ones(3, requires_grad=True)
    y = x[adjoint.tensor([0])]
    (saved,) = y.grad_fn._raw_saved_indices
    y.sum().backward()
    with pytest.raises(RuntimeError, match="on a saved tensor after it has been freed"):
        saved.register_hooks(lambda t: t, lambda t: t)


def test_a_saved_result_keeps_its_history_when_it_is_detached():
    a = adjoint.tensor([[2.0, 0.5], [0.3, 1.0]], dtype=adjoint.float64, requires_grad=True)
    _, values, _ = adjoint.linalg.svd(a)
    total = (values * values).sum()
    values.detach_()
    (gradient,) = adjoint.autograd.grad(total, a, create_graph=True)
    # the sum of the squared singular values is the sum of the squared elements
    np.testing.assert_allclose(gradient.detach().numpy(), 2 * a.detach().numpy())
    np.testing.assert_allclose(adjoint.autograd.grad(gradient.sum(), a)[0].numpy(), np.full((2, 2), 2.0))


def test_a_number_has_a_raw_saved_form():
    assert isinstance((adjoint.ones(2, requires_grad=True) * 2).grad_fn._raw_saved_other, SavedTensor)


OF_TWO = [
    (lambda x, w: x @ w, (4, 4), (4, 4)),
    (lambda x, w: adjoint.nn.functional.linear(x, w), (4, 4), (4, 4)),
    (lambda x, w: adjoint.nn.functional.conv2d(x, w), (1, 2, 5, 5), (3, 2, 2, 2)),
    (lambda x, w: x / w, (4,), (4,)),
    (lambda x, w: adjoint.einsum("ij,jk->ik", x, w), (4, 4), (4, 4)),
    (lambda x, w: adjoint.atan2(x, w), (4,), (4,)),
    (lambda x, w: x.clone().mul_(w), (4,), (4,)),
    (lambda x, w: adjoint.linalg.solve(w + 4 * adjoint.eye(4, dtype=w.dtype), x), (4, 4), (4, 4)),
]


@pytest.mark.parametrize(("function", "first", "second"), OF_TWO)
@pytest.mark.parametrize("create_graph", [False, True])
def test_formulas_run_for_the_inputs_that_are_asked_for(function, first, second, create_graph):
    rng = np.random.default_rng(0)
    tensors = [adjoint.tensor(rng.uniform(0.5, 1, shape), requires_grad=True) for shape in (first, second)]

    def gradients(inputs):
        total = function(*tensors).sum()
        with adjoint.profiler.profile() as profile:
            result = adjoint.autograd.grad(total, inputs, create_graph=create_graph)
        return len(profile.events()), result

    n_both, both = gradients(tensors)
    for tensor, expected in zip(tensors, both, strict=True):
        n, (gradient,) = gradients([tensor])
        assert n < n_both
        assert adjoint.equal(gradient, expected)


def test_all_saved_values_are_checked_and_unpacked():
    """As in torch, the check does not depend on the formulas that run."""
    x, w = adjoint.ones(3, requires_grad=True), adjoint.ones(3, requires_grad=True)
    unpacked = []
    with adjoint.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: (unpacked.append(1), t)[1]):
        total = (x * w).sum()
    adjoint.autograd.grad(total, x)
    assert len(unpacked) == 2
    total = (x * w).sum()
    with adjoint.no_grad():
        w.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        adjoint.autograd.grad(total, w)


def test_formulas_of_nodes_with_many_edges():
    tensors = [adjoint.tensor([float(k)], requires_grad=True) for k in range(80)]
    total = (adjoint.cat(tensors) * adjoint.arange(80)).sum()
    for k in (0, 1, 61, 62, 63, 79):
        assert adjoint.autograd.grad(total, tensors[k], retain_graph=True)[0].item() == k


@pytest.mark.parametrize("dtype", [adjoint.int64, adjoint.uint8, adjoint.bool])
@pytest.mark.parametrize(
    "write",
    [
        lambda y, x: y.copy_(x),
        lambda y, x: y[:1].copy_(x[:1]),
        lambda y, x: y.__setitem__(0, x[0]),
        lambda y, x: y.__setitem__(adjoint.tensor([True, False]), x[0]),
        lambda y, x: y.fill_(x[0]),
        lambda y, x: y.masked_fill_(adjoint.tensor([True, False]), x[0]),
        lambda y, x: y.index_fill_(0, adjoint.tensor([0]), x[0]),
    ],
)
def test_whole_numbers_have_no_history(write, dtype):
    x, y = adjoint.tensor([1.0, 2.0], requires_grad=True), adjoint.zeros(2, dtype=dtype)
    write(y, x)
    assert y[0].item() == 1 and not y.requires_grad and y.grad_fn is None and y._version == 1
