"""adjoint.compile on arrays of a device, by the stand-in for CuPy: replays, regions as kernels, and their sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.size import cuda_is_available
from adjoint.compilation.programs import device_program
from adjoint.program.device import FORMS
from adjoint.program.form import BOOL, Form
from support import nvrtc, stand_in_cupy
from support.compiled_comparison import compare, run_compiled
from support.compiled_programs import PROGRAMS
from support.host_kernels import COMPILER, Case, differences

pytestmark = pytest.mark.skipif(cuda_is_available(), reason="there is a device: make test-gpu")

#: Programs whose eager results differ on CuPy's arrays, which lack a function or a check.
UNLIKE = {
    "write_expanded_refused": "adjoint refuses writes to expanded tensors for NumPy's arrays alone",
    "resize": "CuPy's arrays have no __array_interface__",
    "random_kinds": "as it is, it needs a function that CuPy lacks; recorded, it draws in main memory",
    "multinomial": "the same",
    "error_of_kernel": "the error of a factorization has another text",
    "numpy_of_value": "a tensor on a device is no NumPy array",
    "numpy_function_of_detached": "the same",
    "cached_tensor": "a tensor of this device would be kept for other tests",
    "cached_tensor_that_changes": "the same",
}
#: Programs that are not replayed on a device: their arguments are of several devices, or they leave the device.
NOT_REPLAYED = {"index_tensor", "range_of_value", "error_for_index", "text", "array_and_tensor"}


@pytest.fixture
def cupy() -> Iterator[Any]:
    with stand_in_cupy.install() as module:
        stand_in_cupy.KERNELS.clear()
        with adjoint.device("cuda"):
            yield module
        adjoint.compiler.reset()


@pytest.mark.parametrize("name", [name for name in PROGRAMS if name not in UNLIKE])
def test_program(name: str, cupy: Any) -> None:
    case = PROGRAMS[name]._replace(rounded="kernels and CuPy's functions round otherwise")
    compiled, warnings = compare(case)
    if case.recorded and name not in NOT_REPLAYED:
        assert not compiled.refused and warnings == [], list(compiled.refused.values())
        assert compiled.n_recordings <= case.recordings
    else:
        assert compiled.refused


# regions --------------------------------------------------------------------------------------------------------------


def chain(x: Any, b: Any) -> Any:
    for _ in range(10):
        x = (x * b).tanh()
    return x


def test_a_region_is_one_kernel(cupy: Any) -> None:
    x = adjoint.tensor([[0.5, -1.0], [2.0, 0.1]], requires_grad=True)
    b = adjoint.tensor([1.5, 0.5])
    compiled = adjoint.compile(chain)
    expected = chain(x, b)
    (gradient,) = adjoint.autograd.grad(expected.sum(), x)
    compiled(x, b)
    stand_in_cupy.KERNELS.clear()
    result = compiled(x, b)
    assert len(stand_in_cupy.KERNELS) == 1, "twenty steps on one shape are one kernel"
    np.testing.assert_allclose(result.detach().cpu().numpy(), expected.detach().cpu().numpy(), 1e-6)
    np.testing.assert_allclose(adjoint.autograd.grad(result.sum(), x)[0].cpu().numpy(), gradient.cpu().numpy(), 1e-6)
    assert len(stand_in_cupy.KERNELS) == 2
    assert [type(part).__name__ for part in compiled.entries[0].program.order] == ["KernelGroup"]


def test_reductions_are_cupys(cupy: Any) -> None:
    compiled = adjoint.compile(lambda x: adjoint.logsumexp(x * 2, 1))
    x = adjoint.tensor([[0.5, -1.0, 2.0], [0.1, 0.2, 0.3]])
    for _ in range(2):
        result = compiled(x)
    np.testing.assert_allclose(result.cpu().numpy(), np.log(np.exp(2 * x.cpu().numpy()).sum(1)), 1e-6)
    alone = [part for part in compiled.entries[0].program.order if getattr(part, "is_alone", False)]
    assert [part.instructions[0].name for part in alone] == ["add.reduce"]


def test_what_has_no_expression_is_cupys(cupy: Any) -> None:
    compiled = adjoint.compile(lambda n: (n * 3 + 1, n.to(adjoint.float64) * 0.5 + 1))
    n = adjoint.tensor([1, 2, 3])
    for _ in range(2):
        whole, half = compiled(n)
    assert whole.tolist() == [4, 7, 10] and half.tolist() == [1.5, 2.0, 2.5] and whole.is_cuda


def test_many_arguments_are_several_kernels(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_program, "MOST_BYTES", 5 * 32)
    tensors = [adjoint.tensor([float(k), 1.0]) for k in range(12)]
    compiled = adjoint.compile(lambda *parts: [part.sin() * 2 + parts[0] for part in parts])
    for _ in range(2):
        actual = compiled(*tensors)
    for result, tensor in zip(actual, tensors, strict=True):
        np.testing.assert_allclose(result.cpu().numpy(), np.sin(tensor.cpu().numpy()) * 2 + [0, 1], 1e-6)
    groups = compiled.entries[0].program.order
    assert len(groups) > 2
    scratch = compiled.entries[0].program.scratch
    assert all(device_program.Elements(group, scratch).n_bytes <= 5 * 32 for group in groups)


def test_writes_in_place_and_steps_of_training(cupy: Any) -> None:
    def train(step_of: Any) -> Any:
        weight = adjoint.tensor([[1.0, -2.0, 3.0]], requires_grad=True)

        def step(target: Any) -> Any:
            loss = ((weight.T * 2 - target) ** 2).sum()
            loss.backward()
            with adjoint.no_grad():
                weight.sub_(0.01 * weight.grad)
                weight[:, ::2].mul_(0.5)
            weight.grad = None
            return loss.detach()

        step = step_of(step)
        losses = [float(step(adjoint.tensor([[1.0], [2.0], [k]]))) for k in range(4)]
        return losses, weight.detach().cpu().numpy(), weight._version

    actual, expected = train(adjoint.compile), train(lambda step: step)
    np.testing.assert_allclose(actual[0], expected[0], 1e-6)
    np.testing.assert_allclose(actual[1], expected[1], 1e-6)
    assert actual[2] == expected[2]


def test_views_of_one_memory_stay_views(cupy: Any) -> None:
    def write(x: Any, y: Any) -> Any:
        x.mul_(2)
        return y + 1

    compiled = adjoint.compile(write)
    for start in (0, 0, 2, 2):
        first, other = adjoint.arange(6.0), adjoint.arange(6.0)
        result = compiled(first[:3], first[start : start + 3])
        assert result.tolist() == write(other[:3], other[start : start + 3]).tolist()
        assert first.tolist() == other.tolist()
    assert compiled.n_recordings == 2


def test_several_devices(cupy: Any) -> None:
    compiled = adjoint.compile(lambda x, y: x * y)
    with pytest.raises(RuntimeError, match="same device"):
        compiled(adjoint.ones(2), adjoint.ones(2, device="cpu"))
    with pytest.warns(UserWarning, match="uses tensors of several devices"):
        assert compiled(adjoint.ones(2), adjoint.tensor(2.0, device="cpu")).tolist() == [2.0, 2.0]
    adding = adjoint.compile(lambda x: x * adjoint.ones(2, device="cpu"))
    with pytest.raises(RuntimeError, match="same device"):
        adding(adjoint.ones(2))
    number = adjoint.compile(lambda x: x * adjoint.tensor(3.0, device="cpu"))
    assert [number(adjoint.ones(2)).tolist() for _ in range(2)] == [[3.0, 3.0]] * 2 and not number.refused
    back = adjoint.compile(lambda x: (x * 2).cpu())
    with pytest.warns(UserWarning, match="moves a tensor from one device to another"):
        assert [back(adjoint.ones(2)).device.type for _ in range(2)] == ["cpu", "cpu"]
    drawing = adjoint.compile(lambda x: adjoint.rand(2, device="cpu"))
    with pytest.warns(UserWarning, match="returned a tensor in main memory"):
        assert [drawing(adjoint.ones(2)).device.type for _ in range(2)] == ["cpu", "cpu"]


def test_a_recording_is_for_one_device(cupy: Any) -> None:
    compiled = adjoint.compile(lambda x: x * 2 + 1)
    for device in ("cuda", "cpu", "cuda", "cpu"):
        result = compiled(adjoint.ones(2, device=device))
        assert result.device.type == device and result.tolist() == [3.0, 3.0]
    assert compiled.n_recordings == 2


def test_random_numbers(cupy: Any) -> None:
    def function(x: Any) -> Any:
        return adjoint.nn.functional.dropout(x, 0.5) + adjoint.rand_like(x)

    compiled = adjoint.compile(function)
    for seed in range(4):
        adjoint.manual_seed(seed)
        expected = function(adjoint.ones(5))
        adjoint.manual_seed(seed)
        assert compiled(adjoint.ones(5)).tolist() == expected.tolist()
    assert compiled.n_recordings == 1


def test_steps_are_captured_as_graphs(cupy: Any) -> None:
    x = adjoint.ones(3)
    compiled = adjoint.compile(lambda x: (x * 2 + 1).tanh())
    for _ in range(2):
        compiled(x)
    captured = adjoint.cuda.CUDAGraph()
    stand_in_cupy.CALLS.clear()
    with adjoint.cuda.graph(captured):
        result = compiled(x)
    calls = stand_in_cupy.CALLS[stand_in_cupy.CALLS.index("begin_capture 2") : stand_in_cupy.CALLS.index("end_capture")]
    assert not any("synchronize" in call for call in calls), "a capture must not wait for the device"
    captured.replay()
    assert result.is_cuda


# sources --------------------------------------------------------------------------------------------------------------


def region_cases() -> list[Case]:
    """The regions of all programs, with numbers as their inputs."""
    forms: dict[Form, str] = {}
    with stand_in_cupy.install(), adjoint.device("cuda"):
        for name, case in PROGRAMS.items():
            if name not in UNLIKE and case.recorded and name not in NOT_REPLAYED:
                FORMS.clear()
                run_compiled(case)
                for form in FORMS.values():
                    if isinstance(form.results, tuple):
                        forms.setdefault(form, f"{name}: {form}")
    rng = np.random.default_rng(0)
    cases = []
    for form, name in forms.items():
        arrays = [
            rng.uniform(0.1, 2, 7) > 1 if dtype == BOOL else rng.uniform(0.1, 2, 7).astype(dtype)
            for dtype in form.inputs
        ]
        cases.append(Case(name, form, arrays, is_region=True))
    return cases


@pytest.fixture(scope="module")
def regions() -> list[Case]:
    return region_cases()


@pytest.mark.quick(0)
@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
def test_sources_give_numpys_values(regions: list[Case], tmp_path: Path) -> None:
    assert len(regions) > 100
    assert not differences(regions, tmp_path)


@pytest.mark.skipif(nvrtc.library() is None, reason="NVRTC is not installed")
def test_nvrtc_compiles_the_sources(regions: list[Case]) -> None:
    text = "".join(nvrtc.kernel(f"f{k}", case.form, case.inputs, case.outputs) for k, case in enumerate(regions))
    assert ".entry" in nvrtc.compile_to_ptx(text)
