"""scipy.spatial.distance over Tensors: each distance is a formula along the last axis, of vectors and of all pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from adjoint.interop.numpy_functions import FUNCTIONS, function
from adjoint.interop.scipy_functions.axes import move_axes, tensors
from adjoint.interop.scipy_functions.pieces import constants, piecewise, plain
from adjoint.tensor.table import ops

Formula = Callable[..., Any]


def _sum(x: Any, w: Any = None) -> Any:
    return ops.sum(x if w is None else w * x, (-1,))


def _root(squares: Any) -> Any:
    """The square root, whose derivative counts as 0 for equal points, where there is none."""
    equal = plain(squares) == 0
    return piecewise([equal], [0.0, ops.sqrt], squares) if equal.any() else ops.sqrt(squares)


def _power(x: Any, p: float) -> Any:
    """|x| ** p, whose derivative counts as 0 at 0."""
    zero = plain(x) == 0
    return piecewise([zero], [0.0, lambda x: abs(x) ** p], x)


def _sqeuclidean(u: Any, v: Any, w: Any = None) -> Any:
    return _sum(ops.square(u - v), w)


def _minkowski(u: Any, v: Any, p: float = 2, w: Any = None) -> Any:
    if p <= 0:
        raise ValueError("p must be greater than 0")
    if p == 1:
        return _cityblock(u, v, w)
    if numpy.isinf(p):
        return _chebyshev(u, v, w)
    total = _sum(_power(u - v, p), w)
    return _power(total, 1 / p)


def _cityblock(u: Any, v: Any, w: Any = None) -> Any:
    return _sum(abs(u - v), w)


def _chebyshev(u: Any, v: Any, w: Any = None) -> Any:
    size = abs(u - v)
    return ops.amax(size if w is None else size * constants(plain(w) != 0, size), (-1,))


def _ratio(top: Any, bottom: Any) -> Any:
    """A ratio that is 0 where both are."""
    return piecewise([plain(bottom) == 0], [0.0, lambda a, b: a / b], top, bottom)


def _canberra(u: Any, v: Any, w: Any = None) -> Any:
    return _sum(_ratio(abs(u - v), abs(u) + abs(v)), w)


def _braycurtis(u: Any, v: Any, w: Any = None) -> Any:
    return _sum(abs(u - v), w) / _sum(abs(u + v), w)


def _cosine(u: Any, v: Any, w: Any = None) -> Any:
    return 1 - _sum(u * v, w) / ops.sqrt(_sum(u * u, w) * _sum(v * v, w))


def _correlation(u: Any, v: Any, w: Any = None, centered: bool = True) -> Any:
    if not centered:
        return _cosine(u, v, w)
    total = u.shape[-1] if w is None else ops.sum(w, (-1,))
    return _cosine(u - (_sum(u, w) / total)[..., None], v - (_sum(v, w) / total)[..., None], w)


def _seuclidean(u: Any, v: Any, V: Any) -> Any:
    return _root(_sum(ops.square(u - v) / V))


def _mahalanobis(u: Any, v: Any, VI: Any) -> Any:
    way = u - v
    return _root(_sum((way @ VI) * way))


def _jensenshannon(p: Any, q: Any, base: float | None = None) -> Any:
    p, q = p / ops.sum(p, (-1,), True), q / ops.sum(q, (-1,), True)
    middle = 0.5 * (p + q)
    total = 0.5 * _sum(_relative(p, middle) + _relative(q, middle))
    return _root(total if base is None else total / numpy.log(base))


def _relative(p: Any, q: Any) -> Any:
    return piecewise([plain(p) == 0], [0.0, lambda p, q: p * ops.log(p / q)], p, q)


#: The formulas by SciPy's names.
METRICS: dict[str, Formula] = {
    "braycurtis": _braycurtis, "canberra": _canberra, "chebyshev": _chebyshev, "cityblock": _cityblock,
    "correlation": _correlation, "cosine": _cosine, "euclidean": lambda u, v, w=None: _root(_sqeuclidean(u, v, w)),
    "jensenshannon": _jensenshannon, "mahalanobis": _mahalanobis, "minkowski": _minkowski, "seuclidean": _seuclidean,
    "sqeuclidean": _sqeuclidean,
}  # fmt: skip

#: Other names that cdist and pdist take.
_ALIASES = {
    "cos": "cosine", "euclid": "euclidean", "eu": "euclidean", "e": "euclidean", "sqe": "sqeuclidean",
    "sqeuclid": "sqeuclidean", "cityblock": "cityblock", "manhattan": "cityblock", "cblock": "cityblock",
    "cheby": "chebyshev", "chebychev": "chebyshev", "mi": "minkowski", "mahal": "mahalanobis", "js": "jensenshannon",
    "se": "seuclidean", "co": "correlation",
}  # fmt: skip

#: Array parameters, which have derivatives.
_ARRAYS = ("w", "V", "VI")


def _between(metric: Any, u: Any, v: Any, options: dict[str, Any]) -> Any:
    """A distance of vectors along the last axes. Raises TypeError for a metric without a derivative."""
    name = _ALIASES.get(metric, metric) if isinstance(metric, str) else None
    if name not in METRICS:
        raise TypeError(f"the distance {metric!r} is not supported for Tensors; use one of {', '.join(METRICS)}")
    arrays = {key: value for key, value in options.items() if key in _ARRAYS and value is not None}
    others = {key: value for key, value in options.items() if key not in _ARRAYS}
    u, v, *extra = tensors(u, v, *arrays.values())
    return METRICS[name](u, v, **dict(zip(arrays, extra, strict=True)), **others)


def _declare(name: str) -> None:
    def distance(u: Any, v: Any, *args: Any, **options: Any) -> Any:
        places = {
            "minkowski": ("p", "w"),
            "mahalanobis": ("VI",),
            "seuclidean": ("V",),
            "correlation": ("w", "centered"),
        }
        options |= dict(zip(places.get(name, ("w",)), args, strict=False))
        return _between(name, u, v, options)

    distance.__name__ = name
    distance.__doc__ = f"The {name} distance of two vectors."
    FUNCTIONS[f"scipy.spatial.distance.{name}"] = distance


for _name in METRICS:
    if _name != "jensenshannon":
        _declare(_name)


@function("scipy.spatial.distance.jensenshannon")
def jensenshannon(p, q, base=None, *, axis=0, keepdims=False):
    """The square root of the divergence of Jensen and Shannon, of two vectors of probabilities along an axis."""
    p, q = (move_axes(each, axis, -1) for each in tensors(p, q))
    result = _jensenshannon(p, q, base)
    return ops.unsqueeze(result, axis) if keepdims else result


def _spread(metric: Any, rows: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The options, with the variances or the inverse covariance that SciPy computes where none is given."""
    name = _ALIASES.get(metric, metric) if isinstance(metric, str) else metric
    if name == "seuclidean" and options.get("V") is None:
        return options | {"V": FUNCTIONS["var"](rows, 0, ddof=1)}
    if name == "mahalanobis" and options.get("VI") is None:
        return options | {"VI": ops.linalg_inv(FUNCTIONS["cov"](ops.transpose(rows, 0, 1)))}
    return options


