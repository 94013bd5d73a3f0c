"""testing.check_derivatives: all orders and modes in one call, arguments, the complex step, and pytest's fixture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.autograd.gradcheck import GradcheckError
from adjoint.core.errors import PAGES
from adjoint.testing import check_derivatives
from tools.planted import plant

pytest_plugins = ["pytester"]
F64 = adjoint.float64


def notes(*args: Any, **options: Any) -> list[str]:
    with pytest.raises(GradcheckError) as caught:
        check_derivatives(*args, **options)
    page, *rest = caught.value.__notes__
    assert page == f"See {PAGES}/jacobian-mismatch.html or call adjoint.explain(error)"
    return rest


@pytest.mark.parametrize("modes", [("rev", "fwd"), ("rev",), ("fwd",)])
@pytest.mark.parametrize("fast", [False, True])
def test_right_functions_pass_to_third_order(modes: tuple[str, ...], fast: bool) -> None:
    check_derivatives(
        lambda x, y: (x * y.sin(), x.exp().sum()), adjoint.rand(2), adjoint.rand(2), order=3, modes=modes, fast=fast
    )
    z = np.array([1 + 2j, 0.5 - 1j])
    check_derivatives(lambda z: z * z.conj() * z, z, modes=modes, fast=fast)


def test_arguments_of_all_kinds() -> None:
    notes: list[Any] = []

    def f(tree: Any, n: int, scale: float, mask: Any, name: str) -> Any:
        leaves = [tree["a"], *tree["b"], scale, mask]
        notes.extend((x.dtype, x.requires_grad) for x in leaves)
        return {name: tree["a"] ** n * scale, "more": (tree["b"][0].sum() * mask, None, 3)}

    tree = {"a": np.ones(2, np.float32), "b": [adjoint.rand(3), adjoint.tensor([1, 2])]}
    check_derivatives(f, tree, 3, 2.0, np.array([True, False]), "cube", order=1)
    assert notes[:5] == [(F64, True), (F64, True), (adjoint.int64, False), (F64, True), (adjoint.bool, False)]


def test_functions_of_arrays_get_arrays() -> None:
    """Functions of arrays have NumPy's methods, and NumPy's meaning of names that torch also has."""
    values = []

    def f(p: dict[str, Any]) -> Any:
        values.append(type(p["x"]))
        return {"a": p["x"].astype(float).copy().max(axis=0), "b": p["n"] * p["y"], "c": 1.0}

    check_derivatives(f, {"x": np.array([1.0, 4.0]), "y": 3.0, "n": np.array([1, 2])})
    assert set(values) == {adjoint.numpy.Array}
    rule = adjoint.custom(lambda x: x**3, vjp=lambda g, x: g * 3 * x)
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        check_derivatives(rule, np.array([2.0]), order=1)


def test_only_those_that_require_a_gradient() -> None:
    x = adjoint.rand(2, dtype=F64, requires_grad=True)
    half_of_y = plant(lambda x, y: x * y, lambda g, x, y: (g[0] * y, g[0] * x / 2))
    check_derivatives(half_of_y, x, adjoint.rand(2, dtype=F64), order=1, modes=("rev",))
    with pytest.raises(GradcheckError, match="is 1/2 times"):
        check_derivatives(half_of_y, x.detach(), adjoint.rand(2), order=1, modes=("rev",))


def test_notes_name_the_derivative() -> None:
    wrong = plant(lambda x: x**3, lambda g, x: g[0] * 3 * x * x.detach(), lambda t, x: t[0] * 3 * x**2)
    assert notes(wrong, adjoint.rand(2)) == ["in rev and fwd mode over rev"]
    check_derivatives(wrong, adjoint.rand(2), order=1)
    wrong = plant(lambda x: x**3, lambda g, x: g[0] * x**2 * 3, lambda t, x: t[0] * x**2)
    assert notes(wrong, adjoint.rand(2)) == ["in rev and fwd mode"]
    assert notes(wrong, adjoint.rand(2), modes=("fwd",)) == ["in fwd mode"]
    check_derivatives(wrong, adjoint.rand(2), modes=("rev",))


def test_batches() -> None:
    looking = plant(lambda x: x * 2, lambda g, x: g[0] * 2 if float(g[0].sum()) else g[0])
    check_derivatives(looking, adjoint.rand(2), order=1, modes=("rev",))
    with pytest.raises(GradcheckError, match="While computing batched gradients"):
        check_derivatives(looking, adjoint.rand(2), order=1, modes=("rev",), batched=True)
    check_derivatives(adjoint.sin, adjoint.rand(2), batched=True)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"order": 0}, "order must be at least 1"),
        ({"modes": ()}, "modes among"),
        ({"modes": ("reverse",)}, "got order=2, modes="),
        ({"method": "exact"}, "method must be one of .* got 'exact'"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        check_derivatives(adjoint.sin, adjoint.rand(2), **options)


def test_nothing_to_check() -> None:
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        check_derivatives(lambda n: adjoint.rand(n), 3)


def test_complex_step_is_exact() -> None:
    def f(x: Any) -> Any:
        return (x.exp() / (x.sin() ** 3 + x.cos() ** 3).sqrt()).sum()

    x = adjoint.tensor([0.3, 0.4], dtype=F64)
    strict = {"order": 1, "rtol": 1e-14, "atol": 1e-14}
    check_derivatives(f, x, method="complex-step", **strict)
    with pytest.raises(GradcheckError):
        check_derivatives(f, x, **strict)
    check_derivatives(f, x, method="complex-step", order=2, fast=True)
    slightly = plant(lambda x: x * 3, lambda g, x: g[0] * (3 + 1e-12))
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        check_derivatives(slightly, x, method="complex-step", modes=("rev",), **strict)


@pytest.mark.parametrize(
    ("f", "x", "text"),
    [
        (lambda x: x.abs(), [1.0], "a complex step is lost on the way to result 0"),
        (lambda x: x.clamp(0, 2), [1.0], "does not take complex numbers"),
        (lambda x: x * 2, [1.0 + 1j], "needs real inputs and outputs"),
        (lambda x: x * 2j, [1.0], "needs real inputs and outputs"),
    ],
)
def test_where_a_complex_step_is_not_possible(f: Any, x: Any, text: str) -> None:
    with pytest.raises(ValueError, match=f"{text}.*take method='central'"):
        check_derivatives(f, adjoint.from_numpy(np.array(x)), order=1, method="complex-step")


def test_complex_step_of_a_function_that_is_not_analytic() -> None:
    """The complex step gives wrong numbers for such a function, so the result of differences counts."""
    check_derivatives(lambda x: x * (x.conj() + 0), np.array([1.5]), order=1, method="complex-step")


@pytest.mark.quick(0)
def test_fixture(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Path(adjoint.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", str(source))
    pytester.makeconftest('pytest_plugins = ["adjoint.testing.pytest_plugin"]')
    pytester.makepyfile(
        """
        import adjoint

        def test_right(check_derivatives):
            check_derivatives(adjoint.sin, adjoint.rand(2), order=1)
            global drawn
            drawn = adjoint.rand(2).tolist()

        def test_random_numbers_are_the_same(check_derivatives):
            adjoint.rand(2)
            assert adjoint.rand(2).tolist() == drawn

        def test_wrong(check_derivatives):
            check_derivatives(lambda x: x * x.detach(), adjoint.rand(2), order=1)
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=2, failed=1)
    text = result.stdout.str()
    assert "Jacobian mismatch for output 0" in text and "in rev and fwd mode" in text
    assert "GradcheckError" not in text and "Traceback" not in text
