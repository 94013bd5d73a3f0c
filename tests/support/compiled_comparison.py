"""Run a function eagerly and compiled, with equal inputs and surroundings, and compare all observations.

A `Case` makes a function in a `World`, which has the parameters of the function's closure. Each run has its own world,
so both runs start with the same values. A run gives a list of named observations. Two runs are compared observation by
observation.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import adjoint
from adjoint.autograd.graph import region_activation_memory_budget
from adjoint.runtime.pytree import flatten

Tensor = adjoint.Tensor
Input = Callable[["World", int], Any]
#: The inputs of the calls, by number: 0 and 1 are of one kind, 2 has another shape or value. In the second round
#: gradients stay where they are.
FIRST_ROUND, SECOND_ROUND = (0, 1, 2, 1), (0, 1, 2, 0)


class World:
    """The surroundings of one run: random numbers for its inputs, and the Tensors and arrays of the closure."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(11)
        self.closure: list[Any] = []

    def numbers(self, shape: Any, dtype: str = "float64", lo: float = -2, hi: float = 2) -> Any:
        """An array of numbers between two bounds."""
        numbers = self.rng.uniform(lo, hi, shape)
        if dtype == "bool":
            return numbers > 0
        if dtype.startswith("complex"):
            return (numbers + 1j * self.rng.uniform(lo, hi, shape)).astype(dtype)
        return np.asarray(numbers).astype(dtype)

    def keep(self, value: Any) -> Any:
        """Compare a Tensor or an array after each call."""
        self.closure.append(value)
        return value

    def parameter(self, *shape: int, dtype: str = "float64") -> Any:
        """A leaf that requires a gradient."""
        return self.keep(adjoint.tensor(self.numbers(shape, dtype)).requires_grad_())

    def tensor(self, *shape: int, dtype: str = "float64") -> Any:
        """A Tensor without a gradient."""
        return self.keep(adjoint.tensor(self.numbers(shape, dtype)))

    def array(self, *shape: int, dtype: str = "float64") -> Any:
        """A NumPy array."""
        return self.keep(self.numbers(shape, dtype))


class Case(NamedTuple):
    """A program: the maker of its function, and the expectations about its recording.

    inputs: the makers of its arguments. recorded: the function is replayed; otherwise it runs eagerly, with one
    warning. recordings: the largest number of recordings. second: gradients of gradients are compared, too. rounded:
    the reason why values and gradients may differ in the last bits. between: a change of the surroundings before each
    call.
    """

    make: Callable[[World], Callable[..., Any]]
    inputs: tuple[Input, ...]
    recorded: bool = True
    recordings: int = 4
    second: bool = True
    rounded: str = ""
    between: Callable[[World, int], None] | None = None


# inputs ---------------------------------------------------------------------------------------------------------------


def tensor(*shape: int, grad: bool = True, dtype: str = "float64", lo: float = -2, hi: float = 2) -> Input:
    """A Tensor; the third one has a longer first axis."""

    def make(world: World, k: int) -> Any:
        longer_or_same = (shape[0] + 1, *shape[1:]) if k == 2 and shape else shape
        result = adjoint.tensor(world.numbers(longer_or_same, dtype, lo, hi))
        return result.requires_grad_() if grad else result

    return make


def array(*shape: int, dtype: str = "float64") -> Input:
    """A NumPy array; the third one has a longer first axis."""
    return lambda world, k: world.numbers((shape[0] + 1, *shape[1:]) if k == 2 else shape, dtype)


def values(*of_calls: Any) -> Input:
    """One value for each input number."""
    return lambda world, k: of_calls[k]


def change_input(make: Input, change: Callable[[Any], Any]) -> Input:
    """An input with a change: a view, or a result of an operation."""
    return lambda world, k: change(make(world, k))


# observations ---------------------------------------------------------------------------------------------------------


class Failure(NamedTuple):
    """An exception."""

    kind: type
    text: str


