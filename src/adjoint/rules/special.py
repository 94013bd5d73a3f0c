"""Special functions: error functions, gamma functions, Bessel functions, orthogonal polynomials and related ones.

Values come from scipy.special. Derivatives are formulas of the DLMF (dlmf.nist.gov); its equations are named beside the
rules. If the derivatives of a function belong to its family, the family is declared by order. So derivatives of any
order are sums of values of the family, without a division by the argument that would make them undefined or inexact
near 0.
"""

from itertools import islice
from math import comb, factorial

from adjoint.arrays.dtypes import from_numpy_dtype, kind_of
from adjoint.runtime.caches import memoize

from .declare import Array, Numeric, elementwise
from .elementwise import PI
from .refusals import is_number

LOG_PI = 1.1447298858494002
LOG_TWO_PI = 1.8378770664093456
TWO_OVER_ROOT_PI = 1.1283791670955126
ROOT_TWO = 1.4142135623730951
ROOT_TWO_PI = 2.5066282746310002


def real_only(function, *operands):
    """Raise NotImplementedError, in torch's words, if an operand is complex."""
    refuse_operands(function, "c", *operands)


def refuse_operands(function, kinds, *operands):
    """Raise NotImplementedError, in torch's words, if an operand has a type of these kinds (NumPy's letters)."""
    for value in operands:
        kind = getattr(value, "dtype", None)
        if kind is not None and kind_of(value) in kinds:
            raise NotImplementedError(f"\"{function}\" not implemented for '{from_numpy_dtype(kind).long_name}'")


def no_derivative(name):
    """The partial derivative by an argument without a formula: it raises an error."""

    def partial():
        raise NotImplementedError(f"the derivative for '{name}' is not implemented.")

    return partial


def unary(name, kernel, partial, *, label=None, doc="", **options):
    """Declare a function of one real argument by its name in scipy.special; of torch.special only, if named so."""
    label = label or f"{name.removeprefix('special_')}_cpu"

    def body(xp, input: Array):
        real_only(label, input)
        return getattr(xp.special, kernel)(input)

    hidden = {"method": False, "function": False} if name.startswith("special_") else {"inplace": True}
    rule = elementwise(name=name, input=partial, dtypes="float", **{**hidden, **options})
    return rule(_document(body, doc))


def _document(body, doc):
    body.__doc__ = doc
    return body


def alike(xp, *operands):
    """Operands, arrays or numbers, as arrays of one dtype: scipy.special would compute with numbers in float64."""
    kind = xp.result_type(*operands)
    return [xp.asarray(value, dtype=kind) for value in operands]


def array_of(ops, value, model):
    """An argument that may be a number as an array of the shape of `model`."""
    return ops.full_like(model, value) if is_number(value) else value


# error functions and the normal distribution (DLMF 7.2, 7.10) -------------------------------------------------------


def growth_of_tail(ops, y, tail, factor):
    """factor * exp(y ** 2), where erfc(abs(y)) is known: far out a rounded y would tell less of it."""
    size = ops.abs(y)
    far = (size > 2) & (size < float("inf"))
    by_tail = factor * ops.special_erfcx(ops.where(far, size, 2)) / ops.where(far, tail, 1)
    return ops.where(far, by_tail, factor * ops.exp(ops.square(ops.where(far, 0, y))))


erf = unary(
    "erf",
    "erf",
    lambda ops, input: TWO_OVER_ROOT_PI * ops.exp(-input * input),
    label="erf_vml_cpu",
    doc="The error function.",
)
erfc = unary(
    "erfc",
    "erfc",
    lambda ops, input: -TWO_OVER_ROOT_PI * ops.exp(-input * input),
    label="erfc_vml_cpu",
    doc="1 - erf(input), exact where that is small.",
)
erfinv = unary(
    "erfinv",
    "erfinv",
    lambda ops, input: ops.exp(ops.square(ops.erfinv(input))) / TWO_OVER_ROOT_PI,
    label="erfinv_vml_cpu",
    doc="The inverse of the error function; infinite at -1 and 1.",
)
erfcx = unary(
    "special_erfcx",
    "erfcx",
    lambda ops, input, y: -2 * y * ops.erfcx_tail(input),
    doc="exp(input ** 2) * erfc(input).",
)
ndtr = unary(
    "special_ndtr",
    "ndtr",
    lambda ops, input: ops.exp(-0.5 * input * input) / ROOT_TWO_PI,
    label="erf_vml_cpu",
    doc="The distribution function of the standard normal distribution.",
)


