"""The shared library with all compiled modules of an installation."""

import importlib.machinery
import sys

import pytest

from adjoint._compiled import COMPILED
from adjoint.runtime import _library


def test_named_modules_are_read_from_the_library() -> None:
    finder = _library.LibraryFinder(COMPILED, "/somewhere/library.so")
    for name in (*COMPILED, _library.SHARED):
        spec = finder.find_spec(name)
        assert spec is not None and spec.origin == "/somewhere/library.so", name
        assert isinstance(spec.loader, importlib.machinery.ExtensionFileLoader)
    assert finder.find_spec("adjoint.tensor.tensor") is finder.find_spec("numpy") is None


def test_the_functions_that_python_calls_have_names_of_their_own() -> None:
    ends = [name.rpartition(".")[2] for name in (*COMPILED, _library.SHARED)]
    assert len({*ends}) == len(ends)


def test_the_library_is_found_beside_the_package(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["adjoint"], "__path__", [str(tmp_path)])
    assert _library.library() is None
    file = tmp_path / f"_library{importlib.machinery.EXTENSION_SUFFIXES[0]}"
    file.touch()
    importlib.invalidate_caches()
    assert _library.library() == str(file)
