"""Checks of NumPy's functions on Tensors: values and dtypes as NumPy's, gradients by central differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adjoint
from support.numpy_samples import Sample, Source

STEP = 1e-6


def function_of(name: str) -> Any:
    value: Any = np
    for part in name.split("."):
        value = getattr(value, part)
    return value


#: Functions that others can override since a version of NumPy. Before, they take only arrays, or are missing.
OVERRIDABLE_SINCE = {
    "2.4.0": {"polynomial.polynomial.polyval2d", "polynomial.polynomial.polygrid2d"},
    "2.5.0": {"polynomial.polynomial.polyvalnd"},
}
#: Functions that others cannot override. They take Tensors within `adjoint.scipy.patched`.
NEVER_OVERRIDABLE = {"lib.stride_tricks.as_strided"}
NOT_OVERRIDABLE = NEVER_OVERRIDABLE.union(
    *[names for version, names in OVERRIDABLE_SINCE.items() if np.lib.NumpyVersion(np.__version__) < version]
)


def flat(result: Any) -> list[Any]:
    """All arrays and numbers in a result."""
    if isinstance(result, (list, tuple)):
        return [leaf for member in result for leaf in flat(member)]
    return [result]


def tensors(arrays: list[np.ndarray], requires_grad: bool) -> list[Any]:
    results = [adjoint.from_numpy(array.copy()) for array in arrays]
    for tensor in results:
        if requires_grad and (tensor.is_floating_point() or tensor.is_complex()):
            tensor.requires_grad_()
    return results


def shape_of(value: Any) -> tuple[int, ...]:
    return tuple(np.shape(value)) if not isinstance(value, adjoint.Tensor) else tuple(value.shape)


def assert_same(result: Any, expected: Any, kind: str) -> None:
    assert type(result) is type(expected) or not isinstance(expected, tuple) or isinstance(result, tuple)
    result, expected = flat(result), flat(expected)
    assert len(result) == len(expected)
    for ours, theirs in zip(result, expected, strict=True):
        if not isinstance(theirs, (np.ndarray, np.generic)):
            assert ours == theirs or isinstance(ours, adjoint.Tensor)
            continue
        if isinstance(theirs, np.generic) and not isinstance(ours, adjoint.Tensor):
            assert ours == theirs
            continue
        assert isinstance(ours, adjoint.Tensor)
        array = ours.detach().numpy()
        assert array.shape == theirs.shape
        assert array.dtype == theirs.dtype
        rough = 1e-2 if array.dtype == "float16" else 1e-5 if kind == "float32" else 1e-10
        np.testing.assert_allclose(array, theirs, rtol=rough, atol=rough)


def outcome(sample: Sample, function: Any, source: Source, instead: Any = None) -> Any:
    with np.errstate(all="ignore"):
        return source.run(sample, function, instead)


def check_values(sample: Sample, function: Any, kind: str) -> bool:
    """Compare a sample with NumPy. Returns False if NumPy itself does not take such numbers."""
    source = Source(kind)
    try:
        expected = outcome(sample, function, source)
    except (TypeError, ValueError, np.linalg.LinAlgError):
        return False
    assert_same(outcome(sample, function, source, tensors(source.arrays, False)), expected, kind)
    return True


def check_gradients(
    sample: Sample, function: Any, kind: str, *, hermitian: bool = False, constant: bool = False
) -> bool:
    """Compare a sample's gradient with central differences. Returns False if no result has one."""
    source = Source(kind)
    try:
        expected = flat(outcome(sample, function, source))
    except (TypeError, ValueError):
        return False
    inputs = tensors(source.arrays, True)
    results = flat(outcome(sample, function, source, inputs))
    rng = np.random.default_rng(3)
    roots, weights, places = [], [], []
    for position, (ours, theirs) in enumerate(zip(results, expected, strict=True)):
        if not isinstance(ours, adjoint.Tensor) or ours.numpy(force=True).dtype.kind not in "fc" or not ours.numel():
            continue
        if constant and not ours.requires_grad:
            continue
        assert ours.requires_grad, f"result {position} lost its history"
        weight = rng.standard_normal(shape_of(theirs)).astype(np.asarray(theirs).dtype)
        weight[~np.isfinite(theirs)] = 0
        roots.append(ours)
        weights.append(weight)
        places.append(position)
    if not roots:
        return False
    grads = adjoint.autograd.grad(
        roots, inputs, [adjoint.from_numpy(np.asarray(w)) for w in weights], allow_unused=True
    )
    directions = [direction(array, hermitian, rng) for array in source.arrays]

    def value(step: float) -> float:
        arrays = [np.asarray(a + step * d, a.dtype) for a, d in zip(source.arrays, directions, strict=True)]
        results = flat(outcome(sample, function, source, arrays))
        return sum(
            float(np.nansum((np.conj(w) * np.where(w == 0, 0, results[position])).real))
            for position, w in zip(places, weights, strict=True)
        )

    slope = (value(STEP) - value(-STEP)) / (2 * STEP)
    pulled = sum(
        float(np.nansum((np.conj(g.numpy()) * d).real)) for g, d in zip(grads, directions, strict=True) if g is not None
    )
    assert pulled == pytest.approx(slope, rel=2e-5, abs=2e-7)
    return True


def direction(array: np.ndarray, hermitian: bool, rng: np.random.Generator) -> np.ndarray:
    numbers = rng.standard_normal(array.shape)
    if array.dtype.kind == "c":
        numbers = numbers + 1j * rng.standard_normal(array.shape)
    return numbers + numbers.conj().T if hermitian else numbers
