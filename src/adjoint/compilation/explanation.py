"""Explains a compiled function: its program in readable form, with the time of each part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from adjoint.compilation.programs.lowering import Call, Check, Elementwise, Number
from adjoint.compilation.programs.schedule import Group
from adjoint.compilation.programs.views import CONSTANT, EXTERNAL
from adjoint.compilation.recordings.reach import description
from adjoint.runtime.drawings import CALL, INNER, Box, Drawing

if TYPE_CHECKING:
    from adjoint.compilation.programs.replay import Program

#: So many steps of a region are shown.
_SHOWN = 40
_REPEATS = 5


class Explanation:
    """The recording of a function for some arguments, as text.

    regions: one line for each region and call. reason: why the function runs as it is, or None.
    drawing: a picture of the regions and calls, and of what each takes from others; None where the function runs as it
    is. A notebook shows it.
    """

    def __init__(self, name: str, entry: Any, leaves: list[Any], reason: str | None) -> None:
        self.name, self.reason = name, reason
        self.regions: list[str] = []
        self.guards: list[str] = []
        self.text = ""
        self.drawing: Drawing | None = None
        if entry is None:
            self.text = f"{name} runs as it is: it {reason}"
            return
        self.guards = guards_of(entry)
        lines = [f"{name}: {len(self.guards)} guards, {program_size(entry.program)}"]
        times = entry.time_parts(leaves, _REPEATS)
        lines += self._list_steps("program", entry.program, times)
        self.drawing = drawing_of(entry.program, times)
        if entry.has_history:
            backward = entry.pulls.whole.program
            title = "backward"
            if entry.saved_bytes is not None:
                title += ": saves {} of {} bytes, the others are computed again".format(*entry.saved_bytes)
            lines += self._list_steps(title, backward, [None] * len(backward.order))
        lines += ["guards:", *[f"    {guard}" for guard in self.guards]]
        self.text = "\n".join(lines)

    def _list_steps(self, title: str, program: Any, times: list[float | None]) -> list[str]:
        lines = [f"{title}:"]
        for k, (part, seconds) in enumerate(zip(program.order, times, strict=True)):
            self.regions.append(line_of(part))
            time = "" if seconds is None else f"  # {seconds * 1e6:.1f} us"
            lines.append(f"  {k}. {line_of(part)}{time}")
            if isinstance(part, Group):
                lines += [f"       {text_of(step)}" for step in part.instructions[:_SHOWN]]
                if len(part.instructions) > _SHOWN:
                    lines.append(f"       ... {len(part.instructions) - _SHOWN} more")
        return lines

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        picture = {} if self.drawing is None else self.drawing._repr_mimebundle_(**options)
        return {**picture, "text/plain": self.text}

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


def drawing_of(program: Program, times: list[float | None]) -> Drawing:
    """A box for each region and call, and an arrow for each buffer that one writes and another reads."""
    boxes, arrows = [], []
    writers: dict[int, int] = {}
    for k, (part, seconds) in enumerate(zip(program.order, times, strict=True)):
        time = "" if seconds is None else f"\n{seconds * 1e6:.1f} us"
        boxes.append(Box(f"{k}. {line_of(part)}{time}", INNER if isinstance(part, Group) else CALL))
        steps = part.instructions if isinstance(part, Group) else [part]
        sources = {writers[v.buffer.number] for step in steps for v in step.reads if v.buffer.number in writers}
        arrows += [(source, k) for source in sorted(sources)]
        writers.update({view.buffer.number: k for step in steps for view in step.writes})
    return Drawing(boxes, arrows, "program")


def program_size(program: Any) -> str:
    """How many regions and calls a program has, and its memory between them."""
    groups = [part for part in program.order if isinstance(part, Group)]
    steps = sum([len(group.instructions) for group in groups])
    calls = len(program.order) - len(groups)
    return f"{steps} steps in {len(groups)} regions, {calls} calls, {program.arena_bytes} bytes between them"


def guards_of(entry: Any) -> list[str]:
    """The conditions for a replay."""
    guards = [description(slot) for slot in entry.reach.slots]
    for part in entry.program.order:
        if isinstance(part, Check):
            where = "" if part.line is None else f", {part.line[0].co_filename}:{part.line[1]}"
            guards.append(f"{part.name} of {', '.join(map(name_of, part.reads))} is {part.expected!r:.40}{where}")
    return guards


def line_of(part: Any) -> str:
    """A region or a call on one line."""
    return part.name if isinstance(part, Group) else text_of(part)


def name_of(operand: Any) -> str:
    """An operand as explanations call it."""
    if isinstance(operand, Number):
        return repr(operand.value.item())
    letter = {EXTERNAL: "x", CONSTANT: "c"}.get(operand.buffer.kind, "t")
    offset = "" if operand.is_whole else f"@{operand.offset}"
    return f"{letter}{operand.buffer.number}{offset}"


def text_of(step: Any) -> str:
    """One instruction as a person would write it."""
    if isinstance(step, Elementwise):
        return f"{name_of(step.out)} = {step.name}({', '.join(map(name_of, step.operands))})"
    results = ", ".join([name_of(view) for view in step.writes]) if isinstance(step, Call) else ""
    arguments = ", ".join([name_of(view) for view in step.reads])
    if isinstance(step, Check):
        return f"check {step.name}({arguments}) is {step.expected!r:.40}"
    return f"{results} = {step.name}({arguments})" if results else f"{step.name}({arguments})"