@elementwise(
    input=lambda ops, input, y: -ROOT_TWO * y * ops.erfcx_tail(input / -ROOT_TWO), method=False, function=False
)
def normal_hazard(xp, input: Array):
    """The derivative of log_ndtr: the normal density over the distribution function."""
    return (2 / ROOT_TWO_PI) / xp.special.erfcx(input / -ROOT_TWO)


@elementwise(
    name="special_log_ndtr",
    input=lambda ops, input: ops.normal_hazard(input),
    dtypes="float",
    method=False,
    function=False,
)
def log_ndtr(xp, input: Array):
    """log(ndtr(input)), exact where ndtr is 0."""
    real_only("log_ndtr_cpu", input)
    # as SciPy's, by functions with loops by vectors
    x = xp.astype(input, xp.float64)
    left, scaled = x < -1, x / ROOT_TWO
    below = xp.where(left, -scaled, 1)
    with xp.errstate(divide="ignore", over="ignore"):
        tail = xp.log(0.5 * xp.special.erfcx(below)) - below * below
        return xp.astype(xp.where(left, tail, xp.log1p(-0.5 * xp.special.erfc(xp.where(left, 1, scaled)))), input.dtype)


ndtri = unary(
    "special_ndtri",
    "ndtri",
    lambda ops, input, y: growth_of_tail(ops, y / ROOT_TWO, 2 * ops.minimum(input, 1 - input), ROOT_TWO_PI),
    doc="The inverse of ndtr; infinite at 0 and 1.",
)

# logarithms ---------------------------------------------------------------------------------------------------------

entr = unary(
    "special_entr",
    "entr",
    lambda ops, input: -1 - ops.log(input),
    doc="-input * log(input); 0 at 0, -inf below.",
)


def _logit_partial(ops, g, input, eps):
    if eps is None:
        in_domain = (input >= 0) & (input <= 1)
        nan = float("nan")
        return ops.where(in_domain, g / (input * (1 - input)), nan)
    in_domain = (input >= eps) & (input <= 1 - eps)
    safe = ops.where(in_domain, input, 0.5)
    return ops.where(in_domain, g / (safe * (1 - safe)), 0)


@elementwise(input=_logit_partial, dtypes="float", inplace=True)
def logit(xp, input: Array, eps: Numeric = None):
    """log(input / (1 - input)), for input clamped to [eps, 1 - eps] where eps is given."""
    real_only("logit_cpu", input)
    if eps is not None:
        input = xp.clip(input, eps, 1 - eps)
    odds = input / (1 - input)
    # near 1/2, where the odds are near 1, by their difference from 1
    middle = (input > 0.25) & (input < 0.75)
    return xp.where(middle, xp.log1p(xp.where(middle, (input - 0.5) / (0.5 * (1 - input)), 0)), xp.log(odds))


def _product_with_log(name, kernel, offset, **options):
    """input * log(offset + other), 0 where input is 0 (but NaN where other is NaN)."""
    label = f"{name.removeprefix('special_')}_cpu"
    log = "log1p" if offset else "log"

    def body(xp, input: Array, other: Array):
        real_only(label, input, other)
        return getattr(xp.special, kernel)(*alike(xp, input, other))

    def by_input(ops, input, other):
        # where input is 0, the derivative is 0 for each value of other without a logarithm
        other = array_of(ops, other, input)
        zero = (input == 0) & (other <= -offset)
        # 1.0 makes integers float64: NumPy takes the logarithms of small ones in half precision
        return ops.where(zero, 0, getattr(ops, log)(ops.where(zero, 1.0, other)))

    def by_other(input, other):
        return input / (other + offset if offset else other)

    body.__doc__ = f"input * {log}(other), 0 where input is 0."
    return elementwise(name=name, input=by_input, other=by_other, dtypes="float", **options)(body)


