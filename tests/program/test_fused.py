"""Functions on large arrays run as programs, with the results of the functions."""

import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.program import fused, machine
from adjoint.program.form import Form, Step
from adjoint.program.fused import Fused
from adjoint.program.machine import MOST_INPUTS, MOST_REGISTERS, MOST_STEPS
from adjoint.program.schedule import Schedule, Unschedulable, elementwise
from adjoint.runtime import crossovers
from adjoint.runtime.threads import get_num_threads, set_num_threads
from program.test_trace import form_of

pytestmark = pytest.mark.skipif(not machine.compiled, reason="only the compiled form runs programs")

ROWS, COLUMNS = 300, 700
rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _two_threads() -> Iterator[None]:
    before = get_num_threads()
    set_num_threads(2)
    yield
    set_num_threads(before)
    fused.set_fusion(True)


def run(function: Callable[..., Any], *arguments: Any) -> Any:
    return Fused(function).call(list(arguments), False)


def several_steps(x: Any, y: Any) -> Any:
    """Several steps with a selection and modified intermediate values."""
    t = np.where(x > y, x * y, 2 - abs(x))
    t += (y > 0).astype(x.dtype)
    t *= 0.5
    return np.tanh(t), t / (1 + x * x)


def normalize(x: Any, y: Any) -> Any:
    shifted = x - np.add.reduce(x, axis=-1, keepdims=True) / x.shape[-1]
    return shifted * y, np.add.reduce(shifted * shifted, axis=-1)


def soft(x: Any, y: Any) -> Any:
    powers = np.exp(x - np.max(x, axis=1, keepdims=True))
    return powers / np.add.reduce(powers, axis=1, keepdims=True) * y


def total(x: Any, y: Any) -> Any:
    return np.add.reduce(x * y, axis=None) / x.size


FUNCTIONS = [several_steps, normalize, soft, total]


def compare(function: Callable[..., Any], *arguments: Any, exactly: bool = True) -> bool:
    """Assert that a program gives the function's result. Returns True if these arguments have a program."""
    expected = function(*arguments)
    fused = Fused(function)
    results = fused.attempt(list(arguments), False)
    result = fused.call(list(arguments), False)
    for a, b in zip(list_values(result), list_values(expected), strict=True):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        if exactly:
            np.testing.assert_array_equal(a, b)
        else:
            # sums of all elements, and sums of rows of arrays with gaps, have another order of additions
            np.testing.assert_allclose(a, b, rtol=5e-5, atol=float(np.abs(b).max()) * 4 * np.finfo(a.dtype).eps)
    return results is not None


def list_values(results: Any) -> list[Any]:
    return list(results) if isinstance(results, tuple) else [results]


def layouts(dtype: Any) -> dict[str, tuple[Any, Any]]:
    x = rng.standard_normal((ROWS, COLUMNS)).astype(dtype)
    y = rng.standard_normal((ROWS, COLUMNS)).astype(dtype)
    wide = rng.standard_normal((ROWS, 2 * COLUMNS)).astype(dtype)
    number = np.asarray(1.5, dtype)
    return {
        "dense": (x, y),
        "same": (x, x),
        "row": (x, y[:1].copy()),
        "vector": (x, y[0].copy()),
        "column": (x, y[:, :1].copy()),
        "number": (x, number),
        "expanded": (x, np.broadcast_to(number, x.shape)),
        "expanded row": (x, np.broadcast_to(y[0], x.shape)),
        "every other column": (wide[:, ::2], y),
        "backwards": (x[:, ::-1], y),
        "some rows": (wide[::3, :COLUMNS], y[::3]),
        "turned": (np.asfortranarray(x), y),
    }


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_layouts(function: Callable[..., Any], dtype: Any) -> None:
    for name, (x, y) in layouts(dtype).items():
        is_program = compare(function, x, y, exactly=function is several_steps)
        assert is_program or name == "turned", name


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [((1 << 15,), np.float16), ((1 << 15,), np.complex64), ((1 << 15,), np.int64), ((0, 1 << 15), np.float64)],
)
def test_other_types_are_left_to_numpy(shape: tuple[int, ...], dtype: Any) -> None:
    x = np.ones(shape, dtype)
    assert not compare(lambda x: x * x + x, x) or x.size == 0


