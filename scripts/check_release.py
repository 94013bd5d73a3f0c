"""Builds and checks a release without publishing it, as far as this machine can (`make release-check`).

    python scripts/check_release.py [--python PATH ...] [--folder FOLDER]

--python: another interpreter, for which the source distribution is built and tested. The option can be repeated.
--folder: the folder of distributions and environments, which remain. Without it, a temporary folder is used.
docs/releasing.md has the steps of a release. The exit status is 0 if every check passed. The script lists the checks
that this machine cannot do.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: The largest numbers of bytes of a wheel and of its installed files. The goals are 2 and 8 million
#: (docs/releasing.md).
MOST_WHEEL, MOST_INSTALLED = 3_320_000, 9_150_000
#: The seconds from `pip install` of the wheel to the result of the README's example. NumPy and the others are
#: installed.
FIRST_MINUTE = 10
#: Parts of sources that an installation does not need.
SOURCES = (".c", ".h", ".pxd", ".pyx", ".cpp")
#: Files and folders of the source distribution, besides the package.
IN_SOURCE = (
    "tests",
    "docs",
    "examples",
    "scripts",
    "benchmarks",
    "changelog.d",
    "packaging",
    "CHANGELOG.md",
    "LICENSE",
)
IN_SOURCE += ("CITATION.cff", "SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "README.md", "Makefile")
IN_REPOSITORY = (".github/pull_request_template.md", ".github/ISSUE_TEMPLATE/fault.yml", ".pre-commit-config.yaml")
IN_REPOSITORY += tuple(f".github/workflows/{name}.yml" for name in ("tests", "wheels", "docs", "release", "trust"))
IN_REPOSITORY += ("docs/images/logo.svg", "docs/versions.md", "docs/releasing.md", "packaging/conda-forge/recipe.yaml")
#: Files that repeat the version, with patterns for it.
VERSIONS = {
    "CITATION.cff": r"^version: (\S+)$",
    "packaging/conda-forge/recipe.yaml": r"^  version: \"?([^\"\s]+)\"?$",
}
SWITCHES = ("ADJOINT_DISABLE_EXT", "ADJOINT_REQUIRE_EXT", "PYTHONPATH")


class Missing(Exception):
    """A release lacks something."""


class Left(Exception):
    """Something cannot be checked on this machine."""


class Release:
    """The distributions for the checks, and their folder."""

    def __init__(self, folder: Path, pythons: Sequence[str]) -> None:
        self.folder, self.pythons = folder, pythons
        self.source = self.wheel = self.repaired = Path()
        self.moment = ""

    def run(self, *command: str | Path, cwd: Path | None = None, **variables: str) -> str:
        """Run a command; returns what it printed. Raises Missing if it fails."""
        environment = {name: value for name, value in os.environ.items() if name not in SWITCHES} | variables
        ended = subprocess.run(
            [str(part) for part in command],
            cwd=cwd or self.folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if ended.returncode:
            raise Missing(f"{' '.join(map(str, command))} failed:\n{ended.stdout[-3000:]}")
        return ended.stdout

    def build(self, name: str) -> tuple[Path, Path]:
        """The source distribution, and the wheel that is built from it in a separate environment.

        Each build has a new copy of the repository's files, as they were at the first build.
        """
        files, tree, output = self.folder / "files", self.folder / f"tree-{name}", self.folder / f"dist-{name}"
        if not files.exists():
            self.moment = self.run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
            for line in self.run("git", "ls-files", "-co", "--exclude-standard", cwd=ROOT).splitlines():
                if (ROOT / line).is_file():
                    (files / line).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(ROOT / line, files / line)
        shutil.copytree(files, tree)
        variables = {"SOURCE_DATE_EPOCH": self.moment, "ADJOINT_REQUIRE_EXT": "1"}
        self.run(sys.executable, "-m", "build", "--outdir", output, cwd=tree, **variables)
        return next(output.glob("*.tar.gz")), next(output.glob("*.whl"))

    def environment(self, name: str, python: str = sys.executable) -> Path:
        """The interpreter of a new environment."""
        folder = self.folder / f"env-{name}"
        self.run(python, "-m", "venv", "--clear", folder)
        return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")

    def install(self, python: Path, *what: str | Path, **variables: str) -> None:
        """Install packages into an environment."""
        self.run(python, "-m", "pip", "--disable-pip-version-check", "install", "-q", *what, **variables)


def version() -> str:
    """The version in src/adjoint/__init__.py."""
    text = (ROOT / "src" / "adjoint" / "__init__.py").read_text(encoding="utf-8")
    return re.findall(r'^__version__ = "(.*)"$', text, re.MULTILINE)[0]


def search_path() -> str:
    """The search path of programs.

    The folder of the interpreter comes first, since packages install their programs there.
    """
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"


def check_files(release: Release) -> str:
    """The usual files of a repository exist."""
    missing = [name for name in (*IN_REPOSITORY, *IN_SOURCE) if not (ROOT / name).exists()]
    if missing:
        raise Missing(f"the repository has no {', '.join(missing)}")
    return f"{len(IN_REPOSITORY) + len(IN_SOURCE)} files and folders"


def check_versions(release: Release) -> str:
    """All files have the same version, and it can be released."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version()):
        raise Missing(f"the version is {version()}, not one of three numbers")
    for file, pattern in VERSIONS.items():
        versions = re.findall(pattern, (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE)
        if versions != [version()]:
            raise Missing(f"{file} has the version {versions}, src/adjoint/__init__.py {version()}")
    return version()


def check_changelog(release: Release) -> str:
    """The fragments of the changelog make a section."""
    draft = release.run(sys.executable, "-m", "towncrier", "build", "--draft", "--version", version(), cwd=ROOT)
    if f"## [{version()}]" not in draft:
        raise Missing(f"towncrier makes no section of {version()}:\n{draft}")
    return f"{draft.count(chr(10) + '- ')} entries"


def check_workflows(release: Release) -> str:
    """The workflows pass actionlint, which checks their form, and zizmor, which searches for security faults."""
    linters = {"actionlint": [], "zizmor": ["--offline", ".github"]}
    path = search_path()
    if missing := [name for name in linters if shutil.which(name, path=path) is None]:
        raise Left(f"the workflows: {' and '.join(missing)} not installed")
    for name, arguments in linters.items():
        release.run(name, *arguments, cwd=ROOT, PATH=path)
    return f"{len(list((ROOT / '.github' / 'workflows').iterdir()))} files, {' and '.join(linters)}"


def check_build(release: Release) -> str:
    """The source distribution builds, and the wheel builds from it."""
    begin = time.perf_counter()
    release.source, release.wheel = release.build("first")
    release.run(sys.executable, "-m", "twine", "check", "--strict", release.source, release.wheel)
    return f"{release.wheel.name}, {time.perf_counter() - begin:.0f} s"


def check_source(release: Release) -> str:
    """The source distribution contains tests, docs, examples and the changelog, and no built files."""
    with tarfile.open(release.source) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    missing = [name for name in IN_SOURCE if not any(each == name or each.startswith(f"{name}/") for each in names)]
    artifacts = [name for name in names if name.endswith((".so", ".pyd", ".pyc")) or "__pycache__" in name]
    if missing or artifacts:
        raise Missing(f"{release.source.name} lacks {missing}, and has {artifacts} that were built")
    return f"{release.source.stat().st_size:,} bytes, {len(names)} files"


def check_wheel(release: Release) -> str:
    """The wheel is small, has no sources of compiled modules, no symbols, and links that work on the package index."""
    with zipfile.ZipFile(release.wheel) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        modules = {name: archive.read(name) for name in sizes if name.endswith(".so")}
        metadata = next(archive.read(name).decode() for name in sizes if name.endswith("METADATA"))
        parts = sizes_by_kind(archive.infolist())
    size, installed = release.wheel.stat().st_size, sum(sizes.values())
    if size > MOST_WHEEL or installed > MOST_INSTALLED:
        raise Missing(
            f"{size:,} bytes, {installed:,} installed: at most {MOST_WHEEL:,} and {MOST_INSTALLED:,} are allowed"
        )
    if sources := [name for name in sizes if name.endswith(SOURCES)]:
        raise Missing(f"the wheel has sources: {sources}")
    if with_symbols := [name for name, content in modules.items() if b".symtab" in content]:
        raise Missing(f"these modules have symbols: {with_symbols}")
    if relative := re.findall(r"\]\((?!https?:|#)([^)]*)\)", metadata):
        raise Missing(f"the description has links that do not work on the package index: {relative}")
    if len(modules) != 1:
        raise Missing(f"the compiled modules are in {len(modules)} files, not in one: {sorted(modules)}")
    return f"{size:,} bytes, {installed:,} installed: {parts}"


def sizes_by_kind(files: Sequence[zipfile.ZipInfo]) -> str:
    """The sizes of the files of a wheel, installed and in the wheel, by kind."""
    kinds = {".py": "Python", ".pyi": "stubs", ".so": "compiled"}
    totals: dict[str, list[int]] = {}
    for file in files:
        total = totals.setdefault(kinds.get(Path(file.filename).suffix, "others"), [0, 0])
        total[0] += file.file_size
        total[1] += file.compress_size
    return ", ".join(f"{kind} {installed:,} ({packed:,})" for kind, (installed, packed) in sorted(totals.items()))


def check_repair(release: Release) -> str:
    """auditwheel accepts the wheel for manylinux."""
    if sys.platform != "linux":
        raise Left("the manylinux wheel: this is no Linux")
    folder = release.folder / "manylinux"
    release.run(sys.executable, "-m", "auditwheel", "repair", "-w", folder, release.wheel, PATH=search_path())
    release.repaired = next(folder.glob("*.whl"))
    return release.repaired.name


def check_reproducible(release: Release) -> str:
    """Another build, in another folder, gives the same bytes."""
    for one, other in zip((release.source, release.wheel), release.build("second"), strict=True):
        if one.read_bytes() != other.read_bytes():
            raise Missing(f"two builds of {one.name} differ: {one} and {other}")
    return "the same bytes"


def check_newest(release: Release) -> str:
    """The wheel installs in an empty environment, the README's first example runs soon, and the self test passes."""
    python = release.environment("newest")
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    release.install(python, *needs)
    example = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)[0]
    begin = time.perf_counter()
    release.install(python, "--no-deps", release.repaired if release.repaired.name else release.wheel)
    printed = release.run(python, "-c", example)
    seconds = time.perf_counter() - begin
    if printed.split() != re.findall(r"# (\[.*)$", example, re.MULTILINE)[0].split():
        raise Missing(f"the README's first example prints {printed!r}")
    if seconds > FIRST_MINUTE:
        raise Missing(f"installation and first example took {seconds:.1f} s, at most {FIRST_MINUTE} are allowed")
    return f"{seconds:.1f} s to the first gradient; {self_test(release, python)}"


