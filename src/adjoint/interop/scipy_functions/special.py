"""scipy.special over Tensors: its ufuncs and its other functions."""

from __future__ import annotations

import inspect
import math

import numpy
import scipy.special

from adjoint.core.recorded import operations
from adjoint.interop.numpy_functions import Array, function
from adjoint.interop.operands import axes_of, cast, inexact, kind_of, operand, plain, promote, tensor_of
from adjoint.interop.scipy_functions.special_equations import EQUATIONS
from adjoint.interop.scipy_functions.special_inverses import INVERSES
from adjoint.interop.ufuncs import UFUNCS, ufunc_over_tensors
from adjoint.rules.elliptic import R_C, R_D, R_F, R_J
from adjoint.tensor.table import ops

#: Ufuncs of scipy.special and the operations that they are, where the operands are the same.
OPERATIONS = {
    "agm": "agm", "cbrt": "cbrt", "dawsn": "dawsn", "ellipe": "ellipe", "ellipeinc": "ellipeinc", "ellipk": "ellipk",
    "ellipkinc": "ellipkinc", "elliprg": "elliprg",
    "entr": "special_entr", "erfcinv": "erfcinv",
    "erfi": "erfi", "erfinv": "erfinv", "exp1": "exp1", "exp2": "exp2", "expi": "expi", "expit": "sigmoid",
    "expm1": "expm1", "exprel": "exprel", "gamma": "gamma", "gammainc": "igamma", "gammaincc": "igammac",
    "gammainccinv": "gammainccinv", "gammaincinv": "gammaincinv", "gammaln": "gammaln",
    "i0": "i0", "i0e": "special_i0e",
    "i1": "special_i1", "i1e": "special_i1e", "j0": "special_bessel_j0", "j1": "special_bessel_j1",
    "k0": "special_modified_bessel_k0", "k0e": "special_scaled_modified_bessel_k0", "k1": "special_modified_bessel_k1",
    "k1e": "special_scaled_modified_bessel_k1", "log1p": "log1p", "log_expit": "logsigmoid",
    "logit": "logit", "ndtri": "special_ndtri",
    "spence": "spence", "y0": "special_bessel_y0",
    "y1": "special_bessel_y1", "beta": "beta", "betaln": "betaln", "betainc": "betainc", "betaincinv": "betaincinv",
    "stdtr": "stdtr", "stdtrit": "stdtrit", "jv": "jv", "jn": "jv", "yv": "yv", "iv": "iv", "kv": "kv",
}  # fmt: skip


#: Operations over real Tensors for functions that are complex in SciPy and real in torch.
REAL_OPERATIONS = {
    "erf": "erf", "erfc": "erfc", "erfcx": "special_erfcx", "log_ndtr": "special_log_ndtr", "ndtr": "special_ndtr",
    "psi": "digamma", "xlog1py": "special_xlog1py", "xlogy": "xlogy",
}  # fmt: skip

#: Functions of the tables of closed forms: of one variable, of one after numbers, of two.
OF_ONE = [
    "loggamma", "rgamma", "wofz", "wrightomega", "ber", "bei", "ker", "kei", "berp", "beip", "kerp",
    "keip", "sindg", "cosdg", "tandg", "cotdg", "ellipkm1", "ndtri_exp", "gammasgn", "zetac", "itstruve0", "it2struve0",
    "itmodstruve0",
]  # fmt: skip
WITH_NUMBERS = [
    "hyp2f1", "hyp1f1", "hyp0f1", "hyperu", "wright_bessel", "log_wright_bessel", "struve", "modstruve",
    "lpmv",
    "eval_jacobi", "eval_legendre", "eval_gegenbauer", "eval_chebyt", "eval_chebyu", "eval_chebyc", "eval_chebys",
    "eval_genlaguerre", "eval_laguerre", "eval_hermite", "eval_hermitenorm", "eval_sh_legendre", "eval_sh_chebyt",
    "eval_sh_chebyu", "eval_sh_jacobi",
]  # fmt: skip
OF_TWO = [
    "boxcox", "boxcox1p", "inv_boxcox", "inv_boxcox1p", "binom", "poch", "powm1", "owens_t", "pseudo_huber",
]  # fmt: skip


def _of_one(name):
    return lambda z: ops.special_function(z, name)


def _of_two(name):
    return lambda a, b: ops.special_function_of_two(a, b, name)


def _real_or_complex(name, real):
    complex_function = _of_two(name) if name.startswith("x") else _of_one(name)

    def apply(*values):
        return (complex_function if kind_of(values[0]).kind == "c" else getattr(ops, real))(*values)

    return apply


