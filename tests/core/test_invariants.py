"""The invariants of core/README.md, under its numbers. They hold for the compiled form and for the plain one."""

import asyncio
import gc
import re
import sys
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

import adjoint
from adjoint.runtime import threads as helpers


def leaf(*values, dtype=adjoint.float64):
    return adjoint.tensor(values, dtype=dtype, requires_grad=True)


def assert_same(actual, expected):
    np.testing.assert_allclose(actual.detach().numpy(), np.asarray(expected), rtol=1e-10, atol=1e-12)


# 1. no reference cycles ----------------------------------------------------------------------------------------------


def graph_saved_input(x):
    return [x * x]


def graph_saved_result(x):
    return [x.exp(), x.tanh().sum()]


def graph_several_results(x):
    values, indices = x.sort()
    return [values, indices, *x.topk(2)]


def graph_several_saved_results(x):
    return list(adjoint.linalg.eigh(x.reshape(1, -1) * x.reshape(-1, 1)))


def graph_sequence(x):
    return [adjoint.cat([x, x * 2]), adjoint.einsum("i,i->i", x * 2, x)]


def graph_views(x):
    y = x * 1
    return [y, y[0], y[1:][0], *y.unbind(0)]


def graph_in_place(x):
    y = x * 1
    y.exp_()
    y.mul_(y)
    y.add_(x)
    return [y]


def graph_copy_slices(x):
    y = x * 1
    v = y[0]
    v.exp_()
    y[1] = x[0] * x[1]
    y[1:].mul_(x[1:])
    return [y, v, v.grad_fn, y.grad_fn]


def graph_retain_grad(x):
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    return [y, y.grad]


def graph_hooks(x):
    y = x * 2
    x.register_hook(abs)
    y.register_hook(abs)
    x.register_post_accumulate_grad_hook(lambda t: None)
    z = (y * y).sum()
    z.backward(retain_graph=True)
    return [y, z]


def graph_node_hooks(x):
    y = x * 2
    y.grad_fn.register_hook(lambda pulled, received: None)
    y.grad_fn.register_prehook(lambda received: None)
    y.grad_fn.metadata["note"] = "kept with the node"
    y.sum().backward()
    return [y]


def graph_backward(x):
    y = x.exp() * x
    y.sum().backward()
    return [y]


def graph_backward_retained(x):
    y = x.exp() * x
    y.sum().backward(retain_graph=True)
    return [y]


def graph_higher_order(x):
    y = (x.exp() * x).sum()
    (first,) = adjoint.autograd.grad(y, x, create_graph=True)
    (second,) = adjoint.autograd.grad(first.sum(), x, create_graph=True)
    return [y, first, second]


def graph_in_place_higher_order(x):
    y = x * 1
    y[0].exp_()
    (first,) = adjoint.autograd.grad(y.sum(), x, create_graph=True)
    return [y, first]


def graph_failed_backward(x):
    def fail(g):
        raise KeyError("on purpose")

    y = x.exp()
    y.register_hook(fail)
    with pytest.raises(KeyError):
        (y * y).sum().backward()
    return [y]


def graph_reentrant(x):
    y = x.exp() * x
    z = y.detach().requires_grad_()

    def again(g):
        with adjoint.enable_grad():
            (z * z).sum().backward()

    x.register_hook(again)
    y.sum().backward()
    return [y, z]


GRAPHS = [value for name, value in sorted(globals().items()) if name.startswith("graph_")]


@pytest.mark.quick(6)
@pytest.mark.parametrize("build", GRAPHS, ids=lambda build: build.__name__.removeprefix("graph_"))
def test_graphs_die_with_their_last_reference(build):
    def alive():
        x = leaf(1.0, 2.0, 3.0)
        results = [x, *build(x)]
        nodes = [value.grad_fn for value in results if isinstance(value, adjoint.Tensor)]
        accumulators = [x.grad_fn or (x * 2).grad_fn.next_functions[0][0]]
        return [weakref.ref(value) for value in [*results, *nodes, *accumulators] if value is not None]

    build(leaf(1.0, 2.0, 3.0))  # the first use of an operation may fill caches
    gc.collect()
    gc.disable()
    try:
        references = alive()
        survivors = [reference() for reference in references if reference() is not None]
    finally:
        gc.enable()
    assert len(references) >= 3
    assert survivors == []


def test_saved_result_outlives_its_tensor():
    x = leaf(0.5, 1.0)
    y = x.exp()
    z = y.sum()
    reference = weakref.ref(y)
    del y
    assert reference() is None
    z.backward()
    assert_same(x.grad, np.exp([0.5, 1.0]))


def test_backward_frees_saved_values():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = y * y
    array = weakref.ref(y)
    del y
    assert array() is not None, "the saved input lives in the graph"
    z.sum().backward()
    assert array() is None


# 2. versions ---------------------------------------------------------------------------------------------------------


def saved_input(x):
    y = x * 1
    return y * y, lambda: y.add_(1)


def saved_result(x):
    y = x.exp()
    return y * 1, lambda: y.add_(1)


def saved_result_of_in_place(x):
    y = x * 1
    y.exp_()
    return y * 1, lambda: y.add_(1)


def saved_several_results(x):
    values, vectors = adjoint.linalg.eigh(x.reshape(-1, 1) * x.reshape(1, -1) + adjoint.eye(3, dtype=x.dtype))
    return values, lambda: vectors.mul_(2)


def saved_constant(x):
    c = adjoint.tensor([3.0, 4.0, 5.0], dtype=x.dtype)
    return x * c, lambda: c.add_(1)


def saved_sequence_member(x):
    y = x * 1
    return adjoint.einsum("i,i->i", y, x), lambda: y.add_(1)


def modified_through_view(x):
    y = x * 1
    v = y[0]
    return y * y, lambda: v.add_(1)


def modified_through_view_of_view(x):
    y = x * 1
    return y * y, lambda: y[1:][0].add_(1)


def modified_through_setitem(x):
    y = x * 1

    def change():
        y[0] = 5.0

    return y * y, change


def saved_view_modified_through_base(x):
    y = x * 1
    v = y[1:]
    return v * v, lambda: y.add_(1)


def saved_view_modified_through_sibling(x):
    y = x * 1
    v = y[1:]
    return v * v, lambda: y[0].add_(1)


