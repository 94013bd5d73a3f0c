"""A decorator that extends operators to functions of several arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]


def unary_to_nary(unary_operator: Function) -> Function:
    """Extend an operator on functions of one argument to functions of several arguments.

    The new operator has a second argument, argnum: the position of the argument that the operator uses, or a tuple of
    positions, for which the function becomes a function of a tuple.
    """

    @functools.wraps(unary_operator)
    def nary_operator(fun: Function, argnum: Any = 0, *nary_op_args: Any, **nary_op_kwargs: Any) -> Function:
        assert type(argnum) in (int, tuple, list), argnum

        operator, name = get_name(unary_operator), get_name(fun)

        def nary_f(*args: Any, **kwargs: Any) -> Any:
            if isinstance(argnum, int):
                x = args[argnum]
            else:
                x = tuple(args[i] for i in argnum)

            def unary_f(x: Any) -> Any:
                values = list(args)
                for position, value in ((argnum, x),) if isinstance(argnum, int) else zip(argnum, x, strict=True):
                    values[position] = value
                return fun(*values, **kwargs)

            unary_f.__name__ = name
            return unary_operator(unary_f, x, *nary_op_args, **nary_op_kwargs)

        nary_f.__name__ = nary_f.__qualname__ = f"{operator}_of_{name}_wrt_argnum_{argnum}"
        nary_f.__doc__ = (
            f"    {operator} of function {name} with respect to argument number {argnum}. Takes the\n"
            f"    same arguments as {name} but returns the {operator}.\n    "
        )
        return nary_f

    return nary_operator


def get_name(f: Any) -> str:
    """The name of a function for messages.

    For functools.partial it is the name of the inner function.
    """
    while isinstance(f, functools.partial):
        f = f.func
    return getattr(f, "__name__", "[unknown name]")


def get_doc(f: Any) -> str | None:
    """The docstring of a function, or None.

    f: any object.
    """
    return getattr(f, "__doc__", None)


def wraps(
    fun: Function, namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any
) -> Callable[[Function], Function]:
    """Set the name and the docstring of a function, made from those of another function.

    >>> @wraps(len, namestr="grad_of_{fun}_by_{argnum}", argnum=0)
    ... def derivative(x): ...
    >>> derivative.__name__
    'grad_of_len_by_0'
    """

    def decorate(function: Function) -> Function:
        name, doc = getattr(fun, "__name__", "[unknown name]"), getattr(fun, "__doc__", "")
        function.__name__ = namestr.format(fun=name, doc=doc, **kwargs)
        function.__doc__ = docstr.format(fun=name, doc=doc, **kwargs)
        return function

    return decorate
