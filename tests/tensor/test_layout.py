"""Memory formats, and older names of types."""

from __future__ import annotations

import pickle
import re

import numpy as np
import pytest

import adjoint

IMAGES = adjoint.arange(120.0).reshape(2, 3, 4, 5)
LAST = (60, 1, 15, 3)


def test_copies_in_another_order():
    for copy in (
        IMAGES.to(memory_format=adjoint.channels_last),
        IMAGES.contiguous(memory_format=adjoint.channels_last),
        IMAGES.clone(memory_format=adjoint.channels_last),
        IMAGES.double(memory_format=adjoint.channels_last).float(),
        adjoint.empty(2, 3, 4, 5, memory_format=adjoint.channels_last).copy_(IMAGES),
        adjoint.zeros_like(IMAGES, memory_format=adjoint.channels_last).copy_(IMAGES),
    ):
        assert copy.stride() == LAST and adjoint.equal(copy, IMAGES)
        assert copy.is_contiguous(memory_format=adjoint.channels_last) and not copy.is_contiguous()
        assert copy.contiguous(memory_format=adjoint.channels_last) is copy
    volume = adjoint.zeros(1, 2, 3, 4, 5).contiguous(memory_format=adjoint.channels_last_3d)
    assert volume.stride() == (120, 1, 40, 10, 2)


def test_the_order_of_the_input_is_kept_unless_another_is_given():
    turned = adjoint.zeros(2, 3).t()
    assert (
        turned.clone().stride() == turned.to(adjoint.float64).stride() == adjoint.ones_like(turned).stride() == (1, 3)
    )
    for copy in (
        turned.clone(memory_format=adjoint.contiguous_format),
        turned.contiguous(),
        adjoint.ones_like(turned, memory_format=adjoint.contiguous_format),
        turned.double(memory_format=adjoint.contiguous_format),
    ):
        assert copy.stride() == (2, 1)
    assert turned.to(memory_format=adjoint.preserve_format) is turned


def test_gradients_flow_through_copies():
    x = IMAGES.clone().requires_grad_()
    (x.contiguous(memory_format=adjoint.channels_last) * IMAGES).sum().backward()
    assert adjoint.equal(x.grad, IMAGES)


def test_formats_that_are_refused():
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        adjoint.zeros(2).contiguous(memory_format=adjoint.channels_last)
    with pytest.raises(TypeError, match=re.escape("clone(): argument 'memory_format' must be adjoint.memory_format")):
        adjoint.zeros(2).clone(memory_format=3)
    for kind in (adjoint.memory_format, adjoint.layout):
        with pytest.raises(TypeError, match="cannot create"):
            kind()


def test_formats_are_named_and_copied_as_themselves():
    for each in (adjoint.channels_last, adjoint.preserve_format, adjoint.strided):
        assert repr(each).startswith("adjoint.") and pickle.loads(pickle.dumps(each)) is each
    assert adjoint.zeros(1).layout is adjoint.strided


# types --------------------------------------------------------------------------------------------------------------


def test_types_make_and_recognise_tensors():
    assert adjoint.FloatTensor([1, 2]).dtype is adjoint.float32 and adjoint.LongTensor([1.5]).tolist() == [1]
    assert adjoint.DoubleTensor(2, 3).shape == (2, 3) and adjoint.BoolTensor([1, 0]).tolist() == [True, False]
    assert adjoint.ByteTensor(adjoint.Size([2, 2])).shape == (2, 2) and adjoint.HalfTensor().shape == (0,)
    assert adjoint.FloatTensor(np.ones(2)).dtype is adjoint.float32
    x = adjoint.zeros(2)
    assert isinstance(x, adjoint.FloatTensor) and not isinstance(x, adjoint.LongTensor)
    assert not isinstance(1.0, adjoint.FloatTensor)
    adjoint.FloatTensor(x)[0] = 1.0
    assert x.tolist() == [1.0, 0.0]


