"""Layers that differ by names and arguments alone: classes made from declarations.

    Hardshrink = layer("Hardshrink", "lambd=0.5", show="*lambd", doc="...", example="...")

declares a class with `__init__(self, lambd=0.5)`, whose forward calls `nn.functional.hardshrink(input, lambd=...)`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import Any

from adjoint.nn import functional
from adjoint.nn.modules.module import Module


def layer(
    name: str,
    parameters: str = "",
    *,
    doc: str,
    example: str,
    function: str = "",
    inputs: str = "input",
    call: str | None = None,
    show: str = "",
    prepare: Callable[[Any], object] | None = None,
    buffers: str = "",
    base: type[Module] = Module,
) -> Any:
    """A class of modules.

    Args:
        name: its name; it belongs to the calling module.
        parameters: of `__init__`, as in a signature; each becomes an attribute.
        doc: its first lines. example: an expression of the class by its name, " -> ", and what it shows.
        function: the name in nn.functional; the class's name in small letters unless given.
        inputs: the parameters of forward, as in a signature.
        call: the attributes that are passed on, all unless given; "key=attribute" for one under another name.
        show: the attributes in the text: "name" as name=value, "*name" the value alone, "name?" only if it is true.
        prepare: checks the attributes and brings them into form, after they are set.
        buffers: the attributes that are registered as buffers.
        base: the class that it is derived from.
    """
    module = sys._getframe(1).f_globals["__name__"]
    attributes = re.findall(r"(?:^|, )\*?(?:, )?(\w+)", re.sub(r"=[^,()]*(\([^)]*\))?", "", parameters))
    function = function or name.lower()
    pairs = [word.partition("=")[::2] for word in (" ".join(attributes) if call is None else call).split()]
    # those with a default are passed by name
    arguments = [re.sub("(.*)=.*", r"\1=\1", each) for each in inputs.split(", ")]
    arguments += [f"{key}=self.{attribute or key}" for key, attribute in pairs]
    names = {
        "__init__": _method(f"__init__(self{', ' * bool(parameters)}{parameters})", _setting(attributes, buffers)),
        "forward": _method(f"forward(self, {inputs})", f"return F.{function}({', '.join(arguments)})"),
        "__module__": module,
        "__doc__": _documented(doc, example, function),
        "_repr_words": tuple(show.split()),
        "_prepare": prepare,
    }
    for each in ("__init__", "forward"):
        names[each].__qualname__, names[each].__module__ = f"{name}.{each}", module
    return type(name, (Layer if base is Module else base,), names)


class Layer(Module):
    """The base class of those that layer() makes: the text of their attributes.

    >>> from adjoint import nn
    >>> nn.LeakyReLU().extra_repr()
    'negative_slope=0.01'
    """

    _repr_words: tuple[str, ...] = ()
    _prepare: Callable[[Any], object] | None = None

    def extra_repr(self) -> str:
        return repr_of(self, self._repr_words)


def repr_of(module: Module, words: tuple[str, ...]) -> str:
    """Attributes of a module as its text shows them; see `show` of layer()."""
    parts = []
    for word in words:
        name = word.strip("*?")
        value = getattr(module, name)
        if not word.endswith("?") or value:
            parts.append(f"{value!r}" if word.startswith("*") else f"{name}={value!r}")
    return ", ".join(parts)


def _setting(attributes: list[str], buffers: str) -> str:
    """The body of an `__init__` that sets attributes."""
    lines = ["Module.__init__(self)"]
    for name in attributes:
        is_buffer = name in buffers.split()
        lines.append(f"self.register_buffer({name!r}, {name})" if is_buffer else f"self.{name} = {name}")
    return "\n    ".join([*lines, "type(self)._prepare and type(self)._prepare(self)"])


def _method(head: str, body: str) -> Any:
    """A method of a head and a body in Python."""
    namespace: dict[str, Any] = {}
    # the file and the module by which warnings tell adjoint's frames from the user's
    code = compile(f"def {head}:\n    {body}", __file__, "exec")
    exec(code, {"__name__": __name__, "Module": Module, "F": functional}, namespace)
    return next(iter(namespace.values()))


def _documented(doc: str, example: str, function: str) -> str:
    call, _, result = example.partition(" -> ")
    text = f"{doc}\n\nIts forward method is adjoint.nn.functional.{function}.\n\n"
    return f"{text}>>> from adjoint import nn, ones, tensor, zeros\n>>> nn.{call}\n{result}\n"
