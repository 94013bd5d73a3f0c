"""Ranges for other programs' timelines: NVIDIA's through nvtx, Intel's through ittapi."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from adjoint.core.graph import AccumulateGrad, Node, upcoming_sequence_nr
from adjoint.core.modes.profiling import CUSTOM, ProfilerHook
from adjoint.core.modes.state import current
from adjoint.tools.profiler import functions, names
from adjoint.tools.profiler.recorder import as_list, shape_of


class Ranges(ProfilerHook):
    """Opens and closes a range around each operation, node and label of the threads in whose modes it stands.

    push, pop: open a range of this name; close the innermost. shapes: names end with the sizes of arguments.
    """

    def __init__(self, push: Callable[[str], object], pop: Callable[[], object], shapes: bool) -> None:
        super().__init__()
        self.push, self.pop, self.shapes = push, pop, shapes
        self.detailed = True

    def start(self) -> None:
        """Begin to open ranges."""
        functions.observe()
        super().start()

    def stop(self) -> None:
        """Open no ranges any more."""
        super().stop()
        functions.release()

    def call_in_detail(self, name: str, function: Callable[[Any], Any], values: list[Any], scope: int) -> Any:
        """Run an operation inside a range that says which number its node will have; 0 if none is recorded."""
        number = upcoming_sequence_nr() if current().grad_enabled else 0
        title = name if scope == CUSTOM else names.operation(name)
        self.push(f"{title}, seq={number}{self.sizes(values)}")
        try:
            return function(values)
        finally:
            self.pop()

    def evaluate_in_detail(self, run: Any, node: Node) -> Any:
        """Run a node inside a range that says which number it was given when it was made."""
        stashed = "" if isinstance(node, AccumulateGrad) else f", stashed seq={node._ad_sequence_nr}"
        sizes = self.sizes(as_list(run.cotangents_at(node))) if self.shapes else ""
        self.push(f"{node.name()}{stashed}{sizes}")
        try:
            return run.proceed(node, self.position)
        finally:
            self.pop()

    def sizes(self, values: list[Any]) -> str:
        """The sizes of arguments, if they are recorded; [] for those that are no tensors."""
        return f", sizes={[shape_of(value) for value in values]}" if self.shapes else ""

    def begin(self, name: str) -> Any:
        """Start a labelled block."""
        self.push(name)

    def end(self, name: str, state: Any) -> None:
        """End a labelled block."""
        self.pop()


class emit_ranges:
    """The common part of `emit_nvtx` and `emit_itt`: a context manager that can be entered once."""

    kind = ""
    package = ""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.entered = False
        self._ranges: Ranges | None = None

    def __enter__(self) -> Any:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError(f"{self.kind} annotation context manager is not reentrant")
        ranges = Ranges(*self.functions(self.import_package()), self.record_shapes)
        self.entered = True
        ranges.start()
        self._ranges = ranges
        return self

    def __exit__(self, *exception: object) -> None:
        if self._ranges is not None:
            self._ranges.stop()
            self._ranges = None

    def import_package(self) -> Any:
        """The package that makes ranges. Raises ImportError with the name of the extra where it is missing."""
        try:
            return importlib.import_module(self.package)
        except ImportError as error:
            raise ImportError(
                f"emit_{self.kind.lower()} needs the package {self.package}, which is not installed: "
                f'pip install "adjoint-autograd[{self.package}]"'
            ) from error

    def functions(self, package: Any) -> tuple[Callable[[str], object], Callable[[], object]]:
        """The functions that open and close a range."""
        raise NotImplementedError(f"{type(self).__name__} does not say how to open a range")


class emit_nvtx(emit_ranges):
    """A block in which every operation opens an NVTX range, for Nsight Systems, nvvp and nvprof.

    Ranges of operations are called `aten::mul, seq=<N>`, where N is the number of the node that the operation records
    if it does; those of nodes of a backward pass `MulBackward0, stashed seq=<N>`, where N is the number that the node
    was given. So N identifies the operation of a node. While nothing is recorded N is 0.

    enabled: False makes the block do nothing. record_shapes: names end with the sizes of the arguments, as
    `, sizes=[[2, 3], []]`; arguments that are no tensors have `[]`.

    Raises ImportError without the package nvtx (extra "nvtx"), RuntimeError where it is entered twice. Ranges that a
    program under `nsys profile` or nvprof emits are free of cost elsewhere.

    >>> import adjoint
    >>> x = adjoint.ones(2, requires_grad=True)
    >>> with adjoint.autograd.profiler.emit_nvtx(enabled=False):
    ...     (x * x).sum().backward()
    """

    kind = "NVTX"
    package = "nvtx"

    def functions(self, package: Any) -> tuple[Callable[[str], object], Callable[[], object]]:
        """The package's push and pop."""
        return package.push_range, package.pop_range


class emit_itt(emit_ranges):
    """A block in which every operation opens an ITT task, for Intel VTune; otherwise as `emit_nvtx`.

    Raises ImportError without the package ittapi (extra "ittapi"), RuntimeError where it is entered twice.

    >>> import adjoint
    >>> with adjoint.autograd.profiler.emit_itt(enabled=False):
    ...     y = adjoint.ones(2) * 2
    """

    kind = "ITT"
    package = "ittapi"

    def functions(self, package: Any) -> tuple[Callable[[str], object], Callable[[], object]]:
        """The package's begin and end of tasks, in a domain of this library's name."""
        domain = package.domain("adjoint")

        def begin(name: str) -> None:
            package.task_begin(domain, package.string_handle(name))

        return begin, partial(package.task_end, domain)
