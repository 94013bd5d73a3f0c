"""Initial values of parameters: distributions compared with SciPy's, exact values, and refused arguments."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import adjoint
from adjoint.nn import init

SHAPE = (200, 50)


def sample(function, *args, shape=SHAPE, **options):
    """Random values in a leaf, which stays a leaf."""
    leaf = adjoint.empty(shape, dtype=adjoint.float64, requires_grad=True)
    result = function(leaf, *args, generator=adjoint.Generator().manual_seed(1), **options)
    assert result is leaf and leaf.is_leaf and leaf.requires_grad and leaf._version > 0
    return leaf.detach().numpy().ravel()


def likely(values, distribution):
    """The Kolmogorov-Smirnov test. The seeds are fixed, so a right distribution always passes."""
    return stats.kstest(values, distribution.cdf).pvalue > 1e-3


BOUND = math.sqrt(6 / 250)
KAIMING = math.sqrt(2 / (1 + 0.2**2) / 50)


@pytest.mark.parametrize(
    ("function", "args", "distribution"),
    [
        (init.uniform_, (-1, 3), stats.uniform(-1, 4)),
        (init.normal_, (2, 0.5), stats.norm(2, 0.5)),
        (init.trunc_normal_, (1, 2, -1, 4), stats.truncnorm(-1, 1.5, 1, 2)),
        (init.xavier_uniform_, (2.0,), stats.uniform(-2 * BOUND, 4 * BOUND)),
        (init.xavier_normal_, (2.0,), stats.norm(0, 2 * math.sqrt(2 / 250))),
        (init.kaiming_uniform_, (0.2,), stats.uniform(-KAIMING * math.sqrt(3), 2 * KAIMING * math.sqrt(3))),
        (init.kaiming_normal_, (0.2,), stats.norm(0, KAIMING)),
        (init.kaiming_normal_, (0, "fan_out", "tanh"), stats.norm(0, 5 / 3 / math.sqrt(200))),
    ],
)
def test_distributions(function, args, distribution):
    assert likely(sample(function, *args), distribution)


def test_fans_of_kernels_count_their_field():
    weights = sample(init.kaiming_normal_, nonlinearity="relu", shape=(40, 10, 5, 5))
    assert likely(weights, stats.norm(0, math.sqrt(2 / 250)))


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 3), (4, 4)])
def test_orthogonal(shape):
    q = 0.5 * sample(init.orthogonal_, 2.0, shape=shape).reshape(shape[0], -1)
    q = q if q.shape[0] <= q.shape[1] else q.T
    assert np.allclose(q @ q.T, np.eye(len(q)), atol=1e-12)


def test_sparse():
    values = sample(init.sparse_, 0.3, std=2.0, shape=(1000, 5)).reshape(1000, 5)
    assert ((values == 0).sum(0) == 300).all()
    assert likely(values[values != 0], stats.norm(0, 2))


def test_exact_values():
    assert init.eye_(adjoint.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert init.constant_(adjoint.empty(2), 3).tolist() == [3, 3]
    assert init.ones_(adjoint.empty(1)).tolist() == [1] and init.zeros_(adjoint.empty(1)).tolist() == [0]
    assert [init.calculate_gain(name) for name in ("conv2d", "selu", "relu")] == [1, 0.75, math.sqrt(2)]
    assert init.calculate_gain("leaky_relu") == math.sqrt(2 / (1 + 0.01**2))


@pytest.mark.parametrize("field", [(3,), (3, 3), (2, 3, 5)])
def test_dirac_kernels_keep_each_groups_channels(field):
    weight = init.dirac_(adjoint.empty(6, 2, *field), groups=3)
    middle = weight[(slice(None), slice(None), *(size // 2 for size in field))]
    assert middle.tolist() == [[1, 0], [0, 1]] * 3 and weight.sum() == 6


def test_what_is_empty_stays_so():
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        assert init.kaiming_uniform_(adjoint.empty(0, 3)).shape == (0, 3)
    assert init.orthogonal_(adjoint.empty(0, 3)).shape == (0, 3)
    assert init.xavier_normal_(adjoint.empty(0, 0)).shape == (0, 0)


def test_a_far_mean_is_warned_of():
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        init.trunc_normal_(adjoint.empty(2), mean=5.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: init.calculate_gain("step"), "Unsupported nonlinearity step"),
        (lambda: init.calculate_gain("leaky_relu", True), "negative_slope True not a valid number"),
        (lambda: init.xavier_uniform_(adjoint.empty(3)), "fewer than 2 dimensions"),
        (lambda: init.kaiming_normal_(adjoint.empty(3, 2), mode="fan"), "Mode fan not supported, please use one of"),
        (lambda: init.eye_(adjoint.empty(3)), "Only tensors with 2 dimensions are supported"),
        (lambda: init.sparse_(adjoint.empty(3), 0.1), "Only tensors with 2 dimensions are supported"),
        (lambda: init.dirac_(adjoint.empty(3, 2)), "Only tensors with 3, 4, or 5 dimensions are supported"),
        (lambda: init.dirac_(adjoint.empty(3, 2, 2), groups=2), "dim 0 must be divisible by groups"),
        (lambda: init.orthogonal_(adjoint.empty(3)), "Only tensors with 2 or more dimensions are supported"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