def attempt(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a call, or its failure."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return Failure(type(error), str(error))


def numbers_of(value: Any) -> Any:
    """The values of a Tensor as a NumPy array, which shares its memory on the host; None for a type without one."""
    if value.dtype is adjoint.bfloat16:
        return None
    return value.detach().resolve_conj().resolve_neg().cpu().numpy()


def snapshot(value: Any, strides: bool = True) -> Any:
    """The compared parts of a value. Strides of gradients are left out, since they depend on the computation."""
    if isinstance(value, Tensor):
        assert type(value._array) is np.ndarray or value.is_cuda, "a recorded array came out"
        array = numbers_of(value)
        layout = tuple(value.stride()) if strides else tuple(value.shape)
        properties = (
            value.device,
            value.dtype,
            layout,
            value.requires_grad,
            value.is_leaf,
            None if value.is_inference() else value._version,
        )
        return type(value), properties, None if array is None else array.copy()
    if isinstance(value, np.ndarray):
        return type(value), value.strides, value.flags.writeable, value.copy()
    if isinstance(value, np.generic):
        return type(value), np.asarray(value)
    return value if isinstance(value, Failure) else (type(value), repr(value))


def memory(values: list[Any]) -> list[tuple[int, int]]:
    """The pairs of Tensors and arrays that share memory."""
    if any(isinstance(value, Tensor) and value.is_cuda for value in values):
        return []  # on a device, writes show shared memory
    arrays = [v.detach().numpy() if isinstance(v, Tensor) and v.dtype is not adjoint.bfloat16 else v for v in values]
    places = [k for k, v in enumerate(arrays) if isinstance(v, np.ndarray) and v.size]
    return [(i, j) for i in places for j in places if i < j and np.shares_memory(arrays[i], arrays[j])]


def observe(case: Case, world: World, function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The observations of the calls of a function."""
    for number, k in enumerate(FIRST_ROUND + SECOND_ROUND):
        where = f"call {number} of input {k}"
        if number < len(FIRST_ROUND):
            for value in world.closure:
                if isinstance(value, Tensor):
                    value.grad = None
        if case.between is not None:
            case.between(world, number)
        args = [make(world, k) for make in case.inputs]
        for seed in (adjoint.manual_seed, np.random.seed, random.seed):
            seed(number)
        arguments = flatten(args)[0]
        result = attempt(function, *args)
        for name, observation in after(case, world, arguments, result):
            yield f"{where}: {name}", observation


def after(case: Case, world: World, arguments: list[Any], result: Any) -> Iterator[tuple[str, Any]]:
    """The observations after a call: results, random numbers, memory, gradients."""
    leaves, structure = flatten(result) if not isinstance(result, Failure) else ([result], None)
    yield "structure", repr(structure)
    for k, leaf in enumerate(leaves):
        yield f"result {k}", snapshot(leaf)
    yield "random numbers", (adjoint.rand(1).item(), np.random.rand(), random.random())
    values = [value for value in [*arguments, *world.closure] if isinstance(value, (Tensor, np.ndarray))]
    yield "identities", [[leaf is value for value in values] for leaf in leaves]
    yield "shared memory", memory([*leaves, *values])
    yield from inputs_now("after the call", arguments, world)
    outputs = [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.requires_grad and leaf.grad_fn is not None]
    inputs = [v for v in values if isinstance(v, Tensor) and v.requires_grad]
    if outputs and inputs:
        yield from gradients(case, outputs, inputs, world)
        yield from inputs_now("after the gradients", arguments, world)


def inputs_now(when: str, arguments: list[Any], world: World) -> Iterator[tuple[str, Any]]:
    """The arguments and the values of the closure, with their gradients."""
    for name, listed in (("argument", arguments), ("seen", world.closure)):
        for k, value in enumerate(listed):
            yield f"{name} {k} {when}", snapshot(value)
            if isinstance(value, Tensor) and value.is_leaf:
                yield f"gradient of {name} {k} {when}", snapshot(value.grad, False)


def gradients(case: Case, outputs: list[Any], inputs: list[Any], world: World) -> Iterator[tuple[str, Any]]:
    """Gradients of all results by all inputs, of each result, by one input, of gradients; and a backward pass."""
    weights = [adjoint.tensor(world.numbers(tuple(y.shape), "float64")).to(y.dtype) for y in outputs]

    def pull(ys: Any, xs: Any, ws: Any, **more: Any) -> Any:
        return attempt(adjoint.autograd.grad, ys, xs, ws, retain_graph=True, allow_unused=True, **more)

    yield from several("gradient", pull(outputs, inputs, weights))
    if len(outputs) > 1:
        for k, (output, weight) in enumerate(zip(outputs, weights, strict=True)):
            yield from several(f"gradient of result {k}", pull(output, inputs, weight))
    if len(inputs) > 1:
        yield from several("gradient by the last input", pull(outputs, inputs[-1], weights))
    if case.second:
        firsts = pull(outputs, inputs, weights, create_graph=True)
        yield from several("gradient with a history", firsts)
        if not isinstance(firsts, Failure):
            lengths = [(g.abs() ** 2).sum() for g in firsts if g is not None and g.requires_grad]
            if lengths:
                yield from several("gradient of gradients", pull(sum(lengths[1:], lengths[0]), inputs, None))
    yield from several("backward", attempt(adjoint.autograd.backward, outputs, weights))
    again = attempt(adjoint.autograd.backward, outputs, weights)
    yield from several("backward again", again)
    if isinstance(again, Failure):
        # the number of computed gradients before the failure is undefined
        for value in inputs:
            if value.is_leaf:
                value.grad = None


def several(name: str, result: Any) -> Iterator[tuple[str, Any]]:
    """Observations of each of some gradients, or of a failure."""
    members = result if isinstance(result, (tuple, list)) and not isinstance(result, Failure) else [result]
    for k, member in enumerate(members):
        yield f"{name} {k}", snapshot(member, False)


# writes to results ----------------------------------------------------------------------------------------------------


def observe_writes(case: Case, world: World, function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The observations after the caller has written to a result, for each result in turn, three times each."""
    number, n_results = 0, 1
    while number < 3 * n_results:
        for value in world.closure:
            if isinstance(value, Tensor):
                value.grad = None
        args = [make(world, 0) for make in case.inputs]
        for seed in (adjoint.manual_seed, np.random.seed, random.seed):
            seed(number)
        leaves = flatten(attempt(function, *args))[0]
        n_results = max(len(leaves), 1)
        target = leaves[number % n_results] if leaves else None
        yield f"call {number}", len(leaves)
        if isinstance(target, Tensor) and not any(target is value for value in [*flatten(args)[0], *world.closure]):
            yield f"call {number}: write", _brief(attempt(_double, target))
            for k, leaf in enumerate(leaves):
                yield f"call {number}: result {k} after the write", _brief(attempt(snapshot, leaf, False))
            inputs = [v for v in [*flatten(args)[0], *world.closure] if isinstance(v, Tensor) and v.requires_grad]
            outputs = [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.requires_grad]
            total = attempt(lambda outputs=outputs: sum([(y * y.detach()).sum().real for y in outputs]))
            if isinstance(total, Tensor) and inputs:
                pulled = attempt(adjoint.autograd.grad, total, inputs, allow_unused=True)
                members = [] if isinstance(pulled, Failure) else [snapshot(member, False) for member in pulled]
                yield f"call {number}: gradients after the write", members or _brief(pulled)
        number += 1


def _double(tensor: Any) -> None:
    tensor.mul_(2)


def _brief(outcome: Any) -> Any:
    # the rest of the message names the node, which differs
    return (outcome.kind, outcome.text[:60]) if isinstance(outcome, Failure) else outcome


# comparison -----------------------------------------------------------------------------------------------------------


def same(first: Any, second: Any, rounded: bool) -> bool:
    """True for equal observations, arrays compared bit for bit, or up to rounding."""
    if isinstance(first, np.ndarray):
        if not isinstance(second, np.ndarray) or (first.shape, first.dtype) != (second.shape, second.dtype):
            return False
        if first.tobytes() == second.tobytes():
            return True
        return rounded and np.allclose(first, second, rtol=1e-13, atol=1e-14, equal_nan=True)
    if isinstance(first, (list, tuple)):
        if type(first) is not type(second) or len(first) != len(second):
            return False
        return all(same(a, b, rounded) for a, b in zip(first, second, strict=True))
    return bool(first == second) or (first != first and second != second)


def is_refused(observation: Any) -> bool:
    """True for the error that a saved value was modified."""
    return MODIFIED in repr(observation)


#: The beginning of that error.
MODIFIED = "one of the variables needed for gradient computation"


def run_compiled(case: Case) -> None:
    """Run a program compiled, forward and backward, and compare nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world = World()
        for _ in observe(case, world, adjoint.compile(case.make(world))):
            pass


def compare(
    case: Case, observe: Callable[..., Iterator[tuple[str, Any]]] = observe, budget: float | None = None
) -> tuple[Any, list[str]]:
    """Run a program both ways. Returns the compiled function and the warnings of adjoint.compile.

    budget: for what the compiled function saves.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plain_world, compiled_world = World(), World()
        expected = list(observe(case, plain_world, case.make(plain_world)))
        function = case.make(compiled_world)
        if budget is not None:
            function = region_activation_memory_budget(budget)(function)
        compiled = adjoint.compile(function)
        actual = list(observe(case, compiled_world, compiled))
    for (name, first), (name_too, second) in zip(expected, actual, strict=False):
        assert name == name_too, (name, name_too)
        if case.rounded and is_refused(first) and not is_refused(second):
            # the program saves only one of equal results, and the caller may have modified another one
            continue
        assert same(first, second, bool(case.rounded)), f"{name}: {first!r:.600} but compiled {second!r:.600}"
    assert len(expected) == len(actual)
    texts = [str(warning.message) for warning in caught]
    return compiled, [text for text in texts if text.startswith("adjoint.compile")]
