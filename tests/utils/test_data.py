"""Data sets, samplers and loaders, in this process and in workers."""

import os
import re
import time

import numpy as np
import pytest

import adjoint
from adjoint.utils import data


class Squares(data.Dataset):
    def __init__(self, n=7, fails=None):
        self.n, self.fails = n, fails

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if i == self.fails:
            raise KeyError("five")
        return adjoint.tensor([i, i * i]), {"x": float(i)}


class Count(data.IterableDataset):
    """Numbers below 5, divided among workers."""

    def __iter__(self):
        worker = data.get_worker_info()
        return iter(range(5)) if worker is None else iter(range(worker.id, 5, worker.num_workers))


def values(loader):
    return [(x.tolist(), y["x"].tolist()) for x, y in loader]


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_in_order(workers):
    expected = [
        ([[0, 0], [1, 1], [2, 4]], [0.0, 1.0, 2.0]), ([[3, 9], [4, 16], [5, 25]], [3.0, 4.0, 5.0]),
        ([[6, 36]], [6.0]),
    ]  # fmt: skip
    loader = data.DataLoader(Squares(), 3, num_workers=workers)
    assert values(loader) == expected and values(loader) == expected and len(loader) == 3
    assert values(data.DataLoader(Squares(), 3, num_workers=workers, drop_last=True)) == expected[:2]


def test_more_batches_than_workers_have_ahead():
    loader = data.DataLoader(data.TensorDataset(adjoint.arange(50)), 2, num_workers=2)
    assert [x for (batch,) in loader for x in batch.tolist()] == list(range(50))


# functions of the module, since Python 3.14 starts workers anew, which takes pickles
def fail(worker):
    raise ValueError(f"worker {worker}")


def leave(worker):
    os._exit(3)


def wait(worker):
    time.sleep(1.0)


def test_errors_of_workers_are_raised_here():
    with pytest.raises(KeyError, match="Caught KeyError in DataLoader worker process 1"):
        list(data.DataLoader(Squares(fails=5), 3, num_workers=2))

    with pytest.raises(ValueError, match="worker 0"):
        list(data.DataLoader(Squares(), 3, num_workers=1, worker_init_fn=fail))


