"""`python -m benchmarks.functions`: every function on 10^5 elements, forward and backward, beside torch on one thread.

Prints the functions by how many times the time of torch adjoint takes, the slowest first. Those above --limit are
explained in NOTES.md. Matrices of linear algebra have 16 x 16 elements, 390 of them; images 8 x 8 x 40 x 39.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # before the libraries are loaded

import argparse  # noqa: E402
import gc  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from types import ModuleType  # noqa: E402
from typing import Any, NamedTuple  # noqa: E402

import numpy as np  # noqa: E402

N = 100_000
SIDE = (400, 250)
IMAGE = (8, 8, 40, 39)
MATRICES = (390, 16, 16)


class Array(NamedTuple):
    """An argument to be made a tensor, with a gradient unless it is constant."""

    values: np.ndarray[Any, Any]
    constant: bool = False


def draw(*shape: int, lo: float = -1.0, hi: float = 1.0) -> Array:
    return Array(RNG.uniform(lo, hi, shape))


def whole(*shape: int, n: int) -> Array:
    return Array(RNG.integers(0, n, shape), constant=True)


RNG = np.random.default_rng(0)


def cases() -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Names and arguments."""
    for form, names in FORMS.items():
        for name in names.split():
            yield name, ARGUMENTS[form]()


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
}

FORMS = {
    "any": (
        "abs neg sin cos exp exp2 expm1 sigmoid tanh square sinh cosh tan atan asinh erf erfc sign floor ceil round "
        "trunc frac sgn sinc deg2rad rad2deg nan_to_num i0 special.i0e special.i1 special.i1e special.erfcx "
        "special.log_ndtr special.ndtr isnan isfinite logical_not clone sum mean prod max min amax amin std var "
        "logcumsumexp_ norm median unique sort argsort argmax msort diff trapezoid nansum nanmean "
        "nn.functional.relu nn.functional.gelu nn.functional.silu nn.functional.elu nn.functional.celu "
        "nn.functional.selu nn.functional.softplus nn.functional.mish nn.functional.hardswish "
        "nn.functional.hardsigmoid nn.functional.hardtanh nn.functional.leaky_relu nn.functional.logsigmoid "
        "nn.functional.relu6 nn.functional.softsign nn.functional.tanhshrink nn.functional.hardshrink "
        "nn.functional.softshrink nn.functional.glu nn.functional.dropout"
    ),
    "positive": "log log2 log10 log1p sqrt rsqrt reciprocal digamma lgamma special.entr",
    "small": "acos asin atanh erfinv",
    "unit": "logit special.ndtri",
    "above one": "acosh",
    "pair": (
        "add sub mul div atan2 maximum minimum fmax fmin fmod remainder copysign hypot logaddexp logaddexp2 eq lt "
        "true_divide floor_divide heaviside nextafter dist nn.functional.mse_loss nn.functional.l1_loss "
        "nn.functional.smooth_l1_loss nn.functional.huber_loss nn.functional.soft_margin_loss isclose"
    ),
    "pair, first positive": "pow float_power xlogy special.xlog1py nn.functional.poisson_nll_loss",
    "constant and positive": "igamma igammac special.zeta",
    "degree": (
        "special.chebyshev_polynomial_t special.hermite_polynomial_h special.laguerre_polynomial_l "
        "special.legendre_polynomial_p"
    ),
    "three": "addcmul addcdiv lerp",
    "rows": (
        "sum mean prod amax amin max min std var std_mean var_mean cumsum cumprod cummax cummin logcumsumexp logsumexp "
        "softmax log_softmax argmax argmin sort argsort median nanmedian mode unbind squeeze unsqueeze nansum "
        "count_nonzero all any"
    ),
    "columns": "sum amax max std cumsum cumprod cummax logcumsumexp logsumexp softmax log_softmax sort",
    "plane": (
        "t tril triu diagonal flatten trace cov corrcoef rot90 fliplr flipud cumulative_trapezoid trapezoid gradient "
        "aminmax linalg.vector_norm linalg.matrix_norm nn.functional.normalize nonzero"
    ),
    "two planes": (
        "nn.functional.kl_div nn.functional.binary_cross_entropy_with_logits nn.functional.cosine_similarity "
        "nn.functional.pairwise_distance linalg.vecdot"
    ),
    "list": "cat stack hstack vstack",
    "pieces": "chunk split tensor_split",
    "matmul": "matmul mm",
    "vectors": "dot vdot inner",
    "points": "cdist",
    "matrices": (
        "linalg.inv linalg.det linalg.slogdet linalg.svd linalg.svdvals linalg.qr linalg.pinv linalg.matrix_exp "
        "linalg.lu linalg.matrix_norm linalg.eigvals linalg.cond"
    ),
    "symmetric": "linalg.cholesky linalg.eigh linalg.eigvalsh logdet",
    "solve": "linalg.solve",
    "image": "nn.functional.instance_norm",
    "image, 2": (
        "nn.functional.avg_pool2d nn.functional.max_pool2d nn.functional.adaptive_avg_pool2d nn.functional.unfold "
        "nn.functional.pixel_shuffle nn.functional.local_response_norm"
    ),
    "logits": "nn.functional.cross_entropy nn.functional.nll_loss nn.functional.multi_margin_loss",
    "rows of three": "nn.functional.triplet_margin_loss",
    "two of three": "cross linalg.cross",
    "gather": "gather",
    "select": "index_select",
    "take": "take",
    "scatter": "scatter_add scatter",
    "add slices": "index_add index_copy",
    "mask": "masked_select",
    "mask, number": "masked_fill",
    "signal": "fft.fft fft.rfft fft.ifft fft.fft2 fft.fftn fft.fftshift",
    "kth": "kthvalue topk",
    "quantile": "quantile nanquantile",
    "counts": "histc histogram",
    "integers": "bincount unique",
    "integer pair": "gcd lcm bitwise_and isin",
    "order": "polygamma",
    "repeat": "tile",
    "pad": "nn.functional.pad",
    "flip": "flip roll",
    "size": "nn.functional.interpolate",
    "renorm": "renorm",
    "layer": "nn.functional.layer_norm nn.functional.rms_norm",
    "group": "nn.functional.group_norm",
}


