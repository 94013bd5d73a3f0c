"""The array API standard, function by function, on random arguments: signatures, dtypes, shapes and values.

array-api-strict implements the standard with NumPy. If it refuses arguments, the standard leaves the case open.
`ADJOINT_DRAWS=1000` sets the number of draws for each function.
"""

from __future__ import annotations

import functools
import inspect
import operator
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import adjoint
from adjoint import array_api


@pytest.fixture(autouse=True, scope="module")
def version() -> Iterator[None]:
    """The version of the standard that adjoint names."""
    with strict.ArrayAPIStrictFlags(api_version="2024.12"):
        yield


DRAWS = int(os.environ.get("ADJOINT_DRAWS", "15"))
KINDS = {
    "bool": ["bool"],
    "signed": ["int8", "int16", "int32", "int64"],
    "unsigned": ["uint8", "uint16", "uint32", "uint64"],
    "real": ["float32", "float64"],
    "complex": ["complex64", "complex128"],
}
SHAPES = [(), (1,), (3,), (0,), (2, 3), (1, 3), (2, 1), (3, 3), (0, 3), (2, 0), (2, 3, 4), (2, 1, 4), (3, 3, 3)]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 1e-30, -1e-30, 1e30, 2.5, -2.5, 1.5, 3.0, -3.0]
#: Values for parameters that are not arrays, by name.
CHOICES: dict[str, list[Any]] = {
    "axis": [0, -1, 1, -2, 2, None, (0,), (0, 1), (-1, 0), ()],
    "axes": [0, 1, 2, None, (0, 1), (0, -1), ((0,), (0,)), ((1,), (0,)), ((-1, 0), (0, 1)), (1, 0), (2, 0, 1), (0,)],
    "keepdims": [False, True],
    "correction": [0.0, 1.0, 0.5, 0, 1, 7.0],
    "descending": [False, True],
    "stable": [True],
    "include_initial": [False, True],
    "invert": [False, True],
    "n": [1, 2, 0, 3, 4, 5, None, -1],
    "s": [None, (2,), (3, 4), (2, 2)],
    "norm": ["backward", "ortho", "forward"],
    "k": [0, 1, -1, 3, -4],
    "offset": [0, 1, -1, 5],
    "upper": [False, True],
    "mode": ["reduced", "complete"],
    "full_matrices": [True, False],
    "ord": [2, 1, np.inf, -np.inf, "fro", "nuc", -2, -1, 0, 3, 0.5],
    "rtol": [None, 0.1, 1e-3],
    "side": ["left", "right"],
    "sorter": [None],
    "copy": [None, True, False],
    "shape": [(), (3,), (2, 3), (6,), (3, 2), (-1,), (1, -1), (0,), (4, 2, 3), (2, 3, 4), 3],
    "shift": [1, -2, 0, 7],
    "source": [0, -1, (0, 1), 1], "destination": [0, -1, (1, 0), 1],
    "repetitions": [(), (2,), (1, 2), (2, 1, 2), (0,)],
    "repeats": [0, 1, 2, 3],
    "indexing": ["xy", "ij"],
    "start": [0, 1.5, -2, 3, 0.0, 10], "stop": [None, 5, 2.5, -4, 0], "step": [1, 2, -1, 0.5, -0.25],
    "num": [0, 1, 2, 5], "endpoint": [True, False],
    "n_rows": [0, 1, 3], "n_cols": [None, 0, 2, 4],
    "fill_value": [0, 1, -1, 2.5, True, 1 + 2j, float("nan"), float("inf")],
    "d": [1.0, 0.5], "prepend": [None], "append": [None],
}  # fmt: skip
#: Parameters that keep their defaults. Devices are not tested here.
LEFT_OUT = {"device"}
ARRAYS = {"x", "x1", "x2", "condition", "min", "max", "indices", "arrays", "obj"}
#: Functions with tests of their own, since their results are not arrays with definite values.
OTHERS = {
    "empty", "empty_like", "from_dlpack", "finfo", "iinfo", "isdtype", "result_type", "can_cast", "astype",
    "unique_values", "__array_namespace_info__",
}  # fmt: skip
#: Names of array-api-strict that belong to later versions of the standard, or only to the library.
BEYOND = {"broadcast_shapes", "isin", "set_array_api_strict_flags", "get_array_api_strict_flags",
          "reset_array_api_strict_flags"}  # fmt: skip
