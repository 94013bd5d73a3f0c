"""Reductions over segments."""

import re

import numpy
import pytest

import adjoint


def raises(kind, text):
    return pytest.raises(kind, match=re.escape(text))


REDUCTIONS = {"sum": numpy.sum, "mean": numpy.mean, "max": numpy.max, "min": numpy.min, "prod": numpy.prod}


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_segment_reduce(reduce, axis):
    rng = numpy.random.default_rng(3)
    x = adjoint.tensor(rng.normal(size=(5, 4, 2)), requires_grad=True)
    lengths = adjoint.tensor([2, 3]) if axis == 0 else adjoint.tensor([[1, 3], [2, 2], [3, 1], [1, 3], [2, 2]])
    offsets = adjoint.nn.functional.pad(lengths.cumsum(-1), (1, 0))
    result = adjoint.segment_reduce(x, reduce, lengths=lengths, axis=axis)
    assert numpy.array_equal(result.detach(), adjoint.segment_reduce(x, reduce, offsets=offsets, axis=axis).detach())
    array = x.detach().numpy()
    rows = [(array, result.detach(), lengths)] if axis == 0 else zip(array, result.detach(), lengths, strict=True)
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
        inputs = {key: adjoint.tensor(value) if key != "reduce" else value for key, value in arguments.items()}
        with raises(RuntimeError, text):
            adjoint.segment_reduce(x, **{"reduce": "sum"} | inputs)
