"""Random numbers drawn into tensors, and from distributions whose parameters are tensors.

No gradient flows through them: the overwritten tensor, and the parameters, get zeros, as in torch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy

from adjoint.arrays.dtypes import as_dtype, get_default_dtype, kind_of
from adjoint.arrays.namespace import device_of, is_on_device, namespace, on_device, underlying
from adjoint.arrays.shapes import broadcast_shapes
from adjoint.arrays.size import CPU, as_int, check_shape, type_name
from adjoint.core import errors
from adjoint.core.graph import TensorBase, needs_grad, new_tensor
from adjoint.core.modes import random as draws
from adjoint.core.modes.batches import vmap_batches
from adjoint.core.modes.random import Generator
from adjoint.core.recorded import operations, raw_ops
from adjoint.functions.arguments import real_number
from adjoint.functions.composite import composite, into
from adjoint.functions.underived import without_derivative
from adjoint.rules.special import real_only
from adjoint.tensor.creation import _SAME_OF_BATCH, _differing, _random_array, _wrap
from adjoint.tensor.memory.pinning import pinnable
from adjoint.tensor.older.stochastic import bernoulli_score, multinomial_score, normal_score, remember

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor

_SAME_FOR_ALL = (
    "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
    "If this is necessary for your usage, please file an issue with functorch."
)


def _levels(array: Any) -> set[int]:
    return {level for level, _ in getattr(array, "batches", ())}


def _array_of(function: str, tensor: object) -> Any:
    if not isinstance(tensor, TensorBase):
        raise TypeError(errors.must_be_tensor(function, "input", 0, tensor))
    return tensor._array


# in place -----------------------------------------------------------------------------------------------------------


def _overwrite(tensor: Tensor, name: str, draw: Callable[..., Any], generator: Any, *parameters: Any) -> Tensor:
    """Write numbers into a tensor that `draw` makes for a generator, a shape, a dtype, and further parameters."""
    errors.check_captured(tensor, f"{name}_")
    array = tensor._array
    batches = _differing()
    if batches:
        there = _levels(array)
        if any(batch.level not in there for batch in batches):
            raise RuntimeError(_SAME_FOR_ALL)
    numbers = new_tensor(_random_array(draw, generator, tuple(array.shape), array.dtype, *parameters))
    return operations[f"drawn_{name}"].inplace((tensor, numbers), {})


@composite(namespace=None, name="uniform_")
def uniform_(self: Tensor, *bounds: float, generator: Generator | None = None, **bounds_by_name: float) -> Tensor:
    """Fill with numbers uniform in [from, to), which are 0 and 1 unless given (from and to, or by keyword).

    Raises RuntimeError if from exceeds to, NotImplementedError for integers.
    """
    low, high = _from_and_to("uniform_", _number, bounds, bounds_by_name, 0.0, 1.0)
    return _overwrite(self, "uniform", draws.uniform, generator, low, high)


def _number(function: str, name: str, position: int, value: Any) -> Any:
    return real_number(function, name, position, value, True)


def _from_and_to(
    function: str, convert: Callable[..., Any], bounds: tuple[Any, ...], by_name: dict[str, Any], low: Any, high: Any
) -> tuple[Any, Any]:
    """The arguments named from and to; Python allows no parameter named from."""
    limits = dict(zip(("from", "to"), bounds, strict=False))
    if len(bounds) > 2:
        raise TypeError(f"{function}() takes from 0 to 2 positional arguments but {len(bounds)} were given")
    for name in by_name:
        if name not in ("from", "to"):
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
        if name in limits:
            raise TypeError(f"{function}() got multiple values for argument '{name}'")
    limits.update(by_name)
    checked = {name: convert(function, name, 1 + (name == "to"), value) for name, value in limits.items()}
    return checked.get("from", low), checked.get("to", high)


@composite(namespace=None, name="random_")
def random_(self: Tensor, *bounds: int, generator: Generator | None = None, **bounds_by_name: int) -> Tensor:
    """Fill with integers: random_(to) from 0 up to but not including `to`, random_(from, to) from `from` on.

    Without bounds they go up to the largest that the dtype holds (without gaps, if it is a floating-point type).
    Raises RuntimeError for bounds that leave no integer or that the dtype does not hold.
    """
    if len(bounds) == 1 and "to" not in bounds_by_name:
        bounds = (0, bounds[0])
    low, high = _from_and_to("random_", as_int, bounds, bounds_by_name, 0, None)
    if (bounds or bounds_by_name) and high is not None:
        return _overwrite(self, "random", draws.integers, generator, low, high)
    return _overwrite(self, "random", draws.whole_numbers, generator, low)


@composite(namespace=None, name="normal_")
def normal_(self: Tensor, mean: float = 0.0, std: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with normally distributed numbers. Raises RuntimeError if std is negative.

    Floating-point and complex tensors; the generator is adjoint's unless another is given. The derivative is 0.

    >>> import adjoint
    >>> adjoint.ones(3).normal_(5.0, 0.0)
    tensor([5., 5., 5.])
    """
    mean, std = _number("normal_", "mean", 1, mean), _number("normal_", "std", 2, std)
    return _overwrite(self, "normal", draws.normal, generator, mean, std)