def check_oldest(release: Release) -> str:
    """The same wheel works with the oldest versions of its dependencies."""
    python = release.environment("oldest")
    release.install(python, "-r", ROOT / "scripts" / "oldest.txt")
    release.install(python, "--no-deps", release.repaired if release.repaired.name else release.wheel)
    return self_test(release, python)


def check_plain(release: Release) -> str:
    """A wheel without compiled modules works, and says that it is slow."""
    folder = release.folder / "plain"
    tree = release.folder / "tree-first"
    release.run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, cwd=tree, ADJOINT_DISABLE_EXT="1")
    wheel = next(folder.glob("*-none-any.whl"))
    python = release.environment("plain")
    release.install(python, wheel)
    output = release.run(python, "-c", "import adjoint")
    if output.count("RuntimeWarning: adjoint runs as plain Python") != 1:
        raise Missing(f"the plain wheel does not say once that it is slow, but {output!r}")
    return self_test(release, python, ADJOINT_DISABLE_EXT="1")


def check_others(release: Release) -> str:
    """The source distribution builds for other interpreters, and passes the self test there."""
    if not release.pythons:
        raise Left("other interpreters: --python names none")
    reports = []
    for number, name in enumerate(release.pythons):
        python = release.environment(f"other-{number}", name)
        release.install(python, release.source, ADJOINT_REQUIRE_EXT="1")
        reports.append(f"{release.run(python, '--version').strip()}: {self_test(release, python)}")
    return "; ".join(reports)


