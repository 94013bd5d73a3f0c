"""The programs of a page of the documents, for the scripts that draw its pictures."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"
sys.path.insert(0, str(ROOT / "src"))


def program_of(page: str, section: str) -> dict[str, Any]:
    """The variables after the first program of a section of docs/`page`."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").split(f"## {section}\n")[1]
    names: dict[str, Any] = {}
    exec(compile(re.findall(r"```python\n(.*?)```", text, re.S)[0], section, "exec"), names)
    return names
