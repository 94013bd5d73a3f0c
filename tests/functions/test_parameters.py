"""Argument checks that several families of functions share."""

import pytest

import adjoint


@pytest.mark.parametrize(
    "call",
    [
        lambda x: adjoint.kaiser_window(4, beta=x),
        lambda x: adjoint.hamming_window(4, alpha=x),
        lambda x: adjoint.hamming_window(4, beta=x),
        lambda x: adjoint.fft.fftfreq(4, d=x),
        lambda x: adjoint.fft.rfftfreq(4, d=x),
        lambda x: adjoint.fft.fftfreq(x),
        lambda x: adjoint.fft.rfftfreq(x),
    ],
)
def test_parameters_of_functions_that_make_tensors_are_no_tensors(call):
    with pytest.raises(TypeError, match=r"must be (int|float), not Tensor"):
        call(adjoint.ones(1, 1))