def test_a_worker_that_dies_is_noted():
    with pytest.raises(RuntimeError, match=r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"):
        list(data.DataLoader(Squares(), 3, num_workers=1, worker_init_fn=leave))


def test_a_worker_that_takes_too_long_is_noted():
    with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.2 seconds"):
        list(data.DataLoader(Squares(), 3, num_workers=1, worker_init_fn=wait, timeout=0.2))


@pytest.mark.parametrize("workers", [0, 2])
def test_orders_of_the_data(workers):
    batches = [x.tolist() for x in data.DataLoader(Count(), 2, num_workers=workers)]
    assert batches == ([[0, 2], [1, 3], [4]] if workers else [[0, 1], [2, 3], [4]])
    last = [x.tolist() for x in data.DataLoader(Count(), 2, num_workers=workers, drop_last=True)]
    assert last == [batch for batch in batches if len(batch) == 2]
    assert list(data.DataLoader(Count(), None)) == [0, 1, 2, 3, 4]


def test_shuffling():
    adjoint.manual_seed(0)
    loader = data.DataLoader(data.TensorDataset(adjoint.arange(20)), 20, shuffle=True)
    first, second = (next(x.tolist() for (x,) in loader) for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(20)) and first != second
    generator = adjoint.Generator().manual_seed(3)
    again = adjoint.Generator().manual_seed(3)
    orders = [list(data.RandomSampler(range(9), generator=each)) for each in (generator, again)]
    assert orders[0] == orders[1]


def test_samplers():
    assert len(list(data.RandomSampler(range(3), num_samples=7))) == 7
    assert set(data.RandomSampler(range(3), True, 50)) == {0, 1, 2}
    assert sorted(data.SubsetRandomSampler([4, 5, 6])) == [4, 5, 6]
    assert set(data.WeightedRandomSampler([0.0, 1.0, 1.0], 40)) == {1, 2}
    assert list(data.BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    loader = data.DataLoader(Squares(), batch_sampler=[[0, 2], [1]])
    assert [x.tolist() for x, _ in loader] == [[[0, 0], [2, 4]], [[1, 1]]]
    assert [x.tolist() for x, _ in data.DataLoader(Squares(), sampler=[3, 1])] == [[[3, 9]], [[1, 1]]]


def test_collections():
    both = Squares(2) + Squares(3)
    assert len(both) == 5 and both[-1][0].tolist() == both[4][0].tolist() == [2, 4]
    assert list(Count() + Count()) == [0, 1, 2, 3, 4] * 2
    stacked = data.StackDataset(a=Squares(2), b=[5, 6])
    assert stacked[1]["b"] == 6 and len(stacked) == 2 and data.StackDataset([1, 2], [3, 4])[1] == (2, 4)
    part = data.Subset(range(10), [3, 5])
    assert part[1] == 5 and len(part) == 2 and part.__getitems__([0, 1]) == [3, 5]
    parts = data.random_split(range(10), [7, 3])
    assert sorted(x for each in parts for x in each) == list(range(10))
    assert [len(each) for each in data.random_split(range(10), [0.5, 0.25, 0.25])] == [6, 2, 2]


def test_samples_become_batches():
    from collections import namedtuple

    Pair = namedtuple("Pair", "a b")
    batch = data.default_collate([Pair(1, "x"), Pair(2, "y")])
    assert batch.a.tolist() == [1, 2] and batch.b == ("x", "y")
    assert data.default_collate([("x", ["a"]), ("y", ["b"])]) == [("x", "y"), [("a", "b")]]
    assert data.default_collate(["x", "y"]) == ["x", "y"]
    batch = data.default_collate([{"a": np.float32(1.0)}, {"a": np.float32(2.0)}])
    assert batch["a"].dtype == adjoint.float32
    assert data.default_collate([np.ones(2), np.zeros(2)]).shape == (2, 2)
    assert data.default_collate([1.0, 2.0]).dtype == adjoint.float64
    assert data.default_convert({"a": np.ones(2), "b": "text"})["a"].tolist() == [1, 1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: data.DataLoader(Squares(), num_workers=-1), ValueError, "num_workers option should be non-negative"),
        (lambda: data.DataLoader(Squares(), timeout=-1), ValueError, "timeout option should be non-negative"),
        (lambda: data.DataLoader(Squares(), prefetch_factor=2), ValueError, "prefetch_factor option could only be"),
        (lambda: data.DataLoader(Squares(), persistent_workers=True), ValueError, "persistent_workers option needs"),
        (lambda: data.DataLoader(Squares(), shuffle=True, sampler=[0]), ValueError, "mutually exclusive with shuffle"),
        (lambda: data.DataLoader(Squares(), 2, batch_sampler=[[0]]), ValueError, "batch_sampler option is mutually"),
        (lambda: data.DataLoader(Squares(), None, drop_last=True), ValueError, "batch_size=None option disables"),
        (lambda: data.DataLoader(Count(), shuffle=True), ValueError, "expected unspecified shuffle option"),
        (lambda: data.BatchSampler(range(2), 0, False), ValueError, "batch_size should be a positive integer value"),
        (lambda: data.BatchSampler(range(2), 1, 3), ValueError, "drop_last should be a boolean value"),
        (lambda: data.RandomSampler(range(0)), ValueError, "num_samples should be a positive integer value"),
        (lambda: data.RandomSampler(range(2), 3), TypeError, "replacement should be a boolean value"),
        (lambda: data.WeightedRandomSampler([1.0], 0), ValueError, "num_samples should be a positive integer value"),
        (lambda: data.WeightedRandomSampler([1.0], 1, 3), ValueError, "replacement should be a boolean value"),
        (lambda: data.WeightedRandomSampler([[1.0]], 1), ValueError, "weights should be a 1d sequence"),
        (lambda: data.TensorDataset(adjoint.ones(2), adjoint.ones(3)), AssertionError, "Size mismatch between tensors"),
        (lambda: data.StackDataset([1], a=[2]), ValueError, "Supported either"),
        (lambda: data.StackDataset(), ValueError, "At least one dataset should be passed"),
        (lambda: data.StackDataset([1], [2, 3]), ValueError, "Size mismatch between datasets"),
        (lambda: data.ConcatDataset([]), AssertionError, "datasets should not be an empty iterable"),
        (lambda: data.ConcatDataset([Count()]), AssertionError, "does not support IterableDataset"),
        (lambda: data.ConcatDataset([[1]])[-2], ValueError, "absolute value of index should not exceed"),
        (lambda: list(data.ChainDataset([[1]])), AssertionError, "ChainDataset only supports IterableDataset"),
        (lambda: data.Dataset()[0], NotImplementedError, "should implement __getitem__"),
        (lambda: data.random_split(range(3), [1, 1]), ValueError, "Sum of input lengths does not equal"),
        (lambda: data.random_split(range(3), [1.5, -0.5]), ValueError, "Fraction at index 0 is not between 0 and 1"),
        (lambda: data.default_collate([object()]), TypeError, "default_collate: batch must contain tensors"),
        (lambda: data.default_collate([[1], [1, 2]]), RuntimeError, "each element in list of batch should be of equal"),
        (lambda: iter(data.Sampler()), NotImplementedError, ""),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=re.escape(message) if message else None):
        call()


def test_an_empty_part_is_noted():
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(range(1), [0.5, 0.5])


@pytest.mark.parametrize(
    "name", ["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"]
)
def test_what_the_order_was_made_from_stays(name):
    loader = data.DataLoader(data.TensorDataset(adjoint.arange(4)), 2)
    with pytest.raises(ValueError, match=f"{name} attribute should not be set after DataLoader is initialized"):
        setattr(loader, name, 3)
    loader.timeout = 1
    assert [batch.tolist() for (batch,) in loader] == [[0, 1], [2, 3]]
