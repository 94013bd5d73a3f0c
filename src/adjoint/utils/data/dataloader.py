"""DataLoader: batches of samples, in this process or by worker processes."""

from __future__ import annotations

import multiprocessing
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Generic, NamedTuple, TypeVar

import numpy

import adjoint
from adjoint.utils.data.dataset import IterableDataset
from adjoint.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

T = TypeVar("T", covariant=True)


# samples into batches -------------------------------------------------------------------------------------------------


def default_collate(batch: Sequence[Any]) -> Any:
    """A list of samples as one batch: tensors, arrays and numbers stacked, containers member by member.

    Raises TypeError for other objects, RuntimeError for sequences of different lengths.

    >>> import adjoint
    >>> adjoint.utils.data.default_collate([(1, 2.0), (3, 4.0)])
    [tensor([1, 3]), tensor([2., 4.], dtype=adjoint.float64)]
    """
    first = batch[0]
    if isinstance(first, adjoint.Tensor):
        return adjoint.stack(list(batch), 0)
    if isinstance(first, (numpy.ndarray, numpy.generic)) and first.dtype.kind in "biufc":
        return adjoint.as_tensor(numpy.stack([numpy.asarray(each) for each in batch]))
    if isinstance(first, (float, int)):
        return adjoint.tensor(batch, dtype=adjoint.float64 if isinstance(first, float) else None)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        members: Any = {key: default_collate([sample[key] for sample in batch]) for key in first}
        return members if type(first) is dict else type(first)(members)  # type: ignore[call-arg]
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*[default_collate(each) for each in zip(*batch, strict=True)])
    if isinstance(first, Sequence):
        if any(len(each) != len(first) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(each) for each in zip(*batch, strict=True)]
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )


def default_convert(data: Any) -> Any:
    """A sample with its arrays as tensors, and everything else as it is.

    Containers are gone through member by member.
    """
    if isinstance(data, (numpy.ndarray, numpy.generic)) and data.dtype.kind in "biufc":
        return adjoint.as_tensor(data)
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return [default_convert(each) for each in data]
    return data


# where samples come from ----------------------------------------------------------------------------------------------


class WorkerInfo(NamedTuple):
    """The number of a worker, the number of workers, its seed, and its copy of the data set.

    id counts from 0.
    """

    id: int
    num_workers: int
    seed: int
    dataset: Any


