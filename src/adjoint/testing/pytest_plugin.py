"""A fixture for pytest, check_derivatives: its failures appear as failed tests without a traceback.

Enable it in conftest.py or in a test module:

    pytest_plugins = ["adjoint.testing.pytest_plugin"]

and use it:

    def test_my_function(check_derivatives):
        check_derivatives(my_function, adjoint.rand(3, 2), order=2)

Random numbers drawn in such a test are the same in every run.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from adjoint.core.modes.random import get_rng_state, manual_seed, set_rng_state
from adjoint.tools.gradcheck import GradcheckError
from adjoint.tools.gradcheck import check_derivatives as _check

SEED = 0


@pytest.fixture(name="check_derivatives")
def check_derivatives_fixture() -> Iterator[Callable[..., None]]:
    """The function adjoint.testing.check_derivatives as the fixture `check_derivatives`.

    The default generator is seeded before the test, and its state is restored after the test.
    """
    state = get_rng_state()
    manual_seed(SEED)
    try:
        yield _failing
    finally:
        set_rng_state(state)


def _failing(f: Callable[..., Any], *args: Any, **options: Any) -> None:
    __tracebackhide__ = True
    try:
        _check(f, *args, **options)
    except GradcheckError as error:
        pytest.fail("\n".join([str(error), *getattr(error, "__notes__", ())]), pytrace=False)
