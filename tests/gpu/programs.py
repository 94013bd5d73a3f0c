"""Programs on a device: memory, streams, devices, times, exchange with other libraries, and errors.

A program asserts its results. It may return a text about its measurements. A program that needs a device, or a package,
is marked.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import adjoint
from gpu.experiments import DIFFERS, RIGHT, first_line

ABSENT = "not run"


class Program(NamedTuple):
    """A program, the packages that it needs, and whether it needs a device."""

    function: Callable[[], str | None]
    packages: tuple[str, ...]
    needs_device: bool


PROGRAMS: dict[str, Program] = {}


def program(*packages: str, needs_device: bool = False) -> Callable[[Any], Any]:
    """Add a program to the table."""

    def enter(function: Callable[[], str | None]) -> Callable[[], str | None]:
        PROGRAMS[function.__name__] = Program(function, packages, needs_device)
        return function

    return enter


def names() -> list[str]:
    """The names of the pieces."""
    return [f"program/{name}" for name in PROGRAMS]


def text_of(name: str) -> str:
    """A program's docstring."""
    return (PROGRAMS[name.split("/")[1]].function.__doc__ or "").strip()


def run(name: str) -> dict[str, Any]:
    """Run one piece; its outcome, and the reason."""
    program = PROGRAMS[name.split("/")[1]]
    missing = [package for package in program.packages if importlib.util.find_spec(package) is None]
    if missing:
        return {"outcome": ABSENT, "why": f"{', '.join(missing)} is not installed"}
    if program.needs_device and is_dry():
        return {"outcome": ABSENT, "why": "it needs a device"}
    try:
        measured = program.function()
    except Exception as error:
        return {"outcome": DIFFERS, "why": f"{type(error).__name__}: {first_line(error)}"}
    return {"outcome": RIGHT, "why": measured or ""}


def is_dry() -> bool:
    """True on the stand-in for CuPy."""
    import cupy

    return "stand_in" in cupy.ndarray.__module__


def on_both(function: Callable[..., Any], *arrays: Any) -> None:
    """A function's results and gradients on the device are those on the host."""
    results = []
    for device in ("cpu", "cuda"):
        leaves = [adjoint.tensor(array, device=device, requires_grad=True) for array in arrays]
        result = function(*leaves)
        result.backward()
        results.append([result.detach(), *[leaf.grad for leaf in leaves]])
    for host, device_ in zip(*results, strict=True):
        assert device_.is_cuda
        np.testing.assert_allclose(device_.cpu().numpy(), host.numpy(), 1e-9, 1e-12)


RNG = np.random.default_rng(0)


# views and writes in place --------------------------------------------------------------------------------------------

#: Programs with views and writes in place, on a matrix of 4 x 6.
IN_PLACE: dict[str, Callable[[Any], Any]] = {
    "row": lambda a: a[1].mul_(3),
    "column": lambda a: a[:, 2].exp_(),
    "steps": lambda a: a[::2, 1::2].add_(1),
    "transposed": lambda a: a.T[2:4].mul_(a.detach().T[0:2].clone()),
    "diagonal": lambda a: a.diagonal().fill_(2.0),
    "reshaped": lambda a: a.view(2, 12)[0].neg_(),
    "strided": lambda a: a.as_strided((3, 3), (6, 2), 1).mul_(0.5),
    "element": lambda a: a[2, 3].mul_(7),
    "assigned": lambda a: a.__setitem__((slice(1, 3), slice(None)), a[0:2] * 2),
    "assigned by index": lambda a: a.__setitem__(adjoint.tensor([0, 3]), 1.5),
    "masked": lambda a: a.masked_fill_(a.detach() > 0.5, 0.0),
    "index_add_": lambda a: a.index_add_(0, adjoint.tensor([1, 1], device=a.device), a.detach()[2:].clone()),
    "view of a view": lambda a: a[1:][:, 1:].T[0].mul_(2).add_(a.detach()[0, 0].clone()),
}


