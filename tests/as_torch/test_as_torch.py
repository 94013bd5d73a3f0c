"""adjoint under the name torch. Each test runs in another process, since the name belongs to another library."""

import json
import subprocess
import sys

import pytest

import adjoint
from adjoint import jit
from adjoint.as_torch import _names as names
from adjoint.as_torch import _private as private
from support.as_torch import run


def test_modules():
    run("""
        import importlib, sys
        import adjoint
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        from torch import Tensor
        from torch.autograd import Function
        from torch.nn.functional import relu
        from torch.utils.data import DataLoader
        from torch.distributions.multivariate_normal import MultivariateNormal
        from torch.distributions.utils import broadcast_all
        import torch.utils._pytree
        assert Tensor is adjoint.Tensor and relu is adjoint.nn.functional.relu is F.relu
        assert torch.add is adjoint.add and torch.float32 is adjoint.float32
        assert Function is adjoint.autograd.Function
        assert MultivariateNormal is adjoint.distributions.MultivariateNormal
        assert sys.modules["torch.nn.functional"] is F is torch.nn.functional
        assert torch.tensor([1.0]).requires_grad is False
        x = torch.ones(2, requires_grad=True)
        (x * x).sum().backward()
        assert x.grad.tolist() == [2, 2]
        for name in ("torch.core", "torch.numpy", "torch.fermata", "torch.distributions.fermata", "torch._six"):
            assert importlib.util.find_spec(name) is None, name
        assert importlib.util.find_spec("torch") is not None
        assert adjoint.nn.functional is not F and "relu" in dir(F)
    """)


def test_functions_keep_their_names_after_imports_of_modules():
    """torch has modules and functions of the same name, and both can be imported in any order."""
    run("""
        import importlib, torch
        pairs = ["torch.autograd.gradcheck", "torch.nn.utils.weight_norm", "torch.nn.utils.spectral_norm"]
        for full in pairs:
            parent, _, name = full.rpartition(".")
            before = getattr(importlib.import_module(parent), name)
            module = importlib.import_module(full)
            after = getattr(importlib.import_module(parent), name)
            assert before is after is getattr(module, name) and callable(after), full
        from torch.autograd.gradcheck import GradcheckError
        from torch.nn.utils.weight_norm import WeightNorm
        from torch.nn.utils.spectral_norm import SpectralNorm
        model = torch.nn.utils.spectral_norm(torch.nn.Linear(2, 3))
        assert [type(hook) for hook in model._forward_pre_hooks.values()] == [SpectralNorm]
        import torch.nn.modules.linear, torch.optim.adam
        assert torch.nn.modules.linear.Linear is torch.nn.Linear and torch.optim.adam.Adam is torch.optim.Adam
    """)


def test_versions_and_features():
    run("""
        import importlib.metadata
        import torch
        from torch.torch_version import TorchVersion
        assert isinstance(torch.__version__, str) and torch.__version__ >= "2.9" and torch.__version__ < (3, 0)
        assert TorchVersion("1.10.0+cpu") > "1.9" and TorchVersion("2.0") == "2.0.0" and not TorchVersion("2") < "2.0"
        assert importlib.metadata.version("torch") == torch.__version__
        assert torch.version.cuda is None and torch.version.debug is False
        assert not torch.cuda.is_available() and not torch.backends.mps.is_available()
        assert not torch.distributed.is_available() and not torch.jit.is_scripting()
        assert not torch.is_autocast_enabled() and not torch.onnx.is_in_onnx_export()
        assert torch.multiprocessing.cpu_count() > 0
    """)


def test_what_is_set_is_set_behind():
    run("""
        import adjoint, torch
        torch.backends.cudnn.benchmark = True
        assert adjoint.backends.cudnn.benchmark is True is torch.backends.cudnn.benchmark
        adjoint.backends.cudnn.benchmark = False
        assert torch.backends.cudnn.benchmark is False
        own = torch.nn.functional.relu
        torch.nn.functional.relu = len
        assert adjoint.nn.functional.relu is len is torch.nn.functional.relu
        torch.nn.functional.relu = own
        torch.extra = 3
        assert torch.extra == 3
        del torch.extra
        assert not hasattr(torch, "extra")
    """)


def test_errors_say_why():
    run("""
        import torch
        for module, name in ((torch, "while_loop"), (torch, "sym_max"), (torch.distributed, "all_reduce")):
            try:
                getattr(module, name)
            except AttributeError as error:
                assert "left out of adjoint on purpose" in str(error), error
            else:
                raise AssertionError(name)
        try:
            torch.fermata
        except AttributeError as error:
            assert str(error) == "module 'adjoint' has no attribute 'fermata'", error
    """)


def test_the_name_is_given_back():
    run("""
        import sys
        import torch
        assert adjoint.as_torch.is_installed()
        adjoint.as_torch.install()
        adjoint.as_torch.uninstall()
        assert not adjoint.as_torch.is_installed() and "torch" not in sys.modules
        sys.modules["torch"] = json = type(sys)("torch")
        try:
            adjoint.as_torch.install()
        except RuntimeError as error:
            assert "is imported already" in str(error)
        else:
            raise AssertionError
    """)


