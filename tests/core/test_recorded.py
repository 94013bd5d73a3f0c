"""What nodes keep of their operations, and how they hand it out."""

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
    # the sum of the squared singular values is that of the squared elements
    np.testing.assert_allclose(gradient.detach().numpy(), 2 * a.detach().numpy())
    np.testing.assert_allclose(adjoint.autograd.grad(gradient.sum(), a)[0].numpy(), np.full((2, 2), 2.0))


def test_a_number_has_a_raw_saved_form():
    assert isinstance((adjoint.ones(2, requires_grad=True) * 2).grad_fn._raw_saved_other, SavedTensor)