def modified_through_detach(x):
    y = x * 1
    return y * y, lambda: y.detach().add_(1)


def modified_result_through_detach(x):
    y = x.exp()
    return y * 1, lambda: y.detach().zero_()


def modified_under_no_grad(x):
    y = x * 1
    z = y * y

    def change():
        with adjoint.no_grad():
            y.add_(1)

    return z, change


def modified_leaf_under_no_grad(x):
    def change():
        with adjoint.no_grad():
            x.add_(1)

    return x * x, change


def modified_by_out(x):
    c = adjoint.tensor([3.0, 4.0, 5.0], dtype=x.dtype)
    return x * c, lambda: adjoint.sin(adjoint.ones(3, dtype=x.dtype), out=c)


def modified_from_overlapping_source(x):
    y = x * 1
    return y * y, lambda: y[::2].copy_(y[:2])


SAVED = [saved_input, saved_result, saved_result_of_in_place, saved_several_results, saved_constant,
         saved_sequence_member, modified_through_view, modified_through_view_of_view, modified_through_setitem,
         saved_view_modified_through_base, saved_view_modified_through_sibling, modified_through_detach,
         modified_result_through_detach, modified_under_no_grad, modified_leaf_under_no_grad, modified_by_out,
         modified_from_overlapping_source]  # fmt: skip


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("build", SAVED, ids=lambda build: build.__name__)
def test_overwritten_saved_value_is_found(build, create_graph):
    x = leaf(1.0, 2.0, 3.0)
    z, _ = build(x)
    (g,) = adjoint.autograd.grad(z.sum(), x, create_graph=create_graph)
    assert np.isfinite(g.detach().numpy()).all()

    z, change = build(x)
    change()
    with pytest.raises(RuntimeError, match=r"modified by an inplace operation.* expected version"):
        adjoint.autograd.grad(z.sum(), x, create_graph=create_graph)


def test_message_names_tensor_and_versions():
    x = leaf(1.0, 2.0)
    y = x + 1
    z = (y * y).sum()
    y.add_(1)
    y.add_(1)
    wording = (
        r"one of the variables needed for gradient computation has been modified by an inplace operation: "
        r"\[adjoint.DoubleTensor \[2\]\], which is output 0 of Add, is at version 2; expected version 0 instead. "
        r"Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
        r"adjoint.autograd.set_detect_anomaly\(True, check_nan=False\)."
    )
    with pytest.raises(RuntimeError, match=wording):
        z.backward()
    assert x.grad is None


def test_modification_of_what_was_not_saved_is_harmless():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = (y + 1).sum()
    y.mul_(10)
    z.backward()
    assert_same(x.grad, [2.0, 2.0])


def test_modified_before_saved_is_harmless():
    x = leaf(1.0, 2.0)
    y = x * 1
    y.add_(1)
    assert y._version == 1
    (y * y).sum().backward()
    assert_same(x.grad, [4.0, 6.0])


def test_tensors_in_place_twice_the_same():
    # torch overwrites the saved factor; adjoint keeps the value before the operation
    x = leaf(1.0, 2.0)
    y = x * 1
    y.mul_(y)
    y.sum().backward()
    assert_same(x.grad, [2.0, 4.0])


SHARE = [lambda y: y[0], lambda y: y.detach(), lambda y: y[0].detach(), lambda y: y.reshape(2, 1)]


@pytest.mark.parametrize("share", SHARE, ids=["view", "detach", "detached view", "reshape"])
def test_versions_are_shared(share):
    y = leaf(1.0, 2.0) * 1
    other = share(y)
    other.mul_(2)
    assert (y._version, other._version) == (1, 1)
    y.mul_(2)
    assert (y._version, other._version) == (2, 2)


def test_overlapping_source_is_read_before_it_is_overwritten():
    y = adjoint.tensor([1.0, 2.0, 3.0, 4.0])
    y[::2].copy_(y[:2])
    assert y.tolist() == [1.0, 2.0, 2.0, 4.0]
    y[::3].add_(y[:2])
    assert y.tolist() == [2.0, 2.0, 2.0, 6.0]


def test_detach_in_place_after_saving_keeps_the_recorded_history():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = (y * y * y).sum()
    y.detach_()
    (g,) = adjoint.autograd.grad(z, x, create_graph=True)
    assert_same(g, [24.0, 96.0])
    (h,) = adjoint.autograd.grad(g.sum(), x)
    assert_same(h, [48.0, 96.0])


# 3. depth ------------------------------------------------------------------------------------------------------------

#: Steps of plain Python take ten times as long.
DEPTH = 1_000_000 if helpers.compiled else 100_000


@pytest.mark.quick(0)
def test_long_chain_builds_runs_and_is_freed():
    x = leaf(1.0)
    y = x
    start = time.perf_counter()
    for _ in range(DEPTH):
        y = y * 1.0
    y.sum().backward()
    assert_same(x.grad, [1.0])
    del y
    assert time.perf_counter() - start < 120


# From version 3.13 on, Python itself nests deallocations, up to a limit for stacks of some megabytes.
SMALL_STACK = 256 * 1024 if sys.version_info < (3, 13) else 2 * 1024 * 1024


def on_small_stack(function, size=SMALL_STACK):
    """Run a function in a thread whose stack is too small for recursion over a graph."""
    failures = []

    def run():
        try:
            function()
        except BaseException as error:
            failures.append(error)

    before = threading.stack_size(size)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if failures:
        raise failures[0]


def step_in_place(y):
    y.mul_(1.0)
    return y


def step_view_in_place(y):
    y[0].mul_(1.0)
    return y


def step_view_then_copy(y):
    return y.clone()[0:1]


STEPS = {
    "nothing saved": lambda y: -y,
    "input saved": lambda y: y.sin(),
    "input saved twice": lambda y: y * y,
    "result saved": lambda y: y.tanh(),
    "view": lambda y: y.reshape(1),
    "view of a copy": step_view_then_copy,
    "sequence": lambda y: adjoint.cat([y, y])[0:1],
    "saved sequence": lambda y: adjoint.einsum("i,i->i", y, y),
    "several outputs": lambda y: (y.reshape(1, 1) * 1).unbind(0)[0],
    "several saved outputs": lambda y: y.sort()[0],
    "in place": step_in_place,
    "in place on a view": step_view_in_place,
}


