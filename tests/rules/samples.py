"""Arguments on which every declared rule is tested: derived from its kind and signature, or given here.

A sample maps parameter names to a `Draw` (an array drawn at random), a constant array, a list of such for a sequence,
or a plain value. Parameters that it does not mention have their defaults.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import adjoint
from adjoint.rules import Rule

Sample = dict[str, Any]


class Draw(NamedTuple):
    """An array of numbers drawn between two bounds (real and imaginary part alike), then perhaps transformed."""

    shape: tuple[int, ...] = ()
    low: float = -1.0
    high: float = 1.0
    then: Callable[[np.ndarray], np.ndarray] | None = None
    real: bool = False

    def __call__(self, rng: np.random.Generator, dtype: np.dtype[Any]) -> np.ndarray:
        values = rng.uniform(self.low, self.high, self.shape)
        if dtype.kind == "c" and not self.real:
            values = values + 1j * rng.uniform(self.low, self.high, self.shape)
        values = np.asarray(values)
        return values if self.then is None else self.then(values)


def draw(*shape: int, **options: Any) -> Draw:
    return Draw(shape, **options)


def index(*values: Any) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def mask(*values: Any) -> np.ndarray:
    return np.array(values, dtype=bool)


# transformations ----------------------------------------------------------------------------------------------------


def adjoint_of(a: np.ndarray) -> np.ndarray:
    return np.conj(np.swapaxes(a, -1, -2))


def positive_definite(a: np.ndarray) -> np.ndarray:
    return a @ adjoint_of(a) + np.eye(a.shape[-1])


def well_conditioned(a: np.ndarray) -> np.ndarray:
    return a + 3 * np.eye(a.shape[-2], a.shape[-1])


def spread_apart(a: np.ndarray) -> np.ndarray:
    """Singular values and eigenvalues far from each other."""
    return a + np.diag(3.0 * np.arange(1, a.shape[-1] + 1))


def distinct_singular_values(a: np.ndarray) -> np.ndarray:
    return a + np.eye(a.shape[-2], a.shape[-1]) * 3.0 * np.arange(1, a.shape[-1] + 1)


def hermitian(a: np.ndarray) -> np.ndarray:
    return spread_apart(a + adjoint_of(a))


def apart(a: np.ndarray) -> np.ndarray:
    """No two values close to each other, so that order does not change within a finite difference."""
    rng = np.random.default_rng(a.size)
    return a * 1e-2 + rng.permutation(a.size).reshape(a.shape)


# data ---------------------------------------------------------------------------------------------------------------

#: Where the inputs of elementwise operations are drawn: (low, high) for all, or by input.
DOMAINS: dict[str, tuple[float, float] | dict[str, tuple[float, float]]] = {
    "acos": (-0.8, 0.8),
    "acosh": (1.2, 3.0),
    "asin": (-0.8, 0.8),
    "atanh": (-0.8, 0.8),
    "fmod": {"input": (-3.0, 3.0), "other": (0.8, 1.3)},
    "hypot": (0.5, 2.0),
    "log": (0.5, 2.0),
    "log10": (0.5, 2.0),
    "log1p": (-0.5, 2.0),
    "log2": (0.5, 2.0),
    "pow": {"input": (0.5, 2.0), "exponent": (-2.0, 2.0)},
    "reciprocal": (0.5, 2.0),
    "remainder": {"input": (-3.0, 3.0), "other": (0.8, 1.3)},
    "rsqrt": (0.5, 2.0),
    "sqrt": (0.5, 2.0),
    "true_divide": {"input": (-1.0, 1.0), "other": (0.5, 2.0)},
}

#: Operations on real numbers only.
REAL_ONLY = {
    "amax",
    "amin",
    "atan2",
    "ceil",
    "clamp",
    "complex",
    "exp2",
    "floor",
    "fmod",
    "hypot",
    "kthvalue",
    "log_softmax",
    "logaddexp",
    "max",
    "max_all",
    "maximum",
    "median",
    "median_all",
    "min",
    "min_all",
    "minimum",
    "relu",
    "remainder",
    "round",
    "sign",
    "softmax",
    "softplus",
    "sort",
    "topk",
    "trunc",
}

#: Operations on complex numbers only.
COMPLEX_ONLY = {"imag"}

WHOLE, EMPTY, SCALAR = draw(2, 3, 4), draw(0, 3), draw()

#: Reductions over some axes, all, none that there are.
REDUCTIONS: list[Sample] = [
    {"input": WHOLE},
    {"input": WHOLE, "dim": 1},
    {"input": WHOLE, "dim": (0, -1), "keepdim": True},
    {"input": SCALAR},
    {"input": EMPTY, "dim": 1},
]
ALONG: list[Sample] = [
    {"input": WHOLE, "dim": 1},
    {"input": WHOLE, "dim": -1},
    {"input": SCALAR, "dim": 0},
    {"input": EMPTY, "dim": 1},
]
#: Three values along an axis, no two alike.
ORDERED = draw(2, 3, 4, then=apart)
PICKED: list[Sample] = [
    {"input": ORDERED, "dim": 1},
    {"input": ORDERED, "dim": -1, "keepdim": True},
    {"input": SCALAR, "dim": 0},
]
ATTAINED: list[Sample] = [
    {"input": ORDERED},
    {"input": ORDERED, "dim": 1},
    {"input": ORDERED, "dim": (0, -1), "keepdim": True},
    {"input": SCALAR},
]
SQUARE, VECTOR = draw(3, 3), draw(3)
REGULAR = draw(3, 3, then=well_conditioned)
SQUARES: list[Sample] = [{"A": REGULAR}, {"A": draw(2, 3, 3, then=well_conditioned)}, {"A": draw(0, 0)}]
ROWS = index([2, 0, 1], [1, 1, 0])
BASIC: list[Sample] = [
    {"input": WHOLE, "index": (1,)},
    {"input": WHOLE, "index": (slice(None), slice(2, None, -2), None, -1)},
    {"input": WHOLE, "index": (..., 0)},
    {"input": SCALAR, "index": (None,)},
]
TRIANGLE: list[Sample] = [
    {"input": draw(2, 3, 4), "diagonal": 1},
    {"input": draw(3, 2)},
    {"input": draw(0, 2, 2)},
]

ON_INTEGERS = {
    "floor_divide",
    "trunc_divide",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
}

#: Samples besides those derived from the signature.
MORE: dict[str, list[Sample]] = {
    "add": [{"input": draw(2, 3), "other": draw(3), "alpha": 2.5}],
    "sub": [{"input": draw(2, 3), "other": draw(3), "alpha": 2.5}],
    "rsub": [{"input": draw(2, 3), "other": draw(3), "alpha": 2.5}],
    "mul": [{"input": draw(2, 3), "other": 2.5}],
    "true_divide": [{"input": draw(2, 3), "other": 2.5}, {"input": 2.5, "other": draw(3, low=0.5, high=2.0)}],
    "pow": [
        {"input": draw(2, 3), "exponent": 3},
        {"input": draw(4, low=0.5, high=2.0), "exponent": -1.5},
        {"input": 2.0, "exponent": draw(4)},
    ],
    "softplus": [{"input": draw(6), "beta": 3.0, "threshold": 1.0}],
    "matmul": [
        {"input": draw(3), "other": draw(3)},
        {"input": draw(3), "other": draw(2, 3, 4)},
        {"input": draw(2, 4, 3), "other": draw(3)},
        {"input": draw(2, 1, 2, 3), "other": draw(4, 3, 2)},
        {"input": draw(2, 0), "other": draw(0, 3)},
    ],
}

#: Samples instead of derived ones.
SAMPLES: dict[str, list[Sample]] = {
    "clamp": [
        {"input": draw(2, 3), "min": draw(3, low=-0.5, high=-0.1), "max": draw(2, 1, low=0.1, high=0.5)},
        {"input": draw(4), "min": draw(4), "max": draw(4)},
        {"input": draw(4), "min": -0.25},
        {"input": draw(4), "max": draw(4)},
        {"input": EMPTY, "max": SCALAR},
        {"input": SCALAR, "min": SCALAR},
    ],
    "where": [
        {"condition": mask([True, False, True], [False, False, True]), "input": draw(2, 3), "other": draw(3)},
        {"condition": mask(True, False), "input": draw(3, 1), "other": draw()},
        {"condition": mask(True, False), "input": draw(2), "other": 0.5},
        {"condition": np.array(True), "input": SCALAR, "other": SCALAR},
    ],
    "complex": [
        {"real": draw(2, 3, real=True), "imag": draw(2, 3, real=True)},
        {"real": draw(2, 1, real=True), "imag": draw(3, real=True)},
        {"real": draw(real=True), "imag": draw(real=True)},
    ],
    "cast": [
        {"input": draw(2, 3), "dtype": adjoint.float64},
        {"input": draw(2, 3), "dtype": adjoint.complex128},
    ],
    "copy": [
        {"input": draw(2, 3), "other": draw(3)},
        {"input": draw(2, 3), "other": draw(2, 3)},
        {"input": SCALAR, "other": SCALAR},
        {"input": EMPTY, "other": EMPTY},
    ],
    "clone_in_order": [{"input": draw(2, 3), "order": None}, {"input": draw(2, 3, 4), "order": (1, 2, 0)}],
    "fill": [{"input": draw(2, 3), "value": draw()}, {"input": SCALAR, "value": SCALAR}],
    # constants
    "full_like": [{"input": draw(2, 3), "fill_value": 2.0}],
    "zeros_of": [{"input": draw(2, 3), "shape": (4,)}],
    "identity": [{"like": draw(2, 3), "rows": 2, "columns": 3}],
    **{name: [{"input": index([5, 6], [7, 8]), "other": index(3, 9)}] for name in ON_INTEGERS},
    "bitwise_not": [{"input": index([5, 6], [7, 8])}],
    **{
        name: [{"input": mask([True, False], [True, True])}, {"input": ORDERED, "dim": 1, "keepdim": True}]
        for name in ("any", "all")
    },
    "count_nonzero": [{"input": index([0, 6], [7, 8])}, {"input": index([0, 6], [7, 8]), "dim": 1}],
    **{
        name: [{"input": ORDERED}, {"input": ORDERED, "dim": 1, "keepdim": True}]
        for name in ("argmax", "argmin")
    },
    "argsort": [{"input": ORDERED}, {"input": ORDERED, "dim": 1, "descending": True}],
    # reductions
    "sum": REDUCTIONS,
    "sum_all": [{"input": WHOLE}, {"input": SCALAR}, {"input": EMPTY}],
    "mean": REDUCTIONS[:-1],
    "mean_all": [{"input": WHOLE}, {"input": SCALAR}],
    "cumsum": ALONG,
    "prod": REDUCTIONS,
    "prod_all": [{"input": WHOLE}, {"input": SCALAR}, {"input": EMPTY}],
    "cumprod": ALONG,
    "recurrence": [
        {"links": draw(2, 4), "input": draw(2, 5), "dim": -1, "reverse": False},
        {"links": draw(4, 2), "input": draw(5, 2), "dim": 0, "reverse": True},
    ],
    "var": [
        {"input": WHOLE},
        {"input": WHOLE, "dim": 1, "correction": 0},
        {"input": WHOLE, "dim": (0, -1), "keepdim": True},
    ],
    "std": [
        {"input": WHOLE},
        {"input": WHOLE, "dim": 1, "correction": 0},
        {"input": WHOLE, "dim": (0, -1), "keepdim": True},
    ],
    "amax": ATTAINED,
    "amin": ATTAINED,
    "max_all": [ATTAINED[0], ATTAINED[-1]],
    "min_all": [ATTAINED[0], ATTAINED[-1]],
    "linalg_vector_norm": [
        {"input": draw(2, 3, 4, low=0.2), "ord": ord, "dim": dim, "keepdim": keepdim}
        for ord in (2, 1, 3, 0.5, np.inf, -np.inf)
        for dim, keepdim in ((None, False), (1, False), ((0, 2), True))
    ],
    "logsumexp": [{"input": WHOLE, "dim": (0, -1), "keepdim": True}, *ALONG[:-1]],
    "softmax": ALONG,
    "log_softmax": ALONG,
    # elements by order
    "place": [{"input": draw(2, 3), "dim": 1, "index": index([3, 0, 1], [1, 2, 0]), "size": 4}],
    "sort": [*PICKED[:1], {"input": ORDERED, "descending": True}, {"input": SCALAR}, {"input": EMPTY}],
    "topk": [{"input": ORDERED, "k": 2}, {"input": ORDERED, "k": 2, "dim": 1, "largest": False}],
    "max": PICKED,
    "min": PICKED,
    "kthvalue": [{**sample, "k": 1} for sample in PICKED] + [{"input": ORDERED, "k": 3}],
    "median": PICKED,
    "median_all": [{"input": ORDERED}, {"input": SCALAR}],
    # products
    "mm": [{"input": draw(2, 3), "mat2": draw(3, 4)}, {"input": draw(2, 0), "mat2": draw(0, 3)}],
    "bmm": [{"input": draw(2, 2, 3), "mat2": draw(2, 3, 4)}],
    "mv": [{"input": draw(2, 3), "vec": draw(3)}, {"input": draw(2, 0), "vec": draw(0)}],
    "dot": [{"input": draw(3), "tensor": draw(3)}, {"input": draw(0), "tensor": draw(0)}],
    "vdot": [{"input": draw(3), "other": draw(3)}, {"input": draw(0), "other": draw(0)}],
    "einsum": [
        {"operands": [draw(2, 3), draw(3, 4)], "equation": "ij,jk->ik"},
        {"operands": [SQUARE], "equation": "ii->i"},
        {"operands": [SQUARE], "equation": "ii->"},
        {"operands": [draw(2, 3), draw(3), draw(2)], "equation": "ij,j,i->"},
        {"operands": [draw(2, 3, 4), draw(1, 4)], "equation": "bij,bj->ib"},
    ],
    "tensordot": [
        {"input": draw(2, 3, 4), "other": draw(4, 3, 2), "dims_self": (1, 2), "dims_other": (1, 0)},
        {"input": draw(2, 3), "other": draw(4), "dims_self": (), "dims_other": ()},
    ],
    "addmm": [
        {"input": draw(2, 4), "mat1": draw(2, 3), "mat2": draw(3, 4)},
        {"input": draw(4), "mat1": draw(2, 3), "mat2": draw(3, 4), "beta": 0.5, "alpha": 2.0},
        {"input": SCALAR, "mat1": draw(2, 3), "mat2": draw(3, 4)},
    ],
    "baddbmm": [
        {"input": draw(2, 2, 4), "batch1": draw(2, 2, 3), "batch2": draw(2, 3, 4)},
        {"input": draw(2, 1), "batch1": draw(3, 2, 3), "batch2": draw(3, 3, 4), "beta": 0.5, "alpha": 2.0},
    ],
    "addmv": [
        {"input": draw(2), "mat": draw(2, 3), "vec": draw(3)},
        {"input": SCALAR, "mat": draw(2, 3), "vec": draw(3), "beta": 0.5, "alpha": 2.0},
    ],
    "linear": [
        {"input": draw(5, 3), "weight": draw(2, 3), "bias": draw(2)},
        {"input": draw(2, 5, 3), "weight": draw(2, 3)},
        {"input": draw(3), "weight": draw(2, 3), "bias": draw(2)},
    ],
    "linalg_cross": [
        {"input": draw(2, 3), "other": draw(2, 3)},
        {"input": draw(3, 1), "other": draw(3, 2), "dim": 0},
    ],
    "trace": [{"input": SQUARE}, {"input": draw(2, 3)}, {"input": draw(0, 2)}],
    "conj_transpose": [{"input": draw(2, 3, 4)}, {"input": draw(0, 2)}],
    # linear algebra
    "linalg_solve": [
        {"A": REGULAR, "B": draw(3, 2)},
        {"A": draw(2, 3, 3, then=well_conditioned), "B": draw(2, 3, 2)},
    ],
    "linalg_solve_triangular": [
        {"A": REGULAR, "B": draw(3, 2), "upper": True},
        {"A": draw(2, 3, 3, then=well_conditioned), "B": draw(3, 2), "upper": False},
        {"A": REGULAR, "B": draw(3, 2), "upper": False, "unitriangular": True},
    ],
    "linalg_inv": SQUARES,
    "inverse_or_inf": SQUARES,
    "linalg_pinv": [{"A": draw(2, 4, 3, then=well_conditioned)}, {"A": draw(2, 3, then=well_conditioned)}],
    "linalg_cholesky": [
        {"A": draw(3, 3, then=positive_definite)},
        {"A": draw(2, 3, 3, then=positive_definite), "upper": True},
        {"A": draw(0, 0)},
    ],
    "linalg_eigh": [{"A": draw(3, 3, then=hermitian)}, {"A": draw(2, 3, 3, then=hermitian), "UPLO": "U"}],
    "linalg_eig": [{"A": draw(3, 3, then=spread_apart)}],
    "linalg_svd": [
        {"A": draw(3, 3, then=spread_apart)},
        {"A": draw(2, 4, 3, then=distinct_singular_values), "full_matrices": False},
        {"A": draw(2, 3, then=distinct_singular_values), "full_matrices": False},
    ],
    "linalg_qr": [{"A": draw(4, 3)}, {"A": draw(2, 3, 3, then=well_conditioned)}, {"A": draw(2, 3)}],
    # indices
    **{f"getitem_{name}": BASIC for name in ("select", "slice", "unsqueeze", "alias")},
    "embed_view": [
        {"input": draw(2, 3), "shape": (2, 3, 4), "index": (..., 1)},
        {"input": draw(2, 1), "shape": (2, 3), "index": (slice(None), slice(2, None))},
    ],
    "index": [
        {"input": WHOLE, "indices": (index(1, 0, 1),)},
        {"input": WHOLE, "indices": (slice(None), index([2, 2], [0, 1]))},
        {"input": WHOLE, "indices": (index(0, 1), slice(None), index(3, 0))},
        {"input": draw(2, 3), "indices": (mask([True, False, True], [False, False, True]),)},
    ],
    "sum_at": [
        {"input": draw(3, 4), "shape": (2, 4), "indices": (index(1, 0, 1),)},
        {"input": draw(2, 3), "shape": (2, 4), "indices": (slice(None), index(1, 1, 3))},
    ],
    "index_put": [
        {"input": draw(2, 3), "indices": (index(1),), "values": draw(3)},
        {"input": draw(2, 3), "indices": (slice(None), index(2, 0)), "values": draw(2, 2)},
        {"input": draw(2, 3), "indices": (index(1, 1, 0),), "values": draw(3, 3), "accumulate": True},
    ],
    "gather": [
        {"input": draw(2, 4), "dim": 1, "index": ROWS},
        {"input": draw(3, 3), "dim": 0, "index": ROWS},
        {"input": SCALAR, "dim": 0, "index": np.array(0)},
    ],
    "scatter": [
        {"input": draw(2, 4), "dim": 1, "index": index([2, 0, 1], [1, 3, 0]), "src": draw(2, 3)},
        {"input": draw(4, 3), "dim": 0, "index": index([2, 0, 1], [1, 3, 0]), "src": draw(3, 4)},
        {"input": draw(2, 4), "dim": 1, "index": index([2, 0, 1], [1, 3, 0]), "src": 0.5},
    ],
    "scatter_add": [
        {"input": draw(2, 4), "dim": 1, "index": ROWS, "src": draw(2, 3)},
        {"input": draw(3, 3), "dim": 0, "index": ROWS, "src": draw(2, 4)},
    ],
    "index_select": [
        {"input": draw(3, 4), "dim": 0, "index": index(2, 0, 2)},
        {"input": draw(3, 4), "dim": 1, "index": index(1)},
    ],
    "index_add": [
        {"input": draw(3, 4), "dim": 0, "index": index(2, 0, 2), "source": draw(3, 4)},
        {"input": draw(3, 4), "dim": 1, "index": index(1, 1), "source": draw(3, 2), "alpha": 2.0},
    ],
    "index_copy": [
        {"input": draw(3, 4), "dim": 0, "index": index(2, 0), "source": draw(2, 4)},
        {"input": draw(3, 4), "dim": 1, "index": index(1), "source": draw(3, 1)},
    ],
    "index_fill": [
        {"input": draw(3, 4), "dim": 0, "index": index(2, 0), "value": SCALAR},
        {"input": draw(3, 4), "dim": 1, "index": index(1), "value": 0.5},
    ],
    "take": [{"input": draw(2, 3), "index": index([5, 0], [5, -1])}, {"input": SCALAR, "index": index(0)}],
    "put": [
        {"input": draw(2, 3), "index": index([5, 0], [1, 2]), "source": draw(2, 2)},
        {"input": draw(2, 3), "index": index(5, 0, 5), "source": draw(3), "accumulate": True},
    ],
    "masked_fill": [
        {"input": draw(2, 3), "mask": mask(True, False, True), "value": SCALAR},
        {"input": draw(3), "mask": mask([True, False, True], [False, False, True]), "value": 0.5},
    ],
    "masked_select": [
        {"input": draw(2, 3), "mask": mask([True, False, True], [False, False, True])},
        {"input": draw(2, 3), "mask": mask(True, False, True)},
    ],
    "masked_scatter": [
        {"input": draw(2, 3), "mask": mask([True, False, True], [False, False, True]), "source": draw(5)},
        {"input": draw(2, 3), "mask": mask(True, False, True), "source": draw(2, 2)},
    ],
    # shapes
    **{
        name: [
            {"input": draw(2, 3, 4), "shape": (6, 4)},
            {"input": draw(2, 3), "shape": (3, -1)},
            {"input": SCALAR, "shape": (1, 1)},
            {"input": EMPTY, "shape": (3, 0)},
        ]
        for name in ("reshape", "view")
    },
    "unsqueeze": [{"input": WHOLE, "dim": -1}, {"input": WHOLE, "dim": 1}, {"input": SCALAR, "dim": 0}],
    "squeeze": [
        {"input": draw(2, 1, 3), "dim": 1},
        {"input": draw(2, 1), "dim": 0},
        {"input": SCALAR, "dim": 0},
    ],
    "squeeze_all": [{"input": draw(1, 2, 1), "dim": (0, 1, 2)}, {"input": draw(2, 3), "dim": (0, 1)}],
    "squeeze_several": [{"input": draw(1, 2, 1), "dim": (0, 2)}, {"input": draw(1, 2), "dim": (1,)}],
    "permute": [
        {"input": WHOLE, "dims": (2, 0, 1)},
        {"input": SCALAR, "dims": ()},
        {"input": EMPTY, "dims": (1, 0)},
    ],
    "transpose": [{"input": WHOLE, "dim0": 0, "dim1": -1}, {"input": WHOLE, "dim0": 1, "dim1": 1}],
    "t": [{"input": draw(2, 3)}, {"input": EMPTY}],
    "expand": [
        {"input": draw(3, 1), "size": (2, 3, 4)},
        {"input": draw(2, 1), "size": (-1, 3)},
        {"input": SCALAR, "size": (2, 2)},
        {"input": EMPTY, "size": (2, 0, 3)},
    ],
    "sum_to_size": [
        {"input": WHOLE, "size": (3, 1)},
        {"input": WHOLE, "size": ()},
        {"input": draw(3), "size": (2, 3)},
    ],
    "repeat": [{"input": draw(2, 3), "repeats": (2, 1, 3)}, {"input": draw(2), "repeats": (3,)}],
    "cat": [
        {"tensors": [draw(2, 3), draw(2, 1), draw(2, 2)], "dim": 1},
        {"tensors": [draw(2, 3)]},
        {"tensors": [draw(0, 3), draw(2, 3)]},
    ],
    "stack": [{"tensors": [VECTOR, VECTOR], "dim": -1}, {"tensors": [SCALAR, SCALAR]}],
    "split": [{"input": draw(5, 2), "split_size": 2}, {"input": draw(2, 4), "split_size": 4, "dim": -1}],
    "split_with_sizes": [{"input": draw(2, 5), "split_sizes": (1, 4), "dim": 1}],
    "unbind": [{"input": draw(2, 3)}, {"input": draw(2, 3), "dim": -1}],
    "flip": [
        {"input": WHOLE, "dims": (0, 2)},
        {"input": SCALAR, "dims": (0,)},
        {"input": draw(3), "dims": ()},
    ],
    "roll": [{"input": WHOLE, "shifts": (1, -2), "dims": (0, 2)}],
    "tril": TRIANGLE,
    "triu": TRIANGLE,
    "diagonal": [
        {"input": draw(3, 4)},
        {"input": WHOLE, "offset": 1, "dim1": 2, "dim2": 0},
        {"input": draw(3, 3), "offset": -1},
    ],
    "embed_diagonal": [
        {"input": draw(2, 3), "offset": 0, "dim1": 1, "dim2": 2, "size1": 3, "size2": 3},
        {"input": draw(2), "offset": 1, "dim1": 1, "dim2": 0, "size1": 2, "size2": 4},
    ],
}

_PHASE = "complex vectors are determined up to a phase, and so is this derivative"

#: Tests that do not apply, by a pattern of their names, and why.
GAPS: dict[str, str] = {
    "view-*-layout": "a view of strided elements under another shape does not exist, and is refused",
    "linalg_eig-*-[!b]*": _PHASE,
    "linalg_eigh-complex128-[!b]*": _PHASE,
    "linalg_svd-complex128-[!b]*": _PHASE,
    "argwhere-*": "the size of its result depends on the values, so members of a batch do not fit together",
}

#: Operations that take their input to be Hermitian: only directions of that kind make sense.
HERMITIAN = {"linalg_cholesky", "linalg_eigh"}

#: Operations whose result must fit into the first input, which therefore has a batch axis whenever another one has.
WRITTEN_INTO = {"copy", "fill"}

# derived samples ----------------------------------------------------------------------------------------------------


def samples_of(rule: Rule) -> list[Sample]:
    """All samples of a rule; none if no one says how to fill its parameters."""
    if rule.name in SAMPLES:
        return SAMPLES[rule.name]
    return [*derived(rule), *MORE.get(rule.name, ())]


def derived(rule: Rule) -> Iterator[Sample]:
    """Samples that the signature gives: for elementwise operations, one array, or axes that a core signature names."""
    filled = set(rule.inputs) | {p.name for p in rule.parameters if p.default is not p.empty}
    if set(rule.names) - filled or rule.sequence is not None:
        return
    lone_array = rule.kind in ("linear", "constant") and len(rule.names) == 1 and rule.core is None
    if rule.kind == "elementwise" or rule.core == "()->()" or lone_array:
        required = [p.name for p in rule.parameters if p.name in rule.inputs and p.default is p.empty]
        for shapes in SHAPES[len(required)]:
            yield {
                name: Draw(shape, *domain(rule, name)) for name, shape in zip(required, shapes, strict=True)
            }
    elif rule.core is not None:
        yield from (core_sample(rule, batch) for batch in ((), (2,)))


#: Shapes for one and for two broadcasting inputs: plain, broadcast, empty, zero-dimensional.
SHAPES: dict[int, list[tuple[tuple[int, ...], ...]]] = {
    1: [((2, 3),), ((0, 3),), ((),)],
    2: [((2, 3), (2, 3)), ((2, 1), (3,)), ((0, 3), (3,)), ((), ()), ((2,), ())],
    3: [((2, 3), (2, 3), (2, 3)), ((2, 1), (3,), ()), ((0, 3), (3,), (1,)), ((), (), ())],
}

SIZES = {"m": 3, "k": 2, "n": 4, "p": 2, "b": 2}


def core_sample(rule: Rule, batch: tuple[int, ...]) -> Sample:
    groups = re.findall(r"\(([^)]*)\)", rule.core.split("->")[0])
    shapes = [tuple(SIZES[letter] for letter in re.findall(r"\w+", group)) for group in groups]
    return {
        name: Draw(batch + shape, *domain(rule, name))
        for name, shape in zip(rule.inputs, shapes, strict=True)
    }


def domain(rule: Rule, name: str) -> tuple[float, float]:
    """Where one input of a rule is drawn."""
    found = DOMAINS.get(rule.name, (-1.0, 1.0))
    return found[name] if isinstance(found, dict) else found