def _nodes(stem):
    """The names of a node with two tensors, with a number as the first input, and as the second."""
    return {"": f"{stem}0", "input": f"{stem}1", "other": f"{stem}2"}


xlogy = _product_with_log("xlogy", "xlogy", 0, inplace=True, node=_nodes("XlogyBackward"))
xlog1py = _product_with_log(
    "special_xlog1py", "xlog1py", 1, method=False, function=False, node=_nodes("SpecialXlog1PyBackward")
)

# gamma functions (DLMF 5.2, 5.15, 8.2) ------------------------------------------------------------------------------


def _check_order(input, n):
    if isinstance(n, bool) or not isinstance(n, int):
        raise TypeError(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")


#: Bernoulli's numbers of the orders 2, 4, 6 ...
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)


def _trigamma(xp, input):
    """The sum of (input + k) ** -2, k >= 0: seven terms, then Euler and Maclaurin's formula (DLMF 5.11, 5.15.5-8)."""
    below = input < 0.5
    x = xp.where(below, 1 - input, input)
    total = 1 / xp.square(x)
    for k in range(1, 7):
        total = total + 1 / xp.square(x + k)
    z = 1 / (x + 7)
    w = z * z
    tail = 0.0
    for bernoulli in reversed(BERNOULLI):
        tail = w * (bernoulli + tail)
    total = total + z + 0.5 * w + z * tail
    # the numbers below 1/2 by reflection
    sine = xp.sin(PI * xp.where(below, input - xp.round(input), 0.5))
    return xp.where(below, PI * PI / (sine * sine) - total, total)


@elementwise(
    input=lambda ops, n, input: ops.polygamma(input, n + 1),
    dtypes="float",
    function=False,
    inplace=True,
    check=_check_order,
)
def polygamma(xp, input: Array, n: Numeric):
    """The n-th derivative of digamma."""
    real_only("polygamma", input)
    if n == 0:
        return _digamma(xp, input)
    if n == 1:
        return xp.astype(_trigamma(xp, xp.astype(input, xp.float64)), input.dtype)
    return xp.astype(xp.special.polygamma(n, input), input.dtype)


def _digamma(xp, input):
    """SciPy's values, but close to the poles: there it multiplies by pi before it takes the rest."""
    rest = input - xp.round(input)
    near = (input < -0.5) & (xp.abs(rest) < 0.25) & (rest != 0)
    # by reflection (DLMF 5.5.4)
    values = xp.special.psi(xp.where(near, 1 - input, input))
    return xp.where(near, values - PI / xp.tan(PI * xp.where(near, rest, 0.25)), values)


@elementwise(input=lambda ops, input: ops.polygamma(input, 1), dtypes="float", inplace=True)
def digamma(xp, input: Array):
    """The derivative of lgamma."""
    real_only("digamma", input)
    return _digamma(xp, input)


@elementwise(input=lambda ops, input: ops.digamma(input), dtypes="float", inplace=True)
def lgamma(xp, input: Array):
    """The logarithm of the absolute value of the gamma function; inf at both ends."""
    real_only("lgamma_vml_cpu", input)
    return xp.where(input == float("-inf"), -input, xp.special.gammaln(input))


gammaln = unary(
    "gammaln",
    "gammaln",
    lambda ops, input: ops.digamma(input),
    doc="lgamma(input) as SciPy has it, which is -inf at -inf.",
    method=False,
    function=False,
    inplace=False,
)


#: The maximal number of terms, or of steps of a recurrence.
MOST_STEPS = 10**5


def _check_dimension(input, p):
    if p < 1:
        raise RuntimeError("p has to be greater than or equal to 1")
    if p > MOST_STEPS:
        raise RuntimeError(f"mvlgamma(): p may be at most {MOST_STEPS}, as it counts the terms of a sum, but got {p}")
    if kind_of(input._array) == "b":
        raise RuntimeError("The input tensor may not be a boolean tensor.")


def _mvlgamma_partial(ops, input, p):
    return sum([ops.digamma(input - 0.5 * j) for j in range(1, p)], ops.digamma(input))


