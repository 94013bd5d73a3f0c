"""build_translated.py write|compile: the two halves of setup.py's build, for a machine without Cython.

write: Cython writes the C sources below build/cython. compile: a C compiler makes the modules from them, in place.
"""

from __future__ import annotations

import os
import runpy
import sys
import types
from pathlib import Path
from typing import Any

from setuptools import setup

FOLDER = Path("build", "cython")
SETUP = runpy.run_path("setup.py")
Build: Any = SETUP["OptionalBuildExt"]


class Write(Build):
    """Writes the C sources, and compiles nothing."""

    def build_extensions(self) -> None:
        self.translate()

    def copy_extensions_to_source(self) -> None:
        """There is none."""


class Compile(Build):
    """Compiles the existing C sources, and does not call Cython."""

    def translate(self) -> None:
        build, errors = types.ModuleType("Cython.Build"), types.ModuleType("Cython.Compiler.Errors")
        build.cythonize, errors.CompileError = translate_extensions, ValueError  # type: ignore[attr-defined]
        sys.modules |= {"Cython.Build": build, "Cython.Compiler.Errors": errors}
        super().translate()


def translate_extensions(extensions: list[Any], **options: Any) -> list[Any]:
    """The extensions with their C sources, as Cython's function of this name returns them."""
    for extension in extensions:
        source = FOLDER / Path(extension.sources[0]).with_suffix(".c")
        if not source.exists():
            raise ValueError(f"{source} is missing: `make gpu-sources` writes it where Cython is installed")
        extension.sources = [str(source)]
    return extensions


if __name__ == "__main__":
    os.environ["ADJOINT_REQUIRE_EXT"] = "1"
    kinds = {"write": Write, "compile": Compile}
    what = sys.argv[1]
    setup(
        long_description=SETUP["long_description"](),
        long_description_content_type="text/markdown",
        script_args=["--quiet", "build_ext", "--inplace", f"-j{os.cpu_count() or 1}"],
        ext_modules=SETUP["extensions"](),
        cmdclass={"build_ext": kinds[what]},
    )
