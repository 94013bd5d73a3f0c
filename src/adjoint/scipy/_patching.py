"""`patched`: code that imports NumPy and SciPy itself runs on differentiable arrays for the time of a block."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Any

import numpy

from adjoint.interop.numpy_array.array import Array, NumpyArray
from adjoint.runtime.forks import new_rlock
from adjoint.scipy._blocks import is_own, thread
from adjoint.scipy._imports import PausingFinder
from adjoint.scipy._numbers import CLASSES, class_in_numpy
from adjoint.scipy._replacements import FOR_PYTHON, PlainNumpy, replacements

_lock = new_rlock()
#: While names are replaced: the original object of each replacement, by the replacement's id.
_originals: dict[int, Any] = {}

#: How the files of compiled modules end.
COMPILED = tuple(EXTENSION_SUFFIXES)

#: Packages whose modules keep the classes of numbers that they have.
STRICT = {"numpy", "__future__", *sys.stdlib_module_names} - {"__main__"}


class _State:
    """Names are replaced while there are blocks, but not while a module is imported."""

    blocks = 0
    imports = 0
    is_replaced = False


def _count(blocks: int = 0, imports: int = 0) -> None:
    """Count blocks and imports that begin, or with -1 end, and replace names or put them back."""
    with _lock:
        _State.blocks += blocks
        _State.imports += imports
        is_wanted = _State.blocks > 0 and _State.imports == 0
        if is_wanted != _State.is_replaced:
            _State.is_replaced = is_wanted
            if is_wanted:
                _replace()
            else:
                _restore()


def _replace() -> None:
    table = replacements()
    _originals.update({id(replacement): original for original, replacement in table.values()})
    _exchange({key: replacement for key, (_, replacement) in table.items()})
    for space in _namespaces(STRICT):
        for name, kind in CLASSES.items():
            space.setdefault(name, kind)
    Array.__bases__ = (ArrayInBlock,)


def _restore() -> None:
    Array.__bases__ = (NumpyArray,)
    for space in _namespaces(STRICT):
        for name, kind in CLASSES.items():
            if space.get(name) is kind:
                del space[name]
    _exchange(_originals)
    _originals.clear()


def _modules() -> Iterator[tuple[str, dict[str, Any]]]:
    """The names and namespaces of all modules but adjoint's own."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and name.partition(".")[0] != "adjoint":
            yield name, vars(module)


def _namespaces(without: set[str]) -> Iterator[dict[str, Any]]:
    return (space for name, space in _modules() if name.partition(".")[0] not in without)


def _exchange(table: dict[int, Any]) -> None:
    """Replace objects by others, wherever a module has them under a name.

    A class stays in the module that defines it, whose methods refer to it. Compiled modules keep what makes arrays, and
    know NumPy as it is, since they take its results as plain memory.
    """
    for name, space in _modules():
        # most modules have none of these objects
        if table.keys().isdisjoint(map(id, list(space.values()))):
            continue
        is_strict = name.partition(".")[0] in STRICT
        is_compiled = str(space.get("__file__")).endswith(COMPILED)
        for key, value in list(space.items()):
            other = table.get(id(value))
            if other is None or (isinstance(value, type) and (is_strict or value.__module__ == name)):
                continue
            if other in FOR_PYTHON if is_compiled else isinstance(other, PlainNumpy):
                continue
            space[key] = other


class ArrayInBlock(NumpyArray):
    """The base class of Array while names are replaced: isinstance() and `__class__` see what NumPy has in its place.

    It is exchanged for the usual one since a property `__class__` costs time wherever isinstance() says no.
    """

    __slots__ = ()
    #: Errors do not recommend the block in the block.
    _for_others_code = ""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """ndarray, or for a number NumPy's class of numbers; adjoint's own code sees the class itself."""
        if not thread.depth or is_own(sys._getframe(1)):
            return type(self)
        return class_in_numpy(self)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The namespace of plain arrays: NumPy, or where array_api_compat asks, the form of it that its copy has."""
        package = sys._getframe(1).f_globals.get("__package__") or ""
        if package.endswith("array_api_compat.common"):
            return sys.modules[f"{package.removesuffix('.common')}.numpy"]
        return numpy


@contextmanager
def _paused() -> Iterator[None]:
    """A with block in which no name is replaced."""
    _count(imports=1)
    try:
        yield
    finally:
        _count(imports=-1)


_finder = PausingFinder(_paused)


class patched:
    """A with block in which code that was not written for adjoint runs on differentiable arrays.

    In the block, and in the thread that entered it, the following names mean adjoint's functions, in every module that
    has imported them, `from scipy.special import ...` included:

    - `numpy.array`, `asarray`, `asanyarray`, `ascontiguousarray`, `asfortranarray`, `asarray_chkfinite`, `require` and
      `arange`, which otherwise turn differentiable arrays into plain ones;
    - `numpy.zeros`, `ones`, `empty`, `full`, `eye`, `identity`, and `zeros_like` and its like: they make arrays whose
      elements can be assigned derivatives, where a variable of the function that calls them depends on what is
      differentiated by, or a member or an attribute of one does, but not in compiled modules;
    - the functions of `math` and `cmath`, where an argument is a differentiable array;
    - the functions and distributions of SciPy that `adjoint.scipy` has.

    `float(x)` and `complex(x)` of a differentiable number are that number, in modules other than Python's and NumPy's.
    `isinstance(x, numpy.ndarray)` is true of a differentiable array, `isinstance(x, float)` of a differentiable number.

    For plain arrays all of these return the library's results. Other threads get the library's own functions, except
    SciPy's distributions, which are objects. When the last block ends, all names are restored. A function stored
    outside of a module, such as in a class, is not replaced. During the import of a module no name is replaced, so that
    it stores the libraries' own functions.

    >>> import adjoint, numpy, scipy.special
    >>> def entropy(p):
    ...     p = numpy.asarray(p, dtype=float)  # loses the derivative outside of the block
    ...     return -numpy.sum(scipy.special.xlogy(p, p))
    >>> with adjoint.scipy.patched():
    ...     adjoint.grad(entropy)(numpy.array([0.5, 0.25])).round(3)
    array([-0.307,  0.386])
    """

    def __enter__(self) -> None:
        with _lock:
            # made while nothing is replaced, and with the imports that this takes
            replacements()
            if _State.blocks == 0:
                sys.meta_path.insert(0, _finder)
            _count(blocks=1)
        thread.depth += 1

    def __exit__(self, *error: object) -> None:
        thread.depth -= 1
        with _lock:
            _count(blocks=-1)
            if _State.blocks == 0:
                sys.meta_path.remove(_finder)
