"""`python -m adjoint.selftest`: a check of values and derivatives in this installation.

It needs only adjoint and its dependencies. It runs the examples in all docstrings and compares their output. It
compares first and second derivatives, in reverse and forward mode, with differences. Examples that need missing
packages are counted separately. The exit status is 0 without failures.
"""

from __future__ import annotations

import argparse
import contextlib
import doctest
import importlib
import inspect
import io
import sys
import time
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import adjoint
from adjoint import runtime
from adjoint.core.operations.operation import Operation
from adjoint.core.recorded import operations
from adjoint.functions.binding import load_all
from adjoint.functions.composite import COMPOSITES
from adjoint.functions.help import public_name
from adjoint.rules.declare import TABLE
from adjoint.testing import check_derivatives
from adjoint.tools.configuration import DISTRIBUTION, rivals

__all__ = ["main"]

PACKAGE = Path(__file__).parent
#: Functions for the comparison of derivatives with differences, and the shapes of their arguments.
DERIVATIVES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "arithmetic that broadcasts": (lambda x, y: x * y + x / (2 + y) - y**2, ((3, 1), (4,))),
    "elementwise functions": (lambda x: (x.sin() * x.exp()).tanh() + (x + 2).log().sqrt(), ((5,),)),
    "special functions": (lambda x: adjoint.erf(x) + adjoint.lgamma(x + 2) + adjoint.special.i0(x), ((4,),)),
    "sums and products along axes": (lambda x: (x.sum(0), x.prod(1), x.logsumexp(0), x.var()), ((3, 4),)),
    "cumulative functions": (lambda x: (x.cumsum(0), x.cumprod(1), x.logcumsumexp(0)), ((3, 4),)),
    "order": (lambda x: (x.amax(1), x.sort(0).values, x.median()), ((3, 4),)),
    "views and indices": (lambda x: (x.T[1:] * x[:, [2, 0, 0]].reshape(3, -1)).flip(0), ((3, 4),)),
    "gather": (lambda x: x.take_along_dim(x.argsort(0), 0) * x, ((3, 2),)),
    "scatter": (lambda x: x.index_add(0, adjoint.tensor([1, 0]), x[1:]), ((3, 2),)),
    "products of matrices": (lambda a, b: adjoint.einsum("ij,jk->ki", a, b) @ a, ((2, 3), (3, 2))),
    "linear algebra": (lambda a: adjoint.linalg.solve(a @ a.T + 3 * adjoint.eye(3), a).logsumexp(0), ((3, 3),)),
    "factorizations": (lambda a: adjoint.linalg.cholesky(a @ a.T + 3 * adjoint.eye(3)), ((3, 3),)),
    "Fourier transforms": (lambda x: adjoint.fft.rfft(x).abs().square().sum(), ((6,),)),
    "convolution": (lambda x, w: adjoint.nn.functional.conv2d(x, w, padding=1), ((1, 2, 4, 4), (2, 2, 3, 3))),
    "pooling": (lambda x: adjoint.nn.functional.max_pool2d(x, 2), ((1, 2, 4, 4),)),
    "losses": (lambda x: adjoint.nn.functional.cross_entropy(x, adjoint.tensor([0, 2])), ((2, 3),)),
    "NumPy's functions": (lambda x: adjoint.numpy.sum(adjoint.numpy.sin(x) / (1 + x**2)), ((5,),)),
}


def modules() -> list[str]:
    """The modules with examples in their source."""
    paths = sorted(PACKAGE.rglob("*.py"))
    names = [path.relative_to(PACKAGE.parent).with_suffix("") for path in paths if ">>> " in path.read_text("utf-8")]
    return [".".join(name.parts).removesuffix(".__init__") for name in names]


def operation_examples() -> dict[str, str]:
    """Docstrings that doctest does not find in modules: of operations, and of functions made by other functions."""
    load_all()
    functions = [each.function for each in COMPOSITES.values() if not isinstance(each.function, Operation)]
    return {f"adjoint.{name}": operations[name].__doc__ for name, rule in TABLE.items() if public_name(rule)} | {
        f"{function.__module__}.{function.__name__}": function.__doc__ or ""
        for function in functions
        if ">>> " in (function.__doc__ or "")
        and not hasattr(importlib.import_module(function.__module__), function.__name__)
    }


