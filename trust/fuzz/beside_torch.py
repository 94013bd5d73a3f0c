"""adjoint against PyTorch: values, dtypes, properties, errors of lines, gradients, tangents, second order.

Calls that PyTorch refuses are not compared. If tangents differ, adjoint's are right if they are the transpose of its
gradients, and these equal PyTorch's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from trust.fuzz import compared
from trust.fuzz.compared import Case
from trust.fuzz.lines import OWN_AFFAIR
from trust.fuzz.observations import Error, Observations, apart, same
from trust.fuzz.options import numbers
from trust.fuzz.peer import Peer

#: Cases where PyTorch is wrong, or where both ways are right: patterns of the case and of observations, and the reason.
KNOWN = (
    (
        "register_hook",
        "second",
        "whether a derivative goes back through a result, and meets its hooks, is a rule's affair",
    ),
    (r"(?s)unfold.*_scatter\(", "v", "PyTorch writes into a copy whose elements still share memory"),
    (r"(?s)unfold.*_scatter\(", "gradient|second", "and so its gradients are those of other values"),
    (
        "einsum",
        r"line \d+ .*einsum",
        "of operands of two dtypes PyTorch refuses those alone that become a product of matrices",
    ),
    (
        r"(?s)einsum.*detach_\(",
        r"v\d+ (requires_grad|is_leaf|grad_fn)|gradient|second",
        "PyTorch's einsum gives a view at times, which detach_() leaves in the graph",
    ),
    ("(?s)einsum.*autograd.grad", r"v\d+|gradient|second", "a view of that view comes from another tensor"),
    ("scatter_reduce.*'amax'", "gradient|second", "equal elements get the whole cotangent each in PyTorch"),
    (
        r"(?s)set_grad_enabled\(False\).*(transpose|swapaxes|squeeze|t)_\(",
        "gradient|second",
        "PyTorch forgets the history of a view that is reshaped in place without recording",
    ),
    (
        r"set_grad_enabled\(False\)",
        r"v\d+ requires_grad",
        "a view shows the flag of its base, a copy does not, and reductions are laid out otherwise",
    ),
    (
        "take_along_dim",
        "value",
        "PyTorch reads outside of the array where an index of one element along others is too large",
    ),
    ("scale_grad_by_freq=True", "second", "PyTorch's second order forgets the scale"),
    (
        r"complex\(.*float16|1j.*float16|polar\(.*float16",
        "value|gradient|second",
        "there is no complex type of half precision here",
    ),
    (r"(lu_|matrix_exp|linalg).*float16", "value|gradient|second", "half precision is refused, or overflows elsewhere"),
    (r"block_diag\(.*X\(0\)", "gradient|second", "PyTorch forgets the row of an empty vector"),
    (r"(?s)unsqueeze_\(.*cum(sum|prod)_\(", "gradient|second", "PyTorch takes the axis in front of the new one"),
    (
        r"embedding_bag\((I\(5, (?!6\))|.*\[0, 2, [01]\b)",
        "value|gradient|second|tangent",
        "offsets that go back, or do not end at the number of indices",
    ),
    (r"ctc_loss\(", "value", "PyTorch reads outside of the array for classes that there are not"),
    (r"pixel_(un)?shuffle\(.*\b0\b", "value", "PyTorch leaves the shape of an empty array alone"),
    (r"(conv\dd|multi_margin_loss|attention)\(.*\b0\b", "value", "PyTorch asks nothing of arguments without elements"),
    (r"addmv\(.*\b0\b", "value", "PyTorch gives an empty product the shape of the vector that is added"),
    (
        r"(?s)_scatter\(.*as_strided",
        "v|gradient|second",
        "between the elements of such a copy PyTorch has what its input has there",
    ),
    (
        r"(?s)as_strided.*_scatter\(",
        "v|gradient|second",
        "PyTorch writes into a copy whose elements still share memory",
    ),
    (
        r"interpolate\(.*, 1\).*antialias=True",
        "value|gradient|second|tangent",
        "PyTorch reads one row for all where the width is 1",
    ),
    (r"adaptive_\w+\(.*\b0\b|interpolate\(.*\b0\b.*'area'", "value", "PyTorch averages nothing"),
    (
        r"(?s)(unfold|as_strided|expand).*jacfwd\(",
        r"v\d+ values|gradient|second",
        "at elements that share memory PyTorch's directions share it too: its jacrev gives what jacfwd gives here",
    ),
    (
        r"max_pool\dd\(.*dilation",
        "gradient|second",
        "PyTorch writes outside of the array where a window is in the padding alone",
    ),
    ("create_graph=True", r"v\d+ (requires_grad|is_leaf|grad_fn)", "gradients of linear functions need no history"),
)
#: Larger numbers come from matrices that are nearly singular.
LARGEST = 1e12
#: Observations that PyTorch may lack, since it has no derivative of some functions.
DERIVATIVES = ("gradient", "second", "tangent")


class Cases(compared.Cases):
    """Programs and calls with options.

    Writes that overlap with reads are left out: in PyTorch they depend on its loops.
    """

    overlaps = False
    others_may_end = True

    def __init__(self, seed: int, torch: str) -> None:
        super().__init__(seed, Peer(torch, "torch", {}))

    def differences(self, case: Case, ours: Observations, other: Observations) -> Iterator[tuple[str, str]]:
        theirs = dict(other)
        if isinstance(theirs.get("value"), Error):
            return
        left_out = [observation for part, observation, _ in KNOWN if re.search(part, str(case))]
        has_nan = any(is_value(name) and is_part_finite(one) for name, one in ours)
        for name, one in ours:
            if any(re.match(pattern, name) for pattern in left_out):
                continue
            if has_nan and is_derivative(name) and is_part_finite(one):
                continue  # PyTorch's formulas lose some derivatives through NaN, for instance that of logcumsumexp
            if name in theirs and theirs_alone(one, theirs[name]):
                if name.startswith(("line", "value")):
                    return
                continue
            if name not in theirs:
                if isinstance(one, Error) and OWN_AFFAIR.search(one.text):
                    continue
                if not is_derivative(name) or (isinstance(one, Error) and has_answer(name, theirs)):
                    yield name, f"{apart(one, None)}, PyTorch has none"
            elif not alike(name, one, theirs[name], case.rounding) and not (
                name.startswith("tangent") and are_transposed(ours)
            ):
                yield name, apart(one, theirs[name])


def is_derivative(name: str) -> bool:
    return name.startswith(DERIVATIVES)


def is_value(name: str) -> bool:
    return name.startswith("value") or name.endswith(" values")


def has_answer(name: str, theirs: Iterable[str]) -> bool:
    """Whether PyTorch has the derivative that is an error here."""
    return any(other.startswith(name) for other in theirs)


def theirs_alone(one: Any, two: Any) -> bool:
    """PyTorch refuses what adjoint answers, or adjoint refuses what it need not."""
    return isinstance(two, Error) or (isinstance(one, Error) and bool(OWN_AFFAIR.search(one.text)))


def alike(name: str, one: Any, two: Any, rounding: float) -> bool:
    if name.startswith("requires_grad"):
        return bool(one or not two)
    if is_derivative(name) and is_part_finite(two):
        # where there is no derivative, each formula has NaN at other elements
        return isinstance(one, np.ndarray) and one.shape == two.shape and one.dtype == two.dtype
    if isinstance(two, np.ndarray) and two.dtype.kind in "fc" and np.max(np.abs(two), initial=0) > LARGEST:
        return True
    if rounding and name.startswith("second"):
        return True  # rounding has the last word
    return same(one, two, rounding)


def is_part_finite(values: Any) -> bool:
    return isinstance(values, np.ndarray) and not np.isfinite(values).all()


def are_transposed(ours: Observations) -> bool:
    """Whether tangents and gradients of a call are each other's transpose, with the numbers of options.wave."""
    tangents = [value for name, value in ours if name.startswith("tangent")]
    gradients = [value for name, value in ours if name.startswith("gradient")]
    if not gradients or any(isinstance(value, Error) for value in [*tangents, *gradients]):
        return False
    forward, backward = (
        sum(np.vdot(numbers(value.shape, np.iscomplexobj(value), k), value).real for k, value in enumerate(values))
        for values in (tangents, gradients)
    )
    return bool(np.isclose(forward, backward, rtol=1e-6, atol=1e-9))