@pytest.mark.quick(2)
@pytest.mark.parametrize("way", STEPS)
def test_no_recursion_over_the_graph(way):
    step = STEPS[way]

    def chain():
        x = leaf(0.5)
        y = x * 1
        for _ in range(20_000):
            y = step(y)
        y.sum().backward(retain_graph=True)
        assert np.isfinite(x.grad.numpy()).all()
        del y

    on_small_stack(chain)


@pytest.mark.quick(0)
def test_no_recursion_in_partial_and_recorded_passes():
    def chain():
        x = leaf(0.5)
        y = x * 1
        middle = y
        for i in range(20_000):
            y = y.sin()
            if i == 10_000:
                middle = y
        first, inner = adjoint.autograd.grad(y.sum(), [x, middle], create_graph=True)
        assert first.requires_grad and inner.requires_grad
        (second,) = adjoint.autograd.grad(first.sum(), x)
        assert np.isfinite(second.numpy()).all()

    on_small_stack(chain)


def test_failed_pass_over_a_long_chain_is_cleaned_up_without_recursion():
    def chain():
        x = leaf(0.5)
        y = x * 1
        y.register_hook(lambda g: 1 / 0)
        for _ in range(20_000):
            y = y.sin()
        with pytest.raises(ZeroDivisionError):
            y.sum().backward()

    on_small_stack(chain)


# 4. no locks while user code runs ------------------------------------------------------------------------------------


def test_hook_runs_backward_on_another_graph():
    x, w = leaf(1.0, 2.0), leaf(3.0)
    inner = []

    def hook(g):
        with adjoint.enable_grad():
            (w * w * g.sum()).sum().backward()
        inner.append(w.grad.item())

    y = x * 2
    y.register_hook(hook)
    (y * y).sum().backward()
    assert_same(x.grad, [8.0, 16.0])
    assert inner == [2 * 3 * 12.0]


def test_hook_runs_backward_on_the_same_graph():
    x = leaf(1.0, 2.0)
    y = x * x
    z = (y * x).sum()
    depth, results = [0], []

    def hook(g):
        if depth[0] < 3:
            depth[0] += 1
            results.append(adjoint.autograd.grad(z, x, retain_graph=True)[0].tolist())

    y.register_hook(hook)
    (outer,) = adjoint.autograd.grad(z, x, retain_graph=True)
    assert_same(outer, [3.0, 12.0])
    assert results == [[3.0, 12.0]] * 3
    z.backward()
    assert_same(x.grad, [3.0, 12.0])


def test_leaf_hook_runs_backward_on_the_same_graph_with_pending_sums():
    # the inner pass runs while the outer pass holds part of the sums of this graph
    x, w = leaf(1.0, 2.0), leaf(0.5, 0.25)
    y = x * w
    z = (y + (y * w).tanh() + x.sin() * y).sum()
    expected = [g.tolist() for g in adjoint.autograd.grad(z, [x, w], retain_graph=True)]
    depth, results = [0], []

    def hook(g):
        if depth[0] < 2:
            depth[0] += 1
            results.append([g.tolist() for g in adjoint.autograd.grad(z, [x, w], retain_graph=True)])
            depth[0] -= 1

    for tensor in (x, w, y):
        tensor.register_hook(hook)
    outer = [g.tolist() for g in adjoint.autograd.grad(z, [x, w], retain_graph=True)]
    assert outer == expected
    assert len(results) == 3 + 9
    assert all(gradients == expected for gradients in results)


def in_threads(function, n=4):
    failures = []
    barrier = threading.Barrier(n)

    def run(i):
        try:
            barrier.wait(timeout=60)
            function(i)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
    finally:
        sys.setswitchinterval(interval)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if failures:
        raise failures[0]


def test_threads_share_a_retained_graph():
    x = leaf(*np.linspace(0.1, 1.0, 5))
    y = x
    for _ in range(20):
        y = (y * x).sin() + y * 0.5
    z = y.sum()
    (expected,) = adjoint.autograd.grad(z, x, retain_graph=True)
    seeds = [adjoint.tensor(float(i + 1), dtype=adjoint.float64) for i in range(4)]

    def work(i):
        for _ in range(40):
            (g,) = adjoint.autograd.grad(z, x, seeds[i], retain_graph=True)
            np.testing.assert_allclose(g.numpy(), (i + 1) * expected.numpy(), rtol=1e-12)

    in_threads(work)


@pytest.mark.parametrize("size", [3, 200_000])
def test_threads_accumulate_into_one_leaf(size):
    # NumPy releases the interpreter's lock while it adds large arrays
    x = adjoint.ones(size, dtype=adjoint.float64, requires_grad=True)
    z = (x * 3).sum()

    def work(i):
        for _ in range(20):
            z.backward(retain_graph=True)

    in_threads(work)
    assert (x.grad.numpy() == 3 * 4 * 20).all()


def test_threads_build_and_run_graphs_of_their_own_on_a_shared_leaf():
    x = leaf(1.0, 2.0)

    def work(i):
        for _ in range(40):
            (x * x * float(i)).sum().backward()

    in_threads(work)
    assert_same(x.grad, [2.0 * 40 * 6, 4.0 * 40 * 6])


def test_hook_may_wait_for_another_thread_that_runs_backward():
    x = leaf(1.0, 2.0)
    z = (x * x).sum()
    results = []

    def hook(g):
        if threading.current_thread() is main:
            thread = threading.Thread(target=lambda: results.append(adjoint.autograd.grad(z, x, retain_graph=True)[0]))
            thread.start()
            thread.join(timeout=30)

    main = threading.current_thread()
    x.register_hook(hook)
    z.backward(retain_graph=True)
    assert [g.tolist() for g in results] == [[2.0, 4.0]]
    assert_same(x.grad, [2.0, 4.0])


# 5. modes are per thread and restored --------------------------------------------------------------------------------

MODES = {
    "no_grad": (adjoint.no_grad, True, False),
    "enable_grad": (adjoint.enable_grad, False, True),
    "set_grad_enabled(False)": (lambda: adjoint.set_grad_enabled(False), True, False),
    "set_grad_enabled(True)": (lambda: adjoint.set_grad_enabled(True), False, True),
}
modes = pytest.mark.parametrize(("mode", "outside", "value_inside"), MODES.values(), ids=MODES)


