"""Distribution functions with derivatives in their parameters: incomplete gamma and beta functions, Student's t.

A distribution function F is the integral of a density p. Its derivative by a parameter, of any order, is the integral
of the density's derivative, and

    d p = p * d log p

shows that every derivative of p is the product of p and a polynomial in the derivatives of log p, which are logarithms
and polygamma functions. So F and its derivatives by the parameters are one family of operations, numbered by `orders`.
The derivative by the argument is the integrand, so the family is closed under differentiation. SciPy computes order 0.
Higher orders are integrals over a half-line by the double exponential formula of Takahasi and Mori (1974): the
trapezoidal rule after w = exp(pi / 2 * sinh(s)). It works for densities that are singular at one end or spread over
many scales.
"""

from math import comb, cosh, exp, factorial, pi, sinh

from adjoint.arrays.dtypes import kind_of

from .declare import Array, elementwise
from .special import alike, array_of, real_only

LOG_PI = 1.1447298858494002


class Kernels:
    """The functions in the formulas of densities, on raw arrays; formulas have them in `ops`."""

    def __init__(self, xp):
        self.log, self.log1p, self.exp = xp.log, xp.log1p, xp.exp
        self.lgamma = xp.special.gammaln
        self.psi, self.higher = xp.special.psi, xp.special.polygamma

    def polygamma(self, x, n):
        return self.higher(n, x) if n else self.psi(x)


# densities: the logarithm, and its derivatives by the parameters ----------------------------------------------------
# The argument x has the form that the logarithm needs, so that the caller can compute it exactly.


def log_gamma_density(ops, parameters, value):
    (a,), (log_x, x) = parameters, value
    return (a - 1) * log_x - x - ops.lgamma(a)


def gamma_slope(ops, orders, parameters, x):
    (n,), (a,) = orders, parameters
    of_norm = ops.polygamma(a, n - 1)
    return x[0] - of_norm if n == 1 else -of_norm


def log_beta_density(ops, parameters, x):
    (a, b), (log_x, log_rest) = parameters, x
    return (a - 1) * log_x + (b - 1) * log_rest + ops.lgamma(a + b) - ops.lgamma(a) - ops.lgamma(b)


def beta_slope(ops, orders, parameters, x):
    order = sum(orders)
    slope = ops.polygamma(parameters[0] + parameters[1], order - 1)
    for n, parameter, log in zip(orders, parameters, x, strict=True):
        if n == order:
            slope = slope - ops.polygamma(parameter, order - 1)
            if order == 1:
                slope = slope + log
    return slope


def log_student_density(ops, parameters, x):
    (df,), (t,) = parameters, x
    half = 0.5 * (df + 1)
    norm = ops.lgamma(half) - ops.lgamma(0.5 * df) - 0.5 * (LOG_PI + ops.log(df))
    return norm - half * ops.log1p(t * t / df)


def student_slope(ops, orders, parameters, value):
    (n,), (df,), (t,) = orders, parameters, value
    of_gammas = 0.5**n * (ops.polygamma(0.5 * (df + 1), n - 1) - ops.polygamma(0.5 * df, n - 1))

    def of_log(x, order):
        return (-1) ** (order - 1) * factorial(order - 1) / x**order

    def of_tail(order):
        if order == 0:
            return ops.log1p(t * t / df)
        return of_log(df + t * t, order) - of_log(df, order)

    return of_gammas - 0.5 * of_log(df, n) - 0.5 * (df + 1) * of_tail(n) - 0.5 * n * of_tail(n - 1)


def relative_derivative(ops, slope, orders, parameters, x):
    """The derivative of a density p by its parameters, over p: the sum over all ways to share out the orders."""
    if not any(orders):
        return 1.0
    first = next(i for i, n in enumerate(orders) if n)
    total = 0.0
    for derivatives in _up_to(orders):
        if not derivatives[first]:
            continue
        ways = 1
        for i, (n, k) in enumerate(zip(orders, derivatives, strict=True)):
            ways *= comb(n - 1, k - 1) if i == first else comb(n, k)
        rest = tuple([n - k for n, k in zip(orders, derivatives, strict=True)])
        factor = relative_derivative(ops, slope, rest, parameters, x)
        total = total + ways * factor * slope(ops, derivatives, parameters, x)
    return total


