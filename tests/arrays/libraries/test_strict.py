"""Tensors over array-api-strict's arrays, which have only the functions of the standard.

A rule with NumPy's results and gradients on these arrays uses no special functions of a library.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.libraries.standard_namespace import MissingFunction
from adjoint.arrays.namespace import namespace
from adjoint.core.graph import new_tensor
from adjoint.rules import TABLE, Rule
from support.other_arrays import GapList, Library

strict = pytest.importorskip("array_api_strict")

STRICT = Library(
    lambda array: strict.asarray(array.copy()), lambda array: np.asarray(array._array), type(strict.asarray(0))
)
#: Rules that do not work on these arrays, since the standard lacks a function.
LISTED = GapList.read("strict")


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("rule", TABLE.values(), ids=list(TABLE))
def test_rule_on_strict_arrays(rule: Rule) -> None:
    LISTED.check(STRICT, rule, every_kind=True)


def test_gaps_name_rules() -> None:
    assert set(LISTED.gaps) <= set(TABLE)


def tensor(*values: Any, requires_grad: bool = False) -> Any:
    return new_tensor(strict.asarray(np.array(values))).requires_grad_(requires_grad)


def array_of(tensor: Any) -> np.ndarray:
    assert isinstance(tensor._array, STRICT.kind)
    return STRICT.numpy(tensor._array)


def test_tape_over_strict_arrays() -> None:
    x, y = tensor(1.0, 2.0, requires_grad=True), tensor(3.0, 4.0, requires_grad=True)
    assert (x.dtype, x.shape) == (adjoint.float64, (2,))
    (x * y + x.exp()).sum().backward()
    np.testing.assert_allclose(array_of(x.grad), np.array([3, 4]) + np.exp([1, 2]))
    (x * y).sum().backward()
    np.testing.assert_allclose(array_of(y.grad), [2, 4])


def test_higher_orders_and_forward_mode() -> None:
    x = tensor(1.0, 2.0, requires_grad=True)
    (first,) = adjoint.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = adjoint.autograd.grad(first.sum(), x)
    np.testing.assert_allclose(array_of(second), [6, 12])
    _, tangent = adjoint.func.jvp(lambda x: x.sin() * 2, (x.detach(),), (tensor(1.0, 0.0),))
    np.testing.assert_allclose(array_of(tangent), [2 * np.cos(1), 0])


def test_in_place_and_views() -> None:
    x = tensor(1.0, 2.0, 3.0, requires_grad=True)
    y = x * 2
    y[1:] = y[1:] * 10
    y.mul_(x.detach())
    y.sum().backward()
    np.testing.assert_allclose(array_of(x.grad), [2, 40, 60])


def test_numbers_of_other_kinds_and_types_promote_as_torch_says() -> None:
    x = new_tensor(strict.asarray([1, 2]))
    assert (x + 1.5).dtype is adjoint.float32 and (x * True).dtype is adjoint.int64
    assert (x + tensor(0.5)).dtype is adjoint.float64 and (x > 1).dtype is adjoint.bool
    assert x.to(adjoint.complex64).dtype is adjoint.complex64


def test_what_is_missing_says_so() -> None:
    with pytest.raises(MissingFunction, match=r"arrays of array_api_strict have no special\.erf, .* neither does the"):
        tensor(0.5).erf()


INDICES = [
    (slice(None), np.array([0, 2])),
    (np.array([[0], [1]]), slice(None), np.array([0, 3])),
    (slice(None), np.array([2, 0]), np.array([1, 1])),
    (np.array([True, False]),),
    (slice(None), np.array([-1])),
    (np.array([[True, False, True], [False, False, True]]),),
    (np.array(1), slice(None), np.array([1, 2])),
    (slice(-5, 9), 1, None),
    (..., slice(3, 0, -2)),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indices_have_the_meaning_of_numpy(index: tuple[Any, ...]) -> None:
    plain = np.arange(24.0).reshape(2, 3, 4)
    array = strict.asarray(plain.copy())
    xp = namespace(array)
    result = xp.getitem(array, index)
    np.testing.assert_array_equal(STRICT.numpy(result), plain[index])
    xp.setitem(array, index, -1.0)
    expected = plain.copy()
    expected[index] = -1.0
    np.testing.assert_array_equal(STRICT.numpy(array), expected)


@pytest.mark.parametrize("index", [(np.array([0, 2]),), (np.array([-3]),), (5,), (0, 0, 0, 0)], ids=str)
def test_indices_outside_are_refused(index: tuple[Any, ...]) -> None:
    array = strict.zeros((2, 3, 4))
    with pytest.raises(IndexError):
        namespace(array).getitem(array, index)


def test_values_must_fit_where_they_are_written() -> None:
    array = strict.zeros(3)
    with pytest.raises(ValueError, match="shape mismatch"):
        namespace(array).setitem(array, (np.array([0, 1]),), np.ones((2, 2)))


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_takes_indices_of_the_library(accumulate: bool) -> None:
    values = tensor(1.0, 2.0, requires_grad=True)
    places = tensor(0, 2), tensor(1, 1)
    y = new_tensor(strict.asarray(np.zeros((3, 3)))).index_put(places, values, accumulate=accumulate)
    assert np.asarray(y._array).tolist() == [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    (gradient,) = adjoint.autograd.grad(y, values, tensor(*[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]))
    assert np.asarray(gradient._array).tolist() == [2.0, 8.0]
