"""Data sets: collections of samples by index, or in an order of their own."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

import adjoint

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T = TypeVar("T", covariant=True)


class Dataset(Generic[T]):
    """A collection of samples by index; subclasses have `__getitem__`, and `__len__` for most samplers.

    The sum of two is one after the other.
    """

    def __getitem__(self, index: Any) -> T:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        """Both, one after the other."""
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T], Iterable[T]):
    """Samples in an order of their own; subclasses have `__iter__`.

    Each worker of a loader runs through its own copy: `get_worker_info` says which part is its.
    """

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        """Both, one after the other."""
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """Tensors whose members along the first axis belong together. Raises AssertionError unless they have as many.

    >>> import adjoint
    >>> data = adjoint.utils.data.TensorDataset(adjoint.arange(3), adjoint.arange(3) ** 2)
    >>> len(data), data[2]
    (3, (tensor(2), tensor(4)))
    """

    def __init__(self, *tensors: Any) -> None:
        if any(each.size(0) != tensors[0].size(0) for each in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple(each[index] for each in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset[Any]):
    """Samples made of those of several data sets: tuples, or dictionaries where these have names.

    Raises ValueError for data sets of different lengths, or with and without names.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output"
            )
        self.datasets: Any = args or kwargs
        members = list(args or kwargs.values())
        if not members:
            raise ValueError("At least one dataset should be passed")
        self._length = len(members[0])
        if any(len(each) != self._length for each in members):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: each[index] for name, each in self.datasets.items()}
        return tuple(each[index] for each in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Any]):
    """Data sets one after the other. Raises AssertionError without any, or for one without indices.

    datasets: an iterable of them. An index counts through all.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(each, IterableDataset) for each in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(accumulate(len(each) for each in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        k = bisect_right(self.cumulative_sizes, idx)
        return self.datasets[k][idx - (self.cumulative_sizes[k - 1] if k else 0)]


class ChainDataset(IterableDataset[Any]):
    """Data sets with an order of their own, one after the other.

    datasets: an iterable of them. Raises AssertionError for one without such an order, when it comes to it.
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for each in self.datasets:
            if not isinstance(each, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from each

    def __len__(self) -> int:
        return sum(len(each) for each in self.datasets)


class Subset(Dataset[Any]):
    """The samples of a data set at these indices.

    An index of the subset counts through the indices.
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The samples at several of the indices."""
        places = [self.indices[i] for i in indices]
        several = getattr(self.dataset, "__getitems__", None)
        return several(places) if callable(several) else [self.dataset[i] for i in places]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """Parts of a data set at random, of these lengths, or of these fractions, which sum to 1.

    Raises ValueError if they do not sum to the length of the data set.

    >>> import adjoint
    >>> data = adjoint.utils.data.TensorDataset(adjoint.arange(10))
    >>> [len(part) for part in adjoint.utils.data.random_split(data, [0.7, 0.3])]
    [7, 3]
    """
    n = len(dataset)
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        if any(not 0 <= fraction <= 1 for fraction in lengths):
            wrong = next(i for i, fraction in enumerate(lengths) if not 0 <= fraction <= 1)
            raise ValueError(f"Fraction at index {wrong} is not between 0 and 1")
        whole = [math.floor(n * fraction) for fraction in lengths]
        # one more for each of the first, until all have a place
        for i in range(n - sum(whole)):
            whole[i % len(whole)] += 1
        if 0 in whole:
            text = f"Length of split at index {whole.index(0)} is 0. This might result in an empty dataset."
            warnings.warn(text, stacklevel=2)
        lengths = whole
    if sum(lengths) != n:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = adjoint.randperm(n, generator=generator).tolist()
    ends = list(accumulate(int(length) for length in lengths))
    return [Subset(dataset, order[end - int(length) : end]) for end, length in zip(ends, lengths, strict=True)]
