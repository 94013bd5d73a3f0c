"""Random numbers: ``Generator`` as in PyTorch, over NumPy's PCG64, and the draws that tensors are made of.

The streams are NumPy's: reproducible for a seed, and different from PyTorch's.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from adjoint.arrays.dtypes import finfo, from_numpy_dtype, iinfo
from adjoint.arrays.kernels import draws as draws_of_bits
from adjoint.arrays.libraries.numpy_namespace import xp
from adjoint.arrays.size import CPU, as_device, device, type_name
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.modes.state import current
from adjoint.runtime.caches import memoize
from adjoint.runtime.forks import new_lock, new_rlock, renewed_in_child

Array = np.ndarray[Any, Any]
Shape = Sequence[int]
F = TypeVar("F", bound=Callable[..., Any])

_DEFAULT_SEED = 67280421310721
_UINT64 = 2**64
# The state is seven words: initial seed, state and increment of the PCG64 (128 bits each), and its kept
# 32-bit half.
_STATE_BYTES = 7 * 8


class Generator:
    """A source of random numbers with its own state.

    A new generator always starts from the same seed, as in PyTorch; only the default one (``manual_seed``)
    starts from a random seed. Draws and changes of state are safe to make from several threads.

    >>> g = Generator().manual_seed(3)
    >>> state = g.get_state()
    >>> first = integers(g, (3,), int, 0, 100)
    >>> bool((integers(g.set_state(state), (3,), int, 0, 100) == first).all())
    True
    """

    __slots__ = ("__weakref__", "_device", "_lock", "_numpy", "_seed")

    def __init__(self, device: str | device = "cpu") -> None:
        self._device = as_device(device, "Generator")
        if self._device != CPU:
            raise RuntimeError(f"device '{self._device}' has no generator: use a generator of the CPU")
        self._lock = new_rlock()
        self.manual_seed(_DEFAULT_SEED)
        _generators.add(self)

    @property
    def device(self) -> device:
        """The device of the generator, always the CPU.

        Numbers for other devices are drawn in main memory.
        """
        return self._device

    def manual_seed(self, seed: int) -> Generator:
        """Start over from ``seed``, from -2**63 to 2**64 - 1 (negative: counted from 2**64); returns self.

        Raises:
            RuntimeError: the seed is not an int.
            ValueError: it is out of range.
        """
        if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type_name(seed)}")
        if not -(2**63) <= seed < _UINT64:
            raise ValueError("Overflow when unpacking long long")
        _start_over(self, int(seed) % _UINT64)
        return self

    def seed(self) -> int:
        """Seed the generator with a random number of the operating system, and return that number.

        >>> import adjoint
        >>> generator = adjoint.Generator()
        >>> generator.seed() == generator.initial_seed()
        True
        """
        seed = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(seed)
        return seed

    def initial_seed(self) -> int:
        """The last seed of the generator, from `manual_seed` or `seed`.

        >>> import adjoint
        >>> adjoint.Generator().manual_seed(3).initial_seed()
        3
        """
        return _seed_of(self)

    def get_state(self) -> Any:
        """The state of the generator as a tensor of bytes.

        `set_state` takes it, and the same numbers are drawn again.
        """
        return new_tensor(_packed_state(self))

    def set_state(self, state: Any) -> Generator:
        """Continue from a state that ``get_state`` gave, as a tensor or an array; returns self.

        Raises:
            TypeError: it is not a tensor of bytes.
            RuntimeError: it has another size.
        """
        _continue_from(self, state._array if isinstance(state, TensorBase) else state, type_name(state))
        return self

    def _position(self) -> Any:
        """The state of the generator, for `_return_to`."""
        with self._lock:
            return self._seed, self._numpy, self._numpy.bit_generator.state

    def _return_to(self, position: Any) -> None:
        """Stand where the generator stood before."""
        with self._lock:
            self._seed, self._numpy, state = position
            self._numpy.bit_generator.state = state

    graphsafe_get_state = get_state
    graphsafe_set_state = set_state

    def clone_state(self) -> Generator:
        """A new generator with the same state.

        Both draw the same numbers from here on.
        """
        return Generator(self._device).set_state(self.get_state())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._device, self.get_state())


# all of them, for child processes
_generators: weakref.WeakSet[Generator] = weakref.WeakSet()


@renewed_in_child
def _renew_generators() -> None:
    """Free the locks of NumPy's bit generators: another thread of the parent may have been drawing."""
    for generator in list(_generators):
        generator._numpy.bit_generator.lock._at_fork_reinit()  # type: ignore[attr-defined]


