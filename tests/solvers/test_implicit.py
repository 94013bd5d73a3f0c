"""Derivatives of solutions against closed forms or unrolled iterations, in all modes, to the third order."""

import numpy as np
import pytest
from scipy import sparse

import adjoint
from adjoint import func, vmap
from adjoint.autograd import gradcheck, gradgradcheck
from adjoint.implicit import ConvergenceError, fixed_point, linear_solve, minimize_stationary, root, spsolve
from adjoint.testing import assert_close

F64 = adjoint.float64


def vector(*values):
    return adjoint.tensor(values, dtype=F64)


A = vector(2.0, 3.0)
MATRIX = adjoint.tensor([[4.0, 1.0, 0.0], [0.5, 3.0, 1.0], [0.0, -1.0, 5.0]], dtype=F64)


def cubic(x, a):
    return x**3 + 0.1 * x.sum() - a


def unroll(a):
    """The root of `cubic` by several of Newton's steps, which are all recorded."""
    x = adjoint.ones(2, dtype=F64)
    for _ in range(9):
        x = x - adjoint.linalg.solve(func.jacrev(cubic)(x, a), cubic(x, a))
    return x


def tridiagonal(a):
    """A matrix that depends on two numbers."""
    return MATRIX + adjoint.diag(adjoint.cat([a, a[:1] * a[1:]]))


def times(x, a):
    return tridiagonal(a) @ x


ROWS, COLUMNS = np.nonzero(MATRIX.numpy())


def entries(a):
    """The stored entries of the matrix. One entry is the sum of two."""
    parts = tridiagonal(a)[ROWS, COLUMNS]
    return adjoint.cat([parts[:-1], parts[-1:] * 0.25, parts[-1:] * 0.75])


PLACES = np.stack([np.append(ROWS, ROWS[-1]), np.append(COLUMNS, COLUMNS[-1])])


def energy(x, a):
    return (x**4).sum() / 4 + 0.05 * x.sum() ** 2 - (a * x).sum()


def right(a):
    return adjoint.stack([a[0], a[1] ** 2, a[0] * a[1]])


def dense(a):
    return adjoint.linalg.solve(tridiagonal(a), right(a))


def symmetric(a):
    return adjoint.linalg.solve(tridiagonal(a).T @ tridiagonal(a), right(a))


ONES = adjoint.ones(2, dtype=F64)
#: Each solution as a function of a, and the same solution by recorded operations.
SOLUTIONS = {
    "root": (lambda a: root(cubic, ONES, a), unroll),
    "root, hybr": (lambda a: root(cubic, ONES, a, method="hybr"), unroll),
    "root, gmres": (lambda a: root(cubic, ONES, a, linear="gmres"), unroll),
    "fixed point": (lambda a: fixed_point(lambda x, a: x - cubic(x, a) / 20, ONES, a), unroll),
    "minimum": (lambda a: minimize_stationary(energy, ONES, a), unroll),
    "minimum, cg": (lambda a: minimize_stationary(energy, ONES, a, method="newton", linear="cg"), unroll),
    "gmres": (lambda a: linear_solve(times, right(a), a), dense),
    "cg": (lambda a: linear_solve(lambda x, m: m.T @ (m @ x), right(a), tridiagonal(a), method="cg"), symmetric),
    "sparse": (lambda a: spsolve(entries(a), PLACES, right(a)), dense),
}
FORMS = {
    "value": lambda f: f,
    "reverse": func.jacrev,
    "forward": func.jacfwd,
    "reverse, reverse": lambda f: func.jacrev(func.jacrev(f)),
    "forward, reverse": lambda f: func.jacfwd(func.jacrev(f)),
    "reverse, forward": lambda f: func.jacrev(func.jacfwd(f)),
    "forward, forward": lambda f: func.jacfwd(func.jacfwd(f)),
}


@pytest.mark.parametrize("name", SOLUTIONS)
def test_all_modes_agree_with_recorded_operations(name):
    solution, expected = SOLUTIONS[name]
    references = {order: nest(func.jacrev, order)(expected)(A) for order in range(3)}
    for form, derivative in FORMS.items():
        order = 0 if form == "value" else form.count(",") + 1
        result = derivative(solution)(A)
        assert_close(result, references[order], rtol=1e-7, atol=1e-9, msg=lambda text, form=form: f"{form}: {text}")


def nest(transform, order):
    return lambda f: f if order == 0 else transform(nest(transform, order - 1)(f))


