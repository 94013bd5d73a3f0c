"""Bessel functions of real order, and integrals of elementary functions: exponential, error, elliptic, Fresnel's.

Derivatives by the argument are formulas of the DLMF; its equations are named beside the rules. Derivatives of the
modified functions by the order are integrals, which the trapezoidal rule computes to all digits. The Matern kernels of
Gaussian processes and the von Mises-Fisher distribution need them.
"""

from math import comb, factorial, pi

from adjoint.arrays.dtypes import kind_of

from .declare import Array, Numeric, elementwise
from .special import TWO_OVER_ROOT_PI, alike, growth_of_tail, no_derivative, real_only

# Bessel functions C[v]: the slope is f * C[v-1] + g * C[v+1] (DLMF 10.6.1, 10.29.1) ----------------------------------


def _order_and_place(xp, v, z):
    """The order and the argument in one precision; the order stays real if the argument is complex."""
    v, z = alike(xp, v, z)
    return (xp.real(v) if kind_of(z) == "c" else v), z


def _of_order(name):
    """Declare J or Y of real order v at z."""

    def body(xp, v: Array, z: Array):
        return getattr(xp.special, name)(*_order_and_place(xp, v, z))

    def by_z(ops, v, z):
        bessel = getattr(ops, name)
        return 0.5 * (bessel(v - 1, z) - bessel(v + 1, z))

    body.__doc__ = f"scipy.special.{name}: a Bessel function of real order v at a real or complex z."
    elementwise(name=name, v=no_derivative(f"{name}: v"), z=by_z, dtypes="float", method=False, function=False)(body)


_of_order("jv")
_of_order("yv")

_STEP = 1 / 32
_HUGE = 1e300


def _macdonald(xp, v, z, order, scaled):
    """Derivatives by v of the integral of exp(-z cosh(s)) cosh(v s) (DLMF 10.32.9), by the trapezoidal rule.

    The integrand falls double exponentially, so that the rule is exact but for rounding.
    """
    # beyond this place the integrand is below the smallest number
    end = xp.max(xp.acosh(1 + xp.minimum(750 / z + (xp.abs(v) / z) ** 2, _HUGE)), initial=1.0)
    total = xp.zeros_like(z)
    for k in range(int(end / _STEP) + 2):
        s = k * _STEP
        fall = -z * (xp.cosh(s) - 1)
        sign = -1 if order % 2 else 1
        waves = 0.5 * (xp.exp(fall + v * s) + sign * xp.exp(fall - v * s))
        total = total + (0.5 if k == 0 else 1.0) * _STEP * s**order * waves
    return total if scaled else total * xp.exp(-z)


#: Orders below this one are as good as 0.
_TINY = 1e-25


def _first_kind(xp, v, z, order, scaled):
    """Derivatives by v > 0 of Schlaefli's integral of exp(z cosh(t) - v t) (DLMF 10.32.12), by the trapezoidal rule.

    The path t = tau + i theta is the path of steepest descent, sinh(tau) = theta v / (z sin(theta)). On it the
    exponential is real, so no digits cancel, for v far above z and for v near 0. With theta = pi tanh(s) the integrand
    falls double exponentially. The sum covers the upper half of the path; the lower half is its mirror image.
    """
    size = xp.hypot(v, z)
    step = xp.minimum(0.07, 0.2 / xp.sqrt(size))
    # the exponential falls by 2 / pi ** 2 * size * theta ** 2 at least, and after the turn to the right at theta = pi
    # as exp(-z cosh(tau)); 50 and more are below rounding
    turn = 0.5 * xp.log(2 * size / v) + 0.5 * xp.acosh(1 + xp.minimum(50 / z, _HUGE)) + 1
    reach = xp.where(size > 100, xp.atanh(5 / xp.sqrt(xp.maximum(size, 100.0))), turn)
    total = xp.zeros_like(z)
    for k in range(int(xp.max(reach / step, initial=1.0)) + 2):
        s = k * step
        power = xp.exp(2 * s)
        theta, rest = pi * xp.tanh(s), 2 * pi / (power + 1)
        by_s = power * rest * rest / pi
        sine, cosine = xp.sin(xp.minimum(theta, rest)), xp.cos(theta)
        ratio = theta / sine if k else xp.ones_like(z)
        growth = (1 / theta - cosine / sine) * by_s if k else xp.zeros_like(z)
        tau, height = xp.asinh(v / z * ratio), xp.hypot(z, v * ratio)
        weights = _rotate(order, tau, theta, v * ratio / height * growth, by_s)
        fall = height * cosine - v * tau - (size - v * xp.asinh(v / z))
        # where it has fallen to 0, the height may be infinite
        total = total + (0.5 if k == 0 else 1.0) * step * xp.where(fall > -750, xp.exp(fall) * weights, 0.0)
    # size - z, exact where v is far below z
    return total / pi * xp.exp(v * v / (size + z) - v * xp.asinh(v / z) + (0 if scaled else z))


