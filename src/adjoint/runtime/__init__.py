"""State of the process: threads, locks, kept memory, crossovers, warnings given once, caches, trees of containers.

The hot modules named in `adjoint._compiled` exist in two forms, the Python source and its compilation by Cython.
ADJOINT_DISABLE_EXT=1 takes the source, ADJOINT_REQUIRE_EXT=1 refuses to go on with it.
"""

import os
import sys

from adjoint._compiled import COMPILED


def _switched_on(name: str) -> bool:
    return os.environ.get(name, "") not in ("", "0")


if _switched_on("ADJOINT_DISABLE_EXT"):
    from adjoint.runtime import _sources

    sys.meta_path.insert(0, _sources.SourceFinder(COMPILED))


def uncompiled_modules() -> list[str]:
    """Names of the hot modules that run as Python source, also of those that are not imported yet.

    >>> set(uncompiled_modules()) <= set(COMPILED)
    True
    """
    from importlib.util import find_spec

    return [name for name in COMPILED if (spec := find_spec(name)) is None or str(spec.origin).endswith(".py")]


def check_switches() -> None:
    """Raise ImportError if ADJOINT_REQUIRE_EXT is set and a hot module is not compiled."""
    missing = uncompiled_modules() if _switched_on("ADJOINT_REQUIRE_EXT") else []
    if missing:
        raise ImportError(
            f"ADJOINT_REQUIRE_EXT is set, but these modules are not compiled: {', '.join(missing)}; "
            "reinstall adjoint where a C compiler is found, or unset the variable"
        )