def module_examples(module: types.ModuleType) -> list[doctest.DocTest]:
    """The examples in the docstrings that a module defines."""
    # names of adjoint, for instance `float`, would hide Python's; the examples of its functions import their names
    tests = doctest.DocTestFinder().find(module, globs={} if module is adjoint else None)
    return [test for test in tests if _is_ours(module, test.name)]


def _is_ours(module: types.ModuleType, name: str) -> bool:
    """False for a function of another library that also takes Tensors, since it has the library's docstring."""
    value = getattr(module, name.removeprefix(f"{module.__name__}."), None)
    return str(getattr(inspect.unwrap(value) if callable(value) else None, "__module__", "adjoint")).startswith(
        "adjoint"
    )


def run_examples() -> Iterator[tuple[str, str]]:
    """Run all examples; yields the title of each docstring and its failure: "", "absent: PACKAGE" or a report."""
    for name in modules():
        try:
            tests = module_examples(importlib.import_module(name))
        except ModuleNotFoundError as error:
            yield name, f"absent: {error.name}"
            continue
        for test in tests:
            yield test.name, report(test)
    for name, text in operation_examples().items():
        yield name, report(doctest.DocTestParser().get_doctest(text, {"adjoint": adjoint}, name, None, None))


def report(test: doctest.DocTest) -> str:
    """The failure of an example, or "absent: PACKAGE" for a missing package."""
    runner, output = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), io.StringIO()
    with warnings.catch_warnings(action="ignore"):
        failed = runner.run(test, out=output.write).failed
    report = output.getvalue()
    absent = report.rpartition("ModuleNotFoundError: ")[2] if failed and "ModuleNotFoundError: " in report else ""
    return f"absent: {absent.splitlines()[0]}" if absent else report if failed else ""


def run_derivatives() -> Iterator[tuple[str, str]]:
    """Compare derivatives with differences; yields the name of each function and its failure or ""."""
    generator = adjoint.Generator().manual_seed(0)
    for name, (function, shapes) in DERIVATIVES.items():
        arguments = [adjoint.rand(shape, dtype=adjoint.float64, generator=generator) for shape in shapes]
        try:
            check_derivatives(function, *arguments)
        except Exception as error:
            yield name, "".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())])
        else:
            yield name, ""


def foreign_package() -> str:
    """The remedy if the folder of the package also belongs to another distribution, otherwise ""."""
    others = rivals()
    if not others:
        return ""
    return (
        f"{', '.join(others)} has files in the same folder as {DISTRIBUTION}: pip uninstall both, then install "
        f"{DISTRIBUTION}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit status: 0 if nothing failed, else 1.

    arguments: the arguments of the command, by default those of the command line. "--quick" skips the examples.
    """
    parser = argparse.ArgumentParser(prog="python -m adjoint.selftest", description=(__doc__ or "").split("\n\n")[1])
    parser.add_argument("--quick", action="store_true", help="compare derivatives, and leave the examples out")
    options = parser.parse_args(arguments)
    begin = time.perf_counter()
    plain = len(runtime.uncompiled_modules())
    print(f"adjoint {adjoint.__version__} in {PACKAGE}, {'as plain Python' if plain else 'compiled'}")
    failures = [foreign_package()] if rivals() else []
    counts = {"derivatives": 0, "examples": 0, "absent": 0}
    kinds: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {"derivatives": run_derivatives}
    if not options.quick:
        kinds["examples"] = run_examples
    with contextlib.redirect_stderr(io.StringIO()):
        for kind, run in kinds.items():
            for name, report in run():
                counts["absent" if report.startswith("absent: ") else kind] += 1
                if report and not report.startswith("absent: "):
                    failures.append(f"{kind}: {name}\n{report}")
    print(*failures, sep="\n")
    print(
        f"{counts['derivatives']} functions compared with differences, {counts['examples']} docstrings run, "
        f"{counts['absent']} left out as a package is not installed, {len(failures)} failed, "
        f"{time.perf_counter() - begin:.0f} s"
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
