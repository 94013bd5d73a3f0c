"""The array API standard: every function against array-api-strict, with gradients; and libraries that use it."""

from __future__ import annotations

import math
import operator
import re
from itertools import product
from pathlib import Path
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import adjoint
from adjoint import array_api
from support.numpy_checks import check_gradients, flat
from support.numpy_samples import Sample, Source

_UNARY = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_invert", "ceil", "conj", "cos", "cosh", "exp",
    "expm1", "floor", "imag", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2", "logical_not",
    "negative", "positive", "real", "reciprocal", "round", "sign", "signbit", "sin", "sinh", "sqrt", "square",
    "tan", "tanh", "trunc", "abs",
]  # fmt: skip
_BINARY = [
    "add", "atan2", "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor",
    "copysign", "divide", "equal", "floor_divide", "greater", "greater_equal", "hypot", "less", "less_equal",
    "logaddexp", "logical_and", "logical_or", "logical_xor", "maximum", "minimum", "multiply", "nextafter",
    "not_equal", "pow", "remainder", "subtract",
]  # fmt: skip
#: Domains of arguments, if they are not between 0.5 and 0.9.
_LOW = {"acosh": 1.2}


def unary(name: str) -> list[Sample]:
    low = _LOW.get(name, 0.5)
    high = low + 0.4
    return [
        lambda xp, r: getattr(xp, name)(r(2, 3, low=low, high=high)),
        lambda xp, r: getattr(xp, name)(r(low=low, high=high)),
    ]


def binary(name: str) -> list[Sample]:
    return [
        lambda xp, r: getattr(xp, name)(r.positive(2, 3), r.positive(3)),
        lambda xp, r: getattr(xp, name)(r.positive(2), 2 if name.startswith(("bitwise", "pow")) else 1.5),
    ]


def reduction(name: str) -> list[Sample]:
    return [
        lambda xp, r: getattr(xp, name)(r.apart(3, 4)),
        lambda xp, r: getattr(xp, name)(r.apart(3, 4), axis=1, keepdims=True),
        lambda xp, r: getattr(xp, name)(r.apart(2, 3, 2), axis=(0, 2)),
    ]


