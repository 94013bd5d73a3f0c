"""Functions of scipy.special without derivatives, as data, with the reason of each."""

from __future__ import annotations

from typing import Any

import scipy.special

from adjoint.core.graph import TensorBase
from adjoint.interop.operands import is_tracked, map_instances, tensors_in, values_of

_WHOLE = "its arguments are whole numbers"
_NODES = "its nodes and weights have no derivative by the parameters here"
_POLYNOMIAL = "it gives the object of a polynomial; the function with eval_ before the name evaluates one"
_LAME = "there is no formula for the derivatives of ellipsoidal harmonics here"

_FAMILIES = (
    "legendre", "chebyt", "chebyu", "chebyc", "chebys", "jacobi", "laguerre", "genlaguerre", "hermite", "hermitenorm",
    "gegenbauer", "sh_legendre", "sh_chebyt", "sh_chebyu", "sh_jacobi",
)  # fmt: skip

#: Functions that SciPy 1.17 has removed, and their replacements.
_GONE = {
    "clpmn": "assoc_legendre_p_all(n, m, z)",
    "lpmn": "assoc_legendre_p_all(n, m, z)",
    "lpn": "legendre_p_all(n, z)",
    "sph_harm": "sph_harm_y(n, m, theta, phi)",
}

#: By name, why a function is not differentiated.
REASONS: dict[str, str] = {
    **{name: _WHOLE for name in scipy.special.__all__ if name.endswith("_zeros")},
    **dict.fromkeys(("bernoulli", "euler", "stirling2"), _WHOLE),
    **{name: _NODES for name in scipy.special.__all__ if name.endswith("_roots") or name.startswith("roots_")},
    **dict.fromkeys(_FAMILIES, _POLYNOMIAL),
    **dict.fromkeys(("pbdv_seq", "pbvv_seq"), "SciPy's last slope is wrong; call pbdv or pbvv for each order"),
    "pbdn_seq": "its argument is complex; pbdv is the function of a real one",
    **dict.fromkeys(("mathieu_even_coef", "mathieu_odd_coef"), "mathieu_cem and mathieu_sem have derivatives by q"),
    **{old: f"SciPy 1.17 has it no more; {new} has one" for old, new in _GONE.items() if old in scipy.special.__all__},
    **dict.fromkeys(("ellip_harm", "ellip_harm_2", "ellip_normal"), _LAME),
}


def refuse(name: str) -> Any:
    """A function over Tensors that runs SciPy's on their values. Raises TypeError where a derivative would be lost."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if any(is_tracked(tensor) for tensor in tensors_in((args, kwargs))):
            raise TypeError(
                f"scipy.special.{name}() has no derivative: {REASONS[name]}. Use tensor.detach(), or "
                "adjoint.numpy.detach(x) of an array, to have it taken as a constant"
            )
        args, kwargs = map_instances(lambda tensor: values_of(tensor)[()], TensorBase, (args, kwargs))
        return getattr(scipy.special, name)(*args, **kwargs)

    return call
