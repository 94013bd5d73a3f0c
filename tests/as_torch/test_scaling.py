"""The scaler of losses has PyTorch's steps, scale and errors."""

import pytest

import adjoint
from adjoint.as_torch._private import SDPBackend, sdpa_kernel
from adjoint.as_torch._scaling import GradScaler, cuda_scaler


def fitting(**options):
    """A parameter, its optimizer, and a scaler."""
    parameter = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64, requires_grad=True)
    return parameter, adjoint.optim.SGD([parameter], lr=0.5), GradScaler("cpu", init_scale=4.0, **options)


def test_the_scale_follows_overflows():
    parameter, optimizer, scaler = fitting(growth_interval=2)
    scales, values = [], []
    for overflows in (False, False, True, False):
        optimizer.zero_grad()
        scaler.scale(parameter.sum()).backward()
        if overflows:
            parameter.grad[0] = float("inf")
        scaler.step(optimizer)
        scaler.update()
        scales.append(scaler.get_scale())
        values.append(parameter.tolist())
    assert scales == [4.0, 8.0, 4.0, 4.0]
    assert values == [[0.5, 1.5], [0.0, 1.0], [0.0, 1.0], [-0.5, 0.5]]
    other = GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict() and other.get_growth_interval() == 2


def test_the_order_of_calls():
    parameter, optimizer, scaler = fitting()
    with pytest.raises(AssertionError, match="Attempted unscale_ but _scale is None"):
        scaler.unscale_(optimizer)
    (scaled,), number = scaler.scale([parameter]), scaler.scale(parameter.sum())
    assert adjoint.equal(scaled, parameter * 4)
    number.backward()
    scaler.unscale_(optimizer)
    assert parameter.grad.tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match=r"unscale_\(\) has already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"step\(\) has already been called since"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"unscale_\(\) is being called after step"):
        scaler.unscale_(optimizer)
    scaler.update(16.0)
    assert scaler.get_scale() == 16.0
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable of Tensors"):
        scaler.scale(3)
    parameter.grad = None
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)


def test_a_scaler_that_is_switched_off():
    parameter, optimizer, _ = fitting()
    scaler = GradScaler("cpu", enabled=False)
    scaler.scale(parameter.sum()).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert parameter.tolist() == [0.5, 1.5] and (scaler.get_scale(), scaler.state_dict()) == (1.0, {})
    with pytest.raises(RuntimeError, match="The source state dict is empty"):
        GradScaler("cpu").load_state_dict(scaler.state_dict())
    if not adjoint.cuda.is_available():
        with pytest.warns(UserWarning, match="CUDA is not available"):
            assert not cuda_scaler().is_enabled()


def test_ways_to_compute_attention():
    x = adjoint.tensor([[1.0, 2.0], [3.0, 4.0]])
    attend = adjoint.nn.functional.scaled_dot_product_attention
    with sdpa_kernel([SDPBackend.MATH, SDPBackend.FLASH_ATTENTION]):
        assert adjoint.equal(attend(x, x, x), attend(x, x, x))
    with pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"):
        sdpa_kernel("math")
