"""Functions of whole orders in scipy.special that are no ufuncs: Legendre functions, spherical harmonics, sequences.

They are compositions of functions of the tables. Orders are numbers or plain arrays; `diff_n` other than 0 is left to
adjoint.grad, but for Legendre polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.core.graph import new_tensor
from adjoint.interop.numpy_functions import Array, function
from adjoint.interop.operands import inexact, kind_of, operand, plain, promote, values_of
from adjoint.interop.scipy_functions.distributions.univariate import over_batches
from adjoint.interop.scipy_functions.pieces import piecewise, shape_of
from adjoint.interop.scipy_functions.special_equations import spheroidal_value
from adjoint.tensor.table import ops

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Formula = Callable[..., Any]


def by_orders(name: str, formula: Formula, orders: tuple[Any, ...], *tensors: Tensor) -> Tensor:
    """A formula of whole orders and Tensors, for each of the orders where there are several.

    Raises TypeError for orders that are no whole numbers.
    """
    arrays = list(numpy.broadcast_arrays(*[numpy.asarray(plain(each)) for each in orders]))
    if any(numpy.any(array != numpy.floor(array)) for array in arrays):
        raise TypeError(f"{name}: the orders must be whole numbers")
    if not arrays[0].ndim:
        return over_batches(lambda *values: formula(*[int(array) for array in arrays], *values), list(tensors))
    count = len(arrays)

    def evaluate(*values: Tensor) -> Tensor:
        shape = shape_of(values)
        places = [numpy.broadcast_to(plain(each), shape) for each in values[:count]]
        orders = sorted({tuple(int(n) for n in each) for each in zip(*[array.flat for array in places], strict=True)})
        conditions = [numpy.all([a == n for a, n in zip(places, each, strict=True)], axis=0) for each in orders]
        functions = [lambda *variables, each=each: formula(*each, *variables) for each in orders]
        return piecewise(conditions[:-1], functions, *[ops.expand(each, shape) for each in values[count:]])

    return over_batches(evaluate, [*[new_tensor(array.astype(float)) for array in arrays], *tensors])


def _no_slopes(name: str, diff_n: int) -> None:
    if diff_n:
        raise TypeError(
            f"{name}(): diff_n={diff_n} is not supported for Tensors; use diff_n=0, and adjoint.grad for derivatives"
        )


def _rows(formula: Formula, *counts: Sequence[int]) -> Tensor:
    """The values for all orders, along axes in front."""
    first, *others = counts
    return ops.stack([_rows(lambda *more, n=n: formula(n, *more), *others) if others else formula(n) for n in first], 0)


#: The highest order of a sequence of all orders: each is an operation on Tensors of its own.
HIGHEST_ORDER = 10**5


def orders_up_to(name: str, n: Any) -> range:
    """The whole orders from 0 to n; raises ValueError above HIGHEST_ORDER."""
    last = int(plain(n))
    if last > HIGHEST_ORDER:
        raise ValueError(
            f"{name}(): the order {last} is above {HIGHEST_ORDER}, and each order up to it is an operation on tensors; "
            "compute single orders with the function of one order"
        )
    return range(last + 1)


def _signed_orders(name: str, m: Any) -> Sequence[int]:
    """The orders as scipy.special lays them out: from 0 to m, then from -m to -1."""
    orders = orders_up_to(name, m)
    return [*orders, *[-k for k in orders[:0:-1]]]


# Legendre functions ---------------------------------------------------------------------------------------------------


def _legendre(n: int, z: Tensor, order: int = 0) -> Tensor:
    """The derivative of an order of Legendre's polynomial of degree n (DLMF 18.9.15)."""
    if order > n:
        return 0 * z
    scale = math.prod((n + k) / 2 for k in range(1, order + 1))
    return scale * ops.special_function(z, "eval_jacobi", (n - order, order, order))


@function("scipy.special.legendre_p")
def legendre_p(n, z: Array, *, diff_n=0):
    """Legendre's polynomial of degree n and its derivatives up to an order, along an axis in front."""
    z = inexact(z)
    parts = [
        by_orders("legendre_p", lambda n, z, k=k: _legendre(n, z, k), (n,), z)
        for k in orders_up_to("legendre_p", diff_n)
    ]
    return ops.stack(parts, 0)


@function("scipy.special.legendre_p_all")
def legendre_p_all(n, z: Array, *, diff_n=0):
    """Legendre's polynomials of all degrees up to n."""
    z, degrees = inexact(z), orders_up_to("legendre_p_all", n)
    parts = [_rows(lambda n, k=k: _legendre(n, z, k), degrees) for k in orders_up_to("legendre_p_all", diff_n)]
    return ops.stack(parts, 0)


def _associated_function(n: int, m: int, z: Tensor, norm: bool) -> Tensor:
    if abs(m) > n:
        return 0 * z
    scale = math.exp(0.5 * (math.lgamma(n - m + 1) - math.lgamma(n + m + 1))) * math.sqrt(n + 0.5) if norm else 1.0
    return scale * ops.special_function(z, "lpmv", (m, n))


