"""In elementwise operations and their derivatives, the value of an element depends only on the element.

It does not depend on the number of elements, on strides or addresses, on neighbours, or on the number of threads.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint
from adjoint.arrays.kernels import vector_ufuncs
from adjoint.core.recorded import operations
from adjoint.rules import TABLE
from adjoint.runtime import threads
from support.samples import domain

KINDS = ("float32", "float64")
#: Sizes around each threshold of an operation: vectors, blocks, programs, several threads.
SIZES = (1, 2, 7, 8, 9, 127, 128, 129, 511, 512, 513, 2048, 8191, 8192, 8193, 16383, 16384, 16385)
MOST = (1 << 17) + 1
#: Inputs without a derivative.
ORDERS = {"jv": "v", "yv": "v", "igamma": "input", "igammac": "input", "special_zeta": "input"}


def required_inputs(rule: Any) -> list[str]:
    return [p.name for p in rule.parameters if p.name in rule.inputs]


def takes_arrays_alone(rule: Any) -> bool:
    others = [p for p in rule.parameters if p.name not in rule.inputs and p.default is p.empty]
    return rule.kind == "elementwise" and not others and rule.name not in OTHERS


#: Operations on integers only, and one with a number as its argument.
OTHERS = (
    ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not", "bitwise_left_shift", "bitwise_right_shift")
    + ("gcd", "lcm", "fill")
)  # fmt: skip
NAMES = sorted([rule.name for rule in TABLE.values() if takes_arrays_alone(rule)])
#: Operations that are too slow for large arrays: SciPy, or an integral, takes long for each element.
SLOW = {"betainc", "betaincinv", "stdtr", "stdtrit", "iv", "ive", "kv", "kve", "jv", "yv", "igamma", "igammac",
        "elliprg", "gammaincinv", "gammainccinv", "hurwitz_zeta"}  # fmt: skip


def sizes(name: str) -> tuple[int, ...]:
    return tuple([n for n in SIZES if n < 600 or name not in SLOW])


@pytest.fixture(autouse=True)
def _restored_threads() -> Iterator[None]:
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


@functools.lru_cache(None)
def random_arguments(name: str, kind: str, n: int) -> tuple[dict[str, Any], Any]:
    """Arguments of an operation, some of them outside of the usual domain, and a cotangent."""
    rng = np.random.default_rng(len(name))
    arrays = {each: rng.uniform(*domain(TABLE[name], each), n).astype(kind) for each in required_inputs(TABLE[name])}
    next(iter(arrays.values()))[::7] *= 3
    return arrays, rng.normal(size=n).astype(kind)


def compute(name: str, arrays: dict[str, Any], cotangent: Any) -> list[Any]:
    """The results of an operation and the gradients of its inputs."""
    rule = TABLE[name]
    tensors = {each: adjoint.from_numpy(array) for each, array in arrays.items()}
    if rule.has_derivative:
        for each in tensors.keys() - {ORDERS.get(name)}:
            tensors[each].requires_grad_()
    with np.errstate(all="ignore"):
        actual = operations[name](**tensors)
        results = list(actual) if isinstance(actual, (tuple, list)) else [actual]
        outputs = [result for result in results if result.requires_grad]
        gradients: Any = ()
        if outputs:
            leaves = [tensor for tensor in tensors.values() if tensor.requires_grad]
            sides = [adjoint.from_numpy(cotangent.astype(result.detach().numpy().dtype)) for result in outputs]
            gradients = adjoint.autograd.grad(outputs, leaves, sides, allow_unused=True)
    return [result.detach().numpy() for result in results] + [None if g is None else g.numpy() for g in gradients]


def compare(actual: list[Any], expected: list[Any], where: Any, message: str) -> None:
    for a, b in zip(actual, expected, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_array_equal(a, b[where], err_msg=message)
            np.testing.assert_array_equal(np.signbit(a.real), np.signbit(b[where].real), err_msg=message)


def part(values: dict[str, Any], where: Any) -> dict[str, Any]:
    return {each: np.asarray(array[where]) for each, array in values.items()}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_sizes_and_places(name: str, kind: str) -> None:
    arrays, cotangent = random_arguments(name, kind, sizes(name)[-1] + 3)
    threads.set_num_threads(1)
    expected = compute(name, arrays, cotangent)
    for i, n in enumerate(sizes(name)):
        where = slice(i % 4, i % 4 + n)
        compare(compute(name, part(arrays, where), cotangent[where]), expected, where, f"{n} elements")
    for i in range(8):
        compare(compute(name, part(arrays, i), np.asarray(cotangent[i])), expected, i, "no axes")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_strides(name: str, kind: str) -> None:
    if not vector_ufuncs.compiled and name not in ("add", "mul", "sigmoid", "silu", "gelu", "special_ndtr"):
        pytest.skip("NumPy's ufuncs use other loops for negative strides")
    arrays, cotangent = random_arguments(name, kind, sizes(name)[-1] + 3)
    expected = compute(name, arrays, cotangent)
    for n in (9, 300, sizes(name)[-1]):
        for where in (slice(0, n, 2), slice(n - 1, None, -1), slice(n - 1, None, -3)):
            compare(compute(name, part(arrays, where), cotangent[where]), expected, where, f"{where}")
        turned = {each: array[: n // 3 * 3].reshape(3, -1).T for each, array in arrays.items()}
        actual = compute(name, turned, cotangent[: n // 3 * 3].reshape(3, -1).T)
        actual = [None if array is None else array.T.reshape(-1) for array in actual]
        compare(actual, expected, slice(n // 3 * 3), f"{n} elements, transposed")
        odd = {each: unaligned_copy(array[:n]) for each, array in arrays.items()}
        compare(compute(name, odd, cotangent[:n]), expected, slice(n), f"{n} elements, not aligned")


def unaligned_copy(array: Any) -> Any:
    memory = np.zeros(array.nbytes + 1, "u1")
    memory[1:].view(array.dtype)[...] = array
    return memory[1:].view(array.dtype)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_neighbours(name: str, kind: str) -> None:
    arrays, cotangent = random_arguments(name, kind, sizes(name)[-1] + 3)
    expected = compute(name, arrays, cotangent)
    for n in (9, 300, sizes(name)[-1]):
        for neighbour in (np.nan, np.inf, -np.inf, 1e30, 0.0):
            mixed = {each: array[:n].copy() for each, array in arrays.items()}
            for array in mixed.values():
                array[1::2] = neighbour
            actual = compute(name, mixed, cotangent[:n])
            actual = [None if array is None else array[::2] for array in actual]
            compare(actual, expected, slice(0, n, 2), f"{n} elements beside {neighbour}")


@pytest.mark.quick(10)
@pytest.mark.skipif(not threads.compiled, reason="only the compiled form runs threads")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in NAMES if name not in SLOW])
def test_threads(name: str, kind: str) -> None:
    small, cotangent = random_arguments(name, kind, sizes(name)[-1] + 3)
    n = MOST
    arrays = {each: np.resize(array, n) for each, array in small.items()}
    cotangent = np.resize(cotangent, n)
    threads.set_num_threads(1)
    expected = compute(name, arrays, cotangent)
    threads.set_num_threads(2)
    compare(compute(name, arrays, cotangent), expected, slice(None), "two threads")


@settings(max_examples=50, deadline=None)
@given(
    name=st.sampled_from(NAMES), kind=st.sampled_from(KINDS), start=st.integers(0, 3), n=st.integers(1, SIZES[-1]),
    step=st.sampled_from((1, 2, 3, -1, -2)),
)  # fmt: skip
def test_any_part(name: str, kind: str, start: int, n: int, step: int) -> None:
    if step < 0 and not vector_ufuncs.compiled:
        step = -step
    arrays, cotangent = random_arguments(name, kind, sizes(name)[-1] + 3)
    where = slice(start, start + min(n, sizes(name)[-1]))
    expected = compute(name, part(arrays, where), cotangent[where])
    result = compute(name, {each: array[where][::step] for each, array in arrays.items()}, cotangent[where][::step])
    compare(result, expected, slice(None, None, step), f"{start}, {n}, {step}")


@pytest.mark.parametrize("n", [5, 100_000])
@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_bits_are_written_where_they_lie(n: int, dtype: str) -> None:
    x, y = (np.random.default_rng(k).integers(0, 2, n).astype(dtype) for k in range(2))
    tensor, other = adjoint.from_numpy(x.copy()), adjoint.from_numpy(y)
    version = tensor._version
    assert tensor.bitwise_and_(other) is tensor
    assert tensor._version == version + 1
    np.testing.assert_array_equal(tensor.numpy(), x & y)
    np.testing.assert_array_equal(tensor.bitwise_not_().numpy(), ~(x & y))
