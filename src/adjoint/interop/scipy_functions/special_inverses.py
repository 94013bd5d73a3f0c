"""Ufuncs of scipy.special that solve a distribution function for one of its parameters.

Values are SciPy's. Derivatives are those of an implicit function, from the derivatives of the distribution function by
all of its parameters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy
import scipy.special

from adjoint.core.modes.grad_mode import no_grad
from adjoint.interop.operands import is_tracked
from adjoint.interop.scipy_functions.distributions.univariate import over_batches
from adjoint.interop.scipy_functions.pieces import constants, inverse, piecewise, plain
from adjoint.tensor.table import ops
from adjoint.transforms import func

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Formula = Callable[..., Any]


def slope_of(function: Formula, y: Tensor, *others: Tensor) -> Tensor:
    """The derivative of an elementwise function by its first argument."""
    slope: Tensor = func.vjp(lambda point: function(point, *others), y)[1](ops.ones_like(y))[0]
    return slope


#: How far a distribution function may be from the target at a solution: SciPy's are as far as 1e-5.
_TOLERANCE = 1e-4


def inverse_of(name: str, position: int, function: Formula) -> Formula:
    """The ufunc that finds y from function(y, *others) = target, which stands at a place among its arguments.

    Where there is no such y, SciPy gives an end of its range, which is a constant.
    """
    ufunc = getattr(scipy.special, name)

    def evaluate(*values: Tensor) -> Tensor:
        others = list(values)
        target = others.pop(position)
        value = constants(ufunc(*[plain(each) for each in values]), target)
        with no_grad(), numpy.errstate(all="ignore"):
            is_end = ~(abs(plain(function(value, *others)) - plain(target)) < _TOLERANCE)
        return piecewise([is_end], [lambda value, target, *_: value + 0 * target, solution], value, target, *others)

    def solution(value: Tensor, target: Tensor, *others: Tensor) -> Tensor:
        shape = value._array.shape
        whole = [ops.expand(each, shape) for each in others]
        moving = [i for i, each in enumerate(whole) if is_tracked(each)]

        def at(y: Tensor, *variables: Tensor) -> Tensor:
            every = list(whole)
            for i, each in zip(moving, variables, strict=True):
                every[i] = each
            return function(y, *every)

        followed = tuple(whole[i] for i in moving)
        return inverse(ops.expand(target, shape), followed, plain(value), at, functools.partial(slope_of, at))

    return lambda *values: over_batches(evaluate, list(values))


def _cdf(name: str) -> Formula:
    def apply(*values: Tensor) -> Tensor:
        # scipy.stats is imported when the first of these gets a Tensor
        import scipy.stats

        from adjoint.interop.scipy_functions.distributions.face import methods_of

        return methods_of(name, getattr(scipy.stats, name))["cdf"](*values)

    return apply


_noncentral_chi_square, _noncentral_f, _noncentral_t = _cdf("ncx2"), _cdf("ncf"), _cdf("nct")


def _binomial(k: Tensor, n: Tensor, p: Tensor) -> Tensor:
    return ops.betainc(n - k, k + 1, 1 - p)


def _negative_binomial(k: Tensor, n: Tensor, p: Tensor) -> Tensor:
    return ops.betainc(n, k + 1, p)


def _of_f(dfn: Tensor, dfd: Tensor, x: Tensor) -> Tensor:
    return ops.betainc(0.5 * dfn, 0.5 * dfd, dfn * x / (dfn * x + dfd))


#: By name: the position of the target, and the distribution function with the unknown as its first argument.
_FUNCTIONS: dict[str, tuple[int, Formula]] = {
    "btdtria": (0, lambda a, b, x: ops.betainc(a, b, x)),
    "btdtrib": (1, lambda b, a, x: ops.betainc(a, b, x)),
    "bdtrik": (0, _binomial),
    "bdtrin": (1, lambda n, k, p: _binomial(k, n, p)),
    "nbdtrik": (0, _negative_binomial),
    "nbdtrin": (1, lambda n, k, p: _negative_binomial(k, n, p)),
    "pdtrik": (0, lambda k, m: ops.igammac(k + 1, m)),
    "gdtrib": (1, lambda b, a, x: ops.igamma(b, a * x)),
    "chdtriv": (0, lambda v, x: ops.igamma(0.5 * v, 0.5 * x)),
    "fdtridfd": (1, lambda dfd, dfn, x: _of_f(dfn, dfd, x)),
    "stdtridf": (0, lambda df, t: ops.stdtr(df, t)),
    "chndtridf": (1, lambda df, x, nc: _noncentral_chi_square(x, df, nc)),
    "chndtrinc": (2, lambda nc, x, df: _noncentral_chi_square(x, df, nc)),
    "ncfdtridfn": (0, lambda dfn, dfd, nc, f: _noncentral_f(f, dfn, dfd, nc)),
    "ncfdtridfd": (1, lambda dfd, dfn, nc, f: _noncentral_f(f, dfn, dfd, nc)),
    "ncfdtrinc": (2, lambda nc, dfn, dfd, f: _noncentral_f(f, dfn, dfd, nc)),
    "nctdtridf": (0, lambda df, nc, t: _noncentral_t(t, df, nc)),
    "nctdtrinc": (1, lambda nc, df, t: _noncentral_t(t, df, nc)),
}

#: Ufuncs of scipy.special, over Tensors.
INVERSES = {name: inverse_of(name, position, function) for name, (position, function) in _FUNCTIONS.items()}