SAMPLES: dict[str, list[Sample]] = {
    **{name: unary(name) for name in _UNARY},
    **{name: binary(name) for name in _BINARY},
    **{name: reduction(name) for name in ("sum", "prod", "max", "min", "mean", "var", "std", "all", "any")},
    "clip": [lambda xp, r: xp.clip(r(6), -0.3, 0.4), lambda xp, r: xp.clip(r(2, 3), min=r(3)),
             lambda xp, r: xp.clip(r(3))],
    # creation
    "arange": [lambda xp, r: xp.arange(2, 8, 3), lambda xp, r: xp.arange(3.0),
               lambda xp, r: xp.arange(4, dtype=xp.int8)],
    "asarray": [lambda xp, r: xp.asarray([1, 2]), lambda xp, r: xp.asarray(1.5),
                lambda xp, r: xp.asarray(r(2), copy=True),
                lambda xp, r: xp.asarray([True], dtype=xp.float32), lambda xp, r: xp.asarray(1j)],
    "empty": [lambda xp, r: xp.zeros_like(xp.empty((2, 3), dtype=xp.int16))],
    "empty_like": [lambda xp, r: xp.zeros_like(xp.empty_like(r(2, 3)))],
    "zeros": [lambda xp, r: xp.zeros((2, 3)), lambda xp, r: xp.zeros(2, dtype=xp.bool)],
    "ones": [lambda xp, r: xp.ones((2, 3)), lambda xp, r: xp.ones(2, dtype=xp.complex64)],
    "zeros_like": [lambda xp, r: xp.zeros_like(r(2, 3), dtype=xp.int64)],
    "ones_like": [lambda xp, r: xp.ones_like(r(2, 3))],
    "full": [lambda xp, r: xp.full((2, 3), 4), lambda xp, r: xp.full(2, 1.5), lambda xp, r: xp.full(2, True)],
    "full_like": [lambda xp, r: xp.full_like(r(2, 3), 2)],
    "eye": [lambda xp, r: xp.eye(3, 4, k=1), lambda xp, r: xp.eye(2, dtype=xp.int32)],
    "linspace": [lambda xp, r: xp.linspace(0, 2, 5),
                 lambda xp, r: xp.linspace(0.0, 1.0, 4, endpoint=False, dtype=xp.float32)],
    "meshgrid": [lambda xp, r: list(xp.meshgrid(r(2), r(3))),
                 lambda xp, r: list(xp.meshgrid(r(2), r(3), indexing="ij"))],
    "tril": [lambda xp, r: xp.tril(r(2, 3, 3), k=1)],
    "triu": [lambda xp, r: xp.triu(r(3, 3), k=-1)],
    # dtypes
    "astype": [lambda xp, r: xp.astype(r(3), xp.complex128), lambda xp, r: xp.astype(r(3), xp.int32)
               if r.kind.kind != "c" else xp.zeros(1)],
    # shapes
    "broadcast_arrays": [lambda xp, r: list(xp.broadcast_arrays(r(3, 1), r(4)))],
    "broadcast_to": [lambda xp, r: xp.broadcast_to(r(3, 1), (2, 3, 4))],
    "concat": [lambda xp, r: xp.concat([r(2, 3), r(1, 3)]), lambda xp, r: xp.concat([r(2), r(1, 2)], axis=None)],
    "expand_dims": [lambda xp, r: xp.expand_dims(r(2, 3), axis=-1)],
    "flip": [lambda xp, r: xp.flip(r(2, 3)), lambda xp, r: xp.flip(r(2, 3), axis=(-1,))],
    "moveaxis": [lambda xp, r: xp.moveaxis(r(2, 3, 4), 0, -1)],
    "permute_dims": [lambda xp, r: xp.permute_dims(r(2, 3, 4), (2, 0, 1))],
    "repeat": [lambda xp, r: xp.repeat(r(2, 3), 2, axis=1), lambda xp, r: xp.repeat(r(3), xp.asarray([1, 0, 2]))],
    "reshape": [lambda xp, r: xp.reshape(r(2, 3), (3, -1)), lambda xp, r: xp.reshape(r(2, 3), (6,), copy=True)],
    "roll": [lambda xp, r: xp.roll(r(2, 3), (1, -1), axis=(0, 1)), lambda xp, r: xp.roll(r(2, 3), 2)],
    "squeeze": [lambda xp, r: xp.squeeze(r(2, 1, 3), 1)],
    "stack": [lambda xp, r: xp.stack([r(2), r(2)], axis=-1)],
    "tile": [lambda xp, r: xp.tile(r(2, 3), (2, 1, 2))],
    "unstack": [lambda xp, r: xp.unstack(r(2, 3), axis=1)],
    # indices
    "argmax": [lambda xp, r: xp.argmax(r.apart(3, 4)), lambda xp, r: xp.argmax(r.apart(3, 4), axis=1, keepdims=True)],
    "argmin": [lambda xp, r: xp.argmin(r.apart(3, 4), axis=0)],
    "argsort": [lambda xp, r: xp.argsort(r.apart(3, 4)),
                lambda xp, r: xp.argsort(xp.asarray([1, 0, 1]), descending=True)],
    "sort": [lambda xp, r: xp.sort(r.apart(3, 4), axis=0), lambda xp, r: xp.sort(r.apart(5), descending=True)],
    "count_nonzero": [lambda xp, r: xp.count_nonzero(r(3, 4), axis=1, keepdims=True)],
    "nonzero": [lambda xp, r: xp.nonzero(r(2, 2))],
    "searchsorted": [lambda xp, r: xp.searchsorted(r.ascending(4), r.ascending(3), side="right")],
    "where": [lambda xp, r: xp.where(xp.asarray([True, False]), r(2), r(2)),
              lambda xp, r: xp.where(xp.asarray([True, False]), r(2), 0)],
    "take": [lambda xp, r: xp.take(r(3, 2), xp.asarray([2, 0]), axis=0), lambda xp, r: xp.take(r(3), xp.asarray([1]))],
    "take_along_axis": [lambda xp, r: xp.take_along_axis(r(2, 3), xp.asarray([[0, 2], [1, 1]]), axis=1)],
    "unique_all": [lambda xp, r: list(xp.unique_all(r.apart(4)))],
    "unique_counts": [lambda xp, r: xp.sort(xp.unique_counts(r.apart(4)).counts)],
    "unique_inverse": [lambda xp, r: xp.unique_inverse(r.apart(2, 2)).inverse_indices],
    "unique_values": [lambda xp, r: xp.sum(xp.unique_values(r.apart(4)))],
    "cumulative_sum": [lambda xp, r: xp.cumulative_sum(r(3, 4), axis=1, include_initial=True)],
    "cumulative_prod": [lambda xp, r: xp.cumulative_prod(r(4))],
    "diff": [lambda xp, r: xp.diff(r(5), n=2), lambda xp, r: xp.diff(r(2, 3), axis=0, prepend=r(1, 3))],
    # products
    "matmul": [lambda xp, r: xp.matmul(r(2, 3), r(3, 2)), lambda xp, r: xp.matmul(r(3), r(3))],
    "matrix_transpose": [lambda xp, r: xp.matrix_transpose(r(2, 3, 4))],
    "tensordot": [lambda xp, r: xp.tensordot(r(2, 3), r(3, 2), axes=1),
                  lambda xp, r: xp.tensordot(r(2, 3), r(3, 2), axes=((0, 1), (1, 0)))],
    "vecdot": [lambda xp, r: xp.vecdot(r(2, 3), r(2, 3))],
    **{f"fft.{name}": [lambda xp, r, name=name: getattr(xp.fft, name)(r(2, 5)),
                       lambda xp, r, name=name: getattr(xp.fft, name)(r(4, 3), n=6, axis=0, norm="ortho")]
       for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": [lambda xp, r, name=name: getattr(xp.fft, name)(r(3, 4)),
                       lambda xp, r, name=name: getattr(xp.fft, name)(r(2, 3, 4), s=(4, 3), axes=(0, 1))]
       for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    "fft.fftfreq": [lambda xp, r: xp.fft.fftfreq(5, d=0.5)],
    "fft.rfftfreq": [lambda xp, r: xp.fft.rfftfreq(5, d=0.5)],
    "fft.fftshift": [lambda xp, r: xp.fft.fftshift(r(3, 4), axes=1)],
    "fft.ifftshift": [lambda xp, r: xp.fft.ifftshift(r(5))],
    "linalg.cholesky": [lambda xp, r: xp.linalg.cholesky(r.hermitian(3), upper=True)],
    "linalg.cross": [lambda xp, r: xp.linalg.cross(r(2, 3), r(2, 3))],
    "linalg.det": [lambda xp, r: xp.linalg.det(r(2, 3, 3))],
    "linalg.diagonal": [lambda xp, r: xp.linalg.diagonal(r(2, 3, 4), offset=1)],
    "linalg.eigh": [lambda xp, r: xp.linalg.eigh(r.hermitian(3)).eigenvalues],
    "linalg.eigvalsh": [lambda xp, r: xp.linalg.eigvalsh(r.hermitian(3))],
    "linalg.inv": [lambda xp, r: xp.linalg.inv(r.hermitian(3))],
    "linalg.matmul": [lambda xp, r: xp.linalg.matmul(r(2, 3), r(3, 2))],
    "linalg.matrix_norm": [lambda xp, r: xp.linalg.matrix_norm(r(3, 4), ord="nuc"),
                           lambda xp, r: xp.linalg.matrix_norm(r(2, 3, 4), keepdims=True)],
    "linalg.matrix_power": [lambda xp, r: xp.linalg.matrix_power(r.hermitian(3), 3)],
    "linalg.matrix_rank": [lambda xp, r: xp.linalg.matrix_rank(r(3, 4))],
    "linalg.matrix_transpose": [lambda xp, r: xp.linalg.matrix_transpose(r(3, 4))],
    "linalg.outer": [lambda xp, r: xp.linalg.outer(r(2), r(3))],
    "linalg.pinv": [lambda xp, r: xp.linalg.pinv(r(4, 3))],
    "linalg.qr": [lambda xp, r: xp.linalg.qr(r(4, 3)).R],
    "linalg.slogdet": [lambda xp, r: list(xp.linalg.slogdet(r.hermitian(3)))],
    "linalg.solve": [lambda xp, r: xp.linalg.solve(r.hermitian(3), r(3, 2))],
    "linalg.svd": [lambda xp, r: xp.linalg.svd(r(4, 3), full_matrices=False).S],
    "linalg.svdvals": [lambda xp, r: xp.linalg.svdvals(r(4, 3))],
    "linalg.tensordot": [lambda xp, r: xp.linalg.tensordot(r(2, 3), r(3, 2), axes=1)],
    "linalg.trace": [lambda xp, r: xp.linalg.trace(r(2, 3, 3), offset=1)],
    "linalg.vecdot": [lambda xp, r: xp.linalg.vecdot(r(2, 3), r(2, 3))],
    "linalg.vector_norm": [lambda xp, r: xp.linalg.vector_norm(r(2, 3), axis=1, ord=3),
                           lambda xp, r: xp.linalg.vector_norm(r(2, 3), keepdims=True)],
}  # fmt: skip
KINDS = ("float64", "float32", "complex128", "complex64", "int64", "int8", "uint16", "bool")
#: Results that do not depend on the values, or whose derivatives are 0.
FLAT = {"ceil", "floor", "round", "trunc", "sign", "floor_divide", "nextafter", "asarray", "imag", "full_like",
        "linalg.slogdet", "linalg.svdvals", "linalg.cholesky"}  # fmt: skip
