"""The records of a profiler: operations, nodes of backward passes, labels, shapes, lines, memory."""

import threading
import warnings

import pytest

import adjoint
from adjoint.autograd.profiler import EnforceUnique, KinetoStepTracker, profile, record_function
from adjoint.core.modes.profiling import current_profiler
from adjoint.core.modes.state import current

EVALUATE = "autograd::engine::evaluate_function: "


def names(prof):
    return [event.name for event in prof.function_events]


def find(prof, name):
    """The first event with this name outside of backward passes."""
    return next(e for e in prof.function_events if e.name == name and (not e.cpu_parent or e.cpu_parent.scope != 1))


def test_forward_and_backward_operations_in_their_order():
    x = adjoint.ones(3, 3, requires_grad=True)
    with profile() as prof:
        (x * 2).exp().sum().backward()
    operations = [name for name in names(prof) if not name.startswith(EVALUATE)]
    assert operations == [
        "aten::mul",
        "aten::exp",
        "aten::sum",
        "aten::ones_like",
        "SumBackward0",
        "aten::expand",
        "ExpBackward0",
        "aten::mul",
        "MulBackward0",
        "aten::mul",
        "torch::autograd::AccumulateGrad",
    ]
    node = find(prof, "MulBackward0")
    assert [(call.name, call.sequence_nr) for call in node.cpu_children] == [("aten::mul", -1)]
    assert node.cpu_parent is find(prof, EVALUATE + "MulBackward0")
    assert node.scope == 1 and node.cpu_parent.scope == 0


def test_nodes_have_the_sequence_numbers_of_their_operations():
    x = adjoint.ones(3, requires_grad=True)
    with profile() as prof:
        ((x + x) * x).sum().backward()
    for name, node in (("add", "AddBackward0"), ("mul", "MulBackward0"), ("sum", "SumBackward0")):
        event, ran = find(prof, "aten::" + name), find(prof, node)
        assert event.sequence_nr == ran.sequence_nr >= 0
        assert (event.fwd_thread, ran.fwd_thread) == (0, event.thread)
    assert find(prof, "torch::autograd::AccumulateGrad").sequence_nr == -1


def test_what_is_not_recorded_has_no_sequence_number():
    x = adjoint.ones(3, requires_grad=True)
    y = x * 2
    with profile() as prof, adjoint.no_grad():
        x.exp()
        y.mul_(2)
    assert [(event.name, event.sequence_nr) for event in prof.function_events] == [
        ("aten::exp", -1),
        ("aten::mul_", -1),
    ]


def test_gradients_are_the_same_and_nothing_is_noted_afterwards():
    x = adjoint.arange(4.0, requires_grad=True)
    before = current().unusual
    with profile() as prof:
        (x**3).sum().backward()
    n = len(prof.function_events)
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 5.0, 14.0, 29.0]
    assert len(prof.function_events) == n
    assert current_profiler() is None and current().unusual == before


def test_profiler_ends_with_the_block_that_raised_and_keeps_the_failed_operation():
    with pytest.raises(RuntimeError), profile() as prof:
        adjoint.ones(2) @ adjoint.ones(3)
    assert current_profiler() is None
    assert names(prof)


def test_double_backward_and_anomaly_mode():
    x = adjoint.ones(3, requires_grad=True)
    with warnings.catch_warnings(), profile() as prof:
        warnings.simplefilter("ignore")
        with adjoint.autograd.detect_anomaly():
            (g,) = adjoint.autograd.grad((x**3).sum(), x, create_graph=True)
            g.sum().backward()
    assert x.grad.tolist() == [6.0, 6.0, 6.0]
    assert names(prof).count("PowBackward0") == 2
    # recorded formulas are operations with their own events
    nodes = [event for event in prof.function_events if event.name == "PowBackward0"]
    assert any(call.name.startswith("aten::") for node in nodes for call in node.cpu_children)


def test_anomaly_mode_still_finds_nan():
    x = adjoint.zeros(2, requires_grad=True)
    with warnings.catch_warnings(), profile() as prof:
        warnings.simplefilter("ignore")
        with adjoint.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="'SqrtBackward0' returned nan"):
            (x.sqrt() * 0).sum().backward()
    assert "SqrtBackward0" in names(prof)


