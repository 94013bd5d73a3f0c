"""scipy.spatial; the functions of its module `distance` also take Tensors."""

from typing import Any as _Any

import scipy.spatial as _spatial

from adjoint.scipy.spatial import distance as distance

globals().update({name: getattr(_spatial, name) for name in _spatial.__all__ if name != "distance"})

__all__ = list(_spatial.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_spatial, name)
