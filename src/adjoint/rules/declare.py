"""Declarations of derivatives: each derivative once, by the kind of mathematics of its operation.

A declaration is a forward function on raw arrays, the *kernel*, and formulas. They define vjp, jvp, batch form, Tensor
method, in-place variant, documentation and generated tests:

    kind          the author writes           vjp               jvp                          batch form
    elementwise   one partial per input       g * conj(d)       sum of t * d                 align ranks
    linear        the transpose               the transpose     the operation on t           shift axis parameters
    multilinear   one transpose per input     the transposes    sum of op(.., t, ..)         align core dimensions
    general       vjp, and jvp if it is easy  given             given, or vjp transposed     align core, or a loop
    constant      nothing                     none              none                         as declared

    tanh = elementwise("tanh", input=lambda y: 1 - y * y, dtypes="float")
    mul = elementwise("multiply", name="mul", input="other", other="input")

    @linear(axes=("dim",))
    def sum(xp, input: Array, dim=None, keepdim=False): return xp.sum(input, axis=dim, keepdims=keepdim)

    @sum.vjp("input")
    def _(ops, g, input_shape, dim, keepdim): return ops.expand(restore(ops, g, dim, keepdim), input_shape)

**Kernels** get the array library's namespace `xp` and raw arrays, and use the names of the array API standard.

**Formulas** get `ops`: every declared operation under its own name, with torch's argument names. In a first-order
backward pass `ops` runs kernels on raw arrays. If the derivative is itself recorded, `ops` runs operations on Tensors.
One body serves both. Every operation in a formula is in the table, so it is differentiable. Formulas use only
operators, indexing, `.shape`, `.ndim` and `ops`.

**The names of a formula's parameters are the saved values**: an input's name saves that input (`input_shape` only its
shape, `input_dtype` its dtype), `y` the result (`y0`, `y1` for several results), a keyword its value. `g` is the
cotangent, a tuple for several results. An undefined cotangent is zeros, or None if the rule declares that. `t` is the
tangent in a jvp. `needs` are the inputs of a joint formula that need a cotangent. The node saves no other values.

The edge sums over broadcast axes, conjugates, drops the imaginary part for a real input, and casts. A formula never
does.

**The batch form** (for vmap) moves the batch axis to the front and runs the operation once. `batching` says how the
arguments are prepared; its default follows from kind, `core` and `axes`:

    align    axes of size 1 are inserted after the batch axis, so that inputs broadcast as without it
    core     as align, for the axes before the axes of the core signature
    axes     parameters that name axes are shifted by one (None: all axes but the batch axis); all inputs get the batch
             axis, and a constant array must not have it, else there is a loop
    joint    as axes, and the constant arrays (an index, a mask) get the batch axis too
    spread   as joint, with equal ranks: elementwise, but the result does not depend on all arguments
    loop     one run for each member of the batch: right, but slow

If other arguments must change as well, such as a shape, the author declares them as a formula. It gets the size of the
batch, and by name the prepared arguments (axes None are still None) or `ndim`, the number of axes of the first input
without the batch axis. It returns the changed arguments, or None for a loop:

    @reshape.batch
    def _(size, shape): return {"shape": (size, *shape)}

If one run of the operation with other arguments is not enough, or too slow, the author writes the whole batch form from
other operations. It gets the `batch` (a `BatchLevel` of adjoint.transforms.batching) and the arguments
by name. Arrays with `batch.has(array)` have the batch axis, and `batch.strip(array)` shows it. `batch.ops_for(arrays)`
are the operations on arrays with the axis, `batch.ops` the operations on members, and `batch.join(array)` makes the
array with the axis the result. If the batch form returns NotImplemented, the form above runs.

    @permute.batch_rule
    def _(batch, input, dims):
        data, _ = batch.strip(input)
        return batch.join(batch.ops_for([data]).permute(data, (0, *[d + 1 for d in dims])))

**The structure** (for sparse derivatives) says on which elements of the inputs an element of the result depends. It
follows from the kind. An elementwise result depends on the elements at its position. A linear result depends on the
elements that the operation moves or sums there. Any other result depends on all elements. `moves` declares that a
linear operation only moves elements, which saves the search for sums. `separable` declares a smaller dependence: only
on elements with the same index along an axis that has one name in the core signature, or that no axis parameter names.
By default it is true for multilinear operations and for operations with axis parameters. If the axis names follow from
arguments, as in einsum, the author declares them with `signature`. If axes cannot express the structure, as for a
sparse matrix, the author declares `pairs`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from sys import maxsize
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from adjoint.arrays.kernels.products_and_sums import NativeKernel
from adjoint.arrays.shapes import normalize_dims
from adjoint.runtime.lazy import LazyTable, by_name

from .names import RULES

Function = Callable[..., Any]
#: A formula that sums over a batch: True for the one that it belongs to, None where there is none.
Summed: TypeAlias = "Function | Literal[True] | None"


if TYPE_CHECKING:
    Array: TypeAlias = Any
    Arrays: TypeAlias = Any
    Constant: TypeAlias = Any
    Indices: TypeAlias = Any
    Number: TypeAlias = Any
    Numeric: TypeAlias = Any
else:

    class Array:
        """Annotates a kernel's parameter: an array that may need a gradient (None is allowed as the default)."""

    class Arrays:
        """Annotates a kernel's parameter: a sequence of arrays that may need gradients; a rule has at most one."""

    class Constant:
        """Annotates a kernel's parameter: an array through which no gradient flows (an index, a mask)."""

    class Indices:
        """Annotates a kernel's parameter: a tuple of raw arrays that pick places, and slices; saved as arrays are."""

    class Number:
        """Annotates a kernel's parameter: a Python number; other numbers and one-element tensors are converted to
        one."""

    class Numeric:
        """As `Number`, but other values pass unconverted: the rule's own check or kernel validates them."""


