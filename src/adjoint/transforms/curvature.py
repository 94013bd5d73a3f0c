"""Second derivatives without matrices: Laplacians, and products with Hessians, Gauss-Newton and Fisher matrices."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any

from adjoint.runtime.crossovers import COLLAPSED
from adjoint.tensor.creation import rand, randn, randperm
from adjoint.tensor.table import ops
from adjoint.transforms.batching.vmap import vmap
from adjoint.transforms.chunks import ChunkSize, check_chunk_size
from adjoint.transforms.collapsed import NotCollapsed, sum_of_seconds
from adjoint.transforms.func import grad, jvp, places_of, vjp
from adjoint.transforms.jacobians import basis, within_budget
from adjoint.transforms.jets import check_primal, jet
from adjoint.transforms.passing import for_calls, for_primals

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Tree = Any
Function = Callable[..., Any]

# Laplacians -----------------------------------------------------------------------------------------------------------


def normal(x: Tensor, samples: int) -> tuple[Tensor, float]:
    """Random directions with independent normal elements, and the weight of each."""
    return randn(samples, x.numel(), dtype=x.dtype, device=x.device), 1 / samples


def signs(x: Tensor, samples: int) -> tuple[Tensor, float]:
    """Random directions with elements 1 and -1, which give the estimate of least variance (Hutchinson, 1990)."""
    return 1 - 2 * (rand(samples, x.numel(), device=x.device) < 0.5).to(x.dtype), 1 / samples


def axes(x: Tensor, samples: int) -> tuple[Tensor, float]:
    """Some of the axes, each at most once, drawn at random (Shi, Hu, Lin, Kawaguchi, 2024)."""
    n = x.numel()
    if samples > n:
        raise ValueError(
            f"laplacian: samples={samples} is more than the {n} axes of the argument: give a smaller number, or "
            "leave it out"
        )
    indices = randperm(n, device=x.device)[:samples]
    directions = ops.zeros_like(x).reshape(1, n).repeat(samples, 1)
    return directions.scatter(1, indices.unsqueeze(1), 1.0), n / samples


#: How directions are drawn.
DIRECTIONS = {"rademacher": signs, "normal": normal, "axes": axes}


@for_calls
def laplacian(
    func: Function,
    argnums: int = 0,
    *,
    samples: int | None = None,
    directions: str = "rademacher",
    chunk_size: ChunkSize = None,
) -> Function:
    """A function that gives the Laplacian of `func`: the sum of its second derivatives by each element of an argument.

    It takes one pass of Taylor mode of order 2 along all axes at once, without gradients or Hessians. From 8 directions
    on the pass carries only the sum of the second derivatives (a forward Laplacian). In high dimensions, a few random
    directions v give an estimate: the expectation of v^T H v is the Laplacian.

    Args:
        func: returns a Tensor; each of its elements has a Laplacian.
        argnums: the argument to differentiate by, a real Tensor.
        samples: the number of random directions of the estimate, drawn at each call; None for the exact sum over all
            axes.
        directions: "rademacher" (elements 1 and -1), "normal", or "axes" (unit vectors, each at most once). Axes are
            best if a second derivative along an axis is cheap, or if the off-diagonal elements of the Hessian are
            large.
        chunk_size: the number of directions at once, as in `jacrev`.

    Raises:
        TypeError: the argument is no Tensor of real floating-point numbers.
        ValueError: unknown directions; samples or chunk_size are not positive.

    >>> import adjoint
    >>> adjoint.func.laplacian(lambda x: (x**3).sum())(adjoint.tensor([1.0, 2.0]))
    tensor(18.)
    """
    check_chunk_size("laplacian", chunk_size)
    if samples is not None and samples < 1:
        raise ValueError(f"laplacian: samples must be positive, got {samples}")
    if directions not in DIRECTIONS:
        raise ValueError(f"laplacian: unknown directions={directions!r}; known are {', '.join(DIRECTIONS)}")

    @wraps(func)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        (position,) = places_of(argnums, len(args))
        x = args[position]
        check_primal("laplacian(f)(*args)", x)
        if x.is_complex():
            raise TypeError("laplacian(f)(*args): x must be real; differentiate by its real and its imaginary part")

        def of_argument(value: Tensor) -> Any:
            return func(*args[:position], value, *args[position + 1 :], **kwargs)

        def second(direction: Tensor) -> Any:
            series = [direction, ops.zeros_like(direction)]
            return jet(of_argument, (x,), (series,))[1][1]

        n = x.numel() if samples is None else samples
        sample, weight = (None, 1.0) if samples is None else DIRECTIONS[directions](x.detach(), samples)
        each = vmap(second, randomness="same")

        def along(vectors: Tensor) -> Any:
            if len(vectors) >= COLLAPSED:
                with suppress(NotCollapsed):
                    return sum_of_seconds(of_argument, x, vectors)
            return ops.sum(each(vectors), (0,))

        total: Any = None
        chunks = within_budget(x, n, chunk_size, 0)
        for start, stop in chunks:
            vectors = basis(x, start, stop, 1) if sample is None else sample[start:stop].reshape(-1, *x.shape)
            part = chunks.run(along, vectors)
            total = part if total is None else total + part
        return total if weight == 1 else total * weight

    return wrapper


# products with matrices -----------------------------------------------------------------------------------------------


@for_primals
def hvp(func: Function, primals: tuple[Tree, ...], tangents: tuple[Tree, ...]) -> tuple[Tree, ...]:
    """The Hessian of a scalar function times a vector: forward mode over reverse mode, some 4 times the cost of func.

    Args:
        func: gives a real scalar Tensor.
        primals, tangents: tuples of the same structure.

    Returns:
        A tuple of the structure of the primals.

    Raises:
        RuntimeError: structures or shapes differ; func gives no real scalar Tensor.

    >>> import adjoint
    >>> x, v = adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0, 1.0])
    >>> adjoint.func.hvp(lambda x: (x**3).sum(), (x,), (v,))
    (tensor([ 6., 12.]),)
    """
    return jvp(grad(func, tuple(range(len(primals)))), primals, tangents)[1]


@for_primals
def ggn(model: Function, loss: Function, primals: tuple[Tree, ...], tangents: tuple[Tree, ...]) -> tuple[Tree, ...]:
    """The generalised Gauss-Newton matrix times a vector: J^T H J v, with J of the model and H the Hessian of the loss.

    It is the Hessian of loss(model(.)) without the second derivatives of the model, so it is positive semidefinite
    where the loss is convex (Schraudolph, 2002). No matrix is formed.

    Args:
        model: from the primals to a Tensor or a tree of Tensors.
        loss: from the model's result to a real scalar Tensor.
        primals, tangents: tuples of the same structure.

    Returns:
        A tuple of the structure of the primals.

    Raises:
        RuntimeError: structures or shapes differ; the loss is no real scalar Tensor.

    >>> import adjoint
    >>> x, v = adjoint.tensor([1.0, 2.0]), adjoint.tensor([1.0, 1.0])
    >>> adjoint.func.ggn(lambda x: x**2, lambda y: (y**2).sum(), (x,), (v,))
    (tensor([ 8., 32.]),)
    """
    outputs, output_tangents = jvp(model, primals, tangents)
    (curved,) = hvp(loss, (outputs,), (output_tangents,))
    return vjp(model, *primals)[1](curved)


@for_primals
def fisher(log_likelihoods: Function, primals: tuple[Tree, ...], tangents: tuple[Tree, ...]) -> tuple[Tree, ...]:
    """The Fisher matrix times a vector: the mean over samples of g (g^T v), g the gradient of a log-likelihood.

    With observed samples it is the empirical Fisher matrix. With samples drawn from the model it is an estimate of the
    Fisher matrix itself. If the loss is a negative log-likelihood in natural parameters, `ggn` gives the Fisher matrix
    without sampling. No matrix and no gradient of a single sample is formed.

    Args:
        log_likelihoods: from the primals to a vector with the log-likelihood of each sample.
        primals, tangents: tuples of the same structure.

    Returns:
        A tuple of the structure of the primals.

    Raises:
        RuntimeError: structures or shapes differ.
        ValueError: the result is no vector.

    >>> import adjoint
    >>> data = adjoint.tensor([0.0, 1.0, 3.0])
    >>> mean, v = adjoint.tensor(1.0), adjoint.tensor(1.0)
    >>> adjoint.func.fisher(lambda mean: -((data - mean) ** 2) / 2, (mean,), (v,))
    (tensor(1.6667),)
    """
    values, output_tangents = jvp(log_likelihoods, primals, tangents)
    if not hasattr(values, "ndim") or values.ndim != 1:
        raise ValueError(
            "fisher: expected a vector with one log-likelihood for each sample, got "
            + (f"shape {tuple(values.shape)}" if hasattr(values, "shape") else type(values).__name__)
        )
    return vjp(log_likelihoods, *primals)[1](output_tangents / len(values))
