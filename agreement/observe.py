"""Observations of a sample in one library: its result, gradients, jvp and second order, or its error."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from .inputs import DIFFERENTIABLE, Array, Dtypes, Leaf, Scope, random_array
from .samples import Sample

COTANGENT, FUNCTIONAL, TANGENT = 1, 2, 3  # seeds, followed by the number of the result or input


@dataclass
class Library:
    """The modules of one of the two."""

    name: str
    module: ModuleType = field(init=False)
    forward_ad: ModuleType = field(init=False)

    def __post_init__(self) -> None:
        self.module = importlib.import_module(self.name)
        self.forward_ad = importlib.import_module(f"{self.name}.autograd.forward_ad")
        importlib.import_module(f"{self.name}.masked")
        self.module.set_num_threads(1)

    def random_like(self, like: Any, *seed: int) -> Any:
        """A tensor of the same shape and dtype with random numbers for a seed."""
        name = dtype_name(like)
        return self.module.tensor(random_array(like.shape, name, *seed)).to(getattr(self.module, name))


@dataclass
class Observation:
    """The compared values. arrays and dtypes correspond; None is a gradient that is None."""

    arrays: list[Array | None] = field(default_factory=list)
    dtypes: list[str] = field(default_factory=list)
    facts: list[Any] = field(default_factory=list)  # the rest: numbers, the nesting of results, flags
    shared: list[Any] = field(default_factory=list)  # which inputs' memory each result shares
    error: Exception | None = None

    def add(self, tensor: Any) -> None:
        self.arrays.append(None if tensor is None else as_numpy(tensor))
        self.dtypes.append("" if tensor is None else dtype_name(tensor))


Observe = Callable[[Library, Sample, Dtypes], Observation]


def observe(how: Observe, library: Library, sample: Sample, dtype: str, rounded: str = "") -> Observation:
    """The observation, which may be that the library raises. Inputs are `rounded` to another dtype before."""
    try:
        return how(library, sample, Dtypes(dtype, rounded))
    except Exception as error:
        return Observation(error=error.with_traceback(None))


def forward(library: Library, sample: Sample, dtypes: Dtypes) -> Observation:
    """The result without any gradient: values, dtypes, the memory it shares with inputs, how results are nested."""
    scope = Scope(library.module, sample, dtypes, leaf=itself)
    result = scope.result()
    observation = Observation(shared=[sharing(tensor, scope.inputs.leaves) for tensor in tensors(result)])
    compared = scope.compared_value(result)
    observation.facts.append(nesting(compared))
    for value in flatten(compared):
        if hasattr(value, "requires_grad"):
            observation.add(value)
        else:
            observation.facts.append(plain(value))
    if sample.inplace:
        changed = scope.names["target"]
        observation.facts.append(result is changed)
        if not scope.comparison:
            observation.add(changed)
    return observation


def gradient(library: Library, sample: Sample, dtypes: Dtypes) -> Observation:
    """The gradients of all inputs with random cotangents, and which results require one."""
    outputs, leaves, flags = record(library, sample, dtypes)
    observation = Observation(facts=flags)
    if outputs:
        cotangents = [library.random_like(tensor, COTANGENT, number) for number, tensor in enumerate(outputs)]
        for grad in library.module.autograd.grad(outputs, leaves, cotangents, allow_unused=True):
            observation.add(grad)
    return observation


def second(library: Library, sample: Sample, dtypes: Dtypes) -> Observation:
    """The gradients of a random functional of the gradients, by inputs and by cotangents."""
    grad = library.module.autograd.grad
    outputs, leaves, flags = record(library, sample, dtypes)
    observation = Observation(facts=flags)
    if outputs:
        cotangents = [
            library.random_like(each, COTANGENT, number).requires_grad_() for number, each in enumerate(outputs)
        ]
        grads = grad(outputs, leaves, cotangents, allow_unused=True, create_graph=True)
        usable = {number: each for number, each in enumerate(grads) if each is not None and each.requires_grad}
        weights = [library.random_like(each, FUNCTIONAL, number) for number, each in usable.items()]
        inputs = [*leaves, *cotangents]
        for each in grad([*usable.values()], inputs, weights, allow_unused=True) if usable else [None] * len(inputs):
            observation.add(each)
    return observation


def jvp(library: Library, sample: Sample, dtypes: Dtypes) -> Observation:
    """The tangents of all results for random tangents of the inputs."""

    def dual(tensor: Any, number: int) -> Any:
        return library.forward_ad.make_dual(tensor, library.random_like(tensor, TANGENT, number))

    observation = Observation()
    with library.forward_ad.dual_level():
        scope = Scope(library.module, sample, dtypes, leaf=dual)
        for tensor in floating(scope.compared_value(scope.result())):
            observation.add(library.forward_ad.unpack_dual(tensor).tangent)
    return observation


def itself(tensor: Any, number: int) -> Any:
    return tensor


def record(
    library: Library, sample: Sample, dtypes: Dtypes, leaf: Leaf = itself
) -> tuple[list[Any], list[Any], list[bool]]:
    """The results that require a gradient, the inputs (as `leaf` makes them), and a flag for each result."""
    scope = Scope(library.module, sample, dtypes, lambda tensor, number: leaf(tensor, number).requires_grad_())
    results = list(tensors(scope.compared_value(scope.result())))
    flags = [tensor.requires_grad for tensor in results]
    return [tensor for tensor in results if tensor.requires_grad], scope.inputs.leaves, flags


def flatten(value: Any) -> Iterator[Any]:
    """The leaves of nested tuples and lists; a shape is one value."""
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        for each in value:
            yield from flatten(each)
    else:
        yield value


def tensors(value: Any) -> Iterator[Any]:
    return (each for each in flatten(value) if hasattr(each, "requires_grad"))


def floating(value: Any) -> Iterator[Any]:
    return (each for each in tensors(value) if dtype_name(each) in DIFFERENTIABLE)


def nesting(value: Any) -> str:
    """Tuples and lists by the names of their classes, without their members."""
    if isinstance(value, (tuple, list)) and type(value).__name__ != "Size":
        return f"{type(value).__name__}({', '.join(map(nesting, value))})"
    return "tensor" if hasattr(value, "requires_grad") else type(value).__name__


def plain(value: Any) -> Any:
    """A value that both libraries can have: dtypes, shapes and layouts by name."""
    if isinstance(value, (bool, int, float, complex, str, type(None))):
        return value
    return str(value).replace("torch.", "adjoint.")


def sharing(tensor: Any, inputs: list[Any]) -> tuple[bool, ...]:
    """For each input whether the tensor's memory is that of the input."""
    if not tensor.numel():
        return ()
    address = tensor.untyped_storage().data_ptr()
    return tuple(each.untyped_storage().data_ptr() == address for each in inputs)


def dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).rpartition(".")[2]


def as_numpy(tensor: Any) -> Array:
    """The numbers; half precision as float64, which NumPy can calculate with."""
    tensor = tensor.detach().clone().resolve_conj().resolve_neg()
    if dtype_name(tensor) in ("float16", "bfloat16"):
        return np.asarray(tensor.double().numpy())
    return np.asarray(tensor.numpy())
