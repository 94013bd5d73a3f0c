"""adjoint.compile: replays give the results of the function."""

import gc
import tracemalloc
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy
import pytest

import adjoint


def test_gradients_of_a_replay_are_those_of_the_function():
    weight = adjoint.randn(4, 3, dtype=adjoint.float64, requires_grad=True)

    def function(x):
        return (x @ weight).tanh().sum(1)

    compiled = adjoint.compile(function)
    x = adjoint.randn(5, 4, dtype=adjoint.float64, requires_grad=True)
    expected = function(x)
    gradients = adjoint.autograd.grad(expected.sum(), [x, weight])
    for _ in range(3):
        result = compiled(x)
        assert (result == expected).all()
        pairs = zip(adjoint.autograd.grad(result.sum(), [x, weight]), gradients, strict=True)
        assert all((actual == other).all() for actual, other in pairs)
    assert compiled.n_recordings == 1 and not compiled.refused


def test_step_of_training_writes_to_parameters():
    def train(step_of):
        weight, target = adjoint.ones(3, requires_grad=True), adjoint.zeros(3)

        def step(target):
            loss = ((weight - target) ** 2).sum()
            loss.backward()
            with adjoint.no_grad():
                weight.sub_(0.1 * weight.grad)
            weight.grad = None
            return loss.detach()

        step = step_of(step)
        return [step(target) for _ in range(5)], weight

    (losses, weight), (expected, other) = train(adjoint.compile), train(lambda step: step)
    assert losses == expected and (weight == other).all() and weight._version == other._version


def test_branches_are_recorded_one_by_one():
    compiled = adjoint.compile(lambda x: x * 2 if x.sum() > 0 else x * 3)
    for value, factor in ((1.0, 2), (-1.0, 3), (2.0, 2), (-2.0, 3)):
        assert compiled(adjoint.tensor([value])) == value * factor
    assert compiled.n_recordings == 2


def test_functions_of_arrays_give_arrays():
    compiled = adjoint.compile(adjoint.grad(lambda v: numpy.sum(numpy.tanh(v) * v)))
    v = numpy.linspace(-1, 1, 5)
    for _ in range(3):
        result = compiled(v)
        assert type(result) is numpy.ndarray
        numpy.testing.assert_allclose(result, numpy.tanh(v) + v / numpy.cosh(v) ** 2, rtol=1e-14)


def test_what_cannot_be_recorded_is_said_once():
    compiled = adjoint.compile(lambda x: x * float(numpy.asarray(x.numpy()).sum()))
    with pytest.warns(UserWarning, match="runs as it is, without a recording: it made a plain NumPy array of a value"):
        assert compiled(adjoint.ones(2))[0] == 2
    assert compiled(adjoint.ones(2) * 2)[0] == 8
    with pytest.raises(adjoint.compiler.Unsupported, match="made a plain NumPy array of a value, in <lambda>"):
        adjoint.compile(lambda x: x * float(x.numpy().sum()), fullgraph=True)(adjoint.ones(2))


def test_differentiable_arrays_keep_their_history():
    def function(x):
        return (x[1:] * x[:-1]).sum()

    compiled, start = adjoint.compile(function), numpy.linspace(1, 2, 5)
    expected = adjoint.grad(function)(start)
    for _ in range(3):
        assert numpy.array_equal(adjoint.grad(compiled)(start), expected)
        solution = adjoint.optimize.minimize(compiled, start, method="BFGS", options={"maxiter": 2})
    assert solution.fun == adjoint.optimize.minimize(function, start, method="BFGS", options={"maxiter": 2}).fun


def test_profilers_see_regions():
    weight = adjoint.rand(3, 5, requires_grad=True)

    @adjoint.compile
    def function(x):
        return ((x @ weight).tanh() * 2).sum()

    x = adjoint.rand(4, 3)
    expected = function(x).item()
    with adjoint.profiler.profile() as profile:
        result = function(x)
        result.backward()
    names = [event.name for event in profile.events()]
    assert result.item() == expected
    assert "region of (4, 5): tanh, multiply, add.reduce" in names
    assert names.count("matmul") == 2
    assert "ReplayBackward" in names


def test_results_without_a_cotangent_have_no_part_in_the_pass():
    def function(x):
        return x.sqrt(), x * 2, x**0.25, x.exp()

    compiled = adjoint.compile(function)
    for n in (2, 3, 4):
        for function_too in (function, compiled, compiled):
            x = adjoint.zeros(3, requires_grad=True)
            results = function_too(x)[:n]
            gradient = adjoint.autograd.grad([results[1].sum(), *[y.sum() for y in results[3:]]], x)[0]
            assert gradient.tolist() == [2.0 + (n == 4)] * 3


def test_equal_results_have_memory_of_their_own():
    compiled = adjoint.compile(lambda x: (x.sin(), x.sin(), x.sin().clone()))
    for _ in range(3):
        first, *others = compiled(adjoint.ones(3))
        first.zero_()
        assert all(other.tolist() == adjoint.ones(3).sin().tolist() for other in others)


