"""Exact values and slopes of elementwise functions, by mpmath: the measure of `python -m trust.accuracy`.

`REFERENCES` has an entry for each elementwise rule that computes with real numbers; `UNMEASURED` says why others have
none. `missing` lists rules in neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import scipy.special
from mpmath import mp

from adjoint.rules.declare import TABLE

from .points import Range

#: An exact function of mpmath's numbers.
Exact = Callable[..., Any]


ALL = Range(-1.8e308, 1.8e308, (0.0, 1.0, -1.0))
POSITIVE = Range(0.0, 1.8e308, (0.0, 1.0))
#: Where squares neither overflow nor take mpmath's numbers long.
MODEST = Range(-1e150, 1e150, (0.0, 1.0, -1.0))
BELOW_ONE = Range(-1.0, 1.0, (0.0, 1.0, -1.0))
CHANCES = Range(0.0, 1.0, (0.0, 0.5, 1.0))
TURNS = Range(-1.8e308, 1.8e308, tuple(k * 1.5707963267948966 for k in (-7, -3, -2, -1, 0, 1, 2, 3, 7, 100)))
EXPONENTS = Range(-800.0, 800.0, (0.0, 1.0, -1.0, 88.7, -87.3, 709.7, -708.3))
WAVES = Range(-1e4, 1e4, (0.0, 2.404825557695773, 3.8317059702075123, 5.520078110286311))
POSITIVE_WAVES = Range(1e-300, 1e4, (0.0, 0.8935769662791675, 2.197141326031017))
GAMMA = Range(-170.0, 172.0, (0.0, 1.0, 2.0, -1.0, -2.0, -3.0, -10.0, 1.4616321449683622, -0.5040830082644554))


class Reference(NamedTuple):
    """A function and its slopes. keywords: the rule's other arguments. peers: its name in NumPy or SciPy, and torch."""

    rule: str
    value: Exact
    slopes: tuple[Exact | None, ...]
    ranges: tuple[Range, ...]
    keywords: Mapping[str, Any] = {}
    numpy: str | None = None
    torch: str | None = None

    @property
    def label(self) -> str:
        """The name of a row of the table."""
        keywords = ", ".join(f"{name}={value}" for name, value in self.keywords.items())
        return self.rule + (f" ({keywords})" if keywords else "")


# formulas that mpmath has no function for -------------------------------------------------------------------------


def root_2() -> Any:
    return mp.sqrt(2)


def root_pi() -> Any:
    return mp.sqrt(mp.pi)


def step(low: Any, high: Any = 0) -> Exact:
    """1 where a number is above a bound, and below another one if that is given."""
    return lambda x: mp.mpf(x > low and (not high or x < high))


def sigmoid(x: Any) -> Any:
    return 1 / (1 + mp.exp(-x))


def softplus(x: Any) -> Any:
    return mp.log1p(mp.exp(x)) if x < 0 else x + mp.log1p(mp.exp(-x))


def normal_cdf(x: Any) -> Any:
    return mp.erfc(-x / root_2()) / 2


def density(x: Any) -> Any:
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def log_ndtr(x: Any) -> Any:
    return mp.log1p(-normal_cdf(-x)) if x > 0 else mp.log(normal_cdf(x))


def inverse_of_erfc(x: Any) -> Any:
    """By Newton's method for the logarithm of erfc, which starts from SciPy's value."""
    if x > 1:
        return -inverse_of_erfc(2 - x)
    if x > 0.5:
        return inverse_of_erf(1 - x)
    # below the numbers that SciPy knows, by the first terms of the asymptotic series
    start = float(x)
    y = (
        mp.mpf(scipy.special.erfcinv(start))
        if start > 1e-300
        else mp.sqrt(-mp.log(x * root_pi() * mp.sqrt(-mp.log(x))))
    )
    for _ in range(5):
        tail = mp.erfc(y)
        y += tail * (mp.log(tail) - mp.log(x)) / (2 / root_pi() * mp.exp(-y * y))
    return y


def inverse_of_erf(x: Any) -> Any:
    if not x:
        return mp.mpf(0)
    if abs(x) > 0.5:
        return mp.sign(x) * inverse_of_erfc(1 - abs(x))
    y = root_pi() / 2 * x if abs(x) < 1e-10 else mp.mpf(scipy.special.erfinv(float(x)))
    for _ in range(3):
        y -= (mp.erf(y) - x) * mp.exp(y * y) * root_pi() / 2
    return y


