"""Write docs/scipy-coverage.md, the functions of SciPy in its array API mode that give Tensors with right gradients.

The script calls each function on arrays and on Tensors. A function counts if its values agree, and if its gradient
agrees with central differences. Other functions raise an error, which is on the page.

    python scripts/generate_scipy_coverage.py
"""

from __future__ import annotations

import os

os.environ["SCIPY_ARRAY_API"] = "1"

import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import scipy.interpolate
from scipy import constants, differentiate, fft, integrate, optimize, signal, special, stats
from scipy.spatial.transform import Rotation

import adjoint
from adjoint.interop import scipy_functions
from adjoint.interop.numpy_functions import FUNCTIONS
from adjoint.interop.scipy_functions.active_sets import linear_problems
from adjoint.interop.scipy_functions.distributions.tables.rows import ROWS
from adjoint.interop.scipy_functions.distributions.univariate import Univariate
from adjoint.interop.scipy_functions.functions_of_functions import REFINEMENTS, integrals
from adjoint.interop.scipy_functions.interpolation.face import functions as interpolated
from adjoint.interop.scipy_functions.least_squares import fits
from adjoint.interop.scipy_functions.special_refusals import REASONS

TARGET = Path(__file__).parents[1] / "docs/scipy-coverage.md"
Call = Callable[..., Any]

_RNG = np.random.default_rng(0)
UNIT = _RNG.uniform(0.2, 0.9, 6)
OTHER = _RNG.uniform(0.2, 0.9, 6)
SERIES = _RNG.normal(size=20)
POSITIVE = np.abs(SERIES) + 0.1
MATRIX = _RNG.normal(size=(4, 4))
VECTORS = _RNG.normal(size=(8, 3))
ANGLES = np.array([0.1, 0.2, 0.3])

