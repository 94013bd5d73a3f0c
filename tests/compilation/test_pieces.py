"""Functions in pieces: a statement that cannot be replayed runs eagerly between two recordings."""

from __future__ import annotations

import linecache
import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import adjoint
from adjoint.compilation import compiled as compilation

Function = Callable[..., Any]


@pytest.fixture(autouse=True)
def every_piece_is_replayed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(compilation, "FEWEST_STEPS", 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def function_of(lines: list[str], name: str, space: dict[str, Any] | None = None) -> Function:
    """A function of source text. The text is available like that of a file."""
    text = "\n ".join(lines) + "\n"
    file = f"<{name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {"adjoint": adjoint, "numpy": numpy, **(space or {})}
    exec(compile(text, file, "exec"), space)
    function: Function = space["f"]
    return function


def as_array(value: Any) -> Any:
    return value.detach().numpy().copy() if isinstance(value, adjoint.Tensor) else value


def observe(call: Function, make: Callable[[int], list[Any]], k: int) -> list[Any]:
    """Results, gradients, arguments after the call and random numbers; or the error."""
    args = make(k)
    adjoint.manual_seed(k)
    try:
        results = call(*args)
    except Exception as error:
        return [type(error), str(error)]
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    ys = [y for y in results if isinstance(y, adjoint.Tensor) and y.requires_grad]
    leaves = [x for x in args if isinstance(x, adjoint.Tensor) and x.requires_grad]
    grads: list[Any] = []
    if ys and leaves:
        try:
            grads += adjoint.autograd.grad([y.sum() for y in ys], leaves, allow_unused=True)
        except RuntimeError as error:
            grads.append(type(error))
    grads += [x.grad for x in leaves]
    shared = [[r is a for a in args[:3]] for r in results]
    return [*map(as_array, [*results, *args, *grads]), shared, as_array(adjoint.rand(2))]


def assert_same(one: list[Any], other: list[Any], what: str) -> None:
    assert len(one) == len(other), what
    for a, b in zip(one, other, strict=True):
        if isinstance(a, numpy.ndarray):
            assert type(b) is type(a) and a.dtype == b.dtype and a.strides == b.strides, what
            numpy.testing.assert_array_equal(a, b, what)
        else:
            assert a == b, what


def arguments(k: int) -> list[Any]:
    rng = numpy.random.default_rng([7, k])
    n = 3 + (k == 3)
    tensors = [adjoint.tensor(rng.standard_normal((n, 4))) for _ in range(3)]
    return [tensors[0].requires_grad_(), tensors[1], tensors[2].requires_grad_(k % 2 == 0), 2.0]


# programs -------------------------------------------------------------------------------------------------------------

#: Lines of programs. {0}, {1}, {2} are variables, and {new} is a variable that may be new.
LINES = (
    "{new} = {0} * {1}", "{new} = {0}.tanh()", "{new} = {0} + 0.5 * {1}", "{new} = {0}.sin() * s", "{new} = {0}[:]",
    "{new} = {0} * adjoint.rand({0}.shape, dtype=adjoint.float64)", "{0}, {1} = {1}, {0}", "{new} = {0}.detach() * {1}",
    "for {new} in [{0} * 2, {1}.exp()]: {2} = {2} * {new}", "{new} = [{0} * k for k in range(2)][1] + {1}",
    "{new} = {0} if {1}.shape[0] > 3 else {1} * 3", "{new} = ({0} * 1).mul_({1})", "s = s * 0.5", "{new} = {0}.clone()",
    "with adjoint.no_grad(): {new} = {0} * 2", "{0} += 1", "y.add_({0}.detach())", "{new} = ({0}, {1})[1] * {2}",
    "{new} = [{0}, {1}][0]", "if s > 1: {new} = {0} * {1}", "{new} = (lambda t: t * 2)({0})",
    "while s > 1: {new}, s = {0} * {1}, s / 2", "{new} = {0}.flip(0).contiguous()",
)  # fmt: skip
#: Statements that cannot be replayed.
BREAKS = (
    "n = {0}.detach().numpy().max()", "{new} = {0} * float(numpy.max({0}.detach().numpy()))", "repr({0}.detach())",
    "s = float({0}.detach().numpy()[0, 0])", "if {0}.detach().numpy().max() > 0: {new} = {1} * 2",
    "for n in {0}.detach().numpy()[0]: {1} = {1} * float(n)", "{0}.detach().numpy()[0] = 1.0",
    "if {0}.detach().numpy().max() > 1: return {1}, {0}", "{new} = adjoint.from_numpy({0}.detach().numpy()) * {1}",
)  # fmt: skip


def program(seed: int) -> list[str]:
    draw = random.Random(seed)
    lines = ["def f(x, y, z, s):"]
    n = draw.randint(3, 9)
    breaks = {draw.randrange(n) for _ in range(draw.choice((1, 1, 2)))}
    names = ["x", "y", "z", *draw.choice(((), ("u",), ("u", "v")))]
    for name in names[3:]:
        lines.append(f"{name} = {draw.choice('xyz')} * 1.0")
    for k in range(n):
        line = draw.choice(BREAKS if k in breaks else LINES)
        lines.append(line.format(*draw.sample(names, 3), new=draw.choice("uvw")))
    return [*lines, f"return {', '.join(draw.sample(names, draw.randint(1, 3)))}, s"]


@pytest.mark.parametrize("part", range(8))
def test_random_programs(part: int) -> None:
    replayed = 0
    for seed in range(40 * part, 40 * part + 40):
        lines = program(seed)
        plain, call = function_of(lines, f"program {seed}"), adjoint.compile(function_of(lines, f"program {seed}"))
        for k in (0, 1, 2, 3, 0, 2):
            assert_same(observe(call, arguments, k), observe(plain, arguments, k), "\n ".join([*lines, f"# call {k}"]))
        parts = [] if call.pieces is None else [part.replayed for part in call.pieces.parts]
        replayed += any(piece is not None and piece.n_recordings for piece in parts)
    assert replayed >= 5


def test_both_sides_are_replayed() -> None:
    lines = ["def f(x, y, z, s):", "h = (x * 2).tanh()", "n = h.detach().numpy().max() > 9", "g = (h * y).sin()"]
    call = adjoint.compile(function_of([*lines, "return g * s if n else g"], "both sides"))
    for k in (0, 0, 0):
        observe(call, arguments, k)
    assert call.pieces is not None
    assert [part.replayed and part.replayed.n_recordings for part in call.pieces.parts] == [1, None, 1]
    assert "in pieces around line 3" in str(call.explain(*arguments(0)))


def test_value_that_is_another_one_at_each_call() -> None:
    lines = ["def f(x, y, z, s):", "h = (x * 2).tanh()", "s = h.detach().sum().item()", "return h * y, s"]
    plain, call = function_of(lines, "item"), adjoint.compile(function_of(lines, "item"))
    for k in range(4, 20):
        assert_same(observe(call, arguments, k), observe(plain, arguments, k), str(k))
    assert call.pieces is not None and call.pieces.parts[0].replayed.n_recordings == 1


def test_numbers_that_nothing_seen_gives() -> None:
    lines = ["def f(x, y, z, s):", "h = x * 2", "begun = clock()", "h.detach().numpy()", "h = h * y", "return h, begun"]
    times = []
    for name in ("plain", "compiled"):
        steps = iter(range(99)).__next__
        function = function_of(lines, "clock", {"clock": Clock(steps)})
        call = adjoint.compile(function) if name == "compiled" else function
        times.append([call(*arguments(k % 2))[1] for k in range(12)])
    assert times[0] == times[1]


class Clock:
    """An object whose state is hidden."""

    __slots__ = ("_next",)

    def __init__(self, step: Callable[[], int]) -> None:
        self._next = step

    def __call__(self) -> int:
        return self._next()


def test_effects_of_the_statement_are_those_of_the_function(capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["def f(x, y, z, s):", "h = (x * 2).tanh()", "print(h.detach().sum())", "return h * y"]
    call = adjoint.compile(function_of(lines, "effects"))
    for k in range(3):
        call(*arguments(k))
    assert capsys.readouterr().out.count("tensor(") == 3


def test_fullgraph_names_the_line() -> None:
    lines = ["def f(x, y, z, s):", "h = x * 2", "n = h.detach().numpy()", "return h"]
    with pytest.raises(adjoint.compiler.Unsupported, match=r"in f at <fullgraph>:3"):
        adjoint.compile(function_of(lines, "fullgraph"), fullgraph=True)(*arguments(0))


WHOLE = {
    "a function that shares variables": ["g = lambda: h", "h.detach().numpy()", "h = h * 2", "return g()"],
    "a generator that shares variables": [
        "g = (h for _ in range(1))",
        "h.detach().numpy()",
        "h = h * 2",
        "return next(g)",
    ],
    "a variable that may have no value": ["if s > 3: g = h", "h.detach().numpy()", "return g if s > 3 else h"],
    "variables of the frame": ["h.detach().numpy()", "return locals()['h']"],
    "a return before": ["if s > 3: return h", "h.detach().numpy()", "return h * 2"],
    "a global": ["global G", "G = 1", "h.detach().numpy()", "return h * 2"],
    "an import": ["import math as m", "h.detach().numpy()", "return h * m.pi"],
}


@pytest.mark.parametrize("name", WHOLE)
def test_functions_that_stay_whole(name: str) -> None:
    lines = ["def f(x, y, z, s):", "h = x * y", *WHOLE[name]]
    plain, call = function_of(lines, name), adjoint.compile(function_of(lines, name))
    for k in (0, 1, 2):
        assert_same(observe(call, arguments, k), observe(plain, arguments, k), name)
    assert call.pieces is None and call.refused


def test_source_that_is_another_one_now() -> None:
    lines = ["def f(x, y, z, s):", "h = x * y", "h.detach().numpy()", "return h * 2"]
    call = adjoint.compile(function_of(lines, "changed source"))
    function_of([*lines[:-1], "return h * 3"], "changed source")
    for k in (0, 1):
        assert (call(*arguments(k)) == arguments(k)[0] * arguments(k)[1] * 2).all()
    assert call.pieces is None


def test_signatures_and_closures() -> None:
    scale = adjoint.tensor(3.0, dtype=adjoint.float64)

    def make(parameter: Any) -> Function:
        def f(x: Any, /, y: Any = scale, *more: Any, flag: bool = True, **options: Any) -> Any:
            h = (x * y).tanh() * parameter
            largest = float(h.detach().numpy().max())
            h = h * (len(more) + 1) if flag else h * sum(options.values())
            return h, largest

        return f

    parameter = adjoint.ones(4, dtype=adjoint.float64, requires_grad=True)
    plain, call = make(parameter), adjoint.compile(make(parameter))
    x = adjoint.rand(3, 4, dtype=adjoint.float64)
    for args, kwargs in (((x,), {}), ((x, x), {}), ((x, x, 1, 2), {"a": 1}), ((x,), {"flag": False, "a": 3.0, "b": 4})):
        for _ in range(3):
            results, expected = call(*args, **kwargs), plain(*args, **kwargs)
            assert (results[0] == expected[0]).all() and results[1] == expected[1]
    assert call.pieces is not None


# containers -----------------------------------------------------------------------------------------------------------

CHANGES: dict[str, Callable[[list[Any], dict[str, Any]], Any]] = {
    "append": lambda xs, d: xs.append(xs[0] * 2),
    "assign": lambda xs, d: xs.__setitem__(0, xs[0] * 2),
    "remove": lambda xs, d: xs.pop(),
    "insert in a dictionary": lambda xs, d: d.__setitem__("y", d["x"] * 2),
    "change an inner list": lambda xs, d: d["inner"].append(1.0),
    "return an argument": lambda xs, d: d,
    "return one twice": lambda xs, d: [one := [xs[0] * 2], one],
    "nothing": lambda xs, d: [xs[0] * 2],
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("make", [lambda: adjoint.ones(2), lambda: numpy.ones(2)])
def test_containers_among_arguments(name: str, make: Callable[[], Any]) -> None:
    def outcome(call: Function) -> list[Any]:
        xs, d = [make(), make()], {"x": make(), "inner": [make()]}
        result = call(xs, d)
        again = isinstance(result, list) and len(result) == 2 and result[0] is result[1]
        lists = [numpy.asarray(each).tolist() for each in (*xs, d["x"], d.get("y", 0), *d["inner"])]
        return [lists, list(d), result is d, result is xs, again, type(xs[0]), type(xs[-1]), type(d["inner"][-1])]

    call = adjoint.compile(CHANGES[name])
    for _ in range(3):
        assert outcome(call) == outcome(CHANGES[name])
