"""`adjoint.show_config()`: the facts of an installation that a bug report needs."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from importlib import metadata
from pathlib import Path
from typing import Any, Literal, overload

import numpy

from adjoint._compiled import COMPILED
from adjoint.arrays.kernels import processor, vectors
from adjoint.runtime import memory, threads, uncompiled_modules

FOLDER = Path(__file__).parents[1]
#: The distribution that brings this package.
DISTRIBUTION = "adjoint-autograd"
#: Packages that adjoint needs, and packages that it uses if they are installed.
PACKAGES = ("numpy", "scipy", "array-api-compat", "ml_dtypes", "dask", "mpi4py", "nvtx", "ittapi", "opt_einsum")
#: Environment variables that change how adjoint or the libraries below it run.
VARIABLES = (
    "ADJOINT_DISABLE_EXT", "ADJOINT_REQUIRE_EXT", processor.VARIABLE,
    "NPY_DISABLE_CPU_FEATURES", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
)  # fmt: skip
#: The loops that are compiled for several kinds of processor, by the number of the kind.
LOOPS = ("of every processor of this kind", "AVX2", "AVX-512")


@overload
def show_config(mode: Literal["stdout"] = "stdout") -> None: ...
@overload
def show_config(mode: Literal["dicts"]) -> dict[str, dict[str, Any]]: ...


def show_config(mode: str = "stdout") -> dict[str, dict[str, Any]] | None:
    """Print the facts for a bug report: versions, compiled modules, processor, BLAS, threads, memory, packages.

    mode: "stdout" prints the facts, "dicts" returns them as dictionaries, as `numpy.show_config` does. Raises
    ValueError for another mode.

    >>> import adjoint
    >>> list(adjoint.show_config("dicts"))
    ['adjoint', 'processor', 'threads', 'memory', 'packages', 'environment']
    """
    if mode not in ("stdout", "dicts"):
        raise ValueError(f"show_config(): mode must be 'stdout' or 'dicts', got {mode!r}")
    facts = {
        "adjoint": _installation(),
        "processor": _processor(),
        "threads": _threads(),
        "memory": {"allocator": _allocator(), **memory.statistics()},
        "packages": {name: version_of(name) or "not installed" for name in PACKAGES},
        "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }
    if mode == "dicts":
        return facts
    for title, entries in facts.items():
        print(f"{title}:")
        for name, value in entries.items():
            print(f"  {name}: {value}")
    return None


def version_of(distribution: str) -> str | None:
    """The installed version of a distribution, None if there is none."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def rivals() -> list[str]:
    """Other distributions that have installed files into the folder of this package, with their versions.

    Whichever was installed last has written `adjoint/__init__.py`, and uninstalling either removes it.
    """
    owners = {*metadata.packages_distributions().get("adjoint", [])} - {DISTRIBUTION}
    return [f"{name} {version_of(name)}" for name in sorted(owners) if _owns_folder(name)]


def _owns_folder(distribution: str) -> bool:
    files = metadata.files(distribution) or ()
    return any(Path(str(file.locate())).parent == FOLDER for file in files if file.name == "__init__.py")


def _installation() -> dict[str, Any]:
    missing = uncompiled_modules()
    return {
        "version": sys.modules["adjoint"].__version__,
        "folder": str(FOLDER),
        "compiled modules": f"{len(COMPILED) - len(missing)} of {len(COMPILED)}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "global interpreter lock": "disabled" if not getattr(sys, "_is_gil_enabled", lambda: True)() else "enabled",
        "platform": sysconfig.get_platform(),
        "other packages of the same name": ", ".join(rivals()) or "none",
    }


def _processor() -> dict[str, Any]:
    return {
        "machine": platform.machine(),
        "vector loops": LOOPS[vectors.kind_used()] if vectors.there else "none: NumPy's are used",
        "NumPy's vectors": " ".join(numpy.show_config(mode="dicts")["SIMD Extensions"].get("found", [])),
    }


def _threads() -> dict[str, Any]:
    blas = numpy.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "processors": os.cpu_count(),
        "adjoint": threads.get_num_threads(),
        "BLAS": f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip(),
    }


def _allocator() -> str:
    limit = memory.get_limit()
    return f"keeps up to {limit} bytes of freed memory" if limit else "NumPy's"