def _rotate(order, tau, theta, real, imaginary):
    """The imaginary part of (-tau - i theta) ** order * (real + i imaginary)."""
    for _ in range(order):
        real, imaginary = theta * imaginary - tau * real, -theta * real - tau * imaginary
    return imaginary


def _reflection(xp, v, z, order, scaled):
    """Derivatives by v of I[-v] - I[v] = 2 / pi sin(pi v) K[v] (DLMF 10.27.2), times exp(-z) if scaled."""
    angle = pi * (v - 2 * xp.round(0.5 * v))
    total = xp.zeros_like(z)
    for n in range(order + 1):
        of_k = _macdonald(xp, v, z, order - n, True) if order > n else xp.special.kve(v, z)
        wave = pi**n * (xp.cos(angle) * (1, -1)[n // 2 % 2] if n % 2 else xp.sin(angle) * (1, -1)[n // 2 % 2])
        total = total + comb(order, n) * xp.where(v == xp.round(v) if n % 2 == 0 else False, 0.0, wave * of_k)
    return 2 / pi * total * xp.exp(-2 * z if scaled else -z)


def _any_first_kind(xp, v, z, order, scaled):
    """Derivatives of I by an order of any sign; by an even function of v plus a reflection where v is 0."""
    size = xp.abs(v)
    result = _first_kind(xp, xp.maximum(size, _TINY), z, order, scaled)
    odd = order % 2
    reflects = (v < 0) | ((size <= _TINY) & bool(odd))
    if not xp.any(reflects):
        return result
    reflection = _reflection(xp, xp.where(reflects, size, 1.0), z, order, scaled)
    below = -(result + reflection) if odd else result + reflection
    return xp.where(size <= _TINY, -0.5 * reflection if odd else result, xp.where(v < 0, below, result))


def _declare_modified(name, kernels, integral, sign, doc):
    """Declare I or K of real order v at z with its derivatives by v; sign: of the slope (DLMF 10.29.1).

    kernels: SciPy's, plain and times exp(-abs(z)) or exp(z).
    """

    def body(xp, v: Array, z: Array, order=0, scaled=False):
        if order or (scaled and sign > 0):
            # no formula by the order; and with the factor exp(-abs(real(z))) it is not holomorphic
            real_only(name, z)
        v, z = _order_and_place(xp, v, z)
        if not order:
            return getattr(xp.special, kernels[scaled])(v, z)
        kind = z.dtype
        v, z = xp.broadcast_arrays(*[xp.asarray(value, dtype=xp.float64) for value in (v, z)])
        with xp.errstate(all="ignore"):
            in_domain = (z > 0) & (z < xp.inf) & (xp.abs(v) < xp.inf)
            values = integral(xp, xp.where(in_domain, v, 1.0), xp.where(in_domain, z, 1.0), order, scaled)
            return xp.astype(xp.where(in_domain, values, _at_the_ends(xp, v, z, scaled) + 0 * v), kind)

    def _at_the_ends(xp, v, z, scaled):
        if sign < 0:
            return xp.where(z > 0, 0.0, xp.nan)
        # I falls to 0 at z = 0 for all v > 0, and has no real values around a whole order for z < 0
        return xp.where(((z == 0) & (v > 0)) | ((z > 0) & scaled), 0.0, xp.nan)

    def by_z(ops, v, z, order, scaled):
        bessel = getattr(ops, name)
        slope = 0.5 * sign * (bessel(v - 1, z, order, scaled) + bessel(v + 1, z, order, scaled))
        if not scaled:
            return slope
        return slope - (ops.sign(z) if sign > 0 else -1) * bessel(v, z, order, scaled)

    def by_v(ops, v, z, order, scaled):
        return getattr(ops, name)(v, z, order + 1, scaled)

    body.__doc__ = doc
    elementwise(name=name, v=by_v, z=by_z, dtypes="float", method=False, function=False)(body)


_declare_modified(
    "iv",
    ("iv", "ive"),
    _any_first_kind,
    1,
    """The modified Bessel function of the first kind, or its derivative of an order by v; times exp(-abs(z)) if scaled.

    Against mpmath, for v from -3.5 to 60 and z from 1e-3 to 700, the first derivative by v is exact to 1e-13 of its
    value and the second to 1e-11; that by v and z to 1e-10, but for v near 0, where it is as exact as the function.
    By v there are none at z < 0, where the function is real at whole v only, nor at z = 0 for v <= 0: they are NaN.
    """,
)
_declare_modified(
    "kv",
    ("kv", "kve"),
    _macdonald,
    -1,
    "The modified Bessel function of the second kind, or its derivative of an order by v; times exp(z) if scaled.",
)


# integrals of exponentials and related functions ---------------------------------------------------------------------


def _declare(name, partial, doc):
    """Declare a function of one argument under its SciPy name; SciPy's function may take complex arguments."""

    def body(xp, input: Array):
        return getattr(xp.special, name)(input)

    body.__doc__ = doc
    elementwise(name=name, input=partial, dtypes="float", method=False, function=False)(body)


_declare("erfi", lambda ops, input: TWO_OVER_ROOT_PI * ops.exp(input * input), "-i erf(i * input) (DLMF 7.2).")
_declare(
    "dawsn",
    lambda ops, input, y: 1 - 2 * input * y if kind_of(input) == "c" else ops.dawsn_slope(input),
    "Dawson's integral (DLMF 7.10.4).",
)
_declare(
    "erfcinv",
    lambda ops, input, y: growth_of_tail(ops, y, ops.minimum(input, 2 - input), -1 / TWO_OVER_ROOT_PI),
    "The inverse of erfc.",
)
_declare("expi", lambda ops, input: ops.exp(input) / input, "The exponential integral Ei (DLMF 6.2.5).")
_declare("exp1", lambda ops, input: -ops.exp(-input) / input, "The exponential integral E1 (DLMF 6.2.1).")
_declare("spence", lambda ops, input: ops.log(input) / (1 - input), "The integral of log(t) / (1 - t) from 1 to input.")


#: Coefficients k / (k + 1)! of the derivative of exprel by powers.
_EXPREL_SERIES = [k / factorial(k + 1) for k in range(1, 15)]


def exprel_slope(ops, input):
    """The derivative of (exp(input) - 1) / input."""
    small = abs(input) < 0.35
    x, series = ops.where(small, input, 0), 0.0
    # of (1 + exp(x) * (x - 1)) / x ** 2
    for coefficient in reversed(_EXPREL_SERIES):
        series = coefficient + x * series
    big = ops.where(small, 1, input)
    # in two factors, as the exponential may be infinite where the quotient is not
    root = ops.exp(0.5 * big)
    return ops.where(small, series, root / big * ((big - 1) / big) * root + 1 / (big * big))


@elementwise(input=lambda ops, input: exprel_slope(ops, input), dtypes="float", method=False, function=False)
def exprel(xp, input: Array):
    """(exp(input) - 1) / input, 1 at 0."""
    values = xp.special.exprel(input)
    high = xp.isinf(values) & (input < xp.inf)
    root = xp.exp(0.5 * xp.where(high, input, 1))
    return xp.where(high, root / xp.where(high, input, 1) * root, values)


@elementwise(
    input=lambda ops, input, n: -ops.expn(input, n - 1) if n else -ops.exp(-input) * (1 + 1 / input) / input,
    dtypes="float",
    method=False,
    function=False,
)
def expn(xp, input: Array, n: Numeric):
    """The generalized exponential integral of an integer order n (DLMF 8.19.13)."""
    real_only("expn", input)
    return xp.special.expn(n, input)


def _pair(name, partials, outputs, doc):
    """Declare each of the results of a function of SciPy that has several as an operation of its own."""
    for position, (output, partial) in enumerate(zip(outputs, partials, strict=True)):

        def body(xp, input: Array, position=position):
            return getattr(xp.special, name)(input)[position]

        body.__doc__ = doc
        options = {"dtypes": "float", "method": False, "function": False}
        elementwise(name=output, input=partial, **options)(body)


_pair(
    "fresnel",
    (lambda ops, input: ops.sin(0.5 * pi * input * input), lambda ops, input: ops.cos(0.5 * pi * input * input)),
    ("fresnel_s", "fresnel_c"),
    "Fresnel's integrals (DLMF 7.2.7-8).",
)
_pair(
    "sici",
    (lambda ops, input: ops.sinc(input / pi), lambda ops, input: ops.cos(input) / input),
    ("sine_integral", "cosine_integral"),
    "The integrals of the sine and cosine over the argument (DLMF 6.2.9-13).",
)

# elliptic integrals (DLMF 19.5.1-2) -----------------------------------------------------------------------------------


def _by_parameter(ops, m, near, far):
    """A slope by a hypergeometric function up to abs(m) = 1/2, and by both integrals beyond (DLMF 19.4.1-2)."""
    is_near = ops.abs(m) <= 0.5
    by_series = 0.125 * pi * ops.special_function(ops.where(is_near, m, 0), "hyp2f1", near)
    return ops.where(is_near, by_series, far(ops.where(is_near, 0.5, m)))


def _ellipk_partial(ops, input, y):
    def far(m):
        rest = ops.where(m == 1, 0, 1 - m) * ops.where(m == 1, 0, y)
        return (ops.ellipe(input) - rest) / (2 * m * (1 - m))

    return _by_parameter(ops, input, (1.5, 1.5, 2.0), far)


def _ellipe_partial(ops, input, y):
    return -_by_parameter(ops, input, (0.5, 1.5, 2.0), lambda m: (ops.ellipk(input) - y) / (2 * m))


_declare("ellipk", _ellipk_partial, "The complete elliptic integral of the first kind, of the parameter m = k ** 2.")
_declare("ellipe", _ellipe_partial, "The complete elliptic integral of the second kind, of the parameter m = k ** 2.")