#: Functions of linear algebra whose results have arbitrary signs or phases.
UP_TO_SIGN = {"linalg.qr", "linalg.svd", "linalg.eigh"}
#: Functions whose last bits differ between libraries.
TOLERANT = {"float32": 2e-5, "complex64": 2e-5, "float64": 1e-11, "complex128": 1e-11}


def functions() -> Iterator[str]:
    for module in ("", "linalg", "fft"):
        of = getattr(strict, module) if module else strict
        for name in of.__all__ if module != "linalg" else strict.linalg.__all__:
            if inspect.isfunction(getattr(of, name)) and name not in OTHERS | BEYOND:
                yield f"{module}.{name}" if module else name


def member(namespace: Any, name: str) -> Any:
    return functools.reduce(getattr, name.split("."), namespace)


@pytest.mark.parametrize("name", [*functions(), *sorted(OTHERS)])
def test_signature(name: str) -> None:
    ours = inspect.signature(member(array_api, name)).parameters.values()
    theirs = inspect.signature(member(strict, name)).parameters.values()
    own_by_name = {p.name: p for p in ours}
    places = [p for p in ours if p.kind is not p.KEYWORD_ONLY]
    for number, parameter in enumerate(theirs):
        if parameter.kind is parameter.POSITIONAL_ONLY or parameter.kind is parameter.VAR_POSITIONAL:
            assert places[number].kind is not parameter.KEYWORD_ONLY
        else:
            result = own_by_name[parameter.name]
            assert parameter.kind is parameter.KEYWORD_ONLY or places[number].name == parameter.name
            if isinstance(parameter.default, (bool, int, float, str, type(None))):
                assert result.default == parameter.default
    required = {p.name for p in ours if p.default is p.empty and p.kind is p.KEYWORD_ONLY}
    assert required <= {p.name for p in theirs}