@pytest.fixture(autouse=True)
def recording_is_on_afterwards():
    yield
    left_on = adjoint.is_grad_enabled()
    adjoint.set_grad_enabled(True)
    assert left_on, "the test left recording switched off"


@pytest.fixture
def outer(outside):
    with adjoint.set_grad_enabled(outside):
        yield
        assert adjoint.is_grad_enabled() is outside


@modes
def test_mode_in_a_block(mode, value_inside, outside, outer):
    with mode():
        assert adjoint.is_grad_enabled() is value_inside
        assert (leaf(1.0) * 2).requires_grad is value_inside
    assert adjoint.is_grad_enabled() is outside
    with pytest.raises(KeyError), mode():
        raise KeyError
    assert adjoint.is_grad_enabled() is outside


@modes
def test_mode_of_a_function(mode, value_inside, outside, outer):
    @mode()
    def function(fail=False):
        """Documented."""
        if fail:
            raise KeyError
        return adjoint.is_grad_enabled()

    assert function.__doc__ == "Documented."
    assert adjoint.is_grad_enabled() is outside
    assert function() is value_inside
    assert adjoint.is_grad_enabled() is outside
    with pytest.raises(KeyError):
        function(fail=True)
    assert adjoint.is_grad_enabled() is outside


@modes
def test_mode_of_a_recursive_function(mode, value_inside, outside, outer):
    @mode()
    def countdown(n):
        return [adjoint.is_grad_enabled()] + (countdown(n - 1) if n else [])

    assert countdown(3) == [value_inside] * 4
    assert adjoint.is_grad_enabled() is outside


@pytest.mark.parametrize("mode", [adjoint.no_grad, adjoint.enable_grad, adjoint.inference_mode])
def test_decorating_a_class_with_a_mode_is_warned_of(mode):
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @mode()
        class Decorated:
            pass

    assert isinstance(Decorated(), object)


@modes
def test_mode_of_a_generator(mode, value_inside, outside, outer):
    closed = []

    @mode()
    def generator():
        try:
            while True:
                try:
                    message = yield adjoint.is_grad_enabled()
                except KeyError:
                    message = "thrown"
                if message == "stop":
                    return adjoint.is_grad_enabled()
        finally:
            closed.append(adjoint.is_grad_enabled())

    steps = generator()
    assert next(steps) is value_inside
    assert adjoint.is_grad_enabled() is outside
    assert steps.send("more") is value_inside
    assert steps.throw(KeyError()) is value_inside
    assert adjoint.is_grad_enabled() is outside
    with pytest.raises(StopIteration) as stop:
        steps.send("stop")
    assert stop.value.value is value_inside
    assert adjoint.is_grad_enabled() is outside

    steps = generator()
    next(steps)
    steps.close()
    steps = generator()
    next(steps)
    with pytest.raises(ZeroDivisionError):
        steps.throw(ZeroDivisionError())
    assert adjoint.is_grad_enabled() is outside
    assert closed == [value_inside] * 3


@modes
def test_mode_of_coroutines_that_take_turns(mode, value_inside, outside, outer):
    flags = []

    async def undecorated(n):
        for _ in range(n):
            await asyncio.sleep(0)
            flags.append(adjoint.is_grad_enabled())

    @mode()
    async def decorated(n, fail=False):
        states = []
        for _ in range(n):
            await asyncio.sleep(0)
            states.append(adjoint.is_grad_enabled())
        if fail:
            raise KeyError
        return states

    async def main():
        turns = decorated(2), undecorated(6), decorated(5), decorated(3, True)
        return await asyncio.gather(*turns, return_exceptions=True)

    first, _, third, failed = asyncio.run(main())
    assert first == [value_inside] * 2 and third == [value_inside] * 5
    assert isinstance(failed, KeyError)
    assert flags == [outside] * 6
    assert adjoint.is_grad_enabled() is outside


def test_cancelled_coroutine_restores_the_mode():
    @adjoint.no_grad()
    async def sleeper():
        await asyncio.sleep(60)

    async def main():
        task = asyncio.create_task(sleeper())
        await asyncio.sleep(0)
        assert adjoint.is_grad_enabled()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert adjoint.is_grad_enabled()

    asyncio.run(main())


def test_no_grad_without_parentheses():
    @adjoint.no_grad
    def function():
        return adjoint.is_grad_enabled()

    assert function() is False


def test_set_grad_enabled_takes_effect_at_once():
    adjoint.set_grad_enabled(False)
    assert not adjoint.is_grad_enabled()
    adjoint.set_grad_enabled(True)
    assert adjoint.is_grad_enabled()


def test_one_context_manager_used_again_and_inside_itself():
    mode = adjoint.no_grad()
    for _ in range(2):
        with mode:
            with mode:
                assert not adjoint.is_grad_enabled()
            assert not adjoint.is_grad_enabled()
        assert adjoint.is_grad_enabled()


def test_modes_belong_to_their_thread():
    flags = []
    with adjoint.no_grad():
        thread = threading.Thread(target=lambda: flags.append(adjoint.is_grad_enabled()))
        thread.start()
        thread.join()
        assert not adjoint.is_grad_enabled()
    assert flags == [True]


@pytest.mark.parametrize("create_graph", [False, True])
def test_hooks_run_in_the_mode_of_the_pass(create_graph):
    flags = []
    x = leaf(1.0, 2.0)
    y = x * x
    y.register_hook(lambda g: flags.append((adjoint.is_grad_enabled(), g.requires_grad)))
    w = adjoint.ones(2, dtype=adjoint.float64, requires_grad=True)
    adjoint.autograd.grad((y * w).sum(), x, create_graph=create_graph)
    assert flags == [(create_graph, create_graph)]
    assert adjoint.is_grad_enabled()


@pytest.mark.parametrize("outside", [True, False])
@pytest.mark.parametrize("create_graph", [False, True])
def test_mode_after_a_failed_pass(create_graph, outside):
    y = leaf(1.0, 2.0) * 2
    y.register_hook(lambda g: 1 / 0)
    z = y.sum()
    with adjoint.set_grad_enabled(outside):
        with pytest.raises(ZeroDivisionError):
            z.backward(create_graph=create_graph)
        assert adjoint.is_grad_enabled() is outside


