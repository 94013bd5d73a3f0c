"""The commands in CONTRIBUTING exist, and each works in a new environment.

ADJOINT_TEST_FRESH=1 runs them in a clone with a new environment. This needs the network and some minutes.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
#: Blocks of commands are indented by four spaces. A remark begins with #.
COMMANDS = [
    line.split("#")[0].strip()
    for line in re.findall(r"^    ((?:make|python|pip|pre-commit|\.) .*)$", PAGE, re.MULTILINE)
]
#: Commands that run all tests. CI runs these on a clone.
WHOLE = {"make test", "make demo"}
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 5 and set(COMMANDS) >= WHOLE


@pytest.mark.parametrize("target", sorted(set(re.findall(r"(?:`|^    )make ([a-z-]+)", PAGE, re.MULTILINE))))
def test_targets_exist(target: str) -> None:
    assert target in TARGETS


@pytest.mark.parametrize("script", sorted(set(re.findall(r"python (\w+/[\w/]+\.py)", PAGE))))
def test_scripts_exist(script: str) -> None:
    assert (ROOT / script).is_file()


@pytest.mark.skipif(not os.environ.get("ADJOINT_TEST_FRESH"), reason="set ADJOINT_TEST_FRESH=1: it needs the network")
def test_commands_work_in_a_fresh_environment(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    # `make lint` makes the same environment as `make test`
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ADJOINT", "VIRTUAL"))}
    script = "\n".join(["set -e", "make lint", *[command for command in COMMANDS if command not in WHOLE]])
    ended = subprocess.run(
        ["sh", "-c", script], cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
