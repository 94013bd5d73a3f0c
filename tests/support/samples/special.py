"""Samples of special functions and orthogonal polynomials."""

from __future__ import annotations

from adjoint.rules import TABLE
from adjoint.rules.special import POLYNOMIALS
from support.samples.draws import EMPTY, SCALAR, Sample, draw, index

_POSITIVE = (0.5, 3.0)

#: Domains of the inputs of elementwise operations: (low, high) for all inputs, or by input.
DOMAINS: dict[str, tuple[float, float] | dict[str, tuple[float, float]]] = {
    "digamma": _POSITIVE,
    "lgamma": _POSITIVE,
    "logit": (0.1, 0.9),
    "special_bessel_j0": (-4.0, 4.0),
    "special_bessel_j1": (-4.0, 4.0),
    "special_bessel_y0": _POSITIVE,
    "special_bessel_y1": _POSITIVE,
    "digamma_difference": _POSITIVE,
    "scaled_i_difference": _POSITIVE,
    "scaled_k_difference": _POSITIVE,
    "special_entr": _POSITIVE,
    "special_i0e": (-3.0, -0.1),
    "special_i1e": _POSITIVE,
    "special_modified_bessel_k0": _POSITIVE,
    "special_modified_bessel_k1": _POSITIVE,
    "special_ndtri": (0.1, 0.9),
    "special_scaled_modified_bessel_k0": _POSITIVE,
    "special_scaled_modified_bessel_k1": _POSITIVE,
    "special_xlog1py": {"input": (-1.0, 1.0), "other": (-0.5, 2.0)},
    "xlogy": {"input": (-1.0, 1.0), "other": (0.5, 2.0)},
    "erfinv": (-0.8, 0.8),
}

_COMPLEX = {"sinc", "spherical_bessel_j"}
_FAMILY = {"airy_ai", "bessel_i", "bessel_j", "digamma", "erf", "erfc", "erfinv", "i0", "igamma", "igammac", "lgamma"}
_FAMILY |= {"logit", "mvlgamma", "normal_hazard", "polygamma", "polynomial", "xlogy"}
_DIFFERENCES = {"dawsn_slope", "digamma_difference", "erfcx_tail", "scaled_i_difference", "scaled_k_difference"}
_FAMILY |= _DIFFERENCES
_FAMILY |= {name for name in TABLE if name.startswith("special_")}

#: Operations on real numbers only.
REAL_ONLY = _FAMILY - _COMPLEX

# the first argument has no derivative
_BY_OTHER: list[Sample] = [{"input": 2.5, "other": draw(2, 3, low=0.5, high=3.0)}]

#: Samples besides those derived from the signature.
MORE: dict[str, list[Sample]] = {
    "logit": [{"input": draw(6, low=-0.5, high=1.5), "eps": 0.2}],
    "xlogy": [{"input": draw(2, 3), "other": 2.5}, {"input": 2.5, "other": draw(3, low=0.5, high=2.0)}],
    "special_xlog1py": [{"input": draw(2, 3), "other": 2.5}, {"input": 2.5, "other": draw(3, low=0.5, high=2.0)}],
    "special_i1": [{"input": draw(5, then=lambda a: a * 1e-7)}, {"input": draw(5, low=1.0, high=9.0)}],
    "special_bessel_j1": [{"input": draw(5, then=lambda a: a * 1e-7)}],
    "spherical_bessel_j": [{"input": draw(2, 3), "order": 2}, {"input": draw(4, then=lambda a: a * 1e-3)}],
    "sinc": [{"input": draw(4, then=lambda a: a * 1e-6)}],
    "airy_ai": [{"input": draw(2, 3, low=-3.0, high=3.0), "order": 1}],
    # the range has arguments with a series and arguments without
    **{name: [{"input": draw(6, low=1.0, high=12.0)}] for name in _DIFFERENCES - {"digamma_difference"}},
}

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "polygamma": [
        {"input": draw(2, 3, low=0.5, high=3.0), "n": 0},
        {"input": draw(2, 3, low=-0.9, high=-0.1), "n": 1},
        {"input": draw(2, 3, low=0.5, high=3.0), "n": 1},
        {"input": draw(low=0.5, high=3.0), "n": 2},
        {"input": EMPTY, "n": 3},
    ],
    "mvlgamma": [
        {"input": draw(2, 3, low=2.5, high=4.0), "p": 3},
        {"input": draw(low=1.0, high=4.0), "p": 1},
        {"input": EMPTY, "p": 2},
    ],
    "special_zeta": _BY_OTHER,
    "bessel_j": [{"input": draw(2, 3, low=-4.0, high=4.0), "order": order} for order in (2, 3)],
    "bessel_i": [
        {"input": draw(2, 3, low=low, high=high), "order": order, "scaled": scaled}
        for order in (2, 3)
        for scaled in (False, True)
        for low, high in ((-4.0, -0.1), (0.1, 2.0))
    ],
    "polynomial": [
        *({"input": draw(2, 3), "n": 4, "family": family} for family in POLYNOMIALS),
        {"input": draw(4, 1), "n": index(-1, 0, 1, 2, 5), "family": "laguerre_polynomial_l"},
        {"input": draw(3), "n": 5, "family": "shifted_chebyshev_polynomial_v", "order": 2},
        {"input": SCALAR, "n": 2.7, "family": "hermite_polynomial_he"},
        {"input": EMPTY, "n": 3, "family": "legendre_polynomial_p"},
    ],
}
