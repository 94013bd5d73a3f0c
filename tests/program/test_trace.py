"""A function is recorded as a form. An error names the part that cannot be recorded."""

import pickle
import sys
import types
from typing import Any

import numpy as np
import pytest
import scipy.special

from adjoint.arrays.libraries.numpy_namespace import xp
from adjoint.program.form import Form
from adjoint.program.trace import NOTHING, RANKS, SHAPES, Looked, Untraceable, trace
from adjoint.rules import TABLE

x = np.zeros((3, 4))
ROW = np.zeros(4)


def form_of(function: Any, *arguments: Any, numbers: bool = False) -> Form:
    level = NOTHING
    while True:
        try:
            return trace(function, arguments, level, numbers)
        except Looked as looked:
            level = max(looked.level, level + 1)


def test_a_form_prints_itself() -> None:
    def function(x: Any, y: Any) -> Any:
        t = np.where(x > y, np.exp(x), 0.5)
        t += np.exp(x)
        return t / np.add.reduce(t, axis=-1, keepdims=True), None

    assert str(form_of(function, x, x)) == "\n".join(
        [
            "(a: float64, b: float64)",
            "t1 = exp(a)",
            "t2 = greater(a, b)",
            "t3 = where(t2, t1, 0.5)",
            "t4 = add(t3, t1)",
            "t5 = add.reduce(t4, last_axes=1, keepdims=True)",
            "t6 = divide(t4, t5)",
            "return t6, None",
        ]
    )


def test_forms_compare_and_pickle() -> None:
    forms = [form_of(f, x) for f in (lambda x: np.tanh(x) * 2, lambda x: np.tanh(x) * 3, lambda x: np.sinh(x) * 2)]
    forms += [form_of(lambda x: np.tanh(x) * 2, x.astype("f4")), form_of(lambda x: x * float("nan"), x)]
    for i, first in enumerate(forms):
        again = pickle.loads(pickle.dumps(first))
        assert again == first and hash(again) == hash(first) and str(again) == str(first)
        assert [first == other for other in forms] == [i == k for k in range(len(forms))]
    assert forms[0] != "form"


def test_forms_of_all_ufuncs_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    # pickle would search all modules, and some of them warn
    names: list[str] = []
    other = types.ModuleType("other")
    other.__getattr__ = names.append  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "modules", {"other": other, **sys.modules})
    for name in ("sin", "hypot", "fmod"):
        ufunc = getattr(xp, name)
        form = form_of(lambda *v, ufunc=ufunc: ufunc(*v) + 1, *[x] * ufunc.nin)
        assert pickle.loads(pickle.dumps(form)) == form
    assert names == []


@pytest.mark.parametrize(
    ("function", "names"),
    [
        # the result is not the input's memory, since the multiplication stays
        (lambda x: x * 1 + 0, ["multiply", "add"]),
        (lambda x: np.tanh(x) * 1, ["tanh"]),
        (lambda x: np.tanh(x) / 1 + np.tanh(x), ["tanh", "add"]),
        (lambda x: (np.sinh(x), np.cosh(x))[0], ["sinh"]),
        (lambda x: x**2 + x**-1 + x**0.5 + x**3, ["power", "square", "reciprocal", "add", "sqrt", "add", "add"]),
        (lambda x: (x > 0).astype(float) * 2, ["greater", "cast", "multiply"]),
        (lambda x: (x > 0) + x, ["greater", "cast", "add"]),
        (lambda x: np.maximum(x, np.float64(2)), ["maximum"]),
        (lambda x: scipy.special.betainc(1.5, 0.5, x), ["betainc"]),
        (lambda x: np.vecdot(x, x), ["multiply", "add.reduce"]),
        (lambda x: np.max(x, axis=1, keepdims=True) - x, ["maximum.reduce", "subtract"]),
        (lambda x: np.add.reduce(x, axis=(0, 1)), ["add.reduce"]),
        (lambda x: np.add.reduce(x, axis=-1).reshape(3, 1) * x, ["add.reduce", "multiply"]),
    ],
)
def test_steps(function: Any, names: list[str]) -> None:
    assert sorted([step.name for step in form_of(function, x).steps]) == sorted(names)