@pytest.mark.parametrize("name", ["root", "minimum", "gmres", "sparse"])
def test_under_vmap_as_one_by_one(name):
    solution = SOLUTIONS[name][0]
    batch = adjoint.stack([A, A + 0.5, A.flip(0)])
    slope = func.grad(lambda a: (solution(a) ** 2).sum())
    assert_close(vmap(solution)(batch), adjoint.stack([solution(a) for a in batch]))
    assert_close(vmap(slope)(batch), adjoint.stack([slope(a) for a in batch]), rtol=1e-7, atol=1e-9)
    summed = func.grad(lambda batch: (vmap(solution)(batch) ** 2).sum())
    assert_close(summed(batch), vmap(slope)(batch), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", ["root", "fixed point", "sparse"])
def test_finite_differences_agree(name):
    a = A.clone().requires_grad_()
    assert gradcheck(SOLUTIONS[name][0], (a,), check_forward_ad=True) and gradgradcheck(SOLUTIONS[name][0], (a,))


def test_third_order():
    a = adjoint.tensor(2.0, dtype=F64)
    f = nest(func.grad, 3)(lambda a: root(lambda x, a: x**3 - a, adjoint.ones_like(a), a))
    assert_close(f(a), 10 / 27 * a ** (-8 / 3))


def test_trees_complex_numbers_and_functions_that_are_not_holomorphic():
    def f(x, p):
        return {"z": x["z"] * x["z"].conj() * x["z"] - p[0], "r": x["r"] + x["z"].imag - p[1]}

    z, r = adjoint.tensor(3.0 + 4.0j, dtype=adjoint.complex128), vector(1.0, 2.0)
    x0 = {"z": adjoint.ones_like(z), "r": adjoint.zeros_like(r)}

    def solution(z, r):
        return root(f, x0, (z, r, "a constant"))

    def closed_form(z, r):
        x = z * z.abs() ** (-2 / 3)
        return {"z": x, "r": r - x.imag}

    def loss(x):
        return x["z"].real + 2 * x["z"].imag ** 2 + (x["r"] ** 2).sum()

    assert_close(solution(z, r), closed_form(z, r))
    for transform in (func.grad, lambda f, argnums: func.grad(lambda *a: func.grad(f, 1)(*a).sum() ** 2, argnums)):
        result = transform(lambda *p: loss(solution(*p)), argnums=(0, 1))(z, r)
        assert_close(result, transform(lambda *p: loss(closed_form(*p)), argnums=(0, 1))(z, r))


def test_complex_sparse_and_matrix_free_systems():
    data = adjoint.tensor([2.0 + 1j, 1.0 - 1j, 4.0j], dtype=adjoint.complex128)
    b = adjoint.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=F64)
    places = sparse.coo_array((np.ones(3), ([0, 0, 1], [0, 1, 1])))

    def matrix(data):
        rows, columns = adjoint.tensor([0, 0, 1]), adjoint.tensor([0, 1, 1])
        return adjoint.zeros(2, 2, dtype=data.dtype).index_put((rows, columns), data)

    def closed_form(data, b):
        return adjoint.linalg.solve(matrix(data), b.to(data.dtype))

    candidates = [
        lambda data, b: spsolve(data, places, b),
        lambda data, b: linear_solve(lambda x, m: m @ x, b.to(data.dtype), matrix(data)),
        lambda data, b: linear_solve(matrix(data), b.to(data.dtype)),
    ]
    for solve in candidates:
        for transform in (func.grad, lambda f, n: func.grad(lambda *a: func.grad(f, 1)(*a).pow(2).sum(), n)):
            pair = [
                transform(lambda d, b, s=s: s(d, b).abs().pow(2).sum(), (0, 1))(data, b) for s in (solve, closed_form)
            ]
            assert_close(*pair)
    real = adjoint.tensor([2.0, 1.0, 4.0], dtype=F64)
    assert_close(spsolve(real, places, b + 1j * b), closed_form(real + 0j, b) * (1 + 1j))
    tangent = func.jvp(lambda d, b: spsolve(d, places, b), (data, b), (data * 2, b))[1]
    assert_close(tangent, func.jvp(closed_form, (data, b), (data * 2, b))[1])


def test_solvers_and_preconditioners_of_the_user_s():
    def bisection(f, x0):
        low, high = adjoint.zeros_like(x0), 4 * adjoint.ones_like(x0)
        for _ in range(60):
            middle = (low + high) / 2
            below = f(middle) < 0
            low, high = adjoint.where(below, middle, low), adjoint.where(below, high, middle)
        return low

    def solution(a):
        return root(lambda x, a: x**3 - a, ONES, a, method=bisection)

    assert_close(func.jacrev(solution)(A), func.jacrev(lambda a: a ** (1 / 3))(A))
    assert_close(vmap(solution)(adjoint.stack([A, 2 * A])), adjoint.stack([A, 2 * A]) ** (1 / 3))
    inverse = np.linalg.inv(MATRIX.numpy())

    def direct(operator, b):
        return np.linalg.solve(operator @ np.eye(3), b)

    for options in ({"precondition": lambda x: adjoint.from_numpy(inverse) @ x}, {"method": direct}):
        result = func.jacrev(lambda b, o=options: linear_solve(lambda x: MATRIX @ x, b, **o))(MATRIX[0])
        assert_close(result, adjoint.from_numpy(inverse), rtol=1e-7, atol=1e-9)
    assert not linear_solve(lambda x: MATRIX @ x, adjoint.zeros(3, dtype=F64)).any()