def test_numpys_error_handling_is_silent_in_a_pass_and_restored_after_it():
    x = leaf(0.0)
    with np.errstate(all="raise"):
        before = np.geterr()
        with np.errstate(all="ignore"):
            y = x.log()
        y.sum().backward()
        assert np.geterr() == before
    assert x.grad.item() == np.inf


# 6. views ------------------------------------------------------------------------------------------------------------


def rows(*members):
    return adjoint.stack(members)


def slice_scaled(y, x):
    y[0].mul_(3)
    return y


def slice_scaled_functional(y, x):
    return rows(y[0] * 3, y[1], y[2])


def view_of_view(y, x):
    y[1:][:, 2].exp_()
    return y


def view_of_view_functional(y, x):
    mask = adjoint.tensor([[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]], dtype=adjoint.bool)
    return adjoint.where(mask, y.exp(), y)


def sine_of_transpose(y, x):
    y.transpose(0, 1)[0].sin_()
    return y


def sine_of_transpose_functional(y, x):
    return adjoint.cat([y[:, :1].sin(), y[:, 1:]], 1)


def view_read_after_base_changed(y, x):
    v = y[0]
    y.mul_(x)
    return v * x[1]


def view_read_after_base_changed_functional(y, x):
    return (y * x)[0] * x[1]


def both_read_after_view_changed(y, x):
    v = y[0]
    w = y[:, 0]
    v.tanh_()
    return v.sum() * y + w.reshape(3, 1)


def both_read_after_view_changed_functional(y, x):
    z = rows(y[0].tanh(), y[1], y[2])
    return z[0].sum() * z + z[:, :1]


def overlapping_views(y, x):
    a, b = y[0], y[:, 0]
    a.mul_(2)
    b.add_(x[:, 1])
    return rows(a * y[1], y[2] * b.sum())


def overlapping_views_functional(y, x):
    y = rows(y[0] * 2, y[1], y[2])
    y = adjoint.cat([y[:, :1] + x[:, 1:2], y[:, 1:]], 1)
    return rows(y[0] * y[1], y[2] * y[:, 0].sum())


def assign(y, x):
    y[1] = x[0] * x[2]
    return y * y


def assigned_functional(y, x):
    y = rows(y[0], x[0] * x[2], y[2])
    return y * y


def assigned_broadcast(y, x):
    y[1:, ::2] = x[0, 1].exp()
    return y


def assigned_broadcast_functional(y, x):
    mask = adjoint.tensor([[0, 0, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0]], dtype=adjoint.bool)
    return adjoint.where(mask, x[0, 1].exp(), y)


def assigned_number(y, x):
    y[1] = 7.0
    y[:, 3] = 0
    return y * x


def assigned_number_functional(y, x):
    y = rows(y[0], adjoint.full((4,), 7.0, dtype=y.dtype), y[2])
    return adjoint.cat([y[:, :3], adjoint.zeros(3, 1, dtype=y.dtype)], 1) * x


def assigned_at_places(y, x):
    y[[0, 2]] = x[[1, 1]] * 2
    return y * y


def assigned_at_places_functional(y, x):
    y = rows(x[1] * 2, y[1], x[1] * 2)
    return y * y


def assigned_at_a_mask(y, x):
    y[x > 0.5] = x.sum()
    return y


def assigned_at_a_mask_functional(y, x):
    return adjoint.where(x > 0.5, x.sum(), y)


def augment(y, x):
    y[0] += x[1] * x[2]
    y[1] *= x[0]
    return y


def augmented_functional(y, x):
    return rows(y[0] + x[1] * x[2], y[1] * x[0], y[2])


def flatten(y, x):
    y.reshape(-1)[3:6].tanh_()
    return y


def flattened_functional(y, x):
    flat = y.reshape(-1)
    return adjoint.cat([flat[:3], flat[3:6].tanh(), flat[6:]]).reshape(3, 4)


def diagonal_scaled(y, x):
    y.diagonal().mul_(x[:, 3])
    return y


def diagonal_scaled_functional(y, x):
    eye = adjoint.eye(3, 4, dtype=adjoint.bool)
    return adjoint.where(eye, y * x[:, 3:], y)


def several_in_place_on_one_view(y, x):
    v = y[1]
    v.sin_()
    v.add_(x[0])
    v.cos_()
    v.exp_()
    return y * v.sum()


def several_in_place_on_one_view_functional(y, x):
    v = (y[1].sin() + x[0]).cos().exp()
    return rows(y[0], v, y[2]) * v.sum()


def filled_row_by_row(y, x):
    buffer = adjoint.zeros(3, 4, dtype=x.dtype)
    buffer[0] = y[0]
    for i in range(1, 3):
        buffer[i] = buffer[i - 1] * 2 + x[i].exp()
    return buffer


def filled_row_by_row_functional(y, x):
    first = y[0]
    second = first * 2 + x[1].exp()
    return rows(first, second, second * 2 + x[2].exp())


def view_of_constant_base(y, x):
    buffer = adjoint.zeros(3, 4, dtype=x.dtype)
    v = buffer[1:]
    v[0].copy_(x[0] * y[1])
    assert buffer.requires_grad and v.requires_grad
    return buffer.sum() * v.sum() + y


def view_of_constant_base_functional(y, x):
    return (x[0] * y[1]).sum() ** 2 + y


def multiplied_by_itself(y, x):
    v = y[2]
    v.mul_(v)
    return y


def multiplied_by_itself_functional(y, x):
    return rows(y[0], y[1], y[2] ** 2)


def zero(y, x):
    y[0].zero_()
    y[:, 1].fill_(2.0)
    return y * x


def zeroed_functional(y, x):
    mask = adjoint.tensor([[0, 0, 0, 0], [1, 0, 1, 1], [1, 0, 1, 1]], dtype=y.dtype)
    twos = adjoint.tensor([[0, 2, 0, 0]] * 3, dtype=y.dtype)
    return (y * mask + twos) * x


def result_of_view_op_on_expanded(y, x):
    wide = x[0].expand(3, 4) * 1
    wide[1].mul_(y[1])
    return wide