def self_test(release: Release, python: Path, **variables: str) -> str:
    """Run the self test of an installation; returns its last line."""
    switches = variables or {"ADJOINT_REQUIRE_EXT": "1"}
    return release.run(python, "-P", "-m", "adjoint.selftest", **switches).strip().splitlines()[-1]


CHECKS: tuple[tuple[str, Callable[[Release], str]], ...] = (
    ("files", check_files),
    ("version", check_versions),
    ("changelog", check_changelog),
    ("workflows", check_workflows),
    ("build", check_build),
    ("source", check_source),
    ("wheel", check_wheel),
    ("manylinux", check_repair),
    ("newest", check_newest),
    ("oldest", check_oldest),
    ("plain", check_plain),
    ("reproducible", check_reproducible),
    ("interpreters", check_others),
)
#: Checks that the later ones need.
NEEDED = ("build",)


def check_all(release: Release) -> int:
    """Run the checks, and print a line for each; returns the exit status."""
    failed, left = [], []
    for name, check in CHECKS:
        try:
            print(f"{name}: {check(release)}", flush=True)
        except Left as reason:
            left.append(str(reason))
            print(f"{name}: not checked", flush=True)
        except Missing as reason:
            failed.append(name)
            print(f"{name}: FAILED: {reason}", flush=True)
            if name in NEEDED:
                break
    print(*[f"not checked: {reason}" for reason in left], sep="\n")
    print(f"failed: {', '.join(failed)}" if failed else f"{version()} can be released, as far as this machine can tell")
    return 1 if failed else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--python", action="append", default=[], metavar="PATH", help="another interpreter to test with"
    )
    parser.add_argument("--folder", type=Path, help="where to build (default: a temporary folder)")
    options = parser.parse_args(arguments)
    if options.folder is not None:
        options.folder.mkdir(parents=True)  # files of an earlier run would be mixed with those of this run
        return check_all(Release(options.folder.resolve(), options.python))
    with tempfile.TemporaryDirectory() as folder:
        return check_all(Release(Path(folder), options.python))


if __name__ == "__main__":
    sys.exit(main())
