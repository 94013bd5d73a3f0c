"""Compile the hot modules (src/adjoint/_compiled.py lists them), each from its own .py and .pxd.

The compiled forms are optional: where they cannot be built, the same files run as Python, only slower.
ADJOINT_DISABLE_EXT=1 builds none; ADJOINT_REQUIRE_EXT=1 makes a failed build an error.

Built in place, each module is a file of its own beside its source. An installation has all of them in one file, which
is smaller by a tenth and loads sooner; src/adjoint/runtime/_library.py finds them there.
"""

import gzip
import os
import platform
import re
import runpy
import sys
import tarfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import BaseError, CCompilerError, PlatformError

ROOT = Path(__file__).parent
NO_COMPILER = "No C compiler was found that runs and finds Python's headers"
NOT_COMPILED = "The core could not be compiled"
CONSEQUENCE = ": adjoint runs as plain Python, slower and otherwise the same."

HEADERS = [str(file) for file in sorted(Path("src/adjoint").rglob("*.h"))]
#: The parts of Cython's run time that all compiled modules need, once for all of them: Cython writes its source.
SHARED = "adjoint.runtime._cython"
#: The file of an installation that holds all compiled modules.
LIBRARY = "adjoint._library"
FLAGS = {"msvc": ["/O2"]}
# what is fused is said in the sources (arrays/kernels/vectors_fused.h), so that last digits depend on no compiler;
# nobody reads errno after a square root, which is then one instruction for a vector
OTHER_FLAGS = ["-g0", "-ffp-contract=off", "-fno-math-errno"]
#: The modules of loops over elements, in which -O3 pays. gcc compiles those of the folder for size, and for speed the
#: headers that have the loops (optimized_begin.h).
KERNELS = "adjoint.arrays.kernels."
#: The other one. gcc makes vectors of its loops, and leaves out the rest of -O3, which makes it a quarter larger.
VECTORIZED = "adjoint.program.machine"
VECTORS_OF_GCC = ["-ftree-loop-vectorize", "-fvect-cost-model=dynamic"]
#: The modules that run seldom, that call Python more than they compute, or that are as quick where they are compiled
#: for size.
SMALL = ("adjoint.core.modes.profiling", "adjoint.core.view_steps", "adjoint.runtime.memory", "adjoint.runtime.threads")
SMALL += ("adjoint.transforms.batching.levels", "adjoint.tensor.arithmetic", SHARED)
SMALL += ("adjoint.compilation.matching", "adjoint.program.fused", "adjoint.program.region")
# together at most 1.8 % more instructions on the paths of benchmarks/instructions.py
SMALL += (
    "adjoint.core.in_place",
    "adjoint.core.modes.interceptors",
    "adjoint.core.modes.state",
    "adjoint.core.recorded",
)
SMALL += ("adjoint.transforms.duals", "adjoint.transforms.tangents", "adjoint.core.operations.binding")
#: An option of gcc for x86: memory is copied and cleared by the C library. Compiled for size it would be by one
#: instruction for each few bytes, which takes up to a hundred cycles to start.
COPIES = "-mstringop-strategy=libcall"
#: An option of gcc: what Cython declares unlikely, handling of errors above all, is compiled for size.
UNLIKELY = "--param=builtin-expect-probability=100"
# what is installed has neither symbols, which profilers read, nor padding between its parts, nor tables that only
# exceptions of C++ need: a fifth of the size
SMALL_FLAGS = ["-fno-asynchronous-unwind-tables", "-fno-align-functions", "-fno-align-jumps"]
SMALL_LINKS = ["-Wl,--strip-all", "-Wl,-z,noseparate-code"]
#: Options of gcc for compiling a file of an installation, and for linking them: what Cython writes into every module is
#: then in the library once, which is smaller by a twentieth.
LINK_TIME = ["-flto"]
LINK_TIME_LINKS = ["-flto=auto", "-O2", *SMALL_FLAGS]
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "nonecheck": False,
    "cdivision": True,
    # Python's lock stays off in free-threaded CPython: runtime/free_threading.h says how threads share what they share
    "freethreading_compatible": True,
    "auto_pickle": False,  # nodes, plans and programs belong to a process; Tensor and Operation say how they pickle
}


def switch(name: str) -> bool:
    """True if the environment variable `name` is set to something other than 0."""
    return os.environ.get(name, "0") not in ("", "0")


