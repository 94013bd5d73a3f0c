"""Every attribute and method of numpy.ndarray on adjoint.numpy.Array, compared with ndarray."""

from __future__ import annotations

import ast
import copy
import ctypes
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adjoint
import adjoint.scipy
from adjoint.core.operations.dependence import LostDerivativeError
from adjoint.numpy import Array
from support.array_checks import assert_same, check
from support.ndarray_lines import ABSENT, BYTES, LINES, SAME_ERROR, VALUES

DOUBLES = ctypes.POINTER(ctypes.c_double)
NAMED_LINES = [(name, line) for name, lines in LINES.items() for line in lines]


def is_statement(part: str) -> bool:
    """True for a part of a line that is a statement and has no value."""
    return isinstance(ast.parse(part).body[0], (ast.Delete, ast.AugAssign))


#: NumPy 2.5 warns of it.
SHAPE_IS_SET = "ignore:Setting the shape:DeprecationWarning"


def function_of(line: str) -> tuple[Callable[..., Any], list[str]]:
    """A line of code as a function of the values that it names, and their names."""
    *statements, last = line.split("; ")
    code = "".join(f"    {statement}\n" for statement in statements)
    names = [name for name in VALUES if name in compile(line, line, "exec").co_names]
    space: dict[str, Any] = {"np": np, "copy": copy, "pickle": pickle}
    ending = f"    {last}\n    return x\n" if is_statement(last) else f"    return {last}\n"
    exec(f"def run({', '.join(names)}):\n{code}{ending}", space)
    return space["run"], names


@pytest.mark.parametrize(("name", "line"), NAMED_LINES)
@pytest.mark.filterwarnings("ignore:Casting complex:numpy.exceptions.ComplexWarning")
@pytest.mark.filterwarnings("ignore:overflow|invalid value|divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings(SHAPE_IS_SET)
def test_lines_about_an_attribute(name: str, line: str) -> None:
    function, names = function_of(line)
    options = {"step": 1e-2, "tolerance": 1e-2} if "float32" in line or "f4" in line else {}
    check(function, *[VALUES[each] for each in names], **options)


WRITTEN = sorted({name for name, line in NAMED_LINES if " * 1; " in line})


def check_writes_to_a_copy(name: str) -> None:
    for line in LINES[name]:
        if " * 1; " in line:
            function, names = function_of(line.replace(" * 1; ", ".copy(); "))
            options = {"step": 1e-2, "tolerance": 1e-2} if "float32" in line or "f4" in line else {}
            check(function, *[VALUES[each] for each in names], **options)


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.filterwarnings("ignore:Casting complex:numpy.exceptions.ComplexWarning")
@pytest.mark.filterwarnings("ignore:overflow|invalid value|divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings(SHAPE_IS_SET)
def test_lines_that_write_to_a_copy(name: str) -> None:
    check_writes_to_a_copy(name)


@pytest.mark.filterwarnings("ignore:Casting complex:numpy.exceptions.ComplexWarning")
@pytest.mark.filterwarnings("ignore:overflow|invalid value|divide by zero:RuntimeWarning")
@pytest.mark.filterwarnings(SHAPE_IS_SET)
def test_lines_that_write_to_a_copy_in_a_patched_block() -> None:
    # one block for all lines, since the beginning of a block visits all modules
    with adjoint.scipy.patched():
        for name in WRITTEN:
            try:
                check_writes_to_a_copy(name)
            except Exception as error:
                error.add_note(f"in a line about {name}")
                raise


@pytest.mark.parametrize("name", SAME_ERROR)
def test_what_numpy_refuses_arrays_refuse(name: str) -> None:
    line, error = SAME_ERROR[name]
    function, names = function_of(line)
    arguments = [VALUES[each] for each in names]
    with pytest.raises(error):
        function(*[np.array(value) for value in arguments])
    with pytest.raises(error):
        adjoint.grad(lambda *args: np.sum(function(*args)))(*arguments)


@pytest.mark.parametrize("name", BYTES)
def test_bytes_of_a_differentiated_array_are_refused(name: str) -> None:
    function, _ = function_of(BYTES[name])
    x = VALUES["x"]
    assert_same(function(Array(x)), function(x))
    with pytest.raises(LostDerivativeError, match=r"would be lost at .*run\. Compute with .* adjoint\.numpy\.detach"):
        adjoint.grad(lambda array: np.sum(function(array)))(x)


def test_every_attribute_is_in_the_table() -> None:
    names = {name for name in dir(np.ndarray) if name not in dir(object) or name in LINES}
    table = LINES.keys() | SAME_ERROR.keys() | BYTES.keys() | ABSENT.keys()
    assert names - table == set()
    assert {name for name in LINES.keys() | BYTES.keys() if not hasattr(Array, name)} == set()
    assert {name for name in ABSENT if hasattr(Array, name)} == set()


def test_an_array_of_another_class_is_no_view() -> None:
    with pytest.raises(TypeError, match="has no view as matrix"):
        Array([1.0]).view(np.matrix)
    assert isinstance(Array([1.0]).view(np.ndarray), Array)


def test_a_view_cannot_be_resized() -> None:
    with pytest.raises(ValueError, match="does not own its data"):
        Array([1.0, 2.0])[:1].resize(3)


def test_a_locked_array_is_not_assigned_to() -> None:
    for x in (np.ones(2), Array(np.ones(2))):
        x.setflags(write=False)
        with pytest.raises(ValueError, match="assignment destination is read-only"):
            x[0] = 2.0


@pytest.mark.parametrize("kind", [int, bool, "i4", "U3", object])
def test_an_array_of_no_numbers_with_derivatives_is_refused(kind: Any) -> None:
    with pytest.raises(TypeError, match="real or complex numbers"):
        adjoint.numpy.Array(-2, dtype=kind)
    assert adjoint.numpy.Array(-2, dtype="f4").dtype == np.float32


@pytest.mark.parametrize("share", [np.asarray, lambda a: np.ctypeslib.as_array(a.ctypes.data_as(DOUBLES), a.shape)])
def test_memory_that_others_write_to_is_read_anew(share: Any) -> None:
    a = np.zeros(2, like=adjoint.numpy.Array([1.0]))
    assert (a + 1).tolist() == [1.0, 1.0]
    plain = share(a)
    for value in (5.0, 7.0):
        plain[0] = value
        assert (a * 1).tolist() == [value, 0.0]
        assert a[:1].sum() == value
    gradient = adjoint.grad(lambda x: (x * a).sum())(np.ones(2))
    plain[0] = 0.0
    assert gradient.tolist() == [7.0, 0.0]
