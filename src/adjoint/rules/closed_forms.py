"""SciPy's special functions whose derivatives have a closed form: tables of slopes, and two operations that read them.

`special_function` is a function of one real or complex variable, `special_function_of_two` one of two.
Values are SciPy's, also at poles, at infinity and for tiny arguments, where a formula would lose digits. Each function
has its SciPy name. Numbers before its variable (orders, degrees) are `parameters`.

A slope uses other functions of the tables, so derivatives of any order exist. The numbers of equations refer to the
DLMF.
"""

from math import gamma, pi, sqrt

from adjoint.arrays.dtypes import kind_of

from .bessel import exprel_slope
from .declare import Array, elementwise
from .special import BERNOULLI, ROOT_TWO, ROOT_TWO_PI, TWO_OVER_ROOT_PI, alike, riemann_slope

# one variable ---------------------------------------------------------------------------------------------------------


class _Family:
    """The functions of the table at one argument: f("airy_ai"), f("hyp1f1", 1, 2)."""

    def __init__(self, ops, z):
        self.ops, self.z = ops, z

    def __call__(self, name, *parameters):
        return self.ops.special_function(self.z, name, parameters)


def _part(name, position):
    return lambda xp, z: getattr(xp.special, name)(z)[position]


#: Functions that SciPy returns with their slopes, each a solution of a linear equation of the second order. In the
#: tables name + "p" is the slope.
SOLUTIONS = (
    "pbdv", "pbvv", "pbwa", "mathieu_cem", "mathieu_sem", "mathieu_modcem1", "mathieu_modcem2", "mathieu_modsem1",
    "mathieu_modsem2", "pro_ang1_cv", "pro_rad1_cv", "pro_rad2_cv", "obl_ang1_cv", "obl_rad1_cv", "obl_rad2_cv",
)  # fmt: skip


def _solution(name, position):
    # the characteristic value of a Mathieu function comes after its parameters; only the differential equation uses it
    n = 2 if name.startswith("mathieu") else None
    return lambda xp, z, *parameters: getattr(xp.special, name)(*parameters[:n], z)[position]


def _legendre_of_second_kind(position):
    def kernel(xp, z, m, n):
        if not m:
            return xp.asarray(xp.special.lqn(n, z)[position][n], dtype=z.dtype)
        return xp.asarray(xp.special.lqmn(m, n, z)[position][m, n], dtype=z.dtype)

    return kernel


#: How a function is computed, where it is not one of SciPy's that is called with its parameters first.
KERNELS = {
    **{name + "p" * position: _solution(name, position) for name in SOLUTIONS for position in (0, 1)},
    **{
        name + suffix: _part(name, position)
        for name, *suffixes in (
            ("airye", "_ai", "_aip", "_bi", "_bip"),
            ("itairy", "_ai", "_bi", "_ai_left", "_bi_left"),
            ("iti0k0", "_i", "_k"),
            ("itj0y0", "_j", "_y"),
            ("it2i0k0", "_i", "_k"),
            ("it2j0y0", "_j", "_y"),
        )
        for position, suffix in enumerate(suffixes)
    },
    "lq": _legendre_of_second_kind(0),
    "lqp": _legendre_of_second_kind(1),
    "besselpoly": lambda xp, z, power, v: xp.special.besselpoly(z, power, v),
    "lambertw": lambda xp, z, k: xp.special.lambertw(z, k),
    "complex_polygamma": lambda xp, z, n: _complex_polygamma(xp, z, n),
    # ellipe(1 - p)
    "ellipem1": lambda xp, p: xp.special.ellipe(1 - p),
    **{name: _part("airy", position) for position, name in enumerate(("airy_ai", "airy_aip", "airy_bi", "airy_bip"))},
    **{name: _part("shichi", position) for position, name in enumerate(("shi", "chi"))},
}


def _without_pole(ops, z, at_0, away):
    """A slope that divides by z, with its limit at 0."""
    zero = z == 0
    return ops.where(zero, at_0, away(ops.where(zero, 1, z)))


def _psi(f, ops, z):
    return f("psi") if kind_of(z) == "c" else ops.digamma(z)


def _rgamma(f, ops, z, y):
    if kind_of(z) == "c":
        return -y * f("psi")
    # on the side of the poles by reflection (DLMF 5.5.3)
    is_left = z < 0.5
    w, right = ops.where(is_left, z, 0), ops.where(is_left, 1, z)
    mirrored = ops.gamma(1 - w)
    reflected = mirrored * (ops.cos(pi * w) - ops.digamma(1 - w) * ops.sin(pi * w) / pi)
    return ops.where(is_left, reflected, -y * ops.digamma(right))


