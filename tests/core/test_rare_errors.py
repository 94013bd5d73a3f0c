"""Errors of several calls. The errors of single calls are in tests/data/messages.json."""

import re

import numpy as np
import pytest

import adjoint
from adjoint.arrays.kernels.places import sum_at
from adjoint.arrays.libraries.numpy_namespace import view_with_strides
from adjoint.arrays.namespace import namespace
from adjoint.autograd import Function, forward_ad, graph
from adjoint.core.recorded import unpack_saved
from adjoint.functions.composite import composite
from adjoint.utils.checkpoint import CheckpointError, checkpoint


def leaf(*values):
    return adjoint.tensor(values or (1.0, 2.0), requires_grad=True)


def make(forward, **others):
    members = {"forward": forward, "backward": lambda ctx, g: g, **others}
    return type("My", (Function,), {name: staticmethod(member) for name, member in members.items()})


def with_gradient():
    x = leaf()
    x.sum().backward()
    return x


def too_deep():
    nested = 1.0
    for _ in range(65):
        nested = [nested]
    return adjoint.tensor(nested)


def overlapping():
    x = adjoint.ones(4)
    x[1:].add_(x[:-1])


def overlapping_in_another_order():
    memory = adjoint.ones(25)
    first, second = (memory[k : k + 24].view(2, 3, 1, 4).transpose(1, 3) for k in range(2))
    first.add_(second)


def view_of_a_reshaped_base():
    base = adjoint.ones(4, dtype=adjoint.complex64)
    view = adjoint.view_as_real(base)
    base.unsqueeze_(0)
    view.mul_(leaf())


def leaf_replaced_by(shape):
    def replace():
        x = adjoint.ones(1, requires_grad=True)

        def hook(gradient):
            x.data = adjoint.ones(shape)

        x.register_hook(hook)
        (x * 2).backward()

    return replace


def data_replaced_before_the_pass():
    x = leaf()
    y = (x * 2).sum()
    x.data = adjoint.ones(3)
    y.backward()


def number_as_raw_saved():
    return leaf().sum(0).grad_fn._raw_saved_dim


def inference_tensor_saved():
    with adjoint.inference_mode():
        constant = adjoint.ones(2)
    make(lambda ctx, x: (ctx.save_for_backward(constant), x * 2)[1]).apply(leaf())


def freed_saved_tensor():
    y = leaf().exp()
    raw, node = y.grad_fn._raw_saved_result, y.grad_fn
    y.sum().backward()
    unpack_saved(raw, node)


def node_hook_that_returns_a_number():
    y = leaf().exp()
    y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: 3)
    y.sum().backward()


def view_without_history():
    base = adjoint.ones(2)
    with adjoint.no_grad():
        view = base[:1]
    base.requires_grad_()
    adjoint.autograd.grad(view, base, adjoint.ones(1))


def memory_in_pieces():
    strided = np.arange(12.0).reshape(3, 4)[:, ::2]
    array = np.frombuffer(b"12345678" * 4, np.uint8)
    array = np.asarray(memoryview(strided)) if array.size else strided
    adjoint.from_numpy(array).as_strided((2,), (1,))


def many_rows_out_of_range():
    shape, n = (3, 5000), 4
    weight = adjoint.ones(shape, dtype=adjoint.float64)
    weight.index_put((adjoint.tensor([7] * n),), adjoint.ones(n, 5000, dtype=adjoint.float64), accumulate=True)


def derivative_that_is_missing():
    with forward_ad.dual_level():
        b = forward_ad.make_dual(adjoint.ones(2, 1), adjoint.ones(2, 1))
        adjoint.linalg.ldl_solve(adjoint.eye(2), adjoint.tensor([1, 2], dtype=adjoint.int32), b)


def setup_context_of_the_base():
    make(lambda x: x * 2, setup_context=lambda *args: Function.setup_context(*args)).apply(leaf())


def keyword_for_setup_context():
    make(lambda x, *, k=2: x * k, setup_context=lambda ctx, inputs, output: None).apply(leaf())


def saved_tensors_twice_in_a_checkpoint():
    def backward(ctx, g):
        return g * ctx.saved_tensors[0] * ctx.saved_tensors[0]

    function = make(lambda ctx, x: (ctx.save_for_backward(x), x * 2)[1], backward=backward)
    checkpoint(function.apply, leaf(), use_reentrant=False).sum().backward()