def dawson(x: Any) -> Any:
    if abs(x) > 1000:
        z, total, term = 1 / (2 * x * x), mp.mpf(0), mp.mpf(1)
        for k in range(20):
            total += term
            term *= (2 * k + 1) * z
        return total / (2 * x)
    return root_pi() / 2 * mp.exp(-x * x) * mp.erfi(x)


def exprel(x: Any) -> Any:
    return mp.expm1(x) / x if x else mp.mpf(1)


def exprel_slope(x: Any) -> Any:
    return mp.hyp1f1(2, 3, x) / 2


def spherical_j1(x: Any) -> Any:
    return mp.besselj(1.5, x) * mp.sqrt(mp.pi / (2 * x)) if x > 0 else -spherical_j1(-x) if x else mp.mpf(0)


def mish_parts(x: Any) -> tuple[Any, Any]:
    """tanh(softplus(x)) and its derivative."""
    e = mp.exp(x)
    n = e * (e + 2)
    return n / (n + 2), 4 * e * (e + 1) / (n + 2) ** 2


def gelu_slope(x: Any) -> Any:
    return normal_cdf(x) + x * density(x)


#: A number of the definition, as it is in double precision.
INNER = mp.mpf(0.044715)


def outer() -> Any:
    return mp.sqrt(2 / mp.pi)


def gelu_tanh(x: Any) -> Any:
    return x * sigmoid(2 * outer() * x * (1 + INNER * x * x))


def gelu_tanh_slope(x: Any) -> Any:
    inner = 2 * outer() * x * (1 + INNER * x * x)
    gate = sigmoid(inner)
    return gate * (1 + x * sigmoid(-inner) * 2 * outer() * (1 + 3 * INNER * x * x))


def threshold_softplus(x: Any) -> Any:
    return x if x > 20 else softplus(x)


def erfcx(x: Any) -> Any:
    if x > 100:
        # the asymptotic series (DLMF 7.12.1): its slopes cancel more digits than mpmath's function keeps there
        z, total, term = -1 / (2 * x * x), mp.mpf(0), mp.mpf(1)
        for k in range(60):
            total += term
            term *= (2 * k + 1) * z
        return total / (x * root_pi())
    return mp.exp(x * x) * mp.erfc(x)


def hazard(x: Any) -> Any:
    return mp.sqrt(2 / mp.pi) / erfcx(-x / root_2())


def lgamma(x: Any) -> Any:
    # near a zero at a negative number mpmath's precision is absolute
    with mp.workprec(400):
        return mp.log(abs(mp.gamma(x))) if abs(x) < 200 else mp.re(mp.loggamma(x))


def psi(n: int) -> Exact:
    def value(x: Any) -> Any:
        with mp.workprec(250):
            return mp.psi(n, x)

    return value


def bessel(function: Exact, order: float) -> Exact:
    def value(x: Any) -> Any:
        with mp.workprec(200):
            return function(order, x)

    return value


def bessel_slope(function: Exact, order: float, below: float, above: float) -> Exact:
    def value(x: Any) -> Any:
        with mp.workprec(200):
            return (below * function(order - 1, x) + above * function(order + 1, x)) / 2

    return value


def scale(function: Exact, sign: int) -> Exact:
    """A modified Bessel function times exp(-abs(x)) (sign -1) or exp(x)."""
    return lambda x: mp.exp(sign * (abs(x) if sign < 0 else x)) * function(x)


def scaled_slope(function: Exact, slope: Exact, sign: int) -> Exact:
    def value(x: Any) -> Any:
        with mp.workprec(400):
            inner = -mp.sign(x) if sign < 0 else 1
            return mp.exp(sign * (abs(x) if sign < 0 else x)) * (slope(x) + inner * function(x))

    return value


def i_(order: int) -> Exact:
    return bessel(mp.besseli, order)


def k_(order: int) -> Exact:
    return bessel(mp.besselk, order)


def i_slope(order: int) -> Exact:
    return bessel_slope(mp.besseli, order, 1, 1)


def k_slope(order: int) -> Exact:
    return bessel_slope(mp.besselk, order, -1, -1)


def power_by_base(x: Any, e: Any) -> Any:
    return e * mp.power(x, e - 1) if e else mp.mpf(0)


def real_power(x: Any, e: Any) -> Any:
    if x < 0 and e != mp.floor(e):
        raise ValueError("no real number")
    return mp.power(x, e)