_worker: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The facts of this worker process; None in the process that has the loader.

    A data set with an order of its own asks for its part by it.
    """
    return _worker


class _Source:
    """Batches of a data set, each for a list of indices, or for the length of one where it has its own order."""

    def __init__(self, dataset: Any, collate: Callable[[Any], Any]) -> None:
        self.dataset, self.collate = dataset, collate
        self.samples = iter(dataset) if isinstance(dataset, IterableDataset) else None

    def batch(self, indices: Any, drop_last: bool) -> Any:
        """The batch for indices (a list, or one index where there are no batches). Raises StopIteration at the end."""
        if self.samples is None:
            if not isinstance(indices, list):
                return self.collate(self.dataset[indices])
            several = getattr(self.dataset, "__getitems__", None)
            return self.collate(several(indices) if callable(several) else [self.dataset[i] for i in indices])
        if not isinstance(indices, list):
            return self.collate(next(self.samples))
        batch = list(islice(self.samples, len(indices)))
        if not batch or (drop_last and len(batch) < len(indices)):
            raise StopIteration
        return self.collate(batch)


class _End:
    """The message of a worker whose samples are at an end."""


class _WorkerError(NamedTuple):
    """An error of a worker, and the text of its traceback."""

    error: BaseException
    text: str


def _work(
    info: WorkerInfo, collate: Callable[[Any], Any], drop_last: bool, init: Callable[[int], Any] | None,
    tasks: Any, results: Any,
) -> None:  # fmt: skip
    """Load batches for the indices in a queue, until there is None in it; what a worker process runs."""
    global _worker
    _worker = info
    adjoint.manual_seed(info.seed)
    numpy.random.seed(info.seed % 2**32)
    source: _Source | None = None
    try:
        if init is not None:
            init(info.id)
        source = _Source(info.dataset, collate)
    except Exception as error:
        failure = _WorkerError(error, traceback.format_exc())
    for number, indices in iter(tasks.get, None):
        result: Any
        if source is None:
            result = failure
        else:
            try:
                result = source.batch(indices, drop_last)
            except StopIteration:
                result = _End()
            except Exception as error:
                result = _WorkerError(error, traceback.format_exc())
        results.put((number, result))


# the loader -----------------------------------------------------------------------------------------------------------

#: What the order of batches was made from.
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[T]):
    """Batches of a data set, an iterable that begins anew each time.

    batch_size: None for single samples. shuffle: random order. sampler, batch_sampler: orders of one's own.
    num_workers: how many processes load samples, 0 for this one; each keeps prefetch_factor (2) batches ahead.
    collate_fn: how
    samples become a batch, `default_collate` unless given. drop_last: leave out a last batch that is smaller.
    worker_init_fn: called with its number in each worker. pin_memory and persistent_workers change nothing but speed on
    devices, and are accepted.

    Raises ValueError for arguments that exclude each other, and for negative numbers. An error in a worker is raised
    here, of its class, with its traceback in the text.

    >>> import adjoint
    >>> data = adjoint.utils.data.TensorDataset(adjoint.arange(5))
    >>> [batch.tolist() for (batch,) in adjoint.utils.data.DataLoader(data, batch_size=2)]
    [[0, 1], [2, 3], [4]]
    """

    def __init__(
        self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
        batch_sampler: Any = None, num_workers: int = 0, collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False, drop_last: bool = False, timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None, multiprocessing_context: Any = None, generator: Any = None,
        *, prefetch_factor: int | None = None, persistent_workers: bool = False, pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:  # fmt: skip
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")
        self._is_iterable = isinstance(dataset, IterableDataset)
        _check_order(self._is_iterable, batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None and not self._is_iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None and not self._is_iterable:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset, self.batch_size, self.drop_last = dataset, batch_size, drop_last
        self.sampler, self.batch_sampler, self.generator = sampler, batch_sampler, generator
        self.num_workers, self.worker_init_fn, self.timeout = num_workers, worker_init_fn, timeout
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.persistent_workers, self.in_order = persistent_workers, in_order
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.multiprocessing_context = multiprocessing_context
        has_batches = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if has_batches else default_convert)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and "collate_fn" in vars(self):  # what is set last
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def _orders(self) -> Iterable[Any]:
        """The indices of each batch, or of each sample where there are no batches."""
        if self._is_iterable:
            one: Any = None if self.batch_size is None else [None] * self.batch_size
            return iter(lambda: one, object())
        orders: Iterable[Any] = self.sampler if self.batch_sampler is None else self.batch_sampler
        return orders

    def __iter__(self) -> Iterator[Any]:
        # drawn also without workers, as in torch, so that the generator stands alike afterwards
        seed = int(adjoint.empty((), dtype=adjoint.int64).random_(generator=self.generator))
        return self._by_workers(seed) if self.num_workers else self._here()

    def _here(self) -> Iterator[Any]:
        source = _Source(self.dataset, self.collate_fn)
        for indices in self._orders():
            try:
                batch = source.batch(indices, self.drop_last)
            except StopIteration:
                return
            yield batch

    def _by_workers(self, seed: int) -> Iterator[Any]:
        context = self.multiprocessing_context
        if context is None or isinstance(context, str):
            context = multiprocessing.get_context(context)
        results, tasks = context.Queue(), [context.Queue() for _ in range(self.num_workers)]
        workers = []
        for number, queue in enumerate(tasks):
            info = WorkerInfo(number, self.num_workers, seed + number, self.dataset)
            arguments = (info, self.collate_fn, self.drop_last, self.worker_init_fn, queue, results)
            workers.append(context.Process(target=_work, args=arguments, daemon=True))
            workers[-1].start()
        try:
            yield from self._in_order(tasks, results, workers)
        finally:
            for queue in tasks:
                queue.put(None)
            for worker in workers:
                worker.join()

    def _in_order(self, tasks: list[Any], results: Any, workers: list[Any]) -> Iterator[Any]:
        """The results of numbered tasks in their order; each worker has a few tasks at a time, and takes turns."""
        orders, arrived = iter(self._orders()), dict[int, Any]()
        n_sent = due = 0
        open_workers = set(range(len(tasks)))
        of_task: dict[int, int] = {}

        def send(worker: int) -> None:
            nonlocal n_sent
            try:
                indices = next(orders)
            except StopIteration:
                return
            tasks[worker].put((n_sent, indices))
            of_task[n_sent] = worker
            n_sent += 1

        for _ in range(self.prefetch_factor or 2):
            for worker in range(len(tasks)):
                send(worker)
        while due < n_sent:
            while due not in arrived:
                number, result = self._receive(results, workers)
                arrived[number] = result
            result, worker = arrived.pop(due), of_task.pop(due)
            due += 1
            if isinstance(result, _End):
                open_workers.discard(worker)
                continue
            if worker in open_workers:
                send(worker)
            if isinstance(result, _WorkerError):
                raise _with_text(result, worker)
            yield result

    def _receive(self, results: Any, workers: list[Any]) -> Any:
        """The next result. Raises RuntimeError if a worker has died, or none comes within the timeout."""
        import queue

        elapsed = 0.0
        while True:
            pause = min(1.0, self.timeout) if self.timeout else 1.0
            try:
                return results.get(timeout=pause)
            except queue.Empty:
                elapsed += pause
                dead = [str(worker.pid) for worker in workers if not worker.is_alive()]
                if dead:
                    raise RuntimeError(f"DataLoader worker (pid(s) {', '.join(dead)}) exited unexpectedly") from None
                if self.timeout and elapsed >= self.timeout:
                    raise RuntimeError(f"DataLoader timed out after {self.timeout} seconds") from None

    def __len__(self) -> int:
        if not self._is_iterable:
            return len(self._orders())  # type: ignore[arg-type]
        n = len(self.dataset)
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def _with_text(failure: _WorkerError, worker: int) -> BaseException:
    text = f"Caught {type(failure.error).__name__} in DataLoader worker process {worker}.\nOriginal {failure.text}"
    try:
        return type(failure.error)(text)
    except Exception:
        # a class whose instances are made of something else
        return RuntimeError(text)


def _check_order(
    is_iterable: bool, batch_size: int | None, shuffle: bool | None, sampler: Any, batch_sampler: Any, drop_last: bool
) -> None:
    """Raise ValueError for arguments about the order that exclude each other."""
    if is_iterable:
        wrong = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
        for name, value in wrong.items():
            if value is not None:
                raise ValueError(
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                )
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last):
        raise ValueError("batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last")
    if batch_sampler is None and batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
