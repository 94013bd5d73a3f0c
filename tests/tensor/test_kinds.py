"""The kinds of tensors."""

import re

import pytest

import adjoint
from adjoint import Tensor


def raises(kind, text):
    return pytest.raises(kind, match=re.escape(text))


def test_all_tensors_are_dense():
    x = adjoint.ones(2)
    kinds = [name for name in vars(Tensor) if name.startswith("is_") and isinstance(vars(Tensor)[name], property)]
    assert len(kinds) >= 15 and [name for name in kinds if getattr(x, name)] == ["is_cpu"]