def _ellipkm1(f, ops, p, y):
    # DLMF 19.4.1; near p = 1, where that cancels, as a power series in 1 - p
    near = p > 0.5
    far = ops.where(near, 0.25, p)
    other = ops.special_function(far, "ellipkm1"), ops.special_function(far, "ellipem1")
    series = ops.special_function(1 - ops.where(near, p, 1), "hyp2f1", (1.5, 1.5, 2.0))
    return ops.where(near, -0.125 * pi * series, (far * other[0] - other[1]) / (2 * far * (1 - far)))


def _ellipem1(f, ops, p, y):
    # DLMF 19.4.2, likewise
    near = p > 0.5
    far = ops.where(near, 0.25, p)
    other = ops.special_function(far, "ellipkm1") - ops.special_function(far, "ellipem1")
    series = ops.special_function(1 - ops.where(near, p, 1), "hyp2f1", (0.5, 1.5, 2.0))
    return ops.where(near, 0.125 * pi * series, other / (2 * (1 - far)))


def _of_struve(name, sign):
    def slope(f, ops, z, y, v):
        # DLMF 11.4.25-30
        shift = v + 1.5
        power = 0.0 if shift <= 0 and shift == int(shift) else (0.5 * z) ** v / (sqrt(pi) * gamma(shift))
        return 0.5 * (f(name, v - 1) + sign * f(name, v + 1) + power)

    return slope


def _of_hankel(name, scale=0):
    # DLMF 10.6.1; scale: of the exponential in front
    return lambda f, ops, z, y, v: 0.5 * (f(name, v - 1) - f(name, v + 1)) + scale * y


def _of_sphere(name, below, above):
    def slope(f, ops, z, y, n):
        # DLMF 10.51.2, 10.51.5
        if n == 0:
            return above * f(name, 1)
        return (below * n * f(name, n - 1) + above * (n + 1) * f(name, n + 1)) / (2 * n + 1)

    return slope


def _degree(slope):
    """The slope of a polynomial by its degree n; of a constant it is 0."""
    return lambda f, ops, z, y, n, *more: slope(f, n, *more) if n else ops.zeros_like(z)


def _scale(ops, z, scale, shift, name, *parameters):
    return ops.special_function(scale * z + shift, name, parameters)


def _of_legendre(f, ops, z, y, m, v):
    # DLMF 14.9.3, 14.7.10 and 18.9.15: a power of 1 - z ** 2 times a polynomial of Jacobi
    k, order = abs(m), int(abs(m))
    if v == int(v) and k > v:
        return ops.zeros_like(z)
    factor = (-0.5) ** k * gamma(v + k + 1) / gamma(v + 1)
    if m < 0:
        factor *= (-1) ** order * gamma(v - k + 1) / gamma(v + k + 1)
    width = 1 - z * z
    slope = 0.5 * (v + k + 1) * width ** (0.5 * k) * f("eval_jacobi", v - k - 1, k + 1, k + 1) if v != k else 0
    if order:
        slope = slope - k * z * width ** (0.5 * k - 1) * f("eval_jacobi", v - k, k, k)
    return factor * slope


def _by_series(sign):
    """(I0(z) - 1) / z (sign 1), or (1 - J0(z)) / z (sign -1); near 0 their series (DLMF 10.25.2, 10.2.2)."""

    def slope(f, ops, z, y):
        near = abs(z) < 1
        x, far = ops.where(near, z, 0), ops.where(near, 1, z)
        square, series = 0.25 * sign * x * x, 0.0
        for k in range(10, 0, -1):
            series = 1 + series * square / ((k + 1) * (k + 1))
        away = (ops.i0(far) - 1) / far if sign > 0 else (1 - ops.special_bessel_j0(far)) / far
        return ops.where(near, 0.25 * x * series, away)

    return slope


def _scaled_airy(other, factor, sign):
    """The slope of a scaled Airy function: factor * other, and the slope of the scale exp(sign * 2 / 3 * z ** 1.5)."""

    def slope(f, ops, z, y):
        growth = ops.sqrt(ops.where(z > 0, z, 0))
        return factor(z) * f(other) + sign * growth * y

    return slope


