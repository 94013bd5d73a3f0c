"""Measures the data types, modes and forms of a public function, by its call in function_calls.py.

Derivatives count only if they agree with central differences in a random direction. The batch form must agree with a
loop. The form in place and out= must give the values of the function.
"""

from __future__ import annotations

import inspect
import types
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import adjoint
from adjoint.autograd import forward_ad
from support import function_calls
from support.function_calls import Argument, Call, Maker

Tensor = adjoint.Tensor
DTYPES = [
    "bool", "uint8", "int8", "int16", "int32", "int64",
    "float16", "bfloat16", "float32", "float64", "complex64", "complex128",
]  # fmt: skip
INEXACT = DTYPES[6:]

#: The letters for several data types that all work.
GROUPS = {
    "b": ("bool",),
    "i": ("uint8", "int8", "int16", "int32", "int64"),
    "h": ("float16", "bfloat16"),
    "f": ("float32", "float64"),
    "c": ("complex64", "complex128"),
}
SHORT = {
    "uint8": "u8", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "float16": "f16", "bfloat16": "bf16",
    "float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128",
}  # fmt: skip
STEP = 1e-6
TOLERANCE = {"float16": 3e-2, "bfloat16": 2e-1, "float32": 2e-3, "complex64": 2e-3}

Record = dict[str, Any]


def look_up(name: str) -> Callable[..., Any]:
    """A function by its name in torch, or the function form of a method or attribute of Tensor."""
    try:
        function = function_calls.function(name)
    except AttributeError:
        function = None
    if function is not None and not isinstance(function, (adjoint.dtype, types.ModuleType)):
        return function
    member = getattr(Tensor, name)
    return member if callable(member) else lambda tensor: getattr(tensor, name)


class Problem:
    """One call as a function of its leaves: the arrays with derivatives."""

    def __init__(self, name: str, dtype: str, calls: Mapping[str, Callable[[Maker], Call]] | None = None) -> None:
        self.name = name
        self.call: Call = (calls or function_calls.CALLS)[name](Maker(getattr(adjoint, dtype)))
        self.arguments: list[Argument] = []
        self._collect((self.call.args, self.call.kwargs))
        self.leaves = [a for a in self.arguments if not a.constant and str(a.dtype).split(".")[-1] in INEXACT]

    def _collect(self, value: Any) -> None:
        if isinstance(value, Argument):
            if not any(value is argument for argument in self.arguments):
                self.arguments.append(value)
        elif isinstance(value, (list, tuple)):
            for member in value:
                self._collect(member)
        elif isinstance(value, dict):
            self._collect(list(value.values()))

    def call_with(self, tensors: list[Any]) -> Call:
        """The call with tensors in place of the leaves."""
        by_id = {id(a): t for a, t in zip(self.leaves, tensors, strict=True)}

        def fill(value: Any) -> Any:
            if isinstance(value, Argument):
                return by_id[id(value)] if id(value) in by_id else tensor_of(value)
            if isinstance(value, dict):
                return {key: fill(member) for key, member in value.items()}
            if type(value) in (list, tuple):
                return type(value)(map(fill, value))
            return value

        return Call(fill(self.call.args), fill(self.call.kwargs))

    def starts(self) -> list[Any]:
        return [tensor_of(a) for a in self.leaves]

    def run(self, tensors: list[Any], function: Callable[..., Any] | None = None, **more: Any) -> list[Any]:
        """All tensors of the result. Values that are determined up to a phase are replaced by their absolute values."""
        adjoint.manual_seed(0)
        within = function_calls.WITHIN.get(self.name)
        call = self.call_with(tensors if within is None else [within(a) for a in tensors])
        result = (function or look_up(self.name))(*call.args, **call.kwargs, **more)
        tensors_out = flat(result)
        return [y.abs() for y in tensors_out] if self.name in function_calls.UP_TO_PHASE else tensors_out


def tensor_of(argument: Argument) -> Any:
    kind = argument.dtype
    wide = argument.values if kind.is_complex or not kind.is_floating_point else argument.values.astype(np.float64)
    return adjoint.tensor(wide).to(kind)


