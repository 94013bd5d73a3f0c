"""Distributions of scipy.stats, each a module of functions that also take boxes."""

from __future__ import annotations

import sys as _sys
import types as _types

import scipy.stats as _stats

from adjoint.compat.autograd._primitives import Primitive as _Primitive
from adjoint.compat.autograd.scipy._namespace import primitive_of as _primitive_of
from adjoint.core.operations.naming import known_by as _known_by
from adjoint.interop.numpy_functions import FUNCTIONS as _FUNCTIONS

__path__: list[str] = []


def _module_of(name: str) -> _types.ModuleType:
    of_scipy = getattr(_stats, name)
    module = _types.ModuleType(f"{__name__}.{name}", f"scipy.stats.{name}, whose functions also take boxes.")
    for method in dir(of_scipy):
        value = getattr(of_scipy, method)
        if not method.startswith("_") and callable(value):
            own = f"scipy.stats.{name}.{method}"
            primitive = _primitive_of(own, value) if own in _FUNCTIONS else _Primitive(value)
            setattr(module, method, _known_by(primitive, module.__name__, method))
    _sys.modules[module.__name__] = module
    return module


for _name in {name.split(".")[2] for name in _FUNCTIONS if name.startswith("scipy.stats.")}:
    globals()[_name] = _module_of(_name)