def _restore(device: device, state: Any) -> Generator:
    return Generator(device).set_state(state)


def _pack_state(seed: int, numpy_state: Any) -> bytes:
    inner = numpy_state["state"]
    half = numpy_state["has_uint32"] << 32 | numpy_state["uinteger"]
    words = ((seed, 8), (inner["state"], 16), (inner["inc"], 16), (half, 16))
    return b"".join(value.to_bytes(size, "little") for value, size in words)


def _unpack_state(data: bytes) -> tuple[int, dict[str, Any]]:
    seed, state, inc, half = (
        int.from_bytes(data[start:stop], "little") for start, stop in ((0, 8), (8, 24), (24, 40), (40, 56))
    )
    numpy_state = {
        "bit_generator": "PCG64",
        "state": {"state": state, "inc": inc},
        "has_uint32": half >> 32,
        "uinteger": half & (2**32 - 1),
    }
    return seed, numpy_state


# --- the default generator ----------------------------------------------------------------------------------

_default: Generator | None = None
_default_lock = new_lock()


def default_generator() -> Generator:
    """The generator of every draw that names none; it starts from a random seed, when it is first used."""
    global _default
    if _default is None:
        with _default_lock:
            if _default is None:
                fresh = Generator()
                fresh.seed()
                _default = fresh
    return _default


def manual_seed(seed: int) -> Generator:
    """Start the default generator over from ``seed`` and return it; numbers and digits are cut to an int.

    >>> manual_seed(3).initial_seed()
    3
    """
    return default_generator().manual_seed(int(seed))


def seed() -> int:
    """Seed the default generator with a random number, and return that number.

    >>> import adjoint
    >>> adjoint.seed() == adjoint.initial_seed()
    True
    """
    return default_generator().seed()


def initial_seed() -> int:
    """The last seed of the default generator, from `manual_seed` or `seed`.

    >>> import adjoint
    >>> generator = adjoint.manual_seed(3)
    >>> adjoint.initial_seed()
    3
    """
    return default_generator().initial_seed()


def get_rng_state() -> Any:
    """The state of the default generator as a tensor of bytes.

    `set_rng_state` takes it.
    """
    return default_generator().get_state()


def set_rng_state(new_state: Any) -> None:
    """Set the state of the default generator.

    new_state: a tensor of bytes from `get_rng_state`.
    """
    default_generator().set_state(new_state)


# --- draws --------------------------------------------------------------------------------------------------

_FLOAT32, _FLOAT64 = np.dtype(np.float32), np.dtype(np.float64)
_COMPLEX_PARTS = {np.dtype(np.complex64): _FLOAT32, np.dtype(np.complex128): _FLOAT64}


def _source(rng: Generator | None) -> Generator:
    if rng is None:
        return default_generator()
    if not isinstance(rng, Generator):
        raise TypeError(f"argument 'generator' must be Generator, not {type(rng).__name__}")
    return rng


def _check_floating(dtype: np.dtype[Any], kernel: str) -> None:
    if dtype is _FLOAT32 or dtype is _FLOAT64:
        return  # nearly always; the look-up of the kind takes longer than the draw of a few numbers
    kind = from_numpy_dtype(dtype)
    if kind.category < 2:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind.long_name}'")


