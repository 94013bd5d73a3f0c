"""Random calls of the whole public surface: does any end in a signal, a hang or an internal error?

A call is an expression, which the report shows: `A` is adjoint, `T(values, dtype, requires_grad)` makes a tensor. Half
of the calls are right calls (tests/support/function_calls.py) with some other arguments. The other calls have values of
all kinds. Bad arguments may raise errors that describe the fault: TypeError, ValueError, RuntimeError, IndexError ...
They may not raise an error of an internal kind (KINDS) that passed through adjoint's own code.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import random
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from trust.figures import ROOT
from trust.fuzz.faults import Fault

#: Errors of an internal kind. A ZeroDivisionError is not internal, since Python's own functions raise it. A BufferError
#: is not internal, since the protocol of DLPack has it for arrays that cannot be exported.
KINDS = (
    AttributeError, AssertionError, KeyError, NameError, RecursionError, SystemError, StopIteration, GeneratorExit,
    ReferenceError,
)  # fmt: skip

MODULES = (
    "", "Tensor", "linalg", "fft", "special", "masked", "nn.functional", "nn.init", "nn.utils", "func", "random",
    "signal.windows", "testing", "memory", "implicit", "integrate", "optimize", "autograd", "autograd.functional",
    "autograd.graph", "autograd.forward_ad", "utils.checkpoint", "numpy", "numpy.linalg", "numpy.fft", "scipy.special",
    "scipy.linalg", "scipy.signal", "scipy.fft", "scipy.stats", "scipy.integrate", "array_api",
)  # fmt: skip
METHODS = (
    "__getitem__", "__setitem__", "__add__", "__mul__", "__matmul__", "__pow__", "__truediv__", "__floordiv__",
    "__mod__", "__and__", "__lshift__", "__iadd__", "__imul__", "__contains__", "__rpow__", "__len__", "__iter__",
    "__index__", "__array__", "__eq__", "__lt__", "__neg__", "__invert__", "__deepcopy__", "__format__",
)  # fmt: skip
#: Functions that are not called. They end or change the process (files, threads, settings, other libraries), or wait.
LEFT_OUT = frozenset(
    [
        "save",
        "load",
        "tofile",
        "dump",
        "dumps",
        "from_file",
        "set_num_threads",
        "seed",
        "manual_seed",
        "set_rng_state",
        "set_state",
        "set_printoptions",
        "set_default_dtype",
        "set_default_device",
        "set_default_tensor_type",
        "set_warn_always",
        "use_deterministic_algorithms",
        "set_deterministic_debug_mode",
        "set_limit",
        "import_module",
        "save_to_disk",
        "savez",
        "savez_compressed",
        "savetxt",
        "loadtxt",
        "genfromtxt",
        "fromfile",
        "memmap",
        "open_memmap",
        "fromregex",
        "show_config",
        "show_runtime",
        "info",
        "test",
        "seterr",
        "seterrcall",
        "setbufsize",
        "set_printoptions",
        "set_string_function",
        "set_multithreading_enabled",
        "register_privateuse1_backend",
        "set_workers",
        "set_backend",
        "set_global_backend",
        "register_backend",
        "skip_backend",
        "frombuffer",
        "lookfor",
        "source",
        "get_include",
        "enter_dual_level",
        "exit_dual_level",
        "set_detect_anomaly",
        "set_grad_enabled",
        "share_memory_",
        "set_override_stale_capture_stream",
        "from_dlpack",
        "dlpack",
        "__dlpack__",
        "__array__",
        "ctypeslib",
        "ndarray",
        "nditer",
        "nested_iters",
        "broadcast",
        "generic",
        "flatiter",
        "set_materialize_grads",
        "enforce_grad_layout_policy",
    ]
)

#: Beginnings of names of functions that run NumPy's or SciPy's own code if no argument is a tensor.
OVER_A_LIBRARY = ("A.numpy.", "A.scipy.")
#: How expressions of tensors begin.
TENSORS = ("T(", "R(", "F(")


class Values:
    """The random values that arguments are made of, as expressions."""

    shapes = (
        "()",
        "(0,)",
        "(1,)",
        "(3,)",
        "(4,)",
        "(2, 3)",
        "(3, 3)",
        "(3, 2)",
        "(0, 3)",
        "(2, 0)",
        "(2, 3, 3)",
        "(1, 2, 4, 4)",
        "(2, 1, 5)",
        "(1, 1, 1, 1)",
        "(2, 2, 2, 2, 2)",
        "(3, 0, 3)",
    )
    dtypes = (
        "float32",
        "float64",
        "float64",
        "int64",
        "bool",
        "uint8",
        "int8",
        "int32",
        "float16",
        "bfloat16",
        "complex64",
        "complex128",
        "uint16",
        "uint64",
    )
    integers = (
        "0",
        "1",
        "2",
        "3",
        "-1",
        "-2",
        "5",
        "100",
        "2**31",
        "2**31 - 1",
        "2**62",
        "2**63 - 1",
        "2**63",
        "-2**63",
        "10**9",
        "-10**9",
        "10**30",
        "2**64",
    )
    small = ("0", "1", "2", "3", "-1", "-2", "4", "7")
    numbers = (
        "0.5",
        "1.0",
        "-1.5",
        "0.0",
        "inf",
        "-inf",
        "nan",
        "1e308",
        "1e-320",
        "True",
        "False",
        "1j",
        "complex(nan, inf)",
    )
    odd = (
        "None",
        "None",
        "'sum'",
        "'mean'",
        "'nope'",
        "''",
        "b'x'",
        "[]",
        "()",
        "{}",
        "...",
        "object()",
        "slice(None)",
        "slice(0, 2, -1)",
        "[1, 'a']",
        "[[1], [1, 2]]",
        "{'a': 1}",
        "set()",
        "A.float64",
        "A.int64",
        "int",
        "A.Tensor",
        "A.device('cpu')",
        "'cpu'",
        "'cuda'",
        "A.Size([2, 3])",
        "range(3)",
        "numpy.float64(2)",
        "numpy.int8(3)",
        "A.channels_last",
        "A.strided",
        "A.Generator()",
        "[None]",
        "(None, 1)",
        "'ij,jk->ik'",
        "'reflect'",
        "'circular'",
        "'nearest'",
        "'bilinear'",
        "'valid'",
        "'same'",
        "'L'",
        "'U'",
        "'fro'",
        "'nuc'",
        "float('1e400')",
        "iter([1])",
        "A",
        "[nan]",
        "'constant'",
        "lambda: 1",
        "print",
        "[True, 1]",
        "numpy.array('x')",
        "numpy.dtype('f4')",
    )
    arrays = (
        "numpy.ones((2, 3))",
        "numpy.arange(3)",
        "numpy.array(2.0)",
        "numpy.array([1, 2], object)",
        "numpy.array(['a'])",
        "numpy.matrix([[1.0, 2.0]])",
        "numpy.ma.array([1.0, 2.0], mask=[0, 1])",
        "numpy.zeros(2, 'f8,i4')",
        "numpy.ones(3, '>f8')",
        "numpy.ones(3, 'g')",
        "numpy.array(['2020-01-01'], 'M8[D]')",
        "numpy.zeros((0, 3))",
    )
    functions = (
        "lambda x: x * 2",
        "lambda x: (x * x).sum()",
        "lambda *a, **k: a[0]",
        "lambda x, y: x * y",
        "A.sin",
        "lambda x: None",
        "lambda x: (x, x.sum())",
        "A.sum",
        "lambda x: 3.0",
    )

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def tensor(self) -> str:
        """A tensor: of any type, perhaps without elements, not finite, a view, in need of a gradient."""
        draw = self.draw
        shape, dtype = draw.choice(self.shapes), draw.choice(self.dtypes)
        kind = draw.random()
        grad = ", True" if draw.random() < 0.4 else ""
        if kind < 0.6:
            return f"R({shape}, {dtype!r}{grad})"
        if kind < 0.7:
            return f"F({shape}, {draw.choice(('nan', 'inf', '-inf', '0', '1e300', '-1'))}, {dtype!r}{grad})"
        if kind < 0.8:
            return f"R({shape}, {dtype!r}{grad}).mT" if shape.count(",") > 1 else f"R((6,), {dtype!r}{grad})[::2]"
        if kind < 0.9:
            return f"T({[draw.randint(-3, 3) for _ in range(draw.randint(0, 4))]}, 'int64')"
        if kind < 0.95:
            return f"R((3,), {dtype!r}{grad}).expand(2, 3)"
        return f"(R({shape}, 'float64', True) * 2)"

    def sequence(self) -> str:
        """A list or tuple of integers, tensors, numbers or anything."""
        draw = self.draw
        make = draw.choice([lambda: draw.choice(self.small), lambda: draw.choice(self.integers), self.tensor, self.any])
        parts = ", ".join(make() for _ in range(draw.randint(0, 3)))
        return f"[{parts}]" if draw.random() < 0.5 else f"({parts},)" if parts else "()"

    def any(self, depth: int = 0) -> str:
        """Any value."""
        draw = self.draw
        kind = draw.random()
        if kind < 0.35:
            return self.tensor()
        if kind < 0.45:
            return draw.choice(self.small)
        if kind < 0.57:
            return draw.choice(self.integers)
        if kind < 0.67:
            return draw.choice(self.numbers)
        if kind < 0.75 and depth < 2:
            return self.sequence()
        if kind < 0.93:
            return draw.choice(self.odd)
        return draw.choice(self.arrays if kind < 0.97 else self.functions)


class Target(NamedTuple):
    """A function as it is written, and what it takes: (name, may be left out, by name only), and whether any more."""

    text: str
    parameters: tuple[tuple[str, bool, bool], ...]
    open: bool


def parameters_of(function: Callable[..., Any], method: bool) -> tuple[tuple[tuple[str, bool, bool], ...], bool]:
    """The parameters of a function, as far as its signature is known."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return (("x", False, False), ("y", True, False), ("z", True, False)), True
    if (
        method
        and parameters
        and parameters[0].kind in (parameters[0].POSITIONAL_ONLY, parameters[0].POSITIONAL_OR_KEYWORD)
    ):
        parameters = parameters[1:]
    named_parameters = [
        (each.name, each.default is not each.empty, each.kind is each.KEYWORD_ONLY)
        for each in parameters
        if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    return tuple(named_parameters), any(each.kind is each.VAR_POSITIONAL for each in parameters)


def surface() -> list[Target]:
    """All public functions, methods and classes."""
    import adjoint

    targets = []
    for name in MODULES:
        parts = f"adjoint.{name}" if name else "adjoint"
        method = name == "Tensor"
        space = adjoint.Tensor if method else importlib.import_module(parts)
        listed = set(getattr(space, "__all__", dir(space)))
        names = [each for each in listed if not each.startswith("_")] + list(METHODS if method else ())
        library = importlib.import_module(name) if name.split(".")[0] in ("numpy", "scipy") else None
        for each in sorted(set(names)):
            value = getattr(space, each, None)
            if value is getattr(library, each, ...):
                continue  # the library's own, which takes no tensors
            if (
                each in LEFT_OUT
                or (
                    each.endswith("_zeros") and name == "scipy.special"
                )  # SciPy computes all of them, which may take very long
                or not callable(value)
                or (isinstance(value, type) and issubclass(value, BaseException))
            ):
                continue
            text = f"A.{name}.{each}" if name else f"A.{each}"
            parameters, more = parameters_of(value, method)
            targets.append(Target(text, parameters, more))
    return targets


def right_calls() -> dict[str, list[tuple[list[str], dict[str, str]]]]:
    """For functions of tests/support/function_calls.py their arguments as expressions."""
    import adjoint

    sys.path.append(str(ROOT / "tests"))
    support = importlib.import_module("support.function_calls")

    def text(value: Any) -> str:
        if isinstance(value, support.Argument):
            return f"T({value.values.tolist()!r}, {value.dtype.name!r}{'' if value.constant else ', grad'})"
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            inner = ", ".join(map(text, value))
            return f"[{inner}]" if isinstance(value, list) else f"({inner},)" if value else "()"
        if isinstance(value, (adjoint.dtype, adjoint.device)):
            return f"A.{value.name}" if isinstance(value, adjoint.dtype) else f"A.device({str(value)!r})"
        return repr(value)

    calls: dict[str, list[tuple[list[str], dict[str, str]]]] = {}
    for name, make in support.CALLS.items():
        for dtype in ("float64", "complex128", "int64"):
            with contextlib.suppress(TypeError, ValueError, OverflowError):
                args, kwargs = make(support.Maker(getattr(adjoint, dtype)))
                texts = [text(value) for value in args], {key: text(value) for key, value in kwargs.items()}
                if not any(part.startswith("<") or " at 0x" in part for part in [*texts[0], *texts[1].values()]):
                    calls.setdefault(name, []).append(texts)
    return calls


class Cases:
    """The calls of one seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.targets = surface()
        self.right = right_calls()
        self.names = names()

    def text(self, number: int) -> str:
        """Call number so and so, as an expression."""
        draw = random.Random(f"{self.seed}:{number}")
        values = Values(draw)
        target = draw.choice(self.targets)
        name = target.text[2:]
        if name in self.right and draw.random() < 0.75:
            args, kwargs = self.changed_arguments(draw.choice(self.right[name]), target, values)
        else:
            args, kwargs = self.random_arguments(target, values)
        if target.text.startswith(OVER_A_LIBRARY) and not any(
            part in value for value in [*args, *kwargs.values()] for part in TENSORS
        ):
            args = [values.tensor(), *args[1:]]
        if name.startswith("Tensor."):
            return f"{values.tensor()}.{name.removeprefix('Tensor.')}({self.arguments_text(args, kwargs)})"
        return f"{target.text}({self.arguments_text(args, kwargs)})"

    def fault(self, number: int) -> Fault | None:
        try:
            run_text(self.text(number), self.names)
        except Exception as error:  # every kind is looked at
            where = internal(error)
            return Fault(type(error).__name__, where, str(error)) if where else None
        finally:
            tidy()
        return None

    def close(self) -> None:
        """Nothing is held."""

    @staticmethod
    def arguments_text(args: list[str], kwargs: dict[str, str]) -> str:
        return ", ".join([*args, *(f"{key}={value}" for key, value in kwargs.items())])

    @staticmethod
    def random_arguments(target: Target, values: Values) -> tuple[list[str], dict[str, str]]:
        draw = values.draw
        args: list[str] = []
        kwargs: dict[str, str] = {}
        for name, optional, by_name in target.parameters:
            if optional and draw.random() < 0.65:
                continue
            tensors = name in ("input", "self", "x", "a", "A", "other", "target", "weight", "tensor", "b", "y")
            value = values.tensor() if tensors and draw.random() < 0.6 else values.any()
            if by_name or len(args) < len(kwargs) or (optional and draw.random() < 0.8):
                kwargs[name] = value
            elif not kwargs:
                args.append(value)
            else:
                kwargs[name] = value
        if target.open:
            args += [values.any() for _ in range(draw.choice((0, 1, 1, 2, 3)))] if not kwargs else []
        if draw.random() < 0.03:
            args.append(values.any())
        return args, kwargs

    @staticmethod
    def changed_arguments(
        call: tuple[list[str], dict[str, str]], target: Target, values: Values
    ) -> tuple[list[str], dict[str, str]]:
        draw = values.draw
        args, kwargs = list(call[0]), dict(call[1])
        args = [part.replace(", grad)", ", True)" if draw.random() < 0.5 else ")") for part in args]
        kwargs = {key: part.replace(", grad)", ", True)") for key, part in kwargs.items()}
        for _ in range(draw.choice((1, 1, 2, 3))):
            places: list[Any] = [*range(len(args)), *kwargs]
            more = [name for name, optional, _ in target.parameters[len(args) :] if optional and name not in kwargs]
            if more and draw.random() < 0.35:
                kwargs[draw.choice(more)] = values.any()
            elif places:
                slot = draw.choice(places)
                old = args[slot] if isinstance(slot, int) else kwargs[slot]
                new = values.tensor() if old.startswith("T(") and draw.random() < 0.6 else values.any()
                if old.lstrip("-").isdigit() and draw.random() < 0.6:
                    new = draw.choice(values.integers)
                if isinstance(slot, int):
                    args[slot] = new
                else:
                    kwargs[slot] = new
        return args, kwargs


# one call -------------------------------------------------------------------------------------------------------------


def names() -> dict[str, Any]:
    """The names in expressions."""
    import numpy

    import adjoint

    def from_values(values: Any, dtype: str, grad: bool = False) -> Any:
        tensor = adjoint.tensor(values, dtype=getattr(adjoint, dtype))
        return tensor.requires_grad_() if grad and tensor.is_floating_point() | tensor.is_complex() else tensor

    def from_numbers(shape: tuple[int, ...], dtype: str, grad: bool = False) -> Any:
        numbers = numpy.random.default_rng(3).uniform(-2, 2, shape)
        tensor = adjoint.tensor(numbers).to(getattr(adjoint, dtype))
        return tensor.requires_grad_() if grad and tensor.is_floating_point() | tensor.is_complex() else tensor

    def fill(shape: tuple[int, ...], value: float, dtype: str, grad: bool = False) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tensor = adjoint.tensor(numpy.full(shape, value)).to(getattr(adjoint, dtype))
        return tensor.requires_grad_() if grad and tensor.is_floating_point() | tensor.is_complex() else tensor

    return {
        "A": adjoint, "T": from_values, "R": from_numbers, "F": fill, "numpy": numpy,
        "inf": float("inf"), "nan": float("nan"),
    }  # fmt: skip


def run_text(text: str, space: dict[str, Any]) -> None:
    """Evaluate a call, and run a backward pass from its result."""
    import adjoint

    result = eval(text, dict(space))
    parts = result if isinstance(result, (tuple, list)) else (result,)
    for part in parts[:2]:
        if isinstance(part, adjoint.Tensor) and part.requires_grad and part.numel() < 10**6:
            part.real.sum().backward() if part.is_complex() else part.sum().backward()
            break


def internal(error: BaseException) -> str | None:
    """Where adjoint's own code raised an error of an internal kind, or None."""
    if not isinstance(error, KINDS) or (isinstance(error, AssertionError) and error.args):
        return None  # PyTorch raises some AssertionErrors with a message
    frames = traceback.extract_tb(error.__traceback__)
    if frames and frames[-1].filename == "<string>" and len(frames) > 2:
        return None  # an error of a function in the expression, which adjoint called
    frames_here = [
        f"{Path(frame.filename).name}:{frame.lineno} {frame.name}"
        for frame in frames
        if f"{os.sep}adjoint{os.sep}" in frame.filename or frame.filename.startswith("src/adjoint")
    ]
    # errors of other libraries for plain values are their own answers
    return frames_here[-1] if frames_here and not frames_here[-1].startswith("namespaces.py") else None


def tidy() -> None:
    """Modes as they are at the start."""
    import adjoint

    adjoint.set_grad_enabled(True)
    adjoint.set_default_dtype(adjoint.float32)