@elementwise(input=_mvlgamma_partial, dtypes="float", inplace=True, check=_check_dimension)
def mvlgamma(xp, input: Array, p: Numeric):
    """The logarithm of the gamma function of dimension p (DLMF 35.3.4)."""
    real_only("mvlgamma", input)
    return sum([xp.special.gammaln(input - 0.5 * j) for j in range(p)], 0.25 * p * (p - 1) * LOG_PI)


def _incomplete_gamma(name, kernel, sign, doc):
    def body(xp, input: Array, other: Array):
        refuse_operands(f"{name}_cpu", "biuc", input, other)
        return getattr(xp.special, kernel)(*alike(xp, input, other))

    def by_other(ops, other, input):
        # x ** (a - 1) * exp(-x) / gamma(a); DLMF 8.8.13
        a = array_of(ops, input, other)
        # xlogy(0, other) is 0 for a = 1, but there is no density of negative numbers
        size = ops.where(other < 0, float("nan"), other)
        return sign * ops.exp(ops.xlogy(a - 1, size) - other - ops.lgamma(a))

    body.__doc__ = doc

    def by_input(ops, input, other):
        return sign * ops.gammainc_derivative(input, other, 1)

    return elementwise(name=name, input=by_input, other=by_other, inplace=True)(body)


igamma = _incomplete_gamma("igamma", "gammainc", 1, "The regularized lower incomplete gamma function P(input, other).")
igammac = _incomplete_gamma(
    "igammac", "gammaincc", -1, "The regularized upper incomplete gamma function Q(input, other)."
)


@elementwise(
    input=no_derivative("zeta"),
    other=lambda ops, input, other: -input * ops.special_zeta(input + 1, other),
    dtypes="float",
    method=False,
    function=False,
    name="special_zeta",
    node={"": "SpecialZetaBackward0", "input": "SpecialZetaBackward1", "other": "SpecialZetaBackward2"},
)
def zeta(xp, input: Array, other: Array):
    """Hurwitz's zeta function, the sum of (other + k) ** -input over k >= 0 (DLMF 25.11.1, 25.11.17)."""
    real_only("zeta_cpu", input, other)
    return xp.special.zeta(*alike(xp, input, other))


def _tail_of_zeta(xp, s, a, order):
    """The n-th derivative by s of the terms from a on, by Euler and Maclaurin's formula (DLMF 25.11.7).

    Each summand is a power of a times a factor, 1 / (s - 1) or s (s + 1) ...; the factor depends on s, too.
    """
    log_a = xp.log(a)
    powers = [(-log_a) ** k * a**-s for k in range(order + 1)]
    integral = [(-1) ** k * factorial(k) / (s - 1) ** (k + 1) for k in range(order + 1)]
    total = a * _product_rule(integral, powers) + 0.5 * powers[order]
    rising = [s, 1.0, *[0.0] * order][: order + 1]
    for j, bernoulli in enumerate(BERNOULLI):
        scale = bernoulli / factorial(2 * j + 2)
        total = total + scale * _product_rule(rising, powers) * a ** (-2 * j - 1)
        for step in (2 * j + 1, 2 * j + 2):
            rising = [(s + step) * r + k * (rising[k - 1] if k else 0.0) for k, r in enumerate(rising)]
    return total


def _product_rule(first, second):
    """The highest derivative of a product of two functions, from all of their derivatives."""
    order = len(first) - 1
    return sum([comb(order, k) * first[k] * second[order - k] for k in range(order + 1)])


#: So many terms of the sum are added before its end is estimated.
_TERMS_OF_ZETA = 16


def _hurwitz_by_other(ops, input, other, order):
    slope = -input * ops.hurwitz_zeta(input + 1, other, order)
    return slope - order * ops.hurwitz_zeta(input + 1, other, order - 1) if order else slope


