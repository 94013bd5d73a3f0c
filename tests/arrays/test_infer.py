"""The conversion of Python data to arrays. Values and messages are PyTorch's."""

import array
import warnings
from fractions import Fraction

import numpy as np
import pytest

from adjoint.arrays import dtypes as d
from adjoint.arrays.infer import array_from_data

f32, f64, i64, c64 = np.float32, np.float64, np.int64, np.complex64


class Held:
    """A stand-in for a tensor."""

    def __init__(self, array):
        self._array = np.asarray(array)

    def __len__(self):
        return len(self._array)

    def __getitem__(self, key):
        return Held(self._array[key])


def unwrap(x):
    return x._array if isinstance(x, Held) else None


def check(actual, values, dtype):
    assert type(actual) is np.ndarray and actual.dtype == dtype
    expected = np.array(values, dtype=dtype)
    assert actual.shape == expected.shape
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (1, i64),
        (2.5, f32),
        (True, np.bool_),
        (2j, c64),
        (1e300, f32),
        (-(2**63), i64),
        ([1, 2.5], f32),
        ([1, True], i64),
        ([True, 2.5], f32),
        ([1, 1.0, 1j, True], c64),
        ([2**64, 1.0], f32),
        ([], f32),
        ([[], []], f32),
        ((), f32),
        ((1, 2), i64),
        (range(3), i64),
        ([[1, 2], (3, 4)], i64),
        (bytearray(b"ab"), i64),
        (array.array("d", [1, 2]), f32),
        (memoryview(b"ab"), i64),
        (np.float64(1), f64),
        (np.float32(1), f32),
        (np.int32(1), np.int32),
        (np.bool_(True), np.bool_),
        (np.float16(1), np.float16),
        (np.uint64(5), np.uint64),
        ([np.float64(1)], f64),
        ([np.float32(1), 1], f32),
        ([np.int32(1), 1.5], f32),
        ([1, np.float64(1)], f64),
        ([np.int8(1), np.int16(2)], np.int16),
        (np.ones(2), f64),
        ([np.ones(2), np.ones(2)], f64),
        ([np.ones(2, f32)], f32),
        ([np.ones(2), [1, 2]], f64),
        ([[1, 2], np.ones(2)], f64),
        ([np.ones(2, np.int32), np.ones(2)], f64),
        ([1.5, np.array(1)], f32),
        ([(np.ones(2),), (np.ones(2),)], f64),
        ([np.array([[1, 2], [3, 4]])], i64),
        (np.arange(4)[::-1], i64),
        ([np.complex64(1), np.float64(1)], np.complex128),
        ([[[1.0]]], f32),
    ],
)
def test_inferred_dtypes(data, dtype):
    with np.errstate(over="ignore"):
        values = np.array(data, dtype=dtype) if not isinstance(data, (bytearray, memoryview)) else list(data)
    check(array_from_data(data), values, dtype)


def test_empty_sequences_keep_the_announced_shape():
    check(array_from_data([[], [1]]), np.empty((2, 0)), f32)
    check(array_from_data([[], [1j]]), np.empty((2, 0)), c64)
    check(array_from_data([np.ones((0, 2))]), np.empty((1, 0)), f64)


@pytest.mark.parametrize(
    ("data", "dtype", "values"),
    [
        (300.7, d.int16, 300),
        (-2.7, d.int64, -2),
        ([126.9, -127.9], d.int8, [126, -127]),
        (-1, d.uint8, 255),
        (-255, d.uint8, 1),
        (-1, d.uint32, 2**32 - 1),
        (2**63, d.uint64, 2**63),
        (2**64, d.float32, 2.0**64),
        (0.5, d.bool_, True),
        (1j, d.bool_, True),
        (float("nan"), d.bool_, True),
        ([1, 2], d.complex128, [1, 2]),
        ([[1, 2.5]], d.int32, [[1, 2]]),
        ([True, 2], d.float64, [1, 2]),
        ([Fraction(1, 2)], d.float64, [0.5]),
        (70000, d.float16, np.inf),
        (np.array([300.0]), d.uint8, [44]),
        ([np.complex64(1j)], d.float32, [0]),
        (np.array([1j]), d.float32, [0]),
        ([np.float64(1.5)], d.int64, [1]),
        ([np.ones(2)], d.int32, [[1, 1]]),
        ([np.array([1, 2])], d.float32, [[1, 2]]),
        ([np.bool_(True)], d.float32, [1]),
        ([-(2**63) * 1.0], d.int64, [-(2**63)]),
    ],
)
def test_given_dtypes(data, dtype, values):
    check(array_from_data(data, dtype), values, dtype.numpy)


