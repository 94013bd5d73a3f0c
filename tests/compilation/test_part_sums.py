"""Compiled functions add cotangents of slices in place. The sums equal eager sums, with the signs of zeros."""

from __future__ import annotations

import random
from typing import Any

import numpy
import pytest

import adjoint
from adjoint.compilation.programs.passes.part_sums import box_of, has_no_common_element
from adjoint.compilation.programs.views import VALUE, Buffer, View


def random_index(draw: random.Random, shape: tuple[int, ...]) -> Any:
    """A basic index."""
    items: list[Any] = []
    for n in shape[: draw.randint(0, len(shape))]:
        begin = draw.randrange(n)
        kind = draw.choice(("slice", "slice", "slice", "step", "number", "back", "whole"))
        end = draw.randint(begin, n)
        items.append({
            "slice": slice(begin, end), "step": slice(begin, end, 2), "number": begin, "whole": slice(None),
            "back": slice(begin, end),
        }[kind])  # fmt: skip
    return tuple(items)


def views(draw: random.Random, x: Any) -> list[Any]:
    """Random slices of a tensor, some of a transposed or reshaped one, and sometimes the whole tensor."""
    results = []
    for _ in range(draw.randint(2, 6)):
        whole = draw.choice((x, x, x, x.t() if x.ndim == 2 else x, x.reshape(-1)))
        results.append(whole[random_index(draw, tuple(whole.shape))])
    return [x, *results] if draw.random() < 0.3 else results


def weight(draw: random.Random, shape: Any) -> Any:
    """Numbers, many of which are zeros of both signs."""
    return adjoint.tensor(numpy.random.default_rng(draw.randrange(2**30)).choice([0.0, -0.0, 1.5, -2.25], shape))


@pytest.mark.parametrize("part", range(10))
def test_gradients_of_slices(part: int) -> None:
    for seed in range(40 * part, 40 * part + 40):
        shape = random.Random(seed).choice(((7,), (4, 5), (3, 2, 4)))

        def step(x: Any, seed: int = seed) -> Any:
            draw = random.Random(seed)
            total = sum([(v * weight(draw, v.shape)).sum() for v in views(draw, x)])
            return adjoint.autograd.grad(total, x)[0]

        compiled = adjoint.compile(step)
        for k in range(3):
            numbers = numpy.random.default_rng(k).standard_normal(shape)
            x, other = [adjoint.tensor(numbers, requires_grad=True) for _ in range(2)]
            assert compiled(x).numpy().tobytes() == step(other).numpy().tobytes(), f"seed {seed}, call {k}"
        assert compiled.n_recordings == 1


def test_parts_are_added_where_they_lie() -> None:
    def step(x: Any) -> Any:
        return adjoint.autograd.grad((x[:3] * 2).sum() + (x[3:6] * 3).tanh().sum() + (x[6:] * 4).sum(), x)[0]

    text = str(adjoint.compile(step).explain(adjoint.ones(9, dtype=adjoint.float64, requires_grad=True)))
    assert text.count("copy(0.0)") == 1, text


@pytest.mark.parametrize("seed", range(200))
def test_boxes_contain_their_parts(seed: int) -> None:
    draw = random.Random(seed)
    shape = draw.choice(((7,), (4, 5), (3, 2, 4), (1, 6), (5, 1)))
    array = numpy.zeros(shape)
    buffer = Buffer(0, VALUE, array, 0, array.nbytes)
    whole = View(buffer, 0, shape, array.strides, array.dtype)
    base = draw.choice((array, array.T, array.reshape(-1), array.reshape(*reversed(shape))))
    part = base[random_index(draw, base.shape)]
    if not isinstance(part, numpy.ndarray) or not part.size:
        return
    offset = part.__array_interface__["data"][0] - array.__array_interface__["data"][0]
    box = box_of(View(buffer, offset, part.shape, part.strides, array.dtype), whole)
    if box is not None:
        part[...] = 1
        counts = numpy.zeros(shape)
        counts[tuple([slice(low, high + 1) for low, high in box])] = 1
        assert (array <= counts).all()


def test_boxes_without_a_common_element() -> None:
    assert has_no_common_element([[(0, 2)], [(3, 5)]])
    assert has_no_common_element([[(0, 2), (0, 9)], [(1, 5), (0, 9)], [(3, 3), (2, 2)]])
    assert not has_no_common_element([[(0, 2)], [(2, 5)]])
    assert not has_no_common_element([[(0, 2)], None])
    assert not has_no_common_element([])
