"""Forms as kernels of a device, without a device: their bodies are compiled for the host, and by NVRTC if available."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.size import cuda_is_available
from adjoint.program import cuda_source, device
from adjoint.program.cuda_source import EXPRESSIONS, TYPES, Unprintable, body_of
from adjoint.program.form import BOOL, Form
from adjoint.program.trace import Looked, Untraceable, trace
from adjoint.rules import TABLE, derive
from adjoint.runtime.caches import reset_caches
from rules.test_table import NUMPY, Problem, cotangents_at, kinds_of, problems
from support import nvrtc, stand_in_cupy
from support.host_kernels import COMPILER, Case, differences

compiled_for_the_host = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")


def forms_of(problem: Problem, dtype: Any) -> Iterator[tuple[Any, list[Any]]]:
    """The kernel of a rule and its formulas as functions of arrays, with arrays of a type."""
    rule = problem.rule
    names = [n for n in rule.inputs + rule.constants if isinstance(problem.values[n], np.ndarray)]
    arguments = [np.asarray(problem.values[n], order="C") for n in names]

    def kernel(*arrays: Any) -> Any:
        return derive.call(rule, NUMPY, {**problem.values, **dict(zip(names, arrays, strict=True))})

    def formulas(g: Any, y: Any, *arrays: Any) -> Any:
        values = {**problem.values, **dict(zip(names, arrays, strict=True))}
        return tuple(derive.vjp(rule, NUMPY, g, values, y, problem.needs()).get(name) for name in rule.inputs)

    y = problem.pack(problem.outputs())
    for function, arrays in ((kernel, arguments), (formulas, [cotangents_at(problem, RNG)[0], y, *arguments])):
        yield function, [array.astype(dtype) if array.dtype.kind == "f" else array for array in arrays]


RNG = np.random.default_rng(0)


def rule_cases() -> Iterator[Case]:
    """The forms of all elementwise rules that have a body."""
    for rule in TABLE.values():
        if rule.kind != "elementwise" or rule.outputs is not None or "float64" not in kinds_of(rule):
            continue
        for number, problem in enumerate(problems(rule, "float64")):
            for dtype, (what, (function, arrays)) in itertools.product(
                "df", enumerate(forms_of(problem, "d")) if rule.has_derivative else ()
            ):
                typed = [array.astype(dtype) if array.dtype.kind == "f" else array for array in arrays]
                try:
                    form = trace(function, typed)
                    body_of(form)
                except (Untraceable, Looked, Unprintable):
                    continue
                yield Case(f"{rule.name}_{number}_{what}_{dtype}", form, typed)


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    results: dict[Form, Case] = {}
    with np.errstate(all="ignore"):
        for case in rule_cases():
            results.setdefault(case.form, case)
    return list(results.values())


@compiled_for_the_host
def test_bodies_give_numpys_values(cases: list[Case], tmp_path: Path) -> None:
    assert len(cases) > 300
    assert not differences(cases, tmp_path)


#: Operands for which comparisons, signs and roundings differ.
SPECIAL = np.array([0.0, -0.0, 1.0, -1.5, 2.5, np.inf, -np.inf, np.nan, 0.25])
#: Functions whose results at infinities and zeros are undefined in C, or give NumPy's warnings.
UNARY = [
    "negative", "absolute", "sign", "isnan", "isfinite", "isinf", "signbit", "floor", "ceil", "trunc", "rint", "square",
    "reciprocal", "exp", "log", "sqrt", "tanh", "cbrt", "log1p", "expm1", "deg2rad", "rad2deg", "arctan", "arcsinh",
]  # fmt: skip
BINARY = [
    "maximum", "minimum", "fmax", "fmin", "copysign", "less", "greater_equal", "equal", "not_equal", "hypot", "arctan2",
    "power", "divide", "fmod", "nextafter", "remainder", "logaddexp",
    "logaddexp2",
]  # fmt: skip


@compiled_for_the_host
def test_special_values(tmp_path: Path) -> None:
    rows, columns = (np.ascontiguousarray(a.ravel()) for a in np.meshgrid(SPECIAL, SPECIAL))
    results = []
    for name in (*UNARY, *BINARY):
        ufunc = getattr(np, name)
        arrays = [rows, columns][: ufunc.nin]
        results.append(Case(name, trace(lambda *a, ufunc=ufunc: ufunc(*a), arrays), arrays))
    assert not differences(results, tmp_path, 1e-14)


@pytest.mark.skipif(nvrtc.library() is None, reason="NVRTC is not installed")
def test_nvrtc_compiles_the_bodies(cases: list[Case]) -> None:
    text = "".join(nvrtc.kernel(f"f{k}", case.form, case.inputs, case.outputs) for k, case in enumerate(cases))
    assert ".entry" in nvrtc.compile_to_ptx(text)


# forms without a body -------------------------------------------------------------------------------------------------


def test_what_has_no_body() -> None:
    x = np.ones(3)
    for function, why in (
        (lambda a: np.add.reduce(np.exp(a), axis=-1), "a reduction"),
        (lambda a: np.floor_divide(a, 2.0) + 1, "floor_divide has no expression"),
        (lambda a: (a * 2, a), "an input or a constant is a result"),
    ):
        with pytest.raises(Unprintable, match=why):
            body_of(trace(function, (x,)))
    with pytest.raises(Unprintable, match="several shapes"):
        body_of(trace(lambda a, b: (a * 2 + 1, a * b), (x, x)))


def test_every_expression_is_of_a_kernel() -> None:
    import scipy.special

    from adjoint.program.form import CAST, COPY, NARROW, WHERE, WIDEN

    names = {WHERE, CAST, COPY, NARROW, WIDEN, "normal_cdf"}
    assert {name for name in EXPRESSIONS if not hasattr(np, name) and not hasattr(scipy.special, name)} <= names


@pytest.mark.parametrize(("number", "dtype"), [(0.1, "f"), (1e300, "d"), (-0.0, "d"), (np.inf, "f"), (np.nan, "d")])
def test_literals(number: float, dtype: str) -> None:
    text = cuda_source.literal(number, dtype).removeprefix(f"{TYPES[dtype]}(").removesuffix(")")
    parts = [float(part) for part in text.split(" / ")]
    with np.errstate(all="ignore"):
        value = np.dtype(dtype).type(parts[0] if len(parts) == 1 else np.divide(*parts))
    np.testing.assert_array_equal(value, np.dtype(dtype).type(number))
    assert np.signbit(value) == np.signbit(number) or number != number
    assert (cuda_source.literal(True, BOOL), cuda_source.literal(False, BOOL)) == ("true", "false")


# kernels on the stand-in ----------------------------------------------------------------------------------------------


@pytest.fixture
def cupy() -> Iterator[Any]:
    if cuda_is_available():
        pytest.skip("there is a device: make test-gpu")
    with stand_in_cupy.install() as module:
        stand_in_cupy.KERNELS.clear()
        yield module


def test_formulas_are_one_kernel(cupy: Any) -> None:
    x = adjoint.tensor([0.5, -1.0, 2.0], dtype=adjoint.float64, device="cuda", requires_grad=True)
    host = x.detach().cpu().requires_grad_()
    for leaf in (x, host):
        adjoint.nn.functional.gelu(leaf.tanh()).sum().backward()
    np.testing.assert_allclose(x.grad.cpu().numpy(), host.grad.numpy(), 1e-12)
    assert len(stand_in_cupy.KERNELS) >= 2
    assert all("out0 = " in kernel.operation for kernel in stand_in_cupy.KERNELS)
    n = len(stand_in_cupy.KERNELS)
    adjoint.nn.functional.gelu(x.tanh()).sum().backward()
    assert len(stand_in_cupy.KERNELS) == n  # each kernel is compiled once


def test_kernels_are_forgotten_with_all_caches(cupy: Any) -> None:
    x = adjoint.tensor([0.5, -1.0], device="cuda")
    adjoint.nn.functional.elu(x)
    assert device._kernels and device.FORMS
    reset_caches()
    assert not device._kernels and not device.FORMS
    n = len(stand_in_cupy.KERNELS)
    adjoint.nn.functional.elu(x)
    assert len(stand_in_cupy.KERNELS) > n


def test_kernels_of_other_numbers_are_few(cupy: Any) -> None:
    x = adjoint.tensor([0.5, -1.0], device="cuda")
    for k in range(3 * device.MOST_KERNELS):
        result = adjoint.nn.functional.elu(x, alpha=1.0 + k)
        np.testing.assert_allclose(result.cpu().numpy(), [0.5, (1 + k) * np.expm1(-1)], 1e-6)
    assert len(stand_in_cupy.KERNELS) <= device.MOST_KERNELS


def test_other_orders_and_shapes_keep_their_ways(cupy: Any) -> None:
    x = adjoint.ones(2, 3, device="cuda").T
    assert adjoint.nn.functional.silu(x).stride() == adjoint.nn.functional.silu(adjoint.ones(2, 3).T).stride()
    with pytest.raises(RuntimeError, match="must match"):
        adjoint.addcmul(adjoint.ones(2, device="cuda"), adjoint.ones(3, device="cuda"), adjoint.ones(4, device="cuda"))


@pytest.mark.parametrize(
    ("value", "other", "numbers", "alike"),
    [
        (1.0, 2.0, False, False),
        (1.0, 2.0, True, True),
        (1, True, True, False),
        ((1.0, 2), (1.0, 3), False, False),
        ((1.0, 2), (1.0, 3), True, True),
        ((1.0, (2,)), (1.0, (3,)), False, False),
        ((1.0,), (1.0, 2.0), True, False),
        ("sum", "mean", True, False),
        (None, None, False, True),
        (np.dtype("f"), np.dtype("d"), True, False),
    ],
)
def test_one_kernel_serves_arguments_of_one_key(value: Any, other: Any, numbers: bool, alike: bool) -> None:
    keys = [device._part_of_key(each, numbers) for each in (value, other)]
    assert (keys[0] == keys[1]) == alike
    with pytest.raises(TypeError, match="no kernel depends on a list"):
        device._part_of_key((value, [1]), numbers)
