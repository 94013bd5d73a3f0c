"""Boxes of another tracer in adjoint's functions raise a TypeError, or give the other tracer's result.

The test defines the other tracer, with the names and the behaviour of HIPS autograd's boxes.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import adjoint
from adjoint.arrays.namespace import is_array, is_traced
from adjoint.compat import autograd as hips


class Box:
    """A value inside the other tracer."""

    def __init__(self, value: Any) -> None:
        self._value = value


class ArrayBox(Box):
    """A box with an array's attributes. NumPy's functions get the box itself."""

    __array_priority__ = 100.0
    shape = property(lambda self: numpy.shape(self._value))
    ndim = property(lambda self: numpy.ndim(self._value))
    dtype = property(lambda self: numpy.asarray(self._value).dtype)
    size = property(lambda self: numpy.size(self._value))

    def __len__(self) -> int:
        return len(self._value)

    def __getitem__(self, index: Any) -> Any:
        return ArrayBox(self._value[index])

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return numpy

    def __mul__(self, other: Any) -> Any:
        return ArrayBox(numpy.multiply(self._value, other))

    __rmul__ = __mul__


@pytest.fixture
def box() -> Iterator[Callable[[Any], Any]]:
    """Make boxes of a tracer with the other tracer's names."""
    module = types.ModuleType("autograd.tracer")
    module.Box = Box  # type: ignore[attr-defined]
    before = sys.modules.get("autograd.tracer")
    sys.modules["autograd.tracer"] = module
    yield ArrayBox
    if before is None:
        del sys.modules["autograd.tracer"]
    else:
        sys.modules["autograd.tracer"] = before


USES: dict[str, Callable[[Any], Any]] = {
    "an operation": adjoint.sin,
    "one of two": lambda b: adjoint.mul(adjoint.ones(2), b),
    "the other of two": lambda b: adjoint.sub(b, adjoint.ones(2)),
    "an operator's function": lambda b: adjoint.Tensor.__mul__(adjoint.ones(2), b) is NotImplemented and adjoint.exp(b),
    "one of several": lambda b: adjoint.stack([b, b]),
    "a product of matrices": lambda b: adjoint.matmul(adjoint.eye(2), b),
    "linear algebra": adjoint.linalg.norm,
    "a choice": lambda b: adjoint.where(adjoint.tensor([True, False]), b, b),
    "in place": lambda b: adjoint.ones(2).add_(b),
    "an item": lambda b: adjoint.zeros(2).__setitem__(0, b),
    "tensor": adjoint.tensor,
    "tensor of several": lambda b: adjoint.tensor([b, b]),
    "as_tensor": adjoint.as_tensor,
    "asarray": adjoint.asarray,
    "from_numpy": adjoint.from_numpy,
    "full": lambda b: adjoint.full((2,), b),
    "new_tensor": lambda b: adjoint.ones(2).new_tensor(b),
    "the other layer's grad": lambda b: hips.grad(lambda x: x)(b),
    "the other layer's vspace": hips.extend.vspace,
}


@pytest.mark.parametrize("value", [2.0, numpy.array([1.0, 2.0])], ids=["number", "array"])
@pytest.mark.parametrize("use", USES)
def test_a_box_of_another_tracer_is_a_type_error(use: str, value: Any, box: Callable[[Any], Any]) -> None:
    foreign = box(value)
    assert is_traced(foreign) and not is_array(foreign)
    with pytest.raises(TypeError, match=r"ArrayBox|Tensor"):
        USES[use](foreign)


@pytest.mark.parametrize("make", [adjoint.tensor, adjoint.as_tensor, lambda b: adjoint.tensor([b])])
def test_the_message_says_what_it_is_and_what_to_do(make: Callable[[Any], Any], box: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"got an ArrayBox of .*, which stands for an array while another library"):
        make(box(numpy.ones(2)))


def test_arrays_and_boxes_of_adjoint_are_none_of_these(box: Callable[[Any], Any]) -> None:
    assert not is_traced(numpy.ones(2)) and not is_traced(adjoint.ones(2)) and not is_traced(2.0)
    flags: list[bool] = []
    hips.grad(lambda x: (flags.append(is_traced(x)), x * x)[1])(2.0)
    assert flags == [False]