def test_types_are_named():
    x = adjoint.zeros(1)
    assert x.type() == "adjoint.FloatTensor" and repr(adjoint.FloatTensor) == "<class 'adjoint.FloatTensor'>"
    for other in (adjoint.DoubleTensor, "adjoint.DoubleTensor", "torch.DoubleTensor", adjoint.float64):
        assert x.type(other).dtype is adjoint.float64
    with pytest.raises(ValueError, match="invalid type: 'DoubleTensor'"):
        x.type("DoubleTensor")


def test_the_default_type():
    adjoint.set_warn_always(True)
    with pytest.warns(UserWarning, match=r"set_default_tensor_type\(\) is deprecated as of PyTorch 2.1"):
        adjoint.set_default_tensor_type(adjoint.DoubleTensor)
    adjoint.set_warn_always(False)
    try:
        assert adjoint.zeros(1).dtype is adjoint.float64
        adjoint.set_default_tensor_type("adjoint.FloatTensor")
        assert adjoint.zeros(1).dtype is adjoint.float32
        with pytest.raises(TypeError, match="only floating-point types are supported as the default type"):
            adjoint.set_default_tensor_type(adjoint.LongTensor)
    finally:
        adjoint.set_default_dtype(adjoint.float32)


def test_types_refuse_what_they_cannot_hold():
    with pytest.raises(
        TypeError, match=r"expected a tensor of dtype adjoint\.float32, but got one of dtype adjoint\.int64"
    ):
        adjoint.FloatTensor(adjoint.tensor([1]))
    with pytest.raises(TypeError, match=re.escape("new(): data must be a sequence (got float)")):
        adjoint.FloatTensor(1.5)


def test_conversions():
    x = adjoint.tensor([1.5, 200.0])
    assert x.byte().tolist() == [1, 200] and x.bfloat16().dtype is adjoint.bfloat16


def test_small_constructors():
    assert (
        adjoint.scalar_tensor(2).dtype is adjoint.float32 and adjoint.scalar_tensor(2, dtype=adjoint.int64).item() == 2
    )
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        adjoint.scalar_tensor(2j)
    with pytest.raises(
        TypeError, match=re.escape("scalar_tensor(): argument 's' (position 1) must be Number, not list")
    ):
        adjoint.scalar_tensor([1])
    for name in ("tril_indices", "triu_indices"):
        result = getattr(adjoint, name)(3, 4, 1)
        np.testing.assert_array_equal(result.numpy(), np.stack(getattr(np, name)(3, 1, 4)))
    assert adjoint.tril_indices(2, 2, dtype=adjoint.int32).dtype is adjoint.int32
    with pytest.raises(RuntimeError, match="row must be non-negative, got-2"):
        adjoint.tril_indices(-2, 3)
    with pytest.raises(NotImplementedError, match="\"triu_indices\" not implemented for 'Float'"):
        adjoint.triu_indices(2, 3, dtype=adjoint.float32)


def test_small_questions():
    x = adjoint.tensor([0.0])
    assert not adjoint.is_nonzero(x) and (x + 1).is_nonzero()
    assert adjoint.is_signed(x) and not adjoint.is_signed(x.byte()) and x.is_same_size(x + 1)
    with pytest.raises(RuntimeError, match="Boolean value of Tensor with no values is ambiguous"):
        adjoint.is_nonzero(x[:0])


def test_dim_order():
    assert adjoint.zeros(2, 3, 4).permute(2, 0, 1).dim_order() == (1, 2, 0)
    assert adjoint.zeros(2, 3).dim_order(ambiguity_check=True) == (0, 1)
    with pytest.raises(RuntimeError, match=re.escape("The tensor does not have unique dim order")):
        adjoint.zeros(2, 1).dim_order(ambiguity_check=True)


def test_names_of_types():
    assert adjoint.typename(adjoint.zeros(1)) == "adjoint.FloatTensor" and adjoint.typename(3) == "int"
    assert adjoint.typename(adjoint.nn.Parameter) == "adjoint.nn.parameter.Parameter"
