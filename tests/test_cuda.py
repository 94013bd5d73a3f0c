"""Devices under torch's names, without a device and with the stand-in for CuPy; and the device of new tensors."""

from __future__ import annotations

import functools
import gc
import importlib
import inspect
import sys
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest

import adjoint
from adjoint.arrays.libraries.cupy_namespace import MissingFunction
from adjoint.arrays.namespace import device_of
from adjoint.tensor import creation
from adjoint.tensor.default_device import FOLLOWING
from adjoint.tools import checkpoint as checkpoints
from adjoint.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts
from support import function_calls, function_probe, stand_in_cupy

needs_no_device = pytest.mark.skipif(adjoint.cuda.is_available(), reason="there is a device")


@pytest.fixture
def device() -> Iterator[types.ModuleType]:
    """CuPy's stand-in under its name."""
    with stand_in_cupy.install() as module:
        stand_in_cupy.CALLS.clear()
        yield module


# without a device -----------------------------------------------------------------------------------------------------


@needs_no_device
def test_an_ordinary_program_runs_without_a_device() -> None:
    device = "cuda" if adjoint.cuda.is_available() else "mps" if adjoint.backends.mps.is_available() else "cpu"
    adjoint.manual_seed(0)
    adjoint.cuda.manual_seed_all(0)
    adjoint.backends.cudnn.benchmark = True
    try:
        x = adjoint.ones(2, device=device)
        if adjoint.cuda.is_available():
            adjoint.cuda.synchronize()
        assert x.sum().item() == 2
        assert adjoint.accelerator.current_accelerator() is None
    finally:
        adjoint.backends.cudnn.benchmark = False


#: Functions that work without a device. All others raise an AssertionError.
ANSWERS: dict[str, Callable[[], Any]] = {
    "device_count": lambda: adjoint.cuda.device_count() == 0,
    "empty_cache": lambda: adjoint.cuda.empty_cache() is None,
    "get_rng_state_all": lambda: adjoint.cuda.get_rng_state_all() == [],
    "is_available": lambda: adjoint.cuda.is_available() is False,
    "is_current_stream_capturing": lambda: adjoint.cuda.is_current_stream_capturing() is False,
    "is_bf16_supported": lambda: adjoint.cuda.is_bf16_supported() is False,
    "is_initialized": lambda: adjoint.cuda.is_initialized() is False,
    "is_tf32_supported": lambda: adjoint.cuda.is_tf32_supported() is False,
    "manual_seed": lambda: adjoint.cuda.manual_seed(1) is None,
    "manual_seed_all": lambda: adjoint.cuda.manual_seed_all(1) is None,
    "memory_allocated": lambda: adjoint.cuda.memory_allocated() == 0,
    "memory_reserved": lambda: adjoint.cuda.memory_reserved() == 0,
    "seed": lambda: adjoint.cuda.seed() is None,
    "seed_all": lambda: adjoint.cuda.seed_all() is None,
    "set_rng_state": lambda: adjoint.cuda.set_rng_state(adjoint.get_rng_state()) is None,
    "set_rng_state_all": lambda: adjoint.cuda.set_rng_state_all([]) is None,
    "set_stream": lambda: adjoint.cuda.set_stream(None) is None,
    "stream": lambda: adjoint.cuda.stream(None).__enter__() is None,
    "StreamContext": lambda: adjoint.cuda.StreamContext(None).__enter__() is None,
    "device_of": lambda: adjoint.cuda.device_of(adjoint.ones(1)).__enter__() is None,
}
ARGUMENTS = {"can_device_access_peer": (0, 1), "graph": (None,), "set_device": (0,), "device": (0,)}


@needs_no_device
@pytest.mark.parametrize("name", [name for name in adjoint.cuda.__all__ if name not in ("nvtx", "profiler")])
def test_truthful_without_a_device(name: str) -> None:
    state = adjoint.get_rng_state()
    if name in ANSWERS:
        assert ANSWERS[name]()
        assert (adjoint.get_rng_state() == state).all()
        return
    with pytest.raises(AssertionError, match="no CUDA device is available: install CuPy"):
        getattr(adjoint.cuda, name)(*ARGUMENTS.get(name, ())).__enter__()


@needs_no_device
def test_blocks_that_change_nothing() -> None:
    with adjoint.cuda.device(None), adjoint.cuda.device(-1), adjoint.cuda.stream(None):
        adjoint.cuda.set_device(-1)
    assert adjoint.cuda.OutOfMemoryError is adjoint.OutOfMemoryError is MemoryError


