"""Write docs/functions.md, the list of all functions with the data types and modes that work, from measurements.

python scripts/generate_function_table.py            # the page, from tests/data/functions.json
python scripts/generate_function_table.py --measure  # measure every function first (some minutes), then the page

The measured calls are in tests/support/function_calls.py, together with the gaps and their reasons.
"""

from __future__ import annotations

import argparse
import inspect
import json
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data" / "functions.json"
PAGE = ROOT / "docs" / "functions.md"
sys.path.insert(0, str(ROOT / "tests"))

import adjoint  # noqa: E402
from adjoint.functions import help  # noqa: E402
from adjoint.rules import TABLE, Rule  # noqa: E402
from support import function_calls  # noqa: E402

HEAD = """\
# Functions

Names are torch's: `add` is `adjoint.add` (most are methods of `Tensor`, too), `linalg.inv` is `adjoint.linalg.inv`.
`scripts/generate_function_table.py` writes this page from measurements. It calls every function with arrays of each
data type, and compares derivatives with central differences, the batch form with a loop, and the form in place and
`out=` with the function's values. {count} functions.

| column | meaning |
|---|---|
| forward | data types that it takes: **b** bool, **i** all integers, **h** float16 and bfloat16, **f** float32 and \
float64, **c** complex64 and complex128; of a group that it takes in part, each type |
| gradient | data types in which its gradient was found right |
| modes | **v** reverse mode, **j** forward mode, **2** second order (reverse over reverse) |
| vmap | **form**: a batch runs at once; **loop**: member by member, with a warning; nothing: it cannot be mapped |
| in place | the variant with a trailing underscore, or `inplace=True` |
| out | `out=` is accepted |
| gap | what is missing, and why |
| declared at | the file, and the function or declaration in it |
"""


def row(name: str, record: dict) -> str:
    """One line of a table."""
    modes = "".join(letter for letter, mode in (("v", "vjp"), ("j", "jvp"), ("2", "second")) if record.get(mode))
    cells = [
        f"`{name}`",
        record["forward"],
        record["gradient"],
        modes,
        record.get("batch", ""),
        "yes" if record.get("inplace") else "",
        "yes" if record.get("out") else "",
        function_calls.GAPS.get(name, ""),
        declared_at(name),
    ]
    return "| " + " | ".join(cells) + " |"


def declared_at(name: str) -> str:
    """The file and the name of a function's declaration. There is no line, since lines change often.

    >>> print(declared_at("abs"))
    [rules/elementwise.py](../src/adjoint/rules/elementwise.py) `abs_`
    """
    function = public(name)
    rule = getattr(function, "rule", None) or (
        TABLE.get(name) if not inspect.isfunction(inspect.unwrap(function)) else None
    )
    if rule is not None:
        kernel = rule._kernel
        path, declaration = (
            help.declaration_of(rule)[0],
            inspect.unwrap(kernel).__code__.co_name if callable(kernel) else rule.name,
        )
    else:
        code = getattr(inspect.unwrap(getattr(function, "fget", function)), "__code__", None)
        # compiled operators have no code object; other compiled functions have a path that begins with src/
        file = (
            "adjoint/tensor/arithmetic.py" if code is None else f"adjoint/{code.co_filename.rpartition('/adjoint/')[2]}"
        )
        path, declaration = file, name if code is None else code.co_name
    return f"[{path.removeprefix('adjoint/')}](../src/{path}) `{declaration}`"


def public(name: str) -> object:
    """The public function of a name, or the method or attribute of Tensor; None for others."""
    function: object = adjoint
    for part in name.split("."):
        function = getattr(function, part, None)
    return function if callable(function) else getattr(adjoint.Tensor, name, None)


#: The families in the order of the page, and the modules of adjoint that hold them.
FAMILIES = {
    "Arithmetic and elementary functions": ("elementwise", "pointwise", "arithmetic"),
    "Reductions, cumulative sums, statistics": ("reduce", "cumulative", "statistics", "calculus"),
    "Shapes and views": ("shape", "views", "view_copies", "creation"),
    "Indexing": ("index",),
    "Sorting, counting, sets": ("sorting", "counting"),
    "Products and distances": ("contract", "distances"),
    "Linear algebra": ("linalg", "factorizations", "matrices"),
    "Fourier transforms": ("fft", "signal", "window_functions", "signal_windows"),
    "Special functions": ("special",),
    "Activations and dropout": ("activations",),
    "Convolution, pooling, interpolation": (
        "convolution", "pooling", "max_pooling", "average_pooling", "adaptive_pooling", "fractional", "padding",
        "patches", "pixels", "sampling",
    ),
    "Normalisation, embedding, attention": ("normalization", "embedding", "attention", "multihead", "fused"),
    "Recurrent networks": ("recurrent", "recurrent_layers"),
    "Losses": ("losses", "margin_losses", "ctc"),
    "Names that torch itself gives to functions of nn.functional": ("aten",),
    "Masked functions": ("masked",),
    "Random numbers": ("random",),
}  # fmt: skip
METHODS = "Methods of Tensor"


def family_of(name: str) -> str:
    """The family that declares a function. Methods that are not functions have their own family.

    >>> family_of("tanh"), family_of("linalg.inv"), family_of("double")
    ('Arithmetic and elementary functions', 'Linear algebra', 'Methods of Tensor')
    """
    function: object = adjoint
    for part in name.split("."):
        function = getattr(function, part, None)
    rule = getattr(function, "rule", None) or TABLE.get(name)
    if rule is not None:
        return next((title for title in map(title_of, files_of(rule)) if title), next(iter(FAMILIES)))
    # functions have the names of their public modules
    home = getattr(inspect.unwrap(function), "__globals__", {}).get("__name__", "") if callable(function) else ""
    return title_of(home) or title_of(getattr(function, "__module__", "")) or METHODS


def title_of(module: str | None) -> str | None:
    """The family that a module of adjoint belongs to."""
    last = (module or "").split(".")[-1]
    return next((title for title, modules in FAMILIES.items() if last in modules), None)


def files_of(rule: Rule) -> list[str]:
    """The modules of a rule's kernel and formulas. Empty for a kernel of NumPy without a derivative."""
    return [getattr(body, "__module__", "") for body in (rule._kernel, *(formula.body for formula in rule.vjps))]


def families(names: Iterable[str]) -> dict[str, list[str]]:
    """All names by their families, in order."""
    grouped: dict[str, list[str]] = {title: [] for title in (*FAMILIES, METHODS)}
    for name in sorted(names):
        grouped[family_of(name)].append(name)
    return {title: members for title, members in grouped.items() if members}


def page(measured: dict[str, dict]) -> str:
    """The whole page."""
    parts = [HEAD.format(count=len(measured))]
    for family, names in families(measured).items():
        parts += [
            f"\n## {family}\n",
            "| function | forward | gradient | modes | vmap | in place | out | gap | declared at |",
            "|---|---|---|---|---|---|---|---|---|",
            *(row(name, measured[name]) for name in names),
        ]
    return "\n".join(parts) + "\n"


def measure() -> dict[str, dict]:
    """Measure every function."""
    from support import function_probe

    measured = {}
    for name in sorted(function_calls.CALLS):
        measured[name] = function_probe.probe(name)
        print(name, row(name, measured[name]), flush=True)
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", action="store_true", help="measure every function first")
    if parser.parse_args().measure:
        lines = [f"{json.dumps(name)}: {json.dumps(record)}" for name, record in measure().items()]
        DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    PAGE.write_text(page(json.loads(DATA.read_text())))


if __name__ == "__main__":
    main()
