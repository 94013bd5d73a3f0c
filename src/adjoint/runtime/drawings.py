"""Drawings of boxes and arrows: text for Graphviz and Mermaid, SVG where Graphviz is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

#: The meaning of a box, and its colour in Graphviz.
INNER, LEAF, ROOT, CALL = "inner", "leaf", "root", "call"
_COLOURS = {LEAF: "#d7ecd9", ROOT: "#fbe3c0", CALL: "#f6dadf"}


class Box(NamedTuple):
    """A box: its text, and the object that it represents."""

    text: str
    kind: str = INNER


class Drawing:
    """Boxes and arrows between them, by their numbers. Arrows point up.

    A notebook shows it as a picture; `print` gives the text for Graphviz.
    """

    def __init__(self, boxes: Sequence[Box], arrows: Sequence[tuple[int, int]], name: str) -> None:
        self.boxes, self.arrows, self.name = boxes, arrows, name

    def __len__(self) -> int:
        return len(self.boxes)

    def dot(self) -> str:
        """The drawing in Graphviz's language; arrows go from inputs to results."""
        lines = [
            f"digraph {self.name} {{\n"
            '  rankdir=BT; node [shape=box, style="rounded,filled", fillcolor="#eef2f7", color="#7f8fa6", '
            'fontname="sans-serif", fontsize=10]; edge [color="#7f8fa6"];\n'
        ]
        for i, box in enumerate(self.boxes):
            colour = f', fillcolor="{_COLOURS[box.kind]}"' if box.kind in _COLOURS else ""
            lines.append(f"  n{i} [label={_quote(box.text)}{colour}];\n")
        lines.extend(f"  n{source} -> n{target};\n" for source, target in self.arrows)
        return "".join([*lines, "}\n"])

    def mermaid(self) -> str:
        """The drawing in Mermaid's language, which GitHub and notebooks draw."""
        lines = ["flowchart BT\n"]
        for i, box in enumerate(self.boxes):
            text = box.text.replace('"', "#quot;").replace("\n", "<br/>")
            left, right = ("([", "])") if box.kind == LEAF else ("[", "]")
            lines.append(f'  n{i}{left}"{text}"{right}\n')
        lines.extend(f"  n{source} --> n{target}\n" for source, target in self.arrows)
        return "".join(lines)

    def svg(self) -> str:
        """The picture as SVG. Raises RuntimeError if Graphviz (its program `dot`) is not installed."""
        import subprocess

        program = graphviz()
        if program is None:
            raise RuntimeError(
                "the program 'dot' was not found: install Graphviz (graphviz.org), or use dot() or mermaid()"
            )
        return subprocess.run([program, "-Tsvg"], input=self.dot(), capture_output=True, text=True, check=True).stdout

    def save(self, path: str) -> None:
        """Write the drawing to a file, in the language of its ending: .dot, .gv, .mmd or .svg.

        Raises ValueError for another ending.
        """
        ending = str(path).rpartition(".")[2]
        writers = {"dot": self.dot, "gv": self.dot, "mmd": self.mermaid, "svg": self.svg}
        if ending not in writers:
            raise ValueError(f"no drawing is written to files that end in {ending!r}: use one of {', '.join(writers)}")
        text = writers[ending]()
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def __str__(self) -> str:
        return self.dot()

    def __repr__(self) -> str:
        return f"<drawing of {len(self)} nodes; print it, or use .svg(), .dot(), .mermaid(), .save(path)>"

    def _repr_mimebundle_(self, **options: object) -> dict[str, str]:
        if graphviz() is None:
            return {"text/markdown": f"```mermaid\n{self.mermaid()}```", "text/plain": repr(self)}
        return {"image/svg+xml": self.svg(), "text/plain": repr(self)}


def graphviz() -> str | None:
    """The path of Graphviz's program `dot`, None if it is not installed."""
    import shutil

    return shutil.which("dot")


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