def headers_of(file: Path, visited: set[Path]) -> set[Path]:
    """The headers that a declaration file or header includes, also through others and through what it cimports."""
    if file not in visited and file.exists():
        visited.add(file)
        text = file.read_text(encoding="utf-8")
        for name in re.findall(r'(?:extern from|#include) "([\w./]+\.h)"', text):
            for header in map(Path, HEADERS):
                if header.name == Path(name).name:
                    headers_of(header, visited)
        for module in re.findall(r"^from (adjoint[\w.]+) cimport", text, re.MULTILINE):
            headers_of(Path("src", *module.split(".")).with_suffix(".pxd"), visited)
    return {path for path in visited if path.suffix == ".h"}


def extensions() -> list[Extension]:
    """One extension for each module of the list, whose source is its .py file, and one for what they share."""
    names = runpy.run_path(str(ROOT / "src/adjoint/_compiled.py"))["COMPILED"]
    files = {name: f"src/{name.replace('.', '/')}.py" for name in names}
    headers = {name: sorted(headers_of(Path(file).with_suffix(".pxd"), set())) for name, file in files.items()}
    modules = [Extension(name, [files[name]], depends=["setup.py", *map(str, headers[name])]) for name in names]
    return [*modules, Extension(SHARED, [f"src/{SHARED.replace('.', '/')}.c"])]


#: Corrections of Cython 3.3.1, for memory that cannot be had (`make soak`): the name and the file of a piece of C code,
#: and what stands there and should. A list comprehension gives a member up twice if its list cannot grow. A function
#: that fails without an exception, as NumPy's reductions do, ends Python 3.14 where the traceback is written.
CORRECTIONS = {
    ("ListCompAppendAndDecref", "Optimize.c"): (
        "Py_DECREF(x);\n    return result;",
        "if (likely(result == 0)) Py_DECREF(x);\n    return result;",
    ),
    ("AddTraceback", "Exceptions.c"): (
        "    if (c_line) {\n        c_line = __Pyx_CLineForTraceback(",
        "    if (unlikely(!PyErr_Occurred()))\n"
        '        PyErr_SetString(PyExc_SystemError, "error return without exception set");\n'
        "    if (c_line) {\n        c_line = __Pyx_CLineForTraceback(",
    ),
}


def correct_cython():
    """Apply the corrections to the code that Cython writes into modules."""
    from Cython.Compiler.Code import UtilityCode

    for (name, file), (wrong, right) in CORRECTIONS.items():
        code = UtilityCode.load_cached(name, file)
        code.impl = code.impl.replace(wrong, right)