def log_slope(x: Any, e: Any) -> Any:
    return mp.power(x, e) * mp.log(x) if x else mp.mpf(0)


def density_of_gamma(a: Any, x: Any) -> Any:
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


def piecewise(bound: float, below: Exact, above: Exact) -> Exact:
    """A function with a kink, at which it is that of the lower side."""
    return lambda x: below(x) if x <= bound else above(x)


def nothing(x: Any) -> Any:
    return mp.mpf(0)


def one(*_: Any) -> Any:
    return mp.mpf(1)


def itself(x: Any) -> Any:
    return x


# the table --------------------------------------------------------------------------------------------------------


def unary(
    rule: str,
    value: Exact,
    slope: Exact | None,
    domain: Range = ALL,
    numpy: str | None = None,
    torch: str | None = None,
    **keywords: Any,
) -> Reference:
    return Reference(rule, value, (slope,), (domain,), keywords, numpy, torch)


def binary(
    rule: str,
    value: Exact,
    slopes: tuple[Exact | None, Exact | None],
    ranges: tuple[Range, Range] = (ALL, ALL),
    numpy: str | None = None,
    torch: str | None = None,
    **keywords: Any,
) -> Reference:
    return Reference(rule, value, slopes, ranges, keywords, numpy, torch)


SIZES = Range(1e-100, 1e100, (1.0,))
SMALL_SIZES = Range(1e-3, 100.0, (1.0,))
NUMBERS = Range(-1e100, 1e100, (0.0, 1.0))
PARAMETERS = Range(-50.0, 0.999999, (0.0, 1.0))
ANGLES = Range(-6.0, 6.0, (0.0, 1.5707963267948966))

ARITHMETIC = [
    unary("neg", lambda x: -x, lambda x: mp.mpf(-1), numpy="negative"),
    unary("square", lambda x: x * x, lambda x: 2 * x),
    unary("reciprocal", lambda x: 1 / x, lambda x: -1 / (x * x)),
    unary("inverse_or_zero", lambda x: 1 / x, lambda x: -1 / (x * x), numpy="-", torch="-"),
    unary("sqrt", mp.sqrt, lambda x: 1 / (2 * mp.sqrt(x)), POSITIVE),
    unary("rsqrt", lambda x: 1 / mp.sqrt(x), lambda x: -1 / (2 * x * mp.sqrt(x)), POSITIVE),
    unary("cbrt", lambda x: mp.sign(x) * mp.cbrt(abs(x)), lambda x: 1 / (3 * mp.cbrt(abs(x)) ** 2)),
    unary("deg2rad", lambda x: x * mp.pi / 180, lambda x: mp.pi / 180),
    unary("rad2deg", lambda x: x * 180 / mp.pi, lambda x: 180 / mp.pi),
    unary("frac", lambda x: x - (mp.floor(x) if x > 0 else mp.ceil(x)), one),
    unary("mul_number", lambda x: 3 * x, lambda x: mp.mpf(3), other=3.0),
    unary("div_number", lambda x: x / 3, lambda x: 1 / mp.mpf(3), other=3.0),
    binary("add", lambda x, y: x + y, (one, one)),
    binary("sub", lambda x, y: x - y, (one, lambda x, y: mp.mpf(-1)), numpy="subtract"),
    binary("rsub", lambda x, y: y - x, (lambda x, y: mp.mpf(-1), one)),
    binary("mul", lambda x, y: x * y, (lambda x, y: y, lambda x, y: x), numpy="multiply"),
    binary("true_divide", lambda x, y: x / y, (lambda x, y: 1 / y, lambda x, y: -x / (y * y)), numpy="divide"),
    binary("divide_or_zero", lambda x, y: x / y, (lambda x, y: 1 / y, lambda x, y: -x / (y * y)), numpy="-", torch="-"),
    binary("remainder", lambda x, y: mp.fmod(x, y), (one, lambda x, y: -mp.floor(x / y)), (NUMBERS, NUMBERS)),
    binary(
        "fmod",
        lambda x, y: mp.sign(x) * mp.fmod(abs(x), abs(y)),
        (one, lambda x, y: -mp.sign(x) * mp.sign(y) * mp.floor(abs(x / y))),
        (NUMBERS, NUMBERS),
    ),
    binary("hypot", mp.hypot, (lambda x, y: x / mp.hypot(x, y), lambda x, y: y / mp.hypot(x, y))),
    binary("atan2", mp.atan2, (lambda x, y: y / (x * x + y * y), lambda x, y: -x / (x * x + y * y)), numpy="arctan2"),
    binary("pow", real_power, (power_by_base, log_slope), (Range(-1e300, 1e300, (1.0, 0.0)), EXPONENTS), numpy="power"),
    binary("ldexp", lambda x, y: x * mp.power(2, y), (None, None), (MODEST, Range(-60.0, 60.0)), numpy="-"),
    Reference(
        "addcmul", lambda x, y, z: x + y * z, (one, lambda x, y, z: z, lambda x, y, z: y), (NUMBERS, NUMBERS, NUMBERS)
    ),
    Reference(
        "addcdiv",
        lambda x, y, z: x + y / z,
        (one, lambda x, y, z: 1 / z, lambda x, y, z: -y / (z * z)),
        (NUMBERS, NUMBERS, NUMBERS),
    ),
    Reference(
        "multiply_add",
        lambda x, y, z: x * y + z,
        (lambda x, y, z: y, lambda x, y, z: x, one),
        (NUMBERS, NUMBERS, NUMBERS),
    ),
    Reference(
        "lerp",
        lambda x, y, w: x + w * (y - x),
        (lambda x, y, w: 1 - w, lambda x, y, w: w, lambda x, y, w: y - x),
        (NUMBERS, NUMBERS, Range(0.0, 1.0)),
    ),
]