@program()
def views_and_writes_in_place() -> str:
    """Writes through many kinds of views, with their gradients."""
    start = RNG.normal(size=(4, 6))
    for name, write in IN_PLACE.items():

        def run_one(x: Any, write: Callable[[Any], Any] = write) -> Any:
            a = x * 1
            write(a)
            return (a * a.cos()).sum()

        try:
            on_both(run_one, start)
        except Exception as error:
            raise AssertionError(f"{name}: {error}") from error
    return f"{len(IN_PLACE)} kinds of writes"


@program()
def saved_values_that_change() -> None:
    """If a saved value was modified, the backward pass raises an error."""
    x = adjoint.ones(3, device="cuda", requires_grad=True)
    y = x.exp()
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@program()
def training_step() -> None:
    """Loss and gradients of a network of two layers are the host's."""

    def loss(x: Any, first: Any, second: Any) -> Any:
        return adjoint.nn.functional.log_softmax((x @ first).tanh() @ second, 1).square().mean()

    on_both(loss, *[RNG.normal(size=shape) for shape in ((64, 100), (100, 50), (50, 10))])


@program()
def optimizer_steps() -> None:
    """Twenty steps of Adam have the host's result."""
    data, targets = RNG.normal(size=(32, 5)), RNG.normal(size=(32, 2))
    ends = []
    for device in ("cpu", "cuda"):
        adjoint.manual_seed(0)
        model = adjoint.nn.Sequential(adjoint.nn.Linear(5, 8), adjoint.nn.Tanh(), adjoint.nn.Linear(8, 2)).double()
        model.to(device)
        optimizer = adjoint.optim.Adam(model.parameters(), lr=0.01)
        x, y = (adjoint.tensor(values, device=device) for values in (data, targets))
        for _ in range(20):
            optimizer.zero_grad()
            (model(x) - y).square().mean().backward()
            optimizer.step()
        ends.append([parameter.detach().cpu().numpy() for parameter in model.parameters()])
    for host, other in zip(*ends, strict=True):
        np.testing.assert_allclose(other, host, 1e-8, 1e-10)


@program()
def higher_orders() -> None:
    """Hessian, Jacobian and Hessian-vector product are the host's."""
    point = RNG.normal(size=5)

    def f(x: Any) -> Any:
        return (x.tanh() * x.flip(0)).sum() ** 2

    for transform in (adjoint.func.hessian(f), adjoint.func.jacrev(lambda x: x.sin() * x.sum())):
        host = transform(adjoint.tensor(point))
        other = transform(adjoint.tensor(point, device="cuda"))
        np.testing.assert_allclose(other.cpu().numpy(), host.numpy(), 1e-9, 1e-12)


@program()
def random_numbers() -> None:
    """A seed gives the host's numbers."""
    for make in (adjoint.rand, adjoint.randn):
        adjoint.manual_seed(3)
        host = make(100)
        adjoint.manual_seed(3)
        assert (make(100, device="cuda").cpu() == host).all()


# streams --------------------------------------------------------------------------------------------------------------


@program()
def stream_for_both_passes() -> None:
    """The forward and the backward pass run on one stream that is not the default."""
    stream = adjoint.cuda.Stream()
    with adjoint.cuda.stream(stream):
        x = adjoint.full((1 << 20,), 0.5, device="cuda", requires_grad=True)
        (x.sin() * 2).sum().backward()
    stream.synchronize()
    assert stream.query()
    np.testing.assert_allclose(x.grad.cpu().numpy(), 2 * np.cos(np.float32(0.5)), 1e-5)


