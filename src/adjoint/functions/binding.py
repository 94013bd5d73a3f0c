"""Attach the declared functions: methods to Tensor, functions to namespaces."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

from adjoint.core import errors
from adjoint.core.graph import TensorBase, registry
from adjoint.core.operations.arguments import checked
from adjoint.core.operations.naming import known_by
from adjoint.core.operations.operation import Operation
from adjoint.functions import load_families
from adjoint.functions.composite import COMPOSITES, add_references
from adjoint.functions.index import getitem, setitem
from adjoint.tensor.arithmetic import (
    bind_operators,
    inherit_operators,
    is_fast,
    make_inplace,
    make_method,
    make_operator,
    named,
)
from adjoint.tensor.older.left_out import LEFT_OUT, NoMethod
from adjoint.tensor.table import operations
from adjoint.tensor.tensor import Tensor

#: Public functions by namespace ("" is adjoint itself) and name.
functions: dict[str, dict[str, Callable[..., Any]]] = {"": {}}

# comparisons are operations under other names than Python's
_COMPARISONS = {"eq": "__eq__", "ne": "__ne__", "lt": "__lt__", "le": "__le__", "gt": "__gt__", "ge": "__ge__"}
_LOGICAL = {"bitwise_and": "__and__", "bitwise_or": "__or__", "bitwise_xor": "__xor__"}
_REFLECTED = {"bitwise_and": "__rand__", "bitwise_or": "__ror__", "bitwise_xor": "__rxor__"}
_SHIFTS = {"bitwise_left_shift": "__lshift__", "bitwise_right_shift": "__rshift__"}
_REFLECTED_SHIFTS = {"bitwise_left_shift": "__rlshift__", "bitwise_right_shift": "__rrshift__"}
# `a @= b` has no method: Python makes a new tensor, as the shape may change
_IN_PLACE = {
    "add_": "__iadd__", "sub_": "__isub__", "mul_": "__imul__", "div_": "__itruediv__", "pow_": "__ipow__",
    "remainder_": "__imod__", "floor_divide_": "__ifloordiv__", "bitwise_and_": "__iand__", "bitwise_or_": "__ior__",
    "bitwise_xor_": "__ixor__", "bitwise_left_shift_": "__ilshift__", "bitwise_right_shift_": "__irshift__",
}  # fmt: skip

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

# composites that take little longer than a check of their arguments: the operations inside name the wrong one
_QUICK = frozenset((
    "alias_copy", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh", "broadcast_to", "bucketize",
    "clone", "conj", "conj_physical", "diagonal", "diagonal_copy", "diff", "div", "divide", "fix",
    "greater", "greater_equal", "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "is_conj", "is_neg", "leaky_relu",
    "less", "less_equal", "linear", "matmul", "matrix_power", "mean", "mish", "multiply", "negative",
    "not_equal", "outer", "poisson_nll_loss", "polygamma", "positive", "prod", "real", "relu", "relu6",
    "resolve_conj", "resolve_neg", "silu", "subtract", "sum", "transpose_copy",
))  # fmt: skip
# the same of methods, whose first argument is a tensor
_QUICK_METHODS = _QUICK | {
    "bool", "chunk", "contiguous", "double", "flatten", "float", "half", "int", "is_contiguous",
    "long", "narrow", "nonzero", "permute", "ravel", "select", "squeeze",
    "tensor_split", "view", "view_copy",
}  # fmt: skip
# methods of Tensor's own that look into another argument
_OWN = ("is_same_size", "type_as")

# kinds of tensors that torch has and adjoint does not
_OTHER_KINDS = (
    "is_ipu", "is_maia", "is_meta", "is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized", "is_sparse",
    "is_sparse_csr", "is_vulkan", "is_xla", "is_xpu",
)  # fmt: skip


_NEVER = """False: adjoint has no tensors of which {name} is true.

    The attribute exists for programs written for torch, with torch's value for a tensor in main memory.
    """


def bind() -> None:
    """Fill `functions` and Tensor; called once."""
    for name, operation in operations.items():
        rule = operation.rule
        if rule.method:
            own = name if rule.method is True else rule.method
            setattr(Tensor, own, make_method(operation, own))
        if rule.function:
            functions[""][name] = operation
        if rule.inplace:
            own = f"{name}_" if rule.inplace is True else rule.inplace
            setattr(Tensor, own, make_inplace(operation, own))
    for (namespace, name), declared in COMPOSITES.items():
        # an operation looks at its arguments itself
        operation = isinstance(declared.function, Operation)
        function = declared.function if operation or name in _QUICK else checked(declared.function, name)
        method = declared.function if declared.method in _QUICK_METHODS else function
        if namespace != "(method)":
            functions.setdefault(namespace, {})[name] = function
            if not operation:
                add_references(
                    known_by(function, f"adjoint.{namespace}".rstrip("."), name), f"{namespace}.{name}".lstrip(".")
                )
        if declared.method:
            setattr(Tensor, declared.method, method)
            if not operation and (namespace == "(method)" or method is not function):
                add_references(known_by(method, "adjoint", f"Tensor.{declared.method}"), f"Tensor.{declared.method}")
    for name in _OWN:
        setattr(Tensor, name, checked(getattr(Tensor, name)))
    for name in METHODS_AS_FUNCTIONS:
        functions[""].setdefault(name, _function_of(getattr(Tensor, name), name))
    for name in _OTHER_KINDS:
        setattr(Tensor, name, property(_is_never, doc=_NEVER.format(name=name)))
    for space, name in LEFT_OUT:
        if space == "Tensor":
            setattr(Tensor, name, NoMethod(name))
    for table in (_COMPARISONS, _LOGICAL, _REFLECTED, _SHIFTS):
        for name, special in table.items():
            setattr(Tensor, special, named(make_operator(operations[name]), special, f"As {name}()."))
    for name, special in _REFLECTED_SHIFTS.items():
        setattr(
            Tensor, special, named(_reflected(operations[name]), special, f"As {name}(), of the operands exchanged.")
        )
    for name, special in _IN_PLACE.items():
        setattr(Tensor, special, named(_inplace_operator(getattr(Tensor, name)), special, f"As {name}()."))
    for function, special in ((getitem, "__getitem__"), (setitem, "__setitem__")):
        setattr(Tensor, special, known_by(function, "adjoint", f"Tensor.{special}"))
    bind_operators(operations)
    inherit_operators(Tensor)


def _composed(name: str) -> Callable[..., str]:
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


def _reflected(operation: Callable[..., Any]) -> Callable[..., Any]:
    """A method for an operator with the tensor on the right."""

    def operator(self: Tensor, other: object) -> Any:
        return operation(other, self) if is_fast(other) else NotImplemented

    return operator


def _inplace_operator(method: Callable[..., Any]) -> Callable[..., Any]:
    def operator(self: Tensor, other: object) -> Any:
        return method(self, other) if is_fast(other) else NotImplemented

    return operator


def name_tensor() -> None:
    """Make typing.get_type_hints() know Tensor in the modules that import it for type checkers alone.

    They are below the class, or are imported while it is made.
    """
    for name, module in list(sys.modules.items()):
        if name.startswith(("adjoint.core.", "adjoint.functions.", "adjoint.tensor.")):
            vars(module).setdefault("Tensor", Tensor)


load_families()
bind()
name_tensor()
registry.help_of = _composed("of_operation")
registry.help_of_method = _composed("of_method")
registry.help_of_method_in_place = _composed("of_method_in_place")
