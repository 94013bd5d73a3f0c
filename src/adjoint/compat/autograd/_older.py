"""Deprecated parts of autograd: methods of primitives that define derivatives, and an older check."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

from adjoint.compat.autograd._primitives import Primitive, defvjp
from adjoint.compat.autograd._vspaces import vspace

Function = Callable[..., Any]


def _warn(old: str, new: str) -> None:
    warnings.warn(f"The {old} method is deprecated; use {new}", stacklevel=3)


class PrimitiveWithMethods(Primitive):
    """A primitive with methods that define its derivatives, one for each argument.

    The methods are deprecated; `extend.defvjp` replaces them.
    """

    def defvjp(self, vjpmaker: Function, argnum: int = 0) -> None:
        """Define the derivative by one argument: a function of (g, ans, vs, gvs, *args, **kwargs)."""
        _warn("defvjp", "extend.defvjp")

        def stage(ans: Any, *args: Any, **kwargs: Any) -> Function:
            return lambda g: vjpmaker(g, ans, vspace(args[argnum]), vspace(g), *args, **kwargs)

        defvjp(self, stage, argnums=(argnum,))

    def defgrad(self, gradfun: Function, argnum: int = 0) -> None:
        """Define the derivative by one argument: a function of (ans, *args, **kwargs) that returns a function of g."""
        _warn("defgrad", "extend.defvjp")
        defvjp(self, gradfun, argnums=(argnum,))

    def defvjp_is_zero(self, argnums: Iterable[int] = (0,)) -> None:
        """Declare that some arguments have no derivative."""
        _warn("defvjp_is_zero", "extend.defvjp with None")
        for argnum in argnums:
            defvjp(self, None, argnums=(argnum,))


def primitive(f_raw: Function) -> PrimitiveWithMethods:
    """extend.primitive, with the methods of older versions.

    >>> from adjoint.compat.autograd import grad
    >>> from adjoint.compat.autograd.extend import defvjp
    >>> double = primitive(lambda x: 2 * x)
    >>> defvjp(double, lambda ans, x: lambda g: 2 * g)
    >>> float(grad(double)(1.0))
    2.0
    """
    return PrimitiveWithMethods(f_raw)
