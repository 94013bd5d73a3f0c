"""The names under which functions are public."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])

#: Torch's names for the nodes of operations in place, if they differ from the operation's name.
IN_PLACE_NODES = {
    "AsStridedBackward0": "AsStridedBackward1",
    "AcoshBackward0": "AcoshBackward1",
    "AsinhBackward0": "AsinhBackward1",
    "AtanhBackward0": "AtanhBackward1",
    "CeluBackward0": "CeluBackward1",
    "ConjBackward0": "ConjPhysicalBackward1",
    "EluBackward0": "EluBackward1",
    "FillBackward0": "FillBackward2",
    "FillBackward1": "FillBackward3",
    "LeakyReluBackward0": "LeakyReluBackward1",
    "PolygammaBackward0": "PolygammaBackward1",
    "RreluWithNoiseBackward0": "RreluWithNoiseBackward1",
    "SqueezeBackward0": "SqueezeBackward3",
    "SqueezeBackward1": "SqueezeBackward4",
    "SqueezeBackward2": "SqueezeBackward5",
    "TBackward0": "TBackward1",
    "ThresholdBackward0": "ThresholdBackward1",
    "TransposeBackward0": "TransposeBackward1",
    "UnsqueezeBackward0": "UnsqueezeBackward1",
}

#: Names of nodes that are not the names of their types.
QUALIFIED_NODES = {"CopyBackwards": "torch::autograd::CopyBackwards"}


class KeptByName:
    """An object in place of a function: like a function, it is pickled by its public name and is its own copy."""

    def __reduce__(self) -> str:
        return self.__qualname__  # type: ignore[attr-defined,no-any-return]


def known_by(function: F, module: str, name: str) -> F:
    """Give a function its public name, under which a pickle finds it wherever it is defined.

    >>> import adjoint, pickle
    >>> pickle.loads(pickle.dumps(adjoint.where)) is adjoint.where
    True
    """
    function.__module__, function.__qualname__ = module, name
    function.__name__ = name.rpartition(".")[2]
    return function
