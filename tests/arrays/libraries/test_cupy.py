"""Tensors over CuPy's arrays. On a machine without a GPU a stand-in records the calls; it cannot show their speed."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import adjoint
from adjoint.arrays.libraries.cupy_namespace import Extension, MissingFunction
from adjoint.arrays.namespace import namespace
from adjoint.arrays.size import cuda_is_available
from adjoint.rules import TABLE, Rule
from adjoint.tensor.table import ops
from support import stand_in_cupy
from support.other_arrays import GapList, Library

#: Rules that do not work on CuPy's arrays, with the reason.
LISTED = GapList.read("cupy")

on_gpu = pytest.mark.skipif(not cuda_is_available(), reason="no CUDA device here: nothing has run on a GPU")


@pytest.fixture(scope="module")
def cupy() -> Iterator[ModuleType]:
    """CuPy if there is a device, else the stand-in."""
    if cuda_is_available():
        import cupy

        yield cupy
        return
    with stand_in_cupy.install() as module:
        yield module


def library_of(cupy: ModuleType) -> Library:
    return Library(cupy.asarray, lambda array: array.get(), cupy.ndarray)


@pytest.fixture
def x(cupy: ModuleType) -> Any:
    return adjoint.tensor([1.0, 2.0], device="cuda", requires_grad=True)


# rules ----------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Casting complex values")
@pytest.mark.parametrize("rule", TABLE.values(), ids=list(TABLE))
def test_rule(rule: Rule, cupy: ModuleType) -> None:
    LISTED.check(library_of(cupy), rule)


def test_gaps_name_rules() -> None:
    assert set(LISTED.gaps) <= set(TABLE)


# devices --------------------------------------------------------------------------------------------------------------


def test_where_a_tensor_lies(x: Any) -> None:
    assert str(x.device) == "cuda:0" and x.is_cuda and not x.is_cpu and x.get_device() == 0
    host = x.detach().cpu()
    assert str(host.device) == "cpu" and host.is_cpu and host.get_device() == -1 and isinstance(host._array, np.ndarray)
    assert repr(x) == "tensor([1., 2.], device='cuda:0', requires_grad=True)"


def test_moving(x: Any) -> None:
    assert x.cuda() is x and x.to("cuda") is x and x.to(x.device) is x and x.to("cuda", copy=True) is not x
    assert x.to("cpu", adjoint.float64).dtype is adjoint.float64
    host = adjoint.tensor([3.0, 4.0])
    assert host.cpu() is host and host.to("cuda:0").tolist() == [3, 4] and host.to(x).is_cuda
    assert host.to_device("cuda").is_cuda


def test_moving_is_differentiated(x: Any) -> None:
    host = adjoint.tensor([3.0, 4.0], requires_grad=True)
    (host.cuda() * x).sum().backward()
    assert host.grad.tolist() == [1, 2] and host.grad.is_cpu and x.grad.tolist() == [3, 4] and x.grad.is_cuda
    on_device = host.cuda()
    assert on_device.grad_fn.name() == "ToCopyBackward0"
    first = adjoint.autograd.grad((on_device**3).sum(), host, create_graph=True)[0]
    assert adjoint.autograd.grad(first.sum(), host)[0].tolist() == [18, 24]
    _, tangent = adjoint.func.jvp(lambda v: v.cuda() * 2, (host.detach(),), (adjoint.ones(2),))
    assert tangent.is_cuda and tangent.tolist() == [2, 2]


@pytest.mark.parametrize("make", ["zeros", "ones", "empty", "rand", "randn"])
def test_made_on_a_device(make: str, cupy: ModuleType) -> None:
    tensor = getattr(adjoint, make)(2, 3, device="cuda")
    assert tensor.is_cuda and tensor.shape == (2, 3) and isinstance(tensor._array, cupy.ndarray)


def test_made_like_a_tensor(x: Any) -> None:
    assert adjoint.zeros_like(x).is_cuda and x.new_zeros(3).is_cuda and x.new_tensor([1]).is_cuda
    assert x.new_full((2,), 3.0).tolist() == [3, 3] and x.new_ones(2, device="cpu").is_cpu
    assert adjoint.as_tensor([1.0], device="cuda").is_cuda and adjoint.arange(3, device="cuda").tolist() == [0, 1, 2]


def test_the_same_random_numbers_as_on_the_host(cupy: ModuleType) -> None:
    adjoint.manual_seed(3)
    expected = adjoint.randn(4)
    adjoint.manual_seed(3)
    assert adjoint.randn(4, device="cuda").tolist() == expected.tolist()


def test_numbers_and_indices_come_from_the_host(x: Any) -> None:
    assert (x + adjoint.tensor(1.0)).tolist() == [2, 3] and (2 * x).is_cuda
    assert x[adjoint.tensor([1, 1])].tolist() == [2, 2]
    y = x * 1
    y[adjoint.tensor([0])] = 5.0
    y.sum().backward()
    assert y.tolist() == [5, 2] and x.grad.tolist() == [0, 1]


TWO_DEVICES = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"


@pytest.mark.parametrize(
    "call",
    [lambda x, y: x + y, lambda x, y: y * x, adjoint.matmul, lambda x, y: adjoint.cat([y, x]), adjoint.where],
    ids=["add", "mul", "matmul", "cat", "where"],
)
def test_devices_do_not_mix(call: Any, x: Any) -> None:
    arguments = (x > 1, x, adjoint.ones(2)) if call is adjoint.where else (x, adjoint.ones(2))
    with pytest.raises(RuntimeError, match=TWO_DEVICES):
        call(*arguments)


def test_no_silent_way_to_the_host(x: Any) -> None:
    message = r"can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu\(\) to copy the tensor to host memory"
    with pytest.raises(TypeError, match=message):
        x.detach().numpy()
    with pytest.raises(TypeError, match=message):
        np.asarray(x.detach())
    assert x.numpy(force=True).tolist() == [1, 2] and x[0].item() == 1 and float(x.detach()[1]) == 2


def test_what_cupy_lacks_says_so(x: Any) -> None:
    with pytest.raises(MissingFunction, match=r"arrays of cupy have no special\.spence, .* say tensor\.cpu\(\)"):
        ops.spence(x)


def test_bfloat16_is_refused(cupy: ModuleType) -> None:
    with pytest.raises(TypeError, match="CuPy has no bfloat16"):
        adjoint.ones(2, dtype=adjoint.bfloat16).cuda()


# the engine -----------------------------------------------------------------------------------------------------------


def test_views_and_in_place(x: Any) -> None:
    a = (x * 1)[None].expand(2, 2).clone()
    row = a[0]
    row.mul_(10)
    assert a.tolist() == [[10, 20], [1, 2]] and row._is_view() and a._version == 1
    a.sum().backward()
    assert x.grad.tolist() == [11, 11]


def test_memory(x: Any) -> None:
    a = adjoint.arange(6.0, device="cuda").requires_grad_()
    a.as_strided((2, 2), (3, 1), 1).sum().backward()
    assert a.grad.tolist() == [0, 1, 1, 0, 1, 1]
    assert a[2:].storage_offset() == 2 and a[2:].data_ptr() - a.data_ptr() == 8 and a.untyped_storage().nbytes() == 24
    assert a.reshape(2, 3).T[1:].storage_offset() == 1
    with pytest.raises(RuntimeError, match="are out of bounds for storage of size 24"):
        a.as_strided((3, 3), (3, 1))


def test_saved_values_are_checked(x: Any) -> None:
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        z.sum().backward()


def test_accumulation_hooks_and_higher_orders(x: Any) -> None:
    notes = []
    x.register_hook(lambda g: notes.append(str(g.device)))
    for _ in range(2):
        (x**3).sum().backward()
    assert x.grad.tolist() == [6, 24] and notes == ["cuda:0"] * 2
    hessian = adjoint.func.hessian(lambda v: (v**3).sum())(x.detach())
    assert hessian.tolist() == [[6, 0], [0, 12]] and hessian.is_cuda
    assert adjoint.func.vmap(lambda v: v.sum())(adjoint.ones(3, 2, device="cuda")).tolist() == [2, 2, 2]


@pytest.mark.parametrize("pin_memory", [False, True])
def test_save_on_cpu(pin_memory: bool, x: Any) -> None:
    with adjoint.autograd.graph.save_on_cpu(pin_memory=pin_memory):
        y = (x.exp() * x).sum()
    assert all(isinstance(saved._array, np.ndarray) for saved in saved_values(y))
    y.backward()
    assert x.grad.is_cuda
    np.testing.assert_allclose(x.grad.cpu().numpy(), np.exp([1, 2]) * [2, 3], 1e-6)


def saved_values(tensor: Any) -> list[Any]:
    """The saved arrays of all nodes behind a tensor, still packed."""
    result, stack = [], [tensor.grad_fn]
    while stack:
        node = stack.pop()
        for name in dir(node):
            if name.startswith("_raw_saved_"):
                packed = getattr(node, name).data if hasattr(getattr(node, name), "data") else None
                result += [packed] if isinstance(packed, adjoint.Tensor) else []
        stack += [edge for edge, _ in node.next_functions if edge is not None]
    return result


def test_dtypes(cupy: ModuleType) -> None:
    x = adjoint.ones(3, dtype=adjoint.float16, device="cuda", requires_grad=True)
    (x * 2).sum().backward()
    assert x.grad.dtype is adjoint.float16 and (adjoint.ones(2, device="cuda") > 0).dtype is adjoint.bool
    z = adjoint.tensor([1 + 2j], device="cuda", requires_grad=True)
    (z * z.conj()).real.sum().backward()
    assert z.grad.tolist() == [2 + 4j]


# a real device --------------------------------------------------------------------------------------------------------


@on_gpu
@pytest.mark.gpu
def test_a_training_step_has_the_hosts_gradients() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in ((64, 100), (100, 50), (50, 10))]
    gradients = []
    for device in ("cpu", "cuda"):
        x, first, second = (adjoint.tensor(a, device=device, requires_grad=True) for a in arrays)
        adjoint.nn.functional.log_softmax((x @ first).tanh() @ second, 1).square().mean().backward()
        gradients.append([t.grad.cpu().numpy() for t in (x, first, second)])
    for host, gpu in zip(*gradients, strict=True):
        np.testing.assert_allclose(gpu, host, rtol=1e-9, atol=1e-12)


@on_gpu
@pytest.mark.gpu
def test_backward_runs_on_the_stream_that_is_current() -> None:
    import cupy

    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        x = adjoint.ones(1 << 20, device="cuda", requires_grad=True)
        (x.sin() * 2).sum().backward()
    stream.synchronize()
    np.testing.assert_allclose(x.grad.cpu().numpy(), 2 * np.cos(np.ones(1 << 20)), 1e-5)


def test_views_stay_in_their_memory(x: Any) -> None:
    with pytest.raises(RuntimeError, match="setStorage: sizes"):
        namespace(x._array).view_with_strides(x._array, (5,), (4,))


def test_modules_have_no_private_names() -> None:
    special = Extension(None, "cupyx.scipy.special", "special")  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match=r"^__nothing__$"):
        getattr(special, "__nothing__")  # noqa: B009


# exchange of memory with other libraries ------------------------------------------------------------------------------


class OnDevice:
    """An object whose memory is on a CUDA device."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


@pytest.mark.skipif(cuda_is_available(), reason="make test-gpu exchanges memory with PyTorch")
def test_memory_of_a_device_becomes_a_tensor_there(cupy: ModuleType) -> None:
    array = cupy.arange(3.0)
    cupy.from_dlpack = lambda source, copy=None: array if isinstance(source, OnDevice) else None  # type: ignore[attr-defined]
    x = adjoint.from_dlpack(OnDevice())
    assert x.is_cuda and x.data_ptr() == array.data.ptr


def test_the_device_in_a_capsule() -> None:
    from adjoint.interop.dlpack import _device_in

    array = np.ones(3)
    assert _device_in(array.__dlpack__()) == _device_in(array.__dlpack__(max_version=(1, 0))) == (1, 0)
    capsule = array.__dlpack__()
    np.from_dlpack(
        type("Taker", (), {"__dlpack__": lambda self, **o: capsule, "__dlpack_device__": lambda self: (1, 0)})()
    )
    assert _device_in(capsule) == (1, 0)
