"""Initial values of parameters, written in place without recording: the functions of torch.nn.init.

Each function takes a tensor of any shape, of a floating-point or complex dtype, and returns the same tensor. Random
functions draw from their argument `generator`, or from the default generator (`adjoint.manual_seed`).

Glorot and Bengio (2010), "Understanding the difficulty of training deep feedforward neural networks"; He et al.
(2015), "Delving deep into rectifiers"; Saxe et al. (2014), "Exact solutions to the nonlinear dynamics of learning in
deep linear neural networks"; Martens (2010), "Deep learning via Hessian-free optimization".
"""

from __future__ import annotations

import math
import typing as _typing
import warnings

from adjoint.core.modes.grad_mode import no_grad
from adjoint.core.modes.random import Generator
from adjoint.core.operations.arguments import check_functions
from adjoint.tensor.creation import randperm
from adjoint.tensor.older.absent import AttributeOf as _AttributeOf
from adjoint.tensor.tensor import Tensor

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

#: The gains of nonlinearities without a parameter.
GAINS = {
    **dict.fromkeys(("linear", "sigmoid", "conv1d", "conv2d", "conv3d"), 1.0),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), 1.0),
    "tanh": 5 / 3,
    "relu": math.sqrt(2.0),
    "selu": 3 / 4,
}
FANS = ("fan_in", "fan_out")
NO_FANS = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
FAR_MEAN = "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect."


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended factor for weights before a nonlinearity; it keeps the variance equal from layer to layer.

    Args:
        nonlinearity: "linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu", or the name of a convolution.
        param: the slope of leaky_relu() for negative numbers; None means 0.01.

    Raises ValueError for other names, and for a slope that is not a number.

    >>> from adjoint.nn import init
    >>> init.calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity == "leaky_relu":
        if isinstance(param, bool) or not isinstance(param, (int, float, type(None))):
            raise ValueError(f"negative_slope {param} not a valid number")
        slope = 0.01 if param is None else param
        return math.sqrt(2.0 / (1 + slope * slope))
    if nonlinearity not in GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return GAINS[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with numbers from the uniform distribution on [a, b).

    >>> import adjoint
    >>> adjoint.nn.init.uniform_(adjoint.empty(3), 2, 3).floor()
    tensor([2., 2., 2.])
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with numbers from the normal distribution with this mean and standard deviation.

    >>> import adjoint
    >>> adjoint.nn.init.normal_(adjoint.empty(2, 3), std=0.0)
    tensor([[0., 0., 0.],
            [0., 0., 0.]])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill a tensor with numbers from the normal distribution, truncated to [a, b].

    The values are quantiles of uniform probabilities. It warns if the mean is more than 2 std outside [a, b], since
    rounding makes the distribution wrong there.

    >>> import adjoint
    >>> bool((adjoint.nn.init.trunc_normal_(adjoint.empty(100)).abs() <= 2).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(FAR_MEAN, stacklevel=3)
    width = std * math.sqrt(2.0)
    low, high = (math.erf((bound - mean) / width) for bound in (a, b))
    with no_grad():
        uniform = tensor.uniform_(low, high, generator=generator).double()
        return tensor.copy_((uniform.erfinv() * width + mean).clamp(a, b))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill a tensor with one number.

    >>> import adjoint
    >>> adjoint.nn.init.constant_(adjoint.empty(2), 0.3)
    tensor([0.3000, 0.3000])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill a tensor with ones.

    >>> import adjoint
    >>> adjoint.nn.init.ones_(adjoint.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill a tensor with zeros.

    >>> import adjoint
    >>> adjoint.nn.init.zeros_(adjoint.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix (m, n) with ones on its diagonal and zeros elsewhere.

    Raises ValueError unless the tensor has two axes.

    >>> import adjoint
    >>> adjoint.nn.init.eye_(adjoint.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.zero_().fill_diagonal_(1)


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the kernel (out, in, ...) of a convolution so that each group copies its first channels from the input.

    Raises ValueError unless the tensor has 3 to 5 axes and out is a multiple of groups.

    >>> import adjoint
    >>> weight = adjoint.nn.init.dirac_(adjoint.empty(2, 2, 3))
    >>> x = adjoint.arange(8.0).reshape(1, 2, 4)
    >>> bool((adjoint.nn.functional.conv1d(x, weight, padding=1) == x).all())
    True
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    out, kernel = tensor.shape[0], tensor.shape[2:]
    if out % groups:
        raise ValueError("dim 0 must be divisible by groups")
    middle = tuple(size // 2 for size in kernel)
    with no_grad():
        tensor.zero_()
        for group in tensor.unflatten(0, (groups, out // groups)):
            group[(slice(None), slice(None), *middle)].fill_diagonal_(1)
    return tensor


def fans(tensor: Tensor) -> tuple[int, int]:
    """The number of inputs for each output of a layer, and the number of outputs for each input."""
    if tensor.ndim < 2:
        raise ValueError(NO_FANS)
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with uniform numbers between ±gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010).

    Raises ValueError for fewer than two axes.

    >>> import adjoint
    >>> bool((adjoint.nn.init.xavier_uniform_(adjoint.empty(2, 4)).abs() <= 1).all())
    True
    """
    bound = gain * math.sqrt(6.0 / max(sum(fans(tensor)), 1))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with normal numbers of standard deviation gain * sqrt(2 / (fan_in + fan_out)).

    See Glorot and Bengio (2010).

    Raises ValueError for fewer than two axes.

    >>> import adjoint
    >>> adjoint.nn.init.xavier_normal_(adjoint.empty(3, 4), gain=0.0).count_nonzero()
    tensor(0)
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / max(sum(fans(tensor)), 1)), generator)


def deviation(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    """The standard deviation of He et al.: gain / sqrt(fan)."""
    mode = mode.lower()
    if mode not in FANS:
        raise ValueError(f"Mode {mode} not supported, please use one of {list(FANS)}")
    return calculate_gain(nonlinearity, a) / math.sqrt(fans(tensor)[FANS.index(mode)])


def empty(tensor: Tensor) -> bool:
    """Warn if a tensor has no elements; returns True in that case."""
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=4)
    return True


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill a tensor with uniform numbers between ±gain * sqrt(3 / fan) (He et al. 2015).

    Args:
        a: the slope of leaky_relu() for negative numbers.
        mode: "fan_in" keeps the variance in the forward pass; "fan_out" keeps it in the backward pass.
        nonlinearity: the function after the layer, as in calculate_gain().

    Raises ValueError for fewer than two axes, and for other modes and nonlinearities.

    >>> import adjoint
    >>> bool((adjoint.nn.init.kaiming_uniform_(adjoint.empty(2, 6)).abs() <= 1).all())
    True
    """
    if empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * deviation(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill a tensor with normal numbers of standard deviation gain / sqrt(fan) (He et al. 2015).

    It has the arguments and errors of kaiming_uniform_().

    >>> import adjoint
    >>> adjoint.nn.init.kaiming_normal_(adjoint.empty(3, 4), mode="fan_out", nonlinearity="relu").shape
    adjoint.Size([3, 4])
    """
    if empty(tensor):
        return tensor
    return normal_(tensor, 0.0, deviation(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with gain times a random orthogonal matrix (Saxe et al. 2014).

    The tensor is treated as a matrix: all axes after the first count as one. Its rows are orthonormal, or its columns
    if the matrix has fewer columns than rows. Raises ValueError for fewer than two axes.

    >>> import adjoint
    >>> q = adjoint.nn.init.orthogonal_(adjoint.empty(3, 5))
    >>> bool(((q @ q.T - adjoint.eye(3)).abs() < 1e-6).all())
    True
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    with no_grad():
        normal = tensor.new_empty((rows, tensor.numel() // rows)).normal_(generator=generator)
        wide = rows < normal.shape[1]
        q, r = (normal.T if wide else normal).qr()
        q = q * r.diagonal().sgn()  # all rotations are equally probable
        return tensor.copy_((q.T if wide else q).reshape(tensor.shape)).mul_(gain)


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix with normal numbers, and set a fraction `sparsity` of each column to 0 (Martens 2010).

    The number of zeros is rounded up. Raises ValueError unless the tensor has two axes.

    >>> import adjoint
    >>> (adjoint.nn.init.sparse_(adjoint.empty(10, 3), sparsity=0.25) == 0).sum(0)
    tensor([3, 3, 3])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[randperm(rows, generator=generator)[: math.ceil(rows * sparsity)], column] = 0
    return tensor


if not _typing.TYPE_CHECKING:
    __getattr__ = _AttributeOf(__name__)

check_functions(globals(), __all__)


def __dir__() -> list[str]:
    return sorted(__all__)