@pytest.mark.parametrize(
    ("function", "level"),
    [
        (lambda x: np.tanh(x) * x.dtype.type(2), NOTHING),
        (lambda x: np.add.reduce(x, axis=-1), NOTHING),
        (lambda x: np.add.reduce(x, axis=(-1, -2)), NOTHING),
        (lambda x: np.add.reduce(x, axis=1), RANKS),
        (lambda x: x * x.ndim, RANKS),
        (lambda x: x / x.size, SHAPES),
        (lambda x: x / x.shape[0], SHAPES),
    ],
)
def test_a_form_is_for_what_the_function_looked_at(function: Any, level: int) -> None:
    levels = [NOTHING]
    while True:
        try:
            trace(function, [x], levels[-1])
        except Looked as looked:
            levels.append(looked.level)
            continue
        break
    assert levels == ([NOTHING] if level == NOTHING else [NOTHING, level])


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x.sum(), "used the attribute sum"),
        (lambda x: x.T * 2, "used the attribute T"),
        (lambda x: x if x > 0 else -x, "looked at the truth"),
        (lambda x: float(x), "looked at a value as a number"),
        (lambda x: x[0], "indexed a value"),
        (lambda x: [*x], "looked at the elements"),
        (lambda x: len(x) * x, "looked at the length"),
        (lambda x: x.__setitem__(0, 1), "assigned to elements"),
        (lambda x: np.cumsum(x), "called cumsum"),
        (lambda x: x.reshape(-1), "changed the shape"),
        (lambda x: np.asarray(x), "converted a value to an array"),
        (lambda x: np.where(x > 0, x > 1, x), None),
        (lambda x: np.where(x, x, 1), "where\\(\\) by something else"),
        (lambda x: x * 1j, "multiply of a complex"),
        (lambda x: x * np.ones(3), "multiply of a ndarray"),
        (lambda x: x + (2**60 + 1), "is rounded in float64"),
        (lambda x: np.maximum(x, [1.0] * 4), "maximum of a list"),
        (lambda x: np.add(x, x, dtype="f4"), "add with dtype"),
        (lambda x: np.exp(x, where=x > 0), "exp with where"),
        (lambda x: np.exp(x, out=np.empty(x.shape)), "wrote into an array"),
        (lambda x: np.exp(x, out=x), "wrote into an argument"),
        (lambda x: np.greater(x, 0, out=x + 0), "wrote a value of the type"),
        (lambda x: np.gcd(x, x), "gcd has no loop"),
        (lambda x: np.frexp(x)[0], "frexp is no ufunc"),
        (lambda x: scipy.special.hyp2f1(1.5, 0.5, 2.0, x), "hyp2f1 is no ufunc of at most 3 operands"),
        (lambda x: np.isnan(x) & True, "of truth values and something else"),
        (lambda x: np.add.reduce(x, axis=0), "not the last ones"),
        (lambda x: np.max(x), "over all axes"),
        (lambda x: np.add.reduce(x, axis=1, dtype=float), "with options"),
        (lambda x: np.multiply.reduce(x, axis=1), "multiply.reduce"),
        (lambda x: np.add.reduce(x > 0, axis=1), "of truth values"),
        (lambda x: x.astype(np.float32) + x, "add of operands of the types d, f"),
        (lambda x: x.astype(np.int64) + 1, "converted a value of the type d to l"),
        (lambda x: 3.0, "returned a float"),
        (lambda x: x + ROW, "add of a ndarray"),
    ],
)
def test_what_is_no_step_is_named(function: Any, message: str | None) -> None:
    if message is None:
        form_of(function, x)
        return
    with pytest.raises(Untraceable, match=message):
        form_of(function, x)


def test_types() -> None:
    for array in (x.astype(complex), x.astype(int), x.astype("f2"), x.astype(">f8")):
        with pytest.raises(Untraceable, match="an argument of the type"):
            trace(lambda x: x, [array])
    with pytest.raises(Untraceable, match="operands of the types d, f"):
        trace(lambda x, y: x * y, [x, x.astype("f4")])
    # NumPy's numbers have a dtype, which promotion uses
    with pytest.raises(Untraceable, match="operands of the types d, f"):
        trace(lambda x: x * np.float64(1.5), [x.astype("f4")])
    form = form_of(lambda x: np.astype(x > 0, np.float64) * x, x)
    assert form.dtypes[form.results] == "d"
    with pytest.raises(Untraceable, match="does not fit float32"):
        trace(lambda x: x * 1e300, [x.astype("f4")])
    with pytest.raises(Untraceable, match="do not broadcast"):
        trace(lambda x, y: x * y, [x, np.zeros(5)], SHAPES)


def test_what_is_written_into_keeps_its_shape() -> None:
    def function(x: Any, y: Any) -> Any:
        t = x * 2
        t += y
        return t

    with pytest.raises(Untraceable, match="shape"):
        form_of(function, ROW, x)
    assert len(form_of(function, x, ROW).steps) == 2


def test_errors_of_the_function_are_its_own() -> None:
    for error in (KeyError, ValueError, TypeError, ZeroDivisionError, AttributeError):

        def fail(x: Any, error: Any = error) -> Any:
            raise error("why not")

        with pytest.raises(error, match="why not"):
            trace(fail, [x])


def test_numbers_as_inputs() -> None:
    form = form_of(np.multiply, x, 2.5, numbers=True)
    assert form.inputs == ("d", "d") and not form.constants


ELEMENTWISE = [r for r in TABLE.values() if r.kind == "elementwise" and r.has_derivative and r.dtypes != "any"]


def test_most_elementwise_kernels_are_traced() -> None:
    """Kernels with their default arguments. The others raise the error of the tracer, with a reason."""
    reasons = {}
    for rule in ELEMENTWISE:
        arguments = [np.ones(3) if p.name in rule.inputs else p.default for p in rule.parameters]
        if any(value is rule.parameters[0].empty for value in arguments):
            continue
        positional = [v for p, v in zip(rule.parameters, arguments, strict=True) if p.kind is not p.KEYWORD_ONLY]
        try:
            form_of(rule.kernel(xp), *positional)
        except Untraceable as why:
            reasons[rule.name] = str(why)
    assert len(reasons) < 0.2 * len(ELEMENTWISE), reasons