def result_of_view_op_on_expanded_functional(y, x):
    return rows(x[0], x[0] * y[1], x[0])


PATTERNS = [name for name in list(globals()) if f"{name}_functional" in globals()]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_in_place_on_views_equals_functional_computation(pattern):
    rng = np.random.default_rng(0)
    start, weights, directions = rng.normal(size=(3, 3, 4))
    weights, directions = adjoint.from_numpy(weights), adjoint.from_numpy(directions)

    def differentiate(function):
        x = adjoint.tensor(start, requires_grad=True)
        result = function(x.cos(), x)
        loss = (result * weights[: result.shape[0]] if result.ndim == 2 else result * weights[0]).sum()
        (plain,) = adjoint.autograd.grad(loss, x, retain_graph=True)
        (first,) = adjoint.autograd.grad(loss, x, create_graph=True)
        assert_same(first, plain.numpy())
        (second,) = adjoint.autograd.grad((first * directions).sum(), x)
        return result, first, second

    for actual, expected in zip(
        differentiate(globals()[pattern]), differentiate(globals()[f"{pattern}_functional"]), strict=True
    ):
        assert_same(actual, expected.detach().numpy())


def test_history_of_base_and_view_after_in_place():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    v = y[1:]
    before = v.grad_fn
    v.mul_(5)
    assert y.grad_fn.name() == "torch::autograd::CopySlices"
    assert v.grad_fn is not before
    assert v.grad_fn.next_functions[0][0] is y.grad_fn
    assert v._is_view() and v._base is y
    again = v.grad_fn
    assert v.grad_fn is again, "the history is made again only when the memory changed"


def write_to_view(x, v, w):
    v.exp_()
    return v.detach().clone()


def write_from_another(x, v, w):
    v.mul_(w[1:])
    return w[1:].detach() * 2


def write_by_index(x, v, w):
    v[adjoint.tensor([0, 1])] = w[:2] * 5
    return adjoint.tensor([5.0, 5.0], dtype=w.dtype)


def write_to_reshaped_view(x, v, w):
    v.unsqueeze_(0)
    v.exp_()
    return v.detach().clone()[0]


RESHAPES = {
    "unsqueeze_ first": lambda x: x.unsqueeze_(0),
    "unsqueeze_ last": lambda x: x.unsqueeze_(-1),
    "unsqueeze_ twice": lambda x: x.unsqueeze_(0).unsqueeze_(2),
    "t_": lambda x: x.t_(),
    "t_ and unsqueeze_": lambda x: x.t_().unsqueeze_(1),
    "unsqueeze_ and squeeze_": lambda x: x.unsqueeze_(1).squeeze_(),
    "transpose_ of a new axis": lambda x: x.unsqueeze_(0).transpose_(0, 2),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("part", [lambda x: x.view(-1), lambda x: x[1], lambda x: x[:, 1:], lambda x: x[..., None]])
@pytest.mark.parametrize("reshape", RESHAPES.values(), ids=RESHAPES)
def test_a_base_that_is_reshaped_before_a_view_is_written_to(reshape, part, create_graph):
    """The strides of an axis of length 1 do not show where elements are."""
    w = adjoint.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=adjoint.float64, requires_grad=True)
    factors = adjoint.ones(2, 3, dtype=adjoint.float64)
    part(factors).mul_(3.0)
    x = w * 2.0
    view = part(x)
    reshape(x)
    view.mul_(3.0)
    (gradient,) = adjoint.autograd.grad((x * x).sum(), w, retain_graph=True, create_graph=create_graph)
    assert gradient.tolist() == (8.0 * w * factors * factors).tolist()
    (of_view,) = adjoint.autograd.grad(view.sum(), w)
    assert of_view.tolist() == (2.0 * factors * (factors > 1)).tolist()


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("again", [False, True], ids=["detached", "a leaf again"])
@pytest.mark.parametrize("write", [write_to_view, write_from_another, write_by_index, write_to_reshaped_view])
def test_modified_view_keeps_its_history_when_its_base_is_detached(write, again, recording):
    w = leaf(0.5, 2.0, 3.0)
    x = w * 1.0
    v, other = x[1:], x[:2]
    expected = write(x, v, w)
    with adjoint.set_grad_enabled(recording):
        x.detach_()
    if again:
        x.requires_grad_()
    assert v.requires_grad and other.requires_grad and x.is_leaf
    (g,) = adjoint.autograd.grad(v.sum() + w.sum(), w, retain_graph=True)
    assert_same(g[:2] if write is write_by_index else g[1:], expected + 1)
    assert v.grad_fn.next_functions[0][0] is not None
    # a view without its own modification follows the base
    first, second = adjoint.autograd.grad(other.sum(), (w, x) if again else (w, w), allow_unused=True)
    assert first is None and (second is not None) is again
    assert again or other.grad_fn.next_functions == ((None, 0),)


def test_view_of_a_detached_base_that_is_modified_afterwards_leads_nowhere():
    w = leaf(0.5, 2.0, 3.0)
    x = w * 1.0
    v = x[1:]
    v.exp_()
    x.detach_()
    x.mul_(2)
    assert v.requires_grad and not x.requires_grad
    v.sum().backward()
    assert w.grad is None


def test_modified_view_of_a_base_without_history_keeps_its_own():
    w = leaf(0.5, 2.0, 3.0)
    x = adjoint.zeros(3, dtype=w.dtype)
    v, other = x[1:], x[:2]
    v.copy_(w[1:])
    assert other.requires_grad
    x.detach_()
    assert v.requires_grad and not other.requires_grad and other.is_leaf
    v.sum().backward()
    assert_same(w.grad, [0.0, 1.0, 1.0])


RESHAPES_IN_PLACE = {
    "unsqueeze_": lambda v: v.unsqueeze_(0),
    "squeeze_": lambda v: v.squeeze_(),
    "t_": lambda v: v.t_(),
    "swapaxes_": lambda v: v.swapaxes_(0, -1),
    "as_strided_": lambda v: v.as_strided_((2,), (1,)),
}


