"""Classes of simple layers, made from declarations.

    Hardshrink = layer("Hardshrink", "lambd=0.5", show="*lambd", doc="...", example="...")

declares a class with `__init__(self, lambd=0.5)`. Its forward calls `nn.functional.hardshrink(input, lambd=...)`.
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
    """Declare a class of modules.

    Args:
        name: the name of the class. Its `__module__` is the calling module.
        parameters: the parameters of `__init__`, written as in a signature; each becomes an attribute.
        doc: the first lines of the docstring.
        example: an expression with the class, " -> ", and the displayed result.
        function: the name of the function in nn.functional; the default is the lower-case name of the class.
        inputs: the parameters of forward, written as in a signature.
        call: the attributes that forward passes to the function; "key=attribute" gives one another name. The default
            is all attributes.
        show: the attributes in the repr: "name" shows name=value, "*name" only the value, "name?" only a true value.
        prepare: a function that checks and converts the attributes after `__init__` has set them.
        buffers: the attributes that become buffers.
        base: the base class.
    """
    module = sys._getframe(1).f_globals["__name__"]
    attributes = re.findall(r"(?:^|, )\*?(?:, )?(\w+)", re.sub(r"=[^,()]*(\([^)]*\))?", "", parameters))
    function = function or name.lower()
    pairs = [word.partition("=")[::2] for word in (" ".join(attributes) if call is None else call).split()]
    # inputs with a default are passed by name
    arguments = [re.sub("(.*)=.*", r"\1=\1", each) for each in inputs.split(", ")]
    arguments += [f"{key}=self.{attribute or key}" for key, attribute in pairs]
    names = {
        "__init__": _method(f"__init__(self{', ' * bool(parameters)}{parameters})", _body_of_init(attributes, buffers)),
        "forward": _method(f"forward(self, {inputs})", f"return F.{function}({', '.join(arguments)})"),
        "__module__": module,
        "__doc__": _docstring(doc, example, function),
        "_repr_words": tuple(show.split()),
        "_prepare": prepare,
    }
    for each in ("__init__", "forward"):
        names[each].__qualname__, names[each].__module__ = f"{name}.{each}", module
    return type(name, (Layer if base is Module else base,), names)


class Layer(Module):
    """The base class of the classes from layer(), with the repr of their attributes.

    >>> from adjoint import nn
    >>> nn.LeakyReLU().extra_repr()
    'negative_slope=0.01'
    """

    _repr_words: tuple[str, ...] = ()
    _prepare: Callable[[Any], object] | None = None

    def extra_repr(self) -> str:
        return repr_of(self, self._repr_words)


def repr_of(module: Module, words: tuple[str, ...]) -> str:
    """The repr of some attributes of a module; see `show` of layer()."""
    parts = []
    for word in words:
        name = word.strip("*?")
        value = getattr(module, name)
        if not word.endswith("?") or value:
            parts.append(f"{value!r}" if word.startswith("*") else f"{name}={value!r}")
    return ", ".join(parts)


def _body_of_init(attributes: list[str], buffers: str) -> str:
    """The Python text of the body of `__init__`, which sets the attributes."""
    lines = ["Module.__init__(self)"]
    for name in attributes:
        is_buffer = name in buffers.split()
        lines.append(f"self.register_buffer({name!r}, {name})" if is_buffer else f"self.{name} = {name}")
    return "\n    ".join([*lines, "type(self)._prepare and type(self)._prepare(self)"])


def _method(head: str, body: str) -> Any:
    """A method from the Python text of its head and body."""
    namespace: dict[str, Any] = {}
    # warnings need this file and this module, to distinguish adjoint's frames from the user's
    code = compile(f"def {head}:\n    {body}", __file__, "exec")
    exec(code, {"__name__": __name__, "Module": Module, "F": functional}, namespace)
    return next(iter(namespace.values()))


def _docstring(doc: str, example: str, function: str) -> str:
    call, _, result = example.partition(" -> ")
    text = f"{doc}\n\nIts forward method is adjoint.nn.functional.{function}.\n\n"
    return f"{text}>>> from adjoint import nn, ones, tensor, zeros\n>>> nn.{call}\n{result}\n"
