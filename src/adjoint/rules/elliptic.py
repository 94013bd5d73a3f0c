"""Elliptic integrals of several variables: Carlson's symmetric ones, Legendre's incomplete ones, Jacobi's functions.

Carlson's integrals form one family, the integrals over t > 0 of

    t ** power * (t + a) ** -k * (t + b) ** -l * (t + c) ** -m * (t + d) ** -n

with half integers k, l, m, n, the `exponents` (DLMF 19.16.1-6). The derivative by a is -k times the member with k + 1,
so the family is closed under differentiation. SciPy computes some members. The others are sums: after t = exp(s) the
trapezoidal rule is exact up to rounding, for any variables, however far apart.
"""

from math import exp, pi

from .declare import Array, elementwise
from .special import alike, real_only

R_F, R_D, R_J, R_C = (0.5, 0.5, 0.5, 0.0), (0.5, 0.5, 1.5, 0.0), (0.5, 0.5, 0.5, 1.0), (0.5, 1.0, 0.0, 0.0)
#: The members that SciPy knows: by exponents the function, the number of its variables, and its factor.
_NAMES = {R_F: ("elliprf", 3, 2), R_D: ("elliprd", 3, 2 / 3), R_J: ("elliprj", 4, 2 / 3), R_C: ("elliprc", 2, 2)}
#: The step of the trapezoidal rule, whose error is exp(-2 pi ** 2 / step), and the fall that is below rounding.
_STEP, _FALL = 0.4, 40.0


def _by(position):
    def partial(ops, a, b, c, d, exponents, power):
        exponent = exponents[position]
        if not exponent:
            return ops.zeros_like((a, b, c, d)[position])
        more = tuple([e + 1 if i == position else e for i, e in enumerate(exponents)])
        return -exponent * ops.carlson_integral(a, b, c, d, more, power)

    return partial


@elementwise(a=_by(0), b=_by(1), c=_by(2), d=_by(3), dtypes="float", method=False, function=False, scalars=False)
def carlson_integral(xp, a: Array, b: Array, c: Array, d: Array, exponents, power=0):
    """A member of the family; infinite where it diverges at 0.

    NaN for negative variables, but for the principal values that SciPy has of R_J and R_C.
    """
    real_only("carlson_integral", a, b, c, d)
    variables = alike(xp, a, b, c, d)
    # SciPy's functions are symmetric except in the last variable
    order = sorted(range(4), key=lambda i: exponents[i] or 9.0)
    name, n, factor = _NAMES.get(tuple([exponents[i] for i in order]), ("", 0, 0)) if not power else ("", 0, 0)
    if name:
        return factor * getattr(xp.special, name)(*[variables[i] for i in order[:n]])
    with xp.errstate(all="ignore"):
        spread = xp.broadcast_arrays(*[xp.asarray(value, dtype=xp.float64) for value in variables])
        counted = [(value, e) for value, e in zip(spread, exponents, strict=True) if e]
        return xp.astype(_by_exponentials(xp, counted, power), variables[0].dtype)


def _by_exponentials(xp, counted, power):
    """The integral by the trapezoidal rule after t = exp(s). counted: (variable, exponent)."""
    of_zeros = sum([xp.where(value == 0, e, 0.0) for value, e in counted])
    allowed = sum([xp.where((value >= 0) & (value < xp.inf), 0, 1) for value, _ in counted]) == 0
    diverges = of_zeros >= power + 1
    in_domain = allowed & ~diverges
    values = [(xp.where(in_domain, value, 1.0), e) for value, e in counted]
    # each element has places of its own, so that it does not depend on others
    smallest, largest = (_extreme(xp, [value for value, _ in values], which) for which in ("minimum", "maximum"))
    rise = xp.where(in_domain, power + 1 - of_zeros, 1.0)
    first = xp.floor((xp.log(smallest) - _FALL / rise) / _STEP)
    last = xp.ceil((xp.log(largest) + _FALL / (sum([e for _, e in values]) - power - 1)) / _STEP)
    total = xp.zeros_like(smallest)
    for k in range(int(xp.min(first, initial=0.0)), int(xp.max(last, initial=0.0)) + 1):
        t = exp(k * _STEP)
        term = _STEP * t ** (power + 1)
        for value, e in values:
            term = _divide(xp, term, t + value, e)
        total = total + xp.where((k >= first) & (k <= last), term, 0.0)
    return xp.where(in_domain, total, xp.where(allowed, xp.inf, xp.nan))


def r_d(ops, a, b, c):
    """Carlson's R_D (DLMF 19.16.5)."""
    return 1.5 * ops.carlson_integral(a, b, c, c, R_D)


def _divide(xp, term, x, exponent):
    """term / x ** exponent by roots and quotients, whose values do not depend on the size of an array."""
    whole = int(exponent)
    term = term / xp.sqrt(x) if exponent != whole else term
    for _ in range(whole):
        term = term / x
    return term


def _extreme(xp, values, which):
    """The smallest, or the largest, among 1 and the positive variables."""
    result = 1.0
    for value in values:
        result = getattr(xp, which)(result, xp.where(value > 0, value, 1.0))
    return result