def _up_to(orders):
    """All tuples of orders that are at most the given ones."""
    if not orders:
        return [()]
    return [(k, *rest) for k in range(orders[0] + 1) for rest in _up_to(orders[1:])]


# integrals ----------------------------------------------------------------------------------------------------------

_STEP = 1 / 16
#: Places on the half-line and their weights.
_NODES = [(exp(0.5 * pi * sinh(s)), 0.5 * pi * cosh(s) * _STEP) for s in [k * _STEP for k in range(-64, 89)]]


#: So many integrals are computed at once: their integrands' values at all nodes are a quarter of a megabyte.
_AT_ONCE = 2**15 // len(_NODES)


def half_line(xp, integrand, scale):
    """The integrals of a function over the positive numbers; scale: where it changes. Underflow to 0 is intended."""
    places, weights = [xp.asarray(column)[:, None] for column in zip(*_NODES, strict=True)]
    w = places * scale
    total = xp.zeros_like(scale)
    # one after another: a sum along the axis would depend on the number of integrals in its last digits
    for term in weights * w * integrand(w):
        total += term
    return total


def _integrand(xp, log_density, slope, orders, parameters):
    ops = Kernels(xp)

    def density(x, log_width=0.0):
        p = xp.exp(log_density(ops, parameters, x) + log_width)
        return xp.where(p > 0, p * relative_derivative(ops, slope, orders, parameters, x), 0.0)

    return density


def _where_needed(xp, mask, function, *operands):
    """The function of vectors at the elements that a mask picks, 0 elsewhere."""
    result = xp.zeros(mask.shape, dtype=xp.float64)
    if xp.any(mask):
        arguments = [operand[mask] for operand in operands]
        blocks = range(0, arguments[0].shape[0], _AT_ONCE)
        result[mask] = xp.concat([function(*[each[k : k + _AT_ONCE] for each in arguments]) for k in blocks])
    return result


def _spread(xp, *operands):
    """Numbers and arrays as arrays of float64 of one shape."""
    return xp.broadcast_arrays(*[xp.asarray(value, dtype=xp.float64) for value in operands])


def gamma_integral(xp, a, x, order):
    """The derivative of the regularized lower incomplete gamma function by its parameter."""

    def lower(a, x):
        density = _integrand(xp, log_gamma_density, gamma_slope, (order,), (a,))

        def of_fall(u):
            log_t = xp.log(x) - u
            return density((log_t, xp.exp(log_t)), log_t)

        return half_line(xp, of_fall, 1 / (a - x + x / xp.sqrt(1 + x)))

    def upper(a, x):
        density = _integrand(xp, log_gamma_density, gamma_slope, (order,), (a,))
        scale = x / (x - a + 1 + xp.sqrt(a))
        return -half_line(xp, lambda w: density((xp.log(x + w), x + w)), scale)

    in_domain = (x > 0) & (a > 0) & (x < xp.inf)
    return _where_needed(xp, in_domain & (x <= a), lower, a, x) + _where_needed(xp, in_domain & (x > a), upper, a, x)


def beta_integral(xp, a, b, x, orders):
    """The derivative of the regularized incomplete beta function by its parameters."""

    def lower(a, b, x, orders, density, slope):
        p = _integrand(xp, density, slope, orders, (a, b))

        def of_fall(u):
            log_t = xp.log(x) - u
            return p((log_t, xp.log1p(-xp.exp(log_t))), log_t)

        falls = a - (b - 1) * x / (1 - x) + xp.sqrt(xp.maximum(b - 1, 0) * x) / (1 - x)
        return half_line(xp, of_fall, 1 / falls)

    in_domain = (x > 0) & (x < 1) & (a > 0) & (b > 0)
    is_left = in_domain & (x * (a + b) <= a)
    swapped = tuple(reversed(orders))
    low = _where_needed(xp, is_left, lambda a, b, x: lower(a, b, x, orders, log_beta_density, beta_slope), a, b, x)
    high = _where_needed(
        xp,
        in_domain & ~is_left,
        lambda a, b, x: lower(b, a, 1 - x, swapped, log_beta_density, beta_slope),
        a,
        b,
        x,
    )
    return low - high