class OptionalBuildExt(build_ext):
    """Build all the extensions or none: they call each other through their C interfaces."""

    directives = DIRECTIVES
    #: where Cython writes the C sources
    sources = "build/cython"
    #: whether each module gets a file of its own, with symbols, also where it is not built in place
    separate = False

    def run(self):
        in_place = self.inplace  # setuptools resets it while it builds
        self.separate = self.separate or in_place
        try:
            super().run()
        except (BaseError, CCompilerError, ImportError, OSError) as error:
            self.remove_outputs(in_place)
            if switch("ADJOINT_REQUIRE_EXT"):
                raise
            self.extensions = self.distribution.ext_modules = []
            reason = NO_COMPILER if NO_COMPILER in str(error) else NOT_COMPILED
            print(reason + CONSEQUENCE, file=sys.stderr)

    def build_extensions(self):
        self.check_compiler()
        self.translate()
        for extension in self.extensions:
            extension.extra_compile_args = self.flags(extension.name)
        if not self.separate:
            library = Extension(LIBRARY, [source for each in self.extensions for source in each.sources])
            library.modules, self.extensions = self.extensions, [library]
        super().build_extensions()

    def build_extension(self, extension):
        if extension.name != LIBRARY:
            super().build_extension(extension)
            return
        with ThreadPoolExecutor(self.parallel or os.cpu_count()) as pool:
            objects = [file for files in pool.map(self.compile_module, extension.modules) for file in files]
        self.compiler.link_shared_object(
            objects,
            self.get_ext_fullpath(LIBRARY),
            libraries=self.get_libraries(extension),
            library_dirs=self.library_dirs,
            runtime_library_dirs=self.rpath,
            extra_postargs=self.on_linux(SMALL_LINKS, LINK_TIME_LINKS),
            export_symbols=self.get_export_symbols(extension),
            build_temp=self.build_temp,
        )

    def compile_module(self, module):
        """The object files of a module."""
        return self.compiler.compile(
            module.sources,
            output_dir=self.build_temp,
            macros=module.define_macros,
            include_dirs=module.include_dirs,
            extra_postargs=[*module.extra_compile_args, *self.on_linux(SMALL_FLAGS, LINK_TIME)],
        )

    def on_linux(self, options, of_gcc):
        """The options for an installation on Linux: those of every compiler, and those of gcc."""
        if sys.platform != "linux":
            return []
        return [*options, *(of_gcc if self.is_gcc() else [])]

    def is_gcc(self):
        """True if gcc compiles, on Linux."""
        return sys.platform == "linux" and "gcc" in self.compiler.compiler_so[0]

    def get_export_symbols(self, extension):
        if extension.name != LIBRARY:
            return super().get_export_symbols(extension)
        return [f"PyInit_{module.name.rpartition('.')[2]}" for module in extension.modules]

    def flags(self, name):
        """The options of the compiler for a module."""
        if self.compiler.compiler_type in FLAGS:
            return FLAGS[self.compiler.compiler_type]
        is_gcc = self.is_gcc()
        is_small = name in SMALL or (is_gcc and name.startswith(KERNELS))
        has_loops = name.startswith(KERNELS) or (name == VECTORIZED and not is_gcc)
        optimized = "-Os" if is_small else "-O3" if has_loops else "-O2"
        loops = VECTORS_OF_GCC if is_gcc and name == VECTORIZED else []
        of_gcc = [UNLIKELY, *([COPIES] if platform.machine() == "x86_64" else [])] if is_gcc else []
        return [optimized, *loops, *of_gcc, *OTHER_FLAGS]

    def check_compiler(self):
        """Compile a file of one line: this tells a machine without a compiler from a mistake of ours."""
        probe = Path(self.build_temp, "probe.c")
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.write_text("#include <Python.h>\n")
        try:
            self.compiler.compile([str(probe)], output_dir=str(probe.parent.resolve()))
        except (CCompilerError, BaseError, OSError) as error:
            raise PlatformError(f"{NO_COMPILER} ({error})") from error

    def translate(self):
        """Have Cython write the C sources."""
        correct_cython()
        import numpy
        from Cython.Build import cythonize
        from Cython.Compiler.Errors import CompileError

        try:
            translated = cythonize(
                self.extensions,
                build_dir=self.sources,
                include_path=["src"],
                compiler_directives=self.directives,
                annotate=False,
                quiet=True,
                force=self.force,
                shared_utility_qualified_name=SHARED,
                shared_utility_features_disabled=["MemoryView"],  # nothing here has one
            )
        except CompileError as error:
            raise CCompilerError(f"Cython could not translate {error}") from error
        for extension, result in zip(self.extensions, translated, strict=True):
            extension.sources = result.sources
            extension.include_dirs = [numpy.get_include(), *sorted({str(Path(header).parent) for header in HEADERS})]
            if extension.name == SHARED:
                continue
            # older headers take NumPy 1.19 for the oldest to run with, and leave out the handlers of memory
            versions = {"NPY_NO_DEPRECATED_API": "NPY_1_7_API_VERSION", "NPY_TARGET_VERSION": "NPY_2_0_API_VERSION"}
            # calls of bound methods are left to Python, which needs no more instructions and a check less at each call
            extension.define_macros = [*versions.items(), ("CYTHON_UNPACK_METHODS", "0")]

    def remove_outputs(self, in_place):
        """Leave no extension of an earlier build: it would be imported in place of the newer source."""
        for extension in self.extensions:
            for folder in (self.build_lib, "src") if in_place else (self.build_lib,):
                Path(folder, self.get_ext_filename(extension.name)).unlink(missing_ok=True)


class ReproducibleSdist(sdist):
    """A source distribution whose bytes depend on the files alone, if SOURCE_DATE_EPOCH names the time."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        moment = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))

        def entry(info: tarfile.TarInfo) -> tarfile.TarInfo:
            info.mtime, info.uid, info.gid, info.uname, info.gname = moment, 0, 0, "", ""
            info.mode = 0o755 if info.isdir() or info.mode & 0o100 else 0o644
            return info

        path = f"{base_name}.tar.gz"
        with (
            open(path, "wb") as file,
            gzip.GzipFile("", "wb", fileobj=file, mtime=moment) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            archive.add(base_dir, filter=entry)  # in the order of names
        return path


def long_description() -> str:
    """The README as the package index shows it: links to files of the repository are absolute."""
    source = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]["Source"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:)", rf"\1{source}/raw/main/", text)
    return re.sub(r"((?<!!)\[[^]]*\]\()(?!https?:|#)", rf"\1{source}/blob/main/", text)


if __name__ == "__main__":
    setup(
        long_description=long_description(),
        long_description_content_type="text/markdown",
        ext_modules=[] if switch("ADJOINT_DISABLE_EXT") else extensions(),
        cmdclass={"build_ext": OptionalBuildExt, "sdist": ReproducibleSdist},
    )