ELEMENTARY = [
    unary("exp", mp.exp, mp.exp, EXPONENTS),
    unary("exp2", lambda x: mp.power(2, x), lambda x: mp.power(2, x) * mp.log(2), Range(-1100.0, 1100.0, (0.0, 1.0))),
    unary("expm1", mp.expm1, mp.exp, EXPONENTS),
    unary("log", mp.log, lambda x: 1 / x, POSITIVE),
    unary("log2", lambda x: mp.log(x) / mp.log(2), lambda x: 1 / (x * mp.log(2)), POSITIVE),
    unary("log10", mp.log10, lambda x: 1 / (x * mp.log(10)), POSITIVE),
    unary("log1p", mp.log1p, lambda x: 1 / (1 + x), Range(-1.0, 1.8e308, (0.0, -1.0))),
    unary("sin", mp.sin, mp.cos, TURNS),
    unary("cos", mp.cos, lambda x: -mp.sin(x), TURNS),
    unary("tan", mp.tan, lambda x: mp.sec(x) ** 2, TURNS),
    unary("asin", mp.asin, lambda x: 1 / mp.sqrt((1 - x) * (1 + x)), BELOW_ONE),
    unary("acos", mp.acos, lambda x: -1 / mp.sqrt((1 - x) * (1 + x)), BELOW_ONE),
    unary("atan", mp.atan, lambda x: 1 / (1 + x * x)),
    unary("sinh", mp.sinh, mp.cosh, EXPONENTS),
    unary("cosh", mp.cosh, mp.sinh, EXPONENTS),
    unary("tanh", mp.tanh, lambda x: mp.sech(x) ** 2, EXPONENTS),
    unary("asinh", mp.asinh, lambda x: 1 / mp.sqrt(x * x + 1)),
    unary("acosh", mp.acosh, lambda x: 1 / mp.sqrt((x - 1) * (x + 1)), Range(1.0, 1.8e308, (1.0,))),
    unary("atanh", mp.atanh, lambda x: 1 / ((1 - x) * (1 + x)), BELOW_ONE),
    unary("sinc", mp.sincpi, lambda x: -mp.pi * spherical_j1(mp.pi * x), WAVES._replace(near=(0.0, 1.0, -1.0, 2.0))),
    binary(
        "logaddexp",
        lambda x, y: max(x, y) + mp.log1p(mp.exp(-abs(x - y))),
        (lambda x, y: sigmoid(x - y), lambda x, y: sigmoid(y - x)),
        (EXPONENTS, EXPONENTS),
    ),
    binary(
        "logaddexp2",
        lambda x, y: max(x, y) + mp.log1p(mp.power(2, -abs(x - y))) / mp.log(2),
        (lambda x, y: sigmoid(mp.log(2) * (x - y)), lambda x, y: sigmoid(mp.log(2) * (y - x))),
        (EXPONENTS, EXPONENTS),
    ),
    binary("xlogy", lambda x, y: x * mp.log(y), (lambda x, y: mp.log(y), lambda x, y: x / y), (NUMBERS, SIZES)),
    binary(
        "special_xlog1py",
        lambda x, y: x * mp.log1p(y),
        (lambda x, y: mp.log1p(y), lambda x, y: x / (1 + y)),
        (NUMBERS, Range(-1.0, 1e100, (0.0, -1.0))),
    ),
]

