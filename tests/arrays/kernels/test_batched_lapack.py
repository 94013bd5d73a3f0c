"""The loops over stacks of matrices give the results of one SciPy call for each matrix."""

from functools import partial

import numpy
import pytest

from adjoint.arrays.kernels import batched_lapack
from adjoint.arrays.kernels.linalg import lapack

KINDS = ("float32", "float64", "complex64", "complex128")


def random_array(kind, *shape):
    rng = numpy.random.default_rng(sum(shape))
    values = rng.normal(size=shape)
    return (values + 1j * rng.normal(size=shape) if kind.startswith("complex") else values).astype(kind)


def both(function):
    """The result of a function with the loops, and its result without them."""
    results = []
    for enabled in (True, False):
        before = batched_lapack.set_enabled(enabled)
        try:
            result = function()
        finally:
            batched_lapack.set_enabled(before)
        results.append(result if isinstance(result, tuple) else (result,))
    return zip(*results, strict=True)


def check(function, kind):
    exact = 1e-4 if kind in ("float32", "complex64") else 1e-11
    for ours, plain in both(function):
        assert ours.dtype == plain.dtype
        numpy.testing.assert_allclose(ours, plain, rtol=exact, atol=exact, strict=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("batch", [(), (1,), (5,), (2, 3), (0,)])
def test_factorizations(kind, batch):
    a, tall = random_array(kind, *batch, 4, 4), random_array(kind, *batch, 6, 4)
    definite = a @ numpy.conj(a.mT) + numpy.eye(4, dtype=kind)
    symmetric = a + a.mT
    for matrices in (a, tall, tall.mT):
        check(partial(lapack.lu_factor, matrices), kind)
        check(partial(lapack.geqrf, matrices), kind)
    check(lambda: lapack.partial_cholesky(definite), kind)
    check(lambda: lapack.ldl_factor(symmetric, hermitian=False), kind)
    check(lambda: lapack.ldl_factor(definite, hermitian=True), kind)


def test_a_factorization_that_stops():
    a = numpy.stack([numpy.eye(3), numpy.diag([1.0, -1.0, 1.0]), numpy.zeros((3, 3))])
    check(lambda: lapack.partial_cholesky(a), "float64")
    assert lapack.partial_cholesky(a)[1].tolist() == [0, 2, 1]
    assert lapack.lu_factor(a)[2].tolist() == [0, 0, 1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shapes", [((), ()), ((5,), (5,)), ((), (5,)), ((2, 3), (3,)), ((2, 1), (1, 3)), ((0,), (0,))])
def test_triangular_solutions(kind, shapes):
    a, b = random_array(kind, *shapes[0], 4, 4), random_array(kind, *shapes[1], 4, 3)
    for lower in (True, False):
        for unit in (True, False):
            for matrices in (a, a.mT):
                solved = partial(lapack.triangular_solution, matrices, b, lower=lower, unit_diagonal=unit)
                check(solved, kind)


@pytest.mark.skipif(not batched_lapack.compiled, reason="needs the compiled form")
def test_what_can_be_called():
    a = numpy.ones((2, 3, 3))
    assert batched_lapack.can_do("getrf", a) and batched_lapack.can_do("trsm", a, a)
    assert not batched_lapack.can_do("getrf", a.astype(numpy.float16))
    assert not batched_lapack.can_do("trsm", a, a.astype(numpy.float32))
    with pytest.raises(TypeError, match="no routine with 2 arguments"):
        batched_lapack.each("getrf", a.dtype, 2, 3, 3)


@pytest.mark.parametrize("inverse", [False, True])
def test_the_order_of_pivots_is_that_of_the_exchanges(inverse):
    a = random_array("float64", 7, 5, 3)
    factors, pivots, _ = lapack.lu_factor(a)
    lower = numpy.tril(factors, -1)[..., :3] + numpy.eye(5, 3)
    product = lower @ numpy.triu(factors[:, :3])
    order = lapack.order_of_pivots(pivots, 5, inverse)[..., None]
    there, back = (product, a) if inverse else (a, product)
    numpy.testing.assert_allclose(numpy.take_along_axis(there, order, axis=-2), back, atol=1e-12)


@pytest.mark.skipif(not batched_lapack.compiled, reason="only the compiled form has these loops")
def test_a_routine_is_not_called_with_arguments_left_out():
    with pytest.raises(TypeError, match="no routine with 2 arguments is called from here"):
        batched_lapack.each("getrf", "float64", 1, 3, numpy.eye(3))