def _by_equation(name, second):
    """The slopes of a solution and of its slope. second(ops, z, parameters, value, slope): the second derivative."""
    return {
        name: lambda f, ops, z, y, *parameters: f(name + "p", *parameters),
        name + "p": lambda f, ops, z, y, *parameters: second(ops, z, parameters, f(name, *parameters), y),
    }


def _spheroidal(sign, is_radial):
    # DLMF 30.2.1 with the characteristic value lambda + gamma ** 2; oblate functions are prolate ones at i z
    def second(ops, z, parameters, value, slope):
        m, _, c, cv = parameters
        turn = -1 if is_radial and sign < 0 else 1
        width = 1 - turn * z * z
        return turn * (2 * z * slope - (cv - sign * turn * c * c * z * z - m * m / width) * value) / width

    return second


def _of_mathieu(name):
    # DLMF 28.2.1 with an angle in degrees, and 28.20.1
    def angular(ops, z, parameters, value, slope):
        return -pi / 180 * (parameters[2] - 2 * parameters[1] * ops.cos(pi / 90 * z)) * value

    def radial(ops, z, parameters, value, slope):
        return (parameters[2] - 2 * parameters[1] * ops.cosh(2 * z)) * value

    if "mod" in name:
        return _by_equation(name, radial)
    return _by_equation(name, angular) | {name: lambda f, ops, z, y, *parameters: pi / 180 * f(name + "p", *parameters)}


def _of_second_kind(ops, z, parameters, value, slope):
    # DLMF 14.2.2, of either normalization
    m, n = parameters
    width = 1 - z * z
    return (2 * z * slope - (n * (n + 1) - m * m / width) * value) / width