def _are_within(values: Array, least: float, most: float | None = None) -> bool:
    """True if all values, of which none is NaN, are between two numbers, or at least the first one."""
    if not values.size:
        return True
    # numbers of Python's are compared more quickly than arrays
    return bool(xp.min(values).item() >= least and (most is None or xp.max(values).item() <= most))


def _all_true(mask: Array) -> bool:
    """mask.all(), which takes longer for few elements."""
    return bool(np.count_nonzero(mask) == mask.size)


def draws(function: F) -> F:
    """Declare a function that draws from a generator: interceptors may call it instead of the caller."""

    @wraps(function)
    def draw(*args: Any, **kwargs: Any) -> Any:
        for interceptor in current().interceptors:
            if interceptor.has_draw:
                return interceptor.draw(function, args, kwargs)
        return function(*args, **kwargs)

    function.draws = True  # type: ignore[attr-defined]
    return draw  # type: ignore[return-value]


# Reading or setting a state is declared as a draw, too: the order among draws must be kept.


@draws
def _start_over(source: Generator, seed: int) -> None:
    """Seed a generator."""
    fresh = np.random.Generator(np.random.PCG64(seed))
    with source._lock:
        source._seed, source._numpy = seed, fresh


@draws
def _seed_of(source: Generator) -> int:
    """The last seed of a generator."""
    return source._seed


@draws
def _packed_state(source: Generator) -> Array:
    """The state of a generator as bytes."""
    with source._lock:
        packed = _pack_state(source._seed, source._numpy.bit_generator.state)
    return np.frombuffer(packed, dtype=np.uint8).copy()


@draws
def _continue_from(source: Generator, state: Array, name: str) -> None:
    """Set the state of a generator from bytes, which the caller gave as a value of the type `name`."""
    if not isinstance(state, np.ndarray):
        raise TypeError(f"expected an adjoint.ByteTensor, but got {name}")
    if state.dtype != np.uint8:
        raise TypeError("RNG state must be an adjoint.ByteTensor")
    if state.size != _STATE_BYTES:
        raise RuntimeError(
            f"Expected a generator state of size {_STATE_BYTES} but found the input RNG state size to be {state.size}"
        )
    seed, numpy_state = _unpack_state(state.tobytes())
    fresh = np.random.PCG64(0)
    fresh.state = numpy_state  # type: ignore[assignment]
    with source._lock:
        source._seed, source._numpy = seed, np.random.Generator(fresh)


@draws
def uniform(rng: Generator | None, shape: Shape, dtype: Any = np.float32, low: float = 0.0, high: float = 1.0) -> Array:
    """Numbers from [low, high), both parts of complex ones alike; ``rng=None`` is the default generator.

    Raises:
        RuntimeError: low exceeds high.
        NotImplementedError: the dtype is not floating point or complex.
    """
    dtype = np.dtype(dtype)
    _check_floating(dtype, "check_uniform_bounds")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if dtype.kind == "c":
        out = np.empty(tuple(shape), dtype)
        out.real = uniform(rng, shape, _COMPLEX_PARTS[dtype], low, high)
        out.imag = uniform(rng, shape, _COMPLEX_PARTS[dtype], low, high)
        return out
    unit = _unit_interval(_source(rng), tuple(shape), dtype)
    if low == 0.0 and high == 1.0:
        return unit
    wide = _wide(dtype)
    scaled = np.asarray(low + (high - low) * unit.astype(wide, copy=False), dtype=dtype)
    # Rounding may reach high, which does not belong to the interval.
    return np.where(scaled >= dtype.type(high), dtype.type(low), scaled) if low < high else scaled


