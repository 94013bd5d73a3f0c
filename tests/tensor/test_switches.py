"""Deterministic algorithms and the number of threads."""

import re

import pytest

import adjoint


def raises(kind, text):
    return pytest.raises(kind, match=re.escape(text))


def test_deterministic_algorithms():
    try:
        for mode, number in [("warn", 1), (2, 2), ("default", 0)]:
            adjoint.set_deterministic_debug_mode(mode)
            assert adjoint.get_deterministic_debug_mode() == number
            assert adjoint.are_deterministic_algorithms_enabled() is (number > 0)
            assert adjoint.is_deterministic_algorithms_warn_only_enabled() is (number == 1)
        adjoint.use_deterministic_algorithms(True)
        assert adjoint.get_deterministic_debug_mode() == 2
    finally:
        adjoint.use_deterministic_algorithms(False)
    with raises(RuntimeError, "expected one of `default`, `warn`, `error`, but got loud"):
        adjoint.set_deterministic_debug_mode("loud")
    with raises(RuntimeError, "invalid value of debug_mode, expected 0, 1, or 2, but got 7"):
        adjoint.set_deterministic_debug_mode(7)
    with raises(TypeError, "debug_mode must be str or int, but got <class 'float'>"):
        adjoint.set_deterministic_debug_mode(1.0)
    with raises(TypeError, "argument 'mode' must be bool, not int"):
        adjoint.use_deterministic_algorithms(1)


def test_threads():
    before = adjoint.get_num_threads()
    try:
        adjoint.set_num_threads(1)
        assert adjoint.get_num_threads() == 1
    finally:
        adjoint.set_num_threads(before)