def test_custom_functions_appear_in_the_backward_pass():
    class Twice(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = adjoint.ones(2, requires_grad=True)
    with profile() as prof:
        Twice.apply(x).sum().backward()
    assert [call.name for call in find(prof, "TwiceBackward").cpu_children] == ["aten::mul"]


def test_labels_nest_and_decorate():
    @record_function("inner")
    def inner(x):
        """Doubles."""
        return x * 2

    x = adjoint.ones(2)
    with profile(record_shapes=True) as prof, record_function("outer", "arguments"):
        inner(x)
        inner(x)
    outer = find(prof, "outer")
    assert [call.name for call in outer.cpu_children] == ["inner", "inner"]
    assert [call.name for call in outer.cpu_children[0].cpu_children] == ["aten::mul"]
    assert outer.is_user_annotation and outer.scope == 7 and outer.input_shapes == [[]]
    assert inner.__doc__ == "Doubles."
    with record_function("outside"):
        assert inner(x).tolist() == [2.0, 2.0]


def test_label_that_outlives_the_profiler_is_dropped():
    label = record_function("late")
    with profile() as prof:
        label.__enter__()
    label.__exit__(None, None, None)
    assert names(prof) == []
    with pytest.raises(TypeError, match="must be str, not int"):
        record_function(5)


def test_profiler_belongs_to_its_thread():
    def work():
        with record_function("elsewhere"):
            adjoint.ones(2) * 2

    with profile() as prof:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        adjoint.ones(2) + 1
    assert names(prof) == ["aten::ones", "aten::add"]


def test_two_threads_profile_at_once():
    results = {}
    together = threading.Barrier(2, timeout=30)

    def work(name):
        with profile() as prof:
            together.wait()
            for _ in range(20):
                getattr(adjoint.ones(2), name)()
            together.wait()
        results[name] = names(prof)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("exp", "sin")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {"exp": ["aten::ones", "aten::exp"] * 20, "sin": ["aten::ones", "aten::sin"] * 20}


def test_inner_profiler_takes_over():
    x = adjoint.ones(2)
    with profile() as outer:
        x.exp()
        with profile() as inner:
            x.sin()
        x.cos()
    assert (names(outer), names(inner)) == (["aten::exp", "aten::cos"], ["aten::sin"])


def test_shapes():
    x = adjoint.ones(3, 4, requires_grad=True)
    with profile(record_shapes=True) as prof:
        (x @ adjoint.ones(4, 5)).sum().backward()
    assert find(prof, "aten::matmul").input_shapes == [[3, 4], [4, 5]]
    assert find(prof, "MmBackward0").input_shapes == [[3, 5]]
    groups = prof.key_averages(group_by_input_shape=True)
    assert "[[3, 4], [4, 5]]" in [group.input_shapes and str(group.input_shapes) for group in groups]
    with profile() as prof:
        x * 2
    assert prof.function_events[0].input_shapes == []


def test_flops():
    a, b, v = adjoint.ones(3, 4), adjoint.ones(4, 5), adjoint.ones(4)
    with profile(with_flops=True) as prof:
        adjoint.mm(a, b)
        adjoint.addmm(adjoint.ones(3, 5), a, b)
        adjoint.bmm(a[None], b[None])
        adjoint.mv(a, v)
        a * a
        a.exp()
        adjoint.nn.functional.conv2d(adjoint.ones(1, 2, 8, 8), adjoint.ones(3, 2, 3, 3))
    flops = {event.name: event.flops for event in prof.function_events if event.flops}
    product = 2 * 3 * 4 * 5
    assert flops["aten::mm"] == flops["aten::addmm"] == flops["aten::bmm"] == product
    assert flops["aten::mv"] == 2 * 3 * 4
    assert flops["aten::mul"] == 12
    assert flops["aten::convolution"] == 2 * (3 * 6 * 6) * (2 * 3 * 3)
    assert "aten::exp" not in flops
    assert "FLOPs" in prof.key_averages().table()


def test_stack_of_operations_and_of_their_nodes():
    def model(x):
        return (x * 2).sum()

    x = adjoint.ones(2, requires_grad=True)
    with profile(with_stack=True) as prof:
        model(x).backward()
    stack = find(prof, "aten::mul").stack
    assert stack[0].startswith(__file__) and stack[0].endswith(": model")
    assert stack[1].endswith(": test_stack_of_operations_and_of_their_nodes")
    assert find(prof, "MulBackward0").stack == stack
    groups = prof.key_averages(group_by_stack_n=1)
    assert [group.stack for group in groups if group.key == "aten::mul"] == [stack[:1]]
    assert "Source Location" in groups.table()


def test_memory_taken_and_given_back():
    x = adjoint.ones(1000, dtype=adjoint.float32, requires_grad=True)
    with profile(profile_memory=True) as prof:
        y = x * 2
        y.view(10, 100)
        with record_function("scope"):
            x.exp()
        y.sum().backward()
        del y
    assert find(prof, "aten::mul").cpu_memory_usage == 4000
    assert find(prof, "aten::view").cpu_memory_usage == 0
    scope = find(prof, "scope")
    assert (scope.cpu_memory_usage, scope.self_cpu_memory_usage) == (0, -4000)
    assert find(prof, "MulBackward0").cpu_memory_usage == 4000
    loose = [event for event in prof.function_events if event.name == "[memory]"]
    assert loose and all(event.cpu_memory_usage < 0 for event in loose)
    # the rest is the gradient
    top = [event for event in prof.function_events if event.cpu_parent is None]
    assert sum(event.cpu_memory_usage for event in top) == 4000
    assert "CPU Mem" in prof.table()


def test_disabled_and_unfinished():
    off = profile(enabled=False)
    with off as context:
        adjoint.ones(2) * 2
    assert context is None and len(off.function_events) == 0
    prof = profile()
    assert str(prof) == repr(prof) == "<unfinished torch.autograd.profile>"
    assert prof.table() == "" and prof.key_averages() == [] and prof.self_cpu_time_total == 0
    with pytest.raises(RuntimeError, match="no trace yet"):
        prof.export_chrome_trace("never-written.json")


def test_an_instance_is_not_reentrant():
    prof = profile()
    with prof, pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"):
        prof.__enter__()
    with pytest.raises(RuntimeError, match="Profiler context manager is not reentrant"):
        prof.__enter__()
    assert current_profiler() is None


def test_devices():
    with pytest.warns(UserWarning, match="CUDA is not available, disabling CUDA profiling"):
        assert profile(use_device="cuda").use_device is None
    with pytest.warns(UserWarning, match="The foo is not a valid device option."):
        profile(use_device="foo")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        profile(use_cuda=True)
    assert [warning.category for warning in caught] == [FutureWarning, UserWarning]
    with pytest.raises(AssertionError, match="only with Kineto"):
        profile(use_cpu=False)
    with profile(use_cpu=False, use_kineto=True) as prof:
        adjoint.ones(2) * 2
    assert names(prof) == []


def test_is_a_profiler_on():
    module = adjoint.autograd.profiler
    assert not adjoint.autograd._profiler_enabled() and module._is_profiler_enabled is False
    with profile():
        assert adjoint.autograd._profiler_enabled() and module._is_profiler_enabled is True
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        module.other  # noqa: B018
    with pytest.raises(ValueError, match="post_processing_timeout_s must be non-negative"):
        profile(post_processing_timeout_s=-1)


def test_noting_can_be_stopped_for_a_while():
    x = adjoint.ones(2)
    cpu, cuda = module_activities = [adjoint.autograd.ProfilerActivity.CPU, adjoint.autograd.ProfilerActivity.CUDA]
    prof = profile(profile_memory=True)
    prof.toggle_collection_dynamic(False, module_activities)
    with prof:
        x * 2
        prof.toggle_collection_dynamic(False, [cpu])
        prof.toggle_collection_dynamic(False, [cpu])
        x + 2
        assert current_profiler() is None
        prof.toggle_collection_dynamic(True, [cpu])
        prof.toggle_collection_dynamic(False, [cuda])
        x - 1
    prof.toggle_collection_dynamic(True, [cpu])
    assert [name for name in names(prof) if name != "[memory]"] == ["aten::mul", "aten::sub"]
    assert current_profiler() is None


def test_trace_id():
    with profile(custom_trace_id_callback=lambda: "mine") as prof:
        adjoint.ones(2) * 2
    assert prof.trace_id == "mine"


def test_enforce_unique():
    keys = EnforceUnique()
    keys.see(1, 2)
    keys.see(1, 3)
    with pytest.raises(RuntimeError, match=r"duplicate key: \(1, 2\)"):
        keys.see(1, 2)


def test_step_tracker():
    first = KinetoStepTracker.current_step()
    KinetoStepTracker.init_step_count("yes")
    KinetoStepTracker.init_step_count("no")
    assert KinetoStepTracker.increment_step("yes") == first + 1
    assert KinetoStepTracker.increment_step("no") == first + 1
    assert KinetoStepTracker.increment_step("no") == first + 2
    KinetoStepTracker._step_dict["yes"] = first + 4
    with pytest.warns(UserWarning, match="increased more than 1"):
        KinetoStepTracker.increment_step("yes")
    assert KinetoStepTracker.erase_step_count("yes") and KinetoStepTracker.erase_step_count("no")
    assert not KinetoStepTracker.erase_step_count("no")
