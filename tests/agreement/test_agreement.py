"""The samples and tables of `agreement` without PyTorch: names exist, samples run in adjoint, figures add up."""

from __future__ import annotations

import importlib.util
import sys
import warnings
from collections import Counter
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[2]))  # the package is not installed

from agreement.compare import ASPECTS, DERIVATIVES, Finding, Tolerance, Trial, Verdicts, difference_of_arrays
from agreement.document import BEHAVIOUR, behaviour, page
from agreement.entries import all_entries
from agreement.judge import CONTIGUOUS, DTYPE, NUMBER, ROUNDING, SLOPES, TRANSPOSED, judge
from agreement.numbers import close
from agreement.observe import Library, Observation, forward, gradient, jvp, observe, second
from agreement.samples import Sample, choices, named_inputs, names_of, parse, samples_of, unknown_names
from agreement.score import ALTOGETHER, JUDGED, ORDINARY, Score, entries_right, explanations, generalise

from agreement import __main__ as command

ENTRIES = list(all_entries().values())
ADJOINT = Library("adjoint")


def test_every_entry_exists():
    for entry in ENTRIES:
        entry.find(ADJOINT.module)
    with pytest.raises(AttributeError, match="neither a function nor a method 'sine'"):
        type(ENTRIES[0])("sine", "elementwise", 1).find(ADJOINT.module)


def test_every_entry_has_samples():
    assert [entry.name for entry in ENTRIES if len(samples_of(entry)) < 3] == []
    assert unknown_names() == set()


def test_named_inputs_exist():
    for expression in named_inputs().values():
        assert names_of(expression)


@pytest.mark.parametrize("family", dict.fromkeys(entry.family for entry in ENTRIES))
def test_samples_run(family):
    """Adjoint accepts one of the first samples of each entry, in one dtype. So no name is misspelt."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for entry in ENTRIES:
            if entry.family == family:
                assert any(is_accepted(sample) for sample in samples_of(entry)[:20]), entry


def is_accepted(sample):
    for dtype in sample.dtypes:
        error = observe(forward, ADJOINT, sample, dtype).error
        assert not isinstance(error, (NameError, SyntaxError)), sample
        if error is None:
            return True
    return False


def test_differences_name_known_entries():
    names = [entry.name for entry in ENTRIES]
    for row in explanations():
        assert len(row.reason) > 40
        assert all(any(fnmatchcase(name, pattern) for name in names) for pattern in row.entries), row
        assert set(row.aspects) <= set(ASPECTS)


def test_form_of_samples():
    lines = [
        "sum mean [double]",
        "    x, {0|1}{|, True} => r * 2 ; y",
        ".expand",
        "    x, 2",
        "# nothing",
        "a, b = normal(3)",
    ]
    result = list(parse(lines))
    texts = [line.sample().text for line in result[:-2]]
    assert texts[:2] == ["sum(x, 0) => r * 2", "mean(x, 0) => r * 2"]
    assert texts[-2:] == ["mean(y)", "(x).expand(2)"] and len(texts) == 11
    assert result[0].sample().dtypes == ("float64",) and result[-2:] == [("a", "normal(3)"), ("b", "normal(3)")]
    assert list(choices("{a|b}, {c|d}")) == ["a, c", "a, d", "b, c", "b, d"]
    assert names_of("(lambda t: t + x)(y)") == ("x", "y")


def test_inplace_samples():
    samples = [sample.text for sample in samples_of(all_entries()["cos_"])]
    assert "(target := (x).clone()).cos_()" in samples
    dropout = [sample.text for sample in samples_of(all_entries()["nn.functional.elu_"])]
    assert "nn.functional.elu((target := (x).clone()), alpha=1.5, inplace=True)" in dropout


def test_a_library_agrees_with_itself_and_not_with_another():
    verdicts = Verdicts("div")
    for sample in samples_of(all_entries()["div"])[:12]:
        Trial(ADJOINT, ADJOINT, verdicts, sample, "complex128").run()
    assert not verdicts.findings and all(verdicts.right[aspect] for aspect in ("value", *DERIVATIVES))

    wrong = Library("adjoint")
    wrong.module = type(
        "Wrong",
        (),
        {"__getattr__": lambda _, name: ADJOINT.module.mul if name == "div" else getattr(ADJOINT.module, name)},
    )()
    Trial(wrong, ADJOINT, verdicts, samples_of(all_entries()["div"])[0], "float64").run()
    assert {finding.aspect for finding in verdicts.findings} == {"value", *DERIVATIVES}


@pytest.mark.parametrize("how", DERIVATIVES.values(), ids=list(DERIVATIVES))
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_finite_differences_judge(how, dtype):
    sample = Sample("tanh(normal(3)) * normal(3)", (dtype,))
    right, wrong = observe(how, ADJOINT, sample, dtype), observe(how, ADJOINT, sample, dtype)
    wrong.arrays = [1.01 * array for array in wrong.arrays]
    assert judge(how, ADJOINT, sample, dtype, theirs=wrong, ours=right) == SLOPES
    assert judge(how, ADJOINT, sample, dtype, theirs=right, ours=wrong) == ""
    assert judge(how, ADJOINT, sample, dtype, theirs=right, ours=right) == ""


def test_rounding_judges():
    sample = Sample("exp(normal(4)) + 1", ("float16",))
    right, wrong = observe(forward, ADJOINT, sample, "float16"), observe(forward, ADJOINT, sample, "float16")
    wrong.arrays = [1.01 * array for array in wrong.arrays]
    assert judge(forward, ADJOINT, sample, "float16", theirs=wrong, ours=right) == ROUNDING
    assert judge(forward, ADJOINT, sample, "float16", theirs=right, ours=wrong) == ""


def test_transposition_judges():
    """Differences at a kink see both sides. A jvp is then right if it is the transpose of the library's gradient."""
    sample = Sample("relu(constant(0, 3))", ("float64",))
    right, wrong = observe(jvp, ADJOINT, sample, "float64"), observe(jvp, ADJOINT, sample, "float64")
    wrong.arrays = [array + 1 for array in wrong.arrays]
    assert judge(jvp, ADJOINT, sample, "float64", theirs=wrong, ours=right) == TRANSPOSED
    assert judge(jvp, ADJOINT, sample, "float64", theirs=right, ours=wrong) == ""