def _parts(*names):
    return lambda z: tuple([ops.special_function(z, name) for name in names])


def _kelvin(x):
    ber, bei, ker, kei, berp, beip, kerp, keip = _parts("ber", "bei", "ker", "kei", "berp", "beip", "kerp", "keip")(x)
    return ops.complex(ber, bei), ops.complex(ker, kei), ops.complex(berp, beip), ops.complex(kerp, keip)


def _scaled_function(name, *options):
    def apply(v, z):
        # the factor is exp(-abs(imag(z))), or of the real part, which has no derivative as a complex function
        if kind_of(z).kind == "c":
            raise TypeError(f"{name}e: of complex numbers it is not holomorphic; scale {name} instead")
        return getattr(ops, name)(v, z, *options)

    return apply


def _voigt(x, sigma, gamma):
    sharp = sigma == 0
    width = ops.where(sharp, 1, sigma)
    wave = ops.special_function((x + 1j * gamma) / (width * math.sqrt(2)), "wofz")
    lorentz = gamma / (math.pi * (x * x + gamma * gamma))
    return ops.where(sharp, lorentz, ops.real(wave) / (width * math.sqrt(2 * math.pi)))


def _quantile_of_f(a, b, p):
    y = ops.betaincinv(0.5 * a, 0.5 * b, p)
    return b * y / (a * (1 - y))


def _kl(x, y):
    positive = (x > 0) & (y > 0)
    return ops.where(positive, ops.xlogy(x, ops.where(positive, x / y, 1)), _edge(x, y))


def _edge(x, y):
    return ops.where((x == 0) & (y >= 0), ops.zeros_like(x + y), math.inf)


def _huber(delta, r):
    size = abs(r)
    value = ops.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta))
    return ops.where(delta < 0, math.inf, value)


def _of_integer(name):
    return lambda n, x: getattr(ops, name)(cast(n, kind_of(x)), x)


def _expn(n, x):
    order = n._array
    if order.size != 1:
        raise TypeError(
            f"expn: with a Tensor as the argument, the order must be one integer, got shape {order.shape}; call expn "
            "for each order"
        )
    return ops.expn(x, int(order.reshape(())))


def _with_numbers(name, is_complex=False):
    def apply(*values):
        *parameters, z = values
        if any(p.ndim or p.requires_grad for p in parameters):
            shapes = ", ".join(str(tuple(p.shape)) for p in parameters)
            raise TypeError(
                f"{name}: with a Tensor as the argument, the parameters must be constant numbers, got shapes {shapes}; "
                "call item() on them"
            )
        z = cast(z, numpy.result_type(kind_of(z), numpy.complex64)) if is_complex else z
        return ops.special_function(z, name, tuple([plain(value) for value in parameters]))

    return apply


def _airye(z):
    if kind_of(z).kind == "c":
        raise TypeError("airye: of complex numbers it is not holomorphic; scale airy instead")
    return _parts("airye_ai", "airye_aip", "airye_bi", "airye_bip")(z)


def _modified_fresnel(sign):
    """The integrals of exp(sign * i t ** 2) from x on, by the complementary error function (DLMF 7.7.2, 7.5.10).

    Below 0 SciPy 1.17 has wrong imaginary parts.
    """

    def apply(x):
        turn = math.sqrt(0.5) * (1 - sign * 1j)
        whole = turn * x
        return 0.5 * math.sqrt(math.pi) / turn * ops.special_function(whole, "erfc"), 0.5 * ops.special_function(
            whole, "erfcx"
        )

    return apply


def _besselpoly(a, power, v):
    if power.ndim or v.ndim or power.requires_grad or v.requires_grad:
        raise TypeError(
            f"besselpoly: with a Tensor as the argument, the parameters must be constant numbers, got shapes "
            f"{tuple(power.shape)} and {tuple(v.shape)}; call item() on them"
        )
    return ops.special_function(a, "besselpoly", (plain(power), plain(v)))


def _carlson(exponents, factor):
    """One of Carlson's symmetric integrals (DLMF 19.16.1-6), of as many variables as are given."""

    def apply(*values):
        return factor * ops.carlson_integral(*values, *[values[-1]] * (4 - len(values)), exponents)

    return apply


