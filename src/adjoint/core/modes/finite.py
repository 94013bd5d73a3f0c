"""NaN and infinity caught in the forward pass, where they are made."""

from __future__ import annotations

from typing import Any

import numpy

from adjoint.arrays.dtypes import from_numpy_dtype, kind_of
from adjoint.arrays.namespace import is_array, namespace
from adjoint.core.errors import explain, sizes
from adjoint.core.locations import caller, description
from adjoint.core.modes.interceptors import INSPECTION, Interceptor
from adjoint.core.modes.state import INTERCEPT, ModeBlock, current


class watch_forward(ModeBlock):
    """A block in which operations that make NaN or infinity raise FloatingPointError at once, in the calling thread.

    nan: raise if an operation makes NaN, or gets NaN from outside the block and passes it on. inf: raise if an
    operation makes infinity from finite arguments. Infinity given on purpose, as in `masked_fill(mask, -inf)`, is
    allowed. The error names the operation, the ranges of its inputs and the line of the user's code. For backward
    passes use `detect_anomaly`. Outside the block there is no cost.

    >>> import adjoint
    >>> x = adjoint.tensor([4.0, 0.0])
    >>> try:
    ...     with adjoint.autograd.graph.watch_forward():
    ...         x.reciprocal()
    ... except FloatingPointError as error:
    ...     print(error)
    reciprocal() made inf at 1 of 2 elements, first at [1].
      input: [2] float32, from 0.0 to 4.0
    Called here: ...
    """

    def __init__(self, nan: bool = True, inf: bool = True) -> None:
        self._inspection = Inspection(nan, inf)
        # the error takes the place of NumPy's warnings
        self._silence: list[Any] = []

    def _changes(self) -> Any:
        silence = numpy.errstate(all="ignore")
        silence.__enter__()
        self._silence.append(silence)
        return ((INTERCEPT, "interceptors", (INSPECTION, self._inspection)),)

    def _after_exit(self, error: BaseException | None) -> None:
        self._silence.pop().__exit__(None, None, None)


class Inspection(Interceptor):
    """Looks at the results of kernels."""

    def __init__(self, nan: bool, inf: bool) -> None:
        super().__init__(INSPECTION)
        self.nan = nan
        self.inf = inf

    def kernel(self, operation: Any, raw: list[Any], half: Any) -> Any:
        """Run a kernel and raise FloatingPointError for NaN or infinity in its results, as far as these are watched."""
        results = operation.proceed_to_kernel(raw, half, self.position)
        self.inspect(operation, raw, results)
        return results

    def inspect(self, operation: Any, arguments: list[Any], results: Any) -> None:
        """Raise FloatingPointError for NaN or infinity in results of an operation, as far as these are watched."""
        if operation.is_view or current().backward_depth:
            return
        named_arguments = list(zip(operation.arguments.names, arguments, strict=True))
        for result in results if isinstance(results, (list, tuple)) else (results,):
            if not can_be_nan(result):
                continue
            nan = namespace(result).isnan(result)
            if self.nan and nan.any():
                givers = [name for name, value in named_arguments if any(has_nan(part) for part in members(value))]
                what = f"passed on NaN that it got in {' and '.join(givers)}" if givers else "made NaN"
                raise failure(operation, what, nan, named_arguments)
            inf = ~namespace(result).isfinite(result) & ~nan
            if (
                self.inf
                and inf.any()
                and all(is_finite(part) for _, value in named_arguments for part in members(value))
            ):
                raise failure(operation, "made inf", inf, named_arguments)


def members(argument: Any) -> list[Any]:
    """The arrays and numbers of an argument, which may be a sequence of arrays."""
    parts = argument if isinstance(argument, (list, tuple)) else [argument]
    return [part for part in parts if is_array(part) or isinstance(part, (float, complex, numpy.generic))]


def can_be_nan(value: Any) -> bool:
    """True for arrays of floating point and complex numbers."""
    kind = from_numpy_dtype(value.dtype)
    return bool(kind.is_floating_point or kind.is_complex)


def has_nan(value: Any) -> bool:
    """True if there is NaN in an array or number."""
    value = numpy.asarray(value) if not is_array(value) else value
    return can_be_nan(value) and bool(namespace(value).isnan(value).any())


def is_finite(value: Any) -> bool:
    """True if an array or number has neither NaN nor infinity."""
    value = numpy.asarray(value) if not is_array(value) else value
    return not can_be_nan(value) or bool(namespace(value).isfinite(value).all())


def failure(operation: Any, what: str, mask: Any, named_arguments: list[tuple[str, Any]]) -> FloatingPointError:
    """The error for an operation's result at a mask: the operation, its inputs, and the line in the user's code."""
    first = [int(axis[0]) for axis in numpy.nonzero(numpy.asarray(mask))] if mask.ndim else []
    lines = [f"{operation.name}() {what} at {int(mask.sum())} of {mask.size} elements, first at {first}."]
    lines += [f"  {name}: {described_value(part)}" for name, value in named_arguments for part in members(value)]
    location = caller()
    if location is not None:
        lines.append(f"Called here: {description(location)}")
    return explain(FloatingPointError("\n".join(lines)), "not-finite")


def described_value(value: Any) -> str:
    """The shape, dtype and range of an array, and its counts of NaN and infinity; a number as it is."""
    if not is_array(value):
        return repr(value)
    head = f"{sizes(value.shape)} {from_numpy_dtype(value.dtype).name}"
    if not value.size:
        return head
    if not can_be_nan(value):
        return f"{head}, from {value.min()} to {value.max()}"
    xp = namespace(value)
    magnitudes = xp.abs(value) if kind_of(value) == "c" else value
    finite = magnitudes[xp.isfinite(value)]
    nan = xp.isnan(value)
    n_nan, n_inf = int(nan.sum()), int((~xp.isfinite(value) & ~nan).sum())
    parts = [f"{head}{' of magnitudes' if kind_of(value) == 'c' else ''}"]
    if finite.size:
        parts.append(f"from {finite.min()} to {finite.max()}")
    parts += [f"{n} {name}" for n, name in ((n_nan, "NaN"), (n_inf, "inf")) if n]
    return ", ".join(parts)
