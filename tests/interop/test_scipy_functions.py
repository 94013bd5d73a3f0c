"""SciPy's functions on Tensors: values and dtypes are SciPy's, gradients agree with central differences."""

from __future__ import annotations

import inspect
import re
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats

import adjoint
import adjoint.scipy.special
from adjoint.interop import scipy_functions
from adjoint.interop.numpy_functions import FUNCTIONS
from adjoint.interop.scipy_functions.special import FUNCTIONS_OF_UFUNCS, OPERATIONS
from adjoint.interop.scipy_functions.special_refusals import REASONS
from adjoint.interop.ufuncs import UFUNCS
from adjoint.rules.closed_forms import PARTIALS, SLOPES, SOLUTIONS
from adjoint.tensor.table import ops as OPS

scipy_functions.load()
RNG = np.random.default_rng(7)
OTHER = np.random.default_rng(8)
Call = Callable[..., Any]


@pytest.fixture(autouse=True)
def _same_numbers(request: pytest.FixtureRequest) -> None:
    """Each test draws the same numbers, whichever tests ran before it."""
    for generator in (RNG, OTHER):
        generator.bit_generator.state = np.random.default_rng(
            zlib.crc32(request.node.name.encode())
        ).bit_generator.state


def positive(*shape: int) -> np.ndarray:
    return RNG.uniform(0.5, 2.5, shape)


def fraction(*shape: int) -> np.ndarray:
    return RNG.uniform(0.1, 0.9, shape)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def square(n: int = 3) -> np.ndarray:
    a = normal(n, n)
    return a @ a.T + np.eye(n)


def check(
    function: Call,
    *arrays: np.ndarray,
    over_tensors: Call | None = None,
    rtol: float = 1e-9,
    rel: float = 2e-5,
    of_eigenvectors: bool = False,
) -> None:
    """Compare values with SciPy's, and the gradient by all arrays with central differences in a random direction.

    of_eigenvectors: the results are eigenvalues and eigenvectors, whose signs depend on rounding in LAPACK.
    """
    expected = results(function(*arrays))
    tensors = [adjoint.tensor(a, requires_grad=a.dtype.kind in "fc") for a in arrays]
    result = results((over_tensors or function)(*tensors))
    assert len(result) == len(expected)
    for ours, theirs in zip(result, expected, strict=True):
        assert ours.shape == theirs.shape
        assert ours.detach().numpy().dtype == theirs.dtype
        np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=rtol, atol=1e-12)
    places = [i for i, y in enumerate(result) if y.requires_grad]
    weights = [noise(expected[i]) for i in places]
    inputs = [t for t in tensors if t.requires_grad]
    gradients = adjoint.autograd.grad([result[i] for i in places], inputs, [adjoint.tensor(w) for w in weights])
    steps = [noise(a) if a.dtype.kind in "fc" else 0 * a for a in arrays]
    ahead, behind = (
        results(function(*[a + sign * 1e-6 * v for a, v in zip(arrays, steps, strict=True)])) for sign in (1, -1)
    )
    if of_eigenvectors:
        ahead, behind = ([values, with_signs_of(expected[1], vectors)] for values, vectors in (ahead, behind))
    numeric = sum(inner(w, (ahead[i] - behind[i]) / 2e-6) for w, i in zip(weights, places, strict=True))
    neighbour = [v for a, v in zip(arrays, steps, strict=True) if a.dtype.kind in "fc"]
    exact = sum(inner(g.numpy(), v) for g, v in zip(gradients, neighbour, strict=True))
    assert exact == pytest.approx(numeric, rel=rel, abs=2e-6)


def results(value: Any) -> list[Any]:
    """All arrays in the result of a function, except for integers and truth values."""
    if isinstance(value, (tuple, list)):
        return [each for member in value for each in results(member)]
    if isinstance(value, (int, bool, type(None))) and not isinstance(value, np.generic):
        return []
    array = value if isinstance(value, adjoint.Tensor) else np.asarray(value)
    raw = array.detach().numpy() if isinstance(array, adjoint.Tensor) else array
    return [array] if raw.dtype.kind in "fc" else []


def noise(a: np.ndarray) -> np.ndarray:
    array = RNG.normal(size=a.shape)
    return array + 1j * RNG.normal(size=a.shape) if a.dtype.kind == "c" else np.asarray(array)


