"""The classes of adjoint.scipy.interpolate: SciPy's interpolants, which also take Tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from adjoint.core.graph import TensorBase
from adjoint.interop.namespaces import as_class, for_both, to_tensors
from adjoint.interop.operands import class_of_results
from adjoint.interop.scipy_functions.interpolation import grids, piecewise, splines

Function = Callable[..., Any]

#: Classes over Tensors by SciPy's names.
CLASSES: dict[str, Function] = {
    "Akima1DInterpolator": piecewise.Akima1DInterpolator,
    "BSpline": splines.BSpline,
    "CubicHermiteSpline": piecewise.CubicHermiteSpline,
    "CubicSpline": piecewise.CubicSpline,
    "PPoly": piecewise.PiecewisePolynomial,
    "PchipInterpolator": piecewise.PchipInterpolator,
    "RegularGridInterpolator": grids.RegularGridInterpolator,
    "interp1d": grids.interp1d,
    "make_interp_spline": splines.make_interp_spline,
}


class Interpolant:
    """An interpolant: SciPy's own object, if all data are plain, and its counterpart over Tensors.

    It is called with places, and has the methods of SciPy's object. With a Tensor in the data or among the places the
    results are Tensors, with an Array Arrays.
    """

    def __init__(self, of_scipy: Any, make: Function, kind: type | None) -> None:
        self._of_scipy = of_scipy
        self._make = make
        self._kind = kind
        self._interpolant: Any = None

    @property
    def _over_tensors(self) -> Any:
        if self._interpolant is None:
            self._interpolant = self._make()
        return self._interpolant

    def _kind_with(self, value: Any) -> type | None:
        """The class of results, of the data and of the arguments of a call."""
        kind = class_of_results(value)
        return kind if self._kind is None or (kind is not None and issubclass(kind, TensorBase)) else self._kind

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call("__call__", args, kwargs)

    def _call(self, name: str, args: Any, kwargs: Any) -> Any:
        kind = self._kind_with((args, kwargs))

        def over_tensors() -> Any:
            return getattr(self._over_tensors, name)(*to_tensors(args), **to_tensors(kwargs))

        if kind is None:
            result = getattr(self._of_scipy, name)(*args, **kwargs)
            return Interpolant(result, over_tensors, None) if name in _TO_OTHERS else result
        return Interpolant(None, over_tensors, kind) if name in _TO_OTHERS else as_class(kind, over_tensors())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        member = getattr(self._over_tensors if self._of_scipy is None else self._of_scipy, name)
        if not callable(member):
            return as_class(self._kind, member)
        return lambda *args, **kwargs: self._call(name, args, kwargs)


#: Methods that give another interpolant.
_TO_OTHERS = ("derivative", "antiderivative")


def maker(of_scipy: Function, over_tensors: Function) -> Function:
    """A function of SciPy's signature that makes an interpolant."""

    def make(*args: Any, **kwargs: Any) -> Interpolant:
        kind = class_of_results((args, kwargs))
        scipy_interpolant = of_scipy(*args, **kwargs) if kind is None else None
        data, options = to_tensors(args), to_tensors(kwargs)
        interpolant = Interpolant(scipy_interpolant, lambda: over_tensors(*data, **options), kind)
        if kind is not None:
            interpolant._over_tensors  # noqa: B018 - errors of the data are raised now
        return interpolant

    make.__name__ = make.__qualname__ = of_scipy.__name__
    make.__doc__ = of_scipy.__doc__
    return make


def functions(module: Any) -> dict[str, Function]:
    """The classes and functions of scipy.interpolate that also take Tensors."""
    makers = {name: maker(getattr(module, name), kind) for name, kind in CLASSES.items()}
    return makers | {"interpn": for_both(module.interpn, grids.interpn)}
