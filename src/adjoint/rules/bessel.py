"""Bessel functions of real order, and integrals of elementary functions: exponential, error, elliptic, Fresnel's.

Derivatives by the argument are those of the DLMF, whose equations are named beside the rules. By the order only that of
the modified function of the second kind has a formula here, an integral; it is what the Matern kernels of Gaussian
processes need.
"""

from math import pi

from .declare import Array, elementwise
from .special import TWO_OVER_ROOT_PI, alike, array_of, no_derivative, real_only, unary

# Bessel functions C[v]: the slope is f * C[v-1] + g * C[v+1] (DLMF 10.6.1, 10.29.1) ----------------------------------


def _of_order(name, below, above, scaled=None):
    """Declare a Bessel function of real order v at z; scaled(ops, z): how often the function is added to the slope."""

    def body(xp, v: Array, z: Array):
        real_only(name, v, z)
        return getattr(xp.special, name)(*alike(xp, v, z))

    def by_z(ops, v, z):
        own = getattr(ops, name)
        v = array_of(ops, v, z)
        slope = below * own(v - 1, z) + above * own(v + 1, z)
        return slope if scaled is None else slope + scaled(ops, z) * own(v, z)

    body.__doc__ = f"scipy.special.{name}: a Bessel function of real order v."
    elementwise(name=name, v=no_derivative(f"{name}: v"), z=by_z, dtypes="float", method=False, function=False)(body)


_of_order("jv", 0.5, -0.5)
_of_order("yv", 0.5, -0.5)
_of_order("iv", 0.5, 0.5)
_of_order("ive", 0.5, 0.5, lambda ops, z: -ops.sign(z))

_STEP = 1 / 32


def _macdonald(xp, v, z, order, scaled):
    """Derivatives by v of the integral of exp(-z cosh(s)) cosh(v s) (DLMF 10.32.9), by the trapezoidal rule.

    The integrand falls double exponentially, so that the rule is exact but for rounding.
    """
    v, z = xp.broadcast_arrays(*[xp.asarray(value, dtype=xp.float64) for value in (v, z)])
    # beyond this place the integrand is below the smallest number
    end = xp.max(xp.acosh(1 + 750 / z + (xp.abs(v) / z) ** 2), initial=1.0)
    total = xp.zeros(z.shape, dtype=xp.float64)
    for k in range(int(end / _STEP) + 2):
        s = k * _STEP
        fall = -z * (xp.cosh(s) - 1)
        sign = -1 if order % 2 else 1
        waves = 0.5 * (xp.exp(fall + v * s) + sign * xp.exp(fall - v * s))
        total = total + (0.5 if k == 0 else 1.0) * _STEP * s**order * waves
    return total if scaled else total * xp.exp(-z)


@elementwise(
    v=lambda ops, v, z, order, scaled: ops.kv(v, z, order + 1, scaled),
    z=lambda ops, v, z, order, scaled: _macdonald_by_z(ops, v, z, order, scaled),
    dtypes="float",
    method=False,
    function=False,
)
def kv(xp, v: Array, z: Array, order=0, scaled=False):
    """The modified Bessel function of the second kind, or its derivative of an order by v; times exp(z) if scaled."""
    real_only("kv", v, z)
    v, z = alike(xp, v, z)
    if not order:
        return (xp.special.kve if scaled else xp.special.kv)(v, z)
    with xp.errstate(all="ignore"):
        inside = (z > 0) & (z < xp.inf)
        values = _macdonald(xp, v, xp.where(inside, z, 1.0), order, scaled)
        return xp.astype(xp.where(inside, values, xp.where(z > 0, 0.0, xp.nan)), z.dtype)


def _macdonald_by_z(ops, v, z, order, scaled):
    v = array_of(ops, v, z)
    slope = -0.5 * (ops.kv(v - 1, z, order, scaled) + ops.kv(v + 1, z, order, scaled))
    return slope + ops.kv(v, z, order, scaled) if scaled else slope