HERMITIAN = {"linalg.eigh", "linalg.eigvalsh", "linalg.cholesky"}


class Namespace:
    """A namespace with the interface of a module. Values come from NumPy's function of the same name."""

    __name__ = "array_api"

    def __init__(self, space: Any) -> None:
        self.space = space

    def __getattr__(self, name: str) -> Any:
        return getattr(self.space, name)


def expected_of(sample: Sample, source: Source) -> Any:
    """The result of array-api-strict; None if it refuses the arguments."""
    try:
        source.run(sample, np)  # the source draws the arrays
    except Exception:  # NumPy's namespace may refuse such numbers, but the arrays are drawn
        pass
    try:
        with np.errstate(all="ignore"):
            return source.run(sample, strict, [strict.asarray(array) for array in source.arrays])
    except Exception:
        return None


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_as_array_api_strict(name: str) -> None:
    compared = 0
    for sample in SAMPLES[name]:
        for kind in KINDS:
            source = Source(kind)
            expected = expected_of(sample, source)
            if expected is None:
                continue
            result = source.run(sample, array_api, [adjoint.from_numpy(array.copy()) for array in source.arrays])
            compared += 1
            for ours, theirs in zip(flat(result), flat(expected), strict=True):
                assert isinstance(ours, adjoint.Tensor)
                theirs = np.asarray(theirs)
                assert (ours.numpy().dtype, tuple(ours.shape)) == (theirs.dtype, theirs.shape), (kind, name)
                rough = 1e-3 if kind in ("float32", "complex64", "int8", "uint16", "bool") else 1e-9
                np.testing.assert_allclose(ours.numpy(), theirs, rtol=rough, atol=rough)
    assert compared


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in ("empty", "empty_like", "arange")])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_gradients(name: str) -> None:
    for sample in SAMPLES[name]:
        for kind in ("float64", "complex128"):
            source = Source(kind)
            if expected_of(sample, source) is None or not source.arrays:
                continue
            options = {"hermitian": name in HERMITIAN, "constant": name in FLAT or name.endswith("_like")}
            check_gradients(of_both(sample), Namespace(array_api), kind, **options)


