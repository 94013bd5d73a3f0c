"""Run libraries that are written for torch on adjoint and on PyTorch, and write docs/torch-libraries.md:

python scripts/try_torch_libraries.py --adjoint PYTHON --torch PYTHON --libraries FOLDER --sources FOLDER [--only WORD]

PYTHON: interpreters with NumPy, SciPy, pytest and adjoint's other dependencies, the second one with PyTorch. FOLDER:
the target of `pip install --no-deps --target` for the libraries, and the folder of their unpacked source packages.
scripts/torch_libraries.json stores the outcomes. --only runs the libraries whose name contains a word, --page runs
none.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "torch-libraries.md"
KEPT = ROOT / "scripts" / "torch_libraries.json"
LONGEST = 900


class Entry(NamedTuple):
    """A library: its distribution, a program, its tests if the package has some, and the reason for failures.

    program: prints the numbers to compare. tests: paths in the folder of the source package, or of the installed
    library if they begin with "/".
    """

    name: str
    program: str
    tests: str = ""
    reason: str = ""


ENTRIES = (
    Entry(
        "torchdiffeq",
        """
        from torchdiffeq import odeint, odeint_adjoint
        class Field(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a = torch.nn.Parameter(torch.tensor([[-0.1, 2.0], [-2.0, -0.1]], dtype=torch.float64))
            def forward(self, t, y):
                return y**3 @ self.a
        field, t = Field(), torch.linspace(0, 2, 21, dtype=torch.float64)
        start = torch.tensor([[1.2, 0.0]], dtype=torch.float64, requires_grad=True)
        for solve in (odeint, odeint_adjoint):
            for method in ("dopri5", "rk4", "dopri8", "implicit_adams", "bosh3"):
                y = solve(field, start, t, method=method)
                show(y, *torch.autograd.grad(y.pow(2).sum(), [start, field.a]))
        """,
    ),
    Entry(
        "pytorch-minimize",
        """
        from torchmin import minimize, least_squares
        from torchmin.benchmarks import rosen
        x0 = torch.tensor([1.0, 8.0], dtype=torch.float64)
        for method in ("bfgs", "l-bfgs", "cg", "newton-cg", "newton-exact", "trust-ncg", "trust-exact"):
            show(minimize(rosen, x0, method=method, tol=1e-10).x)
        show(least_squares(lambda x: torch.stack([10 * (x[1] - x[0] ** 2), 1 - x[0]]), x0).x)
        """,
        "tests",
    ),
    Entry(
        "torchquad",
        """
        from torchquad import Boole, GaussLegendre, MonteCarlo, Simpson, Trapezoid
        domain = torch.tensor([[0.0, 1.0], [-1.0, 1.0]], dtype=torch.float64, requires_grad=True)
        f = lambda x: torch.sin(x[:, 0]) + torch.exp(x[:, 1])
        for rule in (Trapezoid, Simpson, Boole, GaussLegendre):
            result = rule().integrate(f, dim=2, N=121, integration_domain=domain, backend="torch")
            show(result, *torch.autograd.grad(result, domain))
        """,
        "tests",
    ),
    Entry(
        "torchsde",
        """
        import torchsde
        class Motion(torch.nn.Module):
            noise_type, sde_type = "diagonal", "ito"
            def __init__(self):
                super().__init__()
                self.rate = torch.nn.Parameter(torch.tensor(0.5, dtype=torch.float64))
            def f(self, t, y):
                return self.rate * y
            def g(self, t, y):
                return 0 * y
        motion, ts = Motion(), torch.linspace(0, 1, 5, dtype=torch.float64)
        y0 = torch.full((3, 2), 1.5, dtype=torch.float64)
        for solve in (torchsde.sdeint, torchsde.sdeint_adjoint):
            y = solve(motion, y0, ts, dt=1e-2, method="milstein")
            show(y, *torch.autograd.grad(y.sum(), motion.rate))
        """,
    ),
    Entry(
        "torchcde",
        """
        import torchcde
        t = torch.linspace(0, 1, 9, dtype=torch.float64)
        x = torch.stack([t, torch.sin(3 * t)], -1).unsqueeze(0)
        class Field(torch.nn.Module):
            def forward(self, t, z):
                return torch.stack([z, z.tanh()], -1)
        for spline in (torchcde.natural_cubic_coeffs, torchcde.hermite_cubic_coefficients_with_backward_differences):
            path = torchcde.CubicSpline(spline(x))
            z0 = torch.ones(1, 3, dtype=torch.float64, requires_grad=True)
            z = torchcde.cdeint(X=path, func=Field(), z0=z0, t=path.interval, adjoint=False)
            show(path.evaluate(0.3), path.derivative(0.3), z, *torch.autograd.grad(z.sum(), z0))
        """,
    ),
    Entry(
        "linear_operator",
        """
        from linear_operator.operators import DiagLinearOperator, LowRankRootLinearOperator, ToeplitzLinearOperator
        root = torch.linspace(-1, 1, 12, dtype=torch.float64).view(6, 2).requires_grad_()
        operator = LowRankRootLinearOperator(root).add_diagonal(torch.full((6,), 0.5, dtype=torch.float64))
        rhs = torch.arange(6, dtype=torch.float64)
        solved = torch.linalg.solve(operator, rhs.unsqueeze(-1))
        show(solved, operator.logdet(), torch.matmul(operator, rhs), *torch.autograd.grad(solved.sum(), root))
        show(ToeplitzLinearOperator(rhs + 1).matmul(rhs), DiagLinearOperator(rhs + 1).inverse().to_dense())
        """,
        "test/functions test/utils",
    ),
    Entry(
        "gpytorch",
        """
        import gpytorch
        x = torch.linspace(0, 1, 20, dtype=torch.float64)
        y = torch.sin(6 * x)
        class Model(gpytorch.models.ExactGP):
            def __init__(self, x, y, likelihood):
                super().__init__(x, y, likelihood)
                self.mean_module = gpytorch.means.ConstantMean()
                self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
            def forward(self, x):
                return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))
        likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
        model = Model(x, y, likelihood).double()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        for _ in range(15):
            optimizer.zero_grad()
            loss = -mll(model(x), y)
            loss.backward()
            optimizer.step()
        model.eval(), likelihood.eval()
        with torch.no_grad():
            found = likelihood(model(x[:5] + 0.03))
        show(loss, found.mean, found.variance)
        """,
        "test/constraints test/distributions test/means test/priors",
    ),
    Entry(
        "pyro-ppl",
        """
        import pyro
        from pyro.infer import SVI, Trace_ELBO
        data = torch.tensor([1.2, 0.8, 1.9, 1.4])
        def model():
            mean = pyro.sample("mean", pyro.distributions.Normal(0.0, 3.0))
            with pyro.plate("data", 4):
                pyro.sample("x", pyro.distributions.Normal(mean, 0.5), obs=data)
        def guide():
            loc = pyro.param("loc", torch.tensor(0.0))
            pyro.sample("mean", pyro.distributions.Delta(loc))
        svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.1}), Trace_ELBO())
        show(torch.tensor([svi.step() for _ in range(20)]), pyro.param("loc").detach())
        """,
    ),
    Entry(
        "zuko",
        """
        import zuko
        flow = fixed(zuko.flows.NSF(3, 2, transforms=2, hidden_features=(16, 16)))
        x, context = torch.linspace(-1, 1, 12).view(4, 3), torch.linspace(0, 1, 8).view(4, 2)
        loss = -flow(context).log_prob(x).mean()
        loss.backward()
        show(loss, *(p.grad.norm() for p in flow.parameters() if p.grad is not None))
        """,
        "tests",
    ),
    Entry(
        "normflows",
        """
        import normflows as nf
        base = nf.distributions.base.DiagGaussian(2)
        net = lambda: nf.nets.MLP([1, 8, 8, 2], init_zeros=False)
        layers = [nf.flows.AffineCouplingBlock(net()), nf.flows.Permute(2, "swap"), nf.flows.AffineCouplingBlock(net())]
        model = fixed(nf.NormalizingFlow(base, layers))
        loss = model.forward_kld(torch.linspace(-1, 1, 8).view(4, 2))
        loss.backward()
        show(loss, *(p.grad.norm() for p in model.parameters() if p.grad is not None))
        """,
    ),
    Entry(
        "nflows",
        """
        from nflows import distributions, flows, transforms
        layers = [transforms.MaskedAffineAutoregressiveTransform(2, 8), transforms.ReversePermutation(2)] * 2
        flow = fixed(flows.Flow(transforms.CompositeTransform(layers), distributions.StandardNormal([2])))
        loss = -flow.log_prob(torch.linspace(-1, 1, 8).view(4, 2)).mean()
        loss.backward()
        show(loss, *(p.grad.norm() for p in flow.parameters()))
        """,
    ),
    Entry(
        "einops",
        """
        from einops import einsum, rearrange, reduce, repeat
        from einops.layers.torch import Rearrange
        x = torch.arange(24.0).view(2, 3, 4).requires_grad_()
        y = reduce(rearrange(x, "a b c -> a (b c)"), "a (b c) -> b", "mean", b=3)
        show(y, repeat(y, "b -> b n", n=2), einsum(x, x, "a b c, a b d -> c d"), *torch.autograd.grad(y.sum(), x))
        show(Rearrange("a b c -> c (a b)")(x))
        """,
    ),
    Entry(
        "entmax",
        """
        from entmax import entmax15, entmax_bisect, sparsemax, sparsemax_loss
        x = torch.tensor([[0.5, -1.0, 2.0], [0.1, 0.2, 0.3]], requires_grad=True)
        for f in (sparsemax, entmax15, lambda x, dim: entmax_bisect(x, 1.7, dim)):
            y = f(x, dim=-1)
            show(y, *torch.autograd.grad((y**2).sum(), x))
        show(sparsemax_loss(x, torch.tensor([0, 2])))
        """,
    ),
    Entry(
        "geoopt",
        """
        import geoopt
        ball = geoopt.PoincareBall()
        x, y = torch.tensor([0.1, 0.2]), torch.tensor([-0.3, 0.4])
        show(ball.dist(x, y), ball.mobius_add(x, y), ball.expmap(x, y), ball.logmap(x, y))
        p = geoopt.ManifoldParameter(torch.eye(3, 2), manifold=geoopt.Stiefel())
        optimizer = geoopt.optim.RiemannianSGD([p], lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            (p - torch.arange(6.0).view(3, 2)).pow(2).sum().backward()
            optimizer.step()
        show(p.detach(), p.detach().T @ p.detach())
        """,
    ),
    Entry(
        "geotorch",
        """
        import geotorch
        layer = torch.nn.Linear(3, 3)
        geotorch.orthogonal(layer, "weight")
        show(layer.weight.detach().T @ layer.weight.detach())
        """,
    ),
    Entry(
        "torchmetrics",
        """
        import torchmetrics
        probs = torch.tensor([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.3, 0.4], [0.6, 0.3, 0.1]])
        target = torch.tensor([0, 1, 2, 1])
        for metric in (torchmetrics.Accuracy(task="multiclass", num_classes=3), torchmetrics.R2Score(),
                       torchmetrics.AUROC(task="multiclass", num_classes=3), torchmetrics.MeanSquaredError(),
                       torchmetrics.PearsonCorrCoef(), torchmetrics.ConfusionMatrix(task="multiclass", num_classes=3)):
            pair = (probs[:, 0], target.float()) if "task" not in repr(vars(metric)) and not hasattr(
                metric, "num_classes") else (probs, target)
            metric.update(*pair)
            show(metric.compute())
        """,
    ),
    Entry(
        "torch-optimizer",
        """
        import torch_optimizer
        for name in ("AdaBound", "AdaMod", "AggMo", "DiffGrad", "Lamb", "MADGRAD", "NovoGrad", "QHAdam",
                     "RAdam", "Ranger", "SGDW", "Yogi"):
            x = torch.tensor([1.5, -0.7], requires_grad=True)
            optimizer = getattr(torch_optimizer, name)([x], lr=0.01)
            for _ in range(5):
                optimizer.zero_grad()
                (x**4).sum().backward()
                optimizer.step()
            show(x.detach())
        """,
        "tests/test_basic.py tests/test_optimizer.py tests/test_param_validation.py",
    ),
    Entry(
        "xitorch",
        """
        import xitorch
        from xitorch.interpolate import Interp1D
        from xitorch.linalg import solve, symeig
        from xitorch.optimize import equilibrium, rootfinder
        a = torch.tensor([[2.0, 0.3], [0.3, 1.0]], dtype=torch.float64, requires_grad=True)
        x = solve(xitorch.LinearOperator.m(a), torch.ones(2, 1, dtype=torch.float64))
        values, _ = symeig(xitorch.LinearOperator.m(a, is_hermitian=True))
        root = rootfinder(lambda y, a: y**3 + (a @ y) - 1, torch.zeros(2, dtype=torch.float64), params=(a,))
        show(x, values, root, *torch.autograd.grad(x.sum() + values.prod() + root.sum(), a))
        t = torch.linspace(0, 1, 6, dtype=torch.float64)
        show(Interp1D(t, torch.sin(t), method="cspline")(torch.tensor([0.33], dtype=torch.float64)))
        """,
    ),
    Entry(
        "higher",
        """
        import higher
        model = fixed(torch.nn.Linear(2, 1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x, y = torch.linspace(-1, 1, 8).view(4, 2), torch.arange(4.0).view(4, 1)
        with higher.innerloop_ctx(model, optimizer) as (inner, steps):
            for _ in range(3):
                steps.step((inner(x) - y).pow(2).mean())
            loss = (inner(x) - y).pow(2).mean()
        show(loss, *torch.autograd.grad(loss, inner.parameters(time=0)))
        """,
    ),
    Entry(
        "pytorch_wavelets",
        """
        from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWTForward, DWTInverse
        x = torch.linspace(-1, 1, 256).view(1, 1, 16, 16).requires_grad_()
        low, high = DWTForward(J=2, wave="db3", mode="zero")(x)
        back = DWTInverse(wave="db3", mode="zero")((low, high))
        show(low, *high, back, *torch.autograd.grad(low.pow(2).sum(), x))
        low, high = DTCWTForward(J=2)(x)
        show(low, *high, DTCWTInverse()((low, high)))
        """,
    ),
    Entry(
        "torchbnn",
        """
        import torchbnn
        layer = torchbnn.BayesLinear
        model = fixed(torch.nn.Sequential(layer(0, 0.1, 3, 4), torch.nn.ReLU(), layer(0, 0.1, 4, 1)))
        loss = torchbnn.BKLLoss()(model)
        loss.backward()
        show(loss, *(p.grad for p in model.parameters()))
        """,
    ),
    Entry(
        "e3nn",
        """
        from e3nn import o3
        x = torch.tensor([[0.3, -0.5, 0.8], [1.0, 0.2, -0.1]], dtype=torch.float64, requires_grad=True)
        y = o3.spherical_harmonics([0, 1, 2, 3], x, normalize=True)
        show(y, *torch.autograd.grad(y.pow(3).sum(), x))
        """,
        "",
        "it makes its functions as programs of torch.fx, which is left out",
    ),
    Entry(
        "torchinterp1d",
        """
        from torchinterp1d import interp1d
        x = torch.linspace(0, 1, 6)
        show(interp1d(x, x**2, torch.tensor([0.15, 0.77])))
        """,
    ),
)

#: The functions that programs use besides torch: `show` prints numbers, `fixed` sets parameters without random numbers.
PRELUDE = """
import warnings
warnings.simplefilter("ignore")
import torch
def show(*values):
    for value in values:
        value = value.detach() if hasattr(value, "detach") else torch.as_tensor(value)
        print(*[f"{float(x):.5e}" for x in value.double().reshape(-1)])
def fixed(module):
    with torch.no_grad():
        for k, p in enumerate(module.parameters()):
            p.copy_((torch.sin(torch.arange(p.numel()) * 1.7 + k) * 0.3).view(p.shape))
    return module
"""
HEAD = """\
# Libraries written for torch

These libraries import torch. They run unchanged with adjoint under that name (`python -m adjoint.as_torch`, or
`adjoint.as_torch.install()`). `scripts/try_torch_libraries.py` writes this page. For each library it runs a program of
typical calls on adjoint and on PyTorch {torch}, and compares the printed numbers. If the library's source package has
tests, it runs them, too.

| library | program | tests: passed on adjoint | passed on PyTorch |
|---|---|---|---|
"""


class Outcome(NamedTuple):
    """The outcome of a library: of its program, and the numbers of tests that passed with adjoint and with torch."""

    version: str
    program: str
    of_adjoint: int
    of_torch: int


def environment(options: Any) -> dict[str, str]:
    return os.environ | {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(options.libraries)]),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def run(command: list[str], options: Any, folder: Path | None = None) -> tuple[int, str]:
    """The result and the output of a command."""
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, cwd=folder, env=environment(options), timeout=LONGEST
        )
    except subprocess.TimeoutExpired:
        return 1, f"not done after {LONGEST} s"
    return process.returncode, process.stdout + process.stderr


def numbers(text: str) -> list[float]:
    return [float(word) for word in text.split()]


def try_program(entry: Entry, options: Any) -> str:
    """The outcome of a program: "same numbers", "other numbers", or the last line of its error."""
    lines = [line for line in entry.program.splitlines() if line.strip()]
    margin = len(lines[0]) - len(lines[0].lstrip())
    text = PRELUDE + "\n".join(line[margin:] for line in lines)
    installed = "import adjoint.as_torch\nadjoint.as_torch.install()\n" + text
    (failed, output), (torch_failed, reference) = (
        run([str(python), "-c", program], options)
        for python, program in ((options.adjoint, installed), (options.torch, text))
    )
    if torch_failed:
        raise RuntimeError(f"{entry.name}: the program fails on PyTorch:\n{reference}")
    if failed:
        return "stops: " + output.strip().splitlines()[-1]
    mine, theirs = numbers(output), numbers(reference)
    scale = max(map(abs, theirs))
    near = all(abs(a - b) <= 2e-4 * abs(b) + 1e-4 * scale for a, b in zip(mine, theirs, strict=False))
    return "same numbers" if near and len(mine) == len(theirs) else "other numbers"


def tests_passed(entry: Entry, options: Any, python: Path, module: list[str]) -> int:
    """The number of tests that pass."""
    folder = next(options.sources.glob(f"{entry.name.replace('-', '[-_]')}-*"))
    plugins = [word for name in ("jaxtyping", "typeguard", "torchtyping", "xdist") for word in ("-p", f"no:{name}")]
    pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *plugins, "-W", "ignore", *entry.tests.split()]
    _, output = run([str(python), *module, *pytest], options, folder)
    counts = re.findall(r"(\d+) passed", output)
    return int(counts[-1]) if counts else 0


def outcome(entry: Entry, options: Any) -> Outcome:
    """The outcome of a library."""
    sys.path.insert(0, str(options.libraries))
    version = importlib.metadata.version(entry.name)
    program = try_program(entry, options)
    of_adjoint = of_torch = 0
    if entry.tests:
        of_adjoint = tests_passed(entry, options, options.adjoint, ["-m", "adjoint.as_torch"])
        of_torch = tests_passed(entry, options, options.torch, [])
    return Outcome(version, program, of_adjoint, of_torch)


def page(outcomes: dict[str, Outcome], torch: str) -> str:
    """The whole page."""
    rows, reasons = [], []
    for entry in ENTRIES:
        if entry.name not in outcomes:
            continue
        one = outcomes[entry.name]
        tests = f"{one.of_adjoint} | {one.of_torch}" if entry.tests else "– | –"
        rows.append(f"| {entry.name} {one.version} | {one.program.partition(':')[0]} | {tests} |")
        if one.program.startswith("stops"):
            reasons.append(f"- {entry.name}: {one.program.partition(': ')[2]}")
        if entry.reason:
            reasons.append(f"- {entry.name}: {entry.reason}")
    text = HEAD.format(torch=torch) + "\n".join(rows) + "\n"
    return text + ("\n## What stops\n\n" + "\n".join(reasons) + "\n" if reasons else "")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("adjoint", "torch", "libraries", "sources"):
        parser.add_argument(f"--{name}", type=Path)
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--page", action="store_true")
    options = parser.parse_args()
    stored = json.loads(KEPT.read_text()) if KEPT.exists() else {"torch": "", "outcomes": {}}
    outcomes = {name: Outcome(*values) for name, values in stored["outcomes"].items()}
    if not options.page:
        _, version = run([str(options.torch), "-c", "import torch; print(torch.__version__)"], options)
        stored["torch"] = version.strip().partition("+")[0]
        for entry in ENTRIES:
            if options.only in entry.name:
                outcomes[entry.name] = outcome(entry, options)
                print(entry.name, outcomes[entry.name], flush=True)
                stored["outcomes"] = outcomes
                KEPT.write_text(json.dumps(stored, indent=1) + "\n")
    PAGE.write_text(page(outcomes, stored["torch"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
