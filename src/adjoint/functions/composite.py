"""Composites: public functions made of declared operations, such as overloads that pick an operation by arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from inspect import unwrap
from typing import TYPE_CHECKING, Any, TypeVar

from numpy import generic

from adjoint.arrays.namespace import is_array
from adjoint.core import errors
from adjoint.core.graph import TensorBase, registry
from adjoint.core.holders import tensor_of_array
from adjoint.core.operations.public_functions import skip_wrapper
from adjoint.core.recorded import TensorOps, operations
from adjoint.functions.names import FUNCTIONS
from adjoint.runtime.lazy import LateModule, LazyTable, by_name

if TYPE_CHECKING:
    from adjoint.core.operations import out_dtypes
    from adjoint.tensor.tensor import Tensor
else:
    out_dtypes = LateModule("adjoint.core.operations.out_dtypes")

F = TypeVar("F", bound=Callable[..., Any])

#: The declared operations, called on Tensors (and numbers or arrays) and recorded.
ops = TensorOps()


class Composite:
    """A composite, with its namespace as a function and its name as a method."""

    __slots__ = ("function", "method", "namespace")

    def __init__(self, function: Callable[..., Any], namespace: str, method: str | None) -> None:
        self.function, self.namespace, self.method = function, namespace, method


def separate(result: Tensor) -> Tensor:
    """The result of a function: no view, though it was made as one of a tensor that nobody else has.

    It shares that tensor's version: if a node saved the values, an operation in place on the result is still found.
    """
    result._view = None
    return result


#: All composites by (namespace, name); the namespace is "" for adjoint itself, or "linalg", "nn.functional" ...
#: A file of functions is imported when one of them is first looked for.
COMPOSITES: LazyTable[tuple[str, str], Composite] = LazyTable(
    {
        (namespace, name): home
        for namespace, names in FUNCTIONS.items()
        for name, home in by_name(names).items()
        if home.startswith("adjoint.functions.")
    },
    import_module,
)


def composite(*, namespace: str | None = "", method: bool | str = True, name: str | None = None) -> Callable[[F], F]:
    """Declare a composite; its first parameter is the Tensor it is a method of.

    namespace None: only a method. method False: only a function; a string: the method's name where it differs.
    """

    def declare(function: F) -> F:
        # a function's trailing underscore avoids Python's own names, a method's says that it works in place
        public_name = name or (function.__name__ if namespace is None else function.__name__.rstrip("_"))
        key = ("(method)" if namespace is None else namespace, public_name)
        bound = (public_name if method is True else method) or None
        if not COMPOSITES.declare(key, Composite(function, key[0], bound)):
            raise ValueError(f"composite {public_name!r} is declared twice in namespace {namespace!r}")
        return function

    return declare


#: Declare a function of nn.functional.
functional = composite(namespace="nn.functional", method=False)


def in_functional(function: F) -> F:
    """Declare a function of torch.nn.functional."""
    return composite(namespace="nn.functional", method=False)(function)


def public(function: F) -> F:
    """Declare a function that torch has under one name in two places: torch and torch.nn.functional."""
    return composite(method=False)(in_functional(function))


def in_place(*namespaces: str) -> Callable[[F], F]:
    """Declare a function that works in place: its name ends in an underscore, and it is no method."""

    def declare(function: F) -> F:
        for namespace in namespaces:
            composite(namespace=namespace, method=False, name=function.__name__)(function)
        return function

    return declare


def describe(text: str, /, **words: object) -> Callable[[F], F]:
    """Give a function the docstring of its family, with words of its own."""

    def decorate(function: F) -> F:
        function.__doc__ = text.format(**words)
        return function

    return decorate


def alias_text(of: str) -> str:
    """The docstring of another name for a function."""
    return f"""Alias of {of}().

    The same arguments, shapes, dtypes, derivative and errors: see help(adjoint.{of.removeprefix("adjoint.")}).
    """


def in_place_text(of: str) -> str:
    """The docstring of a function in place."""
    return f"""In-place version of {of}.

    The result is written into the tensor, which is returned; its version counts up. Raises RuntimeError for a leaf that
    requires a gradient while gradients are recorded, and where the tensor cannot hold the result.
    """


def add_references(function: Callable[..., Any], public: str) -> None:
    """Add to a docstring the derivative, the name of the function in PyTorch, and the place of the declaration."""
    from adjoint.functions.derivative_help import PARAGRAPHS

    text, inner = function.__doc__, function
    if text is None or _REFERENCES in text:
        return
    while hasattr(inner, "__wrapped__"):
        inner = inner.__wrapped__
    paragraph = text[text.find("\n\n") + 2 :] if "\n\n" in text else ""
    margin = paragraph[: len(paragraph) - len(paragraph.lstrip(" "))]
    path = inner.__globals__["__name__"].replace(".", "/")
    line = inner.__code__.co_firstlineno
    derivative = PARAGRAPHS.get(public, "").replace("\n", f"\n{margin}")
    text = f"{text.rstrip()}\n\n{margin}{derivative}".rstrip()
    function.__doc__ = f"{text}\n\n{margin}{_REFERENCES}{public}\n{margin}Declared at {path}.py:{line}\n{margin}"


_REFERENCES = "PyTorch: torch."
_NUMPY_NAMES = {"axis": "dim", "keepdims": "keepdim"}
_FIRST = ("input", "self", "A", "a", "x")
_NO_NAMES: Mapping[str, str] = {}


def under_own_names(name: str, kwargs: dict[str, Any], synonyms: Mapping[str, str]) -> dict[str, Any]:
    """Keyword arguments under a function's own names; TypeError if one is given under two."""
    renamed = {synonyms.get(key, key): value for key, value in kwargs.items()}
    if len(renamed) < len(kwargs):
        raise TypeError(f"{name}() got one argument under two names: {', '.join(kwargs)}")
    return renamed


