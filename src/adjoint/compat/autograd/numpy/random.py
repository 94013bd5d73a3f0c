"""numpy.random as it is, imported when it is first used: random numbers have no derivatives."""

from typing import Any as _Any


def __getattr__(name: str) -> _Any:
    import numpy.random

    return getattr(numpy.random, name)


def __dir__() -> list[str]:
    import numpy.random

    return dir(numpy.random)
