"""Attach the declared functions: methods to Tensor, functions to namespaces.

Each file of rules and functions is imported when one of its names is first used. Then all its declarations are
attached. Until then Tensor has a `LateMethod` for each method, and `functions` lists the names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import Any

from adjoint.core import errors
from adjoint.core.graph import TensorBase, registry
from adjoint.core.operations.arguments import blame_arguments
from adjoint.core.operations.naming import known_by
from adjoint.core.operations.operation import Operation, PublicFunction
from adjoint.functions.composite import COMPOSITES, add_references
from adjoint.functions.names import FUNCTIONS, LEFT_OUT, METHODS
from adjoint.rules import TABLE
from adjoint.runtime.forks import new_rlock
from adjoint.runtime.lazy import LazyTable, by_name
from adjoint.tensor.arithmetic import inherit_operators, make_inplace, make_method
from adjoint.tensor.older.absent import NoMethod
from adjoint.tensor.table import operations
from adjoint.tensor.tensor import Tensor

_OPERATORS = "adjoint.functions.operators"
# operators of the compiled base, and operators made by `operators`
_ARITHMETIC = (
    "__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__", "__truediv__", "__rtruediv__", "__pow__",
    "__rpow__", "__matmul__", "__rmatmul__", "__mod__", "__rmod__", "__floordiv__", "__rfloordiv__", "__neg__",
    "__abs__",
)  # fmt: skip
_SPECIAL = (
    "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__and__", "__or__", "__xor__", "__rand__", "__ror__",
    "__rxor__", "__lshift__", "__rshift__", "__rlshift__", "__rrshift__", "__iadd__", "__isub__", "__imul__",
    "__itruediv__", "__ipow__", "__imod__", "__ifloordiv__", "__iand__", "__ior__", "__ixor__", "__ilshift__",
    "__irshift__", "__getitem__", "__setitem__",
)  # fmt: skip
_METHOD_HOMES = by_name(METHODS)
_loaded: set[str] = set()
_lock = new_rlock()

# methods that torch has as functions too, without another declaration of theirs
METHODS_AS_FUNCTIONS = (
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_", "arcsinh_", "arctan_", "arctanh_",
    "as_strided_", "asin_", "asinh_", "atan_", "atanh_", "ceil_", "clamp_", "clamp_max_", "clamp_min_", "clip_",
    "conj_physical_", "cos_", "cosh_", "deg2rad_", "detach", "detach_", "erf_", "erfc_", "exp2_", "exp_", "expm1_",
    "fill_", "fix_", "floor_", "frac_", "gcd_", "i0_", "index_put_", "lcm_", "ldexp_", "log10_", "log1p_", "log2_",
    "log_", "logit_", "nan_to_num_", "neg_", "negative_", "rad2deg_", "reciprocal_", "resize_as_", "round_",
    "rsqrt_", "sigmoid_", "sin_", "sinc_", "sinh_", "sqrt_", "square_", "tan_", "tanh_", "trunc_", "xlogy_",
    "zero_",
)  # fmt: skip

# composites that take little longer than a check of their arguments: the operations inside name the wrong one, and ask
# foreign classes
_QUICK = frozenset((
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "clone", "div", "divide", "fix",
    "greater", "greater_equal", "less", "less_equal", "linear", "matmul", "mean", "multiply", "negative",
    "not_equal", "prod", "relu", "subtract", "sum",
))  # fmt: skip
# methods of this kind; their first argument is a tensor
_QUICK_METHODS = _QUICK | {
    "bool", "broadcast_to", "bucketize", "chunk", "conj", "conj_physical", "contiguous", "diagonal", "diagonal_copy",
    "diff", "double", "flatten", "float", "half", "int", "is_conj", "is_contiguous", "is_neg",
    "long", "matrix_power", "narrow", "nonzero", "outer", "permute", "polygamma", "positive", "ravel", "resolve_conj",
    "resolve_neg", "select", "squeeze", "tensor_split", "view", "view_copy",
}  # fmt: skip
# methods of Tensor's own that look into another argument
_OWN = ("is_same_size", "type_as")

# kinds of tensors that torch has and adjoint does not
_OTHER_KINDS = (
    "is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized", "is_vulkan",
    "is_xla", "is_xpu",
)  # fmt: skip


_NEVER = """False: adjoint has no tensors of which {name} is true.

    The attribute exists for programs written for torch, with torch's value for a tensor in main memory.
    """


class LateMethod:
    """A placeholder in Tensor for a method whose declaration is not imported yet; the first access replaces it."""

    def __init__(self, name: str, home: str) -> None:
        self.name, self.home = name, home

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        load(self.home)
        # operators are methods of the compiled base
        method = next(vars(base)[self.name] for base in Tensor.__mro__ if self.name in vars(base))
        if method is self:
            raise AttributeError(
                f"{self.home} does not declare the method {self.name!r}: run scripts/generate_names.py"
            )
        return method.__get__(instance, owner)


def prepare() -> None:
    """Give Tensor its methods, each imported at its first use; called once."""
    for name, home in _METHOD_HOMES.items():
        setattr(Tensor, name, LateMethod(name, home))
    for name in (*_ARITHMETIC, *_SPECIAL):
        setattr(Tensor, name, LateMethod(name, _OPERATORS))
    for name in _OWN:
        setattr(Tensor, name, blame_arguments(getattr(Tensor, name)))
    for name in _OTHER_KINDS:
        setattr(Tensor, name, property(_is_never, doc=_NEVER.format(name=name)))
    for name in LEFT_OUT.split():
        setattr(Tensor, name, NoMethod(name))


def load(home: str) -> None:
    """Import a file of rules or functions, and attach its declarations to Tensor and to `functions`."""
    if home in _loaded:
        return
    module = import_module(home)
    with _lock:
        if home == _OPERATORS:
            _attach_operators(module)
        elif home.startswith("adjoint.rules."):
            _attach_rules(home)
        else:
            _attach_composites(home)
        for name, own_home in _OF_METHODS.items():
            if own_home == home:
                functions[""].enter(name, _function_of(getattr(Tensor, name), name))
        _loaded.add(home)
    name_tensor()


def load_all() -> None:
    """Load every home, so that all methods of Tensor are there."""
    for table in functions.values():
        list(table)
    for home in sorted({*_METHOD_HOMES.values(), _OPERATORS}):
        load(home)


def _attach(name: str, method: Callable[..., Any]) -> None:
    """Put a method into Tensor, unless a program has put its own there."""
    if isinstance(vars(Tensor).get(name), LateMethod):
        setattr(Tensor, name, method)


def _attach_rules(home: str) -> None:
    for name, own_home in TABLE.homes.items():
        if own_home != home:
            continue
        operation = operations[name]
        rule = operation.rule
        for option, method_name, make in ((rule.method, name, make_method), (rule.inplace, f"{name}_", make_inplace)):
            if option:
                method_name = method_name if option is True else option
                if _METHOD_HOMES.get(method_name) == home:
                    _attach(method_name, make(operation, method_name))
        if rule.function and functions[""].homes[name] == home:
            functions[""].enter(name, operation)


def _attach_composites(home: str) -> None:
    for (namespace, name), own_home in COMPOSITES.homes.items():
        if own_home != home:
            continue
        declared = COMPOSITES[namespace, name]
        # an operation looks at its arguments itself
        operation = isinstance(declared.function, Operation)
        function = declared.function
        if not operation and name not in _QUICK:
            function = PublicFunction(declared.function, name, True)
        method = declared.function if declared.method in _QUICK_METHODS else function
        if namespace != "(method)":
            if not operation:
                public = f"{namespace}.{name}".lstrip(".")
                add_references(known_by(function, f"adjoint.{namespace}".rstrip("."), name), public)
            functions[namespace].enter(name, function)
        if declared.method and _METHOD_HOMES[declared.method] == home:
            if not operation and (namespace == "(method)" or method is not function):
                add_references(known_by(method, "adjoint", f"Tensor.{declared.method}"), f"Tensor.{declared.method}")
            _attach(declared.method, method)


def _attach_operators(module: ModuleType) -> None:
    for name, method in module.SPECIAL.items():
        _attach(name, method)
    for name in _ARITHMETIC:
        # the compiled base has them
        if isinstance(vars(Tensor).get(name), LateMethod):
            delattr(Tensor, name)
    if not any(name in vars(Tensor) for name in _ARITHMETIC):
        inherit_operators(Tensor)


#: Public functions by namespace ("" is adjoint itself) and name.
functions: dict[str, LazyTable[str, Callable[..., Any]]] = {
    namespace: LazyTable(by_name(names), load) for namespace, names in FUNCTIONS.items() if namespace != "(method)"
}
registry.functions = functions
_OF_METHODS = {name: _METHOD_HOMES.get(name, __name__) for name in METHODS_AS_FUNCTIONS}
functions[""].homes = _OF_METHODS | functions[""].homes


def _composer(name: str) -> Callable[..., str]:
    """A function of the module that composes help, imported at first use."""

    def compose(*arguments: Any) -> str:
        from adjoint.functions import help as composer

        return getattr(composer, name)(*arguments)

    return compose


def _is_never(self: Tensor) -> bool:
    return False


def _function_of(method: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A method as a function, which says so where its first argument is no Tensor."""

    @wraps(method, assigned=())
    def function(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(input, TensorBase):
            raise TypeError(errors.must_be_tensor(name, "input", 0, input))
        return method(input, *args, **kwargs)

    function.__name__ = name
    # what typing.get_type_hints() would look up among the names of the method, which has none
    function.__annotations__ = {"input": Tensor, "args": Any, "kwargs": Any, "return": Any}
    function.__doc__ = f"""Tensor.{name}() as a function, whose first argument is the tensor.

    Raises TypeError if that is no tensor. See help(adjoint.Tensor.{name}) for the rest.
    """
    return known_by(function, "adjoint", name)


def name_tensor() -> None:
    """Let typing.get_type_hints() find Tensor in modules that import it only for type checkers.

    These modules are on floors below the class, or are imported while it is made.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith(("adjoint.core.", "adjoint.functions.", "adjoint.tensor.")):
            vars(module).setdefault("Tensor", Tensor)


prepare()
name_tensor()
registry.help_of = _composer("of_operation")
registry.help_of_method = _composer("of_method")
registry.help_of_method_in_place = _composer("of_method_in_place")
