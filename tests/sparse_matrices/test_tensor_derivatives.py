"""Functions of sparse tensors against dense ones: values, gradients of each order, layouts of gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import adjoint
from adjoint import Tensor, sparse
from adjoint.autograd import grad, gradcheck, gradgradcheck
from adjoint.nn import functional

LAYOUTS = (adjoint.sparse_coo, adjoint.sparse_csr, adjoint.sparse_csc, adjoint.sparse_bsr, adjoint.sparse_bsc)
PLAIN = LAYOUTS[:3]
M, N = 4, 6


def values_at_random(seed: int = 0, kind: str = "float64") -> np.ndarray:
    random = np.random.default_rng(seed)
    numbers = random.uniform(0.2, 0.9, (M, N)).astype(kind)
    if kind.startswith("complex"):
        numbers = numbers + 1j * random.uniform(-1, 1, (M, N))
    return np.asarray(numbers * (random.random((M, N)) < 0.4), kind)


def make(layout: Any, seed: int = 0, kind: str = "float64") -> Tensor:
    x = adjoint.from_numpy(values_at_random(seed, kind))
    return x.to_sparse(layout=layout, blocksize=(2, 3) if "_bs" in repr(layout) else None).requires_grad_()


def leaf_with_repeats() -> Tensor:
    """A leaf with several values at one position, and in no order."""
    random = np.random.default_rng(3)
    indices = [random.integers(0, n, 11) for n in (M, N)]
    return adjoint.sparse_coo_tensor(np.stack(indices), random.uniform(0.1, 0.3, 11), (M, N), requires_grad=True)


def fixed_tensor(*shape: int, seed: int = 5) -> Tensor:
    return adjoint.from_numpy(np.random.default_rng(seed).uniform(0.2, 1, shape))


def as_strided(x: Tensor) -> Tensor:
    return x.to_dense() if x.layout is not adjoint.strided else x


Function = Callable[[Tensor], Tensor]
#: Functions of sparse tensors of any layout that also work on dense tensors.
ANY: dict[str, Function] = {
    "neg": lambda s: -s,
    "abs": abs,
    "times number": lambda s: 3 * s,
    "times tensor of no axes": lambda s: s * fixed_tensor(),
    "divided": lambda s: s / 2,
    "times dense": lambda s: s * fixed_tensor(M, N),
    "dense times": lambda s: fixed_tensor(M, N) * s,
    "times row": lambda s: s * fixed_tensor(N),
    "times column": lambda s: s * fixed_tensor(M, 1),
    "times itself": lambda s: s * s,
    "plus itself": lambda s: s + 2 * s,
    "minus": lambda s: s - s * s,
    "dense plus": lambda s: fixed_tensor(M, N) + s,
    "dense minus": lambda s: adjoint.sub(fixed_tensor(M, N), s, alpha=2),
    "power": lambda s: s**3,
    "clone": lambda s: s.clone(),
    "sum": lambda s: s.sum(),
    **{
        name: (lambda s, name=name: getattr(adjoint, name)(s))
        for name in (
            "sin", "sinh", "asin", "asinh", "tan", "tanh", "atan", "atanh", "expm1", "log1p", "square", "relu",
            "erf", "erfinv", "deg2rad", "rad2deg", "sgn", "frac",
        )
    },
}  # fmt: skip
#: Functions of matrices in layouts without blocks.
MATRICES: dict[str, Function] = {
    "matrix product": lambda s: s @ fixed_tensor(N, 3),
    "matrix times vector": lambda s: s @ fixed_tensor(N),
    "product from the left": lambda s: fixed_tensor(3, M) @ s,
    "vector from the left": lambda s: fixed_tensor(M) @ s,
    "products in a batch": lambda s: s @ fixed_tensor(2, N, 3),
    "transposed": lambda s: s.t() @ fixed_tensor(M, 2),
    "exchanged axes": lambda s: s.transpose(0, 1) * fixed_tensor(N, M),
    "addmm": lambda s: adjoint.addmm(fixed_tensor(M, 2), s, fixed_tensor(N, 2), beta=0.5, alpha=2),
    "linear": lambda s: functional.linear(fixed_tensor(3, N), s, fixed_tensor(M)),
    "row": lambda s: s[1],
    "column": lambda s: s[:, 2],
    "element": lambda s: s[2, 3] * 2,
    "last row": lambda s: s[-1],
    "rows": lambda s: s.index_select(0, adjoint.tensor([2, 0, 2])),
    "columns": lambda s: s.index_select(1, adjoint.tensor([5, 5, 1])),
    "one behind the other": lambda s: adjoint.cat([s, 2 * s], 1),
    "stacked": lambda s: adjoint.stack([s, 2 * s], 1),
    "another axis": lambda s: s.unsqueeze(1),
}
COO: dict[str, Function] = {
    "sum of columns": lambda s: s.sum(0),
    "sum of rows, kept": lambda s: s.sum(1, keepdim=True),
}


def of_layouts(functions: dict[str, Function], layouts: tuple[Any, ...]) -> list[Any]:
    return [
        pytest.param(function, layout, id=f"{name}-{str(layout)[8:]}")
        for name, function in functions.items()
        for layout in layouts
    ]


#: Functions with a kink at zero. Blocks store some zeros.
CORNERS = ("abs", "relu", "sgn", "frac")
CASES = of_layouts(ANY, LAYOUTS) + of_layouts(MATRICES, PLAIN) + of_layouts(COO, LAYOUTS[:1])


@pytest.mark.parametrize(("function", "layout"), CASES)
def test_beside_dense(function: Function, layout: Any) -> None:
    s = make(layout)
    x = s.detach().to_dense().requires_grad_()
    result, expected = as_strided(function(s)), function(x)
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
    weights = fixed_tensor(*expected.shape)
    (result * weights).sum().backward()
    (expected * weights).sum().backward()
    mask = s.detach().to_dense() != 0
    np.testing.assert_allclose(s.grad.to_dense() * mask, x.grad * mask, rtol=1e-12)


@pytest.mark.parametrize(("function", "layout"), CASES)
def test_second_order_and_forward(function: Function, layout: Any) -> None:
    def to_strided(s: Tensor) -> Tensor:
        return as_strided(function(s))

    s = make(layout)
    has_corner = function in [ANY[name] for name in CORNERS]
    if has_corner and "_bs" in repr(layout):
        return
    assert gradcheck(to_strided, s, masked=True, fast_mode=True, check_forward_ad=True)
    if not has_corner:
        assert gradgradcheck(to_strided, s, masked=True, fast_mode=True, check_fwd_over_rev=True)


@pytest.mark.parametrize("name", [*ANY, *MATRICES, *COO])
def test_values_in_one_place(name: str) -> None:
    function = {**ANY, **MATRICES, **COO}[name]
    s = leaf_with_repeats()
    x = s.detach().to_dense().requires_grad_()
    result, expected = as_strided(function(s)), function(x)
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), rtol=1e-12)
    result.sum().backward()
    expected.sum().backward()
    mask = s.detach().to_dense() != 0
    np.testing.assert_allclose(s.grad.to_dense() * mask, x.grad * mask, rtol=1e-12)


@pytest.mark.parametrize("layout", PLAIN)
def test_complex_products(layout: Any) -> None:
    s = make(layout, kind="complex128")
    b = (fixed_tensor(N, 2) * (1 + 2j)).requires_grad_()
    x = s.detach().to_dense().requires_grad_()
    (sparse.mm(s, b).abs() ** 2).sum().backward()
    grad, b.grad = b.grad, None
    ((x @ b).abs() ** 2).sum().backward()
    np.testing.assert_allclose(grad, b.grad)
    np.testing.assert_allclose(s.grad.to_dense(), x.grad * (x.detach() != 0))


# torch.sparse ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", PLAIN)
def test_sparse_mm(layout: Any) -> None:
    s, b = make(layout), fixed_tensor(N, 3).requires_grad_()
    product = sparse.mm(s, b)
    expected = scipy.sparse.csr_array(s.detach().to_dense().numpy()) @ b.detach().numpy()
    np.testing.assert_allclose(product.detach(), expected)
    product.sum().backward()
    assert s.grad.layout is layout
    assert s.grad._nnz() == s._nnz()
    assert gradcheck(sparse.mm, (s, b), masked=True)
    assert gradgradcheck(sparse.mm, (s, b), masked=True)
    left = fixed_tensor(3, M).requires_grad_()
    assert gradcheck(lambda s, a: sparse.mm(a, s), (s, left), masked=True)
    assert gradcheck(lambda s, b: sparse.addmm(fixed_tensor(M, 3), s, b, beta=2, alpha=0.5), (s, b), masked=True)


@pytest.mark.parametrize("layout", PLAIN)
@pytest.mark.parametrize("other", PLAIN)
def test_product_of_two_sparse_matrices(layout: Any, other: Any) -> None:
    a, b = make(layout), make(other, 1)
    product = sparse.mm(a, b.t())
    assert product.layout is layout
    expected = a.detach().to_dense() @ b.detach().to_dense().T
    np.testing.assert_allclose(product.detach().to_dense(), expected)
    check = sparse.as_sparse_gradcheck(gradcheck)
    assert check(lambda a, b: sparse.mm(a, b.t()), (a, b), masked=True)
    assert check(lambda a, b: a @ b.t(), (a, b), masked=False)
    assert sparse.as_sparse_gradcheck(gradgradcheck)(lambda a, b: a @ b.t(), (a, b), masked=True)


def test_products_and_softmax_without_sparse_parts() -> None:
    a, b = fixed_tensor(M, N).requires_grad_(), fixed_tensor(N, 3).requires_grad_()
    product = sparse.mm(a, b)
    assert product.layout is adjoint.strided and product.grad_fn.name() == "MmBackward0"
    np.testing.assert_allclose(product.detach(), a.detach() @ b.detach())
    vector = adjoint.tensor([1.0, 0.0, 2.0]).to_sparse()
    np.testing.assert_allclose(
        sparse.softmax(vector, 0).to_dense()[[0, 2]], adjoint.tensor([1.0, 2.0]).softmax(0), rtol=1e-6
    )


def test_whole_numbers_take_no_sparse_ones_with_fractions() -> None:
    x = adjoint.ones(2, 2, dtype=adjoint.int64)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type Long"):
        x.add_(adjoint.ones(2, 2).to_sparse())
    assert x.tolist() == [[1, 1], [1, 1]]


def test_reduced_products() -> None:
    s, b = make(adjoint.sparse_csr), fixed_tensor(N, 2).requires_grad_()
    x = s.detach().to_dense().numpy()
    for reduce, function in (("sum", np.sum), ("mean", np.mean), ("amax", np.max), ("amin", np.min), ("prod", np.prod)):
        result = sparse.mm(s, b, reduce)
        for row, numbers in zip(result.detach().numpy(), x, strict=True):
            columns = np.flatnonzero(numbers)
            terms = numbers[columns, None] * b.detach().numpy()[columns]
            np.testing.assert_allclose(row, function(terms, axis=0) if len(columns) else 0)
        assert gradcheck(lambda s, b, how=reduce: sparse.mm(s, b, how), (s, b), masked=True)


def test_sampled_addmm() -> None:
    s, a, b = make(adjoint.sparse_csr), fixed_tensor(M, 2).requires_grad_(), fixed_tensor(2, N, seed=6).requires_grad_()
    result = sparse.sampled_addmm(s, a, b, beta=0.5, alpha=2)
    assert result.layout is adjoint.sparse_csr
    x = s.detach().to_dense()
    np.testing.assert_allclose(result.detach().to_dense(), (0.5 * x + 2 * (a @ b).detach()) * (x != 0))
    function = lambda *args: sparse.sampled_addmm(*args, beta=0.5, alpha=2).to_dense()
    assert gradcheck(function, (s, a, b), masked=True)
    assert gradgradcheck(function, (s, a, b), masked=True)


def hybrid() -> Tensor:
    random = np.random.default_rng(4)
    x = random.uniform(0.2, 1, (3, 4, 2)) * (random.random((3, 4, 1)) < 0.6)
    return adjoint.from_numpy(x).to_sparse(2).requires_grad_()


@pytest.mark.parametrize("dim", [None, 0, 1, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_sparse_sum(dim: Any) -> None:
    s = hybrid()
    result = sparse.sum(s, dim)
    expected = s.detach().to_dense().numpy().sum(axis=dim)
    np.testing.assert_allclose(as_strided(result).detach(), expected)
    assert (result.layout is adjoint.strided) == (dim is None or {0, 1} <= set(np.atleast_1d(dim).tolist()))
    as_strided(result).sum().backward()
    assert s.grad.layout is adjoint.sparse_coo
    assert s.grad.dense_dim() == 1
    assert gradcheck(lambda s: as_strided(sparse.sum(s, dim)), s, masked=True)


def test_sparse_sum_of_another_dtype() -> None:
    assert sparse.sum(hybrid(), 0, dtype=adjoint.float32).dtype is adjoint.float32


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
def test_softmax(dim: int) -> None:
    s = hybrid()
    x = s.detach().to_dense()
    mask = x != 0
    for name in ("softmax", "log_softmax"):
        result = getattr(sparse, name)(s, dim)
        with np.errstate(invalid="ignore"):
            expected = getattr(adjoint, name)(adjoint.where(mask, x, -np.inf), dim)
        np.testing.assert_allclose(result.detach().to_dense(), adjoint.where(mask, expected, 0.0), atol=1e-15)
        assert gradcheck(lambda s, name=name: getattr(sparse, name)(s, dim).to_dense(), s, masked=True)
        assert gradgradcheck(lambda s, name=name: getattr(sparse, name)(s, dim).to_dense(), s, masked=True)
    assert sparse.softmax(s, dim, dtype=adjoint.float32).dtype is adjoint.float32


def test_spdiags() -> None:
    diagonals = fixed_tensor(3, 5).requires_grad_()
    offsets = adjoint.tensor([0, -1, 2])
    for layout in (None, *PLAIN):
        matrix = sparse.spdiags(diagonals, offsets, (4, 6), layout)
        assert matrix.layout is (layout or adjoint.sparse_coo)
        expected = scipy.sparse.spdiags(diagonals.detach().numpy(), offsets.numpy(), 4, 6).toarray()
        np.testing.assert_array_equal(matrix.detach().to_dense(), expected)
        assert gradcheck(lambda d, layout=layout: sparse.spdiags(d, offsets, (4, 6), layout).to_dense(), diagonals)


@pytest.mark.parametrize("layout", PLAIN)
def test_spsolve(layout: Any) -> None:
    x = adjoint.from_numpy(values_at_random()[:, :M] + 3 * np.eye(M))
    s = x.to_sparse(layout=layout).requires_grad_()
    b = fixed_tensor(M, 2).requires_grad_()
    solution = sparse.spsolve(s, b)
    np.testing.assert_allclose(solution.detach(), np.linalg.solve(x.numpy(), b.detach().numpy()))
    solution.sum().backward()
    assert s.grad.layout is layout
    assert gradcheck(sparse.spsolve, (s, b), masked=True)
    np.testing.assert_allclose((sparse.spsolve(s, b.T, left=False) @ x).detach(), b.T.detach())
    np.testing.assert_allclose(sparse.linalg.gmres(s, b[:, 0]).detach(), solution[:, 0].detach(), rtol=1e-6)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_patterns(data: st.DataObject) -> None:
    m, n, k = (data.draw(st.integers(1, 5)) for _ in range(3))
    places = data.draw(st.lists(st.tuples(st.integers(0, m - 1), st.integers(0, n - 1)), max_size=12))
    numbers = np.arange(1.0, len(places) + 1)
    indices = np.array(places, dtype=np.int64).reshape(-1, 2).T
    layout = data.draw(st.sampled_from(PLAIN))
    s = adjoint.sparse_coo_tensor(indices, numbers, (m, n)).to_sparse(layout=layout).requires_grad_()
    x = np.zeros((m, n))
    np.add.at(x, tuple(indices), numbers)
    np.testing.assert_array_equal(s.detach().to_dense(), x)
    dense = adjoint.from_numpy(x.copy()).requires_grad_()
    b = adjoint.from_numpy(np.arange(1.0, n * k + 1).reshape(n, k)).requires_grad_()
    (sparse.mm(s, b) ** 2).sum().backward()
    grad, b.grad = b.grad, None
    ((dense @ b) ** 2).sum().backward()
    np.testing.assert_allclose(grad, b.grad)
    assert s.grad.layout is layout
    np.testing.assert_allclose(s.grad.to_dense(), dense.grad * adjoint.from_numpy((x != 0).astype(float)))
    np.testing.assert_array_equal((s + s.t().t()).detach().to_dense(), 2 * x)


# layouts of gradients -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_gradients_have_the_layout_of_the_leaf(layout: Any) -> None:
    for function in (
        lambda s: s.to_dense(),
        lambda s: (2 * s).to_dense(),
        lambda s: s.to_sparse(layout=PLAIN[0]).to_dense(),
    ):
        s = make(layout)
        function(s).sum().backward()
        assert s.grad.layout is layout
        np.testing.assert_array_equal(s.grad.to_dense() != 0, s.to_dense() != 0) if not s.grad._nnz() else None
        assert s.grad._nnz() == s._nnz()
    s = make(layout)
    s.to_dense(masked_grad=False).sum().backward()
    assert s.grad.layout is layout
    assert s.grad.to_dense().tolist() == np.ones((M, N)).tolist()


def test_functions_with_dense_gradients() -> None:
    for function in (lambda s: s @ fixed_tensor(N, 2), lambda s: s.sum(), lambda s: fixed_tensor(M, N) + s):
        s = make(adjoint.sparse_csr)
        function(s).sum().backward()
        assert s.grad.layout is adjoint.strided


def test_gradients_of_values_and_of_dense_tensors() -> None:
    v = adjoint.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    s = adjoint.sparse_coo_tensor([[0, 1, 1, 0], [2, 0, 2, 2]], v, (2, 3)).coalesce()
    (s.to_dense() * adjoint.arange(6.0).reshape(2, 3)).sum().backward()
    assert v.grad.tolist() == [2, 3, 5, 2]
    x = adjoint.tensor([[0.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (x.to_sparse().to_dense() * 2).sum().backward()
    assert x.grad.layout is adjoint.strided
    assert x.grad.tolist() == [[0, 2], [2, 2]]
    x.grad = None
    # the sum depends on all elements, also on zeros
    x.to_sparse().sum().backward()
    assert x.grad.tolist() == [[1, 1], [1, 1]]
    dense = x.detach().double().requires_grad_()
    assert adjoint.autograd.gradcheck(lambda x: x.to_sparse().sum(), dense)
    assert adjoint.autograd.gradcheck(lambda x: x.to_sparse_csr().sum(), dense)


@pytest.mark.parametrize("masked", [None, True, False])
def test_gradcheck_masked(masked: bool | None) -> None:
    s = make(adjoint.sparse_coo)
    options = {} if masked is None else {"masked": masked}
    has_pattern = masked is True
    assert gradcheck(lambda s: s.to_dense(), s, raise_exception=False, **options) is has_pattern
    assert gradcheck(lambda s: sparse.mm(s, fixed_tensor(N, 2)), s, raise_exception=False, **options) is has_pattern
    assert gradcheck(lambda s: s @ fixed_tensor(N, 2), s, **options)
    assert gradcheck(lambda s: s.to_dense(masked_grad=False), s, **options)
    with pytest.raises(ValueError, match="Sparse output is not supported at gradcheck yet"):
        gradcheck(lambda s: s * 2, s, **options)
    assert sparse.as_sparse_gradcheck(gradcheck)(lambda s: s * 2, s, **options)


def test_gradcheck_finds_a_fault() -> None:
    class Wrong(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx: Any, s: Tensor) -> Tensor:
            return s.to_dense()

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            return g * 2

    assert not gradcheck(Wrong.apply, make(adjoint.sparse_coo), masked=True, raise_exception=False)


# accumulation ---------------------------------------------------------------------------------------------------------


def rows(weight: Tensor, is_sparse: bool, indices: list[int]) -> Tensor:
    return functional.embedding(adjoint.tensor(indices), weight, sparse=is_sparse).sum()


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.filterwarnings("ignore:Using backward")
def test_accumulation(first: bool, second: bool, create_graph: bool) -> None:
    w = adjoint.zeros(4, 2, requires_grad=True)
    rows(w, first, [1, 1, 3]).backward(create_graph=create_graph)
    before = w.grad
    assert before.layout is (adjoint.sparse_coo if first else adjoint.strided)
    rows(w, second, [0, 1]).backward(create_graph=create_graph)
    assert w.grad.layout is (adjoint.sparse_coo if first and second else adjoint.strided)
    assert w.grad.to_dense().tolist() == [[1, 1], [3, 3], [0, 0], [1, 1]]
    if first and second and not create_graph:
        assert w.grad is before
        assert w.grad._nnz() == 5
    if not first and not create_graph:
        assert w.grad is before


def test_sums_inside_a_pass() -> None:
    w = adjoint.zeros(4, 2, requires_grad=True)
    (rows(w, True, [1, 1]) + 2 * rows(w, True, [2])).backward()
    assert w.grad.layout is adjoint.sparse_coo
    assert w.grad.to_dense().tolist() == [[0, 0], [2, 2], [2, 2], [0, 0]]
    w.grad = None
    (rows(w, True, [1, 1]) + w.sum()).backward()
    assert w.grad.tolist() == [[1, 1], [3, 3], [1, 1], [1, 1]]
    (g,) = grad(rows(w * 3, True, [1, 1]), w)
    assert g.layout is adjoint.sparse_coo
    assert g.to_dense().tolist() == [[0, 0], [6, 6], [0, 0], [0, 0]]


def test_a_gradient_is_memory_of_its_own() -> None:
    s = make(adjoint.sparse_coo)
    grads: list[Tensor] = []
    s.register_hook(grads.append)
    for _ in range(2):
        sparse.sum(s).backward()
    assert s.grad.to_dense().sum() == 2 * s._nnz()
    assert all(g.to_dense().sum() == s._nnz() for g in grads)


def test_hooks_get_sparse_gradients() -> None:
    w = adjoint.zeros(4, 2, requires_grad=True)
    w.register_hook(lambda g: g.coalesce() * 3)
    after: list[Any] = []
    w.register_post_accumulate_grad_hook(lambda leaf: after.append(leaf.grad.layout))
    rows(w, True, [1, 1, 3]).backward()
    assert after == [adjoint.sparse_coo]
    assert w.grad.is_coalesced()
    assert w.grad.to_dense().tolist() == [[0, 0], [6, 6], [0, 0], [3, 3]]


# embeddings -----------------------------------------------------------------------------------------------------------

BAGS: list[dict[str, Any]] = [
    {},
    {"mode": "sum"},
    {"padding_idx": 1},
    {"mode": "sum", "per_sample_weights": fixed_tensor(4)},
]


@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}, {"padding_idx": -1}])
def test_embedding(options: dict[str, Any]) -> None:
    gradients = []
    for is_sparse in (True, False):
        w = fixed_tensor(4, 2).requires_grad_()
        y = functional.embedding(adjoint.tensor([[1, 1], [3, 0]]), w, sparse=is_sparse, **options)
        (y * fixed_tensor(2, 2, 2)).sum().backward()
        gradients.append(w.grad)
    actual, expected = gradients
    assert actual.layout is adjoint.sparse_coo
    assert (actual.sparse_dim(), actual.dense_dim()) == (1, 1)
    assert not actual.is_coalesced()
    np.testing.assert_array_equal(actual.to_dense(), expected)
    assert actual._nnz() == {1: 2, -1: 3}.get(options.get("padding_idx", 0), 4)


@pytest.mark.parametrize("options", BAGS)
def test_embedding_bag(options: dict[str, Any]) -> None:
    gradients = []
    for is_sparse in (True, False):
        w = fixed_tensor(4, 2).requires_grad_()
        y = functional.embedding_bag(
            adjoint.tensor([1, 1, 3, 0]), w, adjoint.tensor([0, 2]), sparse=is_sparse, **options
        )
        (y * fixed_tensor(2, 2)).sum().backward()
        gradients.append(w.grad)
    assert gradients[0].layout is adjoint.sparse_coo
    np.testing.assert_allclose(gradients[0].to_dense(), gradients[1])


def test_embedding_refuses_frequencies() -> None:
    w = fixed_tensor(4, 2).requires_grad_()
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse gradients"):
        functional.embedding(adjoint.tensor([1]), w, sparse=True, scale_grad_by_freq=True)


def test_second_order_of_embedding() -> None:
    w = fixed_tensor(4, 2).requires_grad_()
    y = functional.embedding(adjoint.tensor([1, 1, 3]), w, sparse=True)
    (g,) = grad((y**3).sum(), w, create_graph=True)
    assert g.layout is adjoint.sparse_coo
    (h,) = grad(sparse.sum(g * g), w)
    np.testing.assert_allclose(h.to_dense()[1], 2 * 6 * w.detach()[1] ** 2 * 12 * w.detach()[1])


def test_training_with_sparse_gradients() -> None:
    w = adjoint.zeros(1000, 3, requires_grad=True)
    for _ in range(60):
        ((functional.embedding(adjoint.tensor([1, 5, 5]), w, sparse=True) - 1) ** 2).sum().backward()
        with adjoint.no_grad():
            g = w.grad.coalesce()
            assert g._nnz() == 2
            w -= 0.1 * g
        w.grad = None
    assert adjoint.allclose(w[[1, 5]].detach(), adjoint.ones(2, 3), atol=1e-4)
    assert w.detach().count_nonzero() == 6


# in place -------------------------------------------------------------------------------------------------------------


def test_in_place() -> None:
    s = make(adjoint.sparse_csr).detach()
    x = s.to_dense()
    assert s.mul_(2).to_dense().tolist() == (2 * x).tolist()
    assert s.add_(s.clone()).to_dense().tolist() == (4 * x).tolist()
    assert s.neg_().to_dense().tolist() == (-4 * x).tolist()
    assert s._version == 3
    assert s.zero_()._nnz() == 0
    assert s.layout is adjoint.sparse_csr
    d = fixed_tensor(M, N)
    expected = d - 2 * x
    assert d.sub_(x.to_sparse(), alpha=2).tolist() == expected.tolist()
    assert d.mul_(x.to_sparse()).tolist() == (expected * x).tolist()


def test_in_place_with_history() -> None:
    s = make(adjoint.sparse_coo)
    y = s * 2
    y.mul_(3)
    sparse.sum(y).backward()
    assert set(s.grad._values().tolist()) == {6}
    v = fixed_tensor(2).requires_grad_()
    d = fixed_tensor(M, N) * 1
    d += adjoint.sparse_coo_tensor([[0, 1], [2, 3]], v, (M, N))
    (d * d.detach()).sum().backward()
    np.testing.assert_allclose(v.grad, [d[0, 2].item(), d[1, 3].item()])


def test_overwritten_values_are_found() -> None:
    s = make(adjoint.sparse_csr)
    b = fixed_tensor(N, 2).requires_grad_()
    y = sparse.mm(s, b)
    with adjoint.no_grad():
        s.values().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    v = fixed_tensor(2)
    s = adjoint.sparse_coo_tensor([[0, 1], [2, 3]], v, (M, N))
    y = s.coalesce() * 1
    y = sparse.mm(s, b)
    v.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


# transformations ------------------------------------------------------------------------------------------------------


def test_vmap_over_dense_operands() -> None:
    s = make(adjoint.sparse_csr).detach()
    columns = fixed_tensor(5, N)
    expected = columns @ s.to_dense().T
    np.testing.assert_allclose(adjoint.vmap(lambda c: s @ c)(columns), expected)
    np.testing.assert_allclose(adjoint.vmap(lambda c: adjoint.mv(s, c))(columns), expected)
    jacobian = adjoint.func.jacrev(lambda c: s @ c)(columns[0])
    np.testing.assert_allclose(jacobian, s.to_dense())
    with pytest.raises(NotImplementedError, match="vmap: sparse tensors cannot be made"):
        adjoint.vmap(lambda v: adjoint.sparse_coo_tensor([[0, 1]], v).to_dense())(fixed_tensor(3, 2))


def test_functional_transformations() -> None:
    s = make(adjoint.sparse_coo).detach()
    gradient = adjoint.func.grad(lambda s: sparse.sum(s * s))(s)
    assert gradient.layout is adjoint.sparse_coo
    np.testing.assert_allclose(gradient.to_dense(), 2 * s.to_dense())
    value, tangent = adjoint.func.jvp(lambda s: sparse.mm(s, fixed_tensor(N, 2)), (s,), (s * 2,))
    np.testing.assert_allclose(tangent, 2 * value)


def test_no_dense_memory() -> None:
    n = 10**7
    i = adjoint.tensor([[0, 5, n - 1], [3, n - 1, 7]])
    s = adjoint.sparse_coo_tensor(i, adjoint.ones(3), (n, n), requires_grad=True)
    sparse.sum(s * 2 + s.t().t() ** 2).backward()
    assert s.grad._nnz() == 3
    assert s.grad._values().tolist() == [4, 4, 4]


# together with other parts of adjoint ---------------------------------------------------------------------------------


def step(w: Tensor) -> Tensor:
    return (functional.embedding(adjoint.tensor([1, 1, 0]), w, sparse=True) - 1).square().sum()


@pytest.mark.filterwarnings("ignore:adjoint.compile")
def test_compiled_functions_run_as_they_are() -> None:
    compiled = adjoint.compile(step)
    for _ in range(3):
        w = fixed_tensor(4, 2).requires_grad_()
        compiled(w).backward()
        grad, w.grad = w.grad, None
        step(w).backward()
        assert grad.layout is adjoint.sparse_coo
        np.testing.assert_array_equal(grad.to_dense(), w.grad.to_dense())


@pytest.mark.filterwarnings("ignore:Anomaly Detection", "ignore:Error detected")
def test_anomaly_mode_looks_at_sparse_cotangents() -> None:
    w, s = fixed_tensor(4, 2).requires_grad_(), make(adjoint.sparse_coo)
    with adjoint.autograd.detect_anomaly():
        step(w).backward()
        with pytest.raises(RuntimeError, match="returned nan values"):
            sparse.sum((s * 0).sqrt()).backward()
    assert w.grad.layout is adjoint.sparse_coo


def test_checkpoint_and_custom_function() -> None:
    class Doubled(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx: Any, s: Tensor) -> Tensor:
            ctx.save_for_backward(s)
            return s * 2

        @staticmethod
        def backward(ctx: Any, g: Tensor) -> Tensor:
            (s,) = ctx.saved_tensors
            assert s.layout is adjoint.sparse_csr
            return g * 2

    s = make(adjoint.sparse_csr)
    function = lambda s: sparse.mm(Doubled.apply(s), fixed_tensor(N, 2))
    adjoint.utils.checkpoint.checkpoint(function, s, use_reentrant=False).sum().backward()
    grad, s.grad = s.grad, None
    sparse.mm(s, 2 * fixed_tensor(N, 2)).sum().backward()
    np.testing.assert_allclose(grad.to_dense(), s.grad.to_dense())


@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
@pytest.mark.parametrize("recorded", [False, True])
def test_what_sparse_tensors_add_to_dense_ones_is_counted(layout: str, recorded: bool) -> None:
    sparse = getattr(adjoint.eye(2), layout)()
    dense, weight = adjoint.zeros(2, 2), adjoint.ones(2, 2, requires_grad=True)
    product = weight * dense
    with adjoint.set_grad_enabled(recorded):
        for n, add in enumerate((dense.add_, dense.sub_, lambda t: dense.add_(t, alpha=2)), 1):
            add(sparse)
            assert dense._version == n
    assert dense.tolist() == [[2, 0], [0, 2]]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


OF_TANGENTS: dict[str, Callable[[Any], Any]] = {
    "to_dense": lambda s: s.to_dense(),
    "multiple": lambda s: s * 2,
    "values": lambda s: s.coalesce().values(),
    "product": lambda s: s @ fixed_tensor(3),
    "sum": lambda s: s.sum(),
    "elementwise": lambda s: s.sin(),
    "transpose": lambda s: s.t(),
    "other layout": lambda s: s.to_sparse_csr(),
}


@pytest.mark.parametrize("name", OF_TANGENTS)
def test_a_tangent_of_a_sparse_tensor_may_be_dense(name: str) -> None:
    primal, tangent = fixed_tensor(2, 3) + 2, fixed_tensor(2, 3) - 3
    results = [
        adjoint.func.jvp(OF_TANGENTS[name], (primal.to_sparse(),), (each,))[1]
        for each in (tangent, tangent.to_sparse())
    ]
    np.testing.assert_allclose(*[each.to_dense().numpy() for each in results])