@program()
def streams_side_by_side() -> None:
    """Four streams run at once. Each waits for the values of the first."""
    x = adjoint.full((1 << 20,), 0.5, device="cuda")
    first = adjoint.cuda.current_stream()
    ready = first.record_event()
    streams = [adjoint.cuda.Stream() for _ in range(4)]
    results = []
    for k, stream in enumerate(streams):
        with adjoint.cuda.stream(stream):
            stream.wait_event(ready)
            leaf = x.clone().requires_grad_()
            (leaf * (k + 1)).exp().sum().backward()
            results.append(leaf)
    for stream in streams:
        first.wait_stream(stream)
    adjoint.cuda.synchronize()
    for k, leaf in enumerate(results):
        np.testing.assert_allclose(leaf.grad.cpu().numpy(), (k + 1) * np.exp(0.5 * (k + 1)), 1e-5)


@program()
def backward_on_the_current_stream() -> None:
    """A graph of one stream has its backward pass on another stream, which waits for the first."""
    first, second = adjoint.cuda.Stream(), adjoint.cuda.Stream()
    with adjoint.cuda.stream(first):
        x = adjoint.full((1 << 20,), 0.25, device="cuda", requires_grad=True)
        loss = x.tanh().sum()
    second.wait_stream(first)
    with adjoint.cuda.stream(second):
        loss.backward()
    second.synchronize()
    np.testing.assert_allclose(x.grad.cpu().numpy(), 1 - np.tanh(0.25) ** 2, 1e-5)


@program(needs_device=True)
def events_measure() -> str:
    """The time between two events."""
    start, end = (adjoint.cuda.Event(enable_timing=True) for _ in range(2))
    x = adjoint.ones(1 << 24, device="cuda")
    start.record()
    for _ in range(10):
        x = x * 1.0001
    end.record()
    end.synchronize()
    took = start.elapsed_time(end)
    assert 0 < took < 1000
    return f"10 products of 2^24 elements: {took:.3f} ms"


@program(needs_device=True)
def work_does_not_wait() -> str:
    """A call returns before the device has finished."""
    a = adjoint.ones(8192, 8192, device="cuda")
    a @ a
    adjoint.cuda.synchronize()
    stream = adjoint.cuda.current_stream()
    product = a
    for _ in range(10):
        product = product @ a * 1e-4
    assert not stream.query(), "all products were done when the call returned"
    adjoint.cuda.synchronize()
    return "ten products of 8192 x 8192 were still at work"


@program(needs_device=True)
def captured_step() -> str:
    """A step, forward and backward, is captured as a CUDA graph. A launch with new values gives their gradients."""
    x = adjoint.full((1 << 20,), 0.5, device="cuda", requires_grad=True)

    def step() -> Any:
        return adjoint.autograd.grad((adjoint.nn.functional.gelu(x) * x.tanh()).sum(), x)[0]

    side = adjoint.cuda.Stream()
    with adjoint.cuda.stream(side):
        step()
    captured = adjoint.cuda.CUDAGraph()
    with adjoint.cuda.graph(captured):
        gradient = step()
    for value in (0.25, -1.0):
        with adjoint.no_grad():
            x.copy_(adjoint.full((1 << 20,), value, device="cuda"))
        captured.replay()
        adjoint.cuda.synchronize()
        np.testing.assert_allclose(gradient.cpu().numpy(), step().cpu().numpy(), 1e-5)
    times = []
    for run_one in (step, captured.replay):
        start, end = (adjoint.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(100):
            run_one()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 100)
    return f"{times[0]:.4f} ms a step, {times[1]:.4f} ms a launch"


@program(needs_device=True)
def capture_of_a_product_of_matrices() -> str:
    """CuPy cannot capture cuBLAS. Its error reaches the caller, and the device still works."""
    a = adjoint.ones(8, 8, device="cuda")
    a @ a
    adjoint.cuda.synchronize()
    message = "it is captured here"
    try:
        with adjoint.cuda.graph(adjoint.cuda.CUDAGraph()):
            a @ a
    except NotImplementedError as error:
        message = first_line(error)
    assert (a @ a).sum().item() == 512 and not adjoint.cuda.is_current_stream_capturing()
    return message


