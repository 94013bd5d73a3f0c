"""The namespace `special`: operations under torch.special's names, and polygamma with its order first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from adjoint.arrays.dtypes import dtype as _dtype
from adjoint.core.recorded import operations
from adjoint.functions import reduce
from adjoint.functions.arguments import optional_out
from adjoint.functions.composite import alias_parameters, composite, describe, ops, torch_call

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

#: Functions of torch.special by name, and the operations that they are.
_OPERATIONS = {
    "bessel_j0": "special_bessel_j0",
    "bessel_j1": "special_bessel_j1",
    "bessel_y0": "special_bessel_y0",
    "bessel_y1": "special_bessel_y1",
    "digamma": "digamma",
    "entr": "special_entr",
    "erf": "erf",
    "erfc": "erfc",
    "erfcx": "special_erfcx",
    "erfinv": "erfinv",
    "exp2": "exp2",
    "expit": "sigmoid",
    "expm1": "expm1",
    "gammainc": "igamma",
    "gammaincc": "igammac",
    "gammaln": "lgamma",
    "i0": "i0",
    "i0e": "special_i0e",
    "i1": "special_i1",
    "i1e": "special_i1e",
    "log1p": "log1p",
    "log_ndtr": "special_log_ndtr",
    "logit": "logit",
    "logsumexp": "logsumexp",
    "modified_bessel_i0": "i0",
    "modified_bessel_i1": "special_i1",
    "modified_bessel_k0": "special_modified_bessel_k0",
    "modified_bessel_k1": "special_modified_bessel_k1",
    "multigammaln": "mvlgamma",
    "ndtr": "special_ndtr",
    "ndtri": "special_ndtri",
    "psi": "digamma",
    "round": "round",
    "scaled_modified_bessel_k0": "special_scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1": "special_scaled_modified_bessel_k1",
    "sinc": "sinc",
    "xlog1py": "special_xlog1py",
    "xlogy": "xlogy",
    "zeta": "special_zeta",
}
for _name, _operation in _OPERATIONS.items():
    composite(namespace="special", method=False, name=_name)(operations[_operation])


@composite(method=False)
def polygamma(n: int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma, of the shape of input.

    Raises RuntimeError for a negative n, and TypeError if n is no int.

    >>> import adjoint
    >>> adjoint.polygamma(1, adjoint.tensor([1.0, 2.0]))
    tensor([1.6449, 0.6449])
    """
    return ops.polygamma(input, n, **optional_out(out))


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


# orthogonal polynomials -----------------------------------------------------------------------------------------------

_POLYNOMIAL = """The {title} of degree n (cut to an int, 0 below 0), broadcast.

    input and n: tensors or numbers, at least one a tensor; integers become the default floating-point dtype. out: a
    tensor for the result. Differentiable by input, to any order.

    >>> import adjoint
    >>> adjoint.special.{name}(adjoint.tensor([0.5]), 0)
    tensor([1.])
    """


@composite(namespace="special", method=False)
@alias_parameters(x="input")
@describe(_POLYNOMIAL, name="chebyshev_polynomial_t", title="Chebyshev Polynomial T")
def chebyshev_polynomial_t(input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    return ops.polynomial(input, n, "chebyshev_polynomial_t", **optional_out(out))


@composite(namespace="special", method=False)
@alias_parameters(x="input")
@describe(_POLYNOMIAL, name="chebyshev_polynomial_u", title="Chebyshev Polynomial U")
def chebyshev_polynomial_u(input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    return ops.polynomial(input, n, "chebyshev_polynomial_u", **optional_out(out))


@composite(namespace="special", method=False)
@alias_parameters(x="input")
@describe(_POLYNOMIAL, name="chebyshev_polynomial_v", title="Chebyshev Polynomial V")
def chebyshev_polynomial_v(input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    return ops.polynomial(input, n, "chebyshev_polynomial_v", **optional_out(out))


@composite(namespace="special", method=False)
@alias_parameters(x="input")
@describe(_POLYNOMIAL, name="chebyshev_polynomial_w", title="Chebyshev Polynomial W")
def chebyshev_polynomial_w(input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    return ops.polynomial(input, n, "chebyshev_polynomial_w", **optional_out(out))


@composite(namespace="special", method=False)
@alias_parameters(x="input")
@describe(_POLYNOMIAL, name="hermite_polynomial_h", title="Hermite Polynomial H")
def hermite_polynomial_h(input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    return ops.polynomial(input, n, "hermite_polynomial_h", **optional_out(out))


@composite(namespace="special", method=False)
@alias_parameters(x="input")
@describe(_POLYNOMIAL, name="hermite_polynomial_he", title="Hermite Polynomial He")
def hermite_polynomial_he(input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    return ops.polynomial(input, n, "hermite_polynomial_he", **optional_out(out))


@composite(namespace="special", method=False)
@alias_parameters(x="input")
@describe(_POLYNOMIAL, name="laguerre_polynomial_l", title="Laguerre Polynomial L")
def laguerre_polynomial_l(input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    return ops.polynomial(input, n, "laguerre_polynomial_l", **optional_out(out))


@composite(namespace="special", method=False)
@alias_parameters(x="input")
@describe(_POLYNOMIAL, name="legendre_polynomial_p", title="Legendre Polynomial P")
def legendre_polynomial_p(input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None) -> Tensor:
    return ops.polynomial(input, n, "legendre_polynomial_p", **optional_out(out))


@composite(namespace="special", method=False)
@alias_parameters(x="input")
@describe(_POLYNOMIAL, name="shifted_chebyshev_polynomial_t", title="Shifted Chebyshev Polynomial T")
def shifted_chebyshev_polynomial_t(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    return ops.polynomial(input, n, "shifted_chebyshev_polynomial_t", **optional_out(out))


@composite(namespace="special", method=False)
@alias_parameters(x="input")
@describe(_POLYNOMIAL, name="shifted_chebyshev_polynomial_u", title="Shifted Chebyshev Polynomial U")
def shifted_chebyshev_polynomial_u(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    return ops.polynomial(input, n, "shifted_chebyshev_polynomial_u", **optional_out(out))


@composite(namespace="special", method=False)
@alias_parameters(x="input")
@describe(_POLYNOMIAL, name="shifted_chebyshev_polynomial_v", title="Shifted Chebyshev Polynomial V")
def shifted_chebyshev_polynomial_v(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    return ops.polynomial(input, n, "shifted_chebyshev_polynomial_v", **optional_out(out))


@composite(namespace="special", method=False)
@alias_parameters(x="input")
@describe(_POLYNOMIAL, name="shifted_chebyshev_polynomial_w", title="Shifted Chebyshev Polynomial W")
def shifted_chebyshev_polynomial_w(
    input: Tensor | complex, n: Tensor | complex, *, out: Tensor | None = None
) -> Tensor:
    return ops.polynomial(input, n, "shifted_chebyshev_polynomial_w", **optional_out(out))


composite(namespace="special", method=False, name="polygamma")(polygamma)