def test_copies_of_compiled_functions():
    import copy
    import pickle

    compiled = adjoint.compile(numpy.sin)
    assert compiled(numpy.array([1.0])) == numpy.sin(1.0)
    for other in (copy.deepcopy(compiled), copy.copy(compiled), pickle.loads(pickle.dumps(compiled))):
        assert other.n_recordings == 0
        assert other(numpy.array([1.0])) == numpy.sin(1.0)


def rosenbrock(x):
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


@pytest.mark.parametrize(
    "name", ["grad", "value_and_grad", "grad_and_value", "jacrev", "jacfwd", "jacobian", "hessian"]
)
def test_transformations_compile(name):
    transform = getattr(adjoint.func, name)
    plain, compiled = transform(rosenbrock), transform(rosenbrock, compile=True)
    for n in (4, 4, 5, 4):
        x = numpy.linspace(0, 1, n)
        for argument in (x, adjoint.tensor(x)):
            for ours, expected in zip(_leaves(compiled(argument)), _leaves(plain(argument)), strict=True):
                assert type(ours) is type(expected)
                numpy.testing.assert_allclose(numpy.asarray(ours), numpy.asarray(expected), rtol=1e-13, atol=1e-12)


def _leaves(result):
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("start", [numpy.zeros(6), adjoint.zeros(6, dtype=adjoint.float64)], ids=["array", "tensor"])
def test_solvers_compile(start):
    def residuals(x):
        return x**3 - 2 + 0.1 * x.sum()

    optimize = adjoint.optimize
    for method in ("BFGS", "Newton-CG", "trust-exact", "SLSQP"):
        actual = [optimize.minimize(rosenbrock, start, method=method, compile=flag) for flag in (False, True)]
        numpy.testing.assert_allclose(*[numpy.asarray(each.x) for each in actual], rtol=1e-3)
        assert all(each.success for each in actual)
    for solver in (optimize.least_squares, optimize.root):
        actual = [solver(residuals, start + 1, compile=flag).x for flag in (False, True)]
        numpy.testing.assert_allclose(*map(numpy.asarray, actual), rtol=1e-12)
    function = optimize.scipy_function(rosenbrock, compile=True)
    for n in (3, 3, 5, 3):
        x = numpy.linspace(0, 1, n)
        plain = optimize.scipy_function(rosenbrock)
        assert function.fun(x) == pytest.approx(plain.fun(x), rel=1e-14)
        numpy.testing.assert_allclose(function.jac(x), plain.jac(x), rtol=1e-12, atol=1e-12)
        numpy.testing.assert_allclose(function.hess(x), plain.hess(x), rtol=1e-12, atol=1e-12)


def test_curve_fit_and_root_scalar_compile():
    times = numpy.linspace(0, 4, 30)
    fits = [
        adjoint.optimize.curve_fit(
            lambda t, a, b: a * numpy.exp(-b * t), times, numpy.exp(-1.3 * times), [2.0, 1.0], compile=flag
        )[0]
        for flag in (False, True)
    ]
    numpy.testing.assert_allclose(*fits, rtol=1e-10)
    root = adjoint.optimize.root_scalar(lambda x: x**3 - 2, x0=1.0, method="newton", compile=True).root
    assert root == pytest.approx(2 ** (1 / 3), rel=1e-12)


@pytest.mark.parametrize("method", ["RK45", "BDF", "Radau"])
@pytest.mark.parametrize("start", [[0.1, 0.5, 0.2], adjoint.tensor([0.1, 0.5, 0.2], dtype=adjoint.float64)])
def test_solve_ivp_compiles(method, start):
    def field(t, y):
        return 5 * y * (1 - y) + adjoint.sin(t) if isinstance(y, adjoint.Tensor) else 5 * y * (1 - y) + numpy.sin(t)

    plain, compiled = [
        adjoint.integrate.solve_ivp(field, (0, 2), start, method, dense_output=True, compile=flag) for flag in (0, 1)
    ]
    assert compiled.nfev == plain.nfev
    numpy.testing.assert_allclose(compiled.y, plain.y, rtol=1e-12)
    with pytest.raises(ValueError, match=r"solve_ivp\(\): expected shape \(3,\)"):
        adjoint.integrate.solve_ivp(lambda t, y: y[:2] * 1, (0, 1), start, method, compile=True)


@pytest.mark.parametrize("derivative", ["discrete", "adjoint"])
@pytest.mark.parametrize(("method", "options"), [("dopri5", {}), ("rk4", {"steps": 6}), ("taylor", {"rtol": 1e-5})])
def test_odeint_compiles(method, options, derivative):
    start = adjoint.tensor([0.1, 0.5], dtype=adjoint.float64, requires_grad=True)
    rate = adjoint.tensor(1.5, dtype=adjoint.float64, requires_grad=True)
    results = []
    for flag in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            y = adjoint.implicit.odeint(
                lambda t, y, rate: rate * y * (1 - y) + t.sin(), start, [0.0, 0.5, 1.0], rate,
                method=method, derivative=derivative, compile=flag, **options,
            )  # fmt: skip
        results.append([y.detach(), *adjoint.autograd.grad((y[-1] ** 2).sum(), [start, rate])])
    for plain, compiled in zip(*results, strict=True):
        numpy.testing.assert_allclose(compiled.numpy(), plain.numpy(), rtol=1e-10)


