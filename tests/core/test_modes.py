"""Modes in passes that run in a thread of their own."""

from __future__ import annotations

import adjoint
from adjoint.core.modes import current


def test_layout_policy_holds_in_a_pass_of_its_own_thread() -> None:
    """The 31st pass, one inside the other, is run in a new thread."""

    def deeper(depth: int) -> list[bool]:
        seen: list[bool] = []
        y = adjoint.ones(1, requires_grad=True) * 2

        def hook(gradient: object) -> None:
            with adjoint.enable_grad():
                seen.extend(deeper(depth - 1) if depth else [bool(current().enforce_layout)])

        y.register_hook(hook)
        y.sum().backward()
        return seen

    with adjoint.autograd.enforce_grad_layout_policy(False):
        assert deeper(35) == [False]
    assert deeper(35) == [True]
