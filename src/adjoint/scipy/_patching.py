"""`patched`: a block in which other code with imports of NumPy and SciPy runs on differentiable arrays."""

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
#: While names are replaced: the original objects, by the ids of their replacements.
_originals: dict[int, Any] = {}

#: The suffixes of compiled modules.
COMPILED = tuple(EXTENSION_SUFFIXES)

#: Packages whose modules keep the original classes of numbers.
STRICT = {"numpy", "__future__", *sys.stdlib_module_names} - {"__main__"}


class _State:
    """The open blocks and running imports. Names are replaced in blocks, but not during the import of a module."""

    blocks = 0
    imports = 0
    is_replaced = False


def _count(blocks: int = 0, imports: int = 0) -> None:
    """Update the counts of open blocks and running imports, then replace or restore names if necessary."""
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
    """The names and namespaces of all modules except adjoint's."""
    for name, module in list(sys.modules.items()):
        if isinstance(module, ModuleType) and name.partition(".")[0] != "adjoint":
            yield name, vars(module)


def _namespaces(left_out: set[str]) -> Iterator[dict[str, Any]]:
    return (space for name, space in _modules() if name.partition(".")[0] not in left_out)


def _exchange(table: dict[int, Any]) -> None:
    """Replace objects by others in the namespaces of all modules.

    A class stays in the module that defines it, since its methods refer to it. Compiled modules keep the functions that
    make arrays and the original NumPy, since they read the memory of its results directly.
    """
    for name, space in _modules():
        # a fast check: most modules have none of these objects
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
    """The base class of Array while names are replaced: for isinstance() and `__class__` it is a class of NumPy.

    It replaces the usual base class only then, since a property `__class__` makes negative results of isinstance()
    slow.
    """

    __slots__ = ()
    #: Errors recommend the block, but not inside the block.
    _for_others_code = ""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        """ndarray, or NumPy's scalar class for a number; for adjoint's code, the class itself."""
        if not thread.depth or is_own(sys._getframe(1)):
            return type(self)
        return class_in_numpy(self)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The namespace of plain arrays: NumPy, or for a copy of array_api_compat, its wrapper of NumPy."""
        package = sys._getframe(1).f_globals.get("__package__") or ""
        if package.endswith("array_api_compat.common"):
            return sys.modules[f"{package.removesuffix('.common')}.numpy"]
        return numpy


@contextmanager
def _pause() -> Iterator[None]:
    """A block without replacements."""
    _count(imports=1)
    try:
        yield
    finally:
        _count(imports=-1)


_finder = PausingFinder(_pause)


class patched:
    """A block in which code for NumPy and SciPy runs on differentiable arrays.

    In the block, and in the thread that entered it, the following names are adjoint's functions, in every module that
    has imported them, also by `from scipy.special import ...`:

    - `numpy.array`, `asarray`, `asanyarray`, `ascontiguousarray`, `asfortranarray`, `asarray_chkfinite`, `require` and
      `arange`, which otherwise convert differentiable arrays to plain ones;
    - `numpy.zeros`, `ones`, `empty`, `full`, `eye`, `identity`, `zeros_like` and so on: they make differentiable
      arrays, so that elements with derivatives can be assigned. They do this if a variable of the calling function, or
      a member or attribute of a variable, depends on a differentiated argument. Compiled modules get plain arrays;
    - the functions of `math` and `cmath`, if an argument is a differentiable array;
    - the functions and distributions of SciPy in `adjoint.scipy`.

    For a differentiable number, `float(x)` and `complex(x)` return this number, except in modules of Python and NumPy.
    `isinstance(x, numpy.ndarray)` is True for a differentiable array, `isinstance(x, float)` for a differentiable
    number.

    For plain arrays, all functions return the results of the original library. Other threads get the original
    functions, except SciPy's distributions, which are objects. All names are restored when the last block ends. A
    function that is stored outside a module, for instance in a class, is not replaced. During the import of a module no
    name is replaced, so that the module stores original functions.

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
            # make the replacements, with all their imports, before any name is replaced
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
