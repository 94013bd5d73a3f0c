"""The engine of docs/engine.md as a module: the blocks of the page in order are one program."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from types import ModuleType

PAGE = Path(__file__).parents[2] / "docs" / "engine.md"
_BLOCK = re.compile(r"```python\n(.*?)```", re.S)


def program() -> str:
    """All blocks of the page, each at its own lines, so that messages have the line numbers of the page."""
    text = PAGE.read_text()
    lines = [""] * text.count("\n")
    for block in _BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        code = block[1].splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines) + "\n"


def load() -> ModuleType:
    """Load the module. Outputs of its examples are dropped."""
    module = ModuleType("engine_page")
    with redirect_stdout(StringIO()):
        exec(compile(program(), str(PAGE), "exec"), module.__dict__)
    return module
