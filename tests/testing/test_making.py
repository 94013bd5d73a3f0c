"""make_tensor: its numbers are between the bounds, and its layout is the requested one."""

import numpy
import pytest

import adjoint
from adjoint.testing import make_tensor

KINDS = {
    adjoint.float16: (-9, 9), adjoint.bfloat16: (-9, 9), adjoint.float32: (-9, 9), adjoint.float64: (-9, 9),
    adjoint.complex64: (-9, 9), adjoint.complex128: (-9, 9), adjoint.int8: (-9, 9), adjoint.int64: (-9, 9),
    adjoint.uint8: (0, 9), adjoint.bool: (0, 1),
}  # fmt: skip


def parts(tensor):
    array = tensor.detach().numpy()
    return numpy.stack([array.real, array.imag]) if array.dtype.kind == "c" else array.astype(float)


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_usual_bounds(kind):
    adjoint.manual_seed(1)
    tensor = make_tensor(20, 50, dtype=kind)
    low, high = KINDS[kind]
    assert tensor.dtype is kind and tensor.shape == (20, 50)
    result = parts(tensor)
    assert low <= result.min() < low + 1 and high - 1 < result.max() <= high


def test_bounds():
    values = parts(make_tensor((1000,), dtype=adjoint.float32, low=1, high=2))
    assert values.min() >= 1 and values.max() <= 2 and values.std() > 0.2
    wide = parts(make_tensor((1000,), dtype=adjoint.float32, low=-1e300, high=1e300))
    assert numpy.isfinite(wide).all() and abs(wide).max() > 1e38


def test_in_memory():
    spread = make_tensor(3, 4, dtype=adjoint.float64, noncontiguous=True, requires_grad=True)
    assert not spread.is_contiguous() and spread.requires_grad and spread.is_leaf
    assert make_tensor(1, dtype=adjoint.float64, noncontiguous=True).is_contiguous()
    last = make_tensor(2, 3, 4, 5, dtype=adjoint.float32, memory_format=adjoint.channels_last)
    assert last.is_contiguous(memory_format=adjoint.channels_last)


@pytest.mark.parametrize("kind", [adjoint.int8, adjoint.bool, adjoint.float32, adjoint.complex64], ids=str)
def test_without_zeros(kind):
    tensor = make_tensor(200, dtype=kind, low=0, high=1 if kind is adjoint.int8 else None, exclude_zero=True)
    assert (tensor != 0).all()


def test_refusals():
    for arguments, text in [
        ({"dtype": adjoint.int8, "requires_grad": True}, "is not supported for boolean and integral dtypes"),
        ({"dtype": adjoint.float32, "low": 3, "high": 1}, "`low` must be less than `high`, but got 3 >= 1"),
        ({"dtype": adjoint.float32, "low": float("nan")}, "`low` and `high` cannot be NaN, but got low=nan"),
        ({"noncontiguous": True, "memory_format": adjoint.channels_last}, "are mutually exclusive"),
    ]:
        with pytest.raises(ValueError, match=text):
            make_tensor(2, 2, **{"dtype": adjoint.float32} | arguments)


@pytest.mark.parametrize("kind", [2, "float32", None])
def test_what_is_no_dtype_is_named(kind):
    with pytest.raises(TypeError, match=r"make_tensor\(\): argument 'dtype'"):
        make_tensor(2, dtype=kind)
