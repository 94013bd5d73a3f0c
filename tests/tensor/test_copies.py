"""Public functions are pickled and copied by their names; copies of tensors lie in memory as the tensors do."""

from __future__ import annotations

import copy
import importlib
import pickle

import numpy
import pytest

import adjoint

NAMESPACES = (
    "", "linalg", "fft", "special", "masked", "nn.functional", "nn.init", "nn.utils", "func", "random", "testing",
    "signal.windows", "memory", "implicit", "integrate", "optimize", "autograd", "autograd.functional", "array_api",
    "autograd.graph", "autograd.forward_ad", "utils.checkpoint", "scipy.special", "scipy.linalg", "scipy.signal",
    "scipy.fft",
)  # fmt: skip


def _public(namespace):
    space = importlib.import_module(f"adjoint.{namespace}".rstrip("."))
    library = importlib.import_module(namespace) if namespace.startswith("scipy") else None
    for name in dir(space):
        value = getattr(space, name)
        if callable(value) and not name.startswith("_") and value is not getattr(library, name, None):
            yield name, value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("namespace", NAMESPACES)
def test_public_functions_are_pickled_by_name(namespace):
    found = dict(_public(namespace))
    assert found
    assert [name for name, value in found.items() if copy.deepcopy(value) is not value] == []
    assert [name for name, value in found.items() if copy.copy(value) is not value] == []
    for name, value in found.items():
        assert pickle.loads(pickle.dumps(value)) is value, name


def test_methods_of_tensors_are_pickled_by_name():
    for name in dir(adjoint.Tensor):
        value = None if name.startswith("_") else getattr(adjoint.Tensor, name, None)
        if callable(value) and not isinstance(value, type):
            assert pickle.loads(pickle.dumps(value)) == value, name


def _arrays():
    x = adjoint.arange(24.0).reshape(2, 3, 4)
    yield from (x, x.mT, x[:, ::2], x.permute(2, 0, 1), x[1], x[0, 0, 0], x[:0], x.expand(5, 2, 3, 4), x[..., 1:3].mT)
    yield adjoint.ones(3, dtype=adjoint.complex64).real
    yield adjoint.from_numpy(numpy.asfortranarray(numpy.ones((2, 3))))
    yield adjoint.from_numpy(numpy.arange(6.0)[::-1])
    yield adjoint.from_numpy(numpy.frombuffer(bytes(range(16)), numpy.uint8)).view(4, 4).mT


@pytest.mark.parametrize("tensor", list(_arrays()), ids=lambda x: f"{tuple(x.shape)}")
def test_a_deep_copy_has_the_values_and_strides_in_memory_of_its_own(tensor):
    twin = copy.deepcopy(tensor)
    assert adjoint.equal(twin, tensor)
    assert (twin.stride(), twin.dtype) == (tensor.stride(), tensor.dtype)
    assert not numpy.shares_memory(twin._array, tensor._array)
    assert twin._array.flags.writeable


def test_tensors_that_share_memory_share_it_in_a_deep_copy():
    base = adjoint.arange(6.0)
    parts = {"base": base, "part": base[2:], "other": base.view(2, 3).T, "alone": base.clone()}
    copies = copy.deepcopy(parts)
    copies["part"][0] = 9.0
    assert copies["base"].tolist() == [0.0, 1.0, 9.0, 3.0, 4.0, 5.0]
    assert copies["other"][2, 0].item() == 9.0
    assert copies["alone"].tolist() == base.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_deep_copy_of_a_leaf_and_its_gradient():
    w = adjoint.ones(2, 3, requires_grad=True)
    (w * 2).sum().backward()
    twin = copy.deepcopy(w)
    (twin * 3).sum().backward()
    assert twin.grad.tolist() == [[5.0] * 3] * 2
    assert w.grad.tolist() == [[2.0] * 3] * 2
