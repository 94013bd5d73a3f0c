"""The values that count as arrays, and the namespaces of arrays."""

import numpy
import pytest

import adjoint
from adjoint.arrays.namespace import is_array, namespace


@pytest.mark.parametrize("number", [True, 2, 2.0, 2j, numpy.float64(2), numpy.float32(2), numpy.int64(2)])
def test_numbers_are_no_arrays_also_after_their_namespace_was_asked_for(number):
    assert not is_array(number)
    namespace(number)
    assert not is_array(number)
    assert (adjoint.tensor(1.0) + number).dtype in (adjoint.float32, adjoint.complex64)


def test_tensors_and_lists_are_no_arrays():
    assert [is_array(value) for value in (adjoint.ones(2), [1.0], None, numpy.ones(2))] == [False, False, False, True]


# tensors of other libraries' arrays -----------------------------------------------------------------------------------


def dask_array(values):
    return pytest.importorskip("dask.array").from_array(values, chunks=1)


def strict_array(values):
    return pytest.importorskip("array_api_strict").asarray(values)


WAYS = {
    "tensor": adjoint.tensor,
    "tensor-of-a-tensor": lambda array, **options: adjoint.tensor(adjoint.as_tensor(array), **options),
    "new_tensor": lambda array, **options: adjoint.ones(1, dtype=adjoint.float64).new_tensor(array, **options),
    "as_tensor": adjoint.as_tensor,
    "asarray-with-a-copy": lambda array, **options: adjoint.asarray(array, copy=True, **options),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [dask_array, strict_array])
@pytest.mark.parametrize("dtype", [None, adjoint.float32])
@pytest.mark.parametrize("shape", [(), (3,), (2, 0)])
def test_tensors_stay_in_the_library_of_an_array(way, make, dtype, shape):
    values = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    array = make(values)
    result = WAYS[way](array, dtype=dtype)
    assert type(result._array) is type(array)
    assert result.dtype is (dtype or adjoint.float64) and result.shape == shape
    numpy.testing.assert_array_equal(numpy.asarray(result._array), values)


@pytest.mark.parametrize("way", [way for way in WAYS if way != "as_tensor"])
@pytest.mark.parametrize("make", [dask_array, strict_array])
def test_a_copy_of_an_array_is_written_to_alone(way, make):
    array = make(numpy.ones(3))
    WAYS[way](array).zero_()
    numpy.testing.assert_array_equal(numpy.asarray(array), numpy.ones(3))


@pytest.mark.parametrize("make", [dask_array, strict_array])
def test_tensors_of_arrays_have_gradients(make):
    x = adjoint.tensor(make(numpy.arange(3.0)), requires_grad=True)
    (x * x).sum().backward()
    numpy.testing.assert_array_equal(numpy.asarray(x.grad._array), [0.0, 2.0, 4.0])


class PytorchTensor:
    """A stand-in for a PyTorch tensor: it has a dtype, and methods of its own."""

    def __init__(self, values):
        self.values, self.dtype = values, values.dtype

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __array_namespace__(self, **_):
        return numpy

    def size(self):
        return self.values.shape


PytorchTensor.__module__, PytorchTensor.__name__ = "torch", "Tensor"


@pytest.mark.parametrize("shares", [False, True])
def test_tensors_of_pytorch_become_arrays_of_numpy(shares):
    values = numpy.ones(3)
    result = (adjoint.as_tensor if shares else adjoint.tensor)(PytorchTensor(values))
    assert type(result._array) is numpy.ndarray and result.shape == (3,)
    assert numpy.shares_memory(result._array, values) == shares