def of_both(sample: Sample) -> Sample:
    """The sample's results by the namespace for Tensors, and by NumPy's namespace for arrays."""
    return lambda xp, r: sample(xp if has_tensors(r) else np, r)


def has_tensors(source: Source) -> bool:
    return any(isinstance(each, adjoint.Tensor) for each in source.instead or ())


def test_all_functions_of_the_standard_are_there_and_tested() -> None:
    for space, prefix in ((strict, ""), (strict.linalg, "linalg."), (strict.fft, "fft.")):
        module = getattr(array_api, prefix.rstrip(".")) if prefix else array_api
        names = [
            name for name in getattr(space, "__all__", dir(space))
            if not name.startswith("_") and callable(value := getattr(space, name))
            and not isinstance(value, type) and name not in BEYOND
        ]  # fmt: skip
        assert [name for name in names if not hasattr(module, name)] == []
        untested = {prefix + name for name in names} - SAMPLES.keys()
        assert untested - OTHERWISE_TESTED == set()
    for name in ("e", "inf", "nan", "newaxis", "pi"):
        assert getattr(array_api, name) == getattr(math, name, None) or (name == "nan" and math.isnan(array_api.nan))


#: Names of array-api-strict that belong to later versions of the standard, or only to the library.
BEYOND = {"broadcast_shapes", "isin", "get_array_api_strict_flags", "set_array_api_strict_flags",
          "reset_array_api_strict_flags", "ArrayAPIStrictFlags", "Device", "ModuleType"}  # fmt: skip
