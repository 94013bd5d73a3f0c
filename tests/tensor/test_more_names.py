"""Functions that programs for torch use beside derivatives: methods as functions, subclasses, buffers, segments."""

import copy
import pickle
import re

import numpy
import pytest

import adjoint
from adjoint import Tensor


def raises(kind, text):
    return pytest.raises(kind, match=re.escape(text))


# methods as functions -------------------------------------------------------------------------------------------------


def test_methods_in_place_as_functions():
    x = adjoint.tensor([0.0, 2.0])
    assert adjoint.clamp_(input=x, max=1) is x and x.tolist() == [0, 1]
    assert adjoint.detach(x).tolist() == [0, 1] and adjoint.zero_(x).tolist() == [0, 0]
    assert pickle.loads(pickle.dumps(adjoint.sin_)) is adjoint.sin_
    with raises(TypeError, "sin_(): argument 'input' (position 1) must be Tensor, not float"):
        adjoint.sin_(3.0)


def test_they_are_recorded():
    x = adjoint.tensor([1.0, 2.0], requires_grad=True)
    y = x * 1
    adjoint.exp_(y).sum().backward()
    assert numpy.allclose(x.grad, numpy.exp([1, 2]))


# Python functions for each element ------------------------------------------------------------------------------------


def test_functions_of_elements():
    x = adjoint.arange(3.0)
    before = x._version
    assert x.apply_(lambda v: v * 2 + 1) is x and x.tolist() == [1, 3, 5] and x._version == before + 1
    assert x.map_(adjoint.ones(1), lambda a, b: a + b).tolist() == [2, 4, 6]
    assert x[:].map2_(adjoint.ones(3), adjoint.tensor(2.0), lambda a, b, c: a + b * c).tolist() == [4, 6, 8]


def test_functions_of_elements_refuse():
    x = adjoint.arange(3.0)
    tracked = adjoint.ones(3, requires_grad=True)
    with raises(RuntimeError, "Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead."):
        tracked.apply_(float)
    with raises(RuntimeError, "Can't call map_() on Variable that requires grad."):
        x.map_(tracked, max)
    with raises(TypeError, "map_(): expected tensors of dtype adjoint.float32, but got one of dtype adjoint.int64"):
        x.map_(adjoint.arange(3), max)
    with pytest.raises(ZeroDivisionError):
        x.apply_(lambda v: 1 / (1 - v))
    assert x.tolist() == [0, 1, 2], "a function that raises leaves the tensor as it was"


# matrices -------------------------------------------------------------------------------------------------------------


def test_adjoint():
    x = adjoint.tensor([[1, 2j]])
    assert x.adjoint().tolist() == adjoint.adjoint(x).tolist() == [[1], [-2j]]
    with raises(RuntimeError, "tensor.adjoint() is only supported on matrices or batches of matrices. Got 1-D tensor."):
        adjoint.ones(2).adjoint()


@pytest.mark.parametrize("shape", [(2, 3), (3, 3), (7, 3), (9, 2), (3, 3, 3), (0, 2)])
@pytest.mark.parametrize("wrap", [False, True])
def test_fill_diagonal(shape, wrap):
    expected = numpy.zeros(shape)
    if 0 not in shape:
        numpy.fill_diagonal(expected, 4, wrap)
    assert numpy.array_equal(adjoint.zeros(shape).fill_diagonal_(4, wrap), expected)


def test_fill_diagonal_cuts_the_gradient_there():
    x = adjoint.ones(2, 2, requires_grad=True)
    (x * 1).fill_diagonal_(3).sum().backward()
    assert x.grad.tolist() == [[0, 1], [1, 0]]
    with raises(RuntimeError, "dimensions must larger than 1"):
        adjoint.ones(2).fill_diagonal_(1)
    with raises(RuntimeError, "all dimensions of input must be of equal length"):
        adjoint.ones(2, 2, 3).fill_diagonal_(1)


def test_dim_order():
    assert adjoint.zeros(2, 3, 4).permute(2, 0, 1).dim_order() == (1, 2, 0)
    assert adjoint.zeros(2, 3).dim_order(ambiguity_check=True) == (0, 1)
    with raises(RuntimeError, "The tensor does not have unique dim order"):
        adjoint.zeros(2, 1).dim_order(ambiguity_check=True)


def test_norm_except_dim():
    x = adjoint.arange(24.0, dtype=adjoint.float64).reshape(2, 3, 4).requires_grad_()
    expected = numpy.sqrt((x.detach().numpy() ** 2).sum((0, 2), keepdims=True))
    assert numpy.allclose(adjoint.norm_except_dim(x, 2, 1).detach(), expected)
    assert adjoint.norm_except_dim(x, 1, -1).item() == 276
    assert adjoint.autograd.gradcheck(lambda v: adjoint.norm_except_dim(v, 2, 0), (x,))
    assert adjoint.norm_except_dim(adjoint.tensor([3.0, -4.0])).tolist() == [3.0, 4.0]
    assert adjoint.norm_except_dim(x, 1, -2).shape == (1, 3, 1)
    with raises(IndexError, "expected to be in range of [-1, 0], but got 1"):
        adjoint.norm_except_dim(adjoint.ones(2), 2, 1)
    with raises(IndexError, "expected to be in range of [-3, 2], but got 3"):
        adjoint.norm_except_dim(x, 2, 3)
    with raises(IndexError, "Dimension specified as 0 but tensor has no dimensions"):
        adjoint.norm_except_dim(adjoint.tensor(2.0))