ACTIVATIONS = [
    unary("sigmoid", sigmoid, lambda x: sigmoid(x) * sigmoid(-x), EXPONENTS, "expit"),
    unary("logsigmoid", lambda x: -softplus(-x), lambda x: sigmoid(-x), EXPONENTS, "log_expit"),
    unary("silu", lambda x: x * sigmoid(x), lambda x: sigmoid(x) * (1 + x * sigmoid(-x)), EXPONENTS),
    unary("softplus", threshold_softplus, lambda x: one() if x > 20 else sigmoid(x), EXPONENTS),
    unary("mish_gate", lambda x: mish_parts(x)[0], lambda x: mish_parts(x)[1], EXPONENTS),
    unary("mish", lambda x: x * mish_parts(x)[0], lambda x: mish_parts(x)[0] + x * mish_parts(x)[1], EXPONENTS),
    unary("gelu", lambda x: x * normal_cdf(x), gelu_slope, MODEST),
    unary("gelu", gelu_tanh, gelu_tanh_slope, Range(-1e40, 1e40, (0.0,)), approximate="tanh"),
    unary("normal_cdf", normal_cdf, density, MODEST, "ndtr", "special.ndtr"),
    unary("elu", piecewise(0, mp.expm1, itself), piecewise(0, mp.exp, one), MODEST),
    unary("celu", piecewise(0, mp.expm1, itself), piecewise(0, mp.exp, one), MODEST),
    unary("hardswish", lambda x: x * min(max(x + 3, 0), 6) / 6,
          lambda x: nothing(x) if x <= -3 else (one() if x >= 3 else x / 3 + mp.mpf(1) / 2),
          ALL._replace(near=(-3.0, -1.5, 0.0, 3.0))),
    unary("hardsigmoid", lambda x: min(max(x + 3, 0), 6) / mp.mpf(6), lambda x: step(-3, 3)(x) / 6,
          ALL._replace(near=(-3.0, 0.0, 3.0))),
    unary("softshrink", lambda x: mp.sign(x) * max(abs(x) - mp.mpf(0.5), 0), lambda x: mp.mpf(abs(x) > 0.5),
          ALL._replace(near=(-0.5, 0.5))),
    unary("leaky_relu", piecewise(0, lambda x: x * mp.mpf(0.01), itself), piecewise(0, lambda x: mp.mpf(0.01), one)),
]  # fmt: skip