@pytest.mark.parametrize("how", DERIVATIVES.values(), ids=list(DERIVATIVES))
def test_a_number_is_right_where_the_other_has_none(how):
    sample = Sample("abs(steps(6)) + 1", ("float64",))
    right, none = observe(how, ADJOINT, sample, "float64"), observe(how, ADJOINT, sample, "float64")
    none.arrays = [np.where(np.arange(array.size) == 1, np.nan, array) for array in none.arrays]
    other = replace(right, arrays=[array + (np.arange(array.size) == 2) for array in right.arrays])
    assert judge(how, ADJOINT, sample, "float64", theirs=none, ours=right) in (SLOPES, NUMBER)
    assert judge(how, ADJOINT, sample, "float64", theirs=none, ours=other) == ""
    outside = Sample("constant(-1, 3) + nan", ("float64",))  # the value is not a number either
    theirs, ours = (Observation([np.array([each, 1.0, 1.0])]) for each in (np.nan, 1.0))
    assert judge(gradient, ADJOINT, outside, "float64", theirs, ours) == ""


def test_the_dtype_of_a_tangent_is_judged():
    sample = Sample("exp(normal(3, dtype=float32))", ("float64",))
    right = observe(jvp, ADJOINT, sample, "float64")
    wrong = replace(right, dtypes=["float64"])
    assert judge(jvp, ADJOINT, sample, "float64", theirs=wrong, ours=right) == DTYPE
    assert judge(jvp, ADJOINT, sample, "float64", theirs=right, ours=wrong) == ""


def test_answers_for_contiguous_inputs_judge():
    sample = Sample("sin(xt)", ("float64",))
    right, wrong = (observe(forward, ADJOINT, sample, "float64") for _ in range(2))
    wrong.arrays = [array + 1 for array in wrong.arrays]
    assert judge(forward, ADJOINT, sample, "float64", theirs=wrong, ours=right) == CONTIGUOUS
    assert judge(forward, ADJOINT, sample, "float64", theirs=right, ours=wrong) == ""


def test_second_order_is_judged_by_gradients_as_well():
    """The gradient of embedding(scale_grad_by_freq=True) is not the slope of its values, by design."""
    sample = Sample("nn.functional.embedding(Iv, normal(5, 3), scale_grad_by_freq=True)", ("float64",))
    right, wrong = (observe(second, ADJOINT, sample, "float64") for _ in range(2))
    wrong.arrays = [None if array is None else 2 * array for array in wrong.arrays]
    assert judge(second, ADJOINT, sample, "float64", theirs=wrong, ours=right) == SLOPES
    assert judge(second, ADJOINT, sample, "float64", theirs=right, ours=wrong) == ""


def test_what_judges_in_double_precision_holds_in_narrow_dtypes():
    wide = Finding("sin", "gradient", "float64", "sin(x)", "1", "2", judged=SLOPES)
    narrow, other = (
        replace(wide, dtype="float16", judged=""),
        replace(wide, dtype="float16", sample="sin(y)", judged=""),
    )
    assert [each.judged for each in generalise([wide, narrow, other])] == [SLOPES, SLOPES, ""]


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ([1.0, 2.0], [1.0, 2.0 + 1e-10], True),
        ([1.0, 2.0], [1.0, 2.0 + 1e-8], False),
        ([np.nan, np.inf], [np.nan, np.inf], True),
        ([np.nan, np.inf], [np.nan, -np.inf], False),
        ([np.nan, 1.0], [0.0, 1.0], False),
        ([complex(np.inf, np.nan)], [complex(0, np.inf)], True),
        ([complex(np.inf, np.nan)], [complex(0, np.nan)], False),
        ([], [], True),
    ],
)
def test_close(left, right, expected):
    assert close(np.array(left), np.array(right), 1e-9, poles=False) is expected


