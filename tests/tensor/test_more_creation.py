"""Tensors from ranges, buffers, and like another one."""

import re

import pytest

import adjoint


def raises(kind, text):
    return pytest.raises(kind, match=re.escape(text))


def test_range():
    with pytest.warns(UserWarning, match="adjoint.range is deprecated"):
        assert adjoint.range(1, 2, 0.5).tolist() == [1, 1.5, 2]
    with pytest.warns(UserWarning, match="deprecated"):
        found = adjoint.range(4, 1, -2, dtype=adjoint.int64), adjoint.range(0, 1, 0.1)
    assert found[0].tolist() == [4, 2] and found[1].shape == (11,)
    for arguments, text in [((4, 1), "upper bound and lower bound inconsistent"), ((1, 4, 0), "step must be nonzero")]:
        with pytest.warns(UserWarning, match="deprecated"), raises(RuntimeError, text):
            adjoint.range(*arguments)
    with raises(TypeError, 'range() missing 1 required positional arguments: "end"'):
        adjoint.range(5)


def test_frombuffer():
    memory = bytearray(range(8))
    x = adjoint.frombuffer(memory, dtype=adjoint.uint8, count=3, offset=2)
    x[0] = 9
    assert x.tolist() == [9, 3, 4] and memory[2] == 9
    assert adjoint.frombuffer(bytearray(8), dtype=adjoint.float32, requires_grad=True).requires_grad
    for arguments, text in [
        ({"buffer": b""}, "both buffer length (0) and count (-1) must not be 0"),
        ({"buffer": b"abc"}, "buffer length (3 bytes) after offset (0 bytes) must be a multiple of element size"),
        ({"buffer": b"abcd", "offset": 4}, "offset (4 bytes) must be non-negative and no greater than buffer"),
        ({"buffer": b"abcd", "count": 2}, "requested buffer length (2 * 4 bytes) after offset (0 bytes) must not "),
        ({"buffer": 3}, "object does not implement Python buffer protocol."),
    ]:
        with raises(ValueError, text):
            adjoint.frombuffer(**arguments, dtype=adjoint.float32)


def test_empty_permuted():
    assert adjoint.empty_permuted((2, 3, 5), (0, 2, 1)).stride() == (15, 1, 3)
    for order, text in [
        ((0, 2), "len(size) = 3 is not equal to len(physical_layout) = 2"),
        ((0, 2, 2), "Duplicate dim not allowed"),
        ((0, 2, 4), "Dimension out of range (expected to be between 0 and 2, but got 4)"),
    ]:
        with raises(RuntimeError, text):
            adjoint.empty_permuted((2, 3, 5), order)


def test_like_a_tensor():
    x = adjoint.zeros(1, dtype=adjoint.int8)
    assert x.new(2, 3).shape == (2, 3) and x.new([1, 2]).tolist() == [1, 2] and x.new([1]).dtype is adjoint.int8
    assert x.new_empty_strided((2, 3), (1, 2)).stride() == (1, 2)
    with raises(TypeError, "new(): data must be a sequence"):
        x.new({})


def test_names_of_types():
    assert adjoint.typename(adjoint.zeros(1)) == "adjoint.FloatTensor" and adjoint.typename(3) == "int"
    assert adjoint.typename(adjoint.nn.Parameter) == "adjoint.nn.parameter.Parameter"
