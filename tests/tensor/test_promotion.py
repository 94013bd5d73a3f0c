"""The dtype of binary operations, for every pair of dtypes, ranks and numbers."""

import operator

import numpy as np
import pytest

import adjoint
from support.promotion_answers import ANSWERS

DTYPES = [getattr(adjoint, name) for name in ANSWERS["dtypes"]]
SCALARS = {"bool": True, "int64": 2, "float64": 2.5, "complex128": 2j}


def operands(rank):
    """The operands of a rank: one of each dtype, or Python's numbers."""
    if rank == "scalar":
        return [SCALARS[name] for name in ANSWERS["scalars"]]
    shape = (2,) if rank == "array" else ()
    return [adjoint.ones(shape, dtype=each) for each in DTYPES]


def pairs(ranks):
    """Two operands, and the expected dtype."""
    table = ANSWERS["result_type"]["float32"][",".join(ranks)]
    for row, left in zip(table, operands(ranks[0]), strict=True):
        for answer, right in zip(row, operands(ranks[1]), strict=True):
            yield left, right, answer


RANKS = [tuple(key.split(",")) for key in ANSWERS["result_type"]["float32"] if key != "scalar,scalar"]


def check(operation, left, right, expected):
    """The operation gives `expected`, which is the name of a dtype or a message."""
    if expected.startswith("RuntimeError"):
        with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not supported"):
            operation(left, right)
    else:
        # float16 with a complex number gives complex32 in torch; NumPy has no such type
        name = "complex64" if expected == "complex32" else expected
        for _ in range(2):  # the second time, the cast comes from a cache
            assert operation(left, right).dtype is getattr(adjoint, name), (left, right)


@pytest.mark.parametrize("ranks", RANKS, ids="-".join)
@pytest.mark.parametrize("operation", [operator.add, operator.mul, adjoint.add, adjoint.mul])
def test_arithmetic(operation, ranks):
    for left, right, expected in pairs(ranks):
        check(operation, left, right, expected)


@pytest.mark.parametrize("ranks", RANKS, ids="-".join)
def test_division_gives_floating_point(ranks):
    for left, right, expected in pairs(ranks):
        whole = "Error" not in expected and ("int" in expected or expected == "bool")
        check(operator.truediv, left, right, "float32" if whole else expected)


@pytest.mark.parametrize("ranks", RANKS, ids="-".join)
def test_comparisons_give_truth_values(ranks):
    for left, right, expected in pairs(ranks):
        check(operator.eq, left, right, expected if "Error" in expected else "bool")


@pytest.mark.parametrize("ranks", RANKS, ids="-".join)
@pytest.mark.parametrize("name", ["maximum", "remainder"])
def test_real_operations(name, ranks):
    for left, right, expected in pairs(ranks):
        unsupported = "complex" in expected or "Error" in expected or (name == "remainder" and expected == "bool")
        if "scalar" not in ranks and not unsupported:
            check(getattr(adjoint, name), left, right, expected)


def test_where_promotes():
    condition = adjoint.tensor([True, False])
    for left, right, expected in pairs(("array", "array")):
        check(lambda a, b: adjoint.where(condition, a, b), left, right, expected)


def test_arrays_count_as_tensors():
    x = adjoint.ones(2)
    assert (x * np.ones(2)).dtype is (np.ones(2) * x).dtype is adjoint.float64
    assert (x * np.ones(())).dtype is adjoint.float32 and (x * np.float64(2)).dtype is adjoint.float32


def test_integers_follow_the_default_dtype():
    adjoint.set_default_dtype(adjoint.float64)
    try:
        table = ANSWERS["result_type"]["float64"]["array,scalar"]
        for row, left in zip(table, operands("array"), strict=True):
            for expected, right in zip(row, operands("scalar"), strict=True):
                check(operator.mul, left, right, expected)
        assert (adjoint.tensor([1]) / 2).dtype is adjoint.tensor([1]).exp().dtype is adjoint.float64
    finally:
        adjoint.set_default_dtype(adjoint.float32)


@pytest.mark.parametrize(
    ("target", "other", "result"),
    [
        (adjoint.float32, adjoint.float64, adjoint.float32),
        (adjoint.float32, adjoint.int64, adjoint.float32),
        (adjoint.int32, adjoint.int64, adjoint.int32),
        (adjoint.complex64, adjoint.float64, adjoint.complex64),
        (adjoint.bfloat16, adjoint.float32, adjoint.bfloat16),
    ],
)
def test_in_place_keeps_the_dtype(target, other, result):
    x = adjoint.ones(2, dtype=target)
    x += adjoint.ones(2, dtype=other)
    assert x.dtype is result and x.tolist() == [2, 2]


@pytest.mark.parametrize(
    ("target", "other", "names"),
    [
        (adjoint.int64, adjoint.float32, ("Float", "Long")),
        (adjoint.float32, adjoint.complex64, ("ComplexFloat", "Float")),
        (adjoint.bool, adjoint.int64, ("Long", "Bool")),
    ],
)
def test_in_place_refuses_another_kind(target, other, names):
    x = adjoint.ones(2, dtype=target)
    message = f"result type {names[0]} can't be cast to the desired output type {names[1]}"
    with pytest.raises(RuntimeError, match=message):
        x += adjoint.ones(2, dtype=other)


@pytest.mark.parametrize("array_dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("dtype", [adjoint.float32, adjoint.float64, adjoint.complex64])
@pytest.mark.parametrize("shape", [(3,), (3, 3), (2, 3, 3)])
def test_products_of_tensors_and_arrays_promote_on_both_sides(shape, dtype, array_dtype):
    array = np.arange(np.prod(shape)).reshape(shape).astype(array_dtype)
    matrix = adjoint.arange(9.0).view(3, 3).to(dtype).requires_grad_()
    expected = np.result_type(array.dtype, matrix.detach().numpy().dtype)
    for product, plain in (
        (matrix @ array, matrix.detach().numpy() @ array),
        (array @ matrix, array @ matrix.detach().numpy()),
    ):
        assert product.detach().numpy().dtype == expected
        np.testing.assert_allclose(product.detach().numpy(), plain, rtol=1e-6)
        (gradient,) = adjoint.autograd.grad(product.abs().sum(), matrix)
        assert gradient.dtype == dtype


@pytest.mark.parametrize("function", ["add", "mul", "sub", "floor_divide", "eq", "lt", "bitwise_and", "remainder"])
@pytest.mark.parametrize(("number", "message"), [(2**64, "int too big"), (-(2**63) - 1, "can't convert negative int")])
def test_integers_that_no_dtype_holds_are_refused(function, number, message):
    for dtype in (adjoint.int64, adjoint.int32, adjoint.uint8):
        x = adjoint.ones(2, dtype=dtype)
        with pytest.raises(OverflowError, match=message):
            getattr(adjoint, function)(x, number)
