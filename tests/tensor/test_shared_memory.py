"""Memory that forked processes share, storages, and swapped tensors."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import sys
import weakref
from collections.abc import Callable

import numpy
import pytest

import adjoint
from adjoint.utils import swap_tensors

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork processes")


def in_child(work: Callable[[], None]) -> None:
    """Run a function in a forked process."""
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join(30)
    assert child.exitcode == 0


MAKERS: dict[str, Callable[[], adjoint.Tensor]] = {
    "dense": lambda: adjoint.zeros(3, 4),
    "no axes": lambda: adjoint.zeros(()),
    "transposed": lambda: adjoint.zeros(3, 4).T,
    "view": lambda: adjoint.zeros(5, 4)[1:4],
    "backwards": lambda: adjoint.zeros(6).flip(0),
    "expanded": lambda: adjoint.zeros(1, 4).expand(3, 4),
    "detached": lambda: adjoint.zeros(3).detach(),
    "leaf": lambda: adjoint.zeros(3, requires_grad=True),
    "parameter": lambda: adjoint.nn.Parameter(adjoint.zeros(3)),
    "result": lambda: adjoint.zeros(3, requires_grad=True) * 2,
    "bfloat16": lambda: adjoint.zeros(3, dtype=adjoint.bfloat16),
    "complex": lambda: adjoint.zeros(3, dtype=adjoint.complex64),
    "from numpy": lambda: adjoint.from_numpy(numpy.zeros((3, 4))[:, ::2]),
    "inference": lambda: adjoint.inference_mode()(adjoint.zeros)(3),
}


@forks
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_children_write_where_the_parent_reads(make: Callable[[], adjoint.Tensor]) -> None:
    x = make()
    shape, strides, dtype, flag = x.shape, x.stride(), x.dtype, x.requires_grad
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert x.is_shared()
    assert (x.shape, x.stride(), x.dtype, x.requires_grad) == (shape, strides, dtype, flag)

    def work() -> None:
        x.untyped_storage().fill_(1)

    in_child(work)
    assert set(x.untyped_storage().tolist()) == {1}


@forks
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_memory_that_is_not_shared_stays_as_it_is() -> None:
    x = adjoint.zeros(3)
    in_child(lambda: x.fill_(7))  # type: ignore[arg-type, return-value]
    assert (x == 0).all()
    assert not x.is_shared()


RELATIVES: dict[str, Callable[[adjoint.Tensor], adjoint.Tensor]] = {
    "view": lambda x: x[1:],
    "view of a view": lambda x: x[1:][1:],
    "detached": lambda x: x.detach(),
    "data": lambda x: x.data,
    "view of detached": lambda x: x.detach()[2:],
    "transposed": lambda x: x.view(2, 3).T,
    "empty view": lambda x: x[6:],
    "set": lambda x: adjoint.zeros(1).set_(x),
}


@pytest.mark.quick(20)
@pytest.mark.parametrize("relatives", [*itertools.combinations(RELATIVES, 2)], ids=str)
@pytest.mark.parametrize("mover", [0, 1, 2])
def test_relatives_move_along(relatives: tuple[str, str], mover: int) -> None:
    base = adjoint.arange(6.0)
    family = [base, *(RELATIVES[name](base) for name in relatives)]
    if not family[mover].numel():
        return
    family[mover].share_memory_()
    before = [x.tolist() for x in family]
    assert all(x.is_shared() for x in family if x.numel())
    assert len({x.untyped_storage() for x in family if x.numel()}) == 1
    assert [x.tolist() for x in family] == before
    base.mul_(10)
    assert [x.tolist() for x in family] == [(numpy.array(values) * 10).tolist() for values in before]
    assert all(x._version == base._version for x, name in zip(family[1:], relatives, strict=True) if "view" in name)


def test_histories_of_views_survive() -> None:
    w = adjoint.ones(4, requires_grad=True)
    y = w * 2
    v = y[1:]
    y.share_memory_()
    v.mul_(3)
    y.sum().backward()
    assert w.grad.tolist() == [2, 6, 6, 6]
    assert type(v.grad_fn).__name__ == "SliceBackward0"


def test_saved_values_survive() -> None:
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp() * x
    x.share_memory_()
    y.sum().backward()
    assert adjoint.allclose(x.grad, (x.exp() * (1 + x)).detach())


def test_no_elements() -> None:
    assert adjoint.zeros(0, 3).share_memory_().is_shared()
    assert adjoint.zeros(0, 3).share_memory_().shape == (0, 3)


def test_pinned_memory_needs_a_device() -> None:
    x = adjoint.ones(2)
    assert not x.is_pinned()
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        x.pin_memory()
    with pytest.raises(RuntimeError, match="CPU device type not an accelerator"):
        x.pin_memory("cpu")


# storages -------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:TypedStorage")
@pytest.mark.parametrize("dtype", [adjoint.float32, adjoint.int64, adjoint.complex128, adjoint.bool], ids=str)
def test_storage_is_the_whole_memory(dtype: adjoint.dtype) -> None:
    x = adjoint.tensor([0, 1, 2, 3]).to(dtype)
    storage = x[1:].storage()
    assert (len(storage), storage.size(), storage.nbytes()) == (4, 4, 4 * x.itemsize)
    assert storage.tolist() == list(storage) == x.tolist()
    assert storage.dtype is dtype
    assert storage.data_ptr() == x.data_ptr() == storage.untyped().data_ptr()
    storage[0] = 1
    storage[-1] = 0
    assert x.tolist() == [x.new_tensor(value).item() for value in (1, 1, 2, 0)]
    copy = storage.clone().fill_(1)
    assert copy.tolist() == x.new_ones(4).tolist() != storage.tolist()
    assert storage.copy_(copy) is storage
    assert (x == 1).all()
    assert storage.to(adjoint.float64).tolist() == [1.0] * 4
    assert storage.to(dtype) is storage


def test_storage_warns_once() -> None:
    adjoint.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="TypedStorage is deprecated"):
            adjoint.ones(2).storage()
    finally:
        adjoint.set_warn_always(False)


def test_bytes() -> None:
    x = adjoint.tensor([1, 2], dtype=adjoint.int16)
    storage = x.untyped_storage()
    assert storage.tolist() == [1, 0, 2, 0] if sys.byteorder == "little" else [0, 1, 0, 2]
    part = storage[0:2]
    part.fill_(300)
    assert x[0] == 44 * 257
    storage[3] = 1
    assert x[1] == 258
    assert storage.clone() != storage
    assert storage == x.untyped_storage()
    assert storage.share_memory_().is_shared()
    assert x.is_shared()
    assert adjoint.UntypedStorage(3).tolist() == [0, 0, 0]
    assert adjoint.UntypedStorage([1, 2]).tolist() == [1, 2]
    assert adjoint.TypedStorage([1.0], dtype=adjoint.float64).nbytes() == 8
    assert adjoint.is_storage(storage)
    assert not adjoint.is_storage(x)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda s: s[4], IndexError),
        (lambda s: s[-5], IndexError),
        (lambda s: s["a"], RuntimeError),
        (lambda s: s.__setitem__(4, 1), IndexError),
        (lambda s: s[0:4:2], RuntimeError),
        (lambda s: s.copy_(adjoint.ones(3).untyped_storage()), RuntimeError),
        (lambda s: s.fill_("a"), RuntimeError),
        (lambda s: s.pin_memory(), RuntimeError),
    ],
)
def test_bad_uses_of_a_storage(call: Callable[[adjoint.UntypedStorage], object], error: type[Exception]) -> None:
    x = adjoint.tensor([1, 2], dtype=adjoint.int16)
    with pytest.raises(error):
        call(x.untyped_storage())
    assert x.tolist() == [1, 2]


# swaps ----------------------------------------------------------------------------------------------------------------


def description(x: adjoint.Tensor) -> tuple[object, ...]:
    return type(x), x.tolist(), x.dtype, x.requires_grad, x._grad, x.grad_fn, x._version, dict(x.__dict__).get("note")


def various() -> list[adjoint.Tensor]:
    leaf = adjoint.ones(3, requires_grad=True)
    (leaf * 2).sum().backward()
    result = adjoint.ones(2, requires_grad=True) * 3
    noted = adjoint.zeros(1).add_(1)
    noted.note = "a"
    return [leaf, result, noted, adjoint.nn.Parameter(adjoint.zeros(2)), adjoint.tensor(3), adjoint.ones(4)[1:]]


@pytest.mark.quick(5)
@pytest.mark.parametrize(("i", "j"), [*itertools.permutations(range(6), 2)])
def test_swapping_exchanges_all(i: int, j: int) -> None:
    tensors = various()
    a, b = tensors[i], tensors[j]
    first, second = description(a), description(b)
    swap_tensors(a, b)
    assert description(a) == second
    assert description(b) == first
    swap_tensors(a, b)
    assert description(a) == first
    assert description(b) == second


def test_a_graph_follows_the_leaf_that_was_swapped() -> None:
    a, b = adjoint.ones(2, requires_grad=True), adjoint.zeros(2)
    notes = []
    a.register_hook(notes.append)
    y = (a * 3).sum()
    swap_tensors(a, b)
    y.backward()
    assert b.grad.tolist() == [3, 3]
    assert a.grad is None
    assert len(notes) == 1


@pytest.mark.quick(0)
def test_what_is_held_is_not_swapped() -> None:
    for hold in (
        lambda x: x[1:],
        lambda x: x * x,
        lambda x: adjoint.cat([x]).mul(x),
        weakref.ref,
    ):
        x, other = adjoint.ones(2, requires_grad=True), adjoint.zeros(3)
        holder = hold(x)
        for pair in ((x, other), (other, x)):
            with pytest.raises(RuntimeError, match=r"use_count of t\d|weakref"):
                swap_tensors(*pair)
        assert x.tolist() == [1, 1]
        assert other.tolist() == [0, 0, 0]
        del holder
        swap_tensors(x, other)
        assert x.tolist() == [0, 0, 0]
    with pytest.raises(TypeError, match="'t2' must be Tensor, not int"):
        swap_tensors(adjoint.ones(1), 3)