# creation -------------------------------------------------------------------------------------------------------------


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


# normalisations with their statistics ---------------------------------------------------------------------------------


def close(found, expected):
    return numpy.allclose(found.detach(), expected, rtol=1e-6, atol=1e-6)


def test_native_layer_norm():
    x = adjoint.arange(6.0, requires_grad=True).reshape(2, 3).sin()
    output, mean, scale = adjoint.native_layer_norm(x, (3,), None, None, 1e-5)
    array = x.detach().numpy()
    assert close(mean, array.mean(1, keepdims=True)) and close(scale, (array.var(1, keepdims=True) + 1e-5) ** -0.5)
    assert close(output, (array - array.mean(1, keepdims=True)) * scale.numpy()) and output.requires_grad


def test_native_group_norm():
    x = adjoint.arange(24.0, requires_grad=True).reshape(2, 4, 3).sin()
    output, mean, scale = adjoint.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)
    groups = x.detach().numpy().reshape(2, 2, 6)
    assert close(mean, groups.mean(2)) and close(scale, (groups.var(2) + 1e-5) ** -0.5)
    assert close(output.reshape(2, 2, 6), (groups - mean.numpy()[..., None]) * scale.numpy()[..., None])
    with raises(RuntimeError, "Expected input to have N * C * HxW = 16 elements, but got 24"):
        adjoint.native_group_norm(x, None, None, 2, 4, 2, 2, 1e-5)


def test_native_batch_norm():
    x = adjoint.arange(24.0, requires_grad=True).reshape(2, 4, 3).sin()
    output, mean, scale = adjoint.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    array = x.detach().numpy()
    assert close(mean, array.mean((0, 2))) and close(scale, (array.var((0, 2)) + 1e-5) ** -0.5)
    assert close(output, (array - mean.numpy()[:, None]) * scale.numpy()[:, None])
    evaluated = adjoint.native_batch_norm(x, None, None, adjoint.zeros(4), adjoint.ones(4), False, 0.1, 0.0)
    assert close(evaluated[0], array) and evaluated[1].shape == evaluated[2].shape == (0,)


def test_native_dropout():
    adjoint.manual_seed(0)
    x = adjoint.ones(1000, requires_grad=True)
    output, kept = adjoint.native_dropout(x, 0.25, True)
    assert 700 < kept.sum() < 800 and numpy.allclose(output.detach(), kept.numpy() / 0.75)
    output.sum().backward()
    assert numpy.array_equal(x.grad, output.detach())
    for arguments, share in [((0.25, False), 1), ((0.0, True), 1), ((1.0, True), 0)]:
        output, kept = adjoint.native_dropout(x, *arguments)
        assert output.mean() == share and kept.dtype is adjoint.bool and kept.all() == bool(share)
    with raises(ValueError, "dropout probability has to be between 0 and 1, but got 1.5"):
        adjoint.native_dropout(x, 1.5, True)


# segments -------------------------------------------------------------------------------------------------------------

REDUCTIONS = {"sum": numpy.sum, "mean": numpy.mean, "max": numpy.max, "min": numpy.min, "prod": numpy.prod}


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_segment_reduce(reduce, axis):
    rng = numpy.random.default_rng(3)
    x = adjoint.tensor(rng.normal(size=(5, 4, 2)), requires_grad=True)
    lengths = adjoint.tensor([2, 3]) if axis == 0 else adjoint.tensor([[1, 3], [2, 2], [3, 1], [1, 3], [2, 2]])
    offsets = adjoint.nn.functional.pad(lengths.cumsum(-1), (1, 0))
    found = adjoint.segment_reduce(x, reduce, lengths=lengths, axis=axis)
    assert numpy.array_equal(found.detach(), adjoint.segment_reduce(x, reduce, offsets=offsets, axis=axis).detach())
    array = x.detach().numpy()
    rows = [(array, found.detach(), lengths)] if axis == 0 else zip(array, found.detach(), lengths, strict=True)
    for row, results, sizes in rows:
        parts = numpy.split(row, [int(sizes[0])])
        assert numpy.allclose(results, [REDUCTIONS[reduce](part, 0) for part in parts])
    function = lambda v: adjoint.segment_reduce(v, reduce, lengths=lengths, axis=axis)
    assert adjoint.autograd.gradcheck(function, (x,)) and adjoint.autograd.gradgradcheck(function, (x,))