def test_shapes_that_are_no_rows_and_columns_are_left_to_numpy() -> None:
    x = rng.standard_normal((30, 40, 50))
    for function in (
        lambda x, y: x * y,
        lambda x, y: np.add.reduce(np.add.reduce(x, axis=2, keepdims=True) * x + y, axis=(1, 2)),
    ):
        assert not compare(function, x, x[:, :1])
    short = rng.standard_normal((1 << 14, 4))
    assert not compare(lambda x: x - np.add.reduce(x, axis=1, keepdims=True), short)


def test_errors_of_the_function_are_raised() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("why not")

    with pytest.raises(KeyError, match="why not"):
        run(fails, np.ones(1 << 15))


def test_numpy_tells_of_what_it_would_tell() -> None:
    x = np.ones((ROWS, COLUMNS))
    x[7, 11] = 0

    def inverse(x: Any) -> Any:
        return 1 / (x * x)

    with pytest.warns(RuntimeWarning, match="divide by zero"):
        result = run(inverse, x)
    assert result[7, 11] == np.inf
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        run(inverse, x)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(inverse, x)[7, 11] == np.inf
    x[7, 11] = 1
    run(inverse, x)  # no state is left


def test_results_are_memory_of_their_own() -> None:
    x, y = layouts(np.float64)["dense"]
    before = x.copy(), y.copy()
    first = run(several_steps, x, y)
    copies = [a.copy() for a in first]
    second = run(several_steps, y, x)
    arrays = [x, y, *first, *second]
    assert not any(np.shares_memory(a, b) for i, a in enumerate(arrays) for b in arrays[:i])
    for a, b in zip([x, y, *first], [*before, *copies], strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_number_of_threads_changes_nothing(function: Callable[..., Any]) -> None:
    x, y = layouts(np.float32)["dense"]
    results = []
    for n in (1, 2, 3):
        set_num_threads(n)
        results.append(list_values(run(function, x, y)))
    for others in results[1:]:
        for a, b in zip(results[0], others, strict=True):
            np.testing.assert_array_equal(a, b)


def test_threads_of_the_user() -> None:
    x, y = layouts(np.float64)["dense"]
    expected = several_steps(x, y)
    wrong: list[Any] = []

    def work() -> None:
        for _ in range(30):
            for a, b in zip(run(several_steps, x, y), expected, strict=True):
                if not np.array_equal(a, b):
                    wrong.append((a, b))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_numbers_of_a_ufunc_share_a_program() -> None:
    x = np.ones(1 << 18)
    times = Fused(np.multiply, (), True)
    for k in range(5):
        np.testing.assert_array_equal(times.call([x, k + 0.5], False), x * (k + 0.5))
    assert len(times.programs) == 1


def test_programs_and_schedules_are_bounded() -> None:
    def shift(x: Any, k: Any) -> Any:
        return x * k + 1

    def centre(x: Any) -> Any:
        return x - np.add.reduce(x, axis=-1, keepdims=True) / x.shape[-1]

    by_number, by_shape = Fused(shift), Fused(centre)
    for k in range(100):
        x = np.ones((9, 1000 + k))
        np.testing.assert_array_equal(by_number.call([x, k], False), shift(x, k))
        np.testing.assert_allclose(by_shape.call([x], False), centre(x), atol=1e-12)
    for program in (by_number, by_shape):
        assert 1 < len(program.programs) <= fused.MAX_PROGRAMS


def test_numbers_that_are_equal_and_differ_have_programs_of_their_own() -> None:
    x = np.ones(1 << 14)
    over = Fused(lambda x, k: k / (x * 1.0))
    for k in (0.0, -0.0, 0, 1, 1.0, True):
        actual, expected = over.call([x, k], False), over.function(x, k)
        np.testing.assert_array_equal(np.signbit(actual), np.signbit(expected))


NETWORK = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax of columns": lambda x: x.log_softmax(0),
    "layer_norm": lambda x: adjoint.nn.functional.layer_norm(x, (x.shape[-1],)),
    "gelu": adjoint.nn.functional.gelu,
    "elu": adjoint.nn.functional.elu,
    "std": lambda x: x.std(1),
    "logsumexp": lambda x: x.logsumexp(1),
    "huber": lambda x: adjoint.nn.functional.huber_loss(x, x.detach() * 0.3),
    "chain": lambda x: ((x * 2).tanh() - x.sigmoid()).relu().mean(),
    "expanded": lambda x: ((x + x[0]) ** 2).sum(0),
}


