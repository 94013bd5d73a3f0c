"""What counts as an array, and the namespaces of what does not."""

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