SPECIAL = [
    unary("erf", mp.erf, lambda x: 2 / root_pi() * mp.exp(-x * x), MODEST),
    unary("erfc", mp.erfc, lambda x: -2 / root_pi() * mp.exp(-x * x), Range(-30.0, 30.0, (0.0, 1.0))),
    unary("special_erfcx", erfcx, lambda x: 2 * x * erfcx(x) - 2 / root_pi(), Range(-27.0, 1e10, (0.0, 1.0))),
    unary("erfi", mp.erfi, lambda x: 2 / root_pi() * mp.exp(x * x), Range(-27.0, 27.0, (0.0, 1.0))),
    unary("erfinv", inverse_of_erf, lambda x: root_pi() / 2 * mp.exp(inverse_of_erf(x) ** 2), BELOW_ONE),
    unary("erfcinv", inverse_of_erfc, lambda x: -root_pi() / 2 * mp.exp(inverse_of_erfc(x) ** 2),
          Range(1e-300, 2.0, (0.0, 1.0, 2.0))),
    unary("dawsn", dawson, lambda x: 1 - 2 * x * dawson(x), Range(-1e15, 1e15, (0.0, 0.9241388730045916))),
    unary("special_ndtr", normal_cdf, density, Range(-40.0, 40.0, (0.0,))),
    unary("special_log_ndtr", log_ndtr, lambda x: hazard(x), Range(-1e10, 40.0, (0.0,))),
    unary("normal_hazard", lambda x: hazard(x),
          lambda x: -hazard(x) * (x + hazard(x)), Range(-1e10, 30.0, (0.0,))),
    unary("special_ndtri", lambda x: -root_2() * inverse_of_erfc(2 * x),
          lambda x: mp.sqrt(2 * mp.pi) * mp.exp(inverse_of_erfc(2 * x) ** 2), Range(1e-300, 1.0, (0.5, 1.0))),
    unary("special_entr", lambda x: -x * mp.log(x), lambda x: -1 - mp.log(x),
          POSITIVE._replace(near=(0.0, 1.0, 0.36787944117144233))),
    unary("logit", lambda x: mp.log(x / (1 - x)), lambda x: 1 / (x * (1 - x)), CHANCES),
    unary("exp1", mp.e1, lambda x: -mp.exp(-x) / x, Range(1e-300, 740.0, (0.0, 1.0))),
    unary("expi", mp.ei, lambda x: mp.exp(x) / x, EXPONENTS._replace(near=(0.0, 0.37250741078136663))),
    unary("expn", lambda x: mp.expint(3, x), lambda x: -mp.expint(2, x), Range(1e-300, 740.0, (0.0, 1.0)), n=3,
          numpy="-"),
    unary("exprel", exprel, exprel_slope, EXPONENTS),
    unary("fresnel_s", mp.fresnels, lambda x: mp.sin(mp.pi * x * x / 2), Range(-1e4, 1e4, (0.0, 1.0)), "fresnel.0"),
    unary("fresnel_c", mp.fresnelc, lambda x: mp.cos(mp.pi * x * x / 2), Range(-1e4, 1e4, (0.0, 1.0)), "fresnel.1"),
    unary("sine_integral", mp.si, lambda x: mp.sinc(x), Range(-1e4, 1e4, (0.0, 3.1415926)), "sici.0"),
    unary("cosine_integral", mp.ci, lambda x: mp.cos(x) / x, Range(1e-300, 1e4, (0.0, 0.6165054856207162)), "sici.1"),
    unary("gamma", mp.gamma, lambda x: mp.gamma(x) * psi(0)(x), GAMMA),
    unary("lgamma", lgamma, psi(0), Range(-1e4, 1e300, GAMMA.near), "gammaln"),
    unary("gammaln", lgamma, psi(0), Range(-1e4, 1e300, GAMMA.near)),
    unary("digamma", psi(0), psi(1), Range(-1e4, 1e300, GAMMA.near), "psi"),
    unary("polygamma", psi(1), psi(2), Range(-100.0, 1e15, GAMMA.near), n=1, numpy="-", torch="-"),
    unary("polygamma", psi(2), psi(3), Range(1e-10, 1e15, (1.0,)), n=2, numpy="-", torch="-"),
    unary("mvlgamma", lambda x: sum(mp.loggamma(x - mp.mpf(j) / 2) for j in range(3)) + mp.mpf(3) / 2 * mp.log(mp.pi),
          lambda x: sum(mp.psi(0, x - mp.mpf(j) / 2) for j in range(3)), Range(1.001, 1e15, (1.0, 2.0)), p=3,
          numpy="-"),
    unary("spence", lambda x: mp.re(mp.polylog(2, 1 - x)), lambda x: mp.log(x) / (1 - x),
          Range(1e-300, 1e15, (0.0, 1.0, 2.0))),
    unary("ellipk", mp.ellipk, lambda m: mp.pi / 8 * mp.hyp2f1(1.5, 1.5, 2, m), Range(-1e10, 1.0, (0.0, 1.0))),
    unary("ellipe", mp.ellipe, lambda m: -mp.pi / 8 * mp.hyp2f1(0.5, 1.5, 2, m), Range(-1e10, 1.0, (0.0, 1.0))),
    unary("airy_ai", mp.airyai, lambda x: mp.airyai(x, derivative=1), Range(-500.0, 100.0, (0.0, -2.338107410459767)),
          "airy.0", "special.airy_ai"),
    unary("airy_ai", lambda x: mp.airyai(x, derivative=1), lambda x: x * mp.airyai(x),
          Range(-500.0, 100.0, (0.0, -1.0187929716474710)), "airy.1", "-", order=1),
    unary("special_bessel_j0", bessel(mp.besselj, 0), lambda x: -bessel(mp.besselj, 1)(x), WAVES, "j0"),
    unary("special_bessel_j1", bessel(mp.besselj, 1), bessel_slope(mp.besselj, 1, 1, -1), WAVES, "j1"),
    unary("bessel_j", bessel(mp.besselj, 2), bessel_slope(mp.besselj, 2, 1, -1), WAVES, order=2, numpy="-"),
    unary("special_bessel_y0", bessel(mp.bessely, 0), lambda x: -bessel(mp.bessely, 1)(x), POSITIVE_WAVES, "y0"),
    unary("special_bessel_y1", bessel(mp.bessely, 1), bessel_slope(mp.bessely, 1, 1, -1), POSITIVE_WAVES, "y1"),
    unary("i0", i_(0), i_(1), EXPONENTS),
    unary("special_i1", i_(1), i_slope(1), EXPONENTS),
    unary("special_i0e", scale(i_(0), -1), scaled_slope(i_(0), i_(1), -1), Range(-1e4, 1e4, (0.0, 8.0))),
    unary("special_i1e", scale(i_(1), -1), scaled_slope(i_(1), i_slope(1), -1), Range(-1e4, 1e4, (0.0, 8.0))),
    unary("bessel_i", i_(2), i_slope(2), EXPONENTS, order=2, numpy="-"),
    unary("special_modified_bessel_k0", k_(0), lambda x: -k_(1)(x), Range(1e-300, 740.0, (0.0, 2.0)), "k0"),
    unary("special_modified_bessel_k1", k_(1), k_slope(1), Range(1e-300, 740.0, (0.0, 2.0)), "k1"),
    unary("special_scaled_modified_bessel_k0", scale(k_(0), 1), scaled_slope(k_(0), lambda x: -k_(1)(x), 1),
          Range(1e-300, 1e4, (0.0, 2.0)), "k0e"),
    unary("special_scaled_modified_bessel_k1", scale(k_(1), 1), scaled_slope(k_(1), k_slope(1), 1),
          Range(1e-300, 1e4, (0.0, 2.0)), "k1e"),
    unary("spherical_bessel_j", mp.sinc, lambda x: -spherical_j1(x), WAVES),
    unary("spherical_bessel_j", spherical_j1, lambda x: mp.sinc(x) - 2 * spherical_j1(x) / x if x else mp.mpf(1) / 3,
          WAVES, order=1, numpy="-", torch="-"),
]  # fmt: skip