def test_bfloat16():
    actual = array_from_data([[1.1, 2], [1e300, -3]], d.bfloat16)
    assert actual.dtype == d.bfloat16.numpy and actual.astype(f64).tolist() == [[1.1015625, 2.0], [np.inf, -3.0]]
    assert array_from_data([actual[0], actual[1]]).dtype == d.bfloat16.numpy


def test_foreign_byte_order_becomes_native():
    actual = array_from_data(np.arange(4, dtype=np.dtype("i4").newbyteorder()))
    check(actual, [0, 1, 2, 3], np.int32)
    assert actual.dtype.isnative


def test_the_default_dtype_is_used():
    d.set_default_dtype(d.float64)
    try:
        check(array_from_data([1.5, 2]), [1.5, 2], f64)
        check(array_from_data(0.1), 0.1, f64)
        check(array_from_data(1j), 1j, np.complex128)
    finally:
        d.set_default_dtype(d.float32)


@pytest.mark.parametrize("data", [np.ones(3), np.ones((2, 2), f32).T, Held(np.ones(3))])
def test_the_result_is_a_copy(data):
    actual = array_from_data(data, unwrap=unwrap)
    actual[...] = 7
    assert (getattr(data, "_array", data) == 1).all()


def test_tensors_among_the_items():
    check(array_from_data([Held(1), Held(f32(2.0))], unwrap=unwrap), [1, 2], f32)
    check(array_from_data([Held([1]), 2], unwrap=unwrap), [1, 2], i64)
    check(array_from_data([[Held([[1.0]])]], unwrap=unwrap), [[1]], f64)
    check(array_from_data([Held(True), 2], unwrap=unwrap), [1, 2], i64)
    check(array_from_data(Held([1.5]), d.int64, unwrap=unwrap), [1], i64)
    with pytest.raises(TypeError, match="only integer tensors of a single element can be converted to an index"):
        array_from_data([Held([1, 2])], unwrap=unwrap)
    with pytest.raises(TypeError, match="only integer tensors of a single element can be converted to an index"):
        array_from_data([Held(1.5)], d.int64, unwrap=unwrap)
    with pytest.raises(ValueError, match="only one element tensors can be converted to Python scalars"):
        array_from_data([Held([1.0, 2.0])], unwrap=unwrap)