# memory ---------------------------------------------------------------------------------------------------------------


@program(needs_device=True)
def memory_pool() -> None:
    """The number of used bytes follows the tensors, and idle memory is returned."""
    adjoint.cuda.empty_cache()
    before = adjoint.cuda.memory_allocated()
    x = adjoint.empty(1 << 24, device="cuda")
    assert adjoint.cuda.memory_allocated() - before == 1 << 26
    del x
    assert adjoint.cuda.memory_allocated() == before and adjoint.cuda.memory_reserved() >= 1 << 26
    adjoint.cuda.empty_cache()
    assert adjoint.cuda.memory_reserved() < 1 << 26


@program(needs_device=True)
def memory_of_steps() -> str:
    """Steps leave no memory in use: the amount is the same after the fifth and the fiftieth step."""
    w = adjoint.ones(1 << 20, device="cuda", requires_grad=True)
    amounts = []
    for _ in range(50):
        w.grad = None
        (w.sin() * w).exp().sum().backward()
        amounts.append(adjoint.cuda.memory_allocated())
    assert amounts[4] == amounts[-1], amounts
    return f"{amounts[-1]} bytes in use"


@program()
def save_on_cpu() -> None:
    """Saved values are in main memory, also in pinned memory, and gradients are the same."""
    for pin_memory in (False, True):
        x = adjoint.tensor([1.0, 2.0], device="cuda", requires_grad=True)
        with adjoint.autograd.graph.save_on_cpu(pin_memory=pin_memory):
            y = (x.exp() * x).sum()
        y.backward()
        assert x.grad.is_cuda
        np.testing.assert_allclose(x.grad.cpu().numpy(), np.exp([1, 2]) * [2, 3], 1e-6)


@program(needs_device=True)
def save_on_cpu_frees_the_device() -> str:
    """Values that are saved in main memory use no memory of the device."""
    amounts = {}
    for name, block in (
        ("device", adjoint.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t)),
        ("host", adjoint.autograd.graph.save_on_cpu(pin_memory=True)),
    ):
        x = adjoint.ones(1 << 24, device="cuda", requires_grad=True)
        before = adjoint.cuda.memory_allocated()
        with block:
            y = x.exp().exp().exp().sum()
        amounts[name] = adjoint.cuda.memory_allocated() - before
        y.backward()
        del x, y
    assert amounts["host"] < amounts["device"] / 2, amounts
    return f"{amounts['host'] >> 20} MiB beside {amounts['device'] >> 20} MiB"


@program()
def pinned_memory() -> None:
    """Pinned tensors keep their values and can be copied to the device."""
    x = adjoint.arange(10.0).pin_memory()
    assert x.is_pinned() and x.tolist() == list(range(10))
    assert x.to("cuda", non_blocking=True).sum().item() == 45
    assert adjoint.ones(3, pin_memory=True).is_pinned()


# compiled functions --------------------------------------------------------------------------------------------------


def chain(x: Any, w: Any) -> Any:
    """Elementwise steps, reductions along rows, a matrix product and sums."""
    y = (x * 1.5 + w[0]).tanh().sigmoid() - x.logsumexp(1, keepdim=True)
    return ((y @ w) ** 2).mean() + adjoint.softmax(y, 1).amax(0).sum() + x[:, 1:].abs().log1p().sum()


def as_it_is_and_compiled(function: Callable[..., Any], shapes: Any, rtol: float) -> int:
    """Compare a function with its replays: values and gradients. Returns the number of recordings."""
    compiled = adjoint.compile(function, fullgraph=True)
    for shape in shapes:
        for _ in range(3):  # the first call is recorded, and two are replayed
            leaves = [adjoint.tensor(RNG.normal(size=n), device="cuda", requires_grad=True) for n in shape]
            results = []
            for run in (function, compiled):
                result = run(*leaves)
                results.append([result.detach(), *adjoint.autograd.grad(result, leaves)])
            for expected, ours in zip(*results, strict=True):
                assert ours.is_cuda
                np.testing.assert_allclose(ours.cpu().numpy(), expected.cpu().numpy(), rtol, rtol)
    return compiled.n_recordings