@elementwise(
    input=lambda ops, input, other, order: ops.hurwitz_zeta(input, other, order + 1),
    other=_hurwitz_by_other,
    dtypes="float",
    method=False,
    function=False,
    scalars=False,
)
def hurwitz_zeta(xp, input: Array, other: Array, order=0):
    """Hurwitz's zeta function for input > 1, or its derivative of an order by the input for input > -0.6; other > 0."""
    real_only("hurwitz_zeta", input, other)
    input, other = alike(xp, input, other)
    if not order:
        return xp.special.zeta(input, other)
    with xp.errstate(all="ignore"):
        s, a = xp.broadcast_arrays(*[xp.asarray(value, dtype=xp.float64) for value in (input, other)])
        in_domain = (s > -0.6) & (s != 1) & (a > 0)
        s, a = xp.where(in_domain, s, 2.0), xp.where(in_domain, a, 1.0)
        terms = [(-xp.log(a + k)) ** order * (a + k) ** -s for k in range(_TERMS_OF_ZETA)]
        total = sum(terms) + _tail_of_zeta(xp, s, a + _TERMS_OF_ZETA, order)
        return xp.astype(xp.where(in_domain, total, xp.nan), input.dtype)


def riemann_slope(ops, input):
    """The derivative of Riemann's zeta function of real numbers; left of -1/2 by reflection (DLMF 25.4.1)."""
    is_left = input < -0.5
    left = ops.where(is_left, input, -1.0)
    mirrored, angle, one = 1 - left, 0.5 * PI * left, ops.ones_like(input)
    zeta, slope = ops.hurwitz_zeta(mirrored, one), ops.hurwitz_zeta(mirrored, one, 1)
    waves = ops.sin(angle) * ((LOG_TWO_PI - ops.digamma(mirrored)) * zeta - slope) + 0.5 * PI * ops.cos(angle) * zeta
    by_reflection = 2 * ops.exp((left - 1) * LOG_TWO_PI + ops.lgamma(mirrored)) * waves
    return ops.where(is_left, by_reflection, ops.hurwitz_zeta(ops.where(is_left, 2.0, input), one, 1))


# Bessel functions: J' = (J[n-1] - J[n+1]) / 2, I' = (I[n-1] + I[n+1]) / 2 (DLMF 10.6.1, 10.29.1) --------------------


def _series(xp, input, order, sign):
    """J (sign -1) or I (sign 1) of an order for arguments below 1: ten terms of DLMF 10.2.2 and 10.25.2."""
    half = 0.5 * input
    square = sign * half * half
    total, *others = _coefficients(order)
    for coefficient in others:
        total = total * square + coefficient
    return total * half**order


@memoize(16)
def _coefficients(order):
    # the terms of the series, from the last one on
    return [1 / (factorial(k) * factorial(k + order)) for k in range(9, -1, -1)]


def _by_recurrence(xp, input, zeroth, first, sign):
    """Order 2 from orders 0 and 1, for arguments of 1 and more; others count as 1."""
    divisor = xp.where(xp.abs(input) < 1, 1, input)
    # I0 and I1 are infinite together
    return sign * (zeroth - xp.where(xp.isinf(zeroth), 0, 2 * first / divisor))


def _second_order(xp, input, zeroth, first, sign):
    """Order 2 from orders 0 and 1 by recurrence, from the series where that would cancel."""
    small = xp.abs(input) < 1
    by_series = _series(xp, xp.where(small, input, 0), 2, sign)
    return xp.where(small, by_series, _by_recurrence(xp, input, zeroth, first, sign))


def _j(ops, input, order):
    operations = {0: ops.special_bessel_j0, 1: ops.special_bessel_j1}
    return operations[order](input) if order in operations else ops.bessel_j(input, order)


@elementwise(
    input=lambda ops, input, order: 0.5 * (_j(ops, input, order - 1) - ops.bessel_j(input, order + 1)),
    method=False,
    function=False,
)
def bessel_j(xp, input: Array, order):
    """The Bessel function of the first kind of an order from 2 on."""
    if order > 2:
        return xp.special.jv(order, input)
    return _second_order(xp, input, xp.special.j0(input), xp.special.j1(input), -1)


def _i(ops, input, order, scaled):
    name = {
        (0, False): "i0", (1, False): "special_i1", (0, True): "special_i0e", (1, True): "special_i1e"
    }.get((order, scaled))  # fmt: skip
    return getattr(ops, name)(input) if name else ops.bessel_i(input, order, scaled)