OF_TWO = [
    binary("igamma", lambda a, x: mp.gammainc(a, 0, x, regularized=True), (None, density_of_gamma),
           (SMALL_SIZES, Range(1e-10, 200.0)), "gammainc"),
    binary("igammac", lambda a, x: mp.gammainc(a, x, regularized=True), (None, lambda a, x: -density_of_gamma(a, x)),
           (SMALL_SIZES, Range(1e-10, 200.0)), "gammaincc"),
    binary("special_zeta", mp.zeta, (None, lambda s, q: -s * mp.zeta(s + 1, q)),
           (Range(1.01, 60.0, (1.0, 2.0)), Range(1e-3, 1e4, (1.0,))), "zeta"),
    binary("hurwitz_zeta", mp.zeta, (lambda s, q: mp.zeta(s, q, 1), lambda s, q: -s * mp.zeta(s + 1, q)),
           (Range(1.01, 60.0, (1.0, 2.0)), Range(1e-3, 1e4, (1.0,))), "zeta"),
    binary("beta", mp.beta, (lambda a, b: mp.beta(a, b) * (mp.psi(0, a) - mp.psi(0, a + b)),
                             lambda a, b: mp.beta(a, b) * (mp.psi(0, b) - mp.psi(0, a + b))),
           (SMALL_SIZES, SMALL_SIZES)),
    binary("betaln", lambda a, b: mp.log(mp.beta(a, b)), (lambda a, b: mp.psi(0, a) - mp.psi(0, a + b),
                                                         lambda a, b: mp.psi(0, b) - mp.psi(0, a + b)),
           (SMALL_SIZES, SMALL_SIZES)),
    binary("agm", mp.agm, (None, None), (SIZES, SIZES)),
    binary("jv", mp.besselj, (None, lambda v, z: (mp.besselj(v - 1, z) - mp.besselj(v + 1, z)) / 2),
           (Range(0.0, 50.0, (0.5, 1.0)), Range(1e-3, 500.0, (1.0,)))),
    binary("yv", mp.bessely, (None, lambda v, z: (mp.bessely(v - 1, z) - mp.bessely(v + 1, z)) / 2),
           (Range(0.0, 50.0, (0.5, 1.0)), Range(1e-3, 500.0, (1.0,)))),
    binary("iv", mp.besseli, (lambda v, z: mp.diff(lambda t: mp.besseli(t, z), v),
                              lambda v, z: (mp.besseli(v - 1, z) + mp.besseli(v + 1, z)) / 2),
           (Range(0.1, 50.0, (0.5, 1.0)), Range(1e-3, 500.0, (1.0,)))),
    binary("kv", mp.besselk, (lambda v, z: mp.diff(lambda t: mp.besselk(t, z), v),
                              lambda v, z: -(mp.besselk(v - 1, z) + mp.besselk(v + 1, z)) / 2),
           (Range(0.1, 50.0, (0.5, 1.0)), Range(1e-3, 500.0, (1.0,)))),
    binary("ellipkinc", mp.ellipf, (lambda p, m: 1 / mp.sqrt(1 - m * mp.sin(p) ** 2), None), (ANGLES, PARAMETERS)),
    binary("ellipeinc", mp.ellipe, (lambda p, m: mp.sqrt(1 - m * mp.sin(p) ** 2), None), (ANGLES, PARAMETERS)),
]  # fmt: skip