@program()
def compiled_functions() -> str:
    """Replays of regions, reductions and calls give the values and gradients of the function, in several shapes."""
    shapes = [((n, k), (k, k)) for n, k in ((3, 4), (1, 2), (257, 33), (1000, 5))]
    n = as_it_is_and_compiled(chain, shapes, 1e-9)
    assert n == len(shapes), n
    return f"{n} recordings"


@program()
def compiled_functions_of_views() -> None:
    """Regions read and write transposed, strided and broadcast arrays."""

    def function(x: Any, y: Any) -> Any:
        a = x.T * 2 + y[::2, None]
        a[1:, ::3].mul_(a[:-1, ::3].detach().clone())
        b = a.expand(2, *a.shape).sin() * a.flip(0)
        return (b + b.mT.mT).sum() + adjoint.cat([x.T, a]).cos().sum()

    as_it_is_and_compiled(function, [((6, 4), (8,)), ((7, 1), (2,)), ((64, 130), (260,))], 1e-9)


@program()
def compiled_steps_of_training() -> str:
    """Ten whole steps that write parameters in place are the same compiled and eagerly."""
    results = []
    for step_of in (lambda step: step, adjoint.compile):
        rng = np.random.default_rng(3)
        w, b = [adjoint.tensor(rng.normal(size=n), device="cuda", requires_grad=True) for n in ((5, 7), 7)]
        momentum = adjoint.zeros(5, 7, dtype=adjoint.float64, device="cuda")

        def step(x: Any, w: Any = w, b: Any = b, momentum: Any = momentum) -> Any:
            loss = ((x @ w + b).tanh() ** 2).mean()
            loss.backward()
            with adjoint.no_grad():
                momentum.mul_(0.9).add_(w.grad)
                w.sub_(0.1 * momentum)
                b.sub_(0.1 * b.grad)
            w.grad = b.grad = None
            return loss.detach()

        run = step_of(step)
        data = [adjoint.tensor(rng.normal(size=(11, 5)), device="cuda") for _ in range(10)]
        results.append([[float(run(x)) for x in data], w.detach().cpu().numpy(), b.detach().cpu().numpy()])
    for ours, expected in zip(*results, strict=True):
        np.testing.assert_allclose(ours, expected, 1e-9)
    return f"loss {results[1][0][0]:.4f} to {results[1][0][-1]:.4f}"


@program()
def compiled_functions_in_one_kernel() -> str:
    """A chain of elementwise steps on one shape is one kernel, even if it reads many arrays."""
    compiled = adjoint.compile(lambda *parts: sum([part.sin() * k for k, part in enumerate(parts)], start=parts[0]))
    counts = []
    for n in (3, 40):
        parts = [adjoint.tensor(RNG.normal(size=(3, 5)), device="cuda") for _ in range(n)]
        for _ in range(3):
            result = compiled(*parts)
        expected = parts[0].cpu().numpy() + sum([k * np.sin(part.cpu().numpy()) for k, part in enumerate(parts)])
        np.testing.assert_allclose(result.cpu().numpy(), expected, 1e-9)
        counts.append(len(compiled.entries[0].program.order))
    assert counts[0] == 1, counts
    return f"{counts[0]} kernel for 3 arrays, {counts[1]} for 40"