def test_close_at_poles():
    """At a pole, infinity agrees with NaN and with very large numbers of its sign, and with no other number."""
    assert close(np.array([np.inf, 1.0]), np.array([4e31, 1.0]), 1e-9, poles=True)
    assert not close(np.array([np.inf, 1.0]), np.array([-4e31, 1.0]), 1e-9, poles=True)
    assert not close(np.array([3e31, 1.0]), np.array([4e31, 1.0]), 1e-9, poles=True)
    assert close(np.array([np.inf, 1.0]), np.array([np.nan, 1.0]), 1e-9, poles=True)
    assert not close(np.array([np.inf, 1.0]), np.array([-np.inf, 1.0]), 1e-9, poles=True)
    assert not close(np.array([np.inf, 1.0]), np.array([5.0, 1.0]), 1e-9, poles=True)
    assert close(np.array([complex(np.inf, np.nan)]), np.array([complex(0, np.nan)]), 1e-9, poles=True)
    assert not close(np.array([complex(np.inf, np.nan)]), np.array([0j]), 1e-9, poles=True)


def test_none_is_zeros():
    assert difference_of_arrays(None, np.zeros(2), 1e-9, poles=False) is None
    assert difference_of_arrays(None, np.array([0.0, 1.0]), 1e-9, poles=False) == ("0 at (1,)", "1 at (1,)")
    assert difference_of_arrays(np.zeros(2), np.zeros((2, 1)), 1e-9, poles=False) == ("shape (2,)", "shape (2, 1)")


def test_tolerance_is_that_of_the_coarsest_dtype():
    assert Tolerance(2, 1e-9, poles=False).of("float32") == pytest.approx(2e-4)
    assert Tolerance(2, 3e-2, poles=False).of("int64") == pytest.approx(6e-2)


def score(name, **wrong):
    findings = [
        Finding(name, aspect, "float64", "f(x)", "1", "2") for aspect, count in wrong.items() for _ in range(count)
    ]
    return Score(Verdicts(name, Counter(dict.fromkeys(ASPECTS, 4)), findings))


def test_figures():
    scores = [score("sin"), score("cos", jvp=2), score("tan", jvp=1, value=1)]
    assert str(entries_right(scores, "jvp")) == "33.3 % (1 of 3)"
    assert str(entries_right(scores, "value")) == "66.7 % (2 of 3)"
    assert str(entries_right(scores, ALTOGETHER)) == "33.3 % (1 of 3)"
    assert str(entries_right([], "jvp")) == "–"


@pytest.mark.parametrize("sample", ["f(tx)", "f(x, zero_int64)", "f(normal(2, 0, 3))", "f(steps(3))"])
def test_edges(sample):
    edge = Score(Verdicts("sin", Counter(value=1), [Finding("sin", "value", "float64", sample, "1", "2")]))
    with_edge = Score(Verdicts("sin", Counter(value=1), [Finding("sin", "value", "float64", "f(xt, 0)", "1", "2")]))
    assert (edge.wrong("value"), edge.wrong("value", ORDINARY), with_edge.wrong("value", ORDINARY)) == (1, 0, 1)


def test_what_a_calculation_decides_counts_as_right():
    open_, judged = (Finding("sin", "jvp", "float64", "sin(x)", "1", "2", judged=by) for by in ("", SLOPES))
    results = [Score(Verdicts("sin", Counter(jvp=1), findings)) for findings in ([judged], [judged, open_])]
    assert [(each.wrong("jvp"), each.wrong("jvp", JUDGED)) for each in results] == [(1, 0), (2, 1)]


def test_page():
    text = page({"torch": "2.13.0"}, [score("sin"), score("fft.hfft2", gradient=1)])
    assert "| 1 | `sin`" not in text and "| 3 | `fft.hfft2` | gradient | 1 of 5 | `` f(x) `` float64 |" in text
    assert "| tier 1 | 100.0 % (1 of 1) |" in text and "- torch: 2.13.0" in text


def test_without_torch(monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert command.main([]) == 1
    assert "not installed: pip install torch" in capsys.readouterr().err


def test_choosing_entries():
    options = command.parse(["--entries", "fft.*", "masked", "--tier", "3"])
    names = [entry.name for entry in command.select(options)]
    assert "fft.hfft2" in names and "masked.sum" in names and "fft.fft" not in names and "sin" not in names


def test_the_page_quotes_the_differences_of_behaviour():
    text = (Path(__file__).parents[2] / "docs" / "agreement.md").read_text(encoding="utf-8")
    rows = list(behaviour())
    assert rows and BEHAVIOUR + "\n" + "\n".join(rows) + "\n" in text
