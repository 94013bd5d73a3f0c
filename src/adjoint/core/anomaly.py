"""Anomaly mode: nodes remember where they were made, and backward passes say which of them failed or made NaN."""

from __future__ import annotations

import warnings
from typing import Any

from adjoint.arrays.namespace import namespace
from adjoint.core.graph import Node, TensorBase
from adjoint.core.modes import current, set_anomaly

ENABLED = (
    "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging."
)


class set_detect_anomaly:
    """Switches anomaly mode on or off in all threads: at once when called, undone at the end of a with block.

    mode: on or off. check_nan: a backward pass that makes NaN raises RuntimeError.

    >>> import adjoint
    >>> with adjoint.autograd.set_detect_anomaly(True, check_nan=False):
    ...     adjoint.is_anomaly_enabled(), adjoint.is_anomaly_check_nan_enabled()
    (True, False)
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = set_anomaly(mode, check_nan)

    def __enter__(self) -> None:
        """The switch was made when the object was."""

    def __exit__(self, *exception: object) -> None:
        set_anomaly(*self._before)


class detect_anomaly:
    """A block in which nodes remember the traceback of the operation that made them.

    If a backward pass raises, or (with check_nan) makes NaN, a warning shows the traceback of the operation whose
    gradient failed; for a graph of a graph also that of the operation behind it. Errors about values overwritten in
    place name the line that saved and the line that modified them. For debugging: operations take many times longer.

    >>> import adjoint, warnings
    >>> warnings.simplefilter("ignore")
    >>> x = adjoint.zeros(2, requires_grad=True)
    >>> with adjoint.autograd.detect_anomaly():
    ...     (x.sqrt() * 0).sum().backward()
    Traceback (most recent call last):
        ...
    RuntimeError: Function 'SqrtBackward0' returned nan values in its 0th output.
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        self._before: list[tuple[bool, bool]] = []
        warnings.warn(ENABLED, stacklevel=2)

    def __enter__(self) -> None:
        self._before.append(set_anomaly(True, self._check_nan))

    def __exit__(self, *exception: object) -> None:
        set_anomaly(*self._before.pop())


def is_anomaly_enabled() -> bool:
    """True if anomaly mode is on."""
    return bool(current().anomaly)


def is_anomaly_check_nan_enabled() -> bool:
    """True if backward passes in anomaly mode look for NaN."""
    return bool(current().check_nan)


def watched_pull(node: Node, cotangent: Any, create_graph: bool) -> Any:
    """Let a node pull its cotangent back; if that raises or makes NaN, warn with the traceback of its making."""
    state = current()
    # until the next node runs: sums of cotangents count as this node's work; the pass restores what was before
    state.evaluating = node
    try:
        pulled = node.run_pull(cotangent, create_graph)
    except BaseException:
        warn_about(node)
        raise
    if state.check_nan:
        for i, value in enumerate(pulled):
            if value is not None and has_nan(value):
                warn_about(node)
                raise RuntimeError(f"Function '{node.name()}' returned nan values in its {i}th output.")
    return pulled


def has_nan(value: Any) -> bool:
    """True if there is NaN in a raw array or Tensor."""
    array = value._array if isinstance(value, TensorBase) else value
    xp = namespace(array)
    return bool(xp.any(xp.isnan(array)))


def warn_about(node: Node) -> None:
    """Show where a node was made, and the nodes whose backward passes made it."""
    lines = node.metadata.get("traceback_")
    if lines is None:
        warnings.warn(
            f"Error detected in {node.name()}. No forward pass information available. Enable detect anomaly during "
            "forward pass for more information.",
            stacklevel=2,
        )
        return
    warnings.warn(
        f"Error detected in {node.name()}. Traceback of forward call that caused the error:\n{''.join(lines)}",
        stacklevel=2,
    )
    parent = node.metadata.get("parent_")
    while parent is not None:
        lines = parent.metadata.get("traceback_")
        if lines is None:
            warnings.warn(
                f"\n\nPrevious calculation was induced by {parent.name()}. No forward pass information available. "
                "Enable detect anomaly during forward pass for more information.",
                stacklevel=2,
            )
            return
        warnings.warn(
            f"\n\nPrevious calculation was induced by {parent.name()}. Traceback of forward call that induced the "
            f"previous calculation:\n{''.join(lines)}",
            stacklevel=2,
        )
        parent = parent.metadata.get("parent_")
