"""The text of tensors, as PyTorch prints them.

A large array is cut down to its edges first, so that the cost does not grow with its size; then every number
is formatted once, and the rows are laid out from the strings.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adjoint.arrays.size import CPU
from adjoint.core.modes.state import ATTRIBUTE, ModeBlock

from ..arrays.dtypes import bool_, from_numpy_dtype, get_default_complex_dtype, get_default_dtype, int64
from ..arrays.namespace import device_of, is_lazy, on_device


@dataclass
class PrintOptions:
    """How tensors are printed; see ``set_printoptions``."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}
_options = PrintOptions()


def get_printoptions() -> PrintOptions:
    """A copy of the options in force."""
    return replace(_options)


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors are printed, as ``torch.set_printoptions``.

    Args:
        precision: digits after the decimal point (4).
        threshold: the number of elements above which only the edges are printed (1000).
        edgeitems: how many elements each edge has (3).
        linewidth: characters in a line (80).
        profile: ``"default"``, ``"short"`` or ``"full"``; sets all of these, before the others are applied.
        sci_mode: scientific notation always (True), never (False), or where the values call for it (None).

    Raises:
        ValueError: there is no profile of this name.
    """
    global _options
    _options = _change(precision, threshold, edgeitems, linewidth, profile, sci_mode)


def _change(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> PrintOptions:
    """The options as they are with some of them changed."""
    if profile is not None and profile not in _PROFILES:
        raise ValueError(f"profile must be one of {', '.join(map(repr, _PROFILES))}, got {profile!r}")
    base = _options if profile is None else _PROFILES[profile]
    options = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    return replace(base, sci_mode=sci_mode, **changes)


class printoptions(ModeBlock, ContextDecorator):
    """``set_printoptions`` for the duration of a with block."""

    def __init__(self, **options: Any) -> None:
        self.options = options

    def _changes(self) -> tuple[Any, ...]:
        return ((ATTRIBUTE, "_options", (sys.modules[__name__], _change(**self.options))),)


def format_tensor(
    array: np.ndarray[Any, Any],
    *,
    suffixes: Sequence[str] = (),
    options: PrintOptions | None = None,
    prefix: str = "tensor(",
) -> str:
    """The text of a tensor with the given elements.

    ``suffixes`` are further parts after the elements, such as ``"requires_grad=True"``; the shape of an empty
    array and a dtype that the elements do not show are added here.

    >>> format_tensor(np.array([1.0, 2.5]), suffixes=["requires_grad=True"])
    'tensor([1.0000, 2.5000], dtype=adjoint.float64, requires_grad=True)'
    """
    if hasattr(array, "describe"):
        return array.describe(lambda plain: format_tensor(plain, suffixes=suffixes, options=options))
    if type(array) is not np.ndarray and hasattr(array, "pattern"):
        return _format_sparse(array, suffixes, options, prefix)
    if is_lazy(array):
        chunks = "x".join(str(max(sizes, default=0)) for sizes in array.chunks) or "1"
        parts = [f"lazy, size={tuple(array.shape)}", f"chunks of {chunks}", f"dtype={from_numpy_dtype(array.dtype)!r}"]
        return prefix + ", ".join([*parts, *suffixes]) + ")"
    device_shown = device_of(array)
    elsewhere = [] if device_shown == CPU else [f"device='{device_shown}'"]
    array = on_device(array, CPU)
    opts = _options if options is None else options
    indent = len(prefix)
    elements, is_omitted = _elements(array, indent, opts)
    parts = [*elsewhere, *_own_suffixes(array, is_omitted), *suffixes]
    return _append(prefix + elements, parts, indent, opts.linewidth) + ")"


def _format_sparse(array: Any, suffixes: Sequence[str], options: PrintOptions | None, prefix: str) -> str:
    """The text of a sparse tensor: its indices and values as tensors, then facts that these do not show."""
    pattern, opts = array.pattern, _options if options is None else options
    names = ["indices"]
    if pattern.layout.is_compressed:
        names = ["ccol_indices", "row_indices"] if pattern.layout.by_columns else ["crow_indices", "col_indices"]
    inner = " " * len(prefix)
    texts = []
    for name, part in [*zip(names, pattern.indices, strict=True), ("values", array.values)]:
        start = f"{name}=tensor("
        elements, _ = _elements(part, len(inner + start), opts)
        empty = [] if part.size else [f"size={tuple(part.shape)}"]
        texts.append(_append(start + elements, empty, len(inner + start), opts.linewidth) + ")")
    dtype = from_numpy_dtype(array.dtype)
    implied = dtype in (get_default_dtype(), int64, bool_, get_default_complex_dtype())
    facts = [f"nnz={pattern.nnz}", *([] if implied else [f"dtype={dtype!r}"]), f"layout={pattern.layout!r}", *suffixes]
    size = f"size={tuple(pattern.shape)}"
    if pattern.layout.is_compressed:
        text = f",\n{inner}".join(texts)
        return _append(prefix + text, [size, *facts], len(prefix), opts.linewidth) + ")"
    text = f",\n{inner}".join([*texts, size])
    return _append(prefix + text, facts, len(prefix), opts.linewidth) + ")"


def _own_suffixes(array: np.ndarray[Any, Any], is_omitted: bool) -> list[str]:
    dtype = from_numpy_dtype(array.dtype)
    if array.size and not is_omitted:
        implied = dtype in (get_default_dtype(), int64, bool_, get_default_complex_dtype())
        return [] if implied else [f"dtype={dtype!r}"]
    parts = [f"size={tuple(array.shape)}"] if array.ndim != 1 or is_omitted else []
    return parts if dtype is get_default_dtype() else [*parts, f"dtype={dtype!r}"]


def _append(text: str, suffixes: Sequence[str], indent: int, linewidth: int) -> str:
    """Add suffixes, each on the last line if it fits there, else on a new one."""
    length = len(text) - text.rfind("\n") + 1  # PyTorch counts two more: the line may end at linewidth - 2
    for suffix in suffixes:
        if length + len(suffix) + 2 > linewidth:
            text += ",\n" + " " * indent + suffix
            length = indent + len(suffix)
        else:
            text += ", " + suffix
            length += len(suffix) + 2
    return text


def _elements(array: np.ndarray[Any, Any], indent: int, opts: PrintOptions) -> tuple[str, bool]:
    """The brackets and numbers, and whether every one of the numbers was left out."""
    if not array.size:
        return "[]", False
    is_summary = array.size > opts.threshold and array.ndim > 0
    if is_summary and opts.edgeitems < 1:
        return "[...]", True
    cut = [is_summary and n > 2 * opts.edgeitems for n in array.shape]
    if any(cut):
        array = _edges(array, cut, opts.edgeitems)
    strings, width = _format_numbers(array.reshape(-1), opts)
    if not array.ndim:
        return strings[0], False
    per_line = max(1, (opts.linewidth - indent - (array.ndim - 1)) // (width + 2))
    return _layout(strings, array.shape, cut, opts.edgeitems, indent, per_line), False


def _edges(array: np.ndarray[Any, Any], cut: Sequence[bool], edgeitems: int) -> np.ndarray[Any, Any]:
    """The first and last items along every dimension that is cut."""
    for axis, is_cut in enumerate(cut):
        if is_cut:
            before = (slice(None),) * axis
            ends = (array[(*before, slice(None, edgeitems))], array[(*before, slice(-edgeitems, None))])
            array = np.concatenate(ends, axis)
    return array


def _layout(
    strings: list[str], shape: Sequence[int], cut: Sequence[bool], edgeitems: int, indent: int, per_line: int
) -> str:
    """Brackets around the strings of an array of the given shape, given in row-major order."""
    is_cut, indent = cut[0], indent + 1
    if len(shape) == 1:
        items = [*strings[:edgeitems], " ...", *strings[edgeitems:]] if is_cut else strings
        lines = [", ".join(items[i : i + per_line]) for i in range(0, len(items), per_line)]
        return "[" + (",\n" + " " * indent).join(lines) + "]"
    step = len(strings) // shape[0]
    slices = [
        _layout(strings[i : i + step], shape[1:], cut[1:], edgeitems, indent, per_line)
        for i in range(0, len(strings), step)
    ]
    if is_cut:
        slices.insert(edgeitems, "...")
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * indent).join(slices) + "]"


# --- numbers ------------------------------------------------------------------------------------------------


def _format_numbers(flat: np.ndarray[Any, Any], opts: PrintOptions) -> tuple[list[str], int]:
    """The strings of the elements, and the width that lines are broken by."""
    dtype = from_numpy_dtype(flat.dtype)
    if dtype.is_complex:
        real, real_width = _format_floats(flat.real.tolist(), opts)
        imag, imag_width = _format_floats(flat.imag.tolist(), opts)
        return [_join_complex(r, i) for r, i in zip(real, imag, strict=True)], real_width + imag_width + 1
    if dtype.is_floating_point:
        return _format_floats(flat.astype(np.float64).tolist(), opts)
    strings = list(map(str, flat.tolist()))
    return _justify(strings, max(map(len, strings)))


def _join_complex(real: str, imag: str) -> str:
    imag = imag.lstrip()
    return f"{real}{imag}j" if imag.startswith("-") else f"{real}+{imag}j"


def _justify(strings: list[str], width: int) -> tuple[list[str], int]:
    return [each.rjust(width) for each in strings], width


def _format_floats(values: list[float], opts: PrintOptions) -> tuple[list[str], int]:
    """One notation for all values, chosen by those that are neither zero nor infinite nor nan.

    Only these values widen the column: a column of 0 and inf keeps the width 1.
    """
    decisive = [v for v in values if v and math.isfinite(v)]
    convert = _notation(decisive, opts)
    width = max((len(convert(v)) for v in decisive), default=1)
    return _justify([convert(v) for v in values], width)


def _notation(decisive: list[float], opts: PrintOptions) -> Callable[[float], str]:
    is_whole = all(v.is_integer() for v in decisive)
    is_scientific = _needs_exponent(decisive, is_whole) if opts.sci_mode is None else opts.sci_mode
    if is_scientific and decisive:
        return f"{{:.{opts.precision}e}}".format
    if is_whole:
        return _whole
    return f"{{:.{opts.precision}f}}".format


def _needs_exponent(decisive: list[float], is_whole: bool) -> bool:
    magnitudes = list(map(abs, decisive)) or [1.0]
    largest, smallest = max(magnitudes), min(magnitudes)
    return largest / smallest > 1000.0 or largest > 1.0e8 or (smallest < 1.0e-4 and not is_whole)


def _whole(value: float) -> str:
    return f"{value:.0f}." if math.isfinite(value) else str(value)