#: Recurrences of orthogonal polynomials: P[1] as a factor of x and a number, and P[k + 1] from x, k, P[k] and P[k - 1].
POLYNOMIALS: dict[str, tuple[tuple[int, int], Exact]] = {
    "chebyshev_polynomial_t": ((1, 0), lambda x, k, p, q: 2 * x * p - q),
    "chebyshev_polynomial_u": ((2, 0), lambda x, k, p, q: 2 * x * p - q),
    "hermite_polynomial_h": ((2, 0), lambda x, k, p, q: 2 * x * p - 2 * k * q),
    "laguerre_polynomial_l": ((-1, 1), lambda x, k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
    "legendre_polynomial_p": ((1, 0), lambda x, k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1)),
}


def of_degree(family: str, degree: int) -> Exact:
    (slope, value), step = POLYNOMIALS[family]

    def polynomial(x: Any) -> Any:
        before, now = mp.mpf(1), slope * x + value
        for k in range(1, degree):
            before, now = now, step(x, k, now, before)
        return now

    return polynomial


def by_difference(function: Exact) -> Exact:
    """The slope of a smooth function, by a difference with a step that is far below the digits asked for."""

    def slope(x: Any) -> Any:
        with mp.workprec(3 * mp.prec):
            step = mp.mpf(2) ** (-mp.prec // 3)
            return (function(x + step) - function(x - step)) / (2 * step)

    return slope


POLYNOMIAL_ROWS = [
    unary("polynomial", of_degree(family, 5), by_difference(of_degree(family, 5)), Range(-20.0, 20.0, (0.0, 1.0)),
          numpy="-", torch="-", family=family, n=5)
    for family in POLYNOMIALS
]  # fmt: skip

REFERENCES = [*ARITHMETIC, *ELEMENTARY, *ACTIVATIONS, *SPECIAL, *OF_TWO, *POLYNOMIAL_ROWS]

#: Elementwise rules without a row, by the reason.
UNMEASURED: dict[str, str] = {
    "integers and truth values": (
        "bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor eq ne lt le gt ge gcd "
        "lcm isfinite isinf isnan isneginf isposinf isreal logical_and logical_not logical_or logical_xor signbit"
    ),
    "one of its operands, a whole number, or one exact sum: tests/rules compare each bit": (
        "ceil clamp clamp_max clamp_min copy copysign fill floor floor_divide fmax fmin hardshrink hardtanh heaviside "
        "maximum minimum nan_to_num nextafter prelu_kernel relu round sign threshold trunc trunc_divide zero "
        "hardshrink_backward hardsigmoid_backward hardtanh_backward leaky_relu_backward softshrink_backward "
        "threshold_backward"
    ),
    "random numbers": (
        "drawn_around drawn_bernoulli drawn_bernoulli_in_place drawn_cauchy drawn_exponential drawn_geometric "
        "drawn_log_normal drawn_normal drawn_poisson drawn_random drawn_uniform drawn_with_chances"
    ),
    "slopes of functions that are measured": (
        "dawsn_slope digamma_difference erfcx_tail scaled_i_difference scaled_k_difference"
    ),
    "values are SciPy's, slopes others of their family: tests/distributions and tests/rules compare with mpmath": (
        "betainc betaincinv gammainc_derivative gammaincinv gammainccinv stdtr stdtrit carlson_integral elliprg "
        "jacobi_elliptic special_function special_function_of_two"
    ),
}


def missing() -> list[str]:
    """Elementwise rules that neither table has."""
    measured = {reference.rule for reference in REFERENCES}
    measured.update(name for names in UNMEASURED.values() for name in names.split())
    return sorted(name for name in TABLE if TABLE[name].kind == "elementwise" and name not in measured)
