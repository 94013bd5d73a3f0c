"""Emulated machines of other kinds: unpacked packages of Debian for the processor, and qemu's emulator of programs.

The module installs nothing. This machine needs apt, dpkg, qemu-user-static, and gcc for the processor (`needs`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from trust.folders import FOLDER

#: The first release of Debian whose NumPy is new enough for adjoint on every processor here.
RELEASE = "forky"
# fmt: off
PACKAGES = [
    "python3-dev", "python3-numpy", "python3-scipy", "python3-ml-dtypes", "python3-array-api-compat",
    "python3-threadpoolctl", "python3-pytest", "python3-hypothesis", "python3-mpmath",
]
# fmt: on


@dataclass(frozen=True)
class Machine:
    """A kind of processor: Debian's name for it, the compilers' and qemu's."""

    name: str
    triple: str
    emulator: str

    @property
    def root(self) -> Path:
        """The folder of its unpacked packages."""
        return FOLDER / "machines" / self.name

    @property
    def python(self) -> Path:
        """The command that runs its interpreter here."""
        return self.root / "python"

    @property
    def compiler(self) -> str:
        """The compiler. It runs here and makes programs for the machine, with the machine's headers and libraries."""
        return f"{self.triple}-gcc --sysroot={self.root}"


MACHINES = {
    "arm64": Machine("arm64", "aarch64-linux-gnu", "qemu-aarch64-static"),
    "s390x": Machine("s390x", "s390x-linux-gnu", "qemu-s390x-static"),
}


def needs(machine: Machine) -> list[str]:
    """The missing programs that emulation needs."""
    programs = ("apt-get", "dpkg-deb", machine.emulator, f"{machine.triple}-gcc")
    return [program for program in programs if shutil.which(program) is None]


def make_root(machine: Machine) -> None:
    """Fetch and unpack the packages of a machine, once, and write its `python`."""
    if machine.python.exists():
        return
    state = machine.root / "apt"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    (state / "status").touch()
    keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
    line = f"deb [arch={machine.name} signed-by={keys}] {mirror()} {RELEASE} main\n"
    (state / "sources.list").write_text(line)
    settings = {
        "APT::Architecture": machine.name,
        "APT::Architectures": machine.name,
        "Acquire::Languages": "none",
        "Dir::State": state / "state",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::Etc::preferencesparts": "/dev/null",
    }
    apt = ["apt-get", "-q", *(f"-o{name}={value}" for name, value in settings.items())]
    output(*apt, "update")
    output(*apt, "install", "-y", "--no-install-recommends", "--download-only", *PACKAGES)
    for package in (state / "cache" / "archives").glob("*.deb"):
        output("dpkg-deb", "-x", str(package), str(machine.root))
    for name in ("lib", "lib64"):
        if not (machine.root / name).exists():
            (machine.root / name).symlink_to(f"usr/{name}")
    write_python(machine)


def mirror() -> str:
    """The first archive that this system takes its packages from."""
    archives = output("apt-get", "indextargets", "--format", "$(REPO_URI)").split()
    if not archives:
        raise RuntimeError("apt-get knows no archive: run `apt-get update`")
    return archives[0]


def write_python(machine: Machine) -> None:
    """The script that runs the machine's interpreter. As sys.executable it starts children in the same way."""
    libraries = machine.root / "usr" / "lib" / machine.triple
    script = (
        "#!/bin/sh\n"
        f'exec {machine.emulator} -0 "$0" -L {machine.root} -E PYTHONHOME={machine.root}/usr'
        f' -E LD_LIBRARY_PATH={libraries}/blas:{libraries}/lapack {interpreter(machine)} "$@"\n'
    )
    machine.python.write_text(script)
    machine.python.chmod(0o755)


def interpreter(machine: Machine) -> Path:
    """The machine's own python3.N, a program that only its emulator runs."""
    (program,) = (path for path in (machine.root / "usr" / "bin").glob("python3.[0-9]*") if "-" not in path.name)
    return program


def include_dirs(machine: Machine) -> list[str]:
    """The folders of the machine's Python.h and of NumPy's headers."""
    usr = machine.root / "usr"
    numpy = usr / "lib" / "python3" / "dist-packages" / "numpy" / "_core" / "include"
    return [str(usr / "include" / interpreter(machine).name), str(numpy)]


def output(*words: str) -> str:
    """The output of a command. If the command fails, the error has its error output."""
    result = subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"})
    if result.returncode:
        raise RuntimeError(f"{' '.join(words[:3])} ... failed:\n{result.stdout[-1000:]}{result.stderr[-2000:]}")
    return result.stdout
