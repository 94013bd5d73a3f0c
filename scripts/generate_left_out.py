"""Write docs/left-out.md from the table of PyTorch's names that adjoint leaves out on purpose:

python scripts/generate_left_out.py
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from adjoint.tensor.older.left_out import GROUPS, Group

PAGE = Path(__file__).parents[1] / "docs" / "left-out.md"
HEAD = """\
# What is left out

This page lists the names of PyTorch that adjoint leaves out on purpose, with the reason and the replacement. Access to
such a name raises AttributeError with the same text. `scripts/generate_left_out.py` writes this page from
`src/adjoint/tensor/older/left_out.py`. All other public names of the compared modules exist (`tests/test_left_out.py`).

Programs and libraries that [import torch](guides/from-pytorch.md) can import these names, and get the error at a call.
There torch.library has `custom_op`.
"""


def section(group: Group) -> str:
    """The part of the page for one group."""
    lines = [f"## {group.title}", "", *wrap(f"Why: {group.reason}."), "", *wrap(f"Instead: {group.instead}."), ""]
    for space, names in group.names.items():
        where = ".".join(part for part in ("torch", space) if part)
        lines += wrap(f"- of `{where}`: " + ", ".join(f"`{name}`" for name in names.split()), "  ")
    return "\n".join(lines)


def wrap(text: str, indent: str = "") -> list[str]:
    """A paragraph in lines of at most 120 characters."""
    return textwrap.wrap(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def page() -> str:
    """The whole page."""
    return "\n\n".join([HEAD.rstrip(), *map(section, GROUPS)]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
    print(f"{PAGE.name}: {len(GROUPS)} groups")