@program(needs_device=True)
def compiled_functions_as_graphs() -> None:
    """A replay without checks, products and random numbers can be captured as a CUDA graph, forward and backward."""
    x = adjoint.tensor(RNG.normal(size=1000), device="cuda", requires_grad=True)
    compiled = adjoint.compile(lambda x: (x.tanh() * 2 + x.exp()).sum())

    def step() -> Any:
        return adjoint.autograd.grad(compiled(x), x)[0]

    with adjoint.cuda.stream(adjoint.cuda.Stream()):
        for _ in range(3):
            step()
    captured = adjoint.cuda.CUDAGraph()
    with adjoint.cuda.graph(captured):
        gradient = step()
    for _ in range(3):
        with adjoint.no_grad():
            x.mul_(0.5)
        captured.replay()
        adjoint.cuda.synchronize()
        ours = x.detach().cpu().numpy()
        np.testing.assert_allclose(gradient.cpu().numpy(), 2 / np.cosh(ours) ** 2 + np.exp(ours), 1e-9)


@program(needs_device=True)
def compiled_functions_on_streams() -> None:
    """Replays on several streams at once do not mix their values."""
    compiled = adjoint.compile(lambda x: (x * 1.01 + 1).tanh().cumsum(0).sin())
    x = adjoint.ones(1 << 20, dtype=adjoint.float64, device="cuda")
    expected = [(x * k * 1.01 + 1).tanh().cumsum(0).sin().cpu().numpy() for k in range(4)]
    inputs = [x * k for k in range(4)]
    compiled(x)
    adjoint.cuda.synchronize()
    streams = [adjoint.cuda.Stream() for _ in range(4)]
    for _ in range(5):
        results = []
        for each, stream in zip(inputs, streams, strict=True):
            with adjoint.cuda.stream(stream):
                results.append(compiled(each))
        adjoint.cuda.synchronize()
        for ours, value in zip(results, expected, strict=True):
            np.testing.assert_allclose(ours.cpu().numpy(), value, 1e-9, 1e-9)


# devices --------------------------------------------------------------------------------------------------------------


@program()
def devices() -> str:
    """Numbers, properties and blocks of devices."""
    assert adjoint.cuda.is_available() and adjoint.cuda.device_count() >= 1
    number = adjoint.cuda.current_device()
    adjoint.cuda.set_device(number)
    with adjoint.cuda.device(number):
        x = adjoint.ones(2, device="cuda")
    assert x.get_device() == number and str(x.device) == f"cuda:{number}"
    major, minor = adjoint.cuda.get_device_capability()
    free, total = adjoint.cuda.mem_get_info()
    assert 0 < free <= total
    assert adjoint.accelerator.is_available()
    return f"{adjoint.cuda.get_device_name()}, capability {major}.{minor}"


@program(needs_device=True)
def two_devices() -> str | None:
    """Tensors of two devices. The program needs two of them."""
    if adjoint.cuda.device_count() < 2:
        return "there is one device"
    x = adjoint.ones(3, device="cuda:1", requires_grad=True)
    (x.to("cuda:0") * 2).sum().backward()
    assert str(x.grad.device) == "cuda:1" and x.grad.tolist() == [2, 2, 2]
    return None


@program()
def devices_do_not_mix() -> None:
    """An operation on a tensor in main memory and a tensor on the device raises an error."""
    with pytest.raises(RuntimeError, match="found at least two devices"):
        adjoint.ones(3, device="cuda") + adjoint.ones(3)


# times ----------------------------------------------------------------------------------------------------------------


@program()
def profiler_times() -> str:
    """The profiler measures times on the device by events."""
    x = adjoint.ones(256, 256, device="cuda", requires_grad=True)
    (x @ x).sum().backward()
    with adjoint.autograd.profiler.profile(use_device="cuda") as prof:
        (x @ x).sin().sum().backward()
    times = {event.name: event.device_time_total for event in prof.function_events}
    assert times["aten::sin"] > 0 and times["SinBackward0"] > 0
    assert "Self CUDA" in prof.key_averages().table(sort_by="self_cuda_time_total")
    return ", ".join(f"{name} {times[name]:.0f} µs" for name in ("aten::sin", "SinBackward0"))