def _check_place(name: str, z: Tensor) -> None:
    if kind_of(z).kind == "c" or numpy.any(abs(values_of(z)) > 1):
        raise TypeError(
            f"{name}(): a Tensor as the argument must be real, with values between -1 and 1; it is of {kind_of(z)}"
        )


@function("scipy.special.assoc_legendre_p")
def assoc_legendre_p(n, m, z: Array, *, branch_cut=2, norm=False, diff_n=0):
    """The associated Legendre function of degree n and order m, between -1 and 1."""
    _no_slopes("assoc_legendre_p", diff_n)

    def formula(n: int, m: int, z: Tensor) -> Tensor:
        _check_place("assoc_legendre_p", z)
        return _associated_function(n, m, z, norm)

    return by_orders("assoc_legendre_p", formula, (n, m), inexact(z))[None]


@function("scipy.special.assoc_legendre_p_all")
def assoc_legendre_p_all(n, m, z: Array, *, branch_cut=2, norm=False, diff_n=0):
    """The associated Legendre functions of all degrees up to n and orders up to m, between -1 and 1."""
    _no_slopes("assoc_legendre_p_all", diff_n)
    z = inexact(z)
    _check_place("assoc_legendre_p_all", z)
    rows = _rows(
        lambda n, m: _associated_function(n, m, z, norm),
        orders_up_to("assoc_legendre_p_all", n),
        _signed_orders("assoc_legendre_p_all", m),
    )
    return rows[None]


def _spherical(n: int, m: int, theta: Tensor) -> Tensor:
    """The part of a spherical harmonic that depends on theta: a power of the sine times a polynomial (DLMF 14.30.1)."""
    k = abs(m)
    if k > n:
        return 0 * theta
    log = 0.5 * (math.lgamma(n - k + 1) + math.lgamma(n + k + 1)) - math.lgamma(n + 1) - k * math.log(2)
    scale = math.sqrt((2 * n + 1) / (4 * math.pi)) * math.exp(log) * ((-1) ** k if m > 0 else 1)
    sine = ops.sin(theta)
    # the root of 1 - cos ** 2; at 0 its slope is that from above
    sine = ops.where(sine < 0, -1.0, 1.0) * sine
    return scale * sine**k * ops.special_function(ops.cos(theta), "eval_jacobi", (n - k, k, k))


@function("scipy.special.sph_legendre_p")
def sph_legendre_p(n, m, theta: Array, *, diff_n=0):
    """The spherical Legendre function of degree n and order m."""
    _no_slopes("sph_legendre_p", diff_n)
    return by_orders("sph_legendre_p", _spherical, (n, m), inexact(theta))[None]


@function("scipy.special.sph_legendre_p_all")
def sph_legendre_p_all(n, m, theta: Array, *, diff_n=0):
    """The spherical Legendre functions of all degrees up to n and orders up to m."""
    _no_slopes("sph_legendre_p_all", diff_n)
    theta = inexact(theta)
    return _rows(
        lambda n, m: _spherical(n, m, theta),
        orders_up_to("sph_legendre_p_all", n),
        _signed_orders("sph_legendre_p_all", m),
    )[None]


def _harmonic(n: int, m: int, theta: Tensor, phi: Tensor) -> Tensor:
    return _spherical(n, m, theta) * ops.exp(1j * m * phi)


@function("scipy.special.sph_harm_y")
def sph_harm_y(n, m, theta, phi, *, diff_n=0):
    """The spherical harmonic of degree n and order m, of the polar angle theta and the azimuth phi."""
    _no_slopes("sph_harm_y", diff_n)
    return by_orders("sph_harm_y", _harmonic, (n, m), *[inexact(each) for each in promote(theta, phi)])


@function("scipy.special.sph_harm_y_all")
def sph_harm_y_all(n, m, theta, phi, *, diff_n=0):
    """The spherical harmonics of all degrees up to n and orders up to m."""
    _no_slopes("sph_harm_y_all", diff_n)
    theta, phi = (inexact(each) for each in promote(theta, phi))
    return _rows(
        lambda n, m: _harmonic(n, m, theta, phi), orders_up_to("sph_harm_y_all", n), _signed_orders("sph_harm_y_all", m)
    )


