"""The classes of several results, as `max`, `sort` and `linalg.svd` return them.

>>> import adjoint
>>> adjoint.sort(adjoint.tensor([3.0, 1.0]))
adjoint.return_types.sort(
values=tensor([1., 3.]),
indices=tensor([1, 0]))
>>> isinstance(adjoint.tensor([3.0]).max(0), adjoint.return_types.max)
True
"""

from adjoint.core.operations.results import RESULTS as _RESULTS
from adjoint.core.recorded import operations as _operations


def _names() -> set[str]:
    return {*_RESULTS, *(name for name, operation in _operations.items() if operation.rule.outputs)}


def __dir__() -> list[str]:
    return sorted(_names())


def __getattr__(name: str) -> type:
    if name in _RESULTS:
        return _RESULTS[name]
    if name in _names():
        return _operations[name].results_type()  # type: ignore[no-any-return]
    raise AttributeError(f"module 'adjoint.return_types' has no attribute {name!r}")