OTHERWISE_TESTED = {"can_cast", "finfo", "iinfo", "isdtype", "result_type", "from_dlpack", "float32", "float64", "int8",
                    "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool", "complex64",
                    "complex128", "linalg.eig", "linalg.eigvals"}  # fmt: skip


# operators ------------------------------------------------------------------------------------------------------------

OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
             operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift, operator.eq, operator.ne,
             operator.lt, operator.le, operator.gt, operator.ge, operator.matmul]  # fmt: skip
DTYPES = [np.dtype(name) for name in strict.__array_namespace_info__().dtypes()]


def is_torchs_own(call: Any, a: np.ndarray, b: np.ndarray) -> bool:
    """True if torch's operators differ from the standard here. Programs on Tensors expect torch's operators."""
    mixed = a.dtype != b.dtype
    if call is operator.matmul:
        return mixed  # matrix products need equal dtypes
    return mixed and (a.ndim == 0) != (b.ndim == 0)  # a zero-dimensional operand leaves the other's dtype unchanged


@pytest.mark.parametrize("call", OPERATORS, ids=lambda call: call.__name__)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_operators_follow_the_standard_but_for_torchs_promotion(call: Any) -> None:
    compared = 0
    for left, right in product(DTYPES, DTYPES):
        for shapes in (((2, 2), (2, 2)), ((), (2, 2)), ((2, 2), ())):
            a, b = np.ones(shapes[0], left), np.ones(shapes[1], right)
            try:
                expected = np.asarray(call(strict.asarray(a), strict.asarray(b)))
            except Exception:  # the standard does not define this case
                continue
            if is_torchs_own(call, a, b):
                continue
            result = call(adjoint.from_numpy(a), adjoint.from_numpy(b)).numpy()
            assert result.dtype == expected.dtype and np.array_equal(result, expected), (a.dtype, b.dtype, shapes)
            compared += 1
    assert compared