#: The calls and their arguments, by package and name.
CASES: dict[str, tuple[Call, tuple[np.ndarray, ...]]] = {
    **{f"fft.{name}": (getattr(fft, name), (UNIT,)) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{
        f"fft.{name}": (getattr(fft, name), (MATRIX,))
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "hfft2", "fftn", "ifftn", "rfftn", "irfftn", "hfftn",
                     "fftshift", "ifftshift")
    },
    "fft.fht": (lambda a: fft.fht(a, 0.1, 0.5), (UNIT,)),
    "fft.dct": (fft.dct, (UNIT,)),
    "fft.dst": (fft.dst, (UNIT,)),
    "special.logsumexp": (lambda a: special.logsumexp(a, axis=1), (MATRIX,)),
    "special.softmax": (lambda a: special.softmax(a, axis=1), (MATRIX,)),
    "special.log_softmax": (lambda a: special.log_softmax(a, axis=1), (MATRIX,)),
    **{f"special.{name}": (getattr(special, name), (UNIT,)) for name in (
        "entr", "erf", "erfc", "expit", "gammaln", "i0", "i0e", "i1", "i1e", "log_ndtr", "logit", "ndtr", "ndtri", "j0",
        "j1", "exp10", "sinc")},
    **{f"special.{name}": (getattr(special, name), (UNIT, OTHER)) for name in (
        "rel_entr", "xlogy", "xlog1py", "betaln", "kl_div", "poch")},
    "special.gammainc": (lambda x: special.gammainc(2.5, x), (UNIT,)),
    "special.gammaincc": (lambda x: special.gammaincc(2.5, x), (UNIT,)),
    "special.multigammaln": (lambda a: special.multigammaln(a, 2), (UNIT + 3,)),
    **{
        f"stats.{name}": (getattr(stats, name), (POSITIVE,))
        for name in ("gmean", "hmean", "skew", "kurtosis", "variation", "sem", "zscore", "gzscore", "tmean", "tvar",
                     "tstd", "tsem", "kstatvar", "iqr", "circmean", "circvar", "circstd", "median_abs_deviation",
                     "gstd", "differential_entropy", "tmin", "tmax", "entropy", "lmoment")
    },
    "stats.pmean": (lambda x: stats.pmean(x, 2), (POSITIVE,)),
    "stats.moment": (lambda x: stats.moment(x, 3), (SERIES,)),
    "stats.trim_mean": (lambda x: stats.trim_mean(x, 0.1), (SERIES,)),
    "stats.kstat": (lambda x: stats.kstat(x, 3), (SERIES,)),
    "stats.describe": (lambda x: stats.describe(x).kurtosis, (SERIES,)),
    "stats.mode": (lambda x: stats.mode(x).mode, (SERIES,)),
    "stats.quantile": (lambda x: stats.quantile(x, 0.3), (SERIES,)),
    "stats.directional_stats": (lambda x: stats.directional_stats(x).mean_direction, (VECTORS,)),
    "stats.zmap": (stats.zmap, (SERIES, POSITIVE)),
    "stats.boxcox_llf": (lambda x: stats.boxcox_llf(0.5, x), (POSITIVE,)),
    "stats.yeojohnson_llf": (lambda x: stats.yeojohnson_llf(0.5, x), (SERIES,)),
    "stats.pearsonr": (lambda x, y: stats.pearsonr(x, y).statistic, (SERIES, POSITIVE)),
    "stats.ttest_1samp": (lambda x: stats.ttest_1samp(x, 0.0).statistic, (SERIES,)),
    "stats.ttest_ind": (lambda x, y: stats.ttest_ind(x, y).statistic, (SERIES, POSITIVE)),
    "stats.ttest_rel": (lambda x, y: stats.ttest_rel(x, y).statistic, (SERIES, POSITIVE)),
    "stats.skewtest": (lambda x: stats.skewtest(x).statistic, (SERIES,)),
    "stats.kurtosistest": (lambda x: stats.kurtosistest(x).statistic, (SERIES,)),
    "stats.normaltest": (lambda x: stats.normaltest(x).statistic, (SERIES,)),
    "stats.jarque_bera": (lambda x: stats.jarque_bera(x).statistic, (SERIES,)),
    "stats.chisquare": (lambda x: stats.chisquare(x, sum_check=False).statistic, (POSITIVE,)),
    "stats.combine_pvalues": (lambda p: stats.combine_pvalues(p).statistic, (UNIT,)),
    "stats.bartlett": (lambda x, y: stats.bartlett(x, y).statistic, (SERIES, POSITIVE)),
    "stats.f_oneway": (lambda x, y: stats.f_oneway(x, y).statistic, (SERIES, POSITIVE)),
    "stats.levene": (lambda x, y: stats.levene(x, y).statistic, (SERIES, POSITIVE)),
    "integrate.trapezoid": (integrate.trapezoid, (UNIT,)),
    "integrate.cumulative_trapezoid": (integrate.cumulative_trapezoid, (UNIT,)),
    "integrate.cumulative_simpson": (integrate.cumulative_simpson, (UNIT,)),
    "integrate.simpson": (integrate.simpson, (UNIT,)),
    "differentiate.derivative": (lambda x: differentiate.derivative(lambda v: v**3, x).df, (UNIT,)),
    **{f"signal.{name}": (getattr(signal, name), (SERIES,)) for name in ("hilbert", "envelope", "detrend", "wiener")},
    **{
        f"signal.{name}": (getattr(signal, name), (SERIES, UNIT))
        for name in ("convolve", "correlate", "fftconvolve", "oaconvolve")
    },
    "signal.hilbert2": (signal.hilbert2, (MATRIX,)),
    "signal.resample": (lambda x: signal.resample(x, 30), (SERIES,)),
    "signal.freqz": (lambda b: signal.freqz(b, worN=16)[1], (UNIT,)),
    "signal.lp2lp": (lambda b, a: signal.lp2lp(b, a, 2.0)[0], (UNIT, OTHER)),
    "signal.lp2lp_zpk": (lambda z, p: signal.lp2lp_zpk(z, p, 1.0, 2.0)[0], (UNIT, OTHER)),
    "signal.bilinear_zpk": (lambda z, p: signal.bilinear_zpk(z, p, 1.0, 2.0)[0], (UNIT, OTHER)),
    "spatial.transform.Rotation.as_matrix": (
        lambda q: Rotation.from_quat(q).as_matrix(), (np.array([0.1, 0.2, 0.3, 0.9]),)),
    "spatial.transform.Rotation.apply": (
        lambda r, v: Rotation.from_rotvec(r).apply(v), (ANGLES, np.array([1.0, 2.0, 3.0]))),
    "spatial.transform.Rotation.as_quat": (lambda e: Rotation.from_euler("xyz", e).as_quat(), (ANGLES,)),
    "optimize.rosen": (optimize.rosen, (UNIT,)),
    "optimize.rosen_der": (optimize.rosen_der, (UNIT,)),
    "optimize.rosen_hess": (optimize.rosen_hess, (UNIT,)),
    "optimize.rosen_hess_prod": (optimize.rosen_hess_prod, (UNIT, OTHER)),
    "constants.convert_temperature": (lambda x: constants.convert_temperature(x, "C", "K"), (UNIT,)),
    "constants.lambda2nu": (constants.lambda2nu, (UNIT,)),
    "constants.nu2lambda": (constants.nu2lambda, (UNIT,)),
}  # fmt: skip
STEP = 1e-6
HEAD = f"""# SciPy on Tensors, in its array API mode

Generated by `python scripts/generate_scipy_coverage.py`, which calls every function below on arrays and on Tensors,
with SciPy {".".join(scipy.__version__.split(".")[:2])} and `SCIPY_ARRAY_API=1` in the environment; do not edit.

In this mode SciPy computes with the functions of `Tensor.__array_namespace__()`, which keep the history. If it converts
a Tensor that requires grad to an array, that raises an error. If it overwrites a value that a derivative needs, the
backward pass raises an error. `adjoint.scipy` does not need this mode.
"""


