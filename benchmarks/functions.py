"""`python -m benchmarks.functions`: every function on 10^5 elements, forward and backward, beside torch on one thread.

Prints the functions by the ratio of adjoint's and torch's times, the slowest first. NOTES.md explains ratios above
--limit. If torch has no derivative, only the call is timed. Times are processor times, which other programs disturb
less. In-place functions work on a copy of the leaf. In linear algebra there are 390 matrices of 16 x 16 elements.
Images have the shape 8 x 8 x 40 x 39.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # this must be set before the libraries are imported

import argparse  # noqa: E402
import gc  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable, Iterator, Sequence  # noqa: E402
from types import ModuleType  # noqa: E402
from typing import Any, NamedTuple  # noqa: E402

import numpy as np  # noqa: E402

#: The number of runs of a step on few elements. One run would be as short as reading the clock.
REPEATS = 20
#: True for tensors of single precision.
SINGLE = False
N = 100_000
SIDE = (400, 250)
IMAGE = (8, 8, 40, 39)
MATRICES = (390, 16, 16)


class Array(NamedTuple):
    """An argument that becomes a tensor, with a gradient if it is not constant."""

    values: np.ndarray[Any, Any]
    constant: bool = False

    def in_type(self) -> np.ndarray[Any, Any]:
        """The values, in single precision if SINGLE is set."""
        single = {"f": np.float32, "c": np.complex64}.get(self.values.dtype.kind) if SINGLE else None
        return self.values if single is None else self.values.astype(single)


def draw(*shape: int, lo: float = -1.0, hi: float = 1.0) -> Array:
    return Array(RNG.uniform(lo, hi, shape))


def whole(*shape: int, n: int) -> Array:
    return Array(RNG.integers(0, n, shape), constant=True)


RNG = np.random.default_rng(0)


def shrink(n: int) -> None:
    """Measure functions on arrays of n elements. Functions with arguments of other shapes are left out."""
    global N, SIDE
    N, SIDE = n, (max(1, n // 2), 2)
    for form in FORMS.keys() - SCALABLE:
        del FORMS[form]


def cases() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Names and arguments."""
    for form, names in FORMS.items():
        for name in names.split():
            yield name, ARGUMENTS[form]()