def declared_twice():
    @composite(namespace="linalg")
    def norm(input):
        return input


SECOND_TIME = "Trying to backward through the graph a second time"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (too_deep, ValueError, "too many dimensions 'list'"),
        (lambda: namespace(object), TypeError, "expected an array or a number, got type: <class 'object'>; convert it"),
        (lambda: setattr(leaf(), "requires_grad", 1), RuntimeError, "requires_grad must be a bool"),
        (lambda: setattr(leaf(), "grad_dtype", 3), RuntimeError, "grad_dtype must be a adjoint.dtype or None, but got"),
        (
            lambda: setattr(leaf() * 2, "grad_dtype", adjoint.float64),
            RuntimeError,
            "grad_dtype can only be set on leaf tensors.",
        ),
        (
            lambda: setattr(with_gradient(), "grad_dtype", adjoint.float64),
            RuntimeError,
            "Cannot set grad_dtype to 'Double' because there is already a gradient with dtype 'float'. Please clear",
        ),
        (overlapping, RuntimeError, "unsupported operation: some elements of the input tensor and the written-to"),
        (
            overlapping_in_another_order,
            RuntimeError,
            "unsupported operation: some elements of the input tensor and the",
        ),
        (view_of_a_reshaped_base, RuntimeError, "the base of this view was reshaped in place after the view"),
        (leaf_replaced_by((3,)), RuntimeError, "a gradient of size [1] arrived at a leaf of size [3], whose data was"),
        (data_replaced_before_the_pass, RuntimeError, "The size of tensor a (3) must match the size of tensor b (2)"),
        (number_as_raw_saved, AttributeError, "'SumBackward1' object has no attribute '_raw_saved_dim': it saved 0"),
        (
            lambda: leaf().sum().grad_fn._raw_saved_self_sym_sizes,
            AttributeError,
            "'SumBackward0' object has no attribute '_raw_saved_self_sym_sizes': it saved (2,), no tensor",
        ),
        (inference_tensor_saved, RuntimeError, "Inference tensors cannot be saved for backward."),
        (freed_saved_tensor, RuntimeError, SECOND_TIME),
        (node_hook_that_returns_a_number, TypeError, "expected tuple, but hook returned 'int'"),
        (view_without_history, RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"),
        (memory_in_pieces, RuntimeError, "as_strided(): the memory that an array with strides"),
        (many_rows_out_of_range, IndexError, "index 7 is out of bounds for"),
        (derivative_that_is_missing, RuntimeError, "derivative for aten::linalg_ldl_solve is not implemented"),
        (declared_twice, ValueError, "composite 'norm' is declared twice in namespace 'linalg'"),
        (lambda: sum_at((3, 5000), (np.array([7]),), np.ones((1, 5000))), IndexError, "index 7 is out of bounds for"),
        (
            lambda: view_with_strides(np.ones(4), (5,), (8,)),
            RuntimeError,
            "setStorage: sizes [5], strides [1], storage offset 0",
        ),
        (setup_context_of_the_base, NotImplementedError, "setup_context is not implemented."),
        (keyword_for_setup_context, TypeError, "forward() got an unexpected keyword argument 'k'"),
        (saved_tensors_twice_in_a_checkpoint, CheckpointError, "adjoint.utils.checkpoint: Unpack is being triggered"),
    ],
)
def test_error(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


def test_operands_between_each_other_may_overlap():
    """Only arrays without gaps are checked for overlap, as in torch."""
    memory = adjoint.zeros(41)
    first, second = memory[:40].view(2, 5, 4)[:, :3].transpose(1, 2), memory[1:].as_strided((2, 4, 3), (20, 1, 4))
    first.add_(second + 1)
    assert first.sum() == 24
    first.add_(second)


def test_arrays_of_other_libraries_are_not_saved_to_disk(tmp_path):
    dask = pytest.importorskip("dask.array")
    y = adjoint.asarray(dask.ones(2)).requires_grad_()
    message = r"save_to_disk\(\) writes only NumPy arrays, and got an array of dask\."
    with graph.save_to_disk(tmp_path), pytest.raises(TypeError, match=message):
        y.exp()
