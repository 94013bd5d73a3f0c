"""torch._foreach_*: an operation on each tensor of a list. Optimizers of libraries use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.linalg import vector_norm
from adjoint.tensor.tensor import Tensor

_BOTH = """
    abs acos add addcdiv addcmul asin atan ceil clamp_max clamp_min cos cosh div erf erfc exp expm1 floor frac lerp
    lgamma log log10 log1p log2 maximum minimum mul neg pow reciprocal round rsqrt sigmoid sign sin sinh sqrt sub tan
    tanh trunc
"""
_OTHERS = ("clone", "max", "mm", "norm", "powsum", "copy_", "zero_")
#: The names of the functions.
FOREACH = tuple(f"_foreach_{name}" for name in (*_BOTH.split(), *(f"{name}_" for name in _BOTH.split()), *_OTHERS))
#: Methods with another name than the function for lists; they take numbers, too.
_METHODS = {"maximum": "clamp_min", "minimum": "clamp_max"}


def _norm(x: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    return vector_norm(x, ord, dtype=dtype)


def _sum_of_powers(x: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    return x.abs().pow(ord).sum(dtype=dtype)


def _power(x: Any, exponent: Any) -> Any:
    return x**exponent


def _with_value(method: str) -> Callable[..., Any]:
    """addcmul or addcdiv, whose factor is the last argument of the function for lists."""
    return lambda x, first, second, value=1: getattr(x, method)(first, second, value=value)


def _by_method(method: str) -> Callable[..., Any]:
    return lambda x, *others, **options: getattr(x, method)(*others, **options)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "norm": _norm,
    "pow": _power,
    "powsum": _sum_of_powers,
    **{name: _with_value(name) for name in ("addcdiv", "addcdiv_", "addcmul", "addcmul_")},
}
#: The keyword of numbers that belong to the tensors, and the keyword of the method for one number.
_SCALARS = {"scalars": "value"}


def foreach(name: str) -> Callable[..., Any]:
    """The function of this name, such as "_foreach_add_".

    It takes lists of tensors and of numbers, whose members belong together, and numbers or tensors without axes for
    all. In place it returns the first list, otherwise a tuple.

    Raises RuntimeError for an empty list, and for lists of other lengths.
    """
    operation = name.removeprefix("_foreach_")
    suffix = "_" if operation.endswith("_") else ""
    plain = operation.removesuffix("_")
    function = _FUNCTIONS.get(operation) or _by_method(_METHODS.get(plain, plain) + suffix)

    def on_each(*arguments: Any, **options: Any) -> Any:
        keywords = {_SCALARS.get(key, key): value for key, value in options.items()}
        values = [*arguments, *keywords.values()]
        results = []
        for row in _rows(name, values):
            by_name = dict(zip(keywords, row[len(arguments) :], strict=True))
            results.append(function(*row[: len(arguments)], **by_name))
        return arguments[0] if suffix else tuple(results)

    on_each.__name__ = on_each.__qualname__ = name
    return on_each


def _rows(name: str, values: list[Any]) -> list[tuple[Any, ...]]:
    """The arguments for each tensor: members of lists, and the other values for all."""
    lists = [value for value in values if isinstance(value, (list, tuple))]
    if not lists or isinstance(values[0], Tensor):
        raise TypeError(
            f"{name}() received an invalid combination of arguments: the first one must be a list of tensors"
        )
    count = len(lists[0])
    if count == 0:
        raise RuntimeError("Tensor list must have at least one tensor.")
    for other in lists[1:]:
        if len(other) != count:
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {count} and {len(other)}")
    columns = [value if isinstance(value, (list, tuple)) else [value] * count for value in values]
    return list(zip(*columns, strict=True))


def __getattr__(name: str) -> Any:
    if name not in FOREACH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return foreach(name)
