"""Functions of functions take Tensors, arrays or numbers, and return results of the same kind.

A transformation is written for Tensors. `for_calls` and `for_primals` let it take trees of NumPy arrays and numbers.
The function that is differentiated then gets differentiable arrays with NumPy's meaning, and results come back as
arrays and numbers. `values` says how such values become Tensors and back; a floor above fills it in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial, wraps
from types import CodeType
from typing import Any, TypeVar

from adjoint.core.graph import TensorBase
from adjoint.core.modes.state import SET, current, is_grad_enabled, thread_is_inferring, with_modes
from adjoint.runtime import pytree
from adjoint.runtime.pytree import flatten
from adjoint.tensor.protocol_hooks import values

Function = Callable[..., Any]
T = TypeVar("T", bound=Function)

#: The code of this library's functions that call a function of the user's with differentiable arrays.
CALLERS: set[CodeType] = set()


def calls_back(function: T) -> T:
    """Enter a function that calls one of the user's with differentiable arrays."""
    CALLERS.add(function.__code__)
    return function


def are_arrays(leaves: Iterable[Any]) -> bool:
    """True if there are arrays or numbers among these, and no Tensors, which transformations want alone."""
    of_arrays = False
    for leaf in leaves:
        if isinstance(leaf, TensorBase):
            return False
        of_arrays = of_arrays or values.is_value(leaf)
    return of_arrays


def has_tensor(trees: Iterable[Any]) -> bool:
    """True if one of these is a Tensor itself, so that `are_arrays` need not look into them."""
    return any(isinstance(tree, TensorBase) for tree in trees)


def positions_in(argnums: Any, n: int) -> tuple[int, ...]:
    """The positions that argnums names and that exist; the transformation refuses all others."""
    if type(argnums) is int:
        return (argnums % n,) if -n <= argnums < n else ()
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    return tuple([number for number in numbers if isinstance(number, int) and -n <= number < n])


def to_tensors(tree: Any, name: str) -> Any:
    """A tree in which Tensors replace arrays and numbers."""
    return pytree.map(lambda leaf: values.enter(leaf, name) if values.is_value(leaf) else leaf, tree)


def tensor_arguments(args: tuple[Any, ...], positions: tuple[int, ...], name: str) -> tuple[list[Any], bool] | None:
    """Arguments in which Tensors replace arrays and numbers, and whether these included differentiable arrays.

    None if there are no arrays, or if there are Tensors, which transformations take alone.
    """
    arguments = list(args)
    if len(positions) == 1:
        tensor = values.enter_quickly(args[positions[0]])
        if tensor is not None:
            arguments[positions[0]] = tensor
            return arguments, False
    if has_tensor([args[position] for position in positions]):
        return None
    leaves = [leaf for position in positions for leaf in flatten(args[position])[0]]
    if not are_arrays(leaves):
        return None
    for position in positions:
        arguments[position] = to_tensors(args[position], name)
    return arguments, any_held(leaves)


def any_held(leaves: Iterable[Any]) -> bool:
    """True if one of these is a differentiable array."""
    return any(values.is_held(leaf) for leaf in leaves)


def to_arguments(tree: Any) -> Any:
    """A tree of Tensors as a function gets it."""
    if isinstance(tree, TensorBase):
        return values.give(tree)
    return pytree.map(lambda leaf: values.give(leaf) if isinstance(leaf, TensorBase) else leaf, tree)


def has_tensor_leaf(tree: Any) -> bool:
    """True for a tree with a Tensor among its leaves."""
    return any(isinstance(leaf, TensorBase) for leaf in flatten(tree)[0])


def to_results(result: Any, has_aux: bool = False) -> Any:
    """The result of a function, as the transformation takes it; with has_aux, constants stay in the second part."""
    if has_aux and type(result) is tuple and len(result) == 2:
        return to_results(result[0]), pytree.map(values.take, result[1])
    if values.is_held(result):
        return values.take(result)
    return pytree.map(lambda leaf: values.take(leaf, True), result)


class Leaving:
    """The form of the results of one call: differentiable arrays if any argument is one, otherwise plain arrays."""

    def __init__(self, is_held: bool) -> None:
        self.is_held = is_held

    def result(self, tree: Any) -> Any:
        """A tree of results; a function that is one takes arrays and gives arrays."""
        if isinstance(tree, TensorBase):
            return values.leave(tree, self.is_held)
        return pytree.map(self.leaf, tree)

    def leaf(self, leaf: Any) -> Any:
        """One result."""
        if isinstance(leaf, TensorBase):
            return values.leave(leaf, self.is_held)
        return self.function(leaf) if callable(leaf) else leaf

    def function(self, of_tensors: Function) -> Function:
        """A pullback, or another function that is a result."""

        @wraps(of_tensors, updated=())
        def of_arrays(*trees: Any) -> Any:
            leaving = Leaving(self.is_held or any_held(flatten(trees)[0]))
            return leaving.result(of_tensors(*to_tensors(trees, of_tensors.__name__)))

        return of_arrays


#: Inference mode around a transformation does not affect its own derivative; outside it nothing is recorded.
OUTSIDE_INFERENCE = ((SET, "inference", False),)


