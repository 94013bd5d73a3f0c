"""scipy.special, whose functions also take Tensors."""

from typing import Any as _Any

import scipy.special as _special

from adjoint.core.operations.naming import known_by as _known_by
from adjoint.interop.namespaces import for_both as _for_both
from adjoint.interop.namespaces import over_tensors as _over_tensors
from adjoint.interop.namespaces import public_names as _public_names
from adjoint.interop.scipy_functions.special_refusals import REASONS as _REASONS
from adjoint.interop.scipy_functions.special_refusals import refuse as _refused

globals().update(_public_names("scipy.special.", _special))
globals().update(_over_tensors("scipy.special.", _special))
globals().update(
    {name: _known_by(_for_both(getattr(_special, name), _refused(name)), __name__, name) for name in _REASONS}
)

__all__ = list(_special.__all__)


def __getattr__(name: str) -> _Any:
    return getattr(_special, name)
