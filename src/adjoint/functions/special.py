"""The namespace `special`: operations under torch.special's names, and polygamma with its order first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.arrays.dtypes import dtype as _dtype
from adjoint.core.recorded import operations
from adjoint.functions import reduce
from adjoint.functions.composite import composite, ops, renamed, torch_call
from adjoint.rules.special import POLYNOMIALS

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

#: Names in torch.special of operations that are declared under another.
_ALIASES = {
    "expit": "sigmoid",
    "psi": "digamma",
    "gammaln": "lgamma",
    "gammainc": "igamma",
    "gammaincc": "igammac",
    "multigammaln": "mvlgamma",
    "modified_bessel_i0": "i0",
    "modified_bessel_i1": "special_i1",
}
_SAME = (
    "digamma", "erf", "erfc", "erfinv", "exp2", "expm1", "i0", "log1p", "logit", "logsumexp", "round", "sinc", "xlogy",
)  # fmt: skip

for _name in _SAME:
    composite(namespace="special", method=False, name=_name)(operations[_name])
for _name, _of in _ALIASES.items():
    composite(namespace="special", method=False, name=_name)(operations[_of])
#: Rules for SciPy's functions, of tables and not of torch's.
_TABLED = ("special_function", "special_function_of_two")
for _name, _operation in operations.items():
    if _name.startswith("special_") and _name not in _TABLED:
        composite(namespace="special", method=False, name=_name.removeprefix("special_"))(_operation)


@composite(method=False)
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma, of the shape of input.

    Raises RuntimeError for a negative n, TypeError for one that is no int.

    >>> import adjoint
    >>> adjoint.polygamma(1, adjoint.tensor([1.0, 2.0]))
    tensor([1.6449, 0.6449])
    """
    return ops.polygamma(input, n, **_given(out))


def _given(out: Tensor | None) -> dict[str, Tensor]:
    return {} if out is None else {"out": out}


@composite(namespace="special", method=False)
@torch_call()
def airy_ai(input: Tensor) -> Tensor:
    """Airy's function Ai, elementwise.

    >>> import adjoint
    >>> adjoint.special.airy_ai(adjoint.tensor([0.0, 1.0]))
    tensor([0.3550, 0.1353])
    """
    return ops.airy_ai(input)


@composite(namespace="special", method=False)
@torch_call()
def spherical_bessel_j0(input: Tensor) -> Tensor:
    """sin(input) / input, elementwise; 1 at 0.

    >>> import adjoint
    >>> adjoint.special.spherical_bessel_j0(adjoint.tensor([0.0, 1.0]))
    tensor([1.0000, 0.8415])
    """
    return ops.spherical_bessel_j(input)


@composite(namespace="special", method=False)
def softmax(input: Tensor, dim: int, dtype: _dtype | None = None) -> Tensor:
    """exp(input) divided by its sum along an axis.

    >>> import adjoint
    >>> adjoint.special.softmax(adjoint.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    return reduce.softmax(input, dim, dtype=dtype)


@composite(namespace="special", method=False)
def log_softmax(input: Tensor, dim: int, dtype: _dtype | None = None) -> Tensor:
    """The logarithm of softmax().

    >>> import adjoint
    >>> adjoint.special.log_softmax(adjoint.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """
    return reduce.log_softmax(input, dim, dtype=dtype)


def _polynomial(name: str) -> None:
    def function(input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
        return ops.polynomial(input, n, name, **_given(out))

    title = name.replace("_", " ").title()
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {title} of degree n (cut to an int, 0 below 0), broadcast.

    input and n: tensors or numbers, at least one a tensor; integers become the default floating-point dtype. out: a
    tensor for the result. Differentiable by input, to any order.

    >>> import adjoint
    >>> adjoint.special.{name}(adjoint.tensor([0.5]), 0)
    tensor([1.])
    """
    composite(namespace="special", method=False, name=name)(renamed(x="input")(function))


for _name in POLYNOMIALS:
    _polynomial(_name)

composite(namespace="special", method=False, name="polygamma")(polygamma)