def student_integral(xp, df, t, order):
    """The derivative of the distribution function of Student's t by the degrees of freedom."""

    def inner(df, t):
        density = _integrand(xp, log_student_density, student_slope, (order,), (df,))
        return half_line(xp, lambda u: density((t * xp.exp(-u),), xp.log(t) - u), xp.ones_like(t))

    def outer(df, t):
        density = _integrand(xp, log_student_density, student_slope, (order,), (df,))
        slope = (df + 1) * t / (df + t * t)
        return -half_line(xp, lambda w: density((t + w,)), 1 / (slope + 1 / t))

    size = xp.abs(t)
    in_domain = (size > 0) & (size < xp.inf) & (df > 0)
    near = _where_needed(xp, in_domain & (size <= 1), inner, df, size)
    return xp.sign(t) * (near + _where_needed(xp, in_domain & (size > 1), outer, df, size))


# the gamma distribution (DLMF 8.2) ----------------------------------------------------------------------------------


def gamma_density(ops, a, x, order=0):
    """x ** (a - 1) * exp(-x) / gamma(a) (DLMF 8.8.13), or its derivative by a."""
    p = ops.exp(ops.xlogy(a - 1, x) - x - ops.lgamma(a))
    if not order:
        return p
    log_x = ops.log(ops.where(x > 0, x, 1))
    return p * relative_derivative(ops, gamma_slope, (order,), (a,), (log_x, x))


def _gammainc_by_other(ops, other, input, order):
    return gamma_density(ops, array_of(ops, input, other), other, order)


@elementwise(
    input=lambda ops, input, other, order: ops.gammainc_derivative(input, other, order + 1),
    other=_gammainc_by_other,
    dtypes="float",
    method=False,
    function=False,
)
def gammainc_derivative(xp, input: Array, other: Array, order):
    """The derivative, of an order from 1 on, of igamma(input, other) by its parameter, the input."""
    real_only("igamma_backward", input, other)
    kind = xp.result_type(*alike(xp, input, other))
    with xp.errstate(all="ignore"):
        a, x = _spread(xp, input, other)
        return xp.astype(gamma_integral(xp, a, x, order), kind)


def _gammainv(name, kernel, sign, doc):
    def body(xp, input: Array, other: Array):
        real_only(name, input, other)
        return getattr(xp.special, kernel)(*alike(xp, input, other))

    def by_input(ops, input, y):
        a = array_of(ops, input, y)
        return -ops.gammainc_derivative(a, y, 1) / gamma_density(ops, a, y)

    def by_other(ops, input, y):
        return sign / gamma_density(ops, array_of(ops, input, y), y)

    body.__doc__ = doc
    elementwise(name=name, input=by_input, other=by_other, dtypes="float", method=False, function=False)(body)


_gammainv("gammaincinv", "gammaincinv", 1, "The x with gammainc(input, x) = other.")
_gammainv("gammainccinv", "gammainccinv", -1, "The x with gammaincc(input, x) = other.")


# Euler's integrals (DLMF 5.12) ----------------------------------------------------------------------------------------


def _euler(name, factor, doc):
    def body(xp, a: Array, b: Array):
        real_only(name, a, b)
        return getattr(xp.special, name)(*alike(xp, a, b))

    def by(parameter):
        def partial(ops, a, b, y):
            a, b = array_of(ops, a, y), array_of(ops, b, y)
            slope = -(ops.digamma_difference(a, b) if parameter == "a" else ops.digamma_difference(b, a))
            return y * slope if factor else slope

        return partial

    body.__doc__ = doc
    elementwise(name=name, a=by("a"), b=by("b"), dtypes="float", method=False, function=False)(body)


_euler("betaln", False, "The logarithm of the absolute value of the beta function.")
_euler("beta", True, "The beta function, gamma(a) * gamma(b) / gamma(a + b).")


def _gamma_partial(ops, input, y):
    return y * (ops.special_function(input, "psi") if kind_of(input) == "c" else ops.digamma(input))


