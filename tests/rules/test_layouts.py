"""Results have the same layout in the compiled and in the plain form, for all layouts of the inputs.

`python test_layouts.py` prints the strides of all rules' results as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.core.graph import new_tensor
from adjoint.core.recorded import operations
from adjoint.rules import TABLE

specification = importlib.util.spec_from_file_location("table", Path(__file__).with_name("test_table.py"))
table = importlib.util.module_from_spec(specification)
specification.loader.exec_module(table)

#: Layouts of an array: the first axis outermost, the last axis outermost, the last two axes exchanged.
LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": lambda array: np.array(array, order="F"),
    "exchanged": lambda array: np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2),
}
KINDS = ("float64", "complex128")


def layouts_of(rule: Any, problem: Any, layout: str) -> Any:
    """For each result, the strides of its axes with several elements; the message if a view is refused."""
    laid = {p: LAYOUTS[layout](problem.at(p)) for p in problem.places if problem.at(p).ndim > 1}
    values = problem.put(laid)
    wrapped = problem.put({p: new_tensor(problem.at(p, values)) for p in table.places(rule, values)})
    wrapped |= {n: new_tensor(values[n]) for n in rule.constants if isinstance(values[n], np.ndarray)}
    adjoint.manual_seed(0)
    try:
        actual = operations[rule.name].apply([wrapped[name] for name in rule.names])
    except RuntimeError as error:
        if not rule.view:
            raise
        return str(error)
    actual = [actual] if rule.outputs is None else actual
    return [[stride for n, stride in zip(y.shape, y.stride(), strict=True) if n > 1] for y in actual if y.numel()]


def strides() -> dict[str, Any]:
    """The layouts of the samples of all rules, by rule, kind and layout."""
    return {
        f"{rule.name} {kind} {layout}": [layouts_of(rule, problem, layout) for problem in table.problems(rule, kind)]
        for rule in table.DIFFERENTIABLE
        for kind in KINDS
        if rule.name not in table.samples.SPARSE and kind in table.kinds_of(rule)
        for layout in LAYOUTS
    }


@pytest.mark.quick(0)
def test_both_forms_lay_results_out_alike() -> None:
    variables = {**os.environ, "ADJOINT_DISABLE_EXT": "1", "ADJOINT_REQUIRE_EXT": "", "OPENBLAS_NUM_THREADS": "1"}
    variables["PYTHONPATH"] = os.pathsep.join(sys.path)
    plain = subprocess.run([sys.executable, __file__], env=variables, capture_output=True, text=True, check=True)
    expected, actual = json.loads(plain.stdout), strides()
    assert len(actual) > len(TABLE)
    assert {name: (value, expected[name]) for name, value in actual.items() if value != expected[name]} == {}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(strides()))