def _unit_interval(source: Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """[0, 1), exact in the type: rounding a float32 to half precision could give 1."""
    if dtype == _FLOAT64 or dtype == _FLOAT32:
        with source._lock:
            few = draws_of_bits.uniform(source._numpy.bit_generator, shape, dtype)
            return np.asarray(source._numpy.random(shape, dtype=dtype)) if few is None else few
    steps = int(2.0 / finfo(from_numpy_dtype(dtype)).eps)
    with source._lock:
        sample = source._numpy.integers(0, steps, shape)
    return np.asarray(sample / np.float32(steps)).astype(dtype)


@draws
def normal(rng: Generator | None, shape: Shape, dtype: Any = np.float32, mean: float = 0.0, std: float = 1.0) -> Array:
    """Normally distributed numbers; complex ones have the variance std**2, half of it in each part.

    Raises:
        RuntimeError: std is negative.
        NotImplementedError: the dtype is not floating point or complex.
    """
    dtype = np.dtype(dtype)
    _check_floating(dtype, "normal_kernel_cpu")
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if dtype.kind == "c":
        part = _COMPLEX_PARTS[dtype]
        out = np.empty(tuple(shape), dtype)
        out.real = normal(rng, shape, part, 0.0, std * 0.5**0.5)
        out.imag = normal(rng, shape, part, 0.0, std * 0.5**0.5)
        return np.add(out, mean, out=out)
    source = _source(rng)
    with source._lock:
        sample = np.asarray(source._numpy.standard_normal(tuple(shape), dtype=_wide(dtype)))  # type: ignore[arg-type]
    if mean != 0.0 or std != 1.0:
        np.add(np.multiply(sample, std, out=sample), mean, out=sample)
    return sample.astype(dtype, copy=False)


@draws
def integers(rng: Generator | None, shape: Shape, dtype: Any, low: int, high: int) -> Array:
    """Integers from low to high - 1, as numbers of the dtype (floating-point types included).

    Raises:
        RuntimeError: there is no integer in the range, it exceeds that of the dtype, or the dtype is complex.
    """
    dtype = np.dtype(dtype)
    kind = from_numpy_dtype(dtype)
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if kind.is_complex:
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    smallest, largest = _range_of(kind)
    if not smallest <= low <= largest:
        raise RuntimeError(f"from is out of bounds for {kind.c_name}")
    if not smallest <= high - 1 <= largest:
        raise RuntimeError(f"to - 1 is out of bounds for {kind.c_name}")
    source = _source(rng)
    draw_type = dtype if kind.category == 1 else np.dtype(np.int64)
    shape = tuple(shape)
    with source._lock:
        numbers = draws_of_bits.integers(source._numpy.bit_generator, shape, draw_type, low, high)
        if numbers is None:
            numbers = np.asarray(source._numpy.integers(low, high, shape, dtype=draw_type))
    return numbers.astype(dtype, copy=False)


@memoize()
def _range_of(kind: Any) -> tuple[float, float]:
    if kind.category == 0:
        return 0, 1
    if kind.is_floating_point:
        largest = min(finfo(kind).max, 2**63 - 1)
        return -largest, largest
    limits = iinfo(kind)
    return limits.min, limits.max


@draws
def permutation(rng: Generator | None, n: int, dtype: Any = np.int64) -> Array:
    """The numbers 0 to n - 1 in random order.

    Raises:
        RuntimeError: n is negative, or n - 1 is beyond the integers that the dtype represents exactly.
    """
    dtype = np.dtype(dtype)
    kind = from_numpy_dtype(dtype)
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    limit = 2.0 / finfo(kind).eps if kind.category > 1 else _range_of(kind)[1]
    if n - 1 > limit:
        raise RuntimeError(f"value cannot be converted to type {kind.name} without overflow")
    source = _source(rng)
    with source._lock:
        return source._numpy.permutation(n).astype(dtype, copy=False)


@draws
def bernoulli(rng: Generator | None, p: float | Array, shape: Shape | None = None, dtype: Any = None) -> Array:
    """Ones with probability p, zeros otherwise; the shape and dtype of p (float32 for a number) unless given.

    Raises:
        RuntimeError: a probability is not in [0, 1].
        NotImplementedError: p is an array of integers.
    """
    if isinstance(p, np.ndarray):
        kind = from_numpy_dtype(p.dtype)
        if not kind.is_floating_point:
            raise NotImplementedError(f"\"bernoulli_tensor_cpu_p_\" not implemented for '{kind.long_name}'")
        if not _are_within(p, 0, 1):
            wrong = p[~((p >= 0) & (p <= 1))].reshape(-1)[0]
            raise RuntimeError(f"Expected p_in >= 0 && p_in <= 1 to be true, but got false: one of p is {wrong}")
    elif not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    shape = np.shape(p) if shape is None else shape
    dtype = getattr(p, "dtype", _FLOAT32) if dtype is None else np.dtype(dtype)
    source = _source(rng)
    sample = _unit_interval(source, tuple(shape), _FLOAT64)
    return np.asarray(sample < p).astype(dtype)


# --- draws of other distributions -----------------------------------------------------------------------------


def _wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of the drawn numbers: half precision is drawn as float32 and rounded."""
    return dtype if dtype in (_FLOAT32, _FLOAT64) else _FLOAT32


def _check_continuous(name: str, dtype: np.dtype[Any], name_field: str) -> None:
    kind = from_numpy_dtype(dtype)
    if not kind.is_floating_point:
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {getattr(kind, name_field)}"
        )


@draws
def exponential(rng: Generator | None, shape: Shape, dtype: Any = np.float32, rate: float = 1.0) -> Array:
    """Exponentially distributed numbers, of mean 1 / rate.

    Raises RuntimeError if the rate is not positive or the dtype no floating-point type.
    """
    dtype = np.dtype(dtype)
    if not rate > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={rate:g}")
    _check_continuous("Exponential", dtype, "long_name")
    source = _source(rng)
    with source._lock:
        sample = source._numpy.standard_exponential(tuple(shape), dtype=_wide(dtype))  # type: ignore[arg-type]
    return np.asarray(sample / rate).astype(dtype, copy=False)


@draws
def cauchy(
    rng: Generator | None, shape: Shape, dtype: Any = np.float32, median: float = 0.0, sigma: float = 1.0
) -> Array:
    """Numbers of Cauchy's distribution about a median, half of them within sigma of it.

    Raises RuntimeError if sigma is not positive or the dtype no floating-point type.
    """
    dtype = np.dtype(dtype)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    _check_continuous("Cauchy", dtype, "c_name")
    source = _source(rng)
    with source._lock:
        sample = source._numpy.standard_cauchy(tuple(shape))
    return np.asarray(median + sigma * sample).astype(dtype, copy=False)


@draws
def log_normal(
    rng: Generator | None, shape: Shape, dtype: Any = np.float32, mean: float = 1.0, std: float = 2.0
) -> Array:
    """Numbers whose logarithms are normally distributed.

    Raises RuntimeError if std is not positive, NotImplementedError if the dtype is no floating-point type.
    """
    dtype = np.dtype(dtype)
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    kind = from_numpy_dtype(dtype)
    if not kind.is_floating_point:
        raise NotImplementedError(f"\"log_normal_cpu\" not implemented for '{kind.long_name}'")
    return np.asarray(np.exp(normal(rng, shape, _wide(dtype), mean, std))).astype(dtype, copy=False)


@draws
def geometric(rng: Generator | None, shape: Shape, dtype: Any = np.float32, p: float = 0.5) -> Array:
    """How many trials it takes until one succeeds, each with probability p.

    Raises RuntimeError unless 0 < p < 1, NotImplementedError if the dtype is bool or complex.
    """
    dtype = np.dtype(dtype)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    kind = from_numpy_dtype(dtype)
    if kind.category == 0 or kind.is_complex:
        raise NotImplementedError(f"\"geometric_cpu\" not implemented for '{kind.long_name}'")
    source = _source(rng)
    with source._lock:
        return np.asarray(source._numpy.geometric(p, tuple(shape))).astype(dtype)


@draws
def whole_numbers(rng: Generator | None, shape: Shape, dtype: Any = np.float32, low: int = 0) -> Array:
    """Integers from low to the largest that the dtype holds, or that a floating-point type holds without gaps.

    Raises NotImplementedError for complex types.
    """
    dtype = np.dtype(dtype)
    kind = from_numpy_dtype(dtype)
    if kind.is_complex:
        raise NotImplementedError(f"\"random_kernel_cpu\" not implemented for '{kind.long_name}'")
    highest = int(2.0 / finfo(kind).eps) if kind.is_floating_point else int(_range_of(kind)[1])
    return integers(rng, shape, dtype, low, highest + 1)


@draws
def poisson(rng: Generator | None, rates: Array) -> Array:
    """Numbers of Poisson's distribution, one for each rate, of their dtype.

    Raises RuntimeError for a negative rate, NotImplementedError if the dtype is no floating-point type.
    """
    kind = from_numpy_dtype(rates.dtype)
    if not kind.is_floating_point:
        raise NotImplementedError(f"\"poisson_cpu\" not implemented for '{kind.long_name}'")
    if not _are_within(rates, 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    source = _source(rng)
    with source._lock:
        return np.asarray(source._numpy.poisson(rates.astype(np.float64))).astype(rates.dtype)


@draws
def binomial(rng: Generator | None, count: Array, prob: Array) -> Array:
    """How many of `count` trials succeed, each with probability `prob`, broadcast; of the dtype of count.

    Raises RuntimeError for a negative count or a probability outside [0, 1], ValueError for another type than
    floating-point ones.
    """
    for name, kind in (("count", from_numpy_dtype(count.dtype)), ("prob", from_numpy_dtype(prob.dtype))):
        if not kind.is_floating_point:
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {kind.long_name}")
    if not _are_within(count, 0):
        raise RuntimeError("binomial expects all elements of count to be non-negative")
    if not _are_within(prob, 0, 1):
        raise RuntimeError("binomial expects all elements of prob to be in [0, 1]")
    source = _source(rng)
    with source._lock:
        sample = source._numpy.binomial(count.astype(np.int64), prob.astype(np.float64))
    return np.asarray(sample).astype(count.dtype)


@draws
def multinomial(rng: Generator | None, weights: Array, n: int, replacement: bool = False) -> Array:
    """n indices along the last axis for each row of weights, as likely as their weights, which need not add up to 1.

    Without replacement no index is drawn twice; indices of weight 0 come last.

    Raises RuntimeError for weights that are negative, infinite or all 0, or if n is too large.
    """
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    kind = from_numpy_dtype(weights.dtype)
    if not kind.is_floating_point:
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {kind.long_name}")
    if n <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and n > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    chances = weights.astype(np.float64)
    if not _all_true((chances >= 0) & np.isfinite(chances)):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    totals = chances.sum(axis=-1, keepdims=True)
    if not _all_true(totals > 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    source = _source(rng)
    if not replacement:
        # exponential variates with these rates, in ascending order, give the draws in order
        with source._lock:
            waiting = source._numpy.standard_exponential(chances.shape)
        with np.errstate(divide="ignore"):
            return np.argsort(waiting / chances, axis=-1, kind="stable")[..., :n].astype(np.int64)
    with source._lock:
        points = source._numpy.random((*chances.shape[:-1], n))
    levels = np.cumsum(chances / totals, axis=-1)
    rows = zip(levels.reshape(-1, levels.shape[-1]), points.reshape(-1, n), strict=True)
    indices = [np.searchsorted(row, np.minimum(each, np.nextafter(row[-1], 0.0)), side="right") for row, each in rows]
    return np.array(indices, dtype=np.int64).reshape(points.shape)
