"""scipy.stats' distributions of vectors and matrices on Tensors: SciPy's values, gradients by differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy
import scipy.stats

import adjoint
from adjoint.scipy import stats

RNG = np.random.default_rng(0)


def positive(n: int) -> np.ndarray:
    a = RNG.normal(size=(n, n))
    return a @ a.T + np.eye(n)


ROWS, COLUMNS = positive(3), positive(2)
WAY = np.array([0.6, 0.8, 0.0])
#: Arguments, and the positions of those without a derivative.
CASES: list[tuple[str, tuple[Any, ...], tuple[int, ...]]] = [
    ("multivariate_t.logpdf", (RNG.normal(size=(4, 3)), RNG.normal(size=3), ROWS, 3.5), ()),
    ("multivariate_t.pdf", (RNG.normal(size=3), RNG.normal(size=3), np.array([1.0, 2.0, 0.5]), 3.5), (2,)),
    ("multivariate_t.logpdf", (RNG.normal(size=4), 0.3, 2.0, 3.5), ()),
    ("multivariate_t.logpdf", (RNG.normal(size=3), RNG.normal(size=3), ROWS, np.inf), (3,)),
    ("multivariate_t.entropy", (RNG.normal(size=3), ROWS, 3.5), (0,)),
    ("dirichlet.entropy", (np.array([1.2, 3.0, 0.7]),), ()),
    ("dirichlet.mean", (np.array([1.2, 3.0, 0.7]),), ()),
    ("dirichlet.var", (np.array([1.2, 3.0, 0.7]),), ()),
    ("dirichlet_multinomial.logpmf", (np.array([1.0, 2.0, 3.0]), np.array([1.2, 3.0, 0.7]), 6.0), (0, 2)),
    ("dirichlet_multinomial.pmf", (np.array([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]), np.ones(3), 6.0), (0, 2)),
    ("vonmises_fisher.logpdf", (WAY[None], WAY, 2.5), (0, 1)),
    ("vonmises_fisher.entropy", (WAY, 2.5), (0,)),
    ("normal_inverse_gamma.logpdf", (0.3, 1.2, 0.1, 1.4, 2.0, 1.1), ()),
    ("normal_inverse_gamma.pdf", (np.array([0.3, 0.5]), np.array([1.2, -1.0]), 0.1, 1.4, 2.0, 1.1), ()),
    ("wishart.logpdf", (positive(3), 4.5, ROWS), ()),
    ("wishart.logpdf", (np.stack([positive(3), positive(3)], -1), 4.5, ROWS), ()),
    ("wishart.pdf", (2.0, 1.5, 1.3), ()),
    ("wishart.entropy", (4.5, ROWS), ()),
    ("invwishart.logpdf", (positive(3), 4.5, ROWS), ()),
    ("matrix_normal.logpdf", (RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2)), ROWS, COLUMNS), ()),
    ("matrix_normal.logpdf", (RNG.normal(size=(4, 3, 2)), RNG.normal(size=(3, 2)), ROWS, COLUMNS), ()),
    ("matrix_normal.entropy", (ROWS, COLUMNS), ()),
    ("matrix_t.logpdf", (RNG.normal(size=(3, 2)), RNG.normal(size=(3, 2)), ROWS, COLUMNS, 3.5), ()),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_values_and_gradients(case: Any) -> None:
    name, arguments, fixed = case
    family, _, method = name.partition(".")
    if not hasattr(scipy.stats, family):
        pytest.skip(f"this SciPy has no {family}")
    if np.inf in [v for v in arguments if np.ndim(v) == 0] and scipy.__version__ < "1.16":
        pytest.skip("this version of SciPy returns a wrong result")
    function = getattr(getattr(scipy.stats, family), method)
    tensors = [adjoint.tensor(np.asarray(v, float), requires_grad=i not in fixed) for i, v in enumerate(arguments)]
    actual, expected = getattr(getattr(stats, family), method)(*tensors), function(*arguments)
    np.testing.assert_allclose(actual.detach().numpy(), expected, rtol=1e-9)
    finite = np.isfinite(expected)
    inputs = [tensor for tensor in tensors if tensor.requires_grad]
    gradients = iter(
        adjoint.autograd.grad(actual, inputs, adjoint.tensor(np.reshape(finite * 1.0, actual.shape))) if inputs else ()
    )
    for i, value in enumerate(arguments):
        if i in fixed:
            continue
        way = RNG.normal(size=np.shape(value))
        if way.ndim > 1 and way.shape[0] == way.shape[1]:
            way = way + np.swapaxes(way, 0, 1)
        ahead, behind = (
            np.sum(function(*arguments[:i], value + step * way, *arguments[i + 1 :]), where=finite)
            for step in (1e-6, -1e-6)
        )
        exact = float(np.sum(next(gradients).numpy() * way))
        assert exact == pytest.approx((ahead - behind) / 2e-6, rel=1e-6, abs=1e-7)


def test_too_few_degrees_of_freedom() -> None:
    with pytest.raises(ValueError, match="greater than the dimension"):
        stats.wishart.logpdf(ROWS, adjoint.tensor(1.5, requires_grad=True), ROWS)


def test_frozen() -> None:
    loc = adjoint.tensor([0.5, 1.0, 2.0], dtype=adjoint.float64, requires_grad=True)
    frozen = stats.multivariate_t(loc, ROWS, 3.0)
    expected = scipy.stats.multivariate_t([0.5, 1.0, 2.0], ROWS, 3.0).logpdf(WAY)
    assert frozen.logpdf(WAY).item() == pytest.approx(expected)
