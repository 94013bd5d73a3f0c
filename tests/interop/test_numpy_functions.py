"""Every function of NumPy that the table knows: values and dtypes as NumPy's, gradients by central differences."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.interop.declare import FUNCTIONS
from adjoint.interop.protocols import numpy_name
from numpy_samples import IN_PLACE, SAMPLES, Sample, Source

ALL = SAMPLES | IN_PLACE
STEP = 1e-6
#: Functions whose float results are constants: they do not depend on the values of what is given.
CONSTANT = {"zeros_like", "ones_like", "empty_like", "zeros", "ones", "empty", "eye", "identity", "tri", "frombuffer",
            "fromiter", "fromstring", "fromfunction", "array", "asarray", "asanyarray", "ascontiguousarray",
            "asfortranarray", "require", "arange", "ix_"}  # fmt: skip
#: Results, by number, that do not depend on the values, beside the ones that do.
CONSTANT_RESULTS = {
    ("full_like", 0), ("full", 0), ("histogram_bin_edges", 1), ("histogram", 2), ("histogram", 3), ("imag", 0),
    ("linalg.matrix_power", 0),
}  # fmt: skip
#: Functions without results that have a gradient.
FLAT = {"all", "any", "linalg.matrix_rank"}
#: What is not as in NumPy, and why.
GAPS = {
    **{("unique_values", kind): "NumPy does not define the order" for kind in ("complex128", "int64")},
    **{(name, "complex128"): "bins of complex numbers" for name in ("histogram", "histogram_bin_edges")},
}  # fmt: skip


def function_of(name: str) -> Any:
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part)
    return found


def flat(result: Any) -> list[Any]:
    """All arrays and numbers in a result."""
    if isinstance(result, (list, tuple)):
        return [leaf for member in result for leaf in flat(member)]
    return [result]


def tensors(arrays: list[np.ndarray], requires_grad: bool) -> list[Any]:
    made = [adjoint.from_numpy(array.copy()) for array in arrays]
    for tensor in made:
        if requires_grad and (tensor.is_floating_point() or tensor.is_complex()):
            tensor.requires_grad_()
    return made


def shape_of(value: Any) -> tuple[int, ...]:
    return tuple(np.shape(value)) if not isinstance(value, adjoint.Tensor) else tuple(value.shape)


def assert_same(found: Any, expected: Any, kind: str) -> None:
    assert type(found) is type(expected) or not isinstance(expected, tuple) or isinstance(found, tuple)
    found, expected = flat(found), flat(expected)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
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
        rough = 1e-5 if kind == "float32" else 1e-10
        np.testing.assert_allclose(array, theirs, rtol=rough, atol=rough)


def outcome(sample: Sample, function: Any, source: Source, instead: Any = None) -> Any:
    with np.errstate(all="ignore"):
        return source.run(sample, function, instead)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Casting complex:numpy.exceptions.ComplexWarning")
@pytest.mark.filterwarnings("ignore:string or file could not be read:DeprecationWarning")
def test_values_and_dtypes_are_numpys(name: str) -> None:
    checked = 0
    for i, kind in product(range(len(ALL[name])), ("float64", "float32", "complex128", "int64")):
        if (name, kind) not in GAPS:
            checked += check_values(name, i, kind)
    assert checked


def check_values(name: str, i: int, kind: str) -> bool:
    """Compare a sample with NumPy; False if NumPy itself does not take such numbers."""
    sample, function, source = ALL[name][i], function_of(name), Source(kind)
    try:
        expected = outcome(sample, function, source)
    except (TypeError, ValueError, np.linalg.LinAlgError):
        return False
    assert_same(outcome(sample, function, source, tensors(source.arrays, False)), expected, kind)
    return True


@pytest.mark.parametrize("name", [name for name in ALL if name not in CONSTANT])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Casting complex:numpy.exceptions.ComplexWarning")
def test_gradients_are_right(name: str) -> None:
    checked = 0
    for i, kind in product(range(len(ALL[name])), ("float64", "complex128")):
        if (name, kind) not in GAPS:
            checked += check_gradients(name, i, kind)
    assert checked or name in FLAT


def check_gradients(name: str, i: int, kind: str) -> bool:
    """Compare a sample's gradient with central differences; False if no result has one."""
    sample, function, source = ALL[name][i], function_of(name), Source(kind)
    try:
        expected = flat(outcome(sample, function, source))
    except (TypeError, ValueError):
        return False
    inputs = tensors(source.arrays, True)
    results = flat(outcome(sample, function, source, inputs))
    rng = np.random.default_rng(3)
    roots, weights, places = [], [], []
    for place, (ours, theirs) in enumerate(zip(results, expected, strict=True)):
        if not isinstance(ours, adjoint.Tensor) or ours.numpy(force=True).dtype.kind not in "fc" or not ours.numel():
            continue
        if (name, i) in CONSTANT_RESULTS and not ours.requires_grad:
            continue
        assert ours.requires_grad, f"result {place} lost its history"
        weight = rng.standard_normal(shape_of(theirs)).astype(np.asarray(theirs).dtype)
        weight[~np.isfinite(theirs)] = 0
        roots.append(ours)
        weights.append(weight)
        places.append(place)
    if not roots:
        return False
    grads = adjoint.autograd.grad(
        roots, inputs, [adjoint.from_numpy(np.asarray(w)) for w in weights], allow_unused=True
    )
    directions = [direction(array, name, rng) for array in source.arrays]

    def value(step: float) -> float:
        moved = [np.asarray(a + step * d, a.dtype) for a, d in zip(source.arrays, directions, strict=True)]
        found = flat(outcome(sample, function, source, moved))
        return sum(
            float(np.nansum((np.conj(w) * np.where(w == 0, 0, found[place])).real))
            for place, w in zip(places, weights, strict=True)
        )

    slope = (value(STEP) - value(-STEP)) / (2 * STEP)
    pulled = sum(
        float(np.nansum((np.conj(g.numpy()) * d).real)) for g, d in zip(grads, directions, strict=True) if g is not None
    )
    assert pulled == pytest.approx(slope, rel=2e-5, abs=2e-7), (name, i, kind)
    return True


#: Functions that read one triangle of what they take as Hermitian.
HERMITIAN = {"linalg.eigh", "linalg.eigvalsh", "linalg.cholesky"}


def direction(array: np.ndarray, name: str, rng: np.random.Generator) -> np.ndarray:
    found = rng.standard_normal(array.shape)
    if array.dtype.kind == "c":
        found = found + 1j * rng.standard_normal(array.shape)
    return found + found.conj().T if name in HERMITIAN else found


def test_every_function_has_a_sample() -> None:
    """The ones whose arguments are files have a test of their own."""
    assert FUNCTIONS.keys() - ALL.keys() == {"fromfile", "loadtxt", "genfromtxt"}
    assert [name for name in ALL if name not in FUNCTIONS] == []
    assert all(numpy_name(function_of(name)).split(".")[-1] for name in ALL)