def test_modules_are_pickled_by_name():
    run("""
        import copy, pickle, torch
        assert pickle.loads(pickle.dumps(torch.nn)) is torch.nn is copy.copy(torch.nn)
    """)


@pytest.mark.parametrize("as_module", [False, True])
def test_programs(tmp_path, as_module):
    (tmp_path / "helper.py").write_text("import torch\nvalue = torch.ones(2).sum().item()\n")
    script = tmp_path / "program.py"
    script.write_text("import json, sys, helper\nprint(json.dumps([__name__, helper.value, sys.argv[1:]]))\n")
    what = ["-m", "program"] if as_module else [str(script)]
    command = [sys.executable, "-m", "adjoint.as_torch", *what, "-a", "b"]
    source = [path for path in sys.path if path.endswith("src")]
    import os

    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*source, os.environ.get("PYTHONPATH", "")])}
    process = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout) == ["__main__", 2.0, ["-a", "b"]]


def test_without_a_program():
    process = subprocess.run([sys.executable, "-m", "adjoint.as_torch"], capture_output=True, text=True)
    assert process.returncode == 1 and process.stderr.startswith("usage: python -m adjoint.as_torch")


def test_the_places_of_all_names_exist():
    run("""
        from importlib import import_module
        from adjoint.as_torch._names import _PUBLIC, _MIRRORS, source_of
        from adjoint.as_torch._private import NAMES
        for table in (_PUBLIC, NAMES):
            for module, own in table.items():
                for name in own:
                    getattr(import_module(module), name)
        for module, source in _MIRRORS.items():
            assert "*" in module or import_module(module)
            # a module of adjoint's is not hidden
            if "*" not in module and not source:
                try:
                    import_module(module.replace("torch", "adjoint", 1))
                except ModuleNotFoundError:
                    continue
                raise AssertionError(module)
    """)


def test_private_names_say_for_whom():
    rows = private._ROWS.strip().splitlines()
    assert all(len(row.split(maxsplit=2)) == 3 for row in rows)
    full = [row.split()[0] for row in rows]
    assert len(full) == len(set(full))
    assert str(private.version) == names.VERSION


def test_private_functions():
    as_tuple, basis = private.as_tuple, private.standard_basis
    x = adjoint.ones(2)
    assert as_tuple(x)[0] is False and as_tuple((x,))[1] == (x,)
    with pytest.raises(TypeError, match="The inputs given to f must be either a Tensor or a tuple of Tensors but"):
        as_tuple((x, 3), "inputs", "f")
    first, second = basis((adjoint.ones(2), adjoint.ones(1)), (2, 1))
    assert first.tolist() == [[1, 0], [0, 1], [0, 0]] and second.tolist() == [[0], [0], [1]]
    assert private.as_before(((x,),), (False, False)) is x and private.as_before((x,), True) == (x,)
    needs = adjoint.ones(2, requires_grad=True)
    assert private.before_gradients((needs,), True, True)[0].grad_fn is not None
    assert private.before_gradients((x,), False, True)[0].requires_grad
    assert not private.after_gradients((needs * 2,), False)[0].requires_grad
    flat = private.flatten_dense_tensors([x, adjoint.zeros(1, 1)])
    assert [part.shape for part in private.unflatten_dense_tensors(flat, [x, adjoint.zeros(1, 1)])] == [(2,), (1, 1)]
    assert private.older_vmap(lambda v: v * 2)(x).tolist() == [2, 2]
    assert private.pair(3) == (3, 3) and private.pair([1, 2]) == (1, 2) and private.triple(1) == (1, 1, 1)
    assert private.reversed_repeated((1, 2), 2) == (2, 2, 1, 1)
    assert private.reduction_number("mean") == 1
    with pytest.raises(ValueError, match="is not a valid value for reduction"):
        private.reduction_number("median")
    private.check(True)
    with pytest.raises(RuntimeError, match="shape is wrong"):
        private.check(False, lambda: "shape is wrong")
    with pytest.raises(AssertionError, match="wrong"):
        private.check(False, "wrong")
    with private.autocast("cpu", enabled=False):
        pass
    with pytest.warns(UserWarning, match="autocast on 'cuda' has no effect"), private.cuda_autocast():
        pass
    assert private.autocast_dtype("cuda") is adjoint.float16 and private.decorator()(len) is len

    class Sub(adjoint.Tensor):
        pass

    with private.PlainResults():
        assert type(adjoint.ones(2).as_subclass(Sub) * 2) is adjoint.Tensor
    assert type(adjoint.ones(2).as_subclass(Sub) * 2) is Sub


def test_jit_runs_python():
    def double(x):
        return x * 2

    for decorate in (jit.script, jit.trace, jit.freeze, jit.export, jit.unused, jit.ignore, jit.script_method):
        assert decorate(double) is double
    assert jit.ignore(drop=True)(double) is double and jit.trace_module(double, {}) is double
    assert jit.wait(jit.fork(double, 3)) == 6 and jit.annotate(list[int], []) == []
    assert jit.interface(double) is jit.script_if_tracing(double) is jit.optimize_for_inference(double) is double
    assert jit.set_fusion_strategy([]) == [] and not jit.onednn_fusion_enabled()
    jit.enable_onednn_fusion(True)
    with jit.optimized_execution(True), jit.strict_fusion():
        pass
    assert jit.Attribute(3, int).value == 3
    assert not isinstance(double, (jit.ScriptFunction, jit.ScriptModule))