def _g_by(position):
    def partial(ops, a, b, c):
        # DLMF 19.16.9 and 19.18.1
        exponents = tuple([1.5 if i == position else 0.5 for i in range(3)])
        return 0.125 * ops.carlson_integral(a, b, c, c, (*exponents, 0.0), 1)

    return partial


@elementwise(a=_g_by(0), b=_g_by(1), c=_g_by(2), dtypes="float", method=False, function=False, scalars=False)
def elliprg(xp, a: Array, b: Array, c: Array):
    """Carlson's R_G (DLMF 19.16.3)."""
    real_only("elliprg", a, b, c)
    return xp.special.elliprg(*alike(xp, a, b, c))


# Legendre's incomplete integrals --------------------------------------------------------------------------------------


def _quarter(ops, phi):
    """An angle as half turns, and the rest between -pi / 2 and pi / 2."""
    turns = ops.round(phi / pi)
    return turns, phi - pi * turns


def _turn_term(ops, turns, at_end):
    """The term of whole turns: 0 without turns, even if the complete integral is infinite."""
    still = turns == 0
    return ops.where(still, 0, 2 * turns * ops.where(still, 0, at_end))


def first_kind_by_m(ops, phi, m):
    """The derivative of ellipkinc by m: the integral of sin ** 2 / (2 (1 - m sin ** 2) ** (3 / 2)) (DLMF 19.25.1)."""
    turns, rest = _quarter(ops, phi)
    sine = ops.sin(rest)
    square = sine * sine
    part = sine * square / 6 * r_d(ops, 1 - square, ops.ones_like(square), 1 - m * square)
    return part + _turn_term(ops, turns, 0.125 * pi * ops.special_function(m, "hyp2f1", (1.5, 1.5, 2.0)))


def _second_kind_by_m(ops, phi, m):
    # DLMF 19.25.14
    turns, rest = _quarter(ops, phi)
    sine = ops.sin(rest)
    square = sine * sine
    part = -sine * square / 6 * r_d(ops, 1 - square, 1 - m * square, ops.ones_like(square))
    return part + _turn_term(ops, turns, -0.125 * pi * ops.special_function(m, "hyp2f1", (0.5, 1.5, 2.0)))


def _legendre(name, by_phi, by_m, doc):
    def body(xp, phi: Array, m: Array):
        return getattr(xp.special, name)(*alike(xp, phi, m))

    body.__doc__ = doc
    options = {"dtypes": "float", "method": False, "function": False, "scalars": False}
    elementwise(name=name, phi=by_phi, m=by_m, **options)(body)


def _delta(ops, phi, m):
    return ops.sqrt(1 - m * ops.square(ops.sin(phi)))


_legendre(
    "ellipkinc",
    lambda ops, phi, m: 1 / _delta(ops, phi, m),
    first_kind_by_m,
    "The incomplete elliptic integral of the first kind, of the parameter m = k ** 2 (DLMF 19.2.4).",
)
_legendre(
    "ellipeinc",
    _delta,
    _second_kind_by_m,
    "The incomplete elliptic integral of the second kind, of the parameter m = k ** 2 (DLMF 19.2.5).",
)

# Jacobi's elliptic functions (DLMF 22.13.1-3) -------------------------------------------------------------------------

#: The functions in SciPy's order; the last is the amplitude.
SN, CN, DN, AM = range(4)


def _jacobi_by_u(ops, u, m, which):
    sn, cn, dn = (ops.jacobi_elliptic(u, m, other) for other in (SN, CN, DN))
    return (cn * dn, -sn * dn, -m * sn * cn, dn)[which]


def _jacobi_by_m(ops, u, m, which):
    sn, cn, dn, am = (ops.jacobi_elliptic(u, m, other) for other in (SN, CN, DN, AM))
    # the amplitude is the inverse of ellipkinc by its angle
    slope = -dn * first_kind_by_m(ops, am, m)
    return (cn * slope, -sn * slope, -sn * (sn + 2 * m * cn * slope) / (2 * dn), slope)[which]


@elementwise(u=_jacobi_by_u, m=_jacobi_by_m, dtypes="float", method=False, function=False, scalars=False)
def jacobi_elliptic(xp, u: Array, m: Array, which):
    """One of sn, cn, dn and the amplitude at u, of the parameter m."""
    return xp.special.ellipj(*alike(xp, u, m))[which]


# the arithmetic-geometric mean ----------------------------------------------------------------------------------------


def _mean_by(parameter):
    def partial(ops, a, b, y):
        # DLMF 19.22.1 with 19.18.1: y is pi / (2 R_F(0, a ** 2, b ** 2))
        mine, other = (a, b) if parameter == "a" else (b, a)
        return y * y * abs(mine) / (1.5 * pi) * r_d(ops, ops.zeros_like(y), other * other, mine * mine)

    return partial


@elementwise(a=_mean_by("a"), b=_mean_by("b"), dtypes="float", method=False, function=False, scalars=False)
def agm(xp, a: Array, b: Array):
    """The arithmetic-geometric mean of two numbers of one sign."""
    return xp.special.agm(*alike(xp, a, b))
