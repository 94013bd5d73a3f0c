"""assert_close: a comparison of two results up to rounding, with a report of the largest differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

import numpy

from adjoint.arrays.dtypes import dtype, from_numpy_dtype
from adjoint.arrays.layout import sparse_coo, strided
from adjoint.tensor.tensor import Tensor

# relative and absolute tolerances by dtype; other dtypes are compared exactly
_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}

Message = str | Callable[[str], str] | None


class _Rules(NamedTuple):
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool
    allow_subclasses: bool
    msg: Message


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: Message = None,
) -> None:
    """Assert that two results are close: abs(actual - expected) <= atol + rtol * abs(expected).

    The arguments are Tensors, arrays, numbers, or sequences and mappings of these. The default tolerances depend on the
    dtype, for two dtypes on the less precise one; integers and bools must be equal. Sparse tensors must have equal
    indices and close values. With check_layout=False, tensors with different layouts are compared as dense ones.

    Raises:
        AssertionError: they differ; the message has positions and differences. `msg` replaces or converts it.
        TypeError: they cannot be compared.
        ValueError: only one tolerance is given.

    >>> import adjoint
    >>> adjoint.testing.assert_close(adjoint.tensor([1.0]), adjoint.tensor([1.0 + 1e-7]))
    """
    if (rtol is None) != (atol is None):
        missing = "atol" if atol is None else "rtol"
        raise ValueError(f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {missing}.")
    rules = _Rules(rtol, atol, equal_nan, check_dtype, check_layout, check_stride, allow_subclasses, msg)
    _compare(actual, expected, rules, "")


def _compare(actual: Any, expected: Any, rules: _Rules, path: str) -> None:
    if isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _compare_mappings(actual, expected, rules, path)
    elif _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            _fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", rules, path)
        for i, pair in enumerate(zip(actual, expected, strict=True)):
            _compare(*pair, rules, f"{path}[{i}]")
    elif _is_number(actual) and _is_number(expected):
        _compare_numbers(_python_number(actual), _python_number(expected), rules, path)
    elif _array(actual) is not None and _array(expected) is not None:
        _compare_arrays(actual, expected, rules, path)
    elif actual is None or expected is None:
        if actual is not expected:
            _fail(f"None mismatch: {actual} is not {expected}", rules, path)
    else:
        raise TypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}." + _item(path)
        )


def _is_sequence(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _is_number(value: object) -> bool:
    return isinstance(value, (bool, int, float, complex, numpy.number, numpy.bool))


def _python_number(value: Any) -> Any:
    return value.item() if isinstance(value, (numpy.number, numpy.bool)) else value


def _array(value: object) -> Any:
    if isinstance(value, Tensor):
        return cast(Any, value)._array
    return value if isinstance(value, numpy.ndarray) else None


def _item(path: str) -> str:
    return f"\n\nThe failure occurred for item {path}" if path else ""


def _fail(text: str, rules: _Rules, path: str) -> None:
    text += _item(path)
    if rules.msg is not None:
        text = rules.msg(text) if callable(rules.msg) else rules.msg
    raise AssertionError(text)


def _compare_mappings(actual: Mapping[Any, Any], expected: Mapping[Any, Any], rules: _Rules, path: str) -> None:
    if actual.keys() != expected.keys():
        missing = sorted(expected.keys() - actual.keys(), key=str)
        extra = sorted(actual.keys() - expected.keys(), key=str)
        lines = ["The keys of the mappings do not match:"]
        lines += [f"Missing keys in the actual mapping: {missing}", f"Additional keys in the actual mapping: {extra}"]
        _fail("\n".join(lines), rules, path)
    for key in expected:
        _compare(actual[key], expected[key], rules, f"{path}[{key!r}]")


def _tolerances(rules: _Rules, *kinds: Any) -> tuple[float, float]:
    if rules.rtol is not None and rules.atol is not None:
        return rules.rtol, rules.atol
    pairs = [_TOLERANCES.get(_kind_name(kind), (0.0, 0.0)) for kind in kinds]
    return max(r for r, _ in pairs), max(a for _, a in pairs)


def _kind_name(kind: Any) -> str:
    if isinstance(kind, dtype):
        return kind.name
    return from_numpy_dtype(numpy.dtype(kind)).name


def _compare_arrays(actual: Any, expected: Any, rules: _Rules, path: str) -> None:
    for name, left, right in _attributes(actual, expected, rules):
        if left != right:
            _fail(f"The values for attribute '{name}' do not match: {left} != {right}.", rules, path)
    layouts = _layout(actual), _layout(expected)
    if layouts[0] is not layouts[1]:
        actual, expected = (
            x.to_dense() if layout is not strided else x for x, layout in zip((actual, expected), layouts, strict=True)
        )
    elif layouts[0] is not strided:
        _compare_sparse(actual, expected, rules, path)
        return
    _compare_elements(_array(actual), _array(expected), "Tensor-likes", rules, path)


def _layout(value: Any) -> Any:
    return value.layout if isinstance(value, Tensor) else strided


def _compare_sparse(actual: Tensor, expected: Tensor, rules: _Rules, path: str) -> None:
    """Compare two tensors with the same sparse layout by their parts."""
    if actual.layout is sparse_coo:
        title, names = "COO", ["_indices"]
        counts = [("sparse dimensions", actual.sparse_dim(), expected.sparse_dim())]
    else:
        title = str(actual.layout).rpartition("_")[2].upper()
        by_rows = title in ("CSR", "BSR")
        names = ["crow_indices", "col_indices"] if by_rows else ["ccol_indices", "row_indices"]
        counts = []
    for what, left, right in (*counts, ("specified values", actual._nnz(), expected._nnz())):
        if left != right:
            _fail(f"The number of {what} in sparse {title} tensors does not match: {left} != {right}", rules, path)
    exact = rules._replace(rtol=0.0, atol=0.0)
    for name in names:
        left, right = getattr(actual, name)(), getattr(expected, name)()
        _compare_elements(left._array, right._array, f"Sparse {title} {name.lstrip('_')}", exact, path)
    first, second = (x.detach()._values() if title == "COO" else x.detach().values() for x in (actual, expected))
    _compare_elements(first._array, second._array, f"Sparse {title} values", rules, path)


def _compare_elements(a: Any, b: Any, what: str, rules: _Rules, path: str) -> None:
    tolerances = _tolerances(rules, a.dtype, b.dtype)
    close = _close(a, b, tolerances, rules)
    if close.all():
        return
    if a.ndim == 0:
        _compare_scalars(a.item(), b.item(), tolerances, rules, path)
        return
    _fail(_differences(a, b, close, tolerances, what), rules, path)


def _attributes(actual: Any, expected: Any, rules: _Rules) -> list[tuple[str, Any, Any]]:
    a, b = _array(actual), _array(expected)
    shapes: list[Any] = [tuple(a.shape), tuple(b.shape)]
    if isinstance(actual, Tensor) and isinstance(expected, Tensor):
        shapes = [actual.shape, expected.shape]
    properties: list[tuple[str, Any, Any]] = [("shape", shapes[0], shapes[1])]
    layouts = _layout(actual), _layout(expected)
    if rules.check_layout:
        properties.append(("layout", *layouts))
    if rules.check_dtype:
        properties.append(("dtype", from_numpy_dtype(a.dtype), from_numpy_dtype(b.dtype)))
    if rules.check_stride and layouts == (strided, strided):
        left, right = (tuple(step // c.itemsize for step in c.strides) for c in (a, b))
        properties.append(("stride()", left, right))
    return properties


def _close(a: Any, b: Any, tolerances: tuple[float, float], rules: _Rules) -> Any:
    rtol, atol = tolerances
    wide = numpy.result_type(a.dtype, b.dtype, numpy.float64) if a.dtype.kind != "V" else numpy.float64
    if a.dtype.kind in "iub" and b.dtype.kind in "iub" and rtol == atol == 0:
        return a == b
    return numpy.isclose(a.astype(wide), b.astype(wide), rtol=rtol, atol=atol, equal_nan=rules.equal_nan)


def _differences(a: Any, b: Any, close: Any, tolerances: tuple[float, float], what: str) -> str:
    rtol, atol = tolerances
    exact = rtol == atol == 0
    whole = a.dtype.kind in "iub"
    with numpy.errstate(all="ignore"):
        wide = numpy.int64 if whole else numpy.result_type(a.dtype, numpy.float64) if a.dtype.kind != "V" else float
        absolute = numpy.abs(a.astype(wide) - b.astype(wide))
        relative = absolute / numpy.abs(b.astype(wide))
    absolute = numpy.where(close, 0, absolute)
    relative = numpy.where(close, 0, relative).astype(_precision(a, b))
    wrong = int(close.size - close.sum())
    lines = [
        f"{what} are not {'equal' if exact else 'close'}!",
        "",
        f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})",
    ]
    for name, difference, allowed in (("absolute", absolute, atol), ("relative", relative, rtol)):
        index = tuple(int(i) for i in numpy.unravel_index(int(numpy.argmax(difference)), difference.shape))
        worst = difference[index].item()
        note = "" if exact else f" (up to {allowed} allowed)"
        lines.append(f"Greatest {name} difference: {worst} at index {index}{note}")
    return "\n".join(lines)


def _precision(a: Any, b: Any) -> Any:
    # the dtype of relative differences: that of the values, float32 for integers
    floating = [c for c in (b, a) if c.dtype.kind not in "iub"]
    return numpy.abs(floating[0][:0]).dtype if floating else numpy.float32


def _compare_numbers(actual: Any, expected: Any, rules: _Rules, path: str) -> None:
    if isinstance(actual, bool) and isinstance(expected, bool):
        if actual is not expected:
            _fail(f"Booleans mismatch: {actual} is not {expected}", rules, path)
        return
    if rules.check_dtype and type(actual) is not type(expected):
        _fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", rules, path)
    _compare_scalars(actual, expected, _tolerances(rules, type(actual), type(expected)), rules, path)


def _compare_scalars(actual: Any, expected: Any, tolerances: tuple[float, float], rules: _Rules, path: str) -> None:
    rtol, atol = tolerances
    if _close(numpy.asarray(actual), numpy.asarray(expected), tolerances, rules).all():
        return
    exact = rtol == atol == 0
    difference = abs(actual - expected) if not isinstance(actual, bool) else int(actual != expected)
    relative = difference / abs(expected) if expected else math.inf
    absolute_note = "" if exact else f" (up to {atol} allowed)"
    relative_note = "" if exact else f" (up to {rtol} allowed)"
    _fail(
        f"Scalars are not {'equal' if exact else 'close'}!\n\n"
        f"Expected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{absolute_note}\n"
        f"Relative difference: {relative}{relative_note}",
        rules,
        path,
    )