def with_signs_of(expected: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Vectors in columns, each with the sign of the expected vector."""
    return np.asarray(vectors * np.sign(np.sum(expected * vectors, axis=0)))


def inner(a: Any, b: Any) -> float:
    return float(np.sum(np.conj(a) * b).real)


# scipy.special --------------------------------------------------------------------------------------------------------

#: Domains of the arguments of ufuncs, if they are not between 0.5 and 2.5.
DOMAINS: dict[str, tuple[Call, ...]] = {
    **dict.fromkeys(
        ("logit", "ndtri", "erfinv", "erfcinv", "exprel", "ellipk", "ellipe", "ellipkm1", "erf", "spence"), (fraction,)
    ),
    **dict.fromkeys(("dawsn", "expit", "log_expit", "i0", "i0e", "j0", "ndtr", "log_ndtr", "cosm1"), (normal,)),
    **dict.fromkeys(("gammaincinv", "gammainccinv", "chdtri", "stdtrit"), (positive, fraction)),
    **dict.fromkeys(("betainc", "betaincc", "betaincinv", "betainccinv"), (positive, positive, fraction)),
    "ndtri_exp": (lambda *shape: -positive(*shape),),
    "binom": (lambda *shape: positive(*shape) + 3, positive),
    "stdtr": (positive, normal),
    **dict.fromkeys(("bdtr", "bdtrc", "bdtri", "nbdtr", "nbdtrc", "nbdtri"), (fraction,)),
    "fdtri": (positive, positive, fraction),
    "gdtria": (fraction, positive, positive),
    "gdtrix": (positive, positive, fraction),
    "chndtrix": (fraction, positive, positive),
    "kolmogi": (fraction,),
    "ncfdtri": (positive, positive, fraction),
    "nctdtrit": (positive, positive, fraction),
    "tklmbda": (normal, fraction),
    "nrdtrimn": (fraction, positive, positive),
    "nrdtrisd": (positive, fraction, positive),
    "pdtri": (fraction,),
    "inv_boxcox": (positive, fraction),
    **dict.fromkeys(("ellipeinc", "ellipkinc", "ellipj"), (normal, fraction)),
    **dict.fromkeys(("chdtriv", "pdtrik"), (fraction, lambda *shape: positive(*shape) + 3)),
    **dict.fromkeys(("btdtria", "gdtrib"), (fraction, positive, fraction)),
    "gdtrib": (positive, fraction, positive),
    "btdtrib": (positive, fraction, fraction),
    **dict.fromkeys(("bdtrin", "nbdtrin"), (fraction, fraction)),
    **dict.fromkeys(("bdtrik", "nbdtrik"), (lambda *shape: 0.5 + 0.4 * fraction(*shape),)),
    "stdtridf": (lambda *shape: 0.8 + 0.05 * fraction(*shape), lambda *shape: 1.1 + 0.1 * fraction(*shape)),
    "fdtridfd": (positive, lambda *shape: 0.3 + 0.1 * fraction(*shape), lambda *shape: 0.5 + 0.1 * fraction(*shape)),
    "chndtridf": (lambda *shape: positive(*shape) + 5, fraction, positive),
    "chndtrinc": (lambda *shape: positive(*shape) + 3, positive, lambda *shape: 0.3 * fraction(*shape)),
    "nctdtrinc": (positive, fraction, normal),
    "nctdtridf": (lambda *shape: 0.7 + 0.05 * fraction(*shape), fraction, lambda *shape: 1.5 + 0.1 * fraction(*shape)),
    "ncfdtridfd": (lambda *shape: 0.5 + 0.05 * fraction(*shape),),
    "ncfdtridfn": (lambda *shape: 0.65 + 0.05 * fraction(*shape),),
    "ncfdtrinc": (lambda *shape: 0.3 * fraction(*shape), lambda *shape: 2.0 + 0.1 * fraction(*shape)),
    **dict.fromkeys(("gammasgn", "pbdv", "pbvv", "pbwa", "mathieu_a", "mathieu_b"), (normal,)),
    **dict.fromkeys(("mathieu_cem", "mathieu_sem"), (normal, lambda *shape: 90 * normal(*shape))),
    "zetac": (lambda *shape: 3 * normal(*shape),),
    **dict.fromkeys(("lpmv", "smirnov", "smirnovi"), (fraction,)),
    **dict.fromkeys(("pro_ang1", "pro_ang1_cv", "obl_ang1", "obl_ang1_cv"), (fraction,)),
    **dict.fromkeys(
        ("pro_rad1", "pro_rad2", "pro_rad1_cv", "pro_rad2_cv", "obl_rad2", "obl_rad2_cv"),
        (lambda *shape: positive(*shape) + 1.5,),
    ),
}
#: Ufuncs whose first arguments are constant numbers or integers.
ORDERS: dict[str, tuple[Any, ...]] = {
    "ncfdtr": (2.5,), "ncfdtri": (2.5,), "jv": (1.5,), "jn": (2,), "yv": (1.5,), "yn": (2,), "kn": (2,), "expn": (2,),
    "hyp2f1": (0.5, 1.5, 2.5), "hyp1f1": (0.5, 1.5), "pdtr": (2.0,), "pdtrc": (2.0,), "kve": (),
    "hyp0f1": (1.5,), "hyperu": (0.5, 1.5), "wright_bessel": (0.5, 1.5), "log_wright_bessel": (0.5, 1.5),
    "struve": (1.5,), "modstruve": (0.7,), "eval_jacobi": (3, 0.5, 1.5), "eval_gegenbauer": (3, 0.5),
    "eval_genlaguerre": (3, 0.5), "eval_sh_jacobi": (3, 2.5, 1.5), "jve": (1.5,), "yve": (0.5,), "hankel1": (0.5,),
    "hankel2": (1.5,), "hankel1e": (0.5,), "hankel2e": (0.5,),
    "spherical_yn": (2,), "spherical_in": (2,), "spherical_kn": (1,),
    "bdtr": (2.0, 5), "bdtrc": (2.0, 5), "bdtri": (2.0, 5),
    "ncfdtridfd": (2.0,), "ncfdtrinc": (3.0, 4.0), "bdtrin": (2.0,), "nbdtrin": (2.0,), "lpmv": (1, 2.5),
    "smirnov": (5,), "smirnovi": (5,),
    "pbdv": (1.3,), "pbvv": (1.3,), "pbwa": (0.7,), "mathieu_a": (2,), "mathieu_b": (3,), "mathieu_cem": (3,),
    "mathieu_sem": (2,), "pro_cv": (1, 4), "obl_cv": (1, 3),
    **{f"mathieu_mod{name}": (2, 1.5) for name in ("cem1", "cem2", "sem1", "sem2")},
    **{f"{kind}_{form}": (1, 3, 1.2) for kind in ("pro", "obl") for form in ("ang1", "rad1", "rad2")},
    **{f"{kind}_{form}_cv": (1, 3, 1.2, value(1, 3, 1.2))
       for kind, value in (("pro", scipy.special.pro_cv), ("obl", scipy.special.obl_cv))
       for form in ("ang1", "rad1", "rad2")},
    "nbdtr": (2, 5), "nbdtrc": (2, 5), "nbdtri": (2, 5), "pdtri": (2,),
    **{f"eval_{name}": (3,) for name in ("legendre", "chebyt", "chebyu", "chebyc", "chebys", "laguerre", "hermite",
                                         "hermitenorm", "sh_legendre", "sh_chebyt", "sh_chebyu")},
}  # fmt: skip
#: Ufuncs whose last arguments are constants.
LAST: dict[str, tuple[float, ...]] = {
    "besselpoly": (0.5, 1.3), "bdtrik": (5.0, 0.3), "nbdtrik": (5.0, 0.3), "ncfdtridfd": (1.0, 2.0),
    "ncfdtridfn": (4.0, 1.0, 2.0),
}  # fmt: skip
UFUNC_NAMES = sorted(
    name for name in (OPERATIONS | FUNCTIONS_OF_UFUNCS) if isinstance(getattr(scipy.special, name, None), np.ufunc)
)


@pytest.mark.parametrize("name", UFUNC_NAMES)
def test_ufuncs(name: str) -> None:
    ufunc = getattr(scipy.special, name)
    assert ufunc in UFUNCS
    orders = ORDERS.get(name, ())
    draws = DOMAINS.get(name, (positive,) * (ufunc.nin - len(orders) - len(LAST.get(name, ()))))
    arguments = [draw(*shape) for draw, shape in zip(draws, ((2, 3), (3,), (2, 1), (1,)), strict=False)]
    if name in ("hyp2f1", "hyp1f1", "hyp0f1"):
        arguments = [fraction(2, 3)]
    # SciPy finds the parameters of noncentral distributions with about five digits
    rel = 1e-3 if name.startswith(("ncfdtri", "nctdtri")) else 2e-5
    check(lambda *x: ufunc(*orders, *x, *LAST.get(name, ())), *arguments, rtol=1e-7, rel=rel)


def complex_numbers(*shape: int) -> np.ndarray:
    return OTHER.uniform(-0.5, 1.5, shape) + 1j * OTHER.uniform(0.5, 2.5, shape)


COMPLEX = [
    "erf", "erfc", "erfcx", "erfi", "dawsn", "wofz", "ndtr", "log_ndtr", "gamma", "loggamma", "rgamma", "psi",
    "exp1", "expi", "spence", "sici", "shichi", "fresnel", "wrightomega", "airy", "log1p", "expm1", "xlogy",
    "xlog1py", "jv", "yv", "iv", "kv", "kve", "hankel1", "hankel2", "hyp1f1", "hyp0f1", "eval_legendre",
    "eval_gegenbauer",
]  # fmt: skip


@pytest.mark.parametrize("name", COMPLEX)
def test_ufuncs_of_complex_numbers(name: str) -> None:
    ufunc = getattr(scipy.special, name)
    orders = (0.7,) if name == "kve" else ORDERS.get(name, (0.7,) if name in ("iv", "kv") else ())
    arguments = [complex_numbers(2, 3) for _ in range(ufunc.nin - len(orders))]
    check(lambda *x: ufunc(*orders, *x), *arguments, rtol=1e-7)
    if name == "psi":
        check(ufunc, complex_numbers(4) - 3)


BASES = np.array([0.2, 0.5, 0.8, 0.7])
ANGLES = np.array([-30.0, 0.0, 40.0])
#: Arguments of two derivatives, if they are not the usual ones.
PLACES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("sindg", "cosdg", "tandg"), (ANGLES,)),
    "cotdg": (ANGLES + 50,),
    **dict.fromkeys(("wofz", "psi", "hankel1", "hankel2", "hankel1e", "hankel2e"), (complex_numbers(3),)),
    "loggamma": (complex_numbers(3) - 2,),
    "rgamma": (np.array([-2.0, 0.0, 0.3, 4.0]),),
    "ndtri_exp": (np.array([-3.0, -1.0, -0.2]),),
    "lambertw": (complex_numbers(3),),
    **dict.fromkeys(("ber", "bei", "berp", "beip"), (np.array([-1.0, 0.5, 3.0]),)),
    **dict.fromkeys(("ellipkm1", "ellipem1"), (np.array([0.01, 0.45, 0.55, 0.95, 1.3]),)),
    **dict.fromkeys(("boxcox1p", "inv_boxcox", "inv_boxcox1p"), (BASES, np.array([-0.3, 0.01, 0.0, 0.5]))),
    "boxcox": (BASES, np.array([-0.3, 0.01, 0.0, 1.5])),
    "complex_polygamma": (complex_numbers(3) - 1,),
    **dict.fromkeys(("hyp2f1", "lpmv", "lq", "pro_ang1_cv", "obl_ang1_cv"), (BASES,)),
    **dict.fromkeys(("mathieu_cem", "mathieu_sem"), (ANGLES,)),
    **dict.fromkeys(("pro_rad1_cv", "pro_rad2_cv", "obl_rad1_cv", "obl_rad2_cv"), (np.array([1.9, 2.3, 3.1]),)),
    "zetac": (np.array([-3.3, -0.4, 0.5, 2.5]),),
}
#: Parameters of operations, if they differ from the ufunc's.
PARAMETERS: dict[str, tuple[float, ...]] = {
    "complex_polygamma": (1,), "lambertw": (-1,), "lq": (0, 2), "besselpoly": (0.5, 1.3),
    **{f"mathieu_{form}": (2, 1.5, float(value(2, 1.5)))
       for value, forms in ((scipy.special.mathieu_a, ("cem", "modcem1", "modcem2")),
                            (scipy.special.mathieu_b, ("sem", "modsem1", "modsem2"))) for form in forms},
}  # fmt: skip


@pytest.mark.parametrize("name", [*SLOPES, *PARTIALS])
def test_closed_forms_to_the_second_order(name: str) -> None:
    short = name.removesuffix("p") if name.removesuffix("p") in (*SOLUTIONS, "lq") else name
    orders = PARAMETERS.get(short, ORDERS.get(short, ()))
    arguments = PLACES.get(short, (positive(3), positive(3)) if short in PARTIALS else (positive(3),))
    tensors = [adjoint.tensor(a, requires_grad=True) for a in arguments]

    def function(*x: Any) -> Any:
        if name in PARTIALS:
            return OPS.special_function_of_two(*x, name)
        return OPS.special_function(*x, name, orders)

    assert adjoint.autograd.gradcheck(function, tensors, check_forward_ad=True)
    assert adjoint.autograd.gradgradcheck(function, tensors)


def test_special_values_are_those_of_scipy() -> None:
    inf = np.inf
    cases: dict[str, tuple[list[float], ...]] = {
        "gammaln": ([-inf, inf, -1.0, 0.0, -1.5],),
        "loggamma": ([-1.5, -1.0, 0.0, -inf, inf],),
        "boxcox": ([0.0, 0.0, 0.0, 2.0, 1e-300], [0.0, 1.0, -1.0, 0.0, 0.0]),
        "boxcox1p": ([-1.0, -1.0, 0.0], [0.0, 1.0, 0.0]),
        "binom": ([inf, 5.0, -3.0, -3.5, 3.0], [2.0, inf, 2.0, 1.5, -1.0]),
        "ellipkm1": ([1e-30, 1e-3, 0.0, 1.0],),
        "poch": ([-2.5, -2.0, 0.0], [1.0, 1.0, 2.0]),
        "rgamma": ([-1.0, 0.0, -1.5, 200.0],),
        "ndtri_exp": ([-1e-20, -1000.0, 0.0],),
        "pseudo_huber": ([0.0, inf], [1.0, 1.0]),
        "pdtr": ([1.5, -1.0], [2.0, 3.0]),
    }
    for name, values in cases.items():
        function = getattr(scipy.special, name)
        with np.errstate(all="ignore"):
            result = function(*[adjoint.tensor(v, dtype=adjoint.float64) for v in values])
            np.testing.assert_allclose(result.numpy(), function(*map(np.array, values)), rtol=1e-14, err_msg=name)


def test_slopes_at_special_places() -> None:
    def slopes(name: str, *values: float) -> list[float]:
        tensors = [adjoint.tensor(v, dtype=adjoint.float64, requires_grad=True) for v in values]
        gradients = adjoint.autograd.grad(getattr(scipy.special, name)(*tensors), tensors)
        return [g.item() for g in gradients]

    np.testing.assert_allclose(slopes("ellipkm1", 1e-30), -0.5e30)
    np.testing.assert_allclose(slopes("boxcox", 0.0, 2.0), [0.0, 0.25])
    np.testing.assert_allclose(slopes("inv_boxcox", 0.3, 0.0), [np.exp(0.3), -0.045 * np.exp(0.3)])
    np.testing.assert_allclose(slopes("rgamma", -2.0), [2.0])
    np.testing.assert_allclose(slopes("beip", 0.0), [0.5])
    z = adjoint.tensor(0.0, dtype=adjoint.float64, requires_grad=True)
    adjoint.real(FUNCTIONS["scipy.special.lambertw"](z)).backward()
    assert z.grad is not None and z.grad.item() == 1


def test_functions_of_several_variables_to_the_second_order() -> None:
    of_three = [adjoint.tensor(positive(3), requires_grad=True) for _ in range(3)]
    angles = [adjoint.tensor(normal(3) * 3, requires_grad=True), adjoint.tensor(fraction(3), requires_grad=True)]
    probabilities = [adjoint.tensor(a, requires_grad=True) for a in (fraction(3), positive(3), fraction(3))]
    wave = adjoint.tensor(normal(3), requires_grad=True)
    cases: list[tuple[Any, list[Any]]] = [
        (scipy.special.elliprf, of_three), (scipy.special.elliprd, of_three), (scipy.special.elliprg, of_three),
        (scipy.special.elliprj, [*of_three, adjoint.tensor(positive(3) + 1, requires_grad=True)]),
        (scipy.special.elliprc, of_three[:2]),
        (scipy.special.agm, of_three[:2]), (scipy.special.ellipkinc, angles), (scipy.special.ellipeinc, angles),
        (scipy.special.ellipj, angles), (scipy.special.btdtria, probabilities),
        (lambda q: scipy.special.mathieu_a(3, q), [wave]), (lambda q: scipy.special.mathieu_b(2, q), [wave]),
        (lambda q, x: scipy.special.mathieu_sem(2, q, x), [wave, angles[0]]),
        (lambda c: scipy.special.obl_cv(1, 4, c), of_three[:1]),
        (lambda x: scipy.special.modfresnelp(x)[1], of_three[:1]),
    ]  # fmt: skip
    for function, tensors in cases:
        assert adjoint.autograd.gradcheck(function, tensors, check_forward_ad=True)
        assert adjoint.autograd.gradgradcheck(function, tensors)


#: Derivatives with 30 digits by mpmath: Carlson's family by (exponents, variables), and Hurwitz's zeta by (s, a, n).
CARLSON = {
    ((1.5, 0.5, 1.5, 0.0), (0.3, 2.0, 0.3, 1.0)): 3.7170864790613482,
    ((1.5, 0.5, 1.5, 0.0), (1e-6, 3.0, 1e6, 1.0)): 1.1540342356598661e-6,
    ((0.5, 0.5, 2.5, 1.0), (0.0, 3.0, 0.2, 5.0)): 3.7328392706792502,
}
HURWITZ = {
    (2.0, 1.0, 1): -0.93754825431584375, (1.01, 0.3, 2): 2000004.8863688699,
    (30.0, 1.0, 1): -6.4554895388000303e-10, (0.3, 1.0, 1): -1.9618608600898818,
}  # fmt: skip


def test_integrals_of_carlson_and_slopes_of_zeta_have_all_digits() -> None:
    for (exponents, variables), expected in CARLSON.items():
        actual = OPS.carlson_integral(*[adjoint.tensor(v, dtype=adjoint.float64) for v in variables], exponents)
        np.testing.assert_allclose(actual.item(), expected, rtol=4e-15)
    for (s, a, n), expected in HURWITZ.items():
        actual = OPS.hurwitz_zeta(adjoint.tensor(s, dtype=adjoint.float64), adjoint.tensor(a, dtype=adjoint.float64), n)
        np.testing.assert_allclose(actual.item(), expected, rtol=4e-15)


def test_distribution_function_of_normal_vectors() -> None:
    cdf = adjoint.scipy.stats.multivariate_normal.cdf
    x, mean, cov = (adjoint.tensor(a, requires_grad=True) for a in (normal(3, 2), normal(2), square(2)))
    assert adjoint.autograd.gradcheck(cdf, [x, mean, cov], check_forward_ad=True)
    assert adjoint.autograd.gradgradcheck(cdf, [x, mean, cov])
    # Of three variables, conditional probabilities are exact by independence and by symmetry.
    places = adjoint.tensor(normal(3), requires_grad=True)
    parts = scipy.special.ndtr(places.detach().numpy())
    density = np.exp(-0.5 * places.detach().numpy() ** 2) / np.sqrt(2 * np.pi)
    (slope,) = adjoint.autograd.grad(cdf(places, None, np.eye(3)), places)
    np.testing.assert_allclose(slope.numpy(), density * np.prod(parts) / parts, rtol=1e-12)
    even = adjoint.tensor(np.eye(3) + 0.5, requires_grad=True)
    (by_cov,) = adjoint.autograd.grad(cdf(np.zeros(3), None, even), even)
    # With limits of 0 it is 1/8 plus the sum of asin(correlation) / (4 pi).
    rho = 1 / 3
    np.testing.assert_allclose(by_cov[0, 1].item(), 1 / (8 * np.pi * np.sqrt(1 - rho**2) * 1.5), rtol=1e-12)
    np.testing.assert_allclose(by_cov[0, 0].item(), -2 * rho / (8 * np.pi * np.sqrt(1 - rho**2) * 1.5), rtol=1e-12)


def test_distribution_function_of_normal_vectors_at_its_ends() -> None:
    cdf = adjoint.scipy.stats.multivariate_normal.cdf
    limits = np.array([[np.inf, 0.3], [0.2, -np.inf], [0.0, 0.0], [0.0, -0.4], [-0.3, 0.0]])
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    x = adjoint.tensor(limits, requires_grad=True)
    y = cdf(x, None, cov)
    np.testing.assert_allclose(y.detach().numpy(), scipy.stats.multivariate_normal.cdf(limits, None, cov), atol=1e-10)
    (slope,) = adjoint.autograd.grad(y.sum(), x)
    np.testing.assert_allclose(slope[0].numpy(), [0, np.exp(-0.045) / np.sqrt(2 * np.pi)], rtol=1e-12)
    assert slope[1].tolist() == [0, 0]
    with pytest.raises(TypeError, match="lower_limit is not supported for Tensors"):
        cdf(x, None, cov, lower_limit=[0.0, 0.0])


@pytest.mark.parametrize("q", [-50.0, 0.0, 100.0, 1000.0])
def test_mathieu_functions_of_any_strength(q: float) -> None:
    strength = adjoint.tensor(q, dtype=adjoint.float64)
    for name, first in (("mathieu_cem", 0), ("mathieu_sem", 1)):
        for m in (first, 2, 3, 10):
            actual = [each.item() for each in getattr(scipy.special, name)(m, strength, 63.0)]
            np.testing.assert_allclose(actual, getattr(scipy.special, name)(m, q, 63.0), rtol=1e-8, atol=1e-10)
    for m, n in ((0, 0), (1, 4), (5, 30)):
        for name in ("pro_cv", "obl_cv"):
            actual = getattr(scipy.special, name)(m, n, abs(strength) / 12)
            np.testing.assert_allclose(actual.item(), getattr(scipy.special, name)(m, n, abs(q) / 12), rtol=1e-9)


def test_functions_whose_size_depends_on_values_under_vmap() -> None:
    x = adjoint.tensor(fraction(3))
    module = adjoint.scipy.special
    for function in (
        lambda x: scipy.special.mathieu_a(2, x),
        lambda x: scipy.special.mathieu_cem(2, x, x)[1],
        lambda x: scipy.special.pro_cv(1, 2, x),
        lambda x: module.assoc_legendre_p([1, 2], 1, x),
        lambda x: module.sph_harm_y(2, 1, x, 0.3).real,
    ):
        expected = adjoint.stack([function(member) for member in x])
        np.testing.assert_allclose(adjoint.vmap(function)(x).numpy(), expected.numpy(), rtol=1e-12)


def test_where_carlsons_integrals_have_no_finite_derivative() -> None:
    a, b, c = (adjoint.tensor(v, dtype=adjoint.float64, requires_grad=True) for v in (0.0, 1.0, -1.0))
    assert adjoint.autograd.grad(scipy.special.elliprf(a, b, b), [a])[0].item() == -np.inf
    assert adjoint.autograd.grad(scipy.special.elliprc(b, c), [c])[0].isnan()


def test_a_solution_that_does_not_exist_is_a_constant() -> None:
    # no number of events has so small a probability
    p = adjoint.tensor(0.01, dtype=adjoint.float64, requires_grad=True)
    y = scipy.special.pdtrik(p, 0.5)
    assert y.item() == scipy.special.pdtrik(0.01, 0.5)
    assert adjoint.autograd.grad(y, p)[0].item() == 0


def test_noncentral_distributions_of_few_degrees_of_freedom() -> None:
    # the densities are singular at 0; these values are mpmath's
    values = [adjoint.tensor(v, dtype=adjoint.float64, requires_grad=True) for v in (0.75, 0.55, 1.5)]
    gradients = adjoint.autograd.grad(scipy.special.chndtr(*values), values)
    np.testing.assert_allclose(
        [g.item() for g in gradients], [0.215777563870684, -0.249796552510932, -0.169733737017452], rtol=1e-9
    )


def test_slopes_of_hankel_functions_at_real_numbers() -> None:
    x = adjoint.tensor(positive(3), requires_grad=True)
    for name in ("hankel1", "hankel2", "hankel1e", "hankel2e"):
        assert adjoint.autograd.gradcheck(lambda x, name=name: getattr(scipy.special, name)(0.5, x), [x])


@pytest.mark.parametrize("name", ["erf", "gammaln", "expit", "betaln"])
def test_ufuncs_keep_single_precision(name: str) -> None:
    ufunc = getattr(scipy.special, name)
    arrays = [positive(3).astype("f4") for _ in range(ufunc.nin)]
    result = ufunc(*[adjoint.tensor(a) for a in arrays])
    assert result.dtype is adjoint.float32
    np.testing.assert_allclose(result.numpy(), ufunc(*arrays), rtol=1e-6)


def test_a_ufunc_of_which_there_is_no_derivative_says_so() -> None:
    x = adjoint.tensor([0.5], requires_grad=True)
    with pytest.raises(TypeError, match="mathieu_a: the order must be one constant number, since it has no derivative"):
        scipy.special.mathieu_a(x[0], 1.0)
    with pytest.raises(TypeError, match="mathieu_modcem1: q must be one constant number"):
        scipy.special.mathieu_modcem1(1, x, 0.5)
    with pytest.raises(TypeError, match="the orders must be 0 <= m <= n, not 3 and 2"):
        scipy.special.pro_cv(3, 2, x)
    with pytest.raises(TypeError, match="obl_ang1: m must be a whole number, not"):
        scipy.special.obl_ang1(0.5, 2, 1.0, x)
    with pytest.raises(TypeError, match="airye: of complex numbers it is not holomorphic"):
        scipy.special.airye(x * 1j)
    with pytest.raises(TypeError, match="the order must be one integer"):
        scipy.special.expn(np.array([1, 2]), adjoint.tensor([0.5, 1.0], requires_grad=True))
    with pytest.raises(TypeError, match="the parameters must be constant numbers"):
        scipy.special.hyp2f1(x, 1.0, 2.0, x)
    with pytest.raises(TypeError, match="the order must be one integer"):
        FUNCTIONS["scipy.special.polygamma"]([1, 2], x)
    with pytest.raises(TypeError, match="the branch must be one integer"):
        FUNCTIONS["scipy.special.lambertw"](x, [0, 1])
    for name in ("jv", "yv", "iv"):
        with pytest.raises(TypeError, match=f"it is not holomorphic; scale {name} instead"):
            getattr(scipy.special, f"{name}e")(1.0, x * 1j)


# functions ------------------------------------------------------------------------------------------------------------

D = np.array(np.arange(1.0, 4.0))
BANDS = np.array([[0.0, 1.0, 2.0, 1.0], [5.0, 6.0, 7.0, 8.0], [1.0, -1.0, 0.5, 0.0]])
#: By name: lists of positional arguments, of which arrays are differentiated, and keywords.
SAMPLES: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "special.logsumexp": [
        ((normal(2, 3),), {}), ((normal(2, 3),), {"axis": 1, "keepdims": True}),
        ((normal(2, 3), 1, positive(3)), {}), ((normal(2, 3), 0, normal(3)), {"return_sign": True}),
    ],
    "special.softmax": [((normal(2, 3),), {}), ((normal(2, 3, 2),), {"axis": (0, 2)})],
    "special.log_softmax": [((normal(2, 3),), {"axis": 0}), ((normal(2, 3),), {})],
    "special.polygamma": [((2, positive(3)), {}), ((0, positive(3)), {})],
    "special.multigammaln": [((positive(3) + 2, 3), {})],
    "special.zeta": [((2.5, positive(3)), {}), ((positive(3) + 1, positive(3)), {}),
                     ((np.array([-3.3, -0.4, 0.5, 2.5]),), {})],
    "special.spherical_jn": [((n, positive(3)), {"derivative": d}) for n in (0, 2) for d in (False, True)],
    "special.sinc": [((normal(3),), {})],
    **{f"special.spherical_{name}n": [((n, D), {"derivative": d}) for n in (0, 2) for d in (False, True)]
       for name in "yik"},
    **{f"special.{name}p": [((0.5, D, n), {}) for n in (0, 1, 3)] for name in ("jv", "yv", "iv", "kv")},
    "special.softplus": [((D - 2,), {})],
    "special.legendre_p": [((3, fraction(3)), {}), (([[0], [2]], fraction(3)), {"diff_n": 2})],
    "special.legendre_p_all": [((3, fraction(3)), {}), ((2, fraction(3)), {"diff_n": 1})],
    "special.assoc_legendre_p": [((3, 1, fraction(3)), {}), ((3, -2, fraction(3)), {"norm": True}),
                                 (([2, 3, 1], [1, 0, -1], fraction(3)), {})],
    "special.assoc_legendre_p_all": [((3, 2, fraction(3)), {}), ((3, 1, fraction(2)), {"norm": True})],
    "special.sph_legendre_p": [((3, 1, normal(3)), {}), ((4, -3, normal(3)), {}), ((2, 3, positive(3)), {})],
    "special.sph_legendre_p_all": [((3, 2, positive(3)), {})],
    "special.sph_harm_y": [((3, -2, positive(2, 1), normal(3)), {}),
                           (([1, 2, 3], [0, -1, 2], positive(3), normal(3)), {})],
    "special.sph_harm_y_all": [((3, 2, positive(3), normal(3)), {})],
    "special.lqn": [((3, fraction(3)), {}), ((0, fraction(3)), {})],
    "special.lqmn": [((2, 3, fraction(3)), {})],
    "special.assoc_laguerre": [((positive(3), 3, 1.5), {}), ((positive(3), 2), {})],
    "special.diric": [((3 * normal(3), 4), {}), ((3 * normal(3), 5), {})],
    "special.perm": [((positive(3) + 3, positive(3)), {})],
    "special.factorial2": [((positive(3),), {"extend": "complex"})],
    "special.factorialk": [((positive(3), 3), {"extend": "complex"})],
    **{f"special.h{kind}vp": [((0.5, positive(3), 2), {}), ((1, positive(3)), {})] for kind in (1, 2)},
    # SciPy accepts only numbers
    **{f"special.{name}": [] for name in ("lmbda", "riccati_jn", "riccati_yn", "pro_cv_seq", "obl_cv_seq")},
    "special.lambertw": [((D, k), {}) for k in (0, -1, 2)] + [((D * (1 - 0.5j), 1), {})],
    "special.factorial": [((positive(3),), {})],
    "special.comb": [((positive(3) + 3, positive(3)), {}), ((positive(3) + 3, positive(3)), {"repetition": True})],
    "linalg.inv": [((square(),), {})],
    "linalg.det": [((square(),), {})],
    "linalg.pinv": [((normal(4, 3),), {}), ((normal(3, 4),), {"return_rank": True})],
    "linalg.pinvh": [],
    "linalg.norm": [((normal(3, 4),), {}), ((normal(3, 4), 1, 0), {}), ((normal(3, 4),), {"ord": "nuc"})],
    "linalg.solve": [
        ((square(), normal(3)), {}), ((square(), normal(3, 2)), {"transposed": True}),
        ((square(), normal(3)), {"assume_a": "pos"}), ((square(), normal(3)), {"assume_a": "sym", "lower": True}),
        ((square(), normal(3)), {"assume_a": "lower triangular"}),
    ],
    "linalg.solve_triangular": [
        ((square(), normal(3)), {"trans": t, "lower": low}) for t in (0, 1, "C") for low in (False, True)
    ] + [((square(), normal(3, 2)), {"unit_diagonal": True})],
    "linalg.cholesky": [((square(),), {"lower": low}) for low in (False, True)],
    "linalg.cho_factor": [],
    "linalg.cho_solve": [],
    "linalg.lu": [((square(),), {}), ((square(),), {"permute_l": True}), ((square(),), {"p_indices": True})],
    "linalg.lu_factor": [((square(),), {})],
    "linalg.lu_solve": [],
    "linalg.qr": [((square(),), {}), ((normal(4, 3),), {"mode": "economic"}), ((square(),), {"mode": "r"}),
                  ((square(),), {"pivoting": True})],
    "linalg.svd": [((normal(4, 3),), {"full_matrices": False}), ((square(),), {"compute_uv": False})],
    "linalg.svdvals": [((normal(4, 3),), {})],
    "linalg.polar": [((normal(3, 3),), {"side": s}) for s in ("left", "right")],
    # both methods of LAPACK give these eigenvectors the same signs
    "linalg.eigh": [((np.diag(3 * D) - np.array([[0, 1, -1], [1, 0, 1], [-1, 1, 0]]),), {}),
                    ((square(),), {"lower": False, "eigvals_only": True}),
                    ((square(),), {"subset_by_index": [1, 2], "eigvals_only": True})],
    "linalg.eigvalsh": [((square(),), {}), ((square(), square()), {}), ((square(), square()), {"type": 3})],
    "linalg.eig": [],
    "linalg.eigvals": [((square() + normal(3, 3) * 0.1,), {})],
    "linalg.eigh_tridiagonal": [((positive(4), positive(3)), {"eigvals_only": True})],
    "linalg.expm": [((normal(3, 3),), {})],
    "linalg.sqrtm": [((square(),), {})],
    "linalg.logm": [((square(),), {})],
    "linalg.signm": [((square() - 2 * np.eye(3),), {})],
    "linalg.fractional_matrix_power": [((square(), 0.3), {})],
    **{f"linalg.{name}": [((normal(3, 3),), {})] for name in ("cosm", "sinm", "tanm", "coshm", "sinhm", "tanhm")},
    "linalg.expm_frechet": [((normal(3, 3), normal(3, 3)), {}), ((square(), square()), {"compute_expm": False})],
    "linalg.solve_sylvester": [((square(), square(2), normal(3, 2)), {})],
    "linalg.solve_continuous_lyapunov": [((square(), normal(3, 3)), {})],
    "linalg.solve_continuous_are": [],
    "linalg.solve_discrete_are": [],
    "linalg.solve_lyapunov": [((square(), normal(3, 3)), {})],
    "linalg.solve_discrete_lyapunov": [((0.2 * normal(3, 3), normal(3, 3)), {})],
    "linalg.solve_banded": [(((1, 1), BANDS, normal(4)), {}), (((1, 1), BANDS, normal(4, 2)), {})],
    "linalg.solveh_banded": [((BANDS[:2], normal(4)), {}), ((BANDS[1:], normal(4, 2)), {"lower": True})],
    "linalg.lstsq": [((normal(m, 3), normal(*shape)), {}) for m, shape in ((5, (5,)), (5, (5, 2)), (2, (2,)))],
    "linalg.block_diag": [((normal(2, 2), normal(3)), {})],
    "linalg.toeplitz": [((normal(3),), {}), ((normal(3), normal(4)), {})],
    "linalg.hankel": [((normal(3),), {}), ((normal(3), normal(4)), {})],
    "linalg.circulant": [((normal(4),), {})],
    "linalg.khatri_rao": [((normal(2, 3), normal(4, 3)), {})],
    "linalg.companion": [((positive(4),), {})],
    "linalg.solve_toeplitz": [((np.array([4.0, 1.0, 0.5]), normal(3)), {})],
    "linalg.matmul_toeplitz": [((normal(3), normal(3)), {})],
    "signal.convolve": [((normal(7), normal(3), m), {}) for m in ("full", "same", "valid")]
    + [((normal(4, 5), normal(2, 3), "full", how), {}) for how in ("direct", "fft")],
    "signal.fftconvolve": [((normal(4, 5), normal(4, 3)), {"axes": 1, "mode": m}) for m in ("full", "valid")],
    "signal.oaconvolve": [((normal(4, 5), normal(4, 3)), {"axes": 1})],
    "signal.correlate": [((normal(7), normal(3), m), {}) for m in ("full", "same", "valid")],
    "signal.convolve2d": [((normal(4, 5), normal(2, 3), "same"), {})],
    "signal.correlate2d": [((normal(4, 5), normal(2, 3)), {})],
    "signal.detrend": [((normal(2, 5),), {}), ((normal(5, 2),), {"axis": 0, "type": "constant"})],
    **{f"fft.{name}": [((normal(2, 6),), {}), ((normal(2, 6), 8, 0, "ortho"), {})]
       for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": [((normal(3, 4),), {}), ((normal(3, 4), (2, 4)), {"workers": 1})]
       for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")},
    **{f"fft.{name}": [((normal(3, 4),), {})] for name in ("fftshift", "ifftshift")},
    **{f"fft.{name}": [((normal(2, 5),), {"type": t, "norm": n}) for t in (1, 2, 3, 4)
                        for n in (None, "ortho", "forward")]
       + [((normal(3, 2),), {"axis": 0, "n": n, "orthogonalize": o}) for n, o in ((2, True), (4, False))]
       for name in ("dct", "idct", "dst", "idst")},
    "integrate.trapezoid": [((normal(4), positive(4).cumsum()), {})],
    "integrate.cumulative_trapezoid": [((normal(4), positive(4).cumsum()), {"initial": 0}),
                                       ((normal(2, 4),), {"axis": 0}),
                                       ((normal(2, 4), positive(2, 4).cumsum(1)), {})],
    "integrate.simpson": [((normal(5),), {"dx": 0.5}), ((normal(2, 4),), {"x": D.tolist() + [5.0]}),
                          ((normal(6), positive(6).cumsum()), {}), ((normal(7), positive(7).cumsum()), {}),
                          ((normal(2, 5), positive(2, 5).cumsum(1)), {"axis": 1}), ((normal(2),), {})],
    "integrate.cumulative_simpson": [((normal(6),), {"dx": 0.5}), ((normal(5, 2),), {"axis": 0, "initial": 0.3}),
                                     ((normal(2, 7),), {"x": D.tolist() + [5.0, 6.0, 7.5, 8.0]}), ((normal(2),), {})],
    "stats.multivariate_normal.logpdf": [((normal(4, 3), normal(3)), {"cov": 2.0}), ((normal(3),), {}),
                                         ((normal(4), np.zeros(1)), {}),
                                         ((normal(2, 3), normal(3)), {"cov": [1.0, 2.0, 3.0]})],
    "stats.multivariate_normal.pdf": [((normal(4, 3), normal(3)), {"cov": np.eye(3) + 1})],
    "stats.multivariate_normal.cdf": [((normal(4, 2), normal(2)), {"cov": np.eye(2) + 0.5, "abseps": 1e-10}),
                                      ((normal(3),), {})],
    "stats.multivariate_normal.logcdf": [((normal(2), normal(2)), {"abseps": 1e-10})],
    "stats.multivariate_normal.entropy": [],
    "stats.dirichlet.logpdf": [((np.array([0.2, 0.3, 0.5]), positive(3)), {})],
    "stats.dirichlet.pdf": [],
    "stats.multinomial.logpmf": [],
    "stats.multinomial.pmf": [],
    "linalg.null_space": [],
}  # fmt: skip


def of_scipy(name: str) -> Any:
    result: Any = scipy
    for part in name.split("."):
        result = getattr(result, part)
    return result


#: SciPy's functions of single numbers in scipy.special: the orders, and the variable.
OF_NUMBERS: dict[str, tuple[tuple[float, ...], float]] = {
    "lmbda": ((2.5,), 1.3), "riccati_jn": ((2,), 1.3), "riccati_yn": ((2,), 1.3), "pro_cv_seq": ((1, 3), 1.2),
    "obl_cv_seq": ((0, 2), 1.2),
}  # fmt: skip


def _all_of(result: Any) -> tuple[Any, ...]:
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_functions_of_numbers(name: str) -> None:
    orders, position = OF_NUMBERS[name]
    plain, ours = getattr(scipy.special, name), getattr(adjoint.scipy.special, name)
    check(
        lambda x: [np.asarray(each) for each in _all_of(plain(*orders, x.item()))],
        np.array(position),
        over_tensors=lambda x: list(_all_of(ours(*orders, x))),
    )


def test_every_function_of_scipy_special_is_differentiated_or_refused() -> None:
    for name in scipy.special.__all__:
        function = getattr(scipy.special, name)
        if isinstance(function, type) or not callable(function) or name in ("geterr", "seterr"):
            continue
        is_known = function in UFUNCS if isinstance(function, np.ufunc) else f"scipy.special.{name}" in FUNCTIONS
        assert is_known != (name in REASONS), name


@pytest.mark.parametrize("name", ["ai_zeros", "roots_jacobi", "legendre", "pbdv_seq", "ellip_harm"])
def test_refused_functions_of_scipy_special_say_why(name: str) -> None:
    function = getattr(adjoint.scipy.special, name)
    tensor = adjoint.tensor(3.0, dtype=adjoint.float64, requires_grad=True)
    for value in (tensor, adjoint.numpy.Array(tensor)):
        with pytest.raises(TypeError, match=re.escape(f"scipy.special.{name}() has no derivative: {REASONS[name]}")):
            function(value, 1)
    assert adjoint.scipy.special.bernoulli(adjoint.tensor(2)).tolist() == scipy.special.bernoulli(2).tolist()


def test_functions_of_whole_orders_refuse_what_they_cannot() -> None:
    x = adjoint.tensor([0.5, 1.5], dtype=adjoint.float64, requires_grad=True)
    module = adjoint.scipy.special
    with pytest.raises(TypeError, match="between -1 and 1"):
        module.assoc_legendre_p(2, 1, x)
    with pytest.raises(TypeError, match="diff_n=1 is not supported"):
        module.sph_harm_y(2, 1, x, x, diff_n=1)
    with pytest.raises(TypeError, match="the orders must be whole numbers"):
        module.legendre_p(1.5, x)
    with pytest.raises(TypeError, match="with extend='complex' it is one of real numbers"):
        module.factorial2(x)


def test_every_function_has_samples() -> None:
    names = {name.removeprefix("scipy.") for name in FUNCTIONS if name.startswith("scipy.")}
    # Functions that other test files cover.
    elsewhere = ("ndimage", "filters", "distances", "distributions.vectors")
    names = {name for name in names if not FUNCTIONS[f"scipy.{name}"].__module__.endswith(elsewhere)}
    assert names == set(SAMPLES)


@pytest.mark.parametrize(
    ("name", "arguments", "options"),
    [(name, *sample) for name, samples in SAMPLES.items() for sample in samples],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_functions(name: str, arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
    places = [i for i, value in enumerate(arguments) if isinstance(value, np.ndarray)]

    def with_arrays(function: Call) -> Call:
        def call(*arrays: Any) -> Any:
            values = list(arguments)
            for position, array in zip(places, arrays, strict=True):
                values[position] = array
            return function(*values, **options)

        return call

    if name in ("fft.irfft", "fft.hfft", "fft.irfft2", "fft.irfftn"):
        arguments = (arguments[0] + 0j, *arguments[1:])
    arrays = [arguments[i] for i in places]
    if name == "stats.dirichlet.logpdf":
        arrays = arrays[1:]
        places = places[1:]
    check(
        with_arrays(of_scipy(name)),
        *arrays,
        over_tensors=with_arrays(FUNCTIONS[f"scipy.{name}"]),
        of_eigenvectors=name == "linalg.eigh" and not options,
    )


F = {name.removeprefix("scipy."): function for name, function in FUNCTIONS.items() if name.startswith("scipy.")}
STATES = tuple([OTHER.normal(size=shape) for shape in ((3, 3), (3, 2), (3, 3), (2, 2))])
MIXED = (OTHER.normal(size=(3, 3)) + 3 * np.eye(3), 0.1 * OTHER.normal(size=(3, 2)))
COMPOSED: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    **{
        f"{time} time, {len(more)}": (
            lambda f, a, b, q, r, e=None, s=None, time=time: f[f"linalg.solve_{time}_are"](
                a, b, q @ q.T + np.eye(3), r @ r.T + np.eye(2), e, s
            ),
            (*STATES, *more),
        )
        for time in ("continuous", "discrete")
        for more in ((), MIXED)
    },
    "cho_solve": (
        lambda f, a, b: f["linalg.cho_solve"](f["linalg.cho_factor"](a, lower=True), b),
        (square(), normal(3)),
    ),
    "cho_solve, upper": (lambda f, a, b: f["linalg.cho_solve"](f["linalg.cho_factor"](a), b), (square(), normal(3, 2))),
    **{
        f"lu_solve, {t}": (
            lambda f, a, b, t=t: f["linalg.lu_solve"](f["linalg.lu_factor"](a), b, trans=t),
            (square(), normal(3)),
        )
        for t in (0, 1, 2)
    },
    "eigenvectors": (lambda f, a: abs(f["linalg.eig"](a)[1]), (square() + np.diag(3 * D),)),
    "pinvh": (lambda f, a: f["linalg.pinvh"](a + a.T), (square(),)),
    "entropy": (lambda f, a: f["stats.multivariate_normal.entropy"](None, a + a.T), (square(),)),
    "covariance": (lambda f, x, a: f["stats.multivariate_normal.logpdf"](x, None, a + a.T), (normal(2, 3), square())),
    "singular": (
        lambda f, x, a: f["stats.multivariate_normal.logpdf"](x, None, a + a.T, allow_singular=True),
        (normal(2, 3), square()),
    ),
    "dirichlet": (lambda f, x, a: f["stats.dirichlet.pdf"](x / x.sum(), a), (positive(3), positive(3))),
    "multinomial": (lambda f, p: f["stats.multinomial.logpmf"]([1, 2, 1], 4, p / p.sum()), (positive(3),)),
    "multinomial, pmf": (lambda f, p: f["stats.multinomial.pmf"]([1, 2, 1], 4, p / p.sum()), (positive(3),)),
    "kve": (lambda f, v, z: scipy.special.kve(v, z), (positive(3), positive(3))),
}


class _OfScipy:
    def __getitem__(self, name: str) -> Any:
        return of_scipy(name)


@pytest.mark.parametrize("name", COMPOSED)
def test_functions_together(name: str) -> None:
    call, arrays = COMPOSED[name]
    check(lambda *x: call(_OfScipy(), *x), *arrays, over_tensors=lambda *x: call(F, *x), rtol=1e-7)


# refused arguments ----------------------------------------------------------------------------------------------------

T = adjoint.tensor(square(), requires_grad=True)
V = adjoint.tensor(positive(4), requires_grad=True)
REFUSED: list[tuple[str, tuple[Any, ...], dict[str, Any], type[Exception], str]] = [
    ("linalg.qr", (T,), {"mode": "raw"}, TypeError, "mode='raw' is not supported"),
    ("linalg.polar", (T,), {"side": "up"}, ValueError, "`side` must be"),
    ("linalg.eigh", (T,), {"subset_by_value": [0, 1]}, TypeError, "subset_by_value is not supported"),
    ("linalg.eig", (T,), {"left": True}, TypeError, "left eigenvectors are those of"),
    ("linalg.eigh_tridiagonal", (V, V[1:]), {"select": "i"}, TypeError, "use select='a'"),
    ("linalg.null_space", (T,), {}, TypeError, "its basis is arbitrary"),
    ("linalg.solve_sylvester", (T, T, T[:2]), {}, RuntimeError, "Q must be 3 by 3"),
    ("linalg.solve_discrete_lyapunov", (T, T[:2]), {}, RuntimeError, "Q must have the shape of A, but they are 2 by 3"),
    ("linalg.solve_continuous_are", (T, T, T[:2, :2], T), {}, RuntimeError, "Q must be 3 by 3 as A and B are"),
    ("linalg.solve_discrete_are", (T, T, np.triu(np.ones((3, 3))), T), {}, ValueError, "should be symmetric/hermitian"),
    ("linalg.solve_banded", ((1, 2), BANDS, V), {}, ValueError, r"l\+u\+1 \(4\) does not equal"),
    ("linalg.solve_banded", ((1, 1), BANDS, V[:3]), {}, ValueError, "are not compatible"),
    ("signal.convolve", (V, T), {}, ValueError, "the same dimensionality"),
    ("signal.convolve", (V, V), {"mode": "all"}, ValueError, "acceptable mode flags"),
    ("signal.convolve2d", (T, T), {"boundary": "wrap"}, TypeError, "boundary='wrap' with fillvalue=0 is not supported"),
    ("signal.correlate2d", (T, T), {"fillvalue": 1}, TypeError, "with fillvalue=1 is not supported"),
    ("signal.detrend", (V,), {"type": "cubic"}, ValueError, "must be 'linear' or 'constant'"),
    ("signal.detrend", (V,), {"bp": 2}, TypeError, "detrend each piece by itself"),
    ("integrate.cumulative_trapezoid", (V,), {"initial": 1}, ValueError, "must be `None` or `0`"),
    ("integrate.simpson", (V, V[:3]), {}, ValueError, "length of x along axis"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case[0])
def test_refused(case: Any) -> None:
    name, arguments, options, error, message = case
    with pytest.raises(error, match=message):
        F[name](*arguments, **options)


def test_signatures_have_scipys_names() -> None:
    for name in F:
        if name.startswith(("linalg.", "signal.")) and name not in ("linalg.null_space", "linalg.eigh_tridiagonal"):
            ours = list(inspect.signature(F[name]).parameters)
            theirs = list(inspect.signature(of_scipy(name)).parameters)
            assert ours[: len(theirs)] == theirs or set(theirs) - set(ours) <= STRUCTURE, name


#: Parameters of newer SciPy versions that only select a method.
STRUCTURE = {"assume_a", "lower", "blocksize", "method", "kwds"}


@pytest.mark.parametrize("name", ["spherical_jn", "spherical_yn", "spherical_in", "spherical_kn"])
@pytest.mark.parametrize("derivative", [False, True])
def test_orders_that_scipy_would_count_up_to_are_refused(name, derivative):
    with pytest.raises(ValueError, match=rf"{name}\(\): the order {2**63 - 1} is above 1000000; .* by sqrt\(pi"):
        getattr(adjoint.scipy.special, name)(2**63 - 1, adjoint.tensor([1e300]), derivative=derivative)


#: Functions of all orders up to a number, with the arguments before and after the number.
SEQUENCES = {
    "riccati_jn": ((), (0.5,)), "riccati_yn": ((), (0.5,)), "lmbda": ((), (0.5,)), "lqn": ((), (0.5,)),
    "lqmn": ((1,), (0.5,)), "legendre_p_all": ((), (0.5,)), "assoc_legendre_p_all": ((), (1, 0.5)),
    "sph_legendre_p_all": ((), (1, 0.5)), "sph_harm_y_all": ((), (1, 0.5, 0.5)), "pro_cv_seq": ((1,), (0.5,)),
    "obl_cv_seq": ((1,), (0.5,)), "h1vp": ((1, 0.5), ()), "h2vp": ((1, 0.5), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences_of_enormous_orders_are_refused(name):
    before, after = SEQUENCES[name]
    if not hasattr(scipy.special, name):
        pytest.skip("this version of SciPy lacks the function")
    arguments = [adjoint.tensor(x) if isinstance(x, float) else x for x in (*before, 2**31 - 1, *after)]
    with pytest.raises(ValueError, match=rf"{name}\(\): the order {2**31 - 1} is above 100000"):
        getattr(adjoint.scipy.special, name)(*arguments)


@pytest.mark.parametrize("order", [1, 3])
def test_sequences_of_the_second_kind_are_those_of_scipy(order):
    sequences = adjoint.scipy.special.lqn(order, adjoint.tensor(0.3, dtype=adjoint.float64))
    for values, expected in zip(sequences, scipy.special.lqn(order, 0.3), strict=True):
        np.testing.assert_allclose(values.numpy(), expected, rtol=1e-12)