@needs_no_device
def test_the_profiler_without_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    ranges: list[Any] = []
    fake = types.SimpleNamespace(push_range=ranges.append, pop_range=lambda: ranges.append(None), mark=ranges.append)
    monkeypatch.setitem(sys.modules, "nvtx", fake)  # type: ignore[arg-type]
    x = adjoint.ones(2, requires_grad=True)

    def program() -> adjoint.Tensor:
        with adjoint.cuda.profiler.profile():
            y = x * 2
            with adjoint.autograd.profiler.emit_nvtx():
                y = x * 3
        return y

    with pytest.warns(UserWarning, match="no CUDA device is available"):
        y = program()
    assert y.tolist() == [3, 3]
    assert [name.split(",")[0] for name in ranges if name] == ["aten::mul"]
    for function in (adjoint.cuda.profiler.start, adjoint.cuda.profiler.stop):
        with pytest.raises(AssertionError, match="no CUDA device"):
            function()


def test_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    notes: list[Any] = []
    fake = types.SimpleNamespace(
        push_range=notes.append, pop_range=lambda: notes.append("pop"), mark=notes.append,
        start_range=lambda text: ("id", text), end_range=notes.append,
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "nvtx", fake)  # type: ignore[arg-type]
    with adjoint.cuda.nvtx.range("step {}", 3):
        adjoint.cuda.nvtx.mark("here")
    adjoint.cuda.nvtx.range_end(adjoint.cuda.nvtx.range_start("long"))
    assert notes == ["step 3", "here", "pop", ("id", "long")]
    monkeypatch.setitem(sys.modules, "nvtx", None)  # type: ignore[arg-type]
    with pytest.raises(ImportError, match="adjoint-autograd\\[nvtx\\]"):
        adjoint.cuda.nvtx.mark("x")


@needs_no_device
@pytest.mark.parametrize("name", ["accelerator", "mps", "mtia", "xpu", "cpu", "backends"])
def test_other_devices(name: str) -> None:
    module = importlib.import_module(f"adjoint.{name}")
    if name == "backends":
        assert [each for each in module.__all__ if hasattr(getattr(module, each), "is_available")] == [
            "cudnn", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum",
        ]  # fmt: skip
        for each in ("cudnn", "mkldnn", "mps", "nnpack", "openmp"):
            assert getattr(module, each).is_available() is False
        assert module.mps.is_built() is module.mps.is_macos_or_newer(99, 0) is False
        assert module.cudnn.version() is None
        return
    assert module.is_available() is (name == "cpu")
    assert module.device_count() == (name == "cpu")


def test_switches_of_cudnn() -> None:
    cudnn = adjoint.backends.cudnn
    before = (cudnn.enabled, cudnn.benchmark, cudnn.benchmark_limit, cudnn.deterministic, cudnn.allow_tf32)
    with cudnn.flags(enabled=False, deterministic=True):
        assert (cudnn.enabled, cudnn.deterministic) == (False, True)
    assert cudnn.set_flags() == before
    adjoint.backends.cuda.matmul.allow_tf32 = True
    adjoint.backends.cuda.matmul.allow_tf32 = False
    with pytest.raises(AttributeError):
        adjoint.backends.cuda.matmul.allow_tf23 = True


def test_precision() -> None:
    assert adjoint.get_float32_matmul_precision() == "highest"
    for word in ("medium", "high", "highest"):
        adjoint.set_float32_matmul_precision(word)
        assert adjoint.get_float32_matmul_precision() == word
    with pytest.raises(RuntimeError, match="'low'"):
        adjoint.set_float32_matmul_precision("low")


# with a device --------------------------------------------------------------------------------------------------------


def test_a_device_is_seen(device: types.ModuleType) -> None:
    assert adjoint.cuda.is_available()
    assert adjoint.cuda.device_count() == 1
    assert adjoint.cuda.current_device() == 0
    assert adjoint.accelerator.current_accelerator() == adjoint.device("cuda")
    assert adjoint.cuda.get_device_name() == "stand-in"
    assert adjoint.cuda.get_device_capability("cuda:0") == (9, 0)
    assert adjoint.cuda.mem_get_info() == (3, 4)
    assert (adjoint.cuda.memory_allocated(), adjoint.cuda.memory_reserved()) == (1, 2)
    assert adjoint.cuda.is_tf32_supported()
    assert not adjoint.cuda.can_device_access_peer(0, 0)
    assert adjoint.cuda.OutOfMemoryError is device.cuda.memory.OutOfMemoryError
    adjoint.cuda.init()
    adjoint.cuda.set_device("cuda:0")
    adjoint.cuda.empty_cache()
    adjoint.cuda.synchronize()
    with adjoint.cuda.profiler.profile():
        pass
    assert stand_in_cupy.CALLS == ["use 0", "free_all_blocks", "synchronize", "profile", "profiled"]


