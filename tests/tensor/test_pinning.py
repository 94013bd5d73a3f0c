"""`pin_memory=` of every function that makes tensors: an error without a device, pinned memory with one."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import adjoint
from adjoint.tensor.default_device import PINNED
from support import stand_in_cupy

x = adjoint.arange(6.0).reshape(2, 3)
MAKERS: dict[str, Callable[..., Any]] = {
    "tensor": lambda **o: adjoint.tensor([1.0, 2.0], **o),
    "zeros": lambda **o: adjoint.zeros(2, **o),
    "ones": lambda **o: adjoint.ones((2, 3), **o),
    "empty": lambda **o: adjoint.empty(2, **o),
    "full": lambda **o: adjoint.full((2,), 1.0, **o),
    "arange": lambda **o: adjoint.arange(3, **o),
    "linspace": lambda **o: adjoint.linspace(0, 1, 3, **o),
    "logspace": lambda **o: adjoint.logspace(0, 1, 3, **o),
    "eye": lambda **o: adjoint.eye(2, **o),
    "rand": lambda **o: adjoint.rand(2, **o),
    "randn": lambda **o: adjoint.randn(2, **o),
    "randint": lambda **o: adjoint.randint(0, 9, (2,), **o),
    "randperm": lambda **o: adjoint.randperm(4, **o),
    "scalar_tensor": lambda **o: adjoint.scalar_tensor(2.0, **o),
    "empty_strided": lambda **o: adjoint.empty_strided((2, 3), (1, 4), **o),
    "empty_permuted": lambda **o: adjoint.empty_permuted((2, 3), (1, 0), **o),
    "tril_indices": lambda **o: adjoint.tril_indices(2, 2, **o),
    "triu_indices": lambda **o: adjoint.triu_indices(2, 2, **o),
    "zeros_like": lambda **o: adjoint.zeros_like(x, **o),
    "ones_like": lambda **o: adjoint.ones_like(x.t(), **o),
    "empty_like": lambda **o: adjoint.empty_like(x, **o),
    "full_like": lambda **o: adjoint.full_like(x, 2.0, **o),
    "rand_like": lambda **o: adjoint.rand_like(x, **o),
    "randn_like": lambda **o: adjoint.randn_like(x, **o),
    "randint_like": lambda **o: adjoint.randint_like(x, 5, **o),
    "new_zeros": lambda **o: x.new_zeros(2, **o),
    "new_ones": lambda **o: x.new_ones(2, **o),
    "new_empty": lambda **o: x.new_empty(2, **o),
    "new_full": lambda **o: x.new_full((2,), 3.0, **o),
    "new_empty_strided": lambda **o: x.new_empty_strided((2, 3), (1, 2), **o),
    "normal": lambda **o: adjoint.normal(0.0, 1.0, (2,), **o),
    "fft.fftfreq": lambda **o: adjoint.fft.fftfreq(4, **o),
    "fft.rfftfreq": lambda **o: adjoint.fft.rfftfreq(4, **o),
    **{
        f"{name}_window": lambda name=name, **o: getattr(adjoint, f"{name}_window")(4, **o)
        for name in ("hann", "hamming", "bartlett", "blackman", "kaiser")
    },
}


def test_every_function_that_takes_it_is_here() -> None:
    assert set(PINNED) <= MAKERS.keys()


@pytest.mark.skipif(adjoint.cuda.is_available(), reason="there is a device")
@pytest.mark.parametrize("name", MAKERS)
def test_without_a_device_there_is_no_pinned_memory(name) -> None:
    state = adjoint.get_rng_state()
    with pytest.raises(RuntimeError, match=r"^pin_memory=True requires a CUDA or other accelerator backend; no pinned"):
        MAKERS[name](pin_memory=True)
    assert adjoint.equal(adjoint.get_rng_state(), state)
    for no in (False, None):
        assert not MAKERS[name](pin_memory=no).is_pinned()


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("wrong", [1, "yes", 0.0])
def test_anything_but_a_bool_is_refused(name, wrong) -> None:
    with pytest.raises(TypeError, match="argument 'pin_memory' must be bool, not "):
        MAKERS[name](pin_memory=wrong)


@pytest.fixture
def device() -> Iterator[types.ModuleType]:
    with stand_in_cupy.install() as module:
        yield module


@pytest.mark.parametrize("name", MAKERS)
def test_with_a_device_it_is_pinned_and_else_the_same(name, device: types.ModuleType) -> None:
    adjoint.manual_seed(3)
    plain = MAKERS[name]()
    adjoint.manual_seed(3)
    pinned = MAKERS[name](pin_memory=True)
    assert pinned.is_pinned() and not plain.is_pinned()
    assert pinned.stride() == plain.stride() and pinned.dtype is plain.dtype
    if "empty" not in name:
        assert numpy.array_equal(pinned.numpy(), plain.numpy())
    if pinned.is_floating_point():
        assert MAKERS[name](pin_memory=True, requires_grad=True).requires_grad


def test_what_lies_on_a_device_cannot_be_pinned(device: types.ModuleType) -> None:
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        adjoint.ones(2, device="cuda", pin_memory=True)