def _i_partial(ops, input, order, scaled):
    # the scaled functions exp(-|x|) I(x) have a kink at 0; there the derivative of I is used
    slope = 0.5 * (_i(ops, input, order - 1, scaled) + _i(ops, input, order + 1, scaled))
    return slope - ops.sign(input) * _i(ops, input, order, scaled) if scaled else slope


def _without_denormal(xp, function, order, input):
    """SciPy's function of an order from 2 on, which is 0 where its argument is so small that SciPy's is NaN."""
    small = xp.abs(input) < 1e-170
    return (
        xp.where(small, 0 * input, function(order, xp.where(small, 1, input)))
        if xp.any(small)
        else function(order, input)
    )


def _scaled_i(xp, order, input):
    """exp(-abs(input)) I, from orders 0 and 1 by recurrence where SciPy's is NaN for arguments as large as these."""
    far = xp.abs(input) > 1e8
    if not xp.any(far):
        return xp.special.ive(order, input)
    x = xp.where(far, input, 1e8)
    before, now = xp.special.i0e(x), xp.special.i1e(x)
    for k in range(1, order):
        before, now = now, before - 2 * k * now / x
    return xp.where(far, now, xp.special.ive(order, xp.where(far, 1, input)))


@elementwise(input=_i_partial, method=False, function=False)
def bessel_i(xp, input: Array, order, scaled=False):
    """The modified Bessel function of the first kind of an order from 2 on; times exp(-abs(input)) if scaled."""
    if order > 2:
        return _scaled_i(xp, order, input) if scaled else _without_denormal(xp, xp.special.iv, order, input)
    if not scaled:
        return _second_order(xp, input, xp.special.i0(input), xp.special.i1(input), 1)
    unscaled = xp.where(xp.abs(input) < 1, input, 0)
    below_one = _series(xp, unscaled, 2, 1) * xp.exp(-xp.abs(unscaled))
    above = _by_recurrence(xp, input, xp.special.i0e(input), xp.special.i1e(input), 1)
    return xp.where(xp.abs(input) < 1, below_one, above)


def _i1e_partial(ops, input, y):
    far = ops.abs(input) > 2
    return ops.where(
        far, ops.scaled_i_difference(input) - y / ops.where(far, input, 2), _i_partial(ops, input, 1, True)
    )


i0 = unary(
    "i0",
    "i0",
    lambda ops, input: ops.special_i1(input),
    label="i0_vml_cpu",
    doc="The modified Bessel function of the first kind of order 0.",
)
i1 = unary(
    "special_i1",
    "i1",
    lambda ops, input: _i_partial(ops, input, 1, False),
    doc="The modified Bessel function of the first kind of order 1.",
)
i0e = unary(
    "special_i0e",
    "i0e",
    # PyTorch's node shows the result
    lambda ops, input, y: -ops.sign(input) * ops.scaled_i_difference(input),
    doc="exp(-abs(input)) * i0(input).",
    node="SpecialI0EBackward0",
)
i1e = unary(
    "special_i1e",
    "i1e",
    _i1e_partial,
    doc="exp(-abs(input)) * i1(input).",
    node="SpecialI1EBackward0",
)


@elementwise(
    name="special_bessel_j0",
    input=lambda ops, input: -ops.special_bessel_j1(input),
    dtypes="float",
    method=False,
    function=False,
)
def bessel_j0(xp, input: Array):
    """The Bessel function of the first kind of order 0."""
    real_only("bessel_j0_cpu", input)
    # SciPy's loop in single precision has the same values, and takes twice as long
    return xp.astype(xp.special.j0(xp.astype(input, xp.float64, copy=False)), input.dtype, copy=False)


@elementwise(
    name="special_bessel_j1",
    input=lambda ops, input: 0.5 * (ops.special_bessel_j0(input) - ops.bessel_j(input, 2)),
    dtypes="float",
    method=False,
    function=False,
)
def bessel_j1(xp, input: Array):
    """The Bessel function of the first kind of order 1."""
    real_only("bessel_j1_cpu", input)
    # SciPy multiplies by the argument first, and loses digits where the product is too small
    return xp.where(xp.abs(input) < 1e-290, 0.5 * input, xp.special.j1(input))