def _of_distribution(name, method, *order):
    """A distribution function, or a quantile, as a ufunc: place and parameters in scipy.special's order."""

    def apply(*values):
        # scipy.stats is imported when the first of these gets a Tensor
        import scipy.stats

        from adjoint.interop.scipy_functions.distributions.face import methods_of

        function = methods_of(name, getattr(scipy.stats, name))[method]
        return function(*[values[position] for position in order] if order else values)

    return apply


#: Ufuncs that take several operations, over Tensors of one dtype.
FUNCTIONS_OF_UFUNCS = {
    **EQUATIONS,
    **INVERSES,
    **{name: _with_numbers(name, is_complex=True) for name in ("hankel1", "hankel1e", "hankel2", "hankel2e")},
    "airye": _airye,
    "besselpoly": _besselpoly,
    "ellipj": lambda u, m: tuple([ops.jacobi_elliptic(u, m, which) for which in range(4)]),
    "elliprc": _carlson(R_C, 0.5),
    "elliprd": _carlson(R_D, 1.5),
    "elliprf": _carlson(R_F, 0.5),
    "elliprj": _carlson(R_J, 1.5),
    "itairy": _parts("itairy_ai", "itairy_bi", "itairy_ai_left", "itairy_bi_left"),
    "iti0k0": _parts("iti0k0_i", "iti0k0_k"),
    "itj0y0": _parts("itj0y0_j", "itj0y0_y"),
    "it2i0k0": _parts("it2i0k0_i", "it2i0k0_k"),
    "it2j0y0": _parts("it2j0y0_j", "it2j0y0_y"),
    "modfresnelm": _modified_fresnel(-1),
    "modfresnelp": _modified_fresnel(1),
    "round": lambda x: ops.round(x),
    "smirnov": _of_distribution("ksone", "sf", 1, 0),
    "smirnovi": _of_distribution("ksone", "isf", 1, 0),
    **{name: _real_or_complex(name, real) for name, real in REAL_OPERATIONS.items()},
    **{name: _of_one(name) for name in OF_ONE},
    **{name: _with_numbers(name) for name in WITH_NUMBERS},
    **{name: _of_two(name) for name in OF_TWO},
    "airy": _parts("airy_ai", "airy_aip", "airy_bi", "airy_bip"),
    "bdtr": lambda k, n, p: ops.betainc(n - ops.floor(k), ops.floor(k) + 1, 1 - p),
    "bdtrc": lambda k, n, p: ops.betainc(ops.floor(k) + 1, n - ops.floor(k), p),
    "bdtri": lambda k, n, y: 1 - ops.betaincinv(n - ops.floor(k), ops.floor(k) + 1, y),
    "betaincc": lambda a, b, x: ops.betainc(b, a, 1 - x),
    "betainccinv": lambda a, b, y: 1 - ops.betaincinv(b, a, y),
    "chndtr": _of_distribution("ncx2", "cdf"),
    "chndtrix": _of_distribution("ncx2", "ppf"),
    "kolmogi": _of_distribution("kstwobign", "isf"),
    "kolmogorov": _of_distribution("kstwobign", "sf"),
    "ncfdtr": _of_distribution("ncf", "cdf", 3, 0, 1, 2),
    "ncfdtri": _of_distribution("ncf", "ppf", 3, 0, 1, 2),
    "nctdtr": _of_distribution("nct", "cdf", 2, 0, 1),
    "nctdtrit": _of_distribution("nct", "ppf", 2, 0, 1),
    "tklmbda": _of_distribution("tukeylambda", "cdf"),
    "chdtr": lambda v, x: ops.igamma(0.5 * v, 0.5 * x),
    "chdtrc": lambda v, x: ops.igammac(0.5 * v, 0.5 * x),
    "chdtri": lambda v, p: 2 * ops.gammainccinv(0.5 * v, p),
    "cosm1": lambda x: -2 * ops.square(ops.sin(0.5 * x)),
    "exp10": lambda x: ops.exp(x * math.log(10.0)),
    "expn": _expn,
    "fdtr": lambda a, b, x: ops.betainc(0.5 * a, 0.5 * b, a * x / (a * x + b)),
    "fdtrc": lambda a, b, x: ops.betainc(0.5 * b, 0.5 * a, b / (a * x + b)),
    "fdtri": _quantile_of_f,
    "fresnel": lambda x: (ops.fresnel_s(x), ops.fresnel_c(x)),
    "gdtr": lambda a, b, x: ops.igamma(b, a * x),
    "gdtrc": lambda a, b, x: ops.igammac(b, a * x),
    "gdtria": lambda p, b, x: ops.gammaincinv(b, p) / x,
    "gdtrix": lambda a, b, p: ops.gammaincinv(b, p) / a,
    "huber": _huber,
    "ive": _scaled_function("iv", 0, True),
    "jve": _scaled_function("jv"),
    "kelvin": _kelvin,
    "kl_div": lambda x, y: _kl(x, y) - x + y,
    "kn": _of_integer("kv"),
    "kve": lambda v, z: ops.kv(v, z, 0, True),
    "nbdtr": lambda k, n, p: ops.betainc(n, ops.floor(k) + 1, p),
    "nbdtrc": lambda k, n, p: ops.betainc(ops.floor(k) + 1, n, 1 - p),
    "nbdtri": lambda k, n, y: ops.betaincinv(n, ops.floor(k) + 1, y),
    "nrdtrimn": lambda p, std, x: x - std * ops.special_ndtri(p),
    "nrdtrisd": lambda mn, p, x: (x - mn) / ops.special_ndtri(p),
    "pdtr": lambda k, m: ops.where(k < 0, math.nan, ops.igammac(ops.floor(k) + 1, m)),
    "pdtrc": lambda k, m: ops.where(k < 0, math.nan, ops.igamma(ops.floor(k) + 1, m)),
    "pdtri": lambda k, y: ops.gammainccinv(ops.floor(k) + 1, y),
    "radian": lambda d, m, s: ops.deg2rad(d + m / 60 + s / 3600),
    "rel_entr": _kl,
    "shichi": _parts("shi", "chi"),
    "sici": lambda x: (ops.sine_integral(x), ops.cosine_integral(x)),
    "voigt_profile": _voigt,
    "yn": _of_integer("yv"),
    "yve": _scaled_function("yv"),
}


