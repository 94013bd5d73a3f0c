"""HIPS autograd's interface over adjoint: its dependents run by changing an import.

    from adjoint.compat.autograd import grad, numpy as np

or, before anything imports autograd, for code that is not to be changed at all:

    import adjoint.compat.autograd
    adjoint.compat.autograd.install()

Functions are differentiated as autograd does it, in reverse and forward mode to any order, with its convention for
complex numbers. Differences: every function of NumPy that adjoint's table has is differentiable; containers of boxes
are Python's own lists, tuples and dictionaries; the result of `x.copy()` can be assigned to (`r[0] = y`) and changed in
place, with NumPy's meaning; numbers in extended precision are computed in double precision, with a warning.
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
    """Let `import autograd` and its submodules give this package, in the whole process.

    Raises RuntimeError if autograd itself was imported before.

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
    # autoray, and PennyLane with it, ask for the library that a box comes from
    numpy.numpy_boxes.ArrayBox.__module__ = "autograd.numpy.numpy_boxes"


#: Modules that are imported when they are first used.
_LATE = frozenset(("core", "misc", "scipy", "test_util", "tracer", "util"))


def __getattr__(name: str) -> object:
    if name in _LATE:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    modules = ("builtins", "differential_operators", "extend", "numpy", "wrap_util")
    return sorted({*__all__, *_LATE, *modules})