def test_known_failures_of_the_suite_are_those_of_operators_and_numpys_own() -> None:
    lines = (Path(__file__).parents[1] / "data/array_api_known_failures.txt").read_text().splitlines()
    entries = [line for line in lines if line and not line.startswith("#")]
    operators = r"\S+test_operators_and_elementwise_functions\.py::test_\w+\[__\w+__\(x1, x2\)\]"
    numpys = r"\S+test_special_cases\.py::test_\w+\[(floor_divide|__i?floordiv__|expm1|sqrt|tanh)\(.+\) -> .+\]"
    assert entries and all(re.fullmatch(f"{operators}|{numpys}", line) for line in entries)
    assert len(set(entries)) == len(entries)


# dtypes and inspection ------------------------------------------------------------------------------------------------


def test_dtypes() -> None:
    xp = array_api
    t = xp.ones(2, dtype=xp.float32)
    assert xp.isdtype(t.dtype, "real floating") and xp.isdtype(xp.int8, ("bool", "signed integer"))
    assert not xp.isdtype(xp.complex64, "real floating") and xp.isdtype(xp.bool, xp.bool)
    with pytest.raises(ValueError, match="unrecognized kind 'floating'"):
        xp.isdtype(xp.int8, "floating")
    assert xp.result_type(t, xp.int8, 1.0) is xp.float32 and xp.result_type(xp.uint16, xp.uint32) is xp.uint32
    assert xp.can_cast(xp.int8, xp.int16) and not xp.can_cast(t, xp.int8)
    for dtype in ("float32", "float64", "complex64"):
        ours, theirs = xp.finfo(getattr(xp, dtype)), np.finfo(dtype)
        assert (ours.bits, ours.eps, ours.max, ours.min) == (theirs.bits, theirs.eps, theirs.max, theirs.min)
        assert ours.smallest_normal == theirs.smallest_normal and ours.dtype is getattr(xp, theirs.dtype.name)
    assert xp.iinfo(t.to(adjoint.int8)) == (8, 127, -128, xp.int8)
    with pytest.raises(TypeError, match=r"must be adjoint\.dtype, not str"):
        xp.zeros(2, dtype="float64")


def test_inspection() -> None:
    info = array_api.__array_namespace_info__()
    assert info.capabilities()["boolean indexing"] and info.default_device() == adjoint.device("cpu")
    assert info.devices() == [adjoint.device("cpu")]
    defaults = info.default_dtypes(device="cpu")
    assert defaults["real floating"] is array_api.asarray(1.0).dtype is array_api.float64
    assert defaults["complex floating"] is array_api.asarray(1j).dtype
    assert defaults["integral"] is array_api.asarray(1).dtype and defaults["indexing"] is array_api.int64
    assert set(info.dtypes()) == set(strict.__array_namespace_info__().dtypes())
    assert set(info.dtypes(kind=("bool", "real floating"))) == {"bool", "float32", "float64"}