SLOPES = {
    # solutions of linear equations (DLMF 12.2.2, 12.14.1, 14.2.2)
    **_by_equation("pbdv", lambda ops, z, parameters, value, slope: (0.25 * z * z - parameters[0] - 0.5) * value),
    **_by_equation("pbvv", lambda ops, z, parameters, value, slope: (0.25 * z * z - parameters[0] - 0.5) * value),
    **_by_equation("pbwa", lambda ops, z, parameters, value, slope: (parameters[0] - 0.25 * z * z) * value),
    **_by_equation("lq", _of_second_kind),
    **{key: slope for name in SOLUTIONS if name.startswith("mathieu") for key, slope in _of_mathieu(name).items()},
    **{
        key: slope
        for name, kind in (("pro", 1), ("obl", -1))
        for form in ("ang1", "rad1", "rad2")
        for key, slope in _by_equation(f"{name}_{form}_cv", _spheroidal(kind, form != "ang1")).items()
    },
    "lpmv": _of_legendre,
    # scaled functions of Airy of a real variable (DLMF 9.2.1)
    "airye_ai": _scaled_airy("airye_aip", lambda z: 1, 1),
    "airye_aip": _scaled_airy("airye_ai", lambda z: z, 1),
    "airye_bi": _scaled_airy("airye_bip", lambda z: 1, -1),
    "airye_bip": _scaled_airy("airye_bi", lambda z: z, -1),
    # integrals of functions of Airy, Bessel and Struve from 0 or to infinity
    "itairy_ai": lambda f, ops, z, y: f("airy_ai"),
    "itairy_bi": lambda f, ops, z, y: f("airy_bi"),
    "itairy_ai_left": lambda f, ops, z, y: ops.special_function(-z, "airy_ai"),
    "itairy_bi_left": lambda f, ops, z, y: ops.special_function(-z, "airy_bi"),
    "iti0k0_i": lambda f, ops, z, y: ops.i0(z),
    "iti0k0_k": lambda f, ops, z, y: ops.special_modified_bessel_k0(z),
    "itj0y0_j": lambda f, ops, z, y: ops.special_bessel_j0(z),
    "itj0y0_y": lambda f, ops, z, y: ops.special_bessel_y0(z),
    "it2i0k0_i": _by_series(1),
    "it2i0k0_k": lambda f, ops, z, y: -ops.special_modified_bessel_k0(z) / z,
    "it2j0y0_j": _by_series(-1),
    "it2j0y0_y": lambda f, ops, z, y: -ops.special_bessel_y0(z) / z,
    "itstruve0": lambda f, ops, z, y: f("struve", 0),
    "itmodstruve0": lambda f, ops, z, y: f("modstruve", 0),
    "it2struve0": lambda f, ops, z, y: _without_pole(
        ops, z, -2 / pi, lambda x: -ops.special_function(x, "struve", (0,)) / x
    ),
    "besselpoly": lambda f, ops, z, y, power, v: f("besselpoly", power + 1, v - 1) - f("besselpoly", power + 1, v + 1),
    "zetac": lambda f, ops, z, y: riemann_slope(ops, z),
    "gammasgn": lambda f, ops, z, y: ops.zeros_like(z),
    # error functions of a complex variable (DLMF 7.2, 7.10)
    "erf": lambda f, ops, z, y: TWO_OVER_ROOT_PI * ops.exp(-z * z),
    "erfc": lambda f, ops, z, y: -TWO_OVER_ROOT_PI * ops.exp(-z * z),
    "erfcx": lambda f, ops, z, y: 2 * z * y - TWO_OVER_ROOT_PI,
    "wofz": lambda f, ops, z, y: 1j * TWO_OVER_ROOT_PI - 2 * z * y,
    "ndtr": lambda f, ops, z, y: ops.exp(-0.5 * z * z) / ROOT_TWO_PI,
    "log_ndtr": lambda f, ops, z, y: ops.exp(-0.5 * z * z - y) / ROOT_TWO_PI,
    "ndtri_exp": lambda f, ops, z, y: ROOT_TWO_PI * ops.exp(z + 0.5 * y * y),
    # the gamma function (DLMF 5.2, 5.15)
    "loggamma": lambda f, ops, z, y: _psi(f, ops, z),
    "rgamma": _rgamma,
    "psi": lambda f, ops, z, y: f("complex_polygamma", 1),
    "complex_polygamma": lambda f, ops, z, y, n: f("complex_polygamma", n + 1),
    # roots of transcendental equations: w exp(w) = z, w + log(w) = z (DLMF 4.13)
    "lambertw": lambda f, ops, z, y, k: ops.exp(-y) / (1 + y),
    "wrightomega": lambda f, ops, z, y: y / (1 + y),
    # functions of Airy and of Kelvin, hyperbolic integrals (DLMF 9.2.1, 10.61, 6.2.15-16)
    "airy_ai": lambda f, ops, z, y: f("airy_aip"),
    "airy_aip": lambda f, ops, z, y: z * f("airy_ai"),
    "airy_bi": lambda f, ops, z, y: f("airy_bip"),
    "airy_bip": lambda f, ops, z, y: z * f("airy_bi"),
    "ber": lambda f, ops, z, y: f("berp"),
    "bei": lambda f, ops, z, y: f("beip"),
    "ker": lambda f, ops, z, y: f("kerp"),
    "kei": lambda f, ops, z, y: f("keip"),
    "berp": lambda f, ops, z, y: -f("bei") - _without_pole(ops, z, 0.0, lambda x: y / x),
    "beip": lambda f, ops, z, y: f("ber") - _without_pole(ops, z, 0.5, lambda x: y / x),
    "kerp": lambda f, ops, z, y: -f("kei") - y / z,
    "keip": lambda f, ops, z, y: f("ker") - y / z,
    "shi": lambda f, ops, z, y: _without_pole(ops, z, 1.0, lambda x: ops.sinh(x) / x),
    "chi": lambda f, ops, z, y: ops.cosh(z) / z,
    # degrees of angles
    "sindg": lambda f, ops, z, y: pi / 180 * f("cosdg"),
    "cosdg": lambda f, ops, z, y: -pi / 180 * f("sindg"),
    "tandg": lambda f, ops, z, y: pi / 180 * (1 + y * y),
    "cotdg": lambda f, ops, z, y: -pi / 180 * (1 + y * y),
    # elliptic integrals of the complementary parameter p = 1 - m
    "ellipkm1": _ellipkm1,
    "ellipem1": _ellipem1,
    # hypergeometric functions (DLMF 15.5.1, 13.3.15, 13.3.22, 16.3.1, 10.46)
    "hyp2f1": lambda f, ops, z, y, a, b, c: a * b / c * f("hyp2f1", a + 1, b + 1, c + 1),
    "hyp1f1": lambda f, ops, z, y, a, b: a / b * f("hyp1f1", a + 1, b + 1),
    "hyp0f1": lambda f, ops, z, y, b: f("hyp0f1", b + 1) / b,
    "hyperu": lambda f, ops, z, y, a, b: -a * f("hyperu", a + 1, b + 1),
    "wright_bessel": lambda f, ops, z, y, a, b: f("wright_bessel", a, a + b),
    "log_wright_bessel": lambda f, ops, z, y, a, b: ops.exp(f("log_wright_bessel", a, a + b) - y),
    # functions of Hankel and of Struve, spherical Bessel functions
    "hankel1": _of_hankel("hankel1"),
    "hankel2": _of_hankel("hankel2"),
    "hankel1e": _of_hankel("hankel1e", -1j),
    "hankel2e": _of_hankel("hankel2e", 1j),
    "spherical_yn": _of_sphere("spherical_yn", 1, -1),
    "spherical_in": _of_sphere("spherical_in", 1, 1),
    "spherical_kn": _of_sphere("spherical_kn", -1, -1),
    "struve": _of_struve("struve", -1),
    "modstruve": _of_struve("modstruve", 1),
    # orthogonal polynomials (DLMF 18.9.15-26)
    "eval_jacobi": _degree(lambda f, n, a, b: 0.5 * (n + a + b + 1) * f("eval_jacobi", n - 1, a + 1, b + 1)),
    "eval_legendre": _degree(lambda f, n: 0.5 * (n + 1) * f("eval_jacobi", n - 1, 1, 1)),
    "eval_gegenbauer": _degree(lambda f, n, a: 2 * a * f("eval_gegenbauer", n - 1, a + 1)),
    "eval_chebyt": _degree(lambda f, n: n * f("eval_chebyu", n - 1)),
    "eval_chebyu": _degree(lambda f, n: 2 * f("eval_gegenbauer", n - 1, 2)),
    "eval_chebyc": _degree(lambda f, n: n * f("eval_chebys", n - 1)),
    "eval_chebys": _degree(lambda f, n: _scale(f.ops, f.z, 0.5, 0, "eval_gegenbauer", n - 1, 2)),
    "eval_genlaguerre": _degree(lambda f, n, a: -f("eval_genlaguerre", n - 1, a + 1)),
    "eval_laguerre": _degree(lambda f, n: -f("eval_genlaguerre", n - 1, 1)),
    "eval_hermite": _degree(lambda f, n: 2 * n * f("eval_hermite", n - 1)),
    "eval_hermitenorm": _degree(lambda f, n: n * f("eval_hermitenorm", n - 1)),
    "eval_sh_legendre": _degree(lambda f, n: (n + 1) * _scale(f.ops, f.z, 2, -1, "eval_jacobi", n - 1, 1, 1)),
    "eval_sh_chebyt": _degree(lambda f, n: 2 * n * f("eval_sh_chebyu", n - 1)),
    "eval_sh_chebyu": _degree(lambda f, n: 4 * _scale(f.ops, f.z, 2, -1, "eval_gegenbauer", n - 1, 2)),
    "eval_sh_jacobi": _degree(lambda f, n, p, q: n * f("eval_sh_jacobi", n - 1, p + 2, q + 1)),
}