class Draw:
    """Random arguments, each as a pair: for array-api-strict and for adjoint."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def of(self, options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def array(self, dtype: str, shape: tuple[int, ...], plain: bool) -> np.ndarray[Any, Any]:
        kind = np.dtype(dtype)
        if kind.kind == "b":
            return self.rng.integers(0, 2, shape).astype(bool)
        if kind.kind in "iu":
            low = 0 if kind.kind == "u" else -5
            result = self.rng.integers(low, 6, shape).astype(kind)
            if not plain and result.size and self.rng.random() < 0.3:
                result.flat[int(self.rng.integers(result.size))] = self.of([np.iinfo(kind).max, np.iinfo(kind).min])
            return result
        parts = [self.rng.normal(size=shape) * self.of([1.0, 1.0, 5.0]) for _ in range(2 if kind.kind == "c" else 1)]
        result = (parts[0] + 1j * parts[1] if kind.kind == "c" else parts[0]).astype(kind)
        result = np.asarray(result)
        if not plain and kind.kind == "f" and self.rng.random() < 0.7:
            for index in np.ndindex(*shape):
                if self.rng.random() < 0.5:
                    result[index] = self.of(SPECIAL)
        return result

    def pair(self, array: np.ndarray[Any, Any]) -> tuple[Any, Any]:
        dtype = array.dtype.name
        return strict.asarray(array), array_api.asarray(array, dtype=getattr(array_api, dtype))


def is_plain(name: str) -> bool:
    """True if the standard does not say which results libraries give for infinities and NaN."""
    return name.startswith(("linalg.", "fft.")) or name in {
        "matmul", "tensordot", "vecdot", "var", "std", "mean", "sum", "prod", "cumulative_sum", "cumulative_prod",
        "sort", "argsort", "searchsorted", "unique_all", "unique_counts", "unique_inverse", "argmax", "argmin", "max",
        "min", "floor_divide", "remainder", "pow", "clip", "isin",
    }  # fmt: skip


def broadcast_partner(draw: Draw, shape: tuple[int, ...]) -> tuple[int, ...]:
    lengths = [1 if draw.rng.random() < 0.25 else n for n in shape]
    return tuple(lengths[int(draw.rng.integers(0, len(lengths) + 1)) :])


def are_axes(value: Any, ndim: int) -> bool:
    """True for distinct axes of an array with this number of axes. The standard leaves other axes open."""
    axes = value if isinstance(value, tuple) else (value,)
    if any(isinstance(axis, tuple) for axis in axes):
        return True
    axes = [axis for axis in axes if axis is not None]
    return all(-ndim <= axis < ndim for axis in axes) and len({axis % ndim for axis in axes}) == len(axes)


def arguments(name: str, draw: Draw) -> tuple[list[Any], dict[str, Any]]:
    """Random arguments for a function by the names of its parameters. Arrays are pairs."""
    kind = draw.of(list(KINDS))
    shape = draw.of(SHAPES)
    plain = is_plain(name)
    short = name.rpartition(".")[2]
    if name.startswith("linalg.") and draw.rng.random() < 0.8:
        kind, shape = draw.of(["real", "complex"]), draw.of([(3, 3), (2, 3), (3, 2), (2, 3, 3), (3,), (0, 3, 3)])
    if name.startswith("fft.") and draw.rng.random() < 0.9:
        kind = draw.of(["real", "complex"])
    if name.startswith("fft.") or short in ("take", "squeeze", "vector_norm"):
        shape = shape if shape and 0 not in shape else (2, 3)

    def array(dtype: str, shape: tuple[int, ...]) -> Any:
        result = draw.array(dtype, shape, plain)
        if short in {"cholesky", "eigh", "eigvalsh"} and len(shape) > 1 and shape[-1] == shape[-2]:
            result = result @ np.conj(np.swapaxes(result, -1, -2)) + np.eye(shape[-1], dtype=result.dtype)
        return draw.pair(result)

    def value(parameter: inspect.Parameter) -> Any:
        by = parameter.name
        if by in ("x", "x1", "obj"):
            return array(draw.of(KINDS[kind]), shape)
        if by == "indices":
            indices = draw.rng.integers(0, max(1, min(shape, default=1)), shape if short != "take" else 2)
            return draw.pair(indices)
        if by == "condition":
            return array("bool", broadcast_partner(draw, shape))
        if by == "arrays":
            same = short in ("concat", "stack")
            return [array(draw.of(KINDS[kind]), shape if same else broadcast_partner(draw, shape)) for _ in range(2)]
        if by in ("x2", "min", "max"):
            if short in ("x2", "clip", "where") or draw.rng.random() < 0.3:
                number = {"bool": True, "signed": -3, "unsigned": 2, "real": 1.5, "complex": 1 + 2j}[kind]
                if by != "x2":
                    return draw.of([None, number])
                if parameter.annotation is not inspect.Parameter.empty and "|" in str(parameter.annotation):
                    return number
            partner = shape if name.startswith("linalg.") or short in ("matmul", "tensordot", "vecdot") else None
            if short == "matmul" and draw.rng.random() < 0.7 and len(shape) > 1:
                partner = (*shape[:-2], shape[-1], 2)
            return array(draw.of(KINDS[kind]), broadcast_partner(draw, shape) if partner is None else partner)
        if by == "dtype":
            # the standard leaves casts to another kind open
            return draw.of([None, *[("dtype", each) for each in KINDS[kind]]])
        options = CHOICES[by]
        if by in ("axis", "axes"):
            hint = str(parameter.annotation).lower()
            kinds = [int] + [tuple] * ("tuple" in hint or "sequence" in hint) + [type(None)] * ("none" in hint)
            kinds = [tuple] if short == "permute_dims" else kinds
            options = [each for each in options if isinstance(each, tuple(kinds)) and are_axes(each, len(shape))]
        return draw.of(options) if options else parameter.default

    args, kwargs = [], {}
    for parameter in inspect.signature(member(strict, name)).parameters.values():
        if parameter.name in LEFT_OUT:
            continue
        optional = parameter.default is not parameter.empty
        if parameter.kind is parameter.KEYWORD_ONLY:
            if draw.rng.random() < 0.6:
                kwargs[parameter.name] = value(parameter)
        elif parameter.kind is parameter.VAR_POSITIONAL:
            args.extend(value(parameter))
        elif not optional or (len(args) == sum(1 for _ in args) and draw.rng.random() < 0.7):
            args.append(value(parameter))
        else:
            break
    return args, kwargs


def side(value: Any, number: int) -> Any:
    """The arguments for one of the two namespaces."""
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], strict._array_object.Array):
        return value[number]
    if isinstance(value, tuple) and value and value[0] == "dtype":
        return getattr((strict, array_api)[number], value[1])
    if isinstance(value, list):
        return [side(member, number) for member in value]
    return value


def plain_of(value: Any) -> Any:
    return np.asarray(value._array) if isinstance(value, strict._array_object.Array) else value


def compare(name: str, actual: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert isinstance(actual, (tuple, list)) and len(actual) == len(expected)
        if hasattr(expected, "_fields"):
            assert actual._fields == expected._fields  # type: ignore[attr-defined]
        for one, other in zip(actual, expected, strict=True):
            compare(name, one, other)
        return
    if not isinstance(expected, strict._array_object.Array):
        assert actual == expected
        return
    assert isinstance(actual, adjoint.Tensor)
    theirs = plain_of(expected)
    ours = actual.numpy()
    assert ours.dtype == theirs.dtype, f"dtype {ours.dtype}, should be {theirs.dtype}"
    assert tuple(actual.shape) == theirs.shape, f"shape {tuple(actual.shape)}, should be {theirs.shape}"
    if name in UP_TO_SIGN:
        ours, theirs = abs(ours), abs(theirs)
    tolerance = TOLERANT.get(theirs.dtype.name, 0.0)
    scale = float(np.max(abs(theirs[np.isfinite(theirs)]), initial=0.0)) if name.startswith(("linalg", "fft")) else 0.0
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale, equal_nan=True)
    if theirs.dtype.kind == "f" and name not in UP_TO_SIGN and not is_plain(name):
        zeros = theirs == 0
        assert np.array_equal(np.signbit(ours[zeros]), np.signbit(theirs[zeros])), f"{ours} and {theirs}: sign of zero"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [*functions()])
def test_as_the_standard(name: str) -> None:
    ours, theirs = member(array_api, name), member(strict, name)
    count, wrong = 0, []
    for number in range(DRAWS):
        args, kwargs = arguments(name, Draw(number))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = theirs(*side(args, 0), **{key: side(value, 0) for key, value in kwargs.items()})
            except Exception:  # the standard leaves this open
                continue
            count += 1
            try:
                result = ours(*side(args, 1), **{key: side(value, 1) for key, value in kwargs.items()})
                compare(name, result, expected)
            except Exception as error:
                text = ", ".join([str(side(a, 0)) for a in args] + [f"{k}={side(v, 0)}" for k, v in kwargs.items()])
                wrong.append(f"{name}({text}): {type(error).__name__} {error}")
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:5])
    assert count >= DRAWS // 30, "almost no call is valid"


# the array object -----------------------------------------------------------------------------------------------------

INDICES: list[Any] = [0, -1, slice(None), slice(1, None), slice(None, None, -1), slice(2, 0, -1), ..., None, (),
                      (0, ...), (None, 0), (slice(None, None, 2), 1), (..., None, -1), (slice(5, 1),)]  # fmt: skip


@pytest.mark.parametrize("dtype", [name for names in KINDS.values() for name in names])
def test_indexing(dtype: str) -> None:
    draw = Draw(3)
    for shape in [shape for shape in SHAPES if 0 not in shape]:
        array = draw.array(dtype, shape, plain=True)
        keys = [*INDICES, draw.array("bool", shape, plain=True)]
        if array.ndim == 1:
            keys.append(np.array([0, -1, 0]))
        for key in keys:
            theirs, ours = draw.pair(array.copy())
            own_key = [strict.asarray(key), array_api.asarray(key)] if isinstance(key, np.ndarray) else [key, key]
            try:
                expected = theirs[own_key[0]]
            except Exception:  # the standard leaves this open
                continue
            compare("", ours[own_key[1]], expected)
            value = True if dtype == "bool" else 3
            try:
                theirs[own_key[0]] = value
            except IndexError:  # the standard leaves this open
                continue
            ours[own_key[1]] = value
            compare("", ours, theirs)


@pytest.mark.parametrize("dtype", [name for names in KINDS.values() for name in names])
def test_attributes_and_methods(dtype: str) -> None:
    theirs, ours = Draw(4).pair(Draw(5).array(dtype, (2, 3), plain=True))
    assert (ours.ndim, tuple(ours.shape)) == (theirs.ndim, theirs.shape)
    assert ours.dtype is getattr(array_api, dtype)
    for options in ({}, {"api_version": "2024.12"}):
        assert ours.__array_namespace__(**options).sum is array_api.sum
    for name in ("T", "mT"):
        compare("", getattr(ours, name), getattr(theirs, name))
    assert ours.to_device(ours.device).dtype is ours.dtype
    one, element = theirs[0, 0], ours[0, 0]
    conversions: list[Callable[[Any], Any]] = [bool, complex]
    if dtype == "bool" or "complex" not in dtype:
        conversions += [float, int]
    for convert in conversions:
        if convert is float and ("int" in dtype or dtype == "bool"):
            continue
        try:
            expected = convert(one)
        except TypeError:
            continue
        assert convert(element) == expected
    if "int" in dtype:
        assert element.__index__() == one.__index__()


@pytest.mark.parametrize("operator", ["pos", "neg", "abs", "invert"])
def test_operators_of_one_operand(operator: str) -> None:
    compared = 0
    for names in KINDS.values():
        for dtype in names:
            theirs, ours = Draw(6).pair(Draw(7).array(dtype, (2, 3), plain=False))
            try:
                expected = getattr(theirs, f"__{operator}__")()
            except TypeError:
                continue
            compare("", getattr(ours, f"__{operator}__")(), expected)
            compared += 1
    assert compared


# former findings of array-api-tests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod"])
@pytest.mark.parametrize(("source", "target"), [("int8", "uint8"), ("int64", "int8"), ("float64", "int32")])
def test_accumulations_in_any_dtype_cast_their_argument_first(name: str, source: str, target: str) -> None:
    values = np.array([1, 3, 5], source)
    result = getattr(array_api, name)(array_api.asarray(values), axis=0, dtype=getattr(array_api, target))
    reference = {"sum": np.sum, "prod": np.prod, "cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}[name]
    expected = reference(values.astype(target), axis=0, dtype=target)
    assert result.dtype is getattr(array_api, target) and np.array_equal(result.numpy(), expected)


def test_repeat_takes_counts_of_any_integer_dtype() -> None:
    x = array_api.asarray([[1.0, 2.0], [3.0, 4.0]])
    for dtype in KINDS["signed"] + KINDS["unsigned"]:
        counts = array_api.asarray([2, 1], dtype=getattr(array_api, dtype))
        result = array_api.repeat(x, counts, axis=0)
        assert result.tolist() == [[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]]
    assert array_api.repeat(x, array_api.asarray([3], dtype=array_api.uint64)).shape == (12,)


def test_pinv_takes_a_tolerance_for_each_matrix() -> None:
    a = np.random.default_rng(0).normal(size=(2, 3, 4))
    rtol = np.array([0.5, 1e-10])
    result = array_api.linalg.pinv(array_api.asarray(a), rtol=array_api.asarray(rtol))
    assert np.allclose(result.numpy(), np.linalg.pinv(a, rtol=rtol))
    assert not np.allclose(result.numpy(), np.linalg.pinv(a))


@pytest.mark.parametrize("of", [array_api, array_api.linalg])
@pytest.mark.parametrize(("left", "right"), [((3,), (1,)), ((0,), (1,)), ((2, 3), (2, 1)), ((0, 3), (0, 4))])
def test_vecdot_does_not_broadcast_the_axis_that_it_sums_over(of: Any, left: Any, right: Any) -> None:
    with pytest.raises(ValueError, match="vecdot: Input operand 1 has a mismatch in its core dimension 0"):
        of.vecdot(array_api.ones(left), array_api.ones(right))


INTEGERS = KINDS["signed"] + KINDS["unsigned"]


@pytest.mark.parametrize("left", INTEGERS)
def test_operators_promote_integers_of_all_widths(left: str) -> None:
    for right in INTEGERS:
        if "uint64" in (left, right) and {left, right} & set(KINDS["signed"]):
            continue  # the standard has no common dtype for the two
        theirs, ours = zip(Draw(8).pair(np.array([1, 2], left)), Draw(8).pair(np.array([3, 2], right)), strict=True)
        for call in (operator.add, operator.mul, operator.and_, operator.eq, operator.lt):
            compare("", call(*ours), call(*theirs))
        changed = ours[0].clone()
        if array_api.result_type(*ours) is changed.dtype:
            changed += ours[1]
            compare("", changed, theirs[0] + theirs[1])
    for right in KINDS["signed"] if left == "uint64" else ():
        with pytest.raises(RuntimeError, match="attempted to promote UInt64 and "):
            array_api.ones(2, dtype=array_api.uint64) + array_api.ones(2, dtype=getattr(array_api, right))


@pytest.mark.parametrize(
    "key",
    [
        (np.array([0, 1]), 1),
        (np.array([1, 0]), np.array([2, 0])),
        (1, np.array([[0, 1], [2, 2]])),
        (np.array([0, 1]), np.array([[1], [-1]]), 3),
        (np.array([-1, 0]), np.array(2), np.array([0, 3])),
    ],
    ids=str,
)
def test_integer_arrays_and_integers_index_together(key: tuple[Any, ...]) -> None:
    values = np.arange(24.0).reshape(2, 3, 4)
    index = tuple(array_api.asarray(part) if isinstance(part, np.ndarray) else part for part in key)
    result = array_api.asarray(values)[index]
    assert result.dtype is array_api.float64 and np.array_equal(result.numpy(), values[key])