def definite() -> np.ndarray[Any, Any]:
    half = RNG.normal(size=MATRICES)
    return half @ np.swapaxes(half, -1, -2) + 4 * np.eye(16)


def step_of(library: ModuleType, name: str, arguments: tuple[Any, ...]) -> Callable[[], Any]:
    """One call with its backward pass, of one library."""
    leaves: list[Any] = []

    def tensor(value: Any) -> Any:
        if isinstance(value, list):
            return [tensor(member) for member in value]
        if not isinstance(value, Array):
            return value
        made = library.tensor(value.values)
        if not value.constant and value.values.dtype.kind == "f":
            leaves.append(made.requires_grad_())
        return made

    made = [tensor(argument) for argument in arguments]
    function: Any = library
    for part in name.split("."):
        function = getattr(function, part, None) or getattr(library.Tensor, part)
    ends = [y for y in flat(function(*made), library) if y.requires_grad]
    drivers = [library.ones_like(y) for y in ends]

    def step() -> None:
        found = function(*made)
        if drivers:
            ends = [y for y in flat(found, library) if y.requires_grad]
            library.autograd.grad(ends, leaves, drivers, allow_unused=True)

    return step


def flat(result: Any, library: ModuleType) -> list[Any]:
    if isinstance(result, library.Tensor):
        return [result]
    return [y for member in result for y in flat(member, library)] if isinstance(result, (tuple, list)) else []


def times(steps: list[Callable[[], Any]], rounds: int) -> list[float]:
    """The shortest time of each step in microseconds, taken in turn."""
    best = [float("inf")] * len(steps)
    for step in steps:
        step()
    gc.disable()
    for _ in range(rounds):
        for i, step in enumerate(steps):
            start = time.perf_counter()
            step()
            best[i] = min(best[i], time.perf_counter() - start)
    gc.enable()
    return [seconds * 1e6 for seconds in best]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.functions", description=__doc__)
    parser.add_argument("names", nargs="*", help="functions to time (default: all)")
    parser.add_argument("--rounds", type=int, default=15, help="runs of which the shortest counts")
    parser.add_argument("--limit", type=float, default=0.0, help="show ratios above this only")
    options = parser.parse_args()
    import torch

    import adjoint

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows = []
    for name, arguments in cases():
        if options.names and name not in options.names:
            continue
        try:
            ours, theirs = times([step_of(lib, name, arguments) for lib in (adjoint, torch)], options.rounds)
        except Exception as error:  # a function that one of the two refuses is reported, and the others timed
            print(f"{name}: {type(error).__name__}: {error}")
            continue
        rows.append((ours / theirs, name, ours, theirs, arguments))
    print(f"{'times torch':>11}  {'us':>8}  {'torch us':>8}  function")
    for ratio, name, ours, theirs, arguments in sorted(rows, key=lambda row: -row[0]):
        if ratio >= options.limit:
            shapes = ", ".join(map(shape_of, arguments))
            print(f"{ratio:11.2f}  {ours:8.0f}  {theirs:8.0f}  {name}({shapes})")
    slow = sum(row[0] > 2 for row in rows)
    print(f"{len(rows)} functions, {slow} of them more than twice the time of torch")


def shape_of(argument: Any) -> str:
    if isinstance(argument, list):
        return "[" + ", ".join(map(shape_of, argument)) + "]"
    return "x".join(map(str, argument.values.shape)) if isinstance(argument, Array) else repr(argument)


if __name__ == "__main__":
    main()