@pytest.mark.parametrize(
    ("value", "kind", "answer"),
    [
        ([1, 2], list[int], True), ([1, "a"], list[int], False), ({"a": 1}, dict[str, int], True),
        ((1, "a"), tuple[int, str], True), ((1,), tuple[int, str], False), (None, int | None, True),
        (1, (str, int), True), (1.0, str, False), ([], list[str], True), ({"a": "b"}, dict[str, int], False),
    ],
)  # fmt: skip
def test_types_of_containers(value, kind, answer):
    assert jit.isinstance(value, kind) is answer


def test_sobol():
    engine = adjoint.quasirandom.SobolEngine(2)
    assert engine.draw(3).tolist() == [[0, 0], [0.5, 0.5], [0.75, 0.25]]
    assert engine.fast_forward(1).draw(1, dtype=adjoint.float64).tolist() == [[0.375, 0.375]]
    assert engine.reset().draw_base2(2).shape == (4, 2) and engine.num_generated == 4
    scrambled = [adjoint.quasirandom.SobolEngine(3, True, 5).draw(8) for _ in range(2)]
    assert bool((scrambled[0] == scrambled[1]).all()) and bool((scrambled[0].mean(0) - 0.5).abs().max() < 0.1)
    out = adjoint.empty(0)
    assert engine.reset().draw(2, out=out) is out and out.shape == (2, 2)
    assert repr(adjoint.quasirandom.SobolEngine(2, True, 3)) == "SobolEngine(dimension=2, scramble=True, seed=3)"
    with pytest.raises(ValueError, match="Supported range of dimensionality for SobolEngine"):
        adjoint.quasirandom.SobolEngine(0)
    engine.reset().draw(3)
    with pytest.raises(ValueError, match="total number of points to be a power of 2"):
        engine.draw_base2(2)


def test_private_functions_of_matrices():
    matrix = adjoint.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=adjoint.float64)
    factor = private.factor_of_inverse(matrix)
    assert (factor @ factor.mT @ matrix).tolist() == [pytest.approx([1, 0]), pytest.approx([0, 1])]
    x = adjoint.tensor([1.0, 2.0], dtype=adjoint.float64)
    result = private.squared_distance(adjoint.linalg.cholesky(matrix), x).item()
    assert result == pytest.approx((x @ adjoint.linalg.solve(matrix, x)).item())
    assert private.standard_normal((2, 3), adjoint.float64, None).shape == (2, 3)
    sparse = private.older_sparse(adjoint.tensor([[0, 1], [1, 0]]), adjoint.tensor([2.0, 3.0]), (2, 2))
    assert private.sparse_product(sparse, adjoint.ones(2, 1)).tolist() == [[2], [3]]


def test_modules_on_one_device():
    from adjoint.as_torch._parallel import DataParallel

    layer = adjoint.nn.Linear(2, 1)
    wrapped, x = DataParallel(layer), adjoint.ones(3, 2)
    assert bool((wrapped(x) == layer(x)).all()) and set(wrapped.state_dict()) == {"module.weight", "module.bias"}
    with pytest.raises(RuntimeError, match="DataParallel runs on one device"):
        DataParallel(layer, device_ids=[0, 1])
    with private.reparametrize(layer, {"weight": adjoint.zeros(1, 2), "bias": adjoint.ones(1)}):
        assert layer(x).tolist() == [[1], [1], [1]]
    assert isinstance(layer.weight, adjoint.nn.Parameter)


def test_types_print_torch_while_installed():
    run("""
        import torch
        x = torch.ones(2)
        kinds = [x.shape, x.dtype, torch.strided, torch.channels_last, type(x), torch.FloatTensor]
        shown = "torch.Size([2]) torch.float32 torch.strided torch.channels_last <class 'torch.Tensor'>"
        assert " ".join(map(str, kinds)) == f"{shown} <class 'torch.FloatTensor'>"
        assert x.type() == "torch.FloatTensor"
        assert repr(torch.max(torch.eye(2), 0)).startswith("torch.return_types.max(")
        assert torch.add in torch.overrides.get_overridable_functions()[torch]
        adjoint.as_torch.uninstall()
        assert f"{x.shape} {x.dtype}" == "adjoint.Size([2]) adjoint.float32"
    """)


def test_functions_of_the_compiler_take_options():
    run("""
        import torch
        for decorate in (torch._dynamo.disable, torch._dynamo.disable(), torch._dynamo.disable(recursive=False)):
            function = decorate(lambda x: x * 2)
            assert function(torch.ones(2)).tolist() == [2.0, 2.0]
        assert torch._dynamo.is_compiling() is False
        assert torch.compiler.allow_in_graph(len) is len
    """)
