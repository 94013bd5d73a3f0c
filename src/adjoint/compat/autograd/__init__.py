"""HIPS autograd's interface over adjoint: programs for autograd need only another import.

    from adjoint.compat.autograd import grad, numpy as np

or, for code that must not change, before the first import of autograd:

    import adjoint.compat.autograd
    adjoint.compat.autograd.install()

Derivatives have autograd's conventions, also for complex numbers, in reverse and forward mode to any order. There are
four differences. Every function in adjoint's table of NumPy's functions is differentiable. Containers of boxes are
Python's lists, tuples and dictionaries. The result of `x.copy()` supports assignment (`r[0] = y`) and in-place
operations, as in NumPy. Numbers in extended precision are computed in double precision, with a warning.
"""

from __future__ import annotations

import importlib
import sys

from adjoint.compat.autograd import builtins, differential_operators, extend, numpy, wrap_util
from adjoint.compat.autograd._older import primitive
from adjoint.compat.autograd.builtins import dict, isinstance, list, tuple, type
from adjoint.compat.autograd.differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)

__all__ = [
    "checkpoint", "deriv", "dict", "elementwise_grad", "grad", "grad_and_aux", "grad_named", "hessian",
    "hessian_tensor_product", "hessian_vector_product", "holomorphic_grad", "install", "isinstance", "jacobian",
    "list", "make_ggnvp", "make_hvp", "make_jvp", "make_jvp_reversemode", "make_vjp", "multigrad_dict", "primitive",
    "tensor_jacobian_product", "tuple", "type", "value_and_grad", "vector_jacobian_product",
]  # fmt: skip


def install() -> None:
    """Make `import autograd` and imports of its submodules return this package, in the whole process.

    Raises RuntimeError if autograd itself is already imported.

    >>> install()
    >>> import autograd.numpy as np
    >>> np.__name__
    'adjoint.compat.autograd.numpy'
    """
    import pkgutil

    installed = sys.modules.get("autograd")
    package = sys.modules[__name__]
    if installed is not None and installed is not package:
        raise RuntimeError("autograd was imported before install() was called; call it first")
    for module_info in pkgutil.walk_packages(__path__, __name__ + "."):
        if not any(part.startswith("_") for part in module_info.name.split(".")):
            importlib.import_module(module_info.name)
    for name, module in list(sys.modules.items()):
        if name == __name__ or name.startswith(__name__ + "."):
            sys.modules["autograd" + name.removeprefix(__name__)] = module
    # autoray and PennyLane look up the library of a box by its module
    numpy.numpy_boxes.ArrayBox.__module__ = "autograd.numpy.numpy_boxes"


#: Modules that are imported at their first use.
_LATE = frozenset(("core", "misc", "scipy", "test_util", "tracer", "util"))


def __getattr__(name: str) -> object:
    if name in _LATE:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    modules = ("builtins", "differential_operators", "extend", "numpy", "wrap_util")
    return sorted({*__all__, *_LATE, *modules})
