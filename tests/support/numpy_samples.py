"""Calls of NumPy's functions, for tests of their derivatives through Tensors.

A sample is a function of the NumPy function and of a source of arrays. The source gives arrays, or Tensors in their
place, in the order of the requests.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Sample = Callable[[Any, Any], Any]


class Source:
    """Draws arrays of one kind of numbers. In another run it gives other values in their place."""

    def __init__(self, kind: str) -> None:
        self.kind = np.dtype(kind)
        self.rng = np.random.default_rng(7)
        self.arrays: list[np.ndarray] = []
        self.instead: list[Any] | None = None
        self.position = 0

    def __call__(self, *shape: int, low: float = -1.0, high: float = 1.0) -> Any:
        return self.hand_out(self.draw(shape, low, high))

    def positive(self, *shape: int) -> Any:
        """Numbers between 0.5 and 2."""
        return self(*shape, low=0.5, high=2.0)

    def apart(self, *shape: int) -> Any:
        """Numbers in random order, with gaps between them."""
        n = int(np.prod(shape))
        places = np.random.default_rng(n).permutation(n).reshape(shape)
        return self.hand_out((places * 0.37 - n * 0.2 + self.draw(shape, -0.05, 0.05)).astype(self.kind))

    def ascending(self, n: int) -> Any:
        """Numbers in ascending order, with gaps between them."""
        return self.hand_out((np.arange(n) * 1.3 + self.draw((n,), -0.2, 0.2).real).astype(self.kind))

    def hermitian(self, n: int) -> Any:
        """A positive-definite matrix. Only its lower triangle may have derivatives."""
        root = self.draw((n, n), -1, 1).astype(np.result_type(self.kind, np.float32))
        return self.hand_out((root @ root.conj().T + n * np.eye(n)).astype(self.kind))

    def gaps(self, *shape: int) -> Any:
        """Numbers, every third of which is NaN."""
        array = self.draw(shape, -1, 1)
        if self.kind.kind in "fc":
            array.flat[1::3] = np.nan
        return self.hand_out(array)

    def draw(self, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
        if self.instead is not None:
            return np.zeros(shape, self.kind)
        if self.kind.kind in "iu":
            return self.rng.integers(1, 7, shape).astype(self.kind)
        if self.kind.kind == "b":
            return self.rng.integers(0, 2, shape).astype(bool)
        array = self.rng.uniform(low, high, shape)
        if self.kind.kind == "c":
            array = array + 1j * self.rng.uniform(-1, 1, shape)
        return np.asarray(array, self.kind)

    def hand_out(self, array: np.ndarray) -> Any:
        self.position += 1
        if self.instead is None:
            self.arrays.append(array)
            return array
        return self.instead[self.position - 1]

    def run(self, sample: Sample, function: Any, instead: list[Any] | None = None) -> Any:
        """The result of a sample, with other values in place of the arrays."""
        self.position, self.instead = 0, instead
        return sample(function, self)


def reductions(name: str) -> list[Sample]:
    samples: list[Sample] = [
        lambda f, r: f(r(3, 4)),
        lambda f, r: f(r(3, 4), 1),
        lambda f, r: f(r(2, 3, 2), axis=(0, -1), keepdims=True),
        lambda f, r: f(r()),
    ]
    return samples


def sample_masked(f: Any, r: Any) -> Any:
    return f(r(3, 4), axis=0, where=np.array([[True, False, True, True]] * 2 + [[True] * 4]))


def initial(f: Any, r: Any) -> Any:
    return f(r(3, 4), axis=1, initial=0.25)


def each_of(sample: Any, value: Any) -> Sample:
    """The sample with one more argument."""
    return lambda f, r: sample(f, r, value)


_QUANTILES: list[Sample] = [
    lambda f, r: f(r.apart(3, 5), 0.3),
    lambda f, r: f(r.apart(3, 5), [0.2, 0.9], axis=1),
    lambda f, r: f(r.apart(2, 3, 4), 0.77, axis=(0, 2), keepdims=True),
    lambda f, r: f(r.apart(7), [0.0, 0.5, 1.0]),
    *[
        each_of(lambda f, r, m: f(r.apart(3, 6), [0.31, 0.68], axis=-1, method=m), method)
        for method in ("lower", "higher", "midpoint", "nearest", "inverted_cdf", "hazen", "weibull", "median_unbiased")
    ],
    lambda f, r: f(r.apart(2, 5), 0.4, axis=1, method="inverted_cdf", weights=np.array([[1, 2, 3, 4, 5.0]] * 2)),
]
_MATRIX: list[Sample] = [lambda f, r: f(r(3, 3)), lambda f, r: f(r(2, 3, 3))]


def _percent(sample: Sample) -> Sample:
    """The sample of a quantile function for the percentile function."""
    return lambda f, r: sample(lambda a, q, **k: f(a, np.multiply(q, 100), **k), r)


#: Samples for each function, by its name below `numpy`.
SAMPLES: dict[str, list[Sample]] = {
    **{name: [*reductions(name), sample_masked, initial] for name in ("sum", "prod")},
    **{name: [lambda f, r: f(r.apart(3, 4)), lambda f, r: f(r.apart(3, 4), axis=1, keepdims=True),
              lambda f, r: f(r.apart(3, 4), initial=0.3), lambda f, r: f(r())]
       for name in ("max", "amax", "min", "amin")},
    **{name: [*reductions(name), sample_masked] for name in ("all", "any", "mean", "var", "std")},
    "ptp": [lambda f, r: f(r.apart(3, 4)), lambda f, r: f(r.apart(3, 4), 0, keepdims=True)],
    **{name: [lambda f, r: f(r(3, 4)), lambda f, r: f(r(3, 4), 1), lambda f, r: f(r(4), dtype="complex128")]
       for name in ("cumsum", "cumprod")},
    **{name: [lambda f, r: f(r(3, 4), axis=1), lambda f, r: f(r(4), include_initial=True)]
       for name in ("cumulative_sum", "cumulative_prod")},
    **{name: [lambda f, r: f(r.gaps(3, 4)), lambda f, r: f(r.gaps(3, 4), axis=1), lambda f, r: f(r(3, 4), axis=0)]
       for name in ("nansum", "nanprod", "nancumsum", "nancumprod", "nanmax", "nanmin", "nanmean", "nanvar", "nanstd",
                    "nanmedian")},
    "average": [lambda f, r: f(r(3, 4)), lambda f, r: f(r(3, 4), axis=0, weights=r.positive(3)),
                lambda f, r: f(r(3, 4), weights=r.positive(3, 4)),
                lambda f, r: f(r(3, 4), axis=1, weights=r.positive(4), returned=True, keepdims=True),
                lambda f, r: f(r(2, 3, 4), axis=(2, 0), weights=r.positive(4, 2))],
    "median": [lambda f, r: f(r.apart(3, 4)), lambda f, r: f(r.apart(3, 5), axis=1, keepdims=True),
               lambda f, r: f(r.apart(3, 4), axis=0)],
    "quantile": _QUANTILES,
    "nanquantile": [*_QUANTILES, lambda f, r: f(r.gaps(3, 7), [0.3, 0.6], axis=1)],
    "percentile": [_percent(sample) for sample in _QUANTILES],
    "nanpercentile": [_percent(sample) for sample in _QUANTILES],
    # creation
    **{name: [lambda f, r: f(r(2, 3)), lambda f, r: f(r(2, 3), dtype="int64", shape=(4,))]
       for name in ("zeros_like", "ones_like")},
    "empty_like": [lambda f, r: f(r(2, 3)) * 0],
    "full_like": [lambda f, r: f(r(2, 3), 2.5), lambda f, r: f(r(2, 3), r(3))],
    **{name: [lambda f, r: f([1, 2.5], like=r(2)), lambda f, r: f(np.arange(3.0), dtype="float32", like=r(2))]
       for name in ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "require")},
    "copy": [lambda f, r: f(r(2, 3)), lambda f, r: f(r(2, 3), order="F")],
    "astype": [lambda f, r: f(r(2, 3), "complex128"), lambda f, r: f(r(2, 3), "int32")],
    "full": [lambda f, r: f((2, 3), 1.5, like=r(2)), lambda f, r: f(3, r(3), like=r(2))],
    **{name: [lambda f, r: f((2, 3), like=r(2)), lambda f, r: f(3, dtype="int64", like=r(2))]
       for name in ("zeros", "ones")},
    "empty": [lambda f, r: f((2, 3), like=r(2)) * 0],
    "eye": [lambda f, r: f(3, 4, 1, like=r(2))],
    "identity": [lambda f, r: f(3, like=r(2))],
    "tri": [lambda f, r: f(3, 4, 1, like=r(2))],
    "frombuffer": [lambda f, r: f(b"abcdefgh", "uint8", like=r(2))],
    "fromiter": [lambda f, r: f([1.0, 2.0], float, like=r(2))],
    "fromstring": [lambda f, r: f("1 2", float, sep=" ", like=r(2))],
    "fromfunction": [lambda f, r: f(lambda i, j: i + 2 * j, (2, 3), like=r(2))],
    "arange": [lambda f, r: f(2, 8, 1.5, like=r(2))],
    "linspace": [lambda f, r: f(r(3), r(3), 5), lambda f, r: f(r(2), 2.0, 4, endpoint=False, axis=-1),
                 lambda f, r: f(r(2), r(2), 4, retstep=True), lambda f, r: f(r(), r(), 1)],
    "logspace": [lambda f, r: f(r(2), r(2), 5), lambda f, r: f(r(), r(), 3, endpoint=False, base=2.0)],
    "geomspace": [lambda f, r: f(r.positive(2), r.positive(2), 5), lambda f, r: f(r.positive(), r.positive(), 3)],
    # shapes
    "reshape": [lambda f, r: f(r(2, 6), (3, 4)), lambda f, r: f(r(2, 6), (3, -1), order="F"),
                lambda f, r: f(r(2, 3), -1, copy=True), lambda f, r: f(r(2, 3).T, (3, 2), order="A")],
    "ravel": [lambda f, r: f(r(2, 3)), lambda f, r: f(r(2, 3), "F"), lambda f, r: f(r(2, 3).T, "K")],
    "transpose": [lambda f, r: f(r(2, 3, 4)), lambda f, r: f(r(2, 3, 4), (1, 0, -1))],
    **{name: [lambda f, r: f(r(2, 3, 4))] for name in ("matrix_transpose", "linalg.matrix_transpose")},
    "swapaxes": [lambda f, r: f(r(2, 3, 4), 0, -1)],
    "moveaxis": [lambda f, r: f(r(2, 3, 4), 0, -1), lambda f, r: f(r(2, 3, 4), (0, 1), (2, 0))],
    "rollaxis": [lambda f, r: f(r(2, 3, 4), 2), lambda f, r: f(r(2, 3, 4), 0, 3)],
    "expand_dims": [lambda f, r: f(r(2, 3), (0, 2))],
    "squeeze": [lambda f, r: f(r(2, 1, 3, 1)), lambda f, r: f(r(2, 1, 3, 1), 1)],
    "broadcast_to": [lambda f, r: f(r(3, 1), (2, 3, 4))],
    "broadcast_arrays": [lambda f, r: f(r(3, 1), r(4))],
    **{name: [lambda f, r: f(r()), lambda f, r: f(r(3), r(2, 3)), lambda f, r: f(r(2, 3, 4))]
       for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
    "concatenate": [lambda f, r: f([r(2, 3), r(1, 3)]), lambda f, r: f((r(2, 3), r(2, 2)), axis=-1),
                    lambda f, r: f([r(2, 3), r(2)], axis=None), lambda f, r: f([r(2), np.arange(2.0)])],
    "stack": [lambda f, r: f([r(2, 3), r(2, 3)]), lambda f, r: f([r(2), r(2)], axis=-1)],
    "vstack": [lambda f, r: f([r(3), r(2, 3)])],
    "hstack": [lambda f, r: f([r(3), r(2)]), lambda f, r: f([r(2, 3), r(2, 1)])],
    "dstack": [lambda f, r: f([r(3), r(3)])],
    "column_stack": [lambda f, r: f([r(3), r(3, 2)])],
    "block": [lambda f, r: f([[r(2, 2), r(2, 1)], [r(1, 2), r(1, 1)]]), lambda f, r: f([r(2), 1.5])],
    "append": [lambda f, r: f(r(2, 2), r(3)), lambda f, r: f(r(2, 2), r(1, 2), axis=0)],
    "array_split": [lambda f, r: f(r(7, 2), 3), lambda f, r: f(r(2, 5), [1, 3], axis=1)],
    "split": [lambda f, r: f(r(6, 2), 3), lambda f, r: f(r(2, 5), [1, 3], axis=1)],
    "hsplit": [lambda f, r: f(r(2, 4), 2)],
    "vsplit": [lambda f, r: f(r(4, 2), 2)],
    "dsplit": [lambda f, r: f(r(1, 2, 4), 2)],
    "unstack": [lambda f, r: f(r(3, 2), axis=1)],
    "tile": [lambda f, r: f(r(2, 3), 2), lambda f, r: f(r(3), (2, 1, 2)), lambda f, r: f(r(2, 2, 1), (2,))],
    "flip": [lambda f, r: f(r(2, 3)), lambda f, r: f(r(2, 3), 1)],
    "fliplr": [lambda f, r: f(r(2, 3))],
    "flipud": [lambda f, r: f(r(2, 3))],
    "roll": [lambda f, r: f(r(2, 3), 2), lambda f, r: f(r(2, 3), (1, -1), (0, 1)), lambda f, r: f(r(4, 3), 1, axis=0)],
    "rot90": [each_of(lambda f, r, k: f(r(2, 3), k), k) for k in (0, 1, 2, 3)],
    "diagonal": [lambda f, r: f(r(3, 4)), lambda f, r: f(r(2, 3, 4), 1, 0, 2)],
    "linalg.diagonal": [lambda f, r: f(r(2, 3, 4), offset=-1)],
    "diag": [lambda f, r: f(r(3), 1), lambda f, r: f(r(3, 4), -1)],
    "diagflat": [lambda f, r: f(r(2, 2), 1)],
    "trace": [lambda f, r: f(r(3, 4)), lambda f, r: f(r(2, 3, 4), 1, 1, 2)],
    "linalg.trace": [lambda f, r: f(r(2, 3, 4), offset=1)],
    **{name: [lambda f, r: f(r(3, 4)), lambda f, r: f(r(3), -1)] for name in ("tril", "triu")},
    "vander": [lambda f, r: f(r(3)), lambda f, r: f(r(3), 4, increasing=True)],
    "meshgrid": [lambda f, r: f(r(3), r(2)), lambda f, r: f(r(3), r(2), r(2), indexing="ij", sparse=True)],
    "ix_": [lambda f, r: f(np.array([0, 2]), r(2).real > 0), lambda f, r: f(r(2), r(3), r(1))],
    "lib.stride_tricks.sliding_window_view": [lambda f, r: f(r(5), 3), lambda f, r: f(r(4, 5), (2, 3))],
    "apply_along_axis": [lambda f, r: f(lambda v: v * v[0], 1, r(2, 3, 2)), lambda f, r: f(np.sum, 0, r(2, 3))],
    "apply_over_axes": [lambda f, r: f(np.sum, r(2, 3, 4), [0, 2])],
    "real": [lambda f, r: f(r(3))],
    "imag": [lambda f, r: f(r(3))],
    "real_if_close": [lambda f, r: f(r(3))],
    # indices
    "repeat": [lambda f, r: f(r(2, 3), 2), lambda f, r: f(r(2, 3), [1, 0, 2], axis=1)],
    "resize": [lambda f, r: f(r(2, 3), (4, 2))],
    "delete": [lambda f, r: f(r(2, 3), 1), lambda f, r: f(r(4, 3), [0, 2], axis=0)],
    "compress": [lambda f, r: f([True, False, True], r(3, 2), axis=0)],
    "extract": [lambda f, r: f(np.array([True, False, True]), r(3))],
    "trim_zeros": [lambda f, r: f(np.concatenate([[0], r(3), [0, 0]]))],
    "insert": [lambda f, r: f(r(4), 1, r()), lambda f, r: f(r(2, 3), [0, 2], r(2, 2), axis=1)],
    "take": [lambda f, r: f(r(2, 3), [0, 5, 2]), lambda f, r: f(r(2, 3), [[0, 2], [1, 1]], axis=1),
             lambda f, r: f(r(3), [4, -5], mode="wrap")],
    "take_along_axis": [lambda f, r: f(r(2, 3), np.array([[0, 2], [1, 1]]), 1),
                        lambda f, r: f(r(2, 3), np.array([5, 0]), None)],
    "choose": [lambda f, r: f(np.array([0, 1, 1]), [r(3), r(3)])],
    "select": [lambda f, r: f([np.array([True, False, False]), np.array([True, True, False])], [r(3), r(3)], 2.0)],
    "where": [lambda f, r: f(np.array([True, False, True]), r(3), 0.5), lambda f, r: f(r(3).real > 0, r(2, 3), r(3))],
    "piecewise": [lambda f, r: f(r(5), [np.array([True, False, True, False, False])], [lambda v: v * v, 3.0]),
                  lambda f, r: f(r(3), [np.array([True, False, False]), np.array([False, True, False])],
                                 [lambda v: v * 2, lambda v: v * v, 0.5])],
    "sort": [lambda f, r: f(r.apart(3, 4)), lambda f, r: f(r.apart(3, 4), axis=0), lambda f, r: f(r.apart(3, 4), None)],
    "partition": [lambda f, r: f(r.apart(7), 2)],
    "sort_complex": [lambda f, r: f(r.apart(4))],
    "unique": [lambda f, r: f(r.apart(2, 3)), lambda f, r: f(r.apart(4), True, True, True)],
    **{name: [lambda f, r: f(r.apart(4))]
       for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values")},
    "union1d": [lambda f, r: f(r.apart(4), r(3))],
    "setdiff1d": [lambda f, r: f(r.apart(4), r(3))],
    "setxor1d": [lambda f, r: f(r.apart(4), r(3))],
    "intersect1d": [lambda f, r: (lambda a: f(a, a[1:]))(r.apart(4))],
    "pad": [lambda f, r: f(r(2, 3), 1), lambda f, r: f(r(2, 3), ((1, 0), (2, 3)), constant_values=r(2, 2)),
            *[each_of(lambda f, r, m: f(r.apart(3, 4), ((2, 1), (1, 4)), mode=m), mode)
              for mode in ("edge", "reflect", "symmetric", "wrap", "maximum", "minimum", "mean", "median")],
            lambda f, r: f(r(4), 3, "linear_ramp", end_values=r()),
            lambda f, r: f(r(4), (5, 2), "reflect", reflect_type="odd"),
            lambda f, r: f(r(4), (5, 2), "symmetric", reflect_type="odd"),
            lambda f, r: f(r.apart(5), 2, "mean", stat_length=2)],
    # calculus
    "diff": [lambda f, r: f(r(5)), lambda f, r: f(r(3, 4), 2, axis=0), lambda f, r: f(r(4), prepend=r(), append=r(2))],
    "ediff1d": [lambda f, r: f(r(2, 3)), lambda f, r: f(r(4), r(2), r())],
    "gradient": [lambda f, r: f(r(5)), lambda f, r: f(r(4, 5), r.positive(), edge_order=2),
                 lambda f, r: f(r(4, 5), r.ascending(5), axis=1),
                 lambda f, r: f(r(4, 5), r.ascending(4), r.positive(), edge_order=2)],
    "trapezoid": [lambda f, r: f(r(5)), lambda f, r: f(r(3, 4), r.ascending(4)),
                  lambda f, r: f(r(3, 4), dx=r(), axis=0),
                  lambda f, r: f(r(3, 4), r(3, 4), axis=0)],
    "interp": [lambda f, r: f(r(6, low=-1.0, high=6.0), r.ascending(5), r(5)),
               lambda f, r: f(r(6, low=-1.0, high=6.0), r.ascending(5), r(5), r(), r()),
               lambda f, r: f(r(6, low=-4.0, high=9.0), r.ascending(5), r(5), period=10.0)],
    "unwrap": [lambda f, r: f(r(2, 6, low=-9.0, high=9.0))],
    **{name: [lambda f, r: f(r(3), 1)] for name in ("round", "around")},
    "fix": [lambda f, r: f(r(3))],
    "clip": [lambda f, r: f(r(2, 6), -0.3, 0.4), lambda f, r: f(r(6), r(6), None), lambda f, r: f(r(6), max=r(6)),
             lambda f, r: f(r(6), -0.2, r.positive(6))],
    "nan_to_num": [lambda f, r: f(r.gaps(6), nan=2.0)],
    "angle": [lambda f, r: f(r(5)), lambda f, r: f(r(5), deg=True)],
    "i0": [lambda f, r: f(r(5))],
    "sinc": [lambda f, r: f(r(5))],
    **{f"lib.scimath.{name}": [lambda f, r: f(r.positive(5)), lambda f, r: f(r(5, low=-2.0, high=-0.5))]
       for name in ("sqrt", "log", "log2", "log10")},
    **{f"lib.scimath.{name}": [lambda f, r: f(r(5, low=-0.9, high=0.9)), lambda f, r: f(r(5, low=1.2, high=3.0))]
       for name in ("arccos", "arcsin", "arctanh")},
    "lib.scimath.logn": [lambda f, r: f(r(3, low=1.2, high=2.0), r(3))],
    "lib.scimath.power": [lambda f, r: f(r(3), 2), lambda f, r: f(r(3, low=-2.0, high=-0.5), r(3))],
    # polynomials
    "poly": [lambda f, r: f(r(3)), lambda f, r: f(r.hermitian(3))],
    "polyadd": [lambda f, r: f(r(3), r(2))],
    "polysub": [lambda f, r: f(r(2), r(3))],
    "polymul": [lambda f, r: f(r(3), r(4))],
    "polydiv": [lambda f, r: f(r(5), r.positive(3))],
    "polyder": [lambda f, r: f(r(5)), lambda f, r: f(r(5), 2)],
    "polyint": [lambda f, r: f(r(3)), lambda f, r: f(r(3), 2, r(2))],
    "polyval": [lambda f, r: f(r(4), r(3)), lambda f, r: f([1, 2, 3], r(2, 2))],
    "polynomial.polynomial.polyval2d": [lambda f, r: f(r(3), r(3), r(2, 4)),
                                        lambda f, r: f(r(2, 2), r(2, 2), r(3, 2, 2))],
    "polynomial.polynomial.polyvalnd": [lambda f, r: f((r(3), r(3)), r(2, 4)), lambda f, r: f((r(2),), r(3)),
                                        lambda f, r: f([r(2, 2), r(2, 2), r(2, 2)], r(2, 3, 2))],
    "polynomial.polynomial.polygrid2d": [lambda f, r: f(r(3), r(2), r(2, 4)), lambda f, r: f(1.5, r(2), r(2, 2))],
    "polyfit": [lambda f, r: f(r.ascending(6), r(6), 2), lambda f, r: f(r.ascending(6), r(6, 2), 2, w=r.positive(6)),
                lambda f, r: f(r.ascending(6), r(6), 1, cov=True), lambda f, r: f(r.ascending(6), r(6), 1, full=True)],
    "roots": [lambda f, r: f(r.positive(4))],
    # products
    "dot": [lambda f, r: f(r(3), r(3)), lambda f, r: f(r(2, 3), r(3)), lambda f, r: f(r(2, 3), r(3, 2)),
            lambda f, r: f(r(2, 3, 4), r(2, 4, 3)), lambda f, r: f(r(3), 2.0)],
    "vdot": [lambda f, r: f(r(2, 3), r(2, 3))],
    "inner": [lambda f, r: f(r(2, 3), r(4, 3)), lambda f, r: f(r(3), r())],
    "outer": [lambda f, r: f(r(2, 2), r(3))],
    "linalg.outer": [lambda f, r: f(r(2), r(3))],
    "tensordot": [lambda f, r: f(r(2, 3, 4), r(3, 4, 2)), lambda f, r: f(r(2, 3), r(3, 2), axes=([0, 1], [1, 0])),
                  lambda f, r: f(r(2), r(3), 0)],
    "linalg.tensordot": [lambda f, r: f(r(2, 3), r(3, 2), axes=1)],
    "linalg.matmul": [lambda f, r: f(r(2, 3), r(3, 2))],
    "linalg.vecdot": [lambda f, r: f(r(2, 3), r(2, 3)), lambda f, r: f(r(3, 2), r(3, 2), axis=0)],
    "linalg.multi_dot": [lambda f, r: f([r(2, 3), r(3, 4), r(4)])],
    "kron": [lambda f, r: f(r(2, 2), r(3)), lambda f, r: f(r(2, 2), r(2, 3))],
    "cross": [lambda f, r: f(r(2, 3), r(3)), lambda f, r: f(r(3, 2), r(3, 2), axis=0),
              lambda f, r: f(r(2, 3), r(2, 3), axisc=0)],
    "linalg.cross": [lambda f, r: f(r(2, 3), r(2, 3))],
    "einsum": [lambda f, r: f("ij,jk->ik", r(2, 3), r(3, 4)), lambda f, r: f("...ii -> ...", r(2, 3, 3)),
               lambda f, r: f("ij,j", r(2, 3), r(3)), lambda f, r: f(r(2, 3), [0, 1], r(3), [1], [0]),
               lambda f, r: f("i,i,i->", r(3), r(3), r(3), optimize=True)],
    "convolve": [lambda f, r: f(r(5), r(3)), lambda f, r: f(r(2), r(5), "same"), lambda f, r: f(r(5), r(4), "same"),
                 lambda f, r: f(r(5), r(3), "valid")],
    "correlate": [lambda f, r: f(r(5), r(3)), lambda f, r: f(r(2), r(5), "same"), lambda f, r: f(r(3), r(5), "same"),
                  lambda f, r: f(r(5), r(4), "same"), lambda f, r: f(r(5), r(3), "full"),
                  lambda f, r: f(r(2), r(4), "full"),
                  lambda f, r: f(r(2), r(4), "valid")],
    # linear algebra
    "linalg.solve": [lambda f, r: f(r.hermitian(3), r(3)), lambda f, r: f(r.hermitian(3), r(2, 3, 2))],
    **{f"linalg.{name}": _MATRIX for name in ("inv", "det", "slogdet")},
    "linalg.pinv": [lambda f, r: f(r(4, 3)), lambda f, r: f(r(3, 4), 1e-12)],
    "linalg.lstsq": [lambda f, r: f(r(5, 3), r(5)), lambda f, r: f(r(5, 3), r(5, 2))],
    "linalg.tensorsolve": [lambda f, r: f(r(2, 3, 6), r(2, 3))],
    "linalg.tensorinv": [lambda f, r: f(r(2, 3, 6))],
    "linalg.cond": [lambda f, r: f(r(4, 3)), lambda f, r: f(r(3, 3), "fro")],
    "linalg.matrix_rank": [lambda f, r: f(r(4, 3))],
    "linalg.norm": [lambda f, r: f(r(2, 3, 2)), lambda f, r: f(r(3), 1), lambda f, r: f(r(3, 2), axis=1),
                    *[each_of(lambda f, r, o: f(r(3, 4), o), ord) for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf)],
                    lambda f, r: f(r(2, 3, 4), 3, axis=1, keepdims=True), lambda f, r: f(r(2, 3, 4), axis=(0, 2))],
    "linalg.vector_norm": [lambda f, r: f(r(2, 3), axis=1, keepdims=True), lambda f, r: f(r(2, 3), ord=3)],
    "linalg.matrix_norm": [lambda f, r: f(r(2, 3, 4)), lambda f, r: f(r(3, 4), ord="nuc", keepdims=True)],
    "linalg.matrix_power": [each_of(lambda f, r, n: f(r.hermitian(3), n), n) for n in (0, 3, -2)],
    "linalg.cholesky": [lambda f, r: f(r.hermitian(3)), lambda f, r: f(r.hermitian(3), upper=True)],
    "linalg.qr": [lambda f, r: f(r(4, 3)), lambda f, r: f(r(3, 3), "r")],
    "linalg.svd": [lambda f, r: f(r(4, 3), compute_uv=False), lambda f, r: f(r(3, 4), full_matrices=False)[1]],
    "linalg.svdvals": [lambda f, r: f(r(4, 3))],
    "linalg.eigh": [lambda f, r: f(r.hermitian(3))[0], lambda f, r: f(r.hermitian(3), "U")[0]],
    "linalg.eigvalsh": [lambda f, r: f(r.hermitian(3))],
    "linalg.eig": [lambda f, r: f(r(3, 3))[0]],
    "linalg.eigvals": [lambda f, r: f(r(3, 3)), lambda f, r: f(r.hermitian(3))],
    # Fourier transforms
    **{f"fft.{name}": [lambda f, r: f(r(2, 5)), lambda f, r: f(r(4, 3), 6, axis=0, norm="ortho")]
       for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": [lambda f, r: f(r(3, 4)), lambda f, r: f(r(2, 3, 4), (4, 3), axes=(0, 1), norm="forward")]
       for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")},
    **{f"fft.{name}": [lambda f, r: f(r(5)), lambda f, r: f(r(3, 4), axes=1)] for name in ("fftshift", "ifftshift")},
    # statistics
    "cov": [lambda f, r: f(r(3, 5)), lambda f, r: f(r(5), r(5)), lambda f, r: f(r(5, 2), rowvar=False, bias=True),
            lambda f, r: f(r(2, 5), fweights=np.array([1, 2, 1, 3, 1]), aweights=np.abs(r.positive(5)))],
    "corrcoef": [lambda f, r: f(r(3, 5)), lambda f, r: f(r(5), r(5))],
    "bincount": [lambda f, r: f(np.array([0, 2, 2, 1]), r(4)),
                 lambda f, r: f(np.array([0, 2]), minlength=4, weights=r(2))],
    "histogram_bin_edges": [lambda f, r: f(r(6), 4), lambda f, r: f(r(6), 3, (-2.0, 2.0))],
    "histogramdd": [lambda f, r: f(r.apart(6, 2), 3), lambda f, r: f([r.apart(6), r.apart(6)], (3, 2), density=True),
                    lambda f, r: f(r.apart(6, 2), 2, weights=r(6)),
                    lambda f, r: f(r.apart(5, 2), [[-1.0, 0.2, 2.0], [-2.0, 3.0]], None, True, r.positive(5))],
    "histogram2d": [lambda f, r: f(r.apart(6), r.apart(6), 3), lambda f, r: f(r.apart(6), r.apart(6), [-1.0, 0.1, 2.0]),
                    lambda f, r: f(r.apart(6), r.apart(6), (2, 3), weights=r(6)),
                    lambda f, r: f(r.apart(5), r.apart(5), 2, [[-1, 1], [-3, 3]], True, r.positive(5))],
    "histogram": [lambda f, r: f(r.apart(8), 4), lambda f, r: f(r.apart(8), 4, density=True),
                  lambda f, r: f(r.apart(6), 3, weights=r(6)), lambda f, r: f(r.apart(6), [-1.0, 0.0, 2.0])],
}  # fmt: skip

#: Samples whose Tensors are modified: functions of a copy.
IN_PLACE: dict[str, list[Sample]] = {
    "copyto": [
        lambda f, r: changed_copy(f, r(3), r(3)),
        lambda f, r: changed_copy(f, r(2, 3), 2.0, where=[True, False, True]),
    ],
    "put": [lambda f, r: changed_copy(f, r(2, 3), [0, 4], r(2)), lambda f, r: changed_copy(f, r(4), [0, 1, 2], r(2))],
    "place": [lambda f, r: changed_copy(f, r(4), np.array([True, False, True, True]), r(2))],
    "putmask": [lambda f, r: changed_copy(f, r(4), np.array([True, False, True, True]), r(2))],
    "put_along_axis": [lambda f, r: changed_copy(f, r(2, 3), np.array([[2], [0]]), r(2, 1), 1)],
    "fill_diagonal": [lambda f, r: changed_copy(f, r(3, 3), r())],
}


def changed_copy(function: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
    """A copy of the target after a function modified it."""
    copy = np.copy(target)
    function(copy, *args, **kwargs)
    return copy
