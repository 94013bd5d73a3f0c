"""Dtypes of all pairs of types are PyTorch's, or the standard's if PyTorch has no answer."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from adjoint.arrays import dtypes as d
from support.promotion_answers import ANSWERS

NAMES = ANSWERS["dtypes"]
BY_NAME = {each.name: each for each in d.DTYPES}
RANKS = {"array": d.DIMENSIONED, "zero_dim": d.ZERO_DIM, "scalar": d.SCALAR}
SCALARS = {"bool": True, "int64": 2, "float64": 2.5, "complex128": 2j}


@pytest.fixture
def default_dtype():
    """A block that restores the default dtype."""
    saved = d.get_default_dtype()
    yield d.set_default_dtype
    d.set_default_dtype(saved)


def answer(function, *args):
    try:
        return function(*args).name
    except RuntimeError as error:
        return f"RuntimeError: {error}"


def expected_name(text):
    # NumPy has no 32-bit complex type, so float16 widens to complex64.
    return "complex64" if text == "complex32" else text


def test_the_fixture_covers_every_dtype():
    assert [each.name for each in d.DTYPES] == NAMES


@pytest.mark.parametrize("a", NAMES)
def test_promote_types(a):
    actual = [answer(d.promote_types, BY_NAME[a], BY_NAME[b]) for b in NAMES]
    assert actual == ANSWERS["promote_types"][NAMES.index(a)]


@pytest.mark.parametrize("a", NAMES)
def test_can_cast(a):
    assert [d.can_cast(BY_NAME[a], BY_NAME[b]) for b in NAMES] == ANSWERS["can_cast"][NAMES.index(a)]


def operands(kind):
    if kind == "scalar":
        return [(d.scalar_dtype(SCALARS[name]), d.SCALAR) for name in ANSWERS["scalars"]]
    return [(BY_NAME[name], RANKS[kind]) for name in NAMES]


@pytest.mark.parametrize("default", ["float32", "float64"])
@pytest.mark.parametrize("kinds", sorted(ANSWERS["result_type"]["float32"]))
def test_result_type(default, kinds, default_dtype):
    default_dtype(BY_NAME[default])
    first, second = (operands(kind) for kind in kinds.split(","))
    actual = [[answer(d.result_type, a, b) for b in second] for a in first]
    assert actual == [[expected_name(each) for each in row] for row in ANSWERS["result_type"][default][kinds]]


def test_result_type_of_many_operands_promotes_each_rank_first():
    operands = [
        (d.float16, d.ZERO_DIM),
        (d.int8, d.DIMENSIONED),
        (d.bfloat16, d.ZERO_DIM),
        (d.uint8, d.DIMENSIONED),
    ]
    assert d.result_type(*operands) is d.float32
    assert d.result_type((d.int8, d.DIMENSIONED)) is d.int8
    assert d.result_type((d.int32, 2), (d.float64, 1), (d.complex64, 0)) is d.complex128
    with pytest.raises(ValueError, match="at least one operand"):
        d.result_type()


@pytest.mark.parametrize("name", NAMES)
def test_properties(name):
    ours, theirs = BY_NAME[name], ANSWERS["properties"][name]
    for attribute in ("is_floating_point", "is_complex", "is_signed", "itemsize", "abbr"):
        assert getattr(ours, attribute) == theirs[attribute]
    assert answer(ours.to_real) == theirs["to_real"]
    assert answer(ours.to_complex) == expected_name(theirs["to_complex"])
    assert repr(ours) == f"adjoint.{name}"
    assert ours.numpy.name == name and ours.numpy.itemsize == ours.itemsize
    assert d.from_numpy_dtype(ours.numpy) is ours


@pytest.mark.parametrize("dtype", d.DTYPES, ids=repr)
def test_there_is_one_instance(dtype):
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.deepcopy([dtype])[0] is dtype and copy.copy(dtype) is dtype
    assert {dtype: 1}[dtype] == 1


def test_dtypes_cannot_be_made():
    with pytest.raises(TypeError, match=r"cannot create 'adjoint.dtype' instances"):
        d.dtype("float32")


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="no attribute 'foo'"):
        _ = d.float32.foo


@pytest.mark.parametrize("name", sorted(ANSWERS["finfo"]))
def test_finfo(name):
    ours, theirs = d.finfo(BY_NAME[name]), ANSWERS["finfo"][name]
    assert {each: getattr(ours, each) for each in theirs if each != "repr"} | {"repr": repr(ours)} == theirs


@pytest.mark.parametrize("name", sorted(ANSWERS["iinfo"]))
def test_iinfo(name):
    ours, theirs = d.iinfo(BY_NAME[name]), ANSWERS["iinfo"][name]
    assert {each: getattr(ours, each) for each in theirs if each != "repr"} | {"repr": repr(ours)} == theirs


def test_finfo_agrees_with_numpy_and_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for actual, theirs in ((d.float32, np.finfo(np.float32)), (d.bfloat16, ml_dtypes.finfo(ml_dtypes.bfloat16))):
        assert d.finfo(actual).eps == float(theirs.eps)
        assert d.finfo(actual).max == float(theirs.max)
        assert d.finfo(actual).tiny == float(theirs.tiny)


def test_limits_compare_by_type(default_dtype):
    assert d.finfo(d.float32) == d.finfo(d.complex64) == d.finfo()
    assert d.finfo(float).dtype == "float64"
    default_dtype(d.float64)
    assert d.finfo() == d.finfo(d.float64) != d.finfo(d.float32)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: d.finfo(d.int32), "requires a floating point input type. Use adjoint.iinfo"),
        (lambda: d.iinfo(d.float32), "requires an integer input type. Use adjoint.finfo"),
        (lambda: d.iinfo(d.bool_), "adjoint.bool is not supported by adjoint.iinfo"),
        (lambda: d.iinfo(3), r"iinfo\(\): argument 'type' \(position 1\) must be adjoint.dtype, not int"),
        (lambda: d.as_dtype("float32", "ones"), r"ones\(\): argument 'dtype' must be adjoint.dtype, not str"),
        (lambda: d.as_dtype(object), r"tensor\(\): argument 'dtype' must be adjoint.dtype, not type"),
        (
            lambda: d.promote_types(d.float32, 3),
            r"argument 'type2' \(position 2\) must be adjoint.dtype, not int",
        ),
        (lambda: d.can_cast(1, d.int32), r"argument 'from_' \(position 1\) must be adjoint.dtype, not int"),
        (lambda: d.scalar_dtype("a"), "expected a Python number"),
        (
            lambda: d.set_default_dtype(d.int32),
            "^only floating-point types are supported as the default type",
        ),
        (lambda: d.set_default_dtype(float), "^invalid dtype object: only floating-point types"),
        (
            lambda: d.from_numpy_dtype(np.dtype(object)),
            "can't convert np.ndarray of type numpy.object_. The only",
        ),
        (lambda: d.from_numpy_dtype(np.dtype("M8[s]")), "can't convert np.ndarray of type numpy.datetime64"),
    ],
)
def test_type_errors(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_foreign_byte_order_is_named():
    with pytest.raises(ValueError, match="byte order different from the native byte order"):
        d.from_numpy_dtype(np.dtype("i4").newbyteorder())


@pytest.mark.parametrize(
    ("value", "expected"),
    [(float, d.float64), (int, d.int64), (bool, d.bool_), (complex, d.complex128), (np.float16, d.float16),
     (np.dtype("u4"), d.uint32), (d.int8, d.int8), (np.longlong, d.int64)],
)  # fmt: skip
def test_as_dtype(value, expected):
    assert d.as_dtype(value) is expected


def test_default_dtype_decides_for_scalars(default_dtype):
    assert (d.scalar_dtype(2.5), d.scalar_dtype(2j)) == (d.float32, d.complex64)
    default_dtype(d.float64)
    assert (d.scalar_dtype(2.5), d.scalar_dtype(2j)) == (d.float64, d.complex128)
    assert d.get_default_complex_dtype() is d.complex128
    assert d.scalar_dtype(True) is d.bool_


@pytest.mark.quick(0)
def test_bfloat16_is_imported_when_it_is_first_needed():
    code = (
        "import sys; from adjoint.arrays import dtypes as d; assert 'ml_dtypes' not in sys.modules; "
        "d.promote_types(d.bfloat16, d.int8); d.finfo(d.bfloat16); assert 'ml_dtypes' not in sys.modules; "
        "d.bfloat16.numpy; assert 'ml_dtypes' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.quick(0)
def test_bfloat16_arrays_are_recognised_in_a_fresh_process():
    code = (
        "import numpy, ml_dtypes; from adjoint.arrays import dtypes as d; "
        "assert d.from_numpy_dtype(numpy.dtype(ml_dtypes.bfloat16)) is d.bfloat16"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
