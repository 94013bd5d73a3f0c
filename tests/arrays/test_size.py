"""Size, device, and the forms of size arguments."""

import copy
import pickle

import numpy as np
import pytest

from adjoint.arrays import size as s
from adjoint.arrays.size import Size, as_device, check_shape, device


@pytest.mark.parametrize(
    "result",
    [
        Size([2, 3])[:1],
        Size([2, 3]) + (4,),
        (4,) + Size([2, 3]),
        Size([2, 3]) * 2,
        2 * Size([2, 3]),
        Size([2, 3])[::-1],
        Size(iter([1, 2])),
        copy.copy(Size([2])),
        pickle.loads(pickle.dumps(Size([2, 3]))),
    ],
)
def test_size_stays_a_size(result):
    assert type(result) is Size


def test_size_is_a_tuple():
    size = Size([2, 3])
    assert repr(size) == str(size) == f"{size}" == "adjoint.Size([2, 3])"
    assert size == (2, 3) and hash(size) == hash((2, 3)) and size[0] == 2
    assert size.numel() == 6 and Size().numel() == 1
    assert (4,) + size == (4, 2, 3) and size * 2 == (2, 3, 2, 3) and size[::-1] == (3, 2)
    assert [type(n) for n in Size([np.int64(3), True])] == [int, int]
    assert pickle.loads(pickle.dumps(size)) == size
    lengths = [4]
    lengths += size
    assert lengths == [4, 2, 3]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Size([2.0]), r"adjoint.Size\(\) takes an iterable of 'int' \(item 0 is 'float'\)"),
        (lambda: Size([2]) + ("a",), r"adjoint.Size\(\) takes an iterable of 'int' \(item 1 is 'str'\)"),
        (lambda: Size([2]) + [3], r"can only concatenate tuple \(not list\) to adjoint.Size"),
        (lambda: [3] + Size([2]), "can only concatenate"),
        (lambda: Size(3), "'int' object is not iterable"),
    ],
)
def test_size_errors(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    ("argument", "shape"),
    [
        ((2, 3), (2, 3)),
        (((2, 3),), (2, 3)),
        (([2, 3],), (2, 3)),
        ((Size([2, 3]),), (2, 3)),
        (((),), ()),
        ((np.int64(2),), (2,)),
        (((np.int32(2), 3),), (2, 3)),
        ((np.array(2),), (2,)),
        ((2, True), (2, 1)),
        ((0, 3), (0, 3)),
    ],
)
def test_check_shape(argument, shape):
    actual = check_shape("zeros", argument)
    assert actual == shape and all(type(n) is int for n in actual)


NOT_INTS = r"zeros\(\): argument 'size' \(position 1\) must be tuple of ints"


@pytest.mark.parametrize(
    ("argument", "error", "message"),
    [
        ((), TypeError, r'^zeros\(\) missing 1 required positional arguments: "size"$'),
        ((2.0,), TypeError, f"^{NOT_INTS}, not float$"),
        ((float("nan"),), TypeError, f"^{NOT_INTS}, not float$"),
        (("a",), TypeError, f"^{NOT_INTS}, not str$"),
        ((True,), TypeError, f"^{NOT_INTS}, not bool$"),
        ((np.float32(2),), TypeError, f"^{NOT_INTS}, not numpy.float32$"),
        ((np.array([2, 3]),), TypeError, f"^{NOT_INTS}, not numpy.ndarray$"),
        ((range(2),), TypeError, f"^{NOT_INTS}, not range$"),
        (([2.0],), TypeError, f"^{NOT_INTS}, but found element of type float at pos 0$"),
        (([[2]],), TypeError, f"^{NOT_INTS}, but found element of type list at pos 0$"),
        (
            (2, 2.0),
            TypeError,
            'failed to unpack the object at pos 2 with error "type must be tuple of ints,but got float"',
        ),
        (((2, "a"),), TypeError, 'at pos 2 with error "type must be tuple of ints,but got str"'),
        ((2, (3,)), TypeError, 'at pos 2 with error "type must be tuple of ints,but got tuple"'),
        ((2**63,), TypeError, 'at pos 1 with error "Overflow when unpacking long long"'),
        ((2.0, 2), TypeError, r"^zeros\(\) takes 1 positional argument but 2 were given$"),
        (((2, 3), 4), TypeError, r"^zeros\(\) takes 1 positional argument but 2 were given$"),
        ((2, -1), RuntimeError, "^zeros: Dimension size must be non-negative.$"),
        ((2**40, 2**40), RuntimeError, "^Storage size calculation overflowed with sizes="),
    ],
)
def test_check_shape_errors(argument, error, message):
    with pytest.raises(error, match=message):
        check_shape("zeros", argument)