class Parameter:
    """A parameter of a kernel. inspect's parameters would check their names, which takes time at every import."""

    __slots__ = ("annotation", "default", "kind", "name")

    empty = inspect.Parameter.empty
    KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY

    def __init__(
        self,
        name: str,
        default: Any = inspect.Parameter.empty,
        annotation: Any = inspect.Parameter.empty,
        kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD,
    ) -> None:
        self.name, self.default, self.annotation, self.kind = name, default, annotation, kind


def passes(kinds: str, *, of_inputs: bool = False) -> Callable[[Function], Function]:
    """Say of a check that it refuses types and numbers alone, and which kinds of types (NumPy's letters) it passes.

    It passes arrays of one real type of these kinds, and numbers that a floating type holds, so that it is not called
    for them. of_inputs: the types of constant arrays do not count.
    """

    def declare(check: Function) -> Function:
        check.passed_kinds, check.looks_at_inputs = kinds, of_inputs  # type: ignore[attr-defined]
        return check

    return declare


#: Say of a check that it passes arrays of one real floating type.
passes_plain = passes("f")


def parameters_of(function: Function) -> list[Parameter]:
    """The parameters of a plain Python function; inspect.signature takes ten times as long, at every import.

    >>> def kernel(xp, input: Array, dim=None, *, keepdim=False): ...
    >>> [p.name for p in parameters_of(kernel)]
    ['xp', 'input', 'dim', 'keepdim']
    """
    code = function.__code__
    n = code.co_argcount
    names = code.co_varnames[: n + code.co_kwonlyargcount]
    first_default = n - len(function.__defaults__ or ())
    defaults = dict(zip(names[first_default:n], function.__defaults__ or (), strict=True))
    defaults.update(function.__kwdefaults__ or {})
    notes = function.__annotations__
    empty, kinds = Parameter.empty, (inspect.Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    return [
        Parameter(name, defaults.get(name, empty), notes.get(name, empty), kinds[i >= n])
        for i, name in enumerate(names)
    ]


def names_of(function: Function) -> list[str]:
    """The names of the parameters of a plain Python function.

    >>> names_of(lambda g, input: g)
    ['g', 'input']
    """
    code = function.__code__
    return list(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


class Formula:
    """One body that returns cotangents of its inputs, or, in a jvp, takes their tangent.

    body: the declared function. inputs: the names of its inputs. needs: the names of the values that it uses besides
    `ops` and the cotangent or tangent. renamed: the rule's names for parameters that have other names in the body.
    call: the formula as a function of (ops, cotangent or tangent, *values of needs), also if the body omits some. pull:
    as `call`, for a cotangent.
    native: a C kernel with the same result for small plain arrays g and the first value of needs. If it returns None,
        the body is called.
    """

    def __init__(
        self,
        body: Function,
        inputs: tuple[str, ...],
        driver: str,
        renamed: dict[str, str] | None = None,
        native: NativeKernel | None = None,
        summed: Function | None = None,
    ) -> None:
        names = names_of(body)
        self.body = body
        self.native = native
        #: The formula for operands with one more axis in front; it sums over that axis. None if there is none.
        self.summed = summed
        self.inputs = inputs
        self.takes_ops = bool(names) and names[0] == "ops"
        if self.takes_ops:
            names = names[1:]
        self.takes_driver = bool(names) and names[0] == driver
        if self.takes_driver:
            names = names[1:]
        self.needs = tuple([renamed.get(name, name) for name in names] if renamed else names)
        self.call = self.pull = uniform(body, self.takes_ops, self.takes_driver, len(self.needs))


def uniform(body: Function, takes_ops: bool, takes_driver: bool, n: int) -> Function:
    """A formula's body as a function of (ops, driver, *values), of n values; few of them are spelt out, for speed."""
    if takes_ops and takes_driver:
        return body
    if takes_driver:
        usual = (
            lambda ops, driver: body(driver),
            lambda ops, driver, a: body(driver, a),
            lambda ops, driver, a, b: body(driver, a, b),
        )
        return usual[n] if n < len(usual) else lambda ops, driver, *values: body(driver, *values)
    if takes_ops:
        return lambda ops, driver, *values: body(ops, *values)
    return lambda ops, driver, *values: body(*values)


class Partial(Formula):
    """The partial derivative d of an elementwise operation: `call` gives driver * d, and `pull` g * conj(d).

    A partial is a number, the name of a saved value, or a function that returns d (or the product, if its first
    parameter is `g`). A name with + or - in front is a saved number, which is mostly 1; the multiplication by 1 is
    skipped.
    """

    def __init__(self, partial: Function | str | float, input: str) -> None:
        body = partial if callable(partial) else _constant_partial(partial)
        super().__init__(body, (input,), "g")
        #: True if the cotangent is the very one of the result.
        self.is_identity = not callable(partial) and partial == 1
        #: True if the partial is a saved value, which may be a number.
        self.is_saved_value = isinstance(partial, str)
        #: True if numbers among the values may be operands of one program, whatever numbers they are.
        self.takes_numbers = self.is_saved_value or getattr(partial, "takes_numbers", False)
        #: 1 or -1 for a name with + or - in front, else 0.
        self.sign = {"+": 1, "-": -1}.get(str(partial)[0], 0) if self.is_saved_value else 0
        of_one = not self.takes_ops and len(self.needs) == 1
        self.call, self.pull = products(partial, self.call, self.takes_driver, of_one)


def of_numbers(partial: Function) -> Function:
    """A partial derivative that computes with numbers as with arrays: it never looks at their values."""
    partial.takes_numbers = True  # type: ignore[attr-defined]
    return partial


def products(
    partial: Function | str | float, partial_of: Function, is_product: bool, is_of_one_value: bool
) -> tuple[Function, Function]:
    """The products of a driver with a partial derivative, and with its conjugate, of (ops, driver, *values).

    partial_of: the partial derivative as a function of (ops, driver, *values). is_product: it returns the product
    itself. is_of_one_value: the partial takes exactly one value.
    """
    if isinstance(partial, str):
        if partial[0] == "-":
            return (lambda ops, g, factor: times(g, -factor)), (lambda ops, g, factor: g * -conj(ops, factor))
        if partial[0] == "+":
            return (lambda ops, g, factor: times(g, factor)), (lambda ops, g, factor: g * conj(ops, factor))
        return (lambda ops, g, factor: g * factor), (lambda ops, g, factor: g * conj(ops, factor))
    if not callable(partial):
        quick = _PRODUCTS.get(partial, lambda ops, g: g * partial)
        return quick, quick
    if is_product:
        return partial_of, lambda ops, g, *values: conj(ops, partial_of(ops, conj(ops, g), *values))

    def product(ops: Any, g: Any, *values: Any) -> Any:
        return times(g, partial_of(ops, g, *values))

    def product_of_one(ops: Any, g: Any, value: Any) -> Any:
        return times(g, partial(value))

    def conjugate_product(ops: Any, g: Any, *values: Any) -> Any:
        return g * conj(ops, partial_of(ops, g, *values))

    return product_of_one if is_of_one_value else product, conjugate_product


#: Products with numbers that need no multiplication.
_PRODUCTS: dict[Any, Function] = {
    1: lambda ops, g: g,
    -1: lambda ops, g: -g,
    0: lambda ops, g: ops.zeros_like(g),
}


def times(g: Any, factor: Any) -> Any:
    """The product of a cotangent with a partial derivative, which may be a number."""
    if type(factor) is int:
        if factor == 1:
            return g
        if factor == -1:
            return -g
    return g * factor


def conj(ops: Any, factor: Any) -> Any:
    """The complex conjugate of a number or an array."""
    return factor.conjugate() if isinstance(factor, (bool, int, float, complex)) else ops.conj(factor)


class Rule:
    """The declaration of one operation. The docstring of the module explains each part.

    name: the operation's name. kernel: a function, or the name of a function of the array library. arrays: for a
    library's function, the names of its parameters. options: the other options, which are attributes with defaults.

    Computed attributes: names, the names of all parameters in the order of the signature.

    Raises TypeError for an unknown option.
    """

    kind = "constant"

    # options that rules keep as they are, and their defaults
    axes: tuple[str, ...] = ()
    new_axes: tuple[str, ...] = ()
    core: str | None = None
    dtypes: str = "same"
    #: Ranks of operands (SCALAR, ZERO_DIM) that are not rounded to the half-precision type of the others.
    wide: Sequence[int] = ()
    outputs: tuple[str, ...] | None = None
    #: The number of leading results that are rounded to the half-precision dtype of the inputs. The other results keep
    #: their dtype, for the backward pass.
    rounded: int = maxsize
    differentiable: tuple[bool, ...] | None = None
    view: bool = False
    method: bool | str = True
    function: bool = True
    inplace: bool | str = False
    fast: str | None = None
    #: The library's function that has the kernel's results, and is quicker on small arrays.
    small: str | None = None
    #: The kernel for two small plain arrays, or None where only the kernel itself can compute them.
    native: NativeKernel | None = None
    #: The kernel for arrays of one floating dtype: a function of all arguments, where numbers are operands.
    plain: Function | None = None
    spread: str | None = None
    #: Torch's names for saved values if they differ from ours, None for values that torch does not save. A name that
    #: ends in [] names a tuple, also if one number is given.
    shown: Mapping[str, str | None] = MappingProxyType({})
    #: Plain values that torch's nodes show, though no formula needs them.
    keeps: tuple[str, ...] = ()
    #: Its nodes (or its nodes of these names) run once: PyTorch's nodes save a tensor that no formula here needs.
    runs_once: bool | Sequence[str] = False
    #: Formulas get None instead of zeros for results without a cotangent.
    undefined: bool = False
    doc: str = ""
    check: Function | None = None
    explain: Function | None = None
    #: In place, every element is given the same value, so that elements may lie in the same memory.
    repeats: bool = False
    #: The result is the input's values in memory of its own: also of an inference tensor it takes part in the graph.
    copies: bool = False
    #: The results lie in memory row by row, however the inputs lie, as torch's do.
    rows: bool = False
    #: Each element of the result is one element of an input, or zero.
    moves: bool = False
    #: The factor that acts like the weight of a convolution: each of its elements, along all axes but the first,
    #: multiplies one element of the other input for each element of the result.
    taps: str | None = None

    def __init__(
        self,
        name: str,
        kernel: str | Function,
        *,
        arrays: tuple[str, ...] | None = None,
        scalars: bool | tuple[str, ...] | None = None,
        node: str | dict[str, str] | Callable[..., str] | None = None,
        attributes: Function | None = None,
        batching: str | None = None,
        separable: bool | None = None,
        by_element: bool = False,
        **options: Any,
    ) -> None:
        if not options.keys() <= _KEPT_OPTIONS:
            raise TypeError(f"rule {name} has unknown options: {', '.join(sorted(options.keys() - _KEPT_OPTIONS))}")
        self.name = name
        self._kernel = kernel
        self.__dict__.update(options)
        self._normalize_options()
        # the inputs that may be numbers: all, none or some
        self.scalars = self.kind == "elementwise" if scalars is None else scalars
        # makes further attributes of torch's, by name, from saved values; its parameters say which
        self.attributes = attributes and (attributes, names_of(attributes))
        # an element of the result depends only on elements of the inputs with the same indices along axes that have one
        # name in the core signature, or along axes that no axis parameter names
        self.separable = (self.kind == "multilinear" or self.core is None) if separable is None else separable
        # each element of the result depends only on the elements at its position, for any kind of rule
        self.is_elementwise = by_element or self.kind == "elementwise" or self._has_scalar_core()
        self._batching = batching and _one_of(batching, "batching", _BATCHING)
        self._name_nodes(node)
        self._read_signature(arrays)
        self.vjps: list[Formula] = []
        self.jvps: dict[str, Formula] = {}
        self.batch_form: Formula | None = None
        self.batch_kernel: Function | None = None
        self.signature_form: Formula | None = None
        self.pairs_form: Formula | None = None

    def _normalize_options(self) -> None:
        _one_of(self.dtypes, "dtypes", ("any", "same", "float"))
        self.axes, self.new_axes, self.keeps = tuple(self.axes), tuple(self.new_axes), tuple(self.keeps)
        self.moves = self.moves or self.view
        self.doc = self.doc or (inspect.getdoc(self._kernel) if callable(self._kernel) else "") or ""

    def _has_scalar_core(self) -> bool:
        """True if the core signature names no axes."""
        return self.core is not None and not self.core.strip("()->,")

    def _name_nodes(self, node: str | dict[str, str] | Callable[..., str] | None) -> None:
        """Set the names of nodes: of one for all arguments, of others for numbers, or a function of the arguments."""
        names = node if isinstance(node, dict) else {"": node} if isinstance(node, str) else {}
        self.node = names.get("", node_name(self.name))
        self.node_for = node if callable(node) else None
        self.nodes_with_number = {input: label for input, label in names.items() if input}

    def _read_signature(self, arrays: tuple[str, ...] | None) -> None:
        self.constants: tuple[str, ...] = ()
        self.indices: tuple[str, ...] = ()
        self.numbers: tuple[str, ...] = ()
        self.numbers_or_others: tuple[str, ...] = ()
        self.sequence: str | None = None
        if arrays is not None:
            self.parameters = [Parameter(name) for name in arrays]
            self.names = self.inputs = self.positional = tuple(arrays)
            self.keyword_only: tuple[str, ...] = ()
            return
        self.parameters = parameters_of(self._kernel)[1:]  # type: ignore[arg-type]
        self.names = tuple([p.name for p in self.parameters])
        self.keyword_only = tuple([p.name for p in self.parameters if p.kind is Parameter.KEYWORD_ONLY])
        self.positional = tuple([name for name in self.names if name not in self.keyword_only])
        marked = {p.name: p.annotation for p in self.parameters}
        self.inputs = tuple(n for n, a in marked.items() if a in (Array, Arrays))
        self.constants = tuple(n for n, a in marked.items() if a is Constant)
        self.indices = tuple(n for n, a in marked.items() if a is Indices)
        self.numbers = tuple(n for n, a in marked.items() if a is Number)
        self.numbers_or_others = tuple(n for n, a in marked.items() if a is Numeric)
        self.sequence = next((n for n, a in marked.items() if a is Arrays), None)
        if self.sequence is not None and len(self.inputs) > 1:
            raise TypeError(f"rule {self.name}: a sequence of arrays must be the only input, got {self.inputs}")

    @property
    def n_outputs(self) -> int | None:
        """The number of results; None if it depends on the arguments."""
        return 1 if self.outputs is None else len(self.outputs) or None

    @property
    def has_one_kernel(self) -> bool:
        """True if calls of one or two tensors run the kernel itself."""
        return self.fast is None or self.fast == self._kernel

    def kernel(self, xp: Any) -> Function:
        """The kernel for one array library: the library's own function where they are the same, else bound to `xp`.

        A namespace may make its kernels itself, by a function `kernel_of` of the rule.
        """
        kernel_of = getattr(xp, "kernel_of", None)
        return self.kernel_on(xp) if kernel_of is None else kernel_of(self)

    def kernel_on(self, xp: Any) -> Function:
        """The kernel as it is declared, on a namespace."""
        if isinstance(self._kernel, str):
            return _lookup(xp, self._kernel)
        body = self._kernel
        return functools.partial(body, xp)

    def vjp(
        self, *inputs: str, native: NativeKernel | None = None, summed: Summed = None, **renamed: str
    ) -> Callable[[Function], Rule]:
        """Declare the formula for the cotangents of the named inputs (a tuple of them if several are named).

        A formula that several rules share may use names of its own: vjp("mat1", right="mat2").
        A `native` kernel takes the body's place for small plain arrays. `summed` takes its place under vmap where only
        the input is the same for all members of the batch: a function of the same parameters, whose arrays have the
        batch along a first axis more. It returns the sum over the batch, or None where it cannot; True for the formula.
        """
        self._check_inputs(inputs)

        def declare(body: Function) -> Rule:
            self.vjps.append(Formula(body, inputs, "g", renamed, native, body if summed is True else summed))
            return self

        return declare

    def jvp(self, input: str, **renamed: str) -> Callable[[Function], Rule]:
        """Declare the term of the result's tangent for the tangent `t` of one input."""
        self._check_inputs((input,))

        def declare(body: Function) -> Rule:
            self.jvps[input] = Formula(body, (input,), "t", renamed)
            return self

        return declare

    def batch(self, body: Function) -> Rule:
        """Declare the arguments besides arrays and axes that change for a batch, and their new values."""
        self.batch_form = Formula(body, (), "size")
        return self

    def batch_rule(self, body: Function) -> Function:
        """Declare the whole batch form: a function of the batch and of the arguments by name."""
        self.batch_kernel = body
        return body

    def signature(self, body: Function) -> Rule:
        """Declare the axes of inputs and result by names, as a core signature that follows from the arguments."""
        self.signature_form = Formula(body, (), "size")
        return self

    def pairs(self, body: Function) -> Rule:
        """Declare the flat places of result and input that depend on each other; the body gets the input's name."""
        self.pairs_form = Formula(body, (), "name")
        return self

    @property
    def has_derivative(self) -> bool:
        """True if results are real or complex; other operations have a derivative in place at most."""
        return bool(self.vjps) and self.differentiable != (False,)

    @property
    def batching(self) -> str:
        """The way to run the rule once for a whole batch: align, core, axes, joint, spread or loop."""
        if self._batching is not None:
            return self._batching
        if self.core is not None:
            return "core"
        if self.axes or self.new_axes:
            return "axes"
        if self.kind in ("elementwise", "linear"):
            return "align"
        return "loop" if self.batch_form is None else "joint"

    def _check_inputs(self, inputs: tuple[str, ...]) -> None:
        for name in inputs:
            if name not in self.inputs:
                raise TypeError(f"rule {self.name} has no input {name!r}; its inputs are {self.inputs}")

    def normalize(self, values: dict[str, Any], ndim: int) -> dict[str, Any]:
        """Count axis parameters from the front, for a first input of `ndim` axes."""
        for names, n in ((self.axes, ndim), (self.new_axes, ndim + 1)):
            for name in names:
                values[name] = normalize_dims(values[name], n)
        return values

    def __repr__(self) -> str:
        return f"<{self.kind} rule {self.name}({', '.join(self.names)})>"


#: The options that rules keep as they are.
_KEPT_OPTIONS = frozenset(Rule.__annotations__)


class Elementwise(Rule):
    """Each element of the result depends on the broadcast elements of the inputs at the same place."""

    kind = "elementwise"

    def partial(self, input: str, formula: Function | str | float) -> None:
        """Declare the partial derivative by one input: a function, the name of a saved value, or a number.

        A function whose first parameter is `g` returns the product g * d instead of the partial d, which can be faster.
        """
        self._check_inputs((input,))
        self.vjps.append(Partial(formula, input))


class Linear(Rule):
    """Linear in all its inputs together; the vjp is the transpose and the jvp the operation itself."""

    kind = "linear"


class Multilinear(Rule):
    """Linear in each input alone."""

    kind = "multilinear"


class General(Rule):
    """None of these: the author gives the vjp, and the jvp where it is not simply the vjp transposed."""

    kind = "general"


_BATCHING = ("align", "core", "axes", "joint", "spread", "loop")


def _constant_partial(value: str | float) -> Function:
    if not isinstance(value, str):
        return lambda: value
    namespace: dict[str, Any] = {}
    exec(f"def partial({value.lstrip('+-')}): return {value}", namespace)
    return namespace["partial"]


def _lookup(xp: Any, name: str) -> Function:
    for part in name.split("."):
        xp = getattr(xp, part)
    return xp


def _one_of(value: str, what: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{what} must be one of {allowed}, got {value!r}")
    return value


def node_name(name: str) -> str:
    """The name of the node that an operation records.

    >>> node_name("log_softmax")
    'LogSoftmaxBackward0'
    """
    return "".join(part[:1].upper() + part[1:] for part in name.split("_")) + "Backward0"


def second_order_name(name: str) -> str:
    """The name of the node that a backward formula records, where it is one operation of torch's.

    >>> second_order_name("ThresholdBackward0")
    'ThresholdBackwardBackward0'
    """
    return name.removesuffix("0") + "Backward0"


class Table(LazyTable[str, Rule]):
    """All declared rules by name; a file of rules is imported when one of them is first looked for."""

    def add(self, rule: Rule) -> Rule:
        """Enter a rule; a name can be declared only once."""
        if not self.declare(rule.name, rule):
            raise ValueError(f"operation {rule.name!r} is declared twice; give one of them another name")
        return rule


TABLE = Table(by_name(RULES), import_module)


class Kernels:
    """The kernels of all operations on one library's arrays, under the names that formulas call them by."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def __getattr__(self, name: str) -> Function:
        return TABLE[name].kernel(self.xp)


_OPTIONS = (_KEPT_OPTIONS | set(Rule.__init__.__kwdefaults__ or ())) - {"arrays"}


def elementwise(kernel: str | None = None, /, *, name: str | None = None, **partials_and_options: Any) -> Any:
    """Declare an elementwise operation: the kernel's name and, for each input, its partial derivative.

    A partial is a function of saved values, the name of a saved value ("other"), or a number. A function whose first
    parameter is `g` returns the product of g and the partial, which can be faster. Options are the options of `Rule`;
    without partials, `arrays` names the inputs. Without a kernel's name this is a decorator for a kernel of several
    steps or with parameters.
    """
    options = {k: v for k, v in partials_and_options.items() if k in _OPTIONS}
    partials = {k: v for k, v in partials_and_options.items() if k not in _OPTIONS}

    def declare(body: str | Function, rule_name: str, arrays: tuple[str, ...] | None) -> Elementwise:
        rule = Elementwise(rule_name, body, arrays=arrays, **options)
        for input, formula in partials.items():
            rule.partial(input, formula)
        TABLE.add(rule)
        return rule

    arrays = partials.pop("arrays", tuple(partials))
    if kernel is not None:
        return declare(kernel, name or kernel, arrays)
    return lambda body: declare(body, name or public_name(body), None)


def _declarer(kind: type[Rule], **defaults: Any) -> Any:
    def declare(*, name: str | None = None, **options: Any) -> Callable[[Function], Any]:
        def decorate(body: Function) -> Rule:
            return TABLE.add(kind(name or public_name(body), body, **{**defaults, **options}))

        return decorate

    declare.__doc__ = f"Declare a {kind.kind} operation: {kind.__doc__}"
    return declare


linear = _declarer(Linear, dtypes="any")
multilinear = _declarer(Multilinear)
general = _declarer(General)
constant = _declarer(Rule, dtypes="any")


def public_name(body: Function) -> str:
    """The operation's name from its kernel's: a trailing underscore avoids Python's own names.

    >>> def abs_(xp, input): ...
    >>> public_name(abs_)
    'abs'
    """
    name = body.__name__
    return name.rstrip("_")
