"""Python's containers under autograd.builtins' names.

Containers of boxes are Python's lists, tuples and dictionaries here. So these names are the built-in types. isinstance
and type use the value inside a box.
"""

from __future__ import annotations

import builtins
from typing import Any

from adjoint.compat.autograd._boxes import getval
from adjoint.compat.autograd._vspaces import ContainerVSpace

dict = builtins.dict
list = builtins.list
tuple = builtins.tuple  # type: ignore[type-arg]

# names of container boxes, for annotations and checks of types
DictBox = builtins.dict
SequenceBox = builtins.list

DictVSpace = ListVSpace = NamedTupleVSpace = SequenceVSpace = TupleVSpace = ContainerVSpace


def isinstance(x: Any, A: Any) -> bool:
    """Python's isinstance of a value, or of the value inside a box.

    x: any object. A: a class, or a tuple of classes.
    """
    return builtins.isinstance(getval(x), A) or builtins.isinstance(x, A)


def type(x: Any, *more: Any) -> Any:
    """Python's type of a value, or of the value inside a box.

    With three arguments it makes a class, like Python's type.
    """
    return builtins.type(x, *more) if more else builtins.type(getval(x))


__all__ = [
    "ContainerVSpace", "DictBox", "DictVSpace", "ListVSpace", "NamedTupleVSpace", "SequenceBox", "SequenceVSpace",
    "TupleVSpace", "dict", "isinstance", "list", "tuple", "type",
]  # fmt: skip