def _of_second_kind(name: str, z: Tensor, orders: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    parts = [ops.stack([ops.special_function(z, which, each) for each in orders], 0) for which in (name, name + "p")]
    return parts[0], parts[1]


@function("scipy.special.lqn")
def lqn(n, z: Array):
    """Legendre functions of the second kind of all degrees up to n, and their slopes."""
    return _of_second_kind("lq", inexact(z), [(0, k) for k in orders_up_to("lqn", n)])


@function("scipy.special.lqmn")
def lqmn(m, n, z: Array):
    """Associated Legendre functions of the second kind of all orders up to m and degrees up to n, and their slopes."""
    z, orders, degrees = inexact(z), orders_up_to("lqmn", m), orders_up_to("lqmn", n)
    values, slopes = _of_second_kind("lq", z, [(k, j) for k in orders for j in degrees])
    return tuple([ops.reshape(each, (len(orders), len(degrees), *z.shape)) for each in (values, slopes)])


# others ---------------------------------------------------------------------------------------------------------------


@function("scipy.special.assoc_laguerre")
def assoc_laguerre(x: Array, n, k=0.0):
    """The generalized Laguerre polynomial of degree n and parameter k."""
    return ops.special_function(inexact(x), "eval_genlaguerre", (plain(n), plain(k)))


@function("scipy.special.diric")
def diric(x: Array, n):
    """Dirichlet's function sin(n x / 2) / (n sin(x / 2)), by a Chebyshev polynomial (DLMF 18.5.2)."""
    n = int(plain(n))
    return ops.special_function(ops.cos(0.5 * inexact(x)), "eval_chebyu", (n - 1,)) / n


@function("scipy.special.perm")
def perm(N: Array, k: Array, exact=False):
    """The number of arrangements of k of N, for real numbers too; 0 where k is above N or one is negative."""
    N, k = promote(inexact(N), inexact(k))
    none = (N < 0) | (k < 0) | (k > N)
    places, count = ops.where(none, 1.0, N), ops.where(none, 1.0, k)
    return ops.where(none, 0.0, ops.special_function_of_two(places - count + 1, count, "poch"))


def _double_factorial(name: str, n: Tensor, k: int, extend: str) -> Tensor:
    if extend != "complex":
        raise TypeError(f"{name}() of whole numbers has no derivative; with extend='complex' it is one of real numbers")
    scale = math.gamma(1 / k + 1)
    return ops.exp((n - 1) * (math.log(k) / k)) * ops.gamma(n / k + 1) / scale


@function("scipy.special.factorial2")
def factorial2(n: Array, exact=False, extend="zero"):
    """The double factorial, extended to real numbers."""
    return _double_factorial("factorial2", inexact(n), 2, extend)


@function("scipy.special.factorialk")
def factorialk(n: Array, k, exact=False, extend="zero"):
    """The product of every k-th number up to n, extended to real numbers."""
    return _double_factorial("factorialk", inexact(n), int(plain(k)), extend)


def _slope_of_hankel(name: str, kind: str) -> None:
    @function(f"scipy.special.{name}")
    def slope(v, z: Array, n=1):
        """The n-th derivative by z of a Hankel function of order v (DLMF 10.6.7)."""
        v, orders = float(operand(v)), orders_up_to(name, n)
        z, n = z + 0j, len(orders) - 1
        terms = [(-1) ** k * math.comb(n, k) * ops.special_function(z, kind, (v - n + 2 * k,)) for k in orders]
        return sum(terms[1:], terms[0]) * 0.5**n


_slope_of_hankel("h1vp", "hankel1")
_slope_of_hankel("h2vp", "hankel2")


@function("scipy.special.lmbda")
def lmbda(v, x: Array):
    """The functions gamma(v + 1) (2 / x) ** v J(v, x) of all orders up to v, and their slopes (DLMF 10.16.9)."""
    top, x = float(plain(v)), inexact(x)
    orders = [top - math.floor(top) + k for k in orders_up_to("lmbda", math.floor(top))]
    square = -0.25 * x * x
    values = [ops.special_function(square, "hyp0f1", (order + 1,)) for order in orders]
    slopes = [-0.5 * x / (order + 1) * ops.special_function(square, "hyp0f1", (order + 2,)) for order in orders]
    return ops.stack(values, 0), ops.stack(slopes, 0)


def _riccati(name: str, sphere: Formula, slope: Formula) -> None:
    @function(f"scipy.special.{name}")
    def riccati(n, x: Array):
        """Riccati's functions x times a spherical Bessel function, of all orders up to n, and their slopes."""
        x, orders = inexact(x), orders_up_to(name, n)
        values = [sphere(x, k) for k in orders]
        slopes = [value + x * slope(x, k, value) for k, value in zip(orders, values, strict=True)]
        return ops.stack([x * value for value in values], 0), ops.stack(slopes, 0)


def _slope_of_sphere(sphere: Formula) -> Formula:
    # DLMF 10.51.2
    return lambda x, k, value: -sphere(x, 1) if k == 0 else sphere(x, k - 1) - (k + 1) / x * value


def _second_sphere(x: Tensor, k: int) -> Tensor:
    return ops.special_function(x, "spherical_yn", (k,))


_riccati("riccati_jn", ops.spherical_bessel_j, _slope_of_sphere(ops.spherical_bessel_j))
_riccati("riccati_yn", _second_sphere, _slope_of_sphere(_second_sphere))


def _values_of_spheroids(name: str, sign: int) -> None:
    value = spheroidal_value(name, sign)

    @function(f"scipy.special.{name}_seq")
    def sequence(m, n, c: Array):
        """Characteristic values of spheroidal functions of order m and all degrees from m to n."""
        degrees, m, c = orders_up_to(f"{name}_seq", n)[int(plain(m)) :], operand(m), inexact(c)
        first = ops.full_like(ops.sum(c, (), False), 0.0) + m
        return ops.stack([value(first, first * 0 + k, c) for k in degrees], 0)


_values_of_spheroids("pro_cv", 1)
_values_of_spheroids("obl_cv", -1)
