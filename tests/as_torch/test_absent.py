"""Names of torch that are left out can be imported under the name torch, and say at their use why they are absent."""

import pytest

import adjoint
from adjoint.as_torch import _absent as absent_names
from adjoint.tensor.older.left_out import LEFT_OUT
from support.as_torch import run


def test_left_out_names_can_be_imported_but_not_called():
    run("""
        import torch, torch.fx, torch.distributed.tensor
        from torch.fx.proxy import Proxy
        from torch.nn import LazyLinear, Linear
        from torch.utils.data.distributed import DistributedSampler
        class Tracer(Proxy):
            pass
        def is_refused(function, name):
            try:
                function()
            except NotImplementedError as error:
                return str(error).startswith(f"{name} is left out of adjoint on purpose: ")
        assert Linear is torch.nn.Linear
        assert is_refused(LazyLinear, "torch.nn.LazyLinear")
        assert is_refused(Tracer, "torch.fx.proxy.Proxy")
        assert is_refused(lambda: torch.fx.wrap("len"), "torch.fx.wrap")
        assert is_refused(lambda: DistributedSampler([1]), "torch.utils.data.distributed.DistributedSampler")
        assert is_refused(lambda: bool(Proxy), "torch.fx.proxy.Proxy")
        assert not isinstance(torch.ones(2), Proxy | torch.distributed.tensor.DTensor | torch.SymInt)
        assert not hasattr(Tracer, "fermata")
        assert repr(torch.fx.Node) == "<torch.fx.Node: left out of adjoint>"
        assert torch.fx.Node is torch.fx.Node and torch.fx.Node[int] is torch.fx.Node
        import torch.distributed.rpc
        assert torch.distributed.rpc.is_available() is False
    """)


def test_absent_names_stay_out_of_adjoint():
    run("""
        import adjoint, torch.fx
        from torch.nn import LazyLinear
        assert not hasattr(adjoint, "fx") and not hasattr(adjoint.nn, "LazyLinear")
        assert not hasattr(torch, "while_loop"), "a function is asked for by its name"
        for name in ("fermata", "fx.fermata.x"):
            try:
                __import__(f"torch.nn.{name}")
            except ModuleNotFoundError:
                continue
            raise AssertionError(name)
    """)


def test_small_dtypes_are_absent_and_have_limits():
    run("""
        import torch
        assert not isinstance(torch.float8_e4m3fn, torch.dtype) and torch.ones(1).dtype != torch.float8_e4m3fn
        assert float(torch.finfo(torch.float8_e4m3fn).max) == 448.0
        assert torch.finfo(torch.float64).eps == 2.0**-52 and torch.finfo().bits == 32
    """)


@pytest.mark.parametrize("path", sorted(absent_names._LIKE))
def test_modules_have_the_reason_of_a_name_in_the_table(path):
    assert absent_names._LIKE[path] in LEFT_OUT
    assert absent_names.group_of(f"torch.{path}.inner") is LEFT_OUT[absent_names._LIKE[path]]


def test_nothing_that_exists_is_absent():
    for module in (adjoint, adjoint.nn, adjoint.distributed):
        space = module.__name__.partition(".")[2]
        for name in dir(module):
            assert not absent_names.is_absent(".".join(part for part in ("torch", space, name) if part))


def test_operations_of_a_block_are_counted():
    text = run("""
        import torch
        from torch.utils.flop_counter import FlopCounterMode
        layer, x = torch.nn.Linear(4, 5), torch.ones(3, 4)
        with FlopCounterMode() as counter:
            layer(x).tanh().sum().backward()
        # a product forward, and one for the weights backward
        assert counter.get_total_flops() == 2 * 120, counter.get_flop_counts()
        with counter, torch.no_grad():
            torch.nn.functional.conv1d(torch.ones(1, 2, 8), torch.ones(3, 2, 3))
        assert counter.get_flop_counts() == {"Global": {"convolution": 2 * 18 * 6}}
        try:
            FlopCounterMode(custom_mapping={1: 2})
        except NotImplementedError as error:
            assert "custom_mapping is left out" in str(error)
        else:
            raise AssertionError
    """)
    assert [line.split()[-1] for line in text.splitlines() if line.startswith("all")] == ["240", "216"]