def test_implicit_functions_compile():
    a = adjoint.linspace(1, 2, 4, dtype=adjoint.float64).requires_grad_()
    one = adjoint.ones(4, dtype=adjoint.float64)
    implicit = adjoint.implicit
    solvers = (
        lambda flag: implicit.root(lambda x, a: x**3 + x.sin() - a, one, a, compile=flag),
        lambda flag: implicit.root(lambda x, a: x**3 + x.sin() - a, one, a, method="hybr", compile=flag),
        lambda flag: implicit.fixed_point(lambda x, a: (a * x).cos() / 2, one, a, compile=flag),
        lambda flag: implicit.minimize_stationary(lambda x, a: ((x - a) ** 4 + x**2).sum(), one, a, compile=flag),
    )
    for solve in solvers:
        results = []
        for flag in (False, True):
            x = solve(flag)
            (slope,) = adjoint.autograd.grad(x.sum(), a, create_graph=True)
            results.append([x.detach(), slope.detach(), *adjoint.autograd.grad(slope.sum(), a)])
        for plain, compiled in zip(*results, strict=True):
            numpy.testing.assert_allclose(compiled.numpy(), plain.numpy(), rtol=1e-9)


def test_an_input_may_depend_on_another():
    def function(x, y, z):
        return (x * y).sin() + z * x.exp() * factor

    factor = adjoint.tensor(2.0, dtype=adjoint.float64, requires_grad=True)

    compiled = adjoint.compile(function)
    results = []
    for each in (function, compiled, compiled, compiled):
        x = adjoint.tensor([0.5, 1.5], dtype=adjoint.float64, requires_grad=True)
        y = x**2 * factor
        z = (y * x).cos()
        slopes = adjoint.autograd.grad(each(x, y, z).sum(), [x, y, z, factor], create_graph=True)
        results.append([*slopes, *adjoint.autograd.grad(slopes[0].sum(), [x, factor])])
    assert compiled.n_recordings == 1
    for others in results[1:]:
        for ours, expected in zip(others, results[0], strict=True):
            numpy.testing.assert_allclose(ours.detach().numpy(), expected.detach().numpy(), rtol=1e-14)


def test_batches_of_cotangents():
    def function(x):
        return x**3 - 2 + 0.1 * x.sum(), x.sin()

    def pull_cotangents(each, positions):
        x = adjoint.tensor([1.0, 2.0, 3.0], dtype=adjoint.float64, requires_grad=True)
        results = [each(x)[k] for k in positions]
        return lambda *vs: adjoint.autograd.grad(results, x, vs, retain_graph=True)[0]

    def nest(pull, n):
        over = adjoint.func.vmap(lambda v: adjoint.func.vmap(lambda w: pull(*[v * w + v] * n))(directions))
        return over(directions)

    compiled = adjoint.compile(function)
    directions = adjoint.eye(3, dtype=adjoint.float64)
    for positions in ((0,), (1,), (0, 1)):
        expected, *actual = [pull_cotangents(each, positions) for each in (function, compiled, compiled)]
        for pull in actual:
            for way in (lambda f, n: adjoint.func.vmap(f)(*[directions] * n), nest):
                ours, theirs = way(pull, len(positions)), way(expected, len(positions))
                numpy.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-14)
    x = adjoint.tensor([1.0, 2.0, 3.0], dtype=adjoint.float64, requires_grad=True)
    for n in (0, 1, 3):
        y = compiled(x)[0]
        batch = adjoint.ones(n, 3, dtype=adjoint.float64)
        gradient = adjoint.autograd.grad(y, x, batch, is_grads_batched=True)[0]
        expected = adjoint.autograd.grad(function(x)[0], x, batch, is_grads_batched=True)[0]
        assert gradient.shape == expected.shape
        numpy.testing.assert_allclose(gradient.numpy(), expected.numpy(), rtol=1e-14)


def test_tangents_of_cotangents():
    from adjoint.autograd import forward_ad

    def function(x):
        return x**3

    compiled = adjoint.compile(function)
    for each in (compiled, compiled):
        x = adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = each(x)
        with forward_ad.dual_level():
            dual = forward_ad.make_dual(adjoint.ones(3), adjoint.tensor([1.0, 0.0, 2.0]))
            for again in (False, True):
                gradient = adjoint.autograd.grad(y, x, dual, retain_graph=True, create_graph=again)[0]
                assert forward_ad.unpack_dual(gradient).tangent.tolist() == [3.0, 0.0, 54.0]


def test_gradients_with_a_history_are_of_what_the_function_saw():
    scale, weight = [2.0], adjoint.tensor([3.0])
    compiled = adjoint.compile(lambda x: scale[0] * weight * x**3)
    for change in (None, lambda: scale.__setitem__(0, 5.0), lambda: weight.mul_(2)):
        compiled(adjoint.tensor([1.0], requires_grad=True))
        x = adjoint.tensor([1.0], requires_grad=True)
        y = compiled(x)
        expected = 3 * scale[0] * weight.item()
        if change is not None:
            change()
            with pytest.raises(RuntimeError, match="has changed since it was called"):
                adjoint.autograd.grad(y, x, create_graph=True)
        else:
            assert adjoint.autograd.grad(y, x, create_graph=True)[0].item() == expected


