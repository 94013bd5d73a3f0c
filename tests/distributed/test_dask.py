"""Tensors over dask arrays: the table of rules in chunks, one lazy tape, errors instead of hidden work, clusters."""

from __future__ import annotations

import os
import sys
from concurrent.futures import CancelledError
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint import distributed
from adjoint.arrays.libraries import numpy_namespace
from adjoint.arrays.libraries.dask_namespace import align_chunks, read
from adjoint.arrays.namespace import namespace
from adjoint.interop.dask import at_shard
from adjoint.rules import TABLE, Rule
from adjoint.runtime.pytree import flatten
from support.other_arrays import GapList, Library

dask = pytest.importorskip("dask")
cloudpickle = pytest.importorskip("cloudpickle")
da = pytest.importorskip("dask.array")

several_processes = pytest.mark.skipif(
    not os.environ.get("ADJOINT_TEST_DISTRIBUTED"), reason="starts several processes: make test-distributed"
)
#: Rules that do not work on dask arrays, and the beginning of the error message.
LISTED = GapList.read("dask")


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


# the table ----------------------------------------------------------------------------------------------------------


DASK = Library(
    lambda array: da.from_array(array, chunks=tuple(max(1, (n + 1) // 2) for n in array.shape)),
    lambda array: np.asarray(array.compute()),
    da.Array,
)


@pytest.mark.quick(3)
@pytest.mark.parametrize("rule", TABLE.values(), ids=list(TABLE))
def test_rule_on_dask_arrays(rule: Rule) -> None:
    LISTED.check(DASK, rule)


def test_gaps_name_rules() -> None:
    assert set(LISTED.gaps) <= set(TABLE)


def task_bytes(array: Any) -> int:
    """The size of the last task of an array in bytes, in the form that a worker gets."""
    layers = array.dask.layers
    return len(cloudpickle.dumps(layers[array.name]))


@pytest.mark.parametrize(
    "operation",
    [lambda x: adjoint.clamp(x, -1, 1), lambda x: adjoint.softmax(x, 0), lambda x: x.pow(3), adjoint.sinc],
    ids=["clamp", "softmax", "pow", "sinc"],
)
def test_tasks_hold_no_arrays(operation: Any) -> None:
    x = adjoint.as_tensor(da.ones((8, 4), chunks=4))
    short = task_bytes(operation(x)._array)
    for _ in range(30):
        x = operation(x)
    # 30 operations before it do not make the task larger
    assert task_bytes(operation(x)._array) < 1.2 * short + 100


def test_tasks_name_the_namespace() -> None:
    """The namespace has the functions that a process has used. A task does not carry them."""
    assert cloudpickle.loads(cloudpickle.dumps(numpy_namespace.xp)) is numpy_namespace.xp


def test_tasks_are_equal_by_their_constants() -> None:
    x = adjoint.as_tensor(da.ones((8, 4), chunks=4))
    names = {x.clamp(low, 1)._array.name for low in (0, 0, 0.0, -1, 2)} | {x.clamp_min(0)._array.name}
    assert x.clamp(0, 1)._array.name == x.clamp(0, 1)._array.name
    assert len(names) >= 4
    values, places = x.max(0)
    assert values._array.name != places._array.name


# one lazy tape ------------------------------------------------------------------------------------------------------

X = np.random.default_rng(1).standard_normal((40, 3))
Y = (X[:, 0] > 0).astype(float)


def loss_of(w: Any, x: Any, y: Any) -> Any:
    return adjoint.nn.functional.binary_cross_entropy_with_logits(x @ w, y) + 0.1 * (w * w).sum()


def lazy_problem() -> tuple[Any, Any, Any]:
    x, y = (adjoint.as_tensor(da.from_array(a, chunks=(10, *a.shape[1:]))) for a in (X, Y))
    return adjoint.as_tensor(da.ones(3)).requires_grad_(), x, y


def eager_gradient(w: np.ndarray) -> tuple[Any, Any]:
    leaf = adjoint.from_numpy(w).requires_grad_()
    loss = loss_of(leaf, adjoint.from_numpy(X), adjoint.from_numpy(Y))
    return loss.detach(), adjoint.autograd.grad(loss, leaf)[0]


def test_loss_and_gradient_in_one_pass() -> None:
    reads = []
    w, _, y = lazy_problem()
    blocks = da.from_array(X, chunks=(10, 3)).map_blocks(lambda block: reads.append(len(block)) or block, meta=X[:0])
    loss = loss_of(w, adjoint.as_tensor(blocks), y)
    (gradient,) = adjoint.autograd.grad(loss, w)
    assert reads == []
    values = distributed.compute(loss, {"w": gradient})
    assert reads == [10] * 4
    expected = eager_gradient(np.ones(3))
    adjoint.testing.assert_close(values[0], expected[0])
    adjoint.testing.assert_close(values[1]["w"], expected[1])
    assert not values[0].requires_grad and type(values[0]._array) is np.ndarray


@pytest.mark.quick(0)
def test_backward_accumulates_lazily_and_persist_keeps_the_graph_of_tasks_short() -> None:
    w, x, y = lazy_problem()
    eager = np.ones(3)
    sizes = []
    for _ in range(3):
        loss_of(w, x, y).backward()
        with adjoint.no_grad():
            (new,) = distributed.persist(w - w.grad)
        w = new.requires_grad_()
        sizes.append(len(w._array.dask))
        eager = eager - eager_gradient(eager)[1].numpy()
    np.testing.assert_allclose(w.compute().numpy(), eager)
    assert sizes == [1, 1, 1]


@pytest.mark.quick(0)
def test_forward_mode_and_second_order() -> None:
    w, x, y = lazy_problem()
    eager = adjoint.ones(3, dtype=adjoint.float64)
    lazy, other = ((lambda w: loss_of(w, x, y)), lambda w: loss_of(w, adjoint.from_numpy(X), adjoint.from_numpy(Y)))
    w = w.detach()
    for derivative in (
        lambda f, w: adjoint.func.jvp(f, (w,), (w,))[1],
        lambda f, w: adjoint.autograd.functional.hvp(f, w, w)[1],
    ):
        result = derivative(lazy, w)
        assert isinstance(result._array, da.Array)
        adjoint.testing.assert_close(result.compute(), derivative(other, eager))


# explicit computation, and refusals ---------------------------------------------------------------------------------


def test_numbers_are_computed_when_they_are_asked_for() -> None:
    x = adjoint.as_tensor(da.arange(6, chunks=3) * 1.0)
    assert float(x.sum()) == 15 and int(x[5]) == 5 and x[1].item() == 1 and x[:2].tolist() == [0, 1] and bool(x[1] == 1)
    assert repr(x) == "tensor(lazy, size=(6,), chunks of 3, dtype=adjoint.float64)"
    plain = adjoint.ones(2, requires_grad=True)
    assert plain.compute().tolist() == [1, 1] and not plain.compute().requires_grad


#: Functions of a differentiable array and a constant one, in both orders.
BESIDE_CONSTANTS: dict[str, Any] = {
    "mask": lambda x, c: (x * (x > 0)).sum(),
    "mask first": lambda x, c: ((x > 0) * x).sum(),
    "masks": lambda x, c: (x * ((x > 0) & (c < 0.5))).sum(),
    "sum": lambda x, c: ((x + c) ** 2).sum(),
    "sum, constant first": lambda x, c: ((c + x) ** 2).sum(),
    "difference": lambda x, c: ((c - x) ** 3).sum(),
    "power": lambda x, c: (abs(c) ** x).sum(),
    "product": lambda x, c: c @ x,
    "ufunc": lambda x, c: np.maximum(c, x).sum() + np.multiply(x, c).sum(),
    "comparison": lambda x, c: ((c > x) * x).sum(),
    "interpolation": lambda x, c: (np.interp(x, np.arange(-3.0, 4.0), np.arange(-3.0, 4.0) ** 2) * c).sum(),
    "in place": lambda x, c: (x * 1).__isub__(c).sum(),
}


@pytest.mark.parametrize("name", BESIDE_CONSTANTS)
def test_differentiable_arrays_beside_constant_ones(name: str) -> None:
    call = BESIDE_CONSTANTS[name]
    x, c = np.arange(6.0) - 2.5, np.cos(np.arange(6.0))
    lazy = da.from_array(c, chunks=2)
    gradients = adjoint.grad(lambda x: call(x, lazy))(da.from_array(x, chunks=2))
    np.testing.assert_allclose(np.asarray(gradients), adjoint.grad(lambda x: call(x, c))(x))


#: Functions that look at values, if there are any. They cannot look at values that are not computed.
FUNCTIONS_OF_VALUES = {
    "lu_factor": lambda x, n: adjoint.linalg.lu_factor(x).LU,
    "lu_factor_ex": lambda x, n: adjoint.linalg.lu_factor_ex(x).LU,
    "max_unpool1d": lambda x, n: adjoint.nn.functional.max_unpool1d(x[None], n[None] * 2, 2),
    "embedding_bag": lambda x, n: adjoint.nn.functional.embedding_bag(n[0], x, n[1, :2] * 0),
}


@pytest.mark.parametrize("name", FUNCTIONS_OF_VALUES)
def test_functions_of_values(name: str) -> None:
    call = FUNCTIONS_OF_VALUES[name]
    x, n = np.cos(np.arange(16.0)).reshape(4, 4) + np.eye(4), np.arange(16).reshape(4, 4) % 4
    lazy = call(*[adjoint.as_tensor(da.from_array(array, chunks=4)) for array in (x, n)])
    np.testing.assert_allclose(lazy.compute().numpy(), call(adjoint.as_tensor(x), adjoint.as_tensor(n)).numpy())


REFUSED = [
    (lambda x: x.numpy(), TypeError, "would have to be computed: say tensor.compute().numpy()"),
    (np.asarray, TypeError, "would have to be computed: say tensor.compute().numpy()"),
    (lambda x: x.as_strided((2,), (1,)), TypeError, "arrays of dask have no address"),
    (np.unique, NotImplementedError, "numpy.unique: the shape of the result depends on the values"),
    (lambda x: np.union1d(x, x), NotImplementedError, "numpy.union1d: the shape of the result depends on the values"),
    (np.trim_zeros, NotImplementedError, "numpy.trim_zeros: the shape of the result depends on the values"),
    (lambda x: np.roots(x[0]), NotImplementedError, "numpy.roots: the shape of the result depends on the values"),
    (lambda x: x.stride(), TypeError, "arrays of dask have no strides"),
    (lambda x: x[1:].mul_(2), RuntimeError, "a view of an array of dask cannot be modified in place"),
    (lambda x: x[x > 0], NotImplementedError, "the number of elements where the mask is true depends on the values"),
    (
        lambda x: x[adjoint.as_tensor(da.zeros((2, 2), dtype=int))],
        NotImplementedError,
        "an index of dask arrays is one lazy vector, or several arrays that are computed",
    ),
    (lambda x: adjoint.argwhere(x), NotImplementedError, "the number of nonzero elements depends on the values"),
]


@pytest.mark.parametrize(("call", "kind", "text"), REFUSED)
def test_refused(call, kind, text) -> None:
    with pytest.raises(kind, match=text.replace("(", r"\(").replace(")", r"\)")):
        call(adjoint.as_tensor(da.ones((4, 4), chunks=2)))


def test_items_are_assigned_lazily_and_seen_by_the_gradient() -> None:
    x = adjoint.as_tensor(da.from_array(X, chunks=(10, 3))).requires_grad_()
    y = x * 2
    y[1:, 0] = 5.0
    y[:, [1, 2]] = y[:, [2, 1]] * 3
    assert isinstance(y._array, da.Array)
    expected = X * 2
    expected[1:, 0] = 5
    expected[:, [1, 2]] = expected[:, [2, 1]] * 3
    np.testing.assert_allclose(y.compute().numpy(), expected)
    (gradient,) = adjoint.autograd.grad(y.sum(), x)
    slopes = np.full(X.shape, 6.0)
    slopes[:, 0] = 0
    slopes[0, 0] = 2
    np.testing.assert_allclose(gradient.compute().numpy(), slopes)


def test_what_was_a_view_is_not_used_after_its_base_was_modified() -> None:
    x = adjoint.as_tensor(da.ones((4, 4), chunks=2))
    row = x[0]
    x.mul_(2)
    stale = "arrays of dask share no memory: the view still has the values from before"
    with pytest.raises(RuntimeError, match=stale):
        row + 1
    with pytest.raises(RuntimeError, match=stale):
        adjoint.cat([row, row])
    recorded = x.requires_grad_() * 1
    part = recorded[0]
    recorded.mul_(2)
    with pytest.raises(RuntimeError, match=stale):
        part.grad_fn  # noqa: B018
    assert x[0].compute().tolist() == [2, 2, 2, 2]


def test_indices_are_looked_at_when_they_are_computed() -> None:
    calls: list[int] = []
    places = da.from_array(np.array([0, 5]), chunks=1)
    places = places.map_blocks(lambda block: calls.append(1) or block, dtype=int, meta=places._meta)
    picked = adjoint.index_select(adjoint.as_tensor(da.ones(3, chunks=3)), 0, adjoint.as_tensor(places))
    assert calls == []
    with pytest.raises(IndexError):
        picked.compute()


def test_large_arrays_are_not_put_in_one_piece() -> None:
    x = adjoint.as_tensor(da.ones((10**5, 10**3), chunks=(10**3, 10**3)))
    with pytest.raises(NotImplementedError, match="linalg_qr on dask arrays needs an array of 762 MiB in one piece"):
        adjoint.linalg.qr(x)


def test_gaps_of_dask_are_named() -> None:
    x = adjoint.as_tensor(da.ones((4, 4), chunks=2))
    with pytest.raises(NotImplementedError, match=r"dask arrays have no linalg\.nothing, which this operation needs"):
        getattr(namespace(x._array).linalg, "nothing")  # noqa: B009
    with pytest.raises(NotImplementedError, match=r"of the operation \(4 and 3 in axis 1\) cannot have"):
        align_chunks(x._array, {0}, [(2, 2), (2, 1)])
    with pytest.raises(NotImplementedError, match="an index of dask arrays is one lazy vector, or several"):
        read(x._array, (da.zeros(2, dtype=int, chunks=1),) * 2)


@pytest.mark.parametrize(
    ("missing", "call", "text"),
    [
        ("dask.array", lambda: distributed.persist(adjoint.ones(2)), "lazy tensors need dask: pip install 'adjoint"),
        ("distributed", lambda: distributed.value_and_grad(None, [1], None), "gradients on a cluster need dask's"),
    ],
)
def test_what_is_not_installed_is_named(missing, call, text, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModuleNotFoundError, match=text):
        call()


def test_shards_that_give_no_number() -> None:
    with pytest.raises(ValueError, match="value_and_grad needs at least one shard, but got none"):
        distributed.value_and_grad(None, [], None)
    leaves, tree = flatten({"w": adjoint.ones(3)})
    arrays = [leaf._array for leaf in leaves]
    value, gradient = at_shard(lambda p, shard: (p["w"] * shard).sum(), arrays, tree, 2.0, 0)
    assert value == 6 and gradient.tolist() == [2, 2, 2]
    text = r"the function must give a Tensor of one element, but gave tensor\(\[1\., 1\., 1\.\]"
    with pytest.raises(TypeError, match=text) as caught:
        at_shard(lambda p, shard: p["w"], arrays, tree, None, 5)
    assert caught.value.__notes__ == ["while shard 5 was differentiated"]


# a cluster ----------------------------------------------------------------------------------------------------------


class Emptied:
    """The client of a cluster that has lost its workers and their data."""

    class Lost:
        status = "lost"

    def __init__(self, takes: int) -> None:
        self.takes = takes

    def scatter(self, data: Any, hash: bool = True, timeout: float | None = None) -> list[Any]:
        """Data are accepted this many times, and then refused."""
        self.takes -= len(data)
        if self.takes < 0:
            raise TimeoutError("No valid workers found")
        return [self.Lost() for _ in data]

    def submit(self, *args: Any, **options: Any) -> Any:
        raise CancelledError


@pytest.mark.parametrize("takes", [2, 4, 5, 9])  # the shards; parameters, too; one shard again; everything twice
def test_data_that_nobody_takes_any_more(takes: int) -> None:
    pytest.importorskip("distributed.client")  # the test folder has the same name as the package
    at = distributed.value_and_grad(lambda w, shard: w * shard, [1.0, 2.0], Emptied(takes), timeout=1.0)
    with pytest.raises(RuntimeError, match=r"value_and_grad has waited .* s for 2 shards: workers are lost"):
        at(np.ones(()))


@several_processes
def test_sums_over_shards_on_a_cluster_of_processes() -> None:
    from distributed import LocalCluster

    def fn(parameters, shard):
        x, y = (adjoint.from_numpy(a) for a in shard)
        if not len(y):
            raise ValueError("an empty shard")
        return ((x @ parameters["w"] + parameters["b"] - y) ** 2).sum()

    parts = [(X[i : i + 9], Y[i : i + 9]) for i in range(0, 40, 9)]
    parameters = {"w": np.array([1.0, 2.0, 3.0]), "b": np.array(0.5)}
    workers = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with workers as cluster, cluster.get_client() as client:
        at = distributed.value_and_grad(fn, parts, client, progress=True)
        value, gradients = at(parameters)
        again = at(parameters)
        whole = {name: adjoint.from_numpy(v).requires_grad_() for name, v in parameters.items()}
        expected = fn(whole, (X, Y))
        expected.backward()
        adjoint.testing.assert_close(value, expected.detach())
        for name, leaf in whole.items():
            adjoint.testing.assert_close(gradients[name], leaf.grad)
            assert gradients[name].numpy().tobytes() == again[1][name].numpy().tobytes()
        broken = distributed.value_and_grad(fn, [*parts, (X[:0], Y[:0])], client)
        with pytest.raises(ValueError, match="an empty shard") as caught:
            broken(parameters)
        assert caught.value.__notes__ == ["while shard 5 was differentiated"]
        with pytest.raises(TypeError, match="must give a Tensor of one element, but gave tensor"):
            distributed.value_and_grad(lambda w, shard: adjoint.ones(2), parts, client)(parameters)
        with pytest.raises(ValueError, match="at least one shard, but got none"):
            distributed.value_and_grad(fn, [], client)