def torch_call(name: str = "", first: str = "input", others: Mapping[str, str] = _NO_NAMES) -> Callable[[F], F]:
    """Let a composite accept the calls of torch's functions: with out=, NumPy's argument names, or a raw array first.

    name: the function's name in messages, if it differs. first: the name of its first parameter, a Tensor, which may
    also be called `input`. others: undocumented argument names that torch's function accepts.
    """

    def decorate(function: F) -> F:
        message_name = name or function.__name__.rstrip("_")
        code = unwrap(function).__code__
        own_names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        synonyms = {**_NUMPY_NAMES, **dict.fromkeys(_FIRST, first), **others}
        renamed = {key: value for key, value in synonyms.items() if key not in own_names}

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            out = None
            if kwargs:
                kwargs = under_own_names(message_name, kwargs, renamed)
                out = kwargs.pop("out", None)
            if not args and first not in kwargs:
                raise TypeError(f'{message_name}() missing 1 required positional arguments: "{first}"')
            input = args[0] if args else kwargs.pop(first)
            if not isinstance(input, TensorBase):
                # functions of others are asked for by their checks
                if registry.has_foreign([input]) and registry.functions[""].get(message_name) is public:
                    options = kwargs if out is None else {**kwargs, "out": out}
                    return registry.dispatch(public, (input, *args[1:]), options)
                input = as_tensor(message_name, first, 1, input)
            result = function(input, *args[1:], **kwargs)
            return result if out is None else into(out, result, message_name)

        call.__name__ = call.__qualname__ = function.__name__.rstrip("_")
        call.takes_out = True
        public = skip_wrapper(function, call, "out", of_tensor=True)
        return public

    return decorate


def alias_parameters(**others: str) -> Callable[[F], F]:
    """Let a composite be called with further names of parameters: torch's own, where its documentation has another."""

    def decorate(function: F) -> F:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **under_own_names(function.__name__, kwargs, others))

        return skip_wrapper(function, call)

    return decorate


def takes_out(function: F) -> F:
    """Let a composite be called with out=, a tensor that its result is written into."""

    @wraps(function)
    def call(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return result if out is None else into(out, result, function.__name__)

    call.takes_out = True
    return skip_wrapper(function, call, "out")


def as_tensor(function: str, argument: str, position: int, value: object) -> Any:
    """The argument itself, or a raw array as a constant Tensor. Raises TypeError for other objects."""
    if isinstance(value, TensorBase):
        return value
    if is_array(value):
        return tensor_of_array(value)
    raise TypeError(errors.must_be_tensor(function, argument, position - 1, value))


def as_number(value: Any) -> Any:
    """A NumPy number or a 0-d tensor as a Python number; other objects unchanged."""
    if isinstance(value, generic) or (isinstance(value, TensorBase) and not value._array.ndim):
        return value.item()
    return value


def into(out: Any, results: Any, name: str) -> Any:
    """Write results into the tensors given as out=, and return these."""
    several = isinstance(out, (tuple, list))
    targets, sources = (out, results) if several else ((out,), (results,))
    for target, result in zip(targets, sources, strict=True):
        if result.requires_grad:
            raise RuntimeError(errors.out_requires_grad(name))
        if isinstance(target, TensorBase):
            out_dtypes.check_out_dtype(name, result._array.dtype, target._array.dtype)
        operations["clone"].into(target, [result])
    return type(results)(*targets) if several and hasattr(results, "_fields") else out