@elementwise(
    z=lambda ops, z, y, name, parameters: SLOPES[name](_Family(ops, z), ops, z, y, *parameters),
    dtypes="float",
    method=False,
    function=False,
)
def special_function(xp, z: Array, name, parameters=()):
    """A function of the table at a real or complex z."""
    if name in KERNELS:
        return KERNELS[name](xp, z, *parameters)
    return getattr(xp.special, name)(*parameters, z)


_TERMS = 15


def _complex_polygamma(xp, z, n):
    """The n-th derivative of psi for n > 0: the series DLMF 5.15.1, its end by Euler and Maclaurin's formula."""
    is_left = xp.real(z) < 0.5
    w = xp.where(is_left, 1 - z, z)
    total = sum([(w + k) ** (-n - 1) for k in range(_TERMS)])
    end = w + _TERMS
    total = total + end**-n / n + 0.5 * end ** (-n - 1)
    factor = 0.5 * (n + 1)
    for j, bernoulli in enumerate(BERNOULLI):
        total = total + bernoulli * factor * end ** (-n - 2 - 2 * j)
        factor *= (n + 2 + 2 * j) * (n + 3 + 2 * j) / ((3 + 2 * j) * (4 + 2 * j))
    right = (-1) ** (n + 1) * gamma(n + 1) * total
    # DLMF 5.15.6
    return xp.where(is_left, (-1) ** n * right - pi ** (n + 1) * _cotangent_slope(xp, z, n), right)