# integrals of exponentials and their kin -----------------------------------------------------------------------------


def _own(name, partial, doc):
    """Declare a function of one real argument under the name that it has in SciPy."""
    unary(name, name, partial, label=name, doc=doc, method=False, function=False, inplace=False)


_own("erfi", lambda ops, input: TWO_OVER_ROOT_PI * ops.exp(input * input), "-i erf(i * input) (DLMF 7.2).")
_own("dawsn", lambda input, y: 1 - 2 * input * y, "Dawson's integral (DLMF 7.10.4).")
_own("erfcinv", lambda ops, y: ops.exp(y * y) / -TWO_OVER_ROOT_PI, "The inverse of erfc.")
_own("expi", lambda ops, input: ops.exp(input) / input, "The exponential integral Ei (DLMF 6.2.5).")
_own("exp1", lambda ops, input: -ops.exp(-input) / input, "The exponential integral E1 (DLMF 6.2.1).")
_own("spence", lambda ops, input: ops.log(input) / (1 - input), "The integral of log(t) / (1 - t) from 1 to input.")
_own("exprel", lambda ops, input: _exprel_partial(ops, input), "(exp(input) - 1) / input, 1 at 0.")


def _exprel_partial(ops, input):
    small = abs(input) < 0.02
    x = ops.where(small, input, 0)
    # the series of (1 + exp(x) * (x - 1)) / x ** 2
    series = 0.5 + x * (1 / 3 + x * (1 / 8 + x * (1 / 30 + x * (1 / 144 + x * (1 / 840 + x / 5760)))))
    big = ops.where(small, 1, input)
    return ops.where(small, series, (1 + ops.exp(big) * (big - 1)) / (big * big))


@elementwise(
    input=lambda ops, input, n: -ops.expn(input, n - 1) if n else -ops.exp(-input) * (1 + 1 / input) / input,
    dtypes="float",
    method=False,
    function=False,
)
def expn(xp, input: Array, n):
    """The generalized exponential integral of an integer order n (DLMF 8.19.13)."""
    real_only("expn", input)
    return xp.special.expn(n, input)


def _pair(name, partials, outputs, doc):
    """Declare each of the results of a function of SciPy that has several as an operation of its own."""
    for place, (output, partial) in enumerate(zip(outputs, partials, strict=True)):

        def body(xp, input: Array, place=place):
            real_only(name, input)
            return getattr(xp.special, name)(input)[place]

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

# hypergeometric functions and elliptic integrals (DLMF 15.5.1, 13.3.15, 19.5.1-2) ------------------------------------


def _hypergeometric(name, n_upper, doc):
    def body(xp, z: Array, *, upper, lower):
        real_only(name, z)
        return xp.astype(getattr(xp.special, name)(*upper, lower, z), z.dtype)

    def by_z(ops, z, upper, lower):
        factor = upper[0] * (upper[1] if n_upper == 2 else 1) / lower
        return factor * getattr(ops, name)(z, upper=tuple([a + 1 for a in upper]), lower=lower + 1)

    body.__doc__ = doc
    elementwise(name=name, z=by_z, dtypes="float", method=False, function=False)(body)


_hypergeometric("hyp2f1", 2, "Gauss' hypergeometric function, with numbers as parameters.")
_hypergeometric("hyp1f1", 1, "Kummer's hypergeometric function, with numbers as parameters.")

_own(
    "ellipk",
    lambda ops, input: 0.125 * pi * ops.hyp2f1(input, upper=(1.5, 1.5), lower=2.0),
    "The complete elliptic integral of the first kind, of the parameter m = k ** 2.",
)
_own(
    "ellipe",
    lambda ops, input: -0.125 * pi * ops.hyp2f1(input, upper=(0.5, 1.5), lower=2.0),
    "The complete elliptic integral of the second kind, of the parameter m = k ** 2.",
)