@pytest.mark.parametrize("reshape", RESHAPES_IN_PLACE.values(), ids=RESHAPES_IN_PLACE)
def test_modified_view_stays_recorded_when_it_is_reshaped_in_place(reshape):
    w = leaf(0.5, 2.0, 3.0)
    x = adjoint.zeros(3, dtype=w.dtype)
    v = x[1:]
    v.copy_(w[1:])
    x.detach_()
    with adjoint.no_grad():
        reshape(v)
    assert v.requires_grad and v.grad_fn is not None


def meeting(kind):
    """A tensor without history whose elements share memory, except within its first row."""
    if kind == "expanded":
        return adjoint.zeros(2, 3).expand(2, 2, 3).detach()
    if kind == "strided":
        return adjoint.zeros(7).as_strided((2, 2, 3), (1, 3, 1)).detach()
    return adjoint.zeros(3, 3).unfold(0, 2, 1).transpose(1, 2).detach()


WRITES = {
    "copied": lambda part, w: part.copy_(w * 3),
    "added": lambda part, w: part.add_(w),
    "one row": lambda part, w: part.__setitem__(0, w[1]),
    "then a number": lambda part, w: part.copy_(w).fill_(2.0),
}


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("kind", ["expanded", "strided", "unfolded"])
def test_cotangent_of_a_base_whose_elements_meet_is_not_split(kind, write, create_graph):
    """One write through a view changes several elements, so no part of the cotangent belongs to the view alone."""
    w = adjoint.arange(6.0).reshape(2, 3).requires_grad_()
    x = meeting(kind)
    write(x[0], w)
    assert x.requires_grad
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        adjoint.autograd.grad(x, w, adjoint.ones_like(x), create_graph=create_graph)


def test_view_of_a_view_knows_the_base():
    y = leaf(1.0, 2.0, 3.0) * 1
    v = y[1:][0]
    assert v._base is y
    assert y._base is None and not y._is_view()


def test_retained_gradient_follows_in_place_changes():
    x = leaf(1.0, 2.0)
    y = x * 1
    y.retain_grad()
    y.mul_(3)
    assert y.retains_grad
    y.sum().backward()
    assert_same(y.grad, [1.0, 1.0])
    assert_same(x.grad, [3.0, 3.0])


def test_retained_gradient_of_a_view_follows_in_place_changes():
    x = leaf(1.0, 2.0)
    y = x * 1
    v = y[0:1]
    v.retain_grad()
    v.mul_(3)
    (y.sum() + v.sum()).backward()
    assert v.retains_grad
    assert_same(v.grad, [1.0])
    assert_same(x.grad, [6.0, 1.0])


def test_hook_stays_with_the_value_that_it_was_registered_for():
    x = leaf(1.0, 2.0)
    y = x * 1
    notes = []
    y.register_hook(lambda g: notes.append(("before", g.tolist())))
    y.mul_(3)
    y.register_hook(lambda g: notes.append(("after", g.tolist())))
    y.sum().backward()
    assert notes == [("after", [1.0, 1.0]), ("before", [3.0, 3.0])]


def test_in_place_under_no_grad_is_not_recorded():
    x = leaf(1.0, 2.0)
    with adjoint.no_grad():
        x.mul_(5)
    assert x.is_leaf and x.requires_grad and x._version == 1
    (x * x).sum().backward()
    assert_same(x.grad, [10.0, 20.0])


# 7. errors inside a pass ---------------------------------------------------------------------------------------------


class Fails:
    """A hook that raises while it is on."""

    on = True

    def __call__(self, g):
        if self.on:
            raise KeyError("on purpose")


def test_error_leaves_gradients_of_nodes_that_did_not_run():
    early, late = leaf(1.0, 2.0), leaf(3.0, 4.0)
    early.grad = adjoint.tensor([7.0, 7.0], dtype=adjoint.float64)
    grad = early.grad
    y = early * 2
    y.register_hook(Fails())
    with pytest.raises(KeyError, match="on purpose"):
        (y * late).sum().backward()
    assert early.grad is grad and early.grad.tolist() == [7.0, 7.0]
    assert late.grad.tolist() == [2.0, 4.0], "this node had run before"


def test_graph_is_usable_again_after_an_error():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    fails = Fails()
    y = x * 2
    z = (y * w + y * y * w).sum()
    y.register_hook(fails)
    with pytest.raises(KeyError):
        adjoint.autograd.grad(z, [x, w], retain_graph=True)
    fails.on = False
    first = [g.tolist() for g in adjoint.autograd.grad(z, [x, w], retain_graph=True)]
    assert first == [[2 * 3 * (1 + 4), 2 * 4 * (1 + 8)], [2 + 4, 4 + 16]]
    assert [g.tolist() for g in adjoint.autograd.grad(z, [x, w])] == first


def test_cotangents_that_waited_are_forgotten_after_an_error():
    x = leaf(1.0, 2.0)
    fails = Fails()
    y = x * 1
    a, b = y * 2, y * 3
    # b was made after a, so b has already delivered its gradient to y
    a.register_hook(fails)
    z = (a + b).sum()
    with pytest.raises(KeyError):
        z.backward(retain_graph=True)
    fails.on = False
    z.backward(retain_graph=True)
    assert_same(x.grad, [5.0, 5.0])


def test_freed_graph_says_so_after_an_error():
    x = leaf(1.0, 2.0)
    fails = Fails()
    y = x * x
    z = (y * y).sum()
    y.register_hook(fails)
    with pytest.raises(KeyError):
        z.backward()
    fails.on = False
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        z.backward()
    assert x.grad is None


def test_error_inside_a_nested_pass_leaves_the_outer_one_intact():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    y = x * w
    z = (y * y).sum()
    bad = (y * 1).exp()
    bad.register_hook(Fails())
    inner = bad.sum()
    caught = []

    def hook(g):
        try:
            adjoint.autograd.grad(inner, [x, w], retain_graph=True)
        except KeyError as error:
            caught.append(error)

    y.register_hook(hook)
    z.backward()
    assert len(caught) == 1
    assert_same(x.grad, [2 * 1 * 9.0, 2 * 2 * 16.0])
    assert_same(w.grad, [2 * 3 * 1.0, 2 * 4 * 4.0])


def test_error_of_a_formula():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        z.backward(retain_graph=True)
    assert x.grad is None


# 9. memory of gradients ----------------------------------------------------------------------------------------------


