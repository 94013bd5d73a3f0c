"""gradcheck and gradgradcheck pass for every rule of the table, real and complex, on two samples of each rule.

tests/rules/test_table.py compares the derivatives of all samples with differences.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjoint.autograd import gradcheck, gradgradcheck
from adjoint.core.graph import new_tensor
from adjoint.core.recorded import operations
from adjoint.rules import Rule
from support import samples

specification = importlib.util.spec_from_file_location("table", Path(__file__).parents[1] / "rules" / "test_table.py")
table = importlib.util.module_from_spec(specification)
specification.loader.exec_module(table)

UP_TO_A_PHASE = {"linalg_eig", "linalg_eigh", "linalg_svd"}
DENSE = [rule for rule in table.DIFFERENTIABLE if rule.name not in samples.SPARSE]
CASES = [(rule, kind) for rule in DENSE for kind in table.kinds_of(rule)]


def function_of(problem: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The operation as a function of its arguments with a derivative, and these arguments."""
    rule = problem.rule

    def call(*leaves: Any) -> Any:
        leaves = tuple(map(samples.WITHIN.get(rule.name, lambda a: a), leaves))
        actual = dict(zip(problem.places, leaves, strict=True))
        constants = {(name, None): table.tensor(problem.values[name], False) for name in rule.constants}
        others = {p: table.tensor(problem.at(p), False) for p in table.places(rule, problem.values)}
        values = problem.put({**others, **constants, **actual})
        result = operations[rule.name].apply([values[name] for name in rule.names])
        results = (result,) if rule.outputs is None else tuple(result)
        # complex vectors and their derivatives are determined up to a phase
        return tuple(y.abs() if rule.name in UP_TO_A_PHASE and y.is_complex() else y for y in results)

    return call, tuple(new_tensor(problem.at(p).copy()).requires_grad_() for p in problem.places)


@pytest.mark.quick(20)
@pytest.mark.parametrize(("rule", "kind"), CASES, ids=[f"{rule.name}-{kind}" for rule, kind in CASES])
def test_rule(rule: Rule, kind: str) -> None:
    first_order = {"check_forward_ad": True, "check_batched_grad": True, "check_batched_forward_grad": True}
    problems = list(table.problems(rule, kind))
    for problem in [*problems[:1], *problems[1:][-1:]]:
        func, inputs = function_of(problem)
        assert gradcheck(func, inputs, fast_mode=True, **first_order)
        assert gradgradcheck(func, inputs, fast_mode=True, check_fwd_over_rev=True)