def flat(result: Any) -> list[Any]:
    if isinstance(result, Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [y for member in result for y in flat(member)]
    return []


def array(tensor: Any) -> np.ndarray[Any, Any]:
    tensor = tensor.detach()
    wide = adjoint.complex128 if tensor.is_complex() else adjoint.float64
    return tensor.to(wide).numpy()


def noise(shape: Any, is_complex: bool, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    real = rng.uniform(-1, 1, tuple(shape))
    return real + 1j * rng.uniform(-1, 1, tuple(shape)) if is_complex else real


def inner(weights: list[Any], values: list[Any]) -> float:
    return float(sum(np.sum(np.conj(w) * v).real for w, v in zip(weights, values, strict=True)))


def cast(values: np.ndarray[Any, Any], like: Any) -> Any:
    return adjoint.tensor(values).to(like.dtype)


class Derivatives:
    """The derivatives of one problem along one direction, weighted by one cotangent."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        rng = np.random.default_rng(11)
        self.start = problem.starts()
        self.direction = [noise(a.shape, a.is_complex(), rng) for a in self.start]
        leaves = [a.detach().requires_grad_() for a in self.start]
        ys = problem.run(leaves)
        self.differentiable = [i for i, y in enumerate(ys) if y.requires_grad]
        # a result in low precision needs large steps; only conversions have one, and they are linear
        self.coarse = any(adjoint.finfo(ys[i].dtype).bits < 64 for i in self.differentiable)
        self.weights = [noise(ys[i].shape, ys[i].is_complex(), rng) for i in self.differentiable]
        self.turn = [noise(a.shape, a.is_complex(), rng) for a in self.start]

    def displace(self, step: float) -> list[Any]:
        return [a + cast(step * v, a) for a, v in zip(self.start, self.direction, strict=True)]

    def value(self, leaves: list[Any]) -> float:
        ys = self.problem.run(leaves)
        return inner(self.weights, [array(ys[i]) for i in self.differentiable])

    def gradient(self, leaves: list[Any], create_graph: bool = False) -> list[Any]:
        leaves = [a if a.requires_grad else a.detach().requires_grad_() for a in leaves]
        ys = self.problem.run(leaves)
        ends = [ys[i] for i in self.differentiable]
        drivers = [cast(w, y) for w, y in zip(self.weights, ends, strict=True)]
        return list(adjoint.autograd.grad(ends, leaves, drivers, create_graph=create_graph, materialize_grads=True))

    def along(self, gradients: list[Any]) -> float:
        return inner([array(g) for g in gradients], self.direction)

    def agrees(self, number: float, function: Callable[[list[Any]], float], tolerance: float = 1e-5) -> bool:
        """Whether a number is the slope of a function of the leaves in the direction."""
        step, tolerance = (1.0, 5e-2) if self.coarse else (STEP, tolerance)
        slope = (function(self.displace(step)) - function(self.displace(-step))) / (2 * step)
        return abs(number - slope) <= tolerance * max(1.0, abs(slope))

    def vjp(self) -> bool:
        return self.agrees(self.along(self.gradient(self.start)), self.value)

    def jvp(self) -> bool:
        with forward_ad.dual_level():
            duals = [forward_ad.make_dual(a, cast(v, a)) for a, v in zip(self.start, self.direction, strict=True)]
            ys = self.problem.run(duals)
            tangents = [forward_ad.unpack_dual(ys[i]).tangent for i in self.differentiable]
            directional = inner(self.weights, [0.0 if t is None else array(t) for t in tangents])
        return self.agrees(directional, self.value)

    def second(self) -> bool:
        def turn(leaves: list[Any]) -> float:
            return inner(self.turn, [array(g) for g in self.gradient(leaves)])

        leaves = [a.detach().requires_grad_() for a in self.start]
        firsts = self.gradient(leaves, create_graph=True)
        ends = [(g, cast(t, g)) for g, t in zip(firsts, self.turn, strict=True) if g.requires_grad]
        if not ends:
            return self.agrees(0.0, turn, 1e-4)
        outputs, drivers = zip(*ends, strict=True)
        seconds = adjoint.autograd.grad(outputs, leaves, drivers, materialize_grads=True)
        return self.agrees(self.along(list(seconds)), turn, 1e-4)


def attempt(check: Callable[[], Any]) -> Any:
    """The result, or False if the function refuses or does not know its derivative."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return check()
    except Exception:
        return False


def forward(name: str, dtype: str) -> bool:
    problem = Problem(name, dtype)
    with adjoint.no_grad():
        problem.run(problem.starts())
    return True


def gradient(name: str, dtype: str) -> bool:
    problem = Problem(name, dtype)
    if not problem.leaves or not any(a.dtype is problem.leaves[0].dtype for a in problem.leaves):
        return False
    derivatives = Derivatives(problem)
    if not derivatives.differentiable:
        return False
    if dtype in ("float64", "complex128"):
        return derivatives.vjp()
    wide = "complex128" if dtype.startswith("complex") else "float64"
    gradients, expected = derivatives.gradient(derivatives.start), Derivatives(Problem(name, wide))
    expected.weights = derivatives.weights
    exact = expected.gradient([a.to(getattr(adjoint, wide)) for a in derivatives.start])
    size = max((float(np.abs(array(e)).max(initial=0)) for e in exact), default=1.0)
    return all(
        f.dtype is a.dtype and np.abs(array(f) - array(e)).max(initial=0) <= TOLERANCE[dtype] * max(size, 1)
        for f, e, a in zip(gradients, exact, derivatives.start, strict=True)
    )


def batch(problem: Problem) -> str:
    """'form', 'loop' (each member by itself, with a warning) or '' for a function without a batch form."""
    starts = problem.starts()
    stacked = [adjoint.stack([a, a * 0.9 if a.is_floating_point() else a]) for a in starts]
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        batched = adjoint.vmap(lambda *leaves: tuple(problem.run(list(leaves))), randomness="same")(*stacked)
    members = [problem.run([a[i] for a in stacked]) for i in range(2)]
    for y, *rest in zip(batched, *members, strict=True):
        if not np.allclose(array(y), np.stack([array(r) for r in rest]), rtol=1e-7, atol=1e-7, equal_nan=True):
            return ""
    return "loop" if any("performance" in str(w.message) for w in messages) else "form"


def same(actual: list[Any], expected: list[Any]) -> bool:
    return len(actual) == len(expected) and all(
        a.shape == b.shape and np.allclose(array(a), array(b), equal_nan=True)
        for a, b in zip(actual, expected, strict=True)
    )


def in_place(problem: Problem) -> bool:
    name = problem.name
    method = getattr(Tensor, f"{name}_", None)
    if name.startswith("nn.functional."):
        if "inplace" not in inspect.signature(look_up(name)).parameters:
            return False
        return same(problem.run(problem.starts(), inplace=True), problem.run(problem.starts()))
    return method is not None and same(problem.run(problem.starts(), method), problem.run(problem.starts()))


def with_out(problem: Problem) -> bool:
    expected = problem.run(problem.starts())
    targets = [adjoint.empty(0, dtype=y.dtype) for y in expected]
    problem.run(problem.starts(), out=targets[0] if len(targets) == 1 else tuple(targets))
    return same([y.abs() for y in targets] if problem.name in function_calls.UP_TO_PHASE else targets, expected)


def shorthand(dtypes: list[str]) -> str:
    """A list of data types in few letters.

    >>> shorthand(["float32", "float64", "int64"])
    'i64 f'
    """
    words = []
    for letter, members in GROUPS.items():
        present = [d for d in members if d in dtypes]
        words += [letter] if len(present) == len(members) else [SHORT[d] for d in present]
    return " ".join(words)


def is_gap(record: Record) -> bool:
    """True if a function lacks a derivative, a mode or vmap that users may expect. Such a gap needs a reason."""
    differentiable = bool(record["gradient"])
    return (
        not record["batch"]
        or (record["inexact"] and not differentiable)
        or (differentiable and not (record["vjp"] and record["jvp"] and record["second"]))
    )


def probe(name: str) -> Record:
    """The data types of one function that work forward and in gradients, and its modes."""
    forwards = [d for d in DTYPES if attempt(lambda d=d: forward(name, d))]
    gradients = [d for d in INEXACT if attempt(lambda d=d: gradient(name, d))]
    record: Record = {"forward": shorthand(forwards), "gradient": shorthand(gradients)}
    kind = next((d for d in ("float64", "complex128") if d in gradients), None)
    if kind is not None:
        for mode in ("vjp", "jvp", "second"):
            record[mode] = bool(attempt(lambda mode=mode: getattr(Derivatives(Problem(name, kind)), mode)()))
    record.update(inexact=False, batch="", inplace=False, out=False)
    main = next((d for d in ("float64", "complex128", "int64", "bool") if d in forwards), None)
    if main is not None:
        problem = Problem(name, main)
        problem.leaves = problem.leaves or [a for a in problem.arguments if a.dtype is getattr(adjoint, main)]
        record["inexact"] = attempt(lambda: any(y.dtype.numpy.kind in "fcV" for y in problem.run(problem.starts())))
        record["batch"] = attempt(lambda: batch(problem)) or "" if problem.leaves else ""
        record["inplace"] = bool(attempt(lambda: in_place(problem)))
        record["out"] = bool(attempt(lambda: with_out(problem)))
    return record