bessel_y0 = unary(
    "special_bessel_y0",
    "y0",
    lambda ops, input: -ops.special_bessel_y1(input),
    doc="The Bessel function of the second kind of order 0.",
)
bessel_y1 = unary(
    "special_bessel_y1",
    "y1",
    lambda ops, input, y: ops.special_bessel_y0(input) - y / input,
    doc="The Bessel function of the second kind of order 1.",
)
modified_bessel_k0 = unary(
    "special_modified_bessel_k0",
    "k0",
    lambda ops, input: -ops.special_modified_bessel_k1(input),
    doc="The modified Bessel function of the second kind of order 0.",
)
modified_bessel_k1 = unary(
    "special_modified_bessel_k1",
    "k1",
    lambda ops, input, y: -ops.special_modified_bessel_k0(input) - y / input,
    doc="The modified Bessel function of the second kind of order 1.",
)
scaled_modified_bessel_k0 = unary(
    "special_scaled_modified_bessel_k0",
    "k0e",
    lambda ops, input: -ops.scaled_k_difference(input),
    doc="exp(input) * modified_bessel_k0(input).",
)
scaled_modified_bessel_k1 = unary(
    "special_scaled_modified_bessel_k1",
    "k1e",
    lambda ops, input, y: ops.scaled_k_difference(input) - y / input,
    doc="exp(input) * modified_bessel_k1(input).",
)


@elementwise(
    input=lambda ops, input, order: (
        -ops.spherical_bessel_j(input, 1)
        if order == 0
        else (order * ops.spherical_bessel_j(input, order - 1) - (order + 1) * ops.spherical_bessel_j(input, order + 1))
        / (2 * order + 1)
    ),
    dtypes="float",
    method=False,
    function=False,
    node="SpecialSphericalBesselJ0Backward0",
)
def spherical_bessel_j(xp, input: Array, order=0):
    """The spherical Bessel function of the first kind (DLMF 10.47.3, 10.51.2)."""
    if order == 1:
        wide = xp.complex128 if kind_of(input) == "c" else xp.float64
        return xp.astype(_spherical_j1(xp, xp.astype(input, wide)), input.dtype)
    if order == 0:
        return _spherical_j0(xp, input)
    return xp.astype(_without_denormal(xp, xp.special.spherical_jn, order, input), input.dtype)


def _spherical_j0(xp, x):
    # DLMF 10.49.3
    zero, endless = x == 0, xp.isinf(x)
    divisor = xp.where(zero | endless, 1, x)
    return xp.where(zero, 1, xp.where(endless, 0, xp.sin(divisor) / divisor))


def _spherical_j1(xp, x):
    # DLMF 10.49.3, faster than scipy; near 0, where it cancels, the power series 10.53.1
    near, endless = xp.abs(x) < 1, xp.isinf(x)
    far = xp.where(near | endless, 1, x)
    closed = (xp.sin(far) / far - xp.cos(far)) / far
    square, series = xp.where(near, x * x, 0), 1
    for k in range(8, 0, -1):
        series = 1 - square * series / (2 * k * (2 * k + 3))
    return xp.where(near, xp.where(near, x, 0) / 3 * series, xp.where(endless, 0, closed))


@elementwise(
    input=lambda ops, input: -PI * ops.spherical_bessel_j(PI * input, 1),
    dtypes="float",
    inplace=True,
)
def sinc(xp, input: Array):
    """sin(pi * input) / (pi * input), 1 at 0."""
    return xp.sinc(input)


@elementwise(
    input=lambda ops, input, order: ops.airy_ai(input, 1) if order == 0 else input * ops.airy_ai(input, 0),
    dtypes="float",
    method=False,
    function=False,
    node="SpecialAiryAiBackward0",
)
def airy_ai(xp, input: Array, order=0):
    """Airy's function Ai, or its derivative; Ai'' = input * Ai (DLMF 9.2.1)."""
    real_only("airy_ai_cpu", input)
    return xp.special.airy(input)[order]


# orthogonal polynomials ---------------------------------------------------------------------------------------------