def for_calls(transform: T) -> T:
    """Let the functions that a transformation makes take arrays; `argnums` says which arguments may be some."""
    name = transform.__name__

    @wraps(transform)
    def public(func: Function, argnums: Any = 0, *options: Any, **keywords: Any) -> Function:
        of_tensors = transform(func, argnums, *options, **keywords)
        has_aux = bool(options[0] if options else keywords.get("has_aux", False))
        inner: list[Function] = []

        @calls_back
        def function(*args: Any, **kwargs: Any) -> Any:
            arguments = list(args)
            for position in positions_in(argnums, len(args)):
                arguments[position] = to_arguments(arguments[position])
            return to_results(func(*arguments, **kwargs), has_aux)

        @wraps(func, updated=())
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            if thread_is_inferring():
                return with_modes(OUTSIDE_INFERENCE, partial(wrapper, **kwargs), args)
            entrance = tensor_arguments(args, positions_in(argnums, len(args)), name)
            if entrance is None:
                return of_tensors(*args, **kwargs)
            if not inner:
                inner.append(transform(function, argnums, *options, **keywords))
            arguments, is_held = entrance
            return Leaving(is_held).result(inner[0](*arguments, **kwargs))

        return wrapper

    return public  # type: ignore[return-value]


def for_primals(transform: T) -> T:
    """Let a transformation take arrays: a function first, then trees of values, and options by name."""
    name = transform.__name__

    @wraps(transform)
    def public(func: Function, *primals: Any, **options: Any) -> Any:
        if thread_is_inferring():
            return with_modes(OUTSIDE_INFERENCE, partial(public, func, **options), primals)
        if (primals and isinstance(primals[0], TensorBase)) or has_tensor(primals):
            return transform(func, *primals, **options)
        keyword_trees = {key: tree for key, tree in options.items() if key in ("inputs", "v", "primals", "tangents")}
        leaves = flatten((primals, keyword_trees))[0]
        if not are_arrays(leaves):
            return transform(func, *primals, **options)

        @calls_back
        def function(*args: Any, **kwargs: Any) -> Any:
            return to_results(func(*to_arguments(args), **kwargs), bool(options.get("has_aux", False)))

        options |= {key: to_tensors(tree, name) for key, tree in keyword_trees.items()}
        return Leaving(any_held(leaves)).result(transform(function, *to_tensors(primals, name), **options))

    return public  # type: ignore[return-value]


# solvers --------------------------------------------------------------------------------------------------------------


def for_solvers(solver: T) -> T:
    """Let a solver take arrays: it gets a function, a tree to start from, and more trees and functions."""

    @wraps(solver)
    def public(func: Function, *trees: Any, **options: Any) -> Any:
        leaves = flatten((func, trees, options))[0]
        if any(isinstance(leaf, TensorBase) for leaf in leaves):
            return solver(func, *trees, **options)
        start = tuple([pytree.map(_start_value, tree) for tree in trees[:1]])
        arguments = (outward(func), *start, *[pytree.map(_to_tensor, tree) for tree in trees[1:]])
        return Leaving(any_held(leaves)).result(
            solver(*arguments, **{name: pytree.map(_to_tensor, tree) for name, tree in options.items()})
        )

    return public  # type: ignore[return-value]


def _start_value(leaf: Any) -> Any:
    """A number or array to start from: Python's numbers are in double precision, as NumPy's."""
    return values.enter(leaf, "solver", True) if values.is_value(leaf) else leaf


def _to_tensor(leaf: Any) -> Any:
    """An argument of a solver as it runs inside: on Tensors."""
    return outward(leaf) if callable(leaf) else values.take(leaf)


def _to_value(leaf: Any) -> Any:
    """A value of a solver as the user's functions get it."""
    if isinstance(leaf, TensorBase):
        return values.give(leaf)
    return inward(leaf) if callable(leaf) else leaf


def outward(function: Any) -> Any:
    """A function of the user's, which takes arrays, as a solver calls it: with Tensors. For an array its Tensor."""
    if not callable(function):
        return values.take(function, True)

    @wraps(function, updated=())
    @calls_back
    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        arguments, keywords = pytree.map(_to_value, (args, kwargs))
        return pytree.map(values.take, function(*arguments, **keywords))

    return on_tensors


def on_values(function: Function, is_rule: bool = False) -> Function:
    """A function of plain arrays as Tensors call it; a rule gets differentiable arrays where derivatives go on."""

    @wraps(function, updated=())
    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        arguments, keywords = pytree.map(_of_rule if is_rule else _plain, (args, kwargs))
        return pytree.map(lambda leaf: values.take(leaf, True), function(*arguments, **keywords))

    return on_tensors


def _plain(leaf: Any) -> Any:
    return values.plain(leaf) if isinstance(leaf, TensorBase) else leaf


def _of_rule(leaf: Any) -> Any:
    if isinstance(leaf, TensorBase) and (is_grad_enabled() or current().dual_stack or current().batches):
        return values.leave(leaf, False)
    return _plain(leaf)


def inward(function: Function) -> Function:
    """A function of Tensors, as the user's functions call it: with arrays."""

    @wraps(function, updated=())
    def on_arrays(*args: Any) -> Any:
        return to_arguments(function(*pytree.map(values.take, args)))

    return on_arrays
