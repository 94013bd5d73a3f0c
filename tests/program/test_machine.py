"""Elementwise programs on arrays of every layout give NumPy's bits, or no result."""

from typing import Any

import numpy as np
import pytest

from adjoint.program import machine
from adjoint.program.fused import Fused

pytestmark = pytest.mark.skipif(not machine.compiled, reason="only the compiled form runs programs")
rng = np.random.default_rng(7)

#: Sizes of less than a tile, and of several tiles and a part of one.
SHAPES = [(), (1,), (7,), (3, 5), (2, 3, 4), (1300,), (5000,), (2, 40_000), (0,), (4, 0)]


def square_plus(x: Any, y: Any) -> Any:
    return x * x * y + 2.5


def run(*arguments: Any) -> Any:
    return Fused(square_plus, (), True).attempt(list(arguments), False)


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("shape", SHAPES)
def test_program_equals_numpy(shape: tuple[int, ...], kind: str) -> None:
    x, y = (rng.normal(size=shape).astype(kind) for _ in range(2))
    before = x.copy(), y.copy()
    for other in (y, 3, 0.5, np.asarray(y.ravel()[:1].reshape(()) if y.size else 1.0, kind)):
        result = run(x, other)
        np.testing.assert_array_equal(result, np.asarray(square_plus(x, other)))
        assert (result.shape, result.dtype, result.base) == (x.shape, x.dtype, None)
        assert not np.may_share_memory(result, x)
    np.testing.assert_array_equal((x, y), before)


def layouts(x: np.ndarray) -> list[np.ndarray]:
    """Arrays that broadcast with x, or have other layouts than x."""
    wide = rng.normal(size=(2, *[2 * n for n in x.shape]))
    return [
        x.copy(), x[:1], x[:, :1], x[0], x[0, 0], x[..., :1],
        np.broadcast_to(x[0], x.shape), np.broadcast_to(2.0, x.shape),
        np.asfortranarray(x), wide[0, ::2, ::2, ::2], wide[1, : x.shape[0], ::2, : x.shape[2]], x[::-1], x[:, ::-1],
        x.transpose(2, 1, 0).copy().T, x.transpose(1, 0, 2).copy().transpose(1, 0, 2), x[None], np.ones((2, 1, 1, 1)),
    ]  # fmt: skip


@pytest.mark.parametrize("shape", [(4, 6, 5), (30, 1, 700), (300, 70, 3), (1, 5, 2), (3, 4000, 1)])
def test_layouts_are_those_of_numpy(shape: tuple[int, ...]) -> None:
    """A program's result has NumPy's values and strides, for every pair of layouts."""
    x = rng.normal(size=shape)
    n_programs = 0
    for first in layouts(x):
        for second in layouts(x):
            expected = square_plus(first, second)
            result = run(first, second)
            if result is not None:
                n_programs += 1
                np.testing.assert_array_equal(result, expected)
                assert lengths(result) == lengths(expected), (first.strides, second.strides)
    assert n_programs > 80


def lengths(array: np.ndarray) -> list[int]:
    return [step for step, n in zip(array.strides, array.shape, strict=True) if n > 1]


def test_other_arguments_are_left_to_numpy() -> None:
    x = rng.normal(size=(4, 6))
    others = [x.astype("f4"), x.astype(int), x.astype(complex), x.astype(">f8"), 2**60, 1j, None]
    others += ["2", x.view(np.recarray), x[:, :5], [2.0], x[::-1].T.copy()]
    assert [run(x, other) is None for other in others] == [True] * len(others)
    single = x.astype("f4")
    assert run(single, 1e300) is None and run(single, 2**30) is None and run(1.0, 2.0) is None


def test_selections() -> None:
    def smaller(x: Any, y: Any) -> Any:
        return np.where(~(x < y) | (x != x), y, np.where(y > 1, 1.0, x))

    for kind in ("f4", "f8"):
        for n in (1, 9, 900, 9000):
            x, y = rng.normal(size=(2, n)).astype(kind)
            x[::7] = np.nan
            np.testing.assert_array_equal(Fused(smaller).attempt([x, y], False), smaller(x, y))


def in_other_type(x: Any, other: Any) -> Any:
    wide = x.astype(other)
    return (wide * wide * 0.3 + np.exp(wide) + (wide > 0.1)).astype(x.dtype) * x


@pytest.mark.parametrize("n", [1, 9, 900, 9000, 200_000])
@pytest.mark.parametrize(("kind", "other"), [(np.float32, np.float64), (np.float64, np.float32)])
def test_conversions_between_floats(kind: Any, other: Any, n: int) -> None:
    x = rng.normal(size=n).astype(kind)
    for function in (in_other_type, lambda x, other: x.astype(other) + 0.1, lambda x, other: x.astype(other)):
        result = Fused(function).attempt([x, other], False)
        expected = function(x, other)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


def test_a_conversion_that_overflows_is_left_to_numpy() -> None:
    x, program = np.array([1e300, 1.0]), Fused(lambda x: x.astype(np.float32))
    assert program.attempt([x], False) is None
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(program.attempt([x], False), [np.inf, 1.0])


def test_programs_that_are_too_long_are_left_to_numpy() -> None:
    def chain(x: Any, n: int) -> Any:
        for k in range(n):
            x = x * (k + 0.5)
        return x

    x = np.ones(10)
    for n in (1, 20, 45, 100):
        result = Fused(chain).attempt([x, n], True)
        assert (result is None) == (2 * n + 1 > machine.MOST_REGISTERS), n
        if result is not None:
            np.testing.assert_array_equal(result, chain(x, n))


def test_many_intermediate_values() -> None:
    def wide(x: Any) -> Any:
        values = [np.sin(x * (k + 1.5)) for k in range(20)]
        while len(values) > 1:
            values = [a + b for a, b in zip(values[::2], values[1::2], strict=False)] + values[len(values) // 2 * 2 :]
        return values[0]

    for n in (1, 600, 5000, 200_000):
        x = rng.normal(size=n)
        np.testing.assert_array_equal(Fused(wide).attempt([x], False), wide(x))


def by_a_number(x: Any, y: Any) -> Any:
    return x * (1 / np.sqrt(y + 1))


@pytest.mark.parametrize("shape", [(7,), (5000,), (300, 70)])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_what_is_one_number_is_computed_once(shape: tuple[int, ...], kind: str) -> None:
    """Some operands have one element and others many. A later run of the program may get other layouts."""
    x, number = rng.normal(size=shape).astype(kind), np.array(2.5, kind)
    fused = Fused(by_a_number, ())
    for first, second in ((x, number), (x, np.abs(x)), (number, np.abs(x)), (x[:1], number), (x, number)):
        np.testing.assert_array_equal(fused.call([first, second], False), by_a_number(first, second))


@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_two_bounds_are_one_step(kind: str) -> None:
    def clamp(x: Any) -> Any:
        return np.minimum(0.5, np.maximum(0.0, x))

    x = rng.normal(size=5000).astype(kind)
    x[:3] = np.nan, -0.0, np.inf
    fused = Fused(clamp, ())
    result, expected = fused.call([x], False), clamp(x)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))
    (program,) = fused.programs.values()
    assert [step.name for step in program.form.steps] == ["clip"]
