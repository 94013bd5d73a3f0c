"""scipy.special, whose functions also take Tensors."""

from typing import Any as _Any

import scipy.special as _special

from adjoint.interop.namespaces import over_tensors as _over_tensors

globals().update({name: getattr(_special, name) for name in _special.__all__})
globals().update(_over_tensors("scipy.special.", _special))

__all__ = list(_special.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_special, name)
