"""The compiled or plain form of the modules, and the message of an installation without compiled modules."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import adjoint
from adjoint.runtime import PLAIN

SWITCHES = ("ADJOINT_DISABLE_EXT", "ADJOINT_REQUIRE_EXT")


@pytest.fixture(scope="module")
def plain_installation(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package in the form of a wheel without compiled modules."""
    folder = tmp_path_factory.mktemp("plain")
    binary = shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    shutil.copytree(Path(adjoint.__file__).parent, folder / "adjoint", ignore=binary)
    return folder


def import_twice(folder: Path, **switches: str) -> subprocess.CompletedProcess[str]:
    """Two imports of adjoint from a folder, in another interpreter."""
    inherited = {name: value for name, value in os.environ.items() if name not in SWITCHES}
    program = "import adjoint, importlib; importlib.import_module('adjoint.func'); print(adjoint.__file__)"
    return subprocess.run(
        [sys.executable, "-c", program],
        env=inherited | switches | {"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_plain_installation_warns_once_and_says_what_to_do(plain_installation: Path) -> None:
    result = import_twice(plain_installation)
    assert result.stdout.startswith(str(plain_installation))
    assert result.stderr.count(PLAIN) == 1 and "RuntimeWarning" in result.stderr
    assert "C compiler" in PLAIN and "adjoint-autograd" in PLAIN


def test_plain_python_that_is_asked_for_does_not_warn(plain_installation: Path) -> None:
    assert import_twice(plain_installation, ADJOINT_DISABLE_EXT="1").stderr == ""


def test_compiled_modules_that_are_required_and_missing_are_an_error(plain_installation: Path) -> None:
    result = import_twice(plain_installation, ADJOINT_REQUIRE_EXT="1")
    assert result.returncode == 1
    assert "ImportError: ADJOINT_REQUIRE_EXT is set, but these modules are not compiled" in result.stderr