def test_functions_that_do_nothing_are_refused():
    compiled = adjoint.compile(lambda x: None)
    with pytest.raises(TypeError, match="<lambda> returns nothing and changes no tensor"):
        compiled(adjoint.ones(3))
    writing = adjoint.compile(lambda x: x.add_(1) and None)
    x = adjoint.zeros(1)
    assert [writing(x) for _ in range(3)] == [None] * 3
    assert x.item() == 3


def test_empty_batches_of_cotangents_have_the_dtype_of_the_input():
    def function(x, y):
        return x * 2, y * 3

    compiled = adjoint.compile(function)
    for each in (function, compiled, compiled):
        x, y = (adjoint.ones(3, dtype=adjoint.float32, requires_grad=True) for _ in range(2))
        batch = adjoint.ones(0, 3, dtype=adjoint.float32)
        first, second = adjoint.autograd.grad(each(x, y)[0], (x, y), batch, is_grads_batched=True, allow_unused=True)
        assert first.shape == (0, 3)
        assert first.dtype is adjoint.float32
        assert second is None


def test_a_function_that_is_always_differentiated_twice_runs_as_it_is() -> None:
    compiled = adjoint.compile(lambda x: (x * x).sin().sum())
    for number in range(10):
        x = adjoint.full((3,), 0.1 * number, requires_grad=True)
        (first,) = adjoint.autograd.grad(compiled(x), x, create_graph=True)
        first.sum().backward()
        expected = 2 * (x * x).cos() - 4 * x * x * (x * x).sin()
        assert adjoint.allclose(x.grad, expected.detach())
    (entry,) = compiled.entries
    replays = entry.n_replays
    compiled(x)
    assert entry.n_replays == replays < 9


def test_a_view_that_became_invalid_is_not_recorded() -> None:
    compiled = adjoint.compile(lambda x: (y := x * 2, y.unbind(1)[0], y.mul_(3))[1])
    x = adjoint.ones(2, 3, requires_grad=True)
    with pytest.warns(UserWarning, match="whose history an operation in place has made invalid"):
        results = [compiled(x), compiled(x)]
    for result in results:
        with pytest.raises(RuntimeError, match="is a view and its base or another view of its base"):
            result.sum()


def test_threads_that_call_for_the_first_time_make_one_recording():
    """While one thread records, the other threads run the function eagerly."""
    arrivals, departures = SimpleQueue(), SimpleQueue()

    def function(x):
        arrivals.put(None)
        departures.get(timeout=60)
        return x * 2

    compiled = adjoint.compile(function)
    with ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(compiled, adjoint.ones(3)) for _ in range(4)]
        for _ in calls:
            arrivals.get(timeout=60)
        for _ in calls:
            departures.put(None)
    assert [call.result().tolist() for call in calls] == [[2.0] * 3] * 4
    # the replay does not wait for the other threads
    assert compiled(adjoint.ones(3)).tolist() == [2.0] * 3
    assert compiled.n_recordings == 1 and not compiled.refused


def no_change(weight):
    """Another thread leaves the gradient unchanged."""


def backward_of_another(weight):
    (weight * weight).sum().backward()


def reset_by_another(weight):
    weight.grad = None


def deletion_by_another(weight):
    del weight.grad


def assignment_by_another(weight):
    weight.grad = adjoint.ones(3)


@pytest.mark.parametrize("before", [None, 1.0])
@pytest.mark.parametrize(
    "change", [no_change, backward_of_another, reset_by_another, deletion_by_another, assignment_by_another]
)
@pytest.mark.parametrize("fullgraph", [False, True])
def test_gradients_that_another_thread_sets_are_no_part_of_a_recording(before, change, fullgraph):
    arrivals, departures = SimpleQueue(), SimpleQueue()
    weight = adjoint.tensor([1.0, 2.0, 3.0], requires_grad=True)
    weight.grad = None if before is None else adjoint.full((3,), before)

    def function(x):
        product = x * weight
        arrivals.put(None)
        departures.get(timeout=60)
        return (product * weight).sum()

    compiled = adjoint.compile(function, fullgraph=fullgraph)
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(compiled, adjoint.ones(3))
        arrivals.get(timeout=60)
        change(weight)
        departures.put(None)
        call.result().backward()
    for _ in range(3):
        departures.put(None)
        weight.grad = None if before is None else adjoint.full((3,), before)
        compiled(adjoint.ones(3)).backward()
        assert weight.grad.tolist() == [2.0 + (before or 0), 4.0 + (before or 0), 6.0 + (before or 0)]
    assert compiled.n_recordings == 1 and not compiled.refused