@pytest.mark.parametrize(
    ("device_given", "error"), [(1, RuntimeError), ("cuda:3", RuntimeError), ("cpu", ValueError), (-2, RuntimeError)]
)
def test_devices_that_are_not_there(device: types.ModuleType, device_given: Any, error: type[Exception]) -> None:
    for function in (adjoint.cuda.synchronize, adjoint.cuda.get_device_name, adjoint.cuda.current_stream):
        with pytest.raises(error):
            function(device_given)


def test_streams_and_events(device: types.ModuleType) -> None:
    outer = adjoint.cuda.current_stream()
    stream = adjoint.cuda.Stream()
    assert outer == adjoint.cuda.default_stream() != stream
    with adjoint.cuda.stream(stream):
        assert adjoint.cuda.current_stream() == stream
        first = stream.record_event(adjoint.cuda.Event(enable_timing=True))
    assert adjoint.cuda.current_stream() == outer
    last = adjoint.cuda.Event(enable_timing=True)
    last.record()
    last.wait(stream)
    stream.wait_stream(outer)
    stream.synchronize()
    last.synchronize()
    assert first.query()
    assert stream.query()
    assert first.elapsed_time(last) == 1.5
    with pytest.raises(RuntimeError, match="enable_timing=True"):
        first.elapsed_time(adjoint.cuda.Event())
    assert stand_in_cupy.CALLS == ["wait_event", "wait_event", "stream.synchronize", "event.synchronize"]


def test_one_generator_draws_for_all(device: types.ModuleType) -> None:
    adjoint.cuda.manual_seed_all(5)
    first = adjoint.rand(3, device="cuda").cpu()
    state = adjoint.cuda.get_rng_state_all()
    second = adjoint.rand(3, device="cuda").cpu()
    adjoint.cuda.set_rng_state_all(state)
    assert adjoint.rand(3, device="cuda").cpu().tolist() == second.tolist()
    adjoint.cuda.manual_seed(5)
    assert adjoint.rand(3, device="cuda").cpu().tolist() == first.tolist()
    assert adjoint.cuda.initial_seed() == 5


def test_memory_on_a_device(device: types.ModuleType) -> None:
    x = adjoint.ones(3, device="cuda")
    assert x.is_shared()
    assert x.share_memory_() is x
    assert x.untyped_storage().is_cuda
    assert x.untyped_storage().nbytes() == 12
    host = adjoint.arange(6.0).reshape(2, 3).T
    pinned = host.pin_memory()
    assert pinned.is_pinned()
    assert pinned.tolist() == host.tolist()
    assert pinned.pin_memory() is pinned
    assert not host.is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        x.pin_memory()
    assert adjoint.utils.checkpoint.get_device_states(x, [x])[0] == [0]


# the device of new tensors --------------------------------------------------------------------------------------------

CALLS: dict[str, tuple[Any, ...]] = {
    "tensor": ([1.0],), "as_tensor": ([1.0],), "asarray": ([1.0],), "full": ((2,), 1.0), "arange": (3,),
    "empty_strided": ((2,), (1,)), "linspace": (0, 1, 3), "logspace": (0, 1, 3), "eye": (2,), "randint": (3, (2,)),
    "randperm": (3,), "scalar_tensor": (1.0,), "tril_indices": (2, 2), "triu_indices": (2, 2),
    "empty_permuted": ((2,), (0,)), "range": (0, 2),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWING)
@pytest.mark.filterwarnings("ignore:.*range is deprecated")
def test_new_tensors_follow_the_default(device: types.ModuleType, name: str) -> None:
    function, args = getattr(adjoint, name), CALLS.get(name, (2,))
    assert function(*args).device.type == "cpu"
    adjoint.set_default_device("cuda")
    try:
        assert adjoint.get_default_device() == adjoint.device("cuda")
        assert function(*args).device.type == "cuda"
        assert function(*args, device="cpu").device.type == "cpu"
    finally:
        adjoint.set_default_device(None)
    with adjoint.device("cuda"):
        assert function(*args).device.type == "cuda"
        with adjoint.device("cpu"):
            assert function(*args).device.type == "cpu"
    assert function(*args).device.type == "cpu"


