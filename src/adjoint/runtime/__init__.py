"""State of the process: threads, locks, reused memory, crossovers, one-time warnings, caches, trees of containers.

The hot modules named in `adjoint._compiled` exist in two forms, the Python source and its compilation by Cython.
ADJOINT_DISABLE_EXT=1 selects the source. ADJOINT_REQUIRE_EXT=1 makes its use an error. Without either, an installation
that has only the sources warns.
"""

import os
import sys
import warnings

from adjoint._compiled import COMPILED

PLAIN = (
    "adjoint runs as plain Python here, several times slower than compiled: this installation has no compiled modules. "
    "A wheel for this platform brings them; so does a C compiler with `pip install --force-reinstall --no-binary "
    "adjoint-autograd adjoint-autograd`. ADJOINT_DISABLE_EXT=1 asks for plain Python and leaves out this warning."
)


def _is_on(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


if _is_on("ADJOINT_DISABLE_EXT"):
    from adjoint.runtime import _sources

    sys.meta_path.insert(0, _sources.SourceFinder(COMPILED))
else:
    from adjoint.runtime import _library

    if file := _library.library():
        sys.meta_path.insert(0, _library.LibraryFinder(COMPILED, file))


def uncompiled_modules() -> list[str]:
    """Names of the hot modules that run as Python source, also if they are not imported yet.

    >>> set(uncompiled_modules()) <= set(COMPILED)
    True
    """
    from importlib.util import find_spec

    return [name for name in COMPILED if (spec := find_spec(name)) is None or str(spec.origin).endswith(".py")]


def check_switches() -> None:
    """Raise ImportError if ADJOINT_REQUIRE_EXT is set and a hot module is not compiled.

    Warns where the modules run as Python source although ADJOINT_DISABLE_EXT does not ask for that.
    """
    missing = uncompiled_modules() if _is_on("ADJOINT_REQUIRE_EXT") else []
    if missing:
        raise ImportError(
            f"ADJOINT_REQUIRE_EXT is set, but these modules are not compiled: {', '.join(missing)}; "
            "reinstall adjoint where a C compiler is found, or unset the variable"
        )
    # a module that is imported by now tells for all: they are installed together, and a search of files takes time
    if str(sys.modules["adjoint.core.graph"].__file__).endswith(".py") and not _is_on("ADJOINT_DISABLE_EXT"):
        warnings.warn(PLAIN, RuntimeWarning, stacklevel=3)
