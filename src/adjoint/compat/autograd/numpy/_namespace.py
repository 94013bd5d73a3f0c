"""NumPy's namespaces with functions that also take boxes."""

from __future__ import annotations

import types
from typing import Any

from adjoint.compat.autograd._primitives import make_primitive
from adjoint.core.operations.naming import known_by

#: Functions that take shapes, types or files, never boxes.
PLAIN = frozenset((
    "zeros", "ones", "empty", "eye", "identity", "frombuffer", "load", "fromfile", "loadtxt", "genfromtxt",
    "fromstring", "tri", "indices", "mask_indices", "tril_indices", "triu_indices", "errstate", "seterr", "geterr",
    "vectorize", "frompyfunc", "set_printoptions", "issubdtype", "show_config", "info", "test", "get_printoptions",
    "printoptions", "seterrcall", "geterrcall", "show_runtime", "get_include", "isdtype", "typename", "setbufsize",
    "getbufsize",
))  # fmt: skip


def wrap_namespace(old: types.ModuleType, new: dict[str, Any]) -> None:
    """Fill a namespace with everything of a module of NumPy, its functions made primitives.

    Submodules that NumPy imports when they are first used are left to that.
    """
    for name, value in vars(old).items():
        if name.startswith("__") or name in new:
            continue
        if isinstance(value, types.ModuleType):
            continue
        plain = name in PLAIN or isinstance(value, type) or not callable(value)
        new[name] = value if plain else known_by(make_primitive(value), new["__name__"], name)
