"""Ranges for other programs: names, nesting, and errors without the packages."""

import sys
from types import SimpleNamespace

import pytest

import adjoint
from adjoint.autograd.profiler import emit_itt, emit_nvtx, profile, record_function
from adjoint.core.modes.profiling import current_profiler
from adjoint.tools.profiler.ranges import emit_ranges


@pytest.fixture
def ranges(monkeypatch):
    """The calls of a stand-in for nvtx: the names of ranges, and None for each end."""
    calls = []
    fake = SimpleNamespace(push_range=calls.append, pop_range=lambda: calls.append(None))
    monkeypatch.setitem(sys.modules, "nvtx", fake)
    return calls


def test_names_of_ranges_connect_forward_and_backward(ranges):
    x = adjoint.ones(2, 3, requires_grad=True)
    with emit_nvtx() as context:
        y = x * 2
        number = y.grad_fn._sequence_nr()
        with record_function("loss"):
            loss = y.sum()
        loss.backward()
    assert isinstance(context, emit_nvtx)
    assert ranges[:2] == [f"aten::mul, seq={number}", None]
    assert ranges[2:6] == ["loss", f"aten::sum, seq={number + 1}", None, None]
    start = ranges.index(f"MulBackward0, stashed seq={number}")
    # a pass without a recording has no sequence numbers
    assert ranges[start + 1 : start + 4] == ["aten::mul, seq=0", None, None]
    assert ranges[-2:] == ["torch::autograd::AccumulateGrad", None]
    assert ranges.count(None) * 2 == len(ranges)
    assert x.grad.tolist() == [[2.0] * 3] * 2
    assert current_profiler() is None


def test_sizes_and_double_backward(ranges):
    x = adjoint.ones(2, 3, requires_grad=True)
    with emit_nvtx(record_shapes=True):
        (g,) = adjoint.autograd.grad((x**3).sum(), x, create_graph=True)
    assert "sizes=[[2, 3], []]" in ranges[0] and ranges[0].startswith("aten::pow, seq=")
    (node,) = [name for name in ranges if name and name.startswith("PowBackward0, stashed seq=")]
    assert node.endswith(", sizes=[[2, 3]]")
    following = ranges[ranges.index(node) + 1 :]
    numbers = [int(name.split("seq=")[1].split(",")[0]) for name in following if name and name.startswith("aten::mul")]
    assert numbers[-1] == g.grad_fn._sequence_nr()


def test_a_range_is_closed_when_its_operation_fails(ranges):
    with emit_nvtx(), pytest.raises(RuntimeError):
        adjoint.ones(2) @ adjoint.ones(3)
    assert ranges.count(None) * 2 == len(ranges)


def test_disabled_not_reentrant_and_custom_functions(ranges):
    class Same(adjoint.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

    off = emit_nvtx(enabled=False)
    with off as context:
        adjoint.ones(2) * 2
    assert context is None and ranges == []
    on = emit_nvtx()
    with on:
        Same.apply(adjoint.ones(2))
    assert [name.split(",")[0] for name in ranges if name] == ["aten::ones", "Same", "aten::clone"]
    with pytest.raises(RuntimeError, match="NVTX annotation context manager is not reentrant"):
        on.__enter__()
    with pytest.raises(NotImplementedError, match="emit_ranges does not say how to open a range"):
        emit_ranges().functions(None)


@pytest.mark.parametrize(("make", "package"), [(emit_nvtx, "nvtx"), (emit_itt, "ittapi")])
def test_missing_package_is_named_with_its_extra(make, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ImportError, match=rf'{make.__name__} needs the package {package}.*"adjoint-autograd\[{package}\]"'
    ):
        make().__enter__()
    assert current_profiler() is None


@pytest.mark.parametrize(("make", "package"), [(emit_nvtx, "nvtx"), (emit_itt, "ittapi")])
def test_real_packages_take_the_ranges(make, package):
    pytest.importorskip(package)
    x = adjoint.ones(2, requires_grad=True)
    with make(record_shapes=True), record_function("label"):
        (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_ranges_and_a_profiler_take_turns(ranges):
    x = adjoint.ones(2)
    with emit_nvtx():
        with profile() as prof:
            x.exp()
        x.sin()
    assert [event.name for event in prof.function_events] == ["aten::exp"]
    assert [name.split(",")[0] for name in ranges if name] == ["aten::sin"]
