"""Chunk sizes by a memory budget."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.func import grad, hessian, jacfwd, jacobian, jacrev, laplacian, vmap
from adjoint.transforms.chunks import Chunks, measure

RNG = np.random.default_rng(0)
WIDE, INPUTS, BUDGET = 4000, 150, 2**21
WEIGHTS = adjoint.tensor(RNG.standard_normal((WIDE, INPUTS)) / 12)
POINT = adjoint.tensor(RNG.standard_normal(INPUTS))
POINTS = adjoint.tensor(RNG.standard_normal((INPUTS, INPUTS)))


def wide(x: Any) -> Any:
    """A function whose intermediate arrays are much larger than its argument."""
    hidden = WEIGHTS @ x
    return WEIGHTS.mT @ (hidden.tanh() * hidden.sin())


def total(x: Any) -> Any:
    return wide(x).sum()


@pytest.fixture
def budget() -> Iterator[int]:
    before = adjoint.memory.set_batch_budget(BUDGET)
    yield BUDGET
    adjoint.memory.set_batch_budget(before)


@pytest.mark.parametrize(
    ("run", "whole"),
    [
        (lambda: jacrev(wide, chunk_size="auto")(POINT), lambda: jacrev(wide)(POINT)),
        (lambda: jacfwd(wide, chunk_size="auto")(POINT), lambda: jacfwd(wide)(POINT)),
        (lambda: jacobian(wide, chunk_size="auto")(POINT), lambda: jacobian(wide)(POINT)),
        (lambda: hessian(total, chunk_size="auto")(POINT), lambda: hessian(total)(POINT)),
        (lambda: laplacian(total, chunk_size="auto")(POINT), lambda: laplacian(total)(POINT)),
        (lambda: vmap(wide, chunk_size="auto")(POINTS), lambda: vmap(wide)(POINTS)),
        (lambda: vmap(grad(total), chunk_size="auto")(POINTS), lambda: vmap(grad(total))(POINTS)),
        (
            lambda: adjoint.autograd.functional.jacobian(wide, POINT, vectorize=True, chunk_size="auto"),
            lambda: jacrev(wide)(POINT),
        ),
    ],
)
def test_peak_is_near_the_budget(run: Callable[[], Any], whole: Callable[[], Any], budget: int) -> None:
    adjoint.memory.set_batch_budget(2**28)
    expected = whole()
    adjoint.memory.set_batch_budget(budget)
    run()  # memory that the first call keeps does not count
    adjoint.memory.empty_cache()
    tracemalloc.start()
    try:
        result = run()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    np.testing.assert_allclose(result.numpy(), expected.numpy(), rtol=1e-9, atol=1e-9)
    assert peak < 1.5 * budget + 2 * result.numel() * 8


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
def test_peak_of_oblong_jacobians(transform: Any, budget: int) -> None:
    """The basis counts, too. Small arguments with many cotangents do not make chunks large."""
    many, few = adjoint.ones(6000, dtype=adjoint.float64), adjoint.tensor(2.0, dtype=adjoint.float64)
    function, x = (lambda x: x * many, few) if transform is jacrev else (lambda x: x.sum(), many)
    transform(function)(x)
    adjoint.memory.empty_cache()
    tracemalloc.start()
    try:
        result = transform(function)(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (result == 1).all()
    assert peak < 2 * budget


def test_large_arguments_choose_by_themselves(budget: int) -> None:
    """If the argument is large and no chunk size is given, the size is measured."""
    runs = []

    def count(x: Any) -> Any:
        runs.append(1)
        return (x**3).sum()

    small, large = POINT[:10], POINT
    hessian(count)(small)
    assert len(runs) == 1
    hessian(count)(large)
    assert len(runs) > 3


def test_sizes_follow_from_what_members_take() -> None:
    """The memory is a fixed part, and a part for each member. The budget's rest after the fixed part is for members."""
    chunks, spans = Chunks(100, "auto", 30_000), []
    for start, stop in chunks:
        spans.append((start, stop))
        chunks.run(lambda n: adjoint.zeros(1000, dtype=adjoint.uint8) + adjoint.zeros(n, 1000, dtype=adjoint.uint8),
                   stop - start)  # fmt: skip
    assert spans[:2] == [(0, 1), (1, 3)]
    assert 5 <= spans[2][1] - spans[2][0] <= 30
    assert spans[-1][1] == 100 and all(a[1] == b[0] for a, b in pairwise(spans))


def test_one_member_at_a_time_where_no_more_fit() -> None:
    chunks, spans = Chunks(5, "auto", 1), []
    for span in chunks:
        spans.append(span)
        chunks.run(lambda n: POINT + POINT * n, span[1] - span[0])
    assert spans == [(0, 1), (1, 3), (3, 4), (4, 5)]


def test_measured_counts_what_is_there_at_once() -> None:
    x = adjoint.zeros(1000, dtype=adjoint.float64)

    def several() -> Any:
        y = x + 1
        z = y[:500] * 2  # a view adds no memory
        del y
        return z

    _, nbytes = measure(several)
    assert nbytes == 12_000
    (_, inner), outer = measure(lambda: measure(several))
    assert inner == outer == 12_000

    def one_by_one() -> Any:
        y = x
        for _ in range(5):
            y = y + 1
        return y

    assert measure(one_by_one)[1] == 16_000


def test_random_numbers_are_the_same_in_all_chunks(budget: int) -> None:
    result = vmap(lambda a: a * 0 + adjoint.rand(3), randomness="same", chunk_size="auto")(adjoint.zeros(7, 3))
    assert (result == result[0]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vmap(wide, chunk_size="all"), "vmap: `chunk_size` should be a number, 'auto' or None, got 'all'"),
        (lambda: hessian(wide, chunk_size=0), "hessian: `chunk_size` should be greater than 0"),
        (lambda: jacobian(wide, chunk_size=-1), "jacobian: `chunk_size` should be greater than 0"),
        (lambda: adjoint.memory.set_batch_budget(0), "expected a positive number of bytes, got 0"),
    ],
)
def test_bad_sizes(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(("one", "two"), [(150, 200), (50, 100), (500, 500)])
def test_chunks_fill_their_budget(one: int, two: int) -> None:
    """The second member's additional memory is that of each member. The rest of the first call's memory is fixed."""
    chunks = Chunks(1000, "auto", budget=3000)
    chunks.sizes += [one, two]
    of_member = max(two - one, 1)
    fixed, size = one - of_member, chunks.next_size()
    assert fixed + size * of_member <= 2000 < fixed + (size + 1) * of_member