OWN = """
# adjoint.scipy

Functions of `adjoint.scipy` take Tensors and Arrays without that mode, and so do SciPy's own ufuncs in scipy.special.

| module | differentiated |
|---|---|"""


def leaves(result: Any) -> list[Any]:
    """All arrays in a result."""
    return [leaf for member in result for leaf in leaves(member)] if isinstance(result, (list, tuple)) else [result]


def total(result: Any) -> Any:
    """One number that depends on all parts of a result in different ways."""
    parts = leaves(result)
    return sum(((part.real if is_complex(part) else part) * (i + 1.5)).sum() for i, part in enumerate(parts))


def is_complex(part: Any) -> bool:
    return part.is_complex() if isinstance(part, adjoint.Tensor) else np.iscomplexobj(part)


def failure(call: Call, arrays: tuple[np.ndarray, ...]) -> str:
    """The reason why a function gives no gradient, or an empty text. Raises AssertionError for a wrong gradient."""
    tensors = [adjoint.tensor(array, requires_grad=True) for array in arrays]
    expected = leaves(call(*arrays))
    try:
        results = leaves(call(*tensors))
        if not all(isinstance(part, adjoint.Tensor) and part.requires_grad for part in results):
            return "the result is no Tensor with history"
        grads = adjoint.autograd.grad(total(results), tensors, allow_unused=True, materialize_grads=True)
    except (RuntimeError, TypeError, ValueError) as error:
        return type(error).__name__ + ": " + str(error).partition(".")[0].partition(": [")[0]
    for ours, theirs in zip(results, expected, strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=1e-6, atol=1e-9)
    directions = [_RNG.normal(size=array.shape) for array in arrays]
    ahead, behind = (
        total(call(*[array + sign * STEP * way for array, way in zip(arrays, directions, strict=True)]))
        for sign in (1, -1)
    )
    slope = sum(float((grad.numpy() * way).sum()) for grad, way in zip(grads, directions, strict=True))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * STEP), rtol=1e-4, atol=1e-6)
    return ""


def outcomes() -> dict[str, str]:
    """The reason for each function that gives no gradient, otherwise an empty text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: failure(call, arrays) for name, (call, arrays) in CASES.items()}


def own_functions() -> list[str]:
    """The functions that adjoint.scipy differentiates, one row of a table for each module."""
    scipy_functions.load()
    rows: dict[str, set[str]] = defaultdict(set)
    for name in FUNCTIONS:
        library, _, rest = name.partition(".")
        module, _, function = rest.rpartition(".")
        if library == "scipy":
            rows[module].add(function)
    for module, names in (
        ("interpolate", {*interpolated(scipy.interpolate)}),
        ("optimize", {*REFINEMENTS, *fits(optimize), *linear_problems(optimize)}),
        ("integrate", {*integrals(integrate)}),
    ):
        rows[module] |= names
    of_numbers = {
        name for name in stats.__all__ if isinstance(getattr(stats, name), (stats.rv_continuous, stats.rv_discrete))
    }
    refused = sorted(name for name, row in ROWS.items() if row.refused)
    methods = ", ".join(f"`{name}`" for name in Univariate("norm", stats.norm).methods)
    lines = [
        f"| scipy.{module} | {', '.join(f'`{name}`' for name in sorted(names))} |"
        for module, names in sorted(rows.items())
    ]
    counts = (
        f"{len(of_numbers) - len(refused)} of {len(of_numbers)} distributions of numbers (all but {', '.join(refused)})"
    )
    ufuncs = [name for name in special.__all__ if isinstance(getattr(special, name), np.ufunc)]
    by_reason = defaultdict(list)
    for name, why in sorted(REASONS.items()):
        by_reason[why].append(f"`{name}`")
    return [
        *lines,
        f"| scipy.special | all {len(ufuncs)} ufuncs |",
        f"| scipy.stats | {counts}: {methods} |",
        "\n| scipy.special, not differentiated | because |",
        "|---|---|",
        *[f"| {', '.join(names)} | {why} |" for why, names in sorted(by_reason.items(), key=lambda row: -len(row[1]))],
    ]


def text(failures: dict[str, str]) -> str:
    """The whole page."""
    works = defaultdict(list)
    for name, why in failures.items():
        if not why:
            package, _, function = name.partition(".")
            works[package].append(f"`{function}`")
    lines = [
        HEAD,
        f"{sum(map(len, works.values()))} of {len(failures)} functions are differentiated.\n",
        "| package | differentiated |",
        "|---|---|",
        *[f"| scipy.{package} | {', '.join(names)} |" for package, names in sorted(works.items())],
        "\n| not differentiated | because |",
        "|---|---|",
        *[f"| `scipy.{name}` | {why} |" for name, why in sorted(failures.items()) if why],
        OWN,
        *own_functions(),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(outcomes()))
    print(f"wrote {TARGET.name}")