def test_every_maker_of_tensors_follows() -> None:
    takes = {
        name
        for name in creation.PUBLIC
        if "device" in inspect.signature(getattr(adjoint, name)).parameters and not name.endswith("_like")
    }
    rest = {"zeros", "ones", "empty", "rand", "randn", "range"}
    assert takes - set(FOLLOWING) == set()
    assert set(FOLLOWING) - takes <= rest


def test_what_does_not_follow(device: types.ModuleType) -> None:
    import numpy

    x = adjoint.ones(2)
    with adjoint.device("cuda"):
        assert adjoint.from_numpy(numpy.ones(2)).is_cpu
        for name in ("zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"):
            assert getattr(adjoint, name)(x).is_cpu
        assert adjoint.full_like(x, 1.0).is_cpu
        assert adjoint.randint_like(x, 3).is_cpu
        assert x.new_zeros(2).is_cpu
        assert adjoint.nn.functional.dropout(x).is_cpu
        notes: list[Any] = []
        thread = threading.Thread(target=lambda: notes.append(adjoint.ones(1).device.type))
        thread.start()
        thread.join()
        assert notes == ["cpu"]
    y = x.to("cuda")
    assert adjoint.rand_like(y).is_cuda


def test_get_device(device: types.ModuleType) -> None:
    assert adjoint.get_device(adjoint.ones(1)) == -1
    assert adjoint.get_device(adjoint.ones(1, device="cuda")) == 0
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        adjoint.get_device(3)


@needs_no_device
def test_a_default_that_is_not_there() -> None:
    with pytest.raises(RuntimeError, match="device type at start of device string: nowhere"):
        adjoint.set_default_device("nowhere")
    with adjoint.device("cuda"):
        for function in (adjoint.get_default_device, lambda: adjoint.ones(2)):
            with pytest.raises(AssertionError, match="no CUDA device is available"):
                function()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert adjoint.ones(2).is_cpu


# checkpoints on a device ----------------------------------------------------------------------------------------------

POLICIES = list(CheckpointPolicy)


def recompute(x: adjoint.Tensor, policy: CheckpointPolicy, mapped: bool) -> tuple[list[Any], list[int]]:
    """The memory of the kept results between the passes, and the number of calls of exp."""
    runs = []

    def choose(context: Any, operation: Any, *arguments: Any) -> CheckpointPolicy:
        if operation.name == "exp":
            runs.append(1)
            return policy
        return CheckpointPolicy.PREFER_RECOMPUTE

    def steps(x: adjoint.Tensor) -> adjoint.Tensor:
        return (x * 2).exp().sin()

    contexts = functools.partial(create_selective_checkpoint_contexts, choose)
    y = checkpoint(adjoint.vmap(steps) if mapped else steps, x, use_reentrant=False, context_fn=contexts)
    gc.collect()
    waiting = [
        array for each in gc.get_objects() if isinstance(each, checkpoints._StoredResults) for array in each.arrays
    ]
    y.sum().backward()
    return waiting, runs


@pytest.mark.quick(2)
@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_what_a_policy_offloads_waits_in_the_hosts_memory(device: types.ModuleType, policy, mapped) -> None:
    host = adjoint.tensor([[0.1, 0.2]], requires_grad=True)
    there = host.detach().cuda().requires_grad_()
    waiting, runs = recompute(there, policy, mapped)
    assert runs == [1]  # recomputation does not call the policy
    places = [device_of(array).type for array in waiting]
    expected = {"SAVE": ["cuda"], "CPU_OFFLOAD": ["cpu"], "RECOMPUTE": []}[policy.name.split("_", 1)[1]]
    assert places == expected
    recompute(host, policy, mapped)
    assert there.grad.is_cuda and numpy.allclose(there.grad.cpu().numpy(), host.grad.numpy())


# graphs ---------------------------------------------------------------------------------------------------------------


