"""Generators, their states, and the distributions of draws."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import adjoint
from adjoint.arrays.dtypes import bfloat16
from adjoint.core.modes import random as r


@pytest.fixture
def g():
    return r.Generator().manual_seed(5)


def test_seeds(g):
    assert g.initial_seed() == 5
    assert r.Generator().initial_seed() == r.Generator().initial_seed()
    assert g.manual_seed(-1).initial_seed() == 2**64 - 1
    first, second = g.seed(), g.seed()
    assert first != second and g.initial_seed() == second
    np.testing.assert_array_equal(
        r.normal(r.Generator().manual_seed(7), (3,)), r.normal(g.manual_seed(np.int64(7)), (3,))
    )


@pytest.mark.parametrize(
    ("seed", "error", "message"),
    [
        (2.5, RuntimeError, "manual_seed expected a long, but got float"),
        ("a", RuntimeError, "but got str"),
        (True, RuntimeError, "but got bool"),
        (2**64, ValueError, "Overflow"),
        (-(2**63) - 1, ValueError, "Overflow"),
    ],
)
def test_seed_errors(g, seed, error, message):
    with pytest.raises(error, match=message):
        g.manual_seed(seed)


def test_states_continue_the_stream(g):
    r.integers(g, (3,), np.int32, 0, 10)  # the bit generator keeps half a word
    state = g.get_state()
    assert state.dtype is adjoint.uint8
    expected = r.integers(g, (50,), np.int32, 0, 1000)
    for other in (g.set_state(state), r.Generator().set_state(state)):
        np.testing.assert_array_equal(r.integers(other, (50,), np.int32, 0, 1000), expected)
        assert other.initial_seed() == 5
    other = r.Generator().set_state(state)
    for copied in (other.clone_state(), pickle.loads(pickle.dumps(other))):
        np.testing.assert_array_equal(r.integers(copied, (50,), np.int32, 0, 1000), expected)


def test_state_errors(g):
    with pytest.raises(TypeError, match=r"expected an adjoint\.ByteTensor, but got int"):
        g.set_state(3)
    with pytest.raises(TypeError, match=r"RNG state must be an adjoint\.ByteTensor"):
        g.set_state(np.zeros(56))
    with pytest.raises(RuntimeError, match="found the input RNG state size to be 3"):
        g.set_state(np.zeros(3, np.uint8))


def test_default_generator():
    assert r.manual_seed(3) is r.default_generator() and r.initial_seed() == 3
    state = r.get_rng_state()
    expected = r.uniform(None, (4,))
    r.set_rng_state(state)
    np.testing.assert_array_equal(r.uniform(None, (4,)), expected)
    assert r.seed() == r.initial_seed()
    assert r.manual_seed("3").initial_seed() == 3
    with pytest.raises(ValueError, match="invalid literal"):
        r.manual_seed("a")


def test_draws_from_threads_do_not_repeat(g):
    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda _: r.uniform(g, (2000,), np.float64), range(16)))
    sample = np.concatenate(parts)
    assert np.unique(sample).size == sample.size
    np.testing.assert_array_equal(np.sort(sample), np.sort(r.uniform(g.manual_seed(5), (32000,), np.float64)))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, bfloat16.numpy])
def test_uniform(g, dtype):
    sample = r.uniform(g, (200, 100), dtype)
    assert sample.shape == (200, 100) and sample.dtype == dtype
    wide = sample.astype(np.float64)
    assert wide.min() >= 0 and wide.max() < 1
    assert abs(wide.mean() - 0.5) < 0.01 and abs(wide.std() - 12**-0.5) < 0.01
    scaled = r.uniform(g, (20000,), dtype, -1, 3).astype(np.float64)
    assert scaled.min() >= -1 and scaled.max() < 3 and abs(scaled.mean() - 1) < 0.05
    assert r.uniform(g, (), dtype).shape == ()


@pytest.mark.parametrize(("dtype", "steps"), [(np.float16, 2**11), (bfloat16.numpy, 2**8)])
def test_narrow_numbers_are_multiples_of_one_step(g, dtype, steps):
    """Otherwise rounding could give the number 1."""
    sample = r.uniform(g, (20000,), dtype).astype(np.float64) * steps
    np.testing.assert_array_equal(sample, np.round(sample))
    assert (sample.min(), sample.max()) == (0, steps - 1)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, bfloat16.numpy])
def test_normal(g, dtype):
    sample = r.normal(g, (20000,), dtype, 2, 3)
    assert sample.dtype == dtype
    wide = sample.astype(np.float64)
    assert abs(wide.mean() - 2) < 0.1 and abs(wide.std() - 3) < 0.1
    assert r.normal(g, (), dtype).shape == ()


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_draws(g, dtype):
    sample = r.normal(g, (20000,), dtype)
    assert sample.dtype == dtype
    assert abs(sample.real.var() - 0.5) < 0.03 and abs(sample.imag.var() - 0.5) < 0.03
    assert abs(np.mean(sample.real * sample.imag)) < 0.03
    square = r.uniform(g, (1000,), dtype)
    assert square.dtype == dtype and square.real.max() < 1 and 0.4 < square.imag.mean() < 0.6


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int8, np.float32, np.float16, np.uint64])
def test_integers(g, dtype):
    sample = r.integers(g, (1000,), dtype, 3, 8)
    assert sample.dtype == dtype and set(sample.tolist()) == {3, 4, 5, 6, 7}
    assert r.integers(g, (2, 0), dtype, 0, 2).shape == (2, 0)


def test_integers_of_bool(g):
    assert set(r.integers(g, (50,), np.bool_, 0, 2).tolist()) == {False, True}


def test_permutation(g):
    sample = r.permutation(g, 50, np.float32)
    assert sample.dtype == np.float32 and sorted(sample.tolist()) == list(range(50))
    assert sample.tolist() != list(range(50))
    assert r.permutation(g, 0).shape == (0,)


def test_bernoulli(g):
    sample = r.bernoulli(g, 0.25, (100, 100))
    assert sample.dtype == np.float32 and set(np.unique(sample)) == {0, 1} and abs(sample.mean() - 0.25) < 0.02
    by_item = r.bernoulli(g, np.array([0.0, 1.0, 0.5]))
    assert by_item.dtype == np.float64 and by_item[0] == 0 and by_item[1] == 1
    assert r.bernoulli(g, 1.0, (3,), np.int64).tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda g: r.uniform(g, (2,), np.float32, 2, 1),
            RuntimeError,
            r"uniform_ expects to return a \[from, to\) range, but found from=2 > to=1",
        ),
        (lambda g: r.uniform(g, (2,), np.int32), NotImplementedError, "not implemented for 'Int'"),
        (
            lambda g: r.normal(g, (2,), np.int64),
            NotImplementedError,
            "\"normal_kernel_cpu\" not implemented for 'Long'",
        ),
        (lambda g: r.normal(g, (2,), std=-1), RuntimeError, "normal expects std >= 0.0, but found std -1"),
        (lambda g: r.integers(g, (2,), np.int64, 3, 3), RuntimeError, "to be less than 'to', but got from=3 >= to=3"),
        (
            lambda g: r.integers(g, (2,), np.uint8, 0, 300),
            RuntimeError,
            "to - 1 is out of bounds for unsigned char",
        ),
        (
            lambda g: r.integers(g, (2,), np.int8, -200, 0),
            RuntimeError,
            "from is out of bounds for signed char",
        ),
        (lambda g: r.integers(g, (2,), np.float64, 0, 2**63 + 1), RuntimeError, "to - 1 is out of bounds for double"),
        (lambda g: r.integers(g, (2,), np.float16, 0, 2**17), RuntimeError, "to - 1 is out of bounds for "),
        (lambda g: r.integers(g, (2,), np.bool_, 0, 3), RuntimeError, "to - 1 is out of bounds for bool"),
        (lambda g: r.integers(g, (2,), np.complex64, 0, 3), RuntimeError, "check_random_bounds handles only"),
        (lambda g: r.permutation(g, -1), RuntimeError, r"negative dimension -1: \[-1\]"),
        (lambda g: r.permutation(g, 300, np.uint8), RuntimeError, "value cannot be converted to type uint8"),
        (
            lambda g: r.bernoulli(g, 2.0, (2,)),
            RuntimeError,
            r"bernoulli_ expects p to be in \[0, 1\], but got p=2",
        ),
        (
            lambda g: r.bernoulli(g, np.array([np.nan])),
            RuntimeError,
            "Expected p_in >= 0 && p_in <= 1 to be true",
        ),
        (lambda g: r.bernoulli(g, np.array([1])), NotImplementedError, "not implemented for 'Long'"),
    ],
)
def test_errors(g, call, error, message):
    with pytest.raises(error, match=message):
        call(g)


@pytest.mark.parametrize("name", ["uniform", "normal", "exponential", "cauchy", "log_normal"])
def test_doubles_have_more_digits_than_floats(g, name):
    sample = getattr(r, name)(g, (100,), np.dtype("float64"))
    assert sample.dtype == np.float64
    assert (sample != sample.astype(np.float32)).all()