def _cotangent_slope(xp, z, n):
    """The n-th derivative of the cotangent at pi z: a polynomial in the cotangent, over the square of the sine."""
    flat = xp.abs(xp.imag(z)) < 20
    angle = pi * xp.where(flat, z - xp.round(xp.real(z)), 0.5)
    sine = xp.sin(angle)
    cotangent = xp.cos(angle) / sine
    powers = [-1.0]
    for _ in range(n - 1):
        # -(2 c Q + (1 + c ** 2) Q')
        slope = [(k + 1) * powers[k + 1] for k in range(len(powers) - 1)]
        summands = [0.0, *[2 * a for a in powers]], [*slope, 0.0, 0.0], [0.0, 0.0, *slope]
        powers = [-(a + b + c) for a, b, c in zip(*summands, strict=True)]
    total = 0 * cotangent
    for coefficient in reversed(powers):
        total = total * cotangent + coefficient
    return xp.where(flat, total / (sine * sine), 0.0)


# two variables --------------------------------------------------------------------------------------------------------


def _by_exponent(log):
    def partial(ops, x, power, y):
        logarithm = getattr(ops, log)(x)
        pole = logarithm == float("-inf")
        inner = ops.where(pole, 0, logarithm)
        at_pole = ops.where(pole, power, 1)
        return ops.where(pole, 1 / (at_pole * at_pole), inner * inner * exprel_slope(ops, power * inner))

    return partial


def _log_slope(ops, u):
    """The derivative of log1p(u) / u."""
    small = abs(u) < 0.03
    x = ops.where(small, u, 0)
    series = 0
    for k in range(9, -1, -1):
        series = series * x + (-1) ** (k + 1) * (k + 1) / (k + 2)
    big = ops.where(small, 1, u)
    return ops.where(small, series, (big / (1 + big) - ops.log1p(big)) / (big * big))


def _binomial(by_n):
    def partial(ops, n, k, y):
        rest = ops.digamma(n - k + 1)
        return y * (ops.digamma(n + 1) - rest if by_n else rest - ops.digamma(k + 1))

    return partial


def _root(ops, scale, residual):
    u = residual / scale
    return ops.sqrt(1 + u * u)


#: The partial derivatives of functions y by both variables a and b; the first two functions take complex variables.
PARTIALS = {
    "xlogy": (lambda ops, a, b, y: ops.log(b), lambda ops, a, b, y: a / b),
    "xlog1py": (lambda ops, a, b, y: ops.log1p(b), lambda ops, a, b, y: a / (1 + b)),
    "boxcox": (lambda ops, a, b, y: ops.pow(a, b - 1), _by_exponent("log")),
    "boxcox1p": (lambda ops, a, b, y: ops.pow(1 + a, b - 1), _by_exponent("log1p")),
    "inv_boxcox": (lambda ops, a, b, y: ops.pow(y, 1 - b), lambda ops, a, b, y: y * a * a * _log_slope(ops, a * b)),
    "inv_boxcox1p": (
        lambda ops, a, b, y: ops.pow(1 + y, 1 - b),
        lambda ops, a, b, y: (1 + y) * a * a * _log_slope(ops, a * b),
    ),
    "binom": (_binomial(True), _binomial(False)),
    # DLMF 5.2.5
    "poch": (
        lambda ops, a, b, y: y * (ops.digamma(a + b) - ops.digamma(a)),
        lambda ops, a, b, y: y * ops.digamma(a + b),
    ),
    "powm1": (lambda ops, a, b, y: b * ops.pow(a, b - 1), lambda ops, a, b, y: (1 + y) * ops.log(a)),
    # Owen (1956)
    "owens_t": (
        lambda ops, a, b, y: ops.exp(-0.5 * a * a) * ops.erf(a * b / ROOT_TWO) / (-2 * ROOT_TWO_PI),
        lambda ops, a, b, y: ops.exp(-0.5 * a * a * (1 + b * b)) / (2 * pi * (1 + b * b)),
    ),
    "pseudo_huber": (
        lambda ops, a, b, y: a * ops.square(_root(ops, a, b) - 1) / _root(ops, a, b),
        lambda ops, a, b, y: b / _root(ops, a, b),
    ),
}


@elementwise(
    a=lambda ops, a, b, y, name: PARTIALS[name][0](ops, a, b, y),
    b=lambda ops, a, b, y, name: PARTIALS[name][1](ops, a, b, y),
    dtypes="float",
    method=False,
    function=False,
    scalars=False,
)
def special_function_of_two(xp, a: Array, b: Array, name):
    """A function of the table of a and b."""
    return getattr(xp.special, name)(*alike(xp, a, b))