def test_a_step_is_captured_and_launched(device: types.ModuleType) -> None:
    graph = adjoint.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="without a preceding successful capture"):
        graph.replay()
    with pytest.raises(RuntimeError, match="nothing is being captured"):
        graph.capture_end()
    x = adjoint.ones(3, device="cuda", requires_grad=True)
    stand_in_cupy.CALLS.clear()
    with adjoint.cuda.graph(graph):
        assert adjoint.cuda.is_current_stream_capturing()
        (x * 2).sum().backward()
        with pytest.raises(RuntimeError, match="this graph is being captured"):
            graph.capture_begin()
    assert not adjoint.cuda.is_current_stream_capturing() and graph.pool() is not None
    graph.replay()
    calls = [call for call in stand_in_cupy.CALLS if call not in ("synchronize", "free_all_blocks")]
    assert calls == ["allocator", "begin_capture 2", "end_capture", "own allocator", "launch"]
    graph.reset()
    assert graph.pool() is None


def test_graphs_share_memory(device: types.ModuleType) -> None:
    pool = adjoint.cuda.graph_pool_handle()
    graph = adjoint.cuda.CUDAGraph()
    with adjoint.cuda.graph(graph, pool=pool, stream=adjoint.cuda.Stream()):
        pass
    assert graph.pool() is pool


def test_an_error_ends_a_capture(device: types.ModuleType) -> None:
    graph = adjoint.cuda.CUDAGraph()
    with pytest.raises(NotImplementedError, match="cuBLAS"), adjoint.cuda.graph(graph):
        raise NotImplementedError("calling cuBLAS API")
    assert not adjoint.cuda.is_current_stream_capturing()
    with (
        pytest.raises(stand_in_cupy.RuntimeProblem, match="Unsupported"),
        adjoint.cuda.graph(graph, stream=adjoint.cuda.default_stream()),
    ):
        pass
    assert "own allocator" in stand_in_cupy.CALLS


# every function on a device -------------------------------------------------------------------------------------------

#: Functions whose device library lacks a function. Each of them raises an error that says so.
LACKING = {
    "index_reduce", "linalg.cholesky_ex", "linalg.inv_ex", "linalg.lu", "linalg.lu_factor", "linalg.lu_factor_ex",
    "linalg.lu_solve", "lu", "lu_solve", "lu_unpack", "special.airy_ai",
}  # fmt: skip


def convert_leaves(tree: Any, convert: Callable[[Any], Any]) -> Any:
    """The tree of arguments with converted leaves."""
    if isinstance(tree, (list, tuple)) and not hasattr(tree, "values"):
        return type(tree)([convert_leaves(member, convert) for member in tree])
    if isinstance(tree, dict):
        return {key: convert_leaves(member, convert) for key, member in tree.items()}
    return convert(tree)


def results_of(name: str, target: str) -> tuple[list[Any], set[str]]:
    """Results and gradients of a function's call in the table, as arrays, with the devices of the results."""
    leaves = []

    def argument(value: Any) -> Any:
        if isinstance(value, adjoint.Tensor):
            return value.to(target)
        if not isinstance(value, function_calls.Argument):
            return value
        tensor = adjoint.tensor(value.values).to(value.dtype).to(target)
        if not value.constant:
            leaves.append(tensor.requires_grad_())
        return leaves[-1] if not value.constant else tensor

    adjoint.manual_seed(0)
    call = function_calls.CALLS[name](function_calls.Maker(adjoint.float64))
    args, kwargs = convert_leaves(call.args, argument), convert_leaves(call.kwargs, argument)
    if name.endswith("_"):
        args = (args[0].clone(), *args[1:])
    outputs = function_probe.look_up(name)(*args, **kwargs)
    tensors = [each for each in function_probe.flat(outputs) if isinstance(each, adjoint.Tensor)]
    arrays = [each.detach().cpu().numpy() for each in tensors]
    differentiable = [each for each in tensors if each.requires_grad and each.is_floating_point()]
    if differentiable:
        sum(each.sum() for each in differentiable).backward()
        arrays += [leaf.grad.cpu().numpy() for leaf in leaves if leaf.grad is not None]
    return arrays, {each.device.type for each in tensors}


@needs_no_device
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", sorted(function_calls.CALLS))
def test_every_function_runs_where_its_arguments_lie(device: types.ModuleType, name: str) -> None:
    try:
        expected, _ = results_of(name, "cpu")
    except (RuntimeError, TypeError, NotImplementedError):
        pytest.skip("no call with float64 arguments")
    if name in LACKING:
        with pytest.raises(MissingFunction, match="Nothing was copied to the host"):
            results_of(name, "cuda")
        return
    actual, devices = results_of(name, "cuda")
    assert devices <= {"cpu" if name == "cpu" else "cuda"}
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