@elementwise(input=_gamma_partial, dtypes="float", method=False, function=False)
def gamma(xp, input: Array):
    """The gamma function."""
    return xp.special.gamma(input)


# the beta distribution (DLMF 8.17) ----------------------------------------------------------------------------------


def beta_density(ops, a, b, x, orders=(0, 0)):
    """x ** (a - 1) * (1 - x) ** (b - 1) / B(a, b), or its derivative by a and b."""
    p = ops.exp(ops.xlogy(a - 1, x) + ops.special_xlog1py(b - 1, -x) - ops.betaln(a, b))
    if not any(orders):
        return p
    inner = ops.where((x > 0) & (x < 1), x, 0.5)
    return p * relative_derivative(ops, beta_slope, orders, (a, b), (ops.log(inner), ops.log1p(-inner)))


def _betainc_by_x(ops, a, b, x, orders):
    return beta_density(ops, array_of(ops, a, x), array_of(ops, b, x), x, orders)


@elementwise(
    a=lambda ops, a, b, x, orders: ops.betainc(a, b, x, (orders[0] + 1, orders[1])),
    b=lambda ops, a, b, x, orders: ops.betainc(a, b, x, (orders[0], orders[1] + 1)),
    x=_betainc_by_x,
    dtypes="float",
    method=False,
    function=False,
)
def betainc(xp, a: Array, b: Array, x: Array, orders=(0, 0)):
    """The regularized incomplete beta function, or its derivative of the given orders by a and b."""
    real_only("betainc", a, b, x)
    a, b, x = alike(xp, a, b, x)
    if not any(orders):
        return xp.special.betainc(a, b, x)
    with xp.errstate(all="ignore"):
        p, q, t = _spread(xp, a, b, x)
        return xp.astype(beta_integral(xp, p, q, t, orders), x.dtype)


def _betaincinv_by(position):
    def partial(ops, a, b, y):
        a, b = array_of(ops, a, y), array_of(ops, b, y)
        return -ops.betainc(a, b, y, position) / beta_density(ops, a, b, y)

    return partial


@elementwise(
    a=_betaincinv_by((1, 0)),
    b=_betaincinv_by((0, 1)),
    x=lambda ops, a, b, y: 1 / beta_density(ops, array_of(ops, a, y), array_of(ops, b, y), y),
    dtypes="float",
    method=False,
    function=False,
)
def betaincinv(xp, a: Array, b: Array, x: Array):
    """The y with betainc(a, b, y) = x."""
    real_only("betaincinv", a, b, x)
    return xp.special.betaincinv(*alike(xp, a, b, x))


# Student's t --------------------------------------------------------------------------------------------------------


def student_density(ops, df, t, order=0):
    """The density of Student's t distribution, or its derivative by the degrees of freedom."""
    p = ops.exp(log_student_density(ops, (df,), (t,)))
    return p * relative_derivative(ops, student_slope, (order,), (df,), (t,)) if order else p


@elementwise(
    df=lambda ops, df, t, order: ops.stdtr(df, t, order + 1),
    t=lambda ops, df, t, order: student_density(ops, array_of(ops, df, t), t, order),
    dtypes="float",
    method=False,
    function=False,
)
def stdtr(xp, df: Array, t: Array, order=0):
    """The distribution function of Student's t, or its derivative of an order by the degrees of freedom."""
    real_only("stdtr", df, t)
    df, t = alike(xp, df, t)
    if not order:
        return xp.special.stdtr(df, t)
    with xp.errstate(all="ignore"):
        parameter, x = _spread(xp, df, t)
        return xp.astype(student_integral(xp, parameter, x, order), t.dtype)


def _stdtrit_by_df(ops, df, y):
    df = array_of(ops, df, y)
    return -ops.stdtr(df, y, 1) / student_density(ops, df, y)


@elementwise(
    df=_stdtrit_by_df,
    p=lambda ops, df, y: 1 / student_density(ops, array_of(ops, df, y), y),
    dtypes="float",
    method=False,
    function=False,
)
def stdtrit(xp, df: Array, p: Array):
    """The t with stdtr(df, t) = p."""
    real_only("stdtrit", df, p)
    return xp.special.stdtrit(*alike(xp, df, p))
