"""`custom`: derivatives for a plain function, without a class.

Rules are written as in adjoint's own table: the parameters of a rule name the saved values. Arguments and results may
be trees of tensors. A missing rule follows by transposition: the jvp from the vjp, or the vjp from the jvp, each of
which is linear.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from adjoint.arrays.namespace import in_batch_of, namespace
from adjoint.core.graph import TensorBase, new_tensor
from adjoint.core.modes.grad_mode import enable_grad
from adjoint.core.modes.state import SET, ModeBlock, current, is_grad_enabled
from adjoint.core.operations.dependence import check_kept, is_differentiating
from adjoint.core.operations.naming import KeptByName
from adjoint.core.operations.recorder import is_inexact
from adjoint.runtime.pytree import TreeDef, flatten
from adjoint.tensor.differentiate import grad, needing_grad
from adjoint.tensor.protocol_hooks import values
from adjoint.transforms import passing
from adjoint.transforms.custom_functions.function import Function, FunctionMeta

if TYPE_CHECKING:
    from adjoint.tensor.tensor import Tensor
Tree = Any
Rule = Callable[..., Any]
Rules = Rule | dict[str, Rule]

_RESULT = "y"


class CustomFunction(KeptByName):
    """A function with its own derivatives, made by `custom`; call it like the plain function."""

    def __init__(self, function: Callable[..., Any], vjp: Rules | None, jvp: Rules | None) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.signature = inspect.signature(function)
        self.names = tuple(self.signature.parameters)
        self.rules: dict[str, dict[str | None, Rule]] = {"vjp": {}, "jvp": {}}
        #: The variants for arrays, made at the first call with arrays: one inside differentiated functions, one
        #: elsewhere.
        self.of_arrays: dict[bool, CustomFunction] = {}
        title = "".join(part.title() for part in function.__name__.strip("<>_").split("_"))
        self.function_class: Any = FunctionMeta(title, (_ByRules,), {"custom": self, "__module__": function.__module__})
        for kind, rules in (("vjp", vjp), ("jvp", jvp)):
            for name, rule in (rules if isinstance(rules, dict) else {None: rules}).items():
                if rule is not None:
                    self.add(kind, name, rule)

    def __repr__(self) -> str:
        return f"<custom function {self.function.__name__}{self.signature}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        leaves, structure = flatten(dict(bound.arguments))
        if not any(isinstance(leaf, TensorBase) for leaf in leaves):
            return self.on_arrays(leaves, structure, bound)
        *outputs, shape = self.function_class.apply(structure, *leaves)
        return shape.unflatten(outputs)

    def on_arrays(self, leaves: list[Any], structure: TreeDef, bound: inspect.BoundArguments) -> Any:
        """A call without Tensors: of plain values, or of differentiable arrays, whose values the function gets."""
        if not any(values.is_held(leaf) for leaf in leaves):
            return self.function(*bound.args, **bound.kwargs)
        is_inside = is_differentiating()
        if is_inside not in self.of_arrays:
            function = with_closure_checked(self.function) if is_inside else self.function
            self.of_arrays[is_inside] = twin = CustomFunction(passing.on_values(function), None, None)
            twin.rules = {
                kind: {name: passing.on_values(rule, True) for name, rule in table.items()}
                for kind, table in self.rules.items()
            }
        function_class = self.of_arrays[is_inside].function_class
        *outputs, shape = function_class.apply(structure, *[values.take(x) for x in leaves])
        return passing.Leaving(passing.any_held(leaves)).result(shape.unflatten(outputs))

    def vjp(self, rule: Any) -> Any:
        """Decorate the vjp: of all parameters, or with `@f.vjp("x")` of one."""
        return self.adder("vjp", rule)

    def jvp(self, rule: Any) -> Any:
        """Decorate the jvp: of all parameters, or with `@f.jvp("x")` of one."""
        return self.adder("jvp", rule)

    def adder(self, kind: str, rule: Any) -> Any:
        """Add a rule, or return the decorator that adds the rule of a named parameter."""
        if isinstance(rule, str):
            return lambda function: self.add(kind, rule, function)
        return self.add(kind, None, rule)

    def add(self, kind: str, name: str | None, rule: Rule) -> Rule:
        """Note a rule. Raises TypeError unless it speaks of parameters that the function has."""
        message = f"{self.function.__name__}: the {kind}" + ("" if name is None else f" of {name!r}")
        if not callable(rule):
            raise TypeError(f"{message} must be a function, not {type(rule).__name__}")
        if name is not None and name not in self.names:
            raise TypeError(f"{message} is for a parameter that is not there; known are {', '.join(self.names)}")
        for needs in needs_of(rule):
            if needs not in (*self.names, _RESULT):
                raise TypeError(
                    f"{message} asks for {needs!r}; known are {driver_of(kind)} (first), {_RESULT} (the result), "
                    f"{', '.join(self.names)}"
                )
        if _RESULT in self.names and _RESULT in needs_of(rule):
            raise TypeError(
                f"{message} asks for {_RESULT!r}, which means the result, but is a parameter of the function, too: "
                "call the parameter something else"
            )
        rules = self.rules[kind]
        if (name is None) != (None in rules) and rules:
            raise TypeError(f"{message} cannot be added: give either one rule for all parameters, or one for each")
        rules[name] = rule
        self.of_arrays = {}
        return rule

    def needs(self) -> list[str]:
        """The values that the rules save."""
        names = (name for rules in self.rules.values() for rule in rules.values() for name in needs_of(rule))
        return list(dict.fromkeys(names))

    def run_vjp(self, g: Tree, values: dict[str, Tree], names: set[str]) -> dict[str, Tree]:
        """The cotangents of some parameters, by the rules."""
        rules: dict[Any, Rule] = self.rules["vjp"]
        if None in rules:
            returned = rules[None](g, *[values[name] for name in needs_of(rules[None])])
            return self.by_name(returned, "vjp")
        return {
            name: rule(g, *[values[need] for need in needs_of(rule)]) for name, rule in rules.items() if name in names
        }

    def run_jvp(self, tangents: dict[str, Tree], values: dict[str, Tree]) -> Tree:
        """The tangent of the result, as the rules say: the sum over the parameters."""
        rules: dict[Any, Rule] = self.rules["jvp"]
        if None in rules:
            t = tuple(tangents[name] for name in self.names) if len(self.names) > 1 else tangents[self.names[0]]
            return rules[None](t, *[values[name] for name in needs_of(rules[None])])
        parts = [
            rule(tangents[name], *[values[need] for need in needs_of(rule)])
            for name, rule in rules.items()
            if any(t is not None for t in flatten(tangents[name])[0])
        ]
        return functools.reduce(add_trees, parts) if parts else None

    def by_name(self, returned: Any, kind: str) -> dict[str, Tree]:
        """The cotangents that one rule for all parameters returned, by the names of the parameters."""
        if isinstance(returned, dict) and set(returned) <= set(self.names):
            return returned
        if len(self.names) == 1:
            return {self.names[0]: returned}
        if not isinstance(returned, tuple) or len(returned) != len(self.names):
            returns = f"{len(returned)} values" if isinstance(returned, tuple) else type(returned).__name__
            raise RuntimeError(
                f"{self.function.__name__}: the {kind} must return a tuple with one value for each parameter "
                f"({', '.join(self.names)}), but it returned {returns}"
            )
        return dict(zip(self.names, returned, strict=True))


def custom(function: Callable[..., Any] | None = None, *, vjp: Rules | None = None, jvp: Rules | None = None) -> Any:
    """Give a function its own derivatives; simpler than `Function` in common cases.

    Args:
        function: takes and returns tensors, alone or in trees (tuples, lists, dicts, named tuples, dataclasses), and
            any other objects. It runs without recording, so it may compute with NumPy or another library. If it is
            called with differentiable arrays, it gets plain NumPy arrays, so it may call C, Fortran or a simulator.
            Rules get plain arrays, too, or differentiable arrays if the rules themselves are differentiated.
        vjp: its first parameter is the cotangent `g` of the result. Its other parameters name the saved values:
            arguments of the function, and the result as `y`. It returns the cotangent of the argument, a tuple for
            several arguments, or a dict by name, with None for an argument without one. A dict of such rules, one for
            each argument with a derivative, is accepted, too; only the needed rules run.
        jvp: its first parameter is the tangent `t` of the argument (a tuple for several). It returns the tangent of the
            result. The results of a dict of such rules are added.

    One of the two is enough, since each follows from the other by transposition. Rules of differentiable operations can
    be differentiated again. vmap runs function and rules on batched tensors.

    Cotangents and tangents have the structure of their arguments and results. A missing cotangent or tangent is zeros;
    for an object that is no floating-point or complex tensor it is None. Rules may also be added later: `@f.vjp`,
    `@f.jvp("x")`.

    Raises:
        TypeError: a rule has a parameter that the function does not have.
        RuntimeError: the function is differentiated, and there is no rule.

    >>> import adjoint, math, numpy
    >>> @adjoint.autograd.custom(vjp=lambda g, y: g * y)
    ... def exp(x):
    ...     return adjoint.from_numpy(numpy.exp(x.detach().numpy()))
    >>> x = adjoint.tensor([0.0, 1.0], requires_grad=True)
    >>> exp(x).sum().backward()
    >>> x.grad
    tensor([1.0000, 2.7183])

    >>> @adjoint.custom(vjp=lambda g, x: g * numpy.cos(x))
    ... def sine(x):
    ...     return numpy.array([math.sin(value) for value in x])  # a call of C
    >>> adjoint.grad(lambda x: numpy.sum(sine(x)))(numpy.array([0.0, 1.0])).round(4)
    array([1.    , 0.5403])

    >>> @adjoint.autograd.custom
    ... def scaled(params, x):
    ...     return params["w"] * x
    >>> @scaled.vjp("params")
    ... def _(g, x):
    ...     return {"w": g * x}
    >>> adjoint.func.grad(lambda p: scaled(p, adjoint.tensor(3.0)))({"w": adjoint.tensor(2.0)})
    {'w': tensor(3.)}
    """
    if function is None:
        return lambda decorated: CustomFunction(decorated, vjp, jvp)
    return CustomFunction(function, vjp, jvp)


class _Recording(ModeBlock):
    """A with block in which derivatives are tracked, although a custom function runs."""

    def _changes(self) -> Any:
        levels = current().open_levels
        return ((SET, "grad_enabled", True), (SET, "forward_off", False), (SET, "dual_stack", levels))


def with_closure_checked(function: Rule) -> Rule:
    """A function of plain values that raises LostDerivativeError where its result depends on differentiable arrays.

    These are none of its arguments, so that no rule has their derivatives.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with _Recording():
            result = function(*args, **kwargs)
            for leaf in flatten(result)[0]:
                if values.is_held(leaf):
                    check_kept(
                        values.take(leaf),
                        f"what {function.__name__}(), which has rules of its own, uses besides its arguments,",
                        "give it among the arguments, with a rule",
                        "adjoint.numpy.detach(x)",
                    )
        return result

    return call


