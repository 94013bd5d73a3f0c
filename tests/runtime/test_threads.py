"""The number of threads that share the work on large arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft
from threadpoolctl import threadpool_info

from adjoint.arrays.libraries import numpy_namespace
from adjoint.runtime import crossovers, threads


def test_refuses_numbers_of_threads() -> None:
    with pytest.raises(ValueError, match=r"set_num_threads\(\): expected a number from 1 to 8, got 0"):
        threads.set_num_threads(0)


def test_the_number_holds_for_blas() -> None:
    before = threads.get_num_threads()
    try:
        for n in (1, 2):
            threads.set_num_threads(n)
            blas = [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]
            assert blas and set(blas) == {n}
    finally:
        threads.set_num_threads(before)


def test_the_number_holds_for_fourier_transforms(monkeypatch: pytest.MonkeyPatch) -> None:
    def transform(array: Any, workers: int | None, axes: tuple[int, ...]) -> Any:
        numbers.append(workers)

    numbers: list[int | None] = []
    monkeypatch.setattr(scipy.fft, "fft2", transform)
    fourier = numpy_namespace._Fourier()
    before = threads.get_num_threads()
    try:
        for n in (1, 2):
            threads.set_num_threads(n)
            fourier.fft2(np.ones((crossovers.THREADED_TRANSFORM, 2)), axes=(0, 1))
    finally:
        threads.set_num_threads(before)
    fourier.fft2(np.ones((2, 2)), axes=(0, 1))
    assert numbers == [1, 2, 1]