@composite(namespace=None, name="log_normal_")
def log_normal_(self: Tensor, mean: float = 1.0, std: float = 2.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers whose logarithms are normally distributed. Raises RuntimeError unless std is positive.

    Only for floating-point tensors. mean and std describe the logarithms. The derivative is 0.

    >>> import adjoint
    >>> bool((adjoint.ones(3).log_normal_() > 0).all())
    True
    """
    mean, std = _number("log_normal_", "mean", 1, mean), _number("log_normal_", "std", 2, std)
    return _overwrite(self, "log_normal", draws.log_normal, generator, mean, std)


@composite(namespace=None, name="exponential_")
def exponential_(self: Tensor, lambd: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with exponentially distributed numbers, of mean 1 / lambd. Raises RuntimeError unless that is positive.

    Floating-point tensors; the generator is adjoint's unless another is given. The derivative is 0.

    >>> import adjoint
    >>> bool((adjoint.ones(3).exponential_() >= 0).all())
    True
    """
    lambd = _number("exponential_", "lambd", 1, lambd)
    return _overwrite(self, "exponential", draws.exponential, generator, lambd)


@composite(namespace=None, name="cauchy_")
def cauchy_(self: Tensor, median: float = 0.0, sigma: float = 1.0, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of Cauchy's distribution. Raises RuntimeError unless sigma is positive.

    Floating-point tensors; the generator is adjoint's unless another is given. The derivative is 0.

    >>> import adjoint
    >>> adjoint.ones(3).cauchy_().shape
    adjoint.Size([3])
    """
    median, sigma = _number("cauchy_", "median", 1, median), _number("cauchy_", "sigma", 2, sigma)
    return _overwrite(self, "cauchy", draws.cauchy, generator, median, sigma)


@composite(namespace=None, name="geometric_")
def geometric_(self: Tensor, p: float, *, generator: Generator | None = None) -> Tensor:
    """Fill with numbers of trials until one succeeds, each with probability p. Raises RuntimeError unless 0 < p < 1.

    Any dtype but complex; the generator is adjoint's unless another is given. The derivative is 0.

    >>> import adjoint
    >>> bool((adjoint.ones(3).geometric_(0.5) >= 1).all())
    True
    """
    p = _number("geometric_", "p", 1, p)
    return _overwrite(self, "geometric", draws.geometric, generator, p)


@composite(namespace=None, name="bernoulli_")
def bernoulli_(self: Tensor, p: Tensor | float = 0.5, *, generator: Generator | None = None) -> Tensor:
    """Fill with ones, with probability p (a number, or a tensor that broadcasts to this one), and zeros.

    Raises RuntimeError for a probability outside [0, 1].
    """
    real_only(f"bernoulli_{'tensor_cpu_self_' if isinstance(p, TensorBase) else 'scalar_cpu_'}", self._array)
    if isinstance(p, TensorBase):
        chances = p.expand(self.shape)
        sample = _of_parameters(partial(draws.bernoulli, generator), [chances._array])
        return operations["drawn_with_chances"].inplace((self, p, new_tensor(sample)), {})
    chance = _number("bernoulli_", "p", 1, p)
    return _overwrite(self, "bernoulli_in_place", _with_chance, generator, chance)


def _with_chance(generator: Generator | None, shape: Any, kind: Any, chance: float) -> Any:
    return draws.bernoulli(generator, chance, shape, kind)


# distributions whose parameters are tensors -------------------------------------------------------------------------


def _of_parameters(draw: Callable[..., Any], parameters: list[Any]) -> Any:
    """Numbers drawn for raw parameters of one shape; inside vmap, if different, others for each member of the batch."""
    for batch in _differing():
        parameters = [raw_ops(each).batch_spread(each, ((batch.level, batch.size),)) for each in parameters]
    same = {batch.level for batch in vmap_batches() if batch.randomness == "same"}
    if same and any(level in same for each in parameters for level in _levels(each)):
        raise RuntimeError(_SAME_OF_BATCH)
    first, *rest = parameters
    if type(first) is numpy.ndarray:
        return draw(*parameters)
    of_members = getattr(namespace(first), "of_members", None)
    if of_members is None:
        return _in_main_memory(draw, first, *rest)
    return of_members(first, lambda members: _in_main_memory(draw, members, *map(underlying, rest)))


def _in_main_memory(draw: Callable[..., Any], *parameters: Any) -> Any:
    """Numbers on the device of their parameters; generators draw in main memory."""
    if not is_on_device(parameters[0]):
        return draw(*parameters)
    return on_device(draw(*[on_device(each, CPU) for each in parameters]), device_of(parameters[0]))


def _into_out(name: str, result: Tensor, out: Tensor | None) -> Tensor:
    return result if out is None else into(out, result, name)


@composite()
def bernoulli(
    input: Tensor, p: float | None = None, *, generator: Generator | None = None, out: Tensor | None = None
) -> Tensor:
    """0 or 1 at random, 1 with the probability that each element of input gives, or p for all.

    Raises RuntimeError for a probability outside [0, 1], NotImplementedError for integers without p.

    >>> import adjoint
    >>> adjoint.bernoulli(adjoint.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """
    array = _array_of("bernoulli", input)
    if p is not None:
        result = bernoulli_(new_tensor(namespace(array).empty_like(array)), p, generator=generator)
        without_derivative(result, [input], NotImplementedError("derivative for bernoulli is not implemented"))
        return _into_out("bernoulli", result, out)
    real_only("bernoulli_tensor_cpu_self_", array)
    sample = _of_parameters(partial(draws.bernoulli, generator), [array])
    result = remember(operations["drawn_bernoulli"](input, new_tensor(sample)), [input], bernoulli_score(array, sample))
    return _into_out("bernoulli", result, out)


@composite(method=False)
def poisson(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers of Poisson's distribution, one for each rate in input.

    Raises RuntimeError for a negative rate, NotImplementedError for integers.

    >>> import adjoint
    >>> adjoint.poisson(adjoint.tensor([0.0, 0.0]))
    tensor([0., 0.])
    """
    sample = _of_parameters(partial(draws.poisson, generator), [_array_of("poisson", input)])
    return operations["drawn_poisson"](input, new_tensor(sample))


@composite(method=False)
def _standard_gamma(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Numbers of the gamma distribution of scale 1, one for each shape parameter in input.

    Draws follow their parameters: each is the quantile for a uniform number, with its derivatives of any order
    (M. Figurnov, S. Mohamed, A. Mnih, Implicit reparameterization gradients, 2018).

    Raises NotImplementedError for integers.

    >>> import adjoint
    >>> shape = adjoint.tensor([0.5, 3.0], requires_grad=True)
    >>> adjoint._standard_gamma(shape).sum().backward()
    >>> bool((shape.grad > 0).all())
    True
    """
    array = _array_of("_standard_gamma", input)
    if not input.is_floating_point():
        raise NotImplementedError(f"\"gamma\" not implemented for '{input.dtype.long_name}'")
    wide = numpy.dtype(numpy.float64)
    chances = _of_parameters(lambda whole: draws.uniform(generator, whole.shape, wide, 2.0**-54, 1.0), [array])
    return operations["gammaincinv"](input.double(), new_tensor(chances)).to(input.dtype)


@composite(method=False)
def _sample_dirichlet(input: Tensor, generator: Generator | None = None) -> Tensor:
    """Points of Dirichlet's distribution: positive, with sum 1 along the last axis, where input has the parameters.

    They are draws of `_standard_gamma`, divided by their sum, and follow their parameters as these do.

    Raises NotImplementedError for integers.

    >>> import adjoint
    >>> round(adjoint._sample_dirichlet(adjoint.tensor([0.5, 3.0])).sum().item(), 6)
    1.0
    """
    gammas = _standard_gamma(input, generator)
    return gammas / gammas.sum(-1, keepdim=True)


@composite(method=False)
def binomial(count: Tensor, prob: Tensor, generator: Generator | None = None) -> Tensor:
    """How many of `count` trials succeed, each with probability `prob`; both are broadcast.

    Raises RuntimeError for a negative count or a probability outside [0, 1], and ValueError for a dtype that is not
    floating-point.

    >>> import adjoint
    >>> adjoint.binomial(adjoint.tensor([3.0, 4.0]), adjoint.tensor([1.0, 0.0]))
    tensor([3., 0.])
    """
    counts, chances = _array_of("binomial", count), _array_of("binomial", prob)
    shape = broadcast_shapes(counts.shape, chances.shape)
    pair = [raw_ops(each).expand(each, shape) for each in (counts, chances)]
    result: Tensor = new_tensor(_of_parameters(partial(draws.binomial, generator), pair))
    error = NotImplementedError("derivative for binomial is not implemented")
    return without_derivative(result, (count, prob), error)


@composite()
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *, generator: Generator | None = None,
    out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Indices drawn with probabilities in proportion to the weights in input, or in each of its rows.

    The result has num_samples indices for each row, none of them twice without replacement.

    Raises RuntimeError for weights that are negative, infinite or all 0, or more samples than weights.

    >>> import adjoint
    >>> adjoint.multinomial(adjoint.tensor([0.0, 1.0, 0.0]), 2, replacement=True)
    tensor([1, 1])
    """

    def draw(weights: Any) -> Any:
        lead = weights.shape[: weights.ndim - ndim]
        if not lead:
            return draws.multinomial(generator, weights, num_samples, replacement)
        members = weights.reshape(-1, *weights.shape[len(lead) :])
        samples = [draws.multinomial(generator, each, num_samples, replacement) for each in members]
        return numpy.stack(samples).reshape(*lead, *samples[0].shape)

    array = _array_of("multinomial", input)
    ndim = array.ndim
    sample = _of_parameters(draw, [array])
    result = remember(new_tensor(sample), [input], multinomial_score(array, sample, replacement))
    return _into_out("multinomial", result, out)


@composite(method=False)
@pinnable
def normal(
    mean: Tensor | float = 0.0, std: Tensor | float = 1.0, size: Any = None, *, generator: Generator | None = None,
    out: Tensor | None = None, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Normally distributed numbers: of the size given, or one for each element of mean and std, broadcast.

    Raises RuntimeError if a standard deviation is negative, NotImplementedError for integers.

    >>> import adjoint
    >>> adjoint.normal(adjoint.tensor([1.0, 2.0]), 0.0)
    tensor([1., 2.])
    """
    tensors = [each for each in (mean, std) if isinstance(each, TensorBase)]
    if size is not None or not tensors:
        if tensors or size is None:
            kinds = ", ".join(type_name(each) for each in (mean, std))
            raise TypeError(f"normal() takes tensors, or two numbers and a size; got ({kinds}) and size {size}")
        kind = get_default_dtype() if dtype is None else as_dtype(dtype, "normal")
        shape = check_shape("normal", (size,), position=3, allow_int=False)
        sample = _random_array(draws.normal, generator, shape, kind.numpy, mean, std)
        return _into_out("normal", _wrap(sample, requires_grad, "normal", device), out)
    if not isinstance(std, TensorBase) and not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    model = tensors[0]
    shape = broadcast_shapes(*[each._array.shape for each in tensors])
    spread = raw_ops(model._array).expand(model._array, shape)
    unit = _of_parameters(lambda whole: draws.normal(generator, whole.shape, whole.dtype), [spread])
    if isinstance(std, TensorBase):
        _check_deviations(std._array)
    plain = [each.detach() if isinstance(each, TensorBase) else each for each in (mean, std)]
    numbers = plain[0] + plain[1] * new_tensor(unit)
    if numbers.dtype is not model.dtype:
        numbers = numbers.to(model.dtype)
    result = operations["drawn_around"](mean, std, numbers)
    needing = [each for each in tensors if needs_grad(each)]
    score = normal_score(unit, plain[1]._array if tensors[-1] is std else std, [each is mean for each in needing])
    return _into_out("normal", remember(result, needing, score), out)


def _check_deviations(array: Any) -> None:
    def check(members: Any) -> Any:
        if kind_of(members) == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if not namespace(members).all(members >= 0):
            raise RuntimeError("normal expects all elements of std >= 0.0")
        return members

    of_members = None if type(array) is numpy.ndarray else getattr(namespace(array), "of_members", None)
    if of_members is None:
        check(array)
    else:
        of_members(array, check)
