"""Samples of distribution functions, Bessel functions of real order, and integrals of elementary functions."""

from __future__ import annotations

from support.samples.draws import EMPTY, Sample, draw

_POSITIVE = (0.5, 3.0)
_FRACTION = (0.1, 0.9)
_COUNT = {"low": 0.5, "high": 4.0}

#: Domains of the inputs of elementwise operations: (low, high) for all inputs, or by input.
DOMAINS: dict[str, tuple[float, float] | dict[str, tuple[float, float]]] = {
    "beta": _POSITIVE,
    "betainc": {"a": _POSITIVE, "b": _POSITIVE, "x": _FRACTION},
    "betaincinv": {"a": _POSITIVE, "b": _POSITIVE, "x": _FRACTION},
    "betaln": _POSITIVE,
    "agm": _POSITIVE,
    "cosine_integral": _POSITIVE,
    "ellipeinc": {"phi": (-3.0, 3.0), "m": _FRACTION},
    "ellipkinc": {"phi": (-3.0, 3.0), "m": _FRACTION},
    "elliprg": _POSITIVE,
    "erfcinv": (0.2, 1.8),
    "exp1": _POSITIVE,
    "expi": _POSITIVE,
    "gamma": _POSITIVE,
    "gammainccinv": {"input": _POSITIVE, "other": _FRACTION},
    "gammaln": _POSITIVE,
    "gammaincinv": {"input": _POSITIVE, "other": _FRACTION},
    "iv": {"v": (-3.0, 3.0), "z": _POSITIVE},
    "kv": {"v": (-3.0, 3.0), "z": _POSITIVE},
    "spence": _POSITIVE,
    "stdtr": {"df": _POSITIVE, "t": (-3.0, 3.0)},
    "stdtrit": {"df": _POSITIVE, "p": _FRACTION},
}

_BY_Z: list[Sample] = [
    {"v": 1.5, "z": draw(2, 3, low=0.5, high=3.0)},
    {"v": -0.7, "z": draw(low=0.5, high=3.0)},
    {"v": 2, "z": EMPTY},
]
_SCALED: list[Sample] = [{"v": draw(3, **_COUNT), "z": draw(3, **_COUNT), "order": n, "scaled": True} for n in (0, 1)]
_INCOMPLETE: list[Sample] = [
    {"input": draw(2, 1, low=0.5, high=3.0), "other": draw(3, **_COUNT)},
    {"input": draw(low=0.1, high=0.5), "other": draw(4, low=0.01, high=0.1)},
    {"input": 2.5, "other": draw(3, **_COUNT)},
    {"input": draw(3, **_COUNT), "other": 2.5},
]

#: Samples besides those derived from the signature.
MORE: dict[str, list[Sample]] = {
    "betainc": [{"a": draw(2, 1, **_COUNT), "b": 1.5, "x": draw(3, low=0.1, high=0.9), "orders": (1, 1)}],
    "exprel": [{"input": draw(5, low=-0.03, high=0.03)}],
    **dict.fromkeys(("iv", "kv"), _SCALED),
    "stdtr": [{"df": draw(2, 1, **_COUNT), "t": draw(3), "order": 1}],
}

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    **dict.fromkeys(("jv", "yv"), _BY_Z),
    **dict.fromkeys(("igamma", "igammac"), _INCOMPLETE),
    "expn": [{"input": draw(2, 3, low=0.5, high=3.0), "n": n} for n in (0, 1, 3)],
    "carlson_integral": [
        {**{name: draw(3, **_COUNT) for name in "abcd"}, "exponents": exponents, "power": power}
        for exponents, power in (((0.5, 0.5, 0.5, 1.0), 0), ((1.5, 0.5, 1.5, 0.0), 1))
    ],
    "hurwitz_zeta": [{"input": draw(2, 1, low=1.5, high=3.0), "other": draw(3, **_COUNT), "order": n} for n in (0, 1)],
    "jacobi_elliptic": [
        {"u": draw(2, 1, low=-3.0, high=3.0), "m": draw(3, low=0.1, high=0.9), "which": which} for which in range(4)
    ],
    "gammainc_derivative": [{**sample, "order": 1} for sample in _INCOMPLETE],
    "special_function": [
        {"z": draw(2, 3, low=0.5, high=3.0), "name": "airy_ai"},
        {"z": draw(low=0.1, high=0.8), "name": "hyp2f1", "parameters": (0.5, 1.5, 2.5)},
        {"z": EMPTY, "name": "loggamma"},
    ],
    "special_function_of_two": [
        {"a": draw(2, 1, low=0.5, high=3.0), "b": draw(3, low=0.1, high=0.8), "name": name}
        for name in ("boxcox", "binom")
    ],
}

_COMPLEX = {"cosine_integral", "exp1", "expi", "gamma", "jv", "special_function", "spence", "yv"}
#: Operations on real numbers only.
REAL_ONLY = (set(DOMAINS) | set(MORE) | set(SAMPLES)) - _COMPLEX | {"ellipe", "ellipk"}