class _ByRules(Function):
    """The Function behind a `CustomFunction`: of a structure and its leaves, to leaves and their structure."""

    generate_vmap_rule = True
    custom: CustomFunction

    @classmethod
    def forward(cls, structure: TreeDef, *leaves: Any) -> Any:
        """The leaves of the function's result, and its structure."""
        signature = cls.custom.signature
        bound = inspect.BoundArguments(signature, structure.unflatten(leaves))
        outputs, shape = flatten(cls.custom.function(*bound.args, **bound.kwargs))
        return (*outputs, shape)

    @classmethod
    def setup_context(cls, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save the values that the rules need."""
        structure, *leaves = inputs
        *outputs, shape = output
        arguments = structure.unflatten(leaves)
        arguments[_RESULT] = shape.unflatten(outputs)
        needs = cls.custom.needs()
        saved, form = flatten({name: arguments[name] for name in needs})
        tensors = [leaf for leaf in saved if isinstance(leaf, TensorBase)]
        ctx.save_for_backward(*tensors)
        # behind them the results, zeros like which a transposed vjp is differentiated by
        ctx.save_for_forward(*tensors, *[leaf for leaf in outputs if isinstance(leaf, TensorBase)])
        ctx.form = form
        ctx.rest = [None if isinstance(leaf, TensorBase) else (leaf,) for leaf in saved]
        ctx.structure, ctx.shape = structure, shape
        ctx.are_tensors = [isinstance(leaf, TensorBase) for leaf in outputs]
        # a transposed jvp needs only the shapes and dtypes of the arguments
        ctx.kinds = [(x._array.shape, x._array.dtype) if is_differentiable(x) else None for x in leaves]

    @classmethod
    def backward(cls, ctx: Any, *gradients: Any) -> Any:
        """The cotangents of the leaves of the arguments."""
        rules = cls.custom.rules
        if rules["vjp"]:
            return None, *pull_leaves(cls.custom, ctx, gradients[:-1])
        check_rules(cls.custom)
        model = next(g._array for g in gradients if g is not None)
        blanks = [None if kind is None else zeros(kind[0], kind[1], model) for kind in ctx.kinds]
        return None, *transpose(lambda: push_leaves(cls.custom, ctx, blanks), blanks, gradients[:-1], ctx.saved_tensors)

    @classmethod
    def jvp(cls, ctx: Any, *tangents: Any) -> Any:
        """The tangents of the leaves of the result."""
        rules = cls.custom.rules
        if rules["jvp"]:
            return *push_leaves(cls.custom, ctx, tangents[1:]), None
        check_rules(cls.custom)
        results = iter(ctx.saved_tensors[ctx.rest.count(None) :])
        blanks = [blank_like(next(results)) if is_tensor else None for is_tensor in ctx.are_tensors]
        return *transpose(lambda: pull_leaves(cls.custom, ctx, blanks), blanks, tangents[1:], ctx.saved_tensors), None


def check_rules(custom: CustomFunction) -> None:
    """Raise RuntimeError unless there is a rule."""
    if not any(custom.rules.values()):
        raise RuntimeError(
            f"{custom.function.__name__} has neither a vjp nor a jvp, so it cannot be differentiated: give one to "
            "custom(), or add it with @f.vjp"
        )


def values_of(ctx: Any) -> dict[str, Tree]:
    """The saved values of the rules, by name."""
    tensors = iter(ctx.saved_tensors)
    leaves: Iterator[Any] = (next(tensors) if rest is None else rest[0] for rest in ctx.rest)
    return ctx.form.unflatten(leaves)


def pull_leaves(custom: CustomFunction, ctx: Any, gradients: Any) -> list[Any]:
    """The cotangents of the leaves of the arguments by the vjp."""
    g = ctx.shape.unflatten(gradients)
    names = wanted_by(ctx)
    cotangents = custom.run_vjp(g, values_of(ctx), names)
    return [
        leaf
        for name, child in zip(ctx.structure.keys, ctx.structure.children, strict=True)
        for leaf in spread_out(cotangents.get(name), child, f"{custom.function.__name__}: the cotangent of {name!r}")
    ]


def wanted_by(ctx: Any) -> set[str]:
    """The parameters with a leaf that needs a cotangent; in forward mode all."""
    if ctx._ad_in_jvp:
        return set(ctx.structure.keys)
    names, start = set(), 1
    for name, child in zip(ctx.structure.keys, ctx.structure.children, strict=True):
        stop = start + child.n_leaves
        if any(ctx.needs_input_grad[start:stop]):
            names.add(name)
        start = stop
    return names


def push_leaves(custom: CustomFunction, ctx: Any, tangents: Any) -> list[Any]:
    """The tangents of the leaves of the result by the jvp."""
    tangents_out = custom.run_jvp(ctx.structure.unflatten(tangents), values_of(ctx))
    return spread_out(tangents_out, ctx.shape, f"{custom.function.__name__}: the tangent")


def spread_out(tree: Tree, structure: TreeDef, what: str) -> list[Any]:
    """The leaves of a tree that has a structure, or None for parts of it."""
    if structure.is_leaf:
        return [tree]
    if tree is None:
        return [None] * structure.n_leaves
    children, form = flatten(tree, lambda part: part is not tree)
    if form.type is not structure.type or set(form.keys) != set(structure.keys):
        raise RuntimeError(f"{what} must have the structure {structure}, or None for parts of it, but has {form}")
    by_key = dict(zip(form.keys, children, strict=True))
    return [
        leaf
        for key, child in zip(structure.keys, structure.children, strict=True)
        for leaf in spread_out(by_key[key], child, what)
    ]


def is_differentiable(leaf: Any) -> bool:
    """True for tensors that can have a derivative."""
    return isinstance(leaf, TensorBase) and is_inexact(leaf._array.dtype)


def zeros(shape: tuple[int, ...], kind: Any, model: Any) -> Tensor:
    """Zeros to differentiate by, of the library and the batches of another array."""
    array = in_batch_of(namespace(model).zeros(shape, dtype=kind), model)
    return needing_grad(new_tensor(array))


def blank_like(tensor: Tensor) -> Tensor | None:
    """Zeros like a tensor to differentiate by; None for one without derivative."""
    return zeros(tensor._array.shape, tensor._array.dtype, tensor._array) if is_differentiable(tensor) else None


def transpose(function: Callable[[], list[Any]], blanks: list[Any], drivers: Any, saved: Any) -> list[Any]:
    """The transpose of a linear function of the blanks, applied to cotangents of its results; saved: its values."""
    with enable_grad():
        ends = function()
    pairs = [
        (end, driver)
        for end, driver in zip(ends, drivers, strict=True)
        if isinstance(end, TensorBase) and end.requires_grad and driver is not None
    ]
    present = [blank for blank in blanks if blank is not None]
    if not pairs or not present:
        return [None] * len(blanks)
    slopes = grad(
        [end for end, _ in pairs],
        present,
        [driver for _, driver in pairs],
        create_graph=is_grad_enabled(),
        allow_unused=True,
    )
    if not any(tensor is not None and tensor.requires_grad for tensor in (*drivers, *saved)):
        # a rule that differentiates a function by tensors of its own leaves their history behind
        slopes = tuple([None if slope is None else slope.detach() for slope in slopes])
    cotangents = iter(slopes)
    return [None if blank is None else next(cotangents) for blank in blanks]


def needs_of(rule: Rule) -> tuple[str, ...]:
    """The parameters of a rule after the first one, the cotangent or tangent."""
    return tuple(inspect.signature(rule).parameters)[1:]


def driver_of(kind: str) -> str:
    """The name of a rule's first argument in this package's own rules."""
    return {"vjp": "g", "jvp": "t"}[kind]


def add_trees(first: Tree, second: Tree) -> Tree:
    """The sum of two tangents, leaf by leaf; None counts as zero."""
    if first is None or second is None:
        return second if first is None else first
    leaves, structure = flatten(first, lambda part: part is None)
    others = structure.flatten_up_to(second)
    return structure.unflatten(
        [b if a is None else a if b is None else a + b for a, b in zip(leaves, others, strict=True)]
    )
