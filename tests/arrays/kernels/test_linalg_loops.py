"""NumPy's LAPACK loops give the bits of numpy.linalg, or None."""

import numpy as np
import pytest

from adjoint.arrays.kernels.linalg import loops
from adjoint.arrays.namespace import xp

RNG = np.random.default_rng(5)
SHAPES = [(1, 1), (4, 4), (2, 3, 3), (3, 5), (5, 3), (2, 5, 2)]
CALLS = {
    "cholesky": ({},),
    "eigh": ({"UPLO": "L"}, {"UPLO": "U"}),
    "svd": ({"full_matrices": True}, {"full_matrices": False}),
    "qr": ({"mode": "reduced"}, {"mode": "complete"}, {"mode": "r"}),
}


def matrices(name, shape, kind):
    """Matrices of a shape; positive definite ones for a Cholesky factor."""
    a = RNG.standard_normal(shape)
    return (a @ a.mT + np.eye(shape[-1]) if name == "cholesky" else a).astype(kind)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_results_are_numpys(name, shape, kind):
    if name in ("cholesky", "eigh") and shape[-1] != shape[-2]:
        pytest.skip("needs square matrices")
    for options in CALLS[name]:
        for a in (matrices(name, shape, kind), matrices(name, shape[:-2] + shape[:-3:-1], kind).mT):
            results, targets = getattr(xp.linalg, name)(a, **options), getattr(np.linalg, name)(a, **options)
            if not isinstance(targets, tuple):
                results, targets = (results,), (targets,)
            for result, expected in zip(results, targets, strict=True):
                assert result.dtype == expected.dtype
                np.testing.assert_array_equal(result, expected)


def test_errors_are_numpys():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        xp.linalg.cholesky(-np.eye(2))
    with pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        xp.linalg.eigh(np.full((3, 3), np.nan))
    assert loops.cholesky(-np.eye(2)) is None and loops.cholesky(np.ones((2, 3))) is None
    assert loops.svd(np.zeros((0, 2))) is None and loops.eigh(np.eye(2, dtype=np.float32)) is None
