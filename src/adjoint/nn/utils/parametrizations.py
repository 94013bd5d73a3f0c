"""Parametrizations of weights: norm and direction, orthogonal matrices, spectral norm 1.

Salimans and Kingma (2016), "Weight normalization"; Miyato et al. (2018), "Spectral normalization for generative
adversarial networks"; Lezcano-Casado (2019), "Trivializations for gradient-based optimization on manifolds".
"""

from __future__ import annotations

from adjoint import linalg
from adjoint.core.modes.grad_mode import no_grad
from adjoint.core.operations.arguments import check_functions
from adjoint.nn import functional as F
from adjoint.nn.modules.module import Module
from adjoint.nn.utils import parametrize
from adjoint.tensor import creation
from adjoint.tensor.table import ops
from adjoint.tensor.tensor import Tensor

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

MAPS = ("matrix_exp", "cayley", "householder")


def _tensor_of(module: Module, name: str) -> Tensor:
    """The tensor under this name. Raises ValueError if it is missing."""
    value = getattr(module, name, None)
    if not isinstance(value, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return value


def norm_except(v: Tensor, dim: int | None) -> Tensor:
    """The norm over all axes except one, with kept dimensions; over all axes for None or -1.

    >>> import adjoint
    >>> from adjoint.nn.utils.parametrizations import norm_except
    >>> norm_except(adjoint.tensor([[3.0, 4.0], [0.0, 1.0]]), 0)
    tensor([[5.],
            [1.]])
    """
    if dim is None or dim == -1:
        return v.norm()
    axes = tuple(axis for axis in range(v.ndim) if axis != dim % v.ndim)
    return linalg.vector_norm(v, 2, axes, keepdim=True)


class _WeightNorm(Module):
    """`g * v / norm(v)`, from a norm and a direction."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Parametrize a weight as `g * v / norm(v)`, with one norm for each index of axis `dim`, or one norm for None.

    It returns the module. Raises ValueError if the module has no such tensor.

    >>> from adjoint import nn
    >>> model = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
    >>> [(key, value.shape) for key, value in model.named_parameters()][1]
    ('parametrizations.weight.original0', adjoint.Size([3, 1]))
    """
    return parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


class _Orthogonal(Module):
    """A map from any matrix to a matrix with orthonormal columns, or orthonormal rows if it has fewer rows."""

    base: Tensor

    def __init__(self, weight: Tensor, orthogonal_map: str, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        self.has_base = use_trivialization
        if use_trivialization:
            size = max(weight.shape[-2:])
            self.register_buffer(
                "base", creation.zeros(*weight.shape[:-2], size, size, dtype=weight.dtype, device=weight.device)
            )

    def forward(self, X: Tensor) -> Tensor:
        n, k = X.shape[-2:]
        transposed = n < k
        if transposed:
            X, n, k = X.mT, k, n
        if self.orthogonal_map == "householder":
            Q = linalg.householder_product(X, (2.0 / (1.0 + (X.tril(-1) ** 2).sum(-2))))
            Q = Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            A = X.tril()
            if n != k:
                # append columns of zeros, to get a square matrix
                A = ops.cat([A, creation.zeros(*A.shape[:-1], n - k, dtype=A.dtype, device=A.device)], -1)
            A = A - A.mH
            if self.orthogonal_map == "matrix_exp":
                Q = linalg.matrix_exp(A)
            else:
                eye = creation.eye(n, dtype=A.dtype, device=A.device)
                Q = linalg.solve(eye - 0.5 * A, eye + 0.5 * A)
            Q = Q[..., :k]
        if self.has_base:
            Q = self.base @ Q
        return Q.mT if transposed else Q

    def right_inverse(self, Q: Tensor) -> Tensor:
        if Q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got {Q.shape}.")
        n, k = Q.shape[-2:]
        transposed = n < k
        Q = Q.mT if transposed else Q
        n, k = Q.shape[-2:]
        if not self.has_base:
            if self.orthogonal_map in ("cayley", "matrix_exp"):
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            A, tau = ops.geqrf(Q)
            A.diagonal(dim1=-2, dim2=-1).sign_()
            A.diagonal(dim1=-2, dim2=-1)[tau == 0.0] *= -1
            return A.mT if transposed else A
        if n == k:
            basis = Q if _is_orthogonal(Q) else _nearest(Q)
        else:
            # append random columns, to get a square matrix
            noise = creation.randn(*Q.shape[:-1], n - k, dtype=Q.dtype, device=Q.device)
            basis = _nearest(ops.cat([Q, noise], -1))
        self.base.copy_(basis)
        # the learned factor is initially the identity
        start = creation.zeros_like(Q)
        start.diagonal(dim1=-2, dim2=-1).fill_(1.0 if self.orthogonal_map == "householder" else 0.0)
        if self.orthogonal_map == "householder":
            start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start.mT if transposed else start


def _is_orthogonal(Q: Tensor) -> bool:
    n = Q.shape[-1]
    eye = creation.eye(n, dtype=Q.dtype, device=Q.device)
    return bool(((Q.mH @ Q - eye).abs() < 10 * n * 1.2e-7).all())


def _nearest(A: Tensor) -> Tensor:
    """An orthogonal matrix from a QR factorization; it keeps leading columns that are orthonormal already."""
    Q, R = linalg.qr(A)
    signs = R.diagonal(dim1=-2, dim2=-1).sgn()
    return Q * signs.unsqueeze(-2)


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Parametrize a matrix to have orthonormal columns, or orthonormal rows if it has fewer rows; returns the module.

    orthogonal_map: "matrix_exp" or "cayley" of a skew-symmetric matrix, or "householder", a product of reflections.
    The default is matrix_exp for square and for complex matrices, and householder for others. use_trivialization:
    multiply the result by a fixed matrix; this allows assignments.

    Raises ValueError for other maps, and for tensors with fewer than two axes.

    >>> import adjoint
    >>> from adjoint import nn
    >>> weight = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3)).weight
    >>> bool((weight @ weight.T - adjoint.eye(3)).abs().max() < 1e-5)
    True
    """
    weight = _tensor_of(module, name)
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1] or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in MAPS:
        names = ", ".join(f'"{each}"' for each in MAPS)
        raise ValueError(f"orthogonal_map has to be one of {names}. Got: {orthogonal_map}")
    parametrization = _Orthogonal(weight, orthogonal_map, use_trivialization)
    return parametrize.register_parametrization(module, name, parametrization, unsafe=True)


class _SpectralNorm(Module):
    """A weight divided by its largest singular value, from steps of the power method in each training pass."""

    _u: Tensor
    _v: Tensor

    def __init__(self, weight: Tensor, n_power_iterations: int, dim: int, eps: float) -> None:
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{weight.ndim}, {weight.ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim, self.eps, self.n_power_iterations = dim % weight.ndim, eps, n_power_iterations
        if weight.ndim > 1:
            with no_grad():
                matrix = self._matrix(weight)
                rows, columns = matrix.shape
                self.register_buffer(
                    "_u", F.normalize(creation.randn(rows, dtype=weight.dtype, device=weight.device), dim=0, eps=eps)
                )
                self.register_buffer(
                    "_v", F.normalize(creation.randn(columns, dtype=weight.dtype, device=weight.device), dim=0, eps=eps)
                )
                self._iterate(matrix, 15)

    def _matrix(self, weight: Tensor) -> Tensor:
        """The weight as a matrix with a row for each index of axis `dim`."""
        return weight.movedim(self.dim, 0).flatten(1) if weight.ndim > 1 else weight

    def _iterate(self, matrix: Tensor, n: int) -> None:
        for _ in range(n):
            self._u.copy_(F.normalize(matrix @ self._v, dim=0, eps=self.eps))
            self._v.copy_(F.normalize(matrix.mH @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._matrix(weight)
        if self.training:
            with no_grad():
                self._iterate(matrix, self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / (u.conj() @ (matrix @ v))

    def right_inverse(self, value: Tensor) -> Tensor:
        # the value is assumed to have the spectral norm 1
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Parametrize a weight as itself divided by its largest singular value, from the power method; returns the module.

    dim: the axis of the outputs. The default is 1 for transposed convolutions, and 0 for other modules.

    Raises ValueError for n_power_iterations below 1.

    >>> from adjoint import nn
    >>> model = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 3), n_power_iterations=20)
    >>> bool((model.weight.norm(2) < 1.5).item())
    True
    """
    weight = _tensor_of(module, name)
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    parametrization = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, parametrization)


check_functions(globals(), __all__)