def _fill():
    tables = {name: operations[operation] for name, operation in OPERATIONS.items()} | FUNCTIONS_OF_UFUNCS
    for name, over_tensors in tables.items():
        # in its array API mode SciPy wraps them
        ufunc = inspect.unwrap(getattr(scipy.special, name))
        # SciPy has some under two names, and some that are NumPy's
        if isinstance(ufunc, numpy.ufunc) and ufunc not in UFUNCS:
            real = REAL_OPERATIONS.get(name)
            ufunc_over_tensors(ufunc, over_tensors, None if real is None else operations[real])


_fill()
del _fill

# functions that are no ufuncs -----------------------------------------------------------------------------------------


def _axes(axis, a):
    return axes_of(axis, a.ndim)


@function("scipy.special.logsumexp")
def logsumexp(a: Array, axis=None, b=None, keepdims=False, return_sign=False):
    """log(sum(b * exp(a))) along axes, of the absolute value where the sign is returned too."""
    a = inexact(a)
    axes = _axes(axis, a)
    if b is None and not return_sign:
        return ops.logsumexp(a, axes, keepdims) if axes else a
    if b is not None:
        a, b = promote(a, b)
    highest = a._array.max(axis=axes, keepdims=True, initial=-math.inf) if kind_of(a).kind != "c" else 0.0
    highest = tensor_of(numpy.where(numpy.isfinite(highest), highest, 0.0).astype(kind_of(a)))
    powers = ops.exp(a - highest)
    total = ops.sum(powers if b is None else b * powers, axes, keepdims)
    shift = highest if keepdims else ops.reshape(highest, tuple(total.shape))
    if not return_sign:
        return ops.log(total) + shift
    sign = ops.sgn(total)
    return ops.log(abs(total)) + shift, sign


def _along_several(operation, x, axis):
    axes = _axes(axis, x)
    if len(axes) == 1:
        return operation(x, axes[0])
    rest = [i for i in range(x.ndim) if i not in axes]
    order = (*rest, *axes)
    rows = ops.permute(x, order)
    flat = ops.reshape(rows, (*[x.shape[i] for i in rest], -1))
    result = ops.reshape(operation(flat, len(rest)), tuple(rows.shape))
    return ops.permute(result, tuple(numpy.argsort(order).tolist()))


@function("scipy.special.softmax")
def softmax(x: Array, axis=None):
    """exp(x) over its sum along axes."""
    return _along_several(ops.softmax, inexact(x), axis)


@function("scipy.special.log_softmax")
def log_softmax(x: Array, axis=None):
    """The logarithm of softmax()."""
    return _along_several(ops.log_softmax, inexact(x), axis)


@function("scipy.special.polygamma")
def polygamma(n, x: Array):
    """The n-th derivative of digamma, for one n."""
    order = numpy.asarray(plain(n))
    if order.size != 1:
        raise TypeError(
            f"polygamma: with a Tensor as the argument, the order must be one integer, got shape {order.shape}; call "
            "polygamma for each order"
        )
    return ops.polygamma(inexact(x), int(order.reshape(())))


