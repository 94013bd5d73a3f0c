"""Tensors over dask arrays, and gradients of sums over shards on a dask cluster.

A tensor over a dask array is lazy, and so is its recorded graph: forward and backward pass make one graph of tasks,
which `compute` runs in one pass. Gradients of a sum over shards need no lazy graph: each worker differentiates its
shards on NumPy arrays. Values and gradients are summed in a fixed tree, so equal shards give equal bits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import CancelledError
from typing import Any

import numpy

from adjoint.core.graph import new_tensor
from adjoint.runtime.pytree import flatten
from adjoint.tensor.creation import as_tensor
from adjoint.tensor.differentiate import grad, needing_grad
from adjoint.tensor.tensor import Tensor


def dask() -> Any:
    """The module dask. Raises ModuleNotFoundError, naming the extra, where it is not installed."""
    try:
        import dask
        import dask.array
    except ModuleNotFoundError as error:
        remedy = "pip install 'adjoint-autograd[dask]'"
        raise ModuleNotFoundError(f"lazy tensors need dask: {remedy}", name="dask") from error
    return dask


def compute(*tensors: Any, **options: Any) -> tuple[Any, ...]:
    """The values of lazy tensors, as tensors over NumPy arrays without history, all in one pass over the tasks.

    The common part of a loss and its gradients is computed once, and chunks are freed after their last use. Separate
    computations would repeat the forward pass.

    Args:
        tensors: Tensors, or trees of them; Tensors over other arrays are returned unchanged, without history.
        options: passed on to `dask.compute` (scheduler, num_workers ...).

    Raises:
        ModuleNotFoundError: dask is not installed.

    >>> import adjoint, dask.array
    >>> from adjoint import distributed
    >>> x = adjoint.as_tensor(dask.array.ones(6, chunks=3)).requires_grad_()
    >>> loss = (x * x).sum()
    >>> distributed.compute(loss, *adjoint.autograd.grad(loss, x))
    (tensor(6., dtype=adjoint.float64), tensor([2., 2., 2., 2., 2., 2.], dtype=adjoint.float64))
    """
    return _evaluate(dask().compute, tensors, options)


def persist(*tensors: Any, **options: Any) -> tuple[Any, ...]:
    """The same tensors over dask arrays whose chunks are computed and held, without history, in one pass.

    Call it once in each step of an optimiser: otherwise the graph of tasks grows with every step.

    Args:
        tensors: Tensors, or trees of them; Tensors over other arrays are returned unchanged, without history.
        options: passed on to `dask.persist`.

    Raises:
        ModuleNotFoundError: dask is not installed.

    >>> import adjoint, dask.array
    >>> from adjoint import distributed
    >>> w = adjoint.as_tensor(dask.array.ones(3))
    >>> w, = distributed.persist(w - 0.5 * w)
    >>> len(w._array.dask)
    1
    """
    return _evaluate(dask().persist, tensors, options)


def _evaluate(run: Callable[..., Any], tensors: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, ...]:
    leaves, tree = flatten(tensors)
    arrays = run(*[leaf._array if isinstance(leaf, Tensor) else leaf for leaf in leaves], **options)
    evaluated = [new_tensor(_as_array(a)) if isinstance(t, Tensor) else a for t, a in zip(leaves, arrays, strict=True)]
    return tree.unflatten(evaluated)


def _as_array(value: Any) -> Any:
    """Computed results may be NumPy scalars; Tensors stand over arrays."""
    return numpy.asarray(value) if isinstance(value, numpy.generic) else value


def value_and_grad(
    fn: Callable[[Any, Any], Tensor],
    shards: Iterable[Any],
    client: Any,
    *,
    progress: bool = False,
    timeout: float | None = 300.0,
) -> Callable[[Any], tuple[Any, Any]]:
    """The sum of a function over shards of data, and its gradient, as a function of the parameters.

    Every shard is sent to a worker once, and stays there. A call sends the parameters to the workers. Each worker
    differentiates `fn` at its shards, on NumPy arrays. Values and gradients are summed pairwise in a fixed order. If a
    worker is lost, its shards are sent to others, and the call starts again, with the same bits in its result.

    Args:
        fn: takes the parameters (a tree of leaves that require grad) and a shard, and returns a Tensor of one element.
            cloudpickle must be able to pickle it, and it must import its modules itself.
        shards: the pieces of data that `fn` takes (arrays, trees of arrays, paths ...), or futures of them.
        client: a `distributed.Client`, or the address of a scheduler.
        progress: draw a progress bar (rich) while shards are worked on.
        timeout: the limit of a call in seconds; None for no limit.

    Returns:
        A function of a tree of Tensors, arrays or numbers. It returns the sum as a Tensor and the gradients as a tree
        of the same form, without history.

    Raises:
        ModuleNotFoundError: dask's distributed scheduler is not installed.
        ValueError: there are no shards.
        RuntimeError: a call takes longer than `timeout`; or a shard that was given as a future is lost with its worker.
        The error that `fn` raises at a shard, unchanged, with a note that names the shard.
    """
    try:
        import distributed
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "gradients on a cluster need dask's scheduler: pip install 'adjoint-autograd[dask]'", name="distributed"
        ) from error
    if isinstance(client, str):
        client = distributed.Client(client)
    shard_list = list(shards)
    if not shard_list:
        raise ValueError("value_and_grad needs at least one shard, but got none")
    store = Shards(shard_list, client)

    def evaluate(parameters: Any) -> tuple[Any, Any]:
        leaves, tree = flatten(parameters)
        arrays = [leaf._array if isinstance(leaf, Tensor) else numpy.asarray(leaf) for leaf in leaves]
        begin = time.monotonic()

        def remaining() -> float | None:
            return None if timeout is None else max(0.0, timeout - (time.monotonic() - begin))

        def total() -> Any:
            while True:
                try:
                    return summed_over(store, fn, arrays, tree, remaining(), progress)
                except CancelledError:
                    store.renew(remaining())  # data were lost with a worker

        try:
            value, *gradients = total()
        except TimeoutError:
            elapsed = time.monotonic() - begin
            raise RuntimeError(
                f"value_and_grad has waited {elapsed:.1f} s for {len(shard_list)} shards: workers are lost, or "
                "slower than timeout= allows"
            ) from None
        return new_tensor(value), tree.unflatten([new_tensor(array) for array in gradients])

    return evaluate


class Shards:
    """Pieces of data on workers, with copies here, since a worker that ends loses its pieces."""

    def __init__(self, shards: list[Any], client: Any) -> None:
        from distributed import Future

        self.client = client
        self.originals = [None if isinstance(shard, Future) else shard for shard in shards]
        self.futures = [s if isinstance(s, Future) else client.scatter([s], hash=False)[0] for s in shards]

    def renew(self, timeout: float | None) -> None:
        """Send lost pieces again.

        Raises RuntimeError for a piece given as a future, and TimeoutError if no worker appears in time.
        """
        for number, future in enumerate(self.futures):
            if future.status not in ("lost", "cancelled"):
                continue
            if self.originals[number] is None:
                raise RuntimeError(
                    f"shard {number} was given as a future, and is lost with the worker that held it: give "
                    "value_and_grad the shard itself, which it can send again"
                )
            (self.futures[number],) = send([self.originals[number]], self.client, timeout)


def send(data: list[Any], client: Any, timeout: float | None) -> list[Any]:
    """Send data to workers, again while the scheduler still counts a lost worker; returns futures.

    Raises TimeoutError if there is no worker in time.
    """
    begin = time.monotonic()
    while True:
        try:
            futures: list[Any] = client.scatter(data, hash=False, timeout=timeout)
            return futures
        except OSError as error:
            # TimeoutError is one, too
            if isinstance(error, TimeoutError) or (timeout is not None and time.monotonic() - begin > timeout):
                raise TimeoutError(*error.args) from error
            time.sleep(0.1)


def summed_over(
    store: Shards, fn: Callable[..., Any], arrays: list[Any], tree: Any, timeout: float | None, progress: bool
) -> Any:
    """The sum of the values and gradients at all shards.

    Raises CancelledError if data are lost with a worker, TimeoutError if it takes too long.
    """
    client = store.client
    # to one worker, from which the others fetch them: a broadcast would wait for lost workers
    constants = send([arrays, tree], client, timeout)
    parts = [
        client.submit(at_shard, fn, *constants, shard, number, pure=False) for number, shard in enumerate(store.futures)
    ]
    if progress:
        watch(parts, timeout)
    return add_up(client, parts).result(timeout)


def at_shard(fn: Callable[[Any, Any], Any], arrays: list[Any], tree: Any, shard: Any, number: int) -> list[Any]:
    """The task of a worker: the value of a function at one shard, and its gradients, as arrays."""
    leaves = [needing_grad(as_tensor(array.copy())) for array in arrays]
    try:
        value = fn(tree.unflatten(leaves), shard)
        if not isinstance(value, Tensor) or value.numel() != 1:
            raise TypeError(f"the function must give a Tensor of one element, but gave {value!r:.80}")
        gradients = grad(value.reshape(()), leaves, allow_unused=True, materialize_grads=True)
    except Exception as error:
        error.add_note(f"while shard {number} was differentiated")
        raise
    return [value.detach()._array.reshape(()), *[gradient._array for gradient in gradients]]


def sum_of(first: list[Any], second: list[Any]) -> list[Any]:
    """Two lists of arrays, added up."""
    return [numpy.asarray(a + b) for a, b in zip(first, second, strict=True)]


def add_up(client: Any, parts: list[Any]) -> Any:
    """The sum of all parts in a tree of pairs, which does not depend on who is done first."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        parts = [client.submit(sum_of, *pair, pure=False) for pair in pairs] + parts[len(parts) & ~1 :]
    return parts[0]


def watch(parts: list[Any], timeout: float | None) -> None:
    """Draw a progress bar until all parts are done."""
    from rich.progress import track

    from distributed import as_completed

    for _ in track(as_completed(parts, timeout=timeout), "shards", len(parts)):
        continue