@program("nvtx")
def ranges_of_nvtx() -> None:
    """Ranges for NVIDIA's tools around operations and around blocks of the program."""
    x = adjoint.ones(8, device="cuda", requires_grad=True)
    with adjoint.autograd.profiler.emit_nvtx(), adjoint.cuda.nvtx.range("step"):
        (x * 2).sum().backward()
    adjoint.cuda.nvtx.mark("done")
    assert x.grad.tolist() == [2] * 8


# exchange -------------------------------------------------------------------------------------------------------------


@program("torch", needs_device=True)
def dlpack_to_torch() -> None:
    """A PyTorch tensor shares a tensor's memory."""
    import torch

    x = adjoint.arange(6.0, device="cuda")
    other = torch.from_dlpack(x)
    assert other.is_cuda and other.data_ptr() == x.data_ptr()
    other.mul_(2)
    torch.cuda.synchronize()
    assert x.tolist() == [0, 2, 4, 6, 8, 10]


@program("torch", needs_device=True)
def dlpack_from_torch() -> None:
    """A tensor shares a PyTorch tensor's memory, and has gradients."""
    import torch

    for exchange in (adjoint.from_dlpack, lambda t: adjoint.from_dlpack(torch.utils.dlpack.to_dlpack(t))):
        other = torch.arange(6.0, device="cuda")
        x = exchange(other)
        assert x.is_cuda and x.data_ptr() == other.data_ptr()
        leaf = x.clone().requires_grad_()
        (leaf**2).sum().backward()
        assert leaf.grad.tolist() == [0, 2, 4, 6, 8, 10]


@program()
def arrays_of_cupy() -> None:
    """CuPy's arrays and tensors share memory, in both directions."""
    import cupy

    array = cupy.arange(4.0)
    x = adjoint.as_tensor(array)
    assert x.is_cuda and x.data_ptr() == array.data.ptr
    x.mul_(2)
    assert array.get().tolist() == [0, 2, 4, 6]


# errors ---------------------------------------------------------------------------------------------------------------


@program(needs_device=True)
def out_of_memory() -> str:
    """A tensor that is too large raises OutOfMemoryError, and later operations work."""
    with pytest.raises(adjoint.cuda.OutOfMemoryError) as raised:
        adjoint.empty(1 << 48, device="cuda")
    assert adjoint.ones(3, device="cuda").sum().item() == 3
    return first_line(raised.value)


@program(needs_device=True)
def out_of_memory_in_a_backward_pass() -> None:
    """If memory ends during a backward pass, the error reaches the caller, and the next pass is right."""
    import cupy

    pool = cupy.get_default_memory_pool()
    x = adjoint.ones(1 << 22, device="cuda", requires_grad=True)
    y = (x.exp().sin() * x).sum()
    pool.free_all_blocks()
    pool.set_limit(size=pool.total_bytes())
    try:
        with pytest.raises(adjoint.cuda.OutOfMemoryError):
            y.backward(retain_graph=True)
    finally:
        pool.set_limit(size=0)
    x.grad = None
    y.backward()
    e = np.exp(1.0)
    np.testing.assert_allclose(x.grad.cpu().numpy(), np.sin(e) + e * np.cos(e), 1e-4)


@program(needs_device=True)
def late_errors() -> str:
    """A kernel writes outside of its memory. The error is raised when the program waits for the device."""
    source = """
        import cupy, adjoint
        kernel = cupy.RawKernel('extern "C" __global__ void f(float* x) { x[1ll << 40] = 1; }', "f")
        x = adjoint.ones(4, device="cuda")
        kernel((1,), (1,), (x._array,))
        try:
            adjoint.cuda.synchronize()
        except Exception as error:
            print(type(error).__name__, str(error).split("\\n")[0])
    """
    call = [sys.executable, "-c", textwrap.dedent(source)]
    process = subprocess.run(call, capture_output=True, text=True, timeout=100, check=False)
    assert "CUDA" in process.stdout and "illegal" in process.stdout.lower(), (process.stdout, process.stderr[-500:])
    return process.stdout.strip()[:200]