def test_segments_without_elements():
    x, lengths = adjoint.tensor([1.0, 2.0]), adjoint.tensor([0, 2])
    for reduce, expected in [("sum", 0), ("prod", 1), ("max", -numpy.inf), ("min", numpy.inf), ("mean", numpy.nan)]:
        assert numpy.array_equal(adjoint.segment_reduce(x, reduce, lengths=lengths)[0], expected, equal_nan=True)
        assert adjoint.segment_reduce(x, reduce, lengths=lengths, initial=7.0)[0] == 7
    assert adjoint.segment_reduce(x, "mean", lengths=lengths, initial=7.0)[1] == 5


def test_segments_refuse():
    x = adjoint.ones(4, 2)
    for arguments, text in [
        ({"reduce": "median", "lengths": [4]}, "unsupported reduction given! median"),
        ({}, "Either lengths or offsets must be defined."),
        ({"indices": [0]}, "indices based reduction is not supported yet."),
        ({"lengths": [[4]]}, "Expected lengths to have 1 axes, the first of them [], got lengths of shape [1, 1]"),
        ({"lengths": [5, -1]}, "lengths contains negative value!"),
        ({"lengths": [2, 3]}, "Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) (4)"),
    ]:
        given = {key: adjoint.tensor(value) if key != "reduce" else value for key, value in arguments.items()}
        with raises(RuntimeError, text):
            adjoint.segment_reduce(x, **{"reduce": "sum"} | given)


# subclasses -----------------------------------------------------------------------------------------------------------


class Weight(Tensor):
    @staticmethod
    def __new__(cls, data):
        return Tensor._make_subclass(cls, data, True)

    def __init__(self, data):
        self.given = data


def test_subclasses_made_of_data():
    weight = Weight(adjoint.ones(2))
    assert type(weight) is Weight and weight.requires_grad and weight.is_leaf and not weight._is_view()
    (2 * weight).sum().backward()
    assert weight.grad.tolist() == [2, 2]


def test_as_subclass_keeps_the_history():
    x = adjoint.ones(2, requires_grad=True)
    y = (2 * x).as_subclass(Weight)
    assert type(y) is Weight and not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [2, 2]
    with raises(TypeError, "Creating a Tensor subclass from a class that does not inherit from Tensor"):
        x.as_subclass(int)


def test_parameter():
    data = adjoint.ones(2)
    weight = adjoint.nn.Parameter(data)
    weight.data[0] = 5
    assert data.tolist() == [5, 1] and weight.is_leaf and weight.requires_grad and not weight._is_view()
    assert repr(weight) == "Parameter containing:\ntensor([5., 1.], requires_grad=True)"
    assert type(weight + 1) is Tensor and type(copy.deepcopy(weight)) is adjoint.nn.Parameter
    assert not adjoint.nn.Parameter(data, requires_grad=False).requires_grad and adjoint.nn.Parameter().shape == (0,)
    of_result = adjoint.nn.Parameter(2 * weight)
    assert of_result.is_leaf and of_result.grad_fn is None


# kinds ----------------------------------------------------------------------------------------------------------------


def test_all_tensors_are_dense():
    x = adjoint.ones(2)
    kinds = [name for name in vars(Tensor) if name.startswith("is_") and isinstance(vars(Tensor)[name], property)]
    assert len(kinds) >= 15 and [name for name in kinds if getattr(x, name)] == ["is_cpu"]


# switches -------------------------------------------------------------------------------------------------------------


def test_deterministic_algorithms():
    try:
        for mode, number in [("warn", 1), (2, 2), ("default", 0)]:
            adjoint.set_deterministic_debug_mode(mode)
            assert adjoint.get_deterministic_debug_mode() == number
            assert adjoint.are_deterministic_algorithms_enabled() is (number > 0)
            assert adjoint.is_deterministic_algorithms_warn_only_enabled() is (number == 1)
        adjoint.use_deterministic_algorithms(True)
        assert adjoint.get_deterministic_debug_mode() == 2
    finally:
        adjoint.use_deterministic_algorithms(False)
    with raises(RuntimeError, "expected one of `default`, `warn`, `error`, but got loud"):
        adjoint.set_deterministic_debug_mode("loud")
    with raises(RuntimeError, "invalid value of debug_mode, expected 0, 1, or 2, but got 7"):
        adjoint.set_deterministic_debug_mode(7)
    with raises(TypeError, "debug_mode must be str or int, but got <class 'float'>"):
        adjoint.set_deterministic_debug_mode(1.0)
    with raises(TypeError, "argument 'mode' must be bool, not int"):
        adjoint.use_deterministic_algorithms(1)


def test_threads():
    before = adjoint.get_num_threads()
    try:
        adjoint.set_num_threads(1)
        assert adjoint.get_num_threads() == 1
    finally:
        adjoint.set_num_threads(before)
