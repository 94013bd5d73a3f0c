"""Arrays in files on disk."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from adjoint.arrays.files import ArrayFile, disk_time

EXAMPLES = {
    "numbers": np.arange(12.0).reshape(3, 4),
    "columns": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "part": np.arange(24.0).reshape(4, 6)[::2, 1::2],
    "complex": np.array([1 + 2j, 3.0]),
    "bool": np.array([True, False, True]),
    "half": np.array([0.5], np.float16),
    "scalar": np.array(2.5),
    "empty": np.empty((0, 3)),
}


def test_arrays_come_back_with_their_order(tmp_path: Path) -> None:
    file = ArrayFile(tmp_path)
    stored = {name: file.write(array) for name, array in EXAMPLES.items()}
    assert list(tmp_path.iterdir()) == []
    for name, array in EXAMPLES.items():
        again = stored[name].read()
        assert again.dtype == array.dtype and again.shape == array.shape
        np.testing.assert_array_equal(again, array)
        assert again.flags.f_contiguous == array.flags.f_contiguous or name == "part"
        again[...] = 0
        np.testing.assert_array_equal(stored[name].read(), array)


def test_arrays_outlive_their_file_object(tmp_path: Path) -> None:
    stored = ArrayFile(tmp_path).write(np.arange(3.0))
    np.testing.assert_array_equal(stored.read(), [0.0, 1.0, 2.0])


def test_another_process_does_not_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = ArrayFile(tmp_path)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(RuntimeError, match="made this file, and process -1 cannot write"):
        file.write(np.ones(3))


def test_full_disk_is_an_error() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs the device /dev/full")
    file = ArrayFile("/tmp")
    file.file.close()
    file.file = open("/dev/full", "wb", buffering=0)  # noqa: SIM115 - closed below
    with pytest.raises(OSError, match="No space left"):
        file.write(np.ones(3))
    file.file.close()


def test_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        ArrayFile(tmp_path / "nowhere")


def test_time_of_a_disk(tmp_path: Path) -> None:
    time = disk_time(tmp_path)
    assert 0 < time(0) <= time(1_000_000)
