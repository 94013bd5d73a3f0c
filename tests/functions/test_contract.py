"""Contractions: NumPy's values, first and second derivatives against finite differences, torch's errors."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.kernels import contraction

RNG = np.random.default_rng(11)
KINDS = ["float64", "complex128"]


def draw(shape: Sequence[int], dtype: str = "float64") -> np.ndarray:
    values = np.asarray(RNG.standard_normal(tuple(shape)))
    if dtype.startswith("complex"):
        values = values + 1j * RNG.standard_normal(tuple(shape))
    return np.asarray(values, dtype)


def weighted_sum(result: Any) -> Any:
    """A real number that depends on every part of the result, with fixed weights."""
    rng = np.random.default_rng(3)
    weights = rng.standard_normal(tuple(result.shape)) + 0.5
    total = (result * adjoint.from_numpy(np.asarray(weights)).to(result.dtype)).sum()
    return adjoint.real(total * (1 - 0.5j)) if total.is_complex() else total


def check_gradients(f: Callable[..., Any], *values: np.ndarray, tolerance: float = 1e-6) -> None:
    """Compare first and second derivatives in a random direction with central differences."""
    directions = [draw(v.shape, str(v.dtype)) for v in values]
    step = 1e-6

    def slope(at: float, second: bool) -> float:
        inputs = [
            adjoint.from_numpy(np.asarray(v + at * d)).requires_grad_() for v, d in zip(values, directions, strict=True)
        ]
        value = weighted_sum(f(*inputs))
        if not second:
            return float(value.item())
        grads = adjoint.autograd.grad(value, inputs)
        return along([g.numpy() for g in grads])

    def along(grads: Sequence[np.ndarray]) -> float:
        return float(sum(np.real(np.vdot(d, g)) for d, g in zip(directions, grads, strict=True)))

    inputs = [adjoint.from_numpy(v.copy()).requires_grad_() for v in values]
    grads = adjoint.autograd.grad(weighted_sum(f(*inputs)), inputs, create_graph=True)
    for v, g in zip(values, grads, strict=True):
        assert g.shape == v.shape
        assert g.numpy(force=True).dtype == v.dtype
    expected = (slope(step, False) - slope(-step, False)) / (2 * step)
    assert along([g.numpy(force=True) for g in grads]) == pytest.approx(expected, rel=tolerance, abs=tolerance)
    total = sum(
        adjoint.real((adjoint.from_numpy(np.asarray(d.conj())) * g).sum())
        for d, g in zip(directions, grads, strict=True)
    )
    curvature = (slope(step, True) - slope(-step, True)) / (2 * step)
    if total.requires_grad:
        second = adjoint.autograd.grad(total, inputs, allow_unused=True)
        filled = [np.zeros_like(v) if s is None else s.numpy() for s, v in zip(second, values, strict=True)]
        assert along(filled) == pytest.approx(curvature, rel=100 * tolerance, abs=100 * tolerance)
    else:
        assert curvature == pytest.approx(0.0, abs=tolerance)


# matmul and its special cases -----------------------------------------------------------------------------------------

MATMUL_SHAPES = [
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3, 4)),
    ((5, 2, 3), (3, 4)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (4, 3, 2)),
    ((5, 2, 3), (3,)),
    ((3,), (5, 3, 4)),
    ((0, 3), (3, 4)),
    ((2, 0), (0, 4)),
    ((5, 0, 3), (3, 4)),
]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(("left", "right"), MATMUL_SHAPES)
def test_matmul(left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> None:
    a, b = draw(left, dtype), draw(right, dtype)
    result = adjoint.matmul(adjoint.from_numpy(a), adjoint.from_numpy(b))
    np.testing.assert_allclose(result.numpy(), a @ b)
    assert isinstance(result.numpy(), np.ndarray)
    check_gradients(lambda x, y: x @ y, a, b)


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(
    ("name", "left", "right", "reference"),
    [
        ("mm", (2, 3), (3, 4), np.matmul),
        ("bmm", (2, 2, 3), (2, 3, 4), np.matmul),
        ("mv", (2, 3), (3,), np.matmul),
        ("dot", (3,), (3,), np.dot),
        ("vdot", (3,), (3,), np.vdot),
        ("inner", (2, 3), (4, 3), np.inner),
        ("inner", (3,), (3,), np.inner),
        ("inner", (), (3,), np.inner),
        ("outer", (3,), (4,), np.outer),
        ("ger", (3,), (4,), np.outer),
        ("kron", (2, 4), (3,), np.kron),
        ("kron", (2,), (3, 3), np.kron),
    ],
)
def test_products(name: str, left: Any, right: Any, reference: Any, dtype: str) -> None:
    a, b = draw(left, dtype), draw(right, dtype)
    f = getattr(adjoint, name)
    np.testing.assert_allclose(f(adjoint.from_numpy(a), adjoint.from_numpy(b)).numpy(), reference(a, b))
    method = getattr(adjoint.from_numpy(a), name)
    np.testing.assert_allclose(method(adjoint.from_numpy(b)).numpy(), reference(a, b))
    check_gradients(f, a, b)


def test_matmul_runs_the_ufunc_or_a_loop_over_small_matrices() -> None:
    kernel = adjoint.rules.TABLE["matmul"].kernel(adjoint.arrays.libraries.numpy_namespace.xp)
    assert kernel.__wrapped__ is np.matmul


def test_matmul_of_integers_and_of_half_precision() -> None:
    a = np.arange(6).reshape(2, 3)
    assert (adjoint.from_numpy(a) @ adjoint.from_numpy(a.T)).numpy().tolist() == (a @ a.T).tolist()
    h = np.full((1, 4096), 1.0, np.float16)
    product = adjoint.from_numpy(h) @ adjoint.from_numpy(h.T)
    assert product.dtype is adjoint.float16
    assert product.item() == 4096.0


def test_gradients_of_a_shared_matrix_are_summed_over_the_batch() -> None:
    x, w = draw((7, 5, 3)), draw((3, 2))
    weight = adjoint.from_numpy(w).requires_grad_()
    (g,) = adjoint.autograd.grad((adjoint.from_numpy(x) @ weight).sum(), [weight])
    np.testing.assert_allclose(g.numpy(), x.sum((0, 1))[:, None] * np.ones((3, 2)))


@pytest.mark.parametrize(
    ("name", "left", "right", "message"),
    [
        ("matmul", (2, 3), (2, 3), r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 2x3\)"),
        ("matmul", (2,), (3,), r"inconsistent tensor size, expected tensor \[2\] and src \[3\]"),
        ("matmul", (2, 3), (2,), r"size mismatch, got input \(2\), mat \(2x3\), vec \(2\)"),
        ("matmul", (2,), (3, 4), r"\(1x2 and 3x4\)"),
        ("matmul", (2, 2, 3), (2, 2, 3), r"batch2 tensor to be: \[2, 3\] but got: \[2, 2\]"),
        ("matmul", (2, 2, 3), (3, 3, 4), r"The size of tensor a \(2\) must match the size of tensor b \(3\)"),
        ("matmul", (), (2,), r"need to be at least 1D, but they are 0D and 1D"),
        ("matmul", (2, 2, 3), (2, 4), r"\(4x3 and 2x4\)"),
        ("mm", (2, 3), (3,), "mat2 must be a matrix"),
        ("mm", (2, 3), (2, 3), r"\(2x3 and 2x3\)"),
        ("bmm", (2, 3), (2, 3), "batch1 must be a 3D tensor"),
        ("bmm", (2, 2, 3), (3, 3, 4), r"\[2, 3\] but got: \[3, 3\]"),
        ("mv", (2, 3), (2, 3), r"vector \+ matrix @ vector expected, got 1, 2, 2"),
        ("mv", (2, 3), (2,), r"size mismatch, got input \(2\), mat \(2x3\), vec \(2\)"),
        ("dot", (2, 3), (3,), "1D tensors expected, but got 2D and 1D tensors"),
        ("inner", (2,), (3,), r"inner\(\) the last dimension must match .* \[2\] and \[3\]"),
        ("outer", (2, 3), (3,), "outer: Expected 1-D argument self, but got 2-D"),
    ],
)
def test_shapes_that_do_not_fit(name: str, left: Any, right: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        getattr(adjoint, name)(adjoint.ones(left), adjoint.ones(right))


@pytest.mark.parametrize(
    ("name", "left", "right", "message"),
    [
        ("matmul", (2, 2), (2, 2), "expected m1 and m2 to have the same dtype, but got: float != double"),
        ("matmul", (2,), (2,), "dot : expected both vectors to have same dtype, but found Float and Double"),
        ("matmul", (2, 2), (2,), "addmv input tensors must have the same dtype, but got Double, Float, and Double"),
        ("matmul", (2, 2, 2), (2, 2, 2), "expected scalar type Float but found Double"),
        ("mm", (2, 2), (2, 2), "expected m1 and m2 to have the same dtype"),
        ("bmm", (2, 2, 2), (2, 2, 2), "expected scalar type Float but found Double"),
        ("inner", (2, 2), (2, 2), "both inputs should have same dtype"),
        ("tensordot", (2, 2), (2, 2), "both inputs should have same dtype"),
    ],
)
def test_types_are_not_promoted(name: str, left: Any, right: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        getattr(adjoint, name)(adjoint.ones(left), adjoint.ones(right, dtype=adjoint.float64))


def test_operator_does_not_promote_either() -> None:
    with pytest.raises(RuntimeError, match="float != double"):
        adjoint.ones(2, 2) @ adjoint.ones(2, 2, dtype=adjoint.float64)


def test_bool_matrices_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        adjoint.ones(2, 2, dtype=adjoint.bool) @ adjoint.ones(2, 2, dtype=adjoint.bool)


def test_numbers_are_no_matrices() -> None:
    with pytest.raises(TypeError, match=r"matmul\(\): argument 'other' \(position 2\) must be Tensor, not float"):
        adjoint.matmul(adjoint.ones(2, 2), 3.0)


# einsum ---------------------------------------------------------------------------------------------------------------

EQUATIONS: list[tuple[str, list[tuple[int, ...]]]] = [
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("ij,kj", [(2, 3), (4, 3)]),
    (" i j , j k -> i k ", [(2, 3), (3, 2)]),
    ("ii", [(3, 3)]),
    ("ii->i", [(3, 3)]),
    ("iij->j", [(3, 3, 2)]),
    ("iii->i", [(3, 3, 3)]),
    ("ii,i->i", [(3, 3), (3,)]),
    ("aab,bcc->ac", [(2, 2, 3), (3, 2, 2)]),
    ("ij->ji", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ij->j", [(2, 3)]),
    ("bA", [(2, 3)]),
    ("ij,i->", [(2, 3), (2,)]),
    ("i,j", [(2,), (3,)]),
    ("i,i,i->", [(3,), (3,), (3,)]),
    ("i,i,i->i", [(3,), (3,), (3,)]),
    ("ab,bc,cd", [(2, 3), (3, 4), (4, 2)]),
    ("bn,anm,bm->ba", [(2, 3), (4, 3, 5), (2, 5)]),
    ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
    ("b...i,b...j->...ij", [(2, 4, 3), (2, 1, 5)]),
    ("...,...", [(2, 3), (3,)]),
    ("...i->...", [(2, 3)]),
    (",", [(), ()]),
    ("", [()]),
    ("ij,kj->ik", [(0, 3), (4, 3)]),
    ("ij,jk->ik", [(2, 0), (0, 4)]),
]


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_einsum(equation: str, shapes: list[tuple[int, ...]], dtype: str) -> None:
    operands = [draw(shape, dtype) for shape in shapes]
    result = adjoint.einsum(equation, *map(adjoint.from_numpy, operands))
    np.testing.assert_allclose(result.numpy(), np.einsum(equation, *operands), atol=1e-12)
    check_gradients(lambda *x: adjoint.einsum(equation, *x), *operands)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (1, 4)]),
        ("ij,ij->ij", [(2, 3), (1, 3)]),
        ("ii,ij->", [(1, 1), (3, 2)]),
        ("ij,ij->", [(1, 3), (2, 1)]),
        ("ij,jk,ki->i", [(2, 1), (3, 4), (1, 2)]),
    ],
)
def test_einsum_broadcasts_size_one(equation: str, shapes: list[tuple[int, ...]]) -> None:
    operands = [draw(shape) for shape in shapes]
    check_gradients(lambda *x: adjoint.einsum(equation, *x), *operands)
    sizes: dict[str, int] = {}
    inputs = equation.split("->")[0].split(",")
    for labels, shape in zip(inputs, shapes, strict=True):
        for c, n in zip(labels, shape, strict=True):
            sizes[c] = max(n, sizes.get(c, 1))
    # Broadcasting every axis leaves the sum unchanged. One element of a diagonal stands for the whole diagonal.
    whole = [
        o * np.eye(sizes[labels[0]]) if labels == "ii" else np.broadcast_to(o, [sizes[c] for c in labels])
        for o, labels in zip(operands, inputs, strict=True)
    ]
    result = adjoint.einsum(equation, *map(adjoint.from_numpy, operands))
    np.testing.assert_allclose(result.numpy(), np.einsum(equation, *whole))


def test_einsum_takes_sublists_and_lists_of_operands() -> None:
    a, b = draw((2, 3)), draw((3, 4))
    x, y = adjoint.from_numpy(a), adjoint.from_numpy(b)
    np.testing.assert_allclose(adjoint.einsum(x, [0, 1], y, [1, 2], [2, 0]).numpy(), (a @ b).T)
    np.testing.assert_allclose(adjoint.einsum(x, [..., 1], y, [1, 2]).numpy(), a @ b)
    np.testing.assert_allclose(adjoint.einsum(x, [1, 0]).numpy(), a.T)
    np.testing.assert_allclose(adjoint.einsum("ij,jk", [x, y]).numpy(), a @ b)
    with pytest.raises(ValueError, match=r"not within the valid range \[0, 52\)"):
        adjoint.einsum(x, [60, 1])


def test_einsum_of_arrays_never_returns_their_memory() -> None:
    x = np.zeros((2, 2))
    for equation in ("ij->ij", "ij->ji", "ii->i"):
        adjoint.einsum(equation, x).fill_(1.0)
    assert x.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_einsum_contracts_in_a_good_order() -> None:
    shapes = ((50, 50), (50, 50), (50,))
    assert contraction.contraction_path("ij,jk,k->i", shapes) == ((1, 2), (0, 1))


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk", [(2, 3), (2, 3)], "j has size 2 for operand 1 which does not broadcast with previously seen size 3"),
        ("ii", [(1, 3)], "subscript i is repeated for operand 0 but the sizes don't match, 3 != 1"),
        ("ij", [(2,)], r"\(2\) does not match the number of dimensions \(1\) for operand 0 and no ellipsis"),
        ("ij...", [(2,)], r"\(2\) is more than the number of dimensions \(1\) for operand 0"),
        ("i,j", [(2,)], "fewer operands were provided than specified in the equation"),
        ("i", [(2,), (3,)], "more operands were provided than specified in the equation"),
        ("ij->k", [(2, 3)], "output subscript k does not appear in the equation for any input operand"),
        ("ij->ii", [(2, 3)], "output subscript i appears more than once in the output"),
        ("i.j", [(2, 3)], "found '.' for operand 0 that is not part of any ellipsis"),
        ("...i...", [(2, 3)], "found '.' for operand 0 for which an ellipsis was already found"),
        ("i->i.", [(2,)], r"found '.' for output that is not part of any ellipsis \(...\)"),
        ("i->......", [(2,)], r"found '.' for output but an ellipsis \(...\) was already found"),
        ("i->i->i", [(2,)], "invalid subscript given at index 4 in the equation string"),
        ("i$", [(2,)], "invalid subscript given at index 1 in the equation string"),
    ],
)
def test_malformed_equations(equation: str, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        adjoint.einsum(equation, *[adjoint.ones(*shape) for shape in shapes])


def test_einsum_types() -> None:
    x, y = adjoint.ones(2), adjoint.ones(2, dtype=adjoint.float64)
    assert adjoint.einsum("i,i->i", x, y).dtype is adjoint.float64
    # einsum gives int64 if it sums integers, and keeps the type if it multiplies matrices
    a, b = adjoint.ones(2, 2, dtype=adjoint.int32), adjoint.ones(2, dtype=adjoint.bool)
    summed = {"ij->": [a], "ii": [a], "ij,j->j": [a, a[0]], "i->": [b]}
    assert {adjoint.einsum(equation, *tensors).dtype for equation, tensors in summed.items()} == {adjoint.int64}
    assert adjoint.einsum("i->", b) == 2
    assert {adjoint.einsum(equation, a, a).dtype for equation in ("ij,jk->ik", "ij,ij->")} == {adjoint.int32}
    # an axis that broadcasts is summed, and so are all axes if there are three operands
    column = adjoint.ones(2, 1, dtype=adjoint.int32)
    for equation, operands in {"ij,jk->ik": (column, a), "i,j,jk->i": (a[0], a[0], a)}.items():
        result = adjoint.einsum(equation, *operands)
        assert result.dtype is adjoint.int64
        assert result.tolist() == adjoint.einsum(equation, *[operand.double() for operand in operands]).tolist()
    with pytest.raises(RuntimeError, match="expected scalar type Float but found Double"):
        adjoint.einsum("i,i", x, y)
    with pytest.raises(TypeError, match="expected Tensor as element 0 in argument 1, but got float"):
        adjoint.einsum("i", 3.0)
    with pytest.raises(TypeError, match=r"argument 'equation' \(position 1\) must be str, not int"):
        adjoint.einsum(3, x)
    with pytest.raises(ValueError, match="must specify the equation string and at least one operand"):
        adjoint.einsum("i")


def test_second_order_of_einsum_of_two_types() -> None:
    x = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64, requires_grad=True)
    y = adjoint.tensor([3, 4, 5])
    g = adjoint.ones(2, 3, dtype=adjoint.float64, requires_grad=True)
    (gradient,) = adjoint.autograd.grad(adjoint.einsum("i,j", x, y), x, g, create_graph=True)
    assert gradient.tolist() == [12.0, 12.0]
    (second,) = adjoint.autograd.grad(gradient.sum(), g)
    assert second.tolist() == [[3.0, 4.0, 5.0]] * 2


# tensordot ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(
    ("left", "right", "dims"),
    [
        ((2, 3), (2, 3, 4), 2),
        ((2, 3), (3, 2), ([0, 1], [1, 0])),
        ((2, 3), (3, 4), 1),
        ((2, 3), (4,), 0),
        ((2, 3, 4), (4, 5, 3), ([1, 2], [2, 0])),
        ((2, 3, 4), (4, 5, 3), ([-1, 1], [0, 2])),
        ((2, 3, 4), (3, 4, 2, 5), ([2, 0], [1, 2])),
    ],
)
def test_tensordot(left: Any, right: Any, dims: Any, dtype: str) -> None:
    a, b = draw(left, dtype), draw(right, dtype)
    f = lambda x, y: adjoint.tensordot(x, y, dims=dims)
    result = f(adjoint.from_numpy(a), adjoint.from_numpy(b))
    np.testing.assert_allclose(result.numpy(), np.tensordot(a, b, dims))
    check_gradients(f, a, b)


def test_tensordot_broadcasts_size_one_and_refuses_the_rest() -> None:
    a, b = draw((2, 3)), draw((1, 4))
    result = adjoint.tensordot(adjoint.from_numpy(a), adjoint.from_numpy(b), dims=1)
    np.testing.assert_allclose(result.numpy(), a.sum(1)[:, None] * b)
    check_gradients(lambda x, y: adjoint.tensordot(x, y, dims=1), a, b)
    whole = [adjoint.ones(*shape, dtype=adjoint.int32) for shape in ((2, 3), (1, 4))]
    assert adjoint.tensordot(*whole, dims=1).dtype is adjoint.int32
    x = adjoint.ones(2, 3)
    for dims, message in [
        (1, "contracted dimensions need to match, but first has size 3 in dim -1 and second has size 2 in dim 0"),
        (3, "tensordot expects dims < ndim_a or ndim_b, but got dims=3"),
        (-1, "tensordot expects dims >= 0, but got dims=-1"),
        (([0], [1, 0]), "both dimension lists should have same length"),
    ]:
        with pytest.raises(RuntimeError, match=message):
            adjoint.tensordot(x, x, dims=dims)
    with pytest.raises(IndexError, match="Dimension out of range"):
        adjoint.tensordot(x, x, dims=([5], [0]))


# sums and maps --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("options", [{}, {"beta": 2}, {"alpha": 0.5}, {"beta": 0, "alpha": 3}])
@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("addmm", [(4,), (2, 3), (3, 4)]),
        ("addmm", [(2, 4), (2, 3), (3, 4)]),
        ("baddbmm", [(2, 1, 4), (2, 2, 3), (2, 3, 4)]),
        ("addmv", [(2,), (2, 3), (3,)]),
        ("addmv", [(), (2, 3), (3,)]),
        ("addbmm", [(2, 4), (5, 2, 3), (5, 3, 4)]),
        ("addr", [(2, 4), (2,), (4,)]),
    ],
)
def test_products_with_something_added(name: str, shapes: Any, options: dict[str, Any], dtype: str) -> None:
    added, left, right = [draw(shape, dtype) for shape in shapes]
    product = {"addr": np.multiply.outer, "addbmm": lambda a, b: (a @ b).sum(0)}.get(name, np.matmul)(left, right)
    expected = options.get("beta", 1) * added + options.get("alpha", 1) * product
    f = lambda *x: getattr(adjoint, name)(*x, **options)
    np.testing.assert_allclose(f(*map(adjoint.from_numpy, (added, left, right))).numpy(), expected)
    check_gradients(f, added, left, right)


def test_addmm_in_place_and_beta_zero() -> None:
    x = adjoint.full((2, 2), math.nan)
    assert adjoint.addmm(x, adjoint.eye(2), adjoint.eye(2), beta=0).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    y = adjoint.ones(2, 2)
    assert y.addmm_(adjoint.eye(2), adjoint.eye(2), alpha=2) is y
    assert y.tolist() == [[3.0, 1.0], [1.0, 3.0]]


@pytest.mark.parametrize(
    ("name", "shapes", "message"),
    [
        ("addmm", [(2,), (2, 3), (3, 4)], r"The expanded size of the tensor \(4\) must match the existing size \(2\)"),
        ("addmm", [(4,), (2, 3), (2, 4)], "mat1 and mat2 shapes cannot be multiplied"),
        ("addmm", [(4,), (2, 3, 1), (2, 4)], "mat1 must be a matrix, got 3-D tensor"),
        ("addmm", [(2, 2, 3), (2, 3), (3, 3)], r"the number of sizes provided \(2\) must be greater or equal"),
        ("addmv", [(3,), (2, 3), (3,)], r"size mismatch, got input \(3\), mat \(2x3\), vec \(3\)"),
    ],
)
def test_what_is_added_must_fit(name: str, shapes: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        getattr(adjoint, name)(*[adjoint.ones(*shape) for shape in shapes])


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 3), (4, 3), (4,)],
        [(3,), (4, 3), (4,)],
        [(5, 2, 3), (4, 3), (4,)],
        [(0, 3), (4, 3), (4,)],
        [(2, 3), (4, 3)],
        [(3,), (3,)],
        [(2, 3), (3,)],
    ],
)
def test_linear(shapes: Any, dtype: str) -> None:
    operands = [draw(shape, dtype) for shape in shapes]
    expected = operands[0] @ operands[1].T + (operands[2] if len(operands) > 2 else 0)
    f = adjoint.nn.functional.linear
    np.testing.assert_allclose(f(*map(adjoint.from_numpy, operands)).numpy(), expected)
    check_gradients(f, *operands)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(2, 3), (4, 2), (4,)], r"\(2x3 and 2x4\)"),
        ([(2, 3), (4, 3), (3,)], r"The expanded size of the tensor \(4\) must match the existing size \(3\)"),
        ([(2, 3), (4, 4, 3)], r"t\(\) expects a tensor with <= 2 dimensions, but self is 3D"),
        ([(), (2, 3)], "both arguments to linear need to be at least 1D, but they are 0D and 2D"),
    ],
)
def test_linear_errors(shapes: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        adjoint.nn.functional.linear(*[adjoint.ones(shape) for shape in shapes])


def test_bilinear() -> None:
    a, b, w, c = draw((2, 3)), draw((2, 4)), draw((5, 3, 4)), draw((5,))
    f = adjoint.nn.functional.bilinear
    expected = np.einsum("bi,oij,bj->bo", a, w, b) + c
    np.testing.assert_allclose(f(*map(adjoint.from_numpy, (a, b, w, c))).numpy(), expected)
    check_gradients(f, a, b, w, c)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ([(2, 5, 3), (5, 4), (6, 3, 4)], "input dimensions do not match: got 3 and 2"),
        ([(5, 3), (1, 4), (6, 3, 4)], "input batch dimensions do not match at dim 0: got 5 and 1"),
        ([(5, 3), (5, 4), (6, 4, 4)], "input1 size does not match weight size: got 3 but expected 4"),
        ([(5, 3), (5, 4), (6, 3, 3)], "input2 size does not match weight size: got 4 but expected 3"),
        ([(5, 3), (5, 4), (6, 3, 4), (1,)], "bias size does not match weight size: got 1 but expected 6"),
    ],
)
def test_bilinear_errors(shapes: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=rf"bilinear\(\): {message}"):
        adjoint.nn.functional.bilinear(*[adjoint.ones(shape) for shape in shapes])


@pytest.mark.parametrize("dtype", KINDS)
def test_trace_cross_and_chains(dtype: str) -> None:
    a = draw((3, 4), dtype)
    assert adjoint.trace(adjoint.from_numpy(a)).item() == pytest.approx(np.trace(a))
    check_gradients(adjoint.trace, a)
    u, v = draw((2, 3), dtype), draw((2, 3), dtype)
    product = adjoint.linalg.cross(adjoint.from_numpy(u), adjoint.from_numpy(v))
    np.testing.assert_allclose(product.numpy(), np.cross(u, v))
    check_gradients(adjoint.linalg.cross, u, v)
    check_gradients(lambda x, y: adjoint.linalg.cross(x, y, dim=0), u.T.copy(), v[:1].T.copy())
    check_gradients(adjoint.linalg.vecdot, u, v)
    chain = [draw(s, dtype) for s in [(3,), (3, 4), (4, 5), (5,)]]
    product = adjoint.linalg.multi_dot([adjoint.from_numpy(m) for m in chain])
    np.testing.assert_allclose(product.numpy(), np.linalg.multi_dot(chain))
    check_gradients(lambda *m: adjoint.linalg.multi_dot(m), *chain)


def test_chain_errors() -> None:
    with pytest.raises(RuntimeError, match="expected at least 2 tensors but got 1"):
        adjoint.linalg.multi_dot([adjoint.ones(3)])
    with pytest.raises(RuntimeError, match=r"tensors 0 and 1 with shapes \[2, 3\] and \[2, 3\] cannot be multiplied"):
        adjoint.linalg.multi_dot([adjoint.ones(2, 3), adjoint.ones(2, 3)])
    with pytest.raises(RuntimeError, match=r"must have be the same dtype but tensor 0 is float and tensor 1 double$"):
        adjoint.linalg.multi_dot([adjoint.ones(2), adjoint.ones(2).double()])
    with pytest.raises(RuntimeError, match="trace: expected a matrix, but got tensor with dim 3"):
        adjoint.trace(adjoint.ones(2, 3, 3))
    with pytest.raises(RuntimeError, match="inputs dimension -1 must have length 3"):
        adjoint.linalg.cross(adjoint.ones(2, 2), adjoint.ones(2, 2))
    with pytest.raises(IndexError, match="Dimension specified as -1 but tensor has no dimensions"):
        adjoint.linalg.cross(adjoint.ones(()), adjoint.ones(()))


def test_vecdot_takes_one_dtype_and_vectors_of_one_length() -> None:
    x = adjoint.ones(2)
    assert adjoint.linalg.vecdot(x, 2 * x).item() == 4
    assert adjoint.linalg.vecdot(x[:1], adjoint.ones(3, 2)).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match=r"found x of type Float and y of type Double instead$"):
        adjoint.linalg.vecdot(x, x.double())
    with pytest.raises(RuntimeError, match=r"expected tensor \[2\] and src \[1\] to have the same number of elements"):
        adjoint.linalg.vecdot(x, x[:1])


def test_an_infinite_cotangent_of_a_trace_reaches_only_the_diagonal() -> None:
    a = adjoint.zeros(2, 3, requires_grad=True)
    adjoint.trace(a).sqrt().backward()
    assert a.grad.tolist() == [[math.inf, 0.0, 0.0], [0.0, math.inf, 0.0]]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("inner", [(3,), (3,)]),
        ("outer", [(3,), (2,)]),
        ("ger", [(3,), (2,)]),
        ("kron", [(2, 3), (2, 2)]),
        ("tensordot", [(2, 3), (2, 3)]),
        ("chain_matmul", [(2, 3), (3, 4), (4, 2)]),
        ("linalg.matmul", [(2, 3), (3, 4)]),
    ],
)
def test_products_write_into_out(name: str, args: list[tuple[int, ...]]) -> None:
    function = adjoint.linalg.matmul if name == "linalg.matmul" else getattr(adjoint, name)
    operands = [adjoint.from_numpy(draw(shape)) for shape in args]
    out = adjoint.empty(0, dtype=adjoint.float64)
    assert function(*operands, out=out) is out
    np.testing.assert_array_equal(out.numpy(), function(*operands).numpy())


def test_operands_of_addr_are_promoted() -> None:
    row = adjoint.tensor([1, 2])
    y = adjoint.addr(adjoint.zeros(2, 2), row, row.to(adjoint.complex64))
    assert y.dtype is adjoint.complex64 and y.tolist() == [[1, 2], [2, 4]]
    x = adjoint.ones(2, 2)
    assert x.addr_(row.double(), row) is x and x.dtype is adjoint.float32 and x.tolist() == [[2, 3], [3, 5]]
    with pytest.raises(RuntimeError, match="result type Double can't be cast to the desired output type Long"):
        row.expand(2, 2).clone().addr_(row.double(), row)


@pytest.mark.parametrize("name", ["addmm", "addr", "baddbmm", "addmv", "addbmm"])
def test_factors_that_the_type_cannot_hold(name: str) -> None:
    shapes = {"addr": (1, 1), "addmv": (2, 1), "addmm": (2, 2)}.get(name, (3, 3))
    left, right = [adjoint.ones((2,) * ndim) for ndim in shapes]
    for factor in ("beta", "alpha"):
        with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
            getattr(adjoint, name)(adjoint.ones(()), left, right, **{factor: 1j})


def test_products_of_bools() -> None:
    column, row = adjoint.tensor([True, False]), adjoint.tensor([True, True])
    none = adjoint.zeros(2, 2, dtype=adjoint.bool)
    assert none.addr(column, row).tolist() == [[True, True], [False, False]]
    assert not none.addr(column, row, alpha=0).any()
    assert (~none).addr(column, row, beta=0).tolist() == [[True, True], [False, False]]
    assert none.addr_(row, column) is none and none.tolist() == [[True, False], [True, False]]
    with pytest.raises(NotImplementedError, match="\"addmm_impl_cpu_\" not implemented for 'Bool'"):
        adjoint.addmm(none, none, none)


def test_vector_products_of_bools_are_refused() -> None:
    x = adjoint.ones(3, dtype=adjoint.bool)
    with pytest.raises(NotImplementedError, match="\"cross\" not implemented for 'Bool'"):
        adjoint.cross(x, x)


def test_product_of_one_matrix_is_a_copy() -> None:
    x = adjoint.ones(2, 2)
    adjoint.chain_matmul(x).add_(1)
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_product_of_a_vector_and_a_matrix_is_no_chain() -> None:
    with pytest.raises(RuntimeError, match=r"^Tensor dimension is 1, expected 2 instead\.$"):
        adjoint.chain_matmul(adjoint.ones(3), adjoint.ones(3, 3))


def test_factors_of_whole_numbers() -> None:
    ones = adjoint.ones(2, 2, dtype=adjoint.int64)
    assert adjoint.addmm(ones, ones, ones, alpha=1.5, beta=2.5).tolist() == [[4, 4], [4, 4]]
    assert adjoint.addmv(ones[0], ones, ones[0], alpha=0.5).tolist() == [1, 1]
    for name in ("alpha", "beta"):
        with pytest.raises(RuntimeError, match=f"argument {name} must not be a floating point number"):
            adjoint.addr(ones, ones[0], ones[0], **{name: 0.5})


def test_einsum_of_one_operand_is_a_view() -> None:
    x = adjoint.arange(18.0).reshape(3, 2, 3).clone().requires_grad_()
    for equation in ("iji->ji", "ijk->kij", "...->..."):
        y = adjoint.einsum(equation, x)
        assert y._base is x, equation
        np.testing.assert_array_equal(y.detach().numpy(), np.einsum(equation, x.detach().numpy()))
    adjoint.einsum("iji->ji", x).sum().backward()
    assert x.grad.sum().item() == 6 and x.grad[1, 1, 1] == 1
    assert not adjoint.einsum("ijk->ij", x)._is_view()
    with pytest.raises(RuntimeError):
        adjoint.einsum("ii->i", adjoint.ones(2, 3))


#: Equations, and the shapes of two factors; every axis that is summed over has one element.
SUMS_OVER_ONE = [
    ("ab,bc->ac", (2, 1), (1, 3)),
    ("ab,b->a", (2, 1), (1,)),
    ("abc,cd->abd", (2, 2, 1), (1, 3)),
    ("ab,ab->a", (2, 1), (2, 1)),
    ("ab,ab->", (1, 1), (1, 1)),
    ("abc,adc->abd", (2, 1, 1), (2, 3, 1)),
]


@pytest.mark.parametrize(("equation", "left", "right"), SUMS_OVER_ONE)
@pytest.mark.parametrize(
    ("first", "second", "common"),
    [("int8", "float32", "float32"), ("float32", "float64", "float64"), ("float16", "bfloat16", "float32")],
)
def test_einsum_promotes_if_no_sum_has_two_terms(
    equation: str, left: Any, right: Any, first: str, second: str, common: str
) -> None:
    """Torch multiplies then; it runs a matrix product, which needs one dtype, for longer sums only."""
    a, b = adjoint.ones(left, dtype=getattr(adjoint, first)), 2 * adjoint.ones(right, dtype=getattr(adjoint, second))
    result = adjoint.einsum(equation, a, b)
    assert result.dtype is getattr(adjoint, common) and result.eq(2).all()
    factors = [each.clone().requires_grad_() if each.is_floating_point() else each for each in (a, b)]
    adjoint.einsum(equation, *factors).sum().backward()
    assert all(each.grad.dtype is each.dtype for each in factors if each.requires_grad)