VIEWS = {
    "overlapping": lambda x: x.unfold(0, 2, 1),
    "transposed": lambda x: x.permute(2, 0, 1),
    "steps": lambda x: x[:, ::2, ::3],
    "repeated": lambda x: x[:, :, None].expand(4, 3, 2, 5),
    "diagonal": lambda x: x.diagonal(0, 0, 1),
}
REDUCTIONS = {
    "all": lambda x: x.sum(),
    "last two": lambda x: x.sum((-2, -1)),
    "largest": lambda x: x.amax((-2, -1)),
    "variance": lambda x: x.var((-2, -1)),
    "spread": lambda x: x.std(),
}


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("view", VIEWS)
def test_reductions_of_views_whose_axes_are_no_one_axis(view, reduction):
    """Such reductions begin regions, forward and backward, also if only some of the results get cotangents."""
    compiled = adjoint.compile(function := lambda x: [VIEWS[view](x * 1), REDUCTIONS[reduction](VIEWS[view](x * 1))])
    for k in range(2):
        x = adjoint.randn(4, 3, 5, dtype=adjoint.float64, requires_grad=True)
        for axes in ([0], [1], [0, 1]):
            gradients = []
            for f in (function, compiled):
                results = [f(x)[number] for number in axes]
                cotangents = [(y.detach() + k).cos() for y in results]
                gradients.append(adjoint.autograd.grad(results, x, cotangents)[0])
            adjoint.testing.assert_close(*gradients)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3), (1, 0), (2, 0, 3)])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.sum(0).exp(),
        lambda x: (x * x).cumsum(0),
        lambda x: x.softmax(-1) * 2,
        lambda x: x.sort(-1, stable=True).values.sin(),
        lambda x: x[..., None].sin().flip(0),
        lambda x: x.reshape(-1).tanh() + 1,
        lambda x: x.kthvalue(1, 0, keepdim=True) if x.shape[0] else x.cos(),
        lambda x: x.var(-1).tanh() if x.shape[-1] > 1 else x.cumprod(-1),
    ],
)
def test_arguments_without_elements(function, shape):
    compiled = adjoint.compile(function)
    for _ in range(3):
        x, other = (adjoint.zeros(*shape, requires_grad=True) for _ in range(2))
        y, expected = (result if adjoint.is_tensor(result) else result[0] for result in (compiled(x), function(other)))
        assert y.shape == expected.shape and y.tolist() == expected.tolist()
        (slopes,) = adjoint.autograd.grad(y, x, adjoint.ones_like(y))
        assert slopes.shape == shape