#: By family: the slope and value at 0 of the polynomial of degree 1, and, by degree k, the numbers a, b, c of
#: p[k+1] = (a x + b) p[k] - c p[k-1]; p[0] is 1 (DLMF 18.9.1, tables 18.9.1 and 18.9.2, 18.5.1-4 for T, U, V, W).
_RECURRENCES = {
    "chebyshev_polynomial_t": (1, 0, lambda k: (2, 0, 1)),
    "chebyshev_polynomial_u": (2, 0, lambda k: (2, 0, 1)),
    "chebyshev_polynomial_v": (2, -1, lambda k: (2, 0, 1)),
    "chebyshev_polynomial_w": (2, 1, lambda k: (2, 0, 1)),
    "hermite_polynomial_h": (2, 0, lambda k: (2, 0, 2 * k)),
    "hermite_polynomial_he": (1, 0, lambda k: (1, 0, k)),
    "laguerre_polynomial_l": (-1, 1, lambda k: (-1 / (k + 1), (2 * k + 1) / (k + 1), k / (k + 1))),
    "legendre_polynomial_p": (1, 0, lambda k: ((2 * k + 1) / (k + 1), 0, k / (k + 1))),
}
POLYNOMIALS = (
    *_RECURRENCES,
    "shifted_chebyshev_polynomial_t",
    "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v",
    "shifted_chebyshev_polynomial_w",
)


def _polynomials(x, family, order):
    """The derivatives of one order of the polynomials of degree 0, 1, 2 ... at x, in turn.

    A derivative that is constant in x is returned as a number.
    """
    slope, value, recurrence = _RECURRENCES[family]
    # of two consecutive degrees the derivatives of the orders 0 to `order`; Leibniz' rule takes them to the next degree
    before = [1.0, *[0.0] * order]
    now = [slope * x + value, float(slope), *[0.0] * order][: order + 1]
    yield before[order]
    k, factor, multiplied = 1, x, 1
    while True:
        yield now[order]
        a, b, c = recurrence(k)
        # most families have b = 0 and constant factors
        factor = factor if a == multiplied else a * x
        multiplied = a
        after = []
        for i in range(order + 1):
            raised = (factor + b if b else factor) * now[i] - (before[i] if c == 1 else c * before[i])
            after.append(raised + i * a * now[i - 1] if i else raised)
        before, now, k = now, after, k + 1


@elementwise(
    input=lambda ops, input, n, family, order: ops.polynomial(input, n, family, order + 1),
    dtypes="float",
    method=False,
    function=False,
)
def polynomial(xp, input: Array, n: Array, family, order=0):
    """A polynomial of degree n, cut to an int, or its derivative of an order; 0 for n below 0."""
    real_only(f"{family}_cpu", input, n)
    result_type = xp.result_type(input, n)
    if is_number(input):
        input = xp.asarray(input, dtype=result_type)
    # computed in double precision, as the recurrences lose digits
    x, factor = xp.astype(input, xp.float64), 1.0
    if family.startswith("shifted_"):
        x, factor = 2 * x - 1, 2.0**order
    rising = _polynomials(x, family.removeprefix("shifted_"), order)
    if is_number(n) and n >= 0:
        _refuse_degree(family, int(n))
        (values,) = islice(rising, int(n), int(n) + 1)
        values = xp.full_like(x, values) if is_number(values) else values
        return xp.astype(values if factor == 1 else factor * values, result_type)
    degrees = xp.trunc(xp.asarray(n, dtype=xp.float64))
    result = xp.zeros(xp.broadcast_shapes(x.shape, degrees.shape), dtype=xp.float64)
    highest = int(xp.max(degrees, initial=-1))
    _refuse_degree(family, highest)
    for degree, values in zip(range(highest + 1), rising, strict=False):
        if xp.any(degrees == degree):
            result = xp.where(degrees == degree, values, result)
    return xp.astype(factor * result, result_type)


def _refuse_degree(family, degree):
    if degree > MOST_STEPS:
        raise RuntimeError(
            f"{family}(): the degree may be at most {MOST_STEPS}, as the recurrence takes as many steps, "
            f"but got {degree}"
        )