@pytest.mark.parametrize("name", NETWORK)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_derivatives_with_and_without(name: str, dtype: Any) -> None:
    data, weights = [rng.standard_normal((ROWS, COLUMNS)).astype(dtype) for _ in range(2)]

    def run(enabled: bool) -> list[np.ndarray]:
        fused.set_fusion(enabled)
        x = adjoint.from_numpy(data.copy()).requires_grad_()
        y = NETWORK[name](x)
        factor = adjoint.from_numpy(weights).reshape(-1)[: y.numel()].reshape(y.shape)
        (g,) = adjoint.autograd.grad((y * factor).sum(), x, create_graph=True)
        (second,) = adjoint.autograd.grad((g * g).sum(), x, allow_unused=True, materialize_grads=True)
        return [t.detach().numpy() for t in (y, g, second)]

    for a, b in zip(run(True), run(False), strict=True):
        scale = float(np.abs(b).max()) or 1.0
        np.testing.assert_allclose(a / scale, b / scale, atol=2e-5 if dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("shape", [(3,), (ROWS, COLUMNS)])
def test_the_function_itself_is_called_while_programs_are_off(shape: tuple[int, ...]) -> None:
    calls = []

    def count(x: Any, y: Any) -> Any:
        calls.append(type(x))
        return (x + y) * x

    program, arrays = Fused(count), [np.ones(shape), np.ones(shape)]
    program.attempt(arrays, False)
    calls.clear()
    program.call(arrays, False)
    assert not calls
    fused.set_fusion(False)
    program.call(arrays, False)
    assert calls == [np.ndarray]


def average(x: Any) -> Any:
    return x - np.add.reduce(x, axis=(-1, -2), keepdims=True) / 1200


@pytest.mark.parametrize(
    ("function", "shapes", "dense", "split"),
    [
        (average, [(5, 40, 30)], True, 1),
        (average, [(5, 40, 30)], False, 1),
        (soft, [(40, 300), (40, 300)], True, 1),
        (total, [(40, 300), (40, 300)], True, 0),
        (several_steps, [(40, 300), (40, 300)], True, 0),
        (several_steps, [(40, 300), ()], True, 0),
        (several_steps, [(40, 300), (1, 1)], True, 0),
        (several_steps, [(40, 300), (300,)], True, 1),
        (several_steps, [(40, 300), (40, 300)], False, 1),
        (several_steps, [(3, 40, 300), (3, 40, 300)], False, 2),
    ],
)
def test_rows_begin_where_axes_are_reduced_or_have_gaps(
    function: Any, shapes: list[tuple[int, ...]], dense: bool, split: int
) -> None:
    arrays = [rng.normal(size=shape) for shape in shapes]
    schedule = Schedule(form_of(function, *arrays), shapes, dense)
    assert schedule.split == split
    largest = shapes[0]
    assert (schedule.n_rows, schedule.n_columns) == (np.prod(largest[:split]), np.prod(largest[split:]))
    compare(function, *arrays, exactly=False)


@pytest.mark.parametrize(
    ("function", "shapes", "dense"),
    [
        (several_steps, [(3, 40, 300), (3, 1, 300)], True),
        (several_steps, [(3, 40, 300), (3, 1, 300)], False),
        (normalize, [(3, 40, 300), (3, 1, 300)], True),
    ],
)
def test_operands_of_some_rows_have_no_schedule(function: Any, shapes: list[tuple[int, ...]], dense: bool) -> None:
    form = form_of(function, *[rng.normal(size=shape) for shape in shapes])
    with pytest.raises(Unschedulable, match="no rows and columns"):
        Schedule(form, shapes, dense)


def test_reductions_of_several_types_have_no_schedule() -> None:
    def of_two_types(x: Any) -> Any:
        return np.add.reduce(x * x, None), np.maximum.reduce(x.astype(np.float64), -1)

    x = rng.normal(size=(40, 300)).astype(np.float32)
    with pytest.raises(Unschedulable, match="several types"):
        Schedule(form_of(of_two_types, x), [x.shape])
    for actual, expected in zip(list_values(run(of_two_types, x)), of_two_types(x), strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_more_values_than_registers_have_no_schedule() -> None:
    def sum_of_powers(x: Any, y: Any) -> Any:
        for k in range(MOST_STEPS // 2 - 1):
            x = x * (k + 1.5) + (k + 2.25)
        return np.add.reduce(x * y)

    with pytest.raises(Unschedulable, match="too many values"):
        Schedule(form_of(sum_of_powers, np.ones(3), np.ones(3)), [(300,), (300,)])


@pytest.mark.parametrize("axis", [-1, None])
def test_steps_follow_the_sums_of_a_program(axis: int | None) -> None:
    def following(x: Any, y: Any) -> Any:
        return np.sqrt(np.add.reduce(x * x + y * y, axis=axis)) * 2.0 + 1.0

    x, y = rng.normal(size=(2, ROWS, COLUMNS))
    assert compare(following, x, y, exactly=False)


def test_results_that_are_not_there() -> None:
    x = rng.normal(size=(ROWS, COLUMNS))
    for function in (
        lambda x: (np.exp(x) * x, None),
        lambda x: (None, np.add.reduce(np.exp(x) * x, axis=-1, keepdims=True) * x, None),
    ):
        actual, expected = run(function, x), function(x)
        assert [each is None for each in actual] == [each is None for each in expected]


def select(x: Any, y: Any) -> Any:
    """A selection and a conversion of one number for each column."""
    return x * np.where(y > 0.5, y, 2.0) + (y > 0.7).astype(x.dtype) * x


@pytest.mark.parametrize("shape", [(COLUMNS,), (1, COLUMNS), ()])
def test_small_values_are_chosen_before_the_tiles(shape: tuple[int, ...]) -> None:
    assert compare(select, rng.random((ROWS, COLUMNS)), np.asarray(rng.random(shape)))


@pytest.mark.parametrize("function", [soft, normalize])
def test_rows_of_one_element(function: Any) -> None:
    compare(function, rng.normal(size=(1 << 15, 1)), rng.normal(size=(1 << 15, 1)))


@pytest.mark.parametrize("function", [lambda x: np.add.reduce(x), lambda x: np.add.reduce(np.exp(x) * x)])
def test_threads_share_schedules_by_their_work(function: Any) -> None:
    form = form_of(function, rng.normal(size=10))
    least = -(-crossovers.THREADED // form.cost)
    schedules = [Schedule(form, [(n,)]) for n in (least - 1, least)]
    assert [schedule.is_threaded for schedule in schedules] == [False, True]


@pytest.mark.parametrize(
    ("n_inputs", "n_steps", "n_constants", "fits"),
    [
        (MOST_INPUTS, MOST_INPUTS, 0, True),
        (MOST_INPUTS + 1, MOST_INPUTS + 1, 0, False),
        (1, MOST_STEPS, 0, True),
        (1, MOST_STEPS + 1, 0, False),
        (8, MOST_STEPS, MOST_REGISTERS - MOST_STEPS - 8, True),
        (8, MOST_STEPS, MOST_REGISTERS - MOST_STEPS - 7, False),
    ],
)
def test_forms_fit_into_the_machine_up_to_its_limits(n_inputs: int, n_steps: int, n_constants: int, fits: bool) -> None:
    first = n_inputs + n_constants
    steps = [Step(np.add, (k % first, max(first + k - 1, 0) if k else 0), "d") for k in range(n_steps)]
    form = Form("d" * n_inputs, [("d", float(k)) for k in range(n_constants)], steps, first + n_steps - 1)
    assert (elementwise(form) is not None) == fits


@pytest.mark.parametrize("n_steps", [MOST_STEPS - 1, MOST_STEPS, MOST_STEPS + 1])
@pytest.mark.parametrize("shape", [(3,), (ROWS, COLUMNS)])
def test_values_of_programs_as_long_as_the_machine_takes(n_steps: int, shape: tuple[int, ...]) -> None:
    def add_up(x: Any) -> Any:
        t = x
        for _ in range(n_steps):
            t = t + x
        return t

    assert len(form_of(add_up, np.ones(shape)).steps) == n_steps
    compare(add_up, rng.normal(size=shape))