def memory_of(tensor):
    return tensor.detach().numpy()


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_leaves_never_share_gradient_memory(shape, create_graph):
    a, b, c = [adjoint.ones(shape, dtype=adjoint.float64, requires_grad=True) for _ in range(3)]
    seed = adjoint.full(shape, 2.0, dtype=adjoint.float64)
    (a + b + c).backward(seed, create_graph=create_graph)
    arrays = [memory_of(t.grad) for t in (a, b, c)] + [seed.numpy()]
    for i, one in enumerate(arrays):
        assert one.tolist() == np.full(shape, 2.0).tolist()
        for other in arrays[:i]:
            assert not np.may_share_memory(one, other)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_users_cotangent_is_neither_kept_nor_changed(n):
    leaves = [leaf(1.0, 2.0) for _ in range(n)]
    seeds = [adjoint.tensor([3.0, 4.0], dtype=adjoint.float64) for _ in range(n)]
    for _ in range(2):
        adjoint.autograd.backward(leaves, seeds)
    for x, seed in zip(leaves, seeds, strict=True):
        assert seed.tolist() == [3.0, 4.0]
        assert x.grad.tolist() == [6.0, 8.0]
        assert not np.may_share_memory(memory_of(x.grad), seed.numpy())


def test_a_cotangent_given_without_a_name_is_not_shared_between_roots():
    a, b = leaf(1.0, 2.0), leaf(1.0, 2.0)
    array = np.array([3.0, 4.0])
    adjoint.autograd.backward([a, b], [adjoint.from_numpy(array), adjoint.from_numpy(array)])
    assert not np.may_share_memory(memory_of(a.grad), memory_of(b.grad))
    a.grad.zero_()
    assert b.grad.tolist() == [3.0, 4.0] and array.tolist() == [3.0, 4.0]


def test_captured_gradients_are_not_changed_later():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = (y + y).sum()
    gx, gy = adjoint.autograd.grad(z, [x, y], retain_graph=True)
    for _ in range(3):
        z.backward(retain_graph=True)
    assert gx.tolist() == [2.0, 2.0] and gy.tolist() == [2.0, 2.0]
    assert x.grad.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("where", ["leaf", "result"])
def test_gradients_that_hooks_keep_are_not_changed_later(where):
    x = leaf(1.0, 2.0)
    y = x.clone()
    notes = []
    (x if where == "leaf" else y).register_hook(notes.append)
    for _ in range(3):
        y.sum().backward(retain_graph=True)
    assert [g.tolist() for g in notes] == [[1.0, 1.0]] * 3
    assert x.grad.tolist() == [3.0, 3.0]
    assert not any(np.may_share_memory(memory_of(g), memory_of(x.grad)) for g in notes)


def test_what_a_hook_returns_is_not_kept():
    x = leaf(1.0, 2.0)
    mine = adjoint.tensor([5.0, 6.0], dtype=adjoint.float64)
    x.register_hook(lambda g: mine)
    for _ in range(2):
        (x * 1).sum().backward()
    assert mine.tolist() == [5.0, 6.0]
    assert x.grad.tolist() == [10.0, 12.0]


def test_retained_gradients_are_not_shared():
    x = leaf(1.0, 2.0)
    y = x.clone()
    z = y.clone()
    for tensor in (y, z):
        tensor.retain_grad()
    z.sum().backward(retain_graph=True)
    z.sum().backward()
    assert [t.grad.tolist() for t in (x, y, z)] == [[2.0, 2.0]] * 3
    arrays = [memory_of(t.grad) for t in (x, y, z)]
    assert not np.may_share_memory(arrays[0], arrays[1]) and not np.may_share_memory(arrays[1], arrays[2])


def test_saved_values_are_never_handed_out_as_gradients():
    # d(x * c)/dx is c times a cotangent of ones: a new array, not the array of c
    x = leaf(2.0, 3.0)
    c = adjoint.tensor([5.0, 7.0], dtype=adjoint.float64)
    (x * c).sum().backward(retain_graph=True)
    x.grad.zero_()
    assert c.tolist() == [5.0, 7.0]


def test_accumulation_keeps_the_object_and_its_strides():
    x = adjoint.ones(2, 3, dtype=adjoint.float64, requires_grad=True)
    x.grad = adjoint.zeros(3, 2, dtype=adjoint.float64).t()
    mine, array, strides = x.grad, memory_of(x.grad), x.grad.stride()
    for n in (1, 2):
        (x * 2).sum().backward()
        assert x.grad is mine and np.shares_memory(memory_of(x.grad), array)
        assert x.grad.stride() == strides == (1, 2)
        assert x.grad._version == n
    assert (array == 4).all()


def test_recorded_accumulation_makes_a_new_gradient():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    assert x.grad is not first
    assert first.tolist() == [2.0, 4.0] and x.grad.tolist() == [4.0, 8.0]
    assert x.grad.requires_grad
    x.grad = None


@pytest.mark.parametrize(
    ("make", "strides"),
    [
        (lambda: adjoint.ones(2, 3), (3, 1)),
        (lambda: adjoint.ones(3, 2).t(), (1, 2)),
        (lambda: adjoint.ones(4, 2, 3).permute(2, 0, 1), (1, 6, 3)),
        (lambda: adjoint.ones(3, 4)[:, ::2], (2, 1)),
        (lambda: adjoint.ones(1, 3).expand(2, 3), (3, 1)),
    ],
    ids=["row-major", "transposed", "permuted", "with gaps", "expanded"],
)
@pytest.mark.parametrize("pull", [lambda x: x.sum(), lambda x: (x * 2).sum(), lambda x: (x + 1).exp().sum()])
def test_gradient_has_the_strides_of_a_dense_leaf(make, strides, pull):
    x = make().detach().requires_grad_()
    pull(x).backward()
    assert x.grad.stride() == strides
    assert x.grad.shape == x.shape


# the README itself ----------------------------------------------------------------------------------------------------


def test_the_readme_names_tests_that_exist():
    text = Path(adjoint.core.__file__).with_name("README.md").read_text()
    names = set(re.findall(r"`(test_\w+)`", text))
    sources = [file.read_text() for file in Path(__file__).parent.glob("test_*.py")]
    defined = {name for source in sources for name in re.findall(r"def (test_\w+)", source)}
    assert len(names) > 20
    assert names <= defined