@function("scipy.special.multigammaln")
def multigammaln(a: Array, d):
    """The logarithm of the gamma function of dimension d."""
    return ops.mvlgamma(inexact(a), int(plain(d)))


@function("scipy.special.zeta")
def zeta(x, q=None, out=None):
    """Hurwitz's zeta function, or Riemann's of real numbers without q."""
    if q is None:
        return 1 + ops.special_function(inexact(tensor_of(x)), "zetac")
    x, q = promote(x, q)
    return ops.hurwitz_zeta(inexact(x), inexact(q))


#: SciPy computes a spherical Bessel function by so many steps as its order says, so orders end here.
HIGHEST_SPHERICAL_ORDER = 10**6


def _spherical_order(name, n):
    order = int(plain(n))
    if order > HIGHEST_SPHERICAL_ORDER:
        cylindrical = {"j": "jv", "y": "yv", "i": "iv", "k": "kv"}[name[-2]]
        raise ValueError(
            f"{name}(): the order {order} is above {HIGHEST_SPHERICAL_ORDER}; "
            f"for large orders multiply {cylindrical}(n + 0.5, z) by sqrt(pi / (2 z))"
        )
    return order


@function("scipy.special.spherical_jn")
def spherical_jn(n, z: Array, derivative=False):
    """The spherical Bessel function of the first kind of one order."""
    order, z = _spherical_order("spherical_jn", n), inexact(z)
    if not derivative:
        return ops.spherical_bessel_j(z, order)
    if order == 0:
        return -ops.spherical_bessel_j(z, 1)
    return ops.spherical_bessel_j(z, order - 1) - (order + 1) / z * ops.spherical_bessel_j(z, order)


@function("scipy.special.lambertw")
def lambertw(z: Array, k=0, tol=1e-8):
    """The branch k of the solutions w of w exp(w) = z."""
    branch = numpy.asarray(plain(k))
    if branch.size != 1:
        raise TypeError(
            f"lambertw: with a Tensor as the argument, the branch must be one integer, got shape {branch.shape}; call "
            "lambertw for each branch"
        )
    return ops.special_function(cast(z, numpy.dtype("complex128")), "lambertw", (int(branch.reshape(())),))


def _spherical(name, below, above):
    @function(f"scipy.special.{name}")
    def spherical(n, z: Array, derivative=False):
        """A spherical Bessel function of one order."""
        order, z = _spherical_order(name, n), inexact(z)

        def at(k):
            return ops.special_function(z, name, (k,))

        if not derivative:
            return at(order)
        # DLMF 10.51.2, 10.51.5
        return above * at(1) if order == 0 else below * at(order - 1) - (order + 1) / z * at(order)


_spherical("spherical_yn", 1, -1)
_spherical("spherical_in", 1, 1)
_spherical("spherical_kn", -1, -1)


def _slope_of(name, below, above):
    @function(f"scipy.special.{name}p")
    def slope(v, z: Array, n=1):
        """The n-th derivative by z of a Bessel function of order v (DLMF 10.6.7, 10.29.5)."""
        v, z, n = operand(v), inexact(z), int(plain(n))
        terms = [
            math.comb(n, k) * below ** (n - k) * above**k * getattr(ops, name)(v - n + 2 * k, z) for k in range(n + 1)
        ]
        return sum(terms[1:], terms[0]) * 0.5**n


_slope_of("jv", 1, -1)
_slope_of("yv", 1, -1)
_slope_of("iv", 1, 1)
_slope_of("kv", -1, -1)


@function("scipy.special.softplus")
def softplus(x: Array):
    """log(1 + exp(x))."""
    return -ops.logsigmoid(-inexact(x))


@function("scipy.special.sinc")
def sinc(x: Array):
    """sin(pi * x) / (pi * x)."""
    return ops.sinc(inexact(x))


@function("scipy.special.factorial")
def factorial(n: Array, exact=False):
    """gamma(n + 1)."""
    return ops.gamma(inexact(n) + 1)


@function("scipy.special.comb")
def comb(N: Array, k: Array, *, exact=False, repetition=False):
    """The number of ways to choose k of N, for real numbers too."""
    N, k = promote(inexact(N), inexact(k))
    if repetition:
        N = N + k - 1
    return FUNCTIONS_OF_UFUNCS["binom"](N, k)