NO_OVERFLOW = "^value cannot be converted to type {} without overflow$"


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ([[1, 2], [3]], ValueError, r"^expected sequence of length 2 at dim 1 \(got 1\)$"),
        ([[[1, 2]], [[3]]], ValueError, r"^expected sequence of length 2 at dim 2 \(got 1\)$"),
        ([[1], []], ValueError, r"^expected sequence of length 1 at dim 1 \(got 0\)$"),
        ([np.ones(2), np.ones(3)], ValueError, r"^expected sequence of length 2 at dim 1 \(got 3\)$"),
        ([[1, 2], 3], TypeError, "^not a sequence$"),
        ([[1], 2.5], TypeError, "^not a sequence$"),
        ([1, [2, 3]], TypeError, "^'list' object cannot be interpreted as an integer$"),
        ([1.0, [2.0]], TypeError, "^must be real number, not list$"),
        ("abc", TypeError, r"^new\(\): invalid data type 'str'$"),
        (b"abc", TypeError, r"^new\(\): invalid data type 'bytes'$"),
        ([1, "a"], TypeError, r"^new\(\): invalid data type 'str'$"),
        ([[1, 2], "ab"], TypeError, r"^new\(\): invalid data type 'str'$"),
        (["abc"], ValueError, "^too many dimensions 'str'$"),
        ([["a"]], ValueError, "^too many dimensions 'str'$"),
        (object(), RuntimeError, "^Could not infer dtype of object$"),
        (None, RuntimeError, "^Could not infer dtype of NoneType$"),
        ([[1, 2], None], RuntimeError, "^Could not infer dtype of NoneType$"),
        ({1, 2}, RuntimeError, "^Could not infer dtype of set$"),
        ([{1: 2}], RuntimeError, "^Could not infer dtype of dict$"),
        (Fraction(1, 2), RuntimeError, "^Could not infer dtype of Fraction$"),
        ((i for i in [1]), RuntimeError, "^Could not infer dtype of generator$"),
        (2**63, ValueError, "^Overflow when unpacking long long$"),
        ([1, 2**63], ValueError, "^Overflow when unpacking long long$"),
        ([2**2000, 1.0], OverflowError, "^int too large to convert to float$"),
        (
            np.array([object()]),
            TypeError,
            "^can't convert np.ndarray of type numpy.object_. The only supported",
        ),
        (np.longdouble(1), TypeError, "^can't convert np.ndarray of type numpy.longdouble"),
        ([np.uint64(3), 1], RuntimeError, "attempted to promote UInt64 and Long"),
    ],
)
def test_errors_of_inference(data, error, message):
    with pytest.raises(error, match=message):
        array_from_data(data)


@pytest.mark.parametrize(
    ("data", "dtype", "error", "message"),
    [
        (300, d.uint8, RuntimeError, NO_OVERFLOW.format("uint8")),
        (-256, d.uint8, RuntimeError, NO_OVERFLOW.format("uint8")),
        (-0.5, d.uint8, RuntimeError, NO_OVERFLOW.format("uint8")),
        ([127.9], d.int8, RuntimeError, NO_OVERFLOW.format("int8")),
        ([2**40], d.int32, RuntimeError, NO_OVERFLOW.format("int32")),
        (float("nan"), d.int64, RuntimeError, NO_OVERFLOW.format("int64")),
        (2.0**63, d.int64, RuntimeError, NO_OVERFLOW.format("int64")),
        ([np.ones(2) * 300], d.uint8, RuntimeError, NO_OVERFLOW.format("uint8")),
        (2**64, d.uint64, OverflowError, "^int too big to convert$"),
        (-1, d.uint64, OverflowError, "^can't convert negative int to unsigned$"),
        (2**63, d.int32, ValueError, "^Overflow when unpacking long long$"),
        (1j, d.float32, TypeError, "^must be real number, not complex$"),
        (1j, d.int64, TypeError, "^'complex' object cannot be interpreted as an integer$"),
        ([None], d.float32, TypeError, "^must be real number, not NoneType$"),
        ([None], d.bool_, TypeError, "^'NoneType' object cannot be interpreted as an integer$"),
        ([1, "a"], d.complex64, TypeError, "^must be real number, not str$"),
        (
            [np.float32(2.5)],
            d.int32,
            TypeError,
            "^'numpy.float32' object cannot be interpreted as an integer$",
        ),
        (["a"], d.float32, ValueError, "^too many dimensions 'str'$"),
        (np.array([object()]), d.float32, TypeError, "^can't convert np.ndarray of type numpy.object_"),
    ],
)
def test_errors_of_given_dtypes(data, dtype, error, message):
    with pytest.raises(error, match=message):
        array_from_data(data, dtype)


def test_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        array_from_data([1e300])
        array_from_data([1e300j])
        array_from_data([1e300], d.float16)
        array_from_data(np.array([1e300, np.nan]), d.int32)
        array_from_data(np.array([1j]), d.float32)


def test_large_lists():
    values = np.random.default_rng(0).standard_normal((300, 400))
    check(array_from_data(values.tolist()), values, f32)
    check(array_from_data(list(range(10**5))), np.arange(10**5), i64)