def test_check_shape_of_other_functions():
    with pytest.raises(RuntimeError, match=r"^Trying to create tensor with negative dimension -3: \[2, -3\]$"):
        check_shape("ones", (2, -3))
    with pytest.raises(
        TypeError, match=r"^randint\(\): argument 'size' \(position 2\) must be tuple of ints, not int$"
    ):
        check_shape("randint", (3,), position=2, allow_int=False)
    assert check_shape("full", ((3,),), allow_int=False) == (3,)


def test_device():
    assert repr(device("cpu")) == "device(type='cpu')" and str(device("cpu")) == "cpu"
    assert repr(device("cpu", 0)) == "device(type='cpu', index=0)" and str(device("cpu", 0)) == "cpu:0"
    assert device("cuda:1") == device("cuda", 1) == device(type="cuda", index=1)
    assert device("cpu") != device("cpu", 0) and device("cpu") != "cpu"
    assert {device("cpu"): 1}[device(device("cpu"))] == 1
    assert (device("cpu:2").type, device("cpu:2").index, device("meta").index) == ("cpu", 2, None)
    assert pickle.loads(pickle.dumps(device("cuda:1"))) == device("cuda:1")
    with pytest.raises(AttributeError):
        device("cpu").type = "cuda"


@pytest.mark.parametrize(
    ("args", "error", "message"),
    [
        (
            ("foo",),
            RuntimeError,
            "^Expected one of cpu, cuda, .* device type at start of device string: foo$",
        ),
        (("CPU",), RuntimeError, "^Expected one of cpu, cuda"),
        (("",), RuntimeError, "^Device string must not be empty$"),
        (("cpu:a",), RuntimeError, "^Invalid device string: 'cpu:a'$"),
        (("cpu:",), RuntimeError, "^Invalid device string: 'cpu:'$"),
        (("cpu:01",), RuntimeError, "^Invalid device string: 'cpu:01'$"),
        (("cuda:1:2",), RuntimeError, "^Invalid device string: 'cuda:1:2'$"),
        (("cpu", -1), RuntimeError, "^Device index must not be negative$"),
        ((-1,), RuntimeError, "^Device index must not be negative$"),
        (("cpu:0", 0), RuntimeError, r"^type \(string\) must not include an index because index was passed"),
        (("cpu", "0"), TypeError, r"^device\(\): argument 'index' \(position 2\) must be int, not str$"),
        ((None,), TypeError, r"^device\(\) received an invalid combination of arguments - got \(NoneType\)"),
        ((device("cpu"), 0), TypeError, "must be str, not adjoint.device$"),
    ],
)
def test_device_errors(args, error, message):
    with pytest.raises(error, match=message):
        device(*args)


def test_as_device(monkeypatch):
    assert as_device(None) == as_device("cpu") == as_device(device("cpu")) == device("cpu")
    assert as_device("cpu:1") == as_device(device("cpu", 0)) == device("cpu") != device("cpu:0")
    with pytest.raises(TypeError, match=r"^zeros\(\): argument 'device' must be adjoint.device, not float$"):
        as_device(1.5, "zeros")
    with pytest.raises(RuntimeError, match="'mps' was asked for, but the supported devices are 'cpu' and 'cuda'"):
        as_device("mps")
    monkeypatch.setattr(s, "cuda_is_available", lambda: False)
    with pytest.raises(AssertionError, match="'cuda:0' was asked for, but no CUDA device is available: install CuPy"):
        as_device("cuda:0")
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        device(0)
    monkeypatch.setattr(s, "cuda_is_available", lambda: True)
    assert as_device(1) == device("cuda:1")