class Negated(adjoint.autograd.Function):
    """Returns a view, with a gradient that differs from the view's."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -g


def with_hook(tensor, register):
    if tensor.requires_grad:
        register(tensor)
    return tensor


@pytest.mark.filterwarnings("ignore:adjoint.compile")
@pytest.mark.parametrize(
    "view_of",
    [
        Negated.apply,
        lambda y: Negated.apply(y)[0],
        lambda y: with_hook(y[0], lambda view: view.register_hook(lambda g: 5 * g)),
        lambda y: with_hook(y.mT, lambda view: view.register_hook(lambda g: 5 * g))[0],
        lambda y: with_hook(y[0], lambda view: view.grad_fn.register_prehook(lambda gs: (5 * gs[0],))),
        lambda y: with_hook(y[0], lambda view: view.grad_fn.register_hook(lambda gs, _: tuple(5 * g for g in gs))),
        lambda y: y[0],
    ],
)
def test_a_result_and_a_view_of_it_have_the_gradients_of_both(view_of):
    def function(x):
        y = x * 2
        return y, view_of(y)

    def gradients(f):
        x = adjoint.ones(2, 2, requires_grad=True)
        results = f(x)
        ways = [results, results[:1], results[1:]]
        return [adjoint.autograd.grad(y, x, list(map(adjoint.ones_like, y)), retain_graph=True)[0] for y in ways]

    expected = [slopes.tolist() for slopes in gradients(function)]
    compiled = adjoint.compile(function)
    for _ in range(3):
        assert [slopes.tolist() for slopes in gradients(compiled)] == expected


def test_gradients_that_the_call_knows_already():
    """The gradient of an overwritten value is 0 for every cotangent; the pass inside the function has computed it."""
    weight = adjoint.tensor([[0.5, -1.0], [2.0, 3.0]], requires_grad=True)

    def function(x):
        y = x * weight
        y.copy_(x)
        (y * y).sum().backward(retain_graph=True)
        return x.sin(), y

    compiled = adjoint.compile(function)
    for k in range(4):
        x = adjoint.full((2, 2), 1.0 + k, requires_grad=True)
        _, y = compiled(x)
        for _ in range(2):
            of_x, of_weight = adjoint.autograd.grad(y.sum(), (x, weight), retain_graph=True)
            assert of_x.tolist() == [[1.0, 1.0]] * 2
            assert of_weight.abs().tolist() == [[0.0, 0.0]] * 2
            # the next pass returns unchanged values
            of_weight += 7


def modify(view):
    """A view whose base was modified through a detached view. Its grad_fn may raise an error."""
    view.detach().mul_(-1.0)
    return view


LOST_HISTORIES = {
    "a view": lambda x: [modify(x.view(-1))],
    "a view of a view": lambda x: [modify(x.view(-1)[...])],
    "behind another result": lambda x: [x * 1.0, modify(x.t())],
    "beside its base": lambda x: [x, modify(x[0])],
}


@pytest.mark.parametrize("name", LOST_HISTORIES)
@pytest.mark.parametrize("mode", [adjoint.no_grad, adjoint.enable_grad])
def test_result_that_fails_only_where_it_is_used(name, mode):
    def outcome(call):
        x = adjoint.ones(2, 3, requires_grad=True) * 2.0
        with mode():
            results = call(x)
        uses = []
        for result in results:
            try:
                uses.append((result.grad_fn is None, result.is_leaf))
            except RuntimeError as error:
                uses.append(str(error))
        return [*uses, *[result.detach().tolist() for result in results]]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = adjoint.compile(LOST_HISTORIES[name])
        assert outcome(compiled) == outcome(compiled) == outcome(LOST_HISTORIES[name])


def test_first_call_keeps_what_the_function_keeps():
    n = 20
    x = adjoint.ones(1 << 16, dtype=adjoint.float64, requires_grad=True)

    def step():
        y = x
        for _ in range(n):
            y = (y * 0.5).tanh()
        (gradient,) = adjoint.autograd.grad(y.sum(), [x])
        return gradient

    compiled = adjoint.compile(step)
    tracemalloc.start()
    try:
        compiled()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # the function saves n results of tanh; a recording takes about ten arrays for each step of the loop
    assert peak < (n + 8) * x.nbytes


def test_large_arrays_that_share_memory():
    def function(x, b):
        y = (x * b).tanh()
        whole = adjoint.zeros_like(x)
        whole[::2] = y[::2] * y[1::2]
        whole.add_(y.flip(0))
        ones = adjoint.ones(x.shape, dtype=x.dtype).mul_(x)
        parts = [part.reshape(2, -1).t() for part in whole.split(x.shape[0] // 2)]
        return (whole * ones + ones).tanh(), parts[1] * 2, whole.reshape(-1, 4)[:, 1], adjoint.cat(parts).sort(0).values

    compiled = adjoint.compile(function)
    for seed in range(3):
        adjoint.manual_seed(seed)
        x, b = [adjoint.randn(1 << 15, dtype=adjoint.float64, requires_grad=True) for _ in range(2)]
        results, expected = compiled(x, b), function(x, b)
        gradients = [adjoint.autograd.grad(sum(r.sum() for r in rs), [x, b]) for rs in (results, expected)]
        for actual, other in zip((*results, *gradients[0]), (*expected, *gradients[1]), strict=True):
            assert (actual == other).all() and actual.stride() == other.stride()
    assert compiled.n_recordings == 1 and not compiled.refused


MODES_LEFT = {
    "grad mode": (lambda: adjoint.set_grad_enabled(False), lambda: adjoint.set_grad_enabled(True)),
    "default dtype": (
        lambda: adjoint.set_default_dtype(adjoint.float64),
        lambda: adjoint.set_default_dtype(adjoint.float32),
    ),
    "deterministic": (
        lambda: adjoint.use_deterministic_algorithms(True),
        lambda: adjoint.use_deterministic_algorithms(False),
    ),
}


@pytest.mark.parametrize("name", MODES_LEFT)
def test_function_that_leaves_another_mode_runs_as_it_is(name):
    leave, restore = MODES_LEFT[name]

    def outcome():
        return adjoint.is_grad_enabled(), adjoint.get_default_dtype(), adjoint.are_deterministic_algorithms_enabled()

    def function(x):
        y = x * 2
        leave()
        return y

    compiled = adjoint.compile(function)
    try:
        leave()
        left = outcome()
        for k in range(3):
            restore()
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                compiled(adjoint.ones(2))
            assert outcome() == left
            assert ["leaves a mode" in str(warning.message) for warning in caught] == [True] * (k == 0)
    finally:
        restore()


@pytest.mark.parametrize("in_place", [False, True])
def test_index_put_is_recorded_as_a_whole(in_place):
    def function(x, rows, columns):
        y = adjoint.zeros(3, 3, dtype=x.dtype)
        places = (rows, columns)
        y = y.index_put_(places, x * 2, accumulate=True) if in_place else y.index_put(places, x * 2, accumulate=True)
        return y.square().sum()

    compiled = adjoint.compile(function, fullgraph=True)
    for _ in range(3):
        rows, columns = adjoint.randint(0, 3, (4,)), adjoint.randint(0, 3, (4,))
        x = adjoint.randn(4, dtype=adjoint.float64, requires_grad=True)
        result, expected = compiled(x, rows, columns), function(x, rows, columns)
        assert result == expected
        assert (adjoint.autograd.grad(result, x)[0] == adjoint.autograd.grad(expected, x)[0]).all()


def test_options_of_torch_compile():
    x = adjoint.ones(2)
    for options in ({"mode": "reduce-overhead"}, {"backend": "eager"}, {"options": {"a": 1}}, {"dynamic": True}):
        assert adjoint.compile(lambda x: x * 2, **options)(x).tolist() == [2, 2]
        assert adjoint.compile(**options)(lambda x: x * 2)(x).tolist() == [2, 2]
    assert adjoint.compile(adjoint.sin, disable=True) is adjoint.sin
    inner = adjoint.compile(lambda x: x * 2 if adjoint.compiler.is_compiling() else x * 3)
    plain = adjoint.compiler.disable(lambda x: inner(x), reason="all of it runs eagerly")
    alone = adjoint.compiler.disable(recursive=False)(lambda x: inner(x))
    assert [plain(adjoint.ones(1)).item(), alone(adjoint.ones(1)).item()] == [3, 2]
    with pytest.raises(RuntimeError, match="Unrecognized mode=fast, should be one of: default, lite"):
        adjoint.compile(adjoint.sin, mode="fast")
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        adjoint.compile(adjoint.sin, mode="default", options={})
    with pytest.raises(TypeError, match=r"a function would get graphs of torch\.fx"):
        adjoint.compile(adjoint.sin, backend=lambda graph, inputs: graph)


def test_a_function_that_sees_a_compiled_one_does_not_see_its_recordings():
    inner = adjoint.compile(lambda x: x * 2)
    outer = adjoint.compile(lambda x: inner(x) + 1)
    for n in range(1, 4):
        inner(adjoint.ones(n))
        assert outer(adjoint.ones(2)).tolist() == [3, 3]
    assert outer.n_recordings == 1 and inner.n_recordings == 3


#: Functions of arrays so large that a recording has outlines of them.
OF_LARGE_ARRAYS = {
    "cotangents added in place": lambda x: (x.sin() ** 2).sum() + ((x[1:] - x[:-1]) ** 2).sum(),
    "a number of a result": lambda x: (x.sin() * x.cos()[0, 1].item()).sum(),
    "a contraction": lambda x: adjoint.einsum("ij,jk,kl->il", x.sin(), x, x.cos()).sum(),
    "a contraction of results": lambda x: adjoint.einsum("ij,ij->i", x.sin(), x.cos()).sum(),
    "a branch": lambda x: (x.exp() * (2 if bool((x.tanh() > 0.5).any()) else 3)).sum(),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_LARGE_ARRAYS)
def test_large_arrays(name: str) -> None:
    def values(function, array):
        x = adjoint.tensor(array, requires_grad=True)
        result = function(x)
        result.backward()
        return [result.item(), x.grad.numpy()]

    function = OF_LARGE_ARRAYS[name]
    compiled = adjoint.compile(function)
    for seed in range(4):
        array = numpy.random.default_rng(seed).uniform(-0.7, 0.3 * seed, (100, 100))
        for expected, actual in zip(values(function, array), values(compiled, array), strict=True):
            numpy.testing.assert_allclose(actual, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("module", ["BatchNorm2d", "GroupNorm", "InstanceNorm2d", "LayerNorm"])
def test_parameters_of_norms_whose_gradients_share_memory(module: str) -> None:
    arguments = {"GroupNorm": (2, 4), "LayerNorm": ([4, 4, 4],)}.get(module, (4,))
    keywords = {"affine": True} if module == "InstanceNorm2d" else {}
    norms = [getattr(adjoint.nn, module)(*arguments, **keywords).double() for _ in range(2)]
    adjoint.manual_seed(0)
    x = adjoint.randn(2, 4, 4, 4, dtype=adjoint.float64, requires_grad=True)

    def step(norm):
        norm.zero_grad()
        (norm(x) + x).relu().mean().backward()

    compiled = adjoint.compile(step)
    for _ in range(4):
        step(norms[0])
        compiled(norms[1])
        for expected, actual in zip(norms[0].parameters(), norms[1].parameters(), strict=True):
            assert adjoint.equal(expected.grad, actual.grad)
        for expected, actual in zip(norms[0].buffers(), norms[1].buffers(), strict=True):
            assert adjoint.equal(expected, actual)


OPTIMIZERS = {
    "SGD": {"momentum": 0.9}, "Adam": {}, "AdamW": {"weight_decay": 0.1}, "Adamax": {}, "NAdam": {}, "RAdam": {},
    "RMSprop": {"momentum": 0.5}, "Adagrad": {"lr_decay": 0.1}, "Adadelta": {}, "ASGD": {}, "Rprop": {},
}  # fmt: skip


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_of_optimizers_are_recorded(name: str) -> None:
    # the first step makes the optimizer's state, and each step changes its numbers
    def training():
        adjoint.manual_seed(3)
        model = adjoint.nn.Sequential(adjoint.nn.Linear(3, 4), adjoint.nn.Tanh(), adjoint.nn.Linear(4, 1)).double()
        optimizer = getattr(adjoint.optim, name)(model.parameters(), lr=0.05, **OPTIMIZERS[name])

        def step(x):
            optimizer.zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss

        return model, optimizer, step

    (model, optimizer, step), (other, other_optimizer, other_step) = training(), training()
    compiled = adjoint.compile(other_step)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(12):
            x = adjoint.linspace(-1, 1 + k, 15, dtype=adjoint.float64).reshape(5, 3)
            assert step(x).item() == pytest.approx(compiled(x).item(), rel=1e-12)
    for expected, actual in zip(model.parameters(), other.parameters(), strict=True):
        assert adjoint.allclose(expected, actual, rtol=1e-10, atol=1e-12) and expected._version == actual._version
    states = [each.state_dict()["state"] for each in (optimizer, other_optimizer)]
    for key, expected in states[0].items():
        for entry, value in expected.items():
            assert adjoint.allclose(value, states[1][key][entry], rtol=1e-10, atol=1e-12), entry
    assert compiled.n_recordings <= 3 and compiled.entries[0].n_replays >= 4


def test_a_function_that_appends_at_each_call_runs_as_it_is() -> None:
    values = []

    def function(x):
        values.append(1)
        return x.sin().sum()

    compiled = adjoint.compile(function)
    x = adjoint.ones(3)
    assert compiled(x) == compiled(x)
    with pytest.warns(UserWarning, match="runs as it is, without a recording: it changed the length of a list"):
        compiled(x)
    assert compiled(x) == compiled(x)
    assert len(values) == 5


def test_learning_rates_of_compiled_steps() -> None:
    # a Tensor is read at each call, but the value of a number is part of the recording
    weights = [adjoint.ones(3, dtype=adjoint.float64, requires_grad=True) for _ in range(2)]
    for is_tensor in (True, False):
        rates = [adjoint.tensor(0.5) if is_tensor else 0.5 for _ in weights]
        optimizers = [adjoint.optim.Adam([w], lr=rate) for w, rate in zip(weights, rates, strict=True)]

        def step(k, optimizers=optimizers):
            optimizers[k].zero_grad()
            weights[k].square().sum().backward()
            optimizers[k].step()

        compiled = adjoint.compile(step)
        for n in range(6):
            step(0)
            compiled(1)
            for k, optimizer in enumerate(optimizers):
                if is_tensor:
                    rates[k].fill_(0.5 / (n + 1))
                else:
                    optimizer.param_groups[0]["lr"] = 0.5 / (n + 1)
            assert adjoint.equal(*weights)


def test_optimizers_of_compiled_steps_are_released() -> None:
    w = adjoint.ones(3, requires_grad=True)
    optimizer = adjoint.optim.Adam([w])

    def step(optimizer=optimizer):
        optimizer.zero_grad()
        w.square().sum().backward()
        optimizer.step()

    compiled = adjoint.compile(step)
    for _ in range(5):
        compiled()
    assert compiled.entries[0].n_replays
    reference = weakref.ref(optimizer)
    del compiled, step, optimizer
    gc.collect()
    assert reference() is None


OF_ONE_OPERAND = [
    "abs", "atan", "ceil", "cos", "exp", "expm1", "floor", "frac", "isfinite", "isinf", "isnan", "log1p", "logical_not",
    "neg", "positive", "reciprocal", "relu", "round", "rsqrt", "sgn", "sigmoid", "sign", "signbit", "sin", "sqrt",
    "square", "tanh", "trunc",
]  # fmt: skip


@pytest.mark.parametrize("name", OF_ONE_OPERAND)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_short_rows_of_wide_arrays(name: str, dtype: str) -> None:
    """Loops of such arrays run along columns. NumPy 2.4's `negative` is wrong for strides of 16 or 64 bytes."""
    function = getattr(adjoint, name)

    def step(x: adjoint.Tensor) -> adjoint.Tensor:
        return 2 * function(x[:, :2]) + x[:, -2:]

    compiled = adjoint.compile(step)
    for width in (2, 3, 4, 6, 8, 16):
        for seed in range(3):
            x = adjoint.tensor(numpy.random.default_rng(seed).uniform(0.1, 0.9, (40, width)).astype(dtype))
            x.requires_grad_()
            expected, y = step(x), compiled(x)
            adjoint.testing.assert_close(y, expected)
            gradients = [adjoint.autograd.grad(each.square().sum(), x)[0] for each in (expected, y)]
            adjoint.testing.assert_close(gradients[1], gradients[0])


@pytest.mark.parametrize("name", ["isfinite", "isnan", "isinf", "signbit"])
def test_predicates_of_transposed_arrays(name: str) -> None:
    function = getattr(adjoint, name)
    compiled = adjoint.compile(lambda x: adjoint.where(function(x * 2), x, 1 - x))
    for seed in range(4):
        x = adjoint.tensor(numpy.random.default_rng(seed).uniform(-1, 1, (40, 33))).T.requires_grad_()
        y = compiled(x)
        y.sum().backward()
        result = function(x.detach() * 2)
        assert adjoint.equal(x.grad, adjoint.where(result, 1.0, -1.0).double())
        assert adjoint.equal(y, adjoint.where(result, x, 1 - x))
    nan_to_num = adjoint.compile(adjoint.nan_to_num)
    for _ in range(4):
        x = adjoint.rand(40, 33, dtype=adjoint.float64).T.requires_grad_()
        nan_to_num(x).sum().backward()
        assert (x.grad == 1).all()
