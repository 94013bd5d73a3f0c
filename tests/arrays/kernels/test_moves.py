"""Moves of arrays in C give the results of the kernels and formulas that they replace."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.kernels import products_and_sums as native
from adjoint.arrays.namespace import namespace
from adjoint.core.recorded import operations, raw_ops

X = np.arange(24.0).reshape(2, 3, 4)
LAYOUTS = [X, np.asfortranarray(X), X[:, ::2], X[::-1], X[:0], X.astype(np.float32), X.astype(np.int64)]
ORDERS = list(itertools.permutations(range(3)))
INDICES = [(0, ...), (slice(1, None), ...), (None, ..., -1), (..., slice(None, None, -2)), (1, 2, ..., 3), (...,)]
AXES = [0, 2, (0, 1), (1,), (2, 0)]

compiled_only = pytest.mark.skipif(
    native.READ.several([X, (0, ...)]) is None, reason="only the compiled form has these moves"
)


def cases() -> list[tuple[str, tuple[Any, ...]]]:
    """Names of operations, and the parameters of a call."""
    options: dict[str, list[tuple[Any, ...]]] = {
        "getitem_slice": [(index,) for index in INDICES],
        "index": [((np.array([1, 0, 1]),),), ((slice(None), np.array([[2], [0]])),)],
        "reshape": [(shape,) for shape in [(24,), (4, -1), (-1,), (6, 4), (2, 3, 4), adjoint.Size((3, 8))]],
        "permute": [(order,) for order in ORDERS],
        "transpose": [(0, 1), (2, 0), (1, 1)],
        "expand": [((5, 2, 3, 4),), ((2, 3, 4),), ((1, 2, 3, 4),)],
        "sum": list(itertools.product(AXES, (False, True))),
        "view": [((4, -1),), ((2, 3, 4),)],
        "clone": [()],
        "unsqueeze": [(dim,) for dim in range(4)],
        "squeeze": [((),), ((0, 2),), (1,)],
        "diagonal": [(0, 0, 1), (1, 2, 0), (-1, 1, 2)],
        "unfold": [(0, 1, 1), (2, 2, 1), (1, 2, 2)],
        "as_strided": [((2, 2), (1, 5), 3, (12, 4, 1)), ((24,), (1,), 0, (12, 4, 1))],
    }
    return [(name, each) for name, several in options.items() for each in several]


def alike(result: Any, expected: Any) -> None:
    np.testing.assert_array_equal(result, expected)
    assert (result.dtype, result.shape, result.strides) == (expected.dtype, expected.shape, expected.strides)
    assert result.flags.writeable == expected.flags.writeable


@compiled_only
@pytest.mark.parametrize(("name", "options"), cases())
def test_kernels(name: str, options: tuple[Any, ...]) -> None:
    """A move gives the kernel's result with the kernel's layout, or no result."""
    rule, count = operations[name].rule, 0
    for x in LAYOUTS:
        result = rule.native.several([x, *options])
        if result is not None:
            alike(result, rule.kernel(namespace(x))(x, *options))
            # only `reshape` may copy
            assert not rule.view or np.shares_memory(result, x) or not x.size or name == "reshape"
            count += 1
    assert count or options in ((1, 1), ((1, 2, 3, 4),))


@compiled_only
@pytest.mark.parametrize(("name", "options"), cases())
def test_formulas(name: str, options: tuple[Any, ...]) -> None:
    """A move gives the formula's cotangent, or no result."""
    rule = operations[name].rule
    (formula,) = rule.vjps
    for x in LAYOUTS[:1]:
        g = rule.kernel(namespace(x))(x, *options) + 0.5
        saved = {"input_shape": x.shape, **dict(zip(rule.names[1:], options, strict=True))}
        values = [saved[name] for name in formula.needs]
        result = None if formula.native is None else formula.native.several([g, *values])
        if result is not None:
            expected = formula.call(raw_ops(g), g, *values)
            np.testing.assert_array_equal(result, expected)
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape)


@compiled_only
@pytest.mark.parametrize(
    ("move", "options"),
    [
        (native.READ, ((5, ...),)),
        (native.RESHAPE, ((5, 5),)),
        (native.RESHAPE, ((-2, 12),)),
        (native.RESHAPE, ((np.int64(24),),)),
        (native.PERMUTE, ((0, 0, 1),)),
        (native.PERMUTE, ((0, 1),)),
        (native.PERMUTE_BACK, ((0, 1, 7),)),
        (native.SWAP, (0, 3)),
        (native.EXPAND, ((7, 7),)),
        (native.EMBED, ((2, 2), (0, ...))),
        (native.EMBED, ((-1,), (0, ...))),
        (native.UNSQUEEZE, (4,)),
        (native.UNSQUEEZE, (-1,)),
        (native.SQUEEZE, (3,)),
        (native.DIAGONAL, (7, 0, 1)),
        (native.DIAGONAL, (0, 1, 1)),
        (native.WINDOWS, (0, 3, 1)),
        (native.WINDOWS, (0, 1, 0)),
        (native.AS_STRIDED, ((25,), (1,), 0, (12, 4, 1))),
        (native.AS_STRIDED, ((2, 2), (12, 11), 1, (12, 4, 1))),
        (native.AS_STRIDED, ((2,), (1,), 0, (1, 4, 12))),
        (native.AS_STRIDED, ((2**62, 2), (2**62, 1), 0, (12, 4, 1))),
        (native.SUM_AXES, (3, False)),
        (native.SUM_AXES_BACK, ((2, 3, 4, 5), 0, False)),
    ],
)
def test_errors_are_left_to_python(move: Any, options: tuple[Any, ...]) -> None:
    """Arguments that NumPy refuses or that the loops do not support give None and no exception."""
    assert move.several([X, *options]) is None
    assert move.several([[1.0], *options]) is None


@compiled_only
@pytest.mark.parametrize("move", [each for each in vars(native).values() if isinstance(each, native.NativeKernel)])
def test_an_array_alone_is_left_to_python(move: Any) -> None:
    """As where all parameters have their default values."""
    result = move.several([X]) if move.is_move else None
    assert result is None if move is not native.COPY else np.array_equal(result, X)


@compiled_only
@pytest.mark.parametrize("dim", range(4))
def test_joins(dim: int) -> None:
    """Arrays of one type are joined into rows, with NumPy's result. For other arrays there is no result."""
    alone = [np.arange(3.0) for _ in range(3)]
    for members in ([X], [X, X[::-1], np.asfortranarray(X)], LAYOUTS[-1:] * 2, [X > 3, X < 3], alone):
        for move, function in ((native.JOIN, np.concatenate), (native.STACK, np.stack)):
            result = move.several([members, dim])
            if dim >= members[0].ndim + (function is np.stack):
                assert result is None
            else:
                alike(result, np.ascontiguousarray(function(members, axis=dim)))
    wider = np.concatenate([X, X], min(dim, 2))
    joined = native.JOIN.several([[X, wider], dim])
    assert joined is None if dim > 2 else np.array_equal(joined, np.concatenate([X, wider], dim))
    for members in ([], [X, wider], [X, X[0]], [X, X.astype(np.float32)], [X, [1.0]], [X.astype(object)], [X[:0]]):
        assert native.STACK.several([members, dim]) is None
    assert native.JOIN.several([(X, X), dim]) is None
