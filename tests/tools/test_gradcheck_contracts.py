"""What gradcheck says of gradients for cotangents of zeros, which must be zeros like the inputs."""

import re

import pytest

import adjoint
from adjoint.autograd import gradcheck
from adjoint.tools.gradcheck.contracts import check_multiplied
from tools.planted import planted


@pytest.mark.parametrize(
    ("gradient", "message"),
    [
        (adjoint.ones(2, dtype=adjoint.float64), "backward not multiplied by grad_output"),
        (adjoint.zeros(2), "grad is incorrect type: adjoint.float32 for input 0, which is adjoint.float64"),
        (
            adjoint.zeros(3, dtype=adjoint.float64),
            "grad is incorrect size: adjoint.Size([3]) for input 0, which has size adjoint.Size([2])",
        ),
    ],
)
def test_gradients_for_zero_cotangents(gradient, message):
    function = planted(lambda x: x * 2, lambda cotangents, x: gradient)
    x = adjoint.ones(2, dtype=adjoint.float64, requires_grad=True)
    with pytest.raises(gradcheck.GradcheckError, match=re.escape(message)):
        check_multiplied(function, (x,))
