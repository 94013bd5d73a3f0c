"""The list of compiled modules, the .pxd files and the extensions that setup.py builds are the same."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
COMPILED = runpy.run_path(str(SOURCE / "adjoint/_compiled.py"))["COMPILED"]


def test_the_list_names_no_module_twice() -> None:
    assert len(set(COMPILED)) == len(COMPILED)


def test_every_pxd_stands_beside_a_listed_module() -> None:
    declared = {".".join(file.relative_to(SOURCE).with_suffix("").parts) for file in SOURCE.rglob("*.pxd")}
    assert declared == set(COMPILED)


def test_every_listed_module_has_a_python_source() -> None:
    missing = [name for name in COMPILED if not (SOURCE / f"{name.replace('.', '/')}.py").is_file()]
    assert missing == []


def test_setup_builds_the_list() -> None:
    setup = runpy.run_path(str(ROOT / "setup.py"))
    *extensions, shared = setup["extensions"]()
    assert [extension.name for extension in extensions] == list(COMPILED)
    sources = [f"src/{name.replace('.', '/')}.py" for name in COMPILED]
    assert [extension.sources for extension in extensions] == [[source] for source in sources]
    assert shared.name == setup["SHARED"]  # Cython writes it


def test_modules_compiled_for_speed_or_size_are_in_the_list() -> None:
    setup = runpy.run_path(str(ROOT / "setup.py"))
    names = {setup["KERNELS"], setup["VECTORIZED"], *setup["SMALL"]} - {setup["SHARED"]}
    assert [name for name in names if not any(module.startswith(name) for module in COMPILED)] == []
