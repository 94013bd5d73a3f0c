"""Public functions are pickled and copied by their names. Copies of tensors keep the layout."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
import sys
import typing

import numpy
import pytest

import adjoint
from adjoint.compat.autograd.extend import primitive

#: Internal packages, whose functions are public under other names.
INSIDE = {
    "arrays", "compilation", "core", "demo", "functions", "interop", "program", "rules", "solvers", "tensor", "tools",
    "transforms",
}  # fmt: skip
PLUGIN = "adjoint.testing.pytest_plugin"  # it has a fixture, an object of pytest


def _is_public(name):
    first, *others = name.split(".")
    is_internal = bool({*others[:1]} & INSIDE) or any(part.startswith("_") for part in others)
    return first == "adjoint" and not is_internal and name != PLUGIN


def _public_modules():
    """The names of all public modules, also of modules that others make when they are imported."""
    for actual in pkgutil.walk_packages(adjoint.__path__, "adjoint."):
        if _is_public(actual.name):
            importlib.import_module(actual.name)
    return sorted(filter(_is_public, sys.modules))


def _public(module):
    """The public callables of a module by name, without annotation types and without callables of NumPy or SciPy."""
    space = importlib.import_module(module)
    names = module.removeprefix("adjoint.").removeprefix("compat.autograd.").removesuffix(".numpy_wrapper")
    library = sys.modules.get(names)
    for name in dir(space):
        value = getattr(space, name)
        is_here = value is not getattr(library, name, None) and typing.get_origin(value) is None
        if callable(value) and not name.startswith("_") and is_here:
            yield name, value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module", _public_modules())
def test_public_functions_are_pickled_by_name(module):
    result = dict(_public(module))
    assert [name for name, value in result.items() if copy.deepcopy(value) is not value] == []
    assert [name for name, value in result.items() if copy.copy(value) is not value] == []
    for name, value in result.items():
        assert pickle.loads(pickle.dumps(value)) is value, name


def test_all_public_modules_are_found():
    modules = _public_modules()
    assert {"adjoint", "adjoint.compat.autograd.numpy.linalg", "adjoint.compat.autograd.scipy.stats.norm"} <= {*modules}
    assert sum(len(dict(_public(module))) for module in modules) > 3000


@adjoint.autograd.custom
def triple(x):
    """A user's function with its own derivatives."""
    return 3 * x


@primitive
def double(x):
    """A user's primitive."""
    return 2 * x


@pytest.mark.parametrize("function", [triple, double])
def test_functions_that_users_decorate_are_pickled_by_name(function):
    assert pickle.loads(pickle.dumps({"activation": function}))["activation"] is function
    assert copy.deepcopy([function])[0] is function


def test_a_distribution_with_parameters_is_copied_with_them():
    frozen = adjoint.scipy.stats.norm(loc=adjoint.tensor(1.0))
    for twin in (copy.deepcopy(frozen), pickle.loads(pickle.dumps(frozen))):
        assert twin._kwargs["loc"] is not frozen._kwargs["loc"]
        assert twin.logpdf(1.5).item() == frozen.logpdf(1.5).item()


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