def test_single_precision_stays_single():
    x = root(lambda x, a: x**2 - a, adjoint.ones(2), adjoint.tensor([4.0, 9.0]))
    assert x.dtype == adjoint.float32 and assert_close(x, adjoint.tensor([2.0, 3.0])) is None


A3 = vector(1.0, 2.0, 3.0)
GRAD = vector(1.0, 2.0).requires_grad_()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: root(lambda x: x**2 - GRAD, ONES), RuntimeError, r"root\(\).*requires grad.*after x0"),
        (lambda: linear_solve(lambda x: GRAD * x, ONES), RuntimeError, r"linear_solve\(\).*requires grad.*after b"),
        (lambda: func.jvp(lambda a: root(lambda x: x - a, ONES), (A,), (A,)), RuntimeError, "has a tangent"),
        (lambda: root(lambda x: x**2 + 1, 0.7 * ONES), ConvergenceError, "Newton"),
        (lambda: root(lambda x: x.exp(), ONES, max_iter=5), ConvergenceError, "no convergence in 5 iterations"),
        (lambda: root(lambda x: x**2 + 1, ONES, method="hybr"), ConvergenceError, "hybr found no root"),
        (lambda: root(cubic, ONES, A, method=lambda f, x: x), ConvergenceError, "are not a solution"),
        (lambda: fixed_point(lambda x: 2 * x, ONES, max_iter=9), ConvergenceError, "contraction"),
        (lambda: linear_solve(lambda x: MATRIX @ x, A3, max_iter=1, method="bicgstab"), ConvergenceError, "stopped"),
        (lambda: linear_solve(lambda x: x, ONES, method="lu"), ValueError, "unknown method 'lu'"),
        (lambda: root(cubic, ONES, A, linear="lu"), ValueError, "unknown linear='lu'"),
        (lambda: root(lambda x: x[:1], ONES), ValueError, r"expected shape \(2,\) at x, .* returned \(1,\)"),
        (lambda: root(lambda x: x, adjoint.ones(2, dtype=adjoint.int64)), TypeError, "adjoint.int64"),
        (lambda: minimize_stationary(lambda x, a: 1.0, ONES, A), TypeError, "must return a Tensor.*returned float"),
        (lambda: minimize_stationary(lambda x, a: None, ONES, A), TypeError, "it returned NoneType"),
        (lambda: spsolve(vector(1.0), [[0], [0]], vector(1.0, 2.0)), adjoint.linalg.LinAlgError, "singular"),
        (lambda: spsolve(adjoint.tensor([1]), [[0], [0]], vector(1.0)), TypeError, "data must be"),
        (lambda: spsolve(vector(1.0), [[0, 1], [0, 1]], vector(1.0)), ValueError, r"indices of shape \(2, 2\)"),
        (lambda: spsolve(vector(1.0), [[0], [0]], adjoint.ones((), dtype=F64)), ValueError, "expected b of shape"),
        (lambda: spsolve(vector(1.0), [[0], [1]], vector(1.0)), ValueError, "rows 0 to 0, columns 1 to 1"),
    ],
)
def test_errors(call, error, message):
    with np.errstate(all="ignore"), pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("solve", [
    lambda: root(lambda x, a: x**2 + a, vector(0.0, 0.0), vector(1.0, 1.0)),
    lambda: root(lambda x: adjoint.stack([x.sum(), x.sum()]), vector(1.0, 2.0)),
    lambda: fixed_point(lambda x: x + 1, vector(1.0), method="newton"),
    lambda: minimize_stationary(lambda x: (x[0] - 1) ** 2 + 0 * x[1], vector(0.0, 0.0), method="newton"),
], ids=range(4))  # fmt: skip
def test_a_singular_jacobian_on_the_way_means_no_convergence(solve):
    with pytest.raises(ConvergenceError, match=r"\(\): the Jacobian in x is singular after \d+ steps") as caught:
        solve()
    assert "torch" not in str(caught.value)


def test_a_singular_jacobian_at_the_solution_means_no_derivative():
    a = vector(0.0).requires_grad_()
    x = root(lambda x, a: x**3 - a, vector(0.0), a)
    with pytest.raises(adjoint.linalg.LinAlgError, match=r"root\(\): the Jacobian in x is singular") as caught:
        x.sum().backward()
    assert "torch" not in str(caught.value)