@function("scipy.spatial.distance.cdist")
def cdist(XA, XB, metric="euclidean", *, out=None, **kwargs):
    """The distances of each row of XA and each row of XB."""
    a, b = tensors(XA, XB)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must be matrices with the same number of columns.")
    return _between(metric, a[:, None], b[None], _spread(metric, ops.cat([a, b], 0), kwargs))


@function("scipy.spatial.distance.pdist")
def pdist(X, metric="euclidean", *, out=None, **kwargs):
    """The distances of all pairs of rows, one for each pair."""
    x = tensors(X)[0]
    if x.ndim != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    first, second = numpy.triu_indices(x.shape[0], 1)
    return _between(metric, x[first], x[second], _spread(metric, x, kwargs))


@function("scipy.spatial.distance.squareform")
def squareform(X, force="no", checks=True):
    """A vector of the distances of pairs as a symmetric matrix, or back."""
    x = tensors(X)[0]
    if force.lower() not in ("no", "tomatrix", "tovector"):
        raise ValueError("The argument 'force' must be 'no', 'tomatrix' or 'tovector'.")
    if x.ndim == 2:
        return x[numpy.triu_indices(x.shape[0], 1)]
    n = int(numpy.ceil(numpy.sqrt(2 * x.shape[0])))
    if n * (n - 1) != 2 * x.shape[0]:
        raise ValueError(
            "Incompatible vector size. It must be a binomial coefficient n choose 2 for some integer n >= 2."
        )
    places = numpy.zeros((n, n), int)
    places[numpy.triu_indices(n, 1)] = numpy.arange(1, x.shape[0] + 1)
    return ops.cat([0 * x[:1], x], 0)[places + places.T] if x.shape[0] else ops.reshape(0 * ops.sum(x), (1, 1))
