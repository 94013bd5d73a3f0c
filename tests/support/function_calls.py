"""One call of every public function, for the tests and the measurements of the functions that users see.

An entry gets a maker `x` of arguments of one data type, and returns the arguments. `x(2, 3)` is a random array in (-3,
3) or (lo, hi), with `constant=True` without a derivative. A name that ends in an underscore means the same call in
place. Other arguments, such as indices, masks and shapes, are the same for all types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import adjoint

INF = float("inf")


class Call(NamedTuple):
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def call(*args: Any, **kwargs: Any) -> Call:
    return Call(args, kwargs)


class Argument(NamedTuple):
    """An array argument: numbers in double precision, the dtype, and a flag for constants."""

    values: np.ndarray[Any, Any]
    dtype: adjoint.dtype
    constant: bool


class Maker:
    """Draws arguments of one data type. The numbers are the same for all types."""

    def __init__(self, dtype: adjoint.dtype) -> None:
        self.dtype = dtype
        self.rng = np.random.default_rng(7)

    def _argument(self, values: Any, dtype: str | None, constant: bool) -> Argument:
        kind = self.dtype if dtype is None else getattr(adjoint, dtype)
        return Argument(np.asarray(values), kind, constant)

    def _numbers(self, shape: tuple[int, ...], lo: float, hi: float, kind: adjoint.dtype) -> np.ndarray[Any, Any]:
        numbers = self.rng.uniform(lo, hi, shape)
        if kind.is_complex:
            return numbers + 1j * self.rng.uniform(lo, hi, shape)
        if not kind.is_floating_point:
            numbers = np.floor(numbers)
            return np.abs(numbers) if kind in (adjoint.uint8, adjoint.bool) else numbers
        return numbers

    def __call__(
        self,
        *shape: int,
        lo: float = -3,
        hi: float = 3,
        nz: bool = False,
        dtype: str | None = None,
        constant: bool = False,
    ) -> Argument:
        """Numbers between lo and hi. With nz, no number is near 0."""
        kind = self.dtype if dtype is None else getattr(adjoint, dtype)
        numbers = self._numbers(shape, lo, hi, kind)
        return self._argument(np.where(np.abs(numbers) < 0.3, 1, numbers) if nz else numbers, dtype, constant)

    def distinct(self, *shape: int, constant: bool = False) -> Argument:
        """Numbers with gaps between them."""
        n = int(np.prod(shape))
        spaced = (self.rng.permutation(n).reshape(shape) - n // 2) * (8 / n if self.dtype.is_floating_point else 1)
        return self._argument(spaced * (1 + 0.3j) if self.dtype.is_complex else spaced, None, constant)

    def array(self, values: Any, dtype: str | None = None, constant: bool = False) -> Argument:
        """An argument with these numbers."""
        return self._argument(values, dtype, constant)

    def places(self, *shape: int, n: int, lo: int = 0) -> Argument:
        """Indices from lo to n - 1."""
        return self._argument(self.rng.integers(lo, n, shape), "int64", True)

    def permutation(self, n: int) -> Argument:
        """The numbers from 0 to n - 1 in any order."""
        return self._argument(self.rng.permutation(n), "int64", True)

    def mask(self, *shape: int) -> Argument:
        """Truth values."""
        return self._argument(self.rng.integers(0, 2, shape) > 0, "bool", True)

    def _matrix(self, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        return self._numbers(shape, -1, 1, self.dtype)

    def regular(self, *shape: int) -> Argument:
        """Well-conditioned matrices."""
        return self._argument(self._matrix(shape) + 3 * np.eye(*shape[-2:]), None, False)

    def hermitian(self, *shape: int) -> Argument:
        """Hermitian matrices."""
        matrix = self._matrix(shape)
        return self._argument(matrix + np.conj(np.swapaxes(matrix, -1, -2)), None, False)

    def definite(self, *shape: int) -> Argument:
        """Positive definite Hermitian matrices."""
        matrix = self._matrix(shape)
        return self._argument(
            matrix @ np.conj(np.swapaxes(matrix, -1, -2)) + shape[-1] * np.eye(shape[-1]), None, False
        )

    def triangular(self, *shape: int, upper: bool = False) -> Argument:
        """Triangular matrices with a large diagonal."""
        matrix = self._matrix(shape) + 3 * np.eye(shape[-1])
        return self._argument(np.triu(matrix) if upper else np.tril(matrix), None, False)


def dtype(name: str) -> adjoint.dtype:
    return getattr(adjoint, name)  # type: ignore[no-any-return]


def function(name: str) -> Callable[..., Any]:
    value: Any = adjoint
    for part in name.split("."):
        value = getattr(value, part)
    return value  # type: ignore[no-any-return]


CALLS: dict[str, Callable[[Maker], Call]] = {
    "H": lambda x: call(x(5, 3)),
    "T": lambda x: call(x(5, 3)),
    "__getitem__": lambda x: call(x(5, 5), 0),
    "__radd__": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "__rand__": lambda x: call(x(5, lo=1, hi=6), x(5, lo=0, hi=3, nz=False)),
    "__rdiv__": lambda x: call(x(5, lo=1, hi=4), 2),
    "__rmatmul__": lambda x: call(x(5), x(5)),
    "__rmod__": lambda x: call(x(5, lo=1, hi=4), 2),
    "__rmul__": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "__ror__": lambda x: call(x(5, lo=1, hi=6), x(5, lo=0, hi=3, nz=False)),
    "__rpow__": lambda x: call(x(5), 2),
    "__rsub__": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "__rxor__": lambda x: call(x(5, lo=1, hi=6), x(5, lo=0, hi=3, nz=False)),
    "abs": lambda x: call(x(5, lo=-3, hi=3)),
    "acos": lambda x: call(x(5, lo=-0.95, hi=0.95)),
    "acosh": lambda x: call(x(5, lo=1.05, hi=5)),
    "add": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "addbmm": lambda x: call(x(2, 3), x(5, 2, 4), x(5, 4, 3)),
    "addcdiv": lambda x: call(x(5), x(5), x(5, nz=True)),
    "addcmul": lambda x: call(x(5), x(5), x(5, nz=True)),
    "addmm": lambda x: call(x(2, 3), x(2, 4), x(4, 3)),
    "addmv": lambda x: call(x(2), x(2, 4), x(4)),
    "addr": lambda x: call(x(2, 3), x(2), x(3)),
    "adjoint": lambda x: call(x(2, 3)),
    "affine_grid_generator": lambda x: call(x(1, 2, 3), (1, 1, 2, 3), False),
    "alias_copy": lambda x: call(x()),
    "all": lambda x: call(x(5, 5, 3, lo=-3, hi=3)),
    "allclose": lambda x: call(x(5), x(5)),
    "alpha_dropout": lambda x: call(x(4), 0.5, True),
    "amax": lambda x: call(x.distinct(3, 4), dim=1),
    "amin": lambda x: call(x.distinct(3, 4), dim=1),
    "aminmax": lambda x: call(x.distinct(3, 4), dim=1),
    "angle": lambda x: call(x(5, lo=-3, hi=3)),
    "any": lambda x: call(x(5, 5, 3, lo=-3, hi=3)),
    "argmax": lambda x: call(x.distinct(3, 4), dim=1),
    "argmin": lambda x: call(x.distinct(3, 4), dim=1),
    "argsort": lambda x: call(x.distinct(5, 5, 3)),
    "argwhere": lambda x: call(x.array([1, 1, 1, 1, 1], constant=True)),
    "as_strided": lambda x: call(x(5, 5), (2, 2), (1, 2)),
    "as_strided_copy": lambda x: call(x(5, 5), (2, 2), (1, 2)),
    "as_strided_scatter": lambda x: call(x(5, 5), x(2, 2), (2, 2), (1, 2)),
    "asin": lambda x: call(x(5, lo=-0.95, hi=0.95)),
    "asinh": lambda x: call(x(5, lo=-3, hi=3)),
    "atan": lambda x: call(x(5, lo=-3, hi=3)),
    "atan2": lambda x: call(x(3), x(3, lo=0.5, hi=3)),
    "atanh": lambda x: call(x(5, lo=-0.95, hi=0.95)),
    "atleast_1d": lambda x: call(x()),
    "atleast_2d": lambda x: call(x()),
    "atleast_3d": lambda x: call(x()),
    "baddbmm": lambda x: call(x(5, 2, 3), x(5, 2, 4), x(5, 4, 3)),
    "batch_norm": lambda x: call(x(4, 3), x(3), x(3), None, None, True, 0.1, 1e-5, True),
    "bernoulli": lambda x: call(x(3, lo=0.2, hi=0.8)),
    "bfloat16": lambda x: call(x(3)),
    "binary_cross_entropy_with_logits": lambda x: call(x(3), x(3, lo=0.1, hi=0.9), None, None, 1),
    "bincount": lambda x: call(x.places(8, n=5)),
    "binomial": lambda x: call(x(3, lo=3, hi=5, constant=True), x(3, lo=0.2, hi=0.8)),
    "bitwise_and": lambda x: call(x(5, lo=1, hi=6), x(5, lo=0, hi=3, nz=False)),
    "bitwise_left_shift": lambda x: call(x(5, lo=1, hi=6), x(5, lo=0, hi=3, nz=False)),
    "bitwise_not": lambda x: call(x(5, lo=-3, hi=3)),
    "bitwise_or": lambda x: call(x(5, lo=1, hi=6), x(5, lo=0, hi=3, nz=False)),
    "bitwise_right_shift": lambda x: call(x(5, lo=1, hi=6), x(5, lo=0, hi=3, nz=False)),
    "bitwise_xor": lambda x: call(x(5, lo=1, hi=6), x(5, lo=0, hi=3, nz=False)),
    "block_diag": lambda x: call(x(2, 3), x(1, 2)),
    "bmm": lambda x: call(x(2, 5, 3), x(2, 3, 4)),
    "bool": lambda x: call(x(5, 3)),
    "broadcast_shapes": lambda x: call((2, 1), (3,)),
    "broadcast_tensors": lambda x: call(x(5, 1), x(5, 5, constant=True)),
    "broadcast_to": lambda x: call(x(5, 1, 1), (5, 5, 5)),
    "bucketize": lambda x: call(x(5), x.array([-2, -1, 0, 2], constant=True)),
    "byte": lambda x: call(x(5, 3)),
    "cartesian_prod": lambda x: call(x(3), x(2)),
    "cat": lambda x: call([x(5, 3), x(5, 3)], 0),
    "cdist": lambda x: call(x(4, 3), x(5, 3), 0),
    "cdouble": lambda x: call(x(5, 3)),
    "ceil": lambda x: call(x(5, lo=-3, hi=3)),
    "cfloat": lambda x: call(x(5, 3)),
    "chain_matmul": lambda x: call(x(2, 3), x(3, 4), x(4, 2)),
    "char": lambda x: call(x(5, 3)),
    "cholesky": lambda x: call(x.definite(3, 3)),
    "cholesky_inverse": lambda x: call(x.triangular(3, 3)),
    "cholesky_solve": lambda x: call(x(3, 2), x.triangular(3, 3)),
    "chunk": lambda x: call(x(5, 5), 1),
    "clamp": lambda x: call(x(5, 5), min=-1, max=1),
    "clamp_max": lambda x: call(x(5, 5), 0),
    "clamp_min": lambda x: call(x(5, 5), 0),
    "clone": lambda x: call(x(5, 3)),
    "column_stack": lambda x: call([x(5, 5), x(5, 5)]),
    "combinations": lambda x: call(x(5), 1),
    "complex": lambda x: call(x(5), x(5)),
    "conj": lambda x: call(x(5, lo=-3, hi=3)),
    "conj_physical": lambda x: call(x(5, lo=-3, hi=3)),
    "constant_pad_nd": lambda x: call(x(2, 3), (1, 2)),
    "contiguous": lambda x: call(x(5, 3)),
    "conv_tbc": lambda x: call(x(5, 2, 3), x(2, 3, 4), x(4)),
    "convolution": lambda x: call(x(1, 2, 4), x(3, 2, 2), x(3), (1,), (0,), (1,), False, (0,), 1),
    "copysign": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "corrcoef": lambda x: call(x(3, 5)),
    "cos": lambda x: call(x(5, lo=-3, hi=3)),
    "cosh": lambda x: call(x(5, lo=-3, hi=3)),
    "cosine_embedding_loss": lambda x: call(x(2, 3), x(2, 3), x.array([1, -1], constant=True), 0.1, 1),
    "count_nonzero": lambda x: call(x(5, 5, 3, lo=-3, hi=3)),
    "cov": lambda x: call(x(3, 5)),
    "cpu": lambda x: call(x(3)),
    "cross": lambda x: call(x(5, 3), x(5, 3), dim=1),
    "ctc_loss": lambda x: call(
        x(6, 2, 4), x.array([[1, 2, 1], [3, 3, 2]], dtype="int64", constant=True), (6, 6), (3, 3), 0, 1
    ),
    "cummax": lambda x: call(x.distinct(3, 4), 1),
    "cummin": lambda x: call(x.distinct(3, 4), 1),
    "cumprod": lambda x: call(x(5, 5, 3), -3),
    "cumsum": lambda x: call(x(5, 5, 3), -3),
    "cumulative_trapezoid": lambda x: call(x(5, 5)),
    "deg2rad": lambda x: call(x(5, lo=-3, hi=3)),
    "detach": lambda x: call(x(3)),
    "detach_copy": lambda x: call(x(3)),
    "diag": lambda x: call(x(5), 0),
    "diag_embed": lambda x: call(x(5)),
    "diagflat": lambda x: call(x(5), 0),
    "diagonal": lambda x: call(x(5, 3)),
    "diagonal_copy": lambda x: call(x(5, 3)),
    "diagonal_scatter": lambda x: call(x(5, 5), x(5)),
    "diff": lambda x: call(x(5, 5), 0),
    "digamma": lambda x: call(x(5, lo=0.1, hi=5)),
    "dist": lambda x: call(x(5, 5), x(5, 5), 0),
    "div": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=True)),
    "dot": lambda x: call(x(5), x(5)),
    "double": lambda x: call(x(5, 3)),
    "dropout": lambda x: call(x(4), 0.5, True),
    "dsplit": lambda x: call(x(6, 6, 6), 2),
    "dstack": lambda x: call([x(5, 5), x(5, 5)]),
    "einsum": lambda x: call("i,i", x(3), x(3)),
    "embedding": lambda x: call(x(4, 3), x.array([1, 2, 1], dtype="int64", constant=True)),
    "embedding_bag": lambda x: call(x(5, 3), x.places(6, n=5), x.array([0, 2], dtype="int64", constant=True)),
    "eq": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "equal": lambda x: call(x(5), x(5)),
    "erf": lambda x: call(x(5, lo=-3, hi=3)),
    "erfc": lambda x: call(x(5, lo=-3, hi=3)),
    "erfinv": lambda x: call(x(5, lo=-0.95, hi=0.95)),
    "exp": lambda x: call(x(5, lo=-3, hi=3)),
    "exp2": lambda x: call(x(5, lo=-3, hi=3)),
    "expand": lambda x: call(x(5, 1, 1), (5, 5, 5)),
    "expand_as": lambda x: call(x(5, 1), x(5, 5, constant=True)),
    "expand_copy": lambda x: call(x(5, 1, 1), (5, 5, 5)),
    "expm1": lambda x: call(x(5, lo=-3, hi=3)),
    "feature_alpha_dropout": lambda x: call(x(2, 3, 2), 0.5, True),
    "feature_dropout": lambda x: call(x(2, 3, 2), 0.5, True),
    "fft.fft": lambda x: call(x(5)),
    "fft.fft2": lambda x: call(x(3, 4)),
    "fft.fftn": lambda x: call(x(3, 4)),
    "fft.fftshift": lambda x: call(x(5)),
    "fft.hfft": lambda x: call(x(5)),
    "fft.hfft2": lambda x: call(x(3, 4)),
    "fft.hfftn": lambda x: call(x(3, 4)),
    "fft.ifft": lambda x: call(x(5)),
    "fft.ifft2": lambda x: call(x(3, 4)),
    "fft.ifftn": lambda x: call(x(3, 4)),
    "fft.ifftshift": lambda x: call(x(5)),
    "fft.ihfft": lambda x: call(x(5)),
    "fft.ihfft2": lambda x: call(x(3, 4)),
    "fft.ihfftn": lambda x: call(x(3, 4)),
    "fft.irfft": lambda x: call(x(5)),
    "fft.irfft2": lambda x: call(x(3, 4)),
    "fft.irfftn": lambda x: call(x(3, 4)),
    "fft.rfft": lambda x: call(x(5)),
    "fft.rfft2": lambda x: call(x(3, 4)),
    "fft.rfftn": lambda x: call(x(3, 4)),
    "fill": lambda x: call(x(5, 5), 1),
    "flatten": lambda x: call(x(2, 3, 4)),
    "flip": lambda x: call(x(2, 3, 4), (0,)),
    "fliplr": lambda x: call(x(5, 3)),
    "flipud": lambda x: call(x(5, 3)),
    "float": lambda x: call(x(5, 3)),
    "float_power": lambda x: call(x(3, lo=0.5, hi=3), x(3)),
    "floor": lambda x: call(x(5, lo=-3, hi=3)),
    "floor_divide": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=True)),
    "fmax": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "fmin": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "fmod": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=True)),
    "frac": lambda x: call(x(5, lo=-3, hi=3)),
    "frexp": lambda x: call(x(5)),
    "full_like": lambda x: call(x(3), 2),
    "gather": lambda x: call(x(5, 5), 0, x.places(5, 5, n=5)),
    "gcd": lambda x: call(x(5, lo=1, hi=6), x(5, lo=0, hi=3, nz=False)),
    "ge": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "geqrf": lambda x: call(x(4, 3)),
    "gradient": lambda x: call(x(5)),
    "grid_sampler": lambda x: call(x(1, 2, 3, 3), x(1, 2, 2, 2, lo=-0.9, hi=0.9), 0, 0, False),
    "grid_sampler_2d": lambda x: call(x(1, 2, 3, 3), x(1, 2, 2, 2, lo=-0.9, hi=0.9), 0, 0, False),
    "grid_sampler_3d": lambda x: call(x(1, 1, 2, 2, 2), x(1, 2, 2, 1, 3, lo=-0.9, hi=0.9), 0, 0, False),
    "gru": lambda x: call(
        x(3, 2, 3), x(1, 2, 4), (x(12, 3), x(12, 4), x(12), x(12)), True, 1, 0.0, False, False, False
    ),
    "gru_cell": lambda x: call(x(2, 3), x(2, 4), x(12, 3), x(12, 4), x(12), x(12)),
    "gt": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "half": lambda x: call(x(3)),
    "heaviside": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "hinge_embedding_loss": lambda x: call(x(3), x.array([1, -1, 1], constant=True), 1.0, 1),
    "histc": lambda x: call(x(20, constant=True)),
    "histogram": lambda x: call(x(20, constant=True), 5),
    "histogramdd": lambda x: call(x(20, 2, constant=True), [3, 4]),
    "hsplit": lambda x: call(x(6, 6, 6), 2),
    "hstack": lambda x: call([x(5, 5), x(5, 5)]),
    "hypot": lambda x: call(x(3), x(3, lo=0.5, hi=3)),
    "i0": lambda x: call(x(5, lo=-3, hi=3)),
    "igamma": lambda x: call(x(3, lo=0.5, hi=3, constant=True), x(3, lo=0.5, hi=3)),
    "igammac": lambda x: call(x(3, lo=0.5, hi=3, constant=True), x(3, lo=0.5, hi=3)),
    "imag": lambda x: call(x(5, lo=-3, hi=3)),
    "index_add": lambda x: call(x(5, 5), 0, x.permutation(5), x(5, 5)),
    "index_copy": lambda x: call(x(5, 5), 0, x.permutation(5), x(5, 5)),
    "index_fill": lambda x: call(x(5, 5), 0, x.places(2, n=5), 2),
    "index_put": lambda x: call(x(5, 5), (x.permutation(3),), x(3, 5)),
    "index_reduce": lambda x: call(x(5, 5), 0, x.places(7, n=5), x(7, 5), "prod", include_self=True),
    "index_select": lambda x: call(x(5, 5), 0, x.places(3, n=5)),
    "inner": lambda x: call(x(5), x(5)),
    "instance_norm": lambda x: call(x(2, 3, 4), x(3), x(3), None, None, True, 0.1, 1e-5, True),
    "int": lambda x: call(x(5, 3)),
    "is_conj": lambda x: call(x(3)),
    "is_neg": lambda x: call(x(3)),
    "isclose": lambda x: call(x(5), x(5)),
    "isfinite": lambda x: call(x(5, lo=-3, hi=3)),
    "isin": lambda x: call(x.array([3, 2, 2, 3, 2], constant=True), x.array([3, 3, 0], constant=True)),
    "isinf": lambda x: call(x(5, lo=-3, hi=3)),
    "isnan": lambda x: call(x(5, lo=-3, hi=3)),
    "isneginf": lambda x: call(x(5, lo=-3, hi=3)),
    "isposinf": lambda x: call(x(5, lo=-3, hi=3)),
    "isreal": lambda x: call(x(5, lo=-3, hi=3)),
    "istft": lambda x: call(x(5, 6), 8),
    "item": lambda x: call(x()),
    "kl_div": lambda x: call(x(3), x(3, lo=0.1, hi=0.9), 2),
    "kron": lambda x: call(x(2, 3), x(3, 2)),
    "kthvalue": lambda x: call(x.distinct(5, 5, 3), 1, -3),
    "lcm": lambda x: call(x(5, lo=1, hi=6), x(5, lo=0, hi=3, nz=False)),
    "ldexp": lambda x: call(x(5), x(5, lo=-3, hi=3, dtype="int64")),
    "le": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "lerp": lambda x: call(x(5, 5), x(5), 0.4),
    "lgamma": lambda x: call(x(5, lo=0.1, hi=5)),
    "linalg.cholesky": lambda x: call(x.definite(3, 3)),
    "linalg.cholesky_ex": lambda x: call(x.definite(3, 3)),
    "linalg.cond": lambda x: call(x.regular(3, 3)),
    "linalg.cross": lambda x: call(x(5, 3), x(5, 3), dim=1),
    "linalg.det": lambda x: call(x.definite(3, 3)),
    "linalg.diagonal": lambda x: call(x(5, 3)),
    "linalg.eig": lambda x: call(x.regular(3, 3)),
    "linalg.eigh": lambda x: call(x.hermitian(3, 3)),
    "linalg.eigvals": lambda x: call(x.regular(3, 3)),
    "lobpcg": lambda x: call(x.hermitian(3, 3)),
    "linalg.eigvalsh": lambda x: call(x.hermitian(3, 3)),
    "linalg.householder_product": lambda x: call(x(4, 3, lo=-0.5, hi=0.5), x(3, lo=0.1, hi=1)),
    "linalg.inv": lambda x: call(x.regular(3, 3)),
    "linalg.inv_ex": lambda x: call(x.regular(3, 3)),
    "linalg.ldl_factor": lambda x: call(x.hermitian(3, 3)),
    "linalg.ldl_factor_ex": lambda x: call(x.hermitian(3, 3)),
    "linalg.ldl_solve": lambda x: call(
        x.array([[2.0, 0.0], [0.5, 3.0]]), x.array([1, 2], dtype="int32", constant=True), x(2, 1)
    ),
    "linalg.lstsq": lambda x: call(x(4, 2), x(4, 2)),
    "linalg.lu": lambda x: call(x.regular(3, 3)),
    "linalg.lu_factor": lambda x: call(x.regular(3, 3)),
    "linalg.lu_factor_ex": lambda x: call(x.regular(3, 3)),
    "linalg.lu_solve": lambda x: call(x.regular(3, 3), x.array([1, 2, 3], dtype="int32", constant=True), x(3, 2)),
    "frobenius_norm": lambda x: call(x(3, 4), (0, 1)),
    "nuclear_norm": lambda x: call(x(3, 4)),
    "linalg.matrix_norm": lambda x: call(x(3, 4), "fro"),
    "linalg.matrix_power": lambda x: call(x.regular(3, 3), 3),
    "linalg.matrix_rank": lambda x: call(x(3, 3)),
    "linalg.multi_dot": lambda x: call([x(2, 3), x(3, 4)]),
    "linalg.norm": lambda x: call(x(5)),
    "linalg.pinv": lambda x: call(x(4, 3)),
    "linalg.qr": lambda x: call(x(4, 3)),
    "linalg.slogdet": lambda x: call(x.definite(3, 3)),
    "linalg.solve": lambda x: call(x.regular(3, 3), x(3, 2)),
    "linalg.solve_ex": lambda x: call(x.regular(3, 3), x(3, 2)),
    "linalg.solve_triangular": lambda x: call(x.triangular(3, 3), x(3, 2), upper=False),
    "linalg.svd": lambda x: call(x(4, 3), full_matrices=False),
    "linalg.svdvals": lambda x: call(x(4, 3)),
    "linalg.tensorinv": lambda x: call(x(6, 2, 3), ind=1),
    "linalg.tensorsolve": lambda x: call(x(2, 3, 6), x(2, 3)),
    "linalg.vander": lambda x: call(x(3)),
    "linalg.vecdot": lambda x: call(x(5), x(5)),
    "linalg.vector_norm": lambda x: call(x(5), 2),
    "log": lambda x: call(x(5, lo=0.1, hi=5)),
    "log10": lambda x: call(x(5, lo=0.1, hi=5)),
    "log1p": lambda x: call(x(5, lo=0.1, hi=5)),
    "log2": lambda x: call(x(5, lo=0.1, hi=5)),
    "log_softmax": lambda x: call(x(5, 5, 3), -3),
    "logaddexp": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "logaddexp2": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "logcumsumexp": lambda x: call(x(5, 5, 3), -3),
    "logdet": lambda x: call(x.definite(3, 3)),
    "logical_and": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "logical_not": lambda x: call(x(5, lo=-3, hi=3)),
    "logical_or": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "logical_xor": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "logit": lambda x: call(x(5, lo=0.05, hi=0.95)),
    "lstm": lambda x: call(
        x(3, 2, 3), (x(1, 2, 4), x(1, 2, 4)), (x(16, 3), x(16, 4), x(16), x(16)), True, 1, 0.0, False, False, False
    ),
    "lstm_cell": lambda x: call(x(2, 3), (x(2, 4), x(2, 4)), x(16, 3), x(16, 4), x(16), x(16)),
    "logsumexp": lambda x: call(x(5, 5, 3, lo=-3, hi=3), dim=-3),
    "long": lambda x: call(x(5, 3)),
    "lt": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "lu": lambda x: call(x.regular(3, 3)),
    "lu_solve": lambda x: call(x(3, 2), x.regular(3, 3), x.array([1, 2, 3], dtype="int32", constant=True)),
    "lu_unpack": lambda x: call(x.regular(3, 3), x.array([2, 2, 3], dtype="int32", constant=True)),
    "mH": lambda x: call(x(5, 3)),
    "mT": lambda x: call(x(5, 3)),
    "margin_ranking_loss": lambda x: call(x(3), x(3), x.array([1, -1, 1], constant=True), 0.1, 1),
    "masked.amax": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.amin": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.argmax": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.argmin": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.cumprod": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.cumsum": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.log_softmax": lambda x: call(x(3, 4), 1),
    "masked.logaddexp": lambda x: call(x(3, 4), x(3, 4)),
    "masked.logsumexp": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.mean": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.median": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.norm": lambda x: call(x(3, 4), 2.0, 0, mask=x.mask(3, 4)),
    "masked.normalize": lambda x: call(x(3, 4), 2.0, 1, mask=x.mask(3, 4)),
    "masked.prod": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.softmax": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.softmin": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.std": lambda x: call(
        x(3, 4), 0, True, mask=x.array([[1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 0]], dtype="bool")
    ),
    "masked.sum": lambda x: call(x(3, 4), 0, mask=x.mask(3, 4)),
    "masked.var": lambda x: call(
        x(3, 4), 0, True, mask=x.array([[1, 1, 1, 1], [1, 0, 1, 1], [1, 1, 1, 0]], dtype="bool")
    ),
    "masked_fill": lambda x: call(x(5, 5), x.mask(5, 5), 0),
    "masked_scatter": lambda x: call(x(5, 5), x.mask(5, 5), x(5, 5)),
    "masked_select": lambda x: call(x(5, 5), x.mask(5, 5)),
    "matmul": lambda x: call(x(5), x(5)),
    "matrix_exp": lambda x: call(x.regular(3, 3)),
    "max": lambda x: call(x.distinct(3, 4), dim=1),
    "max_pool1d_with_indices": lambda x: call(x.distinct(1, 2, 6), 2),
    "maximum": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "mean": lambda x: call(x(3, 4), 1),
    "median": lambda x: call(x.distinct(3, 4), dim=1),
    "meshgrid": lambda x: call(x(3), x(4)),
    "min": lambda x: call(x.distinct(3, 4), dim=1),
    "minimum": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "mm": lambda x: call(x(5, 3), x(3, 4)),
    "mode": lambda x: call(x.distinct(3, 4), dim=1),
    "movedim": lambda x: call(x(2, 3, 4), 0, 2),
    "msort": lambda x: call(x.distinct(5, 5, 3)),
    "mul": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "multinomial": lambda x: call(x(4, lo=0.1, hi=1), 2),
    "mv": lambda x: call(x(5, 3), x(3)),
    "mvlgamma": lambda x: call(x(5, lo=3, hi=8), p=1),
    "nan_to_num": lambda x: call(x(5, lo=-3, hi=3)),
    "nanmean": lambda x: call(x(5, 5, 3, lo=-3, hi=3)),
    "nanmedian": lambda x: call(x.distinct(3, 4), dim=1),
    "nanquantile": lambda x: call(x(5, 5), 0.5),
    "nansum": lambda x: call(x(5, 5, 3, lo=-3, hi=3)),
    "narrow": lambda x: call(x(5, 5), 0, 1, 2),
    "narrow_copy": lambda x: call(x(5, 5), 0, 1, 2),
    "native_batch_norm": lambda x: call(x(4, 3), x(3), x(3), None, None, True, 0.1, 1e-5),
    "native_dropout": lambda x: call(x(4), 0.5, False),
    "native_group_norm": lambda x: call(x(2, 4, 3), x(4), x(4), 2, 4, 3, 2, 1e-5),
    "native_layer_norm": lambda x: call(x(2, 3), (3,), x(3), x(3), 1e-5),
    "ne": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "neg": lambda x: call(x(5, lo=-3, hi=3)),
    "nextafter": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "nn.functional.adaptive_avg_pool1d": lambda x: call(x.distinct(2, 3, 7), 1),
    "nn.functional.adaptive_avg_pool2d": lambda x: call(x.distinct(2, 3, 7, 6), 1),
    "nn.functional.adaptive_avg_pool3d": lambda x: call(x.distinct(2, 3, 7, 6, 5), 1),
    "nn.functional.adaptive_max_pool1d": lambda x: call(x.distinct(2, 3, 7), 1),
    "nn.functional.adaptive_max_pool2d": lambda x: call(x.distinct(2, 3, 7, 6), 1),
    "nn.functional.adaptive_max_pool3d": lambda x: call(x.distinct(2, 3, 7, 6, 5), 1),
    "nn.functional.affine_grid": lambda x: call(x(1, 2, 3), (1, 1, 2, 3), align_corners=False),
    "nn.functional.alpha_dropout": lambda x: call(x(2, 3), 0.5, True),
    "nn.functional.avg_pool1d": lambda x: call(x(2, 3, 7), kernel_size=2),
    "nn.functional.avg_pool2d": lambda x: call(x(2, 3, 7, 6), kernel_size=2),
    "nn.functional.avg_pool3d": lambda x: call(x(2, 3, 7, 6, 5), kernel_size=2),
    "nn.functional.batch_norm": lambda x: call(x(4, 3), None, None, x(3), x(3), training=True),
    "nn.functional.bilinear": lambda x: call(x(2, 3), x(2, 4), x(5, 3, 4)),
    "nn.functional.binary_cross_entropy": lambda x: call(x(3, lo=0.1, hi=0.9), x(3, lo=0.1, hi=0.9)),
    "nn.functional.binary_cross_entropy_with_logits": lambda x: call(
        x(5, lo=-3, hi=3), x(5, lo=0.1, hi=0.9), reduction="mean"
    ),
    "nn.functional.celu": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.channel_shuffle": lambda x: call(x(1, 4, 2, 2), 2),
    "nn.functional.grouped_mm": lambda x: call(x(2, 3, 2), x(2, 2, 4)),
    "nn.functional.conv1d": lambda x: call(x(2, 4, 6), x(6, 4, 3), x(6)),
    "nn.functional.conv2d": lambda x: call(x(2, 4, 6, 5), x(6, 4, 3, 2), x(6)),
    "nn.functional.conv3d": lambda x: call(x(2, 4, 6, 5, 4), x(6, 4, 3, 2, 2), x(6)),
    "nn.functional.conv_tbc": lambda x: call(x(5, 2, 3), x(2, 3, 4), x(4)),
    "nn.functional.conv_transpose1d": lambda x: call(x(2, 4, 6), x(4, 6, 3), x(6)),
    "nn.functional.conv_transpose2d": lambda x: call(x(2, 4, 6, 5), x(4, 6, 3, 2), x(6)),
    "nn.functional.conv_transpose3d": lambda x: call(x(2, 4, 6, 5, 4), x(4, 6, 3, 2, 2), x(6)),
    "nn.functional.cosine_embedding_loss": lambda x: call(
        x(5, 3), x(5, 3), x.array([-1.0, -1.0, -1.0, -1.0, 1.0], constant=True), margin=0, reduction="mean"
    ),
    "nn.functional.cosine_similarity": lambda x: call(x(5, 3), x(5, 3), dim=-1),
    "nn.functional.cross_entropy": lambda x: call(x(3, 5), x.places(3, n=5), reduction="mean"),
    "nn.functional.ctc_loss": lambda x: call(
        x(6, 2, 4),
        x.array([[1, 2, 1], [3, 3, 2]], dtype="int64"),
        (6, 6),
        (3, 3),
        reduction="mean",
        zero_infinity=False,
    ),
    "nn.functional.dropout": lambda x: call(x(2, 3), 0.5),
    "nn.functional.dropout1d": lambda x: call(x(2, 3, 4), 0.5),
    "nn.functional.dropout2d": lambda x: call(x(2, 3, 2, 2), 0.5),
    "nn.functional.dropout3d": lambda x: call(x(2, 3, 2, 2, 2), 0.5),
    "nn.functional.elu": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.embedding": lambda x: call(x.places(3, n=5), x(5, 3)),
    "nn.functional.embedding_bag": lambda x: call(x.places(2, 3, n=5), x(5, 3), mode="sum"),
    "nn.functional.feature_alpha_dropout": lambda x: call(x(2, 3, 2), 0.5, True),
    "nn.functional.fractional_max_pool2d": lambda x: call(
        x.distinct(1, 2, 6, 5), 2, (3, 2), _random_samples=x(1, 2, 2, lo=0, hi=1, constant=True)
    ),
    "nn.functional.fractional_max_pool3d": lambda x: call(
        x.distinct(1, 1, 4, 6, 5), 2, (2, 3, 2), _random_samples=x(1, 1, 3, lo=0, hi=1, constant=True)
    ),
    "nn.functional.fold": lambda x: call(x(1, 4, 4), (3, 3), 2),
    "nn.functional.gaussian_nll_loss": lambda x: call(x(5), x(5), x(5, lo=0.1), reduction="mean"),
    "nn.functional.gelu": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.glu": lambda x: call(x(4)),
    "nn.functional.grid_sample": lambda x: call(
        x(2, 3, 4, 5), x(2, 3, 2, 2, lo=-1.3, hi=1.3), mode="bilinear", padding_mode="zeros", align_corners=False
    ),
    "nn.functional.group_norm": lambda x: call(x(2, 6), 3),
    "nn.functional.gumbel_softmax": lambda x: call(x(2, 3), tau=0.7),
    "nn.functional.hardshrink": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.hardsigmoid": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.hardswish": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.hardtanh": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.hinge_embedding_loss": lambda x: call(
        x(5), x.array([1.0, -1.0, 1.0, 1.0, -1.0], constant=True), reduction="mean"
    ),
    "nn.functional.huber_loss": lambda x: call(x(5), x(5), reduction="mean"),
    "nn.functional.instance_norm": lambda x: call(x(2, 3, 4)),
    "nn.functional.interpolate": lambda x: call(x(2, 3, 5), mode="nearest", size=7),
    "nn.functional.kl_div": lambda x: call(x(5, hi=0), x(5, lo=0.05, hi=1), reduction="mean"),
    "nn.functional.l1_loss": lambda x: call(x(5), x(5), reduction="mean"),
    "nn.functional.layer_norm": lambda x: call(x(2, 3), (3,)),
    "nn.functional.leaky_relu": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.linear": lambda x: call(x(3), x(5, 3)),
    "nn.functional.linear_cross_entropy": lambda x: call(x(3, 4), x(5, 4), x.places(3, n=5), linear_bias=x(5)),
    "nn.functional.local_response_norm": lambda x: call(x(2, 6, 3, lo=0.1), 2),
    "nn.functional.logsigmoid": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.lp_pool1d": lambda x: call(x(1, 2, 6, lo=0.5, hi=2), 2.0, 2),
    "nn.functional.lp_pool2d": lambda x: call(x(1, 2, 4, 4, lo=0.5, hi=2), 2.0, 2),
    "nn.functional.lp_pool3d": lambda x: call(x(1, 1, 2, 2, 4, lo=0.5, hi=2), 2.0, 2),
    "nn.functional.margin_ranking_loss": lambda x: call(
        x(5), x(5), x.array([1.0, 1.0, 1.0, -1.0, -1.0], constant=True), reduction="mean"
    ),
    "nn.functional.max_pool1d": lambda x: call(x.distinct(1, 2, 6), 2),
    "nn.functional.max_pool2d": lambda x: call(x.distinct(1, 2, 4, 4), 2),
    "nn.functional.max_pool3d": lambda x: call(x.distinct(1, 2, 2, 4, 4), 2),
    "nn.functional.max_unpool1d": lambda x: call(
        x(1, 2, 2), x.array([[[0, 3], [1, 2]]], dtype="int64", constant=True), 2
    ),
    "nn.functional.max_unpool2d": lambda x: call(x(1, 1, 1, 2), x.array([[[[0, 3]]]], dtype="int64", constant=True), 2),
    "nn.functional.max_unpool3d": lambda x: call(
        x(1, 1, 1, 1, 2), x.array([[[[[0, 9]]]]], dtype="int64", constant=True), 2
    ),
    "nn.functional.mish": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.mse_loss": lambda x: call(x(5), x(5), reduction="mean"),
    "nn.functional.multi_head_attention_forward": lambda x: call(
        x(5, 2, 4), x(3, 2, 4), x(3, 2, 4), 4, 2, x(12, 4), x(12), None, None, False, 0.0, x(4, 4), x(4), training=False
    ),
    "nn.functional.multi_margin_loss": lambda x: call(x(3, 5), x.places(3, n=5), reduction="mean"),
    "nn.functional.multilabel_margin_loss": lambda x: call(
        x(2, 4), x.array([[1, 3, -1, 2], [0, -1, 0, 0]], dtype="int64"), reduction="mean"
    ),
    "nn.functional.multilabel_soft_margin_loss": lambda x: call(x(3, 5), x(3, 5, lo=0, hi=1), reduction="mean"),
    "nn.functional.nll_loss": lambda x: call(x(3, 5), x.places(3, n=5), reduction="mean"),
    "nn.functional.normalize": lambda x: call(x(2, 3), 1),
    "nn.functional.one_hot": lambda x: call(x.places(4, n=5)),
    "nn.functional.pad": lambda x: call(x(2, 3), (1, 2), mode="constant"),
    "nn.functional.pairwise_distance": lambda x: call(x(5, 3), x(5, 3), 1),
    "nn.functional.pdist": lambda x: call(x(5, 3), 0),
    "nn.functional.pixel_shuffle": lambda x: call(x(8, 3, 2), 2),
    "nn.functional.pixel_unshuffle": lambda x: call(x(3, 4, 6), 2),
    "nn.functional.poisson_nll_loss": lambda x: call(
        x(5, lo=0.1), x(5, lo=0.1, hi=5), log_input=True, full=True, reduction="mean"
    ),
    "nn.functional.prelu": lambda x: call(x(2, 3), x(3)),
    "nn.functional.relu": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.relu6": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.rms_norm": lambda x: call(x(2, 3), (3,)),
    "nn.functional.rrelu": lambda x: call(x(3), training=True),
    "nn.functional.scaled_dot_product_attention": lambda x: call(x(4, 6), x(5, 6), x(5, 3)),
    "nn.functional.selu": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.silu": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.smooth_l1_loss": lambda x: call(x(5), x(5), reduction="mean"),
    "nn.functional.soft_margin_loss": lambda x: call(x(5), x(5), reduction="mean"),
    "nn.functional.softmin": lambda x: call(x(5, 5, 3), -3),
    "nn.functional.softplus": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.softshrink": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.softsign": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.tanhshrink": lambda x: call(x(5, lo=-3, hi=3)),
    "nn.functional.threshold": lambda x: call(x(5, lo=-3, hi=3), threshold=0.2, value=5.0),
    "nn.functional.triplet_margin_loss": lambda x: call(x(5, 3), x(5, 3), x(5, 3), reduction="mean"),
    "nn.functional.triplet_margin_with_distance_loss": lambda x: call(x(5, 3), x(5, 3), x(5, 3), reduction="mean"),
    "nn.functional.unfold": lambda x: call(x(2, 3, 5, 6), kernel_size=2),
    "nn.functional.upsample": lambda x: call(x(1, 2, 3, 3), scale_factor=2),
    "nn.functional.upsample_bilinear": lambda x: call(x(2, 3, 4, 5), (7, 6)),
    "nn.functional.upsample_nearest": lambda x: call(x(2, 3, 4, 5), (7, 6)),
    "nonzero": lambda x: call(x.array([1, 1, 1, 1, 1], constant=True)),
    "nonzero_static": lambda x: call(x.array([1, 0, 0, 1, 0], constant=True), size=2),
    "norm": lambda x: call(x(3, 4), 2, 1),
    "norm_except_dim": lambda x: call(x(2, 3), 2, 0),
    "normal": lambda x: call(x(3, constant=True), x(3, lo=0.5, hi=1, constant=True)),
    "ones_like": lambda x: call(x(3)),
    "orgqr": lambda x: call(x(4, 3, lo=-0.5, hi=0.5), x(3, lo=0.1, hi=1)),
    "ormqr": lambda x: call(x(4, 3, lo=-0.5, hi=0.5), x(3, lo=0.1, hi=1), x(4, 2)),
    "outer": lambda x: call(x(5), x(3)),
    "permute": lambda x: call(x(2, 3, 4), (2, 0, 1)),
    "permute_copy": lambda x: call(x(2, 3, 4), (2, 0, 1)),
    "pinverse": lambda x: call(x(4, 3)),
    "_standard_gamma": lambda x: call(x(3, lo=1, hi=4)),
    "_sample_dirichlet": lambda x: call(x(2, 3, lo=1, hi=4)),
    "poisson": lambda x: call(x(3, lo=1, hi=4)),
    "poisson_nll_loss": lambda x: call(x(3), x(3, lo=0.5, hi=4), True, False, 1e-8, 1),
    "polar": lambda x: call(x(5, lo=0, hi=2), x(5)),
    "polygamma": lambda x: call(0, x(5, lo=0.2, hi=5)),
    "positive": lambda x: call(x(5, lo=-3, hi=3)),
    "pow": lambda x: call(x(3, lo=0.5, hi=3), x(3)),
    "prod": lambda x: call(x(3, 4), 1),
    "put": lambda x: call(x(5, 5), x.array([1, 5, 24], dtype="int64"), x(3), False),
    "qr": lambda x: call(x(4, 3)),
    "quantile": lambda x: call(x(5, 5), 0.5),
    "rad2deg": lambda x: call(x(5, lo=-3, hi=3)),
    "ravel": lambda x: call(x(5, 3)),
    "real": lambda x: call(x(5, lo=-3, hi=3)),
    "reciprocal": lambda x: call(x(5, lo=0.1, hi=5)),
    "remainder": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=True)),
    "renorm": lambda x: call(x(5, 5), 1, 0, 1.0),
    "repeat": lambda x: call(x(2, 3), (2, 1)),
    "repeat_interleave": lambda x: call(x(2, 3), 2),
    "reshape": lambda x: call(x(2, 6), (3, 4)),
    "reshape_as": lambda x: call(x(6), x(2, 3, constant=True)),
    "resolve_conj": lambda x: call(x(5, lo=-3, hi=3)),
    "resolve_neg": lambda x: call(x(5, lo=-3, hi=3)),
    "rnn_relu": lambda x: call(
        x(3, 2, 3), x(1, 2, 4), (x(4, 3), x(4, 4), x(4), x(4)), True, 1, 0.0, False, False, False
    ),
    "rnn_relu_cell": lambda x: call(x(2, 3), x(2, 4), x(4, 3), x(4, 4), x(4), x(4)),
    "rnn_tanh": lambda x: call(
        x(3, 2, 3), x(1, 2, 4), (x(4, 3), x(4, 4), x(4), x(4)), True, 1, 0.0, False, False, False
    ),
    "rnn_tanh_cell": lambda x: call(x(2, 3), x(2, 4), x(4, 3), x(4, 4), x(4), x(4)),
    "roll": lambda x: call(x(3, 4), (1,)),
    "rot90": lambda x: call(x(3, 4), 0),
    "round": lambda x: call(x(5, lo=-3, hi=3)),
    "rsqrt": lambda x: call(x(5, lo=0.1, hi=5)),
    "rsub": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "scatter": lambda x: call(
        x(5, 5),
        0,
        x.array([[2, 4, 2, 1, 2], [3, 1, 1, 4, 0], [1, 2, 3, 0, 3], [0, 0, 4, 2, 1], [4, 3, 0, 3, 4]], dtype="int64"),
        x(5, 5),
    ),
    "scatter_add": lambda x: call(
        x(5, 5),
        0,
        x.array([[1, 2, 1, 1, 0], [2, 1, 2, 4, 2], [4, 4, 0, 0, 3], [0, 3, 3, 3, 4], [3, 0, 4, 2, 1]], dtype="int64"),
        x(5, 5),
    ),
    "scatter_reduce": lambda x: call(x(5, 5), 0, x.places(3, 5, n=5), x(3, 5), "sum", include_self=True),
    "searchsorted": lambda x: call(x.array([-2, -1, 0, 2], constant=True), x(5)),
    "segment_reduce": lambda x: call(x(5, 2), "sum", lengths=x.array([2, 3], "int64", True)),
    "select": lambda x: call(x(5, 5), 0, 1),
    "select_copy": lambda x: call(x(3, 4), 0, 1),
    "select_scatter": lambda x: call(x(5, 3), x(3), 0, 1),
    "sgn": lambda x: call(x(5, lo=-3, hi=3)),
    "short": lambda x: call(x(5, 3)),
    "sigmoid": lambda x: call(x(5, lo=-3, hi=3)),
    "sign": lambda x: call(x(5, lo=-3, hi=3)),
    "signbit": lambda x: call(x(5, lo=-3, hi=3)),
    "sin": lambda x: call(x(5, lo=-3, hi=3)),
    "sinc": lambda x: call(x(5, lo=-3, hi=3)),
    "sinh": lambda x: call(x(5, lo=-3, hi=3)),
    "slice_copy": lambda x: call(x(5, 3), 0, 1, 4, 2),
    "slice_scatter": lambda x: call(x(5, 3), x(2, 3), 0, 1, 3),
    "softmax": lambda x: call(x(5, 5, 3), -3),
    "sort": lambda x: call(x.distinct(5, 5, 3)),
    "special.airy_ai": lambda x: call(x(5, lo=-3, hi=3)),
    "special.bessel_j0": lambda x: call(x(5, lo=-3, hi=3)),
    "special.bessel_j1": lambda x: call(x(5, lo=-3, hi=3)),
    "special.bessel_y0": lambda x: call(x(5, lo=0.1, hi=5)),
    "special.bessel_y1": lambda x: call(x(5, lo=0.1, hi=5)),
    "special.chebyshev_polynomial_t": lambda x: call(x(3, lo=0.1, hi=0.9), 3),
    "special.chebyshev_polynomial_u": lambda x: call(x(3, lo=0.1, hi=0.9), 3),
    "special.chebyshev_polynomial_v": lambda x: call(x(3, lo=0.1, hi=0.9), 3),
    "special.chebyshev_polynomial_w": lambda x: call(x(3, lo=0.1, hi=0.9), 3),
    "special.entr": lambda x: call(x(5, lo=0.1, hi=5)),
    "special.erfcx": lambda x: call(x(5, lo=-3, hi=3)),
    "special.gammainc": lambda x: call(x(3, lo=0.5, hi=3, constant=True), x(3, lo=0.5, hi=3)),
    "special.hermite_polynomial_h": lambda x: call(x(3, lo=0.1, hi=0.9), 3),
    "special.hermite_polynomial_he": lambda x: call(x(3, lo=0.1, hi=0.9), 3),
    "special.i0e": lambda x: call(x(5, lo=-3, hi=3)),
    "special.i1": lambda x: call(x(5, lo=-3, hi=3)),
    "special.i1e": lambda x: call(x(5, lo=-3, hi=3)),
    "special.laguerre_polynomial_l": lambda x: call(x(3, lo=0.1, hi=0.9), 3),
    "special.legendre_polynomial_p": lambda x: call(x(3, lo=0.1, hi=0.9), 3),
    "special.log_ndtr": lambda x: call(x(5, lo=-3, hi=3)),
    "special.modified_bessel_i0": lambda x: call(x(5, lo=-3, hi=3)),
    "special.modified_bessel_i1": lambda x: call(x(5, lo=-3, hi=3)),
    "special.modified_bessel_k0": lambda x: call(x(5, lo=0.1, hi=5)),
    "special.modified_bessel_k1": lambda x: call(x(5, lo=0.1, hi=5)),
    "special.ndtr": lambda x: call(x(5, lo=-3, hi=3)),
    "special.ndtri": lambda x: call(x(5, lo=0.05, hi=0.95)),
    "special.polygamma": lambda x: call(0, x(5, lo=0.2, hi=5)),
    "special.scaled_modified_bessel_k0": lambda x: call(x(5, lo=0.1, hi=5)),
    "special.scaled_modified_bessel_k1": lambda x: call(x(5, lo=0.1, hi=5)),
    "special.shifted_chebyshev_polynomial_t": lambda x: call(x(3, lo=0.1, hi=0.9), 3),
    "special.shifted_chebyshev_polynomial_u": lambda x: call(x(3, lo=0.1, hi=0.9), 3),
    "special.shifted_chebyshev_polynomial_v": lambda x: call(x(3, lo=0.1, hi=0.9), 3),
    "special.shifted_chebyshev_polynomial_w": lambda x: call(x(3, lo=0.1, hi=0.9), 3),
    "special.spherical_bessel_j0": lambda x: call(x(5, lo=-3, hi=3)),
    "special.xlog1py": lambda x: call(x(5, lo=0, hi=3), x(5, lo=0.2, hi=3, nz=False)),
    "special.zeta": lambda x: call(x(3, lo=1.5, hi=4, constant=True), x(3, lo=0.5, hi=3)),
    "split": lambda x: call(x(5, 5), 1, 0),
    "split_copy": lambda x: call(x(5, 3), 2),
    "split_with_sizes": lambda x: call(x(5, 3), [2, 3]),
    "split_with_sizes_copy": lambda x: call(x(5, 3), [2, 3]),
    "sqrt": lambda x: call(x(5, lo=0.1, hi=5)),
    "square": lambda x: call(x(5, lo=-3, hi=3)),
    "squeeze": lambda x: call(x(1, 2, 1, 3)),
    "squeeze_copy": lambda x: call(x(1, 2, 1, 3)),
    "stack": lambda x: call([x(5, 3), x(5, 3)], 0),
    "std": lambda x: call(x(3, 4), 1),
    "std_mean": lambda x: call(x(3, 4), 1),
    "stft": lambda x: call(x(20), return_complex=True, n_fft=8),
    "sub": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=False)),
    "sum": lambda x: call(x(3, 4), 1),
    "sum_to_size": lambda x: call(x(2, 3), (1, 3)),
    "svd_lowrank": lambda x: call(x.regular(4, 3), q=3),
    "pca_lowrank": lambda x: call(x.regular(4, 3), q=3),
    "svd": lambda x: call(x(4, 3)),
    "t": lambda x: call(x(5, 3)),
    "t_copy": lambda x: call(x(5, 3)),
    "take": lambda x: call(x(5, 5), x.places(3, n=25)),
    "take_along_dim": lambda x: call(x(5, 5), x.places(5, 5, n=5), 0),
    "tan": lambda x: call(x(5, lo=-3, hi=3)),
    "tanh": lambda x: call(x(5, lo=-3, hi=3)),
    "tensor_split": lambda x: call(x(5, 5), 1),
    "tensordot": lambda x: call(x(2, 3, 4), x(3, 4, 5), dims=2),
    "tile": lambda x: call(x(2, 3), (2, 1)),
    "to": lambda x: call(x(3, 2), dtype("float64")),
    "topk": lambda x: call(x.distinct(5, 5), 1, 0),
    "trace": lambda x: call(x(5, 5)),
    "transpose": lambda x: call(x(2, 3), 0, 1),
    "transpose_copy": lambda x: call(x(2, 3), 0, 1),
    "trapezoid": lambda x: call(x(5, 5)),
    "trapz": lambda x: call(x(5, 5)),
    "triangular_solve": lambda x: call(x(3, 2), x.triangular(3, 3), upper=False),
    "tril": lambda x: call(x(3, 4), 0),
    "triplet_margin_loss": lambda x: call(x(2, 3), x(2, 3), x(2, 3), 1.0, 2.0, 1e-6, False, 1),
    "triu": lambda x: call(x(3, 4), 0),
    "true_divide": lambda x: call(x(5, lo=-3, hi=3), x(5, lo=-3, hi=3, nz=True)),
    "trunc": lambda x: call(x(5, lo=-3, hi=3)),
    "type_as": lambda x: call(x(3), x(3, constant=True)),
    "unbind": lambda x: call(x(2, 3)),
    "unbind_copy": lambda x: call(x(2, 3)),
    "unflatten": lambda x: call(x(3, 4), 1, (2, 2)),
    "unfold": lambda x: call(x(5, 5), 0, 2, 1),
    "unfold_copy": lambda x: call(x(5, 5), 0, 2, 1),
    "unique": lambda x: call(x.array([3, 2, 2, 3, 2, 3, 3, 0])),
    "unique_consecutive": lambda x: call(x.array([3, 2, 2, 3, 2, 3, 3, 0])),
    "unravel_index": lambda x: call(x.places(4, n=20), (4, 5)),
    "unsafe_chunk": lambda x: call(x(5, 5), 1),
    "unsafe_split": lambda x: call(x(5, 5), 1),
    "unsafe_split_with_sizes": lambda x: call(x(5, 3), [2, 3]),
    "unsqueeze": lambda x: call(x(2, 3), -3),
    "unsqueeze_copy": lambda x: call(x(2, 3), -3),
    "vander": lambda x: call(x(3)),
    "var": lambda x: call(x(3, 4), 1),
    "var_mean": lambda x: call(x(3, 4), 1),
    "vdot": lambda x: call(x(5), x(5)),
    "view": lambda x: call(x(2, 6), (3, 4)),
    "view_as": lambda x: call(x(6), x(2, 3, constant=True)),
    "view_as_complex": lambda x: call(x(5, 2)),
    "view_as_complex_copy": lambda x: call(x(3, 2)),
    "view_as_real": lambda x: call(x(5, 2)),
    "view_as_real_copy": lambda x: call(x(3)),
    "view_copy": lambda x: call(x(2, 6), (3, 4)),
    "vsplit": lambda x: call(x(6, 6, 6), 2),
    "vstack": lambda x: call([x(5, 5), x(5, 5)]),
    "where": lambda x: call(x.mask(5, 5), x(5, 5), x(5, 5)),
    "xlogy": lambda x: call(x(5, lo=0, hi=3), x(5, lo=0.2, hi=3, nz=False)),
    "zeros_like": lambda x: call(x(3)),
}

#: Other names of the same functions. They have the calls of the names on the right.
ALIASES = {
    "absolute": "abs",
    "adaptive_avg_pool1d": "nn.functional.adaptive_avg_pool1d",
    "adaptive_max_pool1d": "nn.functional.adaptive_max_pool1d",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "avg_pool1d": "nn.functional.avg_pool1d",
    "bilinear": "nn.functional.bilinear",
    "celu": "nn.functional.celu",
    "channel_shuffle": "nn.functional.channel_shuffle",
    "native_channel_shuffle": "nn.functional.channel_shuffle",
    "nn.functional.native_channel_shuffle": "nn.functional.channel_shuffle",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "conv1d": "nn.functional.conv1d",
    "conv2d": "nn.functional.conv2d",
    "conv3d": "nn.functional.conv3d",
    "conv_transpose1d": "nn.functional.conv_transpose1d",
    "conv_transpose2d": "nn.functional.conv_transpose2d",
    "conv_transpose3d": "nn.functional.conv_transpose3d",
    "cosine_similarity": "nn.functional.cosine_similarity",
    "det": "linalg.det",
    "divide": "div",
    "fix": "trunc",
    "ger": "outer",
    "greater": "gt",
    "greater_equal": "ge",
    "group_norm": "nn.functional.group_norm",
    "hardshrink": "nn.functional.hardshrink",
    "inverse": "linalg.inv",
    "layer_norm": "nn.functional.layer_norm",
    "less": "lt",
    "less_equal": "le",
    "linalg.matmul": "matmul",
    "linalg.matrix_exp": "matrix_exp",
    "matrix_power": "linalg.matrix_power",
    "max_pool1d": "nn.functional.max_pool1d",
    "max_pool2d": "nn.functional.max_pool2d",
    "max_pool3d": "nn.functional.max_pool3d",
    "moveaxis": "movedim",
    "multiply": "mul",
    "negative": "neg",
    "nn.functional.adaptive_max_pool1d_with_indices": "nn.functional.adaptive_max_pool1d",
    "nn.functional.adaptive_max_pool2d_with_indices": "nn.functional.adaptive_max_pool2d",
    "nn.functional.adaptive_max_pool3d_with_indices": "nn.functional.adaptive_max_pool3d",
    "nn.functional.fractional_max_pool2d_with_indices": "nn.functional.fractional_max_pool2d",
    "nn.functional.fractional_max_pool3d_with_indices": "nn.functional.fractional_max_pool3d",
    "nn.functional.log_softmax": "log_softmax",
    "nn.functional.max_pool1d_with_indices": "nn.functional.max_pool1d",
    "nn.functional.max_pool2d_with_indices": "nn.functional.max_pool2d",
    "nn.functional.max_pool3d_with_indices": "nn.functional.max_pool3d",
    "nn.functional.sigmoid": "sigmoid",
    "nn.functional.softmax": "softmax",
    "nn.functional.tanh": "tanh",
    "not_equal": "ne",
    "pairwise_distance": "nn.functional.pairwise_distance",
    "pdist": "nn.functional.pdist",
    "pixel_shuffle": "nn.functional.pixel_shuffle",
    "pixel_unshuffle": "nn.functional.pixel_unshuffle",
    "prelu": "nn.functional.prelu",
    "relu": "nn.functional.relu",
    "rms_norm": "nn.functional.rms_norm",
    "row_stack": "vstack",
    "rrelu": "nn.functional.rrelu",
    "selu": "nn.functional.selu",
    "slogdet": "linalg.slogdet",
    "special.digamma": "digamma",
    "special.erf": "erf",
    "special.erfc": "erfc",
    "special.erfinv": "erfinv",
    "special.exp2": "exp2",
    "special.expit": "sigmoid",
    "special.expm1": "expm1",
    "special.gammaincc": "special.gammainc",
    "special.gammaln": "lgamma",
    "special.i0": "i0",
    "special.log1p": "log1p",
    "special.log_softmax": "log_softmax",
    "special.logit": "logit",
    "special.logsumexp": "logsumexp",
    "special.multigammaln": "mvlgamma",
    "special.psi": "digamma",
    "special.round": "round",
    "special.sinc": "sinc",
    "special.softmax": "softmax",
    "special.xlogy": "xlogy",
    "subtract": "sub",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "threshold": "nn.functional.threshold",
}
CALLS.update({name: CALLS[of] for name, of in ALIASES.items()})

#: Functions whose results are determined up to a phase: their absolute values are compared.
UP_TO_PHASE = {
    "linalg.eig", "linalg.eigh", "linalg.svd", "svd", "linalg.qr", "qr", "geqrf", "svd_lowrank", "pca_lowrank",
    "lobpcg",
}  # fmt: skip

#: Functions whose derivative holds only within a set of arguments, and the function that takes any Tensor into this
#: set.
WITHIN: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(
        ["linalg.eigh", "linalg.eigvalsh", "lobpcg", "linalg.cholesky", "linalg.cholesky_ex", "cholesky"],
        lambda a: (a + a.mH) / 2,
    ),
    # these read only one triangle, but have a derivative by the other one, too
    **dict.fromkeys(["cholesky_solve", "cholesky_inverse"], lambda a: a.tril()),
    **dict.fromkeys(["ctc_loss", "nn.functional.ctc_loss"], lambda log_probs: log_probs.log_softmax(-1)),
}

_SIZE = "no vmap: the size of the result depends on the values"
_DATA = "no vmap: the result is a Python value"
_STRIDES = "no vmap: a member of a batch has no memory of its own that strides could be counted in"
_COUNTS = "counts: no derivative"
_DRAWN = "drawn at random: no derivative; vmap needs randomness='different'"
_CONSTANT = "the result does not depend on the values: no derivative"
_PLACES = "gives places, as floating-point numbers where the input is: no derivative"
_CUT = "cuts the graph, as it is meant to"

#: The gaps of functions, with the reasons.
GAPS: dict[str, str] = {
    "masked.argmax": _PLACES, "masked.argmin": _PLACES,
    "allclose": _DATA, "equal": _DATA, "item": _DATA, "broadcast_shapes": "takes shapes, no tensors",
    "argwhere": _SIZE, "nonzero": _SIZE, "unravel_index": "no vmap: several results of one index tensor",
    "unique": f"{_SIZE}; no derivative, as in torch", "unique_consecutive": f"{_SIZE}; no derivative, as in torch",
    "nn.functional.one_hot": "no vmap without num_classes: the size of the result depends on the values",
    "bincount": f"{_SIZE}; {_COUNTS}", "histc": _COUNTS, "histogram": f"{_COUNTS}; no vmap, as in torch",
    "histogramdd": f"{_COUNTS}; no vmap, as in torch",
    "as_strided": _STRIDES, "as_strided_copy": _STRIDES, "as_strided_scatter": _STRIDES,
    "bernoulli": "vmap needs randomness='different'", "poisson": "vmap needs randomness='different'",
    "_standard_gamma": "vmap needs randomness='different'", "_sample_dirichlet": "vmap needs randomness='different'",
    "binomial": _DRAWN, "multinomial": _DRAWN, "normal": _DRAWN,
    "detach": _CUT, "detach_copy": _CUT,
    "full_like": _CONSTANT, "ones_like": _CONSTANT, "zeros_like": _CONSTANT,
    "geqrf": "no derivative, as in torch; linalg.qr has one",
    "linalg.ldl_factor": "no derivative, as in torch", "linalg.ldl_factor_ex": "no derivative, as in torch",
    "linalg.ldl_solve": "no derivative, as in torch",
}  # fmt: skip