#: Kinds of arguments that `shrink` changes.
SCALABLE = frozenset((
    "any", "positive", "small", "unit", "above one", "pair", "pair, first positive", "constant and positive", "degree",
    "three", "rows", "columns", "plane", "two planes", "list", "vectors", "mask", "mask, number", "integers",
    "integer pair", "order", "flip", "number and any", "any and number", "bounds", "three, first a condition",
    "exponents", "complex", "complex plane", "model", "swapped",
))  # fmt: skip
ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "any": lambda: (draw(N),),
    "positive": lambda: (draw(N, lo=0.2, hi=3.0),),
    "small": lambda: (draw(N, lo=-0.9, hi=0.9),),
    "unit": lambda: (draw(N, lo=0.05, hi=0.95),),
    "above one": lambda: (draw(N, lo=1.1, hi=3.0),),
    "pair": lambda: (draw(N), draw(N, lo=0.5, hi=2.0)),
    "pair, first positive": lambda: (draw(N, lo=0.5, hi=2.0), draw(N, lo=0.5, hi=2.0)),
    "constant and positive": lambda: (Array(RNG.uniform(0.5, 3, N), True), draw(N, lo=0.5, hi=3.0)),
    "degree": lambda: (Array(RNG.uniform(0.1, 0.9, N), True), 5),
    "three": lambda: (draw(N), draw(N), draw(N, lo=0.5, hi=2.0)),
    "rows": lambda: (draw(*SIDE), 1),
    "columns": lambda: (draw(*SIDE), 0),
    "plane": lambda: (draw(*SIDE),),
    "two planes": lambda: (draw(*SIDE), draw(*SIDE, lo=0.1, hi=0.9)),
    "list": lambda: ([draw(*SIDE), draw(*SIDE)],),
    "pieces": lambda: (draw(*SIDE), 4),
    "matmul": lambda: (draw(*SIDE), draw(250, 300)),
    "vectors": lambda: (draw(N), draw(N)),
    "points": lambda: (draw(300, 8), draw(320, 8)),
    "matrices": lambda: (Array(RNG.normal(size=MATRICES) + 6 * np.eye(16)),),
    "symmetric": lambda: (Array(definite()),),
    "solve": lambda: (Array(RNG.normal(size=MATRICES) + 6 * np.eye(16)), draw(390, 16, 4)),
    "image": lambda: (draw(*IMAGE),),
    "image, 2": lambda: (draw(*IMAGE), 2),
    "logits": lambda: (draw(1000, 100), whole(1000, n=100)),
    "rows of three": lambda: (draw(1000, 100), draw(1000, 100), draw(1000, 100)),
    "two of three": lambda: (draw(N // 3, 3), draw(N // 3, 3)),
    "gather": lambda: (draw(*SIDE), 0, whole(*SIDE, n=400)),
    "select": lambda: (draw(*SIDE), 0, whole(400, n=400)),
    "take": lambda: (draw(*SIDE), whole(N, n=N)),
    "scatter": lambda: (draw(*SIDE), 0, whole(*SIDE, n=400), draw(*SIDE)),
    "add slices": lambda: (draw(*SIDE), 0, whole(400, n=400), draw(*SIDE)),
    "mask": lambda: (draw(*SIDE), Array(RNG.random(SIDE) < 0.5, True)),
    "mask, number": lambda: (draw(*SIDE), Array(RNG.random(SIDE) < 0.5, True), 2.0),
    "signal": lambda: (draw(400, 256),),
    "kth": lambda: (draw(*SIDE), 100, 1),
    "quantile": lambda: (draw(*SIDE), 0.3, 1),
    "counts": lambda: (Array(RNG.uniform(-1, 1, N), True), 50),
    "integers": lambda: (whole(N, n=50),),
    "integer pair": lambda: (whole(N, n=50), whole(N, n=50)),
    "order": lambda: (2, draw(N, lo=0.5, hi=3.0)),
    "repeat": lambda: (draw(*SIDE), (2, 2)),
    "pad": lambda: (draw(*IMAGE), (1, 2, 2, 1)),
    "flip": lambda: (draw(*SIDE), (0, 1)),
    "size": lambda: (draw(*IMAGE), (20, 19)),
    "renorm": lambda: (draw(*SIDE), 2, 0, 1.0),
    "layer": lambda: (draw(*SIDE), (250,)),
    "group": lambda: (draw(*IMAGE), 4),
    # arguments of single functions, by their name
    "number and any": lambda: (3.0, draw(N, lo=0.5, hi=2.0)),
    "any and number": lambda: (draw(N, lo=0.5, hi=2.0), 1.5),
    "bounds": lambda: (draw(N), -0.5, 0.5),
    "three, first a condition": lambda: (Array(RNG.random(N) < 0.5, True), draw(N), draw(N)),
    "exponents": lambda: (draw(N), whole(N, n=5)),
    "complex": lambda: (waves(N),),
    "complex plane": lambda: (waves(*SIDE),),
    "parts": lambda: (draw(N // 2, 2),),
    "wide": lambda: (draw(250), SIDE),
    "wide, model": lambda: (draw(250), Array(RNG.uniform(-1, 1, SIDE), True)),
    "model": lambda: (draw(*SIDE), Array(RNG.uniform(-1, 1, N), True)),
    "diagonal": lambda: (draw(316),),
    "pair of vectors": lambda: (draw(400), draw(250)),
    "swapped": lambda: (draw(*SIDE), 0, 1),
    "halves": lambda: (draw(*SIDE), 2),
    "constant": lambda: (Array(RNG.uniform(-0.9, 0.9, N), True),),
    "constant above one": lambda: (Array(RNG.uniform(1.1, 3, N), True),),
    "constant pair": lambda: (Array(RNG.uniform(-1, 1, N), True), Array(RNG.uniform(0.5, 2, N), True)),
    "two tensors": lambda: (draw(*SIDE), draw(250)),
    "shifted": lambda: (draw(*SIDE), 7, 1),
    "constant matrices": lambda: (Array(definite(), True),),
    "cubes": lambda: ([draw(*SIDE), draw(*SIDE)],),
    "planes": lambda: (draw(*SIDE),),
    "to three": lambda: (draw(*SIDE), 1, (25, 10)),
    "slices": lambda: (draw(*SIDE), 1, 50, 150),
    "shape": lambda: (draw(*SIDE), (250, 400)),
    "permuted": lambda: (draw(40, 50, 50), (2, 0, 1)),
    "three axes, 2": lambda: (draw(40, 50, 50), 2),
    "sizes": lambda: (draw(*SIDE), (100, 100, 200), 0),
    "unfolded": lambda: (draw(*SIDE), 1, 20, 10),
    "twice": lambda: (draw(*SIDE), 2, 1),
    "strides": lambda: (draw(N), SIDE, (250, 1)),
    "strides, source": lambda: (draw(2 * N), draw(*SIDE), SIDE, (250, 1)),
    "short": lambda: (draw(400), 2),
    "three vectors": lambda: (draw(46), draw(46), draw(46)),
    "summed": lambda: (draw(*SIDE), (1, 250)),
    "places": lambda: (draw(*SIDE), (whole(N, n=400), whole(N, n=250))),
    "put": lambda: (draw(*SIDE), (whole(N, n=400), whole(N, n=250)), draw(N), True),
    "put flat": lambda: (draw(*SIDE), whole(N, n=N), draw(N), True),
    "along": lambda: (draw(*SIDE), whole(*SIDE, n=250), 1),
    "one place": lambda: (draw(*SIDE), 0, 7),
    "onto diagonal": lambda: (draw(316, 316), draw(316)),
    "onto a row": lambda: (draw(*SIDE), draw(250), 0, 7),
    "onto a slice": lambda: (draw(*SIDE), draw(100, 250), 0, 50, 150),
    "fill slices": lambda: (draw(*SIDE), 0, whole(400, n=400), 2.0),
    "scatter sums": lambda: (draw(*SIDE), 0, whole(*SIDE, n=400), draw(*SIDE), "sum"),
    "reduce slices": lambda: (draw(*SIDE), 0, whole(400, n=400), draw(*SIDE), "amax"),
    "mask, source": lambda: (draw(*SIDE), Array(RNG.random(SIDE) < 0.5, True), draw(*SIDE)),
    "added product": lambda: (draw(400, 300), draw(*SIDE), draw(250, 300)),
    "added products": lambda: (draw(16, 80, 80), draw(16, 80, 78), draw(16, 78, 80)),
    "sum of products": lambda: (draw(80, 80), draw(16, 80, 78), draw(16, 78, 80)),
    "products": lambda: (draw(16, 80, 78), draw(16, 78, 80)),
    "added vector": lambda: (draw(400), draw(*SIDE), draw(250)),
    "matrix, vector": lambda: (draw(*SIDE), draw(250)),
    "added outer": lambda: (draw(*SIDE), draw(400), draw(250)),
    "kron": lambda: (draw(20, 20), draw(16, 16)),
    "einsum": lambda: ("bij,bjk->bik", draw(16, 80, 78), draw(16, 78, 80)),
    "contraction": lambda: (draw(20, 50, 100), draw(50, 100, 30), 2),
    "chain": lambda: ([draw(*SIDE), draw(250, 300), draw(300, 50)],),
    "batch": lambda: (draw(*IMAGE), None, None, draw(8), draw(8), True),
    "batch of rows": lambda: (draw(1000, 100), None, None, draw(100), draw(100), True),
    "chances": lambda: (draw(N, lo=0.05, hi=0.95), Array(RNG.random(N), True)),
    "signals, kernel": lambda: (draw(16, 8, 780), draw(8, 8, 5), draw(8)),
    "image, kernel": lambda: (draw(*IMAGE), draw(8, 8, 3, 3), draw(8)),
    "volume, kernel": lambda: (draw(4, 4, 20, 18, 18), draw(4, 4, 3, 3, 3), draw(4)),
    "table": lambda: (whole(1560, n=1000), draw(1000, 64)),
    "bags": lambda: (whole(156, 10, n=1000), draw(1000, 64)),
    "linear": lambda: (draw(*SIDE), draw(300, 250), draw(300)),
    "attention": lambda: tuple([draw(2, 4, 200, 64) for _ in range(3)]),
    "classes": lambda: (whole(1000, n=100), 100),
    "signals, 2": lambda: (draw(16, 8, 780), 2),
    "volume, 2": lambda: (draw(4, 4, 20, 18, 18), 2),
    "volume": lambda: (draw(4, 4, 20, 18, 18), 0.3),
    "signs of rows": lambda: (draw(1000, 100), draw(1000, 100), signs(1000)),
    "ranks": lambda: (draw(N), draw(N), signs(N)),
    "signs": lambda: (draw(N), signs(N)),
    "likelihood": lambda: (draw(N), Array(RNG.uniform(-1, 1, N), True), draw(N, lo=0.5, hi=2.0)),
    "speech": lambda: (
        draw(100, 20, 50),
        whole(20, n=49),
        Array(np.full(20, 100), True),
        Array(np.full(20, 1), True),
        49,
    ),
    "sampling grid": lambda: (draw(*IMAGE), draw(8, 40, 39, 2)),
    "slopes": lambda: (draw(*IMAGE), draw(8)),
    "groups": lambda: (draw(*IMAGE), 2),
    "shuffled": lambda: (draw(8, 8, 40, 40), 2),
    "bilinear": lambda: (draw(400, 25), draw(400, 20), draw(10, 25, 20)),
    "maxima": lambda: (draw(8, 8, 20, 20), Array(first_places(), True), 2),
    "labels": lambda: (draw(1000, 100), Array(RNG.integers(0, 2, (1000, 100)).astype(float), True)),
    "label lists": lambda: (draw(1000, 100), whole(1000, 100, n=100)),
    "rows of points": lambda: (draw(400, 8),),
    "cut": lambda: (draw(N), 0.1, 2.0),
    "right sides": lambda: (draw(390, 16, 4), Array(definite())),
    "triangular": lambda: (triangular(), draw(390, 16, 4), {"upper": False}),
    "least squares": lambda: (draw(390, 16, 8), draw(390, 16, 4)),
    "matrices, 5": lambda: (Array(RNG.normal(size=MATRICES) * 0.3), 5),
    "reflectors": lambda: (draw(390, 16, 8), draw(390, 8)),
    "tensor equation": lambda: (Array(RNG.normal(size=(320, 16, 20)) + np.eye(320).reshape(320, 16, 20)), draw(320)),
    "tensor": lambda: (Array(RNG.normal(size=(320, 16, 20)) + np.eye(320).reshape(320, 16, 20)), 1),
    "vander": lambda: (draw(*SIDE), {"N": 5}),
    "half spectrum": lambda: (waves(400, 129),),
    "short time": lambda: (draw(8, 12500), 256, {"return_complex": True}),
    "orders": lambda: (draw(N, lo=3, hi=5), 3),
    "buckets": lambda: (Array(RNG.uniform(-1, 1, N), True), Array(np.linspace(-1, 1, 100), True)),
    "search": lambda: (Array(np.linspace(-1, 1, 100), True), Array(RNG.uniform(-1, 1, N), True)),
    "runs": lambda: (Array(np.sort(RNG.integers(0, 500, N)), True),),
    "bits": lambda: (whole(N, n=50), whole(N, n=4)),
    "points, bins": lambda: (Array(RNG.uniform(-1, 1, (N // 2, 2)), True), [10, 10]),
    "flat places": lambda: (whole(N, n=N), SIDE),
    "masked rows": lambda: (draw(*SIDE), 1, {"mask": Array(RNG.random(SIDE) < 0.5, True)}),
    "masked norms": lambda: (draw(*SIDE), 2.0, 1, {"mask": Array(RNG.random(SIDE) < 0.5, True)}),
    "masked pair": lambda: (draw(*SIDE), draw(*SIDE), {"input_mask": truths(), "other_mask": truths()}),
}

FORMS = {
    "any": (
        "abs neg sin cos exp exp2 expm1 sigmoid tanh square sinh cosh tan atan asinh erf erfc sign floor ceil round "
        "trunc frac sgn sinc deg2rad rad2deg nan_to_num i0 special.i0e special.i1 special.i1e special.erfcx "
        "special.log_ndtr special.ndtr isnan isfinite logical_not clone sum mean prod max min amax amin std var norm "
        "median sort argsort argmax msort diff trapezoid nansum nanmean nn.functional.relu nn.functional.gelu "
        "nn.functional.silu nn.functional.elu nn.functional.celu nn.functional.selu nn.functional.softplus "
        "nn.functional.mish nn.functional.hardswish nn.functional.hardsigmoid nn.functional.hardtanh "
        "nn.functional.leaky_relu nn.functional.logsigmoid nn.functional.relu6 nn.functional.softsign "
        "nn.functional.tanhshrink nn.functional.hardshrink nn.functional.softshrink nn.functional.glu "
        "nn.functional.dropout positive erfc signbit isinf isneginf isposinf isreal contiguous alias_copy ravel "
        "atleast_1d atleast_2d atleast_3d double float long int bool byte char short cdouble cfloat trapz argwhere "
        "special.airy_ai special.bessel_j0 special.bessel_j1 special.spherical_bessel_j0 special.modified_bessel_i0 "
        "special.modified_bessel_i1 nn.functional.rrelu nn.functional.alpha_dropout abs_ ceil_ cos_ cosh_ erf_ erfc_ "
        "exp_ exp2_ expm1_ floor_ frac_ neg_ round_ sigmoid_ sign_ sgn_ sin_ sinh_ square_ tan_ tanh_ trunc_ atan_ "
        "deg2rad_ rad2deg_ i0_ sinc_ nan_to_num_ zero_ logical_not_ conj_physical_ nn.functional.dropout_ "
        "nn.functional.elu_ nn.functional.leaky_relu_ nn.functional.silu_ nn.functional.celu_ "
        "nn.functional.hardsigmoid_ nn.functional.mish_ nn.functional.selu_ nn.functional.rrelu_ nn.functional.relu_ "
        "nn.functional.hardtanh_ nn.functional.hardswish_ frexp"
    ),
    "positive": (
        "log log2 log10 log1p sqrt rsqrt reciprocal digamma lgamma special.entr special.bessel_y0 special.bessel_y1 "
        "special.modified_bessel_k0 special.modified_bessel_k1 special.scaled_modified_bessel_k0 "
        "special.scaled_modified_bessel_k1 log_ log2_ log10_ log1p_ sqrt_ rsqrt_ reciprocal_ digamma_ lgamma_"
    ),
    "small": "acos asin atanh erfinv acos_ asin_ erfinv_",
    "unit": "logit special.ndtri logit_",
    "above one": "acosh",
    "pair": (
        "add sub mul div atan2 maximum minimum fmax fmin fmod remainder copysign hypot logaddexp logaddexp2 eq lt "
        "true_divide nextafter dist nn.functional.mse_loss nn.functional.l1_loss nn.functional.smooth_l1_loss "
        "nn.functional.huber_loss isclose polar complex ge gt le ne allclose equal logical_and logical_or logical_xor "
        "add_ sub_ mul_ div_ atan2_ copysign_ fmod_ hypot_ remainder_ true_divide_ eq_ ge_ gt_ le_ lt_ ne_ "
        "logical_and_ logical_or_ logical_xor_ nextafter_"
    ),
    "pair, first positive": (
        "pow float_power xlogy special.xlog1py nn.functional.poisson_nll_loss pow_ float_power_ xlogy_"
    ),
    "constant and positive": "igamma igammac special.zeta",
    "degree": (
        "special.chebyshev_polynomial_t special.hermite_polynomial_h special.laguerre_polynomial_l "
        "special.legendre_polynomial_p special.chebyshev_polynomial_u special.chebyshev_polynomial_v "
        "special.chebyshev_polynomial_w special.hermite_polynomial_he special.shifted_chebyshev_polynomial_t "
        "special.shifted_chebyshev_polynomial_u special.shifted_chebyshev_polynomial_v "
        "special.shifted_chebyshev_polynomial_w"
    ),
    "three": "addcmul addcdiv lerp addcmul_ addcdiv_ lerp_",
    "rows": (
        "sum mean prod amax amin max min std var std_mean var_mean cumsum cumprod cummax cummin logcumsumexp "
        "logsumexp softmax log_softmax argmax argmin sort argsort median nanmedian mode unbind squeeze unsqueeze "
        "nansum count_nonzero all any nn.functional.softmin cumsum_ cumprod_ squeeze_copy unbind_copy unsqueeze_copy"
    ),
    "columns": "sum amax max std cumsum cumprod cummax logcumsumexp logsumexp softmax log_softmax sort",
    "plane": (
        "t tril triu diagonal flatten trace cov corrcoef rot90 fliplr flipud cumulative_trapezoid trapezoid gradient "
        "aminmax linalg.vector_norm linalg.matrix_norm nn.functional.normalize nonzero T mT linalg.norm "
        "linalg.diagonal block_diag diagonal_copy t_copy tril_ triu_ t_ linalg.matrix_rank svd qr pinverse "
        "fft.ifftshift"
    ),
    "two planes": (
        "nn.functional.kl_div nn.functional.binary_cross_entropy_with_logits nn.functional.cosine_similarity "
        "nn.functional.pairwise_distance linalg.vecdot"
    ),
    "list": "cat stack hstack vstack column_stack",
    "pieces": "chunk split tensor_split",
    "matmul": "matmul mm",
    "vectors": "dot vdot inner",
    "points": "cdist",
    "matrices": (
        "linalg.inv linalg.det linalg.slogdet linalg.svd linalg.svdvals linalg.qr linalg.pinv linalg.matrix_exp "
        "linalg.lu linalg.matrix_norm linalg.eigvals linalg.cond linalg.lu_factor linalg.inv_ex matrix_exp lu "
        "linalg.lu_factor_ex"
    ),
    "symmetric": "linalg.cholesky linalg.eigh linalg.eigvalsh logdet linalg.cholesky_ex cholesky_inverse cholesky",
    "solve": "linalg.solve linalg.solve_ex",
    "image": "nn.functional.instance_norm",
    "image, 2": (
        "nn.functional.avg_pool2d nn.functional.max_pool2d nn.functional.adaptive_avg_pool2d nn.functional.unfold "
        "nn.functional.pixel_shuffle nn.functional.local_response_norm nn.functional.adaptive_max_pool2d"
    ),
    "logits": "nn.functional.cross_entropy nn.functional.nll_loss nn.functional.multi_margin_loss",
    "rows of three": "nn.functional.triplet_margin_loss nn.functional.triplet_margin_with_distance_loss",
    "two of three": "cross linalg.cross",
    "gather": "gather",
    "select": "index_select",
    "take": "take",
    "scatter": "scatter_add scatter scatter_add_ scatter_",
    "add slices": "index_add index_copy index_add_ index_copy_",
    "mask": "masked_select",
    "mask, number": "masked_fill masked_fill_",
    "signal": (
        "fft.fft fft.rfft fft.ifft fft.fft2 fft.fftn fft.fftshift fft.ifft2 fft.ifftn fft.ihfft fft.rfft2 fft.rfftn "
        "fft.ihfftn"
    ),
    "kth": "kthvalue topk",
    "quantile": "quantile nanquantile",
    "counts": "histc histogram",
    "integers": "bincount unique bitwise_not bitwise_not_",
    "integer pair": "gcd lcm bitwise_and isin gcd_ lcm_ bitwise_and_ bitwise_or_ bitwise_xor_",
    "order": "polygamma",
    "repeat": "tile repeat",
    "pad": "nn.functional.pad constant_pad_nd",
    "flip": "flip",
    "size": "nn.functional.interpolate",
    "renorm": "renorm renorm_",
    "layer": "nn.functional.layer_norm nn.functional.rms_norm",
    "group": "nn.functional.group_norm",
    "number and any": "pow sub",
    "any and number": (
        "clamp_max clamp_min add sub rsub mul div pow remainder fmod __radd__ __rsub__ __rmul__ __rdiv__ __rpow__"
    ),
    "bounds": "clamp",
    "three, first a condition": "where",
    "exponents": "ldexp",
    "complex": "angle abs conj imag real conj_physical resolve_conj resolve_neg view_as_real sgn exp",
    "complex plane": "H mH fft.hfft2 fft.hfftn",
    "parts": "view_as_complex",
    "wide": "broadcast_to expand",
    "wide, model": "expand_as",
    "model": "view_as reshape_as",
    "diagonal": "diag diag_embed diagflat",
    "pair of vectors": "outer meshgrid",
    "swapped": "transpose movedim transpose_copy",
    "halves": "hsplit vsplit",
    "to three": "unflatten",
    "slices": "narrow narrow_copy",
    "shape": "reshape view view_copy",
    "permuted": "permute permute_copy",
    "three axes, 2": "dsplit",
    "sizes": "split_with_sizes split_with_sizes_copy",
    "unfolded": "unfold unfold_copy",
    "twice": "repeat_interleave unsafe_chunk",
    "strides": "as_strided as_strided_copy",
    "strides, source": "as_strided_scatter",
    "short": "combinations",
    "three vectors": "cartesian_prod",
    "summed": "sum_to_size",
    "places": "__getitem__",
    "put": "index_put index_put_",
    "put flat": "put put_",
    "along": "take_along_dim",
    "one place": "select",
    "onto diagonal": "diagonal_scatter",
    "onto a row": "select_scatter",
    "onto a slice": "slice_scatter",
    "fill slices": "index_fill index_fill_",
    "scatter sums": "scatter_reduce scatter_reduce_",
    "reduce slices": "index_reduce index_reduce_",
    "mask, source": "masked_scatter masked_scatter_",
    "added product": "addmm addmm_",
    "added products": "baddbmm baddbmm_",
    "sum of products": "addbmm addbmm_",
    "products": "bmm __rmatmul__",
    "added vector": "addmv addmv_",
    "matrix, vector": "mv",
    "added outer": "addr addr_",
    "kron": "kron",
    "einsum": "einsum",
    "contraction": "tensordot",
    "chain": "linalg.multi_dot",
    "batch": "nn.functional.batch_norm",
    "batch of rows": "nn.functional.batch_norm",
    "chances": "nn.functional.binary_cross_entropy",
    "signals, kernel": "nn.functional.conv1d nn.functional.conv_transpose1d",
    "image, kernel": "nn.functional.conv2d nn.functional.conv_transpose2d",
    "volume, kernel": "nn.functional.conv3d nn.functional.conv_transpose3d",
    "table": "nn.functional.embedding",
    "bags": "nn.functional.embedding_bag",
    "linear": "nn.functional.linear",
    "attention": "nn.functional.scaled_dot_product_attention",
    "classes": "nn.functional.one_hot",
    "signals, 2": (
        "nn.functional.max_pool1d nn.functional.avg_pool1d nn.functional.adaptive_avg_pool1d "
        "nn.functional.adaptive_max_pool1d"
    ),
    "volume, 2": (
        "nn.functional.max_pool3d nn.functional.avg_pool3d nn.functional.adaptive_avg_pool3d "
        "nn.functional.adaptive_max_pool3d"
    ),
    "volume": "nn.functional.dropout3d",
    "signs of rows": "nn.functional.cosine_embedding_loss",
    "ranks": "nn.functional.margin_ranking_loss",
    "signs": "nn.functional.soft_margin_loss nn.functional.hinge_embedding_loss",
    "likelihood": "nn.functional.gaussian_nll_loss",
    "speech": "nn.functional.ctc_loss",
    "sampling grid": "nn.functional.grid_sample",
    "slopes": "nn.functional.prelu",
    "groups": "nn.functional.channel_shuffle nn.functional.upsample_bilinear nn.functional.upsample_nearest",
    "shuffled": "nn.functional.pixel_unshuffle",
    "bilinear": "nn.functional.bilinear",
    "maxima": "nn.functional.max_unpool2d",
    "labels": "nn.functional.multilabel_soft_margin_loss",
    "label lists": "nn.functional.multilabel_margin_loss",
    "rows of points": "nn.functional.pdist",
    "cut": "nn.functional.threshold nn.functional.threshold_",
    "right sides": "cholesky_solve",
    "triangular": "linalg.solve_triangular",
    "least squares": "linalg.lstsq",
    "matrices, 5": "linalg.matrix_power",
    "reflectors": "linalg.householder_product",
    "tensor equation": "linalg.tensorsolve",
    "tensor": "linalg.tensorinv",
    "vander": "linalg.vander",
    "half spectrum": "fft.irfft fft.irfft2 fft.irfftn fft.hfft",
    "short time": "stft",
    "orders": "mvlgamma",
    "buckets": "bucketize",
    "search": "searchsorted",
    "runs": "unique_consecutive",
    "bits": "bitwise_left_shift bitwise_right_shift bitwise_or bitwise_xor __rand__ __ror__ __rxor__",
    "points, bins": "histogramdd",
    "flat places": "unravel_index",
    "masked rows": (
        "masked.amax masked.amin masked.argmax masked.argmin masked.cumprod masked.cumsum masked.log_softmax "
        "masked.logsumexp masked.mean masked.median masked.prod masked.softmax masked.softmin masked.sum"
    ),
    "masked norms": "masked.norm masked.normalize",
    "masked pair": "masked.logaddexp",
    "constant": "asinh_ atanh_",
    "constant above one": "acosh_",
    "constant pair": "floor_divide floor_divide_ heaviside heaviside_ remainder",
    "two tensors": "broadcast_tensors mul",
    "shifted": "roll",
    "constant matrices": "linalg.ldl_factor linalg.ldl_factor_ex geqrf",
    "cubes": "dstack",
    "planes": "fft.ihfft2 fft.ihfftn",
}


def definite() -> np.ndarray[Any, Any]:
    half = RNG.normal(size=MATRICES)
    return half @ np.swapaxes(half, -1, -2) + 4 * np.eye(16)


def waves(*shape: int) -> Array:
    return Array(RNG.uniform(-1, 1, shape) + 1j * RNG.uniform(-1, 1, shape))


def truths() -> Array:
    return Array(RNG.random(SIDE) < 0.5, True)


def signs(*shape: int) -> Array:
    return Array(RNG.choice([-1.0, 1.0], shape), True)


def first_places() -> np.ndarray[Any, Any]:
    """The position of the first element of each 2 x 2 window in images of 40 x 40."""
    rows, columns = np.meshgrid(np.arange(0, 40, 2), np.arange(0, 40, 2), indexing="ij")
    return np.broadcast_to(rows * 40 + columns, (8, 8, 20, 20)).copy()


def triangular() -> Array:
    return Array(np.tril(RNG.normal(size=MATRICES)) + 6 * np.eye(16))


class Step(NamedTuple):
    """One call of one library, and its backward pass if `drivers` is not empty."""

    call: Callable[[], Any]
    library: ModuleType
    leaves: list[Any]
    drivers: list[Any]

    def __call__(self) -> None:
        results = self.call()
        if self.drivers:
            ends = [y for y in flat(results, self.library) if y.requires_grad]
            self.library.autograd.grad(ends, self.leaves, self.drivers, allow_unused=True)


def step_of(library: ModuleType, name: str, arguments: tuple[Any, ...]) -> Step:
    """The step of a function."""
    leaves: list[Any] = []

    def tensor(value: Any) -> Any:
        if isinstance(value, (list, tuple)) and not isinstance(value, Array):
            return type(value)([tensor(member) for member in value])
        if isinstance(value, dict):
            return {name: tensor(member) for name, member in value.items()}
        if not isinstance(value, Array):
            return value
        leaf = library.tensor(value.in_type())
        if not value.constant and value.values.dtype.kind in "fc":
            leaves.append(leaf.requires_grad_())
        return leaf

    tensors = [tensor(argument) for argument in arguments]
    keywords = tensors.pop() if isinstance(tensors[-1], dict) else {}
    in_place = name.endswith("_") and not name.endswith("__")
    if in_place and name.startswith("nn.functional."):
        name, keywords = name[:-1], {**keywords, "inplace": True}
    function = find(library, name)

    def call() -> Any:
        # both libraries modify a copy, since a leaf must not be modified
        return function(tensors[0].clone(), *tensors[1:], **keywords) if in_place else function(*tensors, **keywords)

    drivers = [library.ones_like(y) for y in flat(call(), library) if y.requires_grad]
    return Step(call, library, leaves, drivers)


def steps_of(libraries: Sequence[ModuleType], name: str, arguments: tuple[Any, ...]) -> list[Step]:
    """The steps of several libraries, without backward passes if one of them has no derivative."""
    steps = [step_of(library, name, arguments) for library in libraries]
    return steps if all(step.drivers for step in steps) else [step._replace(drivers=[]) for step in steps]


def find(library: ModuleType, name: str) -> Any:
    """The function of a name, or a method, or an attribute as a function of the tensor."""
    function: Any = library
    for part in name.split("."):
        function = getattr(function, part, None) or getattr(library.Tensor, part)
    return function if callable(function) else lambda tensor: getattr(tensor, name)


def flat(result: Any, library: ModuleType) -> list[Any]:
    if isinstance(result, library.Tensor):
        return [result]
    return [y for member in result for y in flat(member, library)] if isinstance(result, (tuple, list)) else []


def times(steps: Sequence[Callable[[], Any]], rounds: int, repeats: int = 1) -> list[float]:
    """The shortest processor time of each step in microseconds. The steps take turns, and each runs `repeats` times."""
    best = [float("inf")] * len(steps)
    for step in steps:
        step()
    gc.disable()
    for _ in range(rounds):
        for i, step in enumerate(steps):
            start = time.thread_time()
            for _ in range(repeats):
                step()
            best[i] = min(best[i], (time.thread_time() - start) / repeats)
    gc.enable()
    return [seconds * 1e6 for seconds in best]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.functions", description=__doc__)
    parser.add_argument("names", nargs="*", help="functions to time (default: all)")
    parser.add_argument("--rounds", type=int, default=15, help="runs of which the shortest counts")
    parser.add_argument(
        "--elements", type=int, help="so many elements in place of 10^5; functions of simple shapes only"
    )
    parser.add_argument("--single", action="store_true", help="in single precision, not double")
    parser.add_argument("--limit", type=float, default=0.0, help="show ratios above this only")
    options = parser.parse_args()
    import torch

    import adjoint

    if options.elements:
        shrink(options.elements)
    global SINGLE
    SINGLE = options.single
    for library in (adjoint, torch):
        library.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows = []
    for name, arguments in cases():
        if options.names and name not in options.names:
            continue
        try:
            ours, theirs = times(
                steps_of((adjoint, torch), name, arguments), options.rounds, REPEATS if options.elements else 1
            )
        except Exception as error:  # report a function that one library refuses, and measure the others
            print(f"{name}: {type(error).__name__}: {error}")
            continue
        rows.append((ours / theirs, name, ours, theirs, arguments))
    print(f"{'times torch':>11}  {'us':>8}  {'torch us':>8}  function")
    for ratio, name, ours, theirs, arguments in sorted(rows, key=lambda row: -row[0]):
        if ratio >= options.limit:
            shapes = ", ".join(map(shape_of, arguments))
            print(f"{ratio:11.2f}  {ours:8.1f}  {theirs:8.1f}  {name}({shapes})")
    above = ", ".join(f"{sum(row[0] > limit for row in rows)} above {limit:g}" for limit in (1, 1.5, 2))
    print(f"{len(rows)} functions; times the time of torch: {above}")


def shape_of(argument: Any) -> str:
    if isinstance(argument, list):
        return "[" + ", ".join(map(shape_of, argument)) + "]"
    if isinstance(argument, Array):
        return "x".join(map(str, argument.values.shape))
    if isinstance(argument, tuple):
        return "(" + ", ".join(map(shape_of, argument)) + ")"
    if isinstance(argument, dict):
        return ", ".join(f"{name}={shape_of(value)}" for name, value in argument.items())
    return repr(argument)


if __name__ == "__main__":
    main()