def test_the_namespace_of_a_tensor() -> None:
    import array_api_compat

    t = adjoint.ones(2, requires_grad=True)
    assert t.__array_namespace__() is t.__array_namespace__(api_version="2024.12")
    assert array_api_compat.array_namespace(t, adjoint.zeros(1)) is t.__array_namespace__()
    assert array_api_compat.is_array_api_obj(t) and array_api_compat.size(t) == 2
    with pytest.raises(ValueError, match=r"'2042\.12' is not supported"):
        t.__array_namespace__(api_version="2042.12")
    assert t.to_device("cpu") is t and array_api_compat.to_device(t, t.device) is t
    with pytest.raises(ValueError, match="streams are not supported, got stream=1"):
        t.to_device("cpu", stream=1)
    with pytest.raises(RuntimeError, match=r"(?i)device"):
        array_api.zeros(2, device="nowhere")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: array_api.nonzero(adjoint.tensor(1.0)), ValueError, "not defined for zero-dimensional"),
        (lambda: array_api.take(adjoint.ones(2, 2), adjoint.tensor([0])), ValueError, "axis must be given"),
        (lambda: array_api.reshape(adjoint.ones(2, 3).T, (6,), copy=False), ValueError, "Unable to avoid creating"),
        (lambda: array_api.asarray([1.0], copy=False), ValueError, "Unable to avoid copy"),
    ],
)
def test_errors(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call()


# DLPack, buffers ------------------------------------------------------------------------------------------------------


def test_dlpack_shares_memory_both_ways() -> None:
    array = np.arange(3.0)
    t = adjoint.from_dlpack(array)
    array[0] = 7.0
    assert t[0] == 7.0 and t.dtype is adjoint.float64
    t = adjoint.tensor([7.0, 1.0, 2.0])  # before version 2.3 NumPy imported the memory of other libraries as read-only
    back = np.from_dlpack(t)
    t[1] = 8.0
    assert back.tolist() == [7.0, 8.0, 2.0] and t.__dlpack_device__() == (1, 0)
    copy = array_api.from_dlpack(t, copy=True)
    t[2] = 9.0
    assert copy[2] == 2.0 and strict.from_dlpack(t)[2] == 9.0


def test_what_requires_grad_is_not_exported() -> None:
    t = adjoint.ones(2, requires_grad=True)
    for export in (lambda: np.from_dlpack(t), lambda: t.__dlpack__(), lambda: adjoint.from_dlpack(t)):
        with pytest.raises(BufferError, match=r"Can't export tensors that require gradient, use tensor.detach\(\)"):
            export()
    assert adjoint.from_dlpack(t.detach(), device="cpu").tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="bytes-like object is required"):
        memoryview(t)  # type: ignore[arg-type]


# libraries ------------------------------------------------------------------------------------------------------------


def test_einops() -> None:
    einops = pytest.importorskip("einops")
    x = adjoint.arange(24, dtype=adjoint.float64).reshape(2, 3, 4).requires_grad_()
    y = einops.rearrange(x, "a b c -> (c a) b")
    assert np.array_equal(y.detach().numpy(), einops.rearrange(x.detach().numpy(), "a b c -> (c a) b"))
    packed, _ = einops.pack([y, y], "* b")
    total = (packed[:8] * y).sum() + einops.reduce(x, "a b c -> b", "mean").sum()
    total = total + einops.repeat(x, "a b c -> a (b k) c", k=2).sum() + einops.einsum(x, x, "a b c, a b c ->")
    total.backward()
    assert np.allclose(x.grad, 4 * x.detach().numpy() + 1 / 8 + 2)
    assert einops.asnumpy(x.detach()).shape == (2, 3, 4) and einops.parse_shape(x, "a b c") == {"a": 2, "b": 3, "c": 4}


def test_opt_einsum() -> None:
    opt_einsum = pytest.importorskip("opt_einsum")
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in ((2, 3), (3, 4), (4, 2), (2,))]
    tensors = [adjoint.tensor(array, requires_grad=True) for array in arrays]
    result = opt_einsum.contract("ij,jk,kl,m->lim", *tensors)
    assert np.allclose(result.detach(), np.einsum("ij,jk,kl,m->lim", *arrays))
    result.sum().backward()
    assert np.allclose(tensors[0].grad, np.einsum("jk,kl,m->j", *arrays[1:])[None] + np.zeros((2, 1)))


def test_array_api_extra() -> None:
    xpx = pytest.importorskip("array_api_extra")
    x = adjoint.tensor([[0.5, 1.5, -1.0], [2.0, 0.1, 0.3]], dtype=adjoint.float64, requires_grad=True)
    array = x.detach().numpy()
    for call in (
        lambda x: xpx.cov(x), lambda x: xpx.sinc(x), lambda x: xpx.kron(x, x), lambda x: xpx.pad(x, 1),
        lambda x: xpx.at(x * 1)[0].set(3.0), lambda x: xpx.atleast_nd(x, ndim=4), lambda x: xpx.create_diagonal(x[0]),
        lambda x: xpx.apply_where(x > 0, x, lambda v: v * v, fill_value=0.0),
    ):  # fmt: skip
        result = call(x)
        assert result.requires_grad and np.allclose(result.detach().numpy(), call(array))
