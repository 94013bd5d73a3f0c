"""Other builds of the compiled modules, each in its own folder below build/trust.

`python -m trust.builds NAME` makes the build of that name. The compiled modules beside the sources do not change.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trust import emulation
from trust.folders import FOLDER, ROOT

PACKAGE = ROOT / "src" / "adjoint"

#: Cython's checks in the build `checks`. They raise an error where the released modules continue.
CHECKS = {
    "boundscheck": True,
    "wraparound": True,
    "initializedcheck": True,
    "nonecheck": True,
    "overflowcheck": True,
    "cdivision": False,
}
#: A cast of a float that does not fit is undefined as well. The compilers do not check it by default.
SANITIZERS = ("-fsanitize=address,undefined,float-cast-overflow", "-fno-omit-frame-pointer", "-g1", "-O1")

#: The interpreter must be built with it, too: CPython's `./configure --with-thread-sanitizer`.
THREADS = ("-fsanitize=thread", "-fno-omit-frame-pointer", "-g1", "-O1")


@dataclass(frozen=True)
class Build:
    """One kind of build: its compiler, the options after those of setup.py, Cython's directives, its machine."""

    compiler: str = "gcc"
    flags: Sequence[str] = ()
    links: Sequence[str] = ()
    directives: Mapping[str, bool] = field(default_factory=dict)
    machine: emulation.Machine | None = None


BUILDS = {
    "sanitize": Build(flags=SANITIZERS, links=SANITIZERS[:1]),
    "sanitize-clang": Build("clang", (*SANITIZERS, "-shared-libsan"), (*SANITIZERS[:1], "-shared-libsan")),
    "threads": Build(flags=THREADS, links=THREADS[:1]),
    "free-threaded": Build(),
    "checks": Build(flags=("-O0",), directives=CHECKS),
    "clang": Build("clang"),
    **{name: Build(machine.compiler, machine=machine) for name, machine in emulation.MACHINES.items()},
}


def library(name: str) -> Path:
    """The folder of the package of a build, for PYTHONPATH."""
    return FOLDER / name / "lib"


def make(name: str, python: str = sys.executable) -> Path:
    """Build the modules for an interpreter, and copy the sources beside them. Unchanged files stay.

    Returns `library`.
    """
    result = subprocess.run([python, "-m", "trust.builds", name], cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"the build {name} failed:\n{result.stdout[-4000:]}{result.stderr[-4000:]}")
    return library(name)


def command(build: Build, setup: Any) -> type:
    """The command of setuptools for a build."""

    class Command(setup.OptionalBuildExt):  # type: ignore[misc]
        directives = setup.DIRECTIVES | build.directives
        separate = True  # modules with their symbols; setup.py strips what it installs
        sources = str(FOLDER / "cython-checks") if build.directives else setup.OptionalBuildExt.sources

        def flags(self, name: str) -> list[str]:
            return [*super().flags(name), *build.flags]

        def build_extensions(self) -> None:
            for extension in self.extensions:
                extension.extra_link_args = list(build.links)
            super().build_extensions()

        def translate(self) -> None:
            super().translate()
            if build.machine is not None:
                self.include_dirs = emulation.include_dirs(build.machine)
                for extension in self.extensions:
                    extension.include_dirs = [*self.include_dirs, *extension.include_dirs[1:]]  # for NumPy's of here

        def get_ext_filename(self, name: str) -> str:
            return super().get_ext_filename(name) if build.machine is None else f"{name.replace('.', '/')}.so"

        def get_ext_fullpath(self, name: str) -> str:
            return str(Path(self.build_lib, self.get_ext_filename(name)))

    return Command


def copy_sources(target: Path) -> None:
    """Copy the files of the package that are not compiled. Unchanged files keep their time."""
    for file in PACKAGE.rglob("*"):
        if file.suffix in (".so", ".pyc") or file.is_dir():
            continue
        copy = target / "adjoint" / file.relative_to(PACKAGE)
        if not copy.exists() or copy.stat().st_mtime < file.stat().st_mtime:
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)


def main(name: str) -> None:
    """Make a build in this process, which setuptools changes."""
    specification = importlib.util.spec_from_file_location("setup", ROOT / "setup.py")
    assert specification is not None and specification.loader is not None
    setup = importlib.util.module_from_spec(specification)
    os.chdir(ROOT)
    specification.loader.exec_module(setup)
    build, folder = BUILDS[name], FOLDER / name
    os.environ |= {"CC": build.compiler, "ADJOINT_REQUIRE_EXT": "1", "LDSHARED": f"{build.compiler} -shared"}
    copy_sources(library(name))
    setup.setup(
        name="adjoint",
        long_description="",
        script_args=["--quiet", "build_ext", f"--build-lib={library(name)}", f"--build-temp={folder / 'temp'}", "-j2"],
        ext_modules=setup.extensions(),
        cmdclass={"build_ext": command(build, setup)},
    )


if __name__ == "__main__":
    main(sys.argv[1])
