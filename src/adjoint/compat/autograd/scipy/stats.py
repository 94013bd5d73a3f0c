"""Distributions of scipy.stats, each a module of functions that also take boxes."""

import sys as _sys
import types as _types
from typing import Any as _Any

import scipy.stats as _stats

from adjoint.compat.autograd._primitives import Primitive as _Primitive
from adjoint.compat.autograd.scipy._namespace import over_boxes as _over_boxes
from adjoint.core.operations.naming import known_by as _known_by
from adjoint.interop.scipy_functions.distributions.face import distributions as _distributions
from adjoint.interop.scipy_functions.distributions.face import methods_of as _methods_of

__path__: list[str] = []


def _is_method(of_scipy: _Any, name: str) -> bool:
    return not name.startswith("_") and callable(getattr(of_scipy, name, None))


def _module_of(name: str) -> _types.ModuleType:
    of_scipy = getattr(_stats, name)
    module = _types.ModuleType(f"{__name__}.{name}", f"scipy.stats.{name}, whose functions also take boxes.")

    def member(method: str) -> _Any:
        """A method when it is first asked for: there are thousands in all."""
        if not _is_method(of_scipy, method):
            raise AttributeError(f"module {module.__name__!r} has no attribute {method!r}")
        value = getattr(of_scipy, method)
        over_tensors = _methods_of(name, of_scipy).get(method)
        function = _Primitive(value) if over_tensors is None else _over_boxes(value, over_tensors)
        setattr(module, method, _known_by(function, module.__name__, method))
        return getattr(module, method)

    module.__getattr__ = member  # type: ignore[method-assign]
    module.__dir__ = lambda: [name for name in dir(of_scipy) if _is_method(of_scipy, name)]  # type: ignore[method-assign]
    _sys.modules[module.__name__] = module
    return module


for _name in _distributions(_stats):
    globals()[_name] = _module_of(_name)
